//! What the network shows of itself: ports between two steps, and totals at the end of a run.

use super::{Network, PortCp};
use crate::engine::effects::{Effect, NetworkTotals};
use crate::frame::{Frame, flag};
use crate::ids::{IdVec, PortId, QueuesId};
use crate::plan::PauseScope;
use crate::trace::PointTally;
use crate::trace::PortState;
use qcnlab_schemes::driver::EndedPause;
use qcnlab_units::{Bytes, Instant, Span};

use crate::path::Path;

impl Network {
    /// Each port at `now`; nothing is changed for that.
    pub(in crate::engine) fn port_states(&self, now: Instant) -> IdVec<PortId, PortState> {
        self.ports.ids().map(|id| self.port_state(id, now)).collect()
    }

    fn port_state(&self, id: PortId, at: Instant) -> PortState {
        let (port, now) = (&self.ports[id], at.ps());
        let gone: u64 =
            port.waiting().take_while(|frame| frame.arrival - port.delay().ps() <= now).map(Frame::octets).sum();
        let queue = port.queue_len().get() - gone;
        let mut state = PortState {
            queue: Bytes::new(queue),
            sent: Bytes::new(port.count.accepted_bytes - queue),
            rate: port.rate(),
            ..PortState::default()
        };
        let Some(queues) = port.queues() else { return state };
        state.is_paused = self.queues[queues].queues.iter().any(|class| class.pause.until() > now);
        for (_, (since, end, _)) in self.last_pauses(queues, at) {
            state.paused = state.paused + Span::from_ps(end.saturating_sub(since));
        }
        state
    }

    /// Has `count` see what left its last port by `end`, and is still on the wire: the path, when it left, and its octets.
    pub(in crate::engine) fn count_departed(&mut self, end: Instant, mut count: impl FnMut(&Path, u64, u64)) {
        for id in self.ports.ids() {
            self.update_queue(end, id);
            let port = &self.ports[id];
            for frame in port.on_the_wire().filter(|frame| !frame.is(flag::NOT_DATA)) {
                let path = &self.routes.paths[frame.path()];
                if frame.hop() + 1 == path.len {
                    count(path, frame.arrival - port.delay().ps(), frame.octets());
                }
            }
        }
    }

    /// Tells of the pauses that are in force at the end, or were the last of their class.
    pub(in crate::engine) fn end_last_pauses(&mut self, end: Instant) {
        let mut effects = std::mem::take(&mut self.effects);
        for queues in self.queues.ids() {
            let port = self.queues[queues].port;
            let last = self.last_pauses(queues, end);
            effects.extend(last.map(|(class, ended)| Effect::PauseEnds { port, class, ended }));
        }
        self.effects = effects;
    }

    /// What its ports and queues have counted.
    pub(in crate::engine) fn totals(&self) -> NetworkTotals {
        NetworkTotals {
            pause_frames: self.queues.iter().map(|queues| queues.pause_frames_sent).sum(),
            storm_frames: self.queues.iter().map(|queues| queues.storm_frames_sent).sum(),
            isolation_messages_sent: self.queues.iter().map(|queues| queues.isolation_messages_sent).sum(),
            isolation_messages_lost: self.queues.iter().map(|queues| queues.isolation_messages_lost).sum(),
            isolation_messages_heard: self.queues.iter().map(|queues| queues.isolation_messages_heard).sum(),
            frame_hops: self.ports.iter().map(|port| port.count.accepted_frames).sum(),
        }
    }

    /// The pauses of a port that are in force at `now`, or were the last of their class and are not recorded. A pause
    /// of the whole link is one, without a class.
    fn last_pauses(&self, id: QueuesId, now: Instant) -> impl Iterator<Item = (Option<u8>, EndedPause<PortId>)> {
        let queues = &self.queues[id];
        let input = self.ports[queues.port].input().map(|input| &self.inputs[input]);
        let scope = input.and_then(|input| input.pause.as_ref()).map(|pause| pause.sender.plan.scope);
        let whole_link = scope == Some(PauseScope::Link);
        let classes = queues.queues.iter().take(if whole_link { 1 } else { usize::MAX });
        classes.filter_map(move |queue| {
            Some((if whole_link { None } else { Some(queue.class) }, queue.pause.last(now.ps())?))
        })
    }

    /// The totals of each congestion point, in the order of their numbers.
    pub(in crate::engine) fn point_tallies(&self) -> Vec<PointTally> {
        self.cps.iter().map(|cp| self.point_tally(cp)).collect()
    }

    /// Lets go of the lists of paths, which nobody asks any more.
    pub(in crate::engine) fn forget_routes(&mut self) {
        self.routes = super::Routes::default();
    }

    /// The totals of a congestion point. Where a port has one queue, the port counts for it.
    fn point_tally(&self, cp: &PortCp) -> PointTally {
        let port = &self.ports[cp.port];
        let queues = port.queues().map(|queues| &self.queues[queues]);
        let several = queues.filter(|queues| queues.queues.len() > 1);
        let (accepted, discarded, held) = match (several, cp.class) {
            (Some(queues), Some(class)) => {
                let queue = queues.of_class(class);
                let held = queue.frames.since(queue.frames.head()).count();
                (queue.accepted_frames, queue.dropped_frames, held)
            }
            _ => {
                let held = self.queued(cp.port).count();
                (port.count.accepted_frames, port.count.dropped_frames, held)
            }
        };
        PointTally { port: cp.port, class: cp.class, transmitted: accepted - held as u64, discarded, sent: cp.sent }
    }
}
