//! Finite flows: how large they are, when they start and between whom, and how fast they could be at best.

mod arrivals;
mod ideal;
mod list;
mod sheet;
mod sizes;

pub use arrivals::{Arrival, ArrivalsError, Incast, MOST_FLOWS, Poisson, permutation};
pub use ideal::{Hop, ideal_completion};
pub use list::{ListedFlow, read_flows};
pub use sheet::{CellFault, Column, SheetError};
pub use sizes::{NAMED, NamedSizes, Sizes, SizesError, read_sizes};
