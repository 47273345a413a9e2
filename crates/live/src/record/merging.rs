//! How what all threads of a run recorded becomes one trace.

use super::{CapturedFrame, FlowCount, Records, Refused};
use crate::defence::DefenceEnd;
use crate::spacing::Spacing;
use qcnlab_schemes::driver::LimiterTally;
use qcnlab_sim::trace::{
    DropKind, DropRows, MessageRows, PauseRows, PointTally, QueueRows, RateRows, ThroughputRows, WindowRows,
};
use qcnlab_sim::{Counters, FlowId, LimiterId, Trace};
use qcnlab_units::{Id, IdVec};
use std::collections::BTreeMap;

/// Appends each column of `$more` to that of `$rows`. A column that is not named does not compile.
macro_rules! append {
    ($rows:expr, $more:expr, $table:ident { $($column:ident),+ }) => {
        let $table { $($column),+ } = $more;
        $( $rows.$column.extend($column); )+
    };
}

/// The records of all threads as one trace.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) trace: Trace,
    pub(crate) counters: Counters,
    pub(crate) flows: IdVec<FlowId, FlowCount>,
    pub(crate) refused: Refused,
    pub(crate) points: Vec<PointTally>,
    pub(crate) limiters: IdVec<LimiterId, LimiterTally>,
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
        flows: vec![FlowCount::default(); flows].into(),
        refused: Refused::default(),
        points: Vec::new(),
        limiters: IdVec::new(),
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
        for (key, (last, frames, octets)) in records.drops {
            let sum: &mut (u64, u64, u64) = drops.entry(key).or_insert((0, 0, 0));
            *sum = (sum.0.max(last), sum.1 + frames, sum.2 + octets);
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
        trace.throughput.flow.push(flow.number());
        trace.throughput.bytes.push(octets);
    }
    trace.drops = DropRows::default();
    for ((time, port, flow), (last, frames, octets)) in drops {
        trace.drops.push(time, port.number(), flow.number(), DropKind::Dropped, last, (frames, octets));
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
    use qcnlab_sim::PortId;

    #[test]
    fn threads_become_one_trace_in_order_of_time() {
        let port = PortId::new;
        let mut one = Records::new(1000, 2);
        one.on_last_link(1000, FlowId::new(1), 100);
        one.on_last_link(1001, FlowId::new(1), 10);
        one.on_pause(700, 800, port(3), None, port(2));
        one.on_drop(5, port(3), FlowId::new(0), 60);
        let mut other = Records::new(1000, 2);
        other.on_last_link(1, FlowId::new(0), 7);
        other.on_last_link(900, FlowId::new(1), 1);
        other.on_pause(100, 900, port(4), Some(3), port(2));
        other.on_drop(6, port(3), FlowId::new(0), 60);
        let merged = merge(vec![one, other], 2);
        let rows = &merged.trace.throughput;
        assert_eq!(
            (&rows.time[..], &rows.flow[..], &rows.bytes[..]),
            (&[0, 0, 1000][..], &[0, 1, 1][..], &[7, 101, 10][..])
        );
        assert_eq!((&merged.trace.pauses.start[..], &merged.trace.pauses.port[..]), (&[100, 700][..], &[4, 3][..]));
        assert_eq!(
            (
                merged.trace.drops.frames,
                merged.trace.drops.last,
                merged.flows[FlowId::new(0)].dropped,
                merged.counters.frames_dropped
            ),
            (vec![2], vec![6], 2, 2)
        );
    }
}
