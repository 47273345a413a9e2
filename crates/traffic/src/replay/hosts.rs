//! Which address of a capture is which host of a scenario.

use super::{CapturedFlow, ReplayFault};
use crate::address::Address;
use crate::{HostAddress, SheetError, read_addresses};
use std::collections::HashMap;

/// A table of addresses and hosts.
pub struct HostTable {
    hosts: HashMap<Address, u32>,
    others: Option<u32>,
}

impl HostTable {
    /// Reads CSV with the columns `address` and `host`; the address * stands for all that have no line of their own.
    /// `nodes` are the hosts there are, by name and number.
    pub fn read(text: &str, file: &str, nodes: &[(&str, u32)]) -> Result<HostTable, SheetError> {
        let names: Vec<&str> = nodes.iter().map(|(name, _)| *name).collect();
        let number: HashMap<&str, u32> = nodes.iter().copied().collect();
        let mut table = HostTable { hosts: HashMap::new(), others: None };
        for HostAddress { address, host } in read_addresses(text.as_bytes(), file, &names)? {
            let host = number[&*host];
            match address {
                Some(address) => drop(table.hosts.insert(address, host)),
                None => table.others = Some(host),
            }
        }
        Ok(table)
    }

    fn host(&self, address: Address) -> Option<u32> {
        self.hosts.get(&address).copied().or(self.others)
    }
}

/// The hosts between which each flow goes, in the order of the flows; `name` names a host.
pub fn assign(
    flows: &[CapturedFlow],
    table: Option<&HostTable>,
    (senders, receivers): (&[u32], &[u32]),
    name: impl Fn(u32) -> String,
) -> Result<Vec<(u32, u32)>, ReplayFault> {
    let mut in_turn = InTurn::new(senders, receivers);
    let each = flows.iter().map(|flow| {
        let pair = match table {
            None => in_turn.hosts(flow.from, flow.to),
            Some(table) => {
                let host = |address: Address| {
                    let missing = ReplayFault::NoHost { address: address.to_string(), frame: flow.first_frame };
                    table.host(address).ok_or(missing)
                };
                (host(flow.from)?, host(flow.to)?)
            }
        };
        if pair.0 != pair.1 {
            return Ok(pair);
        }
        let (from, to, frame) = (flow.from.to_string(), flow.to.to_string(), flow.first_frame);
        Err(ReplayFault::ToItself { from, to, host: name(pair.0), frame })
    });
    each.collect()
}

/// Assigns hosts to addresses in the order in which they appear. An address that sends gets the next of the senders, one
/// that receives the next of the receivers, beginning again when all have one. An address that does both keeps its host
/// if that may do both.
struct InTurn<'a> {
    senders: Turn<'a>,
    receivers: Turn<'a>,
}

struct Turn<'a> {
    hosts: &'a [u32],
    next: usize,
    taken: HashMap<Address, u32>,
}

impl<'a> InTurn<'a> {
    fn new(senders: &'a [u32], receivers: &'a [u32]) -> InTurn<'a> {
        let turn = |hosts| Turn { hosts, next: 0, taken: HashMap::new() };
        InTurn { senders: turn(senders), receivers: turn(receivers) }
    }

    fn hosts(&mut self, from: Address, to: Address) -> (u32, u32) {
        let other = self.receivers.taken.get(&to).copied();
        let sender = self.senders.host(from, &self.receivers, other);
        let receiver = self.receivers.host(to, &self.senders, Some(sender));
        (sender, receiver)
    }
}

impl Turn<'_> {
    /// The host of an address: its own, or that which it has on the other side, or the next but `not`.
    fn host(&mut self, address: Address, other_side: &Turn<'_>, not: Option<u32>) -> u32 {
        if let Some(host) = self.taken.get(&address) {
            return *host;
        }
        let known = other_side.taken.get(&address).copied().filter(|host| self.hosts.contains(host));
        let host = known.unwrap_or_else(|| self.next(not));
        self.taken.insert(address, host);
        host
    }

    fn next(&mut self, not: Option<u32>) -> u32 {
        let mut take = || {
            let host = self.hosts[self.next % self.hosts.len()];
            self.next += 1;
            host
        };
        let host = take();
        if Some(host) == not { take() } else { host }
    }
}
