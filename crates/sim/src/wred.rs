//! WRED: frames that cannot carry a mark are dropped early, at random, by the length of the queue that they come to.
//!
//! Frames that can are marked instead, by the queue's congestion point; see [`WredPlan`].

use qcnlab_schemes::parts::ecn::{RampCp, RampParams};
use qcnlab_schemes::{Dice, Queue};

/// The thresholds of some queues of a port. A scheme whose congestion points mark by a ramp (ECN) marks by this one
/// there; data frames that such a congestion point does not mark are dropped when they arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WredPlan {
    /// The classes of the queues, a bit each.
    pub classes: u8,
    /// Thresholds and probability.
    pub ramp: RampParams,
}

/// What drops the frames of one queue.
#[derive(Clone, Debug)]
pub(crate) struct Wred {
    ramp: RampCp,
    dice: Dice,
    /// Whether frames under congestion control are marked instead.
    marks_controlled: bool,
}

impl Wred {
    pub(crate) const fn new(ramp: RampParams, dice: Dice, marks_controlled: bool) -> Wred {
        Wred { ramp: RampCp::new(ramp), dice, marks_controlled }
    }

    /// Draws whether a data frame is dropped; `queue` counts it.
    pub(crate) fn drops(&mut self, controlled: bool, queue: Queue) -> bool {
        !(controlled && self.marks_controlled) && self.ramp.draws(queue, &mut self.dice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qcnlab_schemes::Purpose;
    use qcnlab_schemes::parts::ecn::MarkAt;
    use qcnlab_units::{BitRate, Bytes};

    /// From 10 KB to 30 KB up to 50 %: at 20 KB every fourth frame. Of 10 000, 2500 with a standard deviation of 43.
    #[test]
    fn frames_that_carry_no_mark_are_dropped_by_the_ramp() {
        let ramp = RampParams {
            k_min: Bytes::new(10_000),
            k_max: Bytes::new(30_000),
            p_max: 0.5,
            mark_at: MarkAt::Departure,
            thresholds_for: None,
        };
        let dice = || Dice::new(1, 0, "s->c/3", Purpose::Discarding);
        let queue = |len| Queue { len: Bytes::new(len), capacity: Bytes::new(1 << 20), rate: BitRate::gbps(10) };
        let mut wred = Wred::new(ramp, dice(), true);
        let mut dropped = |len, controlled| (0..10_000).filter(|_| wred.drops(controlled, queue(len))).count();
        assert_eq!((dropped(10_000, false), dropped(30_001, false), dropped(30_001, true)), (0, 10_000, 0));
        assert!(dropped(20_000, false).abs_diff(2500) < 200);
        assert!(Wred::new(ramp, dice(), false).drops(true, queue(30_001)), "nothing marks it");
    }
}
