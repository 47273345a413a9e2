//! No control at all: every source sends as fast as it can, and queues overflow.

use crate::definition::{Family, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::{CpFastPath, RpFastPath};
use crate::params;
use crate::params::Field;
use crate::roles::{
    Arrival, CongestionPoint, CpAction, CpId, Gauge, NoNotification, Queue, ReactionPoint, RpCapabilities, Signal,
    SignalKind, Stamp,
};
use qcnlab_units::{BitRate, Bytes, Instant};

/// The family of one.
pub struct NoControl;

params! {
    /// No congestion point, no parameters.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CpParams {}
}

params! {
    /// No reaction point, no parameters.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RpParams {}
}

/// Sees frames pass.
#[derive(Clone, Debug)]
pub struct Cp;

/// Never limits.
#[derive(Clone, Debug)]
pub struct Rp {
    line_rate: BitRate,
}

impl Family for NoControl {
    type CpParams = CpParams;
    type RpParams = RpParams;
    type Cp = Cp;
    type Rp = Rp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<CpParams, RpParams>] = &[Member {
        name: "none",
        title: "No control",
        source: "-",
        status: Status::AsPublished,
        about: "No congestion management: sources send as fast as they can and full queues discard.",
        presets: &[Preset { name: "DEFAULT", about: "Nothing to set.", cp: CpParams {}, rp: RpParams {} }],
    }];
    const HEARS: &'static [SignalKind] = &[];
    const CP_SPEAKS: &'static [SignalKind] = &[];
    const FIELDS: (&'static [Field], &'static [Field]) = (CpParams::FIELDS, RpParams::FIELDS);

    fn set_point(_: &CpParams, _: &Self::RpParams) -> Option<Bytes> {
        None
    }

    fn congestion_point(_: &CpParams, _: CpId) -> Cp {
        Cp
    }

    fn reaction_point(_: &RpParams, line_rate: BitRate) -> Rp {
        Rp { line_rate }
    }
}

impl CongestionPoint for Cp {
    #[inline]
    fn on_arrival(&mut self, _: Instant, _: &Arrival, _: Queue, _: &mut Dice) -> CpAction {
        CpAction::Nothing
    }
}

impl CpFastPath for Cp {}

impl ReactionPoint for Rp {
    #[inline]
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }

    fn on_signal(&mut self, _: Instant, _: &Signal, _: &mut Dice) {}

    fn on_wake(&mut self, _: Instant, _: &mut Dice) {}

    fn capabilities(&self) -> RpCapabilities {
        RpCapabilities::UNLIMITED
    }

    #[inline]
    fn next_wake(&self) -> Instant {
        Instant::NEVER
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        None
    }

    fn gauge(&self) -> Gauge {
        Gauge::at(self.line_rate)
    }
}

impl RpFastPath for Rp {}
