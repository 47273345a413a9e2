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
use std::ops::{Index, IndexMut};

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

/// What is kept of each entity, which alone opens it.
struct Slots(Vec<Slot>);

impl Index<Entity> for Slots {
    type Output = Slot;

    #[inline(always)]
    fn index(&self, entity: Entity) -> &Slot {
        &self.0[entity as usize]
    }
}

impl IndexMut<Entity> for Slots {
    #[inline(always)]
    fn index_mut(&mut self, entity: Entity) -> &mut Slot {
        &mut self.0[entity as usize]
    }
}

/// The pending events of a run.
pub struct Wheel {
    slots: Slots,
    /// A bucket of the first level is two to the power of this wide, ps.
    shift: u32,
    heads: Box<[[u32; BUCKETS]; LEVELS]>,
    /// A bit for each bucket with events.
    words: [[u64; BUCKETS / 64]; LEVELS],
    /// A bit for each of those words that is not zero, and for some that have become zero since they were last looked at.
    summary: [u64; LEVELS],
    /// The bucket being emptied, counted from time zero.
    current: u64,
    /// Its events, latest first.
    open: Vec<Pending>,
    /// Events set since for the same bucket or an earlier time. One whose slot says otherwise was taken away.
    late: BinaryHeap<Reverse<Pending>>,
}

impl Wheel {
    /// Every run ends before this time.
    pub const HORIZON: u64 = 1 << 53;

    /// A wheel for entities `0..entities`, with nothing pending. At one instant the lower number comes first.
    pub fn new(entities: usize) -> Wheel {
        Wheel::of(Slots(vec![Slot::new(Tie::default()); entities]))
    }

    /// A wheel for as many entities as `ties`, with nothing pending. At one instant the lower kind comes first, and
    /// the order within a kind is drawn.
    pub fn drawing(ties: impl IntoIterator<Item = Tie>) -> Wheel {
        Wheel::of(Slots(ties.into_iter().map(Slot::new).collect()))
    }

    fn of(slots: Slots) -> Wheel {
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
    /// A time at or past the horizon leaves it without one, or, less than a round ahead, with one that no run reaches.
    #[inline]
    pub fn set(&mut self, entity: Entity, time: u64) {
        let bucket = time >> self.shift;
        if self.is_near(bucket) && self.slots[entity].location == IDLE {
            self.link::<0>(entity, time, bucket as usize);
        } else {
            self.replace(entity, time);
        }
    }

    /// As [`set`](Wheel::set), whatever the entity has pending and however far `time` is.
    #[inline(never)]
    fn replace(&mut self, entity: Entity, time: u64) {
        let slot = self.slots[entity];
        if slot.location != IDLE {
            if slot.time == time {
                return;
            }
            if slot.location < BUCKETS as u32 {
                self.unlink(slot);
                let bucket = time >> self.shift;
                if self.is_near(bucket) {
                    return self.link::<0>(entity, time, bucket as usize);
                }
                self.slots[entity].location = IDLE;
            } else {
                self.clear(entity);
            }
        }
        if time < Self::HORIZON {
            self.insert(entity, time);
        }
    }

    /// Takes the entity's pending event away.
    pub fn clear(&mut self, entity: Entity) {
        let slot = self.slots[entity];
        match slot.location {
            IDLE => return,
            LATE => {}
            OPEN => {
                let at = self.open.iter().position(|e| e.entity == entity).expect("an open event is in the list");
                self.open.remove(at);
            }
            _ => self.unlink(slot),
        }
        self.slots[entity].location = IDLE;
    }

    /// Takes an event out of the list of its bucket.
    #[inline(always)]
    fn unlink(&mut self, slot: Slot) {
        let Slot { next, prev, location, .. } = slot;
        if next != NONE {
            self.slots[next].prev = prev;
        }
        if prev != NONE {
            self.slots[prev].next = next;
            return;
        }
        let (level, bucket) = (location as usize / BUCKETS % LEVELS, location as usize % BUCKETS);
        self.heads[level][bucket] = next;
        if next == NONE {
            self.unmark(level, bucket);
        }
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
                    self.slots[entity].location = IDLE;
                    return Some((time, entity));
                }
            }
            // Most buckets hold one event or two, which need not pass through the open list.
            if let Some(bucket) = self.after(0) {
                let entity = self.heads[0][bucket];
                let slot = &mut self.slots[entity];
                let next = slot.next;
                if next == NONE {
                    slot.location = IDLE;
                    let time = slot.time;
                    self.heads[0][bucket] = NONE;
                    self.unmark(0, bucket);
                    self.current = self.current & !(BUCKETS as u64 - 1) | bucket as u64;
                    return Some((time, entity));
                }
                if self.slots[next].next == NONE {
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
        let of = |entity: Entity| self.pending(entity, self.slots[entity].time);
        let newer_first = of(newer) < of(older);
        let (first, stays) = if newer_first { (newer, older) } else { (older, newer) };
        let left = &mut self.slots[stays];
        (left.next, left.prev) = (NONE, NONE);
        self.heads[0][bucket] = stays;
        // The first bucket of a round is emptied as the round begins, so this one is not it.
        self.current = self.current & !(BUCKETS as u64 - 1) | (bucket as u64 - 1);
        let taken = &mut self.slots[first];
        taken.location = IDLE;
        (taken.time, first)
    }

    #[inline(always)]
    fn pending(&self, entity: Entity, time: u64) -> Pending {
        Pending { time, entity, tie: self.slots[entity].tie }
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
            self.slots[head].prev = entity;
        } else {
            self.mark(LEVEL, index);
        }
        let slot = &mut self.slots[entity];
        (slot.time, slot.next, slot.prev) = (time, head, NONE);
        slot.location = (LEVEL * BUCKETS + index) as u32;
    }

    #[inline]
    fn insert_late(&mut self, entity: Entity, time: u64) {
        self.slots[entity].time = time;
        self.slots[entity].location = LATE;
        self.late.push(Reverse(self.pending(entity, time)));
    }

    /// Takes the earliest late event, if it comes before the open ones.
    fn pop_late(&mut self) -> Option<(u64, Entity)> {
        while let Some(Reverse(event)) = self.late.peek().copied() {
            let slot = &mut self.slots[event.entity];
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
        let at = if self.words[0] != [0; BUCKETS / 64] { Some(next) } else { higher.map(begins) };
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
    fn after(&mut self, level: usize) -> Option<usize> {
        let at = (self.current >> (BITS * level as u32)) as usize % BUCKETS;
        let word = at / 64;
        // Bits above `at` in its own word; two shifts, because 64 is too many for one.
        let here = self.words[level][word] & (!0u64 << (at % 64) << 1);
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        let later = !0u64 << word << 1;
        loop {
            let marked = self.summary[level] & later;
            if marked == 0 {
                return None;
            }
            let word = marked.trailing_zeros() as usize % (BUCKETS / 64);
            let bits = self.words[level][word];
            if bits != 0 {
                return Some((word * 64 + bits.trailing_zeros() as usize) % BUCKETS);
            }
            self.summary[level] &= !(1 << word);
        }
    }

    /// Opens a first-level bucket: its events, sorted, become the open list.
    #[inline]
    fn drain_to_open(&mut self, bucket: usize) {
        let mut at = std::mem::replace(&mut self.heads[0][bucket], NONE);
        self.unmark(0, bucket);
        while at != NONE {
            let slot = &mut self.slots[at];
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
            let Slot { time, next, .. } = self.slots[at];
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
        // Its word may be zero now. The summary is told when the word is looked at: as often as not it is marked again
        // before.
        self.words[level][bucket / 64] &= !(1 << (bucket % 64));
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
mod tests;
