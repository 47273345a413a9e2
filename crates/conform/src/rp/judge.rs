//! Judges one reaction point: frame by frame, all hypotheses at once.

use super::event::{Event, Heard, Sent};
use super::hypothesis::{Fit, Hypothesis, Rules};
use super::interval::{Interval, Intervals};
use super::reason::{self, Evidence, Reason};
use super::spread::CycleLengths;
use super::unseen::MOST_FRAMES;
use crate::deviation::Quirk;
use crate::window::{Window, takes};
use std::collections::{HashMap, VecDeque};

/// Where and why the law is broken.
#[derive(Clone, Debug)]
pub(crate) struct Breach {
    pub(crate) frame: u64,
    pub(crate) stamp: i64,
    pub(crate) reason: Reason,
}

/// What a reaction point's frames come to.
#[derive(Clone, Debug)]
pub(crate) enum Finding {
    Conforms,
    Breaks(Box<Breach>),
    NotDecidable(String),
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) frames: u64,
    pub(crate) cnms: u64,
    /// Frames while a limiter was surely installed, and those of them that left exactly when the law says.
    pub(crate) limited: u64,
    pub(crate) on_time: u64,
    /// Frames that left later although nothing kept them.
    pub(crate) late: u64,
    /// Before the first CNM: frames, and those back to back.
    before: u64,
    before_in_time: u64,
    /// The most hypotheses at a time.
    pub(crate) most: usize,
    /// Frames and CNMs that the capture lacks and that explain what it shows.
    pub(crate) unseen_frames: u64,
    pub(crate) unseen_cnms: u64,
    /// Frames between a CNM that is missing and the next that is not: their law is not known for sure.
    pub(crate) unsure: u64,
}

/// Frames read ahead before a frame that does not fit is judged.
const AHEAD: usize = 12;
/// From so many hypotheses on, those of equal rates are merged.
const MERGE: usize = 96;
/// More than these after merging are not followed.
const MOST: usize = 512;
/// One CNM in so many may be missing although no other frame is: such a capture decides nothing.
const UNLIKELY: u64 = 4;
/// Frames back to back before the first CNM that show a sender without a limiter.
const FREE_FRAMES: u64 = 10;
/// Frames on time under a limiter without which nothing is decided.
const DECIDING: u64 = 20;

#[derive(Clone, Debug)]
pub(crate) struct Judge {
    pub(crate) rules: Rules,
    hypotheses: Vec<Hypothesis>,
    heard: Vec<Heard>,
    /// The number of the first of `heard`.
    first: u64,
    events: VecDeque<Event>,
    /// Events to wait for before the first is judged again.
    wait: usize,
    ended: Option<Finding>,
    tally: Tally,
    intervals: Intervals,
    last: Option<Sent>,
    /// The number of the last CNM that the capture has, if a missing one was assumed behind it.
    assumed_behind: Option<u64>,
}

impl Judge {
    pub(crate) fn new(rules: Rules) -> Judge {
        Judge {
            rules,
            hypotheses: Vec::new(),
            heard: Vec::new(),
            first: 0,
            events: VecDeque::new(),
            wait: 0,
            ended: None,
            tally: Tally::default(),
            intervals: Intervals::default(),
            last: None,
            assumed_behind: None,
        }
    }

    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    pub(crate) fn take(&mut self, event: Event) {
        match event {
            Event::Frame(_) => self.tally.frames += 1,
            Event::Cnm(_) => self.tally.cnms += 1,
        }
        if self.ended.is_some() {
            return;
        }
        self.events.push_back(event);
        if self.events.len() > self.wait {
            self.go_on(false);
        }
    }

    /// The capture is over.
    pub(crate) fn finish(&mut self) -> (Finding, Vec<Interval>, u64) {
        self.go_on(true);
        let gauges = self.hypotheses.iter().map(|hypothesis| hypothesis.allowed);
        self.intervals.close(None, gauges);
        let (intervals, left_out) = self.intervals.take();
        (self.finding(), intervals, left_out)
    }

    fn finding(&self) -> Finding {
        let Tally { frames, cnms, limited, on_time, .. } = self.tally;
        if cnms == 0 {
            return Finding::NotDecidable("no CNM reached it: nothing ever told it to limit".to_owned());
        }
        let paced = !self.rules.starts_free && self.began_paced();
        match &self.ended {
            Some(ended) if !paced => return ended.clone(),
            _ => {}
        }
        if paced {
            let before = self.tally.before;
            return Finding::NotDecidable(format!(
                "the {before} frame{} before its first CNM do not fill the link: the capture may begin in the middle \
                 of a cycle, with a limiter whose target and stages are not known. Begin it earlier, or say \
                 --starts-free if no limiter was installed",
                if before == 1 { "" } else { "s" }
            ));
        }
        if limited == 0 {
            return Finding::NotDecidable(format!("no CNM installed a limiter in {frames} frames"));
        }
        if on_time < DECIDING {
            return Finding::NotDecidable(format!(
                "its rate never limited it: {on_time} of {limited} frames under a limiter left when the law lets \
                 them, all others later, so it had nothing to send"
            ));
        }
        let unseen = self.tally.unseen_cnms;
        if unseen > self.likely_cnms() {
            return Finding::NotDecidable(format!(
                "it conforms if {unseen} CNM{} came that the capture lacks: each time the rate falls by just what one \
                 feedback makes of it, and goes on by the law; {}",
                if unseen == 1 { "" } else { "s" },
                self.rules.loss.text()
            ));
        }
        if self.tally.unsure * 2 > limited {
            return Finding::NotDecidable(format!(
                "nothing in it breaks the law, but {} of {limited} frames under a limiter come between a CNM that the \
                 capture lacks and the next that it has",
                self.tally.unsure
            ));
        }
        self.too_close().unwrap_or(Finding::Conforms)
    }

    /// A breach where cycles of the byte counter, or of the timer, lie too close together under each hypothesis that is
    /// left.
    fn too_close(&self) -> Option<Finding> {
        let (width, last) = (self.rules.spread_to_show()?, self.last?);
        let of_all = |of: fn(&Hypothesis) -> CycleLengths| {
            let both = |mut lengths: CycleLengths, other: CycleLengths| {
                lengths.absorb(&other);
                lengths
            };
            self.hypotheses.iter().map(of).reduce(both).unwrap_or_default()
        };
        let clocks = [("byte-counter", of_all(|one| one.byte_lengths)), ("timer", of_all(|one| one.time_lengths))];
        let (clock, lengths) = clocks
            .into_iter()
            .filter(|(clock, _)| *clock != "timer" || self.rules.quirk != Some(Quirk::TimerNotSpread))
            .find(|(_, lengths)| lengths.are_too_close(width))?;
        let reason = reason::too_close(clock, &lengths, width);
        Some(Finding::Breaks(Box::new(Breach { frame: last.number, stamp: last.stamp, reason })))
    }

    /// Whether frames before the first CNM did not show a sender without a limiter.
    fn began_paced(&self) -> bool {
        let Tally { before, before_in_time, .. } = self.tally;
        before < FREE_FRAMES || before_in_time * 10 < before * 9
    }

    /// Whether it filled the link all along, as a sender that no message ever reached.
    pub(crate) fn never_slowed(&self) -> bool {
        self.tally.cnms == 0 && self.tally.unseen_cnms == 0 && !self.began_paced()
    }

    /// Whether it surely has frames to send: it filled the link before it was limited.
    fn backlogged(&self) -> bool {
        self.rules.backlogged || !self.began_paced()
    }

    fn go_on(&mut self, over: bool) {
        while self.ended.is_none() {
            let Some(event) = self.events.pop_front() else { return };
            match event {
                Event::Cnm(cnm) => {
                    self.heard.push(cnm);
                    self.assumed_behind = None;
                    let allowed = self.hypotheses.iter().map(|hypothesis| hypothesis.allowed);
                    self.intervals.on_cnm(cnm, allowed);
                    self.hypotheses.iter_mut().for_each(|hypothesis| hypothesis.allowed = (0.0, 0.0));
                }
                Event::Frame(sent) => {
                    if !self.frame(sent, over) {
                        self.events.push_front(event);
                        self.wait = self.events.len();
                        return;
                    }
                    self.wait = 0;
                }
            }
        }
    }

    /// Judges a frame; returns false to be asked again when more is known.
    fn frame(&mut self, sent: Sent, over: bool) -> bool {
        let window = self.rules.released(sent.stamp, sent.size);
        if self.hypotheses.is_empty() {
            self.hypotheses.push(Hypothesis::free(&self.rules, window));
        }
        if self.beyond_a_gap(&sent) {
            return true;
        }
        let possible = self.courses(&self.hypotheses, &sent, window, &self.heard);
        let fits: Vec<Fit> = possible.iter().map(|hypothesis| hypothesis.fit(&self.rules, window, sent.busy)).collect();
        let mut next = Vec::new();
        let on_time = fits.contains(&Fit::OnTime);
        let mut late = false;
        if on_time {
            for (hypothesis, fit) in possible.into_iter().zip(&fits) {
                if *fit == Fit::OnTime {
                    hypothesis.send(&self.rules, window, sent.size, false, &mut next);
                }
            }
            self.tally.unseen_frames += sent.missing.unwrap_or(0);
        } else {
            let limited = possible.iter().any(Hypothesis::limiting);
            let known = self.tally.cnms > 0 && limited;
            // The first CNM may be missing: a sender that fills the link is late from one frame on.
            let full = !known && self.tally.before >= FREE_FRAMES && self.backlogged();
            let ahead = self.events.iter().filter(|event| matches!(event, Event::Frame(_))).count();
            if (known || full) && ahead < AHEAD && !over {
                return false;
            }
            late = fits.iter().any(|fit| matches!(fit, Fit::Late(_)));
            if !late || (known && self.too_slow(&possible, &fits, sent, window)) {
                next = if late { self.behind_unseen_cnm(&sent, window) } else { Vec::new() };
                if next.is_empty() {
                    self.breach(&possible, &fits, sent, window, late);
                    return true;
                }
                late = false;
            } else {
                if full && !self.resumes(&possible, &fits, sent, window) {
                    next = self.behind_unseen_cnm(&sent, window);
                }
                for (hypothesis, fit) in possible.into_iter().zip(&fits) {
                    if matches!(fit, Fit::Late(_)) {
                        hypothesis.send(&self.rules, window, sent.size, true, &mut next);
                    }
                }
            }
        }
        self.count(&next, late);
        self.hypotheses = next;
        self.merge(sent);
        self.forget();
        let charged = self.rules.charged(sent.size);
        self.intervals.on_frame(sent, charged, late, self.hypotheses.iter().map(|hypothesis| hypothesis.allowed));
        self.last = Some(sent);
        true
    }

    /// Whether so many frames of a limiter are missing before this one that its state is not known any more.
    fn beyond_a_gap(&mut self, sent: &Sent) -> bool {
        let missing = sent.missing.unwrap_or(0);
        let lost = missing > MOST_FRAMES && self.hypotheses.iter().any(Hypothesis::limiting);
        if lost {
            let Tally { limited, .. } = self.tally;
            self.ended = Some(Finding::NotDecidable(format!(
                "up to frame {} it conforms, {limited} frames under a limiter; before it {missing} frames are missing in a \
                 row, and behind them the state of the limiter is not known",
                sent.number
            )));
            self.events.clear();
        }
        lost
    }

    /// All that can have led to a frame: with the frames before it that its number says are missing, and without.
    fn courses(&self, from: &[Hypothesis], sent: &Sent, window: Window, heard: &[Heard]) -> Vec<Hypothesis> {
        let mut all = self.advanced(from, window, heard);
        let missing = sent.missing.unwrap_or(0);
        if (1..=MOST_FRAMES).contains(&missing) {
            for hypothesis in from {
                let unseen = hypothesis.clone();
                let unseen = unseen.unseen_frames(&self.rules, window, sent.size, missing, (heard, self.first));
                all.extend(self.advanced(&unseen, window, heard));
            }
        }
        all
    }

    /// How many CNMs the capture may lack beside those that it has, as it lacks other frames.
    fn likely_cnms(&self) -> u64 {
        self.rules.loss.most_of(self.rules.cnms)
    }

    /// The courses in which a late frame left on time, behind a CNM that the capture lacks; none where so many CNMs are
    /// hardly missing, or none explains it and what follows.
    fn behind_unseen_cnm(&mut self, sent: &Sent, window: Window) -> Vec<Hypothesis> {
        // A device that cuts by itself does so again and again.
        if self.tally.unseen_cnms >= self.likely_cnms().max(self.rules.cnms / UNLIKELY).max(1) {
            return Vec::new();
        }
        let missing = sent.missing.unwrap_or(0).min(MOST_FRAMES);
        let (size, context) = (sent.size, (&self.heard[..], self.first));
        let mut next = Vec::new();
        for hypothesis in &self.hypotheses {
            for before in 0..=missing {
                let courses = hypothesis.clone().unseen_frames(&self.rules, window, size, before, context);
                for (course, fb) in
                    courses.iter().flat_map(|course| (1..=self.rules.most_feedback).map(move |fb| (course, fb)))
                {
                    let cut = course.unseen_cnm(&self.rules, window, size, fb);
                    let cut = cut.unseen_frames(&self.rules, window, size, missing - before, context);
                    let possible = self.advanced(&cut, window, &self.heard).into_iter();
                    for hypothesis in
                        possible.filter(|course| course.fit(&self.rules, window, sent.busy) == Fit::OnTime)
                    {
                        let mut sends = Vec::new();
                        hypothesis.send(&self.rules, window, size, false, &mut sends);
                        next.extend(sends.into_iter().filter(|course| self.goes_on(vec![course.clone()], AHEAD)));
                    }
                }
            }
        }
        if !next.is_empty() {
            self.tally.unseen_cnms += 1;
            self.tally.unseen_frames += missing;
            self.assumed_behind = Some(self.first + self.heard.len() as u64);
        }
        next
    }

    fn advanced(&self, from: &[Hypothesis], window: Window, heard: &[Heard]) -> Vec<Hypothesis> {
        let mut possible = Vec::with_capacity(from.len() + 4);
        for hypothesis in from {
            hypothesis.clone().advance(&self.rules, window, heard, self.first, &mut possible);
        }
        possible
    }

    fn count(&mut self, next: &[Hypothesis], late: bool) {
        let tally = &mut self.tally;
        if self.first == 0 && self.heard.is_empty() {
            tally.before += 1;
            tally.before_in_time += u64::from(!late);
        }
        tally.late += u64::from(late);
        if next.iter().all(Hypothesis::limiting) {
            tally.limited += 1;
            tally.on_time += u64::from(!late);
            tally.unsure += u64::from(self.assumed_behind.is_some());
        }
        tally.most = tally.most.max(next.len());
    }

    /// Whether a sender that is late is slower than the law, and not merely without a frame to send.
    fn too_slow(&self, possible: &[Hypothesis], fits: &[Fit], sent: Sent, window: Window) -> bool {
        if self.rules.backlogged {
            return true;
        }
        if !self.backlogged() {
            return false;
        }
        let gap = self.last.map_or(0, |last| sent.stamp - last.stamp);
        let least = fits.iter().filter_map(|fit| match fit {
            Fit::Late(by) => Some(*by),
            Fit::OnTime | Fit::Early(_) => None,
        });
        // A pause of its source ends at any time, hardly ever just after the frame was due.
        if least.min().is_some_and(|by| by < gap / 20) {
            return true;
        }
        !self.resumes(possible, fits, sent, window)
    }

    /// Whether the frames behind a late one leave when the law lets them.
    fn resumes(&self, possible: &[Hypothesis], fits: &[Fit], sent: Sent, window: Window) -> bool {
        let mut hypotheses = Vec::new();
        for (hypothesis, fit) in possible.iter().zip(fits) {
            if matches!(fit, Fit::Late(_)) {
                hypothesis.clone().send(&self.rules, window, sent.size, true, &mut hypotheses);
            }
        }
        self.goes_on(hypotheses, AHEAD)
    }

    /// Whether the next `frames` frames leave on time under one of these.
    fn goes_on(&self, mut hypotheses: Vec<Hypothesis>, frames: usize) -> bool {
        let mut heard = self.heard.clone();
        for event in self.events.iter().take(frames) {
            let sent = match event {
                Event::Cnm(cnm) => {
                    heard.push(*cnm);
                    continue;
                }
                Event::Frame(sent) => sent,
            };
            let window = self.rules.released(sent.stamp, sent.size);
            let mut next = Vec::new();
            for hypothesis in self.courses(&hypotheses, sent, window, &heard) {
                if hypothesis.fit(&self.rules, window, sent.busy) == Fit::OnTime {
                    hypothesis.send(&self.rules, window, sent.size, false, &mut next);
                }
            }
            next.truncate(MOST);
            hypotheses = next;
            if hypotheses.is_empty() {
                return false;
            }
        }
        true
    }

    fn breach(&mut self, possible: &[Hypothesis], fits: &[Fit], sent: Sent, window: Window, late: bool) {
        // The hypothesis that the frame misses by the least.
        let miss = |fit: &Fit| match fit {
            Fit::OnTime => 0,
            Fit::Early(by) | Fit::Late(by) => *by,
        };
        let Some((hypothesis, fit)) = possible.iter().zip(fits).min_by_key(|(_, fit)| miss(fit)) else { return };
        let evidence = Evidence {
            rules: &self.rules,
            hypothesis,
            by: miss(fit),
            late: late && matches!(fit, Fit::Late(_)),
            at: window.middle(),
            gap: self.last.map_or(0, |last| sent.stamp - last.stamp),
            charge: self.rules.charged(sent.size),
            rate: self.rate_after(sent),
        };
        let reason = reason::of(&evidence);
        self.intervals.break_here(sent);
        self.ended = Some(Finding::Breaks(Box::new(Breach { frame: sent.number, stamp: sent.stamp, reason })));
        self.events.clear();
    }

    /// The rate of the frames that follow, before the next CNM.
    fn rate_after(&self, sent: Sent) -> Option<f64> {
        let mut last = sent;
        let mut rates = Vec::new();
        for event in self.events.iter().take(AHEAD) {
            let Event::Frame(next) = event else { break };
            if next.busy < next.stamp - takes(f64::from(next.size), self.rules.line) as i64 && next.stamp > last.stamp {
                rates.push((self.rules.charged(last.size), (next.stamp - last.stamp) as f64));
            }
            last = *next;
        }
        let (sum, time) = rates.iter().fold((0.0, 0.0), |(sum, time), (octets, gap)| (sum + octets, time + gap));
        let bps = |(octets, gap): &(f64, f64)| octets * 8e12 / gap;
        let mut each: Vec<f64> = rates.iter().map(bps).collect();
        each.sort_by(f64::total_cmp);
        let median = each.get(each.len() / 2).copied()?;
        // One rate all along tells itself best by its mean.
        let steady = each.iter().all(|rate| (rate / median - 1.0).abs() < 0.01);
        Some(if steady { sum * 8e12 / time } else { median })
    }

    /// Merges hypotheses where there are too many to follow one by one.
    fn merge(&mut self, sent: Sent) {
        if self.hypotheses.len() < 2 {
            return;
        }
        let many = self.hypotheses.len() > MERGE;
        let mut kept: Vec<Hypothesis> = Vec::with_capacity(self.hypotheses.len());
        let mut by_key: HashMap<_, Vec<usize>> = HashMap::new();
        for hypothesis in self.hypotheses.drain(..) {
            let alike = by_key.entry(hypothesis.key()).or_default();
            match alike.iter().find(|index| many || kept[**index].same_windows(&hypothesis)) {
                Some(index) => kept[*index].absorb(&hypothesis),
                None => {
                    alike.push(kept.len());
                    kept.push(hypothesis);
                }
            }
        }
        if kept.len() > MOST {
            self.ended = Some(Finding::NotDecidable(format!(
                "up to frame {} it conforms; from there on its rate leaves too much open, {} courses of its cycles are \
                 possible: it sends less than it may, or the tolerances hide its steps",
                sent.number,
                kept.len()
            )));
            kept.clear();
        }
        self.hypotheses = kept;
    }

    /// Lets go of CNMs that have taken effect under every hypothesis.
    fn forget(&mut self) {
        let Some(oldest) = self.hypotheses.iter().map(|hypothesis| hypothesis.cnm).min() else { return };
        let done = (oldest.saturating_sub(self.first) as usize).min(self.heard.len());
        self.heard.drain(..done);
        self.first += done as u64;
    }
}
