//! Scheme message: control frames of BCN, ECM, FECN, E2CM, QCN+, SONAR and their like (experimental, EtherType 0x88B5).
//!
//! ```text
//! octet  0  4  "QLAB"
//!        4  1  version, 0
//!        5  1  kind
//!        6  8  CPID of the sender; of a directed probe, whom it asks; zeros for none
//!       14     by kind:
//!   1 probe, 2 returned probe     1 directed (0 or 1), 8 asked at (ps), 8 octets sent before, 8 rate (bit/s)
//!   3 probe answer                8 asked at (ps), 4 offset, 4 delta (octets, signed), 8 capacity (bit/s)
//!   4 BCN                         1 stop (0 or 1), 4 offset, 4 delta (octets, signed)
//!   5 queue report                8 queue length, 8 octets arrived
//!   6 echo, 7 push-back           -
//!   8 reflected mark              2 feedback, signed
//!   9 received rate               8 rate (bit/s)
//!   10 credit                     8 octets from the start of the stream
//! ```

use super::SIGNATURE;
use crate::cnm::Cpid;
use crate::codec::{Codec, Reader, Writer};
use crate::error::{Format, WireError};
use qcnlab_units::{BitRate, Bytes, Instant};
use std::fmt;

const FORMAT: Format = Format::SchemeMessage;

/// A control frame of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SchemeMessage {
    /// The congestion point that sends it, or that a directed probe asks; zeros for none.
    pub cpid: Cpid,
    /// What it says.
    pub body: SchemeBody,
}

/// What a [`SchemeMessage`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SchemeBody {
    /// A question along the path (FECN, E2CM, QCN+).
    Probe(Probe),
    /// A probe that the destination sends back.
    Returned(Probe),
    /// A congestion point's answer to a probe (QCN+).
    Answer(ProbeAnswer),
    /// Backward congestion notification (BCN, ECM).
    Bcn(Bcn),
    /// The length of a queue (Fb at the sender).
    QueueReport(QueueReport),
    /// The answer to a special frame (SONAR).
    Echo,
    /// Hold back (Fb99).
    PushBack,
    /// Feedback that a receiver reflects.
    Reflection {
        /// Feedback; negative is congestion.
        fb: i16,
    },
    /// A receiver's answer to marked frames: the rate at which they arrive (PCN).
    ReceivedRate(BitRate),
    /// Octets from the start of a stream that a receiver permits.
    Credit(Bytes),
    /// A source is to stop (source flow control).
    SourcePause {
        /// For how long, ps.
        ps: u64,
    },
}

/// A question along the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Probe {
    /// Whether it asks the congestion point that the message names, and not all of them.
    pub directed: bool,
    /// When it was sent.
    pub asked_at: Instant,
    /// Octets its source had sent before.
    pub sent: Bytes,
    /// The rate it offers; congestion points lower it.
    pub rate: BitRate,
}

/// A congestion point's answer to a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProbeAnswer {
    /// When the probe was sent.
    pub asked_at: Instant,
    /// Set point less queue length, octets.
    pub q_offset: i32,
    /// Queue length less that at the sample before, octets.
    pub q_delta: i32,
    /// The rate its port is served at.
    pub capacity: BitRate,
}

/// Backward congestion notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bcn {
    /// BCN(0,0): stop for a while.
    pub stop: bool,
    /// Set point less queue length, octets.
    pub q_offset: i32,
    /// Queue length less that at the sample before, octets.
    pub q_delta: i32,
}

/// The length of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueueReport {
    /// Octets queued.
    pub len: Bytes,
    /// Octets that arrived since the congestion point's last message.
    pub arrived: Bytes,
}

impl SchemeBody {
    const fn kind(&self) -> u8 {
        match self {
            SchemeBody::Probe(_) => 1,
            SchemeBody::Returned(_) => 2,
            SchemeBody::Answer(_) => 3,
            SchemeBody::Bcn(_) => 4,
            SchemeBody::QueueReport(_) => 5,
            SchemeBody::Echo => 6,
            SchemeBody::PushBack => 7,
            SchemeBody::Reflection { .. } => 8,
            SchemeBody::ReceivedRate(_) => 9,
            SchemeBody::Credit(_) => 10,
            SchemeBody::SourcePause { .. } => 11,
        }
    }

    const fn len(&self) -> usize {
        match self {
            SchemeBody::Probe(_) | SchemeBody::Returned(_) => 25,
            SchemeBody::Answer(_) => 24,
            SchemeBody::Bcn(_) => 9,
            SchemeBody::QueueReport(_) => 16,
            SchemeBody::Echo | SchemeBody::PushBack => 0,
            SchemeBody::Reflection { .. } => 2,
            SchemeBody::ReceivedRate(_) | SchemeBody::Credit(_) | SchemeBody::SourcePause { .. } => 8,
        }
    }
}

fn invalid<T>(field: &'static str, at: usize, value: u64, allowed: &'static str) -> Result<T, WireError> {
    Err(WireError::InvalidField { format: FORMAT, field, at, value, allowed })
}

fn read_bool(from: &mut Reader<'_>, field: &'static str) -> Result<bool, WireError> {
    let at = from.position();
    match from.u8(FORMAT)? {
        0 => Ok(false),
        1 => Ok(true),
        other => invalid(field, at, other.into(), "0 or 1"),
    }
}

fn read_i32(from: &mut Reader<'_>) -> Result<i32, WireError> {
    Ok(from.u32(FORMAT)? as i32)
}

fn read_probe(from: &mut Reader<'_>) -> Result<Probe, WireError> {
    Ok(Probe {
        directed: read_bool(from, "directed")?,
        asked_at: Instant::from_ps(from.u64(FORMAT)?),
        sent: Bytes::new(from.u64(FORMAT)?),
        rate: BitRate::bps(from.u64(FORMAT)?),
    })
}

fn write_probe(probe: &Probe, to: &mut Writer<'_>) -> Result<(), WireError> {
    to.put(FORMAT, &[probe.directed.into()])?;
    to.put(FORMAT, &probe.asked_at.ps().to_be_bytes())?;
    to.put(FORMAT, &probe.sent.get().to_be_bytes())?;
    to.put(FORMAT, &probe.rate.get().to_be_bytes())
}

impl Codec<'_> for SchemeMessage {
    const FORMAT: Format = FORMAT;

    fn read(from: &mut Reader<'_>) -> Result<SchemeMessage, WireError> {
        let at = from.position();
        let signature = from.array(FORMAT)?;
        if signature != SIGNATURE {
            return invalid("signature", at, u32::from_be_bytes(signature).into(), "0x514c4142, \"QLAB\"");
        }
        let [version, kind] = from.array(FORMAT)?;
        if version != 0 {
            return invalid("version", at + 4, version.into(), "0");
        }
        let cpid = Cpid(from.array(FORMAT)?);
        let body = match kind {
            1 => SchemeBody::Probe(read_probe(from)?),
            2 => SchemeBody::Returned(read_probe(from)?),
            3 => SchemeBody::Answer(ProbeAnswer {
                asked_at: Instant::from_ps(from.u64(FORMAT)?),
                q_offset: read_i32(from)?,
                q_delta: read_i32(from)?,
                capacity: BitRate::bps(from.u64(FORMAT)?),
            }),
            4 => SchemeBody::Bcn(Bcn {
                stop: read_bool(from, "stop")?,
                q_offset: read_i32(from)?,
                q_delta: read_i32(from)?,
            }),
            5 => SchemeBody::QueueReport(QueueReport {
                len: Bytes::new(from.u64(FORMAT)?),
                arrived: Bytes::new(from.u64(FORMAT)?),
            }),
            6 => SchemeBody::Echo,
            7 => SchemeBody::PushBack,
            8 => SchemeBody::Reflection { fb: from.u16(FORMAT)? as i16 },
            9 => SchemeBody::ReceivedRate(BitRate::bps(from.u64(FORMAT)?)),
            10 => SchemeBody::Credit(Bytes::new(from.u64(FORMAT)?)),
            11 => SchemeBody::SourcePause { ps: from.u64(FORMAT)? },
            other => return invalid("kind", at + 5, other.into(), "1 to 11"),
        };
        Ok(SchemeMessage { cpid, body })
    }

    fn encoded_len(&self) -> usize {
        14 + self.body.len()
    }

    fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError> {
        to.put(FORMAT, &SIGNATURE)?;
        to.put(FORMAT, &[0, self.body.kind()])?;
        to.put(FORMAT, &self.cpid.0)?;
        match &self.body {
            SchemeBody::Probe(probe) | SchemeBody::Returned(probe) => write_probe(probe, to),
            SchemeBody::Answer(answer) => {
                to.put(FORMAT, &answer.asked_at.ps().to_be_bytes())?;
                to.put(FORMAT, &answer.q_offset.to_be_bytes())?;
                to.put(FORMAT, &answer.q_delta.to_be_bytes())?;
                to.put(FORMAT, &answer.capacity.get().to_be_bytes())
            }
            SchemeBody::Bcn(bcn) => {
                to.put(FORMAT, &[bcn.stop.into()])?;
                to.put(FORMAT, &bcn.q_offset.to_be_bytes())?;
                to.put(FORMAT, &bcn.q_delta.to_be_bytes())
            }
            SchemeBody::QueueReport(report) => {
                to.put(FORMAT, &report.len.get().to_be_bytes())?;
                to.put(FORMAT, &report.arrived.get().to_be_bytes())
            }
            SchemeBody::Echo | SchemeBody::PushBack => Ok(()),
            SchemeBody::Reflection { fb } => to.put(FORMAT, &fb.to_be_bytes()),
            SchemeBody::ReceivedRate(rate) => to.put(FORMAT, &rate.get().to_be_bytes()),
            SchemeBody::Credit(octets) => to.put(FORMAT, &octets.get().to_be_bytes()),
            SchemeBody::SourcePause { ps } => to.put(FORMAT, &ps.to_be_bytes()),
        }
    }
}

impl fmt::Display for SchemeMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.body {
            SchemeBody::Probe(p) => write!(f, "probe, {} sent, offers {}", p.sent, p.rate)?,
            SchemeBody::Returned(p) => write!(f, "returned probe, {} sent, rate {}", p.sent, p.rate)?,
            SchemeBody::Answer(a) => {
                write!(f, "probe answer offset {} B delta {} B capacity {}", a.q_offset, a.q_delta, a.capacity)?;
            }
            SchemeBody::Bcn(Bcn { stop: true, .. }) => f.write_str("BCN(0,0)")?,
            SchemeBody::Bcn(bcn) => write!(f, "BCN offset {} B delta {} B", bcn.q_offset, bcn.q_delta)?,
            SchemeBody::QueueReport(report) => write!(f, "queue of {}, {} arrived", report.len, report.arrived)?,
            SchemeBody::Echo => f.write_str("echo")?,
            SchemeBody::PushBack => f.write_str("push-back")?,
            SchemeBody::Reflection { fb } => write!(f, "reflected feedback {fb}")?,
            SchemeBody::ReceivedRate(rate) => write!(f, "received at {rate}")?,
            SchemeBody::Credit(octets) => write!(f, "credit of {octets}")?,
            SchemeBody::SourcePause { ps } => write!(f, "stop for {ps} ps")?,
        }
        write!(f, " CPID {}", self.cpid)
    }
}
