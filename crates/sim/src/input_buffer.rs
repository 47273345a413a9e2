//! Input buffers: what a node holds of the frames that arrived over one link, and whether it has paused that link.
//!
//! A *priority group* is what one pause frame pauses: the whole link under 802.3x, where it has number 0, or one class
//! under PFC, where it has the number of the class.

use crate::ids::PortId;
use crate::plan::{NodePlan, PausePlan, PauseRule, PauseScope};
use qcnlab_units::Instant;

/// The buffer for the frames that arrive at a node over one link.
#[derive(Clone, Debug)]
pub(crate) struct InputBuffer {
    /// The port at the far end of the link, which feeds it.
    pub(crate) port: PortId,
    /// Its position among the inputs of its node.
    pub(crate) position: u32,
    memory: u64,
    high: u64,
    /// Octets that may still be admitted without being counted.
    allowance: u64,
    /// As long as no class has more octets, nothing is dropped and nothing paused.
    safe_class_octets: u64,
    /// Octets held of each class; as of the last count if frames are admitted uncounted.
    by_class: [u64; 8],
    /// Whether its link is paused, if the node pauses links.
    pub(crate) pause: Option<PauseState>,
    pub(crate) dropped_frames: u64,
    pub(crate) dropped_bytes: u64,
}

/// Which priority groups of an input have been sent XOFF, and for how long.
#[derive(Clone, Debug)]
pub(crate) struct PauseState {
    pub(crate) plan: PausePlan,
    /// The port that pause frames leave by: the other direction of the link.
    pub(crate) reverse: PortId,
    /// Groups that were sent XOFF and not XON since, a bit each.
    pub(crate) xoff: u8,
    /// For each group, when the last requested pause ends, ps.
    pub(crate) requested_until: [u64; 8],
    /// For each group, when its pause is refreshed, ps; `u64::MAX` for never.
    pub(crate) refresh_at: [u64; 8],
    /// For each group, the output queue that was longest when it was paused.
    pub(crate) because: [Option<PortId>; 8],
}

impl InputBuffer {
    /// `classes` has a bit for each class that the link carries.
    pub(crate) fn new(
        port: PortId,
        position: u32,
        node: &NodePlan,
        reverse: Option<PortId>,
        classes: u8,
    ) -> InputBuffer {
        let pause = node.pause.map(|plan| PauseState {
            plan,
            reverse: reverse.expect("a link that is paused has two directions"),
            xoff: 0,
            requested_until: [0; 8],
            refresh_at: [u64::MAX; 8],
            because: [None; 8],
        });
        let memory = node.input_memory.map_or(u64::MAX, |memory| memory.get());
        let high = match node.pause.map(|plan| plan.rule) {
            Some(PauseRule::Watermarks { high, .. }) => high.get(),
            Some(PauseRule::Threshold { .. }) | None => u64::MAX,
        };
        InputBuffer {
            port,
            position,
            memory,
            high,
            allowance: 0,
            safe_class_octets: memory.min(high) / u64::from(classes.count_ones().max(1)),
            by_class: [0; 8],
            pause,
            dropped_frames: 0,
            dropped_bytes: 0,
        }
    }

    /// Octets held.
    pub(crate) fn held(&self) -> u64 {
        self.by_class.iter().sum()
    }

    /// Admits a frame without counting it, as far as the allowance goes.
    #[inline(always)]
    pub(crate) const fn admit_uncounted(&mut self, size: u64) -> bool {
        let fits = size <= self.allowance;
        if fits {
            self.allowance -= size;
        }
        fits
    }

    /// Octets that may still be admitted without being counted.
    pub(crate) const fn allowance(&self) -> u64 {
        self.allowance
    }

    /// Sets the allowance to the octets that can be admitted before the memory is full or a group is at its high
    /// watermark, even if nothing leaves.
    pub(crate) fn renew_allowance(&mut self) {
        let most = (0..8).map(|group| self.occupancy(group)).max().unwrap_or(0);
        self.allowance = self.memory.saturating_sub(self.held()).min(self.high.saturating_sub(most));
    }

    /// Has every frame counted from now on.
    pub(crate) const fn end_allowance(&mut self) {
        self.allowance = 0;
    }

    /// Whether the allowance is at least a quarter of that of an empty buffer.
    pub(crate) const fn has_room(&self) -> bool {
        let most = if self.memory < self.high { self.memory } else { self.high };
        self.allowance >= most / 4
    }

    /// Starts a new count with nothing held.
    pub(crate) const fn reset_count(&mut self) {
        self.by_class = [0; 8];
    }

    /// Admits and counts a frame if its class stays far from every limit, whatever has left and is still counted.
    #[inline]
    pub(crate) fn admit_safe(&mut self, class: u8, size: u64) -> bool {
        let octets = self.by_class[usize::from(class)] + size;
        let safe = octets <= self.safe_class_octets;
        if safe {
            self.by_class[usize::from(class)] = octets;
        }
        safe
    }

    /// Admits and counts a frame; returns false when there is no room and it is dropped.
    pub(crate) fn admit(&mut self, class: u8, size: u64) -> bool {
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

    /// Octets that decide whether a group is paused.
    pub(crate) fn occupancy(&self, group: u8) -> u64 {
        match &self.pause {
            Some(PauseState { plan: PausePlan { scope: PauseScope::Classes(_), .. }, .. }) => {
                self.by_class[usize::from(group)]
            }
            _ => self.held(),
        }
    }

    /// The group of `class`, if it has just risen above its high watermark.
    pub(crate) fn xoff_due(&self, class: u8) -> Option<u8> {
        let pause = self.pause.as_ref()?;
        let PauseRule::Watermarks { high, .. } = pause.plan.rule else { return None };
        let group = pause.group(class)?;
        (pause.xoff & 1 << group == 0 && self.occupancy(group) > high.get()).then_some(group)
    }

    /// The group of `class`, if it has just come down to its low watermark.
    pub(crate) fn xon_due(&self, class: u8) -> Option<u8> {
        let pause = self.pause.as_ref()?;
        let PauseRule::Watermarks { low, .. } = pause.plan.rule else { return None };
        let group = pause.group(class)?;
        (pause.xoff & 1 << group != 0 && self.occupancy(group) <= low.get()).then_some(group)
    }

    /// The group of `class`, if an arrival at an output queue of `queued` octets pauses it; `lasts` tells how long
    /// quanta last, in ps.
    pub(crate) fn threshold_reached(
        &self,
        now: Instant,
        class: u8,
        queued: u64,
        lasts: impl Fn(u16) -> u64,
    ) -> Option<u8> {
        let pause = self.pause.as_ref()?;
        let PauseRule::Threshold { threshold, quanta } = pause.plan.rule else { return None };
        let group = pause.group(class)?;
        let left = pause.requested_until[usize::from(group)].saturating_sub(now.ps());
        (queued >= threshold.get() && left <= lasts(quanta) / 2).then_some(group)
    }
}

impl PauseState {
    /// The priority group of `class`; `None` if the class is never paused.
    pub(crate) fn group(&self, class: u8) -> Option<u8> {
        match self.plan.scope {
            PauseScope::Link => Some(0),
            PauseScope::Classes(classes) => (classes & 1 << class != 0).then_some(class),
        }
    }

    /// The classes of a group, a bit each.
    pub(crate) fn classes(&self, group: u8) -> u8 {
        match self.plan.scope {
            PauseScope::Link => u8::MAX,
            PauseScope::Classes(_) => 1 << group,
        }
    }

    /// The pause time that an XOFF requests.
    pub(crate) fn quanta(&self) -> u16 {
        match self.plan.rule {
            PauseRule::Watermarks { quanta, .. } | PauseRule::Threshold { quanta, .. } => quanta,
        }
    }

    /// When the next pause is refreshed, ps.
    pub(crate) fn next_refresh(&self) -> u64 {
        self.refresh_at.iter().copied().fold(u64::MAX, u64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use qcnlab_units::{Bytes, Span};

    fn input(scope: PauseScope) -> InputBuffer {
        let rule = PauseRule::Watermarks { high: Bytes::new(6000), low: Bytes::new(3000), quanta: 65_535 };
        let node = NodePlan {
            name: "switch".to_owned(),
            input_memory: Some(Bytes::new(10_000)),
            pause: Some(PausePlan { scope, rule, reaction: Span::ZERO }),
        };
        InputBuffer::new(PortId::new(0), 0, &node, Some(PortId::new(1)), u8::MAX)
    }

    #[test]
    fn memory_is_kept_to_the_octet() {
        let mut input = input(PauseScope::Link);
        assert!(input.admit(0, 9000) && input.admit(3, 1000));
        assert!(!input.admit(0, 1));
        assert_eq!((input.held(), input.dropped_frames, input.dropped_bytes), (10_000, 1, 1));
        input.release(0, 9000);
        assert_eq!((input.held(), input.occupancy(0)), (1000, 1000));
    }

    #[test]
    fn a_group_is_sent_xoff_above_high_and_xon_at_low() {
        let mut input = input(PauseScope::Classes(0b1000));
        assert!(input.admit(3, 6000));
        assert_eq!(input.xoff_due(3), None);
        assert!(input.admit(0, 3000));
        assert_eq!(input.xoff_due(3), None);
        assert!(input.admit(3, 64));
        assert_eq!((input.xoff_due(3), input.xoff_due(0)), (Some(3), None));
        input.pause.as_mut().unwrap().xoff = 1 << 3;
        input.release(3, 3063);
        assert_eq!(input.xon_due(3), None);
        input.release(3, 1);
        assert_eq!(input.xon_due(3), Some(3));
    }

    #[test]
    fn the_allowance_reaches_no_watermark() {
        // 10 000 octets of memory, XOFF above 6000. Held are 1000 of class 3 and 5000 of class 0: 1000 more bring
        // the fuller one to its watermark, 4000 more fill the memory.
        let mut classes = input(PauseScope::Classes(0b1001));
        assert!(classes.admit(3, 1000) && classes.admit(0, 5000));
        classes.renew_allowance();
        assert_eq!(classes.allowance(), 1000);
        assert!(!classes.has_room() && classes.admit_uncounted(1000) && !classes.admit_uncounted(1));
        // 4500 and 5000 octets held: a class may have 1000 more, the memory 500.
        let mut full = input(PauseScope::Classes(0b1001));
        assert!(full.admit(3, 4500) && full.admit(0, 5000));
        full.renew_allowance();
        assert_eq!(full.allowance(), 500);
        // With 802.3x all of it counts.
        let mut link = input(PauseScope::Link);
        assert!(link.admit(3, 1000) && link.admit(0, 1500));
        link.renew_allowance();
        assert_eq!((link.allowance(), link.has_room()), (3500, true));
        link.end_allowance();
        assert!(!link.admit_uncounted(1));
    }

    #[test]
    fn a_group_of_pfc_is_its_class_and_no_other() {
        let input = input(PauseScope::Classes(0b1110_0001));
        let pause = input.pause.as_ref().unwrap();
        let groups: Vec<Option<u8>> = (0..8).map(|class| pause.group(class)).collect();
        assert_eq!(groups, [Some(0), None, None, None, None, Some(5), Some(6), Some(7)]);
        let classes: Vec<u8> = [0, 5, 6, 7].map(|group| pause.classes(group)).to_vec();
        assert_eq!(classes, [0b1, 0b10_0000, 0b100_0000, 0b1000_0000]);
    }

    #[test]
    fn a_threshold_pauses_anew_when_half_of_the_pause_is_over() {
        let rule = PauseRule::Threshold { threshold: Bytes::new(5000), quanta: 100 };
        let node = NodePlan {
            name: "switch".to_owned(),
            input_memory: None,
            pause: Some(PausePlan { scope: PauseScope::Classes(0b11), rule, reaction: Span::ZERO }),
        };
        let mut input = InputBuffer::new(PortId::new(0), 0, &node, Some(PortId::new(1)), u8::MAX);
        let due = |input: &InputBuffer, now, class, queued| {
            input.threshold_reached(Instant::from_ps(now), class, queued, |quanta| u64::from(quanta) * 10)
        };
        assert_eq!((due(&input, 0, 1, 4999), due(&input, 0, 1, 5000), due(&input, 0, 2, 9000)), (None, Some(1), None));
        // 100 quanta last 1000; asked for at 0, so until 1000.
        input.pause.as_mut().unwrap().requested_until[1] = 1000;
        assert_eq!((due(&input, 499, 1, 5000), due(&input, 500, 1, 5000)), (None, Some(1)));
        assert_eq!(due(&input, 0, 0, 5000), Some(0), "the other class has not asked");
        assert_eq!((input.xoff_due(1), input.xon_due(1)), (None, None), "it has no watermarks");
    }

    #[test]
    fn the_next_refresh_is_the_first_of_all_groups() {
        let mut input = input(PauseScope::Classes(0b1001));
        let pause = input.pause.as_mut().unwrap();
        assert_eq!(pause.next_refresh(), u64::MAX);
        (pause.refresh_at[0], pause.refresh_at[3]) = (70, 50);
        assert_eq!((pause.next_refresh(), pause.quanta()), (50, 65_535));
    }

    /// Of 10 000 octets and a watermark of 6000 four classes may have 1500 each before anything can be due.
    #[test]
    fn a_class_is_safe_up_to_its_part_of_the_lower_limit() {
        let rule = PauseRule::Watermarks { high: Bytes::new(6000), low: Bytes::new(3000), quanta: 1 };
        let node = NodePlan {
            name: "switch".to_owned(),
            input_memory: Some(Bytes::new(10_000)),
            pause: Some(PausePlan { scope: PauseScope::Link, rule, reaction: Span::ZERO }),
        };
        let mut input = InputBuffer::new(PortId::new(0), 0, &node, Some(PortId::new(1)), 0b1111);
        assert!(input.admit_safe(2, 1500) && !input.admit_safe(2, 1) && input.admit_safe(3, 1));
        assert_eq!((input.by_class[2], input.held()), (1500, 1501));
    }

    #[test]
    fn with_802_3x_every_class_counts() {
        let mut input = input(PauseScope::Link);
        assert!(input.admit(3, 4000) && input.admit(0, 2001));
        assert_eq!(input.xoff_due(0), Some(0));
        assert_eq!(input.pause.as_ref().unwrap().classes(0), 0xff);
    }
}
