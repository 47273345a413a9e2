//! Whole runs of RoCE queue pairs over the fabric.

mod net;

use net::Net;
use proptest::prelude::*;
use qcnlab_schemes::registry::Config;
use qcnlab_sim::roce::{QpConfig, QpRecovery};
use qcnlab_sim::{Events, Feedback, FlowId, LimiterId, ServiceChange, Traffic, testing};
use qcnlab_units::{BitRate, Bytes, Id, Instant, Span};

const TEN: BitRate = BitRate::gbps(10);

fn pair(total: Option<u64>, recovery: QpRecovery) -> Traffic {
    let config = QpConfig { window: Some(Bytes::new(60_000)), ..testing::queue_pair(recovery) };
    Traffic::Roce { config: config.into(), total: total.map(Bytes::new) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: net::kept("queue_pairs"), ..ProptestConfig::default() })]

    /// An incast that is marked, stamped and paused: an event for every release and every end of a transmission gives the
    /// same run, whether hosts have their links to themselves or share them with another flow, and when rates change.
    #[test]
    fn more_events_change_nothing_for_queue_pairs(
        hosts in 2..7usize,
        scheme in prop::sample::select(vec!["none", "dcqcn", "dctcp", "timely", "hpcc", "hpcc_pint", "pcn", "rccc", "bfc", "sfc", "qcz"]),
        go_back: bool,
        finite: bool,
        shared: bool,
        watermark in 4..40u64,
        dip in 0..1_000_000u64,
    ) {
        let names: Vec<String> = (0..hosts).map(|host| format!("h{host}")).collect();
        let mut nodes: Vec<&str> = names.iter().map(String::as_str).collect();
        nodes.extend(["c", "s"]);
        let mut net = Net::new(&nodes);
        net.link("c", "s", TEN, Span::from_us(1));
        let recovery = if go_back { QpRecovery::GoBackN } else { QpRecovery::SelectiveRepeat };
        for host in &names {
            net.link(host, "s", TEN, Span::from_us(1));
            net.flow(host, "c", 0, pair(finite.then_some(400_000), recovery));
        }
        if shared {
            net.flow("h0", "c", 0, net::greedy());
            net.flow("c", "h1", 0, pair(Some(50_000), recovery));
        }
        for flow in &mut net.plan.flows {
            flow.frame = Bytes::new(1048);
        }
        let high = watermark * 2000;
        net.pause("s", high + 40_000, high, high - 4000);
        let port = net.port("s->c");
        net.plan.ports[port].watched = true;
        net.plan.ports[port].recorded = true;
        net.plan.ports[port].capacity = Some(Bytes::new(300_000));
        net.plan.scheme = Config::find(scheme, None).unwrap();
        net.plan.end = Instant::ZERO + Span::from_ms(2);
        let change = |name: &str, after: u64, rate| {
            ServiceChange { at: Instant::from_ps(dip * 1000 + after), port: net.port(name), rate }
        };
        net.plan.services = vec![
            change("s->c", 0, BitRate::gbps(2)),
            change("h1->s", 100_000, BitRate::gbps(1)),
            change("s->c", 300_000_000, TEN),
            change("h1->s", 300_100_000, TEN),
        ];
        let mut few = net.run();
        net.plan.events = Events::Everywhere;
        let many = net.run();
        prop_assert!(few.counters.events <= many.counters.events);
        few.counters.events = many.counters.events;
        prop_assert!(few == many, "the runs differ: {:?} and {:?}", few.counters, many.counters);
    }

    /// Queue pairs and limiters go when their messages are over. Where rates are sampled they stay: the run is the same
    /// but for that sample, with packets lost, sent again, late and paused, and with signals that come after the last
    /// acknowledgement.
    #[test]
    fn a_run_that_lets_go_of_messages_is_the_one_that_keeps_them(
        messages in prop::collection::vec((0..5usize, 1..5usize, 1..40u64, 0..400u64), 1..60),
        scheme in prop::sample::select(vec!["none", "dcqcn", "dctcp", "timely", "hpcc", "swift", "qcn", "ecm", "fecn", "pcn", "rccc", "bfc", "sfc", "qcz"]),
        go_back: bool,
        overtaken: bool,
        ideal: bool,
        shared: bool,
        room in 20..200u64,
        dip in 0..400_000u64,
        end in 200..3000u64,
        seed in 0..1000u64,
    ) {
        let names = ["h0", "h1", "h2", "h3", "h4"];
        let mut net = Net::new(&["h0", "h1", "h2", "h3", "h4", "s", "t"]);
        for (number, host) in names.iter().enumerate() {
            net.link(host, if number < 3 { "s" } else { "t" }, TEN, Span::from_us(1));
        }
        net.link("s", "t", TEN, Span::from_us(1));
        let recovery = if go_back { QpRecovery::GoBackN } else { QpRecovery::SelectiveRepeat };
        let config = QpConfig { ack_class: overtaken.then_some(6), ack_every: 1 + u32::from(shared), ..testing::queue_pair(recovery) };
        for (from, hops, packets, start) in &messages {
            let (from, to) = (names[*from], names[(from + hops) % 5]);
            let total = Some(Bytes::new(packets * 1000 - 7));
            let flow = net.flow(from, to, 0, Traffic::Roce { config: config.into(), total });
            let flow = &mut net.plan.flows[flow];
            (flow.frame, flow.start, flow.start_jitter) =
                (Bytes::new(1048), Instant::ZERO + Span::from_us(*start), Span::from_us(1));
        }
        if shared {
            // The last message shares the limiter of the first.
            let last = net.plan.flows.len() as u32 - 1;
            net.plan.flows[FlowId::new(last)].limiter = LimiterId::new(0);
            prop_assume!(last > 0);
        }
        for port in &mut net.plan.ports {
            (port.watched, port.capacity) = (true, Some(Bytes::new(room * 1048)));
        }
        net.plan.feedback = if ideal { Feedback::Ideal } else { Feedback::Frames { size: Bytes::new(64), class: 0 } };
        net.plan.scheme = Config::find(scheme, None).unwrap();
        net.plan.seed = seed;
        net.plan.end = Instant::ZERO + Span::from_us(end);
        let change = |after: u64, rate| ServiceChange { at: Instant::from_ps(dip * 1000 + after), port: net.port("s->t"), rate };
        net.plan.services = vec![change(0, BitRate::gbps(1)), change(200_000_000, TEN)];
        let lets_go = net.run();
        net.plan.record.rates_every = Span::from_ms(100);
        let mut keeps = net.run();
        keeps.counters.events -= 1;
        (keeps.trace.rates, keeps.trace.windows) = (lets_go.trace.rates.clone(), lets_go.trace.windows.clone());
        prop_assert!(lets_go == keeps, "the runs differ: {:?} and {:?}", lets_go.counters, keeps.counters);
    }
}
