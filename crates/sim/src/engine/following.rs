//! Follows messages: what their packets wait for at their senders, and when they cross links.
//!
//! A run that follows messages has [an event for each arrival](crate::plan::Events::Everywhere), and is looked at before each
//! event. What a look finds was so since the event before it. A run that follows nothing pays nothing: the loop looks where it
//! attends to its control.

use super::network::Network;
use super::schedule::Event;
use super::senders::{NextPacket, Passing, Senders};
use crate::course::{Course, CrossedLink, Followed, PassedPacket};
use crate::frame::flag;
use crate::ids::PortId;
use qcnlab_units::Instant;

/// The messages that are followed.
pub(super) struct Following {
    /// By their starts.
    messages: Vec<Message>,
    /// How many of them have started, and which of these are not over.
    started: usize,
    live: Vec<usize>,
    /// When the last event was.
    before: Instant,
}

/// A message, and how far it is.
struct Message {
    /// Its position among those that were asked for.
    position: usize,
    followed: Followed,
    course: Course,
    /// Packets that have passed, and of these repeats.
    packets: u64,
    again: u64,
    /// From when on the next packet might go, as far as is known.
    permitted: Option<Instant>,
    /// Since when the transport has had one to send.
    ready: Option<Instant>,
}

impl Following {
    pub(super) fn new(followed: &[Followed]) -> Following {
        let message = |(position, followed): (usize, &Followed)| Message {
            position,
            followed: *followed,
            course: Course::default(),
            packets: 0,
            again: 0,
            permitted: None,
            ready: None,
        };
        let mut messages: Vec<Message> = followed.iter().enumerate().map(message).collect();
        messages.sort_by_key(|message| message.followed.from);
        Following { messages, started: 0, live: Vec::new(), before: Instant::ZERO }
    }

    /// Looks at what is there before `event` happens.
    pub(super) fn on_event(&mut self, now: Instant, event: Event, network: &mut Network, senders: &Senders) {
        while self.messages.get(self.started).is_some_and(|message| message.followed.from <= now) {
            self.live.push(self.started);
            self.started += 1;
        }
        let Following { messages, live, before, .. } = self;
        for message in &*live {
            messages[*message].observe(*before, senders);
        }
        *before = now;
        live.retain(|message| messages[*message].followed.until >= now);
        if let Event::Arrival(port) = event
            && !live.is_empty()
        {
            self.note_crossing(now, port, network);
        }
    }

    fn note_crossing(&mut self, now: Instant, port: PortId, network: &mut Network) {
        let (left, frame) = network.frame_about_to_arrive(now, port, |_| 0);
        if frame.is(flag::NOT_DATA) || !frame.is(flag::SEGMENT) {
            return;
        }
        let flow = network.flow_of(&frame);
        let Following { messages, live, .. } = self;
        let Some(message) = live.iter().find(|message| messages[**message].followed.flow == flow) else { return };
        let message = &mut messages[*message];
        message.course.crossed.push(CrossedLink {
            passed: network.packets().get(frame.packet()).sent_at,
            port,
            hop: frame.hop(),
            class: frame.class(),
            left,
            takes: network.transmission(port, &frame),
            arrived: now,
        });
    }

    /// The courses of the messages, in the order in which they were asked for.
    pub(super) fn into_courses(self) -> Vec<Course> {
        let mut messages = self.messages;
        messages.sort_by_key(|message| message.position);
        messages.into_iter().map(|message| message.course).collect()
    }
}

impl Message {
    /// Observes its sender: what is there has been since `before`.
    fn observe(&mut self, before: Instant, senders: &Senders) {
        let Some(Passing { packets, again, next }) = senders.passing(self.followed.flow) else { return };
        if packets > self.packets {
            let permitted = self.permitted.take().unwrap_or(before).min(before);
            self.course.passed.push(PassedPacket { permitted, passed: before, again: again > self.again });
            (self.packets, self.again, self.ready) = (packets, again, None);
        }
        match next {
            NextPacket::Held => (self.permitted, self.ready) = (None, None),
            NextPacket::AtAdapter => self.permitted = self.permitted.or(Some(before)),
            NextPacket::From(pacer) => {
                let ready = *self.ready.get_or_insert(before);
                self.permitted = Some(ready.max(pacer));
            }
        }
    }
}
