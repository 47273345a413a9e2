//! What a switch or an adapter reads of a frame: addresses, tags, and which conversation it belongs to. No octets make
//! it fail; what is not there is not told.

use qcnlab_wire::{CnTag, Codec, EtherType, MacAddress, VlanTag};

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) destination: MacAddress,
    pub(crate) source: MacAddress,
    pub(crate) c_tag: Option<VlanTag>,
    pub(crate) cn_tag: Option<CnTag>,
    /// What the frame carries, behind all tags known here.
    pub(crate) ether_type: EtherType,
    /// Where the EtherType stands.
    pub(crate) ether_type_at: usize,
}

/// The two ends of a conversation in UDP or TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Conversation {
    pub(crate) protocol: u8,
    pub(crate) source: [u8; 4],
    pub(crate) destination: [u8; 4],
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
}

fn half(octets: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(octets.get(at..at + 2)?.try_into().ok()?))
}

fn address(octets: &[u8], at: usize) -> Option<MacAddress> {
    Some(MacAddress(octets.get(at..at + 6)?.try_into().ok()?))
}

impl Head {
    /// Reads the head of a frame; `None` where it is cut off.
    pub(crate) fn read(octets: &[u8]) -> Option<Head> {
        let (destination, source) = (address(octets, 0)?, address(octets, 6)?);
        let (mut at, mut c_tag, mut cn_tag) = (12, None, None);
        let mut ether_type = EtherType(half(octets, at)?);
        if ether_type == EtherType::C_TAG {
            c_tag = Some(VlanTag::decode(octets.get(at + 2..)?).ok()?.0);
            at += 4;
            ether_type = EtherType(half(octets, at)?);
        }
        if ether_type == EtherType::CN_TAG {
            cn_tag = Some(CnTag::decode(octets.get(at + 2..)?).ok()?.0);
            at += 4;
            ether_type = EtherType(half(octets, at)?);
        }
        Some(Head { destination, source, c_tag, cn_tag, ether_type, ether_type_at: at })
    }

    /// The frame's priority; 0 without a tag.
    pub(crate) fn priority(&self) -> u8 {
        self.c_tag.map_or(0, |tag| tag.priority)
    }

    /// Which conversation the frame belongs to, if it carries UDP or TCP in IPv4.
    pub(crate) fn conversation(&self, octets: &[u8]) -> Option<Conversation> {
        if self.ether_type != EtherType::IPV4 {
            return None;
        }
        let packet = octets.get(self.ether_type_at + 2..)?;
        let header = usize::from(packet.first()? & 0x0F) * 4;
        let protocol = *packet.get(9)?;
        let later_fragment = half(packet, 6)? & 0x1FFF != 0;
        if header < 20 || later_fragment || !matches!(protocol, 6 | 17) {
            return None;
        }
        Some(Conversation {
            protocol,
            source: packet.get(12..16)?.try_into().ok()?,
            destination: packet.get(16..20)?.try_into().ok()?,
            source_port: half(packet, header)?,
            destination_port: half(packet, header + 2)?,
        })
    }

    /// The frame without its 802.1Q tag and its CN-TAG, as a host's stack takes it.
    pub(crate) fn untagged(&self, octets: &[u8], room: &mut Vec<u8>) {
        room.clear();
        room.extend_from_slice(&octets[..12]);
        room.extend_from_slice(&octets[self.ether_type_at..]);
    }
}

/// A frame of a host's stack, without tags, with an 802.1Q tag and, for a rate-limited one, a CN-TAG.
pub(crate) fn with_tags(octets: &[u8], tag: VlanTag, cn_tag: Option<CnTag>) -> Vec<u8> {
    let mut tagged = Vec::with_capacity(octets.len() + 8);
    let (addresses, rest) = octets.split_at(12.min(octets.len()));
    tagged.extend_from_slice(addresses);
    tagged.extend(EtherType::C_TAG.0.to_be_bytes());
    let control = u16::from(tag.priority & 7) << 13 | u16::from(tag.drop_eligible) << 12 | tag.vlan & 0x0FFF;
    tagged.extend(control.to_be_bytes());
    if let Some(cn_tag) = cn_tag {
        tagged.extend(EtherType::CN_TAG.0.to_be_bytes());
        tagged.extend(cn_tag.rpid.to_be_bytes());
    }
    tagged.extend_from_slice(rest);
    tagged
}

/// Sets another priority in a frame; one without an 802.1Q tag gets a tag of `vlan` for that.
pub(crate) fn set_priority(octets: &mut Vec<u8>, head: &Head, priority: u8, vlan: u16) {
    match head.c_tag {
        Some(_) => octets[14] = octets[14] & 0x1F | (priority & 7) << 5,
        None => {
            let control = u16::from(priority & 7) << 13 | vlan & 0x0FFF;
            let [[a, b], [c, d]] = [EtherType::C_TAG.0.to_be_bytes(), control.to_be_bytes()];
            octets.splice(12..12, [a, b, c, d]);
        }
    }
}

/// Takes the CN-TAG off a frame that has one.
pub(crate) fn take_cn_tag_off(octets: &mut Vec<u8>) {
    let Some(head) = Head::read(octets) else { return };
    if head.cn_tag.is_some() {
        octets.drain(head.ether_type_at - 4..head.ether_type_at);
    }
}

/// A frame with the tag that the kernel took off put back.
pub(crate) fn whole(octets: &[u8], tag: Option<(u16, u16)>) -> Vec<u8> {
    let Some((ether_type, control)) = tag else { return octets.to_vec() };
    let mut frame = Vec::with_capacity(octets.len() + 4);
    let (addresses, rest) = octets.split_at(12.min(octets.len()));
    frame.extend_from_slice(addresses);
    frame.extend(ether_type.to_be_bytes());
    frame.extend(control.to_be_bytes());
    frame.extend_from_slice(rest);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UDP datagram from port 49 152 to port 9, as a host's stack sends it.
    fn datagram() -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00];
        frame.extend([0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0xC0, 0x00, 0, 9, 0, 8, 0, 0]);
        frame
    }

    #[test]
    fn tags_go_on_and_come_off() {
        let plain = datagram();
        let tag = VlanTag { priority: 3, drop_eligible: false, vlan: 1 };
        let tagged = with_tags(&plain, tag, Some(CnTag { rpid: 7 }));
        assert_eq!(tagged[12..22], [0x81, 0x00, 0x60, 0x01, 0x22, 0xE9, 0x00, 0x07, 0x08, 0x00]);
        let head = Head::read(&tagged).expect("it is whole");
        assert_eq!((head.priority(), head.cn_tag, head.ether_type_at), (3, Some(CnTag { rpid: 7 }), 20));
        let conversation = head.conversation(&tagged).expect("UDP");
        assert_eq!((conversation.source_port, conversation.destination_port), (49_152, 9));
        let mut room = Vec::new();
        head.untagged(&tagged, &mut room);
        assert_eq!(room, plain);
        // The kernel takes the first tag off and tells it.
        let mut taken = tagged.clone();
        taken.drain(12..16);
        assert_eq!(whole(&taken, Some((0x8100, 0x6001))), tagged);
    }

    #[test]
    fn a_domain_changes_priorities_and_takes_cn_tags_off() {
        let tag = VlanTag { priority: 3, drop_eligible: false, vlan: 1 };
        let mut frame = with_tags(&datagram(), tag, Some(CnTag { rpid: 7 }));
        let head = Head::read(&frame).expect("it is whole");
        set_priority(&mut frame, &head, 2, 1);
        assert_eq!(frame[12..20], [0x81, 0x00, 0x40, 0x01, 0x22, 0xE9, 0x00, 0x07]);
        take_cn_tag_off(&mut frame);
        assert_eq!(frame, with_tags(&datagram(), VlanTag { priority: 2, ..tag }, None));
        take_cn_tag_off(&mut frame);
        assert_eq!(frame.len(), datagram().len() + 4, "there is none any more");
        let mut plain = datagram();
        let head = Head::read(&plain).expect("it is whole");
        set_priority(&mut plain, &head, 2, 1);
        assert_eq!(plain, frame);
    }

    #[test]
    fn what_is_cut_off_is_not_told() {
        let tag = VlanTag { priority: 3, drop_eligible: false, vlan: 1 };
        let tagged = with_tags(&datagram(), tag, Some(CnTag { rpid: 7 }));
        for length in 0..tagged.len() {
            let cut = &tagged[..length];
            let head = Head::read(cut);
            assert_eq!(head.is_some(), length >= 22, "{length}");
            assert_eq!(head.and_then(|head| head.conversation(cut)).is_some(), length >= 22 + 24, "{length}");
        }
        for octet in 0..=255 {
            let _ = Head::read(&[octet; 64]).and_then(|head| head.conversation(&[octet; 64]));
        }
    }
}
