//! CyclicThread CPUs for stalls: `stalls [--seconds 10] [--sleep-us 500] [--longer-us 1000] [--cpus 0,1] [--spin]`. Prints a
//! line of JSON for each stall, in the order of time, and one for each CPU at the end.

use qcnlab_live::{CyclicThread, measure_stalls};
use serde_json::json;

fn argument<T: std::str::FromStr>(name: &str, default: T) -> T {
    let all: Vec<String> = std::env::args().collect();
    let value = all.iter().position(|argument| argument == name).and_then(|at| all.get(at + 1));
    value.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} takes another value than {text}")))
}

fn main() {
    let seconds = argument("--seconds", 10.0);
    let longer = argument("--longer-us", 1000u64) * 1000;
    let how = if std::env::args().any(|argument| argument == "--spin") {
        CyclicThread::Spin
    } else {
        CyclicThread::Sleep(argument("--sleep-us", 500u64) * 1000)
    };
    let cpus: Vec<usize> = argument("--cpus", "0,1".to_owned()).split(',').filter_map(|cpu| cpu.parse().ok()).collect();
    let threads: Vec<_> = cpus
        .iter()
        .map(|cpu| (*cpu, *cpu))
        .map(|(cpu, of)| (cpu, std::thread::spawn(move || measure_stalls(of, how, seconds, longer))))
        .collect();
    let ended: Vec<_> =
        threads.into_iter().map(|(cpu, thread)| (cpu, thread.join().expect("it does not panic"))).collect();
    let mut stalls: Vec<_> = ended.iter().flat_map(|(_, (stalls, _))| stalls).collect();
    stalls.sort_by_key(|stall| stall.at_ns);
    for stall in stalls {
        println!(
            "{}",
            json!({
                "cpu": stall.cpu,
                "at_s": stall.at_ns as f64 / 1e9,
                "lasted_ms": stall.lasted_ns as f64 / 1e6,
                "own_cpu_ms": stall.own_cpu_ns as f64 / 1e6,
                "waited_ms": stall.waited_ns as f64 / 1e6,
                "faults": stall.faults,
            })
        );
    }
    for (cpu, (stalls, class)) in ended {
        let longest = stalls.iter().map(|stall| stall.lasted_ns).max().unwrap_or(0);
        println!(
            "{}",
            json!({
                "cpu": cpu,
                "scheduling": class,
                "seconds": seconds,
                "stalls": stalls.len(),
                "longest_ms": longest as f64 / 1e6,
            })
        );
    }
}
