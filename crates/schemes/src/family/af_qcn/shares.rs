//! How fast each flow arrives at a port, against its share by weight.

use crate::roles::FlowId;
use qcnlab_units::{Bytes, Instant, Span};

/// A flow that arrives slower than this counts as gone, octets each interval.
const GONE: f64 = 1.0;

/// Arrival rates of the flows of one port, as exponential averages over intervals.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    interval: Span,
    gain: f64,
    /// The first so many flows weigh `weight`, all others 1.
    weighted_flows: u32,
    weight: f64,
    interval_end: Instant,
    flows: Vec<Flow>,
    /// Sum of the rates, octets each interval.
    rates: f64,
    /// Sum of the weights of the flows that have a rate.
    weights: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// Octets in this interval.
    arrived: u64,
    /// Octets each interval, averaged.
    rate: f64,
}

impl Shares {
    /// Nothing measured yet; the first interval starts at time zero.
    pub(super) const fn new(interval: Span, gain: f64, weighted_flows: u32, weight: f64) -> Shares {
        Shares {
            interval,
            gain,
            weighted_flows,
            weight,
            interval_end: Instant::from_ps(interval.ps()),
            flows: Vec::new(),
            rates: 0.0,
            weights: 0.0,
        }
    }

    /// A frame of `flow` arrives, whether the queue takes it or not.
    #[inline]
    pub(super) fn on_arrival(&mut self, now: Instant, flow: FlowId, size: Bytes) {
        if now >= self.interval_end {
            self.end_intervals(now);
        }
        let index = flow.0 as usize;
        if index >= self.flows.len() {
            self.flows.resize(index + 1, Flow::default());
        }
        self.flows[index].arrived += size.get();
    }

    /// Takes the counted octets into the averages; intervals in which nothing came count as zero.
    fn end_intervals(&mut self, now: Instant) {
        let silent = now.since(self.interval_end).ps() / self.interval.ps();
        self.interval_end += Span::from_ps((silent + 1) * self.interval.ps());
        let kept = power(1.0 - self.gain, silent);
        (self.rates, self.weights) = (0.0, 0.0);
        for (index, flow) in self.flows.iter_mut().enumerate() {
            flow.rate = (flow.rate + self.gain * (flow.arrived as f64 - flow.rate)) * kept;
            flow.arrived = 0;
            if flow.rate < GONE {
                flow.rate = 0.0;
                continue;
            }
            self.rates += flow.rate;
            self.weights += if index < self.weighted_flows as usize { self.weight } else { 1.0 };
        }
    }

    /// The part of a flow's rate that is above its fair share: 0 at or below it, and while it has no rate.
    pub(super) fn excess(&self, flow: FlowId) -> f64 {
        let rate = self.flows.get(flow.0 as usize).map_or(0.0, |flow| flow.rate);
        if rate == 0.0 {
            return 0.0;
        }
        let weight = if flow.0 < self.weighted_flows { self.weight } else { 1.0 };
        let fair = weight / self.weights * self.rates;
        (1.0 - fair / rate).max(0.0)
    }
}

/// `base` to the `n`, by multiplications alone, so that every machine gets the same.
fn power(mut base: f64, mut n: u64) -> f64 {
    let mut product = 1.0;
    while n > 0 {
        if n % 2 == 1 {
            product *= base;
        }
        base *= base;
        n /= 2;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: FlowId = FlowId(0);
    const SECOND: FlowId = FlowId(1);

    fn at(ns: u64) -> Instant {
        Instant::ZERO + Span::from_ns(ns)
    }

    /// Intervals of 1 us, half of each counts; `octets` of two flows arrive in the first, of which the first weighs 3.
    fn shares(octets: [u64; 2]) -> Shares {
        let mut shares = Shares::new(Span::from_us(1), 0.5, 1, 3.0);
        for (flow, octets) in [FIRST, SECOND].into_iter().zip(octets) {
            shares.on_arrival(at(999), flow, Bytes::new(octets));
        }
        shares
    }

    #[test]
    fn powers_are_products() {
        let products = [1.0, 0.75, 0.5625, 0.421_875, 0.316_406_25, 0.237_304_687_5];
        for (n, product) in products.into_iter().enumerate() {
            assert_eq!(power(0.75, n as u64), product, "to the {n}");
        }
    }

    /// 1000 octets each are 500 each on average. Of the 1000 the first may have 750 and the second 250: it is half above.
    #[test]
    fn a_share_is_by_weight() {
        let mut shares = shares([1000, 1000]);
        assert_eq!((shares.excess(FIRST), shares.excess(SECOND)), (0.0, 0.0), "the interval is not over");
        shares.on_arrival(at(1000), FIRST, Bytes::ZERO);
        assert_eq!((shares.excess(FIRST), shares.excess(SECOND)), (0.0, 0.5));
        assert_eq!(shares.excess(FlowId(7)), 0.0, "a flow that never came");
    }

    /// 500 octets an interval; two intervals in which nothing came leave a quarter. The next ends at 4 us.
    #[test]
    fn intervals_in_which_nothing_came_count_as_zero() {
        let mut shares = shares([1000, 0]);
        shares.on_arrival(at(3500), FIRST, Bytes::ZERO);
        assert_eq!((shares.flows[0].rate, shares.interval_end), (125.0, at(4000)));
    }

    /// 2 octets are 1 on average, and such a flow has a part in what is shared: 1000 octets are 500 of 501, of which a quarter
    /// is 125.25. One octet is a half, and the flow is gone: then all is the second's.
    #[test]
    fn a_flow_below_an_octet_is_gone() {
        for (octets, excess) in [(2, 1.0 - 125.25 / 500.0), (1, 0.0)] {
            let mut shares = shares([octets, 1000]);
            shares.on_arrival(at(1000), FIRST, Bytes::ZERO);
            assert_eq!(shares.excess(SECOND), excess, "{octets} octets");
        }
    }
}
