//! Why octets are not the frame they should be, and why a value cannot become octets.

use std::fmt;

/// A format of this crate, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Ethernet II header.
    Ethernet,
    /// 802.1Q tag.
    Vlan,
    /// Congestion notification tag.
    CnTag,
    /// Congestion notification message.
    Cnm,
    /// MAC control: PAUSE, PFC and others.
    MacControl,
    /// Link layer discovery.
    Lldp,
    /// IPv4 header.
    Ipv4,
    /// UDP header.
    Udp,
    /// TCP header.
    Tcp,
    /// RoCEv2: base transport header and what follows.
    Roce,
    /// Tag of the laboratory's schemes (experimental).
    SchemeTag,
    /// Message of the laboratory's schemes (experimental).
    SchemeMessage,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Format::Ethernet => "Ethernet",
            Format::Vlan => "802.1Q tag",
            Format::CnTag => "CN-TAG",
            Format::Cnm => "CNM",
            Format::MacControl => "MAC control",
            Format::Lldp => "LLDP",
            Format::Ipv4 => "IPv4",
            Format::Udp => "UDP",
            Format::Tcp => "TCP",
            Format::Roce => "RoCEv2",
            Format::SchemeTag => "scheme tag",
            Format::SchemeMessage => "scheme message",
        })
    }
}

/// What is wrong with octets to decode, or with a value to encode. Octets are counted from 0, the first one handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The octets end too early.
    #[error(
        "{format}: octet {at} on should hold {needed} octets, and {available} are there; \
         capture whole frames, or more of each"
    )]
    Truncated {
        /// What was being read.
        format: Format,
        /// Where the part starts that is not whole.
        at: usize,
        /// Octets it has.
        needed: usize,
        /// Octets there are.
        available: usize,
    },
    /// A field holds what the format does not allow.
    #[error(
        "{format}: {field} at octet {at} is {value:#x}; allowed is {allowed}; the frame is damaged or of another kind"
    )]
    InvalidField {
        /// What was being read.
        format: Format,
        /// The field.
        field: &'static str,
        /// The octet where the field starts.
        at: usize,
        /// Its content.
        value: u64,
        /// What it may hold.
        allowed: &'static str,
    },
    /// A value has more bits, or a slice more octets, than its field.
    #[error("{format}: {field} is {value}, and its field holds at most {max}; give a smaller one")]
    DoesNotFit {
        /// What was being written.
        format: Format,
        /// The field.
        field: &'static str,
        /// The value, or the number of octets.
        value: u64,
        /// The largest that fits.
        max: u64,
    },
    /// The buffer to encode into is too small.
    #[error("{format}: the frame takes {needed} octets, and the buffer has {available}; hand in a larger buffer")]
    BufferTooSmall {
        /// What was being written.
        format: Format,
        /// Octets it takes.
        needed: usize,
        /// Octets there are.
        available: usize,
    },
    /// A part of the value stands where it must not, or is missing.
    #[error("{format}: {rule}")]
    Misplaced {
        /// What was being written.
        format: Format,
        /// What the format asks for.
        rule: &'static str,
    },
}
