//! Cholesky's factors of a symmetric positive definite matrix.

/// A pivot smaller than this part of its diagonal entry is rounding: its row depends on the rows before it.
const ROUNDING: f64 = 1e-14;
/// Rows that are finished together, while they are in the cache, before they are subtracted from the others.
const BLOCK: usize = 32;

/// The upper triangle of a matrix, row by row in full rows; after [`Symmetric::factor`], of U with A = U' U.
pub(super) struct Symmetric {
    size: usize,
    cells: Vec<f64>,
}

impl Symmetric {
    pub(super) fn zero(size: usize) -> Symmetric {
        Symmetric { size, cells: vec![0.0; size * size] }
    }

    pub(super) fn clear(&mut self) {
        self.cells.fill(0.0);
    }

    /// Adds to the cell in row `i` and column `j`, `i` at most `j`.
    pub(super) fn add(&mut self, i: usize, j: usize, value: f64) {
        self.cells[i * self.size + j] += value;
    }

    /// Replace the matrix by its factor. A row that depends on those before it is left out of the solution.
    pub(super) fn factor(&mut self) {
        let n = self.size;
        let whole: Vec<f64> = (0..n).map(|i| self.cells[i * n + i]).collect();
        for first in (0..n).step_by(BLOCK) {
            let last = (first + BLOCK).min(n);
            for k in first..last {
                let row = &mut self.cells[k * n..(k + 1) * n];
                let pivot = if row[k] > ROUNDING * whole[k] { row[k].sqrt() } else { f64::INFINITY };
                row[k] = pivot;
                row[k + 1..].iter_mut().for_each(|cell| *cell /= pivot);
                (k + 1..last).for_each(|i| self.subtract(k, i));
            }
            (last..n).for_each(|i| (first..last).for_each(|k| self.subtract(k, i)));
        }
    }

    /// Subtract the contribution of the finished row `k` from row `i`.
    fn subtract(&mut self, k: usize, i: usize) {
        let n = self.size;
        let (done, rest) = self.cells.split_at_mut(i * n);
        let row = &done[k * n..(k + 1) * n];
        let factor = row[i];
        if factor != 0.0 {
            rest[i..n].iter_mut().zip(&row[i..]).for_each(|(cell, above)| *cell -= factor * above);
        }
    }

    /// Solve A x = b in place; the matrix is factored.
    pub(super) fn solve(&self, b: &mut [f64]) {
        let n = self.size;
        for k in 0..n {
            let row = &self.cells[k * n..(k + 1) * n];
            b[k] /= row[k];
            let x = b[k];
            b[k + 1..].iter_mut().zip(&row[k + 1..]).for_each(|(b, cell)| *b -= cell * x);
        }
        for k in (0..n).rev() {
            let row = &self.cells[k * n..(k + 1) * n];
            let sum: f64 = row[k + 1..].iter().zip(&b[k + 1..]).map(|(cell, x)| cell * x).sum();
            b[k] = (b[k] - sum) / row[k];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved(rows: [[f64; 3]; 3], mut b: [f64; 3]) -> [f64; 3] {
        let mut matrix = Symmetric::zero(3);
        (0..3).for_each(|i| (i..3).for_each(|j| matrix.add(i, j, rows[i][j])));
        matrix.factor();
        matrix.solve(&mut b);
        b
    }

    #[test]
    fn a_system_worked_by_hand() {
        // 4 x + 2 y = 10, 2 x + 5 y + 3 z = 21, 3 y + 9 z = 33 for x = 1.5, y = 2, z = 3 (10, 22, 33).
        let rows = [[4.0, 2.0, 0.0], [2.0, 5.0, 3.0], [0.0, 3.0, 9.0]];
        let solution = solved(rows, [10.0, 22.0, 33.0]);
        assert!(solution.iter().zip([1.5, 2.0, 3.0]).all(|(x, y)| (x - y).abs() < 1e-14), "{solution:?}");
    }

    #[test]
    fn a_row_said_twice_is_left_out() {
        let rows = [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]];
        let solution = solved(rows, [3.0, 3.0, 4.0]);
        assert!(solution.iter().zip([3.0, 0.0, 2.0]).all(|(x, y)| (x - y).abs() < 1e-14), "{solution:?}");
    }
}
