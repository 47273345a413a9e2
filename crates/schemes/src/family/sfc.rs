//! SFC, source flow control: a congested port tells a sender to stop for as long as its queue needs.
//!
//! Source: the project IEEE P802.1Qdw. Its draft is not public: the idea is restated from the abstract of a public
//! proposal (arXiv 2305.00538), and what it leaves open is a parameter. That the sender's switch may turn the message into PFC
//! for an adapter that does not know it is not restated.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
A port whose queue is long sends a message to the source of the frame that it has just queued: stop for so long.
The time is what the queue needs to come down to a target. The sender stops all of the flow, and then goes on at line
rate. The port remembers to whom it sent a message, and repeats none for a while.

   port:    a frame comes, the queue is longer than the threshold, and the flow was told nothing for `repeat_after`:
            time = (queue - target) / rate of the port - what the message takes

                  stop for t                    a further message that asks for a later end holds longer
   sender:  sends ----------> stopped until now + t
                  <----------
                   t is over
";

mod rp;

pub use rp::SfcRp;

use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::CpFastPath;
use crate::params;
use crate::params::{Field, Range};
use crate::roles::{
    Arrival, CongestionPoint, CpAction, CpId, Endpoint, FlowId, NoNotification, Queue, Signal, SignalKind, SourcePause,
};
use qcnlab_units::{Bytes, Instant, Span};
use std::collections::HashMap;

/// Source flow control.
pub struct Sfc;

params! {
    /// Parameters of the congestion point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SfcCpParams {
        /// A port sends messages while its queue is longer than this.
        threshold: Bytes, "", Range::POSITIVE;
        /// The length that a pause is to bring the queue to.
        target: Bytes, "", Range::at_least(0.0);
        /// What the message takes to its source, and the next frame from there, which the pause is shorter by.
        signalling_delay: Span, "", Range::at_least(0.0);
        /// For how long a port sends a flow no further message.
        repeat_after: Span, "", Range::at_least(0.0);
        /// Whether a frame that found no room counts, too.
        count_discarded: bool, "", Range::ANY;
    }
}

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SfcRpParams {
        /// A message stops a sender for no longer than this.
        longest_pause: Span, "", Range::POSITIVE;
    }
}

const CP_OURS: SfcCpParams = SfcCpParams {
    threshold: Bytes::new(100_000),
    target: Bytes::new(50_000),
    signalling_delay: Span::ZERO,
    repeat_after: Span::from_us(10),
    count_discarded: true,
};

const RP_OURS: SfcRpParams = SfcRpParams { longest_pause: Span::from_ms(1) };

impl Family for Sfc {
    type CpParams = SfcCpParams;
    type RpParams = SfcRpParams;
    type Cp = SfcCp;
    type Rp = SfcRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<SfcCpParams, SfcRpParams>] = &[Member {
        name: "sfc",
        title: "Source flow control",
        source: "IEEE P802.1Qdw",
        generation: Generation::SwitchesStopFlows,
        status: Status::Reconstruction,
        about: ABOUT,
        presets: &[Preset {
            name: "OURS_100G",
            about: "Never published: message, trigger and duration of the draft are not public. All numbers are ours, for links \
                    of 100 Gb/s: 8 us of the link as the threshold, half of that as the target, a message to a flow each 10 us at \
                    most, and a millisecond as the longest pause.",
            cp: CP_OURS,
            rp: RP_OURS,
        }],
    }];
    const HEARS: &'static [SignalKind] = &[SignalKind::SourcePause];
    const CP_SPEAKS: &'static [SignalKind] = &[SignalKind::SourcePause];
    const FIELDS: (&'static [Field], &'static [Field]) = (SfcCpParams::FIELDS, SfcRpParams::FIELDS);

    fn set_point(_: &SfcCpParams, _: &SfcRpParams) -> Option<Bytes> {
        None
    }

    fn congestion_point(params: &SfcCpParams, id: CpId) -> SfcCp {
        SfcCp { params: *params, id, told: HashMap::new(), prune_at: SfcCp::FLOWS }
    }

    fn reaction_point(params: &SfcRpParams, endpoint: Endpoint) -> SfcRp {
        SfcRp::new(*params, endpoint.line_rate)
    }
}

/// The congestion point: whom it has told to stop, and when.
#[derive(Clone, Debug)]
pub struct SfcCp {
    params: SfcCpParams,
    id: CpId,
    /// When each flow may be told again.
    told: HashMap<FlowId, Instant>,
    /// With so many flows it forgets those that may be told again.
    prune_at: usize,
}

impl SfcCp {
    /// Flows that it remembers before it forgets any.
    const FLOWS: usize = 1024;

    /// For how long a sender has to stop, if at all.
    fn pause(&self, queue: Queue) -> Option<Span> {
        let SfcCpParams { threshold, target, signalling_delay, .. } = self.params;
        if queue.len <= threshold {
            return None;
        }
        let drains = queue.rate.time_for_rounded_up(queue.len.saturating_sub(target));
        let time = drains.ps().saturating_sub(signalling_delay.ps());
        (time > 0).then_some(Span::from_ps(time))
    }

    /// Notes that a flow is told now; returns whether it may be.
    fn may_tell(&mut self, now: Instant, flow: FlowId) -> bool {
        if self.told.get(&flow).is_some_and(|again| now < *again) {
            return false;
        }
        if self.told.len() >= self.prune_at {
            self.told.retain(|_, again| now < *again);
            self.prune_at = Self::FLOWS.max(2 * self.told.len());
        }
        self.told.insert(flow, now + self.params.repeat_after);
        true
    }
}

impl CongestionPoint for SfcCp {
    #[inline]
    fn on_arrival(&mut self, now: Instant, frame: &Arrival, queue: Queue, _: &mut Dice) -> CpAction {
        if !frame.controlled || !(frame.admitted || self.params.count_discarded) {
            return CpAction::Nothing;
        }
        let Some(time) = self.pause(queue) else { return CpAction::Nothing };
        if !self.may_tell(now, frame.flow) {
            return CpAction::Nothing;
        }
        CpAction::Send(Signal::SourcePause(SourcePause { cp: self.id, time }))
    }
}

impl CpFastPath for SfcCp {}

#[cfg(test)]
mod tests;
