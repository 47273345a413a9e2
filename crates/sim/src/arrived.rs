//! Which numbers of a stream have arrived: all below the first that is missing, and some beyond it.

use std::ops::Range;

/// The numbers that have arrived.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Arrived {
    /// The first that is missing.
    expected: u32,
    /// Those beyond it: apart from one another and in order.
    beyond: Vec<Range<u32>>,
}

impl Arrived {
    /// The first number that is missing: as many are here in order.
    #[inline]
    pub(crate) const fn expected(&self) -> u32 {
        self.expected
    }

    /// Whether a number beyond the first missing one is here.
    #[inline]
    pub(crate) const fn has_hole(&self) -> bool {
        !self.beyond.is_empty()
    }

    /// One past the highest number that is here.
    pub(crate) fn highest(&self) -> u32 {
        self.beyond.last().map_or(self.expected, |last| last.end)
    }

    /// How many numbers beyond the first missing one are here.
    pub(crate) fn kept(&self) -> u32 {
        self.beyond.iter().map(|range| range.end - range.start).sum()
    }

    /// The number below which every missing one has been overtaken by `count` others; the first missing one if it has not.
    pub(crate) fn overtaken_by(&self, count: u32) -> u32 {
        let mut left = count.max(1);
        for range in self.beyond.iter().rev() {
            match left.checked_sub(range.end - range.start) {
                None | Some(0) => return range.end - left,
                Some(rest) => left = rest,
            }
        }
        self.expected
    }

    /// The first number from `from` on that is missing.
    pub(crate) fn missing_from(&self, from: u32) -> u32 {
        let from = from.max(self.expected);
        let at = self.beyond.partition_point(|range| range.end <= from);
        match self.beyond.get(at) {
            Some(range) if range.contains(&from) => range.end,
            _ => from,
        }
    }

    /// A number arrives; returns whether it was missing.
    #[inline]
    pub(crate) fn insert(&mut self, number: u32) -> bool {
        if number != self.expected {
            return number > self.expected && self.keep(number);
        }
        self.expected += 1;
        if self.beyond.first().is_some_and(|first| first.start == self.expected) {
            self.expected = self.beyond.remove(0).end;
        }
        true
    }

    /// Everything below `number` has arrived.
    pub(crate) fn advance(&mut self, number: u32) {
        if number <= self.expected {
            return;
        }
        self.expected = number;
        let passed = self.beyond.partition_point(|range| range.end <= number);
        self.beyond.drain(..passed);
        if let Some(first) = self.beyond.first()
            && first.start <= number
        {
            self.expected = self.beyond.remove(0).end;
        }
    }

    /// Remembers a number beyond a hole; returns whether it was missing.
    fn keep(&mut self, number: u32) -> bool {
        let at = self.beyond.partition_point(|range| range.end < number);
        match self.beyond.get_mut(at) {
            Some(range) if range.contains(&number) => return false,
            Some(range) if range.end == number => {
                range.end += 1;
                let end = range.end;
                if self.beyond.get(at + 1).is_some_and(|next| next.start == end) {
                    self.beyond[at].end = self.beyond.remove(at + 1).end;
                }
            }
            Some(range) if range.start == number + 1 => range.start = number,
            _ => self.beyond.insert(at, number..number + 1),
        }
        true
    }

    /// The ranges beyond the first missing number.
    #[cfg(test)]
    pub(crate) fn beyond(&self) -> &[Range<u32>] {
        &self.beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_known_and_closed() {
        let mut arrived = Arrived::default();
        assert!(arrived.insert(0) && arrived.insert(2) && arrived.insert(5) && arrived.insert(3));
        assert!(!arrived.insert(2) && !arrived.insert(0));
        assert_eq!((arrived.expected(), arrived.highest(), arrived.has_hole()), (1, 6, true));
        assert_eq!([0, 2, 4, 5].map(|n| arrived.missing_from(n)), [1, 4, 4, 6]);
        arrived.advance(3);
        assert_eq!((arrived.expected(), arrived.beyond()), (4, std::slice::from_ref(&(5..6))));
        assert!(arrived.insert(4));
        assert_eq!((arrived.expected(), arrived.has_hole()), (6, false));
    }

    /// 0 is here, 1 is missing, 2, 3 and 6 are here: one of them is not below 6, two not below 3, three not below 2.
    #[test]
    fn those_that_were_overtaken_are_counted_from_the_top() {
        let mut arrived = Arrived::default();
        assert_eq!((arrived.kept(), arrived.overtaken_by(1)), (0, 0));
        [0, 2, 3, 6].into_iter().for_each(|number| assert!(arrived.insert(number)));
        assert_eq!(arrived.kept(), 3);
        assert_eq!([0, 1, 2, 3, 4, u32::MAX].map(|count| arrived.overtaken_by(count)), [6, 6, 3, 2, 1, 1]);
    }
}
