//! What does not go with a scheme whose ports keep flows in queues of their own, or congesting flows in one.

use crate::fault::Fault;
use crate::located::LocatedFault;
use crate::resolved::ResolvedScenario;
use crate::types::{Scenario, Traffic};

/// Refuses what such ports do not have, and flows of two classes: a port keeps those of one apart.
///
/// # Errors
/// The first table or key that does not go with it.
pub(crate) fn check(scenario: &Scenario) -> Result<(), LocatedFault> {
    if !keeps_apart(scenario) {
        return Ok(());
    }
    let isolates = scenario.scheme.isolation_point().is_some();
    let scheme = scenario.scheme.name().to_owned();
    if let Some((entry, traffic)) = controlled(scenario).find(|(_, traffic)| Some(traffic.priority) != first(scenario))
    {
        return Err(two_classes(scenario, traffic.priority, &format!("traffic.{entry}.priority")));
    }
    let Some((what, key)) = other_table(scenario).or_else(|| key_of_switch(scenario, isolates)) else { return Ok(()) };
    Err(LocatedFault::new(Fault::NotBesideQueues { scheme, what }, &[key, "scheme.name".to_owned()]))
}

/// Refuses listed flows of a class that is not the priority of traffic under control.
///
/// # Errors
/// The list of the first such flow.
pub(crate) fn check_flows(scenario: &Scenario, resolved: &ResolvedScenario) -> Result<(), LocatedFault> {
    if !keeps_apart(scenario) {
        return Ok(());
    }
    let first = first(scenario).unwrap_or_default();
    let other = resolved.flows.iter().find_map(|flow| {
        let class = u32::from(flow.class?);
        (scenario.traffic[flow.traffic].controlled && class != first).then_some((class, flow.traffic))
    });
    match other {
        Some((class, entry)) => Err(two_classes(scenario, class, &format!("traffic.{entry}.flows"))),
        None => Ok(()),
    }
}

/// Whether ports keep flows in queues of their own, or congesting flows in one.
fn keeps_apart(scenario: &Scenario) -> bool {
    scenario.scheme.backpressure_point(1).is_some() || scenario.scheme.isolation_point().is_some()
}

/// The entries of traffic under control.
fn controlled(scenario: &Scenario) -> impl Iterator<Item = (usize, &Traffic)> {
    scenario.traffic.iter().enumerate().filter(|(_, traffic)| traffic.controlled)
}

/// The priority of the first of them.
fn first(scenario: &Scenario) -> Option<u32> {
    controlled(scenario).map(|(_, traffic)| traffic.priority).next()
}

fn two_classes(scenario: &Scenario, other: u32, key: &str) -> LocatedFault {
    let scheme = scenario.scheme.name().to_owned();
    let classes = (first(scenario).unwrap_or_default(), other);
    LocatedFault::new(Fault::OneClassApart { scheme, classes }, &[key.to_owned(), "scheme.name".to_owned()])
}

fn other_table(scenario: &Scenario) -> Option<(&'static str, String)> {
    let tables = [
        ("a PFC watchdog", "watchdog.0", !scenario.watchdogs.is_empty()),
        ("thresholds of single queues", "wred.0", !scenario.wreds.is_empty()),
        ("a congestion notification domain", "domain", scenario.domain.is_some()),
    ];
    tables.into_iter().find(|(_, _, there)| *there).map(|(what, key, _)| (what, key.to_owned()))
}

/// Two queues may take turns by the weights of their classes.
fn key_of_switch(scenario: &Scenario, isolates: bool) -> Option<(&'static str, String)> {
    scenario.switches.iter().enumerate().find_map(|(number, switch)| {
        let (what, key) = match switch {
            switch if switch.trim_to.is_some() => ("packets that are cut", "trim_to"),
            switch if switch.weights.is_some() && !isolates => ("classes that take turns by weight", "weights"),
            _ => return None,
        };
        Some((what, format!("switch.{number}.{key}")))
    })
}
