//! Causes by hand, and that they are the whole time whatever happens.

use super::super::tests::{A, D, FABRIC, STAR, T, of, outcome};
use super::*;
use crate::{Control, Options, Outcome, all_tasks, work_ps};
use qcnlab_scenario::Scenario;
use serde_json::Value;
use std::sync::atomic::Ordering;

/// Two ranks around a switch: 80 packets there and, when the other has computed for 5 us, 80 back. Acknowledgements have left
/// by then.
const PAIR: [&str; 4] =
    ["record.waits=true", "traffic.0.operation=pipeline", "traffic.0.ranks=host1, host2", "traffic.0.compute=5 us"];

/// The causes of the messages of the chain, one after the other.
fn causes_of(outcome: &Outcome) -> Vec<Causes> {
    let known = outcome.replications[0].causes.as_ref().expect("the scenario asks");
    of(outcome, |run| {
        let chain = run.chain().expect("it ends");
        chain.iter().map(|link| known.get(&run.flow(link.message)).expect("a known course").clone()).collect()
    })
}

/// Serialisation, propagation, queueing, pauses, rate limits and retransmission, ps.
fn ps(causes: &Causes) -> [u64; 6] {
    causes.all().map(|(_, span)| span.ps())
}

fn with(text: &str, table: &str) -> String {
    text.replace("[scheme]", &format!("{table}\n[scheme]"))
}

fn run(text: &str, keys: &[&str]) -> Outcome {
    outcome(text, &[&PAIR[..], keys].concat())
}

/// Alone a message takes its packets on the host's link, the last one on the next, and two delays.
#[test]
fn alone_nothing_is_waited_for() {
    let outcome = run(STAR, &[]);
    for causes in causes_of(&outcome) {
        assert_eq!(ps(&causes), [81 * T, D, 0, 0, 0, 0]);
    }
    // In a ring each message but the first waits until the answer to the one before has left: 4.8 ns of the host's link.
    let ring = outcome_of_ring();
    let all = causes_of(&ring);
    assert_eq!(ps(&all[0]), [11 * T, D, 0, 0, 0, 0]);
    all[1..].iter().for_each(|causes| assert_eq!(ps(causes), [11 * T, D, A, 0, 0, 0]));
    let value = of(&ring, |run| run.json());
    let told = &value["slowest"]["causes"];
    assert_eq!(told["queueing_s"], 13.0 * A as f64 / 1e12);
    let host = told["ports"][0]["port"].as_str().expect("a name");
    assert!(host.starts_with("host") && host.ends_with("->switch"), "{host}");
}

fn outcome_of_ring() -> Outcome {
    outcome(STAR, &["record.waits=true"])
}

/// Ten packets of another host are at the switch half a packet before the first of 80: of the port into the second rank this
/// waits for half of one, and its followers for nine more. The port is where that was.
#[test]
fn frames_of_others_are_queueing() {
    let other = "[[traffic]]\narrivals = \"list\"\ntransport = \"roce\"\nframe = \"1048 B\"\nheaders = \"48 B\"\nack_frame = \"60 B\"\n\
                 ack_every = 1000\ncn_tag = false\nflows = \"from,to,size,start\\nhost3,host2,10 KB,0 s\\n\"";
    let outcome = run(&with(STAR, other), &["traffic.0.start=41.92 ns"]);
    let all = causes_of(&outcome);
    assert_eq!(ps(&all[0]), [81 * T, D, 9 * T + T / 2, 0, 0, 0]);
    assert_eq!(ps(&all[1]), [81 * T, D, 0, 0, 0, 0]);
    let value = of(&outcome, |run| run.json());
    let first = &value["slowest"]["causes"]["ports"][0];
    assert_eq!(
        (&first["port"], first["queueing_s"].as_f64()),
        (&"switch->host2".into(), Some((9 * T + T / 2) as f64 / 1e12))
    );
    assert_eq!(first["serialisation_s"], 80.0 * T as f64 / 1e12);
}

/// The switch's port into the second rank is paused before the first packet comes, and until the storm is over: then all
/// packets leave it one after the other.
#[test]
fn a_paused_port_is_a_pause() {
    let storm = "[pause]\nkind = \"priority\"\n[[switch]]\ninput_memory = \"4 MB\"\n\
                 [[pause_storm]]\nhost = \"host2\"\nfrom = \"0 s\"\nuntil = \"30 us\"";
    let outcome = run(&with(STAR, storm), &["traffic.start=5 us"]);
    let rows = &outcome.replications[0].done.trace.pauses;
    let came = 5_000_000 + T + D / 2;
    let resumed = (0..rows.end.len()).filter(|row| rows.start[*row] < came).map(|row| rows.end[row]).max();
    let resumed = resumed.expect("a pause");
    assert!(resumed > 30_000_000, "{resumed}");
    let all = causes_of(&outcome);
    assert_eq!(ps(&all[0]), [81 * T, D, 0, resumed - came, 0, 0]);
    let value = of(&outcome, |run| run.json());
    assert_eq!(value["slowest"]["chain"][0]["causes"]["ports"][0]["port"], "switch->host2");
}

/// With a packet in flight at most, each of ten waits for the answer to the one before: a packet and an answer on two links
/// each, and four delays, less the packet on the host's link.
#[test]
fn a_window_that_is_full_limits_the_rate() {
    let outcome = run(STAR, &["traffic.size=10 KB", "traffic.window_limit=1 KB", "traffic.ack_every=1"]);
    for causes in causes_of(&outcome) {
        assert_eq!(ps(&causes), [11 * T, D, 0, 0, 9 * (T + 2 * A + 2 * D), 0]);
    }
}

/// A link loses what is on it, the last 13 packets, and nothing has been acknowledged when the timer expires, 320 us after the
/// first packet. They go again from the first on. The receiver answers that one at once, for it has it: 4.177 us later, two packets
/// and two answers on links and four delays, the sender has sent 50 packets again and goes on with the 13 that are missing.
#[test]
fn what_is_lost_is_retransmission() {
    let cut = "[[failure]]\nlink = \"switch->host2\"\nfrom = \"7.75 us\"\nuntil = \"7.76 us\"";
    for recovery in ["go_back_n", "selective_repeat"] {
        let recovery = format!("traffic.recovery={recovery}");
        let keys = [&*recovery, "traffic.ack_delay=1 ms", "traffic.rto=320 us", "record.waits=true"];
        let outcome = run(&with(STAR, cut), &keys);
        let all = causes_of(&outcome);
        assert_eq!(ps(&all[0]), [81 * T, D, 0, 0, 0, 320_000_000 - 80 * T + 63 * T], "{recovery}");
        assert_eq!(ps(&all[1]), [81 * T, D, 0, 0, 0, 0], "{recovery}");
    }
}

/// A slow link is serialisation there, at its own rate: 80 packets of 838.4 ns.
#[test]
fn a_slow_link_is_serialisation_at_its_port() {
    let slow = "[[hotspot]]\nport = \"switch->host2\"\nfrom = \"0 s\"\nuntil = \"20 ms\"\nrate = \"10 Gb/s\"";
    let outcome = run(&with(STAR, slow), &[]);
    assert_eq!(ps(&causes_of(&outcome)[0]), [T + 800 * T, D, 0, 0, 0, 0]);
    let value = of(&outcome, |run| run.json());
    let first = &value["slowest"]["causes"]["ports"][0];
    assert_eq!(
        (&first["port"], first["serialisation_s"].as_f64()),
        (&"switch->host2".into(), Some(800.0 * T as f64 / 1e12))
    );
}

/// Pauses of one class and of all overlap, and count once; those of other classes and ports do not.
#[test]
fn overlapping_pauses_count_once() {
    let rows = PauseRows {
        start: vec![10, 15, 0, 40, 22, 0],
        end: vec![20, 25, 12, 60, 24, 100],
        port: vec![1, 1, 1, 1, 1, 2],
        class: vec![Some(3), None, Some(4), Some(3), Some(3), None],
        because: vec![0; 6],
    };
    let pauses = Pauses::of(&rows);
    let within =
        |class, from, until| pauses.within(PortId::new(1), class, Instant::from_ps(from), Instant::from_ps(until)).ps();
    assert_eq!([within(3, 0, 100), within(4, 0, 100), within(5, 0, 100)], [15 + 20, 12 + 10, 10]);
    assert_eq!([within(3, 12, 50), within(3, 26, 40), within(3, 50, 50), within(3, 60, 50)], [13 + 10, 0, 0, 0]);
}

/// A run that is repeated is twice the work, and says so before it begins.
#[test]
fn a_run_that_is_repeated_is_twice_the_work() {
    let done = |keys: &[&str]| {
        let scenario =
            Scenario::parse(STAR, "operation.toml").and_then(|scenario| scenario.with_overrides(keys)).unwrap();
        let (scenarios, options) = ([scenario], Options { replications: Some(2), ..Options::default() });
        let (control, tasks) = (Control::default(), all_tasks(&scenarios, &options));
        crate::run(&scenarios, &options, &control).unwrap();
        let flows = control.flows.load(Ordering::Relaxed);
        assert_eq!(control.done_flows.load(Ordering::Relaxed), flows);
        (control.done_ps.load(Ordering::Relaxed), work_ps(&scenarios, &tasks), flows)
    };
    assert_eq!(done(&[]), (2 * 20_000_000_000, 2 * 20_000_000_000, 2 * 112));
    assert_eq!(done(&["record.waits=true"]), (4 * 20_000_000_000, 4 * 20_000_000_000, 4 * 112));
}

/// Whatever happens, causes are the whole time, message by message and for the whole operation, and nothing else changes.
#[test]
fn causes_are_the_whole() {
    let cases: &[&[&str]] = &[
        &[],
        &["traffic.channels=3", "traffic.chunks=2"],
        &["traffic.algorithm=halving_doubling", "traffic.rounds=2", "traffic.compute=3 us"],
        &["traffic.operation=all_to_all"],
        &["traffic.operation=all_to_all", "scheme.name=none", "switch.input_memory=200 KB", "traffic.rounds=3"],
        &["traffic.operation=all_to_all", "traffic.algorithm=shift", "traffic.start_jitter=5 us"],
        &["traffic.operation=moe", "traffic.skew=1.2", "traffic.compute=2 us", "traffic.overhead=1 us"],
        &["traffic.operation=broadcast", "traffic.stagger=1 us", "traffic.start=3 us"],
        &["routing.multipath=frame", "traffic.recovery=selective_repeat"],
        &["scheme.name=hpcc", "traffic.operation=all_to_all"],
        &["clock_tolerance_ppm=100"],
        &["topology.trunk_rate=25 Gb/s", "topology.spines=1"],
        &["topology.trunk_rate=25 Gb/s", "topology.spines=1", "scheme.name=none", "switch.input_memory=200 KB"],
        &["traffic.window_limit=20 KB", "traffic.channels=2"],
    ];
    let slow =
        with(FABRIC, "[[hotspot]]\nport = \"spine1->leaf2\"\nfrom = \"10 us\"\nuntil = \"90 us\"\nrate = \"10 Gb/s\"");
    let cut = with(FABRIC, "[[failure]]\nlink = \"leaf1->spine1\"\nfrom = \"30 us\"\nuntil = \"60 us\"");
    let mut seen = [0; 6];
    for (text, keys) in cases.iter().map(|keys| (FABRIC, *keys)).chain([(&*slow, &[][..]), (&*cut, &[][..])]) {
        let outcome = outcome(text, &[keys, &["record.waits=true"]].concat());
        let known = outcome.replications[0].causes.as_ref().expect("the scenario asks");
        of(&outcome, |run| {
            for link in run.chain().expect("it ends") {
                let causes = known
                    .get(&run.flow(link.message))
                    .unwrap_or_else(|| panic!("{keys:?}: {}", run.name(link.message)));
                let took = run.fate(link.message).received.since(link.started);
                let sum = causes.all().iter().fold(Span::ZERO, |sum, (_, span)| sum + *span);
                assert_eq!(sum, took, "{keys:?}: {}", run.name(link.message));
                let at_ports = causes.ports.values().fold(Span::ZERO, |sum, at| sum + at.waiting());
                assert_eq!(at_ports, causes.queueing + causes.pauses, "{keys:?}");
                seen.iter_mut().zip(ps(causes)).for_each(|(seen, ps)| *seen += u32::from(ps > 0));
            }
            let told = &run.json()["slowest"]["causes"];
            let parts = told.as_object().expect("they are told").iter().filter(|(name, _)| *name != "ports");
            let sum: f64 = parts.map(|(_, value)| (value.as_f64().expect("a time") * 1e12).round()).sum();
            assert_eq!(sum as u64, run.ended().unwrap().since(run.began().unwrap()).ps(), "{keys:?}");
        });
        let plain = super::super::tests::outcome(text, keys);
        assert!(plain.replications[0].causes.is_none());
        assert_eq!(plain.replications[0].done, outcome.replications[0].done, "{keys:?}");
        let told = of(&plain, |run| run.json());
        assert_eq!(told["slowest"].get("causes"), None::<&Value>);
    }
    assert!(seen.iter().all(|seen| *seen > 0), "{seen:?}");
}
