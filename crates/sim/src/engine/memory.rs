//! The memory of inputs: counted frame by frame, or only where it matters.
//!
//! As long as nothing is stopped at a node with watermarks, it does not matter what an input holds until that might be
//! too much. Each input then has an allowance of octets that may come in whatever has left. When one is used up, the
//! node's queues are counted anew. If they leave an input little room, every frame is counted in and out, until a look
//! in passing finds that they have gone down.

use super::{Engine, Path};
use crate::frame::{Frame, flag};
use crate::input::Input;
use crate::port::NONE;
use crate::turns::Turns;
use qcnlab_units::Instant;

impl Engine {
    /// Counts a frame against the memory of the input it came in by; false when it does not fit and is discarded.
    #[inline(always)]
    pub(super) fn hold(&mut self, now: Instant, index: u32, frame: &mut Frame) -> bool {
        let input = &mut self.inputs[self.ports[index as usize].input as usize];
        let held = input.let_in(frame.octets()) || self.hold_counted(now, index, frame);
        if held {
            frame.set(flag::HELD);
        }
        held
    }

    fn hold_counted(&mut self, now: Instant, index: u32, frame: &Frame) -> bool {
        let (node, place) = (self.nodes[index as usize].1, self.ports[index as usize].input);
        if self.uncounted[node as usize] {
            self.count_anew(now, node);
            let input = &mut self.inputs[place as usize];
            if input.has_room() && input.let_in(frame.octets()) {
                return true;
            }
            self.count_each(node);
        }
        if self.inputs[place as usize].hold_easily(frame.class(), frame.octets()) {
            return true;
        }
        self.settle_outputs(now, node);
        let input = &mut self.inputs[place as usize];
        if !input.hold(frame.class(), frame.octets()) {
            if frame.is(flag::NOT_DATA) {
                self.lose_extra(*frame);
            } else {
                self.count_discarded(now, index, frame);
            }
            return false;
        }
        if let Some(lane) = input.must_stop(frame.class()) {
            self.stop_lane(now, place, lane, None);
        }
        true
    }

    /// A held frame has left its node, or was discarded there.
    pub(super) fn release_held(&mut self, now: Instant, frame: &Frame) {
        let came_by = self.came_by(frame) as usize;
        if self.uncounted[self.nodes[came_by].1 as usize] {
            return;
        }
        let place = self.ports[came_by].input;
        let input = &mut self.inputs[place as usize];
        input.release(frame.class(), frame.octets());
        if let Some(lane) = input.may_go(frame.class()) {
            self.let_lane_go(now, place, lane);
        }
    }

    /// Counts what the inputs of a node hold, and gives them allowances.
    #[cold]
    pub(super) fn count_anew(&mut self, now: Instant, node: u32) {
        self.each_input(node, Input::forget);
        for each in 0..self.outputs[node as usize].len() {
            let output = self.outputs[node as usize][each];
            self.settle(now, output);
            let port = &self.ports[output as usize];
            let queued = self.turns.get(port.turns_at as usize).into_iter().flat_map(Turns::waiting);
            for frame in queued.chain(port.waiting()).filter(|frame| frame.is(flag::HELD)) {
                let place = memory_of(&self.route_inputs, self.paths[frame.path() as usize], frame);
                self.inputs[place].count(frame.class(), frame.octets());
            }
        }
        self.each_input(node, Input::allow);
    }

    /// From now on frames are counted in and out of a node, whose memory is up to date.
    fn count_each(&mut self, node: u32) {
        self.each_input(node, Input::allow_nothing);
        self.counts_each(node, true);
        self.near_marks.push(node);
    }

    /// Looks if the inputs that were near a mark have room again; then frames need not be counted one by one.
    pub(super) fn look_for_room(&mut self, now: Instant) {
        for node in std::mem::take(&mut self.near_marks) {
            self.settle_outputs(now, node);
            self.each_input(node, Input::allow);
            let mut roomy = self.stopped_lanes_at[node as usize] == 0;
            self.each_input(node, |input| roomy &= input.has_room());
            if roomy {
                self.counts_each(node, false);
            } else {
                self.each_input(node, Input::allow_nothing);
                self.near_marks.push(node);
            }
        }
    }

    fn counts_each(&mut self, node: u32, each: bool) {
        self.uncounted[node as usize] = !each;
        for output in &self.outputs[node as usize] {
            let port = &mut self.ports[*output as usize];
            if port.frees {
                port.acts = each;
            }
        }
    }

    fn each_input(&mut self, node: u32, mut act: impl FnMut(&mut Input)) {
        for output in &self.outputs[node as usize] {
            let back = self.peers[*output as usize];
            if back != NONE {
                act(&mut self.inputs[self.ports[back as usize].input as usize]);
            }
        }
    }

    /// Brings the memory of a node's inputs up to date.
    #[cold]
    pub(super) fn settle_outputs(&mut self, now: Instant, node: u32) {
        for each in 0..self.outputs[node as usize].len() {
            let output = self.outputs[node as usize][each];
            let port = &self.ports[output as usize];
            if port.frees && port.turns == NONE {
                self.settle(now, output);
            }
        }
    }

    /// What has left a port that takes no turns frees the memory it was counted against. Nobody waits for that: no lane
    /// of the node is stopped.
    pub(super) fn free_departed(&mut self, now: Instant, index: u32) {
        let port = &mut self.ports[index as usize];
        while port.leave_next(now).is_some() {
            let frame = port.left_last();
            if !frame.is(flag::HELD) {
                continue;
            }
            frame.clear(flag::HELD);
            let place = memory_of(&self.route_inputs, self.paths[frame.path() as usize], frame);
            self.inputs[place].release(frame.class(), frame.octets());
        }
    }
}

/// The place of the memory that a frame in a port was counted against when it came to the port's node.
#[inline(always)]
pub(super) fn memory_of(route_inputs: &[(u32, u32)], path: Path, frame: &Frame) -> usize {
    let (ahead, back) = route_inputs[path.start as usize + usize::from(frame.hop())];
    (if frame.is(flag::BACK) { back } else { ahead }) as usize
}
