//! Receivers whose notification point holds acknowledgements back.

use super::TEN;
use super::listener::Listener;
use super::net::Net;
use qcnlab_schemes::transport::EventKinds;
use qcnlab_sim::roce::QpRecovery;
use qcnlab_sim::{Traffic, testing};
use qcnlab_units::{Bytes, Span};

/// When one packet of 1000 octets is acknowledged, of a receiver that holds its answer back for so long; ps.
fn acknowledged(held: Span) -> (u64, u64) {
    let mut net = Net::new(&["a", "c"]);
    net.link("a", "c", TEN, Span::from_us(1));
    let config = testing::queue_pair(QpRecovery::GoBackN);
    let flow = net.flow("a", "c", 0, Traffic::Roce { config: config.into(), total: Some(Bytes::new(1000)) });
    net.plan.flows[flow].frame = Bytes::new(1048);
    let mut receiver = Listener::<()>::new(EventKinds::NONE, |_, _, _| {});
    receiver.holds = Some(held);
    receiver.listen(&mut net);
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
