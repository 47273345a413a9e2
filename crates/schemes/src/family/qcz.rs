//! Congestion isolation of IEEE 802.1Qcz: congesting flows wait in a queue of their own, at each switch on their way.
//!
//! Source: IEEE 802.1Qcz-2023, clause 49. Its text was not at hand: managed objects and defaults are those of its YANG module
//! (`ieee802-dot1q-congestion-isolation`, revision 2023-01-24), and that order is kept follows from the contents of clause
//! 8.6.8.6. How a port finds a congesting flow is left to implementations. What else is not public is a parameter.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
An output port has two queues: a monitored one, and behind it a congesting one, which is another traffic class. A frame
that finds the monitored queue long makes its flow a congesting one: later frames of the flow join the congesting queue, and
the switch tells the neighbour that the frame came from, by a congestion isolation message (CIM). The neighbour isolates
the flow, too. So frames of other flows do not wait behind it, and PFC stops the congesting class, and with it only
congesting flows: PFC that stops the monitored class stops the congesting one as well. A frame at the head of the
congesting queue waits until those of its flow have left the monitored one. Hosts take no part: they send at line rate,
and PFC or an end-to-end scheme has to stop them. Where classes are strict, the monitored queue goes first: a flow that
never makes it long can take the whole link from those that are isolated, and weights share it. Each of the two queues
may hold what a port's buffer is. A message goes before all frames, and crosses one link.

   flow:  monitored --------> congesting          a port finds the flow congesting, or a neighbour downstream says so
                    <--------
                     the congesting queue was empty for a while: `local_flow_life` of a flow that the port found, and
                     `max_flow_life` of one that a neighbour told of

   port:  frame joins the monitored queue, which is longer than the threshold:      isolate its flow, tell the neighbour
          frame joins the congesting queue, which is longer than the threshold:     tell the neighbour
          (each with `probability`; the neighbour hears of a flow `max_cim_tx` times at most, `cim_interval` apart, and
           only while it still has the flow in its monitored queue)
";

mod port;

pub use port::QczPort;

use super::none::{NoControl, NoControlRp, NoControlRpParams};
use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::isolation::IsolationPoint;
use crate::params;
use crate::params::{Field, Range};
use crate::roles::{CpId, Endpoint, NoCongestionPoint, NoNotification, SignalKind};
use qcnlab_units::{Bytes, Span};

/// Congestion isolation.
pub struct Qcz;

params! {
    /// Parameters of an output port.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct QczCpParams {
        /// The traffic class of the congesting queue; unset, the one below that of the monitored queue, and above class 0
        /// class 1. Its frames go after those of the monitored queue, whatever its number.
        congesting_priority: Option<u32>, "cip-queue-map", Range::between(0.0, 7.0);
        /// A frame that finds its queue longer than this, itself included, makes its flow a congesting one.
        threshold: Bytes, "", Range::at_least(0.0);
        /// The probability with which such a frame does.
        probability: f64, "", Range::above_zero_to(1.0);
        /// How often the neighbour is told of one flow at most.
        max_cim_tx: u32, "max-cim-tx", Range::between(0.0, 65_535.0);
        /// The least time between two messages about one flow.
        cim_interval: Span, "", Range::at_least(0.0);
        /// Octets of a message.
        cim_size: Bytes, "", Range::between(64.0, 1522.0);
        /// The most flows that a port isolates at a time.
        max_streams: u32, "max-ci-stream-entries", Range::between(1.0, 1e6);
        /// For how long a flow that a neighbour told of stays isolated after the congesting queue is empty.
        max_flow_life: Span, "ci-max-flow-life", Range::at_least(0.0);
        /// The same of a flow that the port found itself.
        local_flow_life: Span, "", Range::at_least(0.0);
    }
}

const CP_IEEE_8021QCZ: QczCpParams = QczCpParams {
    congesting_priority: None,
    threshold: Bytes::new(50_000),
    probability: 1.0,
    max_cim_tx: 3,
    cim_interval: Span::from_us(10),
    cim_size: Bytes::new(96),
    max_streams: 1024,
    max_flow_life: Span::from_ms(1000),
    local_flow_life: Span::from_us(100),
};

impl Family for Qcz {
    type CpParams = QczCpParams;
    type RpParams = NoControlRpParams;
    type Cp = NoCongestionPoint;
    type Rp = NoControlRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<QczCpParams, NoControlRpParams>] = &[Member {
        name: "qcz",
        title: "Congestion isolation",
        source: "IEEE 802.1Qcz-2023",
        generation: Generation::SwitchesStopFlows,
        status: Status::Reconstruction,
        about: ABOUT,
        presets: &[Preset {
            name: "IEEE_8021QCZ",
            about: "Three messages about a flow, and a second for which a flow stays isolated that a neighbour told of, are the \
                    defaults of the standard. All else is ours: a threshold of 50 KB, which every frame above it counts for, \
                    10 us between messages of 96 octets (the layout of a message is not public: 48 octets of the frame, and \
                    headers), 1024 flows, and 100 us for which a flow that the port found itself stays isolated. No \
                    measurement of the standard is public.",
            cp: CP_IEEE_8021QCZ,
            rp: NoControlRpParams {},
        }],
    }];
    const HEARS: &'static [SignalKind] = &[];
    const CP_SPEAKS: &'static [SignalKind] = &[];
    const FIELDS: (&'static [Field], &'static [Field]) = (QczCpParams::FIELDS, NoControlRpParams::FIELDS);

    fn set_point(_: &QczCpParams, _: &NoControlRpParams) -> Option<Bytes> {
        None
    }

    fn congestion_point(_: &QczCpParams, _: CpId) -> NoCongestionPoint {
        NoCongestionPoint
    }

    fn reaction_point(params: &NoControlRpParams, endpoint: Endpoint) -> NoControlRp {
        NoControl::reaction_point(params, endpoint)
    }

    fn isolation_point(params: &QczCpParams) -> Option<Box<dyn IsolationPoint>> {
        Some(Box::new(QczPort::new(*params)))
    }
}

#[cfg(test)]
mod tests;
