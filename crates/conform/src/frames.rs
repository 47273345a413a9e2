//! The frames of a capture in the order of their stamps, each once.

use super::error::ConformError;
use super::window::takes;
use qcnlab_capture::{CaptureReader, CapturedFrame, Direction, FrameKind, Header, Interface, InterfaceId};
use qcnlab_units::BitRate;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

/// How a capture is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    /// The rate of interfaces that do not say theirs.
    pub(super) rate: Option<BitRate>,
    /// How far, ps, a stamp may be off.
    pub(super) stamps: i64,
    /// How far, ns, a stamp may lie behind an earlier frame's.
    pub(super) disorder_ns: u64,
    /// Whether the capture has frames twice, as those of mirrored ports have.
    pub(super) mirrored: bool,
}

/// Stamps that lie farther back, ns, are a clock that was set, and no disorder.
pub(super) const MOST_DISORDER_NS: u64 = 100_000_000;
/// The last frames of an interface that one is compared with.
const COMPARED: usize = 8;
/// Octets of a long frame: a congestion point takes no two samples so close together, nor one frame twice.
const LONG: f64 = 2000.0;

/// A frame that was read.
#[derive(Debug)]
struct Held {
    number: u64,
    interface: InterfaceId,
    time_ns: Option<u64>,
    octets: Vec<u8>,
    wire_len: u32,
    direction: Option<Direction>,
    comment: String,
}

impl Held {
    const EMPTY: Held = Held {
        number: 0,
        interface: InterfaceId(0),
        time_ns: None,
        octets: Vec::new(),
        wire_len: 0,
        direction: None,
        comment: String::new(),
    };

    /// Takes over a frame, into the memory of another.
    fn put(&mut self, frame: &CapturedFrame<'_>) {
        self.octets.clear();
        self.octets.extend_from_slice(frame.octets);
        self.comment.clear();
        self.comment.push_str(frame.comment);
        (self.number, self.interface, self.time_ns) = (frame.number, frame.interface, frame.time_ns);
        (self.wire_len, self.direction) = (frame.wire_len, frame.direction);
    }

    fn frame(&self) -> CapturedFrame<'_> {
        CapturedFrame {
            number: self.number,
            interface: self.interface,
            time_ns: self.time_ns,
            octets: &self.octets,
            wire_len: self.wire_len,
            direction: self.direction,
            comment: &self.comment,
        }
    }
}

/// Reads a capture.
#[derive(Debug)]
pub(super) struct Frames {
    reader: CaptureReader<File>,
    reading: Reading,
    /// Frames before which others may still come, by stamp and number.
    held: BTreeMap<(u64, u64), Held>,
    current: Held,
    latest: u64,
    ended: bool,
    last: HashMap<InterfaceId, VecDeque<(u64, u64)>>,
    /// Frames that were there before.
    pub(super) repeated: u64,
    /// How far, ns, stamps lay behind earlier frames'.
    pub(super) disorder_ns: u64,
}

impl Frames {
    /// Opens a capture. It is a regular file, because it is read more than once.
    pub(super) fn open(file: &Path, reading: Reading) -> Result<Frames, ConformError> {
        let file = File::open(file).map_err(ConformError::Open)?;
        if !file.metadata().map_err(ConformError::Open)?.is_file() {
            return Err(ConformError::NotAFile);
        }
        Ok(Frames {
            reader: CaptureReader::new(file)?,
            reading,
            held: BTreeMap::new(),
            current: Held::EMPTY,
            latest: 0,
            ended: false,
            last: HashMap::new(),
            repeated: 0,
            disorder_ns: 0,
        })
    }

    pub(super) fn interface(&self, id: InterfaceId) -> Option<&Interface> {
        self.reader.interface(id)
    }

    /// The next frame; `None` at the end.
    pub(super) fn next_frame(&mut self) -> Result<Option<CapturedFrame<'_>>, ConformError> {
        loop {
            let settled = self
                .held
                .first_key_value()
                .is_some_and(|((at, _), _)| self.ended || self.latest.saturating_sub(*at) > self.reading.disorder_ns);
            if settled && let Some((_, held)) = self.held.pop_first() {
                self.current = held;
                return Ok(Some(self.current.frame()));
            }
            if self.ended || !self.read()? {
                self.ended = true;
                if self.held.is_empty() {
                    return Ok(None);
                }
                continue;
            }
            let at = self.current.time_ns.unwrap_or(self.latest);
            self.disorder_ns = self.disorder_ns.max(self.latest.saturating_sub(at));
            self.latest = self.latest.max(at);
            if self.reading.disorder_ns == 0 {
                return Ok(Some(self.current.frame()));
            }
            let held = std::mem::replace(&mut self.current, Held::EMPTY);
            self.held.insert((at, held.number), held);
        }
    }

    /// Reads the next frame that was not there before.
    fn read(&mut self) -> Result<bool, ConformError> {
        loop {
            match self.reader.next_frame()? {
                Some(frame) => self.current.put(&frame),
                None => return Ok(false),
            }
            if !self.is_repeated() {
                return Ok(true);
            }
            self.repeated += 1;
        }
    }

    /// Whether the same octets were on this link less time ago than they take on it: no link carries two such frames, so the
    /// capture has one twice. CNMs are short, and mirrored ports show them again after the longer frames that they wait for: where a
    /// capture has other frames twice, equal CNMs are one within the time of such a frame.
    fn is_repeated(&mut self) -> bool {
        let frame = &self.current;
        let Some(at) = frame.time_ns else { return false };
        let mut hasher = DefaultHasher::new();
        (&frame.octets, frame.wire_len, frame.direction.map(|way| way as u8)).hash(&mut hasher);
        let content = hasher.finish();
        let told = self.reader.interface(frame.interface).and_then(|interface| interface.speed);
        let rate = self.reading.rate.or(told).filter(|rate| *rate > BitRate::ZERO);
        let is_cnm = Header::of(&frame.frame()).is_ok_and(|header| header.kind() == FrameKind::Cnm);
        let octets = if is_cnm && self.reading.mirrored { LONG } else { f64::from(frame.wire_len) };
        let takes = rate.map_or(0, |rate| takes(octets, rate) as i64);
        let least = (takes - 2 * self.reading.stamps).max(0) as u64;
        let last = self.last.entry(frame.interface).or_default();
        if last.iter().any(|(before, when)| *before == content && at.abs_diff(*when).saturating_mul(1000) <= least) {
            return true;
        }
        if last.len() == COMPARED {
            last.pop_front();
        }
        last.push_back((content, at));
        false
    }
}
