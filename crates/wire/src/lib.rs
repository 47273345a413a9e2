//! Frames of congestion management as octets: decode, encode, print.
//!
//! Every format is one file: a value with named fields, how it stands in octets, and a line of text for people.
//! [`Frame`] is a whole Ethernet frame made of them. The formats, octet by octet, with the clause of each and how
//! sure it is, are in `docs/reference/wire-formats.md`.
//!
//! ```text
//! DA SA [S-TAG] [C-TAG] [CN-TAG] [scheme tag] EtherType  payload                        padding
//!                                             0x22E7     Cnm
//!                                             0x8808     MacControl: Pause, Pfc
//!                                             0x88CC     Lldp: CnTlv, PfcTlv, EtsTlv
//!                                             0x0800     Ipv4Packet: Tcp, Udp, RocePacket
//!                                             0x88B5     SchemeMessage: probes, BCN, ... (experimental)
//! ```
//!
//! What every format guarantees, by test:
//!
//! 1. `decode(encode(v))` is `v`. `encode(decode(octets))` is `octets`, because reserved bits, checksums and padding
//!    are fields.
//! 2. No octets make decoding panic. What cannot be read is a [`WireError`], with the octet at fault.
//! 3. Decoding and printing allocate nothing: variable parts are slices of the frame.
//!
//! There is no I/O and no clock here.

#![forbid(unsafe_code)]

mod address;
mod cn_tag;
mod cnm;
mod codec;
mod error;
mod experimental;
mod frame;
mod headers;
mod internet;
mod lldp;
mod mac_control;
mod quantize;
mod roce;
mod vlan;

pub use address::{EtherType, MacAddress};
pub use cn_tag::CnTag;
pub use cnm::{Cnm, Cpid};
pub use codec::{Codec, Reader, Writer};
pub use error::{Format, WireError};
pub use experimental::{Bcn, Probe, ProbeAnswer, QueueReport, SchemeBody, SchemeMessage, SchemeTag};
pub use frame::{Frame, Payload};
pub use headers::{HeaderOptions, IpDscp, IpEcn, IpFragOffset, IpNumber, Ipv4Header, TcpHeader, UdpHeader};
pub use internet::{Ipv4Packet, Segment, UdpPayload};
pub use lldp::{CnTlv, EtsKind, EtsTlv, Lldp, PfcTlv, Tlv, Tlvs};
pub use mac_control::{MacControl, Pause, Pfc, Quanta};
pub use quantize::{QuantizedFb, QueueUnits, full_scale, quantize_feedback};
pub use roce::{Aeth, AethKind, Bth, NakCode, RoceExtension, RoceOpcode, RocePacket};
pub use vlan::VlanTag;
