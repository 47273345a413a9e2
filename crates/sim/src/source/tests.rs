//! When frames come, worked by hand, and how times that are drawn are spread.

use super::*;
use crate::ids::Id;
use crate::roce::QpRecovery;
use qcnlab_schemes::Purpose;

#[test]
fn the_clock_is_exact_in_the_long_run() {
    // 12 000 bits at 1.05 Gb/s: 11 428 571.43 ps; 7 ticks are 80 us exactly.
    let mut clock = FrameClock::new(Bytes::new(1500), BitRate::mbps(1050));
    let ticks: Vec<u64> = (0..7).map(|_| clock.tick().ps()).collect();
    assert_eq!(ticks.iter().sum::<u64>(), 80_000_000);
    assert!(ticks.iter().all(|t| (11_428_571..=11_428_572).contains(t)));
}

fn frames_in(process: Process, ms: u64) -> Vec<u64> {
    let dice = Dice::new(1, 0, "generator", Purpose::Traffic);
    let mut generator =
        Generator::new(vec![FlowId::new(0)], process, Bytes::new(1250), Instant::ZERO, Instant::NEVER, dice);
    let end = Instant::ZERO + Span::from_ms(ms);
    let mut times = Vec::new();
    while generator.next < end {
        times.push(generator.next.ps());
        generator.advance();
    }
    times
}

#[test]
fn poisson_frames_have_the_rate() {
    // 10 000 bits at 1 Gb/s: one in 10 us, 100 000 in a second, give or take 316.
    let times = frames_in(Process::Poisson { rate: BitRate::gbps(1) }, 1000);
    assert!(times.len().abs_diff(100_000) < 1300, "{}", times.len());
}

#[test]
fn fixed_times_on_and_off_are_kept() {
    // On for 1 ms at one frame in 10 us: 100 frames; then nothing for 3 ms.
    let (on, off) = (Span::from_ms(1), Span::from_ms(3));
    let process = Process::OnOff { rate: BitRate::gbps(1), on, off, exponential: false };
    let times = frames_in(process, 8);
    assert_eq!(times.len(), 200);
    assert_eq!((times[0], times[99], times[100]), (0, 990_000_000, 4_000_000_000));
}

/// A frame each 10 us; on until 25 us, off for 40 us from then on, not from the frame that would have been next:
/// 65 us. On until 90 us, the frame at 95 us comes no more: 130 us.
#[test]
fn the_off_time_counts_from_the_end_of_the_on_time() {
    let (on, off) = (Span::from_us(25), Span::from_us(40));
    let process = Process::OnOff { rate: BitRate::gbps(1), on, off, exponential: false };
    let us: Vec<u64> = frames_in(process, 1).iter().map(|ps| ps / 1_000_000).take(8).collect();
    assert_eq!(us, [0, 10, 20, 65, 75, 85, 130, 140]);
}

/// On for 20 us: the frame at 20 us is the first that comes no more.
#[test]
fn a_frame_at_the_end_of_the_on_time_waits_for_the_next() {
    let (on, off) = (Span::from_us(20), Span::from_us(5));
    let process = Process::OnOff { rate: BitRate::gbps(1), on, off, exponential: false };
    let us: Vec<u64> = frames_in(process, 1).iter().map(|ps| ps / 1_000_000).take(5).collect();
    assert_eq!(us, [0, 10, 25, 35, 50]);
}

fn us(n: u64) -> Instant {
    Instant::ZERO + Span::from_us(n)
}

/// A frame each 10 us until 30 us: those of 0, 10 and 20 us. What waits then is still sent.
#[test]
fn a_constant_source_that_stops_sends_what_waits() {
    let clock = FrameClock::new(Bytes::new(1250), BitRate::gbps(1));
    let mut source = Source::Constant { clock, next: us(0), waiting: 0 };
    source.update_waiting(us(20), us(30), u64::MAX, |_| panic!("there is room"));
    assert_eq!(source.next_arrival(us(30)), None);
    assert_eq!(source.next_arrival(us(31)), Some(us(30)));
    source.update_waiting(us(90), us(30), u64::MAX, |_| panic!("there is room"));
    let backlogs: Vec<u64> = (0..3).map(|_| source.take(us(90), 1250).backlog).collect();
    assert_eq!(backlogs, [2500, 1250, 0]);
    assert_eq!(source.next_ready(us(90), us(30)), None);
}

/// A saturated source with a ceiling: 12 us between frames, none at its stop or after it.
#[test]
fn a_saturated_source_stops_at_its_stop() {
    let mut source = Source::Saturated { gap: Span::from_us(12), next: us(0), left: u64::MAX };
    assert_eq!(source.next_ready(us(0), us(13)), Some(us(0)));
    let payload = source.take(us(0), 1500);
    assert_eq!((payload.size, payload.backlog), (1500, 0));
    assert_eq!(source.next_ready(us(1), us(13)), Some(us(12)));
    assert_eq!(source.next_ready(us(1), us(12)), None, "it would be ready when it stops");
    assert_eq!(source.next_ready(us(13), us(13)), None, "it was ready and could not go");
    assert!(matches!(source, Source::Saturated { left: u64::MAX, .. }), "without an end nothing is counted");
}

/// A queue pair begins at 5 us and stops at 13: at 13 us it has nothing more to send.
#[test]
fn a_queue_pair_stops_at_its_stop() {
    let pair = QueuePair::new(&crate::testing::queue_pair(QpRecovery::GoBackN), None, us(5));
    let source = Source::Roce(Box::new(pair));
    assert_eq!([us(12), us(13)].map(|now| source.next_ready(now, us(13))), [Some(us(5)), None]);
}

/// Which flow is next is drawn among several, and not where there is one: its frames come as if nobody asked.
#[test]
fn one_flow_is_not_drawn() {
    let dice = Dice::new(1, 0, "generator", Purpose::Traffic);
    let process = Process::Poisson { rate: BitRate::gbps(1) };
    let flows = |flows: u32| (7..7 + flows).map(FlowId::new).collect();
    let of = |n| Generator::new(flows(n), process, Bytes::new(1250), us(0), Instant::NEVER, dice.clone());
    let (mut one, mut two, mut untouched) = (of(1), of(2), of(1));
    assert_eq!(one.pick(), FlowId::new(7));
    two.pick();
    [&mut one, &mut two, &mut untouched].into_iter().for_each(Generator::advance);
    assert_eq!(one.next, untouched.next);
    assert_ne!(two.next, untouched.next);
}

/// The first frame of a Poisson generator comes after a drawn gap, not at the start.
#[test]
fn a_poisson_generator_does_not_begin_with_a_frame() {
    let first = frames_in(Process::Poisson { rate: BitRate::gbps(1) }, 1)[0];
    let expected = Dice::new(1, 0, "generator", Purpose::Traffic).exponential() * 10e6;
    assert!(first.abs_diff(expected as u64) <= 1, "{first} where {expected} is right");
}

#[test]
fn exponential_times_on_and_off_have_their_means() {
    // Half of the time on: 50 000 frames in a second; 500 periods, so within some 6 % of it.
    let (on, off) = (Span::from_ms(1), Span::from_ms(1));
    let process = Process::OnOff { rate: BitRate::gbps(1), on, off, exponential: true };
    let count = frames_in(process, 1000).len();
    assert!(count.abs_diff(50_000) < 8000, "{count}");
}

/// A second of 1 ms on and 1 ms off on average is some 500 of each. Twice the mean or more have e^-2 = 13.5 % of them, 68
/// with a standard deviation of 8; on for 2 ms are 200 frames, and off a gap of 2 ms.
#[test]
fn exponential_times_on_and_off_are_spread() {
    let (on, off) = (Span::from_ms(1), Span::from_ms(1));
    let process = Process::OnOff { rate: BitRate::gbps(1), on, off, exponential: true };
    let times = frames_in(process, 1000);
    let gap = |pair: &[u64]| pair[1] - pair[0];
    let long_gaps = times.windows(2).filter(|pair| gap(pair) > 2_000_000_000).count();
    // Frames that follow one another stand 10 us apart.
    let runs = times.chunk_by(|earlier, later| later - earlier <= 10_000_000);
    let long_runs = runs.filter(|run| run.len() > 200).count();
    assert!(long_gaps.abs_diff(68) < 32 && long_runs.abs_diff(68) < 32, "{long_gaps} and {long_runs}");
}

/// The first time on is drawn too. Of 400 generators half are on for less than ln 2 = 0.69 ms, 69 frames or fewer; the
/// standard deviation is 10.
#[test]
fn the_first_time_on_is_drawn() {
    let (on, off) = (Span::from_ms(1), Span::from_ms(1000));
    let process = Process::OnOff { rate: BitRate::gbps(1), on, off, exponential: true };
    let ends_early = |seed: &u64| {
        let dice = Dice::new(*seed, 0, "generator", Purpose::Traffic);
        let mut one = Generator::new(vec![FlowId::new(0)], process, Bytes::new(1250), us(0), Instant::NEVER, dice);
        (0..69).for_each(|_| one.advance());
        one.next > us(690)
    };
    let early = (0..400).filter(ends_early).count();
    assert!(early.abs_diff(200) < 40, "{early}");
}

#[test]
fn what_finds_no_room_is_refused_at_its_own_time() {
    let mut source = Source::Constant {
        clock: FrameClock::new(Bytes::new(1250), BitRate::gbps(1)),
        next: Instant::ZERO,
        waiting: 0,
    };
    let mut refused = Vec::new();
    source.update_waiting(Instant::ZERO + Span::from_us(40), Instant::NEVER, 3, |at| refused.push(at.ps()));
    assert_eq!(refused, [30_000_000, 40_000_000]);
    assert_eq!(source.take(Instant::ZERO, 1250).backlog, 2500);
}

#[test]
fn the_last_frame_of_a_flow_may_be_shorter() {
    let mut source = Source::Saturated { gap: Span::ZERO, next: Instant::ZERO, left: 3100 };
    let sizes: Vec<u16> = (0..3).map(|_| source.take(Instant::ZERO, 1500).size).collect();
    assert_eq!(sizes, [1500, 1500, 100]);
    assert_eq!(source.next_ready(Instant::ZERO, Instant::NEVER), None);
}
