//! Which rank of a collective operation is on which host, written out in a file.

use super::sheet::{CellFault, Sheet, SheetError};
use std::collections::{BTreeMap, HashMap};

const NEEDED: &[&str] = &["rank", "host"];

/// Reads the host of each rank from CSV with a header of `rank` and `host`, in any order: as many lines as ranks, which count
/// from 0. `text` is what the file holds, `file` what errors call it, `hosts` the names that hosts may have.
///
/// Lines that are empty or begin with # are passed over.
///
/// # Errors
/// The first fault, with line and column: a header that lacks or repeats a column or has one unknown, a line with too few or
/// too many cells, a rank that is no whole number or is there twice, a host that is unknown or has a rank already, or ranks
/// with one left out.
pub fn read_rankfile(text: &[u8], file: &str, hosts: &[&str]) -> Result<Vec<String>, SheetError> {
    let known = hosts.iter().copied().collect();
    let mut sheet = Sheet::open(text, file, NEEDED, &[])?;
    let (mut host_of, mut rank_of) = (BTreeMap::new(), HashMap::new());
    while let Some(row) = sheet.next_row()? {
        let text = row.text(0)?;
        let digits = text.bytes().all(|octet| octet.is_ascii_digit());
        let rank: Option<u32> = text.parse().ok().filter(|_| digits);
        let rank = rank.ok_or_else(|| row.fault(0, CellFault::NoRank { text: text.to_owned() }))?;
        let host = row.host(1, &known, hosts)?;
        if let Some(other) = rank_of.insert(host.clone(), rank) {
            return Err(row.fault(1, CellFault::TwinHost { name: host, rank: other }));
        }
        if let Some(other) = host_of.insert(rank, host) {
            return Err(row.fault(0, CellFault::TwinRank { rank, host: other }));
        }
    }
    let ranks = host_of.len();
    match host_of.keys().zip(0..).find(|(rank, expected)| **rank != *expected) {
        Some((_, missing)) => {
            let fault = Box::new(CellFault::MissingRank { missing, ranks });
            Err(SheetError { file: file.to_owned(), line: sheet.last_line(), column: sheet.column(0), fault })
        }
        None => Ok(host_of.into_values().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTS: &[&str] = &["a", "b", "c", "d"];

    fn read(text: &str) -> Result<Vec<String>, String> {
        read_rankfile(text.as_bytes(), "ranks.csv", HOSTS).map_err(|error| error.to_string())
    }

    #[test]
    fn ranks_are_where_their_lines_say() {
        let expected: Vec<String> = ["c", "a", "d"].map(str::to_owned).into();
        assert_eq!(read("rank,host\n0,c\n1,a\n2,d\n"), Ok(expected.clone()));
        assert_eq!(read("# by rack\n host , rank\n\nd, 2\nc,0\r\n# end\na,01"), Ok(expected));
        assert_eq!(read("rank,host\n"), Ok(Vec::new()));
    }

    #[test]
    fn each_fault_has_its_line() {
        for (text, expected) in [
            ("rank,host\n0,a\nx,b\n", "line 3, column 1 (rank): 'x' is no rank"),
            ("rank,host\n0,a\n+1,b\n", "line 3, column 1 (rank): '+1' is no rank"),
            ("rank,host\n0,a\n\u{661},b\n", "line 3, column 1 (rank): '\u{661}' is no rank"),
            ("rank,host\n4294967296,a\n", "line 2, column 1 (rank): '4294967296' is no rank"),
            ("rank,host\n0,a\n,b\n", "line 3, column 1 (rank): the cell is empty"),
            ("host,rank\na,0\nb,1\nc,0\n", "line 4, column 2 (rank): rank 0 is on 'a' already"),
            ("rank,host\n0,a\n1,b\n2,a\n", "line 4, column 2 (host): 'a' has rank 0 already"),
            ("rank,host\n0,a\n1,e\n", "line 3, column 2 (host): 'e' is no host of the topology"),
            (
                "rank,host\n0,a\n2,b\n3,c\n",
                "line 4, column 1 (rank): rank 1 is missing: 3 lines are ranks 0 to 2, counted from 0",
            ),
            ("rank,host\n1,a\n", "line 2, column 1 (rank): rank 0 is missing: one line is rank 0, counted from 0"),
            ("rank,host\n0\n", "line 2: the line has 1 cells, but the header has 2"),
            ("rank,node\n0,a\n", "line 1, column 2 (node): unknown column 'node'"),
            ("rank\n0\n", "line 1: the header has no 'host'"),
            ("", "line 1: the file is empty"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.starts_with(&format!("ranks.csv, {expected}")), "{text:?}: {error}");
        }
    }
}
