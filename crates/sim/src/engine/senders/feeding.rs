//! Generators and replays: frames that others put into the queues of flows.

use super::Senders;
use crate::engine::effects::Refusal;
use crate::engine::schedule::{Event, Schedule};
use crate::ids::{FlowId, GeneratorId, Id};
use crate::replay::ReplayError;
use crate::source::Source;
use qcnlab_units::Instant;

/// A replay cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct ReplayFailed;

impl Senders {
    /// Sets the first frame of each replay, up to one that cannot start.
    pub(in crate::engine) fn schedule_replays(&self, schedule: &mut Schedule) -> Result<(), ReplayFailed> {
        (0..self.replays.len()).try_for_each(|number| self.schedule_replay(number, schedule))
    }

    /// A generator or a replay adds a frame to the queue of a flow, if it finds room there: returns that flow, and whether a
    /// replay can go on.
    pub(in crate::engine) fn feed(
        &mut self,
        now: Instant,
        id: GeneratorId,
        schedule: &mut Schedule,
        mut refused: impl FnMut(Refusal),
    ) -> (Result<(), ReplayFailed>, Option<FlowId>) {
        let Some(generator) = self.generators.get_mut(id) else { return self.replay(now, id, schedule, refused) };
        let flow = generator.pick();
        generator.advance();
        if generator.next < generator.stop {
            schedule.set(Event::GeneratorFrame(id), generator.next);
        }
        let sender = &mut self.flows[flow];
        let Source::Fed { waiting } = &mut sender.source else {
            unreachable!("a generator feeds flows that are fed");
        };
        if *waiting >= sender.room {
            refused(Refusal { at: now, port: sender.port, flow, octets: u64::from(sender.frame) });
            return (Ok(()), None);
        }
        *waiting += 1;
        (Ok(()), Some(flow))
    }

    #[inline(never)]
    fn replay(
        &mut self,
        now: Instant,
        id: GeneratorId,
        schedule: &mut Schedule,
        mut refused: impl FnMut(Refusal),
    ) -> (Result<(), ReplayFailed>, Option<FlowId>) {
        let number = id.number() as usize - self.generators.len();
        let Some((flow, size)) = self.replays[number].take() else { return (Ok(()), None) };
        let goes_on = self.schedule_replay(number, schedule);
        let sender = &mut self.flows[flow];
        let Source::Replayed(waiting) = &mut sender.source else {
            unreachable!("a replay adds to flows that are replayed");
        };
        let room = sender.room.saturating_mul(sender.frame.into());
        if waiting.octets() + u64::from(size) > room {
            refused(Refusal { at: now, port: sender.port, flow, octets: size.into() });
            return (goes_on, None);
        }
        waiting.push(size);
        (goes_on, Some(flow))
    }

    fn schedule_replay(&self, number: usize, schedule: &mut Schedule) -> Result<(), ReplayFailed> {
        let replay = &self.replays[number];
        if replay.failure().is_some() {
            return Err(ReplayFailed);
        }
        let id = GeneratorId::new((self.generators.len() + number) as u32);
        schedule.set(Event::GeneratorFrame(id), replay.next());
        Ok(())
    }

    /// Whether all replays went on as far as the run did.
    pub(in crate::engine) fn check_replays(&self) -> Result<(), ReplayError> {
        let failed = self.replays.iter().find_map(|replay| replay.failure());
        failed.map_or(Ok(()), |failure| Err(failure.clone()))
    }

    /// Sets the first event of each flow but those that are sent on demand, and of each generator.
    pub(in crate::engine) fn schedule_first(&self, schedule: &mut Schedule) {
        for (flow, sender) in self.flows.enumerate().filter(|(_, sender)| !sender.on_demand) {
            match &sender.source {
                Source::Saturated { next, .. } if sender.adapter.is_none() => {
                    schedule.set(Event::Release(sender.limiter), *next);
                }
                Source::Saturated { next, .. } | Source::Constant { next, .. } => {
                    schedule.set(Event::SourceFrame(flow), *next);
                }
                Source::Fed { .. } | Source::Replayed(_) => {}
                // One that waits for others has no start yet, and so no event.
                Source::Tcp(_) | Source::Roce(_) | Source::Planned => {
                    schedule.set(Event::SourceFrame(flow), sender.start)
                }
                Source::Ended(_) => unreachable!("nothing has ended yet"),
            }
        }
        for (id, generator) in self.generators.enumerate() {
            if generator.next < generator.stop {
                schedule.set(Event::GeneratorFrame(id), generator.next);
            }
        }
    }

    /// A flow that waited for others starts.
    pub(in crate::engine) fn start_flow(&mut self, flow: FlowId, start: Instant, schedule: &mut Schedule) {
        let sender = &mut self.flows[flow];
        sender.start = start;
        match &mut sender.source {
            Source::Roce(pair) => pair.begin(start),
            Source::Tcp(_) | Source::Planned => {}
            _ => unreachable!("only connections and queue pairs wait"),
        }
        schedule.set(Event::SourceFrame(flow), start);
    }
}
