//! The reaction point: the window, what it gains, and quick adapt.

use super::NsccRpParams;
use crate::dice::Dice;
use crate::fast_path::RpFastPath;
use crate::roles::{
    AddedHeaders, Endpoint, EventKind, EventKinds, Flight, Gauge, ReactionPoint, RpCapabilities, Signal, Stamp,
    TransportEvent,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// The bandwidth-delay product that numbers of packets are for: 100 Gb/s for 12 us, octets.
const REFERENCE_BDP: f64 = 150_000.0;
/// The round-trip time that it has, ps.
const REFERENCE_RTT: f64 = 12e6;
/// What a late packet without a mark counts as in the mean delay, smallest round-trip times.
const UNMARKED: f64 = 0.25;

/// The reaction point.
#[derive(Clone, Debug)]
pub struct NsccRp {
    params: NsccRpParams,
    endpoint: Endpoint,
    /// What numbers of packets stand for in this network.
    pub(super) scaled: Scaled,
    /// W, octets.
    pub(super) window: f64,
    /// The smallest round-trip time so far; before the first, that of the path.
    base_rtt: Span,
    /// The last one.
    rtt: Span,
    /// The mean queueing delay, ps.
    pub(super) mean_delay: f64,
    /// Octets that have arrived.
    arrived: Bytes,
    /// Of them, those beyond a hole.
    early: Bytes,
    /// What the window gains when it is adjusted, octets times octets.
    gain: f64,
    /// Octets that have arrived since it was.
    since_adjusted: f64,
    adjusted_at: Option<Instant>,
    /// Octets in a row that met no delay.
    undelayed: f64,
    /// Whether the window grows by them.
    grows_fast: bool,
    cut_at: Option<Instant>,
    /// When an acknowledgement last said that something is missing, and that counted.
    missed_at: Option<Instant>,
    quick: QuickAdapt,
}

/// What packets stand for in a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scaled {
    /// The target delay, ps.
    pub(super) target: f64,
    /// Octets for each octet and picosecond below the target.
    pub(super) alpha: f64,
    /// Octets for each octet.
    pub(super) fi: f64,
    pub(super) eta: f64,
    pub(super) fi_scale: f64,
    /// The network's round-trip time.
    pub(super) rtt: Span,
}

/// Whether hardly anything arrives.
#[derive(Clone, Copy, Debug, Default)]
struct QuickAdapt {
    /// When what has arrived is judged.
    ends: Option<Instant>,
    /// Octets that arrived since this began.
    achieved: f64,
    /// Whether something was lost since it acted.
    lost: bool,
    /// Octets that were in flight when it acted, and that arrived or were lost since then.
    ignores: f64,
    ignored: f64,
}

impl NsccRp {
    pub(super) fn new(params: NsccRpParams, endpoint: Endpoint) -> NsccRp {
        let rtt = endpoint.with_base_rtt(params.network_rtt, params.network_rtt_of).base_rtt.max(Span::from_ps(1));
        let mtu = endpoint.mtu.as_f64();
        let share = endpoint.line_rate.bytes_in_rounded_down(rtt).as_f64() / REFERENCE_BDP;
        let target = params.target * rtt.ps() as f64;
        let scaled = Scaled {
            target,
            alpha: params.alpha * mtu * share / REFERENCE_RTT,
            fi: params.fi * mtu * share,
            eta: params.eta * mtu * share,
            fi_scale: params.fi_scale * share,
            rtt,
        };
        let mut rp = NsccRp {
            params,
            endpoint,
            scaled,
            window: 0.0,
            base_rtt: endpoint.base_rtt,
            rtt: endpoint.base_rtt,
            mean_delay: 0.0,
            arrived: Bytes::ZERO,
            early: Bytes::ZERO,
            gain: 0.0,
            since_adjusted: 0.0,
            adjusted_at: None,
            undelayed: 0.0,
            grows_fast: false,
            cut_at: None,
            missed_at: None,
            quick: QuickAdapt::default(),
        };
        rp.window = rp.most();
        rp
    }

    /// The largest window.
    pub(super) fn most(&self) -> f64 {
        let bdp = self.endpoint.line_rate.bytes_in_rounded_down(self.base_rtt).as_f64();
        (self.params.max_window * bdp).max(self.least())
    }

    /// The least window: a packet.
    fn least(&self) -> f64 {
        self.endpoint.mtu.as_f64()
    }

    fn bound(&mut self) {
        self.window = self.window.clamp(self.least(), self.most());
    }

    /// Takes a delay into the mean. One without a mark and beyond the target does not say how long queues are that mark.
    fn average(&mut self, delay: f64, marked: bool) {
        let sample = if !marked && delay > self.scaled.target { UNMARKED * self.base_rtt.ps() as f64 } else { delay };
        self.mean_delay += self.params.delay_share * (sample - self.mean_delay);
    }

    fn on_ack(&mut self, now: Instant, rtt: Span, octets: f64, marked: bool, flight: &Flight) {
        self.base_rtt = self.base_rtt.min(rtt);
        self.rtt = rtt;
        let delay = (rtt.ps() - self.base_rtt.ps()) as f64;
        self.average(delay, marked);
        self.since_adjusted += octets;
        self.quick.achieved += octets;
        self.quick.ignored += octets;
        if self.quick_adapt(now, delay, marked, flight) {
            return;
        }
        match (marked, delay < self.scaled.target) {
            (false, false) => self.gain += self.scaled.fi * octets,
            (false, true) => self.increase(delay, octets),
            (true, false) => self.decrease(now),
            (true, true) => {}
        }
        self.bound();
        self.adjust(now);
    }

    /// Grows by what arrived in time.
    fn increase(&mut self, delay: f64, octets: f64) {
        if delay < self.params.no_delay.ps() as f64 {
            self.undelayed += octets;
            if self.grows_fast || self.undelayed > self.window {
                self.grows_fast = true;
                self.window += self.scaled.fi_scale * octets;
                return;
            }
        } else {
            self.undelayed = 0.0;
        }
        self.grows_fast = false;
        self.gain += self.scaled.alpha * octets * (self.scaled.target - delay);
    }

    /// Cuts by the mean delay, once a base round trip.
    fn decrease(&mut self, now: Instant) {
        self.undelayed = 0.0;
        self.grows_fast = false;
        let (mean, target) = (self.mean_delay, self.scaled.target);
        let may = self.cut_at.is_none_or(|at| now.since(at) > self.base_rtt);
        if mean > target && may {
            self.window *= (1.0 - self.params.gamma * (mean - target) / mean).max(self.params.max_md);
            self.cut_at = Some(now);
        }
    }

    /// Adds what was gained, if it is time.
    fn adjust(&mut self, now: Instant) {
        let since = self.adjusted_at.map(|at| now.since(at));
        let packets = self.params.adjust_packets * self.endpoint.mtu.as_f64();
        if self.since_adjusted > packets || since.is_none_or(|since| since > self.scaled.rtt) {
            self.window += self.gain / self.window;
            if since.is_none_or(|since| since >= self.scaled.rtt) {
                self.window += self.scaled.eta;
                self.adjusted_at = Some(now);
            }
            self.start_gaining();
        }
        self.bound();
    }

    fn start_gaining(&mut self) {
        self.gain = 0.0;
        self.since_adjusted = 0.0;
    }

    /// Quick adapt; returns whether it acts, or has acted on what this is about.
    fn quick_adapt(&mut self, now: Instant, delay: f64, suspect: bool, flight: &Flight) -> bool {
        let most = self.most();
        let QuickAdapt { ends, achieved, lost, ignores, ignored } = self.quick;
        let mut acts = false;
        if ignored < ignores && suspect {
            acts = true;
        } else if ends.is_none_or(|ends| now > ends) {
            let late = delay > self.params.qa_threshold * self.scaled.target;
            let little = achieved < most / (1u64 << self.params.qa_gate) as f64;
            if ends.is_some() && (lost || late) && little {
                self.window = achieved;
                self.bound();
                self.quick.ignores = flight.in_flight.saturating_sub(flight.early).as_f64();
                self.quick.ignored = 0.0;
                self.quick.lost = false;
                acts = true;
            }
            self.quick.achieved = 0.0;
            self.quick.ends = Some(now + self.base_rtt + Span::from_ps(self.scaled.target as u64));
        }
        if acts {
            self.start_gaining();
        }
        acts
    }

    /// So many octets were cut off a packet, or lost.
    fn on_loss(&mut self, now: Instant, octets: f64, cut: bool, flight: &Flight) {
        self.quick.ignored += octets;
        if cut {
            // A packet is cut where the queue is as long as a round trip of the network.
            self.average(self.scaled.rtt.ps() as f64, true);
        }
        self.quick.lost = true;
        if !self.quick_adapt(now, 0.0, true, flight) {
            self.window -= octets;
            self.bound();
        }
    }

    /// Whether an acknowledgement that something is missing says more than the last one. Each packet beyond a hole is answered
    /// so: one in a base round trip counts.
    fn says_more(&mut self, now: Instant) -> bool {
        let more = self.missed_at.is_none_or(|at| now.since(at) > self.base_rtt);
        if more {
            self.missed_at = Some(now);
        }
        more
    }

    /// Takes over where the stream stands; returns the octets that have arrived since it did.
    pub(super) fn arrivals(&mut self, flight: &Flight) -> f64 {
        let arrived = flight.acknowledged + flight.early;
        let newly = arrived.saturating_sub(self.arrived);
        self.arrived = arrived.max(self.arrived);
        self.early = flight.early;
        newly.as_f64()
    }
}

impl ReactionPoint for NsccRp {
    fn capabilities(&self) -> RpCapabilities {
        RpCapabilities {
            limits: false,
            events: EventKinds::ARRIVALS_AND_LOSSES.with(EventKind::Trim),
            permits_windows: true,
            ..RpCapabilities::LIMITER
        }
    }

    #[inline]
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }

    fn on_signal(&mut self, _: Instant, _: &Signal, _: &mut Dice) {}

    fn on_transport(&mut self, now: Instant, event: &TransportEvent<'_>, flight: &Flight, _: &mut Dice) {
        match event {
            TransportEvent::Acknowledged(ack) => {
                let octets = self.arrivals(flight);
                self.on_ack(now, now.since(ack.sent_at), octets, ack.marked > 0, flight);
            }
            TransportEvent::Trimmed(octets) => {
                self.arrivals(flight);
                self.on_loss(now, octets.as_f64(), true, flight);
            }
            TransportEvent::Lost(_) => self.on_loss(now, self.least(), false, flight),
            TransportEvent::NegativelyAcknowledged if self.says_more(now) => {
                self.on_loss(now, self.least(), false, flight);
            }
            _ => {}
        }
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        None
    }

    /// A packet may go if it fits into the window. What arrived beyond a hole is not in flight.
    #[inline]
    fn window(&self) -> Option<Bytes> {
        Some(Bytes::new((self.window - self.least()) as u64 + 1) + self.early)
    }

    fn added_headers(&self) -> AddedHeaders {
        AddedHeaders { data: self.params.header, acknowledgement: self.params.ack_header }
    }

    /// What the window sends in the last round trip, at most the line rate.
    fn gauge(&self) -> Gauge {
        let sent = self.window * 8.0e12 / (self.rtt.ps() as f64).max(1.0);
        Gauge::at(BitRate::bps(sent.min(self.endpoint.line_rate.as_f64()) as u64))
    }
}

impl RpFastPath for NsccRp {
    #[inline]
    fn count_only(&mut self, _: Bytes, _: Bytes) -> bool {
        true
    }

    fn on_sent_may_be_late(&self) -> bool {
        true
    }
}
