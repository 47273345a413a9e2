//! Operations over a star against closed forms, and the parts of their times.

use super::*;
use crate::{Control, Options, Outcome, run};
use serde_json::{Value, json};

/// One switch with links of 100 Gb/s and 1 us. Packets of 1000 octets and 48 of headers take 83.84 ns, acknowledgements 4.8 ns.
pub(super) const STAR: &str = r#"
duration = "20 ms"
drain = true
[topology]
kind = "switch"
hosts = 8
rate = "100 Gb/s"
delay = "1 us"
[[traffic]]
arrivals = "collective"
transport = "roce"
operation = "all_reduce"
size = "80 KB"
frame = "1048 B"
headers = "48 B"
ack_frame = "60 B"
ack_every = 1000
cn_tag = false
[scheme]
name = "none"
"#;

pub(super) const FABRIC: &str = r#"
duration = "50 ms"
drain = true
[topology]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts = 4
rate = "100 Gb/s"
delay = "1 us"
trunk_rate = "100 Gb/s"
trunk_delay = "2 us"
[pause]
kind = "priority"
[[switch]]
input_memory = "2 MB"
[[traffic]]
arrivals = "collective"
transport = "roce"
operation = "all_reduce"
size = "800 KB"
frame = "1048 B"
headers = "48 B"
ack_frame = "60 B"
[scheme]
name = "dcqcn"
"#;

pub(super) fn outcome(text: &str, overrides: &[&str]) -> Outcome {
    let scenario = Scenario::parse(text, "operation.toml").and_then(|scenario| scenario.with_overrides(overrides));
    let scenario = scenario.unwrap_or_else(|error| panic!("{overrides:?}: {error}"));
    run(&[scenario], &Options::default(), &Control::default()).unwrap().remove(0)
}

/// What the first operation of a run gives.
pub(super) fn of<T>(outcome: &Outcome, ask: impl FnOnce(&CollectiveRun<'_>) -> T) -> T {
    let replication = &outcome.replications[0];
    let runs = CollectiveRun::all(&outcome.scenario, &replication.fabric, &replication.done);
    let run = runs.into_iter().next().expect("an operation");
    ask(&match &replication.causes {
        Some(causes) => run.with_causes(causes),
        None => run,
    })
}

/// Completion and lower bound, ps.
fn took(overrides: &[&str]) -> (u64, u64) {
    of(&outcome(STAR, overrides), |run| {
        let (began, ended) = (run.began().expect("it starts"), run.ended().expect("all is there"));
        (ended.since(began).ps(), run.bound().span.ps())
    })
}

/// A packet on a link, an acknowledgement on a link, and two links' delay, ps.
pub(super) const T: u64 = 83_840;
pub(super) const A: u64 = 4_800;
pub(super) const D: u64 = 2_000_000;

/// From a message's start to its last octet: its packets on the first link, the last one on the second, two delays.
const fn message(packets: u64) -> u64 {
    (packets + 1) * T + D
}

/// Until its sender knows: the acknowledgement on two links, two delays.
const fn acknowledged(packets: u64) -> u64 {
    message(packets) + 2 * A + D
}

/// TimeParts of 10 KB are 10 packets. From the second step on a rank first answers the part that came, which is no part of the bound:
/// 14 steps of an all-reduce, 7 of its halves.
#[test]
fn rings_take_their_steps() {
    let answers = |steps: u64| (steps - 1) * A;
    assert_eq!(took(&[]), (14 * message(10) + answers(14), 14 * message(10)));
    for operation in ["reduce_scatter", "all_gather"] {
        let override_ = format!("traffic.operation={operation}");
        assert_eq!(took(&[&override_]), (7 * message(10) + answers(7), 7 * message(10)), "{operation}");
    }
    // Two channels: on a link the packets of two messages of 5 take turns, and two answers go before.
    let (two, bound) = took(&["traffic.channels=2"]);
    assert!(two.abs_diff(14 * message(10)) <= 14 * 6 * T, "{two}");
    assert_eq!(bound, 14 * message(5));
}

/// Halves, quarters and eighths of 80 packets, and back: 40, 20, 10, 10, 20, 40.
#[test]
fn halving_and_doubling_take_their_steps() {
    let bound = 2 * (message(40) + message(20) + message(10));
    assert_eq!(took(&["traffic.algorithm=halving_doubling"]), (bound + 5 * A, bound));
}

/// 80 packets from rank 0 to 1; from 0 to 2 when 1's are acknowledged, then to 4. Rank 4 is last: two round trips and a message. Round
/// the ring it is passed on seven times, each after an answer.
#[test]
fn broadcasts_take_their_steps() {
    let tree = 2 * acknowledged(80) + message(80);
    assert_eq!(took(&["traffic.operation=broadcast"]), (tree, tree));
    let ring = 7 * message(80);
    assert_eq!(took(&["traffic.operation=broadcast", "traffic.algorithm=ring"]), (ring + 6 * A, ring));
    // Two chunks of 40: the second leaves when the first is acknowledged, and follows it round.
    let (chunks, bound) = took(&["traffic.operation=broadcast", "traffic.algorithm=ring", "traffic.chunks=2"]);
    assert_eq!(bound, acknowledged(40) + 7 * message(40));
    assert!(chunks >= bound && chunks - bound <= 14 * T, "{chunks} {bound}");
}

/// Synchronised, seven steps: each when the message before is acknowledged. Direct, the link of a rank has 70 packets to carry, and
/// they cannot be there before the first has come to the switch.
#[test]
fn all_to_alls_take_their_steps() {
    let steps = 6 * acknowledged(10) + message(10);
    for algorithm in ["shift", "synchronised_shift"] {
        let algorithm = format!("traffic.algorithm={algorithm}");
        let (took, bound) = took(&["traffic.operation=all_to_all", &algorithm]);
        assert_eq!(bound, steps, "{algorithm}");
        // Acknowledgements of others wait for a packet on the way at most, on each link.
        assert!(took >= steps && took - steps <= 6 * 2 * T, "{algorithm}: {took} {steps}");
    }
    let (took, bound) = took(&["traffic.operation=all_to_all"]);
    assert_eq!(bound, 70 * T + T + D);
    assert!(took >= bound && took - bound <= 14 * T, "{took} {bound}");
}

/// Two of eight hosts, 80 packets there and, after 5 us of the expert's, as many back: each rank keeps half. And a pipeline of
/// four stages: three there, three back, each after 5 us but the first.
#[test]
fn experts_and_stages_compute_between_messages() {
    let pair = ["traffic.operation=moe", "traffic.ranks=host1, host2", "traffic.compute=5 us"];
    assert_eq!(took(&pair), (2 * message(40) + 5_000_000, 2 * message(40) + 5_000_000));
    let stages = ["traffic.operation=pipeline", "traffic.ranks=host{1..4}", "traffic.compute=5 us"];
    let bound = 6 * message(80) + 5 * 5_000_000;
    assert_eq!(took(&stages), (bound, bound));
    let three = outcome(STAR, &["traffic.operation=pipeline", "traffic.ranks=host{1..4}", "traffic.microbatches=3"]);
    assert_eq!(of(&three, |run| run.json())["messages"], 3 * 6);
}

/// A ring of 14 steps, 13 of which begin 2 us after what they wait for: by then the answer, for which they would wait otherwise, has
/// left. In a second round the first step waits, too.
#[test]
fn a_rank_takes_its_overhead_before_each_message_that_waits() {
    let bound = 14 * message(10) + 13 * 2_000_000;
    assert_eq!(took(&["traffic.overhead=2 us"]), (bound, bound));
    let twice = 2 * bound + 2_000_000 + 7_000_000;
    assert_eq!(took(&["traffic.overhead=2 us", "traffic.rounds=2", "traffic.compute=7 us"]), (twice, twice));
}

/// The star with a connection for each message, all of which its first window admits: segments of 1000 octets, each acknowledged at
/// once by 64 octets, which take 5.12 ns a link.
fn over_tcp(keys: &[&str]) -> Outcome {
    let roce = "ack_frame = \"60 B\"\nack_every = 1000\n";
    assert!(STAR.contains(roce));
    let tcp = STAR
        .replace("\"roce\"", "\"tcp\"")
        .replace(roce, "initial_window = 1000\nmax_window = \"1 MB\"\nmin_rto = \"1 ms\"\n");
    outcome(&tcp, keys)
}

/// Stages and a tree as over RoCE, but for the acknowledgements.
#[test]
fn operations_over_tcp_take_their_steps() {
    let acknowledgement = 2 * 5_120 + D;
    let took = |keys: &[&str]| {
        of(&over_tcp(keys), |run| (run.ended().unwrap().since(run.began().unwrap()).ps(), run.bound().span.ps()))
    };
    let stages = ["traffic.operation=pipeline", "traffic.ranks=host{1..4}", "traffic.compute=5 us"];
    let bound = 6 * message(80) + 5 * 5_000_000;
    assert_eq!(took(&stages), (bound, bound));
    let tree = 2 * (message(80) + acknowledgement) + message(80);
    assert_eq!(took(&["traffic.operation=broadcast"]), (tree, tree));
    let value = of(&over_tcp(&["traffic.operation=broadcast"]), |run| run.json());
    let parts = &value["slowest"]["parts"];
    let ps = |part: &str| (parts[part].as_f64().expect("a time") * 1e12).round() as u64;
    assert_eq!([ps("serialisation_s"), ps("propagation_s")], [3 * 81 * T, 3 * D]);
    assert_eq!(
        [ps("acknowledgement_s"), ps("waiting_at_sender_s"), ps("waiting_in_network_s")],
        [2 * acknowledgement, 0, 0]
    );
}

/// Experts of which some are asked more than others over TCP, with queues that are too short: what the last segment waits for at the switch is waiting in the network, and one that
/// goes again is counted. The parts are the whole.
#[test]
fn waits_over_tcp_are_part_of_the_whole() {
    let switch = STAR.replace("[scheme]", "[[switch]]\noutput_buffer = \"30 KB\"\n[scheme]");
    let roce = "ack_frame = \"60 B\"\nack_every = 1000\n";
    let tcp = switch
        .replace("\"roce\"", "\"tcp\"")
        .replace(roce, "initial_window = 40\nmax_window = \"1 MB\"\nmin_rto = \"1 ms\"\n");
    let outcome = outcome(&tcp, &["traffic.operation=moe", "traffic.skew=2", "traffic.size=800 KB", "duration=2 s"]);
    of(&outcome, |run| {
        let (mut again, mut in_network) = (0, 0);
        for id in run.messages.ids() {
            let (fate, started) = (run.fate(id), run.tally(id).started);
            assert!(fate.acknowledged > fate.received && fate.last_sent < fate.received && fate.last_sent >= started);
            let parts = run.parts(id, fate.acknowledged);
            let sum = parts.all().iter().fold(Span::ZERO, |sum, (_, span)| sum + *span);
            assert_eq!(sum, fate.acknowledged.since(started));
            again += fate.sent_again;
            in_network += parts.waiting_in_network.ps();
        }
        assert!(again > 0 && in_network > 0, "{again} {in_network}");
    });
}

/// Ranks on hosts 3 to 6: each starts 1 us after the one before it, whatever number its host has.
#[test]
fn a_stagger_counts_ranks() {
    let keys = ["traffic.operation=all_gather", "traffic.ranks=host{3..6}", "traffic.stagger=1 us"];
    of(&outcome(STAR, &keys), |run| {
        for (id, message) in run.messages.enumerate().filter(|(_, message)| message.step == 0) {
            let rank = message.from.number();
            assert_eq!(run.tally(id).started.ps(), u64::from(rank) * 1_000_000, "rank {rank}");
        }
        assert_eq!(run.json()["hosts"], json!(["host3", "host4", "host5", "host6"]));
    });
}

/// Two operations among the same hosts, in orders that are drawn for each, and in each replication anew.
#[test]
fn each_operation_has_its_own_order() {
    let Some((before, entry)) = STAR.split_once("[[traffic]]") else { unreachable!() };
    let entry = entry.replace("[scheme]", "placement = \"random\"\n[scheme]");
    let Some((operation, scheme)) = entry.split_once("[scheme]") else { unreachable!() };
    let two = format!("{before}[[traffic]]{operation}[[traffic]]{operation}[scheme]{scheme}");
    let both = |seed: u64| {
        let outcome = outcome(&two, &["replications=2", &format!("seed={seed}")]);
        let of_one = |replication: &crate::Replication| {
            let all = CollectiveRun::all(&outcome.scenario, &replication.fabric, &replication.done);
            all.iter().map(|run| (run.entry, run.json()["hosts"].to_string())).collect::<Vec<_>>()
        };
        outcome.replications.iter().flat_map(of_one).collect::<Vec<_>>()
    };
    let drawn = both(0);
    assert_eq!(drawn.iter().map(|(entry, _)| *entry).collect::<Vec<_>>(), [0, 1, 0, 1]);
    let orders: std::collections::BTreeSet<_> = drawn.iter().map(|(_, hosts)| hosts.clone()).collect();
    assert_eq!(orders.len(), 4, "{orders:?}");
    assert_eq!(both(0), drawn);
    assert_ne!(both(1), drawn);
}

/// Three rounds of a ring: what lies between them is the computation and an answer. Bandwidth counts the mean time of a round.
#[test]
fn rounds_and_bandwidths() {
    let outcome = outcome(STAR, &["traffic.rounds=3", "traffic.compute=7 us"]);
    let whole = 3 * (14 * message(10) + 13 * A) + 2 * 7_000_000;
    let value = of(&outcome, |run| run.json());
    let ps = |value: &Value| (value.as_f64().expect("a time") * 1e12).round() as u64;
    assert_eq!(ps(&value["completion_s"]), whole);
    for (round, value) in (0..).zip(value["rounds"].as_array().expect("rounds")) {
        assert_eq!(ps(&value["began_s"]), round * (14 * message(10) + 13 * A + 7_000_000));
        assert_eq!(ps(&value["completion_s"]), 14 * message(10) + 13 * A);
        assert_eq!(value["ranks_completed_s"].as_array().expect("ranks").len(), 8);
    }
    let algorithm = value["algorithm_bandwidth_bps"].as_f64().expect("a rate");
    assert!((algorithm / (8.0 * 80_000.0 * 3.0 / (whole as f64 / 1e12)) - 1.0).abs() < 1e-12);
    assert!((value["bus_bandwidth_bps"].as_f64().unwrap() / algorithm - 1.75).abs() < 1e-12);
    let parts = &value["slowest"]["parts"];
    assert_eq!(ps(&parts["computation_s"]), 14_000_000);
    assert_eq!(ps(&parts["propagation_s"]), 42 * D);
    assert_eq!(ps(&parts["serialisation_s"]), 42 * 11 * T);
    // The answers, before each message but the first of a round.
    assert_eq!(ps(&parts["waiting_at_sender_s"]) + ps(&parts["waiting_in_network_s"]), 3 * 13 * A);
}

/// Whatever happens, the parts of the slowest rank's time are all of it.
#[test]
fn the_parts_are_the_whole() {
    let cases: &[&[&str]] = &[
        &[],
        &["traffic.channels=3", "traffic.chunks=2"],
        &["traffic.algorithm=halving_doubling", "traffic.rounds=2", "traffic.compute=3 us"],
        &["traffic.operation=all_to_all"],
        &["traffic.operation=all_to_all", "traffic.algorithm=shift", "traffic.start_jitter=5 us"],
        &["traffic.operation=moe", "traffic.skew=1.2", "traffic.compute=2 us"],
        &["traffic.operation=broadcast", "traffic.stagger=1 us", "traffic.start=3 us"],
        &["traffic.operation=pipeline", "traffic.microbatches=4"],
        &["routing.multipath=frame", "traffic.recovery=selective_repeat"],
        &["scheme.name=hpcc", "traffic.operation=all_to_all"],
        // What has two ways loads no port with all of it.
        &[
            "routing.multipath=frame",
            "traffic.recovery=selective_repeat",
            "traffic.operation=all_to_all",
            "scheme.name=none",
        ],
        &["clock_tolerance_ppm=100"],
        &["topology.trunk_rate=25 Gb/s", "topology.spines=1"],
    ];
    let slow = FABRIC.replace(
        "[scheme]",
        "[[hotspot]]\nport = \"spine1->leaf2\"\nfrom = \"10 us\"\nuntil = \"10 ms\"\nrate = \"10 Gb/s\"\n[scheme]",
    );
    let cut = FABRIC
        .replace("[scheme]", "[[failure]]\nlink = \"leaf1->spine1\"\nfrom = \"30 us\"\nuntil = \"60 us\"\n[scheme]");
    let mut waited = 0;
    for (text, overrides) in cases.iter().map(|keys| (FABRIC, *keys)).chain([(&*slow, &[][..]), (&*cut, &[][..])]) {
        let outcome = outcome(text, overrides);
        of(&outcome, |run| {
            let chain = run.chain().unwrap_or_else(|| panic!("{overrides:?}: it ends"));
            let whole = run.ended().unwrap().since(run.began().unwrap());
            let sum = chain.iter().flat_map(|link| link.parts.all()).fold(Span::ZERO, |sum, (_, span)| sum + span);
            assert_eq!(sum, whole, "{overrides:?}");
            let pairs = chain.windows(2);
            pairs.for_each(|pair| assert!(run.messages[pair[1].message].after.contains(&pair[0].message)));
            assert!(
                run.bound().span <= whole || outcome.scenario.clock_tolerance_ppm > 0,
                "{overrides:?}: below the bound"
            );
            waited += chain.iter().filter(|link| link.parts.waiting() > Span::ZERO).count();
        });
    }
    assert!(waited > 100, "{waited} messages of all chains waited");
}

/// The port of the slow link is where the chain waited, whichever link it is.
#[test]
fn a_slow_link_is_named() {
    for (port, rank) in [("switch->host3", 2), ("switch->host7", 6), ("host5->switch", 4)] {
        let slow =
            format!("[[hotspot]]\nport = \"{port}\"\nfrom = \"1 us\"\nuntil = \"20 ms\"\nrate = \"10 Gb/s\"\n[scheme]");
        let value = of(&outcome(&STAR.replace("[scheme]", &slow), &["traffic.size=800 KB"]), |run| run.json());
        let slowest = &value["slowest"];
        assert_eq!(slowest["ports"][0]["port"], port, "rank {rank}");
        let (first, all) = (&slowest["ports"][0]["waiting_s"], &slowest["parts"]);
        let all = all["waiting_at_sender_s"].as_f64().unwrap() + all["waiting_in_network_s"].as_f64().unwrap();
        assert!(first.as_f64().unwrap() > 0.9 * all, "{port}");
    }
}

/// A run that ends too early says how far it came, and no time that it did not take.
#[test]
fn an_operation_that_does_not_end_says_so() {
    let value = of(&outcome(STAR, &["duration=20 us"]), |run| run.json());
    assert_eq!(value["completion_s"], Value::Null);
    assert_eq!(value["ratio"], Value::Null);
    assert_eq!(value["slowest"], Value::Null);
    assert_eq!(value["messages"], 112);
    // Six steps of 2.9 us; the seventh is under way.
    assert_eq!((&value["messages_received"], &value["waiting_for"]["under_way"]), (&json!(48), &json!(8)));
    assert_eq!(value["waiting_for"]["first"], "host1->host2#7");
    let rounds = &value["rounds"][0];
    assert_eq!((&rounds["completion_s"], &rounds["ranks_completed_s"][0]), (&Value::Null, &Value::Null));
    // Of a broadcast rank 1 has it after 8.79 us, the next ones after 19.6 us.
    let value = of(&outcome(STAR, &["duration=12 us", "traffic.operation=broadcast"]), |run| run.json());
    let rounds = &value["rounds"][0];
    let known: Vec<bool> =
        rounds["ranks_completed_s"].as_array().expect("ranks").iter().map(|at| !at.is_null()).collect();
    assert_eq!(known, [false, true, false, false, false, false, false, false]);
    assert_eq!((&rounds["completion_s"], &rounds["slowest_rank"]), (&Value::Null, &Value::Null));
    assert_eq!((&value["began_s"], &rounds["began_s"]), (&json!(0.0), &json!(0.0)));
    // One that is drawn to start after the end did not begin.
    let value = of(&outcome(STAR, &["duration=20 us", "traffic.start_jitter=10 ms"]), |run| run.json());
    let nothing = json!({ "under_way": 0, "first": null });
    assert_eq!((&value["began_s"], &value["waiting_for"]), (&Value::Null, &nothing));
    assert_eq!(value["rounds"][0]["began_s"], Value::Null);
}

/// Two ways share what goes over both: together their ports send for as long as one port does that carries all of it.
#[test]
fn ports_of_several_ways_are_busy_with_their_share() {
    let uplinks = |keys: &[&str]| {
        of(&outcome(FABRIC, keys), |run| {
            let busy = run.busy();
            let of = |port: &str| busy[run.fabric.ports.find_id(|planned| planned.name == port).expect("a port")];
            of("leaf1->spine1") + of("leaf1->spine2")
        })
    };
    let one_way = uplinks(&["traffic.recovery=selective_repeat"]);
    let both = uplinks(&["traffic.recovery=selective_repeat", "routing.multipath=frame"]);
    // 14 messages of 100 packets cross each way, of 1048 octets.
    assert!(one_way >= 14.0 * 100.0 * T as f64 / 1e12, "{one_way}");
    assert!((both / one_way - 1.0).abs() < 0.02, "{both} {one_way}");
}

/// What a message's ports were paused for counts from its start on, port by port the longest.
#[test]
fn pauses_count_while_a_message_is_sent() {
    let keys = ["traffic.operation=all_to_all", "traffic.rounds=3", "scheme.name=none", "switch.input_memory=200 KB"];
    of(&outcome(FABRIC, &keys), |run| {
        let pauses = &run.done.trace.pauses;
        assert!(pauses.start.len() > 10, "{} pauses", pauses.start.len());
        let mut cut = 0;
        for message in run.messages.ids() {
            let (started, until) = (run.tally(message).started, run.fate(message).received);
            let link = ChainLink { message, parts: TimeParts::default(), started };
            let of_port = |port: &PortId| -> u64 {
                let rows = (0..pauses.start.len()).filter(|row| pauses.port[*row] == port.number());
                rows.map(|row| {
                    let whole = pauses.end[row].saturating_sub(pauses.start[row]);
                    let both = pauses.end[row].min(until.ps()).saturating_sub(pauses.start[row].max(started.ps()));
                    cut += u32::from(both < whole);
                    both
                })
                .sum()
            };
            let way = &run.fabric.flows[run.flow(message)].paths[0];
            let longest = way.iter().map(of_port).max().unwrap_or(0);
            assert_eq!(run.paused(&link, until).ps(), longest, "message {message:?}");
        }
        assert!(cut > 0);
    });
}

/// Tables that are not kept change nothing but what is said of pauses.
#[test]
fn operations_are_reported_without_tables() {
    let json = |keys: &[&str]| of(&outcome(FABRIC, keys), |run| run.json());
    let (with, without) = (json(&[]), json(&["record.tables=false"]));
    assert_eq!(with["completion_s"], without["completion_s"]);
    assert_eq!(with["slowest"]["parts"], without["slowest"]["parts"]);
}
