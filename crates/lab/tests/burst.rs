//! When frames leave a limiter with a burst, beside times computed from the definition alone: frames go back to back
//! until their octets reach the burst, and the next may go when all of them would have gone at the limiter's rate.

use proptest::prelude::*;
use qcnlab_lab::{Control, Data, Options, run};
use qcnlab_scenario::Scenario;

/// The picosecond at which each frame has left the switch, up to `end`: one source at 10 Gb/s, a limiter of 1 Gb/s,
/// a link of 5 ms, a switch.
fn departures(frame: u64, burst: u64, end: u64) -> Vec<u64> {
    let frames = burst.div_ceil(frame).max(1);
    let (on_wire, in_budget) = (frame * 800, frame * 8_000);
    let starts =
        (0..).map(|run| run * frames * in_budget).flat_map(|start| (0..frames).map(move |i| start + i * on_wire));
    // The source's own transmission, 5 ms, the switch's.
    starts.map(|start| start + on_wire + 5_000_000_000 + on_wire).take_while(|left| *left <= end).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_leave_in_bursts(frame in 64..3000u64, burst in 0..40_000u64) {
        let bin = frame * 800 + 1;
        // FECN limits to C/10 from the start, and its first probe comes back after the end.
        let text = format!(
            "duration = \"7 ms\"\n[topology]\nkind = \"star\"\nsources = 1\nrate = \"10 Gb/s\"\nrtt = \"10 ms\"\n\
             buffer = \"1 MB\"\n[[adapter]]\nonly = \"source1\"\nburst = \"{burst} B\"\n[[traffic]]\narrivals = \
             \"saturated\"\nframe = \"{frame} B\"\n[record]\nthroughput_bin = \"{bin} ps\"\n[scheme]\nname = \
             \"fecn\"\n[scheme.cp]\nstart_flows = 10\ninterval = \"1 s\"\n[scheme.rp]\nstart_flows = 10\nprobe_every = \"1 s\"\n"
        );
        let scenario = Scenario::parse(&text, "burst.toml").unwrap_or_else(|error| panic!("{error}"));
        let outcome = run(&[scenario], &Options::default(), &Control::default()).unwrap().remove(0);
        let table = outcome.table("throughput").unwrap();
        let rates = table.columns.iter().find(|column| column.name == "rate_bps").unwrap();
        let Data::F64(rates) = &rates.data else { panic!("rates are real numbers") };
        let counted: Vec<u64> = rates.iter().map(|rate| (rate * bin as f64 * 1e-12 / 8.0 / frame as f64).round() as u64).collect();
        let mut expected = vec![0; counted.len()];
        for left in departures(frame, burst, bin * counted.len() as u64) {
            // A frame that leaves as a bin ends counts in that bin.
            expected[(left - 1) as usize / bin as usize] += 1;
        }
        prop_assert_eq!(counted, expected);
    }
}

/// Three frames of 1500 octets each 36 us: 1.2, 2.4 and 3.6 us, and 5001.2 us more to leave the switch.
#[test]
fn a_burst_of_three_frames() {
    let us = |tenths: u64| tenths * 100_000;
    assert_eq!(departures(1500, 4500, us(50_390)), [50_024, 50_036, 50_048, 50_384].map(us));
}
