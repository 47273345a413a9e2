//! Frames at exponential distances.

use super::{Arriving, Offered};
use qcnlab_schemes::params;
use qcnlab_schemes::params::Range;
use qcnlab_sim::Process;
use qcnlab_units::BitRate;

params! {
    /// Frames at exponential distances.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PoissonStream {
        /// Mean rate of the frames, without overhead.
        rate: BitRate, "", Range::POSITIVE;
    }
}

impl Arriving for PoissonStream {
    fn offered(&self) -> Offered {
        Offered::Stream(Process::Poisson { rate: self.rate })
    }
}
