//! From what the engine tells of a frame to the frame's octets.

use super::addresses::{self, FlowOnWire, NUMBER, Protocol};
use crate::fabric::{Announced, Fabric};
use qcnlab_scenario::Scenario;
use qcnlab_schemes::params::Value;
use qcnlab_schemes::{CpId, ProbeKind, Signal};
use qcnlab_sim::{DataFacts, Departure, FlowId, FrameFacts, NodeId, PauseScope, PortId, SignalFacts};
use qcnlab_units::IdVec;
use qcnlab_wire::{
    Aeth, AethKind, Bcn, Bth, CnTag, CnTlv, Cnm, Codec, Cpid, Frame, IpEcn, Ipv4Header, Ipv4Packet, Lldp, MacAddress,
    MacControl, NakCode, Pause, Payload, Pfc, PfcTlv, Probe, ProbeAnswer, Quanta, QuantizedFb, QueueReport, QueueUnits,
    RoceExtension, RoceOpcode, RocePacket, SchemeBody, SchemeMessage, SchemeTag, Segment, TcpHeader, Tlv, UdpHeader,
    UdpPayload, VlanTag, WireError,
};
use std::collections::HashMap;

/// The VLAN of all frames: the one that ports have without configuration.
const VLAN: u16 = 1;
/// Priority of a CNM that crosses no link: the standard's default (ieee8021CnGlobalCnmTransmitPriority).
const CNM_PRIORITY: u8 = 6;
/// Seconds that an LLDP announcement holds: four times the default interval of 30 s, and one.
const LLDP_HOLDS_S: u16 = 121;
/// The port of a TCP receiver; that of UDP is the discard service's.
const TCP_PORT: u16 = 5001;
const UDP_PORT: u16 = 9;
/// Room for any frame, and for what headers add to it.
const ROOM: usize = 65_536 + 256;

/// A frame in octets.
pub(super) struct OnWire<'a> {
    /// The frame, without FCS.
    pub(super) octets: &'a [u8],
    /// Octets before its data; all of a frame without.
    pub(super) headers: usize,
    /// Said beside it; empty for nothing.
    pub(super) comment: &'a str,
}

/// Makes frames of what the engine tells.
pub(super) struct Translator {
    flows: IdVec<FlowId, FlowOnWire>,
    ports: IdVec<PortId, Ends>,
    /// The node of each congestion point that has sent a signal.
    bridges: HashMap<u32, NodeId>,
    /// Feedback bits that a CNM has no room for.
    spare_bits: u32,
    data: Vec<u8>,
    octets: Vec<u8>,
    comment: String,
}

struct Ends {
    name: String,
    from: NodeId,
    node: String,
    /// Priorities that the node pauses by PFC, a bit each.
    pfc: u8,
}

impl Translator {
    pub(super) fn new(scenario: &Scenario, fabric: &Fabric) -> Translator {
        let ends = |port: &qcnlab_sim::PortPlan| {
            let node = &fabric.nodes[port.from];
            Ends {
                name: port.name.clone(),
                from: port.from,
                node: node.name.clone(),
                pfc: match node.pause.map(|pause| pause.scope) {
                    Some(PauseScope::Classes(classes)) => classes,
                    Some(PauseScope::Link) | None => 0,
                },
            }
        };
        Translator {
            flows: addresses::flows(scenario, fabric),
            ports: fabric.ports.iter().map(ends).collect(),
            bridges: HashMap::new(),
            spare_bits: feedback_bits(scenario).saturating_sub(6),
            data: vec![0; ROOM],
            octets: vec![0; ROOM],
            comment: String::new(),
        }
    }

    /// What a port announces of itself and of priorities under congestion control.
    pub(super) fn announcement(&mut self, port: PortId, announced: Announced) -> Result<OnWire<'_>, WireError> {
        let ends = &self.ports[port];
        let source = addresses::mac(ends.from);
        let mut tlvs = vec![
            Tlv::ChassisId { subtype: 4, id: &source.0 },
            Tlv::PortId { subtype: 5, id: ends.name.as_bytes().get(..255).unwrap_or(ends.name.as_bytes()) },
            Tlv::TimeToLive(LLDP_HOLDS_S),
            Tlv::SystemName(ends.node.as_bytes().get(..255).unwrap_or(ends.node.as_bytes())),
        ];
        if announced.cnpvs != 0 {
            tlvs.push(Tlv::CongestionNotification(CnTlv { cnpv: announced.cnpvs, ready: announced.ready }));
        }
        if ends.pfc != 0 {
            tlvs.push(Tlv::Pfc(PfcTlv { capability: 8, enabled: ends.pfc, ..PfcTlv::default() }));
        }
        let mut room = [0; 1024];
        let unit = Lldp::build(&tlvs, &mut room)?;
        let written = Frame::new(MacAddress::LLDP, source, Payload::Lldp(unit)).encode_padded(&mut self.octets)?;
        Ok(OnWire { octets: &self.octets[..written], headers: written, comment: "" })
    }

    /// The octets of a frame.
    pub(super) fn frame(&mut self, departure: &Departure) -> Result<OnWire<'_>, WireError> {
        self.comment.clear();
        let (written, headers) = match departure.frame {
            FrameFacts::Data(data) => self.data_frame(data)?,
            FrameFacts::Ack { flow, negative, echo } => self.acknowledgement(flow, negative, echo)?,
            FrameFacts::Signal(signal) => self.signal(signal)?,
            FrameFacts::Probe { flow, probe } => {
                let cpid = match probe.kind {
                    ProbeKind::Directed(cp) => self.cpid(cp),
                    ProbeKind::Path => Cpid::default(),
                };
                let body = SchemeBody::Probe(probe_body(&probe));
                let on_wire = self.flows[flow.flow];
                let (to, from) = (addresses::mac(on_wire.destination), addresses::mac(on_wire.source));
                self.message(to, from, flow.class, SchemeMessage { cpid, body }, flow.size.get())?
            }
            FrameFacts::Pause { classes, quanta } => {
                let control = match classes {
                    None => MacControl::Pause(Pause { time: Quanta(quanta) }),
                    Some(classes) => MacControl::Pfc(Pfc::new(classes, Quanta(quanta))),
                };
                let source = addresses::mac(self.ports[departure.port].from);
                let frame = Frame::new(MacAddress::MAC_CONTROL, source, Payload::MacControl(control));
                whole(frame.encode_padded(&mut self.octets)?)
            }
        };
        Ok(OnWire { octets: &self.octets[..written], headers, comment: &self.comment })
    }

    fn data_frame(&mut self, facts: DataFacts) -> Result<(usize, usize), WireError> {
        let on_wire = self.flows[facts.flow];
        let scheme_tag = self.scheme_tag(&facts, on_wire.protocol);
        let headers = on_wire.headers(facts.cn_tagged, scheme_tag.is_some());
        let frame = data_frame(&mut self.data, on_wire, &facts, scheme_tag)?;
        let written = frame.encode(&mut self.octets)?;
        let size = written.max(facts.size.get() as usize);
        self.octets[written..size].fill(0);
        // The invariant CRC stands behind the data.
        let before_data = if matches!(on_wire.protocol, Protocol::Roce(_)) { headers - 4 } else { headers };
        Ok((size, (before_data as usize).min(size)))
    }

    fn scheme_tag(&self, facts: &DataFacts, protocol: Protocol) -> Option<SchemeTag> {
        let mark = if matches!(protocol, Protocol::Roce(_)) { 0 } else { facts.mark };
        let limited_by = facts.limited_by.map(|cp| self.cpid(CpId(cp)));
        let tag = SchemeTag { probe: facts.asks_bandwidth, mark, limited_by };
        (tag != SchemeTag { probe: false, mark: 0, limited_by: None }).then_some(tag)
    }

    fn acknowledgement(&mut self, facts: DataFacts, negative: bool, echo: bool) -> Result<(usize, usize), WireError> {
        let flow = self.flows[facts.flow];
        let position = 1u32.wrapping_add(flow.stream_position(facts.number) as u32);
        let header = TcpHeader {
            ack: true,
            acknowledgment_number: position,
            ..TcpHeader::new(TCP_PORT, flow.port, 1, u16::MAX)
        };
        let segment = match flow.protocol {
            Protocol::Roce(messages) => {
                let msn = messages.whole_before(facts.number) & 0x00FF_FFFF;
                roce_acknowledgement(flow, facts.number, msn, (negative, echo))
            }
            Protocol::Tcp { .. } | Protocol::Udp => Segment::Tcp { header, reserved: 0, payload: &[] },
        };
        let payload = ipv4(flow.destination, flow.source, IpEcn::ZERO, segment)?;
        let frame = tagged(flow.source, flow.destination, facts.class, payload);
        let written = frame.encode_padded(&mut self.octets)?;
        let size = written.max(facts.size.get() as usize);
        self.octets[written..size].fill(0);
        Ok(whole(size))
    }

    fn signal(&mut self, facts: SignalFacts) -> Result<(usize, usize), WireError> {
        let on_wire = self.flows[facts.sampled.flow];
        let at = &self.ports[facts.sampled_at];
        let bridge = at.from;
        self.comment = match (facts.carried, facts.heard) {
            (None, false) => format!("sampled at {}; ideal feedback: it crosses no link", at.name),
            (None, true) => format!("sampled at {}; ideal feedback: heard by the host", at.name),
            (Some(_), true) => format!("sampled at {}; heard by the host", at.name),
            (Some(_), false) => format!("sampled at {}", at.name),
        };
        if let Some(cp) = sender_of(&facts.signal) {
            self.bridges.insert(cp.0, bridge);
        }
        let (size, class) = facts.carried.map_or((0, CNM_PRIORITY), |(size, class)| (size.get(), class));
        let to = addresses::mac(on_wire.source);
        let destination = addresses::mac(on_wire.destination);
        let from_bridge = addresses::mac(bridge);
        let message = |cpid, body| SchemeMessage { cpid, body };
        let nobody = Cpid::default();
        match facts.signal {
            Signal::Cnm(cnm) => self.notification(&facts, cnm, class, size),
            Signal::Cnp => {
                let header = UdpHeader {
                    source_port: on_wire.port,
                    destination_port: RocePacket::UDP_PORT,
                    ..UdpHeader::default()
                };
                let payload = UdpPayload::Roce(RocePacket::cnp(on_wire.port.into()));
                let segment = Segment::Udp { header, payload };
                let payload = ipv4(on_wire.destination, on_wire.source, IpEcn::ZERO, segment)?;
                let frame = tagged(on_wire.source, on_wire.destination, class, payload);
                let written = frame.encode_padded(&mut self.octets)?;
                let size = written.max(size as usize);
                self.octets[written..size].fill(0);
                Ok(whole(size))
            }
            Signal::Bcn(bcn) => {
                let body = Bcn { stop: bcn.stop, q_offset: clamped(bcn.q_offset), q_delta: clamped(bcn.q_delta) };
                self.message(to, from_bridge, class, message(self.cpid(bcn.cp), SchemeBody::Bcn(body)), size)
            }
            Signal::Echo(cp) => self.message(to, from_bridge, class, message(self.cpid(cp), SchemeBody::Echo), size),
            Signal::PushBack(cp) => {
                self.message(to, from_bridge, class, message(self.cpid(cp), SchemeBody::PushBack), size)
            }
            Signal::QueueLen(queue) => {
                let body = SchemeBody::QueueReport(QueueReport { len: queue.len, arrived: queue.arrived });
                self.message(to, from_bridge, class, message(self.cpid(queue.cp), body), size)
            }
            Signal::Answer(answer) => {
                let body = SchemeBody::Answer(ProbeAnswer {
                    asked_at: answer.asked_at,
                    q_offset: clamped(answer.q_offset),
                    q_delta: clamped(answer.q_delta),
                    capacity: answer.capacity,
                });
                self.message(to, from_bridge, class, message(self.cpid(answer.cp), body), size)
            }
            Signal::Returned(probe) => {
                let body = SchemeBody::Returned(probe_body(&probe));
                self.message(to, destination, class, message(nobody, body), size)
            }
            Signal::Reflection(fb) => {
                self.message(to, destination, class, message(nobody, SchemeBody::Reflection { fb }), size)
            }
            Signal::ReceivedRate(rate) => {
                self.message(to, destination, class, message(nobody, SchemeBody::ReceivedRate(rate)), size)
            }
            Signal::Credit(octets) => {
                self.message(to, destination, class, message(nobody, SchemeBody::Credit(octets)), size)
            }
            Signal::SourcePause(pause) => {
                let body = SchemeBody::SourcePause { ps: pause.time.ps() };
                self.message(to, from_bridge, class, message(self.cpid(pause.cp), body), size)
            }
        }
    }

    fn notification(
        &mut self,
        facts: &SignalFacts,
        cnm: qcnlab_schemes::Cnm,
        class: u8,
        size: u64,
    ) -> Result<(usize, usize), WireError> {
        use std::fmt::Write;
        let flow = self.flows[facts.sampled.flow];
        let bridge = addresses::mac(self.ports[facts.sampled_at].from);
        if self.spare_bits > 0 {
            let bits = self.spare_bits + 6;
            // Writing to a string does not fail.
            let _ =
                write!(self.comment, "; Fb {} of {bits} bits, of which the frame has the first 6", cnm.quantized_fb);
        }
        let scheme_tag = self.scheme_tag(&facts.sampled, flow.protocol);
        let cpid = self.cpid(cnm.cp);
        let sampled = data_frame(&mut self.data, flow, &facts.sampled, scheme_tag)?;
        let length = sampled.encode(&mut self.octets)?;
        let sampled_octets = self.octets[..length.min(160)].to_vec();
        let fields = Cnm {
            quantized_fb: QuantizedFb::new((cnm.quantized_fb >> self.spare_bits).min(63))?,
            cpid,
            q_offset: QueueUnits::from_octets_towards_zero(cnm.q_offset),
            q_delta: QueueUnits::from_octets_towards_zero(cnm.q_delta),
            ..Cnm::default()
        };
        let mut frame = Frame::notification(fields, bridge, class, &sampled, &sampled_octets);
        if size > 0
            && let before = frame.encoded_len() as u64
            && let Payload::Cnm(cnm) = &mut frame.payload
        {
            let room = (size + cnm.msdu.len() as u64).saturating_sub(before);
            cnm.msdu = &cnm.msdu[..cnm.msdu.len().min(room as usize)];
        }
        let written = frame.encode_padded(&mut self.octets)?;
        let size = written.max(size as usize);
        self.octets[written..size].fill(0);
        Ok(whole(size))
    }

    fn message(
        &mut self,
        to: MacAddress,
        from: MacAddress,
        class: u8,
        message: SchemeMessage,
        size: u64,
    ) -> Result<(usize, usize), WireError> {
        let c_tag = Some(VlanTag { priority: class, drop_eligible: false, vlan: VLAN });
        let frame = Frame { c_tag, ..Frame::new(to, from, Payload::SchemeMessage(message)) };
        let written = frame.encode_padded(&mut self.octets)?;
        let size = written.max(size as usize);
        self.octets[written..size].fill(0);
        Ok(whole(size))
    }

    /// The address of the bridge, and the congestion point's number in the run, from 1.
    fn cpid(&self, CpId(number): CpId) -> Cpid {
        let bridge = self.bridges.get(&number).map_or(MacAddress::default(), |node| addresses::mac(*node));
        Cpid::new(bridge, number.wrapping_add(1) as u16)
    }
}

/// A frame that is kept whole: its size, and that again as the octets of its headers.
const fn whole(size: usize) -> (usize, usize) {
    (size, size)
}

fn data_frame<'a>(
    data: &'a mut [u8],
    flow: FlowOnWire,
    facts: &DataFacts,
    scheme_tag: Option<SchemeTag>,
) -> Result<Frame<'a>, WireError> {
    let headers = flow.headers(facts.cn_tagged, scheme_tag.is_some());
    let room = facts.size.get().saturating_sub(headers) as usize;
    let (ecn, segment) = match flow.protocol {
        Protocol::Tcp { full, last } => {
            let length = last.filter(|(before, _)| facts.number >= *before).map_or(full, |(_, last)| last);
            let header = TcpHeader {
                ack: true,
                acknowledgment_number: 1,
                ..TcpHeader::new(
                    flow.port,
                    TCP_PORT,
                    1u32.wrapping_add(flow.stream_position(facts.number) as u32),
                    u16::MAX,
                )
            };
            (IpEcn::ZERO, Segment::Tcp { header, reserved: 0, payload: &data[..length as usize] })
        }
        Protocol::Roce(messages) => {
            let opcode = match messages.first_and_last(facts.number) {
                (true, true) => RoceOpcode::RC_SEND_ONLY,
                (true, false) => RoceOpcode::RC_SEND_FIRST,
                (false, false) => RoceOpcode::RC_SEND_MIDDLE,
                (false, true) => RoceOpcode::RC_SEND_LAST,
            };
            let bth = Bth {
                opcode,
                partition: 0xFFFF,
                destination_qp: flow.port.into(),
                psn: facts.number & 0x00FF_FFFF,
                ..Bth::default()
            };
            let packet = RocePacket {
                bth,
                extension: RoceExtension::None,
                payload: &data[..room - room % 4],
                icrc: Some([0; 4]),
            };
            let ecn = if facts.mark > 0 { IpEcn::THREE } else { IpEcn::TWO };
            (ecn, udp(flow.port, RocePacket::UDP_PORT, UdpPayload::Roce(packet)))
        }
        Protocol::Udp => {
            data[..NUMBER as usize].copy_from_slice(&u64::from(facts.number).to_be_bytes());
            let payload = UdpPayload::Other(&data[..NUMBER as usize + room]);
            (IpEcn::ZERO, udp(flow.port, UDP_PORT, payload))
        }
    };
    let payload = ipv4(flow.source, flow.destination, ecn, segment)?;
    let cn_tag = facts.cn_tagged.then_some(CnTag { rpid: flow.rpid });
    Ok(Frame { cn_tag, scheme_tag, ..tagged(flow.destination, flow.source, facts.class, payload) })
}

/// An acknowledgement of everything before packet `expected`, from the destination of a flow. A negative one has the
/// number of the packet that is missing, a positive one that of the last before it. A mark is echoed as BECN.
fn roce_acknowledgement(flow: FlowOnWire, expected: u32, msn: u32, (negative, echo): (bool, bool)) -> Segment<'static> {
    let bth = Bth {
        opcode: RoceOpcode::RC_ACKNOWLEDGE,
        partition: 0xFFFF,
        destination_qp: flow.port.into(),
        becn: echo,
        psn: if negative { expected } else { expected.wrapping_sub(1) } & 0x00FF_FFFF,
        ..Bth::default()
    };
    // No credit count: 31.
    let kind = if negative { AethKind::Nak(NakCode::SEQUENCE_ERROR) } else { AethKind::Ack { credits: 31 } };
    let aeth = Aeth { kind, msn };
    let packet = RocePacket { bth, extension: RoceExtension::Aeth(aeth), payload: &[], icrc: Some([0; 4]) };
    udp(flow.port, RocePacket::UDP_PORT, UdpPayload::Roce(packet))
}

fn tagged(to: NodeId, from: NodeId, priority: u8, payload: Payload<'_>) -> Frame<'_> {
    let c_tag = Some(VlanTag { priority, drop_eligible: false, vlan: VLAN });
    Frame { c_tag, ..Frame::new(addresses::mac(to), addresses::mac(from), payload) }
}

fn udp(source_port: u16, destination_port: u16, payload: UdpPayload<'_>) -> Segment<'_> {
    Segment::Udp { header: UdpHeader { source_port, destination_port, ..UdpHeader::default() }, payload }
}

fn ipv4(from: NodeId, to: NodeId, ecn: IpEcn, segment: Segment<'_>) -> Result<Payload<'_>, WireError> {
    let header = Ipv4Header {
        source: addresses::ip(from),
        destination: addresses::ip(to),
        time_to_live: 64,
        ecn,
        ..Ipv4Header::default()
    };
    Ok(Payload::Ipv4(Ipv4Packet { header, reserved: false, segment, trailer: &[] }.sealed()?))
}

fn probe_body(probe: &qcnlab_schemes::Probe) -> Probe {
    let directed = matches!(probe.kind, ProbeKind::Directed(_));
    Probe { directed, asked_at: probe.asked_at, sent: probe.sent, rate: probe.rate }
}

fn clamped(octets: i64) -> i32 {
    octets.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// The congestion point that sends a signal.
fn sender_of(signal: &Signal) -> Option<CpId> {
    match signal {
        Signal::Cnm(cnm) => Some(cnm.cp),
        Signal::Bcn(bcn) => Some(bcn.cp),
        Signal::Echo(cp) | Signal::PushBack(cp) => Some(*cp),
        Signal::QueueLen(queue) => Some(queue.cp),
        Signal::Answer(answer) => Some(answer.cp),
        Signal::SourcePause(pause) => Some(pause.cp),
        Signal::Cnp | Signal::Returned(_) | Signal::Reflection(_) | Signal::ReceivedRate(_) | Signal::Credit(_) => None,
    }
}

/// Bits of a scheme's feedback: 6 where its congestion points have no such parameter.
pub(crate) fn feedback_bits(scenario: &Scenario) -> u32 {
    let table = scenario.scheme.cp();
    let field = table.fields().iter().position(|field| field.name == "fb_bits");
    match field.and_then(|index| table.get(index)) {
        Some(Value::Integer(bits)) => bits as u32,
        _ => 6,
    }
}
