//! A run in steps is the same run.

use qcnlab_lab::units::{IdVec, Instant, Span};
use qcnlab_lab::{Control, Options, PortState, SteppedRun, run};
use qcnlab_scenario::Scenario;
use qcnlab_sim::PortId;

/// Advances in steps of `step`, looking at the ports after each; returns the digests and the last look.
fn in_steps(scenario: &Scenario, step: Span) -> (String, IdVec<PortId, PortState>) {
    let mut stepped = SteppedRun::new(scenario.clone(), None, 0).unwrap();
    let (mut at, mut ports) = (Instant::ZERO, IdVec::new());
    loop {
        at += step;
        if !stepped.advance(at).unwrap() {
            break;
        }
        ports = stepped.ports();
    }
    let outcome = stepped.end().unwrap();
    let counters = outcome.replications[0].done.counters;
    (format!("{}{counters:?}", outcome.digests()), ports)
}

fn through(scenario: &Scenario) -> String {
    let options = Options { replications: Some(1), ..Options::default() };
    let outcomes = run(std::slice::from_ref(scenario), &options, &Control::default()).unwrap();
    format!("{}{:?}", outcomes[0].digests(), outcomes[0].replications[0].done.counters)
}

fn shipped(name: &str, overrides: &[&str]) -> Scenario {
    Scenario::shipped(name).unwrap().with_overrides(overrides).unwrap()
}

#[test]
fn steps_change_nothing() {
    let short = ["warmup=1ms", "duration=40ms", "hotspot.from=5ms", "hotspot.until=30ms"];
    let star = shipped("og-hotspot-2src-10g-to-500m-rtt200us", &short);
    let paused = shipped("victim-of-pfc-40g", &["warmup=1ms", "duration=4ms", "scheme.name=none"]);
    let drained = shipped("incast-16-to-1-100g", &[]);
    for scenario in [star, paused, drained] {
        let whole = through(&scenario);
        // A step that falls on samples and bins, and one that falls on nothing.
        for step in [Span::from_us(100), Span::from_ps(77_777_777)] {
            assert_eq!(in_steps(&scenario, step).0, whole, "{} in steps of {step}", scenario.name);
        }
    }
}

/// The hot port drops to 0.5 Gb/s at 5 ms. Both sources send 10 Gb/s through a 10 Gb/s link before, so 5 ms carry
/// 6.25 MB less the time to fill, and its queue is full. PAUSE is off.
#[test]
fn ports_are_as_the_step_left_them() {
    let overrides = ["scheme.name=none", "warmup=1ms", "duration=5.1ms", "hotspot.from=5ms", "hotspot.until=5.09ms"];
    let star = shipped("og-hotspot-2src-10g-to-500m-rtt10us", &overrides);
    let mut run = SteppedRun::new(star, None, 0).unwrap();
    assert!(run.advance(Instant::ZERO + Span::from_ms(5)).unwrap());
    let before = run.ports();
    let hot = before.ids().max_by_key(|port| before[*port].queue).unwrap();
    assert_eq!(before[hot].rate.get(), 10_000_000_000);
    // 150 KB less a frame of 1500 octets at most.
    assert!((148_500..=150_000).contains(&before[hot].queue.get()), "{:?}", before[hot]);
    assert!((6_200_000..=6_250_000).contains(&before[hot].sent.get()), "{:?}", before[hot]);
    assert!(run.advance(Instant::ZERO + Span::from_us(5050)).unwrap());
    let after = run.ports()[hot];
    // 50 us at 0.5 Gb/s are 3125 octets: two frames, or three with the one under way.
    let sent = after.sent.get() - before[hot].sent.get();
    assert!(after.rate.get() == 500_000_000 && (3000..=4500).contains(&sent), "{after:?}");
    assert_eq!((after.is_paused, after.paused), (false, Span::ZERO));
}

/// PFC stops the hosts that send into a port at capacity: for part of the time, and never longer than the run.
#[test]
fn pauses_add_up() {
    let scenario = shipped("victim-of-pfc-40g", &["warmup=1ms", "duration=4ms", "scheme.name=none"]);
    let mut run = SteppedRun::new(scenario, None, 0).unwrap();
    let (mut seen, mut last) = (false, vec![Span::ZERO; 0]);
    for step in 1..40 {
        run.advance(Instant::ZERO + Span::from_us(100 * step)).unwrap();
        let ports = run.ports();
        seen |= ports.iter().any(|port| port.is_paused);
        let now: Vec<Span> = ports.iter().map(|port| port.paused).collect();
        assert!(last.iter().zip(&now).all(|(before, now)| before <= now), "time paused never shrinks");
        assert!(now.iter().all(|paused| *paused <= Span::from_us(100 * step)));
        last = now;
    }
    assert!(seen && last.iter().any(|paused| *paused > Span::from_us(100)), "{last:?}");
}
