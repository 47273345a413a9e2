//! Numbers worked by hand.

use super::*;
use crate::roles::{FlowId, Grant, Reached};
use crate::testing::{dice, us};

/// 100 Gb/s and 12 us, packets of 4096 octets: a product of 150 000 octets, a window of 225 000.
fn endpoint() -> Endpoint {
    let rtt = Span::from_us(12);
    Endpoint { line_rate: BitRate::gbps(100), base_rtt: rtt, longest_rtt: rtt, mtu: Bytes::new(4096), hops: 1 }
}

fn pacer() -> Box<dyn CreditPoint> {
    Rccc::credit_point(&RP_UET_HTSIM, endpoint()).unwrap()
}

fn rp() -> RcccRp {
    Rccc::reaction_point(&RP_UET_HTSIM, endpoint())
}

fn packet(flow: u32, cut: bool) -> Reached {
    Reached { flow: FlowId(flow), total: Some(Bytes::new(2_000_000)), payload: Bytes::new(4096), cut }
}

fn grant(flow: u32, credit: u64) -> Option<Grant> {
    Some(Grant { flow: FlowId(flow), credit: Bytes::new(credit) })
}

fn tell(rp: &mut RcccRp, event: TransportEvent<'_>, acknowledged: u64, sent: u64, in_flight: u64, early: u64) {
    let [acknowledged, sent, in_flight, early] = [acknowledged, sent, in_flight, early].map(Bytes::new);
    rp.on_transport(us(1), &event, &Flight { acknowledged, sent, in_flight, early }, &mut dice());
}

/// Credit for four packets, 16 384 octets and 256 of headers, at 99 Gb/s: 133 120 bit take 1 344 647 ps. Two flows have it in
/// turn, on top of the first window.
#[test]
fn credit_is_given_in_turn_at_the_pace_of_the_link() {
    let mut pacer = pacer();
    assert_eq!(pacer.next_wake(), Instant::NEVER);
    pacer.on_packet(us(10), &packet(7, false));
    pacer.on_packet(us(10), &packet(3, false));
    assert_eq!(pacer.next_wake(), us(10));
    assert_eq!(pacer.on_wake(us(9)), None);
    // Of 4096 octets that came, 16 384 would go beyond a window: flow 7 must wait for three more packets.
    assert_eq!((pacer.on_wake(us(10)), pacer.next_wake()), (None, Instant::NEVER));
    for flow in [7, 7, 7, 3, 3, 3] {
        pacer.on_packet(us(11), &packet(flow, false));
    }
    assert_eq!(pacer.on_wake(us(11)), grant(7, 225_000 + 16_384));
    let later = us(11) + Span::from_ps(1_344_647);
    assert_eq!((pacer.next_wake(), pacer.on_wake(us(12))), (later, None));
    assert_eq!(pacer.on_wake(later), grant(3, 225_000 + 16_384));
}

/// A message of 230 000 octets needs 5000 beyond the first window, and 4096 more for each packet that came cut.
#[test]
fn a_flow_is_given_what_it_needs_and_what_came_cut_again() {
    let mut pacer = pacer();
    let reached = |cut| Reached { total: Some(Bytes::new(230_000)), ..packet(1, cut) };
    pacer.on_packet(us(0), &reached(false));
    pacer.on_packet(us(0), &reached(true));
    assert_eq!(pacer.on_wake(us(0)), None, "9096 octets would go beyond a window of which 8192 came");
    pacer.on_packet(us(1), &reached(false));
    assert_eq!((pacer.on_wake(us(1)), pacer.next_wake()), (grant(1, 234_096), Instant::NEVER));
    pacer.on_packet(us(2), &reached(true));
    // The link was free again 74 304 bit at 99 Gb/s after 1 us: before 2 us.
    assert_eq!((pacer.next_wake(), pacer.on_wake(us(2))), (us(2), grant(1, 238_192)));
}

/// A message that is whole is given nothing any more, whatever it seemed to need.
#[test]
fn who_has_all_gives_no_more() {
    let mut pacer = pacer();
    for _ in 0..4 {
        pacer.on_packet(us(0), &packet(1, false));
    }
    pacer.on_whole(FlowId(1));
    assert_eq!((pacer.on_wake(us(0)), pacer.next_wake()), (None, Instant::NEVER));
}

/// A stream without end has a window under way and no more: of 55 packets of the first window that came, 54 pay for 13 credits
/// of four, 52 packets.
#[test]
fn a_stream_has_a_window_under_way() {
    let mut pacer = pacer();
    let mut grants = 0;
    for n in 0..55 {
        pacer.on_packet(us(10 * n), &Reached { total: None, ..packet(1, false) });
        grants += u32::from(pacer.on_wake(us(10 * n)).is_some());
    }
    assert_eq!(grants, 13);
}

/// A sender begins with 225 000 octets. Credit only grows; an older one that comes late changes nothing.
#[test]
fn a_sender_counts_what_it_was_told() {
    let mut rp = rp();
    let mut after = |octets| {
        rp.on_signal(us(1), &Signal::Credit(Bytes::new(octets)), &mut dice());
        rp.credit().get()
    };
    assert_eq!([241_384, 230_000, 257_768].map(&mut after), [241_384, 241_384, 257_768]);
    assert!(rp.capabilities().sends_by_credit && !rp.capabilities().limits);
}

/// What is taken for lost goes again for nothing: a packet, or after a timeout all that was not acknowledged and has not come,
/// 100 000 - 20 000 - 30 000 octets. Where a negative acknowledgement has taken everything back, that: 80 000.
#[test]
fn what_was_lost_goes_again_without_credit() {
    let mut rp = rp();
    tell(&mut rp, TransportEvent::NegativelyAcknowledged, 20_000, 100_000, 80_000, 0);
    assert_eq!(rp.credit(), Bytes::new(229_096));
    tell(&mut rp, TransportEvent::Lost(LossSign::Gap), 20_000, 100_000, 80_000, 0);
    assert_eq!(rp.credit(), Bytes::new(233_192));
    tell(&mut rp, TransportEvent::Lost(LossSign::Timeout), 20_000, 100_000, 80_000, 30_000);
    assert_eq!(rp.credit(), Bytes::new(283_192));
    tell(&mut rp, TransportEvent::NegativelyAcknowledged, 20_000, 100_000, 0, 0);
    assert_eq!(rp.credit(), Bytes::new(363_192));
    rp.on_signal(us(2), &Signal::Credit(Bytes::new(241_384)), &mut dice());
    assert_eq!(rp.credit(), Bytes::new(241_384 + 138_192));
}
