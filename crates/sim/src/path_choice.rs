//! Which of a flow's paths its next frame takes.

use crate::reps::{RecycledEntropies, RepsPlan};
use qcnlab_schemes::Dice;
use qcnlab_units::{Instant, Span};

/// Which of several paths a flow's next frame takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathChoice {
    /// One drawn at random for each frame.
    #[default]
    Random,
    /// The next for each frame, from one drawn at random on.
    RoundRobin,
    /// That of the frame before; one drawn at random if that left the limiter longer ago than this gap.
    Flowlets(Span),
    /// That of a packet that was acknowledged without a mark, by REPS; one drawn at random where there is none.
    Recycled(RepsPlan),
    /// One drawn at random for each frame, and at each switch on it the one that goes on by the shortest queue.
    ShortestQueue(QueueChoice),
}

/// Which queues a switch compares before it sends a frame on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueChoice {
    /// How many it draws at random; `None` for all.
    pub samples: Option<u32>,
    /// How many of the shortest of the last choice it compares beside them.
    pub memory: u32,
}

/// The choices of one flow.
#[derive(Clone, Debug)]
pub(crate) struct PathChooser {
    choice: PathChoice,
    dice: Dice,
    /// The path of the frame before; in turn, of the next.
    path: Option<u32>,
    /// When the frame before left.
    last: Instant,
    /// The ways that are recycled, if they are.
    recycled: Option<RecycledEntropies>,
}

impl PathChooser {
    pub(crate) const fn new(choice: PathChoice, dice: Dice) -> PathChooser {
        let recycled = match choice {
            PathChoice::Recycled(plan) => Some(RecycledEntropies::new(plan)),
            _ => None,
        };
        PathChooser { choice, dice, path: None, last: Instant::ZERO, recycled }
    }

    /// The path, of so many, of a frame that leaves now.
    pub(crate) fn choose(&mut self, now: Instant, paths: u32) -> u32 {
        match self.choice {
            PathChoice::Random | PathChoice::ShortestQueue(_) => self.dice.below(paths),
            PathChoice::RoundRobin => {
                let path = self.path.map_or_else(|| self.dice.below(paths), |path| path % paths);
                self.path = Some(path + 1);
                path
            }
            PathChoice::Flowlets(gap) => {
                let goes_on = now.since(self.last) <= gap;
                self.last = now;
                let path = self.path.filter(|path| goes_on && *path < paths);
                *self.path.insert(path.unwrap_or_else(|| self.dice.below(paths)))
            }
            PathChoice::Recycled(_) => match self.recycled.as_mut().and_then(RecycledEntropies::next_way) {
                Some(path) => path % paths,
                None => self.dice.below(paths),
            },
        }
    }

    /// A frame that took this path is acknowledged.
    pub(crate) fn acknowledged(&mut self, now: Instant, path: u32, marked: bool) {
        if let Some(recycled) = &mut self.recycled {
            recycled.acknowledged(now, path, marked);
        }
    }

    /// The flow's retransmission timer ran out.
    pub(crate) fn timed_out(&mut self, now: Instant) {
        if let Some(recycled) = &mut self.recycled {
            recycled.timed_out(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qcnlab_schemes::Purpose;

    fn chooser(choice: PathChoice) -> PathChooser {
        PathChooser::new(choice, Dice::new(1, 0, "a->b", Purpose::Path))
    }

    fn us(n: u64) -> Instant {
        Instant::ZERO + Span::from_us(n)
    }

    #[test]
    fn round_robin_uses_each_path_in_turn() {
        let mut chooser = chooser(PathChoice::RoundRobin);
        let first = chooser.choose(us(0), 4);
        let next: Vec<u32> = (0..5).map(|_| chooser.choose(us(0), 4)).collect();
        let expected: Vec<u32> = (1..6).map(|step| (first + step) % 4).collect();
        assert_eq!(next, expected);
        // Two of the four paths have failed.
        assert!((0..4).map(|_| chooser.choose(us(1), 2)).all(|path| path < 2));
    }

    /// Paths count from 0: where no more are left than the number of its path, that path is gone.
    #[test]
    fn a_flowlet_leaves_a_path_that_is_gone() {
        let mut chooser = chooser(PathChoice::Flowlets(Span::from_us(50)));
        let path = chooser.choose(us(1), 64);
        assert!(path > 0, "the first of all is never gone");
        assert_eq!(chooser.choose(us(2), path + 1), path);
        assert!(chooser.choose(us(3), path) < path);
    }

    /// Frames 50 us apart are one flowlet with a gap of 50 us, and draw anew after 51: of 64 paths the same comes again
    /// once in 64 times.
    #[test]
    fn a_flowlet_keeps_its_path() {
        let mut chooser = chooser(PathChoice::Flowlets(Span::from_us(50)));
        let together: Vec<u32> = (1..100).map(|frame| chooser.choose(us(50 * frame), 64)).collect();
        assert!(together.iter().all(|path| path == &together[0]));
        let apart: Vec<u32> = (100..200).map(|frame| chooser.choose(us(51 * frame), 64)).collect();
        let kept = apart.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!(kept < 10, "{kept}");
        assert!(chooser.choose(us(20_000), 1) == 0);
    }

    /// A pause of the whole gap, to the picosecond, ends no flowlet; a picosecond more does.
    #[test]
    fn a_gap_just_reached_ends_no_flowlet() {
        let gap = Span::from_us(50);
        let apart = |pause: Span| {
            let mut chooser = chooser(PathChoice::Flowlets(gap));
            let paths: Vec<u32> =
                (1..100).map(|frame| chooser.choose(Instant::from_ps(pause.ps() * frame), 64)).collect();
            paths.windows(2).filter(|pair| pair[0] != pair[1]).count()
        };
        assert_eq!(apart(gap), 0);
        // 98 draws of 64 paths: all but one or two differ from the one before.
        assert!(apart(gap + Span::from_ps(1)) > 88);
    }

    /// Path 3 of four comes again once; of two paths, after the others have failed, it is 3 mod 2.
    #[test]
    fn a_recycled_path_is_one_that_is_there() {
        let plan = RepsPlan { freeze: Span::from_us(1), explore: 0 };
        let mut chooser = chooser(PathChoice::Recycled(plan));
        chooser.acknowledged(us(1), 3, false);
        chooser.acknowledged(us(1), 3, false);
        assert_eq!((chooser.choose(us(2), 4), chooser.choose(us(2), 2)), (3, 1));
        let drawn: Vec<u32> = (0..64).map(|_| chooser.choose(us(3), 4)).collect();
        assert!((0..4).all(|path| drawn.contains(&path)), "{drawn:?}");
    }

    /// A timeout at 3 us freezes what is recycled for 10 us: path 3 of 64 comes again, however often. Without one it comes
    /// once, and four draws are all of them path 3 once in 16 million times.
    #[test]
    fn a_timeout_freezes_the_paths() {
        let plan = RepsPlan { freeze: Span::from_us(10), explore: 0 };
        let mut chooser = chooser(PathChoice::Recycled(plan));
        chooser.acknowledged(us(1), 3, false);
        assert_eq!(chooser.choose(us(2), 64), 3);
        chooser.timed_out(us(3));
        assert_eq!([4, 5, 6, 7].map(|at| chooser.choose(us(at), 64)), [3; 4]);
    }
}
