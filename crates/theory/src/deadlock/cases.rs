//! Sets of links that are down at the same time: all, or some that are drawn.

use qcnlab_schemes::{Dice, Purpose};
use qcnlab_units::Id;
use std::collections::BTreeSet;

/// The sets of one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cases<L> {
    /// How many there are.
    pub(super) possible: u128,
    /// Those to be checked, each with its links in order.
    pub(super) sets: Vec<Vec<L>>,
}

impl<L: Copy> Cases<L> {
    /// Sets of `size` of these links: all of them, or `most` that are drawn where there are more.
    pub(super) fn of(links: &[L], size: u32, most: u32) -> Cases<L> {
        let possible = combinations(links.len() as u128, u128::from(size));
        let named = |set: &Vec<u32>| set.iter().map(|position| links[position.position()]).collect();
        let sets: Vec<Vec<L>> = match possible <= u128::from(most) {
            true => all(links.len() as u32, size).iter().map(named).collect(),
            false => drawn(links.len() as u32, size, most).iter().map(named).collect(),
        };
        Cases { possible, sets }
    }
}

/// How many ways there are to choose `chosen` of `count`, up to 2^128 - 1.
fn combinations(count: u128, chosen: u128) -> u128 {
    if chosen > count {
        return 0;
    }
    (0..chosen).fold(1u128, |ways, i| ways.saturating_mul(count - i) / (i + 1))
}

fn all(count: u32, size: u32) -> Vec<Vec<u32>> {
    let mut sets = vec![Vec::new()];
    for _ in 0..size {
        let longer = |set: Vec<u32>| {
            let first = set.last().map_or(0, |last| last + 1);
            (first..count).map(move |next| [&set[..], &[next]].concat())
        };
        sets = sets.into_iter().flat_map(longer).collect();
    }
    sets
}

/// As many different sets, in order; the same for the same numbers. There are more than that.
fn drawn(count: u32, size: u32, most: u32) -> BTreeSet<Vec<u32>> {
    let mut dice = Dice::new(0, 0, "links that are down", Purpose::Path);
    let mut sets = BTreeSet::new();
    while sets.len() < most.position() {
        let mut set = BTreeSet::new();
        while set.len() < size.position() {
            set.insert(dice.below(count));
        }
        sets.insert(set.into_iter().collect());
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_sets_are_all_checked() {
        let cases = Cases::of(&[4, 7, 9], 2, 3);
        assert_eq!(cases, Cases { possible: 3, sets: vec![vec![4, 7], vec![4, 9], vec![7, 9]] });
        assert_eq!(Cases::of(&[4, 7, 9], 0, 1), Cases { possible: 1, sets: vec![vec![]] });
        assert_eq!(Cases::of(&[4, 7, 9], 4, 1), Cases { possible: 0, sets: vec![] });
        // 32 links of a fat-tree with k = 4: 32 x 31 / 2.
        let links: Vec<u32> = (16..48).collect();
        assert_eq!(Cases::of(&links, 2, 496).sets.len(), 496);
    }

    #[test]
    fn of_many_sets_some_are_drawn() {
        let links: Vec<u32> = (100..200).collect();
        let cases = Cases::of(&links, 3, 50);
        // 100 x 99 x 98 / 6.
        assert_eq!((cases.possible, cases.sets.len()), (161_700, 50));
        assert_eq!(cases, Cases::of(&links, 3, 50));
        assert!(cases.sets.iter().all(|set| set.len() == 3 && set.is_sorted() && set[0] >= 100 && set[2] < 200));
        assert_eq!(cases.sets.iter().collect::<BTreeSet<_>>().len(), 50);
    }

    #[test]
    fn more_sets_than_can_be_counted_are_some() {
        let links: Vec<u32> = (0..100_000).collect();
        assert!(Cases::of(&links, 10, 2).possible > 1 << 100);
    }
}
