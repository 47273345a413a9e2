//! Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995): queues of one port that share its link by weight.
//!
//! A queue whose turn comes gets its quantum on top of what was left over, its deficit. It sends as long as the frame at
//! its head fits the deficit, and then the turn passes on. An empty queue has no deficit. A paused queue is passed over:
//! it keeps its deficit and gets no quantum.

/// What stands at the head of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// Nothing.
    Empty,
    /// A frame that may not be sent now.
    Paused,
    /// A frame of so many octets.
    Octets(u64),
}

/// Whose turn it is at one port. Queues are counted by their position there.
#[derive(Clone, Debug)]
pub(crate) struct DeficitRoundRobin {
    /// Octets that a turn adds; 0 for a queue that has no turns.
    quanta: Vec<u64>,
    deficits: Vec<u64>,
    turn: usize,
    /// Whether the queue whose turn it is has had its quantum.
    granted: bool,
}

impl DeficitRoundRobin {
    /// The queue with the first quantum above 0 has the first turn.
    pub(crate) fn new(quanta: Vec<u64>) -> DeficitRoundRobin {
        let turn = quanta.iter().position(|quantum| *quantum > 0).unwrap_or(0);
        DeficitRoundRobin { deficits: vec![0; quanta.len()], quanta, turn, granted: false }
    }

    /// Whether a queue takes turns.
    pub(crate) fn is_weighted(&self, position: usize) -> bool {
        self.quanta[position] > 0
    }

    /// Chooses the queue that sends the frame at its head; `None` if no queue may send.
    pub(crate) fn serve(&mut self, head: impl Fn(usize) -> Head) -> Option<usize> {
        let may_send = |position: &usize| matches!(head(*position), Head::Octets(_));
        if !(0..self.quanta.len()).filter(|position| self.is_weighted(*position)).any(|position| may_send(&position)) {
            return None;
        }
        loop {
            let position = self.turn;
            match head(position) {
                Head::Empty => self.deficits[position] = 0,
                Head::Paused => {}
                Head::Octets(size) => {
                    if !self.granted {
                        self.deficits[position] += self.quanta[position];
                        self.granted = true;
                    }
                    if size <= self.deficits[position] {
                        self.deficits[position] -= size;
                        return Some(position);
                    }
                }
            }
            self.pass_on();
        }
    }

    /// A queue has sent its last frame: it keeps nothing for later.
    pub(crate) fn emptied(&mut self, position: usize) {
        if !self.is_weighted(position) {
            return;
        }
        self.deficits[position] = 0;
        if position == self.turn {
            self.pass_on();
        }
    }

    fn pass_on(&mut self) {
        self.granted = false;
        let after = (self.turn + 1..self.quanta.len()).chain(0..=self.turn);
        self.turn = after.into_iter().find(|position| self.quanta[*position] > 0).unwrap_or(self.turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first `count` services of queues that always have frames of these sizes.
    fn services(quanta: [u64; 2], sizes: [u64; 2], count: usize) -> Vec<usize> {
        let mut queues = DeficitRoundRobin::new(quanta.to_vec());
        (0..count).map(|_| queues.serve(|position| Head::Octets(sizes[position])).unwrap()).collect()
    }

    /// Quanta of 3000 and 1500 octets, frames of 1500: two of the one, one of the other.
    #[test]
    fn frames_of_one_size_are_served_by_weight() {
        assert_eq!(services([3000, 1500], [1500, 1500], 7), [0, 0, 1, 0, 0, 1, 0]);
    }

    /// Equal quanta of 1000 octets, frames of 1500 and 500. The first needs two turns for its first frame (1000, 2000)
    /// and keeps 500; its next turn makes 1500, which is a frame; then it begins anew. The other sends two a turn. In 12
    /// services, 3 frames of 1500 and 9 of 500: 4500 octets each.
    #[test]
    fn octets_count_and_not_frames() {
        let served = services([1000, 1000], [1500, 500], 12);
        assert_eq!(served, [1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1]);
        assert_eq!(served.iter().filter(|queue| **queue == 0).count() * 1500, 4500);
    }

    /// A paused queue keeps its 500 octets and gets no more; an emptied one begins with nothing.
    #[test]
    fn a_paused_queue_keeps_its_deficit_and_an_empty_one_does_not() {
        let mut queues = DeficitRoundRobin::new(vec![1000, 1000]);
        assert_eq!(queues.serve(|_| Head::Octets(500)), Some(0));
        let only_second = |position| if position == 0 { Head::Paused } else { Head::Octets(1000) };
        assert_eq!([0; 3].map(|_| queues.serve(only_second)), [Some(1); 3]);
        assert_eq!(queues.deficits, [500, 0]);
        assert_eq!(queues.serve(|_| Head::Octets(1500)), Some(0), "500 and 1000");
        queues.deficits[1] = 700;
        queues.emptied(1);
        assert_eq!(queues.deficits[1], 0);
    }

    /// The turn comes to a queue that is empty: what it had left over is gone.
    #[test]
    fn an_empty_queue_whose_turn_comes_loses_its_deficit() {
        let mut queues = DeficitRoundRobin::new(vec![1000, 1000]);
        queues.deficits = vec![700, 0];
        let only_second = |position| if position == 0 { Head::Empty } else { Head::Octets(1000) };
        assert_eq!((queues.serve(only_second), queues.deficits[0]), (Some(1), 0));
    }

    /// A frame as long as the deficit uses it up: the turn passes on with nothing left, and an octet less does not reach.
    #[test]
    fn a_quantum_may_be_used_up_exactly() {
        let mut queues = DeficitRoundRobin::new(vec![1500, 1500]);
        assert_eq!((queues.serve(|_| Head::Octets(1500)), queues.deficits[0]), (Some(0), 0));
        assert_eq!(queues.serve(|_| Head::Octets(1500)), Some(1));
        // One octet more than the quantum waits for the next turn, and leaves 1499 of both.
        let head = |position| Head::Octets(if position == 0 { 1501 } else { 1500 });
        assert_eq!([0; 3].map(|_| queues.serve(head)), [Some(1), Some(0), Some(1)]);
        assert_eq!(queues.deficits, [1499, 0]);
    }

    /// Queues without a quantum have no turns, and a port where nothing may be sent waits.
    #[test]
    fn strict_queues_are_not_served_here() {
        let mut queues = DeficitRoundRobin::new(vec![0, 1500, 0, 1500]);
        let served: Vec<_> = (0..4).map(|_| queues.serve(|_| Head::Octets(1500))).collect();
        assert_eq!(served, [Some(1), Some(3), Some(1), Some(3)]);
        // Both lose what they had: the turn goes from 1 to 3, and from 3 to 1.
        queues.emptied(1);
        queues.emptied(3);
        assert_eq!((queues.turn, queues.serve(|_| Head::Octets(1500))), (1, Some(1)));
        assert_eq!(queues.serve(|position| if position == 1 { Head::Paused } else { Head::Empty }), None);
        assert_eq!(queues.serve(|position| if position == 0 { Head::Octets(64) } else { Head::Empty }), None);
    }
}
