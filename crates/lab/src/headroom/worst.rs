//! The run that takes most headroom: each delay of the sum is at its longest, at the same time.
//!
//! ```text
//!                     crossing, filling, between, begun
//!      (hosts of the same names) ----> peer ====> switch ----> sink, which takes nothing
//!                                           the link      <---- blocking, whose frame goes to the first host
//! ```
//!
//! The peer sends without a gap. The frame from `blocking` begins its way to the peer a picosecond before the threshold
//! is crossed, and the peer begins its last frame a picosecond or more before the pause takes effect.

use qcnlab_network::{PAUSE_FRAME, PausedLink};
use qcnlab_scenario::{Scenario, ScenarioError};
use qcnlab_units::{Bytes, Span};
use std::fmt::Write;

/// What the switch keeps its headroom in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// A memory for each link, with watermarks.
    Input,
    /// A buffer that all links share, with thresholds that follow what is free.
    Shared,
}

/// The frames that come after the threshold was crossed, for a link whose switch takes as much of its headroom as any
/// order of frames that we know of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worst {
    link: PausedLink,
    /// Frames that fill the time which those between leave.
    pub filling: Vec<Bytes>,
    /// Length and number of the frames between them and the last one.
    pub between: (Bytes, u64),
}

impl Worst {
    /// Of a link.
    pub fn of(link: &PausedLink) -> Worst {
        let on_wire = |frame: Bytes| link.rate.time_for_rounded_up(frame + link.overhead).ps();
        let waits = on_wire(link.blocking) + on_wire(PAUSE_FRAME);
        // Two picoseconds: one by which the blocking frame begins first, one by which the last frame does.
        let time = waits + 2 * link.delay.ps() + link.latency.ps() + link.reaction.ps() - 2;
        let frame = link.greediest();
        let mut between = time / on_wire(frame);
        let octets = |ps: u64| link.rate.bytes_in_rounded_down(Span::from_ps(ps));
        let rest = octets(time - between * on_wire(frame)).saturating_sub(link.overhead);
        let mut filling = Vec::new();
        if rest >= link.shortest {
            filling.push(rest);
        } else if let Some(before) = between.checked_sub(1) {
            // The rest is too short for a frame: two share it with one of those between.
            let both = octets(time - before * on_wire(frame)).saturating_sub(link.overhead + link.overhead);
            let first = both.saturating_sub(link.shortest);
            let fits = (link.shortest..=link.longest).contains(&first);
            if fits && link.takes(first) + link.takes(link.shortest) >= link.takes(frame) {
                filling.extend([first, link.shortest]);
                between = before;
            }
        }
        Worst { link: *link, filling, between: (frame, between) }
    }

    /// Octets of headroom that the switch takes: of all frames from the one that crosses the threshold.
    pub fn takes(&self) -> Bytes {
        let link = &self.link;
        let filling: u64 = self.filling.iter().map(|frame| link.takes(*frame).get()).sum();
        let (frame, count) = self.between;
        Bytes::new(2 * link.takes(link.longest).get() + filling + count * link.takes(frame).get())
    }

    /// Frames that it takes.
    pub fn frames(&self) -> u64 {
        2 + self.filling.len() as u64 + self.between.1
    }

    /// Returns the run as a scenario, with so much headroom. An input memory counts octets, whatever the link's cells.
    ///
    /// # Errors
    /// When the numbers of the link are none that a scenario may have.
    pub fn scenario(&self, headroom: Bytes, memory: Memory) -> Result<Scenario, ScenarioError> {
        Scenario::parse(&self.toml(headroom, memory), "headroom.toml")
    }

    /// The text of [`scenario`](Worst::scenario).
    pub fn toml(&self, headroom: Bytes, memory: Memory) -> String {
        let PausedLink { rate, delay, latency, reaction, longest, blocking, overhead, cell, .. } = self.link;
        let on_wire = |frame: Bytes| rate.time_for_rounded_up(frame + overhead).ps();
        // The frames before the one that crosses the threshold. In an input memory they fill what is below the threshold,
        // in a shared buffer a reserve, and one more comes; what they fill is large enough for the blocking frame.
        let (first, other) = (self.link.takes(longest).get(), self.link.takes(blocking).get());
        let (filled, more) = match memory {
            Memory::Input => (blocking.get().div_ceil(longest.get()), 0),
            Memory::Shared => (other.div_ceil(first), 1),
        };
        let before = filled + more;
        let mut flows = vec![("crossing".to_owned(), longest, before + 1)];
        let filling = self.filling.iter().zip(1..);
        flows.extend(filling.map(|(frame, number): (_, u32)| (format!("filling{number}"), *frame, 1)));
        if self.between.1 > 0 {
            flows.push(("between".to_owned(), self.between.0, self.between.1));
        }
        flows.push(("begun".to_owned(), longest, 1));
        let names: Vec<&str> = flows.iter().map(|(name, ..)| &**name).collect();
        let begins = on_wire(blocking);
        let crossed = begins + (before + 2) * on_wire(longest) + delay.ps();
        let pace = |count: u64, frame: Bytes| count * on_wire(frame);
        let sent: u64 = flows.iter().map(|(_, frame, count)| pace(*count, *frame)).sum();
        let ends = crossed + sent + 4 * (delay.ps() + latency.ps() + reaction.ps()) + 1_000_000;
        let hosts = names.join(", ");
        let mut text = format!(
            r#"title = "The most that PFC's headroom has to hold"
duration = "{ends} ps"
warmup = "0 s"
replications = 1

[topology]
kind = "graph"
rate = "{rate}"
delay = "0 s"
frame_overhead = "{overhead}"

[[link]]
from = "{hosts}"
to = "peer"

[[link]]
from = "peer"
to = "switch"
delay = "{delay}"

[[link]]
from = "blocking"
to = "switch"

[[link]]
from = "switch"
to = "sink"
rate = "1 kb/s"

[[switch]]
only = "switch"
latency = "{latency}"
"#
        );
        let threshold = match memory {
            Memory::Input => {
                let high = Bytes::new(filled * longest.get());
                put(&mut text, format_args!("input_memory = \"{}\"\n", exact(high + headroom)));
                format!("high = \"{}\"\n", exact(high))
            }
            Memory::Shared => {
                // One frame is an octet below what is free, two are above it.
                let (shared, reserve, links, classes) = (2 * first + 1, filled * first, 3, 2);
                let size = shared + links * (classes * reserve + headroom.get());
                put(
                    &mut text,
                    format_args!(
                        "\n[[shared_buffer]]\nonly = \"switch\"\nkind = \"dynamic\"\nsize = \"{}\"\npg_alpha = 1\n\
                         reserve = \"{}\"\nheadroom = \"{}\"\ncell = \"{}\"\n",
                        exact(Bytes::new(size)),
                        exact(Bytes::new(reserve)),
                        exact(headroom),
                        exact(cell),
                    ),
                );
                "rule = \"dynamic\"\n".to_owned()
            }
        };
        put(
            &mut text,
            format_args!(
                "\n[pause]\nkind = \"priority\"\npriorities = \"3\"\nonly = \"switch\"\nreaction = \"{reaction}\"\n{threshold}"
            ),
        );
        let mut start = begins;
        for (name, frame, count) in &flows {
            // The last frame is at the peer before it is its turn.
            let early = if name == "begun" { on_wire(longest) / 2 } else { 0 };
            put(&mut text, format_args!("{}", flow(name, "sink", *frame, *count, 3, start - early)));
            start += pace(*count, *frame);
        }
        put(&mut text, format_args!("{}", flow("blocking", names[0], blocking, 1, 0, crossed - on_wire(blocking) - 1)));
        text.push_str("\n[scheme]\nname = \"none\"\n");
        text
    }
}

/// Octets that read back as they are.
fn exact(octets: Bytes) -> String {
    format!("{} B", octets.get())
}

fn flow(from: &str, to: &str, frame: Bytes, count: u64, priority: u32, start: u64) -> String {
    let size = Bytes::new(frame.get() * count);
    format!(
        "\n[[traffic]]\narrivals = \"saturated\"\nfrom = \"{from}\"\nto = \"{to}\"\nframe = \"{}\"\nsize = \"{}\"\n\
         priority = {priority}\nstart = \"{start} ps\"\n",
        exact(frame),
        exact(size),
    )
}

fn put(text: &mut String, words: std::fmt::Arguments<'_>) {
    let Ok(()) = text.write_fmt(words) else { unreachable!("text can be written to a string") };
}
