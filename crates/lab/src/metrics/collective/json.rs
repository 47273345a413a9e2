//! What is told of a collective operation, as JSON.

use super::causes::{AtPort, Causes};
use super::{ChainLink, CollectiveRun, RoundId, TimeParts};
use qcnlab_schemes::params::{Param, Value as Worded};
use qcnlab_sim::PortId;
use qcnlab_traffic::{Collective, MessageId, RankId};
use qcnlab_units::{Id, IdVec, Instant, Span};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Picoseconds as the nearest number of seconds: times 10^12 and rounded they are whole again.
fn seconds(span: Span) -> f64 {
    span.ps() as f64 / 1e12
}

impl TimeParts {
    fn json(&self) -> Value {
        self.all().iter().map(|(name, span)| ((*name).to_owned(), json!(seconds(*span)))).collect()
    }
}

impl CollectiveRun<'_> {
    /// All of it: the operation, its rounds and ranks, bandwidths, lower bound, and the chain that ends with the slowest rank.
    pub(crate) fn json(&self) -> Value {
        let Collective { operation, algorithm, ranks, octets, channels, chunks, rounds, .. } = self.collective;
        let came = self.messages.ids().filter(|id| self.received(*id).is_some()).count();
        let (began, ended) = (self.began(), self.ended());
        let took = began.zip(ended).map(|(began, ended)| ended.since(began));
        let bound = self.bound();
        let (counted, counted_by) = self.collective.counted();
        let each = took.map(|took| seconds(took) / f64::from(rounds)).filter(|each| *each > 0.0);
        let algorithm_bps = each.map(|each| 8.0 * counted as f64 / each);
        let factor = self.collective.bus_factor();
        let mut value = json!({
            "traffic": self.entry,
            "operation": word(&operation),
            "algorithm": word(&algorithm),
            "ranks": ranks,
            "hosts": self.hosts.ids().map(|rank| self.host(rank)).collect::<Vec<_>>(),
            "size_bytes": octets,
            "channels": channels,
            "chunks": chunks,
            "messages": self.messages.len(),
            "messages_received": came,
            "began_s": began.map(|at| seconds(at.since(Instant::ZERO))),
            "completion_s": took.map(seconds),
            "lower_bound_s": seconds(bound.span),
            "lower_bound_by": bound.why,
            "ratio": took.map(|took| seconds(took) / seconds(bound.span)),
            "algorithm_bandwidth_bps": algorithm_bps,
            "algorithm_bandwidth": format!("{counted_by}, a round, by the mean time of a round"),
            "bus_bandwidth_bps": algorithm_bps.zip(factor).map(|(bps, (factor, _))| bps * factor),
            "bus_bandwidth": factor.map(|(_, formula)| format!("algorithm bandwidth times {formula}")),
            "rounds": self.rounds_json(),
            "slowest": Value::Null,
            "waiting_for": Value::Null,
        });
        match self.chain() {
            Some(chain) => value["slowest"] = self.slowest_json(&chain),
            None => {
                let under_way =
                    |id: &MessageId| self.received(*id).is_none() && self.tally(*id).started < self.done.end;
                let stuck: Vec<&str> = self.messages.ids().filter(under_way).map(|id| self.name(id)).collect();
                value["waiting_for"] = json!({ "under_way": stuck.len(), "first": stuck.first() });
            }
        }
        value
    }

    fn rounds_json(&self) -> Value {
        let (mut starts, mut missing) = (self.by_round(Instant::NEVER), self.by_round(0u64));
        for (id, message) in self.messages.enumerate() {
            let round = RoundId::new(message.round);
            starts[round] = self.tally(id).started.min(starts[round]);
            missing[round] += u64::from(self.received(id).is_none());
        }
        let since = |at: Instant| seconds(at.since(Instant::ZERO));
        let one = |((start, completed), missing): ((Instant, IdVec<RankId, Option<Instant>>), u64)| {
            let last = (missing == 0).then(|| completed.iter().copied().flatten().max()).flatten();
            json!({
                "began_s": (start < self.done.end).then(|| since(start)),
                "completion_s": last.map(|last| seconds(last.since(start))),
                "slowest_rank": last.and_then(|last| completed.iter().position(|at| *at == Some(last))),
                "ranks_completed_s": completed.iter().map(|at| at.map(since)).collect::<Vec<_>>(),
            })
        };
        starts.into_iter().zip(self.completed()).zip(missing).map(one).collect()
    }

    fn slowest_json(&self, chain: &[ChainLink]) -> Value {
        let busy = self.busy();
        let mut parts = TimeParts::default();
        let mut of_port: BTreeMap<PortId, (Span, u32)> = BTreeMap::new();
        let (mut again, mut timeouts) = (0, 0);
        let mut links = Vec::with_capacity(chain.len());
        for (position, link) in chain.iter().enumerate() {
            let message = &self.messages[link.message];
            let next = chain.get(position + 1);
            let until = next.map_or(self.fate(link.message).received, |next| self.heard(next.message, link.message));
            let way = &self.fabric.flows[self.flow(link.message)].paths[0];
            let busiest = way.iter().copied().reduce(|a, b| if busy[b] > busy[a] { b } else { a });
            let Some(port) = busiest else { unreachable!("a way has links") };
            let waits = of_port.entry(port).or_default();
            *waits = (waits.0 + link.parts.waiting(), waits.1 + 1);
            parts.add(&link.parts);
            let fate = self.fate(link.message);
            again += fate.sent_again;
            timeouts += fate.timeouts;
            let mut value = json!({
                "message": self.name(link.message),
                "from_rank": message.from.number(),
                "to_rank": message.to.number(),
                "round": message.round,
                "step": message.step,
                "channel": message.channel,
                "size_bytes": message.part.end - message.part.start,
                "start_s": seconds(link.started.since(Instant::ZERO)),
                "until_s": seconds(until.since(Instant::ZERO)),
                "until": if next.is_some_and(|next| self.messages[next.message].from == message.from) { "acknowledged" } else { "received" },
                "busiest_port": self.fabric.ports[port].name,
                "packets_sent_again": fate.sent_again,
                "paused_s": seconds(self.paused(link, until)),
            });
            value["parts"] = link.parts.json();
            if let Some(causes) = self.causes_json(std::slice::from_ref(link)) {
                value["causes"] = causes;
            }
            links.push(value);
        }
        let last = &self.messages[chain[chain.len() - 1].message];
        let longest =
            chain.iter().enumerate().max_by_key(|(position, link)| (self.waited(link), std::cmp::Reverse(*position)));
        let mut ports: Vec<(PortId, Span, u32)> =
            of_port.into_iter().map(|(port, (span, count))| (port, span, count)).collect();
        ports.sort_by_key(|(port, span, _)| (std::cmp::Reverse(*span), *port));
        let port_json = |(port, span, count): &(PortId, Span, u32)| {
            json!({
                "port": self.fabric.ports[*port].name,
                "waiting_s": seconds(*span),
                "messages": count,
                "busy_s": busy[*port],
            })
        };
        let mut value = json!({
            "rank": last.to.number(),
            "host": self.host(last.to),
            "round": last.round,
            "parts": parts.json(),
            "packets_sent_again": again,
            "timeouts": timeouts,
            "longest_wait": longest.map(|(position, _)| position),
            "ports": ports.iter().map(port_json).collect::<Vec<_>>(),
            "chain": links,
        });
        if let Some(causes) = self.causes_json(chain) {
            value["causes"] = causes;
        }
        value
    }

    /// What the times of these messages went by with, cause by cause, and where; `None` unless that is known of each.
    fn causes_json(&self, chain: &[ChainLink]) -> Option<Value> {
        let (mut all, mut parts) = (Causes::default(), TimeParts::default());
        for link in chain {
            all.add(self.causes?.get(&self.flow(link.message))?);
            parts.add(&link.parts);
        }
        let between = [
            ("later_start_s", parts.later_start),
            ("computation_s", parts.computation),
            ("acknowledgement_s", parts.acknowledgement),
        ];
        let named = between.into_iter().chain(all.all());
        let mut value: Value = named.map(|(name, span)| (name.to_owned(), json!(seconds(span)))).collect();
        let mut ports: Vec<_> = all.ports.iter().collect();
        ports.sort_by_key(|(port, at)| (std::cmp::Reverse(at.waiting()), std::cmp::Reverse(at.serialisation), **port));
        let port_json = |(port, at): &(&PortId, &AtPort)| {
            json!({
                "port": self.fabric.ports[**port].name,
                "queueing_s": seconds(at.queueing),
                "pauses_s": seconds(at.pauses),
                "serialisation_s": seconds(at.serialisation),
            })
        };
        value["ports"] = ports.iter().map(port_json).collect();
        Some(value)
    }
}

fn word(choice: &impl Param) -> String {
    match choice.to_value() {
        Some(Worded::Text(word)) => word,
        other => unreachable!("a choice is a word, not {other:?}"),
    }
}
