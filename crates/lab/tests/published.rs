//! Published results, over replications, and the reason for each band.
//!
//! Every test runs the shipped scenario with its own seed and 20 replications. A row's claim is
//! about the median unless it says "every run".

use qcnlab_lab::{Control, METRICS, Options, Outcome, run};
use qcnlab_scenario::Scenario;
use std::sync::LazyLock;

const REPLICATIONS: u32 = 20;

fn outcome(name: &str, overrides: &[&str]) -> Outcome {
    let scenario = Scenario::shipped(name).unwrap().with_overrides(overrides).unwrap();
    let options = Options { replications: Some(REPLICATIONS), ..Options::default() };
    run(&[scenario], &options, &Control::default()).unwrap().remove(0)
}

/// Values of a metric, sorted; `None` (never happened) last, as infinity.
fn values(outcome: &Outcome, metric: &str) -> Vec<f64> {
    let index = METRICS.iter().position(|m| m.name == metric).unwrap();
    let mut values: Vec<f64> = outcome.replications.iter().map(|r| r.metrics[index].unwrap_or(f64::INFINITY)).collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Deck 000's starting point, which several rows are held against.
static ALONE_40US: LazyLock<Outcome> = LazyLock::new(|| outcome("og-hotspot-10src-10g-to-500m-rtt40us", &[]));
static ALONE_500US: LazyLock<Outcome> = LazyLock::new(|| outcome("og-hotspot-10src-10g-to-500m-rtt500us", &[]));

fn median(values: &[f64]) -> f64 {
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

#[track_caller]
fn median_in(values: &[f64], band: std::ops::RangeInclusive<f64>) {
    let median = median(values);
    assert!(band.contains(&median), "median {median} of {values:?} is outside {band:?}");
}

/// Shares of empty queues are counted over samples of 1 ms.
const EACH_MS: &str = "record.queue_every=1 ms";

/// Deck 001, QCN, RTT 10 us: 94 ms, one draw. The spread comes from how long before the end of the
/// hotspot the last message fell: hyper-active increase starts 5 T + T/2 = 82.5 ms after it, so
/// runs lie from some 25 ms below the median to 15 ms above. The band of the median holds both
/// readings of what 94 is a draw from. Of 300 replications two are faster than 60 ms (49 and 56),
/// none is slower than 101; the twenty here are the first of those.
#[test]
fn qcn_recovers_in_94_ms_at_rtt_10us() {
    let values = values(&outcome("og-hotspot-2src-10g-to-500m-rtt10us", &[]), "rec95_ms");
    median_in(&values, 78.0..=105.0);
    assert!(values.iter().all(|v| (60.0..=112.0).contains(v)), "{values:?}");
}

/// Deck 001, QCN, RTT 200 us: 108 ms, one draw, same parameters. The level has to last (five bins),
/// because the first bin above it may be an overshoot.
#[test]
fn qcn_recovers_in_108_ms_at_rtt_200us_and_holds_the_link() {
    let outcome = outcome("og-hotspot-2src-10g-to-500m-rtt200us", &[EACH_MS]);
    let recovery = values(&outcome, "rec95s_ms");
    median_in(&recovery, 80.0..=112.0);
    assert!(recovery.iter().all(|v| *v <= 150.0), "{recovery:?}");
    let throughput = values(&outcome, "throughput_outside_gbps");
    assert!(throughput[0] > 9.9, "{throughput:?}");
    median_in(&values(&outcome, "queue_empty_frac"), 0.0..=0.0);
}

/// Deck 001, ECM, Gi 0.53333, RTT 10 us: 3 ms. Bins are 1 ms wide, so one bin either way and one more.
#[test]
fn ecm_recovers_in_3_ms_at_rtt_10us() {
    let outcome = outcome("og-hotspot-2src-10g-to-500m-rtt10us", &["scheme.name=ecm", "scheme.preset=DECK001"]);
    median_in(&values(&outcome, "rec95_ms"), 2.0..=5.0);
}

/// Deck 001, ECM, Gi 0.0053333, RTT 200 us: 214 ms. The climb is linear in messages, so the band is
/// a tenth either way, for the unprinted sampling interval.
#[test]
#[ignore = "long: make test-all runs it"]
fn stability_adjusted_ecm_recovers_in_214_ms_at_rtt_200us() {
    let overrides = ["scheme.name=ecm", "scheme.preset=DECK001_STABILITY_ADJUSTED"];
    let outcome = outcome("og-hotspot-2src-10g-to-500m-rtt200us", &overrides);
    median_in(&values(&outcome, "rec95_ms"), 190.0..=235.0);
}

/// Deck 001, ECM, Gi 0.53333, RTT 200 us: unstable; the link idles while the queue swings.
#[test]
#[ignore = "long: make test-all runs it"]
fn ecm_with_the_short_rtt_gain_is_unstable_at_rtt_200us() {
    let overrides = ["scheme.name=ecm", "scheme.preset=DECK001", EACH_MS];
    let outcome = outcome("og-hotspot-2src-10g-to-500m-rtt200us", &overrides);
    median_in(&values(&outcome, "throughput_outside_gbps"), 0.0..=9.0);
    median_in(&values(&outcome, "queue_empty_frac"), 0.25..=1.0);
}

/// Deck 000, byte counter only: 300+ ms at RTT 40 us and 350+ ms at 500 us, read off plots. Ten sources
/// that each climb by byte counter alone; the bands are the spread of medians over readings of the
/// increase step that reach the printed numbers at all.
#[test]
#[ignore = "long: make test-all runs it"]
fn the_byte_counter_alone_takes_over_300_ms() {
    median_in(&values(&ALONE_40US, "rec95_ms"), 290.0..=400.0);
    median_in(&values(&ALONE_500US, "rec95_ms"), 300.0..=430.0);
}

/// The increase step of deck 000 is not on its slides; 5 Mb/s, deck 001's, is ruled out.
#[test]
#[ignore = "long: make test-all runs it"]
fn deck_000_needs_more_than_5_mbps_a_step() {
    let slow = outcome("og-hotspot-10src-10g-to-500m-rtt40us", &["scheme.rp.ai_rate=5 Mb/s"]);
    assert!(median(&values(&slow, "rec95_ms")) > 430.0);
}

/// Deck 001's argument for the final form: with its parameters the byte counter alone is far slower.
#[test]
#[ignore = "long: make test-all runs it"]
fn the_timer_is_what_makes_recovery_fast() {
    let both = outcome("og-hotspot-2src-10g-to-500m-rtt10us", &[]);
    let alone =
        outcome("og-hotspot-2src-10g-to-500m-rtt10us", &["scheme.name=qcn_byte_counter", "scheme.preset=DECK001"]);
    let (both, alone) = (median(&values(&both, "rec95_ms")), median(&values(&alone, "rec95_ms")));
    assert!(alone > 2.0 * both, "byte counter alone {alone} ms, with the timer {both} ms");
}

/// Deck 000, SONAR, RTT 500 us: 38 ms, no false alarm, where the byte counter alone takes 350+. Ten sources,
/// a detector that takes 10 ms, a ping timer that takes up to 10 ms and an increase step that is not on the
/// slides: 2 to 12 Mb/s give medians from 28 to 54 ms. The claim is the factor.
#[test]
#[ignore = "long: make test-all runs it"]
fn sonar_recovers_in_38_ms_without_a_false_alarm() {
    let sonar = outcome("og-hotspot-10src-10g-to-500m-rtt500us", &["scheme.name=qcn_sonar"]);
    let recovery = values(&sonar, "rec95_ms");
    median_in(&recovery, 25.0..=45.0);
    let alarms = values(&sonar, "false_alarms");
    assert!(alarms.iter().all(|n| *n == 0.0), "{alarms:?}");
    let factor = median(&values(&ALONE_500US, "rec95_ms")) / median(&recovery);
    assert!(factor >= 8.0, "only {factor} times faster than the byte counter alone");
}

/// Deck 000, Method 2, RTT 40 us, 5 ms timer: 28 ms where the byte counter alone takes 300+. Its increase
/// step is not on the slides; the band is that of steps from 5 to 50 Mb/s times the number of the cycle. Every
/// run recovers: push-backs of a port whose queue never falls below six frames do not hold the last limiters.
#[test]
#[ignore = "long: make test-all runs it"]
fn fb99_recovers_in_tens_of_milliseconds() {
    let fb99 = outcome("og-hotspot-10src-10g-to-500m-rtt40us", &["scheme.name=fb99"]);
    let recovery = values(&fb99, "rec95_ms");
    median_in(&recovery, 25.0..=80.0);
    assert!(recovery.iter().all(|ms| *ms <= 80.0), "{recovery:?}");
    let factor = median(&values(&ALONE_40US, "rec95_ms")) / median(&recovery);
    assert!(factor >= 4.0, "only {factor} times faster than the byte counter alone");
}

/// Deck 000, Downward Transience: target-rate reduction shortens the settling at the onset of a hotspot, most
/// at a large RTT, and loses fewer frames. Paired seeds: the two share every random stream.
#[test]
#[ignore = "long: make test-all runs it"]
fn target_rate_reduction_shortens_the_onset() {
    let with = |reduction: &str| {
        let reduction = format!("scheme.rp.target_rate_reduction={reduction}");
        outcome("og-hotspot-10src-10g-to-500m-rtt500us", &["scheme.name=qcn", &reduction])
    };
    let (on, off) = (with("true"), with("false"));
    let (fast, slow) = (median(&values(&on, "onset_ms")), median(&values(&off, "onset_ms")));
    assert!(fast < 0.9 * slow, "settles in {fast} ms with it, {slow} ms without");
    let (few, many) = (median(&values(&on, "drops")), median(&values(&off, "drops")));
    assert!(few < many, "{few} drops with it, {many} without");
}
