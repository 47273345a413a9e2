//! Receivers whose notification point holds acknowledgements back.

use super::TEN;
use super::net::Net;
use qcnlab_schemes::foreign::{Foreign, ForeignCp, ForeignNp, ForeignRp, ForeignScheme, Parameters};
use qcnlab_schemes::registry::Config;
use qcnlab_schemes::{
    Arrival, CongestionPoint, CpAction, CpId, Dice, Echo, Endpoint, Gauge, NotificationPoint, Queue, ReactionPoint,
    Signal, SignalKind, Stamp,
};
use qcnlab_sim::roce::QpRecovery;
use qcnlab_sim::{Traffic, testing};
use qcnlab_units::{BitRate, Bytes, Instant, Span};
use std::sync::Arc;

/// A receiver that holds each acknowledgement back for so long; nothing else is done to traffic.
#[derive(Clone, Copy, Debug)]
struct Holds(Span);

impl CongestionPoint for Holds {
    fn on_arrival(&mut self, _: Instant, _: &Arrival, _: Queue, _: &mut Dice) -> CpAction {
        CpAction::Nothing
    }
}

impl ReactionPoint for Holds {
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }
    fn on_signal(&mut self, _: Instant, _: &Signal, _: &mut Dice) {}
    fn on_wake(&mut self, _: Instant, _: &mut Dice) {}
    fn next_wake(&self) -> Instant {
        Instant::NEVER
    }
    fn limit(&self) -> Option<BitRate> {
        None
    }
    fn gauge(&self) -> Gauge {
        Gauge::at(TEN)
    }
}

impl NotificationPoint for Holds {
    fn shapes_acknowledgements(&self) -> bool {
        true
    }
    fn on_acknowledging(&mut self, _: Instant, echo: &mut Echo) {
        echo.delay = self.0;
    }
}

#[derive(Debug)]
struct Scheme(Holds, Parameters);

impl ForeignScheme for Scheme {
    fn name(&self) -> &'static str {
        "test:holds"
    }
    fn parameters(&self) -> &Parameters {
        &self.1
    }
    fn fingerprint(&self) -> &'static str {
        "holds 1"
    }
    fn hears(&self) -> &[SignalKind] {
        &[]
    }
    fn speaks(&self) -> &[SignalKind] {
        &[]
    }
    fn set_point(&self) -> Option<Bytes> {
        None
    }
    fn congestion_point(&self, _: CpId) -> Box<dyn ForeignCp> {
        Box::new(self.0)
    }
    fn reaction_point(&self, _: Endpoint) -> Box<dyn ForeignRp> {
        Box::new(self.0)
    }
    fn notification_point(&self) -> Option<Box<dyn ForeignNp>> {
        Some(Box::new(self.0))
    }
}

/// When one packet of 1000 octets is acknowledged, of a receiver that holds its answer back for so long; ps.
fn acknowledged(held: Span) -> (u64, u64) {
    let mut net = Net::new(&["a", "c"]);
    net.link("a", "c", TEN, Span::from_us(1));
    let config = testing::queue_pair(QpRecovery::GoBackN);
    let flow = net.flow("a", "c", 0, Traffic::Roce { config, total: Some(Bytes::new(1000)) }) as usize;
    net.plan.flows[flow].frame = Bytes::new(1048);
    let scheme: Arc<dyn ForeignScheme> = Arc::new(Scheme(Holds(held), Parameters::default()));
    net.plan.scheme = Config::Foreign(Foreign::from(scheme));
    let done = net.run();
    (done.flows[flow].finished.ps(), done.counters.acks_sent)
}

/// 1048 octets take 838.4 ns and 1 us, the acknowledgement of 60 octets 48 ns and 1 us.
#[test]
fn an_acknowledgement_that_is_not_held_back_leaves_at_once() {
    assert_eq!(acknowledged(Span::ZERO), (2_886_400, 1));
}

#[test]
fn an_acknowledgement_leaves_when_it_has_been_held_back_for_its_time() {
    assert_eq!(acknowledged(Span::from_ps(1)), (2_886_401, 1));
    assert_eq!(acknowledged(Span::from_us(5)), (7_886_400, 1));
}
