//! What a run returns: recorded rows, totals of the run and of each flow. Times are picoseconds from its start.

use crate::ids::PortId;
use qcnlab_schemes::Signal;
use qcnlab_units::{BitRate, Bytes, Instant, Span};
use std::collections::BTreeMap;

/// Columns of everything recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Samples of recorded queues.
    pub queues: QueueRows,
    /// Samples of senders' rates.
    pub rates: RateRows,
    /// Octets each flow got through its last link, by bin.
    pub throughput: ThroughputRows,
    /// Every message a congestion point sent.
    pub messages: MessageRows,
    /// Dropped frames by bin, flow and port; only where there are any.
    pub drops: DropRows,
    /// Times during which links were paused.
    pub pauses: PauseRows,
    /// Samples of TCP windows, as often as of rates.
    pub windows: WindowRows,
}

/// Samples of recorded queues.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueRows {
    /// When, ps.
    pub time: Vec<u64>,
    /// Which port.
    pub port: Vec<u32>,
    /// Octets queued.
    pub bytes: Vec<u64>,
}

/// Samples of senders' rates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RateRows {
    /// When, ps.
    pub time: Vec<u64>,
    /// Which flow.
    pub flow: Vec<u32>,
    /// Current rate, bit/s.
    pub current: Vec<u64>,
    /// Target rate, bit/s.
    pub target: Vec<u64>,
}

/// Octets through the last link, by bin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThroughputRows {
    /// Start of the bin, ps.
    pub time: Vec<u64>,
    /// Which flow.
    pub flow: Vec<u32>,
    /// Octets whose last bit left in the bin; a bin holds its end, not its start.
    pub bytes: Vec<u64>,
}

/// Messages sent by congestion points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageRows {
    /// When it was sent, ps.
    pub time: Vec<u64>,
    /// By which port.
    pub port: Vec<u32>,
    /// About which flow.
    pub flow: Vec<u32>,
    /// What it said.
    pub signal: Vec<Signal>,
}

/// Frames that were dropped in the network, or refused by the queue of their source, by bin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DropRows {
    /// Start of the bin, ps.
    pub time: Vec<u64>,
    /// When the last of them was dropped or refused, ps.
    pub last: Vec<u64>,
    /// At which port; of refused frames the one that they would have left through.
    pub port: Vec<u32>,
    /// Of which flow.
    pub flow: Vec<u32>,
    /// What became of them.
    pub kind: Vec<DropKind>,
    /// Frames.
    pub frames: Vec<u64>,
    /// Octets.
    pub bytes: Vec<u64>,
}

/// What became of a frame that found no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropKind {
    /// The network dropped it.
    Dropped,
    /// The queue of its source refused it, so that it was never sent.
    Refused,
}

impl DropKind {
    /// Every kind, in their order.
    pub const ALL: [DropKind; 2] = [DropKind::Dropped, DropKind::Refused];

    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            DropKind::Dropped => "dropped",
            DropKind::Refused => "refused",
        }
    }
}

/// Times during which links were paused.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PauseRows {
    /// When the pause took effect, ps.
    pub start: Vec<u64>,
    /// When it ended, ps.
    pub end: Vec<u64>,
    /// The port that was paused.
    pub port: Vec<u32>,
    /// The class; `None` for the whole link.
    pub class: Vec<Option<u8>>,
    /// The port at the far end whose queue held most of the octets that led to it.
    pub because: Vec<u32>,
}

/// Samples of TCP senders.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowRows {
    /// When, ps.
    pub time: Vec<u64>,
    /// Which flow.
    pub flow: Vec<u32>,
    /// Congestion window, octets.
    pub window: Vec<u64>,
    /// Octets sent and not acknowledged.
    pub flight: Vec<u64>,
}

/// Totals of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames accepted by and sent over a link, counted once a link.
    pub frame_hops: u64,
    /// Events taken from the timing wheel.
    pub events: u64,
    /// Frames that sources sent.
    pub frames_sent: u64,
    /// Frames that reached their sinks.
    pub frames_delivered: u64,
    /// Frames that full queues dropped.
    pub frames_dropped: u64,
    /// Frames that found no room in the queue of their source.
    pub frames_refused: u64,
    /// Pause frames that switches and adapters sent, XON included.
    pub pause_frames: u64,
    /// Those of them that hosts sent in a storm of pauses.
    pub storm_frames: u64,
    /// Frames dropped because a watchdog took their queue for stuck.
    pub watchdog_drops: u64,
    /// Frames lost with a link that failed, or dropped because their link was down.
    pub link_drops: u64,
    /// Acknowledgements that receivers sent.
    pub acks_sent: u64,
    /// Acknowledgements that reached their senders.
    pub acks_heard: u64,
    /// Acknowledgements that full queues dropped.
    pub acks_lost: u64,
    /// Probes that reaction points sent.
    pub probes_sent: u64,
    /// Probes that were answered, reached their destination, or were lost.
    pub probes_ended: u64,
    /// Signals that congestion points and notification points sent, and messages of ports that isolate flows.
    pub messages_sent: u64,
    /// Signals that reached a reaction point, and messages that reached a port that isolates flows.
    pub messages_heard: u64,
    /// Signals that reached a host without reaction points.
    pub messages_ignored: u64,
    /// Signals lost with their frame.
    pub messages_lost: u64,
    /// Packets that were cut to their heads.
    pub packets_trimmed: u64,
    /// Heads that reached their destination or were lost.
    pub heads_ended: u64,
    /// Storms of pauses that watchdogs detected.
    pub storms_detected: u64,
    /// Those of them that ended.
    pub storms_ended: u64,
    /// Times a reaction point took the absence of an answer for bandwidth.
    pub alarms: u64,
    /// Those of them in which a congestion point on its path had had none since it asked.
    pub false_alarms: u64,
}

/// Totals of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowTally {
    /// Frames that its source sent.
    pub sent: u64,
    /// Octets that its source sent.
    pub sent_bytes: u64,
    /// Frames that reached the sink.
    pub delivered: u64,
    /// Octets that reached the sink.
    pub delivered_bytes: u64,
    /// Frames dropped on the path.
    pub dropped: u64,
    /// Frames that found no room in the queue of their source.
    pub refused: u64,
    /// Octets of the whole flow, where it has an end.
    pub total_bytes: Option<u64>,
    /// When the flow started, its jitter included.
    pub started: Instant,
    /// When the last octet was delivered, or over RoCE acknowledged; [`Instant::NEVER`] if that did not happen.
    pub finished: Instant,
    /// For TCP, what its sender and receiver did.
    pub tcp: Option<TcpTally>,
    /// For RoCE, what its sender and receiver did.
    pub roce: Option<RoceTally>,
}

/// Totals of one queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoceTally {
    /// Octets of payload acknowledged.
    pub acknowledged_bytes: u64,
    /// Packets sent, repeated ones included.
    pub packets: u64,
    /// Packets sent again.
    pub retransmitted: u64,
    /// Negative acknowledgements heard.
    pub nacks: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Packets that were cut to their heads, as the sender heard.
    pub trimmed: u64,
    /// Packets that reached the receiver although it had them.
    pub spurious: u64,
    /// The most packets that the receiver kept out of order at once.
    pub most_kept: u64,
    /// When the last octet reached the receiver; [`Instant::NEVER`] if that did not happen.
    pub received: Instant,
    /// When the packet that completed the message left its sender; [`Instant::NEVER`] if none did.
    pub last_sent: Instant,
    /// Octets of that packet.
    pub last_octets: u64,
}

/// Totals of one congestion point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointTally {
    /// The port of its queue.
    pub port: PortId,
    /// The class of its queue; `None` at a port without classes under congestion control.
    pub class: Option<u8>,
    /// Frames that its queue took and passed on.
    pub transmitted: u64,
    /// Frames that found no room in its queue.
    pub discarded: u64,
    /// Messages that it sent.
    pub sent: u64,
}

/// Totals of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpTally {
    /// Octets of payload delivered in order.
    pub in_order_bytes: u64,
    /// Segments handed over, repeated ones included.
    pub segments: u64,
    /// Segments handed over again.
    pub retransmitted: u64,
    /// Fast retransmissions.
    pub fast_retransmits: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// When the last octet was acknowledged; [`Instant::NEVER`] if that did not happen.
    pub acknowledged: Instant,
    /// When the segment that completed the flow left its sender; [`Instant::NEVER`] if none did, and where segments that
    /// were sent once overtook each other.
    pub last_sent: Instant,
}

impl Default for TcpTally {
    fn default() -> TcpTally {
        TcpTally {
            in_order_bytes: 0,
            segments: 0,
            retransmitted: 0,
            fast_retransmits: 0,
            timeouts: 0,
            acknowledged: Instant::NEVER,
            last_sent: Instant::NEVER,
        }
    }
}

impl Default for FlowTally {
    fn default() -> FlowTally {
        FlowTally {
            sent: 0,
            sent_bytes: 0,
            delivered: 0,
            delivered_bytes: 0,
            dropped: 0,
            refused: 0,
            total_bytes: None,
            started: Instant::ZERO,
            finished: Instant::NEVER,
            tcp: None,
            roce: None,
        }
    }
}

/// The totals of one flow during the run: one cache line.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Tally {
    pub(crate) sent: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) delivered: u64,
    pub(crate) delivered_bytes: u64,
    pub(crate) dropped: u64,
    pub(crate) refused: u64,
    /// Octets after which the flow is complete; `u64::MAX` for never.
    total_bytes: u64,
    /// When the flow was complete, ps.
    pub(crate) finished: u64,
}

impl Tally {
    pub(crate) fn new(total: Option<u64>) -> Tally {
        Tally { total_bytes: total.unwrap_or(u64::MAX), finished: Instant::NEVER.ps(), ..Tally::default() }
    }

    /// Whether the flow is complete when all its frames are delivered, and never without one of them.
    pub(crate) const fn repairs_no_loss(&self) -> bool {
        self.total_bytes < u64::MAX
    }

    /// A data frame reached the sink. True if the flow is complete with it.
    #[inline]
    pub(crate) fn deliver(&mut self, now: Instant, size: u64) -> bool {
        self.delivered += 1;
        self.delivered_bytes += size;
        let complete = self.delivered_bytes == self.total_bytes;
        if complete {
            self.finished = now.ps();
        }
        complete
    }

    /// The totals, as they are reported.
    pub(crate) fn close(&self) -> FlowTally {
        FlowTally {
            sent: self.sent,
            sent_bytes: self.sent_bytes,
            delivered: self.delivered,
            delivered_bytes: self.delivered_bytes,
            dropped: self.dropped,
            refused: self.refused,
            total_bytes: self.repairs_no_loss().then_some(self.total_bytes),
            started: Instant::ZERO,
            finished: Instant::from_ps(self.finished),
            tcp: None,
            roce: None,
        }
    }
}

impl ThroughputRows {
    /// Puts them in order of time and flow.
    pub(crate) fn put_in_order(&mut self) {
        let key = |row: &u32| (self.time[*row as usize], self.flow[*row as usize]);
        let mut order: Vec<u32> = (0..self.time.len() as u32).collect();
        if order.is_sorted_by_key(key) {
            return;
        }
        order.sort_unstable_by_key(key);
        self.time = order.iter().map(|row| self.time[*row as usize]).collect();
        self.flow = order.iter().map(|row| self.flow[*row as usize]).collect();
        self.bytes = order.iter().map(|row| self.bytes[*row as usize]).collect();
    }
}

impl DropRows {
    /// One row for each bin, port, flow and kind, in that order.
    pub(crate) fn put_in_order(&mut self) {
        let mut rows = BTreeMap::new();
        for row in 0..self.time.len() {
            let key = (self.time[row], self.port[row], self.flow[row], self.kind[row]);
            let (last, frames, bytes) = rows.entry(key).or_insert((0, 0, 0));
            *last = self.last[row].max(*last);
            *frames += self.frames[row];
            *bytes += self.bytes[row];
        }
        *self = DropRows::default();
        for ((time, port, flow, kind), (last, frames, bytes)) in rows {
            self.push(time, port, flow, kind, last, (frames, bytes));
        }
    }

    /// Adds a row: the bin's start and its last drop, ps; frames and octets.
    pub fn push(&mut self, time: u64, port: u32, flow: u32, kind: DropKind, last: u64, (frames, bytes): (u64, u64)) {
        self.time.push(time);
        self.last.push(last);
        self.port.push(port);
        self.flow.push(flow);
        self.kind.push(kind);
        self.frames.push(frames);
        self.bytes.push(bytes);
    }
}

/// A port between two steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortState {
    /// Octets queued, the frame in transmission included.
    pub queue: Bytes,
    /// Octets of the frames that have left since the start.
    pub sent: Bytes,
    /// The rate at which it serves.
    pub rate: BitRate,
    /// For how long it was paused since the start; classes that pause by themselves add up. Without pauses that ended
    /// where the plan does not keep rows.
    pub paused: Span,
    /// Whether it, or a class of it, is paused.
    pub is_paused: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_finished_by_its_last_octet() {
        let mut tally = Tally::new(Some(3100));
        for (us, size) in [(1, 1500), (2, 1500), (3, 100)] {
            assert_eq!(tally.close().finished, Instant::NEVER);
            tally.deliver(Instant::from_ps(us), size);
        }
        let totals = tally.close();
        assert_eq!((totals.delivered, totals.delivered_bytes, totals.total_bytes), (3, 3100, Some(3100)));
        assert_eq!(totals.finished, Instant::from_ps(3));
        assert_eq!(Tally::new(None).close().total_bytes, None);
    }

    #[test]
    fn totals_are_closed_one_by_one() {
        let mut tally = Tally::new(None);
        (tally.sent, tally.sent_bytes, tally.dropped, tally.refused) = (1, 2, 3, 4);
        let totals = tally.close();
        assert_eq!((totals.sent, totals.sent_bytes, totals.dropped, totals.refused), (1, 2, 3, 4));
    }

    #[test]
    fn drops_of_one_bin_port_flow_and_kind_are_one_row() {
        use DropKind::{Dropped, Refused};
        let mut rows = DropRows {
            time: vec![5, 0, 0, 0, 0, 0],
            last: vec![6, 4, 1, 3, 2, 1],
            port: vec![1, 2, 1, 2, 1, 2],
            flow: vec![7, 7, 8, 7, 7, 7],
            kind: vec![Dropped, Dropped, Refused, Dropped, Dropped, Refused],
            frames: vec![1, 2, 3, 4, 5, 6],
            bytes: vec![10, 20, 30, 40, 50, 60],
        };
        rows.put_in_order();
        assert_eq!(rows.kind, [Dropped, Refused, Dropped, Refused, Dropped]);
        assert_eq!(rows.last, [2, 1, 4, 1, 6]);
        assert_eq!((rows.time, rows.port, rows.flow), (vec![0, 0, 0, 0, 5], vec![1, 1, 2, 2, 1], vec![7, 8, 7, 7, 7]));
        assert_eq!((rows.frames, rows.bytes), (vec![5, 3, 6, 6, 1], vec![50, 30, 60, 60, 10]));
    }

    #[test]
    fn bins_come_in_order_of_time_and_then_of_flow() {
        let mut rows = ThroughputRows { time: vec![1, 0, 1, 0], flow: vec![0, 1, 1, 0], bytes: vec![3, 2, 4, 1] };
        rows.put_in_order();
        assert_eq!((rows.time, rows.flow, rows.bytes), (vec![0, 0, 1, 1], vec![0, 1, 0, 1], vec![1, 2, 3, 4]));
    }
}
