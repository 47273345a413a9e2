//! The credit point: in turn, as fast as the link takes it.

use super::RcccRpParams;
use crate::roles::{CreditPoint, Endpoint, FlowId, Grant, Reached};
use qcnlab_units::{BitRate, Bytes, Instant, Span};
use std::collections::{BTreeMap, VecDeque};

/// The credit point of a host: what the flows that end there need, and whose turn it is.
#[derive(Clone, Debug)]
pub struct RcccPacer {
    /// What a flow has under way at most, and may send at first.
    window: u64,
    /// What is given at once.
    pull: u64,
    /// Octets of payload and of headers in a packet.
    packet: (u64, u64),
    /// The rate at which credit is given.
    rate: BitRate,
    flows: BTreeMap<u32, Account>,
    /// Flows that want credit, the next one first.
    turn: VecDeque<u32>,
    /// When the next credit may be given.
    free: Instant,
    wake: Instant,
}

/// A flow that ends at the host, octets of payload.
#[derive(Clone, Copy, Debug)]
struct Account {
    /// What it sends in all as far as is known: its message and what came cut.
    wanted: u64,
    granted: u64,
    /// What has come, whole or cut.
    came: u64,
    /// Whether it stands in the turn.
    waits: bool,
}

impl RcccPacer {
    pub(super) fn new(params: RcccRpParams, endpoint: Endpoint) -> RcccPacer {
        let mtu = endpoint.mtu.get();
        RcccPacer {
            window: params.window(endpoint).get(),
            pull: (params.pull * mtu as f64) as u64,
            packet: (mtu, params.counted_header.get()),
            rate: endpoint.line_rate.scaled_rounded_down(params.pace),
            flows: BTreeMap::new(),
            turn: VecDeque::new(),
            free: Instant::ZERO,
            wake: Instant::NEVER,
        }
    }

    /// How long what a credit brings takes at the pace, its headers among it; rounded up.
    fn takes(&self, octets: u64) -> Span {
        let (payload, header) = self.packet;
        let on_the_link = octets + octets.div_ceil(payload) * header;
        let bits = u128::from(on_the_link) * 8 * 1_000_000_000_000;
        Span::from_ps(bits.div_ceil(u128::from(self.rate.get().max(1))) as u64)
    }
}

impl CreditPoint for RcccPacer {
    fn on_packet(&mut self, now: Instant, packet: &Reached) {
        let window = self.window;
        let wanted = packet.total.map_or(u64::MAX, Bytes::get);
        let fresh = Account { wanted, granted: window.min(wanted), came: 0, waits: false };
        let flow = self.flows.entry(packet.flow.0).or_insert(fresh);
        flow.came += packet.payload.get();
        if packet.cut {
            flow.wanted = flow.wanted.saturating_add(packet.payload.get());
        }
        if flow.granted < flow.wanted && !flow.waits {
            flow.waits = true;
            self.turn.push_back(packet.flow.0);
        }
        if !self.turn.is_empty() && self.wake == Instant::NEVER {
            self.wake = self.free.max(now);
        }
    }

    fn on_whole(&mut self, flow: FlowId) {
        self.flows.remove(&flow.0);
        self.turn.retain(|waits| *waits != flow.0);
    }

    fn next_wake(&self) -> Instant {
        self.wake
    }

    fn on_wake(&mut self, now: Instant) -> Option<Grant> {
        if now < self.wake {
            return None;
        }
        self.wake = Instant::NEVER;
        for _ in 0..self.turn.len() {
            let number = self.turn.pop_front()?;
            let Some(flow) = self.flows.get_mut(&number) else { continue };
            let octets = self.pull.min(flow.wanted - flow.granted);
            if flow.granted + octets > flow.came + self.window {
                self.turn.push_back(number);
                continue;
            }
            flow.granted += octets;
            flow.waits = flow.granted < flow.wanted;
            let credit = Bytes::new(flow.granted);
            if flow.waits {
                self.turn.push_back(number);
            }
            self.free = now + self.takes(octets);
            if !self.turn.is_empty() {
                self.wake = self.free;
            }
            return Some(Grant { flow: FlowId(number), credit });
        }
        // All that want credit have a window under way: the next packet that comes asks again.
        None
    }
}
