//! Frames at equal distances for a while, then none for a while.

use super::{Arriving, Offered};
use crate::fields::POSITIVE_UP_TO_LONGEST;
use qcnlab_schemes::params::{Fallback, Range};
use qcnlab_schemes::{choice, params};
use qcnlab_sim::Process;
use qcnlab_units::{BitRate, Span};

choice! {
    /// How long the times of on/off traffic are.
    pub enum Times {
        /// Exponential, with the means given.
        Exponential = "exponential",
        /// Always the means given.
        Fixed = "fixed",
    }
}

params! {
    /// Frames at equal distances while on, none while off. It begins on.
    #[derive(Clone, Debug, PartialEq)]
    pub struct OnOffStream {
        /// Rate of the frames while on, without overhead.
        rate: BitRate, "", Range::POSITIVE;
        /// Mean time on.
        on: Span, "Ton", POSITIVE_UP_TO_LONGEST;
        /// Mean time off.
        off: Span, "Toff", POSITIVE_UP_TO_LONGEST;
        /// How long the times are.
        times: Times, "", Range::ANY, Fallback::Text("exponential");
    }
}

impl Arriving for OnOffStream {
    fn offered(&self) -> Offered {
        let exponential = self.times == Times::Exponential;
        Offered::Stream(Process::OnOff { rate: self.rate, on: self.on, off: self.off, exponential })
    }
}
