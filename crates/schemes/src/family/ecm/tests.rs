//! Hand-worked numbers: full scale is (2W + 1) Qeq = 5 * 375 pages = 1875 pages of 64 octets.

use super::*;
use crate::dice::Purpose;
use crate::roles::FlowId;

const LINE: BitRate = BitRate::gbps(10);

fn dice() -> Dice {
    Dice::new(1, 0, "test", Purpose::Reaction)
}

fn ms(n: u64) -> Instant {
    Instant::ZERO + Span::from_ms(n)
}

fn rp() -> EcmRp {
    Ecm::reaction_point(&RP_DECK001, LINE.into())
}

/// A message of `pages` of feedback, all of it offset.
fn message(cp: u32, pages: i64) -> Signal {
    Signal::Bcn(Bcn { cp: CpId(cp), q_offset: pages * 64, q_delta: 0, stop: false })
}

#[test]
fn full_scale_negative_halves_the_rate() {
    let mut rp = rp();
    // Gd * 1875 = 0.00026667 * 1875 = 0.50000625, bounded by one half: 5 Gb/s.
    rp.on_signal(ms(0), &message(1, -1875), &mut dice());
    assert_eq!(rp.limit(), Some(BitRate::gbps(5)));
    // Growth counts twice: offset -375 and growth 750 pages are full scale too.
    let grown = Bcn { cp: CpId(1), q_offset: -375 * 64, q_delta: 750 * 64, stop: false };
    rp.on_signal(ms(0), &Signal::Bcn(grown), &mut dice());
    assert_eq!(rp.limit(), Some(BitRate::mbps(2500)));
}

#[test]
fn full_scale_positive_adds_a_tenth_of_ten_gigabit() {
    let mut rp = rp();
    rp.on_signal(ms(0), &message(1, -1875), &mut dice());
    // Gi * 1875 * Ru = 0.53333 * 1875 Mb/s = 999.99375 Mb/s.
    rp.on_signal(ms(0), &message(1, 1875), &mut dice());
    assert_eq!(rp.limit(), Some(BitRate::bps(5_000_000_000 + 999_993_750)));
}

#[test]
fn only_the_holder_raises_and_the_newest_negative_holds() {
    let mut rp = rp();
    rp.on_signal(ms(0), &message(1, 1875), &mut dice());
    assert_eq!(rp.limit(), None, "positive feedback makes no limiter");
    rp.on_signal(ms(0), &message(1, -1875), &mut dice());
    rp.on_signal(ms(0), &message(2, 1875), &mut dice());
    assert_eq!((rp.limit(), rp.holder()), (Some(BitRate::gbps(5)), Some(CpId(1))));
    rp.on_signal(ms(0), &message(2, -1875), &mut dice());
    assert_eq!((rp.limit(), rp.holder()), (Some(BitRate::mbps(2500)), Some(CpId(2))));
}

#[test]
fn drift_adds_a_megabit_each_millisecond_whatever_is_heard() {
    let mut rp = rp();
    rp.on_signal(ms(0), &message(1, -1875), &mut dice());
    assert_eq!(rp.next_wake(), ms(1));
    rp.on_wake(ms(1), &mut dice());
    assert_eq!(rp.limit(), Some(BitRate::mbps(5001)));
    // 5001 Mb/s halved; the drift stays due at 2 ms.
    rp.on_signal(Instant::from_ps(1_500_000_000), &message(1, -1875), &mut dice());
    assert_eq!(rp.next_wake(), ms(2));
}

#[test]
fn released_at_line_rate() {
    let mut rp = rp();
    rp.on_signal(ms(0), &message(1, -1), &mut dice());
    rp.on_signal(ms(0), &message(1, 1875), &mut dice());
    assert_eq!((rp.limit(), rp.holder(), rp.next_wake()), (None, None, Instant::NEVER));
}

#[test]
fn bcn_zero_zero_stops_and_restarts_at_the_minimum() {
    let mut rp = rp();
    let stop = Signal::Bcn(Bcn { cp: CpId(1), q_offset: 0, q_delta: 0, stop: true });
    rp.on_signal(ms(0), &stop, &mut dice());
    assert_eq!(rp.limit(), Some(BitRate::ZERO));
    let first = rp.next_wake();
    assert!(first <= ms(1), "the first wait is 1 ms at most");
    // A second stop during the wait draws from 2 ms with the same throw: twice as long.
    rp.on_signal(ms(0), &stop, &mut dice());
    let doubled = rp.next_wake().since(ms(0)).ps();
    assert!(doubled.abs_diff(2 * first.since(ms(0)).ps()) <= 1);
    rp.on_wake(rp.next_wake(), &mut dice());
    assert_eq!(rp.limit(), Some(BitRate::mbps(1)));
}

fn sample(params: EcmCpParams, len: u64, limited_by: Option<CpId>) -> CpAction {
    let mut cp = Ecm::congestion_point(&params, CpId(1));
    // 18 000 octets are 12 frames of 1500: the 13th is the sample.
    let frame = Arrival {
        flow: FlowId(0),
        size: Bytes::new(1500),
        admitted: true,
        controlled: true,
        cn_tagged: false,
        limited_by,
        probe: false,
        mark: 0,
    };
    let queue = Queue { len: Bytes::new(len), capacity: Bytes::new(150_000), rate: LINE };
    let mut rolls = dice();
    for _ in 0..12 {
        assert_eq!(cp.on_arrival(ms(0), &frame, queue, &mut rolls), CpAction::Nothing);
    }
    cp.on_arrival(ms(0), &frame, queue, &mut rolls)
}

#[test]
fn who_is_told_what() {
    let message = |q_offset, q_delta| CpAction::Send(Signal::Bcn(Bcn { cp: CpId(1), q_offset, q_delta, stop: false }));
    // Above the set point any sampled frame's source; below it only one with this port's tag.
    assert_eq!(sample(CP_DECK001, 30_000, None), message(-6_000, 30_000));
    assert_eq!(sample(CP_DECK001, 24_000, None), CpAction::Nothing, "at the set point it is not above it");
    assert_eq!(sample(CP_DECK001, 10_000, None), CpAction::Nothing);
    assert_eq!(sample(CP_DECK001, 10_000, Some(CpId(2))), CpAction::Nothing);
    assert_eq!(sample(CP_DECK001, 10_000, Some(CpId(1))), message(14_000, 10_000));
}

#[test]
fn levels_above_the_set_point() {
    let full_scale = EcmCpParams { full_scale_threshold: Some(Bytes::new(100_000)), ..CP_DECK001 };
    // Full scale: -24 000 - 2 * 48 000 = -5 * 24 000.
    let full = Bcn { cp: CpId(1), q_offset: -24_000, q_delta: 48_000, stop: false };
    assert_eq!(sample(full_scale, 100_000, None), CpAction::Send(Signal::Bcn(full)));
    let stop = EcmCpParams { stop_threshold: Some(Bytes::new(102_400)), ..CP_DECK001 };
    let zero = Bcn { cp: CpId(1), q_offset: 0, q_delta: 0, stop: true };
    assert_eq!(sample(stop, 110_000, None), CpAction::Send(Signal::Bcn(zero)));
    let saturated = EcmCpParams { saturate_at: Some(Bytes::new(40_000)), ..CP_DECK001 };
    let clamped = Bcn { cp: CpId(1), q_offset: -16_000, q_delta: 90_000, stop: false };
    assert_eq!(sample(saturated, 90_000, None), CpAction::Send(Signal::Bcn(clamped)));
}

/// Set point 37 500: a step of the offset is 37 500 / 127 = 295.28 octets, one of growth 590.55.
#[test]
fn ecm_q_rounds_offset_and_growth_to_eight_bits() {
    let params = EcmCpParams { code_bits: Some(8), ..CP_IBM_ZRL };
    let cp = Ecm::congestion_point(&params, CpId(1));
    let offset = |octets| cp.coded(octets, 1);
    let growth = |octets| cp.coded(octets, 2);
    // Half a step is 147.64: 147 is nothing, 148 is one step.
    assert_eq!([offset(147), offset(148), offset(-148)], [0, 295, -295]);
    // -10 000 / 295.28 = -33.87, so -34 steps: -10 039.4.
    assert_eq!(offset(-10_000), -10_039);
    assert_eq!([growth(295), growth(296), growth(30_000)], [0, 591, 30_118]);
    // The last step is the set point, and twice that.
    assert_eq!(
        [offset(37_500), offset(-112_500), growth(150_000), growth(-90_000)],
        [37_500, -37_500, 75_000, -75_000]
    );
    let octets = Ecm::congestion_point(&CP_IBM_ZRL, CpId(1));
    assert_eq!([octets.coded(147, 1), octets.coded(150_000, 2)], [147, 150_000]);
}

#[test]
fn ecm_q_sends_what_its_codes_stand_for() {
    let mut cp = Ecm::congestion_point(&EcmCpParams { code_bits: Some(8), ..CP_IBM_ZRL }, CpId(1));
    let frame = Arrival {
        flow: FlowId(0),
        size: Bytes::new(1500),
        admitted: true,
        controlled: true,
        cn_tagged: false,
        limited_by: None,
        probe: false,
        mark: 0,
    };
    let queue = |len| Queue { len: Bytes::new(len), capacity: Bytes::new(150_000), rate: LINE };
    let mut answers = |len| (0..101).map(|_| cp.on_arrival(ms(0), &frame, queue(len), &mut dice())).last();
    // 47 500: an offset of -10 000 and a growth of 47 500 / 590.55 = 80.43, so 80 steps: 47 244.
    let message = Bcn { cp: CpId(1), q_offset: -10_039, q_delta: 47_244, stop: false };
    assert_eq!(answers(47_500), Some(CpAction::Send(Signal::Bcn(message))));
}

/// Deck 004: (2 W + 1) Qeq = 187 500 octets halve the rate, and add 0.1 * 10 Gb/s.
#[test]
fn full_scale_of_ibms_parameters() {
    let mut rp = Ecm::reaction_point(&RP_IBM_ZRL, LINE.into());
    let full =
        |sign: i64| Signal::Bcn(Bcn { cp: CpId(1), q_offset: sign * 37_500, q_delta: -sign * 75_000, stop: false });
    rp.on_signal(ms(0), &full(-1), &mut dice());
    assert_eq!(rp.limit(), Some(BitRate::gbps(5)));
    rp.on_signal(ms(0), &full(1), &mut dice());
    assert_eq!(rp.limit(), Some(BitRate::gbps(6)));
    // One step of the offset: 295 octets of 187 500, half of that share off 6 Gb/s: 4.72 Mb/s.
    let one = Signal::Bcn(Bcn { cp: CpId(1), q_offset: -295, q_delta: 0, stop: false });
    rp.on_signal(ms(0), &one, &mut dice());
    assert_eq!(rp.limit(), Some(BitRate::bps(5_995_280_000)));
    // The drift: 4 Mb/s at 20 ms.
    rp.on_wake(ms(20), &mut dice());
    assert_eq!(rp.limit(), Some(BitRate::bps(5_999_280_000)));
}

/// Feedback of zero is no congestion: it makes no limiter, and takes none over from another congestion point.
#[test]
fn feedback_of_zero_neither_limits_nor_holds() {
    let mut rp = rp();
    rp.on_signal(ms(0), &message(1, 0), &mut dice());
    assert_eq!((rp.limit(), rp.holder()), (None, None));
    rp.on_signal(ms(0), &message(1, -1875), &mut dice());
    rp.on_signal(ms(0), &message(2, 0), &mut dice());
    assert_eq!((rp.limit(), rp.holder()), (Some(BitRate::gbps(5)), Some(CpId(1))));
}

/// Frames name the congestion point that limits them, a stopped source's too.
#[test]
fn frames_carry_the_tag_of_the_holder() {
    let mut rp = rp();
    let tag = |rp: &mut EcmRp| rp.on_sent(ms(0), Bytes::new(1500), Bytes::ZERO, &mut dice());
    assert_eq!(tag(&mut rp), Stamp { limited_by: None, probe: false });
    rp.on_signal(ms(0), &message(7, -1), &mut dice());
    assert_eq!(tag(&mut rp), Stamp { limited_by: Some(CpId(7)), probe: false });
    let stop = Signal::Bcn(Bcn { cp: CpId(8), q_offset: 0, q_delta: 0, stop: true });
    rp.on_signal(ms(0), &stop, &mut dice());
    assert_eq!(tag(&mut rp), Stamp { limited_by: Some(CpId(8)), probe: false });
}

/// A step that ends at the line rate exactly ends the limiter: 10 Gb/s less 1 Mb/s, and a drift of 1 Mb/s.
#[test]
fn a_limiter_ends_at_the_line_rate_exactly() {
    let max_rate = Some(BitRate::mbps(5001));
    let mut rp = Ecm::reaction_point(&EcmRpParams { max_rate, ..RP_DECK001 }, LINE.into());
    // 5001 Mb/s less a half are 2500.5; 2500 steps of 1 Mb/s later it is half a step short, and one more is beyond.
    rp.on_signal(ms(0), &message(1, -1875), &mut dice());
    rp.on_wake(ms(2500), &mut dice());
    assert_eq!((rp.gauge().current_rate, rp.holder()), (BitRate::bps(5_000_500_000), Some(CpId(1))));
    rp.on_wake(ms(2501), &mut dice());
    assert_eq!((rp.gauge().current_rate, rp.holder()), (BitRate::mbps(5001), None));
    // 5002 Mb/s less a half are 2501; 2501 steps later it is there.
    let max_rate = Some(BitRate::mbps(5002));
    let mut rp = Ecm::reaction_point(&EcmRpParams { max_rate, ..RP_DECK001 }, LINE.into());
    rp.on_signal(ms(0), &message(1, -1875), &mut dice());
    rp.on_wake(ms(2500), &mut dice());
    assert_eq!(rp.holder(), Some(CpId(1)));
    rp.on_wake(ms(2501), &mut dice());
    assert_eq!((rp.holder(), rp.next_wake()), (None, Instant::NEVER));
}

fn plain_frame(limited_by: Option<CpId>) -> Arrival {
    Arrival {
        flow: FlowId(0),
        size: Bytes::new(1500),
        admitted: true,
        controlled: true,
        cn_tagged: false,
        limited_by,
        probe: false,
        mark: 0,
    }
}

/// Set point 24 000, W 2: 30 000 after 34 000 is -6000 + 2 * 4000 = 2000, positive above the set point; after 32 000 it
/// is -6000 + 4000 = -2000. 20 000 after 30 000 is positive below it.
#[test]
fn a_port_may_send_positive_feedback_below_its_set_point_alone() {
    for (positive, before, sent) in
        [(Positive::Anywhere, 34_000, true), (Positive::Below, 34_000, false), (Positive::Below, 32_000, true)]
    {
        let params = EcmCpParams { positive, jitter_width: 0.0, ..CP_DECK001 };
        let mut cp = Ecm::congestion_point(&params, CpId(1));
        let mut sample = |len, limited_by| {
            let queue = Queue { len: Bytes::new(len), capacity: Bytes::new(150_000), rate: LINE };
            (0..13).map(|_| cp.on_arrival(ms(0), &plain_frame(limited_by), queue, &mut dice())).last()
        };
        let _ = sample(before, None);
        let said = sample(30_000, Some(CpId(1)));
        assert_eq!(matches!(said, Some(CpAction::Send(_))), sent, "{positive:?} {before}");
        assert!(matches!(sample(20_000, Some(CpId(1))), Some(CpAction::Send(_))), "below, with the tag");
    }
}

/// Set point 375 000, codes on the scale of 37 500: 147 octets are nothing, and 37 500 or more the last step.
#[test]
fn codes_may_have_a_scale_of_their_own() {
    let set_point = Bytes::new(375_000);
    let own = EcmCpParams { code_bits: Some(8), set_point, code_scale: Some(Bytes::new(37_500)), ..CP_IBM_ZRL };
    let cp = Ecm::congestion_point(&own, CpId(1));
    assert_eq!([cp.coded(147, 1), cp.coded(148, 1), cp.coded(-112_500, 1)], [0, 295, -37_500]);
    // By the set point: a step is 375 000 / 127 = 2952.8.
    let cp = Ecm::congestion_point(&EcmCpParams { code_scale: None, ..own }, CpId(1));
    assert_eq!([cp.coded(1476, 1), cp.coded(1477, 1), cp.coded(-112_500, 1)], [0, 2953, -112_205]);
}

/// Sampled by octets a frame comes each 13th time (18 000 are 12 frames); by itself at other times.
#[test]
fn a_port_may_sample_each_frame_by_itself() {
    let samples = |sampling| {
        let mut cp = Ecm::congestion_point(&EcmCpParams { sampling, jitter_width: 0.0, ..CP_DECK001 }, CpId(1));
        let queue = Queue { len: Bytes::new(60_000), capacity: Bytes::new(150_000), rate: LINE };
        let mut dice = dice();
        let sent = |n: &u32| {
            let _ = n;
            cp.on_arrival(ms(0), &plain_frame(None), queue, &mut dice) != CpAction::Nothing
        };
        (1..=1300).filter(sent).collect::<Vec<u32>>()
    };
    let by_octets = samples(Sampling::Octets);
    assert_eq!((by_octets[..3].to_vec(), by_octets.len()), (vec![13, 26, 39], 100));
    let alone = samples(Sampling::EachFrame);
    // 1 - exp(-1500 / 18 000) = 0.08 of 1300 frames are 104, give or take 10.
    assert!(alone.len().abs_diff(104) < 40, "{}", alone.len());
    assert!(alone.windows(2).any(|pair| pair[1] - pair[0] < 5), "now and then soon after another");
}
