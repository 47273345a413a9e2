//! Flows written out in a file.

use super::MOST_FLOWS;
use super::sheet::{CellFault, Sheet, SheetError, SheetRow};
use qcnlab_units::{Bytes, Instant, Span};
use std::collections::HashSet;

/// A flow of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFlow {
    /// The host that sends it.
    pub from: String,
    /// The host that receives it.
    pub to: String,
    /// Its octets, above 0.
    pub size: Bytes,
    /// When it starts.
    pub start: Instant,
    /// Class of its frames, 0 to 7, where the list says one.
    pub class: Option<u8>,
    /// The line it stands in, from 1.
    pub line: u64,
}

const NEEDED: &[&str] = &["from", "to", "size", "start"];
const OTHERS: &[&str] = &["class"];

/// Reads flows from CSV with a header of `from`, `to`, `size`, `start` and, if you like, `class`, in any order.
///
/// Sizes and times have their units (`64 KB`, `1.5 ms`). Lines that are empty or begin with # are passed over. `text`
/// is what the file holds, `file` what errors call it, `hosts` the names that flows may go between.
///
/// # Errors
/// The first fault, with line and column: a header that lacks or repeats a column or has one unknown, a line with
/// too few or too many cells, a host that is unknown or sends to itself, a size or time without unit, a size of zero, a
/// class above 7, or more than [`MOST_FLOWS`] flows.
pub fn read_flows(text: &[u8], file: &str, hosts: &[&str]) -> Result<Vec<ListedFlow>, SheetError> {
    let known: HashSet<&str> = hosts.iter().copied().collect();
    let mut sheet = Sheet::open(text, file, NEEDED, OTHERS)?;
    let mut flows = Vec::new();
    while let Some(row) = sheet.next_row()? {
        if flows.len() == MOST_FLOWS {
            return Err(SheetError { column: None, ..row.fault(0, CellFault::TooMany { most: MOST_FLOWS }) });
        }
        flows.push(flow(&row, &known, hosts)?);
    }
    Ok(flows)
}

fn flow(row: &SheetRow<'_>, known: &HashSet<&str>, hosts: &[&str]) -> Result<ListedFlow, SheetError> {
    let (from, to) = (row.host(0, known, hosts)?, row.host(1, known, hosts)?);
    if from == to {
        return Err(row.fault(1, CellFault::ToItself { name: to }));
    }
    let size: Bytes = row.quantity(2)?;
    if size == Bytes::ZERO {
        return Err(row.fault(2, CellFault::NoOctets));
    }
    let start = Instant::ZERO + row.quantity::<Span>(3)?;
    let class = |text: &str| {
        let class = text.parse().ok().filter(|class| *class <= 7);
        class.ok_or_else(|| row.fault(4, CellFault::Class { text: text.to_owned() }))
    };
    let class = row.optional(4)?.map(class).transpose()?;
    Ok(ListedFlow { from, to, size, start, class, line: row.line() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOSTS: &[&str] = &["host1", "host2", "host3"];

    fn said(text: &str) -> String {
        read_flows(text.as_bytes(), "flows.csv", HOSTS).unwrap_err().to_string()
    }

    #[test]
    fn a_list_is_read() {
        let text = "# a comment\r\nfrom,to,size,start,class\r\n\r\nhost1, host2, 64 KB, 1.5 ms, 3\r\n\n\
                    \"host3\",host1,1 B,0 s,\n";
        let flows = read_flows(text.as_bytes(), "flows.csv", HOSTS).unwrap();
        let flow = |from: &str, to: &str, size, start, class, line| {
            let (from, to) = (from.to_owned(), to.to_owned());
            ListedFlow { from, to, size: Bytes::new(size), start: Instant::ZERO + Span::from_us(start), class, line }
        };
        assert_eq!(flows, [flow("host1", "host2", 64_000, 1500, Some(3), 4), flow("host3", "host1", 1, 0, None, 6)]);
        let other_order = read_flows(b"start,size,to,from\n1 us,1 KB,host1,host2", "flows.csv", HOSTS).unwrap();
        assert_eq!(other_order, [flow("host2", "host1", 1000, 1, None, 2)]);
        assert_eq!(read_flows("\u{feff}from,to,size,start\n".as_bytes(), "flows.csv", HOSTS), Ok(Vec::new()));
    }

    #[test]
    fn faults_of_the_header_are_named() {
        assert_eq!(said(""), "flows.csv, line 1: the file is empty: write a header, from,to,size,start,class");
        assert_eq!(said("# nothing\n\n"), said(""));
        assert_eq!(
            said("from,to,size\n"),
            "flows.csv, line 1: the header has no 'start': it must have from,to,size,start,class"
        );
        assert_eq!(
            said("\nfrom,to,sizes,start\n"),
            "flows.csv, line 2, column 3 (sizes): unknown column 'sizes'; did you mean 'size'?: \
             the columns are from,to,size,start,class"
        );
        assert_eq!(
            said("from,to,from\n"),
            "flows.csv, line 1, column 3 (from): column 'from' is there twice: keep one"
        );
        assert!(
            said("host1,host2,1 KB,0 s\n").starts_with("flows.csv, line 1, column 1 (host1): unknown column 'host1'")
        );
    }

    #[test]
    fn faults_of_a_line_are_named() {
        let said = |line: &str| said(&format!("from,to,size,start,class\nhost1,host2,1 B,0 s,0\n\n# note\n{line}\n"));
        assert_eq!(
            said("host1,host2,10,0 s,0"),
            "flows.csv, line 5, column 3 (size): '10' has no unit: a size needs one; \
             write the unit, as in \"10 B\" or \"10 KB\""
        );
        assert_eq!(
            said("host1,hots2,10 B,0 s,0"),
            "flows.csv, line 5, column 2 (to): 'hots2' is no host of the topology; did you mean 'host2'?"
        );
        assert!(
            said("host1,host1,1 B,0 s,").ends_with("column 2 (to): 'host1' cannot send to itself: name another host")
        );
        assert!(said("host1,host2,0 B,0 s,").contains("column 3 (size): a flow of 0 B is no flow"));
        assert!(said("host1,host2,1 B,-1 s,").contains("column 4 (start): '-1 s': a time cannot be negative"));
        assert!(said("host1,host2,1 B,1 KB,").contains("column 4 (start): '1 KB': times are in seconds"));
        assert!(said("host1,host2,1 B,0 s,8").contains("column 5 (class): '8' is no class: write a whole number"));
        assert!(said(",host2,1 B,0 s,").ends_with("line 5, column 1 (from): the cell is empty: write a value"));
        assert!(said("host1,host2,1 B,0 s").contains("line 5: the line has 4 cells, but the header has 5"));
        let octets = b"from,to,size,start\nhost1,\xff,1 B,0 s\n";
        let fault = read_flows(octets, "flows.csv", HOSTS).unwrap_err();
        assert_eq!((fault.line, fault.column.unwrap().number, *fault.fault), (2, 2, CellFault::NotUtf8));
    }

    proptest! {
        #[test]
        fn no_octets_make_it_panic(
            body in prop::collection::vec(any::<u8>(), 0..200),
            lines in "[a-z0-9 ,#\"\r\n]{0,80}",
        ) {
            let _ = read_flows(&body, "flows.csv", HOSTS);
            let _ = read_flows(&[b"from,to,size,start\n", &*body].concat(), "flows.csv", HOSTS);
            let _ = read_flows(format!("from,to,size,start\n{lines}").as_bytes(), "flows.csv", HOSTS);
        }

        #[test]
        fn a_fault_is_placed_in_its_line(lines in prop::collection::vec(0..4usize, 0..9)) {
            let choices = ["", "# note", "host1,host2,1 B,0 s", "\"host1\",host3,2 B,1 s"];
            let lines: Vec<&str> = lines.into_iter().map(|i| choices[i]).collect();
            let text = format!("from,to,size,start\n{}\nhost1,host2,1 B,soon\n", lines.join("\n"));
            let fault = read_flows(text.as_bytes(), "flows.csv", HOSTS).unwrap_err();
            let line = 1 + text.lines().position(|line| line.ends_with("soon")).unwrap() as u64;
            prop_assert_eq!((fault.line, fault.column.unwrap().number), (line, 4));
        }
    }
}
