//! Input buffers: what a node holds of the frames that arrived over one link, and whether it has paused that link.
//!
//! Groups are the priority groups of [`driver`](qcnlab_schemes::driver).

use crate::frame::Frame;
use crate::ids::{IdVec, InputSlot, PortId, SharedBufferId};
use crate::plan::{NodePlan, PauseRule, PauseScope};
use crate::shared_buffer::SharedBuffer;
use qcnlab_schemes::driver::PauseSender;

/// The buffer for the frames that arrive at a node over one link.
#[derive(Clone, Debug)]
pub(crate) struct InputBuffer {
    /// The port at the far end of the link, which feeds it.
    pub(crate) port: PortId,
    /// Its slot among the inputs of its node.
    pub(crate) slot: InputSlot,
    memory: u64,
    high: u64,
    /// The memory that it shares with the other inputs of its node.
    pub(crate) shared: Option<SharedBufferId>,
    /// The allowance of an empty buffer; what is left of it is kept at the port that feeds it.
    full_allowance: u64,
    /// As long as no more octets are held of all classes, nothing is dropped and nothing paused.
    safe_octets: u64,
    /// Octets held; as of the last count if frames are admitted uncounted.
    held: u64,
    /// The same of each class.
    by_class: [u64; 8],
    /// Whether its link is paused, if the node pauses links.
    pub(crate) pause: Option<PauseState>,
    pub(crate) dropped_frames: u64,
    pub(crate) dropped_bytes: u64,
}

/// The pauses of an input's link.
#[derive(Clone, Debug)]
pub(crate) struct PauseState {
    pub(crate) sender: PauseSender,
    /// The port that pause frames leave by: the other direction of the link.
    pub(crate) reverse: PortId,
    /// For each group, the output queue that was longest when it was paused.
    pub(crate) because: [Option<PortId>; 8],
}

impl InputBuffer {
    pub(crate) fn new(port: PortId, slot: InputSlot, node: &NodePlan, reverse: Option<PortId>) -> InputBuffer {
        let pause = node.pause.map(|plan| PauseState {
            sender: PauseSender::new(plan),
            reverse: reverse.expect("a link that is paused has two directions"),
            because: [None; 8],
        });
        let memory = node.input_memory.map_or(u64::MAX, |memory| memory.get());
        let high = match node.pause.map(|plan| plan.rule) {
            Some(PauseRule::Watermarks { high, .. }) => high.get(),
            Some(PauseRule::Threshold { .. } | PauseRule::Dynamic { .. }) | None => u64::MAX,
        };
        InputBuffer {
            port,
            slot,
            memory,
            high,
            shared: None,
            full_allowance: memory.min(high),
            safe_octets: memory.min(high),
            held: 0,
            by_class: [0; 8],
            pause,
            dropped_frames: 0,
            dropped_bytes: 0,
        }
    }

    /// Octets held.
    pub(crate) const fn held(&self) -> u64 {
        self.held
    }

    /// Octets that can be admitted before the memory is full or a group is at its high watermark, even if nothing
    /// leaves.
    pub(crate) fn room(&self) -> u64 {
        let most = (0..8).map(|group| self.occupancy(group)).max().unwrap_or(0);
        self.memory.saturating_sub(self.held()).min(self.high.saturating_sub(most))
    }

    /// Joins a memory that it shares. Of an empty one its allowance is `full`.
    pub(crate) const fn share(&mut self, memory: SharedBufferId, full: u64) {
        self.shared = Some(memory);
        self.full_allowance = full;
    }

    /// Whether an allowance is at least a quarter of that of an empty buffer.
    pub(crate) const fn is_ample(&self, allowance: u64) -> bool {
        allowance > 0 && allowance >= self.full_allowance / 4
    }

    /// Starts a new count with nothing held.
    pub(crate) const fn reset_count(&mut self) {
        (self.held, self.by_class) = (0, [0; 8]);
    }

    /// Admits and counts a frame if all that is held stays below every limit, whatever has left and is still counted.
    #[inline]
    pub(crate) fn admit_safe(&mut self, class: u8, size: u64) -> bool {
        let safe = self.held + size <= self.safe_octets;
        if safe {
            self.count(class, size);
        }
        safe
    }

    /// Admits and counts a frame; returns false when there is no room and it is dropped.
    pub(crate) fn admit(&mut self, class: u8, size: u64) -> bool {
        if self.held + size > self.memory {
            self.count_dropped(size);
            return false;
        }
        self.count(class, size);
        true
    }

    /// Counts a frame that found no room.
    pub(crate) const fn count_dropped(&mut self, size: u64) {
        self.dropped_frames += 1;
        self.dropped_bytes += size;
    }

    /// Counts a frame that is held.
    pub(crate) fn count(&mut self, class: u8, size: u64) {
        self.held += size;
        self.by_class[usize::from(class)] += size;
    }

    /// Counts a frame that left the node.
    pub(crate) fn release(&mut self, class: u8, size: u64) {
        self.held -= size;
        self.by_class[usize::from(class)] -= size;
    }

    /// As [`release`](InputBuffer::release), of a frame whose node need not be told, in the memory that it shares too.
    pub(crate) fn release_departed(&mut self, frame: &Frame, memories: &mut IdVec<SharedBufferId, SharedBuffer>) {
        let (class, size) = (frame.link_class(), frame.octets());
        self.release(class, size);
        if let Some(shared) = self.shared {
            memories[shared].release(self.slot, self.group(class).0, size);
        }
    }

    /// Octets that decide whether a group is paused.
    pub(crate) fn occupancy(&self, group: u8) -> u64 {
        match &self.pause {
            Some(pause) if matches!(pause.sender.plan.scope, PauseScope::Classes(_)) => {
                self.by_class[usize::from(group)]
            }
            _ => self.held(),
        }
    }

    /// The group of frames of `class` in a shared memory, and whether pauses stop it.
    #[inline]
    pub(crate) fn group(&self, class: u8) -> (u8, bool) {
        let paused = self.pause.as_ref().and_then(|pause| pause.sender.group(class));
        (paused.unwrap_or(class), paused.is_some())
    }

    /// The group of `class`, if it has just risen above its high watermark.
    pub(crate) fn xoff_due(&self, class: u8) -> Option<u8> {
        self.pause.as_ref()?.sender.xoff_due(class, |group| self.occupancy(group))
    }

    /// The group of `class`, if it has just come down to its low watermark.
    pub(crate) fn xon_due(&self, class: u8) -> Option<u8> {
        self.pause.as_ref()?.sender.xon_due(class, |group| self.occupancy(group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use crate::plan::PausePlan;
    use qcnlab_units::{Bytes, Instant, Span};

    fn input(scope: PauseScope) -> InputBuffer {
        let rule = PauseRule::Watermarks { high: Bytes::new(6000), low: Bytes::new(3000), quanta: 65_535 };
        let node = NodePlan {
            name: "switch".to_owned(),
            input_memory: Some(Bytes::new(10_000)),
            pause: Some(PausePlan { scope, rule, reaction: Span::ZERO }),
            ..NodePlan::default()
        };
        InputBuffer::new(PortId::new(0), InputSlot::new(0), &node, Some(PortId::new(1)))
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
        input.pause.as_mut().unwrap().sender.on_xoff(Instant::ZERO, 3, 0);
        input.release(3, 3063);
        assert_eq!(input.xon_due(3), None);
        input.release(3, 1);
        assert_eq!(input.xon_due(3), Some(3));
    }

    #[test]
    fn what_there_is_room_for_reaches_no_watermark() {
        // 10 000 octets of memory, XOFF above 6000. Held are 1000 of class 3 and 5000 of class 0: 1000 more bring
        // the fuller one to its watermark, 4000 more fill the memory.
        let mut classes = input(PauseScope::Classes(0b1001));
        assert!(classes.admit(3, 1000) && classes.admit(0, 5000));
        assert_eq!(classes.room(), 1000);
        assert!(!classes.is_ample(1000) && classes.is_ample(1500));
        // 4500 and 5000 octets held: a class may have 1000 more, the memory 500.
        let mut full = input(PauseScope::Classes(0b1001));
        assert!(full.admit(3, 4500) && full.admit(0, 5000));
        assert_eq!(full.room(), 500);
        // With 802.3x all of it counts.
        let mut link = input(PauseScope::Link);
        assert!(link.admit(3, 1000) && link.admit(0, 1500));
        assert_eq!((link.room(), link.is_ample(3500)), (3500, true));
    }

    #[test]
    fn no_allowance_is_never_much() {
        let mut input = input(PauseScope::Link);
        // A quarter of 3 octets is none.
        input.share(SharedBufferId::new(0), 3);
        assert!(!input.is_ample(0) && input.is_ample(1));
    }

    /// Of 10 000 octets and a watermark of 6000 all classes together may have 6000 before anything can be due. Of a class that
    /// is never paused more may be held, 9000 here: what comes then of another is looked at, and 1001 octets have no room.
    #[test]
    fn octets_of_all_classes_are_safe_up_to_the_lower_limit() {
        let mut input = input(PauseScope::Classes(0b1000));
        assert!(input.admit_safe(0, 4000) && input.admit_safe(3, 2000) && !input.admit_safe(3, 1));
        assert_eq!((input.by_class[3], input.held()), (2000, 6000));
        input.release(3, 2000);
        assert!(input.admit(0, 5000) && !input.admit_safe(3, 1000) && !input.admit(3, 1001) && input.admit(3, 1000));
        assert_eq!((input.held(), input.dropped_bytes), (10_000, 1001));
    }

    #[test]
    fn with_802_3x_every_class_counts() {
        let mut input = input(PauseScope::Link);
        assert!(input.admit(3, 4000) && input.admit(0, 2001));
        assert_eq!(input.xoff_due(0), Some(0));
        assert_eq!(input.pause.as_ref().unwrap().sender.classes(0), 0xff);
    }
}
