//! How finely rates and throughput are written down where a file does not say.

use super::types::Record;
use qcnlab_schemes::params::{Field, Value};
use qcnlab_units::Span;

/// Keys of `[record]` that follow the duration.
const FOLLOWING: [&str; 2] = ["rates_every", "throughput_bin"];

/// Steps that should fill a run at most.
const MOST_STEPS: u64 = 100;
/// The least step, ps: 1 us.
const LEAST: u64 = 1_000_000;
/// The largest step, ps: 1 ms.
const LARGEST: u64 = 1_000_000_000;

/// Returns 1 ms or, in a run shorter than 100 ms, the least of 1, 2, 5, 10, ... us of which at most 100 fill it.
fn step(duration: Span) -> Span {
    let decades = std::iter::successors(Some(LEAST), |decade| Some(decade * 10));
    let steps = decades.flat_map(|decade| [decade, 2 * decade, 5 * decade]);
    let enough = |step: &u64| *step >= LARGEST || duration.ps() <= step * MOST_STEPS;
    Span::from_ps(steps.into_iter().find(enough).unwrap_or(LARGEST))
}

/// Fill in what `[record]` leaves out and what follows the run's duration.
pub(super) fn follow(duration: Span, mut values: Vec<Option<Value>>) -> Vec<Option<Value>> {
    let follows = |field: &Field| FOLLOWING.contains(&field.name);
    for (_, value) in Record::FIELDS.iter().zip(&mut values).filter(|(field, value)| follows(field) && value.is_none())
    {
        *value = Some(Value::Time(step(duration)));
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4 ms / 100 = 40 us, so 50; 20 ms / 100 = 200 us; 21 ms / 100 = 210 us, so 500; 60 ms / 100 = 600 us, so 1 ms.
    #[test]
    fn at_most_a_hundred_steps_fill_a_short_run_and_long_ones_have_steps_of_1_ms() {
        let us = |duration: u64| step(Span::from_us(duration)).ps() / 1_000_000;
        assert_eq!([4_000, 20_000, 21_000, 60_000].map(us), [50, 200, 500, 1_000]);
        assert_eq!([100_000, 100_001, 5_000_000].map(us), [1_000, 1_000, 1_000]);
        assert_eq!([1, 100, 101, 1_000].map(us), [1, 1, 2, 10]);
    }
}
