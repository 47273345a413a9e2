//! PAUSE (802.3x) and PFC (802.1Qbb): when a node asks a link to pause, and what the other end does.
//!
//! A *priority group* is what one pause frame pauses: the whole link under 802.3x, where it has number 0, or one class
//! under PFC, where it has the number of the class.

use qcnlab_units::{Bytes, Instant, Span};

/// When a node pauses the far ends of its links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PausePlan {
    /// Which classes it pauses.
    pub scope: PauseScope,
    /// When.
    pub rule: PauseRule,
    /// Time from a pause frame's last octet to its effect.
    pub reaction: Span,
}

/// Which classes a pause frame pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseScope {
    /// The whole link: 802.3x.
    Link,
    /// Each class whose bit is set, separately: 802.1Qbb. Octets are counted for each class.
    Classes(u8),
}

/// When a pause frame is sent. A time is a number of quanta of 512 bit times of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseRule {
    /// Octets held of one input (and class): XOFF when they rise above `high`, again when half of the pause
    /// time is over, XON when they are at or below `low`.
    Watermarks {
        /// XOFF above this.
        high: Bytes,
        /// XON at or below this.
        low: Bytes,
        /// Pause time that an XOFF requests.
        quanta: u16,
    },
    /// An arrival that finds (with itself) `threshold` octets or more in its output queue pauses links, each unless
    /// more than half of its last requested time is left. There is no XON: the time expires.
    Threshold {
        /// XOFF from this on.
        threshold: Bytes,
        /// Pause time that an XOFF requests.
        quanta: u16,
        /// Which links.
        stops: PauseTarget,
    },
    /// A buffer that all inputs share says when: XOFF when a group has reached its threshold there, again when half of
    /// the pause time is over, XON when it has come far enough below.
    Dynamic {
        /// Pause time that an XOFF requests; `None`: it holds until XON, and is not sent again.
        quanta: Option<u16>,
    },
}

impl PauseRule {
    /// Whether an XOFF holds, refreshed, until an XON.
    pub const fn resumes(&self) -> bool {
        matches!(self, PauseRule::Watermarks { .. } | PauseRule::Dynamic { .. })
    }
}

/// Which links an arrival that finds a long output queue pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseTarget {
    /// The link it came over.
    Arriving,
    /// That link, and each that has octets in the queue.
    Queued,
    /// Every link into the node.
    All,
}

/// Which priority groups of a link a node has sent XOFF, and for how long.
///
/// What fills a group is passed in: octets held of it, or the length of an output queue. How long quanta last is, too.
#[derive(Clone, Debug)]
pub struct PauseSender {
    /// When it pauses which classes.
    pub plan: PausePlan,
    /// Groups that were sent XOFF and not XON since, a bit each.
    xoff: u8,
    /// For each group, when the last requested pause ends, ps.
    requested_until: [u64; 8],
    /// For each group, when its pause is refreshed, ps; `u64::MAX` for never.
    refresh_at: [u64; 8],
}

impl PauseSender {
    /// Nothing is paused.
    pub const fn new(plan: PausePlan) -> PauseSender {
        PauseSender { plan, xoff: 0, requested_until: [0; 8], refresh_at: [u64::MAX; 8] }
    }

    /// The priority group of `class`; `None` if the class is never paused.
    pub fn group(&self, class: u8) -> Option<u8> {
        match self.plan.scope {
            PauseScope::Link => Some(0),
            PauseScope::Classes(classes) => (classes & 1 << class != 0).then_some(class),
        }
    }

    /// The classes of a group, a bit each.
    pub fn classes(&self, group: u8) -> u8 {
        match self.plan.scope {
            PauseScope::Link => u8::MAX,
            PauseScope::Classes(_) => 1 << group,
        }
    }

    /// The pause time that an XOFF requests.
    pub fn quanta(&self) -> u16 {
        match self.plan.rule {
            PauseRule::Watermarks { quanta, .. } | PauseRule::Threshold { quanta, .. } => quanta,
            PauseRule::Dynamic { quanta } => quanta.unwrap_or(u16::MAX),
        }
    }

    /// Whether an XOFF holds until XON, however long that is.
    pub const fn is_endless(&self) -> bool {
        matches!(self.plan.rule, PauseRule::Dynamic { quanta: None })
    }

    /// Groups that were sent XOFF and not XON since, a bit each.
    pub const fn xoff(&self) -> u8 {
        self.xoff
    }

    /// Whether a group was sent XOFF and not XON since.
    pub const fn is_xoff(&self, group: u8) -> bool {
        self.xoff & 1 << group != 0
    }

    /// The group of `class`, if it has just risen above its high watermark; `occupancy` has the octets held of a group.
    pub fn xoff_due(&self, class: u8, occupancy: impl Fn(u8) -> u64) -> Option<u8> {
        let PauseRule::Watermarks { high, .. } = self.plan.rule else { return None };
        let group = self.group(class)?;
        (!self.is_xoff(group) && occupancy(group) > high.get()).then_some(group)
    }

    /// The group of `class`, if it has just come down to its low watermark.
    pub fn xon_due(&self, class: u8, occupancy: impl Fn(u8) -> u64) -> Option<u8> {
        let PauseRule::Watermarks { low, .. } = self.plan.rule else { return None };
        let group = self.group(class)?;
        (self.is_xoff(group) && occupancy(group) <= low.get()).then_some(group)
    }

    /// The group of `class`, if an arrival at an output queue of `queued` octets pauses it; `lasts` tells how long
    /// quanta last, in ps.
    pub fn threshold_reached(&self, now: Instant, class: u8, queued: u64, lasts: impl Fn(u16) -> u64) -> Option<u8> {
        let PauseRule::Threshold { threshold, quanta, .. } = self.plan.rule else { return None };
        let group = self.group(class)?;
        let left = self.requested_until[usize::from(group)].saturating_sub(now.ps());
        (queued >= threshold.get() && left <= lasts(quanta) / 2).then_some(group)
    }

    /// XOFF goes out for a group; the pause that it asks for lasts so many ps.
    pub fn on_xoff(&mut self, now: Instant, group: u8, lasts: u64) {
        let at = usize::from(group);
        let endless = self.is_endless();
        self.requested_until[at] = if endless { u64::MAX } else { now.ps() + lasts };
        if self.plan.rule.resumes() {
            self.xoff |= 1 << group;
            self.refresh_at[at] = if endless { u64::MAX } else { now.ps() + (lasts / 2).max(1) };
        }
    }

    /// XON goes out for a group.
    pub fn on_xon(&mut self, now: Instant, group: u8) {
        let at = usize::from(group);
        self.xoff &= !(1 << group);
        self.requested_until[at] = now.ps();
        self.refresh_at[at] = u64::MAX;
    }

    /// Whether half of a group's pause is over, so that XOFF goes out again.
    pub fn refresh_due(&self, now: Instant, group: u8) -> bool {
        self.refresh_at[usize::from(group)] <= now.ps()
    }

    /// When the next pause is refreshed, ps.
    pub fn next_refresh(&self) -> u64 {
        self.refresh_at.iter().copied().fold(u64::MAX, u64::min)
    }
}

/// A pause that is over: when it began and ended, ps, and what led to it.
pub type EndedPause<C> = (u64, u64, C);

/// Until when a class is paused. `C` is what led to a pause, for who records it.
#[derive(Clone, Debug)]
pub struct ClassPause<C> {
    until: u64,
    /// When the last pause that took effect began, ps, and what led to it.
    since: u64,
    because: Option<C>,
}

impl<C: Copy> Default for ClassPause<C> {
    fn default() -> ClassPause<C> {
        ClassPause { until: 0, since: 0, because: None }
    }
}

impl<C: Copy> ClassPause<C> {
    /// Before which time the class is paused, ps.
    #[inline(always)]
    pub const fn until(&self) -> u64 {
        self.until
    }

    /// Pauses the class until `until`, ps; `resumes` says that the frame asked for 0 quanta. Returns the pause that is
    /// over with that.
    pub fn apply(&mut self, now: u64, until: u64, resumes: bool, because: C) -> Option<EndedPause<C>> {
        let in_force = self.until > now;
        let mut ended = None;
        if !in_force || resumes {
            ended = self.last(now);
            if ended.is_some() {
                self.since = now;
            }
        }
        if !in_force {
            self.since = now;
            self.because = Some(because);
        }
        self.until = until;
        ended
    }

    /// The last pause, up to `now` at most, if it has not been returned yet.
    pub fn last(&self, now: u64) -> Option<EndedPause<C>> {
        let because = self.because.filter(|_| self.until > self.since)?;
        Some((self.since, self.until.min(now), because))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(scope: PauseScope, rule: PauseRule) -> PauseSender {
        PauseSender::new(PausePlan { scope, rule, reaction: Span::ZERO })
    }

    const MARKS: PauseRule = PauseRule::Watermarks { high: Bytes::new(6000), low: Bytes::new(3000), quanta: 65_535 };

    #[test]
    fn a_group_of_pfc_is_its_class_and_no_other() {
        let pause = sender(PauseScope::Classes(0b1110_0001), MARKS);
        let groups: Vec<Option<u8>> = (0..8).map(|class| pause.group(class)).collect();
        assert_eq!(groups, [Some(0), None, None, None, None, Some(5), Some(6), Some(7)]);
        let classes: Vec<u8> = [0, 5, 6, 7].map(|group| pause.classes(group)).to_vec();
        assert_eq!(classes, [0b1, 0b10_0000, 0b100_0000, 0b1000_0000]);
    }

    #[test]
    fn an_endless_pause_is_not_sent_again() {
        let mut pause = sender(PauseScope::Classes(8), PauseRule::Dynamic { quanta: None });
        pause.on_xoff(Instant::from_ps(100), 3, 1000);
        assert!(pause.is_endless() && pause.is_xoff(3));
        assert_eq!((pause.quanta(), pause.next_refresh()), (65_535, u64::MAX));
        pause.on_xon(Instant::from_ps(5000), 3);
        assert_eq!((pause.xoff(), pause.next_refresh()), (0, u64::MAX));
    }

    #[test]
    fn xoff_goes_out_once_above_high_and_xon_at_low() {
        let mut pause = sender(PauseScope::Classes(0b1000), MARKS);
        assert_eq!((pause.xoff_due(3, |_| 6000), pause.xoff_due(3, |_| 6001)), (None, Some(3)));
        pause.on_xoff(Instant::from_ps(100), 3, 1000);
        assert_eq!(
            (pause.xoff_due(3, |_| 6001), pause.xon_due(3, |_| 3001), pause.xon_due(3, |_| 3000)),
            (None, None, Some(3))
        );
        // Half of 1000 after 100.
        assert_eq!((pause.next_refresh(), pause.refresh_due(Instant::from_ps(599), 3)), (600, false));
        pause.on_xon(Instant::from_ps(300), 3);
        assert_eq!((pause.xoff(), pause.next_refresh(), pause.xon_due(3, |_| 0)), (0, u64::MAX, None));
    }

    /// A pause of 1000 asked for at 100 is refreshed from 600 on. That leaves the group paused, and the others as they were.
    #[test]
    fn a_refresh_leaves_a_group_paused() {
        let mut pause = sender(PauseScope::Classes(0b1111), MARKS);
        for group in [1, 3] {
            pause.on_xoff(Instant::from_ps(100), group, 1000);
        }
        let due = |pause: &PauseSender, now, group| pause.refresh_due(Instant::from_ps(now), group);
        assert_eq!((due(&pause, 599, 3), due(&pause, 600, 3), due(&pause, 600, 2)), (false, true, false));
        pause.on_xoff(Instant::from_ps(600), 3, 1000);
        assert_eq!((pause.xoff(), due(&pause, 1099, 3), due(&pause, 1100, 3)), (0b1010, false, true));
        pause.on_xon(Instant::from_ps(700), 1);
        assert_eq!((pause.xoff(), due(&pause, 9000, 1)), (0b1000, false));
    }

    #[test]
    fn the_next_refresh_is_the_first_of_all_groups() {
        let mut pause = sender(PauseScope::Classes(0b1001), MARKS);
        assert_eq!(pause.next_refresh(), u64::MAX);
        pause.on_xoff(Instant::ZERO, 0, 140);
        pause.on_xoff(Instant::ZERO, 3, 100);
        assert_eq!((pause.next_refresh(), pause.quanta()), (50, 65_535));
    }

    #[test]
    fn a_threshold_pauses_anew_when_half_of_the_pause_is_over() {
        let rule = PauseRule::Threshold { threshold: Bytes::new(5000), quanta: 100, stops: PauseTarget::Arriving };
        let mut pause = sender(PauseScope::Classes(0b11), rule);
        let due = |pause: &PauseSender, now, class, queued| {
            pause.threshold_reached(Instant::from_ps(now), class, queued, |quanta| u64::from(quanta) * 10)
        };
        assert_eq!((due(&pause, 0, 1, 4999), due(&pause, 0, 1, 5000), due(&pause, 0, 2, 9000)), (None, Some(1), None));
        // 100 quanta last 1000; asked for at 0, so until 1000.
        pause.on_xoff(Instant::ZERO, 1, 1000);
        assert_eq!((due(&pause, 499, 1, 5000), due(&pause, 500, 1, 5000)), (None, Some(1)));
        assert_eq!(due(&pause, 0, 0, 5000), Some(0), "the other class has not asked");
        assert_eq!((pause.xoff_due(1, |_| 9000), pause.xon_due(1, |_| 0)), (None, None), "it has no watermarks");
        assert_eq!((pause.xoff(), pause.next_refresh()), (0, u64::MAX));
    }

    #[test]
    fn a_pause_that_is_refreshed_is_one_from_its_beginning() {
        let mut class = ClassPause::default();
        assert_eq!(class.apply(10, 100, false, 1), None);
        assert_eq!(class.apply(60, 150, false, 2), None, "still paused");
        assert_eq!(class.last(90), Some((10, 90, 1)), "so far");
        assert_eq!(class.last(400), Some((10, 150, 1)), "it runs off by itself");
        // XON at 120 ends it, and it is returned once.
        assert_eq!(class.apply(120, 120, true, 9), Some((10, 120, 1)));
        assert_eq!((class.last(400), class.until()), (None, 120));
        assert_eq!(class.apply(130, 130, true, 9), None);
    }

    #[test]
    fn a_pause_that_ran_off_is_returned_when_the_next_begins() {
        let mut class = ClassPause::default();
        assert_eq!(class.apply(10, 100, false, 1), None);
        assert_eq!(class.apply(200, 300, false, 2), Some((10, 100, 1)));
        assert_eq!(class.last(250), Some((200, 250, 2)));
        // XON after the end: the pause lasted until 300, not until XON.
        assert_eq!(class.apply(350, 350, true, 9), Some((200, 300, 2)));
        assert_eq!(class.last(400), None);
    }

    #[test]
    fn a_pause_works_until_the_moment_it_ends() {
        let mut class = ClassPause::default();
        assert_eq!(class.apply(10, 100, false, 1), None);
        // At 100 it is over: the next pause is another one, though no time is between them.
        assert_eq!(class.apply(100, 190, false, 2), Some((10, 100, 1)));
        assert_eq!(class.last(190), Some((100, 190, 2)));
    }
}
