//! Flows of random sizes that start at random.

use super::{Arriving, Offered};
use crate::entry::{HostPair, TrafficEntry, numbers};
use crate::fault::Fault;
use crate::located::LocatedFault;
use qcnlab_network::topology::NodeId;
use qcnlab_schemes::params;
use qcnlab_schemes::params::Range;
use qcnlab_traffic::{Poisson, Sizes, read_sizes};
use qcnlab_units::{Bytes, IdVec};

params! {
    /// Flows of random sizes that start at random, independently of each other, between random hosts.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RandomFlows {
        /// How large flows are: a size such as 64 KB for all, the name of a published distribution such as
        /// web_search, or a CSV file with the columns size and part, the part of flows up to that size.
        sizes: String, "", Range::ANY;
        /// Part of its link's rate that each sender sends on average, over a transport payload alone; of several rates
        /// the smallest counts.
        load: f64, "", Range::above_zero_to(1.0);
    }
}

impl Arriving for RandomFlows {
    fn offered(&self) -> Offered {
        Offered::Sized
    }

    fn pairs(&self, entry: &TrafficEntry<'_>) -> Result<Vec<HostPair>, LocatedFault> {
        let (senders, receivers) = entry.hosts()?;
        let file = entry.file;
        let sizes = sizes(&self.sizes, file).map_err(|fault| LocatedFault::new(fault, &[entry.key("sizes")]))?;
        let to_others = |host: &NodeId| receivers.iter().any(|to| to != host);
        let senders: Vec<NodeId> = senders.iter().copied().filter(to_others).collect();
        let mut sends = IdVec::for_each_of(&entry.network.nodes, false);
        senders.iter().for_each(|host| sends[*host] = true);
        let links = entry.network.links.iter().filter(|link| sends[link.a] || sends[link.b]);
        let rate = links.map(|link| link.rate).min().unwrap_or_default();
        let (start, stop) = entry.drawn_times();
        let poisson = Poisson { load: self.load, rate, sizes, start, stop };
        entry.drawn(poisson.draw(&numbers(&senders), &numbers(&receivers), &mut entry.dice()))
    }

    fn is_drawn(&self) -> bool {
        true
    }

    fn sheet(&mut self) -> Option<(&'static str, &mut String)> {
        self.sizes.ends_with(".csv").then_some(("sizes", &mut self.sizes))
    }
}

/// A distribution of sizes: one size, a published distribution's name, or a table as CSV text.
fn sizes(text: &str, file: Option<&str>) -> Result<Sizes, Fault> {
    if text.contains('\n') || file.is_some() {
        return read_sizes(text.as_bytes(), file.unwrap_or("sizes")).map_err(Fault::Sheet);
    }
    if let Ok(size) = text.parse::<Bytes>() {
        return Sizes::fixed(size).map_err(Fault::Sizes);
    }
    Sizes::named(text).map_err(Fault::Sizes)
}
