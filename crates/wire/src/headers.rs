//! The headers of IPv4 (RFC 791), TCP (RFC 9293) and UDP (RFC 768), each field of them, and their checksum (RFC 1071).

use crate::codec::Reader;
use crate::error::{Format, WireError};
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Differentiated services code point (RFC 2474), 6 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IpDscp(u8);

impl IpDscp {
    /// Returns the code point; `None` above 63.
    pub const fn try_new(value: u8) -> Option<IpDscp> {
        if value < 64 { Some(IpDscp(value)) } else { None }
    }

    /// Returns its number.
    pub const fn value(self) -> u8 {
        self.0
    }
}

/// Explicit congestion notification (RFC 3168), 2 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IpEcn(u8);

impl IpEcn {
    /// Not ECN-capable.
    pub const ZERO: IpEcn = IpEcn(0);
    /// ECT(1).
    pub const ONE: IpEcn = IpEcn(1);
    /// ECT(0).
    pub const TWO: IpEcn = IpEcn(2);
    /// Congestion experienced.
    pub const THREE: IpEcn = IpEcn(3);

    /// Returns the code point; `None` above 3.
    pub const fn try_new(value: u8) -> Option<IpEcn> {
        if value < 4 { Some(IpEcn(value)) } else { None }
    }

    /// Returns its number.
    pub const fn value(self) -> u8 {
        self.0
    }
}

/// A protocol over IP, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IpNumber(pub u8);

impl IpNumber {
    /// TCP.
    pub const TCP: IpNumber = IpNumber(6);
    /// UDP.
    pub const UDP: IpNumber = IpNumber(17);
}

/// Where a fragment stands in its datagram, in units of 8 octets: 13 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IpFragOffset(u16);

impl IpFragOffset {
    /// Returns the offset; `None` above 8191.
    pub const fn try_new(value: u16) -> Option<IpFragOffset> {
        if value < 1 << 13 { Some(IpFragOffset(value)) } else { None }
    }

    /// Returns it in units of 8 octets.
    pub const fn value(self) -> u16 {
        self.0
    }
}

/// The options of a header, as octets: whole words, at most 10.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct HeaderOptions {
    octets: [u8; 40],
    len: u8,
}

impl HeaderOptions {
    const NONE: HeaderOptions = HeaderOptions { octets: [0; 40], len: 0 };

    /// Returns options of these octets; `None` if they are no whole words, or more than 10.
    pub fn try_new(octets: &[u8]) -> Option<HeaderOptions> {
        let mut options = HeaderOptions { len: u8::try_from(octets.len()).ok()?, ..HeaderOptions::NONE };
        options.octets.get_mut(..octets.len())?.copy_from_slice(octets);
        octets.len().is_multiple_of(4).then_some(options)
    }

    /// Returns their octets.
    pub fn as_slice(&self) -> &[u8] {
        &self.octets[..usize::from(self.len)]
    }
}

impl Default for HeaderOptions {
    fn default() -> HeaderOptions {
        HeaderOptions::NONE
    }
}

impl fmt::Debug for HeaderOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// The octets of a header with options.
pub(crate) struct HeaderOctets {
    octets: [u8; 60],
    len: usize,
}

impl HeaderOctets {
    fn new(fixed: [u8; 20], options: &HeaderOptions) -> HeaderOctets {
        let mut octets = [0; 60];
        octets[..20].copy_from_slice(&fixed);
        octets[20..].copy_from_slice(&options.octets);
        HeaderOctets { octets, len: 20 + usize::from(options.len) }
    }
}

impl Deref for HeaderOctets {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.octets[..self.len]
    }
}

impl DerefMut for HeaderOctets {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.octets[..self.len]
    }
}

/// The complement of the ones' complement sum of the 16-bit words of `parts` in turn; all but the last have whole words.
pub(crate) fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u64;
    for part in parts {
        let words = part.chunks_exact(2);
        let last = words.remainder().first().map_or(0, |octet| u64::from(*octet) << 8);
        sum += words.map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum::<u64>() + last;
    }
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

/// The checksum of a segment with the pseudo header of IPv4; `segment` has 0 where it will stand.
fn segment_checksum(
    (source, destination): ([u8; 4], [u8; 4]),
    protocol: IpNumber,
    header: &[u8],
    payload: &[u8],
) -> u16 {
    let len = ((header.len() + payload.len()) as u16).to_be_bytes();
    checksum(&[&source, &destination, &[0, protocol.0, len[0], len[1]], header, payload])
}

/// The header of an IPv4 packet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ipv4Header {
    /// Differentiated services code point.
    pub dscp: IpDscp,
    /// Explicit congestion notification.
    pub ecn: IpEcn,
    /// Octets of the packet, this header included.
    pub total_len: u16,
    /// What the fragments of a datagram have in common.
    pub identification: u16,
    /// The datagram must not be fragmented.
    pub dont_fragment: bool,
    /// Other fragments follow.
    pub more_fragments: bool,
    /// Where the fragment stands.
    pub fragment_offset: IpFragOffset,
    /// Hops that it may still take.
    pub time_to_live: u8,
    /// What it carries.
    pub protocol: IpNumber,
    /// Checksum of the header.
    pub header_checksum: u16,
    /// Who sent it.
    pub source: [u8; 4],
    /// Who it is for.
    pub destination: [u8; 4],
    /// Options.
    pub options: HeaderOptions,
}

impl Default for Ipv4Header {
    fn default() -> Ipv4Header {
        Ipv4Header {
            dscp: IpDscp::default(),
            ecn: IpEcn::ZERO,
            total_len: 0,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: IpFragOffset::default(),
            time_to_live: 0,
            protocol: IpNumber(255),
            header_checksum: 0,
            source: [0; 4],
            destination: [0; 4],
            options: HeaderOptions::NONE,
        }
    }
}

impl Ipv4Header {
    /// Octets of the longest.
    pub const MAX_LEN: usize = 60;

    /// Returns its octets, options included.
    pub fn header_len(&self) -> usize {
        20 + usize::from(self.options.len)
    }

    pub(crate) fn octets(&self) -> HeaderOctets {
        let (total, identification) = (self.total_len.to_be_bytes(), self.identification.to_be_bytes());
        let flags = u16::from(self.dont_fragment) << 14 | u16::from(self.more_fragments) << 13;
        let fragment = (flags | self.fragment_offset.0).to_be_bytes();
        let checksum = self.header_checksum.to_be_bytes();
        let ([s0, s1, s2, s3], [d0, d1, d2, d3]) = (self.source, self.destination);
        let fixed = [
            4 << 4 | (self.header_len() / 4) as u8,
            self.dscp.0 << 2 | self.ecn.0,
            total[0],
            total[1],
            identification[0],
            identification[1],
            fragment[0],
            fragment[1],
            self.time_to_live,
            self.protocol.0,
            checksum[0],
            checksum[1],
            s0,
            s1,
            s2,
            s3,
            d0,
            d1,
            d2,
            d3,
        ];
        HeaderOctets::new(fixed, &self.options)
    }

    /// Returns the checksum that the header has to have.
    pub fn calc_header_checksum(&self) -> u16 {
        checksum(&[&Ipv4Header { header_checksum: 0, ..self.clone() }.octets()])
    }

    /// Reads a header and moves behind it; also returns the reserved flag.
    pub(crate) fn read(from: &mut Reader<'_>) -> Result<(Ipv4Header, bool), WireError> {
        let at = from.position();
        let octets = ahead(from, Format::Ipv4, |fixed| {
            let invalid = |field, value: u8, allowed| {
                Err(WireError::InvalidField { format: Format::Ipv4, field, at, value: value.into(), allowed })
            };
            match (fixed[0] >> 4, fixed[0] & 0x0F) {
                (4, words @ 5..) => Ok(words),
                (4, words) => invalid("header length in words", words, "5 to 15"),
                (version, _) => invalid("version", version, "4"),
            }
        })?;
        let word = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
        let address = |at: usize| [octets[at], octets[at + 1], octets[at + 2], octets[at + 3]];
        let header = Ipv4Header {
            dscp: IpDscp(octets[1] >> 2),
            ecn: IpEcn(octets[1] & 0x03),
            total_len: word(2),
            identification: word(4),
            dont_fragment: octets[6] & 0x40 != 0,
            more_fragments: octets[6] & 0x20 != 0,
            fragment_offset: IpFragOffset(word(6) & 0x1FFF),
            time_to_live: octets[8],
            protocol: IpNumber(octets[9]),
            header_checksum: word(10),
            source: address(12),
            destination: address(16),
            options: HeaderOptions::try_new(&octets[20..]).unwrap_or_default(),
        };
        Ok((header, octets[6] & 0x80 != 0))
    }
}

/// The octets of a header whose first 20 tell how many words it has.
fn ahead<'a>(
    from: &mut Reader<'a>,
    format: Format,
    words: impl FnOnce(&[u8]) -> Result<u8, WireError>,
) -> Result<&'a [u8], WireError> {
    let (at, available) = (from.position(), from.ahead().len());
    let truncated = |needed| WireError::Truncated { format, at, needed, available };
    let fixed = from.ahead().get(..20).ok_or_else(|| truncated(20))?;
    let len = usize::from(words(fixed)?) * 4;
    if available < len {
        return Err(truncated(len));
    }
    from.take(format, len)
}

/// The header of a TCP segment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TcpHeader {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// Number of the first octet of the segment.
    pub sequence_number: u32,
    /// The next octet that the sender expects, if `ack`.
    pub acknowledgment_number: u32,
    /// Nonce (RFC 3540); accurate ECN in newer stacks.
    pub ns: bool,
    /// The sender has nothing more to send.
    pub fin: bool,
    /// Begins a connection.
    pub syn: bool,
    /// Ends it at once.
    pub rst: bool,
    /// The receiver hands over what it has.
    pub psh: bool,
    /// The acknowledgement number counts.
    pub ack: bool,
    /// The urgent pointer counts.
    pub urg: bool,
    /// Echo of a congestion mark.
    pub ece: bool,
    /// The sender has cut its window.
    pub cwr: bool,
    /// What the sender can take, octets, before it is scaled.
    pub window_size: u16,
    /// Checksum of pseudo header, header and payload.
    pub checksum: u16,
    /// Where urgent octets end.
    pub urgent_pointer: u16,
    /// Options.
    pub options: HeaderOptions,
}

impl TcpHeader {
    /// Returns a header with no flag set.
    pub fn new(source_port: u16, destination_port: u16, sequence_number: u32, window_size: u16) -> TcpHeader {
        TcpHeader { source_port, destination_port, sequence_number, window_size, ..TcpHeader::default() }
    }

    /// Returns its octets, options included.
    pub fn header_len(&self) -> usize {
        20 + usize::from(self.options.len)
    }

    pub(crate) fn octets(&self) -> HeaderOctets {
        let flags = [self.fin, self.syn, self.rst, self.psh, self.ack, self.urg, self.ece, self.cwr];
        let flags = flags.iter().enumerate().fold(0, |all, (bit, set)| all | u8::from(*set) << bit);
        let mut fixed = [0; 20];
        fixed[..2].copy_from_slice(&self.source_port.to_be_bytes());
        fixed[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        fixed[4..8].copy_from_slice(&self.sequence_number.to_be_bytes());
        fixed[8..12].copy_from_slice(&self.acknowledgment_number.to_be_bytes());
        fixed[12] = ((self.header_len() / 4) as u8) << 4 | u8::from(self.ns);
        fixed[13] = flags;
        fixed[14..16].copy_from_slice(&self.window_size.to_be_bytes());
        fixed[16..18].copy_from_slice(&self.checksum.to_be_bytes());
        fixed[18..].copy_from_slice(&self.urgent_pointer.to_be_bytes());
        HeaderOctets::new(fixed, &self.options)
    }

    /// The checksum that it has to have between these two addresses, before this payload.
    pub(crate) fn calc_checksum(&self, addresses: ([u8; 4], [u8; 4]), payload: &[u8]) -> u16 {
        let octets = TcpHeader { checksum: 0, ..self.clone() }.octets();
        segment_checksum(addresses, IpNumber::TCP, &octets, payload)
    }

    /// Reads a header and moves behind it; also returns the three reserved bits.
    pub(crate) fn read(from: &mut Reader<'_>) -> Result<(TcpHeader, u8), WireError> {
        let at = from.position();
        let octets = ahead(from, Format::Tcp, |fixed| match fixed[12] >> 4 {
            words @ 5.. => Ok(words),
            words => Err(WireError::InvalidField {
                format: Format::Tcp,
                field: "data offset in words",
                at: at + 12,
                value: words.into(),
                allowed: "5 to 15",
            }),
        })?;
        let word = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
        let number = |at: usize| u32::from(word(at)) << 16 | u32::from(word(at + 2));
        let flag = |bit: u8| octets[13] >> bit & 1 != 0;
        let header = TcpHeader {
            source_port: word(0),
            destination_port: word(2),
            sequence_number: number(4),
            acknowledgment_number: number(8),
            ns: octets[12] & 1 != 0,
            fin: flag(0),
            syn: flag(1),
            rst: flag(2),
            psh: flag(3),
            ack: flag(4),
            urg: flag(5),
            ece: flag(6),
            cwr: flag(7),
            window_size: word(14),
            checksum: word(16),
            urgent_pointer: word(18),
            options: HeaderOptions::try_new(&octets[20..]).unwrap_or_default(),
        };
        Ok((header, octets[12] >> 1 & 0x07))
    }
}

/// The header of a UDP datagram.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct UdpHeader {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// Octets of the datagram, this header included.
    pub length: u16,
    /// Checksum of pseudo header, header and payload; 0 for none.
    pub checksum: u16,
}

impl UdpHeader {
    /// Its octets.
    pub const LEN: usize = 8;

    pub(crate) fn octets(&self) -> [u8; 8] {
        let mut octets = [0; 8];
        let words = [self.source_port, self.destination_port, self.length, self.checksum];
        for (pair, word) in octets.chunks_exact_mut(2).zip(words) {
            pair.copy_from_slice(&word.to_be_bytes());
        }
        octets
    }

    /// The checksum that it has to have between these two addresses, before this payload: none that is 0, which says that
    /// there is none.
    pub(crate) fn calc_checksum(&self, addresses: ([u8; 4], [u8; 4]), payload: &[u8]) -> u16 {
        let octets = UdpHeader { checksum: 0, ..self.clone() }.octets();
        match segment_checksum(addresses, IpNumber::UDP, &octets, payload) {
            0 => 0xFFFF,
            sum => sum,
        }
    }

    pub(crate) fn from_octets(octets: [u8; 8]) -> UdpHeader {
        let word = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
        UdpHeader { source_port: word(0), destination_port: word(2), length: word(4), checksum: word(6) }
    }
}
