//! What a capture shows of a reaction point.

/// What a reaction point did or heard, in the order of the capture.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Frame(Sent),
    Cnm(Heard),
}

/// A data frame that it sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) number: u64,
    /// Of its last octet, ps.
    pub(crate) stamp: i64,
    /// Octets on the wire, as captured.
    pub(crate) size: u32,
    /// Until when other frames, or a pause, kept it from the link.
    pub(crate) busy: i64,
    /// Frames of its flow that are missing before it; `None` where its number is not known.
    pub(crate) missing: Option<u64>,
}

/// A CNM that the reaction point heard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    pub(crate) frame: u64,
    pub(crate) stamp: i64,
    /// Feedback, of which a CNM carries the first 6 bits.
    pub(crate) fb: u8,
    /// Offset in units of 64 octets.
    pub(crate) offset: i16,
}
