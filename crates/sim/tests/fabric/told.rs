//! What reaction points are told of pauses of their link and of packets that were cut.

use super::net::Net;
use super::{TEN, two_to_one};
use qcnlab_schemes::foreign::{Foreign, ForeignCp, ForeignRp, ForeignScheme, Parameters};
use qcnlab_schemes::registry::Config;
use qcnlab_schemes::transport::{EventKind, EventKinds, Flight, TransportEvent};
use qcnlab_schemes::{
    Arrival, CongestionPoint, CpAction, CpId, Dice, Endpoint, Gauge, Queue, ReactionPoint, RpCapabilities, Signal,
    SignalKind, Stamp,
};
use qcnlab_sim::roce::QpRecovery;
use qcnlab_sim::testing::queue_pair;
use qcnlab_sim::{PauseStorm, Traffic, TrimPlan};
use qcnlab_units::{BitRate, Bytes, Instant, Span};
use std::sync::{Arc, Mutex};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Heard {
    Paused(bool),
    Trimmed(u64),
}

/// A scheme that only listens.
#[derive(Clone, Debug, Default)]
struct Listener {
    parameters: Parameters,
    heard: Arc<Mutex<Vec<(u64, Heard)>>>,
}

impl ForeignScheme for Listener {
    fn name(&self) -> &str {
        "test:listener"
    }
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }
    fn fingerprint(&self) -> &str {
        "listener 1"
    }
    fn hears(&self) -> &[SignalKind] {
        &[]
    }
    fn speaks(&self) -> &[SignalKind] {
        &[]
    }
    fn congestion_point(&self, _: CpId) -> Box<dyn ForeignCp> {
        Box::new(self.clone())
    }
    fn reaction_point(&self, _: Endpoint) -> Box<dyn ForeignRp> {
        Box::new(self.clone())
    }
}

impl CongestionPoint for Listener {
    fn on_arrival(&mut self, _: Instant, _: &Arrival, _: Queue, _: &mut Dice) -> CpAction {
        CpAction::Nothing
    }
}

impl ReactionPoint for Listener {
    fn capabilities(&self) -> RpCapabilities {
        let events = EventKinds::NONE.with(EventKind::Trim).with(EventKind::Pause);
        RpCapabilities { events, ..RpCapabilities::LIMITER }
    }
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }
    fn on_signal(&mut self, _: Instant, _: &Signal, _: &mut Dice) {}
    fn on_transport(&mut self, now: Instant, event: &TransportEvent<'_>, _: &Flight, _: &mut Dice) {
        let heard = match event {
            TransportEvent::Paused(paused) => Heard::Paused(*paused),
            TransportEvent::Trimmed(octets) => Heard::Trimmed(octets.get()),
            _ => unreachable!("it hears of nothing else"),
        };
        self.heard.lock().unwrap().push((now.ps(), heard));
    }
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

fn message(net: &mut Net, from: &str) {
    let total = Some(Bytes::new(1_000_000));
    let flow = net.flow(from, "c", 3, Traffic::Roce { config: queue_pair(QpRecovery::SelectiveRepeat), total });
    net.plan.flows[flow as usize].frame = Bytes::new(1048);
}

/// The switch pauses the link of a from 100 to 200 us: its frames take 51.2 ns and 1 us. Nothing pauses the link of b.
#[test]
fn a_paused_link_is_told_of() {
    let listener = Listener::default();
    let mut net = two_to_one(Span::from_us(1));
    message(&mut net, "a");
    message(&mut net, "b");
    net.plan.scheme = Config::Foreign(Foreign::from(Arc::new(listener.clone()) as Arc<dyn ForeignScheme>));
    let at = |us| Instant::ZERO + Span::from_us(us);
    net.plan.storms = vec![PauseStorm { port: net.port("s->a"), classes: 1 << 3, from: at(100), until: at(200) }];
    net.run();
    let heard = [(101_051_200, Heard::Paused(true)), (201_051_200, Heard::Paused(false))];
    assert_eq!(*listener.heard.lock().unwrap(), heard);
}

/// Each packet that was cut is told of once, with its 1000 octets of payload.
#[test]
fn each_cut_is_told_of() {
    let listener = Listener::default();
    let mut net = two_to_one(Span::from_us(1));
    message(&mut net, "a");
    message(&mut net, "b");
    net.plan.scheme = Config::Foreign(Foreign::from(Arc::new(listener.clone()) as Arc<dyn ForeignScheme>));
    let (port, switch) = (net.port("s->c") as usize, net.node("s") as usize);
    net.plan.ports[port].capacity = Some(Bytes::new(20 * 1048));
    net.plan.nodes[switch].trim = Some(TrimPlan { size: Bytes::new(64), class: 7 });
    let done = net.run();
    let heard = listener.heard.lock().unwrap();
    assert!(heard.iter().all(|(_, event)| *event == Heard::Trimmed(1000)));
    assert!(heard.len() as u64 == done.counters.packets_trimmed && heard.len() > 100);
}
