//! How a scenario is run live.

use crate::intruder::Intruder;
use crate::shaper::LimiterKind;

/// Who makes the traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrafficSource {
    /// The senders of the data plane, as the scenario says.
    #[default]
    Own,
    /// iperf3, which is to be installed: TCP, constant and saturated flows.
    Iperf3,
    /// Nobody: the network stands, for programs of the user's.
    None,
}

/// How a scenario is run live.
#[derive(Clone, Debug)]
pub struct LiveOptions {
    /// By how much the run is slower than the scenario says: times are longer and rates smaller by this.
    pub scale: u32,
    /// Who makes the traffic.
    pub traffic: TrafficSource,
    /// Who paces frames at the rates that reaction points say.
    pub limiter: LimiterKind,
    /// Octets of each frame that a capture keeps; 0 for no capture.
    pub snap: usize,
    /// Seed; the scenario's own if `None`.
    pub seed: Option<u64>,
    /// A host that was taken over; `None` for none.
    pub intruder: Option<Intruder>,
    /// Whether threads ask for real-time scheduling. Without it a run on a busy machine is INVALID TIMING.
    pub real_time: bool,
}

impl Default for LiveOptions {
    fn default() -> LiveOptions {
        LiveOptions {
            scale: 100,
            traffic: TrafficSource::Own,
            limiter: LimiterKind::Adapter,
            snap: 0,
            seed: None,
            intruder: None,
            real_time: true,
        }
    }
}
