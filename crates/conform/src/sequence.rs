//! Numbers that frames carry: gaps between them tell frames that a capture lacks.

use qcnlab_wire::EtherType;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The number of a frame in its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameNumber {
    /// The flow, by its addresses and ports.
    pub(super) flow: u64,
    /// Its number, and that of the frame behind it.
    pub(super) number: u64,
    pub(super) next: u64,
    /// Numbers count up to this, and begin again.
    modulus: u64,
}

/// Octets of a number in the payload of our own UDP frames, which go to the discard port.
const DISCARD: u16 = 9;
const ROCE: u16 = 4791;
/// Numbers behind which a frame is one that is sent again, or late, and not one after a gap: a quarter of all.
const BACKWARDS: u64 = 4;

fn be(octets: &[u8], at: usize, len: usize) -> Option<u64> {
    octets.get(at..at + len).map(|all| all.iter().fold(0, |number, octet| number << 8 | u64::from(*octet)))
}

impl FrameNumber {
    /// Reads it from what follows a frame's tags: TCP's sequence number, a RoCE packet's, or the number of 64 bits at the
    /// start of our own UDP payloads. `None` for other frames, and for those of which too few octets were kept.
    pub(super) fn of(msdu: &[u8]) -> Option<FrameNumber> {
        if be(msdu, 0, 2)? != u64::from(EtherType::IPV4.0) {
            return None;
        }
        let ip = &msdu[2..];
        let header = usize::from(ip.first()? & 0x0F) * 4;
        let (total, protocol) = (be(ip, 2, 2)?, be(ip, 9, 1)?);
        let segment = ip.get(header..)?;
        let (to, mut hasher) = (be(segment, 2, 2)? as u16, DefaultHasher::new());
        (ip.get(12..20)?, protocol, segment.get(..4)?).hash(&mut hasher);
        match protocol {
            6 => {
                let number = be(segment, 4, 4)?;
                let data = total.checked_sub((header + usize::from(segment.get(12)? >> 4) * 4) as u64)?;
                let modulus = 1 << 32;
                (data > 0).then(|| FrameNumber {
                    flow: hasher.finish(),
                    number,
                    next: (number + data) % modulus,
                    modulus,
                })
            }
            17 if to == ROCE => {
                let opcode = be(segment, 8, 1)?;
                // Acknowledgements, CNPs and read responses are not the sender's data.
                let data = matches!(opcode & 0x1F, 0..=0x0B) && opcode < 0x80;
                be(segment, 13, 3)?.hash(&mut hasher);
                let (number, modulus) = (be(segment, 17, 3)?, 1 << 24);
                data.then(|| FrameNumber { flow: hasher.finish(), number, next: (number + 1) % modulus, modulus })
            }
            17 if to == DISCARD => {
                let (number, modulus) = (be(segment, 8, 8)?, 1 << 32);
                (number < modulus).then(|| FrameNumber {
                    flow: hasher.finish(),
                    number,
                    next: (number + 1) % modulus,
                    modulus,
                })
            }
            _ => None,
        }
    }
}

/// What each flow has sent so far over one link.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequences {
    next: HashMap<u64, u64>,
}

/// Flows that are followed.
const MOST: usize = 1 << 16;

impl Sequences {
    /// Takes the next frame of a flow; returns how many are missing before it, of its own length.
    pub(super) fn missing(&mut self, frame: FrameNumber) -> u64 {
        if self.next.len() >= MOST && !self.next.contains_key(&frame.flow) {
            return 0;
        }
        let Some(expected) = self.next.get_mut(&frame.flow) else {
            self.next.insert(frame.flow, frame.next);
            return 0;
        };
        let gap = (frame.number + frame.modulus - *expected) % frame.modulus;
        // A frame that is sent again leaves what was expected.
        if gap > frame.modulus / BACKWARDS {
            return 0;
        }
        *expected = frame.next;
        let length = (frame.next + frame.modulus - frame.number) % frame.modulus;
        gap.div_ceil(length.max(1))
    }
}

/// Frames that a capture lacks, as far as it shows that.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Loss {
    /// Frames with a number, and those that are missing between them.
    pub(super) numbered: u64,
    pub(super) missing: u64,
    /// Frames of ports that came and did not leave although there was room, or left and never came.
    pub(super) matched: u64,
    pub(super) unmatched: u64,
    /// What the interfaces' own statistics say: frames that came to them, and that were dropped.
    pub(super) counted: u64,
    pub(super) dropped: u64,
    /// CNMs of a port that the capture has as they left it, and those that it has as their senders heard them alone.
    pub(super) cnms: u64,
    pub(super) unmatched_cnms: u64,
}

impl Loss {
    /// The share of frames that are missing: the largest that one of the ways of telling gives.
    pub(super) fn rate(&self) -> f64 {
        self.frames_rate().max(share(self.unmatched_cnms, self.cnms))
    }

    /// The share without what CNMs tell.
    pub(super) fn frames_rate(&self) -> f64 {
        let statistics = self.dropped as f64 / self.counted.max(self.dropped).max(1) as f64;
        share(self.missing, self.numbered).max(share(self.unmatched, self.matched)).max(statistics)
    }

    /// What the capture shows of it.
    pub(super) fn text(&self) -> String {
        let mut parts = Vec::new();
        if self.numbered > 0 {
            let all = self.numbered + self.missing;
            parts.push(format!("{} of {all} frames are missing by their numbers", self.missing));
        }
        if self.unmatched > 0 {
            let all = self.matched + self.unmatched;
            parts.push(format!("{} of {all} frames show on one side of the port alone", self.unmatched));
        }
        if self.dropped > 0 {
            parts.push(format!("its interfaces' statistics count {} frames that were dropped", self.dropped));
        }
        if self.unmatched_cnms > 0 {
            let all = self.cnms + self.unmatched_cnms;
            parts.push(format!("{} of {all} CNMs show at their senders alone", self.unmatched_cnms));
        }
        if parts.is_empty() { "its frames have no numbers that would tell".to_owned() } else { parts.join(", ") }
    }

    /// How many of `heard` messages and of those that are missing beside them may be missing: no more than come with a
    /// chance of one in a thousand.
    pub(super) fn most_of(&self, heard: u64) -> u64 {
        let rate = self.rate();
        if rate <= 0.0 {
            return 0;
        }
        // Of a Poisson count with this mean, the first that fewer than one in a thousand exceed.
        let mean = (heard as f64 * rate / (1.0 - rate).max(0.1)).max(rate);
        let (mut chance, mut sum, mut count) = ((-mean).exp(), (-mean).exp(), 0_u64);
        while 1.0 - sum > 1e-3 && count < heard + 1 {
            count += 1;
            chance *= mean / count as f64;
            sum += chance;
        }
        count
    }
}

fn share(lost: u64, seen: u64) -> f64 {
    lost as f64 / (lost + seen).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame's octets from its EtherType on: IPv4 without options, from 10.0.0.1 to 10.0.0.2.
    fn packet(protocol: u8, segment: &[u8]) -> Vec<u8> {
        let mut octets = vec![0x08, 0x00, 0x45, 0];
        octets.extend(((20 + segment.len()) as u16).to_be_bytes());
        octets.extend([0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        octets.extend(segment);
        octets
    }

    fn tcp(number: u32, data: usize) -> Option<FrameNumber> {
        let mut segment = vec![0xC0, 0, 0, 80];
        segment.extend(number.to_be_bytes());
        segment.extend([0, 0, 0, 1, 0x50, 0x10, 0, 0, 0, 0, 0, 0]);
        segment.resize(20 + data, 0);
        FrameNumber::of(&packet(6, &segment))
    }

    /// A header of 32 octets, with 12 of options such as time stamps, leaves 68 of 100 as data; one of 20 leaves 80.
    #[test]
    fn options_of_tcp_are_no_data() {
        let with_header = |words: u8| {
            let mut segment = vec![0xC0, 0, 0, 80, 0, 0, 0, 7, 0, 0, 0, 1, words << 4, 0x10];
            segment.resize(100, 0);
            FrameNumber::of(&packet(6, &segment)).map(|frame| (frame.number, frame.next))
        };
        assert_eq!(with_header(8), Some((7, 75)));
        assert_eq!(with_header(5), Some((7, 87)));
    }

    fn roce(opcode: u8, qp: u8, psn: u32) -> Option<FrameNumber> {
        let mut segment = vec![0xC0, 0, 0x12, 0xB7, 0, 0, 0, 0, opcode, 0, 0xFF, 0xFF, 0, 0, 0, qp, 0];
        segment.extend(&psn.to_be_bytes()[1..]);
        segment.resize(200, 0);
        FrameNumber::of(&packet(17, &segment))
    }

    /// 1000 octets from 2^32 - 1500 on: the second frame ends behind the turn of the numbers. Of the next three two are
    /// missing; the third comes again, and is no gap. An acknowledgement without data has no number.
    #[test]
    fn gaps_of_tcp_are_counted_in_frames_over_the_turn() {
        let mut seen = Sequences::default();
        let from = u32::MAX - 1499;
        let missing: Vec<u64> = [0, 1000, 4000, 4000, 2000, 5000, 6500]
            .map(|at| seen.missing(tcp(from.wrapping_add(at), 1000).unwrap()))
            .into();
        assert_eq!(missing, [0, 0, 2, 0, 0, 0, 1]);
        assert_eq!(tcp(7, 0), None);
    }

    #[test]
    fn packets_of_two_queue_pairs_are_counted_apart() {
        let mut seen = Sequences::default();
        let missing: Vec<u64> = [(1, 0xFF_FFFE), (2, 5), (1, 0xFF_FFFF), (2, 9), (1, 2)]
            .map(|(qp, psn)| seen.missing(roce(1, qp, psn).unwrap()))
            .into();
        assert_eq!(missing, [0, 0, 0, 3, 2]);
        // An acknowledgement, a CNP.
        assert_eq!((roce(0x11, 1, 0), roce(0x81, 1, 0)), (None, None));
    }

    #[test]
    fn what_is_cut_has_no_place() {
        let mut segment = vec![0xC0, 0, 0, 9, 0, 0, 0, 0];
        segment.extend(7_u64.to_be_bytes());
        let whole = packet(17, &segment);
        assert_eq!(FrameNumber::of(&whole).map(|numbered| numbered.number), Some(7));
        for len in 0..whole.len() {
            assert_eq!(FrameNumber::of(&whole[..len]), None, "{len}");
        }
    }

    /// With 1 % of 50 messages a mean of 0.505: 1 - e^-0.505 (1 + 0.505 + 0.128 + 0.021) = 0.0018 exceed 3, 0.0002 exceed 4.
    #[test]
    fn few_messages_may_be_missing_where_few_frames_are() {
        let loss = |missing, numbered| Loss { missing, numbered, ..Loss::default() };
        assert_eq!(loss(100, 9_900).most_of(50), 4);
        assert_eq!(loss(3, 14_068).most_of(50), 1);
        assert_eq!(loss(0, 14_068).most_of(50), 0);
        assert_eq!(Loss { dropped: 10, counted: 1000, ..loss(1, 9_999) }.rate(), 0.01);
    }
}
