//! A fault of a scenario with its position, as a message.

use super::fault::Fault;
use super::position::Position;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use std::borrow::Cow;
use std::fmt;

/// A scenario that cannot be used: what is wrong, where, and what to do.
#[derive(Clone)]
pub struct ScenarioError(Box<Inner>);

#[derive(Clone)]
struct Inner {
    fault: Fault,
    name: String,
    text: String,
    position: Option<Position>,
}

impl ScenarioError {
    pub(crate) fn new(fault: Fault, name: &str, text: &str, position: &Position) -> ScenarioError {
        let (name, text) = (name.to_owned(), text.to_owned());
        ScenarioError(Box::new(Inner { fault, name, text, position: Some(position.clone()) }))
    }

    /// A fault of something that is in no file, such as a name on the command line.
    pub(crate) fn nowhere(fault: Fault) -> ScenarioError {
        ScenarioError(Box::new(Inner { fault, name: String::new(), text: String::new(), position: None }))
    }

    /// What is wrong, as data.
    pub fn fault(&self) -> &Fault {
        &self.0.fault
    }

    /// Returns the file's name, unless the fault is an override's or in no file.
    pub fn file(&self) -> Option<&str> {
        matches!(self.0.position, Some(Position::Span(_) | Position::Key(_))).then_some(&*self.0.name)
    }

    /// Returns the override that is at fault, as the caller wrote it.
    pub fn in_override(&self) -> Option<&str> {
        match &self.0.position {
            Some(Position::Override(text)) => Some(text),
            _ => None,
        }
    }

    /// The line, from 1.
    pub fn line(&self) -> Option<usize> {
        self.start().map(|at| 1 + self.0.text[..at].matches('\n').count())
    }

    /// The column in characters, from 1.
    pub fn column(&self) -> Option<usize> {
        let at = self.start()?;
        let line = self.0.text[..at].rfind('\n').map_or(0, |i| i + 1);
        Some(1 + self.0.text[line..at].chars().count())
    }

    /// Returns what is wrong in one line, without the position.
    pub fn message(&self) -> String {
        self.0.fault.to_string()
    }

    /// What to write instead, or where to look.
    pub fn hint(&self) -> Option<String> {
        self.0.fault.hint()
    }

    /// The whole message, with the line at fault and a caret, without colours or a final newline.
    pub fn render(&self) -> String {
        self.render_with(&Renderer::plain())
    }

    /// As [`Self::render`], with colour codes for a terminal.
    pub fn render_styled(&self) -> String {
        self.render_with(&Renderer::styled())
    }

    fn start(&self) -> Option<usize> {
        match &self.0.position {
            Some(Position::Span(span)) => Some(boundary(&self.0.text, span.start)),
            _ => None,
        }
    }

    fn render_with(&self, renderer: &Renderer) -> String {
        let Inner { name, text, position, .. } = &*self.0;
        let title = Level::ERROR.primary_title(self.message());
        let group = match position {
            Some(Position::Span(span)) => {
                let caret = AnnotationKind::Primary.span(boundary(text, span.start)..boundary(text, span.end));
                title.element(Snippet::source(text).path(name).annotation(caret))
            }
            Some(Position::Key(key)) if key.is_empty() => title.element(Origin::path(name)),
            Some(Position::Key(key)) => title.element(Origin::path(format!("{name}: {key}"))),
            Some(Position::Override(text)) => {
                title.element(Origin::path(format!("in override \"{}\"", shortened(text))))
            }
            None => Group::with_title(title),
        };
        match self.hint() {
            Some(hint) => renderer.render(&[group.element(Level::HELP.message(hint))]),
            None => renderer.render(&[group]),
        }
    }
}

/// The text, or its beginning if it is longer than lines of a terminal are.
fn shortened(text: &str) -> Cow<'_, str> {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => Cow::Owned(format!("{}...", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// The start of the character of `text` that octet `at` belongs to, or the end of the text.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render())
    }
}

impl fmt::Debug for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{}", self.render())
    }
}

impl std::error::Error for ScenarioError {}
