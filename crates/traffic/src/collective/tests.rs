//! Schedules worked by hand, and what holds for all of them.

use super::*;
use std::collections::BTreeSet;

fn collective(operation: Operation, algorithm: Algorithm, ranks: u32, octets: u64) -> Collective {
    Collective { operation, algorithm, ranks, octets, channels: 1, chunks: 1, rounds: 1, skew: 0.0, microbatches: 1 }
}

/// Each message as sender, receiver, first and last octet, step, and what it waits for.
type Row = (u32, u32, u64, u64, u32, Vec<u32>);

fn rows(collective: &Collective) -> Vec<Row> {
    let messages = collective.messages().expect("it has a schedule");
    let numbers = |after: Vec<MessageId>| after.into_iter().map(MessageId::number).collect();
    let one =
        |m: CollectiveMessage| (m.from.number(), m.to.number(), m.part.start, m.part.end, m.step, numbers(m.after));
    messages.into_iter().map(one).collect()
}

/// What ranks know of each octet: whose contributions are in it, a bit each.
struct Knowledge {
    edges: Vec<u64>,
    /// By rank, then by stretch of octets.
    of_rank: IdVec<RankId, Vec<u64>>,
}

/// Carries data along the messages. A message has what its rank begins with and what came in messages that it waits for,
/// directly or through others: nothing that happens to be there in time. What comes is added to what is there, or takes its
/// place if it has all of that.
fn carried(collective: &Collective, own: impl Fn(u32, u64) -> u64) -> Knowledge {
    let messages = collective.messages().expect("it has a schedule");
    let edges: BTreeSet<u64> =
        messages.iter().flat_map(|m| [m.part.start, m.part.end]).chain([0, collective.octets]).collect();
    let edges: Vec<u64> = edges.into_iter().collect();
    let stretches = || 0..edges.len() - 1;
    let start = |rank: RankId| stretches().map(|stretch| own(rank.number(), edges[stretch])).collect::<Vec<u64>>();
    let mut of_rank: IdVec<RankId, Vec<u64>> = collective.all_ranks().map(start).collect();
    let mut past: IdVec<MessageId, BTreeSet<MessageId>> = IdVec::new();
    let mut holds: IdVec<MessageId, Vec<u64>> = IdVec::new();
    for (number, message) in messages.enumerate() {
        let mut before = BTreeSet::new();
        for other in message.after.iter().copied() {
            let end = &messages[other];
            assert!(other < number, "message {number:?} waits for a later one");
            assert!(
                end.to == message.from || end.from == message.from,
                "{number:?} waits for {other:?}, unheard at its rank"
            );
            before.extend(past[other].iter().copied().chain([other]));
        }
        let mut held = start(message.from);
        for other in before.iter().filter(|other| messages[**other].to == message.from) {
            stretches().for_each(|stretch| held[stretch] |= holds[*other][stretch]);
        }
        for stretch in stretches() {
            let inside = message.part.start <= edges[stretch] && edges[stretch] < message.part.end;
            held[stretch] = if inside { held[stretch] } else { 0 };
            let there = &mut of_rank[message.to][stretch];
            assert!(
                *there & held[stretch] == 0 || *there & !held[stretch] == 0,
                "{number:?} counts a contribution twice"
            );
            *there |= held[stretch];
        }
        past.push(before);
        holds.push(held);
    }
    Knowledge { edges, of_rank }
}

fn part_of(octet: u64, octets: u64, ranks: u32) -> u32 {
    (0..ranks).find(|rank| part(&(0..octets), u64::from(*rank), ranks.into()).contains(&octet)).expect("in a part")
}

/// Sizes that divide evenly and that do not; one chunk and several, over one channel and several.
fn variants(operation: Operation, algorithm: Algorithm) -> Vec<Collective> {
    let mut all = Vec::new();
    for ranks in [2, 3, 4, 5, 8] {
        for (octets, channels, chunks) in [(960, 1, 1), (1001, 1, 1), (997, 3, 1), (961, 1, 4), (1003, 2, 3)] {
            let one = Collective { channels, chunks, ..collective(operation, algorithm, ranks, octets) };
            if algorithm != Algorithm::HalvingDoubling || ranks.is_power_of_two() {
                all.push(one);
            }
        }
    }
    all
}

#[test]
fn after_an_all_reduce_all_ranks_have_all_sums() {
    for algorithm in [Algorithm::Ring, Algorithm::HalvingDoubling] {
        for one in variants(Operation::AllReduce, algorithm) {
            let known = carried(&one, |rank, _| 1 << rank);
            let all = (1 << one.ranks) - 1;
            assert!(known.of_rank.iter().flatten().all(|holds| *holds == all), "{one:?}");
        }
    }
}

/// With channels a rank's part is one of each channel's share.
#[test]
fn after_a_reduce_scatter_each_rank_has_its_part_of_the_sums() {
    for algorithm in [Algorithm::Ring, Algorithm::HalvingDoubling] {
        for one in variants(Operation::ReduceScatter, algorithm).into_iter().filter(|one| one.channels == 1) {
            let known = carried(&one, |rank, _| 1 << rank);
            for (rank, holds) in (0..).zip(&known.of_rank) {
                for (stretch, holds) in holds.iter().enumerate() {
                    if part_of(known.edges[stretch], one.octets, one.ranks) == rank {
                        assert_eq!(*holds, (1 << one.ranks) - 1, "{one:?}, rank {rank}");
                    }
                }
            }
        }
    }
}

#[test]
fn after_an_all_gather_each_rank_has_all_parts() {
    for algorithm in [Algorithm::Ring, Algorithm::HalvingDoubling] {
        for one in variants(Operation::AllGather, algorithm).into_iter().filter(|one| one.channels == 1) {
            let owner = |octet| part_of(octet, one.octets, one.ranks);
            let known = carried(&one, |rank, octet| u64::from(owner(octet) == rank) << rank);
            for holds in &known.of_rank {
                for (stretch, holds) in holds.iter().enumerate() {
                    assert_eq!(*holds, 1 << owner(known.edges[stretch]), "{one:?}");
                }
            }
        }
    }
}

#[test]
fn after_a_broadcast_all_ranks_have_what_rank_0_had() {
    for algorithm in [Algorithm::Tree, Algorithm::Ring] {
        for one in variants(Operation::Broadcast, algorithm) {
            let known = carried(&one, |rank, _| u64::from(rank == 0));
            assert!(known.of_rank.iter().flatten().all(|holds| *holds == 1), "{one:?}");
            let sent: u64 = one.messages().unwrap().iter().map(|m| m.part.end - m.part.start).sum();
            assert_eq!(sent, u64::from(one.ranks - 1) * one.octets, "{one:?}");
        }
    }
}

/// Every rank sends each other one its part once, in pieces that leave no gap.
#[test]
fn an_all_to_all_sends_each_part_once() {
    for algorithm in [Algorithm::Direct, Algorithm::Shift, Algorithm::SynchronisedShift] {
        for one in variants(Operation::AllToAll, algorithm).into_iter().filter(|one| one.channels == 1) {
            let messages = one.messages().unwrap();
            for (from, to) in (0..one.ranks).flat_map(|from| (0..one.ranks).map(move |to| (from, to))) {
                let sent =
                    messages.iter().filter(|m| (m.from.number(), m.to.number()) == (from, to)).map(|m| m.part.clone());
                let mut at = part(&(0..one.octets), to.into(), one.ranks.into()).start;
                for piece in sent {
                    assert_eq!(piece.start, at, "{one:?}");
                    at = piece.end;
                }
                let end = part(&(0..one.octets), to.into(), one.ranks.into()).end;
                assert!(from == to || at == end, "{one:?}");
            }
        }
    }
}

/// Where the size divides evenly each rank sends what the closed form says.
#[test]
fn ranks_send_what_the_closed_forms_say() {
    use Operation::{AllGather, AllReduce, AllToAll, ReduceScatter};
    for operation in [AllReduce, ReduceScatter, AllGather, AllToAll] {
        for algorithm in operation.algorithms() {
            for (ranks, channels, chunks) in [(2, 1, 1), (3, 2, 1), (4, 1, 5), (8, 3, 2)] {
                if *algorithm == Algorithm::HalvingDoubling && ranks == 3 {
                    continue;
                }
                let one = Collective { channels, chunks, ..collective(operation, *algorithm, ranks, 2400) };
                let mut sent = one.by_rank(0);
                one.messages().unwrap().iter().for_each(|m| sent[m.from] += m.part.end - m.part.start);
                let expected = one.octets_sent().unwrap();
                assert!(sent.iter().all(|octets| *octets as f64 == expected), "{one:?}: {sent:?}, not {expected}");
            }
        }
    }
}

/// Three ranks and 10 octets: parts 0 to 3, 3 to 6, 6 to 10. Step 0: rank 0 sends part 0, rank 1 part 1, rank 2 part 2; then each
/// sends what came. After two steps rank 1 has all of part 2, and hands it on.
#[test]
fn a_ring_of_three_by_hand() {
    let expected: Vec<Row> = vec![
        (0, 1, 0, 3, 0, vec![]),
        (1, 2, 3, 6, 0, vec![]),
        (2, 0, 6, 10, 0, vec![]),
        (0, 1, 6, 10, 1, vec![2]),
        (1, 2, 0, 3, 1, vec![0]),
        (2, 0, 3, 6, 1, vec![1]),
        (0, 1, 3, 6, 2, vec![5]),
        (1, 2, 6, 10, 2, vec![3]),
        (2, 0, 0, 3, 2, vec![4]),
        (0, 1, 0, 3, 3, vec![8]),
        (1, 2, 3, 6, 3, vec![6]),
        (2, 0, 6, 10, 3, vec![7]),
    ];
    assert_eq!(rows(&collective(Operation::AllReduce, Algorithm::Ring, 3, 10)), expected);
    // The two steps of a reduce-scatter, one part earlier: rank 0 ends with part 0.
    let expected: Vec<Row> = vec![
        (0, 1, 6, 10, 0, vec![]),
        (1, 2, 0, 3, 0, vec![]),
        (2, 0, 3, 6, 0, vec![]),
        (0, 1, 3, 6, 1, vec![2]),
        (1, 2, 6, 10, 1, vec![0]),
        (2, 0, 0, 3, 1, vec![1]),
    ];
    assert_eq!(rows(&collective(Operation::ReduceScatter, Algorithm::Ring, 3, 10)), expected);
}

/// Four ranks and 8 octets. Halving: 0 and 2, 1 and 3 exchange halves, then neighbours quarters; doubling the other way round.
#[test]
fn halving_and_doubling_of_four_by_hand() {
    let expected: Vec<Row> = vec![
        (0, 2, 4, 8, 0, vec![]),
        (1, 3, 4, 8, 0, vec![]),
        (2, 0, 0, 4, 0, vec![]),
        (3, 1, 0, 4, 0, vec![]),
        (0, 1, 2, 4, 1, vec![2]),
        (1, 0, 0, 2, 1, vec![3]),
        (2, 3, 6, 8, 1, vec![0]),
        (3, 2, 4, 6, 1, vec![1]),
        (0, 1, 0, 2, 2, vec![2, 5]),
        (1, 0, 2, 4, 2, vec![3, 4]),
        (2, 3, 4, 6, 2, vec![0, 7]),
        (3, 2, 6, 8, 2, vec![1, 6]),
        (0, 2, 0, 4, 3, vec![2, 5, 9]),
        (1, 3, 0, 4, 3, vec![3, 4, 8]),
        (2, 0, 4, 8, 3, vec![0, 7, 11]),
        (3, 1, 4, 8, 3, vec![1, 6, 10]),
    ];
    assert_eq!(rows(&collective(Operation::AllReduce, Algorithm::HalvingDoubling, 4, 8)), expected);
}

/// Five ranks: 0 to 1; 0 to 2 and 1 to 3; 0 to 4. Rank 0 goes on when what it sent is acknowledged.
#[test]
fn trees_and_rings_of_a_broadcast_by_hand() {
    let expected: Vec<Row> =
        vec![(0, 1, 0, 9, 0, vec![]), (0, 2, 0, 9, 1, vec![0]), (1, 3, 0, 9, 1, vec![0]), (0, 4, 0, 9, 2, vec![1])];
    assert_eq!(rows(&collective(Operation::Broadcast, Algorithm::Tree, 5, 9)), expected);
    // Two chunks along a line of three: the second leaves when the first is acknowledged, and is passed on when it came.
    let expected: Vec<Row> =
        vec![(0, 1, 0, 4, 0, vec![]), (0, 1, 4, 9, 0, vec![0]), (1, 2, 0, 4, 1, vec![0]), (1, 2, 4, 9, 1, vec![1, 2])];
    let line = Collective { chunks: 2, ..collective(Operation::Broadcast, Algorithm::Ring, 3, 9) };
    assert_eq!(rows(&line), expected);
}

#[test]
fn shifts_by_hand() {
    let sent = |algorithm| rows(&collective(Operation::AllToAll, algorithm, 3, 9));
    let first = vec![(0, 1, 3, 6, 0, vec![]), (1, 2, 6, 9, 0, vec![]), (2, 0, 0, 3, 0, vec![])];
    let second = |waits: [Vec<u32>; 3], step| {
        let [a, b, c] = waits;
        vec![(0, 2, 6, 9, step, a), (1, 0, 0, 3, step, b), (2, 1, 3, 6, step, c)]
    };
    assert_eq!(sent(Algorithm::Direct), [first.clone(), second([vec![], vec![], vec![]], 0)].concat());
    assert_eq!(sent(Algorithm::Shift), [first.clone(), second([vec![0], vec![1], vec![2]], 1)].concat());
    assert_eq!(sent(Algorithm::SynchronisedShift), [first, second([vec![0, 2], vec![0, 1], vec![1, 2]], 1)].concat());
}

/// Chances 1, 1/4 and 1/9 of 49/36: of 490 octets 360, 90 and 40. Rank 0 keeps its 360. An expert sends back what came, once all
/// has come.
#[test]
fn tokens_go_to_experts_by_their_skew_and_come_back() {
    let moe = Collective { skew: 2.0, ..collective(Operation::Moe, Algorithm::Direct, 3, 490) };
    let sizes: Vec<(u32, u32, u64)> =
        moe.messages().unwrap().iter().map(|m| (m.from.number(), m.to.number(), m.part.end - m.part.start)).collect();
    let dispatch = vec![(0, 1, 90), (1, 2, 40), (2, 0, 360), (0, 2, 40), (1, 0, 360), (2, 1, 90)];
    let combine = vec![(0, 1, 360), (1, 2, 90), (2, 0, 40), (0, 2, 360), (1, 0, 90), (2, 1, 40)];
    assert_eq!(sizes, [dispatch, combine].concat());
    let numbers = |m: &CollectiveMessage| m.after.iter().map(|id| id.number()).collect();
    let waits: Vec<Vec<u32>> = moe.messages().unwrap().iter().skip(6).map(numbers).collect();
    assert_eq!(waits, [vec![2, 4], vec![0, 5], vec![1, 3], vec![2, 4], vec![0, 5], vec![1, 3]]);
    let computes: Vec<bool> = moe.messages().unwrap().iter().map(|m| m.computes).collect();
    assert_eq!(computes, [[false; 6], [true; 6]].concat());
    let even = Collective { skew: 0.0, ..moe };
    assert!(even.messages().unwrap().iter().all(|m| (163..=164).contains(&(m.part.end - m.part.start))));
}

/// Three stages and two micro-batches of 10 octets: links 0, 1 forward, 1, 0 back. The second batch enters a link when the first
/// is acknowledged there.
#[test]
fn a_pipeline_by_hand() {
    let pipeline = Collective { microbatches: 2, ..collective(Operation::Pipeline, Algorithm::Stages, 3, 10) };
    let expected: Vec<Row> = vec![
        (0, 1, 0, 10, 0, vec![]),
        (1, 2, 0, 10, 1, vec![0]),
        (2, 1, 0, 10, 2, vec![1]),
        (1, 0, 0, 10, 3, vec![2]),
        (0, 1, 10, 20, 0, vec![0]),
        (1, 2, 10, 20, 1, vec![1, 4]),
        (2, 1, 10, 20, 2, vec![2, 5]),
        (1, 0, 10, 20, 3, vec![3, 6]),
    ];
    assert_eq!(rows(&pipeline), expected);
    assert_eq!(pipeline.counted().0, 40);
}

/// Rank 1 begins the second round when its three messages have come; rank 0 of a broadcast, to which nothing comes, when what it
/// sent is acknowledged. With two chunks the second stands for both. Computation comes before a round but the first, and once
/// for all chunks of a message.
#[test]
fn rounds_follow_one_another_at_each_rank() {
    let two = |one: Collective| Collective { rounds: 2, ..one }.messages().unwrap();
    let all = two(collective(Operation::AllToAll, Algorithm::Direct, 4, 16));
    assert_eq!(all.len(), 24);
    for message in all.iter().skip(12) {
        let mut comes: Vec<MessageId> = all.ids().take(12).filter(|before| all[*before].to == message.from).collect();
        comes.sort_unstable();
        assert_eq!((message.round, message.computes, &message.after), (1, true, &comes));
    }
    // With two channels for the messages of both.
    let both = two(Collective { channels: 2, ..collective(Operation::AllToAll, Algorithm::Direct, 3, 30) });
    assert_eq!(both.len(), 24);
    for message in both.iter().skip(12) {
        let comes: Vec<MessageId> = both.ids().take(12).filter(|before| both[*before].to == message.from).collect();
        assert_eq!((&message.after, comes.len()), (&comes, 4), "channel {}", message.channel);
    }
    let tree = two(Collective { chunks: 2, ..collective(Operation::Broadcast, Algorithm::Tree, 3, 16) });
    let numbers = |m: CollectiveMessage| (m.after.into_iter().map(MessageId::number).collect(), m.computes);
    let waits: Vec<(Vec<u32>, bool)> = tree.into_iter().map(numbers).collect();
    let first = [vec![], vec![0], vec![1], vec![1, 2]].map(|after| (after, false));
    let second = [(vec![1, 3], true), (vec![4], false), (vec![5], false), (vec![5, 6], false)];
    assert_eq!(waits, [first, second].concat());
}

#[test]
fn channels_have_shares_of_their_own() {
    let one = Collective { channels: 2, ..collective(Operation::AllReduce, Algorithm::Ring, 2, 9) };
    let parts: Vec<(u32, Range<u64>)> = one.messages().unwrap().into_iter().map(|m| (m.channel, m.part)).collect();
    let first = [0..2, 2..4, 2..4, 0..2].map(|part| (0, part));
    let second = [4..6, 6..9, 6..9, 4..6].map(|part| (1, part));
    assert_eq!(parts, [first, second].concat());
}

/// The parts of all channels, micro-batches and experts leave no gap and do not overlap: on each link of a pipeline, forward and
/// back, and of what goes to experts and comes from them.
#[test]
fn channels_together_send_each_octet_once() {
    let stages = collective(Operation::Pipeline, Algorithm::Stages, 3, 1001);
    let stages = Collective { microbatches: 3, channels: 2, ..stages };
    let moe = Collective { skew: 1.0, channels: 3, ..collective(Operation::Moe, Algorithm::Direct, 3, 997) };
    for (one, octets, parts, steps) in [(stages, 3 * 1001, 6, 4), (moe, 997, 9, 2)] {
        for step in 0..steps {
            let messages = one.messages().unwrap().into_iter().filter(|message| message.step == step);
            let all: BTreeSet<(u64, u64)> = messages.map(|message| (message.part.start, message.part.end)).collect();
            let mut at = 0;
            for (start, end) in &all {
                assert!(*start == at && start < end, "{one:?}, step {step}: {all:?}");
                at = *end;
            }
            assert_eq!((at, all.len()), (octets, parts), "{one:?}, step {step}");
        }
    }
}

#[test]
fn bandwidths_have_the_fields_factors() {
    let factor = |operation: Operation, ranks| {
        collective(operation, operation.algorithms()[0], ranks, 100).bus_factor().map(|(factor, _)| factor)
    };
    assert_eq!(factor(Operation::AllReduce, 4), Some(1.5));
    assert_eq!(
        [Operation::ReduceScatter, Operation::AllGather, Operation::AllToAll].map(|of| factor(of, 4)),
        [Some(0.75); 3]
    );
    assert_eq!(factor(Operation::Broadcast, 4), Some(1.0));
    assert_eq!([Operation::Moe, Operation::Pipeline].map(|of| factor(of, 4)), [None; 2]);
    assert_eq!(collective(Operation::Moe, Algorithm::Direct, 4, 100).counted().0, 200);
}

#[test]
fn what_has_no_schedule_is_refused() {
    let said = |one: Collective| {
        let error = one.messages().unwrap_err();
        format!("{error}: {}", error.hint())
    };
    let ring = |ranks, octets| collective(Operation::AllReduce, Algorithm::Ring, ranks, octets);
    assert_eq!(
        said(collective(Operation::AllToAll, Algorithm::Ring, 4, 100)),
        "algorithm ring does not carry out all_to_all: use direct or shift or synchronised_shift"
    );
    assert!(said(ring(1, 100)).starts_with("a collective operation takes two ranks or more, and there is 1"));
    assert!(
        said(collective(Operation::AllReduce, Algorithm::HalvingDoubling, 6, 100))
            .starts_with("halving_doubling takes a power of two as the number of ranks, and there are 6")
    );
    assert_eq!(
        said(Collective { channels: 2, chunks: 3, ..ring(4, 23) }),
        "cut into its parts, the size leaves a message without octets: raise size to 24 B or more, or lower channels, chunks or \
         skew"
    );
    assert!(Collective { channels: 2, chunks: 3, ..ring(4, 24) }.messages().is_ok());
    // Chances of 1 and 1/16: of 8 octets 7.5 go to expert 0, rounded to all.
    let skewed = |octets| Collective { skew: 4.0, ..collective(Operation::Moe, Algorithm::Direct, 2, octets) };
    assert!(said(skewed(8)).contains("raise size to 18 B or more"));
    assert!(skewed(18).messages().is_ok());
    assert!(
        said(Collective { rounds: 1_000_000, ..ring(8, 100) })
            .contains("112000000 messages, and a run may have 1000000")
    );
    assert!(said(Collective { rounds: u32::MAX, channels: u32::MAX, ..ring(8, 100) }).contains("messages"));
    let all = Collective { rounds: 2, ..collective(Operation::AllToAll, Algorithm::Direct, 300, 1_000_000) };
    assert!(said(all).contains("wait for 26820300 others in all, and they may for 10000000"));
}
