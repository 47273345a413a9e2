//! Reads pcapng and classic pcap, a frame at a time.

use crate::blocks::*;
use crate::options::{Options, Order};
use crate::source::Source;
use crate::{CaptureError, Direction, Interface, InterfaceId, InterfaceStatistics};
use qcnlab_units::BitRate;
use std::io::{self, Read};
use std::ops::Range;

/// A frame of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedFrame<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// Where it was captured.
    pub interface: InterfaceId,
    /// When, in nanoseconds from the capture's own zero, rounded down; `None` where the capture does not say.
    pub time_ns: Option<u64>,
    /// Its octets without FCS, as many as the capture kept.
    pub octets: &'a [u8],
    /// Octets it had on the wire, without FCS. A capture says whether its frames have one; where it does not, they are
    /// taken to have none.
    pub wire_len: u32,
    /// Which way it went, where the capture says so.
    pub direction: Option<Direction>,
    /// Its comment; empty for none.
    pub comment: &'a str,
}

/// Reads a capture from `R`. It keeps one block and the interfaces; hand in any reader, buffered or not.
#[derive(Debug)]
pub struct CaptureReader<R: Read> {
    source: Source<R>,
    format: FileFormat,
    interfaces: Vec<Known>,
    frames: u64,
}

#[derive(Clone, Copy, Debug)]
enum FileFormat {
    PcapNg { big_endian: bool },
    Pcap { big_endian: bool, units_per_second: u64 },
}

/// An interface, and what its frames need.
#[derive(Debug)]
struct Known {
    interface: Interface,
    link_type: u32,
    units_per_second: u64,
    offset_s: i64,
    /// Octets of FCS at the end of its frames.
    fcs_len: u32,
}

/// Where the parts of a frame stand in the buffer.
struct Located {
    interface: u32,
    stamp: Option<u64>,
    octets: Range<usize>,
    wire_len: u32,
    options: Range<usize>,
}

const NANOSECOND: u128 = 1_000_000_000;

impl<R: Read> CaptureReader<R> {
    /// The largest block that is read, octets.
    pub const MAX_BLOCK: usize = 16 << 20;
    /// The most interfaces of a section.
    pub const MAX_INTERFACES: usize = 65_536;
    /// Octets kept of a name, description or comment of an interface.
    const MAX_TEXT: usize = 256;

    /// Start to read: tell the format by the first octets.
    pub fn new(reader: R) -> Result<CaptureReader<R>, CaptureError> {
        let mut source = Source::new(reader);
        let available = source.fill(4).map_err(|source| CaptureError::Read { frames: 0, source })?;
        let start = source.ahead(available.min(4)).to_vec();
        let capture = |format| CaptureReader { source, format, interfaces: Vec::new(), frames: 0 };
        match start[..] {
            [] => Err(CaptureError::Empty),
            [0x0A, 0x0D, 0x0D, 0x0A] => Ok(capture(FileFormat::PcapNg { big_endian: false })),
            [0xD4, 0xC3, 0xB2, 0xA1] => capture(FileFormat::pcap(false, 1_000_000)).pcap_header(),
            [0x4D, 0x3C, 0xB2, 0xA1] => capture(FileFormat::pcap(false, 1_000_000_000)).pcap_header(),
            [0xA1, 0xB2, 0xC3, 0xD4] => capture(FileFormat::pcap(true, 1_000_000)).pcap_header(),
            [0xA1, 0xB2, 0x3C, 0x4D] => capture(FileFormat::pcap(true, 1_000_000_000)).pcap_header(),
            _ => Err(CaptureError::NotACapture { start }),
        }
    }

    /// Returns the interface, as far as the capture has described it by now.
    pub fn interface(&self, InterfaceId(n): InterfaceId) -> Option<&Interface> {
        self.interfaces.get(n as usize).map(|known| &known.interface)
    }

    /// Returns the number of frames read.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Read the next frame; `None` at the end of the capture.
    pub fn next_frame(&mut self) -> Result<Option<CapturedFrame<'_>>, CaptureError> {
        let located = match self.format {
            FileFormat::PcapNg { .. } => self.next_block_with_frame()?,
            FileFormat::Pcap { big_endian, .. } => self.next_record(big_endian)?,
        };
        let Some(located) = located else { return Ok(None) };
        self.frames += 1;
        let number = self.frames;
        let Some(known) = self.interfaces.get(located.interface as usize) else {
            let (interface, described) = (located.interface, self.interfaces.len());
            return Err(CaptureError::UnknownInterface { frame: number, interface, described });
        };
        if known.link_type != ETHERNET {
            return Err(CaptureError::NotEthernet { frame: number, link_type: known.link_type });
        }
        let time_ns = located.stamp.and_then(|stamp| known.time_ns(stamp));
        let block = self.source.block();
        let octets = &block[located.octets];
        let (mut direction, mut comment, mut fcs_len) = (None, "", known.fcs_len);
        let order = self.format.order();
        for (code, value) in (Options { order, octets: &block[located.options] }) {
            match (code, value) {
                (OPT_COMMENT, text) => comment = std::str::from_utf8(text).unwrap_or(""),
                (EPB_FLAGS, &[a, b, c, d]) => {
                    let flags = order.u32([a, b, c, d]);
                    direction = match flags & 3 {
                        1 => Some(Direction::Received),
                        2 => Some(Direction::Sent),
                        _ => None,
                    };
                    // What a frame says of its FCS counts more than what its interface says; 0 is nothing.
                    fcs_len = match flags >> FLAGS_FCS & 0xF {
                        0 => fcs_len,
                        len => len,
                    };
                }
                _ => {}
            }
        }
        let wire_len = located.wire_len.max(octets.len() as u32).saturating_sub(fcs_len);
        Ok(Some(CapturedFrame {
            number,
            interface: InterfaceId(located.interface),
            time_ns,
            octets: &octets[..octets.len().min(wire_len as usize)],
            wire_len,
            direction,
            comment,
        }))
    }

    fn pcap_header(mut self) -> Result<CaptureReader<R>, CaptureError> {
        let FileFormat::Pcap { units_per_second, .. } = self.format else { return Ok(self) };
        self.take_block(24)?;
        let order = self.format.order();
        let header = self.source.block();
        let (snap_len, network) = (order.u32_at(header, 16), order.u32_at(header, 20));
        let interface = Interface { snap_len, ..Interface::default() };
        // 16 bits of link type; where bit 26 says so, the highest four are the FCS, in units of 16 bits.
        let fcs_len = if network & PCAP_FCS == 0 { 0 } else { (network >> 28) * 2 };
        let link_type = network & 0xFFFF;
        self.interfaces.push(Known { interface, link_type, units_per_second, offset_s: 0, fcs_len });
        Ok(self)
    }

    /// Make `len` octets the block that [`Source::block`] returns.
    fn take_block(&mut self, len: usize) -> Result<(), CaptureError> {
        let (at, frames) = (self.source.position(), self.frames);
        if len > Self::MAX_BLOCK {
            let limit = Self::MAX_BLOCK as u64;
            return Err(CaptureError::TooLarge { frames, at, size: len as u64, limit });
        }
        let available = self.fill(len)?;
        if available < len {
            return Err(CaptureError::Cut { frames, at, needed: len as u64, available: available as u64 });
        }
        self.source.take(len);
        Ok(())
    }

    fn fill(&mut self, len: usize) -> Result<usize, CaptureError> {
        self.source.fill(len).map_err(|source| CaptureError::Read { frames: self.frames, source })
    }

    /// Find out how many octets come next: at least `len`, or none at the end of the capture.
    fn head(&mut self, len: usize) -> Result<bool, CaptureError> {
        self.source.drop_block();
        let available = self.fill(len)?;
        if available == 0 {
            return Ok(false);
        }
        if available < len {
            let (frames, at) = (self.frames, self.source.position());
            return Err(CaptureError::Cut { frames, at, needed: len as u64, available: available as u64 });
        }
        Ok(true)
    }

    fn next_record(&mut self, big_endian: bool) -> Result<Option<Located>, CaptureError> {
        if !self.head(16)? {
            return Ok(None);
        }
        let order = Order { big_endian };
        let header = self.source.ahead(16);
        let [seconds, fraction, captured, wire_len] = [0, 4, 8, 12].map(|at| order.u32_at(header, at));
        self.take_block(16 + captured as usize)?;
        let units = match self.format {
            FileFormat::Pcap { units_per_second, .. } => units_per_second,
            FileFormat::PcapNg { .. } => 1,
        };
        let stamp = u64::from(seconds) * units + u64::from(fraction);
        let end = 16 + captured as usize;
        Ok(Some(Located { interface: 0, stamp: Some(stamp), octets: 16..end, wire_len, options: end..end }))
    }

    fn next_block_with_frame(&mut self) -> Result<Option<Located>, CaptureError> {
        loop {
            if !self.head(12)? {
                return Ok(None);
            }
            let (at, frames) = (self.source.position(), self.frames);
            let damaged = |what| CaptureError::Damaged { frames, at, what };
            let head = self.source.ahead(12);
            if head[..4] == SECTION_HEADER.to_le_bytes() {
                let big_endian = match (Order { big_endian: false }).u32_at(head, 8) {
                    BYTE_ORDER_MAGIC => false,
                    magic if magic.swap_bytes() == BYTE_ORDER_MAGIC => true,
                    _ => return Err(damaged("the section header has no byte-order magic")),
                };
                self.format = FileFormat::PcapNg { big_endian };
                self.interfaces.clear();
            }
            let order = self.format.order();
            let head = self.source.ahead(12);
            let (kind, len) = (order.u32_at(head, 0), order.u32_at(head, 4) as usize);
            if len < 12 || len % 4 != 0 {
                return Err(damaged("the length is not a multiple of 4 from 12 up"));
            }
            self.take_block(len)?;
            let block = self.source.block();
            if order.u32_at(block, len - 4) as usize != len {
                return Err(damaged("the lengths at its start and end differ"));
            }
            let end = len - 4;
            match kind {
                INTERFACE_DESCRIPTION => {
                    let known = Known::read(order, &block[..end]).map_err(damaged)?;
                    if self.interfaces.len() >= Self::MAX_INTERFACES {
                        return Err(CaptureError::TooManyInterfaces { limit: Self::MAX_INTERFACES });
                    }
                    self.interfaces.push(known);
                }
                ENHANCED_PACKET | PACKET => {
                    if end < 28 {
                        return Err(damaged("a frame's header is not whole"));
                    }
                    let captured = order.u32_at(block, 20) as usize;
                    let octets = 28..28usize.saturating_add(captured);
                    if octets.end > end {
                        return Err(damaged("a frame is longer than its block"));
                    }
                    let interface = match kind {
                        ENHANCED_PACKET => order.u32_at(block, 8),
                        _ => order.u16([block[8], block[9]]).into(),
                    };
                    let stamp = u64::from(order.u32_at(block, 12)) << 32 | u64::from(order.u32_at(block, 16));
                    let options = padded(octets.end).min(end)..end;
                    let wire_len = order.u32_at(block, 24);
                    return Ok(Some(Located { interface, stamp: Some(stamp), octets, wire_len, options }));
                }
                INTERFACE_STATISTICS if end >= 20 => {
                    let mut statistics = InterfaceStatistics::default();
                    for (code, value) in (Options { order, octets: &block[20..end] }) {
                        let Ok(count) = value.try_into().map(|value| order.u64(value)) else { continue };
                        match code {
                            ISB_RECEIVED => statistics.received = count,
                            ISB_DROPPED | ISB_DROPPED_BY_SYSTEM => {
                                statistics.dropped = statistics.dropped.saturating_add(count);
                            }
                            _ => {}
                        }
                    }
                    let id = order.u32_at(block, 8) as usize;
                    if let Some(known) = self.interfaces.get_mut(id) {
                        known.interface.statistics = Some(statistics);
                    }
                }
                SIMPLE_PACKET => {
                    if end < 12 {
                        return Err(damaged("a frame's header is not whole"));
                    }
                    let wire_len = order.u32_at(block, 8);
                    let snap_len = match self.interfaces.first().map_or(0, |known| known.interface.snap_len) {
                        0 => wire_len,
                        snap_len => wire_len.min(snap_len),
                    };
                    let octets = 12..end.min(12usize.saturating_add(snap_len as usize));
                    return Ok(Some(Located { interface: 0, stamp: None, octets, wire_len, options: end..end }));
                }
                _ => {}
            }
        }
    }
}

impl FileFormat {
    fn pcap(big_endian: bool, units_per_second: u64) -> FileFormat {
        FileFormat::Pcap { big_endian, units_per_second }
    }

    fn order(self) -> Order {
        match self {
            FileFormat::PcapNg { big_endian } | FileFormat::Pcap { big_endian, .. } => Order { big_endian },
        }
    }
}

impl Known {
    /// Read an interface description block, without its last length.
    fn read(order: Order, block: &[u8]) -> Result<Known, &'static str> {
        if block.len() < 16 {
            return Err("an interface's description is not whole");
        }
        let mut known = Known {
            interface: Interface { snap_len: order.u32_at(block, 12), ..Interface::default() },
            link_type: order.u16([block[8], block[9]]).into(),
            units_per_second: 1_000_000,
            offset_s: 0,
            fcs_len: 0,
        };
        let text = |value: &[u8]| {
            String::from_utf8_lossy(&value[..value.len().min(CaptureReader::<io::Empty>::MAX_TEXT)]).into_owned()
        };
        for (code, value) in (Options { order, octets: &block[16..] }) {
            match (code, value) {
                (OPT_COMMENT, value) => known.interface.comment = text(value),
                (IF_NAME, value) => known.interface.name = text(value),
                (IF_DESCRIPTION, value) => known.interface.description = text(value),
                (IF_SPEED, value) => {
                    known.interface.speed = value.try_into().ok().map(|speed| BitRate::bps(order.u64(speed)));
                }
                // In octets; older drafts of the format had bits.
                (IF_FCSLEN, &[len]) => known.fcs_len = u32::from(if len < 16 { len } else { len / 8 }),
                (IF_TSOFFSET, value) => known.offset_s = value.try_into().map_or(0, |offset| order.u64(offset) as i64),
                (IF_TSRESOL, &[code]) => {
                    let exponent = u32::from(code & 0x7F);
                    known.units_per_second = if code & 0x80 == 0 { 10u64 } else { 2 }
                        .checked_pow(exponent)
                        .ok_or("an interface's stamps are finer than 64 bits hold")?;
                }
                _ => {}
            }
        }
        Ok(known)
    }

    fn time_ns(&self, stamp: u64) -> Option<u64> {
        let since_offset = u128::from(stamp) * NANOSECOND / u128::from(self.units_per_second);
        let time = i128::try_from(since_offset).ok()? + i128::from(self.offset_s) * NANOSECOND as i128;
        u64::try_from(time).ok()
    }
}
