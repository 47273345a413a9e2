//! Judges a congestion point: where it samples, what it says, and to whom.

use super::queue::Queued;
use crate::deviation::CpQuirk;
use crate::law::QcnLaw;
use crate::text;
use qcnlab_schemes::family::qcn::{QcnCp, QcnCpParams};
use qcnlab_schemes::parts::sampling;
use qcnlab_schemes::{Arrival, Cnm, CongestionPoint, CpAction, CpId, Dice, FlowId, Purpose, Queue, Signal};
use qcnlab_units::{BitRate, Bytes, Instant};
use qcnlab_wire::MacAddress;
use std::collections::VecDeque;

/// A CNM that the congestion point sent, and the frame that it sampled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Its number in the capture, and its stamp.
    pub(crate) cnm: u64,
    pub(crate) stamp: i64,
    pub(crate) fb: u8,
    /// Units of 64 octets.
    pub(crate) offset: i16,
    pub(crate) delta: i16,
    pub(crate) to: MacAddress,
    pub(crate) rpid: Option<u16>,
}

/// What is broken at a congestion point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpKind {
    Receiver,
    Feedback,
    Offset,
    Delta,
    SampledTooSoon,
    SampleMissed,
    Field,
}

impl CpKind {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            CpKind::Receiver => "receiver of a CNM",
            CpKind::Feedback => "quantized feedback",
            CpKind::Offset => "queue offset",
            CpKind::Delta => "queue growth",
            CpKind::SampledTooSoon => "sampled too soon",
            CpKind::SampleMissed => "no sample",
            CpKind::Field => "field of a CNM",
        }
    }
}

/// Where and why a congestion point breaks the law.
#[derive(Clone, Debug)]
pub(crate) struct CpBreach {
    pub(crate) frame: u64,
    pub(crate) stamp: i64,
    pub(crate) kind: CpKind,
    pub(crate) text: String,
}

/// A sample of the report.
#[derive(Clone, Debug)]
pub(crate) struct SampleRow {
    pub(crate) cnm: u64,
    pub(crate) stamp: i64,
    pub(crate) sampled: u64,
    pub(crate) to: MacAddress,
    pub(crate) fb: u8,
    /// The law's as a CNM carries it, from the offset and growth that it carries.
    pub(crate) fb_law: (u8, u8),
    /// The queue by the CNM and by reconstruction.
    pub(crate) queue_told: i64,
    pub(crate) queue: (i64, i64),
    /// Octets since the last CNM's sample, and what the law allows to the next.
    pub(crate) since: Option<i64>,
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) within: bool,
}

/// An arrival that may have been a sample without a message.
#[derive(Clone, Copy, Debug)]
struct Possible {
    /// Octets that counted up to it.
    position: i64,
    len: (i64, i64),
    /// Octets whose order is not known.
    beside: i64,
    /// Octets up to it of frames that are missing and may have counted.
    unsure: i64,
    /// The interval that follows if it was a sample; `None` if it cannot have been one.
    interval: Option<f64>,
    /// Whether it is the sample of the last CNM.
    known: bool,
    frame: u64,
    at: i64,
}

/// What is forgiven.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forgiven {
    pub(super) queue: i64,
    pub(super) jitter: Option<f64>,
    /// How many CNMs the capture may lack; `None` if it lacks nothing.
    pub(super) likely: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct CpJudge {
    params: QcnCpParams,
    pub(crate) quirk: Option<CpQuirk>,
    /// The largest feedback, and the bits of it that a CNM has no room for.
    levels: u8,
    spare_bits: u32,
    width: f64,
    forgiven: i64,
    likely: Option<u64>,
    /// Octets that counted so far, and the arrivals that may matter.
    position: i64,
    unsure: i64,
    possible: VecDeque<Possible>,
    /// Queue of the arrival before.
    before: Option<(i64, i64)>,
    started: bool,
    /// The longest queue so far, where the queue began to be congested, and where a sample was due at the latest.
    longest: i64,
    congested_from: Option<i64>,
    pub(super) overdue: Option<CpBreach>,
    pub(crate) breach: Option<CpBreach>,
    pub(crate) checked: u64,
    /// Samples whose CNM is missing.
    pub(crate) missing: u64,
    pub(crate) rows: Vec<SampleRow>,
    pub(crate) rows_left_out: u64,
}

/// Rows that are kept.
const ROWS: usize = 4096;
/// Octets of a unit of offset and growth.
const UNIT: i64 = Cnm::QUEUE_UNIT;

impl CpJudge {
    pub(super) fn new(law: &QcnLaw, forgiven: Forgiven) -> CpJudge {
        CpJudge {
            params: law.cp,
            quirk: None,
            levels: law.levels(),
            spare_bits: law.spare_bits(),
            width: forgiven.jitter.unwrap_or(law.cp.jitter_width),
            forgiven: forgiven.queue,
            likely: forgiven.likely,
            position: 0,
            unsure: 0,
            missing: 0,
            possible: VecDeque::new(),
            before: None,
            started: false,
            longest: 0,
            congested_from: None,
            overdue: None,
            breach: None,
            checked: 0,
            rows: Vec::new(),
            rows_left_out: 0,
        }
    }

    /// The message that the law sends at a sample of a queue of `len` octets after one of `old`: the congestion
    /// point's own code, set to sample every frame.
    fn message(&self, old: i64, len: i64) -> Option<Cnm> {
        let params = QcnCpParams {
            sample_base: Bytes::new(1),
            adaptive_sampling: false,
            jitter_width: 0.0,
            count_arriving: true,
            ..self.params
        };
        let mut cp = QcnCp::new(params, CpId(0));
        let mut dice = Dice::new(0, 0, "", Purpose::Sampling);
        let frame = Arrival {
            flow: FlowId(0),
            size: Bytes::new(64),
            admitted: true,
            controlled: true,
            cn_tagged: true,
            limited_by: None,
            probe: false,
            mark: 0,
        };
        let mut said = None;
        for len in [old, len] {
            let queue = Queue { len: Bytes::new(len.max(0) as u64), capacity: Bytes::new(0), rate: BitRate::ZERO };
            said = match cp.on_arrival(Instant::ZERO, &frame, queue, &mut dice) {
                CpAction::Send(Signal::Cnm(cnm)) => Some(cnm),
                _ => None,
            };
        }
        said
    }

    fn feedback(&self, old: i64, len: i64) -> u8 {
        let fb = self.message(old, len).map_or(0, |cnm| cnm.quantized_fb);
        if self.quirk != Some(CpQuirk::RoundedUp) {
            return fb;
        }
        let exact = -((self.params.set_point.signed() - len) as f64 - self.params.w * (len - old) as f64);
        let largest = self.params.set_point.as_f64() * (2.0 * self.params.w + 1.0);
        if exact <= 0.0 { 0 } else { (exact.min(largest) * f64::from(self.levels) / largest).ceil() as u8 }
    }

    /// Octets to the next sample after this feedback.
    fn interval(&self, fb: u8) -> f64 {
        let row = if self.params.adaptive_sampling { fb } else { 0 };
        let row = if self.quirk == Some(CpQuirk::NextRow) {
            row.saturating_add(self.levels / 8 + 1).min(self.levels)
        } else {
            row
        };
        sampling::interval(self.params.sample_base, row, self.params.fb_bits)
    }

    fn window(&self, interval: f64) -> (f64, f64) {
        (interval * (1.0 - self.width / 2.0) - 1.0, interval * (1.0 + self.width / 2.0) + 1.0)
    }

    /// Whether a frame can be the sample that follows one: enough octets have come, and without it too few.
    fn follows(&self, from: &Possible, interval: f64, to: &Possible, size: i64) -> bool {
        let (least, most) = self.window(interval);
        let since = to.position - from.position;
        let unknown = (from.beside + to.beside) as f64;
        let unsure = (to.unsure - from.unsure) as f64;
        (since as f64) + unsure > least - unknown && ((since - size) as f64) <= most + unknown
    }

    /// The queue as this law counts it.
    fn counted(&self, queued: &Queued) -> (i64, i64) {
        let own = if queued.admitted && !self.params.count_arriving { queued.frame.size } else { 0 };
        ((queued.len.0 - own).max(0), (queued.len.1 - own).max(0))
    }

    /// The next frame that came to the queue; `sample` if a CNM says that it was sampled.
    pub(super) fn arrive(&mut self, queued: &Queued, sample: Option<&Sample>) {
        if self.breach.is_some() {
            return;
        }
        let len = self.counted(queued);
        self.unsure += queued.unsure;
        if queued.admitted || self.params.count_discarded {
            self.position += queued.frame.size;
            let here = Possible {
                position: self.position,
                len,
                beside: queued.beside,
                unsure: self.unsure,
                interval: None,
                known: false,
                frame: queued.frame.frame,
                at: queued.frame.at,
            };
            match sample {
                Some(sample) => self.sampled(here, queued, sample),
                None if self.started => self.passed(here, queued),
                None => self.unheard(&here),
            }
        }
        self.before = Some(len);
    }

    /// Which samples come next is not known until the next CNM, in a capture that lacks frames.
    pub(super) fn lose_track(&mut self) {
        if self.likely.is_some() {
            self.possible.clear();
            self.started = false;
        }
    }

    /// A frame came before any CNM: somewhere in a whole interval of congestion the law takes a sample.
    fn unheard(&mut self, here: &Possible) {
        self.longest = self.longest.max(here.len.1);
        let longest = Possible { len: (0, self.longest), ..*here };
        if self.overdue.is_some() || self.may_be_silent(&longest, here) {
            self.congested_from = None;
            return;
        }
        let since = here.position - *self.congested_from.get_or_insert(here.position);
        let (_, most) = self.window(self.interval(0));
        if since as f64 > most + here.beside as f64 {
            let text = format!(
                "no CNM by frame {}, although {} came to a congested queue: the law samples after {} at the latest, and \
                 the queue of {} gives feedback",
                here.frame,
                text::octets(since),
                text::octets(most as i64),
                text::octets(here.len.0)
            );
            self.overdue = Some(CpBreach { frame: here.frame, stamp: here.at, kind: CpKind::SampleMissed, text });
        }
    }

    /// A frame came that no CNM quotes: it was no sample, or one without congestion.
    fn passed(&mut self, mut here: Possible, queued: &Queued) {
        let size = queued.frame.size;
        let silent = self.possible.iter().any(|from| {
            from.interval.is_some_and(|interval| self.follows(from, interval, &here, size))
                && self.may_be_silent(from, &here)
        });
        if silent {
            here.interval = Some(self.interval(0));
        }
        let width = self.width;
        let farthest = |from: &Possible| {
            let most = |interval: f64| (interval * (1.0 + width / 2.0)).ceil() as i64 + 1;
            from.interval.map_or(i64::MIN, |interval| from.position + most(interval) + from.beside + here.beside)
        };
        while let Some(first) = self.possible.front()
            && farthest(first) < here.position - size
        {
            self.possible.pop_front();
        }
        let due = |from: &Possible| from.interval.is_some() && farthest(from) >= here.position;
        if !silent && !self.possible.iter().any(due) {
            self.missed(&here);
            return;
        }
        if here.interval.is_some() {
            self.possible.push_back(here);
        }
    }

    fn may_be_silent(&self, from: &Possible, here: &Possible) -> bool {
        let forgiven = self.forgiven;
        // Least feedback: a queue that is short and was long.
        self.feedback(from.len.1 + forgiven, (here.len.0 - forgiven).max(0)) == 0 || !self.params.notify_untagged
    }

    fn missed(&mut self, here: &Possible) {
        if self.likely.is_some_and(|most| self.missing < most) {
            self.missing += 1;
            self.lose_track();
            return;
        }
        let Some(last) = self.possible.iter().find(|from| from.interval.is_some()).copied() else { return };
        let (_, most) = self.window(last.interval.unwrap_or(0.0));
        let fb = self.feedback(last.len.1, here.len.0);
        let text = format!(
            "no CNM by frame {}, {} after the sample {} frame {}: the law samples after {} at the latest, and the queue \
             of {} gives feedback {fb}",
            here.frame,
            text::octets(here.position - last.position),
            if last.known { "of" } else { "that may have been" },
            last.frame,
            text::octets(most as i64),
            text::octets(here.len.0),
        );
        self.breach = Some(CpBreach { frame: here.frame, stamp: here.at, kind: CpKind::SampleMissed, text });
    }

    /// A frame came that a CNM quotes.
    fn sampled(&mut self, mut here: Possible, queued: &Queued, sample: &Sample) {
        let size = queued.frame.size;
        let (offset, delta) = (i64::from(sample.offset) * UNIT, i64::from(sample.delta) * UNIT);
        let set_point = self.params.set_point.signed();
        let fb_law = self.feedback_range(offset, delta);
        let known = self.possible.iter().rfind(|from| from.known).copied();
        let mut row = SampleRow {
            cnm: sample.cnm,
            stamp: sample.stamp,
            sampled: queued.frame.frame,
            to: sample.to,
            fb: sample.fb,
            fb_law,
            queue_told: set_point - offset,
            queue: here.len,
            since: known.map(|from| here.position - from.position),
            interval: known.and_then(|from| from.interval).map(|interval| self.window(interval)),
            within: true,
        };
        let mut breach = self.check(&here, queued, sample, fb_law, (offset, delta), size);
        if matches!(breach, Some((CpKind::Delta, _))) && self.likely.is_some_and(|most| self.missing < most) {
            // The CNM of the sample before it may be missing.
            self.missing += 1;
            breach = None;
        }
        row.within = breach.is_none();
        if self.rows.len() < ROWS {
            self.rows.push(row);
        } else {
            self.rows_left_out += 1;
        }
        if let Some((kind, text)) = breach {
            self.breach = Some(CpBreach { frame: sample.cnm, stamp: sample.stamp, kind, text });
            return;
        }
        self.checked += 1;
        self.started = true;
        here.interval = Some(self.interval(sample.fb << self.spare_bits));
        here.known = true;
        // What the CNM tells of the queue is exact to a unit.
        let told = (set_point - offset - UNIT, set_point - offset + UNIT);
        here.len = (here.len.0.max(told.0).min(here.len.1), here.len.1.min(told.1).max(here.len.0));
        self.possible.clear();
        self.possible.push_back(here);
    }

    /// Feedback as a CNM carries it, for all offsets and growths that are carried as these.
    fn feedback_range(&self, offset: i64, delta: i64) -> (u8, u8) {
        let cut = |carried: i64| match carried {
            0 => (-(UNIT - 1), UNIT - 1),
            n if n > 0 => (n, n + UNIT - 1),
            n => (n - (UNIT - 1), n),
        };
        let ((offset_least, offset_most), (delta_least, delta_most)) = (cut(offset), cut(delta));
        // No queue is shorter than nothing, whatever rounding leaves open.
        let of = |offset: i64, delta: i64| {
            let len = (self.params.set_point.signed() - offset).max(0);
            self.feedback((len - delta).max(0), len)
        };
        (of(offset_most, delta_least) >> self.spare_bits, of(offset_least, delta_most) >> self.spare_bits)
    }

    fn check(
        &self,
        here: &Possible,
        queued: &Queued,
        sample: &Sample,
        fb_law: (u8, u8),
        (offset, delta): (i64, i64),
        size: i64,
    ) -> Option<(CpKind, String)> {
        let frame = &queued.frame;
        let cnm = sample.cnm;
        if sample.to != frame.source || (sample.rpid.is_some() && frame.rpid.is_some() && sample.rpid != frame.rpid) {
            let text = format!(
                "the CNM in frame {cnm} quotes frame {}, which {} sent, and went to {}",
                frame.frame,
                point(frame.source, frame.rpid),
                point(sample.to, sample.rpid)
            );
            return Some((CpKind::Receiver, text));
        }
        if !(fb_law.0..=fb_law.1).contains(&sample.fb) {
            return Some((CpKind::Feedback, self.feedback_text(sample, fb_law, (offset, delta))));
        }
        let set_point = self.params.set_point.signed();
        let told = set_point - offset;
        let slack = UNIT + self.forgiven;
        if told + slack < here.len.0 || told - slack > here.len.1 {
            let fits = here.len.0.midpoint(here.len.1) + offset;
            let mut text = format!(
                "the CNM in frame {cnm} has an offset of {offset} B, so a queue of {told} B; {} queued when frame {} came",
                range(here.len),
                frame.frame
            );
            // A queue that is known to a frame tells the set point.
            if here.len.1 - here.len.0 <= size {
                text += &format!(
                    ": that fits a set point of {} instead of {}",
                    text::octets_apart(fits, set_point),
                    text::octets_apart(set_point, fits)
                );
            }
            return Some((CpKind::Offset, text));
        }
        let track_lost = self.likely.is_some() && self.possible.iter().all(|from| !from.known);
        if !self.started || track_lost {
            return None;
        }
        let before: Vec<&Possible> = self
            .possible
            .iter()
            .filter(|from| from.interval.is_some_and(|interval| self.follows(from, interval, here, size)))
            .collect();
        if before.is_empty() {
            return Some((CpKind::SampledTooSoon, self.too_soon_text(here, sample)));
        }
        let old = told - delta;
        let slack = 2 * UNIT + self.forgiven;
        let fits = |len: (i64, i64)| old + slack >= len.0 && old - slack <= len.1;
        let remembered = match (self.quirk, self.before) {
            (Some(CpQuirk::OldLengthOfEachFrame), Some(len)) => fits(len),
            _ => before.iter().any(|from| fits(from.len)),
        };
        if !remembered {
            let nearest = before.iter().min_by_key(|from| (from.len.0 - old).abs().min((from.len.1 - old).abs()))?;
            let mut text = format!(
                "the CNM in frame {cnm} has a growth of {delta} B, so it remembers a queue of {}; at the sample \
                 before, {} frame {}, {} queued",
                text::octets(old),
                if nearest.known { "of" } else { "at the latest" },
                nearest.frame,
                range(nearest.len)
            );
            if self.before.is_some_and(fits) {
                text += ": that fits the queue at the frame just before, sampled or not";
            }
            return Some((CpKind::Delta, text));
        }
        None
    }

    fn feedback_text(&self, sample: &Sample, law: (u8, u8), (offset, delta): (i64, i64)) -> String {
        let mut text = format!(
            "the CNM in frame {} says feedback {} for an offset of {offset} B and a growth of {delta} B; the law says {}",
            sample.cnm,
            sample.fb,
            if law.0 == law.1 { law.0.to_string() } else { format!("{} or {}", law.0, law.1) }
        );
        for (w, words) in [(self.params.w / 2.0, "half the weight w"), (self.params.w * 2.0, "twice the weight w")] {
            let mut other = self.clone();
            other.params.w = w;
            let fb = other.feedback_range(offset, delta);
            if (fb.0..=fb.1).contains(&sample.fb) {
                text += &format!("; {words}, {w}, fits");
            }
        }
        if sample.fb == law.1 + 1 {
            text += "; rounding up fits";
        }
        text
    }

    fn too_soon_text(&self, here: &Possible, sample: &Sample) -> String {
        let Some(last) = self.possible.iter().rfind(|from| from.known) else {
            return format!("the CNM in frame {} comes where the law takes no sample", sample.cnm);
        };
        let since = here.position - last.position;
        let interval = last.interval.unwrap_or(0.0);
        let (least, most) = self.window(interval);
        let mut text = format!(
            "the CNM in frame {} samples {} after the CNM's sample before it, frame {}; the law takes the next after {} \
             to {}",
            sample.cnm,
            text::octets(since),
            last.frame,
            text::octets(least as i64),
            text::octets(most as i64)
        );
        let rows = (0..8u8).map(|row| (row, sampling::interval(self.params.sample_base, row << 3, 6)));
        let fits = rows.filter(|(_, interval)| {
            let (least, most) = self.window(*interval);
            since as f64 > least && (since as f64) < most
        });
        let fits: Vec<String> =
            fits.map(|(row, interval)| format!("{row} ({})", text::octets(interval as i64))).collect();
        if !fits.is_empty() {
            text += &format!("; the interval fits row {} of the table", fits.join(" or "));
        }
        text
    }
}

fn point(sender: MacAddress, rpid: Option<u16>) -> String {
    rpid.map_or_else(|| sender.to_string(), |rpid| format!("{sender} (RPID {rpid})"))
}

fn range((least, most): (i64, i64)) -> String {
    if least == most { format!("{least} B were") } else { format!("{least} to {most} B were") }
}
