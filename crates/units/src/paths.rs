//! Paths of flows: ports in order. Flows that take the same paths share them, in one table for all.

use std::fmt;
use std::ops::{Index, Range};
use std::sync::Arc;

/// The paths of a flow, each of them ports of kind `P` in order.
pub struct Paths<P> {
    table: Arc<Table<P>>,
    first: u32,
    count: u32,
}

/// Paths end to end.
struct Table<P> {
    ports: Vec<P>,
    /// Where each path begins among the ports; beyond the last where that ends.
    starts: Vec<usize>,
}

impl<P> Table<P> {
    fn new() -> Table<P> {
        Table { ports: Vec::new(), starts: vec![0] }
    }

    fn path(&self, number: usize) -> &[P] {
        &self.ports[self.starts[number]..self.starts[number + 1]]
    }

    fn push(&mut self, ports: impl IntoIterator<Item = P>) {
        self.ports.extend(ports);
        self.starts.push(self.ports.len());
    }
}

/// Collects the paths of flows.
pub struct PathsOfFlows<P> {
    table: Table<P>,
    /// By flow the first of its paths in the table, and how many there are.
    flows: Vec<(u32, u32)>,
}

impl<P: Copy> PathsOfFlows<P> {
    /// Returns an empty collection for so many flows; each has no path.
    pub fn new(flows: usize) -> PathsOfFlows<P> {
        PathsOfFlows { table: Table::new(), flows: vec![(0, 0); flows] }
    }

    /// Adds paths to the table, for a flow.
    pub fn add(&mut self, flow: usize, paths: &[Vec<P>]) {
        let first = self.table.starts.len() - 1;
        self.flows[flow] = (first as u32, paths.len() as u32);
        paths.iter().for_each(|path| self.table.push(path.iter().copied()));
    }

    /// Lets a flow have the paths of another.
    pub fn share(&mut self, flow: usize, with: usize) {
        self.flows[flow] = self.flows[with];
    }

    /// Returns the paths of a flow.
    pub fn of(&self, flow: usize) -> impl ExactSizeIterator<Item = &[P]> {
        let (first, count) = self.flows[flow];
        (first..first + count).map(|number| self.table.path(number as usize))
    }

    /// Returns the paths of each flow, in order.
    pub fn finish(mut self) -> Vec<Paths<P>> {
        self.table.ports.shrink_to_fit();
        self.table.starts.shrink_to_fit();
        let table = Arc::new(self.table);
        self.flows.into_iter().map(|(first, count)| Paths { table: table.clone(), first, count }).collect()
    }
}

impl<P> Paths<P> {
    /// Returns how many there are.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns them in their order.
    pub fn iter(&self) -> PathIter<'_, P> {
        PathIter { table: &self.table, numbers: self.first as usize..(self.first + self.count) as usize }
    }

    /// Returns the paths of flows with other ports: those that `ports` returns of each path. Flows share what they shared
    /// before.
    pub fn changed<Q, I: IntoIterator<Item = Q>>(
        flows: &[Paths<P>],
        mut ports: impl FnMut(&[P]) -> I,
    ) -> Vec<Paths<Q>> {
        let mut made: Vec<(*const Table<P>, Arc<Table<Q>>)> = Vec::new();
        let mut of_flow = |flow: &Paths<P>| {
            let old = Arc::as_ptr(&flow.table);
            let known = made.iter().rev().find(|(of, _)| *of == old).map(|(_, table)| table.clone());
            let table = known.unwrap_or_else(|| {
                let mut table = Table::new();
                (0..flow.table.starts.len() - 1).for_each(|number| table.push(ports(flow.table.path(number))));
                let table = Arc::new(table);
                made.push((old, table.clone()));
                table
            });
            Paths { table, first: flow.first, count: flow.count }
        };
        flows.iter().map(&mut of_flow).collect()
    }
}

impl<P> Clone for Paths<P> {
    fn clone(&self) -> Paths<P> {
        Paths { table: self.table.clone(), ..*self }
    }
}

impl<P> Index<usize> for Paths<P> {
    type Output = [P];

    fn index(&self, number: usize) -> &[P] {
        assert!(number < self.len(), "path {number} of {}", self.count);
        self.table.path(self.first as usize + number)
    }
}

/// The paths of a flow, one after the other.
pub struct PathIter<'a, P> {
    table: &'a Table<P>,
    numbers: Range<usize>,
}

impl<P> Clone for PathIter<'_, P> {
    fn clone(&self) -> Self {
        PathIter { table: self.table, numbers: self.numbers.clone() }
    }
}

impl<'a, P> Iterator for PathIter<'a, P> {
    type Item = &'a [P];

    fn next(&mut self) -> Option<&'a [P]> {
        self.numbers.next().map(|number| self.table.path(number))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.numbers.size_hint()
    }
}

impl<P> ExactSizeIterator for PathIter<'_, P> {}

impl<'a, P> IntoIterator for &'a Paths<P> {
    type Item = &'a [P];
    type IntoIter = PathIter<'a, P>;

    fn into_iter(self) -> PathIter<'a, P> {
        self.iter()
    }
}

impl<P: Copy> From<Vec<Vec<P>>> for Paths<P> {
    fn from(paths: Vec<Vec<P>>) -> Paths<P> {
        let mut all = PathsOfFlows::new(1);
        all.add(0, &paths);
        let PathsOfFlows { table, .. } = all;
        Paths { table: Arc::new(table), first: 0, count: paths.len() as u32 }
    }
}

impl<P: PartialEq> PartialEq for Paths<P> {
    fn eq(&self, other: &Paths<P>) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<P: Eq> Eq for Paths<P> {}

impl<P: fmt::Debug> fmt::Debug for Paths<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(paths: &Paths<u32>) -> Vec<Vec<u32>> {
        paths.iter().map(<[u32]>::to_vec).collect()
    }

    /// Flows 0 and 2 share two paths, of two ports and of one; flow 1 has one path of its own, and flow 3 none.
    fn four() -> Vec<Paths<u32>> {
        let mut all = PathsOfFlows::new(4);
        all.add(0, &[vec![7, 8], vec![9]]);
        all.add(1, &[vec![1, 2, 3]]);
        all.share(2, 0);
        assert_eq!(all.of(2).map(<[u32]>::len).collect::<Vec<_>>(), [2, 1]);
        all.finish()
    }

    #[test]
    fn flows_have_the_paths_that_they_were_given() {
        let flows = four();
        let expected = [vec![vec![7, 8], vec![9]], vec![vec![1, 2, 3]], vec![vec![7, 8], vec![9]], vec![]];
        assert_eq!(flows.iter().map(lists).collect::<Vec<_>>(), expected);
        assert_eq!((&flows[0][1], flows[0].len(), flows[3].is_empty()), (&[9][..], 2, true));
        assert!(flows[0] == flows[2] && flows[0] != flows[1] && flows[1] == Paths::from(vec![vec![1, 2, 3]]));
        assert_eq!(format!("{:?}", flows[0]), "[[7, 8], [9]]");
        assert_eq!((&flows[2]).into_iter().flatten().sum::<u32>(), 24);
    }

    /// Each shared path is changed once.
    #[test]
    fn what_flows_share_stays_shared_when_ports_change() {
        let mut calls = 0;
        let changed = Paths::changed(&four(), |path: &[u32]| {
            calls += 1;
            path.iter().map(|port| u64::from(*port) * 10).chain([0]).collect::<Vec<_>>()
        });
        assert_eq!((calls, &changed[2][0], &changed[1][0]), (3, &[70, 80, 0][..], &[10, 20, 30, 0][..]));
        assert!(Arc::ptr_eq(&changed[0].table, &changed[2].table));
        let apart = [Paths::from(vec![vec![1]]), Paths::from(vec![vec![2]])];
        let both = Paths::changed(&apart, |path| path.to_vec());
        assert_eq!(both.iter().map(lists).collect::<Vec<_>>(), [[[1]], [[2]]]);
    }

    #[test]
    #[should_panic(expected = "path 1 of 1")]
    fn a_flow_has_no_path_of_the_next() {
        let _ = &four()[1][1];
    }
}
