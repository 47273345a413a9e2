//! The sending end: what may go, what must go again, and how far the window reaches.

use super::control::CongestionControl;
use super::progress::{Loss, Progress};
use super::timer::Timer;
use super::{Config, Flavour, RecoverGuard};
use qcnlab_units::{Bytes, Instant, Span};

/// Duplicate acknowledgements that mean a loss (RFC 5681, 3.2).
const DUPLICATES: u32 = 3;

/// A segment to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its position in the stream, from 0.
    pub number: u32,
    /// Its octets, headers not counted.
    pub payload: Bytes,
    /// Whether it was sent before.
    pub again: bool,
}

/// What a sender has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments sent, repeated ones included.
    pub segments: u64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Times that duplicate acknowledgements started a recovery.
    pub fast_retransmits: u64,
    /// Times that the timer expired.
    pub timeouts: u64,
}

/// Sends a stream of segments under a congestion control.
///
/// ```text
///        una            next           top
///   ------|--------------|--------------|------->  segment numbers
///    here     in flight    to go again     new      (next < top only after a timeout)
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TcpSender {
    mss: u64,
    /// The receiver's window, a segment at least.
    limit: u64,
    /// Segments in all.
    end: u32,
    endless: bool,
    /// Octets of the last one.
    last: u64,
    /// The first segment not acknowledged.
    una: u32,
    /// The next one to send in order.
    next: u32,
    /// One past the highest ever sent.
    top: u32,
    /// The first unacknowledged segment goes again, whatever the window says.
    repair: bool,
    /// cwnd, octets.
    window: u64,
    /// ssthresh, octets.
    threshold: u64,
    phase: Phase,
    /// Duplicates up to this number start no recovery: a timeout or a recovery has repeated it (`recover` of
    /// RFC 6582, one past). Counts if `guarded`.
    guard: Option<u32>,
    guarded: bool,
    /// The segment the timer last expired on.
    expired: Option<u32>,
    reno: bool,
    control: CongestionControl,
    timer: Timer,
    stats: Stats,
}

/// Where loss recovery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// All is well as far as is known.
    Open {
        /// Duplicate acknowledgements in a row.
        duplicates: u32,
    },
    /// Fast recovery.
    Recovery {
        /// It is over when everything below this has arrived. Reno leaves it at any new acknowledgement.
        until: u32,
        /// Whether a partial acknowledgement has come.
        partial: bool,
    },
}

impl TcpSender {
    /// A sender of `segments` segments, the last of `last_payload` octets; `None` for a stream without end,
    /// which stops at segment `u32::MAX`.
    pub fn new(config: &Config, segments: Option<u32>, last_payload: Bytes) -> TcpSender {
        let mss = config.mss.get().max(1);
        TcpSender {
            mss,
            limit: config.max_window.get().max(mss),
            end: segments.unwrap_or(u32::MAX),
            endless: segments.is_none(),
            last: last_payload.get().min(mss),
            una: 0,
            next: 0,
            top: 0,
            repair: false,
            window: mss * u64::from(config.initial_window.max(1)),
            threshold: u64::MAX,
            phase: Phase::Open { duplicates: 0 },
            guard: None,
            guarded: match config.recover_guard {
                RecoverGuard::ByFlavour => config.flavour != Flavour::Reno,
                RecoverGuard::Rfc6582 => true,
                RecoverGuard::Off => false,
            },
            expired: None,
            reno: config.flavour == Flavour::Reno,
            control: CongestionControl::new(config),
            timer: Timer::new(config),
            stats: Stats::default(),
        }
    }

    /// The next segment that may go now, repairs first. It counts as sent. To be called until it gives `None`:
    /// at the start, after each acknowledgement and after each wake-up.
    #[must_use]
    pub fn next_segment(&mut self, now: Instant) -> Option<Segment> {
        if !self.ready() {
            return None;
        }
        let number = if self.repair { self.una } else { self.next };
        self.repair = false;
        self.next = self.next.max(number + 1);
        let again = number < self.top;
        self.top = self.top.max(self.next);
        self.timer.on_sent(now, number, again);
        self.stats.segments += 1;
        self.stats.retransmitted += u64::from(again);
        Some(Segment { number, payload: Bytes::new(self.payload(number)), again })
    }

    /// Segment `number` leaves the host.
    #[inline]
    pub fn on_departure(&mut self, now: Instant, number: u32) {
        self.timer.on_departure(now, number);
    }

    /// Whether [`next_segment`](TcpSender::next_segment) would give one.
    #[inline]
    pub fn ready(&self) -> bool {
        let reach = self.window.min(self.limit);
        self.repair || self.next < self.end && self.octets(self.una, self.next) + self.payload(self.next) <= reach
    }

    /// An acknowledgement arrives: everything below `next_expected` has arrived. Old ones, and ones for what was
    /// never sent, are ignored.
    pub fn on_ack(&mut self, now: Instant, next_expected: u32) {
        if next_expected == self.una && self.next > self.una {
            self.on_duplicate(now);
        } else if next_expected > self.una && next_expected <= self.top {
            self.on_progress(now, next_expected);
        }
    }

    /// When to be woken; [`Instant::NEVER`] if nothing is outstanding.
    #[inline]
    pub const fn next_wake(&self) -> Instant {
        self.timer.next_wake()
    }

    /// The time asked for has come, or not. After a timeout the window is one segment, and everything
    /// unacknowledged goes again (RFC 5681, 3.1; RFC 6298, 5.4 to 5.6). The threshold stays when the same
    /// segment expires once more.
    pub fn on_wake(&mut self, now: Instant) {
        if self.timer.next_wake() == Instant::NEVER || now < self.timer.next_wake() {
            return;
        }
        self.stats.timeouts += 1;
        if self.expired != Some(self.una) {
            self.threshold = self.control.on_loss(Loss::Timeout, self.window, self.in_flight());
        }
        self.expired = Some(self.una);
        self.window = self.mss;
        self.next = self.una;
        self.repair = false;
        self.phase = Phase::Open { duplicates: 0 };
        self.guard = Some(self.top);
        self.timer.back_off(now);
    }

    /// Whether everything has arrived; never for a stream without end.
    #[inline]
    pub const fn finished(&self) -> bool {
        !self.endless && self.una >= self.end
    }

    /// The congestion window, cwnd.
    #[inline]
    pub const fn window(&self) -> Bytes {
        Bytes::new(self.window)
    }

    /// The slow start threshold, ssthresh; the largest number before the first loss.
    pub const fn threshold(&self) -> Bytes {
        Bytes::new(self.threshold)
    }

    /// Octets sent and not acknowledged since the last timeout, FlightSize.
    pub fn flight(&self) -> Bytes {
        Bytes::new(self.in_flight())
    }

    /// The retransmission timeout, RTO.
    pub const fn timeout(&self) -> Span {
        self.timer.timeout()
    }

    /// The smoothed round-trip time, SRTT; `None` before the first measurement.
    pub const fn round_trip(&self) -> Option<Span> {
        self.timer.smoothed()
    }

    /// The first segment not acknowledged: as many are known to have arrived.
    #[inline]
    pub const fn acknowledged(&self) -> u32 {
        self.una
    }

    /// What it has done so far.
    #[inline]
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// RFC 5681, 3.2, steps 2 to 5.
    fn on_duplicate(&mut self, now: Instant) {
        match &mut self.phase {
            Phase::Recovery { .. } => self.window += self.mss,
            Phase::Open { duplicates } => {
                *duplicates += 1;
                if *duplicates == DUPLICATES && (!self.guarded || self.guard.is_none_or(|guard| self.una > guard)) {
                    self.recover(now);
                }
            }
        }
    }

    /// Starts fast recovery: the segment the receiver misses goes again and has a whole timeout, and the window
    /// counts the three that have left the network.
    fn recover(&mut self, now: Instant) {
        self.stats.fast_retransmits += 1;
        self.threshold = self.control.on_loss(Loss::Duplicates, self.window, self.in_flight());
        self.window = self.threshold + u64::from(DUPLICATES) * self.mss;
        self.repair = true;
        self.phase = Phase::Recovery { until: self.top, partial: false };
        self.guard = Some(self.top);
        self.timer.restart(now);
    }

    fn on_progress(&mut self, now: Instant, next_expected: u32) {
        let acked = self.octets(self.una, next_expected);
        self.una = next_expected;
        self.next = self.next.max(next_expected);
        self.repair = false;
        self.timer.on_ack(now, next_expected);
        match self.phase {
            Phase::Open { .. } => self.grow(now, acked),
            Phase::Recovery { .. } if self.reno => self.window = self.threshold,
            Phase::Recovery { until, partial } if next_expected < until => {
                self.on_partial(now, until, partial, acked);
                return;
            }
            Phase::Recovery { .. } => {
                self.window = self.threshold.min(self.in_flight().max(self.mss) + self.mss);
            }
        }
        self.phase = Phase::Open { duplicates: 0 };
        if self.una == self.top { self.timer.stop() } else { self.timer.restart(now) }
    }

    /// RFC 6582, 3.2, step 5, partial acknowledgements: the next hole is repaired, and the window gives back
    /// what has arrived except the one segment that goes.
    fn on_partial(&mut self, now: Instant, until: u32, partial: bool, acked: u64) {
        self.repair = true;
        self.window = self.window.saturating_sub(acked) + self.mss;
        self.phase = Phase::Recovery { until, partial: true };
        if !partial {
            self.timer.restart(now);
        }
    }

    /// RFC 5681, 3.1: slow start, or the control's growth.
    fn grow(&mut self, now: Instant, acked: u64) {
        let grown = if self.window < self.threshold {
            self.window + acked.min(self.mss)
        } else {
            let rtt = self.timer.smoothed().unwrap_or(Span::ZERO);
            self.control.grown(Progress { now, octets: acked, window: self.window, rtt })
        };
        self.window = grown.min(self.limit.max(self.window));
    }

    fn in_flight(&self) -> u64 {
        self.octets(self.una, self.next)
    }

    #[inline]
    fn payload(&self, number: u32) -> u64 {
        if number + 1 == self.end && !self.endless { self.last } else { self.mss }
    }

    /// Octets of the segments from `from` up to but not including `to`.
    #[inline]
    fn octets(&self, from: u32, to: u32) -> u64 {
        let short = if to == self.end && from < to && !self.endless { self.mss - self.last } else { 0 };
        u64::from(to - from) * self.mss - short
    }
}

#[cfg(test)]
mod tests;
