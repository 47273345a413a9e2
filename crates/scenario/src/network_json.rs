//! The network of a scenario for those who draw it.

use super::entry::Draw;
use super::types::Scenario;
use qcnlab_network::topology::Role;
use qcnlab_units::{Id, IdVec};
use serde_json::{Value, json};

impl Scenario {
    /// Returns the network as a JSON object. `nodes` have a `name`, a `role` (`host` or `switch`), the number of flows
    /// that start and end there (`sends`, `receives`, as the first replication draws them), and their `watermarks` in
    /// words, null where they do not pause. `links` join `a` and `b`, positions in `nodes`, and have `rate_bps` and
    /// `delay_s` one way. `ways` are names of ports, from->to, that flows take.
    ///
    /// # Panics
    /// Never: a checked scenario can be resolved.
    pub fn network_json(&self) -> String {
        let draw = Draw { seed: self.seed, replication: 0 };
        let Ok(resolved) = self.resolve(draw) else { unreachable!("a checked scenario can be resolved") };
        let network = &resolved.network;
        let mut watermarks = IdVec::for_each_of(&network.nodes, Value::Null);
        for (name, level) in resolved.watermarks(self) {
            if let Some(node) = network.node(name) {
                watermarks[node] = level.into();
            }
        }
        let mut sends = IdVec::for_each_of(&network.nodes, 0u64);
        let mut receives = sends.clone();
        for (flow, paths) in resolved.flows.iter().zip(&resolved.paths) {
            sends[flow.source_index] += 1;
            let last = paths[0].iter().rev().find(|port| resolved.is_outside(**port));
            if let Some(port) = last {
                receives[network.ends(*port).1] += 1;
            }
        }
        // Inner nodes of hosts come last; names in files have no slash.
        let nodes = network.nodes.enumerate().filter(|(_, node)| !node.name.contains('/'));
        let nodes = nodes.map(|(i, node)| {
            json!({
                "name": node.name,
                "role": match node.role { Role::Host => "host", Role::Switch => "switch" },
                "sends": sends[i],
                "receives": receives[i],
                "watermarks": watermarks[i],
            })
        });
        let links = network.links.iter().take(resolved.outside_ports().len() / 2).map(
            |link| json!({"a": link.a.number(), "b": link.b.number(), "rate_bps": link.rate.get(), "delay_s": link.delay.seconds()}),
        );
        let ways = resolved.outside_ports().filter(|port| resolved.crossed[*port]);
        json!({
            "nodes": nodes.collect::<Vec<_>>(),
            "links": links.collect::<Vec<_>>(),
            "ways": ways.map(|port| network.port_name(port)).collect::<Vec<_>>(),
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use serde_json::Value;

    /// Deck 004's input-generated hotspot: nodes 2 to 5 send to node 6, node 1 to node 7; 12 + 1 nodes and
    /// 5 + 6 + 2 links.
    #[test]
    fn the_network_of_the_input_generated_hotspot() {
        let scenario = Scenario::shipped("ig-4-culprits-1-victim-pause-1500kb-rtt5us").expect("it is shipped");
        let network: Value = serde_json::from_str(&scenario.network_json()).expect("it is JSON");
        let nodes = network["nodes"].as_array().expect("a list");
        let of = |name: &str| nodes.iter().find(|node| node["name"] == name).expect("a node");
        assert_eq!(nodes.len(), 7 + 6 + 1);
        assert_eq!(network["links"].as_array().map(Vec::len), Some(5 + 6 + 2));
        assert_eq!((&of("node6")["receives"], &of("node7")["receives"]), (&4.into(), &1.into()));
        assert_eq!((&of("node2")["sends"], &of("core")["role"]), (&1.into(), &"switch".into()));
        assert_eq!(of("core")["watermarks"], "high 1489186 B, low 1479186 B, headroom 10814 B");
        assert_eq!(of("node1")["watermarks"], Value::Null);
        let ways = network["ways"].as_array().expect("a list");
        assert!(ways.contains(&"core->edge5".into()) && !ways.contains(&"edge5->core".into()));
    }
}
