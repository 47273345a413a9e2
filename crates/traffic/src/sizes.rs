//! How large flows are: distributions as cumulative tables.

use qcnlab_schemes::dice::Dice;
use qcnlab_units::Bytes;

/// A distribution of flow sizes: a line through points (size, part of flows up to that size).
///
/// Two points of one size make a step: that many flows have just this size. So does a first point above 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// Octets and the part of flows up to them.
    points: Vec<(f64, f64)>,
}

/// A published distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedSizes {
    /// Its name.
    pub name: &'static str,
    /// What it is and where its numbers are from.
    pub about: &'static str,
    /// Octets that the sizes are counted in.
    unit: u32,
    /// Sizes and the part of flows up to them.
    points: &'static [(u32, f64)],
}

/// The published distributions.
pub const NAMED: &[NamedSizes] = &[
    NamedSizes {
        name: "web_search",
        about: "Queries and updates of a web search cluster (DCTCP, SIGCOMM 2010, figure 4), mean 1.67 MB, in packets \
                of 1460 B: table CDF_dctcp of the simulations of pFabric, SIGCOMM 2013, and PIAS, NSDI 2015",
        unit: 1460,
        points: &[
            (6, 0.15),
            (13, 0.2),
            (19, 0.3),
            (33, 0.4),
            (53, 0.53),
            (133, 0.6),
            (667, 0.7),
            (1333, 0.8),
            (3333, 0.9),
            (6667, 0.97),
            (20_000, 1.0),
        ],
    },
    NamedSizes {
        name: "web_search_hpcc",
        about: "The same in rounded octets, without a smallest flow, mean 1.71 MB: WebSearch_distribution.txt of the \
                traffic generator of HPCC, SIGCOMM 2019",
        unit: 1,
        points: &[
            (0, 0.0),
            (10_000, 0.15),
            (20_000, 0.2),
            (30_000, 0.3),
            (50_000, 0.4),
            (80_000, 0.53),
            (200_000, 0.6),
            (1_000_000, 0.7),
            (2_000_000, 0.8),
            (5_000_000, 0.9),
            (10_000_000, 0.97),
            (30_000_000, 1.0),
        ],
    },
    NamedSizes {
        name: "data_mining",
        about: "A data mining cluster (VL2, SIGCOMM 2009, figure 2), mean 7.47 MB, half of the flows one \
                packet of 1460 B: table CDF_vl2 of the simulations of pFabric, SIGCOMM 2013, and PIAS, NSDI 2015",
        unit: 1460,
        points: &[(1, 0.5), (2, 0.6), (3, 0.7), (7, 0.8), (267, 0.9), (2107, 0.95), (66_667, 0.99), (666_667, 1.0)],
    },
    NamedSizes {
        name: "fb_hadoop",
        about: "A Hadoop cluster of Facebook, mean 120 KB, 60 % of the flows at most 1 KB: FbHdp_distribution.txt of the \
                traffic generator of HPCC, SIGCOMM 2019",
        unit: 1,
        points: &[
            (0, 0.0),
            (100, 0.01),
            (200, 0.02),
            (300, 0.05),
            (350, 0.15),
            (400, 0.2),
            (500, 0.3),
            (600, 0.4),
            (700, 0.5),
            (1000, 0.6),
            (2000, 0.67),
            (7000, 0.7),
            (30_000, 0.72),
            (50_000, 0.82),
            (80_000, 0.87),
            (120_000, 0.9),
            (300_000, 0.95),
            (1_000_000, 0.975),
            (2_000_000, 0.99),
            (10_000_000, 1.0),
        ],
    },
    NamedSizes {
        name: "alibaba_storage",
        about: "A storage cluster of Alibaba, mean 41 KB: AliStorage2019.txt of the traffic generator of HPCC, SIGCOMM \
                2019",
        unit: 1,
        points: &[
            (0, 0.0),
            (4000, 0.2293),
            (8000, 0.6921),
            (16_000, 0.8061),
            (32_000, 0.9047),
            (64_000, 0.9353),
            (128_000, 0.9677),
            (256_000, 0.9753),
            (2_000_000, 1.0),
        ],
    },
    NamedSizes {
        name: "google_rpc",
        about: "Remote procedure calls at Google, mean 3.1 KB, 78 % of them at most 512 B: \
                GoogleRPC2008.txt of the traffic generator of HPCC, SIGCOMM 2019, at the ends of its octaves",
        unit: 1,
        points: &[
            (0, 0.0),
            (3, 0.064_882_6),
            (32, 0.097_323_9),
            (64, 0.155_271),
            (128, 0.351_573),
            (256, 0.497_901),
            (512, 0.784_921),
            (1024, 0.8632),
            (2048, 0.908_862),
            (4096, 0.934_955),
            (8192, 0.964_309),
            (16_384, 0.984_694),
            (32_768, 0.990_402),
            (65_536, 0.993_256),
            (131_072, 0.997_129),
            (262_144, 0.998_453),
            (524_288, 0.999_498),
            (1_058_178, 0.999_76),
            (2_113_675, 0.999_889),
            (4_135_977, 0.999_952),
            (8_231_141, 0.999_985),
            (15_158_197, 1.0),
        ],
    },
    NamedSizes {
        name: "solar",
        about: "A storage network of Alibaba (Solar, SIGCOMM 2022), mean 39 KB, most flows of 4, 16 or 64 KiB: the table of the \
                traffic generator of ConWeave, SIGCOMM 2023",
        unit: 1,
        points: &[
            (0, 0.0),
            (4095, 0.000_01),
            (4096, 0.3),
            (16_383, 0.35),
            (16_384, 0.5),
            (65_535, 0.6),
            (65_536, 0.95),
            (262_144, 1.0),
        ],
    },
];

/// Why a table is no distribution. Points are counted from 1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SizesError {
    /// No points.
    #[error("the table of flow sizes is empty: give a size and the part of flows up to it, the last part 1")]
    Empty,
    /// A number that is no part of a whole.
    #[error("point {point}: {part} is no part of all flows: it must lie between 0 and 1{}", percent(*part))]
    Part {
        /// The point.
        point: usize,
        /// The number.
        part: f64,
    },
    /// A point that does not lie above the one before it.
    #[error("point {point} ({size}, {part}) does not rise above the one before it ({last_size}, {last_part})")]
    Falls {
        /// The point.
        point: usize,
        /// Its size.
        size: Bytes,
        /// Its part.
        part: f64,
        /// The size before it.
        last_size: Bytes,
        /// The part before it.
        last_part: f64,
    },
    /// A table that leaves flows out.
    #[error("the table ends at {part}: the last part must be 1, so that every flow has a size")]
    DoesNotEnd {
        /// The last part.
        part: f64,
    },
    /// Every flow would have no octets.
    #[error("flows of 0 B are no flows: give at least one size above it")]
    NoOctets,
    /// No distribution of that name.
    #[error("no flow sizes are called '{name}'{}; there are {}", hint(nearest), known())]
    Unknown {
        /// The name.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
}

fn percent(part: f64) -> &'static str {
    if part > 1.0 && part <= 100.0 { "; divide percent by 100" } else { "" }
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

fn known() -> String {
    NAMED.iter().map(|sizes| sizes.name).collect::<Vec<_>>().join(", ")
}

impl Sizes {
    /// All flows of one size.
    ///
    /// # Errors
    /// A size of zero.
    pub fn fixed(size: Bytes) -> Result<Sizes, SizesError> {
        Sizes::from_table(&[(size, 1.0)])
    }

    /// One of [`NAMED`].
    ///
    /// # Errors
    /// A name that is none of theirs.
    pub fn named(name: &str) -> Result<Sizes, SizesError> {
        let Some(NamedSizes { unit, points, .. }) = NAMED.iter().find(|sizes| sizes.name == name) else {
            let nearest = qcnlab_units::nearest(name, NAMED.iter().map(|sizes| sizes.name));
            return Err(SizesError::Unknown { name: name.to_owned(), nearest });
        };
        Ok(Sizes { points: points.iter().map(|(size, part)| (f64::from(*size) * f64::from(*unit), *part)).collect() })
    }

    /// A table of sizes and the part of flows up to each.
    ///
    /// # Errors
    /// A table that is empty, has parts outside 0 to 1, does not rise, does not end at 1, or has no size but 0 B.
    pub fn from_table(table: &[(Bytes, f64)]) -> Result<Sizes, SizesError> {
        for (i, (_, part)) in table.iter().enumerate() {
            if !(0.0..=1.0).contains(part) {
                return Err(SizesError::Part { point: i + 1, part: *part });
            }
        }
        for (i, pair) in table.windows(2).enumerate() {
            let ((last_size, last_part), (size, part)) = (pair[0], pair[1]);
            if size < last_size || part < last_part || pair[0] == pair[1] {
                return Err(SizesError::Falls { point: i + 2, size, part, last_size, last_part });
            }
        }
        match table.last() {
            None => Err(SizesError::Empty),
            Some((_, part)) if *part != 1.0 => Err(SizesError::DoesNotEnd { part: *part }),
            Some((Bytes::ZERO, _)) => Err(SizesError::NoOctets),
            Some(_) => Ok(Sizes { points: table.iter().map(|(size, part)| (size.as_f64(), *part)).collect() }),
        }
    }

    /// The size that a part of all flows does not exceed, rounded to whole octets, 1 B or more. `part` from 0 to 1.
    pub fn quantile(&self, part: f64) -> Bytes {
        let above = self.points.partition_point(|(_, up_to)| *up_to < part).min(self.points.len() - 1);
        let (size, up_to) = self.points[above];
        let size = match above.checked_sub(1).map(|below| self.points[below]) {
            Some((last, below)) if up_to > below => last + (size - last) * (part - below) / (up_to - below),
            _ => size,
        };
        Bytes::new(size.round().max(1.0) as u64)
    }

    /// Draws a size.
    pub fn sample(&self, dice: &mut Dice) -> Bytes {
        self.quantile(dice.uniform(0.0, 1.0))
    }

    /// The mean size in octets, before rounding.
    pub fn mean_bytes(&self) -> f64 {
        let (first, part) = self.points[0];
        let between = |pair: &[(f64, f64)]| (pair[1].1 - pair[0].1) * (pair[0].0 + pair[1].0) / 2.0;
        first * part + self.points.windows(2).map(between).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use qcnlab_schemes::dice::Purpose;

    fn bytes(table: &[(u64, f64)]) -> Vec<(Bytes, f64)> {
        table.iter().map(|(size, part)| (Bytes::new(*size), *part)).collect()
    }

    fn refusal(table: &[(u64, f64)]) -> String {
        Sizes::from_table(&bytes(table)).unwrap_err().to_string()
    }

    #[test]
    fn means_are_the_published_ones() {
        let mean = |name| Sizes::named(name).unwrap().mean_bytes();
        // Data mining: 0.5 + 0.15 + 0.25 + 0.5 + 13.7 + 59.35 + 1375.48 + 3666.67 = 5116.6 packets; pFabric says 5117.
        assert!((mean("data_mining") / 1460.0 - 5116.6).abs() < 0.05);
        // Web search: 0.9 + 0.475 + 1.6 + 2.6 + 5.59 + 6.51 + 40 + 100 + 233.3 + 350 + 400.005 = 1140.98 packets.
        assert!((mean("web_search") / 1460.0 - 1140.98).abs() < 0.005);
        // 0.75 + 0.75 + 2.5 + 4 + 8.45 + 9.8 + 60 + 150 + 350 + 525 + 600 = 1711.25 KB.
        assert!((mean("web_search_hpcc") - 1_711_250.0).abs() < 1e-6);
        assert_eq!(Sizes::fixed(Bytes::new(64_000)).unwrap().mean_bytes(), 64_000.0);
        // Alibaba: 458.6 + 2776.8 + 1368 + 2366.4 + 1468.8 + 3110.4 + 1459.2 + 27 861.6 B.
        assert!((mean("alibaba_storage") - 40_869.8).abs() < 0.1, "{}", mean("alibaba_storage"));
    }

    #[test]
    fn named_tables_obey_the_laws_of_tables() {
        for NamedSizes { name, unit, points, .. } in NAMED {
            let table: Vec<_> = points.iter().map(|(size, part)| (u64::from(size * unit), *part)).collect();
            assert_eq!(Sizes::from_table(&bytes(&table)), Sizes::named(name));
        }
    }

    #[test]
    fn quantiles_by_hand() {
        let sizes = Sizes::from_table(&bytes(&[(100, 0.25), (200, 0.5), (200, 0.75), (1000, 1.0)])).unwrap();
        let quantiles = [0.0, 0.25, 0.375, 0.5, 0.6, 0.75, 0.875, 1.0].map(|part| sizes.quantile(part).get());
        assert_eq!(quantiles, [100, 100, 150, 200, 200, 200, 600, 1000]);
        // 0.25 x 100 + 0.25 x 150 + 0.25 x 200 + 0.25 x 600.
        assert_eq!(sizes.mean_bytes(), 262.5);
        let from_nothing = Sizes::from_table(&bytes(&[(0, 0.0), (1000, 1.0)])).unwrap();
        assert_eq!([0.0, 0.0001, 0.5].map(|part| from_nothing.quantile(part).get()), [1, 1, 500]);
        let gap = Sizes::from_table(&bytes(&[(10, 0.5), (90, 0.5), (100, 1.0)])).unwrap();
        assert_eq!([0.5, 0.5001].map(|part| gap.quantile(part).get()), [10, 90]);
    }

    #[test]
    fn samples_have_the_mean() {
        let sizes = Sizes::named("web_search").unwrap();
        let mut dice = Dice::new(1, 0, "sizes", Purpose::Traffic);
        let drawn: f64 = (0..200_000).map(|_| sizes.sample(&mut dice).as_f64()).sum();
        // The standard deviation is about 2.6 times the mean: 0.6 % after 200 000 draws.
        assert!((drawn / 2e5 / sizes.mean_bytes() - 1.0).abs() < 0.02, "{drawn}");
    }

    #[test]
    fn tables_that_are_none_are_refused() {
        assert!(refusal(&[]).starts_with("the table of flow sizes is empty"));
        assert_eq!(
            refusal(&[(1, 0.5), (2, 0.9)]),
            "the table ends at 0.9: the last part must be 1, so that every flow has a size"
        );
        assert!(refusal(&[(1, 50.0), (2, 100.0)]).ends_with("between 0 and 1; divide percent by 100"));
        assert!(refusal(&[(1, f64::NAN)]).starts_with("point 1: NaN is no part of all flows"));
        assert_eq!(
            refusal(&[(1, 0.5), (2, 0.4)]),
            "point 2 (2 B, 0.4) does not rise above the one before it (1 B, 0.5)"
        );
        assert_eq!(refusal(&[(5, 0.5), (2, 1.0)]), "point 2 (2 B, 1) does not rise above the one before it (5 B, 0.5)");
        assert!(refusal(&[(5, 0.5), (5, 0.5)]).starts_with("point 2 (5 B, 0.5) does not rise"));
        assert!(refusal(&[(0, 1.0)]).starts_with("flows of 0 B are no flows"));
        let unknown = Sizes::named("websearch").unwrap_err().to_string();
        assert!(unknown.starts_with("no flow sizes are called 'websearch'; did you mean 'web_search'?"), "{unknown}");
    }

    proptest! {
        #[test]
        fn quantiles_rise_and_stay_within_the_table(
            steps in prop::collection::vec((0..5000u64, 1..10u32), 1..9),
            u in 0.0..1.0,
            v in 0.0..1.0,
        ) {
            let total: u32 = steps.iter().map(|(_, weight)| weight).sum();
            let (mut size, mut weight) = (1, 0);
            let point = |(more, part): &(u64, u32)| {
                (size, weight) = (size + more, weight + part);
                (Bytes::new(size), f64::from(weight) / f64::from(total))
            };
            let table: Vec<_> = steps.iter().map(point).collect();
            let sizes = Sizes::from_table(&table).unwrap();
            let (low, high) = (sizes.quantile(f64::min(u, v)), sizes.quantile(f64::max(u, v)));
            prop_assert!(low <= high && low >= table[0].0 && high <= table[table.len() - 1].0);
            // The mean of many quantiles is the mean, up to the rounding of each to an octet.
            let mean = (0..1000).map(|i| sizes.quantile((f64::from(i) + 0.5) / 1000.0).as_f64()).sum::<f64>() / 1000.0;
            let expected = sizes.mean_bytes();
            prop_assert!((mean - expected).abs() < 0.5 + 0.005 * expected, "{} is not {}", mean, expected);
        }
    }
}
