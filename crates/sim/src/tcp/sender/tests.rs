use super::*;
use crate::tcp::tests::config;

const MSS: u64 = 1000;

/// Segments of 1000 octets and a window of 100 of them.
fn small(flavour: Flavour, initial_window: u32) -> Config {
    Config { flavour, mss: Bytes::new(MSS), max_window: Bytes::new(100_000), initial_window, ..config() }
}

fn ms(n: u64) -> Instant {
    Instant::ZERO + Span::from_ms(n)
}

fn sender(flavour: Flavour, initial_window: u32) -> TcpSender {
    TcpSender::new(&small(flavour, initial_window), None, Bytes::ZERO)
}

/// Numbers of the segments that go now.
fn drain(sender: &mut TcpSender, now: Instant) -> Vec<u32> {
    std::iter::from_fn(|| sender.next_segment(now)).map(|segment| segment.number).collect()
}

fn duplicates(sender: &mut TcpSender, now: Instant, number: u32, count: usize) {
    (0..count).for_each(|_| sender.on_ack(now, number));
}

/// A sender that has 10 segments, 0 to 9, in flight.
fn ten_in_flight(flavour: Flavour) -> TcpSender {
    let mut sender = sender(flavour, 10);
    assert_eq!(drain(&mut sender, ms(0)), (0..10).collect::<Vec<u32>>());
    sender
}

#[test]
fn slow_start_doubles_each_round_trip() {
    let mut sender = sender(Flavour::Reno, 1);
    let mut first = 0;
    for round in 0..6 {
        let sent = drain(&mut sender, ms(10 * round));
        assert_eq!(sent, (first..first + (1 << round)).collect::<Vec<u32>>());
        sent.iter().for_each(|number| sender.on_ack(ms(10 * round + 10), number + 1));
        first += 1 << round;
    }
    assert_eq!(sender.window(), Bytes::new(64 * MSS));
}

#[test]
fn slow_start_grows_a_segment_at_most_each_acknowledgement() {
    let mut sender = sender(Flavour::Reno, 4);
    drain(&mut sender, ms(0));
    // min(4000, 1000).
    sender.on_ack(ms(10), 4);
    assert_eq!(sender.window(), Bytes::new(5 * MSS));
}

/// All four are acknowledged and nothing is outstanding: the same said three times more is no sign of a loss.
#[test]
fn an_acknowledgement_of_nothing_outstanding_is_no_duplicate() {
    let mut sender = sender(Flavour::Reno, 4);
    drain(&mut sender, ms(0));
    sender.on_ack(ms(10), 4);
    duplicates(&mut sender, ms(11), 4, 3);
    assert_eq!((sender.window(), sender.stats().fast_retransmits), (Bytes::new(5 * MSS), 0));
    assert_eq!(drain(&mut sender, ms(12)), [4, 5, 6, 7, 8]);
}

#[test]
fn the_receivers_window_holds_the_flight_and_the_growth() {
    let mut sender = TcpSender::new(&Config { initial_window: 40, ..config() }, None, Bytes::ZERO);
    // 65 536 / 1460 = 44.9.
    drain(&mut sender, ms(0));
    (1..=20).for_each(|number| sender.on_ack(ms(1), number));
    drain(&mut sender, ms(1));
    assert_eq!(sender.window(), Bytes::new(65_536));
    assert_eq!(sender.flight(), Bytes::new(44 * 1460));
}

#[test]
fn a_short_last_segment_counts_its_octets() {
    let mut sender = TcpSender::new(&small(Flavour::Reno, 3), Some(3), Bytes::new(200));
    let sent: Vec<Segment> = std::iter::from_fn(|| sender.next_segment(ms(0))).collect();
    assert_eq!(sent.iter().map(|segment| segment.payload.get()).collect::<Vec<u64>>(), [1000, 1000, 200]);
    assert_eq!(sender.flight(), Bytes::new(2200));
    sender.on_ack(ms(1), 2);
    assert_eq!(sender.flight(), Bytes::new(200));
    assert!(!sender.finished());
    sender.on_ack(ms(1), 3);
    assert!(sender.finished());
    assert_eq!(sender.next_wake(), Instant::NEVER);
    assert!(TcpSender::new(&small(Flavour::Reno, 3), Some(0), Bytes::ZERO).finished());
}

#[test]
fn reno_inflates_and_deflates() {
    let mut sender = ten_in_flight(Flavour::Reno);
    // Segment 0 is lost. Two duplicates do nothing; the third repeats it: ssthresh 10 / 2 = 5, cwnd 5 + 3 = 8.
    duplicates(&mut sender, ms(10), 0, 2);
    assert!(!sender.ready());
    sender.on_ack(ms(10), 0);
    assert_eq!((sender.threshold().get(), sender.window().get()), (5000, 8000));
    let segment = sender.next_segment(ms(10)).unwrap();
    assert_eq!(segment, Segment { number: 0, payload: Bytes::new(1000), again: true });
    assert!(!sender.ready());
    // Six more, one for each of 4 to 9: 14, of which 10 are in flight.
    duplicates(&mut sender, ms(11), 0, 6);
    assert_eq!(sender.window(), Bytes::new(14_000));
    assert_eq!(drain(&mut sender, ms(11)), [10, 11, 12, 13]);
    // The repair arrives: cwnd is ssthresh; 4 in flight, one more may go.
    sender.on_ack(ms(20), 10);
    assert_eq!(sender.window(), Bytes::new(5000));
    assert_eq!(drain(&mut sender, ms(20)), [14]);
    assert_eq!(sender.stats(), Stats { segments: 16, retransmitted: 1, fast_retransmits: 1, timeouts: 0 });
    // Congestion avoidance: 5 acknowledgements, one segment.
    for number in 11..=15 {
        assert_eq!(sender.window(), Bytes::new(5000));
        sender.on_ack(ms(30), number);
    }
    assert_eq!(sender.window(), Bytes::new(6000));
}

#[test]
fn reno_leaves_recovery_at_a_partial_acknowledgement() {
    // Segments 0 and 5 are lost.
    let mut sender = ten_in_flight(Flavour::Reno);
    duplicates(&mut sender, ms(10), 0, 8);
    assert_eq!(sender.window(), Bytes::new(13_000));
    assert_eq!(drain(&mut sender, ms(10)), [0, 10, 11, 12]);
    sender.on_ack(ms(20), 5);
    assert_eq!(sender.window(), Bytes::new(5000));
    assert!(!sender.ready());
    // 10, 11, 12 give three duplicates: a second reduction, of 8 in flight.
    duplicates(&mut sender, ms(20), 5, 3);
    assert_eq!((sender.threshold().get(), sender.window().get()), (4000, 7000));
    assert_eq!(drain(&mut sender, ms(20)), [5]);
    assert_eq!(sender.stats().fast_retransmits, 2);
}

#[test]
fn newreno_repairs_a_hole_each_partial_acknowledgement() {
    // Segments 0, 5 and 7 are lost; the others give 7 duplicates.
    let mut sender = ten_in_flight(Flavour::NewReno);
    duplicates(&mut sender, ms(10), 0, 7);
    assert_eq!(sender.window(), Bytes::new(12_000));
    assert_eq!(drain(&mut sender, ms(10)), [0, 10, 11]);
    assert_eq!(sender.next_wake(), ms(610));
    // 5 segments arrived: 12 - 5 + 1 = 8; in flight 5 to 11. The repair, and one new segment.
    sender.on_ack(ms(20), 5);
    assert_eq!(sender.window(), Bytes::new(8000));
    assert_eq!(drain(&mut sender, ms(20)), [5, 12]);
    // The first partial acknowledgement restarts the timer.
    assert_eq!(sender.next_wake(), ms(620));
    // Duplicates of 10 and 11 inflate: 10. 13, 14 go.
    duplicates(&mut sender, ms(20), 5, 2);
    assert_eq!(drain(&mut sender, ms(20)), [13, 14]);
    // 2 arrived: 10 - 2 + 1 = 9, in flight 7 to 14 = 8. The second leaves the timer.
    sender.on_ack(ms(30), 7);
    assert_eq!(sender.window(), Bytes::new(9000));
    assert_eq!(drain(&mut sender, ms(30)), [7, 15]);
    assert_eq!(sender.next_wake(), ms(620));
    // 12 is all that was out when it began and 10, 11: min(5, 4 + 1) = 5.
    sender.on_ack(ms(40), 12);
    assert_eq!(sender.window(), Bytes::new(5000));
    assert_eq!(sender.next_wake(), ms(640));
    assert_eq!(sender.stats().fast_retransmits, 1);
}

#[test]
fn newreno_ends_with_no_more_than_a_segment_beyond_the_flight() {
    let mut sender = ten_in_flight(Flavour::NewReno);
    duplicates(&mut sender, ms(10), 0, 3);
    assert_eq!(drain(&mut sender, ms(10)), [0]);
    // Nothing is in flight: min(5, 1 + 1).
    sender.on_ack(ms(20), 10);
    assert_eq!(sender.window(), Bytes::new(2000));
}

#[test]
fn a_timeout_sends_everything_again() {
    let mut sender = ten_in_flight(Flavour::Reno);
    sender.on_wake(ms(599));
    assert_eq!(sender.stats().timeouts, 0);
    sender.on_wake(ms(600));
    assert_eq!((sender.threshold().get(), sender.window().get()), (5000, 1000));
    assert_eq!(drain(&mut sender, ms(600)), [0]);
    // Twice the timeout.
    assert_eq!((sender.timeout(), sender.next_wake()), (Span::from_ms(1200), ms(1800)));
    // Once more the same: the threshold stays.
    assert_eq!(sender.stats().timeouts, 1);
    sender.on_wake(ms(1800));
    assert_eq!(sender.stats().timeouts, 2);
    assert_eq!((sender.threshold().get(), sender.next_wake()), (5000, ms(1800 + 2400)));
    assert_eq!(drain(&mut sender, ms(1800)), [0]);
    // Slow start over what was sent before.
    sender.on_ack(ms(1810), 1);
    assert_eq!(drain(&mut sender, ms(1810)), [1, 2]);
    // 2 to 7 had arrived.
    sender.on_ack(ms(1820), 8);
    assert_eq!(sender.window(), Bytes::new(3000));
    assert_eq!(drain(&mut sender, ms(1820)), [8, 9, 10]);
    assert_eq!(sender.stats().retransmitted, 6);
    // Karn: no measurement yet, the timeout is still four times the first. 10 is new and measures.
    assert_eq!((sender.round_trip(), sender.timeout()), (None, Span::from_ms(2400)));
    sender.on_ack(ms(1850), 11);
    assert_eq!(sender.round_trip(), Some(Span::from_ms(30)));
    assert_eq!(sender.timeout(), Span::from_ms(100));
}

/// RFC 6582, 3.2, step 6: a timeout ends fast recovery. What is acknowledged then lets a window of one segment grow to two, as
/// in slow start; in recovery it would stay at one. RFC 5681, 3.2: three duplicates after it are counted from none.
#[test]
fn a_timeout_ends_fast_recovery() {
    let mut sender = ten_in_flight(Flavour::NewReno);
    duplicates(&mut sender, ms(10), 0, 3);
    assert_eq!(drain(&mut sender, ms(10)), [0]);
    sender.on_wake(sender.next_wake());
    assert_eq!(drain(&mut sender, ms(700)), [0]);
    sender.on_ack(ms(710), 1);
    assert_eq!(sender.window(), Bytes::new(2000));
    assert_eq!(drain(&mut sender, ms(710)), [1, 2]);
    let mut sender = ten_in_flight(Flavour::Reno);
    duplicates(&mut sender, ms(10), 0, 2);
    sender.on_wake(sender.next_wake());
    drain(&mut sender, ms(600));
    duplicates(&mut sender, ms(610), 0, 2);
    assert_eq!(sender.stats().fast_retransmits, 0);
    sender.on_ack(ms(611), 0);
    assert_eq!(sender.stats().fast_retransmits, 1);
}

/// Three duplicates ask for segment 0 again; before it goes, all ten are acknowledged, which is all there is to send.
#[test]
fn a_repair_that_is_no_longer_needed_does_not_go() {
    let mut sender = TcpSender::new(&small(Flavour::Reno, 10), Some(10), Bytes::new(MSS));
    drain(&mut sender, ms(0));
    duplicates(&mut sender, ms(10), 0, 3);
    assert!(sender.ready());
    sender.on_ack(ms(11), 10);
    assert_eq!((sender.ready(), sender.next_segment(ms(11)), sender.finished()), (false, None, true));
}

#[test]
fn another_segment_that_expires_lowers_the_threshold() {
    let mut sender = ten_in_flight(Flavour::Reno);
    sender.on_wake(ms(600));
    drain(&mut sender, ms(600));
    for number in 1..=4 {
        sender.on_ack(ms(610), number);
        drain(&mut sender, ms(610));
    }
    // 5 segments from 4 on are in flight: max(2.5, 2).
    assert_eq!(sender.flight(), Bytes::new(5000));
    sender.on_wake(sender.next_wake());
    assert_eq!(sender.threshold(), Bytes::new(2500));
}

#[test]
fn duplicates_of_what_a_timeout_repeats_start_no_recovery_but_renos() {
    for (flavour, recoveries) in [(Flavour::NewReno, 0), (Flavour::Cubic, 0), (Flavour::Bic, 0), (Flavour::Reno, 1)] {
        let mut sender = ten_in_flight(flavour);
        sender.on_wake(ms(600));
        drain(&mut sender, ms(600));
        sender.on_ack(ms(610), 4);
        drain(&mut sender, ms(610));
        duplicates(&mut sender, ms(620), 4, 5);
        assert_eq!(sender.stats().fast_retransmits, recoveries, "{flavour:?}");
    }
}

#[test]
fn the_guard_is_the_flavours_unless_it_is_named() {
    // Segments 0 and 1 are lost, and 1 once more. Eight duplicates: recovery, and 10 to 12 beside segment 0. The
    // repair acknowledges up to 1, and 10 to 12 give three duplicates of 1. A guard stands at 10: what was out when
    // the recovery began. NewReno is still in recovery then.
    for (guard, recoveries) in [(RecoverGuard::ByFlavour, 2), (RecoverGuard::Off, 2), (RecoverGuard::Rfc6582, 1)] {
        let config = Config { recover_guard: guard, ..small(Flavour::Reno, 10) };
        let mut sender = TcpSender::new(&config, None, Bytes::ZERO);
        drain(&mut sender, ms(0));
        duplicates(&mut sender, ms(10), 0, 8);
        assert_eq!(drain(&mut sender, ms(10)), [0, 10, 11, 12]);
        sender.on_ack(ms(20), 1);
        duplicates(&mut sender, ms(20), 1, 3);
        assert_eq!(sender.stats().fast_retransmits, recoveries, "{guard:?}");
    }
    // After a timeout, with 4 to 9 repeated: NewReno has a guard, and none if it is off.
    for (guard, recoveries) in [(RecoverGuard::ByFlavour, 0), (RecoverGuard::Rfc6582, 0), (RecoverGuard::Off, 1)] {
        let config = Config { recover_guard: guard, ..small(Flavour::NewReno, 10) };
        let mut sender = TcpSender::new(&config, None, Bytes::ZERO);
        drain(&mut sender, ms(0));
        sender.on_wake(ms(600));
        drain(&mut sender, ms(600));
        sender.on_ack(ms(610), 4);
        drain(&mut sender, ms(610));
        duplicates(&mut sender, ms(620), 4, 5);
        assert_eq!(sender.stats().fast_retransmits, recoveries, "{guard:?}");
    }
}

#[test]
fn acknowledgements_out_of_place_change_nothing() {
    let mut sender = ten_in_flight(Flavour::Reno);
    sender.on_ack(ms(10), 5);
    let before = sender.clone();
    sender.on_ack(ms(11), 3);
    sender.on_ack(ms(11), 4);
    sender.on_ack(ms(11), 11);
    sender.on_ack(ms(11), u32::MAX);
    sender.on_wake(ms(12));
    assert_eq!(sender, before);
    // With nothing outstanding there are no duplicates.
    sender.on_ack(ms(12), 10);
    let before = sender.clone();
    duplicates(&mut sender, ms(13), 10, 5);
    assert_eq!(sender, before);
    // Nor before what a timeout repeats has gone: the timer is restarted by new data alone (RFC 6298, 5.3).
    drain(&mut sender, ms(14));
    sender.on_wake(sender.next_wake());
    let before = sender.clone();
    sender.on_ack(ms(2000), 10);
    assert_eq!(sender, before);
}

/// RFC 6582, 3.2, step 2: three duplicates start a recovery if their acknowledgement covers more than `recover`, the highest
/// segment sent before the timeout: 9. One of 10 covers 9 and no more, one of 11 covers 10.
#[test]
fn the_guard_covers_all_that_was_sent_before_a_timeout() {
    for (acknowledged, recoveries) in [(10, 0), (11, 1)] {
        let mut sender = ten_in_flight(Flavour::NewReno);
        sender.on_wake(ms(600));
        drain(&mut sender, ms(600));
        (1..=acknowledged).for_each(|number| {
            sender.on_ack(ms(610), number);
            drain(&mut sender, ms(610));
        });
        duplicates(&mut sender, ms(620), acknowledged, 3);
        assert_eq!(sender.stats().fast_retransmits, recoveries);
    }
}

#[test]
fn thresholds_of_the_others() {
    // 10 segments: CUBIC keeps 7, BIC below its low window half, above it seven eighths.
    for (flavour, window, threshold) in
        [(Flavour::Cubic, 10, 7000), (Flavour::Bic, 10, 5000), (Flavour::Bic, 16, 14_000), (Flavour::NewReno, 16, 8000)]
    {
        let mut sender = sender(flavour, window);
        drain(&mut sender, ms(0));
        duplicates(&mut sender, ms(10), 0, 3);
        assert_eq!(sender.threshold(), Bytes::new(threshold), "{flavour:?}");
    }
}
