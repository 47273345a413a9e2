//! Thresholds of single queues: from the tables of `[[wred]]` to the queues of each port.

use super::devices::Wred;
use super::fault::Fault;
use super::located::{LocatedFault, read_pattern};
use super::pausing::class_list;
use super::types::Scenario;
use qcnlab_network::topology::{Network, PortId, Role};
use qcnlab_schemes::parts::ecn::RampParams;
use qcnlab_sim::WredPlan;
use qcnlab_units::IdVec;

/// The thresholds of each port's queues, as the network numbers ports; the first of a class holds.
pub(super) fn thresholds(scenario: &Scenario, network: &Network) -> Result<IdVec<PortId, Vec<WredPlan>>, LocatedFault> {
    let mut plans = network.by_port(Vec::new());
    for (number, wred) in scenario.wreds.iter().enumerate() {
        let key = |name: &str| format!("wred.{number}.{name}");
        if wred.k_min > wred.k_max {
            let fault = Fault::Ramp { k_min: wred.k_min, k_max: wred.k_max };
            return Err(LocatedFault::new(fault, &[key("k_min"), key("k_max")]));
        }
        let classes = class_list(&wred.priorities, &[key("priorities")])?;
        let fits = read_pattern(&wred.ports, &key("ports"))?;
        let of_switch = |port: &PortId| network.nodes[network.ends(*port).0].role == Role::Switch;
        let ports = || network.ports().filter(of_switch);
        let fitting: Vec<PortId> = ports().filter(|port| fits.matches(&network.port_name(*port))).collect();
        if fitting.is_empty() {
            let known = ports().map(|port| network.port_name(port)).collect();
            let fault = Fault::NoMatch { pattern: wred.ports.clone(), what: "switch port", known };
            return Err(LocatedFault::new(fault, &[key("ports"), format!("wred.{number}")]));
        }
        let Wred { k_min, k_max, p_max, mark_at, thresholds_for, .. } = *wred;
        let ramp = RampParams { k_min, k_max, p_max, mark_at, thresholds_for };
        for port in fitting {
            let of_port: &mut Vec<WredPlan> = &mut plans[port];
            let taken = of_port.iter().fold(0, |taken, plan| taken | plan.classes);
            if classes & !taken != 0 {
                of_port.push(WredPlan { classes: classes & !taken, ramp });
            }
        }
    }
    Ok(plans)
}
