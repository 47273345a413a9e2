//! Hand-worked numbers. Rates in Mb/s where a comment gives none.

use super::cp::QcnCp;
use super::params::*;
use super::rp::{Phase, QcnLimiter, QcnRp, QcnState};
use crate::parts::drift::DriftParams;
use crate::parts::feedback::Quantizer;
use crate::parts::rates::{CutParams, Rates};
use crate::parts::stages::{HaiStep, StageTest};
use crate::roles::{Arrival, Cnm, CongestionPoint, CpAction, CpId, ReactionPoint, Signal};
use crate::testing::{FRAME, LINE, dice, frame, ms, queue, us};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

fn cnm(quantized_fb: u8) -> Signal {
    Signal::Cnm(Cnm { cp: CpId(0), quantized_fb, q_offset: -10_000, q_delta: 0 })
}

/// Without jitter, so that cycles have their nominal length.
const EXACT: QcnRpParams = QcnRpParams { jitter_width: 0.0, ..RP_DECK001 };

fn rp(params: QcnRpParams) -> QcnRp {
    QcnRp::new(params, LINE)
}

fn limiter(rp: &QcnRp) -> &QcnLimiter {
    match &rp.state {
        QcnState::Limiting(limiter) => limiter,
        QcnState::Free => panic!("it does not limit"),
    }
}

/// Sends frames until `events` byte-counter cycles have ended.
fn send_cycles(rp: &mut QcnRp, events: u32) {
    let wanted = limiter(rp).byte_stage + events;
    while limiter(rp).byte_stage < wanted {
        let _ = rp.on_sent(ms(1), FRAME, FRAME, &mut dice());
    }
}

/// Feedback for queue length `q` after `q_old`, of six bits.
fn feedback(params: QcnCpParams, q: i64, q_old: i64) -> u8 {
    QcnCp::new(params, CpId(0)).quantized_fb(params.set_point.signed() - q, q - q_old)
}

/// Deck 001: 150 000 octets a byte-counter cycle, 15 ms a timer cycle.
#[test]
fn the_lengths_of_cycles_are_the_presets_until_they_are_set() {
    let mut rp = rp(EXACT);
    assert_eq!((rp.byte_reset(), rp.time_reset()), (Bytes::new(150_000), Span::from_ms(15)));
    rp.set_byte_reset(Bytes::new(300_000));
    rp.set_time_reset(Span::from_ms(30));
    assert_eq!((rp.byte_reset(), rp.time_reset()), (Bytes::new(300_000), Span::from_ms(30)));
}

/// Set point 33 000, w 2: full scale is 33 000 * 5 = 165 000, one level 165 000 / 63 = 2619 octets.
#[test]
fn quantized_feedback() {
    let table = [
        // q, q_old, expected: -Fb * 63 / 165 000, rounded down
        (33_000, 33_000, 0),  // Fb = 0
        (33_000, 50_000, 0),  // Fb = +34 000: room
        (34_500, 33_000, 1),  // 1500 + 2 * 1500 = 4500: 1.718
        (35_618, 33_000, 2),  // 2618 + 5236 = 7854: 2.9988
        (40_000, 33_000, 8),  // 7000 + 14 000 = 21 000: 8.018
        (60_000, 30_000, 33), // 27 000 + 60 000 = 87 000: 33.2
        (66_000, 33_000, 37), // 33 000 + 66 000 = 99 000: 37.8
        (66_000, 66_000, 12), // 33 000: 12.6
        (99_000, 33_000, 63), // 66 000 + 132 000 = 198 000: clamped
        (150_000, 0, 63),
    ];
    for (q, q_old, expected) in table {
        assert_eq!(feedback(CP_DECK001, q, q_old), expected, "q {q} after {q_old}");
    }
}

#[test]
fn other_quantizers() {
    let rounded = QcnCpParams { quantizer: Quantizer::Round, ..CP_DECK001 };
    assert_eq!(feedback(rounded, 66_000, 33_000), 38);
    // 165 000 needs 18 bits; the upper six of 18 have levels of 4096 octets and end at 40.
    let msb = QcnCpParams { quantizer: Quantizer::MostSignificantBits, ..CP_DECK001 };
    assert_eq!(feedback(msb, 150_000, 0), 40);
    assert_eq!(feedback(msb, 37_000, 37_000), 0);
    assert_eq!(feedback(msb, 37_096, 37_096), 1);
    let eight = QcnCpParams { fb_bits: 8, ..CP_DECK001 };
    assert_eq!(feedback(eight, 150_000, 0), 255);
}

fn arrival(admitted: bool) -> Arrival {
    Arrival { admitted, cn_tagged: false, ..frame() }
}

fn sample(cp: &mut QcnCp, len: u64, frame: &Arrival) -> CpAction {
    let (queue, mut rolls) = (queue(len), dice());
    for _ in 0..1000 {
        let mut before = cp.sampler.clone();
        let action = cp.on_arrival(ms(0), frame, queue, &mut rolls);
        if before.takes(frame, cp.params.count_discarded) {
            return action;
        }
        assert_eq!(action, CpAction::Nothing);
    }
    CpAction::Nothing
}

#[test]
fn a_sample_carries_offset_and_growth_and_is_remembered() {
    let mut cp = QcnCp::new(CP_DECK001, CpId(7));
    // Fb = -(27 000 + 2 * 60 000) = -147 000: 56.1 levels.
    let first = Cnm { cp: CpId(7), quantized_fb: 56, q_offset: -27_000, q_delta: 60_000 };
    assert_eq!(sample(&mut cp, 60_000, &arrival(true)), CpAction::Send(Signal::Cnm(first)));
    // Fb = -27 000, no growth: 10.3 levels.
    let second = Cnm { quantized_fb: 10, q_delta: 0, ..first };
    assert_eq!(sample(&mut cp, 60_000, &arrival(true)), CpAction::Send(Signal::Cnm(second)));
    // Room: nothing is sent, and still the length is remembered.
    assert_eq!(sample(&mut cp, 10_000, &arrival(true)), CpAction::Nothing);
    assert_eq!(cp.sampler.last_len(), 10_000);
}

#[test]
fn readings_of_the_sample() {
    let without = QcnCpParams { count_arriving: false, ..CP_DECK001 };
    let mut cp = QcnCp::new(without, CpId(0));
    let _ = sample(&mut cp, 60_000, &arrival(true));
    assert_eq!(cp.sampler.last_len(), 58_500);

    let mut cp = QcnCp::new(CP_DECK001, CpId(0));
    assert_eq!(sample(&mut cp, 150_000, &arrival(false)), CpAction::Nothing, "discarded frames do not count");
    let counting = QcnCpParams { count_discarded: true, ..CP_DECK001 };
    assert_ne!(sample(&mut QcnCp::new(counting, CpId(0)), 150_000, &arrival(false)), CpAction::Nothing);

    let tagged_only = QcnCpParams { notify_untagged: false, ..CP_DECK001 };
    assert_eq!(sample(&mut QcnCp::new(tagged_only, CpId(0)), 60_000, &arrival(true)), CpAction::Nothing);
    let tagged = Arrival { cn_tagged: true, ..arrival(true) };
    assert_ne!(sample(&mut QcnCp::new(tagged_only, CpId(0)), 60_000, &tagged), CpAction::Nothing);
}

/// A full queue of 150 KB discards frames. Offset: 33 000 - 150 000 = -117 000, the discarded frame not counted. Growth
/// from 120 000: 30 000. Fb = 117 000 + 2 * 30 000 = 177 000, beyond full scale: 63. At the next sample the growth is 0:
/// 117 000 * 63 / 165 000 = 44.67. After 63 the interval is 18.5 KB, 12 frames of 1500 octets and the one that is sampled.
#[test]
fn a_discarded_frame_is_sampled_as_others_are() {
    let counting = QcnCpParams { count_discarded: true, jitter_width: 0.0, ..CP_DECK001 };
    let mut cp = QcnCp::new(counting, CpId(0));
    assert_ne!(sample(&mut cp, 120_000, &arrival(true)), CpAction::Nothing);
    let told: Vec<CpAction> =
        (0..26).map(|_| cp.on_arrival(ms(0), &arrival(false), queue(150_000), &mut dice())).collect();
    let cnm = |quantized_fb, q_delta| Cnm { cp: CpId(0), quantized_fb, q_offset: -117_000, q_delta };
    let samples = [(12, cnm(63, 30_000)), (25, cnm(44, 0))];
    for (frame, action) in told.iter().enumerate() {
        let sampled = samples.iter().find(|(at, _)| *at == frame);
        assert_eq!(*action, sampled.map_or(CpAction::Nothing, |(_, cnm)| CpAction::Send(Signal::Cnm(*cnm))), "{frame}");
    }
}

/// Full feedback at 10 Gb/s: 10 000 * (1 - 63/128) = 5078.125; then half the way to 10 000 each cycle.
#[test]
fn fast_recovery_after_full_feedback() {
    let mut rp = rp(EXACT);
    rp.on_signal(ms(0), &cnm(63), &mut dice());
    let mut seen = vec![limiter(&rp).rates.current.get()];
    for _ in 0..5 {
        send_cycles(&mut rp, 1);
        seen.push(limiter(&rp).rates.current.get());
    }
    // 5078.125, 7539.0625, 8769.53125, 9384.765625, 9692.3828125, 9846.19140625
    let expected = [5_078_125_000, 7_539_062_500, 8_769_531_250, 9_384_765_625, 9_692_382_812, 9_846_191_406];
    assert_eq!(seen, expected);
    assert_eq!(limiter(&rp).rates.target, LINE);
}

#[test]
fn messages_in_the_first_cycle_leave_the_target_alone() {
    let mut rp = rp(EXACT);
    rp.on_signal(ms(0), &cnm(32), &mut dice());
    // 10 000 * 0.75 = 7500, again * 0.75 = 5625: the target stays at the rate before the first cut.
    rp.on_signal(ms(1), &cnm(32), &mut dice());
    assert_eq!((limiter(&rp).rates.current, limiter(&rp).rates.target), (BitRate::mbps(5625), LINE));
    // One cycle: half way to 10 000 is 7812.5. A message now sets the target to that.
    send_cycles(&mut rp, 1);
    rp.on_signal(ms(2), &cnm(32), &mut dice());
    assert_eq!(limiter(&rp).rates.target, BitRate::bps(7_812_500_000));
    assert_eq!(limiter(&rp).rates.current, BitRate::bps(5_859_375_000));
}

#[test]
fn a_timer_cycle_alone_counts_only_if_told() {
    for (clamp_on_time, target) in [(false, LINE), (true, BitRate::mbps(8750))] {
        let mut rp = rp(QcnRpParams { clamp_on_time, ..EXACT });
        rp.on_signal(ms(0), &cnm(32), &mut dice());
        // At 15 ms the timer ends a cycle: (7500 + 10 000) / 2 = 8750.
        rp.on_wake(ms(15), &mut dice());
        rp.on_signal(ms(16), &cnm(32), &mut dice());
        assert_eq!(limiter(&rp).rates.target, target);
    }
}

/// Both counters run: the timer ends cycles at 15, 30, 45, 60, 75 ms and then every 7.5 ms.
#[test]
fn the_timer_shortens_after_five_cycles_and_a_message_restarts_it() {
    let mut rp = rp(EXACT);
    rp.on_signal(ms(0), &cnm(63), &mut dice());
    let mut wakes = Vec::new();
    for _ in 0..7 {
        let at = rp.next_wake();
        wakes.push(at.since(Instant::ZERO));
        rp.on_wake(at, &mut dice());
    }
    let quarter_ms = |n: u64| Span::from_us(250 * n);
    assert_eq!(wakes, [60, 120, 180, 240, 300, 330, 360].map(quarter_ms));
    // It still limits, and would wake at 97.5 ms. From 95 ms on a cycle has 15 ms again.
    assert!(limiter(&rp).rates.current < LINE);
    assert_eq!((rp.next_wake(), limiter(&rp).time_stage), (us(97_500), 7));
    rp.on_signal(ms(95), &cnm(1), &mut dice());
    assert_eq!((rp.next_wake(), limiter(&rp).time_stage), (ms(110), 0));
}

/// A message at 0, a timer cycle that ends at 15 ms, a message at 20 ms: the next end is at 35, or at 30 as it was.
#[test]
fn a_message_leaves_the_timer_running_only_if_told() {
    let expected =
        [(TimerOnCnm::Restarted, ms(35), 0), (TimerOnCnm::RunsOn, ms(30), 0), (TimerOnCnm::Untouched, ms(30), 1)];
    for (timer_on_cnm, end, stage) in expected {
        let mut rp = rp(QcnRpParams { timer_on_cnm, ..EXACT });
        rp.on_signal(ms(0), &cnm(32), &mut dice());
        rp.on_wake(ms(15), &mut dice());
        rp.on_signal(ms(20), &cnm(32), &mut dice());
        assert_eq!((rp.time_end(), limiter(&rp).time_stage), (end, stage), "{timer_on_cnm:?}");
    }
}

#[test]
fn phases_follow_the_two_stages() {
    let phase = |byte_stage, time_stage, stage_test| {
        let mut rp = rp(EXACT);
        rp.on_signal(ms(0), &cnm(1), &mut dice());
        let mut limiter = limiter(&rp).clone();
        (limiter.byte_stage, limiter.time_stage) = (byte_stage, time_stage);
        limiter.phase(&QcnRpParams { stage_test, ..EXACT })
    };
    use Phase::{ActiveIncrease, FastRecovery, HyperActiveIncrease};
    // F = 5: stage 5 is the last of fast recovery.
    assert_eq!(phase(5, 5, StageTest::Above), FastRecovery);
    assert_eq!(phase(6, 5, StageTest::Above), ActiveIncrease);
    assert_eq!(phase(0, 6, StageTest::Above), ActiveIncrease);
    assert_eq!(phase(6, 6, StageTest::Above), HyperActiveIncrease(1));
    assert_eq!(phase(9, 7, StageTest::Above), HyperActiveIncrease(2));
    // Read the other way, stage 5 is already past it.
    assert_eq!(phase(4, 4, StageTest::Reached), FastRecovery);
    assert_eq!(phase(5, 4, StageTest::Reached), ActiveIncrease);
    assert_eq!(phase(5, 5, StageTest::Reached), HyperActiveIncrease(1));
}

#[test]
fn increases_of_the_target() {
    let after_increase = |byte_stage, time_stage, params: &QcnRpParams| {
        let mut rp = rp(*params);
        rp.on_signal(ms(0), &cnm(63), &mut dice());
        let QcnState::Limiting(limiter) = &mut rp.state else { panic!("it limits") };
        (limiter.byte_stage, limiter.time_stage) = (byte_stage, time_stage);
        (limiter.rates.current, limiter.rates.target) = (BitRate::mbps(1000), BitRate::mbps(2000));
        limiter.increase(params, LINE);
        (limiter.rates.current, limiter.rates.target)
    };
    // Fast recovery: the target stays, the current rate is (1000 + 2000) / 2.
    assert_eq!(after_increase(3, 3, &EXACT), (BitRate::mbps(1500), BitRate::mbps(2000)));
    // Active increase: 2000 + 5, then (1000 + 2005) / 2 = 1502.5.
    assert_eq!(after_increase(6, 3, &EXACT), (BitRate::bps(1_502_500_000), BitRate::mbps(2005)));
    // Hyper-active increase, third event: 2000 + 3 * 50, then (1000 + 2150) / 2 = 1575.
    assert_eq!(after_increase(8, 9, &EXACT), (BitRate::mbps(1575), BitRate::mbps(2150)));
    let constant = QcnRpParams { hai_step: HaiStep::Constant, ..EXACT };
    assert_eq!(after_increase(8, 9, &constant), (BitRate::mbps(1525), BitRate::mbps(2050)));
}

#[test]
fn the_target_may_pass_the_line_rate_but_the_current_rate_never_does() {
    // Uncapped (9900 + 10 950) / 2 = 10 425, kept to 10 000; capped (9900 + 10 000) / 2 = 9950.
    for (target_cap, current, target) in
        [(TargetCap::None, LINE, BitRate::mbps(10_950)), (TargetCap::LineRate, BitRate::mbps(9950), LINE)]
    {
        let params = QcnRpParams { target_cap, ..EXACT };
        let mut rp = rp(params);
        rp.on_signal(ms(0), &cnm(1), &mut dice());
        let QcnState::Limiting(limiter) = &mut rp.state else { panic!("it limits") };
        (limiter.byte_stage, limiter.time_stage) = (8, 8);
        (limiter.rates.current, limiter.rates.target) = (BitRate::mbps(9900), BitRate::mbps(10_800));
        // 10 800 + 3 * 50 = 10 950.
        limiter.increase(&params, LINE);
        assert_eq!((limiter.rates.current, limiter.rates.target), (current, target));
    }
}

/// Deck 000: current 500, target 10 000 > 10 * 500: target / 8 = 1250, current (500 + 1250) / 2 = 875.
#[test]
fn target_rate_reduction() {
    for (on, expected) in [(true, (875, 1250)), (false, (5250, 10_000))] {
        let params = QcnRpParams { target_rate_reduction: on, ..EXACT };
        let mut rp = rp(params);
        rp.on_signal(ms(0), &cnm(1), &mut dice());
        let QcnState::Limiting(limiter) = &mut rp.state else { panic!("it limits") };
        (limiter.rates.current, limiter.rates.target) = (BitRate::mbps(500), LINE);
        limiter.byte_stage = 1;
        limiter.increase(&params, LINE);
        assert_eq!(
            (limiter.rates.current, limiter.rates.target),
            (BitRate::mbps(expected.0), BitRate::mbps(expected.1))
        );
        // Exactly ten times is not more than ten times; the second cycle never reduces.
        (limiter.rates.current, limiter.rates.target) = (BitRate::mbps(1000), LINE);
        limiter.increase(&params, LINE);
        assert_eq!(limiter.rates.target, LINE);
        limiter.byte_stage = 2;
        limiter.rates.current = BitRate::mbps(500);
        limiter.increase(&params, LINE);
        assert_eq!(limiter.rates.target, LINE);
    }
}

/// The first event of each clock reduces, not the first event alone: from 10 000, far above 100, to 1250 at the end of
/// the first byte-counter cycle and to 156.25 at the end of the first timer cycle, whichever came before.
#[test]
fn target_rate_reduction_at_the_first_event_of_each_clock() {
    for stages in [[(1, 0), (1, 1)], [(0, 1), (1, 1)], [(4, 1), (1, 3)]] {
        let params = QcnRpParams { target_rate_reduction: true, ..EXACT };
        let mut rp = rp(params);
        rp.on_signal(ms(0), &cnm(1), &mut dice());
        let QcnState::Limiting(limiter) = &mut rp.state else { panic!("it limits") };
        limiter.rates.target = LINE;
        for ((byte_stage, time_stage), target) in stages.into_iter().zip([1_250_000_000, 156_250_000]) {
            limiter.rates.current = BitRate::mbps(100);
            (limiter.byte_stage, limiter.time_stage) = (byte_stage, time_stage);
            limiter.increase(&params, LINE);
            assert_eq!(limiter.rates.target.get(), target, "stages {byte_stage} and {time_stage}");
            limiter.rates.target = limiter.rates.target.max(BitRate::mbps(1250));
        }
    }
}

#[test]
fn feedback_of_zero_is_no_message() {
    let mut free = rp(EXACT);
    free.on_signal(ms(0), &cnm(0), &mut dice());
    assert_eq!(free.limit(), None);
    let mut limited = rp(EXACT);
    limited.on_signal(ms(0), &cnm(63), &mut dice());
    let before = (limited.gauge(), limited.next_wake());
    limited.on_signal(ms(5), &cnm(0), &mut dice());
    assert_eq!((limited.gauge(), limited.next_wake()), before);
}

#[test]
fn the_byte_counter_halves_its_cycle_at_stage_five() {
    // 150 000 octets are 100 frames: the 101st ends the cycle. 75 000 are 50: the 51st does.
    let mut rp = rp(QcnRpParams { clock: Clock::ByteCounter, ..EXACT });
    rp.on_signal(ms(0), &cnm(63), &mut dice());
    let mut frames = Vec::new();
    for stage in 1..=7 {
        let mut sent = 0;
        while limiter(&rp).byte_stage < stage {
            let _ = rp.on_sent(ms(1), FRAME, FRAME, &mut dice());
            sent += 1;
        }
        frames.push(sent);
    }
    assert_eq!(frames, [101, 101, 101, 101, 101, 51, 51]);
    assert_eq!(rp.next_wake(), Instant::NEVER, "a byte counter alone needs no timer");
}

#[test]
fn a_cut_never_goes_below_the_floors() {
    let mut rp = rp(QcnRpParams { cut: CutParams { gd: 1.0, ..EXACT.cut }, ..EXACT });
    rp.on_signal(ms(0), &cnm(63), &mut dice());
    assert_eq!(limiter(&rp).rates.current, BitRate::gbps(5), "one message takes half at most");
    for i in 0..20 {
        rp.on_signal(ms(i), &cnm(63), &mut dice());
    }
    assert_eq!(limiter(&rp).rates.current, BitRate::mbps(10));
}

#[test]
fn creation_needs_a_queue_above_the_set_point() {
    let room = Signal::Cnm(Cnm { cp: CpId(0), quantized_fb: 3, q_offset: 500, q_delta: 10_000 });
    let mut rp_congested = rp(EXACT);
    rp_congested.on_signal(ms(0), &room, &mut dice());
    assert_eq!(rp_congested.limit(), None);
    let mut rp_any = rp(QcnRpParams { creation: Creation::AnyCnm, ..EXACT });
    rp_any.on_signal(ms(0), &room, &mut dice());
    assert!(rp_any.limit().is_some());
}

#[test]
fn release_at_line_rate() {
    for (release, waiting, free) in [
        (Release::LineRateAndEmpty, 0, true),
        (Release::LineRateAndEmpty, 1500, false),
        (Release::LineRate, 1500, true),
    ] {
        let mut rp = rp(QcnRpParams { release, ..EXACT });
        rp.on_signal(ms(0), &cnm(1), &mut dice());
        let QcnState::Limiting(limiter) = &mut rp.state else { panic!("it limits") };
        limiter.rates.current = LINE;
        let _ = rp.on_sent(ms(1), FRAME, Bytes::new(waiting), &mut dice());
        assert_eq!(rp.limit().is_none(), free, "{release:?} with {waiting} octets waiting");
    }
}

#[test]
fn an_idle_limiter_climbs_by_its_timer_and_goes() {
    let mut rp = rp(EXACT);
    rp.on_signal(ms(0), &cnm(63), &mut dice());
    let mut wakes = 0;
    while rp.next_wake() != Instant::NEVER {
        rp.on_wake(rp.next_wake(), &mut dice());
        wakes += 1;
        assert!(wakes < 10_000, "it stays for ever");
    }
    assert_eq!(rp.limit(), None);
}

#[test]
fn timer_only_reads_the_first_cycle_off_the_timer() {
    let mut rp = rp(QcnRpParams { clock: Clock::Timer, ..EXACT });
    rp.on_signal(ms(0), &cnm(32), &mut dice());
    for _ in 0..1000 {
        let _ = rp.on_sent(ms(1), FRAME, FRAME, &mut dice());
    }
    assert_eq!(limiter(&rp).byte_stage, 0);
    rp.on_wake(ms(15), &mut dice());
    rp.on_signal(ms(16), &cnm(32), &mut dice());
    assert_eq!(limiter(&rp).rates.target, BitRate::mbps(8750));
}

/// Each period the current rate drifts by a step, whatever was heard; the target is never left behind.
#[test]
fn drift_adds_four_megabit_each_twenty_milliseconds_whatever_is_heard() {
    let mut rp = rp(RP_IBM_ZRL);
    // 8 bits: 10 000 * (1 - 255 * 0.5 / 255) = 5000.
    rp.on_signal(ms(0), &cnm(255), &mut dice());
    assert_eq!(limiter(&rp).rates.current, BitRate::gbps(5));
    assert_eq!(rp.next_wake(), ms(20));
    rp.on_wake(ms(19), &mut dice());
    assert_eq!(limiter(&rp).rates.current, BitRate::gbps(5), "early");
    rp.on_wake(ms(20), &mut dice());
    assert_eq!(limiter(&rp).rates, Rates { current: BitRate::mbps(5004), target: LINE });
    // 5004 halved; the drift stays due at 40 ms.
    rp.on_signal(ms(30), &cnm(255), &mut dice());
    assert_eq!((limiter(&rp).rates.current, rp.next_wake()), (BitRate::mbps(2502), ms(40)));
    // Woken late, at 85 ms: the steps of 40, 60 and 80 ms.
    rp.on_wake(ms(85), &mut dice());
    assert_eq!((limiter(&rp).rates.current, rp.next_wake()), (BitRate::mbps(2514), ms(100)));
}

#[test]
fn drift_lifts_the_target_stops_at_line_rate_and_frees_an_idle_limiter() {
    let mut rp = rp(RP_IBM_ZRL);
    rp.on_signal(ms(0), &cnm(1), &mut dice());
    let QcnState::Limiting(limiting) = &mut rp.state else { panic!("it limits") };
    limiting.rates = Rates { current: BitRate::mbps(2998), target: BitRate::mbps(3000) };
    // 2998 + 4 = 3002 passes the target of 3000 and takes it along.
    rp.on_wake(ms(20), &mut dice());
    assert_eq!(limiter(&rp).rates, Rates::at(BitRate::mbps(3002)));
    let QcnState::Limiting(limiting) = &mut rp.state else { panic!("it limits") };
    limiting.rates = Rates { current: BitRate::mbps(9997), target: BitRate::mbps(10_005) };
    // 9997 + 4 is past the line rate: 10 000. With frames waiting the limiter stays; without, it goes.
    let _ = rp.on_sent(ms(30), FRAME, FRAME, &mut dice());
    rp.on_wake(ms(40), &mut dice());
    assert_eq!(limiter(&rp).rates, Rates { current: LINE, target: BitRate::mbps(10_005) });
    let QcnState::Limiting(limiting) = &mut rp.state else { panic!("it limits") };
    limiting.rates.current = BitRate::mbps(9997);
    let _ = rp.on_sent(ms(50), FRAME, Bytes::ZERO, &mut dice());
    rp.on_wake(ms(60), &mut dice());
    assert_eq!((rp.limit(), rp.next_wake()), (None, Instant::NEVER));
}

/// Drift and timer at one instant: the cycle ends first.
#[test]
fn drift_runs_beside_the_timer() {
    let params = QcnRpParams { drift: DriftParams::each(Span::from_ms(5), BitRate::mbps(4)), ..EXACT };
    let mut rp = rp(params);
    rp.on_signal(ms(0), &cnm(32), &mut dice());
    let mut wakes = Vec::new();
    while rp.next_wake() <= ms(15) {
        wakes.push(rp.next_wake());
        rp.on_wake(rp.next_wake(), &mut dice());
    }
    assert_eq!(wakes, [ms(5), ms(10), ms(15)]);
    // 7500 + 4 + 4 = 7508; the cycle: (7508 + 10 000) / 2 = 8754; + 4 = 8758.
    assert_eq!(limiter(&rp).rates.current, BitRate::mbps(8758));
}

/// Deck 004 prints one threshold for every cycle: 101 frames each, in active increase too.
#[test]
fn cycles_of_ibms_qcn_keep_their_length() {
    let mut rp = rp(QcnRpParams { jitter_width: 0.0, ..RP_IBM_ZRL });
    rp.on_signal(ms(0), &cnm(255), &mut dice());
    let mut frames = 0;
    while limiter(&rp).byte_stage < 7 {
        let _ = rp.on_sent(ms(1), FRAME, FRAME, &mut dice());
        frames += 1;
    }
    assert_eq!(frames, 7 * 101);
    // Set point 37 500, W 2: full scale is 187 500 octets, a level 735.3. 3000 + 2 * 3000 = 9000: 12.2.
    assert_eq!(feedback(CP_IBM_ZRL, 40_500, 37_500), 12);
}

/// The first form of HAI: after fast recovery the target rises by 12, 24, 36 Mb/s, whatever the clock.
#[test]
fn early_hai_adds_the_step_times_its_count() {
    for clock in [Clock::ByteCounter, Clock::Timer] {
        let mut rp = rp(QcnRpParams {
            clock,
            early_hai: true,
            target_rate_reduction: false,
            ai_rate: BitRate::mbps(12),
            ..EXACT
        });
        rp.on_signal(ms(0), &cnm(63), &mut dice());
        let mut targets = Vec::new();
        for cycle in 1..=8 {
            match clock {
                Clock::Timer => rp.on_wake(rp.next_wake(), &mut dice()),
                _ => send_cycles(&mut rp, 1),
            }
            if cycle > 4 {
                targets.push(limiter(&rp).rates.target.get() / 1_000_000);
            }
        }
        assert_eq!(targets, [10_000, 10_012, 10_036, 10_072], "{clock:?}");
        rp.on_signal(ms(500), &cnm(1), &mut dice());
        assert_eq!(limiter(&rp).increases, 0);
    }
}

/// With both clocks each event after fast recovery counts, of either kind.
#[test]
fn early_hai_counts_the_events_of_both_clocks() {
    let params = QcnRpParams { early_hai: true, ..EXACT };
    let mut rp = rp(params);
    rp.on_signal(ms(0), &cnm(1), &mut dice());
    let QcnState::Limiting(limiter) = &mut rp.state else { panic!("it limits") };
    (limiter.byte_stage, limiter.time_stage) = (6, 3);
    limiter.rates = Rates { current: BitRate::mbps(1000), target: BitRate::mbps(2000) };
    limiter.increase(&params, LINE);
    (limiter.byte_stage, limiter.time_stage) = (6, 6);
    limiter.increase(&params, LINE);
    // 2000 + 5 + 10, not 2000 + 5 + 50.
    assert_eq!(limiter.rates.target, BitRate::mbps(2015));
}

/// One cut in each round trip of 1 ms: 7500 at 0 ms, nothing at 0.999 ms, 5625 at 1 ms.
#[test]
fn messages_within_a_round_trip_of_a_cut_are_not_heard() {
    let mut rp = rp(QcnRpParams { cut_spacing: Span::from_ms(1), ..EXACT });
    let mut rate_after = |at| {
        rp.on_signal(us(at), &cnm(32), &mut dice());
        (limiter(&rp).rates.current.get() / 1_000_000, rp.next_wake())
    };
    assert_eq!(rate_after(0), (7500, us(15_000)));
    assert_eq!(rate_after(999), (7500, us(15_000)), "and the timer runs on");
    assert_eq!(rate_after(1000), (5625, us(16_000)));
}

#[test]
fn without_adaptive_sampling_every_interval_is_the_base() {
    let frames = |adaptive_sampling| {
        let mut cp = QcnCp::new(QcnCpParams { adaptive_sampling, jitter_width: 0.0, ..CP_DECK001 }, CpId(0));
        let _ = sample(&mut cp, 150_000, &arrival(true));
        (1..1000).find(|_| cp.sampler.takes(&arrival(true), false))
    };
    // Full-scale feedback: 18 500 octets are 12.3 frames, 150 000 are 100.
    assert_eq!((frames(true), frames(false)), (Some(13), Some(101)));
}

/// A queue of 60 000 is 27 000 above the set point; 50 000 after that are 17 000 above it, and 10 000 less.
#[test]
fn the_load_is_what_a_sample_would_find() {
    let mut cp = QcnCp::new(CP_DECK001, CpId(0));
    assert_eq!(cp.load(Bytes::new(60_000)), (-27_000, 60_000));
    let _ = sample(&mut cp, 60_000, &arrival(true));
    assert_eq!(cp.load(Bytes::new(50_000)), (-17_000, -10_000));
}

/// Deck 004: the packet's size over the probability of then. Eight bits, 150 KB: feedback 32 is in the second row, 75 KB;
/// 255 in the last, 18.5 KB; 31 in the first, 150 KB. Six bits: 8 is in the second row.
#[test]
fn cycles_may_shrink_with_the_sampling_interval() {
    let cycle = |params: QcnRpParams, fb| {
        let mut rp = QcnRp::new(QcnRpParams { byte_reset_sampled: true, jitter_width: 0.0, ..params }, LINE);
        rp.on_signal(ms(0), &cnm(fb), &mut dice());
        (1u64..).find(|_| {
            let _ = rp.on_sent(ms(0), Bytes::new(500), Bytes::new(500), &mut dice());
            rp.byte_stage() > 0
        })
    };
    // An event needs more than the interval: one frame of 500 octets more.
    assert_eq!(cycle(RP_IBM_ZRL, 31), Some(301));
    assert_eq!(cycle(RP_IBM_ZRL, 32), Some(151));
    assert_eq!(cycle(RP_IBM_ZRL, 255), Some(38));
    assert_eq!(cycle(RP_DECK001, 7), Some(301));
    assert_eq!(cycle(RP_DECK001, 8), Some(151));
    // Off, cycles have 150 KB after any message.
    let mut rp = QcnRp::new(RP_IBM_ZRL, LINE);
    rp.on_signal(ms(0), &cnm(255), &mut dice());
    send_cycles(&mut rp, 1);
    assert_eq!(rp.byte_stage(), 1);
}
