//! A host that was taken over, and its cable: hostile frames at full rate into the switch, and into the host's own
//! adapter as if the switch had sent them.
//!
//! Frames are valid ones of each kind that means something on a link, with foreign addresses, forged fields and random
//! numbers in them, half of them damaged: cut short, or with octets changed.

use crate::head::{Head, with_tags};
use crate::layout::{Layout, VLAN, ip, mac};
use crate::signals;
use crate::sys::SysError;
use crate::sys::socket::PacketSocket;
use qcnlab_schemes::{Cnm, CpId, Dice, Purpose, Signal};
use qcnlab_sim::NodeId;
use qcnlab_units::Id;
use qcnlab_wire::{CnTag, Codec, EtherType, Frame, MacAddress, MacControl, Pause, Payload, Pfc, Quanta, VlanTag};

/// The shortest frame that a packet socket takes: two addresses and an EtherType.
const SHORTEST: usize = 14;

/// Of so many frames one is sent so many times.
const FLOOD: u32 = 300;

/// Who sends hostile frames in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intruder {
    /// The host that was taken over, by its name in the scenario.
    pub host: String,
    /// Seed of the frames.
    pub seed: u64,
}

/// What an intruder did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntruderEnd {
    /// Frames sent into the switch.
    pub into_switch: u64,
    /// Frames sent into the host's own adapter.
    pub into_adapter: u64,
    /// Frames that the kernel did not take: too long for the link, or no room.
    pub not_taken: u64,
}

/// Makes hostile frames.
pub(crate) struct HostileFrames<'a> {
    layout: &'a Layout,
    host: NodeId,
    dice: Dice,
}

impl HostileFrames<'_> {
    pub(crate) fn new(layout: &Layout, host: NodeId, seed: u64) -> HostileFrames<'_> {
        HostileFrames { layout, host, dice: Dice::new(seed, 0, "intruder", Purpose::Traffic) }
    }

    fn octet(&mut self) -> u8 {
        self.dice.below(256) as u8
    }

    fn half(&mut self) -> u16 {
        self.dice.below(1 << 16) as u16
    }

    fn any_node(&mut self) -> NodeId {
        NodeId::new(self.dice.below(self.layout.roles.len() as u32))
    }

    /// The address of a node of the network; one time in four, an address that nobody has.
    fn address(&mut self) -> MacAddress {
        if self.dice.below(4) == 0 {
            return MacAddress([0x0A, self.octet(), self.octet(), self.octet(), self.octet(), self.octet()]);
        }
        mac(self.any_node())
    }

    /// The next frame.
    pub(crate) fn next(&mut self) -> Vec<u8> {
        let mut octets = match self.dice.below(8) {
            0 => self.random(),
            1 => self.data(self.host),
            2 => {
                let claimed = self.any_node();
                self.data(claimed)
            }
            3 | 4 => self.signal(),
            5 => self.control(),
            6 => self.discovery(),
            _ => self.too_long(),
        };
        if self.dice.below(2) == 0 {
            self.damage(&mut octets);
        }
        octets.resize(octets.len().max(SHORTEST), 0);
        octets
    }

    fn random(&mut self) -> Vec<u8> {
        let length = self.dice.below(200) as usize;
        (0..length).map(|_| self.octet()).collect()
    }

    /// Data of a flow, or of none, from whom it claims to be, with a CN-TAG that may be another's.
    fn data(&mut self, claimed: NodeId) -> Vec<u8> {
        let to = self.any_node();
        let mut plain = if self.dice.below(2) == 0 { mac(to) } else { self.address() }.0.to_vec();
        plain.extend(mac(claimed).0);
        plain.extend(EtherType::IPV4.0.to_be_bytes());
        let payload = self.dice.below(1400) as u16;
        plain.extend([0x45, 0]);
        plain.extend((28 + payload).to_be_bytes());
        plain.extend([0, 0, 0, 0, 64, 17, 0, 0]);
        plain.extend(ip(claimed));
        plain.extend(ip(to));
        let port = crate::layout::FIRST_PORT.wrapping_add(self.dice.below(8) as u16);
        plain.extend(port.to_be_bytes());
        plain.extend([0, 9]);
        plain.resize(plain.len() + 4 + usize::from(payload), 0);
        let tag = VlanTag { priority: self.dice.below(8) as u8, drop_eligible: false, vlan: VLAN };
        // Most hosts have one reaction point, RPID 1.
        let rpids = [1, 1, 1, 0, 2, self.half()];
        let cn_tag = (self.dice.below(3) > 0).then(|| CnTag { rpid: self.dice.pick(&rpids) });
        with_tags(&plain, tag, cn_tag)
    }

    /// A CNM or a queue report, with a forged CPID, to a host that did not send what it is about.
    fn signal(&mut self) -> Vec<u8> {
        let about = self.data(self.host);
        let Some(head) = Head::read(&about) else { return about };
        let cp = CpId(u32::from(self.half()));
        let fb = 1 + self.dice.below(63) as u8;
        let said = Signal::Cnm(Cnm {
            cp,
            quantized_fb: fb,
            q_offset: i64::from(self.half()) - 32_768,
            q_delta: i64::from(self.half()) - 32_768,
        });
        let bridge = self.any_node();
        let Some((mut octets, _)) = signals::frame_of(said, bridge, 6, &head, &about) else { return about };
        let to = if self.dice.below(2) == 0 { mac(self.host) } else { self.address() };
        octets[..6].copy_from_slice(&to.0);
        octets
    }

    /// PAUSE, PFC, or another opcode, with random quanta.
    fn control(&mut self) -> Vec<u8> {
        let quanta = Quanta(self.half());
        let control = match self.dice.below(3) {
            0 => MacControl::Pause(Pause { time: quanta }),
            1 => MacControl::Pfc(Pfc::new(self.octet(), quanta)),
            _ => MacControl::Other { opcode: 0x0200 | self.half(), octets: &[0; 44] },
        };
        let frame = Frame::new(MacAddress::MAC_CONTROL, mac(self.host), Payload::MacControl(control));
        frame.to_vec().unwrap_or_default()
    }

    /// LLDP with TLVs whose lengths may lie.
    fn discovery(&mut self) -> Vec<u8> {
        let mut octets = MacAddress::LLDP.0.to_vec();
        octets.extend(mac(self.host).0);
        octets.extend(EtherType::LLDP.0.to_be_bytes());
        for _ in 0..self.dice.below(12) {
            octets.extend((self.half() & 0xFE3F).to_be_bytes());
            let length = self.dice.below(24) as usize;
            octets.extend((0..length).map(|_| self.octet()));
        }
        octets
    }

    /// As long as a link takes with one tag, and a little more.
    fn too_long(&mut self) -> Vec<u8> {
        let mut octets = self.data(self.host);
        octets.resize(self.layout.mtu as usize + 10 + self.dice.below(12) as usize, 0x5A);
        octets
    }

    fn damage(&mut self, octets: &mut Vec<u8>) {
        if octets.is_empty() {
            return;
        }
        let length = octets.len() as u32;
        match self.dice.below(3) {
            0 => octets.truncate(self.dice.below(length) as usize),
            1 => {
                for _ in 0..=self.dice.below(8) {
                    let at = self.dice.below(length.min(64)) as usize;
                    octets[at] = self.octet();
                }
            }
            _ => {
                // An EtherType where none belongs.
                let kinds = [0x8100u16, 0x88A8, 0x22E7, 0x22E9, 0x8808, 0x88CC, 0x0800, 0x88B5, 0x88B6];
                let at = 12 + 2 * self.dice.below(5) as usize;
                if octets.len() > at + 1 {
                    octets[at..at + 2].copy_from_slice(&self.dice.pick(&kinds).to_be_bytes());
                }
            }
        }
    }
}

/// The two sides of a cable that an intruder sends on.
pub(crate) struct Cable {
    socket: PacketSocket,
    interface: i32,
}

impl Cable {
    /// Opens an interface of the calling thread's namespace for sending.
    pub(crate) fn open(name: &str) -> Result<Cable, SysError> {
        let interface = crate::sys::socket::interface_index(name)?;
        Ok(Cable { socket: PacketSocket::open_to_send()?, interface })
    }

    fn send(&self, octets: &[u8]) -> bool {
        self.socket.send(self.interface, octets).is_ok()
    }
}

/// Sends hostile frames until `over`, as fast as the kernel takes them.
pub(crate) fn intrude(
    mut frames: HostileFrames<'_>,
    into_switch: &Cable,
    into_adapter: &Cable,
    over: impl Fn() -> bool,
) -> IntruderEnd {
    let mut end = IntruderEnd::default();
    while !over() {
        let octets = frames.next();
        let to_switch = frames.dice.below(2) == 0;
        // One frame in 300 becomes a flood of as many: half of all frames are floods.
        let times = if frames.dice.below(FLOOD) == 0 { FLOOD } else { 1 };
        for _ in 0..times {
            let taken = if to_switch { into_switch } else { into_adapter }.send(&octets);
            match (taken, to_switch) {
                (true, true) => end.into_switch += 1,
                (true, false) => end.into_adapter += 1,
                (false, _) => end.not_taken += 1,
            }
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Of every kind there are many, and the same seed gives the same frames.
    #[test]
    fn hostile_frames_are_of_every_kind() {
        let layout = crate::hostile::layout();
        let mut frames = HostileFrames::new(&layout, NodeId::new(1), 7);
        let mut again = HostileFrames::new(&layout, NodeId::new(1), 7);
        let mut kinds: BTreeMap<u16, u32> = BTreeMap::new();
        for _ in 0..20_000 {
            let octets = frames.next();
            assert_eq!(octets, again.next());
            assert!((SHORTEST..=usize::from(u16::MAX)).contains(&octets.len()));
            let kind = Head::read(&octets).map_or(0, |head| head.ether_type.0);
            *kinds.entry(kind).or_default() += 1;
        }
        // 0 is a head that is cut off.
        for kind in [0, 0x0800, 0x22E7, 0x8808, 0x88CC, 0x8100] {
            assert!(kinds.get(&kind).is_some_and(|count| *count > 20), "{kind:#06x}: {kinds:?}");
        }
    }
}
