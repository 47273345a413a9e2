//! Frames at equal distances.

use super::{Arriving, Offered};
use qcnlab_schemes::params;
use qcnlab_schemes::params::Range;
use qcnlab_sim::Process;
use qcnlab_units::BitRate;

params! {
    /// Frames at equal distances.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ConstantStream {
        /// Rate of the frames, without overhead.
        rate: BitRate, "", Range::POSITIVE;
    }
}

impl Arriving for ConstantStream {
    fn offered(&self) -> Offered {
        Offered::Stream(Process::Constant { rate: self.rate })
    }
}
