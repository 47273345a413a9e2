//! What a capture says before its frames are judged: interfaces, rates, who sends where.

use super::error::ConformError;
use super::frames::{Frames, MOST_DISORDER_NS, Reading};
use super::sequence::{FrameNumber, Loss, Sequences};
use super::tolerances::ConformOptions;
use qcnlab_capture::{CapturedFrame, Direction, FrameKind, Header, Interface, InterfaceId};
use qcnlab_units::{BitRate, Span};
use qcnlab_wire::{MacAddress, Payload};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// Where the first stamp stands, ps: windows before it are not negative.
pub(super) const ORIGIN: i64 = 1_000_000_000_000;
/// Octets of a FCS.
const FCS: u32 = 4;
/// Frames that are not longer than this, octets, may be padded.
const PADDED: u32 = 68;
/// Addresses that are kept.
const MOST_ADDRESSES: usize = 65_536;

/// A first reading of a capture.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) interfaces: Vec<Interface>,
    /// The first stamp, ns.
    first_ns: Option<u64>,
    /// Step of the stamps, ps.
    pub(super) resolution: i64,
    pub(super) frames: u64,
    /// Who sends data, and on which interfaces.
    pub(super) senders: HashMap<MacAddress, SeenAt>,
    /// Where CNMs come from, by interface: sent or of unknown direction.
    pub(super) cnms_at: HashMap<InterfaceId, u64>,
    /// Ports that comments of our captures name.
    pub(super) sampled_at: BTreeSet<String>,
    /// Addresses that data frames on an interface go to.
    pub(super) destinations: HashMap<InterfaceId, HashMap<MacAddress, u64>>,
    /// Addresses that data frames go to which came in at an interface, where the capture says so.
    pub(super) received: HashMap<InterfaceId, HashMap<MacAddress, u64>>,
    /// Addresses that the frames went to which CNMs quote.
    pub(super) quoted: HashMap<MacAddress, u64>,
    /// Frames that are missing on the links beside their senders.
    pub(super) loss: Loss,
    /// Data frames whose IPv4 packet ends 4 octets before them, as before a FCS, and those that end otherwise.
    behind: (u64, u64),
    /// Frames that the capture has once more than they were sent.
    pub(super) repeated: u64,
    reading: Reading,
}

/// Where a sender was seen.
#[derive(Debug, Default)]
pub(super) struct SeenAt {
    /// Data frames by interface, in the order of the first.
    data: Vec<(InterfaceId, u64)>,
    /// CNMs to it, by interface.
    cnms: HashMap<InterfaceId, u64>,
    /// Its frames with a number by interface, and those that are missing between them.
    numbered: HashMap<InterfaceId, (u64, u64)>,
}

impl SeenAt {
    /// CNMs to it, where the most of them were seen.
    pub(super) fn cnms(&self) -> u64 {
        self.cnms.values().copied().max().unwrap_or(0)
    }

    /// The interface beside the sender: where it hears CNMs, else where it was seen first.
    pub(super) fn beside(&self) -> Option<InterfaceId> {
        let heard = self.data.iter().map(|(id, _)| (*id, self.cnms.get(id).copied().unwrap_or(0)));
        let best = heard.clone().map(|(_, count)| count).max()?;
        heard.into_iter().find(|(_, count)| *count == best).map(|(id, _)| id)
    }
}

impl Survey {
    pub(super) fn of(file: &Path, options: &ConformOptions) -> Result<Survey, ConformError> {
        let stamps = options.tolerances.stamps.ps() as i64;
        let reading = Reading { rate: options.rate, stamps, ..Reading::default() };
        let (survey, disorder_ns) = Survey::read(file, reading)?;
        let mirrored = survey.repeated > 0;
        let disorder_ns = if disorder_ns <= MOST_DISORDER_NS { disorder_ns } else { 0 };
        if disorder_ns == 0 && !mirrored {
            return Ok(survey);
        }
        Ok(Survey::read(file, Reading { disorder_ns, mirrored, ..reading })?.0)
    }

    /// Reads a capture; also how far, ns, its stamps go back.
    fn read(file: &Path, reading: Reading) -> Result<(Survey, u64), ConformError> {
        let mut frames = Frames::open(file, reading)?;
        let mut survey = Survey { resolution: 999_999, reading, ..Survey::default() };
        let mut last_interface = 0;
        let mut seen: HashMap<InterfaceId, Sequences> = HashMap::new();
        while let Some(frame) = frames.next_frame()? {
            let Some(time) = frame.time_ns else { return Err(ConformError::NoStamp { frame: frame.number }) };
            survey.first_ns = Some(survey.first_ns.map_or(time, |first| first.min(time)));
            if time % 1000 != 0 {
                survey.resolution = 999;
            }
            survey.frames = survey.frames.max(frame.number);
            last_interface = last_interface.max(frame.interface.0);
            survey.note(&frame, seen.entry(frame.interface).or_default())?;
        }
        survey.interfaces =
            (0..=last_interface).map(|id| frames.interface(InterfaceId(id)).cloned().unwrap_or_default()).collect();
        survey.loss = survey.loss_beside_senders();
        survey.repeated = frames.repeated;
        Ok((survey, frames.disorder_ns))
    }

    /// The frames in the order of their stamps, each once.
    pub(super) fn frames(&self, file: &Path) -> Result<Frames, ConformError> {
        Frames::open(file, self.reading)
    }

    fn note(&mut self, frame: &CapturedFrame<'_>, sequences: &mut Sequences) -> Result<(), ConformError> {
        let header = Header::of(frame)?;
        let at = frame.interface;
        match header.kind() {
            FrameKind::Data => {
                if let Some(behind) = behind_packet(frame, header.msdu) {
                    let count = if behind == FCS { &mut self.behind.0 } else { &mut self.behind.1 };
                    *count += 1;
                }
                if frame.direction != Some(Direction::Received) {
                    let seen = self.senders.entry(header.source).or_default();
                    match seen.data.iter_mut().find(|(id, _)| *id == at) {
                        Some((_, count)) => *count += 1,
                        None => seen.data.push((at, 1)),
                    }
                    if let Some(number) = FrameNumber::of(&frame.octets[header.msdu..]) {
                        let numbered = seen.numbered.entry(at).or_default();
                        *numbered = (numbered.0 + 1, numbered.1 + sequences.missing(number));
                    }
                    *self.destinations.entry(at).or_default().entry(header.destination).or_default() += 1;
                } else {
                    *self.received.entry(at).or_default().entry(header.destination).or_default() += 1;
                }
            }
            FrameKind::Cnm => {
                if frame.direction != Some(Direction::Sent) {
                    *self.senders.entry(header.destination).or_default().cnms.entry(at).or_default() += 1;
                }
                if frame.direction != Some(Direction::Received) {
                    *self.cnms_at.entry(at).or_default() += 1;
                    if let Ok(Ok(decoded)) = super::decoding::read(frame)
                        && let Payload::Cnm(cnm) = decoded.payload
                    {
                        *self.quoted.entry(cnm.destination).or_default() += 1;
                    }
                    if let Some(port) = super::sampled_at(frame.comment)
                        && self.sampled_at.len() < 64
                    {
                        self.sampled_at.insert(port.to_owned());
                    }
                }
            }
            FrameKind::MacControl | FrameKind::Other => {}
        }
        if self.senders.len() > MOST_ADDRESSES {
            return Err(ConformError::TooMany { what: "addresses", limit: MOST_ADDRESSES });
        }
        Ok(())
    }

    /// Frames that are missing on the links beside their senders: behind them the network may drop frames itself.
    fn loss_beside_senders(&self) -> Loss {
        let mut loss = Loss::default();
        for seen in self.senders.values() {
            let numbered = seen.beside().and_then(|id| seen.numbered.get(&id)).copied().unwrap_or_default();
            loss.numbered += numbered.0;
            loss.missing += numbered.1;
        }
        for statistics in self.interfaces.iter().filter_map(|interface| interface.statistics) {
            loss.counted = loss.counted.saturating_add(statistics.received);
            loss.dropped = loss.dropped.saturating_add(statistics.dropped);
        }
        loss
    }

    /// The interfaces over which frames leave towards those to whom CNMs quote frames, but for the links beside senders.
    pub(super) fn congested(&self) -> Vec<InterfaceId> {
        let beside: HashSet<InterfaceId> = self
            .senders
            .values()
            .filter(|seen| !seen.data.is_empty())
            .filter_map(|seen| seen.data.first().map(|(id, _)| *id))
            .collect();
        let leads = |id: &InterfaceId| self.destinations[id].keys().any(|to| self.quoted.contains_key(to));
        let mut all: Vec<InterfaceId> =
            self.destinations.keys().copied().filter(|id| !beside.contains(id) && leads(id)).collect();
        all.sort_unstable();
        all
    }

    /// Addresses that data frames go to over other interfaces than this one, links beside senders left out.
    pub(super) fn reached_beside(&self, port: InterfaceId) -> HashSet<MacAddress> {
        let beside: HashSet<InterfaceId> =
            self.senders.values().filter_map(|seen| seen.data.first()).map(|(id, _)| *id).collect();
        let elsewhere = self.destinations.iter().filter(|(id, _)| **id != port && !beside.contains(id));
        elsewhere.flat_map(|(_, reached)| reached.keys().copied()).collect()
    }

    /// A stamp in ps from [`ORIGIN`], which is the first stamp.
    pub(super) fn stamp(&self, frame: &CapturedFrame<'_>) -> Result<i64, ConformError> {
        let time = frame.time_ns.ok_or(ConformError::NoStamp { frame: frame.number })?;
        let since = time.saturating_sub(self.first_ns.unwrap_or(0)).min(i64::MAX as u64 / 4000);
        Ok(since as i64 * 1000 + ORIGIN)
    }

    /// Seconds on the capture's own clock.
    pub(super) fn seconds(&self, stamp: i64) -> f64 {
        (self.first_ns.unwrap_or(0) as f64 * 1000.0 + (stamp - ORIGIN) as f64) / 1e12
    }

    pub(super) fn name(&self, InterfaceId(id): InterfaceId) -> String {
        match self.interfaces.get(id as usize) {
            Some(interface) if !interface.name.is_empty() => interface.name.clone(),
            _ => id.to_string(),
        }
    }

    /// The interface that the user names, by name or number.
    pub(super) fn called(&self, name: &str) -> Result<InterfaceId, ConformError> {
        let ids = 0..self.interfaces.len() as u32;
        let named = ids.clone().find(|id| self.interfaces[*id as usize].name == name);
        let numbered = || name.parse().ok().filter(|id| ids.contains(id));
        named.or_else(numbered).map(InterfaceId).ok_or_else(|| {
            let all = (0..self.interfaces.len().min(12) as u32).map(|id| self.name(InterfaceId(id))).collect();
            ConformError::NoInterface { name: name.to_owned(), all }
        })
    }

    pub(super) fn rate(&self, id: InterfaceId, told: Option<BitRate>) -> Result<BitRate, ConformError> {
        let speed = self.interfaces.get(id.0 as usize).and_then(|interface| interface.speed);
        let rate = told.or(speed).filter(|rate| *rate > BitRate::ZERO);
        rate.ok_or_else(|| ConformError::NoRate { interface: self.name(id) })
    }

    /// Whether qcnlab wrote the capture, whose frames have no FCS and whose interfaces tell the delay of their links.
    pub(super) fn is_ours(&self) -> bool {
        self.interfaces.iter().any(|interface| interface.comment.starts_with(qcnlab_capture::STAMPS_COMMENT))
    }

    /// Whether a device counts no more octets of a frame than the capture shows: it is ours, or its frames end with their FCS
    /// although it does not say so.
    pub(super) fn shows_all_octets(&self) -> bool {
        self.is_ours() || (self.behind.0 > 0 && self.behind.1 == 0)
    }

    /// Whether it would have CNMs as senders hear them: it is ours, whose hosts show what they hear, or it has frames that
    /// came to a sender over the link beside it.
    pub(super) fn shows_what_senders_hear(&self) -> bool {
        let comes = |sender: &MacAddress, id: &InterfaceId| {
            let to = |all: &HashMap<InterfaceId, HashMap<MacAddress, u64>>| {
                all.get(id).is_some_and(|reached| reached.contains_key(sender))
            };
            to(&self.destinations) || to(&self.received)
        };
        let mut senders = self.senders.iter().filter_map(|(sender, seen)| Some((sender, seen.beside()?)));
        self.is_ours() || senders.any(|(sender, id)| comes(sender, &id))
    }

    /// The delay of a link, where the interface tells it.
    pub(super) fn delay(&self, InterfaceId(id): InterfaceId) -> Option<Span> {
        let comment = &self.interfaces.get(id as usize)?.comment;
        let (_, rest) = comment.split_once(qcnlab_capture::LINK_COMMENT)?;
        let (ns, _) = rest.split_once(" ns")?;
        ns.trim().parse().ok().map(Span::from_ns)
    }
}

/// Octets of a frame behind its IPv4 packet; `None` for other frames, and for those that may be padded.
fn behind_packet(frame: &CapturedFrame<'_>, msdu: usize) -> Option<u32> {
    let packet = frame.octets.get(msdu..msdu + 6).filter(|octets| octets[..3] == [0x08, 0x00, 0x45])?;
    let end = msdu as u32 + 2 + u32::from(u16::from_be_bytes([packet[4], packet[5]]));
    (frame.wire_len > PADDED).then(|| frame.wire_len.saturating_sub(end))
}
