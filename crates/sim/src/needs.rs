//! What a run takes of memory, from how much there is of everything in it.

use crate::connection::Connection;
use crate::frame::Frame;
use crate::input::Input;
use crate::plan::{FlowPlan, NodePlan, PortPlan};
use crate::port::Port;
use crate::probe::{FlowTally, Tally};
use crate::sender::{Adapter, Reaction, Sender};
use crate::turns::{Class, Turns};
use qcnlab_schemes::Dice;
use qcnlab_schemes::registry::{AnyCp, AnyNp};

/// How much there is of everything that a run keeps from its start to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Switches and hosts.
    pub nodes: u64,
    /// Directions of links.
    pub ports: u64,
    /// Ports whose frames take turns, with one class each.
    pub turns: u64,
    /// Links into nodes that count what they hold.
    pub inputs: u64,
    /// Queues that a congestion point watches.
    pub points: u64,
    /// Flows, each with a limiter.
    pub flows: u64,
    /// Those that are TCP connections.
    pub connections: u64,
    /// Flows that share their host's link.
    pub adapters: u64,
    /// Ways of all flows.
    pub ways: u64,
    /// Links of all ways.
    pub hops: u64,
    /// Places for frames, on links and in queues.
    pub frames: u64,
}

/// Octets of a name of usual length, and of what the allocator adds.
const NAME: u64 = 40;
/// Octets of a list's head.
const LIST: u64 = size_of::<Vec<u8>>() as u64;
/// Octets of a pending event's slot, and of the pending events' tables.
const SLOT: u64 = 24;
const WHEEL: u64 = 50_000;

const fn of<T>() -> u64 {
    size_of::<T>() as u64
}

impl Needs {
    /// Makes room for `frames` frames on a link and in the queue before it: rings grow by doubling.
    pub fn add_frames(&mut self, frames: u64) {
        self.frames = self.frames.saturating_add(frames.clamp(8, 1 << 62).next_power_of_two());
    }

    /// Octets of nodes, links and queues: of the plan and of the engine.
    pub const fn network_octets(&self) -> u64 {
        let node = of::<NodePlan>() + 2 * NAME + 3 * LIST;
        let port = of::<PortPlan>() + of::<Port>() + 2 * NAME + LIST + SLOT + 20;
        let turns = of::<Turns>() + of::<Class>() + 8 * of::<Frame>() + 2 * SLOT;
        let point = of::<AnyCp>() + of::<Dice>();
        WHEEL
            + self.nodes * node
            + self.ports * port
            + self.turns * turns
            + self.inputs * of::<Input>()
            + self.points * point
    }

    /// Octets of flows and their ways: of the plan and of the engine.
    pub const fn flow_octets(&self) -> u64 {
        let plan = of::<FlowPlan>() + 2 * NAME + LIST;
        let engine = of::<Sender>() + of::<Reaction>() + of::<Tally>() + of::<FlowTally>() + of::<AnyNp>() + 4 * SLOT;
        let recorder = 32 + 3 * LIST;
        let way = LIST + 16 + 20;
        self.flows * (plan + engine + recorder)
            + self.connections * (of::<Connection>() + 1024)
            + self.adapters * of::<Adapter>()
            + self.ways * way
            + self.hops * 8
    }

    /// Octets of frames on links and in queues.
    pub const fn frame_octets(&self) -> u64 {
        self.frames.saturating_mul(of::<Frame>())
    }

    /// Octets of a plan alone, as the laboratory keeps one beside the engine's.
    pub const fn plan_octets(&self) -> u64 {
        let ways = self.ways * (LIST + 16) + self.hops * 4;
        self.nodes * (of::<NodePlan>() + NAME)
            + self.ports * (of::<PortPlan>() + NAME)
            + self.flows * (of::<FlowPlan>() + NAME + LIST)
            + ways
    }
}
