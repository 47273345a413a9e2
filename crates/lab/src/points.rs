//! The points of a sweep: one scenario under many lists of assignments.

use crate::scenario::{Scenario, ScenarioError};
use qcnlab_units::Span;
use rayon::prelude::*;

/// What is known of a point that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedPoint {
    /// [`Scenario::hash`] at the point.
    pub hash: String,
    /// Simulated time of one run.
    pub duration: Span,
}

/// Checks `base` under each list of assignments, on all cores. Scenarios are not kept, so many points take little
/// memory.
///
/// # Errors
/// At each point as [`Scenario::with_overrides`].
pub fn check_points(base: &Scenario, points: &[Vec<String>]) -> Vec<Result<CheckedPoint, ScenarioError>> {
    let check = |assignments: &Vec<String>| {
        let scenario = base.with_overrides(assignments)?;
        Ok(CheckedPoint { hash: scenario.hash(), duration: scenario.duration })
    };
    points.par_iter().map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_is_what_its_assignments_make() {
        let base = Scenario::shipped("one-source-into-9g-rtt10us").unwrap_or_else(|error| panic!("{error}"));
        let points = ["warmup=1 ms, duration=10 ms", "duration=10 parsecs", "topology.rtt=40 us"]
            .map(|each| each.split(", ").map(str::to_owned).collect());
        let [short, refused, far] = &check_points(&base, &points)[..] else { panic!("three points") };
        assert!(short.as_ref().is_ok_and(|point| point.duration == Span::from_ps(10_000_000_000)));
        assert!(refused.is_err());
        let alone = base.with_overrides(&points[2]).unwrap_or_else(|error| panic!("{error}"));
        assert!(far.as_ref().is_ok_and(|point| point.hash == alone.hash()));
    }
}
