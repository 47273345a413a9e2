//! Collective operations: messages that wait for others.

use super::done;
use qcnlab_lab::{Replication, Scenario};
use qcnlab_units::Instant;

/// Messages between `hosts` hosts at one switch, the rows of a list. A run of 1 ms that drains.
fn messages(hosts: usize, rows: &str) -> String {
    format!(
        r#"
        duration = "1 ms"
        drain = true
        [topology]
        kind = "switch"
        hosts = {hosts}
        rate = "100 Gb/s"
        delay = "1 us"
        [[traffic]]
        kind = "roce_list"
        frame = "1048 B"
        headers = "48 B"
        ack_frame = "60 B"
        ack_every = 10
        cn_tag = false
        flows = """
from,to,size,start,id,after
{rows}"""
        [scheme]
        name = "none"
        "#
    )
}

/// A ring all-reduce of `hosts` parts of 10 KB each: in each step a host sends the next one the part that it got in the step
/// before.
fn ring(hosts: usize, steps: usize) -> String {
    let row = |(step, host): (usize, usize)| {
        let (next, before) = ((host + 1) % hosts, (host + hosts - 1) % hosts);
        let after = if step == 0 { String::new() } else { format!("{before}.{}", step - 1) };
        format!("host{},host{},10 KB,0 s,{host}.{step},{after}\n", host + 1, next + 1)
    };
    let rows: String = (0..steps).flat_map(|step| (0..hosts).map(move |host| (step, host))).map(row).collect();
    messages(hosts, &rows)
}

/// When the last octet of any flow was received, ps.
fn last(run: &Replication) -> u64 {
    let received = run.done.flows.iter().map(|flow| flow.roce.expect("a queue pair").received);
    received.max().filter(|at| *at != Instant::NEVER).expect("all are received").ps()
}

/// When each flow started, ps, in the order of the list.
fn starts(run: &Replication) -> Vec<Option<u64>> {
    let started = run.done.flows.iter().map(|flow| flow.started);
    started.map(|at| (at != Instant::NEVER).then_some(at.ps())).collect()
}

/// Four hosts have 2 (4 - 1) = 6 steps. A packet of 1048 octets takes 83.84 ns on a link; ten of them, one more time at the
/// switch, and two links of 1 us are 2922.24 ns. From the second step on the host first answers the part that it got, 60
/// octets in 4.8 ns: 6 x 2922.24 + 5 x 4.8 = 17,557.44 ns.
#[test]
fn a_ring_all_reduce_takes_its_steps() {
    let run = done(&ring(4, 6));
    assert_eq!(run.done.flows.len(), 24);
    assert_eq!(last(&run), 17_557_440);
    // Hosts are in step: each step's messages start together.
    let mut starts = starts(&run);
    starts.dedup();
    assert_eq!(starts.len(), 6);
}

/// A message of ten packets is there after 2922.24 ns, as above. Its acknowledgement, 60 octets, takes 4.8 ns a link and 1 us on
/// each: its sender has it 2009.6 ns later, at 4931.84 ns.
#[test]
fn the_sender_waits_for_the_acknowledgement_and_the_receiver_for_the_last_octet() {
    let run = done(&messages(3, "host1,host2,10 KB,0 s,a,\nhost1,host3,10 KB,0 s,,a\nhost2,host3,10 KB,0 s,,a\n"));
    assert_eq!(starts(&run), [Some(0), Some(4_931_840), Some(2_922_240)]);
}

/// With a `start` of 1 ms, at which the run ends, a message that waits for nothing would be refused. One that waits is not,
/// because it may be there for longer runs; it never starts, and the run drains without it.
#[test]
fn a_message_that_waits_may_have_a_start_beyond_the_run() {
    let rows = |after: &str| messages(2, &format!("host1,host2,10 KB,0 s,a,\nhost2,host1,10 KB,1 ms,,{after}\n"));
    let refused = Scenario::parse(&rows(""), "pair.toml").expect_err("it starts when the run ends").message();
    assert!(refused.contains("line 3: the flow starts at 1 ms, but the run ends at 1 ms"), "{refused}");
    let run = done(&rows("a"));
    assert_eq!((starts(&run), run.done.end.ps()), (vec![Some(0)], 4_931_840));
}

/// The second message is due at 2922.24 ns, and the third as long after it. What is due at or after the stop never starts: the
/// run is over at the last acknowledgement, 2009.6 ns after what it is for.
#[test]
fn a_message_that_is_due_once_arrivals_have_stopped_never_starts() {
    let rows = "host1,host2,10 KB,0 s,a,\nhost2,host3,10 KB,0 s,b,a\nhost3,host1,10 KB,0 s,,b\n";
    for (stop, expected, end) in [
        ("2922 ns", vec![Some(0), None, None], 2_922_240 + 2_009_600),
        ("2923 ns", vec![Some(0), Some(2_922_240), None], 2 * 2_922_240 + 4_800 + 2_009_600),
    ] {
        let run = done(&format!("stop_arrivals = \"{stop}\"\n{}", messages(3, rows)));
        assert_eq!((starts(&run), run.done.end.ps()), (expected, end), "{stop}");
    }
}
