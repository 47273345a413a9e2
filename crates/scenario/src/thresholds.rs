//! Which part of a shared buffer's free octets links and queues may use, link by link: the rule that doubles it with each
//! doubling of the rate jumps at each.

use super::entry::Draw;
use super::types::Scenario;
use qcnlab_network::topology::PortId;
use qcnlab_sim::Alpha;
use qcnlab_units::BitRate;
use std::collections::BTreeMap;

/// A part as people write it.
fn part(alpha: Alpha) -> String {
    match alpha.exponent() {
        exponent @ ..0 => format!("1/{}", 1_u64 << exponent.unsigned_abs()),
        exponent => (1_u64 << exponent).to_string(),
    }
}

/// Nodes in a few words.
pub(super) fn named(nodes: &[&str]) -> String {
    match nodes {
        [first, _, _, _, ..] => format!("{first} and {} more", nodes.len() - 1),
        few => few.join(", "),
    }
}

impl Scenario {
    /// Returns the dynamic thresholds of shared buffers, a line for each kind of switch: the part of the free octets
    /// (`pg_alpha` of what came in over a link, `queue_alpha` of an output) by the rate of the link.
    pub fn thresholds(&self) -> Vec<String> {
        if self.shared_buffers.is_empty() {
            return Vec::new();
        }
        let Ok(resolved) = self.resolve(Draw { seed: self.seed, replication: 0 }) else { return Vec::new() };
        let rate = |port: PortId| resolved.network.link(port).rate;
        let mut kinds: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (node, plan) in resolved.network.nodes.iter().zip(&resolved.shared_buffers) {
            let Some(plan) = plan else { continue };
            let mut by_rate: BTreeMap<BitRate, BTreeMap<String, u32>> = BTreeMap::new();
            let inputs = plan.inputs.iter().filter_map(|input| Some((input.port, "pg_alpha", input.alpha?)));
            let queues = plan.queues.iter().map(|queue| (queue.port, "queue_alpha", queue.alpha));
            for (port, key, alpha) in inputs.chain(queues) {
                *by_rate.entry(rate(port)).or_default().entry(format!("{key} {}", part(alpha))).or_default() += 1;
            }
            let links = by_rate.iter().map(|(rate, alphas)| {
                let all: Vec<&str> = alphas.keys().map(String::as_str).collect();
                let count = alphas.values().max().copied().unwrap_or(0);
                format!("{count} link{} of {rate}: {}", if count == 1 { "" } else { "s" }, all.join(", "))
            });
            let words: Vec<String> = links.collect();
            if !words.is_empty() {
                kinds.entry(words.join("; ")).or_default().push(&node.name);
            }
        }
        kinds.iter().map(|(words, nodes)| format!("{}: {words}", named(nodes))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten links of 10 Gb/s and a trunk. At exactly four times their rate two doublings lift 1/8 to 1/2; 2e-9 more is
    /// beyond, and a third doubling makes it 1.
    #[test]
    fn a_trunk_a_billionth_faster_has_twice_as_much() {
        let base = Scenario::shipped("dumbbell-web-search-10g").expect("it is shipped");
        let said = |changes: &[&str]| base.with_overrides(changes).expect("good values").thresholds();
        assert_eq!(said(&[]), ["left, right: 11 links of 10 Gb/s: pg_alpha 1/8"]);
        let own = "shared_buffer.alpha_for=10 Gb/s";
        for (trunk, rate, alpha) in [
            ("40 Gb/s", "40 Gb/s", "1/2"),
            ("40000000080 b/s", "40.00000008 Gb/s", "1"),
            ("10000000001 b/s", "10.000000001 Gb/s", "1/4"),
            ("9999999999 b/s", "9.999999999 Gb/s", "1/8"),
        ] {
            let words = said(&[own, &format!("link.1.rate={trunk}")]).join("; ");
            assert!(words.contains("10 links of 10 Gb/s: pg_alpha 1/8"), "{words}");
            assert!(words.contains(&format!("1 link of {rate}: pg_alpha {alpha}")), "{trunk}: {words}");
        }
        let star = Scenario::shipped("og-hotspot-2src-10g-to-500m-rtt10us").expect("it is shipped");
        assert!(star.thresholds().is_empty());
    }
}
