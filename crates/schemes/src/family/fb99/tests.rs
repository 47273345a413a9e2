//! Hand-worked numbers.

use super::*;
use crate::dice::Purpose;
use crate::roles::FlowId;

const LINE: BitRate = BitRate::gbps(10);
const FRAME: Bytes = Bytes::new(1500);
const EXACT: Fb99RpParams =
    Fb99RpParams { limiter: qcn::QcnRpParams { jitter_width: 0.0, ..RP_DECK000.limiter }, ..RP_DECK000 };

fn dice() -> Dice {
    Dice::new(1, 0, "test", Purpose::Reaction)
}

fn ms(n: u64) -> Instant {
    Instant::ZERO + Span::from_ms(n)
}

/// Cut from 10 Gb/s to 7.5 Gb/s at time zero.
fn rp(params: Fb99RpParams) -> Fb99Rp {
    let mut rp = Fb99::reaction_point(&params, LINE.into());
    let cnm = Cnm { cp: CpId(0), quantized_fb: 32, q_offset: -10_000, q_delta: 0 };
    rp.on_signal(ms(0), &Signal::Cnm(cnm), &mut dice());
    rp
}

fn limiter(rp: &mut Fb99Rp) -> &mut Fb99Limiter {
    match &mut rp.state {
        Fb99State::Limiting(limiter) => limiter,
        Fb99State::Free => panic!("it does not limit"),
    }
}

fn push_back(rp: &mut Fb99Rp, at: Instant) {
    rp.on_signal(at, &Signal::PushBack(CpId(0)), &mut dice());
}

#[test]
fn the_timer_walks_the_cycles() {
    let mut rp = rp(EXACT);
    let mut rates = Vec::new();
    for cycle in 1..=7 {
        assert_eq!(rp.next_wake(), ms(5 * cycle));
        rp.on_wake(ms(5 * cycle), &mut dice());
        rates.push(rp.gauge().target_rate.get() / 1_000_000);
    }
    // Five cycles of fast recovery; then the target rises by 50 * 6 and 50 * 7.
    assert_eq!(rates, [10_000, 10_000, 10_000, 10_000, 10_000, 10_300, 10_650]);
}

#[test]
fn what_cycles_after_fast_recovery_add() {
    for (increase, eighth) in [
        // 50, three times; 50 * (6 + 7 + 8); 50 * (1 + 2 + 3).
        (Increase::Constant, 10_150),
        (Increase::ByCycle, 11_050),
        (Increase::ByIncrease, 10_300),
    ] {
        let mut rp = rp(Fb99RpParams { increase, ..EXACT });
        for cycle in 1..=8 {
            rp.on_wake(ms(5 * cycle), &mut dice());
        }
        assert_eq!(rp.gauge().target_rate, BitRate::mbps(eighth), "{increase:?}");
    }
}

#[test]
fn fb99_goes_one_cycle_back_and_leaves_the_rates() {
    let mut rp = rp(EXACT);
    for cycle in 1..=3 {
        rp.on_wake(ms(5 * cycle), &mut dice());
    }
    let before = rp.gauge();
    push_back(&mut rp, ms(17));
    assert_eq!(rp.gauge(), before);
    assert_eq!((limiter(&mut rp).cycles.stage, rp.next_wake()), (2, ms(22)));
    for _ in 0..5 {
        push_back(&mut rp, ms(18));
    }
    assert_eq!(limiter(&mut rp).cycles.stage, 0, "it does not go below the first");
}

#[test]
fn where_fb99_takes_a_limiter_past_fast_recovery() {
    for (stretch_later, nine, three) in
        [(StretchLater::OneBack, 8, 2), (StretchLater::LastOfRecovery, 5, 2), (StretchLater::Stay, 9, 2)]
    {
        let mut rp = rp(Fb99RpParams { stretch_later, ..EXACT });
        for (before, after) in [(9, nine), (3, three)] {
            limiter(&mut rp).cycles.stage = before;
            push_back(&mut rp, ms(1));
            assert_eq!(
                (limiter(&mut rp).cycles.stage, rp.next_wake()),
                (after, ms(6)),
                "{stretch_later:?} from {before}"
            );
        }
    }
}

/// Sixty frames, Fb99, forty-one: the cycle ends with the last, unless Fb99 restarted the byte counter.
#[test]
fn fb99_leaves_the_byte_counter_alone() {
    for (stretch_bytes, stage) in [(false, 1), (true, 0)] {
        let mut rp = rp(Fb99RpParams { stretch_bytes, ..EXACT });
        for _ in 0..60 {
            let _ = rp.on_sent(ms(1), FRAME, FRAME, &mut dice());
        }
        push_back(&mut rp, ms(1));
        for _ in 0..41 {
            let _ = rp.on_sent(ms(1), FRAME, FRAME, &mut dice());
        }
        assert_eq!(limiter(&mut rp).cycles.stage, stage);
    }
}

#[test]
fn without_stretching_fb99_only_restarts_the_timer() {
    let mut rp = rp(Fb99RpParams { stretch: false, ..EXACT });
    limiter(&mut rp).cycles.stage = 3;
    push_back(&mut rp, ms(3));
    assert_eq!((limiter(&mut rp).cycles.stage, rp.next_wake()), (3, ms(8)));
}

#[test]
fn the_byte_counter_ends_the_same_cycle() {
    for (restart_both, wake) in [(false, ms(5)), (true, ms(7))] {
        let mut rp = rp(Fb99RpParams { restart_both, ..EXACT });
        // 150 000 octets are 100 frames: the 101st ends the cycle.
        for _ in 0..101 {
            let _ = rp.on_sent(ms(2), FRAME, FRAME, &mut dice());
        }
        assert_eq!((limiter(&mut rp).cycles.stage, rp.next_wake()), (1, wake));
        assert_eq!(rp.gauge().current_rate, BitRate::mbps(8750));
    }
}

/// Feeds frames until one is sampled.
fn sample(cp: &mut Fb99Cp, at: Instant, len: u64) -> CpAction {
    let frame = Arrival {
        flow: FlowId(0),
        size: FRAME,
        admitted: true,
        controlled: true,
        cn_tagged: true,
        limited_by: None,
        probe: false,
        mark: 0,
    };
    let queue = Queue { len: Bytes::new(len), capacity: Bytes::new(150_000), rate: LINE };
    let mut rolls = dice();
    for _ in 0..200 {
        let mut before = cp.sampler.clone();
        let action = cp.on_arrival(at, &frame, queue, &mut rolls);
        if before.takes(&frame, false) {
            return action;
        }
        assert_eq!(action, CpAction::Nothing);
    }
    panic!("nothing was sampled");
}

#[test]
fn what_a_port_says() {
    let mut cp = Fb99::congestion_point(&CP_DECK000, CpId(1));
    assert_eq!(sample(&mut cp, ms(0), 3000), CpAction::Nothing, "bandwidth, no congestion: silence");
    // Fb = -(27 000 + 2 * 57 000) = -141 000: 53.8 levels.
    let cnm = Cnm { cp: CpId(1), quantized_fb: 53, q_offset: -27_000, q_delta: 57_000 };
    assert_eq!(sample(&mut cp, ms(1), 60_000), CpAction::Send(Signal::Cnm(cnm)));
    // Fb = 13 000 + 2 * 40 000 > 0, and the queue is not short: push back.
    assert_eq!(sample(&mut cp, ms(2), 20_000), CpAction::Send(Signal::PushBack(CpId(1))));
    // Short since 3 ms; bandwidth from 13 ms on.
    cp.on_departure(ms(3), Bytes::new(1500));
    assert_eq!(sample(&mut cp, ms(12), 3000), CpAction::Send(Signal::PushBack(CpId(1))));
    assert_eq!(sample(&mut cp, ms(13), 3000), CpAction::Nothing);
}

/// Bandwidth below 30 000 octets. A sample at 20 000 after an empty queue has Fb = 13 000 - 2 * 20 000 < 0: congestion,
/// whatever the threshold says. The next, without growth, has Fb = 13 000 > 0 and is pushed back for 10 ms.
#[test]
fn a_short_queue_that_grows_fast_has_no_bandwidth() {
    let bandwidth = BandwidthParams { available_below: Bytes::new(30_000), ..BandwidthParams::DECK000 };
    let mut cp = Fb99::congestion_point(&Fb99CpParams { bandwidth, ..CP_DECK000 }, CpId(1));
    // 27 000 * 63 / 165 000 = 10.3.
    let cnm = Cnm { cp: CpId(1), quantized_fb: 10, q_offset: 13_000, q_delta: 20_000 };
    assert_eq!(sample(&mut cp, ms(1), 20_000), CpAction::Send(Signal::Cnm(cnm)));
    assert_eq!(cp.no_bandwidth_since(ms(2)), Some(ms(1)));
    assert_eq!(sample(&mut cp, ms(10), 20_000), CpAction::Send(Signal::PushBack(CpId(1))));
    assert_eq!(sample(&mut cp, ms(11), 20_000), CpAction::Nothing);
}

#[test]
fn a_message_and_a_push_back_restart_the_timer() {
    let mut rp = rp(EXACT);
    rp.on_wake(ms(5), &mut dice());
    assert_eq!(rp.next_wake(), ms(10));
    let cnm = Cnm { cp: CpId(0), quantized_fb: 1, q_offset: -10_000, q_delta: 0 };
    rp.on_signal(ms(7), &Signal::Cnm(cnm), &mut dice());
    assert_eq!(rp.next_wake(), ms(12));
    push_back(&mut rp, ms(8));
    assert_eq!(rp.next_wake(), ms(13));
}

/// Frames until the next cycle ends by octets.
fn frames_of_a_cycle(rp: &mut Fb99Rp) -> u32 {
    let before = limiter(rp).cycles.stage;
    (1..)
        .find(|_| {
            let _ = rp.on_sent(ms(1), FRAME, FRAME, &mut dice());
            limiter(rp).cycles.stage != before
        })
        .expect("a cycle")
}

/// 150 000 octets are 100 frames: the 101st ends each cycle, and begins the count anew.
#[test]
fn the_byte_counter_begins_anew_when_it_ended_a_cycle() {
    let mut rp = rp(EXACT);
    assert_eq!([0; 3].map(|_| frames_of_a_cycle(&mut rp)), [101; 3]);
}

/// Sixty frames, the timer, and forty-one: the timer's end leaves the count alone, unless both restart.
#[test]
fn the_timer_leaves_the_byte_counter_alone() {
    for (restart_both, frames) in [(false, 41), (true, 101)] {
        let mut rp = rp(Fb99RpParams { restart_both, ..EXACT });
        for _ in 0..60 {
            let _ = rp.on_sent(ms(1), FRAME, FRAME, &mut dice());
        }
        rp.on_wake(ms(5), &mut dice());
        assert_eq!(limiter(&mut rp).cycles.stage, 1);
        assert_eq!(frames_of_a_cycle(&mut rp), frames);
    }
}

/// Seven messages of the first cycle halve 10 000 to 78.125 and leave the target. The first cycle's end takes a target more
/// than ten times as high to an eighth, 1250: (78.125 + 1250) / 2 = 664.0625, then 957.
#[test]
fn a_far_target_is_reduced_at_the_end_of_the_first_cycle() {
    for (target_rate_reduction, first, second) in [(true, 664, 957), (false, 5039, 7519)] {
        let own = qcn::QcnRpParams { target_rate_reduction, ..EXACT.limiter };
        let mut rp = Fb99::reaction_point(&Fb99RpParams { limiter: own, ..EXACT }, LINE.into());
        for _ in 0..7 {
            let cnm = Cnm { cp: CpId(0), quantized_fb: 64, q_offset: -10_000, q_delta: 0 };
            rp.on_signal(ms(0), &Signal::Cnm(cnm), &mut dice());
        }
        let rate = |rp: &Fb99Rp| rp.gauge().current_rate.get() / 1_000_000;
        assert_eq!(rate(&rp), 78);
        rp.on_wake(ms(5), &mut dice());
        assert_eq!(rate(&rp), first);
        rp.on_wake(ms(10), &mut dice());
        assert_eq!(rate(&rp), second);
    }
}

/// The fifth cycle is the last of fast recovery, and not past it.
#[test]
fn at_the_end_of_fast_recovery_fb99_goes_back() {
    for (before, after) in [(5, 4), (6, 6)] {
        let mut rp = rp(Fb99RpParams { stretch_later: StretchLater::Stay, ..EXACT });
        limiter(&mut rp).cycles.stage = before;
        push_back(&mut rp, ms(1));
        assert_eq!(limiter(&mut rp).cycles.stage, after);
    }
}

/// Three ms after fast recovery, five before: the sixth cycle is the first that is timed by the other.
#[test]
fn the_timer_after_fast_recovery_may_be_another() {
    let mut rp = rp(Fb99RpParams { time_reset_later: Some(Span::from_ms(3)), ..EXACT });
    let mut last = ms(0);
    let cycles: Vec<u64> = (0..8)
        .map(|_| {
            let (at, since) = (rp.next_wake(), last);
            rp.on_wake(at, &mut dice());
            last = at;
            at.since(since).ps() / 1_000_000_000
        })
        .collect();
    assert_eq!(cycles, [5, 5, 5, 5, 5, 5, 3, 3]);
}

/// Only a push-back is one: what other schemes send leaves cycle and timer alone.
#[test]
fn other_signals_push_nothing_back() {
    let mut rp = rp(EXACT);
    assert_eq!((rp.limit(), Fb99::reaction_point(&EXACT, LINE.into()).limit()), (Some(BitRate::mbps(7500)), None));
    for signal in [Signal::Echo(CpId(0)), Signal::Cnp] {
        rp.on_signal(ms(1), &signal, &mut dice());
        assert_eq!(rp.next_wake(), ms(5));
    }
    push_back(&mut rp, ms(1));
    assert_eq!(rp.next_wake(), ms(6));
}

/// Steps of 12 and 50: the sixth cycle, by the timer, adds 50 * 6; the seventh, by the byte counter, 12; the eighth, by
/// the timer, 50 * 8.
#[test]
fn a_timer_cycle_may_have_a_step_of_its_own() {
    let params = Fb99RpParams { increase_rate: BitRate::mbps(12), hai_rate: Some(BitRate::mbps(50)), ..EXACT };
    let mut rp = rp(params);
    for cycle in 1..=6 {
        rp.on_wake(ms(5 * cycle), &mut dice());
    }
    assert_eq!(rp.gauge().target_rate, BitRate::mbps(10_300));
    limiter(&mut rp).end_cycle(ms(31), false, &params, LINE, &mut dice());
    assert_eq!(rp.gauge().target_rate, BitRate::mbps(10_312));
    rp.on_wake(ms(35), &mut dice());
    assert_eq!(rp.gauge().target_rate, BitRate::mbps(10_712));
}
