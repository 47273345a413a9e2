//! The limiters of a host: for each a reaction point, its pacer, and the frames that wait for it.

use crate::layout::{CN_TAG, Layout, TAGGED_HEADER};
use crate::port::Queued;
use crate::shaper::{LimiterKind, ShapedClass, WantedRate};
use qcnlab_schemes::driver::Limiter;
use qcnlab_schemes::{Dice, Purpose, ReactionPoint};
use qcnlab_sim::{FlowId, LimiterId, NodeId, Plan};
use qcnlab_units::{BitRate, Bytes, IdVec, Instant};
use std::collections::VecDeque;

/// Octets that wait for a limiter without a limit of its own.
const MOST_WAITING: u64 = 8 << 20;
/// Octets that wait in the adapter behind the kernel's shaper, at least: what that lets pass while the link is busy.
const LEAST_BEHIND_KERNEL: u64 = 64 << 10;
/// CNMs that a limiter hears back to back.
const CNM_BURST: u64 = 100;
/// Octets at line rate for each CNM that a limiter hears in the long run: a quarter of the shortest interval between
/// two samples of one congestion point, 18.5 KB less its jitter.
const OCTETS_PER_CNM: u64 = 4_000;
/// Octets of an Ethernet header without tags.
const PLAIN_HEADER: u64 = 14;

/// Frames that wait behind the kernel's shaper when it is slowed down, and when it is all but stopped.
const MANY_BEHIND_KERNEL: u64 = 4;
const TOO_MANY_BEHIND_KERNEL: u64 = 32;

/// How much of its rate a limiter asks of the kernel's shaper: less while frames that passed it wait for the link, which
/// was busy, paused, or not looked at. A card tells its queue to stop for that; a TAP interface would drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BackPressure {
    None,
    /// Nine tenths of the rate.
    Slow,
    /// And no more than a hundredth of the link.
    Hold,
}

impl BackPressure {
    /// What it becomes when so many frames wait.
    fn with_waiting(self, frames: u64) -> BackPressure {
        match self {
            _ if frames > TOO_MANY_BEHIND_KERNEL => BackPressure::Hold,
            BackPressure::None if frames > MANY_BEHIND_KERNEL => BackPressure::Slow,
            BackPressure::Hold if frames <= MANY_BEHIND_KERNEL => BackPressure::Slow,
            _ if frames == 0 => BackPressure::None,
            same => same,
        }
    }

    /// The rate to ask for in place of `rate`, on a link of rate `line`.
    fn lowered(self, rate: BitRate, line: BitRate) -> BitRate {
        let slow = BitRate::bps(rate.get() / 10 * 9);
        match self {
            BackPressure::None => rate,
            BackPressure::Slow => slow,
            BackPressure::Hold => slow.min(BitRate::bps(line.get() / 100)),
        }
    }
}

/// Lets so many events pass in a burst, and one each interval in the long run.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    /// When the bucket would be empty, ps, counted in intervals before now.
    full_at: u64,
    interval: u64,
    burst: u64,
}

impl TokenBucket {
    fn new(interval: u64, burst: u64) -> TokenBucket {
        TokenBucket { full_at: 0, interval, burst }
    }

    pub(crate) fn take(&mut self, now: u64) -> bool {
        let base = self.full_at.max(now);
        if base + self.interval > now + self.interval * self.burst {
            return false;
        }
        self.full_at = base + self.interval;
        true
    }
}

/// A limiter of the host, and the frames that wait for it.
#[derive(Debug)]
pub(crate) struct HostLimiter {
    pub(crate) rpid: u16,
    /// Its id in the plan.
    pub(crate) id: LimiterId,
    pub(crate) driver: Limiter,
    kind: LimiterKind,
    pub(crate) waiting: VecDeque<Queued>,
    pub(crate) octets: u64,
    pub(crate) room: u64,
    /// Octets that wait for it in the kernel's shaper, as last told.
    pub(crate) in_kernel: u64,
    back_pressure: BackPressure,
    /// Whether it took frames since the kernel was last asked what waits there.
    pub(crate) took_frames: bool,
    /// The latest instant that the reaction point was told of, ps.
    pub(crate) told: u64,
    pub(crate) cnms: TokenBucket,
    /// Signals that it has heard.
    pub(crate) heard: u64,
    /// Whether its frames carry a CN-TAG.
    pub(crate) cn_tag: bool,
    pub(crate) class: u8,
    pub(crate) flows: Vec<FlowId>,
    /// The last frame that it let pass with another one waiting behind: its octets, and the rate then.
    before: Option<(Bytes, BitRate)>,
    /// When the last frame was put on the link, ps; 0 for none.
    pub(crate) left: u64,
    frame: Bytes,
    burst: Bytes,
    /// Octets that may wait for it, wherever they do.
    most: u64,
}

impl HostLimiter {
    /// The instant before which no frame may pass. Behind the kernel's shaper frames have waited already, so that only
    /// a limiter that is stopped holds them.
    pub(crate) fn next(&self) -> Instant {
        let next = self.driver.pacer.next();
        match self.kind {
            LimiterKind::Htb if next != Instant::NEVER => Instant::ZERO,
            LimiterKind::Adapter | LimiterKind::Htb => next,
        }
    }

    /// A frame of `size` octets passes, and is no longer among those that wait. Returns the distance that the law asks
    /// for between the last frame and this one, ps; 0 where it asks for none, or where the rate has changed since.
    pub(crate) fn on_sent(&mut self, at: u64, size: u64) -> u64 {
        let rate = self.driver.pacer.rate().filter(|rate| *rate > BitRate::ZERO);
        let asked = match (rate, self.before) {
            (Some(rate), Some((before, then))) if rate == then => rate.time_for_rounded_up(self.counted(before)).ps(),
            _ => 0,
        };
        self.told = self.told.max(at);
        let behind = self.octets + self.in_kernel;
        self.before = rate.filter(|_| behind > 0).map(|rate| (Bytes::new(size), rate));
        if !self.driver.never_limits {
            let _ = self.driver.on_sent(Instant::from_ps(self.told), Bytes::new(size), behind);
            let _ = self.driver.changed_wake();
        }
        asked
    }

    /// Looks at what waits behind the kernel's shaper.
    pub(crate) fn update_back_pressure(&mut self) {
        self.back_pressure = self.back_pressure.with_waiting(self.octets / self.frame.get().max(1));
    }

    /// What it asks of the kernel's shaper, on a link of this rate.
    pub(crate) fn wanted(&self, line: BitRate) -> WantedRate {
        let reaction = self.driver.pacer.rate().map_or(line, |rate| rate.min(line));
        WantedRate { reaction, asked: self.back_pressure.lowered(reaction, line) }
    }

    /// What a frame of so many octets counts at its rate.
    pub(crate) fn counted(&self, frame: Bytes) -> Bytes {
        frame + self.driver.rp.pacing().overhead
    }

    /// Its class in the kernel's shaper.
    pub(crate) fn shaped_class(&self) -> ShapedClass {
        let tags = TAGGED_HEADER - PLAIN_HEADER + if self.cn_tag { CN_TAG } else { 0 };
        ShapedClass {
            rpid: self.rpid,
            frame: self.frame,
            burst: self.burst.max(self.frame),
            overhead: self.counted(Bytes::new(tags)),
            room: Bytes::new(self.most),
        }
    }
}

/// The limiters of a host, and for each flow of the plan the position of its limiter among them.
pub(crate) fn limiters_of(
    plan: &Plan,
    layout: &Layout,
    host: NodeId,
    kind: LimiterKind,
) -> (Vec<HostLimiter>, IdVec<FlowId, Option<usize>>) {
    let rate = layout.ways[layout.uplink(host)].shape.rate;
    let mut limiters: Vec<HostLimiter> = Vec::new();
    let mut limiter_of = IdVec::for_each_of(&plan.flows, None);
    let flows = plan.flows.enumerate().zip(&layout.flows);
    for ((index, flow), ends) in flows.filter(|(_, ends)| ends.source == host) {
        let known = limiters.iter().position(|limiter| limiter.rpid == ends.rpid);
        let position = known.unwrap_or_else(|| {
            let dice = Dice::new(plan.seed, plan.replication, &flow.name, Purpose::Reaction);
            let rp = plan.scheme.reaction_point(rate);
            let interval = rate.time_for_rounded_up(Bytes::new(OCTETS_PER_CNM)).ps().max(1);
            let most = flow.room.map_or(MOST_WAITING, Bytes::get).min(MOST_WAITING);
            limiters.push(HostLimiter {
                rpid: ends.rpid,
                id: flow.limiter,
                burst: flow.burst.unwrap_or(rp.pacing().burst),
                driver: Limiter::new(rp, flow.frame, flow.burst, flow.rate_step, dice, Instant::ZERO),
                kind,
                waiting: VecDeque::new(),
                octets: 0,
                room: if kind == LimiterKind::Htb { most.max(LEAST_BEHIND_KERNEL) } else { most },
                in_kernel: 0,
                back_pressure: BackPressure::None,
                took_frames: false,
                told: 0,
                cnms: TokenBucket::new(interval, CNM_BURST),
                heard: 0,
                cn_tag: flow.cn_tag && flow.controlled,
                class: flow.class,
                flows: Vec::new(),
                before: None,
                left: 0,
                frame: flow.frame,
                most,
            });
            limiters.len() - 1
        });
        limiters[position].flows.push(index);
        limiter_of[index] = Some(position);
    }
    (limiters, limiter_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A burst of 3, then one in 10 ps.
    #[test]
    fn a_flood_passes_at_its_rate() {
        let mut bucket = TokenBucket::new(10, 3);
        let passed = |bucket: &mut TokenBucket, at| (0..10).filter(|_| bucket.take(at)).count();
        assert_eq!([0, 5, 10, 15, 40, 1000].map(|at| passed(&mut bucket, at)), [3, 0, 1, 0, 3, 3]);
    }

    /// Five frames slow it down until none waits, 33 all but stop it until four wait. Of 50 Mb/s on a link of 100 nine
    /// tenths are 45, of 0.5 Mb/s 0.45, and a hundredth of the link is 1.
    #[test]
    fn what_waits_behind_the_kernel_slows_it_down() {
        use BackPressure::{Hold, None, Slow};
        let mut state = None;
        let mut after = |frames| {
            state = state.with_waiting(frames);
            state
        };
        let waiting = [4, 5, 1, 0, 33, 32, 5, 4, 1, 0, 40, 0, 0];
        let expected = [None, Slow, Slow, None, Hold, Hold, Hold, Slow, Slow, None, Hold, Slow, None];
        assert_eq!(waiting.map(&mut after), expected);
        let asked = |state: BackPressure, rate| state.lowered(BitRate::bps(rate), BitRate::mbps(100)).get();
        assert_eq!([None, Slow, Hold].map(|state| asked(state, 50_000_000)), [50_000_000, 45_000_000, 1_000_000]);
        assert_eq!([None, Slow, Hold].map(|state| asked(state, 500_000)), [500_000, 450_000, 450_000]);
    }
}
