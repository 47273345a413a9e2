//! What RoCE packets carry besides what every frame has: numbers, times, echoes and telemetry.
//!
//! A packet and the acknowledgement that answers it share one entry, from when the packet is sent until the
//! acknowledgement is heard or one of them is lost.

use crate::ids::{Id, IdVec, PacketId};
use qcnlab_schemes::{HopTelemetry, MOST_HOPS};
use qcnlab_units::{Bytes, Instant};
use std::collections::HashMap;

/// What one packet carries, and then its acknowledgement: half a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct PacketRecord {
    /// When the packet was sent.
    pub(crate) sent_at: Instant,
    /// Its position in its message.
    pub(crate) number: u32,
    /// The path that it takes.
    pub(crate) path: u32,
    /// Acknowledgement: the first packet that is missing.
    pub(crate) expected: u32,
    /// Acknowledgement: packets that it answers, and how many of them were marked.
    pub(crate) answered: u32,
    pub(crate) marked: u32,
    /// Acknowledgement: what it says beyond that.
    pub(crate) kind: AckKind,
    /// Acknowledgement: whether it grants credit.
    pub(crate) credited: bool,
    /// Hops that have written telemetry.
    hops: u8,
    /// The largest code that a port wrote on it.
    pub(crate) code: u8,
}

impl PacketRecord {
    /// Whether the acknowledgement says no more than what has arrived.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.kind == AckKind::Positive && !self.credited
    }
}

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AckKind {
    /// All is well.
    #[default]
    Positive,
    /// A packet is missing.
    Negative,
    /// A packet is missing, and the one that it answers came out of order and was kept.
    NegativeKept,
    /// The packet that it answers was cut to its head.
    Trimmed,
}

/// The packets of a run that are under way.
#[derive(Clone, Debug)]
pub(crate) struct Packets {
    records: IdVec<PacketId, PacketRecord>,
    /// Octets of credit from the start, for each acknowledgement that grants some.
    credits: HashMap<PacketId, Bytes>,
    /// As many as records, if congestion points stamp telemetry; else none.
    stacks: Vec<[HopTelemetry; MOST_HOPS]>,
    free: Vec<PacketId>,
    stamped: bool,
}

impl Packets {
    /// None; with room for telemetry if congestion points stamp it.
    pub(crate) fn new(stamped: bool) -> Packets {
        Packets { records: IdVec::new(), credits: HashMap::new(), stacks: Vec::new(), free: Vec::new(), stamped }
    }

    /// A packet is sent.
    #[inline]
    pub(crate) fn send(&mut self, now: Instant, number: u32, path: u32) -> PacketId {
        let record = PacketRecord {
            sent_at: now,
            number,
            path,
            expected: 0,
            answered: 0,
            marked: 0,
            kind: AckKind::Positive,
            credited: false,
            hops: 0,
            code: 0,
        };
        match self.free.pop() {
            Some(id) => {
                self.records[id] = record;
                id
            }
            None => {
                if self.stamped {
                    self.stacks.push([HopTelemetry::default(); MOST_HOPS]);
                }
                self.records.push(record)
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, id: PacketId) -> &PacketRecord {
        &self.records[id]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: PacketId) -> &mut PacketRecord {
        &mut self.records[id]
    }

    /// An acknowledgement grants credit.
    pub(crate) fn grant(&mut self, id: PacketId, credit: Bytes) {
        self.records[id].credited = true;
        self.credits.insert(id, credit);
    }

    /// The credit that an acknowledgement grants.
    #[inline]
    pub(crate) fn credit(&self, id: PacketId) -> Option<Bytes> {
        if self.records[id].credited { self.credits.get(&id).copied() } else { None }
    }

    /// A port writes telemetry on a packet, where there is room.
    #[inline]
    pub(crate) fn stamp(&mut self, id: PacketId, hop: HopTelemetry) {
        let record = &mut self.records[id];
        if let Some(room) = self.stacks[id.number() as usize].get_mut(usize::from(record.hops)) {
            *room = hop;
            record.hops += 1;
        }
    }

    /// A port writes a code on a packet, which keeps the largest.
    #[inline]
    pub(crate) fn write_code(&mut self, id: PacketId, code: u8) {
        let record = &mut self.records[id];
        record.code = record.code.max(code);
    }

    /// The telemetry of a packet.
    #[inline]
    pub(crate) fn hops(&self, id: PacketId) -> &[HopTelemetry] {
        match self.stacks.get(id.number() as usize) {
            Some(stack) => &stack[..usize::from(self.records[id].hops)],
            None => &[],
        }
    }

    /// A packet or its acknowledgement has ended.
    #[inline]
    pub(crate) fn end(&mut self, id: PacketId) {
        self.free.push(id);
    }

    /// How many are under way.
    pub(crate) fn under_way(&self) -> u64 {
        (self.records.len() - self.free.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_used_again_and_holds_so_many_hops() {
        let mut packets = Packets::new(true);
        let first = packets.send(Instant::ZERO, 7, 0);
        for _ in 0..MOST_HOPS + 2 {
            packets.stamp(first, HopTelemetry::default());
        }
        assert_eq!((packets.hops(first).len(), packets.under_way()), (MOST_HOPS, 1));
        packets.end(first);
        let second = packets.send(Instant::ZERO, 8, 0);
        assert_eq!((second, packets.hops(second).len(), packets.get(second).number), (first, 0, 8));
        let mut plain = Packets::new(false);
        let only = plain.send(Instant::ZERO, 0, 0);
        assert!(plain.hops(only).is_empty());
    }

    /// Of the codes 3, 9 and 4 a packet keeps 9; the next packet in its entry has none.
    #[test]
    fn a_packet_keeps_the_largest_code() {
        let mut packets = Packets::new(false);
        let first = packets.send(Instant::ZERO, 0, 0);
        [3, 9, 4].into_iter().for_each(|code| packets.write_code(first, code));
        assert_eq!(packets.get(first).code, 9);
        packets.end(first);
        let second = packets.send(Instant::ZERO, 1, 0);
        assert_eq!((second, packets.get(second).code), (first, 0));
    }

    #[test]
    fn an_acknowledgement_is_plain_if_it_says_nothing_more() {
        let mut packets = Packets::new(false);
        let id = packets.send(Instant::ZERO, 0, 0);
        packets.get_mut(id).marked = 1;
        assert!(packets.get(id).is_plain());
        for kind in [AckKind::Negative, AckKind::NegativeKept, AckKind::Trimmed] {
            packets.get_mut(id).kind = kind;
            assert!(!packets.get(id).is_plain(), "{kind:?}");
        }
        packets.get_mut(id).kind = AckKind::Positive;
        packets.grant(id, Bytes::new(1000));
        assert!(!packets.get(id).is_plain());
    }

    /// An entry that is used again grants nothing by what it granted before.
    #[test]
    fn credit_is_that_of_one_acknowledgement() {
        let mut packets = Packets::new(false);
        let [first, second] = [0, 1].map(|number| packets.send(Instant::ZERO, number, 0));
        packets.grant(first, Bytes::new(7000));
        assert_eq!([first, second].map(|id| packets.credit(id)), [Some(Bytes::new(7000)), None]);
        packets.end(first);
        let again = packets.send(Instant::ZERO, 2, 0);
        assert_eq!((again, packets.credit(again)), (first, None));
        assert_eq!(size_of::<PacketRecord>(), 32);
    }
}
