#![no_main]
//! PAUSE, PFC and other MAC control.

libfuzzer_sys::fuzz_target!(|octets: &[u8]| qcnlab_wire_fuzz::identity::<qcnlab_wire::MacControl>(octets));
