//! Sources, rate limiters, adapters and generators of a plan.

use super::Senders;
use crate::adapter::Adapter;
use crate::ids::{AdapterId, FlowId, Id, IdVec, LimiterId, PathId, PortId, QueuesId};
use crate::plan::{FlowPlan, GeneratorPlan, Plan, ReplayPlan, Traffic};
use crate::rate_limiter::{Materials, RateLimiters};
use crate::replay::Replay;
use crate::sender::Sender;
use crate::source::{Generator, Source};
use qcnlab_schemes::registry::Config;
use qcnlab_schemes::{Dice, EventKind, Purpose, ReactionPoint};
use qcnlab_units::{Instant, Span};
use std::collections::HashMap;

/// The senders of a plan, without adapters.
pub(in crate::engine) fn senders(plan: &Plan, materials: Materials) -> Senders {
    let short_lived = short_lived(plan, &materials);
    let mut first_path = 0;
    let mut flows = IdVec::new();
    flows.reserve(plan.flows.len());
    let mut limiters = RateLimiters::with_room(plan.flows.len());
    let mut later = IdVec::for_each_of(&plan.flows, false);
    plan.reroutes.iter().for_each(|each| later[each.flow] |= each.paths.len() > 1);
    let mut waits = IdVec::for_each_of(&plan.flows, false);
    plan.dependencies.iter().for_each(|each| waits[each.flow] = true);
    for (((flow, later), waits), short_lived) in plan.flows.iter().zip(later).zip(waits).zip(short_lived) {
        let id = flows.next_id();
        if flow.limiter == limiters.next_id() {
            if short_lived {
                limiters.push_planned(id);
            } else {
                limiters.push(materials.limiter(flow, id));
            }
        }
        assert!(flow.limiter < limiters.next_id(), "limiters are numbered from 0 without gaps");
        let begins = if waits { Instant::NEVER } else { materials.start(flow) };
        let source = if short_lived { Source::Planned } else { Source::new(flow, begins) };
        let several = later || flow.paths.len() > 1;
        let mut sender = Sender::new(plan, flow, (begins, source), PathId::new(first_path), several);
        sender.short_lived = short_lived;
        if let Source::Roce(pair) = &mut sender.source
            && flow.controlled
        {
            pair.join(&limiters[sender.limiter].driver.rp);
        }
        flows.push(sender);
        first_path += flow.paths.len() as u32;
    }
    let probe = limiters.live().any(|limiter| limiter.driver.rp.capabilities().sends_probes);
    let hears = |sender: &Sender| matches!(&sender.source, Source::Roce(pair) if pair.hears(EventKind::Pause));
    let hear_pauses = flows.iter().any(hears);
    let generators = plan.generators.iter().map(|each| generator(plan, each)).collect();
    let replays = plan.replays.iter().map(replay).collect();
    Senders { flows, limiters, adapters: IdVec::new(), generators, replays, probe, hear_pauses, materials }
}

/// For each flow whether its queue pair and its limiter are there only from when it begins until it is over: it is a
/// message with a limiter of its own, and nobody asks for its rate or tells its reaction point anything outside that.
fn short_lived(plan: &Plan, materials: &Materials) -> Vec<bool> {
    let of = |flow: &FlowPlan| matches!(flow.traffic, Traffic::Roce { total: Some(_), .. });
    let told = || {
        let message = plan.flows.iter().find(|flow| of(flow))?;
        Some(materials.limiter(message, FlowId::new(0)).driver.rp.capabilities())
    };
    let observed = plan.record.rates_every > Span::ZERO || plan.domain.is_some();
    let all = !observed
        && !matches!(plan.scheme, Config::Foreign(_))
        && told().is_some_and(|told| !told.sends_probes && !told.events.contains(EventKind::Pause));
    let mut sharing: IdVec<LimiterId, u32> = plan.flows.iter().map(|_| 0).collect();
    plan.flows.iter().for_each(|flow| sharing[flow.limiter] += 1);
    plan.flows.iter().map(|flow| all && of(flow) && sharing[flow.limiter] == 1).collect()
}

fn replay(each: &ReplayPlan) -> Replay {
    let flows = each.flows.clone();
    Replay::new(flows, each.stop, &*each.source)
}

fn generator(plan: &Plan, each: &GeneratorPlan) -> Generator {
    let mut dice = Dice::new(plan.seed, plan.replication, &each.name, Purpose::Traffic);
    let start = each.start + each.start_jitter.scaled_rounded_down(dice.uniform(0.0, 1.0));
    let frame = plan.flows[each.flows[0]].frame;
    let flows = each.flows.clone();
    Generator::new(flows, each.process, frame, start, each.stop, dice)
}

impl Senders {
    /// Sets an adapter up for each host port that several flows share or that has priority queues; `queues_of` says which. Returns
    /// the adapters of ports with priority queues.
    pub(in crate::engine) fn add_adapters(
        &mut self,
        queues_of: impl Fn(PortId) -> Option<QueuesId>,
    ) -> Vec<(QueuesId, AdapterId)> {
        let mut flows_at: HashMap<PortId, u32> = HashMap::new();
        for sender in self.flows.iter() {
            *flows_at.entry(sender.port).or_default() += 1;
        }
        let mut adapter_at: HashMap<PortId, AdapterId> = HashMap::new();
        let adapters = &mut self.adapters;
        for sender in self.flows.iter_mut() {
            let queues = queues_of(sender.port);
            if sender.on_demand || flows_at[&sender.port] == 1 && queues.is_none() {
                continue;
            }
            let new = || adapters.push(Adapter::new(sender.port, queues));
            let adapter = *adapter_at.entry(sender.port).or_insert_with(new);
            sender.adapter = Some(adapter);
            adapters[adapter].flows += 1;
        }
        adapters.enumerate().filter_map(|(adapter, each)| Some((each.behind?, adapter))).collect()
    }
}
