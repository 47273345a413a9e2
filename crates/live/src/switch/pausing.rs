//! When a switch pauses the link that a frame came over, refreshes that, and lets the link go on.

use super::Switches;
use crate::layout::mac;
use crate::port::Queued;
use qcnlab_schemes::driver::PauseScope;
use qcnlab_sim::PortId;
use qcnlab_units::Instant;
use qcnlab_wire::{Frame, MacAddress, MacControl, Pause, Payload, Pfc, Quanta};

impl Switches {
    /// Pauses the link that a frame came over, if that is due: `queued` octets are in its output queue now.
    pub(super) fn check_pause(&mut self, now: u64, input: PortId, class: u8, queued: u64) {
        let reverse = self.layout.ways[input].reverse;
        let (Some(memory), Some(port)) = (&self.inputs[input], &self.ports[reverse]) else { return };
        let Some(pause) = &memory.pause else { return };
        let by_threshold =
            pause.threshold_reached(Instant::from_ps(now), class, queued, |quanta| port.quanta_ps(quanta));
        if let Some(group) = by_threshold.or_else(|| memory.xoff_due(class)) {
            self.send_xoff(now, input, group);
        }
    }

    fn send_xoff(&mut self, now: u64, input: PortId, group: u8) {
        let reverse = self.layout.ways[input].reverse;
        let Some(port) = &self.ports[reverse] else { return };
        let Some(pause) = self.inputs[input].as_mut().and_then(|memory| memory.pause.as_mut()) else { return };
        let quanta = pause.quanta();
        pause.on_xoff(Instant::from_ps(now), group, port.quanta_ps(quanta));
        let (classes, scope) = (pause.classes(group), pause.plan.scope);
        self.send_pause_frame(now, reverse, classes, scope, quanta);
    }

    pub(super) fn send_xon_if_due(&mut self, now: u64, input: PortId, class: u8) {
        let Some(group) = self.inputs[input].as_ref().and_then(|memory| memory.xon_due(class)) else { return };
        let reverse = self.layout.ways[input].reverse;
        let Some(pause) = self.inputs[input].as_mut().and_then(|memory| memory.pause.as_mut()) else { return };
        pause.on_xon(Instant::from_ps(now), group);
        let (classes, scope) = (pause.classes(group), pause.plan.scope);
        self.send_pause_frame(now, reverse, classes, scope, 0);
    }

    pub(super) fn refresh_pauses(&mut self, now: u64) {
        for input in self.inputs.ids() {
            let due = |group: u8| {
                let pause = self.inputs[input].as_ref().and_then(|memory| memory.pause.as_ref());
                pause.is_some_and(|pause| pause.refresh_due(Instant::from_ps(now), group))
            };
            let groups: Vec<u8> = (0..8).filter(|group| due(*group)).collect();
            for group in groups {
                self.send_xoff(now, input, group);
            }
        }
    }

    fn send_pause_frame(&mut self, now: u64, port: PortId, classes: u8, scope: PauseScope, quanta: u16) {
        let control = match scope {
            PauseScope::Link => MacControl::Pause(Pause { time: Quanta(quanta) }),
            PauseScope::Classes(_) => MacControl::Pfc(Pfc::new(classes, Quanta(quanta))),
        };
        let source = mac(self.layout.ways[port].from);
        let frame = Frame::new(MacAddress::MAC_CONTROL, source, Payload::MacControl(control));
        let mut room = [0; 64];
        let Ok(written) = frame.encode_padded(&mut room) else { return };
        let Some(port) = &mut self.ports[port] else { return };
        port.enqueue_pause(now, Queued { octets: room[..written].to_vec(), class: 7, ..Queued::default() });
        self.records.counters.pause_frames += 1;
    }
}
