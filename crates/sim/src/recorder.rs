//! The recorder: writes the trace during the run.

use crate::ids::{FlowId, Id, IdVec, PortId, SinkId};
use crate::plan::Record;
use crate::trace::{DropKind, ThroughputRows, Trace};
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
        if left > bins.start + width {
            Recorder::close_before(bins, left, width, &mut self.trace.throughput);
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

    /// Closes the bins that end before `left`.
    #[cold]
    #[inline(never)]
    fn close_before(bins: &mut Bins, left: u64, width: u64, rows: &mut ThroughputRows) {
        while left > bins.start + width {
            Recorder::close(bins, width, rows);
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

    /// A frame is dropped or refused at `at`, which may be before that of the last one.
    pub(crate) fn on_drop(&mut self, at: Instant, port: PortId, flow: FlowId, kind: DropKind, size: u64) {
        let width = self.record.bin.ps();
        if width == 0 || !self.record.kept {
            return;
        }
        let rows = &mut self.trace.drops;
        let start = at.ps() / width * width;
        if let Some(row) = self.newest_drops[flow]
            && rows.time[row] == start
            && rows.port[row] == port.number()
            && rows.kind[row] == kind
        {
            rows.last[row] = rows.last[row].max(at.ps());
            rows.frames[row] += 1;
            rows.bytes[row] += size;
            return;
        }
        self.newest_drops[flow] = Some(rows.time.len());
        rows.push(start, port.number(), flow.number(), kind, at.ps(), (1, size));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Bins of 100 ps; flows 0 and 1 end at one port, flow 2 at another.
    fn recorder(kept: bool) -> Recorder {
        let record =
            Record { queue_every: Span::ZERO, rates_every: Span::ZERO, bin: Span::from_ps(100), messages: true, kept };
        let sinks = [vec![FlowId::new(0), FlowId::new(1)], vec![FlowId::new(2)]];
        Recorder::new(record, 3, sinks.into_iter().collect(), Span::from_ps(30))
    }

    fn at(ps: u64) -> Instant {
        Instant::from_ps(ps)
    }

    /// Rows as (time, flow, octets).
    fn bins(trace: &Trace) -> Vec<(u64, u32, u64)> {
        let rows = &trace.throughput;
        rows.time.iter().zip(&rows.flow).zip(&rows.bytes).map(|((time, flow), bytes)| (*time, *flow, *bytes)).collect()
    }

    #[test]
    fn a_bin_holds_its_end_and_not_its_start() {
        let mut recorder = recorder(true);
        let sink = SinkId::new(0);
        for (left, size) in [(1, 1), (100, 10), (101, 100), (200, 1000), (350, 10_000)] {
            recorder.count_departed(sink, 1, left, size);
        }
        recorder.count_departed(SinkId::new(1), 0, 100, 7);
        recorder.finish(at(399));
        let rows = bins(&recorder.into_trace());
        // Up to 399 ps three bins end; the fourth, with the frame of 350 ps, does not.
        let expected = [
            [(0, 0, 0), (0, 1, 11), (0, 2, 7)],
            [(100, 0, 0), (100, 1, 1100), (100, 2, 0)],
            [(200, 0, 0), (200, 1, 0), (200, 2, 0)],
        ];
        assert_eq!(rows, expected.concat());
    }

    #[test]
    fn a_bin_that_ends_with_the_run_counts() {
        let mut recorder = recorder(true);
        recorder.count_departed(SinkId::new(1), 0, 200, 5);
        recorder.finish(at(200));
        let of_two: Vec<_> = bins(&recorder.into_trace()).into_iter().filter(|row| row.1 == 2).collect();
        assert_eq!(of_two, [(0, 2, 0), (100, 2, 5)]);
    }

    /// A frame counts up to 30 ps after it left: at 230 ps one that left at 200 may still come, at 231 ps none.
    #[test]
    fn bins_are_shown_when_nothing_can_be_added() {
        let shown = |now| {
            let (mut recorder, mut rows) = (recorder(false), 0);
            recorder.show_so_far(at(now), &mut |trace| rows = trace.throughput.time.len());
            assert_eq!(recorder.trace, Trace::default(), "shown rows are not kept");
            rows
        };
        assert_eq!([0, 130, 131, 230, 231].map(shown), [0, 0, 3, 3, 6]);
    }

    #[test]
    fn drops_add_up_within_a_bin_at_one_port() {
        let mut recorder = recorder(true);
        let (one, two) = (PortId::new(1), PortId::new(2));
        use DropKind::{Dropped, Refused};
        for (now, port, flow, kind, size) in [
            (0, one, 0, Dropped, 1),
            (99, one, 0, Dropped, 10),
            (98, one, 0, Dropped, 10),
            (100, one, 0, Dropped, 100),
            (100, two, 0, Dropped, 1000),
            (150, two, 1, Dropped, 5),
            (160, two, 0, Refused, 7),
            (199, two, 0, Dropped, 3),
            (180, two, 0, Refused, 7),
        ] {
            recorder.on_drop(at(now), port, FlowId::new(flow), kind, size);
        }
        let rows = recorder.into_trace().drops;
        assert_eq!(rows.time, [0, 100, 100, 100, 100]);
        assert_eq!((rows.port, rows.flow), (vec![1, 1, 2, 2, 2], vec![0, 0, 0, 0, 1]));
        assert_eq!(rows.kind, [Dropped, Dropped, Dropped, Refused, Dropped]);
        assert_eq!(rows.last, [99, 100, 199, 180, 150]);
        assert_eq!((rows.frames, rows.bytes), (vec![3, 1, 2, 2, 1], vec![21, 100, 1003, 14, 5]));
    }

    #[test]
    fn pauses_and_messages_are_written_as_they_come() {
        let mut recorder = recorder(true);
        recorder.on_pause(3, 9, PortId::new(4), Some(6), PortId::new(5));
        recorder.on_message(at(7), PortId::new(1), FlowId::new(2), Signal::Cnp);
        let trace = recorder.into_trace();
        let (pauses, messages) = (trace.pauses, trace.messages);
        assert_eq!((pauses.start, pauses.end, pauses.port), (vec![3], vec![9], vec![4]));
        assert_eq!((pauses.class, pauses.because), (vec![Some(6)], vec![5]));
        assert_eq!((messages.time, messages.port, messages.flow), (vec![7], vec![1], vec![2]));
        assert_eq!(messages.signal, [Signal::Cnp]);
    }

    /// Drops are logged by bins, and stay to the end: without either there is nothing to log.
    #[test]
    fn drops_without_bins_or_rows_are_not_logged() {
        let (port, flow) = (PortId::new(1), FlowId::new(0));
        let mut without_bins = recorder(true);
        without_bins.record.bin = Span::ZERO;
        let mut without_rows = recorder(false);
        for recorder in [&mut without_bins, &mut without_rows] {
            recorder.on_drop(at(50), port, flow, DropKind::Dropped, 1000);
            assert_eq!(recorder.trace, Trace::default());
        }
    }
}
