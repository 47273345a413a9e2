//! Measure the switch, a plain forwarder on packet sockets and the kernel's bridge in turn: `make bench-live`, or
//! `forwarders [--repeats 7] [--seconds 0.6]`. Prints a line of JSON for each measurement.

use qcnlab_live::{Forwarder, measure_forwarder, prepare_process};
use serde_json::json;
use std::process::ExitCode;

fn argument(name: &str, default: f64) -> f64 {
    let all: Vec<String> = std::env::args().collect();
    let value = all.iter().position(|argument| argument == name).and_then(|at| all.get(at + 1));
    value.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} takes a number, not {text}")))
}

fn main() -> ExitCode {
    let (repeats, seconds) = (argument("--repeats", 7.0) as u32, argument("--seconds", 0.6));
    if let Err(error) = prepare_process() {
        eprintln!("forwarders: {error}");
        return ExitCode::from(2);
    }
    for repeat in 0..repeats {
        for octets in [64, 1518] {
            for forwarder in Forwarder::ALL {
                let measured = match measure_forwarder(forwarder, octets, seconds) {
                    Ok(measured) => measured,
                    Err(error) => {
                        eprintln!("forwarders: {}: {error}", forwarder.name());
                        return ExitCode::from(2);
                    }
                };
                let late = &measured.latencies_ns;
                let line = json!({
                    "repeat": repeat,
                    "forwarder": forwarder.name(),
                    "octets": octets,
                    "frames_per_s": measured.frames_per_s,
                    "cpu_ns": measured.cpu_ns,
                    "latency_p50_ns": late[late.len() / 2],
                    "latency_p99_ns": late[late.len() * 99 / 100],
                });
                println!("{line}");
            }
        }
    }
    ExitCode::SUCCESS
}
