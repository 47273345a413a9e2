//! Lists whose entries go by numbers of 32 bits: links and flows.

use std::ops::{Deref, DerefMut, Index, IndexMut};

/// Entries by number.
#[derive(Clone, Debug)]
pub(crate) struct Numbered<T>(Vec<T>);

impl<T> Default for Numbered<T> {
    fn default() -> Numbered<T> {
        Numbered(Vec::new())
    }
}

impl<T> From<Vec<T>> for Numbered<T> {
    fn from(entries: Vec<T>) -> Numbered<T> {
        Numbered(entries)
    }
}

impl<T> Deref for Numbered<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Numbered<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T> Index<u32> for Numbered<T> {
    type Output = T;

    fn index(&self, number: u32) -> &T {
        &self.0[number as usize]
    }
}

impl<T> IndexMut<u32> for Numbered<T> {
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.0[number as usize]
    }
}
