//! Stages: how many cycles have ended since the last cut, and what they mean for the next increase.

use crate::choice;
use qcnlab_units::BitRate;

choice! {
    /// When a stage counts as past fast recovery.
    pub enum StageTest {
        /// Stage > F: F halvings, active increase at event F + 1, short cycles from stage F.
        Above = "gt",
        /// Stage >= F: F - 1 halvings, active increase at event F, short cycles in hyper-active increase only.
        Reached = "ge",
    }
}

choice! {
    /// How much a hyper-active increase adds.
    pub enum HaiStep {
        /// R_HAI times the number of events since both stages passed F.
        Scaled = "scaled",
        /// R_HAI each time.
        Constant = "constant",
    }
}

impl HaiStep {
    /// Returns the `count`-th step of `rate`, counted from 1.
    pub fn step(self, rate: BitRate, count: u32) -> BitRate {
        match self {
            HaiStep::Constant => rate,
            HaiStep::Scaled => BitRate::bps(rate.get().saturating_mul(u64::from(count))),
        }
    }
}
