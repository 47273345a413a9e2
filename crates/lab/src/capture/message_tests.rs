//! Packets of long messages, beyond what a short run sends.

use super::fabric;
use super::frames::Translator;
use qcnlab_scenario::Scenario;
use qcnlab_sim::{DataFacts, Departure, FlowId, FrameFacts, PortId};
use qcnlab_units::{Bytes, Id, Instant};

const FIRST: u8 = 0;
const MIDDLE: u8 = 1;
const LAST: u8 = 2;
/// Octets before the base header: addresses, tag, EtherType, IPv4, UDP.
const BTH: usize = 12 + 4 + 2 + 20 + 8;

fn translator(text: &str) -> Translator {
    let scenario = Scenario::from_bytes(text.as_bytes(), "message").unwrap();
    let fabric = fabric(&scenario, 1).unwrap();
    Translator::new(&scenario, &fabric)
}

/// A message of `size` octets in packets of 256, or with no end.
fn message(size: &str) -> Translator {
    translator(&format!(
        "duration = \"1 ms\"\n[topology]\nkind = \"star\"\nsources = 1\nrate = \"10 Gb/s\"\nrtt = \"2 us\"\nsink_delay = \
         \"1 us\"\nbuffer = \"1 MB\"\n[[traffic]]\narrivals = \"saturated\"\ntransport = \"roce\"\n{size}frame = \"304 B\"\nheaders = \"48 B\"\n\
         [scheme]\nname = \"none\"\n"
    ))
}

fn facts(number: u32, size: u64) -> DataFacts {
    DataFacts {
        flow: FlowId::new(0),
        number,
        size: Bytes::new(size),
        class: 3,
        segment: true,
        controlled: true,
        cn_tagged: false,
        asks_bandwidth: false,
        limited_by: None,
        mark: 0,
    }
}

/// Opcode and sequence number, of 24 bits, of packet `number`.
fn packet(of: &mut Translator, number: u32) -> (u8, u32) {
    let departure = Departure { at: Instant::ZERO, port: PortId::new(0), frame: FrameFacts::Data(facts(number, 304)) };
    let octets = of.frame(&departure).unwrap().octets;
    (octets[BTH], u32::from_be_bytes([0, octets[BTH + 9], octets[BTH + 10], octets[BTH + 11]]))
}

/// Sequence number and number of messages of the acknowledgement of all before packet `expected`.
fn answer(of: &mut Translator, expected: u32, negative: bool) -> (u32, u32) {
    let flow = facts(expected, 64);
    let departure =
        Departure { at: Instant::ZERO, port: PortId::new(0), frame: FrameFacts::Ack { flow, negative, echo: false } };
    let octets = of.frame(&departure).unwrap().octets;
    let number = |at: usize| u32::from_be_bytes([0, octets[at], octets[at + 1], octets[at + 2]]);
    (number(BTH + 9), number(BTH + 13))
}

/// 6 GB in packets of 256 octets are 23 437 500; the longest message, 2^31 octets, has 2^23 = 8 388 608.
#[test]
fn sequence_numbers_turn_over_at_24_bits_and_messages_at_two_gibioctets() {
    let mut all = message("size = \"6 GB\"\n");
    for (number, opcode, psn) in [
        (0, FIRST, 0),
        (1, MIDDLE, 1),
        (8_388_606, MIDDLE, 8_388_606),
        (8_388_607, LAST, 8_388_607),
        (8_388_608, FIRST, 8_388_608),
        (0x00FF_FFFF, LAST, 0x00FF_FFFF),
        (0x0100_0000, FIRST, 0),
        (0x0100_0001, MIDDLE, 1),
        (23_437_498, MIDDLE, 23_437_498 - 0x0100_0000),
        (23_437_499, LAST, 23_437_499 - 0x0100_0000),
    ] {
        assert_eq!(packet(&mut all, number), (opcode, psn), "{number}");
    }
    for (expected, negative, answered) in [
        (1, false, (0, 0)),
        (8_388_607, false, (8_388_606, 0)),
        (8_388_608, false, (8_388_607, 1)),
        (0x0100_0000, false, (0x00FF_FFFF, 2)),
        (0x0100_0000, true, (0, 2)),
        (23_437_499, true, (23_437_499 - 0x0100_0000, 2)),
        (23_437_500, false, (23_437_499 - 0x0100_0000, 3)),
    ] {
        assert_eq!(answer(&mut all, expected, negative), answered, "{expected}");
    }
}

/// A stream without end goes on as messages of the longest; so do frames whose receivers answer with CNPs: of 1500 octets
/// 2^31 hold 1 431 655.
#[test]
fn what_has_no_end_is_several_messages() {
    let mut endless = message("");
    let opcodes = [0, 1, 8_388_607, 8_388_608, 0x00FF_FFFF].map(|number| packet(&mut endless, number).0);
    assert_eq!(opcodes, [FIRST, MIDDLE, LAST, FIRST, LAST]);
    let hotspot = Scenario::shipped("og-hotspot-2src-10g-to-500m-rtt10us").unwrap();
    let scenario = hotspot.with_overrides(&["scheme.name=dcqcn".to_owned()]).unwrap();
    let mut frames = Translator::new(&scenario, &fabric(&scenario, 1).unwrap());
    let opcodes = [0, 1, 1_431_654, 1_431_655].map(|number| packet(&mut frames, number).0);
    assert_eq!(opcodes, [FIRST, MIDDLE, LAST, FIRST]);
}
