//! FECN, forward explicit congestion notification: ports advertise one rate to all, probes carry it (reconstruction).
//!
//! Sources and ports start at C / N0.
//!
//! Source: Jain, Jiang and So-In, FECN (2007), from its outline and its default constants. How a new r is averaged
//! with the old, the step, and what an idle interval leaves are readings.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
Each port computes one rate, which it offers to each flow. Probes carry the smallest offer on a path back to
the source, and the source takes it. A port measures what arrives in an interval. If that was twice the
capacity that it wants to share out, it halves its offer, and so on. This capacity depends on the queue: a
little more than the link's with an empty queue, the link's at the set point, and less above it.

   source:  a probe each T while it sends, asking for its line rate --> every port on the way lowers it to its r
            --> destination returns it --> rate = what came back

   port, each T:  f(q) = a Qeq / ((a - 1) q + Qeq)           q up to Qeq
                         max(c, b Qeq / ((b - 1) q + Qeq))   above
                  rho = octets arrived / (T C f(q))
                  r  <-  alpha min(C, r / rho) + (1 - alpha) r,   up by at most a step while q < Qeq
                  nothing arrived: r = C / N0
";

use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::{CpFastPath, RpFastPath};
use crate::params::{Field, Range};
use crate::parts::drift::{Drift, DriftParams};
use crate::parts::returning::ReturnsProbes;
use crate::roles::{
    Arrival, CongestionPoint, CpAction, CpId, Endpoint, Gauge, Probe, ProbeAction, ProbeKind, Queue, ReactionPoint,
    RpCapabilities, Signal, SignalKind, Stamp,
};
use crate::{choice, params};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// FECN.
pub struct Fecn;

choice! {
    /// What a port advertises after an interval in which nothing arrived.
    pub enum AfterIdle {
        /// C / N0, as at the start.
        Start = "start",
        /// C, if nothing is queued; otherwise as before.
        Capacity = "capacity",
    }
}

params! {
    /// Parameters of the congestion point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct FecnCpParams {
        /// Queue length the loop steers to.
        set_point: Bytes, "Qeq", Range::at_least(100.0);
        /// Length of a measuring interval.
        interval: Span, "T", Range::at_least(1e6);
        /// Flows a port starts for.
        start_flows: f64, "N0", Range::at_least(1.0);
        /// Share of the capacity that is shared out with an empty queue; 1 at the set point.
        a: f64, "a", Range::at_least(1.0);
        /// Curvature above the set point.
        b: f64, "b", Range::at_least(1.0);
        /// The least share of the capacity that is shared out.
        c: f64, "c", Range::above_zero_to(1.0);
        /// Share of the new rate in the one advertised.
        alpha: f64, "alpha", Range::above_zero_to(1.0);
        /// Largest rise in one interval while the queue is shorter than the set point, as a share of the capacity.
        max_rise: f64, "delta r / C", Range::above_zero_to(1.0);
        /// What a port advertises after an interval in which nothing arrived.
        after_idle: AfterIdle, "", Range::ANY;
    }
}

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct FecnRpParams {
        /// From a probe to the next.
        probe_every: Span, "tau", Range::at_least(1e6);
        /// A source starts at the line rate divided by this.
        start_flows: f64, "N0", Range::at_least(1.0);
        /// The rate never falls below this.
        min_rate: BitRate, "", Range::POSITIVE;
        drift: DriftParams => drift_every, drift_step;
    }
}

const CP_FECN2007: FecnCpParams = FecnCpParams {
    set_point: Bytes::new(24_000),
    interval: Span::from_ms(1),
    start_flows: 200.0,
    a: 1.1,
    b: 1.002,
    c: 0.1,
    alpha: 0.5,
    max_rise: 0.1,
    after_idle: AfterIdle::Start,
};

const RP_FECN2007: FecnRpParams = FecnRpParams {
    probe_every: Span::from_ms(1),
    start_flows: 200.0,
    min_rate: BitRate::mbps(1),
    drift: DriftParams::OFF,
};

impl Family for Fecn {
    type CpParams = FecnCpParams;
    type RpParams = FecnRpParams;
    type Cp = FecnCp;
    type Rp = FecnRp;
    type Np = ReturnsProbes;
    const MEMBERS: &'static [Member<FecnCpParams, FecnRpParams>] = &[Member {
        name: "fecn",
        title: "FECN, forward explicit congestion notification (reconstruction)",
        source: "Jain and others, FECN (2007); deck 004",
        generation: Generation::Qau,
        status: Status::Reconstruction,
        about: ABOUT,
        presets: &[Preset {
            name: "FECN2007",
            about: "The published defaults: N0 200, T 1 ms, Qeq 24 000 octets, a 1.1, b 1.002, c 0.1, alpha 0.5. The rise of a \
                    tenth of C at most is ours, and so is the least rate of 1 Mb/s.",
            cp: CP_FECN2007,
            rp: RP_FECN2007,
        }],
    }];
    const HEARS: &'static [SignalKind] = &[SignalKind::Returned];
    const CP_SPEAKS: &'static [SignalKind] = &[];
    const NP_SPEAKS: &'static [SignalKind] = &[SignalKind::Returned];
    const FIELDS: (&'static [Field], &'static [Field]) = (FecnCpParams::FIELDS, FecnRpParams::FIELDS);

    fn set_point(params: &FecnCpParams, _: &FecnRpParams) -> Option<Bytes> {
        Some(params.set_point)
    }

    fn congestion_point(params: &FecnCpParams, _: CpId) -> FecnCp {
        FecnCp { params: *params, arrived: Bytes::ZERO, offer: None }
    }

    fn reaction_point(params: &FecnRpParams, Endpoint { line_rate, .. }: Endpoint) -> FecnRp {
        let start = line_rate.scaled_rounded_down(1.0 / params.start_flows);
        FecnRp {
            params: *params,
            line_rate,
            rate: start,
            timer: ProbeTimer::Idle,
            sent_since_probe: false,
            newest: Instant::ZERO,
            drift: Drift::new(params.drift),
        }
        .at_least_the_minimum()
    }

    fn notification_point(_: &FecnRpParams) -> Option<ReturnsProbes> {
        Some(ReturnsProbes)
    }
}

/// The congestion point: one rate for all.
#[derive(Clone, Debug)]
pub struct FecnCp {
    params: FecnCpParams,
    /// Octets that arrived in this interval.
    arrived: Bytes,
    /// What is offered, since the first frame came.
    offer: Option<Offer>,
}

#[derive(Clone, Copy, Debug)]
struct Offer {
    /// r, bit/s.
    rate: f64,
    /// The end of this interval.
    until: Instant,
}

impl FecnCp {
    /// f(q): share of the capacity to share out with `len` octets queued.
    fn share(&self, len: Bytes) -> f64 {
        let FecnCpParams { set_point, a, b, c, .. } = self.params;
        let (q, q_eq) = (len.as_f64(), set_point.as_f64());
        let curve = |x: f64| x * q_eq / ((x - 1.0) * q + q_eq);
        if len <= set_point { curve(a) } else { curve(b).max(c) }
    }

    /// Closes the intervals that have ended: the first with what arrived in it, the others idle. The queue is
    /// the one found now, without a frame that arrives now.
    fn settle(&mut self, now: Instant, queue: Queue) {
        let Some(mut offer) = self.offer else { return };
        if now < offer.until {
            return;
        }
        let period = self.params.interval.ps();
        let idle = now.since(offer.until).ps() / period;
        let arrived = std::mem::take(&mut self.arrived);
        offer.rate = self.next_rate(offer.rate, arrived, queue);
        if idle > 0 {
            offer.rate = self.next_rate(offer.rate, Bytes::ZERO, queue);
        }
        offer.until += Span::from_ps((1 + idle) * period);
        self.offer = Some(offer);
    }

    /// What is offered after an interval with `arrived` octets.
    fn next_rate(&self, rate: f64, arrived: Bytes, queue: Queue) -> f64 {
        let FecnCpParams { set_point, interval, start_flows, alpha, max_rise, after_idle, .. } = self.params;
        let capacity = queue.rate.as_f64();
        if arrived == Bytes::ZERO {
            return match after_idle {
                AfterIdle::Start => capacity / start_flows,
                AfterIdle::Capacity if queue.len == Bytes::ZERO => capacity,
                AfterIdle::Capacity => rate,
            };
        }
        let rho = arrived.bits() as f64 / (interval.seconds() * capacity * self.share(queue.len));
        let averaged = alpha * (rate / rho).min(capacity) + (1.0 - alpha) * rate;
        let limit = if queue.len < set_point { rate + max_rise * capacity } else { f64::INFINITY };
        averaged.min(limit).min(capacity)
    }
}

impl CongestionPoint for FecnCp {
    #[inline]
    fn on_arrival(&mut self, now: Instant, frame: &Arrival, queue: Queue, _: &mut Dice) -> CpAction {
        if frame.controlled {
            let before = if frame.admitted { queue.len.saturating_sub(frame.size) } else { queue.len };
            self.settle(now, Queue { len: before, ..queue });
            self.arrived += frame.size;
            if self.offer.is_none() {
                let rate = queue.rate.as_f64() / self.params.start_flows;
                self.offer = Some(Offer { rate, until: now + self.params.interval });
            }
        }
        CpAction::Nothing
    }

    fn on_probe(&mut self, now: Instant, probe: &mut Probe, queue: Queue) -> ProbeAction {
        if probe.kind == ProbeKind::Path {
            self.settle(now, queue);
            if let Some(offer) = self.offer {
                probe.rate = probe.rate.min(BitRate::bps(offer.rate as u64));
            }
        }
        ProbeAction::Pass
    }
}

impl CpFastPath for FecnCp {}

/// The reaction point: asks, and takes what it is offered.
#[derive(Clone, Debug)]
pub struct FecnRp {
    params: FecnRpParams,
    line_rate: BitRate,
    rate: BitRate,
    timer: ProbeTimer,
    sent_since_probe: bool,
    /// When the newest probe that came back was sent.
    newest: Instant,
    /// Runs below the line rate, from the first frame or the first rate taken.
    drift: Drift,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProbeTimer {
    /// Nothing is being sent.
    Idle,
    /// A probe is to be sent.
    Due,
    /// The next probe is due at `until`, if something has been sent by then.
    Resting { until: Instant },
}

impl FecnRp {
    fn at_least_the_minimum(mut self) -> FecnRp {
        self.take(self.rate);
        self
    }

    fn take(&mut self, rate: BitRate) {
        self.rate = rate.max(self.params.min_rate).min(self.line_rate);
    }

    /// Runs the drift timer below the line rate, and only there.
    fn keep_drifting(&mut self, now: Instant) {
        if self.rate >= self.line_rate {
            self.drift.stop();
        } else if self.drift.next() == Instant::NEVER {
            self.drift.start(now);
        }
    }
}

impl ReactionPoint for FecnRp {
    #[inline]
    fn on_sent(&mut self, now: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        self.sent_since_probe = true;
        if self.timer == ProbeTimer::Idle {
            self.timer = ProbeTimer::Due;
            self.keep_drifting(now);
        }
        Stamp::default()
    }

    fn on_signal(&mut self, now: Instant, signal: &Signal, _: &mut Dice) {
        if let Signal::Returned(probe) = signal
            && probe.asked_at >= self.newest
            && probe.asked_at <= now
        {
            self.newest = probe.asked_at;
            self.take(probe.rate);
            self.keep_drifting(now);
        }
    }

    fn on_wake(&mut self, now: Instant, _: &mut Dice) {
        if let ProbeTimer::Resting { until } = self.timer
            && now >= until
        {
            self.timer = if self.sent_since_probe { ProbeTimer::Due } else { ProbeTimer::Idle };
        }
        if let Some(step) = self.drift.due(now) {
            self.take(self.rate + step);
            self.keep_drifting(now);
        }
    }

    #[inline]
    fn next_wake(&self) -> Instant {
        let probe = match self.timer {
            ProbeTimer::Idle | ProbeTimer::Due => Instant::NEVER,
            ProbeTimer::Resting { until } => until,
        };
        probe.min(self.drift.next())
    }

    fn capabilities(&self) -> RpCapabilities {
        RpCapabilities::PROBING_LIMITER
    }

    fn take_probe(&mut self, now: Instant) -> Option<Probe> {
        if self.timer != ProbeTimer::Due {
            return None;
        }
        self.timer = ProbeTimer::Resting { until: now + self.params.probe_every };
        self.sent_since_probe = false;
        Some(Probe { kind: ProbeKind::Path, asked_at: now, sent: Bytes::ZERO, rate: self.line_rate })
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        (self.rate < self.line_rate).then_some(self.rate)
    }

    fn gauge(&self) -> Gauge {
        Gauge::at(self.rate)
    }
}

impl RpFastPath for FecnRp {}

#[cfg(test)]
mod tests;
