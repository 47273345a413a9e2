//! The points of a sweep: one scenario under many lists of assignments.

use crate::scenario::{Assignment, ResolvedScenario, Scenario, ScenarioError};
use qcnlab_units::Span;
use rayon::prelude::*;
use std::collections::HashMap;

/// So many points are checked one after the other. What follows from a point is used for the next one if they differ
/// in nothing but keys of `scheme` and `seed`.
const IN_A_ROW: usize = 64;

/// Checks `base` under each list of assignments, on all cores; returns the simulated time of one run at each point.
/// Scenarios are not kept, so many points take little memory.
///
/// # Errors
/// At each point as [`Scenario::with_overrides`].
pub fn check_points(base: &Scenario, points: &[Vec<String>]) -> Vec<Result<Span, ScenarioError>> {
    points.par_chunks(IN_A_ROW).flat_map_iter(|points| in_a_row(base, points)).collect()
}

fn in_a_row(base: &Scenario, points: &[Vec<String>]) -> Vec<Result<Span, ScenarioError>> {
    let mut before: Option<(&[String], Scenario, ResolvedScenario)> = None;
    let mut read = Read::default();
    let check = |point| {
        let known = before.take().filter(|(other, scenario, _)| follows(scenario, other, point));
        let known = known.map(|(_, scenario, resolved)| (scenario, resolved));
        let (scenario, resolved) = base.check_overrides(&read.all(base, point)?, known)?;
        let duration = scenario.duration;
        before = Some((point, scenario, resolved));
        Ok(duration)
    };
    points.iter().map(Vec::as_slice).map(check).collect()
}

/// Assignments that have been read; most of a point are those of the one before.
#[derive(Default)]
struct Read<'a>(HashMap<&'a str, Assignment>);

impl<'a> Read<'a> {
    /// The assignments of a point, in their order.
    fn all(&mut self, base: &Scenario, point: &'a [String]) -> Result<Vec<&Assignment>, ScenarioError> {
        for text in point {
            if !self.0.contains_key(&**text) {
                self.0.insert(text, base.read_assignment(text)?);
            }
        }
        Ok(point.iter().map(|text| &self.0[&**text]).collect())
    }
}

/// Whether what follows from `scenario`, made by `one` list of assignments, follows from the `other` list, too: they
/// differ in nothing but keys of `scheme`, or in the seed where no flows are drawn from it.
fn follows(scenario: &Scenario, one: &[String], other: &[String]) -> bool {
    let seeded = scenario.draws_flows();
    let matters = |assignment: &&String| {
        let key = assignment.split('=').next().unwrap_or_default().trim();
        !key.starts_with("scheme.") && (seeded || key != "seed")
    };
    one.iter().filter(matters).eq(other.iter().filter(matters))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shipped(name: &str) -> Scenario {
        Scenario::shipped(name).unwrap_or_else(|error| panic!("{error}"))
    }

    fn points(texts: &[&str]) -> Vec<Vec<String>> {
        texts.iter().map(|each| each.split(", ").map(str::to_owned).collect()).collect()
    }

    #[test]
    fn each_point_is_what_its_assignments_make() {
        let base = shipped("one-source-into-9g-rtt10us");
        let points = points(&["warmup=1 ms, duration=10 ms", "duration=10 parsecs", "topology.rtt=40 us"]);
        let [short, refused, far] = &check_points(&base, &points)[..] else { panic!("three points") };
        assert!(short.as_ref().is_ok_and(|duration| *duration == Span::from_ps(10_000_000_000)));
        assert!(refused.is_err());
        assert!(far.as_ref().is_ok_and(|duration| *duration == base.duration));
    }

    #[test]
    fn a_point_is_refused_after_others_as_it_is_alone() {
        let base = shipped("og-hotspot-2src-10g-to-500m-rtt10us");
        // The third, fifth and seventh cannot be: a set point above the buffer of 150 KB, then one above 20 KB, then a
        // scheme that hears of acknowledgements, which constant senders do not have.
        let points = points(&[
            "scheme.cp.set_point=33 KB",
            "scheme.cp.set_point=40 KB",
            "scheme.cp.set_point=200 KB",
            "topology.buffer=100 KB, scheme.cp.set_point=33 KB",
            "topology.buffer=20 KB, scheme.cp.set_point=33 KB",
            "topology.buffer=20 KB, scheme.name=none",
            "topology.buffer=20 KB, scheme.name=timely",
        ]);
        let checked = check_points(&base, &points);
        let refused: Vec<usize> = (0..).zip(&checked).filter(|(_, point)| point.is_err()).map(|(i, _)| i).collect();
        assert_eq!(refused, [2, 4, 6]);
        for (point, together) in points.iter().zip(&checked) {
            let alone = base.with_overrides(point).map(|scenario| scenario.duration);
            assert_eq!(together.as_ref().map_err(ToString::to_string), alone.as_ref().map_err(ToString::to_string));
        }
    }

    #[test]
    fn a_seed_that_draws_flows_is_checked_with_them() {
        // Seeds that are none are refused after one that is; drawn flows are drawn anew for each seed.
        for name in ["one-source-into-9g-rtt10us", "dumbbell-web-search-10g"] {
            let base = shipped(name);
            let points = points(&["seed=1", "seed=2, scheme.name=none", "seed=-1", "seed=none", " seed = 3 "]);
            let checked = check_points(&base, &points);
            let refused: Vec<bool> = checked.iter().map(Result::is_err).collect();
            assert_eq!(refused, [false, false, true, true, false], "{name}");
            for (point, together) in points.iter().zip(&checked) {
                let alone = base.with_overrides(point).map(|scenario| scenario.duration);
                assert_eq!(together.as_ref().map_err(ToString::to_string), alone.as_ref().map_err(ToString::to_string));
            }
        }
    }

    #[test]
    fn in_a_domain_each_scheme_is_asked_what_it_hears() {
        let base = shipped("one-bridge-outside-the-domain");
        let [qcn, none] = &check_points(&base, &points(&["scheme.name=qcn", "scheme.name=none"]))[..] else {
            panic!("two points")
        };
        assert!(qcn.is_ok());
        assert!(none.is_err());
    }
}
