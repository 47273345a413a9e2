//! What is recorded of a run. Times are picoseconds from the start of the run.

use crate::plan::Record;
use qcnlab_schemes::Signal;
use qcnlab_units::{Instant, Span};
use std::collections::BTreeMap;

/// Columns of everything recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Samples of watched queues.
    pub queues: QueueRows,
    /// Samples of senders' rates.
    pub rates: RateRows,
    /// Octets each flow got through its last link, by bin.
    pub throughput: ThroughputRows,
    /// Every message a congestion point sent.
    pub messages: MessageRows,
    /// Discarded frames by bin, flow and port; only where there are any.
    pub drops: DropRows,
    /// Times during which links were stopped by pauses.
    pub pauses: PauseRows,
    /// Samples of TCP windows, as often as of rates.
    pub windows: WindowRows,
}

/// Samples of watched queues.
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

/// Discarded frames by bin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DropRows {
    /// Start of the bin, ps.
    pub time: Vec<u64>,
    /// At which port.
    pub port: Vec<u32>,
    /// Of which flow.
    pub flow: Vec<u32>,
    /// Frames.
    pub frames: Vec<u64>,
    /// Octets.
    pub bytes: Vec<u64>,
}

/// Times during which links were stopped.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PauseRows {
    /// When the stop began to work, ps.
    pub start: Vec<u64>,
    /// When it ended, ps.
    pub end: Vec<u64>,
    /// The port that was stopped.
    pub port: Vec<u32>,
    /// The class; `None` for the whole link.
    pub class: Vec<Option<u8>>,
    /// The port at the far end whose queue held most of what led to it.
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
    /// Events taken from the wheel.
    pub events: u64,
    /// Frames sources sent.
    pub frames_sent: u64,
    /// Frames that reached their sinks.
    pub frames_delivered: u64,
    /// Frames full queues discarded.
    pub frames_dropped: u64,
    /// Frames that found no room at their source.
    pub frames_refused: u64,
    /// Pause frames switches and adapters sent, those that let go included.
    pub pause_frames: u64,
    /// Acknowledgements receivers sent.
    pub acks_sent: u64,
    /// Acknowledgements that reached their senders.
    pub acks_heard: u64,
    /// Acknowledgements that full queues discarded.
    pub acks_lost: u64,
    /// Probes reaction points sent.
    pub probes_sent: u64,
    /// Probes that were answered, reached their destination, or were lost.
    pub probes_ended: u64,
    /// Signals congestion points sent.
    pub messages_sent: u64,
    /// Signals that reached a reaction point.
    pub messages_heard: u64,
    /// Signals lost with their frame.
    pub messages_lost: u64,
    /// Times a reaction point took silence for bandwidth.
    pub alarms: u64,
    /// Those of them at which a congestion point on its route had had none since it asked.
    pub false_alarms: u64,
}

/// Totals of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowTally {
    /// Frames its source let go.
    pub sent: u64,
    /// Octets its source let go.
    pub sent_bytes: u64,
    /// Frames that reached the sink.
    pub delivered: u64,
    /// Octets that reached the sink.
    pub delivered_bytes: u64,
    /// Frames discarded on the way.
    pub dropped: u64,
    /// Frames that found no room at their source.
    pub refused: u64,
    /// Octets of the whole flow, where it has an end.
    pub total_bytes: Option<u64>,
    /// When the flow started, its jitter included.
    pub started: Instant,
    /// When the last of them was delivered; [`Instant::NEVER`] if that did not happen.
    pub finished: Instant,
    /// For TCP, what its machines did.
    pub tcp: Option<TcpTally>,
}

/// Totals of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
        }
    }
}

/// The books of one flow while the run goes on: one cache line.
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
    /// When it was, ps.
    pub(crate) finished: u64,
}

impl Tally {
    pub(crate) fn new(total: Option<u64>) -> Tally {
        Tally { total_bytes: total.unwrap_or(u64::MAX), finished: Instant::NEVER.ps(), ..Tally::default() }
    }

    /// A data frame reached the sink.
    #[inline]
    pub(crate) fn deliver(&mut self, now: Instant, size: u64) {
        self.delivered += 1;
        self.delivered_bytes += size;
        if self.delivered_bytes == self.total_bytes {
            self.finished = now.ps();
        }
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
            total_bytes: (self.total_bytes < u64::MAX).then_some(self.total_bytes),
            started: Instant::ZERO,
            finished: Instant::from_ps(self.finished),
            tcp: None,
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
    /// One row for each bin, port and flow, in that order.
    pub(crate) fn put_in_order(&mut self) {
        let mut rows = BTreeMap::new();
        for row in 0..self.time.len() {
            let (frames, bytes) = rows.entry((self.time[row], self.port[row], self.flow[row])).or_insert((0, 0));
            *frames += self.frames[row];
            *bytes += self.bytes[row];
        }
        *self = DropRows::default();
        for ((time, port, flow), (frames, bytes)) in rows {
            self.time.push(time);
            self.port.push(port);
            self.flow.push(flow);
            self.frames.push(frames);
            self.bytes.push(bytes);
        }
    }
}

/// Writes the trace while the run goes on.
pub(crate) struct Recorder {
    record: Record,
    pub(crate) trace: Trace,
    /// For each flow the row of its newest drops, and the port they were at.
    newest_drops: Vec<Option<usize>>,
    bins: Vec<Bins>,
    /// Longest time from the end of a transmission on a last link to its count here, ps.
    lag: u64,
}

/// Octets of the flows that end at one port, in the bin that is open.
struct Bins {
    start: u64,
    flows: Vec<u32>,
    bytes: Vec<u64>,
}

impl Recorder {
    /// `ends` lists, for each last port, the flows that end there; a frame counts at most `lag` after it left one.
    pub(crate) fn new(record: Record, flows: usize, ends: Vec<Vec<u32>>, lag: Span) -> Recorder {
        let bins = ends.into_iter().map(|flows| Bins { start: 0, bytes: vec![0; flows.len()], flows }).collect();
        let newest_drops = if record.kept { vec![None; flows] } else { Vec::new() };
        Recorder { record, trace: Trace::default(), newest_drops, bins, lag: lag.ps() }
    }

    pub(crate) const fn record(&self) -> &Record {
        &self.record
    }

    /// A frame of the `member`-th flow that ends at `end` left the last port at `left`.
    #[inline]
    pub(crate) fn count_left(&mut self, end: u32, member: u32, left: u64, size: u64) {
        let width = self.record.bin.ps();
        if width == 0 {
            return;
        }
        let bins = &mut self.bins[end as usize];
        while left > bins.start + width {
            Recorder::close(bins, width, &mut self.trace.throughput);
        }
        bins.bytes[member as usize] += size;
    }

    /// Shows the rows to `watch`, and lets them go unless they are kept.
    pub(crate) fn show(&mut self, watch: &mut dyn FnMut(&Trace)) {
        watch(&self.trace);
        if !self.record.kept {
            self.trace = Trace::default();
        }
    }

    /// The rows that are kept.
    pub(crate) fn into_trace(mut self) -> Trace {
        if !self.record.kept {
            return Trace::default();
        }
        self.trace.throughput.put_in_order();
        self.trace.drops.put_in_order();
        self.trace
    }

    /// As [`show`](Recorder::show), before the end, with the bins in which no frame can count any more.
    #[cold]
    pub(crate) fn show_so_far(&mut self, now: Instant, watch: &mut dyn FnMut(&Trace)) {
        if let Some(past) = now.ps().checked_sub(self.lag + 1) {
            self.finish(Instant::from_ps(past));
        }
        self.show(watch);
    }

    /// Closes every bin that ends at or before `end`.
    pub(crate) fn finish(&mut self, end: Instant) {
        let width = self.record.bin.ps();
        if width == 0 {
            return;
        }
        for bins in &mut self.bins {
            while bins.start + width <= end.ps() {
                Recorder::close(bins, width, &mut self.trace.throughput);
            }
        }
    }

    fn close(bins: &mut Bins, width: u64, rows: &mut ThroughputRows) {
        for (flow, bytes) in bins.flows.iter().zip(&mut bins.bytes) {
            rows.time.push(bins.start);
            rows.flow.push(*flow);
            rows.bytes.push(std::mem::take(bytes));
        }
        bins.start += width;
    }

    pub(crate) fn on_drop(&mut self, now: Instant, port: u32, flow: u32, size: u64) {
        let width = self.record.bin.ps();
        if width == 0 || !self.record.kept {
            return;
        }
        let rows = &mut self.trace.drops;
        let start = now.ps() / width * width;
        if let Some(row) = self.newest_drops[flow as usize]
            && rows.time[row] == start
            && rows.port[row] == port
        {
            rows.frames[row] += 1;
            rows.bytes[row] += size;
            return;
        }
        self.newest_drops[flow as usize] = Some(rows.time.len());
        rows.time.push(start);
        rows.port.push(port);
        rows.flow.push(flow);
        rows.frames.push(1);
        rows.bytes.push(size);
    }

    pub(crate) fn on_pause(&mut self, start: u64, end: u64, port: u32, class: Option<u8>, because: u32) {
        let rows = &mut self.trace.pauses;
        rows.start.push(start);
        rows.end.push(end);
        rows.port.push(port);
        rows.class.push(class);
        rows.because.push(because);
    }

    pub(crate) fn on_message(&mut self, now: Instant, port: u32, flow: u32, signal: Signal) {
        if self.record.messages {
            let rows = &mut self.trace.messages;
            rows.time.push(now.ps());
            rows.port.push(port);
            rows.flow.push(flow);
            rows.signal.push(signal);
        }
    }
}
