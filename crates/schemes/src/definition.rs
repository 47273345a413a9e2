//! What the file of a scheme declares: its names, presets and parameters, and how its machines are made.
//!
//! The file implements [`Family`]; [`registry`](crate::registry) lists the families.

use crate::backpressure::BackpressurePoint;
use crate::fast_path::{CpFastPath, RpFastPath};
use crate::isolation::IsolationPoint;
use crate::params::{Field, Table};
use crate::roles::{CongestionPoint, CpId, CreditPoint, Endpoint, NotificationPoint, ReactionPoint, SignalKind};
use qcnlab_units::Bytes;

/// How far a scheme's definition can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Every rule stands in the source.
    AsPublished,
    /// The source leaves rules open; each reading is a named parameter.
    ReadingsChosen,
    /// Rebuilt from an outline.
    Reconstruction,
}

impl Status {
    /// The words for lists.
    pub const fn words(self) -> &'static str {
        match self {
            Status::AsPublished => "as published",
            Status::ReadingsChosen => "readings chosen",
            Status::Reconstruction => "reconstruction",
        }
    }
}

/// Which time a scheme is of, and what it was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// No control, beside which schemes are held.
    Comparison,
    /// Congestion notification of Ethernet, IEEE 802.1Qau, and what was proposed for it or grew out of it.
    Qau,
    /// The first schemes of data centres: marks, and round-trip times.
    MarksAndDelay,
    /// Finer signals: telemetry of each hop, delays beside a target, rates that receivers measure.
    TelemetryAndTargets,
    /// Switches that stop flows themselves: hop by hop, or at their source.
    SwitchesStopFlows,
    /// Those of the Ultra Ethernet Consortium.
    UltraEthernet,
}

impl Generation {
    /// The words for lists, with years.
    pub const fn words(self) -> &'static str {
        match self {
            Generation::Comparison => "for comparison",
            Generation::Qau => "Ethernet congestion notification, 2006 to 2010",
            Generation::MarksAndDelay => "marks and round-trip times, 2010 to 2016",
            Generation::TelemetryAndTargets => "telemetry, delay targets and receivers' rates, 2019 to 2022",
            Generation::SwitchesStopFlows => "switches that stop flows, hop by hop or at their source, 2022 to 2026",
            Generation::UltraEthernet => "Ultra Ethernet, 2025",
        }
    }
}

/// A named set of parameters, and where it comes from.
pub struct Preset<C, R> {
    /// Its name, after its provenance.
    pub name: &'static str,
    /// Where the values come from.
    pub about: &'static str,
    /// The congestion point's parameters.
    pub cp: C,
    /// The reaction point's parameters.
    pub rp: R,
}

/// A scheme as users name it.
pub struct Member<C: 'static, R: 'static> {
    /// Its name in scenario files.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Deck or paper.
    pub source: &'static str,
    /// Which time it is of.
    pub generation: Generation,
    /// How far the definition can be trusted.
    pub status: Status,
    /// What it does, with the state diagram.
    pub about: &'static str,
    /// Parameter sets; the first is the default.
    pub presets: &'static [Preset<C, R>],
}

/// A family of schemes that share machines and differ in parameters.
pub trait Family {
    /// The congestion point's parameters.
    type CpParams: Table + Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static;
    /// The reaction point's parameters.
    type RpParams: Table + Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static;
    /// The congestion point; [`NoCongestionPoint`](crate::roles::NoCongestionPoint) where ports take part in nothing, or have a
    /// [`BackpressurePoint`] or an [`IsolationPoint`] alone.
    type Cp: CongestionPoint + CpFastPath + Clone + std::fmt::Debug;
    /// The reaction point.
    type Rp: ReactionPoint + RpFastPath + Clone + std::fmt::Debug;
    /// The notification point; [`NoNotification`](crate::roles::NoNotification) where receivers answer nothing.
    type Np: NotificationPoint + Clone + std::fmt::Debug;
    /// The schemes of the family.
    const MEMBERS: &'static [Member<Self::CpParams, Self::RpParams>];
    /// The kinds of signal the reaction point hears: exactly those that the other two machines send.
    const HEARS: &'static [SignalKind];
    /// The kinds of signal the congestion point sends.
    const CP_SPEAKS: &'static [SignalKind];
    /// The kinds of signal the notification point sends.
    const NP_SPEAKS: &'static [SignalKind] = &[];
    /// The parameters' fields.
    const FIELDS: (&'static [Field], &'static [Field]);
    /// The queue length the scheme steers to, if it has one.
    fn set_point(cp: &Self::CpParams, rp: &Self::RpParams) -> Option<Bytes>;
    /// A congestion point called `id`.
    fn congestion_point(params: &Self::CpParams, id: CpId) -> Self::Cp;
    /// A reaction point of a host.
    fn reaction_point(params: &Self::RpParams, endpoint: Endpoint) -> Self::Rp;
    /// A notification point, if receivers take part; the reaction point's parameters are the whole host's.
    fn notification_point(params: &Self::RpParams) -> Option<Self::Np> {
        let _ = params;
        None
    }
    /// What a host gives credit by to the flows that end there, if it does; `endpoint` is its own link and the ways of one
    /// of these flows.
    fn credit_point(params: &Self::RpParams, endpoint: Endpoint) -> Option<Box<dyn CreditPoint>> {
        let _ = (params, endpoint);
        None
    }
    /// What an output port of a switch with so many ports computes, if it keeps flows apart and stops them hop by hop.
    fn backpressure_point(params: &Self::CpParams, ports: u32) -> Option<Box<dyn BackpressurePoint>> {
        let _ = (params, ports);
        None
    }
    /// What an output port of a switch computes, if it isolates congesting flows.
    fn isolation_point(params: &Self::CpParams) -> Option<Box<dyn IsolationPoint>> {
        let _ = params;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_say_how_far_a_definition_can_be_trusted() {
        let words = [Status::AsPublished, Status::ReadingsChosen, Status::Reconstruction].map(Status::words);
        assert_eq!(words, ["as published", "readings chosen", "reconstruction"]);
    }
}
