//! What flows got in a window of time, and the metrics of it.

/// Octets of some flows in a window.
#[derive(Clone, Debug)]
pub(super) struct FlowOctets {
    /// Octets of each flow.
    pub(super) octets: Vec<f64>,
    /// Length of the window, s.
    pub(super) seconds: f64,
}

impl FlowOctets {
    /// Mean rate of each flow, Gb/s; `None` in a window without length.
    pub(super) fn rates_gbps(&self) -> Option<Vec<f64>> {
        let rate = |octets: &f64| octets * 8e-9 / self.seconds;
        (self.seconds > 0.0).then(|| self.octets.iter().map(rate).collect())
    }

    /// Mean rate of all flows together, Gb/s.
    pub(super) fn total_gbps(&self) -> Option<f64> {
        Some(self.rates_gbps()?.iter().sum())
    }

    /// Lowest mean rate of a flow, Gb/s; `None` without flows.
    pub(super) fn lowest_gbps(&self) -> Option<f64> {
        self.rates_gbps()?.into_iter().reduce(f64::min)
    }

    /// Jain's fairness index; `None` if no flow got anything.
    pub(super) fn jain(&self) -> Option<f64> {
        let total: f64 = self.octets.iter().sum();
        let squares: f64 = self.octets.iter().map(|x| x * x).sum();
        (squares > 0.0).then(|| total * total / (self.octets.len() as f64 * squares))
    }

    /// Highest by lowest mean rate; `None` if a flow got nothing.
    pub(super) fn rate_ratio(&self) -> Option<f64> {
        let rates = self.rates_gbps()?;
        let smallest = rates.iter().copied().reduce(f64::min).filter(|rate| *rate > 0.0)?;
        Some(rates.iter().copied().fold(smallest, f64::max) / smallest)
    }
}

#[cfg(test)]
mod tests {
    use super::FlowOctets;

    /// 3000 and 1000 octets in 8 us: 3 and 1 Gb/s; Jain's index is 4^2 / (2 (9 + 1)) = 0.8.
    #[test]
    fn two_flows() {
        let two = FlowOctets { octets: vec![3000.0, 1000.0], seconds: 8e-6 };
        assert!((two.total_gbps().expect("a rate") - 4.0).abs() < 1e-12);
        assert!((two.lowest_gbps().expect("a rate") - 1.0).abs() < 1e-12);
        assert!((two.rate_ratio().expect("a ratio") - 3.0).abs() < 1e-12);
        assert!((two.jain().expect("an index") - 0.8).abs() < 1e-12);
    }

    #[test]
    fn nothing_has_no_ratio() {
        let starved = FlowOctets { octets: vec![1000.0, 0.0], seconds: 1.0 };
        assert_eq!((starved.rate_ratio(), starved.jain()), (None, Some(0.5)));
        let none = FlowOctets { octets: vec![0.0], seconds: 0.0 };
        assert_eq!((none.total_gbps(), none.jain()), (None, None));
    }
}
