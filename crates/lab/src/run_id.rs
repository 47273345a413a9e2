//! Which run a thread is at, for schemes from outside that must know it.

use qcnlab_sim::Control;
use std::cell::Cell;

/// Which runs share a [`Control`], for machines that must know in whose run they are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunId(usize);

thread_local! {
    static CURRENT: Cell<Option<RunId>> = const { Cell::new(None) };
}

impl RunId {
    /// Returns the id of the runs with this control, as long as it is neither moved nor dropped.
    pub fn of(control: &Control) -> RunId {
        RunId(std::ptr::from_ref(control).addr())
    }

    /// Returns the id of the run that goes on in this thread; `None` outside of runs.
    pub fn current() -> Option<RunId> {
        CURRENT.get()
    }

    /// Do `run` as a run with this control.
    pub(crate) fn within<T>(control: &Control, run: impl FnOnce() -> T) -> T {
        let before = CURRENT.replace(Some(RunId::of(control)));
        let done = run();
        CURRENT.set(before);
        done
    }
}
