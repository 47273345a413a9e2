//! Runs in steps see bins of throughput once no frame can count in them any more.

use super::TEN;
use super::listener::Listener;
use super::net::{Net, greedy};
use qcnlab_schemes::transport::EventKinds;
use qcnlab_sim::{Control, Engine, Trace};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// The sink's end of the last link takes 4 us beyond the 3 us of the link: a frame that left up to 7 us ago may not have
/// been counted yet. Bins of 1 us that are shown after each step of 500 ns are those of the whole run.
#[test]
fn a_bin_is_shown_when_its_last_frame_has_arrived() {
    let mut net = Net::new(&["a", "c", "s"]);
    net.link("a", "s", TEN, Span::from_us(1));
    net.link("s", "c", TEN, Span::from_us(3));
    net.flow("a", "c", 0, greedy());
    let last = net.port("s->c");
    net.plan.ports[last].latency = Span::from_us(4);
    net.plan.record.bin = Span::from_us(1);
    net.plan.end = Instant::ZERO + Span::from_us(60);
    let whole = net.run();
    let rows = &whole.trace.throughput;
    // The first frame leaves s at 3.4 us, and each 1.2 us another one.
    let octets = |bin: usize| rows.bytes[bin];
    assert_eq!([0, 2, 3, 4, 6, 7].map(octets), [0, 0, 1500, 1500, 1500, 0]);
    let mut engine = Engine::new(&net.plan);
    let mut seen = 0;
    let mut at = Instant::ZERO;
    loop {
        at += Span::from_ns(500);
        let mut show = |trace: &Trace| {
            let shown = &trace.throughput;
            assert_eq!(shown.bytes, rows.bytes[..shown.bytes.len()], "at {at:?}");
            seen = shown.bytes.len();
        };
        if !engine.advance(at, &mut show).unwrap() {
            break;
        }
        // Bins that ended 7 us ago and before.
        assert_eq!(seen as u64, at.ps().saturating_sub(7_000_001) / 1_000_000, "at {at:?}");
    }
    assert_eq!(engine.end(&mut |_| {}).unwrap(), whole);
}

/// With a scheme from outside rows are shown each 128 events and at the end; between steps too, wherever these ended.
#[test]
fn rows_are_shown_as_often_in_steps_as_in_a_whole_run() {
    let mut net = super::two_to_one(Span::from_us(1));
    net.flow("a", "c", 0, greedy());
    net.flow("b", "c", 0, greedy());
    let out = net.port("s->c");
    net.plan.ports[out].watched = true;
    net.plan.ports[out].capacity = Some(Bytes::new(150_000));
    net.plan.end = Instant::ZERO + Span::from_us(500);
    let scheme: Listener<()> = Listener::new(EventKinds::NONE, |_, _, _| ());
    scheme.listen(&mut net);
    let mut shown = 0;
    let whole = Engine::new(&net.plan).run_watched(&Control::default(), &mut |_| shown += 1).unwrap();
    let events = whole.counters.events;
    assert!(events > 1000, "{events}");
    assert_eq!(shown, events / 128 + 1);
    let (mut engine, mut in_steps) = (Engine::new(&net.plan), 0);
    for step in 1..=5 {
        let until = Instant::ZERO + Span::from_us(97 * step);
        assert!(engine.advance(until, &mut |_| in_steps += 1).unwrap());
    }
    let done = engine.end(&mut |_| in_steps += 1).unwrap();
    assert_eq!((done, in_steps), (whole, shown + 5));
}

/// Host a at 10 Gb/s, its switch at 1 Gb/s to c: frame n, from 0, comes to s at 2.2 + 1.2 n us, and has left it at
/// 14.2 + 12 n us. At 26.2 us 20 have come (the next is due) and two have left; 1 ps before it was one.
#[test]
fn between_steps_what_has_left_a_queue_is_not_in_it() {
    let mut net = Net::new(&["a", "c", "s"]);
    net.link("a", "s", TEN, Span::from_us(1));
    net.link("s", "c", BitRate::gbps(1), Span::from_us(1));
    net.flow("a", "c", 0, greedy());
    let out = net.port("s->c");
    net.plan.ports[out].recorded = true;
    for (ps, left) in [(26_199_999, 1), (26_200_000, 2)] {
        let mut engine = Engine::new(&net.plan);
        assert_eq!(engine.so_far().stopped(), net.plan.end);
        engine.advance(Instant::from_ps(ps), &mut |_| {}).unwrap();
        assert_eq!(engine.so_far().stopped().ps(), ps);
        let state = engine.so_far().port_states()[out];
        assert_eq!((state.queue.get() / 1500, state.sent.get() / 1500), (20 - left, left), "{ps}");
        // The queue is sampled at 0, 10 and 20 us; at 10 us seven frames have come, at 20 us 15, and one has left.
        assert_eq!(engine.so_far().recorded().queues.bytes, [0, 7 * 1500, 14 * 1500]);
    }
}
