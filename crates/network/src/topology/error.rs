//! Why a network cannot be built, or a path not found.

/// Why a network cannot be built, or a path cannot be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// A generator was asked for none of something.
    #[error("{topology}: {what} must be 1 or more")]
    None {
        /// The generator.
        topology: &'static str,
        /// What there should be some of.
        what: &'static str,
    },
    /// A fat-tree whose switches cannot be halved.
    #[error("fat_tree: k = {k} must be even: half of a switch's ports go up, half go down")]
    OddArity {
        /// Ports of each switch.
        k: u32,
    },
    /// More nodes or links than a run can hold.
    #[error("{topology}: {count} {what} are more than the {most} allowed")]
    TooMany {
        /// The generator.
        topology: &'static str,
        /// `"nodes"` or `"links"`.
        what: &'static str,
        /// How many it would be.
        count: u128,
        /// How many may be.
        most: u64,
    },
    /// A name that cannot stand in the name of a port or in a pattern.
    #[error("'{name}' cannot name a node: use letters, digits, '-', '_' and '.'")]
    BadName {
        /// The name.
        name: String,
    },
    /// Two nodes of one name.
    #[error("two nodes are called '{name}'")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A link to a name that no node has.
    #[error("a link goes to '{name}', which is no node{}", hint(nearest))]
    UnknownNode {
        /// The name.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// A link to a node number that does not exist.
    #[error("link {link} goes to node {node}, but there are {nodes} nodes, counted from 0")]
    NoSuchNode {
        /// The link, from 0.
        link: usize,
        /// The node, from 0.
        node: u32,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A link whose two ends are one node.
    #[error("a link goes from '{name}' to itself")]
    SelfLink {
        /// The node.
        name: String,
    },
    /// Two links between one pair of nodes.
    #[error("two links join '{a}' and '{b}': ports are named {a}->{b}, so write one link of the summed rate")]
    TwinLinks {
        /// One end.
        a: String,
        /// The other.
        b: String,
    },
    /// A host with a second link.
    #[error("host '{name}' has more than one link: an adapter has one port; make it a switch, or name a second host")]
    SecondLink {
        /// The host.
        name: String,
    },
    /// A link on which nothing moves.
    #[error("the link between '{a}' and '{b}' has a rate of 0 b/s")]
    NoRate {
        /// One end.
        a: String,
        /// The other.
        b: String,
    },
    /// A path that starts or ends at something other than a host.
    #[error("'{name}' is a switch: only hosts send and receive")]
    NotAHost {
        /// The switch.
        name: String,
    },
    /// A path from a host to itself.
    #[error("host '{name}' cannot send to itself")]
    ToItself {
        /// The host.
        name: String,
    },
    /// No path from one host to the other.
    #[error("no way leads from '{from}' to '{to}': add the link that is missing between them; hosts do not forward")]
    Unreachable {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
    },
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}
