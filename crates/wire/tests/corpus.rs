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

/// Octets of an input, which are written in hex; `-` has none.
fn octets(text: &str) -> Vec<u8> {
    let pairs = text.trim_start_matches('-').as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Whether octets decode.
type Check = fn(&[u8]) -> bool;

#[test]
fn inputs_of_the_fuzzer() {
    let kept =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus.txt")).expect("it is there");
    let formats: &[(&str, Check)] = &[
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
    for &(format, check) in formats {
        let lines = kept.lines().filter_map(|line| line.split_once(' ')).filter(|(name, _)| *name == format);
        let decoded = lines.filter(|(_, text)| check(&octets(text))).count();
        assert!(decoded > 0, "no input of {format} decodes");
    }
}
