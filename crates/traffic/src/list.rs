//! Flows written out in a file.

use super::MOST_FLOWS;
use super::sheet::{CellFault, Sheet, SheetError, SheetRow};
use qcnlab_sim::WaitDelays;
use qcnlab_units::nearest;
use qcnlab_units::{Bytes, Instant, Span};
use std::collections::{BTreeMap, HashSet};

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
    /// Positions in the list of the flows that it waits for, from 0. Where there are any, `start` is how long after they
    /// have completed it starts.
    pub after: Vec<usize>,
    /// How long after these it may start, where that is not at once.
    pub delays: Option<Box<WaitDelays>>,
    /// The line it stands in, from 1.
    pub line: u64,
}

const NEEDED: &[&str] = &["from", "to", "size", "start"];
const OTHERS: &[&str] = &["class", "id", "after"];
const ID: usize = 5;
const AFTER: usize = 6;

/// Reads flows from CSV with a header of `from`, `to`, `size`, `start` and, if you like, `class`, `id` and `after`, in any
/// order.
///
/// A flow with ids of others in `after`, separated by blanks, waits for these. Each of them comes from its own sender, or
/// goes to it: nobody else would know. `id` is any text without blanks and plus signs that no other flow has. `1+20us` in `after`
/// is so long after flow 1, `+20us` so long after the start of the run.
///
/// Sizes and times have their units (`64 KB`, `1.5 ms`). Lines that are empty or begin with # are passed over. `text`
/// is what the file holds, `file` what errors call it, `hosts` the names that flows may go between.
///
/// # Errors
/// The first fault, with line and column: a header that lacks or repeats a column or has one unknown, a line with
/// too few or too many cells, a host that is unknown or sends to itself, a size or time without unit, a size of zero, a
/// class above 7, an id that is there twice, a flow that waits for an id that is not there, for a flow between other hosts or
/// in a circle, or more than [`MOST_FLOWS`] flows.
pub fn read_flows(text: &[u8], file: &str, hosts: &[&str]) -> Result<Vec<ListedFlow>, SheetError> {
    let known: HashSet<&str> = hosts.iter().copied().collect();
    let mut sheet = Sheet::open(text, file, NEEDED, OTHERS)?;
    let (mut flows, mut ids, mut waits) = (Vec::new(), Ids::default(), Vec::new());
    while let Some(row) = sheet.next_row()? {
        if flows.len() == MOST_FLOWS {
            return Err(SheetError { column: None, ..row.fault(0, CellFault::TooMany { most: MOST_FLOWS }) });
        }
        if let Some(id) = row.optional(ID)? {
            ids.insert(&row, id, flows.len())?;
        }
        if let Some(after) = row.optional(AFTER)? {
            waits.push((flows.len(), after.to_owned()));
        }
        flows.push(flow(&row, &known, hosts)?);
    }
    let column = sheet.column(AFTER);
    let fault =
        |(line, fault)| SheetError { file: file.to_owned(), line, column: column.clone(), fault: Box::new(fault) };
    link(&mut flows, &ids, &waits).map_err(fault)?;
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
    Ok(ListedFlow { from, to, size, start, class, after: Vec::new(), delays: None, line: row.line() })
}

/// The flows that have an id, by it.
#[derive(Default)]
struct Ids(BTreeMap<String, usize>);

impl Ids {
    fn insert(&mut self, row: &SheetRow<'_>, id: &str, flow: usize) -> Result<(), SheetError> {
        if id.contains(|symbol: char| symbol.is_whitespace() || symbol == '+') {
            return Err(row.fault(ID, CellFault::BlankInId { text: id.to_owned() }));
        }
        match self.0.insert(id.to_owned(), flow) {
            Some(_) => Err(row.fault(ID, CellFault::TwinId { text: id.to_owned() })),
            None => Ok(()),
        }
    }

    fn find(&self, id: &str) -> Result<usize, CellFault> {
        self.0.get(id).copied().ok_or_else(|| {
            let nearest = nearest(id, self.0.keys().map(String::as_str));
            CellFault::UnknownId { text: id.to_owned(), nearest }
        })
    }
}

/// Says which flows wait for which: `waits` has the ids that each names. A fault comes with its line.
fn link(flows: &mut [ListedFlow], ids: &Ids, waits: &[(usize, String)]) -> Result<(), (u64, CellFault)> {
    for (flow, names) in waits {
        let line = flows[*flow].line;
        for wait in names.split_whitespace() {
            let (id, delay) = wait.split_once('+').map_or((wait, Ok(Span::ZERO)), |(id, delay)| (id, delay.parse()));
            let delay: Span = delay.map_err(|fault| (line, CellFault::Quantity(fault)))?;
            if id.is_empty() {
                let delays = flows[*flow].delays.get_or_insert_default();
                delays.not_before = delays.not_before.max(Instant::ZERO + delay);
                continue;
            }
            let before = ids.find(id).map_err(|fault| (line, fault))?;
            let (waits, other) = (&flows[*flow], &flows[before]);
            if waits.from != other.to && waits.from != other.from {
                let (id, from) = (id.to_owned(), waits.from.clone());
                return Err((line, CellFault::Unheard { id, from }));
            }
            let waits = &mut flows[*flow];
            let position = waits.after.iter().position(|other| *other == before).unwrap_or_else(|| {
                waits.after.push(before);
                waits.after.len() - 1
            });
            if delay > Span::ZERO {
                let each = &mut waits.delays.get_or_insert_default().each;
                each.resize(each.len().max(position + 1), Span::ZERO);
                each[position] = each[position].max(delay);
            }
        }
        let waits = &mut flows[*flow];
        if waits.after.is_empty() {
            waits.start += waits.delays.take().map_or(Span::ZERO, |delays| delays.not_before.since(Instant::ZERO));
        }
    }
    match circle(flows) {
        Some(flow) => Err((flows[flow].line, CellFault::WaitsForItself)),
        None => Ok(()),
    }
}

/// For each flow the positions of those that wait for it.
fn waiters(flows: &[ListedFlow]) -> Vec<Vec<usize>> {
    let mut waiters = vec![Vec::new(); flows.len()];
    for (number, flow) in flows.iter().enumerate() {
        flow.after.iter().for_each(|before| waiters[*before].push(number));
    }
    waiters
}

/// Returns the first flow that waits for itself, directly or through others, if there is one.
fn circle(flows: &[ListedFlow]) -> Option<usize> {
    let waiters = waiters(flows);
    let mut open: Vec<usize> = flows.iter().map(|flow| flow.after.len()).collect();
    let mut free: Vec<usize> = (0..flows.len()).filter(|flow| open[*flow] == 0).collect();
    while let Some(flow) = free.pop() {
        for waiter in &waiters[flow] {
            open[*waiter] -= 1;
            free.extend((open[*waiter] == 0).then_some(*waiter));
        }
    }
    // Those that merely wait for a circle are open, too. What an open flow waits for leads into the circle.
    let mut at = open.iter().position(|open| *open > 0)?;
    let mut seen = vec![false; flows.len()];
    while !std::mem::replace(&mut seen[at], true) {
        at = *flows[at].after.iter().find(|before| open[**before] > 0)?;
    }
    Some(at)
}

/// Returns the flows of a list that start before `stop`, or may: without those whose time is later, and those that wait
/// for one of these.
pub fn starting_before(stop: Instant, flows: Vec<ListedFlow>) -> Vec<ListedFlow> {
    let mut late: Vec<usize> = (0..flows.len()).filter(|flow| flows[*flow].start >= stop).collect();
    if late.is_empty() {
        return flows;
    }
    let waiters = waiters(&flows);
    let mut starts = vec![true; flows.len()];
    while let Some(flow) = late.pop() {
        if std::mem::replace(&mut starts[flow], false) {
            late.extend(&waiters[flow]);
        }
    }
    let mut positions = vec![0; flows.len()];
    (0..flows.len()).filter(|flow| starts[*flow]).zip(0..).for_each(|(flow, position)| positions[flow] = position);
    let placed =
        |flow: ListedFlow| ListedFlow { after: flow.after.iter().map(|other| positions[*other]).collect(), ..flow };
    flows.into_iter().zip(starts).filter(|(_, starts)| *starts).map(|(flow, _)| placed(flow)).collect()
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
            let start = Instant::ZERO + Span::from_us(start);
            ListedFlow { from, to, size: Bytes::new(size), start, class, after: Vec::new(), delays: None, line }
        };
        assert_eq!(flows, [flow("host1", "host2", 64_000, 1500, Some(3), 4), flow("host3", "host1", 1, 0, None, 6)]);
        let other_order = read_flows(b"start,size,to,from\n1 us,1 KB,host1,host2", "flows.csv", HOSTS).unwrap();
        assert_eq!(other_order, [flow("host2", "host1", 1000, 1, None, 2)]);
        assert_eq!(read_flows("\u{feff}from,to,size,start\n".as_bytes(), "flows.csv", HOSTS), Ok(Vec::new()));
    }

    #[test]
    fn waits_have_delays_of_their_own() {
        let text = "from,to,size,start,id,after\nhost1,host2,1 B,0 s,a,\nhost1,host2,1 B,0 s,b,\n\
                    host2,host1,1 B,1 us,c,a b+20us +3ms a+5us b+7us\nhost1,host2,1 B,1 us,,+2us\nhost1,host2,1 B,0 s,,a\n";
        let flows = read_flows(text.as_bytes(), "flows.csv", HOSTS).unwrap();
        let delays = |each: &[u64], not_before| {
            let each = each.iter().map(|us| Span::from_us(*us)).collect();
            Some(Box::new(WaitDelays { each, not_before: Instant::ZERO + Span::from_us(not_before) }))
        };
        let told: Vec<_> = flows.iter().map(|flow| (flow.start, flow.after.clone(), flow.delays.clone())).collect();
        let at = |us| Instant::ZERO + Span::from_us(us);
        assert_eq!(told[2], (at(1), vec![0, 1], delays(&[5, 20], 3000)));
        assert_eq!(told[3], (at(3), vec![], None));
        assert_eq!(told[4], (at(0), vec![0], None));
        let wrong = |wait: &str| said(&text.replace("b+7us", wait));
        assert!(wrong("b+7").starts_with("flows.csv, line 4, column 6 (after): '7' has no unit"), "{}", wrong("b+7"));
        assert!(wrong("d+7us").contains("no flow has the id 'd'"));
        assert!(said(&text.replace(",a,", ",a+b,")).contains("has a blank or a plus sign"));
    }

    #[test]
    fn faults_of_the_header_are_named() {
        assert_eq!(said(""), "flows.csv, line 1: the file is empty: write a header, from,to,size,start,class,id,after");
        assert_eq!(said("# nothing\n\n"), said(""));
        assert_eq!(
            said("from,to,size\n"),
            "flows.csv, line 1: the header has no 'start': it must have from,to,size,start,class,id,after"
        );
        assert_eq!(
            said("\nfrom,to,sizes,start\n"),
            "flows.csv, line 2, column 3 (sizes): unknown column 'sizes'; did you mean 'size'?: \
             the columns are from,to,size,start,class,id,after"
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

    #[test]
    fn flows_wait_for_others() {
        let read =
            |text: &str| read_flows(format!("from,to,size,start,id,after\n{text}").as_bytes(), "flows.csv", HOSTS);
        let after = |text: &str| read(text).unwrap().into_iter().map(|flow| flow.after).collect::<Vec<_>>();
        assert_eq!(
            after(
                "host2,host3,1 B,0 s,b,a\nhost1,host2,1 B,0 s,a,\nhost1,host3,1 B,1 us,,a a\nhost3,host1,1 B,0 s,c,b  d\n\
                   host3,host2,1 B,0 s,d,\n"
            ),
            [vec![1], vec![], vec![1], vec![0, 4], vec![]]
        );
        let said = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(
            said("host1,host2,1 B,0 s,first,\nhost2,host3,1 B,0 s,,frist\n"),
            "flows.csv, line 3, column 6 (after): no flow has the id 'frist'; did you mean 'first'?"
        );
        assert_eq!(
            said("host1,host2,1 B,0 s,a,\nhost3,host1,1 B,0 s,,a\n"),
            "flows.csv, line 3, column 6 (after): 'host3' neither sends flow 'a' nor receives it, and would not know when it \
             has completed: let the flow wait for one that 'host3' sends or receives"
        );
        assert_eq!(
            said("host1,host2,1 B,0 s,a,\nhost2,host3,1 B,0 s,a,\n"),
            "flows.csv, line 3, column 5 (id): another flow has the id 'a', too: give each its own"
        );
        assert_eq!(
            said("host1,host2,1 B,0 s,a b,\n"),
            "flows.csv, line 2, column 5 (id): the id 'a b' has a blank or a plus sign: leave them out, they \
             separate ids, and ids from delays"
        );
        // d waits for the circle of b and c, and is not in it.
        let circle = "host1,host2,1 B,0 s,d,c\nhost1,host2,1 B,0 s,b,c\nhost2,host1,1 B,0 s,c,b\n";
        let told = said(circle);
        assert!(told.starts_with("flows.csv, line 4, column 6 (after): the flow waits for itself"), "{told}");
        assert!(said("host1,host2,1 B,0 s,a,a\n").contains("line 2, column 6 (after): the flow waits for itself"));
    }

    #[test]
    fn what_waits_for_a_flow_that_never_starts_never_starts() {
        let text = "from,to,size,start,id,after\nhost2,host3,1 B,0 s,b,a\nhost1,host2,1 B,0 s,x,\nhost1,host2,1 B,2 us,a,\n\
                    host2,host1,1 B,1 us,y,x\nhost3,host2,1 B,0 s,c,b\nhost1,host3,1 B,0 s,z,y\n";
        let left = |us| {
            let flows = read_flows(text.as_bytes(), "flows.csv", HOSTS).unwrap();
            let flows = starting_before(Instant::ZERO + Span::from_us(us), flows);
            flows.into_iter().map(|flow| (flow.line, flow.after)).collect::<Vec<_>>()
        };
        // a starts at 2 us, so that until then b and c never do; y waits for x, z for y.
        assert_eq!(left(2), [(3, vec![]), (5, vec![0]), (7, vec![1])]);
        assert_eq!(left(3).len(), 6);
        assert_eq!(left(1), [(3, vec![])]);
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
