//! Switches that choose each frame's next link by their queues: DRILL, and the shortest queue of all.
//!
//! ```text
//!   a data frame is at a switch     its flow's ways that lead here as its own does: their next links are the choice
//!   some of them are compared       `samples` drawn at random, and the `memory` shortest of the last choice; or all
//!   the shortest queue              takes it; of equal ones the first that was drawn
//! ```
//!
//! A link that is down is not chosen while another is there: a switch knows its own links, and nothing of those beyond.
//! A queue counts the octets of the frame's class. Acknowledgements go back the way that their packet took.
//!
//! Source: Ghorbani and others, DRILL: Micro Load Balancing for Low-latency Data Center Networks, SIGCOMM 2017. There
//! each engine of a switch draws and remembers for itself; here a switch is one engine.

use super::Network;
use crate::frame::{Frame, flag};
use crate::ids::{FlowId, Id, IdVec, NodeId, PathId, PortId};
use crate::path_choice::{PathChoice, QueueChoice};
use crate::plan::{Plan, Traffic};
use qcnlab_schemes::{Dice, Purpose};
use std::collections::HashMap;

/// The ways of a run that switches choose from, and what they draw and remember.
pub(super) struct Adaptive {
    /// By a path and a hop of it, the links that lead on from there, each with a path that takes it.
    ways: HashMap<(PathId, u8), Vec<(PortId, PathId)>>,
    /// The links of a choice, while it is made.
    links: Vec<PortId>,
    flows: IdVec<FlowId, FlowPaths>,
    chooser: Chooser,
}

/// The paths that a flow's frames take.
#[derive(Clone, Copy)]
struct FlowPaths {
    first: PathId,
    paths: u32,
    /// Whether they are packets of a queue pair.
    packets: bool,
}

/// What the switches of a run draw and remember.
struct Chooser {
    choice: QueueChoice,
    dice: Vec<Dice>,
    /// The shortest queues of the last choice among the same links.
    remembered: HashMap<Vec<PortId>, Vec<PortId>>,
}

impl Adaptive {
    /// For a plan whose switches choose so.
    pub(super) fn new(plan: &Plan) -> Option<Box<Adaptive>> {
        let PathChoice::ShortestQueue(choice) = plan.path_choice else { return None };
        let dice = |name: &str| Dice::new(plan.seed, plan.replication, name, Purpose::Path);
        let dice = plan.nodes.iter().map(|node| dice(&node.name)).collect();
        let chooser = Chooser { choice, dice, remembered: HashMap::new() };
        let mut next = 0;
        let flows = plan.flows.iter().map(|flow| {
            let (first, paths) = (PathId::new(next), flow.paths.len() as u32);
            next += paths;
            FlowPaths { first, paths, packets: matches!(flow.traffic, Traffic::Roce { .. }) }
        });
        Some(Box::new(Adaptive { ways: HashMap::new(), links: Vec::new(), flows: flows.collect(), chooser }))
    }
}

impl Chooser {
    /// Which of several links takes a frame, told how long their queues are.
    fn shortest(&mut self, switch: NodeId, links: &[PortId], queue: impl Fn(PortId) -> u64) -> PortId {
        let dice = &mut self.dice[switch.number() as usize];
        let mut compared = links.to_vec();
        let samples = self.choice.samples.map_or(links.len(), |samples| links.len().min(samples as usize));
        for drawn in 0..samples {
            let left = (links.len() - drawn) as u32;
            compared.swap(drawn, drawn + dice.below(left) as usize);
        }
        compared.truncate(samples);
        let memory = self.choice.memory as usize;
        if memory > 0 {
            compared.extend(self.remembered.get(links).into_iter().flatten());
        }
        // Stable: of equal queues the one that was drawn first stays before the others.
        compared.sort_by_key(|port| queue(*port));
        let chosen = compared[0];
        if memory > 0 {
            let mut kept: Vec<PortId> = Vec::with_capacity(memory);
            for port in compared {
                if kept.len() < memory && !kept.contains(&port) {
                    kept.push(port);
                }
            }
            match self.remembered.get_mut(links) {
                Some(last) => *last = kept,
                None => drop(self.remembered.insert(links.to_vec(), kept)),
            }
        }
        chosen
    }
}

impl Network {
    /// A flow's frames take other paths from now on: so many, from this one on.
    pub(in crate::engine) fn reroute(&mut self, flow: FlowId, first: PathId, paths: u32) {
        if let Some(adaptive) = &mut self.adaptive {
            let of_flow = &mut adaptive.flows[flow];
            (of_flow.first, of_flow.paths) = (first, paths);
        }
    }

    /// The link by which a data frame goes on from a switch, where its path has `next`; the frame takes a path with that
    /// link.
    #[inline(never)]
    pub(super) fn adapt(&mut self, next: PortId, frame: &mut Frame) -> PortId {
        let Network { ports, queues: of_ports, links: of_network, routes, packets: records, adaptive, .. } = self;
        let Some(adaptive) = adaptive else { return next };
        let Adaptive { ways, links, flows, chooser } = &mut **adaptive;
        let (own, hop) = (frame.path(), frame.hop());
        let FlowPaths { first, paths, packets } = flows[routes.paths[own].flow];
        let first = first.number();
        // The flow has other paths since this frame left, and it goes on by its own.
        if own.number().checked_sub(first).is_none_or(|path| path >= paths) {
            return next;
        }
        let ways = ways.entry((own, hop)).or_insert_with(|| {
            let hop = usize::from(hop);
            let mut ways: Vec<(PortId, PathId)> = Vec::new();
            for path in (first..first + paths).map(PathId::new) {
                let ports = routes.ports_of(path);
                let leads_here = ports.len() > hop && ports[..hop] == routes.ports_of(own)[..hop];
                if leads_here && ways.iter().all(|(port, _)| *port != ports[hop]) {
                    ways.push((ports[hop], path));
                }
            }
            ways
        });
        if ways.len() < 2 {
            return next;
        }
        links.clear();
        links.extend(ways.iter().map(|(port, _)| *port).filter(|port| !ports[*port].is_down()));
        let [first_link, ..] = links[..] else { return next };
        let class = frame.class();
        let queue = |port: PortId| {
            let queues = ports[port].queues_in_use().expect("a port that is chosen by its queue has priority queues");
            of_ports[queues].of_class(class).octets
        };
        let chosen = chooser.shortest(of_network[first_link].from, links, queue);
        let path = ways.iter().find(|(port, _)| *port == chosen).map_or(own, |(_, path)| *path);
        frame.set_path(path);
        if frame.is(flag::SEGMENT) && packets {
            records.get_mut(frame.packet()).path = path.number();
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Net;

    fn adaptive(samples: Option<u32>, memory: u32) -> Chooser {
        let mut net = Net::new(&["s"]);
        net.plan.path_choice = PathChoice::ShortestQueue(QueueChoice { samples, memory });
        Adaptive::new(&net.plan).expect("switches choose").chooser
    }

    /// The links chosen, one frame after another, where the queue of link n holds `queues[n]` octets.
    fn chosen(adaptive: &mut Chooser, queues: &[u64], frames: usize) -> Vec<usize> {
        let links: Vec<PortId> = (0..queues.len() as u32).map(PortId::new).collect();
        let queue = |port: PortId| queues[port.number() as usize];
        (0..frames).map(|_| adaptive.shortest(NodeId::new(0), &links, queue).number() as usize).collect()
    }

    #[test]
    fn all_queues_are_compared_where_no_number_is_set() {
        assert_eq!(chosen(&mut adaptive(None, 0), &[5, 4, 1, 3, 2, 6, 7, 8], 50), [2; 50]);
    }

    /// Of eight equal queues each takes an eighth of 8000 frames: standard deviation sqrt(8000 / 8 * 7 / 8) = 30.
    #[test]
    fn equal_queues_share_evenly() {
        for samples in [None, Some(2)] {
            let all = chosen(&mut adaptive(samples, 0), &[0; 8], 8000);
            for link in 0..8 {
                let share = all.iter().filter(|each| **each == link).count();
                assert!(share.abs_diff(1000) < 120, "{samples:?}: link {link} took {share}");
            }
        }
    }

    /// Two of four, drawn without the same twice: the shortest is among them in half of all pairs, the next in those of the
    /// rest that have it, 2 of 6, and the third in 1 of 6; the longest never wins. Of 6000 frames 3000, 2000, 1000: standard
    /// deviations at most 39.
    #[test]
    fn two_samples_find_the_shortest_in_half_of_all_choices() {
        let all = chosen(&mut adaptive(Some(2), 0), &[1, 2, 3, 4], 6000);
        let counts = [0, 1, 2, 3].map(|link| all.iter().filter(|each| **each == link).count());
        for (count, expected) in counts.into_iter().zip([3000usize, 2000, 1000, 0]) {
            assert!(count.abs_diff(expected) < 160, "{counts:?}");
        }
        assert_eq!(counts[3], 0, "the longest of four never wins against another");
    }

    /// With one remembered, the shortest is never lost once it was drawn; with none, one sample finds it in a quarter.
    #[test]
    fn the_shortest_of_the_last_choice_is_compared_again() {
        let all = chosen(&mut adaptive(Some(1), 1), &[9, 9, 1, 9], 400);
        let first = all.iter().position(|link| *link == 2).expect("drawn at some time");
        assert!(all[first..].iter().all(|link| *link == 2));
        let without = chosen(&mut adaptive(Some(1), 0), &[9, 9, 1, 9], 4000);
        // Standard deviation sqrt(4000 * 3 / 16) = 27.
        assert!(without.iter().filter(|link| **link == 2).count().abs_diff(1000) < 110);
    }

    /// Two are remembered, and the shorter one grows: the other is compared too, whatever is drawn.
    #[test]
    fn as_many_are_remembered_as_are_set() {
        let mut two = adaptive(Some(4), 2);
        assert_eq!(chosen(&mut two, &[9, 1, 2, 9], 1), [1]);
        two.choice.samples = Some(1);
        let next = chosen(&mut two, &[9, 20, 2, 9], 1);
        assert_eq!(next, [2]);
        let mut one = adaptive(Some(4), 1);
        chosen(&mut one, &[9, 1, 2, 9], 1);
        one.choice.samples = Some(1);
        let drawn: Vec<usize> = (0..40)
            .flat_map(|_| {
                one.remembered.insert((0..4).map(PortId::new).collect(), vec![PortId::new(1)]);
                chosen(&mut one, &[9, 20, 2, 9], 1)
            })
            .collect();
        assert!(drawn.iter().any(|link| *link != 2), "the second shortest is forgotten");
    }

    /// More samples than links compare all; what is remembered belongs to the links that there were.
    #[test]
    fn more_samples_than_links_compare_all() {
        let mut many = adaptive(Some(100), 3);
        assert_eq!(chosen(&mut many, &[3, 1, 2], 20), [1; 20]);
        assert_eq!(chosen(&mut many, &[1, 3], 20), [0; 20], "two links of the three: link 2 is not compared");
    }
}
