//! How devices differ from the law, beside its parameters.

/// Something that a device does and the law does not, beside a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quirk {
    /// A CNM does not restart the timer.
    TimerKept,
    /// Cycles of the timer have no spread.
    TimerNotSpread,
    /// A CNM does not restart the byte counter.
    ByteCounterKept,
    /// A CNM does not move the target rate.
    TargetKept,
    /// A CNM moves the target rate in the first cycle too.
    TargetAlways,
    /// Hyper-active increase comes with one stage past the threshold.
    HaiAtOneStage,
}

/// Something that a device does and the law does not, beside a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CpQuirk {
    /// The remembered queue length is that of the last frame, sampled or not.
    OldLengthOfEachFrame,
    /// Feedback is rounded up.
    RoundedUp,
    /// After feedback of a row of the sampling table the interval is that of the next row.
    NextRow,
}

/// A parameter of the device, from where it breaks the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum MeasuredParameter {
    Gd(f64),
    /// Octets.
    ByteReset(f64),
    /// Picoseconds.
    TimeReset(f64),
}
