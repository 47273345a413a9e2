//! The file of a capture: its head, its frames, its limits.

use super::addresses;
use super::frames::{Translator, feedback_bits};
use super::{CaptureOptions, CaptureSummary, FramesKept};
use crate::capture_fault::CaptureFault;
use crate::error::RunError;
use crate::fabric::Fabric;
use qcnlab_capture::{
    CaptureError, CaptureWriter, Direction, FrameToWrite, Interface, InterfaceId, LINK_COMMENT, STAMPS_COMMENT, Section,
};
use qcnlab_scenario::Scenario;
use qcnlab_sim::{Departure, FrameFacts, PortId};
use qcnlab_units::{Bytes, IdVec, Instant};
use std::fs::File;
use std::io::{self, Write};
use std::ops::ControlFlow;

/// Writes what ports send into a file.
pub(super) struct CaptureFile {
    writer: Option<CaptureWriter<Blocks>>,
    translator: Translator,
    /// The interface of each port.
    interfaces: IdVec<PortId, Option<InterfaceId>>,
    options: CaptureOptions,
    summary: CaptureSummary,
}

impl CaptureFile {
    /// Creates the file, with an interface and an LLDP announcement for each of `ports`.
    pub(super) fn create(
        scenario: &Scenario,
        fabric: &Fabric,
        seed: u64,
        ports: &[PortId],
        options: &CaptureOptions,
    ) -> Result<CaptureFile, RunError> {
        let capture = |fault| RunError::Capture(fault);
        check(scenario, fabric, options).map_err(capture)?;
        let cannot = |why: String| capture(CaptureFault::Create { file: options.file.clone(), why });
        let file = File::create(&options.file).map_err(|error| cannot(error.to_string()))?;
        let title = if scenario.title.is_empty() { &scenario.name } else { &scenario.title };
        let mut comment = format!("{title}; scenario {}, hash {}, seed {seed}", scenario.name, scenario.hash());
        if feedback_bits(scenario) > 6 {
            comment += "; its feedback has more bits than a CNM, which carries the first 6";
        }
        let application = format!("qcnlab {}", env!("CARGO_PKG_VERSION"));
        let section = Section { application, comment: cut(comment), ..Section::default() };
        let cannot_write = |error: CaptureError| cannot(error.to_string());
        let mut writer = CaptureWriter::new(Blocks::new(file), &section).map_err(cannot_write)?;
        let mut translator = Translator::new(scenario, fabric);
        let mut interfaces = IdVec::for_each_of(&fabric.ports, None);
        for port in ports {
            let plan = &fabric.ports[*port];
            let (from, to) = (&fabric.nodes[plan.from].name, &fabric.nodes[plan.to].name);
            let interface = Interface {
                name: cut(plan.name.clone()),
                description: cut(format!("port of {from} towards {to}")),
                speed: Some(plan.rate),
                statistics: None,
                snap_len: options.snap_len.unwrap_or(0),
                comment: cut(format!(
                    "{STAMPS_COMMENT}; {LINK_COMMENT}{} ns, the way into the next queue included",
                    (plan.delay + plan.latency).ps() / 1000
                )),
            };
            interfaces[*port] = Some(writer.add_interface(&interface).map_err(cannot_write)?);
        }
        if options.from == Instant::ZERO {
            let most = options.max_frames.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
            for port in ports.iter().take(most) {
                let frame = translator
                    .announcement(*port, fabric.announced[*port])
                    .map_err(|error| cannot(error.to_string()))?;
                let written = FrameToWrite {
                    interface: interfaces[*port].unwrap_or(InterfaceId(0)),
                    at: Instant::ZERO,
                    octets: frame.octets,
                    wire_len: frame.octets.len() as u32,
                    direction: Some(Direction::Sent),
                    comment: frame.comment,
                };
                writer.write_frame(&written).map_err(cannot_write)?;
            }
        }
        let names = ports.iter().map(|port| fabric.ports[*port].name.clone()).collect();
        let summary = CaptureSummary { ports: names, frames: 0, size: Bytes::ZERO, limit: None, failure: None };
        let options = options.clone();
        Ok(CaptureFile { writer: Some(writer), translator, interfaces, options, summary })
    }

    /// Writes a frame, unless a limit is reached or writing has failed. The run goes on in any case.
    pub(super) fn take(&mut self, departure: &Departure) -> ControlFlow<()> {
        if departure.at < self.options.from || departure.at >= self.options.until {
            return ControlFlow::Continue(());
        }
        let Some(writer) = &mut self.writer else { return ControlFlow::Continue(()) };
        let Some(interface) = self.interfaces[departure.port] else { return ControlFlow::Continue(()) };
        let written = match self.translator.frame(departure) {
            Ok(frame) => {
                let kept = match self.options.kept {
                    FramesKept::Headers => frame.headers,
                    FramesKept::All => frame.octets.len(),
                };
                let heard = matches!(departure.frame, FrameFacts::Signal(signal) if signal.heard);
                let to_write = FrameToWrite {
                    interface,
                    at: departure.at,
                    octets: &frame.octets[..kept],
                    wire_len: frame.octets.len() as u32,
                    direction: Some(if heard { Direction::Received } else { Direction::Sent }),
                    comment: frame.comment,
                };
                let block = writer.size();
                let full = self.options.max_frames.is_some_and(|most| writer.frames() >= most);
                let large = self.options.max_size.is_some_and(|most| block + room(&to_write) > most);
                if full || large {
                    self.summary.limit = Some(if full { "frames" } else { "size" });
                    self.end();
                    return ControlFlow::Continue(());
                }
                writer.write_frame(&to_write).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        if let Err(why) = written {
            self.summary.failure = Some(why);
            self.end();
        }
        ControlFlow::Continue(())
    }

    /// Closes the file.
    pub(super) fn close(mut self) -> CaptureSummary {
        self.end();
        self.summary
    }

    fn end(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        self.summary.frames = writer.frames();
        self.summary.size = writer.size();
        match writer.finish() {
            Ok(blocks) => self.summary.size = Bytes::new(blocks.whole),
            Err(error) => {
                self.summary.failure.get_or_insert(error.to_string());
            }
        }
    }
}

/// Octets that a frame takes in the file.
fn room(frame: &FrameToWrite<'_>) -> Bytes {
    qcnlab_capture::frame_block_len(frame.octets.len() as u32, frame.direction.is_some(), frame.comment.len() as u16)
}

fn check(scenario: &Scenario, fabric: &Fabric, options: &CaptureOptions) -> Result<(), CaptureFault> {
    if options.from >= options.until {
        let seconds = |at: Instant| format!("{:.6}", at.seconds());
        return Err(CaptureFault::Window { from_s: seconds(options.from), until_s: seconds(options.until) });
    }
    let Some(snap_len) = options.snap_len else { return Ok(()) };
    let flows = addresses::flows(scenario, fabric);
    let longest = flows.iter().zip(&fabric.flows).map(|(on_wire, flow)| on_wire.headers(flow.cn_tag, true)).max();
    let needed = longest.unwrap_or(0) as u32;
    if snap_len < needed { Err(CaptureFault::SnapLength { snap_len, needed }) } else { Ok(()) }
}

/// Cuts a text to what a capture can hold.
fn cut(mut text: String) -> String {
    const MOST: usize = 4096;
    if text.len() > MOST {
        let end = (0..=MOST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
    }
    text
}

/// Buffers whole blocks, and leaves whole blocks in the file when it cannot be written.
///
/// The writer of captures hands over one block at a time.
#[derive(Debug)]
struct Blocks {
    file: File,
    buffer: Vec<u8>,
    /// Octets of the blocks that are in the file.
    whole: u64,
}

impl Blocks {
    const ROOM: usize = 256 << 10;

    fn new(file: File) -> Blocks {
        Blocks { file, buffer: Vec::with_capacity(Self::ROOM), whole: 0 }
    }
}

impl Write for Blocks {
    fn write(&mut self, block: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + block.len() > Self::ROOM {
            self.flush()?;
        }
        self.buffer.extend_from_slice(block);
        Ok(block.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.buffer);
        if written.is_err() {
            // What cannot be cut stays as it is; the first error is the one to tell.
            let _ = self.file.set_len(self.whole);
        } else {
            self.whole += self.buffer.len() as u64;
        }
        self.buffer.clear();
        written
    }
}
