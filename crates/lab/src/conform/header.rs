//! The head of a captured frame: as much of it as a verdict takes, read from frames that may be cut.

use super::error::ConformError;
use qcnlab_capture::CapturedFrame;
use qcnlab_wire::{EtherType, MacAddress};

/// Addresses and tags of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) destination: MacAddress,
    pub(super) source: MacAddress,
    /// Of the outer tag, or 0.
    pub(super) priority: u8,
    pub(super) rpid: Option<u16>,
    pub(super) ether_type: EtherType,
    /// Where the EtherType stands: what a CNM carries of the frame starts there.
    pub(super) msdu: usize,
}

/// What a frame is to a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    Data,
    Cnm,
    MacControl,
    /// Announcements and the experimental messages of schemes: neither data nor CNM.
    Other,
}

impl Header {
    pub(super) fn of(frame: &CapturedFrame<'_>) -> Result<Header, ConformError> {
        let octets = frame.octets;
        let mut at = 12;
        let mut priority = None;
        let mut rpid = None;
        loop {
            let cut = ConformError::SnapLength {
                frame: frame.number,
                kept: octets.len(),
                what: "addresses and tags",
                needed: at + 6,
            };
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
                    return Ok(Header {
                        destination,
                        source,
                        priority: priority.unwrap_or(0),
                        rpid,
                        ether_type,
                        msdu: at,
                    });
                }
            }
        }
    }

    pub(super) fn kind(&self) -> FrameKind {
        match self.ether_type {
            EtherType::CNM => FrameKind::Cnm,
            EtherType::MAC_CONTROL => FrameKind::MacControl,
            EtherType::LLDP | EtherType::SCHEME_MESSAGE => FrameKind::Other,
            _ => FrameKind::Data,
        }
    }
}
