//! What hostile frames do: nothing crashes, counters tell, memory stays bounded.

use crate::adapter::{Adapter, FromLink};
use crate::congestion::{controlled_classes, points};
use crate::head::with_tags;
use crate::layout::{Layout, mac};
use crate::record::Capture;
use crate::shaper::LimiterKind;
use crate::signals;
use crate::switch::Switches;
use crate::sys::socket::Received;
use qcnlab_lab::run_elsewhere;
use qcnlab_scenario::Scenario;
use qcnlab_schemes::{Cnm, CpId, Dice, Purpose, Signal};
use qcnlab_sim::{NodeId, Plan, PortId};
use qcnlab_units::Id;
use qcnlab_wire::{CnTag, MacControl, Pause, Payload, Quanta, VlanTag};
use qcnlab_wire::{Codec, Frame, MacAddress};
use std::sync::Arc;

/// Two senders at 100 Mb/s, 1 ms away, and a queue of 60 KB: the star of the live tests, slowed.
const CHANGES: [&str; 3] = ["topology.rate=100 Mb/s", "topology.rtt=1 ms", "topology.buffer=60 KB"];

pub(crate) fn plan() -> Plan {
    let text = format!("duration = \"1 s\"\n{}", include_str!("../tests/star/star.toml"));
    let scenario = Scenario::parse(&text, "star.toml").and_then(|star| star.with_overrides(&CHANGES));
    let scenario = scenario.expect("it can work");
    let mut plan = None;
    let _ = run_elsewhere(&scenario, 1, |made| {
        plan = Some(made);
        Err::<qcnlab_sim::Finished, ()>(())
    });
    plan.expect("a scenario has a plan")
}

/// The layout of that scenario, for tests of other files.
pub(crate) fn layout() -> Layout {
    Layout::new(&plan()).expect("it can be laid out")
}

pub(crate) const NOTHING: Capture = Capture { snap: 0, share: 1 };

fn switches(plan: &Plan) -> (Switches, Arc<Layout>) {
    let layout = Arc::new(Layout::new(plan).expect("it can be laid out"));
    let (points, controlled) = (points(plan, &layout), controlled_classes(plan));
    (Switches::new(plan, Arc::clone(&layout), points, controlled, 6, NOTHING), layout)
}

pub(crate) fn frame(octets: &[u8]) -> Received<'_> {
    Received { interface: 0, octets, tag: None, cut: false }
}

fn way_of(layout: &Layout, name: &str) -> PortId {
    layout.ways.find_id(|way| way.name == name).expect("the way exists")
}

/// The way from the first source to the switch.
fn from_source(layout: &Layout) -> PortId {
    way_of(layout, "source1->switch")
}

fn data(payload: usize) -> Vec<u8> {
    let mut plain = mac(NodeId::new(3)).0.to_vec();
    plain.extend(mac(NodeId::new(0)).0);
    plain.extend([0x08, 0x00]);
    plain.resize(14 + payload, 0x45);
    with_tags(&plain, VlanTag { priority: 0, drop_eligible: false, vlan: 1 }, Some(CnTag { rpid: 1 }))
}

/// A CNM about a frame of the first source, as the switch would send it.
pub(crate) fn cnm(cp: u32, fb: u8) -> Vec<u8> {
    let sampled = data(100);
    let head = crate::head::Head::read(&sampled).expect("it is whole");
    let signal = Signal::Cnm(Cnm { cp: CpId(cp), quantized_fb: fb, q_offset: -64_000, q_delta: 64_000 });
    signals::frame_of(signal, NodeId::new(2), 6, &head, &sampled).expect("a CNM has a frame").0
}

/// Random octets of all lengths, with EtherTypes that mean something in every second one.
#[test]
fn random_octets_pass_through_switch_and_adapter() {
    let plan = plan();
    let (mut switches, layout) = switches(&plan);
    let mut adapter = Adapter::new(&plan, Arc::clone(&layout), NodeId::new(0), LimiterKind::Adapter, NOTHING);
    let mut dice = Dice::new(1, 0, "hostile", Purpose::Traffic);
    let way = from_source(&layout);
    let kinds = [0x8100u16, 0x22E7, 0x22E9, 0x8808, 0x88CC, 0x0800, 0x88B5, 0x88B6];
    let mut now = 0;
    for round in 0..200_000u32 {
        let length = dice.below(if round % 16 == 0 { 9_000 } else { 160 }) as usize;
        let mut octets: Vec<u8> = (0..length).map(|_| dice.below(256) as u8).collect();
        for at in [12, 16, 20] {
            if dice.below(2) == 0 && octets.len() > at + 1 {
                octets[at..at + 2].copy_from_slice(&kinds[dice.below(8) as usize].to_be_bytes());
            }
        }
        if dice.below(4) == 0 && octets.len() > 12 {
            octets[..6].copy_from_slice(&mac(NodeId::new(dice.below(4))).0);
        }
        now += 1_000_000;
        switches.advance(now);
        switches.receive(now, way, frame(&octets));
        while switches.take_due(now).is_some() {}
        if let FromLink::ToStack(handed) = adapter.take_from_link(now, frame(&octets)) {
            assert!(handed.len() <= octets.len());
        }
        adapter.take_from_stack(now, &octets);
        adapter.advance(now);
        while adapter.take_due(now).is_some() {}
    }
    let refused = switches.records.refused;
    assert!(refused.malformed > 0 && refused.foreign_signals > 0 && refused.unknown_destination > 0, "{refused:?}");
    assert!(adapter.records.refused.malformed > 0, "{:?}", adapter.records.refused);
}

/// The output queue holds 60 KB, whatever comes: frames at ten times its rate, and no time in which any leaves.
#[test]
fn a_flood_fills_the_queue_and_no_more() {
    let plan = plan();
    let (mut switches, layout) = switches(&plan);
    let (way, flood) = (from_source(&layout), data(1478));
    for _ in 0..100_000 {
        switches.receive(0, way, frame(&flood));
    }
    let out = layout.table[&(layout.ways[way].to, mac(NodeId::new(3)))];
    let (queued, ..) = switches.held(out);
    assert!((58_500..=60_000).contains(&queued), "{queued}");
    let too_long = vec![0; 20_000];
    switches.receive(0, way, frame(&too_long[..5_000]));
    switches.receive(0, way, Received { cut: true, ..frame(&too_long) });
    assert_eq!(switches.records.refused.oversize, 2);
}

/// A CNM from a host goes nowhere; one from a switch's port, to the host it names.
#[test]
fn a_cnm_from_outside_the_domain_goes_nowhere() {
    let plan = plan();
    let (mut switches, layout) = switches(&plan);
    let forged = cnm(0, 63);
    let way = way_of(&layout, "source2->switch");
    switches.receive(0, way, frame(&forged));
    switches.advance(1_000_000_000_000);
    assert!(switches.take_due(u64::MAX).is_none());
    assert_eq!(switches.records.refused.foreign_signals, 1);
}

/// The limiter hears a burst of 100 CNMs, and then one in 4000 octets at 100 Mb/s: in 320 us.
#[test]
fn a_flood_of_cnms_is_heard_at_its_rate() {
    let plan = plan();
    let (_, layout) = switches(&plan);
    let mut adapter = Adapter::new(&plan, layout, NodeId::new(0), LimiterKind::Adapter, NOTHING);
    let flood = cnm(0, 1);
    for ms in 0..100u64 {
        for _ in 0..1000 {
            adapter.take_from_link(ms * 1_000_000_000, frame(&flood));
        }
    }
    let (heard, flooded) = (adapter.records.counters.messages_heard, adapter.records.refused.flooded_signals);
    assert_eq!(heard + flooded, 100_000);
    // 100 and 99 ms / 320 us = 309.
    assert!((400..=410).contains(&heard), "{heard}");
}

/// CNMs that name no reaction point of the host, or are for another host, change nothing. A CPID tells nothing that the
/// reaction point trusts: a forged one inside the domain is a CNM like any other.
#[test]
fn stray_cnms_change_no_rate() {
    let plan = plan();
    let (_, layout) = switches(&plan);
    let mut adapter = Adapter::new(&plan, Arc::clone(&layout), NodeId::new(0), LimiterKind::Adapter, NOTHING);
    let mut stranger = cnm(0, 63);
    stranger[18..20].copy_from_slice(&7u16.to_be_bytes());
    let mut elsewhere = cnm(0, 63);
    elsewhere[..6].copy_from_slice(&mac(NodeId::new(1)).0);
    let mut untagged = cnm(0, 63);
    untagged.drain(16..20);
    let mut cut = cnm(0, 63);
    cut.truncate(40);
    for octets in [&stranger, &elsewhere, &untagged, &cut] {
        adapter.take_from_link(0, frame(octets));
    }
    let refused = adapter.records.refused;
    assert_eq!((refused.stray_signals, refused.unreadable_signals), (3, 1), "{refused:?}");
    assert_eq!(adapter.records.counters.messages_heard, 0);
    assert_eq!(adapter.rates().collect::<Vec<_>>(), [100_000_000]);
    adapter.take_from_link(0, frame(&cnm(0xFFFE, 63)));
    // Gd = 1/128: 1 - 63/128 of 100 Mb/s.
    assert_eq!(adapter.rates().collect::<Vec<_>>(), [50_781_250]);
}

/// A frame with the address of another node as its source goes nowhere: the CNMs about it would go there.
#[test]
fn a_frame_in_the_name_of_another_goes_nowhere() {
    let plan = plan();
    let (mut switches, layout) = switches(&plan);
    let way = way_of(&layout, "source2->switch");
    // data() is from the first source.
    switches.receive(0, way, frame(&data(100)));
    let mut own = data(100);
    own[6..12].copy_from_slice(&mac(NodeId::new(1)).0);
    switches.receive(0, way, frame(&own));
    switches.advance(1_000_000_000_000);
    assert!(switches.take_due(u64::MAX).is_some_and(|due| due.octets == own));
    assert!(switches.take_due(u64::MAX).is_none());
    assert_eq!(switches.records.refused.false_sources, 1);
}

/// CNMs in tags that no switch reads (an S-TAG, two C-TAGs) reach a host as data, whose adapter does not obey them.
#[test]
fn a_cnm_behind_other_tags_is_obeyed_by_nobody() {
    let plan = plan();
    let (mut switches, layout) = switches(&plan);
    let way = way_of(&layout, "source2->switch");
    for tags in [&[0x88, 0xA8, 0x00, 0x01][..], &[0x81, 0x00, 0x00, 0x01], &[0x22, 0xE9, 0x00, 0x01]] {
        let mut hidden = cnm(0, 63);
        hidden[6..12].copy_from_slice(&mac(NodeId::new(1)).0);
        hidden.splice(12..12, tags.iter().copied());
        switches.receive(0, way, frame(&hidden));
        switches.advance(1_000_000_000_000);
        let mut adapter = Adapter::new(&plan, Arc::clone(&layout), NodeId::new(0), LimiterKind::Adapter, NOTHING);
        if let Some(due) = switches.take_due(u64::MAX) {
            adapter.take_from_link(0, frame(&due.octets));
        }
        assert_eq!(adapter.records.counters.messages_heard, 0, "{tags:?}");
        assert_eq!(adapter.rates().collect::<Vec<_>>(), [100_000_000], "{tags:?}");
    }
}

/// Pauses that come and go leave a million rows at most; the rest are counted.
#[test]
fn a_storm_of_pauses_fills_no_record() {
    let mut records = crate::record::Records::new(1, 0);
    for at in 0..(1 << 20) + 5 {
        records.on_pause(at, at + 1, PortId::new(0), None, PortId::new(0));
    }
    assert_eq!(records.pauses_not_recorded, 5);
}

/// A storm of PAUSE holds the link of the one who sends it. Memory stays bounded, and the port goes on when it ends.
#[test]
fn a_storm_of_pauses_holds_one_link() {
    let plan = plan();
    let (mut switches, layout) = switches(&plan);
    let control = |quanta| {
        let control = MacControl::Pause(Pause { time: Quanta(quanta) });
        Frame::new(MacAddress::MAC_CONTROL, mac(NodeId::new(0)), Payload::MacControl(control))
            .to_vec()
            .expect("it encodes")
    };
    let (way, storm) = (from_source(&layout), control(u16::MAX));
    for at in 0..100_000u64 {
        switches.receive(at, way, frame(&storm));
    }
    assert!(switches.held(PortId::new(0)).1 <= 1024);
    // The sink sends to the first source, whose link is held, and to the second, whose link is not.
    let sink = way_of(&layout, "sink->switch");
    for to in [0, 1] {
        let mut octets = data(100);
        octets[..6].copy_from_slice(&mac(NodeId::new(to)).0);
        octets[6..12].copy_from_slice(&mac(NodeId::new(3)).0);
        switches.receive(200_000, sink, frame(&octets));
    }
    switches.advance(100_000_000_000);
    let due: Vec<&str> = std::iter::from_fn(|| switches.take_due(100_000_000_000))
        .map(|due| if due.octets[..6] == mac(NodeId::new(0)).0 { "held" } else { "free" })
        .collect();
    assert_eq!(due, ["free"]);
    // 65 535 quanta of 5.12 us last 336 ms.
    switches.advance(400_000_000_000);
    assert!(switches.take_due(400_000_000_000).is_some());
}

/// Addresses that nobody has are learned up to a limit.
#[test]
fn a_flood_of_addresses_is_learned_up_to_a_limit() {
    let plan = plan();
    let (mut switches, layout) = switches(&plan);
    let way = from_source(&layout);
    for address in 0..100_000u32 {
        let mut octets = data(46);
        octets[6..12]
            .copy_from_slice(&MacAddress([0x0A, 0, (address >> 16) as u8, (address >> 8) as u8, address as u8, 0]).0);
        octets[..6].copy_from_slice(&[0x0A, 0xFF, 0, 0, 0, 1]);
        switches.receive(0, way, frame(&octets));
    }
    assert_eq!(switches.held(PortId::new(0)).2, 4096);
}
