//! The kernel's shaper, HTB, as the limiters of a host: a class for each reaction point, told its rate over netlink.
//!
//! HTB stands at the interface of the host's stack, before the adapter: it paces, and the adapter puts tags on what it
//! lets pass, hears CNMs, asks the reaction point and sets the class to the rate that it says. Classes are chosen by
//! the mark that our senders put on their sockets (`SO_PRIORITY`); frames without a mark pass by all of them.
//!
//! ```text
//! 1:      HTB at tap0; what has no mark passes unshaped
//! 1:ffff  the link: what all classes may send together
//! 1:N     the reaction point with RPID N, and a queue of its room
//! ```

use crate::netlink::{ACKNOWLEDGE, CREATE, Links, Message, QUESTION, attributes};
use crate::sys::SysError;
use crate::sys::socket::interface_index;
use qcnlab_units::{BitRate, Bytes};
use serde_json::{Value, json};
use std::io;

const NEW_QUEUEING: u16 = 36;
const NEW_CLASS: u16 = 40;
const GET_CLASS: u16 = 42;

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;

/// `1:`, and the class of the link in it.
const HANDLE: u32 = 0x0001_0000;
const LINK: u16 = 0xFFFF;
/// Handle of the root of an interface.
const ROOT: u32 = u32::MAX;
/// `TC_LINKLAYER_ETHERNET`: the kernel computes times itself.
const ETHERNET: u8 = 1;
/// A tick of the kernel's shapers, ns.
const TICK_NS: u64 = 64;
/// The lowest rate that a class is set to, octets/s: HTB has no rate of zero.
const LEAST: u64 = 1000;
/// Changes that are recorded.
const MOST_CHANGES: usize = 1 << 16;

/// Who paces the frames of a reaction point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimiterKind {
    /// The adapter's own limiters, in user space.
    #[default]
    Adapter,
    /// The kernel's hierarchical token bucket, at the interface of the host's stack.
    Htb,
}

impl LimiterKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            LimiterKind::Adapter => "adapter",
            LimiterKind::Htb => "htb",
        }
    }
}

/// A class of the shaper, as a reaction point wants it.
#[derive(Clone, Debug)]
pub(crate) struct ShapedClass {
    /// The RPID of its reaction point.
    pub(crate) rpid: u16,
    /// Octets of its frames.
    pub(crate) frame: Bytes,
    /// Octets that may follow each other at once after a wait.
    pub(crate) burst: Bytes,
    /// Octets that a frame counts beyond those that the kernel sees.
    pub(crate) overhead: Bytes,
    /// Octets that its queue holds.
    pub(crate) room: Bytes,
}

/// What a reaction point asks of its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WantedRate {
    /// The reaction point's rate; the link's where it limits nothing.
    pub(crate) reaction: BitRate,
    /// The rate for the class: lower while too much waits behind it.
    pub(crate) asked: BitRate,
}

/// A rate that the kernel was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelLimit {
    /// The host, by its node in the plan.
    pub host: u32,
    /// The identifier of the reaction point at its host.
    pub rpid: u16,
    /// When it was in force, ps.
    pub at_ps: u64,
    /// The reaction point's rate, bit/s; the link's where it limits nothing.
    pub reaction_bps: u64,
    /// The rate that was asked for, bit/s: lower while frames that passed the class wait for the link.
    pub asked_bps: u64,
    /// The rate that the kernel then said, bit/s.
    pub read_bps: u64,
}

/// What the shaper of a host came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShaperEnd {
    pub(crate) limits: Vec<KernelLimit>,
    classes: Vec<ShapedClass>,
    changes: u64,
    /// Changes after which the kernel said another rate.
    unlike: u64,
    /// Changes that the kernel refused.
    failed: u64,
    /// Frames that found a class's queue full.
    drops: u64,
}

impl ShaperEnd {
    /// What it did, with its host's name.
    pub(crate) fn to_json(&self, host: &str) -> Value {
        let class = |class: &ShapedClass| {
            json!({
                "rpid": class.rpid,
                "burst_bytes": class.burst.get(),
                "overhead_bytes": class.overhead.get(),
                "queue_bytes": class.room.get(),
            })
        };
        json!({
            "host": host,
            "classes": self.classes.iter().map(class).collect::<Vec<_>>(),
            "rate_changes": self.changes,
            "rate_changes_read_back_unlike": self.unlike,
            "rate_changes_refused": self.failed,
            "frames_dropped": self.drops,
        })
    }
}

/// The mark of a socket whose frames belong to the class of a reaction point.
pub(crate) fn mark_of(rpid: u16) -> u32 {
    HANDLE | u32::from(rpid)
}

/// What the kernel says of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ClassState {
    /// Octets a second, at most.
    ceiling: u64,
    /// Octets that wait.
    backlog: u64,
    /// Frames that found the queue full.
    drops: u64,
}

/// The shaper of a host.
pub(crate) struct KernelShaper {
    links: Links,
    interface: i32,
    host: u32,
    line: BitRate,
    /// What each class was last told.
    asked: Vec<WantedRate>,
    end: ShaperEnd,
}

impl KernelShaper {
    /// Has HTB queue what an interface of the calling thread's namespace sends, with a class for each reaction point;
    /// all may send at the rate of the link.
    ///
    /// # Errors
    /// When the kernel refuses: most have HTB, some not.
    pub(crate) fn open(
        name: &str,
        host: u32,
        line: BitRate,
        classes: Vec<ShapedClass>,
    ) -> Result<KernelShaper, SysError> {
        let (links, interface) = (Links::open()?, interface_index(name)?);
        let all_of_it = WantedRate { reaction: line, asked: line };
        let asked = vec![all_of_it; classes.len()];
        let end = ShaperEnd { classes, ..ShaperEnd::default() };
        let mut shaper = KernelShaper { links, interface, host, line, asked, end };
        shaper.make_root(name)?;
        let all = shaper.end.classes.clone();
        if let Some(first) = all.first() {
            shaper.tell(CREATE, LINK, 0, line, line, first)?;
        }
        for class in &all {
            shaper.tell(CREATE, class.rpid, LINK, shaper.share(line), line, class)?;
            shaper.give_queue(class)?;
        }
        for position in 0..all.len() {
            shaper.set(0, position, all_of_it)?;
        }
        Ok(shaper)
    }

    /// The fixed part of a message about queueing: family, interface, handle, parent, no information.
    fn about(&self, handle: u32, parent: u32) -> [u8; 20] {
        let mut octets = [0; 20];
        octets[4..8].copy_from_slice(&self.interface.to_ne_bytes());
        octets[8..12].copy_from_slice(&handle.to_ne_bytes());
        octets[12..16].copy_from_slice(&parent.to_ne_bytes());
        octets
    }

    fn make_root(&self, name: &str) -> Result<(), SysError> {
        // Version 3, rate to quantum 10, no class for frames without a mark.
        let mut options = [0; 20];
        options[..4].copy_from_slice(&3u32.to_ne_bytes());
        options[4..8].copy_from_slice(&10u32.to_ne_bytes());
        let message = Message::new(NEW_QUEUEING, CREATE)
            .fixed(&self.about(HANDLE, ROOT))
            .attribute(TCA_KIND, b"htb\0")
            .nested(TCA_OPTIONS, |message| message.attribute(TCA_HTB_INIT, &options));
        self.links.ask(message, &format!("shape {name} by HTB"))
    }

    /// Has a class queue so many octets and no more.
    fn give_queue(&self, class: &ShapedClass) -> Result<(), SysError> {
        let room = u32::try_from(class.room.get()).unwrap_or(u32::MAX);
        let message = Message::new(NEW_QUEUEING, CREATE)
            .fixed(&self.about(0, mark_of(class.rpid)))
            .attribute(TCA_KIND, b"bfifo\0")
            .attribute(TCA_OPTIONS, &room.to_ne_bytes());
        self.links.ask(message, "give a class of HTB a queue")
    }

    /// The rate that a class has whatever others send; it borrows what it has beyond that.
    fn share(&self, rate: BitRate) -> BitRate {
        rate.min(BitRate::bps(self.line.get() / self.asked.len().max(1) as u64))
    }

    /// Makes or changes a class, below another one or below the root: what it has for itself, and what it may send.
    fn tell(
        &self,
        flags: u16,
        minor: u16,
        parent: u16,
        rate: BitRate,
        ceiling: BitRate,
        class: &ShapedClass,
    ) -> Result<(), SysError> {
        let message = Message::new(NEW_CLASS, flags)
            .fixed(&self.about(mark_of(minor), mark_of(parent)))
            .attribute(TCA_KIND, b"htb\0")
            .nested(TCA_OPTIONS, |message| message.attribute(TCA_HTB_PARMS, &parameters(rate, ceiling, class)));
        self.links.ask(message, &format!("set the HTB class 1:{minor:x} to {} bit/s", ceiling.get()))
    }

    /// What the kernel says of a class.
    fn state(&self, position: usize) -> Result<ClassState, SysError> {
        let handle = mark_of(self.end.classes[position].rpid);
        let what = format!("read the HTB class {:x}:{:x}", handle >> 16, handle & 0xFFFF);
        let message = Message::new(GET_CLASS, QUESTION).fixed(&self.about(handle, mark_of(LINK)));
        let answer = self.links.question(message, &what)?;
        class_state(&answer).ok_or_else(|| SysError::new(what, io::Error::other("the kernel's answer is too short")))
    }

    /// Sets a class to a rate and reads back what the kernel made of it.
    pub(crate) fn set(&mut self, now: u64, position: usize, wanted: WantedRate) -> Result<(), SysError> {
        self.asked[position] = wanted;
        let rate = wanted.asked;
        let class = &self.end.classes[position];
        self.tell(ACKNOWLEDGE, class.rpid, LINK, self.share(rate), rate, class)?;
        let read = self.state(position)?.ceiling;
        self.end.changes += 1;
        self.end.unlike += u64::from(read != octets(rate));
        if self.end.limits.len() < MOST_CHANGES {
            let rpid = self.end.classes[position].rpid;
            self.end.limits.push(KernelLimit {
                host: self.host,
                rpid,
                at_ps: now,
                reaction_bps: wanted.reaction.get(),
                asked_bps: rate.get(),
                read_bps: read * 8,
            });
        }
        Ok(())
    }

    /// The rate of the link, as the shaper counts.
    pub(crate) fn line(&self) -> BitRate {
        self.line
    }

    /// Sets the classes of which something else is wanted now.
    pub(crate) fn follow(&mut self, now: u64, wanted: impl Iterator<Item = WantedRate>) {
        for (position, wanted) in wanted.enumerate() {
            if self.asked[position] != wanted && self.set(now, position, wanted).is_err() {
                self.end.failed += 1;
            }
        }
    }

    /// Octets that wait in a class.
    pub(crate) fn backlog(&self, position: usize) -> u64 {
        self.state(position).map_or(0, |state| state.backlog)
    }

    /// What it came to. The kernel's part goes with the interface.
    pub(crate) fn finish(mut self) -> ShaperEnd {
        self.end.drops =
            (0..self.asked.len()).filter_map(|position| self.state(position).ok()).map(|of| of.drops).sum();
        self.end
    }
}

/// A rate as the kernel counts it.
fn octets(rate: BitRate) -> u64 {
    (rate.get() / 8).max(LEAST)
}

/// The parameters of a class (`tc_htb_opt`): two rates, two bursts in ticks, quantum, level, priority. A rate
/// (`tc_ratespec`) is cell, link layer, overhead, alignment, shortest frame, octets a second.
fn parameters(rate: BitRate, ceiling: BitRate, class: &ShapedClass) -> [u8; 44] {
    let mut all = [0; 44];
    let words = [octets(rate), octets(ceiling)];
    for (at, rate) in words.into_iter().enumerate() {
        let spec = &mut all[12 * at..12 * (at + 1)];
        spec[1] = ETHERNET;
        spec[2..4].copy_from_slice(&u16::try_from(class.overhead.get()).unwrap_or(u16::MAX).to_ne_bytes());
        spec[8..].copy_from_slice(&u32::try_from(rate).unwrap_or(u32::MAX).to_ne_bytes());
        let ticks = class.burst.get().saturating_mul(1_000_000_000) / (rate * TICK_NS);
        all[24 + 4 * at..28 + 4 * at].copy_from_slice(&u32::try_from(ticks).unwrap_or(u32::MAX).to_ne_bytes());
    }
    // As many octets as a frame has, so that classes that borrow take turns by the frame.
    all[32..36].copy_from_slice(&u32::try_from(class.frame.get()).unwrap_or(u32::MAX).to_ne_bytes());
    all
}

/// Reads what the kernel says of a class: behind a header of 16 octets and a fixed part of 20 its attributes.
fn class_state(answer: &[u8]) -> Option<ClassState> {
    let word = |octets: &[u8], at: usize| Some(u32::from_ne_bytes(octets.get(at..at + 4)?.try_into().ok()?));
    let length = word(answer, 0)? as usize;
    let of = |octets, kind| attributes(octets).find(|(of, _)| *of == kind).map(|(_, value)| value);
    let all = answer.get(36..length)?;
    let parameters = of(of(all, TCA_OPTIONS)?, TCA_HTB_PARMS)?;
    let queue = of(of(all, TCA_STATS2)?, TCA_STATS_QUEUE)?;
    // gnet_stats_queue: frames, octets, drops and two more.
    Some(ClassState {
        ceiling: word(parameters, 20)?.into(),
        backlog: word(queue, 4)?.into(),
        drops: word(queue, 8)?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASS: ShapedClass = ShapedClass {
        rpid: 3,
        frame: Bytes::new(1500),
        burst: Bytes::new(15_000),
        overhead: Bytes::new(8),
        room: Bytes::new(150_000),
    };

    /// 5 Mb/s are 625 000 octets a second; 15 000 octets take 24 ms at it, 375 000 ticks of 64 ns, and 12 ms, 187 500
    /// ticks, at twice the rate.
    #[test]
    fn a_class_is_told_octets_a_second_and_ticks() {
        let told = parameters(BitRate::mbps(5), BitRate::mbps(10), &CLASS);
        let word = |at: usize| u32::from_ne_bytes([told[at], told[at + 1], told[at + 2], told[at + 3]]);
        assert_eq!([8, 20, 24, 28, 32, 36, 40].map(word), [625_000, 1_250_000, 375_000, 187_500, 1500, 0, 0]);
        assert_eq!((told[1], told[2..4] == 8u16.to_ne_bytes()), (ETHERNET, true));
        // HTB has no rate of zero.
        assert_eq!(octets(BitRate::ZERO), 1000);
        assert_eq!((mark_of(3), mark_of(LINK)), (0x0001_0003, 0x0001_FFFF));
    }

    /// The kernel's answer about a class with a ceiling of 1 250 000 octets a second, 4500 octets and 2 drops.
    #[test]
    fn what_the_kernel_says_of_a_class_is_read() {
        let queue: Vec<u8> = [3u32, 4500, 2, 0, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let answer = Message::new(NEW_CLASS, 0)
            .fixed(&[0; 20])
            .attribute(TCA_KIND, b"htb\0")
            .nested(TCA_OPTIONS, |message| {
                message.attribute(TCA_HTB_PARMS, &parameters(BitRate::mbps(5), BitRate::mbps(10), &CLASS))
            })
            .nested(TCA_STATS2, |message| message.attribute(TCA_STATS_QUEUE, &queue))
            .finish();
        let state = ClassState { ceiling: 1_250_000, backlog: 4500, drops: 2 };
        assert_eq!(class_state(&answer), Some(state));
        assert_eq!(class_state(&answer[..answer.len() - 1]), None, "cut off");
    }
}
