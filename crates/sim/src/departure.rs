//! What a captured port sends and hears: typed facts of each frame, for who writes captures.

use crate::ids::{FlowId, PortId};
use qcnlab_schemes::{Probe, Signal};
use qcnlab_units::{Bytes, Instant};

/// A frame at a captured port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Departure {
    /// When its last octet left the port, or, of what a port hears, reached it.
    pub at: Instant,
    /// The port.
    pub port: PortId,
    /// Which frame.
    pub frame: FrameFacts,
}

/// What kind of frame it is, and what is known of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrameFacts {
    /// A frame of a flow.
    Data(DataFacts),
    /// An acknowledgement, in reverse.
    Ack {
        /// The flow it belongs to, its size and its class; `number` is the segment or packet that it expects next.
        flow: DataFacts,
        /// Whether it says that this one is missing: a negative acknowledgement of RoCE.
        negative: bool,
        /// Whether it echoes a mark: where senders of RoCE hear marks from acknowledgements, of the packets that it
        /// answers at least one was marked.
        echo: bool,
    },
    /// A signal to a reaction point.
    Signal(SignalFacts),
    /// A probe of a reaction point.
    Probe {
        /// The flow it belongs to, its size and its class.
        flow: DataFacts,
        /// What it carries.
        probe: Probe,
    },
    /// A pause frame.
    Pause {
        /// The classes that it addresses, a bit each; `None` for the whole link (802.3x).
        classes: Option<u8>,
        /// For how long, in quanta of 512 bit times; 0 resumes.
        quanta: u16,
    },
}

/// A frame of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataFacts {
    /// The flow.
    pub flow: FlowId,
    /// Which frame of its flow: of TCP the segment's number, otherwise the number of frames before it.
    pub number: u32,
    /// Octets.
    pub size: Bytes,
    /// Class, 0 to 7.
    pub class: u8,
    /// Whether it carries a TCP segment.
    pub segment: bool,
    /// Whether its priority is under congestion control.
    pub controlled: bool,
    /// Whether it carries a CN-TAG.
    pub cn_tagged: bool,
    /// Whether it asks congestion points for bandwidth.
    pub asks_bandwidth: bool,
    /// The congestion point that holds its limiter, where frames say so.
    pub limited_by: Option<u32>,
    /// The largest mark that congestion points wrote on it; 0 is none.
    pub mark: u8,
}

/// A signal, with the frame that it answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignalFacts {
    /// The signal.
    pub signal: Signal,
    /// The frame that was sampled, or that a destination answers.
    pub sampled: DataFacts,
    /// The port whose queue the sampled frame came to, or that it left last.
    pub sampled_at: PortId,
    /// Its size and class as a frame; `None` under ideal feedback, where it crosses no link.
    pub carried: Option<(Bytes, u8)>,
    /// Whether the port hears it: it has reached the host of its reaction point.
    pub heard: bool,
}
