//! Names with wildcards and ranges: `host*`, `node{2..5}`, `node{1..58..3}`, `edge1, edge3`.

/// Names that one pattern may produce.
const MOST: u64 = 1_000_000;

/// What is wrong with a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// An empty name: nothing between two commas, or no text at all.
    #[error("a name is empty")]
    Empty,
    /// A brace without its other half, or something between braces that is no range.
    #[error("a range is written {{1..8}} or, with a step, {{1..15..2}}")]
    Range,
    /// A range that has no members.
    #[error("a range counts up: {first} comes after {last}")]
    Down {
        /// Where it begins.
        first: u64,
        /// Where it ends.
        last: u64,
    },
    /// Steps of zero.
    #[error("a range counts up by 1 or more")]
    NoStep,
    /// A wildcard in a pattern that makes names.
    #[error("* can stand for names that are there, not for new ones")]
    Wildcard,
    /// More names than a network has.
    #[error("it stands for more than {MOST} names")]
    TooMany,
}

/// Alternatives, each a row of pieces.
#[derive(Clone, Debug)]
pub struct Pattern(Vec<Vec<Piece>>);

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Any,
    Numbers { first: u64, last: u64, step: u64 },
}

impl Pattern {
    /// Reads a pattern.
    pub fn read(text: &str) -> Result<Pattern, PatternError> {
        text.split(',').map(|one| pieces(one.trim())).collect::<Result<_, _>>().map(Pattern)
    }

    /// Whether `name` matches one of the alternatives.
    pub fn matches(&self, name: &str) -> bool {
        self.0.iter().any(|pieces| fits(pieces, name))
    }

    /// The first alternative that `name` matches, counted from 0.
    pub fn rank(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|pieces| fits(pieces, name))
    }

    /// Returns every name that the pattern produces, in order.
    pub fn names(&self) -> Result<Vec<String>, PatternError> {
        let mut all = Vec::new();
        for pieces in &self.0 {
            let mut names = vec![String::new()];
            for piece in pieces {
                names = piece.append(&names)?;
            }
            all.extend(names);
        }
        if all.len() as u64 > MOST { Err(PatternError::TooMany) } else { Ok(all) }
    }
}

impl Piece {
    fn append(&self, names: &[String]) -> Result<Vec<String>, PatternError> {
        match self {
            Piece::Any => Err(PatternError::Wildcard),
            Piece::Text(text) => Ok(names.iter().map(|name| format!("{name}{text}")).collect()),
            Piece::Numbers { first, last, step } => {
                let count = (last - first) / step + 1;
                if count.saturating_mul(names.len() as u64) > MOST {
                    return Err(PatternError::TooMany);
                }
                let numbers = || (0..count).map(|i| first + i * step);
                Ok(names.iter().flat_map(|name| numbers().map(move |n| format!("{name}{n}"))).collect())
            }
        }
    }
}

fn pieces(mut text: &str) -> Result<Vec<Piece>, PatternError> {
    if text.is_empty() {
        return Err(PatternError::Empty);
    }
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let end = text.find(['*', '{', '}']).unwrap_or(text.len());
        if end > 0 {
            pieces.push(Piece::Text(text[..end].to_owned()));
        }
        text = &text[end..];
        if let Some(rest) = text.strip_prefix('*') {
            pieces.push(Piece::Any);
            text = rest;
        } else if let Some(rest) = text.strip_prefix('{') {
            let (inside, rest) = rest.split_once('}').ok_or(PatternError::Range)?;
            pieces.push(range(inside)?);
            text = rest;
        } else if !text.is_empty() {
            return Err(PatternError::Range);
        }
    }
    Ok(pieces)
}

fn range(inside: &str) -> Result<Piece, PatternError> {
    let numbers: Vec<u64> = inside
        .split("..")
        .map(|number| number.trim().parse().map_err(|_| PatternError::Range))
        .collect::<Result<_, _>>()?;
    let (first, last, step) = match numbers[..] {
        [first, last] => (first, last, 1),
        [first, last, step] => (first, last, step),
        _ => return Err(PatternError::Range),
    };
    match (first <= last, step > 0) {
        (false, _) => Err(PatternError::Down { first, last }),
        (_, false) => Err(PatternError::NoStep),
        _ => Ok(Piece::Numbers { first, last, step }),
    }
}

/// Whether all of `name` fits `pieces`. A number of a range is written without leading zeros.
fn fits(pieces: &[Piece], name: &str) -> bool {
    let Some((piece, rest)) = pieces.split_first() else {
        return name.is_empty();
    };
    match piece {
        Piece::Text(text) => name.strip_prefix(text.as_str()).is_some_and(|name| fits(rest, name)),
        Piece::Any if rest.is_empty() => true,
        Piece::Any => name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| fits(rest, &name[at..])),
        Piece::Numbers { first, last, step } => {
            let digits = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len());
            let (number, after) = name.split_at(digits);
            let plain = number == "0" || !number.starts_with('0');
            let member = |n: u64| n >= *first && n <= *last && (n - first).is_multiple_of(*step);
            plain && number.parse().is_ok_and(member) && fits(rest, after)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Pattern::read(pattern).is_ok_and(|pattern| pattern.matches(name))
    }

    #[test]
    fn stars_and_ranges_match() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("source1*", "source10", true),
            ("s*e*0", "source10", true),
            ("source??", "source10", false),
            ("node{2..5}", "node5", true),
            ("node{2..5}", "node55", false),
            ("node{2..5}", "node05", false),
            ("node{1..58..3}", "node4", true),
            ("node{1..58..3}", "node5", false),
            ("a, b{1..2}*", "b2->c", true),
            ("*->node{1..3}", "core->node3", true),
            ("*->node{1..3}", "node1->core", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn names_are_listed_in_order() {
        let names = |text: &str| Pattern::read(text).and_then(|pattern| pattern.names());
        assert_eq!(
            names("pod{1..2}-host{1..5..2}, core").map(|n| n.join(" ")).as_deref(),
            Ok("pod1-host1 pod1-host3 pod1-host5 pod2-host1 pod2-host3 pod2-host5 core")
        );
        assert_eq!(names("node*"), Err(PatternError::Wildcard));
        assert_eq!(names("n{1..9999999}"), Err(PatternError::TooMany));
        assert_eq!(names("n{1..2000}{1..2000}"), Err(PatternError::TooMany));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for (text, error) in [
            ("", PatternError::Empty),
            ("a,,b", PatternError::Empty),
            ("a{1..3", PatternError::Range),
            ("a1..3}", PatternError::Range),
            ("a{1-3}", PatternError::Range),
            ("a{3..1}", PatternError::Down { first: 3, last: 1 }),
            ("a{1..3..0}", PatternError::NoStep),
        ] {
            assert_eq!(Pattern::read(text).map(|_| ()), Err(error), "{text}");
        }
    }
}
