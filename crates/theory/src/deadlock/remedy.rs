//! Which frames have to wait in other buffers, so that no circle is left: one way, not always the shortest.

use super::Circular;
use super::dependencies::Dependencies;
use super::graph::Graph;
use std::collections::BTreeMap;

/// Each wait of a circle: a buffer and the one that it waits for.
pub(super) fn waits(circle: &[u32]) -> impl Iterator<Item = (u32, u32)> + '_ {
    circle.iter().copied().zip(circle.iter().copied().cycle().skip(1))
}

/// Crossings of switches, each a port in and a port out, without which no case has a circle. The one that is in most
/// shortest circles comes first. Those that no route has while all links are up (`normal` has the waits of that, in order) are
/// preferred: then nothing changes as long as no link fails.
pub(super) fn crossings(cases: &[Circular], normal: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let crossing = |(from, to): (u32, u32)| (Dependencies::port_of(from), Dependencies::port_of(to));
    let mut left: Vec<Vec<Graph>> = cases.iter().map(|case| case.components.clone()).collect();
    let mut chosen = Vec::new();
    loop {
        let mut uses: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for circle in left.iter().flatten().filter_map(Graph::shortest_circle) {
            let extra: Vec<(u32, u32)> = waits(&circle).filter(|wait| normal.binary_search(wait).is_err()).collect();
            let of_circle = if extra.is_empty() { waits(&circle).collect() } else { extra };
            of_circle.into_iter().for_each(|wait| *uses.entry(crossing(wait)).or_default() += 1);
        }
        let most = uses.values().copied().max();
        let Some((best, _)) = uses.into_iter().find(|(_, count)| Some(*count) == most) else { return chosen };
        chosen.push(best);
        for components in &mut left {
            let without = |graph: &Graph| Graph::new(graph.edges().filter(|edge| crossing(*edge) != best).collect());
            *components = components.iter().flat_map(|graph| without(graph).components()).collect();
        }
    }
}
