//! The congestion point: samples a queue and computes feedback.

use super::params::QcnCpParams;
use crate::dice::Dice;
use crate::fast_path::CpFastPath;
use crate::parts::feedback::Scale;
use crate::parts::sampling::{self, Sampler};
use crate::roles::{Arrival, Cnm, CongestionPoint, CpAction, CpId, Queue, Signal};
use qcnlab_units::{Bytes, Instant};

/// The congestion point: samples a queue and computes feedback.
#[derive(Clone, Debug)]
pub struct QcnCp {
    pub(super) params: QcnCpParams,
    id: CpId,
    /// cpEnqued and cpQLenOld.
    pub(super) sampler: Sampler,
}

impl QcnCp {
    /// A congestion point with an empty queue.
    pub const fn new(params: QcnCpParams, id: CpId) -> QcnCp {
        QcnCp { params, id, sampler: Sampler::new(params.sample_base) }
    }

    /// Offset and growth of a queue of `len` octets, as a sample would find them now. Nothing is remembered.
    pub const fn load(&self, len: Bytes) -> (i64, i64) {
        (self.params.set_point.signed() - len.signed(), len.signed() - self.sampler.last_len())
    }

    /// The quantized feedback for a queue of `len` octets: 0 is none.
    ///
    /// Fb = -(offset + w growth), clamped to [-Qsp (2w + 1), 0] and scaled to the bits there are.
    pub(super) fn quantized_fb(&self, q_offset: i64, q_delta: i64) -> u8 {
        let QcnCpParams { set_point, w, fb_bits: bits, quantizer, .. } = self.params;
        Scale { set_point, w, bits, quantizer }.quantize(q_offset, q_delta).congestion()
    }
}

impl CongestionPoint for QcnCp {
    #[inline]
    fn on_arrival(&mut self, _: Instant, frame: &Arrival, queue: Queue, dice: &mut Dice) -> CpAction {
        if !self.sampler.takes(frame, self.params.count_discarded) {
            return CpAction::Nothing;
        }
        self.sample(frame, queue, dice)
    }
}

impl CpFastPath for QcnCp {
    #[inline]
    fn count_only(&mut self, controlled: bool, admitted: bool, size: Bytes) -> bool {
        self.sampler.count_only(controlled, admitted, size, self.params.count_discarded)
    }
}

impl QcnCp {
    /// A sampling event. The remembered length moves whatever the sign of the feedback.
    fn sample(&mut self, frame: &Arrival, queue: Queue, dice: &mut Dice) -> CpAction {
        let own = if frame.admitted && !self.params.count_arriving { frame.size } else { Bytes::ZERO };
        let len = queue.len.saturating_sub(own).signed();
        let q_offset = self.params.set_point.signed() - len;
        let q_delta = self.sampler.growth(len);
        let quantized_fb = self.quantized_fb(q_offset, q_delta);
        let row = if self.params.adaptive_sampling { quantized_fb } else { 0 };
        let interval = sampling::interval(self.params.sample_base, row, self.params.fb_bits);
        self.sampler.restart_by(self.params.sampling, interval, self.params.jitter_width, dice);
        if quantized_fb == 0 || !(frame.cn_tagged || self.params.notify_untagged) {
            return CpAction::Nothing;
        }
        CpAction::Send(Signal::Cnm(Cnm { cp: self.id, quantized_fb, q_offset, q_delta }))
    }
}
