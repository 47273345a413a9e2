//! What an adapter asks of the kernel's shaper, and what it hears of it.

use super::Adapter;
use crate::limiters::HostLimiter;
use crate::shaper::{ShapedClass, WantedRate};
use qcnlab_units::BitRate;

impl Adapter {
    /// What each limiter wants of the kernel's shaper.
    pub(crate) fn shaped_classes(&self) -> Vec<ShapedClass> {
        self.limiters.iter().map(HostLimiter::shaped_class).collect()
    }

    /// The rate at which the shaper keeps the link busy and no more: the shaper counts the frames' octets, and the link
    /// takes time for its overhead, too.
    pub(crate) fn shaped_line_rate(&self) -> BitRate {
        let shape = self.layout.ways[self.uplink].shape;
        let rate = |limiter: &HostLimiter| {
            let class = limiter.shaped_class();
            let counted = u128::from(limiter.counted(class.frame).get());
            let takes = u128::from(class.frame.get() + shape.overhead);
            u64::try_from(u128::from(shape.rate.get()) * counted / takes.max(1)).unwrap_or(u64::MAX)
        };
        self.limiters.iter().map(rate).min().map_or(shape.rate, BitRate::bps)
    }

    /// What each limiter asks of the kernel's shaper.
    pub(crate) fn wanted_rates(&self, line: BitRate) -> impl Iterator<Item = WantedRate> {
        self.limiters.iter().map(move |limiter| limiter.wanted(line))
    }

    /// Looks at what waits for the link behind the kernel's shaper.
    pub(crate) fn update_back_pressure(&mut self) {
        self.limiters.iter_mut().for_each(HostLimiter::update_back_pressure);
    }

    /// Tells each limiter that took frames what waits for it in the kernel; `backlog` says it, by position.
    pub(crate) fn ask_backlogs(&mut self, backlog: impl Fn(usize) -> u64) {
        for (position, limiter) in self.limiters.iter_mut().enumerate() {
            if std::mem::take(&mut limiter.took_frames) && limiter.driver.pacer.rate().is_some() {
                limiter.in_kernel = backlog(position);
            }
        }
    }
}
