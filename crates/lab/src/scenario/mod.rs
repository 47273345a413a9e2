//! Scenario files: from a TOML text to a checked, resolved [`Scenario`] and back.
//!
//! * `types`, `shapes`, `devices`: what a scenario says; each table is declared there, once.
//! * `pattern`: names with wildcards and ranges.
//! * `network`, `flows`, `connection`, `drawing`, `pausing`, `receiving`, `ground`: what follows from the tables before time zero.
//! * `layout`: the shape of a file, as data over those tables.
//! * `document`: text to a tree of keys and values with their places.
//! * `overrides`: changes to that tree.
//! * `read`: tree to scenario.
//! * `check`: what cannot work although every value by itself could.
//! * `resolve`: scenario to text, JSON and hash.

mod check;
mod connection;
mod devices;
mod document;
mod drawing;
mod error;
mod fault;
mod flows;
mod ground;
pub(crate) mod layout;
mod nearest;
mod needs;
mod network;
mod overrides;
mod pattern;
mod pause_fault;
mod pausing;
mod read;
mod receiving;
pub(crate) mod resolve;
mod shapes;
mod types;

pub(crate) use nearest::nearest;

pub(crate) use flows::Draw;
pub(crate) use ground::Ground;
pub(crate) use needs::Counts;

pub use devices::{Adapters, Multipath, Pause, PauseKind, PauseRule, Routing, Switches};
pub use error::ScenarioError;
pub use fault::Fault;
pub use flows::FlowSpec;
pub use pattern::PatternError;
pub use pause_fault::PauseFault;
pub use shapes::{Chain, FatTree, Graph, LeafSpine, Links, OneSwitch, ParkingLot, Star, Topology, Tree};
pub use types::{
    BOTTLENECK, Feedback, Hotspot, LONGEST, Record, Scenario, Spread, TcpFlavour, Times, Traffic, TrafficKind,
};

use document::{Document, Place};
use std::sync::Arc;

impl Scenario {
    /// Reads and checks TOML text. `name` is used in messages; a file's name gives the scenario its own.
    ///
    /// # Errors
    /// When the text is no TOML, has a key or a value no scenario has, or cannot work.
    pub fn parse(text: &str, name: &str) -> Result<Scenario, ScenarioError> {
        read::read(Arc::new(Document::from_toml(text, name)?))
    }

    /// As [`Scenario::parse`], from the octets of a file.
    ///
    /// # Errors
    /// As [`Scenario::parse`], and when the octets are not UTF-8.
    pub fn from_bytes(octets: &[u8], name: &str) -> Result<Scenario, ScenarioError> {
        match std::str::from_utf8(octets) {
            Ok(text) => Scenario::parse(text, name),
            Err(error) => {
                let offset = error.valid_up_to();
                let text = String::from_utf8_lossy(octets);
                Err(ScenarioError::new(
                    Fault::NotUtf8 { offset },
                    name,
                    &text,
                    &Place::Span(offset..offset + '\u{fffd}'.len_utf8()),
                ))
            }
        }
    }

    /// Reads and checks JSON text of the same shape as the TOML.
    ///
    /// # Errors
    /// As [`Scenario::parse`]; places are keys instead of lines.
    pub fn from_json(text: &str, name: &str) -> Result<Scenario, ScenarioError> {
        read::read(Arc::new(Document::from_json(text, name)?))
    }

    /// The scenario with assignments such as `topology.rtt=200us` applied to the text it was read from.
    ///
    /// A value is read as TOML or, failing that, as text, so quotes are optional. Entries of a list are
    /// counted from 0 (`hotspot.0.rate`); the number may be left out where there is one entry. A new
    /// `scheme.name` drops the text's own preset, `scheme.cp` and `scheme.rp`. Of two assignments to one
    /// key the later holds.
    ///
    /// # Errors
    /// When an assignment names nothing, has a bad value, or gives a scenario that cannot work.
    pub fn with_overrides<S: AsRef<str>>(&self, assignments: &[S]) -> Result<Scenario, ScenarioError> {
        let assignments: Vec<&str> = assignments.iter().map(AsRef::as_ref).collect();
        let changed = overrides::apply(&self.origin, &assignments)?;
        let name = self.name.clone();
        Ok(Scenario { name, ..read::read(Arc::new(changed))? })
    }
}
