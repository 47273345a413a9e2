//! The loop: takes the earliest event, lets one component act, asks what is next.
//!
//! Each component has one entity in the wheel. Entities are numbered by kind, and
//! by index within a kind, so that the numbers are the order of one instant:
//!
//! 1. service rates change
//! 2. signals reach reaction points
//! 3. reaction points wake up
//! 4. frames reach the far end of links
//! 5. sources generate frames
//! 6. limiters let frames go
//! 7. observers look
//!
//! A departure comes before all of these: a port that is looked at first lets go
//! what has left. A byte counter acts inside the transmission that exhausts it.

use crate::audit::{self, Violation};
use crate::frame::{Frame, flag};
use crate::limiter::Limiter;
use crate::plan::{Feedback, FlowPlan, Plan, ServiceChange};
use crate::port::{NO_CP, Port};
use crate::probe::{Counters, FlowTally, Recorder, Trace};
use crate::source::Source;
use crate::wheel::{Entity, Wheel};
use qcnlab_schemes::registry::{Cp, Rp};
use qcnlab_schemes::{Arrival, CongestionPoint, CpAction, CpId, Dice, FlowId, Purpose, Queue, ReactionPoint, Signal};
use qcnlab_units::{Bytes, Instant};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How often the outside is looked at, in events.
const CHECK_EVERY: u64 = 1 << 14;

/// Lets the outside follow a run and stop it.
#[derive(Debug, Default)]
pub struct Control {
    /// Set to stop every run that looks here.
    pub cancel: AtomicBool,
    /// Simulated picoseconds done, summed over the runs that report here.
    pub done_ps: AtomicU64,
}

/// A run that came to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// What was recorded.
    pub trace: Trace,
    /// Totals.
    pub counters: Counters,
    /// Totals of each flow.
    pub flows: Vec<FlowTally>,
}

/// Why a run did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Halt {
    /// Somebody set [`Control::cancel`].
    #[error("stopped")]
    Cancelled,
    /// The audit did not close.
    #[error("conservation is broken at {0}")]
    Violation(#[from] Violation),
}

/// A congestion point at its port.
struct Watch {
    cp: Cp,
    dice: Dice,
}

/// A sender: its source, its limiter and the reaction point that sets it.
struct Sender {
    source: Source,
    limiter: Limiter,
    rp: Rp,
    dice: Dice,
    /// The first port of the route.
    port: u32,
    frame: u32,
    flags: u16,
    stop: Instant,
    wake: Instant,
}

/// Where a flow's frames go.
#[derive(Clone, Copy)]
struct Route {
    start: u32,
    len: u16,
    /// The last port's place in the recorder, and the flow's place there.
    end: u32,
    member: u32,
}

/// First entity of each kind.
struct Entities {
    signal: Entity,
    wake: Entity,
    arrive: Entity,
    generate: Entity,
    release: Entity,
    queues: Entity,
    rates: Entity,
    count: usize,
}

const SERVICE: Entity = 0;

impl Entities {
    fn new(flows: u32, ports: u32) -> Entities {
        let signal = SERVICE + 1;
        let wake = signal + flows;
        let arrive = wake + flows;
        let generate = arrive + ports;
        let release = generate + flows;
        let queues = release + flows;
        let rates = queues + 1;
        Entities { signal, wake, arrive, generate, release, queues, rates, count: rates as usize + 1 }
    }
}

/// One run, as a value.
pub struct Engine {
    wheel: Wheel,
    entities: Entities,
    ports: Vec<Port>,
    port_names: Vec<String>,
    peers: Vec<Option<u32>>,
    route_ports: Vec<u32>,
    routes: Vec<Route>,
    senders: Vec<Sender>,
    names: Vec<String>,
    tallies: Vec<FlowTally>,
    watches: Vec<Watch>,
    recorded: Vec<u32>,
    services: VecDeque<ServiceChange>,
    feedback: Feedback,
    /// Signals on their way to each sender, in order of arrival, under ideal feedback.
    under_way: Vec<VecDeque<(Instant, Signal)>>,
    /// Signals inside feedback frames, and the free places among them.
    letters: Vec<Signal>,
    free_letters: Vec<u32>,
    recorder: Recorder,
    counters: Counters,
    end: Instant,
}

impl Engine {
    /// A run of `plan`, at time zero.
    ///
    /// # Panics
    /// When the plan names a port that is not there, a flow has no route, or the
    /// end lies past [`Wheel::HORIZON`]: who builds plans checks that.
    pub fn new(plan: &Plan) -> Engine {
        assert!(plan.end.ps() < Wheel::HORIZON, "a run ends within two and a half simulated hours");
        let entities = Entities::new(plan.flows.len() as u32, plan.ports.len() as u32);
        let mut ports: Vec<Port> =
            plan.ports.iter().map(|p| Port::new(p.rate, p.delay + p.latency, p.capacity, p.overhead)).collect();
        let mut watches = Vec::new();
        for (index, port) in plan.ports.iter().enumerate().filter(|(_, port)| port.watched) {
            ports[index].cp = watches.len() as u32;
            let cp = plan.scheme.congestion_point(CpId(watches.len() as u32));
            ports[index].departures = cp.watches_departures();
            let dice = Dice::new(plan.seed, plan.replication, &port.name, Purpose::Sampling);
            watches.push(Watch { cp, dice });
        }
        let recorded = (0u32..).zip(&plan.ports).filter(|(_, port)| port.recorded).map(|(index, _)| index).collect();
        let (route_ports, routes, ends) = lay_routes(&plan.flows);
        let senders = plan.flows.iter().map(|flow| Sender::new(plan, flow)).collect();
        let mut engine = Engine {
            wheel: Wheel::new(entities.count),
            entities,
            ports,
            port_names: plan.ports.iter().map(|port| port.name.clone()).collect(),
            peers: plan.ports.iter().map(|port| port.peer).collect(),
            route_ports,
            routes,
            senders,
            names: plan.flows.iter().map(|flow| flow.name.clone()).collect(),
            tallies: vec![FlowTally::default(); plan.flows.len()],
            watches,
            recorded,
            services: plan.services.iter().copied().collect(),
            feedback: plan.feedback,
            under_way: vec![VecDeque::new(); plan.flows.len()],
            letters: Vec::new(),
            free_letters: Vec::new(),
            recorder: Recorder::new(plan.record, plan.flows.len(), ends),
            counters: Counters::default(),
            end: plan.end,
        };
        engine.arm();
        engine
    }

    /// Sets the first event of everything that acts by itself.
    fn arm(&mut self) {
        if let Some(first) = self.services.front() {
            self.wheel.set(SERVICE, first.at.ps());
        }
        for (flow, sender) in self.senders.iter().enumerate() {
            let (entity, at) = match &sender.source {
                Source::Saturated { next, .. } => (self.entities.release, *next),
                Source::Constant { next, .. } => (self.entities.generate, *next),
            };
            self.wheel.set(entity + flow as u32, at.ps());
        }
        if self.recorder.record().queue_every.ps() > 0 {
            self.wheel.set(self.entities.queues, 0);
        }
        if self.recorder.record().rates_every.ps() > 0 {
            self.wheel.set(self.entities.rates, 0);
        }
    }

    /// Runs to the end and audits.
    ///
    /// # Errors
    /// [`Halt::Cancelled`] when `control` says so, [`Halt::Violation`] when the audit does not close.
    pub fn run(mut self, control: &Control) -> Result<Finished, Halt> {
        let mut reported = 0;
        while let Some((time, entity)) = self.wheel.pop() {
            let now = Instant::from_ps(time);
            if now >= self.end {
                break;
            }
            self.counters.events += 1;
            if self.counters.events.is_multiple_of(CHECK_EVERY) {
                if control.cancel.load(Ordering::Relaxed) {
                    return Err(Halt::Cancelled);
                }
                control.done_ps.fetch_add(time - reported, Ordering::Relaxed);
                reported = time;
            }
            self.dispatch(now, entity);
        }
        control.done_ps.fetch_add(self.end.ps() - reported, Ordering::Relaxed);
        self.finish()
    }

    #[inline]
    fn dispatch(&mut self, now: Instant, entity: Entity) {
        let Entities { signal, wake, arrive, generate, release, queues, .. } = self.entities;
        if entity >= release {
            if entity < queues {
                self.release(now, entity - release);
            } else if entity == queues {
                self.look_at_queues(now);
            } else {
                self.look_at_rates(now);
            }
        } else if entity >= generate {
            self.release(now, entity - generate);
        } else if entity >= arrive {
            self.arrive(now, entity - arrive);
        } else if entity >= wake {
            self.wake(now, entity - wake);
        } else if entity >= signal {
            self.hear_next(now, entity - signal);
        } else {
            self.change_services(now);
        }
    }

    /// The oldest frame on a link reaches its far end.
    #[inline]
    fn arrive(&mut self, now: Instant, index: u32) {
        if self.ports[index as usize].departures {
            self.settle(now, index);
        }
        let port = &mut self.ports[index as usize];
        let mut frame = port.take_arrived();
        if let Some(next) = port.next_arrival() {
            self.wheel.set(self.entities.arrive + index, next);
        }
        if frame.flags & flag::FEEDBACK != 0 {
            return self.feedback_arrived(now, frame);
        }
        let route = self.routes[frame.flow as usize];
        frame.hop += 1;
        if frame.hop < route.len {
            let next = self.route_ports[(route.start + u32::from(frame.hop)) as usize];
            self.forward(now, next, frame);
        } else {
            let left = now.ps() - self.ports[index as usize].delay().ps();
            self.recorder.count_left(route.end, route.member, left, frame.size);
            let tally = &mut self.tallies[frame.flow as usize];
            tally.delivered += 1;
            tally.delivered_bytes += u64::from(frame.size);
        }
    }

    /// A frame arrives at a port's queue; a congestion point there looks at it.
    #[inline]
    fn forward(&mut self, now: Instant, index: u32, frame: Frame) {
        let admitted = self.enqueue(now, index, frame);
        if !admitted {
            self.tallies[frame.flow as usize].dropped += 1;
            self.recorder.on_drop(now, index, frame.flow, frame.size);
        }
        let port = &self.ports[index as usize];
        if port.cp == NO_CP {
            return;
        }
        let arrival = Arrival {
            flow: FlowId(frame.flow),
            size: Bytes::new(u64::from(frame.size)),
            admitted,
            controlled: frame.flags & flag::CONTROLLED != 0,
            cn_tagged: frame.flags & flag::CN_TAGGED != 0,
            limited_by: frame.tag.checked_sub(1).map(CpId),
            probe: frame.flags & flag::PROBE != 0,
            mark: 0,
        };
        let queue = Queue { len: port.queue_len(), capacity: port.capacity(), rate: port.rate() };
        let watch = &mut self.watches[port.cp as usize];
        match watch.cp.on_arrival(now, &arrival, queue, &mut watch.dice) {
            CpAction::Nothing => {}
            CpAction::Send(signal) => self.send_back(now, index, frame, signal),
            CpAction::Mark(_) => unreachable!("frames carry no marks here, and no scheme writes any"),
        }
    }

    /// Queues a frame and keeps the port's one event; false when it was discarded.
    #[inline(always)]
    fn enqueue(&mut self, now: Instant, index: u32, frame: Frame) -> bool {
        if self.ports[index as usize].departures {
            self.settle(now, index);
        }
        let port = &mut self.ports[index as usize];
        let idle = port.next_arrival().is_none();
        let admitted = port.enqueue(now, frame);
        if idle && let Some(arrival) = port.next_arrival() {
            self.wheel.set(self.entities.arrive + index, arrival);
        }
        admitted
    }

    /// Takes what has left out of a port's queue, and shows each departure to a congestion point that wants it.
    fn settle(&mut self, now: Instant, index: u32) {
        let port = &mut self.ports[index as usize];
        if !port.departures {
            return port.settle(now);
        }
        let cp = &mut self.watches[port.cp as usize].cp;
        while let Some(left) = port.leave_next(now) {
            cp.on_departure(left, port.queue_len());
        }
    }

    /// A signal starts its way from `port` to the source of `frame`.
    #[cold]
    fn send_back(&mut self, now: Instant, port: u32, frame: Frame, signal: Signal) {
        self.counters.messages_sent += 1;
        self.recorder.on_message(now, port, frame.flow, signal);
        match self.feedback {
            Feedback::Ideal => {
                let at = self.way_back(frame).fold(now, |at, port| at + self.ports[port as usize].delay());
                self.deliver_at(at, frame.flow, signal);
            }
            Feedback::Frames { size, .. } => {
                let tag = self.free_letters.pop().unwrap_or(self.letters.len() as u32);
                if tag as usize == self.letters.len() {
                    self.letters.push(signal);
                } else {
                    self.letters[tag as usize] = signal;
                }
                let letter = Frame { size: size.get() as u32, flags: flag::FEEDBACK, tag, arrival: 0, ..frame };
                self.send_letter(now, letter);
            }
        }
    }

    /// The forward ports a signal about `frame` goes back along, nearest to the source first.
    fn way_back(&self, frame: Frame) -> impl Iterator<Item = u32> {
        let start = self.routes[frame.flow as usize].start as usize;
        self.route_ports[start..start + usize::from(frame.hop)].iter().copied()
    }

    /// Ideal feedback: puts the signal in line for its sender.
    fn deliver_at(&mut self, at: Instant, flow: u32, signal: Signal) {
        let line = &mut self.under_way[flow as usize];
        let place = line.partition_point(|entry| entry.0 <= at);
        line.insert(place, (at, signal));
        if place == 0 {
            self.wheel.set(self.entities.signal + flow, at.ps());
        }
    }

    /// The next signal in line reaches its sender.
    fn hear_next(&mut self, now: Instant, flow: u32) {
        let line = &mut self.under_way[flow as usize];
        let Some((_, signal)) = line.pop_front() else { return };
        if let Some((at, _)) = line.front() {
            self.wheel.set(self.entities.signal + flow, at.ps());
        }
        self.hear(now, flow, &signal);
    }

    /// A feedback frame queues for the link back, or is there.
    fn send_letter(&mut self, now: Instant, letter: Frame) {
        let Some(forward) = self.way_back(letter).last() else {
            return self.open_letter(now, letter);
        };
        let back = self.peers[forward as usize].expect("a link that feedback crosses has two directions");
        if !self.enqueue(now, back, letter) {
            self.counters.messages_lost += 1;
            self.free_letters.push(letter.tag);
        }
    }

    fn feedback_arrived(&mut self, now: Instant, mut letter: Frame) {
        letter.hop -= 1;
        self.send_letter(now, letter);
    }

    fn open_letter(&mut self, now: Instant, letter: Frame) {
        let signal = self.letters[letter.tag as usize];
        self.free_letters.push(letter.tag);
        self.hear(now, letter.flow, &signal);
    }

    /// A reaction point hears a signal.
    fn hear(&mut self, now: Instant, flow: u32, signal: &Signal) {
        self.counters.messages_heard += 1;
        let sender = &mut self.senders[flow as usize];
        sender.rp.on_signal(now, signal, &mut sender.dice);
        self.follow(now, flow);
    }

    /// A reaction point's time has come.
    fn wake(&mut self, now: Instant, flow: u32) {
        let sender = &mut self.senders[flow as usize];
        sender.wake = Instant::NEVER;
        let alarms = sender.rp.gauge().alarms;
        sender.rp.on_wake(now, &mut sender.dice);
        if sender.rp.gauge().alarms != alarms {
            self.count_alarm(now, flow);
        }
        self.follow(now, flow);
    }

    /// A reaction point took silence for bandwidth: has there been some all along its route since it asked?
    #[cold]
    fn count_alarm(&mut self, now: Instant, flow: u32) {
        self.counters.alarms += 1;
        let asked_at = self.senders[flow as usize].rp.gauge().asked_at;
        let Route { start, len, .. } = self.routes[flow as usize];
        let mut missing = false;
        for hop in start..start + u32::from(len) {
            let index = self.route_ports[hop as usize];
            self.settle(now, index);
            if let Some(watch) = self.watches.get(self.ports[index as usize].cp as usize) {
                missing |= watch.cp.no_bandwidth_since(now).is_some_and(|since| since <= asked_at);
            }
        }
        self.counters.false_alarms += u64::from(missing);
    }

    /// Carries a reaction point's state over to its limiter and its timer.
    fn follow(&mut self, now: Instant, flow: u32) {
        let sender = &mut self.senders[flow as usize];
        sender.follow_wake(&mut self.wheel, self.entities.wake + flow);
        if sender.rp.limit() != sender.limiter.rate() {
            sender.limiter.set_rate(now, sender.rp.limit());
            if let Some(at) = sender.next_release(&self.ports, now) {
                self.wheel.set(self.entities.release + flow, at.ps());
            }
        }
    }

    /// A limiter may let a frame go, or a source that had none has one.
    #[inline]
    fn release(&mut self, now: Instant, flow: u32) {
        let sender = &mut self.senders[flow as usize];
        sender.source.catch_up(now, sender.stop);
        let Some(at) = sender.next_release(&self.ports, now) else { return };
        if at > now {
            return self.wheel.set(self.entities.release + flow, at.ps());
        }
        let (frame, port) = (sender.take_frame(now, flow), sender.port);
        self.tallies[flow as usize].sent += 1;
        self.forward(now, port, frame);
        let sender = &mut self.senders[flow as usize];
        sender.follow_wake(&mut self.wheel, self.entities.wake + flow);
        match (sender.next_release(&self.ports, now), &sender.source) {
            (Some(at), _) => self.wheel.set(self.entities.release + flow, at.ps()),
            (None, Source::Constant { next, .. }) if *next < sender.stop => {
                self.wheel.set(self.entities.generate + flow, next.ps());
            }
            _ => {}
        }
    }

    /// Service rates change.
    fn change_services(&mut self, now: Instant) {
        while let Some(change) = self.services.front().copied() {
            if change.at > now {
                return self.wheel.set(SERVICE, change.at.ps());
            }
            self.services.pop_front();
            self.settle(now, change.port);
            let port = &mut self.ports[change.port as usize];
            port.change_rate(now, change.rate);
            if let Some(arrival) = port.next_arrival() {
                self.wheel.set(self.entities.arrive + change.port, arrival);
            }
        }
    }

    fn look_at_queues(&mut self, now: Instant) {
        for each in 0..self.recorded.len() {
            let index = self.recorded[each];
            self.settle(now, index);
            let rows = &mut self.recorder.trace.queues;
            rows.time.push(now.ps());
            rows.port.push(index);
            rows.bytes.push(self.ports[index as usize].queue_len().get());
        }
        self.wheel.set(self.entities.queues, (now + self.recorder.record().queue_every).ps());
    }

    fn look_at_rates(&mut self, now: Instant) {
        let rows = &mut self.recorder.trace.rates;
        for (flow, sender) in self.senders.iter().enumerate() {
            let gauge = sender.rp.gauge();
            rows.time.push(now.ps());
            rows.flow.push(flow as u32);
            rows.current.push(gauge.current_rate.get());
            rows.target.push(gauge.target_rate.get());
        }
        self.wheel.set(self.entities.rates, (now + self.recorder.record().rates_every).ps());
    }

    /// Settles the last bins, closes the books and checks them.
    fn finish(mut self) -> Result<Finished, Halt> {
        for index in 0..self.ports.len() {
            let port = &mut self.ports[index];
            port.settle(self.end);
            let delay = port.delay().ps();
            for frame in self.ports[index].on_the_wire().filter(|frame| frame.flags & flag::FEEDBACK == 0) {
                let route = self.routes[frame.flow as usize];
                if frame.hop + 1 == route.len {
                    self.recorder.count_left(route.end, route.member, frame.arrival - delay, frame.size);
                }
            }
        }
        self.recorder.finish(self.end);
        for tally in &self.tallies {
            self.counters.frames_sent += tally.sent;
            self.counters.frames_delivered += tally.delivered;
            self.counters.frames_dropped += tally.dropped;
        }
        self.counters.frame_hops = self.ports.iter().map(|port| port.count.accepted_frames).sum();
        self.audit()?;
        Ok(Finished { trace: self.recorder.trace, counters: self.counters, flows: self.tallies })
    }

    fn audit(&self) -> Result<(), Violation> {
        for (name, port) in self.port_names.iter().zip(&self.ports) {
            audit::port(name, port)?;
        }
        audit::flows(self.names.iter().map(String::as_str), &self.tallies, &self.ports)?;
        let in_line: usize = self.under_way.iter().map(VecDeque::len).sum();
        let in_frames = self.letters.len() - self.free_letters.len();
        audit::signals(&self.counters, (in_line + in_frames) as u64)
    }
}

impl Sender {
    fn new(plan: &Plan, flow: &FlowPlan) -> Sender {
        let mut dice = Dice::new(plan.seed, plan.replication, &flow.name, Purpose::Start);
        let start = flow.start + flow.start_jitter.scaled_rounded_down(dice.uniform(0.0, 1.0));
        let rp = plan.scheme.reaction_point(plan.ports[flow.paths[0][0] as usize].rate);
        let mut limiter = Limiter::new(flow.frame, rp.pacing());
        limiter.set_rate(start, rp.limit());
        let controlled = if flow.controlled { flag::CONTROLLED } else { 0 };
        let cn_tagged = if flow.cn_tag { flag::CN_TAGGED } else { 0 };
        Sender {
            source: Source::new(flow, start),
            limiter,
            rp,
            dice: Dice::new(plan.seed, plan.replication, &flow.name, Purpose::Reaction),
            port: flow.paths[0][0],
            frame: flow.frame.get() as u32,
            flags: controlled | cn_tagged,
            stop: flow.stop,
            wake: Instant::NEVER,
        }
    }

    /// When the next frame may go: wanted, allowed by the limiter, and the port free. `None` when none is wanted.
    #[inline]
    fn next_release(&self, ports: &[Port], now: Instant) -> Option<Instant> {
        let wanted = match &self.source {
            Source::Saturated { next, .. } if (*next).max(now) < self.stop => *next,
            Source::Constant { waiting, .. } if *waiting > 0 => now,
            _ => return None,
        };
        Some(wanted.max(self.limiter.next()).max(ports[self.port as usize].busy_until()).max(now))
    }

    /// Lets the next frame go.
    #[inline]
    fn take_frame(&mut self, now: Instant, flow: u32) -> Frame {
        let size = Bytes::new(u64::from(self.frame));
        let backlog = match &mut self.source {
            Source::Saturated { gap, next } => {
                *next = now + *gap;
                0
            }
            Source::Constant { waiting, .. } => {
                *waiting -= 1;
                *waiting * size.get()
            }
        };
        self.limiter.on_sent(now);
        let stamp = self.rp.on_sent(now, size, Bytes::new(backlog), &mut self.dice);
        let tag = stamp.limited_by.map_or(0, |cp| cp.0 + 1);
        let probe = if stamp.probe { flag::PROBE } else { 0 };
        let limit = self.rp.limit();
        if limit != self.limiter.rate() {
            self.limiter.set_rate(now, limit);
        }
        Frame { arrival: 0, flow, size: self.frame, hop: 0, flags: self.flags | probe, tag }
    }

    /// Keeps the wake-up in the wheel the one the reaction point asks for.
    #[inline]
    fn follow_wake(&mut self, wheel: &mut Wheel, entity: Entity) {
        let wake = self.rp.next_wake();
        if wake != self.wake {
            self.wake = wake;
            wheel.set(entity, wake.ps());
        }
    }
}

/// Routes end to end in one list, and for each last port the flows that end there.
fn lay_routes(flows: &[FlowPlan]) -> (Vec<u32>, Vec<Route>, Vec<Vec<u32>>) {
    let mut route_ports = Vec::new();
    let mut routes = Vec::new();
    let mut end_ports: Vec<u32> = Vec::new();
    let mut ends: Vec<Vec<u32>> = Vec::new();
    for (index, flow) in flows.iter().enumerate() {
        let route = &flow.paths[0];
        let last = *route.last().expect("a flow has a route");
        let end = end_ports.iter().position(|port| *port == last).unwrap_or_else(|| {
            end_ports.push(last);
            ends.push(Vec::new());
            ends.len() - 1
        });
        routes.push(Route {
            start: route_ports.len() as u32,
            len: route.len() as u16,
            end: end as u32,
            member: ends[end].len() as u32,
        });
        ends[end].push(index as u32);
        route_ports.extend_from_slice(route);
    }
    (route_ports, routes, ends)
}
