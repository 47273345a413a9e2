#![no_main]
//! 802.1Q tag.

libfuzzer_sys::fuzz_target!(|octets: &[u8]| qcnlab_wire_fuzz::identity::<qcnlab_wire::VlanTag>(octets));
