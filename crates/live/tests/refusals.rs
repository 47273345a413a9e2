//! What the simulator has and live runs do not is refused in words, before anything is built.

mod star;

use qcnlab_lab::Control;
use qcnlab_live::{LimiterKind, LiveError, LiveOptions, TrafficSource, run, stand};
use qcnlab_scenario::Scenario;
use qcnlab_schemes::registry::catalogue;
use star::STAR;
use std::path::PathBuf;
use std::sync::OnceLock;

const TEN_MS: &str = "duration = \"10 ms\"\n";

/// A feature that live runs lack: what of the star changes for it, the tables that are added, and the refusal.
struct Lacking {
    changes: &'static [&'static str],
    tables: &'static str,
    said: &'static str,
}

const LACKING: &[Lacking] = &[
    Lacking {
        changes: &["traffic.transport=roce", "scheme.name=none"],
        tables: "",
        said: "live flows are datagrams or TCP connections; use another kind of traffic than roce",
    },
    Lacking {
        changes: &["traffic.transport=tcp", "topology.sources=401"],
        tables: "",
        said: "401 TCP connections are more than 400, each with two threads; draw fewer flows",
    },
    Lacking {
        changes: &["traffic.frame=9217 B"],
        tables: "",
        said: "frames of 9217 B are longer than 9216 B, the longest that live links carry",
    },
    Lacking {
        changes: &["topology.rate=200 Gb/s"],
        tables: "",
        said: "the fastest link has 2000 Mb/s at scale 100; live runs take 1000 Mb/s at most: use --scale 2000",
    },
    Lacking {
        changes: &[],
        tables: "[[shared_buffer]]\nsize = \"1 MB\"",
        said: "the switch switch has a shared buffer; live switches count by input: leave [[shared_buffer]] out",
    },
    Lacking {
        changes: &[],
        tables: "[switch]\nweights = \"0: 3, 1: 1\"",
        said: "the classes of switch switch take turns; live switches serve the highest class first: leave weights out",
    },
    Lacking {
        changes: &[],
        tables: "[[pause_storm]]\nhost = \"sink\"\nfrom = \"1 ms\"\nuntil = \"2 ms\"",
        said: "hosts of live runs send no storms of pauses, and live switches have no watchdog: leave [[pause_storm]] and \
               [[watchdog]] out",
    },
    Lacking {
        changes: &[],
        tables: "[switch]\ninput_memory = \"1 MB\"\n[pause]\nkind = \"priority\"\npriorities = \"0\"\nhigh = \"100 KB\"\n\
                 [[watchdog]]\ndetect_after = \"1 ms\"\nrestore_after = \"1 ms\"\naction = \"drop\"",
        said: "hosts of live runs send no storms of pauses, and live switches have no watchdog: leave [[pause_storm]] and \
               [[watchdog]] out",
    },
    Lacking {
        changes: &[],
        tables: "[[failure]]\nlink = \"source1->switch\"\nfrom = \"1 ms\"\nuntil = \"2 ms\"",
        said: "links of live runs do not fail: leave [[failure]] out",
    },
    Lacking {
        changes: &[],
        tables: "[[wred]]\nk_min = \"10 KB\"\nk_max = \"20 KB\"\np_max = 0.1",
        said: "live switches have the scheme's thresholds alone: leave [[wred]] out",
    },
    Lacking {
        changes: &[],
        tables: "[[adapter]]\nonly = \"sink\"\nreceive_buffer = \"150 KB\"\nreceive_rate = \"10 Gb/s\"",
        said: "the host sink has a receive buffer; live hosts read at once: leave receive_buffer and receive_rate out",
    },
    Lacking {
        changes: &[],
        tables: "[feedback]\nkind = \"ideal\"\n[domain]\npriorities = \"0\"",
        said: "a live [domain] wants feedback that crosses the links; set feedback.kind to frames",
    },
];

fn star(changes: &[&str], tables: &str) -> Scenario {
    let scenario =
        Scenario::parse(&format!("{TEN_MS}{STAR}\n{tables}"), "test.toml").and_then(|all| all.with_overrides(changes));
    scenario.unwrap_or_else(|error| panic!("the simulator can run it, with {changes:?} and {tables}: {error}"))
}

/// What a live run says instead of running.
fn refusal(scenario: &Scenario, options: &LiveOptions) -> String {
    match run(scenario, options, &Control::default()) {
        Err(refused @ LiveError::Unsupported(_)) => refused.to_string(),
        Err(other) => panic!("it is no refusal: {other}"),
        Ok(_) => panic!("it ran"),
    }
}

#[test]
fn what_live_runs_lack_is_refused_in_words() {
    for Lacking { changes, tables, said } in LACKING {
        assert_eq!(refusal(&star(changes, tables), &LiveOptions::default()), *said);
    }
}

/// A scenario of a fabric of which links and traffic are given.
fn fabric(links: &str, traffic: &str) -> Scenario {
    let text = format!("duration = \"10 ms\"\n[scheme]\nname = \"none\"\n{links}\n[[traffic]]\n{traffic}\n");
    Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("the simulator can run it: {error}"))
}

const TWO_SPINES: &str = r#"
[topology]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts = 8
rate = "10 Gb/s"
delay = "1 us"
"#;

#[test]
fn ways_that_live_switches_do_not_know_are_refused_in_words() {
    let options = LiveOptions::default();
    let traffic = "arrivals = \"saturated\"\nfrom = \"host1\"\nto = \"host9\"\nframe = \"1500 B\"";
    let spread = fabric(&format!("{TWO_SPINES}\n[routing]\nmultipath = \"frame\""), traffic);
    let said = "the flow host1->host9 has several paths; live switches know one way to each host: set routing.multipath to \"single\"";
    assert_eq!(refusal(&spread, &options), said);
}

/// With a way for each flow by its hash, flows to one host come over both spines; a switch that knows one way to each
/// host would send all of them over one.
#[test]
fn flows_to_one_host_take_one_way() {
    let traffic = "arrivals = \"saturated\"\nfrom = \"host{1..8}\"\nto = \"host9\"\nframe = \"1500 B\"";
    let said = refusal(&fabric(TWO_SPINES, traffic), &LiveOptions::default());
    assert_eq!(
        said,
        "flows to host9 leave leaf1 by several links; live switches know one way to each host: \
         set routing.multipath to \"single\""
    );
}

/// 16384 ports from 49152 up tell flows apart.
#[test]
fn more_flows_than_ports_are_refused_in_words() {
    let flows: String = (0..16_385).map(|_| "source1,sink,1 KB,0 s\\n").collect();
    let list = format!("arrivals = \"list\"\nflows = \"from,to,size,start\\n{flows}\"\nframe = \"1500 B\"");
    let links = "[topology]\nkind = \"star\"\nsources = 1\nrate = \"10 Gb/s\"\nrtt = \"20 us\"\nbuffer = \"1 MB\"";
    let said = "16385 flows are more than ports of UDP and TCP tell apart; have 16384 at most";
    assert_eq!(refusal(&fabric(links, &list), &LiveOptions::default()), said);
}

/// A capture of one frame of 60 octets in the oldest format: from 10.9.0.1 to 10.9.0.2 over UDP.
fn capture() -> PathBuf {
    let mut file = vec![0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0];
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00];
    frame.extend([0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2]);
    frame.extend([0xC0, 0, 0, 9, 0, 26, 0, 0]);
    frame.resize(60, 0);
    file.extend([0, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 60, 0, 0, 0]);
    file.extend(frame);
    let path = std::env::temp_dir().join(format!("qcnlab-refusals-{}.pcap", std::process::id()));
    std::fs::write(&path, file).expect("the folder for temporary files takes it");
    path
}

#[test]
fn captures_as_traffic_are_refused_in_words() {
    let path = capture();
    let traffic = format!("arrivals = \"capture\"\nfile = \"{}\"\nframe = \"1500 B\"", path.display());
    let links = "[topology]\nkind = \"star\"\nsources = 1\nrate = \"10 Gb/s\"\nrtt = \"20 us\"\nbuffer = \"1 MB\"";
    let said = refusal(&fabric(links, &traffic), &LiveOptions::default());
    let _ = std::fs::remove_file(&path);
    assert_eq!(said, "live runs do not replay captures; use another kind of traffic");
}

#[test]
fn a_scale_that_gives_nothing_is_refused_in_words() {
    for scale in [0, 100_001] {
        let said = refusal(&star(&[], ""), &LiveOptions { scale, ..LiveOptions::default() });
        assert_eq!(said, format!("a scale of {scale} is outside 1 to 100000"));
    }
}

/// Only our own senders mark their frames with the class of their reaction point.
#[test]
fn the_kernel_shaper_takes_own_traffic_alone() {
    for traffic in [TrafficSource::None, TrafficSource::Iperf3] {
        let said =
            refusal(&star(&[], ""), &LiveOptions { limiter: LimiterKind::Htb, traffic, ..LiveOptions::default() });
        assert_eq!(
            said,
            "the kernel's shaper tells reaction points apart by marks on our own senders' sockets: use --traffic own, or \
             --limiter adapter"
        );
    }
}

/// 10 ms at a scale of 100 are one second.
#[test]
fn what_iperf3_does_not_make_is_refused_in_words() {
    let options = LiveOptions { traffic: TrafficSource::Iperf3, ..LiveOptions::default() };
    let short = "iperf3 needs a run of 3 s; set a longer duration or a larger --scale";
    assert_eq!(refusal(&star(&[], ""), &options), short);
    let poisson = star(&["duration=40 ms", "traffic.arrivals=poisson", "traffic.rate=1 Gb/s"], "");
    let said = "iperf3 sends TCP, constant and saturated traffic; the flow source1 has another kind: use --traffic own";
    assert_eq!(refusal(&poisson, &options), said);
}

/// A prefix is a part of the name of a file.
#[test]
fn a_prefix_that_leads_elsewhere_is_refused_in_words() {
    let standing = OnceLock::new();
    let stood = stand(&star(&[], ""), &LiveOptions::default(), "../../x", &Control::default(), &standing);
    let said = stood.expect_err("its files would lie elsewhere").to_string();
    assert_eq!(said, "the prefix '../../x' has a '/', and names of network namespaces have none; choose another");
}

/// Each scheme of the registry runs, or is refused by name and with what live frames do not carry.
#[test]
fn schemes_whose_signals_have_no_frames_are_refused_by_name() {
    let signal = |scheme: &str, kind: &str| {
        format!(
            "the scheme {scheme} sends signals of kind {kind}; live frames carry CNMs and queue reports: use another scheme"
        )
    };
    let transport = |scheme: &str| {
        format!("the scheme {scheme} hears of acknowledgements; live adapters do not tell it: use another scheme")
    };
    let mut refused = Vec::new();
    for listing in catalogue() {
        let name = listing.name;
        let frameless = listing.hears.iter().find(|kind| !["CNM", "queue length"].contains(&kind.name()));
        let carrier = if listing.events.is_empty() { "none" } else { "roce" };
        let said = match frameless {
            Some(kind) => signal(name, kind.name()),
            None if !listing.events.is_empty() => transport(name),
            None if name == "qcz" => {
                format!("ports of scheme {name} isolate congesting flows; live switches do not: use another scheme")
            }
            None => continue,
        };
        let text =
            format!("{TEN_MS}{STAR}").replace("name = \"qcn\"\npreset = \"DECK001\"", &format!("name = \"{name}\""));
        let text =
            text.replace("arrivals = \"saturated\"", &format!("arrivals = \"saturated\"\ntransport = \"{carrier}\""));
        let scenario = Scenario::parse(&text, "test.toml");
        assert_eq!(refusal(&scenario.expect("the simulator can run it"), &LiveOptions::default()), said);
        refused.push(name);
    }
    for name in ["dctcp", "dcqcn", "ecm", "fb99"] {
        assert!(refused.contains(&name), "{name} in {refused:?}");
    }
    assert!(!refused.contains(&"qcn"), "{refused:?}");
}
