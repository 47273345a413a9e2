//! The live data plane: a scenario on real frames, on Linux.
//!
//! Hosts are network namespaces with the kernel's own stack and a TAP interface. Behind each TAP an [`adapter`] limits
//! rates; behind a veth pair all switches run in one event loop. Reaction points, congestion points, limiters, pacers
//! and the state of pauses are those that the simulator drives; frames are those of `qcnlab-wire`.
//!
//! ```text
//! namespace of a host:  application - TCP, UDP - tap0 - adapter - wire ==== p0 - switches :namespace of the switches
//! ```
//!
//! * [`layout`]: what is built of a plan. [`network`]: namespaces and links, by [`netlink`]. [`sys`]: calls of Linux.
//! * [`defence`]: how ports defend a congestion notification domain, by LLDP.
//! * [`head`], [`signals`]: what is read of frames, and signals as frames.
//! * [`port`], [`inputs`], [`congestion`], [`switch`], [`adapter`]: the data plane, told the time and handed frames.
//! * [`limiters`]: a host's reaction points with their pacers. [`shaper`]: the kernel's HTB in the pacers' place.
//! * [`loops`]: the event loops that drive it, by [`clock`]. [`datagrams`], [`streams`]: own traffic. [`iperf`]: another maker's.
//! * [`record`], [`health`], [`gate`]: what a run records, what it measures of itself, and whether that will do.
//!   [`spacing`]: how far apart frames leave their limiters.
//! * [`stalls`]: where the machine stands still. [`forwarders`]: what the switch costs, beside the kernel's bridge.
//! * [`intruder`]: a host that was taken over, for tests and fuzzing.
//! * [`names`], [`view`]: names for the namespaces of a network that stands, and what it shows of itself.
//! * [`session`]: a run from its scenario and its [`options`] to its [`outcome`], on [`threads`].
//!   [`doctor`]: what this machine can do.
//!
//! Nothing of the machine is touched: namespaces go with the process, and have names only where a network is to stand.
#![cfg(target_os = "linux")]

mod adapter;
mod captures;
mod clock;
mod congestion;
mod datagrams;
mod defence;
mod doctor;
mod error;
mod forwarders;
mod gate;
mod head;
mod health;
#[cfg(test)]
mod hostile;
mod inputs;
mod intruder;
mod iperf;
#[cfg(test)]
mod late;
mod layout;
mod limiters;
mod loops;
mod names;
mod netlink;
mod network;
mod options;
mod outcome;
mod port;
mod record;
mod session;
mod shaper;
mod signals;
mod spacing;
mod stalls;
mod streams;
mod switch;
mod sys;
mod threads;
mod view;

pub use captures::write_capture;
pub use defence::DefenceEnd;
pub use doctor::{Finding, examine, findings_json};
pub use error::{LiveError, Unsupported};
pub use forwarders::{Forwarder, ForwarderMeasurement, measure_forwarder};
pub use gate::{INVALID, LIMITS, Limits, Timing};
pub use intruder::{Intruder, IntruderEnd};
pub use iperf::IperfEnd;
pub use options::{LiveOptions, TrafficSource};
pub use outcome::LiveRun;
pub use record::Refused;
pub use session::{Standing, prepare_process, run, slowed, stand};
pub use shaper::{KernelLimit, LimiterKind};
pub use stalls::{CyclicThread, Stall, measure_stalls};
pub use streams::StreamEnd;
pub use sys::SysError;
pub use view::View;
