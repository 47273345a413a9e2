//! Indices as types, so that a port's is never taken for a flow's, and vectors that only their own index opens.
//!
//! Plans and traces number ports, flows and nodes by their position in the plan; [`Id::number`] gives that.

use std::iter::FromIterator;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// An index into an [`IdVec`].
pub(crate) trait Id: Copy {
    /// The id of the element at position `number`.
    fn new(number: u32) -> Self;
    /// The position, from 0.
    fn number(self) -> u32;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub(crate) struct $name(u32);

        impl $name {
            /// The highest id.
            #[allow(dead_code, reason = "few kinds need it")]
            pub(crate) const MAX: $name = $name(u32::MAX);
        }

        impl Id for $name {
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

ids! {
    /// A switch or a host.
    NodeId;
    /// One direction of a link, with the queue before it.
    PortId;
    /// The priority queues of a port that has some.
    QueuesId;
    /// The buffer that counts what arrives over a link.
    InputId;
    /// The shared buffer of a node that has one.
    SharedBufferId;
    /// The congestion point of a queue.
    PortCpId;
    /// One path of a flow.
    PathId;
    /// A flow.
    FlowId;
    /// A rate limiter with its reaction point.
    LimiterId;
    /// A host's adapter that several flows share.
    AdapterId;
    /// A generator of traffic.
    GeneratorId;
    /// A port at which paths end.
    SinkId;
    /// What a control frame under way carries.
    ControlFrameId;
    /// What a RoCE packet under way carries.
    PacketId;
}

/// A vector that is indexed by ids of one kind.
#[derive(Clone, Debug)]
pub(crate) struct IdVec<I, T> {
    items: Vec<T>,
    kind: PhantomData<fn(I)>,
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> IdVec<I, T> {
        IdVec { items: Vec::new(), kind: PhantomData }
    }
}

impl<I: Id, T> IdVec<I, T> {
    pub(crate) const fn new() -> IdVec<I, T> {
        IdVec { items: Vec::new(), kind: PhantomData }
    }

    /// Appends an element and returns its id.
    pub(crate) fn push(&mut self, item: T) -> I {
        let id = self.next_id();
        self.items.push(item);
        id
    }

    /// Makes room for so many more elements.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.items.reserve_exact(more);
    }

    /// The id that the next element pushed will have.
    pub(crate) fn next_id(&self) -> I {
        I::new(self.items.len() as u32)
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.number() as usize)
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.items.get_mut(id.number() as usize)
    }

    /// Every id, in order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.items.len() as u32).map(I::new)
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// Elements with their ids, in order.
    pub(crate) fn enumerate(&self) -> impl Iterator<Item = (I, &T)> {
        self.ids().zip(&self.items)
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, id: I) -> &T {
        &self.items[id.number() as usize]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.number() as usize]
    }
}

impl<I, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<S: IntoIterator<Item = T>>(items: S) -> IdVec<I, T> {
        IdVec { items: items.into_iter().collect(), kind: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_position() {
        let mut names: IdVec<PortId, &str> = IdVec::new();
        let (first, second) = (names.push("a->s"), names.push("s->b"));
        assert_eq!((first.number(), second.number(), names[second]), (0, 1, "s->b"));
        assert_eq!(names.enumerate().map(|(id, _)| id).collect::<Vec<_>>(), [first, second]);
    }
}
