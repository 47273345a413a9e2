//! Arrivals: when an entry of `[[traffic]]` offers what, between which hosts. Each kind is a file with its keys and what
//! follows from them, and a line in the list below.

mod capture;
mod collective;
mod constant;
mod flows;
mod incast;
mod list;
mod on_off;
mod poisson;
mod saturated;

pub use capture::CaptureFrames;
pub use collective::{CollectiveOperation, Placement};
pub use constant::ConstantStream;
pub use flows::RandomFlows;
pub use incast::IncastBursts;
pub use list::FlowList;
pub use on_off::{OnOffStream, Times};
pub use poisson::PoissonStream;
pub use saturated::Saturated;

use super::entry::{HostPair, TrafficEntry};
use super::fields::tables;
use super::located::LocatedFault;
use qcnlab_schemes::params::Variants;
use qcnlab_sim::Process;
use qcnlab_units::{BitRate, Bytes};

/// What flows offer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offered {
    /// As much as the link, the ceiling and the transport let through.
    AllItCan {
        /// The source's own ceiling.
        ceiling: Option<BitRate>,
        /// Octets in all; `None` for no end.
        total: Option<Bytes>,
    },
    /// Frames that come by themselves.
    Stream(Process),
    /// Flows each of which has a size.
    Sized,
    /// The frames of a capture, at their times.
    Replayed,
}

/// What one kind of arrivals means.
pub(crate) trait Arriving {
    /// Returns what its flows offer.
    fn offered(&self) -> Offered;

    /// Returns the flows of an entry, each a pair of hosts: by default those that `from`, `to` and `spread` say.
    fn pairs(&self, entry: &TrafficEntry<'_>) -> Result<Vec<HostPair>, LocatedFault> {
        entry.spread()
    }

    /// Whether its flows start at times that are drawn at random.
    fn is_drawn(&self) -> bool {
        false
    }

    /// Whether replications differ in its flows.
    fn differs_by_draw(&self) -> bool {
        self.is_drawn()
    }

    /// Whether its flows are drawn or listed, so that `stop_arrivals` can stop them.
    fn arrives(&self) -> bool {
        self.is_drawn()
    }

    /// Whether its flows have an end.
    fn ends(&self) -> bool {
        self.arrives()
    }

    /// Returns the key that holds a CSV text or names a CSV file, and its value.
    fn sheet(&mut self) -> Option<(&'static str, &mut String)> {
        None
    }
}

/// Declares the kinds of arrivals: the word, the table, what the kind is, and the words of the transports that can carry
/// it.
macro_rules! arrivals {
    ($( $(#[doc = $doc:literal])+ $kind:ident($table:ident) = $word:literal over [$($transport:literal),+], )*) => {
        tables! {
            /// When a source offers what.
            pub enum Arrivals {
                $( $(#[doc = $doc])+ $kind($table) = $word, )*
            }
        }

        /// The words of the transports that can carry each kind, in the order of the kinds.
        const CARRIED_BY: &[&[&str]] = &[$( &[$($transport),+], )*];

        impl Arrivals {
            /// Returns the table as what its kind means.
            pub(crate) fn kind(&self) -> &dyn Arriving {
                match self {
                    $( Arrivals::$kind(table) => table, )*
                }
            }

            /// As [`Self::kind`], to be changed.
            pub(crate) fn kind_mut(&mut self) -> &mut dyn Arriving {
                match self {
                    $( Arrivals::$kind(table) => table, )*
                }
            }
        }
    };
}

arrivals! {
    /// There is always a frame to send.
    Saturated(Saturated) = "saturated" over ["none", "tcp", "roce"],
    /// Frames at equal distances.
    Constant(ConstantStream) = "constant" over ["none"],
    /// Frames at exponential distances.
    Poisson(PoissonStream) = "poisson" over ["none"],
    /// Frames at equal distances for a while, then none for a while; it begins with frames.
    OnOff(OnOffStream) = "on_off" over ["none"],
    /// Flows of random sizes that start at random, independently of each other, between random hosts.
    Flows(RandomFlows) = "flows" over ["none", "tcp", "roce"],
    /// Several of the senders at a time send to the one receiver, over and over.
    Incast(IncastBursts) = "incast" over ["none", "tcp", "roce"],
    /// Flows that are written out; from and to do not count.
    List(FlowList) = "list" over ["none", "tcp", "roce"],
    /// Frames or flows of a capture. Addresses that send take the hosts of from, addresses that receive those of to,
    /// in the order in which they appear; no frame is longer than frame.
    Capture(CaptureFrames) = "capture" over ["none"],
    /// A collective operation among hosts, whose messages wait for one another; from and to do not count.
    Collective(CollectiveOperation) = "collective" over ["tcp", "roce"],
}

/// Returns the words of the transports that can carry the arrivals called `word`; none if there are no such arrivals.
pub(crate) fn carried_by(word: &str) -> &'static [&'static str] {
    let kind = <Arrivals as Variants>::CHOICES.iter().position(|choice| choice.name == word);
    kind.map_or(&[], |kind| CARRIED_BY[kind])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::Transport;

    /// Every kind can be carried, and by transports that there are; each of them carries one.
    #[test]
    fn arrivals_name_transports_that_there_are() {
        let words: Vec<&str> = <Transport as Variants>::CHOICES.iter().map(|choice| choice.name).collect();
        for choice in <Arrivals as Variants>::CHOICES {
            let carried = carried_by(choice.name);
            assert!(!carried.is_empty(), "{}", choice.name);
            assert!(carried.iter().all(|word| words.contains(word)), "{}: {carried:?}", choice.name);
        }
        for word in words {
            assert!(CARRIED_BY.iter().any(|carried| carried.contains(&word)), "{word}");
        }
        assert!(carried_by("pigeon").is_empty());
        assert_eq!(carried_by("collective"), ["tcp", "roce"]);
    }
}
