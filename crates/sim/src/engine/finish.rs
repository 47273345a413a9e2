//! The end of a run: the last bins, the totals, the audit.

use super::{Engine, Finished, Halt, Letter};
use crate::audit::{self, Violation};
use crate::frame::flag;
use crate::input::Input;
use crate::probe::{FlowTally, Tally, TcpTally, Trace};
use crate::sender::Sender;
use crate::source::Source;
use qcnlab_units::Bytes;
use std::collections::VecDeque;

impl Engine {
    /// Settles the last bins, closes the books and checks them.
    pub(super) fn finish(mut self, watch: &mut dyn FnMut(&Trace)) -> Result<Finished, Halt> {
        self.let_all_go(self.end);
        self.count_all_arrived(self.end);
        for index in 0..self.ports.len() {
            self.settle(self.end, index as u32);
            let delay = self.ports[index].delay().ps();
            for frame in self.ports[index].on_the_wire().filter(|frame| !frame.is(flag::NOT_DATA)) {
                let path = self.paths[frame.path() as usize];
                if frame.hop() + 1 == path.len {
                    let left = frame.arrival - delay;
                    self.recorder.count_left(path.end, path.member, left, frame.octets());
                }
            }
        }
        self.close_pauses();
        self.recorder.finish(self.end);
        self.recorder.show(watch);
        for tally in &self.tallies {
            self.counters.frames_sent += tally.sent;
            self.counters.frames_delivered += tally.delivered;
            self.counters.frames_dropped += tally.dropped;
            self.counters.frames_refused += tally.refused;
        }
        self.counters.pause_frames = self.turns.iter().map(|turns| turns.pause_frames).sum();
        self.counters.frame_hops = self.ports.iter().map(|port| port.count.accepted_frames).sum();
        self.audit()?;
        let flows = self.senders.iter().zip(&self.tallies).map(|(sender, tally)| totals(sender, tally)).collect();
        Ok(Finished { trace: self.recorder.into_trace(), counters: self.counters, flows })
    }

    /// Records the pauses that are in force or ran off without a successor.
    fn close_pauses(&mut self) {
        for turns in &self.turns {
            let whole_link = self.whole_link(turns.port);
            for (number, class) in turns.classes.iter().enumerate() {
                if class.stopped_until > class.stopped_since && (number == 0 || !whole_link) {
                    let end = class.stopped_until.min(self.end.ps());
                    let lane = if whole_link { None } else { Some(class.number) };
                    self.recorder.on_pause(class.stopped_since, end, turns.port, lane, class.because);
                }
            }
        }
    }

    /// Whether the far end of a port stops all its classes together.
    fn whole_link(&self, port: u32) -> bool {
        let input = self.inputs.get(self.ports[port as usize].input as usize);
        input.and_then(|input| input.gate.as_ref()).is_some_and(|gate| gate.classes(0) == u8::MAX)
    }

    fn audit(&mut self) -> Result<(), Violation> {
        let promised: Vec<u64> = self.inputs.iter().map(Input::allowance).collect();
        for node in 0..self.uncounted.len() {
            if self.uncounted[node] {
                self.count_anew(self.end, node as u32);
            }
        }
        for (name, port) in self.port_names.iter().zip(&self.ports) {
            let turns = self.turns.get(port.turns_at as usize);
            audit::port(name, port, turns)?;
        }
        for (input, promised) in self.inputs.iter().zip(promised) {
            audit::room(&self.port_names[input.port as usize], promised, input.allowance())?;
            let held = self.outputs[self.nodes[input.port as usize].1 as usize].iter();
            let held = held.map(|output| self.held_at(*output, input.port, u8::MAX)).sum();
            audit::input(&self.port_names[input.port as usize], input, held)?;
        }
        self.audit_nodes()?;
        let path_flow = |path: u32| self.paths[path as usize].flow;
        let names = self.names.iter().map(String::as_str);
        audit::flows(names, &self.tallies, path_flow, self.ports.iter(), self.turns.iter())?;
        let in_line: usize = self.under_way.iter().map(VecDeque::len).sum();
        let (signals, probes) = self.letters_in_frames();
        audit::signals(&self.counters, in_line as u64 + signals, probes)?;
        audit::acks(&self.counters, self.ports.iter(), self.turns.iter())
    }

    /// Octets in and out of every node.
    fn audit_nodes(&self) -> Result<(), Violation> {
        let mut books: Vec<audit::Node> =
            self.extra.iter().map(|(made, taken)| audit::Node::new(*made, *taken)).collect();
        for (port, (from, to)) in self.ports.iter().zip(&self.nodes) {
            books[*from as usize].out(&port.count);
            books[*to as usize].came(&port.count);
        }
        for input in &self.inputs {
            books[self.nodes[input.port as usize].1 as usize].lost += input.dropped_bytes;
        }
        for (sender, tally) in self.senders.iter().zip(&self.tallies) {
            books[self.nodes[sender.port as usize].0 as usize].made += tally.sent_bytes;
            let last = *self.ports_of(sender.first_path).last().expect("a way has links");
            books[self.nodes[last as usize].1 as usize].taken += tally.delivered_bytes;
        }
        self.node_names.iter().zip(books).try_for_each(|(name, book)| book.check(name))
    }

    /// Letters inside frames: signals and probes.
    fn letters_in_frames(&self) -> (u64, u64) {
        let mut free = vec![false; self.letters.len()];
        self.free_letters.iter().for_each(|place| free[*place as usize] = true);
        let kept = self.letters.iter().zip(free).filter(|(_, free)| !free);
        kept.fold((0, 0), |(signals, probes), (letter, _)| match letter {
            Letter::Signal(_) => (signals + 1, probes),
            Letter::Probe(_) => (signals, probes + 1),
        })
    }
}

/// The totals of a flow, and of its connection if it has one.
fn totals(sender: &Sender, tally: &Tally) -> FlowTally {
    let totals = FlowTally { started: sender.start, ..tally.close() };
    let Source::Tcp(connection) = &sender.source else { return totals };
    let stats = connection.sender.stats();
    let tcp = TcpTally {
        in_order_bytes: connection.in_order(),
        segments: stats.segments,
        retransmitted: stats.retransmitted,
        fast_retransmits: stats.fast_retransmits,
        timeouts: stats.timeouts,
    };
    FlowTally { total_bytes: connection.total.map(Bytes::get), tcp: Some(tcp), ..totals }
}
