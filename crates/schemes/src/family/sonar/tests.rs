//! Hand-worked numbers.

use super::*;
use crate::dice::Purpose;
use crate::roles::{Cnm, FlowId};

const LINE: BitRate = BitRate::gbps(10);
const FRAME: Bytes = Bytes::new(1500);

fn dice() -> Dice {
    Dice::new(1, 0, "test", Purpose::Reaction)
}

fn us(n: u64) -> Instant {
    Instant::ZERO + Span::from_us(n)
}

fn rp(params: SonarRpParams) -> SonarRp {
    let mut rp = Sonar::reaction_point(&params, LINE.into());
    rp.on_signal(us(0), &cnm(32), &mut dice());
    rp
}

fn cnm(quantized_fb: u8) -> Signal {
    Signal::Cnm(Cnm { cp: CpId(0), quantized_fb, q_offset: -10_000, q_delta: 0 })
}

fn send(rp: &mut SonarRp, at: Instant) -> bool {
    rp.on_sent(at, FRAME, FRAME, &mut dice()).probe
}

/// Current and target rate, Mb/s.
fn rates(rp: &SonarRp) -> (u64, u64) {
    let gauge = rp.gauge();
    (gauge.current_rate.get() / 1_000_000, gauge.target_rate.get() / 1_000_000)
}

#[test]
fn silence_leads_through_the_three_states_to_increases() {
    let mut rp = rp(RP_DECK000);
    assert_eq!(rates(&rp), (7500, 10_000));
    // 10 ms after the message the next frame is special; 2 ms of silence start the short fuse.
    assert_eq!(rp.next_wake(), us(10_000));
    assert!(!send(&mut rp, us(9_000)));
    rp.on_wake(us(10_000), &mut dice());
    assert!(send(&mut rp, us(10_100)));
    assert!(!send(&mut rp, us(10_200)), "one frame is special");
    assert_eq!(rp.next_wake(), us(12_100));
    rp.on_wake(us(12_100), &mut dice());
    // It asked when the special frame left, at 10.1 ms.
    assert_eq!(rp.observation(), Some(Observation::Sonar(SonarObservation { alarms: 1, asked_at: us(10_100) })));
    assert_eq!(rates(&rp), (7500, 10_000), "entering is not an increase");
    // 0.5 ms later: 10 000 + 5 * 1, (7500 + 10 005) / 2 = 8752; then + 5 * 2: (8752.5 + 10 015) / 2 = 9383.
    assert_eq!(rp.next_wake(), us(12_600));
    rp.on_wake(us(12_600), &mut dice());
    assert_eq!(rates(&rp), (8752, 10_005));
    assert!(send(&mut rp, us(12_700)), "each short fuse sends another special frame");
    rp.on_wake(us(13_100), &mut dice());
    assert_eq!(rates(&rp), (9383, 10_015));
}

#[test]
fn an_echo_ends_it_and_so_does_a_message() {
    let hyper = || {
        let mut rp = rp(RP_DECK000);
        rp.on_wake(us(10_000), &mut dice());
        let _ = send(&mut rp, us(10_000));
        rp.on_wake(us(12_000), &mut dice());
        rp
    };
    let mut rp = hyper();
    rp.on_signal(us(12_100), &Signal::Echo(CpId(0)), &mut dice());
    assert_eq!(rp.next_wake(), us(22_100), "back to waiting, 10 ms");
    assert_eq!(rates(&rp), (7500, 10_000), "an echo leaves the rates alone");
    let mut rp = hyper();
    rp.on_signal(us(12_100), &cnm(32), &mut dice());
    assert_eq!((rates(&rp), rp.next_wake()), ((5625, 10_000), us(22_100)));
}

/// Drift wakes it too. Until 10 ms no frame is special, and until 2 ms after the special one silence means nothing.
#[test]
fn an_early_wake_up_leaves_the_ping_timer_alone() {
    let mut rp = rp(RP_DECK000);
    rp.on_wake(us(9_999), &mut dice());
    assert!(!send(&mut rp, us(9_999)));
    assert_eq!(rp.next_wake(), us(10_000));
    rp.on_wake(us(10_000), &mut dice());
    assert!(send(&mut rp, us(10_000)));
    rp.on_wake(us(11_999), &mut dice());
    assert_eq!(rp.next_wake(), us(12_000), "it still waits for the echo");
    assert_eq!(rp.observation(), Some(Observation::Sonar(SonarObservation { alarms: 0, asked_at: us(10_000) })));
}

#[test]
fn an_echo_out_of_season_is_not_heard() {
    let mut rp = rp(RP_DECK000);
    rp.on_signal(us(5_000), &Signal::Echo(CpId(0)), &mut dice());
    assert_eq!(rp.next_wake(), us(10_000));
}

#[test]
fn the_other_reading_waits_for_each_echo() {
    let mut rp = rp(SonarRpParams { after_fuse: AfterFuse::WaitForEcho, ..RP_DECK000 });
    rp.on_wake(us(10_000), &mut dice());
    let _ = send(&mut rp, us(10_000));
    rp.on_wake(us(12_000), &mut dice());
    rp.on_wake(us(12_500), &mut dice());
    assert_eq!(rp.next_wake(), Instant::NEVER, "it waits for a frame to send");
    assert!(send(&mut rp, us(12_600)));
    assert_eq!(rp.next_wake(), us(14_600));
}

#[test]
fn a_port_echoes_while_it_has_no_bandwidth() {
    let mut cp = Sonar::congestion_point(&CP_DECK000, CpId(3));
    let frame = |probe| Arrival {
        flow: FlowId(0),
        size: FRAME,
        admitted: true,
        controlled: true,
        cn_tagged: true,
        limited_by: None,
        probe,
        mark: 0,
    };
    let queue = |len| Queue { len: Bytes::new(len), capacity: Bytes::new(150_000), rate: LINE };
    let mut rolls = dice();
    let mut ask = |cp: &mut SonarCp, at, probe, len| cp.on_arrival(at, &frame(probe), queue(len), &mut rolls);
    assert_eq!(ask(&mut cp, us(0), true, 1500), CpAction::Nothing, "a port starts with bandwidth");
    assert_eq!(ask(&mut cp, us(10), true, 9000), CpAction::Send(Signal::Echo(CpId(3))));
    assert_eq!(ask(&mut cp, us(20), false, 9000), CpAction::Nothing, "only special frames are echoed");
    // The queue falls below six frames at 1 ms: bandwidth from 11 ms on.
    cp.on_departure(us(1_000), Bytes::new(7500));
    assert_eq!(ask(&mut cp, us(10_999), true, 3000), CpAction::Send(Signal::Echo(CpId(3))));
    assert_eq!(ask(&mut cp, us(11_000), true, 3000), CpAction::Nothing);
}

/// Bandwidth below 30 000 octets. The 101st frame is the sample: 20 000 octets after an empty queue, so
/// Fb = 13 000 - 2 * 20 000 < 0, congestion whatever the threshold says. Special frames are echoed for 10 ms from then on.
#[test]
fn a_short_queue_that_grows_fast_has_no_bandwidth() {
    let bandwidth = BandwidthParams { available_below: Bytes::new(30_000), ..BandwidthParams::DECK000 };
    let mut cp = Sonar::congestion_point(&SonarCpParams { bandwidth, ..CP_DECK000 }, CpId(3));
    let special = Arrival {
        flow: FlowId(0),
        size: FRAME,
        admitted: true,
        controlled: true,
        cn_tagged: true,
        limited_by: None,
        probe: true,
        mark: 0,
    };
    let queue = Queue { len: Bytes::new(20_000), capacity: Bytes::new(150_000), rate: LINE };
    let mut rolls = dice();
    let mut ask = |at| cp.on_arrival(at, &special, queue, &mut rolls);
    assert!((0..100).all(|_| ask(us(1000)) == CpAction::Nothing));
    // 27 000 * 63 / 165 000 = 10.3.
    let cnm = Cnm { cp: CpId(3), quantized_fb: 10, q_offset: 13_000, q_delta: 20_000 };
    assert_eq!(ask(us(1000)), CpAction::Send(Signal::Cnm(cnm)));
    assert_eq!(ask(us(10_999)), CpAction::Send(Signal::Echo(CpId(3))));
    assert_eq!(ask(us(11_000)), CpAction::Nothing);
}

/// A special frame is echoed though the full queue discards it; read the other way it asks nothing, and silence follows.
#[test]
fn a_discarded_special_frame_is_echoed_unless_told_otherwise() {
    for (echo_discarded, answer) in [(true, CpAction::Send(Signal::Echo(CpId(3)))), (false, CpAction::Nothing)] {
        let mut cp = Sonar::congestion_point(&SonarCpParams { echo_discarded, ..CP_DECK000 }, CpId(3));
        let special = Arrival {
            flow: FlowId(0),
            size: FRAME,
            admitted: false,
            controlled: true,
            cn_tagged: true,
            limited_by: None,
            probe: true,
            mark: 0,
        };
        let full = Queue { len: Bytes::new(150_000), capacity: Bytes::new(150_000), rate: LINE };
        assert_eq!(cp.on_arrival(us(1), &special, full, &mut dice()), answer, "{echo_discarded}");
        let admitted = Arrival { admitted: true, ..special };
        assert_eq!(cp.on_arrival(us(2), &admitted, full, &mut dice()), CpAction::Send(Signal::Echo(CpId(3))));
        let plain = Arrival { controlled: false, ..special };
        assert_eq!(cp.on_arrival(us(3), &plain, full, &mut dice()), CpAction::Nothing);
    }
}

/// Read the other way, each fuse asks again: silence then goes on with the increases, and is one alarm still.
#[test]
fn silence_after_silence_is_one_alarm() {
    let mut rp = rp(SonarRpParams { after_fuse: AfterFuse::WaitForEcho, ..RP_DECK000 });
    rp.on_wake(us(10_000), &mut dice());
    assert!(send(&mut rp, us(10_100)));
    rp.on_wake(us(12_100), &mut dice());
    rp.on_wake(us(12_600), &mut dice());
    assert!(send(&mut rp, us(12_700)));
    assert_eq!(rp.next_wake(), us(14_700));
    rp.on_wake(us(14_700), &mut dice());
    assert_eq!(rp.observation(), Some(Observation::Sonar(SonarObservation { alarms: 1, asked_at: us(12_700) })));
    rp.on_wake(us(15_200), &mut dice());
    assert_eq!(rates(&rp), (9383, 10_015));
}

/// Frames until the rate changes, by the byte counter alone.
fn frames_of_a_cycle(rp: &mut SonarRp) -> u32 {
    let before = rp.gauge();
    (1..)
        .find(|_| {
            let _ = send(rp, us(1));
            rp.gauge() != before
        })
        .expect("a cycle")
}

/// 150 000 octets are 100 frames, and half of them 50: the next one ends the cycle. Five cycles of fast recovery from 7500 to
/// 10 000; from the sixth on each adds 5 to the target, and cycles are short.
#[test]
fn cycles_by_octets_are_short_after_fast_recovery() {
    let limiter = qcn::QcnRpParams { jitter_width: 0.0, ..RP_DECK000.limiter };
    let mut rp = rp(SonarRpParams { limiter, ..RP_DECK000 });
    let cycles: Vec<(u32, (u64, u64))> = (0..7).map(|_| (frames_of_a_cycle(&mut rp), rates(&rp))).collect();
    assert_eq!(
        cycles,
        [
            (101, (8750, 10_000)),
            (101, (9375, 10_000)),
            (101, (9687, 10_000)),
            (101, (9843, 10_000)),
            (101, (9921, 10_000)),
            (51, (9963, 10_005)),
            (51, (9986, 10_010)),
        ]
    );
}

/// Cuts in the first cycle leave the target at 10 000; at 78 the end of that cycle takes it to an eighth, where that is
/// asked for: (78.125 + 1250) / 2 = 664. Otherwise it stays: 5039.
#[test]
fn a_far_target_is_reduced_at_the_end_of_the_first_cycle_where_that_is_asked_for() {
    for (target_rate_reduction, first, second) in
        [(true, (664, 1250), (957, 1250)), (false, (5039, 10_000), (7519, 10_000))]
    {
        let limiter = qcn::QcnRpParams { jitter_width: 0.0, target_rate_reduction, ..RP_DECK000.limiter };
        let mut rp = Sonar::reaction_point(&SonarRpParams { limiter, ..RP_DECK000 }, LINE.into());
        for _ in 0..7 {
            rp.on_signal(us(0), &cnm(64), &mut dice());
        }
        assert_eq!(rates(&rp), (78, 10_000));
        let _ = frames_of_a_cycle(&mut rp);
        assert_eq!(rates(&rp), first);
        let _ = frames_of_a_cycle(&mut rp);
        assert_eq!(rates(&rp), second);
    }
}

#[test]
fn it_limits_from_the_first_message_on() {
    assert_eq!(Sonar::reaction_point(&RP_DECK000, LINE.into()).limit(), None);
    assert_eq!(rp(RP_DECK000).limit(), Some(BitRate::mbps(7500)));
}

/// Hyper-active increase with a step of its own: 10 000 + 50, then + 50 or + 50 * 2. The byte counter's sixth cycle,
/// outside of it, adds the other step, 5.
#[test]
fn hyper_active_increase_may_have_a_step_of_its_own() {
    use crate::parts::stages::HaiStep;
    for (hai_step, second) in [(HaiStep::Constant, 10_100), (HaiStep::Scaled, 10_150)] {
        let limiter = qcn::QcnRpParams { hai_step, ..RP_DECK000.limiter };
        let params = SonarRpParams { hai_rate: Some(BitRate::mbps(50)), limiter, ..RP_DECK000 };
        let mut hyper = rp(params);
        hyper.on_wake(us(10_000), &mut dice());
        let _ = send(&mut hyper, us(10_000));
        hyper.on_wake(us(12_000), &mut dice());
        hyper.on_wake(us(12_500), &mut dice());
        assert_eq!(rates(&hyper).1, 10_050, "{hai_step:?}");
        hyper.on_wake(us(13_000), &mut dice());
        assert_eq!(rates(&hyper).1, second, "{hai_step:?}");
        let mut active = rp(params);
        let SonarState::Limiting(limiter) = &mut active.state else { panic!("it does not limit") };
        for _ in 0..6 {
            limiter.end_cycle(&params, LINE, &mut dice());
        }
        assert_eq!(rates(&active).1, 10_005);
    }
}
