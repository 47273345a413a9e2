//! The PFC watchdog: a queue that pauses hold up for too long no longer waits for them.
//!
//! ```text
//!   watching  --- paused all along for `detect`, with frames waiting --->  storm
//!   storm     --- no pause for `restore` ------------------------------>  watching
//!
//!   in a storm   Drop: what waits is lost, and what comes is dropped; the queue stays paused
//!                Forward: the queue sends, and pauses are ignored
//! ```
//!
//! A node looks at its queues every `poll`, so that both take up to a `poll` longer.

use qcnlab_units::{Instant, Span};

/// When the watchdog of a node acts, and what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogPlan {
    /// How long a queue with frames is paused without a break before that is a storm.
    pub detect: Span,
    /// How long no pause holds before the storm is over.
    pub restore: Span,
    /// How often the node looks, above zero.
    pub poll: Span,
    /// What it does in a storm.
    pub action: WatchdogAction,
}

/// What happens to a queue in a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchdogAction {
    /// Its frames are lost, and what comes is dropped.
    Drop,
    /// Its frames are sent as if nothing were paused.
    Forward,
}

/// The watchdog of a port's queues, by their position.
#[derive(Clone, Debug)]
pub(crate) struct Watchdog {
    plan: WatchdogPlan,
    /// For each queue in a storm, until when the last pause that came would hold, ps.
    storms: Vec<Option<u64>>,
}

/// What the watchdog finds about a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    Nothing,
    StormBegins,
    StormEnds,
}

impl Watchdog {
    pub(crate) fn new(plan: WatchdogPlan, queues: usize) -> Watchdog {
        Watchdog { plan, storms: vec![None; queues] }
    }

    pub(crate) const fn action(&self) -> WatchdogAction {
        self.plan.action
    }

    /// Looks at a queue. `paused` has when its pause in force began and until when it holds, ps; `waits` says whether
    /// frames wait there.
    pub(crate) fn check(&mut self, now: Instant, position: usize, paused: Option<(u64, u64)>, waits: bool) -> Finding {
        let storm = &mut self.storms[position];
        match (*storm, paused) {
            (Some(until), _) if now.ps() >= until.saturating_add(self.plan.restore.ps()) => {
                *storm = None;
                Finding::StormEnds
            }
            (None, Some((since, until))) if waits && now.ps() >= since + self.plan.detect.ps() => {
                *storm = Some(until);
                Finding::StormBegins
            }
            _ => Finding::Nothing,
        }
    }

    /// A pause comes for a queue that holds until `until`, ps; returns whether it is ignored.
    pub(crate) fn on_pause(&mut self, position: usize, until: u64) -> bool {
        let Some(storm) = &mut self.storms[position] else { return false };
        *storm = until;
        self.plan.action == WatchdogAction::Forward
    }

    /// Whether a queue drops what comes to it.
    pub(crate) fn drops(&self, position: usize) -> bool {
        self.plan.action == WatchdogAction::Drop && self.storms[position].is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Instant {
        Instant::ZERO + Span::from_us(n)
    }

    /// Paused from 10 us on: a storm from 110 us on. The last pause holds until 300 us: over from 350 us on.
    #[test]
    fn a_storm_begins_and_ends() {
        let plan = WatchdogPlan {
            detect: Span::from_us(100),
            restore: Span::from_us(50),
            poll: Span::from_us(10),
            action: WatchdogAction::Drop,
        };
        let mut watchdog = Watchdog::new(plan, 2);
        let paused = Some((us(10).ps(), us(200).ps()));
        assert_eq!(watchdog.check(us(109), 1, paused, true), Finding::Nothing);
        assert_eq!(watchdog.check(us(110), 1, paused, false), Finding::Nothing, "nothing waits");
        assert_eq!(watchdog.check(us(110), 1, paused, true), Finding::StormBegins);
        assert!(watchdog.drops(1) && !watchdog.drops(0));
        assert!(!watchdog.on_pause(1, us(300).ps()) && !watchdog.on_pause(0, us(300).ps()));
        assert_eq!(watchdog.check(us(349), 1, None, true), Finding::Nothing);
        assert_eq!(watchdog.check(us(350), 1, None, true), Finding::StormEnds);
        assert!(!watchdog.drops(1));
    }

    /// To the picosecond: `detect` after the pause began, and `restore` after the last one ended.
    #[test]
    fn times_just_reached_are_enough() {
        let plan = WatchdogPlan {
            detect: Span::from_us(100),
            restore: Span::from_us(50),
            poll: Span::from_us(10),
            action: WatchdogAction::Drop,
        };
        let mut watchdog = Watchdog::new(plan, 1);
        let paused = Some((us(10).ps(), us(200).ps()));
        let before = |at: Instant| Instant::from_ps(at.ps() - 1);
        assert_eq!(watchdog.check(before(us(110)), 0, paused, true), Finding::Nothing);
        assert_eq!(watchdog.check(us(110), 0, paused, true), Finding::StormBegins);
        assert_eq!(watchdog.check(before(us(250)), 0, None, true), Finding::Nothing);
        assert_eq!(watchdog.check(us(250), 0, None, true), Finding::StormEnds);
        // A pause without an end keeps the storm.
        assert_eq!(watchdog.check(us(110), 0, Some((us(10).ps(), u64::MAX)), true), Finding::StormBegins);
        assert_eq!(watchdog.check(us(1_000_000_000), 0, None, true), Finding::Nothing);
    }

    #[test]
    fn pauses_are_ignored_where_frames_are_sent_on() {
        let plan = WatchdogPlan {
            detect: Span::from_us(1),
            restore: Span::from_us(1),
            poll: Span::from_us(1),
            action: WatchdogAction::Forward,
        };
        let mut watchdog = Watchdog::new(plan, 1);
        assert!(!watchdog.on_pause(0, 5));
        assert_eq!(watchdog.check(us(1), 0, Some((0, u64::MAX)), true), Finding::StormBegins);
        assert!(watchdog.on_pause(0, 5) && !watchdog.drops(0));
    }
}
