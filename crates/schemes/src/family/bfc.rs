//! BFC, backpressure flow control: each switch stops the queues one hop upstream that feed a long queue of its own.
//!
//! Source: Goyal and others, Backpressure Flow Control (NSDI 2022). Its text was not at hand: the rules are restated from an
//! account of how another simulator has them (NASA-NJU/Pyrrha-NS3 at 67b846f, `switch-mmu.cc` and `switch-node.cc`). What
//! that leaves open is a parameter.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
Hosts send at line rate, and switches stop them. An output port has several queues, which take turns. The first
frame of a flow gets a queue that no other flow has, as long as there is one. A frame carries the number of the
queue that it left. A frame that finds its queue long at the next switch is tagged there: that switch sends a
message back over the link, and the queue that the frame came from stops. When the last tagged frame from there
leaves, the switch lets the queue go on. So a flow waits in front of its bottleneck, hop by hop, and holds up only
those that share its queue. A host stops single flows. Messages go before all frames, as those of PFC do.
Little or nothing is behind the last tagged frame when it leaves, and the next one comes a round trip of the hop later:
where few flows share a port, their queues empty together, and the port is idle until then (at 10 Gb/s and 40 us,
two flows get 8.1 Gb/s in all, eight 9.3, and 32 the whole link).

   port:      first frame of a flow --> an unused queue, or else any queue, drawn
              frame queued, and its queue is longer than rate * hop RTT / active queues:
                 tag it;  the first tag of its upstream queue --> stop that
              tagged frame leaves:  the last tag of its upstream queue --> let that go on
              the last frame of a flow has left:  it keeps its queue for `sticky` hop RTT

                  stop                                   active queues: those that have frames
   host:   sends ------> holds the flow back             and are not stopped themselves
                 <------
                  go on
";

mod port;

pub use port::BfcPort;

use crate::backpressure::BackpressurePoint;
use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::RpFastPath;
use crate::params;
use crate::params::{Field, Range};
use crate::roles::{
    CpId, Endpoint, EventKind, EventKinds, Flight, Gauge, NoCongestionPoint, NoNotification, ReactionPoint,
    RpCapabilities, Signal, SignalKind, Stamp, TransportEvent,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// BFC.
pub struct Bfc;

params! {
    /// Parameters of an output port.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct BfcCpParams {
        /// Queues of the port for frames under control.
        queues: u32, "QUEUENUM", Range::between(1.0, 16_384.0);
        /// Flows that a switch can tell apart, for each queue of each of its ports: two flows with one hash are one.
        table: u32, "flowtb_size", Range::between(1.0, 1e6);
        /// A frame is tagged if its queue is longer than so many bandwidth-delay products of one hop, divided by the active
        /// queues.
        threshold: f64, "Th", Range::above_zero_to(1e6);
        /// The round-trip time of a hop; unset, twice the delay of the link that the frame came over.
        hop_rtt: Option<Span>, "HRTT", Range::at_least(1e3);
        /// For how many hop round-trip times a flow without frames at the port keeps its queue.
        sticky: f64, "sticky_th", Range::between(0.0, 1e6);
        /// Octets that a queue may send in its turn.
        quantum: Bytes, "", Range::between(64.0, 65_535.0);
    }
}

params! {
    /// A host stops when it is told to: no parameters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct BfcRpParams {}
}

const CP_PYRRHA_NS3: BfcCpParams =
    BfcCpParams { queues: 32, table: 100, threshold: 1.0, hop_rtt: None, sticky: 2.0, quantum: Bytes::new(1500) };

impl Family for Bfc {
    type CpParams = BfcCpParams;
    type RpParams = BfcRpParams;
    type Cp = NoCongestionPoint;
    type Rp = BfcRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<BfcCpParams, BfcRpParams>] = &[Member {
        name: "bfc",
        title: "BFC",
        source: "Goyal and others, BFC (2022)",
        generation: Generation::SwitchesStopFlows,
        status: Status::Reconstruction,
        about: ABOUT,
        presets: &[Preset {
            name: "PYRRHA_NS3",
            about: "As the simulator of Pyrrha has it: a table of 100 flows for each queue of each port, a threshold of one \
                    hop's bandwidth-delay product over the active queues, a queue kept for two hop round-trip times. 32 queues \
                    and turns of 1500 octets are ours, and so is that a queue that is stopped is no unused one. How fast \
                    stopped queues may go on is not public: they go on at once.",
            cp: CP_PYRRHA_NS3,
            rp: BfcRpParams {},
        }],
    }];
    const HEARS: &'static [SignalKind] = &[];
    const CP_SPEAKS: &'static [SignalKind] = &[];
    const FIELDS: (&'static [Field], &'static [Field]) = (BfcCpParams::FIELDS, BfcRpParams::FIELDS);

    fn set_point(_: &BfcCpParams, _: &BfcRpParams) -> Option<Bytes> {
        None
    }

    fn congestion_point(_: &BfcCpParams, _: CpId) -> NoCongestionPoint {
        NoCongestionPoint
    }

    fn reaction_point(_: &BfcRpParams, Endpoint { line_rate, .. }: Endpoint) -> BfcRp {
        BfcRp { line_rate, stopped: false }
    }

    fn backpressure_point(params: &BfcCpParams, ports: u32) -> Option<Box<dyn BackpressurePoint>> {
        Some(Box::new(BfcPort::new(*params, ports)))
    }
}

/// The reaction point: sends at line rate or not at all.
#[derive(Clone, Debug)]
pub struct BfcRp {
    line_rate: BitRate,
    /// Whether the first switch has stopped the flow.
    stopped: bool,
}

impl ReactionPoint for BfcRp {
    fn capabilities(&self) -> RpCapabilities {
        RpCapabilities { events: EventKinds::NONE.with(EventKind::FlowPause), ..RpCapabilities::LIMITER }
    }

    #[inline]
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }

    fn on_signal(&mut self, _: Instant, _: &Signal, _: &mut Dice) {}

    fn on_transport(&mut self, _: Instant, event: &TransportEvent<'_>, _: &Flight, _: &mut Dice) {
        if let TransportEvent::FlowPaused(paused) = event {
            self.stopped = *paused;
        }
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        self.stopped.then_some(BitRate::ZERO)
    }

    fn gauge(&self) -> Gauge {
        let current_rate = if self.stopped { BitRate::ZERO } else { self.line_rate };
        Gauge { current_rate, target_rate: self.line_rate }
    }
}

impl RpFastPath for BfcRp {
    #[inline]
    fn count_only(&mut self, _: Bytes, _: Bytes) -> bool {
        true
    }

    fn on_sent_may_be_late(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
