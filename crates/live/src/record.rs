//! What threads record, and how it becomes the trace of one run.

use crate::defence::DefenceEnd;
use crate::spacing::Spacing;
use qcnlab_capture::Direction;
use qcnlab_schemes::Signal;
use qcnlab_schemes::driver::LimiterTally;
use qcnlab_sim::trace::{
    DropRows, MessageRows, PauseRows, PointTally, QueueRows, RateRows, ThroughputRows, WindowRows,
};
use qcnlab_sim::{Counters, Trace};
use std::collections::BTreeMap;

/// Adds each field of `$more` to that of `$sum`. A field that is not named does not compile.
macro_rules! add_each {
    ($sum:expr, $more:expr, $record:ident { $($field:ident),+ }) => {
        let $record { $($field),+ } = $more;
        $( $sum.$field += $field; )+
    };
}

/// Appends each column of `$more` to that of `$rows`. A column that is not named does not compile.
macro_rules! append {
    ($rows:expr, $more:expr, $table:ident { $($column:ident),+ }) => {
        let $table { $($column),+ } = $more;
        $( $rows.$column.extend($column); )+
    };
}

/// Pauses that a thread records: a storm of pause frames fills no memory.
const MOST_PAUSES: usize = 1 << 20;
/// Octets of captured frames that are kept, over all threads of a run, at most.
const MOST_CAPTURED: usize = 256 << 20;

/// A frame for the capture.
#[derive(Clone, Debug)]
pub(crate) struct CapturedFrame {
    /// When, ps.
    pub(crate) at: u64,
    /// The port whose link it crossed.
    pub(crate) port: u32,
    pub(crate) direction: Direction,
    pub(crate) octets: Box<[u8]>,
    pub(crate) wire_len: u32,
}

/// What hostile or odd frames were met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Too short, or with a header that is cut off.
    pub malformed: u64,
    /// Longer than a link carries.
    pub oversize: u64,
    /// Signals that came from outside the domain: from a host.
    pub foreign_signals: u64,
    /// Signals that could not be read.
    pub unreadable_signals: u64,
    /// Signals for reaction points that are not there, or not for this host.
    pub stray_signals: u64,
    /// Signals beyond the rate at which they are processed.
    pub flooded_signals: u64,
    /// MAC control frames that are neither PAUSE nor PFC.
    pub odd_control: u64,
    /// Frames for a destination that no port is known for, which went nowhere.
    pub unknown_destination: u64,
    /// Frames from a host with the address of another node as their source.
    pub false_sources: u64,
    /// Announcements by LLDP that could not be read.
    pub unreadable_announcements: u64,
}

impl Refused {
    fn add(&mut self, other: Refused) {
        add_each!(
            self,
            other,
            Refused {
                malformed,
                oversize,
                foreign_signals,
                unreadable_signals,
                stray_signals,
                flooded_signals,
                odd_control,
                unknown_destination,
                false_sources,
                unreadable_announcements
            }
        );
    }

    /// The counters, by name.
    pub fn by_name(&self) -> [(&'static str, u64); 10] {
        [
            ("malformed", self.malformed),
            ("oversize", self.oversize),
            ("foreign_signals", self.foreign_signals),
            ("unreadable_signals", self.unreadable_signals),
            ("stray_signals", self.stray_signals),
            ("flooded_signals", self.flooded_signals),
            ("odd_control", self.odd_control),
            ("unknown_destination", self.unknown_destination),
            ("false_sources", self.false_sources),
            ("unreadable_announcements", self.unreadable_announcements),
        ]
    }
}

/// Frames and octets of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowCount {
    pub(crate) sent: u64,
    pub(crate) sent_octets: u64,
    pub(crate) delivered: u64,
    pub(crate) delivered_octets: u64,
    pub(crate) dropped: u64,
    pub(crate) refused: u64,
    /// When the last octet of a flow of datagrams with an end arrived, ps; 0 for not yet.
    pub(crate) finished: u64,
}

impl FlowCount {
    fn add(&mut self, other: FlowCount) {
        add_each!(
            self,
            other,
            FlowCount { sent, sent_octets, delivered, delivered_octets, dropped, refused, finished }
        );
    }
}

/// What one thread records.
#[derive(Debug, Default)]
pub(crate) struct Records {
    bin_ps: u64,
    throughput: BTreeMap<(u64, u32), u64>,
    drops: BTreeMap<(u64, u32, u32), (u64, u64)>,
    pub(crate) queues: QueueRows,
    pub(crate) rates: RateRows,
    pub(crate) windows: WindowRows,
    messages: MessageRows,
    pauses: PauseRows,
    pub(crate) counters: Counters,
    pub(crate) flows: Vec<FlowCount>,
    pub(crate) refused: Refused,
    pub(crate) points: Vec<PointTally>,
    /// By the limiter's number in the plan.
    pub(crate) limiters: Vec<(u32, LimiterTally)>,
    captured: Vec<CapturedFrame>,
    captured_octets: usize,
    /// Frames that found the capture full.
    pub(crate) not_captured: u64,
    /// Pauses that found the record of them full.
    pub(crate) pauses_not_recorded: u64,
    /// What ports came to that defend a domain.
    pub(crate) defences: Vec<DefenceEnd>,
    /// How far apart frames left their limiters.
    pub(crate) spacing: Spacing,
}

impl Records {
    pub(crate) fn new(bin_ps: u64, flows: usize) -> Records {
        Records { bin_ps: bin_ps.max(1), flows: vec![FlowCount::default(); flows], ..Records::default() }
    }

    /// Forgets all rows; counters stay.
    pub(crate) fn forget_rows(&mut self) {
        self.throughput.clear();
        self.drops.clear();
        self.queues = QueueRows::default();
        self.rates = RateRows::default();
        self.windows = WindowRows::default();
        self.messages = MessageRows::default();
        self.pauses = PauseRows::default();
    }

    /// The start of the bin that holds an instant; a bin holds its end, not its start.
    fn bin(&self, at: u64) -> u64 {
        at.saturating_sub(1) / self.bin_ps * self.bin_ps
    }

    /// Octets of a flow left its last port at `at`, ps.
    pub(crate) fn on_last_link(&mut self, at: u64, flow: u32, octets: u64) {
        *self.throughput.entry((self.bin(at), flow)).or_default() += octets;
    }

    /// A frame of a flow was dropped at a port.
    pub(crate) fn on_drop(&mut self, at: u64, port: u32, flow: u32, octets: u64) {
        let (frames, total) = self.drops.entry((self.bin(at), port, flow)).or_default();
        *frames += 1;
        *total += octets;
        self.flows[flow as usize].dropped += 1;
    }

    /// A congestion point sent a signal.
    pub(crate) fn on_message(&mut self, at: u64, port: u32, flow: u32, signal: Signal) {
        self.counters.messages_sent += 1;
        self.messages.time.push(at);
        self.messages.port.push(port);
        self.messages.flow.push(flow);
        self.messages.signal.push(signal);
    }

    /// A pause of a port is over; `because` is the port at the far end that it is put down to.
    pub(crate) fn on_pause(&mut self, start: u64, end: u64, port: u32, class: Option<u8>, because: u32) {
        if self.pauses.start.len() >= MOST_PAUSES {
            self.pauses_not_recorded += 1;
            return;
        }
        self.pauses.start.push(start);
        self.pauses.end.push(end);
        self.pauses.port.push(port);
        self.pauses.class.push(class);
        self.pauses.because.push(because);
    }

    /// Keeps the first octets of a frame for the capture, until that is full.
    pub(crate) fn capture(
        &mut self,
        at: u64,
        port: u32,
        direction: Direction,
        octets: &[u8],
        snap: usize,
        share: usize,
    ) {
        let kept = &octets[..octets.len().min(snap)];
        if self.captured_octets + kept.len() > MOST_CAPTURED / share.max(1) {
            self.not_captured += 1;
            return;
        }
        self.captured_octets += kept.len() + size_of::<CapturedFrame>();
        let wire_len = octets.len() as u32;
        self.captured.push(CapturedFrame { at, port, direction, octets: kept.into(), wire_len });
    }
}

/// The records of all threads as one trace.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) trace: Trace,
    pub(crate) counters: Counters,
    pub(crate) flows: Vec<FlowCount>,
    pub(crate) refused: Refused,
    pub(crate) points: Vec<PointTally>,
    pub(crate) limiters: Vec<LimiterTally>,
    pub(crate) captured: Vec<CapturedFrame>,
    pub(crate) not_captured: u64,
    pub(crate) pauses_not_recorded: u64,
    pub(crate) defences: Vec<DefenceEnd>,
    pub(crate) spacing: Spacing,
}

/// Puts rows of several columns in order of time.
macro_rules! in_order {
    ($rows:expr, $time:ident, $($column:ident),+) => {{
        let rows = $rows;
        let mut order: Vec<usize> = (0..rows.$time.len()).collect();
        order.sort_by_key(|row| rows.$time[*row]);
        $( rows.$column = order.iter().map(|row| rows.$column[*row].clone()).collect(); )+
        rows.$time = order.iter().map(|row| rows.$time[*row]).collect();
    }};
}

/// Merges what all threads recorded.
pub(crate) fn merge(all: Vec<Records>, flows: usize) -> Merged {
    let mut merged = Merged {
        trace: Trace::default(),
        counters: Counters::default(),
        flows: vec![FlowCount::default(); flows],
        refused: Refused::default(),
        points: Vec::new(),
        limiters: Vec::new(),
        captured: Vec::new(),
        not_captured: 0,
        pauses_not_recorded: 0,
        defences: Vec::new(),
        spacing: Spacing::default(),
    };
    let (mut throughput, mut drops) = (BTreeMap::new(), BTreeMap::new());
    let mut limiters = BTreeMap::new();
    for records in all {
        let trace = &mut merged.trace;
        for (key, octets) in records.throughput {
            *throughput.entry(key).or_insert(0u64) += octets;
        }
        for (key, (frames, octets)) in records.drops {
            let sum: &mut (u64, u64) = drops.entry(key).or_insert((0, 0));
            sum.0 += frames;
            sum.1 += octets;
        }
        append!(trace.queues, records.queues, QueueRows { time, port, bytes });
        append!(trace.rates, records.rates, RateRows { time, flow, current, target });
        append!(trace.windows, records.windows, WindowRows { time, flow, window, flight });
        append!(trace.messages, records.messages, MessageRows { time, port, flow, signal });
        append!(trace.pauses, records.pauses, PauseRows { start, end, port, class, because });
        add_counters(&mut merged.counters, records.counters);
        for (sum, count) in merged.flows.iter_mut().zip(records.flows) {
            sum.add(count);
        }
        merged.refused.add(records.refused);
        merged.points.extend(records.points);
        limiters.extend(records.limiters);
        merged.captured.extend(records.captured);
        merged.not_captured += records.not_captured;
        merged.pauses_not_recorded += records.pauses_not_recorded;
        merged.defences.extend(records.defences);
        merged.spacing.add(&records.spacing);
    }
    merged.limiters = limiters.into_values().collect();
    let trace = &mut merged.trace;
    trace.throughput = ThroughputRows::default();
    for ((time, flow), octets) in throughput {
        trace.throughput.time.push(time);
        trace.throughput.flow.push(flow);
        trace.throughput.bytes.push(octets);
    }
    trace.drops = DropRows::default();
    for ((time, port, flow), (frames, octets)) in drops {
        trace.drops.time.push(time);
        trace.drops.port.push(port);
        trace.drops.flow.push(flow);
        trace.drops.frames.push(frames);
        trace.drops.bytes.push(octets);
    }
    in_order!(&mut trace.queues, time, port, bytes);
    in_order!(&mut trace.rates, time, flow, current, target);
    in_order!(&mut trace.windows, time, flow, window, flight);
    in_order!(&mut trace.messages, time, port, flow, signal);
    in_order!(&mut trace.pauses, start, end, port, class, because);
    merged.captured.sort_by_key(|frame| frame.at);
    for flow in &merged.flows {
        merged.counters.frames_sent += flow.sent;
        merged.counters.frames_delivered += flow.delivered;
        merged.counters.frames_dropped += flow.dropped;
        merged.counters.frames_refused += flow.refused;
    }
    merged
}

fn add_counters(sum: &mut Counters, more: Counters) {
    add_each!(
        sum,
        more,
        Counters {
            frame_hops,
            events,
            frames_sent,
            frames_delivered,
            frames_dropped,
            frames_refused,
            pause_frames,
            storm_frames,
            watchdog_drops,
            link_drops,
            acks_sent,
            acks_heard,
            acks_lost,
            probes_sent,
            probes_ended,
            messages_sent,
            messages_heard,
            messages_ignored,
            messages_lost,
            packets_trimmed,
            heads_ended,
            storms_detected,
            storms_ended,
            alarms,
            false_alarms
        }
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_become_one_trace_in_order_of_time() {
        let mut one = Records::new(1000, 2);
        one.on_last_link(1000, 1, 100);
        one.on_last_link(1001, 1, 10);
        one.on_pause(700, 800, 3, None, 2);
        one.on_drop(5, 3, 0, 60);
        let mut other = Records::new(1000, 2);
        other.on_last_link(1, 0, 7);
        other.on_last_link(900, 1, 1);
        other.on_pause(100, 900, 4, Some(3), 2);
        other.on_drop(6, 3, 0, 60);
        let merged = merge(vec![one, other], 2);
        let rows = &merged.trace.throughput;
        assert_eq!(
            (&rows.time[..], &rows.flow[..], &rows.bytes[..]),
            (&[0, 0, 1000][..], &[0, 1, 1][..], &[7, 101, 10][..])
        );
        assert_eq!((&merged.trace.pauses.start[..], &merged.trace.pauses.port[..]), (&[100, 700][..], &[4, 3][..]));
        assert_eq!(
            (merged.trace.drops.frames, merged.flows[0].dropped, merged.counters.frames_dropped),
            (vec![2], 2, 2)
        );
    }

    #[test]
    fn a_capture_ends_when_it_is_full() {
        let mut records = Records::new(1, 0);
        for at in 0..10 {
            records.capture(at, 0, Direction::Sent, &[0; 100], 60, MOST_CAPTURED / 300);
        }
        assert!(records.captured.len() >= 2 && records.not_captured > 0);
        assert_eq!((records.captured[0].octets.len(), records.captured[0].wire_len), (60, 100));
    }
}
