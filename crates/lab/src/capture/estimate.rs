//! How large a capture will be.

use super::addresses;
use super::{CaptureOptions, FramesKept};
use crate::fabric::Fabric;
use qcnlab_capture::frame_block_len;
use qcnlab_scenario::Scenario;
use qcnlab_sim::PortId;
use qcnlab_units::{Bytes, Instant};

/// Octets that are not those of frames: the section with the scenario's name, and each interface.
const HEAD: u64 = 400;
const INTERFACE: u64 = 400;

/// Octets of a capture of `ports`: each sends as much as its flows offer and its rate allows, for the whole window.
pub(super) fn size(scenario: &Scenario, fabric: &Fabric, ports: &[PortId], options: &CaptureOptions) -> Bytes {
    let end = Instant::ZERO + scenario.duration;
    let seconds = options.until.min(end).since(options.from.min(end)).seconds();
    let flows = addresses::flows(scenario, fabric);
    let (mut octets, mut frames) = (0.0, 0.0);
    for port in ports {
        let plan = &fabric.ports[*port];
        let crossing = fabric.flows.iter().zip(&flows).zip(&fabric.wanted_bps);
        let crossing = crossing.filter(|((flow, _), _)| flow.paths.iter().any(|path| path.contains(port)));
        // Frames a second of each flow, and octets of each frame in the file.
        let each: Vec<(f64, f64, f64)> = crossing
            .map(|((flow, on_wire), wanted_bps)| {
                let share = flow.paths.iter().filter(|path| path.contains(port)).count() as f64;
                let bps = wanted_bps.min(plan.rate.as_f64()) * share / flow.paths.len() as f64;
                let kept = match options.kept {
                    FramesKept::Headers => on_wire.headers(flow.cn_tag, false),
                    FramesKept::All => flow.frame.get(),
                };
                let kept = options.snap_len.map_or(kept, |snap_len| kept.min(snap_len.into()));
                let block = frame_block_len(kept as u32, true, 0).as_f64();
                (bps, bps / (8.0 * flow.frame.as_f64()), block)
            })
            .collect();
        let offered: f64 = each.iter().map(|(bps, _, _)| bps).sum();
        let allowed = if offered > 0.0 { (plan.rate.as_f64() / offered).min(1.0) } else { 0.0 };
        frames += each.iter().map(|(_, rate, _)| rate * allowed * seconds).sum::<f64>();
        octets += each.iter().map(|(_, rate, block)| rate * allowed * seconds * block).sum::<f64>();
    }
    if let Some(most) = options.max_frames.filter(|most| frames > *most as f64) {
        octets *= most as f64 / frames;
    }
    let size = Bytes::new(octets as u64 + HEAD + INTERFACE * ports.len() as u64);
    options.max_size.map_or(size, |most| size.min(most))
}
