//! Whether pauses can stop a fabric for ever, from its routes: no run is made.
//!
//! PFC makes a buffer wait for the next one on a frame's way. Where buffers wait for one another in a circle, all of them
//! may fill up, and then none of them ever moves: a deadlock. A circle of buffers that may wait for one another is
//! necessary for that, so that a fabric without any is safe; it is not enough, because all of its buffers have to be over
//! their watermarks at the same time. Each set of failed links is a case with routes of its own.

mod cases;
mod dependencies;
mod graph;
mod remedy;
mod report;
#[cfg(test)]
mod tests;

pub use report::{BufferCircle, CaseCount, CircularCase, DeadlockReport, Wait};

use cases::Cases;
use dependencies::{BufferId, Dependencies, Stream};
use graph::Graph;
use qcnlab_network::topology::{LinkId, Network, NodeId, PortId};
use qcnlab_scenario::{Draw, FailedLink, ResolvedScenario, Scenario};
use qcnlab_units::IdVec;
use std::collections::{BTreeMap, BTreeSet};

/// Circular cases in which the flows that close a circle are told.
const MOST_EXPLAINED: usize = 20;
/// Circular cases that are listed.
const MOST_LISTED: usize = 1000;

/// What is asked about deadlocks of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlockQuestion {
    /// So many links between switches are down at the same time at most.
    pub failures: u32,
    /// Whether any host may send to any other, instead of the scenario's flows.
    pub all_pairs: bool,
    /// Whether switches that have lost their next links send frames over others until routes are repaired.
    pub bounce: bool,
    /// So many cases of each number of links are checked at most; of more, as many are drawn.
    pub most_cases: u32,
}

impl Default for DeadlockQuestion {
    fn default() -> DeadlockQuestion {
        DeadlockQuestion { failures: 1, all_pairs: false, bounce: false, most_cases: 2000 }
    }
}

impl DeadlockReport {
    /// Says where buffers wait for one another in a circle, by the routes of a scenario, without a run. Flows that are
    /// drawn at random are those of the first replication. Before each case `go_on` says whether to go on; `None` if it did
    /// not.
    pub fn of(scenario: &Scenario, question: DeadlockQuestion, go_on: impl FnMut() -> bool) -> Option<DeadlockReport> {
        let draw = Draw { seed: scenario.seed, replication: 0 };
        let Ok(resolved) = scenario.resolve(draw) else { unreachable!("a checked scenario can be resolved") };
        let network = resolved.outside_network();
        let dependencies = Dependencies::new(scenario, &resolved, &network, question.all_pairs, question.bounce);
        Check { resolved: &resolved, network: &network, dependencies }.report(scenario, question, go_on)
    }
}

/// A case with circles in it.
struct Circular {
    /// Links that are down.
    dead: Vec<LinkId>,
    /// Who waits for whom within each circle.
    components: Vec<Graph<BufferId>>,
}

struct Check<'a> {
    resolved: &'a ResolvedScenario,
    network: &'a Network,
    dependencies: Dependencies<'a>,
}

impl Check<'_> {
    fn report(
        mut self,
        scenario: &Scenario,
        question: DeadlockQuestion,
        mut go_on: impl FnMut() -> bool,
    ) -> Option<DeadlockReport> {
        let trunks = self.dependencies.trunks();
        let by_number =
            (0..=question.failures).map(|number| (false, number, Cases::of(&trunks, number, question.most_cases)));
        let own = own_failures(&self.resolved.failed).into_iter();
        let own = own.map(|dead| (true, dead.len() as u32, Cases { possible: 1, sets: vec![dead] }));
        let (mut counts, mut circular) = (Vec::new(), Vec::new());
        for (own, failures, Cases { possible, sets }) in by_number.chain(own) {
            let mut of_number = Vec::new();
            for dead in &sets {
                if !go_on() {
                    return None;
                }
                of_number.extend(self.case(dead));
            }
            let (checked, in_circles) = (sets.len() as u32, of_number.len() as u32);
            counts.push(CaseCount { own, failures, possible, checked, circular: in_circles });
            circular.extend(of_number);
        }
        let remedy = remedy::crossings(&circular, self.dependencies.normal());
        let listed = circular.iter().take(MOST_LISTED).enumerate();
        let listed = listed.map(|(position, case)| self.told(case, position < MOST_EXPLAINED)).collect();
        let at = |(from, to): &(PortId, PortId)| [self.network.ends(*from), self.network.ends(*to)];
        let name = |node: NodeId| self.network.nodes[node].name.clone();
        let remedy = remedy.iter().map(at).map(|[(from, at), (_, to)]| [name(from), name(at), name(to)]).collect();
        Some(DeadlockReport {
            scenario: scenario.name.clone(),
            question,
            trunks: trunks.len() as u32,
            buffers: self.dependencies.buffer_count() as u32,
            counts,
            circular: listed,
            remedy,
            watchdogs: self.resolved.watchdogs.iter().any(Option::is_some),
            expiring: self.resolved.pauses.iter().flatten().any(|plan| !plan.rule.resumes()),
        })
    }

    fn dead(&self, links: &[LinkId]) -> IdVec<LinkId, bool> {
        let mut dead = IdVec::for_each_of(&self.network.links, false);
        links.iter().for_each(|link| dead[*link] = true);
        dead
    }

    fn case(&mut self, links: &[LinkId]) -> Option<Circular> {
        let components = self.dependencies.circles(&self.dead(links));
        (!components.is_empty()).then(|| Circular { dead: links.to_vec(), components })
    }

    fn told(&mut self, case: &Circular, explained: bool) -> CircularCase {
        let dead = self.dead(&case.dead);
        let shortest = |graph| Graph::shortest_circle(graph).map(|circle| (circle, graph));
        let mut circles: Vec<(Vec<BufferId>, &Graph<BufferId>)> = case.components.iter().filter_map(shortest).collect();
        let edges: Vec<(BufferId, BufferId)> = circles.iter().flat_map(|(circle, _)| remedy::waits(circle)).collect();
        let streams = if explained { self.dependencies.streams(&dead, &edges) } else { BTreeMap::new() };
        // Those that acknowledgements and messages close come last: they fill buffers less.
        let forth = |known: &Vec<Stream>| known.iter().any(|stream| !matches!(stream, Stream::Back(_)));
        circles.sort_by_key(|(circle, _)| remedy::waits(circle).any(|wait| !streams.get(&wait).is_none_or(forth)));
        let link = |buffer: BufferId| self.network.port_name(buffer.port());
        let wait = |edge: (BufferId, BufferId)| Wait {
            link: link(edge.0),
            next: link(edge.1),
            flows: streams.get(&edge).map(|known| known.iter().map(|stream| self.stream_name(*stream)).collect()),
        };
        let circle = |(buffers, component): &(Vec<BufferId>, &Graph<BufferId>)| BufferCircle {
            class: self.dependencies.class_of(buffers[0]),
            waits: remedy::waits(buffers).map(wait).collect(),
            links: component.nodes().iter().map(|buffer| link(*buffer)).collect(),
        };
        CircularCase {
            down: case.dead.iter().map(|link| self.network.port_name(link.there())).collect(),
            circles: circles.iter().map(circle).collect(),
        }
    }

    fn stream_name(&self, stream: Stream) -> String {
        let name = |node: NodeId| &self.network.nodes[node].name;
        match stream {
            Stream::Flow(flow) => self.resolved.flows[flow].name.to_string(),
            Stream::Back(flow) => format!("reverse of {}", self.resolved.flows[flow].name),
            Stream::Pair(from, to) => format!("{}->{}", name(from), name(to)),
        }
    }
}

/// The sets of links that are down together in the course of a scenario, each once.
fn own_failures(failed: &[FailedLink]) -> BTreeSet<Vec<LinkId>> {
    let down_at = |time| {
        let down = failed.iter().filter(move |each| each.from <= time && each.until.is_none_or(|until| time < until));
        let links: BTreeSet<LinkId> = down.map(|each| each.link).collect();
        links.into_iter().collect::<Vec<LinkId>>()
    };
    failed.iter().map(|each| down_at(each.from)).collect()
}
