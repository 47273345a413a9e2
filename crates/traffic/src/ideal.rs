//! The completion time that a flow has alone in the network, exactly and as the field's simulator reckons it.

use qcnlab_units::{BitRate, Bytes, Span};

/// One link of a flow's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Its rate.
    pub rate: BitRate,
    /// Its propagation delay.
    pub delay: Span,
    /// Time the node at its far end takes to get a frame to the next queue; zero at the receiver.
    pub latency: Span,
    /// Wire time spent on each frame beyond its own octets.
    pub overhead: Bytes,
}

/// What a slowdown is measured against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone {
    /// [`ideal_completion`].
    pub ideal: Span,
    /// [`standalone_completion`].
    pub standalone: Span,
}

impl Alone {
    /// A flow of `octets`, headers included, in frames of `frame`.
    ///
    /// # Panics
    /// As [`ideal_completion`].
    pub fn new(octets: Bytes, frame: Bytes, hops: &[Hop]) -> Alone {
        Alone { ideal: ideal_completion(octets, frame, hops), standalone: standalone_completion(octets, frame, hops) }
    }
}

/// The base of slowdowns of the HPCC simulator (`standalone_fct` of its `third.cc`): the base round trip, and all octets
/// with their headers at the rate of the slowest link.
///
/// The base round trip is the propagation there and back, with the latency of switches, and the time of one full frame
/// on each link of the way there. A full frame counts twice on the slowest link, and what stands between frames on the
/// wire does not count, so a flow alone may take less: the field's slowdowns are floored at 1.
pub(super) fn standalone_completion(octets: Bytes, frame: Bytes, hops: &[Hop]) -> Span {
    let Some(slowest) = hops.iter().map(|hop| hop.rate).min() else { return Span::ZERO };
    let one = |hop: &Hop| hop.delay + hop.delay + hop.latency + hop.latency + hop.rate.time_for_rounded_up(frame);
    hops.iter().fold(slowest.time_for_rounded_up(octets), |sum, hop| sum + one(hop))
}

/// Time from a flow's start until its last octet has arrived, alone in the network and never held back: what a slowdown
/// is measured against.
///
/// Every node takes a frame in whole before it sends it on. The flow is n frames, all of `frame` octets but the last,
/// which is shorter if need be. With T(i) the time of a full frame on link i, t(i) that of the last one, and D the
/// delays and latencies in all, the time is
///
/// ```text
/// D + max over m of [ T(1) + .. + T(m) + (n - 2) max(T(1), .., T(m)) + t(m) + .. + t(last) ]
/// ```
///
/// and D + t(1) + .. + t(last) for one frame. The last frame catches up with the full ones at link m and never
/// waits after it. With n equal frames this is D + the sum of T(i) + (n - 1) times the longest of them.
///
/// # Panics
/// If `frame` is zero, or a flow of more than zero octets has no hops.
pub fn ideal_completion(size: Bytes, frame: Bytes, hops: &[Hop]) -> Span {
    assert!(frame > Bytes::ZERO, "frames have octets");
    if size == Bytes::ZERO {
        return Span::ZERO;
    }
    assert!(!hops.is_empty(), "a flow crosses a link");
    let frames = size.get().div_ceil(frame.get());
    let rest = Bytes::new(size.get() - (frames - 1) * frame.get());
    let time = |hop: &Hop, octets: Bytes| hop.rate.time_for_rounded_up(octets + hop.overhead);
    let delays = hops.iter().fold(Span::ZERO, |sum, hop| sum + hop.delay + hop.latency);
    let mut behind = hops.iter().fold(Span::ZERO, |sum, hop| sum + time(hop, rest));
    if frames == 1 {
        return delays + behind;
    }
    let (mut before, mut longest, mut most) = (Span::ZERO, Span::ZERO, Span::ZERO);
    for hop in hops {
        let full = time(hop, frame);
        before = before + full;
        longest = longest.max(full);
        let queued = Span::from_ps(longest.ps().saturating_mul(frames - 2));
        most = most.max(before + queued + behind);
        behind = behind - time(hop, rest);
    }
    delays + most
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hop(gbps: u64, delay_us: u64) -> Hop {
        let delay = Span::from_us(delay_us);
        Hop { rate: BitRate::gbps(gbps), delay, latency: Span::ZERO, overhead: Bytes::ZERO }
    }

    #[test]
    fn worked_by_hand() {
        let (frame, hops) = (Bytes::new(1500), [hop(10, 1), hop(10, 1)]);
        // One frame of 1000 B: 0.8 us on each link, 2 us of delay.
        assert_eq!(ideal_completion(Bytes::new(1000), frame, &hops), Span::from_ns(3600));
        // Three frames of 1.2 us: 3 on the first link, the last on the second.
        assert_eq!(ideal_completion(Bytes::new(4500), frame, &hops), Span::from_ns(2000 + 4 * 1200));
        // The second link is slower: one frame of 1.2 us, then 3 of 12 us.
        let slow = [hop(10, 1), hop(1, 1)];
        assert_eq!(ideal_completion(Bytes::new(4500), frame, &slow), Span::from_ns(2000 + 1200 + 3 * 12_000));
        // 1500 B and 500 B over equal links: the last waits for the full one on each: 1.2 + 1.2 + 0.4 us.
        assert_eq!(ideal_completion(Bytes::new(2000), frame, &hops), Span::from_ns(2000 + 2800));
        // Then over a faster link: 1.2 + 0.4 us on the first, 40 ns on the second, which is free again by then.
        let fast = [hop(10, 1), hop(100, 1)];
        assert_eq!(ideal_completion(Bytes::new(2000), frame, &fast), Span::from_ns(2000 + 1600 + 40));
    }

    /// Three frames of 1500 B over links of 10 and 1 Gb/s, 1 us each. There and back 4 us; a full frame takes 1.2 and
    /// 12 us; 4500 B at 1 Gb/s 36 us: 53.2 us. The flow alone takes 2 + 1.2 + 36 = 39.2 us.
    #[test]
    fn the_base_of_the_field_by_hand() {
        let alone = Alone::new(Bytes::new(4500), Bytes::new(1500), &[hop(10, 1), hop(1, 1)]);
        assert_eq!(alone.standalone, Span::from_ns(53_200));
        assert_eq!(alone.ideal, Span::from_ns(39_200));
        // Latency of 500 ns counts there and back, overhead of 20 B does not: 2 + 1 + 1.2 + 1.2 us.
        let with = Hop { overhead: Bytes::new(20), latency: Span::from_ns(500), ..hop(10, 1) };
        let standalone = standalone_completion(Bytes::new(1500), Bytes::new(1500), &[with]);
        assert_eq!(standalone, Span::from_ns(2000 + 1000 + 1200 + 1200));
    }

    #[test]
    fn overhead_and_latency_count() {
        let with = |hop: Hop| Hop { overhead: Bytes::new(20), latency: Span::from_ns(500), ..hop };
        // Two frames of 1520 B at 10 Gb/s take 1.216 us each.
        let completion = ideal_completion(Bytes::new(3000), Bytes::new(1500), &[with(hop(10, 1))]);
        assert_eq!(completion, Span::from_ns(1000 + 500 + 2 * 1216));
        assert_eq!(ideal_completion(Bytes::ZERO, Bytes::new(1500), &[hop(10, 1)]), Span::ZERO);
    }

    /// Sends every frame over every link.
    fn played(size: u64, frame: u64, hops: &[Hop]) -> Span {
        let mut free = vec![Span::ZERO; hops.len()];
        let mut left = size;
        while left > 0 {
            let octets = Bytes::new(left.min(frame));
            left -= octets.get();
            let mut at = Span::ZERO;
            for (hop, free) in hops.iter().zip(&mut free) {
                *free = at.max(*free) + hop.rate.time_for_rounded_up(octets + hop.overhead);
                at = *free + hop.delay + hop.latency;
            }
            if left == 0 {
                return at;
            }
        }
        Span::ZERO
    }

    proptest! {
        #[test]
        fn the_formula_is_what_frames_do(
            size in 0..60_000u64,
            frame in 64..9000u64,
            hops in prop::collection::vec((1..400u64, 0..50u64, 0..30u64, 0..900u64), 1..7),
        ) {
            let hop = |(rate, delay, overhead, latency): &(u64, u64, u64, u64)| Hop {
                rate: BitRate::mbps(rate * 250),
                delay: Span::from_us(*delay),
                latency: Span::from_ns(*latency),
                overhead: Bytes::new(*overhead),
            };
            let hops: Vec<Hop> = hops.iter().map(hop).collect();
            let completion = ideal_completion(Bytes::new(size), Bytes::new(frame), &hops);
            prop_assert_eq!(completion, played(size, frame, &hops));
        }
    }
}
