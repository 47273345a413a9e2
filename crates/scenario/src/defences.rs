//! From `[domain]` and `[[defence]]` to the defence mode of every port, what ports announce, and what follows for
//! frames (IEEE 802.1Q clause 32).
//!
//! The modes are those that LLDP has settled before the run starts. A port announces its priorities unless it is
//! disabled or LLDP is off. An automatic port is an edge until its neighbour announces the priority, then interior; it
//! is interior ready when the neighbour is ready as well. A port is ready when it no longer remaps and accepts CN-TAGs.

use super::domain::{Defence, DefenceMode};
use super::domain_fault::DomainFault;
use super::fault::{Fault, near_or_all};
use super::located::{LocatedFault, read_pattern};
use super::pausing::class_list;
use super::types::{Feedback, Scenario};
use qcnlab_network::topology::{Network, NodeId, PortId, Role};
use qcnlab_schemes::SignalKind;
use qcnlab_sim::DomainPort;
use qcnlab_units::IdVec;

/// The mode of a port for one priority, as it is when the run starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The priority is not under congestion control here.
    Disabled,
    /// Congestion control; frames leave without CN-TAG.
    Interior,
    /// Congestion control; frames leave with their CN-TAG.
    InteriorReady,
    /// Frames that come in get another priority.
    Edge,
}

/// How a port defends a domain, before LLDP settles what is automatic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortDefence {
    /// For each priority how its mode is chosen; those outside the domain are disabled.
    pub choices: [DefenceMode; 8],
    /// Priorities that the port announces by LLDP, a bit each.
    pub announces: u8,
    /// Priorities for which it accepts CN-TAGs, a bit each.
    pub accepts_cn_tags: u8,
    /// The priority that frames from outside get instead of each one.
    pub alternates: [u8; 8],
    /// For each priority the mode once LLDP has settled it; none is automatic.
    pub settled: [DefenceMode; 8],
}

/// What a port does for one priority under congestion control.
#[derive(Clone, Copy, Debug)]
pub struct Defended {
    /// How the port treats the priority.
    pub mode: Mode,
    /// The table that says so: mode, LLDP, CN-TAGs.
    pub choice: DefenceMode,
    /// Whether its neighbour decides, by LLDP.
    pub lldp: bool,
    accepts_cn_tags: bool,
    /// The priority that frames from outside get.
    pub alternate: u8,
    /// Whether a table of `[[defence]]` sets the port.
    pub set: bool,
}

/// The domain of a scenario over its network, links inside hosts left out.
#[derive(Clone, Debug)]
pub struct ResolvedDomain {
    /// Priorities under congestion control, a bit each.
    pub cnpvs: u8,
    /// Whether each node takes part.
    member: IdVec<NodeId, bool>,
    /// For each port whose node takes part, what it does for each priority.
    ports: IdVec<PortId, Option<[Defended; 8]>>,
    roles: IdVec<NodeId, Role>,
    ends: IdVec<PortId, (NodeId, NodeId)>,
}

fn refuse<T>(fault: DomainFault, keys: &[impl ToString]) -> Result<T, LocatedFault> {
    Err(LocatedFault::new(Fault::Domain(fault), keys))
}

impl ResolvedDomain {
    /// The domain of a scenario, if it has one.
    pub(super) fn of(scenario: &Scenario, network: &Network) -> Result<Option<ResolvedDomain>, LocatedFault> {
        let Some(domain) = &scenario.domain else {
            return if scenario.defences.is_empty() { Ok(None) } else { refuse(DomainFault::NoDomain, &["defence.0"]) };
        };
        signals(scenario)?;
        let cnpvs = class_list(&domain.priorities, &["domain.priorities"])?;
        if cnpvs == u8::MAX {
            return refuse(DomainFault::AllPriorities, &["domain.priorities"]);
        }
        if let Feedback::Frames { priority, .. } = scenario.feedback
            && cnpvs & 1 << priority != 0
        {
            let keys = ["feedback.priority", "domain.priorities"];
            return refuse(DomainFault::Messages { priority: priority as u8 }, &keys);
        }
        let member = members(scenario, network)?;
        let mut resolved = ResolvedDomain {
            cnpvs,
            ports: network.by_port(None),
            roles: network.nodes.iter().map(|node| node.role).collect(),
            ends: network.ports().map(|port| network.ends(port)).collect(),
            member,
        };
        let fallback = alternate(domain.alternate_priority, cnpvs, "domain.alternate_priority")?;
        let automatic = Defended {
            mode: Mode::Edge,
            choice: DefenceMode::Auto,
            lldp: true,
            accepts_cn_tags: true,
            alternate: 0,
            set: false,
        };
        for port in network.ports() {
            if resolved.member[network.ends(port).0] {
                let of_class = |class: u8| Defended {
                    alternate: fallback.unwrap_or_else(|| automatic_alternate(class, cnpvs)),
                    ..automatic
                };
                resolved.ports[port] = Some(std::array::from_fn(|class| of_class(class as u8)));
            }
        }
        // The first table that fits a port holds, so the last is applied first.
        for (table, defence) in scenario.defences.iter().enumerate().rev() {
            resolved.apply(network, table, defence)?;
        }
        resolved.settle();
        Ok(Some(resolved))
    }

    /// Sets what a table of `[[defence]]` says.
    fn apply(&mut self, network: &Network, table: usize, defence: &Defence) -> Result<(), LocatedFault> {
        let key = |name: &str| format!("defence.{table}.{name}");
        let priorities = match &defence.priorities {
            Some(text) => class_list(text, &[key("priorities")])?,
            None => self.cnpvs,
        };
        let others = priorities & !self.cnpvs;
        if others != 0 {
            let fault = DomainFault::Priority { priority: others.trailing_zeros() as u8, domain: self.cnpvs };
            return refuse(fault, &[key("priorities")]);
        }
        let set = alternate(defence.alternate_priority, self.cnpvs, &key("alternate_priority"))?;
        let pattern = read_pattern(&defence.port, &key("port"))?;
        let (mut any, mut outside) = (false, None);
        for port in network.ports().filter(|port| pattern.matches(&network.port_name(*port))) {
            let Some(of_class) = &mut self.ports[port] else {
                outside.get_or_insert(port);
                continue;
            };
            any = true;
            for class in (0..8).filter(|class| priorities & 1 << class != 0) {
                let defended = &mut of_class[class];
                defended.choice = defence.mode;
                defended.lldp = defence.lldp;
                defended.accepts_cn_tags = defence.accepts_cn_tags;
                defended.alternate = set.unwrap_or(defended.alternate);
                defended.set = true;
            }
        }
        if any {
            return Ok(());
        }
        if let Some(port) = outside {
            let node = network.nodes[network.ends(port).0].name.clone();
            return refuse(DomainFault::Outside { port: network.port_name(port), node }, &[key("port")]);
        }
        let names: Vec<String> = network.ports().map(|port| network.port_name(port)).collect();
        let hint = near_or_all(&defence.port, "ports", &names);
        refuse(DomainFault::NoMatch { pattern: defence.port.clone(), what: "port", hint }, &[key("port")])
    }

    /// Has LLDP settle the automatic modes.
    fn settle(&mut self) {
        let announced: IdVec<PortId, u8> = self.ports.ids().map(|port| self.announced(port)).collect();
        self.each(|defended, class, neighbour| {
            let heard = announced[neighbour] & 1 << class != 0;
            defended.mode = match defended.choice {
                DefenceMode::Disabled => Mode::Disabled,
                DefenceMode::Interior => Mode::Interior,
                DefenceMode::InteriorReady => Mode::InteriorReady,
                DefenceMode::Edge => Mode::Edge,
                DefenceMode::Auto if heard => Mode::Interior,
                DefenceMode::Auto => Mode::Edge,
            };
        });
        let ready: IdVec<PortId, u8> = self.ports.ids().map(|port| self.ready(port)).collect();
        self.each(|defended, class, neighbour| {
            let heard = ready[neighbour] & 1 << class != 0;
            if defended.choice == DefenceMode::Auto && defended.mode == Mode::Interior && heard {
                defended.mode = Mode::InteriorReady;
            }
        });
    }

    /// Calls `act` with what each port does for each priority of the domain, that priority, and the neighbour's port.
    fn each(&mut self, act: impl Fn(&mut Defended, u8, PortId)) {
        for (port, of_class) in self.ports.ids().zip(self.ports.iter_mut()) {
            for class in (0..8u8).filter(|class| self.cnpvs & 1 << class != 0) {
                if let Some(of_class) = of_class {
                    act(&mut of_class[usize::from(class)], class, port.reverse());
                }
            }
        }
    }

    /// The priorities of the domain for which `holds` at a port, as bits; none where the node takes no part.
    fn bits(&self, port: PortId, holds: impl Fn(&Defended) -> bool) -> u8 {
        let Some(Some(of_class)) = self.ports.get(port) else { return 0 };
        let classes = (0..8u8).filter(|class| self.cnpvs & 1 << class != 0 && holds(&of_class[usize::from(*class)]));
        classes.fold(0, |bits, class| bits | 1 << class)
    }

    /// The priorities that a port announces as under congestion control.
    pub fn announced(&self, port: PortId) -> u8 {
        self.bits(port, |defended| defended.lldp && defended.choice != DefenceMode::Disabled)
    }

    /// The priorities that a port announces itself ready for.
    pub fn ready(&self, port: PortId) -> u8 {
        let passes = |mode| matches!(mode, Mode::Interior | Mode::InteriorReady);
        self.announced(port) & self.bits(port, |defended| defended.accepts_cn_tags && passes(defended.mode))
    }

    /// How a port defends the domain; `None` where its node takes no part.
    pub fn defence(&self, port: PortId) -> Option<PortDefence> {
        let of_class = self.ports.get(port)?.as_ref()?;
        let inside = |class: usize| self.cnpvs & 1 << class != 0;
        Some(PortDefence {
            choices: std::array::from_fn(|class| match inside(class) {
                true => of_class[class].choice,
                false => DefenceMode::Disabled,
            }),
            announces: self.announced(port),
            accepts_cn_tags: self.bits(port, |defended| defended.accepts_cn_tags),
            alternates: std::array::from_fn(|class| of_class[class].alternate),
            settled: std::array::from_fn(|class| match of_class[class].mode {
                Mode::Interior if inside(class) => DefenceMode::Interior,
                Mode::InteriorReady if inside(class) => DefenceMode::InteriorReady,
                Mode::Edge if inside(class) => DefenceMode::Edge,
                _ => DefenceMode::Disabled,
            }),
        })
    }

    /// Whether a node takes part. Nodes inside hosts do as nothing asks of them.
    pub fn takes_part(&self, node: NodeId) -> bool {
        self.member.get(node).copied().unwrap_or(true)
    }

    /// What a port does for a priority; `None` where its node takes no part.
    pub fn defended(&self, port: PortId, class: u8) -> Option<Defended> {
        let of_class = self.ports.get(port)?.as_ref()?;
        (self.cnpvs & 1 << class != 0).then(|| of_class[usize::from(class)])
    }

    /// Whether the host of a port has reaction points for a priority.
    pub fn reacts(&self, port: PortId, class: u8) -> bool {
        self.defended(port, class).is_some_and(|defended| defended.mode != Mode::Disabled)
    }

    /// Whether a host's frames leave with CN-TAG.
    pub fn tags(&self, port: PortId, class: u8) -> bool {
        self.defended(port, class).is_some_and(|defended| defended.mode == Mode::InteriorReady)
    }

    /// What becomes of frames that leave by a port.
    pub fn port_plan(&self, port: PortId) -> DomainPort {
        let mut plan = DomainPort::NEUTRAL;
        let Some((from, to)) = self.ends.get(port).copied() else { return plan };
        plan.points = self.bits(port, |defended| defended.mode != Mode::Disabled);
        if self.roles[from] == Role::Switch {
            plan.untags = self.bits(port, |defended| matches!(defended.mode, Mode::Edge | Mode::Interior));
        }
        if self.roles[to] == Role::Switch {
            for class in 0..8u8 {
                let facing = self.defended(port.reverse(), class).filter(|defended| defended.mode == Mode::Edge);
                if let Some(defended) = facing {
                    plan.remaps[usize::from(class)] = defended.alternate;
                }
            }
        }
        plan
    }

    /// The priorities that frames of `classes` may get on their way, as bits.
    pub fn alternates(&self, classes: u8) -> u8 {
        let mut all = 0;
        for port in self.ports.ids() {
            let remaps = self.port_plan(port).remaps;
            (0..8).filter(|class| classes & 1 << class != 0).for_each(|class| all |= 1 << remaps[class]);
        }
        all & !classes
    }

    /// The priority of a flow's frames, and whether they have a CN-TAG, at the end of a path.
    pub(crate) fn at_the_end(&self, path: &[PortId], class: u8, cn_tag: bool) -> (u8, bool) {
        let cross = |(class, tag): (u8, bool), port: &PortId| {
            let plan = self.port_plan(*port);
            (plan.remaps[usize::from(class)], tag && plan.untags & 1 << class == 0)
        };
        path.iter().fold((class, cn_tag && self.tags(path[0], class)), cross)
    }
}

/// The scheme's messages are congestion notification messages, and no probe crosses the domain.
fn signals(scenario: &Scenario) -> Result<(), LocatedFault> {
    let hears = scenario.scheme.hears();
    let probes = hears.iter().any(|kind| matches!(kind, SignalKind::Answer | SignalKind::Returned));
    let cnms = hears.contains(&SignalKind::Cnm);
    if cnms && !probes {
        return Ok(());
    }
    let fault = DomainFault::Scheme { scheme: scenario.scheme.name().to_owned(), probes: cnms && probes };
    refuse(fault, &["scheme.name", "domain"])
}

fn members(scenario: &Scenario, network: &Network) -> Result<IdVec<NodeId, bool>, LocatedFault> {
    let outside = scenario.domain.as_ref().and_then(|domain| domain.outside.as_ref());
    let Some(text) = outside.filter(|text| !text.trim().is_empty()) else {
        return Ok(IdVec::for_each_of(&network.nodes, true));
    };
    // Each name by itself, so that one that fits nothing is not hidden by another that does.
    for one in text.split(',').map(str::trim) {
        let pattern = read_pattern(one, "domain.outside")?;
        if !network.nodes.iter().any(|node| pattern.matches(&node.name)) {
            let names: Vec<String> = network.nodes.iter().map(|node| node.name.clone()).collect();
            let hint = near_or_all(one, "switches and hosts", &names);
            let fault = DomainFault::NoMatch { pattern: one.to_owned(), what: "switch or host", hint };
            return refuse(fault, &["domain.outside"]);
        }
    }
    let outside = read_pattern(text, "domain.outside")?;
    Ok(network.nodes.iter().map(|node| !outside.matches(&node.name)).collect())
}

/// The alternate priority that a file sets, if it does; it is not under congestion control.
fn alternate(written: Option<u32>, cnpvs: u8, key: &str) -> Result<Option<u8>, LocatedFault> {
    match written {
        Some(priority) if cnpvs & 1 << priority != 0 => {
            let priority = priority as u8;
            refuse(DomainFault::Alternate { priority, free: automatic_alternate(priority, cnpvs) }, &[key])
        }
        other => Ok(other.map(|priority| priority as u8)),
    }
}

/// The next lower priority that is not under congestion control, or else the next higher.
pub fn automatic_alternate(class: u8, cnpvs: u8) -> u8 {
    let free = |other: &u8| cnpvs & 1 << other == 0;
    (0..class).rev().find(free).or_else(|| (class + 1..8).find(free)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
