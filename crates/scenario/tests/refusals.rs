//! Every way a scenario can be wrong gives one message with its position and what to do.
//!
//! `refusals/hotspot.txt` and `refusals/fabric.txt` hold the cases: how each changes the good file of the same name,
//! and the whole message. `- ` goes before the text that is found, `+ ` before what replaces it, `= ` before an override.
//! `QCNLAB_BLESS=1` rewrites the messages and leaves the changes as they are.

use qcnlab_scenario::{Scenario, ScenarioError};
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

const HOTSPOT: &str = include_str!("refusals/hotspot.toml");
const FABRIC: &str = include_str!("refusals/fabric.toml");

/// A change of the good file, as the cases write it.
#[derive(Debug, PartialEq)]
enum Change {
    Edit { find: String, replace: String },
    Override(String),
}

impl Change {
    /// Reads the change from the lines of a case, and gives the lines of its message.
    fn read<'t>(case: &[&'t str]) -> (Change, Vec<&'t str>) {
        let change = case.iter().position(|line| line.starts_with("error")).expect("a message begins with error");
        let (change, message) = case.split_at(change);
        let marked = |mark: char| -> Vec<&str> {
            let lines = change.iter().filter_map(|line| line.strip_prefix(mark));
            lines.map(|text| text.strip_prefix(' ').unwrap_or(text)).collect()
        };
        let change = match &marked('=')[..] {
            [] => Change::Edit { find: marked('-').join("\n"), replace: marked('+').join("\n") },
            [one] => Change::Override((*one).to_owned()),
            several => panic!("one override a case, not {several:?}"),
        };
        (change, message.to_vec())
    }

    /// The refusal of the good file with this change.
    fn refusal(&self, good: &str) -> ScenarioError {
        match self {
            Change::Edit { find, replace } => refusal(good, find, replace),
            Change::Override(assignment) => {
                let scenario = Scenario::parse(good, "file.toml").expect("the good file is good");
                let error = scenario.with_overrides(&[assignment]).expect_err(assignment);
                assert_eq!((error.in_override(), error.file(), error.line()), (Some(&**assignment), None, None));
                error
            }
        }
    }

    fn write(&self, text: &mut String) {
        let mut lines = |mark: &str, of: &str| {
            for line in of.split('\n') {
                writeln!(text, "{}", format!("{mark} {line}").trim_end()).unwrap();
            }
        };
        match self {
            Change::Edit { find, replace } => {
                lines("-", find);
                lines("+", replace);
            }
            Change::Override(assignment) => lines("=", assignment),
        }
    }
}

fn refusal(good: &str, find: &str, replace: &str) -> ScenarioError {
    assert!(good.contains(find), "the good file has no {find}");
    let text = good.replacen(find, replace, 1);
    match Scenario::parse(&text, "file.toml") {
        Err(error) => error,
        Ok(_) => panic!("{replace} should be refused"),
    }
}

/// Compares every message with the one in `refusals/NAME.txt`, which has `count` cases.
fn check(name: &str, good: &str, count: usize) {
    assert!(Scenario::parse(good, "file.toml").is_ok());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/refusals/{name}.txt"));
    let accepted = fs::read_to_string(&path).unwrap();
    let (mut now, mut changed, mut cases) = (String::new(), String::new(), 0);
    for block in accepted.trim_end().split("\n\n") {
        if block.starts_with("##") {
            writeln!(now, "{block}\n").unwrap();
            continue;
        }
        let (change, message) = Change::read(&block.lines().collect::<Vec<_>>());
        let said = change.refusal(good).render();
        if said != message.join("\n") {
            writeln!(changed, "\nwith {change:?}:\n{said}").unwrap();
        }
        change.write(&mut now);
        writeln!(now, "{said}\n").unwrap();
        cases += 1;
    }
    if env::var_os("QCNLAB_BLESS").is_some() {
        fs::write(&path, format!("{}\n", now.trim_end())).unwrap();
        return;
    }
    assert_eq!(cases, count, "cases in {name}.txt");
    assert!(
        changed.is_empty(),
        "messages have changed; if they may, accept them with\n  QCNLAB_BLESS=1 cargo test --release -p qcnlab-scenario \
         --test refusals\n{changed}"
    );
    assert_eq!(format!("{}\n", now.trim_end()), accepted, "{name}.txt is written as the test writes it");
}

#[test]
fn every_fault_of_a_hotspot_is_said() {
    check("hotspot", HOTSPOT, 98);
}

#[test]
fn every_fault_of_a_fabric_is_said() {
    check("fabric", FABRIC, 124);
}

#[test]
fn an_error_gives_its_parts() {
    let error = refusal(HOTSPOT, "rate = \"10 Gb/s\"", "rate = \"10 GB/s\"");
    assert_eq!((error.file(), error.line(), error.column()), (Some("file.toml"), Some(8), Some(8)));
    assert_eq!(error.message(), "'10 GB/s': rates are in bits a second, not in GB/s");
    assert_eq!(error.hint().as_deref(), Some("did you mean \"80 Gb/s\"?"));
    assert!(error.render_styled().contains("\u{1b}["));
}

#[test]
fn columns_count_characters() {
    let error = refusal(HOTSPOT, "[[traffic]]", "[record] # f\u{fc}r sp\u{e4}ter\n\"\u{fc}\" = 1\n[[traffic]]");
    assert_eq!((error.line(), error.column()), (Some(13), Some(1)));
    let error = Scenario::parse("\u{feff}titel = 1", "t").expect_err("a misspelt key after a byte order mark");
    assert_eq!((error.line(), error.column()), (Some(1), Some(1)));
    let error = Scenario::parse("title = \"\u{fc}\u{fc}\" x", "t").expect_err("a stray word");
    assert_eq!((error.line(), error.column()), (Some(1), Some(14)));
}

#[test]
fn a_file_cut_off_anywhere_is_refused_or_whole() {
    let whole = Scenario::parse(HOTSPOT, "file.toml").expect("the good file is good");
    for (at, _) in HOTSPOT.char_indices() {
        if let Ok(cut) = Scenario::parse(&HOTSPOT[..at], "file.toml") {
            assert!(cut.scheme.name() == "qcn" && cut.topology == whole.topology, "cut at {at}");
        }
    }
    let cut = &HOTSPOT[..HOTSPOT.find("33 KB").expect("the set point") + 2];
    let error = Scenario::parse(cut, "file.toml").expect_err("a string without end");
    assert_eq!(
        error.render(),
        r#"
error: invalid basic string, expected `"`
  --> file.toml:26:16
   |
26 | set_point = "33
   |                ^
   |
   = help: the text ends here: it may have been cut off
"#
        .trim_matches('\n')
    );
}

#[test]
fn a_file_that_is_not_utf8_is_refused() {
    let mut octets = HOTSPOT.replacen("10 us", "10 \u{b5}s", 1).into_bytes();
    let at = octets.windows(2).position(|w| w == "\u{b5}".as_bytes()).expect("the micro sign");
    octets.remove(at);
    octets[at] = 0xb5;
    let error = Scenario::from_bytes(&octets, "file.toml").expect_err("Latin-1 is not UTF-8");
    assert_eq!(
        error.render(),
        r#"
error: the file is not UTF-8 text: octet 121 cannot be read
 --> file.toml:9:11
  |
9 | rtt = "10 �s"
  |           ^
  |
  = help: save the file as UTF-8
"#
        .trim_matches('\n')
    );
}

#[test]
fn json_errors_name_the_key() {
    let json = Scenario::parse(HOTSPOT, "file.toml").expect("the good file is good").to_json();
    let wrong = json.replace("\"10 us\"", "10");
    let error = Scenario::from_json(&wrong, "<json>").expect_err("a time without unit");
    assert_eq!(
        error.render(),
        r#"
error: '10' has no unit: a time needs one
--> <json>: topology.rtt
 = help: write the unit, as in "10 us" or "10 ms"
"#
        .trim_matches('\n')
    );
    let error = Scenario::from_json(&json[..40], "<json>").expect_err("half a text");
    assert_eq!(
        (error.line(), error.hint().as_deref()),
        (Some(1), Some("the text ends here: it may have been cut off"))
    );
}

#[test]
fn an_unknown_scenario_suggests_the_nearest() {
    let error = Scenario::shipped("og-hotspot-2src-10g-to-500m-rtt2000us").expect_err("no such scenario");
    assert_eq!(
        error.render(),
        r#"
error: unknown scenario 'og-hotspot-2src-10g-to-500m-rtt2000us'
 |
 = help: did you mean "og-hotspot-2src-10g-to-500m-rtt200us"? `qcnlab list scenarios` shows all
"#
        .trim_matches('\n')
    );
}

/// The message names the CSV file, its line and its column.
#[test]
fn a_bad_line_of_a_flow_file_is_named() {
    let folder = std::env::temp_dir().join(format!("qcnlab-flows-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let csv = folder.join("bad.csv");
    std::fs::write(&csv, "from,to,size,start\nnode1,node5,10 KB,1 ms\nnode2,node5,10 KB,2\n").expect("a file");
    let text = FABRIC.replacen(
        "arrivals = \"constant\"\nfrom = \"node{1..4}\"\nto = \"node5\"\nrate = \"5 Gb/s\"",
        "arrivals = \"list\"\nflows = \"bad.csv\"",
        1,
    );
    let name = folder.join("file.toml").display().to_string();
    let message = Scenario::parse(&text, &name).expect_err("line 3 has a start without a unit").render();
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    let expected = format!(
        r#"error: {}, line 3, column 4 (start): '2' has no unit: a time needs one; write the unit, as in "2 us" or "2 ms"
  --> {name}:30:9
   |
30 | flows = "bad.csv"
   |         ^^^^^^^^^"#,
        csv.display(),
    );
    assert_eq!(message, expected);
}

/// Keys of 60,000 levels: functions that walk them level by level would leave the stack.
#[test]
fn a_key_without_end_is_refused() {
    let key = vec!["a"; 60_000].join(".");
    let said = |result: Result<Scenario, ScenarioError>| result.expect_err("it is too deep").message();
    let wanted = "a key of more than 8 levels";
    assert_eq!(said(Scenario::parse(&format!("{key} = 1\n{HOTSPOT}"), "file.toml")), wanted);
    assert_eq!(said(Scenario::parse(&format!("{HOTSPOT}\n[{key}]\n"), "file.toml")), wanted);
    assert_eq!(said(Scenario::parse(&format!("x = {{ {key} = 1 }}\n{HOTSPOT}"), "file.toml")), wanted);
    let json = format!("{}1{}", "{\"a\":".repeat(60_000), "}".repeat(60_000));
    assert_eq!(said(Scenario::from_json(&json, "file.json")), "recursion limit exceeded");
    let good = Scenario::parse(HOTSPOT, "file.toml").unwrap();
    let refused = good.with_overrides(&[format!("{key}=1")]).expect_err("it is too deep");
    assert_eq!(refused.message(), wanted);
    assert!(refused.render().len() < 1000, "the key is shortened");
    let value = format!("title={{ {key} = 1 }}");
    assert!(good.with_overrides(&[value]).is_ok(), "text that is no TOML is text");
    let dots = "about = \"\"\"\none. two. three. four. five. six. seven. eight. nine... ten\n\"\"\"\n";
    assert!(Scenario::parse(&format!("{dots}{HOTSPOT}"), "file.toml").is_ok(), "points in text are no keys");
}

/// The run of the good file lasts 2.5 s; the second flow would start at its end.
#[test]
fn a_listed_flow_that_never_starts_is_named() {
    let list = |start: &str| {
        let rows = format!("from,to,size,start\\nsource1,sink,1 KB,0 s\\nsource2,sink,1 KB,{start}\\n");
        let traffic = format!("arrivals = \"list\"\nflows = \"{rows}\"");
        Scenario::parse(&HOTSPOT.replacen("arrivals = \"saturated\"", &traffic, 1), "file.toml")
    };
    assert!(list("2.499 s").is_ok());
    let late = list("2.5 s").unwrap_err().message();
    let wanted = "traffic.0.flows, line 3: the flow starts at 2.5 s, but the run ends at 2.5 s: drop the line, or let \
                  the run last longer";
    assert_eq!(late, wanted);
}

#[test]
fn an_empty_file_of_sizes_is_named() {
    let folder = std::env::temp_dir().join(format!("qcnlab-sizes-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let said = |octets: &str| {
        fs::write(folder.join("sizes.csv"), octets).unwrap();
        let traffic = "arrivals = \"flows\"\nsizes = \"sizes.csv\"\nload = 0.5";
        let text = HOTSPOT.replacen("arrivals = \"saturated\"", traffic, 1);
        let error = Scenario::parse(&text, folder.join("file.toml").to_str().unwrap()).unwrap_err();
        error.message().split("sizes.csv").nth(1).unwrap().to_owned()
    };
    assert_eq!(said(""), ", line 1: the file is empty: write a header, size,part");
    let empty = "the table of flow sizes is empty: give a size and the part of flows up to it, the last part 1";
    assert_eq!(said("size,part"), format!(", line 1: {empty}"));
    assert!(said("10 KB").starts_with(", line 1, column 1 (10 KB): unknown column '10 KB'"));
    fs::remove_dir_all(&folder).unwrap();
}
