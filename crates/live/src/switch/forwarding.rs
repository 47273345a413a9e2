//! A frame's way through a switch: the port that leads to its destination, the memory of its input, the queue of its
//! output, and the congestion point there, whose signal goes back to where the frame came from.

use super::Switches;
use crate::head::{Head, set_priority};
use crate::layout::VLAN;
use crate::port::Queued;
use crate::signals;
use qcnlab_schemes::{Arrival, CpAction, Queue, Signal};
use qcnlab_sim::{FlowId, NodeId, PortId};
use qcnlab_units::{Bytes, Id, Instant};
use qcnlab_wire::{EtherType, MacAddress};

/// Source addresses that a network learns at most.
const MOST_LEARNED: usize = 4096;

impl Switches {
    /// Forwards a frame to the port that leads to its destination.
    pub(super) fn forward(&mut self, now: u64, way: PortId, mut head: Head, mut octets: Vec<u8>) {
        let came_as = head.priority();
        if let Some(port) = &self.defended[self.layout.ways[way].reverse] {
            let inside = port.priority_inside(came_as);
            if inside != came_as && !signals::is_signal(head.ether_type) {
                set_priority(&mut octets, &head, inside, VLAN);
                head = Head::read(&octets).unwrap_or(head);
            }
        }
        let node = self.layout.ways[way].to;
        self.learn(node, head.source, self.layout.ways[way].reverse);
        let known = self.layout.table.get(&(node, head.destination)).or(self.learned.get(&(node, head.destination)));
        match known.copied() {
            // Back over the link that it came from: it is where it belongs already.
            Some(out) if out == self.layout.ways[way].reverse => {}
            Some(out) => self.enqueue(now, out, (way, came_as), head, octets),
            None => {
                self.records.refused.unknown_destination += 1;
                // A group address goes to all hosts of this switch; a single one that nobody knows, nowhere.
                if head.destination.0[0] & 1 == 1 {
                    let others: Vec<PortId> = self
                        .layout
                        .ways
                        .enumerate()
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

    fn learn(&mut self, node: NodeId, source: MacAddress, port: PortId) {
        let single = source.0[0] & 1 == 0;
        let static_entry = self.layout.table.contains_key(&(node, source));
        if single && !static_entry && (self.learned.len() < MOST_LEARNED || self.learned.contains_key(&(node, source)))
        {
            self.learned.insert((node, source), port);
        }
    }

    /// Queues a frame at a port: memory of the input, room of the queue, then the congestion point.
    fn enqueue(&mut self, now: u64, out: PortId, (way, came_as): (PortId, u8), head: Head, octets: Vec<u8>) {
        let conversation = head.conversation(&octets);
        let flow = conversation.and_then(|of| self.layout.flow_of_frame(head.source, &of));
        let acknowledges = conversation.and_then(|of| self.layout.acknowledged_flow(&of)).is_some();
        let (class, size) = (head.priority(), octets.len() as u64);
        let input = Some(way).filter(|way| self.inputs[*way].is_some());
        if let Some(input) = input
            && let Some(memory) = &mut self.inputs[input]
            && !memory.admit(came_as, size)
        {
            return self.dropped(now, out, flow, acknowledges, head.ether_type, size);
        }
        let is_signal = signals::is_signal(head.ether_type);
        let queued = Queued { octets, class, came_as, is_signal, flow, input, arrived: now, spaced: None };
        let Some(port) = &mut self.ports[out] else { return };
        let back = port.enqueue(now, queued).err();
        let (len, capacity, rate) = (port.queue_len(class), port.capacity(), port.rate());
        let admitted = back.is_none();
        if let Some(frame) = &back {
            if let Some(memory) = input.and_then(|input| self.inputs[input].as_mut()) {
                memory.release(came_as, size);
            }
            let _ = frame;
            self.dropped(now, out, flow, acknowledges, head.ether_type, size);
        } else if let Some(input) = input {
            self.check_pause(now, input, came_as, len);
        }
        let controlled = match flow {
            // What got another priority at an edge is no longer under congestion control.
            Some(flow) => self.flow_controlled[flow] && self.layout.flows[flow].class == class,
            None => !acknowledges && self.controlled & 1 << class != 0,
        };
        if let Some(point) = &mut self.points[out][usize::from(class & 7)]
            && !is_signal
        {
            let arrival = Arrival {
                flow: qcnlab_schemes::FlowId(flow.unwrap_or(FlowId::MAX).number()),
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

    fn dropped(&mut self, now: u64, out: PortId, flow: Option<FlowId>, acknowledges: bool, kind: EtherType, size: u64) {
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
        out: PortId,
        flow: Option<FlowId>,
        head: &Head,
        signal: Signal,
        back: Option<Queued>,
    ) {
        let node = self.layout.ways[out].from;
        let made = match &back {
            Some(frame) => signals::frame_of(signal, node, self.signal_class, head, &frame.octets),
            None => {
                let port = self.ports[out].as_ref();
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
        let Some(port) = &mut self.ports[way_back] else { return };
        let queued = Queued { octets, class: self.signal_class, is_signal: true, arrived: now, ..Queued::default() };
        if port.enqueue(now, queued).is_err() {
            self.records.counters.messages_lost += 1;
        }
    }
}
