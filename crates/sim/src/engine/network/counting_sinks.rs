//! Links to sinks that only count; see [`shortcuts::counting_sinks`](crate::engine::shortcuts::counting_sinks).

use super::Network;
use crate::ids::PortId;
use crate::path::Path;
use crate::port::FarEnd;
use qcnlab_units::Instant;

impl Network {
    /// What comes over the link of a port is only counted, unless its node looks at it.
    pub(in crate::engine) fn only_count_behind(&mut self, id: PortId) {
        let port = &mut self.ports[id];
        if port.far_end() == FarEnd::Node {
            port.set_far_end(FarEnd::CountingSink);
        }
    }

    /// Has `deliver` see what reached the counting sink of a port before `until`: when, by which path, when it left the
    /// port, and its octets.
    #[inline]
    pub(in crate::engine) fn take_delivered(
        &mut self,
        until: Instant,
        id: PortId,
        mut deliver: impl FnMut(Instant, &Path, u64, u64),
    ) {
        if self.ports[id].observes_departures() {
            self.update_queue(until, id);
        }
        let port = &mut self.ports[id];
        while let Some(at) = port.next_arrival().filter(|at| *at < until) {
            let frame = port.take_arrived();
            deliver(at, &self.routes.paths[frame.path()], at.ps() - port.delay().ps(), frame.octets());
        }
    }

    /// As [`take_delivered`](Network::take_delivered), of all counting sinks.
    pub(in crate::engine) fn take_all_delivered(
        &mut self,
        until: Instant,
        mut deliver: impl FnMut(Instant, &Path, u64, u64),
    ) {
        for id in self.ports.ids() {
            if self.ports[id].far_end() == FarEnd::CountingSink {
                self.take_delivered(until, id, &mut deliver);
            }
        }
    }

    /// Has a link take twice as many frames, unless it has room for half of what it takes.
    pub(in crate::engine) fn make_room(&mut self, id: PortId) {
        self.ports[id].ring_mut().reserve_half();
    }
}
