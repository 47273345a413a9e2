//! Holds senders against the law of the reaction point.

mod event;
mod hypothesis;
mod interval;
mod judge;
mod reason;
mod spread;
mod unseen;

use event::{Event, Heard, Sent};
use hypothesis::Rules;
pub(super) use interval::Interval;
use judge::Judge;
pub(super) use judge::{Finding, Tally};
use reason::ReasonKind;

use super::decoding::decoded;
use super::error::ConformError;
use super::input::{SeenAt, Survey};
use super::law::QcnLaw;
use super::sequence::{FrameNumber, Sequences};
use super::tolerances::ConformOptions;
use super::variants::{Variant, narrower_spread_variants, reaction_point_variants};
use super::window::takes;
use qcnlab_capture::{CapturedFrame, Direction, InterfaceId};
use qcnlab_capture::{FrameKind, Header};
use qcnlab_units::BitRate;
use qcnlab_wire::{MacAddress, MacControl, Payload};
use std::collections::HashMap;
use std::path::Path;

/// A reaction point, as a capture tells it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RpKey {
    pub(super) sender: MacAddress,
    pub(super) priority: u8,
    pub(super) rpid: Option<u16>,
}

/// What a reaction point came to.
pub(super) struct RpResult {
    pub(super) key: RpKey,
    pub(super) interface: String,
    pub(super) tally: Tally,
    pub(super) finding: Finding,
    /// Whether it filled the link all along.
    pub(super) never_slowed: bool,
    pub(super) intervals: Vec<Interval>,
    pub(super) left_out: u64,
    /// Each parameter set, and what it came to.
    pub(super) fits: Vec<(String, Finding)>,
    /// Single changes under which the whole capture conforms.
    pub(super) explained_by: Vec<Variant>,
}

/// All reaction points of a capture.
pub(super) struct RpResults {
    pub(super) survey: Survey,
    pub(super) law: QcnLaw,
    pub(super) points: Vec<RpResult>,
    /// CNMs that belong to none of them, and those that cannot be read.
    pub(super) unattributed: u64,
    pub(super) malformed: u64,
}

/// Reaction points that are followed.
const MOST: usize = 4096;

/// One reading of the capture: each reaction point with its judges.
struct RpReading<'a> {
    survey: &'a Survey,
    options: &'a ConformOptions,
    /// The interface beside each sender.
    beside: HashMap<MacAddress, InterfaceId>,
    /// When the last frame of each interface ended, and whose it was.
    link: HashMap<InterfaceId, (i64, RpKey)>,
    sequences: Sequences,
    paused_until: i64,
    judges: HashMap<RpKey, Vec<Judge>>,
    order: Vec<RpKey>,
    unattributed: u64,
    malformed: u64,
}

impl RpReading<'_> {
    fn run(&mut self, file: &Path, make: &mut dyn FnMut(RpKey, BitRate) -> Vec<Judge>) -> Result<(), ConformError> {
        let mut reader = self.survey.frames(file)?;
        while let Some(frame) = reader.next_frame()? {
            self.frame(&frame, make)?;
        }
        Ok(())
    }

    fn frame(
        &mut self,
        frame: &CapturedFrame<'_>,
        make: &mut dyn FnMut(RpKey, BitRate) -> Vec<Judge>,
    ) -> Result<(), ConformError> {
        let header = Header::of(frame)?;
        let stamp = self.survey.stamp(frame)?;
        match header.kind() {
            FrameKind::Data => {
                if self.beside.get(&header.source) != Some(&frame.interface)
                    || frame.direction == Some(Direction::Received)
                {
                    return Ok(());
                }
                let key = RpKey { sender: header.source, priority: header.priority(), rpid: header.rpid };
                let line = self.survey.rate(frame.interface, self.options.rate)?;
                if !self.judges.contains_key(&key) {
                    if self.order.len() == MOST {
                        return Err(ConformError::TooMany { what: "reaction points", limit: MOST });
                    }
                    self.order.push(key);
                    self.judges.insert(key, make(key, line));
                }
                let occupied = match self.link.insert(frame.interface, (stamp, key)) {
                    Some((until, other)) if other != key => until + takes(24.0, line) as i64 + self.survey.resolution,
                    _ => i64::MIN,
                };
                let busy = occupied.max(self.paused_until) + self.options.tolerances.stamps.ps() as i64;
                let number = FrameNumber::of(&frame.octets[header.msdu..]);
                let missing = number.map(|number| self.sequences.missing(number));
                let sent = Sent { number: frame.number, stamp, size: frame.wire_len, busy, missing };
                for judge in self.judges.get_mut(&key).into_iter().flatten() {
                    judge.take(Event::Frame(sent));
                }
            }
            FrameKind::Cnm => self.cnm(frame, &header, stamp)?,
            FrameKind::MacControl => self.pause(frame, stamp)?,
            FrameKind::Other => {}
        }
        Ok(())
    }

    fn cnm(&mut self, frame: &CapturedFrame<'_>, header: &Header, stamp: i64) -> Result<(), ConformError> {
        if self.beside.get(&header.destination) != Some(&frame.interface) || frame.direction == Some(Direction::Sent) {
            return Ok(());
        }
        let Some(decoded) = decoded(frame)? else {
            self.malformed += 1;
            return Ok(());
        };
        let Payload::Cnm(cnm) = decoded.payload else { return Ok(()) };
        let exact = RpKey { sender: header.destination, priority: cnm.priority, rpid: header.rpid };
        let key =
            if self.judges.contains_key(&exact) { Some(exact) } else { self.only(header.destination, cnm.priority) };
        let Some(key) = key else {
            self.unattributed += 1;
            return Ok(());
        };
        let heard = Heard { frame: frame.number, stamp, fb: cnm.quantized_fb.get(), offset: cnm.q_offset.0 };
        for judge in self.judges.get_mut(&key).into_iter().flatten() {
            judge.take(Event::Cnm(heard));
        }
        Ok(())
    }

    /// The only reaction point of a sender's priority: a CNM whose tag was stripped is for it.
    fn only(&self, sender: MacAddress, priority: u8) -> Option<RpKey> {
        let mut all = self.order.iter().filter(|key| key.sender == sender && key.priority == priority);
        let first = all.next()?;
        all.next().is_none().then_some(*first)
    }

    /// Any pause excuses frames that are late until it is over: which sender it stops is not known.
    fn pause(&mut self, frame: &CapturedFrame<'_>, stamp: i64) -> Result<(), ConformError> {
        let Some(decoded) = decoded(frame)? else { return Ok(()) };
        let Payload::MacControl(control) = decoded.payload else { return Ok(()) };
        let quanta = match control {
            MacControl::Pause(pause) => pause.time.0,
            MacControl::Pfc(pfc) => (0..8).filter_map(|class| pfc.time(class)).map(|time| time.0).max().unwrap_or(0),
            MacControl::Other { .. } => 0,
        };
        let line = self.survey.rate(frame.interface, self.options.rate)?;
        let until = stamp + (f64::from(quanta) * 64.0 * 8e12 / line.as_f64()) as i64;
        self.paused_until = self.paused_until.max(until);
        Ok(())
    }
}

/// Judges every reaction point of a capture by the law, by each parameter set, and by single changes of the law.
pub(super) fn judge(file: &Path, options: &ConformOptions) -> Result<RpResults, ConformError> {
    judge_by_laws(file, options, QcnLaw::presets())
}

/// Judges every reaction point of a capture by the law alone.
pub(super) fn judge_by_law(file: &Path, options: &ConformOptions) -> Result<RpResults, ConformError> {
    judge_by_laws(file, options, Vec::new())
}

fn judge_by_laws(file: &Path, options: &ConformOptions, others: Vec<QcnLaw>) -> Result<RpResults, ConformError> {
    let law = QcnLaw::of(options)?.with_known_timers()?;
    let survey = Survey::of(file, options)?;
    let only = options.interface.as_deref().map(|name| survey.called(name)).transpose()?;
    let beside: HashMap<MacAddress, InterfaceId> = survey
        .senders
        .iter()
        .filter_map(|(sender, seen)| Some((*sender, seen.beside()?)))
        .filter(|(_, id)| only.is_none_or(|only| only == *id))
        .collect();
    let ours = survey.is_ours();
    let alone = others.is_empty();
    let followed = others.into_iter().filter_map(|other| other.with_known_timers().ok());
    let presets: Vec<QcnLaw> = followed.filter(|other| other.rp != law.rp).collect();
    let judge_by = |law: &QcnLaw, sender: MacAddress, line: BitRate| {
        let mut rules = Rules::new(law, &options.tolerances, ours, line, survey.resolution);
        rules.uncaptured = options.tolerances.uncaptured_for(survey.shows_all_octets());
        rules.backlogged = options.backlogged;
        rules.starts_free = options.starts_free;
        rules.loss = survey.loss;
        rules.cnms = survey.senders.get(&sender).map_or(0, SeenAt::cnms);
        Judge::new(rules)
    };
    let pass = || RpReading {
        survey: &survey,
        options,
        beside: beside.clone(),
        link: HashMap::new(),
        sequences: Sequences::default(),
        paused_until: i64::MIN / 4,
        judges: HashMap::new(),
        order: Vec::new(),
        unattributed: 0,
        malformed: 0,
    };
    let mut first = pass();
    first.run(file, &mut |key, line| {
        std::iter::once(&law).chain(&presets).map(|law| judge_by(law, key.sender, line)).collect()
    })?;
    let (unattributed, malformed) = (first.unattributed, first.malformed);
    let mut points = Vec::new();
    for key in &first.order {
        let Some(mut judges) = first.judges.remove(key) else { continue };
        let never_slowed = judges.first().is_some_and(Judge::never_slowed);
        let mut findings = judges.iter_mut().map(|judge| (judge.finish(), judge.tally()));
        let Some(((finding, intervals, left_out), tally)) = findings.next() else { continue };
        let others: Vec<Finding> = findings.map(|((finding, _, _), _)| finding).collect();
        let mut fits = vec![(law.name.clone(), finding.clone())];
        fits.extend(presets.iter().map(|law| law.name.clone()).zip(others));
        let interface = beside.get(&key.sender).map_or(String::new(), |id| survey.name(*id));
        points.push(RpResult {
            key: *key,
            interface,
            tally,
            finding,
            never_slowed,
            intervals,
            left_out,
            fits,
            explained_by: Vec::new(),
        });
    }
    // Which single change explains the first violation is asked by reading the capture again.
    let broken = points.iter_mut().filter_map(|point| match &point.finding {
        Finding::Breaks(breach) => Some((breach.stamp, breach.reason.clone(), point)),
        Finding::Conforms | Finding::NotDecidable(_) => None,
    });
    if let Some((_, reason, point)) = broken.min_by_key(|(stamp, _, _)| *stamp).filter(|_| !alone) {
        // Of a spread that is too narrow only another spread is the reason.
        let variants = match reason.kind {
            ReasonKind::Spread => narrower_spread_variants(&law),
            _ => reaction_point_variants(&law, &reason.measured),
        };
        let mut again = pass();
        let key = point.key;
        again.run(file, &mut |other, line| {
            if other != key {
                return Vec::new();
            }
            let with = |variant: &Variant| {
                let mut judge = judge_by(&variant.law, key.sender, line);
                judge.rules.quirk = variant.quirk;
                judge
            };
            variants.iter().map(with).collect()
        })?;
        let judges = again.judges.remove(&key).unwrap_or_default();
        point.explained_by = variants
            .into_iter()
            .zip(judges)
            .filter_map(|(variant, mut judge)| matches!(judge.finish().0, Finding::Conforms).then_some(variant))
            .collect();
    }
    Ok(RpResults { law, points, unattributed, malformed, survey })
}
