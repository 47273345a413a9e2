//! Writes pcapng: one section, little-endian, stamps in nanoseconds.

use crate::blocks::*;
use crate::{CaptureError, Direction, Interface, InterfaceId};
use qcnlab_units::{Bytes, Instant};
use std::io::Write;

/// What the head of a capture says; empty texts are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// What was captured on.
    pub hardware: String,
    /// Which program wrote it.
    pub application: String,
    /// A comment, such as the scenario.
    pub comment: String,
}

/// A frame for a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameToWrite<'a> {
    /// Where it was captured.
    pub interface: InterfaceId,
    /// When; a capture keeps whole nanoseconds, rounded down.
    pub at: Instant,
    /// Its octets without FCS, as many as there are.
    pub octets: &'a [u8],
    /// Octets it had on the wire, without FCS.
    pub wire_len: u32,
    /// Which way it went.
    pub direction: Option<Direction>,
    /// A comment; empty for none.
    pub comment: &'a str,
}

/// Returns the octets that a frame takes in a capture, `captured` of its own kept; for estimates.
pub const fn frame_block_len(captured: u32, with_direction: bool, comment_len: u16) -> Bytes {
    let mut options = 0;
    if with_direction {
        options += 8;
    }
    if comment_len > 0 {
        options += 4 + padded(comment_len as usize);
    }
    if options > 0 {
        options += 4;
    }
    Bytes::new((32 + padded(captured as usize) + options) as u64)
}

/// Writes a capture into `W`, block by block. Hand in a buffered writer.
#[derive(Debug)]
pub struct CaptureWriter<W: Write> {
    out: W,
    block: Vec<u8>,
    snap_lens: Vec<u32>,
    frames: u64,
    octets: u64,
}

impl<W: Write> CaptureWriter<W> {
    /// Start a capture: write its section header.
    pub fn new(out: W, section: &Section) -> Result<CaptureWriter<W>, CaptureError> {
        let mut writer = CaptureWriter { out, block: Vec::new(), snap_lens: Vec::new(), frames: 0, octets: 0 };
        writer.start(SECTION_HEADER);
        writer.u32(BYTE_ORDER_MAGIC);
        // Version 1.0, and a section of unknown length.
        writer.block.extend([1, 0, 0, 0]);
        writer.block.extend([0xFF; 8]);
        writer.text("comment of the section", OPT_COMMENT, &section.comment)?;
        writer.text("name of the hardware", SHB_HARDWARE, &section.hardware)?;
        writer.text("name of the application", SHB_USER_APPLICATION, &section.application)?;
        writer.end_of_options();
        writer.flush_block()?;
        Ok(writer)
    }

    /// Describe an interface.
    pub fn add_interface(&mut self, interface: &Interface) -> Result<InterfaceId, CaptureError> {
        let id = InterfaceId(self.snap_lens.len() as u32);
        self.start(INTERFACE_DESCRIPTION);
        self.u32(ETHERNET); // 16 bits of link type, 16 reserved
        self.u32(interface.snap_len);
        self.text("comment of the interface", OPT_COMMENT, &interface.comment)?;
        self.text("name of the interface", IF_NAME, &interface.name)?;
        self.text("description of the interface", IF_DESCRIPTION, &interface.description)?;
        if let Some(speed) = interface.speed {
            self.option(IF_SPEED, &speed.get().to_le_bytes());
        }
        self.option(IF_TSRESOL, &[9]);
        self.option(IF_FCSLEN, &[0]);
        self.end_of_options();
        self.flush_block()?;
        self.snap_lens.push(interface.snap_len);
        Ok(id)
    }

    /// Write a frame, cut to the snap length of its interface.
    pub fn write_frame(&mut self, frame: &FrameToWrite<'_>) -> Result<(), CaptureError> {
        let InterfaceId(interface) = frame.interface;
        let Some(&snap_len) = self.snap_lens.get(interface as usize) else {
            let (frame, described) = (self.frames + 1, self.snap_lens.len());
            return Err(CaptureError::UnknownInterface { frame, interface, described });
        };
        let kept = if snap_len == 0 { frame.octets.len() } else { frame.octets.len().min(snap_len as usize) };
        let captured = u32::try_from(kept).map_err(|_| CaptureError::DoesNotFit {
            what: "a frame",
            value: kept as u64,
            max: u32::MAX.into(),
        })?;
        let stamp = frame.at.ps() / 1000;
        self.start(ENHANCED_PACKET);
        self.u32(interface);
        self.u32((stamp >> 32) as u32);
        self.u32(stamp as u32);
        self.u32(captured);
        self.u32(frame.wire_len.max(captured));
        self.block.extend(&frame.octets[..kept]);
        self.pad();
        if let Some(direction) = frame.direction {
            let flags: u32 = match direction {
                Direction::Received => 1,
                Direction::Sent => 2,
            };
            self.option(EPB_FLAGS, &flags.to_le_bytes());
        }
        self.text("comment of a frame", OPT_COMMENT, frame.comment)?;
        if frame.direction.is_some() || !frame.comment.is_empty() {
            self.end_of_options();
        }
        self.flush_block()?;
        self.frames += 1;
        Ok(())
    }

    /// Returns the number of frames written.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns the size of the capture so far.
    pub fn size(&self) -> Bytes {
        Bytes::new(self.octets)
    }

    /// Flush, and hand the writer back.
    pub fn finish(mut self) -> Result<W, CaptureError> {
        let (frames, octets) = (self.frames, self.octets);
        self.out.flush().map_err(|source| CaptureError::Write { frames, octets, source })?;
        Ok(self.out)
    }

    fn start(&mut self, kind: u32) {
        self.block.clear();
        self.u32(kind);
        self.u32(0); // the length, known at the end
    }

    fn u32(&mut self, n: u32) {
        self.block.extend(n.to_le_bytes());
    }

    fn pad(&mut self) {
        self.block.resize(padded(self.block.len()), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.block.extend(code.to_le_bytes());
        self.block.extend((value.len() as u16).to_le_bytes());
        self.block.extend(value);
        self.pad();
    }

    fn text(&mut self, what: &'static str, code: u16, text: &str) -> Result<(), CaptureError> {
        if text.len() > usize::from(u16::MAX) {
            return Err(CaptureError::DoesNotFit { what, value: text.len() as u64, max: u16::MAX.into() });
        }
        if !text.is_empty() {
            self.option(code, text.as_bytes());
        }
        Ok(())
    }

    fn end_of_options(&mut self) {
        self.option(OPT_END, &[]);
    }

    fn flush_block(&mut self) -> Result<(), CaptureError> {
        let len = (self.block.len() + 4) as u32;
        self.u32(len);
        self.block[4..8].copy_from_slice(&len.to_le_bytes());
        let (frames, octets) = (self.frames, self.octets);
        self.out.write_all(&self.block).map_err(|source| CaptureError::Write { frames, octets, source })?;
        self.octets += self.block.len() as u64;
        Ok(())
    }
}
