//! Decoding and printing allocate nothing. One test, so that no other allocates meanwhile.

use peak_alloc::PeakAlloc;
use qcnlab_wire::*;
use std::fmt::Write;
use std::hint::black_box;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Somewhere to print to that keeps nothing.
struct Nowhere;

impl Write for Nowhere {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        black_box(text);
        Ok(())
    }
}

fn frames() -> Vec<Vec<u8>> {
    let frame = |payload| Frame::new(MacAddress::local(1), MacAddress::local(2), payload).to_vec().unwrap();
    let ipv4 = |segment| {
        let packet = Ipv4Packet { header: Ipv4Header::default(), reserved: false, segment, trailer: &[] };
        Payload::Ipv4(packet.sealed().unwrap())
    };
    let udp = |destination_port, payload| {
        ipv4(Segment::Udp { header: UdpHeader { destination_port, ..UdpHeader::default() }, payload })
    };
    let tlvs = [
        Tlv::ChassisId { subtype: 4, id: &[0; 6] },
        Tlv::PortId { subtype: 5, id: b"core" },
        Tlv::TimeToLive(120),
        Tlv::CongestionNotification(CnTlv::default()),
    ];
    vec![
        frame(Payload::Cnm(Cnm { msdu: &[1; 64], ..Cnm::default() })),
        frame(Payload::MacControl(MacControl::Pfc(Pfc::new(8, Quanta(9))))),
        frame(Payload::Lldp(Lldp::build(&tlvs, &mut [0; 100]).unwrap())),
        frame(ipv4(Segment::Tcp { header: TcpHeader::new(1, 2, 3, 4), reserved: 0, payload: &[0; 1000] })),
        frame(udp(9, UdpPayload::Other(&[0; 100]))),
        frame(udp(4791, UdpPayload::Roce(RocePacket::cnp(1)))),
        frame(Payload::SchemeMessage(SchemeMessage { cpid: Cpid::default(), body: SchemeBody::Echo })),
        vec![0; 13],
    ]
}

#[test]
fn decoding_and_printing_allocate_nothing() {
    let frames = frames();
    MEMORY.reset_peak_usage();
    let before = MEMORY.peak_usage();
    for octets in &frames {
        match Frame::decode(black_box(octets)) {
            Ok((frame, _)) => write!(Nowhere, "{frame}").unwrap(),
            Err(error) => write!(Nowhere, "{error}").unwrap(),
        }
    }
    assert_eq!(MEMORY.peak_usage(), before);
    black_box(frames[0].clone());
    assert!(MEMORY.peak_usage() > before, "an allocation would have been seen");
}
