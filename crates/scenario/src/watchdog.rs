//! From the tables `[[watchdog]]` and `[[pause_storm]]` to the watchdog of each switch and to hosts that send pauses without end.

use super::devices::WatchdogAction;
use super::fault::Fault;
use super::incidents::PauseStorm;
use super::located::{LocatedFault, read_pattern};
use super::pausing::class_list;
use super::types::Scenario;
use qcnlab_network::topology::{Network, NodeId, PortId, Role};
use qcnlab_sim::WatchdogPlan;
use qcnlab_units::{IdVec, Span};

/// A storm with the port that its host sends pauses by.
#[derive(Clone, Copy, Debug)]
pub struct StormAt {
    /// The port that is stopped.
    pub port: PortId,
    /// The classes that are stopped, a bit each.
    pub classes: u8,
    /// When it begins.
    pub from: Span,
    /// When it ends.
    pub until: Span,
}

/// The watchdog of each node.
pub(super) fn watchdogs(
    scenario: &Scenario,
    network: &Network,
) -> Result<IdVec<NodeId, Option<WatchdogPlan>>, LocatedFault> {
    let mut plans = IdVec::for_each_of(&network.nodes, None);
    for (number, table) in scenario.watchdogs.iter().enumerate() {
        let key = format!("watchdog.{number}.only");
        let fits = read_pattern(&table.only, &key)?;
        let quarter = Span::from_ps((table.detect_after.ps() / 4).max(1));
        let plan = WatchdogPlan {
            detect: table.detect_after,
            restore: table.restore_after,
            poll: table.poll.unwrap_or(quarter),
            action: match table.action {
                WatchdogAction::Drop => qcnlab_sim::WatchdogAction::Drop,
                WatchdogAction::Forward => qcnlab_sim::WatchdogAction::Forward,
            },
        };
        let switches = || network.nodes.enumerate().filter(|(_, node)| node.role == Role::Switch);
        let mut any = false;
        for (node, _) in switches().filter(|(_, node)| fits.matches(&node.name)) {
            any = true;
            let of_node: &mut Option<WatchdogPlan> = &mut plans[node];
            of_node.get_or_insert(plan);
        }
        if !any {
            let known = switches().map(|(_, node)| node.name.clone()).collect();
            let fault = Fault::NoMatch { pattern: table.only.clone(), what: "switch", known };
            return Err(LocatedFault::new(fault, &[key, format!("watchdog.{number}")]));
        }
    }
    Ok(plans)
}

/// The storms of a scenario. The network has the links between its nodes alone.
pub(super) fn storms(scenario: &Scenario, network: &Network) -> Result<Vec<StormAt>, LocatedFault> {
    let one = |(number, storm): (usize, &PauseStorm)| {
        let key = |name: &str| format!("pause_storm.{number}.{name}");
        let refuse = |fault, keys: &[String]| Err(LocatedFault::new(fault, keys));
        let is_host = |node: &NodeId| network.nodes[*node].role == Role::Host;
        let from_host = |port: &PortId| {
            let (from, _) = network.ends(*port);
            is_host(&from) && network.nodes[from].name == storm.host
        };
        let Some(port) = network.ports().find(from_host) else {
            let known = network.hosts().map(|host| network.nodes[host].name.clone()).collect();
            let fault = Fault::NotInTopology { what: "host", name: storm.host.clone(), known };
            return refuse(fault, &[key("host"), format!("pause_storm.{number}")]);
        };
        let classes = class_list(&storm.priorities, &[key("priorities")])?;
        let PauseStorm { from, until, .. } = *storm;
        if from >= scenario.duration {
            let fault = Fault::BeyondEnd { what: "the storm begins", value: from, duration: scenario.duration };
            return refuse(fault, &[key("from"), "duration".to_owned()]);
        }
        if until <= from {
            let fault = Fault::EndsBeforeBegin { what: "the storm", begin: from, end: until };
            return refuse(fault, &[key("until"), key("from")]);
        }
        Ok(StormAt { port, classes, from, until })
    };
    scenario.pause_storms.iter().enumerate().map(one).collect()
}
