#![no_main]
//! Whole frames, and frames of which a capture kept the first octets.

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    qcnlab_wire_fuzz::identity::<qcnlab_wire::Frame>(octets);
    let _ = qcnlab_wire::Frame::decode_captured(octets, octets.len() + 100);
});
