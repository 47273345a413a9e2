//! TCP connections: segments forward, acknowledgements in reverse.

use super::Engine;
use super::recording::Counted;
use super::schedule::Event;
use crate::connection::Connection;
use crate::frame::{Frame, Parts, flag};
use crate::ids::{FlowId, PathId};
use crate::source::Source;
use qcnlab_units::Instant;

impl Engine {
    fn connection(&mut self, flow: FlowId) -> &mut Connection {
        match &mut self.senders.flows[flow].source {
            Source::Tcp(connection) => connection,
            _ => unreachable!("segments belong to connections"),
        }
    }

    /// A segment reaches its destination, which may acknowledge it.
    pub(super) fn segment_received(&mut self, now: Instant, flow: FlowId, frame: Frame) {
        let connection = self.connection(flow);
        let before = connection.receiver.next_expected();
        let ack = connection.receiver.on_segment(now, frame.tag());
        let (expected, last) = (connection.receiver.next_expected(), connection.segments);
        if expected == last && before != last {
            self.recording.finishes(now, flow);
            self.run_end.close_flow(now);
        }
        match ack {
            Some(number) => self.send_ack(now, flow, frame.path(), number),
            None => self.schedule_timer(flow),
        }
    }

    /// A receiver sends an acknowledgement.
    fn send_ack(&mut self, now: Instant, flow: FlowId, path: PathId, number: u32) {
        let size = self.connection(flow).ack_frame;
        let class = self.senders.flows[flow].class;
        let hop = self.network.routes.paths[path].len;
        self.recording.count(Counted::AckSent);
        let flags = flag::REVERSE | flag::ACK;
        self.send_reverse(now, Frame::new(Parts { path, tag: number, size, class, hop, flags, limited_by: 0 }));
    }

    /// An acknowledgement reaches the sender.
    pub(super) fn ack_received(&mut self, now: Instant, flow: FlowId, number: u32) {
        self.connection(flow).sender.on_ack(now, number);
        self.send_segments(now, flow);
    }

    /// A timer of a connection may have expired.
    pub(super) fn connection_timer_expired(&mut self, now: Instant, flow: FlowId) {
        let connection = self.connection(flow);
        connection.wake = Instant::NEVER;
        connection.sender.on_wake(now);
        if let Some(number) = connection.receiver.on_wake(now) {
            let path = self.senders.flows[flow].first_path;
            self.send_ack(now, flow, path, number);
        }
        self.send_segments(now, flow);
    }

    /// Queues the segments that the window of a connection admits, and has them sent.
    pub(super) fn send_segments(&mut self, now: Instant, flow: FlowId) {
        let sender = &mut self.senders.flows[flow];
        let Source::Tcp(connection) = &mut sender.source else { return };
        if now < sender.stop {
            let (recording, port) = (&mut self.recording, sender.port);
            connection.queue_segments(now, |size| recording.on_refusal(now, port, flow, size));
        }
        self.schedule_timer(flow);
        self.request_send(now, flow);
    }

    /// Keeps the pending event no later than a connection's next timer. An event that is early finds nothing due.
    fn schedule_timer(&mut self, flow: FlowId) {
        let connection = self.connection(flow);
        let next = connection.next_wake();
        if next < connection.wake {
            connection.wake = next;
            self.schedule.set(Event::TransportTimer(flow), next);
        }
    }
}
