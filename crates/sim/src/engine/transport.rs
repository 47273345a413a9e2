//! TCP connections: segments ahead, acknowledgements back.

use super::Engine;
use crate::frame::Frame;
use qcnlab_units::Instant;

impl Engine {
    pub(super) fn segment_received(&mut self, _now: Instant, _flow: u32, _frame: Frame) {}
    pub(super) fn acknowledged(&mut self, _now: Instant, _flow: u32, _number: u32) {}
    pub(super) fn transport_wakes(&mut self, _now: Instant, _index: u32) {}
}
