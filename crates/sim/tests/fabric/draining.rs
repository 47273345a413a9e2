//! Runs that end with their last flow.

use super::TEN;
use super::net::{Net, greedy};
use qcnlab_sim::{Ending, Events, FlowId, FlowTally, Process, Traffic};
use qcnlab_units::{BitRate, Bytes, Id, Instant, Span};

/// Two flows of 15 KB, ten frames, over links of 10 Gb/s and 1 us: 12 + 1.2 us of transmissions and 2 us of way for
/// the first; the second shares the last link, which serves 20 frames: 1.2 + 24 us, and 2 us of way.
#[test]
fn a_run_that_drains_ends_with_its_last_flow() {
    let mut net = Net::new(&["a", "b", "c", "s"]);
    for host in ["a", "b", "c"] {
        net.link(host, "s", TEN, Span::from_us(1));
    }
    let finite = || Traffic::Saturated { ceiling: None, total: Some(Bytes::new(15_000)) };
    net.flow("a", "c", 0, finite());
    net.flow("b", "c", 0, finite());
    let whole = net.run();
    assert_eq!((whole.ending, whole.end), (Ending::Time, net.plan.end));
    net.plan.drains = true;
    for events in [Events::WhereNeeded, Events::Everywhere] {
        net.plan.events = events;
        let done = net.run();
        assert_eq!((done.ending, done.end), (Ending::Drained, Instant::from_ps(27_200_000)));
        let finished = |flows: &[FlowTally]| flows.iter().map(|flow| flow.finished).collect::<Vec<_>>();
        assert_eq!(finished(&done.flows), finished(&whole.flows));
        assert_eq!(finished(&done.flows).into_iter().max(), Some(done.end));
    }
}

/// An endless flow does not keep a run that drains going, and neither does a flow that lost a frame, which nothing sends
/// again. One that never starts does.
#[test]
fn a_run_drains_when_no_flow_can_finish_any_more() {
    let mut net = Net::new(&["a", "b", "c", "s"]);
    for (host, rate) in [("a", TEN), ("b", TEN), ("c", BitRate::gbps(1))] {
        net.link(host, "s", rate, Span::from_us(1));
    }
    net.flow("b", "a", 0, greedy());
    let finite = Traffic::Saturated { ceiling: None, total: Some(Bytes::new(1_500_000)) };
    let finite = net.flow("a", "c", 0, finite);
    let port = net.port("s->c");
    net.plan.ports[port].capacity = Some(Bytes::new(30_000));
    net.plan.drains = true;
    let done = net.run();
    // The 20 frames that fit wait after 22 or so came in 1.2 us apart: the next one is lost, and that is the end.
    assert_eq!((done.flows[finite].dropped, done.flows[finite].finished), (1, Instant::NEVER));
    assert_eq!(done.ending, Ending::Drained);
    assert!(done.end < Instant::ZERO + Span::from_us(40), "{:?}", done.end);
    net.plan.flows[finite].start = net.plan.end;
    assert_eq!(net.run().ending, Ending::Time);
}

/// A generator whose first frame would come when it stops makes none; one that stops a picosecond later makes one.
#[test]
fn a_generator_that_stops_as_it_starts_makes_no_frame() {
    for (stop, frames) in [(0, 0), (1, 1)] {
        let mut net = Net::new(&["a", "c", "s"]);
        net.link("a", "s", TEN, Span::from_us(1));
        net.link("s", "c", TEN, Span::from_us(1));
        net.fed("a", "c", Process::Constant { rate: BitRate::gbps(1) });
        net.plan.generators[0].stop = Instant::from_ps(stop);
        assert_eq!(net.run().flows[FlowId::new(0)].sent, frames);
    }
}
