//! The queue of a port, from frames that came to it and left it.

use crate::window::takes;
use qcnlab_units::BitRate;
use qcnlab_wire::{Cnm, MacAddress};
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The first octets of a frame from its EtherType on: what tells it apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quoted {
    octets: [u8; Cnm::MAX_MSDU],
    len: u8,
}

impl Quoted {
    pub(super) fn new(msdu: &[u8]) -> Quoted {
        let mut octets = [0; Cnm::MAX_MSDU];
        let len = msdu.len().min(octets.len());
        octets[..len].copy_from_slice(&msdu[..len]);
        Quoted { octets, len: len as u8 }
    }

    /// Whether both begin alike, as far as both are known: at least an EtherType and 14 octets behind it.
    pub(super) fn agrees(&self, other: &Quoted) -> bool {
        let len = usize::from(self.len.min(other.len));
        len >= 16 && self.octets[..len] == other.octets[..len]
    }

    /// Whether it reaches behind an IPv4 header, so that it tells one frame of a flow from the next.
    pub(super) const fn is_exact(&self) -> bool {
        self.len >= 36
    }

    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.octets[..usize::from(self.len)].hash(&mut hasher);
        hasher.finish()
    }
}

/// A frame that came to the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    /// Its number in the capture.
    pub(super) frame: u64,
    pub(super) at: i64,
    pub(super) size: i64,
    pub(super) source: MacAddress,
    pub(super) destination: MacAddress,
    pub(super) rpid: Option<u16>,
    pub(super) quoted: Quoted,
    pub(super) interface: u32,
    /// Frames of its flow that are missing before it.
    pub(super) missing: u64,
    /// Whether its arrival is missing: it is put in where it came at the latest.
    pub(super) unseen: bool,
}

/// It, and the queue that it made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) frame: Arrived,
    /// Whether the queue took it.
    pub(super) admitted: bool,
    /// Octets queued with it, at least and at most.
    pub(super) len: (i64, i64),
    /// Octets that came so close to it that their order is not known.
    pub(super) beside: i64,
    /// Octets of frames that are missing before it, of which it is not known when they came.
    pub(super) unsure: i64,
}

/// Lengths that overtaken frames would have made: so many are kept.
const KEPT: usize = 1 << 16;
/// Missing frames in a row that are reckoned with.
const MOST_MISSING: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Waiting,
    Left,
    Lost,
}

/// A frame that leaves: when, and the octets that had left before and with it.
struct Leaving {
    at: i64,
    before: i64,
    after: i64,
}

/// Where departures come from.
pub(super) enum Departures {
    /// From the capture.
    Captured,
    /// From the rate of the port and what it holds.
    Computed { rate: BitRate, buffer: Option<i64>, free_at: f64 },
}

/// Reconstructs a queue, first in, first out.
pub(super) struct PortQueue {
    departures: Departures,
    /// How close events may be whose order is not known, ps.
    close: i64,
    waiting: VecDeque<(Arrived, Fate)>,
    /// The number of the first of `waiting`.
    first: u64,
    by_content: HashMap<u64, VecDeque<u64>>,
    /// When frames left, and all octets that had left before and by then.
    left: VecDeque<Leaving>,
    left_total: i64,
    /// Octets that were queued when the capture began.
    initial: i64,
    admitted: i64,
    matched: bool,
    /// Frames that left, of those that came and of those that did not, although others of their senders did.
    pub(super) matched_departures: u64,
    pub(super) unseen: u64,
    /// Frames that left, of senders whose frames never come.
    pub(super) unmatched: u64,
    pub(super) lost: u64,
    /// The longest queue that took a frame, and the length that overtaken frames would have made.
    pub(super) longest: i64,
    pub(super) overtaken: Vec<i64>,
    /// Up to this length the queue surely has room, so that a frame that did not leave is missing from the capture. `None` in
    /// captures that lack nothing.
    room: Option<i64>,
    /// Frames of each sender that are put in since its last arrival.
    unseen_of: HashMap<MacAddress, u64>,
    /// Octets that may be queued, and until when.
    perhaps: VecDeque<(i64, i64)>,
    /// Octets that may have left although they still wait, and from when until when.
    doubtful: VecDeque<(i64, i64, i64)>,
    /// The last finished arrivals, for those that came close.
    recent: VecDeque<(i64, i64, u32)>,
}

impl PortQueue {
    pub(super) fn new(departures: Departures, close: i64) -> PortQueue {
        PortQueue {
            departures,
            close,
            waiting: VecDeque::new(),
            first: 0,
            by_content: HashMap::new(),
            left: VecDeque::new(),
            left_total: 0,
            initial: 0,
            admitted: 0,
            matched: false,
            matched_departures: 0,
            unseen: 0,
            unmatched: 0,
            lost: 0,
            longest: 0,
            overtaken: Vec::new(),
            room: None,
            unseen_of: HashMap::new(),
            perhaps: VecDeque::new(),
            doubtful: VecDeque::new(),
            recent: VecDeque::new(),
        }
    }

    pub(super) const fn close(&self) -> i64 {
        self.close
    }

    /// Frames that came and did not leave although the queue had room left this port without being captured.
    pub(super) fn with_room(mut self, room: Option<i64>) -> PortQueue {
        self.room = room;
        self
    }

    pub(super) fn arrive(&mut self, frame: Arrived) {
        let number = self.first + self.waiting.len() as u64;
        match &mut self.departures {
            Departures::Captured => {
                self.by_content.entry(frame.quoted.hash()).or_default().push_back(number);
                self.waiting.push_back((frame, Fate::Waiting));
            }
            Departures::Computed { rate, buffer, free_at } => {
                let queued = ((*free_at - frame.at as f64).max(0.0) * rate.as_f64() / 8e12) as i64;
                if buffer.is_some_and(|buffer| queued + frame.size > buffer) {
                    self.waiting.push_back((frame, Fate::Lost));
                    return;
                }
                *free_at = free_at.max(frame.at as f64) + takes(frame.size as f64, *rate);
                let left = *free_at as i64;
                self.waiting.push_back((frame, Fate::Left));
                self.push_left(left, frame.size);
            }
        }
    }

    /// A frame left, by the capture; `known` says that frames of its sender come over captured links.
    pub(super) fn depart(&mut self, leaving: Arrived, known: bool) {
        if !matches!(self.departures, Departures::Captured) {
            return;
        }
        self.push_left(leaving.at, leaving.size);
        let content = leaving.quoted.hash();
        let number = self.by_content.get_mut(&content).and_then(VecDeque::pop_front);
        let Some(number) = number.filter(|number| *number >= self.first) else {
            match (self.matched, known) {
                (true, true) => self.put_in(leaving),
                (true, false) => self.unmatched += 1,
                (false, _) => self.initial += leaving.size,
            }
            return;
        };
        self.matched = true;
        self.matched_departures += 1;
        for (_, until, _) in self.doubtful.iter_mut().filter(|(_, until, _)| *until == i64::MAX) {
            *until = leaving.at;
        }
        let position = (number - self.first) as usize;
        for (frame, fate) in self.waiting.iter_mut().take(position).filter(|(_, fate)| *fate == Fate::Waiting) {
            *fate = Fate::Lost;
            let content = frame.quoted.hash();
            if let Some(numbers) = self.by_content.get_mut(&content) {
                numbers.pop_front();
            }
        }
        if self.by_content.get(&content).is_some_and(VecDeque::is_empty) {
            self.by_content.remove(&content);
        }
        self.waiting[position].1 = Fate::Left;
    }

    /// Puts the arrival of a frame in that left: it came before all that wait.
    fn put_in(&mut self, leaving: Arrived) {
        self.unseen += 1;
        let at = self.waiting.front().map_or(leaving.at, |(frame, _)| frame.at.min(leaving.at));
        if let Some((first, _)) = self.waiting.front() {
            // Its departure may be missing, too, before this one.
            let from = self.left.iter().rev().nth(1).map_or(i64::MIN, |before| before.at);
            self.doubtful.push_back((from, i64::MAX, first.size));
        }
        self.first -= 1;
        self.waiting.push_front((Arrived { at, unseen: true, ..leaving }, Fate::Left));
    }

    fn push_left(&mut self, at: i64, size: i64) {
        let before = self.left_total;
        self.left_total += size;
        self.left.push_back(Leaving { at, before, after: self.left_total });
    }

    /// The next arrival whose fate is known, by `now`. Of those that neither left nor were overtaken it never is.
    pub(super) fn next(&mut self, now: i64) -> Option<Queued> {
        let (frame, fate) = *self.waiting.front()?;
        let settled = match self.departures {
            Departures::Captured => fate != Fate::Waiting,
            // Others that came close to it are there.
            Departures::Computed { .. } => frame.at + self.close < now,
        };
        if !settled {
            return None;
        }
        self.waiting.pop_front();
        self.first += 1;
        if self.by_content.len() > (1 << 16) {
            self.by_content.retain(|_, numbers| !numbers.is_empty());
        }
        let (mut admitted, mut unsure) = (fate != Fate::Lost, 0);
        if fate == Fate::Lost {
            let queued = self.initial + self.admitted - self.gone(frame.at) + frame.size;
            let departed = self.left.back().map_or(frame.at, |leaving| leaving.at);
            if self.room.is_some_and(|room| queued <= room) {
                admitted = true;
                self.left_unseen(frame.size);
                self.perhaps.push_back((departed, frame.size));
            } else {
                self.lost += 1;
                if self.room.is_some() {
                    // Or it left like those.
                    self.perhaps.push_back((departed, frame.size));
                    unsure = frame.size;
                }
            }
            if self.overtaken.len() < KEPT {
                self.overtaken.push(queued);
            }
        }
        if admitted {
            self.admitted += frame.size;
        }
        unsure += self.missing_before(&frame);
        while self.left.len() > 1 && self.left[1].at < frame.at - 4 * self.close {
            self.left.pop_front();
        }
        let total = self.initial + self.admitted;
        let (most_gone, least_gone) = (self.gone(frame.at + self.close), self.gone(frame.at - self.close));
        let close = |at: i64, interface: u32| (at - frame.at).abs() <= self.close && interface != frame.interface;
        let before: i64 =
            self.recent.iter().filter(|(at, _, interface)| close(*at, *interface)).map(|(_, size, _)| size).sum();
        let behind: i64 = self
            .waiting
            .iter()
            .take_while(|(other, _)| other.at - frame.at <= self.close)
            .filter(|(other, fate)| close(other.at, other.interface) && *fate != Fate::Lost)
            .map(|(other, _)| other.size)
            .sum();
        self.recent.retain(|(at, _, _)| frame.at - at <= 2 * self.close);
        if admitted {
            self.recent.push_back((frame.at, frame.size, frame.interface));
        }
        self.perhaps.retain(|(until, _)| *until >= frame.at);
        self.doubtful.retain(|(_, until, _)| *until >= frame.at);
        let perhaps: i64 = self.perhaps.iter().map(|(_, octets)| octets).sum();
        let doubtful: i64 =
            self.doubtful.iter().filter(|(from, ..)| *from <= frame.at).map(|(_, _, octets)| octets).sum();
        let len = ((total - most_gone - before - doubtful).max(0), total - least_gone + behind + perhaps);
        if admitted && !frame.unseen {
            self.longest = self.longest.max(len.0);
        }
        Some(Queued { frame, admitted, len, beside: before + behind, unsure })
    }

    /// A frame left between the last two departures, or with the last: as early as can be.
    fn left_unseen(&mut self, size: i64) {
        let Some(last) = self.left.pop_back() else { return };
        let at = self.left.back().map_or(last.at, |before| before.at);
        self.left.push_back(Leaving { at, before: last.before, after: last.before + size });
        self.left.push_back(Leaving { at: last.at, before: last.before + size, after: last.after + size });
        self.left_total += size;
    }

    /// All octets that had left by then.
    fn gone(&self, by: i64) -> i64 {
        let count = self.left.partition_point(|leaving| leaving.at <= by);
        match count.checked_sub(1) {
            Some(last) => self.left[last].after,
            None => self.left.front().map_or(self.left_total, |leaving| leaving.before),
        }
    }

    /// Octets of frames before this one whose numbers are missing, and that did not leave in the capture either.
    fn missing_before(&mut self, frame: &Arrived) -> i64 {
        if frame.unseen {
            *self.unseen_of.entry(frame.source).or_default() += 1;
            return 0;
        }
        let put_in = self.unseen_of.remove(&frame.source).unwrap_or(0);
        let octets = frame.missing.saturating_sub(put_in).min(MOST_MISSING) as i64 * frame.size;
        if octets > 0 {
            let until = self.left.back().map_or(frame.at, |leaving| leaving.at);
            self.perhaps.push_back((until, octets));
        }
        octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 8 Gb/s an octet takes 1 ns. Of three frames of 1500 octets at once the third does not fit into 3000 octets, and does
    /// once the first has left; into 2999 the second does not fit either.
    #[test]
    fn a_buffer_takes_what_fits_to_the_octet() {
        let admitted = |buffer: Option<i64>| -> Vec<bool> {
            let mut queue = PortQueue::new(Departures::Computed { rate: BitRate::gbps(8), buffer, free_at: 0.0 }, 0);
            let frame = |number: u64, at: i64| Arrived {
                frame: number,
                at,
                size: 1500,
                source: MacAddress([2, 0, 0, 0, 0, 1]),
                destination: MacAddress([2, 0, 0, 0, 0, 2]),
                rpid: None,
                quoted: Quoted::new(&[]),
                interface: 0,
                missing: 0,
                unseen: false,
            };
            for (number, at) in [(1, 0), (2, 0), (3, 0), (4, 1_500_000)] {
                queue.arrive(frame(number, at));
            }
            std::iter::from_fn(|| queue.next(i64::MAX)).map(|queued| queued.admitted).collect()
        };
        assert_eq!(admitted(Some(3000)), [true, true, false, true]);
        assert_eq!(admitted(Some(2999)), [true, false, false, true]);
        assert_eq!(admitted(None), [true; 4]);
    }
}
