//! Distributions of flow sizes from CSV files.

use super::sheet::{CellFault, Sheet, SheetError};
use super::sizes::{Sizes, SizesError};
use qcnlab_units::Bytes;

/// Reads a table of sizes from CSV with the columns `size`, with its unit, and `part`, the part of flows up to it.
///
/// # Errors
/// What is wrong with the file, or with the table it holds, with line and column.
pub fn read_sizes(text: &[u8], file: &str) -> Result<Sizes, SheetError> {
    let mut sheet = Sheet::open(text, file, &["size", "part"], &[])?;
    let (mut table, mut lines) = (Vec::new(), Vec::new());
    while let Some(row) = sheet.next_row()? {
        let part = row.text(1)?;
        let number = part.parse::<f64>().ok().filter(|part| part.is_finite());
        let not_a_number = || row.fault(1, CellFault::Number { text: part.to_owned() });
        table.push((row.quantity::<Bytes>(0)?, number.ok_or_else(not_a_number)?));
        lines.push(row.line());
    }
    Sizes::from_table(&table).map_err(|fault| {
        let (line, column) = match fault {
            SizesError::Falls { point, .. } => (lines[point - 1], None),
            SizesError::Part { point, .. } => (lines[point - 1], sheet.column(1)),
            _ => (sheet.last_line(), None),
        };
        SheetError { file: file.to_owned(), line, column, fault: Box::new(CellFault::Sizes(fault)) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_its_faults_are_placed() {
        let sizes = read_sizes(b"size,part\n10 KB, 0.5\n1 MB,1\n", "my.csv").unwrap();
        assert_eq!(sizes.quantile(0.5), Bytes::new(10_000));
        let said = |text: &str| read_sizes(text.as_bytes(), "my.csv").unwrap_err().to_string();
        assert_eq!(
            said("size,part\n10 KB,x\n"),
            "my.csv, line 2, column 2 (part): 'x' is not a number; write it as 0.5"
        );
        assert!(
            said("size,part\n10 KB,50\n1 MB,100\n").starts_with("my.csv, line 2, column 2 (part): point 1: 50 is no")
        );
        assert!(said("size,part\n10 KB,0.5\n1 KB,1\n").starts_with("my.csv, line 3: point 2 (1 KB, 1) does not rise"));
        assert!(said("size,part\n10 KB,0.5\n").starts_with("my.csv, line 2: the table ends at 0.5"));
        assert!(said("size,part\n").starts_with("my.csv, line 1: the table of flow sizes is empty"));
    }
}
