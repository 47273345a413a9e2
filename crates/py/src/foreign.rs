//! Schemes that are Python classes: machines whose methods are called as the roles say.

use crate::facts::{self, Dice, action_of, arrival, delivered, kind_of, queue, refused, signal, signal_of};
use crate::interruption::Call;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use qcnlab_lab::schemes::foreign::{Failure, ForeignCp, ForeignNp, ForeignRp, Parameters, give_up, quantity};
use qcnlab_lab::schemes::params::{Scalar, Value};
use qcnlab_lab::schemes::{
    Arrival, CongestionPoint, CpAction, CpCapabilities, CpId, CreditPoint, Delivered, Dice as Rolls, Endpoint,
    EventKind, EventKinds, Flight, FlowId, ForeignScheme, Gauge, Grant, LossSign, NotificationPoint, Queue, Reached,
    ReactionPoint, RpCapabilities, Signal, SignalKind, Stamp, TransportEvent,
};
use qcnlab_lab::units::{BitRate, Bytes, Instant, Span};
use qcnlab_scenario::foreign::LoadError;
use std::cell::RefCell;
use std::sync::Arc;

/// The Python side of this file.
const MODULE: &str = "qcnlab.foreign";

thread_local! {
    /// What Python raised when the last scheme was refused, for whoever turns the refusal into an exception; and whether that
    /// ends the program.
    static REFUSED: RefCell<Option<(PyErr, bool)>> = const { RefCell::new(None) };
}

/// The exception behind the last refusal, once, and whether it ends the program.
pub(crate) fn take_refusal() -> Option<(PyErr, bool)> {
    REFUSED.take()
}

/// A Python class that is a scheme.
#[derive(Debug)]
struct PyScheme {
    name: Arc<str>,
    parameters: Parameters,
    source: String,
    set_point: Option<Bytes>,
    class: Py<PyAny>,
    notifies: bool,
    credits: bool,
    hears: Vec<SignalKind>,
    speaks: Vec<SignalKind>,
    events: EventKinds,
}

/// Loads `python:MODULE:CLASS`.
pub(crate) fn load(name: &str, parameters: &Parameters) -> Result<Arc<dyn ForeignScheme>, LoadError> {
    Python::attach(|py| match load_class(py, name, parameters) {
        Ok(scheme) => Ok(Arc::new(scheme) as Arc<dyn ForeignScheme>),
        Err(error) => Err(refusal(py, error)),
    })
}

fn load_class(py: Python<'_>, name: &str, parameters: &Parameters) -> PyResult<PyScheme> {
    let (cp, rp) = (keywords(py, &parameters.cp)?, keywords(py, &parameters.rp)?);
    let loaded = py.import(MODULE)?.call_method1("load_scheme", (name, cp, rp))?;
    let kinds = |side: &str| -> PyResult<Vec<SignalKind>> {
        let names: Vec<String> = loaded.getattr(side)?.extract()?;
        Ok(names.iter().filter_map(|name| kind_of(name)).collect())
    };
    Ok(PyScheme {
        name: name.into(),
        parameters: parameters.clone(),
        source: loaded.getattr("source")?.extract()?,
        set_point: loaded.getattr("set_point")?.extract::<Option<u64>>()?.map(Bytes::new),
        class: loaded.getattr("scheme")?.unbind(),
        notifies: loaded.getattr("notifies")?.extract()?,
        credits: loaded.getattr("credits")?.extract()?,
        hears: kinds("hears")?,
        speaks: kinds("speaks")?,
        events: events_of(&loaded.getattr("events")?.extract::<Vec<String>>()?),
    })
}

/// A refusal of the Python side carries `table`, `why` and `hint`; anything else is said as it is.
fn refusal(py: Python<'_>, error: PyErr) -> LoadError {
    let value = error.value(py);
    let text = |name: &str| value.getattr(name).ok().and_then(|text| text.extract::<Option<String>>().ok()).flatten();
    let table = match text("table").as_deref() {
        Some("cp") => Some("cp"),
        Some("rp") => Some("rp"),
        _ => None,
    };
    let why = text("why").unwrap_or_else(|| error.to_string());
    let refused = LoadError { table, why, hint: text("hint") };
    let ends = !error.is_instance_of::<PyException>(py);
    REFUSED.set(Some((error.cause(py).unwrap_or(error), ends)));
    refused
}

/// What a scenario sets, as keyword arguments: quantities as octets, bit/s or picoseconds, the rest as written.
fn keywords<'py>(py: Python<'py>, parameters: &[(String, Scalar)]) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for (key, scalar) in parameters {
        match (quantity(scalar), scalar) {
            (Some(Value::Size(x)), _) => all.set_item(key, x.get())?,
            (Some(Value::Rate(x)), _) => all.set_item(key, x.get())?,
            (Some(Value::Time(x)), _) => all.set_item(key, x.ps())?,
            (_, Scalar::Text(text)) => all.set_item(key, text)?,
            (_, Scalar::Integer(n)) => all.set_item(key, n)?,
            (_, Scalar::Real(x)) => all.set_item(key, x)?,
            (_, Scalar::Flag(b)) => all.set_item(key, b)?,
        }
    }
    Ok(all)
}

impl PyScheme {
    /// A new machine: an instance of the class called `role`.
    fn machine(&self, role: &str, first: Option<u64>, parameters: &[(String, Scalar)]) -> Machine {
        self.machine_of(role, parameters, |py| PyTuple::new(py, first))
    }

    /// As [`PyScheme::machine`], made with the positional arguments that `first` gives.
    fn machine_of(
        &self,
        role: &str,
        parameters: &[(String, Scalar)],
        first: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
    ) -> Machine {
        let mut called = format!("{role}()");
        let made = Python::attach(|py| {
            let _call = Call::begin(py)?;
            let class = self.class.bind(py).getattr(role)?;
            let name = class.getattr("__name__")?.extract::<String>()?;
            called = format!("{name}.__init__");
            let object = class.call(first(py)?, Some(&keywords(py, parameters)?))?.unbind();
            let dice = Py::new(py, Dice(Rolls::new(0, 0, "", qcnlab_lab::schemes::Purpose::Reaction)))?;
            Ok(Machine { object, dice, scheme: self.name.clone(), class: name.into() })
        });
        made.unwrap_or_else(|error| fail(&self.name, called, error))
    }
}

impl ForeignScheme for PyScheme {
    fn name(&self) -> &str {
        &self.name
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn fingerprint(&self) -> &str {
        &self.source
    }

    fn hears(&self) -> &[SignalKind] {
        &self.hears
    }

    fn speaks(&self) -> &[SignalKind] {
        &self.speaks
    }

    fn events(&self) -> EventKinds {
        self.events
    }

    fn set_point(&self) -> Option<Bytes> {
        self.set_point
    }

    fn congestion_point(&self, id: CpId) -> Box<dyn ForeignCp> {
        let machine = self.machine("congestion_point", Some(u64::from(id.0)), &self.parameters.cp);
        let departures = machine.ask("stamps_departures", |py, object| {
            let stamps = object.getattr_opt("stamps_departures")?;
            Ok(CpCapabilities {
                sees_departures: overrides(py, object, "on_departure")?,
                marks_departures: overrides(py, object, "departure_mark")?,
                marks_arrivals: overrides(py, object, "on_arrival")?,
                stamps_departures: stamps.is_some_and(|stamps| stamps.is_truthy().unwrap_or(false)),
                codes_departures: overrides(py, object, "departure_code")?,
                sees_pauses: overrides(py, object, "on_pause")?,
            })
        });
        Box::new(PyCp { machine, departures })
    }

    fn reaction_point(&self, endpoint: Endpoint) -> Box<dyn ForeignRp> {
        let line_rate = endpoint.line_rate;
        let machine = self.machine("reaction_point", Some(line_rate.get()), &self.parameters.rp);
        let own = machine.ask("on_start", |py, object| {
            let own = Own::of(py, object)?;
            if overrides(py, object, "on_start")? {
                object.call_method1("on_start", (facts::endpoint(py, &endpoint)?,))?;
            }
            Ok(own)
        });
        let state = machine.state(|py, object| State::of(py, object, own, line_rate));
        Box::new(PyRp { machine, line_rate, own, events: self.events, state })
    }

    /// Attaches the thread to the interpreter once: each call of a machine then finds its thread state made.
    fn on_thread(&self, work: &mut (dyn FnMut() + Send)) {
        Python::attach(|py| py.detach(work));
    }

    fn answers(&self) -> bool {
        self.notifies
    }

    fn credit_point(&self, endpoint: Endpoint) -> Option<Box<dyn CreditPoint>> {
        self.credits.then(|| {
            let machine = self.machine_of("credit_point", &self.parameters.rp, |py| {
                PyTuple::new(py, [facts::endpoint(py, &endpoint)?])
            });
            Box::new(PyCredit(machine)) as Box<dyn CreditPoint>
        })
    }

    fn notification_point(&self) -> Option<Box<dyn ForeignNp>> {
        self.notifies.then(|| Box::new(PyNp(self.machine("notification_point", None, &[]))) as Box<dyn ForeignNp>)
    }
}

/// Ends the run because Python raised.
fn fail(scheme: &str, method: String, error: PyErr) -> ! {
    let why = error.to_string();
    give_up(Failure { scheme: scheme.to_owned(), method, why, broken: false, cause: Some(Arc::new(error)) })
}

/// An instance of a Python class, and what its failures are called.
#[derive(Debug)]
struct Machine {
    object: Py<PyAny>,
    dice: Py<Dice>,
    scheme: Arc<str>,
    class: Arc<str>,
}

impl Clone for Machine {
    fn clone(&self) -> Machine {
        let copy = self.ask("__deepcopy__", |py, object| {
            py.import("copy")?.call_method1("deepcopy", (object,)).map(Bound::unbind)
        });
        let dice = Python::attach(|py| self.dice.clone_ref(py));
        Machine { object: copy, dice, scheme: self.scheme.clone(), class: self.class.clone() }
    }
}

impl Machine {
    fn ask<K>(
        &self,
        method: &str,
        question: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>) -> PyResult<K>,
    ) -> K {
        let answer = Python::attach(|py| {
            let _call = Call::begin(py)?;
            question(py, self.object.bind(py))
        });
        answer.unwrap_or_else(|error| fail(&self.scheme, format!("{}.{method}", self.class), error))
    }

    /// As [`Machine::ask`], with dice lent to Python for the call.
    fn roll<K>(
        &self,
        method: &str,
        rolls: &mut Rolls,
        question: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>, &Bound<'py, Dice>) -> PyResult<K>,
    ) -> K {
        self.ask(method, |py, object| {
            let dice = self.dice.bind(py);
            std::mem::swap(&mut dice.borrow_mut().0, rolls);
            let answer = question(py, object, dice);
            std::mem::swap(&mut dice.borrow_mut().0, rolls);
            answer
        })
    }

    /// What a reaction point answers to questions; a failure is that of the method that was asked.
    fn state(
        &self,
        state: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>) -> Result<State, Unanswered>,
    ) -> State {
        let answer = Python::attach(|py| {
            let _call = Call::begin(py).map_err(|error| Unanswered { method: "limit", error })?;
            state(py, self.object.bind(py))
        });
        answer.unwrap_or_else(|Unanswered { method, error }| {
            fail(&self.scheme, format!("{}.{method}", self.class), error)
        })
    }

    /// As [`Machine::roll`]; then asks for the state of a reaction point, in the same call.
    fn act(
        &self,
        method: &'static str,
        rolls: &mut Rolls,
        call: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>, &Bound<'py, Dice>) -> PyResult<()>,
        state: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>) -> Result<State, Unanswered>,
    ) -> State {
        let of_call = |error| Unanswered { method, error };
        let answer = Python::attach(|py| {
            let _call = Call::begin(py).map_err(of_call)?;
            let (object, dice) = (self.object.bind(py), self.dice.bind(py));
            std::mem::swap(&mut dice.borrow_mut().0, rolls);
            let done = call(py, object, dice);
            std::mem::swap(&mut dice.borrow_mut().0, rolls);
            done.map_err(of_call)?;
            state(py, object)
        });
        answer.unwrap_or_else(|Unanswered { method, error }| {
            fail(&self.scheme, format!("{}.{method}", self.class), error)
        })
    }
}

/// A method of a machine that raised, or gave what it must not.
#[derive(Debug)]
struct Unanswered {
    method: &'static str,
    error: PyErr,
}

/// Whether a machine's class has its own method, not the base class's.
fn overrides(py: Python<'_>, object: &Bound<'_, PyAny>, method: &str) -> PyResult<bool> {
    py.import(MODULE)?.call_method1("overrides", (object, method))?.extract()
}

#[derive(Clone, Debug)]
struct PyCp {
    machine: Machine,
    departures: CpCapabilities,
}

impl CongestionPoint for PyCp {
    fn capabilities(&self) -> CpCapabilities {
        self.departures
    }

    fn on_arrival(&mut self, now: Instant, frame: &Arrival, at: Queue, dice: &mut Rolls) -> CpAction {
        self.machine.roll("on_arrival", dice, |py, object, dice| {
            action_of(
                &object
                    .call_method1(intern!(py, "on_arrival"), (now.ps(), arrival(py, frame)?, queue(py, at)?, dice))?,
            )
        })
    }

    fn on_departure(&mut self, now: Instant, len: Bytes) {
        self.machine.ask("on_departure", |py, object| {
            object.call_method1(intern!(py, "on_departure"), (now.ps(), len.get())).map(drop)
        });
    }

    fn departure_mark(&mut self, now: Instant, controlled: bool, at: Queue, dice: &mut Rolls) -> u8 {
        self.machine.roll("departure_mark", dice, |py, object, dice| {
            let mark =
                object.call_method1(intern!(py, "departure_mark"), (now.ps(), controlled, queue(py, at)?, dice))?;
            mark.extract().or_else(|_| Err(refused(&mark, "a whole number from 0 to 255")?))
        })
    }

    fn departure_code(&mut self, now: Instant, sent: Bytes, at: Queue, dice: &mut Rolls) -> u8 {
        self.machine.roll("departure_code", dice, |py, object, dice| {
            let code =
                object.call_method1(intern!(py, "departure_code"), (now.ps(), sent.get(), queue(py, at)?, dice))?;
            code.extract().or_else(|_| Err(refused(&code, "a whole number from 0 to 255")?))
        })
    }

    fn on_pause(&mut self, now: Instant, paused: bool, frames: u32) {
        self.machine.ask("on_pause", |py, object| {
            object.call_method1(intern!(py, "on_pause"), (now.ps(), paused, frames)).map(drop)
        });
    }
}

/// The methods that a reaction point's class has of its own; the base class's do nothing and need no call.
#[derive(Clone, Copy, Debug)]
struct Own {
    sent: bool,
    wake: bool,
    target: bool,
    window: bool,
    gap: bool,
    credit: bool,
}

/// The method that hears of each kind of event.
const HEARS: [(EventKind, &str); 6] = [
    (EventKind::Acknowledgement, "on_ack"),
    (EventKind::NegativeAcknowledgement, "on_nack"),
    (EventKind::Loss, "on_loss"),
    (EventKind::Trim, "on_trim"),
    (EventKind::Credit, "on_credit"),
    (EventKind::Pause, "on_pause"),
];

/// The events that methods of these names hear of.
fn events_of(methods: &[String]) -> EventKinds {
    let own = HEARS.into_iter().filter(|(_, method)| methods.iter().any(|own| own == method));
    own.fold(EventKinds::NONE, |events, (kind, _)| events.with(kind))
}

impl Own {
    fn of(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Own> {
        let own = |method: &str| overrides(py, object, method);
        Ok(Own {
            sent: own("on_sent")?,
            wake: own("next_wake")?,
            target: own("target_rate")?,
            window: own("window")?,
            gap: own("gap")?,
            credit: own("credit")?,
        })
    }
}

/// What a reaction point answers to questions.
#[derive(Clone, Copy, Debug)]
struct State {
    wake: Instant,
    limit: Option<BitRate>,
    target: BitRate,
    window: Option<Bytes>,
    gap: Span,
    credit: Bytes,
}

impl State {
    fn of(py: Python<'_>, object: &Bound<'_, PyAny>, own: Own, line_rate: BitRate) -> Result<State, Unanswered> {
        let ask = |asked: bool, name: &Bound<'_, PyString>, method: &'static str| match asked {
            true => {
                let amount = object.call_method0(name).and_then(|answer| amount(&answer, name));
                amount.map_err(|error| Unanswered { method, error })
            }
            false => Ok(None),
        };
        let limit = ask(true, intern!(py, "limit"), "limit")?.map(BitRate::bps);
        let target = ask(own.target, intern!(py, "target_rate"), "target_rate")?.map(BitRate::bps);
        let wake = ask(own.wake, intern!(py, "next_wake"), "next_wake")?;
        Ok(State {
            wake: wake.map_or(Instant::NEVER, Instant::from_ps),
            limit,
            target: target.or(limit).unwrap_or(line_rate),
            window: ask(own.window, intern!(py, "window"), "window")?.map(Bytes::new),
            gap: ask(own.gap, intern!(py, "gap"), "gap")?.map_or(Span::ZERO, Span::from_ps),
            credit: ask(own.credit, intern!(py, "credit"), "credit")?.map_or(Bytes::new(u64::MAX), Bytes::new),
        })
    }
}

/// A whole number that is not negative; what is behind the point of another number is dropped.
fn amount(answer: &Bound<'_, PyAny>, method: &Bound<'_, PyString>) -> PyResult<Option<u64>> {
    if answer.is_none() {
        return Ok(None);
    }
    if let Ok(whole) = answer.extract::<u64>() {
        return Ok(Some(whole));
    }
    match answer.extract::<f64>() {
        Ok(x) if (0.0..1.8e19).contains(&x) => Ok(Some(x as u64)),
        _ => Err(PyValueError::new_err(format!(
            "{method}() gave {}; it must be None or a number from 0 to 2**64 - 1",
            answer.repr()?
        ))),
    }
}

#[derive(Clone, Debug)]
struct PyRp {
    machine: Machine,
    line_rate: BitRate,
    own: Own,
    events: EventKinds,
    state: State,
}

impl PyRp {
    fn act(
        &mut self,
        method: &'static str,
        dice: &mut Rolls,
        call: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>, &Bound<'py, Dice>) -> PyResult<()>,
    ) {
        let (own, line_rate) = (self.own, self.line_rate);
        self.state = self.machine.act(method, dice, call, |py, object| State::of(py, object, own, line_rate));
    }
}

impl ReactionPoint for PyRp {
    fn capabilities(&self) -> RpCapabilities {
        let permits_windows = self.own.window || self.own.gap;
        let sends_by_credit = self.own.credit;
        RpCapabilities { events: self.events, permits_windows, sends_by_credit, ..RpCapabilities::LIMITER }
    }

    fn on_sent(&mut self, now: Instant, sent: Bytes, backlog: Bytes, dice: &mut Rolls) -> Stamp {
        if self.own.sent {
            self.act("on_sent", dice, |py, object, dice| {
                object.call_method1(intern!(py, "on_sent"), (now.ps(), sent.get(), backlog.get(), dice)).map(drop)
            });
        }
        Stamp::default()
    }

    fn on_signal(&mut self, now: Instant, heard: &Signal, dice: &mut Rolls) {
        self.act("on_signal", dice, |py, object, dice| match signal(py, heard)? {
            Some(heard) => object.call_method1(intern!(py, "on_signal"), (now.ps(), heard, dice)).map(drop),
            None => Ok(()),
        });
    }

    fn on_wake(&mut self, now: Instant, dice: &mut Rolls) {
        self.act("on_wake", dice, |py, object, dice| {
            object.call_method1(intern!(py, "on_wake"), (now.ps(), dice)).map(drop)
        });
    }

    fn on_transport(&mut self, now: Instant, event: &TransportEvent<'_>, flight: &Flight, dice: &mut Rolls) {
        let heard = HEARS.into_iter().find(|(kind, _)| *kind == event.kind());
        let Some((_, method)) = heard.filter(|(kind, _)| self.events.contains(*kind)) else { return };
        self.act(method, dice, |py, object, dice| {
            let (now, flight) = (now.ps(), facts::flight(py, flight)?);
            match event {
                TransportEvent::Acknowledged(ack) => {
                    object.call_method1(intern!(py, "on_ack"), (now, facts::acknowledgement(py, ack)?, flight, dice))
                }
                TransportEvent::NegativelyAcknowledged => object.call_method1(method, (now, flight, dice)),
                TransportEvent::Lost(sign) => {
                    object.call_method1(method, (now, *sign == LossSign::Timeout, flight, dice))
                }
                TransportEvent::Trimmed(octets) | TransportEvent::Credited(octets) => {
                    object.call_method1(method, (now, octets.get(), flight, dice))
                }
                TransportEvent::Paused(paused) => object.call_method1(method, (now, *paused, flight, dice)),
                // A scheme in Python has no ports that stop flows.
                TransportEvent::FlowPaused(_) => Ok(py.None().into_bound(py)),
            }
            .map(drop)
        });
    }

    fn window(&self) -> Option<Bytes> {
        self.state.window
    }

    fn gap(&self) -> Span {
        self.state.gap
    }

    fn credit(&self) -> Bytes {
        self.state.credit
    }

    fn next_wake(&self) -> Instant {
        self.state.wake
    }

    fn limit(&self) -> Option<BitRate> {
        self.state.limit
    }

    fn gauge(&self) -> Gauge {
        let current_rate = self.state.limit.unwrap_or(self.line_rate);
        Gauge { current_rate, target_rate: self.state.target }
    }
}

#[derive(Clone, Debug)]
struct PyNp(Machine);

impl NotificationPoint for PyNp {
    fn on_frame(&mut self, now: Instant, frame: &Delivered) -> Option<Signal> {
        self.0.ask("on_frame", |py, object| {
            signal_of(&object.call_method1(intern!(py, "on_frame"), (now.ps(), delivered(py, frame)?))?)
        })
    }
}

/// A credit point, which draws nothing.
#[derive(Debug)]
struct PyCredit(Machine);

impl CreditPoint for PyCredit {
    fn on_packet(&mut self, now: Instant, packet: &Reached) {
        self.0.ask("on_packet", |py, object| {
            object.call_method1(intern!(py, "on_packet"), (now.ps(), facts::reached(py, packet)?)).map(drop)
        });
    }

    fn on_whole(&mut self, flow: FlowId) {
        self.0.ask("on_whole", |py, object| object.call_method1(intern!(py, "on_whole"), (flow.0,)).map(drop));
    }

    fn next_wake(&self) -> Instant {
        let wake = self.0.ask("next_wake", |py, object| {
            let name = intern!(py, "next_wake");
            amount(&object.call_method0(name)?, name)
        });
        wake.map_or(Instant::NEVER, Instant::from_ps)
    }

    fn on_wake(&mut self, now: Instant) -> Option<Grant> {
        self.0.ask("on_wake", |py, object| facts::grant_of(&object.call_method1(intern!(py, "on_wake"), (now.ps(),))?))
    }
}
