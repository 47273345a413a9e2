//! One file a scheme.

pub mod ecm;
pub mod none;
pub mod qcn;
