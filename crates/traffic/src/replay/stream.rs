//! The frames of a capture as an engine replays them.

use super::ReplayFault;
use super::selection::SelectedFrames;
use super::survey::CaptureSurvey;
use qcnlab_sim::{ReplayError, ReplaySource, ReplayStream, ReplayedFrame};
use qcnlab_units::{Bytes, Instant, Span};
use std::collections::VecDeque;
use std::fs::File;
use std::sync::Arc;

/// Frames that are handed over at a time.
const BLOCK: usize = 1024;

/// When and how often frames are replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// What distances in time are multiplied by.
    time_scale: f64,
    /// What the octets of each flow are multiplied by, in millionths.
    rate_millionths: u64,
}

impl Pace {
    /// Returns the pace at which distances in time are multiplied by `time_scale` and octets of flows by `rate_scale`.
    pub fn new(time_scale: f64, rate_scale: f64) -> Pace {
        Pace { time_scale, rate_millionths: (rate_scale * 1e6).round() as u64 }
    }

    /// A time of the window as a time of the run, from the start of the traffic on.
    pub fn time(&self, since: Span) -> Span {
        since.scaled_rounded_down(self.time_scale)
    }

    /// The octets of a flow, at least 1.
    pub fn octets(&self, octets: u64) -> Bytes {
        let scaled = (u128::from(octets) * u128::from(self.rate_millionths) + 500_000) / 1_000_000;
        Bytes::new(u64::try_from(scaled).unwrap_or(u64::MAX).max(1))
    }
}

/// The frames of a capture, from `start` of the run on and before `until`.
#[derive(Debug)]
pub struct CaptureReplay {
    /// What the capture holds.
    pub survey: Arc<CaptureSurvey>,
    /// When and how often.
    pub pace: Pace,
    /// When its first frame goes.
    pub start: Instant,
    /// No frame goes from then on.
    pub until: Instant,
}

impl ReplaySource for CaptureReplay {
    fn open(&self) -> Result<Box<dyn ReplayStream>, ReplayError> {
        let file = self.survey.reopen();
        let frames = file.and_then(|file| SelectedFrames::new(file, &self.survey.selection));
        let CaptureReplay { survey, pace, start, until } = self;
        Ok(Box::new(Frames {
            frames: frames.map_err(|fault| error(&self.survey, &fault))?,
            survey: survey.clone(),
            pace: *pace,
            start: *start,
            until: *until,
            credits: vec![0; if pace.rate_millionths == MILLION { 0 } else { survey.flows.len() }],
        }))
    }
}

const MILLION: u64 = 1_000_000;

fn error(survey: &CaptureSurvey, fault: &ReplayFault) -> ReplayError {
    ReplayError { why: format!("{}: {fault}", survey.path.display()) }
}

struct Frames {
    frames: SelectedFrames<File>,
    survey: Arc<CaptureSurvey>,
    pace: Pace,
    start: Instant,
    until: Instant,
    /// Octets that each flow may send and has not sent, in millionths; empty if all frames are sent once.
    credits: Vec<u64>,
}

impl Frames {
    /// How often a frame is sent. A flow sends whole frames, so many that their octets are those of the capture times
    /// the scale, as nearly as whole frames allow: a frame is sent as often as the octets that the flow is behind hold
    /// it.
    fn times(&mut self, flow: u32, size: u64) -> u64 {
        let Some(credit) = self.credits.get_mut(flow as usize) else { return 1 };
        *credit += size * self.pace.rate_millionths;
        let one = size * MILLION;
        let times = *credit / one;
        *credit -= times * one;
        times
    }
}

impl ReplayStream for Frames {
    fn read_block(&mut self, block: &mut VecDeque<ReplayedFrame>) -> Result<(), ReplayError> {
        while block.len() < BLOCK {
            let frame = self.frames.next().map_err(|fault| error(&self.survey, &fault))?;
            let Some(frame) = frame else { return Ok(()) };
            let at = self.start + self.pace.time(frame.since);
            if at >= self.until {
                return Ok(());
            }
            let Some(flow) = self.survey.position(&frame.key) else {
                let why = format!("{}: frame {} is new", self.survey.path.display(), frame.number);
                return Err(ReplayError { why });
            };
            let size =
                u16::try_from(frame.size.get()).unwrap_or_else(|_| unreachable!("no frame is longer than `frame`"));
            for _ in 0..self.times(flow, size.into()) {
                block.push_back(ReplayedFrame { at, flow, size });
            }
        }
        Ok(())
    }
}
