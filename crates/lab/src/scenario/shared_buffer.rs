//! Switches with one buffer for all their ports: `[[shared_buffer]]`, and what follows from it for each switch.

use super::fault::Fault;
use super::located::LocatedFault;
use super::pausing::{Site, headroom};
use crate::topology::Link;
use qcnlab_schemes::params::{Fallback, Range};
use qcnlab_schemes::{params, variants};
use qcnlab_sim::{Alpha, PausePlan, PauseScope, SharedBufferPlan, SharedInputPlan, SharedQueuePlan};
use qcnlab_units::{BitRate, Bytes};

/// Two to the power of -8 and of 7, as SAI has them.
const ALPHA: Range = Range::between(1.0 / 256.0, 128.0);

params! {
    /// Switches with one buffer for all their ports. Of several tables the first whose pattern fits a switch holds.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SharedBuffer {
        /// Switches that have it: a name, or a pattern in which * stands for any characters and {1..4} for numbers.
        only: String, "", Range::ANY, Fallback::Text("*");
        /// Octets of the whole buffer, with reserves and headroom.
        size: Bytes, "BUFFER_POOL size", Range::POSITIVE;
    } with {
        /// Where its other numbers come from.
        pub kind: SharedBufferKind,
    }
}

variants! {
    /// Where the other numbers of a shared buffer come from.
    #[derive(Clone, Debug, PartialEq)]
    pub enum SharedBufferKind {
        /// From the keys below, in SAI's words. A priority group is what came in over one link in one class.
        Dynamic = "dynamic" {
            /// Octets that each priority group has to itself.
            reserve: Bytes, "BUFFER_PROFILE size", Range::at_least(0.0), Fallback::Text("0 B");
            /// Part of the free shared octets that a priority group may hold: a power of two from 1/256 to 128. A group
            /// that [[pause]] stops is stopped there, another is discarded there. Left out, no limit.
            pg_alpha: Option<f64>, "dynamic_th", ALPHA;
            /// Part of the free shared octets that an output queue of a class that [[pause]] does not stop may hold:
            /// a power of two from 1/256 to 128. Left out, no limit.
            queue_alpha: Option<f64>, "dynamic_th", ALPHA;
            /// The link's rate that pg_alpha and queue_alpha are for: they double with each doubling of it. Left out,
            /// they are the same at every link.
            alpha_for: Option<BitRate>, "", Range::POSITIVE;
            /// Octets kept for what still comes over a link in one class after it was stopped; left out, what the link
            /// can bring: round trip, reaction and latency at its rate, three frames and the pause frame.
            headroom: Option<Bytes>, "BUFFER_PROFILE xoff", Range::at_least(0.0);
            /// Octets of headroom that all priority groups draw on, each up to its headroom; left out, each has its own.
            headroom_pool: Option<Bytes>, "BUFFER_POOL xoff", Range::POSITIVE;
            /// A stopped group goes on at this many shared octets, however low its limit.
            xon: Bytes, "BUFFER_PROFILE xon", Range::at_least(0.0), Fallback::Text("0 B");
            /// How far below its limit a stopped group goes on.
            xon_offset: Bytes, "BUFFER_PROFILE xon_offset", Range::at_least(0.0), Fallback::Text("3 KiB");
            /// Frames take whole cells of this size; left out, octets.
            cell: Option<Bytes>, "", Range::between(1.0, 65536.0);
        },
        /// As the switches of HPCC's simulator: 4 KiB for each link into the switch and three times what the link
        /// carries in its delay as headroom; an eighth of what is free for each priority group at the rate of hosts,
        /// twice that for each doubling of it; XON 3 KiB below.
        HpccSimulator = "hpcc_simulator" {
            /// The rate of hosts; left out, that of the first host's link.
            nic_rate: Option<BitRate>, "", Range::POSITIVE;
        },
    }
}

/// A switch with a shared buffer, with all that its plan follows from.
pub(super) struct SharedSite<'a> {
    /// The table of `[[shared_buffer]]` that applies to it, and its number.
    pub(super) table: usize,
    pub(super) shared: &'a SharedBuffer,
    /// Its name.
    pub(super) name: &'a str,
    /// Its links, each with the port that leads to it and the one that leads away.
    pub(super) links: Vec<(u32, u32, &'a Link)>,
    /// When it pauses them.
    pub(super) pause: Option<&'a PausePlan>,
    /// With all that follows from its table of `[[pause]]`, if one applies.
    pub(super) site: Option<Site<'a>>,
    /// Classes that frames have, as bits.
    pub(super) used: u8,
    /// The rate of the first host's link.
    pub(super) host_rate: BitRate,
    /// The longest frame.
    pub(super) longest: Bytes,
}

/// The numbers of a shared buffer, from whichever kind.
struct Numbers {
    reserve: Bytes,
    pg_alpha: Option<i8>,
    queue_alpha: Option<i8>,
    alpha_for: Option<BitRate>,
    headroom: HeadroomOf,
    headroom_pool: Option<Bytes>,
    xon: Bytes,
    xon_offset: Bytes,
    cell: Bytes,
    /// Whether a link has one reserve and one headroom, however many classes there are.
    once_a_link: bool,
}

/// How much headroom a paused group has.
#[derive(Clone, Copy)]
enum HeadroomOf {
    /// So much.
    Octets(Bytes),
    /// What its link can bring after XOFF.
    Link,
    /// Three times what the link carries in its delay.
    ThreeDelays,
}

/// Return the plan of a switch's shared buffer; ports are numbered as the network numbers them.
pub(super) fn shared_plan(site: &SharedSite<'_>) -> Result<SharedBufferPlan, LocatedFault> {
    let numbers = numbers(site)?;
    let paused = site.pause.map(|pause| pause.scope);
    let groups = |classes: u8| match paused {
        Some(PauseScope::Link) => u64::from(classes != 0),
        _ if numbers.once_a_link => u64::from(classes != 0),
        _ => u64::from(classes.count_ones()),
    };
    let stopped = match paused {
        Some(PauseScope::Classes(classes)) => site.used & classes,
        Some(PauseScope::Link) => site.used,
        None => 0,
    };
    let headroom_of = |link: &Link| match numbers.headroom {
        _ if stopped == 0 => Bytes::ZERO,
        HeadroomOf::Octets(octets) => octets,
        HeadroomOf::Link => site.site.as_ref().map_or(Bytes::ZERO, |site| headroom(site, link)),
        HeadroomOf::ThreeDelays => {
            let octets = u128::from(link.rate.get()) * u128::from(link.delay.ps()) / 8_000_000_000_000;
            Bytes::new(3 * octets as u64)
        }
    };
    let inputs: Vec<SharedInputPlan> = site
        .links
        .iter()
        .map(|(port, _, link)| SharedInputPlan {
            port: *port,
            headroom: headroom_of(link),
            alpha: numbers.pg_alpha.map(|alpha| scaled(alpha, link.rate, numbers.alpha_for)),
        })
        .collect();
    let queue = |(_, port, link): &(u32, u32, &Link)| {
        let alpha = scaled(numbers.queue_alpha?, link.rate, numbers.alpha_for);
        Some(SharedQueuePlan { port: *port, alpha })
    };
    let own: u64 = inputs.iter().map(|input| input.headroom.get() * groups(stopped)).sum();
    let headroom = if stopped == 0 { 0 } else { numbers.headroom_pool.map_or(own, Bytes::get) };
    let reserves = numbers.reserve.get() * groups(site.used) * site.links.len() as u64;
    let key = |name: &str| format!("shared_buffer.{}.{name}", site.table);
    let Some(shared) = site.shared.size.get().checked_sub(reserves + headroom).filter(|shared| *shared > 0) else {
        let fault = Fault::PoolBelowReserves {
            size: site.shared.size,
            reserves: Bytes::new(reserves),
            headroom: Bytes::new(headroom),
            switch: site.name.to_owned(),
        };
        return Err(LocatedFault::new(fault, &["size", "reserve", "headroom", "headroom_pool"].map(key)));
    };
    let plan = SharedBufferPlan {
        shared: Bytes::new(shared),
        reserve: numbers.reserve,
        headroom_pool: numbers.headroom_pool,
        cell: numbers.cell,
        xon: numbers.xon,
        xon_offset: numbers.xon_offset,
        queues: site.links.iter().filter_map(queue).collect(),
        inputs,
    };
    let takes = site.longest.get().div_ceil(numbers.cell.get()) * numbers.cell.get();
    let least = plan.inputs.iter().map(|input| input.alpha.map_or(shared, |alpha| alpha.of(shared).min(shared))).min();
    let room = least.unwrap_or(shared) + numbers.reserve.get();
    if takes > room {
        let fault = Fault::FrameAboveBuffer { frame: site.longest, buffer: Bytes::new(room) };
        return Err(LocatedFault::new(fault, &["size", "pg_alpha"].map(key)));
    }
    Ok(plan)
}

fn numbers(site: &SharedSite<'_>) -> Result<Numbers, LocatedFault> {
    match &site.shared.kind {
        SharedBufferKind::Dynamic {
            reserve,
            pg_alpha,
            queue_alpha,
            alpha_for,
            headroom,
            headroom_pool,
            xon,
            xon_offset,
            cell,
        } => {
            let exponent = |alpha: Option<f64>, name| alpha.map(|alpha| exponent(site, alpha, name)).transpose();
            if site.pause.is_some() && pg_alpha.is_none() {
                let example = "pg_alpha = \"1/8\"".to_owned();
                let fault = Fault::MissingKey { key: "pg_alpha", table: "[[shared_buffer]]".to_owned(), example };
                return Err(LocatedFault::new(fault, &[format!("shared_buffer.{}", site.table)]));
            }
            Ok(Numbers {
                reserve: *reserve,
                pg_alpha: exponent(*pg_alpha, "pg_alpha")?,
                queue_alpha: exponent(*queue_alpha, "queue_alpha")?,
                alpha_for: *alpha_for,
                headroom: headroom.map_or(HeadroomOf::Link, HeadroomOf::Octets),
                headroom_pool: *headroom_pool,
                xon: *xon,
                xon_offset: *xon_offset,
                cell: cell.unwrap_or(Bytes::new(1)),
                once_a_link: false,
            })
        }
        SharedBufferKind::HpccSimulator { nic_rate } => Ok(Numbers {
            reserve: Bytes::new(4096),
            pg_alpha: Some(-3),
            queue_alpha: None,
            alpha_for: Some(nic_rate.unwrap_or(site.host_rate)),
            headroom: HeadroomOf::ThreeDelays,
            headroom_pool: None,
            xon: Bytes::ZERO,
            xon_offset: Bytes::new(3072),
            cell: Bytes::new(1),
            once_a_link: true,
        }),
    }
}

/// The power of two that a part is.
fn exponent(site: &SharedSite<'_>, alpha: f64, name: &'static str) -> Result<i8, LocatedFault> {
    let exponent = (-8i8..=7).find(|exponent| f64::from(*exponent).exp2() == alpha);
    exponent.ok_or_else(|| {
        let below = alpha.log2().floor().exp2();
        let fault = Fault::Alpha { alpha, below, above: 2.0 * below };
        LocatedFault::new(fault, &[format!("shared_buffer.{}.{name}", site.table)])
    })
}

/// The part at a link of `rate`: twice as much for each doubling of `unscaled`.
fn scaled(exponent: i8, mut rate: BitRate, unscaled: Option<BitRate>) -> Alpha {
    let mut exponent = exponent;
    while unscaled.is_some_and(|unscaled| rate > unscaled) {
        exponent += 1;
        rate = BitRate::bps(rate.get() / 2);
    }
    Alpha::two_to(exponent.min(62))
}
