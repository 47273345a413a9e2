//! A window beside a rate: octets in flight are bounded, too.

use crate::choice;
use crate::roles::Endpoint;
use qcnlab_units::{BitRate, Bytes, Span};

choice! {
    /// How many octets a sender with a rate may have in flight.
    pub enum WindowRule {
        /// Any number.
        Open = "none",
        /// What the line rate sends in a base round-trip time.
        Fixed = "fixed",
        /// What the current rate sends in a base round-trip time.
        Scaled = "scaled",
    }
}

choice! {
    /// Which base round-trip time a sender reckons with, where none is given.
    pub enum BaseRttOf {
        /// That of the flow's own path.
        Path = "path",
        /// That of the longest way between two hosts of the network, for all flows.
        Network = "network",
    }
}

impl Endpoint {
    /// Returns what the reaction point knows, with the base round-trip time that it reckons with.
    pub fn with_base_rtt(mut self, set: Option<Span>, of: BaseRttOf) -> Endpoint {
        self.base_rtt = set.unwrap_or(match of {
            BaseRttOf::Path => self.base_rtt,
            BaseRttOf::Network => self.longest_rtt,
        });
        self
    }
}

impl WindowRule {
    /// Returns the window at `rate`; an octet at least.
    pub fn window(self, endpoint: &Endpoint, rate: BitRate) -> Option<Bytes> {
        match self {
            WindowRule::Open => None,
            WindowRule::Fixed => Some(endpoint.bdp()),
            WindowRule::Scaled => {
                let share = rate.as_f64() / endpoint.line_rate.as_f64();
                Some(Bytes::new(((endpoint.bdp().as_f64() * share) as u64).max(1)))
            }
        }
    }
}

/// Returns a step that is meant for hosts of `line_rate`, scaled to a host of another; unscaled if that is not set.
pub fn step_at(step: BitRate, meant_for: Option<BitRate>, line_rate: BitRate) -> BitRate {
    match meant_for {
        Some(rate) if rate != line_rate => step.scaled_rounded_down(line_rate.as_f64() / rate.as_f64()),
        _ => step,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 Gb/s for 8.4 us are 105 000 octets; at 25 Gb/s a quarter of it.
    #[test]
    fn a_window_follows_the_rate_or_does_not() {
        let endpoint = Endpoint {
            line_rate: BitRate::gbps(100),
            base_rtt: Span::from_ns(8_400),
            longest_rtt: Span::from_ns(8_400),
            mtu: Bytes::new(1000),
            hops: 1,
        };
        let at = |rule: WindowRule, gbps| rule.window(&endpoint, BitRate::gbps(gbps)).map(Bytes::get);
        assert_eq!(at(WindowRule::Open, 25), None);
        assert_eq!((at(WindowRule::Fixed, 25), at(WindowRule::Fixed, 100)), (Some(105_000), Some(105_000)));
        assert_eq!((at(WindowRule::Scaled, 25), at(WindowRule::Scaled, 100)), (Some(26_250), Some(105_000)));
        assert_eq!(WindowRule::Scaled.window(&endpoint, BitRate::bps(1)), Some(Bytes::new(1)));
    }

    #[test]
    fn the_base_round_trip_time_is_the_paths_or_the_networks_or_the_one_given() {
        let (own, longest, other) = (Span::from_us(4), Span::from_us(10), Span::from_us(7));
        let endpoint = Endpoint { base_rtt: own, longest_rtt: longest, ..BitRate::gbps(100).into() };
        let seen = |set, of| endpoint.with_base_rtt(set, of).base_rtt;
        assert_eq!([seen(None, BaseRttOf::Path), seen(None, BaseRttOf::Network)], [own, longest]);
        assert_eq!([BaseRttOf::Path, BaseRttOf::Network].map(|of| seen(Some(other), of)), [other; 2]);
    }

    /// 20 Mb/s for 100 Gb/s are 5 Mb/s at 25.
    #[test]
    fn a_step_scales_with_the_host() {
        let (step, meant) = (BitRate::mbps(20), Some(BitRate::gbps(100)));
        assert_eq!(step_at(step, meant, BitRate::gbps(25)), BitRate::mbps(5));
        assert_eq!(step_at(step, meant, BitRate::gbps(100)), step);
        assert_eq!(step_at(step, None, BitRate::gbps(25)), step);
    }
}
