use super::hosts::assign;
use super::stream::Pace;
use super::survey::CaptureSurvey;
use super::*;
use crate::address::Address;
use qcnlab_capture::{CaptureWriter, Direction, FrameToWrite, Interface, InterfaceId, Section};
use qcnlab_network::Pattern;
use qcnlab_sim::{ReplaySource, ReplayedFrame};
use qcnlab_units::{Bytes, Instant, Span};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

/// A file of its own for a test, removed at its end.
pub(super) struct TestFile(pub(super) PathBuf);

impl TestFile {
    fn new(name: &str, octets: &[u8]) -> TestFile {
        let file = TestFile(std::env::temp_dir().join(format!("qcnlab-replay-{}-{name}", std::process::id())));
        std::fs::write(&file.0, octets).unwrap();
        file
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A frame of a capture: its time in ns, its interface, its octets on the wire, its head.
struct TestFrame {
    ns: u64,
    interface: u32,
    wire_len: u32,
    direction: Option<Direction>,
    head: Vec<u8>,
}

const MACS: [u8; 12] = [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1];

/// Addresses, a tag of priority 5, IPv4 from 10.0.0.`from` to 10.0.0.`to`, UDP from port `port` to 9.
fn udp(ns: u64, from: u8, to: u8, port: u16, wire_len: u32) -> TestFrame {
    let [high, low] = port.to_be_bytes();
    let mut head = MACS.to_vec();
    head.extend([0x81, 0, 0xA0, 1, 8, 0]);
    head.extend([0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
    head.extend([high, low, 0, 9, 0, 8, 0, 0]);
    TestFrame { ns, interface: 0, wire_len, direction: None, head }
}

/// A frame without tag and IP: addresses, EtherType, nothing known behind.
fn other(ns: u64, destination: [u8; 6], ether_type: [u8; 2]) -> TestFrame {
    let mut head = MACS.to_vec();
    head[..6].copy_from_slice(&destination);
    head.extend(ether_type);
    head.extend([0; 46]);
    TestFrame { ns, interface: 0, wire_len: 60, direction: None, head }
}

fn capture(frames: &[TestFrame]) -> Vec<u8> {
    let mut writer = CaptureWriter::new(Vec::new(), &Section::default()).unwrap();
    for name in ["eth0", "eth1"] {
        writer.add_interface(&Interface { name: name.to_owned(), ..Interface::default() }).unwrap();
    }
    for TestFrame { ns, interface, wire_len, direction, head } in frames {
        let (at, octets) = (Instant::from_ps(ns * 1000), &head[..head.len().min(*wire_len as usize)]);
        let (interface, wire_len, direction) = (InterfaceId(*interface), *wire_len, *direction);
        writer.write_frame(&FrameToWrite { interface, at, octets, wire_len, direction, comment: "" }).unwrap();
    }
    writer.finish().unwrap()
}

pub(super) fn everything() -> Selection {
    Selection {
        flows_by: FlowsBy::FiveTuple,
        interfaces: ("*".to_owned(), Pattern::read("*").unwrap()),
        direction: CapturedDirection::Both,
        window_start: Span::ZERO,
        window_end: None,
        keep_priority: false,
        fcs: Bytes::ZERO,
        longest: Bytes::new(1518),
    }
}

fn interfaces(text: &str) -> Selection {
    Selection { interfaces: (text.to_owned(), Pattern::read(text).unwrap()), ..everything() }
}

fn surveyed(name: &str, octets: &[u8], selection: &Selection) -> Result<(Arc<CaptureSurvey>, TestFile), ReplayFault> {
    let file = TestFile::new(name, octets);
    CaptureSurvey::of(&file.0, selection).map(|survey| (survey, file))
}

/// Why a capture is refused, with the hint.
fn refused(name: &str, octets: &[u8], selection: &Selection) -> (String, Option<String>) {
    let fault = surveyed(name, octets, selection).map(|_| ()).unwrap_err();
    (fault.to_string(), fault.hint())
}

/// All frames of a replay from 1 ms on: ns, flow, octets.
fn replayed(survey: &Arc<CaptureSurvey>, pace: Pace, until: Instant) -> Vec<(u64, u32, u16)> {
    let start = Instant::ZERO + Span::from_ms(1);
    let replay = CaptureReplay { survey: survey.clone(), pace, start, until };
    let (mut stream, mut block, mut all) = (replay.open().unwrap(), VecDeque::new(), Vec::new());
    loop {
        stream.read_block(&mut block).unwrap();
        if block.is_empty() {
            return all;
        }
        all.extend(block.drain(..).map(|ReplayedFrame { at, flow, size }| (at.ps() / 1000, flow, size)));
    }
}

const PLAIN: fn() -> Pace = || Pace::new(1.0, 1.0);

fn ip(last: u8) -> Address {
    format!("10.0.0.{last}").parse().unwrap()
}

#[test]
fn flows_are_told_apart_by_five_tuple() {
    let frames = [
        udp(5000, 1, 9, 700, 1000),
        udp(6000, 2, 9, 700, 60),
        udp(7000, 1, 9, 701, 46),
        udp(9000, 1, 9, 700, 500),
        other(9500, [2, 0, 0, 0, 0, 9], [8, 6]),
        other(9600, [0x01, 0x80, 0xC2, 0, 0, 0x0E], [0x88, 0xCC]),
        other(9700, [0x01, 0x80, 0xC2, 0, 0, 0x02], [0x88, 0x09]),
    ];
    let (survey, _file) = surveyed("tuples", &capture(&frames), &everything()).unwrap();
    let rows: Vec<_> = survey.flows.iter().map(|flow| (flow.from, flow.to, flow.frames, flow.octets)).collect();
    // Frames of 60 and 46 octets count as the 64 that a card pads them to.
    assert_eq!(rows, [(ip(1), ip(9), 2, 1500), (ip(2), ip(9), 1, 64), (ip(1), ip(9), 1, 64)]);
    assert_eq!((survey.frames(), survey.octets(), survey.frames_read), (4, 1628, 7));
    assert_eq!(survey.ends(), (Span::ZERO, Span::from_us(4)));
    assert_eq!(survey.passed.words(), ["2 of congestion management or link control", "1 that belong to no flow"]);
    let sent = [(1_000_000, 0, 1000), (1_001_000, 1, 64), (1_002_000, 2, 64), (1_004_000, 0, 500)];
    assert_eq!(replayed(&survey, PLAIN(), Instant::NEVER), sent);
    assert_eq!(replayed(&survey, PLAIN(), Instant::ZERO + Span::from_us(1002)), sent[..2]);
    assert_eq!(survey.flows[0].class, None);
}

/// The head of a frame of IPv6: a hop-by-hop header of 8 octets, then TCP from 1000 to 80.
#[test]
fn ipv6_with_extension_headers_has_ports() {
    let mut v6 = other(0, [2, 0, 0, 0, 0, 9], [0x86, 0xDD]);
    v6.head.truncate(14);
    v6.head.extend([0x60, 0, 0, 0, 0, 28, 0, 64]);
    v6.head.extend([0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    v6.head.extend([0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    v6.head.extend([6, 0, 1, 4, 0, 0, 0, 0]);
    let before_ports = v6.head.len();
    v6.head.extend([3, 232, 0, 80]);
    v6.wire_len = 100;
    let mut cut = TestFrame { head: v6.head[..before_ports + 3].to_vec(), ..udp(0, 1, 2, 3, 100) };
    let (survey, _file) = surveyed("v6", &capture(&[v6]), &everything()).unwrap();
    let [from, to] = ["fd00::1", "fd00::2"].map(|text| text.parse::<Address>().unwrap());
    assert_eq!((survey.flows[0].from, survey.flows[0].to), (from, to));
    // 14 of Ethernet, 40 of IPv6, 8 of options, 4 of ports.
    let (said, hint) = refused("v6-cut", &capture(&[cut]), &everything());
    assert_eq!(said, "frame 1 is cut: 65 of its octets were kept, and what tells flows apart takes 66");
    assert_eq!(
        hint.unwrap(),
        "capture with a snap length of 66 or more, or tell flows apart by flows_by = \"addresses\""
    );
    cut = TestFrame { head: MACS[..10].to_vec(), ..udp(0, 1, 2, 3, 100) };
    // One that was so short on the wire is no frame of a flow.
    let runt = TestFrame { wire_len: 10, ..udp(0, 1, 2, 3, 100) };
    let (said, _) = refused("runt", &capture(&[runt]), &everything());
    assert_eq!(said, "no frame is left to be replayed of 1: 1 that belong to no flow");
    let by_addresses = Selection { flows_by: FlowsBy::Addresses, ..everything() };
    let (said, _) = refused("cut-addresses", &capture(&[cut]), &by_addresses);
    assert_eq!(said, "frame 1 is cut: 10 of its octets were kept, and what tells flows apart takes 18");
}

/// A fragment behind the first has no ports, and is a flow of its own with those of its packet.
#[test]
fn fragments_behind_the_first_have_no_ports() {
    let mut fragment = udp(10, 1, 9, 0xFFFF, 800);
    fragment.head[18 + 7] = 185;
    let mut another = udp(20, 1, 9, 0x1234, 800);
    another.head[18 + 7] = 90;
    let (survey, _file) =
        surveyed("fragments", &capture(&[udp(0, 1, 9, 7, 1500), fragment, another]), &everything()).unwrap();
    assert_eq!(survey.flows.iter().map(|flow| flow.frames).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn priorities_are_kept_when_asked() {
    let keep = Selection { keep_priority: true, ..everything() };
    let mut lower = udp(10, 1, 9, 7, 100);
    lower.head[14] = 0x20;
    let frames = capture(&[udp(0, 1, 9, 7, 100), lower]);
    let (survey, _file) = surveyed("priorities", &frames, &keep).unwrap();
    assert_eq!(survey.flows.iter().map(|flow| flow.class).collect::<Vec<_>>(), [Some(5), Some(1)]);
    let (survey, _file) = surveyed("priorities-not", &frames, &everything()).unwrap();
    assert_eq!(survey.flows.iter().map(|flow| flow.class).collect::<Vec<_>>(), [None]);
}

#[test]
fn flows_are_told_apart_by_rpid_and_by_addresses() {
    let tagged = |ns, rpid: u8| {
        let mut frame = udp(ns, 1, 9, 7, 100);
        frame.head.splice(16..16, [0x22, 0xE9, 0, rpid]);
        frame
    };
    let frames = capture(&[tagged(0, 1), tagged(10, 2), tagged(20, 1), udp(30, 1, 9, 7, 100)]);
    let by = |flows_by| Selection { flows_by, ..everything() };
    let (survey, _file) = surveyed("rpid", &frames, &by(FlowsBy::Rpid)).unwrap();
    assert_eq!(survey.flows.iter().map(|flow| flow.frames).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(survey.flows[0].from, "02:00:00:00:00:01".parse().unwrap());
    assert_eq!(survey.passed.of_no_flow, 1);
    let (survey, _file) = surveyed("addresses", &frames, &by(FlowsBy::Addresses)).unwrap();
    assert_eq!(survey.flows.iter().map(|flow| flow.frames).collect::<Vec<_>>(), [4]);
}

/// The window is in time of the capture: of frames at 0, 1, 2 and 3 us from its first those at 1 and 2. What lies at the
/// window's start is sent at the start of the traffic; what is damaged behind its end is not seen.
#[test]
fn a_window_cuts_the_capture() {
    let frames: Vec<TestFrame> = (0..4).map(|n| udp(5000 + 1000 * n, 1, 9, 7, 100 + n as u32)).collect();
    let window = |start, end| Selection {
        window_start: Span::from_us(start),
        window_end: Some(Span::from_us(end)),
        ..everything()
    };
    let mut octets = capture(&frames);
    let (survey, _file) = surveyed("window", &octets, &window(1, 3)).unwrap();
    assert_eq!(replayed(&survey, PLAIN(), Instant::NEVER), [(1_000_000, 0, 101), (1_001_000, 0, 102)]);
    assert_eq!(survey.passed.words(), ["1 before the window"]);
    // sha256sum says the same of the whole file, whatever the window.
    let (whole, _file) = surveyed("window-all", &octets, &everything()).unwrap();
    assert_eq!((&survey.sha256, survey.sha256.len()), (&whole.sha256, 64));
    octets.truncate(octets.len() - 10);
    let (said, hint) = refused("cut", &octets, &everything());
    assert!(said.starts_with("the capture is cut after frame 3: the block at octet "), "{said}");
    assert_eq!(hint.unwrap(), "what comes before can be replayed with window_end = \"2 us\"");
    let (survey, _file) = surveyed("cut-window", &octets, &window(0, 2)).unwrap();
    assert_eq!(survey.frames(), 2);
    let (said, _) = refused("empty-window", &capture(&frames), &window(90, 91));
    assert_eq!(said, "no frame is left to be replayed of 4: 4 before the window");
}

#[test]
fn interfaces_and_directions_are_chosen() {
    let at = |ns, interface, direction| TestFrame { interface, direction: Some(direction), ..udp(ns, 1, 9, 7, 100) };
    let frames = capture(&[at(0, 0, Direction::Sent), at(10, 1, Direction::Received), at(20, 1, Direction::Sent)]);
    let (said, hint) = refused("twice", &frames, &everything());
    assert_eq!(said, "frame 2 at interface eth1 belongs to a flow that was seen at interface eth0, too");
    assert_eq!(hint.unwrap(), "name the interfaces whose frames count: interfaces = \"eth0\"");
    let count = |selection: &Selection| surveyed("chosen", &frames, selection).unwrap().0.frames();
    assert_eq!((count(&interfaces("eth0")), count(&interfaces("eth1")), count(&interfaces("eth0, eth1"))), (1, 2, 3));
    let sent = Selection { direction: CapturedDirection::Sent, ..interfaces("eth{0..1}") };
    assert_eq!(count(&sent), 2);
    let received = Selection { direction: CapturedDirection::Received, ..everything() };
    assert_eq!(count(&received), 1);
    let (said, _) = refused("nobody", &frames, &interfaces("eth2"));
    assert_eq!(said, "no frame is left to be replayed of 3: 3 of other interfaces");
}

/// Frames at 10, 30 and 20 us: the last counts as of 30 us. One that is 1 ms and more back is refused.
#[test]
fn frames_out_of_order_are_mended_or_refused() {
    let frames = [udp(10_000, 1, 9, 7, 100), udp(30_000, 1, 9, 7, 101), udp(20_000, 1, 9, 7, 102)];
    let (survey, _file) = surveyed("order", &capture(&frames), &everything()).unwrap();
    assert_eq!((survey.out_of_order.frames, survey.out_of_order.most), (1, Span::from_us(10)));
    let sent = [(1_000_000, 0, 100), (1_020_000, 0, 101), (1_020_000, 0, 102)];
    assert_eq!(replayed(&survey, PLAIN(), Instant::NEVER), sent);
    let frames = [udp(2_000_001, 1, 9, 7, 100), udp(1_000_000, 1, 9, 7, 100)];
    let (said, hint) = refused("back", &capture(&frames), &everything());
    assert_eq!(
        said,
        "frame 2 is stamped 1.000001 ms before a frame that stands before it; 1 ms is the most that is mended"
    );
    assert_eq!(hint.unwrap(), "sort the frames first: reordercap IN OUT");
}

/// Octets that the capture does not count come before frames are padded to 64. The same file asked for otherwise is
/// surveyed anew, though the one before is kept.
#[test]
fn what_is_asked_for_is_surveyed() {
    let frames = [udp(0, 1, 9, 700, 46), udp(1000, 1, 9, 700, 61), udp(2000, 1, 9, 700, 1000)];
    let file = TestFile::new("asked", &capture(&frames));
    let octets = |selection: &Selection| CaptureSurvey::of(&file.0, selection).unwrap().octets();
    let with = |fcs: u64| Selection { fcs: Bytes::new(fcs), ..everything() };
    assert_eq!([0, 4, 20, 0].map(|fcs| octets(&with(fcs))), [1128, 64 + 65 + 1004, 66 + 81 + 1020, 1128]);
    let class = |keep_priority: bool| {
        let survey = CaptureSurvey::of(&file.0, &Selection { keep_priority, ..everything() }).unwrap();
        survey.flows[0].class
    };
    assert_eq!([false, true, false].map(class), [None, Some(5), None]);
    let window = Selection { window_end: Some(Span::from_us(1)), ..everything() };
    assert_eq!((octets(&window), octets(&everything())), (64, 1128));
    // Half of 3 octets is 1.5, which is 2; a third of 1 is 0.33, and still one.
    let half = |octets| Pace::new(1.0, 0.5).octets(octets).get();
    assert_eq!(([1, 2, 3, 5].map(half), Pace::new(1.0, 1.0 / 3.0).octets(1).get()), ([1, 1, 2, 3], 1));
}

/// Twice as slow; and of ten frames of 100 octets 1.5 times the octets are 15 frames, 0.25 times 2 frames of 2.5.
#[test]
fn time_and_rate_are_scaled() {
    let frames: Vec<TestFrame> = (0..10).map(|n| udp(1000 * n, 1, 9, 7, 100)).collect();
    let (survey, _file) = surveyed("scaled", &capture(&frames), &everything()).unwrap();
    let slow = replayed(&survey, Pace::new(2.0, 1.0), Instant::NEVER);
    assert_eq!((slow.len(), slow[0].0, slow[9].0), (10, 1_000_000, 1_018_000));
    let more = replayed(&survey, Pace::new(1.0, 1.5), Instant::NEVER);
    assert_eq!(
        more.iter().map(|(ns, ..)| (ns - 1_000_000) / 1000).collect::<Vec<_>>(),
        [0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 9, 9]
    );
    let less = replayed(&survey, Pace::new(1.0, 0.25), Instant::NEVER);
    assert_eq!(less.iter().map(|(ns, ..)| (ns - 1_000_000) / 1000).collect::<Vec<_>>(), [3, 7]);
    assert_eq!(Pace::new(1.0, 0.25).octets(1000), Bytes::new(250));
    assert_eq!(Pace::new(1.0, 1e-6).octets(1000), Bytes::new(1), "a flow has an octet");
}

#[test]
fn frames_that_are_too_long_or_have_no_time_are_refused() {
    let (said, hint) = refused("long", &capture(&[udp(0, 1, 9, 7, 65_226)]), &everything());
    assert_eq!(said, "frame 1 has 65226 B, and the longest frame of this traffic is 1518 B");
    assert!(hint.unwrap().starts_with("set frame = \"65226 B\" or more, or capture with segmentation"));
    let fcs = Selection { fcs: Bytes::new(4), longest: Bytes::new(104), ..everything() };
    let (survey, _file) = surveyed("fcs", &capture(&[udp(0, 1, 9, 7, 100)]), &fcs).unwrap();
    assert_eq!(survey.octets(), 104);
    // A simple packet block has no stamp: 60 octets, 16 of the block's own.
    let mut simple = capture(&[]);
    simple.extend([3u32, 76, 60].map(u32::to_le_bytes).concat());
    simple.extend(&other(0, [2, 0, 0, 0, 0, 9], [8, 0]).head);
    simple.extend(76u32.to_le_bytes());
    let (said, hint) = refused("no-stamp", &simple, &everything());
    assert_eq!(said, "frame 1 has no time stamp");
    assert_eq!(hint.unwrap(), "capture with time stamps, or replay a list of flows");
}

#[test]
fn what_is_no_capture_is_refused() {
    let said = |name, octets: &[u8]| refused(name, octets, &everything()).0;
    assert_eq!(said("empty", b""), "the capture is empty: not even a header is there");
    assert!(said("text", b"from,to,size,start\n").starts_with("this is no capture: it starts with [66, 72, 6f, 6d];"));
    assert_eq!(said("no-frames", &capture(&[])), "no frame is left to be replayed of 0: it has none");
    let mut damaged = capture(&[udp(0, 1, 9, 7, 100), udp(1, 1, 9, 7, 100)]);
    let last = damaged.len() - 4;
    damaged[last..].copy_from_slice(&[1, 2, 3, 4]);
    assert!(said("damaged", &damaged).starts_with("the capture is damaged after frame 1: in the block at octet "));
    let mut wifi = capture(&[udp(0, 1, 9, 7, 100)]);
    // The link type of the first interface stands 8 octets into the second block.
    let section = u32::from_le_bytes([wifi[4], wifi[5], wifi[6], wifi[7]]) as usize;
    wifi[section + 8] = 105;
    let of_wifi = said("wifi", &wifi);
    assert!(of_wifi.starts_with("frame 1 is of link type 105, not Ethernet (1)"), "{of_wifi}");
    let missing = CaptureSurvey::of(std::path::Path::new("/nowhere/c.pcap"), &everything()).unwrap_err();
    assert_eq!(missing.to_string(), "it cannot be opened: No such file or directory (os error 2)");
    let folder = CaptureSurvey::of(&std::env::temp_dir(), &everything()).unwrap_err();
    assert_eq!(folder, ReplayFault::NotAFile);
}

/// Three flows where two may be: the third begins with frame 4.
#[test]
fn more_flows_than_a_run_can_have_are_refused() {
    let frames = capture(&[udp(0, 1, 9, 1, 100), udp(1, 1, 9, 2, 100), udp(2, 1, 9, 1, 100), udp(3, 1, 9, 3, 100)]);
    let fault = CaptureSurvey::with_limit(&frames[..], &everything(), 2).unwrap_err();
    assert_eq!(fault.to_string(), "frame 4 begins flow 3, and a run can have 2");
    assert!(CaptureSurvey::with_limit(&frames[..], &everything(), 3).is_ok());
}

/// A file that changes between survey and run is not replayed as if it were the other.
#[test]
fn a_file_that_changed_ends_the_run() {
    let (survey, file) = surveyed("changes", &capture(&[udp(0, 1, 9, 7, 100)]), &everything()).unwrap();
    std::fs::write(&file.0, capture(&[udp(0, 1, 9, 8, 100), udp(1, 1, 9, 7, 100)])).unwrap();
    let replay = CaptureReplay { survey: survey.clone(), pace: PLAIN(), start: Instant::ZERO, until: Instant::NEVER };
    let Err(error) = replay.open() else { panic!("it is another file") };
    let path = survey.path.display();
    assert_eq!(error.why, format!("{path}: the file is another than when the scenario was read"));
}

/// Senders 10, 11 and receivers 11, 12, 13: see each line.
#[test]
fn addresses_take_hosts_in_turn() {
    let flow = |from, to| CapturedFlow {
        from: ip(from),
        to: ip(to),
        class: None,
        first_frame: 1,
        first: Span::ZERO,
        last: Span::ZERO,
        frames: 1,
        octets: 64,
    };
    let name = |host: u32| format!("host{host}");
    let hosts = |flows: &[CapturedFlow], senders: &[u32], receivers: &[u32]| {
        assign(flows, None, (senders, receivers), name).map_err(|fault| fault.to_string())
    };
    let pairs =
        hosts(&[flow(1, 2), flow(3, 2), flow(4, 2), flow(2, 1), flow(1, 5), flow(3, 5)], &[10, 11], &[11, 12, 13]);
    let expected = [
        (10, 11), // 1 is the first sender, 2 the first receiver
        (10, 11), // 3 would be 11, which is the receiver: the turn begins again
        (10, 11), // 4 likewise
        (11, 12), // 2 may send as 11, too; 1 may not receive as 10, and takes the next receiver
        (10, 13),
        (10, 13),
    ];
    assert_eq!(pairs.unwrap(), expected);
    // All may do both, and everybody keeps one host.
    let all = [1, 2, 3];
    assert_eq!(hosts(&[flow(1, 2), flow(2, 1), flow(3, 1)], &all, &all).unwrap(), [(1, 2), (2, 1), (2, 1)]);
    assert_eq!(
        hosts(&[flow(1, 2)], &[7], &[7]).unwrap_err(),
        "10.0.0.1 and 10.0.0.2 of frame 1 are both host7, which cannot send to itself"
    );
    let nodes = [("host1", 1), ("host2", 2), ("sink", 3)];
    let table = HostTable::read("address,host\n10.0.0.1,host2\n*,sink\n", "t", &nodes).unwrap();
    assert_eq!(assign(&[flow(1, 5), flow(9, 1)], Some(&table), (&[], &[]), name).unwrap(), [(2, 3), (3, 2)]);
    let table = HostTable::read("address,host\n10.0.0.1,host2\n", "t", &nodes).unwrap();
    let fault = assign(&[flow(1, 5)], Some(&table), (&[], &[]), name).unwrap_err();
    assert_eq!(fault.to_string(), "the address 10.0.0.5 of frame 1 is not in the table of hosts");
}
