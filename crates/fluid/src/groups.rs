//! Sources that start alike are one group: they stay alike for ever.

use super::error::FluidError;
use super::initial::Initial;

/// Sources with the same start.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// How many they are.
    pub(crate) count: f64,
    /// Their rate at the start, bit/s.
    pub(crate) rate: f64,
    /// When they start, s.
    pub(crate) from: f64,
}

/// The groups, and the group of each source.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    pub(crate) all: Vec<Group>,
    pub(crate) of_source: Vec<usize>,
}

impl Groups {
    /// Groups `count` sources by `rates_bps` and `start_s`; a source without an entry starts with `rate`, bit/s.
    pub(crate) fn read(initial: &Initial, count: usize, rate: f64) -> Result<Groups, FluidError> {
        let rates = initial.each("rates_bps", "bit/s", count)?.unwrap_or_else(|| vec![rate; count]);
        let starts = initial.each("start_s", "s", count)?.unwrap_or_else(|| vec![0.0; count]);
        let mut groups = Groups { all: Vec::new(), of_source: Vec::with_capacity(count) };
        for (rate, from) in rates.into_iter().zip(starts) {
            let index = groups.all.iter().position(|group| group.rate == rate && group.from == from);
            let index = index.unwrap_or_else(|| {
                groups.all.push(Group { count: 0.0, rate, from });
                groups.all.len() - 1
            });
            groups.all[index].count += 1.0;
            groups.of_source.push(index);
        }
        Ok(groups)
    }

    /// When groups start after 0, s.
    pub(crate) fn late(&self) -> Vec<f64> {
        let mut times: Vec<f64> = self.all.iter().map(|group| group.from).filter(|from| *from > 0.0).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        times
    }
}
