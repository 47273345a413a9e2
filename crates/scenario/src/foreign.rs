//! Schemes that a scenario names and this workspace does not have: `[scheme] name = "PREFIX:LOCATION"`.
//!
//! Who can load such schemes installs a [`Loader`] for a prefix, once for the whole process; the Python package
//! does so for `python:`. A scenario with a prefix nobody loads is refused.

use qcnlab_schemes::foreign::{ForeignScheme, Parameters};
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
