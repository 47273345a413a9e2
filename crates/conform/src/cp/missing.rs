//! Samples without a message: whether the port sent none, or the capture lacks them. The senders tell, which slow down
//! at each message that reaches them.

use super::judge::CpKind;
use crate::input::Survey;
use crate::rp::{self, Finding};
use crate::tolerances::ConformOptions;
use qcnlab_wire::{Cnm, Cpid, MacAddress};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

/// One message in so many may be missing where no sender tells.
const UNLIKELY: u64 = 4;

/// What senders to a port show of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SendersTell {
    /// Times that one slowed down as after a message that the capture lacks.
    pub(super) slowed: u64,
    /// Whether one obeys the law without such a message.
    pub(super) obey: bool,
    /// Whether all of them filled their links all along.
    pub(super) never_slowed: bool,
}

impl SendersTell {
    /// Holds the senders to a port against the law of the reaction point.
    pub(super) fn of(
        file: &Path,
        options: &ConformOptions,
        survey: &Survey,
        senders: &HashSet<MacAddress>,
    ) -> SendersTell {
        // The rate that was told is the port's, unless no interface has one.
        let has_rates = survey.interfaces.iter().any(|interface| interface.speed.is_some());
        let rate = options.rate.filter(|_| !has_rates);
        let beside_senders = ConformOptions { interface: None, rate, ..options.clone() };
        let Ok(results) = rp::judge_by_law(file, &beside_senders) else { return SendersTell::default() };
        let points = || results.points.iter().filter(|point| senders.contains(&point.key.sender));
        SendersTell {
            slowed: points().map(|point| point.tally.unseen_cnms).sum(),
            obey: points().any(|point| matches!(point.finding, Finding::Conforms)),
            never_slowed: points().next().is_some() && points().all(|point| point.never_slowed),
        }
    }

    /// Why nothing is decided where `missing` samples have no message beside `cnms` that have one; `None` where the port
    /// sent none.
    pub(super) fn excuse(&self, missing: u64, cnms: u64, heard_alone: u64) -> Option<String> {
        let shown = self.slowed + heard_alone;
        let samples = format!("{missing} sample{} without a message", if missing == 1 { "" } else { "s" });
        if shown > 0 {
            // Two messages shortly after each other show as one, and so does one that changes little.
            return (missing <= 2 * shown + 2).then(|| {
                format!(
                    "it conforms but for {samples}, and its senders show that the capture lacks messages: they heard \
                     {heard_alone} that it does not have at the port, and slowed down {} times as after one that it \
                     does not have at all",
                    self.slowed
                )
            });
        }
        (!self.obey && missing * UNLIKELY <= cnms).then(|| {
            format!(
                "it conforms but for {samples}; the port sent none there, or the capture lacks them: no sender in it \
                 obeys the law of the reaction point, so that it would tell"
            )
        })
    }
}

/// Whether messages that the capture lacks may explain it.
pub(super) const fn may_be_missing(kind: CpKind) -> bool {
    matches!(kind, CpKind::SampleMissed | CpKind::Delta)
}

/// Messages as their senders hear them, which left the port earlier.
#[derive(Debug, Default)]
pub(super) struct HeardAtSenders {
    /// Whether each was seen as it left, and as it was heard.
    seen: HashMap<u64, (bool, bool)>,
    order: VecDeque<(i64, u64, Cpid)>,
    /// Those that were heard and not seen as they left, by their congestion point.
    pub(super) alone: BTreeMap<Cpid, u64>,
}

impl HeardAtSenders {
    /// Takes a message, which a sender received or a port sent.
    pub(super) fn take(&mut self, stamp: i64, cnm: &Cnm<'_>, received: bool) {
        let mut hasher = DefaultHasher::new();
        (cnm.quantized_fb.get(), cnm.q_offset.0, cnm.q_delta.0, cnm.destination.0, cnm.msdu).hash(&mut hasher);
        let content = hasher.finish();
        let seen = self.seen.entry(content).or_insert_with(|| {
            self.order.push_back((stamp, content, cnm.cpid));
            (false, false)
        });
        if received {
            seen.1 = true;
        } else {
            seen.0 = true;
        }
    }

    /// Lets go of those before `until`.
    pub(super) fn settle(&mut self, until: i64) {
        while let Some((stamp, content, cpid)) = self.order.front().copied()
            && stamp < until
        {
            self.order.pop_front();
            if self.seen.remove(&content) == Some((false, true)) {
                *self.alone.entry(cpid).or_default() += 1;
            }
        }
    }
}
