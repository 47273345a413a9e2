//! A queue pair between two hosts: its sender, its receiver, and what they know of the scheme.

use crate::frame::Payload;
use crate::ids::PacketId;
use crate::packets::PacketRecord;
use crate::roce::{QpConfig, QpReceiver, QpSender};
use qcnlab_schemes::registry::AnyRp;
use qcnlab_schemes::{EventKind, EventKinds, Flight, ReactionPoint, RpFastPath, TransportEvent};
use qcnlab_units::{Bytes, Instant, Span};

/// Both ends of a queue pair.
#[derive(Clone, Debug)]
pub(crate) struct QueuePair {
    pub(crate) sender: QpSender,
    pub(crate) receiver: QpReceiver,
    pub(crate) total: Option<Bytes>,
    pub(crate) ack_frame: u16,
    pub(crate) ack_class: Option<u8>,
    headers: u64,
    /// The events that its reaction point hears of; none outside congestion control.
    pub(crate) events: EventKinds,
    /// Whether its reaction point permits windows or gaps.
    permits_windows: bool,
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
            total,
            ack_frame: config.ack_frame.get() as u16,
            ack_class: config.ack_class,
            headers: config.headers.get(),
            events: EventKinds::NONE,
            permits_windows: false,
            ignores_unmarked: false,
            not_before: start,
            gap: Span::ZERO,
            wake: Instant::NEVER,
            unanswered: Unanswered::default(),
            received: Instant::NEVER,
        }
    }

    /// Puts it under the congestion control of a reaction point.
    pub(crate) fn join(&mut self, rp: &AnyRp) {
        let (capabilities, added) = (rp.capabilities(), rp.added_headers());
        self.events = capabilities.events;
        self.permits_windows = capabilities.permits_windows;
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
        }
    }

    /// When the next packet may go, if one may. None may before it begins.
    #[inline(never)]
    pub(crate) fn next_ready(&self) -> Option<Instant> {
        (self.sender.ready() && self.not_before != Instant::NEVER).then_some(self.not_before)
    }

    /// Takes the next packet.
    #[inline(never)]
    pub(crate) fn take(&mut self, now: Instant) -> Payload {
        let packet = self.sender.next_packet(now).expect("a packet may go");
        self.not_before = now + self.gap;
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
