//! The TCP configuration of a traffic entry.

use super::types::{TcpFlavour, Traffic, TrafficKind};
use qcnlab_sim::tcp::{Config, Flavour};

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
            }),
            _ => None,
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
