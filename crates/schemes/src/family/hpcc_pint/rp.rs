//! The reaction point: HPCC's, told of the load by an octet.

use super::{HpccPintRpParams, code};
use crate::dice::Dice;
use crate::family::hpcc::HpccRp;
use crate::fast_path::RpFastPath;
use crate::roles::{
    AddedHeaders, Endpoint, EventKinds, Flight, Gauge, ReactionPoint, RpCapabilities, Signal, Stamp, TransportEvent,
};
use qcnlab_units::{BitRate, Bytes, Instant};

/// The reaction point.
#[derive(Clone, Debug)]
pub struct HpccPintRp {
    sample: f64,
    hpcc: HpccRp,
}

impl HpccPintRp {
    pub(super) fn new(params: HpccPintRpParams, endpoint: Endpoint) -> HpccPintRp {
        HpccPintRp { sample: params.sample, hpcc: HpccRp::new(params.hpcc, endpoint) }
    }
}

impl ReactionPoint for HpccPintRp {
    fn capabilities(&self) -> RpCapabilities {
        RpCapabilities { events: EventKinds::ACKNOWLEDGEMENTS, ..self.hpcc.capabilities() }
    }

    #[inline]
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }

    fn on_signal(&mut self, _: Instant, _: &Signal, _: &mut Dice) {}

    #[inline]
    fn on_transport(&mut self, _: Instant, event: &TransportEvent<'_>, flight: &Flight, dice: &mut Dice) {
        if let TransportEvent::Acknowledged(ack) = event
            && (self.sample >= 1.0 || dice.uniform(0.0, 1.0) < self.sample)
        {
            self.hpcc.on_load(code::read(ack.code), flight);
        }
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        self.hpcc.limit()
    }

    #[inline]
    fn window(&self) -> Option<Bytes> {
        self.hpcc.window()
    }

    fn added_headers(&self) -> AddedHeaders {
        self.hpcc.added_headers()
    }

    fn gauge(&self) -> Gauge {
        self.hpcc.gauge()
    }
}

impl RpFastPath for HpccPintRp {
    #[inline]
    fn count_only(&mut self, _: Bytes, _: Bytes) -> bool {
        true
    }

    fn on_sent_may_be_late(&self) -> bool {
        true
    }
}
