//! Single changes of a law: what a device that breaks it may do instead.

use super::deviation::{CpQuirk, MeasuredParameter, Quirk};
use super::law::QcnLaw;
use super::text;
use qcnlab_schemes::family::qcn::{Clock, QcnCpParams, QcnRpParams, RateAccounting, TargetCap};
use qcnlab_schemes::parts::feedback::Quantizer;
use qcnlab_schemes::parts::rates::CutParams;
use qcnlab_schemes::parts::stages::{HaiStep, StageTest};
use qcnlab_units::{BitRate, Bytes, Span};

/// A law with one change.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    /// The change, in words.
    pub(super) change: String,
    pub(super) law: QcnLaw,
    pub(super) quirk: Option<Quirk>,
}

/// The changes of a reaction point that are tried, `measured` among them.
pub(super) fn reaction_point_variants(law: &QcnLaw, measured: &[MeasuredParameter]) -> Vec<Variant> {
    let base = law.rp;
    let mut all = Vec::new();
    let mut with = |change: String, rp: QcnRpParams| {
        if rp != base {
            all.push(Variant { change, law: QcnLaw { rp, ..law.clone() }, quirk: None });
        }
    };
    let rate = |rate: BitRate| text::rate(rate.as_f64());
    let octets = |size: Bytes| text::octets(size.signed());
    for factor in [2.0, 0.5, 1.0 / 1.5, 4.0 / 3.0, 1.1, 0.9, 1.2, 0.8] {
        let gd = base.cut.gd * factor;
        let cut = CutParams { gd, ..base.cut };
        with(format!("gd is 1/{:.4} instead of 1/{:.4}", 1.0 / gd, 1.0 / base.cut.gd), QcnRpParams { cut, ..base });
        let byte_reset = Bytes::new((base.byte_reset.as_f64() * factor).round() as u64);
        let change = format!("byte_reset is {} instead of {}", octets(byte_reset), octets(base.byte_reset));
        with(change, QcnRpParams { byte_reset, ..base });
        let time_reset = base.time_reset.scaled_rounded_down(factor);
        let ms = |span: Span| text::ms(span.ps() as i64);
        with(
            format!("time_reset is {} instead of {}", ms(time_reset), ms(base.time_reset)),
            QcnRpParams { time_reset, ..base },
        );
        let ai_rate = base.ai_rate.scaled_rounded_down(factor);
        with(
            format!("ai_rate is {} instead of {}", rate(ai_rate), rate(base.ai_rate)),
            QcnRpParams { ai_rate, ..base },
        );
        let hai_rate = base.hai_rate.scaled_rounded_down(factor);
        with(
            format!("hai_rate is {} instead of {}", rate(hai_rate), rate(base.hai_rate)),
            QcnRpParams { hai_rate, ..base },
        );
        let min_dec_fac = (base.cut.min_dec_fac * factor).min(1.0);
        let cut = CutParams { min_dec_fac, ..base.cut };
        with(format!("min_dec_fac is {min_dec_fac} instead of {}", base.cut.min_dec_fac), QcnRpParams { cut, ..base });
    }
    for threshold in [base.threshold.saturating_sub(1).max(1), base.threshold + 1, 1, 2, 3] {
        with(format!("threshold is {threshold} instead of {}", base.threshold), QcnRpParams { threshold, ..base });
    }
    for min_rate in
        [BitRate::bps(1000), base.cut.min_rate.scaled_rounded_down(0.5), base.cut.min_rate.scaled_rounded_down(2.0)]
    {
        let cut = CutParams { min_rate, ..base.cut };
        let change = if min_rate == BitRate::bps(1000) {
            "min_rate is ignored".to_owned()
        } else {
            format!("min_rate is {} instead of {}", rate(min_rate), rate(base.cut.min_rate))
        };
        with(change, QcnRpParams { cut, ..base });
    }
    for measured in measured {
        match *measured {
            MeasuredParameter::Gd(gd) if gd < 1.0 => {
                let cut = CutParams { gd, ..base.cut };
                let change = format!("gd is some 1/{:.2} instead of 1/{:.4}", 1.0 / gd, 1.0 / base.cut.gd);
                with(change, QcnRpParams { cut, ..base });
            }
            MeasuredParameter::ByteReset(size) if size >= 1.0 => {
                let byte_reset = Bytes::new(to_three_digits(size) as u64);
                let change =
                    format!("byte_reset is some {} instead of {}", octets(byte_reset), octets(base.byte_reset));
                with(change, QcnRpParams { byte_reset, ..base });
            }
            MeasuredParameter::TimeReset(ps) if ps >= 1.0 => {
                let time_reset = Span::from_ps(to_three_digits(ps) as u64);
                let ms = |span: Span| text::ms(span.ps() as i64);
                let change = format!("time_reset is some {} instead of {}", ms(time_reset), ms(base.time_reset));
                with(change, QcnRpParams { time_reset, ..base });
            }
            _ => {}
        }
    }
    for clock in [Clock::ByteCounter, Clock::Timer, Clock::Both] {
        let change = match clock {
            Clock::ByteCounter => "there is no timer",
            Clock::Timer => "there is no byte counter",
            Clock::Both => "there are both clocks",
        };
        with(change.to_owned(), QcnRpParams { clock, ..base });
    }
    for hai_step in [HaiStep::Constant, HaiStep::Scaled] {
        with("hyper-active increase has another step (hai_step)".to_owned(), QcnRpParams { hai_step, ..base });
    }
    for stage_test in [StageTest::Above, StageTest::Reached] {
        with("stages are compared otherwise (stage_test)".to_owned(), QcnRpParams { stage_test, ..base });
    }
    for target_cap in [TargetCap::None, TargetCap::LineRate] {
        with("the target has another bound (target_cap)".to_owned(), QcnRpParams { target_cap, ..base });
    }
    for rate_accounting in [RateAccounting::Frame, RateAccounting::Wire] {
        let change = "rates count other octets (rate_accounting)".to_owned();
        with(change, QcnRpParams { rate_accounting, ..base });
    }
    let flag = |name: &str, now: bool| format!("{name} is {} instead of {now}", !now);
    with(flag("short_cycles", base.short_cycles), QcnRpParams { short_cycles: !base.short_cycles, ..base });
    let target_rate_reduction = !base.target_rate_reduction;
    with(flag("target_rate_reduction", base.target_rate_reduction), QcnRpParams { target_rate_reduction, ..base });
    with(flag("clamp_on_time", base.clamp_on_time), QcnRpParams { clamp_on_time: !base.clamp_on_time, ..base });
    with(flag("early_hai", base.early_hai), QcnRpParams { early_hai: !base.early_hai, ..base });
    for (quirk, change) in [
        (Quirk::TimerKept, "a CNM does not restart the timer"),
        (Quirk::ByteCounterKept, "a CNM does not restart the byte counter"),
        (Quirk::TargetKept, "a CNM does not set the target rate"),
        (Quirk::TargetAlways, "a CNM sets the target rate in the first cycle too"),
        (Quirk::HaiAtOneStage, "hyper-active increase comes with one stage past the threshold"),
    ] {
        all.push(Variant { change: change.to_owned(), law: law.clone(), quirk: Some(quirk) });
    }
    all.extend(spread_variants(law));
    all
}

/// Those of them that spread cycles otherwise.
fn spread_variants(law: &QcnLaw) -> Vec<Variant> {
    let base = law.rp;
    let widths = [0.0, 0.1, 0.2, 0.4, 0.6, 1.0].into_iter().filter(|width| *width != base.jitter_width);
    let with = |jitter_width: f64| Variant {
        change: format!("cycles are spread over {jitter_width} instead of {} (jitter_width)", base.jitter_width),
        law: QcnLaw { rp: QcnRpParams { jitter_width, ..base }, ..law.clone() },
        quirk: None,
    };
    widths.map(with).collect()
}

/// Those of them that spread cycles less, and no spread of the timer's.
pub(super) fn narrower_spread_variants(law: &QcnLaw) -> Vec<Variant> {
    let mut all = spread_variants(law);
    all.retain(|variant| variant.law.rp.jitter_width < law.rp.jitter_width);
    let (change, quirk) = ("cycles of the timer are not spread".to_owned(), Some(Quirk::TimerNotSpread));
    all.push(Variant { change, law: law.clone(), quirk });
    all
}

/// What is measured is known to a frame; people set round numbers.
fn to_three_digits(value: f64) -> f64 {
    let unit = 10f64.powf(value.log10().floor() - 2.0);
    (value / unit).round() * unit
}

/// A law of the congestion point with one change.
#[derive(Clone, Debug)]
pub(super) struct CpVariant {
    /// The change, in words.
    pub(super) change: String,
    pub(super) law: QcnLaw,
    pub(super) quirk: Option<CpQuirk>,
}

/// The changes of a congestion point that are tried.
pub(super) fn congestion_point_variants(law: &QcnLaw) -> Vec<CpVariant> {
    let base = law.cp;
    let mut all = Vec::new();
    let mut with = |change: String, cp: QcnCpParams| {
        if cp != base {
            all.push(CpVariant { change, law: QcnLaw { cp, ..law.clone() }, quirk: None });
        }
    };
    let octets = |size: Bytes| text::octets(size.signed());
    for factor in [2.0, 0.5, 1.5, 1.0 / 1.5] {
        let w = base.w * factor;
        with(format!("w is {w} instead of {}", base.w), QcnCpParams { w, ..base });
        let sample_base = Bytes::new((base.sample_base.as_f64() * factor).round() as u64);
        let change = format!("sample_base is {} instead of {}", octets(sample_base), octets(base.sample_base));
        with(change, QcnCpParams { sample_base, ..base });
    }
    for set_point in [22_000, 26_000, 33_000, 37_500, 66_000].map(Bytes::new) {
        let change = format!("set_point is {} instead of {}", octets(set_point), octets(base.set_point));
        with(change, QcnCpParams { set_point, ..base });
    }
    for quantizer in [Quantizer::Floor, Quantizer::Round, Quantizer::MostSignificantBits] {
        with("feedback is quantized otherwise (quantizer)".to_owned(), QcnCpParams { quantizer, ..base });
    }
    let flag = |name: &str, now: bool| format!("{name} is {} instead of {now}", !now);
    let adaptive_sampling = !base.adaptive_sampling;
    with(flag("adaptive_sampling", base.adaptive_sampling), QcnCpParams { adaptive_sampling, ..base });
    with(flag("count_arriving", base.count_arriving), QcnCpParams { count_arriving: !base.count_arriving, ..base });
    with(flag("count_discarded", base.count_discarded), QcnCpParams { count_discarded: !base.count_discarded, ..base });
    for (quirk, change) in [
        (CpQuirk::OldLengthOfEachFrame, "the remembered queue length is that of the last frame, sampled or not"),
        (CpQuirk::RoundedUp, "feedback is rounded up"),
        (CpQuirk::NextRow, "the sampling table is off by one row"),
    ] {
        all.push(CpVariant { change: change.to_owned(), law: law.clone(), quirk: Some(quirk) });
    }
    all
}
