//! What is said about circles of buffers.

use super::DeadlockQuestion;
use serde_json::{Value, json};

/// Whether buffers wait for one another in a circle, in which cases, and what would change that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlockReport {
    /// The scenario's name.
    pub scenario: String,
    /// What was asked.
    pub question: DeadlockQuestion,
    /// Number of links between switches.
    pub trunks: u32,
    /// Number of buffers behind them that pause their link: one for each direction and class.
    pub buffers: u32,
    /// What was checked: by number of failed links, then the scenario's own failures.
    pub counts: Vec<CaseCount>,
    /// Cases with a circle, a thousand at most.
    pub circular: Vec<CircularCase>,
    /// Crossings of switches, each by the names of the node before, the switch and the node behind it: if frames that cross
    /// so wait in a class of their own, or are not kept from loss, no circle is left.
    pub remedy: Vec<[String; 3]>,
    /// Whether a switch has a watchdog, which ends a deadlock at the price of frames.
    pub watchdogs: bool,
    /// Whether a node's pauses expire whatever its buffer holds: it makes nobody wait for ever, and its buffers do not count.
    pub expiring: bool,
}

/// What was checked of the cases with one number of failed links, or of one set of the scenario's own failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaseCount {
    /// Whether it is a set of links that fail in the scenario.
    pub own: bool,
    /// Number of failed links.
    pub failures: u32,
    /// How many cases there are, up to 2^128 - 1.
    pub possible: u128,
    /// How many of them were checked.
    pub checked: u32,
    /// In how many of these there is a circle.
    pub circular: u32,
}

/// A case with a circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CircularCase {
    /// Links that are down, from->to.
    pub down: Vec<String>,
    /// A shortest circle of each set of buffers that all wait for one another.
    pub circles: Vec<BufferCircle>,
}

/// Buffers that wait for one another in a circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferCircle {
    /// Class of the first buffer; `None` if links are paused as a whole.
    pub class: Option<u8>,
    /// Each wait, the last for the first buffer.
    pub waits: Vec<Wait>,
    /// Every link whose buffer waits in this circle or in one that shares a buffer with it, and so on, from->to.
    pub links: Vec<String>,
}

/// A buffer that waits for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The link whose frames the buffer holds, from->to.
    pub link: String,
    /// The link that they wait for.
    pub next: String,
    /// Flows whose frames these are, `reverse of` before those whose acknowledgements or messages they are; of all pairs one
    /// pair of hosts for each pair of switches. `None` beyond the first 20 cases.
    pub flows: Option<Vec<String>>,
}

impl DeadlockReport {
    /// Whether no case that was checked has a circle.
    pub fn is_free(&self) -> bool {
        self.counts.iter().all(|count| count.circular == 0)
    }

    /// The report as a JSON object with the names of its fields; counts of more than 2^53 cases are rounded.
    pub fn to_json(&self) -> String {
        let counts = self.counts.iter().map(|count| {
            json!({
                "own": count.own,
                "failures": count.failures,
                "possible": u64::try_from(count.possible).map_or_else(|_| json!(count.possible as f64), |all| json!(all)),
                "checked": count.checked,
                "circular": count.circular,
            })
        });
        let wait = |wait: &Wait| json!({"link": wait.link, "next": wait.next, "flows": wait.flows});
        let circle = |circle: &BufferCircle| {
            let waits: Vec<Value> = circle.waits.iter().map(wait).collect();
            json!({"class": circle.class, "waits": waits, "links": circle.links})
        };
        let circular = self
            .circular
            .iter()
            .map(|case| json!({"down": case.down, "circles": case.circles.iter().map(circle).collect::<Vec<Value>>()}));
        let remedy = self.remedy.iter().map(|[from, at, to]| json!({"from": from, "at": at, "to": to}));
        json!({
            "scenario": self.scenario,
            "free": self.is_free(),
            "failures": self.question.failures,
            "all_pairs": self.question.all_pairs,
            "bounce": self.question.bounce,
            "trunks": self.trunks,
            "buffers": self.buffers,
            "cases": counts.collect::<Vec<Value>>(),
            "circular": circular.collect::<Vec<Value>>(),
            "remedy": remedy.collect::<Vec<Value>>(),
            "watchdogs": self.watchdogs,
            "expiring": self.expiring,
        })
        .to_string()
    }
}
