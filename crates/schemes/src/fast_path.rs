//! Shortcuts for an engine: they change how fast a machine is driven, and never what it does.
//!
//! Most frames do no more to a machine than move its octet counters. An engine that knows this beforehand need not
//! collect the facts of the frame, nor ask for rate and wake-up afterwards. Nothing here belongs to the rules of a
//! scheme: without any of it a run gives the same results, and takes longer. So every method has a default that is
//! always right, and a new scheme starts with two empty implementations:
//!
//! ```text
//! impl CpFastPath for Cp {}
//! impl RpFastPath for Rp {}
//! ```
//!
//! The laws of [`conformance`](crate::conformance) drive each machine beside a copy that takes the shortcuts, and
//! compare the two.

use qcnlab_units::{BitRate, Bytes};

/// Shortcuts around a [`CongestionPoint`](crate::roles::CongestionPoint).
pub trait CpFastPath {
    /// Counts an arriving frame of `size` octets and returns true, if counting is all that
    /// [`on_arrival`](crate::roles::CongestionPoint::on_arrival) would do about it whatever the queue. Otherwise
    /// changes nothing and returns false.
    fn count_only(&mut self, controlled: bool, admitted: bool, size: Bytes) -> bool {
        let _ = (controlled, admitted, size);
        self.ignores_arrivals()
    }

    /// Returns whether [`on_arrival`](crate::roles::CongestionPoint::on_arrival) never does anything. An engine need not
    /// show arrivals. The same all through a run.
    fn ignores_arrivals(&self) -> bool {
        false
    }

    /// Returns the most octets that a departure may leave behind without meaning anything at a port of `rate`: the frame
    /// is neither marked nor stamped, and nothing is drawn or remembered. `None` if departures always count. An engine
    /// need not show these departures.
    fn ignores_departures_up_to(&self, rate: BitRate) -> Option<Bytes> {
        let _ = rate;
        None
    }
}

/// Shortcuts around a [`ReactionPoint`](crate::roles::ReactionPoint).
pub trait RpFastPath {
    /// Counts a frame that leaves and returns true, if counting is all that
    /// [`on_sent`](crate::roles::ReactionPoint::on_sent) would do about it: nothing to write on it, limit and wake-up
    /// as they are. Otherwise changes nothing and returns false.
    fn count_only(&mut self, sent: Bytes, backlog: Bytes) -> bool {
        let _ = (sent, backlog);
        false
    }

    /// Returns whether [`on_sent`](crate::roles::ReactionPoint::on_sent) may be called late: in order, before any other
    /// call, and with the time at which the frame left. That is so if a frame that leaves never brings the next
    /// wake-up forward. The same all through a run.
    fn on_sent_may_be_late(&self) -> bool {
        false
    }

    /// Returns whether an acknowledgement that echoes no mark means nothing to it:
    /// [`on_transport`](crate::roles::ReactionPoint::on_transport) would leave limit, window, gap and wake-up as they
    /// are. An engine need not tell of these. The same all through a run.
    fn ignores_unmarked_acknowledgements(&self) -> bool {
        false
    }
}
