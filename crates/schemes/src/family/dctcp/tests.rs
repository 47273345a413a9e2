//! Hand-worked numbers.

use super::rp::DctcpState;
use super::*;
use crate::parts::window::WindowRule;
use crate::roles::{Acknowledgement, CongestionPoint, EventKinds, Flight, LossSign, ReactionPoint, TransportEvent};
use crate::testing::{dice, queue, us};
use qcnlab_units::Instant;

/// Packets of 1000 octets, 100 Gb/s, 8 us: a window of 100 000 octets.
const ENDPOINT: Endpoint = Endpoint {
    line_rate: BitRate::gbps(100),
    base_rtt: Span::from_us(8),
    longest_rtt: Span::from_us(8),
    mtu: Bytes::new(1000),
    hops: 1,
};

struct DctcpStream {
    rp: DctcpRp,
    acknowledged: u64,
    sent: u64,
}

impl DctcpStream {
    fn new(params: DctcpRpParams) -> DctcpStream {
        DctcpStream { rp: Dctcp::reaction_point(&params, ENDPOINT), acknowledged: 0, sent: 0 }
    }

    fn flight(&self) -> Flight {
        let in_flight = Bytes::new(self.sent - self.acknowledged);
        Flight {
            acknowledged: Bytes::new(self.acknowledged),
            sent: Bytes::new(self.sent),
            in_flight,
            early: Bytes::ZERO,
        }
    }

    fn ack(&mut self, marked: bool) {
        self.acknowledged += 1000;
        let ack = Acknowledgement {
            newly: Bytes::new(1000),
            packets: 1,
            marked: u32::from(marked),
            sent_at: Instant::ZERO,
            path: 0,
            code: 0,
            hops: &[],
        };
        let flight = self.flight();
        self.rp.on_transport(us(1), &TransportEvent::Acknowledged(ack), &flight, &mut dice());
    }

    /// Acknowledges `packets` more, while as many are sent.
    fn acks(&mut self, packets: u64, marked: bool) {
        for _ in 0..packets {
            self.sent = self.sent.max(self.acknowledged + 1000) + 1000;
            self.ack(marked);
        }
    }

    fn window(&self) -> u64 {
        self.rp.window().expect("a window").get()
    }
}

/// K = 300 KB at 100 Gb/s is 30 KB at the 10 Gb/s of the test's queue: at it no mark, above it each.
#[test]
fn marking_is_a_step() {
    let mut cp = Dctcp::congestion_point(&CP_HPCC_SIMULATOR, CpId(0));
    let marks = |len| (0..100).filter(|_| cp.departure_mark(us(0), true, queue(len), &mut dice()) > 0).count();
    assert_eq!([30_000, 30_001].map(marks), [0, 100]);
}

/// Alpha starts at 1, so the first mark halves the window; with none, alpha is 15/16 after each window of data; with all,
/// it goes back to 1: 1 - 1/16 of the distance stays.
#[test]
fn alpha_follows_the_share_of_marks() {
    let mut stream = DctcpStream::new(RP_RFC8257);
    stream.sent = 100_000;
    stream.ack(true);
    assert_eq!(stream.window(), 50_000);
    assert!((stream.rp.alpha - 1.0).abs() < 1e-12, "all of the first were marked");
    // Sent until then: 100 000. The 100th more, sent since, is past it: the share of the 100 is 0.
    stream.sent = 101_000;
    for _ in 0..100 {
        stream.ack(false);
    }
    assert!((stream.rp.alpha - 15.0 / 16.0).abs() < 1e-12, "{}", stream.rp.alpha);
}

/// Alpha 15/16: W (1 - 15/32). A second mark in the same window of data changes nothing.
#[test]
fn a_window_of_data_is_cut_once() {
    let mut stream = DctcpStream::new(RP_RFC8257);
    stream.rp.alpha = 0.5;
    stream.sent = 100_000;
    stream.ack(true);
    // Alpha first: 0.5 + (1 - 0.5) / 16 = 0.53125; the cut is half of it: 100 000 * 0.734375.
    assert_eq!(stream.window(), 73_437);
    stream.ack(true);
    assert_eq!(stream.window(), 73_437);
}

/// 100 000 octets were sent when the first mark came. A cut holds while no more than these are acknowledged: the mark that
/// comes with the last of them changes nothing, the next one cuts again.
#[test]
fn a_cut_holds_until_more_is_acknowledged_than_was_sent_before_it() {
    let mut stream = DctcpStream::new(RP_RFC8257);
    stream.sent = 100_000;
    stream.ack(true);
    assert_eq!(stream.window(), 50_000);
    (stream.acknowledged, stream.sent) = (99_000, 149_000);
    stream.ack(true);
    assert_eq!((stream.acknowledged, stream.window()), (100_000, 50_000));
    // 101 000 are past it. All octets of the window of data were marked, so alpha stays 1.
    stream.ack(true);
    assert_eq!(stream.window(), 25_000);
}

/// After the cut 73 437 octets are acknowledged for one packet more.
#[test]
fn the_window_grows_by_a_packet_each_window_of_data() {
    let mut stream = DctcpStream::new(DctcpRpParams { initial_window: Some(Bytes::new(10_000)), ..RP_RFC8257 });
    stream.acks(10, false);
    assert_eq!(stream.window(), 11_000);
    stream.acks(11, false);
    assert_eq!(stream.window(), 12_000);
}

/// A loss halves; a timeout leaves two packets and slow start to half of what was: 2 + 2 acknowledged = 4 packets.
#[test]
fn losses_cut_as_reno_does() {
    let mut stream = DctcpStream::new(DctcpRpParams { initial_window: Some(Bytes::new(40_000)), ..RP_RFC8257 });
    stream.sent = 40_000;
    let flight = stream.flight();
    stream.rp.on_transport(us(1), &TransportEvent::Lost(LossSign::Gap), &flight, &mut dice());
    stream.rp.on_transport(us(1), &TransportEvent::NegativelyAcknowledged, &flight, &mut dice());
    assert_eq!(stream.window(), 20_000);
    stream.rp.on_transport(us(2), &TransportEvent::Lost(LossSign::Timeout), &flight, &mut dice());
    assert_eq!(stream.window(), 2_000);
    stream.acknowledged = 40_000;
    stream.acks(2, false);
    assert_eq!(stream.window(), 4_000);
}

/// The amplitude of the published analysis: n flows in step, round trips of C + K packets, a cut of alpha/2 in each cycle.
/// For one flow with W* = C d + K = 100 + 40 packets: alpha = sqrt(2 / W*) = 0.1195, and the window falls by W* alpha / 2
/// = sqrt(2 W*) / 2 = 8.4 packets. Here the queue is what exceeds 100 packets, and a window of data is one round trip.
#[test]
fn the_amplitude_is_as_published() {
    let mut stream = DctcpStream::new(DctcpRpParams { initial_window: Some(Bytes::new(130_000)), ..RP_RFC8257 });
    let mut windows = Vec::new();
    stream.sent = 130_000;
    for _ in 0..4000 {
        let window = stream.window();
        let queue = window.saturating_sub(100_000);
        for _ in 0..window / 1000 {
            stream.ack(queue > 40_000);
            stream.sent = stream.sent.max(stream.acknowledged + stream.window());
        }
        windows.push(window);
    }
    let last = &windows[2000..];
    let (low, high) = (last.iter().min().expect("some"), last.iter().max().expect("some"));
    let amplitude = (high - low) as f64 / 1000.0;
    let expected = (2.0f64 * 140.0).sqrt() / 2.0;
    assert!((amplitude - expected).abs() < 2.5, "{amplitude} packets where {expected:.1} are expected");
}

/// The simulator's form: its first cut is by half of alpha 1, and it adds 1 Gb/s a round trip; the window follows.
#[test]
fn the_rate_form_moves_once_a_round_trip() {
    let mut stream = DctcpStream::new(RP_HPCC_SIMULATOR);
    stream.sent = 100_000;
    stream.ack(true);
    assert_eq!(stream.rp.limit(), Some(BitRate::gbps(50)));
    assert_eq!(stream.rp.window(), Some(Bytes::new(50_000)));
    for _ in 0..99 {
        stream.ack(false);
    }
    assert_eq!(stream.rp.limit(), Some(BitRate::gbps(50)), "up to what was sent at the cut");
    stream.sent = 150_000;
    stream.ack(false);
    assert_eq!(stream.rp.limit(), Some(BitRate::mbps(50_615)));
    // One mark in the first round trip of 101 packets, counted in the second: 15/16 + 1/16 * 1/101.
    assert!((stream.rp.alpha - (15.0 / 16.0 + 1.0 / 16.0 / 101.0)).abs() < 1e-12, "{}", stream.rp.alpha);
    assert!(matches!(stream.rp.state, DctcpState::Rate(_)));
}

/// Nobody sends DCTCP a signal, yet its ports are needed: they mark, at arrival or at departure.
#[test]
fn ports_that_mark_are_there_wherever_they_mark() {
    for (preset, mark_at) in [("SIGCOMM2010", MarkAt::Arrival), ("HPCC_SIMULATOR", MarkAt::Departure)] {
        let config = crate::registry::Config::find("dctcp", Some(preset)).expect("a preset of DCTCP");
        let capabilities = config.congestion_point(crate::roles::CpId(0)).capabilities();
        assert_eq!(capabilities.marks_arrivals, mark_at == MarkAt::Arrival, "{preset}");
        assert_eq!(capabilities.marks_departures, mark_at == MarkAt::Departure, "{preset}");
        assert!(config.has_congestion_points(), "{preset}");
    }
}

/// Alpha 1 halves a window, and two packets of 1000 octets are the least.
#[test]
fn a_cut_leaves_two_packets() {
    for (before, after) in [(10_000, 5000), (4000, 2000), (3000, 2000)] {
        let mut stream = DctcpStream::new(DctcpRpParams { initial_window: Some(Bytes::new(before)), ..RP_RFC8257 });
        stream.sent = 10_000;
        stream.ack(true);
        assert_eq!(stream.window(), after, "from {before}");
    }
}

/// At its threshold it is no longer in slow start: 10 000 octets are acknowledged for a packet more, not one.
#[test]
fn a_window_starts_in_congestion_avoidance() {
    let mut stream = DctcpStream::new(DctcpRpParams { initial_window: Some(Bytes::new(10_000)), ..RP_RFC8257 });
    stream.acks(9, false);
    assert_eq!(stream.window(), 10_000);
    stream.acks(1, false);
    assert_eq!(stream.window(), 11_000);
}

/// A timeout of 40 packets leaves 2, and slow start to 20: 18 acknowledgements. From there 20 packets are acknowledged for
/// one more. Half of 3 packets is less than 2, which is the least threshold: no slow start.
#[test]
fn slow_start_after_a_timeout_ends_at_half_the_window() {
    for (before, to_threshold, threshold) in [(40_000, 18, 20_000), (3000, 0, 2000)] {
        let initial_window = Some(Bytes::new(before));
        let mut stream = DctcpStream::new(DctcpRpParams { initial_window, ..RP_RFC8257 });
        stream.sent = before;
        let flight = stream.flight();
        stream.rp.on_transport(us(1), &TransportEvent::Lost(LossSign::Timeout), &flight, &mut dice());
        assert_eq!(stream.window(), 2000);
        stream.acknowledged = before;
        stream.acks(to_threshold, false);
        assert_eq!(stream.window(), threshold, "from {before}");
        stream.acks(threshold / 1000 - 1, false);
        assert_eq!(stream.window(), threshold, "from {before}: a packet is missing");
        stream.acks(1, false);
        assert_eq!(stream.window(), threshold + 1000, "from {before}");
    }
}

/// Acknowledges `newly` octets in `packets` packets, of which `marked` were marked.
fn acknowledge(stream: &mut DctcpStream, newly: u64, packets: u32, marked: u32) {
    stream.acknowledged += newly;
    stream.sent = stream.sent.max(stream.acknowledged);
    let newly = Bytes::new(newly);
    let ack = Acknowledgement { newly, packets, marked, sent_at: Instant::ZERO, path: 0, code: 0, hops: &[] };
    let flight = stream.flight();
    stream.rp.on_transport(us(1), &TransportEvent::Acknowledged(ack), &flight, &mut dice());
}

/// One of two packets was marked: half of the octets. 15/16 + 1/16 * 1/2.
#[test]
fn marks_of_an_acknowledgement_count_by_its_packets() {
    let mut stream = DctcpStream::new(RP_RFC8257);
    acknowledge(&mut stream, 2000, 2, 1);
    assert!((stream.rp.alpha - 0.968_75).abs() < 1e-12, "{}", stream.rp.alpha);
}

#[test]
fn a_window_of_data_without_octets_has_no_share_of_marks() {
    let mut stream = DctcpStream::new(RP_RFC8257);
    acknowledge(&mut stream, 0, 1, 0);
    assert_eq!(stream.rp.alpha, 1.0);
}

/// 15 000 octets are a window of 10 000 and 5000 more, which count for the next: 6000 complete its 11 000.
#[test]
fn octets_beyond_a_window_count_for_the_next() {
    let mut stream = DctcpStream::new(DctcpRpParams { initial_window: Some(Bytes::new(10_000)), ..RP_RFC8257 });
    acknowledge(&mut stream, 15_000, 15, 0);
    assert_eq!(stream.window(), 11_000);
    acknowledge(&mut stream, 6000, 6, 0);
    assert_eq!(stream.window(), 12_000);
}

/// The threshold is two packets at least, whatever the least window: from one packet half packets lead to 2000 octets in
/// slow start, and then a half packet more changes nothing.
#[test]
fn the_threshold_after_a_timeout_is_two_packets_at_least() {
    let params = DctcpRpParams { initial_window: Some(Bytes::new(3000)), min_window: 1, ..RP_RFC8257 };
    let mut stream = DctcpStream::new(params);
    stream.sent = 3000;
    let flight = stream.flight();
    stream.rp.on_transport(us(1), &TransportEvent::Lost(LossSign::Timeout), &flight, &mut dice());
    assert_eq!(stream.window(), 1000);
    stream.acknowledged = 3000;
    for expected in [1500, 2000, 2000] {
        acknowledge(&mut stream, 500, 1, 0);
        assert_eq!(stream.window(), expected);
    }
}

/// The rate form knows no loss, and rises once a round trip: 150 000 octets were sent when it last did. 5 of the 50 packets
/// that were outstanding then are marked: a tenth.
#[test]
fn the_rate_form_rises_once_a_round_trip_and_knows_no_loss() {
    let mut stream = DctcpStream::new(RP_HPCC_SIMULATOR);
    let flight = stream.flight();
    for event in [TransportEvent::Lost(LossSign::Gap), TransportEvent::NegativelyAcknowledged] {
        stream.rp.on_transport(us(0), &event, &flight, &mut dice());
        assert_eq!(stream.rp.limit(), Some(BitRate::gbps(100)));
    }
    stream.sent = 100_000;
    stream.ack(true);
    acknowledge(&mut stream, 99_000, 99, 0);
    stream.sent = 150_000;
    stream.ack(false);
    assert_eq!(stream.rp.limit(), Some(BitRate::mbps(50_615)));
    let alpha = stream.rp.alpha;
    stream.ack(false);
    assert_eq!(stream.rp.limit(), Some(BitRate::mbps(50_615)), "the round trip is not over");
    for packet in 0..48 {
        stream.ack(packet < 5);
    }
    assert_eq!((stream.acknowledged, stream.rp.alpha), (150_000, alpha));
    acknowledge(&mut stream, 1000, 1, 0);
    assert!((stream.rp.alpha - (15.0 / 16.0 * alpha + 0.1 / 16.0)).abs() < 1e-12, "{}", stream.rp.alpha);
}

/// The window form has a window and hears of losses; the rate form has a rate, hears of acknowledgements alone, and has a
/// window where it is given one.
#[test]
fn each_form_takes_part_in_what_it_needs() {
    for (form, window, limits, permits) in [
        (DctcpForm::Window, WindowRule::Open, false, true),
        (DctcpForm::Window, WindowRule::Fixed, false, true),
        (DctcpForm::Rate, WindowRule::Open, true, false),
        (DctcpForm::Rate, WindowRule::Fixed, true, true),
    ] {
        let rp = Dctcp::reaction_point(&DctcpRpParams { form, window, ..RP_RFC8257 }, ENDPOINT);
        let capabilities = rp.capabilities();
        assert_eq!((capabilities.limits, capabilities.permits_windows), (limits, permits), "{form:?} {window:?}");
        let events = if limits { EventKinds::ACKNOWLEDGEMENTS } else { EventKinds::ARRIVALS_AND_LOSSES };
        assert_eq!((capabilities.events, rp.next_wake()), (events, Instant::NEVER));
        assert_eq!((rp.limit().is_some(), rp.window().is_some()), (limits, permits));
    }
}

/// 50 000 octets in 8 us are 50 Gb/s; a window beyond what the link takes is its rate.
#[test]
fn a_window_shows_as_the_rate_that_it_permits() {
    for (window, gbps) in [(50_000, 50), (100_000, 100), (300_000, 100)] {
        let params = DctcpRpParams { initial_window: Some(Bytes::new(window)), ..RP_RFC8257 };
        assert_eq!(Dctcp::reaction_point(&params, ENDPOINT).gauge().current_rate, BitRate::gbps(gbps));
    }
}
