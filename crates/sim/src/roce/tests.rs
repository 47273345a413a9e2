//! Hand-worked exchanges, and both ends over links that lose packets.

use super::*;
use crate::testing::queue_pair as config;
use proptest::prelude::*;
use qcnlab_schemes::LossSign;
use qcnlab_units::Instant;

fn us(n: u64) -> Instant {
    Instant::ZERO + Span::from_us(n)
}

fn numbers(sender: &mut QpSender, at: Instant) -> Vec<u32> {
    std::iter::from_fn(|| sender.next_packet(at)).map(|packet| packet.number).collect()
}

/// 2500 octets are packets of 1000, 1000 and 500.
#[test]
fn the_last_packet_may_be_shorter() {
    let mut sender = QpSender::new(&config(QpRecovery::GoBackN), Some(Bytes::new(2500)));
    let sizes: Vec<u64> = std::iter::from_fn(|| sender.next_packet(us(0))).map(|packet| packet.payload.get()).collect();
    assert_eq!((sizes, sender.in_flight()), (vec![1000, 1000, 500], 2500));
    assert_eq!(sender.on_ack(us(1), 2), Bytes::new(2000));
    assert_eq!((sender.in_flight(), sender.sent(), sender.finished()), (500, Bytes::new(2500), false));
    assert_eq!(sender.on_ack(us(2), 3), Bytes::new(500));
    assert!(sender.finished() && sender.next_wake() == Instant::NEVER);
}

/// While fewer octets than the window are in flight a packet may go: 2500 lets three go.
#[test]
fn a_window_bounds_what_is_in_flight() {
    let mut sender = QpSender::new(&config(QpRecovery::GoBackN), None);
    sender.permit(Some(Bytes::new(2500)));
    assert_eq!(numbers(&mut sender, us(0)), [0, 1, 2]);
    assert_eq!(sender.on_ack(us(1), 1), Bytes::new(1000));
    assert_eq!(numbers(&mut sender, us(1)), [3]);
    sender.permit(Some(Bytes::new(1)));
    sender.on_ack(us(2), 3);
    assert!(!sender.ready(), "1000 octets are in flight");
    sender.on_ack(us(3), 4);
    assert_eq!(numbers(&mut sender, us(3)), [4], "one packet, however small the window");
}

/// Packet 2 of 0 to 5 is lost: the receiver drops 3 to 5 and says once that it misses 2; all from there go again.
#[test]
fn go_back_n_repeats_from_the_lost_packet() {
    let config = config(QpRecovery::GoBackN);
    let mut sender = QpSender::new(&config, Some(Bytes::new(6000)));
    let mut receiver = QpReceiver::new(&config, 6);
    assert_eq!(numbers(&mut sender, us(0)), [0, 1, 2, 3, 4, 5]);
    let replies: Vec<Reply> = [0, 1, 3, 4, 5].into_iter().map(|number| receiver.on_packet(us(5), number)).collect();
    assert_eq!(replies, [Reply::Ack, Reply::Ack, Reply::Nack(None), Reply::Nothing, Reply::Nothing]);
    assert_eq!(sender.on_nack(us(10), 2, None), Bytes::new(2000));
    assert_eq!(numbers(&mut sender, us(10)), [2, 3, 4, 5]);
    // Six at first and four again.
    assert_eq!((sender.stats().packets, sender.stats().retransmitted, sender.stats().nacks), (10, 4, 1));
    // It is said again after 500 us, or at once about another packet.
    assert_eq!(receiver.on_packet(us(504), 5), Reply::Nothing);
    assert_eq!(receiver.on_packet(us(505), 5), Reply::Nack(None));
    assert_eq!(receiver.on_packet(us(506), 2), Reply::Ack);
    assert_eq!(receiver.on_packet(us(506), 4), Reply::Nack(None));
}

/// Packets 1 and 3 of 0 to 5 are lost. That 1 came is known before 3 has gone again: 3 goes all the same. What is known
/// of the next losses, of 6 and 8, stands by itself.
#[test]
fn an_acknowledgement_of_one_repair_leaves_the_next_due() {
    let config = config(QpRecovery::SelectiveRepeat);
    let mut sender = QpSender::new(&config, Some(Bytes::new(12_000)));
    sender.permit(Some(Bytes::new(6000)));
    assert_eq!(numbers(&mut sender, us(0)), [0, 1, 2, 3, 4, 5]);
    sender.permit(Some(Bytes::new(1)));
    sender.on_nack(us(10), 1, Some(2));
    assert_eq!(numbers(&mut sender, us(10)), [1]);
    sender.on_nack(us(20), 1, Some(4));
    assert_eq!(sender.on_ack(us(20), 3), Bytes::new(2000));
    assert_eq!(numbers(&mut sender, us(20)), [3]);
    // All six have come: nothing is to be repaired, and four more fill a window of 4000 octets.
    sender.on_ack(us(30), 6);
    assert!(!sender.ready() || sender.in_flight() == 0, "{} octets in flight", sender.in_flight());
    sender.permit(Some(Bytes::new(4000)));
    assert_eq!(numbers(&mut sender, us(30)), [6, 7, 8, 9]);
    sender.permit(Some(Bytes::new(1)));
    sender.on_nack(us(40), 6, Some(7));
    assert_eq!(numbers(&mut sender, us(40)), [6]);
    sender.on_nack(us(41), 6, Some(9));
    assert_eq!(numbers(&mut sender, us(41)), [8]);
}

/// Packets 1 and 3 of 0 to 5 are lost: each later one says what came, and each lost one goes again once.
#[test]
fn selective_repeat_repeats_the_lost_packets_alone() {
    let config = config(QpRecovery::SelectiveRepeat);
    let mut sender = QpSender::new(&config, Some(Bytes::new(7000)));
    let mut receiver = QpReceiver::new(&config, 7);
    sender.permit(Some(Bytes::new(6000)));
    assert_eq!(numbers(&mut sender, us(0)), [0, 1, 2, 3, 4, 5]);
    assert_eq!(receiver.on_packet(us(5), 0), Reply::Ack);
    assert_eq!(receiver.on_packet(us(5), 2), Reply::Nack(Some(2)));
    sender.on_ack(us(10), 1);
    sender.on_nack(us(10), 1, Some(2));
    assert_eq!(numbers(&mut sender, us(10)), [1, 6], "the lost one first, then one more for packet 0");
    assert_eq!(receiver.on_packet(us(15), 4), Reply::Nack(Some(4)));
    sender.on_nack(us(20), 1, Some(4));
    assert_eq!(numbers(&mut sender, us(20)), [3], "not 1 again");
    assert_eq!(receiver.on_packet(us(25), 1), Reply::Ack);
    assert_eq!(receiver.next_expected(), 3);
    assert_eq!(receiver.on_packet(us(25), 3), Reply::Ack);
    assert_eq!(receiver.next_expected(), 5);
    assert_eq!(sender.on_ack(us(30), 5), Bytes::new(4000));
}

/// A selective repeat that takes a packet for lost when so many have overtaken it, after a wait in microseconds.
fn tolerant(threshold: u32, wait: u64) -> QpConfig {
    QpConfig {
        reordering_threshold: threshold,
        reordering_window: Span::from_us(wait),
        ..config(QpRecovery::SelectiveRepeat)
    }
}

/// Hands packets to a receiver in this order, and each answer to the sender at once; returns what goes again.
fn hand_over(sender: &mut QpSender, receiver: &mut QpReceiver, at: Instant, order: &[u32]) -> Vec<u32> {
    for number in order {
        match receiver.on_packet(at, *number) {
            Reply::Nack(here) => sender.on_nack(at, receiver.next_expected(), here),
            Reply::Ack => sender.on_ack(at, receiver.next_expected()),
            reply => panic!("{reply:?}"),
        };
    }
    numbers(sender, at)
}

/// Of 0 to 7, 1 comes after 2, 3 and 4: three packets have overtaken it. With a threshold of four nothing goes again; with one of three
/// 1 does, without need, since it comes twice. With one of one it goes when 2 is there.
#[test]
fn a_packet_that_was_overtaken_is_not_lost_yet() {
    let run = |threshold, order: &[u32]| {
        let config = tolerant(threshold, 0);
        let (mut sender, mut receiver) = (QpSender::new(&config, Some(Bytes::new(8000))), QpReceiver::new(&config, 8));
        assert_eq!(numbers(&mut sender, us(0)).len(), 8);
        let again = hand_over(&mut sender, &mut receiver, us(5), order);
        for number in &again {
            let _ = receiver.on_packet(us(10), *number);
        }
        let seen = receiver.stats();
        (again, seen.duplicates, seen.most_kept, sender.infers_loss())
    };
    assert_eq!(run(4, &[0, 2, 3, 4, 1, 5, 6, 7]), (vec![], 0, 3, false));
    // 1 is no longer missing when the sender may send again: what it took for lost has come by itself.
    assert_eq!(run(3, &[0, 2, 3, 4, 1, 5, 6, 7]), (vec![], 0, 3, true));
    assert_eq!(run(3, &[0, 2, 3, 4]), (vec![1], 0, 3, true));
    assert_eq!(run(4, &[0, 2, 3, 4]), (vec![], 0, 3, false));
    assert_eq!(run(1, &[0, 2]), (vec![1], 0, 1, true));
    // As many distances as the threshold, but fewer packets: 5 alone is beyond 1 with 2 to 4 on the way.
    assert_eq!(run(4, &[0, 5]), (vec![], 0, 1, false));
}

/// 1 goes again because 2 to 4 overtook it, and then comes twice: once is without need.
#[test]
fn a_packet_that_comes_twice_was_sent_without_need() {
    for threshold in [1, 3] {
        let config = tolerant(threshold, 0);
        let (mut sender, mut receiver) = (QpSender::new(&config, Some(Bytes::new(5000))), QpReceiver::new(&config, 5));
        assert_eq!(numbers(&mut sender, us(0)).len(), 5);
        assert_eq!(hand_over(&mut sender, &mut receiver, us(5), &[0, 2, 3, 4]), [1]);
        assert!(hand_over(&mut sender, &mut receiver, us(6), &[1]).is_empty() && receiver.finished());
        assert_eq!(receiver.on_packet(us(7), 1), Reply::Ack);
        assert_eq!((sender.stats().retransmitted, receiver.stats().duplicates), (1, 1));
    }
}

/// Packets 1 and 5 of 0 to 9 are lost and 3 is late, behind 4 and 6, with a threshold of three: 1 goes when 2, 4 and 6 are
/// there, 3 by itself comes in time, 5 goes when 6, 7 and 8 are there. A second recovery is not needed.
#[test]
fn loss_and_reordering_are_told_apart() {
    let config = tolerant(3, 0);
    let (mut sender, mut receiver) = (QpSender::new(&config, Some(Bytes::new(10_000))), QpReceiver::new(&config, 10));
    assert_eq!(numbers(&mut sender, us(0)).len(), 10);
    assert!(hand_over(&mut sender, &mut receiver, us(5), &[0, 2, 4]).is_empty());
    assert_eq!(hand_over(&mut sender, &mut receiver, us(6), &[6]), [1]);
    assert!(hand_over(&mut sender, &mut receiver, us(7), &[3, 7]).is_empty());
    assert_eq!(hand_over(&mut sender, &mut receiver, us(8), &[8]), [5]);
    assert!(hand_over(&mut sender, &mut receiver, us(9), &[9, 1, 5]).is_empty());
    assert!(sender.finished() && receiver.finished());
    assert_eq!((sender.stats().retransmitted, receiver.stats().duplicates, sender.stats().timeouts), (2, 0, 0));
}

/// Two packets overtake the lost one and the threshold is three, or eight in a message of four: nothing but the timeout
/// repairs it, 320 us after the last progress. So it is with the last packet of a message, whatever the threshold.
#[test]
fn what_too_few_can_overtake_waits_for_the_timeout() {
    for (threshold, lost) in [(3, 1), (8, 0), (1, 3), (3, 3)] {
        let config = tolerant(threshold, 0);
        let (mut sender, mut receiver) = (QpSender::new(&config, Some(Bytes::new(4000))), QpReceiver::new(&config, 4));
        assert_eq!(numbers(&mut sender, us(0)).len(), 4);
        let here: Vec<u32> = (0..4).filter(|number| *number != lost).collect();
        assert!(hand_over(&mut sender, &mut receiver, us(5), &here).is_empty(), "{threshold} {lost}");
        let due = if lost == 0 { 320 } else { 325 };
        assert_eq!([due - 1, due].map(|at| sender.on_wake(us(at))), [None, Some(LossSign::Timeout)]);
        assert_eq!(numbers(&mut sender, us(due)), [lost]);
    }
}

/// 1 of 0 to 5 is missed from 5 us on, and waited for until 12 us; 3 is missed from 6 us on, and waited for until 13 us.
/// 1 comes at 11 us, and 3 goes again at 13 us.
#[test]
fn a_packet_that_was_overtaken_is_waited_for() {
    let config = tolerant(1, 7);
    let (mut sender, mut receiver) = (QpSender::new(&config, Some(Bytes::new(6000))), QpReceiver::new(&config, 6));
    assert_eq!(numbers(&mut sender, us(0)).len(), 6);
    assert!(hand_over(&mut sender, &mut receiver, us(5), &[0, 2]).is_empty() && !sender.infers_loss());
    assert_eq!(sender.next_wake(), us(12));
    assert!(hand_over(&mut sender, &mut receiver, us(6), &[4]).is_empty());
    assert!(hand_over(&mut sender, &mut receiver, us(11), &[1]).is_empty());
    assert_eq!((sender.on_wake(us(12)), sender.next_wake()), (None, us(13)));
    assert_eq!((sender.on_wake(us(13)), numbers(&mut sender, us(13))), (Some(LossSign::Gap), vec![3]));
    assert_eq!(sender.next_wake(), us(331), "the timeout, 320 us after 1 came");
    // Of what has all come nothing is waited for.
    assert!(hand_over(&mut sender, &mut receiver, us(14), &[5, 3]).is_empty());
    assert_eq!((sender.finished(), sender.next_wake()), (true, Instant::NEVER));
    // An answer that comes when the time is over says itself that 1 is lost.
    let (mut sender, mut receiver) = (QpSender::new(&config, Some(Bytes::new(6000))), QpReceiver::new(&config, 6));
    assert_eq!(numbers(&mut sender, us(0)).len(), 6);
    assert!(hand_over(&mut sender, &mut receiver, us(5), &[0, 2]).is_empty());
    assert_eq!((hand_over(&mut sender, &mut receiver, us(12), &[3]), sender.infers_loss()), (vec![1], true));
}

/// Go-back-N that keeps two packets out of order and misses one for 20 us: 1 is late, and all three go on with it. Missed for
/// 20 us, or with a third that finds no room, it says so, and what goes again and was kept has come without need.
#[test]
fn go_back_n_with_a_reorder_buffer_waits() {
    let config = QpConfig { reorder_buffer: 2, reorder_wait: Span::from_us(20), ..config(QpRecovery::GoBackN) };
    let start = || {
        let mut sender = QpSender::new(&config, Some(Bytes::new(6000)));
        assert_eq!(numbers(&mut sender, us(0)).len(), 6);
        let mut receiver = QpReceiver::new(&config, 6);
        let replies = [0, 2, 3].map(|number| receiver.on_packet(us(5), number));
        assert_eq!(replies, [Reply::Ack, Reply::Nothing, Reply::Nothing]);
        assert_eq!(receiver.next_wake(), us(25));
        (sender, receiver)
    };
    let (_, mut receiver) = start();
    assert_eq!((receiver.on_packet(us(24), 1), receiver.next_expected()), (Reply::Ack, 4));
    assert_eq!((receiver.next_wake(), receiver.on_wake(us(25), true)), (Instant::NEVER, Reply::Nothing));
    assert_eq!(receiver.stats(), ReceiverStats { duplicates: 0, most_kept: 2 });

    let (mut sender, mut receiver) = start();
    assert_eq!([24, 25].map(|at| receiver.on_wake(us(at), true)), [Reply::Nothing, Reply::Nack(None)]);
    sender.on_nack(us(30), receiver.next_expected(), None);
    assert_eq!(numbers(&mut sender, us(30)), [1, 2, 3, 4, 5]);
    let replies = [1, 2, 3, 4, 5].map(|number| receiver.on_packet(us(35), number));
    assert_eq!((replies, receiver.finished()), ([Reply::Ack; 5], true));
    assert_eq!(receiver.stats(), ReceiverStats { duplicates: 2, most_kept: 2 });

    // Nothing is there to answer when the time is over: the next packet is answered so.
    let (_, mut receiver) = start();
    assert_eq!((receiver.on_wake(us(25), false), receiver.next_wake()), (Reply::Nothing, Instant::NEVER));
    assert_eq!([2, 3].map(|number| receiver.on_packet(us(26), number)), [Reply::Nack(None), Reply::Nothing]);

    // The third packet finds no room, and is dropped; 3 again is here already and says nothing.
    let (_, mut receiver) = start();
    assert_eq!([3, 4].map(|number| receiver.on_packet(us(6), number)), [Reply::Nothing, Reply::Nack(None)]);
    assert_eq!((receiver.on_packet(us(7), 1), receiver.next_expected()), (Reply::Ack, 4));
    assert_eq!(receiver.stats(), ReceiverStats { duplicates: 1, most_kept: 2 });
}

/// Packet 2 of 0 to 5 is cut: its head overtakes 1, and it goes again once, although 3 says later that it is missing.
#[test]
fn a_packet_that_was_cut_goes_again_once() {
    let config = config(QpRecovery::SelectiveRepeat);
    let mut sender = QpSender::new(&config, Some(Bytes::new(7000)));
    let mut receiver = QpReceiver::new(&config, 7);
    sender.permit(Some(Bytes::new(6000)));
    assert_eq!(numbers(&mut sender, us(0)), [0, 1, 2, 3, 4, 5]);
    assert_eq!(receiver.on_packet(us(5), 0), Reply::Ack);
    assert_eq!(receiver.on_head(us(5), 2), Reply::Trimmed(2));
    assert_eq!(sender.on_trimmed(us(10), 1, 2), Bytes::new(1000));
    assert_eq!(numbers(&mut sender, us(10)), [2, 6]);
    assert_eq!(receiver.on_packet(us(6), 1), Reply::Ack);
    assert_eq!(receiver.on_packet(us(6), 3), Reply::Nack(Some(3)));
    sender.on_nack(us(11), 2, Some(3));
    assert!(numbers(&mut sender, us(11)).is_empty());
    assert_eq!(receiver.on_packet(us(15), 2), Reply::Ack);
    assert_eq!((receiver.next_expected(), receiver.on_head(us(15), 2)), (4, Reply::Ack));
    assert_eq!((sender.stats().trimmed, sender.stats().retransmitted, sender.payload_of(6)), (1, 1, Bytes::new(1000)));
}

/// Go-back-N goes back to what is missing, once for several heads.
#[test]
fn go_back_n_goes_back_to_a_packet_that_was_cut() {
    let config = config(QpRecovery::GoBackN);
    let mut sender = QpSender::new(&config, Some(Bytes::new(4000)));
    let mut receiver = QpReceiver::new(&config, 4);
    assert_eq!(numbers(&mut sender, us(0)), [0, 1, 2, 3]);
    assert_eq!(receiver.on_packet(us(5), 0), Reply::Ack);
    assert_eq!([2, 3].map(|cut| receiver.on_head(us(5), cut)), [Reply::Trimmed(2), Reply::Ack]);
    sender.on_trimmed(us(10), 1, 2);
    assert_eq!(numbers(&mut sender, us(10)), [1, 2, 3]);
    // Packet 1 is still missing after 500 us: it is said again, and for as long.
    assert_eq!([504, 505, 1004].map(|at| receiver.on_head(us(at), 3)), [Reply::Ack, Reply::Trimmed(3), Reply::Ack]);
}

/// Packet 2 of 0 to 5 is cut, and then all up to 3 have come before it has gone again: it does not go.
#[test]
fn a_packet_that_was_cut_and_has_come_does_not_go_again() {
    let mut sender = QpSender::new(&config(QpRecovery::SelectiveRepeat), Some(Bytes::new(6000)));
    assert_eq!(numbers(&mut sender, us(0)), [0, 1, 2, 3, 4, 5]);
    sender.on_trimmed(us(10), 1, 2);
    assert!(sender.ready());
    sender.on_ack(us(11), 4);
    assert!(!sender.ready());
    assert!(numbers(&mut sender, us(11)).is_empty());
}

/// 0 is lost for good, and of 1 to 29 999 all but every third are cut and go again, some of them twice, while answers say
/// that every third came. Nothing but 0 is left to repair, and each packet costs the same: a search through all that went
/// again, for each of them, would take hours.
#[test]
fn many_cut_packets_cost_no_more_each_than_a_few() {
    const PACKETS: u32 = 30_000;
    let began = std::time::Instant::now();
    let mut sender = QpSender::new(&config(QpRecovery::SelectiveRepeat), Some(Bytes::new(u64::from(PACKETS) * 1000)));
    assert_eq!(numbers(&mut sender, us(0)).len(), PACKETS as usize);
    let mut again = 0;
    for number in 1..PACKETS {
        if number % 3 == 0 {
            sender.on_nack(us(10), 0, Some(number));
        } else {
            sender.on_trimmed(us(10), 0, number);
            again += 1;
            if number % 7 == 0 {
                assert_eq!(sender.next_packet(us(10)).map(|packet| packet.number), Some(number));
                sender.on_trimmed(us(10), 0, number);
                again += 1;
            }
        }
        let sent = numbers(&mut sender, us(10));
        let first = if number == 3 { Some(0) } else { (number % 3 != 0).then_some(number) };
        assert_eq!(sent, Vec::from_iter(first));
        assert!(began.elapsed().as_secs() < 60, "{number} packets take a minute");
    }
    assert_eq!(sender.stats().retransmitted, again + 1);
    // 0 comes at last, with all up to 20 000: 20 000 was cut again, and goes; 20 002 goes after it.
    sender.on_trimmed(us(20), 0, 19_999);
    sender.on_trimmed(us(20), 0, 20_000);
    sender.on_trimmed(us(20), 0, 20_002);
    sender.on_ack(us(21), 20_000);
    assert_eq!(numbers(&mut sender, us(21)), [20_000, 20_002]);
    // After a timeout all goes again that is not known to have come.
    assert_eq!(sender.on_wake(us(1000)), Some(LossSign::Timeout));
    let all = numbers(&mut sender, us(1000));
    assert_eq!(all, (20_000..PACKETS).filter(|number| number % 3 != 0).collect::<Vec<_>>());
}

/// Packets 1 and 2 of 0 to 3 are cut. 1 goes again and is lost, 2 waits; a timeout repeats all that is missing, in order.
#[test]
fn a_timeout_repeats_what_was_cut_and_has_gone_again() {
    let mut sender = QpSender::new(&config(QpRecovery::SelectiveRepeat), Some(Bytes::new(4000)));
    assert_eq!(numbers(&mut sender, us(0)), [0, 1, 2, 3]);
    sender.on_trimmed(us(10), 1, 1);
    assert_eq!(numbers(&mut sender, us(10)), [1]);
    sender.on_trimmed(us(11), 1, 2);
    assert_eq!(sender.on_wake(us(330)), Some(LossSign::Timeout));
    assert_eq!(numbers(&mut sender, us(330)), [1, 2, 3]);
}

/// A timeout goes back to 0 although only acknowledgements were late: that of 0 to 2 leaves 3 to go again.
#[test]
fn a_late_acknowledgement_takes_a_sender_forward_again() {
    let mut sender = QpSender::new(&config(QpRecovery::GoBackN), Some(Bytes::new(4000)));
    assert_eq!(numbers(&mut sender, us(0)), [0, 1, 2, 3]);
    assert_eq!(sender.on_wake(us(320)), Some(LossSign::Timeout));
    assert_eq!(sender.on_ack(us(321), 3), Bytes::new(3000));
    assert_eq!((numbers(&mut sender, us(321)), sender.in_flight()), (vec![3], 1000));
}

/// Of 0 to 5 up to 2 are acknowledged. What a receiver said when it missed 1, on a longer way, is old: nothing below 3 goes
/// again, and 3000 octets are in flight. So is that 1 was cut; and 9 was never sent.
#[test]
fn old_answers_repeat_nothing() {
    for recovery in [QpRecovery::GoBackN, QpRecovery::SelectiveRepeat] {
        let mut sender = QpSender::new(&config(recovery), Some(Bytes::new(6000)));
        assert_eq!(numbers(&mut sender, us(0)), [0, 1, 2, 3, 4, 5]);
        assert_eq!(sender.on_ack(us(10), 3), Bytes::new(3000));
        assert_eq!(sender.on_nack(us(11), 1, Some(2)), Bytes::ZERO);
        assert_eq!([(3, 1), (3, 9)].map(|(expected, cut)| sender.on_trimmed(us(12), expected, cut)), [Bytes::ZERO; 2]);
        assert_eq!((numbers(&mut sender, us(12)), sender.in_flight()), (vec![], 3000), "{recovery:?}");
    }
    // Nor is 6, which was never sent, taken for here: 6000 octets are acknowledged with 0 to 5.
    let mut sender = QpSender::new(&config(QpRecovery::SelectiveRepeat), None);
    sender.permit(Some(Bytes::new(6000)));
    assert_eq!(numbers(&mut sender, us(0)), [0, 1, 2, 3, 4, 5]);
    sender.on_nack(us(10), 1, Some(6));
    sender.on_ack(us(11), 6);
    assert_eq!(sender.acknowledged(), Bytes::new(6000));
    // Go-back-N goes back to nothing that is acknowledged, though 4 is missing.
    let mut sender = QpSender::new(&config(QpRecovery::GoBackN), Some(Bytes::new(6000)));
    assert_eq!(numbers(&mut sender, us(0)), [0, 1, 2, 3, 4, 5]);
    sender.on_ack(us(10), 3);
    sender.on_trimmed(us(11), 1, 4);
    assert_eq!((numbers(&mut sender, us(11)), sender.in_flight()), (vec![], 3000));
}

/// 0 and 1 are acknowledged; that 4 came was said when 1 was missing, and is heard later: 2 and 3 are taken for lost, not 4. With a
/// threshold of two it counts as one of those that overtook 2.
#[test]
fn an_old_answer_still_tells_what_came() {
    for (threshold, first, both) in [(1, vec![2, 3], vec![]), (2, vec![], vec![2, 3])] {
        let mut sender = QpSender::new(&tolerant(threshold, 0), Some(Bytes::new(6000)));
        assert_eq!(numbers(&mut sender, us(0)).len(), 6);
        assert_eq!(sender.on_ack(us(10), 2), Bytes::new(2000));
        assert_eq!(sender.on_nack(us(11), 1, Some(4)), Bytes::ZERO);
        assert_eq!(numbers(&mut sender, us(11)), first);
        assert_eq!(sender.on_nack(us(12), 2, Some(5)), Bytes::ZERO);
        assert_eq!(numbers(&mut sender, us(12)), both);
    }
}

/// Its own window is 4000 octets: a scheme may permit less, not more.
#[test]
fn the_window_is_the_smaller_of_two() {
    let windows = |own: Option<u64>| {
        let mut sender = QpSender::new(&QpConfig { window: own.map(Bytes::new), ..config(QpRecovery::GoBackN) }, None);
        [None, Some(2500), Some(9000)].map(|permitted| {
            sender.permit(permitted.map(Bytes::new));
            assert_eq!(sender.is_unbounded(), sender.window().is_none());
            sender.window().map(Bytes::get)
        })
    };
    assert_eq!(windows(Some(4000)), [Some(4000), Some(2500), Some(4000)]);
    assert_eq!(windows(None), [None, Some(2500), Some(9000)]);
}

/// The last packet is lost: nothing tells of it, and 320 us after the last progress it goes again.
#[test]
fn a_lost_last_packet_does_not_hang() {
    for recovery in [QpRecovery::GoBackN, QpRecovery::SelectiveRepeat] {
        let mut sender = QpSender::new(&config(recovery), Some(Bytes::new(2000)));
        assert_eq!(numbers(&mut sender, us(0)), [0, 1]);
        sender.on_ack(us(10), 1);
        assert_eq!(sender.next_wake(), us(330));
        assert_eq!([329, 330].map(|at| sender.on_wake(us(at))), [None, Some(LossSign::Timeout)]);
        assert_eq!(numbers(&mut sender, us(330)), [1]);
        assert_eq!((sender.stats().timeouts, sender.stats().retransmitted), (1, 1));
        assert_eq!(sender.next_wake(), us(650));
    }
}

/// IRN: with three packets or fewer in flight the timeout is the short one, 100 us; with four it is 320 us.
#[test]
fn few_packets_have_a_short_timeout() {
    let mut sender =
        QpSender::new(&QpConfig { rto_low_packets: 3, ..config(QpRecovery::SelectiveRepeat) }, Some(Bytes::new(5000)));
    assert_eq!(numbers(&mut sender, us(0)), [0, 1, 2, 3, 4]);
    sender.on_ack(us(10), 1);
    assert_eq!(sender.next_wake(), us(330));
    sender.on_ack(us(20), 2);
    assert_eq!(sender.next_wake(), us(120));
}

/// The time runs from the first packet that is not answered: the second does not put it off.
#[test]
fn a_held_acknowledgement_goes_in_time_for_the_first_packet() {
    let mut receiver = QpReceiver::new(&QpConfig { ack_every: 4, ..config(QpRecovery::GoBackN) }, 10);
    for (at, number) in [(2, 0), (7, 1)] {
        assert_eq!((receiver.on_packet(us(at), number), receiver.next_wake()), (Reply::Nothing, us(12)));
    }
}

/// One answer for four packets. Packet 0 comes again: that is answered at once and not counted, so the next answer is for
/// 1 to 4.
#[test]
fn a_packet_that_comes_twice_is_answered_at_once() {
    let mut receiver = QpReceiver::new(&QpConfig { ack_every: 4, ..config(QpRecovery::GoBackN) }, 10);
    let replies = [0, 0, 1, 2, 3, 4].map(|number| receiver.on_packet(us(1), number));
    let nothing = Reply::Nothing;
    assert_eq!(replies, [nothing, Reply::Ack, nothing, nothing, nothing, Reply::Ack]);
}

/// One answer for four packets. That 1 is missing answers packet 0 too: nothing is held back then, and the
/// next answer is for 1 to 4.
#[test]
fn a_negative_acknowledgement_answers_what_was_held_back() {
    for recovery in [QpRecovery::GoBackN, QpRecovery::SelectiveRepeat] {
        let mut receiver = QpReceiver::new(&QpConfig { ack_every: 4, ..config(recovery) }, 10);
        assert_eq!((receiver.on_packet(us(1), 0), receiver.next_wake()), (Reply::Nothing, us(11)));
        let here = (recovery == QpRecovery::SelectiveRepeat).then_some(2);
        assert_eq!(receiver.on_packet(us(2), 2), Reply::Nack(here));
        assert_eq!((receiver.next_wake(), receiver.on_wake(us(11), true)), (Instant::NEVER, Reply::Nothing));
        // So does that 3 was cut.
        let mut receiver = QpReceiver::new(&QpConfig { ack_every: 4, ..config(recovery) }, 10);
        assert_eq!((receiver.on_packet(us(1), 0), receiver.next_wake()), (Reply::Nothing, us(11)));
        assert_eq!((receiver.on_head(us(2), 3), receiver.next_wake()), (Reply::Trimmed(3), Instant::NEVER));
    }
    let mut receiver = QpReceiver::new(&QpConfig { ack_every: 4, ..config(QpRecovery::GoBackN) }, 10);
    let replies = [0, 2, 1, 2, 3, 4].map(|number| receiver.on_packet(us(1), number));
    let nothing = Reply::Nothing;
    assert_eq!(replies, [nothing, Reply::Nack(None), nothing, nothing, nothing, Reply::Ack]);
}

/// One acknowledgement for four packets, for fewer after 10 us, and for the last of the message at once.
#[test]
fn acknowledgements_are_coalesced() {
    let mut receiver = QpReceiver::new(&QpConfig { ack_every: 4, ..config(QpRecovery::GoBackN) }, 10);
    let replies: Vec<Reply> = (0..4).map(|number| receiver.on_packet(us(1), number)).collect();
    assert_eq!(replies, [Reply::Nothing, Reply::Nothing, Reply::Nothing, Reply::Ack]);
    assert_eq!(receiver.on_packet(us(2), 4), Reply::Nothing);
    assert_eq!(receiver.next_wake(), us(12));
    let woken = [11, 12, 13].map(|at| receiver.on_wake(us(at), true));
    assert_eq!(woken, [Reply::Nothing, Reply::Ack, Reply::Nothing]);
    assert_eq!((5..9).map(|number| receiver.on_packet(us(20), number)).last(), Some(Reply::Ack));
    assert_eq!(receiver.on_packet(us(20), 9), Reply::Ack);
    assert!(receiver.finished());
    // A packet that comes twice is acknowledged: its acknowledgement may have been lost.
    assert_eq!(receiver.on_packet(us(30), 9), Reply::Ack);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Whatever is lost in either direction, a message arrives whole, in order and completes.
    #[test]
    fn every_message_completes(
        lost in prop::collection::vec(prop::bool::weighted(0.2), 1..200),
        octets in 1..40_000u64,
        window in 1..20_000u64,
        every in 1..5u32,
        selective in any::<bool>(),
        threshold in 1..9u32,
        patience in 0..40u64,
        room in 0..9u32,
        swapped in any::<bool>(),
    ) {
        let recovery = if selective { QpRecovery::SelectiveRepeat } else { QpRecovery::GoBackN };
        let config = QpConfig {
            ack_every: every,
            window: Some(Bytes::new(window)),
            reordering_threshold: threshold,
            reordering_window: Span::from_us(patience),
            reorder_buffer: room,
            reorder_wait: Span::from_us(patience),
            ..config(recovery)
        };
        let mut sender = QpSender::new(&config, Some(Bytes::new(octets)));
        let mut receiver = QpReceiver::new(&config, sender.packets());
        let mut draws = lost.iter().copied().chain(std::iter::repeat(false));
        let mut loses = move || draws.next().unwrap_or(false);
        let mut acknowledged = 0;
        let mut sent_and_came: u64 = 0;
        let mut now = us(0);
        for _ in 0..5000 {
            if sender.finished() {
                break;
            }
            now += Span::from_us(7);
            let mut replies = Vec::new();
            let mut packets: Vec<u32> = std::iter::from_fn(|| sender.next_packet(now)).map(|sent| sent.number).collect();
            if swapped {
                packets.reverse();
            }
            for number in packets {
                if !loses() {
                    sent_and_came += 1;
                    replies.push((receiver.on_packet(now, number), receiver.next_expected()));
                }
            }
            replies.push((receiver.on_wake(now, true), receiver.next_expected()));
            for (reply, expected) in replies {
                acknowledged += match reply {
                    _ if loses() => 0,
                    Reply::Nothing => 0,
                    Reply::Ack => sender.on_ack(now, expected).get(),
                    Reply::Nack(here) => sender.on_nack(now, expected, here).get(),
                    Reply::Trimmed(_) => unreachable!("nothing is cut"),
                };
            }
            let _ = sender.on_wake(now);
        }
        prop_assert!(sender.finished() && receiver.finished());
        prop_assert_eq!((acknowledged, sender.acknowledged(), sender.in_flight()), (octets, Bytes::new(octets), 0));
        // What came more than once was sent without need; go-back-N also drops what it has no room for.
        let once = u64::from(sender.packets());
        let seen = receiver.stats();
        prop_assert!(seen.duplicates + once <= sent_and_came);
        if selective {
            prop_assert_eq!(seen.duplicates + once, sent_and_came);
        } else {
            prop_assert!(seen.most_kept <= room);
        }
    }
}

/// 1 is missing; 2, 3 and the last, of 500 octets, are here.
#[test]
fn what_arrived_beyond_a_hole_is_counted_in_octets() {
    let config = config(QpRecovery::SelectiveRepeat);
    let mut sender = QpSender::new(&config, Some(Bytes::new(5500)));
    assert_eq!(numbers(&mut sender, us(0)), [0, 1, 2, 3, 4, 5]);
    assert_eq!((sender.on_ack(us(1), 1), sender.early()), (Bytes::new(1000), Bytes::ZERO));
    for (here, early) in [(2, 1000), (3, 2000), (2, 2000), (5, 2500)] {
        sender.on_nack(us(2), 1, Some(here));
        assert_eq!(sender.early(), Bytes::new(early));
    }
    sender.on_ack(us(3), 4);
    assert_eq!(sender.early(), Bytes::new(500));
    sender.on_ack(us(4), 6);
    assert_eq!(sender.early(), Bytes::ZERO);
}

/// By credit of 2500 octets three packets of 1000 go: the third starts while less was sent. Each 1000 more is one more, and a
/// repeat of what was cut takes its share.
#[test]
fn packets_and_repeats_take_credit() {
    let mut sender = QpSender::new(&config(QpRecovery::SelectiveRepeat), Some(Bytes::new(10_000)));
    assert_eq!(sender.total(), Some(Bytes::new(10_000)));
    sender.credit(Bytes::new(2500));
    let sent = |sender: &mut QpSender| -> Vec<u32> {
        std::iter::from_fn(|| sender.ready().then(|| sender.next_packet(us(1)).expect("it is ready").number)).collect()
    };
    assert_eq!(sent(&mut sender), [0, 1, 2]);
    sender.on_trimmed(us(2), 1, 1);
    assert_eq!(sent(&mut sender), [], "a repeat waits for credit, too");
    sender.credit(Bytes::new(4500));
    assert_eq!(sent(&mut sender), [1, 3]);
}
