//! Adapters: serve the flows of a host in turn.

use crate::ids::{FlowId, PortId, QueuesId};
use std::collections::VecDeque;

/// Serves the flows that share a host's link: highest class first, round robin within a class.
#[derive(Debug)]
pub(crate) struct Adapter {
    pub(crate) port: PortId,
    /// The priority queues of that port, if it has some.
    pub(crate) behind: Option<QueuesId>,
    /// How many flows it serves.
    pub(crate) flows: u32,
    queues: [VecDeque<FlowId>; 8],
    /// The classes in which a flow waits, a bit each.
    pub(crate) ready: u8,
}

impl Adapter {
    pub(crate) fn new(port: PortId, behind: Option<QueuesId>) -> Adapter {
        Adapter { port, behind, flows: 0, queues: Default::default(), ready: 0 }
    }

    /// Appends a flow whose limiter has released a frame.
    pub(crate) fn enqueue(&mut self, class: u8, flow: FlowId) {
        self.queues[usize::from(class)].push_back(flow);
        self.ready |= 1 << class;
    }

    /// Takes the flow that is served next, of the highest of `classes`.
    pub(crate) fn dequeue(&mut self, classes: u8) -> Option<FlowId> {
        let class = (self.ready & classes).checked_ilog2()? as usize;
        let flow = self.queues[class].pop_front();
        if self.queues[class].is_empty() {
            self.ready &= !(1 << class);
        }
        flow
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    #[test]
    fn the_highest_class_goes_first_and_flows_in_turn() {
        let mut adapter = Adapter::new(PortId::new(0), None);
        for (class, flow) in [(0, 1), (0, 2), (5, 3), (0, 4)] {
            adapter.enqueue(class, FlowId::new(flow));
        }
        assert_eq!(adapter.dequeue(0b0001_1111), Some(FlowId::new(1)));
        let order: Vec<u32> = std::iter::from_fn(|| adapter.dequeue(0xff)).map(FlowId::number).collect();
        assert_eq!(order, [3, 2, 4]);
        assert_eq!(adapter.ready, 0);
    }
}
