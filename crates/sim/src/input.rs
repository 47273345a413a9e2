//! The memory of one input of a node, and the gate that stops the link it is fed by.

use crate::plan::{NodePlan, PausePlan, PauseRule, PauseScope};
use qcnlab_units::Instant;

/// What a node holds of the frames that came in over one link.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    /// The port at the far end of the link.
    pub(crate) port: u32,
    memory: u64,
    high: u64,
    /// Octets that may come in uncounted, whatever has left.
    allowance: u64,
    /// As long as no class has more octets, nothing is discarded and nothing stopped.
    easy: u64,
    /// Octets held of each class; as of the last count if frames come in uncounted.
    by_class: [u64; 8],
    pub(crate) gate: Option<Gate>,
    pub(crate) dropped_frames: u64,
    pub(crate) dropped_bytes: u64,
}

/// Stops the link an input is fed by, and lets it go.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    pub(crate) plan: PausePlan,
    /// The port pause frames leave by: the other direction of the link.
    pub(crate) back: u32,
    /// Lanes that are stopped, a bit each.
    pub(crate) stopped: u8,
    /// The time that was asked for last ends, ps, for each lane.
    pub(crate) asked_until: [u64; 8],
    /// Lanes are asked for again then, ps; `u64::MAX` for never.
    pub(crate) again: [u64; 8],
    /// The output queue that was longest when a lane was stopped.
    pub(crate) because: [u32; 8],
}

impl Input {
    /// `classes` has a bit for each class that the link carries.
    pub(crate) fn new(port: u32, node: &NodePlan, back: Option<u32>, classes: u8) -> Input {
        let gate = node.pause.map(|plan| Gate {
            plan,
            back: back.expect("a link that is paused has two directions"),
            stopped: 0,
            asked_until: [0; 8],
            again: [u64::MAX; 8],
            because: [u32::MAX; 8],
        });
        let memory = node.input_memory.map_or(u64::MAX, |memory| memory.get());
        let high = match node.pause.map(|plan| plan.rule) {
            Some(PauseRule::Watermarks { high, .. }) => high.get(),
            Some(PauseRule::Threshold { .. }) | None => u64::MAX,
        };
        Input {
            port,
            memory,
            high,
            allowance: 0,
            easy: memory.min(high) / u64::from(classes.count_ones().max(1)),
            by_class: [0; 8],
            gate,
            dropped_frames: 0,
            dropped_bytes: 0,
        }
    }

    /// Octets held.
    pub(crate) fn held(&self) -> u64 {
        self.by_class.iter().sum()
    }

    /// Lets a frame in uncounted, as far as the allowance goes.
    #[inline(always)]
    pub(crate) const fn let_in(&mut self, size: u64) -> bool {
        let fits = size <= self.allowance;
        if fits {
            self.allowance -= size;
        }
        fits
    }

    /// Octets that may come in uncounted.
    pub(crate) const fn allowance(&self) -> u64 {
        self.allowance
    }

    /// Lets so much in uncounted that nothing is discarded and nothing stopped.
    pub(crate) fn allow(&mut self) {
        let most = (0..8).map(|lane| self.level(lane)).max().unwrap_or(0);
        self.allowance = self.memory.saturating_sub(self.held()).min(self.high.saturating_sub(most));
    }

    /// Lets nothing in uncounted.
    pub(crate) const fn allow_nothing(&mut self) {
        self.allowance = 0;
    }

    /// Whether at least a quarter of what an empty memory would let in may come in uncounted.
    pub(crate) const fn has_room(&self) -> bool {
        let most = if self.memory < self.high { self.memory } else { self.high };
        self.allowance >= most / 4
    }

    /// Starts a new count with nothing held.
    pub(crate) const fn forget(&mut self) {
        self.by_class = [0; 8];
    }

    /// Counts a frame that came in, if that leads to nothing else although what has left may still be counted.
    #[inline]
    pub(crate) fn hold_easily(&mut self, class: u8, size: u64) -> bool {
        let octets = self.by_class[usize::from(class)] + size;
        let easy = octets <= self.easy;
        if easy {
            self.by_class[usize::from(class)] = octets;
        }
        easy
    }

    /// Counts a frame that came in; false when there is no room and it is discarded.
    pub(crate) fn hold(&mut self, class: u8, size: u64) -> bool {
        if self.held() + size > self.memory {
            self.dropped_frames += 1;
            self.dropped_bytes += size;
            return false;
        }
        self.by_class[usize::from(class)] += size;
        true
    }

    /// Counts a frame that is held.
    pub(crate) const fn count(&mut self, class: u8, size: u64) {
        self.by_class[class as usize] += size;
    }

    /// Counts a frame that left the node.
    pub(crate) fn release(&mut self, class: u8, size: u64) {
        self.by_class[usize::from(class)] -= size;
    }

    /// Octets that decide about a lane.
    pub(crate) fn level(&self, lane: u8) -> u64 {
        match &self.gate {
            Some(Gate { plan: PausePlan { scope: PauseScope::Classes(_), .. }, .. }) => {
                self.by_class[usize::from(lane)]
            }
            _ => self.held(),
        }
    }

    /// The lane of `class` that has just risen above its high watermark.
    pub(crate) fn must_stop(&self, class: u8) -> Option<u8> {
        let gate = self.gate.as_ref()?;
        let PauseRule::Watermarks { high, .. } = gate.plan.rule else { return None };
        let lane = gate.lane(class)?;
        (gate.stopped & 1 << lane == 0 && self.level(lane) > high.get()).then_some(lane)
    }

    /// The lane of `class` that has just come down to its low watermark.
    pub(crate) fn may_go(&self, class: u8) -> Option<u8> {
        let gate = self.gate.as_ref()?;
        let PauseRule::Watermarks { low, .. } = gate.plan.rule else { return None };
        let lane = gate.lane(class)?;
        (gate.stopped & 1 << lane != 0 && self.level(lane) <= low.get()).then_some(lane)
    }

    /// The lane of `class` that an arrival at an output queue of `queued` octets stops.
    pub(crate) fn must_ask(&self, now: Instant, class: u8, queued: u64, asked_ps: impl Fn(u16) -> u64) -> Option<u8> {
        let gate = self.gate.as_ref()?;
        let PauseRule::Threshold { threshold, quanta } = gate.plan.rule else { return None };
        let lane = gate.lane(class)?;
        let left = gate.asked_until[usize::from(lane)].saturating_sub(now.ps());
        (queued >= threshold.get() && left <= asked_ps(quanta) / 2).then_some(lane)
    }
}

impl Gate {
    /// The lane that `class` belongs to: each paused class is its own; with 802.3x all share lane 0.
    pub(crate) fn lane(&self, class: u8) -> Option<u8> {
        match self.plan.scope {
            PauseScope::Link => Some(0),
            PauseScope::Classes(classes) => (classes & 1 << class != 0).then_some(class),
        }
    }

    /// The classes that stop with `lane`.
    pub(crate) fn classes(&self, lane: u8) -> u8 {
        match self.plan.scope {
            PauseScope::Link => u8::MAX,
            PauseScope::Classes(_) => 1 << lane,
        }
    }

    pub(crate) fn quanta(&self) -> u16 {
        match self.plan.rule {
            PauseRule::Watermarks { quanta, .. } | PauseRule::Threshold { quanta, .. } => quanta,
        }
    }

    /// When the next lane is asked for again, ps.
    pub(crate) fn next_again(&self) -> u64 {
        self.again.iter().copied().fold(u64::MAX, u64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qcnlab_units::{Bytes, Span};

    fn input(scope: PauseScope) -> Input {
        let rule = PauseRule::Watermarks { high: Bytes::new(6000), low: Bytes::new(3000), quanta: 65_535 };
        let node = NodePlan {
            name: "switch".to_owned(),
            input_memory: Some(Bytes::new(10_000)),
            pause: Some(PausePlan { scope, rule, reaction: Span::ZERO }),
        };
        Input::new(0, &node, Some(1), u8::MAX)
    }

    #[test]
    fn memory_is_kept_to_the_octet() {
        let mut input = input(PauseScope::Link);
        assert!(input.hold(0, 9000) && input.hold(3, 1000));
        assert!(!input.hold(0, 1));
        assert_eq!((input.held(), input.dropped_frames, input.dropped_bytes), (10_000, 1, 1));
        input.release(0, 9000);
        assert_eq!((input.held(), input.level(0)), (1000, 1000));
    }

    #[test]
    fn a_lane_stops_above_high_and_goes_at_low() {
        let mut input = input(PauseScope::Classes(0b1000));
        assert!(input.hold(3, 6000));
        assert_eq!(input.must_stop(3), None);
        assert!(input.hold(0, 3000));
        assert_eq!(input.must_stop(3), None);
        assert!(input.hold(3, 64));
        assert_eq!((input.must_stop(3), input.must_stop(0)), (Some(3), None));
        input.gate.as_mut().unwrap().stopped = 1 << 3;
        input.release(3, 3063);
        assert_eq!(input.may_go(3), None);
        input.release(3, 1);
        assert_eq!(input.may_go(3), Some(3));
    }

    #[test]
    fn what_may_come_in_uncounted_reaches_no_mark() {
        // 10 000 octets of memory, stops above 6000. Held are 1000 of class 3 and 5000 of class 0: 1000 more bring
        // the fuller one to its mark, 4000 more fill the memory.
        let mut classes = input(PauseScope::Classes(0b1001));
        assert!(classes.hold(3, 1000) && classes.hold(0, 5000));
        classes.allow();
        assert_eq!(classes.allowance(), 1000);
        assert!(!classes.has_room() && classes.let_in(1000) && !classes.let_in(1));
        // With 802.3x all of it counts.
        let mut link = input(PauseScope::Link);
        assert!(link.hold(3, 1000) && link.hold(0, 1500));
        link.allow();
        assert_eq!((link.allowance(), link.has_room()), (3500, true));
        link.allow_nothing();
        assert!(!link.let_in(1));
    }

    #[test]
    fn with_802_3x_every_class_counts() {
        let mut input = input(PauseScope::Link);
        assert!(input.hold(3, 4000) && input.hold(0, 2001));
        assert_eq!(input.must_stop(0), Some(0));
        assert_eq!(input.gate.as_ref().unwrap().classes(0), 0xff);
    }
}
