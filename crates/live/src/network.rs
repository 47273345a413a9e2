//! The namespaces of a network and the links between them: built, entered, checked.

use crate::error::LiveError;
use crate::layout::{CN_TAG, Layout, TAGGED_HEADER, ip, mac, wire_mac};
use crate::netlink::{Links, VethEnd};
use crate::sys::SysError;
use crate::sys::namespace::Namespace;
use crate::sys::tap::Tap;
use qcnlab_sim::{FlowPlan, NodeId, Plan, PortId, Traffic};
use qcnlab_units::Id;
use std::collections::BTreeMap;
use std::fs;

/// The interface of a host that leads to its switch, and that of its stack.
pub(crate) const WIRE: &str = "wire";
pub(crate) const STACK: &str = "tap0";

/// The namespaces of a network.
#[derive(Debug)]
pub(crate) struct Spaces {
    /// That of all switches.
    pub(crate) switches: Namespace,
    /// Those of hosts, by node.
    pub(crate) hosts: BTreeMap<NodeId, Namespace>,
    /// The namespace that the process started in.
    pub(crate) outside: u64,
}

/// The name of a switch's interface for the way that leaves by it.
pub(crate) fn interface(way: PortId) -> String {
    format!("p{}", way.number())
}

/// Builds the namespaces and links of a layout on a thread of its own.
///
/// # Errors
/// When the system refuses. What was built is gone then.
pub(crate) fn build(layout: &Layout) -> Result<Spaces, LiveError> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("qcnlab builder".to_owned());
        let built = builder.spawn_scoped(scope, || build_here(layout));
        let thread = built.map_err(|error| SysError::new("start a thread", error))?;
        thread.join().unwrap_or_else(|_| {
            Err(LiveError::Thread { thread: "the builder".to_owned(), why: "it panicked".to_owned() })
        })
    })
}

fn build_here(layout: &Layout) -> Result<Spaces, LiveError> {
    let outside = Namespace::current()?.number()?;
    let mut hosts = BTreeMap::new();
    for host in layout.hosts() {
        let space = Namespace::create_and_enter()?;
        assert_ours(outside)?;
        hosts.insert(host, space);
    }
    let switches = Namespace::create_and_enter()?;
    assert_ours(outside)?;
    silence_stack();
    let links = Links::open()?;
    for (way, of) in layout.ways.enumerate() {
        // Each link once, from the end that is a switch's or else from the way with the lower number.
        let far_is_host = layout.is_host(of.to);
        if layout.is_host(of.from) || (!far_is_host && of.reverse < way) {
            continue;
        }
        let (near, far) = (interface(way), if far_is_host { WIRE.to_owned() } else { interface(of.reverse) });
        let near = VethEnd { name: &near, address: wire_mac(way) };
        let far = VethEnd { name: &far, address: wire_mac(of.reverse) };
        let far_in = hosts.get(&of.to).map(std::os::fd::AsFd::as_fd);
        links.make_veth(&near, &far, far_in, layout.mtu)?;
        links.set_up(near.name)?;
        if !far_is_host {
            links.set_up(far.name)?;
        }
    }
    Ok(Spaces { switches, hosts, outside })
}

/// Refuses to go on unless the calling thread is in a namespace of ours.
pub(crate) fn assert_ours(outside: u64) -> Result<(), LiveError> {
    let here = Namespace::current()?.number()?;
    if here == outside {
        return Err(LiveError::NotOurs { what: "the thread is in the machine's own network namespace".to_owned() });
    }
    Ok(())
}

/// Sets a switch of the calling thread's namespace under /proc/sys; where it is not there, nothing.
fn set(path: &str, value: &str) {
    let _ = fs::write(format!("/proc/sys/net/{path}"), value);
}

/// Keeps the stack from talking by itself.
fn silence_stack() {
    set("ipv6/conf/all/disable_ipv6", "1");
    set("ipv6/conf/default/disable_ipv6", "1");
}

/// Makes the interfaces of a host ready; the calling thread is in its namespace.
pub(crate) fn prepare_host(plan: &Plan, layout: &Layout, host: NodeId) -> Result<Tap, LiveError> {
    silence_stack();
    // The headers of frames have one length, and every connection starts alike.
    set("ipv4/tcp_timestamps", "0");
    set("ipv4/tcp_no_metrics_save", "1");
    set("ipv4/tcp_congestion_control", "reno");
    // Ports that the kernel chooses are none of the flows'.
    set("ipv4/ip_local_port_range", "20000 40000");
    let links = Links::open()?;
    let tap = Tap::create(STACK)?;
    links.configure(STACK, mac(host), stack_mtu(plan), 1000)?;
    links.set_up("lo")?;
    links.set_up(WIRE)?;
    links.set_up(STACK)?;
    links.add_address(STACK, ip(host), 8)?;
    for other in layout.hosts().filter(|other| *other != host) {
        links.add_neighbour(STACK, ip(other), mac(other))?;
    }
    Ok(tap)
}

/// Octets of the longest IPv4 packet: that of a full frame of the plan behind its tags. Segments of TCP are as long as
/// they may be, so that TCP's frames decide where there are any.
fn stack_mtu(plan: &Plan) -> u32 {
    let tags = |flow: &FlowPlan| TAGGED_HEADER + if flow.cn_tag && flow.controlled { CN_TAG } else { 0 };
    let packet = |flow: &FlowPlan| flow.frame.get().saturating_sub(tags(flow));
    let tcp = plan.flows.iter().filter(|flow| matches!(flow.traffic, Traffic::Tcp { .. }));
    let longest = tcp.map(packet).max();
    longest.unwrap_or_else(|| plan.flows.iter().map(packet).max().unwrap_or(0).max(1478)).max(68) as u32
}

/// Frames that the stack's interface dropped because the adapter did not take them; of the calling thread's namespace.
pub(crate) fn stack_drops() -> u64 {
    interface_counter(STACK, 11)
}

/// Frames that an interface of the calling thread's namespace received.
pub(crate) fn received_frames(name: &str) -> u64 {
    interface_counter(name, 1)
}

/// A counter of /proc/net/dev: received octets, frames, errors, drops and four more; then sent octets, frames, errors,
/// drops.
fn interface_counter(name: &str, column: usize) -> u64 {
    let Ok(text) = fs::read_to_string("/proc/thread-self/net/dev") else { return 0 };
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(&format!("{name}:")));
    line.and_then(|counters| counters.split_whitespace().nth(column)?.parse().ok()).unwrap_or(0)
}
