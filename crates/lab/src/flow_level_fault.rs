//! Why a scenario has no run without packets.

/// Why a scenario has no run without packets. The scenario's tables of traffic count from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoFlowLevel {
    /// Flows without an end.
    #[error(
        "traffic.{traffic}: flows of arrivals '{arrivals}' have no size, and a flow-level run has completion times alone; give \
         them a size, or run the packets (without --flow-level)"
    )]
    NoSize {
        /// The entry.
        traffic: usize,
        /// The word of its arrivals.
        arrivals: &'static str,
    },
    /// TCP connections.
    #[error(
        "traffic.{traffic}: a flow-level run has no windows, which decide how long TCP takes; take transport 'roce' or 'none', \
         or run the packets (without --flow-level)"
    )]
    Windows {
        /// The entry.
        traffic: usize,
    },
    /// Flows of several priorities.
    #[error(
        "flows have priorities {0} and {1}, and in a flow-level run all share a link alike; give them one priority, or run \
         the packets (without --flow-level)"
    )]
    Priorities(u8, u8),
    /// Something that changes the network while the run goes on.
    #[error(
        "[[{table}]]: in a flow-level run links stay as they are; leave it out, or run the packets (without --flow-level)"
    )]
    Changing {
        /// The table.
        table: &'static str,
    },
    /// What packets waited for.
    #[error(
        "record.waits: a flow-level run has no packets whose waits could be told apart; leave it out, or run the packets \
         (without --flow-level)"
    )]
    Waits,
    /// Several flows behind one limiter.
    #[error(
        "adapter max_rps: flows of a host share limiters, and a flow-level run has none; leave it out, or run the packets \
         (without --flow-level)"
    )]
    Limiters,
}
