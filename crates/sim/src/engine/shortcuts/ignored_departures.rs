//! Departures that mean nothing to the congestion point that is shown them.
//!
//! **When**: the congestion point of a first-in first-out port ignores departures that leave no more than so many octets behind.
//! **Why the run is the same**: a frame that does not make the queue longer than that may be queued before the departures until
//! then are counted: they leave less behind than what is counted with it. **Switch**:
//! [`Events::Everywhere`](crate::plan::Events::Everywhere), with which no port is first-in first-out.

use super::Network;
use crate::ids::PortId;
use crate::port::Departures;
use qcnlab_schemes::CpFastPath;
use qcnlab_units::Bytes;

impl Network {
    /// As [`find_ignored`](Network::find_ignored), of all ports.
    pub(in crate::engine) fn find_all_ignored(&mut self) {
        self.ports.ids().for_each(|port| self.find_ignored(port));
    }

    /// Finds up to which length of a port's queue its congestion point ignores departures.
    ///
    /// A frame that does not make the queue longer than that may be queued before the departures until then are counted:
    /// they leave less behind than what is counted with it.
    pub(super) fn find_ignored(&mut self, id: PortId) {
        let port = &mut self.ports[id];
        let fifo = port.fifo().or_else(|| self.queues[port.queues_in_use()?].unpaused);
        if let Some(Departures::Shown(cp) | Departures::ShownAndFreed(cp)) = fifo.map(|fifo| fifo.departures) {
            port.ignore_up_to(self.cps[cp].cp.ignores_departures_up_to(port.rate()).map_or(0, Bytes::get));
        }
    }
}
