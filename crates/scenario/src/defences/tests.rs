use super::{Mode, automatic_alternate};
use crate::{Draw, ResolvedScenario, Scenario, limiters, untagged_limiters};
use qcnlab_network::topology::PortId;
use qcnlab_sim::LimiterId;
use qcnlab_units::{Id, IdVec};

/// Hosts h1 and h2 at bridge a; a, b and c in a row; host h3 at c.
const ROW: &str = r#"
duration = "1 ms"
topology = { kind = "graph", rate = "10 Gb/s", delay = "1 us" }
link = [{ from = "h{1..2}", to = "a" }, { from = "a, b", to = "b, c" }, { from = "c", to = "h3" }]
traffic = [{ arrivals = "saturated", from = "h1, h2", to = "h3", frame = "1500 B", priority = 3 }]
scheme = { name = "qcn" }
"#;

fn row(more: &str) -> ResolvedScenario {
    let scenario = Scenario::parse(&format!("{ROW}\n{more}"), "row").unwrap_or_else(|error| panic!("{error}"));
    scenario.resolve(Draw { seed: 1, replication: 0 }).unwrap()
}

fn refusal(more: &str) -> String {
    Scenario::parse(&format!("{ROW}\n{more}"), "row").expect_err(more).to_string()
}

fn port(resolved: &ResolvedScenario, name: &str) -> PortId {
    resolved.network.ports().find(|port| resolved.network.port_name(*port) == name).expect(name)
}

/// The modes of ports for priority 3, one character each: disabled, edge, interior, ready; - for a node outside.
fn modes(resolved: &ResolvedScenario, ports: &str) -> String {
    let domain = resolved.domain.as_ref().unwrap();
    let initial = |name: &str| match domain.defended(port(resolved, name), 3).map(|defended| defended.mode) {
        None => '-',
        Some(Mode::Disabled) => 'd',
        Some(Mode::Edge) => 'e',
        Some(Mode::Interior) => 'i',
        Some(Mode::InteriorReady) => 'r',
    };
    ports.split(' ').map(initial).collect()
}

const ALL: &str = "h1->a a->h1 a->b b->a b->c c->b c->h3 h3->c";

#[test]
fn where_all_take_part_every_port_is_interior_ready() {
    let resolved = row("domain = { priorities = \"3\" }");
    assert_eq!(modes(&resolved, ALL), "rrrrrrrr");
    let domain = resolved.domain.as_ref().unwrap();
    assert_eq!((domain.announced(PortId::new(0)), domain.ready(PortId::new(0))), (0b1000, 0b1000));
    assert_eq!(domain.port_plan(port(&resolved, "a->b")).untags, 0);
}

/// b announces nothing, so the ports that face it are edges; a port that is not ready makes its neighbour interior.
#[test]
fn a_bridge_outside_makes_its_neighbours_edges() {
    let resolved = row("domain = { priorities = \"3\", outside = \"b\" }");
    assert_eq!(modes(&resolved, ALL), "rre--err");
    let domain = resolved.domain.as_ref().unwrap();
    let (to_b, from_b) = (port(&resolved, "a->b"), port(&resolved, "b->c"));
    // An edge still announces, so that the other side may become interior; it is not ready.
    assert_eq!((domain.announced(to_b), domain.ready(to_b)), (0b1000, 0));
    assert_eq!((domain.announced(from_b), domain.ready(from_b)), (0, 0));
    assert_eq!(domain.port_plan(to_b).untags, 0b1000);
    // What crosses b->c enters c by c's port to b, an edge: priority 3 becomes 2.
    assert_eq!(domain.port_plan(from_b).remaps, [0, 1, 2, 2, 4, 5, 6, 7]);
    assert_eq!(domain.port_plan(to_b).remaps, [0, 1, 2, 3, 4, 5, 6, 7], "b remaps nothing");
    assert_eq!((domain.port_plan(to_b).points, domain.port_plan(from_b).points), (0b1000, 0));
    let path = [port(&resolved, "h1->a"), to_b, from_b, port(&resolved, "c->h3")];
    assert_eq!(domain.at_the_end(&path, 3, true), (2, false));
    assert_eq!(resolved.classes(&resolved_scenario("domain = { priorities = \"3\", outside = \"b\" }")), 0b1100);
}

fn resolved_scenario(more: &str) -> Scenario {
    Scenario::parse(&format!("{ROW}\n{more}"), "row").unwrap()
}

#[test]
fn a_port_without_cn_tags_makes_its_neighbour_interior() {
    let resolved = row("domain = { priorities = \"3\" }\ndefence = [{ port = \"b->*\", accepts_cn_tags = false }]");
    // b's own ports hear that a and c are ready; a and c do not hear it of b.
    assert_eq!(modes(&resolved, ALL), "rrirrirr");
}

#[test]
fn a_port_without_lldp_makes_its_neighbour_an_edge() {
    let resolved = row("domain = { priorities = \"3\" }\ndefence = [{ port = \"b->a\", lldp = false }]");
    // b hears the priority from a, and not that a is ready: a's port is an edge.
    assert_eq!(modes(&resolved, ALL), "rreirrrr");
}

#[test]
fn fixed_modes_hold_and_the_first_table_counts() {
    let two = "defence = [{ port = \"a->b\", mode = \"edge\" }, { port = \"a->*\", mode = \"disabled\" }]";
    let resolved = row(&format!("domain = {{ priorities = \"3\" }}\n{two}"));
    // A disabled port announces nothing: h1's port is an edge. An edge announces, and is not ready: b is interior.
    assert_eq!(modes(&resolved, ALL), "edeirrrr");
    let domain = resolved.domain.as_ref().unwrap();
    assert_eq!(domain.port_plan(port(&resolved, "a->h1")).points, 0);
    assert!(domain.reacts(port(&resolved, "h1->a"), 3) && !domain.tags(port(&resolved, "h1->a"), 3));
    assert!(!domain.reacts(port(&resolved, "a->h1"), 3));
}

#[test]
fn the_alternate_priority_is_the_next_lower_that_is_free() {
    let of = |class, cnpvs| automatic_alternate(class, cnpvs);
    assert_eq!([of(3, 0b1000), of(3, 0b1100), of(0, 0b1), of(1, 0b11), of(7, 0b1111_1110)], [2, 1, 1, 2, 0]);
}

#[test]
fn what_cannot_be_is_refused() {
    let domain = |rest: &str| refusal(&format!("domain = {{ priorities = \"3\"{rest} }}"));
    let defence = |rest: &str| refusal(&format!("domain = {{ priorities = \"3\" }}\ndefence = [{{ {rest} }}]"));
    for (message, wanted) in [
        (refusal("defence = [{ port = \"a->b\" }]"), "[[defence]] belongs to a scenario with [domain]"),
        (refusal("domain = { priorities = \"8\" }"), "'8' names no classes"),
        (refusal("domain = { priorities = \"0..7\" }"), "all eight priorities are under congestion control"),
        (refusal("domain = { priorities = \"5\" }"), "no traffic has a priority under congestion control (5)"),
        (domain(", alternate_priority = 3"), "write alternate_priority = 2"),
        (domain(", alternate_priority = 9"), "9"),
        (domain(", outside = \"bb\""), "'bb' matches no switch or host"),
        (domain(", outside = \"a, x\""), "'x' matches no switch or host"),
        (defence("port = \"a->c\""), "'a->c' matches no port"),
        (defence("port = \"a->b\", mode = \"inteior\""), "did you mean \"interior\"?"),
        (defence("port = \"a->b\", priorities = \"4\""), "priority 4 is not one of [domain]'s (3)"),
        (defence("port = \"a->b\", alternate_priority = 3"), "the alternate priority 3 is itself under"),
        (
            refusal("domain = { priorities = \"3\", outside = \"b\" }\ndefence = [{ port = \"b->c\" }]"),
            "'b->c' is a port of 'b', which takes no part",
        ),
        (
            refusal(
                "domain = { priorities = \"3\", outside = \"h3\" }\n\
                 defence = [{ port = \"c->h3\", mode = \"interior_ready\" }]",
            ),
            "reach 'h3' with a CN-TAG",
        ),
        (
            refusal("domain = { priorities = \"3\" }\nfeedback = { kind = \"frames\", priority = 3 }"),
            "priority 3 is under congestion control, so messages cannot have it",
        ),
    ] {
        assert!(message.contains(wanted), "{wanted}: {message}");
    }
    let scheme = |name: &str| {
        let domain = format!("{ROW}\ndomain = {{ priorities = \"3\" }}").replace("\"qcn\"", &format!("\"{name}\""));
        Scenario::parse(&domain, "row").expect_err(name).to_string()
    };
    assert!(scheme("dcqcn").contains("scheme 'dcqcn' sends none"), "{}", scheme("dcqcn"));
    assert!(scheme("qcn_plus").contains("probes paths as well"), "{}", scheme("qcn_plus"));
    let uncontrolled = ROW.replace("priority = 3", "priority = 3, controlled = false");
    let error = Scenario::parse(&format!("{uncontrolled}\ndomain = {{ priorities = \"3\" }}"), "row").unwrap_err();
    assert!(error.to_string().contains("priority 3 is under congestion control, whoever sends in it"), "{error}");
}

/// Flows of one host: with CN-TAGs each has a limiter, without CN-TAGs they share one; outside nobody hears messages.
#[test]
fn limiters_follow_from_the_modes() {
    let two = ROW.replace("to = \"h3\", frame", "to = \"h3, h2\", frame").replace("from = \"h1, h2\"", "from = \"h1\"");
    let plan = |more: &str| {
        let scenario = Scenario::parse(&format!("{two}\n{more}"), "row").unwrap_or_else(|error| panic!("{error}"));
        let resolved = scenario.resolve(Draw { seed: 1, replication: 0 }).unwrap();
        let tagged: Vec<bool> = (0..resolved.flows.len()).map(|flow| resolved.cn_tagged(&scenario, flow)).collect();
        (limiters(&scenario, &resolved), tagged, untagged_limiters(&scenario, &resolved))
    };
    let ids = |limiters: &[u32]| -> Vec<LimiterId> { limiters.iter().copied().map(LimiterId::new).collect() };
    let untagged = |limiter: Option<u32>| IdVec::from(vec![limiter.map(LimiterId::new); 2]);
    assert_eq!(plan("domain = { priorities = \"3\" }"), (ids(&[0, 1]), vec![true; 2], untagged(Some(0))));
    let edge = "domain = { priorities = \"3\" }\ndefence = [{ port = \"a->h1\", lldp = false }]";
    assert_eq!(plan(edge), (ids(&[0, 0]), vec![false; 2], untagged(Some(0))));
    let outside = "domain = { priorities = \"3\", outside = \"h1\" }";
    assert_eq!(plan(outside), (ids(&[0, 1]), vec![false; 2], untagged(None)));
}
