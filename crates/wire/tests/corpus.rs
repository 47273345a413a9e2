//! The inputs that the fuzzer keeps, each to its format: they reach every branch that it has reached.

use qcnlab_wire::*;
use std::fmt::Display;
use std::path::Path;

/// Octets that decode print and encode to the same octets. Return whether they decode.
fn identity<'a, T: Codec<'a> + Display>(octets: &'a [u8]) -> bool {
    let Ok((value, rest)) = T::decode(octets) else { return false };
    assert!(!value.to_string().is_empty());
    assert_eq!(value.to_vec().unwrap(), octets[..octets.len() - rest.len()]);
    true
}

/// Whether octets decode.
type Check = fn(&[u8]) -> bool;

#[test]
fn inputs_of_the_fuzzer() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let formats: [(&str, Check); 10] = [
        ("vlan", |octets| identity::<VlanTag>(octets)),
        ("cn_tag", |octets| identity::<CnTag>(octets)),
        ("cnm", |octets| identity::<Cnm>(octets)),
        ("mac_control", |octets| identity::<MacControl>(octets)),
        ("lldp", |octets| identity::<Lldp>(octets)),
        ("internet", |octets| identity::<Ipv4Packet>(octets)),
        ("roce", |octets| identity::<RocePacket>(octets)),
        ("scheme_tag", |octets| identity::<SchemeTag>(octets)),
        ("scheme_message", |octets| identity::<SchemeMessage>(octets)),
        ("frame", |octets| identity::<Frame>(octets)),
    ];
    for (format, check) in formats {
        let inputs = std::fs::read_dir(corpus.join(format)).expect(format);
        let decoded = inputs.filter(|input| check(&std::fs::read(input.as_ref().unwrap().path()).unwrap())).count();
        assert!(decoded > 0, "no input of {format} decodes");
    }
}
