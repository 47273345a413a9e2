//! A limiter with one row of cycles: what path-based notices and SONAR have in common.
//!
//! Deck 000, Rules for changing TR and CR: a cycle that ends takes the current rate half way to the target; a
//! message cuts, and the cycles start from the first. The rate before the cut becomes the target, unless the first
//! cycle has not ended. A drift timer, where there is one, adds a step each period.

use super::drift::{Drift, DriftParams};
use super::rates::{CutParams, Rates};
use super::sampling::Countdown;
use crate::roles::{Cnm, Signal};
use qcnlab_units::{BitRate, Bytes, Instant};

/// Rates, byte counter, cycles and drift of an installed limiter.
#[derive(Clone, Debug)]
pub struct Cycles {
    /// Current and target rate.
    pub rates: Rates,
    /// Octets to the end of the byte-counter cycle.
    pub byte_count: Countdown,
    /// Cycles ended since the last message, less those taken back.
    pub stage: u32,
    drift: Drift,
}

impl Cycles {
    /// The first cycle, at `line_rate`; `drift` starts now.
    pub fn new(now: Instant, line_rate: BitRate, byte_reset: Bytes, drift: DriftParams) -> Cycles {
        let mut drift = Drift::new(drift);
        drift.start(now);
        Cycles { rates: Rates::at(line_rate), byte_count: Countdown::new(byte_reset), stage: 0, drift }
    }

    /// When the drift is due next.
    #[inline]
    pub const fn next_drift(&self) -> Instant {
        self.drift.next()
    }

    /// Lets the current rate drift if that is due, never past `line_rate`.
    pub fn drift_if_due(&mut self, now: Instant, line_rate: BitRate) {
        if let Some(step) = self.drift.due(now) {
            self.rates.drift(step, line_rate);
        }
    }

    /// A message with quantized feedback `fb` came. Byte-counter cycles have `byte_reset` octets.
    pub fn on_cnm(&mut self, now: Instant, fb: u8, byte_reset: Bytes, cut: &CutParams) {
        self.drift.heard(now);
        if self.stage != 0 {
            self.rates.aim_at_current();
            self.byte_count.restart_exactly(byte_reset);
        }
        self.stage = 0;
        self.rates.cut(fb, cut);
    }

    /// Whether a frame that leaves `backlog` behind is the last to need the limiter: it is back at `line_rate` and
    /// nothing waits.
    pub fn over(&self, line_rate: BitRate, backlog: Bytes) -> bool {
        self.rates.current == line_rate && backlog == Bytes::ZERO
    }
}

/// The quantized feedback of a message that a limiter hears. One is installed only by a message from a queue above
/// its set point; once it is there it hears all with feedback.
pub const fn heard(signal: &Signal, limiting: bool) -> Option<u8> {
    match signal {
        Signal::Cnm(Cnm { quantized_fb: fb @ 1.., q_offset, .. }) if limiting || *q_offset < 0 => Some(*fb),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::CpId;
    use qcnlab_units::Span;

    const CYCLE: Bytes = Bytes::new(150_000);
    const CUT: CutParams = CutParams { gd: 1.0 / 128.0, min_dec_fac: 0.5, min_rate: BitRate::mbps(10) };

    fn cycles(drift_every: Span) -> Cycles {
        let drift = DriftParams::each(drift_every, BitRate::mbps(1));
        Cycles::new(Instant::ZERO, BitRate::gbps(10), CYCLE, drift)
    }

    #[test]
    fn the_first_cycle_keeps_its_target() {
        let mut cycles = cycles(Span::ZERO);
        let rates = |cycles: &Cycles| (cycles.rates.current, cycles.rates.target);
        // 10 000 (1 - 32/128) = 7500, and 5625 without a cycle in between.
        cycles.on_cnm(Instant::ZERO, 32, CYCLE, &CUT);
        assert_eq!(rates(&cycles), (BitRate::mbps(7500), BitRate::gbps(10)));
        cycles.on_cnm(Instant::ZERO, 32, CYCLE, &CUT);
        assert_eq!(rates(&cycles), (BitRate::mbps(5625), BitRate::gbps(10)));
        cycles.stage = 1;
        cycles.on_cnm(Instant::ZERO, 64, CYCLE, &CUT);
        assert_eq!((rates(&cycles), cycles.stage), ((BitRate::bps(2_812_500_000), BitRate::mbps(5625)), 0));
    }

    /// 10 000 (1 - 64/128) = 5000, 5001 after 1 ms; a message halves that, and 2 ms stay due.
    #[test]
    fn it_drifts_whatever_is_heard() {
        let mut cycles = cycles(Span::from_ms(1));
        let ms = |n| Instant::ZERO + Span::from_ms(n);
        cycles.on_cnm(Instant::ZERO, 64, CYCLE, &CUT);
        cycles.drift_if_due(ms(1), BitRate::gbps(10));
        assert_eq!((cycles.rates.current, cycles.next_drift()), (BitRate::mbps(5001), ms(2)));
        cycles.on_cnm(ms(1), 64, CYCLE, &CUT);
        cycles.drift_if_due(ms(2), BitRate::gbps(10));
        assert_eq!((cycles.rates.current, cycles.next_drift()), (BitRate::bps(2_501_500_000), ms(3)));
        cycles.drift_if_due(ms(10_000), BitRate::gbps(10));
        assert_eq!(cycles.rates, Rates::at(BitRate::gbps(10)));
    }

    #[test]
    fn it_ends_at_line_rate_with_nothing_waiting() {
        let mut cycles = cycles(Span::ZERO);
        assert!(cycles.over(BitRate::gbps(10), Bytes::ZERO));
        assert!(!cycles.over(BitRate::gbps(10), Bytes::new(1)));
        cycles.on_cnm(Instant::ZERO, 1, CYCLE, &CUT);
        assert!(!cycles.over(BitRate::gbps(10), Bytes::ZERO));
    }

    #[test]
    fn room_installs_no_limiter() {
        let cnm = |quantized_fb, q_offset| Signal::Cnm(Cnm { cp: CpId(0), quantized_fb, q_offset, q_delta: 0 });
        assert_eq!((heard(&cnm(3, 0), false), heard(&cnm(3, 0), true)), (None, Some(3)));
        assert_eq!((heard(&cnm(3, -1), false), heard(&cnm(0, -1), true)), (Some(3), None));
        assert_eq!(heard(&Signal::Cnp, true), None);
    }
}
