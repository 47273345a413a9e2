//! Each line of deck 004's behavioral spec, and hand-worked numbers. Rates in Mb/s where a comment gives none.

use super::*;
use crate::parts::drift::DriftParams;
use crate::roles::{Cnm, CpAction, NotificationPoint, ReactionPoint};
use crate::testing::{FRAME, Fabric, LINE, dice, frame, ms, queue, us};
use qcnlab_units::BitRate;

/// Without jitter and drift, so that nothing else moves the rate.
const EXACT: QcnPlusRpParams = QcnPlusRpParams {
    limiter: qcn::QcnRpParams { jitter_width: 0.0, drift: DriftParams::OFF, ..RP_IBM_ZRL.limiter },
    ..RP_IBM_ZRL
};
const PLAIN: qcn::QcnRpParams = EXACT.limiter;

fn rp(params: QcnPlusRpParams) -> QcnPlusRp {
    QcnPlus::reaction_point(&params, LINE.into())
}

fn cnm(cp: u32, q_offset: i64, q_delta: i64, quantized_fb: u8) -> Signal {
    Signal::Cnm(Cnm { cp: CpId(cp), quantized_fb, q_offset, q_delta })
}

/// A message of full scale: 10 000 (1 - 0.5) = 5000.
fn full() -> Signal {
    cnm(7, -62_500, 62_500, 255)
}

fn answer(asked_at: Instant, q_offset: i64, q_delta: i64) -> Signal {
    Signal::Answer(Answer { cp: CpId(7), asked_at, q_offset, q_delta, capacity: LINE })
}

/// A limiter at 5000 from 0 ms on, whose first probe is on its way.
fn probing(params: QcnPlusRpParams) -> (QcnPlusRp, Probe) {
    let mut rp = rp(params);
    rp.on_signal(ms(0), &full(), &mut dice());
    let probe = rp.take_probe(ms(0)).expect("a limiter asks at once");
    (rp, probe)
}

fn rate(rp: &QcnPlusRp) -> u64 {
    rp.gauge().current_rate.get() / 1_000_000
}

fn ask(cp: &mut QcnPlusCp, kind: ProbeKind, len: u64) -> ProbeAction {
    let mut probe = Probe { kind, asked_at: us(3), sent: Bytes::ZERO, rate: LINE };
    cp.on_probe(us(5), &mut probe, queue(len))
}

/// Set point 37 500; the last sample found nothing queued.
#[test]
fn a_congestion_point_must_tell_q_and_its_growth_apart() {
    let mut cp = QcnPlus::congestion_point(&qcn::CP_IBM_ZRL, CpId(7));
    let told = |q_offset, q_delta| ProbeAction::Answer(answer(us(3), q_offset, q_delta));
    assert_eq!(ask(&mut cp, ProbeKind::Directed(CpId(7)), 60_000), told(-22_500, 60_000));
    // Asking is not sampling: the growth still counts from the last sample.
    assert_eq!(ask(&mut cp, ProbeKind::Directed(CpId(7)), 61_500), told(-24_000, 61_500));
}

#[test]
fn a_congestion_point_must_sample_at_a_fixed_rate_at_least() {
    for (adaptive_sampling, frames) in [(false, 101), (true, 13)] {
        let params = qcn::QcnCpParams { adaptive_sampling, jitter_width: 0.0, ..qcn::CP_IBM_ZRL };
        let mut cp = QcnPlus::congestion_point(&params, CpId(7));
        let mut sampled =
            (1..1000).filter(|_| cp.on_arrival(us(1), &frame(), queue(150_000), &mut dice()) != CpAction::Nothing);
        let (first, second) = (sampled.next(), sampled.next());
        // 150 000 octets are 100 frames; at full scale by the table 18 500 are 12.3.
        assert_eq!(first, Some(101));
        assert_eq!(second, Some(101 + frames));
    }
}

#[test]
fn a_congestion_point_must_send_feedback_when_it_is_congested() {
    let mut cp = QcnPlus::congestion_point(&qcn::CP_IBM_ZRL, CpId(7));
    let said = (0..101).map(|_| cp.on_arrival(us(1), &frame(), queue(100_000), &mut dice())).last();
    // Offset 62 500 and growth 100 000: past full scale of 5 * 37 500.
    assert_eq!(said, Some(CpAction::Send(cnm(7, -62_500, 100_000, 255))));
}

#[test]
fn a_congestion_point_must_answer_probes_by_their_kind() {
    let mut cp = QcnPlus::congestion_point(&qcn::CP_IBM_ZRL, CpId(7));
    assert_eq!(ask(&mut cp, ProbeKind::Directed(CpId(8)), 60_000), ProbeAction::Pass);
    assert_ne!(ask(&mut cp, ProbeKind::Directed(CpId(7)), 0), ProbeAction::Pass, "with room too");
    assert_ne!(ask(&mut cp, ProbeKind::Path, 60_000), ProbeAction::Pass);
    assert_eq!(ask(&mut cp, ProbeKind::Path, 3_000), ProbeAction::Pass, "it has room: let the next say");
}

#[test]
fn the_destination_must_return_a_probe_as_the_last_that_can() {
    let probe = Probe { kind: ProbeKind::Path, asked_at: us(3), sent: Bytes::ZERO, rate: LINE };
    let mut np = QcnPlus::notification_point(&RP_IBM_ZRL).expect("destinations take part");
    assert_eq!(np.on_probe(us(9), &probe), Some(Signal::Returned(probe)));
    assert!(QcnPlus::notification_point(&QcnPlusRpParams { probing: Probing::None, ..RP_IBM_ZRL }).is_none());
}

#[test]
fn a_reaction_point_must_reduce_on_negative_feedback() {
    let (mut rp, probe) = probing(EXACT);
    assert_eq!(rate(&rp), 5000);
    // An answer after 100 us: offset -37 500 and no growth are 51 of 255: 5000 (1 - 51 * 0.5 / 255) = 4500.
    rp.on_signal(us(100), &answer(probe.asked_at, -37_500, 0), &mut dice());
    assert_eq!(rate(&rp), 4500);
}

/// Full scale at a tenth of the line rate is 1000; 51 of 255 are 200.
#[test]
fn a_reaction_point_may_raise_on_positive_feedback_less_the_longer_the_round_trip() {
    for (rtt, raised) in [(0, 200), (1000, 100), (2000, 50)] {
        let (mut rp, probe) = probing(EXACT);
        rp.on_signal(us(rtt), &answer(probe.asked_at, 37_500, 0), &mut dice());
        assert_eq!(rate(&rp), 5000 + raised, "RTT {rtt} us");
    }
    let (mut rp, probe) = probing(QcnPlusRpParams { gi: 0.0, ..EXACT });
    rp.on_signal(us(0), &answer(probe.asked_at, 37_500, 0), &mut dice());
    assert_eq!(rate(&rp), 5000);
}

/// 150 000 octets without feedback end a cycle: (5000 + 10 000) / 2.
#[test]
fn a_reaction_point_must_be_able_to_raise_without_feedback() {
    let (mut rp, _) = probing(EXACT);
    for _ in 0..101 {
        let _ = rp.on_sent(us(1), FRAME, FRAME, &mut dice());
    }
    assert_eq!(rate(&rp), 7500);
}

#[test]
fn a_reaction_point_may_send_directed_and_path_probes() {
    use ProbeKind::{Directed, Path};
    let cp = Directed(CpId(7));
    for (way, kinds) in
        [(Probing::Directed, [cp, cp, cp]), (Probing::Path, [Path, Path, Path]), (Probing::Both, [Path, cp, Path])]
    {
        let (mut rp, first) = probing(QcnPlusRpParams { probing: way, ..EXACT });
        let mut seen = vec![first.kind];
        let mut asked_at = first.asked_at;
        for _ in 0..2 {
            rp.on_signal(asked_at + Span::from_us(50), &answer(asked_at, -1500, 0), &mut dice());
            assert_eq!(rp.take_probe(asked_at + Span::from_us(50)), None, "one each millisecond");
            let now = rp.next_wake();
            assert_eq!(now.since(asked_at), Span::from_ms(1));
            rp.on_wake(now, &mut dice());
            let probe = rp.take_probe(now).expect("it is time");
            seen.push(probe.kind);
            asked_at = probe.asked_at;
        }
        assert_eq!(seen, kinds, "{way:?}");
    }
    assert!(!rp(QcnPlusRpParams { probing: Probing::None, ..EXACT }).capabilities().sends_probes);
}

#[test]
fn one_probe_at_a_time_and_only_its_own_answer_counts() {
    let (mut rp, _) = probing(EXACT);
    assert_eq!(rp.take_probe(ms(1)), None);
    rp.on_signal(ms(1), &answer(us(1), 37_500, 0), &mut dice());
    assert_eq!((rate(&rp), rp.rtt), (5000, None));
}

/// A round trip of 2 ms: nothing is heard within 2 ms of a cut.
#[test]
fn gain_tuning_cuts_once_in_a_round_trip() {
    let (mut rp, probe) = probing(EXACT);
    rp.on_signal(ms(2), &answer(probe.asked_at, -37_500, 0), &mut dice());
    assert_eq!(rate(&rp), 4500);
    rp.on_signal(us(3999), &full(), &mut dice());
    assert_eq!(rate(&rp), 4500);
    rp.on_signal(ms(4), &full(), &mut dice());
    assert_eq!(rate(&rp), 2250);
}

/// 2 RTT rate = 2 * 1 ms * 5000 Mb/s = 1 250 000 octets: 833.3 frames. At 10 us it is the parameter's 100.
#[test]
fn gain_tuning_stretches_the_cycle_with_the_round_trip() {
    for (rtt, frames) in [(1000, 834), (10, 101)] {
        let (mut rp, probe) = probing(EXACT);
        rp.on_signal(us(rtt), &answer(probe.asked_at, 0, 0), &mut dice());
        rp.on_signal(ms(5), &cnm(7, -1500, 0, 2), &mut dice());
        // The cycle that ran when the message came goes on; the next one has the new length.
        let (mut ends, mut last, start) = (Vec::new(), rate(&rp), rate(&rp));
        for sent in 1..=1100 {
            let _ = rp.on_sent(ms(6), FRAME, FRAME, &mut dice());
            if rate(&rp) != last {
                ends.push(sent);
                last = rate(&rp);
            }
        }
        assert!(last > start);
        assert_eq!(ends[1] - ends[0], frames, "RTT {rtt} us");
    }
}

/// The limiter's own times wake it too. A probe waits 10 ms for its answer, and the next goes out 1 ms after the last:
/// a wake-up before that asks nothing.
#[test]
fn an_early_wake_up_leaves_the_probes_alone() {
    let (mut rp, _) = probing(EXACT);
    rp.on_wake(us(9_999), &mut dice());
    assert_eq!(rp.take_probe(us(9_999)), None, "the answer may still come");
    rp.on_wake(ms(10), &mut dice());
    assert!(rp.take_probe(ms(10)).is_some(), "it is given up");
    let (mut rp, probe) = probing(EXACT);
    rp.on_signal(us(100), &answer(probe.asked_at, 0, 0), &mut dice());
    rp.on_wake(us(999), &mut dice());
    assert_eq!(rp.take_probe(us(999)), None, "it rests");
    assert_eq!(rp.rtt, Some(Span::from_us(100)));
    rp.on_wake(ms(1), &mut dice());
    assert!(rp.take_probe(ms(1)).is_some());
}

/// W = 2 + 2 (RTT / 100 us) / N; N = 10 000 / 5000 = 2.
#[test]
fn gain_tuning_weighs_growth_by_round_trip_and_rate() {
    for (rtt, w) in [(100, 3.0), (500, 7.0), (10_000, 32.0)] {
        let (mut rp, probe) = probing(QcnPlusRpParams { answer_timeout: Span::from_ms(20), ..EXACT });
        rp.on_signal(us(rtt), &answer(probe.asked_at, 0, 0), &mut dice());
        assert!((rp.w() - w).abs() < 1e-9, "RTT {rtt} us: {}", rp.w());
    }
    assert_eq!(probing(EXACT).0.w(), 2.0);
}

/// No answer ever comes: the rates are QCN's, message for message and cycle for cycle.
#[test]
fn without_answers_it_is_qcn() {
    let (mut plus, mut plain) = (rp(EXACT), qcn::QcnRp::new(PLAIN, LINE));
    let (mut rolls, mut plain_rolls) = (dice(), dice());
    let mut probes = 0;
    for step in 0..60_000 {
        let now = us(2 * step);
        if step % 7_919 == 0 {
            let message = cnm(7, -9000, 3000, 1 + (step % 97) as u8);
            plus.on_signal(now, &message, &mut rolls);
            plain.on_signal(now, &message, &mut plain_rolls);
        }
        let _ = (plus.on_sent(now, FRAME, FRAME, &mut rolls), plain.on_sent(now, FRAME, FRAME, &mut plain_rolls));
        if plus.next_wake() <= now {
            plus.on_wake(now, &mut rolls);
        }
        probes += u32::from(plus.take_probe(now).is_some());
        assert_eq!(plus.gauge(), plain.gauge(), "at {now}");
    }
    // 120 ms with one given up each 10 ms.
    assert_eq!(probes, 12);
}

#[test]
fn lost_answers_bring_qcn_back() {
    let (mut rp, probe) = probing(EXACT);
    rp.on_signal(ms(1), &answer(probe.asked_at, 0, 0), &mut dice());
    assert_eq!(rp.rtt, Some(Span::from_ms(1)));
    rp.on_wake(ms(1), &mut dice());
    assert!(rp.take_probe(ms(1)).is_some());
    assert_eq!(rp.next_wake(), ms(11));
    rp.on_wake(ms(11), &mut dice());
    assert_eq!((rp.rtt, rp.w()), (None, 2.0));
    assert!(rp.take_probe(ms(11)).is_some(), "it asks again");
}

/// Deck 004's RTT study at a link RTT of 1 ms, so 2 ms to the port and back: four sources of 5 Gb/s, M = 1.5 MB.
#[test]
fn where_qcn_loses_throughput_qcn_plus_holds_it() {
    let hold = |probing| {
        let params = QcnPlusRpParams { probing, ..RP_IBM_ZRL_M1500KB };
        let fabric = Fabric::<QcnPlus>::new(4, &qcn::CP_IBM_ZRL_M1500KB, &params, LINE, 1000);
        let mut fabric = fabric.with_capacity(1_500_000);
        fabric.offered = BitRate::gbps(5);
        let _ = fabric.run(200);
        let drops = fabric.drops;
        let seen = fabric.run(400);
        assert!(fabric.drops == drops && seen.queue.1 < 1_000_000, "{probing:?}: {seen:?}");
        seen.total()
    };
    let (plain, plus) = (hold(Probing::None), hold(Probing::Directed));
    assert!(plus > 9.5 && plain < 9.0, "QCN {plain:.2} Gb/s, QCN+ {plus:.2}");
}

/// The answer tells the port's rate: at 5 of 5 Gb/s N is 1, at 5 of 10 it is 2. A round trip of 100 us adds 3 / N to 2.
#[test]
fn the_rate_in_an_answer_weighs_growth() {
    for (capacity, w) in [(BitRate::gbps(5), 5.0), (LINE, 3.5)] {
        let (mut rp, probe) = probing(QcnPlusRpParams { w: 2.0, w_factor: 3.0, w_max: 1000.0, ..EXACT });
        let told = Answer { cp: CpId(7), asked_at: probe.asked_at, q_offset: 0, q_delta: 0, capacity };
        rp.on_signal(us(100), &Signal::Answer(told), &mut dice());
        assert_eq!((rate(&rp), rp.w()), (5000, w));
    }
}

/// A path probe that comes back from the destination found room everywhere: one unit of 255 of a tenth of the line rate,
/// 3.9, is added at a round trip of 0. A directed probe that comes back instead of its answer says nothing.
#[test]
fn only_a_path_probe_that_comes_back_raises() {
    for (way, after) in [(Probing::Path, 5003), (Probing::Directed, 5000)] {
        let (mut rp, probe) = probing(QcnPlusRpParams { probing: way, ..EXACT });
        rp.on_signal(ms(0), &Signal::Returned(probe), &mut dice());
        assert_eq!(rate(&rp), after, "{way:?}");
    }
}

/// 128 and more cycles lead back to the line rate; with nothing waiting there the limiter ends, and so does the probe loop.
#[test]
fn probing_ends_with_the_limiter_and_never_begins_where_it_is_off() {
    let (mut rp, _) = probing(EXACT);
    assert_ne!(rp.next_wake(), Instant::NEVER);
    for _ in 0..20_000 {
        let _ = rp.on_sent(us(1), FRAME, Bytes::ZERO, &mut dice());
    }
    assert_eq!((rp.limit(), rp.next_wake()), (None, Instant::NEVER));
    assert_eq!(rp.take_probe(ms(1000)), None);
    let mut silent = self::rp(QcnPlusRpParams { probing: Probing::None, ..EXACT });
    silent.on_signal(ms(0), &full(), &mut dice());
    assert!(silent.limit().is_some());
    assert_eq!(silent.take_probe(ms(0)), None);
}
