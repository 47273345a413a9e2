//! Ten senders of 1.05 Gb/s into one 10 Gb/s link: frame-hops a second of one core.

use qcnlab_schemes::registry::Config;
use qcnlab_sim::{Control, Engine, Feedback, FlowPlan, Plan, PortPlan, Record, Traffic};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

fn main() {
    let n = 10;
    let scheme = std::env::args().nth(1).unwrap_or_else(|| "none".to_owned());
    let secs: u64 = std::env::args().nth(2).map_or(5, |s| s.parse().unwrap());
    let port = |name: String, capacity, watched| PortPlan {
        name,
        rate: BitRate::gbps(10),
        delay: Span::from_us(20),
        capacity,
        overhead: Bytes::ZERO,
        watched,
        peer: None,
    };
    let mut ports: Vec<_> = (0..n).map(|i| port(format!("s{i}"), None, false)).collect();
    ports.push(port("switch".to_owned(), Some(Bytes::new(150_000)), true));
    let flows = (0..n)
        .map(|i| FlowPlan {
            name: format!("source{i}"),
            route: vec![i, n],
            traffic: Traffic::Constant { rate: BitRate::mbps(1050) },
            frame: Bytes::new(1500),
            start: Instant::from_ps(u64::from(i) * 1_142_857),
            start_jitter: Span::ZERO,
            stop: Instant::NEVER,
            controlled: true,
            cn_tag: true,
        })
        .collect();
    let plan = Plan {
        ports,
        flows,
        services: Vec::new(),
        feedback: Feedback::Ideal,
        scheme: Config::find(&scheme, None).unwrap(),
        end: Instant::ZERO + Span::from_ms(1000 * secs),
        seed: 1,
        replication: 0,
        record: Record {
            queue_every: Span::from_us(100),
            rates_every: Span::ZERO,
            bin: Span::from_ms(1),
            messages: false,
        },
    };
    let start = std::time::Instant::now();
    let counters = Engine::new(&plan).run(&Control::default()).unwrap().counters;
    let took = start.elapsed().as_secs_f64();
    println!("{counters:?}");
    println!("{:.2} M frame-hops/s", counters.frame_hops as f64 / took / 1e6);
}
