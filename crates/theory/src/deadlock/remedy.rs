//! Which frames have to wait in other buffers, so that no circle is left: one way, not always the shortest.

use super::Circular;
use super::dependencies::BufferId;
use super::graph::Graph;
use qcnlab_network::topology::PortId;
use std::collections::BTreeMap;

/// Each wait of a circle: a buffer and the one that it waits for.
pub(super) fn waits(circle: &[BufferId]) -> impl Iterator<Item = (BufferId, BufferId)> + '_ {
    circle.iter().copied().zip(circle.iter().copied().cycle().skip(1))
}

/// Crossings of switches, each a port in and a port out, without which no case has a circle. The one that is in most
/// shortest circles comes first. Those that no route has while all links are up (`normal` has the waits of that, in order) are
/// preferred: then nothing changes as long as no link fails.
pub(super) fn crossings(cases: &[Circular], normal: &[(BufferId, BufferId)]) -> Vec<(PortId, PortId)> {
    let crossing = |(from, to): (BufferId, BufferId)| (from.port(), to.port());
    let mut left: Vec<Vec<Graph<BufferId>>> = cases.iter().map(|case| case.components.clone()).collect();
    let mut chosen = Vec::new();
    loop {
        let mut uses: BTreeMap<(PortId, PortId), u32> = BTreeMap::new();
        for circle in left.iter().flatten().filter_map(Graph::shortest_circle) {
            let extra: Vec<(BufferId, BufferId)> =
                waits(&circle).filter(|wait| normal.binary_search(wait).is_err()).collect();
            let of_circle = if extra.is_empty() { waits(&circle).collect() } else { extra };
            of_circle.into_iter().for_each(|wait| *uses.entry(crossing(wait)).or_default() += 1);
        }
        let most = uses.values().copied().max();
        let Some((best, _)) = uses.into_iter().find(|(_, count)| Some(*count) == most) else { return chosen };
        chosen.push(best);
        for components in &mut left {
            let without =
                |graph: &Graph<BufferId>| Graph::new(graph.edges().filter(|edge| crossing(*edge) != best).collect());
            *components = components.iter().flat_map(|graph| without(graph).components()).collect();
        }
    }
}
