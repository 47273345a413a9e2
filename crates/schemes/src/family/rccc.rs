//! RCCC, receiver-credit-based congestion control of Ultra Ethernet: receivers say how much each sender may send.
//!
//! Source: the simulator of the consortium (ultraethernet/uet-htsim at 40ccb05, which calls itself no specification),
//! restated from an account of it. The pseudo-code of the Ultra Ethernet Specification 1.0, section 3.6.14, was not at hand.
//! Senders' backlogs as packets state them, and oversubscription by marks, are not restated.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
A receiving host gives credit to the flows that end there, in turn and no faster than its link takes what they
then send. A sender sends while it has credit. What it repeats takes credit, too. Its first window needs none.
Where many send at once, switches cut packets that do not fit to their heads. The head tells the receiver what
was lost, and the receiver gives credit for it again. For traffic over RoCE with selective repeat, where switches cut packets.

   sender:    credit = first window at first;  a packet goes while less than the credit was sent
              a credit of C octets is heard:    credit = C, and what was taken for lost since

   receiver:  a flow wants = octets of its message + octets that came cut, less what it was given
              in turn of those that want, and that have less than a window under way:
                 give `pull` packets;  wait for what they take at `pace` of the link's rate
";

mod pacer;

pub use pacer::RcccPacer;

use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::RpFastPath;
use crate::params;
use crate::params::{Field, Range};
use crate::parts::window::BaseRttOf;
use crate::roles::{
    AddedHeaders, CpId, CreditPoint, Endpoint, EventKind, EventKinds, Flight, Gauge, LossSign, NoCongestionPoint,
    NoNotification, ReactionPoint, RpCapabilities, Signal, SignalKind, Stamp, TransportEvent,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// RCCC.
pub struct Rccc;

params! {
    /// Switches take no part: no parameters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RcccCpParams {}
}

params! {
    /// Parameters of a host, as sender and as receiver.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RcccRpParams {
        /// What a sender may send without credit at first, and what a receiver has under way of a flow at most, in
        /// bandwidth-delay products of its own link and the network's round-trip time.
        first_window: f64, "maxwnd", Range::POSITIVE;
        /// The round-trip time of the network; unset, what `network_rtt_of` says.
        network_rtt: Option<Span>, "network_rtt", Range::at_least(1e3);
        /// Which base round-trip time that is, where none is given.
        network_rtt_of: BaseRttOf, "", Range::ANY;
        /// Packets that a receiver gives credit for at once.
        pull: f64, "pull_quanta", Range::between(1.0, 1e6);
        /// The share of its link's rate at which a receiver gives credit.
        pace: f64, "pacer", Range::above_zero_to(1.0);
        /// Octets of headers that it counts for each packet of payload.
        counted_header: Bytes, "", Range::between(0.0, 1024.0);
        /// Octets that it adds to each data packet.
        header: Bytes, "", Range::between(0.0, 256.0);
        /// Octets that it adds to each acknowledgement.
        ack_header: Bytes, "", Range::between(0.0, 256.0);
    }
}

const RP_UET_HTSIM: RcccRpParams = RcccRpParams {
    first_window: 1.5,
    network_rtt: None,
    network_rtt_of: BaseRttOf::Network,
    pull: 4.0,
    pace: 0.99,
    counted_header: Bytes::new(64),
    header: Bytes::ZERO,
    ack_header: Bytes::ZERO,
};

impl RcccRpParams {
    /// The first window of a host, octets: a packet at least.
    fn window(&self, endpoint: Endpoint) -> Bytes {
        let endpoint = endpoint.with_base_rtt(self.network_rtt, self.network_rtt_of);
        let octets = self.first_window * endpoint.line_rate.bytes_in_rounded_down(endpoint.base_rtt).as_f64();
        Bytes::new(octets as u64).max(endpoint.mtu)
    }
}

impl Family for Rccc {
    type CpParams = RcccCpParams;
    type RpParams = RcccRpParams;
    type Cp = NoCongestionPoint;
    type Rp = RcccRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<RcccCpParams, RcccRpParams>] = &[Member {
        name: "rccc",
        title: "RCCC of Ultra Ethernet",
        source: "Ultra Ethernet Specification (2025)",
        generation: Generation::UltraEthernet,
        status: Status::Reconstruction,
        about: ABOUT,
        presets: &[Preset {
            name: "UET_HTSIM",
            about: "As the consortium's simulator has it, by an account of it: a first window of 1.5 bandwidth-delay products, credit \
                    for four packets at once at 0.99 of the link's rate. That 64 octets of headers are counted for a packet is \
                    ours; there they are octets of the packet.",
            cp: RcccCpParams {},
            rp: RP_UET_HTSIM,
        }],
    }];
    const HEARS: &'static [SignalKind] = &[SignalKind::Credit];
    const CP_SPEAKS: &'static [SignalKind] = &[];
    const NP_SPEAKS: &'static [SignalKind] = &[SignalKind::Credit];
    const FIELDS: (&'static [Field], &'static [Field]) = (RcccCpParams::FIELDS, RcccRpParams::FIELDS);

    fn set_point(_: &RcccCpParams, _: &RcccRpParams) -> Option<Bytes> {
        None
    }

    fn congestion_point(_: &RcccCpParams, _: CpId) -> NoCongestionPoint {
        NoCongestionPoint
    }

    fn reaction_point(params: &RcccRpParams, endpoint: Endpoint) -> RcccRp {
        RcccRp {
            told: params.window(endpoint),
            repeated: Bytes::ZERO,
            mtu: endpoint.mtu,
            line_rate: endpoint.line_rate,
            headers: AddedHeaders { data: params.header, acknowledgement: params.ack_header },
        }
    }

    fn credit_point(params: &RcccRpParams, endpoint: Endpoint) -> Option<Box<dyn CreditPoint>> {
        Some(Box::new(RcccPacer::new(*params, endpoint)))
    }
}

/// The reaction point: counts credit.
#[derive(Clone, Debug)]
pub struct RcccRp {
    /// What the receiver has given, the first window among it.
    told: Bytes,
    /// What was taken for lost: the receiver, which does not know, gives nothing for it.
    repeated: Bytes,
    mtu: Bytes,
    line_rate: BitRate,
    headers: AddedHeaders,
}

impl ReactionPoint for RcccRp {
    fn capabilities(&self) -> RpCapabilities {
        RpCapabilities {
            limits: false,
            events: EventKinds::NONE.with(EventKind::NegativeAcknowledgement).with(EventKind::Loss),
            sends_by_credit: true,
            ..RpCapabilities::LIMITER
        }
    }

    #[inline]
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }

    fn on_signal(&mut self, _: Instant, signal: &Signal, _: &mut Dice) {
        if let Signal::Credit(octets) = signal {
            self.told = self.told.max(*octets);
        }
    }

    /// A packet that is taken for lost goes again for what it cost the first time. After a timeout all that was not
    /// acknowledged does, and where everything behind a hole goes again, that.
    fn on_transport(&mut self, _: Instant, event: &TransportEvent<'_>, flight: &Flight, _: &mut Dice) {
        let unacknowledged = flight.sent.saturating_sub(flight.acknowledged);
        let again = match event {
            TransportEvent::Lost(LossSign::Timeout) => unacknowledged.saturating_sub(flight.early),
            TransportEvent::NegativelyAcknowledged if flight.in_flight == Bytes::ZERO => unacknowledged,
            TransportEvent::NegativelyAcknowledged | TransportEvent::Lost(LossSign::Gap) => self.mtu,
            _ => return,
        };
        self.repeated += again;
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        None
    }

    fn credit(&self) -> Bytes {
        Bytes::new(self.told.get().saturating_add(self.repeated.get()))
    }

    fn added_headers(&self) -> AddedHeaders {
        self.headers
    }

    /// The line rate: a sender with credit sends at it.
    fn gauge(&self) -> Gauge {
        Gauge::at(self.line_rate)
    }
}

impl RpFastPath for RcccRp {
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
