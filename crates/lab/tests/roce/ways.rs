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

/// A slow spine of four. Switches compare octets and not the time that they take: while 400 Gb/s come and 325 leave, all four
/// queues grow alike, to a quarter of 75 Gb/s in the 0.33 ms that 16.8 MB take at 400 Gb/s, 0.77 MB. Those need 0.25 ms at the
/// slow spine, so that the last packet is there after 0.58 ms and the delays. Random spraying takes 1.28 ms and more.
#[test]
fn switches_that_compare_queues_send_less_over_a_slow_spine() {
    let text = SLOW_SPINE.replace("name = \"dcqcn\"\npreset = \"HPCC_SIMULATOR\"", "name = \"none\"");
    let text = text.replace(
        "recovery = \"selective_repeat\"\n",
        "recovery = \"selective_repeat\"\nreordering_window = \"200 us\"\nrto = \"5 ms\"\n",
    );
    let [sprayed, drill, adaptive] =
        ["frame", "drill", "adaptive"].map(|multipath| completion(&with(&text, multipath)));
    println!("sprayed {sprayed:.2?}, DRILL {drill:.2?}, adaptive {adaptive:.2?} ms, mean and largest");
    assert!(sprayed.1 > 1.28);
    for completion in [drill, adaptive] {
        assert!((0.58..0.61).contains(&completion.1), "{completion:?}");
    }
}

/// The leaf knows that its link to a spine is down, and sends everything over the three others. What is lost is what waited
/// at the link and was on it, and nothing after that: far less than the quarter that spraying loses until routes converge.
#[test]
fn a_switch_leaves_its_own_link_that_fails() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/roce/link-failure-leaf-spine-100g.toml");
    let text = std::fs::read_to_string(path).expect("the scenario is shipped");
    let text = text.replace("converges_after = \"500 us\"\n", "");
    let lost = |text: &str, multipath| with(text, multipath).done.counters.link_drops;
    let [sprayed, drill, adaptive] = ["frame", "drill", "adaptive"].map(|multipath| lost(&text, multipath));
    println!("lost: {sprayed} sprayed, {drill} by DRILL, {adaptive} by the shortest queue");
    assert!(drill * 50 < sprayed && adaptive * 50 < sprayed && adaptive > 0);
    // The far leaf's link fails: the near leaf knows nothing of it, and the spine has no other.
    let far = text.replace("link = \"leaf1->spine1\"", "link = \"spine1->leaf2\"");
    let [near_knows, far_does_not] = [&text, &far].map(|text| lost(text, "adaptive"));
    assert!(far_does_not > 20 * near_knows, "{near_knows} {far_does_not}");
}

/// WebSearch's messages in a fat-tree under DCTCP, by the word of `multipath`: their mean completion, ms. No timer runs out.
fn web_search(multipath: &str) -> f64 {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/roce/fat-tree-web-search-50-percent-100g.toml");
    let text = std::fs::read_to_string(path).expect("the scenario is shipped");
    let text = text
        .replace("[pause]", "[routing]\nmultipath = \"flow\"\n[pause]")
        .replace("ack_frame", "recovery = \"selective_repeat\"\nreordering_window = \"100 us\"\nack_frame")
        .replace("name = \"dcqcn\"", "name = \"dctcp\"");
    let run = with(&text, multipath);
    let pairs = run.done.flows.iter().filter_map(|flow| flow.roce);
    assert_eq!(pairs.map(|pair| pair.timeouts).sum::<u64>(), 0, "{multipath}");
    completion(&run).0
}

/// A way has two choices, at the edge and at the aggregation, of two links each. Messages complete sooner than by ECMP.
#[test]
fn frames_that_take_the_shorter_queue_do_not_collide() {
    let [hashed, adaptive] = ["flow", "adaptive"].map(web_search);
    println!("mean completion, ms: {hashed:.4} ECMP, {adaptive:.4} adaptive");
    assert!(adaptive < 0.9 * hashed);
}

/// They complete as soon as by random spraying, since nothing is uneven. DRILL's two samples are all that there is.
#[test]
#[ignore = "long: make test-all runs it"]
fn where_nothing_is_uneven_sprayed_frames_are_as_quick() {
    let [sprayed, drill, adaptive] = ["frame", "drill", "adaptive"].map(web_search);
    println!("mean completion, ms: {sprayed:.4} sprayed, {drill:.4} DRILL, {adaptive:.4} adaptive");
    assert!(adaptive < 1.02 * sprayed);
    assert!((drill - adaptive).abs() < 1e-12);
}

/// One sample and no memory is random spraying, switch by switch; two samples, or one and a memory, find shorter queues.
#[test]
fn samples_and_memory_do_what_they_say() {
    let text = SLOW_SPINE.replace("name = \"dcqcn\"\npreset = \"HPCC_SIMULATOR\"", "name = \"none\"");
    let text = text.replace(
        "recovery = \"selective_repeat\"\n",
        "recovery = \"selective_repeat\"\nreordering_window = \"200 us\"\nrto = \"5 ms\"\n",
    );
    let largest = |samples: u32, memory: u32| {
        let keys = format!("multipath = \"drill\"\ndrill_samples = {samples}\ndrill_memory = {memory}");
        completion(&done(&text.replace("multipath = \"flow\"", &keys))).1
    };
    let [random, two, remembered, all] = [(1, 0), (2, 0), (1, 1), (4, 0)].map(|(d, m)| largest(d, m));
    println!("largest, ms: {random:.3} one sample, {two:.3} two, {remembered:.3} one and one remembered, {all:.3} all");
    assert!(random > 1.28 && two < 0.7 * random && remembered < 0.7 * random && all <= two);
}
