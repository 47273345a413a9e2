//! Whole runs of fabrics.

mod alarms;
mod backpressure;
mod captures;
mod circles;
mod discards;
mod domain;
mod draining;
mod early_drops;
mod events;
mod failures;
mod headroom;
mod held_back;
mod isolation;
mod listener;
mod lost;
#[path = "../net/mod.rs"]
mod net;
mod pauses;
mod sharing;
mod shortcuts;
mod steps;
mod storms;
mod telemetry;
mod told;
mod trimming;
mod weights;

use net::Net;
use qcnlab_units::{BitRate, Span};

const TEN: BitRate = BitRate::gbps(10);

/// Two hosts that send to a third through one switch.
fn two_to_one(delay: Span) -> Net {
    let mut net = Net::new(&["a", "b", "c", "s"]);
    for host in ["a", "b", "c"] {
        net.link(host, "s", TEN, delay);
    }
    net
}
