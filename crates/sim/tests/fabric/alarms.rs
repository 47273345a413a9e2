//! QCN-SONAR takes silence for bandwidth; the run counts how often, and how often there was none.

use super::TEN;
use super::net::{Net, greedy};
use qcnlab_schemes::registry::Config;
use qcnlab_sim::{Counters, ServiceChange, Traffic};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// A source over links of some length at a port that serves a tenth from 5 ms on: to 10 ms, or to the end of 100 ms while
/// somebody else, whom nothing controls, keeps its queue full.
fn counters(delay: Span, recovers: bool) -> Counters {
    let mut net = Net::new(&["a", "b", "c", "s"]);
    for host in ["a", "b", "c"] {
        net.link(host, "s", TEN, delay);
    }
    net.flow("a", "c", 0, greedy());
    let port = net.port("s->c");
    net.plan.ports[port].watched = true;
    net.plan.ports[port].capacity = Some(Bytes::new(150_000));
    net.plan.scheme = Config::find("qcn_sonar", None).unwrap();
    let at = |ms| Instant::ZERO + Span::from_ms(ms);
    net.plan.services = vec![ServiceChange { at: at(5), port, rate: BitRate::gbps(1) }];
    if recovers {
        net.plan.services.push(ServiceChange { at: at(10), port, rate: TEN });
    } else {
        let other = net.flow("b", "c", 0, Traffic::Constant { rate: BitRate::gbps(2) });
        net.plan.flows[other].controlled = false;
    }
    net.plan.end = at(100);
    net.run().counters
}

/// A reaction point asks 10 ms after a message and waits 2 ms for the echo. Where the port is slow to the end an echo comes
/// in time over links of 1 us, and never over links of 2 ms, there and back. Where it recovers, silence is right.
#[test]
fn alarms_are_counted_and_so_are_false_ones() {
    let (near, far) = (Span::from_us(1), Span::from_ms(2));
    let [slow, late, fast] =
        [(near, false), (far, false), (near, true)].map(|(delay, recovers)| counters(delay, recovers));
    assert!(slow.messages_heard > 10 && slow.alarms == 0 && slow.false_alarms == 0, "{slow:?}");
    assert!(late.alarms > 0 && late.false_alarms == late.alarms, "{late:?}");
    assert!(fast.alarms > 0 && fast.false_alarms == 0, "{fast:?}");
}

/// As above over links of 2 ms, with two ports one behind the other that serve a tenth, each kept full by a host of its own:
/// a false alarm, whether one of them is to blame or both.
#[test]
fn an_alarm_is_false_with_two_full_ports_as_with_one() {
    let delay = Span::from_ms(2);
    let mut net = Net::new(&["a", "b", "c", "d", "s", "t"]);
    for (host, switch) in [("a", "s"), ("b", "s"), ("s", "t"), ("d", "t"), ("c", "t")] {
        net.link(host, switch, TEN, delay);
    }
    net.flow("a", "c", 0, greedy());
    for host in ["b", "d"] {
        let other = net.flow(host, "c", 0, Traffic::Constant { rate: BitRate::gbps(2) });
        net.plan.flows[other].controlled = false;
    }
    net.plan.scheme = Config::find("qcn_sonar", None).unwrap();
    for name in ["s->t", "t->c"] {
        let port = net.port(name);
        net.plan.ports[port].watched = true;
        net.plan.ports[port].capacity = Some(Bytes::new(150_000));
        let at = Instant::ZERO + Span::from_ms(5);
        net.plan.services.push(ServiceChange { at, port, rate: BitRate::gbps(1) });
    }
    net.plan.end = Instant::ZERO + Span::from_ms(100);
    let counters = net.run().counters;
    assert!(counters.alarms > 0 && counters.false_alarms == counters.alarms, "{counters:?}");
}
