//! Each way a frame can be wrong, and what is said about it.

use qcnlab_wire::*;

/// The refusal of octets.
fn refused<'a, T: Codec<'a>>(octets: &'a [u8]) -> String {
    T::decode(octets).err().expect("this is refused").to_string()
}

/// A CNM of 24 octets whose length field is `length`.
fn cnm(length: u8) -> Vec<u8> {
    [&[0; 23][..], &[length]].concat()
}

/// A frame without tags.
fn frame(ether_type: [u8; 2], payload: &[u8]) -> Vec<u8> {
    [&[0; 12][..], &ether_type, payload].concat()
}

/// An IPv4 header with these changes, and `behind` it.
fn ipv4(changes: &[(usize, u8)], behind: &[u8]) -> Vec<u8> {
    let mut octets = vec![0x45, 0, 0, 20 + behind.len() as u8, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    octets.extend(behind);
    changes.iter().for_each(|(at, octet)| octets[*at] = *octet);
    octets
}

const CUT: &str = "; capture whole frames, or more of each";
const DAMAGED: &str = "; the frame is damaged or of another kind";

#[test]
fn what_is_cut() {
    for (refusal, expected) in [
        (refused::<VlanTag>(&[0]), "802.1Q tag: octet 0 on should hold 2 octets, and 1 are there"),
        (refused::<CnTag>(&[]), "CN-TAG: octet 0 on should hold 2 octets, and 0 are there"),
        (refused::<Cnm>(&cnm(0)[..23]), "CNM: octet 0 on should hold 24 octets, and 23 are there"),
        (refused::<Cnm>(&cnm(5)), "CNM: octet 24 on should hold 5 octets, and 0 are there"),
        (refused::<MacControl>(&[0, 1, 0]), "MAC control: octet 2 on should hold 2 octets, and 1 are there"),
        (refused::<MacControl>(&[1, 1, 0, 0, 0]), "MAC control: octet 4 on should hold 2 octets, and 1 are there"),
        (refused::<Lldp>(&[2, 7, 4, 2]), "LLDP: octet 2 on should hold 7 octets, and 2 are there"),
        (
            refused::<Lldp>(&[2, 2, 7, 1, 4, 2, 7, 1, 6, 2, 0, 9]),
            "LLDP: octet 12 on should hold 2 octets, and 0 are there",
        ),
        (refused::<Ipv4Packet>(&[0x45; 19]), "IPv4: octet 0 on should hold 20 octets, and 19 are there"),
        (refused::<Ipv4Packet>(&ipv4(&[(3, 40)], &[])), "IPv4: octet 0 on should hold 40 octets, and 20 are there"),
        (refused::<Ipv4Packet>(&ipv4(&[], &[0; 7])), "UDP: octet 20 on should hold 8 octets, and 7 are there"),
        (
            refused::<Ipv4Packet>(&ipv4(&[], &[0, 7, 0, 9, 0, 30, 0, 0, 1])),
            "UDP: octet 28 on should hold 22 octets, and 1 are there",
        ),
        (refused::<Ipv4Packet>(&ipv4(&[(9, 6)], &[0; 19])), "TCP: octet 20 on should hold 20 octets, and 19 are there"),
        (refused::<RocePacket>(&[0; 3]), "RoCEv2: octet 0 on should hold 16 octets, and 3 are there"),
        (refused::<RocePacket>(&[0; 15]), "RoCEv2: octet 0 on should hold 12 octets, and 11 are there"),
        (
            refused::<RocePacket>(&[&[0x81][..], &[0; 30]].concat()),
            "RoCEv2: octet 12 on should hold 16 octets, and 15 are there",
        ),
        (refused::<SchemeTag>(b"QLAB\0"), "scheme tag: octet 4 on should hold 2 octets, and 1 are there"),
        (
            refused::<SchemeMessage>(b"QLAB\0\x04CPIDCPID\0off"),
            "scheme message: octet 15 on should hold 4 octets, and 3 are there",
        ),
        (refused::<Frame>(&[0; 13]), "Ethernet: octet 12 on should hold 2 octets, and 1 are there"),
        // Octets are counted from the frame's first.
        (refused::<Frame>(&frame([0x22, 0xE7], &cnm(9))), "CNM: octet 38 on should hold 9 octets, and 0 are there"),
        (
            refused::<Frame>(&frame([0x22, 0xE9], &[0x12, 0x34])),
            "Ethernet: octet 16 on should hold 2 octets, and 0 are there",
        ),
    ] {
        assert_eq!(refusal, format!("{expected}{CUT}"));
    }
}

#[test]
fn what_is_wrong() {
    let tlv = |octets: &[u8]| [&[2, 2, 7, 1, 4, 2, 7, 1, 6, 2, 0, 9][..], octets].concat();
    for (refusal, expected) in [
        (refused::<Cnm>(&cnm(65)), "CNM: encapsulated MSDU length at octet 22 is 0x41; allowed is 0 to 64"),
        (
            refused::<Frame>(&frame([0x22, 0xE7], &cnm(65))),
            "CNM: encapsulated MSDU length at octet 36 is 0x41; allowed is 0 to 64",
        ),
        (
            refused::<Lldp>(&[4, 2, 7, 1]),
            "LLDP: type of a mandatory TLV at octet 0 is 0x2; allowed is 1, the chassis ID, as the first",
        ),
        (
            refused::<Lldp>(&[2, 2, 7, 1, 0, 0]),
            "LLDP: type of a mandatory TLV at octet 4 is 0x0; allowed is 2, the port ID, as the second",
        ),
        (
            refused::<Lldp>(&[2, 2, 7, 1, 4, 2, 7, 1, 10, 0]),
            "LLDP: type of a mandatory TLV at octet 8 is 0x5; allowed is 3, the time to live, as the third",
        ),
        (refused::<Lldp>(&[2, 1, 7]), "LLDP: length of an identifier TLV at octet 0 is 0x1; allowed is 2 to 256"),
        (
            refused::<Lldp>(&[2, 2, 7, 1, 4, 1, 7]),
            "LLDP: length of an identifier TLV at octet 4 is 0x1; allowed is 2 to 256",
        ),
        // 257 octets: 1 << 9 | 0x101 = 0x0301, and 2 << 9 | 0x101 = 0x0501.
        (
            refused::<Lldp>(&[&[3, 1][..], &[7; 257]].concat()),
            "LLDP: length of an identifier TLV at octet 0 is 0x101; allowed is 2 to 256",
        ),
        (
            refused::<Lldp>(&[&[2, 2, 7, 1, 5, 1][..], &[7; 257]].concat()),
            "LLDP: length of an identifier TLV at octet 4 is 0x101; allowed is 2 to 256",
        ),
        (
            refused::<Lldp>(&[2, 2, 7, 1, 4, 2, 7, 1, 6, 1, 0]),
            "LLDP: length of the time-to-live TLV at octet 8 is 0x1; allowed is 2",
        ),
        (refused::<Lldp>(&tlv(&[0, 1, 0])), "LLDP: length of the end TLV at octet 12 is 0x1; allowed is 0"),
        (refused::<Lldp>(&tlv(&[6, 2, 0, 9])), "LLDP: type of an optional TLV at octet 12 is 0x3; allowed is 4 to 127"),
        (
            refused::<Lldp>(&tlv(&[0xFE, 3, 0, 0x80, 0xC2])),
            "LLDP: length of an organization's TLV at octet 12 is 0x3; allowed is 4 to 511",
        ),
        (
            refused::<Lldp>(&tlv(&[0xFE, 5, 0, 0x80, 0xC2, 8, 0])),
            "LLDP: length of a congestion notification or PFC TLV at octet 12 is 0x5; allowed is 6",
        ),
        (
            refused::<Lldp>(&tlv(&[0xFE, 5, 0, 0x80, 0xC2, 9, 0])),
            "LLDP: length of an ETS TLV at octet 12 is 0x5; allowed is 25",
        ),
        (refused::<Ipv4Packet>(&ipv4(&[(0, 0x65)], &[])), "IPv4: version at octet 0 is 0x6; allowed is 4"),
        (
            refused::<Ipv4Packet>(&ipv4(&[(0, 0x44)], &[])),
            "IPv4: header length in words at octet 0 is 0x4; allowed is 5 to 15",
        ),
        (
            refused::<Ipv4Packet>(&ipv4(&[(3, 19)], &[])),
            "IPv4: total length at octet 2 is 0x13; allowed is the header's length or more",
        ),
        (
            refused::<Ipv4Packet>(&ipv4(&[], &[0, 7, 0, 9, 0, 7, 0, 0])),
            "UDP: length at octet 24 is 0x7; allowed is 8 or more",
        ),
        (
            refused::<Ipv4Packet>(&ipv4(&[(9, 6)], &[0; 20])),
            "TCP: data offset in words at octet 32 is 0x0; allowed is 5 to 15",
        ),
        (
            refused::<SchemeTag>(b"OTHR\0\0CPIDCPID"),
            "scheme tag: signature at octet 0 is 0x4f544852; allowed is 0x514c4142, \"QLAB\"",
        ),
        (refused::<SchemeTag>(b"QLAB\x04\0CPIDCPID"), "scheme tag: flags at octet 4 is 0x4; allowed is 0 to 3"),
        (
            refused::<SchemeTag>(b"QLAB\x01\0\0\0\0\0\0\0\0\x01"),
            "scheme tag: CPID at octet 6 is 0x1; allowed is 0 where the frame is not limited",
        ),
        (
            refused::<SchemeMessage>(b"QLAX\0\x06CPIDCPID"),
            "scheme message: signature at octet 0 is 0x514c4158; allowed is 0x514c4142, \"QLAB\"",
        ),
        (refused::<SchemeMessage>(b"QLAB\x01\x06CPIDCPID"), "scheme message: version at octet 4 is 0x1; allowed is 0"),
        (refused::<SchemeMessage>(b"QLAB\0\x0CCPIDCPID"), "scheme message: kind at octet 5 is 0xc; allowed is 1 to 11"),
        (
            refused::<SchemeMessage>(b"QLAB\0\x04CPIDCPID\x02"),
            "scheme message: stop at octet 14 is 0x2; allowed is 0 or 1",
        ),
    ] {
        assert_eq!(refusal, format!("{expected}{DAMAGED}"));
    }
}

/// The refusal of a value.
fn does_not_encode<'a>(value: &impl Codec<'a>) -> String {
    value.to_vec().unwrap_err().to_string()
}

#[test]
fn what_does_not_fit() {
    let too_much = "; give a smaller one";
    let cnm = Cnm::default();
    let bth = Bth::default();
    let roce = |bth| RocePacket { bth, extension: RoceExtension::None, payload: &[], icrc: None };
    let answer = |kind, msn| RocePacket {
        extension: RoceExtension::Aeth(Aeth { kind, msn }),
        ..roce(Bth { opcode: RoceOpcode::RC_ACKNOWLEDGE, ..bth })
    };
    let ets = |reserved, max_classes| EtsTlv {
        kind: EtsKind::Configuration { willing: false, credit_based_shaper: false, reserved, max_classes },
        class_of_priority: [0; 8],
        bandwidth_percent: [0; 8],
        selection: [0; 8],
    };
    let no_unit = |tlv: Tlv<'_>| Lldp::build(&[tlv], &mut [0; 600]).unwrap_err().to_string();
    for (refusal, expected) in [
        (
            does_not_encode(&VlanTag { priority: 8, ..VlanTag::default() }),
            "802.1Q tag: priority is 8, and its field holds at most 7",
        ),
        (
            does_not_encode(&VlanTag { vlan: 4096, ..VlanTag::default() }),
            "802.1Q tag: VLAN is 4096, and its field holds at most 4095",
        ),
        (does_not_encode(&Cnm { version: 16, ..cnm }), "CNM: version is 16, and its field holds at most 15"),
        (does_not_encode(&Cnm { reserved: 64, ..cnm }), "CNM: reserved is 64, and its field holds at most 63"),
        (does_not_encode(&Cnm { priority: 8, ..cnm }), "CNM: priority is 8, and its field holds at most 7"),
        (
            does_not_encode(&Cnm { msdu: &[0; 65], ..cnm }),
            "CNM: length of the encapsulated MSDU is 65, and its field holds at most 64",
        ),
        (
            does_not_encode(&Cnm { priority_reserved: 0x2000, ..cnm }),
            "CNM: reserved behind the priority is 8192, and its field holds at most 8191",
        ),
        (does_not_encode(&roce(Bth { pad: 4, ..bth })), "RoCEv2: pad count is 4, and its field holds at most 3"),
        (
            does_not_encode(&roce(Bth { version: 16, ..bth })),
            "RoCEv2: header version is 16, and its field holds at most 15",
        ),
        (
            does_not_encode(&roce(Bth { reserved: 64, ..bth })),
            "RoCEv2: reserved behind BECN is 64, and its field holds at most 63",
        ),
        (
            does_not_encode(&roce(Bth { destination_qp: 1 << 24, ..bth })),
            "RoCEv2: destination queue pair is 16777216, and its field holds at most 16777215",
        ),
        (
            does_not_encode(&roce(Bth { psn_reserved: 128, ..bth })),
            "RoCEv2: reserved before the sequence number is 128, and its field holds at most 127",
        ),
        (
            does_not_encode(&roce(Bth { psn: 1 << 24, ..bth })),
            "RoCEv2: packet sequence number is 16777216, and its field holds at most 16777215",
        ),
        (
            does_not_encode(&answer(AethKind::Ack { credits: 32 }, 0)),
            "RoCEv2: value of a syndrome is 32, and its field holds at most 31",
        ),
        (
            does_not_encode(&answer(AethKind::ReceiverNotReady { timer: 32 }, 0)),
            "RoCEv2: value of a syndrome is 32, and its field holds at most 31",
        ),
        (
            does_not_encode(&answer(AethKind::Nak(NakCode(32)), 0)),
            "RoCEv2: value of a syndrome is 32, and its field holds at most 31",
        ),
        (
            does_not_encode(&answer(AethKind::Ack { credits: 31 }, 1 << 24)),
            "RoCEv2: message sequence number is 16777216, and its field holds at most 16777215",
        ),
        (
            does_not_encode(&Ipv4Packet {
                header: Ipv4Header::default(),
                reserved: false,
                segment: Segment::Tcp { header: TcpHeader::default(), reserved: 8, payload: &[] },
                trailer: &[],
            }),
            "TCP: reserved behind the data offset is 8, and its field holds at most 7",
        ),
        (no_unit(Tlv::Other { kind: 128, value: &[] }), "LLDP: type of a TLV is 128, and its field holds at most 127"),
        (no_unit(Tlv::Ets(ets(8, 0))), "LLDP: reserved bits of the ETS TLV is 8, and its field holds at most 7"),
        (no_unit(Tlv::Ets(ets(0, 8))), "LLDP: number of traffic classes is 8, and its field holds at most 7"),
        (
            no_unit(Tlv::Ets(EtsTlv { class_of_priority: [0, 0, 16, 0, 0, 0, 0, 0], ..ets(0, 0) })),
            "LLDP: traffic class is 16, and its field holds at most 15",
        ),
        (
            no_unit(Tlv::Ets(EtsTlv { class_of_priority: [0, 0, 0, 0, 0, 0, 0, 16], ..ets(0, 0) })),
            "LLDP: traffic class is 16, and its field holds at most 15",
        ),
        (
            no_unit(Tlv::Pfc(PfcTlv { reserved: 4, ..PfcTlv::default() })),
            "LLDP: reserved bits of the PFC TLV is 4, and its field holds at most 3",
        ),
        (
            no_unit(Tlv::Pfc(PfcTlv { capability: 16, ..PfcTlv::default() })),
            "LLDP: PFC capability is 16, and its field holds at most 15",
        ),
        (no_unit(Tlv::SystemName(&[0; 512])), "LLDP: length of a TLV is 512, and its field holds at most 511"),
    ] {
        assert_eq!(refusal, format!("{expected}{too_much}"));
    }
}

#[test]
fn what_cannot_be_encoded_here() {
    let frame = Frame::new(MacAddress::default(), MacAddress::default(), Payload::Cnm(Cnm::default()));
    assert_eq!(
        frame.encode(&mut [0; 30]).unwrap_err().to_string(),
        "Ethernet: the frame takes 38 octets, and the buffer has 30; hand in a larger buffer"
    );
    assert_eq!(
        frame.encode_padded(&mut [0; 59]).unwrap_err().to_string(),
        "Ethernet: the frame takes 60 octets, and the buffer has 59; hand in a larger buffer"
    );
    // Two TLVs of 2 + 1 + 1 octets. In 7 octets the second finds room for its header and its subtype, 4 + 2 + 1 = 7, and
    // none for the identifier.
    let tlvs = [Tlv::ChassisId { subtype: 7, id: b"a" }, Tlv::PortId { subtype: 7, id: b"b" }];
    assert_eq!(
        Lldp::build(&tlvs, &mut [0; 7]).unwrap_err().to_string(),
        "LLDP: the frame takes 1 octets, and the buffer has 0; hand in a larger buffer"
    );
    let cnp_without_its_octets = RocePacket { extension: RoceExtension::None, ..RocePacket::cnp(1) };
    assert_eq!(
        does_not_encode(&cnp_without_its_octets),
        "RoCEv2: the opcode decides what follows the base header: 16 octets in a CNP, an AETH in acknowledgements"
    );
}

/// Of a frame of 1500 octets a capture kept 60: headers are read, data is what there is.
#[test]
fn a_frame_cut_by_a_capture() {
    let header = TcpHeader::new(1, 2, 3, 4);
    let segment = Segment::Tcp { header, reserved: 0, payload: &[7; 1460] };
    let packet = Ipv4Packet {
        header: Ipv4Header { time_to_live: 64, ..Ipv4Header::default() },
        reserved: false,
        segment,
        trailer: &[],
    };
    let frame = Frame::new(MacAddress::default(), MacAddress::default(), Payload::Ipv4(packet.sealed().unwrap()));
    let octets = frame.to_vec().unwrap();
    let kept = &octets[..60];
    assert!(matches!(Frame::decode(kept), Err(WireError::Truncated { format: Format::Ipv4, needed: 1500, .. })));
    let cut = Frame::decode_captured(kept, octets.len()).unwrap();
    let Payload::Ipv4(Ipv4Packet { segment: Segment::Tcp { payload, .. }, .. }) = cut.payload else { panic!("{cut}") };
    assert_eq!(payload, [7; 6]); // 60 - 14 - 20 - 20
}

/// Of an LLDP frame of 35 octets a capture kept 28: 14 of addresses and EtherType, 12 of mandatory TLVs, the header of a
/// system's name at octet 26, and none of its 5 octets, which start at octet 28.
#[test]
fn a_tlv_cut_by_a_capture() {
    let tlvs = [
        Tlv::ChassisId { subtype: 7, id: b"a" },
        Tlv::PortId { subtype: 7, id: b"b" },
        Tlv::TimeToLive(120),
        Tlv::SystemName(b"spine"),
    ];
    let mut room = [0; 60];
    let unit = Lldp::build(&tlvs, &mut room).unwrap();
    let octets = Frame::new(MacAddress::LLDP, MacAddress::local(1), Payload::Lldp(unit)).to_vec().unwrap();
    assert_eq!(octets.len(), 35);
    for kept in [28, 30, 32] {
        let available = kept - 28;
        assert_eq!(
            Frame::decode_captured(&octets[..kept], 35),
            Err(WireError::Truncated { format: Format::Lldp, at: 28, needed: 5, available })
        );
    }
    assert_eq!(
        Frame::decode_captured(&octets[..33], 35),
        Err(WireError::Truncated { format: Format::Lldp, at: 33, needed: 2, available: 0 }),
        "the name is whole, and the end TLV is missing"
    );
}
