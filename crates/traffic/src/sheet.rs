//! Small tables of text with a header, in CSV, and what can be wrong with them.

use super::sizes::SizesError;
use csv::ByteRecord;
use qcnlab_units::nearest;
use qcnlab_units::{Span, UnitError};
use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

/// A fault of a file: where it is and what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{file}, line {line}{}: {fault}", InColumn(column))]
pub struct SheetError {
    /// The file, as it was called.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column, if it is one cell that is wrong.
    pub column: Option<SheetColumn>,
    /// What is wrong.
    pub fault: Box<CellFault>,
}

/// A column of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SheetColumn {
    /// Its number, from 1.
    pub number: usize,
    /// Its name in the header.
    pub name: String,
}

struct InColumn<'a>(&'a Option<SheetColumn>);

impl fmt::Display for InColumn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(SheetColumn { number, name }) => write!(f, ", column {number} ({name})"),
            None => Ok(()),
        }
    }
}

/// What is wrong with a file, without its position.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CellFault {
    /// No header.
    #[error("the file is empty: write a header, {columns}")]
    NoHeader {
        /// The header with all columns.
        columns: String,
    },
    /// A column that must be there is not.
    #[error("the header has no '{name}': it must have {columns}")]
    MissingColumn {
        /// The column.
        name: &'static str,
        /// The header with all columns.
        columns: String,
    },
    /// A column that means nothing.
    #[error("unknown column '{name}'{}: the columns are {columns}", hint(nearest))]
    UnknownColumn {
        /// What the header calls it.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
        /// The header with all columns.
        columns: String,
    },
    /// A column that is there twice.
    #[error("column '{name}' is there twice: keep one")]
    TwinColumn {
        /// Its name.
        name: String,
    },
    /// A line with more or fewer cells than the header.
    #[error("the line has {cells} cells, but the header has {expected}: separate cells by commas, and leave none out")]
    Cells {
        /// Cells of the line.
        cells: usize,
        /// Columns of the header.
        expected: usize,
    },
    /// Octets that are no text.
    #[error("the cell is not UTF-8 text: save the file as UTF-8")]
    NotUtf8,
    /// Nothing where something must be.
    #[error("the cell is empty: write a value")]
    Empty,
    /// No quantity, or one without its unit.
    #[error("{}", with_remedy(.0))]
    Quantity(UnitError),
    /// No number.
    #[error("'{text}' is not a number; write it as 0.5")]
    Number {
        /// The cell.
        text: String,
    },
    /// No host has this name.
    #[error("'{name}' is no host of the topology{}", hint(nearest))]
    UnknownHost {
        /// The name.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// A flow from a host to itself.
    #[error("'{name}' cannot send to itself: name another host")]
    ToItself {
        /// The host.
        name: String,
    },
    /// A flow without octets.
    #[error("a flow of 0 B is no flow: write a size above it, or drop the line")]
    NoOctets,
    /// Text that is no address.
    #[error(
        "'{text}' is no address: write one of IPv4, IPv6 or Ethernet, as 10.0.0.1, fe80::1 or 02:00:00:00:00:01, or * \
         for all others"
    )]
    NoAddress {
        /// The cell.
        text: String,
    },
    /// An address that is there twice.
    #[error("'{text}' is there twice: keep one line")]
    TwinAddress {
        /// The cell.
        text: String,
    },
    /// No class of Ethernet frames.
    #[error("'{text}' is no class: write a whole number from 0 to 7")]
    Class {
        /// The cell.
        text: String,
    },
    /// An id that could not be told from two.
    #[error("the id '{text}' has a blank or a plus sign: leave them out, they separate ids, and ids from delays")]
    BlankInId {
        /// The cell.
        text: String,
    },
    /// An id that two flows have.
    #[error("another flow has the id '{text}', too: give each its own")]
    TwinId {
        /// The cell.
        text: String,
    },
    /// A flow that waits for one that is not there.
    #[error("no flow has the id '{text}'{}", hint(nearest))]
    UnknownId {
        /// What it is called.
        text: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// A flow that waits for one that its sender knows nothing of.
    #[error(
        "'{from}' neither sends flow '{id}' nor receives it, and would not know when it has completed: let the flow wait \
         for one that '{from}' sends or receives"
    )]
    Unheard {
        /// The flow's id.
        id: String,
        /// Who would have to know.
        from: String,
    },
    /// A flow that waits for itself.
    #[error("the flow waits for itself, directly or through others: take one of the ids in the circle out")]
    WaitsForItself,
    /// A flow that waits, without a transport that says when others have completed.
    #[error(
        "flows with transport {transport} cannot wait for others, because nothing says when one has completed: use transport tcp or roce"
    )]
    CannotWait {
        /// The transport.
        transport: &'static str,
    },
    /// A flow that never starts.
    #[error("the flow starts at {start}, but the run ends at {end}: drop the line, or let the run last longer")]
    AfterTheRun {
        /// When it would start.
        start: Span,
        /// When the run ends.
        end: Span,
    },
    /// More flows than a run can have.
    #[error("the file has more than {most} flows: split it over several runs")]
    TooMany {
        /// How many can be.
        most: usize,
    },
    /// No number of a rank.
    #[error("'{text}' is no rank: write a whole number, from 0 on")]
    NoRank {
        /// The cell.
        text: String,
    },
    /// A rank that is there twice.
    #[error("rank {rank} is on '{host}' already: keep one line")]
    TwinRank {
        /// The rank.
        rank: u32,
        /// Where it is.
        host: String,
    },
    /// A host with two ranks.
    #[error("'{name}' has rank {rank} already: give each rank a host of its own")]
    TwinHost {
        /// The host.
        name: String,
        /// Its rank.
        rank: u32,
    },
    /// Ranks with one left out.
    #[error("rank {missing} is missing: {} counted from 0", counted_ranks(*ranks))]
    MissingRank {
        /// The first that is left out.
        missing: u32,
        /// How many there are.
        ranks: usize,
    },
    /// A table of flow sizes that is none.
    #[error("{0}")]
    Sizes(SizesError),
}

fn counted_ranks(ranks: usize) -> String {
    match ranks {
        1 => "one line is rank 0,".to_owned(),
        _ => format!("{ranks} lines are ranks 0 to {},", ranks - 1),
    }
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

fn with_remedy(error: &UnitError) -> String {
    error.hint().map_or_else(|| error.to_string(), |hint| format!("{error}; {hint}"))
}

/// A file being read. Empty lines, and lines that begin with #, are passed over; so are blanks around cells.
pub(super) struct Sheet<'t> {
    text: &'t [u8],
    file: &'t str,
    reader: csv::Reader<&'t [u8]>,
    record: ByteRecord,
    /// Known columns: name, and index in the file.
    columns: Vec<(&'static str, Option<usize>)>,
    /// Cells in a line.
    width: usize,
    line: u64,
}

/// A line of a file.
pub(super) struct SheetRow<'s>(&'s Sheet<'s>);

impl<'t> Sheet<'t> {
    /// Reads the header. Columns are numbered in the order in which they stand in `needed` and then `others`.
    pub(super) fn open(
        text: &'t [u8],
        file: &'t str,
        needed: &[&'static str],
        others: &[&'static str],
    ) -> Result<Sheet<'t>, SheetError> {
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).flexible(true).trim(csv::Trim::All).comment(Some(b'#'));
        let reader = builder.from_reader(text);
        let columns: Vec<_> = needed.iter().chain(others).map(|name| (*name, None)).collect();
        let all = columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",");
        let mut sheet = Sheet { text, file, reader, record: ByteRecord::new(), columns, width: 0, line: 1 };
        if !sheet.advance() {
            return Err(sheet.fault(None, CellFault::NoHeader { columns: all }));
        }
        sheet.width = sheet.record.len();
        for at in 0..sheet.width {
            let name = String::from_utf8_lossy(&sheet.record[at]).into_owned();
            let column = Some(SheetColumn { number: at + 1, name: name.clone() });
            let Some(known) = sheet.columns.iter().position(|(known, _)| *known == name) else {
                let nearest = nearest(&name, sheet.columns.iter().map(|(known, _)| *known));
                return Err(sheet.fault(column, CellFault::UnknownColumn { name, nearest, columns: all }));
            };
            if sheet.columns[known].1.replace(at).is_some() {
                return Err(sheet.fault(column, CellFault::TwinColumn { name }));
            }
        }
        let missing = sheet.columns[..needed.len()].iter().find(|(_, at)| at.is_none());
        match missing.map(|(name, _)| *name) {
            Some(name) => Err(sheet.fault(None, CellFault::MissingColumn { name, columns: all })),
            None => Ok(sheet),
        }
    }

    /// The next line, if there is one.
    pub(super) fn next_row(&mut self) -> Result<Option<SheetRow<'_>>, SheetError> {
        if !self.advance() {
            return Ok(None);
        }
        let (cells, expected) = (self.record.len(), self.width);
        if cells != expected {
            return Err(self.fault(None, CellFault::Cells { cells, expected }));
        }
        Ok(Some(SheetRow(self)))
    }

    /// The line read last.
    pub(super) fn last_line(&self) -> u64 {
        self.line
    }

    /// A column by number, if the file has it.
    pub(super) fn column(&self, column: usize) -> Option<SheetColumn> {
        let (name, at) = self.columns[column];
        at.map(|at| SheetColumn { number: at + 1, name: name.to_owned() })
    }

    fn fault(&self, column: Option<SheetColumn>, fault: CellFault) -> SheetError {
        SheetError { file: self.file.to_owned(), line: self.line, column, fault: Box::new(fault) }
    }

    /// Reads the next line that says something; false at the end.
    fn advance(&mut self) -> bool {
        loop {
            let more = self.reader.read_byte_record(&mut self.record);
            if !more.expect("octets in memory can be read, and lines may have any number of cells") {
                return false;
            }
            if self.record.len() == 1 && self.record[0].is_empty() {
                continue;
            }
            if let Some(position) = self.record.position() {
                let rest = self.text.get(position.byte() as usize..).unwrap_or_default();
                let silent = |line: &&[u8]| matches!(line, [] | [b'\r'] | [b'#', ..]);
                self.line = position.line() + rest.split(|octet| *octet == b'\n').take_while(silent).count() as u64;
            }
            return true;
        }
    }
}

impl SheetRow<'_> {
    /// The line, from 1.
    pub(super) fn line(&self) -> u64 {
        self.0.line
    }

    /// A cell that may be left empty, or whose column may be missing.
    pub(super) fn optional(&self, column: usize) -> Result<Option<&str>, SheetError> {
        let Some(at) = self.0.columns[column].1 else {
            return Ok(None);
        };
        let text = str::from_utf8(&self.0.record[at]).map_err(|_| self.fault(column, CellFault::NotUtf8))?;
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    /// A cell that says something.
    pub(super) fn text(&self, column: usize) -> Result<&str, SheetError> {
        self.optional(column)?.ok_or_else(|| self.fault(column, CellFault::Empty))
    }

    /// A cell with a quantity and its unit.
    pub(super) fn quantity<Q: FromStr<Err = UnitError>>(&self, column: usize) -> Result<Q, SheetError> {
        self.text(column)?.parse().map_err(|error| self.fault(column, CellFault::Quantity(error)))
    }

    /// A cell with the name of a host: `known`, and in their order `hosts`.
    pub(super) fn host(&self, column: usize, known: &HashSet<&str>, hosts: &[&str]) -> Result<String, SheetError> {
        let name = self.text(column)?;
        let unknown = || {
            let nearest = nearest(name, hosts.iter().copied());
            self.fault(column, CellFault::UnknownHost { name: name.to_owned(), nearest })
        };
        known.get(name).map(|name| (*name).to_owned()).ok_or_else(unknown)
    }

    /// A fault of a cell.
    pub(super) fn fault(&self, column: usize, fault: CellFault) -> SheetError {
        self.0.fault(self.0.column(column), fault)
    }
}
