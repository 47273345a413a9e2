//! Shares against numbers worked out by hand and against the laws that define them.

use super::*;
use crate::topology::{Cable, Network, NodeId, Routes, chain, fat_tree, parking_lot, single_switch};
use proptest::prelude::*;
use qcnlab_units::{Id, Span};

const G: f64 = 1e9;
const CABLE: Cable = Cable { rate: BitRate::gbps(10), delay: Span::from_us(1) };

fn claims(network: &Network, pairs: &[(&str, &str)], ceiling: Option<BitRate>) -> Vec<Claim> {
    let mut routes = Routes::new(network).unwrap();
    let node = |name: &str| network.node(name).unwrap();
    pairs.iter().map(|(from, to)| Claim::along(&routes.first(node(from), node(to)).unwrap(), ceiling)).collect()
}

fn assert_close(solution: &[f64], expected: &[f64], to: f64) {
    let off = |(x, y): (&f64, &f64)| (x - y).abs() <= to * y;
    assert!(
        solution.len() == expected.len() && solution.iter().zip(expected).all(off),
        "{solution:?} is not {expected:?}"
    );
}

#[test]
fn parking_lot_as_printed() {
    // Deck 004, slide 30: max-min 2 Gb/s for all; proportional h and c with c = 2 h and 4 h + c = 10 Gb/s.
    let network = parking_lot(2, 4, CABLE, CABLE).unwrap();
    let pairs = ["long1", "long2", "long3", "long4"].map(|from| (from, "sink"));
    let pairs = [&pairs[..], &[("cross1", "exit1"), ("cross2", "exit2")]].concat();
    let claims = claims(&network, &pairs, None);
    let capacities = network.capacities_bps();
    assert_eq!(max_min(&capacities, &claims).unwrap(), [2.0 * G; 6]);
    let (hot, cold) = (5.0 / 3.0 * G, 10.0 / 3.0 * G);
    assert_close(&proportional(&capacities, &claims).unwrap(), &[hot, hot, hot, hot, cold, cold], 1e-9);
}

#[test]
fn input_generated_hotspot_as_printed() {
    // Deck 004, slide 13: four culprits and a victim of 5 Gb/s each; the culprits' 20 Gb/s meet at 10 Gb/s.
    let network = chain(2, 5, CABLE, Cable { rate: BitRate::gbps(40), ..CABLE }).unwrap();
    let pairs = [("host1", "host6"), ("host2", "host6"), ("host3", "host6"), ("host4", "host6"), ("host5", "host7")];
    let claims = claims(&network, &pairs, Some(BitRate::gbps(5)));
    let shares = [2.5 * G, 2.5 * G, 2.5 * G, 2.5 * G, 5.0 * G];
    assert_eq!(max_min(&network.capacities_bps(), &claims).unwrap(), shares);
    assert_close(&proportional(&network.capacities_bps(), &claims).unwrap(), &shares, 1e-9);
}

/// The flows of deck 004, slide 25: a stage sends to the next one's first and second node and to the last one's second.
fn twenty_stages() -> Vec<(String, String)> {
    let name = |i: u32| format!("host{i}");
    let flows = |i: u32| {
        [(3 * i + 1, 3 * (i + 1) + 1), (3 * i + 2, 59), (3 * i + 3, 3 * (i + 1) + 2)].map(|(a, b)| (name(a), name(b)))
    };
    (0..19).flat_map(flows).collect()
}

#[test]
fn twenty_stages_by_hand() {
    let network = chain(20, 3, CABLE, CABLE).unwrap();
    let pairs = twenty_stages();
    let pairs: Vec<_> = pairs.iter().map(|(from, to)| (&**from, &**to)).collect();
    let solution = max_min(&network.capacities_bps(), &claims(&network, &pairs, None)).unwrap();
    // The last trunk has 19 long flows and two short ones, 21 in all; the link to node 59 has the 20 that go there.
    // A trunk before it, of i + 1 long flows, has two short ones that split what these leave.
    let long = 10.0 * G / 21.0;
    for (i, stage) in solution.chunks(3).enumerate() {
        let short = if i == 18 { long } else { (10.0 * G - (i + 1) as f64 * long) / 2.0 };
        assert_close(stage, &[short, long, short], 1e-12);
    }
    // With wide trunks node 59's own link is the bottleneck of its 20 flows: 0.5 Gb/s each.
    let wide = chain(20, 3, CABLE, Cable { rate: BitRate::gbps(400), ..CABLE }).unwrap();
    let solution = max_min(&wide.capacities_bps(), &claims(&wide, &pairs, None)).unwrap();
    let to_59 = |pair: &&(&str, &str)| pair.1 == "host59";
    assert_eq!(pairs.iter().filter(to_59).count(), 20);
    assert!(
        pairs.iter().zip(&solution).all(|(pair, rate)| *rate == if pair.1 == "host59" { 0.5 * G } else { 10.0 * G })
    );
}

#[test]
fn twenty_stages_obey_the_conditions() {
    let network = chain(20, 3, CABLE, CABLE).unwrap();
    let pairs = twenty_stages();
    let pairs: Vec<_> = pairs.iter().map(|(from, to)| (&**from, &**to)).collect();
    let claims = claims(&network, &pairs, None);
    assert!(distance_from_optimum(&network.capacities_bps(), &claims) < 1e-9);
}

#[test]
fn ceilings_that_just_touch() {
    // One flow wants exactly its share: its price is zero and so is its room.
    let claims: Vec<Claim> = [Some(5.0), None].map(|c| Claim { links: vec![(0, 1.0)], ceiling_bps: c }).into();
    assert_close(&proportional(&[10.0], &claims).unwrap(), &[5.0, 5.0], 1e-9);
    assert_eq!(max_min(&[10.0], &claims).unwrap(), [5.0, 5.0]);
}

#[test]
fn a_flow_over_several_ways_is_split_evenly() {
    // Link 0 carries all of both flows, links 1 and 2 half of the first each; the second has link 1 as well.
    let claims = [Claim::split([&[0u32, 1][..], &[0, 2]].into_iter(), None), Claim::along(&[0, 1], None)];
    assert_eq!(claims[0].links, [(0, 1.0), (1, 0.5), (2, 0.5)]);
    // Link 1 is full at x / 2 + y = 6, link 0 at x + y = 10. Max-min: x = y = 4, where link 1 is full.
    assert_eq!(max_min(&[10.0, 6.0, 100.0], &claims).unwrap(), [4.0, 4.0]);
    // Proportional: link 1 alone gives x = 6, y = 3, which link 0 lets pass.
    assert_close(&proportional(&[10.0, 6.0, 100.0], &claims).unwrap(), &[6.0, 3.0], 1e-9);
}

#[test]
fn nothing_is_dealt_out_where_there_is_nothing() {
    let claims = [Claim::along(&[0], None), Claim::along(&[0, 1], None), Claim::along(&[0], Some(BitRate::ZERO))];
    for shares in [max_min, proportional] {
        assert_eq!(shares(&[8.0, 0.0], &claims).unwrap(), [8.0, 0.0, 0.0]);
        assert_eq!(shares(&[8.0, 0.0], &[]).unwrap(), [0.0; 0]);
    }
}

#[test]
fn faults_are_named() {
    let along = |links: &[u32]| Claim::along(links, None);
    let ceiling = |c| Claim { ceiling_bps: Some(c), ..along(&[0]) };
    let share = |share| Claim { links: vec![(0, share)], ceiling_bps: None };
    for shares in [max_min, proportional] {
        let said = |capacities: &[f64], claim: Claim| shares(capacities, &[claim]).unwrap_err().to_string();
        assert!(said(&[1.0], along(&[1])).starts_with("flow 0 uses link 1"));
        assert!(said(&[f64::NAN], along(&[0])).starts_with("link 0 has a capacity of NaN b/s"));
        assert!(said(&[1.0, -1.0], along(&[0])).starts_with("link 1 has a capacity of -1 b/s"));
        assert!(said(&[1.0], ceiling(-2.0)).starts_with("flow 0 has a ceiling of -2 b/s"));
        assert!(said(&[1.0], share(0.0)).starts_with("flow 0 puts 0 of its rate on link 0"));
        assert!(said(&[1.0], along(&[])).starts_with("flow 0 crosses no link and has no ceiling"));
        let twice = Claim { links: vec![(0, 1.0), (0, 1.0)], ceiling_bps: None };
        assert!(said(&[1.0], twice).starts_with("flow 0 puts 1 of its rate on link 0"));
    }
}

#[test]
fn a_permutation_over_a_fat_tree_is_solved() {
    let network = fat_tree(8, CABLE, CABLE).unwrap();
    let mut routes = Routes::new(&network).unwrap();
    let flow =
        |i: u32| routes.path_of_flow(NodeId::new(i), NodeId::new((i * 5 + 64) % 128), &format!("flow{i}"), 1).ok();
    let claims: Vec<Claim> = (0..128).filter_map(flow).map(|path| Claim::along(&path, None)).collect();
    let capacities = network.capacities_bps();
    assert!(distance_from_optimum(&capacities, &claims) < 1e-9);
    assert!(is_max_min(&capacities, &claims, &max_min(&capacities, &claims).unwrap(), 1e-12));
}

/// The flows on each link, and how much of each flow.
fn members(links: usize, claims: &[Claim]) -> Vec<Vec<(u32, f64)>> {
    let mut members = vec![Vec::new(); links];
    for (flow, claim) in (0..).zip(claims) {
        claim.links.iter().for_each(|(link, share)| members[*link as usize].push((flow, *share)));
    }
    members
}

fn loads(links: usize, claims: &[Claim], rates: &[f64]) -> Vec<f64> {
    let on = |flows: &Vec<(u32, f64)>| flows.iter().map(|(flow, share)| share * rates[*flow as usize]).sum();
    members(links, claims).iter().map(on).collect()
}

fn is_feasible(capacities: &[f64], claims: &[Claim], rates: &[f64]) -> bool {
    let fits =
        loads(capacities.len(), claims, rates).iter().zip(capacities).all(|(load, c)| *load <= c * (1.0 + 1e-12));
    fits && claims.iter().zip(rates).all(|(claim, rate)| *rate <= claim.ceiling() && *rate >= 0.0)
}

/// Every flow is at its ceiling, or has a full link on which none is faster, to a part `to`.
fn is_max_min(capacities: &[f64], claims: &[Claim], rates: &[f64], to: f64) -> bool {
    let (members, loads) = (members(capacities.len(), claims), loads(capacities.len(), claims, rates));
    let full = |link: usize| loads[link] >= capacities[link] * (1.0 - to);
    let held = |flow: usize| {
        let slower = |link: usize| {
            members[link].iter().all(|(other, _)| rates[*other as usize] * (1.0 - to) <= rates[flow] * (1.0 + to))
        };
        rates[flow] == claims[flow].ceiling()
            || claims[flow].links.iter().any(|(link, _)| full(*link as usize) && slower(*link as usize))
    };
    is_feasible(capacities, claims, rates) && (0..claims.len()).all(held)
}

/// How far rates and prices are from the conditions of the optimum, which are sufficient as well as necessary: a flow
/// pays for its share, 1 = r (A' p), or pays less and cannot have more whatever the prices; and links that are not full
/// cost nothing. 0 at the optimum, infinite where the rates cannot be had.
fn distance_from_optimum(capacities: &[f64], claims: &[Claim]) -> f64 {
    let (rates, prices) = super::proportional::priced(capacities, claims).unwrap();
    if !is_feasible(capacities, claims, &rates) {
        return f64::INFINITY;
    }
    let (members, loads) = (members(capacities.len(), claims), loads(capacities.len(), claims, &rates));
    let live = |link: usize| members[link].iter().filter(|(flow, _)| rates[*flow as usize] > 0.0).count();
    let alone = |(link, share): &(u32, f64)| match live(*link as usize) {
        1 => capacities[*link as usize] / share,
        _ => f64::INFINITY,
    };
    let flow = |flow: usize| {
        let (claim, rate) = (&claims[flow], rates[flow]);
        let cost: f64 = claim.links.iter().map(|(link, share)| share * prices[*link as usize]).sum();
        let most = claim.links.iter().map(alone).fold(claim.ceiling(), f64::min);
        let unpaid = 1.0 - rate * cost;
        if rate == 0.0 { 0.0 } else { unpaid.abs().min((1.0 - rate / most).max(-unpaid)) }
    };
    let link = |link: usize| prices[link] * (capacities[link] - loads[link]);
    (0..claims.len()).map(flow).chain((0..capacities.len()).map(link)).fold(0.0, f64::max)
}

#[test]
fn a_single_switch_with_many_flows_is_quick() {
    let network = single_switch(401, CABLE).unwrap();
    let names: Vec<String> = (1..=400).map(|i| format!("host{i}")).collect();
    let pairs: Vec<_> = names.iter().map(|name| (&**name, "host401")).collect();
    let claims = claims(&network, &pairs, None);
    assert_close(&proportional(&network.capacities_bps(), &claims).unwrap(), &[0.025 * G; 400], 1e-9);
}

#[test]
fn more_links_than_can_be_solved_for_are_refused() {
    // Each flow joins two links that one more flow keeps busy.
    let pairs = (0..4000).flat_map(|i| [Claim::along(&[i, i + 1], None), Claim::along(&[i], None)]);
    let claims: Vec<Claim> = pairs.collect();
    let said = proportional(&[1.0; 4001], &claims).unwrap_err().to_string();
    assert!(said.ends_with("2048 links are the most; use max-min"), "{said}");
    assert!(is_max_min(&[1.0; 4001], &claims, &max_min(&[1.0; 4001], &claims).unwrap(), 1e-12));
}

#[test]
fn shared_and_wide_links_are_left_out() {
    // Link 1 carries what link 0 carries and more, at the same rate; link 2 only what its flow can have.
    let claims = [Claim::along(&[0, 1, 2], None), Claim::along(&[0, 1], None), Claim::along(&[1], None)];
    let (rates, prices) = super::proportional::priced(&[9.0, 9.0, 1.0], &claims).unwrap();
    assert_close(&rates, &[1.0, 4.0, 4.0], 1e-9);
    assert!(prices[0] == 0.0 && prices[2] == 0.0 && (prices[1] - 0.25).abs() < 1e-9, "{prices:?}");
}

/// Links of 1 to 10 units and flows over some of them, in whole or in part, a third of them with ceilings.
fn problems() -> impl Strategy<Value = (Vec<f64>, Vec<Claim>)> {
    let claim = |links: u32| {
        let part = prop::sample::select(vec![1.0, 0.5, 0.25, 1.0 / 3.0]);
        let share = (0..links, prop_oneof![Just(1.0), part]);
        let ceiling = prop::option::weighted(0.3, prop_oneof![0.01..12.0, (1..10u32).prop_map(f64::from)]);
        (
            prop::collection::btree_map(
                share.clone().prop_map(|(link, _)| link),
                share.prop_map(|(_, part)| part),
                1..5,
            ),
            ceiling,
        )
            .prop_map(|(links, ceiling_bps)| Claim { links: links.into_iter().collect(), ceiling_bps })
    };
    (1..9u32).prop_flat_map(move |links| {
        let capacity = prop_oneof![(1..10u32).prop_map(f64::from), 1.0..10.0];
        (prop::collection::vec(capacity, links as usize), prop::collection::vec(claim(links), 1..14))
    })
}

fn scaled(capacities: &[f64], claims: &[Claim], by: f64) -> (Vec<f64>, Vec<Claim>) {
    let scale = |claim: &Claim| Claim { ceiling_bps: claim.ceiling_bps.map(|c| c * by), ..claim.clone() };
    (capacities.iter().map(|c| c * by).collect(), claims.iter().map(scale).collect())
}

/// Flows over one link of 12 come and go: 12, 6 each, 4 each, then 6 each again. One with a ceiling of 2 leaves 5 each to
/// two others.
#[test]
fn active_flows_share_one_link() {
    let mut shares = ActiveShares::new(vec![12.0], ActiveShares::EXACT);
    let mut flows: Vec<u32> = Vec::new();
    for share in [12.0, 6.0, 4.0] {
        flows.push(shares.add(Claim::along(&[0], None)));
        shares.update();
        assert!(flows.iter().all(|flow| shares.rate_bps(*flow) == share));
    }
    shares.remove(flows[1]);
    assert_eq!(shares.update(), [flows[0], flows[2]]);
    assert_eq!([flows[0], flows[2]].map(|flow| shares.rate_bps(flow)), [6.0, 6.0]);
    let held = shares.add(Claim { links: vec![(0, 1.0)], ceiling_bps: Some(2.0) });
    assert_eq!(held, flows[1], "a place is used again");
    shares.update();
    assert_eq!([flows[0], held, flows[2]].map(|flow| shares.rate_bps(flow)), [5.0, 2.0, 5.0]);
}

/// What comes and goes on one pair of links leaves the others alone: a thousand pairs, and one rate is worked out for each
/// flow that comes, two where it meets another.
#[test]
fn flows_elsewhere_are_not_worked_out_anew() {
    let mut shares = ActiveShares::new(vec![10.0; 2000], ActiveShares::EXACT);
    for pair in 0..1000 {
        shares.add(Claim::along(&[2 * pair, 2 * pair + 1], None));
        shares.update();
    }
    assert_eq!(shares.filled(), 1000);
    let second = shares.add(Claim::along(&[10, 11], None));
    assert_eq!(shares.update().len(), 2);
    shares.remove(second);
    assert_eq!(shares.update().len(), 1);
    assert_eq!(shares.filled(), 1003);
}

/// Link 0 of 4 holds flow a, which also crosses link 1 of 10 with flow b: a 4, b 6. A second flow on link 0 halves a, and b,
/// two links away, rises to 8; a second flow on link 1 at a ceiling of 1 takes that from b alone.
#[test]
fn a_change_reaches_as_far_as_it_matters() {
    let mut shares = ActiveShares::new(vec![4.0, 10.0], ActiveShares::EXACT);
    let [a, b] = [&[0, 1][..], &[1]].map(|path| shares.add(Claim::along(path, None)));
    shares.update();
    assert_eq!([shares.rate_bps(a), shares.rate_bps(b)], [4.0, 6.0]);
    let c = shares.add(Claim::along(&[0], None));
    shares.update();
    assert_eq!([a, b, c].map(|flow| shares.rate_bps(flow)), [2.0, 8.0, 2.0]);
    shares.add(Claim { links: vec![(1, 1.0)], ceiling_bps: Some(1.0) });
    assert_eq!(shares.update().len(), 2);
    assert_eq!([a, b, c].map(|flow| shares.rate_bps(flow)), [2.0, 7.0, 2.0]);
}

proptest! {
    /// Flows come and go in any order, several at a time. After each change no link is overfull, each flow has a bottleneck
    /// within the tolerance, and without one the shares are those worked out from all flows at once.
    #[test]
    fn active_shares_are_those_of_all_flows_at_once(
        (capacities, claims) in problems(),
        steps in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..60),
        tolerance in prop::sample::select(vec![ActiveShares::EXACT, 0.01, 0.1]),
    ) {
        let mut shares = ActiveShares::new(capacities.clone(), tolerance);
        let mut there: Vec<Option<u32>> = vec![None; claims.len()];
        for (index, last_of_batch) in steps {
            let which = index.index(claims.len());
            match there[which].take() {
                Some(flow) => shares.remove(flow),
                None => there[which] = Some(shares.add(claims[which].clone())),
            }
            if !last_of_batch {
                continue;
            }
            shares.update();
            let live = || (0..claims.len()).filter_map(|i| Some((claims[i].clone(), there[i]?)));
            let (all, flows): (Vec<Claim>, Vec<u32>) = live().unzip();
            let rates: Vec<f64> = flows.iter().map(|flow| shares.rate_bps(*flow)).collect();
            prop_assert!(is_max_min(&capacities, &all, &rates, tolerance), "{rates:?}");
            if tolerance == ActiveShares::EXACT {
                let expected = max_min(&capacities, &all).unwrap();
                for (rate, expected) in rates.iter().zip(&expected) {
                    prop_assert!((rate - expected).abs() <= 1e-7 * expected.max(1e-3), "{rates:?} {expected:?}");
                }
            }
        }
    }

    #[test]
    fn max_min_gives_every_flow_a_bottleneck((capacities, claims) in problems()) {
        prop_assert!(is_max_min(&capacities, &claims, &max_min(&capacities, &claims).unwrap(), 1e-12));
    }

    #[test]
    fn proportional_shares_meet_the_conditions((capacities, claims) in problems()) {
        let off = distance_from_optimum(&capacities, &claims);
        prop_assert!(off < 1e-9, "{off}");
    }

    #[test]
    fn shares_scale_with_the_links((capacities, claims) in problems(), power in -3..11) {
        let by = 10f64.powi(power);
        let (wide, more) = scaled(&capacities, &claims, by);
        for shares in [max_min, proportional] {
            let expected: Vec<f64> = shares(&capacities, &claims).unwrap().iter().map(|rate| rate * by).collect();
            assert_close(&shares(&wide, &more).unwrap(), &expected, 1e-9);
        }
    }

    #[test]
    fn ceilings_at_the_shares_change_nothing((capacities, claims) in problems(), every in 1..4usize) {
        for shares in [max_min, proportional] {
            let free = shares(&capacities, &claims).unwrap();
            let held = |(i, claim): (usize, &Claim)| match i % every {
                0 => Claim { ceiling_bps: Some(free[i]), ..claim.clone() },
                _ => claim.clone(),
            };
            let held: Vec<Claim> = claims.iter().enumerate().map(held).collect();
            assert_close(&shares(&capacities, &held).unwrap(), &free, 1e-9);
        }
    }
}
