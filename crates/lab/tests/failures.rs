//! Links that fail while others are down, and routes that hear of it after a while.

use qcnlab_lab::{Control, Options, Replication, run};
use qcnlab_scenario::Scenario;
use qcnlab_sim::FlowId;
use qcnlab_units::Id;

/// From a to b over m, n or o, the first that is there; routes hear of a change 200.5 us later.
const THREE_WAYS: &str = r#"
title = "Three ways"
duration = "9 ms"
[topology]
kind = "graph"
rate = "10 Gb/s"
delay = "1 us"
[[link]]
from = "a"
to = "s"
[[link]]
from = "s"
to = "{m,n,o}"
[[link]]
from = "{m,n,o}"
to = "t"
[[link]]
from = "t"
to = "b"
[routing]
multipath = "single"
converges_after = "200.5 us"
[[traffic]]
arrivals = "saturated"
from = "a"
to = "b"
frame = "1500 B"
[scheme]
name = "none"
"#;

fn fails(failures: &[(&str, &str, &str)]) -> Replication {
    let one = |(link, from, until): &(&str, &str, &str)| {
        let until = if until.is_empty() { String::new() } else { format!("until = \"{until}\"\n") };
        format!("[[failure]]\nlink = \"{link}\"\nfrom = \"{from}\"\n{until}")
    };
    let ways = THREE_WAYS.replace("{m,n,o}", "m, n, o");
    let text = format!("{ways}{}", failures.iter().map(one).collect::<String>());
    let scenario = Scenario::parse(&text, "ways.toml").unwrap_or_else(|error| panic!("{error}"));
    let outcomes = run(&[scenario], &Options::default(), &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    outcomes.into_iter().next().and_then(|outcome| outcome.replications.into_iter().next()).expect("one replication")
}

/// Frame k leaves a from 1.2 k us on and is at the end of the second link by 1.2 (k + 2) + 2 us. The way by m is down from
/// 1 ms on: frame 830 is the first that is lost, and 1000 the last that leaves before 1200.5 us. By n from then on; that
/// way fails at 2000.5 us, with frame 1664, and 1834 is the last before 2201 us. Then by o, until n is back at 4 ms, and
/// 200.5 us later by n again; m is back at 5 ms, and so is the flow, 200.5 us later: it does not hear of o and n, which
/// fail after it has left them.
#[test]
fn routes_go_round_all_links_that_are_down() {
    let failures =
        [("n->s", "6 ms", "7 ms"), ("s->o", "4.5 ms", ""), ("s->n", "2.0005 ms", "4 ms"), ("s->m", "1 ms", "5 ms")];
    let lost = 1000 - 829 + 1834 - 1663;
    let mut turned = failures;
    turned.reverse();
    for failures in [failures, turned] {
        let done = fails(&failures).done;
        assert_eq!((done.flows[FlowId::new(0)].dropped, done.counters.link_drops), (lost, lost), "{failures:?}");
    }
}

/// The way by n fails at 1.1 ms, before routes have heard of m: they go to n at 1200.5 us all the same, and to o at 1300.5
/// us. Frames 830 to 1083 are lost. If m is back at 1.15 ms, frame 957 is the first to come to s by then, at 1150.6 us,
/// and those up to 1000 go by m: 830 to 956 are lost there, and 1001 to 1083 at n. By m again from 1350.5 us on.
#[test]
fn routes_hear_of_each_failure_as_late_as_of_the_first() {
    for (back, lost) in [("", 1083 - 829), ("1.15 ms", 956 - 829 + 1083 - 1000)] {
        let failures = [("s->m", "1 ms", back), ("n->t", "1.1 ms", "")];
        for failures in [failures, [failures[1], failures[0]]] {
            let done = fails(&failures).done;
            assert_eq!((done.flows[FlowId::new(0)].dropped, done.counters.link_drops), (lost, lost), "{failures:?}");
        }
    }
}

/// The link fails a second time at the instant at which it comes back: one failure from 1 to 3 ms.
#[test]
fn a_link_may_fail_as_soon_as_it_is_back() {
    let once = fails(&[("s->m", "1 ms", "3 ms")]);
    let twice = fails(&[("m->s", "2 ms", "3 ms"), ("s->m", "1 ms", "2 ms")]);
    assert_eq!(twice.done.flows, once.done.flows);
    assert_eq!(once.done.counters.link_drops, 1000 - 829);
}

/// Two failures of one link at one time are one message, whichever is listed first and whichever direction it names.
#[test]
fn a_link_that_is_down_does_not_fail() {
    let refused = |first: &str, second: &str| {
        let failure = |text: &str| format!("[[failure]]\n{text}\n");
        let text = format!("{}{}{}", THREE_WAYS.replace("{m,n,o}", "m, n, o"), failure(first), failure(second));
        Scenario::parse(&text, "ways.toml").map_or_else(|error| error.to_string(), |_| String::new())
    };
    let (early, late) = ("link = \"s->m\"\nfrom = \"1 ms\"\nuntil = \"3 ms\"", "link = \"m->s\"\nfrom = \"2 ms\"");
    for (first, second, begins, link) in [(early, late, "2 ms", "m->s"), (late, early, "1 ms", "s->m")] {
        let said = refused(first, second);
        assert!(said.contains(begins) && said.contains(link) && said.contains("let it come back before"), "{said}");
    }
    assert_eq!(refused(early, &late.replace("2 ms", "3 ms")), "");
    assert_eq!(refused(&late.replace("2 ms", "3 ms"), early), "");
}
