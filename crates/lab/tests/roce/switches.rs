//! Switches with the shared buffer of the field's simulator: an incast, a dumbbell, PAUSE alone, and any-to-any traffic.

use super::{completion, done, near, queue};
use qcnlab_lab::Replication;
use qcnlab_sim::FlowTally;

/// 8 bits * 1048 octets in whole nanoseconds at 100 and at 25 Gb/s, Mb/s.
const AT_100: f64 = 8.0 * 1048.0 / 83.0 * 1000.0;
const AT_25: f64 = 8.0 * 1048.0 / 335.0 * 1000.0;

/// Flows of 10 ms of one switch with 16 hosts, FB_Hadoop at half of their links, and how long each took in the
/// field's simulator until its last octet was received, ns.
const HADOOP: &str = include_str!("one-switch-16-hosts-hadoop50.csv");

fn scenario(duration: &str, warmup: &str, topology: &str, traffic: &str, scheme: &str, record: &str) -> String {
    let preset = if scheme == "none" { "" } else { "preset = \"HPCC_SIMULATOR\"" };
    format!(
        r#"
        duration = "{duration}"
        warmup = "{warmup}"
        ties = "port_order"
        [topology]
        {topology}
        [shared_buffer]
        kind = "hpcc_simulator"
        size = "32 MiB"
        [pause]
        kind = "priority"
        priorities = "3"
        rule = "dynamic"
        [[traffic]]
        frame = "1048 B"
        headers = "48 B"
        ack_frame = "60 B"
        cn_tag = false
        priority = 3
        {traffic}
        [scheme]
        name = "{scheme}"
        {preset}
        [record]
        {record}
        "#
    )
}

fn star(sources: u32, duration: &str, traffic: &str, scheme: &str) -> String {
    let topology = format!(
        "kind = \"star\"\nsources = {sources}\nrate = \"{AT_100:.3} Mb/s\"\nrtt = \"2 us\"\nsink_delay = \"1 us\"\n\
         buffer = \"32 MiB\""
    );
    scenario(duration, "0 s", &topology, traffic, scheme, "queue_every = \"1 us\"")
}

/// 500 kB from each of 64 at once: 2610 us and a peak of 13 422 KB.
#[test]
fn an_incast_of_64() {
    let run = done(&star(64, "5 ms", "arrivals = \"saturated\"\ntransport = \"roce\"\nsize = \"500 kB\"", "dcqcn"));
    let ((mean, _), (_, _, peak)) = (completion(&run), queue(&run, 0));
    println!("incast of 64: {mean:.3} ms, {peak:.0} KB, {} pause frames", run.done.counters.pause_frames);
    near("incast", "mean completion, us", mean * 1e3, 2610.0, 0.03);
    near("incast", "peak", peak, 13_422.0, 0.05);
    assert_eq!(run.done.counters.frames_dropped, 0);
}

/// The same with HPCC and TIMELY, where we have nothing of the field's simulator. With HPCC nobody sends a second window
/// before it hears of the first: the queue stays below 64 windows of 105 KB (100 Gb/s for 8.4 us), with headers 7.4 MB. Of
/// TIMELY, which has no window, the first 8.4 us are as much, and it goes on at line rate until a round trip shows the queue. 64
/// times 500 packets of 1090 octets take 2.76 ms at 101 Gb/s, of 1056 octets 2.68.
#[test]
fn an_incast_of_64_with_hpcc_and_timely() {
    for (scheme, least_ms, most_kb) in [("hpcc", 2.76, 7_400.0), ("timely", 2.67, 32_000.0)] {
        let run = done(&star(64, "20 ms", "arrivals = \"saturated\"\ntransport = \"roce\"\nsize = \"500 kB\"", scheme));
        let ((mean, last), (_, _, peak)) = (completion(&run), queue(&run, 0));
        let pauses = run.done.counters.pause_frames;
        println!("{scheme}, incast of 64: {mean:.3} {last:.3} ms, {peak:.0} KB, {pauses} pause frames");
        assert!(mean > least_ms / 2.0 && mean <= last && last > least_ms, "{scheme}: {mean} {last} ms");
        assert!(peak < most_kb, "{scheme}: {peak} KB");
        assert_eq!(run.done.counters.frames_dropped, 0, "{scheme}");
    }
}

/// 16 senders and PAUSE alone. Of 32 MiB less 17 times 4 KiB and 37 500 octets, 32.85 MB, each may hold 1/24: 21.90 MB in
/// all, with 65 KB of reserves and what comes after XOFF, 2 us and a frame, 26 KB each: 22.38 MB. Theirs peaks at 22.37.
#[test]
fn pause_alone_fills_what_the_thresholds_leave() {
    let run = done(&star(16, "3 ms", "arrivals = \"saturated\"\ntransport = \"roce\"", "none"));
    let (mean, deviation, peak) = queue(&run, 1);
    println!("PAUSE: {mean:.0} {deviation:.0} {peak:.0} KB, {} pause frames", run.done.counters.pause_frames);
    near("PAUSE", "peak", queue(&run, 0).2, 22_370.0, 0.01);
    assert!(run.done.counters.pause_frames > 1000);
    assert_eq!(run.done.counters.frames_dropped, 0);
}

/// Three pairs over one link of 25 Gb/s: theirs, of one run, lies among ours of six seeds.
#[test]
fn a_dumbbell_of_three_pairs() {
    let links = "[[link]]\nfrom = \"a{1..3}\"\nto = \"switch1\"\n[[link]]\nfrom = \"switch1\"\nto = \"switch2\"\n\
                 [[link]]\nfrom = \"switch2\"\nto = \"b{1..3}\"";
    let topology = format!("kind = \"graph\"\nrate = \"{AT_25:.3} Mb/s\"\ndelay = \"1 us\"\n{links}");
    let traffic = "arrivals = \"saturated\"\ntransport = \"roce\"\nfrom = \"a*\"\nto = \"b*\"\nspread = \"paired\"";
    let record = "queues = \"switch1->switch2\"\nqueue_every = \"2 us\"";
    let text = scenario("200 ms", "50 ms", &topology, traffic, "dcqcn", record);
    let queues: Vec<(f64, f64)> = (1..=6)
        .map(|seed| {
            let (mean, deviation, _) = queue(&done(&format!("seed = {seed}\n{text}")), 50);
            (mean - 1.05, deviation)
        })
        .collect();
    println!("dumbbell: {queues:.1?} KB");
    let mean = queues.iter().map(|queue| queue.0).sum::<f64>() / queues.len() as f64;
    near("dumbbell", "mean queue", mean, 79.7, 0.03);
    let least = queues.iter().map(|queue| queue.1).fold(f64::MAX, f64::min);
    let most = queues.iter().map(|queue| queue.1).fold(0.0, f64::max);
    assert!(least < 49.5 && 49.5 < most, "dumbbell: deviations of {least:.1} to {most:.1} KB where 49.5 is theirs");
}

/// Size, our time and their time of a flow, ns.
type Pair = (f64, f64, f64);

/// The flows that ended within 10 ms there, with our time until the last octet was received and theirs.
fn pairs(run: &Replication, rows: &[Vec<f64>], column: usize) -> Vec<Pair> {
    let ended = rows.iter().zip(&run.done.flows).filter(|(row, _)| row[3] + row[column] < 1e7);
    let pair = |(row, flow): (&Vec<f64>, &FlowTally)| {
        let received = flow.roce.expect("a queue pair").received;
        (row[2], received.since(flow.started).seconds() * 1e9, row[column])
    };
    ended.map(pair).collect()
}

/// Mean and 95th percentile of times, us.
fn mean_and_p95(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times.iter().sum::<f64>() / times.len() as f64 / 1e3, times[(times.len() - 1) * 95 / 100] / 1e3)
}

/// Completion times by size, ours of six seeds for DCQCN, whose marks are drawn: 3 % at the mean, 10 % at the 95th
/// percentile.
#[test]
fn one_switch_with_any_to_any_traffic_under_dctcp() {
    one_switch_with_any_to_any_traffic("dctcp", 5, 1);
}

#[test]
#[ignore = "long: make test-all runs it"]
fn one_switch_with_any_to_any_traffic_under_dcqcn() {
    one_switch_with_any_to_any_traffic("dcqcn", 4, 6);
}

/// Holds so many seeds of a scheme against a column of the field's completion times.
fn one_switch_with_any_to_any_traffic(scheme: &str, column: usize, seeds: u64) {
    let numbers = |row: &str| row.split(',').map(|x| x.parse().expect("a number")).collect::<Vec<f64>>();
    let rows: Vec<Vec<f64>> = HADOOP.lines().skip(1).map(numbers).collect();
    let list = rows.iter().fold("from,to,size,start\n".to_owned(), |list, row| {
        list + &format!("host{},host{},{} B,{} ns\n", row[0] + 1.0, row[1] + 1.0, row[2], row[3])
    });
    let topology = format!("kind = \"switch\"\nhosts = 16\nrate = \"{AT_100:.3} Mb/s\"\ndelay = \"1 us\"");
    let traffic = format!("arrivals = \"list\"\ntransport = \"roce\"\nflows = \"\"\"\n{list}\"\"\"");
    let text = scenario("30 ms", "0 s", &topology, &traffic, scheme, "tables = true");
    let runs: Vec<Vec<Pair>> =
        (1..=seeds).map(|seed| pairs(&done(&format!("seed = {seed}\n{text}")), &rows, column)).collect();
    for (low, high) in [(0.0, 1e3), (1e3, 1e4), (1e4, 1e5), (1e5, 1e9)] {
        let of_size = |run: &Vec<Pair>, time: fn(&Pair) -> f64| {
            mean_and_p95(run.iter().filter(|pair| (low..high).contains(&pair.0)).map(time).collect())
        };
        let their = of_size(&runs[0], |pair| pair.2);
        let each: Vec<(f64, f64)> = runs.iter().map(|run| of_size(run, |pair| pair.1)).collect();
        let mean = each.iter().map(|one| one.0).sum::<f64>() / each.len() as f64;
        let p95 = each.iter().map(|one| one.1).sum::<f64>() / each.len() as f64;
        println!("{scheme}, {low} to {high} B: {mean:.2} {p95:.2} us, theirs {:.2} {:.2}", their.0, their.1);
        let name = format!("{scheme}, {low} to {high} B");
        near(&name, "mean completion, us", mean, their.0, 0.03);
        near(&name, "95th percentile, us", p95, their.1, 0.1);
    }
}

/// PFC alone leaves the victim less than an eighth of its 40 Gb/s, DCQCN more than two fifths without a pause.
#[test]
fn dcqcn_spares_the_victim_of_pfc() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/roce/victim-of-pfc-40g.toml");
    let text = std::fs::read_to_string(path).expect("the scenario is shipped");
    let victim = |text: &str| {
        let run = done(text);
        let flow = run.done.flows.last().expect("the victim comes last");
        (flow.delivered_bytes as f64 * 8.0 / 20e6, run.done.counters.pause_frames)
    };
    let alone = text.replace("name = \"dcqcn\"\npreset = \"HPCC_SIMULATOR\"", "name = \"none\"");
    let ((stopped, _), (spared, pauses)) = (victim(&alone), victim(&text));
    assert!(stopped < 5.0 && spared > 16.0 && pauses == 0, "{stopped:.1} and {spared:.1} Gb/s, {pauses} pauses");
}
