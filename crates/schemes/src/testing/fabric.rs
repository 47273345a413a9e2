//! A small loop: hosts of one line rate, one port they share, propagation delay, steps of one microsecond.

use super::{FRAME, dice, frame, us};
use crate::definition::Family;
use crate::dice::Dice;
use crate::roles::{
    Arrival, CongestionPoint, CpAction, CpId, Delivered, FlowId, NotificationPoint, Probe, ProbeAction, Queue,
    ReactionPoint, Signal,
};
use qcnlab_units::{BitRate, Bytes, Instant};
use std::collections::VecDeque;

/// What is on its way, and the step it is there.
type Line<T> = VecDeque<(u64, T)>;

enum Item {
    Data { host: usize, mark: u8, tag: Option<CpId>, ask: bool },
    Probe { host: usize, probe: Probe },
}

struct Host<F: Family> {
    rp: F::Rp,
    np: Option<F::Np>,
    credit: f64,
    delivered: u64,
}

/// Hosts and a port. RTT without queueing is twice `delay`, in microseconds.
pub(crate) struct Fabric<F: Family> {
    hosts: Vec<Host<F>>,
    cp: F::Cp,
    dice: Dice,
    delay: u64,
    capacity: u64,
    /// The rate the port is served at.
    pub(crate) rate: BitRate,
    /// What each host offers.
    pub(crate) offered: BitRate,
    /// How many hosts send, from the first.
    pub(crate) active: usize,
    now: u64,
    served: f64,
    queue: VecDeque<Item>,
    /// Octets queued.
    pub(crate) len: u64,
    to_port: Line<Item>,
    to_host: Line<(usize, Signal)>,
    /// Frames discarded.
    pub(crate) drops: u64,
}

/// What a stretch of time has shown.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Rate each host got through, Gb/s.
    pub(crate) gbps: Vec<f64>,
    /// Mean and largest queue, octets.
    pub(crate) queue: (f64, u64),
}

impl Seen {
    /// Rate of all hosts, Gb/s.
    pub(crate) fn total(&self) -> f64 {
        self.gbps.iter().sum()
    }
}

/// The next that is there by step `now`.
fn arrived<T>(line: &mut Line<T>, now: u64) -> Option<T> {
    line.front().is_some_and(|(at, _)| *at <= now).then(|| line.pop_front().map(|(_, item)| item)).flatten()
}

impl<F: Family> Fabric<F> {
    pub(crate) fn new(hosts: usize, cp: &F::CpParams, rp: &F::RpParams, line: BitRate, delay_us: u64) -> Fabric<F> {
        let host = |_| Host {
            rp: F::reaction_point(rp, line.into()),
            np: F::notification_point(rp),
            credit: 0.0,
            delivered: 0,
        };
        Fabric {
            hosts: (0..hosts).map(host).collect(),
            cp: F::congestion_point(cp, CpId(0)),
            dice: dice(),
            delay: delay_us,
            capacity: 150_000,
            rate: line,
            offered: line,
            active: hosts,
            now: 0,
            served: 0.0,
            queue: VecDeque::new(),
            len: 0,
            to_port: VecDeque::new(),
            to_host: VecDeque::new(),
            drops: 0,
        }
    }

    pub(crate) fn with_capacity(mut self, octets: u64) -> Fabric<F> {
        self.capacity = octets;
        self
    }

    /// Lets `ms` milliseconds pass.
    pub(crate) fn run(&mut self, ms: u64) -> Seen {
        let (mut sum, mut largest) = (0.0, 0);
        self.hosts.iter_mut().for_each(|host| host.delivered = 0);
        for _ in 0..ms * 1000 {
            self.step();
            sum += self.len as f64;
            largest = largest.max(self.len);
        }
        let seconds = ms as f64 * 1e-3;
        let gbps = self.hosts.iter().map(|host| host.delivered as f64 * 8e-9 / seconds).collect();
        Seen { gbps, queue: (sum / (ms as f64 * 1000.0), largest) }
    }

    fn step(&mut self) {
        let now = us(self.now);
        while let Some((host, signal)) = arrived(&mut self.to_host, self.now) {
            self.hosts[host].rp.on_signal(now, &signal, &mut self.dice);
            self.ask(now, host);
        }
        for host in 0..self.hosts.len() {
            if self.hosts[host].rp.next_wake() <= now {
                self.hosts[host].rp.on_wake(now, &mut self.dice);
                self.ask(now, host);
            }
        }
        while let Some(item) = arrived(&mut self.to_port, self.now) {
            self.arrive(now, item);
        }
        for host in 0..self.active {
            self.send(now, host);
        }
        self.serve(now);
        self.now += 1;
    }

    fn send(&mut self, now: Instant, index: usize) {
        let host = &mut self.hosts[index];
        let rate = host.rp.limit().map_or(self.offered, |limit| limit.min(self.offered));
        host.credit = (host.credit + rate.as_f64() * 1e-6 / 8.0).min(10.0 * FRAME.as_f64());
        let mut sent = false;
        while host.credit >= FRAME.as_f64() {
            host.credit -= FRAME.as_f64();
            let stamp = host.rp.on_sent(now, FRAME, FRAME, &mut self.dice);
            let item = Item::Data { host: index, mark: 0, tag: stamp.limited_by, ask: stamp.probe };
            self.to_port.push_back((self.now + self.delay, item));
            sent = true;
        }
        if sent {
            self.ask(now, index);
        }
    }

    fn ask(&mut self, now: Instant, host: usize) {
        if self.hosts[host].rp.capabilities().sends_probes
            && let Some(probe) = self.hosts[host].rp.take_probe(now)
        {
            self.to_port.push_back((self.now + self.delay, Item::Probe { host, probe }));
        }
    }

    fn queue_of(&self, len: u64) -> Queue {
        Queue { len: Bytes::new(len), capacity: Bytes::new(self.capacity), rate: self.rate }
    }

    fn arrive(&mut self, now: Instant, item: Item) {
        match item {
            Item::Data { host, tag, ask, .. } => {
                let admitted = self.len + FRAME.get() <= self.capacity;
                self.len += if admitted { FRAME.get() } else { 0 };
                let flow = FlowId(host as u32);
                let arrival = Arrival { flow, admitted, limited_by: tag, probe: ask, ..frame() };
                let mut mark = 0;
                match self.cp.on_arrival(now, &arrival, self.queue_of(self.len), &mut self.dice) {
                    CpAction::Nothing => {}
                    CpAction::Send(signal) => self.to_host.push_back((self.now + self.delay, (host, signal))),
                    CpAction::Mark(written) => mark = written,
                }
                if admitted {
                    self.queue.push_back(Item::Data { host, mark, tag, ask });
                } else {
                    self.drops += 1;
                }
            }
            Item::Probe { host, mut probe } => match self.cp.on_probe(now, &mut probe, self.queue_of(self.len)) {
                ProbeAction::Pass => self.queue.push_back(Item::Probe { host, probe }),
                ProbeAction::Answer(signal) => self.to_host.push_back((self.now + self.delay, (host, signal))),
            },
        }
    }

    fn serve(&mut self, now: Instant) {
        self.served = if self.queue.is_empty() { 0.0 } else { self.served + self.rate.as_f64() * 1e-6 / 8.0 };
        while self.served >= FRAME.as_f64() || matches!(self.queue.front(), Some(Item::Probe { .. })) {
            let Some(item) = self.queue.pop_front() else { break };
            let (host, back) = match item {
                Item::Data { host, mark, .. } => {
                    self.served -= FRAME.as_f64();
                    self.len -= FRAME.get();
                    self.hosts[host].delivered += FRAME.get();
                    self.cp.on_departure(now, Bytes::new(self.len));
                    let mark = if self.cp.capabilities().marks_departures {
                        let queue = self.queue_of(self.len);
                        mark.max(self.cp.departure_mark(now, true, queue, &mut self.dice))
                    } else {
                        mark
                    };
                    let frame = Delivered { size: FRAME, mark, controlled: true, sent_at: Instant::NEVER };
                    (host, self.hosts[host].np.as_mut().and_then(|np| np.on_frame(now, &frame)))
                }
                Item::Probe { host, probe } => {
                    (host, self.hosts[host].np.as_mut().and_then(|np| np.on_probe(now, &probe)))
                }
            };
            if let Some(signal) = back {
                self.to_host.push_back((self.now + self.delay, (host, signal)));
            }
        }
    }
}
