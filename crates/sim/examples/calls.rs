//! Calls one machine many times, for instruction counts: `calls list`, or `calls WHAT NAME COUNT`.
//!
//! WHAT is `arrival` (a frame at the congestion point of scheme NAME), `sent` (a frame leaves the reaction
//! point, which limits if the scheme ever does), `signal` (a signal reaches it), or `wheel` (the earliest of
//! NAME pending events is taken and set anew). Prints nanoseconds a call, to be taken as a hint only.

use qcnlab_schemes::registry::{AnyCp, AnyRp, Config, catalogue};
use qcnlab_schemes::{
    Arrival, CongestionPoint, CpAction, CpId, Delivered, Dice, FlowId, NotificationPoint, ProbeAction, Purpose, Queue,
    ReactionPoint, Signal,
};
use qcnlab_sim::wheel::Wheel;
use qcnlab_units::{BitRate, Bytes, Instant, Span};
use std::hint::black_box;
use std::process::ExitCode;

const LINE_RATE: BitRate = BitRate::gbps(10);
const FRAME: Bytes = Bytes::new(1500);
const FRAME_TIME: Span = Span::from_ns(1200);

/// A congestion point under a queue that sways between empty and 66 KB.
struct Port {
    cp: AnyCp,
    dice: Dice,
    now: Instant,
    step: u64,
}

impl Port {
    fn new(config: &Config) -> Port {
        let cp = config.congestion_point(CpId(0));
        Port { cp, dice: Dice::new(1, 0, "port", Purpose::Sampling), now: Instant::ZERO, step: 0 }
    }

    fn queue(&self) -> Queue {
        let step = self.step % 88;
        let len = Bytes::new(1500 * step.min(88 - step));
        Queue { len, capacity: Bytes::new(150_000), rate: LINE_RATE }
    }

    fn arrival(&mut self) -> CpAction {
        self.step += 1;
        self.now += FRAME_TIME;
        let frame = Arrival {
            flow: FlowId((self.step % 8) as u32),
            size: FRAME,
            admitted: true,
            controlled: true,
            cn_tagged: true,
            limited_by: Some(CpId(0)),
            probe: false,
            mark: 0,
        };
        let queue = self.queue();
        self.cp.on_arrival(self.now, &frame, queue, &mut self.dice)
    }
}

/// A signal that the scheme's reaction points hear, if its ports or receivers ever send one.
fn some_signal(config: &Config) -> Option<Signal> {
    let mut port = Port::new(config);
    let mut receiver = config.notification_point();
    let mut rp = config.reaction_point(LINE_RATE);
    for _ in 0..20_000 {
        let action = port.arrival();
        let mark = match action {
            CpAction::Send(signal) => return Some(signal),
            CpAction::Mark(mark) => mark,
            CpAction::Nothing if port.cp.capabilities().marks_departures => {
                let queue = port.queue();
                port.cp.departure_mark(port.now, true, queue, &mut port.dice)
            }
            CpAction::Nothing => 0,
        };
        let frame = Delivered { size: FRAME, mark, controlled: true, sent_at: Instant::NEVER };
        if let Some(signal) = receiver.as_mut().and_then(|np| np.on_frame(port.now, &frame)) {
            return Some(signal);
        }
        if rp.capabilities().sends_probes {
            let _ = rp.on_sent(port.now, FRAME, Bytes::ZERO, &mut port.dice);
            if let Some(mut probe) = rp.take_probe(port.now) {
                let queue = port.queue();
                match port.cp.on_probe(port.now, &mut probe, queue) {
                    ProbeAction::Answer(signal) => return Some(signal),
                    ProbeAction::Pass => return Some(Signal::Returned(probe)),
                }
            }
        }
    }
    None
}

/// A reaction point that has heard a signal, a frame time after the next.
struct Limiter {
    rp: AnyRp,
    dice: Dice,
    now: Instant,
}

impl Limiter {
    fn new(config: &Config) -> (Limiter, Option<Signal>) {
        let signal = some_signal(config);
        let (now, dice) = (Instant::ZERO + Span::from_ms(100), Dice::new(1, 0, "limiter", Purpose::Reaction));
        let mut limiter = Limiter { rp: config.reaction_point(LINE_RATE), dice, now };
        if let Some(signal) = &signal {
            limiter.rp.on_signal(now, signal, &mut limiter.dice);
        }
        (limiter, signal)
    }

    fn sent(&mut self) {
        self.now += FRAME_TIME;
        if self.rp.next_wake() <= self.now {
            self.rp.on_wake(self.now, &mut self.dice);
        }
        let _ = black_box(self.rp.on_sent(self.now, FRAME, FRAME, &mut self.dice));
        black_box(self.rp.limit());
    }

    fn hears(&mut self, signal: &Signal) {
        self.now += FRAME_TIME;
        self.rp.on_signal(self.now, signal, &mut self.dice);
        black_box(self.rp.limit());
    }
}

/// Half of the events come back after about 1.2 us, half after 20 us.
fn turn_wheel(pending: usize, count: u64) {
    let mut wheel = Wheel::new(pending);
    let mut state = 1u64;
    let mut gap = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let spread = state >> 44;
        if state & 1 << 40 == 0 { 1_200_000 + spread } else { 20_000_000 + spread }
    };
    (0..pending as u32).for_each(|entity| wheel.set(entity, gap()));
    for _ in 0..count {
        let (time, entity) = wheel.pop().expect("events are pending");
        wheel.set(entity, time + gap());
    }
}

fn call(what: &str, name: &str, count: u64) -> Result<(), String> {
    if what == "wheel" {
        let pending = name.parse().map_err(|_| format!("'{name}' is no number of events"))?;
        turn_wheel(pending, count);
        return Ok(());
    }
    let config = Config::find(name, None).map_err(|_| format!("no scheme is called '{name}'"))?;
    match what {
        "arrival" => {
            let mut port = Port::new(&config);
            (0..count).for_each(|_| {
                let _ = black_box(port.arrival());
            });
        }
        "sent" => {
            let (mut limiter, _) = Limiter::new(&config);
            (0..count).for_each(|_| limiter.sent());
        }
        "signal" => {
            let (mut limiter, signal) = Limiter::new(&config);
            let signal = signal.ok_or("nothing is ever said to it")?;
            (0..count).for_each(|_| limiter.hears(black_box(&signal)));
        }
        _ => return Err(format!("'{what}' is no call")),
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let start = std::time::Instant::now();
    let (done, count) = match &arguments[..] {
        [list] if list == "list" => {
            catalogue().iter().for_each(|scheme| println!("{}", scheme.name));
            return ExitCode::SUCCESS;
        }
        [what, name, count] => match count.parse() {
            Ok(count) => (call(what, name, count), count),
            Err(_) => (Err(format!("'{count}' is no count")), 0),
        },
        _ => (Err("usage: calls list, or calls arrival|sent|signal|wheel NAME COUNT".to_owned()), 0),
    };
    match done {
        Ok(()) => {
            println!("{:.1}", start.elapsed().as_secs_f64() * 1e9 / count.max(1) as f64);
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}
