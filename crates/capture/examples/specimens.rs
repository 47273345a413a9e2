//! Writes a capture with a frame of every format, and prints a line for each:
//! `cargo run --release -p qcnlab-capture --example specimens -- specimens.pcapng`

use qcnlab_capture::{CaptureWriter, FrameToWrite, Interface, Section};
use qcnlab_units::{BitRate, Bytes, Instant};
use qcnlab_wire::*;
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

const HOST: MacAddress = MacAddress::local(1);
const SINK: MacAddress = MacAddress::local(2);
const BRIDGE: MacAddress = MacAddress::local(0xFE);
const PRIORITY_3: VlanTag = VlanTag { priority: 3, drop_eligible: false, vlan: 0 };

fn ipv4(ecn: IpEcn, segment: Segment<'_>) -> Result<Payload<'_>, WireError> {
    let header = Ipv4Header {
        source: [10, 0, 0, 1],
        destination: [10, 0, 0, 2],
        time_to_live: 64,
        ecn,
        ..Ipv4Header::default()
    };
    Ok(Payload::Ipv4(Ipv4Packet { header, reserved: false, segment, trailer: &[] }.sealed()?))
}

fn udp(destination_port: u16, payload: UdpPayload<'_>) -> Segment<'_> {
    Segment::Udp { header: UdpHeader { source_port: 49_152, destination_port, ..UdpHeader::default() }, payload }
}

fn roce<'a>(opcode: RoceOpcode, extension: RoceExtension, payload: &'a [u8]) -> Segment<'a> {
    let bth = Bth { opcode, partition: 0xFFFF, destination_qp: 0x11, psn: 100, ..Bth::default() };
    udp(RocePacket::UDP_PORT, UdpPayload::Roce(RocePacket { bth, extension, payload, icrc: None }))
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: specimens FILE")?;
    let section =
        Section { application: "qcnlab".into(), comment: "a frame of every format".into(), ..Section::default() };
    let mut capture = CaptureWriter::new(BufWriter::new(File::create(path)?), &section)?;
    let interface = capture.add_interface(&Interface {
        name: "core".into(),
        description: "port of a bridge".into(),
        speed: Some(BitRate::gbps(10)),
        ..Interface::default()
    })?;
    let mut write = |comment: &str, frame: &Frame<'_>| -> Result<Vec<u8>, Box<dyn Error>> {
        let mut octets = [0; 1600];
        let length = frame.encode_padded(&mut octets)?;
        let number = capture.frames() + 1;
        let at = Instant::from_ps(number * 1_000_000);
        let octets = &octets[..length];
        capture.write_frame(&FrameToWrite {
            interface,
            at,
            octets,
            wire_len: length as u32,
            direction: None,
            comment,
        })?;
        println!("{number}\t{frame}");
        Ok(octets.to_vec())
    };

    let header = TcpHeader { ack: true, acknowledgment_number: 9, ..TcpHeader::new(40_000, 80, 1000, 65_535) };
    let data = Frame {
        c_tag: Some(PRIORITY_3),
        cn_tag: Some(CnTag { rpid: 0x1234 }),
        ..Frame::new(SINK, HOST, ipv4(IpEcn::TWO, Segment::Tcp { header, reserved: 0, payload: &[0x55; 100] })?)
    };
    let sampled = write("data: TCP, priority 3, CN-TAG", &data)?;
    let cnm = Cnm {
        quantized_fb: QuantizedFb::new(37)?,
        cpid: Cpid::new(BRIDGE, 0x0103),
        q_offset: QueueUnits(-300),
        q_delta: QueueUnits(120),
        ..Cnm::default()
    };
    write("CNM to the sender of frame 1", &Frame::notification(cnm, BRIDGE, 6, &data, &sampled))?;
    let bare = Cnm { priority: 3, destination: SINK, ..cnm };
    write("CNM without CN-TAG and sample", &Frame::new(HOST, BRIDGE, Payload::Cnm(bare)))?;

    let control = |control| Frame::new(MacAddress::MAC_CONTROL, BRIDGE, Payload::MacControl(control));
    write("PAUSE", &control(MacControl::Pause(Pause { time: Quanta(65_535) })))?;
    let mut pfc = Pfc::new(0b0010_1000, Quanta(1875));
    pfc.times[5] = Quanta(0);
    write("PFC: priority 3 stops, 5 goes on", &control(MacControl::Pfc(pfc)))?;

    let mut room = [0; 200];
    let ets = EtsTlv {
        kind: EtsKind::Configuration { willing: true, credit_based_shaper: false, reserved: 0, max_classes: 3 },
        class_of_priority: [0, 0, 0, 1, 0, 0, 2, 2],
        bandwidth_percent: [40, 50, 10, 0, 0, 0, 0, 0],
        selection: [2, 2, 0, 0, 0, 0, 0, 0],
    };
    let unit = Lldp::build(
        &[
            Tlv::ChassisId { subtype: 4, id: &BRIDGE.0 },
            Tlv::PortId { subtype: 5, id: b"core" },
            Tlv::TimeToLive(120),
            Tlv::SystemName(b"bridge"),
            Tlv::CongestionNotification(CnTlv { cnpv: 0b0000_1000, ready: 0b0000_1000 }),
            Tlv::Pfc(PfcTlv { willing: true, capability: 8, enabled: 0b0000_1000, ..PfcTlv::default() }),
            Tlv::Ets(ets),
            Tlv::Ets(EtsTlv { kind: EtsKind::Recommendation { reserved: 0 }, ..ets }),
        ],
        &mut room,
    )?;
    write("LLDP", &Frame::new(MacAddress::LLDP, BRIDGE, Payload::Lldp(unit)))?;

    let datagram = udp(9, UdpPayload::Other(&[0; 18]));
    write("UDP, marked by ECN", &Frame::new(SINK, HOST, ipv4(IpEcn::THREE, datagram.clone())?))?;
    let tagged = |payload| Frame { c_tag: Some(PRIORITY_3), ..Frame::new(SINK, HOST, payload) };
    let send = roce(RoceOpcode::RC_SEND_ONLY, RoceExtension::None, &[0xAB; 64]);
    write("RoCEv2 SEND", &tagged(ipv4(IpEcn::TWO, send)?))?;
    let cnp = udp(RocePacket::UDP_PORT, UdpPayload::Roce(RocePacket::cnp(0x11)));
    write("RoCEv2 CNP", &tagged(ipv4(IpEcn::ZERO, cnp)?))?;
    for (comment, kind) in [
        ("RoCEv2 ACK", AethKind::Ack { credits: 31 }),
        ("RoCEv2 NAK, sequence error", AethKind::Nak(NakCode::SEQUENCE_ERROR)),
    ] {
        let answer = roce(RoceOpcode::RC_ACKNOWLEDGE, RoceExtension::Aeth(Aeth { kind, msn: 7 }), &[]);
        write(comment, &tagged(ipv4(IpEcn::ZERO, answer)?))?;
    }
    let provider = VlanTag { priority: 5, drop_eligible: true, vlan: 200 };
    write(
        "UDP with S-TAG, C-TAG and CN-TAG",
        &Frame { s_tag: Some(provider), cn_tag: data.cn_tag, ..tagged(ipv4(IpEcn::ZERO, datagram.clone())?) },
    )?;

    let probe = Probe {
        directed: true,
        asked_at: Instant::from_ps(1_500_000_000),
        sent: Bytes::new(30_000),
        rate: BitRate::gbps(10),
    };
    for body in [
        SchemeBody::Probe(probe),
        SchemeBody::Returned(Probe { directed: false, rate: BitRate::gbps(3), ..probe }),
        SchemeBody::Answer(ProbeAnswer {
            asked_at: probe.asked_at,
            q_offset: -20_000,
            q_delta: 4500,
            capacity: BitRate::gbps(10),
        }),
        SchemeBody::Bcn(Bcn { stop: false, q_offset: -20_000, q_delta: 4500 }),
        SchemeBody::QueueReport(QueueReport { len: Bytes::new(53_000), arrived: Bytes::new(150_000) }),
        SchemeBody::Echo,
        SchemeBody::PushBack,
        SchemeBody::Reflection { fb: -12 },
        SchemeBody::ReceivedRate(BitRate::mbps(2_500)),
        SchemeBody::Credit(Bytes::new(225_000)),
        SchemeBody::SourcePause { ps: 56_000_000 },
    ] {
        let message = SchemeMessage { cpid: Cpid::new(BRIDGE, 0x0103), body };
        write("scheme message", &Frame::new(HOST, BRIDGE, Payload::SchemeMessage(message)))?;
    }
    let scheme_tag = Some(SchemeTag { probe: true, mark: 63, limited_by: Some(cnm.cpid) });
    write(
        "UDP with CN-TAG and scheme tag",
        &Frame { scheme_tag, cn_tag: data.cn_tag, ..tagged(ipv4(IpEcn::ZERO, datagram)?) },
    )?;
    capture.finish()?;
    Ok(())
}
