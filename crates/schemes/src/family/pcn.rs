//! PCN, photonic congestion notification: only what makes a queue is marked, and the receiver says how fast to send.
//!
//! Source: Cheng and others, Re-architecting Congestion Management in Lossless Ethernet (NSDI 2020). Its text was not at
//! hand: the rules are rebuilt from an account of it, and what that leaves open is a parameter.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
Where links are paused, frames wait in queues of switches that are not congested themselves. PCN keeps these
apart: a port marks frames only if they did not wait for a pause. The receiver of a flow measures, period by
period, how fast the flow arrives and how much of it is marked. If nearly all is, the flow feeds a congested
queue, and the receiver tells the sender the rate at which the flow arrived. The sender goes to a little less than
that at once. Without such a message it climbs back towards its line rate, slowly first, then faster.

   port:      resumed with n frames in the queue: the next n frames are not marked
              any other frame is marked if more than the threshold stays behind it
   receiver:  every period of a flow with a share of marked frames of 95 % or more --> CNP with the received rate r

   sender:    CNP                         w = w_min;  rate > r:  rate = r * (1 - w_min)
              a period without a CNP      rate = rate * (1 - w) + line rate * w
                                          w = w * (1 - w) + w_max * w
";

mod rp;

pub use rp::PcnRp;

use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::CpFastPath;
use crate::params;
use crate::params::{Field, Range};
use crate::parts::drift::DriftParams;
use crate::roles::{
    Arrival, CongestionPoint, CpAction, CpCapabilities, CpId, Delivered, Endpoint, NotificationPoint, Queue, Signal,
    SignalKind,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// PCN.
pub struct Pcn;

params! {
    /// Parameters of the congestion point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PcnCpParams {
        /// A frame is marked if more than this stays behind it.
        threshold: Bytes, "", Range::at_least(0.0);
    }
}

params! {
    /// Parameters of the host: the reaction point, and the notification point's `period` and `marked_share`.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PcnRpParams {
        /// How long a receiver measures before it may send a CNP, and a sender waits for one before it speeds up.
        period: Span, "T", Range::at_least(1e3);
        /// As a receiver: the share of frames in a period that must be marked for a CNP.
        marked_share: f64, "", Range::above_zero_to(1.0);
        /// The first weight of the line rate in an increase, and the share of the received rate that a sender leaves free.
        w_min: f64, "w_min", Range::above_zero_to(0.5);
        /// The weight that increases lead to.
        w_max: f64, "w_max", Range::above_zero_to(1.0);
        /// The rate never falls below this.
        min_rate: BitRate, "", Range::POSITIVE;
        drift: DriftParams => drift_every, drift_step;
    }
}

const CP_NSDI2020: PcnCpParams = PcnCpParams { threshold: Bytes::ZERO };

const RP_NSDI2020: PcnRpParams = PcnRpParams {
    period: Span::from_us(50),
    marked_share: 0.95,
    w_min: 1.0 / 128.0,
    w_max: 0.5,
    min_rate: BitRate::mbps(1),
    drift: DriftParams::OFF,
};

impl Family for Pcn {
    type CpParams = PcnCpParams;
    type RpParams = PcnRpParams;
    type Cp = PcnCp;
    type Rp = PcnRp;
    type Np = PcnNp;
    const MEMBERS: &'static [Member<PcnCpParams, PcnRpParams>] = &[Member {
        name: "pcn",
        title: "PCN",
        source: "Cheng and others, PCN (2020)",
        generation: Generation::TelemetryAndTargets,
        status: Status::Reconstruction,
        about: ABOUT,
        presets: &[Preset {
            name: "NSDI2020",
            about: "As an account of the paper has it: a period of 50 us, w from 1/128 to 1/2. 'Nearly all' marked is read as \
                    95 %. The account has no threshold: any frame that leaves another behind is marked. The least rate of \
                    1 Mb/s is ours.",
            cp: CP_NSDI2020,
            rp: RP_NSDI2020,
        }],
    }];
    const HEARS: &'static [SignalKind] = &[SignalKind::ReceivedRate];
    const CP_SPEAKS: &'static [SignalKind] = &[];
    const NP_SPEAKS: &'static [SignalKind] = &[SignalKind::ReceivedRate];
    const FIELDS: (&'static [Field], &'static [Field]) = (PcnCpParams::FIELDS, PcnRpParams::FIELDS);

    fn set_point(_: &PcnCpParams, _: &PcnRpParams) -> Option<Bytes> {
        None
    }

    fn congestion_point(params: &PcnCpParams, _: CpId) -> PcnCp {
        PcnCp { threshold: params.threshold, waited: 0 }
    }

    fn reaction_point(params: &PcnRpParams, endpoint: Endpoint) -> PcnRp {
        PcnRp::new(*params, endpoint.line_rate)
    }

    fn notification_point(params: &PcnRpParams) -> Option<PcnNp> {
        Some(PcnNp { period: params.period, share: params.marked_share, measured: None })
    }
}

/// The congestion point: knows which frames waited for a pause.
#[derive(Clone, Debug)]
pub struct PcnCp {
    threshold: Bytes,
    /// How many of the next frames to leave waited for a pause (PN).
    waited: u32,
}

impl CongestionPoint for PcnCp {
    fn capabilities(&self) -> CpCapabilities {
        CpCapabilities { marks_departures: true, sees_pauses: true, ..CpCapabilities::ARRIVALS_ONLY }
    }

    #[inline]
    fn on_arrival(&mut self, _: Instant, _: &Arrival, _: Queue, _: &mut Dice) -> CpAction {
        CpAction::Nothing
    }

    fn on_pause(&mut self, _: Instant, paused: bool, frames: u32) {
        if !paused {
            self.waited = frames;
        }
    }

    fn departure_mark(&mut self, _: Instant, controlled: bool, queue: Queue, _: &mut Dice) -> u8 {
        if self.waited > 0 {
            self.waited -= 1;
            return 0;
        }
        u8::from(controlled && queue.len > self.threshold)
    }
}

/// Departures always count: each is one fewer that waited.
impl CpFastPath for PcnCp {
    fn ignores_arrivals(&self) -> bool {
        true
    }
}

/// The notification point: measures a flow.
///
/// It has no clock of its own. A period begins with a frame and ends with the first one that comes when its time has passed:
/// the rate is what came after the former, by the time between the two.
#[derive(Clone, Debug)]
pub struct PcnNp {
    period: Span,
    share: f64,
    /// `None` before the first frame.
    measured: Option<Measured>,
}

/// What came in a period, the frame aside with which it began.
#[derive(Clone, Copy, Debug)]
struct Measured {
    since: Instant,
    octets: u64,
    frames: u32,
    marked: u32,
}

impl Measured {
    const fn since(since: Instant) -> Measured {
        Measured { since, octets: 0, frames: 0, marked: 0 }
    }

    fn rate(&self, now: Instant) -> BitRate {
        let bits = u128::from(self.octets) * 8 * 1_000_000_000_000;
        BitRate::bps((bits / u128::from(now.since(self.since).ps().max(1))) as u64)
    }
}

impl NotificationPoint for PcnNp {
    fn on_frame(&mut self, now: Instant, frame: &Delivered) -> Option<Signal> {
        if !frame.controlled {
            return None;
        }
        let measured = self.measured.get_or_insert(Measured::since(now));
        if now == measured.since {
            return None;
        }
        measured.octets += frame.size.get();
        measured.frames += 1;
        measured.marked += u32::from(frame.mark != 0);
        if now < measured.since + self.period {
            return None;
        }
        let ended = std::mem::replace(measured, Measured::since(now));
        let congested = ended.marked > 0 && f64::from(ended.marked) >= self.share * f64::from(ended.frames);
        congested.then(|| Signal::ReceivedRate(ended.rate(now)))
    }
}

#[cfg(test)]
mod tests;
