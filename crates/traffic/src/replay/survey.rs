//! What a capture holds, found before the run.

use super::ReplayFault;
use super::flow_key::FlowKey;
use super::selection::{OutOfOrder, PassedOver, SelectedFrames, Selection};
use crate::address::Address;
use crate::files;
use hmac_sha256::Hash;
use qcnlab_capture::InterfaceId;
use qcnlab_units::Span;
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Flows of one capture.
const MOST_FLOWS: usize = 1_000_000;
/// Surveys that are kept, so that changing a key of a scenario does not read its capture again.
const MOST_KEPT: usize = 4;

static KEPT: Mutex<Vec<Arc<CaptureSurvey>>> = Mutex::new(Vec::new());

/// What a capture holds for a scenario.
#[derive(Debug)]
pub struct CaptureSurvey {
    pub(crate) selection: Selection,
    /// The file, as the system knows it.
    pub path: PathBuf,
    stamp: FileStamp,
    /// 64 hexadecimal digits over the whole file.
    pub sha256: String,
    /// Octets of the file.
    pub file_octets: u64,
    /// Frames that were read: all up to the end of the window.
    pub frames_read: u64,
    /// Frames that are not replayed.
    pub passed: PassedOver,
    /// Frames whose stamps go back.
    pub out_of_order: OutOfOrder,
    /// In the order of their first frames.
    pub flows: Vec<CapturedFlow>,
    index: HashMap<FlowKey, u32>,
}

/// A flow of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedFlow {
    /// Who sends.
    pub from: Address,
    /// Who receives.
    pub to: Address,
    /// Its priority, where frames keep theirs.
    pub class: Option<u8>,
    /// The number of its first frame.
    pub(crate) first_frame: u64,
    /// When its first frame goes, from the start of the window on.
    pub first: Span,
    /// When its last frame goes, from the start of the window on.
    pub last: Span,
    pub(crate) frames: u64,
    /// The octets of all its frames.
    pub octets: u64,
}

/// Size and time of a file: another stamp is another content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    octets: u64,
    modified: Option<SystemTime>,
}

impl FileStamp {
    fn of(metadata: &Metadata) -> FileStamp {
        FileStamp { octets: metadata.len(), modified: metadata.modified().ok() }
    }
}

impl CaptureSurvey {
    /// Reads a capture from its first octet to its last.
    pub fn of(path: &Path, selection: &Selection) -> Result<Arc<CaptureSurvey>, ReplayFault> {
        let (file, path, stamp) = open(path)?;
        let same =
            |known: &&Arc<CaptureSurvey>| known.path == path && known.stamp == stamp && known.selection == *selection;
        let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept().iter().find(same) {
            return Ok(known.clone());
        }
        let survey = Arc::new(CaptureSurvey::read(file, path, stamp, selection, MOST_FLOWS)?);
        let mut kept = kept();
        if kept.len() == MOST_KEPT {
            kept.remove(0);
        }
        kept.push(survey.clone());
        Ok(survey)
    }

    fn read(
        reader: impl Read,
        path: PathBuf,
        stamp: FileStamp,
        selection: &Selection,
        most_flows: usize,
    ) -> Result<CaptureSurvey, ReplayFault> {
        let mut reader = Hashed { reader, digest: Hash::new() };
        let mut frames = SelectedFrames::new(&mut reader, selection)?;
        let (mut flows, mut index) = (Vec::new(), HashMap::new());
        let mut seen_at: Vec<InterfaceId> = Vec::new();
        while let Some(frame) = frames.next()? {
            let flow = *index.entry(frame.key).or_insert(flows.len() as u32) as usize;
            if flow == flows.len() {
                if flow == most_flows {
                    return Err(ReplayFault::TooManyFlows { frame: frame.number, most: most_flows });
                }
                seen_at.push(frame.interface);
                let FlowKey { from, to, class, .. } = frame.key;
                let (first, first_frame) = (frame.since, frame.number);
                flows.push(CapturedFlow { from, to, class, first_frame, first, last: first, frames: 0, octets: 0 });
            } else if seen_at[flow] != frame.interface && selection.takes_all_interfaces() {
                let [first, second] = [seen_at[flow], frame.interface].map(|id| frames.name(id));
                return Err(ReplayFault::SeenTwice { frame: frame.number, first, second });
            }
            let flow = &mut flows[flow];
            flow.last = frame.since;
            flow.frames += 1;
            flow.octets += frame.size.get();
        }
        let (frames_read, passed, out_of_order) = (frames.reader.frames(), frames.passed, frames.out_of_order);
        if flows.is_empty() {
            let words = passed.words();
            let passed = if words.is_empty() { "it has none".to_owned() } else { words.join(", ") };
            return Err(ReplayFault::Nothing { frames: frames_read, passed });
        }
        let (sha256, file_octets) = (reader.finish()?, stamp.octets);
        let selection = selection.clone();
        Ok(CaptureSurvey {
            selection,
            path,
            stamp,
            sha256,
            file_octets,
            frames_read,
            passed,
            out_of_order,
            flows,
            index,
        })
    }

    /// Surveys what a reader gives.
    #[cfg(test)]
    pub(super) fn with_limit(
        reader: impl Read,
        selection: &Selection,
        most_flows: usize,
    ) -> Result<CaptureSurvey, ReplayFault> {
        let stamp = FileStamp { octets: 0, modified: None };
        CaptureSurvey::read(reader, PathBuf::new(), stamp, selection, most_flows)
    }

    /// Opens the file again, if it is still what was surveyed.
    pub(super) fn reopen(&self) -> Result<File, ReplayFault> {
        let (file, _, stamp) = open(&self.path)?;
        if stamp == self.stamp {
            return Ok(file);
        }
        let what = "the file is another than when the scenario was read".to_owned();
        Err(ReplayFault::Capture { what, whole_until: None })
    }

    /// The position of a flow among [`CaptureSurvey::flows`].
    pub(super) fn position(&self, key: &FlowKey) -> Option<u32> {
        self.index.get(key).copied()
    }

    /// Frames that are replayed.
    pub fn frames(&self) -> u64 {
        self.flows.iter().map(|flow| flow.frames).sum()
    }

    /// Octets that are replayed.
    pub fn octets(&self) -> u64 {
        self.flows.iter().map(|flow| flow.octets).sum()
    }

    /// Times of the first and the last frame that are replayed, from the start of the window on.
    pub fn ends(&self) -> (Span, Span) {
        let first = self.flows.first().map_or(Span::ZERO, |flow| flow.first);
        (first, self.flows.iter().map(|flow| flow.last).max().unwrap_or(first))
    }
}

/// Two surveys of the same octets that ask the same are equal.
impl PartialEq for CaptureSurvey {
    fn eq(&self, other: &CaptureSurvey) -> bool {
        self.sha256 == other.sha256 && self.selection == other.selection
    }
}

/// Opens a capture: the file, its path without links and dots, and its stamp.
fn open(path: &Path) -> Result<(File, PathBuf, FileStamp), ReplayFault> {
    let cannot = |error: io::Error| ReplayFault::Open { why: error.to_string() };
    let path = path.canonicalize().map_err(cannot)?;
    if !path.metadata().map_err(cannot)?.is_file() {
        return Err(ReplayFault::NotAFile);
    }
    let file = files::open(&path).map_err(cannot)?;
    let stamp = FileStamp::of(&file.metadata().map_err(cannot)?);
    Ok((file, path, stamp))
}

/// A reader that takes the digest of what it reads.
struct Hashed<R> {
    reader: R,
    digest: Hash,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(out)?;
        self.digest.update(&out[..read]);
        Ok(read)
    }
}

impl<R: Read> Hashed<R> {
    /// Reads what is left, and returns the digest as hexadecimal digits.
    fn finish(mut self) -> Result<String, ReplayFault> {
        let rest = io::copy(&mut self, &mut io::sink());
        rest.map_err(|error| ReplayFault::Open { why: error.to_string() })?;
        Ok(self.digest.finalize().iter().map(|octet| format!("{octet:02x}")).collect())
    }
}
