//! The reaction point: the target delay, and the window that it sets.

use super::SwiftRpParams;
use crate::dice::Dice;
use crate::fast_path::RpFastPath;
use crate::roles::{
    AddedHeaders, Endpoint, EventKinds, Flight, Gauge, LossSign, ReactionPoint, RpCapabilities, Signal, Stamp,
    TransportEvent,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// The reaction point.
#[derive(Clone, Debug)]
pub struct SwiftRp {
    params: SwiftRpParams,
    endpoint: Endpoint,
    /// W, packets.
    pub(super) window: f64,
    /// The last round-trip time; before the first, the base one.
    rtt: Span,
    /// The smoothed delay, ps; `None` before the first.
    delay: Option<f64>,
    /// When the window was cut last; `None` if it never was.
    cut_at: Option<Instant>,
    /// Timeouts since something was acknowledged.
    timeouts: u32,
}

impl SwiftRp {
    pub(super) fn new(mut params: SwiftRpParams, endpoint: Endpoint) -> SwiftRp {
        params.max_window = params.max_window.max(params.min_window);
        SwiftRp {
            params,
            endpoint,
            window: params.first_window.clamp(params.min_window, params.max_window),
            rtt: endpoint.base_rtt,
            delay: None,
            cut_at: None,
            timeouts: 0,
        }
    }

    /// Returns the target delay at the window, ps.
    pub(super) fn target(&self) -> f64 {
        let SwiftRpParams { base_delay, per_hop, fs_max, fs_least, fs_most, .. } = self.params;
        let share = |window: f64| window.sqrt().recip();
        let scaling = if fs_least < fs_most {
            (share(self.window) - share(fs_most)) / (share(fs_least) - share(fs_most))
        } else {
            f64::from(u8::from(self.window < fs_most))
        };
        let topology = per_hop.ps() as f64 * f64::from(self.endpoint.hops);
        base_delay.ps() as f64 + topology + fs_max.ps() as f64 * scaling.clamp(0.0, 1.0)
    }

    fn on_ack(&mut self, now: Instant, rtt: Span, packets: u32) {
        self.rtt = rtt;
        let kept = self.params.delay_kept;
        let measured = rtt.ps() as f64;
        let delay = self.delay.map_or(measured, |before| kept * before + (1.0 - kept) * measured);
        self.delay = Some(delay);
        let target = self.target();
        if delay < target {
            let more = self.params.ai * f64::from(packets);
            self.set(self.window + more / self.window.max(1.0));
        } else if self.may_cut(now) {
            self.cut(now, (self.params.mdf * (delay - target) / delay).min(self.params.max_mdf));
        }
    }

    /// Whether a round trip has passed since the last cut.
    fn may_cut(&self, now: Instant) -> bool {
        self.cut_at.is_none_or(|at| now.since(at) >= self.rtt)
    }

    fn cut(&mut self, now: Instant, share: f64) {
        self.cut_at = Some(now);
        self.set(self.window * (1.0 - share));
    }

    fn set(&mut self, window: f64) {
        self.window = window.clamp(self.params.min_window, self.params.max_window);
    }

    fn on_timeout(&mut self, now: Instant) {
        self.timeouts = self.timeouts.saturating_add(1);
        if !self.may_cut(now) {
            return;
        }
        if self.timeouts >= self.params.retransmit_limit {
            self.cut(now, 1.0);
        } else if self.timeouts == 1 {
            self.cut(now, self.params.max_mdf);
        }
    }
}

impl ReactionPoint for SwiftRp {
    fn capabilities(&self) -> RpCapabilities {
        RpCapabilities {
            limits: false,
            events: EventKinds::ARRIVALS_AND_LOSSES,
            permits_windows: true,
            ..RpCapabilities::LIMITER
        }
    }

    #[inline]
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }

    fn on_signal(&mut self, _: Instant, _: &Signal, _: &mut Dice) {}

    fn on_transport(&mut self, now: Instant, event: &TransportEvent<'_>, _: &Flight, _: &mut Dice) {
        match event {
            TransportEvent::Acknowledged(ack) => {
                if ack.newly > Bytes::ZERO {
                    self.timeouts = 0;
                }
                self.on_ack(now, now.since(ack.sent_at), ack.packets);
            }
            TransportEvent::NegativelyAcknowledged | TransportEvent::Lost(LossSign::Gap) if self.may_cut(now) => {
                self.cut(now, self.params.max_mdf);
            }
            TransportEvent::Lost(LossSign::Timeout) => self.on_timeout(now),
            _ => {}
        }
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        None
    }

    /// Whole packets, one at least.
    #[inline]
    fn window(&self) -> Option<Bytes> {
        Some(Bytes::new((self.window as u64).max(1) * self.endpoint.mtu.get()))
    }

    #[inline]
    fn gap(&self) -> Span {
        if self.window >= 1.0 {
            return Span::ZERO;
        }
        Span::from_ps((self.rtt.ps() as f64 / self.window) as u64)
    }

    fn added_headers(&self) -> AddedHeaders {
        AddedHeaders { data: self.params.header, acknowledgement: self.params.ack_header }
    }

    /// What the window sends in the last round trip, at most the line rate.
    fn gauge(&self) -> Gauge {
        let line_rate = self.endpoint.line_rate;
        let sent = self.window * self.endpoint.mtu.as_f64() * 8.0e12;
        let rate = (sent / (self.rtt.ps() as f64).max(1.0)).min(line_rate.as_f64());
        Gauge::at(BitRate::bps(rate as u64))
    }
}

impl RpFastPath for SwiftRp {
    #[inline]
    fn count_only(&mut self, _: Bytes, _: Bytes) -> bool {
        true
    }

    fn on_sent_may_be_late(&self) -> bool {
        true
    }
}
