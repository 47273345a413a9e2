//! What this machine can do of a live run, each with the reason and the remedy where it cannot.

use crate::netlink::{Links, VethEnd};
use crate::shaper::{KernelShaper, ShapedClass, WantedRate};
use crate::sys::namespace::{Namespace, become_root_of_user_namespace, is_root, threads};
use crate::sys::scheduling::{SchedulingClass, ask_for_best, lock_memory};
use crate::sys::socket::PacketSocket;
use crate::sys::tap::Tap;
use qcnlab_units::{BitRate, Bytes};
use qcnlab_wire::MacAddress;
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::process::Command;

/// One line of what was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was tried.
    pub what: &'static str,
    /// Whether live runs need it.
    pub needed: bool,
    /// Whether it works.
    pub works: bool,
    /// What was answered, or why it does not work.
    pub said: String,
    /// What to do where it does not; empty where it does.
    pub remedy: &'static str,
}

/// Tries what live runs need. A process that is not root and has one thread enters a user namespace for that.
pub fn examine() -> Vec<Finding> {
    let mut findings = Vec::new();
    let root = is_root();
    let privileges = if root {
        Ok("root".to_owned())
    } else if threads() > 1 {
        Err("not root, and the process has several threads".to_owned())
    } else {
        become_root_of_user_namespace()
            .map(|()| "a user namespace of its own".to_owned())
            .map_err(|error| error.to_string())
    };
    findings.push(finding(
        "privileges",
        true,
        privileges,
        "run as root, or allow user namespaces: sysctl user.max_user_namespaces=10000",
    ));
    let on_thread = std::thread::scope(|scope| scope.spawn(try_network).join());
    findings.extend(on_thread.unwrap_or_default());
    let class = std::thread::scope(|scope| scope.spawn(|| ask_for_best(1)).join()).unwrap_or(SchedulingClass::Plain);
    findings.push(finding(
        "real-time scheduling",
        false,
        if class == SchedulingClass::Fifo { Ok(class.to_string()) } else { Err(format!("threads get {class}")) },
        "run as root or with CAP_SYS_NICE; without it runs on a busy machine are INVALID TIMING",
    ));
    findings.push(finding(
        "locked memory",
        false,
        if lock_memory() { Ok("locked".to_owned()) } else { Err("refused".to_owned()) },
        "raise ulimit -l",
    ));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let said = format!("{cpus}");
    let enough = if cpus >= 2 { Ok(said) } else { Err(said) };
    findings.push(finding(
        "two CPUs",
        false,
        enough,
        "give the machine two; with one, runs are slow and INVALID TIMING",
    ));
    for (name, argument, use_of) in [
        ("iperf3", "--version", "traffic of another maker's: install iperf3"),
        ("tshark", "--version", "an independent reader of our frames: install tshark"),
        ("unshare", "-V", "user namespaces by hand, `unshare -Urn qcnlab live run ...`: install util-linux"),
        ("ip", "-V", "`live up` with named namespaces: install iproute2"),
    ] {
        let answered = Command::new(name).arg(argument).output();
        let lacking = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => "not installed".to_owned(),
            _ => error.to_string(),
        };
        let said = answered.map_err(lacking).and_then(|output| {
            let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
            let text = String::from_utf8_lossy(&text);
            text.lines().next().map(str::to_owned).ok_or_else(|| "it says nothing".to_owned())
        });
        findings.push(finding(name, false, said, use_of));
    }
    findings
}

fn finding(what: &'static str, needed: bool, result: Result<String, String>, remedy: &'static str) -> Finding {
    match result {
        Ok(said) => Finding { what, needed, works: true, said, remedy: "" },
        Err(said) => Finding { what, needed, works: false, said, remedy },
    }
}

/// Tries namespaces, links, packet sockets and TAP on the calling thread, which is of no other use then.
fn try_network() -> Vec<Finding> {
    let space = Namespace::create_and_enter();
    let entered = space.is_ok();
    let text = |result: Result<(), crate::sys::SysError>, said: &str| {
        result.map(|()| said.to_owned()).map_err(|error| error.to_string())
    };
    let mut findings = vec![finding(
        "network namespaces",
        true,
        text(space.map(drop), "made and entered"),
        "run as root, or on a kernel with network namespaces",
    )];
    if !entered {
        // The machine's own namespace is not the place to try anything.
        return findings;
    }
    let ends =
        [VethEnd { name: "a0", address: MacAddress::local(1) }, VethEnd { name: "b0", address: MacAddress::local(2) }];
    let veth = Links::open().and_then(|links| links.make_veth(&ends[0], &ends[1], None, 1600));
    findings.push(finding("veth pairs", true, text(veth, "made"), "use a kernel with CONFIG_VETH"));
    let remedy = "none is needed unless for --limiter htb: a kernel with CONFIG_NET_SCH_HTB has it";
    findings.push(finding("kernel shaper HTB", false, text(try_shaper("a0"), "a class was made and changed"), remedy));
    let socket = PacketSocket::open(None).map(drop);
    findings.push(finding("packet sockets", true, text(socket, "opened"), "use a kernel with CONFIG_PACKET"));
    let tap = Tap::create("tap0").map(drop);
    let remedy = "load the module tun, and allow it: modprobe tun; chmod a+rw /dev/net/tun";
    findings.push(finding("TAP interfaces", true, text(tap, "made"), remedy));
    findings
}

/// Makes a class of HTB and changes its rate.
fn try_shaper(interface: &str) -> Result<(), crate::sys::SysError> {
    let (frame, overhead, line) = (Bytes::new(1500), Bytes::ZERO, BitRate::mbps(100));
    let class = ShapedClass { rpid: 1, frame, burst: frame, overhead, room: Bytes::new(150_000) };
    let mut shaper = KernelShaper::open(interface, 0, line, vec![class])?;
    let slower = BitRate::mbps(5);
    shaper.set(0, 0, WantedRate { reaction: slower, asked: slower })
}

/// The findings as JSON.
pub fn findings_json(findings: &[Finding]) -> String {
    let each = |finding: &Finding| {
        json!({
            "what": finding.what,
            "needed": finding.needed,
            "works": finding.works,
            "said": finding.said,
            "remedy": finding.remedy,
        })
    };
    let able = findings.iter().all(|finding| finding.works || !finding.needed);
    let value: Value = json!({ "able": able, "findings": findings.iter().map(each).collect::<Vec<_>>() });
    format!("{value:#}")
}
