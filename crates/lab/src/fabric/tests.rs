//! What a scenario's file becomes, looked at as the plan an engine gets.

use super::Fabric;
use qcnlab_scenario::{Draw, Scenario};
use qcnlab_sim::tcp::{self, BicProbing, BicStep, CongestionAvoidance, RecoverGuard, RttFrom};
use qcnlab_sim::{
    FlowId, FlowPlan, PausePlan, PauseRule, PauseScope, PauseTarget, Plan, PortId, PortPlan, Process, Traffic,
};
use qcnlab_units::{BitRate, Bytes, Id, Span};
use std::sync::Arc;

/// Deck 004, Baseline Input-Generated Hotspot, with what the tests add.
const EDGES: &str = r#"
title = "Edges around a core"
duration = "1 s"
[topology]
kind = "graph"
rate = "10 Gb/s"
delay = "2.5 us"
[[link]]
from = "node{1..4}"
to = "edge{1..4}"
[[link]]
from = "edge{1..4}"
to = "core"
[[link]]
from = "node5"
to = "edge4"
[[link]]
from = "core"
to = "edge6"
rate = "40 Gb/s"
[[link]]
from = "edge6"
to = "node{6..7}"
[[traffic]]
arrivals = "constant"
from = "node{2..5}"
to = "node6"
rate = "5 Gb/s"
frame = "1500 B"
[[traffic]]
arrivals = "constant"
from = "node1"
to = "node7"
rate = "5 Gb/s"
frame = "1500 B"
priority = 3
[scheme]
name = "none"
"#;

const UNIFORM: &str = r#"
title = "Everybody to everybody"
duration = "1 s"
[topology]
kind = "switch"
hosts = 4
rate = "10 Gb/s"
delay = "1 us"
[[traffic]]
arrivals = "poisson"
from = "*"
to = "*"
spread = "uniform"
rate = "8.5 Gb/s"
frame = "1500 B"
stagger = "10 us"
[scheme]
name = "none"
"#;

fn plan(text: &str, overrides: &[&str]) -> Plan {
    let scenario = Scenario::parse(text.trim_start(), "test.toml").and_then(|s| s.with_overrides(overrides));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    fabric(&scenario).plan(&scenario, 1, 0)
}

fn fabric(scenario: &Scenario) -> Fabric {
    Fabric::new(scenario, Draw { seed: 1, replication: 0 }).unwrap_or_else(|error| panic!("{error}"))
}

fn more(text: &str, tables: &str) -> String {
    text.replace("[scheme]", &format!("{tables}\n[scheme]"))
}

fn port<'a>(plan: &'a Plan, name: &str) -> &'a PortPlan {
    plan.ports.iter().find(|port| port.name == name).unwrap_or_else(|| panic!("no port {name}"))
}

fn way(plan: &Plan, flow: &FlowPlan) -> Vec<Vec<String>> {
    let names = |path: &[PortId]| path.iter().map(|port| plan.ports[*port].name.clone()).collect();
    flow.paths.iter().map(names).collect()
}

#[test]
fn a_graph_becomes_nodes_ports_and_ways() {
    let plan = plan(EDGES, &[]);
    let names: Vec<&str> = plan.nodes.iter().map(|node| &*node.name).collect();
    assert_eq!(names[..4], ["node1", "node2", "node3", "node4"]);
    assert_eq!(names[4..], ["edge1", "edge2", "edge3", "edge4", "core", "node5", "edge6", "node6", "node7"]);
    let names: Vec<&str> = plan.flows.iter().map(|flow| &*flow.name).collect();
    assert_eq!(names, ["node2->node6", "node3->node6", "node4->node6", "node5->node6", "node1->node7"]);
    assert_eq!(
        way(&plan, &plan.flows[FlowId::new(4)]),
        [["node1->edge1", "edge1->core", "core->edge6", "edge6->node7"]]
    );
    assert_eq!(plan.flows[FlowId::new(4)].class, 3);
    assert_eq!(port(&plan, "core->edge6").rate, BitRate::gbps(40));
    assert!(plan.ports.iter().all(|port| port.delay == Span::from_ns(2_500) && port.capacity.is_none()));
    assert!(plan.ports.iter().all(|port| port.peer.is_none()), "nothing travels back");
}

#[test]
fn outputs_of_switches_are_watched_and_the_most_loaded_is_recorded() {
    let plan = plan(EDGES, &[]);
    for port in &plan.ports {
        let from_host = plan.nodes[port.from].name.starts_with("node");
        assert_eq!(port.watched, !from_host, "{}", port.name);
    }
    let recorded: Vec<&str> = plan.ports.iter().filter(|p| p.recorded).map(|p| &*p.name).collect();
    assert_eq!(recorded, ["edge6->node6"], "20 Gb/s are offered to it");
    let without = more(EDGES, "[[switch]]\nonly = \"core\"\ncongestion_points = false");
    assert!(!port(&super::tests::plan(&without, &["record.queues=core->*"]), "core->edge6").watched);
    let all = super::tests::plan(EDGES, &["record.queues=core->*, edge{1..2}->*"]);
    let recorded: Vec<&str> = all.ports.iter().filter(|p| p.recorded).map(|p| &*p.name).collect();
    assert_eq!(recorded, ["edge1->core", "edge2->core", "core->edge6"]);
}

#[test]
fn feedback_frames_and_pauses_have_a_way_back() {
    for text in [more(EDGES, "[feedback]\nkind = \"frames\"\npriority = 5"), more(EDGES, PAUSE)] {
        let plan = plan(&text, &[]);
        for (id, port) in plan.ports.enumerate() {
            let peer = port.peer.map(|peer| &plan.ports[peer]);
            let peer = peer.unwrap_or_else(|| panic!("{} has no peer", port.name));
            assert_eq!((peer.from, peer.to, peer.peer), (port.to, port.from, Some(id)));
        }
    }
}

const PAUSE: &str = r#"
[[switch]]
only = "edge*"
input_memory = "300 KB"
output_buffer = "1.5 MB"
latency = "300 ns"
[[switch]]
input_memory = "150 KB"
[pause]
kind = "link"
"#;

fn pause_of(plan: &Plan, name: &str) -> Option<PausePlan> {
    plan.nodes.iter().find(|node| node.name == name).and_then(|node| node.pause)
}

#[test]
fn the_first_table_that_fits_a_switch_holds() {
    let plan = plan(&more(EDGES, PAUSE), &[]);
    let memory = |name: &str| plan.nodes.iter().find(|node| node.name == name).and_then(|node| node.input_memory);
    assert_eq!(memory("edge2"), Some(Bytes::new(300_000)));
    assert_eq!(memory("core"), Some(Bytes::new(150_000)));
    assert_eq!(memory("node1"), None);
    assert_eq!(port(&plan, "edge6->node6").capacity, Some(Bytes::new(1_500_000)));
    assert_eq!(port(&plan, "core->edge6").capacity, None);
    assert_eq!(port(&plan, "core->edge6").latency, Span::from_ns(300), "the switch it leads to takes its time");
    assert_eq!(port(&plan, "edge6->node6").latency, Span::ZERO, "a host takes none");
}

#[test]
fn watermarks_leave_the_headroom() {
    let text = more(EDGES, PAUSE);
    // edge2, over its 10 Gb/s links: 2 x 2.5 us + 0.3 us bring 6625 B, three frames 4500 B, a pause frame 64 B.
    let rule = |high, low| PauseRule::Watermarks { high: Bytes::new(high), low: Bytes::new(low), quanta: 65535 };
    let plan_of = |rule| Some(PausePlan { scope: PauseScope::Link, rule, reaction: Span::ZERO });
    assert_eq!(pause_of(&plan(&text, &[]), "edge2"), plan_of(rule(288_811, 278_811)));
    // edge6 has a link of 40 Gb/s: 26 500 B for its round trip and latency.
    assert_eq!(pause_of(&plan(&text, &[]), "edge6"), plan_of(rule(268_936, 258_936)));
    assert_eq!(pause_of(&plan(&text, &["pause.headroom=50 KB"]), "core"), plan_of(rule(100_000, 90_000)));
    let set = plan(&text, &["pause.high=60 KB", "pause.low=0 B", "pause.only=core"]);
    assert_eq!(pause_of(&set, "core"), plan_of(rule(60_000, 0)));
    assert_eq!(pause_of(&set, "edge2"), None);
    assert_eq!(pause_of(&plan(&text, &["pause.kind=none"]), "core"), None);
    let of_class = |overrides: &[&str]| pause_of(&plan(&text, overrides), "edge2").map(|pause| pause.rule);
    let both = of_class(&["pause.kind=priority"]);
    assert_eq!(both, Some(rule(138_811, 128_811)), "classes 0 and 3 have half of the memory each");
    let one = of_class(&["pause.kind=priority", "pause.priorities='3, 4'"]);
    assert_eq!(one, Some(rule(288_811, 278_811)), "nobody uses class 4");
}

#[test]
fn thresholds_ask_for_a_time_and_classes_stop_alone() {
    let keys = ["pause.kind=priority", "pause.rule=threshold", "pause.threshold=120 KB", "pause.interval=96 us"];
    let keys: Vec<&str> = keys.into_iter().chain(["pause.priorities=0, 3..5", "pause.reaction=1 us"]).collect();
    let plan = plan(&more(EDGES, "[pause]\nkind = \"none\""), &keys);
    // 96 us at 10 Gb/s are 1875 quanta of 512 bits; edge6 counts by its link of 40 Gb/s.
    let pause = |quanta, stops| PausePlan {
        scope: PauseScope::Classes(0b0011_1001),
        rule: PauseRule::Threshold { threshold: Bytes::new(120_000), quanta, stops },
        reaction: Span::from_us(1),
    };
    assert_eq!(pause_of(&plan, "edge2"), Some(pause(1875, PauseTarget::Arriving)));
    assert_eq!(pause_of(&plan, "edge6"), Some(pause(7500, PauseTarget::Arriving)));
    for (value, stops) in [("pause.stops=queued", PauseTarget::Queued), ("pause.stops=all", PauseTarget::All)] {
        let keys: Vec<&str> = keys.iter().copied().chain([value]).collect();
        let plan = super::tests::plan(&more(EDGES, "[pause]\nkind = \"none\""), &keys);
        assert_eq!(pause_of(&plan, "edge2"), Some(pause(1875, stops)));
    }
}

#[test]
fn one_generator_feeds_all_flows_of_a_host() {
    let plan = plan(UNIFORM, &[]);
    assert_eq!((plan.flows.len(), plan.generators.len()), (12, 4));
    assert!(plan.flows.iter().all(|flow| flow.traffic == Traffic::Fed));
    let third = &plan.generators[2];
    let fed: Vec<&str> = third.flows.iter().map(|flow| &*plan.flows[*flow].name).collect();
    assert_eq!(fed, ["host3->host1", "host3->host2", "host3->host4"]);
    assert_eq!(third.process, Process::Poisson { rate: BitRate::mbps(8_500) });
    assert_eq!(third.start.ps(), 20_000_000, "the third sender starts two staggers later");
    let each = super::tests::plan(UNIFORM, &["traffic.spread=each", "traffic.rate=1 Gb/s"]);
    assert_eq!(each.generators.len(), 12);
    let paired = super::tests::plan(
        UNIFORM,
        &["traffic.spread=paired", "traffic.from='host1, host3'", "traffic.to='host{2..4..2}'"],
    );
    let names: Vec<&str> = paired.flows.iter().map(|flow| &*flow.name).collect();
    assert_eq!(names, ["host1->host2", "host3->host4"]);
    let turned = ["traffic.spread=paired", "traffic.from=*", "traffic.to='host{2..4}, host1'"];
    let turned = super::tests::plan(UNIFORM, &turned);
    assert_eq!(turned.flows[FlowId::new(3)].name, "host4->host1", "alternatives count in the order they are written");
}

#[test]
fn limiters_are_shared_when_there_are_few() {
    let limiters = |plan: &Plan| plan.flows.iter().map(|flow| flow.limiter.number()).collect::<Vec<_>>();
    assert_eq!(limiters(&plan(UNIFORM, &[])), (0..12).collect::<Vec<_>>());
    let adapter = "[[adapter]]\nonly = \"host2\"\nmax_rps = 2\ninput_buffer = \"90 KB\"\nrate_step = \"9.6 Mb/s\"\nburst = \"3 KB\"";
    let plan = plan(&more(UNIFORM, adapter), &[]);
    assert_eq!(limiters(&plan), [0, 1, 2, 3, 4, 3, 5, 6, 7, 8, 9, 10]);
    let of = |flow| {
        let flow = &plan.flows[FlowId::new(flow)];
        (flow.room, flow.rate_step, flow.burst)
    };
    assert_eq!(of(0), (None, None, None));
    // Settings are those of the host, which its flows share, and so do flows of other hosts that have the same.
    let shared = |one, other| {
        let [one, other] = [one, other].map(|flow| &plan.flows[FlowId::new(flow)].settings);
        Arc::ptr_eq(one, other)
    };
    assert_eq!([shared(3, 4), shared(0, 6), shared(0, 3)], [true, true, false]);
    let parts = (Bytes::new(30_000), BitRate::bps(9_600_000), Bytes::new(3_000));
    assert_eq!(of(4), (Some(parts.0), Some(parts.1), Some(parts.2)));
}

#[test]
fn equal_ways_are_chosen_by_flow_or_by_frame() {
    let text = UNIFORM.replace(
        "kind = \"switch\"\nhosts = 4",
        "kind = \"leaf_spine\"\nleaves = 2\nspines = 3\nhosts = 2\ntrunk_rate = \"40 Gb/s\"",
    );
    let ways = |overrides: &[&str]| {
        let plan = plan(&text, overrides);
        let flow = plan.flows.iter().find(|flow| flow.name == "host1->host3");
        flow.map_or(0, |flow| flow.paths.len())
    };
    assert_eq!((ways(&[]), ways(&["routing.multipath=frame"]), ways(&["routing.multipath=single"])), (1, 3, 1));
    let spread = plan(&text, &[]);
    let trunk = |port: &PortPlan| port.name.starts_with("leaf1->spine");
    assert!(spread.ports.iter().filter(|port| trunk(port)).all(|port| port.rate == BitRate::gbps(40)));
}

/// The path hangs on both ends of a flow and on its number: by its name. Seven flows of one host to as many hosts, and
/// seven of as many hosts to one, go over more than one of eight spines; so do flows of one pair.
#[test]
fn flows_of_one_source_to_one_sink_and_between_one_pair_spread() {
    let text =
        UNIFORM.replace("kind = \"switch\"\nhosts = 4", "kind = \"leaf_spine\"\nleaves = 2\nspines = 8\nhosts = 8");
    let pair = "[[traffic]]\narrivals = \"constant\"\nfrom = \"host1\"\nto = \"host16\"\nrate = \"1 Mb/s\"\nframe = \"1500 B\"\n";
    let plan = plan(&more(&text, &pair.repeat(6)), &[]);
    let spines = |wanted: &dyn Fn(&str, &str) -> bool| -> usize {
        let flows = plan.flows.iter().filter(|flow| {
            let (from, to) = flow.name.split_once("->").expect("two ends");
            wanted(from, to) && flow.paths[0].len() == 4
        });
        flows.map(|flow| flow.paths[0][1]).collect::<std::collections::BTreeSet<_>>().len()
    };
    let spread = [spines(&|from, _| from == "host1"), spines(&|from, to| from == "host1" && to.starts_with("host16"))];
    // From many hosts to one each leaf has ports of its own; those of the first leaf count.
    let into = spines(&|from, to| to == "host16" && from != "host16");
    assert!(spread[0] >= 4 && spread[1] >= 3 && into >= 4, "{spread:?} {into}");
}

#[test]
fn connections_fill_frames_and_hear_acknowledgements() {
    let text = UNIFORM.replace(
        "arrivals = \"poisson\"\nfrom = \"*\"\nto = \"*\"\nspread = \"uniform\"\nrate = \"8.5 Gb/s\"",
        "arrivals = \"saturated\"\ntransport = \"tcp\"\nfrom = \"host{2..4}\"\nto = \"host1\"\nsize = \"1 MB\"",
    );
    let plan = plan(&text, &["traffic.initial_window=1"]);
    let Traffic::Tcp { config, total } = &plan.flows[FlowId::new(0)].traffic else { panic!("no TCP") };
    assert_eq!((config.mss, config.initial_window, *total), (Bytes::new(1460), 1, Some(Bytes::new(1_000_000))));
    assert!(plan.ports.iter().all(|port| port.peer.is_some()));
    assert_eq!(plan.ports.len(), 8);
    let readings = |config: &tcp::Config| (config.congestion_avoidance, config.recover_guard, config.rtt_from);
    let rfc = (CongestionAvoidance::ByteCounting, RecoverGuard::ByFlavour, RttFrom::Handover);
    assert_eq!(readings(config), rfc);
    let others = [
        ("congestion_avoidance=per_ack", (CongestionAvoidance::PerAck, rfc.1, rfc.2)),
        ("recover_guard=rfc6582", (rfc.0, RecoverGuard::Rfc6582, rfc.2)),
        ("recover_guard=off", (rfc.0, RecoverGuard::Off, rfc.2)),
        ("rtt_from=departure", (rfc.0, rfc.1, RttFrom::Departure)),
    ];
    for (key, expected) in others {
        let plan = super::tests::plan(&text, &[&format!("traffic.{key}")]);
        let Traffic::Tcp { config, .. } = &plan.flows[FlowId::new(0)].traffic else { panic!("no TCP") };
        assert_eq!(readings(config), expected, "{key}");
    }
    let of_bic = [
        ("each_ack", "doubling", (BicStep::EachAck, BicProbing::Doubling)),
        ("each_round", "mirrored", (BicStep::EachRound, BicProbing::Mirrored)),
    ];
    for (step, probing, expected) in of_bic {
        let keys = ["flavour=bic", &format!("bic_step={step}"), &format!("bic_probing={probing}")]
            .map(|key| format!("traffic.{key}"));
        let plan = super::tests::plan(&text, &keys.each_ref().map(String::as_str));
        let Traffic::Tcp { config, .. } = &plan.flows[FlowId::new(0)].traffic else { panic!("no TCP") };
        assert_eq!((config.bic_step, config.bic_probing), expected);
    }
}

#[test]
fn a_star_has_its_buffer_at_the_bottleneck() {
    let scenario = Scenario::shipped("og-hotspot-2src-10g-to-500m-rtt10us").unwrap_or_else(|error| panic!("{error}"));
    let fabric = fabric(&scenario);
    let plan = fabric.plan(&scenario, 1, 0);
    let names: Vec<&str> = plan.ports.iter().map(|port| &*port.name).collect();
    assert_eq!(names, ["source1->switch", "source2->switch", "switch->sink"]);
    assert_eq!(fabric.bottleneck, PortId::new(2));
    let bottleneck = &plan.ports[PortId::new(2)];
    assert!(bottleneck.watched && bottleneck.recorded && bottleneck.capacity == Some(Bytes::new(150_000)));
    assert_eq!((fabric.link_bps, fabric.offered_bps), (1e10, 2e10));
    assert_eq!(plan.flows[FlowId::new(1)].paths, vec![[1, 2].map(PortId::new).to_vec()].into());
}

/// A source may have two flows and the sink may send; `topology.buffer` is the room of the bottleneck alone.
#[test]
fn a_star_takes_what_any_topology_takes() {
    let more = "\n[[traffic]]\narrivals = \"saturated\"\nframe = \"1500 B\"\nfrom = \"source2\"\n\
                \n[[traffic]]\narrivals = \"saturated\"\nframe = \"1500 B\"\nfrom = \"sink\"\nto = \"source1\"\n\
                \n[[hotspot]]\nport = \"switch->source1\"\nfrom = \"1 s\"\nuntil = \"2 s\"\nrate = \"1 Gb/s\"\n";
    let shipped = qcnlab_scenario::shipped().into_iter().find(|s| s.name == "og-hotspot-2src-10g-to-500m-rtt10us");
    let text = format!("{}{more}", shipped.unwrap_or_else(|| panic!("it is shipped")).text);
    let scenario = Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let plan = fabric(&scenario).plan(&scenario, 1, 0);
    let flows: Vec<(&str, u32)> = plan.flows.iter().map(|flow| (&*flow.name, flow.limiter.number())).collect();
    assert_eq!(flows, [("source1", 0), ("source2", 1), ("source2#2", 2), ("sink->source1", 3)]);
    let ports: Vec<(&str, Option<Bytes>)> = plan.ports.iter().map(|port| (&*port.name, port.capacity)).collect();
    let none = |name| (name, None);
    let sink = ("switch->sink", Some(Bytes::new(150_000)));
    let (first, second) = (none("source1->switch"), none("source2->switch"));
    assert_eq!(ports, [first, none("switch->source1"), second, sink, none("sink->switch")]);
    assert_eq!(plan.services.iter().map(|change| change.port.number()).collect::<Vec<_>>(), [3, 1, 3, 1]);
}

#[test]
fn flows_are_drawn_anew_for_each_replication_and_lists_are_not() {
    let text = UNIFORM.replace(
        "arrivals = \"poisson\"\nfrom = \"*\"\nto = \"*\"\nspread = \"uniform\"\nrate = \"8.5 Gb/s\"",
        "arrivals = \"flows\"\nfrom = \"*\"\nto = \"host1\"\nsizes = \"100 KB\"\nload = 0.1\nstop = \"10 ms\"",
    );
    let scenario = Scenario::parse(text.trim_start(), "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let starts = |seed, replication| -> Vec<u64> {
        let fabric = Fabric::new(&scenario, Draw { seed, replication }).unwrap_or_else(|error| panic!("{error}"));
        fabric.flows.iter().map(|flow| flow.start.ps()).collect()
    };
    assert_eq!(starts(1, 0), starts(1, 0));
    assert_ne!(starts(1, 0), starts(1, 1));
    // Three senders of 1 Gb/s start 1250 flows of 100 KB a second each: 37.5 in 10 ms.
    assert!((20..60).contains(&starts(1, 0).len()));
    let list = "arrivals = \"list\"\nflows = \"\"\"\nfrom,to,size,start,class\nhost2,host1,4 KB,1 ms,5\nhost2,host1,1 B,2 ms,\n\"\"\"";
    let plan = plan(
        &UNIFORM
            .replace("arrivals = \"poisson\"", list)
            .replace("rate = \"8.5 Gb/s\"\n", "")
            .replace("spread = \"uniform\"\n", ""),
        &[],
    );
    let facts = |flow: &FlowPlan| (flow.name.clone(), flow.start.ps(), flow.class, flow.traffic.clone());
    let total = |size| Traffic::Saturated { ceiling: None, total: Some(Bytes::new(size)) };
    assert_eq!(facts(&plan.flows[FlowId::new(0)]), ("host2->host1".into(), 1_000_000_000, 5, total(4000)));
    assert_eq!(facts(&plan.flows[FlowId::new(1)]), ("host2->host1#2".into(), 2_000_000_000, 0, total(1)));
}

#[test]
fn a_flow_alone_takes_its_ideal_time() {
    let list = "arrivals = \"list\"\nflows = \"\"\"\nfrom,to,size,start\nhost2,host1,3 KB,1 ms\n\"\"\"";
    let text = UNIFORM.replace("arrivals = \"poisson\"", list).replace("rate = \"8.5 Gb/s\"\n", "");
    let text = text.replace("spread = \"uniform\"\n", "");
    let scenario = Scenario::parse(text.trim_start(), "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let alone = fabric(&scenario).alone(FlowId::new(0)).unwrap_or_else(|| panic!("a size"));
    // Two frames of 1.2 us over two links of 1 us: 2 + 2 x 1.2 + 1.2. The field's: 4 + 2 x 1.2 + 2.4.
    assert_eq!((alone.ideal, alone.standalone), (Span::from_ns(5_600), Span::from_ns(8_800)));
}

/// Two packets of 1000 B and headers of 50 over two links: 2 + 3 x 0.84 us there, and for an acknowledgement of 100 B
/// 2 + 2 x 0.08 us back. Nothing else is on the way, so that is the completion time, and its slowdown is 1. A third of
/// 500 B follows in 0.44 us, and a message of 1 B takes 0.0408 us on each link. The switch takes 0.3 us each way.
#[test]
fn a_message_alone_is_acknowledged_after_its_ideal_time() {
    for (size, there) in [("2 KB", 4_520_000), ("2.5 KB", 4_960_000), ("1 B", 2_081_600)] {
        let roce = format!(
            "arrivals = \"list\"\ntransport = \"roce\"\nheaders = \"50 B\"\nack_frame = \"100 B\"\nflows = \"\"\"\nfrom,to,size,start\n\
             host2,host1,{size},0 s\n\"\"\""
        );
        let text = UNIFORM.replace("arrivals = \"poisson\"", &roce).replace("rate = \"8.5 Gb/s\"\n", "");
        let text = text.replace("[scheme]", "[switch]\nlatency = \"300 ns\"\n[scheme]");
        let text =
            text.replace("spread = \"uniform\"\n", "").replace("stagger = \"10 us\"\n", "").replace("1500 B", "1050 B");
        let scenario = Scenario::parse(text.trim_start(), "test.toml").unwrap_or_else(|error| panic!("{error}"));
        let alone = fabric(&scenario).alone(FlowId::new(0)).unwrap_or_else(|| panic!("a size"));
        let outcomes = crate::run(&[scenario], &crate::Options::default(), &crate::Control::default());
        let flow = outcomes.unwrap_or_else(|error| panic!("{error}"))[0].replications[0].done.flows[FlowId::new(0)];
        assert_eq!(flow.finished.since(flow.started), alone.ideal, "{size}");
        assert_eq!(alone.ideal, Span::from_ps(there + 2_160_000 + 600_000), "{size}");
    }
}

/// Deck 004, Parking Lot Scenario, Baseline Input-Generated Hotspot and 20-stage Hotspot.
#[test]
fn fair_shares_are_the_published_ones() {
    let shares = |name: &str| {
        let scenario = Scenario::shipped(name).unwrap_or_else(|error| panic!("{error}"));
        let fabric = fabric(&scenario);
        let shares = fabric.shares().unwrap_or_else(|| panic!("few flows"));
        let bps =
            |shares: &Option<Vec<f64>>| -> Vec<u64> { shares.iter().flatten().map(|bps| bps.round() as u64).collect() };
        (bps(&shares.max_min), bps(&shares.proportional))
    };
    let (max_min, proportional) = shares("parking-lot-4-hot-2-cold-150kb-rtt10us");
    assert_eq!(max_min, [2_000_000_000; 6]);
    let (hot, cold) = (1_666_666_667, 3_333_333_333);
    assert_eq!(proportional, [hot, hot, hot, hot, cold, cold]);
    let (max_min, proportional) = shares("ig-4-culprits-1-victim-150kb-rtt5us");
    assert_eq!(max_min, [2_500_000_000, 2_500_000_000, 2_500_000_000, 2_500_000_000, 5_000_000_000]);
    assert_eq!(max_min, proportional);
    let (max_min, _) = shares("chain-20-stages-150kb-rtt2us");
    let long = &max_min[19..38];
    assert!(long.iter().all(|bps| *bps <= 500_000_000), "{long:?}");
}
