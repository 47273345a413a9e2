//! Decode and encode undo each other, for every format; no octets make decoding panic.

use proptest::collection::vec;
use proptest::prelude::*;
use qcnlab_units::{BitRate, Bytes, Instant};
use qcnlab_wire::*;

/// Whatever the octets: an error, or a value that encodes to the octets it was decoded from and prints.
fn any_octets<'a, T: Codec<'a> + std::fmt::Display>(octets: &'a [u8]) -> Result<bool, TestCaseError> {
    match T::decode(octets) {
        Err(error) => {
            prop_assert!(!error.to_string().is_empty());
            Ok(false)
        }
        Ok((value, rest)) => {
            let consumed = &octets[..octets.len() - rest.len()];
            prop_assert_eq!(value.to_vec().unwrap(), consumed);
            prop_assert!(!value.to_string().is_empty());
            Ok(true)
        }
    }
}

/// The value comes back, and nothing behind it is touched.
fn comes_back<'a, T>(value: &T, buffer: &'a mut Vec<u8>) -> Result<(), TestCaseError>
where
    T: Codec<'a> + PartialEq + std::fmt::Debug,
{
    *buffer = value.to_vec().unwrap();
    prop_assert_eq!(buffer.len(), value.encoded_len());
    buffer.extend([0xA5; 3]);
    let (again, rest) = T::decode(buffer).unwrap();
    prop_assert_eq!(&again, value);
    prop_assert_eq!(rest, &[0xA5; 3]);
    Ok(())
}

fn mac() -> impl Strategy<Value = MacAddress> {
    any::<[u8; 6]>().prop_map(MacAddress)
}

fn vlan() -> impl Strategy<Value = VlanTag> {
    (0..8u8, any::<bool>(), 0..4096u16).prop_map(|(priority, drop_eligible, vlan)| VlanTag {
        priority,
        drop_eligible,
        vlan,
    })
}

prop_compose! {
    fn cnm_header()(
        version in 0..16u8, reserved in 0..64u8, fb in 0..64u8, cpid: [u8; 8], q_offset: i16, q_delta: i16,
        priority in 0..8u8, priority_reserved in 0..0x2000u16, destination in mac(),
    ) -> Cnm<'static> {
        Cnm {
            version, reserved, quantized_fb: QuantizedFb::new(fb).unwrap(), cpid: Cpid(cpid),
            q_offset: QueueUnits(q_offset), q_delta: QueueUnits(q_delta), priority, priority_reserved, destination,
            msdu: &[],
        }
    }
}

prop_compose! {
    fn bth()(
        opcode: u8, (solicited_event, migration, fecn, becn, ack_request) in any::<(bool, bool, bool, bool, bool)>(),
        pad in 0..4u8, version in 0..16u8, partition: u16, reserved in 0..64u8, destination_qp in 0..1u32 << 24,
        psn_reserved in 0..128u8, psn in 0..1u32 << 24,
    ) -> Bth {
        Bth {
            opcode: RoceOpcode(opcode), solicited_event, migration, pad, version, partition, fecn, becn, reserved,
            destination_qp, ack_request, psn_reserved, psn,
        }
    }
}

fn aeth() -> impl Strategy<Value = Aeth> {
    let kind = prop_oneof![
        (0..32u8).prop_map(|credits| AethKind::Ack { credits }),
        (0..32u8).prop_map(|timer| AethKind::ReceiverNotReady { timer }),
        (0..32u8).prop_map(|code| AethKind::Nak(NakCode(code))),
        (0x40..0x60u8).prop_map(AethKind::Reserved),
        (0x80..=0xFFu8).prop_map(AethKind::Reserved),
    ];
    (kind, 0..1u32 << 24).prop_map(|(kind, msn)| Aeth { kind, msn })
}

/// A packet whose extension is the one that its opcode asks for.
fn roce_header() -> impl Strategy<Value = RocePacket<'static>> {
    (bth(), aeth(), any::<[u8; 16]>(), any::<[u8; 4]>()).prop_map(|(bth, aeth, reserved, icrc)| RocePacket {
        bth,
        extension: match bth.opcode {
            RoceOpcode::CNP => RoceExtension::Cnp(reserved),
            opcode if opcode.has_aeth() => RoceExtension::Aeth(aeth),
            _ => RoceExtension::None,
        },
        payload: &[],
        icrc: Some(icrc),
    })
}

fn probe() -> impl Strategy<Value = Probe> {
    any::<(bool, u64, u64, u64)>().prop_map(|(directed, at, sent, rate)| Probe {
        directed,
        asked_at: Instant::from_ps(at),
        sent: Bytes::new(sent),
        rate: BitRate::bps(rate),
    })
}

fn scheme_message() -> impl Strategy<Value = SchemeMessage> {
    let body = prop_oneof![
        probe().prop_map(SchemeBody::Probe),
        probe().prop_map(SchemeBody::Returned),
        any::<(u64, i32, i32, u64)>().prop_map(|(at, q_offset, q_delta, capacity)| {
            let (asked_at, capacity) = (Instant::from_ps(at), BitRate::bps(capacity));
            SchemeBody::Answer(ProbeAnswer { asked_at, q_offset, q_delta, capacity })
        }),
        any::<(bool, i32, i32)>().prop_map(|(stop, q_offset, q_delta)| SchemeBody::Bcn(Bcn {
            stop,
            q_offset,
            q_delta
        })),
        any::<(u64, u64)>().prop_map(|(len, arrived)| {
            SchemeBody::QueueReport(QueueReport { len: Bytes::new(len), arrived: Bytes::new(arrived) })
        }),
        Just(SchemeBody::Echo),
        Just(SchemeBody::PushBack),
        any::<i16>().prop_map(|fb| SchemeBody::Reflection { fb }),
        any::<u64>().prop_map(|bps| SchemeBody::ReceivedRate(BitRate::bps(bps))),
        any::<u64>().prop_map(|octets| SchemeBody::Credit(Bytes::new(octets))),
        any::<u64>().prop_map(|ps| SchemeBody::SourcePause { ps }),
    ];
    (any::<[u8; 8]>(), body).prop_map(|(cpid, body)| SchemeMessage { cpid: Cpid(cpid), body })
}

fn scheme_tag() -> impl Strategy<Value = SchemeTag> {
    any::<(bool, u8, Option<[u8; 8]>)>().prop_map(|(probe, mark, cpid)| SchemeTag {
        probe,
        mark,
        limited_by: cpid.map(Cpid),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn tags_come_back(tag in vlan(), rpid: u16, scheme_tag in scheme_tag()) {
        let mut buffer = Vec::new();
        comes_back(&tag, &mut buffer)?;
        comes_back(&CnTag { rpid }, &mut buffer)?;
        comes_back(&scheme_tag, &mut buffer)?;
    }

    #[test]
    fn a_cnm_comes_back(header in cnm_header(), msdu in vec(any::<u8>(), 0..=64)) {
        comes_back(&Cnm { msdu: &msdu, ..header }, &mut Vec::new())?;
    }

    #[test]
    fn pause_and_pfc_come_back(time: u16, reserved: u8, enabled: u8, times: [u16; 8]) {
        comes_back(&MacControl::Pause(Pause { time: Quanta(time) }), &mut Vec::new())?;
        let pfc = Pfc { reserved, enabled, times: times.map(Quanta) };
        comes_back(&MacControl::Pfc(pfc), &mut Vec::new())?;
    }

    #[test]
    fn tlvs_come_back(
        cn in any::<(u8, u8)>(), (willing, macsec_bypass, cbs) in any::<(bool, bool, bool)>(), reserved in 0..4u8, capability in 0..16u8,
        max_classes in 0..8u8, classes in prop::array::uniform8(0..16u8), bandwidth_percent: [u8; 8],
        selection: [u8; 8], other in 9..127u8, value in vec(any::<u8>(), 0..300),
    ) {
        let kind = EtsKind::Configuration { willing, credit_based_shaper: cbs, reserved, max_classes };
        let ets = EtsTlv { kind, class_of_priority: classes, bandwidth_percent, selection };
        let tlvs = [
            Tlv::ChassisId { subtype: 4, id: &[2, 0, 0, 0, 0, 1] },
            Tlv::PortId { subtype: 5, id: b"core" },
            Tlv::TimeToLive(120),
            Tlv::CongestionNotification(CnTlv { cnpv: cn.0, ready: cn.1 }),
            Tlv::Ets(ets),
            Tlv::Ets(EtsTlv { kind: EtsKind::Recommendation { reserved }, ..ets }),
            Tlv::Pfc(PfcTlv { willing, macsec_bypass, reserved, capability, enabled: cn.0 }),
            Tlv::SystemName(b"bridge"),
            Tlv::Organization { oui: [0, 0x12, 0x0F], subtype: 1, value: &value },
            Tlv::Other { kind: other, value: &value },
        ];
        let mut octets = [0; 2000];
        let unit = Lldp::build(&tlvs, &mut octets).unwrap();
        prop_assert_eq!(unit.tlvs().collect::<Vec<_>>(), tlvs);
        comes_back(&unit, &mut Vec::new())?;
    }

    #[test]
    fn roce_comes_back(header in roce_header(), payload in vec(any::<u8>(), 0..200)) {
        let packet = RocePacket { payload: &payload, ..header };
        let octets = packet.to_vec().unwrap();
        let (again, rest) = RocePacket::decode(&octets).unwrap();
        prop_assert_eq!(again, packet);
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn scheme_messages_come_back(message in scheme_message()) {
        comes_back(&message, &mut Vec::new())?;
    }

    #[test]
    fn frames_come_back(
        (destination, source) in (mac(), mac()), (s_tag, c_tag) in (proptest::option::of(vlan()), proptest::option::of(vlan())),
        rpid: Option<u16>, scheme_tag in proptest::option::of(scheme_tag()), cnm in cnm_header(),
        message in scheme_message(), kind in 0..5, data in vec(any::<u8>(), 0..64), padding in vec(any::<u8>(), 0..30),
        (ecn, ports, flags) in any::<(u8, (u16, u16), [bool; 4])>(),
    ) {
        let header = Ipv4Header { source: [10, 0, 0, 1], destination: [10, 0, 0, 2], time_to_live: 64,
            ecn: IpEcn::try_new(ecn & 3).unwrap(), ..Ipv4Header::default() };
        let port = if ports.1 == 4791 { 0 } else { ports.1 };
        let segment = if flags[0] {
            let header = TcpHeader { ece: flags[1], cwr: flags[2], syn: flags[3], ..TcpHeader::new(ports.0, port, 7, 9) };
            Segment::Tcp { header, reserved: 0, payload: &data }
        } else {
            let header = UdpHeader { source_port: ports.0, destination_port: port, ..UdpHeader::default() };
            Segment::Udp { header, payload: UdpPayload::Other(&data) }
        };
        let packet = Ipv4Packet { header, reserved: false, segment, trailer: &[] }.sealed().unwrap();
        prop_assert!(packet.checksum_is_valid());
        let frame = Frame {
            s_tag, c_tag, cn_tag: rpid.map(|rpid| CnTag { rpid }), scheme_tag,
            padding: if kind < 4 { &padding } else { &[] },
            ..Frame::new(destination, source, match kind {
                0 => Payload::Cnm(Cnm { msdu: &data, ..cnm }),
                1 => Payload::MacControl(MacControl::Pfc(Pfc::new(0b1000, Quanta(9)))),
                2 => Payload::SchemeMessage(message),
                3 => Payload::Ipv4(packet),
                _ => Payload::Other { ether_type: EtherType(0x1234), octets: &data },
            })
        };
        let octets = frame.to_vec().unwrap();
        let (again, rest) = Frame::decode(&octets).unwrap();
        prop_assert_eq!(&again, &frame);
        prop_assert!(rest.is_empty());
        prop_assert_eq!(&octets[frame.msdu_offset()..][..2], &frame.payload.ether_type().0.to_be_bytes());
        // What a capture keeps of the frame decodes too, or says that it is cut.
        for cut in 0..octets.len() {
            match Frame::decode_captured(&octets[..cut], octets.len()) {
                Ok(_) => prop_assert!(cut >= 14),
                Err(error) => prop_assert!(matches!(error, WireError::Truncated { .. }), "{error}"),
            }
        }
    }

    /// Less than a unit is lost, never the sign, and a longer queue never gives a smaller number.
    #[test]
    fn queue_units_lose_less_than_64_octets(octets in -2_097_152..2_097_152i64, more in 0..1000i64) {
        let units = QueueUnits::from_octets_towards_zero(octets);
        prop_assert!((octets - units.octets()).abs() < 64);
        prop_assert!(units.octets().abs() <= octets.abs());
        prop_assert!(units <= QueueUnits::from_octets_towards_zero(octets + more));
        prop_assert_eq!(QueueUnits::from_octets_towards_zero(units.octets()), units);
    }

    #[test]
    fn worse_feedback_is_never_a_smaller_number(fb: i64, less in 0..i64::MAX, full in 1..u64::MAX) {
        let full = Bytes::new(full);
        let worse = quantize_feedback(fb.saturating_sub(less), full);
        prop_assert!(quantize_feedback(fb, full) <= worse);
    }

    #[test]
    fn any_octets_are_safe(octets in vec(any::<u8>(), 0..120)) {
        any_octets::<VlanTag>(&octets)?;
        any_octets::<CnTag>(&octets)?;
        any_octets::<Cnm>(&octets)?;
        any_octets::<MacControl>(&octets)?;
        any_octets::<Lldp>(&octets)?;
        any_octets::<Ipv4Packet>(&octets)?;
        any_octets::<RocePacket>(&octets)?;
        any_octets::<SchemeTag>(&octets)?;
        any_octets::<SchemeMessage>(&octets)?;
        any_octets::<Frame>(&octets)?;
    }

    /// Random octets behind a plausible start get further than random octets.
    #[test]
    fn any_octets_behind_an_ether_type_are_safe(
        start in prop::sample::select(vec![
            &[0x22, 0xE9, 0, 1, 0x22, 0xE7][..], &[0x88, 0x08, 0x01], &[0x88, 0xCC, 2, 2, 7],
            &[0x88, 0xB5, b'Q', b'L', b'A', b'B', 0], &[0x88, 0xB6, b'Q', b'L', b'A', b'B', 0], &[0x81, 0x00],
            &[0x08, 0x00, 0x45, 0, 0],
        ]),
        octets in vec(any::<u8>(), 0..120),
    ) {
        any_octets::<Frame>(&[&[0; 12][..], start, &octets].concat())?;
    }
}
