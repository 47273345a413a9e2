//! Pending events: one slot an entity, in a timing wheel of four levels.
//!
//! Each entity (a link, a source, a timer) has at most one pending event, so the
//! wheel holds no event objects: only, for each entity, a time and its neighbours
//! in a bucket's list. Taking the earliest is finding a set bit.
//!
//! Events of one instant come out in the order of the entities' numbers, or by
//! kind and, within a kind, in an order drawn anew for each instant: that of a
//! hash of the instant and the entity's key. So the order needs no state, and it
//! is the same whatever else is pending.
//!
//! A level has 4096 buckets; a bucket of one level is as wide as the whole level
//! below. Those of the first level are a quarter as wide as events are apart, as far
//! as that is known beforehand, and 2^17 ps (131 ns) wide at most: then the levels are
//! 537 us, 2.2 s and 2.5 h long, and nothing is in the fourth. The first level
//! goes round: it holds what is less than its whole length ahead.
//!
//! Of two events in a bucket the earlier is taken and the other stays. More are sorted.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Number of an entity.
pub type Entity = u32;

const BITS: u32 = 12;
const BUCKETS: usize = 1 << BITS;
const LEVELS: usize = 4;
/// How wide buckets of the first level are at least and at most, as exponents of two.
const NARROWEST: u32 = 9;
const WIDEST: u32 = 17;
/// How wide they need not be, whatever waits there are.
const WIDE_ENOUGH: u32 = 13;
const NONE: u32 = u32::MAX;

/// Where an entity's event is kept.
const IDLE: u32 = u32::MAX;
const OPEN: u32 = u32::MAX - 1;
const LATE: u32 = u32::MAX - 2;

/// What decides between events of one instant: a kind, of which lower ones come first, and a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tie(u32);

impl Tie {
    const KEY_BITS: u32 = 28;

    /// The tie of an entity of a kind below 16. The lowest bits of its key count, and should be random.
    pub fn new(kind: u8, key: u32) -> Tie {
        assert!(kind < 16, "there are at most 16 kinds of events");
        Tie(u32::from(kind) << Tie::KEY_BITS | key & ((1 << Tie::KEY_BITS) - 1))
    }

    const fn kind(self) -> u32 {
        self.0 >> Tie::KEY_BITS
    }
}

/// A pending event of the bucket that is being emptied. Events of one instant and one kind stand in the order of a
/// hash of the instant and their keys; if two have the same key, of the instant and their entities.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Pending {
    time: u64,
    entity: Entity,
    tie: Tie,
}

impl Pending {
    #[cold]
    #[inline(never)]
    fn is_first_of_instant(&self, other: &Pending) -> bool {
        if self.tie.kind() != other.tie.kind() {
            return self.tie.kind() < other.tie.kind();
        }
        // At one instant different keys have different hashes.
        if self.tie != other.tie {
            return hash(self.tie.0, self.time) < hash(other.tie.0, other.time);
        }
        if self.tie == Tie::default() {
            return self.entity < other.entity;
        }
        hash(self.entity, self.time) < hash(other.entity, other.time)
    }
}

// Sorting and the heap ask for `<` and `<=` alone; both are one comparison where times differ.
impl PartialOrd for Pending {
    #[inline(always)]
    fn lt(&self, other: &Pending) -> bool {
        self.time < other.time || self.time == other.time && self.is_first_of_instant(other)
    }

    #[inline(always)]
    fn le(&self, other: &Pending) -> bool {
        !other.lt(self)
    }

    fn partial_cmp(&self, other: &Pending) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pending {
    fn cmp(&self, other: &Pending) -> Ordering {
        if self == other {
            Ordering::Equal
        } else if self.lt(other) {
            Ordering::Less
        } else {
            Ordering::Greater
        }
    }
}

#[derive(Clone, Copy)]
struct Slot {
    time: u64,
    next: u32,
    prev: u32,
    tie: Tie,
    /// A bucket's number over all levels, or [`IDLE`], [`OPEN`] or [`LATE`].
    location: u32,
}

impl Slot {
    fn new(tie: Tie) -> Slot {
        Slot { time: 0, next: NONE, prev: NONE, tie, location: IDLE }
    }
}

/// The pending events of a run.
pub struct Wheel {
    slots: Vec<Slot>,
    /// A bucket of the first level is two to the power of this wide, ps.
    shift: u32,
    heads: Box<[[u32; BUCKETS]; LEVELS]>,
    /// A bit for each bucket with events, and a bit for each of those words.
    words: [[u64; BUCKETS / 64]; LEVELS],
    summary: [u64; LEVELS],
    /// The bucket being emptied, counted from time zero.
    current: u64,
    /// Its events, latest first.
    open: Vec<Pending>,
    /// Events set since for the same bucket or an earlier time. One whose slot says otherwise was taken away.
    late: BinaryHeap<Reverse<Pending>>,
}

impl Wheel {
    /// Times at or past this do not fit.
    pub const HORIZON: u64 = 1 << 53;

    /// A wheel for entities `0..entities`, with nothing pending. At one instant the lower number comes first.
    pub fn new(entities: usize) -> Wheel {
        Wheel::of(vec![Slot::new(Tie::default()); entities])
    }

    /// A wheel for as many entities as `ties`, with nothing pending. At one instant the lower kind comes first, and
    /// the order within a kind is drawn.
    pub fn drawing(ties: impl IntoIterator<Item = Tie>) -> Wheel {
        Wheel::of(ties.into_iter().map(Slot::new).collect())
    }

    fn of(slots: Vec<Slot>) -> Wheel {
        Wheel {
            slots,
            shift: WIDEST,
            heads: Box::new([[NONE; BUCKETS]; LEVELS]),
            words: [[0; BUCKETS / 64]; LEVELS],
            summary: [0; LEVELS],
            current: 0,
            open: Vec::with_capacity(64),
            late: BinaryHeap::with_capacity(64),
        }
    }

    /// The same for events that are `apart` ps from one to the next on average, most of them set less than `ahead` ps
    /// before their time, with nothing pending. A first level shorter than that would put every event into two buckets,
    /// one after the other.
    #[must_use]
    pub fn spaced(mut self, apart: u64, ahead: u64) -> Wheel {
        let covers = |shift: &u32| ahead >> shift < BUCKETS as u64 - 1;
        let narrowest = (NARROWEST..WIDE_ENOUGH).find(covers).unwrap_or(WIDE_ENOUGH);
        self.shift = (apart / 4).max(1).ilog2().clamp(narrowest, WIDEST);
        self
    }

    /// Whether an event of this bucket of the first level's width is kept there: after the current one, and less than a
    /// round ahead.
    #[inline(always)]
    const fn is_near(&self, bucket: u64) -> bool {
        bucket.wrapping_sub(self.current + 1) < BUCKETS as u64 - 1
    }

    /// Sets the entity's pending event to `time`, replacing any it had.
    /// A time past the horizon leaves it without one.
    #[inline]
    pub fn set(&mut self, entity: Entity, time: u64) {
        let bucket = time >> self.shift;
        if self.is_near(bucket) && self.slots[entity as usize].location == IDLE {
            self.link::<0>(entity, time, bucket as usize);
        } else {
            self.replace(entity, time);
        }
    }

    /// As [`set`](Wheel::set), whatever the entity has pending and however far `time` is.
    #[inline(never)]
    fn replace(&mut self, entity: Entity, time: u64) {
        if self.slots[entity as usize].location != IDLE {
            if self.slots[entity as usize].time == time {
                return;
            }
            self.clear(entity);
        }
        if time < Self::HORIZON {
            self.insert(entity, time);
        }
    }

    /// Takes the entity's pending event away.
    pub fn clear(&mut self, entity: Entity) {
        let Slot { next, prev, location, .. } = self.slots[entity as usize];
        match location {
            IDLE => return,
            LATE => {}
            OPEN => {
                let at = self.open.iter().position(|e| e.entity == entity).expect("an open event is in the list");
                self.open.remove(at);
            }
            bucket => {
                if next != NONE {
                    self.slots[next as usize].prev = prev;
                }
                if prev != NONE {
                    self.slots[prev as usize].next = next;
                } else {
                    let (level, bucket) = (bucket as usize / BUCKETS, bucket as usize % BUCKETS);
                    self.heads[level][bucket] = next;
                    if next == NONE {
                        self.unmark(level, bucket);
                    }
                }
            }
        }
        self.slots[entity as usize].location = IDLE;
    }

    /// Takes the earliest event: its time and entity.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, Entity)> {
        loop {
            // One comparison for both: mostly there are neither.
            if self.late.len() + self.open.len() > 0 {
                if let Some(event) = self.pop_late() {
                    return Some(event);
                }
                if let Some(Pending { time, entity, .. }) = self.open.pop() {
                    self.slots[entity as usize].location = IDLE;
                    return Some((time, entity));
                }
            }
            // Most buckets hold one event or two, which need not pass through the open list.
            if let Some(bucket) = self.after(0) {
                let entity = self.heads[0][bucket];
                let slot = &mut self.slots[entity as usize];
                let next = slot.next;
                if next == NONE {
                    slot.location = IDLE;
                    let time = slot.time;
                    self.heads[0][bucket] = NONE;
                    self.unmark(0, bucket);
                    self.current = self.current & !(BUCKETS as u64 - 1) | bucket as u64;
                    return Some((time, entity));
                }
                if self.slots[next as usize].next == NONE {
                    return Some(self.pop_of_two(bucket, entity, next));
                }
            }
            if !self.advance() {
                return None;
            }
        }
    }

    /// Takes the earlier event of a first-level bucket that holds these two. The other stays there: the bucket is not
    /// the current one yet, so that what is set for it meanwhile joins its list.
    #[inline]
    fn pop_of_two(&mut self, bucket: usize, newer: Entity, older: Entity) -> (u64, Entity) {
        let of = |entity: Entity| self.pending(entity, self.slots[entity as usize].time);
        let newer_first = of(newer) < of(older);
        let (first, stays) = if newer_first { (newer, older) } else { (older, newer) };
        let left = &mut self.slots[stays as usize];
        (left.next, left.prev) = (NONE, NONE);
        self.heads[0][bucket] = stays;
        // The first bucket of a round is emptied as the round begins, so this one is not it.
        self.current = self.current & !(BUCKETS as u64 - 1) | (bucket as u64 - 1);
        let taken = &mut self.slots[first as usize];
        taken.location = IDLE;
        (taken.time, first)
    }

    #[inline(always)]
    fn pending(&self, entity: Entity, time: u64) -> Pending {
        Pending { time, entity, tie: self.slots[entity as usize].tie }
    }

    /// The entity whose event would come first at `time`.
    pub(crate) fn first_of(&self, entities: impl Iterator<Item = Entity>, time: u64) -> Option<Entity> {
        entities.map(|entity| self.pending(entity, time)).min().map(|event| event.entity)
    }

    fn insert(&mut self, entity: Entity, time: u64) {
        let bucket = time >> self.shift;
        if bucket <= self.current {
            return self.insert_late(entity, time);
        }
        if self.is_near(bucket) {
            return self.link::<0>(entity, time, bucket as usize);
        }
        let apart = bucket ^ self.current;
        if apart >> (2 * BITS) == 0 {
            self.link::<1>(entity, time, (bucket >> BITS) as usize);
        } else if apart >> (3 * BITS) == 0 {
            self.link::<2>(entity, time, (bucket >> (2 * BITS)) as usize);
        } else {
            self.link::<3>(entity, time, (bucket >> (3 * BITS)) as usize);
        }
    }

    /// Puts an entity at the head of a bucket's list.
    #[inline(always)]
    fn link<const LEVEL: usize>(&mut self, entity: Entity, time: u64, bucket: usize) {
        let index = bucket % BUCKETS;
        let head = std::mem::replace(&mut self.heads[LEVEL][index], entity);
        if head != NONE {
            self.slots[head as usize].prev = entity;
        } else {
            self.mark(LEVEL, index);
        }
        let slot = &mut self.slots[entity as usize];
        (slot.time, slot.next, slot.prev) = (time, head, NONE);
        slot.location = (LEVEL * BUCKETS + index) as u32;
    }

    #[inline]
    fn insert_late(&mut self, entity: Entity, time: u64) {
        self.slots[entity as usize].time = time;
        self.slots[entity as usize].location = LATE;
        self.late.push(Reverse(self.pending(entity, time)));
    }

    /// Takes the earliest late event, if it comes before the open ones.
    fn pop_late(&mut self) -> Option<(u64, Entity)> {
        while let Some(Reverse(event)) = self.late.peek().copied() {
            let slot = &mut self.slots[event.entity as usize];
            let pending = slot.location == LATE && slot.time == event.time;
            if pending && self.open.last().is_some_and(|open| *open < event) {
                return None;
            }
            self.late.pop();
            if pending {
                slot.location = IDLE;
                return Some((event.time, event.entity));
            }
        }
        None
    }

    /// Moves on to the next bucket with events; false when nothing is pending.
    fn advance(&mut self) -> bool {
        loop {
            if let Some(bucket) = self.after(0) {
                self.current = self.current & !(BUCKETS as u64 - 1) | bucket as u64;
                self.drain_to_open(bucket);
                return true;
            }
            if !self.next_round() {
                return false;
            }
            if !(self.open.is_empty() && self.late.is_empty()) {
                return true;
            }
        }
    }

    /// Begins a round of the first level: the next one, if something is there already, or the one in which the next
    /// bucket of a higher level begins; false when nothing is pending.
    fn next_round(&mut self) -> bool {
        let higher = (1..LEVELS).find_map(|level| Some((level, self.after(level)?)));
        let begins = |(level, bucket): (usize, usize)| {
            let width = BITS * level as u32;
            self.current >> (width + BITS) << (width + BITS) | (bucket as u64) << width
        };
        let next = (self.current | (BUCKETS as u64 - 1)) + 1;
        let at = if self.summary[0] != 0 { Some(next) } else { higher.map(begins) };
        let Some(at) = at else { return false };
        let spreads = higher.filter(|higher| begins(*higher) == at);
        self.current = at;
        if self.heads[0][0] != NONE {
            self.drain_to_open(0);
        }
        if let Some((level, bucket)) = spreads {
            self.spread(level, bucket);
        }
        true
    }

    /// The first bucket of `level` with events after the current one.
    #[inline]
    fn after(&self, level: usize) -> Option<usize> {
        let at = (self.current >> (BITS * level as u32)) as usize % BUCKETS;
        let word = at / 64;
        // Bits above `at` in its own word; two shifts, because 64 is too many for one.
        let here = self.words[level][word] & (!0u64 << (at % 64) << 1);
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        let later = self.summary[level] & (!0u64 << word << 1);
        if later == 0 {
            return None;
        }
        let word = later.trailing_zeros() as usize % (BUCKETS / 64);
        Some((word * 64 + self.words[level][word].trailing_zeros() as usize) % BUCKETS)
    }

    /// Opens a first-level bucket: its events, sorted, become the open list.
    #[inline]
    fn drain_to_open(&mut self, bucket: usize) {
        let mut at = std::mem::replace(&mut self.heads[0][bucket], NONE);
        self.unmark(0, bucket);
        while at != NONE {
            let slot = &mut self.slots[at as usize];
            slot.location = OPEN;
            self.open.push(Pending { time: slot.time, entity: at, tie: slot.tie });
            at = slot.next;
        }
        if self.open.len() > 1 {
            self.open.sort_unstable_by_key(|event| Reverse(*event));
        }
    }

    /// Spreads a bucket of a higher level over the levels below.
    fn spread(&mut self, level: usize, bucket: usize) {
        let mut at = std::mem::replace(&mut self.heads[level][bucket], NONE);
        self.unmark(level, bucket);
        while at != NONE {
            let Slot { time, next, .. } = self.slots[at as usize];
            self.insert(at, time);
            at = next;
        }
    }

    #[inline]
    fn mark(&mut self, level: usize, bucket: usize) {
        self.words[level][bucket / 64] |= 1 << (bucket % 64);
        self.summary[level] |= 1 << (bucket / 64);
    }

    #[inline]
    fn unmark(&mut self, level: usize, bucket: usize) {
        let word = &mut self.words[level][bucket / 64];
        *word &= !(1 << (bucket % 64));
        // Without a branch, which the processor could not foresee.
        self.summary[level] &= !(u64::from(*word == 0) << (bucket / 64));
    }
}

/// A hash of a key and a time.
const fn hash(key: u32, time: u64) -> u64 {
    // Two rounds of multiply and fold, with the constants of MurmurHash3: one would leave the cyclic order of the keys
    // as it is from one instant to the next.
    let mixed = (time ^ (key as u64) << 32).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed ^ mixed >> 32).wrapping_mul(0xc4ce_b9fe_1a85_ec53)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The same promises kept by a sorted set of time, kind, draw and entity.
    struct Model {
        ties: Option<Vec<Tie>>,
        pending: BTreeSet<(u64, u32, u64, Entity)>,
    }

    impl Model {
        fn clear(&mut self, entity: Entity) {
            self.pending.retain(|e| e.3 != entity);
        }
        fn set(&mut self, entity: Entity, time: u64) {
            self.clear(entity);
            if time < Wheel::HORIZON {
                let tie = self.ties.as_ref().map(|ties| ties[entity as usize]);
                let (kind, rank) = tie.map_or((0, 0), |tie| (tie.kind(), hash(tie.0, time)));
                self.pending.insert((time, kind, rank, entity));
            }
        }
        fn pop(&mut self) -> Option<(u64, Entity)> {
            self.pending.pop_first().map(|e| (e.0, e.3))
        }
    }

    /// Keys that are no numbers in order.
    fn key(entity: Entity) -> u32 {
        entity.wrapping_mul(0x9e37_79b9) ^ 0x1234_5678
    }

    /// Gaps over every level, and none at all; whole buckets of each level, which end where a bucket begins.
    fn gap() -> impl Strategy<Value = u64> {
        let whole = (NARROWEST..=WIDEST, 0..3u32, 0..4u64).prop_map(|(shift, level, n)| n << (shift + BITS * level));
        prop_oneof![Just(0), 0..1000u64, 0..1u64 << 20, 0..1u64 << 31, 0..1u64 << 43, Just(u64::MAX / 2), whole]
    }

    proptest! {
        #[test]
        fn behaves_like_a_sorted_set(
            draws: bool,
            apart in NARROWEST..=WIDEST,
            steps in prop::collection::vec((0..12u32, gap(), 0..4u8), 1..400),
        ) {
            let ties: Vec<Tie> = (0..12).map(|n| Tie::new((n / 4) as u8, key(n))).collect();
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
    #[test]
    fn buckets_are_a_quarter_as_wide_as_events_are_apart_and_a_round_as_long_as_they_wait() {
        let width = |apart, ahead| Wheel::new(0).spaced(apart, ahead).shift;
        assert_eq!([width(2400, 1_084_000), width(12_000, 1_084_000), width(2400, 5_000_000)], [9, 11, 11]);
        assert_eq!([width(1, 0), width(1, u64::MAX), width(1 << 20, 0)], [9, 13, 17]);
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
        let level = |wheel: &Wheel, entity: usize| wheel.slots[entity].location as usize / BUCKETS;
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
}
