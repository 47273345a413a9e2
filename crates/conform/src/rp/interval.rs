//! Intervals of a capture: octets sent against those that the law allows.

use super::event::{Heard, Sent};

/// From one CNM, or the end of an interval of 10 ms, to the next.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    /// The CNM that began it, its feedback and its frame.
    pub(crate) cnm: Option<(u64, u8)>,
    /// Frames from and to, by number and stamp (ps).
    pub(crate) from: (u64, i64),
    pub(crate) to: (u64, i64),
    pub(crate) frames: u64,
    /// Octets as the limiter counts them.
    pub(crate) octets: f64,
    /// What the law allows, at least and at most, by what is not known.
    pub(crate) allowed: (f64, f64),
    /// Frames that left later than the law lets them.
    pub(crate) late: u64,
    /// Whether the law is broken in it.
    pub(crate) broken: bool,
}

/// An interval ends after this time, ps.
const LONGEST: i64 = 10_000_000_000;
/// Intervals that are kept.
const KEPT: usize = 4096;

#[derive(Clone, Debug, Default)]
pub(super) struct Intervals {
    all: Vec<Interval>,
    left_out: u64,
    open: Option<Interval>,
    cnm: Option<(u64, u8)>,
    base: (f64, f64),
}

fn range(allowed: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    allowed.fold((f64::INFINITY, 0.0), |(lo, hi), (low, high)| (lo.min(low), f64::max(hi, high)))
}

impl Intervals {
    /// A CNM is heard: hypotheses count what they allow anew.
    pub(super) fn on_cnm(&mut self, cnm: Heard, allowed: impl Iterator<Item = (f64, f64)>) {
        self.close(Some((cnm.frame, cnm.fb)), allowed);
        self.base = (0.0, 0.0);
    }

    pub(super) fn on_frame(&mut self, sent: Sent, charged: f64, late: bool, allowed: impl Iterator<Item = (f64, f64)>) {
        let open = self.open_at(sent);
        open.frames += 1;
        open.octets += charged;
        open.late += u64::from(late);
        if sent.stamp - open.from.1 > LONGEST {
            self.close(None, allowed);
        }
    }

    /// Ends the interval.
    pub(super) fn close(&mut self, cnm: Option<(u64, u8)>, allowed: impl Iterator<Item = (f64, f64)>) {
        let now = range(allowed);
        if let Some(mut open) = self.open.take() {
            if now.0.is_finite() {
                open.allowed = ((now.0 - self.base.0).max(0.0), (now.1 - self.base.1).max(0.0));
            }
            if self.all.len() < KEPT {
                self.all.push(open);
            } else {
                self.left_out += 1;
            }
        }
        self.base = if now.0.is_finite() { now } else { (0.0, 0.0) };
        if cnm.is_some() {
            self.cnm = cnm;
        }
    }

    pub(super) fn break_here(&mut self, sent: Sent) {
        self.open_at(sent).broken = true;
    }

    /// The interval that a frame belongs to, which ends with it for now.
    fn open_at(&mut self, sent: Sent) -> &mut Interval {
        let at = (sent.number, sent.stamp);
        let cnm = &mut self.cnm;
        let open = self.open.get_or_insert_with(|| Interval {
            cnm: cnm.take(),
            from: at,
            to: at,
            frames: 0,
            octets: 0.0,
            allowed: (0.0, 0.0),
            late: 0,
            broken: false,
        });
        open.to = at;
        open
    }

    pub(super) fn take(&mut self) -> (Vec<Interval>, u64) {
        (std::mem::take(&mut self.all), self.left_out)
    }
}
