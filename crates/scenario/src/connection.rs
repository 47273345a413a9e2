//! What an entry of traffic is to the engine: connections, queue pairs or a collective operation.

use super::arrivals::{Arrivals, Offered};
use super::transport::Transport;
use super::types::Traffic;
use qcnlab_sim::roce::QpConfig;
use qcnlab_sim::tcp::Config;
use qcnlab_traffic::Collective;
use qcnlab_units::Bytes;

impl Traffic {
    /// Returns what its flows offer.
    pub fn offered(&self) -> Offered {
        self.arrivals.kind().offered()
    }

    /// Returns the TCP configuration of its connections, if TCP carries its flows.
    pub fn connection(&self) -> Option<Config> {
        match &self.transport {
            Transport::Tcp(tcp) => Some(tcp.config(self.frame)),
            _ => None,
        }
    }

    /// Returns how its queue pairs behave, if RoCE carries its flows.
    pub fn queue_pair(&self) -> Option<QpConfig> {
        match &self.transport {
            Transport::Roce(roce) => Some(roce.config(self.frame)),
            _ => None,
        }
    }

    /// Returns the collective operation that it is among so many ranks, if it is one.
    pub fn collective(&self, ranks: u32) -> Option<Collective> {
        match &self.arrivals {
            Arrivals::Collective(operation) => Some(operation.among(ranks)),
            _ => None,
        }
    }

    /// Returns the octets of each frame that are not payload, if a transport carries its flows.
    pub fn transport_headers(&self) -> Option<Bytes> {
        self.connection().map(|config| config.headers).or_else(|| self.queue_pair().map(|config| config.headers))
    }
}
