//! The order in which links and flows are written: with drawn ties it changes nothing, for any shipped scenario.
//!
//! A plan whose ports and flows are shuffled, their names kept, must give the same run, to the frame: no spread has to
//! be allowed for. What names can still do (sources that differ in nothing else) is a matter of chance, and has a test
//! of ranks.

use super::Fabric;
use qcnlab_scenario::{Draw, Scenario, Shipped, shipped};
use qcnlab_schemes::{Dice, Purpose};
use qcnlab_sim::{Control, Counters, Engine, Finished, FlowId, FlowTally, LimiterId, Plan, PortId, Ties};
use qcnlab_units::{Id, IdVec, Instant, Span};
use std::collections::BTreeMap;

/// Simulated time of a run with up to fifty flows; more flows get less.
const LONGEST: Span = Span::from_ms(15);

/// The plan of a shipped scenario with its time compressed, so that hotspots begin and end within a short run.
fn short_plan(scenario: &Scenario) -> Plan {
    let fabric = Fabric::new(scenario, Draw { seed: 1, replication: 0 }).unwrap_or_else(|error| panic!("{error}"));
    let mut plan = fabric.plan(scenario, 1, 0);
    let end = LONGEST.ps() * 50 / (plan.flows.len() as u64).max(50);
    let whole = plan.end.ps();
    for change in &mut plan.services {
        change.at = Instant::from_ps((u128::from(change.at.ps()) * u128::from(end) / u128::from(whole)) as u64);
    }
    plan.end = Instant::from_ps(end);
    plan
}

/// The ids of `all` in a drawn order.
fn shuffled<I: Id, T>(all: &IdVec<I, T>, dice: &mut Dice) -> IdVec<I, I> {
    let mut order: IdVec<I, I> = all.ids().collect();
    for last in (1..all.len()).rev() {
        order.swap(last, dice.below(last as u32 + 1) as usize);
    }
    order
}

/// For each id where it is now, in the order of those that were.
fn positions<I: Id>(order: &IdVec<I, I>) -> IdVec<I, I> {
    let mut positions = order.clone();
    order.enumerate().for_each(|(now, was)| positions[*was] = now);
    positions
}

/// `plan` with its ports and flows in another order. Flows that share a limiter keep theirs, because the first of them
/// gives the limiter its name.
fn permuted(plan: &Plan, dice: &mut Dice) -> Plan {
    let (ports, mut flows) = (shuffled(&plan.ports, dice), shuffled(&plan.flows, dice));
    let mut of_limiter: BTreeMap<LimiterId, Vec<FlowId>> = BTreeMap::new();
    plan.flows.ids().rev().for_each(|flow| of_limiter.entry(plan.flows[flow].limiter).or_default().push(flow));
    for flow in &mut flows {
        let limiter = plan.flows[*flow].limiter;
        *flow = of_limiter.get_mut(&limiter).and_then(Vec::pop).unwrap_or_else(|| unreachable!("as many as flows"));
    }
    let (port_now, flow_now) = (positions(&ports), positions(&flows));
    let mut limiter_now: BTreeMap<LimiterId, LimiterId> = BTreeMap::new();
    for flow in &flows {
        let next = LimiterId::at(limiter_now.len());
        limiter_now.entry(plan.flows[*flow].limiter).or_insert(next);
    }
    let mut new = plan.clone();
    new.ports = ports.iter().map(|port| plan.ports[*port].clone()).collect();
    new.flows = flows.iter().map(|flow| plan.flows[*flow].clone()).collect();
    for port in &mut new.ports {
        port.peer = port.peer.map(|peer| port_now[peer]);
    }
    for flow in &mut new.flows {
        flow.limiter = limiter_now[&flow.limiter];
        let ports = |path: &[PortId]| path.iter().map(|port| port_now[*port]).collect();
        flow.paths = flow.paths.iter().map(ports).collect::<Vec<Vec<PortId>>>().into();
    }
    new.generators.iter_mut().flat_map(|each| &mut each.flows).for_each(|flow| *flow = flow_now[*flow]);
    new.services.iter_mut().for_each(|change| change.port = port_now[change.port]);
    new.failures.iter_mut().for_each(|failure| failure.port = port_now[failure.port]);
    new.storms.iter_mut().for_each(|storm| storm.port = port_now[storm.port]);
    for each in &mut new.reroutes {
        each.flow = flow_now[each.flow];
        each.paths.iter_mut().flatten().for_each(|port| *port = port_now[*port]);
    }
    for each in &mut new.dependencies {
        each.flow = flow_now[each.flow];
        each.after.iter_mut().for_each(|(before, _)| *before = flow_now[*before]);
    }
    let memories = new.nodes.iter_mut().filter_map(|node| node.shared_buffer.as_mut());
    memories.flat_map(|memory| &mut memory.inputs).for_each(|input| input.port = port_now[input.port]);
    if let (Some(new), Some(old)) = (&mut new.domain, &plan.domain) {
        new.ports = ports.iter().map(|port| old.ports[*port]).collect();
        let untagged = flows.iter().map(|flow| old.untagged[*flow].map(|limiter| limiter_now[&limiter]));
        new.untagged = untagged.collect();
    }
    new
}

fn run(plan: &Plan) -> Finished {
    Engine::new(plan).run(&Control::default()).unwrap_or_else(|halt| panic!("{halt}"))
}

/// What came of a run, by the names of flows and ports: totals, totals of each flow, samples of queues.
#[derive(Debug, PartialEq)]
struct Named {
    counters: Counters,
    flows: BTreeMap<String, FlowTally>,
    queues: BTreeMap<(u64, String), u64>,
}

fn named(plan: &Plan, done: &Finished) -> Named {
    let rows = &done.trace.queues;
    let samples = rows.time.iter().zip(&rows.port).zip(&rows.bytes);
    Named {
        counters: done.counters,
        flows: plan.flows.iter().map(|flow| flow.name.to_string()).zip(done.flows.iter().copied()).collect(),
        queues: samples
            .map(|((at, port), octets)| ((*at, plan.ports[PortId::new(*port)].name.clone()), *octets))
            .collect(),
    }
}

/// Whether a plan gives the same run in each of so many other orders.
fn same_in_any_order(plan: &Plan, orders: u32) -> bool {
    let whole = named(plan, &run(plan));
    let mut dice = Dice::new(1, 0, "order", Purpose::Order);
    (0..orders).map(|_| permuted(plan, &mut dice)).all(|other| named(&other, &run(&other)) == whole)
}

#[test]
fn the_order_of_links_and_flows_changes_nothing_in_any_shipped_scenario() {
    assert_eq!(changed_by(1), [""; 0]);
}

#[test]
#[ignore = "long: make test-all runs it"]
fn no_order_of_links_and_flows_changes_a_shipped_scenario() {
    assert_eq!(changed_by(4), [""; 0]);
}

/// The shipped scenarios that one of so many other orders changes.
fn changed_by(orders: u32) -> Vec<&'static str> {
    let plan = |each: &Shipped| short_plan(&each.scenario().unwrap_or_else(|error| panic!("{error}")));
    shipped().iter().filter(|each| !same_in_any_order(&plan(each), orders)).map(|each| each.name).collect()
}

/// Four saturated sources in step, without control.
const SATURATED: &str = r#"
title = "Four sources in step"
duration = "1 s"
[topology]
kind = "star"
sources = 4
rate = "10 Gb/s"
rtt = "10 us"
buffer = "150 KB"
[[traffic]]
arrivals = "saturated"
frame = "1500 B"
[scheme]
name = "none"
"#;

/// The cases whose results did depend on the order: deck 003's connections and the saturated sources.
fn in_step() -> Vec<(&'static str, Scenario)> {
    let deck003 = "tcp-9-senders-plain-rtt25us";
    let saturated = Scenario::parse(SATURATED.trim_start(), "saturated.toml");
    let all = [(deck003, Scenario::shipped(deck003)), ("saturated", saturated)];
    all.into_iter().map(|(name, scenario)| (name, scenario.unwrap_or_else(|error| panic!("{error}")))).collect()
}

#[test]
fn port_order_would_fail() {
    for (name, scenario) in in_step() {
        let mut plan = short_plan(&scenario);
        assert!(same_in_any_order(&plan, 2), "{name}");
        plan.ties = Ties::PortOrder;
        assert!(!same_in_any_order(&plan, 2), "{name}: this test would not notice");
    }
}

/// Friedman's statistic of the frames that equal sources delivered, over `replications`. Sources that differ in their
/// names alone have ranks at random, and the statistic is distributed as chi-square with one degree of freedom less
/// than there are sources.
fn friedman(scenario: &Scenario, ties: Ties, replications: u32) -> (f64, usize) {
    let mut plan = short_plan(scenario);
    plan.ties = ties;
    let sources = plan.flows.len();
    let mut sums = vec![0.0; sources];
    for replication in 0..replications {
        plan.replication = replication;
        let delivered: Vec<u64> = run(&plan).flows.iter().map(|flow| flow.delivered).collect();
        for (sum, own) in sums.iter_mut().zip(&delivered) {
            let [below, equal] = [|a: u64, b: u64| a < b, |a, b| a == b]
                .map(|test| delivered.iter().filter(|other| test(**other, *own)).count() as f64);
            *sum += below + (equal + 1.0) / 2.0;
        }
    }
    let (n, r) = (sources as f64, f64::from(replications));
    let squares: f64 = sums.iter().map(|sum| sum * sum).sum();
    (12.0 / (r * n * (n + 1.0)) * squares - 3.0 * r * (n + 1.0), sources)
}

/// Chi-square is above these with a chance of 1e-4: a change of results makes one of the two cases fail once in 5000.
#[test]
fn equal_sources_have_equal_chances() {
    let limits = BTreeMap::from([(9, 31.83), (4, 21.11)]);
    for (name, scenario) in in_step() {
        let (drawn, sources) = friedman(&scenario, Ties::Drawn, 20);
        assert!(drawn < limits[&sources], "{name}: {drawn}");
        // In port order every replication gives the same ranks: 20 (n - 1), less what equal ranks take off.
        let (in_port_order, _) = friedman(&scenario, Ties::PortOrder, 20);
        assert!(in_port_order > limits[&sources], "{name}: {in_port_order}: this test would not notice");
    }
}
