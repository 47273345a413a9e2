//! A path that drops, delays and doubles at random delivers everything in the end.

use super::{FLAVOURS, config};
use crate::tcp::{Config, TcpReceiver, TcpSender};
use proptest::prelude::*;
use qcnlab_units::{Bytes, Instant, Span};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Packet {
    Segment(u32),
    Ack(u32),
}

/// What the path does to one packet.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Drop,
    /// Arrives after so many tenths of the usual delay.
    Arrive(u64),
    Twice,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        3 => Just(Fate::Drop),
        6 => Just(Fate::Arrive(10)),
        2 => (0..60u64).prop_map(Fate::Arrive),
        1 => Just(Fate::Twice),
    ]
}

fn any_config() -> impl Strategy<Value = Config> {
    (0..FLAVOURS.len(), 1..12u32, 1..40u64, prop::bool::ANY, 1..3000u64).prop_map(
        |(flavour, initial_window, window, delayed, granularity_us)| Config {
            flavour: FLAVOURS[flavour],
            initial_window,
            max_window: Bytes::new(window * 1000 + 700),
            delayed_ack: if delayed { Span::from_ms(40) } else { Span::ZERO },
            granularity: Span::from_us(granularity_us),
            ..config()
        },
    )
}

/// A connection over the path.
struct World {
    now: Instant,
    sender: TcpSender,
    receiver: TcpReceiver,
    limit: u64,
    mss: u64,
    travelling: BinaryHeap<Reverse<(Instant, u64, Packet)>>,
    sent: u64,
    fates: std::vec::IntoIter<Fate>,
    /// What went and what arrived, in order.
    log: Vec<(Instant, Packet)>,
}

impl World {
    fn new(config: &Config, segments: u32, fates: Vec<Fate>) -> World {
        World {
            now: Instant::ZERO,
            sender: TcpSender::new(config, Some(segments), Bytes::new(300)),
            receiver: TcpReceiver::new(config),
            limit: config.max_window.get().max(config.mss.get()),
            mss: config.mss.get(),
            travelling: BinaryHeap::new(),
            sent: 0,
            fates: fates.into_iter(),
            log: Vec::new(),
        }
    }

    fn send(&mut self, packet: Packet) {
        self.log.push((self.now, packet));
        match self.fates.next().unwrap_or(Fate::Arrive(10)) {
            Fate::Drop => {}
            Fate::Arrive(tenths) => self.travel(packet, tenths),
            Fate::Twice => {
                self.travel(packet, 10);
                self.travel(packet, 15);
            }
        }
    }

    fn travel(&mut self, packet: Packet, tenths: u64) {
        self.sent += 1;
        self.travelling.push(Reverse((self.now + Span::from_us(tenths), self.sent, packet)));
    }

    fn send_what_may_go(&mut self) {
        loop {
            let ready = self.sender.ready();
            let before = self.sender.clone();
            let Some(segment) = self.sender.next_segment(self.now) else {
                assert!(!ready && before == self.sender);
                return;
            };
            assert!(ready);
            let repaired = segment.again && segment.number == before.acknowledged() && before.flight() > Bytes::ZERO;
            let reach = self.sender.window().get().min(self.limit);
            assert!(repaired || self.sender.flight().get() <= reach);
            self.send(Packet::Segment(segment.number));
        }
    }

    /// One event; whether there was one.
    fn step(&mut self) -> bool {
        let arrival = self.travelling.peek().map_or(Instant::NEVER, |Reverse((at, ..))| *at);
        let wake = self.sender.next_wake().min(self.receiver.next_wake());
        if arrival.min(wake) == Instant::NEVER {
            return false;
        }
        self.now = self.now.max(arrival.min(wake));
        if arrival <= wake {
            let Reverse((.., packet)) = self.travelling.pop().expect("it was seen");
            self.arrive(packet);
        } else {
            self.sender.on_wake(self.now);
            if let Some(ack) = self.receiver.on_wake(self.now) {
                self.send(Packet::Ack(ack));
            }
        }
        assert!(self.sender.window().get() >= self.mss);
        assert!(self.sender.acknowledged() <= self.receiver.next_expected());
        self.send_what_may_go();
        true
    }

    fn arrive(&mut self, packet: Packet) {
        match packet {
            Packet::Ack(number) => self.sender.on_ack(self.now, number),
            Packet::Segment(number) => {
                let before = self.receiver.next_expected();
                let ack = self.receiver.on_segment(self.now, number);
                assert!(self.receiver.next_expected() >= before);
                if let Some(ack) = ack {
                    self.send(Packet::Ack(ack));
                }
            }
        }
    }

    /// Runs until nothing is left to do.
    fn run(mut self) -> World {
        self.send_what_may_go();
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < 20_000, "it does not end");
        }
        self
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives(config in any_config(), segments in 1..150u32, fates in prop::collection::vec(fate(), 0..250)) {
        let world = World::new(&config, segments, fates.clone()).run();
        prop_assert!(world.sender.finished());
        prop_assert_eq!(world.receiver.next_expected(), segments);
        prop_assert_eq!(world.sender.flight(), Bytes::ZERO);
        prop_assert_eq!(world.sender.next_wake(), Instant::NEVER);
        let stats = world.sender.stats();
        prop_assert_eq!(stats.segments - stats.retransmitted, u64::from(segments));
        prop_assert!(stats.timeouts + stats.fast_retransmits <= stats.segments);
        let again = World::new(&config, segments, fates).run();
        prop_assert_eq!(world.log, again.log);
        prop_assert_eq!(world.sender, again.sender);
    }

    #[test]
    fn any_calls_are_harmless(
        config in any_config(),
        segments in prop::option::of(0..50u32),
        calls in prop::collection::vec((0..4u8, 0..60u32, 0..2_000_000u64), 0..300),
    ) {
        let mut sender = TcpSender::new(&config, segments, Bytes::new(300));
        let mut receiver = TcpReceiver::new(&config);
        let mut now = Instant::ZERO;
        for (call, number, us) in calls {
            match call {
                0 => while sender.next_segment(now).is_some() {},
                1 => sender.on_ack(now, number),
                2 => {
                    sender.on_wake(now);
                    let _ = receiver.on_wake(now);
                }
                _ => {
                    let _ = receiver.on_segment(now, number);
                }
            }
            now += Span::from_us(us / (1 + u64::from(number)));
            prop_assert!(sender.window() >= config.mss);
        }
    }
}
