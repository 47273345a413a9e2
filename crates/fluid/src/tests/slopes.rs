//! Slopes, bounds and rows of the models at single states, worked by hand from the equations at the head of each.

use crate::dcqcn::Dcqcn;
use crate::ecm::Ecm;
use crate::groups::Groups;
use crate::history::History;
use crate::initial::Initial;
use crate::parameters::Values;
use crate::plant::Plant;
use crate::qcn::Qcn;
use crate::stepper::System;
use crate::timely::Timely;
use crate::{FluidError, Model};

fn values<M: Model>(parameters: &str) -> Values {
    Values::read(M::NAME, M::PARAMETERS, parameters).expect(parameters)
}

fn initial<M: Model>(start: Option<&str>) -> Initial {
    Initial::read(M::NAME, start, M::INITIAL).expect("an initial state")
}

/// A model and its state at 0.
fn started<M: Model>(parameters: &str, start: Option<&str>) -> (M, Vec<f64>) {
    let initial = initial::<M>(start);
    let model = M::new(&values::<M>(parameters), &initial).expect(parameters);
    let state = model.start(&initial).expect("a start");
    (model, state)
}

/// The slope at `state`, where everything has always been `before`.
fn slope(system: &impl System, state: &[f64], before: &[f64]) -> Vec<f64> {
    let history = History::new(before, system.lags().len());
    let mut slope = vec![f64::NAN; state.len()];
    system.slope(0.0, state, &history.view(0.0, state, 0.0), &mut slope);
    slope
}

/// Each value is the expected one, but for rounding.
#[track_caller]
fn same(values: &[f64], expected: &[f64]) {
    assert_eq!(values.len(), expected.len());
    for (value, expected) in values.iter().zip(expected) {
        assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{values:?} where {expected} is right");
    }
}

fn projected(system: &impl System, state: &[f64]) -> Vec<f64> {
    let mut state = state.to_vec();
    system.project(0.0, &mut state);
    state
}

fn row<M: Model>(model: &M, state: &[f64]) -> Vec<f64> {
    let mut row = Vec::new();
    model.row(0.0, state, &mut row);
    row
}

/// Frames of 1250 octets are 10 000 bits: 10 Gb/s are a million of them a second.
const FRAME: &str = r#""frame_bytes": 1250, "capacity_bps": 10e9"#;

#[test]
fn the_plant_keeps_its_bounds() {
    let plant =
        |more: &str| Plant::read(&values::<Ecm>(&format!("{{{FRAME}, \"sources\": 4, \"min_rate_bps\": 1e7{more}}}")));
    let bounded = plant(r#", "buffer_bytes": 125e3, "line_rate_bps": 5e9"#);
    assert_eq!((bounded.share(), bounded.capacity, bounded.frame_bits()), (250e3, 1e6, 10e3));
    // Between 0 and 100 frames a queue gains what it gains; at 0 it does not fall, at 100 it does not rise.
    for (queue, net, slope) in [
        (50.0, -7.0, -7.0),
        (50.0, 7.0, 7.0),
        (0.0, -7.0, 0.0),
        (0.0, 7.0, 7.0),
        (-1.0, -7.0, 0.0),
        (1e-9, -7.0, -7.0),
        (100.0, 7.0, 0.0),
        (100.0, -7.0, -7.0),
        (101.0, 7.0, 0.0),
        (99.9, 7.0, 7.0),
    ] {
        assert_eq!(bounded.queue_slope(queue, net), slope, "{queue} {net}");
    }
    assert_eq!([-1.0, 0.0, 50.0, 101.0].map(|queue| bounded.bounded_queue(queue)), [0.0, 0.0, 50.0, 100.0]);
    assert_eq!([0.0, 1e3, 2e5, 6e5].map(|rate| bounded.bounded_rate(rate)), [1e3, 1e3, 2e5, 5e5]);
    let free = plant(r#", "clamp_queue": false, "rate_cap": false"#);
    assert_eq!((free.queue_slope(-5.0, -7.0), free.queue_slope(1e9, 7.0)), (-7.0, 7.0));
    assert_eq!((free.bounded_queue(-5.0), free.bounded_queue(1e9), free.bounded_rate(2e6)), (-5.0, 1e9, 2e6));
    // Without a line rate that of the bottleneck bounds a source.
    assert_eq!(plant("").bounded_rate(2e6), 1e6);
}

#[test]
fn sources_that_start_alike_are_one_group() {
    let read = |start: &str| Groups::read(&initial::<Dcqcn>(Some(start)), 4, 5.0).expect(start);
    let groups = read(r#"{"rates_bps": [1, 2, 1, 1], "start_s": [0, 0, 0.5, 0]}"#);
    let told: Vec<_> = groups.all.iter().map(|group| (group.count, group.rate, group.from)).collect();
    assert_eq!(told, [(2.0, 1.0, 0.0), (1.0, 2.0, 0.0), (1.0, 1.0, 0.5)]);
    assert_eq!(groups.of_source, [0, 1, 2, 0]);
    assert_eq!(read("{}").all.len(), 1);
    assert_eq!((read("{}").all[0].count, read("{}").all[0].rate), (4.0, 5.0));
    // Starts after 0, each once, in order.
    let late = read(r#"{"rates_bps": [1, 2, 3, 4], "start_s": [0.7, 0, 0.2, 0.7]}"#).late();
    assert_eq!(late, [0.2, 0.7]);
}

/// 40 Gb/s of frames of 1000 octets: C = 5e6 / s. tau is 50 us, tau' and T are 55; cycles of 100 frames, F = 5,
/// RAI = 5000 / s, g = 1/256. The queue was half way up the ramp from 5 to 200 KB, so p = 0.005, and the source sent
/// 1e6 frames/s: 50 frames in tau, 55 in tau' and T.
#[test]
fn the_slopes_of_dcqcn() {
    let (model, _) = started::<Dcqcn>(r#"{"sources": 3, "cycle_bytes": 100e3}"#, None);
    let pass = |frames: f64| 0.995_f64.powf(frames);
    let (by_bytes, by_timer) = (5000.0 / (pass(-100.0) - 1.0), 5000.0 / (pass(-55.0) - 1.0));
    let cut = 1.0 - pass(50.0);
    let got = slope(&model, &[50.0, 8e5, 9e5, 0.5], &[102.5, 1e6]);
    let current = -8e5 * 0.5 / 100e-6 * cut + 0.5 * 1e5 * (by_bytes + by_timer);
    let target = -1e5 / 50e-6 * cut + 5000.0 * (pass(500.0) * by_bytes + pass(275.0) * by_timer);
    let alpha = (1.0 - pass(55.0) - 0.5) / 256.0 / 55e-6;
    same(&got, &[3.0 * 8e5 - 5e6, current, target, alpha]);
}

/// Without marks cycles end by count and by time: R / B = 1e6 / 100 and 1 / T, each an increase. Everything is marked
/// above the ramp: the next frame is cut, and no cycle ends. A source that sent nothing has its timer alone.
#[test]
fn dcqcn_without_marks_and_with_nothing_but_marks() {
    let (model, _) = started::<Dcqcn>(r#"{"sources": 3, "cycle_bytes": 100e3}"#, None);
    let cycles = 1e4 + 1.0 / 55e-6;
    for queue in [0.0, 5.0] {
        let got = slope(&model, &[50.0, 8e5, 9e5, 0.5], &[queue, 1e6]);
        same(&got[1..], &[0.5 * 1e5 * cycles, 5000.0 * cycles, -0.5 / 256.0 / 55e-6]);
    }
    let got = slope(&model, &[50.0, 8e5, 9e5, 0.5], &[200.1, 1e6]);
    same(&got[1..], &[-8e5 * 0.5 / 100e-6, -1e5 / 50e-6, 0.5 / 256.0 / 55e-6]);
    // At the end of the ramp p is 0.01, and not 1.
    let got = slope(&model, &[50.0, 8e5, 9e5, 0.5], &[200.0, 1e6]);
    same(&got[3..], &[(1.0 - 0.99_f64.powf(55.0) - 0.5) / 256.0 / 55e-6]);
    // R p / ((1-p)^(-T R) - 1) goes to p / (-T ln(1-p)) for R = 0: next to 1 / T.
    let got = slope(&model, &[50.0, 8e5, 9e5, 0.5], &[102.5, 0.0]);
    let by_timer = 0.005 / (-(0.995_f64.ln()) * 55e-6);
    same(&got[1..], &[0.5 * 1e5 * by_timer, 5000.0 * by_timer, -0.5 / 256.0 / 55e-6]);
    // Which is nothing where everything is marked.
    let got = slope(&model, &[50.0, 8e5, 9e5, 0.5], &[200.1, 0.0]);
    same(&got[1..], &[0.0, 0.0, -0.5 / 256.0 / 55e-6]);
}

/// Three sources: two send 4 Gb/s from the start, the third 8 Gb/s from 10 ms on; 5e5 and 1e6 frames a second.
#[test]
fn a_late_source_of_dcqcn_is_nothing_until_it_starts() {
    let start = r#"{"rates_bps": [4e9, 4e9, 8e9], "start_s": [0, 0, 0.01], "queue_bytes": 30e3, "alpha": 0.25}"#;
    let (model, mut state) = started::<Dcqcn>(r#"{"sources": 3}"#, Some(start));
    assert_eq!(state, [30.0, 5e5, 5e5, 0.25, 0.0, 0.0, 0.0]);
    assert_eq!(model.jumps(), [0.01]);
    let got = slope(&model, &state, &state);
    assert_eq!((got[0], &got[4..]), (2.0 * 5e5 - 5e6, &[0.0; 3][..]));
    // Bounds are not for it either; the others keep between 0 and the line rate, 5e6 / s.
    let wild = [-1.0, 6e6, 7e6, 0.25, 0.0, 0.0, 0.0];
    assert_eq!(projected(&model, &wild), [0.0, 5e6, 5e6, 0.25, 0.0, 0.0, 0.0]);
    let (floored, _) = started::<Dcqcn>(r#"{"sources": 3, "min_rate_bps": 8e6}"#, Some(start));
    assert_eq!(projected(&floored, &[1.0, 5.0, 6.0, 0.25, 0.0, 0.0, 0.0]), [1.0, 1e3, 1e3, 0.25, 0.0, 0.0, 0.0]);
    model.jump(0.005, &mut state);
    assert_eq!(state[4], 0.0);
    model.jump(0.01, &mut state);
    assert_eq!(state, [30.0, 5e5, 5e5, 0.25, 1e6, 1e6, 0.25]);
    // Means over the sources: (2 * 5e5 + 1e6) / 3 frames of 8000 bits.
    let p = (30.0 - 5.0) / 195.0 * 0.01;
    same(&row(&model, &state), &[30e3, 16e9, 16e9 / 3.0, 16e9 / 3.0, 0.25, p]);
}

/// From the equilibrium rates are the share, targets those of rest, and never below a rate that is asked for.
#[test]
fn dcqcn_starts_at_its_line_rate_or_at_rest() {
    let (_, state) = started::<Dcqcn>(r#"{"sources": 2}"#, None);
    assert_eq!(state, [0.0, 5e6, 5e6, 1.0]);
    let (model, rest) = started::<Dcqcn>(r#"{"sources": 2}"#, Some(r#"{"from": "equilibrium"}"#));
    assert!(slope(&model, &rest, &rest).iter().zip(&rest).all(|(slope, value)| slope.abs() < 1e-6 * value.max(1.0)));
    assert_eq!(rest[1], 2.5e6);
    // tau' R is 137.5 frames: alpha is 1 - (1 - 7.770e-4)^137.5.
    assert!(rest[2] > rest[1] && (rest[3] - 0.1013).abs() < 1e-4, "{rest:?}");
    let fast = r#"{"from": "equilibrium", "rates_bps": 39e9}"#;
    let (_, state) = started::<Dcqcn>(r#"{"sources": 2}"#, Some(fast));
    assert_eq!((state[0], state[1], state[2], state[3]), (rest[0], 4.875e6, 4.875e6, rest[3]));
    let slow = r#"{"from": "equilibrium", "rates_bps": 8e9}"#;
    let (_, state) = started::<Dcqcn>(r#"{"sources": 2}"#, Some(slow));
    assert_eq!((state[1], state[2]), (1e6, rest[2]));
    // A twentieth of the shorter of tau and T: 2.5 us of 50, 2 us of 40.
    assert_eq!(model.longest_step(), 0.05 * 50e-6);
    let (quick, _) = started::<Dcqcn>(r#"{"timer_s": 40e-6}"#, None);
    assert_eq!(quick.longest_step(), 0.05 * 40e-6);
}

#[test]
fn dcqcn_needs_a_line_that_fills_the_link() {
    let rest = initial::<Dcqcn>(Some(r#"{"from": "equilibrium"}"#));
    let of = |parameters: &str| Dcqcn::new(&values::<Dcqcn>(parameters), &rest).map(|_| ());
    let slow = of(r#"{"sources": 2, "line_rate_bps": 19.9e9}"#);
    assert!(matches!(slow, Err(FluidError::NoEquilibrium { model: "dcqcn", .. })), "{slow:?}");
    assert_eq!(of(r#"{"sources": 2, "line_rate_bps": 20e9}"#), Ok(()));
    assert_eq!(of(r#"{"sources": 2, "line_rate_bps": 19.9e9, "rate_cap": false}"#), Ok(()));
}

/// 10 Gb/s of frames of 1000 octets: C = 1.25e6 / s, C Tlow = 62.5, C Thigh = 625 frames, delta = 1250 / s, beta = 0.8, and
/// a segment of 64 frames: of a rate of 1e6 / s 64 us.
#[test]
fn the_slopes_of_timely_by_the_queue_that_it_sees() {
    let rise = |parameters: &str, queue: f64, gradient: f64| {
        let (model, _) = started::<Timely<false>>(parameters, None);
        slope(&model, &[100.0, 1e6, gradient], &[queue, 1e6, 0.0])[1] * 64e-6
    };
    // Below Tlow it grows, above Thigh it falls by 0.8 (1 - 625 / 1250), whatever the gradient.
    same(&[rise("{}", 62.4, 3.0), rise("{}", 1250.0, -3.0)], &[1250.0, -0.4 * 1e6]);
    // Between them, ends included, the gradient counts.
    for queue in [62.5, 300.0, 625.0] {
        same(&[rise("{}", queue, -0.1), rise("{}", queue, 0.0)], &[1250.0, 1250.0]);
        same(&[rise("{}", queue, 0.25)], &[-0.25 * 0.8 * 1e6]);
    }
    let strict = r#"{"strict_gradient": true}"#;
    assert_eq!(rise(strict, 300.0, 0.0), 0.0);
    same(&[rise(strict, 300.0, -0.1)], &[1250.0]);
}

/// The patched law with beta = 0.008 and q0 = 62.5: W = 2 g + 1/2 between 0 and 1, and (q - q0) / q0 = 1 at 125 frames. A
/// segment has 16 frames, 16 us at 1e6 / s, which is below Dmin = 20 us.
#[test]
fn the_slopes_of_patched_timely_by_the_gradient() {
    let (model, _) = started::<Timely<true>>("{}", None);
    let rise = |gradient: f64| slope(&model, &[100.0, 1e6, gradient], &[125.0, 1e6, 0.0])[1] * 20e-6;
    let law = |weight: f64| (1.0 - weight) * 1250.0 - weight * 0.008 * 1e6;
    same(
        &[rise(0.0), rise(0.1), rise(-0.1), rise(0.3), rise(-0.3)],
        &[law(0.5), law(0.7), law(0.3), law(1.0), law(0.0)],
    );
}

/// The queue was 125 and is seen as that, at both times, so the gradient decays by alpha / u = 0.875 / 64 us. Two sources of
/// one group and one of another, which has not started.
#[test]
fn gradients_and_the_queue_of_timely() {
    let start = r#"{"rates_bps": [5e9, 5e9, 2e9], "start_s": [0, 0, 0.02], "queue_bytes": 125e3, "gradient": -0.5}"#;
    let (model, mut state) = started::<Timely<false>>(r#"{"sources": 3}"#, Some(start));
    assert_eq!(state, [125.0, 6.25e5, -0.5, 0.0, 0.0]);
    let got = slope(&model, &state, &state);
    same(&got[..3], &[2.0 * 6.25e5 - 1.25e6, 1250.0 / 102.4e-6, 0.5 * 0.875 / 102.4e-6]);
    assert_eq!(got[3..], [0.0, 0.0]);
    model.jump(0.02, &mut state);
    assert_eq!((model.jumps(), state[3], state[4]), (vec![0.02], 2.5e5, 0.0));
    // Each source has a column; the gradient is the mean, (2 * -0.5 + 0) / 3.
    same(&row(&model, &state), &[125e3, 12e9, 5e9, 5e9, 2e9, -1.0 / 3.0]);
    let names: Vec<String> = model.columns().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["queue_bytes", "rate_bps", "rate_1_bps", "rate_2_bps", "rate_3_bps", "gradient"]);
    // At its bounds the queue does not go beyond; rates stay between 10 Mb/s and C.
    let empty = |queue: f64, rate: f64| slope(&model, &[queue, rate, 0.0, 0.0, 0.0], &state)[0];
    same(&[empty(50.0, 7e5), empty(50.0, 1e5)], &[1.5e5, -1.05e6]);
    assert_eq!((empty(0.0, 1e5), empty(0.0, 7e5), empty(1e4, 7e5), empty(1e4, 1e5)), (0.0, 1.5e5, 0.0, -1.05e6));
    let wild = [-1.0, 2e6, 0.0, 1.0, 0.0];
    assert_eq!(projected(&model, &wild), [0.0, 1.25e6, 0.0, 1250.0, 0.0]);
    assert_eq!(projected(&model, &[2e4, 1e5, 0.0, 0.0, 0.0]), [1e4, 1e5, 0.0, 0.0, 0.0]);
    assert_eq!(model.longest_step(), 0.05 * 20e-6);
}

/// A queue that grew: with a history of two steps the gradient follows (q(t-d) - q(t-d-u)) / (C Dmin).
#[test]
fn a_gradient_is_the_growth_over_a_segment() {
    let (model, _) = started::<Timely<false>>("{}", None);
    // d = 0 / C + 0.8 us and u = 64 us at 1e6 frames/s: at 100 us the queue is seen as of 99.2 and of 35.2 us.
    let mut history = History::new(&[0.0, 1e6, 0.0], 2);
    let (start, end) = ([0.0, 1e6, 0.0], [100.0, 1e6, 0.0]);
    let steady = [1e6, 0.0, 0.0];
    history.push((0.0, 100e-6), [&start, &steady, &end, &steady]);
    let state = [0.0, 1e6, 0.25];
    let mut got = [0.0; 3];
    model.slope(100e-6, &state, &history.view(100e-6, &state, 0.0), &mut got);
    // 64 frames more, of 25 in Dmin: 2.56.
    same(&[got[2] * 64e-6], &[0.875 * (2.56 - 0.25)]);
}

#[test]
fn timely_rests_between_its_thresholds() {
    // q0 (1 + N delta / (beta C)) = 62.5 (1 + N / 8): 625 frames, C Thigh, with 72 sources, and more with 73.
    let rest = Some(r#"{"from": "equilibrium"}"#);
    assert_eq!(started::<Timely<true>>(r#"{"sources": 72}"#, rest).1[0], 625.0);
    let parameters = r#"{"sources": 73}"#;
    let initial = initial::<Timely<true>>(rest);
    let model = Timely::<true>::new(&values::<Timely<true>>(parameters), &initial).expect("a model");
    assert!(matches!(model.start(&initial), Err(FluidError::NoEquilibrium { model: "timely_patched", .. })));
    // Strict TIMELY rests anywhere; half way is taken. It starts with its share.
    let (_, state) = started::<Timely<false>>(r#"{"strict_gradient": true, "sources": 4}"#, rest);
    assert_eq!(state, [343.75, 312_500.0, 0.0]);
    // A rate below the least is the least, 10 Mb/s.
    let slow = Some(r#"{"rates_bps": 1e6}"#);
    assert_eq!(started::<Timely<true>>("{}", slow).1, [0.0, 1250.0, 0.0]);
    let refused = Timely::<true>::new(&values::<Timely<true>>(r#"{"t_low_s": 500e-6}"#), &initial);
    assert!(matches!(refused, Err(FluidError::OutOfRange { .. })), "as long as t_high_s");
}

/// A million frames a second, four sources, a set point of 20 frames, w = 2, and a sample every 50 frames: p = 0.02. Gains
/// for a frame of feedback: 2 units of 625 octets, each Gi Ru = 0.5 * 100 frames/s, or Gd = 0.001 of the rate.
const ECM: &str = r#""sources": 4, "set_point_bytes": 25e3, "w": 2, "sample_bytes": 62500, "feedback_unit_bytes": 625,
    "gi": 0.5, "rate_unit_bps": 1e6, "gd": 0.001, "min_rate_bps": 1e7"#;

#[test]
fn the_slopes_of_ecm_on_both_sides_of_its_set_point() {
    let model = |more: &str| started::<Ecm>(&format!("{{{FRAME}, {ECM}{more}}}"), None).0;
    // 16 frames, and 10 000 too many a second: 2 * 10 000 / (1e6 * 0.02) = 1. Room for 20 - 16 - 1 = 3 frames.
    let got = slope(&model(""), &[30.0, 3e5], &[16.0, 252_500.0]);
    same(&got, &[2e5, 3.0 * 100.0 * 0.02 * 252_500.0]);
    // 26 frames: 7 too many, and each message takes 0.002 of the present rate for each of them.
    let got = slope(&model(""), &[30.0, 3e5], &[26.0, 252_500.0]);
    same(&got[1..], &[-7.0 * 0.002 * 3e5 * 0.02 * 252_500.0]);
    // By the second, not by the message.
    let got = slope(&model(r#", "per_message": false"#), &[30.0, 3e5], &[26.0, 252_500.0]);
    same(&got[1..], &[-7.0 * 0.002 * 3e5]);
    // Feedback ends at (1 + 2 w) 20 = 100 frames.
    let (far, free) = (&[500.0, 250_000.0], model(r#", "clip_feedback": false, "per_message": false"#));
    same(&slope(&model(r#", "per_message": false"#), &[30.0, 3e5], far)[1..], &[-100.0 * 0.002 * 3e5]);
    same(&slope(&free, &[30.0, 3e5], far)[1..], &[-480.0 * 0.002 * 3e5]);
    // With w = 1 at 60.
    let lighter = ECM.replace("\"w\": 2", "\"w\": 1");
    let lighter = started::<Ecm>(&format!("{{{FRAME}, {lighter}, \"per_message\": false}}"), None).0;
    same(&slope(&lighter, &[30.0, 3e5], far)[1..], &[-60.0 * 0.002 * 3e5]);
    let room = slope(&model(r#", "per_message": false"#), &[30.0, 3e5], &[0.0, 50_000.0]);
    // 20 + 2 * 800 000 / 20 000 = 100: full feedback of the other sign.
    same(&room[1..], &[100.0 * 100.0]);
}

#[test]
fn rows_and_bounds_of_ecm() {
    let (model, state) = started::<Ecm>(&format!("{{{FRAME}, {ECM}, \"buffer_bytes\": 125e3}}"), None);
    same(&state, &[20.0, 275_000.0]);
    same(&row(&model, &[16.0, 252_500.0]), &[20e3, 10.1e9, 2.525e9, 3.0 * 1250.0]);
    assert_eq!(projected(&model, &[120.0, 2e6]), [100.0, 1e6]);
    assert_eq!(projected(&model, &[-1.0, 0.0]), [0.0, 1e3]);
    // A tenth of 50 us between samples. By the second: C Gd = 2000 > N Gi Ru = 400 of feedback, times w / 20 000 / s is less.
    same(&[model.longest_step()], &[5e-6]);
    let (second, _) = started::<Ecm>(&format!("{{{FRAME}, {ECM}, \"per_message\": false}}"), None);
    same(&[second.longest_step()], &[5e-6]);
    // Nor is that of increases until a frame of room gains Gi Ru = 2e8 frames/s^2: N 2e8 * 2 / 20 000 = 80 000 / s.
    let steep = ECM.replace("\"gi\": 0.5", "\"gi\": 1e6");
    let (steep, _) = started::<Ecm>(&format!("{{{FRAME}, {steep}, \"per_message\": false}}"), None);
    same(&[steep.longest_step()], &[1.25e-6]);
    // The line rate bounds the start: 2.6 Gb/s are 260 000 / s; at rest it must fill the link.
    let of = |line: &str, start: Option<&str>| {
        let initial = initial::<Ecm>(start);
        let values = values::<Ecm>(&format!("{{{FRAME}, {ECM}, \"line_rate_bps\": {line}}}"));
        Ecm::new(&values, &initial).expect("a model").start(&initial)
    };
    same(&of("2.6e9", None).expect("a start"), &[20.0, 260_000.0]);
    let rest = Some(r#"{"from": "equilibrium"}"#);
    same(&of("2.5e9", rest).expect("a start"), &[20.0, 250_000.0]);
    assert!(matches!(of("2.4e9", rest), Err(FluidError::NoEquilibrium { model: "ecm", .. })));
    let short = Ecm::new(&values::<Ecm>(r#"{"sample_bytes": 1499}"#), &initial::<Ecm>(None));
    assert!(matches!(short, Err(FluidError::OutOfRange { .. })));
    assert!(Ecm::new(&values::<Ecm>(r#"{"sample_bytes": 1500}"#), &initial::<Ecm>(None)).is_ok());
}

/// A million frames a second, four sources, a set point of 20 frames, w = 2, a sample every 100 frames, and cycles of 100;
/// RAI = 500 frames/s. Full feedback is 5 * 20 = 100 frames, and takes half of the rate: Gd = 0.005 for a frame.
const QCN: &str = r#""sources": 4, "set_point_bytes": 25e3, "w": 2, "sampling": "fixed", "sampling_probability": 0.01,
    "cycle_bytes": 125e3, "fast_recovery_cycles": 5, "ai_rate_bps": 5e6"#;

fn qcn(more: &str) -> Qcn {
    started::<Qcn>(&format!("{{{FRAME}, {QCN}{more}}}"), None).0
}

/// A delay earlier the queue had 30 frames and 10 000 too many came a second: F = 10 + 2 * 10 000 / (1e6 * 0.01) = 12,
/// and 2525 messages a second reach a source, each of which cuts 0.06 of its 300 000 frames/s: 45.45e6 / s^2.
#[test]
fn the_slopes_of_qcn() {
    const KEPT: &str = r#", "first_cycle": "kept""#;
    let eta = 0.01 / (0.99_f64.powi(-100) - 1.0);
    let got = slope(&qcn(""), &[50.0, 3e5, 4e5, 0.0, 0.0], &[30.0, 252_500.0]);
    let rise = 0.5 * 1e5 * 252_500.0 * eta;
    let target = -1e5 * 2525.0 + 500.0 * 252_500.0 * 0.99_f64.powi(500) * eta;
    same(&got, &[2e5, rise - 45.45e6, target, 0.0, 0.0]);
    // A quarter of the sources is in its first cycle, and holds 20 000 of the gap.
    let got = slope(&qcn(KEPT), &[50.0, 3e5, 4e5, 2e4, 0.25], &[30.0, 252_500.0]);
    let rise = 0.5 * 252_500.0 * (2e4 / 100.0 + 8e4 * eta);
    let target = -8e4 * 2525.0 + 500.0 * 252_500.0 * 0.75 * 0.99_f64.powi(400) * eta;
    same(&got, &[2e5, rise - 45.45e6, target, 45.45e6 - 2e4 * 2525.0, 0.75 * 2525.0 - 0.25 * 2525.0]);
    // Room: no messages, and each cycle of 100 frames is an increase.
    let got = slope(&qcn(""), &[50.0, 3e5, 4e5, 0.0, 0.0], &[10.0, 250_000.0]);
    same(&got, &[2e5, 0.5 * 1e5 * 2500.0, 500.0 * 2500.0, 0.0, 0.0]);
    // Feedback as deep as the queue is short, where both signs are told: -10.
    let got = slope(&qcn(r#", "one_sided": false"#), &[50.0, 3e5, 3e5, 0.0, 0.0], &[10.0, 250_000.0]);
    same(&got[1..2], &[10.0 * 0.005 * 3e5 * 2500.0]);
}

/// What is heard at one moment is kept for the second look at it; without a delay each state is heard as it is.
#[test]
fn qcn_without_a_delay_hears_the_present() {
    let now = qcn(r#", "delay_s": 0"#);
    for queue in [30.0, 40.0] {
        let state = [queue, 250_000.0, 250_000.0, 0.0, 0.0];
        same(&slope(&now, &state, &state)[1..2], &[-(queue - 20.0) * 0.005 * 250_000.0 * 2500.0]);
    }
}

/// One step to a cycle of 100 frames, and all later cycles alike: at 300 000 frames/s a = 3000 / s. A quarter of the sources
/// is in its first cycle; of the gap these hold 20 000 and the others 80 000. The rise is
/// 3000 (2e4 + 8e4 + 500 * 0.75) / 2 = 150 562 500; feedback is that of `the_slopes_of_qcn`.
#[test]
fn the_slopes_of_qcn_with_remembered_cycles() {
    let one = QCN.replace(r#""fast_recovery_cycles": 5"#, r#""fast_recovery_cycles": 1"#);
    let kept = r#""first_cycle": "kept", "cycles": "remembered", "cycle_steps": 1"#;
    let parameters = format!("{{{FRAME}, {one}, {kept}}}");
    let (model, state) = started::<Qcn>(&parameters, Some(r#"{"current_rate_bps": 2e9, "target_rate_bps": 3e9}"#));
    let got = slope(&model, &[50.0, 3e5, 4e5, 0.25, 2e4, 8e4, 0.75], &[30.0, 252_500.0]);
    let (rise, cut, messages) = (150_562_500.0, 45.45e6, 2525.0);
    let (held, open) = (cut - 3000.0 * 2e4, rise - (3000.0 + messages) * 8e4);
    let entering = messages * 0.75 - 3000.0 * 0.25;
    same(&got, &[2e5, rise - cut, rise - cut + held + open, entering, held, open, -entering]);
    // At the start the counters hold the gap that is asked for, 100 000 frames/s, and so they do in bounds.
    same(&[state[1], state[2], state[4] + state[5]], &[2e5, 3e5, 1e5]);
    same(&projected(&model, &[50.0, 3e5, 9e5, 0.25, 2e4, 8e4, 0.75])[1..3], &[3e5, 4e5]);
    // A step of a cycle at line rate takes 100 us, longer than the third of 100 us between two samples; of five steps 20 us.
    same(&[model.longest_step()], &[100e-6 / 3.0]);
    let five = parameters.replace(r#""cycle_steps": 1"#, r#""cycle_steps": 5"#);
    same(&[started::<Qcn>(&five, None).0.longest_step()], &[20e-6]);
    // A thousand steps are the most.
    let most = parameters.replace(r#""cycle_steps": 1"#, r#""cycle_steps": 1000"#);
    assert_eq!(started::<Qcn>(&most, None).1.len(), 3 + 4 * 1000);
}

#[test]
fn starts_rows_and_bounds_of_qcn() {
    let start = |more: &str, initial: Option<&str>| started::<Qcn>(&format!("{{{FRAME}, {QCN}{more}}}"), initial).1;
    same(&start("", None), &[20.0, 275_000.0, 275_000.0, 0.0, 0.0]);
    same(&start(r#", "line_rate_bps": 2.6e9"#, None)[..3], &[20.0, 260_000.0, 260_000.0]);
    // At rest the line must fill the link: 2.5 Gb/s of each of the four just do.
    let rest = Some(r#"{"from": "equilibrium"}"#);
    same(&start(r#", "line_rate_bps": 2.5e9"#, rest)[1..2], &[250_000.0]);
    // 100 frames in a cycle, of which each is sampled with 0.01: half of the sources are in their first. They hold
    // h / (1 + h) of the gap with h = 100 eta, which is 0.99^100.
    let kept = r#", "first_cycle": "kept""#;
    let asked = Some(r#"{"queue_bytes": 37500, "current_rate_bps": 2e9, "target_rate_bps": 3e9}"#);
    same(&start(kept, asked), &[30.0, 2e5, 3e5, 1e5 * 0.99_f64.powi(100), 0.5]);
    same(&start("", Some(r#"{"current_rate_bps": 2e9}"#))[1..3], &[2e5, 2e5]);
    // Adaptive sampling starts with that of the set point.
    let adaptive = QCN.replace("fixed", "adaptive");
    let (model, state) = started::<Qcn>(&format!("{{{FRAME}, {adaptive}{kept}}}"), None);
    same(&state[4..], &[0.5]);
    // Twelve frames of feedback of a hundred: p = 0.01 + 0.09 * 0.12 = 0.0208, where 12 = 10 + 2 * 20 800 / (1e6 p).
    let row = row(&model, &[30.0, 255_200.0, 300_000.0, 0.0, 0.0]);
    same(&row, &[37_500.0, 10.208e9, 2.552e9, 3e9, -15_000.0, 0.0208]);
    same(&[model.longest_step(), qcn("").longest_step()], &[1.0 / 3e5, 1.0 / 3e4]);
    assert_eq!(projected(&qcn(""), &[-1.0, 2e6, 1e5, 0.0, 0.0]), [0.0, 1e6, 1e6, 0.0, 0.0]);
}

/// At rest nothing changes, whichever way cycles are counted; with adaptive sampling feedback sets the probability.
#[test]
fn qcn_rests_where_its_slopes_are_nothing() {
    let rest = Some(r#"{"from": "equilibrium"}"#);
    for sampling in ["fixed", "adaptive"] {
        for more in ["", r#", "first_cycle": "kept""#, r#", "first_cycle": "kept", "cycles": "remembered""#] {
            let parameters = format!("{{{FRAME}, {}{more}}}", QCN.replace("fixed", sampling));
            let (model, state) = started::<Qcn>(&parameters, rest);
            assert!(state[0] > 20.0 && state[1] == 250_000.0 && state[2] > state[1], "{state:?}");
            let got = slope(&model, &state, &state);
            let still = got.iter().zip(&state).all(|(slope, value)| slope.abs() <= 1e-6 * value.abs());
            assert!(still, "{sampling}{more}: {got:?} of {state:?}");
        }
    }
}

#[test]
fn steps_that_are_too_many_are_refused_and_as_many_as_allowed_are_not() {
    use crate::within;
    assert!(within("rows", 5.0, 5.0, "").is_ok());
    assert!(within("rows", 5.1, 5.0, "").is_err());
    assert!(within("rows", f64::NAN, 5.0, "").is_err());
}
