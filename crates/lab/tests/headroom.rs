//! The headroom of a paused link: nothing is lost with the formula's, nothing with what the worst run takes, and something
//! with a cell less.

use proptest::prelude::*;
use qcnlab_lab::headroom::{Memory, Worst};
use qcnlab_network::PausedLink;
use qcnlab_units::{BitRate, Bytes, Span};

/// 100 Gb/s, 40 m of fibre at 5 ns/m, frames of 9216 B in 20 B of preamble and gap.
const LINK: PausedLink = PausedLink {
    rate: BitRate::gbps(100),
    delay: Span::from_ns(200),
    latency: Span::from_ns(0),
    reaction: Span::from_ns(0),
    longest: Bytes::new(9216),
    blocking: Bytes::new(9216),
    shortest: Bytes::new(64),
    overhead: Bytes::new(20),
    cell: Bytes::new(1),
};

/// The frames lost with the formula's headroom, with what the worst run takes, and with a cell less.
fn lost(link: &PausedLink, memory: Memory) -> Vec<u64> {
    let tight = Worst::of(link).takes();
    let runs = [link.headroom(), tight, tight.saturating_sub(Bytes::new(link.cell.get()))];
    Worst::of(link)
        .lost(&runs, memory)
        .unwrap_or_else(|error| panic!("{error}\n{}", Worst::of(link).toml(tight, memory)))
}

/// Three frames of 9236 B on the wire, a pause frame of 84 B, and twice 200 ns at 12.5 B/ns: 27 708 + 84 + 5000 = 32 792.
#[test]
fn the_sum_by_hand() {
    assert_eq!(LINK.headroom(), Bytes::new(32_792));
    // 394 quanta of 512 bits are 201 728 bits, 25 216 B.
    let slow = PausedLink { reaction: Span::from_ps(2_017_280), ..LINK };
    assert_eq!(slow.headroom(), Bytes::new(32_792 + 25_216));
    assert_eq!(PausedLink { delay: Span::ZERO, ..LINK }.headroom(), Bytes::new(27_792));
    assert_eq!(PausedLink { overhead: Bytes::ZERO, ..LINK }.headroom(), Bytes::new(32_792 - 4 * 20));
    // A latency of 10.24 ns is 128 B; another 0.08 ns is one more, and less is rounded up to it.
    let latency = |ps| PausedLink { latency: Span::from_ps(ps), ..LINK }.headroom().get() - 32_792;
    assert_eq!([10_240, 10_241, 10_320, 10_321].map(latency), [128, 129, 129, 130]);
}

/// In cells of 192 B a frame of 64 B takes 192 B in 84 B of the wire: of 14 320 B = 9236 + 84 + 5000 that is
/// 32 731.4 B, 171 cells, and two frames of 9216 B take 48 cells each.
#[test]
fn cells_count_whole() {
    let cells = PausedLink { cell: Bytes::new(192), ..LINK };
    assert_eq!(cells.greediest(), Bytes::new(64));
    assert_eq!(cells.headroom(), Bytes::new((171 + 2 * 48) * 192));
    // In cells of 96 B it is 97 B: 192 in 117; 64 B: 96 in 84.
    assert_eq!(PausedLink { cell: Bytes::new(96), ..LINK }.greediest(), Bytes::new(97));
    assert_eq!(LINK.greediest(), LINK.longest);
}

/// 14 320 B pass between the frame that crosses and the last one: 9236 B of them a whole frame, and one of 5064 B,
/// whose 20 B more end with the time. It is 5063 B, as the last frame begins two picoseconds early.
#[test]
fn the_worst_run_by_hand() {
    let worst = Worst::of(&LINK);
    assert_eq!((worst.filling.clone(), worst.between), (vec![Bytes::new(5063)], (Bytes::new(9216), 1)));
    assert_eq!(worst.takes(), Bytes::new(3 * 9216 + 5063));
    for memory in [Memory::Input, Memory::Shared] {
        assert_eq!(lost(&LINK, memory), [0, 0, 1]);
    }
}

/// A cell less than the worst run takes is less than the blocking frame: what is below the threshold has to hold the rest.
#[test]
fn the_blocking_frame_may_be_far_longer_than_the_others() {
    let longest = Bytes::new(65);
    let link = PausedLink { delay: Span::ZERO, longest, blocking: Bytes::new(9145), ..LINK };
    assert!(Worst::of(&link).takes() + longest < link.blocking);
    holds(&link);
}

fn links() -> impl Strategy<Value = PausedLink> {
    let rates = prop::sample::select(vec![1_u64, 10, 25, 40, 50, 100, 200, 400, 800]);
    let cells = prop::sample::select(vec![1_u64, 80, 96, 144, 192, 208, 254, 256]);
    let frames = || prop_oneof![64_u64..=300, 64_u64..=9216, Just(1518), Just(9216)];
    let delays = prop_oneof![Just(0_u64), 0_u64..=5_000_000];
    let times = || prop_oneof![Just(0_u64), 0_u64..=3_000_000];
    let overheads = prop::sample::select(vec![0_u64, 20]);
    (rates, cells, (frames(), frames()), delays, (times(), times()), overheads).prop_map(
        |(rate, cell, (longest, blocking), delay, (latency, reaction), overhead)| PausedLink {
            rate: BitRate::gbps(rate),
            delay: Span::from_ps(delay),
            latency: Span::from_ps(latency),
            reaction: Span::from_ps(reaction),
            longest: Bytes::new(longest),
            blocking: Bytes::new(blocking),
            shortest: Bytes::new(64),
            overhead: Bytes::new(overhead),
            cell: Bytes::new(cell),
        },
    )
}

fn holds(link: &PausedLink) {
    let worst = Worst::of(link);
    assert!(worst.takes() <= link.headroom(), "{link:?}");
    let memories: &[Memory] = if link.cell.get() == 1 { &[Memory::Input, Memory::Shared] } else { &[Memory::Shared] };
    for memory in memories {
        let lost = lost(link, *memory);
        assert!(lost[0] == 0 && lost[1] == 0 && lost[2] > 0, "{lost:?} {link:?} {memory:?}");
    }
}

/// What the formula has over the worst run: preamble and gap of each frame, which are on the wire and take no memory,
/// and, where octets are counted, less than the shortest frame with its own beside.
fn explained(link: &PausedLink) {
    let worst = Worst::of(link);
    let overhead = worst.frames() * link.overhead.get();
    let rest = link.headroom().get() - worst.takes().get() - overhead;
    assert!(rest <= (link.shortest + link.overhead).get() + link.overhead.get(), "{rest} {link:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn the_formula_loses_nothing_and_a_cell_less_than_the_worst_run_takes_does(link in links()) {
        holds(&link);
    }

    #[test]
    fn preambles_and_gaps_are_what_the_formula_has_over_the_worst_run(link in links()) {
        explained(&PausedLink { cell: Bytes::new(1), ..link });
    }
}
