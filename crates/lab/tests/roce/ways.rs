//! Recycled entropies beside random spraying: a link that fails, and a fabric with one slow link.

use super::{completion, done};
use qcnlab_lab::Replication;

fn with(text: &str, multipath: &str) -> Replication {
    done(&text.replace("multipath = \"flow\"", &format!("multipath = \"{multipath}\"")))
}

/// Of four spines one fails for 2 ms, and no route hears of it. Spraying loses a quarter of what is sent in that time, REPS
/// what its rings hold for that way and what it draws of it anew.
#[test]
fn reps_leaves_a_spine_that_fails() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/roce/link-failure-leaf-spine-100g.toml");
    let text = std::fs::read_to_string(path).expect("the scenario is shipped");
    let text = text.replace("converges_after = \"500 us\"\n", "");
    let [sprayed, recycled] = ["frame", "reps"].map(|multipath| {
        let run = with(&text, multipath).done;
        let pairs = run.flows.iter().filter_map(|flow| flow.roce);
        (run.counters.link_drops, pairs.map(|pair| pair.retransmitted).sum::<u64>())
    });
    println!("lost with the link and sent again: {sprayed:?} sprayed, {recycled:?} recycled");
    assert!(recycled.0 * 10 < sprayed.0 && recycled.1 < sprayed.1);
}

/// The same, sprayed, with routes that converge: 4826 packets are lost. A sender that takes what one packet overtakes for lost
/// repeats ten times as many, most of them without need. With a threshold of 100 packets, or a wait of 20 us, it repeats few
/// that were not lost, and none that was is missing in the end.
#[test]
fn what_is_late_is_told_from_what_is_lost() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/roce/link-failure-leaf-spine-100g.toml");
    let text = std::fs::read_to_string(path).expect("the scenario is shipped");
    let counts = |key: &str| {
        let recovery = "recovery = \"selective_repeat\"\n";
        let run = with(&text.replace(recovery, &format!("{recovery}{key}\n")), "frame").done;
        let pairs = || run.flows.iter().filter_map(|flow| flow.roce);
        let sum = |of: fn(qcnlab_sim::RoceTally) -> u64| pairs().map(of).sum::<u64>();
        (run.counters.link_drops, sum(|pair| pair.retransmitted), sum(|pair| pair.spurious))
    };
    let (lost, again, needless) = counts("");
    assert!(again > 10 * lost && needless > 9 * lost, "{lost} {again} {needless}");
    for key in ["reordering_threshold = 100", "reordering_window = \"20 us\""] {
        let (lost, again, needless) = counts(key);
        println!("{key}: {lost} lost, {again} sent again, {needless} without need");
        assert!(needless * 5 < lost && again < lost + needless + lost / 50, "{key}: {lost} {again} {needless}");
    }
}

/// Four messages of 4 MB over four spines, of which one has a quarter of the others' rate.
const SLOW_SPINE: &str = r#"
duration = "20 ms"
drain = true
[topology]
kind = "leaf_spine"
leaves = 2
spines = 4
hosts = 4
rate = "100 Gb/s"
delay = "1 us"
[[hotspot]]
port = "leaf1->spine1"
from = "0 s"
until = "20 ms"
rate = "25 Gb/s"
[routing]
multipath = "flow"
[[traffic]]
arrivals = "saturated"
transport = "roce"
from = "host{1..4}"
to = "host{5..8}"
spread = "paired"
recovery = "selective_repeat"
size = "4 MB"
frame = "1048 B"
headers = "48 B"
ack_frame = "60 B"
cn_tag = false
[scheme]
name = "dcqcn"
preset = "HPCC_SIMULATOR"
"#;

/// Random spraying brings a quarter of the packets to the slow spine, whose rate then holds back all: four times 25 Gb/s,
/// 1.28 ms for the 16 MB. With REPS each way gets as many packets as it acknowledges without a mark; all together have 325
/// Gb/s, 0.39 ms. What both lose to repeats of packets that were overtaken and to the cuts of DCQCN comes on top.
#[test]
fn reps_sends_less_over_a_slow_spine() {
    let without = SLOW_SPINE.replace("name = \"dcqcn\"\npreset = \"HPCC_SIMULATOR\"", "name = \"none\"");
    for (text, part) in [(SLOW_SPINE, 0.7), (&without, 0.5)] {
        let [sprayed, recycled] = ["frame", "reps"].map(|multipath| completion(&with(text, multipath)));
        println!("sprayed {sprayed:.2?}, recycled {recycled:.2?} ms, mean and largest");
        assert!(sprayed.0 > 1.28 && recycled.0 < sprayed.0 * part && recycled.1 < sprayed.1 * part);
    }
}
