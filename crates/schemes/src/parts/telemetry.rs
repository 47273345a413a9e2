//! Telemetry: what ports write on packets that leave (INT), and what a sender keeps of it.

use crate::dice::Dice;
use crate::fast_path::CpFastPath;
use crate::params;
use crate::params::Range;
use crate::roles::{
    Acknowledgement, Arrival, CongestionPoint, CpAction, CpCapabilities, HopTelemetry, MOST_HOPS, Queue,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

params! {
    /// Parameters of a congestion point that writes telemetry: how fine it is. Values are rounded down to whole units.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct TelemetryParams {
        /// Unit of the octets sent.
        sent_unit: Bytes, "128 B * INT_MULTI", Range::at_least(1.0);
        /// Unit of the queue length.
        queue_unit: Bytes, "80 B * INT_MULTI", Range::at_least(1.0);
        /// Unit of time.
        time_unit: Span, "", Range::at_least(1.0);
    }
}

impl TelemetryParams {
    /// Whole octets and nanoseconds.
    pub const EXACT: TelemetryParams =
        TelemetryParams { sent_unit: Bytes::new(1), queue_unit: Bytes::new(1), time_unit: Span::from_ns(1) };
}

/// A congestion point that writes telemetry on packets that leave, and does nothing else.
#[derive(Clone, Debug)]
pub struct TelemetryCp {
    params: TelemetryParams,
}

impl TelemetryCp {
    /// A congestion point that writes in these units.
    pub const fn new(params: TelemetryParams) -> TelemetryCp {
        TelemetryCp { params }
    }
}

impl CongestionPoint for TelemetryCp {
    fn capabilities(&self) -> CpCapabilities {
        CpCapabilities { stamps_departures: true, ..CpCapabilities::ARRIVALS_ONLY }
    }

    #[inline]
    fn on_arrival(&mut self, _: Instant, _: &Arrival, _: Queue, _: &mut Dice) -> CpAction {
        CpAction::Nothing
    }

    #[inline]
    fn departure_stamp(&mut self, now: Instant, sent: Bytes, queue: Queue) -> HopTelemetry {
        let TelemetryParams { sent_unit, queue_unit, time_unit } = self.params;
        HopTelemetry {
            left_at: Instant::from_ps(whole(now.ps(), time_unit.ps())),
            sent: Bytes::new(whole(sent.get(), sent_unit.get())),
            queue: Bytes::new(whole(queue.len.get(), queue_unit.get())),
            rate: queue.rate,
        }
    }
}

/// Rounds down to whole units.
#[inline]
const fn whole(value: u64, unit: u64) -> u64 {
    if unit <= 1 { value } else { value - value % unit }
}

impl CpFastPath for TelemetryCp {
    fn ignores_arrivals(&self) -> bool {
        true
    }
}

/// The telemetry of a flow's last acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct LastTelemetry {
    path: u32,
    len: u8,
    hops: [HopTelemetry; MOST_HOPS],
}

/// What one hop told in two acknowledgements.
#[derive(Clone, Copy, Debug)]
pub struct HopChange<'a> {
    /// The earlier one.
    pub before: &'a HopTelemetry,
    /// The later one.
    pub now: &'a HopTelemetry,
    /// Time between them, ps; more than 0.
    pub time: f64,
}

impl HopChange<'_> {
    /// Octets that the hop's link carries in `ps` picoseconds.
    pub fn carries(&self, ps: f64) -> f64 {
        self.now.rate.as_f64() / 8.0e12 * ps
    }

    /// Octets that the hop sent between them.
    pub fn sent(&self) -> f64 {
        self.now.sent.saturating_sub(self.before.sent).as_f64()
    }
}

impl LastTelemetry {
    /// Of a flow that nothing was acknowledged of yet.
    pub const NONE: LastTelemetry = LastTelemetry {
        path: u32::MAX,
        len: 0,
        hops: [HopTelemetry { left_at: Instant::ZERO, sent: Bytes::ZERO, queue: Bytes::ZERO, rate: BitRate::ZERO };
            MOST_HOPS],
    };

    /// Returns the hops that `ack` tells something new of; none if its packet took another path than the last one.
    #[inline]
    pub fn changes<'a>(&'a self, ack: &Acknowledgement<'a>) -> impl Iterator<Item = HopChange<'a>> + use<'a> {
        let known = self.path == ack.path && usize::from(self.len) == ack.hops.len();
        let hops = if known { ack.hops } else { &[] };
        self.hops.iter().zip(hops).filter_map(|(before, now)| {
            let time = now.left_at.since(before.left_at).ps() as f64;
            (time > 0.0).then_some(HopChange { before, now, time })
        })
    }

    /// Keeps what `ack` tells.
    #[inline]
    pub fn keep(&mut self, ack: &Acknowledgement<'_>) {
        self.path = ack.path;
        self.len = ack.hops.len().min(MOST_HOPS) as u8;
        // Hop by hop: there are few, and a copy of unknown length is a call.
        for (at, hop) in ack.hops.iter().enumerate().take(MOST_HOPS) {
            self.hops[at] = *hop;
        }
    }
}
