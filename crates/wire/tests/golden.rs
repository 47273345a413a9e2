//! Octets written by hand, with the arithmetic.

use qcnlab_wire::*;
use std::fmt::Debug;

/// These octets are this value, both ways.
fn same<'a, T: Codec<'a> + PartialEq + Debug>(octets: &'a [u8], value: T) {
    assert_eq!(value.to_vec().unwrap(), octets);
    assert_eq!(T::decode(octets), Ok((value, &[][..])));
}

const HOST: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const BRIDGE: MacAddress = MacAddress([2, 0, 0, 0, 0, 0xFE]);

#[test]
fn vlan_tag() {
    // Priority 3 << 13 = 0x6000, drop eligible 0x1000, VLAN 100 = 0x0064.
    same(&[0x70, 0x64], VlanTag { priority: 3, drop_eligible: true, vlan: 100 });
}

/// The example of the wire reference: RPID 0x1234, Fb 37, offset -300, delta +120, priority 3, sent with priority 6.
#[test]
fn cnm_behind_a_cn_tag() {
    #[rustfmt::skip]
    let octets = [
        &[0x02, 0, 0, 0, 0, 0x01][..], &[0x02, 0, 0, 0, 0, 0xFE],
        &[0x81, 0x00, 0xC0, 0x00],                      // priority 6 << 13
        &[0x22, 0xE9, 0x12, 0x34],
        &[0x22, 0xE7],
        &[0x00, 0x25],                                  // version 0, reserved 0, 37 = 0x25
        &[0x02, 0, 0, 0, 0, 0, 0, 0xFE],
        &[0xFE, 0xD4],                                  // 65 536 - 300 = 0xFED4
        &[0x00, 0x78],
        &[0x60, 0x00],                                  // priority 3 << 13
        &[0x02, 0, 0, 0, 0, 0x02],
        &[0x00, 0x40],
        &[0x08; 64],
    ]
    .concat();
    let cnm = Cnm {
        quantized_fb: QuantizedFb::new(37).unwrap(),
        cpid: Cpid::new(MacAddress([2, 0, 0, 0, 0, 0]), 0x00FE),
        q_offset: QueueUnits(-300),
        q_delta: QueueUnits(120),
        priority: 3,
        destination: MacAddress([2, 0, 0, 0, 0, 2]),
        msdu: &[0x08; 64],
        ..Cnm::default()
    };
    let frame = Frame {
        c_tag: Some(VlanTag { priority: 6, ..VlanTag::default() }),
        cn_tag: Some(CnTag { rpid: 0x1234 }),
        ..Frame::new(HOST, BRIDGE, Payload::Cnm(cnm))
    };
    // Addresses 12, tags 4 + 4, EtherType 2, PDU 88: the largest CNM is 110 octets.
    assert_eq!((octets.len(), Cnm::MAX_LEN), (110, 88));
    same(&octets, frame);
}

#[test]
fn a_cnm_goes_back_where_the_sampled_frame_came_from() {
    let sampled = Frame {
        c_tag: Some(VlanTag { priority: 3, drop_eligible: true, vlan: 7 }),
        cn_tag: Some(CnTag { rpid: 9 }),
        ..Frame::new(BRIDGE, HOST, Payload::Other { ether_type: EtherType(0x1234), octets: &[5; 70] })
    };
    let octets = sampled.to_vec().unwrap();
    let from = MacAddress::local(0xC0);
    let cnm = Cnm { q_offset: QueueUnits(-1), ..Cnm::default() };
    // 12 octets of addresses, 4 and 4 of tags: the sample starts at octet 20, with the EtherType.
    let expected = Cnm { priority: 3, destination: BRIDGE, msdu: &octets[20..84], ..cnm };
    assert_eq!(expected.msdu[..3], [0x12, 0x34, 5]);
    let frame = Frame {
        c_tag: Some(VlanTag { priority: 6, drop_eligible: false, vlan: 7 }),
        cn_tag: sampled.cn_tag,
        ..Frame::new(HOST, from, Payload::Cnm(expected))
    };
    assert_eq!(Frame::notification(cnm, from, 6, &sampled, &octets), frame);
    // Of a frame that was not tagged, and whose octets are not at hand.
    let untagged = Frame::new(BRIDGE, HOST, Payload::Other { ether_type: EtherType(0x1234), octets: &[] });
    let frame = Frame::notification(cnm, from, 6, &untagged, &[]);
    assert_eq!(frame, Frame::new(HOST, from, Payload::Cnm(Cnm { destination: BRIDGE, ..cnm })));
}

#[test]
fn every_bit_of_a_cnm_header() {
    // Version 0xF, reserved 0x2A = 101010, Fb 0x15 = 010101: 1111 1010 1001 0101 = 0xFA95.
    // Priority 7 and 13 reserved bits 0x0001: 0xE001. Offset -32 768, delta 32 767.
    let octets = [
        &[0xFA, 0x95][..],
        &[1, 2, 3, 4, 5, 6, 7, 8],
        &[0x80, 0x00, 0x7F, 0xFF],
        &[0xE0, 0x01],
        &[9, 8, 7, 6, 5, 4],
        &[0, 2, 0xAA, 0xBB],
    ]
    .concat();
    let cnm = Cnm {
        version: 15,
        reserved: 0x2A,
        quantized_fb: QuantizedFb::new(0x15).unwrap(),
        cpid: Cpid([1, 2, 3, 4, 5, 6, 7, 8]),
        q_offset: QueueUnits(i16::MIN),
        q_delta: QueueUnits(i16::MAX),
        priority: 7,
        priority_reserved: 1,
        destination: MacAddress([9, 8, 7, 6, 5, 4]),
        msdu: &[0xAA, 0xBB],
    };
    same(&octets, cnm);
}

/// A CNM of 24 octets, untagged, is 12 + 2 + 24 = 38 octets; 22 of padding make 60.
#[test]
fn the_smallest_cnm_is_padded() {
    let frame = Frame::new(HOST, BRIDGE, Payload::Cnm(Cnm::default()));
    let mut octets = [0xFF; 100];
    assert_eq!(frame.encode_padded(&mut octets), Ok(60));
    assert_eq!(frame.encoded_len(), 38);
    assert_eq!(octets[38..60], [0; 22]);
    assert_eq!(octets[60], 0xFF, "behind the frame nothing is touched");
    assert_eq!(frame.encode_padded(&mut [0; 60]), Ok(60), "60 octets are room enough");
    let (read, _) = Frame::decode(&octets[..60]).unwrap();
    assert_eq!(read, Frame { padding: &[0; 22], ..frame });
}

#[test]
fn pause() {
    same(&[0x00, 0x01, 0xFF, 0xFF], MacControl::Pause(Pause { time: Quanta(65_535) }));
}

#[test]
fn pfc() {
    // Priorities 0 and 3: 0x09. 0x1234 = 4660 quanta.
    let octets = [0x01, 0x01, 0x00, 0x09, 0x12, 0x34, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 0];
    same(&octets, MacControl::Pfc(Pfc::new(0b1001, Quanta(0x1234))));
}

#[test]
fn lldp() {
    #[rustfmt::skip]
    let octets = [
        &[0x02, 0x07, 4, 2, 0, 0, 0, 0, 0xFE][..],              // 1 << 9 | 7
        &[0x04, 0x03, 5, b'p', b'1'],                           // 2 << 9 | 3
        &[0x06, 0x02, 0x00, 0x78],                              // 3 << 9 | 2; 120 s
        &[0xFE, 0x06, 0x00, 0x80, 0xC2, 8, 0x08, 0x08],         // 127 << 9 | 6; priority 3
        &[0xFE, 0x06, 0x00, 0x80, 0xC2, 11, 0x88, 0x18],        // willing, 8 classes; priorities 3 and 4
        &[0xFE, 0x19, 0x00, 0x80, 0xC2, 9, 0x83],               // willing, at most 3 classes
        &[0x00, 0x01, 0x00, 0x22], &[40, 50, 10, 0, 0, 0, 0, 0], &[2, 2, 0, 0, 0, 0, 0, 255],
        &[0x00, 0x00],
    ]
    .concat();
    let tlvs = [
        Tlv::ChassisId { subtype: 4, id: &BRIDGE.0 },
        Tlv::PortId { subtype: 5, id: b"p1" },
        Tlv::TimeToLive(120),
        Tlv::CongestionNotification(CnTlv { cnpv: 0x08, ready: 0x08 }),
        Tlv::Pfc(PfcTlv { willing: true, capability: 8, enabled: 0x18, ..PfcTlv::default() }),
        Tlv::Ets(EtsTlv {
            kind: EtsKind::Configuration { willing: true, credit_based_shaper: false, reserved: 0, max_classes: 3 },
            class_of_priority: [0, 0, 0, 1, 0, 0, 2, 2],
            bandwidth_percent: [40, 50, 10, 0, 0, 0, 0, 0],
            selection: [2, 2, 0, 0, 0, 0, 0, 255],
        }),
    ];
    let mut room = [0; 200];
    let unit = Lldp::build(&tlvs, &mut room).unwrap();
    same(&octets, unit);
    assert_eq!(Lldp::decode(&octets).unwrap().0.tlvs().collect::<Vec<_>>(), tlvs);
}

/// Two octets over UDP, 7 to 9. Checksums are the complement of sums of 16-bit words, carries added (RFC 1071):
/// IPv4: 4501 + 001e + 4000 + 4011 + 0a00 + 0001 + 0a00 + 0002 = d933, complement 26cc;
/// UDP: addresses 0a00 + 0001 + 0a00 + 0002, protocol 0011, length 000a, then 0007 + 0009 + 000a + 143c = 2874, d78b.
#[test]
fn udp_in_ipv4() {
    #[rustfmt::skip]
    let octets = [
        0x45, 0x01, 0x00, 0x1E, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x26, 0xCC, 10, 0, 0, 1, 10, 0, 0, 2,
        0x00, 0x07, 0x00, 0x09, 0x00, 0x0A, 0xD7, 0x8B, 0x14, 0x3C,
    ];
    let header = Ipv4Header {
        ecn: IpEcn::ONE,
        time_to_live: 64,
        source: [10, 0, 0, 1],
        destination: [10, 0, 0, 2],
        ..Ipv4Header::default()
    };
    let datagram = UdpHeader { source_port: 7, destination_port: 9, ..UdpHeader::default() };
    let segment = Segment::Udp { header: datagram, payload: UdpPayload::Other(&[0x14, 0x3C]) };
    let packet = Ipv4Packet { header, reserved: false, segment, trailer: &[] }.sealed().unwrap();
    assert!(packet.checksum_is_valid());
    same(&octets, packet);
}

#[test]
fn tcp_and_ecn() {
    #[rustfmt::skip]
    let octets = [
        0x45, 0x02, 0x00, 0x28, 0x00, 0x00, 0x40, 0x00, 0x40, 0x06, 0x00, 0x00, 10, 0, 0, 1, 10, 0, 0, 2,
        0x9C, 0x40, 0x00, 0x50, 0x00, 0x00, 0x03, 0xE8, 0x00, 0x00, 0x00, 0x09, 0x50, 0xD0, 0xFF, 0xFF, 0, 0, 0, 0,
    ];
    let (packet, _) = Ipv4Packet::decode(&octets).unwrap();
    assert_eq!((packet.header.ecn, packet.header.total_len), (IpEcn::TWO, 40));
    assert!(!packet.checksum_is_valid());
    let Segment::Tcp { header, payload, .. } = &packet.segment else { panic!("{packet}") };
    assert_eq!((header.source_port, header.destination_port), (40_000, 80));
    assert_eq!((header.sequence_number, header.acknowledgment_number), (1000, 9));
    // 0xD0 = 1101 0000: CWR, ECE, ACK.
    assert_eq!((header.cwr, header.ece, header.ack, header.syn), (true, true, true, false));
    assert!(payload.is_empty());
    assert_eq!(packet.to_vec().unwrap(), octets);
}

/// Reserved bits come back although the headers have no field for them.
#[test]
fn reserved_bits_of_ipv4_and_tcp() {
    let mut octets = [0; 40];
    octets[..10].copy_from_slice(&[0x45, 0, 0, 40, 0, 0, 0x80, 0, 64, 6]);
    octets[32] = 0x5E;
    let (packet, _) = Ipv4Packet::decode(&octets).unwrap();
    assert!(packet.reserved);
    assert!(matches!(packet.segment, Segment::Tcp { reserved: 7, .. }));
    assert_eq!(packet.to_vec().unwrap(), octets);
}

#[test]
fn cnp() {
    let mut octets = [0; 12 + 16 + 4];
    // Opcode 0x81, BECN 0x40, queue pair 0x11, partition 0xFFFF.
    octets[..8].copy_from_slice(&[0x81, 0, 0xFF, 0xFF, 0x40, 0, 0, 0x11]);
    same(&octets, RocePacket::cnp(0x11));
}

#[test]
fn nak() {
    // Acknowledge 0x11; sequence number 100; syndrome 011 00000 = 0x60; message 7.
    let octets = [0x11, 0, 0xFF, 0xFF, 0, 0, 0, 0x11, 0, 0, 0, 100, 0x60, 0, 0, 7, 1, 2, 3, 4];
    let bth =
        Bth { opcode: RoceOpcode::RC_ACKNOWLEDGE, partition: 0xFFFF, destination_qp: 0x11, psn: 100, ..Bth::default() };
    let aeth = Aeth { kind: AethKind::Nak(NakCode::SEQUENCE_ERROR), msn: 7 };
    same(&octets, RocePacket { bth, extension: RoceExtension::Aeth(aeth), payload: &[], icrc: Some([1, 2, 3, 4]) });
}

/// Computed by scapy 2.8 (scapy.contrib.roce, compute_icrc) over the same packet.
#[test]
fn invariant_crc_agrees_with_scapy() {
    let header = Ipv4Header {
        source: [10, 0, 0, 1],
        destination: [10, 0, 0, 2],
        time_to_live: 64,
        ecn: IpEcn::ZERO,
        ..Ipv4Header::default()
    };
    let datagram = UdpHeader { source_port: 49_152, destination_port: 4791, ..UdpHeader::default() };
    let segment = Segment::Udp { header: datagram, payload: UdpPayload::Roce(RocePacket::cnp(0x11)) };
    let packet = Ipv4Packet { header, reserved: false, segment, trailer: &[] }.sealed().unwrap();
    let mut octets = packet.to_vec().unwrap();
    assert_eq!(octets[octets.len() - 4..], [0x99, 0xED, 0xC7, 0x26]);
    // What a fabric changes on the way is not covered: ECN, time to live, checksum, FECN and BECN.
    (octets[1], octets[8], octets[10], octets[32]) = (3, 63, 0, 0x80);
    assert_eq!(RocePacket::invariant_crc(&octets), Some([0x99, 0xED, 0xC7, 0x26]));
    octets[20] ^= 1;
    assert_ne!(RocePacket::invariant_crc(&octets), Some([0x99, 0xED, 0xC7, 0x26]));
}

#[test]
fn scheme_tag() {
    let octets = [b'Q', b'L', b'A', b'B', 0x03, 63, 2, 0, 0, 0, 0, 0xFE, 1, 3];
    same(&octets, SchemeTag { probe: true, mark: 63, limited_by: Some(Cpid::new(BRIDGE, 0x0103)) });
}

#[test]
fn bcn() {
    // Offset -20 000 = 0xFFFFB1E0, delta 4500 = 0x1194.
    let octets =
        [&b"QLAB"[..], &[0, 4, 2, 0, 0, 0, 0, 0xFE, 1, 3], &[0, 0xFF, 0xFF, 0xB1, 0xE0, 0, 0, 0x11, 0x94]].concat();
    let body = SchemeBody::Bcn(Bcn { stop: false, q_offset: -20_000, q_delta: 4500 });
    same(&octets, SchemeMessage { cpid: Cpid::new(BRIDGE, 0x0103), body });
}

#[test]
fn a_frame_under_another_experiment_stays_octets() {
    let octets = [&[0; 12][..], &[0x88, 0xB5, b'M', b'I', b'N', b'E']].concat();
    let (frame, _) = Frame::decode(&octets).unwrap();
    assert_eq!(frame.payload, Payload::Other { ether_type: EtherType::SCHEME_MESSAGE, octets: b"MINE" });
}
