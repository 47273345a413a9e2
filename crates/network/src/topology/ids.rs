//! The kinds of things that a network numbers.

use qcnlab_units::{Id, ids};

ids! {
    /// A host or a switch, by its position in [`Network::nodes`](super::Network::nodes).
    pub struct NodeId;
    /// A link, by its position in [`Network::links`](super::Network::links).
    pub struct LinkId;
    /// One direction of a link, with the queue before it. Link `l` gives port `2 l` from its end `a` to its end `b`, and port
    /// `2 l + 1` back.
    pub struct PortId;
}

impl LinkId {
    /// Returns the port from the link's end `a` to its end `b`.
    pub fn there(self) -> PortId {
        PortId::new(2 * self.number())
    }

    /// Returns the port from the link's end `b` to its end `a`.
    pub fn back(self) -> PortId {
        self.there().reverse()
    }
}

impl PortId {
    /// Returns the port of the other direction of the same link.
    pub fn reverse(self) -> PortId {
        PortId::new(self.number() ^ 1)
    }

    /// Returns the link that it is one direction of.
    pub fn link(self) -> LinkId {
        LinkId::new(self.number() / 2)
    }

    /// Whether it leads from the link's end `a`.
    pub fn is_there(self) -> bool {
        self.number().is_multiple_of(2)
    }
}
