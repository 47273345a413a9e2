//! Live runs on this machine: what must hold under any load. Where the machine cannot run them they are skipped, said
//! so and counted; with QCNLAB_REQUIRE_LIVE=1 that is a failure.

mod star;

use qcnlab_capture::{CaptureReader, Direction, InterfaceId};
use qcnlab_conform::{ConformOptions, conform_cp, conform_rp};
use qcnlab_lab::Control;
use qcnlab_live::{
    CyclicThread, Finding, Intruder, KernelLimit, LimiterKind, LiveError, LiveOptions, LiveRun, examine,
    measure_stalls, run, write_capture,
};
use qcnlab_scenario::Scenario;
use qcnlab_schemes::Signal;
use qcnlab_sim::{Counters, FlowId, FlowTally, Trace};
use qcnlab_units::Id;
use qcnlab_wire::{Codec, Frame, MacAddress, Payload, Tlv};
use star::STAR;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

/// The star for 45 ms, whose port drops to 0.5 Gb/s for a third of the time: 4.5 s at scale 100.
fn hotspot() -> String {
    format!(
        "duration = \"45 ms\"\nwarmup = \"5 ms\"\n{STAR}\n[[hotspot]]\nfrom = \"15 ms\"\nuntil = \"30 ms\"\n\
         rate = \"0.5 Gb/s\"\n"
    )
}

/// The star for 40 ms with other traffic than its own, and tables behind it.
fn star_with(traffic: &str, tables: &str) -> String {
    let own = "[[traffic]]\narrivals = \"saturated\"\nframe = \"1500 B\"\n";
    assert!(STAR.contains(own));
    format!("duration = \"40 ms\"\n{}\n{tables}", STAR.replace(own, traffic))
}

fn live(text: &str, options: &LiveOptions) -> LiveRun {
    let scenario = Scenario::parse(text, "test.toml").expect("the scenario can work");
    run(&scenario, options, &Control::default()).expect("it runs")
}

/// The trace of a run's one replication, and its totals.
fn trace(run: &LiveRun) -> (&Trace, &Counters, &[FlowTally]) {
    let [replication] = &run.outcome.replications[..] else { panic!("a live run is one replication") };
    (&replication.done.trace, &replication.done.counters, &replication.done.flows)
}

/// A frame of a capture: the port whose link it crossed, when in ps, whether it was sent, and its octets.
type Seen = (u32, u64, bool, Vec<u8>);

/// A run's capture as a reader sees it: the ports' names, and the frames.
fn captured(run: &LiveRun) -> (Vec<String>, Vec<Seen>) {
    let mut file = Vec::new();
    write_capture(run, &mut file, "test").expect("memory takes it");
    let mut reader = CaptureReader::new(&file[..]).expect("a capture");
    let (mut frames, mut names) = (Vec::new(), Vec::new());
    while let Some(frame) = reader.next_frame().expect("it is whole") {
        let InterfaceId(port) = frame.interface;
        let sent = frame.direction == Some(Direction::Sent);
        frames.push((port, frame.time_ns.unwrap_or(0) * 1000, sent, frame.octets.to_vec()));
    }
    while let Some(interface) = reader.interface(InterfaceId(names.len() as u32)) {
        names.push(interface.name.clone());
    }
    (names, frames)
}

fn a_hotspot_is_answered_by_cnms_and_lower_rates() {
    let run = live(&hotspot(), &LiveOptions { snap: 1600, ..LiveOptions::default() });
    let (trace, counters, flows) = trace(&run);
    assert!(counters.frames_delivered > 1000 && counters.messages_sent > 5, "{counters:?}");
    assert!(flows.iter().all(|flow| flow.delivered > 100), "{flows:?}");
    let most = trace.queues.bytes.iter().max().expect("queues are sampled");
    assert!(*most <= 150_000, "the queue's memory is 150 KB: {most}");
    // Frames at an end of the run are on their way between two threads; all others are accounted for.
    assert!(run.unaccounted.abs() < 200, "{}", run.unaccounted);
    every_cnm_conforms(&run);
    every_cut_follows_a_cnm(&run);
    the_law_accepts_the_adapters(&run);
}

/// The adapters' own capture, held against the law of the reaction point with the scenario's parameters at its scale. Each
/// frame leaves its limiter when the law says, within 20 ns, on whatever machine, unless a loop was 4.8 ms late.
fn the_law_accepts_the_adapters(run: &LiveRun) {
    let file = std::env::temp_dir().join(format!("qcnlab-live-{}.pcapng", std::process::id()));
    let mut octets = Vec::new();
    write_capture(run, &mut octets, "test").expect("memory takes it");
    std::fs::write(&file, octets).expect("the folder for temporary files takes it");
    let mut options = ConformOptions::new("DECK001");
    let slowed = ["rp.time_reset=1.5 s", "rp.ai_rate=50 Kb/s", "rp.hai_rate=500 Kb/s", "rp.min_rate=100 Kb/s"];
    options.set = slowed.map(str::to_owned).to_vec();
    let report = conform_rp(&file, &options);
    let port = conform_cp(&file, &options);
    let _ = std::fs::remove_file(&file);
    // The switch takes frames in the order of its loop, and the capture has when each came in.
    let port: serde_json::Value = serde_json::from_str(&port.expect("it can be read")).expect("JSON");
    assert_eq!(port["verdict"], "conforms", "{}", port["why"]);
    assert_eq!((&port["interface"], &port["unmatched_frames"]), (&"switch->sink".into(), &0.into()));
    assert_eq!(port["checked_cnms"], port["cnms"], "{}", port["loss"]);
    let report: serde_json::Value = serde_json::from_str(&report.expect("it can be read")).expect("JSON");
    assert_eq!(report["tolerances"]["uncaptured_bytes"], 0, "the capture is told to be qcnlab's");
    // A limiter that is looked at later than 60,000 octets take at 100 Mb/s starts anew.
    let late_us = run.timing.to_json()["lateness"]["max_us"].as_u64().expect("frames left");
    if late_us < 4_800 {
        assert_eq!(report["verdict"], "conforms", "{late_us} us late at most: {report:#}");
    }
}

/// Each CNM in the capture is what 802.1Q says, octet by octet, says what the trace says, and is about a frame that the
/// host it goes to has sent.
fn every_cnm_conforms(run: &LiveRun) {
    let (trace, ..) = trace(run);
    let (names, frames) = captured(run);
    let said_of = |flow: u32| {
        let rows = trace.messages.signal.iter().zip(&trace.messages.flow);
        rows.filter(move |(_, of)| **of == flow).map(|(signal, _)| *signal)
    };
    let mut said = [0, 1].map(said_of);
    let mut count = 0;
    for (port, _, sent, octets) in frames.iter().filter(|(.., octets)| octets[16..18] == [0x22, 0xE9]) {
        let (frame, rest) = Frame::decode(octets).expect("a frame of ours decodes");
        let Payload::Cnm(cnm) = &frame.payload else { continue };
        if !names[*port as usize].starts_with("switch->") || !sent {
            continue;
        }
        count += 1;
        assert!(rest.is_empty() && frame.to_vec().expect("it encodes") == *octets, "encoding gives the same octets");
        assert_eq!((cnm.version, cnm.reserved, cnm.priority_reserved, cnm.msdu.len()), (0, 0, 0, 64));
        assert_eq!(frame.c_tag.map(|tag| (tag.priority, tag.vlan)), Some((6, 1)));
        // To the host of flow 0, node 0, or that of flow 1, node 1.
        let flow = u32::from(frame.destination == MacAddress::local(2));
        let signal = said[flow as usize].next().expect("the trace has every message");
        let Signal::Cnm(expected) = signal else { panic!("QCN says {signal:?}") };
        assert_eq!(cnm.quantized_fb.get(), expected.quantized_fb);
        assert_eq!((cnm.q_offset.octets(), cnm.q_delta.octets()), (expected.q_offset, expected.q_delta));
        // The sampled frame starts with its EtherType, and IPv4 behind that.
        assert_eq!(frame.destination, MacAddress::local(flow + 1));
        assert_eq!(frame.cn_tag.map(|tag| tag.rpid), Some(1), "each host has one reaction point");
        assert_eq!((&cnm.msdu[..2], &cnm.msdu[14..18]), (&[0x08, 0x00][..], &[10, 0, 0, flow as u8 + 1][..]));
        assert_eq!(cnm.msdu[22..24], (49_152 + flow as u16).to_be_bytes(), "the port of the flow's sender");
    }
    assert!(count > 5, "{count} CNMs");
    // A signal that was sent in the last instants may still wait for its port.
    assert!(said.into_iter().flatten().count() < 4, "each message of the trace is a frame");
}

/// After the first CNM that a host hears its rate is lower; before, it is that of the line.
fn every_cut_follows_a_cnm(run: &LiveRun) {
    let (trace, ..) = trace(run);
    let (names, frames) = captured(run);
    for flow in 0..2u32 {
        let wire = format!("source{}->switch", flow + 1);
        let is_cnm = |octets: &[u8]| octets[20..22] == [0x22, 0xE7];
        let heard =
            frames.iter().find(|(port, _, sent, octets)| names[*port as usize] == wire && !sent && is_cnm(octets));
        let (_, heard, ..) = heard.expect("each host hears a CNM");
        let rates: Vec<(u64, u64)> = (0..trace.rates.time.len())
            .filter(|row| trace.rates.flow[*row] == flow)
            .map(|row| (trace.rates.time[row], trace.rates.current[row]))
            .collect();
        assert!(
            rates.iter().filter(|(at, _)| at < heard).all(|(_, rate)| *rate == 100_000_000),
            "flow {flow}: {rates:?}"
        );
        let after = rates.iter().find(|(at, _)| at > heard).expect("rates are sampled after it");
        assert!(after.1 < 100_000_000, "flow {flow}: {after:?} after {heard}");
    }
}

/// Two classes from each of two senders into one port; PFC pauses one of them.
const TWO_CLASSES: &str = r#"
duration = "25 ms"

[topology]
kind = "star"
sources = 2
rate = "10 Gb/s"
rtt = "20 us"
buffer = "8 MB"

[switch]
input_memory = "4 MB"

[pause]
kind = "priority"
priorities = "3"
high = "200 KB"
headroom = "2 MB"

[[traffic]]
arrivals = "saturated"
frame = "1500 B"
priority = 3

[[traffic]]
arrivals = "constant"
rate = "0.5 Gb/s"
frame = "1500 B"
priority = 5

[scheme]
name = "none"
"#;

/// Two classes from each of two senders into one port: class 3 is paused before the memory for its input is full, and
/// no frame of it is lost; class 5, which nothing pauses, goes on meanwhile.
fn pfc_stops_its_class_and_no_other() {
    let run = live(TWO_CLASSES, &LiveOptions { snap: 64, ..LiveOptions::default() });
    let (trace, counters, flows) = trace(&run);
    assert!(counters.pause_frames > 0 && !trace.pauses.start.is_empty(), "{counters:?}");
    assert!(trace.pauses.class.iter().all(|class| *class == Some(3)), "{:?}", trace.pauses.class);
    let names: Vec<&str> = flows.iter().map(|flow| if flow.delivered > 20 { "goes on" } else { "stands" }).collect();
    assert_eq!(names, ["goes on"; 4], "{flows:?}");
    assert_eq!(counters.frames_dropped, 0, "no class loses a frame: {flows:?}");
    // While class 3 of a host is paused it sends none of it, and of class 5 it does.
    let (ports, frames) = captured(&run);
    let (mut of_class_3, mut of_class_5) = (0, 0);
    for row in 0..trace.pauses.start.len() {
        let port = trace.pauses.port[row];
        // A frame in transmission is never cut short: 1500 octets at 100 Mb/s take 120 us.
        let paused = trace.pauses.start[row] + 120_000_001..trace.pauses.end[row];
        for (_, _, _, octets) in
            frames.iter().filter(|(at, time, sent, _)| *at == port && *sent && paused.contains(time))
        {
            match octets[14] >> 5 {
                3 => of_class_3 += 1,
                5 => of_class_5 += 1,
                _ => {}
            }
        }
    }
    assert!(ports.iter().any(|name| name == "source1->switch"));
    assert_eq!(of_class_3, 0, "frames of the paused class");
    assert!(of_class_5 > 0, "frames of the other class");
}

/// A stream that loses frames in a short queue, under QCN, arrives whole; one with an end finishes.
fn tcp_delivers_every_octet() {
    let traffic = r#"
[[traffic]]
arrivals = "saturated"
transport = "tcp"
from = "source1"
frame = "1500 B"

[[traffic]]
arrivals = "saturated"
transport = "tcp"
from = "source2"
frame = "1500 B"
size = "4 MB"
"#;
    let run = live(&star_with(traffic, "").replace("150 KB", "45 KB"), &LiveOptions::default());
    let (_, counters, flows) = trace(&run);
    let received: Vec<(FlowId, u64, u64)> = run
        .streams
        .iter()
        .filter(|stream| stream.tally.segments == 0)
        .map(|stream| (stream.flow, stream.octets, stream.wrong))
        .collect();
    assert_eq!(received.len(), 2, "{:?}", run.streams);
    assert!(received.iter().all(|(_, octets, wrong)| *octets > 100_000 && *wrong == 0), "{received:?}");
    let whole = received.iter().find(|(flow, ..)| *flow == FlowId::new(1)).expect("the second stream");
    assert_eq!(whole.1, 4_000_000);
    assert!(flows[1].finished < qcnlab_units::Instant::NEVER, "{flows:?}");
    assert!(counters.acks_heard > 100, "{counters:?}");
}

/// When the adapter of a host heard CNMs, ps.
fn heard_at(captured: &(Vec<String>, Vec<Seen>), wire: &str) -> Vec<u64> {
    let (names, frames) = captured;
    let is_cnm = |octets: &[u8]| octets[20..22] == [0x22, 0xE7];
    let of = frames.iter().filter(|(port, _, sent, octets)| names[*port as usize] == wire && !sent && is_cnm(octets));
    of.map(|(_, at, ..)| *at).collect()
}

/// The kernel's shaper paces. After each CNM that a host hears the kernel says a lower rate of its class than before, and
/// no class lets more pass than its rates allow.
fn the_kernel_shaper_is_slower_after_each_cnm() {
    let run = live(&hotspot(), &LiveOptions { snap: 128, limiter: LimiterKind::Htb, ..LiveOptions::default() });
    let (_, counters, flows) = trace(&run);
    let captured = captured(&run);
    let mut all_heard = 0;
    for host in 0..2u32 {
        let limits: Vec<&KernelLimit> = run.kernel_limits.iter().filter(|limit| limit.host == host).collect();
        assert!(limits.iter().all(|limit| limit.rpid == 1 && limit.read_bps == limit.asked_bps / 8 * 8), "{limits:?}");
        assert_eq!(limits[0].read_bps, 100_000_000, "the link's");
        let heard = heard_at(&captured, &format!("source{}->switch", host + 1));
        assert!(!heard.is_empty(), "host {host} hears CNMs");
        all_heard += heard.len() as u64;
        for at in &heard {
            let before = limits.iter().rev().find(|limit| limit.at_ps <= *at).expect("the first is at 0");
            // Up to the next one that it hears; a late loop hears several at one instant.
            let next = heard.iter().find(|next| *next > at).copied().unwrap_or(u64::MAX);
            let mut answers = limits.iter().filter(|limit| limit.at_ps > *at && limit.at_ps <= next);
            let lower = answers.any(|limit| limit.reaction_bps < before.reaction_bps);
            // The scenario's lowest rate, 10 Mb/s, at scale 100. A run may end before the answer.
            let cannot =
                before.reaction_bps == 100_000 || (next == u64::MAX && limits.iter().all(|limit| limit.at_ps <= *at));
            assert!(lower || cannot, "{before:?}, CNM at {at}, the next at {next}: {limits:?}");
        }
        assert!(limits.iter().all(|limit| limit.read_bps <= limit.reaction_bps), "{limits:?}");
        // Octets that the rates allow over 4.5 s, and a few frames and 2 % for changes in the middle of a frame.
        let ends = limits.iter().skip(1).map(|limit| limit.at_ps).chain([4_500_000_000_000]);
        let allowed: f64 =
            limits.iter().zip(ends).map(|(limit, end)| limit.read_bps as f64 / 8e12 * (end - limit.at_ps) as f64).sum();
        let sent = flows[host as usize].sent_bytes as f64;
        assert!(sent < 1.02 * allowed + 30_000.0, "host {host} sent {sent}, allowed were {allowed}");
    }
    assert_eq!(counters.messages_heard, all_heard);
    assert!(flows.iter().all(|flow| flow.delivered > 100), "{flows:?}");
    let account = run.account_json();
    assert_eq!(account["limiter"]["kind"], "htb");
    for shaper in account["limiter"]["shapers"].as_array().expect("a list") {
        // 802.1Q tag and CN-TAG, which the kernel does not see.
        let class = &shaper["classes"][0];
        let none = ["rate_changes_read_back_unlike", "rate_changes_refused"].map(|name| shaper[name].as_u64());
        assert!(shaper["host"] == "sink" || (class["overhead_bytes"] == 8 && class["burst_bytes"] == 1500), "{shaper}");
        assert_eq!(none, [Some(0), Some(0)], "{shaper}");
    }
}

/// Two streams of one host, each with a reaction point and a class of its own, arrive whole through the kernel's shaper.
fn tcp_through_the_kernel_shaper_arrives_whole() {
    let traffic = r#"
[[traffic]]
arrivals = "saturated"
transport = "tcp"
from = "source1"
frame = "1500 B"

[[traffic]]
arrivals = "saturated"
transport = "tcp"
from = "source1"
frame = "1500 B"
size = "1500 KB"
"#;
    let hotspot = "[[hotspot]]\nfrom = \"1 ms\"\nuntil = \"5 ms\"\nrate = \"2 Gb/s\"\n";
    let options = LiveOptions { limiter: LimiterKind::Htb, ..LiveOptions::default() };
    let run = live(&star_with(traffic, hotspot), &options);
    let received: Vec<(u64, u64)> = [0, 1]
        .map(|flow| run.streams.iter().find(|end| end.flow == FlowId::new(flow) && end.tally.segments == 0))
        .map(|end| end.expect("the stream was read"))
        .map(|end| (end.octets, end.wrong))
        .to_vec();
    assert!(received[0].0 > 100_000 && received[1].0 == 1_500_000, "{received:?}");
    assert!(received.iter().all(|(_, wrong)| *wrong == 0), "{received:?}");
    for rpid in [1, 2] {
        let lowest = run.kernel_limits.iter().filter(|limit| limit.rpid == rpid).map(|limit| limit.read_bps).min();
        assert!(lowest.is_some_and(|lowest| lowest < 100_000_000), "RPID {rpid}: {lowest:?}");
    }
}

/// A link that is paused holds the kernel's shaper, too: what it let pass waits, little follows, and no frame is lost.
fn a_pause_holds_the_kernel_shaper() {
    let run = live(TWO_CLASSES, &LiveOptions { limiter: LimiterKind::Htb, ..LiveOptions::default() });
    let (trace, counters, flows) = trace(&run);
    assert!(counters.pause_frames > 0 && !trace.pauses.start.is_empty(), "{counters:?}");
    assert!(flows.iter().all(|flow| flow.delivered > 20), "{flows:?}");
    assert_eq!(counters.frames_dropped, 0, "{flows:?}");
    // The stack's interface holds 1000 frames, 120 ms on a link of 100 Mb/s, while a loop does not look.
    let timing = run.timing.to_json();
    let gaps = timing["loops"].as_array().expect("a list").iter().filter_map(|each| each["longest_gap_us"].as_u64());
    if gaps.max().is_some_and(|longest| longest < 50_000) {
        assert_eq!(timing["stack_drops"], 0);
    }
    // A hundredth of the link of 100 Mb/s, for the class of priority 3 at least.
    assert!(run.kernel_limits.iter().any(|limit| limit.read_bps == 1_000_000), "{:?}", run.kernel_limits);
}

/// Responses of 500 KB from three hosts to one at the same time, again after 20 ms of the scenario's time: over TCP each
/// has a completion time, which is no shorter than its octets take alone. A flow of datagrams with an end has one, too.
fn finite_flows_have_completion_times() {
    let run = live(
        r#"
duration = "40 ms"

[topology]
kind = "switch"
hosts = 4
rate = "10 Gb/s"
delay = "1 us"

[switch]
output_buffer = "300 KB"

[[traffic]]
arrivals = "incast"
transport = "tcp"
from = "host{2..4}"
to = "host1"
senders = 3
size = "500 KB"
period = "20 ms"
frame = "1500 B"

[[traffic]]
arrivals = "saturated"
from = "host1"
to = "host2"
size = "300 KB"
frame = "1500 B"

[scheme]
name = "qcn"
preset = "DECK001"
"#,
        &LiveOptions::default(),
    );
    let (_, _, flows) = trace(&run);
    assert_eq!(flows.len(), 7, "{flows:?}");
    for flow in flows {
        assert!(flow.finished < qcnlab_units::Instant::NEVER, "{flow:?}");
        let took = flow.finished.ps() - flow.started.ps();
        let total = flow.total_bytes.expect("it has an end");
        // An octet takes 80 ns at 100 Mb/s: 300 KB 24 ms, 500 KB 40 ms and a little for their headers.
        assert!(took >= total * 80_000, "{took} ps for {total} octets: {flow:?}");
    }
    // Three at a time share one link: the last of them ends when all octets are through.
    let last = flows.iter().filter(|flow| flow.tcp.is_some() && flow.started.ps() < 1_000_000_000_000);
    let last = last.map(|flow| flow.finished.ps() - flow.started.ps()).max().expect("there are three");
    assert!(last >= 3 * 500_000 * 80_000, "{last}");
}

/// One bridge takes no part. LLDP makes the port to it an edge and all others interior ready, as the scenario says that it
/// would settle: frames from behind that bridge get priority 2 and are controlled by nobody, those of the near hosts keep
/// their CN-TAG and their priority 3, and CNMs go to the near hosts alone.
fn lldp_settles_the_domain() {
    // The near hosts fill their class to 98 %, so that its queue is often longer than the set point, whatever the machine
    // does.
    let changes = ["duration=50 ms", "warmup=5 ms", "traffic.0.rate=4.9 Gb/s"];
    let scenario = Scenario::shipped("one-bridge-outside-the-domain").and_then(|all| all.with_overrides(&changes));
    let scenario = scenario.expect("it works");
    let options = LiveOptions { snap: 128, ..LiveOptions::default() };
    let run = run(&scenario, &options, &Control::default()).expect("it runs");
    let (trace, counters, _) = trace(&run);
    let modes: Vec<(&str, &[(u8, &str)])> =
        run.defences.iter().map(|end| (end.port.as_str(), end.modes.as_slice())).collect();
    for port in ["near1->left", "left->near2", "left->right", "right->left", "right->sink", "sink->right"] {
        assert!(modes.contains(&(port, &[(3, "interior_ready")])), "{port}: {modes:?}");
    }
    assert!(modes.contains(&("right->old", &[(3, "edge")])), "{modes:?}");
    assert!(!modes.iter().any(|(port, _)| port.starts_with("old->")), "{modes:?}");
    assert!(run.defences.iter().all(|end| end.as_settled && end.settled_at < 1_000_000_000_000), "{:?}", run.defences);
    let (names, frames) = captured(&run);
    let (mut near, mut far, mut announced) = (0, 0, 0);
    // Modes are settled within the first second; the run takes five.
    for (port, at, _, octets) in frames.iter().filter(|(_, _, sent, _)| *sent) {
        let (name, settled) = (names[*port as usize].as_str(), *at > 1_000_000_000_000);
        if octets[12..14] == [0x88, 0xCC] {
            let (frame, _) = Frame::decode(octets).expect("LLDP decodes");
            let Payload::Lldp(unit) = frame.payload else { panic!("{frame:?}") };
            let of = |tlv| if let Tlv::CongestionNotification(tlv) = tlv { Some(tlv) } else { None };
            assert!(unit.tlvs().find_map(of).is_some_and(|tlv| tlv.cnpv == 8), "{name}: {unit:?}");
            announced += 1;
        } else if settled && name == "right->sink" && octets[22..24] != [0x22, 0xE7] {
            let seen = (octets[14] >> 5, octets[16..18] == [0x22, 0xE9]);
            // Nodes 0 and 1 are near, 2 and 3 far, by their addresses from 1.
            let is_near = octets[11] <= 2;
            assert_eq!(seen, if is_near { (3, true) } else { (2, false) }, "{octets:02x?}");
            if is_near { near += 1 } else { far += 1 }
        }
    }
    assert!(near > 100 && far > 100 && announced > 8, "{near} near, {far} far, {announced} announcements");
    assert!(counters.messages_heard > 0 && counters.messages_ignored == 0, "{counters:?}");
    assert!(trace.messages.flow.iter().all(|flow| *flow < 2), "{:?}", trace.messages.flow);
}

/// Deck 002: one source of small frames through two switches; feedback computed at the switch, and in the card.
fn feedback_at_the_switch_and_in_the_card() {
    for name in ["one-source-two-switches-10g-to-1g", "one-source-two-switches-nic-feedback-10g-to-1g"] {
        let changes = ["duration=12 ms", "warmup=1 ms", "hotspot.from=3 ms", "hotspot.until=8 ms"];
        let scenario = Scenario::shipped(name).and_then(|shipped| shipped.with_overrides(&changes)).expect("it works");
        let options = LiveOptions { scale: 400, ..LiveOptions::default() };
        let run = run(&scenario, &options, &Control::default()).expect("it runs");
        let (trace, counters, _) = trace(&run);
        assert!(counters.messages_heard > 0, "{name}: {counters:?}");
        let lowest = trace.rates.current.iter().min().expect("rates are sampled");
        assert!(*lowest < 20_000_000, "{name}: {lowest}");
    }
}

/// One host of three was taken over and sends hostile frames at full rate, into the switch and into its own adapter.
/// Everything goes on, each kind is counted, and the TCP of the others arrives octet by octet.
fn hostile_frames_at_full_rate_stop_nobody_else() {
    let text = hotspot()
        .replace("sources = 2", "sources = 3")
        .replace("arrivals = \"saturated\"", "priority = 3\narrivals = \"saturated\"\ntransport = \"tcp\"");
    let text = format!("{text}\n[feedback]\nkind = \"frames\"\n\n[domain]\npriorities = \"3\"\n");
    let intruder = Some(Intruder { host: "source3".to_owned(), seed: 1 });
    let run = live(&text, &LiveOptions { intruder, real_time: false, ..LiveOptions::default() });
    let sent = run.intruder.expect("there was one");
    assert!(sent.into_switch > 1000 && sent.into_adapter > 1000, "{sent:?}");
    let silent: Vec<&str> =
        run.refused.by_name().iter().filter(|(_, count)| *count == 0).map(|(name, _)| *name).collect();
    assert!(silent.is_empty(), "not counted: {silent:?} of {:?}", run.refused);
    for flow in 0..2 {
        let read = run.streams.iter().find(|stream| stream.flow == FlowId::new(flow) && stream.tally.segments == 0);
        let read = read.expect("the stream was read");
        assert!(read.octets > 50_000 && read.wrong == 0, "{read:?}");
    }
    let host = "nobody".to_owned();
    let scenario = Scenario::parse(&text, "test.toml").expect("it works");
    let options = LiveOptions { intruder: Some(Intruder { host, seed: 1 }), ..LiveOptions::default() };
    let error = qcnlab_live::run(&scenario, &options, &Control::default()).expect_err("there is no such host");
    assert_eq!(error.to_string(), "no host nobody; there are: source1, source2, source3, sink");
}

/// The machine's own interfaces are the same after a run as before, and so are its namespaces with names.
fn nothing_of_the_machine_is_touched() {
    let name = |line: &str| line.split(':').next().unwrap_or("").to_owned();
    let own = || std::fs::read_to_string("/proc/self/net/dev").map(|text| text.lines().map(name).collect::<Vec<_>>());
    let named = || std::fs::read_dir("/run/netns").map_or(0, |entries| entries.count());
    let before = (own().expect("it can be read"), named());
    let changes = ["duration=8 ms", "warmup=1 ms", "hotspot.from=3 ms", "hotspot.until=5 ms"];
    let scenario = Scenario::parse(&hotspot(), "test.toml").and_then(|scenario| scenario.with_overrides(&changes));
    let scenario = scenario.expect("it works");
    run(&scenario, &LiveOptions::default(), &Control::default()).expect("it runs");
    assert_eq!((own().expect("it can be read"), named()), before);
}

/// The last CPU that this process may use: that of all loops.
fn last_cpu() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("it can be read");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("Linux tells");
    list.trim().rsplit([',', '-']).next().and_then(|last| last.parse().ok()).expect("a number")
}

/// A thread of higher priority takes the CPU of all loops for 90 of 100 ms: the clock stands still meanwhile, no frame is
/// late for it, and the run says so and is invalid.
fn the_clock_stands_still_while_the_cpu_is_taken() {
    let changes = ["duration=20 ms", "warmup=1 ms", "hotspot.from=3 ms", "hotspot.until=8 ms"];
    let scenario = Scenario::parse(&hotspot(), "test.toml").and_then(|scenario| scenario.with_overrides(&changes));
    let (scenario, control) = (scenario.expect("it works"), Control::default());
    let (run, class) = std::thread::scope(|scope| {
        let spinning = scope.spawn(|| {
            while control.done_ps.load(std::sync::atomic::Ordering::Relaxed) < 400_000_000_000 {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            measure_stalls(last_cpu(), CyclicThread::Spin, 0.35, 1_000_000).1
        });
        let run = run(&scenario, &LiveOptions::default(), &control).expect("it runs");
        (run, spinning.join().expect("no panic"))
    });
    if class != "fifo" {
        println!("no real-time scheduling: {class}");
        return;
    }
    let timing = run.timing.to_json();
    let (stopped, late_us) = (&timing["clock_stopped"], timing["lateness"]["max_us"].as_u64().expect("frames left"));
    let longest_ms = stopped["longest_ms"].as_f64().expect("a number");
    assert!(longest_ms > 60.0 && stopped["total_ms"].as_f64() >= Some(longest_ms), "{stopped}");
    assert!((late_us as f64) < longest_ms * 1000.0 / 2.0, "{late_us} us late: {stopped}");
    assert!(run.timing.reasons().iter().any(|reason| reason.contains("stood still for")), "{:?}", run.timing.reasons());
    assert!(run.unaccounted.abs() < 200, "{}", run.unaccounted);
}

/// A run that is stopped ends within a second.
fn a_stop_is_heard_within_a_second() {
    let control = Control::default();
    let scenario = Scenario::parse(&hotspot(), "test.toml").expect("it works");
    let ended = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&scenario, &LiveOptions::default(), &control).err());
        std::thread::sleep(std::time::Duration::from_millis(1500));
        let stopped = Instant::now();
        control.cancel.store(true, std::sync::atomic::Ordering::Relaxed);
        let error = running.join().expect("no panic");
        assert!(matches!(error, Some(LiveError::Run(_))), "{error:?}");
        stopped.elapsed()
    });
    assert!(ended.as_secs_f64() < 1.0, "{ended:?}");
}

/// Tests that need the kernel's shaper, HTB.
const SHAPED: &[(&str, fn())] = &[
    ("the_kernel_shaper_is_slower_after_each_cnm", the_kernel_shaper_is_slower_after_each_cnm),
    ("a_pause_holds_the_kernel_shaper", a_pause_holds_the_kernel_shaper),
    ("tcp_through_the_kernel_shaper_arrives_whole", tcp_through_the_kernel_shaper_arrives_whole),
];

const TESTS: &[(&str, fn())] = &[
    ("a_hotspot_is_answered_by_cnms_and_lower_rates", a_hotspot_is_answered_by_cnms_and_lower_rates),
    ("pfc_stops_its_class_and_no_other", pfc_stops_its_class_and_no_other),
    ("tcp_delivers_every_octet", tcp_delivers_every_octet),
    ("finite_flows_have_completion_times", finite_flows_have_completion_times),
    ("lldp_settles_the_domain", lldp_settles_the_domain),
    ("feedback_at_the_switch_and_in_the_card", feedback_at_the_switch_and_in_the_card),
    ("hostile_frames_at_full_rate_stop_nobody_else", hostile_frames_at_full_rate_stop_nobody_else),
    ("nothing_of_the_machine_is_touched", nothing_of_the_machine_is_touched),
    ("the_clock_stands_still_while_the_cpu_is_taken", the_clock_stands_still_while_the_cpu_is_taken),
    ("a_stop_is_heard_within_a_second", a_stop_is_heard_within_a_second),
];

/// What `make test` leaves out and `make test-all` runs.
const LONG: &[&str] = &[
    "pfc_stops_its_class_and_no_other",
    "tcp_delivers_every_octet",
    "finite_flows_have_completion_times",
    "lldp_settles_the_domain",
    "feedback_at_the_switch_and_in_the_card",
    "hostile_frames_at_full_rate_stop_nobody_else",
    "a_stop_is_heard_within_a_second",
    "the_kernel_shaper_is_slower_after_each_cnm",
    "a_pause_holds_the_kernel_shaper",
    "tcp_through_the_kernel_shaper_arrives_whole",
];

fn main() -> ExitCode {
    let asks = |flag: &str| std::env::args().any(|argument| argument == flag);
    let (ignored, all) = (asks("--ignored"), asks("--include-ignored"));
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let findings = examine();
    let lacks = |wanted: &dyn Fn(&Finding) -> bool| {
        let missing = findings.iter().filter(|finding| wanted(finding) && !finding.works);
        missing.map(|finding| format!("{}: {}", finding.what, finding.said)).collect::<Vec<_>>().join("; ")
    };
    let missing = lacks(&|finding| finding.needed);
    let missing_shaper = lacks(&|finding| finding.needed || finding.what == "kernel shaper HTB");
    let plain = TESTS.iter().map(|test| (test, &missing));
    let shaped = SHAPED.iter().map(|test| (test, &missing_shaper));
    let required = std::env::var("QCNLAB_REQUIRE_LIVE").is_ok_and(|value| value == "1");
    let (mut passed, mut failed, mut skipped, mut left) = (0, 0, 0, 0);
    for ((name, test), missing) in plain.chain(shaped) {
        if !wanted.is_empty() && !wanted.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        if wanted.is_empty() && !all && LONG.contains(name) != ignored {
            left += 1;
            continue;
        }
        if !missing.is_empty() {
            println!("test {name} ... SKIPPED live: {missing}");
            skipped += 1;
            continue;
        }
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(test));
        let seconds = start.elapsed().as_secs_f64();
        println!("test {name} ... {} ({seconds:.1} s)", if result.is_ok() { "ok" } else { "FAILED" });
        if result.is_ok() { passed += 1 } else { failed += 1 }
    }
    let refused = required && skipped > 0;
    let verdict = if failed > 0 || refused { "FAILED" } else { "ok" };
    println!("\ntest result: {verdict}. {passed} passed; {failed} failed; {left} ignored; {skipped} skipped");
    ExitCode::from(u8::from(failed > 0 || refused))
}
