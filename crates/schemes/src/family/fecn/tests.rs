//! Hand-worked numbers. Rates in Mb/s where a comment gives none.

use super::*;
use crate::testing::{FRAME, Fabric, LINE, dice, frame, ms, queue, us};

fn cp() -> FecnCp {
    Fecn::congestion_point(&CP_FECN2007, CpId(0))
}

fn rp() -> FecnRp {
    Fecn::reaction_point(&RP_FECN2007, LINE.into())
}

/// What a probe at `at` leaves with, Mb/s.
fn offered(cp: &mut FecnCp, at: Instant, len: u64) -> f64 {
    let mut probe = Probe { kind: ProbeKind::Path, asked_at: at, sent: Bytes::ZERO, rate: LINE };
    assert_eq!(cp.on_probe(at, &mut probe, queue(len)), ProbeAction::Pass);
    probe.rate.as_f64() / 1e6
}

/// Lets `octets` arrive at `at` in one piece.
fn arrive(cp: &mut FecnCp, at: Instant, octets: u64, len: u64) {
    let one = Arrival { size: Bytes::new(octets), ..frame() };
    assert_eq!(cp.on_arrival(at, &one, queue(len), &mut dice()), CpAction::Nothing);
}

/// a = 1.1: 1.1 at 0, 1.1 / 1.05 halfway, 1 at Qeq. b = 1.002: 1.002 / 1.004 at 2 Qeq. c = 0.1 far above.
#[test]
fn a_port_shares_out_a_little_more_than_it_has_until_the_queue_is_there() {
    let cp = cp();
    for (len, share) in [(0, 1.1), (12_000, 1.1 / 1.05), (24_000, 1.0), (48_000, 1.002 / 1.004)] {
        assert!((cp.share(Bytes::new(len)) - share).abs() < 1e-12, "{len}");
    }
    assert_eq!(cp.share(Bytes::new(1_000_000_000)), 0.1);
}

#[test]
fn an_offer_follows_the_overload() {
    let mut cp = cp();
    assert_eq!(offered(&mut cp, us(0), 0), 10_000.0, "no frame yet: no offer");
    // 10 000 / 200 = 50.
    arrive(&mut cp, us(10), 1500, 1500);
    assert_eq!(offered(&mut cp, us(20), 0), 50.0);
    // 623 500 octets more: 625 000 in 1 ms are 5000, half of 10 000 at q = Qeq: rho 0.5, 100; averaged with 50: 75.
    arrive(&mut cp, us(500), 623_500, 24_000);
    assert_eq!(offered(&mut cp, us(1009), 24_000), 50.0);
    assert_eq!(offered(&mut cp, us(1010), 24_000), 75.0);
    // 2 500 000 octets are twice the capacity: 37.5; averaged with 75: 56.25.
    arrive(&mut cp, us(1500), 2_500_000, 24_000);
    assert_eq!(offered(&mut cp, us(2010), 24_000), 56.25);
    // A probe that asks for less keeps it, one for a congestion point is not its business.
    let mut probe = Probe { kind: ProbeKind::Path, asked_at: us(0), sent: Bytes::ZERO, rate: BitRate::mbps(7) };
    let _ = cp.on_probe(us(2011), &mut probe, queue(0));
    assert_eq!(probe.rate, BitRate::mbps(7));
}

/// 1250 octets are 10 of 10 000: r / rho is far past C, the mean of 10 000 and 50 is 5025, and a rise is 1000 at most.
#[test]
fn an_offer_rises_by_a_tenth_of_the_capacity_at_most() {
    for (len, rate) in [(0, 1050.0), (23_999, 1050.0), (24_000, 5025.0)] {
        let mut cp = cp();
        arrive(&mut cp, us(0), 1250, len);
        assert_eq!(offered(&mut cp, ms(1), len), rate, "{len} octets queued");
    }
}

#[test]
fn an_idle_port_starts_anew() {
    for (after_idle, rate) in [(AfterIdle::Start, 50.0), (AfterIdle::Capacity, 10_000.0)] {
        let mut cp = Fecn::congestion_point(&FecnCpParams { after_idle, ..CP_FECN2007 }, CpId(0));
        arrive(&mut cp, us(0), 1250, 0);
        assert_eq!(offered(&mut cp, ms(1), 0), 1050.0);
        assert_eq!(offered(&mut cp, ms(9), 0), rate, "{after_idle:?}");
    }
}

#[test]
fn a_source_asks_while_it_sends_and_takes_what_comes_back() {
    let mut rp = rp();
    assert_eq!(rp.limit(), Some(BitRate::mbps(50)));
    let send = |rp: &mut FecnRp, at| {
        let _ = rp.on_sent(at, FRAME, FRAME, &mut dice());
        rp.take_probe(at)
    };
    let probe = send(&mut rp, us(1)).expect("the first frame brings a probe");
    assert_eq!((probe.kind, probe.rate, probe.asked_at), (ProbeKind::Path, LINE, us(1)));
    assert_eq!(send(&mut rp, us(2)), None);
    rp.on_signal(us(50), &Signal::Returned(Probe { rate: BitRate::mbps(700), ..probe }), &mut dice());
    assert_eq!(rp.limit(), Some(BitRate::mbps(700)));
    // The next one is 1 ms after the first; older news than that is not taken.
    assert_eq!(rp.next_wake(), us(1001));
    rp.on_wake(us(1001), &mut dice());
    let second = rp.take_probe(us(1001)).expect("it is time");
    rp.on_signal(us(1050), &Signal::Returned(Probe { rate: LINE, ..second }), &mut dice());
    assert_eq!((rp.limit(), rp.gauge().current_rate), (None, LINE));
    rp.on_signal(us(1060), &Signal::Returned(Probe { rate: BitRate::mbps(5), ..probe }), &mut dice());
    assert_eq!(rp.limit(), None);
    // Nothing sent since: silent from 2001 us on, until the next frame.
    rp.on_wake(us(2001), &mut dice());
    assert_eq!((rp.take_probe(us(2001)), rp.next_wake()), (None, Instant::NEVER));
    assert!(send(&mut rp, us(3000)).is_some());
    rp.on_signal(
        us(3050),
        &Signal::Returned(Probe { rate: BitRate::bps(3), asked_at: us(3000), ..probe }),
        &mut dice(),
    );
    assert_eq!(rp.limit(), Some(BitRate::mbps(1)), "never below the least rate");
}

/// All sources of a port get the same rate, and together its capacity. Ten become twenty, then the port slows down.
#[test]
fn sources_share_a_port_evenly() {
    let mut fabric = Fabric::<Fecn>::new(20, &CP_FECN2007, &RP_FECN2007, LINE, 5);
    fabric.active = 10;
    let _ = fabric.run(200);
    let even = |fabric: &mut Fabric<Fecn>, hosts: usize, gbps: f64| {
        let seen = fabric.run(100);
        assert!((seen.total() - gbps).abs() < 0.02 * gbps, "{seen:?}");
        let (low, high) = seen.gbps[..hosts].iter().fold((f64::MAX, 0.0f64), |(l, h), x| (l.min(*x), h.max(*x)));
        assert!(high - low < 0.02 * gbps / hosts as f64, "{seen:?}");
    };
    even(&mut fabric, 10, 10.0);
    fabric.active = 20;
    let _ = fabric.run(200);
    even(&mut fabric, 20, 10.0);
    fabric.rate = BitRate::gbps(1);
    let _ = fabric.run(200);
    even(&mut fabric, 20, 1.0);
}

/// 10 000 / 200 = 50, and 1 each 400 us from the first frame; the next probe is due at 1 ms. At line rate it stops.
#[test]
fn the_rate_drifts_below_the_line_rate() {
    let params = FecnRpParams { drift: DriftParams::each(Span::from_us(400), BitRate::mbps(1)), ..RP_FECN2007 };
    let mut rp = Fecn::reaction_point(&params, LINE.into());
    assert_eq!(rp.next_wake(), Instant::NEVER);
    let _ = rp.on_sent(us(0), FRAME, FRAME, &mut dice());
    let probe = rp.take_probe(us(0)).expect("the first frame asks for one");
    for (at, rate) in [(400, 51), (800, 52), (1000, 52)] {
        assert_eq!(rp.next_wake(), us(at));
        rp.on_wake(us(at), &mut dice());
        assert_eq!(rp.limit(), Some(BitRate::mbps(rate)), "at {at} us");
    }
    // A rate that is taken moves the rate and not the timer.
    rp.on_signal(us(1100), &Signal::Returned(Probe { rate: BitRate::mbps(70), ..probe }), &mut dice());
    assert_eq!(rp.next_wake(), us(1200));
    rp.on_wake(us(1200), &mut dice());
    assert_eq!(rp.limit(), Some(BitRate::mbps(71)));
    rp.on_signal(us(1300), &Signal::Returned(probe), &mut dice());
    assert_eq!((rp.limit(), rp.next_wake()), (None, Instant::NEVER));
}

/// A frame closes the interval by the queue that it found: 22 500 octets are below the set point, where a rise is 1000 at
/// most. A frame that was discarded found all of the 24 000.
#[test]
fn an_arriving_frame_does_not_count_itself() {
    for (admitted, rate) in [(true, 1050.0), (false, 5025.0)] {
        let mut cp = cp();
        arrive(&mut cp, us(0), 1250, 1250);
        let one = Arrival { admitted, ..frame() };
        assert_eq!(cp.on_arrival(ms(1), &one, queue(24_000), &mut dice()), CpAction::Nothing);
        assert_eq!(offered(&mut cp, us(1001), 24_000), rate, "admitted: {admitted}");
    }
}

/// The interval with frames counts before the idle ones, although all are closed at once.
#[test]
fn idle_intervals_count_after_the_one_with_frames() {
    for (at, rate) in [(us(1999), 1050.0), (us(2000), 50.0), (ms(9), 50.0)] {
        let mut cp = cp();
        arrive(&mut cp, us(0), 1250, 0);
        assert_eq!(offered(&mut cp, at, 0), rate, "at {at}");
    }
}

/// Interval ends stay at whole milliseconds after the first frame, however long nothing came: asked at 9.5 ms, the port has
/// offered 50 anew. 625 000 octets up to 10 ms are half of the capacity: 100, averaged with 50.
#[test]
fn intervals_go_on_behind_idle_ones() {
    let mut cp = cp();
    arrive(&mut cp, us(0), 1250, 0);
    assert_eq!(offered(&mut cp, us(9500), 0), 50.0);
    arrive(&mut cp, us(9600), 625_000, 24_000);
    assert_eq!(offered(&mut cp, us(9999), 24_000), 50.0);
    assert_eq!(offered(&mut cp, us(10_000), 24_000), 75.0);
    assert_eq!(offered(&mut cp, us(10_999), 24_000), 75.0);
}

/// With `capacity` an idle port offers all of it only if nothing is queued; with octets queued it offers what it did.
#[test]
fn an_idle_port_with_a_queue_offers_what_it_did() {
    for (len, rate) in [(0, 10_000.0), (1, 1050.0)] {
        let mut cp = Fecn::congestion_point(&FecnCpParams { after_idle: AfterIdle::Capacity, ..CP_FECN2007 }, CpId(0));
        arrive(&mut cp, us(0), 1250, 0);
        assert_eq!(offered(&mut cp, ms(1), 0), 1050.0);
        assert_eq!(offered(&mut cp, ms(9), len), rate, "{len} octets queued");
    }
}

/// With an empty queue 1.1 of the capacity is shared out: twice the capacity is rho = 2 / 1.1, and 50 / rho = 27.5; averaged
/// with 50: 38.75.
#[test]
fn the_overload_is_measured_against_what_is_shared_out() {
    let mut cp = cp();
    arrive(&mut cp, us(0), 2_500_000, 0);
    assert_eq!(offered(&mut cp, ms(1), 0), 38.75);
}
