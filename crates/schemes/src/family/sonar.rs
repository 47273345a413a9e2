//! QCN-SONAR: a limiter that asks the path for bandwidth and takes silence for yes.
//!
//! Entering short fuse puts the limiter into hyper-active increase: target += Ri times the count of
//! increases, at each byte-counter cycle and each short fuse that burns down. Otherwise the limiter is
//! QCN's with the byte counter alone.
//!
//! A switch echoes a special frame when it has no bandwidth: its queue has not been below a threshold
//! for long enough.
//!
//! Source: deck 000, SONAR (logic); deck 004 (timers). What a short fuse that burns down does, and that
//! an echo ends hyper-active increase, are readings; so is that a special frame that is discarded is echoed.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
QCN with the byte counter alone, and a way to ask for bandwidth. From time to time a limiter marks a data
frame as special. A switch without spare bandwidth echoes it. If no echo comes, the path has bandwidth, and
the limiter goes into hyper-active increase until it gets a message or an echo. A switch has spare bandwidth
if its queue has been below a threshold for 10 ms.

   wait to probe --timer--> next frame special --sent--> wait for echo --silence--> short fuse --+
        ^                                                     |                     |   ^        |
        |         echo: leave hyper-active increase           |                     |   +--------+
        +-----------------------------------------------------+---------------------+   timer: increase,
                                                                                        next frame special
   a CNM in any state: cut, leave hyper-active increase, wait to probe
";

use super::qcn;
use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::{CpFastPath, RpFastPath};
use crate::params::{Field, Range};
use crate::parts::bandwidth::{BandwidthDetector, BandwidthParams};
use crate::parts::cycles::{self, Cycles};
use crate::parts::forward::forward;
use crate::parts::rates::Rates;
use crate::roles::{
    Arrival, CongestionPoint, CpAction, CpId, Endpoint, Gauge, NoNotification, Observation, Queue, ReactionPoint,
    Signal, SignalKind, SonarObservation, Stamp,
};
use crate::{choice, params};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// QCN-SONAR.
pub struct Sonar;

choice! {
    /// What a short fuse that burns down starts.
    pub enum AfterFuse {
        /// Another short fuse, while the next special frame is under way.
        ShortFuse = "short_fuse",
        /// The wait for the echo of the next special frame.
        WaitForEcho = "wait_for_echo",
    }
}

params! {
    /// Parameters of the congestion point: QCN's, and the bandwidth detector's.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SonarCpParams {
        sampler: qcn::QcnCpParams => set_point, w, sample_base, sampling, adaptive_sampling, jitter_width, fb_bits, count_discarded;
        bandwidth: BandwidthParams => available_below, available_after;
        /// Whether a special frame that the switch discards is echoed as one that it admits.
        echo_discarded: bool, "", Range::ANY;
    }
}

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SonarRpParams {
        limiter: qcn::QcnRpParams => byte_reset, threshold;
        /// Step of the target rate in active increase, and in hyper-active increase where that has none of its own.
        increase_rate: BitRate, "R_i, Ri", Range::at_least(0.0);
        /// Step of the target rate in hyper-active increase; unset, that of active increase.
        hai_rate: Option<BitRate>, "HAI", Range::at_least(0.0);
        limiter => hai_step;
        limiter => gd, min_dec_fac, min_rate, jitter_width, target_rate_reduction, drift_every, drift_step, drift_restart;
        /// From a message to the next special frame.
        wait_to_probe: Span, "WP", Range::at_least(1e6);
        /// How long silence must last. Longer than any round trip with its queues, or it is a false alarm.
        wait_for_echo: Span, "WE", Range::at_least(1e6);
        /// From silence to an increase and the next special frame.
        short_fuse: Span, "SF", Range::at_least(1e6);
        /// What a short fuse that burns down starts, beside the increase and the next special frame.
        after_fuse: AfterFuse, "", Range::ANY;
    }
}

const CP_DECK000: SonarCpParams =
    SonarCpParams { sampler: qcn::CP_DECK000, bandwidth: BandwidthParams::DECK000, echo_discarded: true };

const RP_DECK000: SonarRpParams = SonarRpParams {
    limiter: qcn::RP_DECK000,
    increase_rate: BitRate::mbps(5),
    hai_rate: None,
    wait_to_probe: Span::from_ms(10),
    wait_for_echo: Span::from_ms(2),
    short_fuse: Span::from_us(500),
    after_fuse: AfterFuse::ShortFuse,
};

const CP_IBM_ZRL: SonarCpParams = SonarCpParams {
    sampler: qcn::CP_IBM_ZRL,
    bandwidth: BandwidthParams { available_below: Bytes::new(15_000), ..CP_DECK000.bandwidth },
    ..CP_DECK000
};

const RP_IBM_ZRL: SonarRpParams =
    SonarRpParams { increase_rate: BitRate::mbps(12), limiter: qcn::RP_IBM_ZRL, ..RP_DECK000 };

impl Family for Sonar {
    type CpParams = SonarCpParams;
    type RpParams = SonarRpParams;
    type Cp = SonarCp;
    type Rp = SonarRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<SonarCpParams, SonarRpParams>] = &[Member {
        name: "qcn_sonar",
        title: "QCN-SONAR",
        source: "deck 000, SONAR; deck 004",
        generation: Generation::Qau,
        status: Status::ReadingsChosen,
        about: ABOUT,
        presets: &[
            Preset {
                name: "DECK000",
                about: "Deck 000: threshold 6 frames for 10 ms, set point 22 frames. The ping timers are deck 004's; \
                        the increase step is on neither, 5 Mb/s is deck 001's.",
                cp: CP_DECK000,
                rp: RP_DECK000,
            },
            Preset {
                name: "IBM_ZRL",
                about: "Deck 004: threshold 15 000 B for 10 ms, and what that deck sets for all its schemes: feedback of \
                        eight bits, drift of 4 Mb/s each 20 ms, Ri 12 Mb/s, minimum rate 1 Mb/s.",
                cp: CP_IBM_ZRL,
                rp: RP_IBM_ZRL,
            },
        ],
    }];
    const HEARS: &'static [SignalKind] = &[SignalKind::Cnm, SignalKind::Echo];
    const CP_SPEAKS: &'static [SignalKind] = &[SignalKind::Cnm, SignalKind::Echo];
    const FIELDS: (&'static [Field], &'static [Field]) = (SonarCpParams::FIELDS, SonarRpParams::FIELDS);

    fn set_point(params: &SonarCpParams, _: &Self::RpParams) -> Option<Bytes> {
        Some(params.sampler.set_point)
    }

    fn congestion_point(params: &SonarCpParams, id: CpId) -> SonarCp {
        SonarCp {
            id,
            sampler: qcn::QcnCp::new(params.sampler, id),
            bandwidth: BandwidthDetector::new(params.bandwidth),
            echo_discarded: params.echo_discarded,
        }
    }

    fn reaction_point(params: &SonarRpParams, Endpoint { line_rate, .. }: Endpoint) -> SonarRp {
        SonarRp { params: *params, line_rate, state: SonarState::Free, alarms: 0 }
    }
}

/// The congestion point: QCN's, with an ear for special frames.
#[derive(Clone, Debug)]
pub struct SonarCp {
    id: CpId,
    sampler: qcn::QcnCp,
    bandwidth: BandwidthDetector,
    echo_discarded: bool,
}

impl CongestionPoint for SonarCp {
    forward!(CongestionPoint to self.bandwidth: capabilities, on_departure, no_bandwidth_since);

    #[inline]
    fn on_arrival(&mut self, now: Instant, frame: &Arrival, queue: Queue, dice: &mut Dice) -> CpAction {
        self.bandwidth.on_len(now, queue.len);
        let sampled = self.sampler.on_arrival(now, frame, queue, dice);
        if let CpAction::Send(Signal::Cnm(_)) = sampled {
            self.bandwidth.on_congestion(now);
        }
        let asks = frame.probe && frame.controlled && (frame.admitted || self.echo_discarded);
        if sampled == CpAction::Nothing && asks && !self.bandwidth.available(now) {
            return CpAction::Send(Signal::Echo(self.id));
        }
        sampled
    }
}

impl CpFastPath for SonarCp {}

/// The reaction point: QCN's byte counter, and the ping timer.
#[derive(Clone, Debug)]
pub struct SonarRp {
    params: SonarRpParams,
    line_rate: BitRate,
    state: SonarState,
    alarms: u32,
}

#[derive(Clone, Debug)]
enum SonarState {
    Free,
    Limiting(SonarLimiter),
}

#[derive(Clone, Debug)]
struct SonarLimiter {
    cycles: Cycles,
    /// Increases since hyper-active increase began, while in it.
    hyper: Option<u32>,
    ping: PingTimer,
    /// The next frame is to be special.
    special: bool,
    asked_at: Instant,
}

/// The ping timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PingTimer {
    WaitToProbe { until: Instant },
    NextFrame,
    WaitForEcho { until: Instant },
    ShortFuse { until: Instant },
}

impl PingTimer {
    /// When it runs out; [`Instant::NEVER`] while it waits for a frame.
    const fn until(self) -> Instant {
        match self {
            PingTimer::NextFrame => Instant::NEVER,
            PingTimer::WaitToProbe { until } | PingTimer::WaitForEcho { until } | PingTimer::ShortFuse { until } => {
                until
            }
        }
    }
}

impl SonarLimiter {
    fn on_cnm(&mut self, now: Instant, fb: u8, params: &SonarRpParams) {
        self.cycles.on_cnm(now, fb, params.limiter.byte_reset, &params.limiter.cut);
        self.wait(now, params);
    }

    /// No bandwidth: out of hyper-active increase, and a new wait.
    fn wait(&mut self, now: Instant, params: &SonarRpParams) {
        self.hyper = None;
        self.special = false;
        self.ping = PingTimer::WaitToProbe { until: now + params.wait_to_probe };
    }

    fn end_cycle(&mut self, params: &SonarRpParams, line_rate: BitRate, dice: &mut Dice) {
        let Cycles { rates, byte_count, stage, .. } = &mut self.cycles;
        *stage += 1;
        let qcn::QcnRpParams { byte_reset, threshold, jitter_width, target_rate_reduction, .. } = params.limiter;
        let short = self.hyper.is_none() && *stage >= threshold;
        let octets = byte_reset.as_f64() * if short { 0.5 } else { 1.0 };
        byte_count.restart(octets, jitter_width, dice);
        if self.hyper.is_some() {
            return self.increase_hyper(params, line_rate);
        }
        let reduced = *stage == 1 && target_rate_reduction && rates.reduce_target();
        if !reduced && *stage > threshold {
            rates.raise_target(params.increase_rate);
        }
        rates.approach(line_rate);
    }

    fn increase_hyper(&mut self, params: &SonarRpParams, line_rate: BitRate) {
        let count = self.hyper.map_or(1, |count| count + 1);
        self.hyper = Some(count);
        let rate = params.hai_rate.unwrap_or(params.increase_rate);
        self.cycles.rates.raise_target(params.limiter.hai_step.step(rate, count));
        self.cycles.rates.approach(line_rate);
    }
}

impl ReactionPoint for SonarRp {
    #[inline]
    fn on_sent(&mut self, now: Instant, sent: Bytes, backlog: Bytes, dice: &mut Dice) -> Stamp {
        let SonarState::Limiting(limiter) = &mut self.state else { return Stamp::default() };
        let probe = std::mem::take(&mut limiter.special);
        if probe {
            limiter.asked_at = now;
        }
        if limiter.ping == PingTimer::NextFrame {
            limiter.ping = PingTimer::WaitForEcho { until: now + self.params.wait_for_echo };
        }
        if limiter.cycles.byte_count.passed(sent) {
            limiter.end_cycle(&self.params, self.line_rate, dice);
        }
        if limiter.cycles.over(self.line_rate, backlog) {
            self.state = SonarState::Free;
        }
        Stamp { limited_by: None, probe }
    }

    fn on_signal(&mut self, now: Instant, signal: &Signal, _: &mut Dice) {
        match (cycles::heard(signal, matches!(self.state, SonarState::Limiting(_))), &mut self.state) {
            (Some(fb), SonarState::Free) => {
                let qcn::QcnRpParams { byte_reset, drift, .. } = self.params.limiter;
                let mut limiter = SonarLimiter {
                    cycles: Cycles::new(now, self.line_rate, byte_reset, drift),
                    hyper: None,
                    ping: PingTimer::NextFrame,
                    special: false,
                    asked_at: now,
                };
                limiter.on_cnm(now, fb, &self.params);
                self.state = SonarState::Limiting(limiter);
            }
            (Some(fb), SonarState::Limiting(limiter)) => limiter.on_cnm(now, fb, &self.params),
            (None, SonarState::Limiting(limiter))
                if matches!(signal, Signal::Echo(_))
                    && matches!(limiter.ping, PingTimer::WaitForEcho { .. } | PingTimer::ShortFuse { .. }) =>
            {
                limiter.wait(now, &self.params);
            }
            _ => {}
        }
    }

    fn on_wake(&mut self, now: Instant, _: &mut Dice) {
        let SonarState::Limiting(limiter) = &mut self.state else { return };
        match limiter.ping {
            PingTimer::WaitToProbe { until } if now >= until => {
                limiter.ping = PingTimer::NextFrame;
                limiter.special = true;
            }
            PingTimer::WaitForEcho { until } if now >= until => {
                limiter.ping = PingTimer::ShortFuse { until: now + self.params.short_fuse };
                if limiter.hyper.is_none() {
                    limiter.hyper = Some(0);
                    self.alarms += 1;
                }
            }
            PingTimer::ShortFuse { until } if now >= until => {
                limiter.increase_hyper(&self.params, self.line_rate);
                limiter.special = true;
                limiter.ping = match self.params.after_fuse {
                    AfterFuse::ShortFuse => PingTimer::ShortFuse { until: now + self.params.short_fuse },
                    AfterFuse::WaitForEcho => PingTimer::NextFrame,
                };
            }
            _ => {}
        }
        limiter.cycles.drift_if_due(now, self.line_rate);
    }

    #[inline]
    fn next_wake(&self) -> Instant {
        match &self.state {
            SonarState::Free => Instant::NEVER,
            SonarState::Limiting(limiter) => limiter.ping.until().min(limiter.cycles.next_drift()),
        }
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        match &self.state {
            SonarState::Free => None,
            SonarState::Limiting(limiter) => Some(limiter.cycles.rates.current),
        }
    }

    fn gauge(&self) -> Gauge {
        let rates = match &self.state {
            SonarState::Free => Rates::at(self.line_rate),
            SonarState::Limiting(limiter) => limiter.cycles.rates,
        };
        Gauge { current_rate: rates.current, target_rate: rates.target }
    }

    fn observation(&self) -> Option<Observation> {
        let asked_at = match &self.state {
            SonarState::Free => Instant::ZERO,
            SonarState::Limiting(limiter) => limiter.asked_at,
        };
        Some(Observation::Sonar(SonarObservation { alarms: self.alarms, asked_at }))
    }
}

impl RpFastPath for SonarRp {}

#[cfg(test)]
mod tests;
