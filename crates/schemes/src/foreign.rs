//! Schemes from outside this crate.
//!
//! Machines of the registry are known to the compiler and are called directly. A foreign scheme hands out
//! boxed machines that play the same [`roles`](crate::roles); whoever implements a role with `Clone`, `Debug`
//! and `Send` has the boxable trait of that role for free. [`Config::Foreign`](crate::registry::Config) puts
//! such a scheme wherever one of the registry may stand.

use crate::backpressure::BackpressurePoint;
use crate::dice::Dice;
use crate::fast_path::{CpFastPath, RpFastPath};
use crate::isolation::IsolationPoint;
use crate::params::{Field, Scalar, Table, Value};
use crate::roles::{
    AddedHeaders, Arrival, CongestionPoint, CpAction, CpCapabilities, CpId, CreditPoint, Delivered, Echo, Endpoint,
    EventKind, EventKinds, Flight, FlowId, Gauge, Grant, HopTelemetry, NotificationPoint, Observation, Pacing, Probe,
    ProbeAction, Queue, Reached, ReactionPoint, RpCapabilities, Signal, SignalKind, Stamp, TransportEvent,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};
use std::any::Any;
use std::collections::HashSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A scheme with its parameters set, from outside the registry.
pub trait ForeignScheme: fmt::Debug + Send + Sync {
    /// Its name, as a scenario writes it.
    fn name(&self) -> &str;
    /// What a scenario sets, as it was written.
    fn parameters(&self) -> &Parameters;
    /// What its results depend on besides its parameters, such as its source text; part of a scenario's hash.
    fn fingerprint(&self) -> &str;
    /// The kinds of signal its reaction points hear: exactly those that can reach them.
    fn hears(&self) -> &[SignalKind];
    /// The kinds of signal its congestion points and notification points send.
    fn speaks(&self) -> &[SignalKind];
    /// The events of a transport that its reaction points hear of, as they say themselves.
    fn events(&self) -> EventKinds {
        self.reaction_point(BitRate::gbps(10).into()).capabilities().events
    }
    /// The queue length it steers to, if it has one.
    fn set_point(&self) -> Option<Bytes> {
        None
    }
    /// A congestion point called `id`.
    fn congestion_point(&self, id: CpId) -> Box<dyn ForeignCp>;
    /// A reaction point of a host.
    fn reaction_point(&self, endpoint: Endpoint) -> Box<dyn ForeignRp>;
    /// A notification point for one flow; `None` when receivers answer nothing. The same all through a run.
    fn notification_point(&self) -> Option<Box<dyn ForeignNp>> {
        None
    }
    /// What a host gives credit by to the flows that end there, if it does.
    fn credit_point(&self, endpoint: Endpoint) -> Option<Box<dyn CreditPoint>> {
        let _ = endpoint;
        None
    }
    /// What an output port of a switch with so many ports computes, if it keeps flows apart and stops them hop by hop.
    fn backpressure_point(&self, ports: u32) -> Option<Box<dyn BackpressurePoint>> {
        let _ = ports;
        None
    }
    /// What an output port of a switch computes, if it isolates congesting flows.
    fn isolation_point(&self) -> Option<Box<dyn IsolationPoint>> {
        None
    }
    /// Whether its receivers answer: whether there is a notification point.
    fn answers(&self) -> bool {
        self.notification_point().is_some()
    }
    /// Does `work` on this thread, in which it calls machines. A scheme that prepares each thread does so around it.
    fn on_thread(&self, work: &mut (dyn FnMut() + Send)) {
        work();
    }
}

/// What a scenario sets of a foreign scheme: keys and values in the order they were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// Of the congestion point.
    pub cp: Vec<(String, Scalar)>,
    /// Of the reaction point.
    pub rp: Vec<(String, Scalar)>,
}

/// Text that is a size, a rate or a time with its unit, as octets, bit/s or picoseconds; `None` for all else.
pub fn quantity(scalar: &Scalar) -> Option<Value> {
    let Scalar::Text(text) = scalar else { return None };
    let size = text.parse().map(Value::Size).ok();
    size.or_else(|| text.parse().map(Value::Rate).ok()).or_else(|| text.parse().map(Value::Time).ok())
}

macro_rules! boxable {
    ($($(#[$doc:meta])* $name:ident: $role:ident),* $(,)?) => {$(
        $(#[$doc])*
        pub trait $name: $role + fmt::Debug + Send {
            /// A copy that goes its own way.
            fn boxed(&self) -> Box<dyn $name>;
        }

        impl<T: $role + Clone + fmt::Debug + Send + 'static> $name for T {
            fn boxed(&self) -> Box<dyn $name> {
                Box::new(self.clone())
            }
        }

        impl Clone for Box<dyn $name> {
            fn clone(&self) -> Self {
                (**self).boxed()
            }
        }
    )*};
}

boxable! {
    /// A congestion point that fits in a box.
    ForeignCp: CongestionPoint,
    /// A reaction point that fits in a box.
    ForeignRp: ReactionPoint,
    /// A notification point that fits in a box.
    ForeignNp: NotificationPoint,
}

/// A foreign scheme as the registry holds it. Two are equal when name, parameters and fingerprint are.
#[derive(Clone, Debug)]
pub struct Foreign {
    scheme: Arc<dyn ForeignScheme>,
    table: NoTable,
    /// One more than the largest number of a congestion point that was made.
    points: Arc<AtomicU32>,
}

/// The table of a scheme whose parameters the registry does not know: no fields.
#[derive(Clone, Copy, Debug)]
struct NoTable;

impl Table for NoTable {
    fn fields(&self) -> &'static [Field] {
        &[]
    }

    fn get(&self, _: usize) -> Option<Value> {
        None
    }

    fn set(&mut self, _: usize, _: Option<Value>) {}
}

impl PartialEq for Foreign {
    fn eq(&self, other: &Foreign) -> bool {
        let same = |scheme: &Foreign| (scheme.name().to_owned(), scheme.parameters().clone());
        same(self) == same(other) && self.fingerprint() == other.fingerprint()
    }
}

impl std::ops::Deref for Foreign {
    type Target = dyn ForeignScheme;

    fn deref(&self) -> &Self::Target {
        &*self.scheme
    }
}

impl From<Arc<dyn ForeignScheme>> for Foreign {
    fn from(scheme: Arc<dyn ForeignScheme>) -> Foreign {
        Foreign { scheme, table: NoTable, points: Arc::default() }
    }
}

impl Foreign {
    pub(crate) fn table(&self) -> &dyn Table {
        &self.table
    }

    pub(crate) fn table_mut(&mut self) -> &mut dyn Table {
        &mut self.table
    }

    pub(crate) fn cp(&self, id: CpId) -> CheckedCp {
        self.points.fetch_max(id.0.saturating_add(1), Ordering::Relaxed);
        let marks_are_heard = self.answers() || self.events().contains(EventKind::Acknowledgement);
        CheckedCp { machine: self.scheme.congestion_point(id), scheme: self.clone(), id, marks_are_heard }
    }

    pub(crate) fn rp(&self, endpoint: Endpoint) -> CheckedRp {
        let machine = self.scheme.reaction_point(endpoint);
        let (wake, limit) = (machine.next_wake(), machine.limit());
        CheckedRp { machine, scheme: self.clone(), wake, limit }
    }

    pub(crate) fn np(&self) -> Option<CheckedNp> {
        Some(CheckedNp { machine: self.scheme.notification_point()?, scheme: self.clone() })
    }

    pub(crate) fn credits(&self, endpoint: Endpoint) -> Option<Box<dyn CreditPoint>> {
        let machine = self.scheme.credit_point(endpoint)?;
        Some(Box::new(CheckedCredit { machine, scheme: self.clone(), came: HashSet::new() }))
    }

    fn broken(&self, method: &str, why: String) -> ! {
        let (scheme, method) = (self.name().to_owned(), method.to_owned());
        give_up(Failure { scheme, method, why, broken: true, cause: None })
    }

    fn check_signal(&self, method: &str, signal: &Signal) {
        if !self.speaks().contains(&signal.kind()) {
            let kind = signal.kind().name();
            let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
            self.broken(method, format!("sends {article} {kind}, which it does not say it speaks"));
        }
        if let Err(why) = signal.check() {
            self.broken(method, why);
        }
    }

    /// A receiver knows no congestion point; where it names one there is such a point.
    fn check_answer(&self, method: &str, signal: &Signal) {
        self.check_signal(method, signal);
        let points = self.points.load(Ordering::Relaxed);
        if let Some(CpId(cp)) = signal.cp().filter(|cp| cp.0 >= points) {
            let there = match points {
                0 => "there is none".to_owned(),
                1 => "the only one has number 0".to_owned(),
                _ => format!("they have the numbers 0 to {}", points - 1),
            };
            self.broken(method, format!("answers for congestion point {cp}, which does not exist: {there}"));
        }
    }
}

/// Why a run with a foreign scheme cannot go on.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The scheme's name.
    pub scheme: String,
    /// The method, with its class where there is one.
    pub method: String,
    /// What went wrong.
    pub why: String,
    /// Whether it broke the contract of its role; otherwise it failed by itself.
    pub broken: bool,
    /// What its own language raised.
    pub cause: Option<Arc<dyn Any + Send + Sync>>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scheme '{}', {}: {}", self.scheme, self.method, self.why)
    }
}

impl std::error::Error for Failure {}

/// Ends the run in whose machine this is called; [`guard`] around the run gives `failure` back.
///
/// Roles answer with plain values and cannot fail. A machine that runs somebody's code can: it has nowhere
/// else to say so.
pub fn give_up(failure: Failure) -> ! {
    resume_unwind(Box::new(failure))
}

/// Does `run`, and gives back the failure of a foreign machine in it.
///
/// # Errors
/// When a machine called [`give_up`].
pub fn guard<T>(run: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| match payload.downcast::<Failure>() {
        Ok(failure) => *failure,
        Err(panic) => resume_unwind(panic),
    })
}

/// A foreign congestion point, held to its role.
#[derive(Clone, Debug)]
pub struct CheckedCp {
    machine: Box<dyn ForeignCp>,
    scheme: Foreign,
    id: CpId,
    marks_are_heard: bool,
}

/// A foreign reaction point, held to its role.
#[derive(Clone, Debug)]
pub struct CheckedRp {
    machine: Box<dyn ForeignRp>,
    scheme: Foreign,
    wake: Instant,
    limit: Option<BitRate>,
}

/// A foreign notification point, held to its role.
#[derive(Clone, Debug)]
pub struct CheckedNp {
    machine: Box<dyn ForeignNp>,
    scheme: Foreign,
}

/// A foreign credit point, held to its role.
#[derive(Debug)]
struct CheckedCredit {
    machine: Box<dyn CreditPoint>,
    scheme: Foreign,
    /// The flows of which a packet has come.
    came: HashSet<FlowId>,
}

impl CreditPoint for CheckedCredit {
    fn on_packet(&mut self, now: Instant, packet: &Reached) {
        self.came.insert(packet.flow);
        self.machine.on_packet(now, packet);
    }

    fn on_whole(&mut self, flow: FlowId) {
        self.came.insert(flow);
        self.machine.on_whole(flow);
    }

    fn next_wake(&self) -> Instant {
        self.machine.next_wake()
    }

    fn on_wake(&mut self, now: Instant) -> Option<Grant> {
        let granted = self.machine.on_wake(now);
        let wake = self.machine.next_wake();
        if wake <= now {
            let why = format!("after a wake-up at {now} the next is asked for at {wake}, which has passed");
            self.scheme.broken("next_wake", why);
        }
        if let Some(Grant { flow, credit }) = granted {
            self.scheme.check_signal("on_wake", &Signal::Credit(credit));
            if !self.came.contains(&flow) {
                let why = format!("gives credit to flow {}, of which no packet has come", flow.0);
                self.scheme.broken("on_wake", why);
            }
        }
        granted
    }
}

impl CheckedCp {
    fn check_signal(&self, method: &str, signal: &Signal) {
        self.scheme.check_signal(method, signal);
        if let Some(CpId(other)) = signal.cp().filter(|cp| *cp != self.id) {
            let own = self.id.0;
            self.scheme.broken(
                method,
                format!(
                    "answers as congestion point {other}; it was made with the number {own}, and answers with that"
                ),
            );
        }
    }

    fn check_mark(&self, method: &str, controlled: bool) {
        if !controlled {
            self.scheme.broken(method, "acts on a frame outside congestion control".to_owned());
        }
        if !self.marks_are_heard {
            let why = "marks a frame, and nobody hears of it: a scheme that marks has a notification point, or a \
                       reaction point that hears of acknowledgements (on_ack)";
            self.scheme.broken(method, why.to_owned());
        }
    }
}

impl CongestionPoint for CheckedCp {
    fn capabilities(&self) -> CpCapabilities {
        self.machine.capabilities()
    }

    fn on_arrival(&mut self, now: Instant, frame: &Arrival, queue: Queue, dice: &mut Dice) -> CpAction {
        let action = self.machine.on_arrival(now, frame, queue, dice);
        match action {
            CpAction::Nothing => {}
            _ if !frame.controlled => {
                self.scheme.broken("on_arrival", "acts on a frame outside congestion control".to_owned());
            }
            CpAction::Send(signal) => self.check_signal("on_arrival", &signal),
            CpAction::Mark(0) => self.scheme.broken("on_arrival", "a mark of 0 is none".to_owned()),
            CpAction::Mark(_) => self.check_mark("on_arrival", frame.controlled),
        }
        action
    }

    fn on_departure(&mut self, now: Instant, len: Bytes) {
        self.machine.on_departure(now, len);
    }

    fn departure_mark(&mut self, now: Instant, controlled: bool, queue: Queue, dice: &mut Dice) -> u8 {
        let mark = self.machine.departure_mark(now, controlled, queue, dice);
        if mark > 0 {
            self.check_mark("departure_mark", controlled);
        }
        mark
    }

    fn departure_stamp(&mut self, now: Instant, sent: Bytes, queue: Queue) -> HopTelemetry {
        self.machine.departure_stamp(now, sent, queue)
    }

    fn departure_code(&mut self, now: Instant, sent: Bytes, queue: Queue, dice: &mut Dice) -> u8 {
        self.machine.departure_code(now, sent, queue, dice)
    }

    fn on_pause(&mut self, now: Instant, paused: bool, frames: u32) {
        self.machine.on_pause(now, paused, frames);
    }

    fn on_probe(&mut self, now: Instant, probe: &mut Probe, queue: Queue) -> ProbeAction {
        let action = self.machine.on_probe(now, probe, queue);
        if let ProbeAction::Answer(signal) = &action {
            self.check_signal("on_probe", signal);
        }
        action
    }

    fn no_bandwidth_since(&self, now: Instant) -> Option<Instant> {
        self.machine.no_bandwidth_since(now)
    }
}

impl CheckedRp {
    fn refresh(&mut self) {
        (self.wake, self.limit) = (self.machine.next_wake(), self.machine.limit());
    }
}

/// Every frame is told to it, when it comes.
impl CpFastPath for CheckedCp {}

/// Every frame is told to it, when it leaves.
impl RpFastPath for CheckedRp {}

impl ReactionPoint for CheckedRp {
    fn capabilities(&self) -> RpCapabilities {
        self.machine.capabilities()
    }

    fn on_sent(&mut self, now: Instant, sent: Bytes, backlog: Bytes, dice: &mut Dice) -> Stamp {
        let stamp = self.machine.on_sent(now, sent, backlog, dice);
        self.refresh();
        self.wake = self.wake.max(now);
        stamp
    }

    fn on_signal(&mut self, now: Instant, signal: &Signal, dice: &mut Dice) {
        self.machine.on_signal(now, signal, dice);
        self.refresh();
        self.wake = self.wake.max(now);
    }

    fn on_wake(&mut self, now: Instant, dice: &mut Dice) {
        self.machine.on_wake(now, dice);
        self.refresh();
        if self.wake <= now {
            let why = format!("after a wake-up at {now} the next is asked for at {}, which has passed", self.wake);
            self.scheme.broken("next_wake", why);
        }
    }

    fn on_transport(&mut self, now: Instant, event: &TransportEvent<'_>, flight: &Flight, dice: &mut Dice) {
        self.machine.on_transport(now, event, flight, dice);
        self.refresh();
        self.wake = self.wake.max(now);
    }

    fn window(&self) -> Option<Bytes> {
        self.machine.window()
    }

    fn gap(&self) -> Span {
        self.machine.gap()
    }

    fn credit(&self) -> Bytes {
        self.machine.credit()
    }

    fn added_headers(&self) -> AddedHeaders {
        self.machine.added_headers()
    }

    fn next_wake(&self) -> Instant {
        self.wake
    }

    fn take_probe(&mut self, now: Instant) -> Option<Probe> {
        self.machine.take_probe(now)
    }

    fn limit(&self) -> Option<BitRate> {
        self.limit
    }

    fn pacing(&self) -> Pacing {
        self.machine.pacing()
    }

    fn gauge(&self) -> Gauge {
        self.machine.gauge()
    }

    fn observation(&self) -> Option<Observation> {
        self.machine.observation()
    }
}

impl NotificationPoint for CheckedNp {
    fn shapes_acknowledgements(&self) -> bool {
        self.machine.shapes_acknowledgements()
    }

    fn on_acknowledging(&mut self, now: Instant, echo: &mut Echo) {
        self.machine.on_acknowledging(now, echo);
    }

    fn on_frame(&mut self, now: Instant, frame: &Delivered) -> Option<Signal> {
        let answer = self.machine.on_frame(now, frame);
        if let Some(signal) = &answer {
            self.scheme.check_answer("on_frame", signal);
        }
        answer
    }

    fn on_probe(&mut self, now: Instant, probe: &Probe) -> Option<Signal> {
        let answer = self.machine.on_probe(now, probe);
        if let Some(signal) = &answer {
            self.scheme.check_answer("on_probe", signal);
        }
        answer
    }
}
