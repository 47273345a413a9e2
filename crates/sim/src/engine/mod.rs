//! The loop: takes the earliest event, lets one component act, asks what is next.
//!
//! Each component has one entity in the wheel for each thing it does by itself.
//! Entities are numbered by kind, and by index within a kind, so that the numbers
//! are the order of one instant:
//!
//! 1. transmissions end (where that is an event)
//! 2. service rates change
//! 3. pauses take effect
//! 4. signals reach reaction points
//! 5. reaction points wake up
//! 6. transport timers run off
//! 7. frames reach the far end of links
//! 8. sources generate frames
//! 9. limiters let frames go
//! 10. adapters serve the next flow
//! 11. pauses are asked for again
//! 12. observers look
//!
//! Some of these need no event (see `quiet`): they are worked out before anything later looks.
//!
//! A departure comes before all of these: a port without an event at the end of a
//! transmission lets go what has left when it is looked at. A byte counter acts
//! inside the transmission that exhausts it.

mod build;
mod deadlock;
mod entities;
mod feedback;
mod finish;
mod hops;
mod memory;
mod modes;
mod pausing;
mod quiet;
mod sending;
mod transport;

use crate::audit::Violation;
use crate::frame::{Frame, flag};
use crate::input::Input;
use crate::plan::{Feedback, ServiceChange};
use crate::port::{NONE, Port};
use crate::probe::{Counters, FlowTally, Recorder, Tally, Trace};
use crate::sender::{Adapter, Reaction, Sender};
use crate::source::{Generator, Source};
use crate::turns::Turns;
use crate::wheel::{Entity, Wheel};
use entities::{END, Entities};
use qcnlab_schemes::registry::{AnyCp, AnyNp};
use qcnlab_schemes::{CongestionPoint, Dice, Probe, Queue, ReactionPoint, Signal};
use qcnlab_units::{Instant, Span};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How often the outside is looked at, in events; a power of two.
const CHECK_EVERY: u64 = 1 << 14;
/// As [`CHECK_EVERY`], where machines from outside may take their time.
const CHECK_FOREIGN_EVERY: u64 = 1 << 7;

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
    /// Pauses wait for each other in a circle, and nothing will ever move there again.
    #[error("deadlock at {:.6} s: {} wait for each other in a circle of pauses", at.seconds(), links.join(", "))]
    Deadlock {
        /// When it was found.
        at: Instant,
        /// The stopped ports, each waiting for the next, the last for the first.
        links: Vec<String>,
    },
    /// The audit did not close.
    #[error("conservation is broken at {0}")]
    Violation(#[from] Violation),
}

/// A congestion point, and its dice.
struct Watch {
    cp: AnyCp,
    dice: Dice,
}

impl Watch {
    /// Lets the congestion point mark a data frame that leaves `queue`.
    fn mark_departed(&mut self, now: Instant, frame: &mut Frame, queue: Queue) {
        if !frame.is(flag::NOT_DATA) {
            let controlled = frame.is(flag::CONTROLLED);
            frame.write_mark(self.cp.departure_mark(now, controlled, queue, &mut self.dice));
        }
    }
}

/// One way of a flow's frames.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Path {
    start: u32,
    flow: u32,
    /// The last port's place in the recorder, and the flow's place there.
    end: u32,
    member: u32,
    len: u8,
}

/// What a letter says.
#[derive(Clone, Copy, Debug)]
enum Letter {
    /// On its way back to a source.
    Signal(Signal),
    /// On its way ahead.
    Probe(Probe),
}

/// One run, as a value.
pub struct Engine {
    wheel: Wheel,
    entities: Entities,
    ports: Vec<Port>,
    turns: Vec<Turns>,
    inputs: Vec<Input>,
    peers: Vec<u32>,
    /// The nodes each port leaves from and leads to.
    nodes: Vec<(u32, u32)>,
    /// The ports of each node.
    outputs: Vec<Vec<u32>>,
    /// How many lanes of its inputs each node has stopped.
    stopped_lanes_at: Vec<u32>,
    /// For each node whether frames come in uncounted, as far as allowances go.
    uncounted: Vec<bool>,
    /// The nodes that count each frame because an input is or was near a mark.
    near_marks: Vec<u32>,
    port_names: Vec<String>,
    node_names: Vec<String>,
    route_ports: Vec<u32>,
    /// The memory that counts what comes to each of these ports, ahead and on its way back.
    route_inputs: Vec<(u32, u32)>,
    paths: Vec<Path>,
    senders: Vec<Sender>,
    reactions: Vec<Reaction>,
    adapters: Vec<Adapter>,
    generators: Vec<Generator>,
    /// One for each flow, or none at all.
    notifications: Vec<AnyNp>,
    probes: bool,
    names: Vec<String>,
    tallies: Vec<Tally>,
    watches: Vec<Watch>,
    recorded: Vec<u32>,
    services: VecDeque<ServiceChange>,
    feedback: Feedback,
    /// Signals on their way to each limiter, in order of arrival, under ideal feedback.
    under_way: Vec<VecDeque<(Instant, Signal)>>,
    /// What letters say, and the free places among them.
    letters: Vec<Letter>,
    free_letters: Vec<u32>,
    /// For each node, octets of letters and acknowledgements it made and took.
    extra: Vec<(u64, u64)>,
    recorder: Recorder,
    counters: Counters,
    /// How often the outside is looked at, in events; a power of two.
    check_every: u64,
    end: Instant,
}

impl Engine {
    /// How often stopped links are searched for a circle.
    const LOOK_FOR_DEADLOCK: Span = Span::from_ms(1);

    /// Runs to the end and audits.
    ///
    /// # Errors
    /// [`Halt::Cancelled`] when `control` says so, [`Halt::Deadlock`] when pauses wait for each other,
    /// [`Halt::Violation`] when the audit does not close.
    pub fn run(self, control: &Control) -> Result<Finished, Halt> {
        self.run_watched(control, &mut |_| ())
    }

    /// As [`run`](Engine::run); every few thousand events and at the end `watch` sees the rows recorded so far: all of
    /// them if the plan keeps rows, otherwise those since it looked last.
    ///
    /// # Errors
    /// As [`run`](Engine::run).
    pub fn run_watched(mut self, control: &Control, watch: &mut dyn FnMut(&Trace)) -> Result<Finished, Halt> {
        let mut reported = 0;
        while let Some((time, entity)) = self.wheel.pop() {
            let now = Instant::from_ps(time);
            if now >= self.end {
                break;
            }
            self.counters.events += 1;
            if self.counters.events & (self.check_every - 1) == 0 {
                if control.cancel.load(Ordering::Relaxed) {
                    return Err(Halt::Cancelled);
                }
                control.done_ps.fetch_add(time - reported, Ordering::Relaxed);
                reported = time;
                self.count_all_arrived(now);
                self.recorder.show_so_far(now, watch);
            }
            if entity == self.entities.deadlock {
                self.look_for_room(now);
                self.look_for_deadlock(now)?;
            } else {
                self.dispatch(now, entity);
            }
        }
        control.done_ps.fetch_add(self.end.ps() - reported, Ordering::Relaxed);
        self.finish(watch)
    }

    #[inline(always)]
    fn dispatch(&mut self, now: Instant, entity: Entity) {
        let Entities { service, arrive, generate, release, adapter, .. } = self.entities;
        if entity >= release {
            if entity < adapter { self.release(now, entity - release) } else { self.late(now, entity) }
        } else if entity >= generate {
            self.generate(now, entity - generate);
        } else if entity >= arrive {
            self.arrive(now, entity - arrive);
        } else if entity < service {
            self.transmission_ends(now, entity - END);
        } else {
            self.early(now, entity);
        }
    }

    /// What comes before arrivals.
    fn early(&mut self, now: Instant, entity: Entity) {
        let Entities { pause, signal, wake, .. } = self.entities;
        if entity >= wake {
            self.wake(now, entity - wake);
        } else if entity >= signal {
            self.hear_next(now, entity - signal);
        } else if entity >= pause {
            self.pause_works(now, entity - pause);
        } else {
            self.change_services(now);
        }
    }

    /// What comes after limiters.
    fn late(&mut self, now: Instant, entity: Entity) {
        let Entities { adapter, again, deadlock, queues, .. } = self.entities;
        if entity < again {
            self.serve(now, entity - adapter);
        } else if entity < deadlock {
            self.ask_again(now, entity - again);
        } else if entity == queues {
            self.look_at_queues(now);
        } else {
            self.look_at_rates(now);
        }
    }

    /// Service rates change.
    fn change_services(&mut self, now: Instant) {
        while let Some(change) = self.services.front().copied() {
            if change.at > now {
                return self.wheel.set(self.entities.service, change.at.ps());
            }
            self.services.pop_front();
            let feeder = self.ports[change.port as usize].feeder;
            if feeder != NONE {
                self.let_go(now, feeder);
            }
            self.settle(now, change.port);
            let port = &mut self.ports[change.port as usize];
            let (old, turns) = (port.rate(), port.turns);
            port.change_rate(now, change.rate);
            if feeder != NONE {
                self.expect(feeder);
            } else if let Some(arrival) = port.next_arrival().filter(|_| !port.counted) {
                self.wheel.set(self.entities.arrive + change.port, arrival);
            }
            if turns != NONE {
                self.rescale_turn(now, turns, old);
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
        self.let_all_go(now + Span::from_ps(1));
        for (flow, sender) in self.senders.iter().enumerate() {
            let gauge = self.reactions[sender.limiter as usize].rp.gauge();
            let rows = &mut self.recorder.trace.rates;
            rows.time.push(now.ps());
            rows.flow.push(flow as u32);
            rows.current.push(gauge.current_rate.get());
            rows.target.push(gauge.target_rate.get());
            if let Source::Tcp(connection) = &sender.source {
                let rows = &mut self.recorder.trace.windows;
                rows.time.push(now.ps());
                rows.flow.push(flow as u32);
                rows.window.push(connection.sender.window().get());
                rows.flight.push(connection.sender.flight().get());
            }
        }
        self.wheel.set(self.entities.rates, (now + self.recorder.record().rates_every).ps());
    }

    /// The ports of a path, in order.
    #[inline]
    fn ports_of(&self, path: u32) -> &[u32] {
        let path = self.paths[path as usize];
        &self.route_ports[path.start as usize..path.start as usize + usize::from(path.len)]
    }

    /// The port a frame came to its present node by; it did not start there.
    #[inline]
    fn came_by(&self, frame: &Frame) -> u32 {
        let ports = self.ports_of(frame.path());
        let hop = usize::from(frame.hop());
        if frame.is(flag::BACK) { self.peers[ports[hop] as usize] } else { ports[hop - 1] }
    }
}
