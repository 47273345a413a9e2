//! A scheme from outside the workspace: additive increase, multiplicative decrease, in the standard hotspot.

use qcnlab_lab::{Control, METRICS, Options, Outcome, RunError, Task, run, run_each};
use qcnlab_scenario::Scenario;
use qcnlab_scenario::foreign::{LoadError, install};
use qcnlab_schemes::conformance::{self, CpStep, RpStep};
use qcnlab_schemes::foreign::{Failure, ForeignCp, ForeignRp, ForeignScheme, Parameters, give_up, quantity};
use qcnlab_schemes::params::{Scalar, Value};
use qcnlab_schemes::registry::Config;
use qcnlab_schemes::{
    Arrival, Cnm, CongestionPoint, CpAction, CpId, Dice, Endpoint, FlowId, Gauge, Queue, ReactionPoint, Signal,
    SignalKind, Stamp,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const LINE: BitRate = BitRate::gbps(10);
const EVERY: Span = Span::from_ms(1);
const CNM: [SignalKind; 1] = [SignalKind::Cnm];
const CNM_AND_CNP: [SignalKind; 2] = [SignalKind::Cnm, SignalKind::Cnp];

/// What a test wants to go wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    Fails,
    WakesInThePast,
    SpeaksOtherwise,
    SaysNothing,
    IsNotHeard,
}

#[derive(Debug)]
struct Aimd {
    name: String,
    parameters: Parameters,
    step: BitRate,
    flaw: Flaw,
}

#[derive(Clone, Debug)]
struct Port {
    id: CpId,
    frames: u32,
    flaw: Flaw,
}

#[derive(Clone, Debug)]
struct Limiter {
    line: BitRate,
    rate: Option<BitRate>,
    step: BitRate,
    wake: Instant,
    flaw: Flaw,
}

impl ForeignScheme for Aimd {
    fn name(&self) -> &str {
        &self.name
    }
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }
    fn fingerprint(&self) -> &str {
        "aimd 1"
    }
    fn hears(&self) -> &[SignalKind] {
        &CNM
    }
    fn speaks(&self) -> &[SignalKind] {
        if self.flaw == Flaw::IsNotHeard { &CNM_AND_CNP } else { &CNM }
    }
    fn set_point(&self) -> Option<Bytes> {
        Some(Bytes::new(33_000))
    }
    fn congestion_point(&self, id: CpId) -> Box<dyn ForeignCp> {
        Box::new(Port { id, frames: 0, flaw: self.flaw })
    }
    fn reaction_point(&self, Endpoint { line_rate: line, .. }: Endpoint) -> Box<dyn ForeignRp> {
        Box::new(Limiter { line, rate: None, step: self.step, wake: Instant::NEVER, flaw: self.flaw })
    }
}

impl CongestionPoint for Port {
    fn on_arrival(&mut self, _: Instant, frame: &Arrival, queue: Queue, _: &mut Dice) -> CpAction {
        self.frames += u32::from(frame.controlled);
        if !frame.controlled || !self.frames.is_multiple_of(100) || queue.len <= Bytes::new(33_000) {
            return CpAction::Nothing;
        }
        let q_offset = 33_000 - queue.len.get() as i64;
        CpAction::Send(match self.flaw {
            Flaw::SpeaksOtherwise => Signal::Cnp,
            Flaw::SaysNothing => Signal::Cnm(Cnm { cp: self.id, quantized_fb: 0, q_offset, q_delta: 0 }),
            _ => Signal::Cnm(Cnm { cp: self.id, quantized_fb: 1, q_offset, q_delta: 0 }),
        })
    }
}

impl ReactionPoint for Limiter {
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }
    fn on_signal(&mut self, now: Instant, signal: &Signal, _: &mut Dice) {
        if let Signal::Cnm(_) = signal {
            let half = BitRate::bps(self.rate.unwrap_or(self.line).get() / 2);
            self.rate = Some(half.max(BitRate::mbps(10)));
            self.wake = now + EVERY;
        }
    }
    fn on_wake(&mut self, now: Instant, _: &mut Dice) {
        if now < self.wake {
            return;
        }
        if self.flaw == Flaw::Fails {
            let (scheme, method, why) = ("test:aimd".to_owned(), "on_wake".to_owned(), "gave up".to_owned());
            give_up(Failure { scheme, method, why, broken: false, cause: None });
        }
        let raised = BitRate::bps(self.rate.map_or(0, |rate| rate.get() + self.step.get()));
        let free = raised >= self.line;
        self.rate = if free { None } else { Some(raised) };
        self.wake = match self.flaw {
            Flaw::WakesInThePast => now,
            _ if free => Instant::NEVER,
            _ => now + EVERY,
        };
    }
    fn next_wake(&self) -> Instant {
        self.wake
    }
    fn limit(&self) -> Option<BitRate> {
        self.rate
    }
    fn gauge(&self) -> Gauge {
        Gauge::at(self.rate.unwrap_or(self.line))
    }
}

/// Ports say nothing; limiters change their rate by their own timer, from their first frame on.
#[derive(Debug)]
struct Alone(Parameters);

#[derive(Clone, Debug)]
struct Silent;

#[derive(Clone, Debug)]
struct Metronome {
    rate: Option<BitRate>,
    wake: Instant,
}

impl ForeignScheme for Alone {
    fn name(&self) -> &str {
        "test:alone"
    }
    fn parameters(&self) -> &Parameters {
        &self.0
    }
    fn fingerprint(&self) -> &str {
        "alone 1"
    }
    fn hears(&self) -> &[SignalKind] {
        &[]
    }
    fn speaks(&self) -> &[SignalKind] {
        &[]
    }
    fn set_point(&self) -> Option<Bytes> {
        None
    }
    fn congestion_point(&self, _: CpId) -> Box<dyn ForeignCp> {
        Box::new(Silent)
    }
    fn reaction_point(&self, _: Endpoint) -> Box<dyn ForeignRp> {
        Box::new(Metronome { rate: None, wake: Instant::NEVER })
    }
}

impl CongestionPoint for Silent {
    fn on_arrival(&mut self, _: Instant, _: &Arrival, _: Queue, _: &mut Dice) -> CpAction {
        CpAction::Nothing
    }
}

impl ReactionPoint for Metronome {
    fn on_sent(&mut self, now: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        if self.wake == Instant::NEVER {
            self.wake = now + EVERY;
        }
        Stamp::default()
    }
    fn on_signal(&mut self, _: Instant, _: &Signal, _: &mut Dice) {}
    fn on_wake(&mut self, now: Instant, _: &mut Dice) {
        if now >= self.wake {
            let slow = BitRate::gbps(1);
            self.rate = Some(if self.rate == Some(slow) { BitRate::gbps(3) } else { slow });
            self.wake = now + EVERY;
        }
    }
    fn next_wake(&self) -> Instant {
        self.wake
    }
    fn limit(&self) -> Option<BitRate> {
        self.rate
    }
    fn gauge(&self) -> Gauge {
        Gauge::at(self.rate.unwrap_or(LINE))
    }
}

/// `test:NAME`, with `step` in `[scheme.rp]` and the flaw as the name.
fn load(name: &str, parameters: &Parameters) -> Result<Arc<dyn ForeignScheme>, LoadError> {
    let flaw = match name {
        "test:alone" => return Ok(Arc::new(Alone(parameters.clone()))),
        "test:aimd" => Flaw::None,
        "test:fails" => Flaw::Fails,
        "test:wakes" => Flaw::WakesInThePast,
        "test:speaks" => Flaw::SpeaksOtherwise,
        "test:nothing" => Flaw::SaysNothing,
        "test:unheard" => Flaw::IsNotHeard,
        _ => return Err(LoadError { table: None, why: "there is none".to_owned(), hint: None }),
    };
    let mut step = BitRate::mbps(50);
    for (key, value) in &parameters.rp {
        match (key.as_str(), quantity(value)) {
            ("step", Some(Value::Rate(rate))) => step = rate,
            _ => return Err(LoadError { table: Some("rp"), why: format!("no '{key}'"), hint: None }),
        }
    }
    Ok(Arc::new(Aimd { name: name.to_owned(), parameters: parameters.clone(), step, flaw }))
}

fn scenario(overrides: &[&str]) -> Scenario {
    install("test", load);
    let shipped = Scenario::shipped("og-hotspot-2src-10g-to-500m-rtt10us").unwrap();
    let short = ["duration=40 ms", "warmup=1 ms", "hotspot.from=10 ms", "hotspot.until=30 ms"];
    shipped.with_overrides(&short).unwrap().with_overrides(&[&short, overrides].concat()).unwrap()
}

fn finish(scenario: &Scenario, jobs: usize) -> Result<Outcome, RunError> {
    let options = Options { replications: Some(3), jobs: Some(jobs), ..Options::default() };
    run(std::slice::from_ref(scenario), &options, &Control::default()).map(|mut outcomes| outcomes.remove(0))
}

fn metric(outcome: &Outcome, name: &str) -> f64 {
    let index = METRICS.iter().position(|metric| metric.name == name).unwrap();
    outcome.replications[0].metrics[index].unwrap()
}

fn drops(outcome: &Outcome) -> f64 {
    metric(outcome, "drops")
}

#[test]
fn it_runs_as_any_other_on_any_number_of_threads() {
    let own = scenario(&["scheme.name=test:aimd"]);
    let (one, two) = (finish(&own, 1).unwrap(), finish(&own, 2).unwrap());
    for (a, b) in one.replications.iter().zip(&two.replications) {
        assert_eq!((&a.metrics, &a.done), (&b.metrics, &b.done));
    }
    let without = finish(&scenario(&["scheme.name=none"]), 1).unwrap();
    assert!(drops(&one) < 0.2 * drops(&without), "{} and {}", drops(&one), drops(&without));
}

/// Two sources at 1 and 3 Gb/s in turn, a millisecond each: 4 of 10 Gb/s over the eight milliseconds before the hotspot.
/// Jitter of the start and the frame under way at each change are a few frames of 6700.
#[test]
fn a_limiter_that_hears_nothing_limits_by_its_own_timer() {
    let alone = finish(&scenario(&["scheme.name=test:alone", "warmup=2 ms"]), 1).unwrap();
    let used = metric(&alone, "util_before");
    assert!((0.398..=0.402).contains(&used), "{used} of the link is used");
    assert_eq!(metric(&alone, "messages"), 0.0);
}

#[test]
fn a_loaded_scheme_and_one_put_in_by_hand_are_the_same() {
    let own = scenario(&["scheme.name=test:aimd"]);
    let mut by_hand = scenario(&["scheme.name=none"]);
    by_hand.scheme = Config::Foreign(load("test:aimd", &Parameters::default()).unwrap().into());
    assert_eq!(own, by_hand);
    assert_eq!(own.hash(), by_hand.hash());
    assert_eq!(finish(&own, 1).unwrap().replications[0].done, finish(&by_hand, 1).unwrap().replications[0].done);
}

#[test]
fn parameters_survive_their_own_text() {
    let own = scenario(&["scheme.name=test:aimd", "scheme.rp.step=5000 Kb/s"]);
    assert!(own.to_toml().contains("[scheme.rp]\nstep = \"5 Mb/s\""), "{}", own.to_toml());
    let again = Scenario::parse(&own.to_toml(), "again").unwrap();
    assert_eq!((&again, again.hash()), (&own, own.hash()));
    assert_ne!(own.hash(), scenario(&["scheme.name=test:aimd"]).hash());
    assert_eq!(quantity(&Scalar::Text("5 apples".to_owned())), None);
}

#[test]
fn machines_keep_the_laws_of_their_roles() {
    let config = Config::Foreign(load("test:aimd", &Parameters::default()).unwrap().into());
    let cnm = Signal::Cnm(Cnm { cp: CpId(1), quantized_fb: 9, q_offset: -5000, q_delta: 10 });
    let frame = Arrival {
        flow: FlowId(0),
        size: Bytes::new(1500),
        admitted: true,
        controlled: true,
        cn_tagged: true,
        limited_by: None,
        probe: false,
        mark: 0,
    };
    let mut steps = Vec::new();
    for n in 0..600u64 {
        steps.push(match n % 5 {
            0 => RpStep::Hear(if n % 3 == 0 { cnm } else { Signal::Cnp }),
            1 | 3 => RpStep::Pass(Span::from_us(7 * n)),
            2 => RpStep::Sent(Bytes::new(64 + n), Bytes::new(n)),
            _ => RpStep::Wake,
        });
    }
    conformance::reaction_point(&config.reaction_point(LINE), LINE, &CNM, &steps);
    let steps: Vec<CpStep> =
        (0..2000u64).map(|n| CpStep::Frame(Arrival { controlled: n % 7 > 0, ..frame }, Bytes::new(n * 71))).collect();
    conformance::congestion_point(&config.congestion_point(CpId(4)), CpId(4), &CNM, Bytes::new(150_000), &steps);
}

#[test]
fn a_signal_that_nobody_hears_is_refused_before_time_zero() {
    let unheard = "its ports or receivers send a signal of kind CNP, which its reaction point does not hear";
    install("test", load);
    let shipped = Scenario::shipped("og-hotspot-2src-10g-to-500m-rtt10us").unwrap();
    let refused = shipped.with_overrides(&["scheme.name=test:unheard"]).unwrap_err();
    assert!(refused.to_string().contains(&format!("scheme 'test:unheard' cannot be used: {unheard}")), "{refused}");
    let mut by_hand = scenario(&["scheme.name=none"]);
    by_hand.scheme = Config::Foreign(load("test:unheard", &Parameters::default()).unwrap().into());
    let refused = finish(&by_hand, 1).unwrap_err();
    assert!(refused.to_string().contains(unheard), "{refused}");
}

#[test]
fn a_failure_and_a_broken_contract_end_the_run_with_a_sentence() {
    let why = |name: &str| finish(&scenario(&[&format!("scheme.name={name}")]), 2).unwrap_err();
    let RunError::Foreign { replication: 0, failure } = why("test:fails") else { panic!("not said") };
    assert_eq!((failure.method.as_str(), failure.broken), ("on_wake", false));
    assert_eq!(failure.to_string(), "scheme 'test:aimd', on_wake: gave up");
    let RunError::Foreign { failure, .. } = why("test:wakes") else { panic!("not said") };
    assert!(failure.broken && failure.to_string().contains("which has passed"), "{failure}");
    let RunError::Foreign { failure, .. } = why("test:speaks") else { panic!("not said") };
    assert_eq!(failure.to_string(), "scheme 'test:speaks', on_arrival: sends a CNP, which it does not say it speaks");
    let RunError::Foreign { failure, .. } = why("test:nothing") else { panic!("not said") };
    assert!(failure.broken && failure.to_string().contains("a quantized_fb of 0; it goes from 1 up"), "{failure}");
}

/// Four scenarios of three replications each on three threads. The second and the fourth fail in all of theirs: what is
/// told is the second's first replication, whichever thread fails first, and every task has a result of its own.
#[test]
fn of_several_failures_the_first_in_order_is_told() {
    let names = ["none", "test:wakes", "none", "test:fails"];
    let scenarios = names.map(|name| scenario(&[&format!("scheme.name={name}"), "duration=31 ms"]));
    for jobs in [3, 1, 3] {
        let options = Options { replications: Some(3), jobs: Some(jobs), ..Options::default() };
        let Err(RunError::Foreign { replication: 0, failure }) = run(&scenarios, &options, &Control::default()) else {
            panic!("not said")
        };
        assert!(failure.to_string().contains("which has passed"), "{failure}");
        let tasks: Vec<Task> =
            (0..4).flat_map(|scenario| (0..3).map(move |replication| Task { scenario, replication })).collect();
        let results = Mutex::new(BTreeMap::new());
        run_each(&scenarios, &tasks, &options, &Control::default(), |number, result| {
            let said =
                result.map(|replication| replication.done.counters.frames_sent > 0).map_err(|error| match error {
                    RunError::Foreign { replication, failure } => (replication, failure.method),
                    other => panic!("{other}"),
                });
            assert!(results.lock().unwrap().insert(number, said).is_none(), "{number} ended twice");
        })
        .unwrap();
        let of = |number: usize| match names[tasks[number].scenario] {
            "none" => Ok(true),
            failing => {
                Err((tasks[number].replication, if failing == "test:fails" { "on_wake" } else { "next_wake" }.into()))
            }
        };
        assert_eq!(results.into_inner().unwrap(), (0..12).map(|number| (number, of(number))).collect());
    }
}

#[test]
fn what_cannot_be_loaded_is_refused() {
    install("test", load);
    let shipped = Scenario::shipped("og-hotspot-2src-10g-to-500m-rtt10us").unwrap();
    let refused = |overrides: &[&str]| shipped.with_overrides(overrides).unwrap_err().render();
    let python = refused(&["scheme.name=python:my_module:MyScheme"]);
    assert!(python.contains("nothing here loads 'python:' schemes"), "{python}");
    assert!(python.contains("run it from Python"), "{python}");
    assert!(refused(&["scheme.name=test:other"]).contains("scheme 'test:other' cannot be used: there is none"));
    let key = refused(&["scheme.name=test:aimd", "scheme.rp.w=2"]);
    assert!(key.contains("no 'w'"), "{key}");
    let preset = refused(&["scheme.name=test:aimd", "scheme.preset=DECK001"]);
    assert!(preset.contains("unknown key 'preset' in [scheme] from outside"), "{preset}");
}
