//! What an adapter does with frames from the link: pauses stop its port, signals reach their limiter, announcements the
//! port that defends the domain, and data the host's stack.

use super::{Adapter, FromLink};
use crate::defence;
use crate::head::{Head, whole};
use crate::layout::mac;
use crate::signals;
use crate::sys::socket::Received;
use qcnlab_capture::Direction;
use qcnlab_units::Instant;
use qcnlab_wire::{Codec, EtherType, Frame, MacControl, Payload};

impl Adapter {
    /// A frame came over the link.
    pub(crate) fn take_from_link(&mut self, now: u64, received: Received<'_>) -> FromLink<'_> {
        if received.cut {
            self.records.refused.oversize += 1;
            return FromLink::Consumed;
        }
        let octets = whole(received.octets, received.tag);
        let Some(head) = Head::read(&octets) else {
            self.records.refused.malformed += 1;
            return FromLink::Consumed;
        };
        self.records.capture(now, self.uplink, Direction::Received, &octets, self.capture);
        if head.ether_type == EtherType::MAC_CONTROL {
            self.control(now, &octets);
            return FromLink::Consumed;
        }
        if signals::is_signal(head.ether_type) {
            self.signal(now, &head, &octets);
            return FromLink::Consumed;
        }
        if head.ether_type == EtherType::LLDP {
            self.hear_announcement(now, &octets);
            return FromLink::Consumed;
        }
        let own = head.destination == mac(self.host) || head.destination.0[0] & 1 == 1;
        if !own {
            return FromLink::Consumed;
        }
        if let Some(of) = head.conversation(&octets) {
            if let Some(flow) = self.layout.flow_of_frame(head.source, &of) {
                let count = &mut self.records.flows[flow];
                count.delivered += 1;
                count.delivered_octets += octets.len() as u64;
                if count.finished == 0 && count.delivered_octets >= self.totals[flow] {
                    count.finished = now;
                }
            } else if self.layout.acknowledged_flow(&of).is_some() {
                self.records.counters.acks_heard += 1;
            }
        }
        let mut room = std::mem::take(&mut self.room);
        head.untagged(&octets, &mut room);
        self.room = room;
        FromLink::ToStack(&self.room)
    }

    /// The switch announced itself.
    fn hear_announcement(&mut self, now: u64, octets: &[u8]) {
        let Some(port) = &mut self.defended else { return };
        match defence::read(octets) {
            Ok((announced, seconds)) => port.hear(now, announced, seconds),
            Err(_) => self.records.refused.unreadable_announcements += 1,
        }
        self.announce(now);
    }

    fn control(&mut self, now: u64, octets: &[u8]) {
        let Ok((Frame { payload: Payload::MacControl(control), .. }, _)) = Frame::decode(octets) else {
            self.records.refused.malformed += 1;
            return;
        };
        let at = now + self.reaction;
        match control {
            MacControl::Pause(pause) => self.pend(at, u8::MAX, pause.time.0),
            MacControl::Pfc(pfc) => {
                for class in (0..8u8).filter(|class| pfc.enabled & 1 << class != 0) {
                    self.pend(at, 1 << class, pfc.times[usize::from(class)].0);
                }
            }
            MacControl::Other { .. } => self.records.refused.odd_control += 1,
        }
    }

    fn pend(&mut self, at: u64, classes: u8, quanta: u16) {
        const MOST: usize = 64;
        if self.pending_pauses.len() >= MOST {
            self.apply_pause();
        }
        self.pending_pauses.push_back((at, classes, quanta));
    }

    pub(super) fn apply_pause(&mut self) {
        let Some((at, classes, quanta)) = self.pending_pauses.pop_front() else { return };
        let (uplink, because) = (self.uplink, self.layout.ways[self.uplink].reverse);
        let (whole_link, records) = (classes == u8::MAX, &mut self.records);
        self.port.pause(at, classes, quanta, |class, (since, until, ())| {
            records.on_class_pause(class, whole_link, (since, until), uplink, because);
        });
    }

    /// A signal from the link: it must be for this host and name a reaction point that is here.
    fn signal(&mut self, now: u64, head: &Head, octets: &[u8]) {
        if head.destination != mac(self.host) {
            self.records.refused.stray_signals += 1;
            return;
        }
        let Ok(heard) = signals::read(octets) else {
            self.records.refused.unreadable_signals += 1;
            return;
        };
        if !self.reacts {
            self.records.counters.messages_ignored += 1;
            return;
        }
        let limiter = match (heard.rpid, heard.priority) {
            (Some(rpid), _) => self.limiters.iter_mut().find(|limiter| limiter.rpid == rpid),
            // Without CN-TAG the reaction point that answers for the frame's priority hears it.
            (None, Some(priority)) => {
                self.untagged[usize::from(priority & 7)].and_then(|position| self.limiters.get_mut(position))
            }
            (None, None) => None,
        };
        let Some(limiter) = limiter else {
            self.records.refused.stray_signals += 1;
            return;
        };
        if !limiter.cnms.take(now) {
            self.records.refused.flooded_signals += 1;
            return;
        }
        limiter.told = limiter.told.max(now);
        let at = Instant::from_ps(limiter.told);
        limiter.driver.on_signal(at, &heard.signal);
        limiter.driver.update_pacer(at);
        let _ = limiter.driver.changed_wake();
        limiter.heard += 1;
        self.records.counters.messages_heard += 1;
    }
}
