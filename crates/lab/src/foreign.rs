//! Schemes that a scenario names and this workspace does not have: `[scheme] name = "PREFIX:LOCATION"`.
//!
//! Who can load such schemes installs a [`Loader`] for a prefix, once for the whole process; the Python package
//! does so for `python:`. A scenario with a prefix nobody loads is refused.

use qcnlab_schemes::foreign::{ForeignScheme, Parameters};
use qcnlab_sim::Control;
use std::cell::Cell;
use std::sync::{Arc, RwLock};

/// Makes a scheme of its whole name, such as `python:my_module:MyScheme`, and what a scenario sets.
pub type Loader = fn(name: &str, parameters: &Parameters) -> Result<Arc<dyn ForeignScheme>, LoadError>;

/// Why a scheme could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The table at fault, `cp` or `rp`; `None` for the name.
    pub table: Option<&'static str>,
    /// What is wrong.
    pub why: String,
    /// What to do.
    pub hint: Option<String>,
}

static LOADERS: RwLock<Vec<(&str, Loader)>> = RwLock::new(Vec::new());

/// Let `loader` make every scheme whose name begins with `prefix` and a colon. It replaces an earlier loader of this
/// prefix.
pub fn install(prefix: &'static str, loader: Loader) {
    let mut loaders = LOADERS.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    loaders.retain(|(known, _)| *known != prefix);
    loaders.push((prefix, loader));
}

/// The loader for a prefix, if there is one.
pub(crate) fn loader(prefix: &str) -> Option<Loader> {
    let loaders = LOADERS.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    loaders.iter().find(|(known, _)| *known == prefix).map(|(_, loader)| *loader)
}

/// Which runs share a [`Control`], for machines that must know in whose run they are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunId(usize);

thread_local! {
    static CURRENT: Cell<Option<RunId>> = const { Cell::new(None) };
}

impl RunId {
    /// Return the id of the runs with this control, as long as it is neither moved nor dropped.
    pub fn of(control: &Control) -> RunId {
        RunId(std::ptr::from_ref(control).addr())
    }

    /// Return the id of the run that goes on in this thread; `None` outside of runs.
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
