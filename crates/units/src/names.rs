//! Names of many things in one text, so that a name takes its letters and twelve octets.

use std::fmt;
use std::ops::{Deref, Index};
use std::sync::Arc;

/// Names, by their position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    text: String,
    /// Where each ends in the text.
    ends: Vec<usize>,
}

impl Names {
    /// Appends a name.
    pub fn push(&mut self, name: fmt::Arguments<'_>) {
        // Writing into a text cannot fail.
        let _ = fmt::Write::write_fmt(&mut self.text, name);
        self.ends.push(self.text.len());
    }

    /// Makes room for so many more names.
    pub fn reserve(&mut self, more: usize) {
        self.ends.reserve_exact(more);
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns them in their order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        (0..self.len()).map(|position| &self[position])
    }

    /// Returns each as a name that shares this list.
    pub fn shared(self) -> impl ExactSizeIterator<Item = Name> {
        let all = Arc::new(self);
        (0..all.len() as u32).map(move |number| Name { all: all.clone(), number })
    }

    /// Appends the names of another list.
    pub fn append(&mut self, others: &Names) {
        let before = self.text.len();
        self.text.push_str(&others.text);
        self.ends.extend(others.ends.iter().map(|end| before + end));
    }
}

/// The name at a position.
impl Index<usize> for Names {
    type Output = str;

    fn index(&self, position: usize) -> &str {
        let start = position.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[position]]
    }
}

impl<T: fmt::Display> FromIterator<T> for Names {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> Names {
        let mut all = Names::default();
        names.into_iter().for_each(|name| all.push(format_args!("{name}")));
        all
    }
}

/// A name in a list that others share. It reads as its text.
#[derive(Clone)]
pub struct Name {
    all: Arc<Names>,
    number: u32,
}

impl Name {
    /// Returns the list that it stands in.
    pub const fn list(&self) -> &Arc<Names> {
        &self.all
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.all[self.number as usize]
    }
}

impl From<String> for Name {
    fn from(name: String) -> Name {
        let ends = vec![name.len()];
        Name { all: Arc::new(Names { text: name, ends }), number: 0 }
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Name {
        name.to_owned().into()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        **self == **other
    }
}

impl Eq for Name {}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The empty name and letters of several octets have their places like others.
    #[test]
    fn names_stand_at_the_positions_at_which_they_were_put() {
        let names: Names = ["a->b", "", "zürich->b#2"].into_iter().collect();
        assert_eq!(names.iter().collect::<Vec<_>>(), ["a->b", "", "zürich->b#2"]);
        assert_eq!((names.len(), &names[2]), (3, "zürich->b#2"));
        assert!(!names.is_empty() && Names::default().is_empty());
        let mut written = Names::default();
        written.reserve(1);
        written.push(format_args!("{}->{}#{}", "x", "y", 12));
        written.append(&names);
        assert_eq!(written.iter().collect::<Vec<_>>(), ["x->y#12", "a->b", "", "zürich->b#2"]);
    }

    #[test]
    fn a_shared_name_reads_as_its_text() {
        let names: Names = ["one", "two"].into_iter().collect();
        let shared: Vec<Name> = names.shared().collect();
        assert_eq!(shared, [Name::from("one"), Name::from("two".to_owned())]);
        assert_eq!((shared[1].len(), &*shared[1], format!("{}", shared[0])), (3, "two", "one".to_owned()));
        assert_ne!(shared[0], shared[1]);
        assert_eq!(&shared[1].list()[0], "one");
        assert!(shared[0] == "one" && shared[0] == *"one" && format!("{:?}", shared[0]) == "\"one\"");
    }
}
