//! Keys away from their defaults, and tables of which several apply, as the plan that an engine gets.

use super::Fabric;
use qcnlab_scenario::{Draw, Scenario};
use qcnlab_schemes::parts::ecn::MarkAt;
use qcnlab_sim::{
    Alpha, Feedback, PathChoice, PauseRule, Plan, Process, QueueChoice, RepsPlan, SharedBufferPlan, Traffic,
    WatchdogAction, WatchdogPlan,
};
use qcnlab_units::{BitRate, Bytes, Span};

/// Four hosts, two at each of two leaves of 10 Gb/s, under two spines of 40 Gb/s; classes 0, 3 and 5.
const LEAVES: &str = r#"
title = "Leaves"
duration = "1 s"
[topology]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts = 2
rate = "10 Gb/s"
delay = "1 us"
trunk_rate = "40 Gb/s"
trunk_delay = "2 us"
[[traffic]]
arrivals = "saturated"
transport = "roce"
from = "host{1..2}"
to = "host{3..4}"
spread = "paired"
frame = "1048 B"
headers = "48 B"
ack_frame = "60 B"
cn_tag = false
priority = 3
[[traffic]]
arrivals = "saturated"
from = "host3"
to = "host1"
frame = "1500 B"
[[traffic]]
arrivals = "on_off"
from = "host4"
to = "host2"
rate = "4 Gb/s"
on = "1 ms"
off = "3 ms"
frame = "1500 B"
priority = 5
start_jitter = "7 us"
[scheme]
name = "none"
"#;

fn fabric(tables: &str, overrides: &[&str]) -> (Scenario, Fabric) {
    fabric_of(&LEAVES.replace("[scheme]", &format!("{tables}\n[scheme]")), overrides)
}

fn fabric_of(text: &str, overrides: &[&str]) -> (Scenario, Fabric) {
    let scenario = Scenario::parse(text.trim_start(), "leaves.toml").and_then(|s| s.with_overrides(overrides));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let fabric = Fabric::new(&scenario, Draw { seed: 1, replication: 0 }).unwrap_or_else(|error| panic!("{error}"));
    (scenario, fabric)
}

fn plan(tables: &str, overrides: &[&str]) -> Plan {
    let (scenario, fabric) = fabric(tables, overrides);
    fabric.plan(&scenario, 1, 0)
}

fn plan_of(text: &str, overrides: &[&str]) -> Plan {
    let (scenario, fabric) = fabric_of(text, overrides);
    fabric.plan(&scenario, 1, 0)
}

fn node<'a>(plan: &'a Plan, name: &str) -> &'a qcnlab_sim::NodePlan {
    plan.nodes.iter().find(|node| node.name == name).unwrap_or_else(|| panic!("no node {name}"))
}

fn port<'a>(plan: &'a Plan, name: &str) -> &'a qcnlab_sim::PortPlan {
    plan.ports.iter().find(|port| port.name == name).unwrap_or_else(|| panic!("no port {name}"))
}

#[test]
fn ways_and_heads_have_the_numbers_that_are_given() {
    let choice = |keys: &[&str]| plan("", keys).path_choice;
    let us = Span::from_us;
    assert_eq!(choice(&["routing.multipath=flowlet"]), PathChoice::Flowlets(us(100)));
    assert_eq!(choice(&["routing.multipath=flowlet", "routing.flowlet_gap=7 us"]), PathChoice::Flowlets(us(7)));
    assert_eq!(choice(&["routing.multipath=flowlet", "routing.flowlet_gap=0 s"]), PathChoice::Flowlets(us(0)));
    // Recycling takes traffic that is acknowledged, the first entry.
    let messages: Vec<&str> = LEAVES.splitn(3, "[[traffic]]").take(2).collect();
    let messages = format!("{}[scheme]\nname = \"none\"\n", messages.join("[[traffic]]"));
    let reps = |keys: &[&str]| plan_of(&messages, &[&["routing.multipath=reps"], keys].concat()).path_choice;
    let recycled = |freeze, explore| PathChoice::Recycled(RepsPlan { freeze, explore });
    assert_eq!(reps(&[]), recycled(us(10_000), 16));
    assert_eq!(reps(&["routing.reps_freeze=3 us", "routing.reps_explore=5"]), recycled(us(3), 5));
    assert_eq!(reps(&["routing.reps_freeze=0 s", "routing.reps_explore=0"]), recycled(us(0), 0));
    let queues = |samples, memory| PathChoice::ShortestQueue(QueueChoice { samples, memory });
    assert_eq!(choice(&["routing.multipath=adaptive"]), queues(None, 0));
    assert_eq!(choice(&["routing.multipath=drill"]), queues(Some(2), 1));
    let drill = ["routing.multipath=drill", "routing.drill_samples=3", "routing.drill_memory=0"];
    assert_eq!(choice(&drill), queues(Some(3), 0));
    let trim = |keys: &str| node(&plan(&format!("[[switch]]\n{keys}"), &[]), "spine2").trim;
    let heads = |keys: &str| trim(keys).map(|trim| (trim.size.get(), trim.class));
    assert_eq!(heads("trim_to = \"64 B\""), Some((64, 7)));
    assert_eq!(heads("trim_to = \"80 B\"\ntrim_priority = 0"), Some((80, 0)));
    assert_eq!(heads("latency = \"1 us\""), None);
    let framed = plan("[feedback]\nkind = \"frames\"\nframe = \"128 B\"\npriority = 0", &[]);
    assert_eq!(framed.feedback, Feedback::Frames { size: Bytes::new(128), class: 0 });
}

/// Two storms and two watchdogs. The first table that fits a switch holds; a look comes four times in the time of
/// detection if no other is given.
#[test]
fn watchdogs_and_storms_are_those_of_their_tables() {
    let tables = "[pause]\nkind = \"priority\"\npriorities = \"3, 5\"\n[[switch]]\ninput_memory = \"300 KB\"\n\
                  [[watchdog]]\nonly = \"leaf1\"\ndetect_after = \"4 ms\"\nrestore_after = \"0 s\"\naction = \"forward\"\n\
                  [[watchdog]]\ndetect_after = \"8 ms\"\nrestore_after = \"3 ms\"\npoll = \"5 ms\"\n\
                  [[pause_storm]]\nhost = \"host4\"\npriorities = \"3\"\nfrom = \"0 s\"\nuntil = \"2 ms\"\n\
                  [[pause_storm]]\nhost = \"host1\"\npriorities = \"5, 0\"\nfrom = \"1 ms\"\nuntil = \"3 ms\"\n";
    let plan = plan(tables, &[]);
    let ms = Span::from_ms;
    let [first, second] =
        [(4, 0, 1, WatchdogAction::Forward), (8, 3, 5, WatchdogAction::Drop)].map(|(detect, restore, poll, action)| {
            Some(WatchdogPlan { detect: ms(detect), restore: ms(restore), poll: ms(poll), action })
        });
    for (name, expected) in [("leaf1", first), ("leaf2", second), ("spine1", second), ("spine2", second)] {
        assert_eq!(node(&plan, name).watchdog, expected, "{name}");
    }
    let storms: Vec<(&str, u8, u64, u64)> = plan
        .storms
        .iter()
        .map(|storm| {
            let name = &*plan.ports[storm.port].name;
            (name, storm.classes, storm.from.ps() / 1_000_000_000, storm.until.ps() / 1_000_000_000)
        })
        .collect();
    assert_eq!(storms, [("host4->leaf2", 1 << 3, 0, 2), ("host1->leaf1", 1 << 5 | 1, 1, 3)]);
}

/// Of three tables the first takes class 3 at the ports of leaf2, the second what is left of classes 3 and 5 anywhere, and
/// the third the rest.
#[test]
fn a_queue_has_the_thresholds_of_the_first_table_that_fits() {
    let tables = "[[wred]]\nports = \"leaf2->*\"\npriorities = \"3\"\nk_min = \"0 B\"\nk_max = \"5 KB\"\np_max = 0\n\
                  [[wred]]\npriorities = \"3, 5\"\nk_min = \"10 KB\"\nk_max = \"40 KB\"\np_max = 0.25\n\
                  mark_at = \"arrival\"\nthresholds_for = \"10 Gb/s\"\n\
                  [[wred]]\nk_min = \"7 KB\"\nk_max = \"7 KB\"\n";
    let plan = plan(tables, &[]);
    let of = |name: &str| {
        let plans = port(&plan, name).wred.iter();
        plans.map(|plan| (plan.classes, plan.ramp.k_max.get(), plan.ramp.p_max)).collect::<Vec<_>>()
    };
    let (three, five, rest) = (1 << 3, 1 << 5, 0b1101_0111);
    assert_eq!(of("leaf2->host3"), [(three, 5000, 0.0), (five, 40_000, 0.25), (rest, 7000, 1.0)]);
    assert_eq!(of("spine1->leaf2"), [(three | five, 40_000, 0.25), (rest, 7000, 1.0)]);
    assert!(of("host1->leaf1").is_empty(), "hosts have none");
    let ramp = |position: usize| port(&plan, "leaf2->host3").wred[position].ramp;
    assert_eq!((ramp(0).k_min, ramp(0).mark_at, ramp(0).thresholds_for), (Bytes::ZERO, MarkAt::Departure, None));
    assert_eq!((ramp(1).mark_at, ramp(1).thresholds_for), (MarkAt::Arrival, Some(BitRate::gbps(10))));
}

const LOSSLESS: &str = "[pause]\nkind = \"priority\"\npriorities = \"3, 4, 5\"\nrule = \"dynamic\"\n";

fn shared(keys: &str, name: &str) -> SharedBufferPlan {
    let plan = plan(&format!("{LOSSLESS}{keys}"), &[]);
    node(&plan, name).shared_buffer.clone().unwrap_or_else(|| panic!("{name} has no shared buffer"))
}

/// Four links at a leaf, three classes that are used, of which two are paused. Reserves of 1000 B are 4 x 3 x 1000 B; what
/// headroom a group has is there for 4 x 2 of them, unless there is a pool.
#[test]
fn a_shared_buffer_has_the_numbers_that_are_given() {
    let keys = "[[shared_buffer]]\nonly = \"leaf1\"\nkind = \"dynamic\"\nsize = \"900 KB\"\nreserve = \"1000 B\"\n\
                pg_alpha = 0.5\nqueue_alpha = 2\nheadroom = \"20 KB\"\nxon = \"4 KB\"\nxon_offset = \"9 KB\"\n\
                [[shared_buffer]]\nkind = \"dynamic\"\nsize = \"500 KB\"\npg_alpha = 1\n";
    let leaf = shared(keys, "leaf1");
    assert_eq!((leaf.shared.get(), leaf.reserve.get()), (900_000 - 12_000 - 160_000, 1000));
    assert_eq!((leaf.xon.get(), leaf.xon_offset.get(), leaf.cell.get()), (4000, 9000, 1));
    assert!(leaf.inputs.iter().all(|input| input.headroom.get() == 20_000 && input.alpha == Some(Alpha::two_to(-1))));
    assert!(leaf.queues.len() == 4 && leaf.queues.iter().all(|queue| queue.alpha == Alpha::two_to(1)));
    let other = shared(keys, "leaf2");
    assert_eq!((other.xon.get(), other.xon_offset.get(), other.headroom_pool), (0, 3072, None));
    assert!(other.queues.is_empty());
    // What a host's link brings after XOFF: 2 us there and back, three frames of 1500 B and a pause frame; the trunk's 4 us
    // at 40 Gb/s.
    let headroom: Vec<u64> = other.inputs.iter().map(|input| input.headroom.get()).collect();
    let [host, trunk] = [2500 + 4500 + 64, 20_000 + 4500 + 64];
    assert_eq!(headroom.iter().filter(|octets| **octets == host).count(), 2, "{headroom:?}");
    assert_eq!(headroom.iter().filter(|octets| **octets == trunk).count(), 2, "{headroom:?}");
    assert_eq!(other.shared.get(), 500_000 - 2 * 2 * (host + trunk));
    let pool = keys.replace("headroom = \"20 KB\"", "headroom_pool = \"50 KB\"\ncell = \"256 B\"\nheadroom = \"0 B\"");
    let pooled = shared(&pool, "leaf1");
    assert_eq!((pooled.shared.get(), pooled.headroom_pool.map(Bytes::get)), (900_000 - 12_000 - 50_000, Some(50_000)));
    assert_eq!((pooled.cell.get(), pooled.inputs[0].headroom.get()), (256, 0));
}

/// Thresholds for 10 Gb/s are four times as large at 40 Gb/s, of groups and of queues; those of the field's simulator are
/// for the rate of the first host's link, or another.
#[test]
fn thresholds_grow_with_the_rate_of_a_link() {
    let keys = "[[shared_buffer]]\nkind = \"dynamic\"\nsize = \"900 KB\"\npg_alpha = 0.125\nqueue_alpha = 1\n";
    let alphas = |plan: &SharedBufferPlan| {
        let mut alphas: Vec<Alpha> = plan.inputs.iter().filter_map(|input| input.alpha).collect();
        alphas.extend(plan.queues.iter().map(|queue| queue.alpha));
        [-3, -1, 0, 2].map(|two| alphas.iter().filter(|alpha| **alpha == Alpha::two_to(two)).count())
    };
    assert_eq!(alphas(&shared(keys, "leaf1")), [4, 0, 4, 0]);
    assert_eq!(alphas(&shared(&format!("{keys}alpha_for = \"10 Gb/s\"\n"), "leaf1")), [2, 2, 2, 2]);
    assert_eq!(alphas(&shared(&format!("{keys}alpha_for = \"40 Gb/s\"\n"), "leaf1")), [4, 0, 4, 0]);
    let field = "[[shared_buffer]]\nkind = \"hpcc_simulator\"\nsize = \"900 KB\"\n";
    assert_eq!(alphas(&shared(field, "leaf1")), [2, 2, 0, 0]);
    assert_eq!(alphas(&shared(&format!("{field}nic_rate = \"40 Gb/s\"\n"), "leaf1")), [4, 0, 0, 0]);
}

/// A reaction of 3 us at 10 Gb/s is 3750 B, a latency of 1 us 1250 B. The pause of a field's buffer has no end of its own
/// unless an interval is given.
#[test]
fn headroom_counts_what_a_link_brings_meanwhile() {
    let high = |tables: &str| match node(&plan(tables, &[]), "leaf1").pause.map(|pause| (pause.rule, pause.reaction)) {
        Some((PauseRule::Watermarks { high, .. }, reaction)) => (high.get(), reaction),
        other => panic!("{other:?}"),
    };
    let trunk = 20_000 + 4500 + 64;
    let pause = "[pause]\nkind = \"link\"\n";
    let memory = "[[switch]]\ninput_memory = \"300 KB\"\n";
    assert_eq!(high(&format!("{memory}{pause}")), (300_000 - trunk, Span::ZERO));
    let (slow, reaction) = high(&format!("{memory}{pause}reaction = \"3 us\"\n"));
    assert_eq!((slow, reaction), (300_000 - trunk - 4 * 3750, Span::from_us(3)));
    assert_eq!(high(&format!("{memory}latency = \"1 us\"\n{pause}")).0, 300_000 - trunk - 4 * 1250);
    // Of the classes 3, 4 and 5 two have traffic, and half of the memory each; of all eight three have; of 3, 6 and 7 one has.
    let classes = |list: &str| format!("{memory}[pause]\nkind = \"priority\"\npriorities = \"{list}\"\n");
    assert_eq!(high(&classes("3, 4, 5")).0, 150_000 - trunk);
    assert_eq!(high(&classes("0, 1, 2, 3, 4, 5, 6, 7")).0, 100_000 - trunk);
    assert_eq!(high(&classes("3, 6, 7")).0, 300_000 - trunk);
    let quanta = |keys: &str| {
        let field = "[[shared_buffer]]\nkind = \"hpcc_simulator\"\nsize = \"900 KB\"\n";
        match node(&plan(&format!("{field}{LOSSLESS}{keys}"), &[]), "leaf1").pause.map(|pause| pause.rule) {
            Some(PauseRule::Dynamic { quanta }) => quanta,
            other => panic!("{other:?}"),
        }
    };
    // 64 us at 40 Gb/s are 5000 quanta of 512 bits.
    assert_eq!((quanta(""), quanta("interval = \"64 us\"\n")), (None, Some(5000)));
}

/// Weights of 2 and 6: without a quantum the smaller sends one frame of 1500 B in a turn; with one, so many octets for
/// each unit.
#[test]
fn weights_are_octets_in_a_turn() {
    let of = |keys: &str| {
        let plan = plan(&format!("[[switch]]\nweights = \"0: 2, 5: 6\"\n{keys}"), &[]);
        node(&plan, "spine1").quanta.map(|quanta| quanta.map(Bytes::get))
    };
    assert_eq!(of(""), Some([1500, 0, 0, 0, 0, 4500, 0, 0]));
    assert_eq!(of("quantum = \"700 B\"\n"), Some([1400, 0, 0, 0, 0, 4200, 0, 0]));
}

/// On 1 ms of 4 the source offers a quarter of its rate. The jitter of a source is that of its generator.
#[test]
fn what_comes_and_goes_offers_its_mean() {
    let (scenario, fabric) = fabric("", &[]);
    let flow = fabric.flows.find_id(|flow| flow.name == "host4->host2").unwrap_or_else(|| panic!("a flow"));
    assert_eq!(fabric.wanted_bps[flow], 1e9);
    let plan = fabric.plan(&scenario, 1, 0);
    let [generator] = &plan.generators[..] else { panic!("one generator") };
    let (rate, on, off) = (BitRate::gbps(4), Span::from_ms(1), Span::from_ms(3));
    assert_eq!(generator.process, Process::OnOff { rate, on, off, exponential: true });
    assert_eq!((generator.start_jitter, plan.flows[flow].start_jitter), (Span::from_us(7), Span::ZERO));
    let steady = self::plan("", &["traffic.2.times=fixed"]);
    assert_eq!(steady.generators[0].process, Process::OnOff { rate, on, off, exponential: false });
}

/// A host with a clock of its own: what a generator offers follows it, as the link does.
#[test]
fn a_generator_goes_by_the_clock_of_its_host() {
    let plan = plan("", &["clock_tolerance_ppm=1000"]);
    let link = port(&plan, "host4->leaf2").rate.as_f64() / 1e10;
    let Process::OnOff { rate, .. } = plan.generators[0].process else { panic!("on and off") };
    assert!((rate.as_f64() / 4e9 - link).abs() < 1e-8 && (link - 1.0).abs() > 1e-6, "{link}");
}

/// A hotspot of one port that ends when that of another begins is over; where the same port has the next, it goes on.
#[test]
fn hotspots_of_two_ports_end_by_themselves() {
    let hotspot = |port: &str, from: u32, until: u32, rate: u32| {
        format!(
            "[[hotspot]]\nport = \"{port}\"\nfrom = \"{from} ms\"\nuntil = \"{until} ms\"\nrate = \"{rate} Gb/s\"\n"
        )
    };
    let tables = [
        hotspot("leaf2->host3", 20, 30, 3),
        hotspot("leaf2->host4", 10, 20, 2),
        hotspot("leaf2->host3", 10, 20, 1),
        hotspot("leaf2->host4", 30, 40, 4),
    ];
    let plan = plan(&tables.concat(), &[]);
    let changes: Vec<(u64, &str, u64)> = plan
        .services
        .iter()
        .map(|change| {
            let name = plan.ports[change.port].name.trim_start_matches("leaf2->");
            (change.at.ps() / 1_000_000_000, name, change.rate.get() / 1_000_000_000)
        })
        .collect();
    let mut expected = [
        (10, "host4", 2),
        (10, "host3", 1),
        (20, "host3", 3),
        (20, "host4", 10),
        (30, "host3", 10),
        (30, "host4", 4),
        (40, "host4", 10),
    ];
    expected.sort_unstable();
    let mut sorted = changes.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    assert!(changes.is_sorted_by_key(|(at, ..)| *at), "{changes:?}");
}

/// A slow reader is a link behind the host, on every one of a flow's ways.
#[test]
fn a_receiver_reads_at_its_rate_on_every_way() {
    let adapter = "[[adapter]]\nonly = \"host3\"\nreceive_rate = \"5 Gb/s\"\nreceive_buffer = \"64 KB\"\n";
    let plan = plan(adapter, &["routing.multipath=frame"]);
    let flow = plan.flows.iter().find(|flow| flow.name == "host1->host3").unwrap_or_else(|| panic!("a flow"));
    assert_eq!(flow.paths.len(), 2);
    for path in &flow.paths {
        let last = &plan.ports[path[path.len() - 1]];
        assert_eq!((&*last.name, last.rate), ("host3->host3/reader", BitRate::gbps(5)));
    }
    assert_eq!(node(&plan, "host3").input_memory, Some(Bytes::new(64_000)));
    assert_eq!(node(&plan, "host4").input_memory, None);
}

/// Flows that are drawn stop with their entry, or with all arrivals if that is earlier; two entries draw for themselves;
/// the load is that of the slowest of the senders' links.
#[test]
fn drawn_flows_stop_and_draw_for_themselves() {
    let entry = |more: &str| {
        format!(
            "[[traffic]]\narrivals = \"flows\"\nfrom = \"host1, host3\"\nto = \"host2, host4\"\nsizes = \"10 KB\"\nload = 0.2\n\
             frame = \"1500 B\"\n{more}"
        )
    };
    let starts = |tables: &str, overrides: &[&str]| {
        let plan = plan(tables, overrides);
        let finite = |traffic: &Traffic| matches!(traffic, Traffic::Saturated { total: Some(_), .. });
        let flows = plan.flows.iter().filter(|flow| finite(&flow.traffic));
        flows.map(|flow| flow.start.ps()).collect::<Vec<u64>>()
    };
    let ms = 1_000_000_000;
    // Two senders of 2 Gb/s start 50 000 flows of 10 KB a second.
    let ten = starts(&entry("stop = \"10 ms\"\n"), &[]);
    assert!((400..600).contains(&ten.len()) && ten.iter().all(|start| *start < 10 * ms), "{}", ten.len());
    let four = starts(&entry("stop = \"10 ms\"\n"), &["stop_arrivals=4 ms"]);
    assert_eq!(four, ten.iter().copied().filter(|start| *start < 4 * ms).collect::<Vec<_>>());
    assert_eq!(starts(&entry("stop = \"4 ms\"\n"), &["stop_arrivals=10 ms"]), four);
    let both = starts(&entry("stop = \"4 ms\"\n").repeat(2), &[]);
    assert!(both.len() > four.len() && both[..four.len()] == four && !both[four.len()..].starts_with(&four[..3]));
}
