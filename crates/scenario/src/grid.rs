//! The points of a grid: one scenario under every combination of assignments.
//!
//! A point shares most of its work with the one before it: only the tables of the keys that differ are read again, and
//! what follows from all tables is worked out again where a check asks for it. A point that is refused is checked once
//! more by itself, so that it is told as it would be alone.

use crate::threads;
use crate::{
    Assignment, Document, Recheck, ResolvedScenario, Scenario, ScenarioError, apply_read, check_and_resolve,
    read_unchecked, reread,
};
use std::collections::HashMap;
use std::ops::{AddAssign, Range};
use std::sync::{Arc, Mutex, PoisonError};

/// So many points at most are checked one after the other, by one thread.
const IN_A_ROW: usize = 512;

/// Every combination of the assignments of some axes, applied to one scenario. Points are counted from 0, the last axis
/// varies fastest.
pub struct Grid {
    base: Scenario,
    /// What is set at every point, before and after the axes.
    before: Vec<String>,
    after: Vec<String>,
    axes: Vec<Axis>,
    /// The axes from that whose next value makes most anew to that which makes least: points are checked in this order.
    order: Vec<usize>,
    /// What the documents of all points are made of; `None` where what is set at every point cannot be.
    shared: Option<SharedText>,
    /// By what is wrong: the first point that is refused for it, and their number.
    refused: Mutex<HashMap<String, (usize, usize)>>,
}

/// One key and its values.
struct Axis {
    texts: Vec<String>,
    /// As they were read; `None` for what is no assignment.
    read: Vec<Option<Assignment>>,
    /// The table of its key.
    section: String,
}

/// A text with assignments that are applied before and after those of the axes.
struct SharedText {
    document: Document,
    before: Vec<Assignment>,
    after: Vec<Assignment>,
}

/// What came out of a check of points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Simulated time of one run at each point that can be run, ps.
    pub simulated_ps: u128,
    /// Points that cannot be run.
    pub refused: usize,
    /// How often what follows from the tables was worked out.
    pub networks: usize,
}

/// Points that are refused for the same reason.
#[derive(Debug)]
pub struct Refusal {
    /// The first of them.
    pub first: usize,
    /// Their number.
    pub count: usize,
    /// What is wrong at the first.
    pub error: ScenarioError,
}

/// A point that can be run, from which the next one differs little.
struct Known {
    at: Vec<usize>,
    scenario: Scenario,
    resolved: ResolvedScenario,
}

impl AddAssign for Checked {
    fn add_assign(&mut self, other: Checked) {
        self.simulated_ps += other.simulated_ps;
        self.refused += other.refused;
        self.networks += other.networks;
    }
}

impl Grid {
    /// Returns the points of a grid: `base` with `before`, one assignment of each axis, and `after`, in this order.
    pub fn new(base: &Scenario, before: &[String], axes: &[Vec<String>], after: &[String]) -> Grid {
        let axes: Vec<Axis> = axes.iter().map(|texts| Axis::new(base, texts)).collect();
        let mut points = Grid {
            base: base.clone(),
            before: before.to_vec(),
            after: after.to_vec(),
            order: (0..axes.len()).collect(),
            shared: SharedText::new(base, before, &axes, after),
            axes,
            refused: Mutex::default(),
        };
        let cost: Vec<Recheck> = (0..points.axes.len()).map(|axis| points.cost(axis)).collect();
        points.order.sort_by_key(|axis| std::cmp::Reverse(cost[*axis]));
        points
    }

    /// Returns the number of points.
    pub fn count(&self) -> usize {
        self.axes.iter().map(|axis| axis.texts.len()).product()
    }

    /// Checks the points at some positions of an order in which neighbours share most of their work, on all cores.
    pub fn check(&self, positions: Range<usize>) -> Checked {
        let length = positions.len().div_ceil(2 * threads::cores()).clamp(1, IN_A_ROW);
        let starts: Vec<usize> = positions.clone().step_by(length).collect();
        let row = |start: &usize| self.row(*start..positions.end.min(start + length));
        let rows = threads::map(&starts, row);
        rows.into_iter().fold(Checked::default(), |mut sum, row| {
            sum += row;
            sum
        })
    }

    /// Returns how many reasons there are why points that were checked cannot be run, and the first `most` of these.
    pub fn refusals(&self, most: usize) -> (usize, Vec<Refusal>) {
        let known = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<(usize, usize)> = known.values().copied().collect();
        all.sort_unstable();
        let told = all.iter().take(most).filter_map(|(first, count)| {
            let error = self.base.with_overrides(&self.texts(&self.values_at(*first))).err()?;
            Some(Refusal { first: *first, count: *count, error })
        });
        (all.len(), told.collect())
    }

    /// Returns what `of` makes of the scenario at each value of an axis, with the first value of each other one. All
    /// these points can be run.
    pub fn along<T: Send>(&self, axis: usize, of: impl Fn(&Scenario) -> T + Sync) -> Vec<T> {
        let values: Vec<usize> = (0..self.axes[axis].texts.len()).collect();
        let row = |values: &&[usize]| {
            let mut known = None;
            let at = |value: &usize| {
                let mut at = vec![0; self.axes.len()];
                at[axis] = *value;
                known = self.following(&at, known.take(), &mut 0);
                let Some(Known { scenario, .. }) = &known else { unreachable!("a checked point can be run") };
                let mut scenario = scenario.clone();
                scenario.hotspots.sort_by_key(|hotspot| hotspot.from);
                of(&scenario)
            };
            values.iter().map(at).collect::<Vec<T>>()
        };
        let rows: Vec<&[usize]> = values.chunks(IN_A_ROW).collect();
        threads::map(&rows, row).into_iter().flatten().collect()
    }

    /// Returns what has to be made anew where nothing but the value of an axis differs.
    fn cost(&self, axis: usize) -> Recheck {
        let mut at = vec![0; self.axes.len()];
        let first = self.document(&at).and_then(|document| read_unchecked(&document).ok());
        let Some(first) = first.filter(|_| self.axes[axis].texts.len() > 1) else { return Recheck::Network };
        at[axis] = 1;
        let second = self.document(&at).and_then(|document| reread(first, &document, &[&self.axes[axis].section]).ok());
        second.map_or(Recheck::Network, |(_, recheck)| recheck)
    }

    /// Checks points one after the other.
    fn row(&self, positions: Range<usize>) -> Checked {
        let mut done = Checked::default();
        let mut known = None;
        for position in positions {
            let at = self.values_of(position);
            known = self.following(&at, known, &mut done.networks);
            let duration = match &known {
                Some(known) => Ok(known.scenario.duration),
                None => self.base.with_overrides(&self.texts(&at)).map(|scenario| scenario.duration),
            };
            match duration {
                Ok(duration) => done.simulated_ps += u128::from(duration.ps()),
                Err(error) => {
                    done.refused += 1;
                    self.refuse(&at, &error);
                }
            }
        }
        done
    }

    /// Returns the point `at` some values if it can be run; `known` is another one.
    fn following(&self, at: &[usize], known: Option<Known>, networks: &mut usize) -> Option<Known> {
        let document = self.document(at)?;
        let (scenario, known) = match known {
            None => (read_unchecked(&document).ok()?, None),
            Some(Known { at: before, scenario, resolved }) => {
                let differs = |axis: &usize| before[*axis] != at[*axis];
                let sections: Vec<&str> = (0..at.len()).filter(differs).map(|axis| &*self.axes[axis].section).collect();
                let (scenario, recheck) = reread(scenario, &document, &sections).ok()?;
                (scenario, Some((resolved, recheck)))
            }
        };
        *networks += usize::from(known.as_ref().is_none_or(|(_, recheck)| *recheck == Recheck::Network));
        let resolved = check_and_resolve(&scenario, known).ok()?;
        Some(Known { at: at.to_vec(), scenario, resolved })
    }

    fn refuse(&self, at: &[usize], error: &ScenarioError) {
        let position = (error.in_override(), error.line(), error.column());
        let what = format!("{}\n{:?}\n{position:?}", error.message(), error.hint());
        let index = self.axes.iter().zip(at).fold(0, |index, (axis, value)| index * axis.texts.len() + value);
        let mut known = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, count) = known.entry(what).or_insert((index, 0));
        (*first, *count) = (index.min(*first), *count + 1);
    }

    /// Returns the text with the assignments of a point, unless one of these cannot be.
    fn document(&self, at: &[usize]) -> Option<Arc<Document>> {
        let shared = self.shared.as_ref()?;
        let mut assignments: Vec<&Assignment> = shared.before.iter().collect();
        for (axis, value) in self.axes.iter().zip(at) {
            assignments.push(axis.read[*value].as_ref()?);
        }
        assignments.extend(&shared.after);
        apply_read(&shared.document, &assignments).ok().map(Arc::new)
    }

    /// Returns the assignments of a point.
    fn texts(&self, at: &[usize]) -> Vec<&str> {
        let chosen = self.axes.iter().zip(at).map(|(axis, value)| &axis.texts[*value]);
        self.before.iter().chain(chosen).chain(&self.after).map(String::as_str).collect()
    }

    /// Returns the values at a position of the order in which points are checked.
    fn values_of(&self, mut position: usize) -> Vec<usize> {
        let mut at = vec![0; self.axes.len()];
        for axis in self.order.iter().rev() {
            let values = self.axes[*axis].texts.len();
            (at[*axis], position) = (position % values, position / values);
        }
        at
    }

    /// Returns the values of a point.
    fn values_at(&self, mut point: usize) -> Vec<usize> {
        let mut at = vec![0; self.axes.len()];
        for (axis, value) in self.axes.iter().zip(&mut at).rev() {
            let values = axis.texts.len();
            (*value, point) = (point % values, point / values);
        }
        at
    }
}

impl Axis {
    fn new(base: &Scenario, texts: &[String]) -> Axis {
        let read: Vec<Option<Assignment>> = texts.iter().map(|text| base.read_assignment(text).ok()).collect();
        let section = read.iter().flatten().next().map_or_else(String::new, |first| first.section().to_owned());
        Axis { texts: texts.to_vec(), read, section }
    }
}

impl SharedText {
    /// Applies what is set at every point, unless that depends on what an axis sets.
    fn new(base: &Scenario, before: &[String], axes: &[Axis], after: &[String]) -> Option<SharedText> {
        let read = |texts: &[String]| -> Option<Vec<Assignment>> {
            texts.iter().map(|text| base.read_assignment(text).ok()).collect()
        };
        let (before, after) = (read(before)?, read(after)?);
        let varied = || axes.iter().flat_map(|axis| axis.read.iter().flatten());
        if varied().any(|each| each.names_a_scheme() || after.iter().any(|last| last.meets(each))) {
            return Some(SharedText { document: base.document(&[]).ok()?, before, after });
        }
        let all: Vec<&Assignment> = before.iter().chain(&after).collect();
        Some(SharedText { document: base.document(&all).ok()?, before: Vec::new(), after: Vec::new() })
    }
}

#[cfg(test)]
mod tests;
