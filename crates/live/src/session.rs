//! A live run: the network is built, threads run switches, adapters and applications, and what they recorded becomes
//! the outcome of a scenario like any other.

use crate::adapter::Adapter;
use crate::congestion::{controlled_classes, points};
use crate::datagrams::Datagrams;
use crate::error::{LiveError, Unsupported};
use crate::gate::cpu_ticks;
use crate::intruder::{Cable, HostileFrames, Intruder, intrude};
use crate::iperf;
use crate::layout::{Layout, ip};
use crate::loops::{HostSockets, Running, SwitchSocket, run_adapter, run_switches};
use crate::names::Names;
use crate::netlink::Links;
use crate::network::{STACK, Spaces, WIRE, assert_ours, build, interface, prepare_host};
use crate::outcome::{LiveRun, PartEnd, Rest, put_together};
use crate::shaper::{KernelShaper, LimiterKind};
use crate::streams::Streaming;
use crate::switch::{Capture, Switches};
use crate::sys::SysError;
use crate::sys::namespace::{become_root_of_user_namespace, is_root, threads};
use crate::sys::scheduling::{SchedulingClass, ask_for_best, last_cpu, lock_memory, stay_on};
use crate::sys::time::Clock;
use crate::view::View;
use qcnlab_lab::{Control, PortDefence, Scenario, port_defences, run_elsewhere};
use qcnlab_sim::{Feedback, Finished, Plan, Traffic};
use qcnlab_units::Instant;
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
    Ok(LiveRun::new(outcome, rest, options.scale, options.limiter))
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
