//! Frames, queues, signals and dice as Python schemes see them: the tuples of `qcnlab.foreign`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use qcnlab_lab::schemes as roles;
use qcnlab_lab::schemes::{
    Acknowledgement, Arrival, Bcn, Cnm, CpAction, CpId, Delivered, Endpoint, Flight, FlowId, Grant, HopTelemetry,
    Queue, QueueLen, Reached, Signal, SignalKind, SourcePause,
};
use qcnlab_lab::units::{BitRate, Bytes, Span};

/// Random numbers of one machine, lent for the length of a call.
#[pyclass(module = "qcnlab._core")]
#[derive(Debug)]
pub(crate) struct Dice(pub(crate) roles::Dice);

#[pymethods]
impl Dice {
    fn uniform(&mut self, low: f64, high: f64) -> f64 {
        self.0.uniform(low, high)
    }

    fn below(&mut self, n: u32) -> u32 {
        self.0.below(n)
    }

    fn exponential(&mut self) -> f64 {
        self.0.exponential()
    }

    fn jitter(&mut self, width: f64) -> f64 {
        self.0.jitter(width)
    }
}

macro_rules! tuples {
    ($($name:ident),* $(,)?) => {
        /// The classes of `qcnlab.foreign` that travel between the machines.
        #[allow(non_snake_case)]
        struct Tuples { $( $name: Py<PyAny>, )* }

        impl Tuples {
            fn get(py: Python<'_>) -> PyResult<&Tuples> {
                static TUPLES: PyOnceLock<Tuples> = PyOnceLock::new();
                TUPLES.get_or_try_init(py, || {
                    let module = py.import("qcnlab.foreign")?;
                    Ok(Tuples { $( $name: module.getattr(stringify!($name))?.unbind(), )* })
                })
            }
        }
    };
}

tuples!(
    Arrival,
    Queue,
    Delivered,
    Mark,
    Cnm,
    Bcn,
    Echo,
    PushBack,
    Cnp,
    QueueLen,
    Reflection,
    ReceivedRate,
    SourcePause,
    Credit,
    Endpoint,
    Flight,
    Hop,
    Acknowledgement,
    Reached,
    Grant,
);

pub(crate) fn endpoint<'py>(py: Python<'py>, endpoint: &Endpoint) -> PyResult<Bound<'py, PyAny>> {
    let Endpoint { line_rate, base_rtt, longest_rtt, mtu, hops } = endpoint;
    let fields = (line_rate.get(), base_rtt.ps(), mtu.get(), longest_rtt.ps(), *hops);
    Tuples::get(py)?.Endpoint.bind(py).call1(fields)
}

pub(crate) fn flight<'py>(py: Python<'py>, flight: &Flight) -> PyResult<Bound<'py, PyAny>> {
    let fields = (flight.acknowledged.get(), flight.sent.get(), flight.in_flight.get(), flight.early.get());
    Tuples::get(py)?.Flight.bind(py).call1(fields)
}

pub(crate) fn acknowledgement<'py>(py: Python<'py>, ack: &Acknowledgement<'_>) -> PyResult<Bound<'py, PyAny>> {
    let tuples = Tuples::get(py)?;
    let hop = |hop: &HopTelemetry| {
        let fields = (hop.left_at.ps(), hop.sent.get(), hop.queue.get(), hop.rate.get());
        tuples.Hop.bind(py).call1(fields)
    };
    let hops = PyTuple::new(py, ack.hops.iter().map(hop).collect::<PyResult<Vec<_>>>()?)?;
    let fields = (ack.newly.get(), ack.packets, ack.marked, ack.sent_at.ps(), ack.path, hops, ack.code);
    tuples.Acknowledgement.bind(py).call1(fields)
}

pub(crate) fn arrival<'py>(py: Python<'py>, frame: &Arrival) -> PyResult<Bound<'py, PyAny>> {
    let Arrival { flow, size, admitted, controlled, cn_tagged, limited_by, probe, mark } = *frame;
    let limited_by = limited_by.map(|cp| cp.0);
    let fields = (flow.0, size.get(), admitted, controlled, cn_tagged, limited_by, probe, mark);
    Tuples::get(py)?.Arrival.bind(py).call1(fields)
}

pub(crate) fn queue(py: Python<'_>, queue: Queue) -> PyResult<Bound<'_, PyAny>> {
    let fields = (queue.len.get(), queue.capacity.get(), queue.rate.get());
    Tuples::get(py)?.Queue.bind(py).call1(fields)
}

pub(crate) fn delivered<'py>(py: Python<'py>, frame: &Delivered) -> PyResult<Bound<'py, PyAny>> {
    Tuples::get(py)?.Delivered.bind(py).call1((frame.size.get(), frame.mark, frame.controlled))
}

pub(crate) fn reached<'py>(py: Python<'py>, packet: &Reached) -> PyResult<Bound<'py, PyAny>> {
    let Reached { flow, total, payload, cut } = packet;
    let fields = (flow.0, total.map(Bytes::get), payload.get(), *cut);
    Tuples::get(py)?.Reached.bind(py).call1(fields)
}

/// The credit that a tuple stands for; `None` for `None`.
pub(crate) fn grant_of(answer: &Bound<'_, PyAny>) -> PyResult<Option<Grant>> {
    if answer.is_none() {
        return Ok(None);
    }
    let is_grant = answer.get_type().is(Tuples::get(answer.py())?.Grant.bind(answer.py()));
    match answer.extract::<(u32, u64)>() {
        Ok((flow, credit)) if is_grant => Ok(Some(Grant { flow: FlowId(flow), credit: Bytes::new(credit) })),
        _ => Err(refused(answer, "None or a Grant of qcnlab.foreign with fields in their ranges")?),
    }
}

/// The kind of signal that the class called `name` is.
pub(crate) fn kind_of(name: &str) -> Option<SignalKind> {
    Some(match name {
        "Cnm" => SignalKind::Cnm,
        "Bcn" => SignalKind::Bcn,
        "Echo" => SignalKind::Echo,
        "PushBack" => SignalKind::PushBack,
        "Cnp" => SignalKind::Cnp,
        "QueueLen" => SignalKind::QueueLen,
        "Reflection" => SignalKind::Reflection,
        "ReceivedRate" => SignalKind::ReceivedRate,
        "Credit" => SignalKind::Credit,
        "SourcePause" => SignalKind::SourcePause,
        _ => return None,
    })
}

/// A signal as a tuple; `None` for those about probes, which Python machines do not send.
pub(crate) fn signal<'py>(py: Python<'py>, signal: &Signal) -> PyResult<Option<Bound<'py, PyAny>>> {
    let tuples = Tuples::get(py)?;
    let made = match *signal {
        Signal::Cnm(m) => tuples.Cnm.bind(py).call1((m.cp.0, m.quantized_fb, m.q_offset, m.q_delta)),
        Signal::Bcn(m) => tuples.Bcn.bind(py).call1((m.cp.0, m.q_offset, m.q_delta, m.stop)),
        Signal::Echo(cp) => tuples.Echo.bind(py).call1((cp.0,)),
        Signal::PushBack(cp) => tuples.PushBack.bind(py).call1((cp.0,)),
        Signal::Cnp => tuples.Cnp.bind(py).call0(),
        Signal::QueueLen(m) => tuples.QueueLen.bind(py).call1((m.cp.0, m.len.get(), m.arrived.get())),
        Signal::Reflection(fb) => tuples.Reflection.bind(py).call1((fb,)),
        Signal::ReceivedRate(rate) => tuples.ReceivedRate.bind(py).call1((rate.get(),)),
        Signal::Credit(octets) => tuples.Credit.bind(py).call1((octets.get(),)),
        Signal::SourcePause(pause) => tuples.SourcePause.bind(py).call1((pause.cp.0, pause.time.ps())),
        Signal::Answer(_) | Signal::Returned(_) => return Ok(None),
    };
    made.map(Some)
}

/// The signal a tuple stands for; `None` for `None`.
pub(crate) fn signal_of(answer: &Bound<'_, PyAny>) -> PyResult<Option<Signal>> {
    if answer.is_none() {
        return Ok(None);
    }
    let (py, class) = (answer.py(), answer.get_type());
    let tuples = Tuples::get(py)?;
    let fields = |error: PyErr| match refused(answer, &format!("a signal with fields in their ranges ({error})")) {
        Ok(refused) | Err(refused) => refused,
    };
    let is = |other: &Py<PyAny>| class.is(other.bind(py));
    let cp = || answer.get_item(0)?.extract().map(CpId).map_err(fields);
    Ok(Some(if is(&tuples.Cnm) {
        let (cp, quantized_fb, q_offset, q_delta) = answer.extract().map_err(fields)?;
        Signal::Cnm(Cnm { cp: CpId(cp), quantized_fb, q_offset, q_delta })
    } else if is(&tuples.Bcn) {
        let (cp, q_offset, q_delta, stop) = answer.extract().map_err(fields)?;
        Signal::Bcn(Bcn { cp: CpId(cp), q_offset, q_delta, stop })
    } else if is(&tuples.Echo) {
        Signal::Echo(cp()?)
    } else if is(&tuples.PushBack) {
        Signal::PushBack(cp()?)
    } else if is(&tuples.Cnp) {
        Signal::Cnp
    } else if is(&tuples.QueueLen) {
        let (cp, len, arrived) = answer.extract().map_err(fields)?;
        Signal::QueueLen(QueueLen { cp: CpId(cp), len: Bytes::new(len), arrived: Bytes::new(arrived) })
    } else if is(&tuples.Reflection) {
        Signal::Reflection(answer.get_item(0)?.extract().map_err(fields)?)
    } else if is(&tuples.ReceivedRate) {
        Signal::ReceivedRate(BitRate::bps(answer.get_item(0)?.extract().map_err(fields)?))
    } else if is(&tuples.Credit) {
        Signal::Credit(Bytes::new(answer.get_item(0)?.extract().map_err(fields)?))
    } else if is(&tuples.SourcePause) {
        let (cp, time) = answer.extract().map_err(fields)?;
        Signal::SourcePause(SourcePause { cp: CpId(cp), time: Span::from_ps(time) })
    } else {
        return Err(refused(answer, "None or a signal of qcnlab.foreign")?);
    }))
}

/// The exception for an answer that is not `what`.
pub(crate) fn refused(answer: &Bound<'_, PyAny>, what: &str) -> PyResult<PyErr> {
    Ok(PyTypeError::new_err(format!("gave {}; it must be {what}", answer.repr()?)))
}

/// What a congestion point wants done: `None`, a [`signal`] to send, or a mark.
pub(crate) fn action_of(answer: &Bound<'_, PyAny>) -> PyResult<CpAction> {
    let py = answer.py();
    if answer.get_type().is(Tuples::get(py)?.Mark.bind(py)) {
        let value = answer.get_item(0)?.extract();
        return value.map(CpAction::Mark).or_else(|_| Err(refused(answer, "None or a mark from 1 to 255")?));
    }
    Ok(signal_of(answer)?.map_or(CpAction::Nothing, CpAction::Send))
}
