#![no_main]
//! Captures: every frame of what reads as a capture, until its end or an error that prints.

use std::fmt::Write;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    let mut reader = match qcnlab_capture::CaptureReader::new(octets) {
        Ok(reader) => reader,
        Err(error) => return write!(String::new(), "{error}").expect("an error prints"),
    };
    loop {
        match reader.next_frame() {
            Ok(Some(frame)) => assert!(frame.octets.len() <= frame.wire_len as usize),
            Ok(None) => return,
            Err(error) => return write!(String::new(), "{error}").expect("an error prints"),
        }
    }
});
