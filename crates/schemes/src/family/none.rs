//! No control at all: every source sends as fast as it can, and queues overflow.

use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::{CpFastPath, RpFastPath};
use crate::params;
use crate::params::Field;
use crate::roles::{
    Arrival, CongestionPoint, CpAction, CpId, Endpoint, Gauge, NoNotification, Queue, ReactionPoint, RpCapabilities,
    Signal, SignalKind, Stamp,
};
use qcnlab_units::{BitRate, Bytes, Instant};

/// The family of one.
pub struct NoControl;

params! {
    /// No congestion point, no parameters.
    #[derive(Clone, Debug, PartialEq)]
    pub struct NoControlCpParams {}
}

params! {
    /// No reaction point, no parameters.
    #[derive(Clone, Debug, PartialEq)]
    pub struct NoControlRpParams {}
}

/// Sees frames pass.
#[derive(Clone, Debug)]
pub struct NoControlCp;

/// Never limits.
#[derive(Clone, Debug)]
pub struct NoControlRp {
    line_rate: BitRate,
}

impl Family for NoControl {
    type CpParams = NoControlCpParams;
    type RpParams = NoControlRpParams;
    type Cp = NoControlCp;
    type Rp = NoControlRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<NoControlCpParams, NoControlRpParams>] = &[Member {
        name: "none",
        title: "No control",
        source: "-",
        generation: Generation::Comparison,
        status: Status::AsPublished,
        about: "No congestion management: sources send as fast as they can and full queues discard.",
        presets: &[Preset {
            name: "DEFAULT",
            about: "Nothing to set.",
            cp: NoControlCpParams {},
            rp: NoControlRpParams {},
        }],
    }];
    const HEARS: &'static [SignalKind] = &[];
    const CP_SPEAKS: &'static [SignalKind] = &[];
    const FIELDS: (&'static [Field], &'static [Field]) = (NoControlCpParams::FIELDS, NoControlRpParams::FIELDS);

    fn set_point(_: &NoControlCpParams, _: &Self::RpParams) -> Option<Bytes> {
        None
    }

    fn congestion_point(_: &NoControlCpParams, _: CpId) -> NoControlCp {
        NoControlCp
    }

    fn reaction_point(_: &NoControlRpParams, Endpoint { line_rate, .. }: Endpoint) -> NoControlRp {
        NoControlRp { line_rate }
    }
}

impl CongestionPoint for NoControlCp {
    #[inline]
    fn on_arrival(&mut self, _: Instant, _: &Arrival, _: Queue, _: &mut Dice) -> CpAction {
        CpAction::Nothing
    }
}

impl CpFastPath for NoControlCp {}

impl ReactionPoint for NoControlRp {
    #[inline]
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }

    fn on_signal(&mut self, _: Instant, _: &Signal, _: &mut Dice) {}

    fn capabilities(&self) -> RpCapabilities {
        RpCapabilities::UNLIMITED
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        None
    }

    fn gauge(&self) -> Gauge {
        Gauge::at(self.line_rate)
    }
}

impl RpFastPath for NoControlRp {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FRAME, LINE, dice, us};

    #[test]
    fn it_never_limits() {
        let mut rp = NoControl::reaction_point(&NoControlRpParams {}, LINE.into());
        rp.on_signal(us(1), &Signal::Cnp, &mut dice());
        let _ = rp.on_sent(us(2), FRAME, FRAME, &mut dice());
        assert_eq!((rp.limit(), rp.next_wake(), rp.gauge()), (None, Instant::NEVER, Gauge::at(LINE)));
    }
}
