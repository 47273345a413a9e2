//! Hand-worked numbers. Rates in Mb/s where a comment gives none.

use super::*;
use crate::testing::{Fabric, LINE, delivered, dice, frame, ms, queue, us};
use qcnlab_units::BitRate;

/// Sends frames until one is sampled.
fn sample(cp: &mut ThreePointCp, len: u64) -> CpAction {
    for _ in 0..1000 {
        let due = cp.sampler.clone().takes(&frame(), false);
        let action = cp.on_arrival(us(0), &frame(), queue(len), &mut dice());
        if due {
            return action;
        }
        assert_eq!(action, CpAction::Nothing);
    }
    panic!("nothing was sampled");
}

fn rp() -> ThreePointRp {
    ThreePoint::reaction_point(
        &ThreePointRpParams { limiter: qcn::QcnRpParams { jitter_width: 0.0, ..RP_DECK001.limiter }, ..RP_DECK001 },
        LINE.into(),
    )
}

fn reflect(rp: &mut ThreePointRp, fb: i16) -> u64 {
    rp.on_signal(ms(0), &Signal::Reflection(fb), &mut dice());
    rp.gauge().current_rate.get() / 1000
}

/// Full scale 165 000 is 63. 60 000 after 0: -147 000, 56. An empty queue after it: 33 000 + 120 000, +58.
#[test]
fn a_port_writes_feedback_of_either_sign() {
    let mut cp = ThreePoint::congestion_point(&CP_DECK001, CpId(0));
    assert_eq!(sample(&mut cp, 60_000), CpAction::Mark(64 + 56));
    assert_eq!(sample(&mut cp, 0), CpAction::Mark(64 - 58));
    assert_eq!(sample(&mut cp, 150_000), CpAction::Mark(127));
}

#[test]
fn the_worse_feedback_of_a_path_stays() {
    let mut cp = ThreePoint::congestion_point(&CP_DECK001, CpId(0));
    let _ = sample(&mut cp, 43_000);
    // Not a sample here, but marked before: -10 000 is 3 (3.8), 67, without a change of what is remembered.
    for (mark, action) in [(20, CpAction::Mark(67)), (67, CpAction::Nothing), (90, CpAction::Nothing)] {
        let marked = Arrival { mark, ..frame() };
        assert_eq!(cp.on_arrival(us(0), &marked, queue(43_000), &mut dice()), action, "marked {mark}");
    }
    let lost = Arrival { mark: 20, admitted: false, ..frame() };
    assert_eq!(cp.on_arrival(us(0), &lost, queue(43_000), &mut dice()), CpAction::Nothing);
}

#[test]
fn a_destination_reflects_marks() {
    for (mark, reflected) in [(0, None), (127, Some(-63)), (64, Some(0)), (1, Some(63))] {
        assert_eq!(ThreePointNp.on_frame(us(0), &delivered(mark)), reflected.map(Signal::Reflection));
    }
}

/// 10 000 (1 - 32/128) = 7500. The third good news: target 10 050, (7500 + 10 050) / 2 = 8775; then + 100: 9462.5.
#[test]
fn good_news_in_a_row_raises_and_bad_news_cuts() {
    let mut rp = rp();
    assert_eq!(reflect(&mut rp, 40), 10_000_000, "good news installs no limiter");
    assert_eq!(reflect(&mut rp, -32), 7_500_000);
    let after: Vec<u64> = [5, 63, 1, 9].map(|fb| reflect(&mut rp, fb)).to_vec();
    assert_eq!(after, [7_500_000, 7_500_000, 8_775_000, 9_462_500]);
    // No news is not good news: the row starts again.
    assert_eq!(reflect(&mut rp, 0), 9_462_500);
    assert_eq!([3, 3].map(|fb| reflect(&mut rp, fb)), [9_462_500, 9_462_500]);
    // 9462.5 * (1 - 16/128) = 8279.6875.
    assert_eq!(reflect(&mut rp, -16), 8_279_687);
}

/// Whoever reflects bad news stood above the set point: 10 000 (1 - 32/128) = 7500 for a limiter that asks for it too.
#[test]
fn bad_news_comes_from_a_queue_above_the_set_point() {
    let limiter = qcn::QcnRpParams { creation: qcn::Creation::Congested, ..RP_DECK001.limiter };
    let mut rp = ThreePoint::reaction_point(&ThreePointRpParams { limiter, ..RP_DECK001 }, LINE.into());
    assert_eq!(reflect(&mut rp, -32), 7_500_000);
}

#[test]
fn good_news_may_be_ignored() {
    let mut rp = ThreePoint::reaction_point(&ThreePointRpParams { good_news: 0, ..RP_DECK001 }, LINE.into());
    let cut = reflect(&mut rp, -32);
    assert!((0..50).all(|_| reflect(&mut rp, 63) == cut));
}

/// Two sources at 0.5 Gb/s, then 10 again: good news brings the rate back in a fraction of the time.
#[test]
fn good_news_speeds_recovery() {
    let recovery = |good_news| {
        let params = ThreePointRpParams { good_news, ..RP_DECK001 };
        let mut fabric = Fabric::<ThreePoint>::new(2, &CP_DECK001, &params, LINE, 5);
        let _ = fabric.run(100);
        fabric.rate = BitRate::mbps(500);
        let _ = fabric.run(200);
        let drops = fabric.drops;
        let seen = fabric.run(200);
        assert!(seen.total() > 0.49 && fabric.drops == drops, "{seen:?}");
        fabric.rate = LINE;
        (1..=500).find(|_| fabric.run(1).total() > 9.5).expect("it recovers")
    };
    let (with, without) = (recovery(3), recovery(0));
    assert!(with * 2 < without, "{with} ms with good news, {without} without");
}

/// Two frames that are no samples here see the same growth: 53 000 after 43 000 is -20 000 - 2 * 10 000, 15.3 levels.
#[test]
fn frames_that_are_no_samples_are_not_remembered() {
    let mut cp = ThreePoint::congestion_point(&CP_DECK001, CpId(0));
    let _ = sample(&mut cp, 43_000);
    let marked = Arrival { mark: 20, ..frame() };
    for _ in 0..2 {
        assert_eq!(cp.on_arrival(us(0), &marked, queue(53_000), &mut dice()), CpAction::Mark(64 + 15));
    }
}
