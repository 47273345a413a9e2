//! Hand-worked numbers.

use super::*;
use crate::roles::{Acknowledgement, Flight, ReactionPoint, TransportEvent};
use crate::testing::dice;
use qcnlab_units::Instant;

const ENDPOINT: Endpoint = Endpoint {
    line_rate: BitRate::gbps(10),
    base_rtt: Span::from_us(20),
    longest_rtt: Span::from_us(20),
    mtu: Bytes::new(1000),
    hops: 1,
};

/// Decides once for each sample: a round trip of one packet.
struct TimelyStream {
    rp: TimelyRp,
    packets: u64,
}

impl TimelyStream {
    fn new(params: TimelyRpParams) -> TimelyStream {
        TimelyStream { rp: Timely::reaction_point(&TimelyRpParams { segment: None, ..params }, ENDPOINT), packets: 0 }
    }

    fn sample(&mut self, rtt: Span) -> BitRate {
        self.packets += 1;
        let now = Instant::ZERO + Span::from_ms(self.packets);
        let ack = Acknowledgement {
            newly: Bytes::new(1000),
            packets: 1,
            marked: 0,
            sent_at: Instant::from_ps(now.ps() - rtt.ps()),
            path: 0,
            code: 0,
            hops: &[],
        };
        let octets = Bytes::new(1000 * self.packets);
        let flight = Flight { acknowledged: octets, sent: octets, in_flight: Bytes::ZERO, early: Bytes::ZERO };
        self.rp.on_transport(now, &TransportEvent::Acknowledged(ack), &flight, &mut dice());
        self.rp.rate
    }

    fn at(&mut self, rate: BitRate) -> &mut TimelyStream {
        self.rp.rate = rate;
        self
    }
}

/// 1 - 0.8 (1 - 500/550) = 0.927 27, 1 - 0.8 (1 - 500/1000) = 0.6.
#[test]
fn a_long_round_trip_cuts_by_its_excess() {
    for (us, expected) in [(550, 0.927_272), (1000, 0.6)] {
        let mut stream = TimelyStream::new(RP_SIGCOMM2015);
        stream.sample(Span::from_us(us));
        let rate = stream.at(BitRate::gbps(10)).sample(Span::from_us(us));
        assert!((rate.as_f64() / 1e10 - expected).abs() < 1e-6, "{us} us: {rate}");
    }
}

/// From 100 to 110 us: slope 0.875 * 10 = 8.75 us, gradient 8.75 / 20 = 0.4375, factor 1 - 0.8 * 0.4375 = 0.65.
#[test]
fn a_rising_round_trip_cuts_by_its_slope() {
    let mut stream = TimelyStream::new(RP_SIGCOMM2015);
    stream.sample(Span::from_us(100));
    let rate = stream.at(BitRate::gbps(8)).sample(Span::from_us(110));
    assert!(rate.get().abs_diff(5_200_000_000) <= 1, "{rate}");
    // A slope of more than 1/0.8 round trips leaves nothing but the least rate: the factor is no less than 0.
    assert_eq!(stream.sample(Span::from_us(400)), BitRate::mbps(10));
}

/// Five steps of 10 Mb/s, then 50 Mb/s each, while the round trip stays; a cut begins anew.
#[test]
fn good_decisions_in_a_row_make_steps_large() {
    let mut stream = TimelyStream::new(RP_SIGCOMM2015);
    stream.sample(Span::from_us(100));
    stream.at(BitRate::gbps(1));
    let rates: Vec<u64> = (0..7).map(|_| stream.sample(Span::from_us(100)).get() / 1_000_000).collect();
    assert_eq!(rates, [1010, 1020, 1030, 1040, 1050, 1100, 1150]);
    stream.sample(Span::from_us(120));
    assert_eq!(stream.rp.good, 0);
}

/// Below 50 us every step is 10 Mb/s as published; the simulator's are large there too.
#[test]
fn a_short_round_trip_raises_the_rate() {
    for (params, expected) in [(RP_SIGCOMM2015, 1080), (TimelyRpParams { hai_below_low: true, ..RP_SIGCOMM2015 }, 1200)]
    {
        let mut stream = TimelyStream::new(params);
        stream.sample(Span::from_us(30));
        stream.at(BitRate::gbps(1));
        let last = (0..8).map(|_| stream.sample(Span::from_us(30))).last();
        assert_eq!(last, Some(BitRate::mbps(expected)));
    }
}

/// A sample is the time from the sending of the packet that the acknowledgement answers, over the whole path: a known
/// path of 23 us gives 23 us. (Forks of HPCC's simulator subtracted times of different clocks.)
#[test]
fn the_sample_is_the_time_since_the_packet_was_sent() {
    let mut stream = TimelyStream::new(RP_SIGCOMM2015);
    stream.sample(Span::from_us(23));
    stream.sample(Span::from_us(31));
    assert!((stream.rp.slope - 0.875 * 8e6).abs() < 1e-6, "0.875 * (31 - 23) us: {}", stream.rp.slope);
}

/// 16 acknowledgements of 1000 octets are one segment of 16 KB, and no two decisions come within 20 us.
#[test]
fn a_segment_is_one_decision() {
    let mut rp = Timely::reaction_point(&RP_CONEXT2016, ENDPOINT);
    rp.rate = BitRate::gbps(1);
    let mut rates = Vec::new();
    for packet in 1..=64u64 {
        let now = Instant::ZERO + Span::from_us(packet);
        let ack = Acknowledgement {
            newly: Bytes::new(1000),
            packets: 1,
            marked: 0,
            sent_at: Instant::ZERO + Span::from_us(packet.saturating_sub(30)),
            path: 0,
            code: 0,
            hops: &[],
        };
        let octets = Bytes::new(1000 * packet);
        let flight = Flight { acknowledged: octets, sent: octets, in_flight: Bytes::ZERO, early: Bytes::ZERO };
        rp.on_transport(now, &TransportEvent::Acknowledged(ack), &flight, &mut dice());
        rates.push(rp.rate.get() / 1_000_000);
    }
    // The first sample at packet 16 decides nothing; the next may come at 36 us, and then at 56 us.
    assert_eq!((rates[34], rates[35], rates[54], rates[55]), (1000, 1010, 1010, 1020));
}

/// Between the thresholds: gradient 0 gives w = 1/2. At 100 us the error is 1: 1 - 0.008 * 0.5 = 0.996, and 5 Mb/s more.
#[test]
fn the_patched_form_steers_to_a_reference() {
    let mut stream = TimelyStream::new(RP_CONEXT2016);
    stream.sample(Span::from_us(100));
    assert_eq!(stream.at(BitRate::gbps(1)).sample(Span::from_us(100)), BitRate::mbps(1001));
    // A gradient of 1/4 and more takes w to 1: no step. From 100 to 110 us it is 0.4375; the error is 1.2.
    let rate = stream.at(BitRate::gbps(1)).sample(Span::from_us(110));
    assert!((rate.as_f64() - 1e9 * (1.0 - 0.008 * 1.2)).abs() < 2.0, "{rate}");
}

/// With a reference of 80 us and no gradient the error at 100 us is a quarter: 1 - 0.008 * 0.5 * 0.25 = 0.999, and 5 Mb/s
/// more.
#[test]
fn the_reference_may_be_another_than_the_lower_threshold() {
    let mut stream = TimelyStream::new(TimelyRpParams { reference: Some(Span::from_us(80)), ..RP_CONEXT2016 });
    stream.sample(Span::from_us(100));
    assert_eq!(stream.at(BitRate::gbps(1)).sample(Span::from_us(100)), BitRate::mbps(1004));
}

/// The published fixed point: equal rates and q* = q' + n delta q' / (beta B). For two flows, delta 10 Mb/s, beta 0.008
/// and 10 Gb/s the queue's delay is 50 us (1 + 2 * 10 / (0.008 * 10 000)) = 62.5 us.
#[test]
fn the_patched_form_settles_at_its_closed_form() {
    let mut flows = [TimelyStream::new(RP_CONEXT2016), TimelyStream::new(RP_CONEXT2016)];
    flows[0].at(BitRate::gbps(7));
    flows[1].at(BitRate::gbps(3));
    let (mut queue_us, interval_us) = (60.0f64, 25.6);
    let mut last = Vec::new();
    for step in 0..60_000 {
        let total: f64 = flows.iter().map(|flow| flow.rp.rate.as_f64()).sum();
        queue_us = (queue_us + (total / 1e10 - 1.0) * interval_us).max(0.0);
        for flow in &mut flows {
            flow.sample(Span::from_ps((queue_us * 1e6) as u64));
        }
        if step >= 50_000 {
            last.push(queue_us);
        }
    }
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    assert!((mean / 62.5 - 1.0).abs() < 0.01, "the queue settles at {mean} us");
    let share = flows[0].rp.rate.as_f64() / flows[1].rp.rate.as_f64();
    assert!((share - 1.0).abs() < 0.01, "and the rates at {share} of each other");
}

/// 10 Gb/s for 20 us are 25 000 octets; at half of the rate half of them.
#[test]
fn the_window_is_open_fixed_or_follows_the_rate() {
    use crate::parts::window::WindowRule;
    for (window, octets) in
        [(WindowRule::Open, None), (WindowRule::Fixed, Some(25_000)), (WindowRule::Scaled, Some(12_500))]
    {
        let mut stream = TimelyStream::new(TimelyRpParams { window, ..RP_SIGCOMM2015 });
        stream.at(BitRate::gbps(5));
        assert_eq!(stream.rp.window(), octets.map(Bytes::new), "{window:?}");
    }
}

/// At the lower threshold a round trip is not below it: the sixth good decision is a large step. At the upper one it is not
/// above it: a step, and no cut.
#[test]
fn thresholds_belong_to_what_is_between_them() {
    for (rtt, good, mbps) in [(50, 5, 1050), (500, 0, 1010)] {
        let mut stream = TimelyStream::new(RP_SIGCOMM2015);
        stream.sample(Span::from_us(rtt));
        stream.rp.good = good;
        assert_eq!(stream.at(BitRate::gbps(1)).sample(Span::from_us(rtt)), BitRate::mbps(mbps), "{rtt} us");
    }
}

/// 5000 octets were sent at the first decision's acknowledgement: the next is due when more are acknowledged.
#[test]
fn a_round_trip_is_over_when_more_is_acknowledged_than_was_sent() {
    let mut rp = Timely::reaction_point(&TimelyRpParams { segment: None, ..RP_SIGCOMM2015 }, ENDPOINT);
    let good: Vec<u32> = [(1000, 5000), (5000, 9000), (6000, 9000)]
        .map(|(acknowledged, sent)| {
            let now = Instant::ZERO + Span::from_ms(1);
            let newly = Bytes::new(1000);
            let sent_at = Instant::ZERO + Span::from_us(900);
            let ack = Acknowledgement { newly, packets: 1, marked: 0, sent_at, path: 0, code: 0, hops: &[] };
            let (acknowledged, sent) = (Bytes::new(acknowledged), Bytes::new(sent));
            let flight =
                Flight { acknowledged, sent, in_flight: sent.saturating_sub(acknowledged), early: Bytes::ZERO };
            rp.on_transport(now, &TransportEvent::Acknowledged(ack), &flight, &mut dice());
            rp.good
        })
        .to_vec();
    // The first round trip has none before it.
    assert_eq!(good, [0, 0, 1]);
}

/// It always limits; a window and octets of a header it has where it is given them. 25 000 octets are 10 Gb/s for 20 us.
#[test]
fn a_rate_a_window_and_a_header() {
    for (window, octets) in [(WindowRule::Open, None), (WindowRule::Fixed, Some(25_000))] {
        let params = TimelyRpParams { window, header: Bytes::new(8), ..RP_SIGCOMM2015 };
        let rp = Timely::reaction_point(&params, ENDPOINT);
        assert_eq!((rp.limit(), rp.next_wake()), (Some(BitRate::gbps(10)), Instant::NEVER));
        assert_eq!(rp.window(), octets.map(Bytes::new));
        assert_eq!(rp.capabilities().permits_windows, octets.is_some());
        assert_eq!(rp.added_headers().data, Bytes::new(8));
    }
}
