//! Hand-worked numbers.

use super::*;
use crate::testing::{FRAME, Fabric, LINE, dice, us};
use qcnlab_units::BitRate;

/// Without jitter; without increase, so that a climbing limiter never gets to the line rate.
const EXACT: FbHatRpParams = FbHatRpParams {
    limiter: qcn::QcnRpParams { jitter_width: 0.0, short_cycles: false, ai_rate: BitRate::ZERO, ..RP_DECK000.limiter },
    ..RP_DECK000
};

fn rp(params: FbHatRpParams) -> FbHatRp {
    FbHat::reaction_point(&params, LINE.into())
}

fn hear(rp: &mut FbHatRp, quantized_fb: u8) {
    let cnm = Cnm { cp: CpId(0), quantized_fb, q_offset: -9000, q_delta: 0 };
    rp.on_signal(us(0), &Signal::Cnm(cnm), &mut dice());
}

/// Frames to the end of the cycle.
fn cycle(rp: &mut FbHatRp) -> u32 {
    let stage = rp.limiter.byte_stage();
    let mut frames = 0;
    while rp.limiter.byte_stage() == stage {
        let _ = rp.on_sent(us(1), FRAME, FRAME, &mut dice());
        frames += 1;
        assert!(frames < 1000, "the cycle does not end");
    }
    frames
}

/// Full feedback: 63, then 47.25, 35.4, ..., each 3/4 of the one before. 63 (3/4)^8 = 6.307 is the first below 8:
/// 150 000 * 6.307 / 8 = 118 258 octets are 78.8 frames; then 59.1, 44.3, 33.3, and a quarter, 25, from there on.
#[test]
fn cycles_shrink_as_nothing_is_heard() {
    let mut rp = rp(EXACT);
    hear(&mut rp, 63);
    assert_eq!(rp.fb_hat, 63.0);
    let frames: Vec<u32> = (0..14).map(|_| cycle(&mut rp)).collect();
    assert_eq!(frames, [101, 101, 101, 101, 101, 101, 101, 101, 79, 60, 45, 34, 26, 26]);
}

/// A mean of 63 with a message of 3: 63 - 0.25 * 60 = 48; again: 36.75.
#[test]
fn each_message_moves_the_mean_by_a_quarter() {
    let mut rp = rp(EXACT);
    hear(&mut rp, 63);
    hear(&mut rp, 3);
    assert_eq!(rp.fb_hat, 48.0);
    hear(&mut rp, 3);
    assert_eq!(rp.fb_hat, 36.75);
}

/// After weak feedback a cycle is short from the start: 2 / 8 of 150 000 are 37 500, 25 frames.
#[test]
fn weak_feedback_means_short_cycles_at_once() {
    let mut rp = rp(EXACT);
    hear(&mut rp, 2);
    // The first cycle was counted out as the limiter was made, by the feedback that made it.
    assert_eq!((cycle(&mut rp), cycle(&mut rp)), (26, 26));
    hear(&mut rp, 63);
    // (2 * 0.75 * 0.75 + 0.25 * (63 - 1.125)) = 16.6: full length again.
    assert_eq!(cycle(&mut rp), 101);
}

/// 6: cycles of 6/8 of 150 000 octets, 75 frames, and end with the next. Once more 6 in that first cycle: it goes on, and
/// no silence is counted at its end, so the next is as long: 76. Then 6 * 3/4 = 4.5: 84 375 octets, 56.25 frames.
#[test]
fn a_message_in_the_first_cycle_is_heard_in_that_cycle() {
    let mut limited = rp(EXACT);
    hear(&mut limited, 6);
    assert_eq!([cycle(&mut limited), cycle(&mut limited)], [76, 57], "without another message");
    let mut limited = rp(EXACT);
    hear(&mut limited, 6);
    hear(&mut limited, 6);
    assert_eq!((limited.fb_hat, cycle(&mut limited), limited.fb_hat), (6.0, 76, 6.0));
    assert_eq!((cycle(&mut limited), limited.fb_hat), (76, 4.5));
    assert_eq!(cycle(&mut limited), 57);
}

/// 2 * 3/4 = 1.5 after one cycle; then 14: 1.5 + 12.5 / 4 = 4.625, and a new cycle of 86 718 octets, 57.8 frames. It has
/// no message of its own, so it ends in silence: 3.46875, 65 039 octets, 43.4 frames; 2.6015625: 48 779, 32.5 frames.
#[test]
fn a_message_in_a_later_cycle_starts_one_that_ends_in_silence() {
    let mut limited = rp(EXACT);
    hear(&mut limited, 2);
    let _ = cycle(&mut limited);
    hear(&mut limited, 14);
    assert_eq!((limited.limiter.byte_stage(), limited.fb_hat), (0, 4.625));
    assert_eq!((cycle(&mut limited), limited.fb_hat), (58, 3.46875));
    assert_eq!([cycle(&mut limited), cycle(&mut limited)], [44, 33]);
}

/// A reference of zero length is out of range; one that is tiny makes every cycle full: QCN with the byte counter.
#[test]
fn with_a_tiny_reference_it_is_qcn() {
    let plain = qcn::QcnRpParams {
        clock: qcn::Clock::ByteCounter,
        jitter_width: 0.0,
        short_cycles: false,
        ai_rate: BitRate::ZERO,
        ..qcn::RP_DECK000
    };
    let (mut hat, mut plain) =
        (rp(FbHatRpParams { reference: 1e-12, shortest: 1.0, ..EXACT }), qcn::QcnRp::new(plain, LINE));
    for step in 0..20_000 {
        if step % 3001 == 0 {
            let cnm = Signal::Cnm(Cnm { cp: CpId(0), quantized_fb: 20, q_offset: -9000, q_delta: 0 });
            hat.on_signal(us(step), &cnm, &mut dice());
            plain.on_signal(us(step), &cnm, &mut dice());
        }
        let _ = (hat.on_sent(us(step), FRAME, FRAME, &mut dice()), plain.on_sent(us(step), FRAME, FRAME, &mut dice()));
        assert_eq!(hat.gauge(), plain.gauge());
    }
}

/// Ten sources at 0.5 Gb/s, then 10 again: sooner back than with the byte counter alone.
#[test]
fn recovery_is_faster_than_with_cycles_of_one_length() {
    let recovery = |shortest| {
        let params = FbHatRpParams { shortest, ..RP_DECK000 };
        let mut fabric = Fabric::<FbHat>::new(10, &qcn::CP_DECK000, &params, LINE, 20);
        let _ = fabric.run(100);
        fabric.rate = BitRate::mbps(500);
        let _ = fabric.run(300);
        fabric.rate = LINE;
        (1..=2000).find(|_| fabric.run(1).total() > 9.5).expect("it recovers")
    };
    let (shrinking, plain) = (recovery(0.25), recovery(1.0));
    assert!(shrinking < plain, "{shrinking} ms with shrinking cycles, {plain} without");
}

/// Four messages of 63 leave 10 000 (1 - 63/128)^4 = 665, less than a tenth of the target of 10 000: an eighth, 1250.
#[test]
fn a_far_target_falls_at_the_end_of_the_first_cycle() {
    for (target_rate_reduction, target) in [(false, 10_000), (true, 1250)] {
        let mut rp =
            rp(FbHatRpParams { limiter: qcn::QcnRpParams { target_rate_reduction, ..EXACT.limiter }, ..EXACT });
        (0..4).for_each(|_| hear(&mut rp, 63));
        let _ = cycle(&mut rp);
        assert_eq!(rp.gauge().target_rate, BitRate::mbps(target));
    }
}
