//! What a switch does with a frame that came over a link: it is told apart, and refused, obeyed or forwarded.

use super::Switches;
use crate::defence;
use crate::head::{Head, whole};
use crate::signals;
use crate::sys::socket::Received;
use qcnlab_capture::Direction;
use qcnlab_sim::PortId;
use qcnlab_wire::{Codec, EtherType, Frame, MacControl, Payload};

impl Switches {
    /// A frame came over a way at `now`, which everything is up to.
    pub(crate) fn receive(&mut self, now: u64, way: PortId, received: Received<'_>) {
        if received.cut {
            self.records.refused.oversize += 1;
            return;
        }
        let octets = whole(received.octets, received.tag);
        if octets.len() as u64 > u64::from(self.layout.mtu) + 14 {
            self.records.refused.oversize += 1;
            return;
        }
        let Some(head) = Head::read(&octets) else {
            self.records.refused.malformed += 1;
            return;
        };
        let from_host = self.layout.is_host(self.layout.ways[way].from);
        if from_host {
            let port = self.layout.ways[way].reverse;
            self.records.capture(now, port, Direction::Received, &octets, self.capture);
        }
        match head.ether_type {
            EtherType::MAC_CONTROL => self.receive_control(now, way, &octets),
            EtherType::LLDP => self.hear_announcement(now, way, &octets),
            kind if signals::is_signal(kind) && from_host => self.records.refused.foreign_signals += 1,
            // Its CNMs would go to whom it claims to be.
            _ if from_host && self.layout.is_of_another(head.source, self.layout.ways[way].from) => {
                self.records.refused.false_sources += 1;
            }
            _ => self.forward(now, way, head, octets),
        }
    }

    /// A neighbour announced itself over a way.
    fn hear_announcement(&mut self, now: u64, way: PortId, octets: &[u8]) {
        let reverse = self.layout.ways[way].reverse;
        let Some(port) = &mut self.defended[reverse] else { return };
        match defence::read(octets) {
            Ok((announced, seconds)) => port.hear(now, announced, seconds),
            Err(_) => self.records.refused.unreadable_announcements += 1,
        }
        self.announce(now);
    }

    fn receive_control(&mut self, now: u64, way: PortId, octets: &[u8]) {
        let reverse = self.layout.ways[way].reverse;
        let at = now + self.reaction[self.layout.ways[way].from];
        let Ok((Frame { payload: Payload::MacControl(control), .. }, _)) = Frame::decode(octets) else {
            self.records.refused.malformed += 1;
            return;
        };
        match control {
            MacControl::Pause(pause) => self.pend(at, reverse, u8::MAX, pause.time.0),
            MacControl::Pfc(pfc) => {
                for class in (0..8).filter(|class| pfc.enabled & 1 << class != 0) {
                    self.pend(at, reverse, 1 << class, pfc.times[usize::from(class as u8)].0);
                }
            }
            MacControl::Other { .. } => self.records.refused.odd_control += 1,
        }
        self.advance(now);
    }

    /// Has a pause take effect at `at`. Pauses of one port that wait are bounded: the oldest takes effect at once.
    fn pend(&mut self, at: u64, port: PortId, classes: u8, quanta: u16) {
        const MOST: usize = 1024;
        if self.pending.len() >= MOST {
            self.apply_pause();
        }
        let position = self.pending.partition_point(|waiting| waiting.0 <= at);
        self.pending.insert(position, (at, port, classes, quanta));
    }

    pub(super) fn apply_pause(&mut self) {
        let Some((at, index, classes, quanta)) = self.pending.pop_front() else { return };
        let Switches { ports, records, layout, .. } = self;
        let Some(port) = &mut ports[index] else { return };
        let whole_link = classes == u8::MAX;
        port.pause(at, classes, quanta, |class, (since, until, ())| {
            records.on_class_pause(class, whole_link, (since, until), index, layout.ways[index].reverse);
        });
    }
}
