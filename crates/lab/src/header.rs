//! The head of a captured frame: its addresses and tags, read from frames that may be cut.

use qcnlab_capture::CapturedFrame;
use qcnlab_wire::{EtherType, MacAddress};

/// Addresses and tags of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) destination: MacAddress,
    pub(crate) source: MacAddress,
    /// Of the outer 802.1Q tag; `None` without one.
    pub(crate) tag_priority: Option<u8>,
    pub(crate) rpid: Option<u16>,
    pub(crate) ether_type: EtherType,
    /// Where the EtherType stands: what a CNM carries of the frame starts there.
    pub(crate) msdu: usize,
}

/// A frame of which too few octets were kept to read its addresses and tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeaderCut {
    /// Its number.
    pub(crate) frame: u64,
    /// Octets that were kept.
    pub(crate) kept: usize,
    /// Octets that are needed.
    pub(crate) needed: usize,
}

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Data,
    Cnm,
    MacControl,
    /// Announcements and the experimental messages of schemes: neither data nor CNM.
    Other,
}

impl Header {
    pub(crate) fn of(frame: &CapturedFrame<'_>) -> Result<Header, HeaderCut> {
        let octets = frame.octets;
        let mut at = 12;
        let mut priority = None;
        let mut rpid = None;
        loop {
            let cut = HeaderCut { frame: frame.number, kept: octets.len(), needed: at + 6 };
            let Some(&[high, low]) = octets.get(at..at + 2) else { return Err(cut) };
            let ether_type = EtherType(u16::from_be_bytes([high, low]));
            let tag = |len: usize| octets.get(at + 2..at + 2 + len);
            match ether_type {
                EtherType::S_TAG | EtherType::C_TAG => {
                    let Some(&[first, _]) = tag(2) else { return Err(cut) };
                    priority = priority.or(Some(first >> 5));
                    at += 4;
                }
                EtherType::CN_TAG if rpid.is_none() => {
                    let Some(&[first, second]) = tag(2) else { return Err(cut) };
                    rpid = Some(u16::from_be_bytes([first, second]));
                    at += 4;
                }
                EtherType::SCHEME_TAG if tag(4) == Some(b"QLAB") => at += 16,
                _ => {
                    let mut addresses = [[0; 6]; 2];
                    addresses[0].copy_from_slice(&octets[..6]);
                    addresses[1].copy_from_slice(&octets[6..12]);
                    let [destination, source] = addresses.map(MacAddress);
                    return Ok(Header { destination, source, tag_priority: priority, rpid, ether_type, msdu: at });
                }
            }
        }
    }

    /// The priority, 0 without a tag.
    pub(crate) fn priority(&self) -> u8 {
        self.tag_priority.unwrap_or(0)
    }

    pub(crate) fn kind(&self) -> FrameKind {
        match self.ether_type {
            EtherType::CNM => FrameKind::Cnm,
            EtherType::MAC_CONTROL => FrameKind::MacControl,
            EtherType::LLDP | EtherType::SCHEME_MESSAGE => FrameKind::Other,
            _ => FrameKind::Data,
        }
    }
}
