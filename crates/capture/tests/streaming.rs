//! A capture is read as a stream: however it drips in, and however long it is. One test, because it measures memory.

use peak_alloc::PeakAlloc;
use qcnlab_capture::*;
use qcnlab_units::Instant;
use std::io::{self, Read};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const FRAME: [u8; 1514] = [0xAB; 1514];

/// Hands out `head`, and then `block` so many times, at most `step` octets at a time.
struct Repeated {
    head: Vec<u8>,
    block: Vec<u8>,
    times: usize,
    step: usize,
    at: usize,
}

impl Read for Repeated {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let part = if self.head.is_empty() { &self.block } else { &self.head };
        let some = &part[self.at..part.len().min(self.at + self.step.min(out.len()))];
        if self.times == 0 {
            return Ok(0);
        }
        let (taken, whole) = (some.len(), self.at + some.len() == part.len());
        out[..taken].copy_from_slice(some);
        self.at += taken;
        if whole {
            self.at = 0;
            if self.head.is_empty() { self.times -= 1 } else { self.head.clear() }
        }
        Ok(taken)
    }
}

/// A capture of so many frames, at most `step` octets at a time.
fn capture(times: usize, step: usize) -> Repeated {
    let mut writer = CaptureWriter::new(Vec::new(), &Section::default()).unwrap();
    let interface = writer.add_interface(&Interface::default()).unwrap();
    let head = writer.size().get() as usize;
    let (at, wire_len) = (Instant::ZERO, FRAME.len() as u32);
    let frame = FrameToWrite { interface, at, octets: &FRAME, wire_len, direction: None, comment: "" };
    writer.write_frame(&frame).unwrap();
    let mut head_and_block = writer.finish().unwrap();
    let block = head_and_block.split_off(head);
    Repeated { head: head_and_block, block, times, step, at: 0 }
}

fn count(capture: Repeated) -> u64 {
    let mut reader = CaptureReader::new(capture).unwrap();
    while let Some(frame) = reader.next_frame().unwrap() {
        assert_eq!(frame.octets, FRAME);
    }
    reader.frames()
}

#[test]
fn a_long_capture_takes_no_more_memory_than_a_short_one() {
    assert_eq!(count(capture(20, 1)), 20, "an octet at a time");
    assert_eq!(count(capture(20, 7)), 20);
    let peak = |times| {
        let capture = capture(times, 1 << 16);
        MEMORY.reset_peak_usage();
        let before = MEMORY.peak_usage();
        assert_eq!(count(capture), times as u64);
        MEMORY.peak_usage() - before
    };
    let short = peak(1_000);
    // 155 MB against 1.5 MB; what is kept is what is read ahead, 64 KiB, and a block.
    let long = peak(100_000);
    assert_eq!(long, short);
    assert!(long < 512 << 10, "{long} octets");
}
