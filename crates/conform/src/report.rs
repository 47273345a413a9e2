//! Reports as JSON.

use super::cp::{CpBreach, CpResults, FIELDS, SampleRow};
use super::input::Survey;
use super::rp::{Finding, Interval, RpResult, RpResults};
use super::sequence::Loss;
use super::tolerances::ConformOptions;
use serde_json::{Value, json};

fn verdict(finding: &Finding) -> &'static str {
    match finding {
        Finding::Conforms => CONFORMS,
        Finding::Breaks(_) => BREAKS,
        Finding::NotDecidable(_) => NOT_DECIDABLE,
    }
}

pub(super) const CONFORMS: &str = "conforms";
pub(super) const BREAKS: &str = "breaks the law";
pub(super) const NOT_DECIDABLE: &str = "not decidable";

/// The verdict of several.
pub(super) fn overall(mut all: impl Iterator<Item = &'static str> + Clone) -> &'static str {
    if all.clone().any(|one| one == BREAKS) {
        BREAKS
    } else if all.any(|one| one == CONFORMS) {
        CONFORMS
    } else {
        NOT_DECIDABLE
    }
}

pub(super) fn tolerances(options: &ConformOptions, survey: &Survey) -> Value {
    let tolerances = &options.tolerances;
    let ours = survey.is_ours();
    json!({
        "stamps_s": tolerances.stamps.seconds(),
        "resolution_s": (survey.resolution + 1) as f64 / 1e12,
        "clock_ppm": tolerances.clock_for(ours),
        "pacing_bytes": tolerances.pacing.get(),
        "reaction_s": tolerances.reaction.seconds(),
        "jitter": tolerances.jitter,
        "queue_bytes": tolerances.queue.get(),
        "uncaptured_bytes": tolerances.uncaptured_for(survey.shows_all_octets()),
    })
}

/// What the capture shows of frames that it lacks.
fn loss(loss: &Loss, survey: &Survey) -> Value {
    json!({
        "numbered_frames": loss.numbered,
        "missing_frames": loss.missing,
        "unmatched_frames": loss.unmatched,
        "dropped_frames": loss.dropped,
        "unmatched_cnms": loss.unmatched_cnms,
        "repeated_frames": survey.repeated,
        "share": loss.rate(),
    })
}

pub(super) fn reaction_points_report(results: &RpResults, options: &ConformOptions) -> Value {
    let survey = &results.survey;
    let points: Vec<Value> = results.points.iter().map(|point| reaction_point(point, survey)).collect();
    let mut notes = Vec::new();
    let mut note = |count: u64, what: &str| {
        if count > 0 {
            notes.push(format!("{count} CNM{} {what}", if count == 1 { "" } else { "s" }));
        }
    };
    note(results.unattributed, "for no reaction point of the capture, or for one of several without a CN-TAG");
    note(results.malformed, "that break their format; a reaction point drops them");
    json!({
        "of": "rp",
        "law": results.law.name,
        "verdict": overall(results.points.iter().map(|point| verdict(&point.finding))),
        "frames": survey.frames,
        "tolerances": tolerances(options, survey),
        "loss": loss(&survey.loss, survey),
        "reaction_points": points,
        "notes": notes,
    })
}

fn reaction_point(point: &RpResult, survey: &Survey) -> Value {
    let tally = &point.tally;
    let (mut why, mut breach) = (Value::Null, Value::Null);
    match &point.finding {
        Finding::Conforms => {}
        Finding::NotDecidable(reason) => why = json!(reason),
        Finding::Breaks(broken) => {
            why = json!(broken.reason.text);
            breach = json!({
                "frame": broken.frame,
                "time_s": survey.seconds(broken.stamp),
                "kind": broken.reason.kind.word(),
            });
        }
    }
    let fits: Vec<Value> = point.fits.iter().map(|(law, finding)| fit(law, finding, survey)).collect();
    json!({
        "sender": point.key.sender.to_string(),
        "priority": point.key.priority,
        "rpid": point.key.rpid,
        "interface": point.interface,
        "verdict": verdict(&point.finding),
        "why": why,
        "first_violation": breach,
        "explained_by": point.explained_by.iter().map(|variant| &variant.change).collect::<Vec<_>>(),
        "frames": tally.frames,
        "cnms": tally.cnms,
        "limited_frames": tally.limited,
        "on_time_frames": tally.on_time,
        "late_frames": tally.late,
        "judged_frames": tally.limited - tally.unsure,
        "missing_frames": tally.unseen_frames,
        "missing_cnms": tally.unseen_cnms,
        "fits": fits,
        "best_fit": best(&point.fits),
        "intervals": point.intervals.iter().map(|interval| row(interval, survey)).collect::<Vec<_>>(),
        "intervals_left_out": point.left_out,
    })
}

fn fit(law: &str, finding: &Finding, survey: &Survey) -> Value {
    let at = match finding {
        Finding::Breaks(breach) => Some((breach.frame, survey.seconds(breach.stamp))),
        Finding::Conforms | Finding::NotDecidable(_) => None,
    };
    json!({
        "law": law,
        "verdict": verdict(finding),
        "frame": at.map(|(frame, _)| frame),
        "time_s": at.map(|(_, time)| time),
    })
}

/// The set that conforms, else the one that holds longest; `None` where nothing is decided.
fn best(fits: &[(String, Finding)]) -> Option<&str> {
    let rank = |finding: &Finding| match finding {
        Finding::Conforms => (2, 0),
        Finding::Breaks(breach) => (1, breach.frame),
        Finding::NotDecidable(_) => (0, 0),
    };
    // The first of equals: the law that was asked for.
    let (law, finding) = fits.iter().rev().max_by_key(|(_, finding)| rank(finding))?;
    (!matches!(finding, Finding::NotDecidable(_))).then_some(law)
}

fn row(interval: &Interval, survey: &Survey) -> Value {
    json!({
        "from_s": survey.seconds(interval.from.1),
        "to_s": survey.seconds(interval.to.1),
        "from_frame": interval.from.0,
        "to_frame": interval.to.0,
        "cnm_frame": interval.cnm.map(|(frame, _)| frame),
        "fb": interval.cnm.map(|(_, fb)| fb),
        "frames": interval.frames,
        "octets": interval.octets,
        "allowed_least": interval.allowed.0,
        "allowed_most": interval.allowed.1,
        "late_frames": interval.late,
        "within": !interval.broken,
    })
}

pub(super) fn congestion_point_report(results: &CpResults, options: &ConformOptions) -> Value {
    let survey = &results.survey;
    let (verdict, why) = match (&results.breach, &results.not_decidable) {
        (_, Some(why)) => (NOT_DECIDABLE, json!(why)),
        (Some(breach), None) => (BREAKS, json!(breach.text)),
        (None, None) => (CONFORMS, Value::Null),
    };
    let decided = results.not_decidable.is_none();
    let at = |breach: &CpBreach| {
        json!({
            "frame": breach.frame, "time_s": survey.seconds(breach.stamp), "kind": breach.kind.word(),
        })
    };
    let fits: Vec<Value> = results
        .fits
        .iter()
        .map(|(law, breach)| {
            json!({
                "law": law,
                "verdict": if breach.is_some() { BREAKS } else { CONFORMS },
                "frame": breach.as_ref().map(|breach| breach.frame),
                "time_s": breach.as_ref().map(|breach| survey.seconds(breach.stamp)),
            })
        })
        .collect();
    let rank = |breach: &Option<CpBreach>| breach.as_ref().map_or(u64::MAX, |breach| breach.frame);
    let best = results.fits.iter().rev().max_by_key(|(_, breach)| rank(breach)).map(|(law, _)| law);
    json!({
        "of": "cp",
        "law": results.law.name,
        "verdict": verdict,
        "why": why,
        "first_violation": results.breach.as_ref().filter(|_| decided).map(at),
        "explained_by": results.explained_by.iter().map(|variant| &variant.change).collect::<Vec<_>>(),
        "interface": results.interface,
        "arrivals_from": results.arrivals_from,
        "cpid": results.cpid.map(|cpid| cpid.to_string()),
        "frames": results.frames,
        "cnms": results.cnms,
        "checked_cnms": results.checked,
        "unlocated_cnms": results.unlocated,
        "other_cnms": results.others,
        "loss": loss(&results.loss, survey),
        "missing_cnms": results.missing,
        "lost_frames": results.lost,
        "unmatched_frames": results.unmatched,
        "tolerances": tolerances(options, survey),
        "fits": if decided { json!(fits) } else { json!([]) },
        "best_fit": best.filter(|_| decided),
        "fields": FIELDS.map(|(field, against)| json!({ "field": field, "held_against": against })),
        "samples": results.rows.iter().map(|row| sample(row, survey)).collect::<Vec<_>>(),
        "samples_left_out": results.rows_left_out,
    })
}

fn sample(row: &SampleRow, survey: &Survey) -> Value {
    json!({
        "cnm_frame": row.cnm,
        "time_s": survey.seconds(row.stamp),
        "sampled_frame": row.sampled,
        "to": row.to.to_string(),
        "fb": row.fb,
        "fb_law_least": row.fb_law.0,
        "fb_law_most": row.fb_law.1,
        "queue_told": row.queue_told,
        "queue_least": row.queue.0,
        "queue_most": row.queue.1,
        "octets_since": row.since,
        "interval_least": row.interval.map(|(least, _)| least),
        "interval_most": row.interval.map(|(_, most)| most),
        "within": row.within,
    })
}
