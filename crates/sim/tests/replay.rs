//! Replays: frames with their own times and sizes leave when they come, wait for their link and their limiter, and are
//! counted like any others; a stream that fails ends the run with its reason.

mod net;

use net::Net;
use qcnlab_schemes::registry::Config;
use qcnlab_sim::{
    Control, Engine, FlowId, FrameFacts, Halt, Process, ReplayError, ReplayPlan, ReplaySource, ReplayStream,
    ReplayedFrame, Traffic,
};
use qcnlab_units::{BitRate, Bytes, Id, Instant, Span};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Frames as (time in us, flow, octets), handed over `block` at a time; after so many blocks the stream fails.
#[derive(Debug)]
struct Written {
    frames: Vec<(u64, u32, u16)>,
    block: usize,
    fails_after: usize,
    /// Blocks that were asked for, over all streams.
    asked: Arc<AtomicUsize>,
}

impl Written {
    fn new(frames: &[(u64, u32, u16)]) -> Written {
        Written { frames: frames.to_vec(), block: 2, fails_after: usize::MAX, asked: Arc::default() }
    }
}

struct Blocks {
    left: VecDeque<ReplayedFrame>,
    block: usize,
    until_failure: usize,
    asked: Arc<AtomicUsize>,
}

impl ReplaySource for Written {
    fn open(&self) -> Result<Box<dyn ReplayStream>, ReplayError> {
        let frame = |(us, flow, size): &(u64, u32, u16)| ReplayedFrame { at: at(*us), flow: *flow, size: *size };
        let left = self.frames.iter().map(frame).collect();
        let asked = self.asked.clone();
        Ok(Box::new(Blocks { left, block: self.block, until_failure: self.fails_after, asked }))
    }
}

impl ReplayStream for Blocks {
    fn read_block(&mut self, block: &mut VecDeque<ReplayedFrame>) -> Result<(), ReplayError> {
        if self.until_failure == 0 {
            return Err(ReplayError { why: "the disk is gone".to_owned() });
        }
        self.until_failure -= 1;
        self.asked.fetch_add(1, Ordering::Relaxed);
        let some = self.block.min(self.left.len());
        block.extend(self.left.drain(..some));
        Ok(())
    }
}

fn at(us: u64) -> Instant {
    Instant::ZERO + Span::from_us(us)
}

/// Two senders and a receiver around a switch at 1 Gb/s, one replayed flow each.
fn two_senders(written: Written) -> Net {
    let mut net = Net::new(&["a", "b", "switch", "sink"]);
    for host in ["a", "b", "sink"] {
        net.link(host, "switch", BitRate::gbps(1), Span::from_us(1));
    }
    let flows = vec![net.flow("a", "sink", 0, Traffic::Replayed), net.flow("b", "sink", 0, Traffic::Replayed)];
    let source = Arc::new(written);
    net.plan.replays.push(ReplayPlan { name: "replay".to_owned(), flows, source, stop: Instant::NEVER });
    net
}

/// What leaves a port: time in ns, flow and octets.
fn left(net: &Net, port: &str) -> Vec<(u64, u32, u64)> {
    let mut left = Vec::new();
    let mut note = |departure: &qcnlab_sim::Departure| {
        if let FrameFacts::Data(data) = departure.frame {
            left.push((departure.at.ps() / 1000, data.flow.number(), data.size.get()));
        }
        ControlFlow::Continue(())
    };
    let ports = [net.port(port)];
    Engine::run_captured(net.plan.clone(), &ports, &Control::default(), &mut |_| (), &mut note).unwrap();
    left
}

/// 1500 octets take 12 us, 250 take 2 us and 64 take 512 ns at 1 Gb/s. The second frame comes while the first is still
/// on the link, and follows it at 22 us.
#[test]
fn frames_leave_at_their_times_with_their_sizes() {
    let frames = [(10, 0, 1500), (15, 0, 250), (15, 1, 64), (40, 0, 64), (40, 0, 250), (90, 1, 1500)];
    let net = two_senders(Written::new(&frames));
    assert_eq!(left(&net, "a->switch"), [(22_000, 0, 1500), (24_000, 0, 250), (40_512, 0, 64), (42_512, 0, 250)]);
    assert_eq!(left(&net, "b->switch"), [(15_512, 1, 64), (102_000, 1, 1500)]);
    let done = net.run();
    assert_eq!((done.counters.frames_sent, done.counters.frames_delivered), (6, 6));
    // 1500 + 250 + 64 + 250 and 64 + 1500.
    assert_eq!(done.flows.iter().map(|flow| flow.delivered_bytes).collect::<Vec<_>>(), [2064, 1564]);
    let everywhere = qcnlab_sim::Plan { events: qcnlab_sim::Events::Everywhere, ..net.plan.clone() };
    let slow = Engine::new(&everywhere).run(&Control::default()).unwrap();
    assert_eq!((slow.flows, slow.trace), (done.flows, done.trace));
}

/// One flow of each: their frames leave when those of one replay of both do. 512 ns for 64 octets.
#[test]
fn two_replays_run_side_by_side() {
    let mut net = two_senders(Written::new(&[]));
    let flows = std::mem::take(&mut net.plan.replays[0].flows);
    net.plan.replays.clear();
    for (name, flow, frames) in
        [("first", flows[0], [(10, 0, 64), (30, 0, 64)]), ("second", flows[1], [(20, 0, 64), (40, 0, 64)])]
    {
        let source = Arc::new(Written::new(&frames));
        net.plan.replays.push(ReplayPlan { name: name.to_owned(), flows: vec![flow], source, stop: Instant::NEVER });
    }
    assert_eq!(left(&net, "a->switch"), [(10_512, 0, 64), (30_512, 0, 64)]);
    assert_eq!(left(&net, "b->switch"), [(20_512, 1, 64), (40_512, 1, 64)]);
}

/// A stop at 40 us: what comes at that instant or later is not sent.
#[test]
fn a_replay_stops_at_its_stop() {
    let mut net = two_senders(Written::new(&[(10, 0, 100), (39, 0, 100), (40, 0, 100), (41, 1, 100)]));
    net.plan.replays[0].stop = at(40);
    assert_eq!(net.run().counters.frames_sent, 2);
}

/// Room for 300 octets behind the limiter: of four frames of 100 at one instant all are taken while the first is on the
/// link (it has left the queue), and of six the last two are refused.
#[test]
fn what_finds_no_room_is_refused() {
    for (count, refused) in [(4, 0), (6, 2)] {
        let mut net = two_senders(Written::new(&vec![(10, 0, 100); count]));
        net.plan.flows[FlowId::new(0)].frame = Bytes::new(100);
        net.plan.flows[FlowId::new(0)].room = Some(Bytes::new(300));
        let done = net.run();
        assert_eq!((done.counters.frames_refused, done.counters.frames_sent), (refused, count as u64 - refused));
    }
}

/// A limiter holds frames back: QCN at the sink's port, two senders at line rate into one link.
#[test]
fn a_reaction_point_slows_a_replay() {
    let frames: Vec<(u64, u32, u16)> = (0..300).flat_map(|n| [(12 * n, 0, 1500), (12 * n, 1, 1500)]).collect();
    let mut net = two_senders(Written::new(&frames));
    let port = net.port("switch->sink");
    net.plan.ports[port].watched = true;
    net.plan.scheme = Config::find("qcn", None).unwrap();
    net.plan.end = at(3600);
    let done = net.run();
    assert!(done.counters.messages_heard > 0);
    // 3.6 ms at 1 Gb/s are 300 frames of 12 us; 600 were offered, and what is not sent waits at its source.
    assert!((280..=600).contains(&done.counters.frames_sent), "{:?}", done.counters);
    assert!(done.counters.frames_sent < 590, "{:?}", done.counters);
}

/// The stream is asked for blocks as the run goes on, and for none after the end of the run.
#[test]
fn no_more_is_read_than_the_run_needs() {
    let frames: Vec<(u64, u32, u16)> = (0..1000).map(|n| (10 * n, 0, 100)).collect();
    let written = Written::new(&frames);
    let asked = written.asked.clone();
    let mut net = two_senders(written);
    net.plan.end = at(1000);
    assert_eq!(net.run().counters.frames_sent, 100);
    // 100 frames of a run of 1 ms are 50 blocks of two, and one is ahead.
    assert_eq!(asked.load(Ordering::Relaxed), 51);
}

#[test]
fn a_stream_that_fails_ends_the_run() {
    for fails_after in [0, 1] {
        let written = Written { fails_after, ..Written::new(&[(10, 0, 100), (20, 0, 100), (30, 0, 100)]) };
        let failed = two_senders(written).try_run().unwrap_err();
        assert_eq!(failed, Halt::Replay(ReplayError { why: "the disk is gone".to_owned() }));
        assert_eq!(failed.to_string(), "the disk is gone");
    }
}

/// A generator beside a replay: each adds to its own flow. 500 octets each 40 us go from 0 us on, 4 us each.
#[test]
fn a_replay_runs_beside_a_generator() {
    let mut net = two_senders(Written::new(&[(10, 0, 64), (30, 1, 64)]));
    let fed = net.fed("sink", "a", Process::Constant { rate: BitRate::mbps(100) });
    net.plan.flows[fed].frame = Bytes::new(500);
    net.plan.end = at(100);
    assert_eq!(left(&net, "a->switch"), [(10_512, 0, 64)]);
    assert_eq!(left(&net, "b->switch"), [(30_512, 1, 64)]);
    assert_eq!(left(&net, "sink->switch"), [0, 40, 80].map(|us| (us * 1000 + 4000, fed.number(), 500)));
}
