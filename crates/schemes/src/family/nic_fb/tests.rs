//! Hand-worked numbers.

use super::*;
use crate::testing::{Fabric, LINE, dice, frame, ms, queue, us};

const EXACT: NicFbRpParams = NicFbRpParams { jitter_width: 0.0, ..RP_DECK002 };

fn message(cp: u32, len: u64) -> Signal {
    Signal::QueueLen(QueueLen { cp: CpId(cp), len: Bytes::new(len), arrived: Bytes::new(1248) })
}

/// Messages until the rate falls; `None` when 1000 do not make it.
fn messages_to_a_cut(rp: &mut NicFbRp, cp: u32, len: u64) -> Option<u32> {
    let before = rp.gauge().current_rate;
    (1..=1000).find(|_| {
        rp.on_signal(us(1), &message(cp, len), &mut dice());
        rp.gauge().current_rate != before
    })
}

/// Frames of 312 octets: four make 1248, the first multiple past 1000.
#[test]
fn a_switch_tells_its_queue_each_kilobyte_while_there_is_one() {
    let mut cp = NicFb::congestion_point(&CP_DECK002, CpId(2));
    let small = Arrival { size: Bytes::new(312), ..frame() };
    let told = |cp: &mut NicFbCp, len| {
        let said = (0..4).map(|_| cp.on_arrival(us(0), &small, queue(len), &mut dice())).collect::<Vec<_>>();
        assert_eq!(said[..3], [CpAction::Nothing; 3]);
        said[3]
    };
    let message = QueueLen { cp: CpId(2), len: Bytes::new(20_000), arrived: Bytes::new(1248) };
    assert_eq!(told(&mut cp, 20_000), CpAction::Send(Signal::QueueLen(message)));
    // Only the frame itself is there: the queue was empty.
    assert_eq!(told(&mut cp, 312), CpAction::Nothing);
    assert_eq!(told(&mut cp, 624), CpAction::Send(Signal::QueueLen(QueueLen { len: Bytes::new(624), ..message })));
}

/// Deck 001's numbers: 60 000 after 0 is Fb = -(27 000 + 120 000), 56.1 levels: 10 000 (1 - 56/128) = 5625 Mb/s.
#[test]
fn the_card_samples_and_computes() {
    let mut rp = NicFb::reaction_point(&EXACT, LINE.into());
    // 150 000 octets are 150 messages of 1000: the 151st is the sample.
    assert_eq!(messages_to_a_cut(&mut rp, 0, 60_000), Some(151));
    assert_eq!(rp.gauge().current_rate, BitRate::mbps(5625));
    // After feedback 56 the table says 18 500: the 19th. 60 000 again: -27 000, 10 levels: times 1 - 10/128.
    assert_eq!(messages_to_a_cut(&mut rp, 0, 60_000), Some(19));
    assert_eq!(rp.gauge().current_rate, BitRate::bps(5_185_546_875));
    // Room: nothing happens, and the length is remembered: 33 000 after 10 000 is -46 000, 17 levels.
    assert_eq!(messages_to_a_cut(&mut rp, 0, 10_000), None);
}

#[test]
fn a_message_may_stand_for_what_it_says() {
    let mut rp = NicFb::reaction_point(&NicFbRpParams { message_octets: None, ..EXACT }, LINE.into());
    // 150 000 / 1248 = 120.2.
    assert_eq!(messages_to_a_cut(&mut rp, 0, 60_000), Some(121));
}

#[test]
fn each_congestion_point_has_a_count_of_its_own() {
    let mut rp = NicFb::reaction_point(&EXACT, LINE.into());
    for _ in 0..150 {
        rp.on_signal(us(0), &message(0, 60_000), &mut dice());
    }
    assert_eq!(messages_to_a_cut(&mut rp, 1, 60_000), Some(151));
    assert_eq!(messages_to_a_cut(&mut rp, 0, 60_000), Some(1));
}

/// 5625 / 3.2 = 1757.8: 1757 steps are 5622.4 Mb/s.
#[test]
fn hardware_lets_pass_whole_rate_steps() {
    let mut rp = NicFb::reaction_point(&NicFbRpParams { jitter_width: 0.0, ..RP_NEC_FULCRUM_10G }, LINE.into());
    assert_eq!((rp.limit(), rp.gauge().current_rate), (None, LINE));
    assert_eq!(messages_to_a_cut(&mut rp, 0, 60_000), Some(151));
    assert_eq!(rp.limit(), Some(BitRate::bps(5_622_400_000)));
    for _ in 0..100_000 {
        rp.on_signal(ms(1), &message(0, 150_000), &mut dice());
    }
    assert_eq!(rp.limit(), Some(BitRate::bps(9_600_000)), "the least rate is three steps");
}

/// Five cycles of 10 ms and then of 5 ms.
#[test]
fn the_timer_is_deck_002s() {
    let mut rp = NicFb::reaction_point(&EXACT, LINE.into());
    let _ = messages_to_a_cut(&mut rp, 0, 60_000);
    let mut last = us(1);
    let cycles: Vec<u64> = (0..7)
        .map(|_| {
            let (at, since) = (rp.next_wake(), last);
            rp.on_wake(at, &mut dice());
            last = at;
            at.since(since).ps() / 1_000_000_000
        })
        .collect();
    assert_eq!(cycles, [10, 10, 10, 10, 10, 5, 5]);
}

/// One source of 10 Gb/s at a port of 1 Gb/s: queue and throughput are those of QCN with feedback at the switch.
#[test]
fn the_card_steers_as_the_switch_does() {
    let card = NicFbRpParams { message_octets: None, ..RP_DECK002 };
    let mut at_card = Fabric::<NicFb>::new(1, &CP_DECK002, &card, LINE, 5);
    let switch = qcn::QcnRpParams { time_reset: Span::from_ms(10), ..qcn::RP_DECK001 };
    let mut at_switch = Fabric::<qcn::Qcn>::new(1, &qcn::CP_DECK001, &switch, LINE, 5);
    (at_card.rate, at_switch.rate) = (BitRate::gbps(1), BitRate::gbps(1));
    let _ = (at_card.run(300), at_switch.run(300));
    let (card, switch) = (at_card.run(500), at_switch.run(500));
    assert!(card.total() > 0.97 && switch.total() > 0.97, "{card:?} {switch:?}");
    assert!((card.queue.0 / switch.queue.0 - 1.0).abs() < 0.2, "{card:?} {switch:?}");
}

/// Frames of other flows do not count, and discarded ones only where that is asked for; of these none is in the queue, so
/// that any queue is told.
#[test]
fn discarded_frames_count_where_that_is_asked_for() {
    let kilobyte = Arrival { size: Bytes::new(1000), ..frame() };
    let discarded = Arrival { admitted: false, ..kilobyte };
    for count_discarded in [false, true] {
        let mut cp = NicFb::congestion_point(&NicFbCpParams { count_discarded, ..CP_DECK002 }, CpId(2));
        let foreign = Arrival { controlled: false, ..kilobyte };
        assert_eq!(cp.on_arrival(us(0), &foreign, queue(20_000), &mut dice()), CpAction::Nothing);
        let told = cp.on_arrival(us(0), &discarded, queue(1000), &mut dice());
        let message = QueueLen { cp: CpId(2), len: Bytes::new(1000), arrived: Bytes::new(1000) };
        assert_eq!(told, if count_discarded { CpAction::Send(Signal::QueueLen(message)) } else { CpAction::Nothing });
        // As long as the frame itself, the queue was empty before it.
        assert_eq!(cp.on_arrival(us(0), &kilobyte, queue(1000), &mut dice()), CpAction::Nothing);
        let told = cp.on_arrival(us(0), &kilobyte, queue(1001), &mut dice());
        assert_eq!(told, CpAction::Send(Signal::QueueLen(QueueLen { len: Bytes::new(1001), ..message })));
    }
}

/// 10 Gb/s are no whole number of steps of 3 Mb/s, 9999 are; yet a card that does not limit passes its line rate.
#[test]
fn the_line_rate_is_no_rate_step() {
    let rate_step = Some(BitRate::mbps(3));
    let mut rp = NicFb::reaction_point(&NicFbRpParams { rate_step, ..EXACT }, LINE.into());
    assert_eq!((rp.limit(), rp.gauge().current_rate), (None, LINE));
    // 5625 are 1875 steps.
    assert_eq!(messages_to_a_cut(&mut rp, 0, 60_000), Some(151));
    assert_eq!(rp.limit(), Some(BitRate::mbps(5625)));
}

/// The card's limiter with the first form of hyper-active increase: timer cycles after the fifth add 5, 10, 15 Mb/s.
#[test]
fn the_card_may_have_the_first_form_of_hyper_active_increase() {
    let limiter = qcn::QcnRpParams { early_hai: true, target_rate_reduction: false, ..EXACT.limiter };
    let mut rp = NicFb::reaction_point(&NicFbRpParams { limiter, ..EXACT }, LINE.into());
    assert_eq!(messages_to_a_cut(&mut rp, 0, 60_000), Some(151));
    let mut targets = Vec::new();
    for cycle in 1..=8 {
        rp.on_wake(rp.next_wake(), &mut dice());
        if cycle > 4 {
            targets.push(rp.gauge().target_rate.get() / 1_000_000);
        }
    }
    assert_eq!(targets, [10_000, 10_005, 10_015, 10_030]);
}
