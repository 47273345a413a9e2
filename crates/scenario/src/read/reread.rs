//! A scenario that differs in a few keys from one that was checked: only the tables of these keys are read again.

use super::Reader;
use crate::check;
use crate::document::Document;
use crate::error::ScenarioError;
use crate::layout::TOP;
use crate::recheck::{Recheck, depends_on_its_end, links_recheck, pauses_recheck, topology_recheck, traffic_recheck};
use crate::types::Scenario;
use qcnlab_schemes::params::Table;
use std::sync::Arc;

/// Reads again the tables of `known` in which `document` differs from its own: those named `sections`, where another
/// name stands for the keys of the file itself. What differs then needs the checks that are returned.
pub(crate) fn reread(
    known: Scenario,
    document: &Arc<Document>,
    sections: &[&str],
) -> Result<(Scenario, Recheck), ScenarioError> {
    let reader = Reader { document };
    let mut scenario = Scenario { origin: Arc::clone(document), ..known };
    let mut recheck = Recheck::Nothing;
    for section in sections {
        recheck = recheck.max(reader.section(&mut scenario, section)?);
    }
    Ok((scenario, recheck))
}

impl Reader<'_> {
    /// Reads one section into `scenario`.
    fn section(&self, scenario: &mut Scenario, section: &str) -> Result<Recheck, ScenarioError> {
        let mut recheck = Recheck::Network;
        match section {
            "topology" => {
                let topology = self.topology()?;
                recheck = topology_recheck(scenario, &topology);
                scenario.topology = topology;
            }
            "link" => {
                let links = self.links()?;
                recheck = links_recheck(scenario, &links);
                scenario.links = links;
            }
            "switch" => (scenario.switches, recheck) = (self.switches()?, Recheck::Ways),
            "shared_buffer" => (scenario.shared_buffers, recheck) = (self.shared_buffers()?, Recheck::Plans),
            "wred" => (scenario.wreds, recheck) = (self.wreds()?, Recheck::Plans),
            "adapter" => scenario.adapters = self.adapters()?,
            "pause" => recheck = pauses_recheck(scenario, self.pauses()?),
            "watchdog" => (scenario.watchdogs, recheck) = (self.watchdogs()?, Recheck::Plans),
            "routing" => (scenario.routing, recheck) = (self.routing()?, Recheck::Ways),
            "route" => (scenario.routes, recheck) = (self.routes()?, Recheck::Ways),
            "domain" => scenario.domain = self.domain()?,
            "defence" => scenario.defences = self.defences()?,
            "traffic" => {
                let traffic = self.traffic()?;
                recheck = traffic_recheck(scenario, &traffic);
                scenario.traffic = traffic;
                check::load(scenario)?;
            }
            "hotspot" => {
                let hotspots = self.hotspots()?;
                let ports = scenario.hotspots.iter().map(|hotspot| &hotspot.port);
                if ports.eq(hotspots.iter().map(|hotspot| &hotspot.port)) {
                    recheck = Recheck::Nothing;
                }
                scenario.hotspots = hotspots;
            }
            "failure" => scenario.failures = self.failures()?,
            "pause_storm" => scenario.pause_storms = self.pause_storms()?,
            "feedback" => scenario.feedback = self.feedback()?,
            "scheme" => {
                scenario.scheme = self.scheme()?;
                // Who takes part in a domain depends on what the scheme hears.
                recheck = if scenario.domain.is_some() { Recheck::Network } else { Recheck::Checks };
            }
            "record" => recheck = self.reread_record(scenario)?,
            _ => recheck = self.reread_top(scenario)?,
        }
        Ok(recheck)
    }

    fn reread_record(&self, scenario: &mut Scenario) -> Result<Recheck, ScenarioError> {
        let record = self.record(scenario.duration)?;
        let before = std::mem::replace(&mut scenario.record, record);
        let now = &scenario.record;
        Ok(match (&before.bottleneck, &before.queues) == (&now.bottleneck, &now.queues) {
            false => Recheck::Network,
            true if now.tables => Recheck::Checks,
            true => Recheck::Nothing,
        })
    }

    fn reread_top(&self, scenario: &mut Scenario) -> Result<Recheck, ScenarioError> {
        let times = |of: &Scenario| (of.duration, of.stop_arrivals);
        let (seed, before) = (scenario.seed, times(scenario));
        for (index, value) in self.top()?.into_iter().enumerate() {
            scenario.set(index, value);
        }
        debug_assert_eq!(scenario.fields().len(), TOP.fields.len());
        let drawn = seed != scenario.seed && scenario.draws_flows();
        let timed = before != times(scenario) && depends_on_its_end(scenario);
        // How finely a run is written down follows from its duration.
        let record = if before == times(scenario) { Recheck::Nothing } else { self.reread_record(scenario)? };
        Ok(if drawn || timed { Recheck::Network } else { record })
    }
}
