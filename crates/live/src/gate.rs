//! Whether the timing of a run can be trusted: what it measured of itself, against limits fixed beforehand.
//!
//! The limits stand in `docs/concepts/live.md`, with their reasons. A run outside them is not thrown away: it is
//! labelled, wherever it shows.

use crate::clock::Stopped;
use crate::health::{Lateness, LoopHealth};
use crate::sys::scheduling::SchedulingClass;
use qcnlab_sim::Plan;
use qcnlab_units::{BitRate, Bytes, Instant, Span};
use serde_json::{Value, json};

/// The label of a run outside the limits.
pub const INVALID: &str = "INVALID TIMING";

/// What a run may measure of itself at most, for its timing to be valid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The lateness that 99 % of frames stay below, in times that a full frame takes on the fastest link.
    pub late_99_frames: f64,
    /// The lateness that 99.9 % of frames stay below, in times that the set point's octets take on that link.
    pub late_999_set_points: f64,
    /// The longest time between two looks of an event loop, as octets that the fastest link sends in it.
    pub gap_octets: Bytes,
    /// The same in time, whatever the link's rate: the kernel's shortest timer in a run, that of delayed acknowledgements.
    pub gap_most: Span,
    /// The share of one core that all loops take together.
    pub cpu_share: f64,
    /// The share of CPU time that a hypervisor took from this machine.
    pub steal_share: f64,
    /// The share of a run's time for which its clock stood still. No single stop may be longer than `gap_most`.
    pub stopped_share: f64,
}

/// The limits of `docs/concepts/live.md`.
pub const LIMITS: Limits = Limits {
    late_99_frames: 1.25,
    late_999_set_points: 0.5,
    gap_octets: Bytes::new(60_000),
    gap_most: Span::from_ms(40),
    cpu_share: 0.8,
    steal_share: 0.01,
    stopped_share: 0.01,
};

/// The times of a run that its lateness is measured in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scales {
    /// Time of a full frame on the fastest link, us.
    pub(crate) frame_us: f64,
    /// Time of the set point's octets on the fastest link, us; of 33 KB for schemes without a set point.
    pub(crate) set_point_us: f64,
    /// The longest time between two looks of a loop.
    pub(crate) gap: Span,
}

/// Returns the rate of the fastest link.
pub(crate) fn fastest(plan: &Plan) -> BitRate {
    let fastest = plan.ports.iter().map(|port| port.rate).max_by_key(|rate| rate.get());
    fastest.unwrap_or_else(|| unreachable!("a plan has ports"))
}

/// Returns the longest time between two looks of a loop. A limiter that is late by no more sends what it owes.
pub(crate) fn longest_gap(fastest: BitRate) -> Span {
    fastest.time_for_rounded_up(LIMITS.gap_octets).min(LIMITS.gap_most)
}

/// How the clock of a run stood still, and when it ended by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ClockStops {
    pub(crate) stopped: Stopped,
    pub(crate) end: Instant,
}

impl ClockStops {
    /// Returns the share of the run's time, by the machine's clock, for which its own clock stood still.
    fn share(&self) -> f64 {
        let stopped = self.stopped.total_ns as f64;
        stopped / (self.end.ps() as f64 / 1000.0 + stopped).max(1.0)
    }
}

/// What a run measured of itself.
#[derive(Clone, Debug)]
pub struct Timing {
    loops: Vec<LoopHealth>,
    steal_share: f64,
    /// Frames that an application's stack dropped before the adapter took them.
    stack_drops: u64,
    memory_locked: bool,
    reasons: Vec<String>,
    scales: Scales,
    clock: ClockStops,
}

impl Timing {
    pub(crate) fn new(
        loops: Vec<LoopHealth>,
        steal_share: f64,
        stack_drops: u64,
        memory_locked: bool,
        scales: Scales,
        clock: ClockStops,
    ) -> Timing {
        let mut timing = Timing { loops, steal_share, stack_drops, memory_locked, reasons: Vec::new(), scales, clock };
        timing.reasons = timing.find_reasons();
        timing
    }

    /// Whether it lies within the limits.
    pub fn is_valid(&self) -> bool {
        self.reasons.is_empty()
    }

    /// What lies outside the limits, in words.
    pub fn reasons(&self) -> &[String] {
        &self.reasons
    }

    fn lateness(&self) -> Lateness {
        self.loops.iter().fold(Lateness::new(), |mut all, each| {
            all.add(&each.lateness);
            all
        })
    }

    /// The CPU that all loops took, of one core.
    fn cpu_share(&self) -> f64 {
        self.loops.iter().map(|each| each.cpu_share).sum()
    }

    fn gap_ms(&self) -> f64 {
        self.scales.gap.seconds() * 1000.0
    }

    fn find_reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        let limits = LIMITS;
        for each in &self.loops {
            let name = &each.name;
            let most_99 = limits.late_99_frames * self.scales.frame_us;
            if let Some(late) = each.lateness.permille_us(990).filter(|late| *late as f64 > most_99) {
                reasons
                    .push(format!("{name}: 1 % of frames left more than {late} us late; the limit is {most_99:.0} us"));
            }
            let most_999 = limits.late_999_set_points * self.scales.set_point_us;
            if let Some(late) = each.lateness.permille_us(999).filter(|late| *late as f64 > most_999) {
                reasons.push(format!(
                    "{name}: 0.1 % of frames left more than {late} us late; the limit is {most_999:.0} us"
                ));
            }
            let (gap, most_ms) = (each.longest_gap, self.gap_ms());
            let gap_ms = gap.us as f64 / 1000.0;
            if gap_ms > most_ms {
                let (at, waited) = (gap.at as f64 / 1e12, gap.waited_us as f64 / 1000.0);
                reasons.push(format!(
                    "{name}: did not look for {gap_ms:.1} ms up to {at:.3} s, {waited:.1} ms of it behind another thread; \
                     the limit is {most_ms:.1} ms"
                ));
            }
            if each.receive_drops > 0 {
                reasons.push(format!("{name}: {} frames found no room in the socket", each.receive_drops));
            }
            if each.send_failures > 0 {
                reasons.push(format!("{name}: the kernel did not take {} frames", each.send_failures));
            }
        }
        if self.cpu_share() > limits.cpu_share {
            let (took, most) = (self.cpu_share() * 100.0, limits.cpu_share * 100.0);
            reasons.push(format!(
                "all loops: took {took:.0} % of their core; the limit is {most:.0} %; a larger --scale takes less"
            ));
        }
        if self.steal_share > limits.steal_share {
            let (took, most) = (self.steal_share * 100.0, limits.steal_share * 100.0);
            reasons.push(format!("the hypervisor took {took:.1} % of the CPU; the limit is {most} %"));
        }
        reasons.extend(self.stopped_too_long());
        reasons
    }

    /// What is outside the limits of how the clock may stand still.
    fn stopped_too_long(&self) -> Vec<String> {
        let (stopped, share, limits) = (self.clock.stopped, self.clock.share(), LIMITS);
        let mut reasons = Vec::new();
        let (longest_ms, most_ms) = (stopped.longest_ns as f64 / 1e6, limits.gap_most.seconds() * 1000.0);
        if longest_ms > most_ms {
            let at = stopped.longest_at_ns as f64 / 1e9;
            reasons.push(format!(
                "the machine stood still for {longest_ms:.1} ms at {at:.3} s; the limit is {most_ms} ms"
            ));
        }
        if share > limits.stopped_share {
            let (took, most) = (share * 100.0, limits.stopped_share * 100.0);
            let times = stopped.times;
            reasons.push(format!(
                "the machine stood still for {took:.1} % of the run, {times} times in all; the limit is {most} %"
            ));
        }
        reasons
    }

    /// The best class of scheduling that all loops have.
    fn class(&self) -> SchedulingClass {
        self.loops.iter().map(|each| each.class).max().unwrap_or(SchedulingClass::Plain)
    }

    /// What was measured, the limits, and the verdict.
    pub fn to_json(&self) -> Value {
        let all = self.lateness();
        let late = |of: &Lateness| {
            json!({
                "frames": of.frames(),
                "p50_us": of.permille_us(500),
                "p99_us": of.permille_us(990),
                "p999_us": of.permille_us(999),
                "max_us": of.max_us(),
            })
        };
        let loops: Vec<Value> = self
            .loops
            .iter()
            .map(|each| {
                json!({
                    "name": each.name,
                    "scheduling": each.class.to_string(),
                    "lateness": late(&each.lateness),
                    "longest_gap_us": each.longest_gap.us,
                    "longest_gap_at_s": each.longest_gap.at as f64 / 1e12,
                    "longest_gap_waited_us": each.longest_gap.waited_us,
                    "cpu_share": each.cpu_share,
                    "passes": each.passes,
                    "receive_drops": each.receive_drops,
                    "send_failures": each.send_failures,
                })
            })
            .collect();
        json!({
            "valid": self.is_valid(),
            "label": if self.is_valid() { "" } else { INVALID },
            "reasons": self.reasons,
            "scheduling": self.class().to_string(),
            "memory_locked": self.memory_locked,
            "lateness": late(&all),
            "cpu_share": self.cpu_share(),
            "steal_share": self.steal_share,
            "stack_drops": self.stack_drops,
            "clock_stopped": {
                "times": self.clock.stopped.times,
                "total_ms": self.clock.stopped.total_ns as f64 / 1e6,
                "share": self.clock.share(),
                "longest_ms": self.clock.stopped.longest_ns as f64 / 1e6,
                "longest_at_s": self.clock.stopped.longest_at_ns as f64 / 1e9,
            },
            "limits": {
                "late_99_us": LIMITS.late_99_frames * self.scales.frame_us,
                "late_999_us": LIMITS.late_999_set_points * self.scales.set_point_us,
                "gap_ms": self.gap_ms(),
                "cpu_share": LIMITS.cpu_share,
                "steal_share": LIMITS.steal_share,
                "stopped_share": LIMITS.stopped_share,
                "stop_ms": LIMITS.gap_most.seconds() * 1000.0,
            },
            "loops": loops,
        })
    }
}

/// Ticks of all CPUs since the machine started, and those of them that a hypervisor took.
pub(crate) fn cpu_ticks() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields: Vec<u64> = text
        .lines()
        .next()
        .map(|line| line.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect())
        .unwrap_or_default();
    (fields.iter().take(8).sum(), fields.get(7).copied().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::Gap;

    fn health(late_us: u64) -> LoopHealth {
        let mut lateness = Lateness::new();
        (0..985).for_each(|_| lateness.count(0, 0));
        (0..15).for_each(|_| lateness.count(0, late_us * 1_000_000));
        LoopHealth {
            name: "switches".to_owned(),
            class: SchedulingClass::Fifo,
            lateness,
            longest_gap: Gap { us: 4_000, at: 1_500_000_000_000, waited_us: 3_900 },
            cpu_share: 0.5,
            passes: 1,
            receive_drops: 0,
            send_failures: 0,
        }
    }

    /// 60,000 octets take 4.8 ms at 100 Mb/s, 48 at 10, where the kernel's timer of 40 ms comes first.
    #[test]
    fn a_slower_link_leaves_a_loop_more_time() {
        assert_eq!(
            [1000, 100, 40, 10].map(|mbps| longest_gap(BitRate::mbps(mbps))),
            [Span::from_us(480), Span::from_us(4800), Span::from_us(12_000), Span::from_ms(40),]
        );
        let scales = Scales { frame_us: 120.0, set_point_us: 2640.0, gap: longest_gap(BitRate::mbps(100)) };
        let timing = |us| {
            let longest_gap = Gap { us, ..health(0).longest_gap };
            Timing::new(vec![LoopHealth { longest_gap, ..health(0) }], 0.0, 0, true, scales, ClockStops::default())
        };
        assert!(timing(4_800).is_valid());
        let said =
            "switches: did not look for 4.9 ms up to 1.500 s, 3.9 ms of it behind another thread; the limit is 4.8 ms";
        assert_eq!(timing(4_900).reasons(), [said]);
    }

    /// Of 10 s, with 0.1 s beside them in which the clock stood still, 1 % is 101 ms.
    #[test]
    fn a_clock_may_stand_still_for_a_hundredth_of_a_run() {
        let scales = Scales { frame_us: 120.0, set_point_us: 2640.0, gap: Span::from_us(4800) };
        let timing = |total_ms: u64, longest_ms: u64| {
            let (total_ns, longest_ns) = (total_ms * 1_000_000, longest_ms * 1_000_000);
            let stopped = Stopped { times: 5, total_ns, longest_ns, longest_at_ns: 2_500_000_000 };
            let clock = ClockStops { stopped, end: Instant::from_ps(10_000_000_000_000) };
            Timing::new(vec![health(0)], 0.0, 0, true, scales, clock)
        };
        assert!(timing(100, 40).is_valid());
        assert_eq!(timing(100, 40).to_json()["clock_stopped"]["total_ms"], 100.0);
        assert_eq!(timing(100, 41).reasons(), ["the machine stood still for 41.0 ms at 2.500 s; the limit is 40 ms"]);
        let said = "the machine stood still for 2.0 % of the run, 5 times in all; the limit is 1 %";
        assert_eq!(timing(200, 40).reasons(), [said]);
    }

    /// 1500 octets at 100 Mb/s take 120 us, times 1.25 150 us; 33 KB 2640 us, half of it 1320 us.
    #[test]
    fn a_run_is_valid_within_all_limits_and_says_which_it_breaks() {
        let scales = Scales { frame_us: 120.0, set_point_us: 2640.0, gap: Span::from_us(4800) };
        let timing = |health| Timing::new(vec![health], 0.0, 0, true, scales, ClockStops::default());
        assert!(timing(health(150)).is_valid());
        let late = timing(health(151));
        assert_eq!(late.reasons(), ["switches: 1 % of frames left more than 151 us late; the limit is 150 us"]);
        assert_eq!(late.to_json()["label"], INVALID);
        let dropped =
            timing(LoopHealth { receive_drops: 1, longest_gap: Gap { us: 6_000, ..Gap::default() }, ..health(0) });
        assert_eq!(dropped.reasons().len(), 2);
        assert!(!Timing::new(vec![health(0)], 0.02, 0, true, scales, ClockStops::default()).is_valid());
        // Two loops of half a core each: the one core that they share is busy throughout.
        let busy = Timing::new(vec![health(0), health(0)], 0.0, 0, true, scales, ClockStops::default());
        let expected = "all loops: took 100 % of their core; the limit is 80 %; a larger --scale takes less";
        assert_eq!(busy.reasons(), [expected]);
    }
}
