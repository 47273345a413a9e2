//! The senders: sources, rate limiters with their reaction points, adapters, queue pairs and connections.
//!
//! They are told what reaches a host and when, and answer with what leaves it: a frame, an acknowledgement, the adapter at
//! which a flow waits now, the limiter whose rate may have changed. They set their own events in the schedule that they are
//! handed, and know no other part: how long a link is busy, and what a packet carries, is told to them.

mod build;
mod connections;
mod feeding;
mod messages;
mod on_demand;
mod queue_pairs;
mod releasing;
mod serving;

use super::effects::{NewAck, Refusal};
use super::schedule::{Event, Schedule};
use crate::adapter::Adapter;
use crate::ids::{AdapterId, FlowId, GeneratorId, IdVec, LimiterId, PathId, PortId};
use crate::packets::Packets;
use crate::plan::FlowPlan;
use crate::rate_limiter::{Materials, RateLimiters};
use crate::replay::Replay;
use crate::sender::Sender;
use crate::source::{Generator, Source};
pub(super) use build::senders;
pub(super) use feeding::ReplayFailed;
use qcnlab_schemes::driver::LimiterCount;
use qcnlab_schemes::registry::AnyRp;
use qcnlab_schemes::{EventKind, Gauge, Observation, Probe, ReactionPoint, Signal, SonarObservation};
use qcnlab_units::{Bytes, Instant};
pub(super) use serving::Served;

/// What sends.
pub(super) struct Senders {
    flows: IdVec<FlowId, Sender>,
    limiters: RateLimiters,
    adapters: IdVec<AdapterId, Adapter>,
    generators: IdVec<GeneratorId, Generator>,
    /// Replays; their events are numbered behind those of the generators.
    replays: Vec<Replay>,
    /// Whether reaction points send probes.
    probe: bool,
    /// Whether reaction points hear of pauses.
    hear_pauses: bool,
    /// What limiters are made of that are not there from the start.
    materials: Materials,
}

/// What a flow's frames leave a host by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlet {
    /// An adapter, which several flows may share.
    Adapter,
    /// A link that it has to itself.
    Link,
    /// As [`Link`](Outlet::Link), and its frames are sent on demand.
    OnDemand,
}

/// What sends the frames of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A TCP connection.
    Connection,
    /// A queue pair.
    QueuePair,
    /// A message that has not begun.
    Planned,
    /// A message that is over.
    Ended,
    /// Anything else.
    Plain,
}

/// How far a queue pair is with its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passing {
    /// Packets that have passed the limiter, and how many of them had before.
    pub(super) packets: u64,
    pub(super) again: u64,
    pub(super) next: NextPacket,
}

/// What holds the next packet of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextPacket {
    /// There is none, or the window, credit or the limiter holds it.
    Held,
    /// It waits at its adapter for the host's link.
    AtAdapter,
    /// From this instant on nothing but the host's link, which its flow has to itself.
    From(Instant),
}

/// A reaction point that has woken up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Woken {
    /// When it asked for the bandwidth whose absence it has inferred, if it has.
    pub(super) alarm: Option<Instant>,
}

/// What follows from a timer of a transport.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expired {
    /// The limiter whose reaction point has heard of it.
    pub(super) told: Option<LimiterId>,
    /// The acknowledgement that was due.
    pub(super) ack: Option<NewAck>,
}

impl Senders {
    /// What sends the frames of a flow.
    #[inline(always)]
    pub(super) fn kind(&self, flow: FlowId) -> Kind {
        match self.flows[flow].source {
            Source::Tcp(_) => Kind::Connection,
            Source::Roce(_) => Kind::QueuePair,
            Source::Planned => Kind::Planned,
            Source::Ended(_) => Kind::Ended,
            Source::Saturated { .. } | Source::Constant { .. } | Source::Fed { .. } | Source::Replayed(_) => {
                Kind::Plain
            }
        }
    }

    /// A timer of a connection or a queue pair may have expired; `None` if its message is over.
    pub(super) fn timer_expired(&mut self, now: Instant, flow: FlowId, packets: &mut Packets) -> Option<Expired> {
        match self.kind(flow) {
            Kind::QueuePair => Some(self.pair_timer_expired(now, flow, packets)),
            Kind::Connection => Some(Expired { told: None, ack: self.connection_timer_expired(now, flow) }),
            Kind::Planned | Kind::Ended | Kind::Plain => None,
        }
    }

    /// A flow may send more than before: queues the segments that the window of a connection admits, and keeps the event of
    /// its timer or of a queue pair's.
    #[inline(always)]
    pub(super) fn go_on(&mut self, now: Instant, flow: FlowId, schedule: &mut Schedule, refused: impl FnMut(Refusal)) {
        match self.flows[flow].source {
            Source::Roce(_) => self.schedule_pair_timer(flow, schedule),
            Source::Tcp(_) => self.queue_segments(now, flow, schedule, refused),
            _ => {}
        }
    }

    /// Whether a flow's frames are packets of a queue pair.
    #[inline(always)]
    pub(super) fn is_pair(&self, flow: FlowId) -> bool {
        matches!(self.flows[flow].source, Source::Roce(_))
    }

    /// What a flow's frames leave its host by.
    #[inline(always)]
    pub(super) fn outlet(&self, flow: FlowId) -> Outlet {
        let sender = &self.flows[flow];
        match (sender.adapter, sender.on_demand) {
            (Some(_), _) => Outlet::Adapter,
            (None, true) => Outlet::OnDemand,
            (None, false) => Outlet::Link,
        }
    }

    /// Whether a flow is alone on its link.
    #[inline(always)]
    pub(super) fn is_alone(&self, flow: FlowId) -> bool {
        self.flows[flow].adapter.is_none()
    }

    /// The first port of a flow's paths.
    #[inline(always)]
    pub(super) fn port(&self, flow: FlowId) -> PortId {
        self.flows[flow].port
    }

    /// The first port of the flow whose frame passed the limiter of a flow last.
    pub(super) fn port_of_limiter(&self, flow: FlowId) -> PortId {
        self.port(self.last_flow(self.flows[flow].limiter))
    }

    /// The class of a flow's frames.
    pub(super) fn class(&self, flow: FlowId) -> u8 {
        self.flows[flow].class
    }

    /// The first of the paths that a flow's frames take.
    pub(super) fn first_path(&self, flow: FlowId) -> PathId {
        self.flows[flow].first_path
    }

    /// The limiter of a flow.
    pub(super) fn limiter(&self, flow: FlowId) -> LimiterId {
        self.flows[flow].limiter
    }

    /// The flow whose frame passed a limiter last.
    #[inline(always)]
    pub(super) fn last_flow(&self, limiter: LimiterId) -> FlowId {
        self.limiters[limiter].last_flow
    }

    /// The same, if the limiter is there.
    #[inline(always)]
    pub(super) fn last_flow_if_there(&self, limiter: LimiterId) -> Option<FlowId> {
        self.limiters.get(limiter).map(|limiter| limiter.last_flow)
    }

    /// Whether reaction points send probes.
    #[inline(always)]
    pub(super) const fn probe(&self) -> bool {
        self.probe
    }

    /// Whether reaction points hear of pauses.
    pub(super) const fn hear_pauses(&self) -> bool {
        self.hear_pauses
    }

    /// A flow's frames take other paths from now on: so many, from this one on.
    pub(super) fn reroute(&mut self, flow: FlowId, first: PathId, paths: u32) {
        let sender = &mut self.flows[flow];
        (sender.first_path, sender.paths) = (first, paths);
    }

    /// A probe that a reaction point has.
    pub(super) fn take_probe(&mut self, now: Instant, limiter: LimiterId) -> Option<Probe> {
        self.limiters[limiter].driver.rp.take_probe(now)
    }

    /// A signal about a flow travels in a control frame.
    pub(super) fn signal_starts(&mut self, flow: FlowId) {
        self.limiters[self.flows[flow].limiter].signals += 1;
    }

    /// A signal about a flow, which travelled in a control frame, has been heard or lost; returns its limiter.
    pub(super) fn signal_ends(&mut self, flow: FlowId) -> LimiterId {
        let limiter = self.flows[flow].limiter;
        self.limiters[limiter].signals -= 1;
        limiter
    }

    /// A signal reaches a reaction point.
    #[inline(always)]
    pub(super) fn on_signal(&mut self, now: Instant, limiter: LimiterId, signal: &Signal) {
        self.limiters[limiter].driver.on_signal(now, signal);
    }

    /// Whether a reaction point wakes up now.
    #[inline(always)]
    pub(super) fn is_awaited(&self, now: Instant, limiter: LimiterId) -> bool {
        self.limiters.get(limiter).is_some_and(|limiter| limiter.driver.wake == now)
    }

    /// A reaction point wakes up.
    #[inline(always)]
    pub(super) fn wake(&mut self, now: Instant, limiter: LimiterId) -> Woken {
        let driver = &mut self.limiters[limiter].driver;
        let before = alarms(&driver.rp);
        driver.on_wake(now);
        let after = alarms(&driver.rp);
        let alarm = after.filter(|after| before.is_none_or(|before| before.alarms != after.alarms));
        Woken { alarm: alarm.map(|alarm| alarm.asked_at) }
    }

    /// Carries the state of a reaction point over to its pacer and its wake-up; returns whether its rate has changed.
    #[inline(always)]
    pub(super) fn update_pacer(&mut self, now: Instant, id: LimiterId, schedule: &mut Schedule) -> bool {
        let limiter = &mut self.limiters[id];
        if let Some(wake) = limiter.driver.changed_wake() {
            schedule.set(Event::RpWake(id), wake);
        }
        limiter.driver.update_pacer(now)
    }

    /// Has `see` get what each flow's reaction point permits, and the window and the octets in flight of its transport, if
    /// it has a window.
    pub(super) fn sample(&self, mut see: impl FnMut(FlowId, Gauge, Option<(Bytes, u64)>)) {
        for (flow, sender) in self.flows.enumerate() {
            let window = match &sender.source {
                Source::Tcp(connection) => Some((connection.sender.window(), connection.sender.flight().get())),
                Source::Roce(pair) => pair.sender.window().map(|window| (window, pair.sender.in_flight())),
                Source::Planned | Source::Ended(_) => unreachable!("where rates are sampled queue pairs stay"),
                Source::Saturated { .. } | Source::Constant { .. } | Source::Fed { .. } | Source::Replayed(_) => None,
            };
            see(flow, self.limiters[sender.limiter].driver.rp.gauge(), window);
        }
    }

    /// The flows, in their order.
    pub(super) fn flows(&self) -> impl Iterator<Item = FlowId> + use<> {
        self.flows.ids()
    }

    /// The port of its host that a flow leaves by.
    pub(super) fn port_of(&self, flow: FlowId) -> PortId {
        self.flows[flow].port
    }

    /// The first and the last port of each flow, told the last port of a path.
    pub(super) fn ends(&self, last_port: impl Fn(PathId) -> PortId) -> impl Iterator<Item = (PortId, PortId)> {
        self.flows.iter().map(move |sender| (sender.port, last_port(sender.first_path)))
    }

    /// How many packets receivers have not answered yet.
    pub(super) fn unanswered(&self) -> u64 {
        let unanswered = self.flows.iter().filter(|sender| match &sender.source {
            Source::Roce(pair) => pair.unanswered.newest.is_some(),
            _ => false,
        });
        unanswered.count() as u64
    }

    /// Whether the reaction point of a queue pair hears of acknowledgements.
    pub(super) fn hears_acknowledgements(&self, flow: FlowId) -> bool {
        matches!(&self.flows[flow].source, Source::Roce(pair) if pair.hears(EventKind::Acknowledgement))
    }

    /// How far a flow is with its packets; `None` if it has no queue pair now.
    pub(super) fn passing(&self, flow: FlowId) -> Option<Passing> {
        let sender = &self.flows[flow];
        let Source::Roce(pair) = &sender.source else { return None };
        let limiter = self.limiters.get(sender.limiter)?;
        let stats = pair.sender.stats();
        let next = match (sender.adapter, pair.next_ready()) {
            (Some(_), _) if limiter.at_adapter && limiter.queue.front() == Some(&flow) => NextPacket::AtAdapter,
            (None, Some(at)) => NextPacket::From(at.max(limiter.driver.pacer.next())),
            _ => NextPacket::Held,
        };
        Some(Passing { packets: stats.packets, again: stats.retransmitted, next })
    }

    /// What each limiter has counted, told the plans of flows.
    pub(super) fn limiter_counts<'a>(&'a self, plan_of: impl Fn(FlowId) -> &'a FlowPlan) -> Vec<LimiterCount> {
        self.limiters.counts(|flow| self.materials.limiter(plan_of(flow), flow)).collect()
    }

    /// Returns the senders of the flows alone.
    pub(super) fn into_flows(self) -> IdVec<FlowId, Sender> {
        self.flows
    }

    /// When a flow may start, and where the events of its kind of components begin.
    pub(super) const fn materials(&self) -> &Materials {
        &self.materials
    }

    /// How many limiters, adapters, and generators and replays there are.
    pub(super) fn counts(&self) -> SenderCounts {
        SenderCounts {
            limiters: self.limiters.len(),
            adapters: self.adapters.len(),
            generators: self.generators.len() + self.replays.len(),
        }
    }

    /// The first flow of a limiter, while none has begun.
    pub(super) fn first_flow(&self, limiter: LimiterId) -> FlowId {
        self.limiters.first_flow(limiter)
    }

    /// The port of an adapter.
    #[inline(always)]
    pub(super) fn adapter_port(&self, adapter: AdapterId) -> PortId {
        self.adapters[adapter].port
    }

    #[cfg(test)]
    pub(super) fn adapters(&self) -> impl Iterator<Item = &Adapter> {
        self.adapters.iter()
    }

    #[cfg(test)]
    pub(super) fn adapter_of(&self, flow: FlowId) -> Option<AdapterId> {
        self.flows[flow].adapter
    }

    /// For each flow whether it is there from the start of the run to its end.
    pub(super) fn lasting(&self) -> impl Iterator<Item = bool> {
        self.flows.iter().map(|sender| !sender.short_lived)
    }
}

/// How many components there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct SenderCounts {
    pub(super) limiters: usize,
    pub(super) adapters: usize,
    pub(super) generators: usize,
}

/// What a reaction point of QCN-SONAR has concluded from silence; `None` for other schemes.
fn alarms(rp: &AnyRp) -> Option<SonarObservation> {
    match rp.observation()? {
        Observation::Sonar(sonar) => Some(sonar),
    }
}
