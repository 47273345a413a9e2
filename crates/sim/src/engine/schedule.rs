//! What is pending: at most one event of each kind for each component.

use crate::ids::{AdapterId, FlowId, GeneratorId, Id, InputId, LimiterId, NodeId, PortId, QueuesId};
use crate::wheel::{Entity, Tie, Wheel};
use qcnlab_units::{Instant, Span};

/// Something that happens at a time of its own. Events of one instant happen in the order of this list; within a kind
/// the order is [drawn](crate::Ties::Drawn) or that of the components' numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A transmission ends, or a paused class may resume.
    TransmissionEnd(QueuesId),
    /// Service rates, links or paths change.
    NetworkChange,
    /// A pause frame takes effect at the far end of the link that it crossed.
    PauseEffect(QueuesId),
    /// A signal reaches a reaction point under ideal feedback.
    SignalArrival(LimiterId),
    /// A reaction point wakes up.
    RpWake(LimiterId),
    /// A timer of a TCP connection or a queue pair expires.
    TransportTimer(FlowId),
    /// A frame reaches the far end of a link.
    Arrival(PortId),
    /// A source has a frame.
    SourceFrame(FlowId),
    /// A generator or a replay adds a frame to a queue. Replays are numbered behind the generators.
    GeneratorFrame(GeneratorId),
    /// A pacer releases a frame.
    Release(LimiterId),
    /// An adapter serves the next flow.
    AdapterService(AdapterId),
    /// A pause is refreshed.
    PauseRefresh(InputId),
    /// Paused links are searched for a circle.
    DeadlockCheck,
    /// Queue lengths are sampled.
    QueueSample,
    /// Rates and windows are sampled.
    RateSample,
    /// A receiving host gives credit.
    Grant(NodeId),
}

/// How many components there are of each kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    pub(super) queues: usize,
    pub(super) limiters: usize,
    /// Limiters that signals reach by events of their own: all of them under ideal feedback, else none.
    pub(super) signalled: usize,
    pub(super) connections: usize,
    /// Nodes, if hosts give credit; else none.
    pub(super) granting: usize,
    pub(super) ports: usize,
    pub(super) flows: usize,
    pub(super) generators: usize,
    pub(super) adapters: usize,
    pub(super) inputs: usize,
}

/// How events lie in time, as far as that is known beforehand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spacing {
    /// From one to the next, on average.
    pub(super) apart: Span,
    /// From when it is set until it happens, for most of them at most.
    pub(super) ahead: Span,
}

/// The pending events, and the numbers they have in the timing wheel.
pub(super) struct Schedule {
    wheel: Wheel,
    first: First,
}

/// The number of the first event of each kind, in the order of one instant; ends of transmissions begin at 0.
struct First {
    network_change: Entity,
    pause_effect: Entity,
    signal_arrival: Entity,
    rp_wake: Entity,
    transport_timer: Entity,
    arrival: Entity,
    source_frame: Entity,
    generator_frame: Entity,
    release: Entity,
    adapter_service: Entity,
    pause_refresh: Entity,
    deadlock_check: Entity,
    queue_sample: Entity,
    rate_sample: Entity,
    grant: Entity,
}

impl First {
    /// The numbers where there are so many components.
    fn of(sizes: Sizes) -> First {
        let mut next = sizes.queues as Entity;
        let mut kind = |count: usize| {
            let first = next;
            next += count as Entity;
            first
        };
        First {
            network_change: kind(1),
            pause_effect: kind(sizes.queues),
            signal_arrival: kind(sizes.signalled),
            rp_wake: kind(sizes.limiters),
            transport_timer: kind(sizes.connections),
            arrival: kind(sizes.ports),
            source_frame: kind(sizes.flows),
            generator_frame: kind(sizes.generators),
            release: kind(sizes.limiters),
            adapter_service: kind(sizes.adapters),
            pause_refresh: kind(sizes.inputs),
            deadlock_check: kind(1),
            queue_sample: kind(1),
            rate_sample: kind(1),
            grant: kind(sizes.granting),
        }
    }
}

impl Event {
    /// The place of its kind in the order of one instant.
    const fn kind(self) -> u8 {
        match self {
            Event::TransmissionEnd(_) => 0,
            Event::NetworkChange => 1,
            Event::PauseEffect(_) => 2,
            Event::SignalArrival(_) => 3,
            Event::RpWake(_) => 4,
            Event::TransportTimer(_) => 5,
            Event::Arrival(_) => 6,
            Event::SourceFrame(_) => 7,
            Event::GeneratorFrame(_) => 8,
            Event::Release(_) => 9,
            Event::AdapterService(_) => 10,
            Event::PauseRefresh(_) => 11,
            Event::DeadlockCheck => 12,
            Event::QueueSample => 13,
            Event::RateSample => 14,
            Event::Grant(_) => 15,
        }
    }
}

impl Schedule {
    /// Nothing pending for so many components; within a kind the lower number comes first.
    pub(super) fn new(sizes: Sizes, spacing: Spacing) -> Schedule {
        let first = First::of(sizes);
        let events = first.grant as usize + sizes.granting;
        Schedule { wheel: Wheel::new(events).spaced(spacing.apart.ps(), spacing.ahead.ps()), first }
    }

    /// As [`new`](Schedule::new), but within a kind the order is drawn, from a key for each component.
    pub(super) fn drawing(sizes: Sizes, spacing: Spacing, key: impl Fn(Event) -> u32) -> Schedule {
        let mut schedule = Schedule { wheel: Wheel::new(0), first: First::of(sizes) };
        let entities = 0..schedule.first.grant + sizes.granting as Entity;
        let events = entities.map(|entity| schedule.event(entity));
        let wheel = Wheel::drawing(events.map(|event| Tie::new(event.kind(), key(event))));
        schedule.wheel = wheel.spaced(spacing.apart.ps(), spacing.ahead.ps());
        schedule
    }

    /// The port whose frame would be the first of `ports` to arrive if one arrived over each at the instant `at`.
    pub(super) fn first_of(&self, ports: impl Iterator<Item = PortId>, at: Instant) -> Option<PortId> {
        let arrivals = ports.map(|port| self.entity(Event::Arrival(port)));
        let first = self.wheel.first_of(arrivals, at.ps())?;
        Some(PortId::new(first - self.first.arrival))
    }

    /// Takes the earliest event: its time and its number.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(Instant, Entity)> {
        let (time, entity) = self.wheel.pop()?;
        Some((Instant::from_ps(time), entity))
    }

    /// Puts an event back that [`next`](Schedule::next) has taken. The order of its instant stays as it was.
    #[cold]
    pub(super) fn put_back(&mut self, at: Instant, entity: Entity) {
        self.wheel.set(entity, at.ps());
    }

    /// Sets the time of an event, replacing the one it had. [`Instant::NEVER`] leaves it without one.
    #[inline(always)]
    pub(super) fn set(&mut self, event: Event, at: Instant) {
        let entity = self.entity(event);
        self.wheel.set(entity, at.ps());
    }

    /// Cancels an event.
    #[inline]
    pub(super) fn cancel(&mut self, event: Event) {
        let entity = self.entity(event);
        self.wheel.clear(entity);
    }

    #[inline(always)]
    fn entity(&self, event: Event) -> Entity {
        let first = &self.first;
        match event {
            Event::TransmissionEnd(queues) => queues.number(),
            Event::NetworkChange => first.network_change,
            Event::PauseEffect(queues) => first.pause_effect + queues.number(),
            Event::SignalArrival(limiter) => first.signal_arrival + limiter.number(),
            Event::RpWake(limiter) => first.rp_wake + limiter.number(),
            Event::TransportTimer(flow) => first.transport_timer + flow.number(),
            Event::Grant(node) => first.grant + node.number(),
            Event::Arrival(port) => first.arrival + port.number(),
            Event::SourceFrame(flow) => first.source_frame + flow.number(),
            Event::GeneratorFrame(generator) => first.generator_frame + generator.number(),
            Event::Release(limiter) => first.release + limiter.number(),
            Event::AdapterService(adapter) => first.adapter_service + adapter.number(),
            Event::PauseRefresh(input) => first.pause_refresh + input.number(),
            Event::DeadlockCheck => first.deadlock_check,
            Event::QueueSample => first.queue_sample,
            Event::RateSample => first.rate_sample,
        }
    }

    /// Whether the event with this number is the end of a transmission.
    pub(super) const fn is_transmission_end(&self, entity: Entity) -> bool {
        entity < self.first.network_change
    }

    /// The event with this number. Frequent kinds are tried first.
    #[inline(always)]
    pub(super) fn event(&self, entity: Entity) -> Event {
        let first = &self.first;
        if entity >= first.release {
            if entity < first.adapter_service {
                Event::Release(LimiterId::new(entity - first.release))
            } else {
                self.event_after_releases(entity)
            }
        } else if entity >= first.arrival {
            if entity < first.source_frame {
                Event::Arrival(PortId::new(entity - first.arrival))
            } else if entity < first.generator_frame {
                Event::SourceFrame(FlowId::new(entity - first.source_frame))
            } else {
                Event::GeneratorFrame(GeneratorId::new(entity - first.generator_frame))
            }
        } else if entity < first.network_change {
            Event::TransmissionEnd(QueuesId::new(entity))
        } else {
            self.event_before_arrivals(entity)
        }
    }

    fn event_before_arrivals(&self, entity: Entity) -> Event {
        let first = &self.first;
        if entity >= first.transport_timer {
            Event::TransportTimer(FlowId::new(entity - first.transport_timer))
        } else if entity >= first.rp_wake {
            Event::RpWake(LimiterId::new(entity - first.rp_wake))
        } else if entity >= first.signal_arrival {
            Event::SignalArrival(LimiterId::new(entity - first.signal_arrival))
        } else if entity >= first.pause_effect {
            Event::PauseEffect(QueuesId::new(entity - first.pause_effect))
        } else {
            Event::NetworkChange
        }
    }

    fn event_after_releases(&self, entity: Entity) -> Event {
        let first = &self.first;
        if entity < first.pause_refresh {
            Event::AdapterService(AdapterId::new(entity - first.adapter_service))
        } else if entity < first.deadlock_check {
            Event::PauseRefresh(InputId::new(entity - first.pause_refresh))
        } else if entity == first.deadlock_check {
            Event::DeadlockCheck
        } else if entity == first.queue_sample {
            Event::QueueSample
        } else if entity == first.rate_sample {
            Event::RateSample
        } else {
            Event::Grant(NodeId::new(entity - first.grant))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two of each kind, in the order of one instant.
    fn all() -> Vec<Event> {
        let pair = [0, 1];
        let mut all = Vec::new();
        all.extend(pair.map(|n| Event::TransmissionEnd(QueuesId::new(n))));
        all.push(Event::NetworkChange);
        all.extend(pair.map(|n| Event::PauseEffect(QueuesId::new(n))));
        all.extend(pair.map(|n| Event::SignalArrival(LimiterId::new(n))));
        all.extend(pair.map(|n| Event::RpWake(LimiterId::new(n))));
        all.extend(pair.map(|n| Event::TransportTimer(FlowId::new(n))));
        all.extend(pair.map(|n| Event::Arrival(PortId::new(n))));
        all.extend(pair.map(|n| Event::SourceFrame(FlowId::new(n))));
        all.extend(pair.map(|n| Event::GeneratorFrame(GeneratorId::new(n))));
        all.extend(pair.map(|n| Event::Release(LimiterId::new(n))));
        all.extend(pair.map(|n| Event::AdapterService(AdapterId::new(n))));
        all.extend(pair.map(|n| Event::PauseRefresh(InputId::new(n))));
        all.extend([Event::DeadlockCheck, Event::QueueSample, Event::RateSample]);
        all.extend(pair.map(|n| Event::Grant(NodeId::new(n))));
        all
    }

    const TWO_OF_EACH: Sizes = Sizes {
        queues: 2,
        limiters: 2,
        signalled: 2,
        connections: 2,
        granting: 2,
        ports: 2,
        flows: 2,
        generators: 2,
        adapters: 2,
        inputs: 2,
    };

    /// What happens when all events are set for one instant, the last first.
    fn happens(schedule: &mut Schedule, at: Instant) -> Vec<Event> {
        all().into_iter().rev().for_each(|event| schedule.set(event, at));
        let next = || schedule.next().map(|(_, entity)| schedule.event(entity));
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn events_of_one_instant_happen_in_the_written_order() {
        let mut schedule = Schedule::new(TWO_OF_EACH, Spacing::default());
        let at = Instant::from_ps(5_000_000);
        let happened = happens(&mut schedule, at);
        assert_eq!(happened, all());
        schedule.set(Event::QueueSample, at);
        schedule.cancel(Event::QueueSample);
        assert_eq!(schedule.next(), None);
    }

    /// Whatever the kinds before have for numbers: without a draw the lower port is first.
    #[test]
    fn the_first_of_ports_is_one_of_them() {
        let schedule = Schedule::new(TWO_OF_EACH, Spacing::default());
        let first = |ports: &[u32]| schedule.first_of(ports.iter().copied().map(PortId::new), Instant::from_ps(7));
        assert_eq!([first(&[1, 0]), first(&[1]), first(&[])], [Some(PortId::new(0)), Some(PortId::new(1)), None]);
    }

    #[test]
    fn ends_of_transmissions_are_told_from_all_other_events() {
        let schedule = Schedule::new(TWO_OF_EACH, Spacing::default());
        for event in all() {
            let ends = matches!(event, Event::TransmissionEnd(_));
            assert_eq!(schedule.is_transmission_end(schedule.entity(event)), ends, "{event:?}");
        }
    }

    #[test]
    fn a_drawn_order_keeps_that_of_the_kinds() {
        let mut schedule = Schedule::drawing(TWO_OF_EACH, Spacing::default(), |event| match event {
            Event::Arrival(port) => 10 + port.number(),
            Event::Release(limiter) => 20 + limiter.number(),
            _ => 0,
        });
        let kinds: Vec<u8> = all().iter().map(|event| event.kind()).collect();
        assert!(kinds.is_sorted());
        let mut first = [0; 2];
        for instant in 1..=100 {
            let happened = happens(&mut schedule, Instant::from_ps(instant * 1_200_000));
            assert_eq!(happened.iter().map(|event| event.kind()).collect::<Vec<_>>(), kinds);
            let [arrival, release] = [6, 9].map(|kind| happened.iter().find(|event| event.kind() == kind));
            first[0] += u32::from(arrival == Some(&Event::Arrival(PortId::new(0))));
            first[1] += u32::from(release == Some(&Event::Release(LimiterId::new(0))));
        }
        // Half of 100, standard deviation 5.
        assert!(first.iter().all(|n| n.abs_diff(50) <= 20), "{first:?}");
    }
}
