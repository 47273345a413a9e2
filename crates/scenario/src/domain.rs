//! The congestion notification domain: `[domain]` and `[[defence]]` (IEEE 802.1Q clauses 30 to 32).

use qcnlab_schemes::params::{Fallback, Range};
use qcnlab_schemes::{choice, params};

params! {
    /// Which priorities are under congestion control, and which bridges and hosts take part. Without this table all
    /// do, and no port defends itself.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Domain {
        /// Priorities under congestion control, such as "3" or "0, 3..5"; seven at most.
        priorities: String, "CNPV", Range::ANY;
        /// Priority that frames from outside get instead of one under congestion control; left out, the next lower one
        /// that is not under congestion control, or else the next higher.
        alternate_priority: Option<u32>, "AlternatePriority, AutoAltPri", Range::between(0.0, 7.0);
        /// Bridges and hosts that take no part: a name, or a pattern in which * stands for any characters and {1..4}
        /// for numbers. Left out or empty, all take part.
        outside: Option<String>, "", Range::ANY;
    }
}

choice! {
    /// How a port defends the domain.
    pub enum DefenceMode {
        /// What the neighbour announces by LLDP decides: edge, interior or interior ready.
        Auto = "auto",
        /// The priority is not under congestion control at this port.
        Disabled = "disabled",
        /// Frames keep their priority, and leave without CN-TAG.
        Interior = "interior",
        /// Frames keep their priority and their CN-TAG.
        InteriorReady = "interior_ready",
        /// Frames that come in get the alternate priority, and frames leave without CN-TAG.
        Edge = "edge",
    }
}

params! {
    /// How ports of bridges and hosts that take part defend the domain. Of several tables the first that fits a port
    /// and a priority holds; where none does, the mode is auto.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Defence {
        /// Ports that this table sets, written from->to: the port of `from` that leads to `to`. A name or a pattern.
        port: String, "", Range::ANY;
        /// Priorities that it sets; left out, all of [domain].
        priorities: Option<String>, "CNPV", Range::ANY;
        /// How they defend the domain.
        mode: DefenceMode, "DefModeChoice, AdminDefenseMode", Range::ANY, Fallback::Text("auto");
        /// Whether they announce the priorities by LLDP.
        lldp: bool, "LldpInstanceChoice", Range::ANY, Fallback::Text("true");
        /// Whether they accept CN-TAGs: a port that no longer remaps then announces that it is ready.
        accepts_cn_tags: bool, "cnpdAcceptsCnTag", Range::ANY, Fallback::Text("true");
        /// Priority that frames from outside get there; left out, that of [domain].
        alternate_priority: Option<u32>, "AlternatePriority", Range::between(0.0, 7.0);
    }
}
