//! Clocks that are off: each transmitter's rate, drawn once.

use qcnlab_schemes::{Dice, Purpose};
use qcnlab_sim::{FlowId, GeneratorPlan, Plan, PortId, Process, Traffic};
use qcnlab_units::{BitRate, IdVec};

/// Sets the clock of every transmitter of `plan` off by up to `tolerance_ppm` millionths, either way. A port's clock
/// gives its rate, in hotspots, too; the clock of a host's port also that of the frames which the host offers at a
/// constant rate.
pub(super) fn set_off(plan: &mut Plan, tolerance_ppm: u32) {
    if tolerance_ppm == 0 {
        return;
    }
    let tolerance = f64::from(tolerance_ppm);
    let draw = |name: &str| Dice::new(plan.seed, plan.replication, name, Purpose::Clock).uniform(-tolerance, tolerance);
    let ppm: IdVec<PortId, f64> = plan.ports.iter().map(|port| draw(&port.name)).collect();
    for (port, ppm) in plan.ports.iter_mut().zip(&ppm) {
        port.rate = off_by(port.rate, *ppm);
    }
    for change in &mut plan.services {
        change.rate = off_by(change.rate, ppm[change.port]);
    }
    let of_host: IdVec<FlowId, f64> = plan.flows.iter().map(|flow| ppm[flow.paths[0][0]]).collect();
    for (flow, ppm) in plan.flows.iter_mut().zip(&of_host) {
        match &mut flow.traffic {
            Traffic::Constant { rate } | Traffic::Saturated { ceiling: Some(rate), .. } => *rate = off_by(*rate, *ppm),
            Traffic::Saturated { ceiling: None, .. } | Traffic::Fed | Traffic::Replayed => {}
            Traffic::Tcp { .. } | Traffic::Roce { .. } => {}
        }
    }
    for GeneratorPlan { flows, process, .. } in &mut plan.generators {
        match process {
            Process::Constant { rate } | Process::Poisson { rate } | Process::OnOff { rate, .. } => {
                *rate = off_by(*rate, of_host[flows[0]]);
            }
        }
    }
}

/// `rate` by a clock that is off by `ppm` millionths, to the nearest bit a second, above zero.
fn off_by(rate: BitRate, ppm: f64) -> BitRate {
    BitRate::bps((rate.as_f64() * (1.0 + ppm * 1e-6)).round().max(1.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Fabric;
    use qcnlab_scenario::{Draw, Scenario};

    /// 100 senders of 105 Mb/s, 10 Gb/s links, a hotspot of 5 Gb/s.
    fn plan(tolerance_ppm: u32, replication: u32) -> Plan {
        let senders = Scenario::shipped("w2-100-senders-cbr").unwrap_or_else(|error| panic!("{error}")).to_toml();
        let hotspot = "[[hotspot]]\nfrom = \"0.1 s\"\nuntil = \"0.2 s\"\nrate = \"5 Gb/s\"\n";
        let scenario = Scenario::parse(&format!("{senders}\n{hotspot}"), "clocks.toml")
            .and_then(|scenario| scenario.with_overrides(&[format!("clock_tolerance_ppm={tolerance_ppm}")]))
            .unwrap_or_else(|error| panic!("{error}"));
        let fabric = Fabric::new(&scenario, Draw { seed: 1, replication }).unwrap_or_else(|error| panic!("{error}"));
        fabric.plan(&scenario, 1, replication)
    }

    fn rates(plan: &Plan) -> Vec<u64> {
        plan.ports.iter().map(|port| port.rate.get()).collect()
    }

    #[test]
    fn a_clock_that_is_off_by_50_millionths() {
        // 10 Gb/s times 50e-6 are 500 kb/s.
        assert_eq!(off_by(BitRate::gbps(10), 50.0), BitRate::bps(10_000_500_000));
        assert_eq!(off_by(BitRate::gbps(10), -50.0), BitRate::bps(9_999_500_000));
        assert_eq!(off_by(BitRate::bps(1), -100.0), BitRate::bps(1));
    }

    #[test]
    fn rates_are_spread_over_the_tolerance() {
        assert!(rates(&plan(0, 0)).iter().all(|rate| *rate == 10_000_000_000));
        // 100 millionths of 10 Gb/s are 1 Mb/s either way. Of the 101 clocks about 50 are fast (standard deviation 5),
        // and the fastest and the slowest lie in the outer tenth but for a chance of 0.95^101 = 0.6 %.
        let drawn = rates(&plan(100, 0));
        assert!(drawn.iter().all(|rate| rate.abs_diff(10_000_000_000) <= 1_000_000));
        let fast = drawn.iter().filter(|rate| **rate > 10_000_000_000).count();
        assert!(fast.abs_diff(50) <= 20, "{fast}");
        assert!(drawn.iter().any(|rate| *rate > 10_000_900_000) && drawn.iter().any(|rate| *rate < 9_999_100_000));
        assert_ne!(rates(&plan(100, 1)), drawn, "replications differ");
    }

    #[test]
    fn one_clock_paces_a_host_and_its_link() {
        let plan = plan(100, 0);
        for flow in &plan.flows {
            let Traffic::Constant { rate } = flow.traffic else { panic!("a constant sender") };
            // Both are off by the same part; each is rounded to a bit a second.
            let link = plan.ports[flow.paths[0][0]].rate.as_f64() / 10e9;
            assert!((rate.as_f64() / 105e6 - link).abs() < 1e-8);
        }
        let port = plan.services[0].port;
        let twice = 2 * plan.services[0].rate.get();
        assert!(twice.abs_diff(plan.ports[port].rate.get()) <= 2, "the hotspot is half of the port's own rate");
    }
}
