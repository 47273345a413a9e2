//! The scenarios inside the package.

use crate::{Fault, Scenario, ScenarioError};
use qcnlab_units::nearest;

/// A scenario file that was embedded when the crate was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// Its name: the file's stem.
    pub name: &'static str,
    /// The folder it lies in, named after the deck or paper it comes from.
    pub folder: &'static str,
    /// The file as it was written.
    pub text: &'static str,
}

static SHIPPED: &[Shipped] = include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// Every scenario inside the package, by folder and then by name.
pub fn shipped() -> Vec<Shipped> {
    let mut all = SHIPPED.to_vec();
    all.sort_by_key(|s| (s.folder, s.name));
    all
}

impl Shipped {
    /// Reads and checks it.
    ///
    /// # Errors
    /// When the file is at fault, which the tests of this crate rule out.
    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        Scenario::parse(self.text, &format!("{}.toml", self.name))
    }

    /// What the file says of itself under a key that stands before its tables: `title`, `about`, `source`.
    ///
    /// Reads the file up to its first table and checks nothing, so that a list of all scenarios need not resolve each.
    pub fn says<const N: usize>(&self, keys: [&str; N]) -> [Option<String>; N] {
        let head = self.text.split("\n[").next().unwrap_or_default();
        let table = toml::de::DeTable::parse(head).map(toml::Spanned::into_inner).unwrap_or_default();
        keys.map(|key| table.get(key).and_then(|value| value.get_ref().as_str()).map(str::to_owned))
    }
}

impl Scenario {
    /// The scenario of this name inside the package.
    ///
    /// # Errors
    /// When there is none; the nearest name is in the hint.
    pub fn shipped(name: &str) -> Result<Scenario, ScenarioError> {
        match SHIPPED.iter().find(|s| s.name == name) {
            Some(shipped) => shipped.scenario(),
            None => {
                let nearest = nearest(name, SHIPPED.iter().map(|s| s.name));
                Err(ScenarioError::nowhere(Fault::UnknownScenario { name: name.to_owned(), nearest }))
            }
        }
    }
}
