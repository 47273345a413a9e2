//! What captures of this workspace say of an interface in its comment, so that who reads one can trust its stamps.

/// How its comment begins: frames are stamped when their last octet leaves the port.
pub const STAMPS_COMMENT: &str = "frames are stamped when their last octet leaves the port";
/// What stands in it before the time that the link takes.
pub const LINK_COMMENT: &str = "the link takes ";
