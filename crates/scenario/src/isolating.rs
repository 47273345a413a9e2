//! The classes of a scheme whose ports isolate congesting flows.

use crate::fault::Fault;
use crate::located::LocatedFault;
use crate::resolved::ResolvedScenario;
use crate::types::{Feedback, Scenario};

/// The classes of the queues of such a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IsolatedClasses {
    /// That of traffic under control.
    pub(crate) monitored: u8,
    /// That of its congesting flows.
    pub(crate) congesting: u8,
}

impl Scenario {
    /// Returns the classes of the two queues, if the scheme isolates congesting flows and there is traffic under control.
    pub(crate) fn isolated_classes(&self) -> Option<IsolatedClasses> {
        let point = self.scheme.isolation_point()?;
        let monitored = self.traffic.iter().find(|traffic| traffic.controlled)?.priority as u8;
        Some(IsolatedClasses { monitored, congesting: point.congesting_class(monitored) })
    }

    /// Returns `classes`, a bit each, and with that of the monitored queue that of the congesting one.
    pub(crate) fn with_congesting(&self, classes: u8) -> u8 {
        match self.isolated_classes() {
            Some(IsolatedClasses { monitored, congesting }) if classes & 1 << monitored != 0 => {
                classes | 1 << congesting
            }
            _ => classes,
        }
    }
}

/// Refuses other frames in the class of congesting flows.
///
/// # Errors
/// When traffic, acknowledgements or messages have that class.
pub(crate) fn check(scenario: &Scenario) -> Result<(), LocatedFault> {
    let Some(IsolatedClasses { congesting, .. }) = scenario.isolated_classes() else { return Ok(()) };
    match user_of(scenario, u32::from(congesting)) {
        Some((what, key)) => Err(taken(scenario, congesting, what, key)),
        None => Ok(()),
    }
}

/// The same of listed flows, which have classes of their own.
///
/// # Errors
/// When one has that class.
pub(crate) fn check_flows(scenario: &Scenario, resolved: &ResolvedScenario) -> Result<(), LocatedFault> {
    let Some(IsolatedClasses { congesting, .. }) = scenario.isolated_classes() else { return Ok(()) };
    match resolved.flows.iter().find(|flow| flow.class == Some(congesting)) {
        Some(flow) => Err(taken(scenario, congesting, "a listed flow has", format!("traffic.{}.flows", flow.traffic))),
        None => Ok(()),
    }
}

fn taken(scenario: &Scenario, class: u8, what: &'static str, key: String) -> LocatedFault {
    let scheme = scenario.scheme.name().to_owned();
    let keys = ["scheme.cp.congesting_priority".to_owned(), key, "scheme.name".to_owned()];
    LocatedFault::new(Fault::CongestingClass { scheme, class, what }, &keys)
}

/// What else has a class, and the key that says so.
fn user_of(scenario: &Scenario, class: u32) -> Option<(&'static str, String)> {
    let messages = match scenario.feedback {
        Feedback::Frames { priority, .. } if scenario.scheme.speaks() && priority == class => {
            Some(("messages of the scheme have", "feedback.priority".to_owned()))
        }
        _ => None,
    };
    let of_traffic = scenario.traffic.iter().enumerate().find_map(|(entry, traffic)| {
        let acks = traffic.queue_pair().and_then(|pair| pair.ack_class);
        match (traffic.priority == class, acks.map(u32::from) == Some(class)) {
            (true, _) => Some(("traffic has", format!("traffic.{entry}.priority"))),
            (_, true) => Some(("acknowledgements have", format!("traffic.{entry}.ack_priority"))),
            _ => None,
        }
    });
    of_traffic.or(messages)
}
