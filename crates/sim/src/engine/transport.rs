//! TCP connections: segments ahead, acknowledgements back.

use super::Engine;
use crate::connection::Connection;
use crate::frame::{Frame, Parts, flag};
use crate::source::Source;
use qcnlab_units::Instant;

impl Engine {
    fn connection(&mut self, flow: u32) -> &mut Connection {
        match &mut self.senders[flow as usize].source {
            Source::Tcp(connection) => connection,
            _ => unreachable!("segments belong to connections"),
        }
    }

    /// A segment reaches its destination, which may acknowledge.
    pub(super) fn segment_received(&mut self, now: Instant, flow: u32, frame: Frame) {
        let connection = self.connection(flow);
        let before = connection.receiver.next_expected();
        let ack = connection.receiver.on_segment(now, frame.tag());
        let (expected, last) = (connection.receiver.next_expected(), connection.segments);
        if expected == last && before != last {
            self.tallies[flow as usize].finished = now.ps();
        }
        match ack {
            Some(number) => self.acknowledge(now, flow, frame.path(), number),
            None => self.follow_timers(flow),
        }
    }

    /// A receiver sends an acknowledgement back.
    fn acknowledge(&mut self, now: Instant, flow: u32, path: u32, number: u32) {
        let size = self.connection(flow).ack_frame;
        let class = self.senders[flow as usize].class;
        let hop = self.paths[path as usize].len;
        self.counters.acks_sent += 1;
        let flags = flag::BACK | flag::ACK;
        self.post(now, Frame::new(Parts { path, tag: number, size, class, hop, flags, limited_by: 0 }));
    }

    /// An acknowledgement reaches the sender.
    pub(super) fn acknowledged(&mut self, now: Instant, flow: u32, number: u32) {
        self.connection(flow).sender.on_ack(now, number);
        self.pump(now, flow);
    }

    /// A timer of a connection may have run off.
    pub(super) fn transport_wakes(&mut self, now: Instant, flow: u32) {
        let connection = self.connection(flow);
        connection.wake = Instant::NEVER;
        connection.sender.on_wake(now);
        if let Some(number) = connection.receiver.on_wake(now) {
            let path = self.senders[flow as usize].first_path;
            self.acknowledge(now, flow, path, number);
        }
        self.pump(now, flow);
    }

    /// Lets a connection hand over what its window allows.
    pub(super) fn pump(&mut self, now: Instant, flow: u32) {
        let sender = &mut self.senders[flow as usize];
        let Source::Tcp(connection) = &mut sender.source else { return };
        if now < sender.stop {
            let (tally, recorder, port) = (&mut self.tallies[flow as usize], &mut self.recorder, sender.port);
            connection.pump(now, |size| {
                tally.refused += 1;
                recorder.on_drop(now, port, flow, size);
            });
        }
        self.follow_timers(flow);
        self.wants(now, flow);
    }

    /// Keeps the pending event no later than a connection's next timer. One that is early finds nothing due.
    fn follow_timers(&mut self, flow: u32) {
        let connection = self.connection(flow);
        let next = connection.next_wake();
        if next < connection.wake {
            connection.wake = next;
            self.wheel.set(self.entities.transport + flow, next.ps());
        }
    }
}
