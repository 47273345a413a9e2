//! Memory beyond the high watermark: as much as it takes, and no octet less.

use super::TEN;
use super::net::{self, Net, greedy};
use proptest::prelude::*;
use qcnlab_schemes::registry::Config;
use qcnlab_sim::{Events, Feedback, PauseScope, ServiceChange, Traffic};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// Octets above the high watermark that a node can come to hold: the frame that rises above the mark; what comes while
/// a whole frame delays the pause frame, while that is sent, and over both ways and the reaction time, at the link's
/// rate; and the frame in transmission when the pause works.
fn headroom(rate: BitRate, delay: Span, frame: u64, reaction: Span) -> u64 {
    let way = delay + delay + reaction;
    frame + frame + 64 + rate.bytes_in_rounded_down(way).get() + frame
}

/// A tree of switches with random links, frames, classes and flows; every switch stops its inputs with `missing` octets
/// less headroom than it takes.
#[derive(Clone, Debug)]
struct Lossless {
    delays: Vec<u64>,
    frames: Vec<u64>,
    flows: Vec<(usize, usize, bool)>,
    memory: u64,
    low: u64,
    slow: u64,
    reaction: u64,
    classes: bool,
    seed: u64,
}

fn lossless() -> impl Strategy<Value = Lossless> {
    let flow = (0..6usize, 0..6usize, any::<bool>());
    (
        prop::collection::vec(0..40u64, 8),
        prop::collection::vec(64..9000u64, 12),
        prop::collection::vec(flow, 2..12),
        (20_000..200_000u64, 0..15_000u64, 100..10_000u64, 0..3u64),
        any::<bool>(),
        any::<u64>(),
    )
        .prop_map(|(delays, frames, flows, (memory, low, slow, reaction), classes, seed)| Lossless {
            delays,
            frames,
            flows,
            memory,
            low,
            slow,
            reaction,
            classes,
            seed,
        })
}

impl Lossless {
    /// Six hosts around a line of two switches.
    fn net(&self, missing: u64) -> Net {
        let mut net = Net::new(&["h0", "h1", "h2", "h3", "h4", "h5", "s", "t"]);
        for host in 0..6 {
            let switch = if host < 3 { "s" } else { "t" };
            net.link(&format!("h{host}"), switch, TEN, Span::from_us(self.delays[host]));
        }
        net.link("s", "t", TEN, Span::from_us(self.delays[6]));
        net.plan.seed = self.seed;
        // The host behind the slow link only receives: a pause frame for it would take its time on that link.
        let silent = if self.seed.is_multiple_of(2) { 3 } else { 0 };
        let slowed = net.port(if silent == 3 { "t->h3" } else { "s->h0" });
        net.plan.ports[slowed].rate = BitRate::mbps(self.slow);
        let largest = *self.frames.iter().max().unwrap();
        for (index, (from, to, greedy_one)) in self.flows.iter().enumerate() {
            if from == to || *from == silent {
                continue;
            }
            let rate = BitRate::gbps(3);
            let traffic = if *greedy_one { greedy() } else { Traffic::Constant { rate } };
            let flow = net.flow(&format!("h{from}"), &format!("h{to}"), 0, traffic);
            net.plan.flows[flow].frame = Bytes::new(self.frames[index]);
            net.plan.flows[flow].start_jitter = Span::from_us(20);
        }
        net.plan.end = Instant::ZERO + Span::from_ms(2);
        let reaction = Span::from_us(self.reaction);
        for (switch, links) in [("s", [0, 1, 2, 6]), ("t", [3, 4, 5, 6])] {
            let longest = links.iter().map(|link| self.delays[*link]).max().unwrap();
            let room = headroom(TEN, Span::from_us(longest), largest, reaction);
            let high = self.memory;
            net.pause(switch, (high + room).saturating_sub(missing), high, self.low.min(high));
            let node = net.node(switch);
            let pause = net.plan.nodes[node].pause.as_mut().unwrap();
            pause.reaction = reaction;
            if self.classes {
                pause.scope = PauseScope::Classes(1);
            }
        }
        net
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: net::kept("fabric"), ..ProptestConfig::default() })]

    /// Lossless means lossless: with the headroom of the formula nothing is ever discarded.
    #[test]
    fn with_enough_headroom_nothing_is_lost(scenario in lossless()) {
        let net = scenario.net(0);
        prop_assume!(!net.plan.flows.is_empty());
        let done = net.run();
        prop_assert_eq!(done.counters.frames_dropped + done.counters.messages_lost, 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: net::kept("fabric"), ..ProptestConfig::default() })]

    /// Ports that take turns only while something is stopped give the run of ports that always do.
    #[test]
    fn more_events_change_nothing_where_links_are_stopped(
        scenario in lossless(),
        missing in 0..100_000u64,
        scheme in prop::sample::select(vec!["none", "qcn", "ecm", "dcqcn", "qcn_sonar"]),
        frames: bool,
        dip in 0..1_000_000u64,
    ) {
        let mut net = scenario.net(missing);
        prop_assume!(!net.plan.flows.is_empty());
        net.plan.scheme = Config::find(scheme, None).unwrap();
        net.plan.record.messages = true;
        if !frames {
            net.plan.feedback = Feedback::Ideal;
        }
        for name in ["s->t", "t->s", "s->h0", "t->h3"] {
            let port = net.port(name);
            net.plan.ports[port].watched = true;
            net.plan.ports[port].recorded = true;
            net.plan.ports[port].capacity = Some(Bytes::new(60_000));
        }
        let change = |after, rate| ServiceChange { at: Instant::from_ps(dip * 1000 + after), port: net.port("s->t"), rate };
        net.plan.services = vec![change(0, BitRate::gbps(2)), change(500_000_000, TEN)];
        let few = net.try_run();
        net.plan.events = Events::Everywhere;
        let many = net.try_run();
        match (few, many) {
            (Ok(mut few), Ok(many)) => {
                prop_assert!(few.counters.events <= many.counters.events);
                few.counters.events = many.counters.events;
                prop_assert!(few == many, "the runs differ: {:?} and {:?}", few.counters, many.counters);
            }
            (few, many) => prop_assert_eq!(few.is_err(), many.is_err()),
        }
    }
}

/// The formula's headroom is what it takes: with one frame less something is lost.
#[test]
fn one_frame_below_the_headroom_frames_are_lost() {
    // One host at full rate, frames of 9000 B; a frame of the other direction is in the way of the pause frame.
    let worst = |missing: u64| {
        let mut lost = 0;
        for start in 0..60 {
            let mut net = Net::new(&["a", "s", "b"]);
            net.link("a", "s", TEN, Span::from_us(10));
            net.link("s", "b", TEN, Span::from_us(1));
            let slowed = net.port("s->b");
            net.plan.ports[slowed].rate = BitRate::mbps(100);
            let ahead = net.flow("a", "b", 0, greedy());
            let back = net.flow("b", "a", 0, greedy());
            for flow in [ahead, back] {
                net.plan.flows[flow].frame = Bytes::new(9000);
            }
            net.plan.flows[back].start = Instant::ZERO + Span::from_ns(start * 120);
            let room = headroom(TEN, Span::from_us(10), 9000, Span::ZERO);
            net.pause("s", 90_000 + room - missing, 90_000, 80_000);
            lost += net.run().counters.frames_dropped;
        }
        lost
    };
    assert_eq!(worst(0), 0);
    assert!(worst(9000) > 0);
}
