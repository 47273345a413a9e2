//! A live run: the network is built, threads run switches, adapters and applications, and what they recorded becomes
//! the outcome of a scenario like any other.

use crate::adapter::Adapter;
use crate::congestion::{controlled_classes, points};
use crate::datagrams::Datagrams;
use crate::defence::DefenceEnd;
use crate::error::{LiveError, Unsupported};
use crate::gate::{Scales, Timing, cpu_ticks};
use crate::intruder::{Cable, HostileFrames, Intruder, IntruderEnd, intrude};
use crate::iperf::{self, IperfEnd};
use crate::layout::{Layout, ip};
use crate::loops::{HostSockets, LoopEnd, Running, SwitchSocket, run_adapter, run_switches};
use crate::names::Names;
use crate::netlink::Links;
use crate::network::{STACK, Spaces, WIRE, assert_ours, build, interface, prepare_host};
use crate::record::{CapturedFrame, Merged, Records, Refused, merge};
use crate::shaper::{KernelLimit, KernelShaper, LimiterKind, ShaperEnd};
use crate::spacing::Spacing;
use crate::streams::{StreamEnd, Streaming};
use crate::switch::{Capture, Switches};
use crate::sys::SysError;
use crate::sys::namespace::{become_root_of_user_namespace, is_root, threads};
use crate::sys::scheduling::{SchedulingClass, ask_for_best, last_cpu, lock_memory, stay_on};
use crate::sys::time::Clock;
use crate::view::View;
use qcnlab_lab::{Control, Outcome, PortDefence, Scenario, port_defences, run_elsewhere};
use qcnlab_sim::{Ending, Feedback, Finished, FlowTally, Plan, Traffic};
use qcnlab_units::{Bytes, Instant};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, OnceLock, mpsc};
use std::time::Duration;

/// Priority of loops among real-time threads, and of applications.
const LOOP_PRIORITY: i32 = 20;
const APPLICATION_PRIORITY: i32 = 10;
/// From the moment at which all is ready to the start of the run, ns.
const LEAD_NS: u64 = 100_000_000;
/// The fastest link that is run at all, Mb/s.
const FASTEST: u64 = 1000;
/// Priority of signals under ideal feedback: the standard's default.
const SIGNAL_PRIORITY: u8 = 6;
/// The end of a network that stands: 30 years.
const FAR: Instant = Instant::from_ps(u64::MAX / 20);

/// Who makes the traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrafficSource {
    /// The senders of the data plane, as the scenario says.
    #[default]
    Own,
    /// iperf3, which is to be installed: TCP, constant and saturated flows.
    Iperf3,
    /// Nobody: the network stands, for programs of the user's.
    None,
}

/// How a scenario is run live.
#[derive(Clone, Debug)]
pub struct LiveOptions {
    /// By how much the run is slower than the scenario says: times are longer and rates smaller by this.
    pub scale: u32,
    /// Who makes the traffic.
    pub traffic: TrafficSource,
    /// Who paces frames at the rates that reaction points say.
    pub limiter: LimiterKind,
    /// Octets of each frame that a capture keeps; 0 for no capture.
    pub snap: usize,
    /// Seed; the scenario's own if `None`.
    pub seed: Option<u64>,
    /// A host that was taken over; `None` for none.
    pub intruder: Option<Intruder>,
    /// Whether threads ask for real-time scheduling. Without it a run on a busy machine is INVALID TIMING.
    pub real_time: bool,
}

impl Default for LiveOptions {
    fn default() -> LiveOptions {
        LiveOptions {
            scale: 100,
            traffic: TrafficSource::Own,
            limiter: LimiterKind::Adapter,
            snap: 0,
            seed: None,
            intruder: None,
            real_time: true,
        }
    }
}

/// What a live run gave.
#[derive(Debug)]
pub struct LiveRun {
    /// The outcome of the slowed scenario, as of a simulated one.
    pub outcome: Outcome,
    /// What the run measured of itself.
    pub timing: Timing,
    /// What hostile or odd frames were met.
    pub refused: Refused,
    /// Both ends of TCP streams: octets, and those of them that were wrong.
    pub streams: Vec<StreamEnd>,
    /// What iperf3 says of each flow, where it made the traffic.
    pub iperf3: Vec<IperfEnd>,
    /// Datagrams that applications received, by host.
    pub datagrams: Vec<(String, u64, u64)>,
    /// What the intruder did, where there was one.
    pub intruder: Option<IntruderEnd>,
    /// Pauses that found the record of them full.
    pub pauses_not_recorded: u64,
    /// What ports came to that defend a domain.
    pub defences: Vec<DefenceEnd>,
    /// The rates that the kernel's shaper was told, where it paced, in order of time for each host.
    pub kernel_limits: Vec<KernelLimit>,
    shapers: Vec<(String, ShaperEnd)>,
    spacing: Spacing,
    /// The captured frames.
    pub(crate) captured: Vec<CapturedFrame>,
    pub(crate) not_captured: u64,
    pub(crate) layout: Arc<Layout>,
    pub(crate) nodes: Vec<String>,
    scale: u32,
    limiter: LimiterKind,
    /// Frames of each flow that were sent and neither delivered nor dropped nor held at the end.
    pub unaccounted: i64,
}

impl LiveRun {
    /// The run's own account: scale, limiters, verdict on its timing, odd frames, streams.
    pub fn account_json(&self) -> Value {
        let refused: serde_json::Map<String, Value> =
            self.refused.by_name().into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
        let received = |stream: &&StreamEnd| stream.tally.segments == 0;
        json!({
            "scale": self.scale,
            "limiter": {
                "kind": self.limiter.name(),
                "spacing": self.spacing.to_json(),
                "shapers": self.shapers.iter().map(|(host, end)| end.to_json(host)).collect::<Vec<_>>(),
            },
            "timing": self.timing.to_json(),
            "refused": refused,
            "unaccounted_frames": self.unaccounted,
            "stream_octets_received": self.streams.iter().filter(received).map(|stream| stream.octets).sum::<u64>(),
            "stream_octets_wrong": self.streams.iter().map(|stream| stream.wrong).sum::<u64>(),
            "iperf3": self.iperf3.iter().map(iperf_json).collect::<Vec<_>>(),
            "datagrams_received": self.datagrams.iter().map(|(_, count, _)| count).sum::<u64>(),
            "frames_not_captured": self.not_captured,
            "pauses_not_recorded": self.pauses_not_recorded,
            "defences": self.defences.iter().map(defence_json).collect::<Vec<_>>(),
            "not_scaled": ["the kernel's smallest retransmission timeout of 200 ms", "scheduling of threads"],
        })
    }
}

fn defence_json(end: &DefenceEnd) -> Value {
    let modes: serde_json::Map<String, Value> =
        end.modes.iter().map(|(priority, mode)| (priority.to_string(), (*mode).into())).collect();
    json!({
        "port": end.port,
        "modes": modes,
        "settled_s": end.settled_at as f64 * 1e-12,
        "announcements_heard": end.announcements,
        "as_scenario": end.as_settled,
    })
}

fn iperf_json(end: &IperfEnd) -> Value {
    json!({
        "flow": end.flow,
        "received_bytes": end.received,
        "seconds": end.seconds,
        "error": end.error,
    })
}

/// A network that stands.
#[derive(Debug)]
pub struct Standing {
    /// What it shows of itself.
    pub view: View,
    /// Its hosts: the name of each one's namespace, and its address.
    pub hosts: Vec<(String, Ipv4Addr)>,
    /// The name of the switches' namespace.
    pub switches: String,
}

/// Builds the network of a scenario under names that `ip netns` knows, each behind `prefix`, and leaves it standing
/// until `control` is told to stop. `standing` is set when programs may use it.
///
/// # Errors
/// As [`run`], and when a name is taken or the process may not give names.
pub fn stand(
    scenario: &Scenario,
    options: &LiveOptions,
    prefix: &str,
    control: &Control,
    standing: &OnceLock<Standing>,
) -> Result<(), LiveError> {
    if !is_root() {
        return Err(LiveError::NamesNeedRoot);
    }
    let scenario = slowed(scenario, options.scale)?;
    let seed = options.seed.unwrap_or(scenario.seed);
    let defences = port_defences(&scenario, seed)?;
    let stood = run_elsewhere(&scenario, seed, |mut plan| {
        let last = plan.end;
        plan.end = FAR;
        plan.flows.iter_mut().filter(|flow| flow.stop >= last).for_each(|flow| flow.stop = FAR);
        plan.generators.iter_mut().filter(|all| all.stop >= last).for_each(|all| all.stop = FAR);
        run_plan(&plan, defences, options, control, Some((prefix, standing))).map(|(done, _)| done)
    })?;
    match stood {
        Ok(_) | Err(LiveError::Run(qcnlab_lab::RunError::Cancelled)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the scenario as it is run at a scale.
///
/// # Errors
/// When the data plane cannot run it.
pub fn slowed(scenario: &Scenario, scale: u32) -> Result<Scenario, LiveError> {
    if !(1..=100_000).contains(&scale) {
        return Err(Unsupported::Scale { scale }.into());
    }
    Ok(scenario.slowed(scale)?)
}

/// Makes the process able to build networks: as it is for root, else in a user namespace of its own.
///
/// # Errors
/// When the system refuses, or when the process has several threads and is not root.
pub fn prepare_process() -> Result<(), LiveError> {
    if is_root() {
        return Ok(());
    }
    if threads() > 1 {
        let what = "a process that is not root and has several threads cannot enter a user namespace".to_owned();
        return Err(LiveError::NotOurs { what });
    }
    Ok(become_root_of_user_namespace()?)
}

/// Runs a scenario live. `control` is told how far it is, and may stop it.
///
/// # Errors
/// When the data plane cannot run the scenario, the system refuses something, or the run is stopped.
pub fn run(scenario: &Scenario, options: &LiveOptions, control: &Control) -> Result<LiveRun, LiveError> {
    let scenario = slowed(scenario, options.scale)?;
    let seed = options.seed.unwrap_or(scenario.seed);
    let mut rest = None;
    let defences = port_defences(&scenario, seed)?;
    let outcome = run_elsewhere(&scenario, seed, |plan| {
        let (done, kept) = run_plan(&plan, defences, options, control, None)?;
        rest = Some(kept);
        Ok::<Finished, LiveError>(done)
    })??;
    let rest = rest.unwrap_or_else(|| unreachable!("an outcome has a run"));
    Ok(LiveRun {
        outcome,
        timing: rest.timing,
        refused: rest.refused,
        streams: rest.streams,
        iperf3: rest.iperf3,
        datagrams: rest.datagrams,
        intruder: rest.intruder,
        pauses_not_recorded: rest.pauses_not_recorded,
        defences: rest.defences,
        kernel_limits: rest.shapers.iter().flat_map(|(_, end)| end.limits.iter().copied()).collect(),
        shapers: rest.shapers,
        spacing: rest.spacing,
        captured: rest.captured,
        not_captured: rest.not_captured,
        layout: rest.layout,
        nodes: rest.nodes,
        scale: options.scale,
        limiter: options.limiter,
        unaccounted: rest.unaccounted,
    })
}

/// What a run gives beside its trace.
struct Rest {
    timing: Timing,
    refused: Refused,
    streams: Vec<StreamEnd>,
    iperf3: Vec<IperfEnd>,
    datagrams: Vec<(String, u64, u64)>,
    intruder: Option<IntruderEnd>,
    pauses_not_recorded: u64,
    defences: Vec<DefenceEnd>,
    shapers: Vec<(String, ShaperEnd)>,
    spacing: Spacing,
    captured: Vec<CapturedFrame>,
    not_captured: u64,
    layout: Arc<Layout>,
    nodes: Vec<String>,
    unaccounted: i64,
}

/// What a thread is told when all are ready.
type Start = OnceLock<Clock>;

/// The parts of a session that threads share.
struct Session<'a> {
    plan: &'a Plan,
    layout: Arc<Layout>,
    spaces: Spaces,
    stop: &'a AtomicBool,
    view: Option<&'a View>,
    ready: Barrier,
    go: Barrier,
    start: Start,
    failed: AtomicBool,
    capture: Capture,
    limiter: LimiterKind,
    /// The CPU that all threads of the run share.
    cpu: Option<usize>,
    real_time: bool,
    /// The host that was taken over, and the seed of its frames.
    intruder: Option<(u32, u64)>,
}

impl Session<'_> {
    /// Gives the calling thread the best scheduling there is, on the CPU of the run.
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

    /// Tells that a thread is ready, or could not be made so, and waits for the others; `None` when any could not.
    fn begin<T>(&self, ready: Result<T, LiveError>) -> Result<(T, Clock), LiveError> {
        if ready.is_err() {
            self.failed.store(true, Ordering::SeqCst);
        }
        self.ready.wait();
        self.go.wait();
        let ready = ready?;
        match self.start.get() {
            Some(clock) => Ok((ready, *clock)),
            None => Err(LiveError::Run(qcnlab_lab::RunError::Cancelled)),
        }
    }
}

/// What a thread of a session is.
#[derive(Clone, Copy, Debug)]
enum Part {
    Switches,
    Adapter(u32),
    Sender(u32),
    Receiver(u32),
    IperfClient(u32),
    IperfServer(u32),
    Intruder(u32),
}

/// What a thread of a session gave.
enum PartEnd {
    Loop(u32, LoopEnd),
    Sender(StreamEnd, Records),
    Receiver(Vec<StreamEnd>),
    IperfClient,
    IperfServer(IperfEnd),
    Intruder(IntruderEnd),
}

fn run_plan(
    plan: &Plan,
    defences: Vec<Option<PortDefence>>,
    options: &LiveOptions,
    control: &Control,
    standing: Option<(&str, &OnceLock<Standing>)>,
) -> Result<(Finished, Rest), LiveError> {
    let fastest = plan.ports.iter().map(|port| port.rate.get()).max().unwrap_or(0) / 1_000_000;
    if fastest > FASTEST {
        let enough = u32::try_from(u64::from(options.scale) * fastest / 100).unwrap_or(u32::MAX);
        return Err(Unsupported::TooFast { mbps: fastest, scale: options.scale, enough }.into());
    }
    let mut layout = Layout::new(plan)?;
    if plan.domain.is_some() {
        layout = layout.defended(defences);
    }
    let layout = Arc::new(layout);
    if options.limiter == LimiterKind::Htb && options.traffic != TrafficSource::Own {
        return Err(Unsupported::HtbTraffic.into());
    }
    if options.traffic == TrafficSource::Iperf3 {
        iperf::check(plan)?;
    }
    let memory_locked = lock_memory();
    let spaces = build(&layout)?;
    // Names go before the namespaces do.
    let named = match standing {
        Some((prefix, to)) => Some(name_all(plan, &layout, &spaces, prefix, to)?),
        None => None,
    };
    let view = standing.and_then(|(_, to)| to.get()).map(|standing| &standing.view);
    let mut parts = vec![Part::Switches];
    parts.extend(layout.hosts().map(Part::Adapter));
    if options.traffic == TrafficSource::Own {
        let streams = (0u32..).zip(&plan.flows).filter(|(_, flow)| matches!(flow.traffic, Traffic::Tcp { .. }));
        parts.extend(streams.map(|(flow, _)| Part::Sender(flow)));
        let receives = |host: &u32| layout.flows.iter().any(|flow| flow.tcp && flow.destination == *host);
        parts.extend(layout.hosts().filter(receives).map(Part::Receiver));
    }
    if options.traffic == TrafficSource::Iperf3 {
        parts.extend((0..plan.flows.len() as u32).flat_map(|flow| [Part::IperfServer(flow), Part::IperfClient(flow)]));
    }
    let intruder = match &options.intruder {
        Some(intruder) => Some((host_named(plan, &layout, &intruder.host)?, intruder.seed)),
        None => None,
    };
    parts.extend(intruder.map(|(host, _)| Part::Intruder(host)));
    let own = options.traffic == TrafficSource::Own;
    let threads = parts.iter().filter(|part| matches!(part, Part::Switches | Part::Adapter(_))).count();
    let session = Session {
        plan,
        spaces,
        stop: &control.cancel,
        view,
        ready: Barrier::new(parts.len() + 1),
        go: Barrier::new(parts.len() + 1),
        start: OnceLock::new(),
        failed: AtomicBool::new(false),
        capture: Capture { snap: options.snap, share: threads },
        limiter: options.limiter,
        cpu: last_cpu(),
        real_time: options.real_time,
        intruder,
        layout: Arc::clone(&layout),
    };
    let ticks = cpu_ticks();
    let ends = std::thread::scope(|scope| {
        let (to, from) = mpsc::channel();
        for (number, part) in parts.iter().enumerate() {
            let (to, session, part) = (to.clone(), &session, *part);
            let name = match part {
                Part::Switches => "switches".to_owned(),
                Part::Adapter(host) => format!("host {}", plan.nodes[host as usize].name),
                Part::Sender(flow) | Part::Receiver(flow) => format!("stream {flow}"),
                Part::IperfClient(flow) | Part::IperfServer(flow) => format!("iperf3 {flow}"),
                Part::Intruder(host) => format!("intruder {host}"),
            };
            let builder = std::thread::Builder::new().name(name);
            let started = builder.spawn_scoped(scope, move || {
                let _ = to.send((number, run_part(session, part, own, control)));
            });
            // Threads that are there already wait at the barrier; there is no way back but to end the process.
            if let Err(error) = started {
                return Err(LiveError::System(SysError::new("start a thread", error)));
            }
        }
        drop(to);
        session.ready.wait();
        if !session.failed.load(Ordering::SeqCst) {
            let _ = session.start.set(Clock::starting_in(LEAD_NS));
        }
        session.go.wait();
        Ok(collect(&from, parts.len()))
    })?;
    drop(named);
    let after = cpu_ticks();
    let steal = (after.1 - ticks.1) as f64 / (after.0 - ticks.0).max(1) as f64;
    let mut done = Vec::new();
    let mut failure = None;
    for end in ends {
        match end {
            Ok(end) => done.push(end),
            // What the others say of a stop is less than what stopped them.
            Err(LiveError::Run(cancelled)) => failure = failure.or(Some(LiveError::Run(cancelled))),
            Err(error) => failure = Some(error),
        }
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    if control.cancel.load(Ordering::Relaxed) {
        return Err(LiveError::Run(qcnlab_lab::RunError::Cancelled));
    }
    Ok(put_together(plan, layout, done, steal, memory_locked))
}

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

fn run_part(session: &Session<'_>, part: Part, own: bool, control: &Control) -> Result<PartEnd, LiveError> {
    let Session { plan, layout, spaces, stop, .. } = session;
    let running = |clock| Running { clock, stop, end: plan.end.ps(), view: session.view };
    let enter = |space: &crate::sys::namespace::Namespace| -> Result<(), LiveError> {
        space.enter()?;
        assert_ours(spaces.outside)
    };
    match part {
        Part::Switches => {
            let ready = enter(&spaces.switches).and_then(|()| SwitchSocket::open(layout));
            let (socket, clock) = session.begin(ready)?;
            let class = session.schedule(LOOP_PRIORITY);
            let signal_class = match plan.feedback {
                Feedback::Ideal => SIGNAL_PRIORITY,
                Feedback::Frames { class, .. } => class,
            };
            let (points, controlled) = (points(plan, layout), controlled_classes(plan));
            let switches = Switches::new(plan, Arc::clone(layout), points, controlled, signal_class, session.capture);
            let end = run_switches(switches, &socket, class, running(clock), &control.done_ps);
            Ok(PartEnd::Loop(u32::MAX, end))
        }
        Part::Adapter(host) => {
            let ready = enter(&spaces.hosts[&host]).and_then(|()| {
                let limiter = session.limiter;
                let tap = prepare_host(plan, layout, host)?;
                let adapter = Adapter::new(plan, Arc::clone(layout), host, limiter, session.capture);
                let shaper = match limiter {
                    LimiterKind::Adapter => None,
                    LimiterKind::Htb => Some(shaper_of(&adapter, host)?),
                };
                let datagrams = if own { Datagrams::new(plan, layout, host, limiter)? } else { Datagrams::none() };
                Ok((adapter, HostSockets::open(tap, shaper)?, datagrams))
            });
            let ((adapter, sockets, datagrams), clock) = session.begin(ready)?;
            let class = session.schedule(LOOP_PRIORITY);
            let name = &plan.nodes[host as usize].name;
            Ok(PartEnd::Loop(host, run_adapter(name, adapter, datagrams, sockets, class, running(clock))))
        }
        Part::Sender(flow) => {
            let ready = enter(&spaces.hosts[&layout.flows[flow as usize].source]);
            let ((), clock) = session.begin(ready)?;
            session.schedule(APPLICATION_PRIORITY);
            let (end, records) = Streaming { plan, layout, limiter: session.limiter, clock, stop }.send(flow)?;
            Ok(PartEnd::Sender(end, records))
        }
        Part::Receiver(host) => {
            let ready = enter(&spaces.hosts[&host]);
            let ((), clock) = session.begin(ready)?;
            session.schedule(APPLICATION_PRIORITY);
            Ok(PartEnd::Receiver(Streaming { plan, layout, limiter: session.limiter, clock, stop }.receive(host)?))
        }
        Part::IperfServer(flow) => {
            let ready = enter(&spaces.hosts[&layout.flows[flow as usize].destination]);
            let ((), clock) = session.begin(ready)?;
            session.schedule(APPLICATION_PRIORITY);
            Ok(PartEnd::IperfServer(
                Streaming { plan, layout, limiter: session.limiter, clock, stop }.serve_iperf(flow)?,
            ))
        }
        Part::IperfClient(flow) => {
            let ends = &layout.flows[flow as usize];
            let ready = enter(&spaces.hosts[&ends.destination]);
            let ((), clock) = session.begin(ready)?;
            session.schedule(APPLICATION_PRIORITY);
            let streaming = Streaming { plan, layout, limiter: session.limiter, clock, stop };
            while !Streaming::iperf_is_ready(flow) && !streaming.over() {
                std::thread::sleep(Duration::from_millis(5));
            }
            enter(&spaces.hosts[&ends.source])?;
            streaming.send_iperf(flow)?;
            Ok(PartEnd::IperfClient)
        }
        Part::Intruder(host) => {
            let way = layout.ways[layout.uplink(host) as usize].reverse;
            let ready = enter(&spaces.hosts[&host])
                .and_then(|()| Ok(Cable::open(WIRE)?))
                .and_then(|wire| enter(&spaces.switches).map(|()| wire))
                .and_then(|wire| Ok((wire, Cable::open(&interface(way))?)));
            let ((wire, far_end), clock) = session.begin(ready)?;
            let over = || stop.load(Ordering::Relaxed) || clock.now() >= plan.end;
            let seed = session.intruder.map_or(0, |(_, seed)| seed);
            Ok(PartEnd::Intruder(intrude(HostileFrames::new(layout, host, seed), &wire, &far_end, over)))
        }
    }
}

/// Has the kernel's shaper pace what the stack of a host sends; the calling thread is in its namespace.
fn shaper_of(adapter: &Adapter, host: u32) -> Result<KernelShaper, LiveError> {
    let shape = || {
        Links::open()?.send_single_segments(STACK)?;
        KernelShaper::open(STACK, host, adapter.shaped_line_rate(), adapter.shaped_classes())
    };
    shape().map_err(LiveError::NoHtb)
}

/// The host with a name.
fn host_named(plan: &Plan, layout: &Layout, name: &str) -> Result<u32, LiveError> {
    let host = layout.hosts().find(|host| plan.nodes[*host as usize].name == name);
    host.ok_or_else(|| LiveError::NoSuchHost {
        name: name.to_owned(),
        hosts: layout.hosts().map(|host| plan.nodes[host as usize].name.as_str()).collect::<Vec<_>>().join(", "),
    })
}

/// Gives the namespaces names, and tells `to` of them.
fn name_all(
    plan: &Plan,
    layout: &Layout,
    spaces: &Spaces,
    prefix: &str,
    to: &OnceLock<Standing>,
) -> Result<Names, LiveError> {
    let hosts: Vec<(String, Ipv4Addr)> =
        layout.hosts().map(|host| (format!("{prefix}{}", plan.nodes[host as usize].name), ip(host).into())).collect();
    let switches = format!("{prefix}switches");
    let names = hosts.iter().map(|(name, _)| name.as_str()).zip(spaces.hosts.values());
    let named = Names::give(names.chain([(switches.as_str(), &spaces.switches)]))?;
    let _ = to.set(Standing { view: View::new(plan, layout), hosts, switches });
    Ok(named)
}

fn put_together(
    plan: &Plan,
    layout: Arc<Layout>,
    ends: Vec<PartEnd>,
    steal: f64,
    memory_locked: bool,
) -> (Finished, Rest) {
    let (mut all, mut loops, mut streams, mut datagrams) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut held, mut stack_drops, mut iperf3, mut intruder) = (0, 0, Vec::new(), None);
    let mut shapers = Vec::new();
    for end in ends {
        match end {
            PartEnd::Loop(node, end) => {
                held += end.held.iter().sum::<u64>();
                stack_drops += end.stack_drops;
                if node != u32::MAX {
                    let name = &plan.nodes[node as usize].name;
                    datagrams.push((name.clone(), end.datagrams.0, end.datagrams.1));
                    shapers.extend(end.shaper.map(|end| (name.clone(), end)));
                }
                all.push(end.records);
                loops.push(end.health);
            }
            PartEnd::Sender(end, records) => {
                all.push(records);
                streams.push(end);
            }
            PartEnd::Receiver(ends) => streams.extend(ends),
            PartEnd::IperfServer(end) => iperf3.push(end),
            PartEnd::IperfClient => {}
            PartEnd::Intruder(end) => intruder = Some(end),
        }
    }
    let mut merged = merge(all, plan.flows.len());
    let fastest = plan.ports.iter().map(|port| port.rate).max_by_key(|rate| rate.get());
    let fastest = fastest.unwrap_or_else(|| unreachable!("a plan has ports"));
    let longest = plan.flows.iter().map(|flow| flow.frame).max_by_key(|frame| frame.get()).unwrap_or(Bytes::new(1500));
    let set_point = plan.scheme.set_point().unwrap_or(Bytes::new(33_000));
    let us = |octets: Bytes| fastest.time_for_rounded_up(octets).seconds() * 1e6;
    let scales = Scales { frame_us: us(longest), set_point_us: us(set_point) };
    let tally = |(flow, count): (usize, &crate::record::FlowCount)| {
        let planned = &plan.flows[flow];
        let total = planned.traffic.total().map(Bytes::get);
        let mut tally = FlowTally {
            sent: count.sent,
            sent_bytes: count.sent_octets,
            delivered: count.delivered,
            delivered_bytes: count.delivered_octets,
            dropped: count.dropped,
            refused: count.refused,
            total_bytes: total,
            started: planned.start,
            finished: if count.finished > 0 { Instant::from_ps(count.finished) } else { Instant::NEVER },
            ..FlowTally::default()
        };
        if let Traffic::Tcp { .. } = planned.traffic {
            let mut tcp = qcnlab_sim::TcpTally::default();
            for stream in streams.iter().filter(|stream| stream.flow as usize == flow) {
                tcp.in_order_bytes += stream.tally.in_order_bytes;
                tcp.segments += stream.tally.segments;
                tcp.retransmitted += stream.tally.retransmitted;
                if let Some(finished) = stream.finished {
                    tally.finished = Instant::from_ps(finished);
                }
            }
            tally.tcp = Some(tcp);
        }
        tally
    };
    let flows: Vec<FlowTally> = merged.flows.iter().enumerate().map(tally).collect();
    let counters = merged.counters;
    let accounted = counters.frames_delivered + counters.frames_dropped + held;
    let unaccounted = counters.frames_sent as i64 - accounted as i64;
    let rest = Rest {
        timing: Timing::new(loops, steal, stack_drops, memory_locked, scales),
        refused: merged.refused,
        streams,
        iperf3,
        datagrams,
        intruder,
        pauses_not_recorded: merged.pauses_not_recorded,
        defences: std::mem::take(&mut merged.defences),
        shapers,
        spacing: std::mem::take(&mut merged.spacing),
        captured: std::mem::take(&mut merged.captured),
        not_captured: merged.not_captured,
        layout,
        nodes: plan.nodes.iter().map(|node| node.name.clone()).collect(),
        unaccounted,
    };
    let Merged { trace, points, limiters, .. } = merged;
    (Finished { trace, counters, flows, points, limiters, end: plan.end, ending: Ending::Time }, rest)
}
