//! Thresholds of single queues: the table `[[wred]]`.

use super::fault::Fault;
use super::located::{LocatedFault, read_pattern};
use super::pausing::class_list;
use super::types::Scenario;
use crate::topology::{Network, Role};
use qcnlab_schemes::params;
use qcnlab_schemes::params::{Fallback, Range};
use qcnlab_schemes::parts::ecn::{MarkAt, RampParams};
use qcnlab_sim::WredPlan;
use qcnlab_units::{BitRate, Bytes};

params! {
    /// Thresholds of output queues of switches, for marks and early drops. Of several tables the first that fits a
    /// queue holds. With dcqcn and dctcp, frames under congestion control are marked by these thresholds instead of the
    /// scheme's own; all other data frames cannot carry a mark and are dropped when they arrive.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Wred {
        /// Ports of switches, written from->to: a name, or a pattern in which * stands for any characters and {1..4}
        /// for numbers.
        ports: String, "", Range::ANY, Fallback::Text("*");
        /// Classes of their queues, such as "3" or "0, 3..5".
        priorities: String, "", Range::ANY, Fallback::Text("0..7");
        /// Up to this queue length nothing is marked or dropped.
        k_min: Bytes, "Kmin, green_min_threshold", Range::at_least(0.0);
        /// Above this queue length everything is.
        k_max: Bytes, "Kmax, green_max_threshold", Range::at_least(0.0);
        /// Probability at k_max; the ramp from k_min leads there.
        p_max: f64, "Pmax, green_drop_probability", Range::between(0.0, 1.0), Fallback::Text("1");
        /// When a frame is marked.
        mark_at: MarkAt, "", Range::ANY, Fallback::Text("departure");
        /// The port's rate that the thresholds are for: at another they grow and shrink with it. Left out, they are the
        /// same at every port.
        thresholds_for: Option<BitRate>, "", Range::POSITIVE;
    }
}

/// The thresholds of each port's queues, as the network numbers ports; the first of a class holds.
pub(super) fn thresholds(scenario: &Scenario, network: &Network) -> Result<Vec<Vec<WredPlan>>, LocatedFault> {
    let mut plans = vec![Vec::new(); network.ports() as usize];
    for (number, wred) in scenario.wreds.iter().enumerate() {
        let key = |name: &str| format!("wred.{number}.{name}");
        if wred.k_min > wred.k_max {
            let fault = Fault::Ramp { k_min: wred.k_min, k_max: wred.k_max };
            return Err(LocatedFault::new(fault, &[key("k_min"), key("k_max")]));
        }
        let classes = class_list(&wred.priorities, &[key("priorities")])?;
        let fits = read_pattern(&wred.ports, &key("ports"))?;
        let of_switch = |port: &u32| network.nodes[network.ends(*port).0 as usize].role == Role::Switch;
        let ports = || (0..network.ports()).filter(of_switch);
        let fitting: Vec<u32> = ports().filter(|port| fits.matches(&network.port_name(*port))).collect();
        if fitting.is_empty() {
            let known = ports().map(|port| network.port_name(port)).collect();
            let fault = Fault::NoMatch { pattern: wred.ports.clone(), what: "switch port", known };
            return Err(LocatedFault::new(fault, &[key("ports"), format!("wred.{number}")]));
        }
        let Wred { k_min, k_max, p_max, mark_at, thresholds_for, .. } = *wred;
        let ramp = RampParams { k_min, k_max, p_max, mark_at, thresholds_for };
        for port in fitting {
            let of_port: &mut Vec<WredPlan> = &mut plans[port as usize];
            let taken = of_port.iter().fold(0, |taken, plan| taken | plan.classes);
            if classes & !taken != 0 {
                of_port.push(WredPlan { classes: classes & !taken, ramp });
            }
        }
    }
    Ok(plans)
}
