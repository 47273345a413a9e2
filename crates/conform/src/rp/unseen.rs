//! What a capture lacks: frames that the sender sent and CNMs that it heard, which show by their effect alone.

use super::event::Heard;
use super::hypothesis::{Hypothesis, Rules};
use crate::window::{Window, takes};
use qcnlab_schemes::{Cnm, ReactionPoint};

/// Frames that may be missing in a row; of longer gaps nothing is worked out.
pub(super) const MOST_FRAMES: u64 = 16;
/// Courses that are followed through a gap.
const MOST_COURSES: usize = 256;
/// Rounds in which a change of the rate may move a frame that is not captured.
const ROUNDS: u32 = 8;

impl Hypothesis {
    /// All courses in which `count` frames of `size` octets, which are not captured, left when the law let them, before
    /// the frame that left in `frame`.
    pub(super) fn unseen_frames(
        self,
        rules: &Rules,
        frame: Window,
        size: u32,
        count: u64,
        (heard, first): (&[Heard], u64),
    ) -> Vec<Hypothesis> {
        let mut courses = vec![self];
        for _ in 0..count {
            let mut next = Vec::new();
            for course in courses {
                course.unseen_frame(rules, frame, size, (heard, first), &mut next);
            }
            next.truncate(MOST_COURSES);
            courses = next;
        }
        courses
    }

    fn unseen_frame(
        mut self,
        rules: &Rules,
        frame: Window,
        size: u32,
        (heard, first): (&[Heard], u64),
        all: &mut Vec<Hypothesis>,
    ) {
        let mut open = vec![(self.clone(), 0)];
        if !self.limiting() {
            // The link alone paced it, and it left at any time until then; or a CNM came first.
            let mut told = Vec::new();
            self.clone().advance(rules, Window::new(self.now.lo, frame.hi), heard, first, &mut told);
            open = told.into_iter().filter(Hypothesis::limiting).map(|course| (course, 0)).collect();
            self.last = Window::new(self.last.lo, frame.hi);
            all.push(self);
        }
        while let Some((course, round)) = open.pop() {
            let due = course.next.from(course.now.lo);
            if due.lo > frame.hi {
                continue;
            }
            let due = Window::new(due.lo, due.hi.min(frame.hi));
            let mut possible = Vec::new();
            course.advance(rules, due, heard, first, &mut possible);
            for course in possible {
                let leaves = course.next.from(course.now.lo);
                if leaves.lo <= due.hi || round == ROUNDS {
                    let leaves = Window::new(leaves.lo.min(frame.hi), leaves.hi.min(frame.hi));
                    course.send(rules, leaves, size, false, all);
                } else {
                    open.push((course, round + 1));
                }
            }
        }
    }

    /// It hears a CNM of this feedback that is not captured, before the frame that left in `frame`: since the frame before,
    /// of `size` octets, or before frames that it moved by too little to be noticed.
    pub(super) fn unseen_cnm(&self, rules: &Rules, frame: Window, size: u32, fb: u8) -> Hypothesis {
        let gap = |course: &Hypothesis| takes(rules.charged(size), course.rp.limit().unwrap_or(rules.line)) as i64;
        let told = |from: i64| {
            let at = Window::new(from.min(frame.hi), frame.hi);
            let cnm = Heard { frame: 0, stamp: at.middle(), fb, offset: -1 };
            let mut cut = self.clone();
            cut.hear(rules, &cnm, -Cnm::QUEUE_UNIT, at);
            cut
        };
        let (before, after) = (gap(self), gap(&told(self.now.lo)));
        let frames = 1 + (rules.unnoticed() / (after - before).max(1)).min(MOST_FRAMES as i64);
        let mut cut = told(self.now.lo - frames * before);
        if cut.byte != self.byte {
            cut.byte.left.0 -= frames * rules.counted(size);
        }
        // None of those that the capture has.
        cut.cnm -= 1;
        cut
    }
}
