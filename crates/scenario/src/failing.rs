//! Links that fail: from the tables of `[[failure]]` to links.

use super::fault::Fault;
use super::incidents::Failure;
use super::located::LocatedFault;
use super::types::Scenario;
use qcnlab_network::topology::{LinkId, Network};
use qcnlab_units::Span;

/// A failure with the number of its link.
#[derive(Clone, Copy, Debug)]
pub struct FailedLink {
    /// Its position in [`Network::links`](qcnlab_network::topology::Network::links).
    pub link: LinkId,
    /// When it fails.
    pub from: Span,
    /// When it is back; `None` for never.
    pub until: Option<Span>,
}

/// The failures of a scenario. The network has the links between its nodes alone.
pub(super) fn failed_links(scenario: &Scenario, network: &Network) -> Result<Vec<FailedLink>, LocatedFault> {
    let mut failed: Vec<FailedLink> = Vec::new();
    for (number, failure) in scenario.failures.iter().enumerate() {
        let key = |name: &str| format!("failure.{number}.{name}");
        let refuse = |fault, keys: &[String]| Err(LocatedFault::new(fault, keys));
        let names = || network.ports().map(|port| network.port_name(port));
        let Some(port) = network.ports().find(|port| network.port_name(*port) == failure.link) else {
            let fault = Fault::NotInTopology { what: "link", name: failure.link.clone(), known: names().collect() };
            return refuse(fault, &[key("link"), format!("failure.{number}")]);
        };
        let (link, duration) = (port.link(), scenario.duration);
        let Failure { from, until, .. } = *failure;
        if from >= duration {
            let fault = Fault::BeyondEnd { what: "the link fails", value: from, duration };
            return refuse(fault, &[key("from"), "duration".to_owned()]);
        }
        if let Some(end) = until.filter(|until| *until <= from) {
            let fault = Fault::EndsBeforeBegin { what: "the failure", begin: from, end };
            return refuse(fault, &[key("until"), key("from")]);
        }
        let overlaps = |other: &&FailedLink| {
            other.link == link && other.until.is_none_or(|end| from < end) && until.is_none_or(|end| other.from < end)
        };
        if failed.iter().any(|other| overlaps(&other)) {
            return refuse(Fault::FailsTwice { link: failure.link.clone(), begin: from }, &[key("from"), key("link")]);
        }
        failed.push(FailedLink { link, from, until });
    }
    Ok(failed)
}
