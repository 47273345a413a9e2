//! Flows that a CSV text lists.

use super::{Arriving, Offered};
use crate::entry::{HostPair, TrafficEntry};
use crate::fault::Fault;
use crate::located::LocatedFault;
use qcnlab_network::topology::NodeId;
use qcnlab_schemes::params;
use qcnlab_schemes::params::Range;
use qcnlab_traffic::{CellFault, ListedFlow, SheetError, read_flows, starting_before};
use qcnlab_units::Instant;
use std::collections::HashMap;

params! {
    /// Flows that are written out.
    #[derive(Clone, Debug, PartialEq)]
    pub struct FlowList {
        /// A CSV file with the columns from, to, size, start and, if wanted, class; or such text itself. Over TCP and
        /// RoCE it may have the columns id and after: a flow waits for those whose ids are in after, and starts when they have
        /// completed and start has passed since then.
        flows: String, "", Range::ANY;
    }
}

impl Arriving for FlowList {
    fn offered(&self) -> Offered {
        Offered::Sized
    }

    /// The flows of the list. Those with a time of their own start before the run ends: one that never starts is a
    /// mistake, as it is of other traffic.
    fn pairs(&self, entry: &TrafficEntry<'_>) -> Result<Vec<HostPair>, LocatedFault> {
        let (network, key) = (entry.network, entry.key("flows"));
        let file = entry.file.unwrap_or(&key);
        let hosts: Vec<&str> = network.hosts().map(|host| &*network.nodes[host].name).collect();
        let flows = read_flows(self.flows.as_bytes(), file, &hosts);
        let flows = flows.map_err(|error| LocatedFault::new(Fault::Sheet(error), &[&key]))?;
        let at = |flow: &ListedFlow, culprit: &str, fault| {
            let error = SheetError { file: file.to_owned(), line: flow.line, column: None, fault: Box::new(fault) };
            LocatedFault::new(Fault::Sheet(error), &[culprit.to_owned(), key.clone()])
        };
        let waiting = flows.iter().find(|flow| !flow.after.is_empty());
        if let Some(waiting) = waiting.filter(|_| !entry.tells_completion) {
            return Err(at(waiting, &key, CellFault::CannotWait { transport: entry.transport }));
        }
        let end = entry.duration;
        let late = |flow: &&ListedFlow| flow.after.is_empty() && flow.start >= Instant::ZERO + end;
        if let Some(flow) = flows.iter().find(late) {
            return Err(at(flow, "duration", CellFault::AfterTheRun { start: flow.start.since(Instant::ZERO), end }));
        }
        let stop = Instant::ZERO + entry.arrivals_end;
        let by_name: HashMap<&str, NodeId> =
            network.nodes.enumerate().map(|(node, each)| (&*each.name, node)).collect();
        let node = |name: &str| by_name[name];
        let pair = |flow: ListedFlow| HostPair {
            from: node(&flow.from),
            to: node(&flow.to),
            start: flow.start.since(Instant::ZERO),
            size: Some(flow.size),
            class: flow.class,
            after: flow.after,
            delays: flow.delays,
        };
        Ok(starting_before(stop, flows).into_iter().map(pair).collect())
    }

    fn arrives(&self) -> bool {
        true
    }

    fn sheet(&mut self) -> Option<(&'static str, &mut String)> {
        Some(("flows", &mut self.flows))
    }
}
