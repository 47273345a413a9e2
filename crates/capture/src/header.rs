//! The head of a captured frame: its addresses and tags, read from frames that may be cut.

use crate::CapturedFrame;
use qcnlab_wire::{EtherType, MacAddress};

/// Addresses and tags of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Where it goes.
    pub destination: MacAddress,
    /// Who sent it.
    pub source: MacAddress,
    /// Of the outer 802.1Q tag; `None` without one.
    pub tag_priority: Option<u8>,
    /// The flow's number in its CN-TAG; `None` without one.
    pub rpid: Option<u16>,
    /// What follows the tags.
    pub ether_type: EtherType,
    /// Where the EtherType stands: what a CNM carries of the frame starts there.
    pub msdu: usize,
}

/// A frame of which too few octets were kept to read its addresses and tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderCut {
    /// Its number.
    pub frame: u64,
    /// Octets that were kept.
    pub kept: usize,
    /// Octets that are needed.
    pub needed: usize,
}

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Anything else.
    Data,
    /// A congestion notification message.
    Cnm,
    /// PAUSE or PFC.
    MacControl,
    /// Announcements and the experimental messages of schemes: neither data nor CNM.
    Other,
}

impl Header {
    /// Read the head of a captured frame.
    ///
    /// # Errors
    /// When too few octets of the frame were kept.
    pub fn of(frame: &CapturedFrame<'_>) -> Result<Header, HeaderCut> {
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
    pub fn priority(&self) -> u8 {
        self.tag_priority.unwrap_or(0)
    }

    /// Say what the frame is for, by its EtherType.
    pub fn kind(&self) -> FrameKind {
        match self.ether_type {
            EtherType::CNM => FrameKind::Cnm,
            EtherType::MAC_CONTROL => FrameKind::MacControl,
            EtherType::LLDP | EtherType::SCHEME_MESSAGE => FrameKind::Other,
            _ => FrameKind::Data,
        }
    }
}
