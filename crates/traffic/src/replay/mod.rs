//! Traffic from captures: which frames of a file are replayed, as which flows, and between which hosts.
//!
//! A capture is read twice, each time as a stream. The [survey](CaptureSurvey) before the run finds the flows, counts frames
//! and octets, and refuses a file that cannot be read to the end of what is asked of it. The [replay](CaptureReplay)
//! then hands the frames to the engine, a block at a time. What is kept grows with the number of flows alone.

mod fault;
mod flow_key;
mod hosts;
mod selection;
mod stream;
mod survey;
#[cfg(test)]
mod tests;

pub use fault::ReplayFault;
pub use hosts::{HostTable, assign};
pub use selection::{OutOfOrder, PassedOver, Selection};
pub use stream::{CaptureReplay, Pace};
pub use survey::{CaptureSurvey, CapturedFlow};

use qcnlab_schemes::choice;

choice! {
    /// What of a capture is sent again.
    pub enum Replayed {
        /// Each frame at its time and with its size.
        Frames = "frames",
        /// Each flow from the time of its first frame, with the octets of all its frames, as fast as the network takes
        /// them.
        Flows = "flows",
    }
}

choice! {
    /// What tells the flows of a capture apart. With keep_priority frames of several priorities are several flows.
    pub enum FlowsBy {
        /// Source and destination in IPv4 or IPv6, protocol, and ports where there are any; frames without IP are
        /// passed over.
        FiveTuple = "five_tuple",
        /// Source and destination on Ethernet and the RPID of the CN-TAG; frames without CN-TAG are passed over.
        Rpid = "rpid",
        /// Source and destination on Ethernet.
        Addresses = "addresses",
    }
}

choice! {
    /// Frames of which direction count, seen from the interface of the capture.
    pub enum CapturedDirection {
        /// Those that went out and those that came in, and those of which the capture does not say it.
        Both = "both",
        /// Those that went out.
        Sent = "sent",
        /// Those that came in.
        Received = "received",
    }
}
