//! Messages that are followed: when their packets might go, when they went, and which links they crossed.

mod net;

use net::Net;
use qcnlab_sim::roce::{QpConfig, QpRecovery};
use qcnlab_sim::{Control, Course, Events, FlowId, Followed, Traffic, run_following, testing};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// Three hosts behind a switch, links of 10 Gb/s and 1 us: a packet of 1048 octets takes 838.4 ns.
fn star() -> Net {
    let mut net = Net::new(&["a", "b", "c", "s"]);
    for host in ["a", "b", "c"] {
        net.link(host, "s", BitRate::gbps(10), Span::from_us(1));
    }
    net.plan.drains = true;
    net
}

fn message(net: &mut Net, from: &str, to: &str, start_ns: u64, window: Option<u64>) -> FlowId {
    let config = QpConfig { window: window.map(Bytes::new), ..testing::queue_pair(QpRecovery::GoBackN) };
    let flow = net.flow(from, to, 0, Traffic::Roce { config: config.into(), total: Some(Bytes::new(3000)) });
    net.plan.flows[flow].frame = Bytes::new(1048);
    net.plan.flows[flow].start = Instant::ZERO + Span::from_ns(start_ns);
    flow
}

/// The courses of these flows, followed from 0 to `until_ns`; the run is the one that follows none.
fn follow(net: &Net, flows: &[FlowId], until_ns: u64) -> Vec<Course> {
    let until = Instant::ZERO + Span::from_ns(until_ns);
    let followed: Vec<_> = flows.iter().map(|flow| Followed { flow: *flow, from: Instant::ZERO, until }).collect();
    let (done, courses) = run_following(net.plan.clone(), &followed, &Control::default()).unwrap();
    let mut plain = net.run();
    plain.counters.events = done.counters.events;
    assert_eq!(plain, done);
    assert_eq!(net.plan.events, Events::WhereNeeded);
    courses
}

/// In tenths of nanoseconds: when each packet might pass and passed, and whether again.
fn passed(course: &Course) -> Vec<(u64, u64, bool)> {
    course.passed.iter().map(|packet| (packet.permitted.ps() / 100, packet.passed.ps() / 100, packet.again)).collect()
}

/// Two messages share a host's link, and take turns: each next packet might go when the one before has, and waits for the
/// other's.
#[test]
fn packets_wait_for_the_link_of_their_host() {
    let mut net = star();
    let [one, other] = ["b", "c"].map(|to| message(&mut net, "a", to, 0, None));
    let courses = follow(&net, &[other, one], 100_000);
    let times: Vec<_> = courses.iter().flat_map(passed).collect();
    // 8384 tenths each: whose turn is first is drawn.
    let mut sorted: Vec<u64> = times.iter().map(|(_, passed, _)| *passed).collect();
    sorted.sort_unstable();
    assert_eq!(sorted, [0, 8384, 16768, 25152, 33536, 41920]);
    for course in &courses {
        let times = passed(course);
        assert_eq!(times[0].0, 0);
        times.windows(2).for_each(|pair| assert_eq!(pair[1].0, pair[0].1, "{times:?}"));
    }
    // Each crosses two links: it leaves the first 838.4 ns after it passed, and is at the end 1 us later.
    for (course, to) in courses.iter().zip(["s->c", "s->b"]) {
        assert_eq!(course.crossed.len(), 6);
        for link in &course.crossed {
            assert_eq!((link.takes.ps(), link.arrived.since(link.left)), (838_400, Span::from_us(1)));
            assert_eq!(net.plan.ports[link.port].name, if link.hop == 0 { "a->s" } else { to });
            let later = u64::from(link.hop) * 1_838_400 + 838_400;
            assert_eq!(link.left.since(link.passed).ps(), later);
        }
    }
}

/// With a packet in flight at most and its link to itself, the next may go when the answer is there: 838.4 and 48 ns on two
/// links each, and four delays.
#[test]
fn a_packet_might_go_when_the_window_opens() {
    let mut net = star();
    let flow = message(&mut net, "a", "b", 500, Some(1000));
    let trip = 2 * (8384 + 480) + 40_000;
    let [course] = &follow(&net, &[flow], 100_000)[..] else { panic!("one course") };
    let times: Vec<_> = (0..3).map(|packet| 5000 + packet * trip).map(|at| (at, at, false)).collect();
    assert_eq!(passed(course), times);
    // What ends after it is left out: the second packet is at the switch 500 + 5772.8 + 1838.4 ns after the start.
    let [cut] = &follow(&net, &[flow], 8100)[..] else { panic!("one course") };
    assert_eq!((cut.crossed.len(), passed(cut)), (2, times[..2].to_vec()));
}
