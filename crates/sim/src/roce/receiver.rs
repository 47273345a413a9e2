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
    arrived: Arrived,
    /// The last packet of the message.
    last: u32,
    /// Packets in order that no acknowledgement has answered.
    unanswered: u32,
    /// When an acknowledgement held back must go; [`Instant::NEVER`] when there is none.
    held: Instant,
    /// The packet that was missed last, and until when that need not be said again.
    missed: Option<(u32, Instant)>,
}

impl QpReceiver {
    /// Nothing has arrived of a message of so many packets.
    pub fn new(config: &QpConfig, packets: u32) -> QpReceiver {
        QpReceiver {
            recovery: config.recovery,
            every: config.ack_every.max(1),
            delay: config.ack_delay,
            nack_interval: config.nack_interval,
            arrived: Arrived::default(),
            last: packets.saturating_sub(1),
            unanswered: 0,
            held: Instant::NEVER,
            missed: None,
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
            return self.answered();
        }
        let hole = self.arrived.has_hole();
        self.arrived.insert(number);
        self.missed = None;
        self.unanswered += 1;
        if hole || self.unanswered >= self.every || self.arrived.expected() > self.last {
            return self.answered();
        }
        if self.held == Instant::NEVER {
            self.held = now + self.delay;
        }
        Reply::Nothing
    }

    /// A packet beyond the one expected. Go-back-N drops it, and says so now and then.
    fn out_of_order(&mut self, now: Instant, number: u32) -> Reply {
        if self.recovery == QpRecovery::SelectiveRepeat {
            self.arrived.insert(number);
            self.answered();
            return Reply::Nack(Some(number));
        }
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

    /// When to be woken; [`Instant::NEVER`] if no acknowledgement is held back.
    #[inline]
    pub const fn next_wake(&self) -> Instant {
        self.held
    }

    /// Holds an acknowledgement back until `at`, as a notification point asks.
    pub const fn hold(&mut self, at: Instant) {
        self.held = at;
    }

    /// The time asked for has come, or not: whether to acknowledge now.
    #[must_use]
    pub fn on_wake(&mut self, now: Instant) -> bool {
        let due = self.held != Instant::NEVER && now >= self.held;
        if due {
            self.answered();
        }
        due
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
