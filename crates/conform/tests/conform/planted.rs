//! QCN written a second time, with one fault at a time: what a device does that breaks the law.

use qcnlab_schemes::foreign::{ForeignCp, ForeignRp, ForeignScheme, Parameters};
use qcnlab_schemes::registry::Config;
use qcnlab_schemes::{
    Arrival, Cnm, CongestionPoint, CpAction, CpId, Dice, Endpoint, Gauge, Queue, ReactionPoint, Signal, SignalKind,
    Stamp,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};
use std::sync::Arc;

/// What is planted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Plant {
    /// Nothing: the law of deck 001.
    None,
    /// Gd times this.
    Gd(f64),
    /// A CNM does not restart the timer.
    TimerKept,
    /// The byte counter counts so many octets.
    ByteReset(f64),
    /// The timer runs so long.
    TimeReset(Span),
    /// Hyper-active increase with one stage past the threshold.
    HaiAtOneStage,
    /// A CNM never sets the target.
    TargetKept,
    /// A CNM sets the target in the first cycle too.
    TargetAlways,
    /// No minimum rate.
    MinRateIgnored,
    /// Active increase of so many Mb/s.
    AiRate(f64),
    /// Cycles of fast recovery.
    Threshold(u32),
    /// Every third CNM is not heard.
    CnmsIgnored,
    /// The rate never rises.
    NoTimer,
    /// Frames are released 10 % too fast.
    PacedFast,
    /// Qold is the queue at the last frame, sampled or not.
    OldLengthOfEachFrame,
    /// Feedback is rounded up.
    RoundedUp,
    /// The sampling table is off by a row.
    NextRow,
    /// The weight times this.
    W(f64),
    /// The set point.
    SetPoint(i64),
    /// One in so many samples is left out.
    SamplesLost(u32),
    /// No message from this sample on.
    SilentFrom(u32),
    /// The interval between samples times this.
    SampleBase(f64),
}

const CNM: [SignalKind; 1] = [SignalKind::Cnm];

#[derive(Debug)]
struct Planted {
    plant: Plant,
    parameters: Parameters,
    fingerprint: String,
}

/// The scheme with this fault.
pub(crate) fn scheme(plant: Plant) -> Config {
    let planted = Planted { plant, parameters: Parameters::default(), fingerprint: format!("{plant:?}") };
    Config::Foreign((Arc::new(planted) as Arc<dyn ForeignScheme>).into())
}

impl ForeignScheme for Planted {
    fn name(&self) -> &str {
        "test:planted"
    }
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }
    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
    fn hears(&self) -> &[SignalKind] {
        &CNM
    }
    fn speaks(&self) -> &[SignalKind] {
        &CNM
    }
    fn set_point(&self) -> Option<Bytes> {
        Some(Bytes::new(33_000))
    }
    fn congestion_point(&self, id: CpId) -> Box<dyn ForeignCp> {
        Box::new(Switch { plant: self.plant, id, left: 150_000, old: 0, samples: 0 })
    }
    fn reaction_point(&self, Endpoint { line_rate: line, .. }: Endpoint) -> Box<dyn ForeignRp> {
        Box::new(Limiter {
            plant: self.plant,
            line: line.get(),
            limiting: false,
            current: line.get(),
            target: line.get(),
            byte_left: 0,
            byte_stage: 0,
            time_end: Instant::NEVER,
            time_stage: 0,
            cnms: 0,
        })
    }
}

#[derive(Clone, Debug)]
struct Limiter {
    plant: Plant,
    line: u64,
    limiting: bool,
    current: u64,
    target: u64,
    byte_left: i64,
    byte_stage: u32,
    time_end: Instant,
    time_stage: u32,
    cnms: u32,
}

const MBPS: u64 = 1_000_000;

impl Limiter {
    fn threshold(&self) -> u32 {
        if let Plant::Threshold(cycles) = self.plant { cycles } else { 5 }
    }

    fn byte_reset(&self) -> f64 {
        if let Plant::ByteReset(octets) = self.plant { octets } else { 150_000.0 }
    }

    fn time_reset(&self) -> Span {
        if let Plant::TimeReset(span) = self.plant { span } else { Span::from_ms(15) }
    }

    fn increase(&mut self) {
        let first = self.byte_stage == 1 || self.time_stage == 1;
        if first && self.target > 10 * self.current {
            self.target /= 8;
        } else {
            let last = self.threshold();
            let ai = if let Plant::AiRate(mbps) = self.plant { (mbps * 1e6) as u64 } else { 5 * MBPS };
            let (low, high) = (self.byte_stage.min(self.time_stage), self.byte_stage.max(self.time_stage));
            self.target += if low > last {
                50 * MBPS * u64::from(low - last)
            } else if high > last && self.plant == Plant::HaiAtOneStage {
                50 * MBPS * u64::from(high - last)
            } else if high > last {
                ai
            } else {
                0
            };
        }
        self.current = (self.current + (self.target.saturating_sub(self.current)) / 2).min(self.line);
    }
}

impl ReactionPoint for Limiter {
    fn on_sent(&mut self, _: Instant, sent: Bytes, backlog: Bytes, dice: &mut Dice) -> Stamp {
        if !self.limiting {
            return Stamp::default();
        }
        if self.current != self.line {
            self.byte_left -= sent.signed();
            if self.byte_left < 0 {
                self.byte_stage += 1;
                let share = if self.byte_stage >= self.threshold() { 0.5 } else { 1.0 };
                self.byte_left = (self.byte_reset() * share * dice.jitter(0.3)) as i64;
                self.increase();
            }
        }
        if self.current == self.line && backlog == Bytes::ZERO {
            self.limiting = false;
            self.time_end = Instant::NEVER;
        }
        Stamp::default()
    }

    fn on_signal(&mut self, now: Instant, signal: &Signal, _: &mut Dice) {
        let Signal::Cnm(cnm) = signal else { return };
        self.cnms += 1;
        if self.plant == Plant::CnmsIgnored && self.cnms.is_multiple_of(3) {
            return;
        }
        let fresh = !self.limiting;
        if fresh {
            if cnm.q_offset >= 0 {
                return;
            }
            self.limiting = true;
            (self.current, self.target) = (self.line, self.line);
            self.byte_left = self.byte_reset() as i64;
            (self.byte_stage, self.time_stage) = (0, 0);
        }
        if self.byte_stage != 0 {
            if self.plant != Plant::TargetKept {
                self.target = self.current;
            }
            self.byte_left = self.byte_reset() as i64;
        } else if self.plant == Plant::TargetAlways {
            self.target = self.current;
        }
        (self.byte_stage, self.time_stage) = (0, 0);
        let gd = if let Plant::Gd(times) = self.plant { times / 128.0 } else { 1.0 / 128.0 };
        let factor = (1.0 - gd * f64::from(cnm.quantized_fb)).max(0.5);
        let min = if self.plant == Plant::MinRateIgnored { 1000 } else { 10 * MBPS };
        self.current = ((self.current as f64 * factor) as u64).max(min);
        if (fresh || self.plant != Plant::TimerKept) && self.plant != Plant::NoTimer {
            self.time_end = now + self.time_reset();
        }
    }

    fn on_wake(&mut self, now: Instant, dice: &mut Dice) {
        if !self.limiting || now < self.time_end {
            return;
        }
        self.time_stage += 1;
        let share = if self.time_stage >= self.threshold() { 0.5 } else { 1.0 } * dice.jitter(0.3);
        self.time_end = now + self.time_reset().scaled_rounded_down(share);
        self.increase();
        if self.current == self.line {
            self.limiting = false;
            self.time_end = Instant::NEVER;
        }
    }

    fn next_wake(&self) -> Instant {
        self.time_end
    }

    fn limit(&self) -> Option<BitRate> {
        let paced = if self.plant == Plant::PacedFast { self.current / 10 * 11 } else { self.current };
        self.limiting.then_some(BitRate::bps(paced.min(self.line)))
    }

    fn gauge(&self) -> Gauge {
        Gauge { current_rate: BitRate::bps(self.current), target_rate: BitRate::bps(self.target) }
    }
}

#[derive(Clone, Debug)]
struct Switch {
    plant: Plant,
    id: CpId,
    left: i64,
    old: i64,
    samples: u32,
}

const TABLE_KB: [f64; 8] = [150.0, 75.0, 50.0, 37.5, 30.0, 25.0, 21.5, 18.5];

impl CongestionPoint for Switch {
    fn on_arrival(&mut self, _: Instant, frame: &Arrival, queue: Queue, dice: &mut Dice) -> CpAction {
        if !frame.admitted {
            return CpAction::Nothing;
        }
        self.left -= frame.size.signed();
        let len = queue.len.signed();
        if self.left >= 0 {
            if self.plant == Plant::OldLengthOfEachFrame {
                self.old = len;
            }
            return CpAction::Nothing;
        }
        let set_point = if let Plant::SetPoint(octets) = self.plant { octets } else { 33_000 };
        let w = if let Plant::W(times) = self.plant { 2.0 * times } else { 2.0 };
        let (offset, delta) = (set_point - len, len - self.old);
        self.old = len;
        let fb = w * delta as f64 - offset as f64;
        let scaled = 63.0 * fb / (set_point as f64 * (2.0 * w + 1.0));
        let rounded = if self.plant == Plant::RoundedUp { scaled.ceil() } else { scaled.floor() };
        let fb = rounded.clamp(0.0, 63.0) as u8;
        let row = (usize::from(fb >> 3) + usize::from(self.plant == Plant::NextRow)).min(7);
        let base = if let Plant::SampleBase(times) = self.plant { times } else { 1.0 };
        self.left = (TABLE_KB[row] * 1000.0 * base * dice.jitter(0.3)) as i64;
        self.samples += 1;
        if fb == 0 {
            return CpAction::Nothing;
        }
        if let Plant::SilentFrom(first) = self.plant
            && self.samples >= first
        {
            return CpAction::Nothing;
        }
        if let Plant::SamplesLost(one_in) = self.plant
            && self.samples.is_multiple_of(one_in)
        {
            return CpAction::Nothing;
        }
        CpAction::Send(Signal::Cnm(Cnm { cp: self.id, quantized_fb: fb, q_offset: offset, q_delta: delta }))
    }
}
