//! RoCE over a star, beside what the field's simulator gives (docs/reference/roce.md): the queue at the sink's port, and
//! completion times.
//!
//! Packets that arrive at one instant are in the order of ports, as they are there in the order of nodes.
//! Its time is whole nanoseconds: 1048 octets take 83 ns at 100 Gb/s instead of 83.84. Links are that much faster here.

mod collectives;
mod fairness;
mod standing_queue;
mod switches;
mod ways;

use qcnlab_lab::{Control, Options, Replication, run};
use qcnlab_scenario::Scenario;
use qcnlab_units::Instant;

/// What the star has; long flows without an end, unless `traffic` says otherwise.
fn star(sources: u32, octets: u32, ack: u32, duration: &str, scheme: &str, traffic: &str) -> String {
    // 8 bits * octets in whole nanoseconds at 100 Gb/s.
    let ns = octets * 8 / 100;
    let mbps = f64::from(octets) * 8.0 / f64::from(ns) * 1000.0;
    let headers = octets - 1000 - added(scheme);
    let frame = 1000 + headers;
    format!(
        r#"
        duration = "{duration}"
        warmup = "1 ms"
        ties = "port_order"
        [topology]
        kind = "star"
        sources = {sources}
        rate = "{mbps:.3} Mb/s"
        rtt = "2 us"
        sink_delay = "1 us"
        buffer = "32 MiB"
        [[traffic]]
        arrivals = "saturated"
        transport = "roce"
        frame = "{frame} B"
        headers = "{headers} B"
        ack_frame = "{ack} B"
        cn_tag = false
        {traffic}
        [scheme]
        {scheme}
        preset = "HPCC_SIMULATOR"
        [record]
        queue_every = "2 us"
        "#
    )
}

/// Octets that a scheme adds to packets.
fn added(scheme: &str) -> u32 {
    match scheme {
        s if s.contains("hpcc") => 42,
        s if s.contains("timely") => 8,
        _ => 0,
    }
}

fn done(text: &str) -> Replication {
    let scenario = Scenario::parse(text, "star.toml").unwrap_or_else(|error| panic!("{error}"));
    let options = Options { replications: Some(1), jobs: Some(1), ..Options::default() };
    let outcomes = run(&[scenario], &options, &Control::default()).expect("it runs");
    outcomes.into_iter().next().and_then(|outcome| outcome.replications.into_iter().next()).expect("one replication")
}

/// Mean, standard deviation and peak of the queue from `from_ms` on, in KB.
fn queue(run: &Replication, from_ms: u64) -> (f64, f64, f64) {
    let rows = &run.done.trace.queues;
    let from = from_ms * 1_000_000_000;
    let samples: Vec<f64> = rows
        .time
        .iter()
        .zip(&rows.bytes)
        .filter(|(time, _)| **time >= from)
        .map(|(_, bytes)| *bytes as f64 / 1e3)
        .collect();
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    let variance = samples.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / samples.len() as f64;
    (mean, variance.sqrt(), samples.iter().copied().fold(0.0, f64::max))
}

/// Mean and largest completion time, ms.
fn completion(run: &Replication) -> (f64, f64) {
    let times: Vec<f64> = run
        .done
        .flows
        .iter()
        .map(|flow| {
            assert!(flow.finished != Instant::NEVER, "a flow did not end");
            flow.finished.since(flow.started).seconds() * 1e3
        })
        .collect();
    (times.iter().sum::<f64>() / times.len() as f64, times.iter().copied().fold(0.0, f64::max))
}

/// What a scheme's frames and the field's simulator have: octets of a packet, the queue's mean and deviation in KB, its
/// peak with 15 MB from each, and the mean and largest completion times, ms.
struct Reference {
    scheme: &'static str,
    octets: u32,
    queue: (f64, f64),
    peak: f64,
    completion: (f64, f64),
}

const STAR_16: [Reference; 4] = [
    Reference { scheme: "dcqcn", octets: 1048, queue: (336.0, 296.0), peak: 5857.0, completion: (20.9, 22.9) },
    Reference { scheme: "hpcc", octets: 1090, queue: (1.7, 1.4), peak: 855.0, completion: (20.3, 22.1) },
    Reference { scheme: "timely", octets: 1056, queue: (491.0, 434.0), peak: 15_380.0, completion: (22.5, 22.7) },
    Reference { scheme: "dctcp", octets: 1048, queue: (298.0, 2.3), peak: 820.0, completion: (18.9, 19.9) },
];

/// Whether `ours` is within `part` of `theirs`, or within a packet.
fn near(name: &str, what: &str, ours: f64, theirs: f64, part: f64) {
    let off = (ours - theirs).abs();
    assert!(off <= (theirs * part).max(1.1), "{name}: {what} {ours:.2} where the field's simulator has {theirs}");
}

/// DCTCP as published marks frames at their arrival. At 100 Gb/s its K is ten times 97.5 KB, and the queue of sixteen
/// flows stays within K and a window's growth, a packet of each: 975 + 17 KB. Without marks it grows for ever.
#[test]
fn dctcp_as_published_keeps_the_queue_at_its_threshold() {
    let text = star(16, 1048, 60, "20 ms", "name = \"dctcp\"", "").replace("HPCC_SIMULATOR", "SIGCOMM2010");
    let (mean, _, peak) = queue(&done(&text), 10);
    assert!((780.0..992.0).contains(&mean) && peak < 1072.0, "mean {mean:.0} KB, peak {peak:.0} KB");
}

/// Our queue counts the packet that is being sent, theirs does not.
#[test]
#[ignore = "long: make test-all runs it"]
fn long_flows_have_the_queue_of_the_fields_simulator() {
    for Reference { scheme, octets, queue: expected, .. } in STAR_16 {
        let run = done(&star(16, octets, 60, "200 ms", &format!("name = \"{scheme}\""), ""));
        let (mean, deviation, _) = queue(&run, 50);
        println!(
            "{scheme}: queue {mean:.2} {deviation:.2} KB, {} hops in {:.2} s",
            run.done.counters.frame_hops, run.cpu_s
        );
        near(scheme, "mean queue", mean - 1.05, expected.0, 0.03);
        near(scheme, "deviation of the queue", deviation, expected.1, 0.03);
    }
}

/// The peak of DCQCN depends on which packets are marked first: theirs, of one run, lies among ours of six seeds. For the
/// completion times the mean of the six counts.
#[test]
fn messages_complete_as_in_the_fields_simulator() {
    for Reference { scheme, octets, peak, completion: (mean, largest), .. } in STAR_16 {
        let seeds = if scheme == "dcqcn" { 6 } else { 1 };
        let text = star(16, octets, 60, "60 ms", &format!("name = \"{scheme}\""), "size = \"15 MB\"");
        let (mut peaks, mut means, mut largests) = (Vec::new(), 0.0, 0.0);
        for seed in 1..=seeds {
            let run = done(&format!("seed = {seed}\n{text}"));
            let (mean, largest) = completion(&run);
            peaks.push(queue(&run, 0).2);
            (means, largests) = (means + mean, largests + largest);
        }
        let [ours_mean, ours_largest] = [means, largests].map(|sum| sum / f64::from(seeds));
        println!("{scheme}: completion {ours_mean:.2} {ours_largest:.2} ms, peaks {peaks:.0?} KB");
        let within = |ours: f64, theirs: f64| (ours / theirs - 1.0).abs() < 0.03;
        assert!(within(ours_mean, mean), "{scheme}: mean completion {ours_mean} where {mean} is theirs");
        assert!(within(ours_largest, largest), "{scheme}: last completion {ours_largest} where {largest} is theirs");
        match peaks[..] {
            [ours] => near(scheme, "peak", ours, peak, 0.05),
            _ => {
                let (low, high) = peaks.iter().fold((f64::MAX, 0.0f64), |(low, high), x| (low.min(*x), high.max(*x)));
                assert!(
                    low <= peak && peak <= high,
                    "{scheme}: peaks of {low:.0} to {high:.0} KB where {peak} is theirs"
                );
            }
        }
    }
}

/// A buffer of 1 MB in front of the sink loses packets of every flow before DCQCN has slowed them; both kinds of recovery
/// deliver every octet, and selective repeat repeats fewer packets.
#[test]
fn what_is_lost_is_repaired() {
    let repeated = |recovery: &str| {
        let traffic = format!("size = \"1 MB\"\nrecovery = \"{recovery}\"");
        let run = done(&star(8, 1048, 60, "200 ms", "name = \"dcqcn\"", &traffic).replace("32 MiB", "1 MB"));
        completion(&run);
        assert!(run.done.counters.frames_dropped > 0, "nothing was lost");
        let pairs = run.done.flows.iter().filter_map(|flow| flow.roce);
        pairs.fold(0, |sum, pair| {
            assert_eq!(pair.acknowledged_bytes, 1_000_000);
            sum + pair.retransmitted
        })
    };
    let (all, lost) = (repeated("go_back_n"), repeated("selective_repeat"));
    assert!(lost < all, "{lost} and {all} packets went again");
}

/// Acknowledgements for eight packets each are an eighth of the frames back. Packets of a flow come each 168 ns: eight of
/// them well before the 10 us after which fewer are acknowledged.
#[test]
fn acknowledgements_may_be_coalesced() {
    let acks = |every: u32| {
        let traffic = format!("size = \"1 MB\"\nack_every = {every}");
        let text = star(2, 1048, 60, "10 ms", "name = \"none\"", &traffic);
        let run = done(&text.replace("preset = \"HPCC_SIMULATOR\"", ""));
        completion(&run);
        run.done.counters.acks_sent
    };
    assert_eq!((acks(1), acks(8)), (2000, 250));
}

/// A scheme that hears of acknowledgements is refused over traffic that has none.
#[test]
fn acknowledgements_must_be_there_to_be_heard() {
    let text = star(2, 1090, 60, "2 ms", "name = \"hpcc\"", "").replace("transport = \"roce\"", "");
    let plain: String = text
        .lines()
        .filter(|line| !line.contains("headers") && !line.contains("ack_frame"))
        .map(|line| format!("{line}\n"))
        .collect();
    let said = Scenario::parse(&plain, "star.toml").unwrap_err().to_string();
    assert!(said.contains("scheme 'hpcc' hears of each acknowledgement, which this traffic does not have"), "{said}");
    assert!(said.contains("roce"), "{said}");
}
