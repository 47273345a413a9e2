//! Messages take memory while they last: their queue pairs and limiters are made when they begin, and go when nothing can
//! reach them any more.
//!
//! A message is over when all of it is acknowledged and no packet and no acknowledgement of it is under way, so that its
//! queue pair would never be asked again. Its limiter goes when the message is over, its reaction point asks for no
//! wake-up and no signal is on its way to it. Events that were set before find that their message has ended, and do
//! nothing; they would have found nothing due. A message keeps its number: what is made anew has never been another's, and
//! nothing that is late can come to the wrong one. So a run is the same, event by event, as one that keeps everything.

use super::network::Network;
use super::sending::Senders;
use super::signalling::Signalling;
use crate::frame::Frame;
use crate::ids::{FlowId, LimiterId, PacketId};
use crate::plan::FlowPlan;
use crate::queue_pair::EndedPair;
use crate::source::Source;

impl Senders {
    /// A message begins: makes its queue pair, its limiter and its notification point.
    #[cold]
    pub(super) fn begin_message(&mut self, flow: FlowId, plan: &FlowPlan, signalling: &mut Signalling) {
        let sender = &mut self.flows[flow];
        self.limiters.begin(sender.limiter, || self.materials.limiter(plan, flow));
        sender.source = Source::new(plan, sender.start);
        if let Source::Roce(pair) = &mut sender.source
            && plan.controlled
        {
            pair.join(&self.limiters[sender.limiter].driver.rp);
        }
        signalling.begin(flow, self.materials.notification_point());
    }

    /// Lets go of the queue pair of a message if that is over, and of its limiter.
    #[cold]
    pub(super) fn end_message(&mut self, flow: FlowId, signalling: &mut Signalling) {
        let sender = &mut self.flows[flow];
        let Source::Roce(pair) = &sender.source else { return };
        if !sender.short_lived || !pair.has_ended() {
            return;
        }
        let Some(ended) = EndedPair::of(pair) else { return };
        sender.source = Source::Ended(ended);
        signalling.end(flow);
        let limiter = sender.limiter;
        self.end_limiter(limiter, signalling);
    }

    /// Lets go of the limiter of a message that is over if nothing will change it any more.
    #[cold]
    pub(super) fn end_limiter(&mut self, id: LimiterId, signalling: &Signalling) {
        let Some(limiter) = self.limiters.get(id) else { return };
        let sender = &self.flows[limiter.last_flow];
        let silent = limiter.is_silent() && !signalling.reach(id);
        if silent && sender.short_lived && matches!(sender.source, Source::Ended(_)) {
            self.limiters.end(id);
        }
    }

    /// A signal about a flow, which travelled in a control frame, has been heard or lost.
    #[cold]
    pub(super) fn signal_ended(&mut self, flow: FlowId, signalling: &Signalling) {
        let limiter = self.flows[flow].limiter;
        self.limiters[limiter].signals -= 1;
        self.end_limiter(limiter, signalling);
    }

    /// What a frame carries that may be a RoCE packet, its acknowledgement or its head is lost: `packet`.
    pub(super) fn end_packet(
        &mut self,
        frame: &Frame,
        packet: Option<PacketId>,
        network: &mut Network,
        signalling: &mut Signalling,
    ) {
        let flow = network.flow_of(frame);
        if let Some(packet) = packet
            && let Source::Roce(pair) = &mut self.flows[flow].source
        {
            pair.under_way -= 1;
            network.packets.end(packet);
            self.end_message(flow, signalling);
        }
    }

    /// How many queue pairs and how many limiters are there.
    #[cfg(test)]
    pub(super) fn live(&self) -> (usize, usize) {
        let is_pair = |flow: &FlowId| matches!(self.flows[*flow].source, Source::Roce(_));
        (self.flows.ids().filter(is_pair).count(), self.limiters.live().count())
    }
}
