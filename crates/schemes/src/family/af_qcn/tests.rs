//! Hand-worked numbers.

use super::*;
use crate::dice::Purpose;
use crate::roles::FlowId;
use qcnlab_units::BitRate;

fn us(n: u64) -> Instant {
    Instant::ZERO + Span::from_us(n)
}

/// Each measurement counts in full.
fn exact(weighted_flows: u32, weight: f64) -> Shares {
    Shares::new(Span::from_ms(1), 1.0, weighted_flows, weight)
}

/// Flow `i` sends `octets[i]` in the interval that ends before `at`; the interval is closed by a frame of flow 0.
fn measure(shares: &mut Shares, at: Instant, octets: &[u64]) {
    let inside = Instant::from_ps(at.ps() - 1);
    for (flow, octets) in octets.iter().enumerate() {
        shares.on_arrival(inside, FlowId(flow as u32), Bytes::new(*octets));
    }
    shares.on_arrival(at, FlowId(0), Bytes::ZERO);
}

/// What each of the first three flows is above its share, in thousandths.
fn excesses(shares: &Shares) -> [u32; 3] {
    [0, 1, 2].map(|flow| (1000.0 * shares.excess(FlowId(flow))).round() as u32)
}

#[test]
fn a_flow_is_held_against_an_equal_share() {
    let mut shares = exact(0, 1.0);
    assert_eq!(excesses(&shares), [0, 0, 0], "nothing is measured yet");
    // 60 + 30 + 30 = 120 KB, 40 each: 1 - 40/60 = 0.333; the others are below.
    measure(&mut shares, us(1000), &[60_000, 30_000, 30_000]);
    assert_eq!(excesses(&shares), [333, 0, 0]);
    // A flow that is gone has no share: 60 + 30 = 90, 45 each: 1 - 45/60 = 0.25.
    measure(&mut shares, us(2000), &[60_000, 30_000, 0]);
    assert_eq!(excesses(&shares), [250, 0, 0]);
}

#[test]
fn a_flow_of_twice_the_weight_has_twice_the_share() {
    // Weights 2, 1, 1 of 120 KB: 60, 30, 30.
    let mut shares = exact(1, 2.0);
    measure(&mut shares, us(1000), &[60_000, 30_000, 30_000]);
    assert_eq!(excesses(&shares), [0, 0, 0]);
    // 40 each of 120: shares 60, 30, 30, so 1 - 30/40 = 0.25 for the light ones.
    measure(&mut shares, us(2000), &[40_000, 40_000, 40_000]);
    assert_eq!(excesses(&shares), [0, 250, 250]);
}

#[test]
fn rates_are_averages_and_silence_counts() {
    let mut shares = Shares::new(Span::from_ms(1), 0.25, 0, 1.0);
    // A quarter of 80 and 40: 20 and 10, 15 each: 1 - 15/20 = 0.25.
    measure(&mut shares, us(1000), &[80_000, 40_000]);
    assert_eq!(excesses(&shares), [250, 0, 0]);
    // 20 * 0.75 + 0 = 15 and 10 * 0.75 + 20 = 27.5: mean 21.25, 1 - 21.25/27.5 = 0.227.
    measure(&mut shares, us(2000), &[0, 80_000]);
    assert_eq!(excesses(&shares), [0, 227, 0]);
    // From 2 ms to 5.5 ms nothing comes: three intervals of zero leave the proportions as they are.
    shares.on_arrival(us(5500), FlowId(0), Bytes::ZERO);
    assert_eq!(excesses(&shares), [0, 227, 0]);
    // After a hundred more both are gone.
    shares.on_arrival(us(105_500), FlowId(0), Bytes::ZERO);
    assert_eq!(excesses(&shares), [0, 0, 0]);
}

fn frame(flow: u32) -> Arrival {
    Arrival {
        flow: FlowId(flow),
        size: Bytes::new(1500),
        admitted: true,
        controlled: true,
        cn_tagged: true,
        limited_by: None,
        probe: false,
        mark: 0,
    }
}

/// Two thirds of what arrives are flow 0's; then the first sample, of a frame of `flow`, with `len` octets queued.
fn feedback(params: AfQcnCpParams, flow: u32, len: u64) -> Option<u8> {
    let mut cp = AfQcn::congestion_point(&AfQcnCpParams { measure_gain: 1.0, ..params }, CpId(0));
    let mut dice = Dice::new(1, 0, "test", Purpose::Sampling);
    let queue = Queue { len: Bytes::new(len), capacity: Bytes::new(150_000), rate: BitRate::gbps(10) };
    // 99 frames in the first millisecond and one after it; the 101st is the sample.
    for n in 0..99 {
        let _ = cp.on_arrival(us(n), &frame(u32::from(n % 3 == 0)), queue, &mut dice);
    }
    let _ = cp.on_arrival(us(1000), &frame(0), queue, &mut dice);
    match cp.on_arrival(us(1001), &frame(flow), queue, &mut dice) {
        CpAction::Send(Signal::Cnm(cnm)) => Some(cnm.quantized_fb),
        CpAction::Nothing => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn feedback_is_a_mean_of_congestion_and_excess() {
    // 60 000 after 0: -(27 000 + 120 000) * 63 / 165 000 = -56.1: 56. Flow 0 sends 66 of 99 frames, its share
    // is 49.5: excess 0.25 of 63 = 15.75. (56 + 15.75) / 2 = 35.9, and (56 + 0) / 2 = 28 for the other.
    assert_eq!(feedback(CP_DECK001, 0, 60_000), Some(36));
    assert_eq!(feedback(CP_DECK001, 1, 60_000), Some(28));
    // Alpha 0 is QCN; alpha 1 tells only who is above its share.
    assert_eq!(feedback(AfQcnCpParams { alpha: 0.0, ..CP_DECK001 }, 1, 60_000), Some(56));
    assert_eq!(feedback(AfQcnCpParams { alpha: 1.0, ..CP_DECK001 }, 0, 60_000), Some(16));
    assert_eq!(feedback(AfQcnCpParams { alpha: 1.0, ..CP_DECK001 }, 1, 60_000), None);
}

#[test]
fn a_port_without_congestion_is_silent() {
    // 10 000 after 0: -(-23 000 + 20 000) = +3000: room, however unfair the flow is.
    assert_eq!(feedback(CP_DECK001, 0, 10_000), None);
}

/// What arrives counts, whether the queue takes it or not: flow 0 sends two frames of three, all of them discarded, and
/// is above its share as if they had been taken. Frames outside congestion control have no share.
#[test]
fn discarded_frames_count_as_arrived() {
    let params = AfQcnCpParams { measure_gain: 1.0, alpha: 1.0, ..CP_DECK001 };
    let excess = |admitted: bool, controlled: bool| {
        let mut cp = AfQcn::congestion_point(&params, CpId(0));
        let mut dice = Dice::new(1, 0, "test", Purpose::Sampling);
        let queue = Queue { len: Bytes::new(150_000), capacity: Bytes::new(150_000), rate: BitRate::gbps(10) };
        for n in 0..99 {
            let frame = if n % 3 == 0 { frame(1) } else { Arrival { admitted, controlled, ..frame(0) } };
            let _ = cp.on_arrival(us(n), &frame, queue, &mut dice);
        }
        let _ = cp.on_arrival(us(1000), &frame(1), queue, &mut dice);
        cp.shares.excess(FlowId(0))
    };
    // 66 of 99 frames, and a share of 49.5: 0.25 above.
    assert_eq!([excess(true, true), excess(false, true), excess(true, false)], [0.25, 0.25, 0.0]);
}

/// Rounding is to the nearest: (1 - 0.1) 56 + 0.1 * 15.75 = 51.975 is 52.
#[test]
fn mixed_feedback_is_rounded_to_the_nearest() {
    assert_eq!(feedback(AfQcnCpParams { alpha: 0.1, ..CP_DECK001 }, 0, 60_000), Some(52));
}
