//! What follows from `[[shared_buffer]]` for each switch: reserves, headroom and thresholds.

use super::fault::Fault;
use super::located::LocatedFault;
use super::pausing::{Site, paused_link};
use super::shared_buffer::{SharedBuffer, SharedBufferKind};
use qcnlab_network::topology::{Link, PortId};
use qcnlab_sim::{Alpha, PausePlan, PauseScope, SharedBufferPlan, SharedInputPlan, SharedQueuePlan};
use qcnlab_units::{BitRate, Bytes};

/// A switch with a shared buffer, with all that its plan follows from.
pub(super) struct SharedSite<'a> {
    /// The table of `[[shared_buffer]]` that applies to it, and its number.
    pub(super) table: usize,
    pub(super) shared: &'a SharedBuffer,
    /// Its name.
    pub(super) name: &'a str,
    /// Its links, each with the port that leads to it and the one that leads away.
    pub(super) links: Vec<(PortId, PortId, &'a Link)>,
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

/// Returns the plan of a switch's shared buffer.
pub(super) fn shared_plan(site: &SharedSite<'_>) -> Result<SharedBufferPlan<PortId>, LocatedFault> {
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
        HeadroomOf::Link => {
            site.site.as_ref().map_or(Bytes::ZERO, |site| paused_link(site, link, numbers.cell).headroom())
        }
        HeadroomOf::ThreeDelays => {
            let octets = u128::from(link.rate.get()) * u128::from(link.delay.ps()) / 8_000_000_000_000;
            Bytes::new(3 * octets as u64)
        }
    };
    let inputs: Vec<SharedInputPlan<PortId>> = site
        .links
        .iter()
        .map(|(port, _, link)| SharedInputPlan {
            port: *port,
            headroom: headroom_of(link),
            alpha: numbers.pg_alpha.map(|alpha| scaled(alpha, link.rate, numbers.alpha_for)),
        })
        .collect();
    let queue = |(_, port, link): &(PortId, PortId, &Link)| {
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
