//! Frames of which every octet matters, from captures that may have cut them.

use super::error::ConformError;
use qcnlab_capture::CapturedFrame;
use qcnlab_wire::{Frame, WireError};

/// A frame that must be whole; `None` if it breaks its format.
pub(super) fn decoded<'a>(frame: &CapturedFrame<'a>) -> Result<Option<Frame<'a>>, ConformError> {
    Ok(read(frame)?.ok())
}

/// Reads a frame; the inner error says why its octets are no such frame.
pub(super) fn read<'a>(frame: &CapturedFrame<'a>) -> Result<Result<Frame<'a>, WireError>, ConformError> {
    match Frame::decode_captured(frame.octets, frame.wire_len as usize) {
        Err(_) if frame.octets.len() < (frame.wire_len as usize).min(110) => Err(ConformError::SnapLength {
            frame: frame.number,
            kept: frame.octets.len(),
            what: "message",
            needed: (frame.wire_len as usize).min(110),
        }),
        read => Ok(read),
    }
}
