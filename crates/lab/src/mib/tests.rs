use super::*;
use crate::{Control, Options, Outcome, run};
use qcnlab_sim::LimiterId;
use qcnlab_units::Id;
use std::collections::BTreeSet;
use std::path::Path;

/// h1 and h2 at a, both to h3 behind b; a's port to b is the bottleneck. h4 sends nothing.
const TEXT: &str = r#"
duration = "20 ms"
topology = { kind = "graph", rate = "10 Gb/s", delay = "1 us" }
link = [{ from = "h1, h2", to = "a" }, { from = "a", to = "b" }, { from = "b", to = "h3, h4" }]
switch = { output_buffer = "150 KB" }
domain = { priorities = "3", alternate_priority = 1 }
defence = [{ port = "b->h4", mode = "edge" }, { port = "a->h2", mode = "auto", lldp = false }]
traffic = [{ arrivals = "saturated", from = "h1, h2", to = "h3", frame = "1500 B", priority = 3 }]
feedback = { kind = "frames", frame = "128 B", priority = 6 }
scheme = { name = "qcn", preset = "IEEE_8021Q" }
"#;

fn outcome(overrides: &[&str]) -> Outcome {
    let scenario = Scenario::parse(TEXT, "mib").unwrap().with_overrides(overrides).unwrap();
    let options = Options { jobs: Some(1), ..Options::default() };
    run(&[scenario], &options, &Control::default()).unwrap().remove(0)
}

fn mib(outcome: &Outcome) -> Value {
    let managed = outcome.managed_json().unwrap();
    let text = mib_json(&outcome.scenario, outcome.seed, &managed, 0).unwrap_or_else(|error| panic!("{error}"));
    serde_json::from_str(&text).unwrap()
}

fn node<'a>(mib: &'a Value, name: &str) -> &'a Value {
    mib["nodes"].as_array().unwrap().iter().find(|node| node["node"] == name).expect(name)
}

/// The row of a table whose ifIndex is this.
fn at<'a>(node: &'a Value, table: &str, if_index: u32) -> &'a Value {
    node[table].as_array().unwrap().iter().find(|row| row["index"]["ifIndex"] == if_index).expect(table)
}

fn names(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => object.iter().for_each(|(name, value)| {
            if name.starts_with("ieee8021Cn") {
                into.insert(name.clone());
            }
            names(value, into);
        }),
        Value::Array(array) => array.iter().for_each(|value| names(value, into)),
        _ => {}
    }
}

#[test]
fn every_object_is_there_and_no_other() {
    let mut shown = BTreeSet::new();
    names(&mib(&outcome(&[])), &mut shown);
    // The table of errored ports has no rows.
    let declared: BTreeSet<String> = MIB_OBJECTS.iter().map(|object| object.name.to_owned()).collect();
    let missing: Vec<&String> = declared.difference(&shown).collect();
    assert_eq!(missing, ["ieee8021CnEpIfIndex"]);
    assert!(shown.is_subset(&declared), "{shown:?}");
}

#[test]
fn counts_are_those_of_the_tables() {
    let outcome = outcome(&[]);
    let mib = mib(&outcome);
    let done = &outcome.replications[0].done;
    assert!(done.counters.messages_sent > 10, "{:?}", done.counters);
    let mut cnms = 0;
    for bridge in ["a", "b"] {
        let mut discarded = 0;
        for row in node(&mib, bridge)["cp"].as_array().unwrap() {
            let port =
                &node(&mib, bridge)["interfaces"][row["index"]["ifIndex"].as_u64().unwrap() as usize - 1]["port"];
            let names = &outcome.replications[0].fabric.port_names;
            let number = names.iter().position(|name| port == name).unwrap() as u32;
            let messages = done.trace.messages.port.iter().filter(|at| **at == number).count() as u64;
            assert_eq!(row["ieee8021CnCpTransmittedCnms"], messages);
            let drops = (0..done.trace.drops.port.len()).filter(|at| done.trace.drops.port[*at] == number);
            let frames = drops.map(|at| done.trace.drops.frames[at]).sum::<u64>();
            assert_eq!(row["ieee8021CnCpDiscardedFrames"], frames);
            cnms += messages;
            discarded += frames;
        }
        assert_eq!(node(&mib, bridge)["global"]["ieee8021CnGlobalDiscardedFrames"], discarded);
    }
    assert_eq!(cnms, done.counters.messages_sent);
    let delivered: u64 = done.flows.iter().map(|flow| flow.delivered).sum();
    let passed = at(node(&mib, "b"), "cp", 2)["ieee8021CnCpTransmittedFrames"].as_u64().unwrap();
    // What has left b's queue and is not delivered is on the link: 1 us, less than one frame of 1.2 us.
    assert!(passed >= delivered && passed - delivered <= 1, "{passed} {delivered}");
}

/// The defaults of the MIB are those of the preset; the units are those of the MIB and of the kernel's header.
#[test]
fn parameters_have_the_units_of_each_side() {
    let mib = mib(&outcome(&[]));
    let point = at(node(&mib, "b"), "cp", 2);
    let of_point = |name: &str| point[format!("ieee8021CnCp{name}")].clone();
    assert_eq!((of_point("QueueSizeSetPoint"), of_point("FeedbackWeight")), (26_000.into(), 1.into()));
    assert_eq!((of_point("MinSampleBase"), of_point("MinHeaderOctets")), (150_000.into(), 0.into()));
    assert!(of_point("Identifier").as_str().unwrap().starts_with("0200"), "{point}");
    let group = at(node(&mib, "h1"), "rp_group", 1);
    let values: Vec<u64> =
        ["TimeReset", "ByteReset", "Threshold", "MaxRate", "AiRate", "HaiRate", "Gd", "MinDecFac", "MinRate"]
            .map(|name| group[format!("ieee8021CnRpg{name}")].as_u64().unwrap())
            .into();
    assert_eq!(values, [15, 150_000, 5, 10_000, 5, 50, 7, 50, 5]);
    let linux = &node(&mib, "h1")["linux"][0]["ieee_qcn"];
    let third = |name: &str| linux[name][3].clone();
    assert_eq!((third("rpg_time_reset"), third("rpg_min_rate")), (15_000.into(), 5_000_000.into()));
    assert_eq!(
        (third("rpg_max_rate"), third("rpg_gd"), third("rpg_min_dec_fac")),
        (10_000.into(), 7.into(), 50.into())
    );
    assert_eq!((linux["rpg_enable"].to_string(), third("cndd_state_machine")), ("[0,0,0,1,0,0,0,0]".into(), 3.into()));
    assert!(linux["rpg_gd"][2].is_null());
}

#[test]
fn modes_have_the_numbers_of_each_side() {
    let mib = mib(&outcome(&[]));
    let mode = |host: &str, if_index: u32, object: &str| {
        at(node(&mib, host), "port_priority", if_index)[format!("ieee8021CnPortPri{object}")].clone()
    };
    // b's ports: a, h3, h4.
    assert_eq!(mode("b", 2, "AutoDefenseMode")["name"], "cptInteriorReady");
    assert_eq!(mode("b", 2, "DefModeChoice")["value"], 3);
    assert_eq!(
        (mode("b", 3, "AdminDefenseMode")["value"].clone(), mode("b", 3, "DefModeChoice")["value"].clone()),
        (4.into(), 1.into())
    );
    assert_eq!(mode("b", 3, "AutoDefenseMode")["unanswered"], "the mode is fixed");
    assert_eq!(mode("b", 3, "AlternatePriority"), 1);
    // a says nothing to h2, which is an edge: 4 in the MIB, 1 in Linux.
    assert_eq!(mode("a", 2, "LldpInstanceChoice")["name"], "cnlNone");
    assert_eq!(mode("h2", 1, "AutoDefenseMode")["value"], 4);
    let linux = &node(&mib, "h2")["linux"][0]["ieee_qcn"];
    assert_eq!((linux["cndd_state_machine"][3].clone(), linux["rppp_max_rps"][3].clone()), (1.into(), 1.into()));
    assert_eq!(node(&mib, "a")["component_priority"][0]["ieee8021CnComPriAutoAltPri"], 2);
    assert_eq!(node(&mib, "a")["component_priority"][0]["ieee8021CnComPriAlternatePriority"], 1);
}

/// h1's reaction point from its first message on: the run's 20 ms less the time until then.
#[test]
fn reaction_points_are_counted_with_their_time() {
    let outcome = outcome(&[]);
    let mib = mib(&outcome);
    let rows = &outcome.replications[0].done.limiters;
    for (host, limiter) in [("h1", rows[LimiterId::new(0)]), ("h2", rows[LimiterId::new(1)])] {
        let row = at(node(&mib, host), "rp_port_priority", 1);
        assert_eq!(row["ieee8021CnRpPortPriCreatedRps"], limiter.created);
        assert_eq!(row["ieee8021CnRpPortPriCentiseconds"], limiter.limited.ps() / 10_000_000_000);
        assert!(limiter.created >= 1 && limiter.limits);
        // 1.9 of 2 centiseconds at most, rounded down; the first message comes after some samples of 150 KB.
        assert_eq!(row["ieee8021CnRpPortPriCentiseconds"], 1);
    }
    let idle = at(node(&mib, "h4"), "rp_port_priority", 1);
    assert_eq!(
        (idle["ieee8021CnRpPortPriCreatedRps"].clone(), idle["ieee8021CnRpPortPriCentiseconds"].clone()),
        (0.into(), 0.into())
    );
    let stats = &node(&mib, "h1")["linux"][0]["ieee_qcn_stats"];
    assert_eq!(stats["rppp_rp_centiseconds"][3], 1);
}

/// A Counter32 wraps, a Counter64 does not; 2^32 + 7 creations are 7.
#[test]
fn created_reaction_points_wrap_at_32_bits() {
    let outcome = outcome(&[]);
    let managed = outcome.managed_json().unwrap();
    let mut value: Value = serde_json::from_str(&managed).unwrap();
    value["replications"][0]["reaction_points"]["created_rps"][0] = ((1u64 << 32) + 7).into();
    value["replications"][0]["reaction_points"]["limited_ps"][0] =
        50_000_000_000_000_000_000_u128.try_into().unwrap_or(u64::MAX).into();
    let text = mib_json(&outcome.scenario, 1, &value.to_string(), 0).unwrap();
    let mib: Value = serde_json::from_str(&text).unwrap();
    let row = at(node(&mib, "h1"), "rp_port_priority", 1);
    assert_eq!(row["ieee8021CnRpPortPriCreatedRps"], 7);
    assert_eq!(row["ieee8021CnRpPortPriCentiseconds"], u64::MAX / 10_000_000_000);
}

#[test]
fn what_cannot_be_answered_says_why() {
    let odd = outcome(&[
        "scheme.cp.w=3",
        "scheme.rp.ai_rate=2.5 Mb/s",
        "scheme.rp.time_reset=500 us",
        "domain.outside=h4",
        "defence.0.port=b->a",
    ]);
    let mib = mib(&odd);
    let point = at(node(&mib, "a"), "cp", 3);
    assert_eq!(point["ieee8021CnCpFeedbackWeight"]["unanswered"], "scheme.cp.w is 3: no power of two");
    let group = at(node(&mib, "h1"), "rp_group", 1);
    assert_eq!(group["ieee8021CnRpgAiRate"]["unanswered"], "scheme.rp.ai_rate is 2.5 Mb/s: no whole number of Mb/s");
    assert_eq!(
        group["ieee8021CnRpgTimeReset"]["unanswered"],
        "scheme.rp.time_reset is 500 us: no whole number of milliseconds"
    );
    assert_eq!(node(&mib, "h1")["linux"][0]["ieee_qcn"]["rpg_time_reset"][3], 500);
    assert!(node(&mib, "h4")["unanswered"].as_str().unwrap().contains("takes no part"));
    assert!(node(&mib, "h4").get("rp_port_priority").is_none());
    assert!(node(&mib, "h1")["global"]["ieee8021CnGlobalCnmTransmitPriority"]["unanswered"].is_string());
    assert_eq!(node(&mib, "b")["global"]["ieee8021CnGlobalCnmTransmitPriority"], 6);
}

#[test]
fn runs_without_a_domain_answer_what_they_can() {
    let text = TEXT.lines().filter(|line| !line.starts_with("domain") && !line.starts_with("defence"));
    let scenario = Scenario::parse(&text.collect::<Vec<_>>().join("\n"), "plain").unwrap();
    let options = Options { jobs: Some(1), ..Options::default() };
    let outcome = run(&[scenario], &options, &Control::default()).unwrap().remove(0);
    let mib = mib(&outcome);
    assert!(at(node(&mib, "a"), "cp", 3)["ieee8021CnCpTransmittedCnms"].as_u64().unwrap() > 10);
    let row = at(node(&mib, "b"), "port_priority", 2);
    assert!(row["ieee8021CnPortPriAutoDefenseMode"]["unanswered"].as_str().unwrap().contains("no [domain]"));
}

#[test]
fn counts_that_do_not_fit_are_refused() {
    let outcome = outcome(&[]);
    let managed = outcome.managed_json().unwrap();
    let refusal =
        |managed: &str, replication: u32| mib_json(&outcome.scenario, 1, managed, replication).unwrap_err().to_string();
    for damaged in [
        "",
        "{}",
        "[1]",
        &managed.replace("\"format\":1", "\"format\":9"),
        &managed.replace("a->b", "x->y"),
        &managed.replace("discarded_frames", "dropped"),
    ] {
        assert!(refusal(damaged, 0).contains("run the scenario again"), "{damaged}");
    }
    assert_eq!(refusal(&managed, 3), "the run has no replication 3; it has 1, counted from 0");
    let ecm = outcome.scenario.with_overrides(&["scheme.name=ecm", "scheme.preset=DECK001"]);
    assert!(ecm.is_err(), "a domain wants messages");
}

#[test]
fn the_documentation_has_the_table_of_objects() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/mib.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let table = mib_objects_markdown();
    if std::env::var_os("QCNLAB_BLESS").is_some() {
        let start = page.find("| object, without").expect("a table");
        let end = start + page[start..].find("\n\n").expect("an end of the table") + 1;
        std::fs::write(&path, format!("{}{table}{}", &page[..start], &page[end..])).unwrap();
        return;
    }
    assert!(page.contains(&table), "docs/reference/mib.md: run this test with QCNLAB_BLESS=1");
}
