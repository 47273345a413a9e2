//! Ports that take turns only while they must.
//!
//! The one class of such a port can be stopped, pause frames may go before it, and what leaves it frees memory whose
//! watermarks somebody watches. As long as nothing is stopped, at the port or at its node's inputs, that changes
//! nothing: departures follow from arrivals, as at any first-in first-out port, and memory is counted when it comes
//! near a mark. When something stops or a pause frame has to go, the frames that have not left move to the queue of
//! their class, and the port has an event at the end of each transmission, until all of that is over.

use super::entities::END;
use super::{Engine, Path};
use crate::frame::{Frame, flag};
use crate::port::NONE;
use crate::turns::Sending;
use qcnlab_units::Instant;

impl Engine {
    /// From now on the frames of a port take turns.
    pub(super) fn take_turns(&mut self, now: Instant, index: u32) {
        let port = &self.ports[index as usize];
        if port.turns != NONE || port.turns_at == NONE {
            return;
        }
        self.settle(now, index);
        let port = &mut self.ports[index as usize];
        port.turns = port.turns_at;
        let place = port.turns;
        let turns = &mut self.turns[place as usize];
        if let Some(ends) = port.next_departure() {
            turns.sending = Sending::Head(0);
            turns.ends = ends;
            self.wheel.set(END + place, ends);
        }
        port.hand_over(|frame| turns.push(frame));
        if port.next_arrival().is_none() {
            self.wheel.clear(self.entities.arrive + index);
        }
    }

    /// The frames of a port, between two transmissions, need no more turns if nothing stops them; says whether.
    pub(super) fn leave_turns(&mut self, now: Instant, place: u32) -> bool {
        let turns = &mut self.turns[place as usize];
        let node = self.nodes[turns.port as usize].0;
        let stays = !turns.while_stopped
            || self.stopped_lanes_at[node as usize] > 0
            || !turns.pauses.is_empty()
            || turns.classes[0].stopped_until > now.ps();
        if stays {
            return false;
        }
        let port = &mut self.ports[turns.port as usize];
        port.turns = NONE;
        let class = &mut turns.classes[0];
        class.octets = 0;
        port.take_over(now, &mut class.frames);
        if let Some(arrival) = port.next_arrival().filter(|_| !port.counted) {
            self.wheel.set(self.entities.arrive + turns.port, arrival);
        }
        true
    }

    /// Brings the memory of a node's inputs up to date.
    #[cold]
    pub(super) fn settle_outputs(&mut self, now: Instant, node: u32) {
        for each in 0..self.outputs[node as usize].len() {
            let output = self.outputs[node as usize][each];
            let port = &self.ports[output as usize];
            if port.frees && port.turns == NONE {
                self.settle(now, output);
            }
        }
    }

    /// What has left a port that takes no turns frees the memory it was counted against. Nobody waits for that: no lane
    /// of the node is stopped.
    pub(super) fn free_departed(&mut self, now: Instant, index: u32) {
        let port = &mut self.ports[index as usize];
        while port.leave_next(now).is_some() {
            let frame = port.left_last();
            if !frame.is(flag::HELD) {
                continue;
            }
            frame.clear(flag::HELD);
            let place = memory_of(&self.route_inputs, self.paths[frame.path() as usize], frame);
            self.inputs[place].release(frame.class(), frame.octets());
        }
    }
}

/// The place of the memory that a frame in a port was counted against when it came to the port's node.
#[inline(always)]
pub(super) fn memory_of(route_inputs: &[(u32, u32)], path: Path, frame: &Frame) -> usize {
    let (ahead, back) = route_inputs[path.start as usize + usize::from(frame.hop())];
    (if frame.is(flag::BACK) { back } else { ahead }) as usize
}
