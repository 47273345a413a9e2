//! What a live run gives: the outcome of a scenario like any other, and the run's own account beside it.

use crate::clock::Stopped;
use crate::defence::DefenceEnd;
use crate::gate::{ClockStops, Scales, Timing, fastest, longest_gap};
use crate::intruder::IntruderEnd;
use crate::iperf::IperfEnd;
use crate::layout::Layout;
use crate::loops::LoopEnd;
use crate::record::{CapturedFrame, Merged, Records, Refused, merge};
use crate::shaper::{KernelLimit, LimiterKind, ShaperEnd};
use crate::spacing::Spacing;
use crate::streams::StreamEnd;
use qcnlab_lab::Outcome;
use qcnlab_sim::{Ending, Finished, FlowId, FlowTally, NodeId, Plan, Traffic};
use qcnlab_units::{Bytes, Id, IdVec, Instant};
use serde_json::{Value, json};
use std::sync::Arc;

/// What a live run gave.
#[derive(Debug)]
pub struct LiveRun {
    /// The outcome of the slowed scenario, as of a simulated one.
    pub outcome: Outcome,
    /// What the run measured of itself.
    pub timing: Timing,
    /// What hostile or odd frames were met.
    pub refused: Refused,
    /// Both ends of TCP streams: octets, and those of them that were wrong.
    pub streams: Vec<StreamEnd>,
    /// What iperf3 says of each flow, where it made the traffic.
    pub iperf3: Vec<IperfEnd>,
    /// Datagrams that applications received, by host.
    pub datagrams: Vec<(String, u64, u64)>,
    /// What the intruder did, where there was one.
    pub intruder: Option<IntruderEnd>,
    /// Pauses that found the record of them full.
    pub pauses_not_recorded: u64,
    /// What ports came to that defend a domain.
    pub defences: Vec<DefenceEnd>,
    /// The rates that the kernel's shaper was told, where it paced, in order of time for each host.
    pub kernel_limits: Vec<KernelLimit>,
    shapers: Vec<(String, ShaperEnd)>,
    spacing: Spacing,
    /// The captured frames.
    pub(crate) captured: Vec<CapturedFrame>,
    pub(crate) not_captured: u64,
    pub(crate) layout: Arc<Layout>,
    pub(crate) nodes: IdVec<NodeId, String>,
    scale: u32,
    limiter: LimiterKind,
    /// Frames of each flow that were sent and neither delivered nor dropped nor held at the end.
    pub unaccounted: i64,
}

impl LiveRun {
    pub(crate) fn new(outcome: Outcome, rest: Rest, scale: u32, limiter: LimiterKind) -> LiveRun {
        LiveRun {
            outcome,
            timing: rest.timing,
            refused: rest.refused,
            streams: rest.streams,
            iperf3: rest.iperf3,
            datagrams: rest.datagrams,
            intruder: rest.intruder,
            pauses_not_recorded: rest.pauses_not_recorded,
            defences: rest.defences,
            kernel_limits: rest.shapers.iter().flat_map(|(_, end)| end.limits.iter().copied()).collect(),
            shapers: rest.shapers,
            spacing: rest.spacing,
            captured: rest.captured,
            not_captured: rest.not_captured,
            layout: rest.layout,
            nodes: rest.nodes,
            scale,
            limiter,
            unaccounted: rest.unaccounted,
        }
    }

    /// The run's own account: scale, limiters, verdict on its timing, odd frames, streams.
    pub fn account_json(&self) -> Value {
        let refused: serde_json::Map<String, Value> =
            self.refused.by_name().into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
        let received = |stream: &&StreamEnd| stream.tally.segments == 0;
        json!({
            "scale": self.scale,
            "limiter": {
                "kind": self.limiter.name(),
                "spacing": self.spacing.to_json(),
                "shapers": self.shapers.iter().map(|(host, end)| end.to_json(host)).collect::<Vec<_>>(),
            },
            "timing": self.timing.to_json(),
            "refused": refused,
            "unaccounted_frames": self.unaccounted,
            "stream_octets_received": self.streams.iter().filter(received).map(|stream| stream.octets).sum::<u64>(),
            "stream_octets_wrong": self.streams.iter().map(|stream| stream.wrong).sum::<u64>(),
            "iperf3": self.iperf3.iter().map(iperf_json).collect::<Vec<_>>(),
            "datagrams_received": self.datagrams.iter().map(|(_, count, _)| count).sum::<u64>(),
            "frames_not_captured": self.not_captured,
            "pauses_not_recorded": self.pauses_not_recorded,
            "defences": self.defences.iter().map(defence_json).collect::<Vec<_>>(),
            "not_scaled": ["the kernel's smallest retransmission timeout of 200 ms", "scheduling of threads"],
        })
    }
}

fn defence_json(end: &DefenceEnd) -> Value {
    let modes: serde_json::Map<String, Value> =
        end.modes.iter().map(|(priority, mode)| (priority.to_string(), (*mode).into())).collect();
    json!({
        "port": end.port,
        "modes": modes,
        "settled_s": end.settled_at as f64 * 1e-12,
        "announcements_heard": end.announcements,
        "as_scenario": end.as_settled,
    })
}

fn iperf_json(end: &IperfEnd) -> Value {
    json!({
        "flow": end.flow.number(),
        "received_bytes": end.received,
        "seconds": end.seconds,
        "error": end.error,
    })
}

/// What a run gives beside its trace.
pub(crate) struct Rest {
    timing: Timing,
    refused: Refused,
    streams: Vec<StreamEnd>,
    iperf3: Vec<IperfEnd>,
    datagrams: Vec<(String, u64, u64)>,
    intruder: Option<IntruderEnd>,
    pauses_not_recorded: u64,
    defences: Vec<DefenceEnd>,
    shapers: Vec<(String, ShaperEnd)>,
    spacing: Spacing,
    captured: Vec<CapturedFrame>,
    not_captured: u64,
    layout: Arc<Layout>,
    nodes: IdVec<NodeId, String>,
    unaccounted: i64,
}

/// What a thread of a session gave.
pub(crate) enum PartEnd {
    Loop(Option<NodeId>, LoopEnd),
    Sender(StreamEnd, Records),
    Receiver(Vec<StreamEnd>),
    IperfClient,
    IperfServer(IperfEnd),
    Intruder(IntruderEnd),
}

/// Puts the ends of all threads together: the run as the simulator would tell it, and the rest.
pub(crate) fn put_together(
    plan: &Plan,
    layout: Arc<Layout>,
    ends: Vec<PartEnd>,
    steal: f64,
    memory_locked: bool,
    stopped: Stopped,
) -> (Finished, Rest) {
    let (mut all, mut loops, mut streams, mut datagrams) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut held, mut stack_drops, mut iperf3, mut intruder) = (0, 0, Vec::new(), None);
    let mut shapers = Vec::new();
    for end in ends {
        match end {
            PartEnd::Loop(node, end) => {
                held += end.held.iter().sum::<u64>();
                stack_drops += end.stack_drops;
                if let Some(host) = node {
                    let name = &plan.nodes[host].name;
                    datagrams.push((name.clone(), end.datagrams.0, end.datagrams.1));
                    shapers.extend(end.shaper.map(|end| (name.clone(), end)));
                }
                all.push(end.records);
                loops.push(end.health);
            }
            PartEnd::Sender(end, records) => {
                all.push(records);
                streams.push(end);
            }
            PartEnd::Receiver(ends) => streams.extend(ends),
            PartEnd::IperfServer(end) => iperf3.push(end),
            PartEnd::IperfClient => {}
            PartEnd::Intruder(end) => intruder = Some(end),
        }
    }
    let mut merged = merge(all, plan.flows.len());
    let fastest = fastest(plan);
    let longest = plan.flows.iter().map(|flow| flow.frame).max_by_key(|frame| frame.get()).unwrap_or(Bytes::new(1500));
    let set_point = plan.scheme.set_point().unwrap_or(Bytes::new(33_000));
    let us = |octets: Bytes| fastest.time_for_rounded_up(octets).seconds() * 1e6;
    let scales = Scales { frame_us: us(longest), set_point_us: us(set_point), gap: longest_gap(fastest) };
    let tally = |(flow, count): (FlowId, &crate::record::FlowCount)| {
        let planned = &plan.flows[flow];
        let total = planned.traffic.total().map(Bytes::get);
        let mut tally = FlowTally {
            sent: count.sent,
            sent_bytes: count.sent_octets,
            delivered: count.delivered,
            delivered_bytes: count.delivered_octets,
            dropped: count.dropped,
            refused: count.refused,
            total_bytes: total,
            started: planned.start,
            finished: if count.finished > 0 { Instant::from_ps(count.finished) } else { Instant::NEVER },
            ..FlowTally::default()
        };
        if let Traffic::Tcp { .. } = planned.traffic {
            let mut tcp = qcnlab_sim::TcpTally::default();
            for stream in streams.iter().filter(|stream| stream.flow == flow) {
                tcp.in_order_bytes += stream.tally.in_order_bytes;
                tcp.segments += stream.tally.segments;
                tcp.retransmitted += stream.tally.retransmitted;
                if let Some(finished) = stream.finished {
                    tally.finished = Instant::from_ps(finished);
                }
            }
            tally.tcp = Some(tcp);
        }
        tally
    };
    let flows: IdVec<FlowId, FlowTally> = merged.flows.enumerate().map(tally).collect();
    let counters = merged.counters;
    let accounted = counters.frames_delivered + counters.frames_dropped + held;
    let unaccounted = counters.frames_sent as i64 - accounted as i64;
    let rest = Rest {
        timing: Timing::new(loops, steal, stack_drops, memory_locked, scales, ClockStops { stopped, end: plan.end }),
        refused: merged.refused,
        streams,
        iperf3,
        datagrams,
        intruder,
        pauses_not_recorded: merged.pauses_not_recorded,
        defences: std::mem::take(&mut merged.defences),
        shapers,
        spacing: std::mem::take(&mut merged.spacing),
        captured: std::mem::take(&mut merged.captured),
        not_captured: merged.not_captured,
        layout,
        nodes: plan.nodes.iter().map(|node| node.name.clone()).collect(),
        unaccounted,
    };
    let Merged { trace, points, limiters, .. } = merged;
    (Finished { trace, counters, flows, points, limiters, end: plan.end, ending: Ending::Time }, rest)
}
