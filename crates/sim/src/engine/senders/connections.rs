//! TCP connections: what segments and acknowledgements do at both ends.

use super::Senders;
use crate::connection::Connection;
use crate::engine::effects::{NewAck, Received, Refusal};
use crate::engine::schedule::{Event, Schedule};
use crate::frame::Frame;
use crate::ids::{FlowId, PathId};
use crate::source::Source;
use qcnlab_units::Instant;

impl Senders {
    fn connection(&mut self, flow: FlowId) -> &mut Connection {
        match &mut self.flows[flow].source {
            Source::Tcp(connection) => connection,
            _ => unreachable!("segments belong to connections"),
        }
    }

    fn ack(&mut self, flow: FlowId, path: PathId, number: u32) -> NewAck {
        let class = self.flows[flow].class;
        NewAck { path, tag: number, size: self.connection(flow).ack_frame, class }
    }

    /// A segment reaches its destination.
    pub(in crate::engine) fn segment_received(
        &mut self,
        now: Instant,
        flow: FlowId,
        segment: &Frame,
        schedule: &mut Schedule,
    ) -> Received {
        let connection = self.connection(flow);
        let before = connection.receiver.next_expected();
        let ack = connection.receiver.on_segment(now, segment.tag());
        let (expected, last) = (connection.receiver.next_expected(), connection.segments);
        let completes = expected == last && before != last;
        if completes {
            connection.completed_by(segment.tag());
        }
        if ack.is_none() {
            self.schedule_timer(flow, schedule);
        }
        Received { ack: ack.map(|number| self.ack(flow, segment.path(), number)), completes }
    }

    /// An acknowledgement reaches the sender of segments: returns whether all is acknowledged with it.
    pub(in crate::engine) fn segments_acknowledged(&mut self, now: Instant, flow: FlowId, number: u32) -> bool {
        let connection = self.connection(flow);
        let before = connection.sender.finished();
        connection.sender.on_ack(now, number);
        let completes = connection.sender.finished() && !before;
        if completes {
            connection.acknowledged = now;
        }
        completes
    }

    /// A timer of a connection may have expired: returns the acknowledgement that is due then, if one is.
    pub(super) fn connection_timer_expired(&mut self, now: Instant, flow: FlowId) -> Option<NewAck> {
        let connection = self.connection(flow);
        connection.wake = Instant::NEVER;
        connection.sender.on_wake(now);
        let number = connection.receiver.on_wake(now)?;
        Some(self.ack(flow, self.flows[flow].first_path, number))
    }

    /// Queues the segments that the window of a connection admits.
    #[inline(never)]
    pub(super) fn queue_segments(
        &mut self,
        now: Instant,
        flow: FlowId,
        schedule: &mut Schedule,
        mut refused: impl FnMut(Refusal),
    ) {
        let sender = &mut self.flows[flow];
        let Source::Tcp(connection) = &mut sender.source else { return };
        if now < sender.stop {
            let port = sender.port;
            connection.queue_segments(now, |octets| refused(Refusal { at: now, port, flow, octets }));
        }
        self.schedule_timer(flow, schedule);
    }

    /// Keeps the pending event no later than a connection's next timer. An event that is early finds nothing due.
    fn schedule_timer(&mut self, flow: FlowId, schedule: &mut Schedule) {
        let connection = self.connection(flow);
        let next = connection.next_wake();
        if next < connection.wake {
            connection.wake = next;
            schedule.set(Event::TransportTimer(flow), next);
        }
    }
}
