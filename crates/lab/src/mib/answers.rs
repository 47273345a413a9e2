//! The objects of each bridge and host, from the scenario and what the run counted.

use super::counts::ReplicationCounts;
use super::parameters::{Answer, answered, choice, exponent, has_clock, number, octets, percent, rate, time, whole};
use crate::capture::{cpid, mac_address};
use crate::fabric::{Fabric, planned_node};
use qcnlab_network::topology::{NodeId, PortId, Role};
use qcnlab_scenario::{DefenceMode, Defended, Feedback, Mode, ResolvedScenario, Scenario, automatic_alternate};
use qcnlab_units::IdVec;
use serde_json::{Map, Value, json};

const MEGABIT: u64 = 1_000_000;
const MICROSECOND_PS: u64 = 1_000_000;
const MILLISECOND_PS: u64 = 1_000_000_000;
const CENTISECOND_PS: u64 = 10_000_000_000;

const NO_DOMAIN: &str = "the scenario has no [domain]: ports have no defence modes, and every node takes part";
const NO_LLDP_ADDRESSES: &str = "the simulator has no table of LLDP addresses";

/// What answers are made of.
pub(super) struct Answers<'a> {
    scenario: &'a Scenario,
    resolved: &'a ResolvedScenario,
    counts: &'a ReplicationCounts,
    /// Priorities under congestion control, a bit each.
    cnpvs: u8,
    /// Ports of each node, in the order of the network; the first has ifIndex 1.
    ports_of: IdVec<NodeId, Vec<PortId>>,
    /// The port in the network of each congestion point that was counted, and of each row of reaction points.
    point_ports: Vec<PortId>,
    rp_ports: Vec<PortId>,
}

impl<'a> Answers<'a> {
    /// `None` if a port that was counted is none of the network.
    pub(super) fn new(
        scenario: &'a Scenario,
        resolved: &'a ResolvedScenario,
        fabric: &Fabric,
        counts: &'a ReplicationCounts,
    ) -> Option<Answers<'a>> {
        let network = &resolved.network;
        let names: std::collections::HashMap<String, PortId> =
            network.ports().map(|port| (network.port_name(port), port)).collect();
        let ports_named =
            |names_of: &[String]| names_of.iter().map(|name| names.get(name).copied()).collect::<Option<_>>();
        let mut ports_of = IdVec::for_each_of(&network.nodes, Vec::new());
        resolved.outside_ports().for_each(|port| ports_of[network.ends(port).0].push(port));
        let controlled = fabric.flows.iter().filter(|flow| flow.controlled);
        Some(Answers {
            scenario,
            resolved,
            counts,
            cnpvs: match &resolved.domain {
                Some(domain) => domain.cnpvs,
                None => controlled.fold(0, |all, flow| all | 1 << flow.class),
            },
            ports_of,
            point_ports: ports_named(&counts.points.port)?,
            rp_ports: ports_named(&counts.reaction_points.port)?,
        })
    }

    /// Everything.
    pub(super) fn all(&self, seed: u64, replication: u32) -> Value {
        let nodes = self.ports_of.ids().filter(|node| !self.ports_of[*node].is_empty());
        json!({
            "module": "IEEE8021-CN-MIB, revision 2018-06-28",
            "scenario": self.scenario.name,
            "seed": seed,
            "replication": replication,
            "time_s": self.scenario.duration.seconds(),
            "priorities": self.priorities().collect::<Vec<_>>(),
            "nodes": nodes.map(|node| self.node(node)).collect::<Vec<_>>(),
        })
    }

    fn priorities(&self) -> impl Iterator<Item = u8> {
        let cnpvs = self.cnpvs;
        (0..8u8).filter(move |class| cnpvs & 1 << class != 0)
    }

    fn node(&self, node: NodeId) -> Value {
        let known = &self.resolved.network.nodes[node];
        let bridge = known.role == Role::Switch;
        let interface = |(index, port): (usize, &PortId)| json!({ "ifIndex": index + 1, "port": self.resolved.network.port_name(*port) });
        let ports = &self.ports_of[node];
        let mut object = Map::new();
        object.insert("node".to_owned(), json!(known.name));
        object.insert("role".to_owned(), json!(if bridge { "bridge" } else { "end station" }));
        object.insert("interfaces".to_owned(), ports.iter().enumerate().map(interface).collect());
        if self.resolved.domain.as_ref().is_some_and(|domain| !domain.takes_part(node)) {
            object.insert("unanswered".to_owned(), json!("it takes no part (domain.outside): it has no such objects"));
            return object.into();
        }
        object.insert("global".to_owned(), self.global(node, bridge));
        object.insert("errored_port".to_owned(), json!([]));
        object.insert("component_priority".to_owned(), self.priorities().map(|p| self.component(p)).collect());
        let with_ports = || self.priorities().flat_map(|class| (1u32..).zip(ports).map(move |each| (class, each)));
        object.insert(
            "port_priority".to_owned(),
            with_ports().map(|(class, (index, port))| self.port_priority(class, index, *port)).collect(),
        );
        if bridge {
            let points = self.points(node);
            let translated = points.iter().map(|(_, index, number, row)| self.cpid_to_interface(*index, *number, *row));
            object.insert("cpid_to_interface".to_owned(), translated.collect());
            let rows = points.iter().map(|(port, index, number, row)| self.point(*port, *index, *number, *row));
            object.insert("cp".to_owned(), rows.collect());
        } else {
            object.insert(
                "rp_port_priority".to_owned(),
                with_ports().map(|(class, (index, port))| self.rp_port_priority(class, index, *port)).collect(),
            );
            let reacting = with_ports().filter(|(class, (_, port))| self.reacts(**port, *class).is_ok());
            let groups = reacting.map(|(class, (index, port))| self.rp_group(class, index, *port));
            object.insert("rp_group".to_owned(), groups.collect());
            let linux = (1u32..).zip(ports).map(|(index, port)| self.linux(index, *port));
            object.insert("linux".to_owned(), linux.collect());
        }
        object.into()
    }

    fn global(&self, node: NodeId, bridge: bool) -> Value {
        let discarded = || {
            let rows = (0..).zip(&self.point_ports).filter(|(_, port)| self.resolved.network.ends(**port).0 == node);
            rows.map(|(row, _): (usize, _)| self.counts.points.discarded_frames[row]).sum::<u64>()
        };
        let priority = match self.scenario.feedback {
            Feedback::Frames { priority, .. } => Ok(json!(priority)),
            Feedback::Ideal => Err("feedback is ideal: messages cross no link and have no priority".to_owned()),
        };
        let of_bridge =
            |answer: Answer| if bridge { answer } else { Err("an end station has no congestion points".to_owned()) };
        row(
            &[("component", json!(1))],
            [
                ("GlobalMasterEnable", Ok(choice(1, "true"))),
                ("GlobalCnmTransmitPriority", of_bridge(priority)),
                ("GlobalDiscardedFrames", of_bridge(Ok(json!(discarded())))),
            ],
        )
    }

    fn component(&self, class: u8) -> Value {
        let domain = self.scenario.domain.as_ref();
        let of_domain = |answer: Answer| if domain.is_some() { answer } else { Err(NO_DOMAIN.to_owned()) };
        let alternate = domain.and_then(|domain| domain.alternate_priority);
        let no = |reason: &str| Err(reason.to_owned());
        row(
            &[("component", json!(1)), ("priority", json!(class))],
            [
                ("ComPriDefModeChoice", of_domain(Ok(choice(2, "cpcAuto")))),
                (
                    "ComPriAlternatePriority",
                    of_domain(
                        alternate
                            .map(|priority| json!(priority))
                            .ok_or_else(|| "domain.alternate_priority is left out: ComPriAutoAltPri counts".to_owned()),
                    ),
                ),
                ("ComPriAutoAltPri", of_domain(Ok(json!(automatic_alternate(class, self.cnpvs))))),
                ("ComPriAdminDefenseMode", of_domain(no("the choice is cpcAuto: no mode is fixed for all ports"))),
                ("ComPriCreation", no("no port is created during a run")),
                ("ComPriLldpInstanceChoice", of_domain(Ok(choice(2, "cnlAdmin")))),
                ("ComPriLldpInstanceSelector", no(NO_LLDP_ADDRESSES)),
                ("ComPriRowStatus", Ok(choice(1, "active"))),
            ],
        )
    }

    fn defended(&self, port: PortId, class: u8) -> Result<Defended, String> {
        let defended = self.resolved.domain.as_ref().and_then(|domain| domain.defended(port, class));
        defended.ok_or_else(|| NO_DOMAIN.to_owned())
    }

    fn port_priority(&self, class: u8, if_index: u32, port: PortId) -> Value {
        let with = |answer: fn(Defended) -> Answer| self.defended(port, class).and_then(answer);
        let mut object = row(
            &[("component", json!(1)), ("priority", json!(class)), ("ifIndex", json!(if_index))],
            [
                (
                    "PortPriDefModeChoice",
                    with(|defended| {
                        Ok(match (defended.set, defended.choice) {
                            (false, _) => choice(3, "cpcComp"),
                            (true, DefenceMode::Auto) => choice(2, "cpcAuto"),
                            (true, _) => choice(1, "cpcAdmin"),
                        })
                    }),
                ),
                (
                    "PortPriAdminDefenseMode",
                    with(|defended| match defended.choice {
                        DefenceMode::Auto => Err("the mode is automatic".to_owned()),
                        _ => Ok(mode(defended.mode)),
                    }),
                ),
                (
                    "PortPriAutoDefenseMode",
                    with(|defended| match defended.choice {
                        DefenceMode::Auto => Ok(mode(defended.mode)),
                        _ => Err("the mode is fixed".to_owned()),
                    }),
                ),
                (
                    "PortPriLldpInstanceChoice",
                    with(|defended| {
                        Ok(match (defended.set, defended.lldp) {
                            (false, _) => choice(3, "cnlComponent"),
                            (true, true) => choice(2, "cnlAdmin"),
                            (true, false) => choice(1, "cnlNone"),
                        })
                    }),
                ),
                ("PortPriLldpInstanceSelector", Err(NO_LLDP_ADDRESSES.to_owned())),
                ("PortPriAlternatePriority", with(|defended| Ok(json!(defended.alternate)))),
            ],
        );
        object["defence mode in force"] = answered(with(|defended| Ok(mode(defended.mode))));
        object
    }

    /// The congestion points of a bridge: port, ifIndex, number at the port from 1, and row of the counts.
    fn points(&self, node: NodeId) -> Vec<(PortId, u32, u32, usize)> {
        let mut points = Vec::new();
        for (index, port) in (1u32..).zip(&self.ports_of[node]) {
            let rows = self
                .point_ports
                .iter()
                .enumerate()
                .filter(|(row, at)| **at == *port && self.counts.points.priority[*row].is_some());
            points.extend((1u32..).zip(rows).map(|(number, (row, _))| (*port, index, number, row)));
        }
        points
    }

    fn cpid_to_interface(&self, if_index: u32, number: u32, point: usize) -> Value {
        let (port, _) = (self.point_ports[point], ());
        let node = self.resolved.network.ends(port).0;
        row(
            &[("cpid", json!(cpid(planned_node(node), point as u32)))],
            [
                ("CpidToIfComponentId", Ok(json!(1))),
                ("CpidToIfIfIndex", Ok(json!(if_index))),
                ("CpidToIfCpIndex", Ok(json!(number))),
            ],
        )
    }

    fn point(&self, port: PortId, if_index: u32, number: u32, point: usize) -> Value {
        let cp = self.scenario.scheme.cp();
        let key = "scheme.cp";
        let counts = &self.counts.points;
        let node = self.resolved.network.ends(port).0;
        let index = [("component", json!(1)), ("ifIndex", json!(if_index)), ("cpIndex", json!(number))];
        row(
            &index,
            [
                ("CpPriority", Ok(json!(counts.priority[point]))),
                ("CpMacAddress", Ok(json!(mac_address(planned_node(node))))),
                ("CpIdentifier", Ok(json!(cpid(planned_node(node), point as u32)))),
                ("CpQueueSizeSetPoint", octets(cp, "set_point", key, 100)),
                ("CpFeedbackWeight", exponent(cp, "w", key, 1)),
                ("CpMinSampleBase", octets(cp, "sample_base", key, 10_000)),
                ("CpDiscardedFrames", Ok(json!(counts.discarded_frames[point]))),
                ("CpTransmittedFrames", Ok(json!(counts.transmitted_frames[point]))),
                ("CpTransmittedCnms", Ok(json!(counts.transmitted_cnms[point]))),
                ("CpMinHeaderOctets", Ok(json!(0))),
            ],
        )
    }

    /// Whether a host reacts to messages of a priority at a port, or why it does not.
    fn reacts(&self, port: PortId, class: u8) -> Result<(), String> {
        match &self.resolved.domain {
            Some(domain) if !domain.reacts(port, class) => Err("the priority is disabled at this port".to_owned()),
            _ => Ok(()),
        }
    }

    /// The row of the counts for a port of a host and a priority; none if no flow starts there.
    fn reaction_points(&self, port: PortId, class: u8) -> Option<usize> {
        let rps = &self.counts.reaction_points;
        (0..self.rp_ports.len()).find(|row| self.rp_ports[*row] == port && rps.priority[*row] == class)
    }

    fn counted(&self, port: PortId, class: u8, of: impl Fn(usize) -> u64) -> Answer {
        self.reacts(port, class)?;
        match self.reaction_points(port, class) {
            None => Ok(json!(0)),
            Some(row) if self.counts.reaction_points.shared[row] => {
                Err("a limiter has flows of several priorities, which are not told apart".to_owned())
            }
            Some(row) => Ok(json!(of(row))),
        }
    }

    fn max_rps(&self, port: PortId, class: u8) -> Answer {
        self.reacts(port, class)?;
        if self.resolved.domain.as_ref().is_some_and(|domain| !domain.tags(port, class)) {
            return Ok(json!(1));
        }
        let host = self.resolved.network.ends(port).0;
        match self.resolved.adapter(self.scenario, host).and_then(|adapter| adapter.max_rps) {
            Some(most @ 1..=100) => Ok(json!(most)),
            Some(most) => Err(format!("adapter.max_rps is {most}: the object holds 1 to 100")),
            None => Err("adapter.max_rps is left out: each flow has a reaction point".to_owned()),
        }
    }

    fn created(&self, port: PortId, class: u8) -> Answer {
        let created = &self.counts.reaction_points.created_rps;
        // A Counter32.
        self.counted(port, class, |row| created[row] % (1 << 32))
    }

    fn centiseconds(&self, port: PortId, class: u8) -> Answer {
        let limited = &self.counts.reaction_points.limited_ps;
        self.counted(port, class, |row| limited[row] / CENTISECOND_PS)
    }

    fn rp_port_priority(&self, class: u8, if_index: u32, port: PortId) -> Value {
        row(
            &[("component", json!(1)), ("priority", json!(class)), ("ifIndex", json!(if_index))],
            [
                ("RpPortPriMaxRps", self.max_rps(port, class)),
                ("RpPortPriCreatedRps", self.created(port, class)),
                ("RpPortPriCentiseconds", self.centiseconds(port, class)),
            ],
        )
    }

    /// The largest rate: the parameter, or the port's own rate where it is unset.
    fn max_rate(&self, port: PortId) -> Answer {
        let link = self.resolved.network.link(port).rate;
        match rate(self.scenario.scheme.rp(), "max_rate", MEGABIT) {
            Ok(rate) => Ok(rate),
            Err(_) => whole(link.get(), MEGABIT).ok_or_else(|| format!("the port has {link}: no whole number of Mb/s")),
        }
    }

    fn time_reset(&self, unit_ps: u64, unit: &str) -> Answer {
        let rp = self.scenario.scheme.rp();
        if !has_clock(rp, "byte_counter") {
            return Err("scheme.rp.clock is byte_counter: the timer does not act".to_owned());
        }
        time(rp, "time_reset", unit_ps, unit)
    }

    fn byte_reset(&self) -> Answer {
        let rp = self.scenario.scheme.rp();
        if !has_clock(rp, "timer") {
            return Err("scheme.rp.clock is timer: the byte counter does not act".to_owned());
        }
        octets(rp, "byte_reset", "scheme.rp", 0)
    }

    fn rp_group(&self, class: u8, if_index: u32, port: PortId) -> Value {
        let rp = self.scenario.scheme.rp();
        let index = [
            ("component", json!(1)),
            ("priority", json!(class)),
            ("ifIndex", json!(if_index)),
            ("identifier", json!(1)),
        ];
        row(
            &index,
            [
                ("RpgEnable", Ok(choice(1, "true"))),
                ("RpgTimeReset", self.time_reset(MILLISECOND_PS, "milliseconds")),
                ("RpgByteReset", self.byte_reset()),
                ("RpgThreshold", number(rp, "threshold")),
                ("RpgMaxRate", self.max_rate(port)),
                ("RpgAiRate", rate(rp, "ai_rate", MEGABIT)),
                ("RpgHaiRate", rate(rp, "hai_rate", MEGABIT)),
                ("RpgGd", exponent(rp, "gd", "scheme.rp", -1)),
                ("RpgMinDecFac", percent(rp, "min_dec_fac")),
                ("RpgMinRate", rate(rp, "min_rate", MEGABIT)),
            ],
        )
    }

    /// `ieee_qcn` and `ieee_qcn_stats` of a port: a value for each priority, null outside congestion control.
    fn linux(&self, if_index: u32, port: PortId) -> Value {
        let rp = self.scenario.scheme.rp();
        let each = |of: &dyn Fn(u8) -> Answer| -> Value {
            let one = |class: u8| {
                if self.cnpvs & 1 << class == 0 {
                    Value::Null
                } else {
                    answered(self.reacts(port, class).and_then(|()| of(class)))
                }
            };
            (0..8u8).map(one).collect()
        };
        let state = |class: u8| {
            self.defended(port, class).map(|defended| match defended.mode {
                Mode::Disabled => json!(0),
                Mode::Edge => json!(1),
                Mode::Interior => json!(2),
                Mode::InteriorReady => json!(3),
            })
        };
        json!({
            "ifIndex": if_index,
            "port": self.resolved.network.port_name(port),
            "ieee_qcn": {
                "rpg_enable": (0..8u8).map(|class| u8::from(self.cnpvs & 1 << class != 0 && self.reacts(port, class).is_ok())).collect::<Vec<_>>(),
                "rppp_max_rps": each(&|class| self.max_rps(port, class)),
                "rpg_time_reset": each(&|_| self.time_reset(MICROSECOND_PS, "microseconds")),
                "rpg_byte_reset": each(&|_| self.byte_reset()),
                "rpg_threshold": each(&|_| number(rp, "threshold")),
                "rpg_max_rate": each(&|_| self.max_rate(port)),
                "rpg_ai_rate": each(&|_| rate(rp, "ai_rate", MEGABIT)),
                "rpg_hai_rate": each(&|_| rate(rp, "hai_rate", MEGABIT)),
                "rpg_gd": each(&|_| exponent(rp, "gd", "scheme.rp", -1)),
                "rpg_min_dec_fac": each(&|_| percent(rp, "min_dec_fac")),
                "rpg_min_rate": each(&|_| rate(rp, "min_rate", 1)),
                "cndd_state_machine": each(&state),
            },
            "ieee_qcn_stats": {
                "rppp_rp_centiseconds": each(&|class| self.centiseconds(port, class)),
                "rppp_created_rps": each(&|class| self.created(port, class)),
            },
        })
    }
}

/// A row of a table: its indices, then its objects under their full names.
fn row<const N: usize>(index: &[(&str, Value)], objects: [(&str, Answer); N]) -> Value {
    let index: Map<String, Value> = index.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let mut row = Map::new();
    row.insert("index".to_owned(), index.into());
    for (name, answer) in objects {
        row.insert(format!("ieee8021Cn{name}"), answered(answer));
    }
    row.into()
}

/// A defence mode as the MIB numbers it.
fn mode(mode: Mode) -> Value {
    match mode {
        Mode::Disabled => choice(1, "cptDisabled"),
        Mode::Interior => choice(2, "cptInterior"),
        Mode::InteriorReady => choice(3, "cptInteriorReady"),
        Mode::Edge => choice(4, "cptEdge"),
    }
}
