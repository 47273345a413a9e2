//! The two event loops: of all switches, and of a host's adapter. Each sleeps until its next deadline or a frame.

use crate::adapter::{Adapter, FromLink};
use crate::clock::Clock;
use crate::datagrams::Datagrams;
use crate::error::LiveError;
use crate::health::{Lateness, LoopHealth, LoopMeter};
use crate::layout::Layout;
use crate::network::{WIRE, interface, stack_drops};
use crate::record::Records;
use crate::shaper::{KernelShaper, ShaperEnd};
use crate::switch::Switches;
use crate::sys::poll::wait;
use crate::sys::scheduling::SchedulingClass;
use crate::sys::socket::{BATCH, Batch, PacketSocket, ROOM, interface_index};
use crate::sys::tap::Tap;
use crate::sys::time::monotonic_ns;
use crate::view::{EVERY, View};
use qcnlab_sim::{FlowId, PortId};
use qcnlab_units::IdVec;
use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The longest sleep: how soon a stop is seen.
const LONGEST_SLEEP: u64 = 100_000_000_000;

/// What all loops share.
#[derive(Clone, Copy)]
pub(crate) struct Running<'a> {
    pub(crate) clock: Clock<'a>,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) end: u64,
    /// Where a network that stands shows itself.
    pub(crate) view: Option<&'a View>,
}

impl Running<'_> {
    fn over(&self, now: u64) -> bool {
        now >= self.end || self.stop.load(Ordering::Relaxed)
    }

    /// When a loop shows itself first, ps.
    fn first_view(&self) -> u64 {
        if self.view.is_some() { 0 } else { u64::MAX }
    }

    fn wait_for_start(&self) {
        while !self.clock.has_started() && !self.stop.load(Ordering::Relaxed) {
            wait(&[], self.clock.ns_to_start().min(50_000_000));
        }
    }
}

/// What a loop gives at its end.
pub(crate) struct LoopEnd {
    pub(crate) records: Records,
    pub(crate) health: LoopHealth,
    /// Frames of each flow that it still held.
    pub(crate) held: IdVec<FlowId, u64>,
    /// Datagrams that applications received, and their octets.
    pub(crate) datagrams: (u64, u64),
    /// Frames that the stack dropped because the adapter did not take them.
    pub(crate) stack_drops: u64,
    /// What the kernel's shaper did, where it paced.
    pub(crate) shaper: Option<ShaperEnd>,
}

/// The sockets of the switches: one for all links, and which interface is which way.
pub(crate) struct SwitchSocket {
    socket: PacketSocket,
    /// The interface of the way that leaves by it.
    interfaces: IdVec<PortId, i32>,
    /// The way that comes in over an interface.
    ways: HashMap<i32, PortId>,
}

impl SwitchSocket {
    /// Opens it; the calling thread is in the switches' namespace.
    pub(crate) fn open(layout: &Layout) -> Result<SwitchSocket, LiveError> {
        let (mut interfaces, mut ways) = (IdVec::for_each_of(&layout.ways, 0), HashMap::new());
        for (way, of) in layout.ways.enumerate().filter(|(_, of)| !layout.is_host(of.from)) {
            let index = interface_index(&interface(way))?;
            interfaces[way] = index;
            ways.insert(index, of.reverse);
        }
        Ok(SwitchSocket { socket: PacketSocket::open(None)?, interfaces, ways })
    }
}

/// Runs all switches until the run is over; `done_ps` is told how far it is.
pub(crate) fn run_switches(
    mut switches: Switches,
    socket: &SwitchSocket,
    class: SchedulingClass,
    running: Running<'_>,
    done_ps: &AtomicU64,
) -> LoopEnd {
    let (mut batch, mut lateness, mut failures) = (Batch::new(), Lateness::new(), 0);
    running.wait_for_start();
    let _ = socket.socket.drops();
    let (mut meter, started) = (LoopMeter::start(), monotonic_ns());
    let (mut readable, mut next_view) = (true, running.first_view());
    loop {
        let now = running.clock.read(meter.planned()).ps();
        if running.over(now) {
            break;
        }
        meter.starts_pass(now);
        done_ps.store(now, Ordering::Relaxed);
        switches.advance(now);
        if let Some(view) = running.view.filter(|_| now >= next_view) {
            switches.show(now, view);
            next_view = now + EVERY;
        }
        if readable {
            let count = batch.receive(&socket.socket).unwrap_or(0);
            let now = running.clock.read(0).ps().min(running.end);
            switches.advance(now);
            for index in 0..count {
                let frame = batch.frame(index);
                if let Some(way) = socket.ways.get(&frame.interface) {
                    switches.receive(now, *way, frame);
                }
            }
            switches.advance(now);
            readable = count == BATCH;
        }
        while let Some(due) = switches.take_due(running.clock.read(0).ps()) {
            lateness.count(due.at, running.clock.read(0).ps());
            if socket.socket.send(socket.interfaces[due.way], &due.octets).is_err() {
                failures += 1;
            }
        }
        if readable {
            meter.waits(u64::MAX);
            continue;
        }
        let planned = switches.next_deadline().min(running.end).min(next_view);
        let now = running.clock.read(0).ps();
        meter.waits(planned.max(now));
        let sleep = planned.saturating_sub(now).min(LONGEST_SLEEP) / 1000;
        readable = wait(&[socket.socket.as_fd()], sleep) != 0;
    }
    let mut health = meter.finish("switches", class, lateness, monotonic_ns() - started);
    (health.receive_drops, health.send_failures) = (socket.socket.drops(), failures);
    let (records, held) = switches.finish(running.clock.read(0).ps());
    LoopEnd { records, health, held, datagrams: (0, 0), stack_drops: 0, shaper: None }
}

/// The two sides of an adapter.
pub(crate) struct HostSockets {
    tap: Tap,
    wire: PacketSocket,
    wire_index: i32,
    /// The kernel's shaper on the stack's side, where it paces.
    shaper: Option<KernelShaper>,
}

impl HostSockets {
    /// Opens the side of the link; the calling thread is in the host's namespace.
    pub(crate) fn open(tap: Tap, shaper: Option<KernelShaper>) -> Result<HostSockets, LiveError> {
        let wire_index = interface_index(WIRE)?;
        Ok(HostSockets { tap, wire: PacketSocket::open(Some(wire_index))?, wire_index, shaper })
    }
}

const FROM_WIRE: u8 = 1;
const FROM_STACK: u8 = 2;
/// Frames that are read from the stack at a time.
const MOST_FROM_STACK: u32 = 32;

/// Runs a host's adapter and its senders of datagrams until the run is over.
pub(crate) fn run_adapter(
    name: &str,
    mut adapter: Adapter,
    mut datagrams: Datagrams,
    sockets: HostSockets,
    class: SchedulingClass,
    running: Running<'_>,
) -> LoopEnd {
    let HostSockets { tap, wire, wire_index, mut shaper } = sockets;
    let (mut batch, mut lateness, mut failures) = (Batch::new(), Lateness::new(), 0);
    let mut room = vec![0; ROOM];
    running.wait_for_start();
    let _ = wire.drops();
    let (mut meter, started) = (LoopMeter::start(), monotonic_ns());
    let (mut ready, mut next_view) = (FROM_WIRE | FROM_STACK, running.first_view());
    loop {
        let now = running.clock.read(meter.planned());
        if running.over(now.ps()) {
            break;
        }
        meter.starts_pass(now.ps());
        if let Some(view) = running.view.filter(|_| now.ps() >= next_view) {
            adapter.show(view);
            next_view = now.ps() + EVERY;
        }
        let mut again = false;
        if ready & FROM_WIRE != 0 {
            let count = batch.receive(&wire).unwrap_or(0);
            adapter.advance(now.ps());
            if let Some(shaper) = &mut shaper {
                shaper.follow(now.ps(), adapter.wanted_rates(shaper.line()));
            }
            for index in 0..count {
                if let FromLink::ToStack(frame) = adapter.take_from_link(now.ps(), batch.frame(index)) {
                    // A frame that the stack does not take is lost, as in a card whose host is too slow.
                    let _ = tap.write(frame);
                }
            }
            if count > 0 {
                datagrams.receive();
            }
            if let Some(shaper) = &mut shaper {
                shaper.follow(running.clock.read(0).ps(), adapter.wanted_rates(shaper.line()));
            }
            again |= count == BATCH;
        }
        let offered = datagrams.send(now, &mut adapter);
        if offered > 0 || ready & FROM_STACK != 0 {
            let mut read = 0;
            while read < MOST_FROM_STACK.max(offered) && adapter.takes_frames() {
                match tap.read(&mut room) {
                    Ok(Some(octets)) => adapter.take_from_stack(now.ps(), &room[..octets]),
                    Ok(None) | Err(_) => break,
                }
                read += 1;
                if read == offered && ready & FROM_STACK == 0 {
                    break;
                }
            }
            again |= read == MOST_FROM_STACK;
        }
        if let Some(shaper) = &shaper {
            adapter.ask_backlogs(|position| shaper.backlog(position));
        }
        adapter.advance(running.clock.read(0).ps());
        if let Some(shaper) = &mut shaper {
            adapter.update_back_pressure();
            shaper.follow(running.clock.read(0).ps(), adapter.wanted_rates(shaper.line()));
        }
        while let Some(due) = adapter.take_due(running.clock.read(0).ps()) {
            let left = running.clock.read(0).ps();
            lateness.count(due.at, left);
            if let Some(spaced) = due.spaced {
                adapter.left(left, spaced);
            }
            if wire.send(wire_index, &due.octets).is_err() {
                failures += 1;
            }
        }
        if again {
            meter.waits(u64::MAX);
            ready = FROM_WIRE | FROM_STACK;
            continue;
        }
        let planned = adapter.next_deadline().min(datagrams.next_deadline()).min(running.end).min(next_view);
        let now = running.clock.read(0).ps();
        meter.waits(planned.max(now));
        let sleep = planned.saturating_sub(now).min(LONGEST_SLEEP) / 1000;
        let both = [wire.as_fd(), tap.as_fd()];
        ready = wait(if adapter.takes_frames() { &both } else { &both[..1] }, sleep);
    }
    let mut health = meter.finish(name, class, lateness, monotonic_ns() - started);
    (health.receive_drops, health.send_failures) = (wire.drops(), failures);
    datagrams.receive();
    let (records, held) = adapter.finish(running.clock.read(0).ps());
    let got = (datagrams.received, datagrams.received_octets);
    let shaper = shaper.map(KernelShaper::finish);
    LoopEnd { records, health, held, datagrams: got, stack_drops: stack_drops(), shaper }
}
