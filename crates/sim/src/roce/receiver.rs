//! The receiving end: what is missing first, and what to answer.

use super::{QpConfig, QpRecovery};
use crate::arrived::Arrived;
use qcnlab_units::{Instant, Span};

/// What a receiver answers to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Nothing yet.
    Nothing,
    /// It acknowledges everything below the packet that it expects.
    Ack,
    /// It misses the packet that it expects; what came in its place, where it was kept.
    Nack(Option<u32>),
    /// The packet with this number was cut to its head on the way.
    Trimmed(u32),
}

/// Takes the packets of one message and answers.
#[derive(Clone, Debug, PartialEq)]
pub struct QpReceiver {
    recovery: QpRecovery,
    every: u32,
    delay: Span,
    nack_interval: Span,
    /// Go-back-N: packets out of order that may be kept, and how long one is missed before that is said.
    room: u32,
    patience: Span,
    arrived: Arrived,
    /// The last packet of the message.
    last: u32,
    /// Packets in order that no acknowledgement has answered.
    unanswered: u32,
    /// When an acknowledgement held back must go; [`Instant::NEVER`] when there is none.
    held: Instant,
    /// The packet that was missed last, and until when that need not be said again.
    missed: Option<(u32, Instant)>,
    /// Go-back-N with a reorder buffer: when to say that the expected packet is missing; [`Instant::NEVER`] if none is.
    patient_until: Instant,
    /// Whether that was due when no packet was there to answer: the next one is.
    overdue: bool,
    stats: ReceiverStats,
}

/// What a receiver has seen of reordering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Packets that arrived although they were here: sent again without need.
    pub duplicates: u64,
    /// The most packets that were kept out of order at once.
    pub most_kept: u32,
}

impl QpReceiver {
    /// Nothing has arrived of a message of so many packets.
    pub fn new(config: &QpConfig, packets: u32) -> QpReceiver {
        QpReceiver {
            recovery: config.recovery,
            every: config.ack_every.max(1),
            delay: config.ack_delay,
            nack_interval: config.nack_interval,
            room: config.reorder_buffer,
            patience: config.reorder_wait,
            arrived: Arrived::default(),
            last: packets.saturating_sub(1),
            unanswered: 0,
            held: Instant::NEVER,
            missed: None,
            patient_until: Instant::NEVER,
            overdue: false,
            stats: ReceiverStats::default(),
        }
    }

    /// A packet arrives.
    #[must_use]
    #[inline]
    pub fn on_packet(&mut self, now: Instant, number: u32) -> Reply {
        let expected = self.arrived.expected();
        if number > expected {
            return self.out_of_order(now, number);
        }
        if number < expected {
            self.stats.duplicates += 1;
            return self.answered();
        }
        let hole = self.arrived.has_hole();
        self.arrived.insert(number);
        self.missed = None;
        self.unanswered += 1;
        if self.room > 0 {
            self.patient_until = if self.arrived.has_hole() { now + self.patience } else { Instant::NEVER };
            self.overdue = false;
        }
        if hole || self.unanswered >= self.every || self.arrived.expected() > self.last {
            return self.answered();
        }
        if self.held == Instant::NEVER {
            self.held = now + self.delay;
        }
        Reply::Nothing
    }

    /// A packet beyond the one expected. Go-back-N drops it, and says so now and then; with a reorder buffer it keeps what
    /// fits, and says nothing of it.
    fn out_of_order(&mut self, now: Instant, number: u32) -> Reply {
        if self.recovery == QpRecovery::SelectiveRepeat {
            self.keep(number);
            self.answered();
            return Reply::Nack(Some(number));
        }
        let known = self.arrived.missing_from(number) != number;
        if self.room > 0 && (known || self.arrived.kept() < self.room) {
            if !self.arrived.has_hole() {
                self.patient_until = now + self.patience;
            }
            self.keep(number);
            return if std::mem::take(&mut self.overdue) { self.miss(now) } else { Reply::Nothing };
        }
        self.miss(now)
    }

    /// Keeps a packet out of order.
    fn keep(&mut self, number: u32) {
        if self.arrived.insert(number) {
            self.stats.most_kept = self.stats.most_kept.max(self.arrived.kept());
        } else {
            self.stats.duplicates += 1;
        }
    }

    /// Go-back-N says what it misses, unless it has just said so.
    fn miss(&mut self, now: Instant) -> Reply {
        let expected = self.arrived.expected();
        if self.missed.is_some_and(|(missed, until)| missed == expected && now < until) {
            return Reply::Nothing;
        }
        self.missed = Some((expected, now + self.nack_interval));
        self.answered();
        Reply::Nack(None)
    }

    /// The head of a packet arrives, which was cut on the way. Go-back-N says so as often as it says what it misses.
    #[must_use]
    pub fn on_head(&mut self, now: Instant, number: u32) -> Reply {
        if self.arrived.missing_from(number) != number {
            return self.answered();
        }
        let expected = self.arrived.expected();
        if self.recovery == QpRecovery::GoBackN {
            if self.missed.is_some_and(|(missed, until)| missed == expected && now < until) {
                return self.answered();
            }
            self.missed = Some((expected, now + self.nack_interval));
        }
        self.answered();
        Reply::Trimmed(number)
    }

    /// When to be woken; [`Instant::NEVER`] if no acknowledgement is held back and no packet is missed.
    #[inline]
    pub fn next_wake(&self) -> Instant {
        self.held.min(self.patient_until)
    }

    /// Holds an acknowledgement back until `at`, as a notification point asks.
    pub const fn hold(&mut self, at: Instant) {
        self.held = at;
    }

    /// The time asked for has come, or not: what to answer now. `answerable` says whether a packet is there that was not
    /// answered; without one, what is due is said when the next packet comes.
    #[must_use]
    pub fn on_wake(&mut self, now: Instant, answerable: bool) -> Reply {
        if self.patient_until != Instant::NEVER && now >= self.patient_until {
            self.patient_until = Instant::NEVER;
            self.overdue = !answerable;
            if answerable && let Reply::Nack(said) = self.miss(now) {
                return Reply::Nack(said);
            }
        }
        if self.held != Instant::NEVER && now >= self.held { self.answered() } else { Reply::Nothing }
    }

    /// What it has seen of reordering.
    pub const fn stats(&self) -> ReceiverStats {
        self.stats
    }

    /// The first packet that is missing: as many are delivered in order.
    #[inline]
    pub const fn next_expected(&self) -> u32 {
        self.arrived.expected()
    }

    /// Whether the whole message is here.
    #[inline]
    pub const fn finished(&self) -> bool {
        self.arrived.expected() > self.last
    }

    const fn answered(&mut self) -> Reply {
        (self.unanswered, self.held) = (0, Instant::NEVER);
        Reply::Ack
    }
}
