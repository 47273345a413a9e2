//! Points of a grid: each is what its assignments make, however much of it was taken from the point before.
//!
//! In tests a scenario that keeps what follows from another one's tables works it out itself, too, and compares
//! (`scenario::check`).

use super::*;
use crate::shipped::shipped;
use qcnlab_schemes::{Dice, Purpose};

fn named(name: &str) -> Scenario {
    Scenario::shipped(name).unwrap_or_else(|error| panic!("{error}"))
}

fn axis(key: &str, values: &str) -> Vec<String> {
    values.split(", ").map(|value| format!("{key}={value}")).collect()
}

/// All points one after the other, by one thread.
fn checked(points: &Grid) -> Checked {
    points.row(0..points.count())
}

/// What is wrong at each point alone, and the simulated time of the others.
fn one_by_one(points: &Grid) -> (u128, Vec<Option<String>>) {
    let alone = |point| points.base.with_overrides(&points.texts(&points.values_at(point)));
    let alone: Vec<_> = (0..points.count()).map(alone).collect();
    let simulated = alone.iter().flatten().map(|scenario| u128::from(scenario.duration.ps())).sum();
    (simulated, alone.into_iter().map(|point| point.err().map(|error| error.to_string())).collect())
}

/// Check points together and one by one; return how often a network was built for all of them together.
fn compare(points: &Grid) -> usize {
    let (simulated, alone) = one_by_one(points);
    let done = checked(points);
    assert_eq!(done.simulated_ps, simulated);
    assert_eq!(done.refused, alone.iter().flatten().count());
    let (reasons, told) = points.refusals(usize::MAX);
    assert_eq!(reasons, told.len());
    assert_eq!(told.iter().map(|refusal| refusal.count).sum::<usize>(), done.refused);
    for refusal in told {
        let error = refusal.error.to_string();
        assert_eq!(alone[refusal.first].as_ref(), Some(&error));
        assert_eq!(alone.iter().position(|other| other.as_ref() == Some(&error)), Some(refusal.first));
        assert_eq!(alone.iter().flatten().filter(|other| **other == error).count(), refusal.count);
    }
    done.networks
}

#[test]
fn each_point_is_what_its_assignments_make() {
    let axes = [axis("duration", "10 ms, 10 parsecs, 20 ms"), axis("topology.rtt", "10 us, 40 us")];
    let points = Grid::new(&named("one-source-into-9g-rtt10us"), &["warmup=1 ms".to_owned()], &axes, &[]);
    assert_eq!(points.count(), 6);
    compare(&points);
    let (_, told) = points.refusals(1);
    assert_eq!((told[0].first, told[0].count), (2, 2));
    assert!(told[0].error.to_string().contains("10 parsecs"));
    // 10 ms and 20 ms at two round trips each: 60 ms.
    assert_eq!(points.check(0..6).simulated_ps, 60_000_000_000);
}

#[test]
fn what_contradicts_another_key_is_refused_at_its_points_alone() {
    // A set point of 120 KB needs a buffer above it; a hotspot ends within the run, and the warm-up, too.
    let base = named("og-hotspot-2src-10g-to-500m-rtt10us");
    let buffers = axis("topology.buffer", "100 KB, 150 KB, 90 KB");
    let set_points = axis("scheme.cp.set_point", "33 KB, 120 KB");
    let points = Grid::new(&base, &[], &[set_points, buffers], &[]);
    compare(&points);
    let told: Vec<usize> = points.refusals(9).1.iter().map(|refusal| refusal.first).collect();
    // One after the other: 33 KB at 100, 150, 90 KB, then 120 KB: the fourth and the sixth.
    assert_eq!(told, [3, 5]);
    let times = [axis("hotspot.until", "1.5 s, 2.4 s"), axis("duration", "2 s, 2.5 s"), axis("warmup", "0 s, 2.2 s")];
    let points = Grid::new(&base, &[], &times, &[]);
    compare(&points);
    let schemes = axis("scheme.name", "qcn, timely, none");
    compare(&Grid::new(&base, &[], &[axis("topology.sources", "2, 0, 5"), schemes], &[]));
}

#[test]
fn what_is_set_at_every_point_stays_in_its_order() {
    let base = named("og-hotspot-2src-10g-to-500m-rtt10us");
    let tables = ["record.tables=false".to_owned()];
    for (before, key, values) in [
        ("scheme.cp.w=4", "scheme.name", "qcn, ecm, none"),
        ("scheme.name=ecm", "scheme.cp.w", "1, 2"),
        ("hotspot.rate=1 Gb/s", "hotspot.0.rate", "2 Gb/s, 0 b/s"),
        ("record.queue_every=1 ns", "record.tables", "true, false"),
        ("nothing=3", "seed", "1, 2"),
        ("no assignment", "seed", "1, 2"),
        ("seed=1", "no assignment", "1, 2"),
        ("scheme.name=none", "", "1, 2"),
    ] {
        let points = Grid::new(&base, &[before.to_owned()], &[axis(key, values)], &tables);
        compare(&points);
    }
}

#[test]
fn a_network_is_built_once_for_each_value_that_it_follows_from() {
    let base = named("og-hotspot-2src-10g-to-500m-rtt10us");
    let built = |axes: &[Vec<String>]| compare(&Grid::new(&base, &[], axes, &[]));
    let many = |key: &str, unit: &str| (1..=6).map(|n| format!("{key}={n}{unit}")).collect::<Vec<_>>();
    let sources = many("topology.sources", "");
    for other in [
        many("topology.rtt", "0 us"),
        many("topology.sink_delay", " us"),
        many("topology.buffer", "00 KB"),
        many("topology.frame_overhead", "0 B"),
        many("hotspot.rate", "00 Mb/s"),
        many("hotspot.from", "00 ms"),
        many("duration", "0 s"),
        many("warmup", "00 ms"),
        many("traffic.frame", "000 B"),
        many("record.queue_every", "0 us"),
        many("record.recovery_hold", " ms"),
        many("seed", ""),
        many("scheme.cp.w", ""),
        many("clock_tolerance_ppm", "0"),
    ] {
        assert_eq!(built(&[sources.clone(), other.clone()]), 6, "{}", other[0]);
        assert_eq!(built(&[other.clone(), sources.clone()]), 6, "{}", other[0]);
    }
    assert_eq!(built(&[sources, many("topology.rate", "0 Gb/s")]), 36);
}

#[test]
fn headroom_is_worked_out_for_each_delay() {
    let base = named("ig-4-culprits-1-victim-pause-1500kb-rtt5us");
    let delays = axis("topology.delay", "1 us, 2 us, 100 us, 1 ms");
    assert_eq!(compare(&Grid::new(&base, &[], std::slice::from_ref(&delays), &[])), 4);
    let off = ["pause.kind=none".to_owned()];
    assert_eq!(compare(&Grid::new(&base, &off, std::slice::from_ref(&delays), &[])), 1);
    // Where pauses begin after delays that nobody asked for, these are asked for then.
    let kinds = axis("pause.kind", "link, none");
    for axes in [[delays.clone(), kinds.clone()], [kinds, delays.clone()]] {
        compare(&Grid::new(&base, &[], &axes, &[]));
        compare(&Grid::new(&base, &off, &axes, &[]));
    }
    // Links that are written out have delays of their own; those of a shape have two, which are set anew.
    let base = named("link-failure-leaf-spine-100g");
    let trunks = axis("topology.trunk_delay", "1 us, 3 us, 40 us");
    let frames = axis("traffic.frame", "1000 B, 2000 B");
    let highs = axis("pause.high", "100 KB, 200 KB, 1 PB");
    compare(&Grid::new(&base, &[], &[delays, trunks, frames, highs], &[]));
    assert_eq!(compare(&Grid::new(&base, &[], &[axis("topology.delay", "1 us, 2 us, 3 us")], &[])), 1);
}

#[test]
fn seeds_and_times_that_flows_are_drawn_from_are_checked_with_them() {
    let base = named("dumbbell-web-search-10g");
    let seeds = axis("seed", "1, 2, -1, none, 3");
    // Of three that can be run each is drawn; after a refusal the next begins anew in any case.
    assert_eq!(compare(&Grid::new(&base, &["duration=2 ms".to_owned()], &[seeds], &[])), 3);
    let durations = axis("duration", "1 ms, 2 ms, 3 ms");
    assert_eq!(compare(&Grid::new(&base, &["warmup=0 s".to_owned()], &[durations], &[])), 3);
}

/// Keys of every kind with values of which some can never be, and some only with others.
const KEYS: [(&str, &[&str]); 40] = [
    ("duration", &["1 ms", "20 ms", "0 s", "none"]),
    ("warmup", &["0 s", "1 ms", "19 ms"]),
    ("stop_arrivals", &["1 ms", "10 ms", "30 ms"]),
    ("drain", &["true", "false"]),
    ("seed", &["1", "2", "3"]),
    ("replications", &["1", "0"]),
    ("ties", &["drawn", "port_order", "other"]),
    ("clock_tolerance_ppm", &["0", "100"]),
    ("topology.sources", &["1", "3", "0"]),
    ("topology.hosts", &["2", "4"]),
    ("topology.rtt", &["0 s", "10 us", "1 parsec"]),
    ("topology.delay", &["0 s", "1 us", "500 us"]),
    ("topology.trunk_delay", &["1 us", "5 us"]),
    ("topology.rate", &["1 Gb/s", "10 Gb/s", "400 Gb/s"]),
    ("topology.trunk_rate", &["1 Gb/s", "100 Gb/s"]),
    ("topology.buffer", &["1 KB", "20 KB", "1 MB"]),
    ("topology.frame_overhead", &["0 B", "20 B"]),
    ("link.0.delay", &["1 us", "9 us"]),
    ("link.0.rate", &["1 Gb/s", "2 Gb/s"]),
    ("switch.output_buffer", &["20 KB", "1 MB"]),
    ("switch.input_memory", &["2 KB", "1 MB"]),
    ("switch.congestion_points", &["true", "false"]),
    ("adapter.input_buffer", &["1 KB", "1 MB"]),
    ("adapter.receive_rate", &["1 Gb/s", "9 Gb/s"]),
    ("pause.kind", &["none", "link", "priority"]),
    ("pause.high", &["10 KB", "900 KB"]),
    ("routing.multipath", &["flow", "frame", "first"]),
    ("traffic.0.frame", &["64 B", "1500 B", "9000 B", "30 KB"]),
    ("traffic.0.start", &["0 s", "1 ms", "30 ms"]),
    ("traffic.0.priority", &["0", "7", "8"]),
    ("traffic.0.rate", &["1 Mb/s", "20 Gb/s"]),
    ("hotspot.0.from", &["1 ms", "15 ms"]),
    ("hotspot.0.until", &["2 ms", "16 ms"]),
    ("hotspot.0.rate", &["1 Gb/s"]),
    ("feedback.kind", &["ideal", "frames"]),
    ("record.queue_every", &["1 us", "1 ns", "1 ms"]),
    ("record.bottleneck", &["switch->sink", "nowhere"]),
    ("scheme.name", &["none", "qcn", "ecm", "dcqcn", "timely"]),
    ("scheme.cp.set_point", &["10 KB", "900 KB"]),
    ("scheme.rp.min_rate", &["1 Mb/s", "0 b/s"]),
];

#[test]
fn random_grids_over_every_shipped_scenario_are_checked_as_point_by_point() {
    check_random_grids(1, 1);
}

#[test]
#[ignore = "long: make test-all runs it"]
fn more_random_grids_over_every_shipped_scenario_are_checked_as_point_by_point() {
    check_random_grids(2, 3);
}

fn check_random_grids(seed: u64, of_each: usize) {
    let mut dice = Dice::new(seed, 0, "grids", Purpose::Traffic);
    let short = ["duration=20 ms", "warmup=1 ms"].map(str::to_owned);
    for scenario in shipped() {
        let base = named(scenario.name);
        for _ in 0..of_each {
            let mut keys: Vec<usize> = (0..3).map(|_| dice.below(KEYS.len() as u32) as usize).collect();
            keys.sort_unstable();
            keys.dedup();
            let axes: Vec<Vec<String>> = keys
                .iter()
                .map(|key| {
                    let (key, values) = KEYS[*key];
                    values.iter().map(|value| format!("{key}={value}")).collect()
                })
                .collect();
            compare(&Grid::new(&base, &short, &axes, &[]));
        }
    }
}

#[test]
fn along_an_axis_are_the_scenarios_of_its_points() {
    let base = named("og-hotspot-2src-10g-to-500m-rtt10us");
    let second = ["hotspot.0.until=1.2 s".to_owned(), "scheme.name=ecm".to_owned()];
    let axes = [axis("topology.sources", "2, 5"), axis("topology.rtt", "10us, 0.2 ms, 1 s")];
    let points = Grid::new(&base, &second, &axes, &["record.tables=false".to_owned()]);
    for (number, key, values) in
        [(0, "topology.sources", &["2", "5"][..]), (1, "topology.rtt", &["\"10 us\"", "\"200 us\"", "\"1 s\""])]
    {
        let along = points.along(number, |scenario| (scenario.value(key), scenario.hash()));
        let alone: Vec<(Option<String>, String)> = (0..values.len())
            .map(|value| {
                let mut at = [0, 0];
                at[number] = value;
                let scenario = base.with_overrides(&points.texts(&at)).unwrap();
                (Some(values[value].to_owned()), scenario.hash())
            })
            .collect();
        assert_eq!(along, alone);
    }
}

#[test]
fn values_are_found_by_their_keys() {
    let base = named("og-hotspot-2src-10g-to-500m-rtt10us");
    for (key, value) in [
        ("duration", Some("\"2.5 s\"")),
        ("scheme.name", Some("\"qcn\"")),
        ("hotspot.rate", Some("\"500 Mb/s\"")),
        ("hotspot.0.rate", Some("\"500 Mb/s\"")),
        ("hotspot.1.rate", None),
        ("topology.rttt", None),
        ("duration.of", None),
        ("pause.high", None),
    ] {
        assert_eq!(base.value(key).as_deref(), value, "{key}");
    }
}

#[test]
fn threads_and_positions_change_nothing() {
    let base = named("og-hotspot-2src-10g-to-500m-rtt10us");
    let axes = [axis("topology.rtt", "10 us, 20 us, no time"), axis("topology.sources", "1, 2, 3, 0, 5, 6, 7")];
    let together = Grid::new(&base, &[], &axes, &[]);
    let all = together.check(0..together.count());
    let apart = Grid::new(&base, &[], &axes, &[]);
    let mut sum = Checked::default();
    (0..apart.count()).rev().for_each(|position| sum += apart.check(position..position + 1));
    assert_eq!((sum.simulated_ps, sum.refused), (all.simulated_ps, all.refused));
    let told = |points: &Grid| {
        let told = points.refusals(2);
        (
            told.0,
            told.1.iter().map(|refusal| (refusal.first, refusal.count, refusal.error.to_string())).collect::<Vec<_>>(),
        )
    };
    assert_eq!(told(&together), told(&apart));
}
