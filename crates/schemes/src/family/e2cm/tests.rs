//! Hand-worked numbers. Full scale is 5 * 37 500 octets = 2929.6875 pages of 64: Gi 1000 / that, Gd 0.5 / that.

use super::*;
use crate::parts::drift::DriftParams;
use crate::testing::{FRAME, Fabric, LINE, dice, us};

const STILL: E2cmRpParams =
    E2cmRpParams { limiter: ecm::EcmRpParams { drift: DriftParams::OFF, ..RP_IBM_ZRL.limiter }, ..RP_IBM_ZRL };

/// A message of full scale: 10 Gb/s are halved.
fn full() -> Signal {
    Signal::Bcn(Bcn { cp: CpId(3), q_offset: -37_500, q_delta: 75_000, stop: false })
}

/// Limited to 5 Gb/s at 0 us, and the probe that goes at once.
fn limited(params: E2cmRpParams) -> (E2cmRp, Probe) {
    let mut rp = E2cm::reaction_point(&params, LINE.into());
    assert_eq!(rp.take_probe(us(0)), None, "no probe without a limiter");
    rp.on_signal(us(0), &full(), &mut dice());
    assert_eq!(rp.limit(), Some(BitRate::gbps(5)));
    let probe = rp.take_probe(us(0)).expect("a limiter asks at once");
    (rp, probe)
}

fn send(rp: &mut E2cmRp, at: Instant, frames: u32) {
    for _ in 0..frames {
        assert_eq!(rp.on_sent(at, FRAME, FRAME, &mut dice()), Stamp::default(), "no tag, so no positive feedback");
    }
}

fn kbps(rp: &E2cmRp) -> u64 {
    rp.gauge().current_rate.get() / 1000
}

#[test]
fn a_probe_goes_for_each_thirty_kilobytes() {
    let (mut rp, first) = limited(STILL);
    assert_eq!((first.kind, first.sent), (ProbeKind::Path, Bytes::ZERO));
    send(&mut rp, us(10), 19);
    assert_eq!(rp.take_probe(us(10)), None);
    send(&mut rp, us(11), 1);
    assert_eq!(rp.take_probe(us(11)).map(|probe| probe.sent), Some(Bytes::new(30_000)));
    assert_eq!(rp.take_probe(us(11)), None);
}

/// The first probe sets the base: nothing queued. 7500 octets of room are 117.1875 pages: + 40 Mb/s.
#[test]
fn room_on_the_path_raises_the_rate() {
    let (mut rp, probe) = limited(STILL);
    send(&mut rp, us(50), 10);
    rp.on_signal(us(100), &Signal::Returned(probe), &mut dice());
    assert_eq!(kbps(&rp), 5_040_000);
}

/// Base 100 us. Then a round trip of 200 us with 45 000 octets sent meanwhile: 22 500 of them were queued.
/// Fbp = (7500 - 22 500) - 2 * 22 500 = -60 000 octets, 937.5 pages: 16 %.
#[test]
fn a_queue_on_the_path_cuts_it() {
    let (mut rp, probe) = limited(STILL);
    rp.on_signal(us(100), &Signal::Returned(probe), &mut dice());
    assert_eq!(kbps(&rp), 5_040_000);
    send(&mut rp, us(100), 20);
    let second = rp.take_probe(us(100)).expect("30 000 octets");
    send(&mut rp, us(200), 30);
    rp.on_signal(us(300), &Signal::Returned(second), &mut dice());
    // 5040 * 0.84 = 4233.6.
    assert_eq!((rp.path_len, kbps(&rp)), (22_500, 4_233_600));
}

/// 22 500 octets are queued as the last probe of a limiter comes back. A drift of 10 Gb/s ends the limiter; the next one
/// remembers the base of 100 us and no queue: Fbp = (7500 - 22 500) - 2 (22 500 - 0) cuts 5000 by 16 % to 4200. Measured
/// from the queue of the limiter before, it were 4 %.
#[test]
fn a_new_limiter_has_no_path_queue_to_compare_with() {
    let limiter = ecm::EcmRpParams { drift: DriftParams::each(Span::from_ms(1), BitRate::gbps(10)), ..STILL.limiter };
    let (mut rp, probe) = limited(E2cmRpParams { limiter, ..STILL });
    rp.on_signal(us(100), &Signal::Returned(probe), &mut dice());
    send(&mut rp, us(100), 20);
    let second = rp.take_probe(us(100)).expect("30 000 octets");
    send(&mut rp, us(200), 30);
    rp.on_signal(us(300), &Signal::Returned(second), &mut dice());
    assert_eq!((rp.path_len, kbps(&rp)), (22_500, 4_233_600));
    rp.on_wake(us(1000), &mut dice());
    assert_eq!((rp.limit(), rp.take_probe(us(1000))), (None, None));
    rp.on_signal(us(1500), &full(), &mut dice());
    let third = rp.take_probe(us(1500)).expect("a limiter asks at once");
    send(&mut rp, us(1600), 30);
    rp.on_signal(us(1700), &Signal::Returned(third), &mut dice());
    assert_eq!((rp.path_len, kbps(&rp)), (22_500, 4_200_000));
}

#[test]
fn the_switch_goes_first() {
    let (mut rp, probe) = limited(STILL);
    rp.on_signal(us(50), &full(), &mut dice());
    assert_eq!(kbps(&rp), 2_500_000);
    rp.on_signal(us(100), &Signal::Returned(probe), &mut dice());
    assert_eq!(kbps(&rp), 2_500_000, "the probe left before the last cut");
    send(&mut rp, us(101), 20);
    let second = rp.take_probe(us(101)).expect("30 000 octets");
    rp.on_signal(us(200), &Signal::Returned(second), &mut dice());
    assert_eq!(kbps(&rp), 2_540_000);
}

/// Four sources of 10 Gb/s at a port of 10 Gb/s: it stays busy, no frame is lost once it has settled, and each gets
/// about a quarter.
#[test]
fn sources_keep_a_port_busy_and_share_it() {
    let mut fabric = Fabric::<E2cm>::new(4, &ecm::CP_IBM_ZRL, &RP_IBM_ZRL, LINE, 5);
    let _ = fabric.run(200);
    let drops = fabric.drops;
    let seen = fabric.run(200);
    assert!(seen.total() > 9.8 && fabric.drops == drops, "{seen:?}");
    assert!(seen.gbps.iter().all(|gbps| (2.0..3.0).contains(gbps)), "{seen:?}");
}

/// After the 22 500 octets of the second probe a third finds as many: no growth. Fbp = 7500 - 22 500 = -15 000 octets,
/// 234.375 pages: 4 % of 4233.6 are 169.3.
#[test]
fn a_queue_on_the_path_that_stays_has_not_grown() {
    let (mut rp, probe) = limited(STILL);
    rp.on_signal(us(100), &Signal::Returned(probe), &mut dice());
    send(&mut rp, us(100), 20);
    let second = rp.take_probe(us(100)).expect("30 000 octets");
    send(&mut rp, us(200), 30);
    rp.on_signal(us(300), &Signal::Returned(second), &mut dice());
    let third = rp.take_probe(us(300)).expect("45 000 octets more");
    send(&mut rp, us(400), 30);
    rp.on_signal(us(500), &Signal::Returned(third), &mut dice());
    assert_eq!((rp.path_len, kbps(&rp)), (22_500, 4_064_256));
}

/// On a path without delay a probe is back at the instant at which it left, and counts. One that left later than now, or
/// before the last cut, does not.
#[test]
fn a_probe_counts_from_the_instant_at_which_it_left() {
    for (asked_at, rate) in [(us(9), 5_000_000), (us(10), 5_040_000), (us(11), 5_000_000)] {
        let mut rp = E2cm::reaction_point(&STILL, LINE.into());
        rp.on_signal(us(10), &full(), &mut dice());
        let probe = rp.take_probe(us(10)).expect("a limiter asks at once");
        rp.on_signal(us(10), &Signal::Returned(Probe { asked_at, ..probe }), &mut dice());
        assert_eq!(kbps(&rp), rate, "asked at {asked_at}");
    }
}

/// A message that leaves the rate as it is, here room told by a congestion point that does not hold the limiter, makes no
/// probe stale.
#[test]
fn a_message_that_changes_nothing_makes_no_probe_stale() {
    let (mut rp, probe) = limited(STILL);
    rp.on_signal(us(50), &Signal::Bcn(Bcn { cp: CpId(9), q_offset: 64, q_delta: 0, stop: false }), &mut dice());
    assert_eq!(kbps(&rp), 5_000_000);
    rp.on_signal(us(100), &Signal::Returned(probe), &mut dice());
    assert_eq!(kbps(&rp), 5_040_000);
}
