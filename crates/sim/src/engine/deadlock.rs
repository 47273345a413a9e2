//! Circles of pauses: links that wait for each other and will never move again.
//!
//! A stopped class of a port waits for the input memory at the far end to come down
//! to its low watermark. What that memory holds for queues that move will leave; what
//! it holds for queues that are stopped themselves may not. The search takes all
//! stopped queues and strikes out those whose memory can come down by what moves,
//! until nothing changes. What is left can never go on.

use super::{Engine, Halt};
use crate::plan::PauseRule;
use qcnlab_units::Instant;

/// A class of a port that is stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stopped {
    port: u32,
    /// A bit for each class that stops together.
    classes: u8,
    lane: u8,
}

impl Engine {
    /// Looks for a circle of stopped links.
    pub(super) fn look_for_deadlock(&mut self, now: Instant) -> Result<(), Halt> {
        self.wheel.set(self.entities.deadlock, (now + Engine::LOOK_FOR_DEADLOCK).ps());
        let mut stuck = self.stopped_lanes();
        if stuck.len() < 2 {
            return Ok(());
        }
        loop {
            let before = stuck.len();
            let kept: Vec<Stopped> = stuck.iter().copied().filter(|each| self.stays_above_low(each, &stuck)).collect();
            stuck = kept;
            if stuck.is_empty() {
                return Ok(());
            }
            if stuck.len() == before {
                return Err(Halt::Deadlock { at: now, links: self.circle(&stuck) });
            }
        }
    }

    /// Lanes that are stopped until their memory comes down, and have something to send.
    fn stopped_lanes(&self) -> Vec<Stopped> {
        let mut stopped = Vec::new();
        for input in &self.inputs {
            let Some(gate) = input.gate.as_ref().filter(|gate| gate.stopped != 0) else { continue };
            for lane in (0..8).filter(|lane| gate.stopped & 1 << lane != 0) {
                stopped.push(Stopped { port: input.port, classes: gate.classes(lane), lane });
            }
        }
        stopped
    }

    /// Whether what moves cannot bring the memory behind a stopped lane down to its low watermark.
    fn stays_above_low(&self, each: &Stopped, stuck: &[Stopped]) -> bool {
        let input = &self.inputs[self.ports[each.port as usize].input as usize];
        let Some(PauseRule::Watermarks { low, .. }) = input.gate.as_ref().map(|gate| gate.plan.rule) else {
            return false;
        };
        let held: u64 = self.held_by_stuck(each, stuck).map(|(_, octets)| octets).sum();
        held > low.get()
    }

    /// The stuck lanes that what one of them waits for is held by, and how many octets each holds.
    fn held_by_stuck<'a>(&'a self, each: &'a Stopped, stuck: &'a [Stopped]) -> impl Iterator<Item = (Stopped, u64)> {
        let node = self.nodes[each.port as usize].1;
        let next = stuck.iter().copied().filter(move |next| self.nodes[next.port as usize].0 == node);
        next.map(move |next| (next, self.held_at(next.port, each.port, each.classes & next.classes)))
    }

    /// One circle among stuck lanes, by the names of their ports.
    fn circle(&self, stuck: &[Stopped]) -> Vec<String> {
        let mut way: Vec<Stopped> = vec![stuck[0]];
        loop {
            let last = way[way.len() - 1];
            let most = self.held_by_stuck(&last, stuck).max_by_key(|(_, octets)| *octets);
            let Some((next, _)) = most else { break };
            if let Some(start) = way.iter().position(|seen| *seen == next) {
                way.drain(..start);
                break;
            }
            way.push(next);
        }
        way.iter().map(|each| self.port_names[each.port as usize].clone()).collect()
    }
}
