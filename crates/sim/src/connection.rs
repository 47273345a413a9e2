//! A TCP connection between two hosts: sender, receiver, and the segments that wait at the rate limiter.

use crate::frame::Payload;
use crate::plan::FlowPlan;
use crate::tcp::{self, Segment, TcpReceiver, TcpSender};
use qcnlab_units::{Bytes, Instant};
use std::collections::{HashMap, VecDeque};

/// Both ends of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) sender: TcpSender,
    pub(crate) receiver: TcpReceiver,
    pub(crate) ack_frame: u16,
    /// Segments in all; `u32::MAX` for no end.
    pub(crate) segments: u32,
    pub(crate) total: Option<Bytes>,
    headers: u64,
    mss: u64,
    waiting: VecDeque<Segment>,
    waiting_bytes: u64,
    room: u64,
    /// The event that is pending for its timers.
    pub(crate) wake: Instant,
    /// When all was acknowledged, and when the segment that completed it left; [`Instant::NEVER`] before.
    pub(crate) acknowledged: Instant,
    pub(crate) last_sent: Instant,
    /// Of a connection with an end, when its last segment left, and each that left again.
    departures: HashMap<u32, Instant>,
}

impl Connection {
    pub(crate) fn new(config: &tcp::Config, total: Option<Bytes>, flow: &FlowPlan) -> Connection {
        let mss = config.mss.get();
        let segments = total.map(|total| u32::try_from(total.get().div_ceil(mss)).unwrap_or(u32::MAX - 1));
        let last = total.map_or(mss, |total| match total.get() % mss {
            0 => mss,
            rest => rest,
        });
        Connection {
            sender: TcpSender::new(config, segments, Bytes::new(last)),
            receiver: TcpReceiver::new(config),
            ack_frame: config.ack_frame.get() as u16,
            segments: segments.unwrap_or(u32::MAX),
            total,
            headers: config.headers.get(),
            mss,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            room: flow.room.map_or(u64::MAX, Bytes::get),
            wake: Instant::NEVER,
            acknowledged: Instant::NEVER,
            last_sent: Instant::NEVER,
            departures: HashMap::new(),
        }
    }

    /// A segment has reached the receiver, and nothing is missing any more.
    pub(crate) fn completed_by(&mut self, number: u32) {
        self.last_sent = self.departures.get(&number).copied().unwrap_or(Instant::NEVER);
        self.departures = HashMap::new();
    }

    /// Queues the segments that the window admits. Calls `refused` with the size of each frame that finds no room.
    pub(crate) fn queue_segments(&mut self, now: Instant, mut refused: impl FnMut(u64)) {
        while let Some(segment) = self.sender.next_segment(now) {
            let size = segment.payload.get() + self.headers;
            if self.waiting_bytes + size > self.room {
                refused(size);
            } else {
                self.waiting_bytes += size;
                self.waiting.push_back(segment);
            }
        }
    }

    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes the segment that has waited longest.
    pub(crate) fn take(&mut self, now: Instant) -> Payload {
        let segment = self.waiting.pop_front().expect("a segment waits");
        self.sender.on_departure(now, segment.number);
        if segment.again || segment.number + 1 == self.segments {
            self.note_departure(now, segment.number);
        }
        let size = segment.payload.get() + self.headers;
        self.waiting_bytes -= size;
        Payload { size: size as u16, backlog: self.waiting_bytes, segment: Some(segment.number) }
    }

    #[cold]
    fn note_departure(&mut self, now: Instant, number: u32) {
        if self.total.is_some() && self.receiver.next_expected() < self.segments {
            self.departures.insert(number, now);
        }
    }

    /// When the next of its timers expires.
    pub(crate) fn next_wake(&self) -> Instant {
        self.sender.next_wake().min(self.receiver.next_wake())
    }

    /// Octets of payload that were delivered in order.
    pub(crate) fn in_order(&self) -> u64 {
        let whole = u64::from(self.receiver.next_expected()) * self.mss;
        self.total.map_or(whole, |total| whole.min(total.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Id, LimiterId, PortId};
    use crate::plan::{FlowSettings, Traffic};
    use crate::tcp::{Flavour, RttFrom};
    use crate::testing;
    use qcnlab_units::Span;

    fn connection(rtt_from: RttFrom) -> Connection {
        let config = tcp::Config { initial_window: 2, rtt_from, ..testing::connection(Flavour::Reno) };
        let flow = FlowPlan {
            name: "a->b".into(),
            paths: vec![vec![PortId::new(0)]].into(),
            traffic: Traffic::Tcp { config: config.into(), total: None },
            start: Instant::ZERO,
            limiter: LimiterId::new(0),
            settings: FlowSettings::default().into(),
        };
        Connection::new(&config, None, &flow)
    }

    /// Two segments are handed over. Room for just both takes both, an octet less the first alone.
    #[test]
    fn a_segment_that_fills_its_room_is_queued() {
        let refused = |short| {
            let mut connection = connection(RttFrom::Handover);
            connection.room = 2 * (connection.mss + connection.headers) - short;
            let mut refused = Vec::new();
            connection.queue_segments(Instant::ZERO, |size| refused.push(size));
            (refused.len(), connection.waiting.len())
        };
        assert_eq!([refused(0), refused(1)], [(0, 2), (1, 1)]);
    }

    /// Two segments of 1460 octets and 58 of headers are handed over: 1518 wait behind the first, none behind the second.
    /// Two more fit in their place.
    #[test]
    fn a_segment_that_leaves_makes_room() {
        let mut connection = connection(RttFrom::Handover);
        connection.room = 2 * 1518;
        connection.queue_segments(Instant::ZERO, |_| unreachable!("there is room"));
        let left = [0, 1].map(|_| connection.take(Instant::ZERO));
        assert_eq!(
            left.map(|payload| (payload.segment, payload.size, payload.backlog)),
            [(Some(0), 1518, 1518), (Some(1), 1518, 0)]
        );
        assert!(!connection.has_waiting());
        connection.sender.on_ack(Instant::ZERO + Span::from_us(1), 2);
        connection.queue_segments(Instant::ZERO + Span::from_us(1), |_| ());
        assert_eq!(connection.waiting.len(), 2);
    }

    #[test]
    fn the_wait_at_the_limiter_counts_unless_the_round_trip_starts_at_the_departure() {
        let at = |us| Instant::ZERO + Span::from_us(us);
        // Two segments are handed over at 0; the first leaves at 300 us, and is acknowledged at 325.
        for (from, trip) in [(RttFrom::Handover, 325), (RttFrom::Departure, 25)] {
            let mut connection = connection(from);
            connection.queue_segments(at(0), |_| unreachable!("there is room"));
            assert_eq!(connection.take(at(300)).segment, Some(0));
            connection.sender.on_ack(at(325), 1);
            assert_eq!(connection.sender.round_trip(), Some(Span::from_us(trip)), "{from:?}");
        }
    }
}
