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
