//! The loop: take the earliest event, let one component act, ask what is next.
//!
//! An [`Engine`] holds a schedule and its parts: the [network](network), the [senders](senders), what is
//! [signalled](signalling) back, what is [recorded](recording), which flows [wait for others](dependencies), who [gives credit](granting), and
//! when the run [ends](ending). A part has fields of its own. It is told what happened, sets its own events in the schedule that it is
//! handed, answers with what follows for others, and knows no other part. The engine [acts](Engine::act) on each event, and
//! [routes](routing) what follows: frames from the senders to the network, signals from the network to the senders, losses to
//! whoever counts them.
//!
//! Each component has at most one pending event of each kind; [`Event`] lists the kinds in the order in which they happen at
//! one instant.
//!
//! Within a kind the order is [drawn](crate::Ties::Drawn) for each instant, from the names of components. It makes a
//! difference where several components act on one thing at one instant:
//!
//! * ends of transmissions: two outputs of a switch free the buffer of one input, and the XON that follows is before or
//!   behind the next frame of one of them;
//! * arrivals: frames over several links queue at one port;
//! * signals, wake-ups of reaction points, timers of TCP, sources, generators and releases: flows of one host join the
//!   queue of their limiter or of their adapter.
//!
//! It makes none for pauses that take effect, services of adapters and refreshes of pauses: each acts on its own link.
//! Of outputs that hold equally much of a paused input, the first of the instant counts as the cause.
//!
//! Departures from first-in first-out ports come before all events of their instant: they are computed on arrival, and
//! a queue is updated before it is read. Some releases and arrivals need no event either (see [`shortcuts`]).
//! A byte counter acts inside the transmission that exhausts it.

mod accounts;
mod arriving;
mod build;
mod capturing;
mod changes;
mod dependencies;
mod effects;
mod ending;
mod feedback;
mod finish;
mod following;
mod granting;
mod hosts;
mod network;
mod periodic;
mod recording;
mod routing;
mod schedule;
mod senders;
mod shortcuts;
mod signalling;
mod stepping;
#[cfg(test)]
mod tests;

use crate::audit::Violation;
use crate::course::{Course, Followed};
use crate::ids::{FlowId, IdVec, LimiterId, PortId};
use crate::plan::{Events, Plan};
use crate::replay::ReplayError;
use crate::trace::{Counters, FlowTally, PointTally, Trace};
use capturing::Capture;
pub use capturing::Sink;
use changes::{Changes, NetworkChange, let_flows_go};
use dependencies::Dependencies;
use effects::Received;
pub use ending::Ending;
use ending::RunEnd;
use following::Following;
use granting::Granting;
use network::{Hop, Network};
use periodic::{check_deadlock, sample_queues, sample_rates};
use qcnlab_schemes::Signal;
use qcnlab_schemes::driver::LimiterTally;
use qcnlab_units::Instant;
use recording::Recording;
use schedule::{Event, Schedule};
use senders::{Expired, Kind, ReplayFailed, Senders, Woken};
use shortcuts::counting_sinks::{count_all_delivered, count_full_link};
use signalling::Signalling;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub use stepping::SoFar;

/// Lets other threads follow a run and stop it.
#[derive(Debug, Default)]
pub struct Control {
    /// Set to stop every run that has this control.
    pub cancel: AtomicBool,
    /// Simulated picoseconds done, summed over the runs that have this control. Of a run that is over with its flows, as
    /// large a part of those planned as flows have ended.
    pub done_ps: AtomicU64,
    /// Flows with an end, summed over the runs begun that are over with them.
    pub flows: AtomicU64,
    /// Those of them that have ended.
    pub done_flows: AtomicU64,
}

/// A run that came to its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finished {
    /// What was recorded.
    pub trace: Trace,
    /// Totals.
    pub counters: Counters,
    /// Totals of each flow.
    pub flows: IdVec<FlowId, FlowTally>,
    /// Totals of each congestion point, in the order of their numbers.
    pub points: Vec<PointTally>,
    /// Totals of each limiter.
    pub limiters: IdVec<LimiterId, LimiterTally>,
    /// When it ended: transmissions that end at this instant have ended, nothing else that was due then happened.
    pub end: Instant,
    /// Why it ended then.
    pub ending: Ending,
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
    /// A replay cannot go on.
    #[error("{0}")]
    Replay(#[from] ReplayError),
}

/// One run, as a value.
pub struct Engine {
    schedule: Schedule,
    network: Network,
    senders: Senders,
    signalling: Signalling,
    recording: Recording,
    /// Which flows wait for others to complete.
    dependencies: Dependencies,
    /// The hosts that give credit, if the scheme has it.
    granting: Option<Box<Granting>>,
    /// Changes of the network that are still to come.
    changes: Changes,
    /// How often the control is read, in events; a power of two.
    check_every: u64,
    /// How often the loop stops to attend to others, in events: [`check_every`](Engine::check_every), or 1 in a run that is
    /// captured or follows messages.
    attend_every: u64,
    /// What is captured, in a captured run.
    capture: Option<Box<Capture>>,
    /// When the run ends, as far as is known now, and why.
    run_end: RunEnd,
}

impl Engine {
    /// Runs to the end and audits.
    ///
    /// # Errors
    /// [`Halt::Cancelled`] when `control` says so, [`Halt::Violation`] when the audit does not close,
    /// [`Halt::Replay`] when a replay cannot go on.
    pub fn run(self, control: &Control) -> Result<Finished, Halt> {
        self.run_watched(control, &mut |_| ())
    }

    /// As [`run`](Engine::run); every few thousand events and at the end `observer` sees the rows recorded so far: all
    /// of them if the plan keeps rows, otherwise those since its last call.
    ///
    /// # Errors
    /// As [`run`](Engine::run).
    pub fn run_watched(self, control: &Control, observer: &mut dyn FnMut(&Trace)) -> Result<Finished, Halt> {
        self.run_attended(Attendants {
            control,
            observer,
            sink: &mut |_| ControlFlow::Continue(()),
            following: None,
            told: (Instant::ZERO, 0),
        })
    }

    /// As [`run_watched`](Engine::run_watched) for a new run of `plan`; `sink` gets each frame that leaves one of
    /// `ports`, and each signal that a host hears there, in the order of time. The run is the same as without, but for
    /// the number of its events: it has them [everywhere](Events::Everywhere). When the sink breaks, the run stops.
    ///
    /// # Errors
    /// As [`run`](Engine::run).
    pub fn run_captured(
        mut plan: Plan,
        ports: &[PortId],
        control: &Control,
        observer: &mut dyn FnMut(&Trace),
        sink: Sink<'_>,
    ) -> Result<Finished, Halt> {
        plan.events = Events::Everywhere;
        let mut engine = Engine::new(&plan);
        engine.capture = Some(Capture::new(ports, &engine.network, &engine.senders));
        engine.attend_every = 1;
        engine.run_attended(Attendants { control, observer, sink, following: None, told: (Instant::ZERO, 0) })
    }

    fn run_attended(mut self, mut attendants: Attendants<'_>) -> Result<Finished, Halt> {
        let planned = self.run_end.at();
        attendants.control.flows.fetch_add(self.run_end.counted(), Ordering::Relaxed);
        self.go_on(&mut attendants)?;
        attendants.tell(planned, self.run_end.closed());
        let Attendants { control: _, observer, sink, following: _, told: _ } = attendants;
        if let Some(capture) = &mut self.capture {
            let parts = (&mut self.network, &self.senders, &self.signalling);
            if capture.on_end(self.run_end.at(), parts, sink).is_break() {
                return Err(Halt::Cancelled);
            }
        }
        self.senders.check_replays()?;
        finish::finish(self, observer)
    }

    /// Does what is due before the loop's stop, and ends the transmissions that end then.
    fn go_on(&mut self, attendants: &mut Attendants<'_>) -> Result<(), Halt> {
        // Events are counted where the loop attends, and where it stops.
        let mut uncounted = self.attend_every - (self.recording.events() & (self.attend_every - 1));
        let mut until_attended = uncounted;
        while let Some((now, entity)) = self.schedule.next() {
            if now >= self.run_end.stop() && !(now == self.run_end.stop() && self.schedule.is_transmission_end(entity))
            {
                self.schedule.put_back(now, entity);
                break;
            }
            until_attended -= 1;
            if until_attended == 0 {
                self.recording.count_events(uncounted);
                (uncounted, until_attended) = (self.attend_every, self.attend_every);
                let event = self.schedule.event(entity);
                self.attend(now, event, attendants)?;
            }
            let event = self.schedule.event(entity);
            self.act(now, event);
        }
        self.recording.count_events(uncounted - until_attended);
        Ok(())
    }

    /// Has the part act that an event is for, and does what follows.
    #[inline(always)]
    fn act(&mut self, now: Instant, event: Event) {
        match event {
            Event::TransmissionEnd(queues) => {
                if let Some(port) = self.network.end_transmission(now, queues, &mut self.schedule) {
                    count_full_link(now, port, &mut self.network, &mut self.recording);
                }
            }
            Event::NetworkChange => {
                while let Some(change) = self.changes.take_due(now, &mut self.schedule) {
                    if let Some(again) = self.hosts().change(now, change) {
                        self.changes.plan(again, change);
                    }
                    if let NetworkChange::Down(port) = change {
                        let_flows_go(self, now, port);
                    }
                    self.accounts().settle(now);
                }
            }
            Event::PauseEffect(sender) => self.apply_pause(now, sender),
            Event::SignalArrival(limiter) => {
                if let Some(signal) = self.signalling.hear_ideally(limiter, &mut self.schedule) {
                    self.on_signal(now, limiter, &signal);
                    self.accounts().end_limiter(limiter);
                }
            }
            Event::RpWake(limiter) => {
                let Some(Woken { alarm }) = self.hosts().wake(now, limiter) else { return };
                if let Some(asked_at) = alarm {
                    self.accounts().count_alarm(now, limiter, asked_at);
                }
                self.rp_changed(now, limiter);
                self.accounts().end_limiter(limiter);
            }
            Event::TransportTimer(flow) => {
                let packets = self.network.packets_mut();
                let Some(Expired { told, ack }) = self.senders.timer_expired(now, flow, packets) else { return };
                if let Some(limiter) = told {
                    self.rp_changed(now, limiter);
                }
                self.answer(now, flow, None, Received { ack, completes: false });
                self.senders.go_on(now, flow, &mut self.schedule, |each| self.recording.on_refusal(each));
                self.request_send(now, flow);
            }
            Event::Grant(node) => {
                let Some(granting) = &mut self.granting else { return };
                let lacks = |flow| self.senders.lacks_packets(flow);
                if let Some((frame, credit)) = granting.grant(now, node, lacks, &mut self.schedule) {
                    let port = self.network.last_port(frame.path());
                    self.route(now, Hop::signal(port, frame, Signal::Credit(credit)));
                }
            }
            Event::Arrival(port) => self.arrive(now, port),
            Event::SourceFrame(flow) => {
                match self.senders.kind(flow) {
                    Kind::Ended => return,
                    Kind::Planned => self.accounts().begin_message(flow),
                    Kind::Connection => {
                        self.senders.go_on(now, flow, &mut self.schedule, |each| self.recording.on_refusal(each));
                    }
                    Kind::QueuePair | Kind::Plain => {}
                }
                self.request_send(now, flow);
            }
            Event::GeneratorFrame(generator) => {
                let refused = |each| self.recording.on_refusal(each);
                let (goes_on, fed) = self.senders.feed(now, generator, &mut self.schedule, refused);
                if goes_on == Err(ReplayFailed) {
                    self.run_end.end_now(now, Ending::Time);
                }
                if let Some(flow) = fed {
                    self.request_send(now, flow);
                }
            }
            Event::Release(limiter) => {
                let Some(flow) = self.senders.last_flow_if_there(limiter) else { return };
                if self.senders.is_alone(flow) {
                    self.release(now, flow);
                } else if let Some(adapter) = self.hosts().advance_limiter(now, limiter) {
                    self.serve_adapter(now, adapter);
                }
            }
            Event::AdapterService(adapter) => self.serve_adapter(now, adapter),
            Event::PauseRefresh(input) => self.network.refresh_pause(now, input, &mut self.schedule),
            Event::DeadlockCheck => {
                check_deadlock(now, &mut self.network, &mut self.run_end, &mut self.schedule);
            }
            Event::QueueSample => {
                sample_queues(now, &mut self.network, &mut self.recording, &mut self.schedule);
            }
            Event::RateSample => sample_rates(now, self.hosts()),
        }
    }

    /// Reports progress to the control, and stops if it says so; shows rows; captures.
    #[cold]
    fn attend(&mut self, now: Instant, event: Event, attendants: &mut Attendants<'_>) -> Result<(), Halt> {
        if let Some(capture) = &mut self.capture {
            let parts = (&mut self.network, &self.senders, &self.signalling);
            if capture.on_event(now, event, parts, attendants.sink).is_break() {
                return Err(Halt::Cancelled);
            }
        }
        if let Some(following) = &mut attendants.following {
            following.on_event(now, event, &mut self.network, &self.senders);
        }
        if self.recording.events() & (self.check_every - 1) != 0 {
            return Ok(());
        }
        if attendants.control.cancel.load(Ordering::Relaxed) {
            return Err(Halt::Cancelled);
        }
        attendants.tell(self.run_end.reached(now), self.run_end.closed());
        count_all_delivered(now, &mut self.network, &mut self.recording);
        self.recording.show_so_far(now, attendants.observer);
        Ok(())
    }
}

/// As [`Engine::run`] for a new run of `plan`; returns beside what that gives the course of each of `messages`. The run is the
/// same as without, but for the number of its events: it has them [everywhere](Events::Everywhere).
///
/// # Errors
/// As [`Engine::run`].
pub fn run_following(
    mut plan: Plan,
    messages: &[Followed],
    control: &Control,
) -> Result<(Finished, Vec<Course>), Halt> {
    plan.events = Events::Everywhere;
    let mut engine = Engine::new(&plan);
    engine.attend_every = 1;
    let mut following = Following::new(messages);
    let finished = engine.run_attended(Attendants {
        control,
        observer: &mut |_| (),
        sink: &mut |_| ControlFlow::Continue(()),
        following: Some(&mut following),
        told: (Instant::ZERO, 0),
    })?;
    Ok((finished, following.into_courses()))
}

/// Who follows a run.
struct Attendants<'a> {
    control: &'a Control,
    observer: &'a mut dyn FnMut(&Trace),
    sink: Sink<'a>,
    /// What is followed, if something is.
    following: Option<&'a mut Following>,
    /// Up to when the control was told of the progress, and of how many flows that they had ended.
    told: (Instant, u64),
}

impl Attendants<'_> {
    /// Tells the control how far the run is, and how many of its flows have ended.
    fn tell(&mut self, at: Instant, flows: u64) {
        let (before, counted) = self.told;
        self.control.done_ps.fetch_add(at.since(before).ps(), Ordering::Relaxed);
        self.control.done_flows.fetch_add(flows - counted, Ordering::Relaxed);
        self.told = (at, flows);
    }
}
