//! What does not go with a scheme whose ports keep flows in queues of their own.

use crate::fault::Fault;
use crate::located::LocatedFault;
use crate::types::Scenario;

/// Refuses what such ports do not have, and flows of two classes: a port keeps those of one apart.
///
/// # Errors
/// The first table or key that does not go with it.
pub(crate) fn check(scenario: &Scenario) -> Result<(), LocatedFault> {
    if scenario.scheme.backpressure_point(1).is_none() {
        return Ok(());
    }
    let scheme = scenario.scheme.name().to_owned();
    let controlled = || scenario.traffic.iter().enumerate().filter(|(_, traffic)| traffic.controlled);
    let first = controlled().map(|(_, traffic)| traffic.priority).next();
    if let Some((entry, traffic)) = controlled().find(|(_, traffic)| Some(traffic.priority) != first) {
        let classes = (first.unwrap_or_default(), traffic.priority);
        let keys = [format!("traffic.{entry}.priority"), "scheme.name".to_owned()];
        return Err(LocatedFault::new(Fault::OneClassApart { scheme, classes }, &keys));
    }
    let Some((what, key)) = other_table(scenario).or_else(|| key_of_switch(scenario)) else { return Ok(()) };
    Err(LocatedFault::new(Fault::NotBesideQueues { scheme, what }, &[key, "scheme.name".to_owned()]))
}

fn other_table(scenario: &Scenario) -> Option<(&'static str, String)> {
    let tables = [
        ("links that fail", "failure.0", !scenario.failures.is_empty()),
        ("a PFC watchdog", "watchdog.0", !scenario.watchdogs.is_empty()),
        ("thresholds of single queues", "wred.0", !scenario.wreds.is_empty()),
        ("a congestion notification domain", "domain", scenario.domain.is_some()),
    ];
    tables.into_iter().find(|(_, _, there)| *there).map(|(what, key, _)| (what, key.to_owned()))
}

fn key_of_switch(scenario: &Scenario) -> Option<(&'static str, String)> {
    scenario.switches.iter().enumerate().find_map(|(number, switch)| {
        let (what, key) = match switch {
            switch if switch.trim_to.is_some() => ("packets that are cut", "trim_to"),
            switch if switch.weights.is_some() => ("classes that take turns by weight", "weights"),
            _ => return None,
        };
        Some((what, format!("switch.{number}.{key}")))
    })
}
