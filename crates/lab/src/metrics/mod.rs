//! Metrics: each is defined once, in words and in code, and has a window of time where the definition allows it.

mod catalogue;
mod collective;
mod completion;
mod fact;
mod flow_octets;
mod in_window;
mod meter;
mod recovery;
mod tallies;
mod view;
mod windows;

use crate::fabric::Fabric;
use Fact::*;
use completion::percentile;
use flow_octets::FlowOctets;
use qcnlab_scenario::Scenario;
use qcnlab_sim::Finished;
use tallies::SampleStats;
use view::{RunView, mean, took_ms};

pub use catalogue::{metrics_json, window_metrics_json};
pub(crate) use collective::{CausesByFlow, CollectiveRun, causes};
pub(crate) use completion::{Completion, completions};
pub use fact::Fact;
pub use in_window::{Traces, WINDOW_METRICS, WindowError, WindowMetric, metric_in_window};
pub(crate) use meter::Meter;
pub use recovery::recovery_bin;

/// A metric's name, unit and definition.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name in tables and files; ends in its unit where it has one.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its unit, or "" for a bare number.
    pub unit: &'static str,
    /// The definition.
    pub about: &'static str,
    /// Where it is taken from.
    pub source: &'static str,
    /// What it is about, and where it is shown unasked.
    pub facts: &'static [Fact],
    definition: Definition,
}

impl Metric {
    /// Whether it is a share of a whole: from 0 to 1.
    pub fn is_share(&self) -> bool {
        self.facts.contains(&Share)
    }
}

/// How a metric is computed: a formula, and the window that it takes in the metric of the whole run.
#[derive(Clone, Copy, Debug)]
enum Definition {
    /// Of the bottleneck's queue samples outside the hotspot and its recovery.
    Queue(fn(&SampleStats) -> f64),
    /// Of the octets of all flows outside the hotspot and its recovery.
    Outside(fn(&FlowOctets) -> Option<f64>),
    /// Of the octets of some flows from the end of warm-up to the end. The first function is told whether a flow crosses
    /// the bottleneck, and returns whether it counts.
    Whole(fn(bool) -> bool, fn(&FlowOctets) -> Option<f64>),
    /// Of the octets of the flows that cross the bottleneck, from the end of warm-up to the end, where all their octets
    /// cross it.
    Through(fn(&FlowOctets) -> Option<f64>),
    /// Of the run as a whole; there is no other window.
    Run(fn(&RunView<'_>) -> Option<f64>),
}

impl Definition {
    fn of(self, view: &RunView<'_>) -> Option<f64> {
        match self {
            Definition::Queue(of) => view.queue(of),
            Definition::Outside(of) => of(&view.octets_outside()),
            Definition::Whole(counts, of) => of(&view.octets_whole(counts)),
            Definition::Through(of) => view.through().and_then(|_| of(&view.octets_whole(|crosses| crosses))),
            Definition::Run(of) => of(view),
        }
    }
}

/// Every metric, in the order of tables.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "recovery_ms",
        title: "recovery",
        unit: "ms",
        about: "From the end of the hotspot to the start of the first throughput bin from which on the bottleneck \
                carries, on average over 1 ms and over record.recovery_hold, by default 10 ms, at least 95 % of what the \
                link and the sources allow: the smaller of link rate and offered rate. None when it never does.",
        source: "decks 000 and 001, recovery time",
        definition: Definition::Run(|view| view.ms_after_hotspot(|bins| bins.recovery.first())),
        facts: &[Never("did not recover"), OfHotspot, Compared(7), Swept(1), Drawn(1), Live(1), Page],
    },
    Metric {
        name: "rec95_ms",
        title: "first at 95 %",
        unit: "ms",
        about: "From the end of the hotspot to the start of the first throughput bin at 95 % or more of what the link \
                and the sources allow: the smaller of link rate and offered rate.",
        source: "deck 001, recovery time, read as a single bin",
        definition: Definition::Run(|view| view.ms_after_hotspot(|bins| bins.one_at_95.first())),
        facts: &[Never("did not recover"), OfHotspot],
    },
    Metric {
        name: "rec95s_ms",
        title: "lasting at 95 %",
        unit: "ms",
        about: "As rec95_ms, but the bin is the first of those that last at 95 % or more for record.rec95s_hold, by \
                default 5 ms.",
        source: "deck 001, recovery time, read as a lasting level",
        definition: Definition::Run(|view| view.ms_after_hotspot(|bins| bins.lasting_at_95.first())),
        facts: &[Never("did not recover"), OfHotspot],
    },
    Metric {
        name: "onset_ms",
        title: "settling at onset",
        unit: "ms",
        about: "From the start of the hotspot until the queue stays at or below twice the set point for \
                record.onset_hold, by default 10 ms. None when it never does, or the scheme has no set point.",
        source: "deck 000, Downward Transience",
        definition: Definition::Run(|view| view.onset_ms()),
        facts: &[Never("did not settle"), OfHotspot, Compared(8), Page],
    },
    Metric {
        name: "util_before",
        title: "utilisation before",
        unit: "",
        about: "Octets through the bottleneck from the end of warm-up to the start of the hotspot (without one, to \
                the end), as a share of what the link could carry.",
        source: "-",
        definition: Definition::Run(|view| view.share_of_link(view.through()?.before.value())),
        facts: &[Share, OutsideHotspot, OnePort, Live(2), Page],
    },
    Metric {
        name: "util_during",
        title: "utilisation during",
        unit: "",
        about: "Octets through the bottleneck during the hotspot, as a share of what it could carry then: at the \
                hotspot's rate, or at its own where the hotspot slows another port.",
        source: "-",
        definition: Definition::Run(|view| Some(view.through()?.during.value()? / view.hotspot_bps?)),
        facts: &[Share, OfHotspot, Live(3), Page],
    },
    Metric {
        name: "util_after",
        title: "utilisation after",
        unit: "",
        about: "Octets through the bottleneck from the end of the hotspot to the end of the run, recovery included, \
                as a share of what the link could carry.",
        source: "-",
        definition: Definition::Run(|view| view.share_of_link(view.through()?.after.value())),
        facts: &[Share, OfHotspot, Live(4), Page],
    },
    Metric {
        name: "throughput_outside_gbps",
        title: "throughput outside",
        unit: "Gb/s",
        about: "Mean rate through the bottleneck outside the hotspot and its recovery: from the end of warm-up to \
                its start, and from the end of recovery (of the hotspot, where there is no recovery) to the end.",
        source: "-",
        definition: Definition::Run(|view| Some(view.outside_bps()? * 1e-9)),
        facts: &[OutsideHotspot, Rates, OnePort, Page],
    },
    Metric {
        name: "queue_mean_bytes",
        title: "queue mean",
        unit: "B",
        about: "Mean of the bottleneck's queue samples outside the hotspot and its recovery.",
        source: "-",
        definition: Definition::Queue(SampleStats::mean),
        facts: &[OnePort, Compared(4), Swept(5), Drawn(3), Advised(4), Live(5), Page],
    },
    Metric {
        name: "queue_std_bytes",
        title: "queue std",
        unit: "B",
        about: "Standard deviation of the bottleneck's queue samples outside the hotspot and its recovery.",
        source: "-",
        definition: Definition::Queue(SampleStats::deviation),
        facts: &[OnePort, Compared(5), Swept(6), Page],
    },
    Metric {
        name: "queue_max_bytes",
        title: "queue max",
        unit: "B",
        about: "Largest of the bottleneck's queue samples outside the hotspot and its recovery.",
        source: "-",
        definition: Definition::Queue(SampleStats::largest),
        facts: &[OnePort, Compared(6), Advised(5), Live(7)],
    },
    Metric {
        name: "queue_empty_frac",
        title: "queue empty",
        unit: "",
        about: "Share of the bottleneck's queue samples outside the hotspot and its recovery at which it is empty.",
        source: "-",
        definition: Definition::Queue(SampleStats::share_of_zeros),
        facts: &[Share, OnePort, Page],
    },
    Metric {
        name: "queue_during_bytes",
        title: "queue during",
        unit: "B",
        about: "Mean of the bottleneck's queue samples during the hotspot.",
        source: "deck 003, Queue Length",
        definition: Definition::Run(|view| view.queue_during()),
        facts: &[OfHotspot, Live(6)],
    },
    Metric {
        name: "drops",
        title: "drops",
        unit: "frames",
        about: "Data frames that were discarded in the whole run: for lack of room, early, by watchdogs, and with failed \
                links.",
        source: "-",
        definition: Definition::Run(|view| Some(view.done.counters.frames_dropped as f64)),
        facts: &[SilentAtZeroBeside, Compared(9), Swept(7), Advised(9), Live(9), Page],
    },
    Metric {
        name: "messages",
        title: "messages",
        unit: "messages",
        about: "Messages that congestion points, and receivers that answer marked frames (CNPs of DCQCN), sent in the whole \
                run, and those of ports that tell a neighbour of a congesting flow (CIMs of 802.1Qcz), which the table of \
                messages does not list. Marks that come back on acknowledgements are none.",
        source: "-",
        definition: Definition::Run(|view| Some(view.done.counters.messages_sent as f64)),
        facts: &[SilentAtZero, Compared(11), Advised(8), Live(8), Page],
    },
    Metric {
        name: "false_alarms",
        title: "false alarms",
        unit: "",
        about: "Times a reaction point concluded from silence that its path has bandwidth although a congestion \
                point on the path had had none ever since it asked, in the whole run. Zero for schemes that \
                never conclude that.",
        source: "deck 000, SONAR",
        definition: Definition::Run(|view| Some(view.done.counters.false_alarms as f64)),
        facts: &[SilentAtZero],
    },
    Metric {
        name: "jain",
        title: "Jain index",
        unit: "",
        about: "Jain's fairness index of the sources' mean rates outside the hotspot and its recovery: \
                (sum x)^2 / (n sum x^2), 1 when all are equal, 1/n when one has all.",
        source: "Jain, Chiu, Hawe 1984, DEC-TR-301",
        definition: Definition::Outside(FlowOctets::jain),
        facts: &[Share, Rates, Several, Compared(18), Swept(8), Live(10), Page],
    },
    Metric {
        name: "bottleneck_gbps",
        title: "through the bottleneck",
        unit: "Gb/s",
        about: "Mean rate that the flows which cross the bottleneck get, from the end of warm-up to the end of the \
                run, hotspots included. Each metric of the bottleneck's throughput counts these flows where they \
                end. All of them are None where a flow crosses the bottleneck with only a part of its frames, as it takes \
                several ways or its way changes: what crosses one port is then not known where flows end.",
        source: "deck 004, hot port throughput",
        definition: Definition::Through(FlowOctets::total_gbps),
        facts: &[OnePort, Compared(1), Swept(4)],
    },
    Metric {
        name: "aggregate_gbps",
        title: "all flows",
        unit: "Gb/s",
        about: "Mean rate that all flows get together, from the end of warm-up to the end of the run, hotspots \
                included.",
        source: "deck 004, aggregate throughput",
        definition: Definition::Whole(|_| true, FlowOctets::total_gbps),
        facts: &[Compared(2), Page],
    },
    Metric {
        name: "victim_gbps",
        title: "slowest elsewhere",
        unit: "Gb/s",
        about: "Mean rate of the slowest of the flows that do not cross the bottleneck, from the end of warm-up to \
                the end of the run. None when all cross it.",
        source: "deck 004, Baseline Input-Generated Hotspot",
        definition: Definition::Whole(|crosses| !crosses, FlowOctets::lowest_gbps),
        facts: &[Rates, OnePort, Compared(3), Page],
    },
    Metric {
        name: "rate_ratio",
        title: "largest by smallest rate",
        unit: "",
        about: "Largest by smallest of the mean rates of flows that cross the bottleneck, from the end of warm-up to \
                the end of the run. None when one gets nothing.",
        source: "deck 003, Conclusion: maximum to minimum source rate ratio",
        definition: Definition::Whole(|crosses| crosses, FlowOctets::rate_ratio),
        facts: &[Rates, Several, OnePort, Compared(19)],
    },
    Metric {
        name: "off_max_min",
        title: "off max-min shares",
        unit: "",
        about: "How far the flows' mean rates outside the hotspot and its recovery are from their max-min fair \
                shares: the root of the mean squared difference, each as a part of its share. Shares are of the \
                links' rates, up to what each flow offers, without the frames' overhead. None with more than 2000 \
                flows.",
        source: "deck 004, Parking Lot Scenario",
        definition: Definition::Run(|view| view.off(view.shares()?.max_min.as_ref()?)),
        facts: &[Rates],
    },
    Metric {
        name: "off_proportional",
        title: "off proportional shares",
        unit: "",
        about: "As off_max_min, from the proportionally fair shares: those that make the sum of the logarithms of \
                the rates as large as it can be.",
        source: "deck 004, Parking Lot Scenario",
        definition: Definition::Run(|view| view.off(view.shares()?.proportional.as_ref()?)),
        facts: &[Rates],
    },
    Metric {
        name: "refused",
        title: "refused at sources",
        unit: "frames",
        about: "Frames that found the queue behind their limiter full and were discarded there, in the whole run.",
        source: "deck 004, Switch and Adapter Parameters",
        definition: Definition::Run(|view| Some(view.done.counters.frames_refused as f64)),
        facts: &[SilentAtZero, Compared(10)],
    },
    Metric {
        name: "started",
        title: "flows of a size",
        unit: "flows",
        about: "Flows of a size that started before the end of the run.",
        source: "-",
        definition: Definition::Run(|view| Some(view.started())),
        facts: &[SilentAtZero, Ending(5), Compared(20)],
    },
    Metric {
        name: "unfinished",
        title: "unfinished flows",
        unit: "flows",
        about: "Those flows of a size that started and did not finish before the end of the run.",
        source: "-",
        definition: Definition::Run(|view| Some(view.unfinished())),
        facts: &[SilentAtZero, Ending(6), Compared(21), Advised(3)],
    },
    Metric {
        name: "never_started",
        title: "flows that never started",
        unit: "flows",
        about: "Flows of a size that had not started at the end of the run: others that they wait for had not \
                completed, or jitter took their start beyond the end.",
        source: "-",
        definition: Definition::Run(|view| Some(view.never_started())),
        facts: &[SilentAtZero, Ending(7), Compared(22)],
    },
    Metric {
        name: "fct_mean_ms",
        title: "mean completion time",
        unit: "ms",
        about: "Mean, over all flows of a size that started, of the time from a flow's start to the delivery of its \
                last octet, or over RoCE to its acknowledgement. A flow that did not finish counts with its time up to \
                the end of the run, or what it would have taken alone if that is more: the value is then a lower bound. \
                None without such flows.",
        source: "-",
        definition: Definition::Run(|view| view.completion(took_ms, mean)),
        facts: &[AtLeastIf("unfinished"), Ending(1), Compared(23), Page],
    },
    Metric {
        name: "fct_p99_ms",
        title: "99 % completion time",
        unit: "ms",
        about: "As fct_mean_ms, but the smallest time that 99 % of these flows do not exceed.",
        source: "-",
        definition: Definition::Run(|view| view.completion(took_ms, |sorted| percentile(sorted, 99))),
        facts: &[AtLeastIf("unfinished"), Ending(2), Compared(24), Swept(3), Page],
    },
    Metric {
        name: "slowdown_mean",
        title: "mean slowdown",
        unit: "",
        about: "Mean, over all flows of a size that started, of the completion time by the time that the flow would \
                have taken alone (alone_s of the table of flows): store and forward over its way at the links' rates, \
                over RoCE with the way back of the last acknowledgement, of connections without their windows. A flow \
                that did not finish counts as in fct_mean_ms: the value is then a lower bound. None without such flows.",
        source: "pFabric, SIGCOMM 2013: normalised flow completion time",
        definition: Definition::Run(|view| view.completion(Completion::slowdown, mean)),
        facts: &[AtLeastIf("unfinished"), Ending(3), Compared(25), Swept(2), Drawn(2), Advised(1), Page],
    },
    Metric {
        name: "slowdown_p99",
        title: "99 % slowdown",
        unit: "",
        about: "As slowdown_mean, but the smallest slowdown that 99 % of these flows do not exceed.",
        source: "-",
        definition: Definition::Run(|view| view.completion(Completion::slowdown, |sorted| percentile(sorted, 99))),
        facts: &[AtLeastIf("unfinished"), Ending(4), Compared(26), Advised(2), Page],
    },
    Metric {
        name: "deadlock_ms",
        title: "deadlock",
        unit: "ms",
        about: "When links that PFC or PAUSE has stopped were found to wait for each other in a circle. The run ends \
                there, and every other metric is of the time before. None without a deadlock.",
        source: "-",
        definition: Definition::Run(|view| view.deadlock_ms()),
        facts: &[Compared(31), Page],
    },
    Metric {
        name: "timeouts",
        title: "timeouts",
        unit: "",
        about: "Times that the retransmission timer of a TCP connection or a RoCE queue pair ran out, in the whole run; zero without \
                either.",
        source: "deck 003, TCP: Discussion",
        definition: Definition::Run(|view| Some(view.sum_over_transports(|tcp| tcp.timeouts, |roce| roce.timeouts))),
        facts: &[SilentAtZero, Compared(27)],
    },
    Metric {
        name: "retransmitted",
        title: "repeats",
        unit: "frames",
        about: "Segments and packets that TCP connections and RoCE queue pairs sent again, in the whole run; zero without either.",
        source: "-",
        definition: Definition::Run(|view| {
            Some(view.sum_over_transports(|tcp| tcp.retransmitted, |roce| roce.retransmitted))
        }),
        facts: &[SilentAtZero, Compared(28)],
    },
    Metric {
        name: "spurious_repeats",
        title: "needless repeats",
        unit: "frames",
        about: "RoCE packets that reached their receiver although it had them, in the whole run: repeats of packets that were \
                late and not lost. None without RoCE.",
        source: "RFC 3708",
        definition: Definition::Run(|view| {
            view.queue_pair_counts(|roce| roce.spurious).map(|all| all.sum::<u64>() as f64)
        }),
        facts: &[SilentAtZero, Compared(29)],
    },
    Metric {
        name: "reorder_peak",
        title: "peak of packets out of order",
        unit: "frames",
        about: "The most packets that the receiver of a RoCE queue pair kept at once until one before them came: the reorder \
                buffer, or what selective repeat keeps. None without RoCE.",
        source: "-",
        definition: Definition::Run(|view| {
            view.queue_pair_counts(|roce| roce.most_kept)?.max().map(|most| most as f64)
        }),
        facts: &[SilentAtZero, Compared(30)],
    },
    Metric {
        name: "pause_frames",
        title: "pause frames",
        unit: "frames",
        about: "Pause frames sent in the whole run, those that let go included.",
        source: "-",
        definition: Definition::Run(|view| Some(view.done.counters.pause_frames as f64)),
        facts: &[SilentAtZero, Compared(12), Advised(6), Live(11), Page],
    },
    Metric {
        name: "storm_frames",
        title: "pause frames of storms",
        unit: "frames",
        about: "Pause frames that the hosts of [[pause_storm]] sent in their storms, those that let go included; \
                pause_frames counts them, too. None without such a table.",
        source: "-",
        definition: Definition::Run(|view| view.count_if(view.parts.storms, |counters| counters.storm_frames)),
        facts: &[Compared(13)],
    },
    Metric {
        name: "watchdog_drops",
        title: "drops by watchdogs",
        unit: "frames",
        about: "Data frames that were dropped because a watchdog took their queue for stuck: those that waited there, and \
                those that came. drops counts them, too. None without [[watchdog]].",
        source: "-",
        definition: Definition::Run(|view| view.count_if(view.parts.watchdogs, |counters| counters.watchdog_drops)),
        facts: &[Compared(14)],
    },
    Metric {
        name: "link_drops",
        title: "drops by failed links",
        unit: "frames",
        about: "Data frames that were lost with a link of [[failure]]: on it, waiting for it at a switch, or coming to it \
                while it was down. drops counts them, too. None without such a table.",
        source: "-",
        definition: Definition::Run(|view| view.count_if(view.parts.failures, |counters| counters.link_drops)),
        facts: &[Compared(15)],
    },
    Metric {
        name: "trimmed",
        title: "trimmed packets",
        unit: "frames",
        about: "RoCE packets that switches cut to their heads, each as often as it was cut, in the whole run. drops counts \
                them, too. None where no switch has trim_to.",
        source: "-",
        definition: Definition::Run(|view| view.count_if(view.parts.trimming, |counters| counters.packets_trimmed)),
        facts: &[Compared(16)],
    },
    Metric {
        name: "paused_frac",
        title: "paused longest",
        unit: "",
        about: "Share of the run during which the port that was stopped longest was stopped; for each class by \
                itself if classes stop by themselves.",
        source: "-",
        definition: Definition::Run(|view| Some(view.meter.paused_frac())),
        facts: &[Share, SilentAtZero, Compared(17), Advised(7), Page],
    },
];

/// The metrics of one run, in the order of [`METRICS`].
pub(crate) fn measure(scenario: &Scenario, fabric: &Fabric, meter: Meter, done: &Finished) -> Vec<Option<f64>> {
    let view = RunView::new(scenario, fabric, meter, done);
    METRICS.iter().map(|metric| metric.definition.of(&view)).collect()
}

/// The metrics of a run without packets, in the order of [`METRICS`]; none but those of flows that end.
pub(crate) fn measure_flows(scenario: &Scenario, fabric: &Fabric, done: &Finished) -> Vec<Option<f64>> {
    let view = RunView::new(scenario, fabric, Meter::new(scenario, fabric), done);
    let known = |metric: &&Metric| metric.facts.iter().any(|fact| matches!(fact, Fact::Ending(_)));
    METRICS.iter().map(|metric| Some(metric).filter(known).and_then(|metric| metric.definition.of(&view))).collect()
}

#[cfg(test)]
mod tests;
