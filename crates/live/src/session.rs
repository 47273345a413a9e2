//! A live run: the network is built, threads run switches, adapters and applications, and what they recorded becomes
//! the outcome of a scenario like any other.

use crate::error::{LiveError, Unsupported};
use crate::gate::cpu_ticks;
use crate::iperf;
use crate::layout::{Layout, ip};
use crate::names::Names;
use crate::network::{Spaces, build};
use crate::options::{LiveOptions, TrafficSource};
use crate::outcome::{LiveRun, Rest, put_together};
use crate::shaper::LimiterKind;
use crate::sys::namespace::{become_root_of_user_namespace, is_root, threads};
use crate::sys::scheduling::lock_memory;
use crate::threads::Session;
use crate::view::View;
use qcnlab_lab::{Control, port_defences, run_elsewhere};
use qcnlab_scenario::{PortDefence, Scenario};
use qcnlab_sim::{Finished, NodeId, Plan, PortId};
use qcnlab_units::{IdVec, Instant};
use std::net::Ipv4Addr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

/// The fastest link that is run at all, Mb/s.
const FASTEST: u64 = 1000;
/// The end of a network that stands: 30 years.
const FAR: Instant = Instant::from_ps(u64::MAX / 20);

/// A network that stands.
#[derive(Debug)]
pub struct Standing {
    /// What it shows of itself.
    pub view: View,
    /// Its hosts: the name of each one's namespace, and its address.
    pub hosts: Vec<(String, Ipv4Addr)>,
    /// The name of the switches' namespace.
    pub switches: String,
}

/// Builds the network of a scenario under names that `ip netns` knows, each behind `prefix`, and leaves it standing
/// until `control` is told to stop. `standing` is set when programs may use it.
///
/// # Errors
/// As [`run`], when a name is taken or none, and when the process may not give names.
pub fn stand(
    scenario: &Scenario,
    options: &LiveOptions,
    prefix: &str,
    control: &Control,
    standing: &OnceLock<Standing>,
) -> Result<(), LiveError> {
    if prefix.contains('/') {
        return Err(LiveError::Prefix { prefix: prefix.to_owned() });
    }
    if !is_root() {
        return Err(LiveError::NamesNeedRoot);
    }
    let scenario = slowed(scenario, options.scale)?;
    let seed = options.seed.unwrap_or(scenario.seed);
    let defences = port_defences(&scenario, seed)?;
    let stood = run_elsewhere(&scenario, seed, |mut plan| {
        let last = plan.end;
        plan.end = FAR;
        plan.flows.iter_mut().filter(|flow| flow.stop >= last).for_each(|flow| flow.stop = FAR);
        plan.generators.iter_mut().filter(|all| all.stop >= last).for_each(|all| all.stop = FAR);
        run_plan(&plan, defences, options, control, Some((prefix, standing))).map(|(done, _)| done)
    })?;
    match stood {
        Ok(_) | Err(LiveError::Run(qcnlab_lab::RunError::Cancelled)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the scenario as it is run at a scale.
///
/// # Errors
/// When the data plane cannot run it.
pub fn slowed(scenario: &Scenario, scale: u32) -> Result<Scenario, LiveError> {
    if !(1..=100_000).contains(&scale) {
        return Err(Unsupported::Scale { scale }.into());
    }
    Ok(scenario.slowed(scale)?)
}

/// Makes the process able to build networks: as it is for root, else in a user namespace of its own.
///
/// # Errors
/// When the system refuses, or when the process has several threads and is not root.
pub fn prepare_process() -> Result<(), LiveError> {
    if is_root() {
        return Ok(());
    }
    if threads() > 1 {
        let what = "a process that is not root and has several threads cannot enter a user namespace".to_owned();
        return Err(LiveError::NotOurs { what });
    }
    Ok(become_root_of_user_namespace()?)
}

/// Runs a scenario live. `control` is told how far it is, and may stop it.
///
/// # Errors
/// When the data plane cannot run the scenario, the system refuses something, or the run is stopped.
pub fn run(scenario: &Scenario, options: &LiveOptions, control: &Control) -> Result<LiveRun, LiveError> {
    let scenario = slowed(scenario, options.scale)?;
    let seed = options.seed.unwrap_or(scenario.seed);
    let mut rest = None;
    let defences = port_defences(&scenario, seed)?;
    let outcome = run_elsewhere(&scenario, seed, |plan| {
        let (done, kept) = run_plan(&plan, defences, options, control, None)?;
        rest = Some(kept);
        Ok::<Finished, LiveError>(done)
    })??;
    let rest = rest.unwrap_or_else(|| unreachable!("an outcome has a run"));
    Ok(LiveRun::new(outcome, rest, options.scale, options.limiter))
}

/// Lays a plan out, or refuses it: nothing is built yet. Also returns the host that was taken over.
fn prepare(
    plan: &Plan,
    defences: IdVec<PortId, Option<PortDefence>>,
    options: &LiveOptions,
) -> Result<(Layout, Option<(NodeId, u64)>), LiveError> {
    let fastest = plan.ports.iter().map(|port| port.rate.get()).max().unwrap_or(0) / 1_000_000;
    if fastest > FASTEST {
        let enough = u32::try_from(u64::from(options.scale) * fastest / 100).unwrap_or(u32::MAX);
        return Err(Unsupported::TooFast { mbps: fastest, scale: options.scale, enough }.into());
    }
    let mut layout = Layout::new(plan)?;
    if plan.domain.is_some() {
        layout = layout.defended(defences);
    }
    if options.limiter == LimiterKind::Htb && options.traffic != TrafficSource::Own {
        return Err(Unsupported::HtbTraffic.into());
    }
    if options.traffic == TrafficSource::Iperf3 {
        iperf::check(plan)?;
    }
    let intruder = match &options.intruder {
        Some(intruder) => Some((host_named(plan, &layout, &intruder.host)?, intruder.seed)),
        None => None,
    };
    Ok((layout, intruder))
}

fn run_plan(
    plan: &Plan,
    defences: IdVec<PortId, Option<PortDefence>>,
    options: &LiveOptions,
    control: &Control,
    standing: Option<(&str, &OnceLock<Standing>)>,
) -> Result<(Finished, Rest), LiveError> {
    let (layout, intruder) = prepare(plan, defences, options)?;
    let layout = Arc::new(layout);
    let memory_locked = lock_memory();
    let spaces = build(&layout)?;
    // Names go before the namespaces do.
    let named = match standing {
        Some((prefix, to)) => Some(name_all(plan, &layout, &spaces, prefix, to)?),
        None => None,
    };
    let view = standing.and_then(|(_, to)| to.get()).map(|standing| &standing.view);
    let session = Session::new(plan, &layout, spaces, options, intruder, control, view);
    let ticks = cpu_ticks();
    let ends = session.run();
    let stopped = session.stopped();
    drop(named);
    let ends = ends?;
    let after = cpu_ticks();
    let steal = (after.1 - ticks.1) as f64 / (after.0 - ticks.0).max(1) as f64;
    let mut done = Vec::new();
    let mut failure = None;
    for end in ends {
        match end {
            Ok(end) => done.push(end),
            // What the others say of a stop is less than what stopped them.
            Err(LiveError::Run(cancelled)) => failure = failure.or(Some(LiveError::Run(cancelled))),
            Err(error) => failure = Some(error),
        }
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    if control.cancel.load(Ordering::Relaxed) {
        return Err(LiveError::Run(qcnlab_lab::RunError::Cancelled));
    }
    Ok(put_together(plan, layout, done, steal, memory_locked, stopped))
}

/// The host with a name.
fn host_named(plan: &Plan, layout: &Layout, name: &str) -> Result<NodeId, LiveError> {
    let host = layout.hosts().find(|host| plan.nodes[*host].name == name);
    host.ok_or_else(|| LiveError::NoSuchHost {
        name: name.to_owned(),
        hosts: layout.hosts().map(|host| plan.nodes[host].name.as_str()).collect::<Vec<_>>().join(", "),
    })
}

/// Names the namespaces, and tells `to` of them.
fn name_all(
    plan: &Plan,
    layout: &Layout,
    spaces: &Spaces,
    prefix: &str,
    to: &OnceLock<Standing>,
) -> Result<Names, LiveError> {
    let hosts: Vec<(String, Ipv4Addr)> =
        layout.hosts().map(|host| (format!("{prefix}{}", plan.nodes[host].name), ip(host).into())).collect();
    let switches = format!("{prefix}switches");
    let names = hosts.iter().map(|(name, _)| name.as_str()).zip(spaces.hosts.values());
    let named = Names::give(names.chain([(switches.as_str(), &spaces.switches)]))?;
    let _ = to.set(Standing { view: View::new(plan, layout), hosts, switches });
    Ok(named)
}
