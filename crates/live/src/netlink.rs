//! Links, addresses and neighbours of a namespace, over netlink.
//!
//! Only the few messages that the network needs are built here: a header of 16 octets, a fixed part for each kind, and
//! attributes, each with its length and kind before its octets, padded to four.

use crate::sys::SysError;
use crate::sys::socket::{Netlink, interface_index};
use qcnlab_wire::MacAddress;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

const REQUEST: u16 = 0x1; // NLM_F_REQUEST
/// A question whose answer comes to who asks: NLM_F_REQUEST, NLM_F_ECHO.
pub(crate) const QUESTION: u16 = REQUEST | 0x8;
/// An order that is answered by an error number: NLM_F_REQUEST, NLM_F_ACK.
pub(crate) const ACKNOWLEDGE: u16 = REQUEST | 0x4;
/// An order to make what is not there: and NLM_F_EXCL, NLM_F_CREATE.
pub(crate) const CREATE: u16 = ACKNOWLEDGE | 0x200 | 0x400;
const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const NEW_NEIGHBOUR: u16 = 28;
const ERROR: u16 = 2;

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_MASTER: u16 = 10;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const IFF_UP: u32 = 1;

/// A message under construction.
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn new(kind: u16, flags: u16) -> Message {
        let mut octets = vec![0; 4];
        octets.extend(kind.to_ne_bytes());
        octets.extend(flags.to_ne_bytes());
        octets.extend([1, 0, 0, 0, 0, 0, 0, 0]); // sequence number 1, to the kernel
        Message(octets)
    }

    /// The fixed part of its kind.
    pub(crate) fn fixed(mut self, octets: &[u8]) -> Message {
        self.0.extend(octets);
        self
    }

    pub(crate) fn attribute(mut self, kind: u16, value: &[u8]) -> Message {
        self.0.extend(((4 + value.len()) as u16).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    /// An attribute made of a fixed part and further attributes.
    pub(crate) fn nested(mut self, kind: u16, inside: impl FnOnce(Message) -> Message) -> Message {
        let start = self.0.len();
        self.0.extend([0, 0]);
        self.0.extend(kind.to_ne_bytes());
        self = inside(self);
        let length = (self.0.len() - start) as u16;
        self.0[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let length = self.0.len() as u32;
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        self.0
    }
}

/// The attributes among these octets: kind and value of each. What is cut off is left out.
pub(crate) fn attributes(mut octets: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes([*octets.first()?, *octets.get(1)?]));
        // The two upper bits say how the value is written.
        let kind = u16::from_ne_bytes([*octets.get(2)?, *octets.get(3)?]) & 0x3FFF;
        let value = octets.get(4..length)?;
        octets = octets.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, value))
    })
}

/// The fixed part of a link: family, kind, index, flags and which of them change.
fn link(index: i32, flags: u32, change: u32) -> [u8; 16] {
    let mut octets = [0; 16];
    octets[4..8].copy_from_slice(&index.to_ne_bytes());
    octets[8..12].copy_from_slice(&flags.to_ne_bytes());
    octets[12..].copy_from_slice(&change.to_ne_bytes());
    octets
}

fn name_octets(name: &str) -> Vec<u8> {
    let mut octets = name.as_bytes().to_vec();
    octets.push(0);
    octets
}

/// One end of a pair of virtual interfaces.
#[derive(Clone, Debug)]
pub(crate) struct VethEnd<'a> {
    /// Its name, of 15 octets at most.
    pub(crate) name: &'a str,
    /// Its address.
    pub(crate) address: MacAddress,
}

/// What can be changed in the namespace in which it was opened.
pub(crate) struct Links(Netlink);

impl Links {
    /// Opens the calling thread's namespace for changes.
    pub(crate) fn open() -> Result<Links, SysError> {
        Netlink::open().map(Links)
    }

    /// Makes a pair of virtual interfaces: `near` here, `far` in another namespace, or here as well.
    pub(crate) fn make_veth(
        &self,
        near: &VethEnd<'_>,
        far: &VethEnd<'_>,
        far_in: Option<BorrowedFd<'_>>,
        mtu: u32,
    ) -> Result<(), SysError> {
        let end = |message: Message, end: &VethEnd<'_>| {
            message
                .attribute(IFLA_IFNAME, &name_octets(end.name))
                .attribute(IFLA_ADDRESS, &end.address.0)
                .attribute(IFLA_MTU, &mtu.to_ne_bytes())
        };
        let message = end(Message::new(NEW_LINK, CREATE).fixed(&link(0, 0, 0)), near);
        let message = message.nested(IFLA_LINKINFO, |message| {
            message.attribute(IFLA_INFO_KIND, b"veth").nested(IFLA_INFO_DATA, |message| {
                message.nested(VETH_INFO_PEER, |message| {
                    let message = end(message.fixed(&link(0, 0, 0)), far);
                    match far_in {
                        Some(namespace) => message.attribute(IFLA_NET_NS_FD, &namespace.as_raw_fd().to_ne_bytes()),
                        None => message,
                    }
                })
            })
        });
        self.ask(message, &format!("make the veth pair {} and {}", near.name, far.name))
    }

    /// Sets an interface's address, MTU and queue length.
    pub(crate) fn configure(&self, name: &str, address: MacAddress, mtu: u32, queue: u32) -> Result<(), SysError> {
        let message = Message::new(NEW_LINK, ACKNOWLEDGE)
            .fixed(&link(interface_index(name)?, 0, 0))
            .attribute(IFLA_ADDRESS, &address.0)
            .attribute(IFLA_MTU, &mtu.to_ne_bytes())
            .attribute(IFLA_TXQLEN, &queue.to_ne_bytes());
        self.ask(message, &format!("configure {name}"))
    }

    /// Makes a bridge of the kernel's.
    pub(crate) fn make_bridge(&self, name: &str) -> Result<(), SysError> {
        let message = Message::new(NEW_LINK, CREATE)
            .fixed(&link(0, 0, 0))
            .attribute(IFLA_IFNAME, &name_octets(name))
            .nested(IFLA_LINKINFO, |message| message.attribute(IFLA_INFO_KIND, b"bridge"));
        self.ask(message, &format!("make the bridge {name}"))
    }

    /// Makes an interface a port of a bridge.
    pub(crate) fn join_bridge(&self, name: &str, bridge: &str) -> Result<(), SysError> {
        let message = Message::new(NEW_LINK, ACKNOWLEDGE)
            .fixed(&link(interface_index(name)?, 0, 0))
            .attribute(IFLA_MASTER, &interface_index(bridge)?.to_ne_bytes());
        self.ask(message, &format!("make {name} a port of {bridge}"))
    }

    /// Has the stack hand segments of TCP to an interface one by one, so that what queues there sees frames.
    pub(crate) fn send_single_segments(&self, name: &str) -> Result<(), SysError> {
        let message = Message::new(NEW_LINK, ACKNOWLEDGE)
            .fixed(&link(interface_index(name)?, 0, 0))
            .attribute(IFLA_GSO_MAX_SEGS, &1u32.to_ne_bytes());
        self.ask(message, &format!("have segments handed to {name} one by one"))
    }

    /// Sets an interface up.
    pub(crate) fn set_up(&self, name: &str) -> Result<(), SysError> {
        let message = Message::new(NEW_LINK, ACKNOWLEDGE).fixed(&link(interface_index(name)?, IFF_UP, IFF_UP));
        self.ask(message, &format!("set {name} up"))
    }

    /// Sets an interface's IPv4 address, in a network of `prefix` bits.
    pub(crate) fn add_address(&self, name: &str, address: [u8; 4], prefix: u8) -> Result<(), SysError> {
        let mut fixed = [0; 8];
        fixed[0] = libc::AF_INET as u8;
        fixed[1] = prefix;
        fixed[4..].copy_from_slice(&interface_index(name)?.to_ne_bytes());
        let message = Message::new(NEW_ADDRESS, CREATE)
            .fixed(&fixed)
            .attribute(IFA_LOCAL, &address)
            .attribute(IFA_ADDRESS, &address);
        self.ask(message, &format!("give {name} an address"))
    }

    /// Tells the stack for ever which MAC address a neighbour has.
    pub(crate) fn add_neighbour(&self, name: &str, neighbour: [u8; 4], address: MacAddress) -> Result<(), SysError> {
        const PERMANENT: u16 = 0x80;
        let mut fixed = [0; 12];
        fixed[0] = libc::AF_INET as u8;
        fixed[4..8].copy_from_slice(&interface_index(name)?.to_ne_bytes());
        fixed[8..10].copy_from_slice(&PERMANENT.to_ne_bytes());
        let message = Message::new(NEW_NEIGHBOUR, CREATE)
            .fixed(&fixed)
            .attribute(NDA_DST, &neighbour)
            .attribute(NDA_LLADDR, &address.0);
        self.ask(message, &format!("add a neighbour of {name}"))
    }

    /// Sends a message; the answer is an error number, 0 for none.
    pub(crate) fn ask(&self, message: Message, what: &str) -> Result<(), SysError> {
        let answer = self.0.ask(&message.finish()).map_err(|error| SysError::new(what, error))?;
        match error_number(&answer) {
            Some(0) => Ok(()),
            Some(error) => Err(SysError::new(what, io::Error::from_raw_os_error(-error))),
            None => Err(SysError::new(what, io::Error::other("the kernel's answer is too short"))),
        }
    }

    /// Sends a question; the answer is a message of the kernel's, or an error number.
    pub(crate) fn question(&self, message: Message, what: &str) -> Result<Vec<u8>, SysError> {
        let answer = self.0.ask(&message.finish()).map_err(|error| SysError::new(what, error))?;
        if answer.get(4..6) == Some(&ERROR.to_ne_bytes()) {
            let error = error_number(&answer).unwrap_or(0);
            return Err(SysError::new(what, io::Error::from_raw_os_error(-error)));
        }
        Ok(answer)
    }
}

/// The error number of an answer: behind its header.
fn error_number(answer: &[u8]) -> Option<i32> {
    Some(i32::from_ne_bytes(answer.get(16..20)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of 16 octets, 16 of the link, and an attribute of 4 + 2 octets padded to 8, in one of 4 + 8.
    #[test]
    fn attributes_are_padded_and_nested_ones_count_what_is_inside() {
        let message = Message::new(NEW_LINK, CREATE)
            .fixed(&link(3, IFF_UP, IFF_UP))
            .nested(IFLA_LINKINFO, |message| message.attribute(IFLA_INFO_KIND, b"ab"))
            .finish();
        assert_eq!(message.len(), 16 + 16 + 12);
        assert_eq!(message[..4], 44u32.to_ne_bytes());
        assert_eq!(message[20..24], 3i32.to_ne_bytes());
        assert_eq!(message[32..34], 12u16.to_ne_bytes());
        assert_eq!((&message[36..38], &message[40..]), (&6u16.to_ne_bytes()[..], &b"ab\0\0"[..]));
        // And read back: one attribute with one in it; one that is cut off is none.
        let (kind, inside) = attributes(&message[32..]).next().expect("one attribute");
        assert_eq!((kind, attributes(inside).collect::<Vec<_>>()), (IFLA_LINKINFO, vec![(IFLA_INFO_KIND, &b"ab"[..])]));
        assert_eq!(attributes(&message[32..40]).count(), 0);
    }
}
