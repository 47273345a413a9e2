//! Connections over links that lose, reorder and queue.

mod bottleneck;
mod cubic;
mod lossy;

use super::{Config, Flavour};
use crate::testing;

/// Deck 003's connections, with Reno.
pub(super) fn config() -> Config {
    testing::connection(Flavour::Reno)
}

/// Every congestion control.
pub(super) const FLAVOURS: [Flavour; 4] = [Flavour::Reno, Flavour::NewReno, Flavour::Cubic, Flavour::Bic];
