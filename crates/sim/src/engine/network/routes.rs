//! The paths of all flows, and where a frame goes on.

use crate::frame::{Frame, flag};
use crate::ids::{IdVec, InputId, PathId, PortId};
use crate::path::Path;

/// The paths of all flows. Those over the same ports share a stretch of the lists by port.
#[derive(Default)]
pub(super) struct Routes {
    pub(super) paths: IdVec<PathId, Path>,
    /// The ports of each path, and [`END`] behind the last.
    pub(super) ports: Vec<PortId>,
    /// For each port of each path and for its end, where a frame goes on that has come there: forward by that port, in
    /// reverse by the other direction of the port before. [`END`] where its way ends.
    pub(super) onward: Vec<[PortId; 2]>,
    /// Whether acknowledgements travel back over paths.
    pub(super) acknowledged: bool,
    /// For each of `ports` the input buffers that hold the frames queued there.
    pub(super) inputs: Vec<HopInputs>,
}

/// No port.
pub(super) const END: PortId = PortId::MAX;

/// The buffers that hold the frames at a port of a path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HopInputs {
    /// Of frames that travel forward.
    pub(super) forward: Option<InputId>,
    /// Of frames that travel in reverse.
    pub(super) reverse: Option<InputId>,
}

impl Routes {
    /// The ports of a path, in order.
    #[inline]
    pub(super) fn ports_of(&self, path: PathId) -> &[PortId] {
        let Path { start, len, .. } = self.paths[path];
        &self.ports[start as usize..][..usize::from(len)]
    }

    /// Moves a frame on by one link; returns the port that it goes on by, `None` at the end of its way.
    #[inline(always)]
    pub(super) fn move_on(&self, path: &Path, frame: &mut Frame) -> Option<PortId> {
        let reverse = if self.acknowledged {
            frame.move_on()
        } else {
            frame.advance_hop();
            false
        };
        let next = self.onward[path.start as usize + usize::from(frame.hop())][usize::from(reverse)];
        (next != END).then_some(next)
    }

    /// The port by which a frame that travels in reverse goes on from where it is; `None` at its source.
    #[inline]
    pub(super) fn back(&self, frame: &Frame) -> Option<PortId> {
        let first = self.paths[frame.path()].start;
        let [_, next] = self.onward[first as usize + usize::from(frame.hop())];
        debug_assert!(next != END || frame.hop() == 0, "a link that something travels back over has two directions");
        (next != END).then_some(next)
    }

    /// The last port of a path.
    pub(super) fn last_port(&self, path: PathId) -> PortId {
        *self.ports_of(path).last().expect("a path has links")
    }

    /// The buffer that holds a frame queued at a port.
    #[inline(always)]
    pub(super) fn input_of(&self, frame: &Frame) -> InputId {
        let inputs = &self.inputs[self.paths[frame.path()].start as usize + usize::from(frame.hop())];
        let input = if frame.is(flag::REVERSE) { inputs.reverse } else { inputs.forward };
        input.expect("a buffered frame came in by an input with a buffer")
    }
}
