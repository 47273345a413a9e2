//! UDP senders and the receiver of a host: real datagrams through the host's own stack.
//!
//! They run in the adapter's loop. A saturated source keeps a few frames at its limiter; the others send when their
//! process says so, and a frame for which the limiter has no room is refused, as in the simulator. Where the kernel's
//! shaper paces, frames wait in its classes: the socket says when there is no room.

use crate::adapter::Adapter;
use crate::layout::{CN_TAG, DISCARD, Layout, TAGGED_HEADER, ip};
use crate::shaper::{LimiterKind, mark_of};
use crate::sys::SysError;
use crate::sys::socket::{set_mark, set_receive_buffer, set_send_buffer, take_datagrams, tell_drops};
use qcnlab_schemes::{Dice, Purpose};
use qcnlab_sim::{FlowId, NodeId, Plan, Process, Traffic};
use qcnlab_units::{Bytes, Instant, Span};
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::AsFd;

/// Frames that a saturated source keeps at its limiter: the 42 that the limiter may make good at 100 Mb/s after a late
/// look, and half as many again.
const KEPT: u32 = 64;
/// Frames that a source sends at a time at most, so that the loop gets to other work.
const MOST_AT_ONCE: u32 = 16;

/// Octets of a socket that wait in the kernel's shaper at most.
const MOST_IN_KERNEL: u64 = 16 << 20;

/// When a source offers frames.
#[derive(Debug)]
enum Offer {
    /// Always one more, `apart` at least.
    Saturated { apart: Span },
    /// A frame at equal distances.
    Constant { apart: Span },
    /// A frame at exponential distances of this mean.
    Poisson { mean: Span },
    /// A frame at equal distances while on.
    OnOff { apart: Span, on: Span, off: Span, exponential: bool, until: Instant },
}

/// What sends the datagrams of one or several flows of a host.
#[derive(Debug)]
struct Source {
    flows: Vec<FlowId>,
    sockets: Vec<UdpSocket>,
    payload: Vec<u8>,
    sent: Vec<u64>,
    offer: Offer,
    dice: Dice,
    next: Instant,
    stop: Instant,
    left: u64,
    frame: u64,
    limiter: LimiterKind,
}

/// All of a host's senders of datagrams, and its receiver.
#[derive(Debug)]
pub(crate) struct Datagrams {
    sources: Vec<Source>,
    receiver: Option<UdpSocket>,
    /// Datagrams that the receiver took, and their octets.
    pub(crate) received: u64,
    pub(crate) received_octets: u64,
}

fn socket(address: SocketAddrV4) -> Result<UdpSocket, SysError> {
    let what = || format!("open a UDP socket on {address}");
    let socket = UdpSocket::bind(address).map_err(|error| SysError::new(what(), error))?;
    socket.set_nonblocking(true).map_err(|error| SysError::new(what(), error))?;
    Ok(socket)
}

impl Datagrams {
    /// The senders and the receiver of `host`; the calling thread is in its namespace.
    pub(crate) fn new(plan: &Plan, layout: &Layout, host: NodeId, limiter: LimiterKind) -> Result<Datagrams, SysError> {
        let mut sources = Vec::new();
        for ((id, flow), ends) in plan.flows.enumerate().zip(&layout.flows) {
            if ends.source != host {
                continue;
            }
            let size = Bytes::new(flow.frame.get());
            let (offer, left) = match flow.traffic {
                Traffic::Saturated { ceiling, total } => {
                    let apart = ceiling.map_or(Span::ZERO, |rate| rate.time_for_rounded_up(size));
                    (Offer::Saturated { apart }, total.map_or(u64::MAX, Bytes::get))
                }
                Traffic::Constant { rate } => (Offer::Constant { apart: rate.time_for_rounded_up(size) }, u64::MAX),
                Traffic::Fed | Traffic::Replayed | Traffic::Tcp { .. } | Traffic::Roce { .. } => continue,
            };
            let start = jittered(plan, &flow.name, flow.start, flow.start_jitter);
            let name = &flow.name;
            sources.push(Source::open(plan, layout, &[id], offer, start, flow.stop, left, name, limiter)?);
        }
        for generator in &plan.generators {
            if layout.flows[generator.flows[0]].source != host {
                continue;
            }
            let size = Bytes::new(plan.flows[generator.flows[0]].frame.get());
            let start = jittered(plan, &generator.name, generator.start, generator.start_jitter);
            let offer = match generator.process {
                Process::Constant { rate } => Offer::Constant { apart: rate.time_for_rounded_up(size) },
                Process::Poisson { rate } => Offer::Poisson { mean: rate.time_for_rounded_up(size) },
                Process::OnOff { rate, on, off, exponential } => {
                    Offer::OnOff { apart: rate.time_for_rounded_up(size), on, off, exponential, until: start }
                }
            };
            let name = &generator.name;
            let (flows, stop) = (&generator.flows, generator.stop);
            sources.push(Source::open(plan, layout, flows, offer, start, stop, u64::MAX, name, limiter)?);
        }
        let receives = layout.flows.iter().any(|flow| flow.destination == host && !flow.tcp);
        let receiver = if receives {
            let socket = socket(SocketAddrV4::new(ip(host).into(), DISCARD))?;
            set_receive_buffer(socket.as_fd(), 4 << 20)?;
            Some(socket)
        } else {
            None
        };
        Ok(Datagrams { sources, receiver, received: 0, received_octets: 0 })
    }

    /// No senders and no receiver.
    pub(crate) fn none() -> Datagrams {
        Datagrams { sources: Vec::new(), receiver: None, received: 0, received_octets: 0 }
    }

    /// Sends what sources offer by `now`; returns the number of datagrams.
    pub(crate) fn send(&mut self, now: Instant, adapter: &mut Adapter) -> u32 {
        self.sources.iter_mut().map(|source| source.send(now, adapter)).sum()
    }

    /// Takes what the receiver got.
    pub(crate) fn receive(&mut self) {
        let Some(socket) = &self.receiver else { return };
        loop {
            let (count, octets) = take_datagrams(socket.as_fd());
            self.received += count;
            self.received_octets += octets;
            if count < 64 {
                return;
            }
        }
    }

    /// When a source offers its next frame, ps.
    pub(crate) fn next_deadline(&self) -> u64 {
        self.sources.iter().map(Source::next_deadline).min().unwrap_or(u64::MAX)
    }
}

fn jittered(plan: &Plan, name: &str, start: Instant, jitter: Span) -> Instant {
    let mut dice = Dice::new(plan.seed, plan.replication, name, Purpose::Start);
    start + jitter.scaled_rounded_down(dice.uniform(0.0, 1.0))
}

impl Source {
    #[expect(clippy::too_many_arguments, reason = "what a source is, once")]
    fn open(
        plan: &Plan,
        layout: &Layout,
        flows: &[FlowId],
        offer: Offer,
        start: Instant,
        stop: Instant,
        left: u64,
        name: &str,
        limiter: LimiterKind,
    ) -> Result<Source, SysError> {
        let first = &plan.flows[flows[0]];
        let mut sockets = Vec::new();
        for flow in flows {
            let ends = &layout.flows[*flow];
            let socket = socket(SocketAddrV4::new(ip(ends.source).into(), ends.port))?;
            let to = udp_destination(ends.destination);
            socket.connect(to).map_err(|error| SysError::new(format!("connect a UDP socket to {to}"), error))?;
            if limiter == LimiterKind::Htb {
                // What a class holds beyond its own room is refused there; a saturated source keeps few frames.
                let kept = match offer {
                    Offer::Saturated { .. } => u64::from(KEPT) * first.frame.get(),
                    _ => first.room.map_or(MOST_IN_KERNEL, Bytes::get).saturating_mul(2).min(MOST_IN_KERNEL),
                };
                set_mark(socket.as_fd(), mark_of(ends.rpid))?;
                set_send_buffer(socket.as_fd(), kept)?;
                tell_drops(socket.as_fd())?;
            }
            sockets.push(socket);
        }
        Ok(Source {
            flows: flows.to_vec(),
            sent: vec![0; flows.len()],
            sockets,
            payload: vec![0; udp_payload(first.frame.get(), first.cn_tag && first.controlled)],
            offer,
            dice: Dice::new(plan.seed, plan.replication, name, Purpose::Traffic),
            next: start,
            stop,
            left,
            frame: first.frame.get(),
            limiter,
        })
    }

    fn next_deadline(&self) -> u64 {
        match self.offer {
            // The limiter's own deadline wakes the loop, and then there is room.
            Offer::Saturated { apart: Span::ZERO } if self.next == Instant::ZERO => u64::MAX,
            _ if self.left == 0 || self.next >= self.stop => u64::MAX,
            _ => self.next.ps(),
        }
    }

    fn send(&mut self, now: Instant, adapter: &mut Adapter) -> u32 {
        let (mut rounds, mut sent) = (0, 0);
        while self.next <= now && self.next < self.stop && self.left > 0 && rounds < MOST_AT_ONCE {
            rounds += 1;
            if let Offer::Saturated { apart } = self.offer {
                let room = match self.limiter {
                    LimiterKind::Adapter => adapter.waiting(self.flows[0]) + rounds - 1 < KEPT,
                    LimiterKind::Htb => true,
                };
                if !room || !self.put(0) {
                    // Asked again when a frame has gone, or at the next one's time.
                    self.next = if apart == Span::ZERO { Instant::ZERO } else { now + apart };
                    return sent;
                }
                sent += 1;
                self.left = self.left.saturating_sub(self.frame);
                self.next = if apart == Span::ZERO { Instant::ZERO } else { self.next.max(now) + apart };
                continue;
            }
            let which = if self.flows.len() == 1 { 0 } else { self.dice.below(self.flows.len() as u32) as usize };
            let flow = self.flows[which];
            let room = match self.limiter {
                LimiterKind::Adapter => adapter.room_for(flow) >= self.frame * u64::from(rounds),
                LimiterKind::Htb => true,
            };
            if room && self.put(which) {
                sent += 1;
            } else {
                adapter.refuse(flow);
            }
            self.step();
        }
        sent
    }

    /// Moves on to the next frame.
    fn step(&mut self) {
        match &mut self.offer {
            Offer::Saturated { .. } => {}
            Offer::Constant { apart } => self.next += *apart,
            Offer::Poisson { mean } => self.next += mean.scaled_rounded_down(self.dice.exponential()),
            Offer::OnOff { apart, on, off, exponential, until } => {
                let mut draw =
                    |mean: Span| if *exponential { mean.scaled_rounded_down(self.dice.exponential()) } else { mean };
                if *until == self.next {
                    *until = self.next + draw(*on);
                }
                self.next += *apart;
                if self.next >= *until {
                    self.next = *until + draw(*off);
                    *until = self.next + draw(*on);
                }
            }
        }
    }

    /// Hands a datagram to the stack; its first octets are its number. Returns whether the stack took it.
    fn put(&mut self, which: usize) -> bool {
        self.payload[..8].copy_from_slice(&self.sent[which].to_be_bytes());
        let taken = self.sockets[which].send(&self.payload).is_ok();
        self.sent[which] += u64::from(taken);
        taken
    }
}

/// Octets of a UDP payload in a frame of a flow, as it stands on the link.
pub(crate) fn udp_payload(frame: u64, cn_tag: bool) -> usize {
    const HEADERS: u64 = TAGGED_HEADER + 20 + 8;
    frame.saturating_sub(HEADERS + if cn_tag { CN_TAG } else { 0 }).max(8) as usize
}

/// Where the datagrams of a flow go.
fn udp_destination(destination: NodeId) -> SocketAddrV4 {
    SocketAddrV4::new(ip(destination).into(), DISCARD)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 312 octets: 14 of Ethernet, 4 + 4 of tags, 20 of IPv4 and 8 of UDP leave 262.
    #[test]
    fn a_frame_is_its_headers_and_its_data() {
        assert_eq!((udp_payload(312, true), udp_payload(312, false), udp_payload(60, true)), (262, 266, 10));
    }
}
