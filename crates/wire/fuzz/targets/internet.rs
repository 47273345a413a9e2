#![no_main]
//! IPv4, UDP and TCP.

libfuzzer_sys::fuzz_target!(|octets: &[u8]| qcnlab_wire_fuzz::identity::<qcnlab_wire::Ipv4Packet>(octets));
