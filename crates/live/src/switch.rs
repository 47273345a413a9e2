//! Switches: all those of a network, in one event loop.
//!
//! A frame that comes over a link is told apart by its head. MAC control pauses the port of the other direction. Data
//! and CNMs go to the port that the table knows for their destination, or, for one that it does not know, where the
//! destination was last seen to send from. They are admitted by the memory of the input and the queue of the output,
//! shown to the queue's congestion point, and transmitted at the port's rate. Hosts are outside the domain: a CNM that
//! comes from one goes nowhere, and neither does a frame with another node's address as its source, since the CNMs about
//! it would go there.

use crate::congestion::QueueCp;
use crate::defence::{self, DefenceEnd, DefendedPort};
use crate::head::{Head, set_priority, take_cn_tag_off, whole};
use crate::inputs::Input;
use crate::layout::{Layout, VLAN, mac};
use crate::port::{Port, Queued};
use crate::record::Records;
use crate::signals;
use crate::spacing::Spaced;
use crate::sys::socket::Received;
use crate::view::View;
use qcnlab_capture::Direction;
use qcnlab_schemes::driver::PauseScope;
use qcnlab_schemes::{Arrival, CpAction, FlowId, Queue, Signal};
use qcnlab_sim::{Plan, ServiceChange};
use qcnlab_units::{Bytes, Instant, Span};
use qcnlab_wire::{Codec, EtherType, Frame, MacAddress, MacControl, Pause, Payload, Pfc, Quanta};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Source addresses that a network learns at most.
const MOST_LEARNED: usize = 4096;

/// A pause that takes effect later: when, ps, the port, the classes and for how many quanta.
type PendingPause = (u64, u32, u8, u16);

/// All switches of a network, without their sockets.
pub(crate) struct Switches {
    layout: Arc<Layout>,
    /// For each way, the port of the switch that it leaves; `None` where it leaves a host.
    ports: Vec<Option<Port>>,
    points: Vec<[Option<QueueCp>; 8]>,
    /// For each way, what the switch that it leaves does for the domain.
    defended: Vec<Option<DefendedPort>>,
    /// For each way, the memory of the switch that it comes to.
    inputs: Vec<Option<Input>>,
    /// For each node, the time from a pause frame to its effect.
    reaction: Vec<u64>,
    pending: VecDeque<PendingPause>,
    learned: HashMap<(u32, MacAddress), u32>,
    services: VecDeque<ServiceChange>,
    queue_every: u64,
    next_sample: u64,
    end: u64,
    controlled: u8,
    flow_controlled: Vec<bool>,
    signal_class: u8,
    capture: Capture,
    pub(crate) records: Records,
}

/// What is kept of frames for a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capture {
    /// Octets of a frame; 0 to capture nothing.
    pub(crate) snap: usize,
    /// Over how many threads the room is shared.
    pub(crate) share: usize,
}

/// A frame that has to be put on a link now.
pub(crate) struct Due {
    /// The way.
    pub(crate) way: u32,
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
        points: Vec<[Option<QueueCp>; 8]>,
        controlled: u8,
        signal_class: u8,
        capture: Capture,
    ) -> Switches {
        let of_switch = |node: u32| !layout.is_host(node);
        let ports = layout.ways.iter().map(|way| of_switch(way.from).then(|| Port::new(way.shape))).collect();
        let input = |way: &crate::layout::Way| {
            if of_switch(way.to) { Input::new(&plan.nodes[way.to as usize]) } else { None }
        };
        let inputs = layout.ways.iter().map(input).collect();
        let defended = (0u32..)
            .zip(&layout.ways)
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
        for way in 0..self.defended.len() {
            let Some(announced) = self.defended[way].as_mut().and_then(|port| port.announcement_due(now)) else {
                continue;
            };
            let of = &self.layout.ways[way];
            let octets = defence::frame_of(announced, mac(of.from), &of.name, &self.layout.systems[of.from as usize]);
            let Some(port) = &mut self.ports[way] else { continue };
            let _ = port.enqueue(now, Queued { octets, class: 7, came_as: 7, ..Queued::default() });
        }
    }

    /// A neighbour announced itself over a way.
    fn hear_announcement(&mut self, now: u64, way: u32, octets: &[u8]) {
        let reverse = self.layout.ways[way as usize].reverse;
        let Some(port) = &mut self.defended[reverse as usize] else { return };
        match defence::read(octets) {
            Ok((announced, seconds)) => port.hear(now, announced, seconds),
            Err(_) => self.records.refused.unreadable_announcements += 1,
        }
        self.announce(now);
    }

    fn change_service(&mut self) {
        let Some(change) = self.services.pop_front() else { return };
        if let Some(port) = &mut self.ports[change.port as usize] {
            port.change_rate(change.at.ps(), change.rate);
        }
    }

    fn sample(&mut self, at: u64) {
        let rows = &mut self.records.queues;
        for (index, way) in (0u32..).zip(&self.layout.ways).filter(|(_, way)| way.recorded) {
            let Some(port) = &self.ports[index as usize] else { continue };
            rows.time.push(at);
            rows.port.push(index);
            rows.bytes.push(port.all_queued());
            let _ = way;
        }
        self.next_sample = at.saturating_add(self.queue_every);
    }

    fn advance_ports(&mut self, now: u64) {
        let Switches { ports, points, inputs, layout, records, .. } = self;
        let mut freed: Vec<(u16, u8)> = Vec::new();
        for (index, port) in ports.iter_mut().enumerate() {
            let Some(port) = port else { continue };
            let to_host = layout.is_host(layout.ways[index].to);
            port.advance(now, |departed| {
                let frame = departed.frame;
                if let Some(point) = &mut points[index][usize::from(frame.class & 7)] {
                    point.on_departure(Instant::from_ps(departed.at), Bytes::new(departed.left));
                }
                if let Some(input) = frame.input {
                    if let Some(input) = &mut inputs[usize::from(input)] {
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
            self.send_xon_if_due(now, u32::from(input), class);
        }
    }

    /// Takes a frame that has to be put on a link by `now`.
    pub(crate) fn take_due(&mut self, now: u64) -> Option<Due> {
        for (index, port) in self.ports.iter_mut().enumerate() {
            let Some((at, frame)) = port.as_mut().and_then(|port| port.take_arrived(now)) else { continue };
            let mut due = Due { way: index as u32, at, octets: frame.octets, spaced: None };
            if self.defended[index].as_ref().is_some_and(|port| port.untags(frame.class)) && !frame.is_signal {
                take_cn_tag_off(&mut due.octets);
            }
            if self.capture.snap > 0 {
                let Capture { snap, share } = self.capture;
                // When its last octet left the port.
                let left = at.saturating_sub(self.layout.ways[index].shape.delay);
                self.records.capture(left, due.way, Direction::Sent, &due.octets, snap, share);
            }
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

    /// A frame came over a way at `now`, which everything is up to.
    pub(crate) fn receive(&mut self, now: u64, way: u32, received: Received<'_>) {
        if received.cut {
            self.records.refused.oversize += 1;
            return;
        }
        let octets = whole(received.octets, received.tag);
        if octets.len() as u64 > u64::from(self.layout.mtu) + 14 {
            self.records.refused.oversize += 1;
            return;
        }
        let Some(head) = Head::read(&octets) else {
            self.records.refused.malformed += 1;
            return;
        };
        if self.capture.snap > 0 && self.layout.is_host(self.layout.ways[way as usize].from) {
            let Capture { snap, share } = self.capture;
            let port = self.layout.ways[way as usize].reverse;
            self.records.capture(now, port, Direction::Received, &octets, snap, share);
        }
        let from_host = self.layout.is_host(self.layout.ways[way as usize].from);
        match head.ether_type {
            EtherType::MAC_CONTROL => self.receive_control(now, way, &octets),
            EtherType::LLDP => self.hear_announcement(now, way, &octets),
            kind if signals::is_signal(kind) && from_host => self.records.refused.foreign_signals += 1,
            // Its CNMs would go to whom it claims to be.
            _ if from_host && self.layout.is_of_another(head.source, self.layout.ways[way as usize].from) => {
                self.records.refused.false_sources += 1;
            }
            _ => self.forward(now, way, head, octets),
        }
    }

    fn receive_control(&mut self, now: u64, way: u32, octets: &[u8]) {
        let reverse = self.layout.ways[way as usize].reverse;
        let at = now + self.reaction[self.layout.ways[way as usize].from as usize];
        let Ok((Frame { payload: Payload::MacControl(control), .. }, _)) = Frame::decode(octets) else {
            self.records.refused.malformed += 1;
            return;
        };
        match control {
            MacControl::Pause(pause) => self.pend(at, reverse, u8::MAX, pause.time.0),
            MacControl::Pfc(pfc) => {
                for class in (0..8).filter(|class| pfc.enabled & 1 << class != 0) {
                    self.pend(at, reverse, 1 << class, pfc.times[usize::from(class as u8)].0);
                }
            }
            MacControl::Other { .. } => self.records.refused.odd_control += 1,
        }
        self.advance(now);
    }

    /// Has a pause take effect at `at`. Pauses of one port that wait are bounded: the oldest takes effect at once.
    fn pend(&mut self, at: u64, port: u32, classes: u8, quanta: u16) {
        const MOST: usize = 1024;
        if self.pending.len() >= MOST {
            self.apply_pause();
        }
        let position = self.pending.partition_point(|waiting| waiting.0 <= at);
        self.pending.insert(position, (at, port, classes, quanta));
    }

    fn apply_pause(&mut self) {
        let Some((at, index, classes, quanta)) = self.pending.pop_front() else { return };
        let Switches { ports, records, layout, .. } = self;
        let Some(port) = &mut ports[index as usize] else { return };
        let whole_link = classes == u8::MAX;
        port.pause(at, classes, quanta, |class, (since, until, ())| {
            // A pause of the whole link is one row.
            if !whole_link || class == 0 {
                let class = if whole_link { None } else { Some(class) };
                records.on_pause(since, until, index, class, layout.ways[index as usize].reverse);
            }
        });
    }

    /// Forwards a frame to the port that leads to its destination.
    fn forward(&mut self, now: u64, way: u32, mut head: Head, mut octets: Vec<u8>) {
        let came_as = head.priority();
        if let Some(port) = &self.defended[self.layout.ways[way as usize].reverse as usize] {
            let inside = port.priority_inside(came_as);
            if inside != came_as && !signals::is_signal(head.ether_type) {
                set_priority(&mut octets, &head, inside, VLAN);
                head = Head::read(&octets).unwrap_or(head);
            }
        }
        let node = self.layout.ways[way as usize].to;
        self.learn(node, head.source, self.layout.ways[way as usize].reverse);
        let known = self.layout.table.get(&(node, head.destination)).or(self.learned.get(&(node, head.destination)));
        match known.copied() {
            // Back over the link that it came from: it is where it belongs already.
            Some(out) if out == self.layout.ways[way as usize].reverse => {}
            Some(out) => self.enqueue(now, out, (way, came_as), head, octets),
            None => {
                self.records.refused.unknown_destination += 1;
                // A group address goes to all hosts of this switch; a single one that nobody knows, nowhere.
                if head.destination.0[0] & 1 == 1 {
                    let others: Vec<u32> = (0u32..)
                        .zip(&self.layout.ways)
                        .filter(|(_, other)| other.from == node && other.reverse != way)
                        .map(|(index, _)| index)
                        .collect();
                    for out in others {
                        self.enqueue(now, out, (way, came_as), head, octets.clone());
                    }
                }
            }
        }
    }

    fn learn(&mut self, node: u32, source: MacAddress, port: u32) {
        let single = source.0[0] & 1 == 0;
        let static_entry = self.layout.table.contains_key(&(node, source));
        if single && !static_entry && (self.learned.len() < MOST_LEARNED || self.learned.contains_key(&(node, source)))
        {
            self.learned.insert((node, source), port);
        }
    }

    /// Queues a frame at a port: memory of the input, room of the queue, then the congestion point.
    fn enqueue(&mut self, now: u64, out: u32, (way, came_as): (u32, u8), head: Head, octets: Vec<u8>) {
        let conversation = head.conversation(&octets);
        let flow = conversation.and_then(|of| self.layout.flow_of_frame(head.source, &of));
        let acknowledges = conversation.and_then(|of| self.layout.acknowledged_flow(&of)).is_some();
        let (class, size) = (head.priority(), octets.len() as u64);
        let input = Some(way).filter(|way| self.inputs[*way as usize].is_some());
        if let Some(input) = input
            && let Some(memory) = &mut self.inputs[input as usize]
            && !memory.admit(came_as, size)
        {
            return self.dropped(now, out, flow, acknowledges, head.ether_type, size);
        }
        let is_signal = signals::is_signal(head.ether_type);
        let queued = Queued {
            octets,
            class,
            came_as,
            is_signal,
            flow,
            input: input.map(|input| input as u16),
            arrived: now,
            spaced: None,
        };
        let Some(port) = &mut self.ports[out as usize] else { return };
        let back = port.enqueue(now, queued).err();
        let (len, capacity, rate) = (port.queue_len(class), port.capacity(), port.rate());
        let admitted = back.is_none();
        if let Some(frame) = &back {
            if let Some(memory) = input.and_then(|input| self.inputs[input as usize].as_mut()) {
                memory.release(came_as, size);
            }
            let _ = frame;
            self.dropped(now, out, flow, acknowledges, head.ether_type, size);
        } else if let Some(input) = input {
            self.check_pause(now, input, came_as, len);
        }
        let controlled = match flow {
            // What got another priority at an edge is no longer under congestion control.
            Some(flow) => self.flow_controlled[flow as usize] && self.layout.flows[flow as usize].class == class,
            None => !acknowledges && self.controlled & 1 << class != 0,
        };
        if let Some(point) = &mut self.points[out as usize][usize::from(class & 7)]
            && !is_signal
        {
            let arrival = Arrival {
                flow: FlowId(flow.unwrap_or(u32::MAX)),
                size: Bytes::new(size),
                admitted,
                controlled,
                cn_tagged: head.cn_tag.is_some(),
                limited_by: None,
                probe: false,
                mark: 0,
            };
            let queue = Queue { len: Bytes::new(len), capacity, rate };
            if let CpAction::Send(signal) = point.on_arrival(Instant::from_ps(now), &arrival, queue) {
                self.send_signal(now, out, flow, &head, signal, back);
            }
        }
    }

    fn dropped(&mut self, now: u64, out: u32, flow: Option<u32>, acknowledges: bool, kind: EtherType, size: u64) {
        if let Some(flow) = flow {
            self.records.on_drop(now, out, flow, size);
        } else if acknowledges {
            self.records.counters.acks_lost += 1;
        } else if signals::is_signal(kind) {
            self.records.counters.messages_lost += 1;
        }
    }

    /// Sends a signal about the frame that was just queued at a port, or that came back from it.
    fn send_signal(
        &mut self,
        now: u64,
        out: u32,
        flow: Option<u32>,
        head: &Head,
        signal: Signal,
        back: Option<Queued>,
    ) {
        let node = self.layout.ways[out as usize].from;
        let made = match &back {
            Some(frame) => signals::frame_of(signal, node, self.signal_class, head, &frame.octets),
            None => {
                let port = self.ports[out as usize].as_ref();
                let newest = port.and_then(|port| port.newest(head.priority()));
                newest.and_then(|frame| signals::frame_of(signal, node, self.signal_class, head, &frame.octets))
            }
        };
        let Some((octets, carried)) = made else { return };
        if let Some(flow) = flow {
            self.records.on_message(now, out, flow, carried);
        }
        let way_back = self.layout.table.get(&(node, head.source)).or(self.learned.get(&(node, head.source)));
        let Some(way_back) = way_back.copied() else { return };
        let Some(port) = &mut self.ports[way_back as usize] else { return };
        let queued = Queued { octets, class: self.signal_class, is_signal: true, arrived: now, ..Queued::default() };
        if port.enqueue(now, queued).is_err() {
            self.records.counters.messages_lost += 1;
        }
    }

    /// Pauses the link that a frame came over, if that is due: `queued` octets are in its output queue now.
    fn check_pause(&mut self, now: u64, input: u32, class: u8, queued: u64) {
        let reverse = self.layout.ways[input as usize].reverse;
        let (Some(memory), Some(port)) = (&self.inputs[input as usize], &self.ports[reverse as usize]) else { return };
        let Some(pause) = &memory.pause else { return };
        let by_threshold =
            pause.threshold_reached(Instant::from_ps(now), class, queued, |quanta| port.quanta_ps(quanta));
        if let Some(group) = by_threshold.or_else(|| memory.xoff_due(class)) {
            self.send_xoff(now, input, group);
        }
    }

    fn send_xoff(&mut self, now: u64, input: u32, group: u8) {
        let reverse = self.layout.ways[input as usize].reverse;
        let Some(port) = &self.ports[reverse as usize] else { return };
        let Some(pause) = self.inputs[input as usize].as_mut().and_then(|memory| memory.pause.as_mut()) else { return };
        let quanta = pause.quanta();
        pause.on_xoff(Instant::from_ps(now), group, port.quanta_ps(quanta));
        let (classes, scope) = (pause.classes(group), pause.plan.scope);
        self.send_pause_frame(now, reverse, classes, scope, quanta);
    }

    fn send_xon_if_due(&mut self, now: u64, input: u32, class: u8) {
        let Some(group) = self.inputs[input as usize].as_ref().and_then(|memory| memory.xon_due(class)) else { return };
        let reverse = self.layout.ways[input as usize].reverse;
        let Some(pause) = self.inputs[input as usize].as_mut().and_then(|memory| memory.pause.as_mut()) else { return };
        pause.on_xon(Instant::from_ps(now), group);
        let (classes, scope) = (pause.classes(group), pause.plan.scope);
        self.send_pause_frame(now, reverse, classes, scope, 0);
    }

    fn refresh_pauses(&mut self, now: u64) {
        for input in 0..self.inputs.len() {
            let due = |group: u8| {
                let pause = self.inputs[input].as_ref().and_then(|memory| memory.pause.as_ref());
                pause.is_some_and(|pause| pause.refresh_due(Instant::from_ps(now), group))
            };
            let groups: Vec<u8> = (0..8).filter(|group| due(*group)).collect();
            for group in groups {
                self.send_xoff(now, input as u32, group);
            }
        }
    }

    fn send_pause_frame(&mut self, now: u64, port: u32, classes: u8, scope: PauseScope, quanta: u16) {
        let control = match scope {
            PauseScope::Link => MacControl::Pause(Pause { time: Quanta(quanta) }),
            PauseScope::Classes(_) => MacControl::Pfc(Pfc::new(classes, Quanta(quanta))),
        };
        let source = mac(self.layout.ways[port as usize].from);
        let frame = Frame::new(MacAddress::MAC_CONTROL, source, Payload::MacControl(control));
        let mut room = [0; 64];
        let Ok(written) = frame.encode_padded(&mut room) else { return };
        let Some(port) = &mut self.ports[port as usize] else { return };
        port.enqueue_pause(now, Queued { octets: room[..written].to_vec(), class: 7, ..Queued::default() });
        self.records.counters.pause_frames += 1;
    }

    /// Octets queued at a port, pauses that have not taken effect, and addresses learned.
    #[cfg(test)]
    pub(crate) fn held(&self, port: u32) -> (u64, usize, usize) {
        let queued = self.ports[port as usize].as_ref().map_or(0, Port::all_queued);
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
    pub(crate) fn finish(mut self, now: u64) -> (Records, Vec<u64>) {
        let end = self.end.min(now);
        self.advance(end);
        for (index, port) in (0u32..).zip(&self.ports) {
            let Some(port) = port else { continue };
            let reverse = self.layout.ways[index as usize].reverse;
            let pausing = self.inputs[reverse as usize].as_ref().and_then(|input| input.pause.as_ref());
            let pauses: Vec<_> = port.last_pauses(end).collect();
            let whole_link = pausing.is_none() && pauses.len() == 8;
            for (class, (since, until, ())) in pauses {
                if !whole_link || class == 0 {
                    let class = if whole_link { None } else { Some(class) };
                    self.records.on_pause(since, until, index, class, reverse);
                }
            }
        }
        let defended = self.defended.iter().zip(&self.layout.ways);
        self.records.defences =
            defended.filter_map(|(port, way)| Some(DefenceEnd::of(port.as_ref()?, &way.name))).collect();
        self.records.points = self.points.iter().flatten().flatten().map(|point| point.tally).collect();
        let mut held = vec![0; self.flow_controlled.len()];
        for frame in self.ports.iter().flatten().flat_map(Port::held) {
            if let Some(flow) = frame.flow {
                held[flow as usize] += 1;
            }
        }
        (self.records, held)
    }
}
