//! Sources: when a frame is wanted.

use crate::plan::{FlowPlan, Traffic};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// What waits to be sent, and when more comes.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// Always one more frame; the next no earlier than `next`.
    Saturated { gap: Span, next: Instant },
    /// `waiting` frames as of the last look; one more at `next`, and so on. While frames wait, more
    /// come without an event of their own.
    Constant { clock: Clock, next: Instant, waiting: u64 },
}

impl Source {
    pub(crate) fn new(flow: &FlowPlan, start: Instant) -> Source {
        match &flow.traffic {
            Traffic::Saturated { ceiling, .. } => {
                let gap = ceiling.map_or(Span::ZERO, |rate| rate.time_for_rounded_up(flow.frame));
                Source::Saturated { gap, next: start }
            }
            Traffic::Constant { rate } => {
                Source::Constant { clock: Clock::new(flow.frame, *rate), next: start, waiting: 0 }
            }
            Traffic::Fed | Traffic::Tcp { .. } => unreachable!("no scenario asks for it yet"),
        }
    }

    /// Brings the number of waiting frames up to date.
    #[inline]
    pub(crate) fn catch_up(&mut self, now: Instant, stop: Instant) {
        if let Source::Constant { clock, next, waiting } = self {
            while *next <= now && *next < stop {
                *waiting += 1;
                *next += clock.tick();
            }
        }
    }
}

/// Ticks every 8 L / rate: whole picoseconds, and exact in the long run, because
/// the remainder of each tick is carried to the next.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    whole: u64,
    part: u64,
    carried: u64,
    rate: u64,
}

impl Clock {
    fn new(frame: Bytes, rate: BitRate) -> Clock {
        let bit_ps = u128::from(frame.bits()) * 1_000_000_000_000;
        let rate = u128::from(rate.get());
        Clock { whole: (bit_ps / rate) as u64, part: (bit_ps % rate) as u64, carried: 0, rate: rate as u64 }
    }

    #[inline]
    pub(crate) fn tick(&mut self) -> Span {
        self.carried += self.part;
        let mut ps = self.whole;
        if self.carried >= self.rate {
            self.carried -= self.rate;
            ps += 1;
        }
        Span::from_ps(ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_exact_in_the_long_run() {
        // 12 000 bits at 1.05 Gb/s: 11 428 571.43 ps; 7 ticks are 80 us exactly.
        let mut clock = Clock::new(Bytes::new(1500), BitRate::mbps(1050));
        let ticks: Vec<u64> = (0..7).map(|_| clock.tick().ps()).collect();
        assert_eq!(ticks.iter().sum::<u64>(), 80_000_000);
        assert!(ticks.iter().all(|t| (11_428_571..=11_428_572).contains(t)));
    }
}
