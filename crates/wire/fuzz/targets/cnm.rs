#![no_main]
//! Congestion notification message.

libfuzzer_sys::fuzz_target!(|octets: &[u8]| qcnlab_wire_fuzz::identity::<qcnlab_wire::Cnm>(octets));
