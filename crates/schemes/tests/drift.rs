//! The drift timer of decks 000, 001 and 004, on every scheme that limits.

use qcnlab_schemes::params::{Field, Table, Value};
use qcnlab_schemes::registry::{AnyRp, Config, catalogue};
use qcnlab_schemes::{
    Bcn, Cnm, CpId, Dice, Probe, ProbeKind, Purpose, QueueLen, ReactionPoint, Signal, SignalKind, SourcePause,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

const LINE_RATE: BitRate = BitRate::gbps(10);

/// Five of the rate steps that the hardware of deck 002 has.
const STEP: BitRate = BitRate::mbps(16);

/// No timer of any preset is due at a multiple of this within 50 us.
const EVERY: Span = Span::from_us(11);

fn dice() -> Dice {
    Dice::new(1, 0, "drift", Purpose::Reaction)
}

fn set(table: &mut dyn Table, name: &str, value: Value) {
    let index = table.fields().iter().position(|field| field.name == name);
    table.set(index.unwrap_or_else(|| panic!("no {name}")), Some(value));
}

fn drifting(config: &Config, every: Span) -> Config {
    let mut config = config.clone();
    set(config.rp_mut(), "drift_every", Value::Time(every));
    set(config.rp_mut(), "drift_step", Value::Rate(STEP));
    config
}

/// Signals of congestion at time zero, enough for a limiter of any scheme that hears `kind`.
fn congestion(kind: SignalKind) -> Vec<Signal> {
    let cp = CpId(0);
    let one = match kind {
        SignalKind::Cnm => Signal::Cnm(Cnm { cp, quantized_fb: 32, q_offset: -10_000, q_delta: 0 }),
        SignalKind::Bcn => Signal::Bcn(Bcn { cp, q_offset: -10_000, q_delta: 0, stop: false }),
        SignalKind::Cnp => Signal::Cnp,
        SignalKind::Reflection => Signal::Reflection(-32),
        SignalKind::ReceivedRate => Signal::ReceivedRate(BitRate::gbps(1)),
        SignalKind::Credit => Signal::Credit(Bytes::new(1_000_000)),
        SignalKind::SourcePause => Signal::SourcePause(SourcePause { cp, time: Span::from_us(10) }),
        // The network card takes one message in 150 as a sample.
        SignalKind::QueueLen => {
            let message = QueueLen { cp, len: Bytes::new(60_000), arrived: Bytes::new(1000) };
            return vec![Signal::QueueLen(message); 151];
        }
        SignalKind::Returned => {
            let rate = BitRate::gbps(1);
            Signal::Returned(Probe { kind: ProbeKind::Path, asked_at: Instant::ZERO, sent: Bytes::ZERO, rate })
        }
        SignalKind::Echo | SignalKind::PushBack | SignalKind::Answer => return Vec::new(),
    };
    vec![one]
}

/// The reaction point after the first kind of signal that makes it limit; `None` if none does.
fn limited(config: &Config, hears: &[SignalKind]) -> Option<AnyRp> {
    hears.iter().find_map(|kind| {
        let mut rp = config.reaction_point(LINE_RATE);
        for signal in congestion(*kind) {
            rp.on_signal(Instant::ZERO, &signal, &mut dice());
        }
        (rp.next_wake() != Instant::NEVER || rp.limit().is_some()).then_some(rp)
    })
}

/// Whether any of the kinds says how fast. Credit says how much may go, and a pause for how long nothing.
fn says_how_fast(hears: &[SignalKind]) -> bool {
    hears.iter().any(|kind| ![SignalKind::Credit, SignalKind::SourcePause].contains(kind))
}

/// Every scheme that limits a rate, with each preset, and what it hears.
fn limiting() -> Vec<(Config, &'static [SignalKind])> {
    let mut all = Vec::new();
    for listing in catalogue() {
        for preset in &listing.presets {
            let config = Config::find(listing.name, Some(preset.name)).expect("listed means found");
            if says_how_fast(listing.hears) && limited(&config, listing.hears).is_some() {
                all.push((config, listing.hears));
            }
        }
    }
    all
}

/// Wakes it whenever it asks to be, up to `until`.
fn wait(rp: &mut AnyRp, until: Instant) {
    while rp.next_wake() <= until {
        rp.on_wake(rp.next_wake(), &mut dice());
    }
}

#[test]
fn every_scheme_that_hears_of_congestion_limits_and_has_the_drift_timer() {
    for listing in catalogue().iter().filter(|listing| says_how_fast(listing.hears)) {
        let name = listing.name;
        let config = Config::find(name, None).expect("listed means found");
        assert!(limited(&config, listing.hears).is_some(), "{name}: no signal here makes it limit: add one");
        let field = |wanted: &str| -> &Field {
            let own = listing.rp_fields.iter().find(|field| field.name == wanted);
            own.unwrap_or_else(|| panic!("{name} has no {wanted}: give it parts::drift, as ecm does"))
        };
        for (wanted, about) in [
            ("drift_every", "How often the rate drifts up by itself, whatever is heard; 0 s for never."),
            ("drift_step", "How far it drifts each time."),
        ] {
            assert_eq!(field(wanted).about.trim(), about, "{name}: {wanted}");
            assert_eq!(field(wanted).range.min, 0.0, "{name}: {wanted}");
        }
    }
}

/// Beside a twin without it: a step more at 11, 22, 33 and 44 us, and the other timers are due as they were.
#[test]
fn in_silence_the_rate_climbs_by_the_step_and_other_timers_go_on() {
    for (config, hears) in limiting() {
        let name = format!("{} {}", config.name(), config.preset());
        let start = |every| limited(&drifting(&config, every), hears).expect("it limited before");
        let (mut rp, mut twin) = (start(EVERY), start(Span::ZERO));
        for period in 1..=4 {
            let due = Instant::ZERO + Span::from_us(11 * period);
            wait(&mut rp, Instant::from_ps(11_000_000 * period - 1));
            wait(&mut twin, due);
            assert_eq!(rp.next_wake(), due, "{name}");
            rp.on_wake(due, &mut dice());
            let climbed = twin.gauge().current_rate + BitRate::bps(period * STEP.get());
            assert_eq!(rp.gauge().current_rate, climbed, "{name} at {due}");
            assert_eq!(rp.limit(), Some(climbed), "{name} at {due}");
            assert_eq!(rp.next_wake(), twin.next_wake().min(due + EVERY), "{name} at {due}");
        }
    }
}

/// 10 Gb/s / 16 Mb/s = 625 steps of 11 us each are 6.9 ms.
#[test]
fn nobody_is_stranded_and_nobody_passes_the_line_rate() {
    for (config, hears) in limiting() {
        let mut rp = limited(&drifting(&config, EVERY), hears).expect("it limited before");
        wait(&mut rp, Instant::ZERO + Span::from_ms(7));
        assert_eq!(rp.gauge().current_rate, LINE_RATE, "{} {}", config.name(), config.preset());
    }
}
