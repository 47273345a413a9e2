//! No transport: frames are sent once, and nobody answers them.

use qcnlab_schemes::params;

params! {
    /// No transport.
    #[derive(Clone, Debug, PartialEq)]
    pub struct NoTransport {}
}
