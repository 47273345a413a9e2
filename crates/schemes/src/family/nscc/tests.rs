//! Hand-worked numbers, most in the network that Ultra Ethernet's numbers are for: 100 Gb/s, 12 us, packets of 4096 octets.

use super::*;
use crate::roles::{Acknowledgement, EventKind, Flight, LossSign, ReactionPoint, TransportEvent};
use crate::testing::{dice, us};
use qcnlab_units::Instant;

const ENDPOINT: Endpoint = Endpoint {
    line_rate: BitRate::gbps(100),
    base_rtt: Span::from_us(12),
    longest_rtt: Span::from_us(12),
    mtu: Bytes::new(4096),
    hops: 3,
};
/// Nothing is gained, so that what is left of the window shows a cut alone.
const STILL: NsccRpParams = NsccRpParams { alpha: 0.0, fi: 0.0, eta: 0.0, fi_scale: 0.0, ..RP_UET_HTSIM };
/// The mean is the last delay, and nothing is ever too little to arrive.
const DIRECT: NsccRpParams = NsccRpParams { delay_share: 1.0, qa_gate: 63, ..STILL };

fn rp(params: NsccRpParams) -> NsccRp {
    Nscc::reaction_point(&params, ENDPOINT)
}

/// A stream of which octets arrive, each acknowledged at once.
struct Stream {
    rp: NsccRp,
    flight: Flight,
}

impl Stream {
    fn new(params: NsccRpParams) -> Stream {
        let flight =
            Flight { acknowledged: Bytes::ZERO, sent: Bytes::ZERO, in_flight: Bytes::ZERO, early: Bytes::ZERO };
        Stream { rp: rp(params), flight }
    }

    fn tell(&mut self, at: u64, event: TransportEvent<'_>) {
        self.rp.on_transport(us(at), &event, &self.flight, &mut dice());
    }

    /// At `at` us so many octets in order, the newest sent 12 us and the delay before.
    fn hear(&mut self, at: u64, octets: u64, delay: u64, marked: bool) {
        self.flight.acknowledged += Bytes::new(octets);
        let sent_at = us(at - 12 - delay);
        let newly = Bytes::new(octets);
        let ack =
            Acknowledgement { newly, packets: 1, marked: u32::from(marked), sent_at, path: 0, code: 0, hops: &[] };
        self.tell(at, TransportEvent::Acknowledged(ack));
    }
}

fn is(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9 * expected.abs().max(1.0), "{value} for {expected}");
}

/// 100 Gb/s for 12 us are 150 000 octets, 1.5 times that 225 000. Target 0.75 * 12 = 9 us; alpha 4 * 4096 * 0.75 / 9 us =
/// 1365.3 octets a microsecond; fi 5 * 4096 = 20 480; eta 0.15 * 4096 = 614.4 octets.
#[test]
fn the_reference_network_has_the_specifications_numbers() {
    let rp = rp(RP_UET_HTSIM);
    is(rp.window, 225_000.0);
    is(rp.scaled.target, 9e6);
    is(rp.scaled.alpha * 1e6, 4.0 * 4096.0 / 12.0);
    is(rp.scaled.fi, 20_480.0);
    is(rp.scaled.eta, 614.4);
    is(rp.scaled.fi_scale, 0.25);
    // Packets of 4096 octets fit into the window as long as 220 904 or fewer are in flight.
    assert_eq!(rp.window(), Some(Bytes::new(220_905)));
    assert_eq!((rp.limit(), rp.gap()), (None, Span::ZERO));
    is(self::rp(NsccRpParams { target: 1.0, ..RP_UET_HTSIM }).scaled.target, 12e6);
    is(self::rp(NsccRpParams { max_window: 0.5, ..RP_UET_HTSIM }).window, 75_000.0);
}

/// 400 Gb/s and 6 us on the path, 8 us on the longest: a = 400 000 / 150 000 = 8/3 by the network, and the window is of the
/// path, 1.5 * 300 000. By the path a is 2 and the target 4.5 us; by 3 us that are given, 1 and 2.25.
#[test]
fn numbers_scale_with_the_network_and_the_window_with_the_path() {
    let endpoint = Endpoint {
        line_rate: BitRate::gbps(400),
        base_rtt: Span::from_us(6),
        longest_rtt: Span::from_us(8),
        ..ENDPOINT
    };
    let at = |network_rtt, network_rtt_of| {
        Nscc::reaction_point(&NsccRpParams { network_rtt, network_rtt_of, ..RP_UET_HTSIM }, endpoint)
    };
    for (network, of, a, target) in [
        (None, BaseRttOf::Network, 8.0 / 3.0, 6e6),
        (None, BaseRttOf::Path, 2.0, 4.5e6),
        (Some(Span::from_us(3)), BaseRttOf::Network, 1.0, 2.25e6),
    ] {
        let rp = at(network, of);
        is(rp.window, 450_000.0);
        is(rp.scaled.fi, 20_480.0 * a);
        is(rp.scaled.eta, 614.4 * a);
        is(rp.scaled.fi_scale, 0.25 * a);
        is(rp.scaled.alpha * 1e6, 4.0 * 4096.0 * a / 12.0);
        is(rp.scaled.target, target);
    }
}

/// A mean delay of 18 us: 1 - 0.8 * 9 / 18 = 0.6. Of 36: 1 - 0.8 * 27 / 36 = 0.4, but a half at least. At the target nothing.
/// With gamma 0.4 and a least of 0.75: 0.8 and 0.75.
#[test]
fn marks_with_a_long_delay_cut_by_the_mean() {
    let mild = NsccRpParams { gamma: 0.4, ..DIRECT };
    let bounded = NsccRpParams { max_md: 0.75, ..DIRECT };
    for (params, delay, kept) in
        [(DIRECT, 18, 0.6), (DIRECT, 35, 0.5), (DIRECT, 9, 1.0), (mild, 18, 0.8), (bounded, 18, 0.75)]
    {
        let mut stream = Stream::new(params);
        stream.hear(1000, 4096, delay, true);
        is(stream.rp.window, 225_000.0 * kept);
    }
}

/// A base round trip of 12 us has one cut; the next comes after it, not at its end.
#[test]
fn a_base_round_trip_has_one_cut() {
    let mut stream = Stream::new(DIRECT);
    for (at, kept) in [(1000, 0.6), (1006, 0.6), (1012, 0.6), (1013, 0.36), (1014, 0.36)] {
        stream.hear(at, 4096, 18, true);
        is(stream.rp.window, 225_000.0 * kept);
    }
}

/// A mark with a short delay changes nothing; a long delay without a mark grows, and a short one, too.
#[test]
fn delay_and_mark_together_decide() {
    let start = NsccRpParams { max_window: 3.0, qa_gate: 63, ..RP_UET_HTSIM };
    let after = |params: NsccRpParams, delay, marked| {
        let mut stream = Stream::new(params);
        stream.rp.window = 100_000.0;
        // The first acknowledgement is adjusted at once, as none was before.
        stream.hear(1000, 4096, delay, marked);
        stream.rp.window
    };
    is(after(start, 5, true), 100_000.0 + 614.4);
    // gain = 20 480 * 4096; by the window 838.86 octets.
    is(after(start, 20, false), 100_000.0 + 20_480.0 * 4096.0 / 100_000.0 + 614.4);
    // 4 us below the target: 1365.33 * 4 * 4096 / 100 000 = 223.7 octets.
    is(after(start, 5, false), 100_000.0 + 4.0 * 4096.0 / 12.0 * 4.0 * 4096.0 / 100_000.0 + 614.4);
    is(after(NsccRpParams { eta: 0.3, ..start }, 5, true), 100_000.0 + 1228.8);
    is(after(NsccRpParams { fi: 10.0, ..start }, 20, false), 100_000.0 + 40_960.0 * 4096.0 / 100_000.0 + 614.4);
    let doubled = NsccRpParams { alpha: 8.0, eta: 0.0, ..start };
    is(after(doubled, 5, false), 100_000.0 + 8.0 * 4096.0 / 12.0 * 4.0 * 4096.0 / 100_000.0);
}

/// What is gained is added after more than 8 packets, or after a round trip of the network: 20 480 * 4096 octets squared by
/// each of 9 packets, over the window. The additive step comes once a round trip alone.
#[test]
fn the_gain_is_added_after_eight_packets_or_a_round_trip() {
    let params = NsccRpParams { max_window: 3.0, qa_gate: 63, ..RP_UET_HTSIM };
    let begun = |params| {
        let mut stream = Stream::new(params);
        stream.rp.window = 100_000.0;
        stream.hear(1000, 0, 20, false);
        is(stream.rp.window, 100_614.4);
        stream
    };
    let mut stream = begun(params);
    let gain = 20_480.0 * 4096.0;
    for _ in 0..8 {
        stream.hear(1001, 4096, 20, false);
        is(stream.rp.window, 100_614.4);
    }
    stream.hear(1001, 4096, 20, false);
    let grown = 100_614.4 + 9.0 * gain / 100_614.4;
    is(stream.rp.window, grown);
    // 12 us after the last additive step: not yet more than a round trip, and one packet alone.
    stream.hear(1012, 4096, 20, false);
    is(stream.rp.window, grown);
    stream.hear(1013, 4096, 20, false);
    is(stream.rp.window, grown + 2.0 * gain / grown + 614.4);
    let mut soon = begun(NsccRpParams { adjust_packets: 1.0, ..params });
    soon.hear(1001, 4096, 20, false);
    is(soon.rp.window, 100_614.4);
    soon.hear(1001, 4096, 20, false);
    is(soon.rp.window, 100_614.4 + 2.0 * gain / 100_614.4);
}

/// No delay for more than a window of octets: 100 000 are passed with the 25th packet, and from then on each octet adds a
/// quarter, until a delay of a microsecond ends it. One of 0.999 us counts as none.
#[test]
fn a_window_without_delay_grows_fast() {
    let params = NsccRpParams { alpha: 0.0, eta: 0.0, max_window: 3.0, qa_gate: 63, ..RP_UET_HTSIM };
    let mut stream = Stream::new(params);
    stream.rp.window = 100_000.0;
    for packet in 1..=24 {
        stream.hear(1000 + packet, 4096, 0, false);
        is(stream.rp.window, 100_000.0);
    }
    stream.hear(1025, 4096, 0, false);
    is(stream.rp.window, 101_024.0);
    stream.hear(1026, 4096, 0, false);
    is(stream.rp.window, 102_048.0);
    stream.hear(1027, 4096, 1, false);
    stream.hear(1028, 4096, 0, false);
    is(stream.rp.window, 102_048.0);
    let mut wide = Stream::new(NsccRpParams { no_delay: Span::from_us(2), fi_scale: 0.5, ..params });
    wide.rp.window = 4000.0_f64.max(4096.0);
    wide.hear(1000, 4097, 1, false);
    is(wide.rp.window, 4096.0 + 2048.5);
}

/// The mean takes an eightieth of each delay: 0.0125 * 8 = 0.1 us. One beyond the target without a mark counts as a quarter
/// of the base round trip, 3 us, however long it is.
#[test]
fn the_mean_is_of_delays_that_marks_go_with() {
    let mut stream = Stream::new(NsccRpParams { qa_gate: 63, ..STILL });
    stream.hear(1000, 4096, 8, false);
    is(stream.rp.mean_delay, 0.1e6);
    stream.hear(1001, 4096, 20, true);
    is(stream.rp.mean_delay, 0.1e6 + 0.0125 * 19.9e6);
    let before = stream.rp.mean_delay;
    stream.hear(1002, 4096, 30, false);
    is(stream.rp.mean_delay, before + 0.0125 * (3e6 - before));
    let mut half = Stream::new(NsccRpParams { delay_share: 0.5, qa_gate: 63, ..STILL });
    half.hear(1000, 4096, 8, false);
    is(half.rp.mean_delay, 4e6);
}

/// A cut packet takes its octets off, and counts as a delay of a round trip: 0.0125 * 12 us. A loss takes a packet off.
#[test]
fn a_packet_that_is_cut_or_lost_takes_its_octets_off() {
    let mut stream = Stream::new(STILL);
    // The first event begins the time that is judged, and what comes within 21 us of it is not.
    stream.tell(1000, TransportEvent::Trimmed(Bytes::new(3000)));
    is(stream.rp.window, 222_000.0);
    is(stream.rp.mean_delay, 0.15e6);
    for (event, at) in [(TransportEvent::Lost(LossSign::Gap), 1001), (TransportEvent::NegativelyAcknowledged, 1002)] {
        let before = stream.rp.window;
        stream.tell(at, event);
        is(stream.rp.window, before - 4096.0);
        is(stream.rp.mean_delay, 0.15e6);
    }
    // The same hole once more, and after more than a base round trip.
    let before = stream.rp.window;
    for (at, off) in [(1014, 0.0), (1015, 4096.0)] {
        stream.tell(at, TransportEvent::NegativelyAcknowledged);
        is(stream.rp.window, before - off);
    }
    stream.rp.window = 5000.0;
    stream.tell(1016, TransportEvent::Lost(LossSign::Timeout));
    is(stream.rp.window, 4096.0);
}

/// From 1000 us on 24 000 octets arrive, less than 225 000 / 8 = 28 125, and one packet is cut. Judged after more than 12 + 9
/// us: the window is those 24 000. Marks of the 60 000 that were in flight then are ignored; without marks it grows anew.
#[test]
fn quick_adapt_takes_what_arrived() {
    let start = |params, octets| {
        let mut stream = Stream::new(NsccRpParams { delay_share: 1.0, ..params });
        stream.hear(1000, 0, 18, false);
        stream.hear(1010, octets, 18, false);
        stream.tell(1011, TransportEvent::Trimmed(Bytes::new(4096)));
        is(stream.rp.window, 220_904.0);
        stream.hear(1021, 0, 18, false);
        is(stream.rp.window, 220_904.0);
        stream.flight.in_flight = Bytes::new(70_000);
        stream.flight.early = Bytes::new(10_000);
        stream.rp.arrivals(&stream.flight.clone());
        stream
    };
    let mut stream = start(STILL, 24_000);
    stream.hear(1022, 0, 18, false);
    is(stream.rp.window, 24_000.0);
    // 59 999 octets arrive, each with a mark that would cut; the next one counts.
    stream.hear(1030, 59_999, 18, true);
    stream.hear(1031, 1, 18, true);
    is(stream.rp.window, 24_000.0 * 0.6);

    let mut enough = start(STILL, 28_126);
    enough.hear(1022, 0, 18, false);
    is(enough.rp.window, 220_904.0);
    let mut gate = start(NsccRpParams { qa_gate: 2, ..STILL }, 28_126);
    gate.hear(1022, 0, 18, false);
    is(gate.rp.window, 28_126.0);
    let mut little = start(STILL, 100);
    little.hear(1022, 0, 18, false);
    is(little.rp.window, 4096.0);
}

/// Nothing is lost, and a delay of more than four targets, 36 us, says as much; 36 us say nothing. With a threshold of two
/// targets, 19 us do.
#[test]
fn a_very_long_delay_is_as_good_as_a_loss() {
    for (qa_threshold, delay, acts) in [(4.0, 36, false), (4.0, 37, true), (2.0, 18, false), (2.0, 19, true)] {
        let mut stream = Stream::new(NsccRpParams { qa_threshold, ..STILL });
        stream.hear(1000, 20_000, 0, false);
        stream.hear(1001, 20_000, 0, false);
        stream.hear(1030, 0, delay, false);
        is(stream.rp.window, if acts { 20_000.0 } else { 225_000.0 });
    }
}

/// Octets that arrive beyond a hole are told once, count as arrived, and are not in flight: the window is wider by them.
#[test]
fn what_arrives_early_is_counted_once() {
    let mut stream = Stream::new(NsccRpParams { qa_gate: 0, ..STILL });
    stream.rp.window = 50_000.0;
    stream.flight = Flight { early: Bytes::new(8192), in_flight: Bytes::new(20_480), ..stream.flight };
    stream.hear(1000, 0, 0, false);
    assert_eq!(stream.rp.window(), Some(Bytes::new(50_000 - 4096 + 1 + 8192)));
    assert_eq!(stream.rp.arrivals(&stream.flight.clone()), 0.0);
    // The hole of 4096 octets closes: 4096 are new, the others were told before.
    stream.flight.acknowledged = Bytes::new(12_288);
    stream.flight.early = Bytes::ZERO;
    assert_eq!(stream.rp.arrivals(&stream.flight.clone()), 4096.0);
    assert_eq!(stream.rp.window(), Some(Bytes::new(50_000 - 4096 + 1)));
    // An old acknowledgement takes nothing back.
    stream.flight.acknowledged = Bytes::new(8192);
    assert_eq!(stream.rp.arrivals(&stream.flight.clone()), 0.0);
}

/// A round trip of 10 us instead of 12: windows are of the smaller one, 1.5 * 125 000, and a delay counts from there.
#[test]
fn the_smallest_round_trip_is_the_base() {
    let mut stream = Stream::new(DIRECT);
    stream.flight.acknowledged = Bytes::new(4096);
    let ack = |sent_at: Instant| Acknowledgement {
        newly: Bytes::new(4096),
        packets: 1,
        marked: 1,
        sent_at,
        path: 0,
        code: 0,
        hops: &[],
    };
    stream.tell(1000, TransportEvent::Acknowledged(ack(us(990))));
    is(stream.rp.window, 187_500.0);
    stream.tell(1100, TransportEvent::Acknowledged(ack(us(1072))));
    is(stream.rp.window, 187_500.0 * 0.6);
}

#[test]
fn it_hears_of_arrivals_losses_and_cuts_and_adds_what_is_set() {
    let capabilities = rp(RP_UET_HTSIM).capabilities();
    let heard: Vec<EventKind> = capabilities.events.iter().collect();
    let expected = [EventKind::Acknowledgement, EventKind::NegativeAcknowledgement, EventKind::Loss, EventKind::Trim];
    assert_eq!((heard, capabilities.permits_windows), (expected.to_vec(), true));
    let added = rp(NsccRpParams { header: Bytes::new(12), ack_header: Bytes::new(32), ..RP_UET_HTSIM }).added_headers();
    assert_eq!((added.data.get(), added.acknowledgement.get()), (12, 32));
    let mut pair = Stream::new(STILL);
    pair.tell(1000, TransportEvent::Credited(Bytes::new(1)));
    pair.tell(1000, TransportEvent::Paused(true));
    is(pair.rp.window, 225_000.0);
}
