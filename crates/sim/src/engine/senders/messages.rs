//! Messages take memory while they last: their queue pairs and limiters are made when they begin, and go when nothing can
//! reach them any more.
//!
//! A message is over when all of it is acknowledged and no packet and no acknowledgement of it is under way, so that its
//! queue pair would never be asked again. Its limiter goes when the message is over, its reaction point asks for no
//! wake-up and no signal is on its way to it. Events that were set before find that their message has ended, and do
//! nothing; they would have found nothing due. A message keeps its number: what is made anew has never been another's, and
//! nothing that is late can come to the wrong one. So a run is the same, event by event, as one that keeps everything.

use super::Senders;
use crate::ids::{FlowId, LimiterId};
use crate::plan::FlowPlan;
use crate::queue_pair::EndedPair;
use crate::source::Source;
use qcnlab_schemes::registry::AnyNp;

impl Senders {
    /// A message begins: makes its queue pair and its limiter; returns its notification point.
    #[cold]
    pub(in crate::engine) fn begin_message(&mut self, flow: FlowId, plan: &FlowPlan) -> Option<AnyNp> {
        let sender = &mut self.flows[flow];
        self.limiters.begin(sender.limiter, || self.materials.limiter(plan, flow));
        sender.source = Source::new(plan, sender.start);
        if let Source::Roce(pair) = &mut sender.source
            && plan.controlled
        {
            pair.join(&self.limiters[sender.limiter].driver.rp);
        }
        self.materials.notification_point()
    }

    /// Lets go of the queue pair of a message if that is over; returns its limiter, which may go too.
    #[cold]
    pub(in crate::engine) fn end_message(&mut self, flow: FlowId) -> Option<LimiterId> {
        let sender = &mut self.flows[flow];
        let Source::Roce(pair) = &sender.source else { return None };
        if !sender.short_lived || !pair.has_ended() {
            return None;
        }
        sender.source = Source::Ended(EndedPair::of(pair)?);
        Some(sender.limiter)
    }

    /// Lets go of the limiter of a message that is over if nothing will change it any more, and returns whether it does;
    /// `reached` says whether a signal is on its way to it.
    #[cold]
    pub(in crate::engine) fn end_limiter(&mut self, id: LimiterId, reached: bool) -> bool {
        let Some(limiter) = self.limiters.get(id) else { return false };
        let sender = &self.flows[limiter.last_flow];
        let silent = limiter.is_silent() && !reached;
        let ends = silent && sender.short_lived && matches!(sender.source, Source::Ended(_));
        if ends {
            self.limiters.end(id);
        }
        ends
    }

    /// What a frame of a flow carried is lost: returns whether it was a packet, which is under way no more.
    pub(in crate::engine) fn packet_lost(&mut self, flow: FlowId) -> bool {
        match &mut self.flows[flow].source {
            Source::Roce(pair) => {
                pair.under_way -= 1;
                true
            }
            _ => false,
        }
    }

    /// How many queue pairs and how many limiters are there.
    #[cfg(test)]
    pub(in crate::engine) fn live(&self) -> (usize, usize) {
        let is_pair = |flow: &FlowId| matches!(self.flows[*flow].source, Source::Roce(_));
        (self.flows.ids().filter(is_pair).count(), self.limiters.live().count())
    }
}
