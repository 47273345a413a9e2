//! What a thread of a run records.

use crate::defence::DefenceEnd;
use crate::spacing::Spacing;
use qcnlab_capture::Direction;
use qcnlab_schemes::Signal;
use qcnlab_schemes::driver::LimiterTally;
use qcnlab_sim::trace::{MessageRows, PauseRows, PointTally, QueueRows, RateRows, WindowRows};
use qcnlab_sim::{Counters, FlowId, LimiterId, PortId};
use qcnlab_units::{Id, IdVec};
use std::collections::BTreeMap;

/// Adds each field of `$more` to that of `$sum`. A field that is not named does not compile.
macro_rules! add_each {
    ($sum:expr, $more:expr, $record:ident { $($field:ident),+ }) => {
        let $record { $($field),+ } = $more;
        $( $sum.$field += $field; )+
    };
}

mod merging;

pub(crate) use merging::{Merged, merge};

/// Pauses that a thread records: a storm of pause frames fills no memory.
const MOST_PAUSES: usize = 1 << 20;
/// Octets of captured frames that are kept, over all threads of a run, at most.
const MOST_CAPTURED: usize = 256 << 20;

/// What is kept of frames for a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capture {
    /// Octets of a frame; 0 to capture nothing.
    pub(crate) snap: usize,
    /// Over how many threads the room is shared.
    pub(crate) share: usize,
}

/// A frame for the capture.
#[derive(Clone, Debug)]
pub(crate) struct CapturedFrame {
    /// When, ps.
    pub(crate) at: u64,
    /// The port whose link it crossed.
    pub(crate) port: PortId,
    pub(crate) direction: Direction,
    pub(crate) octets: Box<[u8]>,
    pub(crate) wire_len: u32,
}

/// What hostile or odd frames were met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Too short, or with a header that is cut off.
    pub malformed: u64,
    /// Longer than a link carries.
    pub oversize: u64,
    /// Signals that came from outside the domain: from a host.
    pub foreign_signals: u64,
    /// Signals that could not be read.
    pub unreadable_signals: u64,
    /// Signals for reaction points that are not there, or not for this host.
    pub stray_signals: u64,
    /// Signals beyond the rate at which they are processed.
    pub flooded_signals: u64,
    /// MAC control frames that are neither PAUSE nor PFC.
    pub odd_control: u64,
    /// Frames for a destination that no port is known for, which went nowhere.
    pub unknown_destination: u64,
    /// Frames from a host with the address of another node as their source.
    pub false_sources: u64,
    /// Announcements by LLDP that could not be read.
    pub unreadable_announcements: u64,
}

impl Refused {
    fn add(&mut self, other: Refused) {
        add_each!(
            self,
            other,
            Refused {
                malformed,
                oversize,
                foreign_signals,
                unreadable_signals,
                stray_signals,
                flooded_signals,
                odd_control,
                unknown_destination,
                false_sources,
                unreadable_announcements
            }
        );
    }

    /// The counters, by name.
    pub fn by_name(&self) -> [(&'static str, u64); 10] {
        [
            ("malformed", self.malformed),
            ("oversize", self.oversize),
            ("foreign_signals", self.foreign_signals),
            ("unreadable_signals", self.unreadable_signals),
            ("stray_signals", self.stray_signals),
            ("flooded_signals", self.flooded_signals),
            ("odd_control", self.odd_control),
            ("unknown_destination", self.unknown_destination),
            ("false_sources", self.false_sources),
            ("unreadable_announcements", self.unreadable_announcements),
        ]
    }
}

/// Frames and octets of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowCount {
    pub(crate) sent: u64,
    pub(crate) sent_octets: u64,
    pub(crate) delivered: u64,
    pub(crate) delivered_octets: u64,
    pub(crate) dropped: u64,
    pub(crate) refused: u64,
    /// When the last octet of a flow of datagrams with an end arrived, ps; 0 for not yet.
    pub(crate) finished: u64,
}

impl FlowCount {
    fn add(&mut self, other: FlowCount) {
        add_each!(
            self,
            other,
            FlowCount { sent, sent_octets, delivered, delivered_octets, dropped, refused, finished }
        );
    }
}

/// What one thread records.
#[derive(Debug, Default)]
pub(crate) struct Records {
    bin_ps: u64,
    throughput: BTreeMap<(u64, FlowId), u64>,
    drops: BTreeMap<(u64, PortId, FlowId), (u64, u64, u64)>,
    pub(crate) queues: QueueRows,
    pub(crate) rates: RateRows,
    pub(crate) windows: WindowRows,
    messages: MessageRows,
    pauses: PauseRows,
    pub(crate) counters: Counters,
    pub(crate) flows: IdVec<FlowId, FlowCount>,
    pub(crate) refused: Refused,
    pub(crate) points: Vec<PointTally>,
    /// Those of the thread's host.
    pub(crate) limiters: Vec<(LimiterId, LimiterTally)>,
    captured: Vec<CapturedFrame>,
    captured_octets: usize,
    /// Frames that found the capture full.
    pub(crate) not_captured: u64,
    /// Pauses that found the record of them full.
    pub(crate) pauses_not_recorded: u64,
    /// What ports came to that defend a domain.
    pub(crate) defences: Vec<DefenceEnd>,
    /// How far apart frames left their limiters.
    pub(crate) spacing: Spacing,
}

impl Records {
    pub(crate) fn new(bin_ps: u64, flows: usize) -> Records {
        Records { bin_ps: bin_ps.max(1), flows: vec![FlowCount::default(); flows].into(), ..Records::default() }
    }

    /// Forgets all rows; counters stay.
    pub(crate) fn forget_rows(&mut self) {
        self.throughput.clear();
        self.drops.clear();
        self.queues = QueueRows::default();
        self.rates = RateRows::default();
        self.windows = WindowRows::default();
        self.messages = MessageRows::default();
        self.pauses = PauseRows::default();
    }

    /// The start of the bin that holds an instant; a bin holds its end, not its start.
    fn bin(&self, at: u64) -> u64 {
        at.saturating_sub(1) / self.bin_ps * self.bin_ps
    }

    /// Octets of a flow left its last port at `at`, ps.
    pub(crate) fn on_last_link(&mut self, at: u64, flow: FlowId, octets: u64) {
        *self.throughput.entry((self.bin(at), flow)).or_default() += octets;
    }

    /// A frame of a flow was dropped at a port.
    pub(crate) fn on_drop(&mut self, at: u64, port: PortId, flow: FlowId, octets: u64) {
        let (last, frames, total) = self.drops.entry((self.bin(at), port, flow)).or_default();
        *last = at.max(*last);
        *frames += 1;
        *total += octets;
        self.flows[flow].dropped += 1;
    }

    /// A congestion point sent a signal.
    pub(crate) fn on_message(&mut self, at: u64, port: PortId, flow: FlowId, signal: Signal) {
        self.counters.messages_sent += 1;
        self.messages.time.push(at);
        self.messages.port.push(port.number());
        self.messages.flow.push(flow.number());
        self.messages.signal.push(signal);
    }

    /// A pause of a port is over; `because` is the port at the far end that it is put down to.
    pub(crate) fn on_pause(&mut self, start: u64, end: u64, port: PortId, class: Option<u8>, because: PortId) {
        if self.pauses.start.len() >= MOST_PAUSES {
            self.pauses_not_recorded += 1;
            return;
        }
        self.pauses.start.push(start);
        self.pauses.end.push(end);
        self.pauses.port.push(port.number());
        self.pauses.class.push(class);
        self.pauses.because.push(because.number());
    }

    /// A pause of one class is over; of eight that end together with a pause of the whole link, class 0 makes the one row.
    pub(crate) fn on_class_pause(
        &mut self,
        class: u8,
        whole_link: bool,
        (start, end): (u64, u64),
        port: PortId,
        because: PortId,
    ) {
        if !whole_link || class == 0 {
            self.on_pause(start, end, port, (!whole_link).then_some(class), because);
        }
    }

    /// Keeps the first octets of a frame for the capture, until that is full.
    pub(crate) fn capture(&mut self, at: u64, port: PortId, direction: Direction, octets: &[u8], capture: Capture) {
        if capture.snap == 0 {
            return;
        }
        let kept = &octets[..octets.len().min(capture.snap)];
        if self.captured_octets + kept.len() > MOST_CAPTURED / capture.share.max(1) {
            self.not_captured += 1;
            return;
        }
        self.captured_octets += kept.len() + size_of::<CapturedFrame>();
        let wire_len = octets.len() as u32;
        self.captured.push(CapturedFrame { at, port, direction, octets: kept.into(), wire_len });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_ends_when_it_is_full() {
        let mut records = Records::new(1, 0);
        for at in 0..10 {
            records.capture(
                at,
                PortId::new(0),
                Direction::Sent,
                &[0; 100],
                Capture { snap: 60, share: MOST_CAPTURED / 300 },
            );
        }
        assert!(records.captured.len() >= 2 && records.not_captured > 0);
        assert_eq!((records.captured[0].octets.len(), records.captured[0].wire_len), (60, 100));
    }
}
