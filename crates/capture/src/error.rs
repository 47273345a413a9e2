//! Why a capture cannot be read or written.

use std::fmt;
use std::io;

/// What is wrong with a capture. Frames are counted from 1, as Wireshark does; octets of the file from 0.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file is empty.
    #[error("the capture is empty: not even a header is there")]
    Empty,
    /// The file does not start like a capture.
    #[error("{}", NotACapture(start))]
    NotACapture {
        /// Its first octets.
        start: Vec<u8>,
    },
    /// The file ends in the middle of a block or record.
    #[error(
        "the capture is cut {}: the block at octet {at} should have {needed} octets, and {available} are there",
        After(*frames)
    )]
    Cut {
        /// Frames before it.
        frames: u64,
        /// Where the block starts.
        at: u64,
        /// Octets it has.
        needed: u64,
        /// Octets there are.
        available: u64,
    },
    /// A block contradicts itself.
    #[error("the capture is damaged {}: in the block at octet {at}, {what}", After(*frames))]
    Damaged {
        /// Frames before it.
        frames: u64,
        /// Where the block starts.
        at: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// A block is larger than any that is read.
    #[error(
        "the capture is damaged {}: the block at octet {at} claims {size} octets, and {limit} is the most that is read",
        After(*frames)
    )]
    TooLarge {
        /// Frames before it.
        frames: u64,
        /// Where the block starts.
        at: u64,
        /// The size it claims.
        size: u64,
        /// The largest that is read.
        limit: u64,
    },
    /// There are more interfaces than are kept.
    #[error("the capture has more than {limit} interfaces; split it, for example with editcap or tshark -w")]
    TooManyInterfaces {
        /// The most that are kept.
        limit: usize,
    },
    /// A frame is not of Ethernet.
    #[error("frame {frame} is of link type {link_type}, not Ethernet (1); capture on the Ethernet interface itself")]
    NotEthernet {
        /// The frame.
        frame: u64,
        /// Its link type.
        link_type: u32,
    },
    /// A frame names an interface that the capture does not describe.
    #[error("frame {frame} names interface {interface}, and the capture describes {described}")]
    UnknownInterface {
        /// The frame.
        frame: u64,
        /// The interface.
        interface: u32,
        /// How many there are.
        described: usize,
    },
    /// A text or number does not fit the format.
    #[error("{what} does not fit a capture: {value}, and {max} at most")]
    DoesNotFit {
        /// What it is.
        what: &'static str,
        /// The value, or its octets.
        value: u64,
        /// The largest.
        max: u64,
    },
    /// Reading failed.
    #[error("reading the capture failed {}: {source}", After(*frames))]
    Read {
        /// Frames read.
        frames: u64,
        /// The cause.
        source: io::Error,
    },
    /// Writing failed. What is written so far is a capture of the frames before, but perhaps for its last block.
    #[error("writing the capture failed {}, at octet {octets}: {source}", After(*frames))]
    Write {
        /// Frames written.
        frames: u64,
        /// Octets written.
        octets: u64,
        /// The cause.
        source: io::Error,
    },
}

/// What a file that is no capture starts with, and what to do where it is a compressed one.
struct NotACapture<'a>(&'a [u8]);

impl fmt::Display for NotACapture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotACapture(start) = self;
        for (magic, name, unpack) in COMPRESSED {
            if start.starts_with(magic) {
                return write!(f, "this is {name}, not a capture: unpack it first, with {unpack}");
            }
        }
        write!(
            f,
            "this is no capture: it starts with {start:02x?}; pcapng starts with 0a 0d 0d 0a, pcap with d4 c3 b2 a1 or \
             a1 b2 c3 d4"
        )
    }
}

/// How compressed files start, what they are, and what unpacks them.
const COMPRESSED: [(&[u8], &str, &str); 5] = [
    (b"\x1f\x8b", "gzip", "gunzip"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
    (b"\xfd7zX", "xz", "unxz"),
    (b"BZh", "bzip2", "bunzip2"),
    (b"PK\x03\x04", "a zip archive", "unzip"),
];

/// How far a capture was read or written.
struct After(u64);

impl fmt::Display for After {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("before its first frame"),
            n => write!(f, "after frame {n}"),
        }
    }
}
