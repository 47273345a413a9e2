//! The wheel against a sorted set, and what it does worked by hand.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// The same promises kept by a sorted set of time, kind, draw among keys, draw among entities with one key, and
/// entity.
struct Model {
    ties: Option<Vec<Tie>>,
    pending: BTreeSet<(u64, u32, u64, u64, Entity)>,
}

impl Model {
    fn clear(&mut self, entity: Entity) {
        self.pending.retain(|e| e.4 != entity);
    }
    fn set(&mut self, entity: Entity, time: u64) {
        self.clear(entity);
        if time < Wheel::HORIZON {
            let tie = self.ties.as_ref().map(|ties| ties[entity as usize]);
            let drawn = |tie: Tie| (tie.kind(), hash(tie.0, time), hash(entity, time));
            let (kind, key, alike) = tie.map_or((0, 0, 0), drawn);
            self.pending.insert((time, kind, key, alike, entity));
        }
    }
    fn pop(&mut self) -> Option<(u64, Entity)> {
        self.pending.pop_first().map(|e| (e.0, e.4))
    }
}

/// Keys that are no numbers in order.
fn key(entity: Entity) -> u32 {
    entity.wrapping_mul(0x9e37_79b9) ^ 0x1234_5678
}

/// Gaps over every level, and none at all; whole buckets of each level, which end where a bucket begins.
fn gap() -> impl Strategy<Value = u64> {
    let whole = (NARROWEST..=WIDEST, 0..4u32, 0..4u64).prop_map(|(shift, level, n)| n << (shift + BITS * level));
    let far = Just(u64::MAX / 2);
    prop_oneof![Just(0), 0..1000u64, 0..1u64 << 20, 0..1u64 << 31, 0..1u64 << 43, 0..1u64 << 52, far, whole]
}

proptest! {
    #[test]
    fn behaves_like_a_sorted_set(
        draws: bool,
        apart in NARROWEST..=WIDEST,
        steps in prop::collection::vec((0..12u32, gap(), 0..4u8), 1..400),
    ) {
        // Of the four entities of a kind two have the same key.
        let ties: Vec<Tie> = (0..12).map(|n| Tie::new((n / 4) as u8, key(if n % 4 == 0 { n + 1 } else { n }))).collect();
        let mut wheel = if draws { Wheel::drawing(ties.clone()) } else { Wheel::new(12) };
        wheel = wheel.spaced(1 << apart, 0);
        let mut model = Model { ties: draws.then_some(ties), pending: BTreeSet::new() };
        let mut now = 0;
        for (entity, gap, what) in steps {
            match what {
                0 => { wheel.clear(entity); model.clear(entity); }
                1 | 2 => { wheel.set(entity, now + gap); model.set(entity, now + gap); }
                _ => {
                    let popped = wheel.pop();
                    prop_assert_eq!(popped, model.pop());
                    if let Some((time, _)) = popped { now = time; }
                }
            }
        }
        while let Some(expected) = model.pop() {
            prop_assert_eq!(wheel.pop(), Some(expected));
        }
        prop_assert_eq!(wheel.pop(), None);
    }
}

/// A picosecond around where buckets begin, of each level: the first two, the last of a round, and the first two of
/// the next.
fn edges(shift: u32) -> Vec<u64> {
    let of_level = |level| [1, 2, 4095, 4096, 4097].map(|n: u128| n << (shift + BITS * level));
    let begins = (0..LEVELS as u32).flat_map(of_level).filter(|at| *at < u128::from(Wheel::HORIZON / 2));
    begins.flat_map(|at| [at - 1, at, at + 1]).map(|at| at as u64).collect()
}

/// From every edge on, an event at every edge after it. All were set elsewhere before, and every fifth is taken away.
/// When half of them have come, those are set again.
#[test]
fn events_at_the_edges_of_every_level_come_in_order() {
    for shift in [NARROWEST, WIDE_ENOUGH, WIDEST] {
        let edges = edges(shift);
        for start in &edges {
            let mut wheel = Wheel::new(edges.len()).spaced(4 << shift, 0);
            assert_eq!(wheel.shift, shift);
            let mut model = Model { ties: None, pending: BTreeSet::new() };
            wheel.set(0, *start);
            assert_eq!(wheel.pop(), Some((*start, 0)));
            let set = |wheel: &mut Wheel, model: &mut Model, entity: Entity, at: u64| {
                wheel.set(entity, at);
                model.set(entity, at);
            };
            let mut by_edge = (0..).zip(&edges).collect::<Vec<(Entity, &u64)>>();
            by_edge.sort_by_key(|(entity, _)| key(*entity));
            for (entity, ahead) in &by_edge {
                set(&mut wheel, &mut model, *entity, start + edges[key(*entity) as usize % edges.len()]);
                set(&mut wheel, &mut model, *entity, start + *ahead);
            }
            for entity in (0..edges.len() as Entity).step_by(5) {
                wheel.clear(entity);
                model.clear(entity);
            }
            for _ in 0..edges.len() / 2 {
                let (now, entity) = model.pop().expect("four fifths are pending");
                assert_eq!(wheel.pop(), Some((now, entity)), "from {start}, buckets of 2^{shift}");
                set(&mut wheel, &mut model, (entity + 5) % edges.len() as Entity, now + edges[entity as usize]);
            }
            while let Some(expected) = model.pop() {
                assert_eq!(wheel.pop(), Some(expected), "from {start}, buckets of 2^{shift}");
            }
            assert_eq!(wheel.pop(), None);
        }
    }
}

/// 2^53 ps are 2.5 h: the last picosecond before fits, and what is set for later takes away what was pending.
#[test]
fn what_is_past_the_horizon_is_left_out() {
    let mut wheel = Wheel::new(3);
    wheel.set(0, Wheel::HORIZON - 1);
    wheel.set(1, Wheel::HORIZON);
    wheel.set(2, 1000);
    wheel.set(2, u64::MAX);
    assert_eq!([wheel.pop(), wheel.pop()], [Some(((1 << 53) - 1, 0)), None]);
}

/// Whoever comes first where all are pending, whatever the order in which they are asked for.
#[test]
fn who_would_come_first_does() {
    let mut wheel = Wheel::drawing((0..5).map(|n| Tie::new(0, key(n))));
    assert_eq!(wheel.first_of([].into_iter(), 7), None);
    for instant in (1..=20).map(|n| n * 1_200_000) {
        let (up, down) = (wheel.first_of(0..5, instant), wheel.first_of((0..5).rev(), instant));
        (0..5).for_each(|entity| wheel.set(entity, instant));
        let came = (0..5).filter_map(|_| wheel.pop()).map(|event| event.1).next();
        assert_eq!((up, down), (came, came));
    }
}

/// Keys that differ in one bit, at a time of which each bit is set: to join the two would lose the key's.
#[test]
fn different_keys_have_different_hashes_late_in_a_run() {
    let late = Wheel::HORIZON - 1;
    let hashes: BTreeSet<u64> = (0..32).map(|bit| hash(1 << bit, late)).chain([hash(0, late)]).collect();
    assert_eq!(hashes.len(), 33);
}

/// At 1 ps the first product is the constant itself. Its halves, ff51afd7 and ed558ccd, differ in 1204231a, so
/// ff51afd71204231a * c4ceb9fe1a85ec53 modulo 2^64. Another hash would draw other orders, and so change results.
#[test]
fn the_hash_multiplies_folds_and_multiplies() {
    assert_eq!(hash(0, 1), 0x4c8b_acd9_8835_596e);
}

/// Buckets of 2^17 ps. Of two events the later stays, and is joined by three more; what is set while these are taken
/// comes in its turn.
#[test]
fn what_is_set_for_the_bucket_that_is_emptied_comes_in_its_turn() {
    let mut wheel = Wheel::new(4);
    let bucket = 5 << WIDEST;
    let set = |wheel: &mut Wheel, events: &[(Entity, u64)]| {
        events.iter().for_each(|(entity, at)| wheel.set(*entity, bucket + at));
    };
    set(&mut wheel, &[(0, 30), (1, 10)]);
    assert_eq!(wheel.pop(), Some((bucket + 10, 1)));
    set(&mut wheel, &[(1, 20), (2, 40), (3, 10)]);
    assert_eq!([wheel.pop(), wheel.pop()], [Some((bucket + 10, 3)), Some((bucket + 20, 1))]);
    set(&mut wheel, &[(3, 35), (1, 25)]);
    let order: Vec<Entity> = std::iter::from_fn(|| wheel.pop()).map(|event| event.1).collect();
    assert_eq!(order, [1, 0, 3, 2]);
}

/// Buckets of 2^9 ps last for 2.097 us in 4096, so waits of 1.084 us let events 2.4 ns apart have them, and events 12 ns
/// apart have 2^11 = 2048 ps. Waits of 5 us need 2^11: 8.4 us. Longer ones than 33.5 us do not count.
/// In a round that goes on from within a bucket, 4094 are whole: 4095 * 512 ps are one too many, a picosecond less is not.
#[test]
fn buckets_are_a_quarter_as_wide_as_events_are_apart_and_a_round_as_long_as_they_wait() {
    let width = |apart, ahead| Wheel::new(0).spaced(apart, ahead).shift;
    assert_eq!([width(2400, 1_084_000), width(12_000, 1_084_000), width(2400, 5_000_000)], [9, 11, 11]);
    assert_eq!([width(1, 0), width(1, u64::MAX), width(1 << 20, 0)], [9, 13, 17]);
    assert_eq!([width(1, 4095 * 512 - 1), width(1, 4095 * 512)], [9, 10]);
}

/// In a round of 4096 buckets one may be set up to 4095 ahead, past the end of the round; what is beyond waits in the
/// second level, and comes between.
#[test]
fn a_round_goes_on_where_it_began() {
    let mut wheel = Wheel::new(5).spaced(1 << 9, 0);
    let bucket = |n: u64| n << 9;
    wheel.set(0, bucket(4000));
    assert_eq!(wheel.pop(), Some((bucket(4000), 0)));
    for (entity, n) in [(1, 4096), (2, 4100), (3, 8095), (4, 8096)] {
        wheel.set(entity, bucket(n));
    }
    let level = |wheel: &Wheel, entity: u32| wheel.slots[entity].location as usize / BUCKETS;
    assert_eq!([1, 2, 3, 4].map(|entity| level(&wheel, entity)), [0, 0, 0, 1]);
    assert_eq!(wheel.pop(), Some((bucket(4096), 1)));
    wheel.set(0, bucket(8097));
    let order: Vec<Entity> = std::iter::from_fn(|| wheel.pop()).map(|event| event.1).collect();
    assert_eq!(order, [2, 3, 4, 0]);
}

/// Buckets of 2^9 = 512 ps: 3 ps is in the one that is open from the start, 1000 ps in the next.
#[test]
fn what_is_set_for_the_bucket_that_is_open_comes_first() {
    let mut wheel = Wheel::new(2).spaced(1 << 9, 0);
    wheel.set(0, 1000);
    wheel.set(1, 3);
    assert_eq!([wheel.pop(), wheel.pop(), wheel.pop()], [Some((3, 1)), Some((1000, 0)), None]);
}

#[test]
fn one_instant_comes_out_in_the_order_of_numbers() {
    let mut wheel = Wheel::new(4);
    for entity in [2, 0, 3, 1] {
        wheel.set(entity, 5_000_000);
    }
    let order: Vec<_> = std::iter::from_fn(|| wheel.pop()).map(|e| e.1).collect();
    assert_eq!(order, [0, 1, 2, 3]);
}

/// The orders in which five events come out at each of 12 000 instants, 1.2 us apart.
fn orders() -> Vec<Vec<Entity>> {
    let mut wheel = Wheel::drawing((0..5).map(|n| Tie::new(0, key(n))));
    let at = |instant: u64| {
        (0..5).for_each(|entity| wheel.set(entity, instant * 1_200_000));
        (0..5).filter_map(|_| wheel.pop()).map(|(_, entity)| entity).collect()
    };
    (1..=12_000).map(at).collect()
}

#[test]
fn every_order_of_one_instant_is_drawn_equally_often() {
    let mut counts = std::collections::BTreeMap::new();
    for order in orders() {
        *counts.entry(order).or_insert(0u32) += 1;
    }
    // 5! = 120 orders, each expected 100 times. Chi-square with 119 degrees of freedom: mean 119, standard
    // deviation sqrt(238) = 15.4; above 185 with a chance of 1e-4.
    let chi_square: f64 = counts.values().map(|n| (f64::from(*n) - 100.0).powi(2) / 100.0).sum();
    assert!(counts.len() == 120 && chi_square < 185.0, "{} orders, {chi_square}", counts.len());
}

#[test]
fn an_order_says_nothing_about_the_next() {
    // Who comes first now comes first again at the next instant once in five: 2400 of 12 000 times, standard
    // deviation sqrt(12 000 * 0.2 * 0.8) = 44.
    let again = orders().windows(2).filter(|pair| pair[0][0] == pair[1][0]).count();
    assert!(again.abs_diff(2400) < 4 * 44, "{again}");
}

#[test]
fn equal_keys_prefer_nobody() {
    let mut wheel = Wheel::drawing([Tie::new(3, 77), Tie::new(3, 77)]);
    let mut first = 0;
    for instant in 1..=1000 {
        (0..2).for_each(|entity| wheel.set(entity, instant * 1_200_000));
        first += u32::from(wheel.pop() == Some((instant * 1_200_000, 0)));
        wheel.pop();
    }
    // Half of 1000, standard deviation 16.
    assert!(first.abs_diff(500) < 64, "{first}");
}

#[test]
fn kinds_keep_their_order() {
    let mut wheel = Wheel::drawing((0..6).map(|n| Tie::new(2 - (n / 2) as u8, key(n))));
    for instant in 1..100 {
        (0..6).for_each(|entity| wheel.set(entity, instant * 1_000_000));
        let order: Vec<Entity> = (0..6).filter_map(|_| wheel.pop()).map(|(_, entity)| entity / 2).collect();
        assert_eq!(order, [2, 2, 1, 1, 0, 0]);
    }
}
