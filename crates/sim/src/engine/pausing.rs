//! PAUSE and PFC: when links are stopped, and what that does to them.

use super::Engine;
use crate::frame::flag;
use crate::plan::PauseRule;
use crate::port::NONE;
use crate::turns::{Pause, Sending, Turns};
use qcnlab_units::Instant;

impl Engine {
    /// Stops a lane of an input; `because` is the output queue that led to it, if that is known.
    pub(super) fn stop_lane(&mut self, now: Instant, place: u32, lane: u8, because: Option<u32>) {
        let because = because.unwrap_or_else(|| self.longest_output(place));
        let input = &mut self.inputs[place as usize];
        let Some(gate) = &mut input.gate else { return };
        let turns = &self.turns[self.ports[gate.back as usize].turns_at as usize];
        let lasts = turns.quanta_ps(gate.quanta());
        let at = usize::from(lane);
        gate.because[at] = because;
        gate.asked_until[at] = now.ps() + lasts;
        if let PauseRule::Watermarks { .. } = gate.plan.rule {
            let node = self.nodes[input.port as usize].1 as usize;
            self.stopped_lanes_at[node] += u32::from(gate.stopped & 1 << lane == 0);
            gate.stopped |= 1 << lane;
            gate.again[at] = now.ps() + (lasts / 2).max(1);
            self.wheel.set(self.entities.again + place, gate.next_again());
        }
        let pause = Pause { classes: gate.classes(lane), quanta: gate.quanta(), because };
        let back = gate.back;
        self.send_pause(now, back, pause);
        let node = self.nodes[self.inputs[place as usize].port as usize].1 as usize;
        if self.stopped_lanes_at[node] == 1 {
            for each in 0..self.outputs[node].len() {
                self.take_turns(now, self.outputs[node][each]);
            }
        }
    }

    /// Lets a lane of an input go.
    pub(super) fn let_lane_go(&mut self, now: Instant, place: u32, lane: u8) {
        let input_port = self.inputs[place as usize].port;
        let Some(gate) = &mut self.inputs[place as usize].gate else { return };
        let at = usize::from(lane);
        self.stopped_lanes_at[self.nodes[input_port as usize].1 as usize] -= u32::from(gate.stopped >> lane & 1);
        gate.stopped &= !(1 << lane);
        gate.asked_until[at] = now.ps();
        gate.again[at] = u64::MAX;
        let pause = Pause { classes: gate.classes(lane), quanta: 0, because: gate.because[at] };
        let back = gate.back;
        self.send_pause(now, back, pause);
    }

    /// Half of the time asked for has run off, and memory is still above its low watermark.
    pub(super) fn ask_again(&mut self, now: Instant, place: u32) {
        let Some(gate) = &self.inputs[place as usize].gate else { return };
        let due: Vec<u8> = (0..8).filter(|lane| gate.again[usize::from(*lane)] <= now.ps()).collect();
        for lane in due {
            let because = self.inputs[place as usize].gate.as_ref().map(|gate| gate.because[usize::from(lane)]);
            self.stop_lane(now, place, lane, because);
        }
        if let Some(gate) = &self.inputs[place as usize].gate {
            self.wheel.set(self.entities.again + place, gate.next_again());
        }
    }

    fn send_pause(&mut self, now: Instant, back: u32, pause: Pause) {
        self.take_turns(now, back);
        let place = self.ports[back as usize].turns;
        let turns = &mut self.turns[place as usize];
        // What waits to be said of the same classes is out of date.
        turns.pauses.retain(|waiting| waiting.classes != pause.classes);
        turns.pauses.push_back(pause);
        if turns.sending == Sending::Nothing {
            self.next_turn(now, place);
        }
    }

    /// The output of a node that holds most octets of one input.
    fn longest_output(&self, place: u32) -> u32 {
        let port = self.inputs[place as usize].port;
        let outputs = &self.outputs[self.nodes[port as usize].1 as usize];
        let held = outputs.iter().map(|output| (self.held_at(*output, port, u8::MAX), *output));
        // Of equals the first.
        held.fold((0, NONE), |best, each| if best.1 == NONE || each.0 > best.0 { each } else { best }).1
    }

    /// Octets queued at `output` of frames that came by `port` and are of one of `classes`.
    pub(super) fn held_at(&self, output: u32, port: u32, classes: u8) -> u64 {
        let output = &self.ports[output as usize];
        let queued = self.turns.get(output.turns_at as usize).into_iter().flat_map(Turns::waiting);
        let of_input = queued
            .chain(output.waiting())
            .filter(|frame| frame.is(flag::HELD) && classes & 1 << frame.class() != 0 && self.came_by(frame) == port);
        of_input.map(|frame| frame.octets()).sum()
    }

    /// A pause frame takes effect at the far end of the link it crossed.
    pub(super) fn pause_works(&mut self, now: Instant, place: u32) {
        let turns = &mut self.turns[place as usize];
        let Some((_, pause)) = turns.under_way.pop_front() else { return };
        if let Some((next, _)) = turns.under_way.front() {
            self.wheel.set(self.entities.pause + place, *next);
        }
        let stopped = self.peers[turns.port as usize];
        let (target, feeder) = (self.ports[stopped as usize].turns_at, self.ports[stopped as usize].feeder);
        if feeder != NONE {
            self.let_go(now, feeder);
        } else {
            self.take_turns(now, stopped);
        }
        let turns = &mut self.turns[target as usize];
        let until = now.ps() + turns.quanta_ps(pause.quanta);
        let whole_link = pause.classes == u8::MAX;
        for (number, class) in turns.classes.iter_mut().enumerate() {
            if pause.classes & 1 << class.number == 0 {
                continue;
            }
            let in_force = class.stopped_until > now.ps();
            if (!in_force || pause.quanta == 0) && class.stopped_until > class.stopped_since {
                let end = class.stopped_until.min(now.ps());
                if number == 0 || !whole_link {
                    let lane = if whole_link { None } else { Some(class.number) };
                    self.recorder.on_pause(class.stopped_since, end, stopped, lane, class.because);
                }
                class.stopped_since = now.ps();
            }
            if !in_force {
                class.stopped_since = now.ps();
                class.because = pause.because;
            }
            class.stopped_until = until;
        }
        if feeder != NONE {
            self.ports[stopped as usize].stopped_until = turns.classes[0].stopped_until;
            return self.expect(feeder);
        }
        if turns.sending == Sending::Nothing {
            self.next_turn(now, target);
        }
    }
}
