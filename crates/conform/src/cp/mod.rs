//! Holds a congestion point against its law: data frames that come to a port and leave it, and the CNMs it sends.

mod fields;
mod judge;
mod missing;
mod ports;
mod queue;

pub(super) use fields::FIELDS;
pub(super) use judge::{CpBreach, SampleRow};

use super::decoding;
use super::error::ConformError;
use super::input::Survey;
use super::law::QcnLaw;
use super::sampled_at;
use super::sequence::{FrameNumber, Loss, Sequences};
use super::tolerances::ConformOptions;
use super::variants::{CpVariant, congestion_point_variants};
use fields::FieldJudge;
use judge::{CpJudge, CpKind, Forgiven, Sample};
use missing::{HeardAtSenders, SendersTell, may_be_missing};
use ports::{CongestionPointId, PortLinks, SeenCpid, candidates, loss, ports};
use qcnlab_capture::{CapturedFrame, Direction, InterfaceId};
use qcnlab_capture::{FrameKind, Header};
use qcnlab_wire::{Cpid, MacAddress, Payload};
use queue::{Arrived, Departures, PortQueue, Queued, Quoted};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};
use std::path::Path;

/// What a congestion point came to.
pub(super) struct CpResults {
    pub(super) survey: Survey,
    pub(super) law: QcnLaw,
    pub(super) interface: String,
    pub(super) arrivals_from: Vec<String>,
    pub(super) cpid: Option<Cpid>,
    pub(super) frames: u64,
    pub(super) cnms: u64,
    /// CNMs that quote no frame that came to this port.
    pub(super) unlocated: u64,
    /// CNMs of other congestion points.
    pub(super) others: u64,
    pub(super) lost: u64,
    pub(super) loss: Loss,
    /// Samples whose CNM is missing.
    pub(super) missing: u64,
    pub(super) unmatched: u64,
    pub(super) checked: u64,
    pub(super) breach: Option<CpBreach>,
    pub(super) rows: Vec<SampleRow>,
    pub(super) rows_left_out: u64,
    pub(super) fits: Vec<(String, Option<CpBreach>)>,
    pub(super) explained_by: Vec<CpVariant>,
    pub(super) not_decidable: Option<String>,
}

/// CNMs without which nothing is decided.
const DECIDING: u64 = 3;
/// CNMs wait so long, ps, for those that overtook them on other ports.
const OVERTAKING: i64 = 20_000_000_000;
/// No queue holds a frame for longer than this, ps.
const LONGEST_QUEUE: i64 = 5_000_000_000_000;
/// How long, ps, a CNM may take from its sample to a captured link.
const UNDER_WAY: i64 = 1_000_000_000;
/// Arrivals that a CNM may quote.
const QUOTABLE: usize = 1 << 16;

/// What is put into order of time.
enum PortEvent {
    Arrive(Arrived),
    Depart(Arrived),
}

/// A CNM that waits for the frame it quotes.
#[derive(Clone, Copy)]
struct Told {
    sample: Sample,
    destination: MacAddress,
    quoted: Quoted,
}

struct CpReading {
    /// Octets of each frame that the capture does not show and the port counts.
    uncaptured: i64,
    queue: PortQueue,
    judges: Vec<CpJudge>,
    steps: BinaryHeap<Reverse<(i64, u8, u64)>>,
    /// The steps in the heap, by number.
    kept: HashMap<u64, PortEvent>,
    number: u64,
    /// Arrivals with their queues that no judge has seen yet.
    queued: VecDeque<Queued>,
    /// When the last of them came.
    settled: i64,
    told: VecDeque<Told>,
    cpid: BTreeMap<Cpid, SeenCpid>,
    /// The port's own, where it is known.
    own: Option<CongestionPointId>,
    /// CNMs of other congestion points.
    others: u64,
    heard: VecDeque<(i64, u64, InterfaceId)>,
    at_senders: HeardAtSenders,
    /// Who sends to the port over captured links, and the numbers of their frames.
    senders: HashSet<MacAddress>,
    sequences: Sequences,
    frames: u64,
    cnms: u64,
    unlocated: u64,
    fields: FieldJudge,
    /// The last stamp.
    end: i64,
}

/// Judges the congestion point of a port.
pub(super) fn judge(file: &Path, options: &ConformOptions) -> Result<CpResults, ConformError> {
    let law = QcnLaw::of(options)?;
    let survey = Survey::of(file, options)?;
    let ports = ports(&survey, options)?;
    let presets: Vec<QcnLaw> = distinct(QcnLaw::presets(), &law);
    let before = read(file, &survey, &ports, options, (None, None), Vec::new())?;
    // CNMs of several bridges may quote frames that come to the port; its own fit its queue.
    let mut own: Option<(u64, CongestionPointId)> = None;
    let all = candidates(&before.cpid);
    for id in &all {
        let fits = if all.len() == 1 { 1 } else { fitting(file, &survey, &ports, options, (&law, *id))? };
        if own.is_none_or(|(best, _)| fits > best) {
            own = Some((fits, *id));
        }
    }
    let none_fits = own.is_some_and(|(fits, _)| fits == 0);
    let own = own.map(|(_, id)| id);
    let heard_alone = own.and_then(|id| before.at_senders.alone.get(&id.cpid).copied()).unwrap_or(0);
    let (loss, room) = loss(&survey, &before.queue, (before.cnms, heard_alone));
    let likely = (loss.rate() > 0.0).then(|| loss.most_of(before.cnms));
    let forgiven = Forgiven { queue: options.tolerances.queue.signed(), jitter: options.tolerances.jitter, likely };
    let judges: Vec<CpJudge> = std::iter::once(&law).chain(&presets).map(|law| CpJudge::new(law, forgiven)).collect();
    let first = read(file, &survey, &ports, options, (room, own), judges)?;
    // A field is wrong whatever the queue was.
    let field = first.fields.breach.clone();
    let several = none_fits.then(|| {
        let cpids: Vec<String> = all.iter().map(|id| id.cpid.to_string()).collect();
        format!(
            "CNMs of several congestion points quote frames that came to it, and none fits its queue: {}",
            cpids.join(", ")
        )
    });
    let mut not_decidable =
        several.or_else(|| why_not(&first, &ports, &survey)).filter(|_| field.is_none() || none_fits);
    let CpReading { cnms, senders, judges, .. } = &first;
    let missed =
        judges.first().and_then(|judge| judge.breach.as_ref().or(judge.overdue.as_ref().filter(|_| *cnms == 0)));
    let mut breach = judges.first().and_then(|judge| judge.breach.clone());
    let mut excused = None;
    if let Some(missed) = missed.filter(|missed| may_be_missing(missed.kind)) {
        let tell = SendersTell::of(file, options, &survey, senders);
        if *cnms == 0 {
            // A port that sends none at all, to senders whose messages the capture would show.
            if not_decidable.is_some() && tell.never_slowed && survey.shows_what_senders_hear() {
                (breach, not_decidable) = (Some(missed.clone()), None);
            }
        } else if not_decidable.is_none() {
            let lenient = Forgiven { likely: Some(u64::MAX), ..forgiven };
            let again = read(file, &survey, &ports, options, (room, own), vec![CpJudge::new(&law, lenient)])?;
            if let Some(judge) = again.judges.into_iter().next()
                && let Some(excuse) = tell.excuse(judge.missing, *cnms, heard_alone)
            {
                // What is wrong whatever messages are missing is told instead.
                not_decidable = judge.breach.is_none().then_some(excuse);
                breach.clone_from(&judge.breach);
                excused = Some(judge);
            }
        }
    }
    let mut judges = first.judges.into_iter();
    let main = judges.next();
    let main = excused.or(main);
    let checked = main.as_ref().map_or(0, |judge| judge.checked);
    let mut fits = vec![(law.name.clone(), breach.clone())];
    fits.extend(presets.iter().map(|law| law.name.clone()).zip(judges.map(|judge| judge.breach)));
    let mut explained_by = Vec::new();
    if breach.is_some() {
        let variants = congestion_point_variants(&law);
        let with = |variant: &CpVariant| {
            let mut judge = CpJudge::new(&variant.law, forgiven);
            judge.quirk = variant.quirk;
            judge
        };
        let again = read(file, &survey, &ports, options, (room, own), variants.iter().map(with).collect())?;
        let judged = variants.into_iter().zip(again.judges);
        explained_by = judged.filter(|(_, judge)| judge.breach.is_none()).map(|(variant, _)| variant).collect();
    }
    let mut inputs: Vec<InterfaceId> = ports.inputs.keys().copied().collect();
    inputs.sort_unstable();
    let missing = main.as_ref().map_or(0, |judge| judge.missing);
    let (rows, rows_left_out) = main.map_or((Vec::new(), 0), |judge| (judge.rows, judge.rows_left_out));
    if let Some(field) = field {
        // A message that cannot be read is the sample that is missed.
        let earlier = |breach: &Option<CpBreach>| {
            let later = |other: &CpBreach| field.frame < other.frame || other.kind == CpKind::SampleMissed;
            breach.as_ref().is_none_or(later)
        };
        for (_, breach) in &mut fits {
            if earlier(breach) {
                *breach = Some(field.clone());
            }
        }
        if earlier(&breach) {
            breach = Some(field);
            explained_by.clear();
        }
    }
    Ok(CpResults {
        interface: survey.name(ports.port),
        arrivals_from: inputs.into_iter().map(|id| survey.name(id)).collect(),
        cpid: own.map(|id| id.cpid),
        frames: first.frames,
        cnms: first.cnms,
        unlocated: first.unlocated,
        others: first.others,
        lost: first.queue.lost,
        loss,
        missing,
        unmatched: first.queue.unmatched,
        checked,
        breach,
        rows,
        rows_left_out,
        fits,
        explained_by,
        not_decidable,
        survey,
        law,
    })
}

/// How many CNMs of a congestion point fit the queue of the port, up to the first that does not.
fn fitting(
    file: &Path,
    survey: &Survey,
    ports: &PortLinks,
    options: &ConformOptions,
    (law, id): (&QcnLaw, CongestionPointId),
) -> Result<u64, ConformError> {
    let forgiven = Forgiven {
        queue: options.tolerances.queue.signed(),
        jitter: options.tolerances.jitter,
        likely: Some(u64::MAX),
    };
    let pass = read(file, survey, ports, options, (None, Some(id)), vec![CpJudge::new(law, forgiven)])?;
    Ok(pass.judges.first().map_or(0, |judge| judge.checked))
}

fn distinct(all: Vec<QcnLaw>, but: &QcnLaw) -> Vec<QcnLaw> {
    let mut kept: Vec<QcnLaw> = Vec::new();
    for law in all {
        if law.cp != but.cp && kept.iter().all(|other| other.cp != law.cp) {
            kept.push(law);
        }
    }
    kept
}

fn why_not(pass: &CpReading, ports: &PortLinks, survey: &Survey) -> Option<String> {
    let port = survey.name(ports.port);
    if pass.cnms == 0 {
        return Some(format!("the capture has no CNM of port {port}"));
    }
    if ports.inputs.is_empty() || pass.frames == 0 {
        return Some(format!(
            "no frames that come to the queue of {port} are captured, so it cannot be reconstructed; capture the \
             links that lead to it too"
        ));
    }
    if pass.queue.unmatched > pass.frames / 1000 {
        return Some(format!(
            "{} frames left {port} that never came to it in the capture; capture all links that lead to it",
            pass.queue.unmatched
        ));
    }
    if pass.unlocated * 2 > pass.cnms {
        return Some(format!(
            "{} of {} CNMs quote a frame that did not come to {port} in the capture",
            pass.unlocated, pass.cnms
        ));
    }
    let checked = pass.judges.first().map_or(0, |judge| judge.checked);
    let broken = pass.judges.first().is_some_and(|judge| judge.breach.is_some());
    (checked < DECIDING && !broken)
        .then(|| format!("only {checked} samples could be checked; {DECIDING} are the least"))
}

fn read(
    file: &Path,
    survey: &Survey,
    ports: &PortLinks,
    options: &ConformOptions,
    (room, own): (Option<i64>, Option<CongestionPointId>),
    judges: Vec<CpJudge>,
) -> Result<CpReading, ConformError> {
    let captured = survey.destinations.contains_key(&ports.port);
    let departures = if captured {
        Departures::Captured
    } else {
        let rate = survey.rate(ports.port, options.rate)?;
        Departures::Computed { rate, buffer: options.buffer.map(|buffer| buffer.signed()), free_at: 0.0 }
    };
    let close = 2 * (options.tolerances.stamps.ps() as i64 + survey.resolution);
    let mut pass = CpReading {
        uncaptured: options.tolerances.uncaptured_for(survey.shows_all_octets()) as i64,
        queue: PortQueue::new(departures, close).with_room(room),
        judges,
        steps: BinaryHeap::new(),
        kept: HashMap::new(),
        number: 0,
        queued: VecDeque::new(),
        settled: i64::MIN,
        told: VecDeque::new(),
        cpid: BTreeMap::new(),
        own,
        others: 0,
        heard: VecDeque::new(),
        at_senders: HeardAtSenders::default(),
        senders: HashSet::new(),
        sequences: Sequences::default(),
        frames: 0,
        cnms: 0,
        unlocated: 0,
        fields: FieldJudge::default(),
        end: 0,
    };
    let mut reader = survey.frames(file)?;
    let mut now = i64::MIN;
    while let Some(frame) = reader.next_frame()? {
        let stamp = survey.stamp(&frame)?;
        now = now.max(stamp);
        pass.frame(&frame, stamp, survey, ports)?;
        pass.settle(now, false);
    }
    pass.end = now;
    pass.at_senders.settle(i64::MAX);
    pass.settle(i64::MAX / 2, true);
    Ok(pass)
}

impl CpReading {
    fn frame(
        &mut self,
        frame: &CapturedFrame<'_>,
        stamp: i64,
        survey: &Survey,
        ports: &PortLinks,
    ) -> Result<(), ConformError> {
        let header = Header::of(frame)?;
        match header.kind() {
            FrameKind::Data => {
                let came_in = frame.direction == Some(Direction::Received);
                let quoted = Quoted::new(&frame.octets[header.msdu..]);
                let passed = |at: i64| Arrived {
                    frame: frame.number,
                    at,
                    size: i64::from(frame.wire_len) + self.uncaptured,
                    source: header.source,
                    destination: header.destination,
                    rpid: header.rpid,
                    quoted,
                    interface: frame.interface.0,
                    missing: 0,
                    unseen: false,
                };
                if frame.interface == ports.port && !came_in {
                    self.push(stamp, 0, PortEvent::Depart(passed(stamp)));
                } else if let Some(delay) = ports.inputs.get(&frame.interface)
                    && came_in == ports.received
                    && (ports.destinations.is_empty() || ports.destinations.contains(&header.destination))
                {
                    self.frames += 1;
                    let at = stamp + delay;
                    let number = FrameNumber::of(&frame.octets[header.msdu..]);
                    let missing = number.map_or(0, |number| self.sequences.missing(number));
                    self.senders.insert(header.source);
                    let arrived = Arrived { missing, ..passed(at) };
                    self.push(at, 1, PortEvent::Arrive(arrived));
                }
            }
            FrameKind::Cnm if frame.direction != Some(Direction::Received) => {
                self.cnm(frame, &header, stamp, survey, ports)?
            }
            FrameKind::Cnm => {
                if let Ok(decoded) = decoding::read(frame)?
                    && let Payload::Cnm(cnm) = decoded.payload
                {
                    self.at_senders.take(stamp, &cnm, true);
                    self.at_senders.settle(stamp - OVERTAKING);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn push(&mut self, at: i64, order: u8, step: PortEvent) {
        self.steps.push(Reverse((at, order, self.number)));
        self.kept.insert(self.number, step);
        self.number += 1;
    }

    fn cnm(
        &mut self,
        frame: &CapturedFrame<'_>,
        header: &Header,
        stamp: i64,
        survey: &Survey,
        ports: &PortLinks,
    ) -> Result<(), ConformError> {
        // Our captures say which port sampled.
        if let Some(name) = sampled_at(frame.comment)
            && survey.called(name).is_ok_and(|id| id != ports.port)
        {
            return Ok(());
        }
        let decoded = match decoding::read(frame)? {
            Ok(decoded) => decoded,
            Err(why) => {
                self.fields.malformed(frame.number, stamp, &why);
                return Ok(());
            }
        };
        let Payload::Cnm(cnm) = decoded.payload else { return Ok(()) };
        self.at_senders.take(stamp, &cnm, false);
        self.at_senders.settle(stamp - OVERTAKING);
        // On its way it may cross several captured links.
        let content = {
            use std::hash::{DefaultHasher, Hash, Hasher};
            let mut hasher = DefaultHasher::new();
            (cnm, header.destination.0).hash(&mut hasher);
            hasher.finish()
        };
        while self.heard.front().is_some_and(|(at, _, _)| stamp - at > OVERTAKING) {
            self.heard.pop_front();
        }
        if self.heard.iter().any(|(_, other, at)| *other == content && *at != frame.interface) {
            return Ok(());
        }
        self.heard.push_back((stamp, content, frame.interface));
        // One that quotes a frame on its way to where this port does not lead is of another port of the bridge.
        let leads_there = ports.destinations.is_empty() || ports.destinations.contains(&cnm.destination);
        if !leads_there && ports.elsewhere.contains(&cnm.destination) {
            self.others += 1;
            return Ok(());
        }
        self.cnms += 1;
        let seen = SeenCpid { source: header.source, first: frame.number, count: 0 };
        self.cpid.entry(cnm.cpid).or_insert(seen).count += 1;
        if let Some(own) = self.own.filter(|own| own.cpid != cnm.cpid) {
            if own.bridge != header.source {
                // Of another bridge on the way.
                self.others += 1;
                self.cnms -= 1;
                return Ok(());
            }
            self.fields.cpid(frame.number, stamp, (cnm.cpid, own.cpid));
        }
        self.fields.message(frame.number, stamp, header, &cnm);
        let sample = Sample {
            cnm: frame.number,
            stamp,
            fb: cnm.quantized_fb.get(),
            offset: cnm.q_offset.0,
            delta: cnm.q_delta.0,
            to: header.destination,
            rpid: header.rpid,
        };
        self.told.push_back(Told { sample, destination: cnm.destination, quoted: Quoted::new(cnm.msdu) });
        Ok(())
    }

    /// Takes the steps that nothing can precede any more, and shows the judges what is settled.
    fn settle(&mut self, now: i64, over: bool) {
        while let Some(Reverse((at, _, number))) = self.steps.peek().copied()
            && at <= now
        {
            self.steps.pop();
            match self.kept.remove(&number) {
                Some(PortEvent::Arrive(arrived)) => self.queue.arrive(arrived),
                Some(PortEvent::Depart(leaving)) => {
                    self.queue.depart(Arrived { at, ..leaving }, self.senders.contains(&leaving.source));
                }
                None => {}
            }
            // What left is taken before the next leaves: a frame that is put in comes before all that wait.
            self.take_settled(at);
        }
        self.take_settled(now);
        // Arrivals are settled when they leave: a long queue on a slow link holds them for a while.
        let settled = self.settled;
        let ripe = |told: &Told| {
            let stamp = told.sample.stamp;
            over || (stamp + OVERTAKING < now && (settled > stamp || stamp + LONGEST_QUEUE < now))
        };
        while let Some(told) = self.told.front().copied()
            && ripe(&told)
        {
            self.show();
        }
        // Without CNMs arrivals do not pile up.
        if self.told.is_empty() || over {
            let keep = if over { 0 } else { QUOTABLE / 2 };
            while self.queued.len() > keep {
                let Some(queued) = self.queued.pop_front() else { break };
                // Its CNM may have left after the end of the capture.
                if over && queued.frame.at + UNDER_WAY > self.end {
                    break;
                }
                for judge in &mut self.judges {
                    judge.arrive(&queued, None);
                }
            }
        }
    }

    fn take_settled(&mut self, now: i64) {
        while let Some(queued) = self.queue.next(now) {
            self.settled = self.settled.max(queued.frame.at);
            self.queued.push_back(queued);
        }
    }

    /// Shows the judges all arrivals up to the first that a CNM quotes.
    fn show(&mut self) {
        // Of the CNMs that wait, the one that quotes the earliest frame comes first.
        let mut best: Option<(usize, usize)> = None;
        // A short quote fits any frame of its flow: the last before the CNM, if all until then are settled.
        let settled = self.queued.back().map_or(i64::MIN, |queued| queued.frame.at);
        for (index, told) in self.told.iter().enumerate() {
            if !told.quoted.is_exact() && told.sample.stamp > settled {
                continue;
            }
            let position = self.queued.iter().rposition(|queued| {
                queued.frame.at <= told.sample.stamp + self.close()
                    && queued.frame.destination == told.destination
                    && queued.frame.quoted.agrees(&told.quoted)
            });
            if let Some(position) = position
                && best.is_none_or(|(_, other)| position < other)
            {
                best = Some((index, position));
            }
        }
        let Some((index, position)) = best else {
            self.unlocated += 1;
            self.told.pop_front();
            // The frame that it sampled may be missing.
            self.judges.iter_mut().for_each(CpJudge::lose_track);
            return;
        };
        let Some(told) = self.told.remove(index) else { return };
        for number in 0..=position {
            let Some(queued) = self.queued.pop_front() else { return };
            let sample = (number == position).then_some(told.sample);
            for judge in &mut self.judges {
                // When it came, and to what queue, is not known of a frame that is put in.
                judge.arrive(&queued, sample.as_ref().filter(|_| !queued.frame.unseen));
                if sample.is_some() && queued.frame.unseen {
                    judge.lose_track();
                }
            }
            self.unlocated += u64::from(sample.is_some() && queued.frame.unseen);
        }
    }

    const fn close(&self) -> i64 {
        self.queue.close()
    }
}
