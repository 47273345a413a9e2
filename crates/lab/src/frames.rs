//! Frames of a capture as rows: what each says about congestion.

use qcnlab_capture::{CaptureError, CaptureReader, CapturedFrame, Direction};
use qcnlab_units::Span;
use qcnlab_wire::{
    CnTlv, Frame, IpEcn, MacControl, Payload, PfcTlv, RoceOpcode, RocePacket, SchemeBody, SchemeMessage, Segment, Tlv,
    UdpPayload,
};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io;
use std::path::Path;

/// What a row has whatever the frame is.
const KEYS: [&str; 11] =
    ["source", "destination", "vlan", "priority", "rpid", "ecn", "fb", "cpid", "offset_bytes", "delta_bytes", "quanta"];

/// Reads the frames of a capture one by one; it keeps one block of the file.
#[derive(Debug)]
pub struct CapturedRows {
    reader: CaptureReader<File>,
}

/// Why a capture cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// The file cannot be opened.
    #[error("it cannot be opened: {0}")]
    Open(io::Error),
    /// It is no capture, or damaged.
    #[error("{0}")]
    Capture(#[from] CaptureError),
}

impl CapturedRows {
    /// Opens a capture, pcapng or pcap.
    ///
    /// # Errors
    /// When it cannot be opened or is no capture.
    pub fn open(file: &Path) -> Result<CapturedRows, RowsError> {
        let file = File::open(file).map_err(RowsError::Open)?;
        Ok(CapturedRows { reader: CaptureReader::new(file)? })
    }

    /// Reads the next frame as JSON: `frame`, `time_s`, `port`, `direction`, `kind`, `octets`, `source`,
    /// `destination`, `vlan`, `priority`, `rpid`, `fb`, `cpid`, `offset_bytes`, `delta_bytes`, `quanta`, `about` and
    /// `comment`; null for what a frame does not have. `None` at the end.
    ///
    /// # Errors
    /// When the capture is damaged. A frame that cannot be decoded is a row, not an error.
    pub fn next_row(&mut self) -> Result<Option<String>, RowsError> {
        let Some(frame) = self.reader.next_frame()? else { return Ok(None) };
        let mut row = row(&frame);
        for key in KEYS {
            row.entry(key).or_insert(Value::Null);
        }
        let id = frame.interface;
        let port = self.reader.interface(id).map(|interface| interface.name.clone()).filter(|name| !name.is_empty());
        row.insert("port".to_owned(), json!(port.unwrap_or_else(|| id.0.to_string())));
        Ok(Some(Value::Object(row).to_string()))
    }
}

fn row(captured: &CapturedFrame<'_>) -> Map<String, Value> {
    let mut row = Map::new();
    let mut put = |key: &str, value: Value| {
        row.insert(key.to_owned(), value);
    };
    put("frame", json!(captured.number));
    put("time_s", json!(captured.time_ns.map(|ns| ns as f64 / 1e9)));
    put("time_ns", json!(captured.time_ns));
    put(
        "direction",
        match captured.direction {
            Some(Direction::Sent) => json!("sent"),
            Some(Direction::Received) => json!("received"),
            None => Value::Null,
        },
    );
    put("octets", json!(captured.wire_len));
    put("comment", if captured.comment.is_empty() { Value::Null } else { json!(captured.comment) });
    let frame = match Frame::decode_captured(captured.octets, captured.wire_len as usize) {
        Ok(frame) => frame,
        Err(error) => {
            put("kind", json!("malformed"));
            put("about", json!(error.to_string()));
            return row;
        }
    };
    put("source", json!(frame.source.to_string()));
    put("destination", json!(frame.destination.to_string()));
    let tag = frame.s_tag.or(frame.c_tag);
    put("vlan", json!(tag.map(|tag| tag.vlan)));
    put("priority", json!(tag.map(|tag| tag.priority)));
    put("rpid", json!(frame.cn_tag.map(|tag| tag.rpid)));
    put("ecn", ecn(&frame.payload));
    put("kind", json!(kind(&frame.payload)));
    put("about", json!(frame.payload.to_string()));
    match &frame.payload {
        Payload::Cnm(cnm) => {
            put("fb", json!(cnm.quantized_fb.get()));
            put("cpid", json!(cnm.cpid.to_string()));
            put("offset_bytes", json!(cnm.q_offset.octets()));
            put("delta_bytes", json!(cnm.q_delta.octets()));
        }
        Payload::MacControl(MacControl::Pause(pause)) => put("quanta", json!(pause.time.0)),
        Payload::MacControl(MacControl::Pfc(pfc)) => {
            let times =
                (0..8u8).filter_map(|priority| pfc.time(priority).map(|time| (priority.to_string(), json!(time.0))));
            put("quanta", Value::Object(times.collect()));
        }
        Payload::SchemeMessage(SchemeMessage { cpid, body }) => {
            put("cpid", json!(cpid.to_string()));
            let queue = match body {
                SchemeBody::Bcn(bcn) => Some((bcn.q_offset, bcn.q_delta)),
                SchemeBody::Answer(answer) => Some((answer.q_offset, answer.q_delta)),
                _ => None,
            };
            if let Some((offset, delta)) = queue {
                put("offset_bytes", json!(offset));
                put("delta_bytes", json!(delta));
            }
            if let SchemeBody::Reflection { fb } = body {
                put("fb", json!(fb));
            }
            if let SchemeBody::ReceivedRate(rate) = body {
                put("rate_bps", json!(rate.get()));
            }
            if let SchemeBody::Credit(octets) = body {
                put("credit_bytes", json!(octets.get()));
            }
            if let SchemeBody::SourcePause { ps } = body {
                put("pause_s", json!(Span::from_ps(*ps).seconds()));
            }
        }
        Payload::Lldp(unit) => {
            for tlv in unit.tlvs() {
                match tlv {
                    Tlv::CongestionNotification(CnTlv { cnpv, ready }) => {
                        put("cnpv", json!(cnpv));
                        put("ready", json!(ready));
                    }
                    Tlv::Pfc(PfcTlv { enabled, .. }) => put("pfc", json!(enabled)),
                    _ => {}
                }
            }
        }
        _ => {}
    }
    row
}

fn ecn(payload: &Payload<'_>) -> Value {
    let Payload::Ipv4(packet) = payload else { return Value::Null };
    json!(match packet.header.ecn {
        IpEcn::ZERO => "Not-ECT",
        IpEcn::ONE => "ECT(1)",
        IpEcn::TWO => "ECT(0)",
        _ => "CE",
    })
}

fn kind(payload: &Payload<'_>) -> &'static str {
    match payload {
        Payload::Cnm(_) => "CNM",
        Payload::MacControl(MacControl::Pause(_)) => "PAUSE",
        Payload::MacControl(MacControl::Pfc(_)) => "PFC",
        Payload::MacControl(MacControl::Other { .. }) => "MAC control",
        Payload::Lldp(_) => "LLDP",
        Payload::SchemeMessage(message) => match message.body {
            SchemeBody::Probe(_) => "probe",
            SchemeBody::Returned(_) => "returned probe",
            SchemeBody::Answer(_) => "probe answer",
            SchemeBody::Bcn(_) => "BCN",
            SchemeBody::QueueReport(_) => "queue length",
            SchemeBody::Echo => "echo",
            SchemeBody::PushBack => "push-back",
            SchemeBody::Reflection { .. } => "reflection",
            SchemeBody::ReceivedRate(_) => "received rate",
            SchemeBody::Credit(_) => "credit",
            SchemeBody::SourcePause { .. } => "source pause",
        },
        Payload::Ipv4(packet) => match &packet.segment {
            Segment::Tcp { .. } => "TCP",
            Segment::Udp { payload: UdpPayload::Roce(packet), .. } => roce(packet),
            Segment::Udp { .. } => "UDP",
            Segment::Other(_) => "IPv4",
        },
        Payload::Other { .. } => "other",
    }
}

fn roce(packet: &RocePacket<'_>) -> &'static str {
    if packet.bth.opcode == RoceOpcode::CNP { "CNP" } else { "RoCEv2" }
}
