//! Scenario files: from a TOML text to a checked, resolved [`Scenario`] and back.
//!
//! * `types`, `shapes`, `devices`, `shared_buffer`, `incidents`: what a scenario says; each table is declared there, once.
//!   `fields` holds the ranges they share.
//! * `arrivals`, `transport`: when an entry of traffic offers what, and what carries it; a file for each.
//! * `domain`: who takes part in congestion notification; `defences`: what follows for each port.
//! * `network`, `flows`, `entry`, `loading`, `connection`, `replaying`, `pausing`, `failing`, `routing`, `watchdog`, `wred`, `scheduling`,
//!   `sharing`, `receiving`: parts of the resolved scenario.
//! * `resolved`: what follows from the tables before time zero, put together.
//! * `layout`: the shape of a file, as data over those tables.
//! * `document`: from text to a tree of keys and values, each with its `position`.
//! * `overrides`: changes to that tree. `slowing`: the scenario at another pace.
//! * `read`: from the tree to a scenario. `recheck`: how much of it is checked again where one table differs. `fineness`:
//!   how finely a run is written down where the file does not say.
//! * `check`: what cannot work although every value by itself could.
//! * `fault`, `pause_fault`, `domain_fault`: what can be wrong. `located`: a fault with the keys it concerns. `error`: a fault as a
//!   message, with the line and a caret.
//! * `warning`: what can be run, but may not mean what its author thinks.
//! * `text`: from a scenario to TOML, JSON and a hash.
//! * `limiters`: which rate limiter each flow goes through.
//! * `grid`: many changes of one scenario, checked together, on the `threads` of all cores.
//! * `shipped`: the scenarios inside the package. `catalogue`, `schema`: what a file may hold, for people and for editors.
//! * `foreign`: schemes that are not in this workspace.
//!
//! Features, both on by default: `files` for files that scenarios name, `threads` for many scenarios at a time.
#![cfg_attr(not(all(feature = "files", feature = "threads")), allow(dead_code, unused_imports))]

pub(crate) mod apart;
mod arrivals;
mod catalogue;
mod check;
pub(crate) mod companions;
mod connection;
mod counts;
mod defences;
mod devices;
mod document;
mod domain;
mod domain_fault;
mod entry;
mod error;
mod failing;
mod fault;
mod fields;
mod fineness;
mod flows;
pub mod foreign;
#[cfg(feature = "threads")]
mod grid;
mod headrooms;
mod incidents;
mod isolating;
pub(crate) mod layout;
mod limiters;
mod loading;
mod located;
mod network;
mod network_json;
mod overrides;
mod pause_fault;
mod pausing;
mod position;
mod quantity;
#[cfg(test)]
mod ranges;
mod read;
mod receiving;
mod recheck;
mod renamed;
mod replaying;
mod resolved;
mod routing;
mod scheduling;
mod schema;
mod shapes;
mod shared_buffer;
mod sharing;
mod shipped;
mod sizing;
mod slowing;
pub(crate) mod text;
#[cfg(feature = "threads")]
pub mod threads;
mod thresholds;
mod transport;
mod types;
mod warning;
mod watchdog;
mod wred;

pub(crate) use check::check_and_resolve;
pub(crate) use document::Document;
pub(crate) use overrides::{Assignment, apply_read};
pub(crate) use read::{read_unchecked, reread};
pub(crate) use recheck::Recheck;

pub use arrivals::{
    Arrivals, CaptureFrames, CollectiveOperation, ConstantStream, FlowList, IncastBursts, Offered, OnOffStream,
    Placement, PoissonStream, RandomFlows, Saturated, Times,
};
pub use catalogue::{parameters_json, scenarios_json, schemes_json, sizes_json};
pub use counts::Counts;
pub use defences::{Defended, Mode, PortDefence, ResolvedDomain, automatic_alternate};
pub use devices::{
    Adapters, Multipath, Pause, PauseKind, PauseRule, PauseTarget, Route, Routing, Switches, Watchdog, WatchdogAction,
    Wred,
};
pub use domain::{Defence, DefenceMode, Domain};
pub use domain_fault::DomainFault;
pub use entry::{Draw, Pairing};
pub use error::ScenarioError;
pub use failing::FailedLink;
pub use fault::Fault;
pub use fields::LONGEST;
pub use flows::FlowSpec;
#[cfg(feature = "threads")]
pub use grid::{Checked, Grid, Refusal};
pub use incidents::{Failure, PauseStorm};
pub use limiters::{limiters, untagged_limiters};
pub use pause_fault::PauseFault;
pub use quantity::{quantity, seconds};
pub use replaying::pace;
pub use resolved::ResolvedScenario;
pub use routing::{NewPaths, repaired_paths, written_paths};
pub use schema::schema_json;
pub use shapes::{Chain, FatTree, Graph, LeafSpine, Links, OneSwitch, ParkingLot, Star, Topology, Tree};
pub use shared_buffer::{SharedBuffer, SharedBufferKind};
pub use shipped::{Shipped, shipped};
pub use transport::{
    BicProbing, BicStep, CongestionAvoidance, NoTransport, RecoverGuard, RoceTransport, RttFrom, TcpFlavour,
    TcpTransport, Transport,
};
pub use types::{BOTTLENECK, Feedback, Hotspot, Record, Scenario, Ties, Traffic};
pub use watchdog::StormAt;

use position::Position;
use qcnlab_traffic::files::GZIP;
use std::sync::Arc;

impl Scenario {
    /// Reads and checks TOML text. `name` is used in messages; a file's name gives the scenario its own.
    ///
    /// # Errors
    /// When the text is no TOML, has a key or a value no scenario has, or cannot work.
    pub fn parse(text: &str, name: &str) -> Result<Scenario, ScenarioError> {
        read::read_and_check(Arc::new(Document::from_toml(text, name)?))
    }

    /// As [`Scenario::parse`], from the octets of a file.
    ///
    /// # Errors
    /// As [`Scenario::parse`], and when the octets are not UTF-8.
    pub fn from_bytes(octets: &[u8], name: &str) -> Result<Scenario, ScenarioError> {
        match std::str::from_utf8(octets) {
            Ok(text) => Scenario::parse(text, name),
            Err(_) if octets.starts_with(GZIP) => Err(ScenarioError::new(Fault::Gzip, name, "", &Position::Span(0..0))),
            Err(error) => {
                let offset = error.valid_up_to();
                let text = String::from_utf8_lossy(octets);
                Err(ScenarioError::new(
                    Fault::NotUtf8 { offset },
                    name,
                    &text,
                    &Position::Span(offset..offset + '\u{fffd}'.len_utf8()),
                ))
            }
        }
    }

    /// Reads and checks JSON text of the same shape as the TOML.
    ///
    /// # Errors
    /// As [`Scenario::parse`]; positions are keys instead of lines.
    pub fn from_json(text: &str, name: &str) -> Result<Scenario, ScenarioError> {
        read::read_and_check(Arc::new(Document::from_json(text, name)?))
    }

    /// Returns what the scenario was made from, overrides applied and no default filled in, as the name of its file and
    /// JSON: [`Scenario::from_json`] makes the same scenario of it, which the same overrides change in the same way.
    pub fn source(&self) -> (&str, String) {
        (&self.origin.name, self.origin.to_json())
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
        let name = self.name.clone();
        Ok(Scenario { name, ..read::read_and_check(self.changed(assignments)?)? })
    }

    /// Returns the text it was read from, with assignments applied.
    ///
    /// # Errors
    /// When an assignment contradicts the text or another one.
    pub(crate) fn document(&self, assignments: &[&Assignment]) -> Result<Document, ScenarioError> {
        overrides::apply_read(&self.origin, assignments)
    }

    /// Reads one assignment.
    ///
    /// # Errors
    /// When it names nothing.
    pub(crate) fn read_assignment(&self, text: &str) -> Result<Assignment, ScenarioError> {
        Assignment::read(text, &self.origin)
    }

    fn changed<S: AsRef<str>>(&self, assignments: &[S]) -> Result<Arc<Document>, ScenarioError> {
        let assignments: Vec<&str> = assignments.iter().map(AsRef::as_ref).collect();
        overrides::apply(&self.origin, &assignments).map(Arc::new)
    }
}
