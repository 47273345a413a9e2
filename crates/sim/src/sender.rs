//! Senders: what a flow wants to send, and the frames that carry it.

use crate::frame::{Frame, Parts, Payload, flag};
use crate::ids::{AdapterId, FlowId, Id, LimiterId, PathId, PortId};
use crate::packets::{PacketRecord, Packets};
use crate::path_choice::PathChooser;
use crate::plan::{FlowPlan, Plan};
use crate::rate_limiter::RateLimiter;
use crate::source::Source;
use qcnlab_schemes::{CpId, Dice, Purpose, Stamp};
use qcnlab_units::{Bytes, Instant};

/// What sends a flow's frames.
pub(crate) struct Sender {
    pub(crate) source: Source,
    pub(crate) stop: Instant,
    pub(crate) start: Instant,
    pub(crate) limiter: LimiterId,
    /// The first port of its paths.
    pub(crate) port: PortId,
    /// The adapter that serves it; `None` when it is alone on its link.
    pub(crate) adapter: Option<AdapterId>,
    pub(crate) first_path: PathId,
    pub(crate) paths: u32,
    pub(crate) frame: u16,
    pub(crate) class: u8,
    flags: u8,
    /// Whether it waits for its limiter or its adapter.
    pub(crate) waits: bool,
    /// Whether its frames are sent on demand, without an event for each.
    pub(crate) on_demand: bool,
    /// Whether its queue pair and its limiter are there only from its start to its end.
    pub(crate) short_lived: bool,
    /// Frames that may wait at the source.
    pub(crate) room: u64,
    /// Chooses the path of each frame where there are several.
    pub(crate) chooser: Option<Box<PathChooser>>,
}

impl Sender {
    /// The sender of a flow; `source` makes what it sends, unless that waits for its start.
    pub(crate) fn new(
        plan: &Plan,
        flow: &FlowPlan,
        (start, source): (Instant, Source),
        first_path: PathId,
        several: bool,
    ) -> Sender {
        let mut flags = 0;
        flags |= if flow.controlled { flag::CONTROLLED } else { 0 };
        flags |= if flow.cn_tag { flag::CN_TAGGED } else { 0 };
        let dice = || Dice::new(plan.seed, plan.replication, &flow.name, Purpose::Path);
        Sender {
            source,
            stop: flow.stop,
            start,
            limiter: flow.limiter,
            port: flow.paths[0][0],
            adapter: None,
            first_path,
            paths: flow.paths.len() as u32,
            frame: u16::try_from(flow.frame.get()).expect("a frame has at most 65 535 octets"),
            class: flow.class,
            flags,
            waits: false,
            on_demand: false,
            short_lived: false,
            room: flow.room.map_or(u64::MAX, |room| room.get() / flow.frame.get()),
            chooser: several.then(|| Box::new(PathChooser::new(plan.path_choice, dice()))),
        }
    }

    /// When a flow that is alone on its link sends next: a frame is ready, the pacer releases it, and the link is `free`.
    #[inline(always)]
    pub(crate) fn next_release(&self, now: Instant, limiter: &RateLimiter, free: Instant) -> Option<Instant> {
        let ready = self.source.next_ready(now, self.stop)?;
        Some(ready.max(limiter.driver.pacer.next()).max(free).max(now))
    }

    /// Builds the next frame of a source other than a queue pair, which passes the limiter now.
    #[inline(always)]
    pub(crate) fn next_frame(&mut self, now: Instant, flow: FlowId, limiter: &mut RateLimiter) -> Frame {
        let payload = self.source.take(now, self.frame);
        self.frame_of(payload, now, flow, limiter)
    }

    /// Builds the frame of the next packet of a queue pair, which passes the limiter now; returns it, and the time of a
    /// timer that this starts.
    #[inline(always)]
    pub(crate) fn next_packet(
        &mut self,
        now: Instant,
        flow: FlowId,
        limiter: &mut RateLimiter,
        packets: &mut Packets,
    ) -> (Frame, Option<Instant>) {
        let Source::Roce(pair) = &mut self.source else { unreachable!("packets belong to queue pairs") };
        let payload = pair.take(now);
        let timer = pair.changed_timer();
        let mut frame = self.frame_of(payload, now, flow, limiter);
        frame.set_tag(packets.send(now, frame.tag(), frame.path().number()).number());
        (frame, timer)
    }

    /// As [`next_frame`](Sender::next_frame), of a source whose frames carry neither segments nor packets.
    #[inline(always)]
    pub(crate) fn next_plain_frame(&mut self, now: Instant, flow: FlowId, limiter: &mut RateLimiter) -> Frame {
        let payload = self.source.take_plain(now, self.frame);
        self.frame_of(payload, now, flow, limiter)
    }

    /// An acknowledgement has come: tells what chooses the paths which one is free of marks. A packet that was cut to its
    /// head is none that it answers. Paths that the flow no longer has tell nothing.
    #[inline]
    pub(crate) fn path_acknowledged(&mut self, now: Instant, record: &PacketRecord) {
        let Some(chooser) = &mut self.chooser else { return };
        let path = record.path.checked_sub(self.first_path.number()).filter(|path| *path < self.paths);
        if let Some(path) = path {
            chooser.acknowledged(now, path, record.answered == 0 || record.marked > 0);
        }
    }

    #[inline(always)]
    fn frame_of(&mut self, payload: Payload, now: Instant, flow: FlowId, limiter: &mut RateLimiter) -> Frame {
        let size = Bytes::new(u64::from(payload.size));
        limiter.last_flow = flow;
        let stamp = if limiter.driver.never_limits {
            Stamp::default()
        } else {
            limiter.driver.on_sent(now, size, payload.backlog)
        };
        let path = match &mut self.chooser {
            None => self.first_path,
            Some(chooser) => PathId::new(self.first_path.number() + chooser.choose(now, self.paths)),
        };
        let asks = if stamp.probe { flag::ASKS_BANDWIDTH } else { 0 };
        let segment = if payload.segment.is_some() { flag::SEGMENT } else { 0 };
        Frame::new(Parts {
            path,
            size: payload.size,
            limited_by: stamp.limited_by.map_or(0, tag_of),
            class: self.class,
            tag: payload.segment.unwrap_or(0),
            flags: self.flags | asks | segment,
            hop: 0,
        })
    }
}

/// A congestion point as a frame carries it: its number plus one. Where frames carry one, all numbers fit.
fn tag_of(cp: CpId) -> u16 {
    u16::try_from(cp.0.saturating_add(1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Net, greedy};
    use crate::path_choice::PathChoice;
    use crate::reps::RepsPlan;
    use qcnlab_units::{BitRate, Span};

    #[test]
    fn a_tag_holds_every_congestion_point_of_a_run_and_no_other() {
        assert_eq!([0, 65_533, 65_534, 65_535, u32::MAX].map(|cp| tag_of(CpId(cp))), [1, 65_534, 65_535, 0, 0]);
    }

    /// A flow has paths 4 and 5. Path 6 is no longer one of them; a mark on the way and a packet cut to its head say
    /// nothing for path 4; path 5 is free and comes next.
    #[test]
    fn a_path_that_is_acknowledged_without_a_mark_comes_again() {
        let mut net = Net::new(&["a", "b"]);
        net.link("a", "b", BitRate::gbps(10), Span::from_us(1));
        net.flow("a", "b", 0, greedy());
        net.plan.flows[FlowId::new(0)].paths = vec![vec![PortId::new(0)]; 2].into();
        net.plan.path_choice = PathChoice::Recycled(RepsPlan { freeze: Span::from_us(1), explore: 0 });
        let mut sender = {
            let flow = &net.plan.flows[FlowId::new(0)];
            Sender::new(&net.plan, flow, (Instant::ZERO, Source::new(flow, Instant::ZERO)), PathId::new(4), true)
        };
        let mut packets = Packets::new(false);
        for (path, answered, marked) in [(6, 1, 0), (3, 1, 0), (4, 1, 1), (4, 0, 0), (5, 1, 0)] {
            let id = packets.send(Instant::ZERO, 0, path);
            let record = packets.get_mut(id);
            (record.answered, record.marked) = (answered, marked);
            sender.path_acknowledged(Instant::ZERO, record);
        }
        assert_eq!(sender.chooser.unwrap().choose(Instant::ZERO, 2), 1);
    }
}
