//! Packets cut to their heads: the receiver hears of each loss, and nothing waits for a timeout.

use super::net::Net;
use super::two_to_one;
use qcnlab_sim::roce::QpRecovery;
use qcnlab_sim::testing::queue_pair;
use qcnlab_sim::{Events, Traffic, TrimPlan};
use qcnlab_units::{Bytes, Instant, Span};

/// Two messages of 1000 packets meet at a queue of 20 packets.
fn incast(recovery: QpRecovery, trim: bool) -> Net {
    let mut net = two_to_one(Span::from_us(1));
    for host in ["a", "b"] {
        let total = Some(Bytes::new(1_000_000));
        let flow = net.flow(host, "c", 3, Traffic::Roce { config: queue_pair(recovery), total });
        net.plan.flows[flow as usize].frame = Bytes::new(1048);
    }
    let port = net.port("s->c") as usize;
    net.plan.ports[port].capacity = Some(Bytes::new(20 * 1048));
    net.plan.end = Instant::ZERO + Span::from_ms(100);
    let switch = net.node("s") as usize;
    net.plan.nodes[switch].trim = trim.then_some(TrimPlan { size: Bytes::new(64), class: 7 });
    net
}

/// With selective repeat each packet that was cut goes again once for each time that it was cut, and nothing else does. The
/// link is busy until both are done: 2000 packets of 838.4 ns are 1.677 ms, and each head takes 51.2 ns.
#[test]
fn what_is_cut_goes_again_and_nothing_else() {
    let mut net = incast(QpRecovery::SelectiveRepeat, true);
    let mut few = net.run();
    let roce: Vec<_> = few.flows.iter().map(|flow| flow.roce.unwrap()).collect();
    let trimmed: u64 = roce.iter().map(|pair| pair.trimmed).sum();
    assert!(trimmed > 100 && trimmed == few.counters.packets_trimmed && trimmed == few.counters.frames_dropped);
    assert_eq!(roce.iter().map(|pair| pair.retransmitted).sum::<u64>(), trimmed);
    assert!(roce.iter().all(|pair| pair.timeouts == 0 && pair.acknowledged_bytes == 1_000_000), "{roce:?}");
    let last = few.flows.iter().map(|flow| flow.finished).max().unwrap();
    let least = 2000 * 838_400 + trimmed * 51_200;
    assert!(last.ps() > least && last.ps() < least + 100_000_000, "{last:?}");
    net.plan.events = Events::Everywhere;
    let many = net.run();
    few.counters.events = many.counters.events;
    assert!(few == many, "the runs differ: {:?} and {:?}", few.counters, many.counters);
}

/// Go-back-N completes, too. Without heads more is sent again or waits for the timeout.
#[test]
fn messages_complete_with_either_recovery() {
    for recovery in [QpRecovery::GoBackN, QpRecovery::SelectiveRepeat] {
        let [cut, dropped] = [true, false].map(|trim| incast(recovery, trim).run());
        for done in [&cut, &dropped] {
            assert!(done.flows.iter().all(|flow| flow.roce.unwrap().acknowledged_bytes == 1_000_000));
        }
        assert!(cut.flows.iter().all(|flow| flow.roce.unwrap().trimmed > 0) && dropped.counters.packets_trimmed == 0);
    }
}
