//! Laws of every scheme in the registry, with every preset, under random steps.

use proptest::prelude::*;
use qcnlab_schemes::conformance::{self, CpStep, RpStep};
use qcnlab_schemes::registry::{Config, catalogue};
use qcnlab_schemes::{Arrival, Bcn, Cnm, CpId, FlowId, Signal};
use qcnlab_units::{BitRate, Bytes, Span};

/// Every scheme and preset.
fn configs() -> Vec<Config> {
    let mut all = Vec::new();
    for listing in catalogue() {
        for preset in &listing.presets {
            all.push(Config::find(listing.name, Some(preset.name)).expect("listed means found"));
        }
    }
    all
}

fn signal() -> impl Strategy<Value = Signal> {
    let ids = (0..3u32).prop_map(CpId);
    let offset = -200_000..200_000i64;
    prop_oneof![
        (ids.clone(), any::<u8>(), offset.clone(), offset.clone()).prop_map(|(cp, quantized_fb, q_offset, q_delta)| {
            Signal::Cnm(Cnm { cp, quantized_fb, q_offset, q_delta })
        }),
        ids.clone().prop_map(Signal::Echo),
        ids.clone().prop_map(Signal::PushBack),
        (ids, offset.clone(), offset, prop::bool::weighted(0.1))
            .prop_map(|(cp, q_offset, q_delta, stop)| { Signal::Bcn(Bcn { cp, q_offset, q_delta, stop }) }),
    ]
}

fn rp_step() -> impl Strategy<Value = RpStep> {
    prop_oneof![
        3 => (0..20_000_000_000u64).prop_map(|ps| RpStep::Pass(Span::from_ps(ps))),
        4 => (64..9000u64, 0..3u64).prop_map(|(size, waiting)| RpStep::Sent(Bytes::new(size), Bytes::new(size * waiting))),
        2 => (64_000..200_000u64).prop_map(|size| RpStep::Sent(Bytes::new(size), Bytes::new(1))),
        2 => signal().prop_map(RpStep::Hear),
        3 => Just(RpStep::Wake),
    ]
}

fn cp_step() -> impl Strategy<Value = CpStep> {
    (
        64..9000u64,
        prop::bool::weighted(0.9),
        prop::bool::weighted(0.9),
        any::<(bool, bool)>(),
        0..4u32,
        0..5u32,
        0..150_000u64,
    )
        .prop_map(|(size, admitted, controlled, (cn_tagged, probe), limited_by, flow, len)| CpStep {
            frame: Arrival {
                flow: FlowId(flow),
                size: Bytes::new(size),
                admitted,
                controlled,
                cn_tagged,
                limited_by: limited_by.checked_sub(1).map(CpId),
                probe,
            },
            len: Bytes::new(len),
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reaction_points(steps in prop::collection::vec(rp_step(), 1..300)) {
        let line_rate = BitRate::gbps(10);
        for config in configs() {
            conformance::reaction_point(&config.reaction_point(line_rate), line_rate, &steps);
        }
    }

    #[test]
    fn congestion_points(steps in prop::collection::vec(cp_step(), 1..600)) {
        for (config, listing) in configs().iter().flat_map(|c| catalogue().into_iter().filter(|l| l.name == c.name()).map(move |l| (c, l))) {
            let id = CpId(1);
            conformance::congestion_point(&config.congestion_point(id), id, listing.speaks, Bytes::new(150_000), &steps);
        }
    }
}

#[test]
fn every_default_is_within_its_own_range() {
    use qcnlab_schemes::params::Value;
    for listing in catalogue() {
        for preset in &listing.presets {
            let both = listing.cp_fields.iter().zip(&preset.cp).chain(listing.rp_fields.iter().zip(&preset.rp));
            for (field, value) in both {
                let x = match value {
                    Some(Value::Size(x)) => x.as_f64(),
                    Some(Value::Rate(x)) => x.as_f64(),
                    Some(Value::Time(x)) => x.ps() as f64,
                    Some(Value::Number(x)) => *x,
                    Some(Value::Integer(x)) => *x as f64,
                    Some(Value::Flag(_) | Value::Text(_)) => continue,
                    None => {
                        assert!(field.optional, "{} {}: {} is unset", listing.name, preset.name, field.name);
                        continue;
                    }
                };
                assert!(field.range.holds(x), "{} {}: {} = {x}", listing.name, preset.name, field.name);
            }
        }
    }
}

#[test]
fn names_are_unique_and_hearing_matches_speaking() {
    let all = catalogue();
    for (i, listing) in all.iter().enumerate() {
        assert!(all[..i].iter().all(|other| other.name != listing.name), "{} twice", listing.name);
        assert!(listing.speaks.iter().all(|kind| listing.hears.contains(kind)), "{}", listing.name);
        assert!(!listing.presets.is_empty(), "{} has no preset", listing.name);
    }
}
