#![no_main]
//! RoCEv2.

libfuzzer_sys::fuzz_target!(|octets: &[u8]| qcnlab_wire_fuzz::identity::<qcnlab_wire::RocePacket>(octets));
