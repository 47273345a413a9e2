//! Hand-worked numbers. Rates in Mb/s where a comment gives none.

use super::rp::{DcqcnLimiter, DcqcnState};
use super::*;
use crate::parts::window::WindowRule;
use crate::roles::{
    Acknowledgement, Arrival, CongestionPoint, CpAction, EventKinds, Flight, ReactionPoint, TransportEvent,
};
use crate::testing::{FRAME, Fabric, delivered, dice, frame, ms, queue, us};

const LINE: BitRate = BitRate::gbps(40);

fn rp(params: DcqcnRpParams) -> DcqcnRp {
    Dcqcn::reaction_point(&params, LINE.into())
}

fn hear(rp: &mut DcqcnRp, at: Instant) {
    rp.on_signal(at, &Signal::Cnp, &mut dice());
}

fn limiter(rp: &mut DcqcnRp) -> &mut DcqcnLimiter {
    match &mut rp.state {
        DcqcnState::Limiting(limiter) => limiter,
        DcqcnState::Free(_) => panic!("it does not limit"),
    }
}

fn current(rp: &DcqcnRp) -> BitRate {
    rp.gauge().current_rate
}

#[test]
fn marking_is_a_ramp_and_then_certain() {
    let cp = Dcqcn::congestion_point(&CP_SIGCOMM2015, CpId(0));
    // (102 500 - 5000) / 195 000 = 0.5 of 1 %.
    for (len, p) in [(0, 0.0), (5_000, 0.0), (102_500, 0.005), (200_000, 0.01), (200_001, 1.0)] {
        assert!((cp.probability(queue(len)) - p).abs() < 1e-15, "{len}");
    }
    let departures = |len, frames| {
        let (mut cp, mut rolls) = (cp.clone(), dice());
        (0..frames).filter(|_| cp.departure_mark(us(0), true, queue(len), &mut rolls) == 1).count()
    };
    assert_eq!((departures(5_000, 1000), departures(250_000, 1000)), (0, 1000));
    // 100 000 frames at 0.5 %: 500, standard deviation sqrt(500) = 22.
    assert!(departures(102_500, 100_000).abs_diff(500) < 90);
}

#[test]
fn frames_are_marked_once_on_their_way() {
    let lost = Arrival { admitted: false, ..frame() };
    for (mark_at, arrival, departure) in
        [(MarkAt::Departure, CpAction::Nothing, 1), (MarkAt::Arrival, CpAction::Mark(1), 0)]
    {
        let mut cp = Dcqcn::congestion_point(&RampParams { mark_at, ..CP_SIGCOMM2015 }, CpId(0));
        assert_eq!(cp.capabilities().marks_departures, mark_at == MarkAt::Departure);
        assert_eq!(cp.on_arrival(us(0), &frame(), queue(250_000), &mut dice()), arrival);
        assert_eq!(cp.departure_mark(us(0), true, queue(250_000), &mut dice()), departure);
        assert_eq!(cp.departure_mark(us(0), false, queue(250_000), &mut dice()), 0);
        assert_eq!(cp.on_arrival(us(0), &lost, queue(250_000), &mut dice()), CpAction::Nothing);
    }
}

#[test]
fn a_receiver_answers_once_in_fifty_microseconds() {
    let mut np = Dcqcn::notification_point(&RP_SIGCOMM2015).expect("receivers take part");
    let mut answered = |at, mark| np.on_frame(us(at), &delivered(mark)).is_some();
    assert!(!answered(0, 0));
    assert!(answered(1, 1));
    assert!(!answered(2, 1));
    assert!(!answered(50, 1));
    assert!(answered(51, 1));
    // Silence does not save up answers.
    assert!(answered(500, 1));
    assert!(!answered(549, 1));
}

/// N is 50 us. Marked frames at 1, 2 and 60 us, unmarked ones at 0, 52, 105, 150 and 160 us. Forgetting answers those
/// at 1 and 60. At the window's end the mark of 2 is answered at 52, the first frame after 51, and that of 60 at 105,
/// after 102. Polls are due at 50, 100, 150, ...: the frame at 52 answers 1 and 2, that at 105 answers 60, and the one at
/// 150 finds nothing new.
#[test]
fn a_receiver_forgets_remembers_or_polls() {
    let frames = [(0, 0), (1, 1), (2, 1), (52, 0), (60, 1), (105, 0), (150, 0), (160, 0)];
    for (cnp_rule, expected) in
        [(CnpRule::Forget, vec![1, 60]), (CnpRule::WindowEnd, vec![1, 52, 105]), (CnpRule::Poll, vec![52, 105])]
    {
        let mut np =
            Dcqcn::notification_point(&DcqcnRpParams { cnp_rule, ..RP_SIGCOMM2015 }).expect("receivers take part");
        let answered = frames.into_iter().filter(|(at, mark)| np.on_frame(us(*at), &delivered(*mark)).is_some());
        assert_eq!(answered.map(|(at, _)| at).collect::<Vec<_>>(), expected, "{cnp_rule:?}");
    }
}

/// Polls keep their times: the frame of 199 us comes for the poll of 150, and the next is due at 200, not at 249.
#[test]
fn a_late_poll_does_not_move_the_next() {
    let mut np = Dcqcn::notification_point(&DcqcnRpParams { cnp_rule: CnpRule::Poll, ..RP_SIGCOMM2015 }).expect("one");
    let mut answered = |at| np.on_frame(us(at), &delivered(1)).is_some();
    assert_eq!([0, 199, 200, 201, 249, 250].map(&mut answered), [false, true, true, false, false, true]);
}

/// Alpha 1: the first CNP halves. Then alpha (1 - 1/256) 1 + 1/256 = 1 again: the second halves too.
#[test]
fn as_published_each_cnp_cuts_by_half_of_alpha() {
    let mut rp = rp(RP_SIGCOMM2015);
    hear(&mut rp, us(0));
    assert_eq!((current(&rp), rp.gauge().target_rate), (BitRate::gbps(20), LINE));
    hear(&mut rp, us(50));
    assert_eq!((current(&rp), rp.gauge().target_rate), (BitRate::gbps(10), BitRate::gbps(20)));
    // 200 us of silence after it are three periods of 55 us: alpha = (255/256)^3 = 0.98832.
    hear(&mut rp, us(250));
    let fallen = (255.0f64 / 256.0).powi(3);
    // Timer cycles end at 105, 160 and 215 us in between, but nobody woke the limiter: 10 000 (1 - 0.49416).
    assert_eq!(current(&rp), BitRate::gbps(10).scaled_rounded_down(1.0 - fallen / 2.0));
    let risen = fallen * 255.0 / 256.0 + 1.0 / 256.0;
    assert!((limiter(&mut rp).alpha.value - risen).abs() < 1e-12);
}

#[test]
fn alpha_outlives_the_limiter_as_published() {
    let mut rp = rp(RP_SIGCOMM2015);
    hear(&mut rp, us(0));
    limiter(&mut rp).rates = crate::parts::rates::Rates::at(LINE);
    rp.on_wake(us(55), &mut dice());
    assert_eq!((rp.limit(), rp.next_wake()), (None, Instant::NEVER));
    // 55 000 us are 1000 periods: alpha = (255/256)^1000 = 0.01996, and the cut takes 1 %.
    hear(&mut rp, ms(55));
    let share = current(&rp).as_f64() / LINE.as_f64();
    assert!((share - (1.0 - 0.019_961 / 2.0)).abs() < 1e-5, "{share}");
}

#[test]
fn the_timer_recovers_then_adds() {
    let mut rp = rp(RP_SIGCOMM2015);
    hear(&mut rp, us(0));
    let mut rates = Vec::new();
    for cycle in 1..=5 {
        assert_eq!(rp.next_wake(), us(55 * cycle));
        rp.on_wake(us(55 * cycle), &mut dice());
        rates.push(current(&rp).get() / 1_000_000);
    }
    // 20 000 -> 30 000, 35 000, 37 500, 38 750; the fifth cycle adds 40: (38 750 + 40 040) / 2 = 39 395.
    assert_eq!(rates, [30_000, 35_000, 37_500, 38_750, 39_395]);
}

#[test]
fn both_stages_past_f_are_hyper() {
    let after = |byte_stage, time_stage, params: &DcqcnRpParams| {
        let mut rp = rp(*params);
        hear(&mut rp, us(0));
        let limiter = limiter(&mut rp);
        (limiter.byte_stage, limiter.time_stage) = (byte_stage, time_stage);
        limiter.rates.target = BitRate::gbps(30);
        limiter.increase(params, LINE);
        limiter.rates.target.get() / 1_000_000
    };
    let constant = DcqcnRpParams { hai_step: HaiStep::Constant, ..RP_SIGCOMM2015 };
    assert_eq!(after(4, 4, &RP_SIGCOMM2015), 30_000);
    assert_eq!(after(5, 0, &RP_SIGCOMM2015), 30_040);
    assert_eq!(after(5, 9, &RP_SIGCOMM2015), 30_040);
    // min(7, 9) - 5 = 2: 2 * 200.
    assert_eq!(after(7, 9, &RP_SIGCOMM2015), 30_400);
    assert_eq!(after(7, 9, &constant), 30_200);
    let timer = DcqcnRpParams { byte_reset: None, ..RP_CONNECTX };
    assert_eq!([1, 2, 3, 4].map(|stage| after(0, stage, &timer)), [30_000, 30_005, 30_050, 30_050]);
}

#[test]
fn the_byte_counter_ends_cycles_too() {
    let mut rp = rp(DcqcnRpParams { byte_reset: Some(Bytes::new(15_000)), ..RP_SIGCOMM2015 });
    hear(&mut rp, us(0));
    // 15 000 octets are 10 frames: the 11th ends the cycle.
    for sent in 1..=11 {
        assert_eq!(limiter(&mut rp).byte_stage, 0, "frame {sent}");
        let _ = rp.on_sent(us(sent), FRAME, FRAME, &mut dice());
    }
    assert_eq!((limiter(&mut rp).byte_stage, current(&rp)), (1, BitRate::gbps(30)));
}

/// A cut begins the byte counter's cycle anew: after 6 frames and a cut it takes 11 more to end one.
#[test]
fn a_cut_begins_the_byte_counters_cycle_anew() {
    let mut rp = rp(DcqcnRpParams { byte_reset: Some(Bytes::new(15_000)), ..RP_SIGCOMM2015 });
    hear(&mut rp, us(0));
    for sent in 1..=17 {
        if sent == 7 {
            hear(&mut rp, us(50));
        }
        assert_eq!(limiter(&mut rp).byte_stage, 0, "frame {sent}");
        let _ = rp.on_sent(us(50 + sent), FRAME, FRAME, &mut dice());
    }
    assert_eq!(limiter(&mut rp).byte_stage, 1);
}

/// A burst of CNPs within a reduce period cuts once, at its end.
#[test]
fn a_nic_cuts_once_a_period() {
    let mut rp = rp(RP_CONNECTX);
    for at in [0, 1, 2, 3] {
        hear(&mut rp, us(at));
        assert_eq!((current(&rp), rp.next_wake()), (LINE, us(4)));
    }
    rp.on_wake(us(4), &mut dice());
    // Alpha rose at 1, 2, 3 and 4 us from 1023/1024: 1 - (1/1024) (1019/1024)^4 = 0.999042.
    let alpha = 1.0 - (1019.0f64 / 1024.0).powi(4) / 1024.0;
    assert!((limiter(&mut rp).alpha.value - alpha).abs() < 1e-12);
    assert_eq!(current(&rp), LINE.scaled_rounded_down(1.0 - alpha / 2.0));
    assert_eq!(rp.next_wake(), us(304), "the timer starts with the cut");
    // Heard at 9 us, in the period from 8 to 12 us.
    hear(&mut rp, us(9));
    assert_eq!(rp.next_wake(), us(12));
}

#[test]
fn a_nics_alpha_falls_in_silence() {
    let mut rp = rp(RP_CONNECTX);
    hear(&mut rp, us(0));
    rp.on_wake(us(4), &mut dice());
    // Up at 1 us, down at 2, 3 and 4 us.
    let alpha = (1.0 - 1019.0 / 1024.0 / 1024.0) * (1019.0f64 / 1024.0).powi(3);
    assert!((limiter(&mut rp).alpha.value - alpha).abs() < 1e-12);
}

/// With no increase in between, a second cut leaves a NIC's target where it was.
#[test]
fn a_nics_target_follows_only_after_an_increase() {
    for (clamp, timer_first, target) in [
        (Clamp::AfterIncrease, false, LINE),
        (Clamp::AfterIncrease, true, BitRate::gbps(30)),
        (Clamp::AfterByteIncrease, true, LINE),
        (Clamp::Always, false, BitRate::gbps(20)),
    ] {
        let mut rp = rp(DcqcnRpParams { clamp, ..RP_CONNECTX });
        hear(&mut rp, us(0));
        rp.on_wake(us(4), &mut dice());
        limiter(&mut rp).rates.current = BitRate::gbps(20);
        if timer_first {
            rp.on_wake(us(304), &mut dice());
        }
        hear(&mut rp, us(305));
        rp.on_wake(us(308), &mut dice());
        assert_eq!(rp.gauge().target_rate, target, "{clamp:?}");
    }
}

/// 40 000 halved nine times is 78; the preset's least rate is 100. A NIC's is 1: 40 000 halved sixteen times is 0.6.
#[test]
fn no_cut_goes_below_the_minimum_rate() {
    let mut published = rp(RP_SIGCOMM2015);
    for cnp in 0..12 {
        hear(&mut published, us(50 * cnp));
        let expected = (40_000_000_000u64 >> (cnp + 1)).max(100_000_000);
        assert_eq!(current(&published).get(), expected, "after {} CNPs", cnp + 1);
    }
    let mut nic = rp(RP_CONNECTX);
    for cnp in 0..40 {
        hear(&mut nic, us(4 * cnp));
        nic.on_wake(us(4 * cnp + 4), &mut dice());
        limiter(&mut nic).alpha.value = 1.0;
    }
    assert_eq!(current(&nic), BitRate::mbps(1));
}

/// A cut leaves at least the share `min_dec_fac`: of 40 000 with alpha 1 and half of it, 30 000 instead of 20 000.
#[test]
fn a_cut_leaves_its_least_share() {
    let mut rp = rp(DcqcnRpParams { min_dec_fac: 0.75, ..RP_SIGCOMM2015 });
    hear(&mut rp, us(0));
    assert_eq!(current(&rp), BitRate::gbps(30));
}

/// A limiter that starts below the least rate stays there: a cut never raises.
#[test]
fn a_first_rate_below_the_minimum_is_not_raised_by_a_cut() {
    let mut rp = rp(DcqcnRpParams { first_rate: Some(BitRate::mbps(60)), ..RP_SIGCOMM2015 });
    hear(&mut rp, us(0));
    assert_eq!(current(&rp), BitRate::mbps(60));
}

#[test]
fn a_first_rate_holds_before_the_first_cut() {
    let mut rp = rp(DcqcnRpParams { first_rate: Some(BitRate::gbps(4)), ..RP_SIGCOMM2015 });
    hear(&mut rp, us(0));
    assert_eq!((current(&rp), rp.gauge().target_rate), (BitRate::gbps(2), BitRate::gbps(4)));
}

/// Octets queued, looked at each millisecond: mean and standard deviation, KB.
fn swing(fabric: &mut Fabric<Dcqcn>, samples: u32) -> (f64, f64) {
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..samples {
        let _ = fabric.run(1);
        let len = fabric.len as f64 / 1000.0;
        (sum, squares) = (sum + len, squares + len * len);
    }
    let mean = sum / f64::from(samples);
    (mean, (squares / f64::from(samples) - mean * mean).sqrt())
}

fn published(hosts: usize, delay_us: u64) -> Fabric<Dcqcn> {
    Fabric::new(hosts, &CP_SIGCOMM2015, &RP_SIGCOMM2015, LINE, delay_us).with_capacity(4_000_000)
}

/// Published at 40 Gb/s: two flows come to 20 Gb/s each, and a third brings all to 13.3 within 100 ms.
#[test]
fn flows_come_to_equal_shares() {
    let near = |seen: &[f64], share: f64| seen.iter().all(|gbps| (gbps - share).abs() < 0.12 * share);
    let mut fabric = published(3, 2);
    fabric.active = 2;
    let _ = fabric.run(50);
    let two = fabric.run(100);
    assert!(near(&two.gbps[..2], 20.0), "{two:?}");
    fabric.active = 3;
    let _ = fabric.run(100);
    let three = fabric.run(50);
    assert!(near(&three.gbps, 40.0 / 3.0), "{three:?}");
}

/// Published of the fluid model: with ten flows the loop is stable at a feedback delay of 4 us and not at 85 us.
#[test]
fn ten_flows_lose_their_stability_with_delay() {
    let seen = |delay| {
        let mut fabric = published(10, delay);
        let _ = fabric.run(100);
        swing(&mut fabric, 200)
    };
    let ((mean, still), (_, wild)) = (seen(2), seen(42));
    assert!(still < 0.2 * mean && wild > 3.0 * still, "mean {mean} KB, swing {still} KB at 4 us, {wild} at 84 us");
}

/// Marked on arrival, a frame tells of a queue it has yet to wait in: that delay alone upsets ten flows.
#[test]
fn marks_on_arrival_upset_what_marks_on_departure_do_not() {
    let arrival = RampParams { mark_at: MarkAt::Arrival, ..CP_SIGCOMM2015 };
    let mut fabric = Fabric::<Dcqcn>::new(10, &arrival, &RP_SIGCOMM2015, LINE, 2).with_capacity(4_000_000);
    let _ = fabric.run(100);
    let (mean, std) = swing(&mut fabric, 200);
    assert!(std > 0.5 * mean, "mean {mean} KB, swing {std} KB");
}

/// Alpha 1 halves 40 000; 1 each 20 us. At 55 us (20 002 + 40 000) / 2. Released, it asks for nothing.
#[test]
fn it_drifts_as_long_as_it_limits() {
    let drifting = DcqcnRpParams { drift: DriftParams::each(Span::from_us(20), BitRate::mbps(1)), ..RP_SIGCOMM2015 };
    let mut limited = rp(drifting);
    hear(&mut limited, us(0));
    for (at, rate) in [(20, 20_001), (40, 20_002), (55, 30_001), (60, 30_002)] {
        assert_eq!(limited.next_wake(), us(at));
        limited.on_wake(us(at), &mut dice());
        assert_eq!(current(&limited), BitRate::mbps(rate), "at {at} us");
    }
    let mut fast =
        rp(DcqcnRpParams { drift: DriftParams { drift_step: BitRate::gbps(20), ..drifting.drift }, ..drifting });
    hear(&mut fast, us(0));
    fast.on_wake(us(20), &mut dice());
    assert_eq!((fast.limit(), fast.next_wake()), (None, Instant::NEVER));
}

/// What each preset's source lists. ConnectX: a byte counter of 32 767 in units of 64 octets, 32 767 * 64 = 2 097 088;
/// dce_tcp_g 1019 and an initial alpha of 1023, both of 1024. The simulator of HPCC's authors keeps the increase timer of
/// 300 us and has no byte counter. Rates in Mb/s, times in us: N, alpha's period, T, F, R_AI, R_HAI, least rate.
#[test]
fn presets_hold_what_their_sources_list() {
    let of = |rp: &DcqcnRpParams| {
        let us = [rp.cnp_interval, rp.alpha_period, rp.time_reset].map(|span| span.ps() / 1_000_000);
        let mbps = [rp.ai_rate, rp.hai_rate, rp.min_rate].map(|rate| rate.get() / 1_000_000);
        (us, rp.threshold, rp.byte_reset.map(Bytes::get), mbps)
    };
    assert_eq!(of(&RP_SIGCOMM2015), ([50, 55, 55], 5, Some(10_000_000), [40, 200, 100]));
    assert_eq!(of(&RP_CONNECTX), ([4, 1, 300], 1, Some(2_097_088), [5, 50, 1]));
    assert_eq!(of(&RP_HPCC_SIMULATOR), ([4, 1, 300], 1, None, [20, 200, 1000]));
    assert_eq!([RP_SIGCOMM2015.g, RP_HPCC_SIMULATOR.g], [0.003_906_25; 2]);
    assert_eq!((1024.0 * (1.0 - RP_CONNECTX.g), 1024.0 * RP_CONNECTX.alpha_initial), (1019.0, 1023.0));
    let marking = |cp: &RampParams| (cp.k_min.get(), cp.k_max.get(), cp.p_max);
    assert_eq!(marking(&CP_SIGCOMM2015), (5_000, 200_000, 0.01));
    assert_eq!(marking(&CP_CONNECTX), (100_000, 400_000, 0.2));
    assert_eq!(marking(&CP_HPCC_SIMULATOR), (400_000, 1_600_000, 0.2));
}

/// 40 Gb/s and 8 us: 40 000 octets.
fn endpoint() -> Endpoint {
    Endpoint { base_rtt: Span::from_us(8), longest_rtt: Span::from_us(8), mtu: Bytes::new(1000), ..LINE.into() }
}

fn acknowledge(rp: &mut DcqcnRp, at: Instant, marked: u32) {
    let newly = Bytes::new(1000);
    let ack = Acknowledgement { newly, packets: 1, marked, sent_at: Instant::ZERO, path: 0, code: 0, hops: &[] };
    let flight = Flight { acknowledged: newly, sent: newly, in_flight: Bytes::ZERO, early: Bytes::ZERO };
    rp.on_transport(at, &TransportEvent::Acknowledged(ack), &flight, &mut dice());
}

/// Marks are heard from CNPs or from acknowledgements, never from both; alpha 1 halves 40 Gb/s.
#[test]
fn a_mark_is_heard_one_way_alone() {
    let (whole, half) = (LINE, BitRate::gbps(20));
    for (notice, by_ack, by_cnp) in [(Notice::Cnp, whole, half), (Notice::Echo, half, whole)] {
        let fresh = Dcqcn::reaction_point(&DcqcnRpParams { notice, ..RP_SIGCOMM2015 }, endpoint());
        let (mut unmarked, mut marked, mut told) = (fresh.clone(), fresh.clone(), fresh.clone());
        acknowledge(&mut unmarked, us(1), 0);
        acknowledge(&mut marked, us(1), 1);
        hear(&mut told, us(1));
        assert_eq!([current(&unmarked), current(&marked), current(&told)], [whole, by_ack, by_cnp], "{notice:?}");
        let events = if notice == Notice::Echo { EventKinds::ACKNOWLEDGEMENTS } else { EventKinds::NONE };
        assert_eq!(fresh.capabilities().events, events);
    }
}

/// At half the rate a window that follows it is half of 40 000 octets.
#[test]
fn a_window_is_permitted_where_there_is_one() {
    for (window, octets) in
        [(WindowRule::Open, None), (WindowRule::Fixed, Some(40_000)), (WindowRule::Scaled, Some(20_000))]
    {
        let mut rp = Dcqcn::reaction_point(&DcqcnRpParams { window, ..RP_SIGCOMM2015 }, endpoint());
        hear(&mut rp, us(1));
        assert_eq!(rp.window(), octets.map(Bytes::new), "{window:?}");
        assert_eq!(rp.capabilities().permits_windows, octets.is_some(), "{window:?}");
    }
}
