//! What has to be made again when one table of a scenario that was checked is changed.

use super::arrivals::Offered;
use super::devices::{Pause, PauseKind};
use super::shapes::{Links, Star, Topology};
use super::transport::Transport;
use super::types::{Scenario, Traffic};

/// How much of a checked scenario has to be made again after a change, from nothing to everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Recheck {
    /// Nothing. Times are compared with each other after every change.
    Nothing,
    /// The checks. What follows from the tables is the same.
    Checks,
    /// When nodes pause, how buffers are shared and what else is planned for queues, and the checks. Nodes, links but for
    /// their delays, and flows are the same.
    Plans,
    /// What follows from the tables, and the checks; ways where nodes, links or flows differ.
    Network,
    /// All of it.
    Ways,
}

/// Whether what follows from a scenario depends on when its run ends.
pub(super) fn depends_on_its_end(scenario: &Scenario) -> bool {
    let timed = |traffic: &Traffic| traffic.arrivals.kind().arrives() || traffic.offered() == Offered::Replayed;
    !scenario.failures.is_empty() || !scenario.pause_storms.is_empty() || scenario.traffic.iter().any(timed)
}

/// Whether a buffer follows from how much a link can bring after a pause.
fn keeps_headroom(scenario: &Scenario) -> bool {
    let stops = |pause: &Pause| pause.kind != PauseKind::None;
    scenario.pauses.iter().any(stops) || !scenario.shared_buffers.is_empty()
}

/// Returns what other `[[pause]]` tables make necessary, and puts them into the scenario.
///
/// Pauses alone change plans. If they are the first that need headroom, and the network is a graph, the network is made again:
/// while nothing needed headroom, a change of its links' delays was let pass ([`links_recheck`]). Shared buffers are not looked at,
/// because no value of a key adds or removes their table.
pub(super) fn pauses_recheck(scenario: &mut Scenario, pauses: Vec<Pause>) -> Recheck {
    let before = keeps_headroom(scenario);
    scenario.pauses = pauses;
    let begins = !before && keeps_headroom(scenario) && matches!(scenario.topology, Topology::Graph(_));
    if begins { Recheck::Network } else { Recheck::Plans }
}

/// Returns what another topology makes necessary.
///
/// Propagation delays matter for headroom alone, the buffer of a star's bottleneck and the overhead of frames for checks alone.
pub(super) fn topology_recheck(scenario: &Scenario, topology: &Topology) -> Recheck {
    let before = &scenario.topology;
    if before == topology {
        return Recheck::Nothing;
    }
    let moved = before.clone().with_delays_of(topology);
    match keeps_headroom(scenario) {
        false if moved == *topology => return Recheck::Nothing,
        // The links of a graph have delays of their own.
        true if moved == *topology && !matches!(topology, Topology::Graph(_)) => return Recheck::Plans,
        true => return Recheck::Network,
        false => {}
    }
    match (moved, topology) {
        (Topology::Star(star), Topology::Star(now)) => {
            let same = Star { buffer: now.buffer, frame_overhead: now.frame_overhead, ..star } == *now;
            if same { Recheck::Checks } else { Recheck::Network }
        }
        _ => Recheck::Network,
    }
}

/// Returns what other `[[link]]` tables make necessary. Their delays, too, matter for headroom alone.
pub(super) fn links_recheck(scenario: &Scenario, links: &[Links]) -> Recheck {
    let moved = |(before, now): (&Links, &Links)| Links { delay: now.delay, ..before.clone() } == *now;
    let kept = scenario.links.iter().zip(links).all(|(before, now)| before.delay.is_some() == now.delay.is_some());
    let same = scenario.links.len() == links.len() && kept && scenario.links.iter().zip(links).all(moved);
    if same && !keeps_headroom(scenario) { Recheck::Nothing } else { Recheck::Network }
}

/// Returns what other `[[traffic]]` tables make necessary.
///
/// The length of the frames of endless flows without transport matters for checks; where a buffer has headroom or classes have
/// weights, which are counted in longest frames, for plans as well.
pub(super) fn traffic_recheck(scenario: &Scenario, traffic: &[Traffic]) -> Recheck {
    let counts_frames = keeps_headroom(scenario) || scenario.switches.iter().any(|switch| switch.weights.is_some());
    let plain = |traffic: &Traffic| {
        let endless = matches!(traffic.offered(), Offered::AllItCan { total: None, .. });
        endless && matches!(traffic.transport, Transport::None(_))
    };
    let longer =
        |(before, now): (&Traffic, &Traffic)| plain(before) && Traffic { frame: now.frame, ..before.clone() } == *now;
    let same = scenario.traffic.len() == traffic.len() && scenario.traffic.iter().zip(traffic).all(longer);
    match same {
        true if counts_frames => Recheck::Plans,
        true => Recheck::Checks,
        false => Recheck::Network,
    }
}
