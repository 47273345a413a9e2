//! A scenario that differs in a few keys from one that was checked: only the tables of these keys are read again.

use super::Reader;
use crate::scenario::anew::{Anew, depends_on_its_end, keeps_headroom, of_headroom, of_links, of_topology, of_traffic};
use crate::scenario::check;
use crate::scenario::document::Document;
use crate::scenario::error::ScenarioError;
use crate::scenario::layout::TOP;
use crate::scenario::types::Scenario;
use qcnlab_schemes::params::Table;
use std::sync::Arc;

/// Reads again the tables of `known` in which `document` differs from its own: those named `sections`, where another
/// name stands for the keys of the file itself. What differs then needs the checks that are returned.
pub(crate) fn again(
    known: Scenario,
    document: &Arc<Document>,
    sections: &[&str],
) -> Result<(Scenario, Anew), ScenarioError> {
    let reader = Reader { document };
    let mut scenario = Scenario { origin: Arc::clone(document), ..known };
    let mut anew = Anew::Nothing;
    for section in sections {
        anew = anew.max(reader.section(&mut scenario, section)?);
    }
    Ok((scenario, anew))
}

impl Reader<'_> {
    /// Reads one section into `scenario`.
    fn section(&self, scenario: &mut Scenario, section: &str) -> Result<Anew, ScenarioError> {
        let mut anew = Anew::Network;
        let headroom = keeps_headroom(scenario);
        match section {
            "topology" => {
                let topology = self.topology()?;
                anew = of_topology(scenario, &topology);
                scenario.topology = topology;
            }
            "link" => {
                let links = self.links()?;
                anew = of_links(scenario, &links);
                scenario.links = links;
            }
            "switch" => (scenario.switches, anew) = (self.switches()?, Anew::Ways),
            "shared_buffer" => {
                scenario.shared_buffers = self.shared_buffers()?;
                anew = of_headroom(headroom, scenario);
            }
            "wred" => (scenario.wreds, anew) = (self.wreds()?, Anew::Plans),
            "adapter" => scenario.adapters = self.adapters()?,
            "pause" => {
                scenario.pauses = self.pauses()?;
                anew = of_headroom(headroom, scenario);
            }
            "watchdog" => (scenario.watchdogs, anew) = (self.watchdogs()?, Anew::Plans),
            "routing" => (scenario.routing, anew) = (self.routing()?, Anew::Ways),
            "route" => (scenario.routes, anew) = (self.routes()?, Anew::Ways),
            "domain" => scenario.domain = self.domain()?,
            "defence" => scenario.defences = self.defences()?,
            "traffic" => {
                let traffic = self.traffic()?;
                anew = of_traffic(scenario, &traffic);
                scenario.traffic = traffic;
                check::load(scenario)?;
            }
            "hotspot" => {
                let hotspots = self.hotspots()?;
                let ports = scenario.hotspots.iter().map(|hotspot| &hotspot.port);
                if ports.eq(hotspots.iter().map(|hotspot| &hotspot.port)) {
                    anew = Anew::Nothing;
                }
                scenario.hotspots = hotspots;
            }
            "failure" => scenario.failures = self.failures()?,
            "pause_storm" => scenario.pause_storms = self.pause_storms()?,
            "feedback" => scenario.feedback = self.feedback()?,
            "scheme" => {
                scenario.scheme = self.scheme()?;
                // Who takes part in a domain depends on what the scheme hears.
                anew = if scenario.domain.is_some() { Anew::Network } else { Anew::Checks };
            }
            "record" => anew = self.record_again(scenario)?,
            _ => anew = self.top_again(scenario)?,
        }
        Ok(anew)
    }

    fn record_again(&self, scenario: &mut Scenario) -> Result<Anew, ScenarioError> {
        let record = self.record(scenario.duration)?;
        let before = std::mem::replace(&mut scenario.record, record);
        let now = &scenario.record;
        Ok(match (&before.bottleneck, &before.queues) == (&now.bottleneck, &now.queues) {
            false => Anew::Network,
            true if now.tables => Anew::Checks,
            true => Anew::Nothing,
        })
    }

    fn top_again(&self, scenario: &mut Scenario) -> Result<Anew, ScenarioError> {
        let times = |of: &Scenario| (of.duration, of.stop_arrivals);
        let (seed, before) = (scenario.seed, times(scenario));
        for (index, value) in self.top()?.into_iter().enumerate() {
            scenario.set(index, value);
        }
        debug_assert_eq!(scenario.fields().len(), TOP.fields.len());
        let drawn = seed != scenario.seed && scenario.draws_flows();
        let timed = before != times(scenario) && depends_on_its_end(scenario);
        // How finely a run is written down follows from its duration.
        let record = if before == times(scenario) { Anew::Nothing } else { self.record_again(scenario)? };
        Ok(if drawn || timed { Anew::Network } else { record })
    }
}
