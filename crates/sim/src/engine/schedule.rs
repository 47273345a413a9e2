//! What is pending: at most one event of each kind for each component.

use crate::ids::{AdapterId, FlowId, GeneratorId, Id, InputId, LimiterId, PortId, QueuesId};
use crate::wheel::{Entity, Wheel};
use qcnlab_units::Instant;

/// Something that happens at a time of its own. Events of one instant happen in the order of this list, and in the order of the
/// components' numbers within a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A transmission ends, or a paused class may resume.
    TransmissionEnd(QueuesId),
    /// Service rates change.
    ServiceChange,
    /// A pause frame takes effect at the far end of the link that it crossed.
    PauseEffect(QueuesId),
    /// A signal reaches a reaction point under ideal feedback.
    SignalArrival(LimiterId),
    /// A reaction point wakes up.
    RpWake(LimiterId),
    /// A timer of a TCP connection expires.
    TcpTimer(FlowId),
    /// A frame reaches the far end of a link.
    Arrival(PortId),
    /// A source has a frame.
    SourceFrame(FlowId),
    /// A generator adds a frame to a queue.
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
}

/// How many components there are of each kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    pub(super) queues: usize,
    pub(super) limiters: usize,
    pub(super) connections: usize,
    pub(super) ports: usize,
    pub(super) flows: usize,
    pub(super) generators: usize,
    pub(super) adapters: usize,
    pub(super) inputs: usize,
}

/// The pending events, and the numbers they have in the timing wheel.
pub(super) struct Schedule {
    wheel: Wheel,
    first: First,
}

/// The number of the first event of each kind, in the order of one instant; ends of transmissions begin at 0.
struct First {
    service_change: Entity,
    pause_effect: Entity,
    signal_arrival: Entity,
    rp_wake: Entity,
    tcp_timer: Entity,
    arrival: Entity,
    source_frame: Entity,
    generator_frame: Entity,
    release: Entity,
    adapter_service: Entity,
    pause_refresh: Entity,
    deadlock_check: Entity,
    queue_sample: Entity,
    rate_sample: Entity,
}

impl Schedule {
    /// Nothing pending for so many components.
    pub(super) fn new(sizes: Sizes) -> Schedule {
        let mut next = sizes.queues as Entity;
        let mut kind = |count: usize| {
            let first = next;
            next += count as Entity;
            first
        };
        let first = First {
            service_change: kind(1),
            pause_effect: kind(sizes.queues),
            signal_arrival: kind(sizes.limiters),
            rp_wake: kind(sizes.limiters),
            tcp_timer: kind(sizes.connections),
            arrival: kind(sizes.ports),
            source_frame: kind(sizes.flows),
            generator_frame: kind(sizes.generators),
            release: kind(sizes.limiters),
            adapter_service: kind(sizes.adapters),
            pause_refresh: kind(sizes.inputs),
            deadlock_check: kind(1),
            queue_sample: kind(1),
            rate_sample: kind(1),
        };
        Schedule { wheel: Wheel::new(next as usize), first }
    }

    /// Takes the earliest event: its time and its number.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(Instant, Entity)> {
        let (time, entity) = self.wheel.pop()?;
        Some((Instant::from_ps(time), entity))
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
            Event::ServiceChange => first.service_change,
            Event::PauseEffect(queues) => first.pause_effect + queues.number(),
            Event::SignalArrival(limiter) => first.signal_arrival + limiter.number(),
            Event::RpWake(limiter) => first.rp_wake + limiter.number(),
            Event::TcpTimer(flow) => first.tcp_timer + flow.number(),
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
        } else if entity < first.service_change {
            Event::TransmissionEnd(QueuesId::new(entity))
        } else {
            self.event_before_arrivals(entity)
        }
    }

    fn event_before_arrivals(&self, entity: Entity) -> Event {
        let first = &self.first;
        if entity >= first.tcp_timer {
            Event::TcpTimer(FlowId::new(entity - first.tcp_timer))
        } else if entity >= first.rp_wake {
            Event::RpWake(LimiterId::new(entity - first.rp_wake))
        } else if entity >= first.signal_arrival {
            Event::SignalArrival(LimiterId::new(entity - first.signal_arrival))
        } else if entity >= first.pause_effect {
            Event::PauseEffect(QueuesId::new(entity - first.pause_effect))
        } else {
            Event::ServiceChange
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
        } else {
            Event::RateSample
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
        all.push(Event::ServiceChange);
        all.extend(pair.map(|n| Event::PauseEffect(QueuesId::new(n))));
        all.extend(pair.map(|n| Event::SignalArrival(LimiterId::new(n))));
        all.extend(pair.map(|n| Event::RpWake(LimiterId::new(n))));
        all.extend(pair.map(|n| Event::TcpTimer(FlowId::new(n))));
        all.extend(pair.map(|n| Event::Arrival(PortId::new(n))));
        all.extend(pair.map(|n| Event::SourceFrame(FlowId::new(n))));
        all.extend(pair.map(|n| Event::GeneratorFrame(GeneratorId::new(n))));
        all.extend(pair.map(|n| Event::Release(LimiterId::new(n))));
        all.extend(pair.map(|n| Event::AdapterService(AdapterId::new(n))));
        all.extend(pair.map(|n| Event::PauseRefresh(InputId::new(n))));
        all.extend([Event::DeadlockCheck, Event::QueueSample, Event::RateSample]);
        all
    }

    #[test]
    fn events_of_one_instant_happen_in_the_written_order() {
        let sizes =
            Sizes { queues: 2, limiters: 2, connections: 2, ports: 2, flows: 2, generators: 2, adapters: 2, inputs: 2 };
        let mut schedule = Schedule::new(sizes);
        let at = Instant::from_ps(5_000_000);
        for event in all().into_iter().rev() {
            schedule.set(event, at);
        }
        let mut happened = Vec::new();
        while let Some((_, entity)) = schedule.next() {
            happened.push(schedule.event(entity));
        }
        assert_eq!(happened, all());
        schedule.set(Event::QueueSample, at);
        schedule.cancel(Event::QueueSample);
        assert_eq!(schedule.next(), None);
    }
}
