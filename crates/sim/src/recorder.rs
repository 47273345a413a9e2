//! The recorder: writes the trace during the run.

use crate::ids::{FlowId, Id, IdVec, PortId, SinkId};
use crate::plan::Record;
use crate::trace::{ThroughputRows, Trace};
use qcnlab_schemes::Signal;
use qcnlab_units::{Instant, Span};

/// The rows so far, and the bins that are still open.
pub(crate) struct Recorder {
    record: Record,
    pub(crate) trace: Trace,
    /// For each flow the row of its newest drops, and the port they were at.
    newest_drops: IdVec<FlowId, Option<usize>>,
    bins: IdVec<SinkId, Bins>,
    /// Longest time from the end of a transmission on a last link to its count here, ps.
    lag: u64,
}

/// Octets of the flows that end at one port, in the bin that is open.
struct Bins {
    start: u64,
    flows: Vec<FlowId>,
    bytes: Vec<u64>,
}

impl Recorder {
    /// `sinks` lists, for each last port, the flows that end there; a frame counts at most `lag` after it left one.
    pub(crate) fn new(record: Record, flows: usize, sinks: IdVec<SinkId, Vec<FlowId>>, lag: Span) -> Recorder {
        let bins =
            sinks.iter().map(|flows| Bins { start: 0, bytes: vec![0; flows.len()], flows: flows.clone() }).collect();
        let newest_drops = (0..if record.kept { flows } else { 0 }).map(|_| None).collect();
        Recorder { record, trace: Trace::default(), newest_drops, bins, lag: lag.ps() }
    }

    pub(crate) const fn record(&self) -> &Record {
        &self.record
    }

    /// A frame of the `member`-th flow that ends at `sink` left the last port at `left`.
    #[inline]
    pub(crate) fn count_departed(&mut self, sink: SinkId, member: u32, left: u64, size: u64) {
        let width = self.record.bin.ps();
        if width == 0 {
            return;
        }
        let bins = &mut self.bins[sink];
        while left > bins.start + width {
            Recorder::close(bins, width, &mut self.trace.throughput);
        }
        bins.bytes[member as usize] += size;
    }

    /// Shows the rows to `observer`, and removes them unless they are kept.
    pub(crate) fn show(&mut self, observer: &mut dyn FnMut(&Trace)) {
        observer(&self.trace);
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
    pub(crate) fn show_so_far(&mut self, now: Instant, observer: &mut dyn FnMut(&Trace)) {
        if let Some(past) = now.ps().checked_sub(self.lag + 1) {
            self.finish(Instant::from_ps(past));
        }
        self.show(observer);
    }

    /// Closes every bin that ends at or before `end`.
    pub(crate) fn finish(&mut self, end: Instant) {
        let width = self.record.bin.ps();
        if width == 0 {
            return;
        }
        for bins in self.bins.iter_mut() {
            while bins.start + width <= end.ps() {
                Recorder::close(bins, width, &mut self.trace.throughput);
            }
        }
    }

    fn close(bins: &mut Bins, width: u64, rows: &mut ThroughputRows) {
        for (flow, bytes) in bins.flows.iter().zip(&mut bins.bytes) {
            rows.time.push(bins.start);
            rows.flow.push(flow.number());
            rows.bytes.push(std::mem::take(bytes));
        }
        bins.start += width;
    }

    pub(crate) fn on_drop(&mut self, now: Instant, port: PortId, flow: FlowId, size: u64) {
        let width = self.record.bin.ps();
        if width == 0 || !self.record.kept {
            return;
        }
        let rows = &mut self.trace.drops;
        let start = now.ps() / width * width;
        if let Some(row) = self.newest_drops[flow]
            && rows.time[row] == start
            && rows.port[row] == port.number()
        {
            rows.frames[row] += 1;
            rows.bytes[row] += size;
            return;
        }
        self.newest_drops[flow] = Some(rows.time.len());
        rows.time.push(start);
        rows.port.push(port.number());
        rows.flow.push(flow.number());
        rows.frames.push(1);
        rows.bytes.push(size);
    }

    pub(crate) fn on_pause(&mut self, start: u64, end: u64, port: PortId, class: Option<u8>, because: PortId) {
        let rows = &mut self.trace.pauses;
        rows.start.push(start);
        rows.end.push(end);
        rows.port.push(port.number());
        rows.class.push(class);
        rows.because.push(because.number());
    }

    pub(crate) fn on_message(&mut self, now: Instant, port: PortId, flow: FlowId, signal: Signal) {
        if self.record.messages {
            let rows = &mut self.trace.messages;
            rows.time.push(now.ps());
            rows.port.push(port.number());
            rows.flow.push(flow.number());
            rows.signal.push(signal);
        }
    }
}
