//! Addresses of hosts, written out in a file.

use super::sheet::{CellFault, Sheet, SheetError, SheetRow};
use crate::address::Address;
use std::collections::HashSet;

/// A line of a table of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAddress {
    /// The address; `None` for all that have no line of their own.
    pub(crate) address: Option<Address>,
    /// The host that has it.
    pub(crate) host: String,
}

/// Reads CSV with the columns `address` and `host`. An address is one of IPv4, IPv6 or Ethernet, or * for all others;
/// `hosts` are the names there are.
///
/// # Errors
/// The first fault, with line and column: as [`read_flows`](super::read_flows), an address that is none, and one that
/// is there twice.
pub fn read_addresses(text: &[u8], file: &str, hosts: &[&str]) -> Result<Vec<HostAddress>, SheetError> {
    let known: HashSet<&str> = hosts.iter().copied().collect();
    let mut sheet = Sheet::open(text, file, &["address", "host"], &[])?;
    let (mut lines, mut seen) = (Vec::new(), HashSet::new());
    while let Some(row) = sheet.next_row()? {
        let address = address(&row)?;
        if !seen.insert(address) {
            return Err(row.fault(0, CellFault::TwinAddress { text: row.text(0)?.to_owned() }));
        }
        lines.push(HostAddress { address, host: row.host(1, &known, hosts)? });
    }
    Ok(lines)
}

fn address(row: &SheetRow<'_>) -> Result<Option<Address>, SheetError> {
    let text = row.text(0)?;
    let fault = |_| row.fault(0, CellFault::NoAddress { text: text.to_owned() });
    if text == "*" { Ok(None) } else { text.parse().map(Some).map_err(fault) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<HostAddress>, String> {
        let lines = read_addresses(text.as_bytes(), "hosts.csv", &["host1", "host2"]);
        lines.map_err(|error| error.to_string())
    }

    #[test]
    fn a_table_is_read() {
        let lines = read("host,address\nhost2, 10.0.0.1\nhost1,02:00:00:00:00:01\n# note\nhost2,*\n").unwrap();
        let line = |address: Option<&str>, host: &str| HostAddress {
            address: address.map(|text| text.parse().unwrap()),
            host: host.to_owned(),
        };
        assert_eq!(
            lines,
            [line(Some("10.0.0.1"), "host2"), line(Some("02:00:00:00:00:01"), "host1"), line(None, "host2")]
        );
    }

    #[test]
    fn faults_are_named_with_line_and_column() {
        assert_eq!(
            read("address,host\n10.0.0.1,host1\n10.0.0.256,host1\n").unwrap_err(),
            "hosts.csv, line 3, column 1 (address): '10.0.0.256' is no address: write one of IPv4, IPv6 or Ethernet, as \
             10.0.0.1, fe80::1 or 02:00:00:00:00:01, or * for all others"
        );
        assert_eq!(
            read("address,host\n*,host1\n*,host2\n").unwrap_err(),
            "hosts.csv, line 3, column 1 (address): '*' is there twice: keep one line"
        );
        assert_eq!(
            read("address,host\n10.0.0.1,hots1\n").unwrap_err(),
            "hosts.csv, line 2, column 2 (host): 'hots1' is no host of the topology; did you mean 'host1'?"
        );
    }
}
