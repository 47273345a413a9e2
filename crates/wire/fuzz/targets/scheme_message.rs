#![no_main]
//! Message of schemes.

libfuzzer_sys::fuzz_target!(|octets: &[u8]| qcnlab_wire_fuzz::identity::<qcnlab_wire::SchemeMessage>(octets));
