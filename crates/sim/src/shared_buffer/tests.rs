//! Thresholds, headroom and conservation of a shared buffer, worked by hand.

use super::*;
use crate::frame::Parts;
use crate::ids::{Id, PathId};
use proptest::prelude::*;

/// Two inputs of one class in use, without reserve; alpha two to the power of `exponent`.
fn plan(shared: u64, exponent: i8) -> SharedBufferPlan {
    let input = |port| SharedInputPlan {
        port: PortId::new(port),
        headroom: Bytes::new(3000),
        alpha: Some(Alpha::two_to(exponent)),
    };
    SharedBufferPlan {
        shared: Bytes::new(shared),
        reserve: Bytes::ZERO,
        headroom_pool: None,
        cell: Bytes::new(1),
        xon: Bytes::ZERO,
        xon_offset: Bytes::ZERO,
        inputs: vec![input(0), input(1)],
        queues: Vec::new(),
    }
}

fn buffer(plan: &SharedBufferPlan) -> SharedBuffer {
    SharedBuffer::new(plan, &[0, 1].map(PortId::new))
}

fn input(number: u32) -> InputSlot {
    InputSlot::new(number)
}

/// Ports 0, 1 and 2 become 30, 10 and 20; port 3 is left out. What each has stays with it.
#[test]
fn a_port_keeps_what_it_has_under_another_number() {
    let own = |port: u32| (Bytes::new(1000 + u64::from(port)), Alpha::two_to(port as i8));
    let input = |port| SharedInputPlan { port, headroom: own(port).0, alpha: Some(own(port).1) };
    let queue = |port| SharedQueuePlan { port, alpha: own(port).1 };
    let ports = PortId::new;
    let sizes = SharedBufferPlan {
        reserve: Bytes::new(2),
        headroom_pool: Some(Bytes::new(3)),
        cell: Bytes::new(4),
        xon: Bytes::new(5),
        xon_offset: Bytes::new(6),
        inputs: Vec::new(),
        ..plan(1, 0)
    };
    let mut old: SharedBufferPlan<u32> = sizes.renumbered(|_| None);
    old.inputs = [2, 3, 0, 1].map(input).into();
    old.queues = [1, 0, 3, 2].map(queue).into();
    let new = old.renumbered(|port| [30, 10, 20].get(port as usize).copied().map(ports));
    let now =
        |port: u32, was: u32| SharedInputPlan { port: ports(port), headroom: own(was).0, alpha: Some(own(was).1) };
    let queue_now = |port: u32, was: u32| SharedQueuePlan { port: ports(port), alpha: own(was).1 };
    let inputs = vec![now(20, 2), now(30, 0), now(10, 1)];
    assert_eq!(
        new,
        SharedBufferPlan { inputs, queues: vec![queue_now(10, 1), queue_now(30, 0), queue_now(20, 2)], ..sizes }
    );
}

/// Admits frames of `size` octets to the groups of class 3 of some inputs in turn, until each has been refused; returns
/// what each holds.
fn fill(buffer: &mut SharedBuffer, inputs: &[u32], size: u64) -> Vec<u64> {
    while inputs.iter().filter(|number| buffer.admit(input(**number), 3, size, false, None)).count() > 0 {}
    inputs.iter().map(|number| buffer.held(input(*number), 3)).collect()
}

/// Of 90 000 free octets an eighth is 11 250. With 8000 in use 82 000 are free: 10 250.
#[test]
fn the_threshold_is_alpha_of_what_is_free() {
    let mut buffer = buffer(&plan(90_000, -3));
    assert_eq!(buffer.threshold(input(0), 0), 11_250);
    assert!(buffer.admit(input(1), 3, 8000, false, None));
    assert_eq!(buffer.threshold(input(0), buffer.shared_used), 10_250);
    assert_eq!((Alpha::two_to(-8).of(1024), Alpha::two_to(7).of(10)), (4, 1280));
}

/// One greedy group alone ends at B alpha / (1 + alpha): 90 000 / 9 = 10 000. Frames of 100 octets are admitted while the
/// group keeps to the threshold before them: at 9900 octets it is (90 000 - 9900) / 8 = 10 012, at 10 000 it is 10 000.
#[test]
fn one_group_settles_where_it_equals_its_threshold() {
    assert_eq!(fill(&mut buffer(&plan(90_000, -3)), &[0], 100), [10_000]);
    // Alpha 1 takes half: 45 000.
    assert_eq!(fill(&mut buffer(&plan(90_000, 0)), &[0], 100), [45_000]);
}

/// What the reserve holds does not count against the threshold: of 1500 octets 500 go into the reserve, and the other 1000
/// are the threshold, alpha 1 of 1000.
#[test]
fn the_threshold_is_for_what_the_reserve_does_not_hold() {
    let plan = SharedBufferPlan { reserve: Bytes::new(500), ..plan(1000, 0) };
    assert!(!buffer(&plan).admit(input(0), 3, 1501, false, None));
    let mut buffer = buffer(&plan);
    assert!(buffer.admit(input(0), 3, 1500, false, None));
    assert_eq!(buffer.inputs[input(0)].groups[3], GroupUse { reserve: 500, shared: 1000, headroom: 0 });
}

/// Two of them share: each at B alpha / (1 + 2 alpha), 90 000 / 10 = 9000 with an eighth, 30 000 with 1.
#[test]
fn two_groups_share() {
    assert_eq!(fill(&mut buffer(&plan(90_000, -3)), &[0, 1], 100), [9000, 9000]);
    assert_eq!(fill(&mut buffer(&plan(90_000, 0)), &[0, 1], 100), [30_000, 30_000]);
}

/// The queue of a lossy class has a threshold too: alpha 1/4 of 90 000 is 22 500 for a queue; with 20 000 in the shared
/// part it is 17 500.
#[test]
fn a_queue_has_a_threshold_of_its_own() {
    let mut buffer = buffer(&SharedBufferPlan { shared: Bytes::new(90_000), ..plan(0, 0) });
    let queue = |len| Some(QueueLimit { alpha: Alpha::two_to(-2), len });
    assert!(
        buffer.admit(input(0), 3, 10_000, false, queue(12_500))
            && !buffer.admit(input(0), 3, 10_001, false, queue(12_500))
    );
    assert!(buffer.admit(input(0), 3, 10_000, false, queue(0)));
    assert!(
        !buffer.admit(input(0), 3, 1000, false, queue(16_501)) && buffer.admit(input(0), 3, 1000, false, queue(16_500))
    );
}

/// XOFF at the threshold, headroom for what still comes, a drop when it is full; XON when the headroom is empty and the
/// group is `xon_offset` below its threshold.
#[test]
fn headroom_takes_what_comes_after_xoff() {
    let mut buffer = buffer(&SharedBufferPlan { xon_offset: Bytes::new(3000), ..plan(90_000, -3) });
    while !buffer.xoff_due(input(0), 3) {
        assert!(buffer.admit(input(0), 3, 1000, true, None));
    }
    // At 10 000 the threshold is 80 000 / 8 = 10 000: reached.
    assert_eq!(buffer.inputs[input(0)].groups[3], GroupUse { reserve: 0, shared: 10_000, headroom: 0 });
    assert!((0..3).all(|_| buffer.admit(input(0), 3, 1000, true, None)), "3000 octets of headroom");
    assert!(!buffer.admit(input(0), 3, 1000, true, None), "and no more");
    assert_eq!(buffer.inputs[input(0)].groups[3], GroupUse { reserve: 0, shared: 10_000, headroom: 3000 });
    // Out of the headroom first. At 7000 the threshold is 83 000 / 8 = 10 375, less 3000 is 7375; at 8000 it is 10 250.
    let mut left = 0;
    while !buffer.xon_due(input(0), 3) {
        buffer.release(input(0), 3, 1000);
        left += 1;
    }
    assert_eq!((left, buffer.held(input(0), 3)), (6, 7000));
}

/// A group that another one has squeezed keeps what it has, and resumes at `xon` though its threshold is lower.
#[test]
fn xon_has_a_floor() {
    let mut buffer = buffer(&SharedBufferPlan { xon: Bytes::new(2000), xon_offset: Bytes::new(3000), ..plan(9000, 0) });
    assert!(buffer.admit(input(0), 3, 4000, true, None) && buffer.admit(input(1), 3, 2500, true, None));
    // 2500 are free.
    assert!(buffer.xoff_due(input(0), 3) && !buffer.xon_due(input(0), 3));
    buffer.release(input(0), 3, 2000);
    // 4500 are free, less 3000 are 1500: below the floor.
    assert!(buffer.xon_due(input(0), 3));
}

/// 1500 octets of reserve are used first; the frame that crosses them is split. 1000 + 1000: 1500 and 500.
#[test]
fn reserve_comes_first_and_goes_last() {
    let mut buffer = buffer(&SharedBufferPlan { reserve: Bytes::new(1500), ..plan(90_000, -3) });
    assert!(buffer.admit(input(0), 3, 1000, true, None) && buffer.admit(input(0), 3, 1000, true, None));
    assert_eq!(buffer.inputs[input(0)].groups[3], GroupUse { reserve: 1500, shared: 500, headroom: 0 });
    buffer.release(input(0), 3, 1000);
    assert_eq!(buffer.inputs[input(0)].groups[3], GroupUse { reserve: 1000, shared: 0, headroom: 0 });
}

/// Each may use 3000 octets of headroom, both together 4000.
#[test]
fn headroom_may_be_shared() {
    let mut buffer = buffer(&SharedBufferPlan { headroom_pool: Some(Bytes::new(4000)), ..plan(0, 0) });
    assert!((0..3).all(|_| buffer.admit(input(0), 3, 1000, true, None)));
    assert!(buffer.admit(input(1), 3, 1000, true, None) && !buffer.admit(input(1), 3, 1000, true, None));
}

/// 64 octets take a cell of 208, 209 take two: 208 and 416.
#[test]
fn frames_take_whole_cells() {
    let mut buffer = buffer(&SharedBufferPlan { cell: Bytes::new(208), ..plan(90_000, 0) });
    assert!(buffer.admit(input(0), 3, 64, false, None) && buffer.admit(input(0), 3, 209, false, None));
    assert_eq!(buffer.used(), 624);
    buffer.release(input(0), 3, 209);
    assert_eq!(buffer.used(), 208);
}

/// Frames of 64 octets in cells of 208: four in a queue take 832 of the 1040 that a quarter of 4160 is, a fifth all of it.
#[test]
fn the_threshold_of_a_queue_counts_cells() {
    let mut buffer = buffer(&SharedBufferPlan { cell: Bytes::new(208), shared: Bytes::new(4160), ..plan(90_000, 0) });
    let parts = Parts { path: PathId::new(0), tag: 0, size: 64, limited_by: 0, hop: 0, class: 3, flags: 0 };
    let frames = [Frame::new(parts); 5];
    let queue = |n: usize| Some(QueueLimit { alpha: Alpha::two_to(-2), len: buffer.take(320, frames[..n].iter()) });
    let (four, five) = (queue(4), queue(5));
    assert!(!buffer.admit(input(0), 3, 64, false, five) && buffer.admit(input(0), 3, 64, false, four));
}

/// Held 5000 and 4000 octets that can never leave, of 9000: nothing is free, so neither comes down to its threshold. With
/// 1000 and 1000, 7000 are free. With 4000 and 1000, 4000 are: the first comes down to its threshold, with one octet more not.
#[test]
fn what_can_never_leave_keeps_a_group_paused() {
    let buffer = buffer(&plan(9000, 0));
    let held = |a, b| IdVec::from([a, b].map(|octets| [0, 0, 0, octets, 0, 0, 0, 0]).to_vec());
    assert!(buffer.stays_paused(&held(5000, 4000), input(0), 3));
    assert!(!buffer.stays_paused(&held(1000, 1000), input(0), 3));
    assert_eq!([4000, 4001].map(|first| buffer.stays_paused(&held(first, 1000), input(0), 3)), [false, true]);
}

/// One greedy group is at its threshold with 10 000 of 90 000 octets, so 9999 are sure to stay below it. With 8000 in use
/// x more of the same group: 8000 + x below (82 000 - x) / 8, so x up to 1999; of the other group 9110, which is more. Of
/// alpha 2, x below 2 (90 000 - x): 59 999.
#[test]
fn there_is_room_up_to_the_first_threshold() {
    let mut buffer = buffer(&plan(90_000, -3));
    assert_eq!(buffer.room([].into_iter()), 9999);
    assert!(buffer.admit_safe(input(1), 3, 8000, None));
    assert_eq!(buffer.room([].into_iter()), 1999);
    assert!(
        buffer.admit_safe(input(1), 3, 1999, None)
            && !buffer.admit_safe(input(1), 3, 1, None)
            && !buffer.xoff_due(input(1), 3)
    );
    // 3000 more would be 12 999, above a threshold of 80 001 / 8 = 10 000: they go into the headroom.
    assert!(buffer.admit(input(1), 3, 3000, true, None));
    assert_eq!(buffer.headroom_used, 3000);
    buffer.reset_count();
    assert_eq!(buffer.used(), 0);
    assert_eq!(super::SharedBuffer::new(&plan(90_000, 1), &[0, 1].map(PortId::new)).room([].into_iter()), 59_999);
    // A queue that holds 20 000 and may hold a quarter: 20 000 + x below (90 000 - x) / 4, 1999.
    let queue = QueueLimit { alpha: Alpha::two_to(-2), len: 20_000 };
    assert_eq!(buffer.room([queue].into_iter()), 1999);
    assert_eq!(
        super::SharedBuffer::new(
            &SharedBufferPlan { cell: Bytes::new(80), ..plan(90_000, 0) },
            &[0, 1].map(PortId::new)
        )
        .room([].into_iter()),
        0
    );
}

/// Alpha 1/4 of 90 000 is 22 500 for a queue: with 12 500 in it 10 000 more fit, and not 10 001.
#[test]
fn a_safe_frame_fits_its_queue() {
    let queue = Some(QueueLimit { alpha: Alpha::two_to(-2), len: 12_500 });
    assert!(!buffer(&plan(90_000, 0)).admit_safe(input(0), 3, 10_001, queue));
    assert!(buffer(&plan(90_000, 0)).admit_safe(input(0), 3, 10_000, queue));
}

/// Two groups with 2000 octets each leave 2000 of 6000 free, so that the next 1000 of the first go to its headroom. The second
/// frees all: the first is below its threshold again, but what comes to it is not safe before its headroom is empty.
#[test]
fn a_group_with_headroom_in_use_is_not_safe() {
    let mut buffer = buffer(&plan(6000, 0));
    assert!(buffer.admit(input(1), 3, 2000, true, None) && buffer.admit(input(0), 3, 2000, true, None));
    // 2000 are free.
    assert!(buffer.admit(input(0), 3, 1000, true, None));
    assert_eq!(buffer.inputs[input(0)].groups[3], GroupUse { reserve: 0, shared: 2000, headroom: 1000 });
    buffer.release(input(1), 3, 2000);
    // 4000 are free: 2000 + 500 are below 3500.
    assert!(!buffer.admit_safe(input(0), 3, 500, None));
    buffer.release(input(0), 3, 1000);
    assert!(buffer.admit_safe(input(0), 3, 500, None));
}

/// An input without alpha may use all that is free, 9000 octets, and not one more.
#[test]
fn without_a_threshold_all_that_is_free_is_safe() {
    let mut plan = plan(9000, 0);
    plan.inputs[0].alpha = None;
    assert!(!buffer(&plan).admit_safe(input(0), 3, 9001, None));
    assert!(buffer(&plan).admit_safe(input(0), 3, 9000, None));
}

/// A group has taken all of the shared part, so that thresholds are 0. A group that holds nothing is not paused by that.
#[test]
fn a_group_that_holds_nothing_is_not_due_xoff() {
    let mut plan = plan(9000, 0);
    plan.inputs[0].alpha = None;
    let mut buffer = buffer(&plan);
    assert!(buffer.admit(input(0), 3, 9000, true, None));
    assert_eq!(buffer.threshold(input(1), buffer.shared_used), 0);
    assert!(!buffer.xoff_due(input(1), 3));
}

/// A group uses 1000 octets that are not counted as in use.
#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "what groups use is what is in use")]
fn what_is_in_use_is_checked() {
    let mut buffer = buffer(&plan(9000, 0));
    buffer.inputs[input(0)].groups[3].shared = 1000;
    buffer.admit(input(0), 3, 64, false, None);
}

proptest! {
    /// However the octets that there is room for are spread over the groups, all are admitted and none is at its
    /// threshold; and a count from nothing gives what admitting gave.
    #[test]
    fn room_reaches_no_threshold(
        before in prop::collection::vec(((0u32..2).prop_map(input), 0u8..8, 64u64..9000), 0..20),
        shares in prop::collection::vec(((0u32..2).prop_map(input), 0u8..8, 1u64..5000), 1..200),
        reserve in 0u64..4000,
        exponent in -8i8..8,
    ) {
        let plan = SharedBufferPlan { reserve: Bytes::new(reserve), ..plan(200_000, exponent) };
        let mut held = buffer(&plan);
        let mut inside: Vec<_> =
            before.into_iter().filter(|(input, group, size)| held.admit_safe(*input, *group, *size, None)).collect();
        let mut room = held.room([].into_iter());
        for (input, group, size) in shares {
            let size = size.min(room);
            room -= size;
            if size == 0 {
                break;
            }
            prop_assert!(held.admit(input, group, size, false, None) && !held.xoff_due(input, group));
            inside.push((input, group, size));
        }
        let mut counted = buffer(&plan);
        inside.iter().for_each(|(input, group, size)| counted.count(*input, *group, *size));
        prop_assert_eq!(counted.used(), held.used());
        prop_assert!(counted.inputs.iter().zip(&held.inputs).all(|(one, other)| one.groups == other.groups));
    }

    /// Whatever comes and goes, each frame frees what it took, the shared part is never overdrawn, and an empty buffer
    /// has everything back.
    #[test]
    fn what_is_taken_is_given_back(
        steps in prop::collection::vec(((0u32..2).prop_map(input), 0u8..8, 64u64..9000, any::<bool>()), 1..400),
        reserve in 0u64..4000,
        cell in 1u64..300,
        exponent in -8i8..8,
    ) {
        let mut buffer = buffer(&SharedBufferPlan {
            reserve: Bytes::new(reserve),
            cell: Bytes::new(cell),
            headroom_pool: Some(Bytes::new(20_000)),
            ..plan(200_000, exponent)
        });
        let mut inside = Vec::new();
        for (input, group, size, enters) in steps {
            if enters || inside.is_empty() {
                if buffer.admit(input, group, size, group > 3, None) {
                    inside.push((input, group, size));
                }
            } else {
                let (input, group, size) = inside.swap_remove(size as usize % inside.len());
                buffer.release(input, group, size);
            }
            let sum: u64 = inside.iter().map(|(_, _, size)| buffer.takes(*size)).sum();
            prop_assert_eq!((buffer.used(), buffer.recounted()), (sum, sum));
            prop_assert!(buffer.shared_used <= 200_000 && buffer.headroom_used <= 20_000);
        }
        for (input, group, size) in inside {
            buffer.release(input, group, size);
        }
        prop_assert_eq!(buffer.used(), 0);
    }
}
