//! Circles of known fabrics, by hand and as published.

use super::*;
use proptest::prelude::*;
use qcnlab_network::topology::Routes;

fn scenario(topology: &str, traffic: &str) -> Scenario {
    let text = format!(
        r#"title = "Fabric"
duration = "1 ms"
{topology}
[switch]
input_memory = "200 KB"
[pause]
kind = "priority"
priorities = "3"
{traffic}
[scheme]
name = "none"
"#
    );
    Scenario::parse(&text, "fabric.toml").unwrap_or_else(|error| panic!("{error}"))
}

const ANY: &str = r#"
[[traffic]]
arrivals = "saturated"
from = "host1"
to = "host2"
frame = "1500 B"
priority = 3
"#;

fn leaf_spine(leaves: u32, spines: u32) -> String {
    format!(
        "[topology]\nkind = \"leaf_spine\"\nleaves = {leaves}\nspines = {spines}\nhosts = 1\nrate = \"10 Gb/s\"\n\
         delay = \"1 us\"\ntrunk_rate = \"10 Gb/s\"\ntrunk_delay = \"1 us\""
    )
}

fn fat_tree(k: u32) -> String {
    format!(
        "[topology]\nkind = \"fat_tree\"\nk = {k}\nrate = \"10 Gb/s\"\ndelay = \"1 us\"\ntrunk_rate = \"10 Gb/s\"\n\
         trunk_delay = \"1 us\""
    )
}

fn report(scenario: &Scenario, question: DeadlockQuestion) -> DeadlockReport {
    DeadlockReport::of(scenario, question, || true).expect("it goes on")
}

/// (checked, circular) by number of failed links.
fn counts(topology: &str, failures: u32, bounce: bool) -> Vec<(u32, u32)> {
    let question = DeadlockQuestion { failures, all_pairs: true, bounce, ..DeadlockQuestion::default() };
    let report = report(&scenario(topology, ANY), question);
    report.counts.iter().map(|count| (count.checked, count.circular)).collect()
}

#[test]
fn a_leaf_spine_has_the_known_circles() {
    assert_eq!(counts(&leaf_spine(4, 2), 2, false), [(1, 0), (8, 0), (28, 12)]);
    assert_eq!(counts(&leaf_spine(3, 2), 2, false), [(1, 0), (6, 0), (15, 0)]);
}

#[test]
fn bounces_close_more_circles() {
    assert_eq!(counts(&leaf_spine(4, 2), 2, true), [(1, 0), (8, 0), (28, 16)]);
    assert_eq!(counts(&leaf_spine(3, 2), 2, true), [(1, 0), (6, 0), (15, 3)]);
}

#[test]
fn a_fat_tree_has_the_known_circles() {
    assert_eq!(counts(&fat_tree(4), 2, false), [(1, 0), (32, 0), (496, 56)]);
}

/// Switches in a ring, a host at each.
fn ring(switches: u32, more: &str) -> String {
    let links = (1..=switches).map(|i| format!("[[link]]\nfrom = \"s{i}\"\nto = \"s{}\"\n", i % switches + 1));
    format!(
        "[topology]\nkind = \"graph\"\nrate = \"10 Gb/s\"\ndelay = \"1 us\"\n{}[[link]]\nfrom = \"h{{1..{switches}}}\"\n\
         to = \"s{{1..{switches}}}\"\n{more}",
        links.collect::<String>()
    )
}

/// Each host sends to the next but one, in this class.
fn next_but_one(switches: u32, class: u32) -> String {
    let flow = |i: u32| {
        let to = (i + 1) % switches + 1;
        format!(
            "[[traffic]]\narrivals = \"saturated\"\nfrom = \"h{i}\"\nto = \"h{to}\"\nframe = \"1500 B\"\npriority = {class}\n"
        )
    };
    (1..=switches).map(flow).collect()
}

fn circles(scenario: &Scenario) -> Vec<(Option<u8>, Vec<String>)> {
    let report = report(scenario, DeadlockQuestion { failures: 0, ..DeadlockQuestion::default() });
    let circles = report.circular.into_iter().flat_map(|case| case.circles);
    circles.map(|circle| (circle.class, circle.waits.into_iter().map(|wait| wait.link).collect())).collect()
}

fn changed(scenario: &Scenario, changes: &[&str]) -> Scenario {
    scenario.with_overrides(changes).unwrap_or_else(|error| panic!("{error}"))
}

/// Rings of switches, shortest paths between all pairs: none with 3, and with 4 or more one circle each way round.
#[test]
fn a_ring_has_a_circle_each_way_from_four_switches_on() {
    let traffic = ANY.replace("host", "h");
    for (switches, expected) in [(3, vec![]), (4, vec![4, 4]), (5, vec![5, 5]), (6, vec![6, 6])] {
        let scenario = scenario(&ring(switches, ""), &traffic);
        let question = DeadlockQuestion { failures: 0, all_pairs: true, ..DeadlockQuestion::default() };
        let report = report(&scenario, question);
        let lengths: Vec<usize> =
            report.circular.iter().flat_map(|case| &case.circles).map(|circle| circle.waits.len()).collect();
        assert_eq!(lengths, expected, "{switches}");
        assert_eq!((report.trunks, report.buffers), (switches, 2 * switches));
    }
}

/// Class 3 alone is stopped. A stop of the whole link holds every class up, and one switch that stops nobody breaks the
/// circle.
#[test]
fn only_what_is_stopped_waits() {
    let links: Vec<String> = ["s1->s2", "s2->s3", "s3->s4", "s4->s5", "s5->s1"].map(str::to_owned).into();
    let of_class = |class| scenario(&ring(5, ""), &next_but_one(5, class));
    assert_eq!(circles(&of_class(3)), [(Some(3), links.clone())]);
    assert_eq!(circles(&of_class(5)), []);
    assert_eq!(circles(&changed(&of_class(5), &["pause.kind=link"])), [(None, links)]);
    assert_eq!(circles(&changed(&of_class(3), &["pause.only=s{1..4}"])), []);
    let expiring = changed(&of_class(3), &["pause.rule=threshold", "pause.threshold=50 KB"]);
    let report = report(&expiring, DeadlockQuestion::default());
    assert_eq!((report.is_free(), report.buffers, report.expiring), (true, 0, true));
}

/// Acknowledgements go the other way round. In class 5, which nobody stops, they close nothing.
#[test]
fn acknowledgements_close_circles_in_their_class() {
    let traffic = next_but_one(5, 3)
        .replace("arrivals = \"saturated\"", "arrivals = \"saturated\"\ntransport = \"roce\"")
        .replace("\"1500 B\"", "\"1048 B\"\ncn_tag = false");
    let roce = scenario(&ring(5, ""), &traffic);
    let back: Vec<String> = ["s2->s1", "s1->s5", "s5->s4", "s4->s3", "s3->s2"].map(str::to_owned).into();
    let both = circles(&roce);
    assert_eq!((both.len(), &both[1]), (2, &(Some(3), back)), "those of data come first");
    let apart: Vec<String> = (0..5).map(|entry| format!("traffic.{entry}.ack_priority=5")).collect();
    let apart: Vec<&str> = apart.iter().map(|change| &**change).collect();
    assert_eq!(circles(&changed(&roce, &apart)).len(), 1);
}

/// From h1 to h3 the route leads the long way: s1, s5, s4, s3. No frame is left that comes from s1 and waits at s2 for s3:
/// the clockwise circle is open. The other one is closed by pairs on shortest paths, and by h1 to h3.
#[test]
fn written_routes_are_followed_and_not_repaired() {
    let route = "[[route]]\nfrom = \"h1\"\nto = \"h3\"\nvia = \"s1, s5, s4, s3\"\n";
    let written = scenario(&ring(5, route), &next_but_one(5, 3));
    assert_eq!(circles(&written), []);
    let all = |failures| DeadlockQuestion { failures, all_pairs: true, ..DeadlockQuestion::default() };
    let told = report(&written, all(0));
    assert_eq!(told.circular[0].circles.iter().map(|circle| circle.waits.len()).collect::<Vec<_>>(), [5]);
    let first = told.circular[0].circles.iter().flat_map(|circle| &circle.waits);
    let known = first.filter(|wait| wait.flows.as_ref().is_some_and(|flows| flows.contains(&"h1->h3".to_owned())));
    assert_eq!(known.map(|wait| &*wait.link).collect::<Vec<_>>(), ["s1->s5", "s5->s4"]);
}

/// The flows that close a circle, and the crossings that are given up: none is in use while all links are up.
#[test]
fn a_circle_is_told_with_its_flows_and_what_breaks_it() {
    let question = DeadlockQuestion { failures: 2, all_pairs: true, ..DeadlockQuestion::default() };
    let report = report(&scenario(&leaf_spine(4, 2), ANY), question);
    let case = &report.circular[0];
    assert_eq!(case.down, ["leaf1->spine1", "leaf2->spine2"]);
    // The other one goes over the leaves in the other order.
    assert_eq!(case.circles.len(), 2);
    let told =
        |wait: &Wait| format!("{} {} {}", wait.link, wait.next, wait.flows.clone().unwrap_or_default().join(" "));
    assert_eq!(
        case.circles[0].waits.iter().map(told).collect::<Vec<_>>(),
        [
            "leaf3->spine1 spine1->leaf4 host3->host4",
            "spine1->leaf4 leaf4->spine2 host2->host1",
            "leaf4->spine2 spine2->leaf3 host4->host3",
            "spine2->leaf3 leaf3->spine1 host1->host2",
        ]
    );
    assert!(
        report.remedy.iter().all(|[from, at, to]| at.starts_with("leaf") && from.starts_with("spine") && from != to)
    );
}

/// Of a scenario's two failures one begins while the other lasts.
#[test]
fn a_scenarios_own_failures_are_checked() {
    let failure = |link: &str, from: &str| {
        format!("[[failure]]\nlink = \"{link}\"\nfrom = \"{from} us\"\nuntil = \"{from}0 us\"\n")
    };
    let more = [ANY, &failure("leaf1->spine1", "10"), &failure("spine2->leaf2", "20")].concat();
    let scenario = scenario(&leaf_spine(4, 2), &more);
    let all = DeadlockQuestion { failures: 0, all_pairs: true, ..DeadlockQuestion::default() };
    let counts = report(&scenario, all).counts;
    let told: Vec<(bool, u32, u32)> = counts.iter().map(|each| (each.own, each.failures, each.circular)).collect();
    assert_eq!(told, [(false, 0, 0), (true, 1, 0), (true, 2, 1)]);
    // host1 sends to host2 alone: by leaf 3 or 4, and nothing comes back.
    assert!(report(&scenario, DeadlockQuestion { failures: 2, ..DeadlockQuestion::default() }).is_free());
}

/// Hosts 1 and 2 send to each other, and so do 3 and 4, over all their ways. Repaired, a pair goes down and up again where one
/// link of each of its leaves is down, at different spines: two cases for each pair.
///
/// Bouncing, any such leaves do. With leaf1->spine1 and leaf3->spine2 down, host 2's frames for host 1 bounce from spine 1 to
/// leaf 4 and go up to spine 2; host 4's for host 3 bounce from spine 2 to leaf 2 and go up to spine 1. That is 12 cases, and 4
/// more in which one leaf is cut off and its frames bounce from spine to spine.
#[test]
fn flows_of_a_scenario_bounce() {
    let flow = |from: u32, to: u32| {
        ANY.replace("host2", &format!("host{to}")).replace("\"host1\"\nto", &format!("\"host{from}\"\nto"))
    };
    let traffic = [flow(1, 2), flow(2, 1), flow(3, 4), flow(4, 3), "[routing]\nmultipath = \"frame\"\n".to_owned()];
    let text = leaf_spine(4, 2);
    let counts = |bounce, multipath: &str| {
        let scenario = changed(&scenario(&text, &traffic.concat()), &[multipath]);
        let question = DeadlockQuestion { failures: 2, bounce, ..DeadlockQuestion::default() };
        report(&scenario, question).counts.iter().map(|each| each.circular).collect::<Vec<_>>()
    };
    assert_eq!(counts(false, "routing.multipath=frame"), [0, 0, 4]);
    assert_eq!(counts(true, "routing.multipath=frame"), [0, 0, 16]);
    // By the first way alone, what goes round does so over leaf 3 both ways: no frame goes round over leaf 4.
    assert_eq!(counts(false, "routing.multipath=single"), [0, 0, 0]);
}

#[test]
fn a_check_ends_when_it_is_told() {
    let scenario = scenario(&leaf_spine(4, 2), ANY);
    let mut asked = 0;
    let report = DeadlockReport::of(&scenario, DeadlockQuestion::default(), || {
        asked += 1;
        asked < 4
    });
    assert_eq!((report, asked), (None, 4));
}

/// Every wait on every shortest path of every pair of hosts, before and after links failed.
fn waits_of_paths(network: &Network, dead: &IdVec<LinkId, bool>) -> Vec<(BufferId, BufferId)> {
    let mut waits = Vec::new();
    for (mut routes, old) in [(Routes::new(network).unwrap(), true), (Routes::avoiding(network, dead).unwrap(), false)]
    {
        let hosts: Vec<NodeId> = network.hosts().collect();
        for (from, to) in hosts.iter().flat_map(|from| hosts.iter().map(move |to| (*from, *to))) {
            for path in routes.all(from, to).unwrap_or_default() {
                // Two hosts on one link have no switch between them.
                let inner = path.get(1..path.len() - 1).unwrap_or_default();
                let up = |pair: &&[PortId]| !old || pair.iter().all(|port| !dead[port.link()]);
                waits.extend(
                    inner.windows(2).filter(up).map(|pair| (BufferId::new(pair[0], 3), BufferId::new(pair[1], 3))),
                );
            }
        }
    }
    waits
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// All pairs, with the links drawn down: the circles are those of all paths, written out one by one.
    #[test]
    fn circles_of_all_pairs_are_those_of_all_paths(
        joined in prop::collection::btree_set((1..8u32, 1..8u32), 3..14),
        down in prop::collection::btree_set(0..64usize, 0..3),
    ) {
        let joined: BTreeSet<(u32, u32)> =
            joined.into_iter().filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))).chain([(1, 2)]).collect();
        let links = joined.iter().map(|(a, b)| format!("[[link]]\nfrom = \"s{a}\"\nto = \"s{b}\"\n"));
        let topology = format!(
            "[topology]\nkind = \"graph\"\nrate = \"10 Gb/s\"\ndelay = \"1 us\"\n{}[[link]]\nfrom = \"host{{1..7}}\"\n\
             to = \"s{{1..7}}\"\n",
            links.collect::<String>()
        );
        let scenario = scenario(&topology, ANY);
        let resolved = scenario.resolve(Draw { seed: 1, replication: 0 }).unwrap();
        let network = resolved.outside_network();
        let mut dependencies = Dependencies::new(&scenario, &resolved, &network, true, false);
        let trunks = dependencies.trunks();
        let mut dead = IdVec::for_each_of(&network.links, false);
        down.iter().for_each(|link| dead[trunks[link % trunks.len()]] = true);
        let by_paths = Graph::new(waits_of_paths(&network, &dead)).components();
        prop_assert_eq!(dependencies.circles(&dead), by_paths);
    }
}
