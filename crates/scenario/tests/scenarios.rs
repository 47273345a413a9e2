//! Scenarios survive their own text, and overrides do what they say.

use proptest::prelude::*;
use qcnlab_scenario::{Arrivals, ConstantStream, Feedback, Scenario, Shipped, Star, Topology, shipped};
use qcnlab_schemes::registry::{Config, catalogue};
use qcnlab_units::{BitRate, Bytes, Id, Span};

fn read(name: &str) -> Scenario {
    Scenario::shipped(name).unwrap_or_else(|error| panic!("{error}"))
}

fn with(scenario: &Scenario, overrides: &[&str]) -> Scenario {
    scenario.with_overrides(overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn star(scenario: &Scenario) -> &Star {
    match &scenario.topology {
        Topology::Star(star) => star,
        other => panic!("a star, not {other:?}"),
    }
}

fn survives(scenario: &Scenario) {
    let (toml, json) = (scenario.to_toml(), scenario.to_json());
    let from_toml = Scenario::parse(&toml, "again.toml").unwrap_or_else(|error| panic!("{error}\n{toml}"));
    let from_json = Scenario::from_json(&json, "again.json").unwrap_or_else(|error| panic!("{error}\n{json}"));
    for again in [from_toml, from_json] {
        assert_eq!(&again, scenario);
        assert_eq!(again.to_toml(), toml);
        assert_eq!(again.hash(), scenario.hash());
    }
}

const HOTSPOT: &str = "og-hotspot-2src-10g-to-500m-rtt10us";

#[test]
fn every_shipped_scenario_is_good_and_survives_its_own_text() {
    let all = shipped();
    assert!(all.len() >= 8);
    for Shipped { name, folder, text } in all {
        assert!(text.starts_with("#:schema ../qcnlab.schema.json\n"), "{name} names its schema");
        assert!(!folder.is_empty(), "{name} lies in a folder");
        let scenario = read(name);
        assert_eq!(scenario.name, name);
        assert!(!scenario.title.is_empty(), "{name} has a title");
        survives(&scenario);
    }
}

#[test]
fn a_shipped_file_says_what_its_scenario_says() {
    for shipped in shipped() {
        let scenario = shipped.scenario().expect("it is good");
        let [title, about, source, missing] = shipped.says(["title", "about", "source", "no_such_key"]);
        assert_eq!(title.unwrap_or_default(), scenario.title, "{}", shipped.name);
        assert_eq!(about, scenario.about, "{}", shipped.name);
        assert_eq!(source, scenario.source, "{}", shipped.name);
        assert_eq!(missing, None);
    }
}

/// What the hotspot's traffic is, and what it is for schemes that hear of acknowledgements.
const PLAIN: &str = "traffic.transport=none";
const OVER_ROCE: &str = "traffic.transport=roce";

#[test]
fn every_scheme_and_preset_survives() {
    let base = with(&read(HOTSPOT), &["topology.buffer=2 MB"]);
    for scheme in qcnlab_schemes::registry::catalogue() {
        for preset in &scheme.presets {
            let preset_name = preset.name;
            let (name, preset) = (format!("scheme.name={}", scheme.name), format!("scheme.preset={}", preset.name));
            let hears = !Config::find(scheme.name, Some(preset_name)).unwrap().events().is_empty();
            survives(&with(&base, &[&name, &preset, if hears { OVER_ROCE } else { PLAIN }]));
        }
    }
}

#[test]
fn the_resolved_form_is_this() {
    let scenario = with(&read(HOTSPOT), &["scheme.name=none"]);
    let expected = r#"title = "Two sources at an output-generated hotspot, 10 Gb/s to 0.5 Gb/s for 1 s, RTT 10 us"
about = "Two sources share a 10 Gb/s link whose service drops to 0.5 Gb/s for one second. Published time to recover after the hotspot: QCN 94 ms, ECM 3 ms with Gi 0.53333."
source = "deck 001, Baseline"
duration = "2.5 s"
drain = false
warmup = "500 ms"
replications = 20
seed = 1
ties = "drawn"
clock_tolerance_ppm = 0

[topology]
kind = "star"
sources = 2
rate = "10 Gb/s"
bottleneck_rate = "10 Gb/s"
rtt = "10 us"
sink_delay = "5 us"
buffer = "150 KB"
frame_overhead = "0 B"

[[traffic]]
arrivals = "saturated"
transport = "none"
from = "source*"
to = "sink"
spread = "each"
frame = "1500 B"
priority = 0
start = "0 s"
stagger = "0 s"
start_jitter = "12 us"
controlled = true
cn_tag = true

[[hotspot]]
port = "switch->sink"
from = "1 s"
until = "2 s"
rate = "500 Mb/s"

[feedback]
kind = "ideal"

[scheme]
name = "none"
preset = "DEFAULT"

[record]
queue_every = "100 us"
rates_every = "1 ms"
throughput_bin = "1 ms"
recovery_hold = "10 ms"
rec95s_hold = "5 ms"
onset_hold = "10 ms"
tables = true
waits = false
"#;
    assert_eq!(scenario.to_toml(), expected);
}

#[test]
fn words_with_awkward_characters_survive() {
    let mut scenario = read(HOTSPOT);
    scenario.title = "a \"b\" \\ c\n\td \u{7f} \u{1} \u{b5} \u{1f600} '''".to_owned();
    let again = Scenario::parse(&scenario.to_toml(), "again.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.title, scenario.title);
}

#[test]
fn defaults_follow_overrides_of_what_they_derive_from() {
    let base = read(HOTSPOT);
    let star = star(&base);
    assert_eq!((star.sink_delay, star.bottleneck_rate), (Span::from_us(5), BitRate::gbps(10)));
    let changed = with(&base, &["topology.rtt=200 us", "topology.rate='40 Gb/s'"]);
    let star = self::star(&changed);
    assert_eq!((star.sink_delay, star.bottleneck_rate), (Span::from_us(100), BitRate::gbps(40)));
}

#[test]
fn overrides_reach_list_entries_with_and_without_a_number() {
    let base = read(HOTSPOT);
    let changed = with(&base, &["hotspot.0.rate=1 Gb/s", "traffic.frame=312 B"]);
    assert_eq!((changed.hotspots[0].rate, changed.traffic[0].frame), (BitRate::gbps(1), Bytes::new(312)));
    let two = Scenario::parse(
        &format!("{}\n[[hotspot]]\nfrom = \"2.1 s\"\nuntil = \"2.2 s\"\nrate = \"1 Gb/s\"\n", base.to_toml()),
        "two.toml",
    );
    let two = two.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(with(&two, &["hotspot.1.rate=2 Gb/s"]).hotspots[1].rate, BitRate::gbps(2));
    let error = two.with_overrides(&["hotspot.rate=2 Gb/s"]).expect_err("which of two?");
    assert_eq!(error.hint().as_deref(), Some("entries are counted from 0: hotspot.0 to hotspot.1"));
}

#[test]
fn the_later_override_holds_and_overrides_add_up() {
    let base = read(HOTSPOT);
    assert_eq!(with(&base, &["seed=3", "seed=4"]).seed, 4);
    let twice = with(&with(&base, &["seed=3"]), &["replications=2"]);
    assert_eq!((twice.seed, twice.replications, twice.name.as_str()), (3, 2, HOTSPOT));
    assert_eq!(with(&base, &[]), base);
}

#[test]
fn another_scheme_drops_the_old_ones_parameters() {
    let tuned = format!("{}\n[scheme.rp]\ntime_reset = \"7 ms\"\n", text(HOTSPOT));
    let tuned = Scenario::parse(&tuned, "tuned.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_ne!(tuned, read(HOTSPOT));
    let ecm = with(&tuned, &["scheme.name=ecm"]);
    assert_eq!(ecm, with(&read(HOTSPOT), &["scheme.name=ecm"]));
    assert_eq!(with(&tuned, &["scheme.name=qcn"]), tuned, "the same scheme keeps them");
    let order = with(&tuned, &["scheme.rp.time_reset=5 ms", "scheme.name=qcn_timer"]);
    assert!(order.to_toml().contains("time_reset = \"5 ms\""), "parameters may be given before the name");
}

fn text(name: &str) -> &'static str {
    shipped().into_iter().find(|s| s.name == name).map_or("", |s| s.text)
}

#[test]
fn the_hash_counts_what_changes_a_run() {
    let base = read(HOTSPOT);
    assert_eq!(base.hash().len(), 64);
    for same in ["seed=9", "replications=3", "title=Other", "about=Other", "topology.sink_delay=5 us"] {
        assert_eq!(with(&base, &[same]).hash(), base.hash(), "{same}");
    }
    for other in ["topology.rtt=11 us", "scheme.cp.w=3", "traffic.cn_tag=false", "record.queue_every=1 ms"] {
        assert_ne!(with(&base, &[other]).hash(), base.hash(), "{other}");
    }
}

#[test]
fn flows_expand_wildcards_and_stagger() {
    let base = with(&read("w1-10-senders-cbr"), &["traffic.from=source1*"]);
    let flows = base.flows();
    let names: Vec<&str> = flows.iter().map(|f| &*f.name).collect();
    assert_eq!(names, ["source1", "source10"]);
    let starts: Vec<u64> = flows.iter().map(|f| f.start.ps()).collect();
    assert_eq!(starts, [0, 1_142_857], "the i-th source matched starts i staggers later");
    assert_eq!(flows[1].source_index.number(), 9);
    for (pattern, count) in [("*", 10), ("source10", 1), ("s*e*0", 1), ("*1", 1), ("source??", 0), ("*x*", 0)] {
        let flows = with_pattern(pattern);
        assert_eq!(flows, (count > 0).then_some(count), "{pattern}");
    }
}

fn with_pattern(pattern: &str) -> Option<usize> {
    let scenario = read("w1-10-senders-cbr").with_overrides(&[format!("traffic.from={pattern}")]).ok()?;
    Some(scenario.flows().len())
}

#[test]
fn kinds_bring_their_own_keys() {
    let base = read(HOTSPOT);
    assert_eq!(base.feedback, Feedback::Ideal);
    assert_eq!(
        with(&base, &["feedback.kind=frames"]).feedback,
        Feedback::Frames { frame: Bytes::new(64), priority: 7 }
    );
    let constant = with(&base, &["traffic.arrivals=constant", "traffic.rate=9 Gb/s"]);
    assert_eq!(constant.traffic[0].arrivals, Arrivals::Constant(ConstantStream { rate: BitRate::gbps(9) }));
    survives(&constant);
}

#[test]
fn flows_of_every_kind_survive_and_files_become_their_text() {
    let folder = std::env::temp_dir().join(format!("qcnlab-lists-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{error}"));
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap_or_else(|e| panic!("{e}"));
    write("flows.csv", "from,to,size,start,class\nhost1,host2,\"1_500 B\",1 us,\nhost3,host1,64 KB,2 us,5\n");
    write("sizes.csv", "size,part\n1 KB,0.5\n100 KB,1\n");
    let text = r#"
title = "Finite flows"
duration = "10 ms"
[topology]
kind = "fat_tree"
k = 4
rate = "10 Gb/s"
delay = "1 us"
[routing]
multipath = "frame"
[adapter]
max_rps = 2
[[traffic]]
arrivals = "list"
flows = "flows.csv"
frame = "1500 B"
[[traffic]]
arrivals = "flows"
from = "*"
to = "*"
sizes = "sizes.csv"
load = 0.1
frame = "1500 B"
[[traffic]]
arrivals = "incast"
from = "*"
to = "host16"
size = "20 KB"
senders = 15
period = "2 ms"
frame = "1500 B"
[scheme]
name = "none"
"#;
    let name = folder.join("lists.toml");
    let scenario = Scenario::parse(text.trim_start(), &name.display().to_string()).unwrap_or_else(|e| panic!("{e}"));
    let missing = with_text(text).expect_err("no such file beside a text").message();
    assert!(missing.starts_with("'flows.csv' cannot be read"), "{missing}");
    write("flows.csv", "from,to,size,start\nhost1,host20,64 KB,2 us\n");
    let bad = Scenario::parse(text.trim_start(), &name.display().to_string()).expect_err("no host20").message();
    assert!(bad.contains("flows.csv, line 2, column 2 (to): 'host20' is no host"), "{bad}");
    std::fs::remove_dir_all(&folder).unwrap_or_else(|error| panic!("{error}"));
    survives(&scenario);
    let flows = scenario.flows();
    assert_eq!((&*flows[0].name, flows[0].size, flows[0].class), ("host1->host2", Some(Bytes::new(1500)), None));
    assert_eq!((&*flows[1].name, flows[1].class), ("host3->host1", Some(5)));
    assert_eq!(flows.iter().filter(|flow| flow.traffic == 2).count(), 5 * 15);
}

fn with_text(text: &str) -> Result<Scenario, qcnlab_scenario::ScenarioError> {
    Scenario::parse(text.trim_start(), "<text>")
}

#[test]
fn one_table_stands_for_a_list_of_one() {
    let star = read(HOTSPOT);
    let one = with(&star, &["switch.latency=1 us"]);
    assert_eq!((one.switches.len(), one.switches[0].latency), (1, Span::from_us(1)));
    survives(&one);
    assert_eq!(with(&one, &["switch.latency=2 us"]).switches[0].latency, Span::from_us(2));
    assert_ne!(one.hash(), star.hash());
    let same = ["traffic.priority=0", "traffic.spread=each", "pause.kind=none", "routing.multipath=flow"];
    assert_eq!(with(&star, &same).hash(), star.hash(), "what is the default changes no run");
}

#[test]
fn hotspots_come_in_order_of_time() {
    let text = format!(
        "{}\n[[hotspot]]\nfrom = \"0.6 s\"\nuntil = \"1 s\"\nrate = \"1 Gb/s\"\n",
        text(HOTSPOT).replace("[scheme]", "[record]\n\n[scheme]")
    );
    let scenario = Scenario::parse(&text, "two.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.hotspots[0].from, Span::from_ms(600));
    survives(&scenario);
}

/// An override that is legal on the hotspot scenario, whatever stands beside it.
fn legal() -> impl Strategy<Value = String> {
    prop_oneof![
        (1u64..400).prop_map(|n| format!("topology.rtt={n} us")),
        (1u64..=1_000_000).prop_map(|n| format!("topology.rtt={n} ps")),
        (200_000u64..10_000_000).prop_map(|n| format!("topology.buffer={n} B")),
        (1u64..2_000_000_000_000).prop_map(|n| format!("topology.rate={n} b/s")),
        (1u32..200).prop_map(|n| format!("topology.sources={n}")),
        (64u64..65_536).prop_map(|n| format!("traffic.frame={n} B")),
        (1u64..1_999_999_999_999).prop_map(|n| format!("hotspot.from={n} ps")),
        (1u64..1_000_000).prop_map(|n| format!("hotspot.rate={n} Kb/s")),
        any::<bool>().prop_map(|b| format!("traffic.cn_tag={b}")),
        any::<i64>().prop_map(|n| format!("seed={}", n.unsigned_abs() / 2)),
        (0.001f64..100.0).prop_map(|x| format!("scheme.cp.w={x}")),
        (1u32..1000).prop_map(|n| format!("scheme.rp.gd=1/{}", n + 1)),
        (1u64..30_000).prop_map(|n| format!("scheme.rp.time_reset={n} us")),
        "[ -~\u{e4}\u{b5}\u{1F600}]{0,30}".prop_map(|title| format!("title=x{title}")),
        Just("feedback.kind=frames".to_owned()),
        Just("record.tables=false".to_owned()),
    ]
}

proptest! {
    #[test]
    fn any_legal_scenario_survives_its_own_text(overrides in prop::collection::vec(legal(), 0..8)) {
        survives(&read(HOTSPOT).with_overrides(&overrides).unwrap_or_else(|error| panic!("{error}")));
    }

    #[test]
    fn no_text_makes_it_panic(text in "(\\[\\[?[a-z.]{0,8}\\]?\\]\n|[a-z\"' =0-9.\\[\\]{}\n\u{e4}]{0,12}){0,12}") {
        if let Err(error) = Scenario::parse(&text, "any.toml") {
            prop_assert!(error.render().starts_with("error: "));
        }
        if let Err(error) = Scenario::from_json(&text, "any.json") {
            prop_assert!(error.render().starts_with("error: "));
        }
    }

    #[test]
    fn no_octets_make_it_panic(octets in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Err(error) = Scenario::from_bytes(&octets, "any.toml") {
            prop_assert!(error.render().starts_with("error: "));
        }
    }

    #[test]
    fn no_override_makes_it_panic(key in "[a-z_.0-9\u{e4}]{0,20}", value in "[ -~\u{e4}]{0,12}") {
        if let Err(error) = read(HOTSPOT).with_overrides(&[format!("{key}={value}")]) {
            prop_assert!(error.render().starts_with("error: "));
        }
    }
}

/// Both presets of DCQCN count octets; "none" leaves the timer alone, and stands in the resolved text too, since the
/// preset that is named there would set it again.
#[test]
fn a_parameter_that_a_preset_sets_can_be_left_out() {
    let dcqcn = with(&read(HOTSPOT), &["scheme.name=dcqcn"]);
    let timer = with(&dcqcn, &["scheme.rp.byte_reset=none"]);
    assert!(dcqcn.to_toml().contains("byte_reset = \"10 MB\"\n"), "{}", dcqcn.to_toml());
    assert!(timer.to_toml().contains("byte_reset = \"none\"\n"), "{}", timer.to_toml());
    assert!(timer != dcqcn && timer.hash() != dcqcn.hash());
    survives(&timer);
    let quoted = with(&dcqcn, &["scheme.rp.byte_reset=\"none\""]);
    assert_eq!(quoted, timer);
    for refused in ["scheme.rp.ai_rate=none", "topology.rtt=none", "record.bottleneck=none"] {
        assert!(dcqcn.with_overrides(&[refused]).is_err(), "{refused} is not left out");
    }
}

/// "none" stands for every parameter of every scheme that may be unset, and each such scenario survives its text.
#[test]
fn every_optional_parameter_can_be_left_out() {
    let mut count = 0;
    for scheme in catalogue() {
        for (role, fields) in [("cp", scheme.cp_fields), ("rp", scheme.rp_fields)] {
            for field in fields.iter().filter(|field| field.optional) {
                let (name, key) =
                    (format!("scheme.name={}", scheme.name), format!("scheme.{role}.{}=none", field.name));
                let hears = !Config::find(scheme.name, None).unwrap().events().is_empty();
                let scenario = with(&read(HOTSPOT), &[&name, &key, if hears { OVER_ROCE } else { PLAIN }]);
                let (table, at) = match role {
                    "cp" => (scenario.scheme.cp(), scheme.cp_fields),
                    _ => (scenario.scheme.rp(), scheme.rp_fields),
                };
                let index = at.iter().position(|each| each.name == field.name).unwrap();
                assert_eq!(table.get(index), None, "{name} {key}");
                survives(&scenario);
                count += 1;
            }
        }
    }
    assert!(count > 10, "{count} of them");
}

/// 10 Gb/s for a round trip of 2 x 1 us is 2500 octets; with three frames of 1500 and a pause frame of 64 that is a
/// headroom of 7064 of the 150,000 octets of memory, and the low watermark lies 10 KB below the high one.
#[test]
fn the_resolved_text_says_derived_watermarks_and_can_be_read() {
    let text = r#"
        duration = "1 ms"
        [topology]
        kind = "switch"
        hosts = 3
        rate = "10 Gb/s"
        delay = "1 us"
        [[switch]]
        input_memory = "150 KB"
        [pause]
        kind = "link"
        [[traffic]]
        arrivals = "saturated"
        from = "host{1..2}"
        to = "host3"
        frame = "1500 B"
        [scheme]
        name = "none"
    "#;
    let scenario = with_text(text).unwrap();
    let wanted = "\n# Derived watermarks, for each link into a node and each class that stops by itself:\n\
                  # high 142936 B, low 132936 B, headroom 7064 B at switch\n";
    assert!(scenario.to_toml().ends_with(wanted), "{}", scenario.to_toml());
    survives(&scenario);
    let without = with(&scenario, &["pause.kind=none"]);
    assert!(!without.to_toml().contains('#'), "{}", without.to_toml());
}
