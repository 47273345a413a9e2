//! Collective operations: messages that wait for others.

use super::done;
use qcnlab_lab::Replication;
use qcnlab_units::Instant;

/// A ring all-reduce of `hosts` parts of 10 KB each: in each step a host sends the next one the part that it got in the step
/// before.
fn ring(hosts: usize, steps: usize) -> String {
    let row = |(step, host): (usize, usize)| {
        let (next, before) = ((host + 1) % hosts, (host + hosts - 1) % hosts);
        let after = if step == 0 { String::new() } else { format!("{before}.{}", step - 1) };
        format!("host{},host{},10 KB,0 s,{host}.{step},{after}\n", host + 1, next + 1)
    };
    let rows: String = (0..steps).flat_map(|step| (0..hosts).map(move |host| (step, host))).map(row).collect();
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

/// When the last octet of any flow was received, ps.
fn last(run: &Replication) -> u64 {
    let received = run.done.flows.iter().map(|flow| flow.roce.expect("a queue pair").received);
    received.max().filter(|at| *at != Instant::NEVER).expect("all are received").ps()
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
    let mut starts: Vec<u64> = run.done.flows.iter().map(|flow| flow.started.ps()).collect();
    starts.dedup();
    assert_eq!(starts.len(), 6);
}
