//! A shared buffer: one memory for all that a switch holds, with thresholds that follow what is free of it.
//!
//! A *priority group* is what arrived over one input in one class (or in all classes, where pauses stop whole links).
//!
//! ```text
//!   pool = reserve of each group + headroom + shared part
//!
//!   a frame fills   1. the reserve of its group
//!                   2. the shared part, as long as the group keeps to   alpha * (shared part - what is used of it)
//!                   3. the headroom, if pauses stop the group: it has been sent XOFF
//!                   and is dropped if there is nothing left
//!   a frame frees   headroom first, then the shared part, then the reserve
//! ```
//!
//! XOFF goes out when a group uses headroom or has reached its threshold, XON when its headroom is empty and it has come
//! `xon_offset` below the threshold, or down to `xon`. The queue of a class that is never paused may have a threshold of
//! its own. Frames that start at the switch itself are not counted.

use crate::frame::Frame;
use crate::ids::{IdVec, InputSlot, PortId};
use qcnlab_units::Bytes;

/// Part of the free octets that one group or queue may use: a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alpha {
    exponent: i8,
}

impl Alpha {
    /// Two to the power of `exponent`.
    pub const fn two_to(exponent: i8) -> Alpha {
        Alpha { exponent }
    }

    /// The power of two that it is.
    pub const fn exponent(self) -> i8 {
        self.exponent
    }

    /// This part of `free` octets, rounded down.
    pub const fn of(self, free: u64) -> u64 {
        if self.exponent < 0 { free >> self.exponent.unsigned_abs() } else { free.saturating_mul(1 << self.exponent) }
    }

    /// Octets that may be taken of `free` ones before somebody who holds `used` and takes them all has reached this part
    /// of what is left.
    const fn room(self, used: u64, free: u64) -> u64 {
        let (part, whole) = match self.exponent {
            ..0 => (1, 1 << self.exponent.unsigned_abs()),
            _ => (1 << self.exponent, 1),
        };
        // The most x with used + x + 1 <= (free - x) part / whole.
        (free.saturating_mul(part)).saturating_sub((used + 1) * whole) / (part + whole)
    }
}

/// What a node's shared buffer is made of; `P` is how its ports are numbered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedBufferPlan<P = PortId> {
    /// Octets that all groups share: the pool without reserves and headroom.
    pub shared: Bytes,
    /// Octets that each group has to itself.
    pub reserve: Bytes,
    /// Octets of headroom that all groups draw on; `None` where each has its own.
    pub headroom_pool: Option<Bytes>,
    /// Frames take whole cells of so many octets; 1 for octets.
    pub cell: Bytes,
    /// XON at this many octets of the shared part, however low the threshold.
    pub xon: Bytes,
    /// XON this far below the threshold.
    pub xon_offset: Bytes,
    /// Ports that lead to the node.
    pub inputs: Vec<SharedInputPlan<P>>,
    /// Ports of the node whose queues have a threshold, in classes that are never paused.
    pub queues: Vec<SharedQueuePlan<P>>,
}

impl<P: Copy> SharedBufferPlan<P> {
    /// Returns the same with ports as others number them, without those that they leave out.
    pub fn renumbered<Q>(&self, port: impl Fn(P) -> Option<Q>) -> SharedBufferPlan<Q> {
        let input = |of: &SharedInputPlan<P>| {
            Some(SharedInputPlan { port: port(of.port)?, headroom: of.headroom, alpha: of.alpha })
        };
        let queue = |of: &SharedQueuePlan<P>| Some(SharedQueuePlan { port: port(of.port)?, alpha: of.alpha });
        SharedBufferPlan {
            shared: self.shared,
            reserve: self.reserve,
            headroom_pool: self.headroom_pool,
            cell: self.cell,
            xon: self.xon,
            xon_offset: self.xon_offset,
            inputs: self.inputs.iter().filter_map(input).collect(),
            queues: self.queues.iter().filter_map(queue).collect(),
        }
    }
}

/// What the groups of one input have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedInputPlan<P = PortId> {
    /// The port that leads to the node.
    pub port: P,
    /// Octets of headroom that each paused group may use.
    pub headroom: Bytes,
    /// Part of what is free that each group may use; `None` for all of it.
    pub alpha: Option<Alpha>,
}

/// What the queues of one output have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedQueuePlan<P = PortId> {
    /// The port.
    pub port: P,
    /// Part of what is free that each queue may hold.
    pub alpha: Alpha,
}

/// The threshold of the queue that a frame is for, and what its frames take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLimit {
    pub(crate) alpha: Alpha,
    pub(crate) len: u64,
}

/// What one group uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct GroupUse {
    reserve: u64,
    shared: u64,
    headroom: u64,
}

/// The groups of one input.
#[derive(Clone, Debug)]
struct SharedInput {
    headroom: u64,
    alpha: Option<Alpha>,
    groups: [GroupUse; 8],
}

/// The memory of one node.
#[derive(Clone, Debug)]
pub(crate) struct SharedBuffer {
    shared: u64,
    reserve: u64,
    headroom_pool: u64,
    cell: u64,
    xon: u64,
    xon_offset: u64,
    /// By the position of the input.
    inputs: IdVec<InputSlot, SharedInput>,
    shared_used: u64,
    headroom_used: u64,
    reserve_used: u64,
}

impl SharedBuffer {
    /// An empty buffer. `inputs` are the ports that lead to the node, in the order of their positions.
    ///
    /// # Panics
    /// When the plan does not have one of them.
    pub(crate) fn new(plan: &SharedBufferPlan, inputs: &[PortId]) -> SharedBuffer {
        let input = |port: &PortId| {
            let input = plan.inputs.iter().find(|input| input.port == *port).expect("the plan has every input");
            SharedInput { headroom: input.headroom.get(), alpha: input.alpha, groups: [GroupUse::default(); 8] }
        };
        SharedBuffer {
            shared: plan.shared.get(),
            reserve: plan.reserve.get(),
            headroom_pool: plan.headroom_pool.map_or(u64::MAX, Bytes::get),
            cell: plan.cell.get().max(1),
            xon: plan.xon.get(),
            xon_offset: plan.xon_offset.get(),
            inputs: inputs.iter().map(input).collect(),
            shared_used: 0,
            headroom_used: 0,
            reserve_used: 0,
        }
    }

    /// Octets that a frame takes.
    #[inline]
    pub(crate) const fn takes(&self, size: u64) -> u64 {
        if self.cell == 1 { size } else { size.div_ceil(self.cell) * self.cell }
    }

    /// What the frames of a queue take, which have so many octets together. Cells are counted frame by frame.
    #[inline]
    pub(crate) fn take<'a>(&self, octets: u64, frames: impl Iterator<Item = &'a Frame>) -> u64 {
        if self.cell == 1 { octets } else { frames.map(|frame| self.takes(frame.octets())).sum() }
    }

    /// What a group of an input may use of the shared part, with `used` octets of it in use.
    #[inline]
    fn threshold(&self, input: InputSlot, used: u64) -> u64 {
        let free = self.shared.saturating_sub(used);
        self.inputs[input].alpha.map_or(u64::MAX, |alpha| alpha.of(free))
    }

    /// Admits a frame of `size` octets to a group of an input; false if there is no room. A lossless group may use
    /// headroom.
    #[inline]
    pub(crate) fn admit(
        &mut self,
        input: InputSlot,
        group: u8,
        size: u64,
        lossless: bool,
        queue: Option<QueueLimit>,
    ) -> bool {
        let takes = self.takes(size);
        let threshold = self.threshold(input, self.shared_used);
        let free = self.shared.saturating_sub(self.shared_used);
        let SharedInput { headroom, groups, .. } = &mut self.inputs[input];
        let group = &mut groups[usize::from(group)];
        let reserve = takes.min(self.reserve - group.reserve);
        let rest = takes - reserve;
        let fits_queue = queue.is_none_or(|queue| queue.len + takes <= queue.alpha.of(free));
        if rest == 0 || (rest <= free && group.shared + rest <= threshold && fits_queue) {
            group.reserve += reserve;
            group.shared += rest;
            self.reserve_used += reserve;
            self.shared_used += rest;
        } else if lossless && group.headroom + takes <= *headroom && self.headroom_used + takes <= self.headroom_pool {
            group.headroom += takes;
            self.headroom_used += takes;
        } else {
            return false;
        }
        self.check();
        true
    }

    /// Admits a frame to a group if it fits without headroom and leaves the group below its threshold; otherwise changes
    /// nothing and returns false. What has left and is still counted can only make it refuse.
    #[inline]
    pub(crate) fn admit_safe(&mut self, input: InputSlot, group: u8, size: u64, queue: Option<QueueLimit>) -> bool {
        let takes = self.takes(size);
        let GroupUse { reserve, shared, headroom } = self.inputs[input].groups[usize::from(group)];
        let reserve = takes.min(self.reserve - reserve);
        let rest = takes - reserve;
        let free = self.shared.saturating_sub(self.shared_used);
        let fits_queue = queue.is_none_or(|queue| queue.len + takes <= queue.alpha.of(free));
        let used = self.shared_used + rest;
        if headroom > 0 || rest > free || !fits_queue || shared + rest >= self.threshold(input, used) {
            return false;
        }
        let group = &mut self.inputs[input].groups[usize::from(group)];
        group.reserve += reserve;
        group.shared += rest;
        self.reserve_used += reserve;
        self.shared_used = used;
        self.check();
        true
    }

    /// Counts nothing as held.
    pub(crate) fn reset_count(&mut self) {
        self.inputs.iter_mut().for_each(|input| input.groups = [GroupUse::default(); 8]);
        (self.shared_used, self.headroom_used, self.reserve_used) = (0, 0, 0);
    }

    /// Counts a frame of a group that is held while no group has headroom in use.
    pub(crate) fn count(&mut self, input: InputSlot, group: u8, size: u64) {
        let takes = self.takes(size);
        let group = &mut self.inputs[input].groups[usize::from(group)];
        let reserve = takes.min(self.reserve - group.reserve);
        group.reserve += reserve;
        group.shared += takes - reserve;
        self.reserve_used += reserve;
        self.shared_used += takes - reserve;
    }

    /// Octets that can be admitted before a group is at its threshold, or a queue at its own, even if nothing leaves;
    /// `queues` are the queues that have one. None in a buffer of cells, of which a frame takes more than its octets.
    pub(crate) fn room(&self, queues: impl Iterator<Item = QueueLimit>) -> u64 {
        if self.cell > 1 {
            return 0;
        }
        let free = self.shared.saturating_sub(self.shared_used);
        let of_inputs = self.inputs.iter().filter_map(|input| {
            let most = input.groups.iter().map(|group| group.shared).max().unwrap_or(0);
            Some(input.alpha?.room(most, free))
        });
        of_inputs.chain(queues.map(|queue| queue.alpha.room(queue.len, free))).fold(free, u64::min)
    }

    /// Frees what a frame of a group took.
    #[inline]
    pub(crate) fn release(&mut self, input: InputSlot, group: u8, size: u64) {
        let takes = self.takes(size);
        let group = &mut self.inputs[input].groups[usize::from(group)];
        let headroom = takes.min(group.headroom);
        let shared = (takes - headroom).min(group.shared);
        let reserve = takes - headroom - shared;
        group.headroom -= headroom;
        group.shared -= shared;
        group.reserve -= reserve;
        self.headroom_used -= headroom;
        self.shared_used -= shared;
        self.reserve_used -= reserve;
        self.check();
    }

    /// Whether a group is to be sent XOFF.
    #[inline]
    pub(crate) fn xoff_due(&self, input: InputSlot, group: u8) -> bool {
        let GroupUse { shared, headroom, .. } = self.inputs[input].groups[usize::from(group)];
        headroom > 0 || (shared > 0 && shared >= self.threshold(input, self.shared_used))
    }

    /// Whether a group that was sent XOFF is to be sent XON.
    #[inline]
    pub(crate) fn xon_due(&self, input: InputSlot, group: u8) -> bool {
        let GroupUse { shared, headroom, .. } = self.inputs[input].groups[usize::from(group)];
        headroom == 0 && shared <= self.resumes_at(input, self.shared_used)
    }

    /// Octets of the shared part at which a group of an input is sent XON, with `used` octets of that part in use.
    #[inline]
    fn resumes_at(&self, input: InputSlot, used: u64) -> u64 {
        self.threshold(input, used).saturating_sub(self.xon_offset).max(self.xon)
    }

    /// Octets in use.
    pub(crate) const fn used(&self) -> u64 {
        self.shared_used + self.headroom_used + self.reserve_used
    }

    /// Octets that a group of an input holds, whatever part they are in.
    #[cfg(test)]
    fn held(&self, input: InputSlot, group: u8) -> u64 {
        let GroupUse { reserve, shared, headroom } = self.inputs[input].groups[usize::from(group)];
        reserve + shared + headroom
    }

    /// Whether groups that hold these octets, by input and group, keep one of them above where it is sent XON, if
    /// everything else has left.
    pub(crate) fn stays_paused(&self, held: &IdVec<InputSlot, [u64; 8]>, input: InputSlot, group: u8) -> bool {
        let shared = |octets: u64| octets.saturating_sub(self.reserve);
        let used = held.iter().flatten().map(|octets| shared(*octets)).sum();
        shared(held[input][usize::from(group)]) > self.resumes_at(input, used)
    }

    /// Octets that the groups use, summed from the groups themselves.
    pub(crate) fn recounted(&self) -> u64 {
        let groups = self.inputs.iter().flat_map(|input| &input.groups);
        groups.map(|group| group.reserve + group.shared + group.headroom).sum()
    }

    #[inline]
    fn check(&self) {
        debug_assert_eq!(self.used(), self.recounted(), "what groups use is what is in use");
        debug_assert!(self.shared_used <= self.shared, "the shared part has not run over");
    }
}

#[cfg(test)]
mod tests;
