//! A queue pair between two hosts: its sender, its receiver, and what they know of the scheme.

use crate::frame::Payload;
use crate::ids::PacketId;
use crate::packets::{AckKind, PacketRecord};
use crate::roce::{QpConfig, QpReceiver, QpSender};
use crate::trace::RoceTally;
use qcnlab_schemes::registry::AnyRp;
use qcnlab_schemes::{EventKind, EventKinds, Flight, ReactionPoint, RpFastPath, TransportEvent};
use qcnlab_units::{Bytes, Instant, Span};

/// Both ends of a queue pair.
#[derive(Clone, Debug)]
pub(crate) struct QueuePair {
    pub(crate) sender: QpSender,
    pub(crate) receiver: QpReceiver,
    pub(crate) ack_frame: u16,
    pub(crate) ack_class: Option<u8>,
    headers: u64,
    /// The events that its reaction point hears of; none outside congestion control.
    pub(crate) events: EventKinds,
    /// Whether its reaction point permits windows or gaps.
    permits_windows: bool,
    /// Whether its reaction point counts credit.
    sends_by_credit: bool,
    /// Whether an acknowledgement without marks changes nothing at its reaction point, nor what that permits.
    ignores_unmarked: bool,
    /// The earliest time for the next packet, by the gap that is permitted.
    not_before: Instant,
    gap: Span,
    /// The event that is pending for its timers.
    pub(crate) wake: Instant,
    /// What the receiver has not acknowledged yet.
    pub(crate) unanswered: Unanswered,
    /// When the last octet reached the receiver; [`Instant::NEVER`] before.
    pub(crate) received: Instant,
    /// When the packet that completed the message was sent, and its octets.
    pub(crate) completing: (Instant, u16),
    /// Packets and acknowledgements of it under way, and the packet that the receiver has not answered yet.
    pub(crate) under_way: u32,
}

/// What a queue pair has done whose message is all acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedPair {
    sent: u32,
    retransmitted: u32,
    nacks: u32,
    timeouts: u32,
    trimmed: u32,
    duplicates: u32,
    most_kept: u32,
    received: Instant,
    last_sent: Instant,
    last_octets: u16,
}

impl EndedPair {
    /// What is left of a pair when it ends; `None` if that does not fit.
    pub(crate) fn of(pair: &QueuePair) -> Option<EndedPair> {
        let (stats, seen) = (pair.sender.stats(), pair.receiver.stats());
        Some(EndedPair {
            sent: stats.packets.try_into().ok()?,
            retransmitted: stats.retransmitted.try_into().ok()?,
            nacks: stats.nacks.try_into().ok()?,
            timeouts: stats.timeouts.try_into().ok()?,
            trimmed: stats.trimmed.try_into().ok()?,
            duplicates: seen.duplicates.try_into().ok()?,
            most_kept: seen.most_kept,
            received: pair.received,
            last_sent: pair.completing.0,
            last_octets: pair.completing.1,
        })
    }

    /// Its totals, of a message of `total` octets.
    pub(crate) fn tally(&self, total: Bytes) -> RoceTally {
        RoceTally {
            acknowledged_bytes: total.get(),
            packets: self.sent.into(),
            retransmitted: self.retransmitted.into(),
            nacks: self.nacks.into(),
            timeouts: self.timeouts.into(),
            trimmed: self.trimmed.into(),
            spurious: self.duplicates.into(),
            most_kept: self.most_kept.into(),
            received: self.received,
            last_sent: self.last_sent,
            last_octets: self.last_octets.into(),
        }
    }
}

/// Packets that reached a receiver since its last acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unanswered {
    pub(crate) packets: u32,
    pub(crate) marked: u32,
    /// The newest of them.
    pub(crate) newest: Option<PacketId>,
    /// Credit that was granted with them.
    pub(crate) credit: Option<Bytes>,
}

impl QueuePair {
    pub(crate) fn new(config: &QpConfig, total: Option<Bytes>, start: Instant) -> QueuePair {
        let sender = QpSender::new(config, total);
        QueuePair {
            receiver: QpReceiver::new(config, sender.packets()),
            sender,
            ack_frame: config.ack_frame.get() as u16,
            ack_class: config.ack_class,
            headers: config.headers.get(),
            events: EventKinds::NONE,
            permits_windows: false,
            sends_by_credit: false,
            ignores_unmarked: false,
            not_before: start,
            gap: Span::ZERO,
            wake: Instant::NEVER,
            unanswered: Unanswered::default(),
            received: Instant::NEVER,
            completing: (Instant::NEVER, 0),
            under_way: 0,
        }
    }

    /// Its totals so far.
    pub(crate) fn tally(&self) -> RoceTally {
        let (stats, seen) = (self.sender.stats(), self.receiver.stats());
        RoceTally {
            acknowledged_bytes: self.sender.acknowledged().get(),
            packets: stats.packets,
            retransmitted: stats.retransmitted,
            nacks: stats.nacks,
            timeouts: stats.timeouts,
            trimmed: stats.trimmed,
            spurious: seen.duplicates,
            most_kept: seen.most_kept.into(),
            received: self.received,
            last_sent: self.completing.0,
            last_octets: u64::from(self.completing.1),
        }
    }

    /// Whether all is acknowledged and nothing can come that it would have to answer.
    pub(crate) fn has_ended(&self) -> bool {
        self.under_way == 0 && self.sender.finished()
    }

    /// Puts it under the congestion control of a reaction point.
    pub(crate) fn join(&mut self, rp: &AnyRp) {
        let (capabilities, added) = (rp.capabilities(), rp.added_headers());
        self.events = capabilities.events;
        self.permits_windows = capabilities.permits_windows;
        self.sends_by_credit = capabilities.sends_by_credit;
        self.ignores_unmarked = !self.permits_windows && rp.ignores_unmarked_acknowledgements();
        self.headers += added.data.get();
        self.ack_frame += added.acknowledgement.get() as u16;
        self.update_permits(rp);
    }

    /// Its first packet may go from `start` on.
    pub(crate) fn begin(&mut self, start: Instant) {
        self.not_before = start;
    }

    /// Takes over what a reaction point permits beside its rate.
    #[inline]
    pub(crate) fn update_permits(&mut self, rp: &AnyRp) {
        if self.permits_windows {
            self.sender.permit(rp.window());
            self.gap = rp.gap();
        }
        if self.sends_by_credit {
            self.sender.credit(rp.credit());
        }
    }

    /// Whether its reaction point counts credit, which signals bring.
    pub(crate) const fn sends_by_credit(&self) -> bool {
        self.sends_by_credit
    }

    /// Whether its reaction point hears of events of this kind.
    #[inline]
    pub(crate) const fn hears(&self, kind: EventKind) -> bool {
        self.events.contains(kind)
    }

    /// Whether its reaction point is told of an acknowledgement or of what comes with it.
    #[inline]
    pub(crate) fn minds(&self, ack: &PacketRecord) -> bool {
        let ignored = self.ignores_unmarked && ack.is_plain() && ack.marked == 0;
        !ignored && !self.events.is_empty()
    }

    /// Whether an acknowledgement cannot let a packet go that might not go before: nothing waits for a window.
    #[inline]
    pub(crate) fn frees_nothing(&self, ack: &PacketRecord) -> bool {
        ack.is_plain() && self.sender.is_unbounded()
    }

    /// An acknowledgement says that a packet is missing or was cut; returns the octets that are acknowledged for the first
    /// time.
    #[cold]
    pub(crate) fn negatively_acknowledged(&mut self, now: Instant, ack: &PacketRecord) -> Bytes {
        match ack.kind {
            AckKind::Positive => Bytes::ZERO,
            AckKind::Negative => self.sender.on_nack(now, ack.expected, None),
            AckKind::NegativeKept => self.sender.on_nack(now, ack.expected, Some(ack.number)),
            AckKind::Trimmed => self.sender.on_trimmed(now, ack.expected, ack.number),
        }
    }

    /// Whether its reaction point hears of this event.
    pub(crate) const fn hears_of(&self, event: &TransportEvent<'_>) -> bool {
        self.hears(event.kind())
    }

    /// Where its stream stands.
    #[inline]
    pub(crate) fn flight(&self) -> Flight {
        Flight {
            acknowledged: self.sender.acknowledged(),
            sent: self.sender.sent(),
            in_flight: Bytes::new(self.sender.in_flight()),
            early: self.sender.early(),
        }
    }

    /// When the next packet may go, if one may. None may before it begins.
    #[inline]
    pub(crate) fn next_ready(&self) -> Option<Instant> {
        (self.sender.ready() && self.not_before != Instant::NEVER).then_some(self.not_before)
    }

    /// Takes the next packet.
    #[inline(always)]
    pub(crate) fn take(&mut self, now: Instant) -> Payload {
        let packet = self.sender.next_packet(now).expect("a packet may go");
        self.not_before = now + self.gap;
        self.under_way += 1;
        let size = packet.payload.get() + self.headers;
        Payload { size: size as u16, backlog: 0, segment: Some(packet.number) }
    }

    /// When the next of its timers expires, if that is before the event that is pending.
    #[inline]
    pub(crate) fn changed_timer(&mut self) -> Option<Instant> {
        let next = self.next_wake();
        (next < self.wake).then(|| {
            self.wake = next;
            next
        })
    }

    /// When the next of its timers expires.
    fn next_wake(&self) -> Instant {
        self.sender.next_wake().min(self.receiver.next_wake())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::Packets;
    use crate::roce::QpRecovery;
    use crate::testing;
    use qcnlab_schemes::Endpoint;
    use qcnlab_schemes::registry::Config;
    use qcnlab_units::BitRate;

    fn us(n: u64) -> Instant {
        Instant::ZERO + Span::from_us(n)
    }

    /// Packets of 1000 octets and 48 of headers, and a timeout of 320 us.
    fn pair() -> QueuePair {
        QueuePair::new(&testing::queue_pair(QpRecovery::GoBackN), None, us(0))
    }

    /// A pair under a scheme, between hosts at 100 Gb/s and 10 us from each other and back.
    fn pair_under(scheme: &str, preset: Option<&str>) -> QueuePair {
        let rtt = Span::from_us(10);
        let endpoint =
            Endpoint { line_rate: BitRate::gbps(100), base_rtt: rtt, longest_rtt: rtt, mtu: Bytes::new(1000), hops: 1 };
        let mut pair = pair();
        pair.join(&Config::find(scheme, preset).unwrap().reaction_point(endpoint));
        pair
    }

    /// What of these: no mark, a mark, credit, and a missing packet.
    fn ask(asked: impl Fn(&PacketRecord) -> bool) -> [bool; 4] {
        let mut packets = Packets::new(false);
        let ids = [0; 4].map(|number| packets.send(us(0), number, 0));
        packets.get_mut(ids[1]).marked = 1;
        packets.grant(ids[2], Bytes::new(1000));
        packets.get_mut(ids[3]).kind = AckKind::Negative;
        ids.map(|id| asked(packets.get(id)))
    }

    /// Outside congestion control nobody is told, nor is DCQCN that answers CNPs. Marks on acknowledgements are all that it
    /// answers otherwise; with a window beside the rate it is asked what it permits after each, as HPCC is.
    #[test]
    fn who_is_told_of_which_acknowledgement() {
        let told = |pair: QueuePair| ask(|ack| pair.minds(ack));
        assert_eq!(told(pair()), [false; 4]);
        assert_eq!(told(pair_under("dcqcn", None)), [false; 4]);
        assert_eq!(told(pair_under("dcqcn", Some("HPCC_SIMULATOR"))), [false, true, true, true]);
        assert_eq!(told(pair_under("dcqcn", Some("HPCC_SIMULATOR_WINDOW"))), [true; 4]);
        assert_eq!(told(pair_under("hpcc", None)), [true; 4]);
    }

    /// Without a window nothing waits for what an acknowledgement says of arrivals; credit and a gap may change what goes.
    #[test]
    fn an_acknowledgement_frees_what_waits_for_a_window() {
        let frees_nothing = |pair: &QueuePair| ask(|ack| pair.frees_nothing(ack));
        assert_eq!(frees_nothing(&pair()), [true, true, false, false]);
        let mut narrow = testing::queue_pair(QpRecovery::GoBackN);
        narrow.window = Some(Bytes::new(4000));
        assert_eq!(frees_nothing(&QueuePair::new(&narrow, None, us(0))), [false; 4]);
        assert_eq!(frees_nothing(&pair_under("hpcc", None)), [false; 4]);
    }

    /// HPCC adds 42 octets of telemetry to packets of 1048 and acknowledgements of 60 octets.
    #[test]
    fn telemetry_makes_frames_longer() {
        let mut pair = pair_under("hpcc", None);
        assert_eq!((pair.take(us(0)).size, pair.ack_frame), (1090, 102));
    }

    #[test]
    fn a_pair_waits_for_its_start() {
        let mut pair = pair();
        assert_eq!(pair.next_ready(), Some(us(0)));
        pair.begin(Instant::NEVER);
        assert_eq!(pair.next_ready(), None);
        pair.begin(us(5));
        assert_eq!(pair.next_ready(), Some(us(5)));
    }

    /// The first packet, at 1 us, sets the timer to 321 us; the second leaves it there. All acknowledged, there is none.
    #[test]
    fn an_event_is_asked_for_when_a_timer_comes_forward() {
        let mut pair = pair();
        assert_eq!(pair.changed_timer(), None);
        let numbers = [1, 2].map(|at| (pair.take(us(at)).segment, pair.changed_timer()));
        assert_eq!(numbers, [(Some(0), Some(us(321))), (Some(1), None)]);
        pair.sender.on_ack(us(3), 2);
        assert_eq!((pair.changed_timer(), pair.wake), (None, us(321)));
    }
}
