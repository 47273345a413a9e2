//! What is told of flows that end: their times, when arrivals stop, when a run drains, and what did not finish.

use qcnlab_lab::units::{Instant, Span};
use qcnlab_lab::{Control, Data, Ending, METRICS, Options, Outcome, run};
use qcnlab_scenario::Scenario;

/// Three hosts at one switch, links of 10 Gb/s and 1 us.
fn listed(flows: &str, keys: &str) -> String {
    format!(
        "title = \"Flows\"\nduration = \"1 ms\"\n{keys}[topology]\nkind = \"switch\"\nhosts = 3\nrate = \"10 Gb/s\"\n\
         delay = \"1 us\"\n[[traffic]]\narrivals = \"list\"\nframe = \"1500 B\"\npriority = 2\nflows = \"\"\"\n\
         from,to,size,start,class\n{flows}\"\"\"\n[scheme]\nname = \"none\"\n"
    )
}

fn scenario(text: &str, overrides: &[&str]) -> Scenario {
    let scenario = Scenario::parse(text, "flows.toml").and_then(|scenario| scenario.with_overrides(overrides));
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

fn outcome(text: &str, overrides: &[&str]) -> Outcome {
    let scenario = scenario(text, overrides);
    run(&[scenario], &Options::default(), &Control::default()).unwrap_or_else(|error| panic!("{error}")).remove(0)
}

fn metric(outcome: &Outcome, name: &str) -> Option<f64> {
    outcome.replications[0].metrics[METRICS.iter().position(|metric| metric.name == name).expect("a metric")]
}

/// A column of the table of flows, in words: times in ns.
fn column(outcome: &Outcome, name: &str) -> String {
    let flows = outcome.table("flows").expect("a table");
    let column = flows.columns.iter().find(|column| column.name == name).expect("a column");
    let time = |seconds: &f64| format!("{:.0}", seconds * 1e9);
    let cells: Vec<String> = match &column.data {
        Data::U32(values) => values.iter().map(u32::to_string).collect(),
        Data::U64(values) => values.iter().map(u64::to_string).collect(),
        Data::F64(values) => values.iter().map(time).collect(),
        Data::OptionalI64(values) => values.iter().map(|v| v.map_or("-".to_owned(), |v| v.to_string())).collect(),
        Data::OptionalF64(values) if name == "slowdown" => {
            values.iter().map(|v| v.map_or("-".to_owned(), |v| format!("{v:.4}"))).collect()
        }
        Data::OptionalF64(values) => values.iter().map(|v| v.as_ref().map_or("-".to_owned(), time)).collect(),
        other => panic!("{other:?}"),
    };
    cells.join(" ")
}

/// Two links of 1 us. 15 000 B are ten frames of 1.2 us: alone 2 + 11 x 1.2 = 15.2 us; by the field 4 us of way there and
/// back, 2 x 1.2 us of a full frame and 12 us of octets: 18.4 us. The second flow meets the first at the last link: of 20
/// frames that are served there from 2.2 us on it has the last, at 26.2 us, and 1 us later it is there. The third is
/// too long for the run: 1333 full frames and one of 500 B, alone 2 + 1334 x 1.2 + 0.4 = 1603.2 us. Of its octets those
/// of the frames that have arrived by 1 ms are delivered.
#[test]
fn every_flow_has_its_times_also_an_unfinished_one() {
    let flows = "host1,host3,15 KB,0 s,\nhost2,host3,15 KB,0 s,5\nhost1,host2,2 MB,100 us,\n";
    let outcome = outcome(&listed(flows, ""), &["switch.output_buffer=1 MB"]);
    assert_eq!(column(&outcome, "traffic"), "0 0 0");
    assert_eq!(column(&outcome, "priority"), "2 5 2");
    assert_eq!(column(&outcome, "size_bytes"), "15000 15000 2000000");
    assert_eq!(column(&outcome, "start_s"), "0 0 100000");
    assert_eq!(column(&outcome, "alone_s"), "15200 15200 1603200");
    assert_eq!(column(&outcome, "standalone_s"), "18400 18400 1606400");
    // Class 5 goes first: it takes 15.2 us alone, and one frame more if the other's first was there before it.
    let finished = column(&outcome, "finished_s");
    assert!(["27200 15200 -", "27200 16400 -"].contains(&&*finished), "{finished}");
    assert_eq!(column(&outcome, "completion_s"), finished);
    let slowdown = column(&outcome, "slowdown");
    assert!(slowdown.starts_with("1.7895 1.") && slowdown.ends_with(" -"), "{slowdown}");
    // The first frame is there at 104.4 us, one more each 1.2 us: 1 + (895.6 / 1.2 rounded down) by 1 ms.
    assert_eq!(column(&outcome, "delivered_bytes"), format!("15000 15000 {}", 747 * 1500));
    assert_eq!((metric(&outcome, "started"), metric(&outcome, "unfinished")), (Some(3.0), Some(1.0)));
    // It has taken 900 us, and takes 1603.2 us at least.
    assert_eq!(metric(&outcome, "fct_p99_ms"), Some(1.6032));
}

/// Two links of 1 us there and back. Packets of 1000 B have 48 B of headers: 838.4 ns, that of 1 B 39.2 ns; an
/// acknowledgement 48 ns. Alone: 4 us, twice the last packet, or once where it catches up with a full one, and 96 ns. By
/// the field: 4 us, twice a full packet, and all octets once. The acknowledgement of the packet of 1 B behind a full one
/// waits 8.8 ns for the one before it.
#[test]
fn messages_that_are_no_multiple_of_a_packet_have_their_times() {
    let roce = "arrivals = \"list\"\ntransport = \"roce\"\nframe = \"1048 B\"\nheaders = \"48 B\"\nack_frame = \"60 B\"\ncn_tag = false";
    let sizes = |sizes: [u64; 4]| {
        let flow = |(i, size): (usize, u64)| format!("host1,host3,{size} B,{} us,\n", 100 * i);
        sizes.into_iter().enumerate().map(flow).collect::<String>()
    };
    let of = |kind: &str, listing: &str| {
        let text = listed(listing, "").replace("arrivals = \"list\"\nframe = \"1500 B\"", kind);
        let outcome = outcome(&text, &[]);
        ["alone_s", "standalone_s", "completion_s", "slowdown"].map(|name| column(&outcome, name))
    };
    let [alone, standalone, completion, slowdown] = of(roce, &sizes([1, 1000, 1001, 2999]));
    // 4096 + 78.4; + 1676.8; + 1676.8 + 39.2; + 3 x 838.4 + 837.6.
    assert_eq!(alone, "4174 5773 5812 7449");
    // 5676.8 + 39.2; + 838.4; + 877.6; + 2 x 838.4 + 837.6.
    assert_eq!(standalone, "5716 6515 6554 8191");
    assert_eq!(completion, "4174 5773 5821 7449");
    assert_eq!(slowdown, "1.0000 1.0000 1.0015 1.0000");
    // Segments of 1460 B have 40 B of headers, 1.2 us; that of 1 B 32.8 ns. Nothing is waited for that comes back.
    let [alone, _, completion, slowdown] =
        of("arrivals = \"list\"\ntransport = \"tcp\"\nframe = \"1500 B\"", &sizes([1, 1460, 1461, 2999]));
    assert_eq!(alone, "2066 4400 4433 5695");
    assert_eq!((completion, &*slowdown), (alone, "1.0000 1.0000 1.0000 1.0000"));
}

/// The run ends with its last flow, 0.1 ms + 1603.2 us after its beginning; without `drain` it goes on.
#[test]
fn a_run_that_drains_says_when_it_ended() {
    let flows = "host1,host3,15 KB,0 s,\nhost1,host2,2 MB,100 us,\n";
    let drained = outcome(&listed(flows, "drain = true\n"), &["duration=1 s"]);
    let done = &drained.replications[0].done;
    assert_eq!((&done.ending, done.end), (&Ending::Drained, Instant::ZERO + Span::from_ns(1_703_200)));
    assert_eq!(metric(&drained, "unfinished"), Some(0.0));
    // One whole bin of 1 ms for each flow; the rest of the run is shorter than a bin.
    assert_eq!(drained.table("throughput").expect("a table").rows, 2);
    let stopped = outcome(&listed(flows, "drain = true\n"), &[]);
    assert_eq!(stopped.replications[0].done.ending, Ending::Time);
    assert_eq!(metric(&stopped, "unfinished"), Some(1.0));
    let summary: serde_json::Value = serde_json::from_str(&drained.summary_json()).expect("JSON");
    assert_eq!(
        (summary["ends"][0]["why"].as_str(), summary["ends"][0]["end_s"].as_f64()),
        (Some("drained"), Some(0.001_703_2))
    );
}

const RANDOM: &str = r#"
title = "Random flows"
duration = "4 ms"
[topology]
kind = "switch"
hosts = 6
rate = "10 Gb/s"
delay = "1 us"
[[traffic]]
arrivals = "flows"
from = "*"
to = "*"
sizes = "web_search"
load = 0.5
frame = "1500 B"
[[traffic]]
arrivals = "list"
frame = "1500 B"
flows = """
from,to,size,start
host1,host2,1 KB,0.5 ms
host1,host2,1 KB,1 ms
"""
[scheme]
name = "none"
"#;

/// Arrivals stop; the flows that started before are the same ones, and all of them finish.
#[test]
fn flows_before_arrivals_stop_are_those_of_the_whole_run() {
    let starts = |scenario: &Scenario, entry: usize| -> Vec<_> {
        let flows = scenario.flows().into_iter().filter(|flow| flow.traffic == entry);
        flows.map(|flow| (flow.start, flow.source_index, flow.sink_index, flow.size)).collect()
    };
    let whole = scenario(RANDOM.trim_start(), &[]);
    let stopped = scenario(RANDOM.trim_start(), &["stop_arrivals=1 ms", "drain=true", "duration=1 s"]);
    let stop = Span::from_ms(1);
    let before: Vec<_> = starts(&whole, 0).into_iter().filter(|flow| flow.0 < stop).collect();
    assert!(!before.is_empty() && before.len() < starts(&whole, 0).len());
    assert_eq!(starts(&stopped, 0), before);
    assert_eq!((starts(&whole, 1).len(), starts(&stopped, 1).len()), (2, 1), "1 ms is not before 1 ms");
    let outcome = run(&[stopped], &Options::default(), &Control::default()).expect("a run").remove(0);
    let done = &outcome.replications[0].done;
    assert_eq!((&done.ending, metric(&outcome, "unfinished")), (&Ending::Drained, Some(0.0)));
    assert_eq!(done.flows.iter().map(|flow| flow.finished).max(), Some(done.end));
    assert!(done.end > Instant::ZERO + stop);
}

/// Flows that repair no loss, where a queue is limited: it says so. Over TCP, with PAUSE or without limits it does not.
#[test]
fn loss_that_nothing_repairs_is_warned_of() {
    let warnings = |overrides: &[&str]| scenario(RANDOM.trim_start(), overrides).warnings();
    assert_eq!(warnings(&[]), Vec::<String>::new());
    let text = RANDOM.replace(
        "[[traffic]]\narrivals = \"flows\"",
        "[switch]\noutput_buffer = \"150 KB\"\n[[traffic]]\narrivals = \"flows\"",
    );
    let limited = |overrides: &[&str]| scenario(text.trim_start(), overrides).warnings();
    let [first, second] = &limited(&[])[..] else { panic!("{:?}", limited(&[])) };
    assert!(first.starts_with("traffic.0 sends nothing again, and frames can be lost at switch->host"), "{first}");
    assert!(first.contains(" other ports: a flow that loses a frame never finishes"), "{first}");
    assert!(second.starts_with("traffic.1 sends nothing again, and frames can be lost at switch->host2: a flow"));
    assert_eq!(limited(&["traffic.0.transport=tcp"]).len(), 1);
    assert_eq!(limited(&["pause.kind=link", "switch.input_memory=150 KB"]), Vec::<String>::new());
}

/// A list with a header alone, whatever carries it, and comments or empty lines below it; one flow is no such list.
#[test]
fn lists_without_a_flow_are_warned_of() {
    let header = "from,to,size,start\n";
    let with = |transport: &str, rows: &str| {
        let list = format!("arrivals = \"list\"\ntransport = \"{transport}\"");
        let text = RANDOM.replace("arrivals = \"list\"", &list);
        let first = text.find(header).expect("a header") + header.len();
        let last = text.rfind("\"\"\"").expect("an end");
        scenario(format!("{}{rows}{}", &text[..first], &text[last..]).trim_start(), &[]).warnings()
    };
    for transport in ["none", "tcp", "roce"] {
        for rows in ["", "\n\n", "# host1,host2,1 KB,1 ms\n"] {
            assert_eq!(
                with(transport, rows),
                ["traffic.1 sends nothing: its list of flows has a header and no flow below it"],
                "{transport} {rows:?}"
            );
        }
        assert_eq!(with(transport, "\nhost1,host2,1 KB,1 ms\n"), Vec::<String>::new());
    }
}

/// A round trip that is no shorter than the run: to the picosecond.
#[test]
fn a_round_trip_no_shorter_than_the_run_is_warned_of() {
    let text = "duration = \"4 ms\"\n[topology]\nkind = \"star\"\nsources = 2\nrate = \"10 Gb/s\"\nrtt = \"10 us\"\n\
                buffer = \"150 KB\"\n[[traffic]]\narrivals = \"saturated\"\nframe = \"1500 B\"\n[scheme]\nname = \"qcn\"\n";
    let warnings = |overrides: &[&str]| scenario(text, overrides).warnings();
    let said = ["topology.rtt (4 ms) is no shorter than the run (4 ms): nothing comes back to a source before it ends"];
    assert_eq!(warnings(&["topology.rtt=4 ms"]), said);
    assert_eq!(warnings(&["topology.rtt=3999999999 ps"]), Vec::<String>::new());
    assert_eq!(warnings(&["topology.rtt=5 ms", "seed=0"]).len(), 1);
}

/// What takes a packet that comes late for lost, where frames of a flow may overtake one another: go-back-N that keeps nothing
/// out of order, and selective repeat that takes the first that is overtaken for lost. Nothing else is warned of.
#[test]
fn repairs_that_frames_which_overtake_make_costly_are_warned_of() {
    let text = RANDOM.replace("arrivals = \"flows\"", "arrivals = \"flows\"\ntransport = \"roce\"");
    let warnings = |overrides: &[&str]| scenario(text.trim_start(), overrides).warnings();
    for multipath in ["frame", "round_robin", "flowlet"] {
        let spray = format!("routing.multipath={multipath}");
        let [one] = &warnings(&[&spray])[..] else { panic!("{multipath}: {:?}", warnings(&[&spray])) };
        assert!(
            one.starts_with("traffic.0 repairs by go-back-N, and frames of a flow may overtake one another"),
            "{one}"
        );
        let help = "use recovery = \"selective_repeat\", a reorder_buffer, or another routing.multipath";
        assert!(one.ends_with(help), "{one}");
        let [selective, threshold] = ["traffic.0.recovery=selective_repeat", "traffic.0.reordering_threshold=2"];
        let [one] = &warnings(&[&spray, selective])[..] else { panic!("{multipath}") };
        assert!(one.starts_with("traffic.0 takes a packet for lost when one other overtakes it"), "{one}");
        for borne in [
            &[selective, threshold][..],
            &[selective, "traffic.0.reordering_window=1 us"],
            &["traffic.0.reorder_buffer=1"],
        ] {
            assert_eq!(warnings(&[&[&*spray], borne].concat()), Vec::<String>::new());
        }
    }
    assert_eq!(warnings(&[]), Vec::<String>::new());
    assert_eq!(warnings(&["routing.multipath=flow"]), Vec::<String>::new());
    let open = RANDOM.trim_start();
    assert_eq!(scenario(open, &["routing.multipath=frame"]).warnings(), Vec::<String>::new(), "no queue pair");
}

/// Heads must be shorter than the shortest packet that they are cut from.
#[test]
fn heads_as_long_as_the_frames_are_refused() {
    let text = RANDOM.replace("arrivals = \"flows\"", "arrivals = \"flows\"\ntransport = \"roce\"");
    let text = text
        .replace("[[traffic]]\narrivals = \"flows", "[switch]\ntrim_to = \"64 B\"\n[[traffic]]\narrivals = \"flows");
    scenario(text.trim_start(), &["switch.trim_to=1499 B"]);
    let parsed = Scenario::parse(text.trim_start(), "file.toml").expect("a good file");
    for long in ["1500 B", "1501 B"] {
        let refused = parsed.with_overrides(&[&format!("switch.trim_to={long}")]).expect_err(long).to_string();
        let said = format!("trim_to ({long}) is no shorter than the frames that it cuts (1500 B)");
        assert!(refused.contains(&said) && refused.contains("lower trim_to"), "{refused}");
    }
}

/// Sixteen senders whose packets of 1048 octets are cut to 64 make heads for 97.7 % of the link, more than the share of a
/// quarter that heads have; four make 24.4 %, which is less, and 51.2 % of packets of 500 octets that are cut to 64 are less
/// than all.
#[test]
fn heads_that_claim_a_link_are_warned_of() {
    let text = "duration = \"1 ms\"\n[topology]\nkind = \"star\"\nsources = 16\nrate = \"100 Gb/s\"\nrtt = \"4 us\"\nbuffer = \"200 KB\"\n\
                [switch]\ntrim_to = \"64 B\"\n[[traffic]]\narrivals = \"saturated\"\ntransport = \"roce\"\nframe = \"1048 B\"\nrecovery = \"selective_repeat\"\n\
                [scheme]\nname = \"none\"\n";
    let said = |overrides: &[&str]| scenario(text, overrides).warnings().join("\n");
    let all = said(&[]);
    assert!(
        all.starts_with("16 senders at line rate whose packets of 1048 B are cut to 64 B make heads for 98 %"),
        "{all}"
    );
    assert!(all.contains("of the link to sink; trim_share lets them have 25 % of it"), "{all}");
    assert_eq!(said(&["topology.sources=4"]), "");
    assert_eq!(said(&["topology.sources=4", "traffic.0.frame=500 B", "switch.trim_share=1"]), "");
    assert!(said(&["switch.trim_share=1"]).contains("100 % of it"));
    assert!(said(&["topology.sources=2", "switch.trim_share=0.1"]).contains("2 senders"));
    let parsed = Scenario::parse(text, "flows.toml").expect("a good file");
    let refused = parsed.with_overrides(&["switch.trim_share=0"]).expect_err("no share").to_string();
    assert!(refused.contains("trim_share"), "{refused}");
}

/// Heads are cut of RoCE packets alone, and REPS leaves ways that are marked: HPCC's ports mark none.
#[test]
fn what_acts_nowhere_is_warned_of() {
    let said = |overrides: &[&str]| scenario(RANDOM.trim_start(), overrides).warnings().join("\n");
    let cuts = said(&["switch.trim_to=64 B"]);
    assert!(
        cuts.starts_with("switch.0.trim_to cuts RoCE packets, and no traffic is over RoCE: it acts nowhere"),
        "{cuts}"
    );
    let roce = ["switch.trim_to=64 B", "traffic.0.transport=roce"];
    assert!(!said(&roce).contains("trim_to"));
    let reps = ["routing.multipath=reps", "traffic.0.transport=roce", "traffic.1.transport=roce", "scheme.name=hpcc"];
    let text = said(&reps);
    assert!(text.contains("the ports of scheme 'hpcc' mark none: it leaves those alone that lose packets"), "{text}");
    assert!(text.contains("traffic.0 repairs by go-back-N"), "{text}");
    let marked = said(&[&reps[..3], &["scheme.name=dcqcn"]].concat());
    assert!(!marked.contains("mark none"), "{marked}");
}

/// `drain = false` is as if it were not there.
#[test]
fn keys_that_say_the_default_leave_the_hash_alone() {
    let hash = |overrides: &[&str]| scenario(RANDOM.trim_start(), overrides).hash();
    assert_eq!(hash(&["drain=false"]), hash(&[]));
    assert_ne!(hash(&["drain=true"]), hash(&[]));
    assert_ne!(hash(&["stop_arrivals=1 ms"]), hash(&[]));
}
