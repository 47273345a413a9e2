//! Indices as types, so that a port's is never taken for a flow's, and vectors that only their own index opens.
//!
//! What has an id is numbered from 0 by its position in the [`IdVec`] that holds it. [`ids!`](crate::ids!) declares kinds of ids.

use std::fmt;
use std::iter::FromIterator;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// An index into an [`IdVec`].
pub trait Id: Copy {
    /// Returns the id of the element at position `number`.
    fn new(number: u32) -> Self;

    /// Returns the position, from 0.
    fn number(self) -> u32;

    /// Returns the id of the element at a position of a list.
    #[inline(always)]
    fn at(position: usize) -> Self {
        Self::new(position as u32)
    }

    /// Returns the position in a list that others share.
    #[inline(always)]
    fn position(self) -> usize {
        self.number() as usize
    }
}

/// Numbers that have no type yet.
impl Id for u32 {
    #[inline(always)]
    fn new(number: u32) -> u32 {
        number
    }

    #[inline(always)]
    fn number(self) -> u32 {
        self
    }
}

/// Declares kinds of ids, each with its documentation and visibility: `/// A port. pub struct PortId;`.
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $visibility:vis struct $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        $visibility struct $name(u32);

        impl $name {
            /// The highest id.
            #[allow(dead_code, reason = "few kinds need it")]
            $visibility const MAX: $name = $name(u32::MAX);
        }

        impl $crate::Id for $name {
            #[inline(always)]
            fn new(number: u32) -> $name {
                $name(number)
            }

            #[inline(always)]
            fn number(self) -> u32 {
                self.0
            }
        }
    )*};
}

/// A vector that is indexed by ids of one kind.
pub struct IdVec<I, T> {
    items: Vec<T>,
    kind: PhantomData<fn(I)>,
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> IdVec<I, T> {
        IdVec { items: Vec::new(), kind: PhantomData }
    }
}

impl<I, T: Clone> Clone for IdVec<I, T> {
    fn clone(&self) -> IdVec<I, T> {
        IdVec { items: self.items.clone(), kind: PhantomData }
    }
}

impl<I, T: fmt::Debug> fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}

impl<I, T: PartialEq> PartialEq for IdVec<I, T> {
    fn eq(&self, other: &IdVec<I, T>) -> bool {
        self.items == other.items
    }
}

impl<I, T: Eq> Eq for IdVec<I, T> {}

impl<I, T> IdVec<I, T> {
    /// Returns an empty one.
    pub const fn new() -> IdVec<I, T> {
        IdVec { items: Vec::new(), kind: PhantomData }
    }

    /// Returns an empty one with room for so many elements.
    pub fn with_capacity(room: usize) -> IdVec<I, T> {
        IdVec::from(Vec::with_capacity(room))
    }
}

impl<I: Id, T> IdVec<I, T> {
    /// Returns one with an element like `item` for each of another.
    pub fn for_each_of<U>(others: &IdVec<I, U>, item: T) -> IdVec<I, T>
    where
        T: Clone,
    {
        IdVec::from(vec![item; others.len()])
    }

    /// Appends an element and returns its id.
    pub fn push(&mut self, item: T) -> I {
        let id = self.next_id();
        self.items.push(item);
        id
    }

    /// Makes room for so many more elements.
    pub fn reserve(&mut self, more: usize) {
        self.items.reserve_exact(more);
    }

    /// Returns the id that the next element pushed will have.
    pub fn next_id(&self) -> I {
        I::at(self.items.len())
    }

    /// Returns an element, if there is one of this id.
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.position())
    }

    /// As [`IdVec::get`], to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.items.get_mut(id.position())
    }

    /// Returns an element to be changed; where there is none yet, default ones are appended up to it.
    #[inline]
    pub fn get_or_grow(&mut self, id: I) -> &mut T
    where
        T: Default,
    {
        if self.items.len() <= id.position() {
            self.items.resize_with(id.position() + 1, T::default);
        }
        &mut self.items[id.position()]
    }

    /// Returns every id, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        let end = I::at(self.items.len()).number();
        (0..end).map(I::new)
    }

    /// Returns the elements with their ids, in order.
    pub fn enumerate(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.ids().zip(&self.items)
    }

    /// Returns the id of the first element for which `is` holds.
    pub fn find_id(&self, is: impl FnMut(&T) -> bool) -> Option<I> {
        self.items.iter().position(is).map(I::at)
    }
}

impl<I, T> From<Vec<T>> for IdVec<I, T> {
    fn from(items: Vec<T>) -> IdVec<I, T> {
        IdVec { items, kind: PhantomData }
    }
}

impl<I, T> From<IdVec<I, T>> for Vec<T> {
    fn from(of: IdVec<I, T>) -> Vec<T> {
        of.items
    }
}

/// A vector by ids is a slice for all that needs no index.
impl<I, T> Deref for IdVec<I, T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<I, T> DerefMut for IdVec<I, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, id: I) -> &T {
        &self.items[id.position()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.position()]
    }
}

impl<I, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<S: IntoIterator<Item = T>>(items: S) -> IdVec<I, T> {
        IdVec { items: items.into_iter().collect(), kind: PhantomData }
    }
}

impl<I, T> Extend<T> for IdVec<I, T> {
    fn extend<S: IntoIterator<Item = T>>(&mut self, items: S) {
        self.items.extend(items);
    }
}

impl<I, T> IntoIterator for IdVec<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, I, T> IntoIterator for &'a IdVec<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<'a, I, T> IntoIterator for &'a mut IdVec<I, T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    ids! {
        /// A port.
        struct PortId;
    }

    #[test]
    fn an_id_is_the_position() {
        let mut names: IdVec<PortId, &str> = IdVec::new();
        let (first, second) = (names.push("a->s"), names.push("s->b"));
        assert_eq!((first.number(), second.number(), names[second]), (0, 1, "s->b"));
        assert_eq!(names.enumerate().map(|(id, _)| id).collect::<Vec<_>>(), [first, second]);
        assert_eq!(
            (names.find_id(|name| *name == "s->b"), names.find_id(|name| name.is_empty())),
            (Some(second), None)
        );
        assert_eq!((names.get(PortId::at(1)), names.get(names.next_id())), (Some(&"s->b"), None));
        assert!(PortId::MAX > second);
    }

    #[test]
    fn what_is_not_there_yet_grows_up_to_its_id() {
        let mut counts: IdVec<PortId, u32> = IdVec::new();
        *counts.get_or_grow(PortId::new(2)) += 7;
        *counts.get_or_grow(PortId::new(0)) += 1;
        *counts.get_or_grow(PortId::new(2)) += 1;
        assert_eq!(counts, IdVec::from(vec![1, 0, 8]));
        for count in &mut counts {
            *count *= 10;
        }
        assert_eq!(counts, IdVec::from(vec![10, 0, 80]));
    }
}
