//! Why the keys of `[domain]` and `[[defence]]` cannot work.

/// Why a congestion notification domain cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DomainFault {
    /// Ports defend a domain that is not there.
    #[error("[[defence]] belongs to a scenario with [domain]")]
    NoDomain,
    /// The scheme is none of 802.1Q's kind.
    #[error("a domain is of congestion notification messages, and scheme '{scheme}' {}", if *probes {
        "probes paths as well"
    } else {
        "sends none"
    })]
    Scheme {
        /// The scheme.
        scheme: String,
        /// Whether it sends messages, but its sources probe, too.
        probes: bool,
    },
    /// No priority is left for the rest.
    #[error("all eight priorities are under congestion control: none is left for frames from outside")]
    AllPriorities,
    /// Frames from outside would come back in.
    #[error("the alternate priority {priority} is itself under congestion control")]
    Alternate {
        /// The priority.
        priority: u8,
        /// What it could be.
        free: u8,
    },
    /// A port cannot defend a priority of others.
    #[error("priority {priority} is not one of [domain]'s ({})", list(*domain))]
    Priority {
        /// The priority.
        priority: u8,
        /// The domain's, as bits.
        domain: u8,
    },
    /// The messages would be under congestion control themselves.
    #[error("priority {priority} is under congestion control, so messages cannot have it")]
    Messages {
        /// The priority.
        priority: u8,
    },
    /// Nobody sends in the domain.
    #[error("no traffic has a priority under congestion control ({})", list(*domain))]
    NoTraffic {
        /// The domain's, as bits.
        domain: u8,
    },
    /// Traffic that says it is not controlled at a priority that is.
    #[error("priority {priority} is under congestion control, whoever sends in it")]
    Uncontrolled {
        /// The priority.
        priority: u8,
    },
    /// Nothing fits a pattern.
    #[error("'{pattern}' matches no {what}")]
    NoMatch {
        /// The pattern.
        pattern: String,
        /// "switch or host", or "port".
        what: &'static str,
        /// The nearest name, or some names.
        hint: String,
    },
    /// A port of somebody who takes no part.
    #[error("'{port}' is a port of '{node}', which takes no part")]
    Outside {
        /// The port.
        port: String,
        /// The bridge or host.
        node: String,
    },
    /// A host that knows no CN-TAG would have to discard what comes.
    #[error("frames of '{flow}' reach '{host}' with a CN-TAG, which a host that takes no part does not know")]
    TagAtOutsider {
        /// The flow.
        flow: String,
        /// The host.
        host: String,
    },
}

/// Priorities in words.
pub(super) fn list(bits: u8) -> String {
    let priorities: Vec<String> =
        (0..8).filter(|class| bits & 1 << class != 0).map(|class| class.to_string()).collect();
    priorities.join(", ")
}

impl DomainFault {
    /// What to write instead.
    pub(super) fn hint(&self) -> Option<String> {
        Some(match self {
            DomainFault::NoDomain => "add [domain] with priorities = \"3\"".to_owned(),
            DomainFault::Scheme { .. } => "write scheme.name = \"qcn\", or leave [domain] out".to_owned(),
            DomainFault::AllPriorities => "write priorities = \"3\"".to_owned(),
            DomainFault::Alternate { free, .. } => format!("write alternate_priority = {free}, or leave it out"),
            DomainFault::Priority { domain, .. } => format!("write priorities = \"{}\"", list(*domain)),
            DomainFault::Messages { .. } => "set feedback.priority to another".to_owned(),
            DomainFault::NoTraffic { domain } => {
                format!("write priority = {} in [[traffic]]", domain.trailing_zeros())
            }
            DomainFault::Uncontrolled { .. } => {
                "leave controlled out, and name the sender in domain.outside or choose another priority".to_owned()
            }
            DomainFault::NoMatch { hint, .. } => hint.clone(),
            DomainFault::Outside { .. } => "leave it out, or take the node out of domain.outside".to_owned(),
            DomainFault::TagAtOutsider { .. } => "let the port to it be auto, edge or interior".to_owned(),
        })
    }
}
