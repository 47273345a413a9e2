//! The two queues of a port that isolates congesting flows: the monitored one, and behind it the congesting one.
//!
//! They are queues of two traffic classes. A frame gets the class of the queue that it joins when it comes to the port, and
//! has it on the link behind; the node it comes to knows by that which queue it was in, and gives it a class anew. A port that
//! isolates nothing, such as one inside a host, gives it that of the monitored queue.

use crate::ids::FlowId;
use qcnlab_schemes::{Dice, IsolatedFrame, IsolationPoint, IsolationQueue, IsolationQueues};
use qcnlab_units::{Bytes, Instant};

/// Which classes the two queues of a port have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IsolatedClasses {
    pub(crate) monitored: u8,
    pub(crate) congesting: u8,
    /// Whether the port isolates flows; otherwise it has the monitored queue alone.
    pub(crate) isolates: bool,
}

impl IsolatedClasses {
    /// The queue of a class, if it is one of the two.
    pub(crate) fn queue_of(self, class: u8) -> Option<IsolationQueue> {
        if class == self.monitored {
            Some(IsolationQueue::Monitored)
        } else if class == self.congesting {
            Some(IsolationQueue::Congesting)
        } else {
            None
        }
    }

    /// The class of a queue.
    pub(crate) const fn class_of(self, queue: IsolationQueue) -> u8 {
        match queue {
            IsolationQueue::Monitored => self.monitored,
            IsolationQueue::Congesting => self.congesting,
        }
    }

    /// The classes of the queues that the port has, a bit each.
    pub(crate) const fn bits(self) -> u8 {
        1 << self.monitored | (self.isolates as u8) << self.congesting
    }
}

/// What a port computes for its two queues.
#[derive(Debug)]
pub(crate) struct Isolation {
    pub(crate) classes: IsolatedClasses,
    /// What isolates flows, if the port does.
    point: Option<Box<dyn IsolationPoint>>,
    dice: Dice,
}

impl Isolation {
    pub(crate) fn new(classes: IsolatedClasses, point: Box<dyn IsolationPoint>, dice: Dice) -> Isolation {
        Isolation { classes, point: classes.isolates.then_some(point), dice }
    }

    /// The class that a frame of a flow gets, which has come.
    pub(crate) fn class_for(&mut self, now: Instant, flow: FlowId) -> u8 {
        let queue = self.point.as_mut().map(|point| point.queue_for(now, told(flow)));
        self.classes.class_of(queue.unwrap_or(IsolationQueue::Monitored))
    }

    /// The queue of `class` took a frame; `octets` are those of the queue of a class with it. Returns the octets of the message
    /// to the neighbour that it came from, if that is told.
    pub(crate) fn enqueued(
        &mut self,
        now: Instant,
        flow: FlowId,
        class: u8,
        from_monitored: bool,
        octets: impl Fn(u8) -> u64,
    ) -> Option<u16> {
        let (point, queue) = (self.point.as_mut()?, self.classes.queue_of(class)?);
        let frame = IsolatedFrame { flow: told(flow), queue, from_monitored };
        let IsolatedClasses { monitored, congesting, .. } = self.classes;
        let queues =
            IsolationQueues { monitored: Bytes::new(octets(monitored)), congesting: Bytes::new(octets(congesting)) };
        let tells = point.on_enqueue(now, &frame, queues, &mut self.dice);
        tells.then(|| point.message_size().get() as u16)
    }

    /// A frame of `class` leaves.
    pub(crate) fn dequeued(&mut self, now: Instant, flow: FlowId, class: u8) {
        if let (Some(point), Some(queue)) = (&mut self.point, self.classes.queue_of(class)) {
            point.on_dequeue(now, told(flow), queue);
        }
    }

    /// Whether a frame of `class` at the head of its queue waits for others of its flow.
    pub(crate) fn holds(&self, flow: FlowId, class: u8) -> bool {
        class == self.classes.congesting && self.point.as_ref().is_some_and(|point| !point.may_leave(told(flow)))
    }

    /// The node that the link leads to tells of a flow.
    pub(crate) fn on_message(&mut self, now: Instant, flow: FlowId) {
        if let Some(point) = &mut self.point {
            point.on_message(now, told(flow));
        }
    }
}

/// A flow as schemes know it.
fn told(flow: FlowId) -> qcnlab_schemes::FlowId {
    use crate::ids::Id;
    qcnlab_schemes::FlowId(flow.number())
}
