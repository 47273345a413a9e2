//! The transport of a traffic entry: TCP connections or RoCE queue pairs.

use super::types::{
    BicProbing, BicStep, CongestionAvoidance, RecoverGuard, Recovery, RttFrom, TcpFlavour, Traffic, TrafficKind,
};
use qcnlab_sim::roce;
use qcnlab_sim::tcp::{self, Config, Flavour};
use qcnlab_units::Bytes;

impl Traffic {
    /// Return the TCP configuration of its connections, if TCP carries its flows. If a frame has no room for payload,
    /// the segment is empty.
    pub(crate) fn connection(&self) -> Option<Config> {
        use TrafficKind::{Tcp, TcpFlows, TcpIncast, TcpList};
        match self.kind {
            Tcp {
                flavour,
                headers,
                ack_frame,
                initial_window,
                max_window,
                initial_rto,
                min_rto,
                max_rto,
                granularity,
                delayed_ack,
                congestion_avoidance,
                recover_guard,
                rtt_from,
                bic_step,
                bic_probing,
                ..
            }
            | TcpFlows {
                flavour,
                headers,
                ack_frame,
                initial_window,
                max_window,
                initial_rto,
                min_rto,
                max_rto,
                granularity,
                delayed_ack,
                congestion_avoidance,
                recover_guard,
                rtt_from,
                bic_step,
                bic_probing,
                ..
            }
            | TcpIncast {
                flavour,
                headers,
                ack_frame,
                initial_window,
                max_window,
                initial_rto,
                min_rto,
                max_rto,
                granularity,
                delayed_ack,
                congestion_avoidance,
                recover_guard,
                rtt_from,
                bic_step,
                bic_probing,
                ..
            }
            | TcpList {
                flavour,
                headers,
                ack_frame,
                initial_window,
                max_window,
                initial_rto,
                min_rto,
                max_rto,
                granularity,
                delayed_ack,
                congestion_avoidance,
                recover_guard,
                rtt_from,
                bic_step,
                bic_probing,
                ..
            } => Some(Config {
                flavour: flavour.into(),
                mss: self.frame.saturating_sub(headers),
                headers,
                ack_frame,
                initial_window,
                max_window,
                initial_rto,
                min_rto,
                max_rto,
                granularity,
                delayed_ack,
                congestion_avoidance: congestion_avoidance.into(),
                recover_guard: recover_guard.into(),
                rtt_from: rtt_from.into(),
                bic_step: bic_step.into(),
                bic_probing: bic_probing.into(),
            }),
            _ => None,
        }
    }
}

impl Traffic {
    /// Return how its queue pairs behave, if RoCE carries its flows. If a frame has no room for payload, the packet is
    /// empty.
    pub(crate) fn queue_pair(&self) -> Option<roce::QpConfig> {
        use TrafficKind::{Collective, Roce, RoceFlows, RoceIncast, RoceList};
        match self.kind {
            Roce {
                recovery,
                headers,
                ack_frame,
                ack_priority,
                ack_every,
                ack_delay,
                nack_interval,
                window_limit,
                rto,
                rto_low,
                rto_low_packets,
                ..
            }
            | RoceFlows {
                recovery,
                headers,
                ack_frame,
                ack_priority,
                ack_every,
                ack_delay,
                nack_interval,
                window_limit,
                rto,
                rto_low,
                rto_low_packets,
                ..
            }
            | RoceIncast {
                recovery,
                headers,
                ack_frame,
                ack_priority,
                ack_every,
                ack_delay,
                nack_interval,
                window_limit,
                rto,
                rto_low,
                rto_low_packets,
                ..
            }
            | RoceList {
                recovery,
                headers,
                ack_frame,
                ack_priority,
                ack_every,
                ack_delay,
                nack_interval,
                window_limit,
                rto,
                rto_low,
                rto_low_packets,
                ..
            }
            | Collective {
                recovery,
                headers,
                ack_frame,
                ack_priority,
                ack_every,
                ack_delay,
                nack_interval,
                window_limit,
                rto,
                rto_low,
                rto_low_packets,
                ..
            } => Some(roce::QpConfig {
                recovery: recovery.into(),
                payload: self.frame.saturating_sub(headers),
                headers,
                ack_frame,
                ack_class: ack_priority.map(|class| class as u8),
                ack_every,
                ack_delay,
                nack_interval,
                window: window_limit,
                rto,
                rto_low,
                rto_low_packets,
            }),
            _ => None,
        }
    }

    /// Return the octets of each frame that are not payload, if a transport carries its flows.
    pub(crate) fn transport_headers(&self) -> Option<Bytes> {
        self.connection().map(|config| config.headers).or_else(|| self.queue_pair().map(|config| config.headers))
    }
}

impl From<Recovery> for roce::QpRecovery {
    fn from(recovery: Recovery) -> roce::QpRecovery {
        match recovery {
            Recovery::GoBackN => roce::QpRecovery::GoBackN,
            Recovery::SelectiveRepeat => roce::QpRecovery::SelectiveRepeat,
        }
    }
}

impl From<TcpFlavour> for Flavour {
    fn from(flavour: TcpFlavour) -> Flavour {
        match flavour {
            TcpFlavour::Reno => Flavour::Reno,
            TcpFlavour::NewReno => Flavour::NewReno,
            TcpFlavour::Cubic => Flavour::Cubic,
            TcpFlavour::Bic => Flavour::Bic,
        }
    }
}

impl From<CongestionAvoidance> for tcp::CongestionAvoidance {
    fn from(growth: CongestionAvoidance) -> tcp::CongestionAvoidance {
        match growth {
            CongestionAvoidance::ByteCounting => tcp::CongestionAvoidance::ByteCounting,
            CongestionAvoidance::PerAck => tcp::CongestionAvoidance::PerAck,
        }
    }
}

impl From<RecoverGuard> for tcp::RecoverGuard {
    fn from(guard: RecoverGuard) -> tcp::RecoverGuard {
        match guard {
            RecoverGuard::ByFlavour => tcp::RecoverGuard::ByFlavour,
            RecoverGuard::Rfc6582 => tcp::RecoverGuard::Rfc6582,
            RecoverGuard::Off => tcp::RecoverGuard::Off,
        }
    }
}

impl From<RttFrom> for tcp::RttFrom {
    fn from(from: RttFrom) -> tcp::RttFrom {
        match from {
            RttFrom::Handover => tcp::RttFrom::Handover,
            RttFrom::Departure => tcp::RttFrom::Departure,
        }
    }
}

impl From<BicStep> for tcp::BicStep {
    fn from(step: BicStep) -> tcp::BicStep {
        match step {
            BicStep::EachAck => tcp::BicStep::EachAck,
            BicStep::EachRound => tcp::BicStep::EachRound,
        }
    }
}

impl From<BicProbing> for tcp::BicProbing {
    fn from(probing: BicProbing) -> tcp::BicProbing {
        match probing {
            BicProbing::Doubling => tcp::BicProbing::Doubling,
            BicProbing::Mirrored => tcp::BicProbing::Mirrored,
        }
    }
}
