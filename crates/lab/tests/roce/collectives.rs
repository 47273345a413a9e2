//! Collective operations: messages that wait for others.

use super::done;
use qcnlab_lab::{Control, Data, Options, Outcome, Replication, run};
use qcnlab_scenario::Scenario;
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
        arrivals = "list"
        transport = "roce"
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

/// A collective operation of `keys` among `hosts` hosts at one switch, as [`messages`] otherwise.
fn operation(hosts: usize, keys: &str) -> String {
    let listed = messages(hosts, "");
    let (head, rest) = listed.split_once("arrivals = \"list\"").expect("a list of messages");
    let (frame, rest) = rest.split_once("flows = \"\"\"").expect("its rows");
    let (_, scheme) = rest.split_once("\"\"\"").expect("their end");
    format!("{head}arrivals = \"collective\"{frame}{keys}\n{scheme}")
}

/// The outcome of a scenario, of so many replications, from a seed.
fn outcome(text: &str, replications: u32, seed: u64) -> Outcome {
    let scenario = Scenario::parse(text, "operation.toml").unwrap_or_else(|error| panic!("{error}"));
    let options = Options { seed: Some(seed), replications: Some(replications), ..Options::default() };
    run(&[scenario], &options, &Control::default()).unwrap().remove(0)
}

/// The names of the messages, all replications one after the other.
fn names(outcome: &Outcome) -> Vec<String> {
    let flows = outcome.table("flows").expect("every run has it");
    let Data::Word(indices, words) = &flows.columns[1].data else { panic!("the second column has names") };
    indices.iter().map(|index| words[*index as usize].to_owned()).collect()
}

/// Name, octets and start of each message.
fn sent(text: &str) -> Vec<(String, u64, u64)> {
    let outcome = outcome(text, 1, 1);
    let tallies = &outcome.replications[0].done.flows;
    let names = names(&outcome).into_iter().zip(tallies);
    names.map(|(name, tally)| (name, tally.total_bytes.expect("a size"), tally.started.ps())).collect()
}

/// The ring of the list above and the operation are the same messages at the same times.
#[test]
fn an_operation_is_the_list_of_its_messages() {
    for (hosts, octets) in [(2, 20_000), (3, 30_000), (4, 40_000)] {
        let keys = format!("operation = \"all_reduce\"\nsize = \"{octets} B\"");
        assert_eq!(sent(&operation(hosts, &keys)), sent(&ring(hosts, 2 * (hosts - 1))));
    }
}

/// Six hosts in servers of two: ranks 0 to 2 on the first hosts of the servers, 3 to 5 on the second ones. Written out, the hosts
/// are ranks in that order. Drawn, each replication has an order of its own, and the seed decides.
#[test]
fn ranks_are_on_the_hosts_that_are_asked_for() {
    let ways = |keys: &str| -> Vec<String> {
        let line = operation(6, &format!("operation = \"broadcast\"\nalgorithm = \"ring\"\nsize = \"1 KB\"\n{keys}"));
        sent(&line).into_iter().map(|(name, ..)| name).collect()
    };
    let line = |hosts: [u32; 6]| -> Vec<String> {
        hosts.windows(2).map(|pair| format!("host{}->host{}", pair[0], pair[1])).collect()
    };
    assert_eq!(ways(""), line([1, 2, 3, 4, 5, 6]));
    assert_eq!(ways("placement = \"stride\"\nstride = 2"), line([1, 3, 5, 2, 4, 6]));
    assert_eq!(ways("placement = \"stride\"\nstride = 4"), line([1, 5, 2, 6, 3, 4]));
    assert_eq!(ways("ranks = \"host6, host2, host{3..5}, host1\""), line([6, 2, 3, 4, 5, 1]));
    let file = |rows: &str| format!("placement = \"file\"\nrankfile = \"rank,host\\n{rows}\"");
    assert_eq!(
        ways(&file("4,host1\\n0,host6\\n1,host2\\n2,host3\\n3,host5\\n")),
        ["6->host2", "2->host3", "3->host5", "5->host1"].map(|ends| format!("host{ends}"))
    );
    let random =
        operation(6, "operation = \"broadcast\"\nalgorithm = \"ring\"\nsize = \"1 KB\"\nplacement = \"random\"");
    let drawn = |seed| names(&outcome(&random, 3, seed));
    assert_eq!(drawn(7), drawn(7));
    assert_ne!(drawn(7), drawn(8));
    let drawn = drawn(7);
    assert!(drawn[..5] != drawn[5..10] && drawn[5..10] != drawn[10..]);
}

/// Rank 1 starts 1 us after rank 0, at 3 us. A part of 10 KB takes 2922.24 ns, as above: it is at rank 1 at 4922.24 ns, and rank 1's
/// at rank 0 at 5922.24 ns, or up to 4.8 ns later for the answer that leaves before one of its packets. Either rank then computes
/// for 3 us.
#[test]
fn ranks_start_by_stagger_and_compute_between_rounds() {
    let keys = "operation = \"all_gather\"\nsize = \"20 KB\"\nrounds = 2\ncompute = \"3 us\"\nstagger = \"1 us\"\nstart = \"2 us\"";
    let run = done(&operation(2, keys));
    let expected = [Some(2_000_000), Some(3_000_000), Some(8_922_240), Some(7_922_240)];
    let starts = starts(&run);
    assert_eq!(starts[..2], expected[..2]);
    assert!(starts[2].unwrap().abs_diff(expected[2].unwrap()) <= 4_800, "{starts:?}");
    assert_eq!(starts[3], expected[3]);
}

/// Arrivals stop for what is drawn or listed. An operation goes on.
#[test]
fn an_operation_goes_on_when_arrivals_have_stopped() {
    let keys = "operation = \"all_reduce\"\nsize = \"40 KB\"\n[[traffic]]\narrivals = \"incast\"\ntransport = \"roce\"\nfrom = \"host1\"\nto = \
                \"host2\"\nsize = \"1 B\"\nsenders = 1\nperiod = \"500 us\"\nframe = \"1048 B\"\ncn_tag = false";
    let text = format!("stop_arrivals = \"1 us\"\n{}", operation(4, keys));
    let run = done(&text);
    assert_eq!(starts(&run).len(), 25);
    assert!(starts(&run).iter().all(Option::is_some));
}

#[test]
fn operations_that_cannot_be_are_refused_with_what_to_do() {
    let said = |keys: &str| Scenario::parse(&operation(6, keys), "six.toml").expect_err("it cannot be").to_string();
    let refused = [
        (
            "operation = \"all_reduce\"\nsize = \"1 KB\"\nalgorithm = \"tree\"",
            "algorithm tree does not carry out all_reduce",
            "use ring or halving_doubling",
        ),
        (
            "operation = \"all_reduce\"\nsize = \"1 KB\"\nalgorithm = \"halving_doubling\"",
            "and there are 6",
            "let ranks match 2, 4, 8, .. hosts",
        ),
        ("operation = \"all_reduce\"\nsize = \"5 B\"", "a message without octets", "raise size to 6 B or more"),
        (
            "operation = \"all_reduce\"\nsize = \"1 KB\"\nranks = \"host3\"",
            "takes two ranks or more",
            "let ranks match two hosts",
        ),
        ("operation = \"all_reduce\"\nsize = \"1 KB\"\nranks = \"node*\"", "node*", "host"),
        (
            "operation = \"all_reduce\"\nsize = \"1 KB\"\nskew = 1.0",
            "'skew' goes with operation = \"moe\"",
            "leave skew out",
        ),
        (
            "operation = \"moe\"\nsize = \"1 KB\"\nmicrobatches = 2",
            "'microbatches' goes with operation = \"pipeline\"",
            "leave microbatches out",
        ),
        (
            "operation = \"moe\"\nsize = \"1 KB\"\nstride = 2",
            "'stride' goes with placement = \"stride\"",
            "leave stride out",
        ),
        ("operation = \"moe\"\nsize = \"1 KB\"\nplacement = \"stride\"", "from one rank to the next", "add stride = 8"),
        (
            "operation = \"all_reduce\"\nsize = \"1 KB\"\nplacement = \"file\"",
            "needs a rankfile with the host of each rank",
            "add rankfile = ",
        ),
        (
            "operation = \"all_reduce\"\nsize = \"1 KB\"\nrankfile = \"rank,host\\n0,host1\\n\"",
            "'rankfile' goes with placement = \"file\", and another placement stands here",
            "leave rankfile out",
        ),
        (
            "operation = \"all_reduce\"\nsize = \"1 KB\"\nplacement = \"file\"\nranks = \"host1\"\nrankfile = \"rank,host\\n0,host1\\n\"",
            "'ranks' goes with another placement, and placement = \"file\" stands here",
            "leave ranks out",
        ),
        (
            "operation = \"all_reduce\"\nsize = \"1 KB\"\nplacement = \"file\"\nrankfile = \"rank,host\\n0,host1\\n2,host2\\n\"",
            "traffic.0.rankfile, line 3, column 1 (rank): rank 1 is missing",
            "",
        ),
        (
            "operation = \"all_reduce\"\nsize = \"1 KB\"\nplacement = \"file\"\nrankfile = \"rank,host\\n0,host1\\n\"",
            "takes two ranks or more",
            "",
        ),
        (
            "operation = \"all_reduce\"\nsize = \"1 KB\"\nplacement = \"file\"\nrankfile = \"no-such-ranks.csv\"",
            "no-such-ranks.csv",
            "",
        ),
        (
            "operation = \"all_reduce\"\nsize = \"1 KB\"\nrounds = 100000",
            "6000000 messages, and a run may have 1000000",
            "lower rounds",
        ),
    ];
    for (keys, what, hint) in refused {
        let message = said(keys);
        assert!(message.contains(what) && message.contains(hint), "{keys}: {message}");
    }
}
