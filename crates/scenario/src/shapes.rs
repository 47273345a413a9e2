//! Shapes of networks: the tables `[topology]` and `[[link]]`.

use super::fields::{COUNT, OVERHEAD, UP_TO_LONGEST, tables};
use qcnlab_network::topology::{LinkId, Network, NodeId, PortId, Role};
use qcnlab_schemes::params;
use qcnlab_schemes::params::{Fallback, Range};
use qcnlab_units::{BitRate, Bytes, Id, Span};

params! {
    /// Sources `source1` to `sourceN` around one switch, and one `sink` behind the bottleneck `switch->sink`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Star {
        /// Number of sources, called source1, source2 and so on.
        sources: u32, "N", COUNT;
        /// Rate of every link.
        rate: BitRate, "C", Range::POSITIVE;
        /// Rate of the link from the switch to the sink, outside hotspots.
        bottleneck_rate: BitRate, "", Range::POSITIVE, Fallback::Same("rate");
        /// Propagation from a source to the congestion point and back, half each way.
        rtt: Span, "", UP_TO_LONGEST;
        /// Propagation of the link to the sink.
        sink_delay: Span, "", UP_TO_LONGEST, Fallback::Half("rtt");
        /// Room in the bottleneck's queue, in frame octets.
        buffer: Bytes, "", Range::POSITIVE;
        /// Octets of wire time on top of each frame; 20 B stands for preamble and inter-frame gap.
        frame_overhead: Bytes, "", OVERHEAD, Fallback::Text("0 B");
    }
}

/// Declares the table of a topology whose links are of two kinds: those of hosts, and trunks between switches.
macro_rules! shape {
    ($(#[$meta:meta])* pub struct $name:ident { $($own:tt)* }) => {
        params! {
            $(#[$meta])*
            #[derive(Clone, Debug, PartialEq)]
            pub struct $name {
                $($own)*
                /// Rate of every host's link, each way.
                rate: BitRate, "C", Range::POSITIVE;
                /// Propagation of every host's link, one way.
                delay: Span, "", UP_TO_LONGEST;
                /// Rate of every link between switches, each way.
                trunk_rate: BitRate, "", Range::POSITIVE, Fallback::Same("rate");
                /// Propagation of every link between switches, one way.
                trunk_delay: Span, "", UP_TO_LONGEST, Fallback::Same("delay");
                /// Octets of wire time on top of each frame; 20 B stands for preamble and inter-frame gap.
                frame_overhead: Bytes, "", OVERHEAD, Fallback::Text("0 B");
            }
        }

        impl $name {
            const fn take_delays(&mut self, other: &$name) {
                (self.delay, self.trunk_delay) = (other.delay, other.trunk_delay);
            }
        }
    };
}

params! {
    /// Hosts `host1` to `hostN` around one `switch`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct OneSwitch {
        /// Number of hosts.
        hosts: u32, "N", COUNT;
        /// Rate of every link, each way.
        rate: BitRate, "C", Range::POSITIVE;
        /// Propagation of every link, one way.
        delay: Span, "", UP_TO_LONGEST;
        /// Octets of wire time on top of each frame; 20 B stands for preamble and inter-frame gap.
        frame_overhead: Bytes, "", OVERHEAD, Fallback::Text("0 B");
    }
}

shape! {
    /// Switches `switch1` to `switchS` in a row, each with its own hosts, numbered along the row from `host1`.
    pub struct Chain {
        /// Number of switches.
        switches: u32, "S", COUNT;
        /// Hosts at each switch.
        hosts: u32, "", COUNT;
    }
}

shape! {
    /// A chain of trunks that senders `long1` and so on at `switch1` cross in full, to `sink` at the last switch,
    /// and a sender for each trunk crosses alone: `cross1` at `switch1` to `exit1` at `switch2`, and so on.
    pub struct ParkingLot {
        /// Number of trunks, and of senders that cross one.
        stages: u32, "", COUNT;
        /// Number of senders that cross all.
        long: u32, "", COUNT;
    }
}

shape! {
    /// A tree of switches, `level1-switch1` at its root, with `host1` and so on below the lowest level.
    pub struct Tree {
        /// Levels of switches.
        depth: u32, "", COUNT;
        /// Switches below each switch but the lowest.
        fanout: u32, "", COUNT;
        /// Hosts at each switch of the lowest level.
        hosts: u32, "", COUNT;
    }
}

shape! {
    /// `leaf1` and so on with their own hosts, from `host1`, every leaf joined to every one of `spine1` and so on.
    pub struct LeafSpine {
        /// Number of leaves.
        leaves: u32, "", COUNT;
        /// Number of spines.
        spines: u32, "", COUNT;
        /// Hosts at each leaf.
        hosts: u32, "", COUNT;
    }
}

shape! {
    /// The fat-tree of switches of k ports: hosts `host1` and so on, k^3/4 of them, below `pod1-edge1`,
    /// `pod1-aggregation1` and `core1` and so on.
    pub struct FatTree {
        /// Ports of every switch, an even number.
        k: u32, "", Range::between(2.0, 160.0);
    }
}

params! {
    /// Any network: its links are written out as `[[link]]`. A node with one link is a host, a node with
    /// more is a switch.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Graph {
        /// Rate, each way, of links that give none.
        rate: Option<BitRate>, "C", Range::POSITIVE;
        /// Propagation, one way, of links that give none.
        delay: Option<Span>, "", UP_TO_LONGEST;
        /// Octets of wire time on top of each frame; 20 B stands for preamble and inter-frame gap.
        frame_overhead: Bytes, "", OVERHEAD, Fallback::Text("0 B");
    }
}

params! {
    /// Links of a network of kind graph. Ranges such as `node{2..5}` name several nodes: with as many on both sides
    /// they pair up in order; otherwise each of the fewer takes an equal run of the more, one alone takes all.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Links {
        /// One end, or several.
        from: String, "", Range::ANY;
        /// The other end, or several.
        to: String, "", Range::ANY;
        /// Rate each way; left out, the topology's.
        rate: Option<BitRate>, "C", Range::POSITIVE;
        /// Propagation one way; left out, the topology's.
        delay: Option<Span>, "", UP_TO_LONGEST;
    }
}

/// Declares the kinds of topology: the word, the table, and what the kind is.
macro_rules! topologies {
    ($( $(#[doc = $doc:literal])+ $kind:ident($table:ident) = $word:literal, )*) => {
        tables! {
            /// Hosts, switches and links.
            pub enum Topology {
                $( $(#[doc = $doc])+ $kind($table) = $word, )*
            }
        }

        impl Topology {
            /// Octets of wire time on top of each frame.
            pub const fn frame_overhead(&self) -> Bytes {
                match self {
                    $( Topology::$kind(table) => table.frame_overhead, )*
                }
            }
        }
    };
}

topologies! {
    /// Sources around one switch, and one sink behind the bottleneck switch->sink.
    Star(Star) = "star",
    /// Hosts around one switch.
    Switch(OneSwitch) = "switch",
    /// Switches in a row, each with its own hosts.
    Chain(Chain) = "chain",
    /// A chain that some senders cross in full and others for one link.
    ParkingLot(ParkingLot) = "parking_lot",
    /// Levels of switches, with hosts below the lowest.
    Tree(Tree) = "tree",
    /// Leaves with hosts, each joined to every spine.
    LeafSpine(LeafSpine) = "leaf_spine",
    /// Three levels of equal switches with as much capacity on each.
    FatTree(FatTree) = "fat_tree",
    /// Any network, its links written out.
    Graph(Graph) = "graph",
}

/// The bottleneck that a topology is built around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BuiltInBottleneck {
    /// Its port, as the network numbers it.
    pub(crate) port: PortId,
    /// Octets that its queue holds, which a key of the topology gives.
    pub(crate) buffer: Bytes,
    /// The host behind it, as the network numbers it. Flows to this host are called by their senders alone.
    pub(crate) sink: NodeId,
}

impl Topology {
    /// Returns this topology with the propagation delays of another one of its kind.
    #[must_use]
    pub(crate) const fn with_delays_of(mut self, other: &Topology) -> Topology {
        use Topology as T;
        match (&mut self, other) {
            (T::Star(own), T::Star(other)) => (own.rtt, own.sink_delay) = (other.rtt, other.sink_delay),
            (T::Switch(own), T::Switch(other)) => own.delay = other.delay,
            (T::Graph(own), T::Graph(other)) if own.delay.is_some() && other.delay.is_some() => own.delay = other.delay,
            (T::Chain(own), T::Chain(other)) => own.take_delays(other),
            (T::ParkingLot(own), T::ParkingLot(other)) => own.take_delays(other),
            (T::Tree(own), T::Tree(other)) => own.take_delays(other),
            (T::LeafSpine(own), T::LeafSpine(other)) => own.take_delays(other),
            (T::FatTree(own), T::FatTree(other)) => own.take_delays(other),
            _ => {}
        }
        self
    }

    /// Sets the propagation delays of this topology for the links of its network, which is no graph's.
    pub(super) fn set_delays(&self, network: &mut Network) {
        let Network { nodes, links } = network;
        let (of_hosts, of_trunks) = match self {
            Topology::Star(star) => (star.rtt.half_rounded_down(), star.sink_delay),
            Topology::Switch(table) => (table.delay, table.delay),
            Topology::Chain(table) => (table.delay, table.trunk_delay),
            Topology::ParkingLot(table) => (table.delay, table.trunk_delay),
            Topology::Tree(table) => (table.delay, table.trunk_delay),
            Topology::LeafSpine(table) => (table.delay, table.trunk_delay),
            Topology::FatTree(table) => (table.delay, table.trunk_delay),
            Topology::Graph(_) => return,
        };
        let is_host = |node: NodeId| nodes[node].role == Role::Host;
        let sink = self.built_in_bottleneck().map(|bottleneck| bottleneck.sink);
        for link in links.iter_mut() {
            match (is_host(link.a), is_host(link.b)) {
                // Inside a host.
                (true, true) => {}
                (false, false) => link.delay = of_trunks,
                _ => link.delay = if Some(link.b) == sink { of_trunks } else { of_hosts },
            }
        }
    }

    /// Returns the bottleneck that this topology is built around, if it is built around one.
    pub(crate) fn built_in_bottleneck(&self) -> Option<BuiltInBottleneck> {
        match self {
            Topology::Star(Star { sources, buffer, .. }) => Some(BuiltInBottleneck {
                port: LinkId::new(*sources).there(),
                buffer: *buffer,
                sink: NodeId::new(*sources + 1),
            }),
            _ => None,
        }
    }

    /// Whether a key of this topology gives the round-trip time, which then is propagation alone.
    pub const fn gives_rtt(&self) -> bool {
        matches!(self, Topology::Star(_))
    }
}
