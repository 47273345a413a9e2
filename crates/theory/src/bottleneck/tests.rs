//! Bottlenecks worked out by hand.

use super::{Bottleneck, Contenders, NoBottleneck};
use qcnlab_scenario::Scenario;
use qcnlab_units::{BitRate, Bytes, Span};

const FAT_TREE: &str = r#"
title = "Incast"
duration = "1 s"
[topology]
kind = "fat_tree"
k = 4
rate = "10 Gb/s"
delay = "1 us"
[switch]
output_buffer = "150 KB"
[[traffic]]
arrivals = "saturated"
from = "host{2..9}"
to = "host1"
frame = "1500 B"
[scheme]
name = "qcn"
"#;

const LEAF_SPINE: &str = r#"
title = "Two leaves"
duration = "1 s"
[topology]
kind = "leaf_spine"
leaves = 2
spines = 1
hosts = 4
rate = "10 Gb/s"
delay = "1 us"
trunk_rate = "25 Gb/s"
trunk_delay = "5 us"
[switch]
output_buffer = "300 KB"
latency = "500 ns"
[[traffic]]
arrivals = "poisson"
from = "host{1..4}"
to = "host{5..8}"
spread = "paired"
rate = "8 Gb/s"
frame = "1000 B"
[scheme]
name = "qcn"
"#;

const PARKING_LOT: &str = r#"
title = "Two trunks"
duration = "1 s"
[topology]
kind = "parking_lot"
stages = 2
long = 4
rate = "10 Gb/s"
delay = "5 us"
[[traffic]]
arrivals = "saturated"
from = "long*"
to = "sink"
frame = "1500 B"
[[traffic]]
arrivals = "saturated"
from = "cross*"
to = "exit*"
spread = "paired"
frame = "1500 B"
[scheme]
name = "qcn"
"#;

fn scenario(text: &str, overrides: &[&str]) -> Scenario {
    let scenario = Scenario::parse(text.trim_start(), "test.toml").and_then(|s| s.with_overrides(overrides));
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

fn shipped(name: &str, overrides: &[&str]) -> Scenario {
    Scenario::shipped(name).and_then(|s| s.with_overrides(overrides)).unwrap_or_else(|error| panic!("{error}"))
}

fn bottleneck(scenario: &Scenario) -> Bottleneck {
    Bottleneck::of(scenario).unwrap_or_else(|error| panic!("{error}"))
}

/// The port and who meets there, where one phase has a contenders.
fn contenders(scenario: &Scenario) -> (String, Contenders) {
    let bottleneck = bottleneck(scenario);
    let mut contenders_of_phases = bottleneck.phases.into_iter().filter_map(|phase| phase.contenders);
    let contenders = contenders_of_phases.next().unwrap_or_else(|| panic!("no phase is congested"));
    assert!(contenders_of_phases.next().is_none(), "two phases are congested");
    (bottleneck.port, contenders)
}

fn refusal(scenario: &Scenario) -> String {
    Bottleneck::of(scenario)
        .map_or_else(|error| error.to_string(), |bottleneck| panic!("{} is congested", bottleneck.port))
}

fn more(text: &str, tables: &str) -> String {
    text.replace("[scheme]", &format!("{tables}\n[scheme]"))
}

#[track_caller]
fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{value} is not {expected}");
}

#[test]
fn a_star_has_its_own_bottleneck_and_rtt() {
    let bottleneck = bottleneck(&shipped("og-hotspot-2src-10g-to-500m-rtt200us", &[]));
    assert_eq!(
        (&*bottleneck.port, bottleneck.rate, bottleneck.buffer),
        ("switch->sink", BitRate::gbps(10), Some(Bytes::new(150_000)))
    );
    let rates: Vec<BitRate> = bottleneck.phases.iter().map(|phase| phase.rate).collect();
    assert_eq!(rates, [BitRate::gbps(10), BitRate::mbps(500), BitRate::gbps(10)]);
    for phase in &bottleneck.phases {
        let contenders = phase.contenders.as_ref().unwrap();
        assert_eq!(contenders.sources.iter().map(|source| &*source.flow).collect::<Vec<_>>(), ["source1", "source2"]);
        close(contenders.capacity_bps, phase.rate.as_f64());
        close(contenders.sends_bps.mean, 10e9);
        close(contenders.loop_delay_s.mean, 200e-6);
        // The link to the sink takes half the RTT, there and back.
        close(contenders.round_trip_s.mean, 400e-6);
    }
}

#[test]
fn phases_begin_after_the_warm_up_and_join_where_hotspots_meet() {
    let star = shipped("og-hotspot-2src-10g-to-500m-rtt200us", &["hotspot.0.from=0 s", "hotspot.0.until=1 s"]);
    let bottleneck = bottleneck(&star.with_overrides(&["warmup=0.5 s", "duration=2 s"]).unwrap());
    let times: Vec<(Span, Span)> = bottleneck.phases.iter().map(|phase| (phase.from, phase.until)).collect();
    assert_eq!(times, [(Span::from_ms(500), Span::from_ms(1000)), (Span::from_ms(1000), Span::from_ms(2000))]);
}

#[test]
fn a_chain_with_a_hotspot_counts_cables_switches_and_frames() {
    let chain = shipped("one-source-two-switches-10g-to-1g", &[]);
    let (port, at_trunk) = contenders(&chain);
    assert_eq!((&*port, at_trunk.sources.len()), ("switch1->switch2", 1));
    close(at_trunk.capacity_bps, 1e9);
    // Two cables of 0.5 us, 312 B at 10 Gb/s, 300 ns in the first switch; the message goes back as a frame.
    close(at_trunk.loop_delay_s.mean, 1e-6 + 249.6e-9 + 300e-9);
    // An ideal message takes the propagation and latency that data takes: 300 ns more.
    let (_, ideal) = contenders(&chain.with_overrides(&["feedback.kind=ideal"]).unwrap());
    close(ideal.loop_delay_s.mean, 1e-6 + 249.6e-9 + 600e-9);
}

#[test]
fn a_longer_chain_has_a_longer_loop() {
    let text = shipped("one-source-two-switches-10g-to-1g", &[]).to_toml();
    let changes = [
        "topology.switches=4",
        "topology.hosts=2",
        "hotspot.0.port=switch3->switch4",
        "traffic.0.from=host{1..2}",
        "traffic.0.to=host7",
        "traffic.0.rate=5 Gb/s",
    ];
    let (port, contenders) = contenders(&scenario(&text, &changes));
    assert_eq!((&*port, contenders.sources.len()), ("switch3->switch4", 2));
    // Three cables of 0.5 us twice, three times 312 B at 10 Gb/s, five times 300 ns.
    close(contenders.loop_delay_s.mean, 3e-6 + 748.8e-9 + 1.5e-6);
    close(contenders.sends_bps.mean, 5e9);
}

#[test]
fn an_incast_in_a_fat_tree_meets_at_the_last_port() {
    let (port, contenders) = contenders(&scenario(FAT_TREE, &[]));
    assert_eq!((&*port, contenders.sources.len()), ("pod1-edge1->host1", 8));
    close(contenders.capacity_bps, 10e9);
    // A link is 1 us each way and 1.2 us for a frame. host2 is one link away, host3 and host4 three, the others five.
    close(contenders.loop_delay_s.min, 3.2e-6);
    close(contenders.loop_delay_s.max, 5.0 * 3.2e-6);
    close(contenders.loop_delay_s.mean, (1.0 + 2.0 * 3.0 + 5.0 * 5.0) / 8.0 * 3.2e-6);
    // One link more to the receiver.
    close(contenders.round_trip_s.min, 2.0 * 3.2e-6);
    assert_eq!(bottleneck(&scenario(FAT_TREE, &[])).buffer, Some(Bytes::new(150_000)));
}

#[test]
fn frames_that_take_all_ways_meet_at_the_receiver() {
    let (port, contenders) = contenders(&scenario(FAT_TREE, &["routing.multipath=frame"]));
    assert_eq!((&*port, contenders.sources.len()), ("pod1-edge1->host1", 8));
}

#[test]
fn four_hosts_fill_a_trunk_between_leaves() {
    let bottleneck = bottleneck(&scenario(LEAF_SPINE, &[]));
    assert_eq!((&*bottleneck.port, bottleneck.rate), ("leaf1->spine1", BitRate::gbps(25)));
    let contenders = bottleneck.phases[0].contenders.as_ref().unwrap();
    // 4 x 8 = 32 of 25 Gb/s: 6.25 Gb/s each.
    assert_eq!(contenders.sources.len(), 4);
    close(contenders.capacity_bps, 25e9);
    close(contenders.sends_bps.max, 8e9);
    close(contenders.link_bps, 10e9);
    close(contenders.frame_bytes.mean, 1000.0);
    // 1 us of cable and 500 ns in leaf1, both ways, and 800 ns for a frame.
    close(contenders.loop_delay_s.mean, 3.8e-6);
}

#[test]
fn what_fits_everywhere_has_no_bottleneck() {
    let fits = scenario(LEAF_SPINE, &["traffic.0.rate=5 Gb/s"]);
    assert_eq!(
        refusal(&fits),
        "nothing is congested: leaf1->spine1, the fullest port, is offered 20 of 25 Gb/s; send more, or slow a port by \
         a [[hotspot]]"
    );
    // One source of 10 Gb/s into 10 Gb/s fills the port, and no queue grows.
    assert!(matches!(
        Bottleneck::of(&scenario(FAT_TREE, &["traffic.0.from=host2"])),
        Err(NoBottleneck::Nothing { fullest: Some(load) }) if load.port == "pod1-edge1->host1"
    ));
}

#[test]
fn two_trunks_of_a_parking_lot_are_refused() {
    // Each trunk carries five flows of 2 Gb/s; the long ones are held back by the first, cross2 by the second.
    assert_eq!(
        refusal(&scenario(PARKING_LOT, &[])),
        "2 ports are congested from 0 s to 1 s: switch1->switch2 is offered 50 of 10 Gb/s, switch2->switch3 is offered \
         50 of 10 Gb/s; keep one, by more rate or less traffic at the others"
    );
    // Without the second cross flow the second trunk carries what the first lets pass.
    let (port, contenders) = contenders(&scenario(PARKING_LOT, &["traffic.1.from=cross1", "traffic.1.to=exit1"]));
    assert_eq!((&*port, contenders.sources.len()), ("switch1->switch2", 5));
}

#[test]
fn a_port_of_no_switch_is_no_bottleneck() {
    // Two flows share the link of host2 and get 5 Gb/s each; the port to host1 is full and no queue grows.
    let twice =
        more(FAT_TREE, "[[traffic]]\narrivals = \"saturated\"\nfrom = \"host2\"\nto = \"host3\"\nframe = \"1500 B\"");
    assert!(matches!(Bottleneck::of(&scenario(&twice, &["traffic.0.from=host2"])), Err(NoBottleneck::Nothing { .. })));
}

#[test]
fn a_bottleneck_that_moves_is_refused() {
    let hotspots = "[[hotspot]]\nport = \"leaf2->host5\"\nfrom = \"0.2 s\"\nuntil = \"0.4 s\"\nrate = \"1 Gb/s\"\n\
                    [[hotspot]]\nport = \"leaf2->host6\"\nfrom = \"0.6 s\"\nuntil = \"0.8 s\"\nrate = \"2 Gb/s\"";
    let moving = scenario(&more(LEAF_SPINE, hotspots), &["traffic.0.rate=5 Gb/s"]);
    assert_eq!(
        refusal(&moving),
        "the bottleneck moves: from 200 ms to 400 ms leaf2->host5 is offered 5 of 1 Gb/s, from 600 ms to 800 ms \
         leaf2->host6 is offered 5 of 2 Gb/s; shorten the run, or take a hotspot out"
    );
    let calm = scenario(&more(LEAF_SPINE, hotspots), &["traffic.0.rate=5 Gb/s", "hotspot.1.rate=10 Gb/s"]);
    let bottleneck = bottleneck(&calm);
    let congested: Vec<bool> = bottleneck.phases.iter().map(|phase| phase.contenders.is_some()).collect();
    assert_eq!(congested, [false, true, false]);
}

#[test]
fn who_wants_little_is_no_source() {
    // 0.5 Gb/s is less than half of the eight's 9.5 / 8 Gb/s, and 0.7 Gb/s is more than half of 9.3 / 8.
    let third = |rate: &str| {
        let from = "from = \"host10\"\nto = \"host1\"\nframe = \"1500 B\"";
        more(FAT_TREE, &format!("[[traffic]]\narrivals = \"constant\"\nrate = \"{rate}\"\n{from}"))
    };
    let (_, few) = contenders(&scenario(&third("0.5 Gb/s"), &[]));
    assert_eq!((few.sources.len(), few.light.0), (8, 1));
    close(few.light.1, 0.5e9);
    close(few.capacity_bps, 9.5e9);
    let (_, all) = contenders(&scenario(&third("0.7 Gb/s"), &[]));
    assert_eq!((all.sources.len(), all.light), (9, (0, 0.0)));
    close(all.capacity_bps, 10e9);
    close(all.sends_bps.mean, (80e9 + 0.7e9) / 9.0);
}

#[test]
fn what_nothing_slows_takes_its_part_first() {
    let free = |rate: &str| {
        let from = "from = \"host10\"\nto = \"host1\"\nframe = \"1500 B\"\ncontrolled = false";
        more(FAT_TREE, &format!("[[traffic]]\narrivals = \"constant\"\nrate = \"{rate}\"\n{from}"))
    };
    let (_, contenders) = contenders(&scenario(&free("4 Gb/s"), &[]));
    assert_eq!((contenders.sources.len(), contenders.uncontrolled.0), (8, 1));
    close(contenders.uncontrolled.1, 4e9);
    close(contenders.capacity_bps, 6e9);
    let alone = "pod1-edge1->host1 is offered 90 of 10 Gb/s, and what no reaction point slows fills it alone; \
                 set controlled = true, or send less of it";
    assert_eq!(refusal(&scenario(&free("10 Gb/s"), &[])), alone);
}

#[test]
fn limiters_count_and_not_flows() {
    // host2 sends to two receivers behind one slow trunk over one limiter.
    let both = "[[traffic]]\narrivals = \"saturated\"\nfrom = \"host{1..2}\"\nto = \"host{5..6}\"\nframe = \"1500 B\"";
    let text = LEAF_SPINE.replace(LEAF_SPINE.split("[[traffic]]").nth(1).unwrap(), "\n[scheme]\nname = \"qcn\"\n");
    let text = more(&text.replace("[[traffic]]", ""), both);
    let slow = ["topology.trunk_rate=5 Gb/s"];
    let (port, apart) = contenders(&scenario(&text, &slow));
    assert_eq!((&*port, apart.sources.len()), ("leaf1->spine1", 4));
    close(apart.sends_bps.mean, 5e9);
    let adapters = "[[adapter]]\nmax_rps = 1";
    let (_, shared) = contenders(&scenario(&more(&text, adapters), &slow));
    let flows: Vec<&str> = shared.sources.iter().map(|source| &*source.flow).collect();
    assert_eq!(flows, ["host1->host5", "host2->host5"]);
    close(shared.sends_bps.mean, 10e9);
    let aside = more(
        &more(&text, adapters),
        "[[traffic]]\narrivals = \"constant\"\nrate = \"1 Gb/s\"\nfrom = \"host1\"\nto = \"host3\"\nframe = \"1500 B\"",
    );
    assert_eq!(
        refusal(&scenario(&aside, &slow)),
        "host1->host3 shares a limiter with flows held back at leaf1->spine1; raise adapter.max_rps"
    );
}

#[test]
fn rates_count_frame_octets() {
    // 1500 B take 1520 on the wire.
    let (_, contenders) = contenders(&scenario(FAT_TREE, &["topology.frame_overhead=20 B"]));
    close(contenders.capacity_bps, 10e9 * 1500.0 / 1520.0);
    close(contenders.link_bps, 10e9 * 1500.0 / 1520.0);
}

#[test]
fn the_mean_frame_is_that_of_the_frames_that_pass() {
    let small = "[[traffic]]\narrivals = \"saturated\"\nfrom = \"host10\"\nto = \"host1\"\nframe = \"500 B\"";
    let (_, contenders) = contenders(&scenario(&more(FAT_TREE, small), &["traffic.0.from=host2"]));
    // Equal rates: for each frame of 1500 B three of 500 B.
    close(contenders.frame_bytes.mean, 750.0);
    assert_eq!((contenders.frame_bytes.min, contenders.frame_bytes.max), (500.0, 1500.0));
    assert_eq!(contenders.traffic, [0, 1]);
}

#[test]
fn what_has_no_steady_number_of_sources_is_refused() {
    let sized = scenario(FAT_TREE, &["traffic.0.size=1 MB"]);
    assert_eq!(
        refusal(&sized),
        "flows of traffic.0 (arrivals saturated) have an end, so their number changes all the time; give traffic that goes \
         on, such as arrivals saturated without size"
    );
    let stops = scenario(FAT_TREE, &["traffic.0.stop=0.4 s"]);
    assert_eq!(
        refusal(&stops),
        "the number of sources changes: host2->host1 sends from 0 s to 400 ms of the time from 0 s to 1 s; let it send \
         all the time, or move warmup and duration"
    );
    let before = scenario(FAT_TREE, &["traffic.0.start=0.4 s", "warmup=0.4 s"]);
    assert_eq!(contenders(&before).1.sources.len(), 8);
}

#[test]
fn queues_apart_and_ports_without_congestion_points_are_refused() {
    let other =
        "[[traffic]]\narrivals = \"saturated\"\nfrom = \"host10\"\nto = \"host1\"\nframe = \"1500 B\"\npriority = 3";
    assert_eq!(
        refusal(&scenario(&more(FAT_TREE, other), &[])),
        "flows of classes 0, 3 meet at pod1-edge1->host1, each class in a queue of its own; give them one priority"
    );
    let deaf = "pod1-edge1->host1 is offered 80 of 10 Gb/s, and has no congestion point; give it one, or move the \
                bottleneck to a switch that has";
    assert_eq!(refusal(&scenario(FAT_TREE, &["switch.congestion_points=false"])), deaf);
    let slow = "[[adapter]]\nonly = \"host1\"\nreceive_rate = \"5 Gb/s\"\nreceive_buffer = \"1 MB\"";
    assert!(refusal(&scenario(&more(FAT_TREE, slow), &[])).contains("host1->host1/reader is offered 80 of 5 Gb/s"));
}
