//! What is written is read again; captures of others, and captures that are none.

use proptest::collection::vec;
use proptest::prelude::*;
use qcnlab_capture::*;
use qcnlab_units::{BitRate, Bytes, Instant};

fn interface(name: &str, snap_len: u32) -> Interface {
    Interface {
        name: name.into(),
        description: "port of a bridge".into(),
        speed: Some(BitRate::gbps(10)),
        snap_len,
        comment: "set point 33 KB".into(),
        statistics: None,
    }
}

fn frame(octets: &[u8]) -> FrameToWrite<'_> {
    FrameToWrite {
        interface: InterfaceId(0),
        at: Instant::from_ps(1_234_999),
        octets,
        wire_len: octets.len() as u32,
        direction: Some(Direction::Sent),
        comment: "",
    }
}

/// A capture with one interface and these frames.
fn capture(frames: &[&[u8]]) -> Vec<u8> {
    let mut writer = CaptureWriter::new(Vec::new(), &Section::default()).unwrap();
    writer.add_interface(&interface("core", 0)).unwrap();
    frames.iter().for_each(|octets| writer.write_frame(&frame(octets)).unwrap());
    writer.finish().unwrap()
}

/// The text of the error that reading ends with.
fn refusal(octets: &[u8]) -> String {
    let mut reader = match CaptureReader::new(octets) {
        Ok(reader) => reader,
        Err(error) => return error.to_string(),
    };
    loop {
        match reader.next_frame() {
            Ok(Some(_)) => {}
            Ok(None) => return "none".into(),
            Err(error) => return error.to_string(),
        }
    }
}

#[test]
fn a_capture_reads_as_it_was_written() {
    let section = Section { application: "qcnlab".into(), comment: "a scenario".into(), ..Section::default() };
    let mut writer = CaptureWriter::new(Vec::new(), &section).unwrap();
    let core = writer.add_interface(&interface("core -> sink", 0)).unwrap();
    let edge = writer.add_interface(&interface("edge", 64)).unwrap();
    let octets: Vec<u8> = (0..=255).collect();
    let sent = FrameToWrite { interface: core, comment: "the first", ..frame(&octets) };
    let before = writer.size();
    writer.write_frame(&sent).unwrap();
    assert_eq!(Bytes::new(writer.size().get() - before.get()), frame_block_len(256, true, 9));
    let cut = FrameToWrite { interface: edge, direction: Some(Direction::Received), wire_len: 1500, ..sent };
    writer.write_frame(&cut).unwrap();
    let before = writer.size();
    writer.write_frame(&FrameToWrite { direction: None, comment: "", ..sent }).unwrap();
    assert_eq!(Bytes::new(writer.size().get() - before.get()), frame_block_len(256, false, 0));
    let file = writer.finish().unwrap();

    let mut reader = CaptureReader::new(&file[..]).unwrap();
    let first = CapturedFrame {
        number: 1,
        interface: core,
        time_ns: Some(1234), // 1 234 999 ps, rounded down
        octets: &octets,
        wire_len: 256,
        direction: Some(Direction::Sent),
        comment: "the first",
    };
    assert_eq!(reader.next_frame().unwrap().unwrap(), first);
    assert_eq!(reader.interface(core), Some(&interface("core -> sink", 0)));
    let second = reader.next_frame().unwrap().unwrap();
    assert_eq!((second.octets, second.wire_len), (&octets[..64], 1500));
    assert_eq!(second.direction, Some(Direction::Received));
    let third = reader.next_frame().unwrap().unwrap();
    assert_eq!((third.number, third.direction, third.comment), (3, None, ""));
    assert!(reader.next_frame().unwrap().is_none());
    assert!(reader.next_frame().unwrap().is_none(), "the end stays the end");
}

/// Written by hand from the format's draft: a frame of 5 octets on a 10 Gb/s interface, stamp 1 s + 1 ns.
#[test]
fn golden_octets() {
    let mut writer = CaptureWriter::new(Vec::new(), &Section::default()).unwrap();
    let id = writer
        .add_interface(&Interface { name: "p1".into(), speed: Some(BitRate::gbps(10)), ..Interface::default() })
        .unwrap();
    let octets = [1, 2, 3, 4, 5];
    let at = Instant::from_ps(1_000_000_001_000);
    let frame = FrameToWrite { interface: id, at, octets: &octets, wire_len: 9, direction: None, comment: "" };
    writer.write_frame(&frame).unwrap();
    #[rustfmt::skip]
    let expected: &[&[u8]] = &[
        // Section header: 28 octets of block and the end of options.
        &[0x0A, 0x0D, 0x0D, 0x0A], &[32, 0, 0, 0], &[0x4D, 0x3C, 0x2B, 0x1A], &[1, 0, 0, 0], &[0xFF; 8], &[0; 4], &[32, 0, 0, 0],
        // Interface: link type 1, no snap length; name, speed 10^10 = 0x2540BE400, resolution 10^-9, no FCS.
        &[1, 0, 0, 0], &[60, 0, 0, 0], &[1, 0, 0, 0], &[0; 4],
        &[2, 0, 2, 0, b'p', b'1', 0, 0], &[8, 0, 8, 0, 0x00, 0xE4, 0x0B, 0x54, 0x02, 0, 0, 0],
        &[9, 0, 1, 0, 9, 0, 0, 0], &[13, 0, 1, 0, 0, 0, 0, 0], &[0; 4], &[60, 0, 0, 0],
        // Frame: 1 000 000 001 ns = 0x3B9ACA01, 5 octets kept of 9, 3 octets of padding.
        &[6, 0, 0, 0], &[40, 0, 0, 0], &[0; 4], &[0; 4], &[0x01, 0xCA, 0x9A, 0x3B], &[5, 0, 0, 0], &[9, 0, 0, 0],
        &[1, 2, 3, 4, 5, 0, 0, 0], &[40, 0, 0, 0],
    ];
    assert_eq!(writer.finish().unwrap(), expected.concat());
}

/// Classic pcap in both byte orders and resolutions: 1.5 s, 3 octets of 7.
#[test]
fn classic_pcap() {
    for (magic, fraction, big) in [
        (0xA1B2_C3D4u32, 500_000u32, false),
        (0xA1B2_C3D4, 500_000, true),
        (0xA1B2_3C4D, 500_000_000, false),
        (0xA1B2_3C4D, 500_000_000, true),
    ] {
        let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let mut file = Vec::new();
        for n in [magic, 0, 0, 0, 65_535, 1, 1, fraction, 3, 7] {
            file.extend(word(n));
        }
        file.extend([9, 8, 7]);
        let mut reader = CaptureReader::new(&file[..]).unwrap();
        let frame = reader.next_frame().unwrap().unwrap();
        assert_eq!((frame.octets, frame.wire_len, frame.time_ns), (&[9, 8, 7][..], 7, Some(1_500_000_000)));
        assert!(reader.next_frame().unwrap().is_none());
    }
}

/// Big-endian pcapng: resolution 2^-10 s and an offset of 5 s; the stamp 1536 is 1.5 s, so 6.5 s. Then a simple packet.
#[test]
fn big_endian_pcapng() {
    let word = |n: u32| n.to_be_bytes();
    let mut file: Vec<u8> = Vec::new();
    for n in [0x0A0D_0D0A, 28, 0x1A2B_3C4D, 0x0001_0000, u32::MAX, u32::MAX, 28] {
        file.extend(word(n));
    }
    for n in [1, 44, 0x0001_0000, 2, 0x0009_0001, 0x8A00_0000, 0x000E_0008, 0, 5, 0, 44] {
        file.extend(word(n));
    }
    for n in [6, 36, 0, 0, 1536, 4, 9, 0x0102_0304, 36] {
        file.extend(word(n));
    }
    for n in [3, 20, 9, 0x0506_0708, 20] {
        file.extend(word(n));
    }
    let mut reader = CaptureReader::new(&file[..]).unwrap();
    let frame = reader.next_frame().unwrap().unwrap();
    assert_eq!((frame.octets, frame.time_ns), (&[1, 2, 3, 4][..], Some(6_500_000_000)));
    let simple = reader.next_frame().unwrap().unwrap();
    assert_eq!((simple.octets, simple.wire_len, simple.time_ns), (&[5, 6][..], 9, None));
}

#[test]
fn refusals() {
    let good = capture(&[&[1; 60], &[2; 60]]);
    let second = good.len() - (32 + 60 + 12);
    let with = |at: usize, octets: &[u8]| {
        let mut file = good.clone();
        file[at..at + octets.len()].copy_from_slice(octets);
        file
    };
    assert_eq!(refusal(&good), "none");
    assert_eq!(refusal(&[]), "the capture is empty: not even a header is there");
    assert_eq!(
        refusal(b"duration = 1"),
        "this is no capture: it starts with [64, 75, 72, 61]; pcapng starts with 0a 0d 0d 0a, pcap with d4 c3 b2 a1 or a1 b2 c3 d4"
    );
    assert_eq!(refusal(b"\x1f\x8b\x08\x00\x00"), "this is gzip, not a capture: unpack it first, with gunzip");
    assert_eq!(refusal(b"\x28\xb5\x2f\xfd\x04"), "this is zstd, not a capture: unpack it first, with unzstd");
    assert_eq!(
        refusal(&good[..good.len() - 7]),
        format!(
            "the capture is cut after frame 1: the block at octet {second} should have 104 octets, and 97 are there"
        )
    );
    assert_eq!(
        refusal(&good[..second + 5]),
        format!("the capture is cut after frame 1: the block at octet {second} should have 12 octets, and 5 are there")
    );
    assert_eq!(
        refusal(&with(second + 4, &[103, 0, 0, 0])),
        format!(
            "the capture is damaged after frame 1: in the block at octet {second}, the length is not a multiple of 4 from 12 up"
        )
    );
    assert_eq!(
        refusal(&with(good.len() - 4, &[1])),
        format!(
            "the capture is damaged after frame 1: in the block at octet {second}, the lengths at its start and end differ"
        )
    );
    assert_eq!(
        refusal(&with(second + 20, &[0xFF, 0xFF, 0xFF, 0xFF])),
        format!(
            "the capture is damaged after frame 1: in the block at octet {second}, a frame is longer than its block"
        )
    );
    assert_eq!(
        refusal(&with(second + 4, &[0, 0, 0, 0x7F])),
        format!(
            "the capture is damaged after frame 1: the block at octet {second} claims 2130706432 octets, and 16777216 is the most that is read"
        )
    );
    assert_eq!(refusal(&with(second + 8, &[7])), "frame 2 names interface 7, and the capture describes 1");
    // The section header of 32 octets, then the interface: its link type stands 8 octets into the block.
    assert_eq!(
        refusal(&with(32 + 8, &[113])),
        "frame 1 is of link type 113, not Ethernet (1); capture on the Ethernet interface itself"
    );
    assert_eq!(
        refusal(&with(8, &[0, 0, 0, 0])),
        "the capture is damaged before its first frame: in the block at octet 0, the section header has no byte-order magic"
    );
}

#[test]
fn a_million_interfaces_are_refused() {
    let mut writer = CaptureWriter::new(Vec::new(), &Section::default()).unwrap();
    (0..CaptureReader::<&[u8]>::MAX_INTERFACES + 1).for_each(|_| {
        writer.add_interface(&Interface::default()).unwrap();
    });
    let file = writer.finish().unwrap();
    assert_eq!(
        refusal(&file),
        "the capture has more than 65536 interfaces; split it, for example with editcap or tshark -w"
    );
}

/// A block of `kind` in little-endian order, with its lengths.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = (12 + body.len() as u32).to_le_bytes();
    [&kind.to_le_bytes()[..], &len, body, &len].concat()
}

/// A section header of 28 octets, and an interface of Ethernet without options, 20 octets: 48 in all.
fn head() -> Vec<u8> {
    let section = [&0x1A2B_3C4Du32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xFF; 8]].concat();
    [block(0x0A0D_0D0A, &section), block(1, &[1, 0, 0, 0, 0, 0, 0, 0])].concat()
}

/// A capture of `head` and these blocks.
fn with_blocks(blocks: &[Vec<u8>]) -> Vec<u8> {
    [head(), blocks.concat()].concat()
}

/// An interface's description is 8 octets, the header of an enhanced packet 20, that of a simple one 4, beside the 12 of
/// each block. A block that holds them and nothing else is whole.
#[test]
fn the_shortest_blocks() {
    // Unknown to us, without content; a frame of interface 0 at stamp 3, none of 60 octets kept; one without a stamp.
    let unknown = block(0x0BAD_BEEF, &[]);
    let enhanced = block(6, &[&[0; 8][..], &[3, 0, 0, 0], &[0; 4], &[60, 0, 0, 0]].concat());
    let simple = block(3, &[60, 0, 0, 0]);
    assert_eq!((unknown.len(), enhanced.len(), simple.len()), (12, 32, 16));
    let file = with_blocks(&[unknown, enhanced, simple]);
    let mut reader = CaptureReader::new(&file[..]).unwrap();
    let frame = reader.next_frame().unwrap().unwrap();
    // No resolution is given, so stamps are microseconds.
    assert_eq!((frame.octets, frame.wire_len, frame.time_ns), (&[][..], 60, Some(3000)));
    let frame = reader.next_frame().unwrap().unwrap();
    assert_eq!((frame.octets, frame.wire_len, frame.time_ns), (&[][..], 60, None));
    assert!(reader.next_frame().unwrap().is_none());
}

/// Each a word shorter than the shortest, behind 48 octets of head.
#[test]
fn blocks_that_are_too_short() {
    let at = |at: u32, what: &str| {
        format!("the capture is damaged before its first frame: in the block at octet {at}, {what}")
    };
    let half_interface = [&head()[..28], &block(1, &[1, 0, 0, 0])].concat();
    assert_eq!(refusal(&half_interface), at(28, "an interface's description is not whole"));
    assert_eq!(refusal(&with_blocks(&[block(6, &[0; 16])])), at(48, "a frame's header is not whole"));
    assert_eq!(refusal(&with_blocks(&[block(2, &[0; 16])])), at(48, "a frame's header is not whole"));
    assert_eq!(refusal(&with_blocks(&[block(3, &[])])), at(48, "a frame's header is not whole"));
    for len in [0u8, 4, 8] {
        let short = vec![7, 0, 0, 0, len, 0, 0, 0, len, 0, 0, 0];
        assert_eq!(refusal(&with_blocks(&[short])), at(48, "the length is not a multiple of 4 from 12 up"));
    }
}

/// The largest block is read and skipped, here one of a kind that is not known; one of a word more is not.
#[test]
fn the_largest_block() {
    let largest = CaptureReader::<&[u8]>::MAX_BLOCK;
    assert_eq!(refusal(&with_blocks(&[block(0x0BAD_BEEF, &vec![0; largest - 12])])), "none");
    assert_eq!(
        refusal(&with_blocks(&[block(0x0BAD_BEEF, &vec![0; largest - 8])])),
        "the capture is damaged before its first frame: the block at octet 48 claims 16777220 octets, \
         and 16777216 is the most that is read"
    );
}

/// An enhanced packet has 32 bits of interface, the packet block before it 16, and then 16 bits of drops.
#[test]
fn frames_name_their_interface() {
    let words = |words: &[u32]| words.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<u8>>();
    let interface = |snap_len| words(&[1, 20, 0x0001_0000, snap_len, 20]);
    let file = [
        words(&[0x0A0D_0D0A, 28, 0x1A2B_3C4D, 0x0001_0000, u32::MAX, u32::MAX, 28]),
        interface(100),
        interface(200),
        words(&[6, 32, 1, 0, 0, 0, 60, 32]),
        words(&[2, 32, 0x0001_0005, 0, 0, 0, 61, 32]),
        words(&[6, 32, 0x0001_0000, 0, 0, 0, 62, 32]),
    ]
    .concat();
    let mut reader = CaptureReader::new(&file[..]).unwrap();
    let frame = reader.next_frame().unwrap().unwrap();
    assert_eq!((frame.interface, frame.wire_len), (InterfaceId(1), 60));
    let frame = reader.next_frame().unwrap().unwrap();
    assert_eq!((frame.interface, frame.wire_len), (InterfaceId(1), 61), "5 drops are no part of it");
    assert_eq!(reader.interface(InterfaceId(1)).unwrap().snap_len, 200);
    let error = reader.next_frame().unwrap_err().to_string();
    assert_eq!(error, "frame 3 names interface 65536, and the capture describes 2");
}

/// An option's length has 16 bits: 65 535 octets of comment come back, and one more is refused.
#[test]
fn the_longest_comment() {
    let mut writer = CaptureWriter::new(Vec::new(), &Section::default()).unwrap();
    writer.add_interface(&interface("core", 0)).unwrap();
    let comment = "c".repeat(65_536);
    let error = writer.write_frame(&FrameToWrite { comment: &comment, ..frame(&[1]) }).unwrap_err().to_string();
    assert_eq!(error, "comment of a frame does not fit a capture: 65536, and 65535 at most");
    writer.write_frame(&FrameToWrite { comment: &comment[1..], ..frame(&[1]) }).unwrap();
    let file = writer.finish().unwrap();
    let mut reader = CaptureReader::new(&file[..]).unwrap();
    assert_eq!(reader.next_frame().unwrap().unwrap().comment, &comment[1..]);
    assert!(reader.next_frame().unwrap().is_none(), "nothing of the refused one was written");
}

#[test]
fn a_frame_of_an_interface_that_was_not_described() {
    let mut writer = CaptureWriter::new(Vec::new(), &Section::default()).unwrap();
    let nowhere = |writer: &mut CaptureWriter<Vec<u8>>| {
        let stray = FrameToWrite { interface: InterfaceId(3), ..frame(&[1]) };
        writer.write_frame(&stray).unwrap_err().to_string()
    };
    assert_eq!(nowhere(&mut writer), "frame 1 names interface 3, and the capture describes 0");
    writer.add_interface(&interface("core", 0)).unwrap();
    (0..2).for_each(|_| writer.write_frame(&frame(&[1])).unwrap());
    assert_eq!(nowhere(&mut writer), "frame 3 names interface 3, and the capture describes 1");
}

/// A signal may interrupt a read; the octets come with the next one.
#[test]
fn an_interrupted_read_goes_on() {
    struct Signal(bool);
    impl std::io::Read for Signal {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            if std::mem::take(&mut self.0) { Err(std::io::ErrorKind::Interrupted.into()) } else { Ok(0) }
        }
    }
    let file = capture(&[&[1; 60], &[2; 60]]);
    let (start, end) = file.split_at(file.len() - 50);
    let dripping = std::io::Read::chain(std::io::Read::chain(start, Signal(true)), end);
    let mut reader = CaptureReader::new(dripping).unwrap();
    assert_eq!(reader.next_frame().unwrap().unwrap().octets, [1; 60]);
    assert_eq!(reader.next_frame().unwrap().unwrap().octets, [2; 60]);
    assert!(reader.next_frame().unwrap().is_none());
}

/// Two frames, and then the line breaks.
#[test]
fn a_failed_read_keeps_its_cause() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::ConnectionReset.into())
        }
    }
    let file = capture(&[&[1; 60], &[2; 60]]);
    let mut reader = CaptureReader::new(std::io::Read::chain(&file[..], Broken)).unwrap();
    assert_eq!(reader.next_frame().unwrap().unwrap().octets, [1; 60]);
    assert_eq!(reader.next_frame().unwrap().unwrap().octets, [2; 60]);
    let error = reader.next_frame().unwrap_err().to_string();
    assert_eq!(error, "reading the capture failed after frame 2: connection reset");
}

/// A disk that takes so many octets.
struct FullDisk(usize);

impl std::io::Write for FullDisk {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        let room = octets.len().min(self.0);
        self.0 -= room;
        if room == 0 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(room) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_says_how_far_it_came() {
    let mut writer = CaptureWriter::new(FullDisk(400), &Section::default()).unwrap();
    writer.add_interface(&interface("core", 0)).unwrap();
    let octets = [0; 60];
    let error = (0..9).find_map(|_| writer.write_frame(&frame(&octets)).err()).unwrap();
    assert_eq!(
        error.to_string(),
        format!(
            "writing the capture failed after frame {}, at octet {}: no storage space",
            writer.frames(),
            writer.size().get()
        )
    );
    assert!(matches!(
        writer.write_frame(&FrameToWrite { interface: InterfaceId(3), ..frame(&octets) }),
        Err(CaptureError::UnknownInterface { interface: 3, described: 1, .. })
    ));
}

proptest! {
    #[test]
    fn frames_come_back(frames in vec((vec(any::<u8>(), 0..300), any::<u64>(), "[a-z ]{0,20}"), 0..20)) {
        let mut writer = CaptureWriter::new(Vec::new(), &Section::default()).unwrap();
        let id = writer.add_interface(&interface("core", 0)).unwrap();
        for (octets, at, comment) in &frames {
            writer.write_frame(&FrameToWrite { interface: id, at: Instant::from_ps(*at), comment, ..frame(octets) }).unwrap();
        }
        let file = writer.finish().unwrap();
        let mut reader = CaptureReader::new(&file[..]).unwrap();
        for (octets, at, comment) in &frames {
            let read = reader.next_frame().unwrap().unwrap();
            prop_assert_eq!((read.octets, read.time_ns, read.comment), (&octets[..], Some(at / 1000), &comment[..]));
        }
        prop_assert!(reader.next_frame().unwrap().is_none());
    }

    #[test]
    fn any_octets_are_safe(start in 0..5usize, octets in vec(any::<u8>(), 0..300), at in 0..150usize, octet: u8) {
        let mut file = capture(&[&[1; 20]]);
        if start == 0 {
            let position = at.min(file.len() - 1);
            file[position] = octet;
        } else {
            let magic: &[u8] = [&[0xD4, 0xC3, 0xB2, 0xA1][..], &[0xA1, 0xB2, 0x3C, 0x4D], &[0x0A, 0x0D, 0x0D, 0x0A], &[]][start - 1];
            file = [magic, &octets].concat();
        }
        refusal(&file);
    }
}

/// What one frame of a file has: octets that were kept, and length.
fn only_frame(file: &[u8]) -> (Vec<u8>, u32) {
    let mut reader = CaptureReader::new(file).unwrap();
    let frame = reader.next_frame().unwrap().unwrap();
    (frame.octets.to_vec(), frame.wire_len)
}

/// Of a frame of 20 octets that ends with a FCS of 4, `kept` are in the file. An interface may say so, in octets or, as
/// older drafts, in bits, and a frame's own flags, which win unless they say nothing.
#[test]
fn a_check_sequence_is_left_out_where_the_capture_tells_it() {
    let octets: Vec<u8> = (1..=20).collect();
    let file = |kept: usize, of_interface: Option<u8>, flags: Option<u32>| {
        let mut file = capture(&[]);
        // The section stays; the interface is written by hand.
        file.truncate(u32::from_le_bytes(file[4..8].try_into().unwrap()) as usize);
        let mut block = |kind: u32, body: &[u8], options: &[(u16, &[u8])]| {
            let mut all = body.to_vec();
            for (code, value) in options {
                all.extend(code.to_le_bytes());
                all.extend((value.len() as u16).to_le_bytes());
                all.extend(*value);
                all.resize(all.len().next_multiple_of(4), 0);
            }
            let len = (all.len() as u32 + 12).to_le_bytes();
            file.extend([&kind.to_le_bytes()[..], &len, &all, &len].concat());
        };
        let fcs_len = of_interface.map(|len| [len]);
        let options: Vec<(u16, &[u8])> = fcs_len.iter().map(|len| (13, &len[..])).collect();
        block(1, &[1, 0, 0, 0, 0, 0, 0, 0], &options);
        let mut body: Vec<u8> = [0, 0, 0, kept as u32, 20].iter().flat_map(|n: &u32| n.to_le_bytes()).collect();
        body.extend(&octets[..kept]);
        body.resize(body.len().next_multiple_of(4), 0);
        let flags = flags.map(u32::to_le_bytes);
        let options: Vec<(u16, &[u8])> = flags.iter().map(|flags| (2, &flags[..])).collect();
        block(6, &body, &options);
        file
    };
    for (of_interface, flags, fcs) in [
        (None, None, 0),
        (Some(0), None, 0),
        (Some(4), None, 4),
        (Some(32), None, 4),
        (Some(2), None, 2),
        (None, Some(4 << 5 | 1), 4),
        (Some(4), Some(2), 4),
        (Some(0), Some(4 << 5 | 2), 4),
        (Some(4), Some(2 << 5), 2),
        (Some(255), None, 20),
    ] {
        for kept in [20, 18, 14, 0] {
            let (said, len) = only_frame(&file(kept, of_interface, flags));
            let whole = 20 - fcs;
            assert_eq!(
                (&said[..], len),
                (&octets[..kept.min(whole)], whole as u32),
                "{of_interface:?} {flags:?} {kept}"
            );
        }
    }
}

/// In classic pcap the highest four bits beside the link type are the FCS, in units of 16 bits, if bit 26 is set.
#[test]
fn a_check_sequence_in_classic_pcap() {
    for (network, fcs) in [(1u32, 0), (0x2400_0001, 4), (0x1400_0001, 2), (0x2000_0001, 0), (0x0400_0001, 0)] {
        for big in [false, true] {
            let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
            let mut file: Vec<u8> =
                [0xA1B2_C3D4, 0, 0, 0, 65_535, network, 1, 0, 8, 8].into_iter().flat_map(word).collect();
            file.extend(1..=8);
            let (said, len) = only_frame(&file);
            assert_eq!((said.len(), len as usize), (8 - fcs, 8 - fcs), "{network:#x}");
        }
    }
}
