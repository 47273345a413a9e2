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

#[cfg(test)]
mod tests {
    use super::*;
    use qcnlab_wire::{QuantizedFb, QueueUnits};

    /// Two samples for each message that was seen to be missing, and two more, are excused; not one beyond.
    #[test]
    fn senders_that_slowed_down_excuse_about_as_many_samples() {
        let tell = SendersTell { slowed: 3, obey: true, never_slowed: false };
        assert!(tell.excuse(10, 50, 1).unwrap().contains("10 samples without a message"));
        assert_eq!(tell.excuse(11, 50, 1), None);
        assert!(tell.excuse(8, 50, 0).is_some() && tell.excuse(9, 50, 0).is_none());
        // A message that was heard alone tells by itself.
        let silent = SendersTell { slowed: 0, ..tell };
        assert!(silent.excuse(4, 50, 1).is_some() && silent.excuse(5, 50, 1).is_none());
    }

    /// Where no message was seen to be missing, a sender that obeys the law convicts the port; without one, one in four is open.
    #[test]
    fn one_in_four_is_open_where_no_sender_tells() {
        let obeys = SendersTell { slowed: 0, obey: true, never_slowed: false };
        assert_eq!(obeys.excuse(1, 50, 0), None);
        let nobody = SendersTell { obey: false, ..obeys };
        assert!(nobody.excuse(1, 4, 0).unwrap().contains("1 sample without a message"));
        assert!(nobody.excuse(5, 20, 0).is_some() && nobody.excuse(6, 20, 0).is_none());
    }

    /// Of messages at 100, 200 and 300 the first was sent and heard, the second sent alone, the third heard alone.
    #[test]
    fn what_was_heard_and_not_sent_is_counted_for_its_point() {
        let cnm = |fb: u8, point: u8| Cnm {
            version: 0,
            reserved: 0,
            quantized_fb: QuantizedFb::new(fb).unwrap(),
            cpid: Cpid([0, 0, 0, 0, 0, 0, 0, point]),
            q_offset: QueueUnits(1),
            q_delta: QueueUnits(2),
            priority: 3,
            priority_reserved: 0,
            destination: MacAddress([2; 6]),
            msdu: &[8, 0],
        };
        let mut heard = HeardAtSenders::default();
        for (stamp, fb, point, received) in
            [(100, 1, 1, false), (150, 1, 1, true), (200, 2, 1, false), (300, 3, 2, true), (400, 4, 2, true)]
        {
            heard.take(stamp, &cnm(fb, point), received);
        }
        heard.settle(300);
        assert!(heard.alone.is_empty());
        heard.settle(301);
        assert_eq!(heard.alone, BTreeMap::from([(Cpid([0, 0, 0, 0, 0, 0, 0, 2]), 1)]));
        heard.settle(i64::MAX);
        assert_eq!(heard.alone.values().sum::<u64>(), 2);
    }
}
