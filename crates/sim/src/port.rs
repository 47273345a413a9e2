//! A port: a queue and the link behind it, one direction.
//!
//! A first-in first-out port that nothing can pause knows a frame's departure
//! when the frame arrives, so it needs no event at the end of a transmission:
//! the frame goes into the ring with the time of its arrival at the far end, and
//! the queue length is updated on demand. A departure at the
//! time of an update has happened.
//!
//! A port with [priority queues](crate::priority_queues) keeps waiting frames
//! there, and only what is on the wire here.

use crate::frame::{Flags, Frame, Ring, flag};
use crate::ids::{FlowId, InputId, PortCpId, QueuesId};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// The kinds of ports: how one queues and transmits. The port itself and the door to all kinds, `ports.rs` of the engine's
/// network, tell them apart; everybody else asks the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PortKind {
    /// First in, first out, without limit; nothing observes or pauses it.
    Plain,
    /// First in, first out; departures are computed when frames arrive.
    Fifo(Fifo),
    /// Frames wait in priority queues; the end of each transmission is an event.
    Queues(QueuesId),
    /// As [`Plain`](PortKind::Plain), with the frames of one sender, which waits while the link is busy or paused.
    Alone(Sole),
    /// It carries the frames of one sender, which are sent on demand.
    OnDemand(Sole),
}

/// What a first-in first-out port needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fifo {
    /// The congestion point of its queue.
    pub(crate) cp: Option<PortCpId>,
    /// The same, if it sees arrivals; [`PortCpId::MAX`] otherwise.
    pub(crate) arrivals: PortCpId,
    /// What is done about departures.
    pub(crate) departures: Departures,
    /// The priority queues it changes to while something is paused; `None` if nothing can be.
    pub(crate) queues: Option<QueuesId>,
}

/// What the port of a sender that has its link to itself needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sole {
    pub(crate) sender: FlowId,
    /// The priority queues that keep the state of its pauses; no frame waits there.
    pub(crate) queues: Option<QueuesId>,
}

/// What is done about departures from a first-in first-out port, when its queue is updated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Departures {
    /// They free the input buffers that hold the frames.
    FreeBuffers,
    /// The congestion point sees them.
    Shown(PortCpId),
    /// The congestion point sees them, and they free the input buffers that hold the frames.
    ShownAndFreed(PortCpId),
    /// Nothing.
    #[default]
    Unobserved,
}

/// What happens to a frame at the far end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FarEnd {
    /// The node forwards it, or is its sink.
    Node,
    /// An input buffer admits or drops it first.
    Buffer(InputId),
    /// Frames may lose their CN-TAG and change their class; see [`DomainPort`](crate::plan::DomainPort).
    Defended,
    /// As [`Defended`](FarEnd::Defended), and an input buffer admits or drops them.
    DefendedBuffer(InputId),
    /// It has reached its sink and is only counted, on demand: its arrival needs no event.
    CountingSink,
}

impl Fifo {
    /// Without a congestion point.
    pub(crate) const UNWATCHED: Fifo =
        Fifo { cp: None, arrivals: PortCpId::MAX, departures: Departures::Unobserved, queues: None };
}

impl Departures {
    /// What is done instead when the node counts each frame in and out, or no longer does.
    pub(crate) const fn counted(self, each: bool) -> Departures {
        match (self, each) {
            (Departures::Shown(cp) | Departures::ShownAndFreed(cp), false) => Departures::Shown(cp),
            (Departures::Shown(cp) | Departures::ShownAndFreed(cp), true) => Departures::ShownAndFreed(cp),
            (Departures::FreeBuffers | Departures::Unobserved, false) => Departures::Unobserved,
            (Departures::FreeBuffers | Departures::Unobserved, true) => Departures::FreeBuffers,
        }
    }
}

impl FarEnd {
    /// Whether something happens to frames there; see [`DomainPort`](crate::plan::DomainPort).
    #[inline(always)]
    pub(crate) const fn is_defended(self) -> bool {
        matches!(self, FarEnd::Defended | FarEnd::DefendedBuffer(_))
    }
}

/// What a hop needs stands together, in three cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Port {
    ring: Ring,
    /// Number of the first frame in the ring that has not left.
    leaving: u32,
    /// Octets queued, the frame in transmission included.
    queued: u64,
    delay: u64,
    /// When the last queued frame will have left.
    busy_until: u64,
    kind: PortKind,
    /// With more than so many octets queued, its queue must be updated before a frame leaves the ring.
    updated_above: u64,
    /// Up to so many octets a queue takes a frame without an update: it fits, and departures may be ignored with it.
    fits_up_to: u64,
    /// Octets that the far end still admits without a look at it: any number at a plain node, none of a defended link.
    admits_up_to: u64,
    /// The flags of frames that are admitted so.
    admitted_flags: Flags,
    /// Picoseconds an octet; 0 when that is not a whole number.
    ps_per_byte: u64,
    overhead: u64,
    capacity: u64,
    far_end: FarEnd,
    pub(crate) count: PortCount,
    /// Up to so many octets the queue need not be updated for a congestion point that sees departures: those that leave
    /// no more behind mean nothing to it.
    ignored_up_to: u64,
    /// The port of a sender that has its link to itself is paused before this time.
    pub(crate) paused_until: u64,
    rate: BitRate,
    /// The allowance of the buffer at the far end of a defended link.
    defended_allowance: u64,
    /// The capacity while the link is up, if it is down.
    up_capacity: Option<u64>,
}

/// What a port counts from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct PortCount {
    pub(crate) accepted_frames: u64,
    pub(crate) accepted_bytes: u64,
    pub(crate) arrived_frames: u64,
    pub(crate) arrived_bytes: u64,
    pub(crate) dropped_frames: u64,
    pub(crate) dropped_bytes: u64,
    /// Accepted, and lost when the link failed.
    pub(crate) lost_frames: u64,
    pub(crate) lost_bytes: u64,
}

impl Port {
    pub(crate) fn new(rate: BitRate, delay: Span, capacity: Option<Bytes>, overhead: Bytes) -> Port {
        Port {
            ring: Ring::new(),
            leaving: 0,
            queued: 0,
            delay: delay.ps(),
            busy_until: 0,
            kind: if capacity.is_none() { PortKind::Plain } else { PortKind::Fifo(Fifo::UNWATCHED) },
            updated_above: u64::MAX,
            fits_up_to: capacity.map_or(u64::MAX, Bytes::get),
            admits_up_to: u64::MAX,
            admitted_flags: Flags::NONE,
            ps_per_byte: rate.ps_per_byte().unwrap_or(0),
            overhead: overhead.get(),
            count: PortCount::default(),
            capacity: capacity.map_or(u64::MAX, Bytes::get),
            ignored_up_to: u64::MAX,
            paused_until: 0,
            rate,
            far_end: FarEnd::Node,
            defended_allowance: 0,
            up_capacity: None,
        }
    }

    /// The rate it transmits at now.
    pub(crate) const fn rate(&self) -> BitRate {
        self.rate
    }

    /// Time from the end of a transmission to the queue at the far end.
    pub(crate) const fn delay(&self) -> Span {
        Span::from_ps(self.delay)
    }

    /// When the port has nothing left to transmit, from what is known now.
    #[inline]
    pub(crate) const fn busy_until(&self) -> Instant {
        Instant::from_ps(self.busy_until)
    }

    /// When the next frame of the sender that has it to itself may start, from what is known now.
    #[inline(always)]
    pub(crate) const fn next_start(&self) -> Instant {
        Instant::from_ps(if self.busy_until > self.paused_until { self.busy_until } else { self.paused_until })
    }

    /// The sender whose frames it carries, if they are sent on demand.
    #[inline(always)]
    pub(crate) const fn sender_on_demand(&self) -> Option<FlowId> {
        match self.kind {
            PortKind::OnDemand(sole) => Some(sole.sender),
            PortKind::Plain | PortKind::Alone(_) | PortKind::Fifo(_) | PortKind::Queues(_) => None,
        }
    }

    /// Whether anything is done about departures when its queue is updated.
    #[inline(always)]
    pub(crate) const fn observes_departures(&self) -> bool {
        matches!(self.kind, PortKind::Fifo(fifo) if !matches!(fifo.departures, Departures::Unobserved))
    }

    /// Whether its queue must be updated before a frame leaves the ring: something is done about its departure.
    #[inline(always)]
    pub(crate) const fn is_updated_before_arrival(&self) -> bool {
        self.queued > self.updated_above
    }

    /// Which of the kinds it is. Nobody asks but the door to all kinds.
    #[inline(always)]
    pub(crate) const fn kind(&self) -> PortKind {
        self.kind
    }

    /// The priority queues that its frames wait in now.
    #[inline(always)]
    pub(crate) const fn queues_in_use(&self) -> Option<QueuesId> {
        match self.kind {
            PortKind::Queues(queues) => Some(queues),
            PortKind::Plain | PortKind::Fifo(_) | PortKind::Alone(_) | PortKind::OnDemand(_) => None,
        }
    }

    /// What it needs, if it is first-in first-out now.
    #[inline(always)]
    pub(crate) const fn fifo(&self) -> Option<Fifo> {
        match self.kind {
            PortKind::Fifo(fifo) => Some(fifo),
            PortKind::Plain | PortKind::Queues(_) | PortKind::Alone(_) | PortKind::OnDemand(_) => None,
        }
    }

    /// What is done about departures when its queue is updated.
    #[inline(always)]
    pub(crate) const fn departures(&self) -> Departures {
        match self.kind {
            PortKind::Fifo(fifo) => fifo.departures,
            PortKind::Plain | PortKind::Queues(_) | PortKind::Alone(_) | PortKind::OnDemand(_) => {
                Departures::Unobserved
            }
        }
    }

    /// Whether it carries nothing but the frames of senders that wait for its link, and takes them all.
    #[inline(always)]
    pub(crate) const fn is_plain(&self) -> bool {
        matches!(self.kind, PortKind::Plain | PortKind::Alone(_))
    }

    /// The sender that has it to itself.
    #[inline(always)]
    pub(crate) const fn sole_sender(&self) -> Option<FlowId> {
        match self.kind {
            PortKind::Alone(sole) | PortKind::OnDemand(sole) => Some(sole.sender),
            PortKind::Plain | PortKind::Fifo(_) | PortKind::Queues(_) => None,
        }
    }

    /// Its frames wait in priority queues from now on.
    pub(crate) fn use_queues(&mut self, queues: QueuesId) {
        self.set_kind(PortKind::Queues(queues));
    }

    /// It is first-in first-out from now on.
    pub(crate) fn use_fifo(&mut self, fifo: Fifo) {
        self.set_kind(PortKind::Fifo(fifo));
    }

    /// It carries the frames of `sender` alone, which waits while the link is busy or paused.
    pub(crate) fn carry_alone(&mut self, sender: FlowId) {
        self.set_kind(PortKind::Alone(Sole { sender, queues: self.queues() }));
    }

    /// It carries the frames of `sender` alone, which are sent on demand.
    pub(crate) fn carry_on_demand(&mut self, sender: FlowId) {
        self.set_kind(PortKind::OnDemand(Sole { sender, queues: self.queues() }));
    }

    fn set_kind(&mut self, kind: PortKind) {
        self.kind = kind;
        self.find_limits();
    }

    /// Has departures free the buffers of their frames, if it is first-in first-out and its node counts `each` frame in
    /// and out; otherwise no longer.
    pub(crate) fn count_departures(&mut self, each: bool) {
        if let PortKind::Fifo(fifo) = &mut self.kind {
            fifo.departures = fifo.departures.counted(each);
            self.find_limits();
        }
    }

    /// Up to so many octets the queue need not be updated for a congestion point that sees departures.
    pub(crate) const fn ignored_up_to(&self) -> u64 {
        self.ignored_up_to
    }

    /// Sets up to which length of the queue its congestion point ignores departures.
    pub(crate) fn ignore_up_to(&mut self, octets: u64) {
        self.ignored_up_to = octets;
        self.find_limits();
    }

    /// Finds how long the queue may be before something has to be done about departures.
    fn find_limits(&mut self) {
        let PortKind::Fifo(Fifo { departures, .. }) = self.kind else {
            self.updated_above = u64::MAX;
            return;
        };
        self.updated_above = match departures {
            Departures::Unobserved => u64::MAX,
            Departures::Shown(_) => self.ignored_up_to,
            Departures::FreeBuffers | Departures::ShownAndFreed(_) => 0,
        };
        self.fits_up_to = match departures {
            Departures::ShownAndFreed(_) => 0,
            _ => self.capacity.min(self.ignored_up_to),
        };
    }

    /// Octets queued, as of the last update.
    #[inline]
    pub(crate) const fn queue_len(&self) -> Bytes {
        Bytes::new(self.queued)
    }

    /// The priority queues it uses now or may use.
    pub(crate) const fn queues(&self) -> Option<QueuesId> {
        match self.kind {
            PortKind::Plain => None,
            PortKind::Fifo(fifo) => fifo.queues,
            PortKind::Queues(queues) => Some(queues),
            PortKind::Alone(sole) | PortKind::OnDemand(sole) => sole.queues,
        }
    }

    /// The input buffer at the far end.
    #[inline(always)]
    pub(crate) const fn input(&self) -> Option<InputId> {
        match self.far_end {
            FarEnd::Buffer(input) | FarEnd::DefendedBuffer(input) => Some(input),
            FarEnd::Node | FarEnd::CountingSink | FarEnd::Defended => None,
        }
    }

    /// What happens to frames at the far end.
    #[inline(always)]
    pub(crate) const fn far_end(&self) -> FarEnd {
        self.far_end
    }

    /// Sets what happens to frames at the far end; a buffer has no allowance yet.
    pub(crate) const fn set_far_end(&mut self, far_end: FarEnd) {
        self.far_end = far_end;
        (self.admits_up_to, self.admitted_flags) = match far_end {
            FarEnd::Node | FarEnd::CountingSink => (u64::MAX, Flags::NONE),
            FarEnd::Buffer(_) => (0, Flags::of(flag::BUFFERED)),
            FarEnd::Defended | FarEnd::DefendedBuffer(_) => (0, Flags::NONE),
        };
    }

    /// Admits a frame that has arrived at the far end, if that needs no look at it.
    #[inline(always)]
    pub(crate) const fn admit_by_allowance(&mut self, frame: &mut Frame) -> bool {
        let fits = frame.octets() <= self.admits_up_to;
        if fits {
            self.admits_up_to -= frame.octets();
            frame.set_all(self.admitted_flags);
        }
        fits
    }

    /// Octets that the buffer at the far end still admits without counting them.
    pub(crate) const fn allowance(&self) -> u64 {
        match self.far_end {
            FarEnd::DefendedBuffer(_) => self.defended_allowance,
            _ => self.admits_up_to,
        }
    }

    /// The same, to change.
    pub(crate) const fn allowance_mut(&mut self) -> &mut u64 {
        match self.far_end {
            FarEnd::DefendedBuffer(_) => &mut self.defended_allowance,
            _ => &mut self.admits_up_to,
        }
    }

    /// Uses up allowance of the buffer at the far end, if there is enough.
    pub(crate) const fn use_allowance(&mut self, size: u64) -> bool {
        let allowance = self.allowance_mut();
        let fits = size <= *allowance;
        if fits {
            *allowance -= size;
        }
        fits
    }

    pub(crate) const fn capacity(&self) -> Bytes {
        Bytes::new(self.capacity)
    }

    /// When the oldest frame reaches the far end.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        if self.ring.is_empty() { None } else { Some(Instant::from_ps(self.ring.at(self.ring.head()).arrival)) }
    }

    /// When the present transmission ends, as of the last update.
    pub(crate) fn next_departure(&self) -> Option<u64> {
        (self.leaving != self.ring.tail()).then(|| self.ring.at(self.leaving).arrival - self.delay)
    }

    /// Moves the frames that have not left, as of the last update, to `queue`; they still count here.
    pub(crate) fn move_waiting(&mut self, mut queue: impl FnMut(Frame)) {
        let mut number = self.leaving;
        while number != self.ring.tail() {
            queue(*self.ring.at(number));
            number = number.wrapping_add(1);
        }
        self.ring.truncate(self.leaving);
    }

    /// Takes the waiting frames back, which count here; the first of them starts its transmission now.
    pub(crate) fn take_back(&mut self, now: Instant, frames: &mut Ring) {
        self.busy_until = now.ps();
        while !frames.is_empty() {
            let mut frame = frames.pop();
            self.busy_until += self.transmission(frame.octets());
            frame.arrival = self.busy_until + self.delay;
            self.ring.push(frame);
        }
    }

    /// Whether a frame of `size` octets fits even if nothing has left since the last update, and departures may be
    /// ignored with it.
    #[inline(always)]
    pub(crate) const fn fits_without_update(&self, size: u64) -> bool {
        self.queued + size <= self.fits_up_to
    }

    /// Removes what has left by `now` from the queue.
    #[inline(always)]
    pub(crate) fn update_queue(&mut self, now: Instant) {
        while self.next_departed(now).is_some() {}
    }

    /// Whether a frame that counts as queued has left by `now`.
    #[inline(always)]
    pub(crate) fn has_departed(&self, now: Instant) -> bool {
        self.leaving != self.ring.tail() && self.ring.at(self.leaving).arrival - self.delay <= now.ps()
    }

    /// Removes one frame that has left by `now` from the queue; returns when it left.
    #[inline]
    pub(crate) fn next_departed(&mut self, now: Instant) -> Option<Instant> {
        if self.leaving == self.ring.tail() {
            return None;
        }
        let frame = self.ring.at(self.leaving);
        let left = frame.arrival - self.delay;
        if left > now.ps() {
            return None;
        }
        self.queued -= frame.octets();
        self.leaving = self.leaving.wrapping_add(1);
        Some(Instant::from_ps(left))
    }

    /// Octets of the frames that have left, as of the last update.
    #[inline]
    pub(crate) const fn sent(&self) -> u64 {
        self.count.accepted_bytes - self.queued
    }

    /// The frame that left last; it has not arrived yet.
    pub(crate) fn last_departed(&mut self) -> &mut Frame {
        self.ring.at_mut(self.leaving.wrapping_sub(1))
    }

    /// Queues a frame of a plain port; returns when it reaches the far end if the link was empty.
    #[inline(always)]
    pub(crate) fn enqueue_plain(&mut self, now: Instant, frame: Frame) -> Option<Instant> {
        self.count_accepted(frame.octets());
        self.transmit(now, frame)
    }

    /// Transmits an admitted frame after those before it; returns when it reaches the far end if the link was empty.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, now: Instant, mut frame: Frame) -> Option<Instant> {
        self.busy_until = self.busy_until.max(now.ps()) + self.transmission(frame.octets());
        frame.arrival = self.busy_until + self.delay;
        let empty = self.ring.is_empty();
        if empty {
            self.begin_ring();
        }
        self.ring.push(frame);
        empty.then_some(Instant::from_ps(frame.arrival))
    }

    /// The ring is empty: the next frame goes to its beginning. So a link that was busy once does not walk through all the
    /// memory that its ring has from then.
    #[inline(always)]
    fn begin_ring(&mut self) {
        self.ring.restart();
        self.leaving = self.ring.head();
    }

    /// Counts a frame whose transmission started at `at` and which has crossed an empty link.
    #[inline(always)]
    pub(crate) fn count_crossed(&mut self, at: Instant, takes: u64, size: u64) {
        self.busy_until = at.ps() + takes;
        self.count.accepted_frames += 1;
        self.count.accepted_bytes += size;
        self.count.arrived_frames += 1;
        self.count.arrived_bytes += size;
    }

    /// Admits a frame if a queue of `queued` octets has room for it, and drops it if not.
    #[inline(always)]
    pub(crate) fn admit(&mut self, queued: u64, size: u64) -> bool {
        if queued + size > self.capacity {
            self.count_dropped(size);
            return false;
        }
        self.count_accepted(size);
        true
    }

    /// Counts a frame that it drops.
    #[inline(always)]
    pub(crate) const fn count_dropped(&mut self, size: u64) {
        self.count.dropped_frames += 1;
        self.count.dropped_bytes += size;
    }

    /// As [`admit`](Port::admit), of a first-in first-out port.
    #[inline(always)]
    pub(crate) fn admit_fifo(&mut self, size: u64) -> bool {
        self.admit(self.queued, size)
    }

    #[inline(always)]
    fn count_accepted(&mut self, size: u64) {
        self.queued += size;
        self.count.accepted_frames += 1;
        self.count.accepted_bytes += size;
    }

    /// Puts a frame whose transmission ended now on the wire.
    pub(crate) fn put_on_the_wire(&mut self, now: Instant, mut frame: Frame) {
        self.queued -= frame.octets();
        frame.arrival = now.ps() + self.delay;
        if self.ring.is_empty() {
            self.begin_ring();
        }
        self.ring.push(frame);
        self.leaving = self.ring.tail();
    }

    /// The link fails: nothing has room any more.
    pub(crate) fn go_down(&mut self) {
        self.up_capacity = Some(std::mem::take(&mut self.capacity));
        self.find_limits();
    }

    /// Whether its link has failed.
    pub(crate) const fn is_down(&self) -> bool {
        self.up_capacity.is_some()
    }

    /// The link comes back.
    pub(crate) fn come_up(&mut self) {
        self.capacity = self.up_capacity.take().unwrap_or(self.capacity);
        self.find_limits();
    }

    /// Loses the oldest frame on the link of a port with priority queues.
    pub(crate) fn lose_on_the_wire(&mut self) -> Option<Frame> {
        if self.ring.is_empty() {
            return None;
        }
        let frame = self.ring.pop();
        self.count_lost(frame.octets());
        Some(frame)
    }

    /// Loses a frame of so many octets that waited in its priority queues.
    pub(crate) const fn lose_waiting(&mut self, size: u64) {
        self.queued -= size;
        self.count_lost(size);
    }

    const fn count_lost(&mut self, size: u64) {
        self.count.lost_frames += 1;
        self.count.lost_bytes += size;
    }

    /// Takes the oldest frame off the link: its last bit has reached the far end.
    #[inline]
    pub(crate) fn take_arrived(&mut self) -> Frame {
        let number = self.ring.head();
        let frame = self.ring.pop();
        if self.leaving == number {
            self.queued -= frame.octets();
            self.leaving = self.ring.head();
        }
        self.count.arrived_frames += 1;
        self.count.arrived_bytes += frame.octets();
        frame
    }

    /// Transmits at `rate` from `now` on. What is left of the frame in transmission
    /// goes at the new rate, so no bit is sent twice or lost; the rounding is up,
    /// to a whole picosecond.
    pub(crate) fn change_rate(&mut self, now: Instant, rate: BitRate) {
        self.update_queue(now);
        let old = self.rate;
        self.rate = rate;
        self.ps_per_byte = rate.ps_per_byte().unwrap_or(0);
        if self.leaving == self.ring.tail() {
            return;
        }
        let mut busy = now.ps();
        let mut number = self.leaving;
        while number != self.ring.tail() {
            let frame = *self.ring.at(number);
            let takes = if number == self.leaving {
                rescaled(frame.arrival - self.delay - now.ps(), old, rate)
            } else {
                self.transmission(frame.octets())
            };
            busy += takes;
            self.ring.at_mut(number).arrival = busy + self.delay;
            number = number.wrapping_add(1);
        }
        self.busy_until = busy;
    }

    /// Time on the wire of a frame of `size` octets, ps.
    #[inline]
    pub(crate) fn transmission(&self, size: u64) -> u64 {
        let octets = size + self.overhead;
        if self.ps_per_byte != 0 {
            octets * self.ps_per_byte
        } else {
            self.rate.time_for_rounded_up(Bytes::new(octets)).ps()
        }
    }

    /// Frames that have left but not arrived, oldest first.
    pub(crate) fn on_the_wire(&self) -> impl Iterator<Item = &Frame> {
        let frames = self.leaving.wrapping_sub(self.ring.head());
        self.ring.since(self.ring.head()).take(frames as usize)
    }

    /// Every frame the port holds: on the wire, in transmission and queued.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Frame> {
        self.ring.since(self.ring.head())
    }

    pub(crate) const fn ring(&self) -> &Ring {
        &self.ring
    }

    pub(crate) const fn ring_mut(&mut self) -> &mut Ring {
        &mut self.ring
    }

    /// Frames that have not left.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Frame> {
        self.ring.since(self.leaving)
    }
}

/// What is left of a transmission, `left` ps at rate `old`, at rate `new`; rounded up to a whole picosecond.
pub(crate) fn rescaled(left: u64, old: BitRate, new: BitRate) -> u64 {
    let scaled = (u128::from(left) * u128::from(old.get())).div_ceil(u128::from(new.get()));
    u64::try_from(scaled).unwrap_or(u64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    fn frame(size: u16) -> Frame {
        Frame::of_class(0, size)
    }

    /// Queues a frame; returns false when it does not fit.
    fn enqueue(port: &mut Port, now: Instant, frame: Frame) -> bool {
        let admitted = port.admit_fifo(frame.octets());
        if admitted {
            port.transmit(now, frame);
        }
        admitted
    }

    fn at_us(n: u64) -> Instant {
        Instant::ZERO + Span::from_us(n)
    }

    fn ten_gig() -> Port {
        Port::new(BitRate::gbps(10), Span::from_us(5), Some(Bytes::new(4500)), Bytes::ZERO)
    }

    #[test]
    fn departures_are_known_on_arrival() {
        // 1500 octets at 10 Gb/s take 1.2 us; the link adds 5 us.
        let mut port = ten_gig();
        assert!(enqueue(&mut port, at_us(0), frame(1500)));
        assert!(enqueue(&mut port, at_us(0), frame(1500)));
        assert_eq!(port.next_arrival(), Some(Instant::from_ps(6_200_000)));
        assert_eq!(port.busy_until().ps(), 2_400_000);
        assert_eq!(port.queue_len(), Bytes::new(3000));
        port.update_queue(Instant::from_ps(1_199_999));
        assert_eq!(port.queue_len(), Bytes::new(3000));
        assert_eq!([1_199_999, 1_200_000].map(|at| port.has_departed(Instant::from_ps(at))), [false, true]);
        assert_eq!((port.on_the_wire().count(), port.waiting().count(), port.held().count()), (0, 2, 2));
        port.update_queue(Instant::from_ps(1_200_000));
        assert_eq!(port.queue_len(), Bytes::new(1500));
        assert_eq!((port.on_the_wire().count(), port.waiting().count(), port.held().count()), (1, 1, 2));
        assert!(!port.has_departed(Instant::from_ps(1_200_000)), "it is counted already");
    }

    #[test]
    fn a_departure_at_the_same_instant_makes_room() {
        let mut port = ten_gig();
        for _ in 0..3 {
            assert!(enqueue(&mut port, at_us(0), frame(1500)));
        }
        port.update_queue(Instant::from_ps(1_199_999));
        assert!(!enqueue(&mut port, Instant::from_ps(1_199_999), frame(1500)));
        port.update_queue(Instant::from_ps(1_200_000));
        assert!(enqueue(&mut port, Instant::from_ps(1_200_000), frame(1500)));
        assert!(!enqueue(&mut port, Instant::from_ps(1_200_000), frame(64)));
        let PortCount { accepted_frames, accepted_bytes, dropped_frames, dropped_bytes, .. } = port.count;
        assert_eq!((accepted_frames, accepted_bytes, dropped_frames, dropped_bytes), (4, 6000, 2, 1564));
    }

    #[test]
    fn a_rate_change_in_the_middle_of_a_frame_is_exact() {
        // At 0.6 us half of the first frame is out: 6000 bits are left. At 1 Gb/s they take
        // 6 us, and the second frame 12 us.
        let mut port = ten_gig();
        enqueue(&mut port, at_us(0), frame(1500));
        enqueue(&mut port, at_us(0), frame(1500));
        port.change_rate(Instant::from_ps(600_000), BitRate::gbps(1));
        let arrivals: Vec<u64> = port.held().map(|f| f.arrival).collect();
        assert_eq!(arrivals, [600_000 + 6_000_000 + 5_000_000, 600_000 + 18_000_000 + 5_000_000]);
        assert_eq!(port.busy_until().ps(), 18_600_000);
        // Back up at 3 us: 2400 of the 6000 bits went at 1 Gb/s, 3600 are left: 0.36 us at 10 Gb/s.
        port.change_rate(Instant::from_ps(3_000_000), BitRate::gbps(10));
        assert_eq!(port.next_arrival(), Some(Instant::from_ps(3_000_000 + 360_000 + 5_000_000)));
    }

    #[test]
    fn a_frame_on_the_wire_is_not_touched_by_a_rate_change() {
        let mut port = ten_gig();
        enqueue(&mut port, at_us(0), frame(1500));
        port.change_rate(at_us(2), BitRate::mbps(500));
        assert_eq!(port.next_arrival(), Some(Instant::from_ps(6_200_000)));
        assert_eq!(port.on_the_wire().count(), 1);
    }

    /// With 1500 of 4500 octets queued: whether the queue must be updated before an arrival, and how large a frame needs no
    /// update to be queued.
    #[test]
    fn what_is_done_about_departures_says_when_a_queue_is_updated() {
        let mut port = ten_gig();
        enqueue(&mut port, at_us(0), frame(1500));
        let limits = |port: &Port| {
            (port.is_updated_before_arrival(), (0..=4500).rev().find(|size| port.fits_without_update(*size)))
        };
        let cp = PortCpId::new(0);
        let fifo = |departures| Fifo { departures, ..Fifo::UNWATCHED };
        assert_eq!(limits(&port), (false, Some(3000)));
        port.use_fifo(fifo(Departures::FreeBuffers));
        assert_eq!(limits(&port), (true, Some(3000)));
        port.use_fifo(fifo(Departures::Shown(cp)));
        port.ignore_up_to(2000);
        assert_eq!((limits(&port), port.ignored_up_to()), ((false, Some(500)), 2000));
        port.ignore_up_to(1499);
        assert_eq!(limits(&port), (true, None));
        port.ignore_up_to(2000);
        port.count_departures(true);
        assert_eq!((port.fifo(), limits(&port)), (Some(fifo(Departures::ShownAndFreed(cp))), (true, None)));
        port.count_departures(false);
        assert_eq!((port.fifo(), limits(&port)), (Some(fifo(Departures::Shown(cp))), (false, Some(500))));
        port.go_down();
        assert_eq!(limits(&port), (false, None));
        port.come_up();
        assert_eq!(limits(&port), (false, Some(500)));
        port.update_queue(at_us(2));
        port.use_fifo(fifo(Departures::FreeBuffers));
        assert!(!port.is_updated_before_arrival(), "nothing is queued");
    }

    /// Twenty frames make the ring of eight grow twice. When the last of them has arrived, the next is at its beginning.
    #[test]
    fn an_empty_link_begins_its_ring_anew() {
        let mut port = Port::new(BitRate::gbps(10), Span::from_us(5), None, Bytes::ZERO);
        for _ in 0..20 {
            port.enqueue_plain(at_us(0), frame(1500));
        }
        port.update_queue(at_us(3));
        let arrived: Vec<u64> = (0..20).map(|_| port.take_arrived().arrival).collect();
        assert_eq!((arrived[0], arrived[19]), (6_200_000, 29_000_000));
        assert_eq!((port.queue_len(), port.ring().tail()), (Bytes::ZERO, 20));
        assert_eq!(port.enqueue_plain(at_us(30), frame(1500)), Some(Instant::from_ps(36_200_000)));
        assert_eq!((port.queue_len(), port.ring().tail()), (Bytes::new(1500), 1));
        port.update_queue(at_us(32));
        assert_eq!((port.queue_len(), port.on_the_wire().count()), (Bytes::ZERO, 1));
    }

    #[test]
    fn overhead_takes_time_but_no_room() {
        let mut port = Port::new(BitRate::gbps(10), Span::ZERO, None, Bytes::new(20));
        enqueue(&mut port, at_us(0), frame(1500));
        assert_eq!((port.next_arrival(), port.queue_len()), (Some(Instant::from_ps(1_216_000)), Bytes::new(1500)));
    }

    /// Of 3000 octets two frames of 1500 use up all. They are marked as held by the buffer; a third is not admitted.
    #[test]
    fn a_buffer_admits_unseen_what_its_allowance_holds() {
        let mut port = ten_gig();
        port.set_far_end(FarEnd::Buffer(InputId::new(0)));
        assert_eq!(port.allowance(), 0, "none yet");
        *port.allowance_mut() = 3000;
        let mut arrives = || {
            let mut frame = frame(1500);
            (port.admit_by_allowance(&mut frame), frame.is(flag::BUFFERED), port.allowance())
        };
        assert_eq!([arrives(), arrives(), arrives()], [(true, true, 1500), (true, true, 0), (false, false, 0)]);
    }

    /// At a defended link every frame is looked at, and then uses the allowance: 400 of 1000 are left, and 401 do not fit.
    #[test]
    fn a_defended_buffer_admits_nothing_unseen() {
        let mut port = ten_gig();
        port.set_far_end(FarEnd::DefendedBuffer(InputId::new(0)));
        *port.allowance_mut() = 1000;
        assert!(!port.admit_by_allowance(&mut frame(64)));
        assert_eq!((port.use_allowance(600), port.allowance()), (true, 400));
        assert_eq!((port.use_allowance(401), port.allowance()), (false, 400));
        assert_eq!((port.use_allowance(400), port.allowance()), (true, 0));
        assert!(!port.admit_by_allowance(&mut frame(64)));
    }

    #[test]
    fn a_link_that_fails_has_no_room_until_it_comes_back() {
        let mut port = ten_gig();
        let capacity = |port: &Port| (port.is_down(), port.capacity());
        assert_eq!(capacity(&port), (false, Bytes::new(4500)));
        port.go_down();
        assert_eq!((capacity(&port), enqueue(&mut port, at_us(0), frame(64))), ((true, Bytes::ZERO), false));
        port.come_up();
        assert_eq!((capacity(&port), enqueue(&mut port, at_us(0), frame(64))), ((false, Bytes::new(4500)), true));
    }
}
