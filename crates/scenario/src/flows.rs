//! Who sends to whom: applies the patterns of `[[traffic]]` to the hosts of a network.

use super::arrivals::Offered;
use super::entry::{Draw, MOST_FLOWS, TrafficEntry, too_many};
use super::located::LocatedFault;
use super::network::network;
use super::types::Scenario;
use qcnlab_network::topology::{Network, NodeId};
use qcnlab_schemes::params::Variants;
use qcnlab_sim::{FlowId, WaitDelays};
use qcnlab_units::{Bytes, Id, Name, Names, Span};
use std::collections::HashMap;

/// One flow of a scenario's traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// Its name: `from->to`, or the source's alone if the topology is built around the receiver; with `#2` and so on
    /// for further flows of a pair.
    pub name: Name,
    /// Which flow of its two hosts it is, from 1.
    pub of_pair: u32,
    /// Position of the source among the nodes of the network, from 0.
    pub source_index: NodeId,
    /// Position of the receiver among the nodes of the network.
    pub sink_index: NodeId,
    /// Position of the entry in [`Scenario::traffic`].
    pub traffic: usize,
    /// When it starts, before jitter.
    pub start: Span,
    /// Its octets, if it was drawn at random or listed.
    pub size: Option<Bytes>,
    /// Its class, if a file lists it.
    pub class: Option<u8>,
    /// Positions of the flows that it waits for. Where there are any, `start` is how long after they have completed it
    /// starts.
    pub after: Box<[FlowId]>,
    /// How long after these it may start, where that is not at once.
    pub delays: Option<Box<WaitDelays>>,
}

impl Scenario {
    /// Returns the flows, in the order of traffic entries, then of sources, then of receivers. Flows that are drawn at
    /// random are those of replication 0.
    pub fn flows(&self) -> Vec<FlowSpec> {
        let Ok(network) = network(self) else { unreachable!("a checked scenario has a network") };
        let draw = Draw { seed: self.seed, replication: 0 };
        let Ok(flows) = flows(self, &network, draw) else { unreachable!("a checked scenario has flows") };
        flows
    }

    /// From when on no flow starts that is drawn or listed.
    pub fn arrivals_end(&self) -> Span {
        self.stop_arrivals.unwrap_or(self.duration)
    }

    /// Whether replications differ in their flows.
    pub fn draws_flows(&self) -> bool {
        self.traffic.iter().any(|traffic| traffic.arrivals.kind().differs_by_draw())
    }
}

/// The flows of a scenario over its network.
pub(super) fn flows(scenario: &Scenario, network: &Network, draw: Draw) -> Result<Vec<FlowSpec>, LocatedFault> {
    let mut flows: Vec<FlowSpec> = Vec::new();
    let mut names = Names::default();
    let unnamed = Name::from("");
    let mut of_pair: HashMap<(NodeId, NodeId), u32> = HashMap::new();
    let name = |node: NodeId| &network.nodes[node].name;
    let sink = scenario.topology.built_in_bottleneck().map(|bottleneck| bottleneck.sink);
    for traffic in 0..scenario.traffic.len() {
        let first = flows.len();
        let kind = scenario.traffic[traffic].arrivals.kind();
        let pairs = kind.pairs(&entry(scenario, network, traffic, draw))?;
        flows.reserve_exact(pairs.len());
        names.reserve(pairs.len());
        for pair in pairs {
            let count = of_pair.entry((pair.from, pair.to)).or_insert(0);
            *count += 1;
            let (from, to) = (name(pair.from), name(pair.to));
            match (Some(pair.to) == sink, *count) {
                (true, 1) => names.push(format_args!("{from}")),
                (true, count) => names.push(format_args!("{from}#{count}")),
                (false, 1) => names.push(format_args!("{from}->{to}")),
                (false, count) => names.push(format_args!("{from}->{to}#{count}")),
            }
            flows.push(FlowSpec {
                name: unnamed.clone(),
                of_pair: *count,
                source_index: pair.from,
                sink_index: pair.to,
                traffic,
                start: pair.start,
                size: pair.size,
                class: pair.class,
                after: pair.after.into_iter().map(|before| FlowId::at(first + before)).collect(),
                delays: pair.delays,
            });
        }
        if flows.len() > 2 * MOST_FLOWS {
            return Err(too_many(flows.len(), traffic));
        }
    }
    flows.iter_mut().zip(names.shared()).for_each(|(flow, name)| flow.name = name);
    Ok(flows)
}

/// What one entry is told of the scenario.
fn entry<'a>(scenario: &'a Scenario, network: &'a Network, number: usize, draw: Draw) -> TrafficEntry<'a> {
    let traffic = &scenario.traffic[number];
    TrafficEntry {
        network,
        number,
        draw,
        duration: scenario.duration,
        arrivals_end: scenario.arrivals_end(),
        from: &traffic.from,
        to: &traffic.to,
        spread: traffic.spread,
        start: traffic.start,
        stagger: traffic.stagger,
        stop: traffic.stop,
        is_stream: matches!(traffic.offered(), Offered::Stream(_)),
        tells_completion: traffic.transport_headers().is_some(),
        transport: traffic.transport.word(),
        file: traffic.file.as_deref(),
        survey: traffic.survey.as_deref(),
    }
}
