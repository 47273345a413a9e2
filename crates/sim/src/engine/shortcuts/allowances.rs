//! What input buffers hold, counted only where it matters.
//!
//! **When**: a node pauses its links by what it holds of each, and has [computed
//! departures](super::computed_departures). **Why the run is the same**: as long as the node has sent no XOFF, it does not
//! matter what an input holds until that might be too much. Each input then has an allowance: the octets that it admits
//! whatever has left. Of a [shared buffer](crate::shared_buffer) each has an equal part of what all may take. When an
//! allowance is used up, the frames in the node's queues are counted again. If an input then has little room, every frame is
//! counted in and out, until a periodic check finds that all inputs have room again. **Switch**:
//! [`Events::Everywhere`](crate::plan::Events::Everywhere), which leaves the departures to events.

use super::{Counting, Network};
use crate::frame::flag;
use crate::ids::NodeId;
use crate::input_buffer::InputBuffer;
use qcnlab_units::Instant;

impl Network {
    /// Sets the first allowances of inputs, at nodes that do not count each frame.
    pub(in crate::engine) fn give_allowances(&mut self) {
        for node in self.nodes.ids() {
            if self.nodes[node].counting == Counting::ByAllowance {
                self.recount(Instant::ZERO, node);
            }
        }
    }

    /// Counts what the inputs of a node hold, and renews their allowances.
    #[cold]
    pub(super) fn recount(&mut self, now: Instant, node: NodeId) {
        self.for_each_input(node, |input, _| input.reset_count());
        if let Some(shared) = self.nodes[node].shared {
            self.shared_buffers[shared].reset_count();
        }
        for output in 0..self.nodes[node].outputs.len() {
            let output = self.nodes[node].outputs[output];
            self.update_queue(now, output);
            let port = &self.ports[output];
            let queues = port.queues().map(|queues| &self.queues[queues]);
            let queued = queues.into_iter().flat_map(|queues| queues.waiting()).chain(port.waiting());
            for frame in queued.filter(|frame| frame.is(flag::BUFFERED)) {
                let (class, size) = (frame.link_class(), frame.octets());
                let input = &mut self.inputs[self.routes.input_of(frame)];
                input.count(class, size);
                if let Some(shared) = input.shared {
                    self.shared_buffers[shared].count(input.slot, input.group(class).0, size);
                }
            }
        }
        self.renew_allowances(node);
    }

    /// Sets the allowances of a node's inputs to what they have room for.
    fn renew_allowances(&mut self, node: NodeId) {
        if self.nodes[node].shared.is_none() {
            return self.for_each_input(node, |input, allowance| *allowance = input.room());
        }
        let mut inputs = 0;
        self.for_each_input(node, |_, _| inputs += 1);
        let part = self.shared_room(node) / inputs.max(1);
        self.for_each_input(node, |_, allowance| *allowance = part);
    }

    /// Has every frame counted in and out of a node, whose count is up to date.
    pub(super) fn start_counting(&mut self, node: NodeId) {
        self.for_each_input(node, |_, allowance| *allowance = 0);
        self.set_counting(node, Counting::EachFrame);
        self.near_watermarks.push(node);
    }

    /// Stops counting each frame at the nodes whose inputs all have room again.
    pub(in crate::engine) fn check_for_room(&mut self, now: Instant) {
        for node in std::mem::take(&mut self.near_watermarks) {
            self.update_outputs(now, node);
            self.renew_allowances(node);
            let mut room = self.nodes[node].paused_groups == 0;
            self.for_each_input(node, |input, allowance| room &= input.is_ample(*allowance));
            if room {
                self.set_counting(node, Counting::ByAllowance);
            } else {
                self.for_each_input(node, |_, allowance| *allowance = 0);
                self.near_watermarks.push(node);
            }
        }
    }

    /// Sets how a node counts, and with it what is done about departures from its ports.
    fn set_counting(&mut self, node: NodeId, counting: Counting) {
        self.nodes[node].counting = counting;
        let each = counting == Counting::EachFrame;
        for output in &self.nodes[node].outputs {
            let port = &mut self.ports[*output];
            port.count_departures(each);
            if let Some(queues) = port.queues_in_use()
                && let Some(fifo) = &mut self.queues[queues].unpaused
            {
                fifo.departures = fifo.departures.counted(each);
            }
        }
    }

    /// Has `act` see each input of a node, and its allowance.
    fn for_each_input(&mut self, node: NodeId, mut act: impl FnMut(&mut InputBuffer, &mut u64)) {
        for output in &self.nodes[node].outputs {
            if let Some(ingress) = self.links[*output].reverse
                && let Some(input) = self.ports[ingress].input()
            {
                act(&mut self.inputs[input], self.ports[ingress].allowance_mut());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::ids::{Id, InputId};
    use crate::net::{Net, greedy};
    use crate::plan::{PausePlan, PauseRule, PauseScope};
    use crate::shared_buffer::{SharedBufferPlan, SharedInputPlan};
    use qcnlab_units::{BitRate, Bytes, Span};

    /// Three links into a switch with 900 000 octets that all may take: each is promised 300 000, and a quarter of that is
    /// much room.
    #[test]
    fn each_input_of_a_shared_buffer_is_promised_an_equal_part() {
        let mut net = Net::new(&["a", "b", "c", "s"]);
        for host in ["a", "b", "c"] {
            net.link(host, "s", BitRate::gbps(10), Span::from_us(1));
        }
        net.flow("a", "c", 0, greedy());
        net.flow("b", "c", 0, greedy());
        let inputs = ["a->s", "b->s", "c->s"].map(|name| net.port(name));
        let switch = net.node("s");
        let rule = PauseRule::Dynamic { quanta: None };
        net.plan.nodes[switch].pause = Some(PausePlan { scope: PauseScope::Link, rule, reaction: Span::ZERO });
        net.plan.nodes[switch].shared_buffer = Some(SharedBufferPlan {
            shared: Bytes::new(900_000),
            reserve: Bytes::ZERO,
            headroom_pool: None,
            cell: Bytes::new(1),
            xon: Bytes::ZERO,
            xon_offset: Bytes::ZERO,
            inputs: inputs.map(|port| SharedInputPlan { port, headroom: Bytes::ZERO, alpha: None }).to_vec(),
            queues: Vec::new(),
        });
        let engine = Engine::new(&net.plan);
        assert_eq!(inputs.map(|port| engine.network.port(port).allowance()), [300_000; 3]);
        let input = &engine.network.inputs[InputId::new(0)];
        assert_eq!([74_999, 75_000].map(|allowance| input.is_ample(allowance)), [false, true]);
    }

    /// Two hosts send to c for 200 us, 10 Gb/s each, and are paused: 250 KB more than c can take, and 30 KB of each wait at
    /// most. At 900 us nothing waits any more, and the look at 1 ms finds room.
    #[test]
    fn a_node_with_room_again_counts_no_single_frames() {
        let mut net = Net::new(&["a", "b", "c", "s"]);
        for host in ["a", "b", "c"] {
            net.link(host, "s", BitRate::gbps(10), Span::from_us(1));
        }
        for host in ["a", "b"] {
            let flow = net.flow(host, "c", 0, greedy());
            net.plan.flows[flow].stop = Instant::ZERO + Span::from_us(200);
        }
        net.pause("s", 200_000, 30_000, 20_000);
        let switch = net.node("s");
        let mut engine = Engine::new(&net.plan);
        let counting = [0, 900, 1100].map(|us| {
            engine.advance(Instant::ZERO + Span::from_us(us), &mut |_| ()).unwrap();
            engine.network.counts_each_frame(switch)
        });
        assert_eq!(counting, [false, true, false]);
    }
}
