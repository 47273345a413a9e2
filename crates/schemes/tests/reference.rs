//! Schemes against independent references.
//!
//! Each file of `tests/reference` is a script: parameters, then one call a row, with the answer that a second
//! implementation gives. Those stand in `tests/oracles/laws`, in Python, written from the sources and not from this
//! crate, and write the scripts (`python tests/oracles/scripts.py --write`). Here the calls go to the machines of the
//! registry.
//!
//! Rates agree within 8 bit/s, as machines may hold whole bits a second, and times within a nanosecond. `lo..hi` in
//! an answer is a range, for what is drawn. All else is exact.

use qcnlab_schemes::params::{Kind, Scalar, Table};
use qcnlab_schemes::registry::{AnyCp, AnyNp, AnyRp, Config};
use qcnlab_schemes::{
    Answer, Arrival, Bcn, Cnm, CongestionPoint, CpAction, CpId, Delivered, Dice, FlowId, NotificationPoint, Probe,
    ProbeAction, ProbeKind, Purpose, Queue, ReactionPoint, Signal, SourcePause,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const RATE_TOLERANCE: f64 = 8.0;
const TIME_TOLERANCE_NS: f64 = 1.0;

/// Words of a cell: `key=value` pairs, and words that stand alone.
#[derive(Default)]
struct Words {
    pairs: BTreeMap<String, String>,
    alone: Vec<String>,
}

impl Words {
    fn of(cell: &str) -> Words {
        let mut words = Words::default();
        for word in cell.split_whitespace() {
            match word.split_once('=') {
                Some((key, value)) => drop(words.pairs.insert(key.to_owned(), value.to_owned())),
                None => words.alone.push(word.to_owned()),
            }
        }
        words
    }

    fn has(&self, word: &str) -> bool {
        self.alone.iter().any(|other| other == word)
    }

    fn number<T: std::str::FromStr>(&self, key: &str) -> T {
        self.or(key).unwrap_or_else(|| panic!("no number {key}"))
    }

    fn or<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.pairs.get(key).map(|value| value.parse().unwrap_or_else(|_| panic!("{key}={value} is no number")))
    }
}

/// Whether what a machine answers is what the reference does, for one key.
fn agrees(key: &str, expected: &str, actual: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    if let Some((low, high)) = expected.split_once("..") {
        return match (number(low), number(high), number(actual)) {
            (Some(low), Some(high), Some(actual)) => (low..=high).contains(&actual),
            _ => false,
        };
    }
    let tolerance = match key {
        "rate" | "target" => RATE_TOLERANCE,
        "wake" | "asked" => TIME_TOLERANCE_NS,
        _ => 0.0,
    };
    match (number(expected), number(actual)) {
        (Some(expected), Some(actual)) => (expected - actual).abs() <= tolerance,
        _ => expected == actual,
    }
}

/// The machines of one script.
struct Machines {
    ports: BTreeMap<u32, AnyCp>,
    rp: AnyRp,
    np: Option<AnyNp>,
    mark: u8,
    dice: Dice,
    capacity: Bytes,
}

fn signal_words(signal: &Signal) -> String {
    match signal {
        Signal::Cnm(m) => format!("cnm fb={} offset={} delta={}", m.quantized_fb, m.q_offset, m.q_delta),
        Signal::Bcn(m) if m.stop => "stop".to_owned(),
        Signal::Bcn(m) => format!("bcn offset={} delta={}", m.q_offset, m.q_delta),
        Signal::Answer(m) => {
            format!("answer offset={} delta={} capacity={}", m.q_offset, m.q_delta, m.capacity.get())
        }
        Signal::Returned(probe) => format!("returned sent={} rate={}", probe.sent.get(), probe.rate.get()),
        Signal::Reflection(fb) => format!("reflection fb={fb}"),
        Signal::ReceivedRate(rate) => format!("received rate={}", rate.get()),
        Signal::SourcePause(pause) => format!("pause ps={}", pause.time.ps()),
        other => format!("{other:?}"),
    }
}

fn probe_of(words: &Words, now: Instant) -> Probe {
    Probe {
        kind: words.or("to").map_or(ProbeKind::Path, |cp| ProbeKind::Directed(CpId(cp))),
        asked_at: words.or("asked").map_or(now, |ns: u64| Instant::from_ps(ns * 1000)),
        sent: Bytes::new(words.or("sent").unwrap_or(0)),
        rate: BitRate::bps(words.or("rate").unwrap_or(0)),
    }
}

impl Machines {
    fn queue(&self, words: &Words) -> Queue {
        let rate = BitRate::bps(words.or("served").unwrap_or(10_000_000_000));
        Queue { len: Bytes::new(words.number("queue")), capacity: self.capacity, rate }
    }

    fn call(&mut self, now: Instant, call: &str, words: &Words) -> String {
        let cp = CpId(words.or("port").unwrap_or(1));
        let sizes = (words.or("offset").unwrap_or(0), words.or("delta").unwrap_or(0));
        let signal = match call {
            "arrival" => return self.arrival(now, cp, words),
            "departure" => {
                let port = self.ports.get_mut(&cp.0).expect("a port of the script");
                if port.capabilities().sees_departures {
                    port.on_departure(now, Bytes::new(words.number("queue")));
                }
                return String::new();
            }
            "probe" => {
                let (mut probe, queue) = (probe_of(words, now), self.queue(words));
                return match self.ports.get_mut(&cp.0).expect("a port").on_probe(now, &mut probe, queue) {
                    ProbeAction::Pass => format!("pass rate={}", probe.rate.get()),
                    ProbeAction::Answer(signal) => signal_words(&signal),
                };
            }
            "destination" => {
                let back = self.np.as_mut().and_then(|np| np.on_probe(now, &probe_of(words, now)));
                return back.map_or("nothing".to_owned(), |signal| signal_words(&signal));
            }
            "sent" => {
                let (size, backlog) = (Bytes::new(words.number("size")), Bytes::new(words.or("backlog").unwrap_or(0)));
                let _ = self.rp.on_sent(now, size, backlog, &mut self.dice);
                return self.rates(now);
            }
            "wake" => {
                self.rp.on_wake(now, &mut self.dice);
                return self.rates(now);
            }
            "cnm" => Signal::Cnm(Cnm { cp, quantized_fb: words.number("fb"), q_offset: sizes.0, q_delta: sizes.1 }),
            "bcn" => Signal::Bcn(Bcn { cp, q_offset: sizes.0, q_delta: sizes.1, stop: words.has("stop") }),
            "reflection" => Signal::Reflection(words.number("fb")),
            "received" => Signal::ReceivedRate(BitRate::bps(words.number("rate"))),
            "answer" => Signal::Answer(Answer {
                cp,
                asked_at: Instant::from_ps(words.number::<u64>("asked") * 1000),
                q_offset: sizes.0,
                q_delta: sizes.1,
                capacity: BitRate::bps(words.number("capacity")),
            }),
            "returned" => Signal::Returned(probe_of(words, now)),
            "pause" => Signal::SourcePause(SourcePause { cp, time: Span::from_ps(words.number("ps")) }),
            other => panic!("no call {other}"),
        };
        self.rp.on_signal(now, &signal, &mut self.dice);
        self.rates(now)
    }

    fn arrival(&mut self, now: Instant, cp: CpId, words: &Words) -> String {
        let carried = if words.has("marked") { self.mark } else { 0 };
        let frame = Arrival {
            flow: FlowId(words.or("flow").unwrap_or(0)),
            size: Bytes::new(words.number("size")),
            admitted: !words.has("discarded"),
            controlled: !words.has("uncontrolled"),
            cn_tagged: true,
            limited_by: words.or("tag").map(CpId),
            probe: false,
            mark: carried,
        };
        let queue = self.queue(words);
        let port = self.ports.get_mut(&cp.0).expect("a port of the script");
        match port.on_arrival(now, &frame, queue, &mut self.dice) {
            CpAction::Send(signal) => return signal_words(&signal),
            CpAction::Nothing => self.mark = carried,
            CpAction::Mark(mark) => self.mark = mark.max(carried),
        }
        let frame = Delivered { size: frame.size, mark: self.mark, controlled: true, sent_at: Instant::NEVER };
        let back = self.np.as_mut().and_then(|np| np.on_frame(now, &frame));
        back.map_or("nothing".to_owned(), |signal| signal_words(&signal))
    }

    /// What a reaction point shows after a call: its limit or `free`, its target, its wake-up, and a probe if one is due.
    fn rates(&mut self, now: Instant) -> String {
        let probe = if self.rp.capabilities().sends_probes { self.rp.take_probe(now) } else { None };
        let mut text = match self.rp.limit() {
            Some(limit) => format!("rate={} target={}", limit.get(), self.rp.gauge().target_rate.get()),
            None => "free".to_owned(),
        };
        text += &match self.rp.next_wake() {
            Instant::NEVER => " wake=never".to_owned(),
            wake => format!(" wake={}", wake.ps() as f64 / 1000.0),
        };
        let pacing = self.rp.pacing();
        text += &format!(" burst={} overhead={}", pacing.burst.get(), pacing.overhead.get());
        if let Some(probe) = probe {
            text += &match probe.kind {
                ProbeKind::Path => " probe".to_owned(),
                ProbeKind::Directed(cp) => format!(" probe to={}", cp.0),
            };
            text += &format!(" asked={} sent={}", probe.asked_at.ps() / 1000, probe.sent.get());
        }
        text
    }
}

fn set(table: &mut dyn Table, name: &str, text: &str) {
    let fields = table.fields();
    let index = fields.iter().position(|field| field.name == name).unwrap_or_else(|| panic!("no parameter {name}"));
    let scalar = match fields[index].kind {
        Kind::Integer => Scalar::Integer(text.parse().expect("a whole number")),
        Kind::Flag => Scalar::Flag(text == "true"),
        _ => Scalar::Text(text.to_owned()),
    };
    let value = fields[index].read(&scalar).unwrap_or_else(|error| panic!("{name}: {error}"));
    table.set(index, Some(value));
}

/// The lines that start with `# key: value`, and the machines they describe.
fn machines(text: &str) -> Machines {
    let (mut name, mut preset, mut line_rate) = (String::new(), None, BitRate::gbps(10));
    let mut changes = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# ")) {
        match line.split_once(": ") {
            Some(("scheme", value)) => name = value.to_owned(),
            Some(("preset", value)) => preset = Some(value.to_owned()),
            Some(("line_rate", value)) => line_rate = value.parse().expect("a rate"),
            Some((key, value)) if key.starts_with("cp.") || key.starts_with("rp.") => changes.push((key, value)),
            _ => {}
        }
    }
    let mut config = Config::find(&name, preset.as_deref()).unwrap_or_else(|why| panic!("{name}: {why:?}"));
    for (key, value) in changes {
        let table = if key.starts_with("cp.") { config.cp_mut() } else { config.rp_mut() };
        set(table, &key[3..], value);
    }
    Machines {
        ports: (1..=2).map(|id| (id, config.congestion_point(CpId(id)))).collect(),
        rp: config.reaction_point(line_rate),
        np: config.notification_point(),
        mark: 0,
        dice: Dice::new(1, 0, "reference", Purpose::Reaction),
        capacity: Bytes::new(150_000),
    }
}

/// Plays a script, and returns the number of its rows and the first difference.
fn play(text: &str) -> (usize, Option<String>) {
    let mut machines = machines(text);
    let mut rows = 0;
    let mut now = Instant::ZERO;
    for line in text.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [at, call, arguments, expected] = cells[..] else { panic!("four cells: {line}") };
        rows += 1;
        now = match at {
            "asked" => machines.rp.next_wake().max(now),
            ns => Instant::from_ps((ns.parse::<f64>().expect("nanoseconds") * 1000.0).round() as u64),
        };
        let actual = machines.call(now, call, &Words::of(arguments));
        let (is, should) = (Words::of(&actual), Words::of(expected));
        let pairs_agree =
            should.pairs.iter().all(|(key, value)| is.pairs.get(key).is_some_and(|actual| agrees(key, value, actual)));
        if !pairs_agree || is.alone != should.alone {
            return (rows, Some(format!("row {rows}: {line}\n  the machine: {actual}")));
        }
    }
    (rows, None)
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference");
    let mut all: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.extension().is_some_and(|ext| ext == "csv"));
    all.sort();
    all
}

#[test]
fn every_script_agrees() {
    let mut differences = Vec::new();
    for path in scripts() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let (rows, difference) = play(&fs::read_to_string(&path).unwrap());
        assert!(rows > 3 || difference.is_some(), "{name} has {rows} rows");
        differences.extend(difference.map(|difference| format!("{name}, {difference}")));
    }
    assert!(differences.is_empty(), "{} scripts differ:\n{}", differences.len(), differences.join("\n"));
}

/// A script whose answers are changed must fail: each number in turn, by more than its tolerance.
#[test]
fn a_wrong_answer_is_noticed() {
    let text = "# scheme: qcn\n# preset: DECK001\n# rp.jitter_width: 0\nat,call,arguments,answer\n\
                0,cnm,fb=63 offset=-33000,rate=RATE target=10000000000 wake=15000000\n";
    // 10 Gb/s (1 - 63/128) = 5.078125 Gb/s.
    assert_eq!(play(&text.replace("RATE", "5078125000")).1, None);
    assert!(play(&text.replace("RATE", "5078125100")).1.is_some());
    assert!(play(&text.replace("RATE", "5078125000").replace("15000000", "15000002")).1.is_some());
    assert!(play(&text.replace("RATE", "5078125000").replace("rate=", "free rate=")).1.is_some());
}
