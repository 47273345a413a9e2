//! Replays: frames whose times and sizes come from outside, such as from a capture.
//!
//! A [`ReplaySource`] is part of a plan, so that each run opens a stream of its own. The stream is read a block at a
//! time: what a replay holds does not grow with its length.

use crate::frame::Payload;
use crate::ids::FlowId;
use qcnlab_units::Instant;
use std::collections::VecDeque;
use std::fmt;

/// A frame that is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayedFrame {
    /// When its source has it.
    pub at: Instant,
    /// The position of its flow among those of the [`ReplayPlan`](crate::ReplayPlan).
    pub flow: u32,
    /// Its octets, above 0 and at most the `frame` of its flow.
    pub size: u16,
}

/// Why a replay cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct ReplayError {
    /// In words.
    pub why: String,
}

/// Where replayed frames come from.
pub trait ReplaySource: fmt::Debug + Send + Sync {
    /// Opens a stream at its first frame.
    ///
    /// # Errors
    /// When what it reads cannot be opened.
    fn open(&self) -> Result<Box<dyn ReplayStream>, ReplayError>;
}

/// The frames of one run, in the order of their times.
pub trait ReplayStream: Send {
    /// Appends the next block of frames to `block`; none at the end.
    ///
    /// # Errors
    /// When what it reads is not what it was.
    fn read_block(&mut self, block: &mut VecDeque<ReplayedFrame>) -> Result<(), ReplayError>;
}

/// Puts the frames of a stream into the queues of flows.
pub(crate) struct Replay {
    flows: Vec<FlowId>,
    stop: Instant,
    stream: Option<Box<dyn ReplayStream>>,
    ahead: VecDeque<ReplayedFrame>,
    /// Why there are no more frames, if that is not their end.
    failure: Option<ReplayError>,
}

impl Replay {
    pub(crate) fn new(flows: Vec<FlowId>, stop: Instant, source: &dyn ReplaySource) -> Replay {
        let mut replay = Replay { flows, stop, stream: None, ahead: VecDeque::new(), failure: None };
        match source.open() {
            Ok(stream) => replay.stream = Some(stream),
            Err(error) => replay.failure = Some(error),
        }
        replay.read_ahead();
        replay
    }

    /// When the next frame comes; [`Instant::NEVER`] after the last.
    pub(crate) fn next(&self) -> Instant {
        self.ahead.front().map(|frame| frame.at).filter(|at| *at < self.stop).unwrap_or(Instant::NEVER)
    }

    /// Takes the next frame: its flow and its octets.
    pub(crate) fn take(&mut self) -> Option<(FlowId, u16)> {
        let frame = self.ahead.pop_front()?;
        self.read_ahead();
        Some((self.flows[frame.flow as usize], frame.size))
    }

    /// Why it has come to an end that is not that of its frames.
    pub(crate) fn failure(&self) -> Option<&ReplayError> {
        self.failure.as_ref()
    }

    fn read_ahead(&mut self) {
        if let (true, Some(stream)) = (self.ahead.is_empty(), &mut self.stream)
            && let Err(error) = stream.read_block(&mut self.ahead)
        {
            self.failure = Some(error);
            self.stream = None;
        }
    }
}

/// Frames that wait at a source, each with its own size. Neighbours of one size are counted together.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitingFrames {
    runs: VecDeque<(u16, u32)>,
    octets: u64,
}

impl WaitingFrames {
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(crate) fn octets(&self) -> u64 {
        self.octets
    }

    pub(crate) fn push(&mut self, size: u16) {
        self.octets += u64::from(size);
        match self.runs.back_mut() {
            Some((last, count)) if *last == size && *count < u32::MAX => *count += 1,
            _ => self.runs.push_back((size, 1)),
        }
    }

    /// Takes the payload of the first frame.
    #[cold]
    #[inline(never)]
    pub(crate) fn take(&mut self) -> Payload {
        let size = self.pop();
        Payload { size, backlog: self.octets, segment: None }
    }

    /// Takes the first frame; its octets, 0 if none waits.
    fn pop(&mut self) -> u16 {
        let Some((size, count)) = self.runs.front_mut() else { return 0 };
        let size = *size;
        *count -= 1;
        if *count == 0 {
            self.runs.pop_front();
        }
        self.octets -= u64::from(size);
        size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_frames_leave_in_their_order_with_their_sizes() {
        let mut waiting = WaitingFrames::default();
        let sizes = [64, 64, 1500, 64, 9000, 9000, 9000];
        sizes.iter().for_each(|size| waiting.push(*size));
        // 64 * 3 + 1500 + 3 * 9000, in four runs.
        assert_eq!((waiting.octets(), waiting.runs.len()), (28_692, 4));
        let left: Vec<u16> = std::iter::from_fn(|| (!waiting.is_empty()).then(|| waiting.pop())).collect();
        assert_eq!(left, sizes);
        assert_eq!((waiting.octets(), waiting.pop()), (0, 0));
    }

    /// So many frames of one size as 32 bits count are one run; the next begins another.
    #[test]
    fn a_full_count_is_followed_by_another() {
        let mut waiting = WaitingFrames { runs: VecDeque::from([(64, u32::MAX - 1)]), octets: 0 };
        waiting.push(64);
        waiting.push(64);
        assert_eq!(waiting.runs, [(64, u32::MAX), (64, 1)]);
    }
}
