//! The sending end: what may go, what must go again, and when silence means loss.

use super::{QpConfig, QpRecovery};
use crate::arrived::Arrived;
use qcnlab_schemes::LossSign;
use qcnlab_units::{Bytes, Instant, Span};
use std::collections::VecDeque;

/// A packet to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QpPacket {
    /// Its position in the message, from 0.
    pub number: u32,
    /// Its octets, headers not counted.
    pub payload: Bytes,
    /// Whether it was sent before.
    pub again: bool,
}

/// What a sender has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QpStats {
    /// Packets sent, repeated ones included.
    pub packets: u64,
    /// Packets sent again.
    pub retransmitted: u64,
    /// Negative acknowledgements heard.
    pub nacks: u64,
    /// Times that the timer expired.
    pub timeouts: u64,
    /// Packets that were cut to their heads.
    pub trimmed: u64,
}

/// Sends one message, or a stream without end.
///
/// ```text
///        una            next           top
///   ------|--------------|--------------|------->  packet numbers
///    here     in flight    to go again     new      (next < top only after going back)
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct QpSender {
    payload: u64,
    recovery: QpRecovery,
    /// Octets in flight at most, by its own rule.
    own_window: u64,
    /// And as the scheme permits.
    permitted: u64,
    /// Octets of payload that it may send in all, and that it has sent, repeats among them; all may go without credit.
    credit: u64,
    spent: u64,
    /// Packets in all.
    end: u32,
    /// Octets of the last one.
    last: u64,
    next: u32,
    /// One past the highest ever sent.
    top: u32,
    /// What is acknowledged; the first missing one is una.
    acknowledged: Arrived,
    repair: Option<Repair>,
    /// Selective repeat: packets that must have overtaken a missing one, and how much longer that is waited for.
    threshold: u32,
    window: Span,
    /// Missing packets below these numbers have been overtaken by so many, and are waited for until these times.
    waited_for: VecDeque<(Instant, u32)>,
    /// Whether the last negative acknowledgement made a packet be taken for lost.
    infers_loss: bool,
    /// Selective repeat: packets that were cut to their heads and go again. The first is not acknowledged.
    cut: VecDeque<u32>,
    /// What `acknowledged` has, and all that were cut since the last timeout: no repair looks at them. `None` while
    /// nothing that was cut is outstanding.
    settled: Option<Arrived>,
    rto: Span,
    rto_low: Span,
    few: u32,
    deadline: Instant,
    stats: QpStats,
}

/// Selective repeat: which lost packets go again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Repair {
    /// It is over when everything below this is acknowledged.
    until: u32,
    /// Packets below this have been looked at.
    from: u32,
    /// Packets from here on are not thought lost.
    to: u32,
}

impl QpSender {
    /// A sender of `total` octets; `None` for a stream without end, which stops at packet `u32::MAX`.
    pub fn new(config: &QpConfig, total: Option<Bytes>) -> QpSender {
        let payload = config.payload.get().max(1);
        let end =
            total.map_or(u32::MAX, |total| u32::try_from(total.get().div_ceil(payload)).unwrap_or(u32::MAX - 1).max(1));
        let last = match total.map_or(0, Bytes::get) % payload {
            0 => payload,
            rest => rest,
        };
        QpSender {
            payload,
            recovery: config.recovery,
            own_window: config.window.map_or(u64::MAX, Bytes::get),
            permitted: u64::MAX,
            credit: u64::MAX,
            spent: 0,
            end,
            last,
            next: 0,
            top: 0,
            acknowledged: Arrived::default(),
            repair: None,
            threshold: config.reordering_threshold,
            window: config.reordering_window,
            waited_for: VecDeque::new(),
            infers_loss: false,
            cut: VecDeque::new(),
            settled: None,
            rto: config.rto,
            rto_low: config.rto_low,
            few: config.rto_low_packets,
            deadline: Instant::NEVER,
            stats: QpStats::default(),
        }
    }

    /// Octets that may be in flight from now on, as the scheme permits; `None` for any number.
    #[inline]
    pub fn permit(&mut self, window: Option<Bytes>) {
        self.permitted = window.map_or(u64::MAX, Bytes::get);
    }

    /// Octets of payload that it may send in all from now on, repeats counted anew.
    pub fn credit(&mut self, credit: Bytes) {
        self.credit = credit.get();
    }

    /// Whether any number of octets may be in flight.
    #[inline]
    pub fn is_unbounded(&self) -> bool {
        self.own_window.min(self.permitted) == u64::MAX
    }

    /// Whether [`next_packet`](QpSender::next_packet) would give one: a repair, or a packet while fewer octets than
    /// the window are in flight.
    #[inline]
    pub fn ready(&self) -> bool {
        (self.goes_on() || self.may_repair() && self.has_repair()) && self.spent < self.credit
    }

    /// Whether the next packet may go, apart from repairs.
    #[inline]
    fn goes_on(&self) -> bool {
        self.next < self.end && self.in_flight() < self.own_window.min(self.permitted)
    }

    /// Whether packets may be thought lost: without that nothing has to be looked for.
    #[inline]
    fn may_repair(&self) -> bool {
        self.repair.is_some() || !self.cut.is_empty()
    }

    #[cold]
    fn has_repair(&self) -> bool {
        !self.cut.is_empty() || self.next_repair().is_some()
    }

    /// The next packet that may go now, repairs first. It counts as sent.
    #[must_use]
    #[inline(always)]
    pub fn next_packet(&mut self, now: Instant) -> Option<QpPacket> {
        if self.spent >= self.credit {
            return None;
        }
        let repair = if self.may_repair() { self.take_repair() } else { None };
        let number = match repair {
            Some(lost) => lost,
            None if self.goes_on() => {
                self.next += 1;
                self.next - 1
            }
            None => return None,
        };
        let again = number < self.top;
        self.top = self.top.max(self.next);
        self.stats.packets += 1;
        self.stats.retransmitted += u64::from(again);
        if self.deadline == Instant::NEVER {
            self.restart_timer(now);
        }
        let payload = self.octets(number, number + 1);
        if self.credit < u64::MAX {
            self.spent += payload;
        }
        Some(QpPacket { number, payload: Bytes::new(payload), again })
    }

    /// The next packet that goes again; it counts as gone.
    #[cold]
    fn take_repair(&mut self) -> Option<u32> {
        if let Some(cut) = self.cut.pop_front() {
            self.forget_old_cuts();
            return Some(cut);
        }
        let lost = self.next_repair()?;
        self.repair.as_mut()?.from = lost + 1;
        Some(lost)
    }

    /// Everything below `expected` has arrived; returns how many octets are acknowledged for the first time. Old
    /// acknowledgements, and ones for what was never sent, are ignored.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Instant, expected: u32) -> Bytes {
        let before = self.una();
        if expected <= before || expected > self.top {
            return Bytes::ZERO;
        }
        self.acknowledged.advance(expected);
        let una = self.una();
        if self.settled.is_some() {
            self.settle(expected);
        }
        self.next = self.next.max(una);
        if self.repair.is_some_and(|repair| una >= repair.until) {
            self.repair = None;
        }
        if una == self.top {
            self.deadline = Instant::NEVER;
            self.waited_for.clear();
        } else {
            self.restart_timer(now);
        }
        Bytes::new(self.octets(before, una))
    }

    /// The receiver misses `expected` and has `here`, which came out of order; returns the octets that are acknowledged
    /// for the first time.
    pub fn on_nack(&mut self, now: Instant, expected: u32, here: Option<u32>) -> Bytes {
        self.stats.nacks += 1;
        // Who takes each packet that is missing for lost takes what says so for a loss, however old.
        self.infers_loss = self.recovery == QpRecovery::GoBackN || self.threshold <= 1 && self.window == Span::ZERO;
        let newly = self.on_ack(now, expected);
        let una = self.una();
        match (self.recovery, here) {
            (QpRecovery::GoBackN, _) if expected == una && una < self.top => self.next = una,
            // What came is here however old the answer is: answers may overtake one another, too.
            (QpRecovery::SelectiveRepeat, Some(here)) if here > una && here < self.top => {
                self.acknowledged.insert(here);
                if let Some(settled) = &mut self.settled {
                    settled.insert(here);
                }
                let below = self.acknowledged.overtaken_by(self.threshold);
                if self.window == Span::ZERO {
                    self.infers_loss |= self.repair_below(below);
                } else {
                    self.wait_for(now, below);
                    self.infers_loss = self.waited_long_enough(now);
                }
            }
            _ => {}
        }
        newly
    }

    /// Takes the packets that are missing below a number for lost; returns whether there are any that were not before.
    fn repair_below(&mut self, below: u32) -> bool {
        let una = self.una();
        if below <= una {
            return false;
        }
        let repair = self.repair.get_or_insert(Repair { until: self.top, from: una, to: una });
        let before = repair.from.max(repair.to);
        repair.to = repair.to.max(below);
        self.settled.as_ref().unwrap_or(&self.acknowledged).missing_from(before) < below
    }

    /// Waits for the packets that are missing below a number, unless that is done already.
    fn wait_for(&mut self, now: Instant, below: u32) {
        let newest = self.waited_for.back().map_or(0, |(_, below)| *below);
        if below > self.una().max(newest) {
            self.waited_for.push_back((now + self.window, below));
        }
    }

    /// Takes for lost what has been waited for long enough; returns whether that is anything.
    fn waited_long_enough(&mut self, now: Instant) -> bool {
        let mut lost = false;
        while let Some((until, below)) = self.waited_for.front().copied()
            && (now >= until || below <= self.una())
        {
            self.waited_for.pop_front();
            lost |= self.repair_below(below);
        }
        lost
    }

    /// Whether the last negative acknowledgement made a packet be taken for lost.
    #[inline]
    pub const fn infers_loss(&self) -> bool {
        self.infers_loss
    }

    /// Everything below `expected` has arrived, and packet `number` was cut to its head; returns the octets that are
    /// acknowledged for the first time.
    pub fn on_trimmed(&mut self, now: Instant, expected: u32, number: u32) -> Bytes {
        self.stats.trimmed += 1;
        let newly = self.on_ack(now, expected);
        if number >= self.top || self.acknowledged.missing_from(number) != number {
            return newly;
        }
        match self.recovery {
            QpRecovery::GoBackN if expected == self.una() => self.next = expected,
            QpRecovery::GoBackN => {}
            QpRecovery::SelectiveRepeat => {
                self.settled.get_or_insert_with(|| self.acknowledged.clone()).insert(number);
                self.cut.push_back(number);
            }
        }
        newly
    }

    /// Octets of payload of a packet.
    pub fn payload_of(&self, number: u32) -> Bytes {
        Bytes::new(self.octets(number, number + 1))
    }

    /// When to be woken; [`Instant::NEVER`] if nothing is outstanding.
    #[inline]
    pub fn next_wake(&self) -> Instant {
        self.waited_for.front().map_or(self.deadline, |(until, _)| self.deadline.min(*until))
    }

    /// The time asked for has come, or not; returns what that says of losses. At a timeout everything unacknowledged goes
    /// again.
    #[must_use]
    pub fn on_wake(&mut self, now: Instant) -> Option<LossSign> {
        let gap = self.waited_long_enough(now).then_some(LossSign::Gap);
        if self.deadline == Instant::NEVER || now < self.deadline {
            return gap;
        }
        self.stats.timeouts += 1;
        match self.recovery {
            QpRecovery::GoBackN => self.next = self.una(),
            QpRecovery::SelectiveRepeat => {
                self.repair = Some(Repair { until: self.top, from: self.una(), to: self.top });
                self.cut.clear();
                self.settled = None;
                self.waited_for.clear();
            }
        }
        self.restart_timer(now);
        Some(LossSign::Timeout)
    }

    /// Whether everything is acknowledged; never for a stream without end.
    #[inline]
    pub const fn finished(&self) -> bool {
        self.una() >= self.end && self.end != u32::MAX
    }

    /// Octets sent and not acknowledged.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.octets(self.una(), self.next)
    }

    /// Octets that have arrived beyond the first packet that is missing.
    #[inline]
    pub fn early(&self) -> Bytes {
        if !self.acknowledged.has_hole() {
            return Bytes::ZERO;
        }
        let short = if self.acknowledged.highest() == self.end { self.payload - self.last } else { 0 };
        Bytes::new(u64::from(self.acknowledged.kept()) * self.payload - short)
    }

    /// Octets acknowledged without a gap.
    #[inline]
    pub fn acknowledged(&self) -> Bytes {
        Bytes::new(self.octets(0, self.una()))
    }

    /// Octets sent at least once.
    #[inline]
    pub fn sent(&self) -> Bytes {
        Bytes::new(self.octets(0, self.top))
    }

    /// Octets that may be in flight; `None` for any number.
    pub fn window(&self) -> Option<Bytes> {
        Some(self.own_window.min(self.permitted)).filter(|window| *window < u64::MAX).map(Bytes::new)
    }

    /// Octets in all; `None` for a stream without end.
    pub fn total(&self) -> Option<Bytes> {
        (self.end != u32::MAX).then(|| Bytes::new(self.octets(0, self.end)))
    }

    /// Packets in all.
    #[inline]
    pub const fn packets(&self) -> u32 {
        self.end
    }

    /// What it has done so far.
    pub const fn stats(&self) -> QpStats {
        self.stats
    }

    #[inline]
    const fn una(&self) -> u32 {
        self.acknowledged.expected()
    }

    /// The next lost packet that goes again.
    #[inline]
    fn next_repair(&self) -> Option<u32> {
        let repair = self.repair?;
        let lost = self.settled.as_ref().unwrap_or(&self.acknowledged).missing_from(repair.from);
        (lost < repair.to).then_some(lost)
    }

    /// Everything below `expected` needs no repair.
    #[cold]
    fn settle(&mut self, expected: u32) {
        if let Some(settled) = &mut self.settled {
            settled.advance(expected);
            if settled.highest() <= self.acknowledged.expected() {
                self.settled = None;
            }
        }
        self.forget_old_cuts();
    }

    /// Takes packets off the front that were cut and have been acknowledged since.
    fn forget_old_cuts(&mut self) {
        while self.cut.front().is_some_and(|number| *number < self.una()) {
            self.cut.pop_front();
        }
    }

    #[inline]
    fn restart_timer(&mut self, now: Instant) {
        let few = self.top - self.una() <= self.few;
        self.deadline = now + if few { self.rto_low } else { self.rto };
    }

    /// Octets of the packets from `from` up to but not including `to`.
    #[inline]
    fn octets(&self, from: u32, to: u32) -> u64 {
        let short = if to == self.end && from < to { self.payload - self.last } else { 0 };
        u64::from(to - from) * self.payload - short
    }
}
