//! What the switch costs, beside the kernel's bridge and a plain forwarder on packet sockets: throughput, CPU for each
//! frame, latency.
//!
//! All three join the same two links between the same namespaces. Throughput: a sender puts frames on one link as fast
//! as the kernel takes them, and what arrives at the end of the other is counted. CPU: a forwarder finds frames waiting
//! and forwards them all, so that it never sleeps; the bridge, which has no thread, costs what a sender takes more with
//! it than without. Latency: single frames, 1 ms apart, from the call that sends one to the call that receives it.

use crate::clock::{Clock, Stops};
use crate::congestion::{controlled_classes, points};
use crate::error::LiveError;
use crate::head::{whole, with_tags};
use crate::layout::{Layout, VLAN, ip, mac};
use crate::loops::{Running, SwitchSocket, run_switches};
use crate::netlink::Links;
use crate::network::{Spaces, WIRE, build, interface, received_frames};
use crate::record::Capture;
use crate::switch::Switches;
use crate::sys::SysError;
use crate::sys::namespace::Namespace;
use crate::sys::poll::wait;
use crate::sys::scheduling::{ask_for_best, last_cpu, stay_on};
use crate::sys::socket::{Batch, PacketSocket, interface_index};
use crate::sys::time::{monotonic_ns, thread_cpu_ns};
use qcnlab_lab::run_elsewhere;
use qcnlab_scenario::Scenario;
use qcnlab_sim::{FlowId, Plan};
use qcnlab_units::Id;
use qcnlab_wire::{CnTag, EtherType, VlanTag};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The links of a real run are slower; here nothing is to wait for its deadline.
const TEXT: &str = r#"
duration = "100 s"

[topology]
kind = "star"
sources = 1
rate = "400 Gb/s"
rtt = "1 us"
buffer = "4 MB"

[[traffic]]
arrivals = "saturated"
frame = "1500 B"

[record]
rates_every = "1 s"
queue_every = "1 s"
throughput_bin = "1 s"

[scheme]
name = "qcn"
preset = "DECK001"
"#;

/// Frames that wait for a forwarder when its CPU is measured: they fit into the buffer of its socket.
const BACKLOG: u64 = 2000;
/// Frames that a latency is measured of, 1 ms apart.
const PROBES: usize = 300;
/// The longest that a probe is waited for, ns.
const PROBE_NS: u64 = 20_000_000;
/// A time of a run beyond its end, ps.
const FAR: u64 = u64::MAX / 20;

/// What forwards frames from one link to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarder {
    /// The switch of live runs, with its congestion points, on links that are never the bottleneck.
    Switch,
    /// A thread that puts on one link what comes over the other.
    PacketSocket,
    /// The kernel's bridge.
    Bridge,
}

impl Forwarder {
    /// All of them.
    pub const ALL: [Forwarder; 3] = [Forwarder::Switch, Forwarder::PacketSocket, Forwarder::Bridge];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Forwarder::Switch => "switch",
            Forwarder::PacketSocket => "packet socket",
            Forwarder::Bridge => "kernel bridge",
        }
    }
}

/// What one measurement of a forwarder gave.
#[derive(Clone, Debug)]
pub struct ForwarderMeasurement {
    /// Frames that arrived in a second.
    pub frames_per_s: f64,
    /// CPU for each frame while others wait, ns.
    pub cpu_ns: f64,
    /// Times from one end to the other of single frames, ns, least first.
    pub latencies_ns: Vec<u64>,
}

/// The two links, and what stands between them.
struct Bench {
    plan: Plan,
    layout: Arc<Layout>,
    spaces: Spaces,
}

/// Measures a forwarder of frames of so many octets for about `seconds` and then its latency. The process is able to
/// build networks.
///
/// # Errors
/// When the system refuses something.
pub fn measure_forwarder(forwarder: Forwarder, octets: usize, seconds: f64) -> Result<ForwarderMeasurement, LiveError> {
    let bench = Bench::build()?;
    if forwarder == Forwarder::Bridge {
        bench.join_by_bridge()?;
    }
    let frame = bench.frame(octets);
    let (arrived, took) = bench.throughput(forwarder, &frame, seconds)?;
    Ok(ForwarderMeasurement {
        frames_per_s: arrived as f64 / took,
        cpu_ns: bench.cpu_of_backlog(forwarder, &frame)?,
        latencies_ns: bench.latencies(forwarder, &frame)?,
    })
}

fn panicked<T>() -> Result<T, LiveError> {
    Err(LiveError::Thread { thread: "a thread".to_owned(), why: "it panicked".to_owned() })
}

/// Runs `work` on a thread of its own.
fn on_thread<T: Send>(work: impl FnOnce() -> Result<T, LiveError> + Send) -> Result<T, LiveError> {
    std::thread::scope(|scope| scope.spawn(work).join()).unwrap_or_else(|_| panicked())
}

impl Bench {
    fn build() -> Result<Bench, LiveError> {
        let scenario = Scenario::parse(TEXT, "forwarders.toml")?;
        let mut made = None;
        let _ = run_elsewhere(&scenario, 1, |plan| {
            made = Some(plan);
            Err::<qcnlab_sim::Finished, ()>(())
        })?;
        let plan = made.unwrap_or_else(|| unreachable!("a scenario that can work has a plan"));
        let layout = Arc::new(Layout::new(&plan)?);
        let spaces = build(&layout)?;
        for host in spaces.hosts.values() {
            on_thread(|| {
                host.enter()?;
                Ok(Links::open()?.set_up(WIRE)?)
            })?;
        }
        Ok(Bench { plan, layout, spaces })
    }

    fn source(&self) -> &Namespace {
        &self.spaces.hosts[&self.layout.flows[FlowId::new(0)].source]
    }

    fn sink(&self) -> &Namespace {
        &self.spaces.hosts[&self.layout.flows[FlowId::new(0)].destination]
    }

    /// The switch's interfaces to the source and to the sink.
    fn interfaces(&self) -> [String; 2] {
        let ends = &self.layout.flows[FlowId::new(0)];
        let to = |host| interface(self.layout.ways[self.layout.uplink(host)].reverse);
        [to(ends.source), to(ends.destination)]
    }

    fn join_by_bridge(&self) -> Result<(), LiveError> {
        on_thread(|| {
            self.spaces.switches.enter()?;
            let links = Links::open()?;
            links.make_bridge("bridge0")?;
            for interface in self.interfaces() {
                links.join_bridge(&interface, "bridge0")?;
            }
            Ok(links.set_up("bridge0")?)
        })
    }

    /// Data of the flow in so many octets, with its tags.
    fn frame(&self, octets: usize) -> Vec<u8> {
        let ends = &self.layout.flows[FlowId::new(0)];
        let mut plain = [mac(ends.destination).0, mac(ends.source).0].concat();
        plain.extend(EtherType::IPV4.0.to_be_bytes());
        plain.extend([0x45, 0]);
        plain.extend((octets.saturating_sub(22) as u16).to_be_bytes());
        plain.extend([0, 0, 0, 0, 64, 17, 0, 0]);
        plain.extend(ip(ends.source));
        plain.extend(ip(ends.destination));
        plain.extend(ends.port.to_be_bytes());
        plain.extend([0, 9]);
        plain.resize(octets.saturating_sub(8).max(plain.len()), 0);
        let tag = VlanTag { priority: ends.class, drop_eligible: false, vlan: VLAN };
        with_tags(&plain, tag, Some(CnTag { rpid: ends.rpid }))
    }

    /// Sends frames for so many seconds; returns how many arrived, and the seconds that it took.
    fn throughput(&self, forwarder: Forwarder, frame: &[u8], seconds: f64) -> Result<(u64, f64), LiveError> {
        let stop = AtomicBool::new(false);
        let before = on_thread(|| self.arrived())?;
        let took = std::thread::scope(|scope| {
            let running = scope.spawn(|| self.forward(forwarder, &stop, None));
            let took = scope.spawn(|| self.send(frame, seconds)).join();
            // What waits in a socket's buffer is forwarded yet.
            std::thread::sleep(Duration::from_millis(50));
            stop.store(true, Ordering::Relaxed);
            running.join().unwrap_or_else(|_| panicked())?;
            took.unwrap_or_else(|_| panicked())
        })?;
        Ok((on_thread(|| self.arrived())? - before, took))
    }

    /// CPU for each of many frames that wait, ns.
    fn cpu_of_backlog(&self, forwarder: Forwarder, frame: &[u8]) -> Result<f64, LiveError> {
        if forwarder == Forwarder::Bridge {
            let alone = Bench::build()?;
            let with = on_thread(|| self.send_backlog(frame))?;
            return Ok((with - on_thread(|| alone.send_backlog(frame))?) / BACKLOG as f64);
        }
        let stop = AtomicBool::new(false);
        let before = on_thread(|| self.arrived())?;
        std::thread::scope(|scope| {
            let running = scope.spawn(|| self.forward(forwarder, &stop, Some(frame)));
            let began = monotonic_ns();
            let mut arrived = 0;
            while arrived < BACKLOG && monotonic_ns() - began < 2_000_000_000 {
                std::thread::sleep(Duration::from_millis(5));
                arrived = on_thread(|| self.arrived())? - before;
            }
            stop.store(true, Ordering::Relaxed);
            Ok(running.join().unwrap_or_else(|_| panicked())? as f64 / arrived.max(1) as f64)
        })
    }

    /// Puts frames on the first link; returns the CPU that it took, ns.
    fn send_backlog(&self, frame: &[u8]) -> Result<f64, LiveError> {
        self.source().enter()?;
        let (socket, wire) = (PacketSocket::open_to_send()?, interface_index(WIRE)?);
        let cpu = thread_cpu_ns();
        for _ in 0..BACKLOG {
            socket.send(wire, frame).map_err(|error| SysError::new("send a frame", error))?;
        }
        Ok((thread_cpu_ns() - cpu) as f64)
    }

    fn arrived(&self) -> Result<u64, LiveError> {
        self.sink().enter()?;
        Ok(received_frames(WIRE))
    }

    fn send(&self, frame: &[u8], seconds: f64) -> Result<f64, LiveError> {
        self.source().enter()?;
        let (socket, wire) = (PacketSocket::open_to_send()?, interface_index(WIRE)?);
        let (started, lasts) = (monotonic_ns(), (seconds * 1e9) as u64);
        while monotonic_ns() - started < lasts {
            for _ in 0..32 {
                let _ = socket.send(wire, frame);
            }
        }
        Ok((monotonic_ns() - started) as f64 * 1e-9)
    }

    /// Forwards until it is told to stop, after frames of a backlog were put before it; returns the CPU that it took, ns.
    fn forward(&self, forwarder: Forwarder, stop: &AtomicBool, backlog: Option<&[u8]>) -> Result<u64, LiveError> {
        self.spaces.switches.enter()?;
        let fill = || backlog.map_or(Ok(0.0), |frame| on_thread(|| self.send_backlog(frame)));
        match forwarder {
            Forwarder::Bridge => Ok(0),
            Forwarder::Switch => {
                let socket = SwitchSocket::open(&self.layout)?;
                fill()?;
                let class = self.schedule(20);
                let cpu = thread_cpu_ns();
                let (points, controlled) = (points(&self.plan, &self.layout), controlled_classes(&self.plan));
                let nothing = Capture { snap: 0, share: 1 };
                let switches = Switches::new(&self.plan, Arc::clone(&self.layout), points, controlled, 6, nothing);
                let stops = Stops::new(false);
                let clock = Clock::starting_at(monotonic_ns(), &stops);
                let running = Running { clock, stop, end: FAR, view: None };
                let _ = run_switches(switches, &socket, class, running, &AtomicU64::new(0));
                Ok(thread_cpu_ns() - cpu)
            }
            Forwarder::PacketSocket => {
                let [from, to] = self.interfaces();
                let (from, to) = (PacketSocket::open(Some(interface_index(&from)?))?, interface_index(&to)?);
                fill()?;
                self.schedule(20);
                let cpu = thread_cpu_ns();
                forward_plainly(&from, to, stop);
                Ok(thread_cpu_ns() - cpu)
            }
        }
    }

    /// As in a run: real-time, on the last CPU.
    fn schedule(&self, priority: i32) -> crate::sys::scheduling::SchedulingClass {
        last_cpu().map(stay_on);
        ask_for_best(priority)
    }

    /// The times of single frames from one end to the other, least first.
    fn latencies(&self, forwarder: Forwarder, frame: &[u8]) -> Result<Vec<u64>, LiveError> {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let running = scope.spawn(|| self.forward(forwarder, &stop, None));
            let measured = scope.spawn(|| {
                self.source().enter()?;
                let (near, wire) = (PacketSocket::open_to_send()?, interface_index(WIRE)?);
                self.sink().enter()?;
                let far = PacketSocket::open(Some(interface_index(WIRE)?))?;
                self.schedule(10);
                std::thread::sleep(Duration::from_millis(20));
                let (mut batch, mut all) = (Batch::new(), Vec::with_capacity(PROBES));
                for _ in 0..PROBES {
                    std::thread::sleep(Duration::from_millis(1));
                    let sent = monotonic_ns();
                    near.send(wire, frame).map_err(|error| SysError::new("send a frame", error))?;
                    while batch.receive(&far).unwrap_or(0) == 0 {
                        if monotonic_ns() - sent > PROBE_NS {
                            break;
                        }
                        wait(&[far.as_fd()], PROBE_NS);
                    }
                    all.push(monotonic_ns() - sent);
                }
                all.sort_unstable();
                Ok::<_, LiveError>(all)
            });
            let measured = measured.join();
            stop.store(true, Ordering::Relaxed);
            running.join().unwrap_or_else(|_| Ok(0))?;
            measured.unwrap_or_else(|_| panicked())
        })
    }
}

/// Puts on one interface what comes over another.
fn forward_plainly(from: &PacketSocket, to: i32, stop: &AtomicBool) {
    let mut batch = Batch::new();
    while !stop.load(Ordering::Relaxed) {
        let count = batch.receive(from).unwrap_or(0);
        for index in 0..count {
            let received = batch.frame(index);
            let _ = from.send(to, &whole(received.octets, received.tag));
        }
        if count == 0 {
            wait(&[from.as_fd()], 10_000_000);
        }
    }
}
