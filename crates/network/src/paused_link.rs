//! Headroom: the octets that a link still brings after the switch at its end has told it to stop.
//!
//! ```text
//!   a frame crosses the threshold | the pause frame waits | goes | crosses | is obeyed | the frame begun ends | arrives
//!              longest            |       blocking        |  64  |  delay  | reaction  |      longest         |  delay
//! ```
//!
//! and the switch takes its latency to see what arrived. [`headroom`](crate::headroom) has the run in which all of this
//! happens at once.

use qcnlab_units::{BitRate, Bytes, Span};

/// Length of a pause frame.
pub const PAUSE_FRAME: Bytes = Bytes::new(64);
/// The shortest frame of Ethernet.
pub const SHORTEST: Bytes = Bytes::new(64);

/// A link into a switch that stops one of its classes, and all that decides what still comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PausedLink {
    /// The rate of the link.
    pub rate: BitRate,
    /// Propagation, one way.
    pub delay: Span,
    /// Time from the end of a frame's reception to its admission at the switch.
    pub latency: Span,
    /// Time from a pause frame's last octet to its effect.
    pub reaction: Span,
    /// The longest frame of the stopped class.
    pub longest: Bytes,
    /// The longest frame of any class, which the pause frame may wait for.
    pub blocking: Bytes,
    /// The shortest frame of the stopped class.
    pub shortest: Bytes,
    /// Preamble and gap: octets that a frame takes on the wire beyond its own.
    pub overhead: Bytes,
    /// Frames take whole cells of so many octets in the switch; 1 for octets.
    pub cell: Bytes,
}

/// A term of the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// The frame that crosses the threshold.
    Crossing,
    /// The frame that the pause frame waits for.
    Blocking,
    /// The pause frame itself.
    PauseFrame,
    /// The cable, there and back.
    Cable,
    /// The latency of the switch.
    Latency,
    /// The reaction of the station that is stopped.
    Reaction,
    /// The frame whose transmission had begun.
    Begun,
}

impl Term {
    /// Every term, in the order of time.
    pub const ALL: [Term; 7] =
        [Term::Crossing, Term::Blocking, Term::PauseFrame, Term::Cable, Term::Latency, Term::Reaction, Term::Begun];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Term::Crossing => "crossing",
            Term::Blocking => "blocking",
            Term::PauseFrame => "pause_frame",
            Term::Cable => "cable",
            Term::Latency => "latency",
            Term::Reaction => "reaction",
            Term::Begun => "begun",
        }
    }
}

/// Octets that fit into a time at a rate, in parts of 8e12.
const PARTS: u128 = 8_000_000_000_000;

impl PausedLink {
    /// A term in octets on the wire, in parts of 8e12 of an octet.
    fn parts(&self, term: Term) -> u128 {
        let frame = |frame: Bytes| u128::from((frame + self.overhead).get()) * PARTS;
        let time = |ps: u128| ps * u128::from(self.rate.get());
        match term {
            Term::Crossing | Term::Begun => frame(self.longest),
            Term::Blocking => frame(self.blocking),
            Term::PauseFrame => frame(PAUSE_FRAME),
            Term::Cable => time(2 * u128::from(self.delay.ps())),
            Term::Latency => time(u128::from(self.latency.ps())),
            Term::Reaction => time(u128::from(self.reaction.ps())),
        }
    }

    /// A term in octets on the wire.
    pub fn term(&self, term: Term) -> f64 {
        self.parts(term) as f64 / PARTS as f64
    }

    /// Returns the headroom that loses nothing, whatever frames come: the sum of all terms, rounded up.
    ///
    /// Of cells, the frames that cross the threshold and that had begun take theirs, and what the link brings between
    /// them comes in frames of the length that takes most cells for its time on the wire.
    pub fn headroom(&self) -> Bytes {
        let sum = |terms: &[Term]| terms.iter().map(|term| self.parts(*term)).sum::<u128>();
        let octets = |octets: u128| Bytes::new(u64::try_from(octets).unwrap_or(u64::MAX / 2));
        if self.cell.get() <= 1 {
            return octets(sum(&Term::ALL).div_ceil(PARTS));
        }
        let between =
            sum(&[Term::Blocking, Term::PauseFrame, Term::Cable, Term::Latency, Term::Reaction]).div_ceil(PARTS);
        let greedy = self.greediest();
        let on_wire = u128::from((greedy + self.overhead).get());
        let cells = (between * u128::from(self.takes(greedy).get())).div_ceil(on_wire * u128::from(self.cell.get()));
        octets(cells * u128::from(self.cell.get())) + self.takes(self.longest) + self.takes(self.longest)
    }

    /// Octets that a frame takes in the switch.
    pub fn takes(&self, frame: Bytes) -> Bytes {
        let cell = self.cell.get().max(1);
        Bytes::new(frame.get().div_ceil(cell) * cell)
    }

    /// The length of the frames that take most for their time on the wire: the longest where octets are counted; of
    /// cells the shortest, or an octet more than fills some.
    pub fn greediest(&self) -> Bytes {
        let cell = self.cell.get().max(1);
        let (shortest, longest) = (self.shortest.min(self.longest), self.longest);
        let just_above = (1..=longest.get() / cell).map(|cells| Bytes::new(cells * cell + 1));
        let lengths = just_above.filter(|length| cell > 1 && (shortest..=longest).contains(length));
        let is_more = |a: Bytes, b: Bytes| {
            let worth = |a: Bytes, b: Bytes| u128::from(self.takes(a).get()) * u128::from((b + self.overhead).get());
            worth(a, b) > worth(b, a)
        };
        lengths.chain([shortest]).fold(longest, |most, length| if is_more(length, most) { length } else { most })
    }
}
