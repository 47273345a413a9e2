#![no_main]
//! LLDP and its TLVs.

libfuzzer_sys::fuzz_target!(|octets: &[u8]| qcnlab_wire_fuzz::identity::<qcnlab_wire::Lldp>(octets));
