//! One way in which the law can have led to what a capture shows.
//!
//! The rates, stages and rules are those of the scheme's own reaction point. What a capture does not show, the random
//! length of each cycle, is a window here: a cycle may end with any frame, or at any time, that its window holds. Each
//! choice is a hypothesis of its own, and lives as long as the frames leave when it says.

use super::event::Heard;
use super::spread::CycleLengths;
use crate::deviation::Quirk;
use crate::law::QcnLaw;
use crate::sequence::Loss;
use crate::tolerances::Tolerances;
use crate::window::{Window, takes};
use qcnlab_schemes::family::qcn::{Clock, QcnRp, QcnRpParams};
use qcnlab_schemes::{Cnm, CpId, Dice, Gauge, Purpose, ReactionPoint, Signal};
use qcnlab_units::{BitRate, Bytes, Instant};
use std::ops::RangeInclusive;

/// The law, the link and what is forgiven.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) params: QcnRpParams,
    pub(crate) quirk: Option<Quirk>,
    /// The largest feedback, and the bits of it that a CNM has no room for.
    pub(crate) most_feedback: u8,
    spare_bits: u32,
    pub(crate) line: BitRate,
    /// Full width of the spread of cycles that the law spreads, and of those that it does not.
    spread: [f64; 2],
    /// Whether cycles may lie as close together as they like, because the user says what spread is forgiven.
    any_spread: bool,
    /// How far a stamp may be off, ps, its resolution beside it.
    stamps: i64,
    resolution: i64,
    ppm: f64,
    /// Octets early or late.
    pacing: f64,
    reaction: i64,
    /// Octets of a frame that the capture does not show, and those that only the limiter counts.
    pub(crate) uncaptured: u64,
    overhead: u64,
    pub(crate) backlogged: bool,
    pub(crate) starts_free: bool,
    /// What the capture lacks.
    pub(crate) loss: Loss,
    /// CNMs to the sender in the whole capture.
    pub(crate) cnms: u64,
}

/// Octets between frames on a link that a capture may leave out: FCS, preamble and gap.
const LINK_OVERHEAD: f64 = 24.0;

impl Rules {
    pub(crate) fn new(law: &QcnLaw, tolerances: &Tolerances, ours: bool, line: BitRate, resolution: i64) -> Rules {
        let params = law.rp;
        let machine = QcnRp::new(params, line);
        let spread = match tolerances.jitter {
            Some(width) => [width, width],
            None => [params.jitter_width, 0.0],
        };
        Rules {
            // Cycles of the machine have their nominal length.
            params: QcnRpParams { jitter_width: 0.0, ..params },
            quirk: None,
            most_feedback: law.levels(),
            spare_bits: law.spare_bits(),
            line,
            spread,
            any_spread: tolerances.jitter.is_some(),
            stamps: tolerances.stamps.ps() as i64,
            resolution,
            ppm: tolerances.clock_for(ours) * 1e-6,
            pacing: tolerances.pacing.as_f64(),
            reaction: tolerances.reaction.ps() as i64,
            uncaptured: tolerances.uncaptured_for(ours),
            overhead: machine.pacing().overhead.get(),
            backlogged: false,
            starts_free: false,
            loss: Loss::default(),
            cnms: 0,
        }
    }

    /// When what is stamped so can have happened.
    pub(super) const fn stamped(&self, stamp: i64) -> Window {
        Window::new(stamp - self.stamps, stamp + self.resolution + self.stamps)
    }

    /// When a frame of `size` octets that is stamped so, with its last octet, can have passed the limiter.
    pub(super) fn released(&self, stamp: i64, size: u32) -> Window {
        let on_the_link = takes(f64::from(size), self.line) as i64;
        let stamped = self.stamped(stamp);
        Window::new(stamped.lo - on_the_link, stamped.hi - on_the_link)
    }

    /// By how much two frames may be off and both fit.
    pub(super) const fn unnoticed(&self) -> i64 {
        2 * (self.stamps + self.resolution)
    }

    /// When a CNM that is stamped so can take effect.
    fn effect(&self, stamp: i64) -> Window {
        self.stamped(stamp).widened(0, self.reaction)
    }

    /// Octets that the limiter counts for a frame of `size` captured octets.
    pub(super) fn charged(&self, size: u32) -> f64 {
        (u64::from(size) + self.uncaptured + self.overhead) as f64
    }

    pub(super) fn counted(&self, size: u32) -> i64 {
        i64::from(size) + self.uncaptured as i64
    }

    /// What the feedback can have been that a CNM carries so: the first 6 bits of it.
    fn feedbacks(&self, carried: u8) -> RangeInclusive<u8> {
        if self.spare_bits == 0 {
            return carried..=carried;
        }
        let least = carried << self.spare_bits;
        // No message says that there is none.
        least.max(1)..=least | ((1 << self.spare_bits) - 1)
    }

    /// A span of the law as another clock may measure it.
    fn measured(&self, span: f64) -> (i64, i64) {
        ((span * (1.0 - self.ppm)).floor() as i64, (span * (1.0 + self.ppm)).ceil() as i64)
    }

    fn pacing_at(&self, rate: BitRate) -> i64 {
        takes(self.pacing, rate) as i64
    }

    /// The full width of the spread that cycles must show; `None` where they need not.
    pub(super) fn spread_to_show(&self) -> Option<f64> {
        (!self.any_spread && self.spread[0] > 0.0).then_some(self.spread[0])
    }

    fn width(&self, spread: bool) -> f64 {
        self.spread[usize::from(!spread)]
    }
}

/// What changed the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cause {
    Cnm { frame: u64, fb: u8 },
    ByteCycle { octets: i64 },
    TimeCycle { ps: i64 },
}

/// A change of the rate under a hypothesis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) cause: Cause,
    pub(super) at: i64,
    pub(super) before: Gauge,
    pub(super) after: Gauge,
    /// Stages of byte counter and timer after it.
    pub(super) stages: (u32, u32),
    /// Frames that left on time since.
    pub(super) frames: u32,
}

/// A cycle of the byte counter: octets to its nominal end, of which merging leaves a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ByteCycle {
    pub(super) left: (i64, i64),
    length: i64,
    spread: bool,
}

/// A cycle of the timer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TimeCycle {
    start: Window,
    length: i64,
    spread: bool,
}

/// How a frame fits a hypothesis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fit {
    OnTime,
    /// It left so many picoseconds before the law lets it.
    Early(i64),
    /// It left so many picoseconds after its time.
    Late(i64),
}

#[derive(Clone, Debug)]
pub(super) struct Hypothesis {
    pub(super) rp: QcnRp,
    /// The last event.
    pub(super) now: Window,
    /// When the last frame left, and when the next may.
    pub(super) last: Window,
    last_charge: f64,
    pub(super) next: Window,
    pub(super) byte: ByteCycle,
    timer: Option<TimeCycle>,
    /// The number of the next CNM to take effect.
    pub(super) cnm: u64,
    /// Octets that the rate allows since an interval began, at least and at most.
    pub(super) allowed: (f64, f64),
    pub(super) change: Option<Change>,
    /// Those before it, the latest first.
    pub(super) earlier: [Option<Change>; 6],
    /// Where the timer would stand, had no CNM restarted it.
    kept_timer: Option<TimeCycle>,
    /// The cycles so far that the law spreads, of the byte counter and of the timer.
    pub(super) byte_lengths: CycleLengths,
    pub(super) time_lengths: CycleLengths,
}

fn dice() -> Dice {
    // Nothing is drawn from it: all widths are 0.
    Dice::new(0, 0, "", Purpose::Reaction)
}

fn instant(ps: i64) -> Instant {
    Instant::from_ps(ps.max(0) as u64)
}

impl Hypothesis {
    /// A reaction point that does not limit.
    pub(super) fn free(rules: &Rules, now: Window) -> Hypothesis {
        Hypothesis {
            rp: QcnRp::new(rules.params, rules.line),
            now,
            last: now,
            last_charge: 0.0,
            next: Window::new(i64::MIN / 4, now.hi),
            byte: ByteCycle { left: (0, 0), length: 0, spread: false },
            timer: None,
            cnm: 0,
            allowed: (0.0, 0.0),
            change: None,
            earlier: [None; 6],
            kept_timer: None,
            byte_lengths: CycleLengths::default(),
            time_lengths: CycleLengths::default(),
        }
    }

    pub(super) fn limiting(&self) -> bool {
        self.rp.is_limiting()
    }

    pub(super) fn gauge(&self) -> Gauge {
        self.rp.gauge()
    }

    fn rate(&self, rules: &Rules) -> BitRate {
        self.rp.limit().unwrap_or(rules.line)
    }

    pub(super) fn stages(&self) -> (u32, u32) {
        (self.rp.byte_stage(), self.rp.time_stage())
    }

    /// Octets into the byte-counter cycle, and its nominal length.
    pub(super) fn byte_cycle(&self) -> Option<(i64, i64)> {
        self.limiting().then_some((self.byte.length - self.byte.left.0, self.byte.length))
    }

    /// Time into the timer cycle at `now`, and its nominal length, ps.
    pub(super) fn time_cycle(&self, now: i64) -> Option<(i64, i64)> {
        self.timer.map(|timer| (now - timer.start.middle(), timer.length))
    }

    /// As [`time_cycle`](Hypothesis::time_cycle), had the last CNM not restarted the timer.
    pub(super) fn kept_time_cycle(&self, now: i64) -> Option<(i64, i64)> {
        self.kept_timer.map(|timer| (now - timer.start.middle(), timer.length))
    }

    /// Two hypotheses of the same key differ in windows alone.
    pub(super) fn key(&self) -> (u64, u64, u32, u32, bool, u64, i64, i64, (bool, bool)) {
        let Gauge { current_rate, target_rate } = self.gauge();
        let (byte_stage, time_stage) = self.stages();
        let timer = self.timer.map_or((0, false), |timer| (timer.length, timer.spread));
        let spread = (self.byte.spread, timer.1);
        let rates = (current_rate.get(), target_rate.get());
        (rates.0, rates.1, byte_stage, time_stage, self.limiting(), self.cnm, self.byte.length, timer.0, spread)
    }

    pub(super) fn same_windows(&self, other: &Hypothesis) -> bool {
        (self.next, self.now, self.byte, self.timer) == (other.next, other.now, other.byte, other.timer)
    }

    /// Takes the windows of another of the same key in.
    pub(super) fn absorb(&mut self, other: &Hypothesis) {
        self.now = self.now.hull(other.now);
        self.last = self.last.hull(other.last);
        self.next = self.next.hull(other.next);
        self.byte.left = (self.byte.left.0.min(other.byte.left.0), self.byte.left.1.max(other.byte.left.1));
        if let (Some(mine), Some(other)) = (&mut self.timer, other.timer) {
            mine.start = mine.start.hull(other.start);
        }
        self.allowed = (self.allowed.0.min(other.allowed.0), self.allowed.1.max(other.allowed.1));
        self.byte_lengths.absorb(&other.byte_lengths);
        self.time_lengths.absorb(&other.time_lengths);
    }

    fn timer_ends(&self, rules: &Rules) -> Option<Window> {
        let timer = self.timer?;
        let width = if rules.quirk == Some(Quirk::TimerNotSpread) { 0.0 } else { rules.width(timer.spread) };
        let half = width / 2.0;
        let (earliest, _) = rules.measured(timer.length as f64 * (1.0 - half));
        let (_, latest) = rules.measured(timer.length as f64 * (1.0 + half));
        Some(timer.start.after(earliest, latest))
    }

    /// All that can have happened to the reaction point before a frame that left in `frame`.
    pub(super) fn advance(self, rules: &Rules, frame: Window, heard: &[Heard], first: u64, all: &mut Vec<Hypothesis>) {
        let mut open = vec![self];
        let mut steps = 0;
        while let Some(hypothesis) = open.pop() {
            steps += 1;
            let cnm = hypothesis.cnm.checked_sub(first).and_then(|index| heard.get(index as usize));
            let effect = cnm.map(|cnm| rules.effect(cnm.stamp));
            let timer = hypothesis.timer_ends(rules);
            let possible = Window::new(hypothesis.now.lo, frame.hi);
            let passed = |window: Option<Window>, limit: i64| window.is_some_and(|window| window.hi < limit);
            // A device that is idle for ages: what its timer did does not matter any more.
            let endless = steps > 4096;
            if let (Some(cnm), Some(effect)) = (cnm, effect)
                && let Some(within) =
                    effect.and(possible).or(passed(Some(effect), possible.lo).then_some(Window::at(possible.lo)))
                && (endless || !passed(timer, within.lo))
            {
                // An offset within the first unit may have either sign.
                let carried = i64::from(cnm.offset) * Cnm::QUEUE_UNIT;
                for offset in [carried, -1].into_iter().take(if carried == 0 { 2 } else { 1 }) {
                    for fb in rules.feedbacks(cnm.fb) {
                        let mut cut = hypothesis.clone();
                        cut.hear(rules, &Heard { fb, ..*cnm }, offset, within);
                        open.push(cut);
                    }
                }
            }
            if let Some(ends) = timer
                && !endless
                && let Some(within) = ends.and(possible)
                && !passed(effect, within.lo)
            {
                let within = Window::new(within.lo, effect.map_or(within.hi, |effect| within.hi.min(effect.hi)));
                let mut ended = hypothesis.clone();
                let at_max = ended.end_time_cycle(rules, within, true);
                if at_max {
                    let mut waiting = hypothesis.clone();
                    waiting.end_time_cycle(rules, within, false);
                    open.push(waiting);
                }
                open.push(ended);
            }
            if (endless || !passed(timer, frame.lo)) && !passed(effect, frame.lo) {
                all.push(hypothesis);
            }
        }
    }

    fn allow(&mut self, rules: &Rules, until: Window) {
        let octets = (until.middle() - self.now.middle()).max(0) as f64 * self.rate(rules).as_f64() / 8e12;
        self.allowed = (self.allowed.0 + octets, self.allowed.1 + octets);
        self.now = until;
    }

    pub(super) fn hear(&mut self, rules: &Rules, cnm: &Heard, offset: i64, at: Window) {
        let (before, was, left) = (self.gauge(), self.rp.limit(), self.rp.byte_cycle_left());
        let (timer, limiting) = (self.timer, self.limiting());
        self.allow(rules, at);
        let message = Cnm { cp: CpId(0), quantized_fb: cnm.fb, q_offset: offset, q_delta: 0 };
        self.rp.on_signal(instant(at.lo), &Signal::Cnm(message), &mut dice());
        self.cnm += 1;
        if let Some(now_left) = self.rp.byte_cycle_left()
            && left != Some(now_left)
            && (left.is_none() || rules.quirk != Some(Quirk::ByteCounterKept))
        {
            self.byte = ByteCycle { left: (now_left, now_left), length: now_left, spread: false };
        }
        if self.rp.is_limiting() && rules.params.clock != Clock::ByteCounter {
            let length = self.rp.time_end().ps() as i64 - instant(at.lo).ps() as i64;
            if !(limiting && rules.quirk == Some(Quirk::TimerKept)) {
                self.timer = Some(TimeCycle { start: at, length, spread: false });
            }
            let runs = |timer: &TimeCycle| at.lo - timer.start.lo < timer.length / 5 * 6;
            self.kept_timer = self.kept_timer.filter(runs).or(timer.filter(runs));
        }
        match rules.quirk {
            Some(Quirk::TargetKept) if limiting => self.rp.set_target_rate(before.target_rate),
            Some(Quirk::TargetAlways) if limiting => self.rp.set_target_rate(before.current_rate),
            _ => {}
        }
        self.rate_changed(rules, was, at);
        self.record(Cause::Cnm { frame: cnm.frame, fb: cnm.fb }, at, before);
    }

    /// Ends the timer cycle; returns whether the rate is now at its maximum, where it matters whether frames wait.
    fn end_time_cycle(&mut self, rules: &Rules, at: Window, nothing_waits: bool) -> bool {
        let (before, was, ended) = (self.gauge(), self.rp.limit(), self.timer);
        let lasted = self.time_cycle(at.middle()).map_or(0, |(time, _)| time);
        self.allow(rules, at);
        self.rp.on_time_cycle_observed(instant(at.lo), nothing_waits, &mut dice());
        self.add_hai_at_one_stage(rules);
        // Two gaps, because a timer ends within one. At the line's rate frames may come later than the rate lets them.
        let gaps = 2.0 * takes(self.last_charge, before.current_rate);
        if let Some(TimeCycle { start, length, spread: true }) = ended
            && self.gauge().current_rate < rules.line
            && self.is_told(rules, before.current_rate, gaps)
        {
            self.time_lengths.add((at.lo - start.hi, at.hi - start.lo), 0, length);
        }
        self.timer = self.limiting().then(|| {
            let length = self.rp.time_end().ps() as i64 - instant(at.lo).ps() as i64;
            TimeCycle { start: at, length, spread: true }
        });
        self.rate_changed(rules, was, at);
        self.record(Cause::TimeCycle { ps: lasted }, at, before);
        before.current_rate != self.gauge().current_rate && self.gauge().current_rate == rules.line
    }

    /// [`Quirk::HaiAtOneStage`]: the target rises by a hyper-active step where the law has an active one.
    fn add_hai_at_one_stage(&mut self, rules: &Rules) {
        if rules.quirk != Some(Quirk::HaiAtOneStage) || !self.limiting() {
            return;
        }
        let QcnRpParams { threshold, ai_rate, hai_rate, hai_step, .. } = rules.params;
        let (bytes, times) = self.stages();
        let (low, high) = (bytes.min(times), bytes.max(times));
        if low <= threshold && high > threshold {
            let step = hai_step.step(hai_rate, high - threshold).get().saturating_sub(ai_rate.get());
            let target = self.gauge().target_rate + BitRate::bps(step);
            self.rp.raise(BitRate::bps(step / 2));
            self.rp.set_target_rate(target);
        }
    }

    /// The pacer's rule for a new rate: what is left of the wait is stretched or shortened.
    fn rate_changed(&mut self, rules: &Rules, was: Option<BitRate>, at: Window) {
        let now = self.rp.limit();
        if was == now {
            return;
        }
        self.next = match (was, now) {
            (_, None) => Window::new(i64::MIN / 4, at.hi),
            (None, Some(rate)) => {
                let gap = takes(self.last_charge, rate);
                let (_, latest) = rules.measured(gap);
                Window::new(at.lo.max(self.last.lo), at.hi.max(self.last.hi + latest))
            }
            (Some(old), Some(new)) => {
                let ratio = old.as_f64() / new.as_f64();
                let scaled =
                    |next: i64, at: i64| if next > at { at + ((next - at) as f64 * ratio) as i64 } else { next };
                let corners =
                    [(self.next.lo, at.lo), (self.next.lo, at.hi), (self.next.hi, at.lo), (self.next.hi, at.hi)];
                let corners = corners.map(|(next, at)| scaled(next, at));
                let lo = corners.iter().min().copied().unwrap_or(0);
                let hi = corners.iter().max().copied().unwrap_or(0);
                Window::new(lo - 1, hi + 1)
            }
        };
    }

    fn record(&mut self, cause: Cause, at: Window, before: Gauge) {
        self.earlier.rotate_right(1);
        self.earlier[0] = self.change;
        self.change =
            Some(Change { cause, at: at.middle(), before, after: self.gauge(), stages: self.stages(), frames: 0 });
    }

    /// How a frame that left in `frame` fits, behind other frames on the link until `busy`.
    pub(super) fn fit(&self, rules: &Rules, frame: Window, busy: i64) -> Fit {
        let forgiven = rules.pacing_at(self.rate(rules));
        let frame = frame.widened(forgiven, forgiven);
        if frame.hi < self.next.lo {
            Fit::Early(self.next.lo - frame.hi)
        } else if frame.lo > self.next.hi && frame.lo > busy {
            Fit::Late(frame.lo - self.next.hi)
        } else {
            Fit::OnTime
        }
    }

    /// A frame leaves, by this hypothesis on time or, if `forced`, whenever it did: all that can follow.
    pub(super) fn send(mut self, rules: &Rules, frame: Window, size: u32, forced: bool, all: &mut Vec<Hypothesis>) {
        let forgiven = rules.pacing_at(self.rate(rules));
        let left = frame.widened(forgiven, forgiven).and(self.next);
        let left = if forced { left.unwrap_or(frame.from(self.next.lo)) } else { left.unwrap_or(frame) };
        self.allow(rules, left.from(self.now.lo));
        self.last = left;
        self.last_charge = rules.charged(size);
        if let Some(change) = &mut self.change {
            change.frames += 1;
        }
        let counted = rules.counted(size);
        let (may, must) = if self.rp.counts_octets() {
            self.byte.left = (self.byte.left.0 - counted, self.byte.left.1 - counted);
            let half = rules.width(self.byte.spread) / 2.0 * self.byte.length as f64;
            (
                (self.byte.left.0 as f64) < half + 1.0 && (self.byte.left.0 < 0 || half > 0.0),
                (self.byte.left.1 as f64) < -half - 1.0,
            )
        } else {
            (false, false)
        };
        // Without a spread the cycle ends exactly when it is passed.
        let must = must || (may && rules.width(self.byte.spread) == 0.0 && self.byte.left.1 < 0);
        let size = Bytes::new(counted.max(0) as u64);
        for ends in [false, true] {
            if (ends && !may) || (!ends && must) {
                continue;
            }
            let mut sent = self.clone();
            sent.after_frame(rules, left, size, ends, Bytes::ZERO);
            if sent.gauge().current_rate == rules.line && self.limiting() {
                let mut waiting = self.clone();
                waiting.after_frame(rules, left, size, ends, Bytes::new(1));
                all.push(waiting);
            }
            all.push(sent);
        }
    }

    /// Whether the next frame tells a rise of the rate from `before`, whatever the clocks did in `within` ps: it shows
    /// when the cycle ended.
    fn is_told(&self, rules: &Rules, before: BitRate, within: f64) -> bool {
        let rise = takes(self.last_charge, before) - takes(self.last_charge, self.rate(rules));
        rise > rules.unnoticed() as f64 + 2.0 * rules.ppm * within
    }

    fn after_frame(&mut self, rules: &Rules, left: Window, size: Bytes, ends: bool, backlog: Bytes) {
        let before = self.gauge();
        let counted = self.byte.length - self.byte.left.0;
        self.rp.on_sent_observed(size, backlog, ends, &mut dice());
        if ends {
            let ended = self.byte;
            if let Some(length) = self.rp.byte_cycle_left() {
                self.byte = ByteCycle { left: (length, length), length, spread: true };
            }
            self.add_hai_at_one_stage(rules);
            let lasted = takes(ended.length as f64, before.current_rate);
            if ended.spread && self.is_told(rules, before.current_rate, lasted) {
                let ByteCycle { left, length, .. } = ended;
                self.byte_lengths.add((length - left.1, length - left.0), size.signed(), length);
            }
            self.record(Cause::ByteCycle { octets: counted }, left, before);
        }
        if !self.limiting() {
            self.timer = None;
        }
        self.next = match self.rp.limit() {
            None => {
                let (shortest, _) = rules.measured(0.0);
                let (_, longest) = rules.measured(takes(self.last_charge + LINK_OVERHEAD, rules.line));
                Window::new(left.lo + shortest, left.hi + longest)
            }
            Some(rate) => {
                let (shortest, longest) = rules.measured(takes(self.last_charge, rate));
                left.after(shortest, longest)
            }
        };
    }
}
