//! TCP senders and receivers: threads with blocking sockets, as applications have them.
//!
//! A sender writes octets that follow from their position in the stream; the receiver checks each of them. What the
//! kernel says of the connection is sampled as the rates are.

use crate::clock::Clock;
use crate::layout::{FlowEnds, Layout, TCP_PORT, ip};
use crate::record::Records;
use crate::shaper::{LimiterKind, mark_of};
use crate::sys::SysError;
use crate::sys::scheduling::ask_for_best;
use crate::sys::socket::{TcpState, clamp_window, connect_from, set_congestion_control, set_receive_buffer, tcp_state};
use qcnlab_sim::tcp::Flavour;
use qcnlab_sim::{FlowId, NodeId, Plan, TcpTally, Traffic};
use qcnlab_units::{Bytes, Id, Instant, Span};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Priority of applications among real-time threads.
pub(crate) const APPLICATION_PRIORITY: i32 = 10;
/// How often a thread looks whether the run is over.
const POLL: Duration = Duration::from_millis(50);
/// How long before its start a flow with an end has its connection made.
const AHEAD: Span = Span::from_ms(500);
/// Octets of the pattern; a prime, so that a frame that is lost or repeated shows.
const PATTERN: usize = 65_521;

/// What the octets of a stream are, from any position on.
pub(crate) fn pattern() -> Vec<u8> {
    (0..2 * PATTERN)
        .map(|at| {
            let at = (at % PATTERN) as u32;
            (at.wrapping_mul(0x9E37_79B1) >> 24) as u8
        })
        .collect()
}

/// What one end of a stream came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamEnd {
    /// The flow, by its index in the plan.
    pub flow: FlowId,
    /// Octets written or read.
    pub octets: u64,
    /// Octets that are not what was sent. Must be 0.
    pub wrong: u64,
    /// When the last octet of a stream with an end was read, ps.
    pub finished: Option<u64>,
    /// What the sender's stack counted.
    pub tally: TcpTally,
}

impl StreamEnd {
    /// One that nothing has passed.
    pub(crate) fn new(flow: FlowId) -> StreamEnd {
        StreamEnd { flow, octets: 0, wrong: 0, finished: None, tally: TcpTally::default() }
    }
}

/// What all threads of streams need.
#[derive(Clone, Copy)]
pub(crate) struct Streaming<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) layout: &'a Layout,
    pub(crate) limiter: LimiterKind,
    pub(crate) real_time: bool,
    pub(crate) clock: Clock<'a>,
    pub(crate) stop: &'a AtomicBool,
}

impl Streaming<'_> {
    pub(crate) fn over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.clock.now() >= self.plan.end
    }

    /// Waits for an instant of the run; false when it is over first.
    pub(crate) fn wait_until(&self, at: Instant) -> bool {
        loop {
            if self.over() {
                return false;
            }
            let now = self.clock.now();
            if self.clock.has_started() && now >= at {
                return true;
            }
            let left = Duration::from_nanos(self.clock.ns_to_start() + at.ps().saturating_sub(now.ps()) / 1000);
            std::thread::sleep(left.min(POLL));
        }
    }

    /// Sends the stream of a flow until the run or the stream is over; the calling thread is in the sender's namespace.
    pub(crate) fn send(&self, flow: FlowId) -> Result<(StreamEnd, Records), SysError> {
        let planned = &self.plan.flows[flow];
        let ends = &self.layout.flows[flow];
        let mut records = Records::new(self.plan.record.bin.ps(), self.plan.flows.len());
        let mut end = StreamEnd::new(flow);
        let Traffic::Tcp { config, total } = &planned.traffic else { return Ok((end, records)) };
        // A flow with an end has its connection when it starts, so that its completion time is that of its octets.
        let ahead = if total.is_some() { AHEAD } else { Span::ZERO };
        let connects = Instant::from_ps(planned.start.ps().saturating_sub(ahead.ps()));
        if !self.wait_until(connects) {
            return Ok((end, records));
        }
        let from = SocketAddrV4::new(ip(ends.source).into(), ends.port);
        let to = SocketAddrV4::new(ip(ends.destination).into(), TCP_PORT);
        let mark = (self.limiter == LimiterKind::Htb).then(|| mark_of(ends.rpid));
        let mut stream = loop {
            match connect_from(from, to, mark) {
                Ok(stream) => break stream,
                Err(_) if self.over() => return Ok((end, records)),
                Err(error) if self.clock.now() > connects + Span::from_ms(5000) => {
                    return Err(SysError::new(format!("connect {from} to {to}"), error));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let flavour = match config.flavour {
            Flavour::Reno | Flavour::NewReno => "reno",
            Flavour::Cubic => "cubic",
            Flavour::Bic => "bic",
        };
        // Where the kernel does not have it, it keeps its own, which the report of the run tells.
        let _ = set_congestion_control(stream.as_fd(), flavour);
        let timeouts = stream.set_write_timeout(Some(POLL)).and_then(|()| stream.set_nodelay(true));
        timeouts.map_err(|error| SysError::new("set the timeout of a TCP socket", error))?;
        if !self.wait_until(planned.start) {
            return Ok((end, records));
        }
        let (octets, total) = (pattern(), total.map_or(u64::MAX, Bytes::get));
        let every = self.plan.record.rates_every;
        let mut next_sample = self.clock.now();
        while !self.over() && end.octets < total && self.clock.now() < planned.stop {
            let at = (end.octets % PATTERN as u64) as usize;
            let most = ((total - end.octets).min(16_384)) as usize;
            match stream.write(&octets[at..at + most]) {
                Ok(0) => break,
                Ok(written) => end.octets += written as u64,
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {
                }
                Err(_) => break,
            }
            let now = self.clock.now();
            if every > Span::ZERO && now >= next_sample {
                sample(&mut records, now, flow, &stream);
                next_sample = now + every;
            }
        }
        // The socket stays open while the run goes on, so that what is on its way arrives.
        if end.octets >= total {
            let _ = stream.shutdown(std::net::Shutdown::Write);
        }
        while !self.over() && self.clock.now() < self.plan.end {
            let now = self.clock.now();
            if every > Span::ZERO && end.octets < total {
                sample(&mut records, now, flow, &stream);
            }
            std::thread::sleep(POLL);
        }
        if let Some(state) = tcp_state(stream.as_fd()) {
            end.tally.segments = state.sent.into();
            end.tally.retransmitted = state.retransmitted.into();
        }
        Ok((end, records))
    }

    /// Accepts the streams of a host and reads them; the calling thread is in its namespace.
    pub(crate) fn receive(&self, host: NodeId) -> Result<Vec<StreamEnd>, SysError> {
        let at = SocketAddrV4::new(ip(host).into(), TCP_PORT);
        let listening = TcpListener::bind(at).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        let listener = listening.map_err(|error| SysError::new(format!("listen on {at}"), error))?;
        let window = self.window_to(host);
        set_receive_buffer(listener.as_fd(), window)?;
        let pattern = pattern();
        std::thread::scope(|scope| {
            let mut readers = Vec::new();
            while !self.over() {
                match listener.accept() {
                    Ok((stream, from)) => {
                        let is = |flow: &FlowEnds| {
                            flow.tcp && flow.port == from.port() && std::net::IpAddr::from(ip(flow.source)) == from.ip()
                        };
                        let flow = self.layout.flows.find_id(is);
                        let _ = clamp_window(stream.as_fd(), window);
                        let pattern = &pattern;
                        readers.push(scope.spawn(move || self.read(stream, flow, pattern)));
                    }
                    Err(_) => std::thread::sleep(Duration::from_millis(10)),
                }
            }
            Ok(readers.into_iter().filter_map(|reader| reader.join().ok().flatten()).collect())
        })
    }

    /// The window that receivers of a host offer: the largest of its flows.
    fn window_to(&self, host: NodeId) -> u32 {
        let flows = self.plan.flows.iter().zip(&self.layout.flows).filter(|(_, ends)| ends.destination == host);
        let windows = flows.filter_map(|(flow, _)| match &flow.traffic {
            Traffic::Tcp { config, .. } => Some(config.max_window.get()),
            _ => None,
        });
        u32::try_from(windows.max().unwrap_or(65_536)).unwrap_or(u32::MAX)
    }

    /// Reads a stream until the run or the stream is over. Returns `None` for one that is no flow's.
    fn read(&self, mut stream: TcpStream, flow: Option<FlowId>, pattern: &[u8]) -> Option<StreamEnd> {
        // A thread does not inherit real-time scheduling.
        if self.real_time {
            ask_for_best(APPLICATION_PRIORITY);
        }
        stream.set_nonblocking(false).ok()?;
        stream.set_read_timeout(Some(POLL)).ok()?;
        let total = flow.and_then(|flow| match &self.plan.flows[flow].traffic {
            Traffic::Tcp { total, .. } => total.map(Bytes::get),
            _ => None,
        });
        let mut end = StreamEnd::new(flow.unwrap_or(FlowId::MAX));
        let mut room = vec![0; 65_536.min(PATTERN)];
        loop {
            match stream.read(&mut room) {
                Ok(0) => break,
                Ok(read) => {
                    let at = (end.octets % PATTERN as u64) as usize;
                    if room[..read] != pattern[at..at + read] {
                        end.wrong +=
                            room[..read].iter().zip(&pattern[at..]).filter(|(got, sent)| got != sent).count() as u64;
                    }
                    end.octets += read as u64;
                    if total.is_some_and(|total| end.octets >= total) && end.finished.is_none() {
                        end.finished = Some(self.clock.now().ps());
                    }
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {
                }
                Err(_) => break,
            }
            if self.over() {
                break;
            }
        }
        end.tally.in_order_bytes = end.octets;
        flow.map(|_| end)
    }
}

fn sample(records: &mut Records, now: Instant, flow: FlowId, stream: &TcpStream) {
    let Some(TcpState { window, unacknowledged, segment, .. }) = tcp_state(stream.as_fd()) else { return };
    let rows = &mut records.windows;
    rows.time.push(now.ps());
    rows.flow.push(flow.number());
    rows.window.push(u64::from(window) * u64::from(segment));
    rows.flight.push(u64::from(unacknowledged) * u64::from(segment));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_octets_of_a_stream_follow_from_their_position() {
        let octets = pattern();
        assert_eq!(octets[..1000], octets[PATTERN..PATTERN + 1000]);
        // A lost segment of 1438 octets shows at once.
        let same = (0..1438).filter(|at| octets[*at] == octets[at + 1438]).count();
        assert!(same < 100, "{same}");
    }
}
