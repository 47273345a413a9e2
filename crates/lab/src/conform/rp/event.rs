//! What a capture shows of a reaction point.

/// What a reaction point did or heard, in the order of the capture.
#[derive(Clone, Copy, Debug)]
pub(in crate::conform) enum Event {
    Frame(Sent),
    Cnm(Heard),
}

/// A data frame that it sent.
#[derive(Clone, Copy, Debug)]
pub(in crate::conform) struct Sent {
    pub(in crate::conform) number: u64,
    /// Of its last octet, ps.
    pub(in crate::conform) stamp: i64,
    /// Octets on the wire, as captured.
    pub(in crate::conform) size: u32,
    /// Until when other frames, or a pause, kept it from the link.
    pub(in crate::conform) busy: i64,
}

/// A CNM that the reaction point heard.
#[derive(Clone, Copy, Debug)]
pub(in crate::conform) struct Heard {
    pub(in crate::conform) frame: u64,
    pub(in crate::conform) stamp: i64,
    pub(in crate::conform) fb: u8,
    /// Offset in units of 64 octets.
    pub(in crate::conform) offset: i16,
}
