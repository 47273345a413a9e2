//! RoCE over a star, beside what the field's simulator gives (docs/reference/roce.md): the queue at the sink's port, and
//! completion times.
//!
//! Its time is whole nanoseconds: 1048 octets take 83 ns at 100 Gb/s instead of 83.84. Links are that much faster here.

use qcnlab_lab::{Control, Options, Replication, Scenario, run};
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
        [topology]
        kind = "star"
        sources = {sources}
        rate = "{mbps:.3} Mb/s"
        rtt = "2 us"
        sink_delay = "1 us"
        buffer = "32 MiB"
        [[traffic]]
        kind = "roce"
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

const SCHEMES: [(&str, u32, u32); 4] =
    [("dcqcn", 1048, 60), ("hpcc", 1090, 60), ("timely", 1056, 60), ("dctcp", 1048, 60)];

#[test]
#[ignore = "a table to look at"]
fn table() {
    for (scheme, octets, ack) in SCHEMES {
        let name = format!("name = \"{scheme}\"");
        let run = done(&star(16, octets, ack, "200 ms", &name, ""));
        let counters = run.done.counters;
        println!("{scheme} long: queue {:.2?} KB; {} hops in {:.2} s", queue(&run, 50), counters.frame_hops, run.cpu_s);
        let run = done(&star(16, octets, ack, "60 ms", &name, "size = \"15 MB\""));
        println!("{scheme} 15 MB: FCT {:.2?} ms, peak {:.0} KB", completion(&run), queue(&run, 0).2);
    }
}

#[test]
#[ignore = "x"]
fn early() {
    for seed in 1..7 {
        let text = star(16, 1048, 60, "60 ms", "name = \"dcqcn\"", "size = \"15 MB\"");
        let run = done(&format!("seed = {seed}\n{text}"));
        println!("FCT {:.2?} ms, peak {:.0} KB", completion(&run), queue(&run, 0).2);
    }
}
