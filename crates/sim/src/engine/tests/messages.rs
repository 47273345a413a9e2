//! What is there of a message before, during and after it.

use super::*;

/// Two hosts send a message of 50 packets each to a third, the second 500 us after the first; DCQCN marks at the port that
/// they share.
fn two_messages() -> Net {
    let mut net = star(&["a", "b", "c"]);
    for (host, us) in [("a", 0), ("b", 500)] {
        let config = testing::queue_pair(QpRecovery::GoBackN).into();
        let flow = net.flow(host, "c", 0, Traffic::Roce { config, total: Some(Bytes::new(50_000)) });
        net.plan.flows[flow].frame = Bytes::new(1048);
        net.plan.flows[flow].start = Instant::ZERO + Span::from_us(us);
    }
    scheme(&mut net, "dcqcn");
    port(&mut net, "s->c").watched = true;
    net
}

/// Queue pairs and limiters that are there after so many microseconds.
fn live(net: &Net, us: u64) -> (usize, usize) {
    let mut engine = Engine::new(&net.plan);
    engine.advance(Instant::ZERO + Span::from_us(us), &mut |_| ()).unwrap();
    engine.senders.live()
}

/// A message takes 50 times 838.4 ns and 4 us more. None is there before the first begins at 0 and between the two.
#[test]
fn a_queue_pair_is_there_while_its_message_lasts() {
    let net = two_messages();
    assert_eq!([0, 40, 100, 510, 600].map(|us| live(&net, us)), [(0, 0), (1, 1), (0, 0), (1, 1), (0, 0)]);
}

/// Whoever may be asked for its rate later, has no end, shares its limiter, or may hear something before it begins, is there
/// all the time.
#[test]
fn what_somebody_may_ask_for_stays() {
    let at_rest = |change: fn(&mut Net)| {
        let mut net = two_messages();
        change(&mut net);
        [live(&net, 0), live(&net, 600)]
    };
    assert_eq!(at_rest(|net| net.plan.record.rates_every = Span::from_us(50)), [(2, 2); 2]);
    assert_eq!(at_rest(|net| net.plan.flows[FlowId::new(1)].limiter = LimiterId::new(0)), [(2, 1); 2]);
    let endless = |net: &mut Net| {
        let config = testing::queue_pair(QpRecovery::GoBackN).into();
        net.plan.flows[FlowId::new(1)].traffic = Traffic::Roce { config, total: None };
    };
    assert_eq!(at_rest(endless), [(1, 1); 2]);
}

/// Two messages of 300 packets share 10 Gb/s and are over after 503 us. The CNPs that their marks cause wait at their
/// destination for 840 us behind its own frames, which acknowledgements overtake: the limiters wait for them, and then until
/// DCQCN has climbed back, the queue pairs do not.
#[test]
fn a_limiter_waits_for_the_signals_on_their_way_to_it() {
    let mut net = two_messages();
    let config = crate::roce::QpConfig { ack_class: Some(6), ..testing::queue_pair(QpRecovery::GoBackN) };
    for flow in &mut net.plan.flows {
        flow.traffic = Traffic::Roce { config: config.into(), total: Some(Bytes::new(300_000)) };
        flow.start = Instant::ZERO;
    }
    net.flow("c", "a", 3, Traffic::Saturated { ceiling: None, total: Some(Bytes::new(1_050_000)) });
    net.plan.feedback = Feedback::Frames { size: Bytes::new(64), class: 0 };
    let c = 1;
    assert_eq!([400, 800].map(|us| live(&net, us)), [(2, 2 + c), (0, 2 + c)]);
    net.plan.end = Instant::ZERO + Span::from_ms(20);
    assert_eq!(live(&net, 19_000), (0, c));
    let done = net.run();
    assert!(done.counters.messages_heard > 0);
    assert!(done.limiters.iter().take(2).all(|limiter| limiter.created == 1 && !limiter.limits), "{:?}", done.limiters);
}
