//! A graph of buffers that wait for one another, and the circles in it.

use qcnlab_units::{Id, IdVec, ids};
use std::collections::VecDeque;

ids! {
    /// A buffer, by its position among those of a graph.
    struct NodeIndex;
}

/// Which buffer waits for which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Graph<B> {
    /// Buffers in order.
    nodes: IdVec<NodeIndex, B>,
    /// Edges in order.
    edges: Vec<(NodeIndex, NodeIndex)>,
    /// Where the edges of each node begin, and where those of the last end.
    starts: IdVec<NodeIndex, usize>,
}

impl<B: Copy + Ord> Graph<B> {
    /// The graph of these edges, each from a buffer to one that it waits for, however often it is listed.
    pub(super) fn new(mut listed: Vec<(B, B)>) -> Graph<B> {
        listed.sort_unstable();
        listed.dedup();
        let mut nodes: Vec<B> = listed.iter().flat_map(|(from, to)| [*from, *to]).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let index = |node: B| NodeIndex::at(nodes.partition_point(|each| *each < node));
        let edges: Vec<(NodeIndex, NodeIndex)> = listed.iter().map(|(from, to)| (index(*from), index(*to))).collect();
        let starts = (0..=nodes.len()).map(|node| edges.partition_point(|edge| edge.0.position() < node)).collect();
        Graph { nodes: nodes.into(), edges, starts }
    }

    /// Every edge, in order.
    pub(super) fn edges(&self) -> impl Iterator<Item = (B, B)> + '_ {
        self.edges.iter().map(|(from, to)| (self.nodes[*from], self.nodes[*to]))
    }

    /// Every buffer, in order.
    pub(super) fn nodes(&self) -> &[B] {
        &self.nodes
    }

    fn next(&self, node: NodeIndex) -> &[(NodeIndex, NodeIndex)] {
        &self.edges[self.starts[node]..self.starts[NodeIndex::new(node.number() + 1)]]
    }

    /// The part of the graph that circles are made of: for each strongly connected component with an edge in it, the
    /// edges within it. Components are in the order of their least buffer.
    pub(super) fn components(&self) -> Vec<Graph<B>> {
        let component = self.component_of_each();
        let of = |node: NodeIndex| component[node];
        // There are no more components than nodes.
        let mut inner: IdVec<NodeIndex, Vec<(B, B)>> = IdVec::for_each_of(&self.nodes, Vec::new());
        for (edge, named) in self.edges.iter().zip(self.edges()).filter(|(edge, _)| of(edge.0) == of(edge.1)) {
            inner[of(edge.0)].push(named);
        }
        let mut inner: Vec<Graph<B>> = inner.into_iter().filter(|edges| !edges.is_empty()).map(Graph::new).collect();
        inner.sort_by_key(|part| part.nodes.first().copied());
        inner
    }

    /// For each node the number of its strongly connected component (Tarjan, SIAM J. Comput. 1972), without recursion.
    fn component_of_each(&self) -> IdVec<NodeIndex, NodeIndex> {
        const NONE: NodeIndex = NodeIndex::MAX;
        let mut order = IdVec::for_each_of(&self.nodes, u32::MAX);
        let mut low = order.clone();
        let mut component = IdVec::for_each_of(&self.nodes, NONE);
        let (mut visited, mut components) = (0, 0);
        let mut open: Vec<NodeIndex> = Vec::new();
        for root in self.nodes.ids() {
            if order[root] != u32::MAX {
                continue;
            }
            let mut calls: Vec<(NodeIndex, usize)> = vec![(root, 0)];
            while let Some((node, done)) = calls.last_mut() {
                let at = *node;
                if *done == 0 && order[at] == u32::MAX {
                    (order[at], low[at]) = (visited, visited);
                    visited += 1;
                    open.push(*node);
                }
                if let Some((_, next)) = self.next(*node).get(*done) {
                    *done += 1;
                    let next = *next;
                    if order[next] == u32::MAX {
                        calls.push((next, 0));
                    } else if component[next] == NONE {
                        low[at] = low[at].min(order[next]);
                    }
                    continue;
                }
                let node = *node;
                calls.pop();
                if let Some((parent, _)) = calls.last() {
                    low[*parent] = low[*parent].min(low[at]);
                }
                if low[at] == order[at] {
                    while let Some(last) = open.pop() {
                        component[last] = NodeIndex::new(components);
                        if last == node {
                            break;
                        }
                    }
                    components += 1;
                }
            }
        }
        component
    }

    /// A shortest circle: buffers, each of which waits for the next and the last for the first. Of several the one from
    /// the least buffer on. `None` without a circle.
    pub(super) fn shortest_circle(&self) -> Option<Vec<B>> {
        let mut best: Option<Vec<NodeIndex>> = None;
        for start in self.nodes.ids() {
            let most = best.as_ref().map_or(usize::MAX, Vec::len);
            if let Some(circle) = self.circle_through(start, most) {
                best = Some(circle);
            }
            if best.as_ref().is_some_and(|circle| circle.len() <= 1) {
                break;
            }
        }
        best.map(|circle| circle.into_iter().map(|node| self.nodes[node]).collect())
    }

    /// A shortest circle through a node, if it has fewer than `most` nodes.
    fn circle_through(&self, start: NodeIndex, most: usize) -> Option<Vec<NodeIndex>> {
        let mut before: IdVec<NodeIndex, Option<NodeIndex>> = IdVec::for_each_of(&self.nodes, None);
        let mut far = IdVec::for_each_of(&self.nodes, 0usize);
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            let length = far[node] + 1;
            if length >= most {
                return None;
            }
            for (_, next) in self.next(node) {
                if *next == start {
                    let mut circle = vec![node];
                    while circle[circle.len() - 1] != start {
                        circle.extend(before[circle[circle.len() - 1]]);
                    }
                    circle.reverse();
                    return Some(circle);
                }
                if before[*next].is_none() {
                    before[*next] = Some(node);
                    far[*next] = length;
                    queue.push_back(*next);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn circles(edges: &[(u32, u32)]) -> Vec<Vec<u32>> {
        Graph::new(edges.to_vec()).components().iter().filter_map(Graph::shortest_circle).collect()
    }

    #[test]
    fn a_line_has_no_circle() {
        assert_eq!(circles(&[(1, 2), (2, 3), (1, 3), (3, 9)]), Vec::<Vec<u32>>::new());
        assert_eq!(Graph::<u32>::new(Vec::new()).shortest_circle(), None);
    }

    /// 7 waits for itself; 1, 2 and 3 for one another; 4, which waits for them, is in no circle.
    #[test]
    fn each_component_gives_one_circle() {
        let edges = [(1, 2), (2, 3), (3, 1), (4, 1), (7, 7), (3, 7)];
        assert_eq!(circles(&edges), [vec![1, 2, 3], vec![7]]);
    }

    /// 1, 2, 3, 4 and 1, 2, 4 are circles of one component.
    #[test]
    fn the_shortest_circle_is_the_one_that_is_named() {
        assert_eq!(circles(&[(1, 2), (2, 3), (3, 4), (4, 1), (2, 4)]), [vec![1, 2, 4]]);
        assert_eq!(circles(&[(1, 2), (2, 3), (3, 4), (4, 1), (3, 2)]), [vec![2, 3]]);
    }

    #[test]
    fn a_line_of_many_buffers_is_walked_without_recursion() {
        let line: Vec<(u32, u32)> = (0..200_000).map(|node| (node, node + 1)).collect();
        assert!(circles(&line).is_empty());
    }

    proptest! {
        /// By the closure of the edges: a buffer is in a circle when it reaches itself, two are in one component when they
        /// reach each other, and no circle is shorter than the least number of steps back.
        #[test]
        fn components_and_circles_are_those_of_the_closure(edges in prop::collection::vec((0..9u32, 0..9u32), 0..24)) {
            let mut steps = [[usize::MAX / 2; 9]; 9];
            edges.iter().for_each(|(from, to)| steps[*from as usize][*to as usize] = 1);
            for via in 0..9 {
                for from in 0..9 {
                    for to in 0..9 {
                        steps[from][to] = steps[from][to].min(steps[from][via] + steps[via][to]);
                    }
                }
            }
            let reaches = |from: u32, to: u32| steps[from as usize][to as usize] < 100;
            let components = Graph::new(edges.clone()).components();
            for node in 0..9u32 {
                let of: Vec<&Graph<u32>> = components.iter().filter(|each| each.nodes.contains(&node)).collect();
                prop_assert_eq!(of.len(), usize::from(reaches(node, node)));
                for other in of.iter().flat_map(|each| each.nodes.iter()) {
                    prop_assert!(reaches(node, *other) && reaches(*other, node));
                }
            }
            for component in &components {
                let circle = component.shortest_circle().unwrap();
                let shortest = component.nodes.iter().map(|node| steps[*node as usize][*node as usize]).min();
                prop_assert_eq!(Some(circle.len()), shortest);
                let next = circle.iter().cycle().skip(1);
                prop_assert!(circle.iter().zip(next).all(|(from, to)| edges.contains(&(*from, *to))));
            }
        }
    }
}
