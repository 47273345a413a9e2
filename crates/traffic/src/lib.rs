//! Traffic as a scenario offers it: finite flows, how large they are, when they start and between whom, and how fast they
//! could be at best; lists of flows, collective operations, and captures that are replayed.
//!
//! The feature `files`, on by default, opens the files that they are read from.

mod address;
mod addresses;
mod arrivals;
mod collective;
pub mod files;
mod ideal;
mod list;
mod rankfile;
pub mod replay;
mod sheet;
mod sizes;
mod sizes_file;

pub use address::Address;
pub use addresses::{HostAddress, read_addresses};
pub use arrivals::{Arrival, ArrivalsError, Incast, MOST_FLOWS, Poisson, permutation};
pub use collective::{Algorithm, Collective, CollectiveError, CollectiveMessage, MessageId, Operation, RankId};
pub use ideal::{Alone, Hop, ideal_completion};
pub use list::{ListedFlow, read_flows, starting_before};
pub use rankfile::read_rankfile;
pub use sheet::{CellFault, SheetColumn, SheetError};
pub use sizes::{NAMED, NamedSizes, Sizes, SizesError};
pub use sizes_file::read_sizes;
