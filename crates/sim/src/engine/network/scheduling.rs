//! Which class a port sends next where some classes take turns, heads of cut packets have a share, or congesting flows are isolated: strict classes first,
//! the highest first, and what they leave is shared by weight.

use super::Network;
use crate::deficit_round_robin::Head;
use crate::engine::schedule::{Event, Schedule};
use crate::ids::QueuesId;
use crate::priority_queues::{ClassQueue, Transmitting};
use qcnlab_units::Instant;

impl Network {
    /// As [`start_transmission`](Network::start_transmission), between frames, at a port of a switch where more decides than
    /// the order of classes.
    #[cold]
    pub(super) fn start_in_turn(&mut self, now: Instant, id: QueuesId, schedule: &mut Schedule) {
        if self.queues[id].flows.is_some() {
            return self.start_by_flow(now, id, schedule);
        }
        self.start_by_weight(now, id, schedule);
    }

    /// The same, by weight.
    fn start_by_weight(&mut self, now: Instant, id: QueuesId, schedule: &mut Schedule) {
        let held = self.held_for_order(id).map(|position| self.queues[id].queues[position].class);
        let queues = &mut self.queues[id];
        let head = |queue: &ClassQueue| {
            if queue.frames.is_empty() {
                Head::Empty
            } else if queue.pause.until() > now.ps() || Some(queue.class) == held {
                Head::Paused
            } else {
                Head::Octets(queue.frames.at(queue.frames.head()).octets())
            }
        };
        let of_class = &queues.queues;
        let may_go = |position: usize| matches!(head(&of_class[position]), Head::Octets(_));
        let of_heads = queues.heads.map(|heads| heads.position).filter(|position| may_go(*position));
        let others = (0..of_class.len()).any(|position| Some(position) != of_heads && may_go(position));
        let heads_first = !others || queues.heads.is_some_and(|heads| heads.go_first());
        let next = of_heads.filter(|_| heads_first).or_else(|| {
            let weighted =
                |position| queues.round_robin.as_ref().is_some_and(|round_robin| round_robin.is_weighted(position));
            let strict = (0..of_class.len())
                .find(|position| Some(*position) != of_heads && !weighted(*position) && may_go(*position));
            strict.or_else(|| queues.round_robin.as_mut()?.serve(|position| head(&of_class[position])))
        });
        if let (Some(heads), Some(position)) = (&mut queues.heads, next) {
            match head(&of_class[position]) {
                Head::Octets(octets) if others && of_heads.is_some() => heads.count(Some(position) == of_heads, octets),
                _ => heads.alone(),
            }
        }
        let at = match next {
            Some(position) => {
                let queue = &of_class[position];
                let size = queue.frames.at(queue.frames.head()).octets();
                queues.transmitting = Transmitting::Head(position as u8);
                queues.ends = now.ps() + self.ports[queues.port].transmission(size);
                queues.ends
            }
            None => {
                let paused = of_class.iter().filter(|queue| head(queue) == Head::Paused);
                // What waits for others of its flow goes when those have gone.
                let until = paused.map(|queue| queue.pause.until()).filter(|until| *until > now.ps());
                let Some(resumes) = until.min() else { return };
                resumes
            }
        };
        schedule.set(Event::TransmissionEnd(id), Instant::from_ps(at));
        if let Some(position) = next {
            self.isolated_frame_leaves(now, id, position);
            self.stamp_head(now, id, position);
        }
    }
}
