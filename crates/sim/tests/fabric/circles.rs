//! Links that wait for each other, and links that only wait.

use super::TEN;
use super::net::{self, Net, greedy};
use qcnlab_sim::{Ending, PauseScope, PauseStorm, PortId, Traffic};
use qcnlab_units::{BitRate, Id, Instant, Span};

/// A ring of three switches in which each flow crosses two links of it: pauses can close a circle.
pub(crate) fn ring() -> Net {
    let mut net = Net::new(&["h1", "h2", "h3", "s1", "s2", "s3"]);
    for i in 1..=3 {
        net.link(&format!("h{i}"), &format!("s{i}"), TEN, Span::from_us(1));
        net.link(&format!("s{i}"), &format!("s{}", i % 3 + 1), TEN, Span::from_us(1));
    }
    for i in 1..=3usize {
        let names = [(i, "h", "s", i), (i, "s", "s", i % 3 + 1), (i % 3 + 1, "s", "s", (i + 1) % 3 + 1)];
        let mut way: Vec<PortId> =
            names.iter().map(|(from, a, b, to)| net.port(&format!("{a}{from}->{b}{to}"))).collect();
        let last = (i + 1) % 3 + 1;
        way.push(net.port(&format!("s{last}->h{last}")));
        let flow = net.flow(&format!("h{i}"), &format!("h{last}"), 0, greedy());
        net.plan.flows[flow].paths = vec![way].into();
    }
    for s in ["s1", "s2", "s3"] {
        net.pause(s, 100_000, 30_000, 20_000);
    }
    net
}

#[test]
fn a_circle_of_pauses_is_found_and_named() {
    let done = ring().run();
    let Ending::Deadlock { circle: links, closed } = done.ending else { panic!("no deadlock") };
    let mut sorted = links.clone();
    sorted.sort();
    assert_eq!(sorted, ["s1->s2", "s2->s3", "s3->s1"]);
    // Each names the one it waits for.
    let after = |name: &str| links[(links.iter().position(|link| link == name).unwrap() + 1) % 3].clone();
    assert_eq!(after("s1->s2"), "s2->s3");
    // It is searched for each millisecond. 30 KB take 24 us at 10 Gb/s, so the first pause comes after that.
    assert_eq!(done.end, Instant::ZERO + Span::from_ms(1));
    assert!(closed > Instant::ZERO + Span::from_us(24) && closed < done.end, "{closed:?}");
    // The rows go up to the end, and so do the pauses that are in force.
    assert!(done.trace.throughput.time.iter().all(|bin| *bin < done.end.ps()));
    assert_eq!(done.trace.pauses.end.iter().max(), Some(&done.end.ps()));
    assert!(done.flows.iter().all(|flow| flow.delivered > 0));
}

/// The smallest circle has two links.
#[test]
fn two_links_that_wait_for_each_other_are_a_circle() {
    for scope in [PauseScope::Link, PauseScope::Classes(1 << 3)] {
        let done = net::hairpin(3, scope).run();
        let Ending::Deadlock { circle: mut links, .. } = done.ending else { panic!("no deadlock") };
        links.sort();
        assert_eq!((links, done.end), (vec!["s->t".to_owned(), "t->s".to_owned()], Instant::ZERO + Span::from_ms(1)));
    }
}

/// A circle of class 3 is closed when the last of its links has been paused in class 3. That hosts have paused class 5 of
/// the same links from the beginning does not matter.
#[test]
fn a_circle_is_closed_by_the_pause_that_began_last() {
    let mut net = ring();
    for flow in &mut net.plan.flows {
        flow.class = 3;
    }
    for i in 1..=3 {
        let next = i % 3 + 1;
        net.flow(&format!("h{i}"), &format!("h{next}"), 5, Traffic::Constant { rate: BitRate::mbps(100) });
        let switch = net.node(&format!("s{i}"));
        net.plan.nodes[switch].pause.as_mut().unwrap().scope = PauseScope::Classes(1 << 3);
        let port = net.port(&format!("s{next}->s{i}"));
        let (from, until) = (Instant::ZERO, Instant::ZERO + Span::from_ms(10));
        net.plan.storms.push(PauseStorm { port, classes: 1 << 5, from, until });
    }
    let done = net.run();
    let Ending::Deadlock { circle: links, closed } = done.ending else { panic!("no deadlock") };
    assert_eq!(links.len(), 3);
    let rows = &done.trace.pauses;
    let of_circle = (0..rows.start.len()).filter(|row| {
        let holds = rows.end[*row] == done.end.ps() && rows.class[*row] == Some(3);
        holds && links.iter().any(|link| net.port(link) == PortId::new(rows.port[*row]))
    });
    let begins: Vec<u64> = of_circle.map(|row| rows.start[row]).collect();
    assert_eq!((begins.len(), begins.iter().max()), (3, Some(&closed.ps())));
}

#[test]
fn a_line_of_pauses_is_no_circle() {
    let mut net = Net::new(&["a", "s", "t", "b"]);
    net.link("a", "s", TEN, Span::from_us(1));
    net.link("s", "t", TEN, Span::from_us(1));
    net.link("t", "b", BitRate::mbps(100), Span::from_us(1));
    net.flow("a", "b", 0, greedy());
    net.pause("s", 100_000, 30_000, 20_000);
    net.pause("t", 100_000, 30_000, 20_000);
    net.plan.end = Instant::ZERO + Span::from_ms(50);
    let done = net.run();
    assert_eq!(done.counters.frames_dropped, 0);
    assert!(
        done.trace.pauses.port.contains(&net.port("a->s").number())
            && done.trace.pauses.port.contains(&net.port("s->t").number())
    );
}
