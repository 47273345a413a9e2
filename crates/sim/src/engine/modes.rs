//! Ports that take turns only while they must.
//!
//! The one class of such a port can be stopped, pause frames may go before it, and what leaves it frees memory whose
//! watermarks somebody watches. As long as nothing is stopped, at the port or at its node's inputs, that changes
//! nothing: departures follow from arrivals, as at any first-in first-out port, and memory is counted when it comes
//! near a mark. When something stops or a pause frame has to go, the frames that have not left move to the queue of
//! their class, and the port has an event at the end of each transmission, until all of that is over.

use super::Engine;
use super::entities::END;
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
}
