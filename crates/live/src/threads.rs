//! The threads of a run: the switches' loop, a loop for each adapter, and the applications, each in its namespace.

use crate::adapter::Adapter;
use crate::clock::{Clock, Stopped, Stops};
use crate::congestion::{controlled_classes, points};
use crate::datagrams::Datagrams;
use crate::error::LiveError;
use crate::intruder::{Cable, HostileFrames, intrude};
use crate::layout::Layout;
use crate::loops::{HostSockets, Running, SwitchSocket, run_adapter, run_switches};
use crate::netlink::Links;
use crate::network::{STACK, Spaces, WIRE, assert_ours, interface, prepare_host};
use crate::options::{LiveOptions, TrafficSource};
use crate::outcome::PartEnd;
use crate::record::{Capture, Records};
use crate::shaper::{KernelShaper, LimiterKind};
use crate::streams::{APPLICATION_PRIORITY, StreamEnd, Streaming};
use crate::switch::Switches;
use crate::sys::SysError;
use crate::sys::namespace::Namespace;
use crate::sys::scheduling::{SchedulingClass, ask_for_best, last_cpu, stay_on};
use crate::sys::time::monotonic_ns;
use crate::view::View;
use qcnlab_lab::{Control, RunError};
use qcnlab_sim::{Feedback, FlowId, NodeId, Plan, Traffic};
use qcnlab_units::Id;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

/// Priority of loops among real-time threads; that of applications is lower.
const LOOP_PRIORITY: i32 = 20;
/// Priority of signals under ideal feedback: the standard's default.
const SIGNAL_PRIORITY: u8 = 6;

/// From the moment at which all is ready to the start of the run, ns.
const LEAD_NS: u64 = 100_000_000;

/// Where threads wait until all are ready.
#[derive(Debug, Default)]
struct Gate {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    arrived: usize,
    /// Whether any of them could not be made ready.
    failed: bool,
    /// Once it is open: when the run starts by the machine's clock, ns, or `None` if nobody is to start.
    opened: Option<Option<u64>>,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells that a thread is ready, or could not be made so, and waits until the gate opens. Returns when the
    /// run starts, ns; `None` if nobody is to start.
    fn pass(&self, ready: bool) -> Option<u64> {
        let mut waiting = self.lock();
        waiting.arrived += 1;
        waiting.failed |= !ready;
        self.changed.notify_all();
        let waiting = self.changed.wait_while(waiting, |waiting| waiting.opened.is_none());
        waiting.unwrap_or_else(PoisonError::into_inner).opened.flatten()
    }

    /// Waits for so many threads and opens: all start if all are ready and `complete`, else nobody.
    fn open(&self, threads: usize, complete: bool) {
        let waiting = self.changed.wait_while(self.lock(), |waiting| waiting.arrived < threads);
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        waiting.opened = Some((complete && !waiting.failed).then(|| monotonic_ns() + LEAD_NS));
        self.changed.notify_all();
    }
}

/// What the threads of a run share.
pub(crate) struct Session<'a> {
    plan: &'a Plan,
    layout: Arc<Layout>,
    spaces: Spaces,
    control: &'a Control,
    view: Option<&'a View>,
    gate: Gate,
    stops: Stops,
    parts: Vec<Part>,
    own: bool,
    capture: Capture,
    limiter: LimiterKind,
    /// The CPU that all threads of the run share.
    cpu: Option<usize>,
    real_time: bool,
    /// The host that was taken over, and the seed of its frames.
    intruder: Option<(NodeId, u64)>,
}

impl<'a> Session<'a> {
    /// The threads of a run, not started yet.
    pub(crate) fn new(
        plan: &'a Plan,
        layout: &Arc<Layout>,
        spaces: Spaces,
        options: &LiveOptions,
        intruder: Option<(NodeId, u64)>,
        control: &'a Control,
        view: Option<&'a View>,
    ) -> Session<'a> {
        let parts = parts_of(plan, layout, options.traffic, intruder.map(|(host, _)| host));
        let loops = parts.iter().filter(|part| matches!(part, Part::Switches | Part::Adapter(_))).count();
        let own = options.traffic == TrafficSource::Own;
        Session {
            plan,
            layout: Arc::clone(layout),
            spaces,
            control,
            view,
            gate: Gate::default(),
            // Programs of others, the kernel's shaper and an intruder go by the machine's clock.
            stops: Stops::new(own && options.limiter == LimiterKind::Adapter && intruder.is_none() && view.is_none()),
            parts,
            own,
            capture: Capture { snap: options.snap, share: loops },
            limiter: options.limiter,
            cpu: last_cpu(),
            real_time: options.real_time,
            intruder,
        }
    }

    /// Sets the best scheduling there is for the calling thread, on the CPU of the run.
    ///
    /// All threads share one CPU: a real-time thread that is woken on another one may wait there for the kernel's next
    /// tick, 4 ms at 250 Hz, while an ordinary thread runs on.
    fn schedule(&self, priority: i32) -> SchedulingClass {
        if !self.real_time {
            return SchedulingClass::Plain;
        }
        if let Some(cpu) = self.cpu {
            stay_on(cpu);
        }
        ask_for_best(priority)
    }

    /// Tells that the calling thread is ready, or could not be made so, and waits for the others.
    fn begin<T>(&self, ready: Result<T, LiveError>) -> Result<(T, Clock<'_>), LiveError> {
        let start = self.gate.pass(ready.is_ok());
        let clock = |start| Clock::starting_at(start, &self.stops);
        Ok((ready?, start.map(clock).ok_or(LiveError::Run(RunError::Cancelled))?))
    }

    /// Runs all threads to their ends. One that fails stops the others.
    ///
    /// # Errors
    /// When the system has no more threads.
    pub(crate) fn run(&self) -> Result<Vec<Result<PartEnd, LiveError>>, LiveError> {
        std::thread::scope(|scope| {
            let (to, from) = mpsc::channel();
            for (number, part) in self.parts.iter().enumerate() {
                let (to, part) = (to.clone(), *part);
                let started = std::thread::Builder::new().name(self.name(part)).spawn_scoped(scope, move || {
                    let end = self.run_part(part);
                    if end.is_err() {
                        self.control.cancel.store(true, Ordering::Relaxed);
                    }
                    let _ = to.send((number, end));
                });
                if let Err(error) = started {
                    self.gate.open(number, false);
                    return Err(SysError::new("start a thread", error).into());
                }
            }
            drop(to);
            self.gate.open(self.parts.len(), true);
            Ok(collect(&from, self.parts.len()))
        })
    }

    /// How often and for how long the clock stood still.
    pub(crate) fn stopped(&self) -> Stopped {
        self.stops.stopped()
    }

    /// Returns the name of a part's thread, of which Linux shows 15 characters.
    fn name(&self, part: Part) -> String {
        match part {
            Part::Switches => "switches".to_owned(),
            Part::Adapter(host) => format!("host {}", self.plan.nodes[host].name),
            Part::Sender(flow) => format!("stream {}", flow.number()),
            Part::Receiver(host) => format!("sink {}", self.plan.nodes[host].name),
            Part::IperfClient(flow) | Part::IperfServer(flow) => format!("iperf3 {}", flow.number()),
            Part::Intruder(host) => format!("intruder {}", self.plan.nodes[host].name),
        }
    }

    fn run_part(&self, part: Part) -> Result<PartEnd, LiveError> {
        let Session { plan, layout, spaces, .. } = self;
        let stop = &self.control.cancel;
        let running = |clock| Running { clock, stop, end: plan.end.ps(), view: self.view };
        let streaming =
            |clock| Streaming { plan, layout, limiter: self.limiter, real_time: self.real_time, clock, stop };
        let enter = |space: &Namespace| -> Result<(), LiveError> {
            space.enter()?;
            assert_ours(spaces.outside)
        };
        match part {
            Part::Switches => {
                let ready = enter(&spaces.switches).and_then(|()| SwitchSocket::open(layout));
                let (socket, clock) = self.begin(ready)?;
                let class = self.schedule(LOOP_PRIORITY);
                let signal_class = match plan.feedback {
                    Feedback::Ideal => SIGNAL_PRIORITY,
                    Feedback::Frames { class, .. } => class,
                };
                let (points, controlled) = (points(plan, layout), controlled_classes(plan));
                let switches = Switches::new(plan, Arc::clone(layout), points, controlled, signal_class, self.capture);
                let end = run_switches(switches, &socket, class, running(clock), &self.control.done_ps);
                Ok(PartEnd::Loop(None, end))
            }
            Part::Adapter(host) => {
                let ready = enter(&spaces.hosts[&host]).and_then(|()| {
                    let limiter = self.limiter;
                    let tap = prepare_host(plan, layout, host)?;
                    let adapter = Adapter::new(plan, Arc::clone(layout), host, limiter, self.capture);
                    let shaper = match limiter {
                        LimiterKind::Adapter => None,
                        LimiterKind::Htb => Some(shaper_of(&adapter, host)?),
                    };
                    let datagrams =
                        if self.own { Datagrams::new(plan, layout, host, limiter)? } else { Datagrams::none() };
                    Ok((adapter, HostSockets::open(tap, shaper)?, datagrams))
                });
                let ((adapter, sockets, datagrams), clock) = self.begin(ready)?;
                let class = self.schedule(LOOP_PRIORITY);
                let name = &plan.nodes[host].name;
                Ok(PartEnd::Loop(Some(host), run_adapter(name, adapter, datagrams, sockets, class, running(clock))))
            }
            Part::Sender(flow) => {
                let ready = enter(&spaces.hosts[&layout.flows[flow].source]);
                let ((), clock) = self.begin(ready)?;
                self.schedule(APPLICATION_PRIORITY);
                let sent = streaming(clock).send(flow);
                let source = layout.flows[flow].source;
                if sent.is_err() && self.intruder.is_some_and(|(host, _)| host == source) {
                    // A host that was taken over pauses its own link, so that it may find no way to connect.
                    let records = Records::new(plan.record.bin.ps(), plan.flows.len());
                    return Ok(PartEnd::Sender(StreamEnd::new(flow), records));
                }
                let (end, records) = sent?;
                Ok(PartEnd::Sender(end, records))
            }
            Part::Receiver(host) => {
                let ready = enter(&spaces.hosts[&host]);
                let ((), clock) = self.begin(ready)?;
                self.schedule(APPLICATION_PRIORITY);
                Ok(PartEnd::Receiver(streaming(clock).receive(host)?))
            }
            Part::IperfServer(flow) => {
                let ready = enter(&spaces.hosts[&layout.flows[flow].destination]);
                let ((), clock) = self.begin(ready)?;
                self.schedule(APPLICATION_PRIORITY);
                Ok(PartEnd::IperfServer(streaming(clock).serve_iperf(flow)?))
            }
            Part::IperfClient(flow) => {
                let ends = &layout.flows[flow];
                let ready = enter(&spaces.hosts[&ends.destination]);
                let ((), clock) = self.begin(ready)?;
                self.schedule(APPLICATION_PRIORITY);
                let streaming = streaming(clock);
                while !Streaming::iperf_is_ready(flow) && !streaming.over() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                enter(&spaces.hosts[&ends.source])?;
                streaming.send_iperf(flow)?;
                Ok(PartEnd::IperfClient)
            }
            Part::Intruder(host) => {
                let way = layout.ways[layout.uplink(host)].reverse;
                let ready = enter(&spaces.hosts[&host])
                    .and_then(|()| Ok(Cable::open(WIRE)?))
                    .and_then(|wire| enter(&spaces.switches).map(|()| wire))
                    .and_then(|wire| Ok((wire, Cable::open(&interface(way))?)));
                let ((wire, far_end), clock) = self.begin(ready)?;
                let over = || stop.load(Ordering::Relaxed) || clock.now() >= plan.end;
                let seed = self.intruder.map_or(0, |(_, seed)| seed);
                Ok(PartEnd::Intruder(intrude(HostileFrames::new(layout, host, seed), &wire, &far_end, over)))
            }
        }
    }
}

/// What a thread of a session is.
#[derive(Clone, Copy, Debug)]
enum Part {
    Switches,
    Adapter(NodeId),
    Sender(FlowId),
    Receiver(NodeId),
    IperfClient(FlowId),
    IperfServer(FlowId),
    Intruder(NodeId),
}

/// Which threads a run has: a loop for the switches and one for each adapter, and those of the applications.
fn parts_of(plan: &Plan, layout: &Layout, traffic: TrafficSource, intruder: Option<NodeId>) -> Vec<Part> {
    let mut parts = vec![Part::Switches];
    parts.extend(layout.hosts().map(Part::Adapter));
    match traffic {
        TrafficSource::Own => {
            let streams = plan.flows.enumerate().filter(|(_, flow)| matches!(flow.traffic, Traffic::Tcp { .. }));
            parts.extend(streams.map(|(flow, _)| Part::Sender(flow)));
            let receives = |host: &NodeId| layout.flows.iter().any(|flow| flow.tcp && flow.destination == *host);
            parts.extend(layout.hosts().filter(receives).map(Part::Receiver));
        }
        TrafficSource::Iperf3 => {
            let flows = plan.flows.ids();
            parts.extend(flows.flat_map(|flow| [Part::IperfServer(flow), Part::IperfClient(flow)]));
        }
        TrafficSource::None => {}
    }
    parts.extend(intruder.map(Part::Intruder));
    parts
}

/// The ends of so many threads, in their order; a thread that panicked has none.
fn collect(
    from: &mpsc::Receiver<(usize, Result<PartEnd, LiveError>)>,
    count: usize,
) -> Vec<Result<PartEnd, LiveError>> {
    let mut ends: BTreeMap<usize, Result<PartEnd, LiveError>> = BTreeMap::new();
    while ends.len() < count {
        match from.recv_timeout(Duration::from_millis(200)) {
            Ok((number, end)) => drop(ends.insert(number, end)),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    let missing = count - ends.len();
    let panicked = |_| Err(LiveError::Thread { thread: "a thread".to_owned(), why: "it panicked".to_owned() });
    ends.into_values().chain((0..missing).map(panicked)).collect()
}

/// Has the kernel's shaper pace what the stack of a host sends; the calling thread is in its namespace.
fn shaper_of(adapter: &Adapter, host: NodeId) -> Result<KernelShaper, LiveError> {
    let shape = || {
        Links::open()?.send_single_segments(STACK)?;
        KernelShaper::open(STACK, host.number(), adapter.shaped_line_rate(), adapter.shaped_classes())
    };
    shape().map_err(LiveError::NoHtb)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three threads; the third is not ready in one case, and is not there in another. Then nobody starts, and nobody
    /// waits for ever.
    #[test]
    fn all_start_or_nobody() {
        for (readiness, complete, starts) in
            [(&[true, true, true][..], true, true), (&[true, true, false], true, false), (&[true, true], false, false)]
        {
            let gate = Gate::default();
            let started: Vec<bool> = std::thread::scope(|scope| {
                let threads: Vec<_> =
                    readiness.iter().map(|ready| scope.spawn(|| gate.pass(*ready).is_some())).collect();
                gate.open(readiness.len(), complete);
                threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
            });
            assert_eq!(started, vec![starts; readiness.len()]);
        }
    }
}
