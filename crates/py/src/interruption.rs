//! Stopping Python code that does not return.
//!
//! Between events a run sees by itself that it is to stop. While it waits for a method of a scheme it does not: then
//! Python is asked to raise `KeyboardInterrupt` in its thread. Calls of machines are listed here for as long as they
//! last, each with its thread and the run it belongs to; the interpreter is held whenever the list changes or is read,
//! so that no exception is meant for a thread that has left its call.

use pyo3::prelude::*;
use qcnlab_lab::Control;
use qcnlab_lab::RunId;
use std::cell::OnceCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Calls under way: their threads, as Python numbers them, and their runs.
static CALLS: Mutex<Vec<(u64, RunId)>> = Mutex::new(Vec::new());

thread_local! {
    /// Python's number of this thread.
    static THREAD: OnceCell<u64> = const { OnceCell::new() };
}

fn calls() -> MutexGuard<'static, Vec<(u64, RunId)>> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This thread's call of a machine, listed until it is dropped.
pub(crate) struct Call(Option<u64>);

impl Call {
    /// Lists a call that begins, if it belongs to a run.
    pub(crate) fn begin(py: Python<'_>) -> PyResult<Call> {
        let Some(run) = RunId::current() else { return Ok(Call(None)) };
        let known = THREAD.with(|thread| thread.get().copied());
        let thread = match known {
            Some(thread) => thread,
            None => {
                let thread = py.import("threading")?.call_method0("get_ident")?.extract()?;
                THREAD.with(|known| *known.get_or_init(|| thread))
            }
        };
        calls().push((thread, run));
        Ok(Call(Some(thread)))
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let Some(thread) = self.0 else { return };
        let mut calls = calls();
        if let Some(index) = calls.iter().rposition(|(known, _)| *known == thread) {
            calls.swap_remove(index);
        }
    }
}

/// Raises `KeyboardInterrupt` in every thread that waits for a machine in a run with this control.
pub(crate) fn interrupt(py: Python<'_>, control: &Control) -> PyResult<()> {
    let run = RunId::of(control);
    let threads: Vec<u64> = calls().iter().filter(|(_, of)| *of == run).map(|(thread, _)| *thread).collect();
    if threads.is_empty() {
        return Ok(());
    }
    py.import("qcnlab.foreign")?.call_method1("interrupt", (threads,)).map(drop)
}
