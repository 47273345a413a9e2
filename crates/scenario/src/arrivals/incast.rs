//! Several senders at a time send to one receiver.

use super::{Arriving, Offered};
use crate::entry::{HostPair, TrafficEntry, numbers};
use crate::fault::Fault;
use crate::fields::POSITIVE_UP_TO_LONGEST;
use crate::located::LocatedFault;
use qcnlab_schemes::params;
use qcnlab_schemes::params::Range;
use qcnlab_traffic::Incast;
use qcnlab_units::{Bytes, Id, Span};

params! {
    /// Several of the senders at a time send to the one receiver, over and over.
    #[derive(Clone, Debug, PartialEq)]
    pub struct IncastBursts {
        /// What each of them sends.
        size: Bytes, "", Range::POSITIVE;
        /// How many send at a time, drawn anew each time.
        senders: u32, "", Range::between(1.0, 1e6);
        /// Time from one burst to the next.
        period: Span, "", POSITIVE_UP_TO_LONGEST;
    }
}

impl Arriving for IncastBursts {
    fn offered(&self) -> Offered {
        Offered::Sized
    }

    fn pairs(&self, entry: &TrafficEntry<'_>) -> Result<Vec<HostPair>, LocatedFault> {
        let (senders, receivers) = entry.hosts()?;
        let [to] = *receivers else {
            return Err(LocatedFault::new(Fault::OneReceiver { receivers: receivers.len() }, &[entry.key("to")]));
        };
        let (start, stop) = entry.drawn_times();
        let incast = Incast { senders: self.senders as usize, size: self.size, start, period: self.period, stop };
        entry.drawn(incast.draw(&numbers(&senders), to.number(), &mut entry.dice()))
    }

    fn is_drawn(&self) -> bool {
        true
    }
}
