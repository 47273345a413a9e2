//! Which frames of a capture are replayed, and when.

use super::flow_key::FlowKey;
use super::{CapturedDirection, FlowsBy, ReplayFault};
use qcnlab_capture::{CaptureReader, CapturedFrame, Direction, InterfaceId};
use qcnlab_capture::{FrameKind, Header};
use qcnlab_network::Pattern;
use qcnlab_units::{Bytes, Span};
use std::io::Read;

/// The shortest Ethernet frame: cards pad what is shorter.
const SHORTEST: u64 = 64;

/// What is asked of a capture.
#[derive(Clone, Debug)]
pub struct Selection {
    /// What tells flows apart.
    pub flows_by: FlowsBy,
    /// Interfaces whose frames count, as it was written and as it is read.
    pub interfaces: (String, Pattern),
    /// The direction that counts.
    pub direction: CapturedDirection,
    /// The times that count, from the capture's first frame on.
    pub window_start: Span,
    /// Until when; `None` for the end of the capture.
    pub window_end: Option<Span>,
    /// Whether frames keep their priorities.
    pub keep_priority: bool,
    /// Octets of each frame beyond those that the capture counts.
    pub fcs: Bytes,
    /// The longest frame that is taken.
    pub longest: Bytes,
}

impl Selection {
    /// Whether all interfaces count because nobody chose.
    pub(super) fn takes_all_interfaces(&self) -> bool {
        self.interfaces.0 == "*"
    }
}

impl PartialEq for Selection {
    fn eq(&self, other: &Selection) -> bool {
        let parts = |s: &Selection| {
            let rest = (s.keep_priority, s.fcs, s.longest);
            (s.flows_by, s.interfaces.0.clone(), s.direction, s.window_start, s.window_end, rest)
        };
        parts(self) == parts(other)
    }
}

/// Frames that are passed over, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassedOver {
    /// Before `window_start`.
    pub outside_window: u64,
    /// Of interfaces that were not chosen.
    pub other_interfaces: u64,
    /// Of the direction that was not chosen.
    pub other_direction: u64,
    /// Of congestion management, and others that bridges do not forward: a run makes its own.
    pub control: u64,
    /// Without what flows are told apart by.
    pub of_no_flow: u64,
}

impl PassedOver {
    /// The reasons in words, with how many frames each has.
    pub fn words(&self) -> Vec<String> {
        let reasons = [
            (self.outside_window, "before the window"),
            (self.other_interfaces, "of other interfaces"),
            (self.other_direction, "of another direction"),
            (self.control, "of congestion management or link control"),
            (self.of_no_flow, "that belong to no flow"),
        ];
        reasons.into_iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}")).collect()
    }
}

/// Frames whose stamps are before that of a frame before them. They count as of that frame's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutOfOrder {
    /// How many.
    pub frames: u64,
    /// The longest that one is back.
    pub most: Span,
}

/// A frame that is replayed.
#[derive(Clone, Copy, Debug)]
pub(super) struct SelectedFrame {
    pub(super) number: u64,
    pub(super) interface: InterfaceId,
    /// Its time from the start of the window on.
    pub(super) since: Span,
    pub(super) key: FlowKey,
    pub(super) size: Bytes,
}

/// Reads the frames of a capture that are replayed.
pub(super) struct SelectedFrames<R: Read> {
    pub(super) reader: CaptureReader<R>,
    selection: Selection,
    /// The first stamp of the capture, ns.
    first_ns: Option<u64>,
    /// The latest stamp, ns.
    latest_ns: u64,
    /// For each interface its name and whether it counts.
    interfaces: Vec<Option<(String, bool)>>,
    pub(super) passed: PassedOver,
    pub(super) out_of_order: OutOfOrder,
}

/// What becomes of a frame that was read.
enum Verdict {
    Taken(SelectedFrame),
    PassedOver,
    /// The window is over.
    End,
}

impl<R: Read> SelectedFrames<R> {
    /// A stamp may be so long before another that stands before it. Captures from several queues of one card are out of
    /// order by some microseconds; a clock that was set jumps further.
    pub(super) const MOST_BACK: Span = Span::from_ms(1);

    pub(super) fn new(reader: R, selection: &Selection) -> Result<SelectedFrames<R>, ReplayFault> {
        Ok(SelectedFrames {
            reader: CaptureReader::new(reader).map_err(|error| ReplayFault::of_capture(&error, None))?,
            selection: selection.clone(),
            first_ns: None,
            latest_ns: 0,
            interfaces: Vec::new(),
            passed: PassedOver::default(),
            out_of_order: OutOfOrder::default(),
        })
    }

    /// The next frame that is replayed; `None` at the end of the capture or of the window.
    pub(super) fn next(&mut self) -> Result<Option<SelectedFrame>, ReplayFault> {
        loop {
            let whole_until = self.first_ns.map(|first| ns(self.latest_ns - first));
            let frame = self.reader.next_frame().map_err(|error| ReplayFault::of_capture(&error, whole_until))?;
            let Some(frame) = frame else { return Ok(None) };
            let clock = (&mut self.first_ns, &mut self.latest_ns, &mut self.out_of_order);
            let since_first = time(&frame, clock, Self::MOST_BACK)?;
            let id = frame.interface.0 as usize;
            let verdict = judge(&frame, since_first, &self.selection, &mut self.passed)?;
            let taken = match verdict {
                Verdict::End => return Ok(None),
                Verdict::PassedOver => continue,
                Verdict::Taken(taken) => taken,
            };
            if !self.selection.takes_all_interfaces() && !self.counts(id) {
                self.passed.other_interfaces += 1;
                continue;
            }
            if taken.size > self.selection.longest {
                let SelectedFrame { number: frame, size, .. } = taken;
                return Err(ReplayFault::TooLong { frame, size, longest: self.selection.longest });
            }
            return Ok(Some(taken));
        }
    }

    /// Whether an interface is chosen. A capture of several sections may give a number to another.
    fn counts(&mut self, id: usize) -> bool {
        let name = self.name(InterfaceId(id as u32));
        if self.interfaces.len() <= id {
            self.interfaces.resize(id + 1, None);
        }
        match &self.interfaces[id] {
            Some((known, counts)) if *known == name => *counts,
            _ => {
                let counts = self.selection.interfaces.1.matches(&name);
                self.interfaces[id] = Some((name, counts));
                counts
            }
        }
    }

    /// The name of an interface, or its number.
    pub(super) fn name(&self, id: InterfaceId) -> String {
        let name = self.reader.interface(id).map(|interface| interface.name.clone());
        name.filter(|name| !name.is_empty()).unwrap_or_else(|| id.0.to_string())
    }
}

fn ns(ns: u64) -> Span {
    Span::from_ps(ns.saturating_mul(1000))
}

/// The time of a frame from the capture's first on, mended where stamps go back.
fn time(
    frame: &CapturedFrame<'_>,
    (first_ns, latest_ns, out_of_order): (&mut Option<u64>, &mut u64, &mut OutOfOrder),
    most: Span,
) -> Result<Span, ReplayFault> {
    let number = frame.number;
    let stamp = frame.time_ns.ok_or(ReplayFault::NoStamp { frame: number })?;
    let first = *first_ns.get_or_insert(stamp);
    if stamp < *latest_ns {
        let back = ns(*latest_ns - stamp);
        if back > most {
            return Err(ReplayFault::OutOfOrder { frame: number, back, most });
        }
        out_of_order.frames += 1;
        out_of_order.most = out_of_order.most.max(back);
    }
    *latest_ns = stamp.max(*latest_ns);
    Ok(ns(*latest_ns - first))
}

/// What becomes of a frame, whatever its interface.
fn judge(
    frame: &CapturedFrame<'_>,
    since_first: Span,
    selection: &Selection,
    passed: &mut PassedOver,
) -> Result<Verdict, ReplayFault> {
    if selection.window_end.is_some_and(|end| since_first >= end) {
        return Ok(Verdict::End);
    }
    let mut pass = |reason: fn(&mut PassedOver) -> &mut u64| {
        *reason(passed) += 1;
        Ok(Verdict::PassedOver)
    };
    if since_first < selection.window_start {
        return pass(|passed| &mut passed.outside_window);
    }
    let fits = match selection.direction {
        CapturedDirection::Both => true,
        CapturedDirection::Sent => frame.direction == Some(Direction::Sent),
        CapturedDirection::Received => frame.direction == Some(Direction::Received),
    };
    if !fits {
        return pass(|passed| &mut passed.other_direction);
    }
    let whole = frame.octets.len() >= frame.wire_len as usize;
    let header = match Header::of(frame) {
        // So short was it on the wire.
        Err(_) if whole => return pass(|passed| &mut passed.of_no_flow),
        header => header?,
    };
    let [a, b, c, d, e, f] = header.destination.0;
    let link_local = [a, b, c, d, e] == [0x01, 0x80, 0xC2, 0, 0] && f < 0x10;
    if header.kind() != FrameKind::Data || link_local {
        return pass(|passed| &mut passed.control);
    }
    let key = match FlowKey::of(frame, &header, selection.flows_by, selection.keep_priority) {
        Err(_) if whole => None,
        key => key?,
    };
    let Some(key) = key else { return pass(|passed| &mut passed.of_no_flow) };
    let size = Bytes::new((u64::from(frame.wire_len) + selection.fcs.get()).max(SHORTEST));
    let since = since_first - selection.window_start;
    Ok(Verdict::Taken(SelectedFrame { number: frame.number, interface: frame.interface, since, key, size }))
}
