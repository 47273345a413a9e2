//! Traffic of another maker's: iperf3 in the namespaces, as the independent cross-check of what our counters say.

use crate::error::Unsupported;
use crate::layout::ip;
use crate::streams::Streaming;
use crate::sys::SysError;
use crate::sys::process::{ask_to_end, end_with_us};
use qcnlab_sim::{FlowId, Plan, Traffic};
use qcnlab_units::{Id, Instant, Span};
use serde_json::Value;
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The port of the first flow's server.
const SERVERS: u16 = 5201;
/// The shortest run.
const SHORTEST: Span = Span::from_ms(3000);
/// From the moment at which a server is asked for its report to the end of the run.
const TO_REPORT: Span = Span::from_ms(300);
/// How long a program may take to end when asked.
const MOST_TO_END: Duration = Duration::from_millis(600);
const POLL: Duration = Duration::from_millis(20);

/// What the server of iperf3 says of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct IperfEnd {
    /// The flow, by its index in the plan.
    pub flow: FlowId,
    /// Octets of payload that the server received.
    pub received: u64,
    /// Over how many seconds.
    pub seconds: f64,
    /// What is wrong with the report; empty where nothing is.
    pub error: String,
}

/// Runs iperf3 with these arguments in the calling thread's namespace.
fn start(arguments: &[String]) -> Result<Child, SysError> {
    let mut command = Command::new("iperf3");
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    end_with_us(&mut command);
    command.spawn().map_err(|error| SysError::new("start iperf3", error))
}

fn server_port(flow: FlowId) -> u16 {
    SERVERS + u16::try_from(flow.number()).unwrap_or(0)
}

/// Whether a TCP socket listens on a port of the calling thread's namespace.
fn listens(port: u16) -> bool {
    let text = std::fs::read_to_string("/proc/thread-self/net/tcp").unwrap_or_default();
    let port = format!(":{port:04X}");
    text.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next().is_some_and(|local| local.ends_with(&port)) && words.nth(1) == Some("0A")
    })
}

impl Streaming<'_> {
    /// Serves a flow until shortly before the run is over, and returns what was received; the calling thread is in the
    /// receiver's namespace.
    pub(crate) fn serve_iperf(&self, flow: FlowId) -> Result<IperfEnd, SysError> {
        let ends = &self.layout.flows[flow];
        let at = Ipv4Addr::from(ip(ends.destination)).to_string();
        let port = server_port(flow).to_string();
        let mut server = start(&["-s", "-1", "-J", "-B", &at, "-p", &port].map(str::to_owned))?;
        let last = Instant::from_ps(self.plan.end.ps().saturating_sub(TO_REPORT.ps()));
        let report = self.wait_for(&mut server, last);
        let mut end = IperfEnd { flow, received: 0, seconds: 0.0, error: String::new() };
        read_report(&serde_json::from_str(&report).unwrap_or(Value::Null), &mut end);
        Ok(end)
    }

    /// Whether the server of a flow is ready; the calling thread is in the receiver's namespace.
    pub(crate) fn iperf_is_ready(flow: FlowId) -> bool {
        listens(server_port(flow))
    }

    /// Sends a flow as its scenario says, to the end of the run; the calling thread is in the sender's namespace.
    pub(crate) fn send_iperf(&self, flow: FlowId) -> Result<(), SysError> {
        let (planned, ends) = (&self.plan.flows[flow], &self.layout.flows[flow]);
        if !self.wait_until(planned.start) {
            return Ok(());
        }
        let stop = planned.stop.min(self.plan.end);
        // Longer than is left: the server ends it.
        let seconds = stop.max(self.clock.now()).since(self.clock.now()).seconds().ceil() + 1.0;
        let from = Ipv4Addr::from(ip(ends.source)).to_string();
        let to = Ipv4Addr::from(ip(ends.destination)).to_string();
        let mut words: Vec<String> = ["-c", &to, "-B", &from, "-p"].map(str::to_owned).into();
        words.extend([server_port(flow).to_string(), "--cport".to_owned(), ends.port.to_string()]);
        words.extend(["-t".to_owned(), format!("{seconds:.0}")]);
        let line = self.plan.ports[planned.paths[0][0]].rate.get();
        let payload = crate::datagrams::udp_payload(planned.frame.get(), planned.cn_tag && planned.controlled);
        let udp = |rate: u64| {
            // iperf3 counts the payload's bits; the scenario those of frames.
            let rate = rate as f64 * payload as f64 / planned.frame.get() as f64;
            ["-u".to_owned(), "-b".to_owned(), format!("{rate:.0}"), "-l".to_owned(), payload.to_string()]
        };
        match &planned.traffic {
            Traffic::Tcp { config, total } => {
                words.extend(["-C".to_owned(), "reno".to_owned(), "-w".to_owned()]);
                words.push(config.max_window.get().to_string());
                words.extend(total.iter().flat_map(|total| ["-n".to_owned(), total.get().to_string()]));
            }
            Traffic::Constant { rate } => words.extend(udp(rate.get())),
            Traffic::Saturated { ceiling, .. } => words.extend(udp(ceiling.map_or(line, |rate| rate.get()))),
            Traffic::Fed | Traffic::Replayed | Traffic::Roce { .. } => return Ok(()),
        }
        let mut client = start(&words)?;
        self.wait_for(&mut client, stop);
        Ok(())
    }

    /// Waits for a program, and asks it to end at `last` or when the run is stopped; returns what it printed.
    fn wait_for(&self, child: &mut Child, last: Instant) -> String {
        let output = child.stdout.take();
        let reader = std::thread::spawn(move || output.map(std::io::read_to_string));
        let mut asked: Option<std::time::Instant> = None;
        loop {
            match child.try_wait() {
                Ok(Some(_)) | Err(_) => break,
                Ok(None) => {}
            }
            if asked.is_none() && (self.over() || self.clock.now() >= last) {
                ask_to_end(child);
                asked = Some(std::time::Instant::now());
            } else if asked.is_some_and(|asked| asked.elapsed() > MOST_TO_END) {
                let _ = child.kill();
                let _ = child.wait();
                break;
            }
            std::thread::sleep(POLL);
        }
        reader.join().ok().flatten().and_then(Result::ok).unwrap_or_default()
    }
}

/// Reads a server's report.
fn read_report(report: &Value, end: &mut IperfEnd) {
    let sum = &report["end"];
    let received = if sum["sum_received"].is_object() { &sum["sum_received"] } else { &sum["sum"] };
    match received["bytes"].as_u64() {
        Some(octets) => {
            end.received = octets;
            end.seconds = received["seconds"].as_f64().unwrap_or(0.0);
        }
        None => report["error"].as_str().unwrap_or("no report").clone_into(&mut end.error),
    }
}

/// Refuses traffic that iperf3 does not make, and runs that are too short for it.
pub(crate) fn check(plan: &Plan) -> Result<(), Unsupported> {
    let makes = |traffic: &Traffic| {
        matches!(traffic, Traffic::Tcp { .. } | Traffic::Constant { .. } | Traffic::Saturated { .. })
    };
    if let Some(flow) = plan.flows.iter().find(|flow| !makes(&flow.traffic)) {
        return Err(Unsupported::IperfTraffic { flow: flow.name.to_string() });
    }
    if plan.end < Instant::ZERO + SHORTEST {
        return Err(Unsupported::IperfTime { seconds: SHORTEST.ps() / 1_000_000_000_000 });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reports_and_failures_are_read() {
        let mut end = IperfEnd { flow: FlowId::new(0), received: 0, seconds: 0.0, error: String::new() };
        let tcp = json!({ "end": { "sum_received": { "bytes": 1000, "seconds": 2.5 } },
            "error": "interrupt - the server has terminated" });
        read_report(&tcp, &mut end);
        assert_eq!((end.received, end.seconds, end.error.as_str()), (1000, 2.5, ""));
        read_report(&json!({ "end": { "sum": { "bytes": 7, "seconds": 1.0 } } }), &mut end);
        assert_eq!((end.received, end.error.as_str()), (7, ""));
        read_report(&json!({ "error": "unable to listen" }), &mut end);
        assert_eq!(end.error, "unable to listen");
        read_report(&Value::Null, &mut end);
        assert_eq!(end.error, "no report");
    }
}
