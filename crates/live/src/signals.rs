//! Signals as frames: what a congestion point says, in octets, and what an adapter reads of it.

use crate::head::Head;
use crate::layout::mac;
use qcnlab_schemes as schemes;
use qcnlab_schemes::{CpId, Signal};
use qcnlab_sim::NodeId;
use qcnlab_units::Bytes;
use qcnlab_wire::{
    Cnm, Codec, Cpid, EtherType, Frame, MacAddress, Payload, QuantizedFb, QueueReport, QueueUnits, SchemeBody,
    SchemeMessage, VlanTag, WireError,
};

/// Returns the frame that carries `signal` to the source of a sampled frame, and what it carries of the signal.
/// `bridge` is the congestion point's node.
pub(crate) fn frame_of(
    signal: Signal,
    bridge: NodeId,
    priority: u8,
    head: &Head,
    octets: &[u8],
) -> Option<(Vec<u8>, Signal)> {
    let cpid = |cp: CpId| Cpid::new(mac(bridge), cp.0.wrapping_add(1) as u16);
    let carried = signal.carried();
    let rest = octets.get(head.ether_type_at + 2..)?;
    let sampled = Frame {
        c_tag: head.c_tag,
        cn_tag: head.cn_tag,
        ..Frame::new(head.destination, head.source, Payload::Other { ether_type: head.ether_type, octets: rest })
    };
    let mut room = [0; 256];
    let written = match carried {
        Signal::Cnm(cnm) => {
            let fields = Cnm {
                quantized_fb: QuantizedFb::new(cnm.quantized_fb.min(63)).ok()?,
                cpid: cpid(cnm.cp),
                q_offset: QueueUnits::from_octets_towards_zero(cnm.q_offset),
                q_delta: QueueUnits::from_octets_towards_zero(cnm.q_delta),
                ..Cnm::default()
            };
            Frame::notification(fields, mac(bridge), priority, &sampled, octets).encode_padded(&mut room).ok()?
        }
        Signal::QueueLen(queue) => {
            let body = SchemeBody::QueueReport(QueueReport { len: queue.len, arrived: queue.arrived });
            let payload = Payload::SchemeMessage(SchemeMessage { cpid: cpid(queue.cp), body });
            let tag = head.c_tag.map(|tag| VlanTag { priority, drop_eligible: false, ..tag });
            let frame = Frame { c_tag: tag, cn_tag: head.cn_tag, ..Frame::new(head.source, mac(bridge), payload) };
            frame.encode_padded(&mut room).ok()?
        }
        _ => return None,
    };
    Some((room[..written].to_vec(), carried))
}

/// A signal that an adapter hears.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Heard {
    pub(crate) signal: Signal,
    /// The reaction point it is for, as the CN-TAG says.
    pub(crate) rpid: Option<u16>,
    /// The priority of the sampled frame, where the signal tells.
    pub(crate) priority: Option<u8>,
    /// Where the sampled frame was going, where the signal tells.
    pub(crate) destination: Option<MacAddress>,
}

/// Whether a frame carries a signal to a reaction point.
pub(crate) fn is_signal(ether_type: EtherType) -> bool {
    matches!(ether_type, EtherType::CNM | EtherType::SCHEME_MESSAGE)
}

/// Reads the signal of a frame.
///
/// # Errors
/// When the octets are no signal that a reaction point hears.
pub(crate) fn read(octets: &[u8]) -> Result<Heard, String> {
    let (frame, _) = Frame::decode(octets).map_err(|error: WireError| error.to_string())?;
    let cp = |cpid: Cpid| CpId(u32::from(u16::from_be_bytes([cpid.0[6], cpid.0[7]])).wrapping_sub(1));
    let rpid = frame.cn_tag.map(|tag| tag.rpid);
    match frame.payload {
        Payload::Cnm(cnm) => {
            if cnm.quantized_fb.get() == 0 {
                return Err("a CNM without feedback".to_owned());
            }
            let signal = Signal::Cnm(schemes::Cnm {
                cp: cp(cnm.cpid),
                quantized_fb: cnm.quantized_fb.get(),
                q_offset: cnm.q_offset.octets(),
                q_delta: cnm.q_delta.octets(),
            });
            Ok(Heard { signal, rpid, priority: Some(cnm.priority), destination: Some(cnm.destination) })
        }
        Payload::SchemeMessage(SchemeMessage { cpid, body: SchemeBody::QueueReport(report) }) => {
            let most = Bytes::new(1 << 40);
            if report.len > most || report.arrived > most {
                return Err("a queue report beyond any queue".to_owned());
            }
            let queue = schemes::QueueLen { cp: cp(cpid), len: report.len, arrived: report.arrived };
            Ok(Heard { signal: Signal::QueueLen(queue), rpid, priority: None, destination: None })
        }
        _ => Err("a frame that no reaction point hears".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::with_tags;
    use qcnlab_units::Id;
    use qcnlab_wire::CnTag;

    fn sampled() -> Vec<u8> {
        let mut plain = mac(NodeId::new(2)).0.to_vec();
        plain.extend(mac(NodeId::new(0)).0);
        plain.extend([0x08, 0x00]);
        plain.extend(0..100);
        with_tags(&plain, VlanTag { priority: 3, drop_eligible: false, vlan: 1 }, Some(CnTag { rpid: 7 }))
    }

    /// 27 020 octets above the set point are 422 units of 64 and 12 more, which the frame has no room for.
    #[test]
    fn what_an_adapter_reads_is_what_the_congestion_point_said() {
        let octets = sampled();
        let head = Head::read(&octets).expect("it is whole");
        let said = schemes::Cnm { cp: CpId(4), quantized_fb: 63, q_offset: -27_020, q_delta: 640 };
        let (frame, carried) =
            frame_of(Signal::Cnm(said), NodeId::new(1), 6, &head, &octets).expect("a CNM has a frame");
        let heard = read(&frame).expect("a CNM");
        let expected = Signal::Cnm(schemes::Cnm { q_offset: -27_008, ..said });
        assert_eq!((heard.signal, carried), (expected, expected));
        assert_eq!((heard.rpid, heard.destination), (Some(7), Some(mac(NodeId::new(2)))));
        // To the source of the sampled frame, from the bridge, at priority 6; 24 octets and 64 of the frame behind tags.
        assert_eq!((&frame[..6], &frame[6..12]), (&mac(NodeId::new(0)).0[..], &mac(NodeId::new(1)).0[..]));
        assert_eq!((frame.len(), frame[14] >> 5), (12 + 4 + 4 + 2 + 24 + 64, 6));
        assert_eq!(frame[46..50], octets[20..24], "the sampled frame from its EtherType on");
    }

    #[test]
    fn a_queue_report_keeps_its_reaction_point() {
        let octets = sampled();
        let head = Head::read(&octets).expect("it is whole");
        let said =
            Signal::QueueLen(schemes::QueueLen { cp: CpId(1), len: Bytes::new(5000), arrived: Bytes::new(1000) });
        let (frame, _) = frame_of(said, NodeId::new(1), 6, &head, &octets).expect("a report has a frame");
        let heard = read(&frame).expect("a report");
        assert_eq!((heard.signal, heard.rpid), (said, Some(7)));
    }

    #[test]
    fn what_is_no_signal_is_refused_in_words() {
        assert!(read(&[0; 10]).is_err());
        assert!(read(&sampled()[..60]).is_err());
        for octet in 0..=255u8 {
            let mut frame = vec![octet; 110];
            frame[12..14].copy_from_slice(&[0x22, 0xE7]);
            let _ = read(&frame);
        }
    }
}
