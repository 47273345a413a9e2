//! What a run takes of memory, counted at the allocator: tests take turns.

use peak_alloc::PeakAlloc;
use qcnlab_lab::{Control, Estimate, MemoryShortage, Options, Part, RunError, TABLES, run};
use qcnlab_scenario::Scenario;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;
static ALONE: Mutex<()> = Mutex::new(());

const ONCE: Options = Options { seed: None, replications: Some(1), jobs: Some(1), flow_level: false };

/// Keeps the other tests out until it is dropped.
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `work` returns, and the most octets it held at a time beyond those held before.
fn taken_by<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let done = work();
    (done, ALLOCATOR.peak_usage().saturating_sub(before))
}

/// `hosts` hosts around a switch that all send to each other, with extra keys for the traffic.
fn mesh(hosts: u32, traffic: &str) -> Scenario {
    Scenario::parse(&mesh_text(hosts, traffic), "mesh").unwrap()
}

fn mesh_text(hosts: u32, traffic: &str) -> String {
    format!(
        r#"
        title = "mesh"
        duration = "1 ms"
        [topology]
        kind = "switch"
        hosts = {hosts}
        rate = "10 Gb/s"
        delay = "1 us"
        [[switch]]
        output_buffer = "150 KB"
        [[traffic]]
        from = "host*"
        to = "host*"
        frame = "1500 B"
        {traffic}
        [scheme]
        name = "none"
        [record]
        tables = false
        "#
    )
}

/// DCQCN for [`messages`].
const DCQCN: &str = "[scheme]\nname = \"dcqcn\"\npreset = \"HPCC_SIMULATOR\"\n";

/// Messages over RoCE with PFC for a millisecond, in a network with shared buffers; `tables` are those of the scheme and others.
fn messages(topology: &str, load: &str, size: &str, tables: &str) -> Scenario {
    let text = format!(
        r#"
        title = "messages"
        duration = "1 ms"
        [topology]
        {topology}
        rate = "100 Gb/s"
        delay = "1 us"
        [[shared_buffer]]
        kind = "hpcc_simulator"
        size = "32 MiB"
        [[pause]]
        kind = "priority"
        priorities = "3"
        rule = "dynamic"
        [[traffic]]
        arrivals = "flows"
        transport = "roce"
        from = "host*"
        to = "host*"
        sizes = "{size}"
        load = {load}
        frame = "1048 B"
        headers = "48 B"
        ack_frame = "60 B"
        cn_tag = false
        priority = 3
        {tables}
        [record]
        tables = false
        throughput_bin = "1 ms"
        "#
    );
    Scenario::parse(&text, "messages").unwrap()
}

/// Eight flows of 30 GB, all begun: 20 million frames each, of which a host holds those that its link is ready for.
fn listed() -> Scenario {
    let rows: String = (1..=8).map(|host| format!("host{host},host{},30 GB,0 us\n", host % 8 + 1)).collect();
    let pairs = "from = \"host*\"\n        to = \"host*\"\n        ";
    let list = format!("arrivals = \"list\"\nflows = \"\"\"\nfrom,to,size,start\n{rows}\"\"\"");
    Scenario::parse(&mesh_text(8, &list).replace(pairs, ""), "list").unwrap()
}

fn shipped(name: &str, overrides: &[&str]) -> Scenario {
    Scenario::shipped(name).unwrap().with_overrides(overrides).unwrap()
}

/// Most octets above those at the start, while one replication runs and tables are made of it.
fn peak(scenario: Scenario) -> f64 {
    // The threads of the run before let go of what is theirs a little after it.
    sleep(Duration::from_millis(100));
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let outcomes = run(&[scenario], &ONCE, &Control::default()).unwrap();
    let tables: Vec<_> = TABLES.iter().map(|table| outcomes[0].table(table)).collect();
    drop(tables);
    (ALLOCATOR.peak_usage() - before) as f64
}

#[test]
fn it_is_flat_in_simulated_time() {
    let _alone = alone();
    let w1 = |duration: &str| peak(shipped("w1-10-senders-cbr", &[duration]));
    w1("duration=100 ms");
    let (one, four) = (w1("duration=1 s"), w1("duration=4 s"));
    assert!((one - four).abs() < 4096.0, "W1 takes {one} octets in 1 s, {four} in 4 s");
    assert!(one < 1e6, "{one}");
}

/// From 0.8 to 2.5 times what is taken.
#[test]
fn the_estimate_is_near() {
    let _alone = alone();
    let constant = "arrivals = \"constant\"\nrate = \"10 kb/s\"";
    let dense = ["record.tables=true", "record.queue_every=1 us", "duration=200 ms"];
    let every_queue = ["duration=2 ms", "record.tables=true", "record.queues=*", "record.queue_every=10 us"];
    let many = |name: &str, sources: &str| shipped(name, &["duration=1 ms", sources, "traffic.rate=1 Mb/s"]);
    let cases = [
        ("a star", shipped("w1-10-senders-cbr", &["duration=10 ms"])),
        ("a wide star", many("w1-10-senders-cbr", "topology.sources=5000")),
        ("a fat-tree", shipped("w4-fat-tree-k8-cbr", &["duration=1 ms"])),
        ("a fat-tree's queues", shipped("w4-fat-tree-k8-cbr", &every_queue)),
        ("many flows", mesh(100, constant)),
        ("many connections", mesh(60, "arrivals = \"saturated\"\ntransport = \"tcp\"")),
        ("dense tables", shipped("w1-10-senders-cbr", &dense)),
        ("tables of a hotspot", shipped("og-hotspot-2src-10g-to-500m-rtt10us", &[])),
        ("ECM's messages", shipped("og-hotspot-2src-10g-to-500m-rtt10us", &["scheme.name=ecm"])),
        ("flows of 30 GB", mesh(40, "arrivals = \"saturated\"\nsize = \"30 GB\"")),
        ("a list of flows of 30 GB", listed()),
        ("pauses", shipped("w5-10-senders-cbr-qcn-pfc", &["duration=10 ms"])),
    ];
    for (what, scenario) in cases {
        let estimate = Estimate::of(std::slice::from_ref(&scenario), &ONCE).total() as f64;
        let taken = peak(scenario);
        let factor = estimate / taken;
        assert!((0.8..2.5).contains(&factor), "{what}: {estimate} estimated, {taken} taken, {factor:.2}");
    }
}

/// Within a fifth for messages over fabrics that pause: few of them in a large one, many in a small one.
#[test]
fn the_estimate_foresees_fabrics_of_roce_with_dcqcn_and_pfc() {
    let _alone = alone();
    let fat_tree = |k| format!("kind = \"fat_tree\"\nk = {k}");
    let leaf_spine = "kind = \"leaf_spine\"\nleaves = 4\nspines = 2\nhosts = 16".to_owned();
    let cases = [
        (fat_tree(8), "0.001", "64 KB"),
        (fat_tree(8), "0.02", "64 KB"),
        (fat_tree(16), "0.02", "64 KB"),
        (leaf_spine, "0.1", "2 KB"),
    ];
    for (topology, load, size) in cases {
        let scenario = messages(&topology, load, size, DCQCN);
        let estimate = Estimate::of(std::slice::from_ref(&scenario), &ONCE).total() as f64;
        let taken = peak(scenario);
        let factor = estimate / taken;
        assert!((0.8..1.2).contains(&factor), "{topology}: {estimate} estimated, {taken} taken, {factor:.2}");
    }
}

/// Messages whose limiters stay to the end: those of a reaction point that probes, and those that share limiters.
#[test]
fn the_estimate_foresees_messages_whose_limiters_stay() {
    let _alone = alone();
    let leaf_spine = "kind = \"leaf_spine\"\nleaves = 4\nspines = 2\nhosts = 16";
    let sharing = "[[adapter]]\nmax_rps = 8\n[scheme]\nname = \"qcn\"\n";
    for tables in ["[scheme]\nname = \"e2cm\"\n", sharing] {
        let scenario = messages(leaf_spine, "0.1", "2 KB", tables);
        let estimate = Estimate::of(std::slice::from_ref(&scenario), &ONCE).total() as f64;
        let taken = peak(scenario);
        let factor = estimate / taken;
        assert!((0.8..2.5).contains(&factor), "{tables}: {estimate} estimated, {taken} taken, {factor:.2}");
    }
}

/// Runs at a time count for what they are made of, replications for what stays of them.
#[test]
fn jobs_and_replications_count() {
    let _alone = alone();
    let flows = |replications, jobs| {
        let options = Options { replications: Some(replications), jobs: Some(jobs), ..ONCE };
        Estimate::of(&[shipped("w4-fat-tree-k8-cbr", &["record.tables=true"])], &options)
    };
    let one = flows(1, 1);
    assert_eq!(flows(1, 8), one, "one run is one at a time");
    assert_eq!(flows(8, 4).part(Part::Network), 4 * one.part(Part::Network));
    assert_eq!(flows(8, 4).part(Part::Queues), 8 * one.part(Part::Queues));
}

/// 100,001 samples in each of a million replications, 70 octets each: 7 TB and some for the rest.
#[test]
fn what_does_not_fit_is_refused_before_it_begins() {
    let _alone = alone();
    let scenario = shipped("w1-10-senders-cbr", &["record.tables=true", "record.queue_every=10 us"]);
    let options = Options { replications: Some(1_000_000), ..ONCE };
    let (refused, taken) = taken_by(|| run(&[scenario], &options, &Control::default()).unwrap_err());
    assert!(taken < 1_000_000, "{taken} octets before it is refused: the list of a million tasks alone takes more");
    let RunError::Memory(MemoryShortage { estimate, available, .. }) = &refused else { panic!("{refused}") };
    assert!(estimate.total() > *available);
    let text = refused.to_string();
    assert!(text.starts_with("not enough memory: about 9.8 TB are needed and "), "{text}");
    let end = "7.0 TB of it for samples of queues: set record.queue_every higher, or record.tables = false";
    assert!(text.ends_with(end), "{text}");
}

/// Numbers no machine has are refused where they are read.
#[test]
fn absurd_sizes_are_refused_at_once() {
    let _alone = alone();
    let ((), taken) = taken_by(refuse_absurd_sizes);
    assert!(taken < 1_000_000, "{taken} octets: a million switches or sources take more");
}

fn refuse_absurd_sizes() {
    for key in ["topology.sources=1000000000000", "topology.sources=18446744073709551616"] {
        assert!(Scenario::shipped("w1-10-senders-cbr").unwrap().with_overrides(&[key]).is_err());
    }
    assert!(Scenario::shipped("w4-fat-tree-k8-cbr").unwrap().with_overrides(&["topology.k=1000000"]).is_err());
    let w1 = Scenario::shipped("w1-10-senders-cbr").unwrap();
    assert!(w1.with_overrides(&["record.tables=true", "record.queue_every=1 ps"]).is_err());
}
