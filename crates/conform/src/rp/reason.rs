//! Why a frame breaks the law, as a person would say it.

use super::hypothesis::{Cause, Change, Hypothesis, Rules};
use super::spread::CycleLengths;
use crate::deviation::MeasuredParameter;
use crate::text::{ms, octets, rate, share};
use qcnlab_schemes::parts::stages::StageTest;

/// What is known where the law is broken.
pub(super) struct Evidence<'a> {
    pub(super) rules: &'a Rules,
    /// The course of things that the frame misses by the least.
    pub(super) hypothesis: &'a Hypothesis,
    /// By how much, ps.
    pub(super) by: i64,
    pub(super) late: bool,
    pub(super) at: i64,
    /// Since the frame before, ps, and what the limiter counts of a frame.
    pub(super) gap: i64,
    pub(super) charge: f64,
    /// The rate of the frames that follow, bit/s.
    pub(super) rate: Option<f64>,
}

/// A kind of violation, in words, and what the device's parameter seems to be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reason {
    pub(crate) kind: ReasonKind,
    pub(crate) text: String,
    pub(crate) measured: Vec<MeasuredParameter>,
}

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReasonKind {
    CutIgnored,
    CutSize,
    MinRate,
    RiseTooSoon,
    NoRise,
    RiseSize,
    Target,
    Pace,
    Spread,
}

impl ReasonKind {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            ReasonKind::CutIgnored => "cut ignored",
            ReasonKind::CutSize => "size of a cut",
            ReasonKind::MinRate => "minimum rate",
            ReasonKind::RiseTooSoon => "rise too soon",
            ReasonKind::NoRise => "no rise",
            ReasonKind::RiseSize => "size of a rise",
            ReasonKind::Target => "target rate",
            ReasonKind::Pace => "pace",
            ReasonKind::Spread => "spread of cycles",
        }
    }
}

impl Evidence<'_> {
    fn observed(&self) -> f64 {
        self.rate.unwrap_or(self.charge * 8e12 / self.gap.max(1) as f64)
    }

    fn since(&self, change: &Change) -> String {
        ms(self.at - change.at)
    }
}

/// Cycles of a clock that should be spread at random lie too close together.
pub(super) fn too_close(clock: &str, lengths: &CycleLengths, width: f64) -> Reason {
    let percent = |part: f64| format!("{:.1} %", part * 100.0);
    let text = format!(
        "all {} {clock} cycles behind the first of a message ended after {} to {} of their length; the law spreads \
         them over {} to {}, and by chance so many lie so close together once in {:.0e}",
        lengths.count,
        percent(lengths.least),
        percent(lengths.most),
        percent(1.0 - width / 2.0),
        percent(1.0 + width / 2.0),
        1.0 / lengths.chance(width).max(1e-30)
    );
    Reason { kind: ReasonKind::Spread, text, measured: Vec::new() }
}

fn near(a: f64, b: f64, part: f64) -> bool {
    (a - b).abs() <= part * a.abs().max(b.abs())
}

/// Says why.
pub(super) fn of(evidence: &Evidence<'_>) -> Reason {
    match evidence.hypothesis.change {
        None => pace(evidence),
        Some(change) => match change.cause {
            Cause::Cnm { frame, fb } if change.frames <= 3 || (evidence.late && drifted(evidence, &change)) => {
                cut(evidence, &change, frame, fb)
            }
            Cause::Cnm { .. } => rise_too_soon(evidence, &change),
            Cause::ByteCycle { .. } | Cause::TimeCycle { .. } if change.frames <= 1 || drifted(evidence, &change) => {
                rise(evidence, &change)
            }
            Cause::ByteCycle { .. } | Cause::TimeCycle { .. } => rise_too_soon(evidence, &change),
        },
    }
}

/// Whether a difference that was there since the change has just become as large as what is forgiven.
fn drifted(evidence: &Evidence<'_>, change: &Change) -> bool {
    let law = change.after.current_rate.as_f64();
    let part = (evidence.observed() / law - 1.0).abs();
    let since = (evidence.at - change.at) as f64;
    part * since < 6.0 * (evidence.by as f64 + 50_000.0)
}

fn pace(evidence: &Evidence<'_>) -> Reason {
    let text = format!(
        "the frame left {} {} than the rate of {} lets it",
        ms(evidence.by),
        if evidence.late { "later" } else { "earlier" },
        rate(evidence.hypothesis.gauge().current_rate.as_f64())
    );
    Reason { kind: ReasonKind::Pace, text, measured: Vec::new() }
}

fn cut(evidence: &Evidence<'_>, change: &Change, frame: u64, fb: u8) -> Reason {
    let (before, law) = (change.before.current_rate.as_f64(), change.after.current_rate.as_f64());
    let observed = evidence.observed();
    let cut = &evidence.rules.params.cut;
    let cnm = format!("the CNM in frame {frame} has feedback {fb}");
    let reason = |kind, text, measured: Option<MeasuredParameter>| Reason {
        kind,
        text,
        measured: measured.into_iter().collect(),
    };
    if near(observed, before, 0.005) && !near(before, law, 0.01) {
        let text = format!("{cnm} and should cut the rate to {}, but it stays at {}", rate(law), rate(observed));
        return reason(ReasonKind::CutIgnored, text, None);
    }
    let min = cut.min_rate.as_f64();
    if near(law, min, 1e-6) && observed < min * 0.999 {
        let text = format!("{cnm}; the rate falls to {}, below the minimum of {}", rate(observed), rate(min));
        return reason(ReasonKind::MinRate, text, None);
    }
    let gd = (1.0 - observed / before) / f64::from(fb);
    let mut text = format!(
        "{cnm} and should leave {} of {}, which is {}; the sender goes on at {}, {}",
        share(law / before),
        rate(before),
        rate(law),
        rate(observed),
        share(observed / before)
    );
    if near(observed / before, cut.min_dec_fac, 1e-3) {
        text += &format!(
            ": the least that one message leaves (min_dec_fac), so Gd is {} or more where the law has {}",
            fraction(gd, cut.gd),
            fraction(cut.gd, gd)
        );
    } else if gd > 0.0 {
        text += &format!(": a Gd of {} where the law has {}", fraction(gd, cut.gd), fraction(cut.gd, gd));
    }
    reason(ReasonKind::CutSize, text, (gd > 0.0).then_some(MeasuredParameter::Gd(gd)))
}

/// One over a number, with as many digits as tell it from the other: one, or up to six.
fn fraction(value: f64, other: f64) -> String {
    let (value, other) = (1.0 / value, 1.0 / other);
    let digits = (1..6).find(|digits| format!("{value:.digits$}") != format!("{other:.digits$}")).unwrap_or(6);
    format!("1/{value:.digits$}")
}

fn cycle(change: &Change) -> String {
    match change.cause {
        Cause::ByteCycle { octets: counted } => format!("the byte-counter cycle that ended after {}", octets(counted)),
        Cause::TimeCycle { ps } => format!("the timer cycle that ended after {}", ms(ps)),
        Cause::Cnm { frame, .. } => format!("the CNM in frame {frame}"),
    }
}

fn rise(evidence: &Evidence<'_>, change: &Change) -> Reason {
    let params = &evidence.rules.params;
    let observed = evidence.observed();
    let (old, old_target) = (change.before.current_rate.as_f64(), change.before.target_rate.as_f64());
    let (law, target) = (change.after.current_rate.as_f64(), change.after.target_rate.as_f64());
    let stages = format!("stages {} and {}", change.stages.0, change.stages.1);
    let reason = |kind, text, measured: Option<MeasuredParameter>| Reason {
        kind,
        text,
        measured: measured.into_iter().collect(),
    };
    if near(observed, old, 2e-4) && !near(old, law, 4e-4) {
        let text = format!(
            "{} at the latest should have raised the rate from {} to {}; it did not rise",
            cycle(change),
            rate(old),
            rate(law)
        );
        let measured = match change.cause {
            Cause::ByteCycle { octets } => Some(MeasuredParameter::ByteReset(octets as f64 * 1.3)),
            Cause::TimeCycle { ps } => Some(MeasuredParameter::TimeReset(ps as f64 * 1.3)),
            Cause::Cnm { .. } => None,
        };
        return reason(ReasonKind::NoRise, text, measured);
    }
    // current = (current + target) / 2 tells the target that the device had.
    let its_target = 2.0 * observed - old;
    let cuts = evidence.hypothesis.earlier.iter().flatten().map_while(|earlier| match earlier.cause {
        Cause::Cnm { frame, .. } => Some((frame, earlier.before)),
        Cause::ByteCycle { .. } | Cause::TimeCycle { .. } => None,
    });
    for (frame, before) in cuts.filter(|_| change.stages.0 + change.stages.1 == 1) {
        let (current, kept) = (before.current_rate.as_f64(), before.target_rate.as_f64());
        if near(its_target, kept, 0.002) && !near(kept, old_target, 0.004) {
            let text = format!(
                "after the CNM in frame {frame} the rate climbs towards {}, the target of before; the law sets the \
                 target to the rate before the cut, {}",
                rate(kept),
                rate(old_target)
            );
            return reason(ReasonKind::Target, text, None);
        }
        if near(its_target, current, 0.002) && !near(current, old_target, 0.004) {
            let text = format!(
                "after the CNM in frame {frame} the rate climbs towards {}, the rate before the cut; in the first \
                 cycle the law keeps the target, {}",
                rate(current),
                rate(old_target)
            );
            return reason(ReasonKind::Target, text, None);
        }
    }
    let (its_step, step) = (its_target - old_target, target - old_target);
    let last = params.threshold - u32::from(params.stage_test == StageTest::Reached);
    let phase = match (change.stages.0 > last, change.stages.1 > last) {
        (false, false) => "fast recovery",
        (true, true) => "hyper-active increase",
        _ => "active increase",
    };
    let (ai, hai) = (params.ai_rate.as_f64(), params.hai_rate.as_f64());
    let coarse = 1e-4 * observed;
    let fits = |wanted: f64| (its_step - wanted).abs() < coarse.max(0.1 * wanted);
    let hint = if fits(0.0) && step != 0.0 {
        ": no increase of the target, as in fast recovery".to_owned()
    } else if phase != "hyper-active increase" && (1..=4).any(|n| fits(hai * f64::from(n))) {
        format!(": a step of hyper-active increase, for which both stages must be past {last}")
    } else if phase == "fast recovery" && fits(ai) {
        ": a step of active increase, before its stage".to_owned()
    } else if phase == "hyper-active increase" && fits(ai) {
        ": a step of active increase".to_owned()
    } else if phase == "active increase" && its_step > 0.0 {
        format!(": {:.2} times the step of active increase", its_step / ai)
    } else if phase == "hyper-active increase" && step > 0.0 {
        format!(": {:.2} times the step of hyper-active increase", its_step / step)
    } else {
        String::new()
    };
    let off = format!("{:.1e}", (observed / law - 1.0).abs());
    let text = format!(
        "at the end of {}, at {stages} ({phase}), the rate went from {} to {}, as if the target had gone from {} to \
         {}; the law goes to {} with a target of {}, which is {off} of the rate away; the frame left {} {} than that \
         lets it{hint}",
        cycle(change),
        rate(old),
        rate(observed),
        rate(old_target),
        rate(its_target),
        rate(law),
        rate(target),
        ms(evidence.by),
        if evidence.late { "later" } else { "earlier" }
    );
    reason(ReasonKind::RiseSize, text, None)
}

fn rise_too_soon(evidence: &Evidence<'_>, change: &Change) -> Reason {
    let hypothesis = evidence.hypothesis;
    let observed = evidence.observed();
    let law = hypothesis.gauge().current_rate.as_f64();
    if evidence.late {
        return pace(evidence);
    }
    let mut text = format!(
        "the rate rose from {} to {}, {} after {}",
        rate(law),
        rate(observed),
        evidence.since(change),
        cycle(change)
    );
    let mut measured = Vec::new();
    if let Some((counted, length)) = hypothesis.byte_cycle()
        && evidence.rules.params.clock != qcnlab_schemes::family::qcn::Clock::Timer
    {
        text += &format!(", {} into a byte-counter cycle of {}", octets(counted), octets(length));
        let nominal = evidence.rules.params.byte_reset.as_f64();
        measured.push(MeasuredParameter::ByteReset(counted as f64 * nominal / length.max(1) as f64));
    }
    let kept = hypothesis.kept_time_cycle(evidence.at);
    if let Some((time, length)) = hypothesis.time_cycle(evidence.at) {
        text += &format!(", {} into a timer cycle of {}", ms(time), ms(length));
        let nominal = evidence.rules.params.time_reset.ps() as f64;
        measured.push(MeasuredParameter::TimeReset(time as f64 * nominal / length.max(1) as f64));
    }
    text += ": too soon for either to end";
    if let Some((time, length)) = kept
        && let Change { cause: Cause::Cnm { frame, .. }, .. } = change
        && near(time as f64, length as f64, 0.2)
    {
        text +=
            &format!("; it fits the timer that began {} earlier and that the CNM in frame {frame} restarts", ms(time));
    }
    Reason { kind: ReasonKind::RiseTooSoon, text, measured }
}
