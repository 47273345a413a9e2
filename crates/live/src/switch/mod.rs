//! Switches: all those of a network, in one event loop.
//!
//! A frame that comes over a link is told apart by its head. MAC control pauses the port of the other direction. Data
//! and CNMs go to the port that the table knows for their destination, or, for one that it does not know, where the
//! destination was last seen to send from. They are admitted by the memory of the input and the queue of the output,
//! shown to the queue's congestion point, and transmitted at the port's rate. Hosts are outside the domain: a CNM that
//! comes from one goes nowhere, and neither does a frame with another node's address as its source, since the CNMs about
//! it would go there.

mod forwarding;
mod pausing;
mod receiving;

use crate::congestion::QueueCp;
use crate::defence::{self, DefenceEnd, DefendedPort};
use crate::head::take_cn_tag_off;
use crate::inputs::Input;
use crate::layout::{Layout, mac};
use crate::port::{Port, Queued};
use crate::record::{Capture, Records};
use crate::spacing::Spaced;
use crate::view::View;
use qcnlab_capture::Direction;
use qcnlab_sim::{FlowId, NodeId, Plan, PortId, ServiceChange};
use qcnlab_units::{Bytes, Id, IdVec, Instant, Span};
use qcnlab_wire::MacAddress;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// A pause that takes effect later: when, ps, the port, the classes and for how many quanta.
type PendingPause = (u64, PortId, u8, u16);

/// All switches of a network, without their sockets.
pub(crate) struct Switches {
    layout: Arc<Layout>,
    /// For each way, the port of the switch that it leaves; `None` where it leaves a host.
    ports: IdVec<PortId, Option<Port>>,
    points: IdVec<PortId, [Option<QueueCp>; 8]>,
    /// For each way, what the switch that it leaves does for the domain.
    defended: IdVec<PortId, Option<DefendedPort>>,
    /// For each way, the memory of the switch that it comes to.
    inputs: IdVec<PortId, Option<Input>>,
    /// For each node, the time from a pause frame to its effect.
    reaction: IdVec<NodeId, u64>,
    pending: VecDeque<PendingPause>,
    learned: HashMap<(NodeId, MacAddress), PortId>,
    services: VecDeque<ServiceChange>,
    queue_every: u64,
    next_sample: u64,
    end: u64,
    controlled: u8,
    flow_controlled: IdVec<FlowId, bool>,
    signal_class: u8,
    capture: Capture,
    pub(crate) records: Records,
}

/// A frame that has to be put on a link now.
pub(crate) struct Due {
    /// The way.
    pub(crate) way: PortId,
    /// When it should have been, ps.
    pub(crate) at: u64,
    pub(crate) octets: Vec<u8>,
    /// The limiter that it left, where it left one of a host.
    pub(crate) spaced: Option<Spaced>,
}

impl Switches {
    pub(crate) fn new(
        plan: &Plan,
        layout: Arc<Layout>,
        points: IdVec<PortId, [Option<QueueCp>; 8]>,
        controlled: u8,
        signal_class: u8,
        capture: Capture,
    ) -> Switches {
        let of_switch = |node: NodeId| !layout.is_host(node);
        let ports = layout.ways.iter().map(|way| of_switch(way.from).then(|| Port::new(way.shape))).collect();
        let input = |way: &crate::layout::Way| {
            if of_switch(way.to) { Input::new(&plan.nodes[way.to]) } else { None }
        };
        let inputs = layout.ways.iter().map(input).collect();
        let defended = layout
            .ways
            .enumerate()
            .map(|(index, way)| of_switch(way.from).then(|| layout.defended_port(index)).flatten());
        let defended = defended.collect();
        let reaction = |node: &qcnlab_sim::NodePlan| node.pause.map_or(0, |pause| pause.reaction.ps());
        let mut records = Records::new(plan.record.bin.ps(), plan.flows.len());
        records.counters.frame_hops = 0;
        let mut services: Vec<ServiceChange> = plan.services.clone();
        services.sort_by_key(|change| change.at);
        Switches {
            ports,
            points,
            defended,
            inputs,
            reaction: plan.nodes.iter().map(reaction).collect(),
            pending: VecDeque::new(),
            learned: HashMap::new(),
            services: services.into(),
            queue_every: if plan.record.queue_every == Span::ZERO { u64::MAX } else { plan.record.queue_every.ps() },
            next_sample: 0,
            end: plan.end.ps(),
            controlled,
            flow_controlled: plan.flows.iter().map(|flow| flow.controlled).collect(),
            signal_class,
            capture,
            records,
            layout,
        }
    }

    /// Brings everything up to `now`: samples, changes of rates, pauses, transmissions, each at its own instant.
    pub(crate) fn advance(&mut self, now: u64) {
        let now = now.min(self.end);
        loop {
            let service = self.services.front().map_or(u64::MAX, |change| change.at.ps());
            let pause = self.pending.front().map_or(u64::MAX, |pause| pause.0);
            let at = service.min(pause).min(if self.queue_every == u64::MAX { u64::MAX } else { self.next_sample });
            if at > now {
                break;
            }
            self.advance_ports(at);
            if at == service {
                self.change_service();
            } else if at == pause {
                self.apply_pause();
            } else {
                self.sample(at);
            }
        }
        self.advance_ports(now);
        self.refresh_pauses(now);
        self.announce(now);
    }

    /// Has ports that defend a domain announce themselves, where that is due.
    fn announce(&mut self, now: u64) {
        for way in self.defended.ids() {
            let Some(announced) = self.defended[way].as_mut().and_then(|port| port.announcement_due(now)) else {
                continue;
            };
            let of = &self.layout.ways[way];
            let octets = defence::frame_of(announced, mac(of.from), &of.name, &self.layout.systems[of.from]);
            let Some(port) = &mut self.ports[way] else { continue };
            let _ = port.enqueue(now, Queued { octets, class: 7, came_as: 7, ..Queued::default() });
        }
    }

    fn change_service(&mut self) {
        let Some(change) = self.services.pop_front() else { return };
        if let Some(port) = &mut self.ports[change.port] {
            port.change_rate(change.at.ps(), change.rate);
        }
    }

    fn sample(&mut self, at: u64) {
        let rows = &mut self.records.queues;
        for (index, way) in self.layout.ways.enumerate().filter(|(_, way)| way.recorded) {
            let Some(port) = &self.ports[index] else { continue };
            rows.time.push(at);
            rows.port.push(index.number());
            rows.bytes.push(port.all_queued());
            let _ = way;
        }
        self.next_sample = at.saturating_add(self.queue_every);
    }

    fn advance_ports(&mut self, now: u64) {
        let Switches { ports, points, inputs, layout, records, .. } = self;
        let mut freed: Vec<(PortId, u8)> = Vec::new();
        for (index, port) in ports.ids().zip(ports.iter_mut()) {
            let Some(port) = port else { continue };
            let to_host = layout.is_host(layout.ways[index].to);
            port.advance(now, |departed| {
                let frame = departed.frame;
                if let Some(point) = &mut points[index][usize::from(frame.class & 7)] {
                    point.on_departure(Instant::from_ps(departed.at), Bytes::new(departed.left));
                }
                if let Some(input) = frame.input {
                    if let Some(input) = &mut inputs[input] {
                        input.release(frame.came_as, frame.len());
                    }
                    freed.push((input, frame.came_as));
                }
                if let (true, Some(flow)) = (to_host, frame.flow) {
                    records.on_last_link(departed.at, flow, frame.len());
                }
                records.counters.frame_hops += 1;
            });
        }
        for (input, class) in freed {
            self.send_xon_if_due(now, input, class);
        }
    }

    /// Takes a frame that has to be put on a link by `now`.
    pub(crate) fn take_due(&mut self, now: u64) -> Option<Due> {
        for (index, port) in self.ports.ids().zip(self.ports.iter_mut()) {
            let Some((at, frame)) = port.as_mut().and_then(|port| port.take_arrived(now)) else { continue };
            let mut due = Due { way: index, at, octets: frame.octets, spaced: None };
            if self.defended[index].as_ref().is_some_and(|port| port.untags(frame.class)) && !frame.is_signal {
                take_cn_tag_off(&mut due.octets);
            }
            // When its last octet left the port.
            let left = at.saturating_sub(self.layout.ways[index].shape.delay);
            self.records.capture(left, due.way, Direction::Sent, &due.octets, self.capture);
            return Some(due);
        }
        None
    }

    /// When something has to be done next, ps.
    pub(crate) fn next_deadline(&self) -> u64 {
        let ports = self.ports.iter().flatten().map(Port::next_deadline).min().unwrap_or(u64::MAX);
        let service = self.services.front().map_or(u64::MAX, |change| change.at.ps());
        let pause = self.pending.front().map_or(u64::MAX, |pause| pause.0);
        let refreshes = self.inputs.iter().flatten().filter_map(|input| Some(input.pause.as_ref()?.next_refresh()));
        let sample = if self.queue_every == u64::MAX { u64::MAX } else { self.next_sample };
        let announcements = self.defended.iter().flatten().map(DefendedPort::next_deadline).min().unwrap_or(u64::MAX);
        ports.min(service).min(pause).min(announcements).min(refreshes.min().unwrap_or(u64::MAX)).min(sample)
    }

    /// Octets queued at a port, pauses that have not taken effect, and addresses learned.
    #[cfg(test)]
    pub(crate) fn held(&self, port: PortId) -> (u64, usize, usize) {
        let queued = self.ports[port].as_ref().map_or(0, Port::all_queued);
        (queued, self.pending.len(), self.learned.len())
    }

    /// Shows what the ports of all switches hold and have done, and keeps no rows.
    pub(crate) fn show(&mut self, now: u64, view: &View) {
        view.at.set(now.max(1));
        for ((port, points), shown) in self.ports.iter().zip(&self.points).zip(&view.ports) {
            let Some(port) = port else { continue };
            shown.queue.set(port.all_queued());
            shown.sent.set(port.sent);
            shown.dropped.set(port.dropped_frames);
            shown.rate.set(port.rate().get());
            shown.signals.set(points.iter().flatten().map(|point| point.tally.sent).sum());
        }
        self.records.forget_rows();
    }

    /// Closes the records at the end of the run, or `now` if it was stopped before.
    pub(crate) fn finish(mut self, now: u64) -> (Records, IdVec<FlowId, u64>) {
        let end = self.end.min(now);
        self.advance(end);
        for (index, port) in self.ports.enumerate() {
            let Some(port) = port else { continue };
            let reverse = self.layout.ways[index].reverse;
            let pausing = self.inputs[reverse].as_ref().and_then(|input| input.pause.as_ref());
            let pauses: Vec<_> = port.last_pauses(end).collect();
            let whole_link = pausing.is_none() && pauses.len() == 8;
            for (class, (since, until, ())) in pauses {
                self.records.on_class_pause(class, whole_link, (since, until), index, reverse);
            }
        }
        let defended = self.defended.iter().zip(&self.layout.ways);
        self.records.defences =
            defended.filter_map(|(port, way)| Some(DefenceEnd::of(port.as_ref()?, &way.name))).collect();
        self.records.points = self.points.iter().flatten().flatten().map(|point| point.tally).collect();
        let mut held = IdVec::for_each_of(&self.flow_controlled, 0);
        for frame in self.ports.iter().flatten().flat_map(Port::held) {
            if let Some(flow) = frame.flow {
                held[flow] += 1;
            }
        }
        (self.records, held)
    }
}
