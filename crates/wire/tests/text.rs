//! Lines for people: they say what is in a frame.

use qcnlab_wire::*;

#[test]
fn operations_of_roce_have_names() {
    let ack = RoceExtension::Aeth(Aeth { kind: AethKind::Ack { credits: 31 }, msn: 7 });
    for (opcode, extension, text) in [
        (RoceOpcode::RC_SEND_FIRST, RoceExtension::None, "RoCEv2 SEND first queue pair 0x11 sequence 100, 3 octets"),
        (RoceOpcode::RC_SEND_MIDDLE, RoceExtension::None, "RoCEv2 SEND middle queue pair 0x11 sequence 100, 3 octets"),
        (RoceOpcode::RC_SEND_LAST, RoceExtension::None, "RoCEv2 SEND last queue pair 0x11 sequence 100, 3 octets"),
        (RoceOpcode::RC_SEND_ONLY, RoceExtension::None, "RoCEv2 SEND only queue pair 0x11 sequence 100, 3 octets"),
        (RoceOpcode::RC_ACKNOWLEDGE, ack, "RoCEv2 acknowledge queue pair 0x11 sequence 100 ACK message 7, 3 octets"),
        (RoceOpcode::CNP, RoceExtension::Cnp([0; 16]), "RoCEv2 CNP queue pair 0x11 sequence 100, 3 octets"),
        // An RDMA WRITE.
        (RoceOpcode(0x0A), RoceExtension::None, "RoCEv2 opcode 0x0a queue pair 0x11 sequence 100, 3 octets"),
    ] {
        let bth = Bth { opcode, destination_qp: 0x11, psn: 100, ..Bth::default() };
        let packet = RocePacket { bth, extension, payload: &[1, 2, 3], icrc: None };
        assert_eq!(packet.to_string(), text);
    }
}

/// 0x89 = 1000 1001: bits 7, 3 and 0.
#[test]
fn priorities_are_listed_by_number() {
    let tlv = CnTlv { cnpv: 0x89, ready: 0 };
    assert_eq!(tlv.to_string(), "congestion notification priorities 0 3 7 ready none");
    let tlv = CnTlv { cnpv: 0, ready: 0xFF };
    assert_eq!(tlv.to_string(), "congestion notification priorities none ready 0 1 2 3 4 5 6 7");
    let tlv = PfcTlv { willing: true, enabled: 0x18, ..PfcTlv::default() };
    assert_eq!(tlv.to_string(), "PFC priorities 3 4 willing");
}

/// 0x0001_0203 behind 02:00; the second lowest bit of the first octet says that the address is local (802 clause 8.4).
#[test]
fn local_addresses_hold_their_number() {
    assert_eq!(MacAddress::local(0x0001_0203).to_string(), "02:00:00:01:02:03");
    assert_eq!(MacAddress::local(u32::MAX).to_string(), "02:00:ff:ff:ff:ff");
}
