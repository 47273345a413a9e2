//! Frames or flows of a capture.

use super::{Arriving, Offered};
use crate::entry::{HostPair, TrafficEntry, numbers};
use crate::fault::Fault;
use crate::located::LocatedFault;
use qcnlab_network::topology::NodeId;
use qcnlab_schemes::params;
use qcnlab_schemes::params::{Fallback, Range};
use qcnlab_traffic::replay::{CapturedDirection, FlowsBy, HostTable, Pace, Replayed, assign};
use qcnlab_units::{Bytes, Id, Span};

params! {
    /// Frames or flows of a capture.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CaptureFrames {
        /// The capture, pcapng or pcap; its name is relative to the scenario's file.
        file: String, "", Range::ANY;
        /// Digest of the file, as sha256sum prints it. Left out, any file is taken, and the resolved scenario has
        /// the digest of the one that was there.
        sha256: Option<String>, "", Range::ANY;
        /// What is sent again.
        replay: Replayed, "", Range::ANY, Fallback::Text("frames");
        /// What tells flows apart.
        flows_by: FlowsBy, "", Range::ANY, Fallback::Text("five_tuple");
        /// Interfaces whose frames count: names or numbers, or a pattern.
        interfaces: String, "", Range::ANY, Fallback::Text("*");
        /// Frames of which direction count.
        direction: CapturedDirection, "", Range::ANY, Fallback::Text("both");
        /// Frames before this are left out; in time of the capture, from its first frame on. What is at this time
        /// is sent at start.
        window_start: Span, "", Range::between(0.0, 1e18), Fallback::Text("0 s");
        /// Frames from this on are left out; left out, there is no end.
        window_end: Option<Span>, "", Range::above_zero_to(1e18);
        /// What distances in time are multiplied by: 2 is half as fast.
        time_scale: f64, "", Range::between(1e-6, 1e6), Fallback::Text("1");
        /// What the octets of each flow are multiplied by. Of frames whole ones are left out or repeated, at their
        /// times.
        rate_scale: f64, "", Range::between(1e-6, 1000.0), Fallback::Text("1");
        /// Which address is which host: a CSV file with the columns address and host, or such text itself; from
        /// and to then do not count.
        hosts: Option<String>, "", Range::ANY;
        /// Whether frames with an 802.1Q tag keep its priority; the others have priority.
        keep_priority: bool, "PCP", Range::ANY, Fallback::Text("false");
        /// Octets that each frame had beyond those that the capture counts: 4 B for the FCS where frame counts it.
        fcs: Bytes, "FCS", Range::between(0.0, 64.0), Fallback::Text("0 B");
    }
}

impl CaptureFrames {
    /// The table of addresses, if there is one.
    fn table(&self, entry: &TrafficEntry<'_>) -> Result<Option<HostTable>, LocatedFault> {
        let Some(text) = &self.hosts else { return Ok(None) };
        let (key, network) = (entry.key("hosts"), entry.network);
        let file = entry.file.unwrap_or(&key);
        let nodes: Vec<(&str, u32)> = network.hosts().map(|host| (&*network.nodes[host].name, host.number())).collect();
        let table = HostTable::read(text, file, &nodes);
        table.map(Some).map_err(|error| LocatedFault::new(Fault::Sheet(error), &[&key]))
    }
}

impl Arriving for CaptureFrames {
    fn offered(&self) -> Offered {
        match self.replay {
            Replayed::Frames => Offered::Replayed,
            Replayed::Flows => Offered::Sized,
        }
    }

    /// The flows that start before the entry stops and before the run ends, in the order of the survey.
    fn pairs(&self, entry: &TrafficEntry<'_>) -> Result<Vec<HostPair>, LocatedFault> {
        let table = self.table(entry)?;
        let (senders, receivers) = if table.is_some() { (Vec::new(), Vec::new()) } else { entry.hosts()? };
        let (Some(survey), pace) = (entry.survey, self.pace()) else {
            unreachable!("a checked capture is surveyed");
        };
        let name = |host| entry.network.nodes[NodeId::new(host)].name.clone();
        let keys = ["hosts", "to", "from", "file"].map(|name| entry.key(name));
        let ends = assign(&survey.flows, table.as_ref(), (&numbers(&senders), &numbers(&receivers)), name);
        let ends = ends.map_err(|fault| LocatedFault::new(Fault::Replay { file: self.file.clone(), fault }, &keys))?;
        let mut until = entry.stop.map_or(entry.duration, |stop| stop.min(entry.duration));
        if self.replay == Replayed::Flows {
            until = until.min(entry.arrivals_end);
        }
        let pairs = survey.flows.iter().zip(ends).map(|(flow, (from, to))| HostPair {
            from: NodeId::new(from),
            to: NodeId::new(to),
            start: entry.start + pace.time(flow.first),
            size: (self.replay == Replayed::Flows).then(|| pace.octets(flow.octets)),
            class: flow.class,
            after: Vec::new(),
            delays: None,
        });
        let pairs: Vec<HostPair> = pairs.take_while(|pair| pair.start < until).collect();
        let first = entry.start + pace.time(survey.ends().0);
        if first >= entry.duration {
            let (value, duration) = (first, entry.duration);
            let fault = Fault::BeyondEnd { what: "the first frame of the capture is sent", value, duration };
            let keys = [entry.key("window_start"), entry.key("file"), "duration".to_owned()];
            return Err(LocatedFault::new(fault, &keys));
        }
        Ok(pairs)
    }

    fn arrives(&self) -> bool {
        self.replay == Replayed::Flows
    }

    fn sheet(&mut self) -> Option<(&'static str, &mut String)> {
        self.hosts.as_mut().map(|hosts| ("hosts", hosts))
    }
}

impl CaptureFrames {
    /// Returns when and how often its frames are sent again.
    pub(crate) fn pace(&self) -> Pace {
        Pace::new(self.time_scale, self.rate_scale)
    }
}
