//! Runs without packets: completion times against sums worked out by hand, against runs of packets where nothing is shared,
//! and what they refuse and leave out.

use qcnlab_lab::units::{Instant, Span};
use qcnlab_lab::{Control, Data, Ending, METRICS, NoFlowLevel, Options, Outcome, RunError, run};
use qcnlab_scenario::Scenario;
use std::sync::atomic::Ordering;

const SWITCH: &str = "kind = \"switch\"\nhosts = 5\nrate = \"10 Gb/s\"\ndelay = \"1 us\"\n";

/// Flows of a list over links of 10 Gb/s and 1 us, in frames of 1500 B.
fn listed(topology: &str, flows: &str) -> String {
    format!(
        "title = \"Flows\"\nduration = \"1 ms\"\n[topology]\n{topology}[[traffic]]\narrivals = \"list\"\n\
         frame = \"1500 B\"\nflows = \"\"\"\nfrom,to,size,start\n{flows}\"\"\"\n[scheme]\nname = \"none\"\n"
    )
}

fn scenario(text: &str, overrides: &[&str]) -> Scenario {
    let scenario = Scenario::parse(text, "flows.toml").and_then(|scenario| scenario.with_overrides(overrides));
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

fn try_run(scenario: Scenario, flow_level: bool) -> Result<Outcome, RunError> {
    let options = Options { flow_level, ..Options::default() };
    Ok(run(&[scenario], &options, &Control::default())?.remove(0))
}

fn outcome(text: &str, overrides: &[&str]) -> Outcome {
    try_run(scenario(text, overrides), true).unwrap_or_else(|error| panic!("{error}"))
}

/// A column of the table of flows, in words: times in ns, to a tenth.
fn column(outcome: &Outcome, name: &str) -> String {
    let flows = outcome.table("flows").expect("a table");
    let column = flows.columns.iter().find(|column| column.name == name).expect("a column");
    let time = |seconds: &f64| {
        let ns = format!("{:.1}", seconds * 1e9);
        ns.strip_suffix(".0").map(str::to_owned).unwrap_or(ns)
    };
    let cells: Vec<String> = match &column.data {
        Data::U64(values) => values.iter().map(u64::to_string).collect(),
        Data::OptionalI64(values) => values.iter().map(|v| v.map_or("-".to_owned(), |v| v.to_string())).collect(),
        Data::OptionalF64(values) if name == "slowdown" => {
            values.iter().map(|v| v.map_or("-".to_owned(), |v| format!("{v:.6}"))).collect()
        }
        Data::OptionalF64(values) => values.iter().map(|v| v.as_ref().map_or("-".to_owned(), time)).collect(),
        other => panic!("{other:?}"),
    };
    cells.join(" ")
}

/// Of three flows two end; 10 MB take 8 ms, of which the run lasts one.
#[test]
fn a_run_tells_how_many_of_its_flows_have_ended() {
    let text = listed(SWITCH, "host1,host5,15 KB,0 s\nhost2,host5,15 KB,0 s\nhost3,host4,10 MB,0 s\n");
    let (options, control) = (Options { flow_level: true, ..Options::default() }, Control::default());
    run(&[scenario(&text, &[])], &options, &control).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!([&control.done_flows, &control.flows].map(|count| count.load(Ordering::Relaxed)), [2, 3]);
    assert_eq!(control.done_ps.load(Ordering::Relaxed), 1_000_000_000);
}

/// 15 000 B are ten frames of 1.2 us: 12 us on a link. Alone 2 us of way and one frame more: 15.2 us, 3.2 beyond the 12. Two
/// such flows into one link have half of it each: 24 us, and 3.2. Four have a quarter: 48 and 3.2.
#[test]
fn one_bottleneck() {
    let flow = |host: u32| format!("host{host},host5,15 KB,0 s\n");
    for (senders, took) in [(1, 15_200), (2, 27_200), (4, 51_200)] {
        let outcome = outcome(&listed(SWITCH, &(1..=senders).map(flow).collect::<String>()), &[]);
        assert_eq!(column(&outcome, "completion_s"), vec![took.to_string(); senders as usize].join(" "));
        assert_eq!(column(&outcome, "alone_s"), vec!["15200"; senders as usize].join(" "));
    }
}

/// 15 and 45 KB into one link: 24 us until the first has gone; by then the second has 30 KB left, 24 us alone: 48 us. Each
/// takes 3.2 us more. One that starts when the first has been alone for 10 us, which is 12.5 KB, has half until it has gone
/// 24 us later; the first has 17.5 KB left, 14 us: 48 us in all.
#[test]
fn two_unequal_flows_and_an_arrival_in_the_middle() {
    let unequal = outcome(&listed(SWITCH, "host1,host5,15 KB,0 s\nhost2,host5,45 KB,0 s\n"), &[]);
    assert_eq!(column(&unequal, "completion_s"), "27200 51200");
    let middle = outcome(&listed(SWITCH, "host1,host5,45 KB,0 s\nhost2,host5,15 KB,10 us\n"), &[]);
    assert_eq!(column(&middle, "completion_s"), "51200 27200");
    assert_eq!(column(&middle, "finished_s"), "51200 37200");
}

/// A flow over both trunks, and one over each: 5 Gb/s each while all are there, 30 KB in 48 us. If the first trunk's own flow
/// has 15 KB it has gone after 24 us, which does not help: the second trunk still gives the long one half. From then on the
/// other flow of the first trunk, that starts at 30 us, has its half, too. Ways have three or four links of 1 us: alone
/// 24 + 4 + 3 x 1.2 = 31.6 us over two trunks, 3 us of way and two frames over one: 24 + 5.4.
#[test]
fn a_parking_lot() {
    let lot = "kind = \"parking_lot\"\nstages = 2\nlong = 1\nrate = \"10 Gb/s\"\ndelay = \"1 us\"\n";
    let flows = |first| format!("long1,sink,30 KB,0 s\ncross1,exit1,{first},0 s\ncross2,exit2,30 KB,0 s\n");
    let equal = outcome(&listed(lot, &flows("30 KB")), &[]);
    assert_eq!(column(&equal, "alone_s"), "31600 29400 29400");
    assert_eq!(column(&equal, "completion_s"), "55600 53400 53400");
    let less = outcome(&listed(lot, &flows("15 KB")), &[]);
    assert_eq!(column(&less, "completion_s"), "55600 29400 53400");
}

/// Each host sends to the next: nobody disturbs anybody, and slowdowns are exactly 1. So they are where a link in the middle
/// is slow, with headers and overhead on the wire, and for sizes that end in a short frame.
#[test]
fn a_permutation_takes_as_long_as_alone() {
    let ring: String = (1..=5).map(|i| format!("host{i},host{},{} KB,0 s\n", i % 5 + 1, 7 * i)).collect();
    let text = listed(SWITCH, &ring);
    assert_eq!(column(&outcome(&text, &[]), "slowdown"), ["1.000000"; 5].join(" "));
    let wire = ["topology.frame_overhead=20 B", "switch.latency=450 ns"];
    let loaded = outcome(&text, &wire);
    assert_eq!(column(&loaded, "completion_s"), column(&loaded, "alone_s"));
    let roce = [&wire[..], &["traffic.transport=roce", "traffic.headers=48 B", "traffic.ack_frame=60 B"]].concat();
    let loaded = outcome(&text, &roce);
    assert_eq!(column(&loaded, "completion_s"), column(&loaded, "alone_s"));
    let slow =
        "kind = \"chain\"\nswitches = 2\nhosts = 1\nrate = \"10 Gb/s\"\ndelay = \"1 us\"\ntrunk_rate = \"3 Gb/s\"\n";
    let slow = outcome(&listed(slow, "host1,host2,20 KB,3 us\n"), &wire);
    assert_eq!(column(&slow, "completion_s"), column(&slow, "alone_s"));
}

/// Over the wire a frame of 1500 B and 20 of overhead takes 1.216 us: two flows of ten such have 24.32 us between them, and
/// 2 + 1.216 beyond. Over RoCE 10 KB are seven packets, of 1452 B of payload and 48 of headers at most: 10 336 B and
/// 7 x 20 of overhead in all are 8.3808 us; for two 16.7616.
#[test]
fn headers_and_overhead_take_their_time() {
    let text = listed(SWITCH, "host1,host5,15 KB,0 s\nhost2,host5,15 KB,0 s\n");
    let wire = outcome(&text, &["topology.frame_overhead=20 B"]);
    assert_eq!(column(&wire, "completion_s"), "27536 27536");
    let roce = ["topology.frame_overhead=20 B", "traffic.transport=roce", "traffic.headers=48 B"];
    let text = text.replace("15 KB", "10 KB");
    let [alone, shared] = [text.replace("host2,host5", "host2,host4"), text].map(|text| outcome(&text, &roce));
    let took = |outcome: &Outcome| column(outcome, "completion_s").split(' ').next().unwrap().parse::<f64>().unwrap();
    assert!((took(&shared) - took(&alone) - 8380.8).abs() < 0.11, "{} {}", took(&shared), took(&alone));
    assert_eq!(column(&shared, "sent_frames"), "7 7");
    assert_eq!(column(&shared, "delivered_bytes"), "10336 10336");
    assert_eq!(column(&shared, "goodput_bytes"), "10000 10000");
}

/// One flow has loaded its links just when the next starts: neither disturbs the other. Three that start at once and end at
/// once make way for one that starts just then.
#[test]
fn ends_come_before_starts_of_one_instant() {
    let one = outcome(&listed(SWITCH, "host1,host5,15 KB,0 s\nhost2,host5,15 KB,12 us\n"), &[]);
    assert_eq!(column(&one, "completion_s"), "15200 15200");
    let early = outcome(&listed(SWITCH, "host1,host5,15 KB,0 s\nhost2,host5,15 KB,11999999 ps\n"), &[]);
    assert_eq!(column(&early, "completion_s"), "15200 15200", "a picosecond is less than a tenth of one ns");
    let flows = "host1,host5,15 KB,0 s\nhost2,host5,15 KB,0 s\nhost3,host5,15 KB,0 s\nhost4,host5,15 KB,36 us\n";
    assert_eq!(column(&outcome(&listed(SWITCH, flows), &[]), "completion_s"), "39200 39200 39200 15200");
}

/// Messages that wait for others start and end when they do with packets, where none meets another: host2 sends
/// on what it has received 1 us later, when the acknowledgement is out of its way, and host1 again 3 us after its first is
/// acknowledged.
#[test]
fn messages_wait_for_others_as_they_do_with_packets() {
    let text = listed(SWITCH, "").replace(
        "from,to,size,start\n",
        "from,to,size,start,id,after\nhost1,host2,20 KB,1 us,a,\nhost2,host3,10 KB,1 us,b,a\nhost1,host4,30 KB,3 us,c,a\n\
         host3,host5,1 KB,2 us,d,b\n",
    );
    let text = text.replace("frame = ", "transport = \"roce\"\nframe = ");
    let keys = ["traffic.headers=48 B", "topology.frame_overhead=20 B"];
    let packets = try_run(scenario(&text, &keys), false).unwrap_or_else(|error| panic!("{error}"));
    let fluid = outcome(&text, &keys);
    for name in ["start_s", "finished_s", "completion_s", "alone_s", "sent_frames", "delivered_bytes", "goodput_bytes"]
    {
        assert_eq!(column(&fluid, name), column(&packets, name), "{name}");
    }
}

/// A flow of 2 MB does not end within 1 ms: of what its links let through in 900 us, 1.125 MB, whole frames count. One that
/// starts after the end is none. With `drain` a run ends with its last flow.
#[test]
fn runs_end_with_their_time_or_their_last_flow() {
    let text = listed(SWITCH, "host1,host5,2 MB,100 us\nhost2,host3,15 KB,0 s\n");
    let cut = outcome(&text, &[]);
    assert_eq!(column(&cut, "finished_s"), "- 15200");
    assert_eq!(column(&cut, "delivered_bytes"), "1125000 15000");
    assert_eq!(cut.replications[0].done.end, Instant::ZERO + Span::from_ms(1));
    let drained = outcome(&text, &["duration=5 ms", "drain=true"]);
    let done = &drained.replications[0].done;
    assert_eq!(done.ending, Ending::Drained);
    // 1333 full frames and one of 500 B: 2 + 1334 x 1.2 + 0.4 us from 100 us on.
    assert_eq!(done.end, Instant::ZERO + Span::from_ns(1_703_200));
    let first = outcome(&text, &["duration=5 ms"]);
    assert_eq!(
        (&first.replications[0].done.ending, first.replications[0].done.end.ps()),
        (&Ending::Time, 5_000_000_000)
    );
}

/// A ceiling holds a flow where it is alone, and leaves the rest to another.
#[test]
fn ceilings_hold() {
    let text = format!(
        "title = \"Flows\"\nduration = \"1 ms\"\n[topology]\n{SWITCH}[[traffic]]\narrivals = \"saturated\"\n\
         frame = \"1500 B\"\nfrom = \"host1\"\nto = \"host5\"\nsize = \"15 KB\"\nmax_rate = \"2 Gb/s\"\n\
         [[traffic]]\narrivals = \"saturated\"\nframe = \"1500 B\"\nfrom = \"host2\"\nto = \"host5\"\nsize = \"60 KB\"\n\
         [scheme]\nname = \"none\"\n"
    );
    // 15 KB at 2 Gb/s are 60 us, where they are 12 alone; the other has 8 Gb/s: 60 KB in 60 us.
    assert_eq!(column(&outcome(&text, &[]), "completion_s"), "63200 63200");
}

const RANDOM: &str = "title = \"Random\"\nduration = \"6 ms\"\nreplications = 3\n[topology]\nkind = \"fat_tree\"\nk = 4\n\
     rate = \"10 Gb/s\"\ndelay = \"1 us\"\n[[traffic]]\narrivals = \"flows\"\nfrom = \"*\"\nto = \"*\"\nload = 0.6\n\
     sizes = \"web_search\"\nframe = \"1048 B\"\ntransport = \"roce\"\nheaders = \"48 B\"\n[scheme]\nname = \"dcqcn\"\n";

/// The same tables again, on one thread and on four. Nobody is faster than alone, but for a picosecond; most flows finish.
#[test]
fn runs_repeat_to_the_last_digit() {
    let run_on = |jobs| {
        let options = Options { jobs: Some(jobs), flow_level: true, ..Options::default() };
        let outcomes = run(&[scenario(RANDOM, &[])], &options, &Control::default());
        outcomes.unwrap_or_else(|error| panic!("{error}")).remove(0)
    };
    let (one, four) = (run_on(1), run_on(4));
    let csv = |outcome: &Outcome| outcome.table("flows").expect("a table").to_csv();
    assert_eq!(csv(&one), csv(&four));
    let flows = one.table("flows").expect("a table");
    let Some(Data::OptionalF64(slowdowns)) = flows.columns.iter().find(|c| c.name == "slowdown").map(|c| &c.data)
    else {
        panic!("slowdowns")
    };
    let known: Vec<f64> = slowdowns.iter().copied().flatten().collect();
    assert!(known.len() > 60 && known.iter().all(|slowdown| *slowdown > 1.0 - 1e-6), "{known:?}");
    assert!(known.iter().any(|slowdown| *slowdown > 1.5));
}

/// Queues, pauses, drops and rates have no value; completion times have.
#[test]
fn what_it_does_not_know_is_none() {
    let outcome = outcome(RANDOM, &["replications=1"]);
    let known = METRICS.iter().zip(&outcome.replications[0].metrics).filter(|(_, value)| value.is_some());
    let names: Vec<&str> = known.map(|(metric, _)| metric.name).collect();
    let expected =
        ["started", "unfinished", "never_started", "fct_mean_ms", "fct_p99_ms", "slowdown_mean", "slowdown_p99"];
    assert_eq!(names, expected);
    for name in ["dropped_frames", "refused_frames", "retransmitted_frames", "spurious_frames", "timeouts"] {
        assert!(column(&outcome, name).split(' ').all(|cell| cell == "-"), "{name}");
    }
    let summary = outcome.summary_json();
    assert!(summary.contains("\"flow_level\": true") && summary.contains("\"frames_dropped\": null"), "{summary}");
}

#[test]
fn what_it_cannot_answer_is_refused_by_name() {
    let refused = |text: &str, overrides: &[&str]| match try_run(scenario(text, overrides), true) {
        Err(RunError::FlowLevel(why)) => why,
        other => panic!("{other:?}"),
    };
    let list = listed(SWITCH, "host1,host5,15 KB,0 s\n");
    let constant = list
        .replace("arrivals = \"list\"", "arrivals = \"constant\"\nfrom = \"host1\"\nto = \"host5\"\nrate = \"1 Gb/s\"");
    let constant = constant.replace("flows = \"\"\"\nfrom,to,size,start\nhost1,host5,15 KB,0 s\n\"\"\"\n", "");
    assert_eq!(refused(&constant, &[]), NoFlowLevel::NoSize { traffic: 0, arrivals: "constant" });
    assert_eq!(refused(&list, &["traffic.transport=tcp"]), NoFlowLevel::Windows { traffic: 0 });
    let classes = list
        .replace("size,start\n", "size,start,class\n")
        .replace("15 KB,0 s\n", "15 KB,0 s,2\nhost2,host5,1 KB,0 s,5\n");
    assert_eq!(refused(&classes, &[]), NoFlowLevel::Priorities(2, 5));
    let failing = format!("{list}[[failure]]\nlink = \"host1->switch\"\nfrom = \"10 us\"\nuntil = \"20 us\"\n");
    assert_eq!(refused(&failing, &[]), NoFlowLevel::Changing { table: "failure" });
    let hot = format!(
        "{list}[[hotspot]]\nport = \"switch->host5\"\nfrom = \"10 us\"\nuntil = \"20 us\"\nrate = \"1 Gb/s\"\n"
    );
    assert_eq!(refused(&hot, &[]), NoFlowLevel::Changing { table: "hotspot" });
    let limited = format!("{list}[adapter]\nmax_rps = 2\n");
    let why = refused(&limited, &[]);
    assert_eq!(why, NoFlowLevel::Limiters);
    assert!(why.to_string().contains("without --flow-level"));
}
