//! What an engine makes of a plan, which no run shows: the same frames leave at the same times; and what its audit notices.

use super::senders::Outlet;
use super::*;
use crate::ids::{AdapterId, FlowId, Id, InputId, InputSlot, NodeId, PortId, SharedBufferId};
use crate::net::{Net, greedy};
use crate::plan::{Events, Feedback, LinkFailure, PausePlan, PauseRule, PauseScope, PauseTarget, Traffic};
use crate::port::FarEnd;
use crate::roce::QpRecovery;
use crate::shared_buffer::{SharedBufferPlan, SharedInputPlan};
use crate::tcp::Flavour;
use crate::testing;
use qcnlab_schemes::registry::Config;
use qcnlab_units::{BitRate, Bytes, Span};

mod messages;
mod queues;

const TEN: BitRate = BitRate::gbps(10);

/// Hosts around a switch s.
fn star(hosts: &[&str]) -> Net {
    let nodes: Vec<&str> = hosts.iter().copied().chain(["s"]).collect();
    let mut net = Net::new(&nodes);
    for host in hosts {
        net.link(host, "s", TEN, Span::from_us(1));
    }
    net
}

/// One host that sends all it can to another.
fn one_to_one() -> Net {
    let mut net = star(&["a", "c"]);
    net.flow("a", "c", 0, greedy());
    net
}

fn scheme(net: &mut Net, name: &str) {
    net.plan.scheme = Config::find(name, None).unwrap();
}

fn node<'a>(net: &'a mut Net, name: &str) -> &'a mut crate::plan::NodePlan {
    let node = net.node(name);
    &mut net.plan.nodes[node]
}

fn port<'a>(net: &'a mut Net, name: &str) -> &'a mut crate::plan::PortPlan {
    let port = net.port(name);
    &mut net.plan.ports[port]
}

/// Whether the first flow's frames are sent on demand, and whether its sink only counts.
fn on_demand_and_counting(change: impl Fn(&mut Net)) -> (bool, bool) {
    let mut net = one_to_one();
    change(&mut net);
    let engine = Engine::new(&net.plan);
    let port = |name| engine.network.port(net.port(name));
    let on_demand = engine.senders.outlet(FlowId::new(0)) == Outlet::OnDemand;
    assert_eq!(on_demand, port("a->s").sender_on_demand().is_some());
    (on_demand, port("s->c").far_end() == FarEnd::CountingSink)
}

/// A sender sends on demand if it is alone on its link, nothing but frames of its own can be there, nothing watches, limits or
/// records its queue, and it has frames by itself. A sink only counts if it is the end of all that comes over its link,
/// counts no buffer, answers nothing, and nobody waits for the end of a flow.
#[test]
fn what_has_frames_sent_on_demand_and_sinks_only_count() {
    let both = (true, true);
    assert_eq!(on_demand_and_counting(|_| {}), both);
    assert_eq!(
        on_demand_and_counting(|net| net.plan.flows[FlowId::new(0)].traffic = Traffic::Constant { rate: TEN }),
        both
    );
    assert_eq!(on_demand_and_counting(|net| net.plan.events = Events::Everywhere), (false, false));
    assert_eq!(on_demand_and_counting(|net| net.plan.drains = true), (true, false));
    for change in [
        |net: &mut Net| port(net, "a->s").capacity = Some(Bytes::new(1_000_000)),
        |net: &mut Net| port(net, "a->s").recorded = true,
        |net: &mut Net| node(net, "a").input_memory = Some(Bytes::new(1_000_000)),
        |net: &mut Net| net.plan.flows[FlowId::new(0)].traffic = Traffic::Fed,
        |net: &mut Net| {
            port(net, "a->s").watched = true;
            scheme(net, "qcn");
        },
        |net: &mut Net| {
            let second = net.flow("a", "c", 0, greedy());
            assert_eq!(second, FlowId::new(1));
        },
        |net: &mut Net| {
            let (port, until) = (net.port("a->s"), Instant::NEVER);
            net.plan.failures = vec![LinkFailure { port, from: Instant::ZERO + Span::from_ms(1), until }];
        },
    ] {
        assert_eq!(on_demand_and_counting(change), (false, true));
    }
    for change in [
        |net: &mut Net| node(net, "c").input_memory = Some(Bytes::new(1_000_000)),
        |net: &mut Net| scheme(net, "dcqcn"),
        |net: &mut Net| {
            // Acknowledgements of the other way cross the link to c.
            let other = Traffic::Tcp { config: testing::connection(Flavour::Reno).into(), total: None };
            net.link("d", "s", TEN, Span::from_us(1));
            net.flow("c", "d", 0, other);
        },
        |net: &mut Net| {
            // Another flow goes on from c.
            net.link("c", "d", TEN, Span::from_us(1));
            net.link("e", "s", TEN, Span::from_us(1));
            net.flow("e", "d", 0, greedy());
        },
    ] {
        let change = |net: &mut Net| {
            for name in ["d", "e"] {
                net.plan.nodes.push(crate::plan::NodePlan { name: name.to_owned(), ..Default::default() });
            }
            change(net);
        };
        assert_eq!(on_demand_and_counting(change), (true, false));
    }
    // TCP's acknowledgements answer what comes; they come back to the host, whose sender waits for them.
    let tcp = |net: &mut Net| {
        net.plan.flows[FlowId::new(0)].traffic =
            Traffic::Tcp { config: testing::connection(Flavour::Reno).into(), total: None };
    };
    assert_eq!(on_demand_and_counting(tcp), (false, false));
}

/// A second flow to the same sink, from another host: it still only counts, for both.
#[test]
fn a_sink_of_several_flows_counts() {
    let join = |net: &mut Net| {
        net.plan.nodes.push(crate::plan::NodePlan { name: "b".to_owned(), ..Default::default() });
        net.link("b", "s", TEN, Span::from_us(1));
        net.flow("b", "c", 0, greedy());
    };
    assert_eq!(on_demand_and_counting(join), (true, true));
    // Probes along the paths of two flows are others than data on each link of theirs, the shared one too.
    let mut net = one_to_one();
    join(&mut net);
    scheme(&mut net, "e2cm");
    let uses = shortcuts::uses(&net.plan);
    let by_others = ["a->s", "b->s", "s->c"].map(|name| uses[net.port(name)].by_others);
    assert_eq!(by_others, [true; 3]);
    net.plan.feedback = Feedback::Ideal;
    assert!(!shortcuts::uses(&net.plan)[net.port("s->c")].by_others);
}

/// 4165 frames of 1.2 us reach c in 5 ms, two at most at one time on its link of 1 us. Nothing happens when they arrive, and
/// a ring of eight is enough: it is emptied when it is full.
#[test]
fn a_counting_sink_needs_no_more_room_than_its_link() {
    let net = one_to_one();
    let mut engine = Engine::new(&net.plan);
    engine.advance(Instant::NEVER, &mut |_| ()).unwrap();
    assert_eq!(engine.network.port(net.port("s->c")).ring().capacity(), 8);
}

/// What the switch's port to c is while nothing is paused, with two hosts that send to c in `classes`.
fn is_fifo(classes: [u8; 2], change: impl Fn(&mut Net)) -> bool {
    let mut net = star(&["a", "b", "c"]);
    net.flow("a", "c", classes[0], greedy());
    net.flow("b", "c", classes[1], greedy());
    change(&mut net);
    let engine = Engine::new(&net.plan);
    let s = net.node("s");
    let port = net.port("s->c");
    let fifo = engine.network.port(port).fifo().is_some_and(|fifo| fifo.queues.is_some());
    assert_eq!(fifo, engine.network.computes(s, port));
    fifo
}

/// Departures are computed at a port of one class whose node pauses its links by what it holds of each. A node that counts
/// for another reason must see each departure, and so must a port with early drops or a link that fails.
#[test]
fn what_lets_a_port_that_pauses_compute_departures() {
    let pauses = |net: &mut Net| net.pause("s", 200_000, 30_000, 20_000);
    assert!(is_fifo([0, 0], pauses));
    assert!(!is_fifo([0, 1], pauses), "two classes");
    assert!(!is_fifo([0, 0], |net| node(net, "s").input_memory = Some(Bytes::new(200_000))), "it only counts");
    let by_threshold = |net: &mut Net| {
        let rule = PauseRule::Threshold { threshold: Bytes::new(90_000), quanta: 1, stops: PauseTarget::Arriving };
        node(net, "s").pause = Some(PausePlan { scope: PauseScope::Link, rule, reaction: Span::ZERO });
    };
    assert!(!is_fifo([0, 0], by_threshold), "each departure may cross the threshold");
    let everywhere = |net: &mut Net| {
        pauses(net);
        net.plan.events = Events::Everywhere;
    };
    assert!(!is_fifo([0, 0], everywhere));
    let fails = |net: &mut Net| {
        pauses(net);
        let (port, until) = (net.port("s->c"), Instant::NEVER);
        net.plan.failures = vec![LinkFailure { port, from: Instant::ZERO + Span::from_ms(1), until }];
    };
    assert!(!is_fifo([0, 0], fails));
}

/// Host a has three flows over one link and host b one, which nothing can pause: one adapter, with three.
#[test]
fn an_adapter_knows_how_many_flows_it_serves() {
    let mut net = star(&["a", "b", "c"]);
    for from in ["a", "a", "b", "a"] {
        net.flow(from, "c", 0, greedy());
    }
    let engine = Engine::new(&net.plan);
    let adapters: Vec<(PortId, u32)> = engine.senders.adapters().map(|adapter| (adapter.port, adapter.flows)).collect();
    assert_eq!(adapters, [(net.port("a->s"), 3)]);
    let of: Vec<Option<AdapterId>> = engine.senders.flows().map(|flow| engine.senders.adapter_of(flow)).collect();
    let first = Some(AdapterId::new(0));
    assert_eq!(of, [first, first, None, first]);
}

/// Which law an engine breaks when it ends, if its counts are changed just before.
fn broken(net: &Net, change: impl Fn(&mut Engine)) -> Option<&'static str> {
    let mut engine = Engine::new(&net.plan);
    engine.advance(Instant::NEVER, &mut |_| ()).unwrap();
    change(&mut engine);
    match finish::finish(engine, &mut |_| ()) {
        Ok(_) => None,
        Err(Halt::Violation(violation)) => Some(violation.what),
        Err(halt) => panic!("{halt}"),
    }
}

/// A message and plain frames over a switch that pauses its links, QCN at the port they share. Whatever count is off by
/// one, the audit says which law it breaks.
#[test]
fn the_audit_notices_each_false_count() {
    let mut net = star(&["a", "b", "c"]);
    let config = testing::queue_pair(QpRecovery::SelectiveRepeat);
    let message = net.flow("a", "c", 0, Traffic::Roce { config: config.into(), total: None });
    net.plan.flows[message].frame = config.payload + config.headers;
    net.flow("b", "c", 0, greedy());
    net.pause("s", 200_000, 30_000, 20_000);
    port(&mut net, "s->c").watched = true;
    scheme(&mut net, "qcn");
    net.plan.end = Instant::ZERO + Span::from_us(500);
    let broken = |change: fn(&mut Engine)| broken(&net, change);
    assert_eq!(broken(|_| {}), None);
    let of_port = "frames accepted = arrived + lost with the link + held";
    assert_eq!(broken(|run| run.network.port_mut(PortId::new(0)).count.accepted_frames += 1), Some(of_port));
    let of_node = "octets that arrived or were sent = left + received + dropped";
    assert_eq!(broken(|run| run.recording.tally_mut(FlowId::new(1)).sent_bytes += 1), Some(of_node));
    assert_eq!(broken(|run| run.recording.tally_mut(FlowId::new(1)).delivered_bytes += 1), Some(of_node));
    assert_eq!(broken(|run| run.network.input_mut(InputId::new(0)).dropped_bytes += 1), Some(of_node));
    assert_eq!(broken(|run| run.network.count_control_sent_by(NodeId::new(0), 1)), Some(of_node));
    let of_flow = "frames sent = delivered + dropped + in the fabric";
    assert_eq!(broken(|run| run.recording.tally_mut(FlowId::new(1)).sent += 1), Some(of_flow));
    let of_messages = "messages sent = heard + ignored + lost + under way";
    assert_eq!(broken(|run| run.recording.counters_mut().messages_sent += 1), Some(of_messages));
    assert_eq!(broken(|run| run.recording.counters_mut().probes_sent += 1), Some("probes sent = ended + under way"));
    let of_heads = "packets trimmed = heads ended + under way";
    assert_eq!(broken(|run| run.recording.counters_mut().packets_trimmed += 1), Some(of_heads));
    let of_acks = "acknowledgements sent = heard + lost + in the fabric";
    assert_eq!(broken(|run| run.recording.counters_mut().acks_sent += 1), Some(of_acks));
    let of_packets = "packets under way = in the fabric + not answered yet";
    let more = |run: &mut Engine| {
        run.network.packets_mut().send(Instant::ZERO, 0, 0);
    };
    assert_eq!(broken(more), Some(of_packets));
}

/// Buffers that count frame by frame: of each link, and shared.
#[test]
fn the_audit_notices_what_a_buffer_counts_too_much() {
    let mut net = star(&["a", "b", "c"]);
    net.flow("a", "c", 0, greedy());
    net.flow("b", "c", 0, greedy());
    net.plan.end = Instant::ZERO + Span::from_us(500);
    node(&mut net, "s").input_memory = Some(Bytes::new(1_000_000));
    assert_eq!(broken(&net, |_| {}), None);
    let of_input = "octets counted at the far end = octets queued there";
    assert_eq!(broken(&net, |run| run.network.input_mut(InputId::new(0)).count(0, 1)), Some(of_input));
    node(&mut net, "s").input_memory = None;
    let inputs = ["a->s", "b->s", "c->s"].map(|name| net.port(name));
    node(&mut net, "s").shared_buffer = Some(SharedBufferPlan {
        shared: Bytes::new(1_000_000),
        reserve: Bytes::ZERO,
        headroom_pool: None,
        cell: Bytes::new(1),
        xon: Bytes::ZERO,
        xon_offset: Bytes::ZERO,
        inputs: inputs.map(|port| SharedInputPlan { port, headroom: Bytes::ZERO, alpha: None }).to_vec(),
        queues: Vec::new(),
    });
    assert_eq!(broken(&net, |_| {}), None);
    let taken = "octets of the shared buffer in use = octets that queued frames take";
    let more = |run: &mut Engine| run.network.shared_buffer_mut(SharedBufferId::new(0)).count(InputSlot::new(0), 0, 1);
    assert_eq!(broken(&net, more), Some(taken));
    // It counts each frame and promises nothing.
    let promised = |run: &mut Engine| *run.network.port_mut(inputs[0]).allowance_mut() = 1_000_001;
    assert_eq!(broken(&net, promised), Some("octets that may be admitted uncounted = as much of the free buffer"));
}

/// Far from its watermarks a buffer promises what is free of it. More than that is too much.
#[test]
fn the_audit_notices_what_a_buffer_promises_too_much() {
    let mut net = one_to_one();
    net.pause("s", 200_000, 30_000, 20_000);
    net.plan.end = Instant::ZERO + Span::from_us(500);
    let promised = "octets that may be admitted uncounted = as much of the free buffer";
    let more = |octets: u64| {
        broken(&net, |run| {
            let into_s = run.network.input_mut(InputId::new(0)).port;
            *run.network.port_mut(into_s).allowance_mut() += octets;
        })
    };
    assert_eq!([more(0), more(200_000)], [None, Some(promised)]);
}

/// QCN looks at arrivals alone. DCQCN marks what leaves, HPCC writes telemetry on it, and QCN-SONAR measures the bandwidth that
/// is left.
#[test]
fn departures_are_shown_to_those_who_look_at_them() {
    let shown = |name| {
        let mut net = one_to_one();
        port(&mut net, "s->c").watched = true;
        scheme(&mut net, name);
        let port = net.port("s->c");
        Engine::new(&net.plan).network.port(port).observes_departures()
    };
    assert_eq!(["qcn", "dcqcn", "hpcc", "qcn_sonar"].map(shown), [false, true, true, true]);
}
