//! Transports: what carries what an entry of `[[traffic]]` offers. Each is a file with its keys and what the engine makes of
//! them, and a line in the list below.

mod none;
mod roce;
mod tcp;

pub use none::NoTransport;
pub use roce::RoceTransport;
pub use tcp::{BicProbing, BicStep, CongestionAvoidance, RecoverGuard, RttFrom, TcpFlavour, TcpTransport};

use super::fields::tables;

tables! {
    /// What carries the frames or flows of an entry of traffic.
    pub enum Transport {
        /// Frames are sent once: nobody answers them, and nothing sends a lost one again.
        None(NoTransport) = "none",
        /// A TCP connection for each flow, whose acknowledgements travel back as frames. A full segment fills a frame.
        Tcp(TcpTransport) = "tcp",
        /// A RoCE queue pair for each flow, which is one message. Its acknowledgements travel back as frames. A full packet
        /// fills a frame.
        Roce(RoceTransport) = "roce",
    }
}
