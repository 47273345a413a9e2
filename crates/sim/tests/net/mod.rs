//! Small networks for tests: nodes and links in, a plan out.
#![allow(dead_code, reason = "each test file uses a part")]

use proptest::test_runner::{FailurePersistence, FileFailurePersistence};
use qcnlab_schemes::foreign::guard;
use qcnlab_schemes::registry::Config;
use qcnlab_sim::{
    Control, Engine, Events, Feedback, Finished, FlowId, FlowPlan, FlowPlans, FlowSettings, GeneratorPlan, Halt,
    LimiterId, NodeId, NodePlan, PathChoice, PausePlan, PauseRule, PauseScope, Plan, PortId, PortPlan, Process, Record,
    Ties, Traffic,
};
use qcnlab_units::{BitRate, Bytes, Id, IdVec, Instant, Span};
use std::collections::VecDeque;

/// Keeps the seeds of cases that failed beside the test, and reads them again first. Given the whole path, because a
/// test that is not part of the library is not found by its source file.
#[allow(clippy::unnecessary_wraps, reason = "what a configuration takes")]
pub(crate) fn kept(test: &str) -> Option<Box<dyn FailurePersistence>> {
    let path = format!("{}/tests/{test}.proptest-regressions", env!("CARGO_MANIFEST_DIR"));
    Some(Box::new(FileFailurePersistence::Direct(path.leak())))
}

/// A plan that starts empty.
pub(crate) struct Net {
    pub(crate) plan: Plan,
}

impl Net {
    pub(crate) fn new(nodes: &[&str]) -> Net {
        let nodes = nodes.iter().map(|name| NodePlan { name: (*name).to_owned(), ..NodePlan::default() }).collect();
        Net {
            plan: Plan {
                nodes,
                ports: IdVec::new(),
                flows: FlowPlans::default(),
                generators: Vec::new(),
                replays: Vec::new(),
                services: Vec::new(),
                failures: Vec::new(),
                storms: Vec::new(),
                reroutes: Vec::new(),
                dependencies: Vec::new(),
                longest_way: Vec::new(),
                path_choice: PathChoice::Random,
                domain: None,
                feedback: Feedback::Frames { size: Bytes::new(64), class: 7 },
                scheme: Config::find("none", None).unwrap(),
                end: Instant::ZERO + Span::from_ms(5),
                drains: false,
                seed: 1,
                replication: 0,
                record: Record {
                    queue_every: Span::from_us(10),
                    rates_every: Span::ZERO,
                    bin: Span::from_us(100),
                    messages: false,
                    kept: true,
                },
                events: Events::WhereNeeded,
                ties: Ties::Drawn,
            },
        }
    }

    pub(crate) fn node(&self, name: &str) -> NodeId {
        self.plan.nodes.find_id(|node| node.name == name).expect("a node")
    }

    pub(crate) fn port(&self, name: &str) -> PortId {
        self.plan.ports.find_id(|port| port.name == name).expect("a port")
    }

    /// Both directions of a link.
    pub(crate) fn link(&mut self, a: &str, b: &str, rate: BitRate, delay: Span) {
        let [there, back] = [0, 1].map(|each| PortId::at(self.plan.ports.len() + each));
        for (from, to, peer) in [(a, b, back), (b, a, there)] {
            let (from_node, to_node) = (self.node(from), self.node(to));
            self.plan.ports.push(PortPlan {
                name: format!("{from}->{to}"),
                from: from_node,
                to: to_node,
                rate,
                delay,
                latency: Span::ZERO,
                capacity: None,
                overhead: Bytes::ZERO,
                watched: false,
                wred: Vec::new(),
                recorded: false,
                peer: Some(peer),
            });
        }
    }

    /// A shortest way, the first port of equals.
    pub(crate) fn way(&self, from: &str, to: &str) -> Vec<PortId> {
        let (from, to) = (self.node(from), self.node(to));
        let mut came: IdVec<NodeId, Option<PortId>> = IdVec::for_each_of(&self.plan.nodes, None);
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for (index, port) in self.plan.ports.enumerate() {
                if port.from == node && port.to != from && came[port.to].is_none() {
                    came[port.to] = Some(index);
                    queue.push_back(port.to);
                }
            }
        }
        let mut way = Vec::new();
        let mut at = to;
        while at != from {
            let port = came[at].expect("a way");
            way.push(port);
            at = self.plan.ports[port].from;
        }
        way.reverse();
        way
    }

    pub(crate) fn flow(&mut self, from: &str, to: &str, class: u8, traffic: Traffic) -> FlowId {
        let index = self.plan.flows.len();
        let way = self.way(from, to);
        self.plan.flows.push(FlowPlan {
            name: format!("{from}->{to}/{index}").into(),
            paths: vec![way].into(),
            traffic,
            start: Instant::ZERO,
            limiter: LimiterId::at(index),
            settings: FlowSettings { class, ..FlowSettings::default() }.into(),
        })
    }

    /// A flow fed by a generator of its own.
    pub(crate) fn fed(&mut self, from: &str, to: &str, process: Process) -> FlowId {
        let flow = self.flow(from, to, 0, Traffic::Fed);
        self.plan.generators.push(GeneratorPlan {
            name: format!("generator {}", flow.number()),
            flows: vec![flow],
            process,
            start: Instant::ZERO,
            start_jitter: Span::ZERO,
            stop: Instant::NEVER,
        });
        flow
    }

    pub(crate) fn run(&self) -> Finished {
        self.try_run().unwrap()
    }

    pub(crate) fn try_run(&self) -> Result<Finished, Halt> {
        guard(|| Engine::new(&self.plan).run(&Control::default())).unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// Makes a node stop its inputs by watermarks.
    pub(crate) fn pause(&mut self, node: &str, memory: u64, high: u64, low: u64) {
        let node = self.node(node);
        self.plan.nodes[node].input_memory = Some(Bytes::new(memory));
        self.plan.nodes[node].pause = Some(PausePlan {
            scope: PauseScope::Link,
            rule: PauseRule::Watermarks { high: Bytes::new(high), low: Bytes::new(low), quanta: u16::MAX },
            reaction: Span::ZERO,
        });
    }
}

/// Always a frame to send.
pub(crate) fn greedy() -> Traffic {
    Traffic::Saturated { ceiling: None, total: None }
}

/// Two switches and two hosts at each. What a host sends turns round at the far switch and goes to the other host of its
/// own: the two directions of the link between the switches can wait for each other.
pub(crate) fn hairpin(class: u8, scope: PauseScope) -> Net {
    let mut net = Net::new(&["a", "b", "c", "d", "s", "t"]);
    for (from, to) in [("a", "s"), ("b", "s"), ("c", "t"), ("d", "t"), ("s", "t")] {
        net.link(from, to, BitRate::gbps(10), Span::from_us(1));
    }
    for (from, to, way) in [("a", "b", ["a->s", "s->t", "t->s", "s->b"]), ("c", "d", ["c->t", "t->s", "s->t", "t->d"])]
    {
        // The way that is looked for is replaced.
        let flow = net.flow(from, to, class, greedy());
        net.plan.flows[flow].paths = vec![way.map(|port| net.port(port)).to_vec()].into();
    }
    for switch in ["s", "t"] {
        net.pause(switch, 100_000, 30_000, 20_000);
        let switch = net.node(switch);
        net.plan.nodes[switch].pause.as_mut().expect("it pauses").scope = scope;
    }
    net
}
