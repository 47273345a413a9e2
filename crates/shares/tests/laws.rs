//! Shares of flows that come and go against those of all at once, and a run of flows over one link by hand.

use qcnlab_shares::{ActiveShares, Claim, FlowLevel, FlowNetwork, FluidFlow, max_min_rates};
use qcnlab_units::{Instant, Span};

/// The next number of a linear congruential generator (Knuth's MMIX), below `below`.
fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

#[test]
fn flows_that_come_and_go_have_the_shares_of_all_at_once() {
    let mut state = 7;
    let capacities: Vec<f64> = (0..12).map(|_| 1.0 + draw(&mut state, 9) as f64).collect();
    let mut shares = ActiveShares::new(capacities.clone(), ActiveShares::EXACT);
    let mut there: Vec<(u32, Claim)> = Vec::new();
    for _ in 0..2000 {
        if there.len() > 30 || (!there.is_empty() && draw(&mut state, 3) == 0) {
            let index = draw(&mut state, there.len() as u64) as usize;
            shares.remove(there.swap_remove(index).0);
        } else {
            let first = draw(&mut state, 10) as u32;
            let claim = Claim::along(&[first, first + 1 + draw(&mut state, 2) as u32], None);
            there.push((shares.add(claim.clone()), claim));
        }
        shares.update();
        let claims: Vec<Claim> = there.iter().map(|(_, claim)| claim.clone()).collect();
        for ((flow, _), expected) in there.iter().zip(max_min_rates(&capacities, &claims)) {
            assert!((shares.rate_bps(*flow) - expected).abs() <= 1e-7 * expected, "{expected}");
        }
    }
}

struct OneLink;

impl FlowNetwork for OneLink {
    fn flow(&self, number: u32) -> FluidFlow {
        let bits = [12e3, 24e3, 12e3][number as usize];
        FluidFlow { claim: Claim::along(&[0], None), bits, alone: Span::from_ns((bits + 1e3) as u64), back: Span::ZERO }
    }
}

/// A link of 1 Gb/s: 12 and 24 kbit from the start share it for 24 us; then the second has 12 left, which takes 12 us alone.
/// A third that starts just then, at 36 us, has it alone. Each is there 1 us later.
#[test]
fn flows_share_one_link() {
    let starts = [0, 0, 36].map(|us| Instant::ZERO + Span::from_us(us));
    let end = Instant::ZERO + Span::from_us(100);
    let mut run = FlowLevel::new(&OneLink, vec![1e9], &starts, Vec::new(), end, ActiveShares::EXACT);
    assert!(run.run(&mut |_| true) && !run.goes_on());
    let finished = run.passages().iter().map(|passage| passage.finished.ps() / 1_000_000).collect::<Vec<_>>();
    assert_eq!((finished, run.events()), (vec![25, 37, 49], 6));
}
