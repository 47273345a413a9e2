//! The one list of schemes.
//!
//! Everything that walks schemes (command line, Python, documentation, law
//! tests) walks this list. A new scheme is one file under `family` and one
//! line in the call of [`families!`] below. What is not in the list comes as [`Config::Foreign`].

use crate::backpressure::BackpressurePoint;
use crate::definition::{Family, Generation, Status};
use crate::dice::Dice;
use crate::family::{
    af_qcn, bfc, dcqcn, dctcp, e2cm, ecm, ecm_plus, fb_hat, fb99, fecn, hpcc, hpcc_pint, nic_fb, none, nscc, pcn,
    powertcp, qcn, qcn_plus, qcz, rccc, sfc, sonar, swift, theta_powertcp, three_point, timely,
};
use crate::fast_path::{CpFastPath, RpFastPath};
use crate::foreign::{self, Foreign};
use crate::isolation::IsolationPoint;
use crate::params::{Field, Table, Value};
use crate::parts::ecn::RampCp;
use crate::roles::{
    AddedHeaders, Arrival, CongestionPoint, CpAction, CpCapabilities, CpId, CreditPoint, Delivered, Echo, Endpoint,
    EventKinds, Flight, Gauge, HopTelemetry, NotificationPoint, Observation, Pacing, Probe, ProbeAction, Queue,
    ReactionPoint, RpCapabilities, Signal, SignalKind, SignalMismatch, Stamp, TransportEvent, check_signals,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};
use std::any::Any;

/// A scheme as catalogues show it.
pub struct Listing {
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
    /// Signals the reaction point understands.
    pub hears: &'static [SignalKind],
    /// Signals the congestion point sends.
    pub cp_speaks: &'static [SignalKind],
    /// Signals the notification point sends.
    pub np_speaks: &'static [SignalKind],
    /// The events of a transport that its reaction points hear of, with one preset or another.
    pub events: EventKinds,
    /// The fields of the congestion point's parameters.
    pub cp_fields: &'static [Field],
    /// The fields of the reaction point's parameters.
    pub rp_fields: &'static [Field],
    /// Parameter sets; the first is the default.
    pub presets: Vec<PresetListing>,
}

impl Listing {
    /// Signals the congestion point and the notification point send.
    pub fn speaks(&self) -> Vec<SignalKind> {
        [self.cp_speaks, self.np_speaks].concat()
    }
}

/// A preset as catalogues show it: values in the order of the fields.
pub struct PresetListing {
    /// Its name.
    pub name: &'static str,
    /// Where the values come from.
    pub about: &'static str,
    /// The congestion point's values.
    pub cp: Vec<Option<Value>>,
    /// The reaction point's values.
    pub rp: Vec<Option<Value>>,
}

/// Why a scheme was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// No scheme has this name.
    Scheme,
    /// The scheme has no such preset.
    Preset {
        /// The presets it has.
        known: Vec<&'static str>,
    },
}

fn values(table: &dyn Table) -> Vec<Option<Value>> {
    (0..table.fields().len()).map(|i| table.get(i)).collect()
}

/// Whether the reaction points of a family hear exactly what its other machines send.
const fn signals_fit<F: Family>() -> bool {
    check_signals(F::HEARS, &[F::CP_SPEAKS, F::NP_SPEAKS]).is_ok()
}

/// The events that a reaction point of a family hears of.
fn events<F: Family>(params: &F::RpParams) -> EventKinds {
    F::reaction_point(params, BitRate::gbps(10).into()).capabilities().events
}

macro_rules! families {
    ($( $variant:ident => $family:ty, )*) => {
        /// A scheme with all its parameters set.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Config {
            $(
                #[doc = concat!("One of [`", stringify!($family), "`].")]
                $variant {
                    /// The scheme's name.
                    name: &'static str,
                    /// The preset it started from.
                    preset: &'static str,
                    /// The congestion point's parameters.
                    cp: <$family as Family>::CpParams,
                    /// The reaction point's parameters.
                    rp: <$family as Family>::RpParams,
                },
            )*
            /// From outside this crate.
            Foreign(Foreign),
        }

        /// Any congestion point.
        #[derive(Clone, Debug)]
        pub enum AnyCp {
            $(
                #[doc = concat!("Of [`", stringify!($family), "`].")]
                $variant(<$family as Family>::Cp),
            )*
            /// Of a scheme from outside this crate.
            Foreign(foreign::CheckedCp),
        }

        /// Any reaction point.
        #[derive(Clone, Debug)]
        pub enum AnyRp {
            $(
                #[doc = concat!("Of [`", stringify!($family), "`].")]
                $variant(<$family as Family>::Rp),
            )*
            /// Of a scheme from outside this crate.
            Foreign(foreign::CheckedRp),
        }

        /// Any notification point.
        #[derive(Clone, Debug)]
        pub enum AnyNp {
            $(
                #[doc = concat!("Of [`", stringify!($family), "`].")]
                $variant(<$family as Family>::Np),
            )*
            /// Of a scheme from outside this crate.
            Foreign(foreign::CheckedNp),
        }

        /// Every scheme, in the order of the list.
        pub fn catalogue() -> Vec<Listing> {
            let mut all = Vec::new();
            $(
                for member in <$family as Family>::MEMBERS {
                    all.push(Listing {
                        name: member.name,
                        title: member.title,
                        source: member.source,
                        generation: member.generation,
                        status: member.status,
                        about: member.about,
                        hears: <$family as Family>::HEARS,
                        cp_speaks: <$family as Family>::CP_SPEAKS,
                        np_speaks: <$family as Family>::NP_SPEAKS,
                        events: member.presets.iter().fold(EventKinds::NONE, |all, preset| all.union(events::<$family>(&preset.rp))),
                        cp_fields: <$family as Family>::FIELDS.0,
                        rp_fields: <$family as Family>::FIELDS.1,
                        presets: member
                            .presets
                            .iter()
                            .map(|p| PresetListing { name: p.name, about: p.about, cp: values(&p.cp), rp: values(&p.rp) })
                            .collect(),
                    });
                }
            )*
            all
        }

        impl Config {
            /// The scheme `name` as `preset` sets it; without a preset, as its first one does.
            ///
            /// # Errors
            /// When there is no such scheme, or it has no such preset.
            pub fn find(name: &str, preset: Option<&str>) -> Result<Config, Unknown> {
                $(
                    for member in <$family as Family>::MEMBERS {
                        if member.name == name {
                            let chosen = match preset {
                                None => member.presets.first(),
                                Some(wanted) => member.presets.iter().find(|p| p.name == wanted),
                            };
                            return match chosen {
                                Some(p) => Ok(Config::$variant {
                                    name: member.name,
                                    preset: p.name,
                                    cp: p.cp.clone(),
                                    rp: p.rp.clone(),
                                }),
                                None => Err(Unknown::Preset { known: member.presets.iter().map(|p| p.name).collect() }),
                            };
                        }
                    }
                )*
                Err(Unknown::Scheme)
            }

            /// The scheme's name.
            pub fn name(&self) -> &str {
                match self { $( Config::$variant { name, .. } => name, )* Config::Foreign(scheme) => scheme.name() }
            }

            /// The preset the parameters started from; empty for a scheme from outside.
            pub fn preset(&self) -> &'static str {
                match self { $( Config::$variant { preset, .. } => preset, )* Config::Foreign(_) => "" }
            }

            /// The congestion point's parameters.
            pub fn cp(&self) -> &dyn Table {
                match self { $( Config::$variant { cp, .. } => cp, )* Config::Foreign(scheme) => scheme.table() }
            }

            /// The reaction point's parameters.
            pub fn rp(&self) -> &dyn Table {
                match self { $( Config::$variant { rp, .. } => rp, )* Config::Foreign(scheme) => scheme.table() }
            }

            /// The congestion point's parameters, to change.
            pub fn cp_mut(&mut self) -> &mut dyn Table {
                match self { $( Config::$variant { cp, .. } => cp, )* Config::Foreign(scheme) => scheme.table_mut() }
            }

            /// The reaction point's parameters, to change.
            pub fn rp_mut(&mut self) -> &mut dyn Table {
                match self { $( Config::$variant { rp, .. } => rp, )* Config::Foreign(scheme) => scheme.table_mut() }
            }

            /// The queue length the scheme steers to, if it has one.
            pub fn set_point(&self) -> Option<Bytes> {
                match self {
                    $( Config::$variant { cp, rp, .. } => <$family as Family>::set_point(cp, rp), )*
                    Config::Foreign(scheme) => scheme.set_point(),
                }
            }

            /// The kinds of signal that its reaction points hear.
            pub fn hears(&self) -> &[SignalKind] {
                match self {
                    $( Config::$variant { .. } => <$family as Family>::HEARS, )*
                    Config::Foreign(scheme) => scheme.hears(),
                }
            }

            /// Whether frames may say which congestion point their limiter obeys (the rate-limited tag of BCN).
            pub fn names_points(&self) -> bool {
                matches!(self, Config::Foreign(_)) || self.hears().contains(&SignalKind::Bcn)
            }

            /// Whether its congestion points or notification points ever send anything.
            pub fn speaks(&self) -> bool {
                match self {
                    $( Config::$variant { .. } => !<$family as Family>::HEARS.is_empty(), )*
                    Config::Foreign(scheme) => !scheme.speaks().is_empty(),
                }
            }

            /// The events of a transport that its reaction points hear of.
            pub fn events(&self) -> EventKinds {
                match self {
                    Config::Foreign(scheme) => scheme.events(),
                    _ => self.reaction_point(BitRate::gbps(10)).capabilities().events,
                }
            }

            /// Whether its congestion points take part in anything.
            pub fn has_congestion_points(&self) -> bool {
                let takes_part =
                    |cp: CpCapabilities| {
                        cp.marks_departures || cp.marks_arrivals || cp.stamps_departures || cp.codes_departures
                    };
                self.speaks() || takes_part(self.congestion_point(CpId(0)).capabilities())
            }

            /// Checks that its reaction points hear exactly the kinds of signal that can reach them. A scheme of the
            /// registry that fails does not compile.
            ///
            /// # Errors
            /// When a kind is sent and not heard, or heard and not sent.
            pub fn check_signals(&self) -> Result<(), SignalMismatch> {
                match self {
                    $( Config::$variant { .. } => {
                        const { assert!(signals_fit::<$family>(), "it hears other kinds of signal than it sends") };
                        Ok(())
                    } )*
                    Config::Foreign(scheme) => check_signals(scheme.hears(), &[scheme.speaks()]),
                }
            }

            /// A congestion point called `id`.
            pub fn congestion_point(&self, id: CpId) -> AnyCp {
                match self {
                    $( Config::$variant { cp, .. } => AnyCp::$variant(<$family as Family>::congestion_point(cp, id)), )*
                    Config::Foreign(scheme) => AnyCp::Foreign(scheme.cp(id)),
                }
            }

            /// A reaction point of a host: an [`Endpoint`], or a line rate where no more is known.
            pub fn reaction_point(&self, endpoint: impl Into<Endpoint>) -> AnyRp {
                let endpoint = endpoint.into();
                match self {
                    $( Config::$variant { rp, .. } => AnyRp::$variant(<$family as Family>::reaction_point(rp, endpoint)), )*
                    Config::Foreign(scheme) => AnyRp::Foreign(scheme.rp(endpoint)),
                }
            }

            /// A notification point for one flow; `None` when receivers answer nothing.
            pub fn notification_point(&self) -> Option<AnyNp> {
                match self {
                    $( Config::$variant { rp, .. } => {
                        <$family as Family>::notification_point(rp).map(AnyNp::$variant)
                    } )*
                    Config::Foreign(scheme) => scheme.np().map(AnyNp::Foreign),
                }
            }

            /// What a host gives credit by to the flows that end there, if it does: of its own link and the ways of one of
            /// these flows.
            pub fn credit_point(&self, endpoint: Endpoint) -> Option<Box<dyn CreditPoint>> {
                match self {
                    $( Config::$variant { rp, .. } => <$family as Family>::credit_point(rp, endpoint), )*
                    Config::Foreign(scheme) => scheme.credits(endpoint),
                }
            }

            /// What an output port of a switch with so many ports computes, if it keeps flows apart and stops them hop by
            /// hop.
            pub fn backpressure_point(&self, ports: u32) -> Option<Box<dyn BackpressurePoint>> {
                match self {
                    $( Config::$variant { cp, .. } => <$family as Family>::backpressure_point(cp, ports), )*
                    Config::Foreign(scheme) => scheme.backpressure_point(ports),
                }
            }

            /// What an output port of a switch computes, if it isolates congesting flows.
            pub fn isolation_point(&self) -> Option<Box<dyn IsolationPoint>> {
                match self {
                    $( Config::$variant { cp, .. } => <$family as Family>::isolation_point(cp), )*
                    Config::Foreign(scheme) => scheme.isolation_point(),
                }
            }
        }

        impl AnyCp {
            /// The ramp that it marks by, if it does nothing else.
            pub fn as_ramp_mut(&mut self) -> Option<&mut RampCp> {
                let cp: &mut dyn Any = match self { $( AnyCp::$variant(cp) => cp, )* AnyCp::Foreign(_) => return None };
                cp.downcast_mut()
            }
        }

        impl CongestionPoint for AnyCp {
            fn capabilities(&self) -> CpCapabilities {
                match self { $( AnyCp::$variant(cp) => cp.capabilities(), )* AnyCp::Foreign(cp) => cp.capabilities() }
            }
            #[inline]
            fn on_arrival(&mut self, now: Instant, frame: &Arrival, queue: Queue, dice: &mut Dice) -> CpAction {
                match self { $( AnyCp::$variant(cp) => cp.on_arrival(now, frame, queue, dice), )* AnyCp::Foreign(cp) => cp.on_arrival(now, frame, queue, dice) }
            }
            fn no_bandwidth_since(&self, now: Instant) -> Option<Instant> {
                match self { $( AnyCp::$variant(cp) => cp.no_bandwidth_since(now), )* AnyCp::Foreign(cp) => cp.no_bandwidth_since(now) }
            }
            #[inline]
            fn on_departure(&mut self, now: Instant, len: Bytes) {
                match self { $( AnyCp::$variant(cp) => cp.on_departure(now, len), )* AnyCp::Foreign(cp) => cp.on_departure(now, len) }
            }
            #[inline]
            fn departure_mark(&mut self, now: Instant, controlled: bool, queue: Queue, dice: &mut Dice) -> u8 {
                match self { $( AnyCp::$variant(cp) => cp.departure_mark(now, controlled, queue, dice), )* AnyCp::Foreign(cp) => cp.departure_mark(now, controlled, queue, dice) }
            }
            #[inline]
            fn departure_stamp(&mut self, now: Instant, sent: Bytes, queue: Queue) -> HopTelemetry {
                match self { $( AnyCp::$variant(cp) => cp.departure_stamp(now, sent, queue), )* AnyCp::Foreign(cp) => cp.departure_stamp(now, sent, queue) }
            }
            #[inline]
            fn departure_code(&mut self, now: Instant, sent: Bytes, queue: Queue, dice: &mut Dice) -> u8 {
                match self { $( AnyCp::$variant(cp) => cp.departure_code(now, sent, queue, dice), )* AnyCp::Foreign(cp) => cp.departure_code(now, sent, queue, dice) }
            }
            fn on_pause(&mut self, now: Instant, paused: bool, frames: u32) {
                match self { $( AnyCp::$variant(cp) => cp.on_pause(now, paused, frames), )* AnyCp::Foreign(cp) => cp.on_pause(now, paused, frames) }
            }
            fn on_probe(&mut self, now: Instant, probe: &mut Probe, queue: Queue) -> ProbeAction {
                match self { $( AnyCp::$variant(cp) => cp.on_probe(now, probe, queue), )* AnyCp::Foreign(cp) => cp.on_probe(now, probe, queue) }
            }
        }

        impl ReactionPoint for AnyRp {
            fn capabilities(&self) -> RpCapabilities {
                match self { $( AnyRp::$variant(rp) => rp.capabilities(), )* AnyRp::Foreign(rp) => rp.capabilities() }
            }
            #[inline]
            fn on_sent(&mut self, now: Instant, sent: Bytes, backlog: Bytes, dice: &mut Dice) -> Stamp {
                match self { $( AnyRp::$variant(rp) => rp.on_sent(now, sent, backlog, dice), )* AnyRp::Foreign(rp) => rp.on_sent(now, sent, backlog, dice) }
            }
            #[inline]
            fn on_signal(&mut self, now: Instant, signal: &Signal, dice: &mut Dice) {
                match self { $( AnyRp::$variant(rp) => rp.on_signal(now, signal, dice), )* AnyRp::Foreign(rp) => rp.on_signal(now, signal, dice) }
            }
            #[inline]
            fn on_transport(&mut self, now: Instant, event: &TransportEvent<'_>, flight: &Flight, dice: &mut Dice) {
                match self { $( AnyRp::$variant(rp) => rp.on_transport(now, event, flight, dice), )* AnyRp::Foreign(rp) => rp.on_transport(now, event, flight, dice) }
            }
            #[inline]
            fn window(&self) -> Option<Bytes> {
                match self { $( AnyRp::$variant(rp) => rp.window(), )* AnyRp::Foreign(rp) => rp.window() }
            }
            #[inline]
            fn gap(&self) -> Span {
                match self { $( AnyRp::$variant(rp) => rp.gap(), )* AnyRp::Foreign(rp) => rp.gap() }
            }
            #[inline]
            fn credit(&self) -> Bytes {
                match self { $( AnyRp::$variant(rp) => rp.credit(), )* AnyRp::Foreign(rp) => rp.credit() }
            }
            fn added_headers(&self) -> AddedHeaders {
                match self { $( AnyRp::$variant(rp) => rp.added_headers(), )* AnyRp::Foreign(rp) => rp.added_headers() }
            }
            #[inline]
            fn on_wake(&mut self, now: Instant, dice: &mut Dice) {
                match self { $( AnyRp::$variant(rp) => rp.on_wake(now, dice), )* AnyRp::Foreign(rp) => rp.on_wake(now, dice) }
            }
            #[inline]
            fn next_wake(&self) -> Instant {
                match self { $( AnyRp::$variant(rp) => rp.next_wake(), )* AnyRp::Foreign(rp) => rp.next_wake() }
            }
            #[inline]
            fn limit(&self) -> Option<BitRate> {
                match self { $( AnyRp::$variant(rp) => rp.limit(), )* AnyRp::Foreign(rp) => rp.limit() }
            }
            #[inline]
            fn pacing(&self) -> Pacing {
                match self { $( AnyRp::$variant(rp) => rp.pacing(), )* AnyRp::Foreign(rp) => rp.pacing() }
            }
            #[inline]
            fn gauge(&self) -> Gauge {
                match self { $( AnyRp::$variant(rp) => rp.gauge(), )* AnyRp::Foreign(rp) => rp.gauge() }
            }
            fn observation(&self) -> Option<Observation> {
                match self { $( AnyRp::$variant(rp) => rp.observation(), )* AnyRp::Foreign(rp) => rp.observation() }
            }
            #[inline]
            fn take_probe(&mut self, now: Instant) -> Option<Probe> {
                match self { $( AnyRp::$variant(rp) => rp.take_probe(now), )* AnyRp::Foreign(rp) => rp.take_probe(now) }
            }
        }

        impl CpFastPath for AnyCp {
            #[inline]
            fn count_only(&mut self, controlled: bool, admitted: bool, size: Bytes) -> bool {
                match self { $( AnyCp::$variant(cp) => cp.count_only(controlled, admitted, size), )* AnyCp::Foreign(cp) => cp.count_only(controlled, admitted, size) }
            }
            fn ignores_arrivals(&self) -> bool {
                match self { $( AnyCp::$variant(cp) => cp.ignores_arrivals(), )* AnyCp::Foreign(cp) => cp.ignores_arrivals() }
            }
            fn ignores_departures_up_to(&self, rate: BitRate) -> Option<Bytes> {
                match self { $( AnyCp::$variant(cp) => cp.ignores_departures_up_to(rate), )* AnyCp::Foreign(cp) => cp.ignores_departures_up_to(rate) }
            }
        }

        impl RpFastPath for AnyRp {
            #[inline]
            fn count_only(&mut self, sent: Bytes, backlog: Bytes) -> bool {
                match self { $( AnyRp::$variant(rp) => rp.count_only(sent, backlog), )* AnyRp::Foreign(rp) => rp.count_only(sent, backlog) }
            }
            fn on_sent_may_be_late(&self) -> bool {
                match self { $( AnyRp::$variant(rp) => rp.on_sent_may_be_late(), )* AnyRp::Foreign(rp) => rp.on_sent_may_be_late() }
            }
            fn ignores_unmarked_acknowledgements(&self) -> bool {
                match self { $( AnyRp::$variant(rp) => rp.ignores_unmarked_acknowledgements(), )* AnyRp::Foreign(rp) => rp.ignores_unmarked_acknowledgements() }
            }
        }

        impl NotificationPoint for AnyNp {
            fn shapes_acknowledgements(&self) -> bool {
                match self { $( AnyNp::$variant(np) => np.shapes_acknowledgements(), )* AnyNp::Foreign(np) => np.shapes_acknowledgements() }
            }
            fn on_acknowledging(&mut self, now: Instant, echo: &mut Echo) {
                match self { $( AnyNp::$variant(np) => np.on_acknowledging(now, echo), )* AnyNp::Foreign(np) => np.on_acknowledging(now, echo) }
            }
            #[inline]
            fn on_frame(&mut self, now: Instant, frame: &Delivered) -> Option<Signal> {
                match self { $( AnyNp::$variant(np) => np.on_frame(now, frame), )* AnyNp::Foreign(np) => np.on_frame(now, frame) }
            }
            fn on_probe(&mut self, now: Instant, probe: &Probe) -> Option<Signal> {
                match self { $( AnyNp::$variant(np) => np.on_probe(now, probe), )* AnyNp::Foreign(np) => np.on_probe(now, probe) }
            }
        }
    };
}

families! {
    None => none::NoControl,
    Qcn => qcn::Qcn,
    AfQcn => af_qcn::AfQcn,
    Sonar => sonar::Sonar,
    Fb99 => fb99::Fb99,
    Ecm => ecm::Ecm,
    EcmPlus => ecm_plus::EcmPlus,
    Dcqcn => dcqcn::Dcqcn,
    QcnPlus => qcn_plus::QcnPlus,
    NicFb => nic_fb::NicFb,
    Fecn => fecn::Fecn,
    ThreePoint => three_point::ThreePoint,
    FbHat => fb_hat::FbHat,
    E2cm => e2cm::E2cm,
    Dctcp => dctcp::Dctcp,
    Timely => timely::Timely,
    Hpcc => hpcc::Hpcc,
    HpccPint => hpcc_pint::HpccPint,
    Swift => swift::Swift,
    Powertcp => powertcp::Powertcp,
    ThetaPowertcp => theta_powertcp::ThetaPowertcp,
    Pcn => pcn::Pcn,
    Bfc => bfc::Bfc,
    Sfc => sfc::Sfc,
    Qcz => qcz::Qcz,
    Nscc => nscc::Nscc,
    Rccc => rccc::Rccc,
}
