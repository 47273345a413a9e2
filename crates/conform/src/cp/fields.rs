//! Fields of CNMs that say nothing of a queue: whether each is as the standard has it.

use super::judge::{CpBreach, CpKind};
use qcnlab_capture::Header;
use qcnlab_wire::{Cnm, Cpid, MacAddress, WireError};

/// Each field of a CNM, and what it is held against; `None` where it is not judged.
pub(crate) const FIELDS: [(&str, Option<&str>); 15] = [
    ("destination address", Some("the sender of the sampled frame")),
    ("source address", Some("that of the first CNM")),
    ("priority of the tag", Some("that of the first CNM")),
    ("VLAN and drop eligibility of the tag", None),
    ("flow identifier of the CN-TAG", Some("that of the sampled frame")),
    ("version", Some("0")),
    ("reserved", Some("0")),
    ("quantized feedback", Some("what follows from offset and growth")),
    ("CPID", Some("that of the first CNM of the bridge")),
    ("queue offset", Some("the reconstructed queue")),
    ("queue growth", Some("the reconstructed queue")),
    ("encapsulated priority", None),
    ("reserved behind the priority", Some("0")),
    ("encapsulated MSDU length", Some("0 to 64, and as many octets as follow")),
    ("encapsulated address and MSDU", Some("a frame that came to the port, as far as the capture keeps it")),
];

/// Judges the CNMs of a port, in the order of the capture.
#[derive(Default)]
pub(super) struct FieldJudge {
    first: Option<First>,
    pub(super) breach: Option<CpBreach>,
}

struct First {
    frame: u64,
    source: MacAddress,
    priority: Option<u8>,
}

impl FieldJudge {
    /// Notes a message that cannot be read.
    pub(super) fn malformed(&mut self, frame: u64, stamp: i64, why: &WireError) {
        self.note(frame, stamp, format!("the CNM of frame {frame} cannot be read: {why}"));
    }

    /// Notes a CPID that is not the port's.
    pub(super) fn cpid(&mut self, frame: u64, stamp: i64, (told, own): (Cpid, Cpid)) {
        let text =
            format!("the CNM of frame {frame} has the CPID {told}, which fits no port here; that of the port is {own}");
        self.note(frame, stamp, text);
    }

    /// Holds the fields of a message against the standard and against the first message.
    pub(super) fn message(&mut self, frame: u64, stamp: i64, header: &Header, cnm: &Cnm<'_>) {
        for (name, value) in [
            ("version", u16::from(cnm.version)),
            ("reserved field", u16::from(cnm.reserved)),
            ("reserved field behind the priority", cnm.priority_reserved),
        ] {
            if value != 0 {
                self.note(frame, stamp, format!("the {name} of the CNM of frame {frame} is {value}; it is sent as 0"));
            }
        }
        let now = First { frame, source: header.source, priority: header.tag_priority };
        let first = self.first.get_or_insert(First { ..now });
        let mut differs = None;
        if first.source != now.source {
            let (one, other) = (first.source, now.source);
            differs =
                Some(format!("the CNM of frame {frame} comes from {other}, that of frame {} from {one}", first.frame));
        } else if first.priority != now.priority {
            let word = |priority: Option<u8>| priority.map_or("no tag".to_owned(), |value| format!("priority {value}"));
            let (one, other) = (word(first.priority), word(now.priority));
            differs = Some(format!("the CNM of frame {frame} has {other}, that of frame {} has {one}", first.frame));
        }
        if let Some(text) = differs {
            self.note(frame, stamp, format!("{text}; a congestion point has one"));
        }
    }

    fn note(&mut self, frame: u64, stamp: i64, text: String) {
        self.breach.get_or_insert(CpBreach { frame, stamp, kind: CpKind::Field, text });
    }
}
