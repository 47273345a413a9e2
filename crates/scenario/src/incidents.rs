//! What goes wrong on a schedule: `[[failure]]`, `[[pause_storm]]`.

use super::fields::{POSITIVE_UP_TO_LONGEST, UP_TO_LONGEST};
use qcnlab_schemes::params;
use qcnlab_schemes::params::{Fallback, Range};
use qcnlab_units::Span;

params! {
    /// A time during which a link is down in both directions. Frames on it, and those that wait for it at a switch, are
    /// lost; hosts hold theirs back.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Failure {
        /// The link, written as one of its ports: from->to.
        link: String, "", Range::ANY;
        /// When it fails.
        from: Span, "", UP_TO_LONGEST;
        /// When it comes back; left out, it stays down.
        until: Option<Span>, "", POSITIVE_UP_TO_LONGEST;
    }
}

params! {
    /// A host that pauses classes of its link again and again, whatever it holds: a defect of adapters (slow receiver,
    /// PFC storm).
    #[derive(Clone, Debug, PartialEq)]
    pub struct PauseStorm {
        /// The host.
        host: String, "", Range::ANY;
        /// Classes that it pauses, such as "3" or "0, 3..5"; "0..7" pauses the whole link.
        priorities: String, "", Range::ANY, Fallback::Text("0..7");
        /// When it begins.
        from: Span, "", UP_TO_LONGEST;
        /// When it sends XON.
        until: Span, "", POSITIVE_UP_TO_LONGEST;
    }
}
