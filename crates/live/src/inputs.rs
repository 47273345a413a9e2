//! What a switch holds of the frames that came over one link, and whether it has paused that link.

use qcnlab_schemes::driver::{PauseScope, PauseSender};
use qcnlab_sim::NodePlan;

/// The memory for frames of one input.
#[derive(Debug)]
pub(crate) struct Input {
    memory: u64,
    by_class: [u64; 8],
    pub(crate) pause: Option<PauseSender>,
}

impl Input {
    /// The input of a node; `None` where the node counts nothing by input.
    pub(crate) fn new(node: &NodePlan) -> Option<Input> {
        if node.input_memory.is_none() && node.pause.is_none() {
            return None;
        }
        let memory = node.input_memory.map_or(u64::MAX, |memory| memory.get());
        Some(Input { memory, by_class: [0; 8], pause: node.pause.map(PauseSender::new) })
    }

    /// Octets that it holds.
    pub(crate) fn held(&self) -> u64 {
        self.by_class.iter().sum()
    }

    /// Admits a frame; false when there is no room.
    pub(crate) fn admit(&mut self, class: u8, octets: u64) -> bool {
        if self.held() + octets > self.memory {
            return false;
        }
        self.by_class[usize::from(class & 7)] += octets;
        true
    }

    /// A frame that it admitted left the node.
    pub(crate) fn release(&mut self, class: u8, octets: u64) {
        self.by_class[usize::from(class & 7)] -= octets;
    }

    /// Octets that decide whether a priority group is paused.
    fn occupancy(&self, group: u8) -> u64 {
        match &self.pause {
            Some(pause) if matches!(pause.plan.scope, PauseScope::Classes(_)) => self.by_class[usize::from(group & 7)],
            _ => self.held(),
        }
    }

    /// The priority group that has just risen above its high watermark.
    pub(crate) fn xoff_due(&self, class: u8) -> Option<u8> {
        self.pause.as_ref()?.xoff_due(class, |group| self.occupancy(group))
    }

    /// The priority group that has just come down to its low watermark.
    pub(crate) fn xon_due(&self, class: u8) -> Option<u8> {
        self.pause.as_ref()?.xon_due(class, |group| self.occupancy(group))
    }
}
