//! A bare loop: what one core allows when nothing is modelled but finite queues, links and constant sources.
//!
//! `bare star N SECONDS` or `bare fat-tree K SECONDS`. The same pending events as the engine, one event a hop,
//! frames of three words in rings; no schemes, classes, pauses, limiters, records or audit. A yardstick, not a
//! simulator. Prints frame-hops, events and discarded frames.

use qcnlab_sim::wheel::Wheel;
use std::process::ExitCode;

const FRAME: u64 = 1500;
/// Picoseconds of a frame at 10 Gb/s.
const FRAME_PS: u64 = 1_200_000;

#[derive(Clone, Copy, Default)]
struct Frame {
    arrival: u64,
    flow: u64,
    hop: u64,
}

/// A queue and the link behind it; a frame's arrival at the far end is known when it queues.
struct BareLink {
    busy: u64,
    delay: u64,
    queued: u64,
    capacity: u64,
    ring: Vec<Frame>,
    head: usize,
    leaving: usize,
    tail: usize,
}

impl BareLink {
    fn new(delay: u64, capacity: u64) -> BareLink {
        BareLink { busy: 0, delay, queued: 0, capacity, ring: vec![Frame::default(); 8], head: 0, leaving: 0, tail: 0 }
    }

    #[inline]
    fn at(&self, number: usize) -> &Frame {
        &self.ring[number & (self.ring.len() - 1)]
    }

    #[inline]
    fn push(&mut self, now: u64, frame: Frame) -> bool {
        while self.leaving != self.tail && self.at(self.leaving).arrival - self.delay <= now {
            self.queued -= FRAME;
            self.leaving += 1;
        }
        if self.queued + FRAME > self.capacity {
            return false;
        }
        self.queued += FRAME;
        self.busy = self.busy.max(now) + FRAME_PS;
        if self.tail - self.head == self.ring.len() {
            self.grow();
        }
        let mask = self.ring.len() - 1;
        self.ring[self.tail & mask] = Frame { arrival: self.busy + self.delay, ..frame };
        self.tail += 1;
        true
    }

    #[inline]
    fn pop(&mut self) -> Frame {
        if self.leaving == self.head {
            self.queued -= FRAME;
            self.leaving += 1;
        }
        let frame = *self.at(self.head);
        self.head += 1;
        frame
    }

    #[cold]
    fn grow(&mut self) {
        let mut ring = vec![Frame::default(); 2 * self.ring.len()];
        let mask = ring.len() - 1;
        (self.head..self.tail).for_each(|number| ring[number & mask] = *self.at(number));
        self.ring = ring;
    }
}

struct Flow {
    next: u64,
    period: u64,
    path: Vec<u32>,
}

#[derive(Default)]
struct Net {
    links: Vec<BareLink>,
    flows: Vec<Flow>,
    hops: u64,
    drops: u64,
}

impl Net {
    #[inline]
    fn send(&mut self, wheel: &mut Wheel, now: u64, index: u32, frame: Frame) {
        let link = &mut self.links[index as usize];
        let idle = link.head == link.tail;
        if link.push(now, frame) {
            self.hops += 1;
            if idle {
                wheel.set(index, link.at(link.head).arrival);
            }
        } else {
            self.drops += 1;
        }
    }

    /// Runs to `end` ps; gives the number of events.
    fn run(&mut self, end: u64) -> u64 {
        let links = self.links.len() as u32;
        let mut wheel = Wheel::new(self.links.len() + self.flows.len());
        (links..).zip(&self.flows).for_each(|(entity, flow)| wheel.set(entity, flow.next));
        let mut events = 0;
        while let Some((now, entity)) = wheel.pop()
            && now < end
        {
            events += 1;
            if entity < links {
                let link = &mut self.links[entity as usize];
                let mut frame = link.pop();
                if link.head != link.tail {
                    wheel.set(entity, link.at(link.head).arrival);
                }
                frame.hop += 1;
                if let Some(next) = self.flows[frame.flow as usize].path.get(frame.hop as usize).copied() {
                    self.send(&mut wheel, now, next, frame);
                }
            } else {
                let flow = &mut self.flows[(entity - links) as usize];
                let first = flow.path[0];
                flow.next += flow.period;
                wheel.set(entity, flow.next);
                self.send(&mut wheel, now, first, Frame { flow: u64::from(entity - links), ..Frame::default() });
            }
        }
        events
    }
}

/// Senders that share 10.5 Gb/s into 10 Gb/s, 20 us a link, 150 KB.
fn star(senders: u32) -> Net {
    let mut net = Net::default();
    net.links.extend((0..senders).map(|_| BareLink::new(20_000_000, u64::MAX)));
    net.links.push(BareLink::new(20_000_000, 150_000));
    let period = (12_000e12 / 10.5e9 * f64::from(senders)) as u64;
    let flow = |i: u32| Flow { next: u64::from(i) * 1_142_857, period, path: vec![i, senders] };
    net.flows.extend((0..senders).map(flow));
    net
}

/// Hosts of 5 Gb/s that send to the other half of a fat-tree, 1 us a link, 150 KB; ways by a random draw.
fn fat_tree(k: u32) -> Net {
    let half = k / 2;
    let hosts = k * half * half;
    let mut net = Net::default();
    let layer = |layer: u32, index: u32| layer * hosts + index;
    net.links.extend((0..6 * hosts).map(|i| BareLink::new(1_000_000, if i < hosts { u64::MAX } else { 150_000 })));
    let mut state = 1u64;
    let mut draw = |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % below
    };
    for from in 0..hosts {
        let to = (from + hosts / 2) % hosts;
        let (edge_up, edge_down, pod_up, pod_down) = (from / half, to / half, from / half / half, to / half / half);
        let (aggregation, core) = (draw(half), draw(half));
        let (up, down) = (pod_up * half + aggregation, pod_down * half + aggregation);
        let path = vec![
            layer(0, from),
            layer(1, edge_up * half + aggregation),
            layer(2, up * half + core),
            layer(3, down * half + core),
            layer(4, edge_down * half + aggregation),
            layer(5, to),
        ];
        net.flows.push(Flow { next: u64::from(draw(2_400_000)), period: 2_400_000, path });
    }
    net
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sized = |text: &str| text.parse().ok().filter(|size| (2..=10_000).contains(size));
    let network = match &arguments[..] {
        [shape, size, seconds] => match (&**shape, sized(size), seconds.parse::<f64>()) {
            ("star", Some(size), Ok(seconds)) => Some((star(size), seconds)),
            ("fat-tree", Some(size), Ok(seconds)) if size <= 64 && size % 2 == 0 => Some((fat_tree(size), seconds)),
            _ => None,
        },
        _ => None,
    };
    let Some((mut net, seconds)) = network else {
        eprintln!("usage: bare star SENDERS SECONDS, or bare fat-tree K SECONDS");
        return ExitCode::from(2);
    };
    let events = net.run((seconds * 1e12) as u64);
    println!("{} {events} {}", net.hops, net.drops);
    ExitCode::SUCCESS
}
