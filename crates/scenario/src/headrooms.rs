//! What nodes keep for frames that still come after a pause, beside what their links may bring.

use super::entry::Draw;
use super::pausing::{part, paused_link};
use super::resolved::ResolvedScenario;
use super::thresholds::named;
use super::types::Scenario;
use qcnlab_network::topology::{NodeId, PortId};
use qcnlab_sim::{PausePlan, PauseRule};
use qcnlab_units::{BitRate, Bytes, Span};
use std::collections::BTreeMap;

/// What a node keeps for one group of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kept {
    /// Octets above the high watermark, or the headroom of a group.
    Octets(Bytes),
    /// The same, out of as many octets as all groups share.
    OfPool(Bytes, Bytes),
    /// Nothing: the rule counts no input, or the memory has no end.
    Nothing,
}

impl Scenario {
    /// Returns the headroom of each node that pauses links, a line for each kind of node: what it keeps for a link and
    /// class that it has stopped, and what links of which rate may still bring.
    pub fn headrooms(&self) -> Vec<String> {
        let Ok(resolved) = self.resolve(Draw { seed: self.seed, replication: 0 }) else { return Vec::new() };
        let Ok(tables) = resolved.pause_tables(self) else { return Vec::new() };
        let mut kinds: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (number, table) in tables.enumerate() {
            let (Some(table), Some(plan)) = (*table, &resolved.pauses[number]) else { continue };
            let words = resolved.headroom_words(self, number, table, plan);
            kinds.entry(words).or_default().push(&resolved.network.nodes[number].name);
        }
        kinds.iter().map(|(words, nodes)| format!("{}: {words}", named(nodes))).collect()
    }
}

impl ResolvedScenario {
    fn headroom_words(&self, scenario: &Scenario, node: NodeId, table: usize, plan: &PausePlan) -> String {
        let site = self.site(scenario, node, table, self.classes(scenario));
        let shared = self.shared_buffers[node].as_ref();
        let cell = shared.map_or(Bytes::new(1), |shared| shared.cell);
        let kept = |port: PortId| match plan.rule {
            PauseRule::Watermarks { high, .. } => site
                .memory
                .map_or(Kept::Nothing, |memory| Kept::Octets(part(memory, plan.scope, site.used).saturating_sub(high))),
            PauseRule::Threshold { .. } => Kept::Nothing,
            PauseRule::Dynamic { .. } => {
                let input = shared.and_then(|shared| shared.inputs.iter().find(|input| input.port == port));
                let pool = shared.and_then(|shared| shared.headroom_pool);
                match (input.map(|input| input.headroom), pool) {
                    (Some(headroom), Some(pool)) => Kept::OfPool(headroom, pool),
                    (Some(headroom), None) => Kept::Octets(headroom),
                    (None, _) => Kept::Nothing,
                }
            }
        };
        let mut links: BTreeMap<(Kept, BitRate, Bytes), u32> = BTreeMap::new();
        for port in self.outside_ports().filter(|port| self.network.ends(*port).1 == node) {
            let link = self.network.link(port);
            let brings = paused_link(&site, link, cell).headroom();
            *links.entry((kept(port), link.rate, brings)).or_default() += 1;
        }
        let words = links.into_iter().map(|((kept, rate, brings), count)| {
            let of = match count {
                1 => format!("1 link of {rate} brings up to {brings}"),
                count => format!("each of {count} links of {rate} brings up to {brings}"),
            };
            let (keeps, octets) = match kept {
                Kept::Octets(octets) => (octets.to_string(), octets),
                Kept::OfPool(octets, pool) => (format!("{octets} of a pool of {pool}"), octets),
                Kept::Nothing => return format!("nothing kept, {of}"),
            };
            let less = if octets < brings { format!(", {} more", brings - octets) } else { String::new() };
            format!("{keeps} kept, {of}{less}")
        });
        let mut words: Vec<String> = words.collect();
        if plan.reaction == Span::ZERO {
            words.push("a reaction of 0 s is no real port's".to_owned());
        }
        words.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two hosts of 10 Gb/s and 1 us at a switch: 2 us bring 2500 B, three frames of 1500 B and a pause frame 4564 B.
    const SCENARIO: &str = r#"
        duration = "1 ms"
        [topology]
        kind = "switch"
        hosts = 2
        rate = "10 Gb/s"
        delay = "1 us"
        [[traffic]]
        arrivals = "saturated"
        from = "host1"
        to = "host2"
        frame = "1500 B"
        [scheme]
        name = "none"
    "#;
    const MEMORY: &str = "[[switch]]\ninput_memory = \"100 KB\"\noutput_buffer = \"1 MB\"\n";

    fn said(tables: &str) -> Vec<String> {
        let text = format!("{SCENARIO}{tables}");
        Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}")).headrooms()
    }

    #[test]
    fn each_rule_says_what_it_keeps() {
        let brings = "each of 2 links of 10 Gb/s brings up to 7064 B";
        let zero = "a reaction of 0 s is no real port's";
        let watermarks = format!("{MEMORY}[pause]\nkind = \"link\"\n");
        assert_eq!(said(&watermarks), [format!("switch: 7064 B kept, {brings}; {zero}")]);
        // A reaction of 1 us brings 1250 B more.
        let slow = format!("{watermarks}reaction = \"1 us\"\n");
        assert_eq!(said(&slow), ["switch: 8314 B kept, each of 2 links of 10 Gb/s brings up to 8314 B"]);
        let high = format!("{watermarks}high = \"93 KB\"\n");
        assert_eq!(said(&high), [format!("switch: 7 KB kept, {brings}, 64 B more; {zero}")]);
        let threshold = format!("{MEMORY}[pause]\nkind = \"link\"\nrule = \"threshold\"\nthreshold = \"50 KB\"\n");
        assert_eq!(said(&threshold), [format!("switch: nothing kept, {brings}; {zero}")]);
        assert!(said(MEMORY).is_empty());
    }

    /// A reaction of 1 ns brings 1.25 B. In cells of 200 B frames of 64 B take most: of 4066 B between the first frame and
    /// the last 12,706.25 B, 64 cells; and two frames of 1500 B take 8 cells each.
    #[test]
    fn shared_buffers_say_what_groups_keep() {
        let shared = |keys: &str| {
            said(&format!(
                "[[shared_buffer]]\nkind = \"dynamic\"\nsize = \"1 MB\"\npg_alpha = 1\n{keys}\
                 [pause]\nkind = \"priority\"\nrule = \"dynamic\"\nreaction = \"1 ns\"\n"
            ))
        };
        let brings = "each of 2 links of 10 Gb/s brings up to 7066 B";
        assert_eq!(shared(""), [format!("switch: 7066 B kept, {brings}")]);
        assert_eq!(shared("headroom = \"9 KB\"\n"), [format!("switch: 9 KB kept, {brings}")]);
        let pool = "headroom = \"6 KB\"\nheadroom_pool = \"8 KB\"\n";
        assert_eq!(shared(pool), [format!("switch: 6 KB of a pool of 8 KB kept, {brings}, 1066 B more")]);
        let cells = (64 + 16) * 200;
        assert_eq!(
            shared("cell = \"200 B\"\n"),
            [format!("switch: {0} kept, each of 2 links of 10 Gb/s brings up to {0}", Bytes::new(cells))]
        );
    }
}
