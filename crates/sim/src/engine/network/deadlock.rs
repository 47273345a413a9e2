//! Circles of pauses: links that wait for each other and will never move again.
//!
//! A paused priority group of a port waits for the input buffer at the far end to come down
//! to its low watermark. What that buffer holds for queues that move will leave; what
//! it holds for queues that are paused themselves may not. The search takes all
//! paused groups and removes those whose buffer can come down by what moves,
//! until nothing changes. What is left can never resume.

use super::Network;
use crate::engine::effects::Circle;
use crate::frame::{Frame, flag};
use crate::ids::{IdVec, InputId, InputSlot, PortId};
use crate::plan::PauseRule;
use qcnlab_units::Instant;

/// A priority group of a port that is paused.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PausedGroup {
    port: PortId,
    /// The input buffer at the far end, which sent XOFF.
    input: InputId,
    /// Its classes, a bit each.
    classes: u8,
    group: u8,
}

impl Network {
    /// Searches for a circle of paused links that no watchdog may end.
    pub(in crate::engine) fn find_deadlock(&self, now: Instant) -> Option<Circle> {
        let mut stuck = self.paused_groups();
        if stuck.len() < 2 {
            return None;
        }
        loop {
            let before = stuck.len();
            let kept: Vec<PausedGroup> =
                stuck.iter().copied().filter(|each| self.stays_above_low(each, &stuck)).collect();
            stuck = kept;
            if stuck.is_empty() {
                return None;
            }
            if stuck.len() == before && self.is_watched(stuck.iter().map(|each| each.port)) {
                return None;
            }
            if stuck.len() == before {
                return Some(self.circle(now, &stuck));
            }
        }
    }

    /// Whether the watchdog of one of these ports may end a circle of pauses.
    fn is_watched(&self, ports: impl Iterator<Item = PortId>) -> bool {
        let queues = ports.filter_map(|port| self.ports[port].queues());
        queues.into_iter().any(|queues| self.queues[queues].watchdog.is_some())
    }

    /// The groups that were sent XOFF and not XON since.
    fn paused_groups(&self) -> Vec<PausedGroup> {
        let mut paused = Vec::new();
        for (id, input) in self.inputs.enumerate() {
            let Some(pause) = &input.pause else { continue };
            for group in (0..8).filter(|group| pause.sender.is_xoff(*group)) {
                paused.push(PausedGroup { port: input.port, input: id, classes: pause.sender.classes(group), group });
            }
        }
        paused
    }

    /// Whether what moves cannot bring the buffer that a paused group waits for down to its low watermark.
    fn stays_above_low(&self, each: &PausedGroup, stuck: &[PausedGroup]) -> bool {
        let input = &self.inputs[each.input];
        if let Some(shared) = self.nodes[self.links[each.port].to].shared {
            let held = self.held_shared(each, stuck);
            return self.shared_buffers[shared].stays_paused(&held, input.slot, each.group);
        }
        let pause = input.pause.as_ref();
        let Some(PauseRule::Watermarks { low, .. }) = pause.map(|pause| pause.sender.plan.rule) else {
            return false;
        };
        let held: u64 = self.held_by_stuck(each, stuck).map(|(_, octets)| octets).sum();
        held > low.get()
    }

    /// What stuck groups hold of the shared buffer that one of them waits for, by slot of the input and group.
    fn held_shared(&self, each: &PausedGroup, stuck: &[PausedGroup]) -> IdVec<InputSlot, [u64; 8]> {
        let node = self.links[each.port].to;
        let inputs = || self.inputs.enumerate().filter(|(_, input)| self.links[input.port].to == node);
        let mut held = inputs().map(|_| [0; 8]).collect::<IdVec<_, _>>();
        for (id, input) in inputs() {
            let Some(pause) = &input.pause else { continue };
            for group in 0..8 {
                let classes = pause.sender.classes(group);
                let of_group = PausedGroup { port: input.port, input: id, classes, group };
                held[input.slot][usize::from(group)] =
                    self.held_by_stuck(&of_group, stuck).map(|(_, octets)| octets).sum();
                if classes == u8::MAX {
                    break;
                }
            }
        }
        held
    }

    /// The stuck groups that hold octets of the buffer that one of them waits for, and how many each holds.
    fn held_by_stuck<'a>(
        &'a self,
        each: &'a PausedGroup,
        stuck: &'a [PausedGroup],
    ) -> impl Iterator<Item = (PausedGroup, u64)> {
        let node = self.links[each.port].to;
        let next = stuck.iter().copied().filter(move |next| self.links[next.port].from == node);
        next.map(move |next| (next, self.held_of(each, &next)))
    }

    /// Octets of one group's buffer that wait at the port and in the classes of another.
    fn held_of(&self, each: &PausedGroup, next: &PausedGroup) -> u64 {
        if !self.remaps {
            return self.queued_from(next.port, each.input, each.classes & next.classes);
        }
        // A frame may have had another class on its link than it has where it waits.
        let held = self.queued(next.port).filter(|frame| {
            let classes = each.classes & 1 << frame.link_class() != 0 && next.classes & 1 << frame.class() != 0;
            classes && frame.is(flag::BUFFERED) && self.routes.input_of(frame) == each.input
        });
        held.map(Frame::octets).sum()
    }

    /// One circle among stuck groups.
    fn circle(&self, now: Instant, stuck: &[PausedGroup]) -> Circle {
        let mut chain: Vec<PausedGroup> = vec![stuck[0]];
        loop {
            let last = chain[chain.len() - 1];
            let most = self.held_by_stuck(&last, stuck).max_by_key(|(_, octets)| *octets);
            let Some((next, _)) = most else { break };
            if let Some(start) = chain.iter().position(|seen| *seen == next) {
                chain.drain(..start);
                break;
            }
            chain.push(next);
        }
        let since = |each: &PausedGroup| {
            let queues = self.ports[each.port].queues().map(|queues| &self.queues[queues].queues);
            let paused = queues.into_iter().flatten().filter(|queue| each.classes & 1 << queue.class != 0);
            paused.filter_map(|queue| Some(queue.pause.last(now.ps())?.0)).min().unwrap_or(0)
        };
        let closed = chain.iter().map(since).max().unwrap_or(0);
        let ports = chain.iter().map(|each| self.links[each.port].name.clone()).collect();
        Circle { ports, closed: Instant::from_ps(closed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::periodic::check_deadlock;
    use crate::engine::{Ending, Engine};
    use crate::net;
    use crate::plan::PauseScope;
    use qcnlab_units::{Bytes, Span};

    /// Links that have waited for each other for long, and what those that wait at `name` hold.
    fn stuck(name: &str) -> (Engine, Vec<PausedGroup>, PausedGroup, u64) {
        let plan = net::hairpin(3, PauseScope::Classes(1 << 3 | 1 << 5)).plan;
        let mut engine = Engine::new(&plan);
        engine.advance(Instant::ZERO + Span::from_us(900), &mut |_| ()).unwrap();
        let stuck = engine.network.paused_groups();
        let each = stuck.iter().copied().find(|each| engine.network.links[each.port].name == name).unwrap();
        let held = engine.network.held_by_stuck(&each, &stuck).map(|(_, octets)| octets).sum();
        (engine, stuck, each, held)
    }

    /// XON goes out at the low watermark itself: a buffer that can come down to that is not stuck.
    #[test]
    fn what_can_come_down_to_its_low_watermark_is_not_stuck() {
        let (mut engine, stuck, each, held) = stuck("s->t");
        assert!(held > 20_000, "{held}");
        let mut stays = |low: u64| {
            let pause = engine.network.inputs[each.input].pause.as_mut().unwrap();
            let PauseRule::Watermarks { low: mark, .. } = &mut pause.sender.plan.rule else { unreachable!() };
            *mark = Bytes::new(low);
            engine.network.stays_above_low(&each, &stuck)
        };
        assert_eq!([held - 1, held, held + 1].map(&mut stays), [true, false, false]);
    }

    /// A pause of class 5 holds up no frame of class 3.
    #[test]
    fn a_pause_of_another_class_holds_nothing() {
        let (engine, stuck, each, held) = stuck("t->s");
        let of_class = |class: u8| -> u64 {
            let others = stuck.iter().map(|next| PausedGroup { classes: 1 << class, group: class, ..*next });
            engine.network.held_by_stuck(&each, &others.collect::<Vec<_>>()).map(|(_, octets)| octets).sum()
        };
        assert_eq!([of_class(3), of_class(5)], [held, 0]);
        assert!(held > 20_000, "{held}");
    }

    /// How a run ends after the search, when only these links are paused any more.
    fn ending(paused: &[&str]) -> Ending {
        let (mut engine, ..) = stuck("s->t");
        let now = Instant::ZERO + Span::from_us(900);
        for input in engine.network.inputs.iter_mut() {
            if let Some(pause) =
                input.pause.as_mut().filter(|_| !paused.contains(&&*engine.network.links[input.port].name))
            {
                pause.sender.on_xon(now, 3);
            }
        }
        let Engine { network, run_end, schedule, .. } = &mut engine;
        check_deadlock(now, network, run_end, schedule);
        engine.run_end.ending().clone()
    }

    /// The links of the hosts only wait for the circle, and are not needed for it. One link alone waits for nobody.
    #[test]
    fn two_paused_links_are_enough_for_a_circle() {
        let Ending::Deadlock { circle, .. } = ending(&["s->t", "t->s"]) else { panic!("no deadlock") };
        assert_eq!(circle, ["s->t", "t->s"]);
        assert_eq!([ending(&["s->t"]), ending(&["s->t", "a->s"])], [Ending::Time, Ending::Time]);
    }
}
