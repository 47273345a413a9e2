//! The capture of a live run as pcapng.

use crate::outcome::LiveRun;
use qcnlab_capture::{CaptureError, CaptureWriter, FrameToWrite, Interface, Section};
use qcnlab_sim::PortId;
use qcnlab_units::{IdVec, Instant};
use std::io::Write;

/// How the comment of an interface begins in captures of qcnlab: what reads them knows by it that frames have no FCS, and
/// that one clock stamps them.
const STAMPS: &str = "frames are stamped when their last octet leaves the port";

/// Writes what a run captured: an interface for each port, with what it sent and what it received, frames in order of
/// time since the start of the run.
///
/// # Errors
/// When it cannot be written.
pub fn write_capture(run: &LiveRun, out: impl Write, application: &str) -> Result<u64, CaptureError> {
    let section = Section {
        hardware: "the live data plane".to_owned(),
        application: application.to_owned(),
        comment: run.outcome.scenario.title.clone(),
    };
    let mut writer = CaptureWriter::new(out, &section)?;
    let mut interfaces: IdVec<PortId, _> = IdVec::new();
    for way in &run.layout.ways {
        let interface = Interface {
            name: way.name.clone(),
            description: format!("port of {}", run.nodes[way.from]),
            speed: Some(way.shape.rate),
            comment: format!(
                "{STAMPS}; the link takes {} ns, the way into the next queue included",
                way.shape.delay / 1000
            ),
            ..Interface::default()
        };
        interfaces.push(writer.add_interface(&interface)?);
    }
    for frame in &run.captured {
        writer.write_frame(&FrameToWrite {
            interface: interfaces[frame.port],
            at: Instant::from_ps(frame.at),
            octets: &frame.octets,
            wire_len: frame.wire_len,
            direction: Some(frame.direction),
            comment: "",
        })?;
    }
    let frames = writer.frames();
    writer.finish()?;
    Ok(frames)
}
