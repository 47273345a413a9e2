#![no_main]
//! CN-TAG.

libfuzzer_sys::fuzz_target!(|octets: &[u8]| qcnlab_wire_fuzz::identity::<qcnlab_wire::CnTag>(octets));
