//! Switches with one buffer for all their ports: the table `[[shared_buffer]]`.

use qcnlab_schemes::params::{Fallback, Range};
use qcnlab_schemes::{params, variants};
use qcnlab_units::{BitRate, Bytes};

/// Two to the power of -8 and of 7, as SAI has them.
const ALPHA: Range = Range::between(1.0 / 256.0, 128.0);

params! {
    /// Switches with one buffer for all their ports. Of several tables the first whose pattern fits a switch holds.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SharedBuffer {
        /// Switches that have it: a name, or a pattern in which * stands for any characters and {1..4} for numbers.
        only: String, "", Range::ANY, Fallback::Text("*");
        /// Octets of the whole buffer, with reserves and headroom.
        size: Bytes, "BUFFER_POOL size", Range::POSITIVE;
    } with {
        /// Where its other numbers come from.
        pub kind: SharedBufferKind,
    }
}

variants! {
    /// Where the other numbers of a shared buffer come from.
    #[derive(Clone, Debug, PartialEq)]
    pub enum SharedBufferKind {
        /// From the keys below, in SAI's words. A priority group is what came in over one link in one class.
        Dynamic = "dynamic" {
            /// Octets that each priority group has to itself.
            reserve: Bytes, "BUFFER_PROFILE size", Range::at_least(0.0), Fallback::Text("0 B");
            /// Part of the free shared octets that a priority group may hold: a power of two from 1/256 to 128. A group
            /// that [[pause]] stops is stopped there, another is discarded there. Left out, no limit.
            pg_alpha: Option<f64>, "dynamic_th", ALPHA;
            /// Part of the free shared octets that an output queue of a class that [[pause]] does not stop may hold:
            /// a power of two from 1/256 to 128. Left out, no limit.
            queue_alpha: Option<f64>, "dynamic_th", ALPHA;
            /// The link's rate that pg_alpha and queue_alpha are for: they double with each doubling of it. Left out,
            /// they are the same at every link.
            alpha_for: Option<BitRate>, "", Range::POSITIVE;
            /// Octets kept for what still comes over a link in one class after it was stopped; left out, what the link
            /// can bring: round trip, reaction and latency at its rate, three frames and the pause frame, in cells where
            /// frames take whole ones.
            headroom: Option<Bytes>, "BUFFER_PROFILE xoff", Range::at_least(0.0);
            /// Octets of headroom that all priority groups draw on, each up to its headroom; left out, each has its own.
            headroom_pool: Option<Bytes>, "BUFFER_POOL xoff", Range::POSITIVE;
            /// A stopped group goes on at this many shared octets, however low its limit.
            xon: Bytes, "BUFFER_PROFILE xon", Range::at_least(0.0), Fallback::Text("0 B");
            /// How far below its limit a stopped group goes on.
            xon_offset: Bytes, "BUFFER_PROFILE xon_offset", Range::at_least(0.0), Fallback::Text("3 KiB");
            /// Frames take whole cells of this size; left out, octets.
            cell: Option<Bytes>, "", Range::between(1.0, 65536.0);
        },
        /// As the switches of HPCC's simulator: 4 KiB for each link into the switch and three times what the link
        /// carries in its delay as headroom; an eighth of what is free for each priority group at the rate of hosts,
        /// twice that for each doubling of it; XON 3 KiB below, and pauses that hold until then.
        HpccSimulator = "hpcc_simulator" {
            /// The rate of hosts; left out, that of the first host's link.
            nic_rate: Option<BitRate>, "", Range::POSITIVE;
        },
    }
}
