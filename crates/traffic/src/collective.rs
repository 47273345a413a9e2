//! Collective operations as messages that wait for others: who sends which octets to whom in which step, and after what.
//!
//! A round is one operation among all ranks. Each rank has a buffer of `octets`; where the operation cuts it into parts, the
//! parts differ by one octet at most. A channel is a share of the buffer with messages of its own, beside the other channels.
//! With chunks each message is several, one after the other, so that a rank passes on the first while the next one comes.

use qcnlab_schemes::choice;
use qcnlab_schemes::params::{Param, Value};
use qcnlab_units::{Id, IdVec, ids};
use std::ops::Range;

#[cfg(test)]
mod tests;

ids! {
    /// A rank of a collective operation.
    pub struct RankId;
    /// A message of a collective operation.
    pub struct MessageId;
    /// A message of a channel's round before it is cut into chunks.
    struct WholeId;
}

choice! {
    /// What the ranks do together.
    pub enum Operation {
        /// Each rank gets the sum of all buffers.
        AllReduce = "all_reduce",
        /// Each rank gets its part of the sum of all buffers.
        ReduceScatter = "reduce_scatter",
        /// Each rank begins with its part of a buffer and gets the others.
        AllGather = "all_gather",
        /// All ranks get the buffer of rank 0.
        Broadcast = "broadcast",
        /// Each rank sends each other one a part of its own.
        AllToAll = "all_to_all",
        /// Each rank sends tokens to the experts, one at each rank (dispatch), and gets as many octets back (combine).
        Moe = "moe",
        /// Each rank is a stage: micro-batches go from the first to the last, and back.
        Pipeline = "pipeline",
    }
}

choice! {
    /// In which order ranks send to whom.
    pub enum Algorithm {
        /// Each rank sends to the next one.
        Ring = "ring",
        /// Partners at distances of n/2, n/4, .. 1 exchange ever smaller halves, then the way back; n is a power of two.
        HalvingDoubling = "halving_doubling",
        /// A binomial tree: in step k the ranks below 2^k send to the rank 2^k above.
        Tree = "tree",
        /// All at once.
        Direct = "direct",
        /// In step k each rank sends to the k-th after it, once what it sent before is acknowledged.
        Shift = "shift",
        /// The same, once what came to it in the step before is there, too.
        SynchronisedShift = "synchronised_shift",
        /// From each stage to the next one.
        Stages = "stages",
    }
}

impl Operation {
    /// The algorithms that carry it out, the usual one first.
    pub const fn algorithms(self) -> &'static [Algorithm] {
        use Algorithm::{Direct, HalvingDoubling, Ring, Shift, Stages, SynchronisedShift, Tree};
        match self {
            Operation::AllReduce | Operation::ReduceScatter | Operation::AllGather => &[Ring, HalvingDoubling],
            Operation::Broadcast => &[Tree, Ring],
            Operation::AllToAll => &[Direct, Shift, SynchronisedShift],
            Operation::Moe => &[Direct],
            Operation::Pipeline => &[Stages],
        }
    }
}

/// A collective operation and how it is carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// What the ranks do.
    pub operation: Operation,
    /// One of [`Operation::algorithms`].
    pub algorithm: Algorithm,
    /// How many ranks, two or more.
    pub ranks: u32,
    /// Octets of a rank's buffer; of a pipeline those of a micro-batch.
    pub octets: u64,
    /// Shares of the buffer with messages of their own, at once.
    pub channels: u32,
    /// Messages that each would-be message is cut into, one after the other.
    pub chunks: u32,
    /// How often, one after the other.
    pub rounds: u32,
    /// Of experts: the expert at rank r is chosen in proportion to 1 / (r + 1)^skew.
    pub skew: f64,
    /// Micro-batches of a pipeline.
    pub microbatches: u32,
}

/// A message of a collective operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectiveMessage {
    /// The rank that sends it.
    pub from: RankId,
    /// The rank that receives it.
    pub to: RankId,
    /// Its octets, as positions in a buffer: of all ranks or, where each has data of its own, of the rank that the data
    /// comes from or goes back to.
    pub part: Range<u64>,
    /// From 0.
    pub round: u32,
    /// Its step within the round, from 0.
    pub step: u32,
    /// From 0.
    pub channel: u32,
    /// The messages that it waits for, rising. One that comes to its sender has to be there, one that its
    /// sender sends has to be acknowledged.
    pub after: Vec<MessageId>,
    /// Whether its sender computes after what it waits for.
    pub computes: bool,
}

/// Why there is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectiveError {
    /// An algorithm that does something else.
    #[error("algorithm {algorithm} does not carry out {operation}")]
    OtherAlgorithm {
        /// What the ranks do.
        operation: String,
        /// The algorithm.
        algorithm: String,
        /// Those that do.
        algorithms: Vec<String>,
    },
    /// One rank or none.
    #[error("a collective operation takes two ranks or more, and there is {ranks}")]
    TooFewRanks {
        /// How many.
        ranks: u32,
    },
    /// Halves that do not come out even.
    #[error("halving_doubling takes a power of two as the number of ranks, and there are {ranks}")]
    NoPowerOfTwo {
        /// How many.
        ranks: u32,
    },
    /// A message without octets.
    #[error("cut into its parts, the size leaves a message without octets")]
    NothingToSend {
        /// The least size that may do.
        least: u64,
    },
    /// More messages than a run may have.
    #[error("the collective operation has {messages} messages, and a run may have {limit}")]
    TooManyMessages {
        /// How many.
        messages: u64,
        /// How many there may be.
        limit: u64,
    },
    /// More waits than memory is meant for.
    #[error("its messages wait for {waits} others in all, and they may for {limit}")]
    TooManyWaits {
        /// How many.
        waits: u64,
        /// How many there may be.
        limit: u64,
    },
}

impl CollectiveError {
    /// What to do.
    pub fn hint(&self) -> String {
        match self {
            CollectiveError::OtherAlgorithm { algorithms, .. } => format!("use {}", algorithms.join(" or ")),
            CollectiveError::TooFewRanks { .. } => "let ranks match two hosts or more".to_owned(),
            CollectiveError::NoPowerOfTwo { .. } => {
                "let ranks match 2, 4, 8, .. hosts, or use algorithm = \"ring\"".to_owned()
            }
            CollectiveError::NothingToSend { least } => {
                format!("raise size to {least} B or more, or lower channels, chunks or skew")
            }
            CollectiveError::TooManyMessages { .. } => {
                "lower rounds, channels, chunks or the number of ranks".to_owned()
            }
            CollectiveError::TooManyWaits { .. } => {
                "use fewer ranks, a single round, or algorithm = \"shift\"".to_owned()
            }
        }
    }
}

/// Messages that a collective operation may have.
const MOST_MESSAGES: u64 = super::MOST_FLOWS as u64;
/// Waits that they may have in all: 20 octets each.
const MOST_WAITS: u64 = 10_000_000;

/// A message of a channel's round before it is cut into chunks.
struct Whole {
    from: RankId,
    to: RankId,
    part: Range<u64>,
    step: u32,
    after: Vec<WholeId>,
    computes: bool,
}

impl Collective {
    /// Returns all messages, each after those that it waits for.
    ///
    /// # Errors
    /// An algorithm of another operation, fewer than two ranks or, of halving and doubling, no power of two of them, a message
    /// without octets, or more messages or waits than a run may have.
    pub fn messages(&self) -> Result<IdVec<MessageId, CollectiveMessage>, CollectiveError> {
        self.check()?;
        let shares = self.shares();
        let mut messages: IdVec<MessageId, CollectiveMessage> = IdVec::new();
        messages.reserve(usize::try_from(self.count()).unwrap_or(0));
        let (mut before, mut waits) = (self.by_rank(Vec::new()), 0);
        for round in 0..self.rounds {
            let first = messages.next_id();
            for (channel, share) in (0..).zip(&shares) {
                let wholes = self.channel(share);
                if wholes.iter().any(|whole| whole.part.end - whole.part.start < u64::from(self.chunks)) {
                    return Err(CollectiveError::NothingToSend { least: self.least() });
                }
                self.cut(&wholes, (round, channel), &before, &mut messages);
            }
            let (_, new) = messages.split_at(first.position());
            waits += new.iter().map(|message| message.after.len() as u64).sum::<u64>();
            if waits > MOST_WAITS {
                return Err(CollectiveError::TooManyWaits { waits, limit: MOST_WAITS });
            }
            if round + 1 < self.rounds {
                before = self.completing(first, new);
            }
        }
        Ok(messages)
    }

    /// Returns the octets that each rank sends in a round, by the schedule's closed form where the buffer divides evenly;
    /// `None` where ranks differ in what they send.
    pub fn octets_sent(&self) -> Option<f64> {
        let (n, size) = (f64::from(self.ranks), self.octets as f64);
        match self.operation {
            Operation::AllReduce => Some(2.0 * size * (n - 1.0) / n),
            Operation::ReduceScatter | Operation::AllGather | Operation::AllToAll => Some(size * (n - 1.0) / n),
            Operation::Broadcast | Operation::Moe | Operation::Pipeline => None,
        }
    }

    /// Returns the octets that algorithm bandwidth counts in a round, and how they follow from the size.
    pub fn counted(&self) -> (u64, &'static str) {
        match self.operation {
            Operation::Moe => (2 * self.octets, "2 size, dispatch and combine"),
            Operation::Pipeline => {
                (2 * u64::from(self.microbatches) * self.octets, "2 microbatches size, forward and back")
            }
            _ => (self.octets, "size"),
        }
    }

    /// Returns what bus bandwidth multiplies algorithm bandwidth by, and its formula; `None` where the field has none.
    pub fn bus_factor(&self) -> Option<(f64, &'static str)> {
        let n = f64::from(self.ranks);
        match self.operation {
            Operation::AllReduce => Some((2.0 * (n - 1.0) / n, "2 (n - 1) / n")),
            Operation::ReduceScatter | Operation::AllGather | Operation::AllToAll => {
                Some(((n - 1.0) / n, "(n - 1) / n"))
            }
            Operation::Broadcast => Some((1.0, "1")),
            Operation::Moe | Operation::Pipeline => None,
        }
    }

    fn check(&self) -> Result<(), CollectiveError> {
        let algorithms = self.operation.algorithms();
        if !algorithms.contains(&self.algorithm) {
            return Err(CollectiveError::OtherAlgorithm {
                operation: word(&self.operation),
                algorithm: word(&self.algorithm),
                algorithms: algorithms.iter().map(word).collect(),
            });
        }
        if self.ranks < 2 {
            return Err(CollectiveError::TooFewRanks { ranks: self.ranks });
        }
        if self.algorithm == Algorithm::HalvingDoubling && !self.ranks.is_power_of_two() {
            return Err(CollectiveError::NoPowerOfTwo { ranks: self.ranks });
        }
        if self.count() > MOST_MESSAGES {
            return Err(CollectiveError::TooManyMessages { messages: self.count(), limit: MOST_MESSAGES });
        }
        let waits = self.joined_waits();
        if waits > MOST_WAITS {
            return Err(CollectiveError::TooManyWaits { waits, limit: MOST_WAITS });
        }
        Ok(())
    }

    /// Returns the number of messages.
    fn count(&self) -> u64 {
        use Algorithm::{Direct, HalvingDoubling, Ring, Shift, Stages, SynchronisedShift, Tree};
        let n = u64::from(self.ranks);
        let both = if self.operation == Operation::AllReduce { 2 } else { 1 };
        let of_channel = match self.algorithm {
            Ring if self.operation == Operation::Broadcast => n - 1,
            Ring => both * n * (n - 1),
            HalvingDoubling => both * n * u64::from(n.ilog2()),
            Tree => n - 1,
            Direct if self.operation == Operation::Moe => 2 * n * (n - 1),
            Direct | Shift | SynchronisedShift => n * (n - 1),
            Stages => 2 * (n - 1) * u64::from(self.microbatches),
        };
        [self.channels, self.chunks, self.rounds].iter().fold(of_channel, |all, of| all.saturating_mul(u64::from(*of)))
    }

    /// Returns the waits of messages that wait for all that come to a rank.
    fn joined_waits(&self) -> u64 {
        let n = u64::from(self.ranks);
        let each = n.saturating_mul((n - 1).saturating_mul(n - 1)).saturating_mul(u64::from(self.channels));
        let rounds = u64::from(self.rounds);
        match (self.operation, self.algorithm) {
            (Operation::Moe, _) => each.saturating_mul(2 * rounds - 1),
            (_, Algorithm::Direct) => each.saturating_mul(u64::from(self.channels)).saturating_mul(rounds - 1),
            _ => 0,
        }
    }

    /// Returns a size that leaves octets for each message.
    fn least(&self) -> u64 {
        let cuts = u64::from(self.channels) * u64::from(self.chunks);
        let parts = match self.operation {
            Operation::Broadcast | Operation::Pipeline => 1,
            Operation::Moe => (1.0 / self.chances().last().copied().unwrap_or(1.0)).ceil() as u64 + 1,
            _ => u64::from(self.ranks),
        };
        cuts * parts
    }

    /// The ranks, in order.
    fn all_ranks(&self) -> impl Iterator<Item = RankId> + Clone + use<> {
        (0..self.ranks).map(RankId::new)
    }

    /// One like `item` for each rank.
    fn by_rank<T: Clone>(&self, item: T) -> IdVec<RankId, T> {
        self.all_ranks().map(|_| item.clone()).collect()
    }

    /// The buffer's share of each channel.
    fn shares(&self) -> Vec<Range<u64>> {
        let channels = u64::from(self.channels);
        (0..channels).map(|channel| part(&(0..self.octets), channel, channels)).collect()
    }

    /// How likely the expert at each rank is chosen; 1 in all.
    fn chances(&self) -> Vec<f64> {
        let weights: Vec<f64> = (0..self.ranks).map(|rank| libm::pow(f64::from(rank + 1), -self.skew)).collect();
        let all: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / all).collect()
    }

    /// The messages of a round over one channel.
    fn channel(&self, share: &Range<u64>) -> IdVec<WholeId, Whole> {
        match (self.operation, self.algorithm) {
            (Operation::Broadcast, Algorithm::Ring) => self.ring_broadcast(share),
            (_, Algorithm::Ring) => self.ring(share),
            (_, Algorithm::HalvingDoubling) => self.halving_doubling(share),
            (_, Algorithm::Tree) => self.tree(share),
            (Operation::Moe, _) => self.experts(share),
            (_, Algorithm::Stages) => self.pipeline(share),
            (_, Algorithm::Direct | Algorithm::Shift | Algorithm::SynchronisedShift) => self.all_to_all(share),
        }
    }

    /// In each step a rank sends on the part that came in the step before. What goes round a reduce-scatter begins one part
    /// earlier, so that rank r ends with part r.
    fn ring(&self, share: &Range<u64>) -> IdVec<WholeId, Whole> {
        let n = self.ranks;
        let steps = if self.operation == Operation::AllReduce { 2 * (n - 1) } else { n - 1 };
        let ahead = u32::from(self.operation == Operation::ReduceScatter);
        let one = |step: u32, rank: u32| Whole {
            from: RankId::new(rank),
            to: RankId::new((rank + 1) % n),
            part: part(share, u64::from((rank + 2 * n - step - ahead) % n), n.into()),
            step,
            after: (step > 0).then(|| WholeId::new((step - 1) * n + (rank + n - 1) % n)).into_iter().collect(),
            computes: false,
        };
        (0..steps).flat_map(|step| (0..n).map(move |rank| one(step, rank))).collect()
    }

    fn ring_broadcast(&self, share: &Range<u64>) -> IdVec<WholeId, Whole> {
        let one = |rank: u32| Whole {
            from: RankId::new(rank),
            to: RankId::new(rank + 1),
            part: share.clone(),
            step: rank,
            after: rank.checked_sub(1).map(WholeId::new).into_iter().collect(),
            computes: false,
        };
        (0..self.ranks - 1).map(one).collect()
    }

    /// Halving: at distance d, from n/2 down to 1, a rank keeps the half of its parts that has its bit d and sends the other
    /// half to its partner. Doubling: at distances from 1 up it sends all it has.
    fn halving_doubling(&self, share: &Range<u64>) -> IdVec<WholeId, Whole> {
        let n = self.ranks;
        let halves = self.operation != Operation::AllGather;
        let doubles = self.operation != Operation::ReduceScatter;
        let down = std::iter::successors(Some(n / 2), |d| Some(d / 2)).take_while(|d| *d > 0 && halves);
        let up = std::iter::successors(Some(1), |d| Some(d * 2)).take_while(|d| *d < n && doubles);
        let distances = down.map(|d| (d, true)).chain(up.map(|d| (d, false)));
        let octets = |first: u32, count: u32| {
            part(share, first.into(), n.into()).start..part(share, (first + count - 1).into(), n.into()).end
        };
        let mut wholes: IdVec<WholeId, Whole> = IdVec::new();
        let mut received: IdVec<RankId, Vec<WholeId>> = self.by_rank(Vec::new());
        for (step, (distance, halving)) in (0..).zip(distances) {
            let first = wholes.next_id();
            for rank in 0..n {
                let partner = rank ^ distance;
                let own = if halving { partner } else { rank };
                let part = octets(own / distance * distance, distance);
                let comes = received[RankId::new(rank)].iter().copied();
                let after = comes.filter(|before| overlap(&wholes[*before].part, &part)).collect();
                let (from, to) = (RankId::new(rank), RankId::new(partner));
                wholes.push(Whole { from, to, part, step, after, computes: false });
            }
            wholes.ids().filter(|one| *one >= first).for_each(|one| received[wholes[one].to].push(one));
        }
        wholes
    }

    fn tree(&self, share: &Range<u64>) -> IdVec<WholeId, Whole> {
        let n = self.ranks;
        let mut wholes: IdVec<WholeId, Whole> = IdVec::new();
        let (mut received, mut sent) = (self.by_rank(None), self.by_rank(None));
        for (step, below) in (0..).zip(std::iter::successors(Some(1), |b| Some(b * 2)).take_while(|b| *b < n)) {
            for rank in 0..below.min(n - below) {
                let (from, to, here) = (RankId::new(rank), RankId::new(rank + below), wholes.next_id());
                let before: Option<WholeId> = sent[from].replace(here).or(received[from]);
                received[to] = Some(here);
                let after = before.into_iter().collect();
                wholes.push(Whole { from, to, part: share.clone(), step, after, computes: false });
            }
        }
        wholes
    }

    fn all_to_all(&self, share: &Range<u64>) -> IdVec<WholeId, Whole> {
        let n = self.ranks;
        let one = |step: u32, rank: u32| {
            let to = (rank + step + 1) % n;
            let sent = |of: u32| WholeId::new((step - 1) * n + of);
            let mut after = match self.algorithm {
                _ if step == 0 => Vec::new(),
                Algorithm::Shift => vec![sent(rank)],
                Algorithm::SynchronisedShift => vec![sent(rank), sent((rank + n - step) % n)],
                _ => Vec::new(),
            };
            after.sort_unstable();
            let part = part(share, to.into(), n.into());
            Whole {
                from: RankId::new(rank),
                to: RankId::new(to),
                part,
                step: if self.algorithm == Algorithm::Direct { 0 } else { step },
                after,
                computes: false,
            }
        };
        (0..n - 1).flat_map(|step| (0..n).map(move |rank| one(step, rank))).collect()
    }

    /// Dispatch: each rank to each expert. Combine: an expert computes once all tokens are there, and sends them back.
    fn experts(&self, share: &Range<u64>) -> IdVec<WholeId, Whole> {
        let n = self.ranks;
        let whole = (share.end - share.start) as f64;
        let mut ends: IdVec<RankId, u64> = IdVec::new();
        let mut sum = 0.0;
        for chance in self.chances() {
            sum += chance;
            ends.push(share.start + (sum * whole).round() as u64);
        }
        if let Some(last) = ends.last_mut() {
            *last = share.end;
        }
        let start = |expert: RankId| expert.number().checked_sub(1).map_or(share.start, |one| ends[RankId::new(one)]);
        let of_expert = |expert: RankId| start(expert)..ends[expert];
        let after = |rank: RankId, step: u32| RankId::new((rank.number() + step) % n);
        let pairs = || (1..n).flat_map(|step| self.all_ranks().map(move |rank| (rank, after(rank, step))));
        let dispatch = pairs().map(|(rank, expert)| Whole {
            from: rank,
            to: expert,
            part: of_expert(expert),
            step: 0,
            after: Vec::new(),
            computes: false,
        });
        let mut wholes: IdVec<WholeId, Whole> = dispatch.collect();
        let mut comes: IdVec<RankId, Vec<WholeId>> = self.by_rank(Vec::new());
        wholes.enumerate().for_each(|(id, whole)| comes[whole.to].push(id));
        let combine = pairs().map(|(expert, rank)| Whole {
            from: expert,
            to: rank,
            part: of_expert(expert),
            step: 1,
            after: comes[expert].clone(),
            computes: true,
        });
        wholes.extend(combine);
        wholes
    }

    /// Forward: a stage passes a micro-batch on once it is there and the one before is acknowledged. Back: from the last stage on,
    /// as soon as the micro-batch has reached it.
    fn pipeline(&self, share: &Range<u64>) -> IdVec<WholeId, Whole> {
        let links = self.ranks - 1;
        let mut wholes: IdVec<WholeId, Whole> = IdVec::new();
        for batch in 0..self.microbatches {
            let shift = u64::from(batch) * self.octets;
            let part = share.start + shift..share.end + shift;
            let at = 2 * links * batch;
            for step in 0..2 * links {
                // Links 0 to n - 2 forward, then n - 2 to 0 back.
                let (from, to) = if step < links { (step, step + 1) } else { (2 * links - step, 2 * links - step - 1) };
                let here = (step > 0).then(|| at + step - 1);
                let sent = (batch > 0).then(|| at + step - 2 * links);
                wholes.push(Whole {
                    from: RankId::new(from),
                    to: RankId::new(to),
                    part: part.clone(),
                    step,
                    after: sent.into_iter().chain(here).map(WholeId::new).collect(),
                    computes: true,
                });
            }
        }
        wholes
    }

    /// Cuts the messages of a channel into chunks. A chunk waits for the one before it to be acknowledged. Of a message that
    /// comes it waits for the chunks that it passes on, or for all if it passes on nothing of it; of one that its rank sent
    /// for all.
    fn cut(
        &self,
        wholes: &IdVec<WholeId, Whole>,
        (round, channel): (u32, u32),
        before: &IdVec<RankId, Vec<MessageId>>,
        messages: &mut IdVec<MessageId, CollectiveMessage>,
    ) {
        let chunks = u64::from(self.chunks);
        let first = messages.next_id().number();
        let message =
            |whole: WholeId, chunk: u64| MessageId::new(first + (u64::from(whole.number()) * chunks + chunk) as u32);
        for (id, whole) in wholes.enumerate() {
            for chunk in 0..chunks {
                let octets = part(&whole.part, chunk, chunks);
                let mut after: Vec<MessageId> = Vec::with_capacity(whole.after.len() + 1);
                for other in &whole.after {
                    let earlier = &wholes[*other];
                    let comes = earlier.to == whole.from;
                    let last = match comes && overlap(&earlier.part, &whole.part) {
                        true => (0..chunks).rev().find(|of| overlap(&part(&earlier.part, *of, chunks), &octets)),
                        false => Some(chunks - 1),
                    };
                    after.extend(last.map(|last| message(*other, last)));
                }
                let mut computes = whole.computes;
                if whole.after.is_empty() && chunk == 0 {
                    after.extend_from_slice(&before[whole.from]);
                    computes |= round > 0;
                }
                after.extend((chunk > 0).then(|| message(id, chunk - 1)));
                computes &= chunk == 0;
                after.sort_unstable();
                after.dedup();
                let (from, to, step) = (whole.from, whole.to, whole.step);
                messages.push(CollectiveMessage { from, to, part: octets, round, step, channel, after, computes });
            }
        }
    }

    /// For each rank the messages after which it has completed a round: all that come to it or, if none does, all that it
    /// sends; of each the last chunk.
    fn completing(&self, first: MessageId, round: &[CollectiveMessage]) -> IdVec<RankId, Vec<MessageId>> {
        let (mut comes, mut goes) = (self.by_rank(Vec::new()), self.by_rank(Vec::new()));
        for (number, message) in (first.number()..).zip(round) {
            if (number - first.number()) % self.chunks == self.chunks - 1 {
                comes[message.to].push(MessageId::new(number));
                goes[message.from].push(MessageId::new(number));
            }
        }
        comes.into_iter().zip(goes).map(|(comes, goes)| if comes.is_empty() { goes } else { comes }).collect()
    }
}

/// The word of a choice in scenario files.
fn word(choice: &impl Param) -> String {
    match choice.to_value() {
        Some(Value::Text(word)) => word,
        other => unreachable!("a choice is a word, not {other:?}"),
    }
}

/// Part `number` of `count` parts, which differ by one octet at most.
fn part(whole: &Range<u64>, number: u64, count: u64) -> Range<u64> {
    let octets = u128::from(whole.end - whole.start);
    let edge = |number: u64| whole.start + (octets * u128::from(number) / u128::from(count)) as u64;
    edge(number)..edge(number + 1)
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start.max(other.start) < one.end.min(other.end)
}
