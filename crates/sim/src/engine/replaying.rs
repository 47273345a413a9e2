//! Generators and replays: frames that others put into the queues of flows.

use super::schedule::Event;
use super::{Ending, Engine, Halt};
use crate::ids::{GeneratorId, Id};
use crate::source::Source;
use qcnlab_units::Instant;

impl Engine {
    /// Sets the first frame of each replay. One that cannot start ends the run at once.
    pub(super) fn schedule_replays(&mut self) {
        for number in 0..self.senders.replays.len() {
            self.schedule_replay(Instant::ZERO, number);
        }
    }

    /// A generator adds a frame to the queue of a flow.
    pub(super) fn generate(&mut self, now: Instant, id: GeneratorId) {
        let Some(generator) = self.senders.generators.get_mut(id) else { return self.replay(now, id) };
        let flow = generator.pick();
        generator.advance();
        if generator.next < generator.stop {
            self.schedule.set(Event::GeneratorFrame(id), generator.next);
        }
        let sender = &mut self.senders.flows[flow];
        let Source::Fed { waiting } = &mut sender.source else {
            unreachable!("a generator feeds flows that are fed");
        };
        if *waiting >= sender.room {
            return self.recording.on_refusal(now, sender.port, flow, u64::from(sender.frame));
        }
        *waiting += 1;
        self.request_send(now, flow);
    }

    /// A replay adds a frame to the queue of its flow.
    #[inline(never)]
    fn replay(&mut self, now: Instant, id: GeneratorId) {
        let number = id.number() as usize - self.senders.generators.len();
        let Some((flow, size)) = self.senders.replays[number].take() else { return };
        self.schedule_replay(now, number);
        let sender = &mut self.senders.flows[flow];
        let Source::Replayed(waiting) = &mut sender.source else {
            unreachable!("a replay adds to flows that are replayed");
        };
        let room = sender.room.saturating_mul(sender.frame.into());
        if waiting.octets() + u64::from(size) > room {
            return self.recording.on_refusal(now, sender.port, flow, size.into());
        }
        waiting.push(size);
        self.request_send(now, flow);
    }

    fn schedule_replay(&mut self, now: Instant, number: usize) {
        let replay = &self.senders.replays[number];
        if replay.failure().is_some() {
            return self.run_end.end_now(now, Ending::Time);
        }
        let id = GeneratorId::new((self.senders.generators.len() + number) as u32);
        self.schedule.set(Event::GeneratorFrame(id), replay.next());
    }

    /// Whether all replays went on as far as the run did.
    pub(super) fn check_replays(&self) -> Result<(), Halt> {
        let failed = self.senders.replays.iter().find_map(|replay| replay.failure());
        failed.map_or(Ok(()), |failure| Err(failure.clone().into()))
    }
}
