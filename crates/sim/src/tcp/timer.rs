//! The retransmission timer: RFC 6298, one timed segment at a time.

use super::{Config, RttFrom};
use qcnlab_units::{Instant, Span};

/// Measures round trips and says when to give up waiting.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Timer {
    min: Span,
    max: Span,
    granularity: Span,
    /// SRTT; `None` before the first measurement.
    smoothed: Option<Span>,
    /// RTTVAR.
    variation: Span,
    /// RTO, doublings included.
    timeout: Span,
    deadline: Instant,
    /// The segment that is timed, and from when.
    timed: Option<(u32, Instant)>,
    from: RttFrom,
}

impl Timer {
    pub(super) fn new(config: &Config) -> Timer {
        Timer {
            min: config.min_rto,
            max: config.max_rto,
            granularity: config.granularity,
            smoothed: None,
            variation: Span::ZERO,
            timeout: config.initial_rto,
            deadline: Instant::NEVER,
            timed: None,
            from: config.rtt_from,
        }
    }

    /// When it expires; [`Instant::NEVER`] while it does not run.
    #[inline]
    pub(super) const fn next_wake(&self) -> Instant {
        self.deadline
    }

    /// RTO.
    pub(super) const fn timeout(&self) -> Span {
        self.timeout
    }

    /// SRTT, once there is one.
    #[inline]
    pub(super) const fn smoothed(&self) -> Option<Span> {
        self.smoothed
    }

    /// A segment goes. It starts a timer that does not run (5.1) and is timed if no other is; a repeated one
    /// is never timed and ends a measurement, whose acknowledgement would time the repair (Karn; section 3).
    #[inline]
    pub(super) fn on_sent(&mut self, now: Instant, number: u32, again: bool) {
        if again {
            self.timed = None;
        } else if self.timed.is_none() {
            self.timed = Some((number, now));
        }
        if self.deadline == Instant::NEVER {
            self.restart(now);
        }
    }

    /// A segment leaves the host: its round trip may count from now.
    #[inline]
    pub(super) fn on_departure(&mut self, now: Instant, number: u32) {
        if self.from == RttFrom::Departure
            && let Some((timed, since)) = &mut self.timed
            && *timed == number
        {
            *since = now;
        }
    }

    /// Everything below `next_expected` has arrived: measures if the timed segment is among it.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Instant, next_expected: u32) {
        if let Some((number, sent)) = self.timed
            && number < next_expected
        {
            self.timed = None;
            self.measure(now.since(sent));
        }
    }

    /// Expires one timeout from now (5.3).
    #[inline]
    pub(super) fn restart(&mut self, now: Instant) {
        self.deadline = now + self.timeout;
    }

    /// Nothing is outstanding (5.2).
    #[inline]
    pub(super) fn stop(&mut self) {
        self.deadline = Instant::NEVER;
    }

    /// It expired: doubles the timeout and gives the measurement up (5.5, 5.6).
    pub(super) fn back_off(&mut self, now: Instant) {
        self.timeout = (self.timeout + self.timeout).min(self.max);
        self.timed = None;
        self.restart(now);
    }

    /// Rules 2.2 and 2.3, in whole picoseconds rounded down; undoes any doubling.
    fn measure(&mut self, trip: Span) {
        let smoothed = match self.smoothed {
            None => {
                self.variation = trip.half_rounded_down();
                trip
            }
            Some(smoothed) => {
                let error = trip.ps().abs_diff(smoothed.ps());
                self.variation = toward(self.variation, error, 4);
                toward(smoothed, trip.ps(), 8)
            }
        };
        self.smoothed = Some(smoothed);
        let spread = Span::from_ps(self.variation.ps().saturating_mul(4)).max(self.granularity);
        self.timeout = rounded_up((smoothed + spread).max(self.min), self.granularity).min(self.max);
    }
}

/// (1 - 1/n) old + 1/n new.
fn toward(old: Span, new: u64, n: u64) -> Span {
    Span::from_ps(old.ps() - old.ps() / n + new / n)
}

fn rounded_up(span: Span, step: Span) -> Span {
    match step.ps() {
        0 => span,
        step => Span::from_ps(span.ps().div_ceil(step).saturating_mul(step)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::tests::config;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Span::from_ms(n)
    }

    /// A timer without a smallest timeout, and with a granularity of 1 ms.
    fn timer() -> Timer {
        Timer::new(&Config { min_rto: Span::ZERO, granularity: Span::from_ms(1), ..config() })
    }

    fn trip(timer: &mut Timer, number: u32, from: u64, until: u64) {
        timer.on_sent(ms(from), number, false);
        timer.on_ack(ms(until), number + 1);
    }

    #[test]
    fn measurements_follow_the_rules() {
        let mut timer = timer();
        assert_eq!(timer.timeout(), Span::from_ms(600));
        // First: SRTT 80, RTTVAR 40, RTO 80 + 160 = 240 ms.
        trip(&mut timer, 0, 0, 80);
        assert_eq!(timer.smoothed(), Some(Span::from_ms(80)));
        assert_eq!(timer.timeout(), Span::from_ms(240));
        // 160 ms: RTTVAR 3/4 40 + 1/4 |80 - 160| = 50, SRTT 7/8 80 + 1/8 160 = 90, RTO 90 + 200 = 290 ms.
        trip(&mut timer, 1, 100, 260);
        assert_eq!(timer.smoothed(), Some(Span::from_ms(90)));
        assert_eq!(timer.timeout(), Span::from_ms(290));
        // 82 ms: RTTVAR 37.5 + 2 = 39.5, SRTT 78.75 + 10.25 = 89, RTO 89 + 158 = 247 ms.
        trip(&mut timer, 2, 300, 382);
        assert_eq!(timer.smoothed(), Some(Span::from_ms(89)));
        assert_eq!(timer.timeout(), Span::from_ms(247));
        // 93 ms: RTTVAR 29.625 + 1 = 30.625, SRTT 77.875 + 11.625 = 89.5, 89.5 + 122.5 = 212 ms.
        trip(&mut timer, 3, 400, 493);
        assert_eq!(timer.timeout(), Span::from_ms(212));
        // 91.5 ms: RTTVAR 22.96875 + 0.5 = 23.46875, SRTT 78.3125 + 11.4375 = 89.75, sum 183.625: 184 ms.
        timer.on_sent(ms(500), 4, false);
        timer.on_ack(ms(500) + Span::from_us(91_500), 5);
        assert_eq!(timer.timeout(), Span::from_ms(184));
    }

    #[test]
    fn the_timeout_has_bounds() {
        // RTT 25 us: 25 + 4 * 12.5 = 75 us, but G is 1 ms, so 25 us + 1 ms, and then at least 100 ms.
        let mut timer = Timer::new(&config());
        timer.on_sent(ms(0), 0, false);
        timer.on_ack(Instant::ZERO + Span::from_us(25), 1);
        assert_eq!(timer.timeout(), Span::from_ms(100));
        // Without a smallest timeout 25 us + 1 ms, rounded up to 2 ms.
        let mut timer = self::timer();
        timer.on_sent(ms(0), 0, false);
        timer.on_ack(Instant::ZERO + Span::from_us(25), 1);
        assert_eq!(timer.timeout(), Span::from_ms(2));
        // A round trip of 50 s: 50 + 4 * 25 = 150 s, and at most 60.
        let mut timer = self::timer();
        trip(&mut timer, 0, 0, 50_000);
        assert_eq!(timer.timeout(), Span::from_ms(60_000));
        // No granularity: 75 us.
        let mut timer = Timer::new(&Config { min_rto: Span::ZERO, granularity: Span::ZERO, ..config() });
        timer.on_sent(ms(0), 0, false);
        timer.on_ack(Instant::ZERO + Span::from_us(25), 1);
        assert_eq!(timer.timeout(), Span::from_us(75));
    }

    #[test]
    fn doubling_lasts_until_a_measurement() {
        let mut timer = timer();
        trip(&mut timer, 0, 0, 80);
        timer.on_sent(ms(100), 1, false);
        // RTO is 240 ms: 480, 960, ... up to 60 s.
        for timeout in [480, 960, 1920, 3840, 7680, 15_360, 30_720, 60_000, 60_000] {
            timer.back_off(ms(200));
            assert_eq!(timer.timeout(), Span::from_ms(timeout));
            assert_eq!(timer.next_wake(), ms(200 + timeout));
        }
        // Karn: the repeated segment does not measure.
        timer.on_sent(ms(201), 1, true);
        timer.on_ack(ms(281), 2);
        assert_eq!(timer.timeout(), Span::from_ms(60_000));
        // The next new one does: RTTVAR 30 + 0, SRTT 80: 80 + 120 = 200 ms.
        trip(&mut timer, 2, 300, 380);
        assert_eq!(timer.timeout(), Span::from_ms(200));
    }

    #[test]
    fn one_segment_is_timed_at_a_time() {
        let mut timer = timer();
        timer.on_sent(ms(0), 0, false);
        timer.on_sent(ms(50), 1, false);
        timer.on_ack(ms(80), 1);
        timer.on_ack(ms(300), 2);
        assert_eq!(timer.smoothed(), Some(Span::from_ms(80)));
        // Any repetition ends a measurement.
        timer.on_sent(ms(400), 2, false);
        timer.on_sent(ms(410), 1, true);
        timer.on_ack(ms(900), 3);
        assert_eq!(timer.smoothed(), Some(Span::from_ms(80)));
        // Segment 4 is timed; that it is the next expected says nothing of when it came.
        timer.on_sent(ms(910), 4, false);
        timer.on_ack(ms(920), 4);
        timer.on_ack(ms(990), 5);
        assert_eq!(timer.smoothed(), Some(Span::from_ms(80)));
        // So does a timeout.
        timer.on_sent(ms(1000), 5, false);
        timer.back_off(ms(1900));
        timer.on_ack(ms(1901), 6);
        assert_eq!(timer.smoothed(), Some(Span::from_ms(80)));
    }

    #[test]
    fn a_round_trip_counts_from_the_handover_or_from_the_departure() {
        // Handed over at 0, on the link at 30 ms, acknowledged at 80: 80 or 50 ms. The departure of another segment
        // does not count.
        for (from, trip) in [(RttFrom::Handover, 80), (RttFrom::Departure, 50)] {
            let mut timer = Timer::new(&Config { rtt_from: from, ..config() });
            timer.on_sent(ms(0), 0, false);
            timer.on_sent(ms(0), 1, false);
            timer.on_departure(ms(30), 0);
            timer.on_departure(ms(40), 1);
            timer.on_ack(ms(80), 1);
            assert_eq!(timer.smoothed(), Some(Span::from_ms(trip)), "{from:?}");
        }
    }

    #[test]
    fn it_runs_from_the_first_segment_out() {
        let mut timer = timer();
        assert_eq!(timer.next_wake(), Instant::NEVER);
        timer.on_sent(ms(5), 0, false);
        timer.on_sent(ms(6), 1, false);
        assert_eq!(timer.next_wake(), ms(605));
        timer.stop();
        assert_eq!(timer.next_wake(), Instant::NEVER);
    }
}
