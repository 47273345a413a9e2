//! An adapter: a host's frames on their way to the link, and what comes back.
//!
//! A frame that the host's stack sends belongs to a flow, and the flow to a limiter: a reaction point with its pacer.
//! There it waits, gets its 802.1Q tag and its CN-TAG, and goes to the port when the pacer allows and the port is free.
//! CNMs from the link are heard by the limiter that their CN-TAG names, and go no further. What belongs to no limiter
//! (acknowledgements, other traffic) goes to the port at once. Where the kernel's shaper paces, frames have waited there
//! before they come here, and the limiter holds them for the port alone.

mod from_link;
mod releasing;
mod shaping;

use crate::defence::{self, DefenceEnd, DefendedPort, Mode};
use crate::gate::{fastest, longest_gap};
use crate::head::{Head, with_tags};
use crate::layout::{Layout, VLAN, mac};
use crate::limiters::{HostLimiter, limiters_of};
use crate::port::{Port, Queued};
use crate::record::{Capture, Records};
use crate::shaper::LimiterKind;
use crate::view::View;
use qcnlab_schemes::ReactionPoint;
use qcnlab_sim::{FlowId, FlowPlan, NodeId, Plan, PortId, Traffic};
use qcnlab_units::{Bytes, Id, IdVec, Instant, Span};
use qcnlab_wire::{CnTag, VlanTag};
use std::collections::VecDeque;
use std::sync::Arc;

/// A host's adapter, without its descriptors.
pub(crate) struct Adapter {
    layout: Arc<Layout>,
    host: NodeId,
    uplink: PortId,
    reaction: u64,
    port: Port,
    limiters: Vec<HostLimiter>,
    /// What the host does for the domain, where it takes part.
    defended: Option<DefendedPort>,
    /// For each priority, the position of the limiter that hears signals without a CN-TAG.
    untagged: [Option<usize>; 8],
    /// Whether the host has reaction points: not where it takes no part in a domain.
    reacts: bool,
    /// For each flow of the plan, the position of its limiter here.
    limiter_of: IdVec<FlowId, Option<usize>>,
    /// Octets of each flow of datagrams that has an end; as many as there can be of the others.
    totals: IdVec<FlowId, u64>,
    /// Frames of each flow that wait for a limiter.
    waiting_of: IdVec<FlowId, u32>,
    next_turn: usize,
    pending_pauses: VecDeque<(u64, u8, u16)>,
    rates_every: u64,
    next_rates: u64,
    end: u64,
    /// How late a frame may leave and still count as having left when it should have, ps: a limiter that is later than
    /// this starts anew, so that time lost is not made good by a burst. As long as a loop of a valid run may not look, so
    /// that in such a run every frame leaves its limiter when the law says.
    most_catch_up: u64,
    capture: Capture,
    room: Vec<u8>,
    pub(crate) records: Records,
}

/// What happens to an adapter at an instant of its own, beside releases and transmissions.
#[derive(Clone, Copy, Debug)]
enum Event {
    Pause,
    /// The limiter at this position is woken.
    Wake(usize),
}

/// Pauses and wake-ups that one look at the clock may bring.
const MOST_EVENTS: u32 = 4096;

/// What an adapter does with a frame from the link.
pub(crate) enum FromLink<'a> {
    /// It goes to the host's stack.
    ToStack(&'a [u8]),
    /// It ends here.
    Consumed,
}

impl Adapter {
    pub(crate) fn new(plan: &Plan, layout: Arc<Layout>, host: NodeId, kind: LimiterKind, capture: Capture) -> Adapter {
        let uplink = layout.uplink(host);
        let peer = layout.ways[uplink].to;
        let (limiters, limiter_of) = limiters_of(plan, &layout, host, kind);
        let mut untagged = [None; 8];
        for (index, flow) in plan.flows.enumerate() {
            let Some(position) = limiter_of[index] else { continue };
            let hears =
                plan.domain.as_ref().is_some_and(|domain| domain.untagged[index] == Some(limiters[position].id));
            if hears {
                untagged[usize::from(flow.class & 7)].get_or_insert(position);
            }
        }
        let reacts = plan.domain.is_none() || untagged.iter().any(Option::is_some);
        let records = Records::new(plan.record.bin.ps(), plan.flows.len());
        let rates_every = if limiters.is_empty() { Span::ZERO } else { plan.record.rates_every };
        Adapter {
            port: Port::new(layout.ways[uplink].shape),
            reaction: plan.nodes[peer].pause.map_or(0, |pause| pause.reaction.ps()),
            totals: plan.flows.iter().map(total_of_datagrams).collect(),
            waiting_of: IdVec::for_each_of(&plan.flows, 0),
            next_turn: 0,
            pending_pauses: VecDeque::new(),
            rates_every: if rates_every == Span::ZERO { u64::MAX } else { rates_every.ps() },
            next_rates: 0,
            end: plan.end.ps(),
            most_catch_up: longest_gap(fastest(plan)).ps(),
            room: Vec::with_capacity(2048),
            defended: layout.defended_port(uplink),
            untagged,
            reacts,
            layout,
            host,
            uplink,
            limiters,
            limiter_of,
            capture,
            records,
        }
    }

    /// Frames of a flow that wait for its limiter.
    pub(crate) fn waiting(&self, flow: FlowId) -> u32 {
        self.waiting_of[flow]
    }

    /// Octets that a flow's limiter still has room for.
    pub(crate) fn room_for(&self, flow: FlowId) -> u64 {
        let limiter = self.limiter_of[flow].map(|position| &self.limiters[position]);
        limiter.map_or(0, |limiter| limiter.room.saturating_sub(limiter.octets))
    }

    /// Whether it takes frames from the stack: every limiter has room for a long one. While it does not, the stack's
    /// own queue holds them.
    pub(crate) fn takes_frames(&self) -> bool {
        let longest = u64::from(self.layout.mtu);
        let limiters = self.limiters.iter().all(|limiter| limiter.octets + longest <= limiter.room.max(longest));
        limiters && self.port.all_queued() + longest <= self.port.capacity().get().max(longest)
    }

    /// A frame of the host's stack: to its limiter, or past it.
    pub(crate) fn take_from_stack(&mut self, now: u64, octets: &[u8]) {
        let Some(head) = Head::read(octets) else {
            self.records.refused.malformed += 1;
            return;
        };
        let conversation = head.conversation(octets);
        let flow = conversation.and_then(|of| self.layout.flow_of(&of));
        let acknowledged = conversation.and_then(|of| self.layout.acknowledged_flow(&of));
        let limiter = match (flow, acknowledged) {
            (Some(flow), _) => self.limiter_of[flow],
            (None, Some(_)) => None,
            // Traffic of a user's own: to the limiters in turn, by the two ends of the conversation.
            (None, None) => {
                conversation.filter(|_| !self.limiters.is_empty()).map(|of| spread(&of) % self.limiters.len())
            }
        };
        let Some(position) = limiter else {
            let class = acknowledged.map_or(0, |flow| self.layout.flows[flow].class);
            if acknowledged.is_some() {
                self.records.counters.acks_sent += 1;
            }
            let tag = VlanTag { priority: class, drop_eligible: false, vlan: VLAN };
            let frame = Queued { octets: with_tags(octets, tag, None), class, ..Queued::default() };
            if self.port.enqueue(now, frame).is_err() && acknowledged.is_some() {
                self.records.counters.acks_lost += 1;
            }
            return;
        };
        let limiter = &mut self.limiters[position];
        let (class, rpid) = (limiter.class, limiter.rpid);
        let tag = VlanTag { priority: class, drop_eligible: false, vlan: VLAN };
        let may = self.defended.as_ref().is_none_or(|port| port.mode(class) == Mode::InteriorReady);
        let cn_tag = (limiter.cn_tag && may).then_some(CnTag { rpid });
        let frame = Queued { octets: with_tags(octets, tag, cn_tag), class, flow, arrived: now, ..Queued::default() };
        let size = frame.len();
        if limiter.octets + size > limiter.room.max(size) {
            if let Some(flow) = flow {
                self.records.flows[flow].refused += 1;
            }
            return;
        }
        limiter.octets += size;
        limiter.took_frames = true;
        limiter.waiting.push_back(frame);
        if let Some(flow) = flow {
            self.waiting_of[flow] += 1;
        }
    }

    /// A source had a frame for which its limiter has no room.
    pub(crate) fn refuse(&mut self, flow: FlowId) {
        self.records.flows[flow].refused += 1;
    }

    /// Has the host announce itself, where that is due.
    fn announce(&mut self, now: u64) {
        let Some(announced) = self.defended.as_mut().and_then(|port| port.announcement_due(now)) else { return };
        let name = &self.layout.ways[self.uplink].name;
        let system = &self.layout.systems[self.host];
        let octets = defence::frame_of(announced, mac(self.host), name, system);
        let _ = self.port.enqueue(now, Queued { octets, class: 7, ..Queued::default() });
    }

    /// Brings everything up to `now`: wake-ups, pauses, releases and transmissions, each at its own instant.
    pub(crate) fn advance(&mut self, now: u64) {
        let now = now.min(self.end);
        while self.next_rates <= now {
            let at = self.next_rates;
            self.work(at);
            self.sample_rates(at);
            self.next_rates = at.saturating_add(self.rates_every);
        }
        self.work(now);
    }

    fn work(&mut self, now: u64) {
        self.announce(now);
        let mut rounds = 0;
        while let Some((event, at)) = self.next_event().filter(|(_, at)| *at <= now) {
            self.transmit(at, now);
            match event {
                Event::Pause => self.apply_pause(),
                Event::Wake(position) => self.wake(position),
            }
            rounds += 1;
            // A reaction point that asks to be woken at once for ever must not hold the loop.
            if rounds >= MOST_EVENTS {
                break;
            }
        }
        self.transmit(now, now);
    }

    /// The next pause or wake-up of a limiter, and when it is; of equals a pause, then the first limiter.
    fn next_event(&self) -> Option<(Event, u64)> {
        let pause = self.pending_pauses.front().map(|pause| (Event::Pause, pause.0));
        let wakes = self.limiters.iter().enumerate();
        let wakes = wakes.map(|(position, limiter)| (Event::Wake(position), limiter.driver.wake.ps()));
        pause.into_iter().chain(wakes).min_by_key(|(_, at)| *at)
    }

    /// Wakes a limiter's reaction point at the instant that it asked for. Frames that were due before it have left by
    /// then; those after it leave at its new rate.
    fn wake(&mut self, position: usize) {
        let limiter = &mut self.limiters[position];
        limiter.told = limiter.told.max(limiter.driver.wake.ps());
        let at = Instant::from_ps(limiter.told);
        limiter.driver.on_wake(at);
        limiter.driver.update_pacer(at);
        let _ = limiter.driver.changed_wake();
    }

    fn sample_rates(&mut self, at: u64) {
        for limiter in &self.limiters {
            let gauge = limiter.driver.rp.gauge();
            for flow in &limiter.flows {
                let rows = &mut self.records.rates;
                rows.time.push(at);
                rows.flow.push(flow.number());
                rows.current.push(gauge.current_rate.get());
                rows.target.push(gauge.target_rate.get());
            }
        }
    }

    /// When something has to be done next, ps.
    pub(crate) fn next_deadline(&self) -> u64 {
        let release = if self.port.is_busy() { u64::MAX } else { self.next_release().map_or(u64::MAX, |(_, at)| at) };
        let wake = self.limiters.iter().map(|limiter| limiter.driver.wake.ps()).min().unwrap_or(u64::MAX);
        let rates = if self.rates_every == u64::MAX { u64::MAX } else { self.next_rates };
        let pause = self.pending_pauses.front().map_or(u64::MAX, |pause| pause.0);
        let announcement = self.defended.as_ref().map_or(u64::MAX, DefendedPort::next_deadline);
        self.port.next_deadline().min(release).min(wake).min(rates).min(pause).min(announcement)
    }

    /// Shows what its limiters hold and have done, and keeps no rows.
    pub(crate) fn show(&mut self, view: &View) {
        for limiter in &self.limiters {
            let shown = &view.limiters[limiter.id];
            shown.rate.set(limiter.driver.rp.gauge().current_rate.get());
            shown.waiting.set(limiter.octets + limiter.in_kernel);
            shown.heard.set(limiter.heard);
        }
        self.records.forget_rows();
    }

    /// The current rates of its reaction points, bit/s.
    #[cfg(test)]
    pub(crate) fn rates(&self) -> impl Iterator<Item = u64> {
        self.limiters.iter().map(|limiter| limiter.driver.rp.gauge().current_rate.get())
    }

    /// Closes the records at the end of the run, or `now` if it was stopped before. Also returns how many frames of each flow it still holds.
    pub(crate) fn finish(mut self, now: u64) -> (Records, IdVec<FlowId, u64>) {
        let end = self.end.min(now);
        self.advance(end);
        let because = self.layout.ways[self.uplink].reverse;
        let pauses: Vec<_> = self.port.last_pauses(end).collect();
        let whole_link = pauses.len() == 8;
        for (class, (since, until, ())) in pauses {
            self.records.on_class_pause(class, whole_link, (since, until), self.uplink, because);
        }
        let tally = |limiter: &HostLimiter| (limiter.id, limiter.driver.tally(Instant::from_ps(end.max(limiter.told))));
        let name = &self.layout.ways[self.uplink].name;
        self.records.defences = self.defended.iter().map(|port| DefenceEnd::of(port, name)).collect();
        self.records.limiters = self.limiters.iter().map(tally).collect();
        let mut held = IdVec::for_each_of(&self.waiting_of, 0);
        for flow in self.port.held().filter_map(|frame| frame.flow) {
            held[flow] += 1;
        }
        (self.records, held)
    }
}

/// Octets of a flow of datagrams that has an end. What of a TCP flow has arrived, its receiver tells.
fn total_of_datagrams(flow: &FlowPlan) -> u64 {
    match flow.traffic {
        Traffic::Tcp { .. } => u64::MAX,
        _ => flow.traffic.total().map_or(u64::MAX, Bytes::get),
    }
}

/// A number for the two ends of a conversation, always the same.
fn spread(of: &crate::head::Conversation) -> usize {
    let word = u32::from_be_bytes(of.destination) ^ u32::from(of.source_port) << 16 ^ u32::from(of.destination_port);
    (word.wrapping_mul(0x9E37_79B1) >> 8) as usize
}
