//! QCN, quantized congestion notification (IEEE 802.1Qau): byte counter and timer, or either alone.
//!
//! Each increase event ends a stage of its own counter, byte counter or timer; the two stages together choose the
//! phase.
//!
//! A drift timer, where a preset has one, adds a step to the current rate each period while the
//! limiter is installed, whatever is heard.
//!
//! Source: deck 001 (rules, parameters), deck 000 (target-rate reduction), deck 004 (drift), 802.1Q clauses 30
//! to 32 (names), the CN MIB (defaults).

/// The scheme in words, with its state diagram, around what its increase events are.
macro_rules! about {
    ($events:literal) => {
        concat!(
            "\
A switch port samples arriving frames, about one in a hundred. From the queue's offset above the
set point and its growth since the last sample it computes the feedback Fb = -(offset + w growth),
quantizes it to 6 bits, and, when Fb is negative, sends it to the frame's source. Worse congestion is
sampled more often, up to ten times.

The source's rate limiter cuts its current rate by Gd times the feedback, remembers the rate before
the cut as its target, and climbs back by itself: at each increase event it goes half way to the
target. ",
            $events,
            "

              CNM: target = current (not in the first cycle); current *= 1 - Gd Fb;
                   both stages 0; timer restarted
            +---------------------------------------------------------------+
            v                                                               |
   fast recovery --- one stage past F ---> active increase --- both ---> hyper-active increase
   target stays                            target += R_AI                target += R_HAI * i
                   at every event: current = (current + target) / 2
"
        )
    };
}

/// What lists, `explain` and the pages show of the final form.
const ABOUT: &str = about!("An increase event is the end of a byte-counter cycle or of a timer cycle.");
const ABOUT_BYTE_COUNTER: &str = about!(
    "An increase event is the end of a byte-counter cycle: a number of octets
that the source has sent. There is no timer, so a source with a low rate waits long for its next event."
);
const ABOUT_TIMER: &str = about!(
    "An increase event is the end of a timer cycle. There is no byte counter, so a
source waits as long for its next event at any rate."
);

mod cp;
mod observed;
mod params;
mod rp;
#[cfg(test)]
mod tests;

pub use cp::QcnCp;
pub use params::*;
pub use rp::QcnRp;

use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::params::Field;
use crate::roles::{CpId, Endpoint, NoNotification, SignalKind};
use qcnlab_units::Bytes;

/// QCN in its final form and with one clock alone.
pub struct Qcn;

const ABOUT_DECK001: &str = "Deck 001, Simulation Parameters.";
const ABOUT_IEEE: &str = "Defaults of the IEEE8021-CN-MIB; rates count preamble and inter-frame gap.";
const ABOUT_IBM_ZRL: &str = "Deck 004, Congestion Management Parameters, at M = 150 KB: 8-bit feedback, Gd 0.5/255, set point M/4, \
     Ri 12 Mb/s, drift 4 Mb/s each 20 ms, no target-rate reduction, every cycle 1500 B / 1 % = 150 KB. W 2; the \
     deck also runs 8 and 32. Feedback of 8 bits has no standard frame.";
const ABOUT_DECK000: &str = "Deck 000 before its additions: set point 22 frames, w 2, no target-rate reduction. The increase step \
     is not on its slides; 12 Mb/s is deck 004's.";

impl Family for Qcn {
    type CpParams = QcnCpParams;
    type RpParams = QcnRpParams;
    type Cp = QcnCp;
    type Rp = QcnRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<QcnCpParams, QcnRpParams>] = &[
        Member {
            name: "qcn",
            title: "QCN, final form",
            source: "deck 001; IEEE 802.1Qau",
            generation: Generation::Qau,
            status: Status::ReadingsChosen,
            about: ABOUT,
            presets: &[
                Preset { name: "DECK001", about: ABOUT_DECK001, cp: CP_DECK001, rp: RP_DECK001 },
                Preset { name: "IEEE_8021Q", about: ABOUT_IEEE, cp: CP_IEEE, rp: RP_IEEE },
            ],
        },
        Member {
            name: "qcn_byte_counter",
            title: "QCN, byte counter only",
            source: "deck 001, A Synthesis; deck 000; deck 004",
            generation: Generation::Qau,
            status: Status::ReadingsChosen,
            about: ABOUT_BYTE_COUNTER,
            presets: &[
                Preset {
                    name: "DECK001",
                    about: ABOUT_DECK001,
                    cp: CP_DECK001,
                    rp: QcnRpParams { clock: Clock::ByteCounter, ..RP_DECK001 },
                },
                Preset {
                    name: "DECK000",
                    about: ABOUT_DECK000,
                    cp: CP_DECK000,
                    rp: QcnRpParams { clock: Clock::ByteCounter, ..RP_DECK000 },
                },
                Preset {
                    name: "IEEE_8021Q",
                    about: ABOUT_IEEE,
                    cp: CP_IEEE,
                    rp: QcnRpParams { clock: Clock::ByteCounter, ..RP_IEEE },
                },
                Preset { name: "IBM_ZRL", about: ABOUT_IBM_ZRL, cp: CP_IBM_ZRL, rp: RP_IBM_ZRL },
                Preset {
                    name: "IBM_ZRL_M1500KB",
                    about: "Deck 004, Simulation Parameters of its RTT study: the same at M = 1.5 MB, set point 375 KB. Feedback of \
                            8 bits has no standard frame.",
                    cp: CP_IBM_ZRL_M1500KB,
                    rp: RP_IBM_ZRL,
                },
            ],
        },
        Member {
            name: "qcn_timer",
            title: "QCN, timer only",
            source: "deck 001, Timer-only QCN",
            generation: Generation::Qau,
            status: Status::ReadingsChosen,
            about: ABOUT_TIMER,
            presets: &[
                Preset {
                    name: "DECK001",
                    about: ABOUT_DECK001,
                    cp: CP_DECK001,
                    rp: QcnRpParams { clock: Clock::Timer, ..RP_DECK001 },
                },
                Preset {
                    name: "IEEE_8021Q",
                    about: ABOUT_IEEE,
                    cp: CP_IEEE,
                    rp: QcnRpParams { clock: Clock::Timer, ..RP_IEEE },
                },
            ],
        },
    ];
    const HEARS: &'static [SignalKind] = &[SignalKind::Cnm];
    const CP_SPEAKS: &'static [SignalKind] = &[SignalKind::Cnm];
    const FIELDS: (&'static [Field], &'static [Field]) = (QcnCpParams::FIELDS, QcnRpParams::FIELDS);

    fn set_point(params: &QcnCpParams, _: &Self::RpParams) -> Option<Bytes> {
        Some(params.set_point)
    }

    fn congestion_point(params: &QcnCpParams, id: CpId) -> QcnCp {
        QcnCp::new(*params, id)
    }

    fn reaction_point(params: &QcnRpParams, Endpoint { line_rate, .. }: Endpoint) -> QcnRp {
        QcnRp::new(*params, line_rate)
    }
}
