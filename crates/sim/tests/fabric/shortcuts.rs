//! Shortcuts for speed change nothing: random fabrics, with an event for everything and with those that are needed.

use super::net::{self, Net};
use proptest::prelude::*;
use qcnlab_schemes::registry::Config;
use qcnlab_sim::roce::QpRecovery;
use qcnlab_sim::tcp::Flavour;
use qcnlab_sim::testing::{connection, queue_pair};
use qcnlab_sim::{Alpha, NodeId, PortId, SharedBufferPlan, SharedInputPlan};
use qcnlab_sim::{Events, Feedback, LinkFailure, PauseRule, PauseScope, PauseStorm, PauseTarget, Process};
use qcnlab_sim::{ServiceChange, Traffic, WatchdogAction, WatchdogPlan};
use qcnlab_units::{BitRate, Bytes, Id, Instant, Span};

/// A host's switch, the delay of its link in steps of 400 ns, and whether that is slow.
type Host = (usize, u64, bool);

/// From and to which host, what it sends, and whether the class is another.
type Flow = (usize, usize, u8, bool);

fn add_flow(net: &mut Net, names: &[String], (from, to, kind, other): Flow) {
    let (from, to) = (&names[from % names.len()], &names[to % names.len()]);
    if from == to {
        return;
    }
    let class = if other { 3 } else { 0 };
    let constant = |mbps| Traffic::Constant { rate: BitRate::mbps(mbps) };
    let finite = |ceiling| Traffic::Saturated { ceiling, total: Some(Bytes::new(400_000)) };
    let roce = |total| Traffic::Roce { config: queue_pair(QpRecovery::SelectiveRepeat).into(), total };
    let traffic = match kind {
        0 | 1 => net::greedy(),
        2 => constant(2_300),
        3 => constant(640),
        4 => finite(Some(BitRate::gbps(3))),
        5 => finite(None),
        6 => {
            net.fed(from, to, Process::Poisson { rate: BitRate::gbps(2) });
            return;
        }
        7 => Traffic::Tcp { config: connection(Flavour::NewReno).into(), total: None },
        8 => roce(None),
        _ => roce(Some(Bytes::new(150_000))),
    };
    let flow = net.flow(from, to, class, traffic);
    let flow = &mut net.plan.flows[flow];
    match kind {
        7 => (flow.frame, flow.controlled) = (Bytes::new(1518), false),
        8.. => flow.frame = Bytes::new(1048),
        _ => {}
    }
}

/// What the memory of switches does, with this many octets in all of an input, in units of 4 kB.
fn limit_memory(net: &mut Net, switch: &str, (size, kind): (u64, u8)) {
    net.pause(switch, size * 4000, size * 1000, size * 700);
    let node = net.node(switch);
    let inputs: Vec<PortId> =
        net.plan.ports.enumerate().filter(|(_, port)| port.to == node).map(|(port, _)| port).collect();
    let node = &mut net.plan.nodes[node];
    let pause = node.pause.as_mut().unwrap();
    if let (PauseRule::Watermarks { quanta, .. }, true) = (&mut pause.rule, size.is_multiple_of(3)) {
        *quanta = 100;
    }
    match kind {
        0 => {}
        1 => pause.scope = PauseScope::Classes(0b1000),
        2 => pause.scope = PauseScope::Classes(0b1001),
        3 => node.pause = None,
        4 => {
            let threshold = Bytes::new(size * 1000);
            pause.rule = PauseRule::Threshold { threshold, quanta: 100, stops: PauseTarget::All };
        }
        _ => {
            pause.rule = PauseRule::Dynamic { quanta: None };
            if kind == 6 {
                pause.scope = PauseScope::Classes(0b1000);
            }
            let each =
                |port| SharedInputPlan { port, headroom: Bytes::new(size * 500), alpha: Some(Alpha::two_to(-1)) };
            node.input_memory = None;
            node.shared_buffer = Some(SharedBufferPlan {
                shared: Bytes::new(size * 3000),
                reserve: Bytes::new(2000),
                headroom_pool: None,
                cell: Bytes::new(if size.is_multiple_of(2) { 1 } else { 208 }),
                xon: Bytes::ZERO,
                xon_offset: Bytes::new(3000),
                inputs: inputs.into_iter().map(each).collect(),
                queues: Vec::new(),
            });
        }
    }
}

/// A random fabric: trees of switches, hosts anywhere, senders of every kind that have links to themselves or share them, sinks
/// that answer and that do not, queues that are watched, recorded and short, switches that pause or lose what their memory has
/// no room for, a rate that falls and rises again, links that fail, and hosts that pause theirs for long.
#[derive(Clone, Debug)]
struct Fabric {
    /// For each switch but the first, one before it.
    above: Vec<usize>,
    hosts: Vec<Host>,
    flows: Vec<Flow>,
    scheme: &'static str,
    ideal: bool,
    /// For each switch.
    memory: Option<[(u64, u8); 3]>,
    watched: Vec<usize>,
    recorded: usize,
    /// The port, and when, in us.
    dip: (usize, u64),
    /// What goes wrong: what, where, and when, in us.
    trouble: Option<(u8, usize, u64)>,
    drains: bool,
    seed: u64,
}

const SCHEMES: [&str; 11] =
    ["none", "qcn", "ecm", "dcqcn", "dctcp", "timely", "hpcc", "qcn_sonar", "pcn", "swift", "powertcp"];

fn fabrics() -> impl Strategy<Value = Fabric> {
    let above = prop::collection::vec(0..4usize, 0..3);
    let hosts = prop::collection::vec((0..4usize, 0..8u64, prop::bool::weighted(0.2)), 3..8);
    let flows = prop::collection::vec((0..8usize, 0..8usize, 0..10u8, prop::bool::weighted(0.2)), 1..8);
    let scheme = prop::sample::select(&SCHEMES[..]);
    let memory = prop::option::of(prop::array::uniform3((10..60u64, 0..7u8)));
    let watched = prop::collection::vec(0..40usize, 0..4);
    let dip = (0..40usize, 0..1500u64);
    let trouble = prop::option::weighted(0.3, (0..4u8, 0..40usize, 0..1500u64));
    let ends = (prop::bool::weighted(0.2), any::<u64>());
    let drawn = (above, hosts, flows, scheme, any::<bool>(), memory, watched, 0..40usize, dip, trouble, ends);
    drawn.prop_map(|(above, hosts, flows, scheme, ideal, memory, watched, recorded, dip, trouble, ends)| Fabric {
        above,
        hosts,
        flows,
        scheme,
        ideal,
        memory,
        watched,
        recorded,
        dip,
        trouble,
        drains: ends.0,
        seed: ends.1,
    })
}

impl Fabric {
    fn net(&self) -> Net {
        let switches: Vec<String> = (0..=self.above.len()).map(|switch| format!("s{switch}")).collect();
        let names: Vec<String> = (0..self.hosts.len()).map(|host| format!("h{host}")).collect();
        let nodes: Vec<&str> = switches.iter().chain(&names).map(String::as_str).collect();
        let mut net = Net::new(&nodes);
        for (switch, above) in (1..).zip(&self.above) {
            net.link(&switches[switch], &switches[above % switch], BitRate::gbps(10), Span::from_us(2));
        }
        for (name, (switch, delay, slow)) in names.iter().zip(&self.hosts) {
            let rate = BitRate::gbps(if *slow { 1 } else { 10 });
            net.link(name, &switches[switch % switches.len()], rate, Span::from_ns(400 * delay));
        }
        self.flows.iter().for_each(|flow| add_flow(&mut net, &names, *flow));
        let all = net.plan.ports.len();
        let hosts_from = NodeId::at(switches.len());
        let (of_switches, of_hosts): (Vec<PortId>, Vec<PortId>) =
            net.plan.ports.ids().partition(|port| net.plan.ports[*port].from < hosts_from);
        for port in &self.watched {
            let port = &mut net.plan.ports[of_switches[port % of_switches.len()]];
            (port.watched, port.capacity) = (true, Some(Bytes::new(150_000)));
        }
        net.plan.ports[PortId::at(self.recorded % all)].recorded = true;
        if let Some(memory) = self.memory {
            switches.iter().zip(memory).for_each(|(switch, memory)| limit_memory(&mut net, switch, memory));
        }
        net.plan.scheme = Config::find(self.scheme, None).unwrap();
        if self.ideal {
            net.plan.feedback = Feedback::Ideal;
        }
        let (port, at) = (PortId::at(self.dip.0 % all), Instant::ZERO + Span::from_us(self.dip.1));
        let old = net.plan.ports[port].rate;
        let change = |at, rate| ServiceChange { at, port, rate };
        net.plan.services = vec![change(at, BitRate::mbps(730)), change(at + Span::from_us(300), old)];
        if let Some((what, number, at)) = self.trouble {
            let (from, until) = (Instant::ZERO + Span::from_us(at), Instant::ZERO + Span::from_us(at + 350));
            match what {
                0 | 1 => net.plan.failures = vec![LinkFailure { port: PortId::at(number % all), from, until }],
                _ => {
                    let port = of_hosts[number % of_hosts.len()];
                    net.plan.storms = vec![PauseStorm { port, classes: u8::MAX, from, until }];
                }
            }
            if what == 3 {
                let [detect, restore, poll] = [200, 100, 50].map(Span::from_us);
                let watchdog = WatchdogPlan { detect, restore, poll, action: WatchdogAction::Drop };
                net.plan.nodes.iter_mut().take(switches.len()).for_each(|switch| switch.watchdog = Some(watchdog));
            }
        }
        (net.plan.seed, net.plan.drains, net.plan.end) = (self.seed, self.drains, Instant::ZERO + Span::from_ms(2));
        net
    }
}

/// Runs a network with an event for everything and with those that are needed; both runs are the same.
fn runs_agree(mut net: Net) -> Result<(), TestCaseError> {
    let mut few = net.run();
    net.plan.events = Events::Everywhere;
    let many = net.run();
    few.counters.events = many.counters.events;
    prop_assert!(few == many, "the runs differ: {:?} and {:?}", few.counters, many.counters);
    Ok(())
}

fn config(cases: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").map_or(cases, |cases| cases.parse().expect("a number of cases"));
    let failure_persistence = net::kept("shortcuts");
    ProptestConfig { cases, max_global_rejects: cases, failure_persistence, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn an_event_for_everything_gives_the_same_run_in_random_fabrics(fabric in fabrics()) {
        let net = fabric.net();
        prop_assume!(!net.plan.flows.is_empty());
        runs_agree(net)?;
    }
}

proptest! {
    #![proptest_config(config(20_000))]

    #[test]
    #[ignore = "long: make test-all runs it"]
    fn an_event_for_everything_gives_the_same_run_in_many_random_fabrics(fabric in fabrics()) {
        let net = fabric.net();
        prop_assume!(!net.plan.flows.is_empty());
        runs_agree(net)?;
    }
}

/// The memory for a link of which one class is paused and another is not: what is not paused fills it. A frame of the paused
/// class has left by a port whose departures are computed, and is not counted out yet, when the next one comes. Which frames find
/// room does not hang on that.
#[test]
fn a_frame_that_has_left_uncounted_changes_no_loss() {
    let mut net = Net::new(&["s", "t", "a", "b", "c", "d"]);
    net.link("s", "t", BitRate::gbps(10), Span::from_us(2));
    for (host, switch, gbps) in [("a", "s", 10), ("b", "s", 10), ("c", "t", 10), ("d", "t", 1)] {
        net.link(host, switch, BitRate::gbps(gbps), Span::ZERO);
    }
    net.flow("a", "c", 3, Traffic::Constant { rate: BitRate::mbps(640) });
    net.flow("a", "d", 0, net::greedy());
    net.flow("b", "d", 3, Traffic::Constant { rate: BitRate::mbps(2300) });
    limit_memory(&mut net, "t", (10, 1));
    net.plan.end = Instant::ZERO + Span::from_ms(2);
    let port = net.port("t->c");
    net.plan.services = vec![ServiceChange { at: Instant::ZERO, port, rate: BitRate::mbps(730) }];
    runs_agree(net).unwrap();
}

/// PCN sees pauses. One that runs out, because nothing resumes the link, is over for its congestion point when the next frame
/// starts, also where that frame's departure could be computed.
#[test]
fn a_pause_that_runs_out_is_over_for_the_congestion_point() {
    let fabric = Fabric {
        above: vec![0, 1],
        hosts: vec![(2, 0, true), (0, 0, false), (0, 0, false), (0, 0, false)],
        flows: vec![(1, 4, 0, false), (1, 0, 3, false)],
        scheme: "pcn",
        ideal: false,
        memory: Some([(10, 0), (10, 0), (10, 4)]),
        watched: vec![19],
        recorded: 0,
        dip: (0, 0),
        trouble: None,
        drains: false,
        seed: 0,
    };
    runs_agree(fabric.net()).unwrap();
}

/// A port that nothing under control crosses has no congestion point, whatever needs events there.
#[test]
fn a_watched_port_that_no_controlled_flow_crosses_has_no_congestion_point() {
    let mut net = Net::new(&["s", "a", "b", "c"]);
    for host in ["a", "b", "c"] {
        net.link(host, "s", BitRate::gbps(10), Span::from_us(1));
    }
    net.flow("a", "b", 0, net::greedy());
    for name in ["s->b", "s->c"] {
        let port = net.port(name);
        (net.plan.ports[port].watched, net.plan.ports[port].capacity) = (true, Some(Bytes::new(150_000)));
    }
    net.plan.scheme = Config::find("qcn", None).unwrap();
    for events in [Events::WhereNeeded, Events::Everywhere] {
        net.plan.events = events;
        let points: Vec<PortId> = net.run().points.iter().map(|point| point.port).collect();
        assert_eq!(points, [net.port("s->b")], "{events:?}");
    }
}
