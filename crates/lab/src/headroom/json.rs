//! The headroom of a link, and what runs say of it, for those who print it.

use super::worst::{Memory, Worst};
use crate::error::RunError;
use crate::outcome::Outcome;
use crate::run::run;
use crate::tasks::Options;
use qcnlab_network::{PausedLink, Term};
use qcnlab_scenario::{Scenario, ScenarioError};
use qcnlab_sim::Control;
use qcnlab_units::Bytes;
use serde_json::{Value, json};

/// Why the headroom of a link cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum HeadroomError {
    /// No scenario may have such a link.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The run fails.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Worst {
    /// Frames that this run loses with each of these headrooms.
    ///
    /// # Errors
    /// When no scenario may have such a link.
    pub fn lost(&self, headrooms: &[Bytes], memory: Memory) -> Result<Vec<u64>, HeadroomError> {
        let scenario = |headroom: &Bytes| self.scenario(*headroom, memory);
        let scenarios: Vec<Scenario> = headrooms.iter().map(scenario).collect::<Result<_, _>>()?;
        let outcomes = run(&scenarios, &Options::default(), &Control::default())?;
        let lost = |outcome: &Outcome| outcome.replications[0].done.counters.frames_dropped;
        Ok(outcomes.iter().map(lost).collect())
    }
}

/// Returns a link's headroom as JSON: `terms` with `name` and `octets` on the wire, `headroom_bytes`, `worst` with the
/// octets that the worst run takes and its frames, `lost` with the frames that runs lose with `headroom_bytes`, with
/// what the worst run takes, with a cell less, and with each of `others`, and `scenario`, the text of the run with what it
/// takes.
///
/// # Errors
/// When no scenario may have such a link.
pub fn headroom_json(link: &PausedLink, others: &[Bytes]) -> Result<String, HeadroomError> {
    let (headroom, worst) = (link.headroom(), Worst::of(link));
    let memory = if link.cell.get() > 1 { Memory::Shared } else { Memory::Input };
    let tight = worst.takes();
    let less = tight.saturating_sub(Bytes::new(link.cell.get().max(1)));
    let headrooms: Vec<Bytes> = [headroom, tight, less].iter().chain(others).copied().collect();
    let lost = worst.lost(&headrooms, memory)?;
    let terms = Term::ALL.map(|term| json!({"name": term.name(), "octets": link.term(term)}));
    let run_of = |(headroom, lost): (&Bytes, &u64)| json!({"headroom_bytes": headroom.get(), "frames": lost});
    let answer: Value = json!({
        "terms": terms,
        "headroom_bytes": headroom.get(),
        "greediest_frame_bytes": link.greediest().get(),
        "worst": {
            "bytes": tight.get(),
            "frames": worst.frames(),
            "overhead_bytes": worst.frames() * link.overhead.get(),
        },
        "lost": headrooms.iter().zip(&lost).map(run_of).collect::<Vec<_>>(),
        "scenario": worst.toml(tight, memory),
    });
    Ok(answer.to_string())
}
