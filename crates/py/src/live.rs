//! Live runs from Python. Elsewhere than on Linux there are none.

use crate::errors;
use crate::outcome::Outcome;
use crate::scenario::Scenario;
use pyo3::prelude::*;
use std::path::PathBuf;

/// What a live run is asked for.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "live runs need Linux"))]
struct Request {
    scale: u32,
    /// Who makes the traffic: own, iperf3 or none.
    traffic: String,
    /// Who paces: adapter or htb.
    limiter: String,
    seed: Option<u64>,
    /// A file, and the octets of each frame that it keeps.
    capture: Option<(PathBuf, usize)>,
    progress: Option<Py<PyAny>>,
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use crate::running::{Attended, attended};
    use qcnlab_lab::Control;
    use qcnlab_live::{LimiterKind, LiveError, LiveOptions, Standing, TrafficSource};
    use std::fs::File;
    use std::io::BufWriter;
    use std::sync::OnceLock;

    pub(super) fn doctor() -> String {
        qcnlab_live::findings_json(&qcnlab_live::examine())
    }

    pub(super) fn slowed(py: Python<'_>, scenario: &Scenario, scale: u32) -> PyResult<Scenario> {
        qcnlab_live::slowed(&scenario.0, scale).map(Scenario).map_err(|fault| live_exception(py, &fault))
    }

    fn live_exception(py: Python<'_>, fault: &LiveError) -> PyErr {
        match fault {
            LiveError::Run(fault) => errors::run_exception(py, fault),
            LiveError::Scenario(fault) => errors::scenario_exception(py, fault),
            other => errors::plain_exception(py, &other.to_string()),
        }
    }

    fn traffic_of(py: Python<'_>, name: &str) -> PyResult<TrafficSource> {
        match name {
            "own" => Ok(TrafficSource::Own),
            "iperf3" => Ok(TrafficSource::Iperf3),
            "none" => Ok(TrafficSource::None),
            other => Err(errors::plain_exception(py, &format!("traffic is own, iperf3 or none, not {other}"))),
        }
    }

    fn limiter_of(py: Python<'_>, name: &str) -> PyResult<LimiterKind> {
        let all = [LimiterKind::Adapter, LimiterKind::Htb];
        let known = all.into_iter().find(|kind| kind.name() == name);
        known.ok_or_else(|| errors::plain_exception(py, &format!("limiter is adapter or htb, not {name}")))
    }

    pub(super) fn stand(
        py: Python<'_>,
        scenario: &Scenario,
        scale: u32,
        traffic: &str,
        prefix: &str,
        show: &Py<PyAny>,
    ) -> PyResult<()> {
        let options = LiveOptions { scale, traffic: traffic_of(py, traffic)?, ..LiveOptions::default() };
        let (control, standing) = (Control::default(), OnceLock::<Standing>::new());
        let watched = Attended { control: &control, work_ps: 1, progress: None, counts_messages: false };
        let running = || qcnlab_live::stand(&scenario.0, &options, prefix, &control, &standing);
        let show = || {
            let Some(standing) = standing.get().filter(|standing| standing.view.has_begun()) else { return Ok(()) };
            let hosts: Vec<_> =
                standing.hosts.iter().map(|(name, address)| (name.clone(), address.to_string())).collect();
            show.call1(py, (standing.view.to_json().to_string(), hosts, standing.switches.clone())).map(drop)
        };
        attended(py, &watched, running, show)?.map_err(|fault| live_exception(py, &fault))
    }

    pub(super) fn run(py: Python<'_>, scenario: &Scenario, request: Request) -> PyResult<(Outcome, String)> {
        let Request { scale, traffic, limiter, seed, capture, progress } = request;
        let (traffic, limiter) = (traffic_of(py, &traffic)?, limiter_of(py, &limiter)?);
        let snap = capture.as_ref().map_or(0, |(_, snap)| *snap);
        let options = LiveOptions { scale, traffic, limiter, snap, seed, ..LiveOptions::default() };
        let slow = qcnlab_live::slowed(&scenario.0, scale).map_err(|fault| live_exception(py, &fault))?;
        // Before any thread is started: what is not root enters a user namespace, which only one thread can.
        qcnlab_live::prepare_process().map_err(|fault| live_exception(py, &fault))?;
        let control = Control::default();
        let work_ps = slow.duration.ps();
        let watched = Attended { control: &control, work_ps, progress, counts_messages: false };
        let running = || qcnlab_live::run(&scenario.0, &options, &control);
        let run = attended(py, &watched, running, || Ok(()))?.map_err(|fault| live_exception(py, &fault))?;
        let mut account = run.account_json();
        if let Some((file, _)) = &capture {
            let application = concat!("qcnlab ", env!("CARGO_PKG_VERSION"));
            let written = File::create(file)
                .map_err(|error| error.to_string())
                .and_then(|out| {
                    qcnlab_live::write_capture(&run, BufWriter::new(out), application)
                        .map_err(|error| error.to_string())
                })
                .map_err(|error| errors::plain_exception(py, &format!("{}: {error}", file.display())))?;
            account["captured_frames"] = written.into();
        }
        Ok((Outcome(run.outcome), account.to_string()))
    }
}

#[cfg(not(target_os = "linux"))]
mod linux {
    use super::*;

    const NOWHERE_ELSE: &str = "live runs need Linux: network namespaces, packet sockets and TAP";

    pub(super) fn doctor() -> String {
        let finding = serde_json::json!({
            "what": "Linux", "needed": true, "works": false, "said": "another system", "remedy": NOWHERE_ELSE,
        });
        serde_json::json!({ "able": false, "findings": [finding] }).to_string()
    }

    pub(super) fn slowed(py: Python<'_>, _: &Scenario, _: u32) -> PyResult<Scenario> {
        Err(errors::plain_exception(py, NOWHERE_ELSE))
    }

    pub(super) fn stand(py: Python<'_>, _: &Scenario, _: u32, _: &str, _: &str, _: &Py<PyAny>) -> PyResult<()> {
        Err(errors::plain_exception(py, NOWHERE_ELSE))
    }

    pub(super) fn run(py: Python<'_>, _: &Scenario, _: Request) -> PyResult<(Outcome, String)> {
        Err(errors::plain_exception(py, NOWHERE_ELSE))
    }
}

/// What this machine can do of live runs, as JSON. A process that is not root enters a user namespace for that.
#[pyfunction]
pub(crate) fn live_doctor(py: Python<'_>) -> String {
    py.detach(linux::doctor)
}

/// The scenario as it is run live at a scale.
#[pyfunction]
pub(crate) fn live_slowed(py: Python<'_>, scenario: &Scenario, scale: u32) -> PyResult<Scenario> {
    linux::slowed(py, scenario, scale)
}

/// A live run: its outcome, and its own account as JSON. `capture` is a file and the octets of each frame it keeps.
#[pyfunction]
#[pyo3(signature = (
    scenario, *, scale, traffic = "own", limiter = "adapter", seed = None, capture = None, progress = None
))]
#[expect(clippy::too_many_arguments, reason = "keywords of one Python function")]
pub(crate) fn live_run(
    py: Python<'_>,
    scenario: &Scenario,
    scale: u32,
    traffic: &str,
    limiter: &str,
    seed: Option<u64>,
    capture: Option<(PathBuf, usize)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Outcome, String)> {
    let (traffic, limiter) = (traffic.to_owned(), limiter.to_owned());
    linux::run(py, scenario, Request { scale, traffic, limiter, seed, capture, progress })
}

/// Leaves the network of a scenario standing until a signal comes. Meanwhile `show` gets what it shows as JSON, the
/// names and addresses of its hosts, and the name of the switches' namespace.
#[pyfunction]
#[pyo3(signature = (scenario, show, *, scale, traffic = "none", prefix = ""))]
pub(crate) fn live_stand(
    py: Python<'_>,
    scenario: &Scenario,
    show: Py<PyAny>,
    scale: u32,
    traffic: &str,
    prefix: &str,
) -> PyResult<()> {
    linux::stand(py, scenario, scale, traffic, prefix, &show)
}
