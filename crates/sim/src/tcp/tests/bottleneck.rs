//! Connections over a link of fixed rate with a finite queue, against closed forms.
//!
//! Times are counted in segment times of the link, windows in segments. A round trip without queueing holds
//! `pipe` segments, the queue `room` more, so a loss comes when the windows exceed `pipe + room`.

use super::config;
use crate::tcp::{BicProbing, BicStep, Config, Flavour, TcpReceiver, TcpSender};
use qcnlab_units::{Bytes, Instant, Span};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Time a segment takes, where nothing depends on it.
const TEN_US: Span = Span::from_us(10);

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BottleneckEvent {
    /// The link has sent the first segment of its queue.
    Sent,
    /// An acknowledgement reaches a sender.
    Ack(usize, u32),
    /// A sender starts or wants to be woken.
    Wake(usize),
}

/// A recovery begins.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    at: Instant,
    /// Octets of the window that saw it.
    window: u64,
    /// What the link had sent until then.
    sent: u64,
}

/// The link, its queue and its connections.
struct Bottleneck {
    now: Instant,
    /// Time a segment takes.
    segment: Span,
    /// From the end of a segment to its acknowledgement.
    trip: Span,
    room: usize,
    queue: VecDeque<(usize, u32)>,
    flows: Vec<(TcpSender, TcpReceiver)>,
    events: BinaryHeap<Reverse<(Instant, u64, BottleneckEvent)>>,
    counted: u64,
    /// Segments the link has sent.
    sent: u64,
    /// The recoveries, in order.
    recoveries: Vec<Recovery>,
}

impl Bottleneck {
    /// `pipe` counts the segment in transmission.
    fn new(config: &Config, flows: usize, segment: Span, pipe: u64, room: usize) -> Bottleneck {
        let mut link = Bottleneck {
            now: Instant::ZERO,
            segment,
            trip: Span::from_ps(segment.ps() * (pipe - 1)),
            room,
            queue: VecDeque::new(),
            flows: (0..flows).map(|_| (TcpSender::new(config, None, Bytes::ZERO), TcpReceiver::new(config))).collect(),
            events: BinaryHeap::new(),
            counted: 0,
            sent: 0,
            recoveries: Vec::new(),
        };
        (0..flows).for_each(|flow| link.at(Span::from_us(flow as u64), BottleneckEvent::Wake(flow)));
        link
    }

    fn at(&mut self, after: Span, event: BottleneckEvent) {
        self.counted += 1;
        self.events.push(Reverse((self.now + after, self.counted, event)));
    }

    fn send(&mut self, flow: usize) {
        while let Some(segment) = self.flows[flow].0.next_segment(self.now) {
            if self.queue.len() <= self.room {
                self.queue.push_back((flow, segment.number));
                if self.queue.len() == 1 {
                    self.at(self.segment, BottleneckEvent::Sent);
                }
            }
        }
    }

    fn step(&mut self) {
        let Reverse((at, _, event)) = self.events.pop().expect("timers run");
        self.now = at;
        match event {
            BottleneckEvent::Sent => {
                let (flow, number) = self.queue.pop_front().expect("it was sent");
                self.sent += 1;
                if !self.queue.is_empty() {
                    self.at(self.segment, BottleneckEvent::Sent);
                }
                if let Some(ack) = self.flows[flow].1.on_segment(self.now, number) {
                    self.at(self.trip, BottleneckEvent::Ack(flow, ack));
                }
            }
            BottleneckEvent::Ack(flow, number) => {
                let sender = &mut self.flows[flow].0;
                let (before, window) = (sender.stats().fast_retransmits, sender.window().get());
                sender.on_ack(at, number);
                if sender.stats().fast_retransmits > before {
                    self.recoveries.push(Recovery { at, window, sent: self.sent });
                }
                self.send(flow);
            }
            BottleneckEvent::Wake(flow) => {
                self.flows[flow].0.on_wake(at);
                self.send(flow);
                let wake = self.flows[flow].0.next_wake();
                self.at(wake.since(at).max(self.segment), BottleneckEvent::Wake(flow));
            }
        }
    }

    /// Runs for so many segment times more.
    fn run(&mut self, segments: u64) {
        let end = self.now + Span::from_ps(self.segment.ps() * segments);
        while self.events.peek().is_some_and(|Reverse((at, ..))| *at < end) {
            self.step();
        }
        self.now = end;
    }

    /// Segments each flow knows to have arrived.
    fn acknowledged(&self) -> Vec<u32> {
        self.flows.iter().map(|(sender, _)| sender.acknowledged()).collect()
    }
}

/// A window that only the link limits.
fn unlimited(flavour: Flavour) -> Config {
    Config { flavour, max_window: Bytes::new(1 << 40), ..config() }
}

/// Period and utilisation of a window that falls from `peak` to `keep` of it and grows `step` each round trip.
/// A round trip is `pipe` long while the link idles, the window long once there is a queue:
/// (pipe - low) pipe / step + (peak^2 - pipe^2) / (2 step) long, in which (peak^2 - low^2) / (2 step) segments go.
fn sawtooth(pipe: f64, peak: f64, keep: f64, step: f64) -> (f64, f64) {
    let low = keep * peak;
    let full = low.max(pipe);
    let period = ((full - low) * pipe + (peak * peak - full * full) / 2.0) / step;
    (period, (peak * peak - low * low) / 2.0 / step / period)
}

#[track_caller]
fn close(got: f64, expected: f64, share: f64) {
    assert!((got / expected - 1.0).abs() < share, "{got} against {expected}");
}

/// Warms up, then gives the mean segment times from loss to loss of a flow, and the part of them the link was busy.
fn measure(link: &mut Bottleneck, warm_up: u64, segments: u64) -> (f64, f64) {
    link.run(warm_up);
    link.recoveries.clear();
    link.run(segments);
    let flows = link.flows.len();
    let cycles = (link.recoveries.len() - 1) / flows;
    let (first, last) = (link.recoveries[0], link.recoveries[cycles * flows]);
    let time = last.at.since(first.at).seconds() / link.segment.seconds();
    (time / cycles as f64, (last.sent - first.sent) as f64 / time)
}

#[test]
fn one_reno_makes_its_sawtooth() {
    // The sawtooth leaves out the two round trips at the peak until the loss shows and until it is repaired.
    for (flavour, room) in [(Flavour::Reno, 10), (Flavour::Reno, 20), (Flavour::NewReno, 50)] {
        let mut link = Bottleneck::new(&unlimited(flavour), 1, TEN_US, 100, room);
        let (period, used) = measure(&mut link, 100_000, 300_000);
        let peak = 100.0 + room as f64;
        let (expected, utilisation) = sawtooth(100.0, peak, 0.5, 1.0);
        close(period, expected + 2.0 * peak, 0.01);
        close(used, utilisation, 0.005);
        assert!(link.recoveries.iter().all(|loss| loss.window.abs_diff(peak as u64 * 1460) <= 1460));
    }
}

#[test]
fn two_renos_share_the_sawtooth() {
    // Both lose in each cycle, and together they grow two segments a round trip.
    for (flavour, room) in [(Flavour::Reno, 40), (Flavour::NewReno, 40), (Flavour::Reno, 100)] {
        let mut link = Bottleneck::new(&unlimited(flavour), 2, TEN_US, 200, room);
        link.run(100_000);
        let before = link.acknowledged();
        let (period, used) = measure(&mut link, 0, 500_000);
        let peak = 200.0 + room as f64;
        let (expected, utilisation) = sawtooth(200.0, peak, 0.5, 2.0);
        close(period, expected + 2.0 * peak, 0.02);
        close(used, utilisation, 0.005);
        let after = link.acknowledged();
        close(f64::from(after[0] - before[0]), f64::from(after[1] - before[1]), 0.02);
    }
}

#[test]
fn a_queue_as_long_as_the_pipe_keeps_the_link_busy() {
    let mut link = Bottleneck::new(&unlimited(Flavour::Reno), 2, TEN_US, 200, 200);
    let (_, used) = measure(&mut link, 100_000, 500_000);
    assert_eq!(used, 1.0);
}

#[test]
fn cubic_grows_like_reno_on_short_paths() {
    // K is cbrt(0.3 * 600 / 0.4) = 7.7 s, and Reno's window is back long before: 180 / 0.529 = 340 round trips of 5 ms.
    let mut link = Bottleneck::new(&unlimited(Flavour::Cubic), 1, TEN_US, 500, 100);
    let (period, used) = measure(&mut link, 500_000, 800_000);
    let (expected, utilisation) = sawtooth(500.0, 600.0, 0.7, 9.0 / 17.0);
    close(period, expected + 2.0 * 600.0, 0.005);
    close(used, utilisation, 0.005);
}

#[test]
fn cubic_follows_its_curve_on_long_paths() {
    // 400 segments, of which the first is lost, over a round trip of 100 ms: W_max 400, window 280,
    // K = cbrt(0.3 * 400 / 0.4) = cbrt(300) = 6.694 s. Reno's window would be 280 + 5.3 / s.
    let config = Config { initial_window: 400, ..unlimited(Flavour::Cubic) };
    let mut link = Bottleneck::new(&config, 1, Span::from_us(100), 1000, usize::MAX - 1);
    link.step();
    assert_eq!(link.queue.pop_front(), Some((0, 0)));
    let window = |link: &Bottleneck| link.flows[0].0.window().as_f64() / 1460.0;
    let ten_ms = 100;
    while link.recoveries.is_empty() || link.flows[0].0.window() > link.flows[0].0.threshold() {
        link.run(ten_ms);
    }
    let epoch = link.now;
    assert!((window(&link) - 280.0).abs() < 1.0);
    let mut crossed = 0;
    while link.now.since(epoch).seconds() < 13.388 {
        link.run(ten_ms);
        let d = link.now.since(epoch).seconds() - 6.694;
        let curve = 400.0 + 0.4 * d * d * d;
        assert!((window(&link) - curve).abs() < 6.0, "{d} s: {} against {curve}", window(&link));
        crossed += u64::from(d.abs() < 1.0 && (window(&link) - 400.0).abs() < 1.0);
    }
    // A second either way of K the curve is within 0.4 segments of W_max.
    assert!(crossed >= 195, "{crossed}");
    assert_eq!(link.recoveries.len(), 1);
}

/// Segment times from a loss at `peak` to the next with BIC looking for `w_max`: a round trip for each hole, then
/// the steps of the search until there are more than 120 segments, a round trip each.
fn bic_cycle(peak: f64, w_max: f64) -> f64 {
    let mut window = peak * 0.875;
    let mut time = (peak - 120.0).round() * window;
    while window <= 120.0 {
        time += window.max(100.0);
        let way = if window < w_max { (w_max - window) / 2.0 } else { window - w_max };
        window += way.clamp(0.01, 32.0);
    }
    time + 120.0
}

#[test]
fn bic_searches_and_probes() {
    // A pipe of 100 and room for 20. A loss at 125 looks for 125 and finds the room full after two steps, at 122.5.
    // That is less than 125, so the next search looks for 122.5 * 15 / 16 = 114.8, finds it, and probes beyond by
    // 0.01, 0.02, ... up to 5.1 segments, which ends at 125 again.
    let by_rounds =
        Config { bic_step: BicStep::EachRound, bic_probing: BicProbing::Mirrored, ..unlimited(Flavour::Bic) };
    let mut link = Bottleneck::new(&by_rounds, 1, TEN_US, 100, 20);
    link.run(100_000);
    link.recoveries.clear();
    link.run(200_000);
    for pair in link.recoveries.windows(2) {
        let time = pair[1].at.since(pair[0].at).seconds() / TEN_US.seconds();
        let peak = pair[0].window as f64 / 1460.0;
        let (next, w_max) = if peak > 124.0 { (122.5, peak) } else { (125.0, peak * 15.0 / 16.0) };
        assert!((pair[1].window as f64 / 1460.0 - next).abs() < 0.1);
        let expected = bic_cycle(peak, w_max);
        assert!((time - expected).abs() < 120.0, "{time} against {expected}");
    }
}
