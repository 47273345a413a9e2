//! There is always a frame to send.

use super::{Arriving, Offered};
use qcnlab_schemes::params;
use qcnlab_schemes::params::Range;
use qcnlab_units::{BitRate, Bytes};

params! {
    /// A source that always has a frame to send, up to a size.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Saturated {
        /// The source's own ceiling, without transport; left out, the rate of its link.
        max_rate: Option<BitRate>, "", Range::POSITIVE;
        /// Octets in all; left out, no end.
        size: Option<Bytes>, "", Range::POSITIVE;
    }
}

impl Arriving for Saturated {
    fn offered(&self) -> Offered {
        Offered::AllItCan { ceiling: self.max_rate, total: self.size }
    }

    fn ends(&self) -> bool {
        self.size.is_some()
    }
}
