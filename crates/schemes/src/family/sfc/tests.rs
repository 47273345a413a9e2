use super::*;
use crate::roles::ReactionPoint;
use crate::testing::{dice, frame, queue, us};
use qcnlab_units::BitRate;

fn port(change: impl FnOnce(&mut SfcCpParams)) -> SfcCp {
    let mut params = CP_OURS;
    change(&mut params);
    Sfc::congestion_point(&params, CpId(7))
}

/// What a flow is told when a frame of it comes at `at` us and makes a queue of `len` octets at 10 Gb/s, ns.
fn told(port: &mut SfcCp, at: u64, flow: u32, len: u64) -> Option<u64> {
    let arrival = Arrival { flow: FlowId(flow), ..frame() };
    match port.on_arrival(us(at), &arrival, queue(len), &mut dice()) {
        CpAction::Send(Signal::SourcePause(SourcePause { cp: CpId(7), time })) => Some(time.ps() / 1000),
        CpAction::Nothing => None,
        other => panic!("{other:?}"),
    }
}

/// 100 KB is the threshold; of 120 KB, 70 KB are above the target of 50: at 10 Gb/s they take 56 us.
#[test]
fn a_sender_stops_for_what_the_queue_needs() {
    let mut port = port(|_| ());
    assert_eq!([100_000, 120_000].map(|len| told(&mut port, 0, 1, len)), [None, Some(56_000)]);
    let mut port = self::port(|params| params.signalling_delay = Span::from_us(6));
    assert_eq!(told(&mut port, 0, 1, 120_000), Some(50_000));
    // 100 001 octets less 50 000 take 40 000.8 ns, which the message takes, too: there is nothing left to wait for.
    let mut port = self::port(|params| params.signalling_delay = Span::from_us(41));
    assert_eq!(told(&mut port, 0, 1, 100_001), None);
    // A target above the threshold is reached before the threshold is.
    let mut port = self::port(|params| params.target = Bytes::new(130_000));
    assert_eq!([120_000, 140_000].map(|len| told(&mut port, 0, 1, len)), [None, Some(8_000)]);
}

#[test]
fn a_flow_is_told_once_in_a_while_and_others_beside_it() {
    let mut port = port(|_| ());
    let told =
        [(0, 1), (9, 1), (9, 2), (10, 1), (15, 1)].map(|(at, flow)| told(&mut port, at, flow, 110_000).is_some());
    assert_eq!(told, [true, false, true, true, false]);
}

#[test]
fn discarded_frames_count_as_declared_and_others_never() {
    for count_discarded in [true, false] {
        let mut port = port(|params| params.count_discarded = count_discarded);
        let lost = Arrival { admitted: false, ..frame() };
        let action = port.on_arrival(us(0), &lost, queue(150_000), &mut dice());
        assert_eq!(action != CpAction::Nothing, count_discarded);
        let other = Arrival { controlled: false, flow: FlowId(2), ..frame() };
        assert_eq!(port.on_arrival(us(0), &other, queue(150_000), &mut dice()), CpAction::Nothing);
    }
}

/// With 5000 flows of which each is told once, it remembers no more than those of the last 10 us, and half as many again.
#[test]
fn it_forgets_flows_that_may_be_told_again() {
    let mut port = port(|_| ());
    for flow in 0..5000 {
        assert!(told(&mut port, u64::from(flow), flow, 110_000).is_some());
        assert!(port.told.len() <= 1024);
    }
}

#[test]
fn the_later_end_of_two_pauses_holds() {
    let params = SfcRpParams { longest_pause: Span::from_us(100) };
    let line = BitRate::gbps(100);
    let mut rp = Sfc::reaction_point(&params, line.into());
    let hear = |rp: &mut SfcRp, at, time| {
        let pause = SourcePause { cp: CpId(7), time: Span::from_us(time) };
        rp.on_signal(us(at), &Signal::SourcePause(pause), &mut dice());
        (rp.limit(), rp.next_wake())
    };
    assert_eq!(hear(&mut rp, 0, 0), (None, Instant::NEVER));
    assert_eq!(hear(&mut rp, 1, 30), (Some(BitRate::ZERO), us(31)));
    assert_eq!(hear(&mut rp, 11, 10), (Some(BitRate::ZERO), us(31)));
    assert_eq!(hear(&mut rp, 21, 20), (Some(BitRate::ZERO), us(41)));
    rp.on_wake(us(31), &mut dice());
    assert_eq!(
        (rp.limit(), rp.gauge().current_rate, rp.gauge().target_rate),
        (Some(BitRate::ZERO), BitRate::ZERO, line)
    );
    rp.on_wake(us(41), &mut dice());
    assert_eq!((rp.limit(), rp.next_wake(), rp.gauge().current_rate), (None, Instant::NEVER, line));
    // No longer than 100 us.
    assert_eq!(hear(&mut rp, 50, 1000), (Some(BitRate::ZERO), us(150)));
}
