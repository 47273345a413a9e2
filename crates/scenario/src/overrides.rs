//! Changes to a document, written `dotted.key=value`.
//!
//! An override changes the text of the file, before defaults are filled in: a
//! default that depends on an overridden key follows it. Naming another
//! scheme drops the file's preset and its parameters of the old scheme.

use super::document::{Content, Document, DocumentEntry, DocumentNode, MOST_LEVELS, scalar};
use super::error::ScenarioError;
use super::fault::Fault;
use super::position::Position;
use std::sync::Arc;

/// `document` with `assignments` applied in their order.
pub(crate) fn apply(document: &Document, assignments: &[&str]) -> Result<Document, ScenarioError> {
    let assignments: Vec<Assignment> =
        assignments.iter().map(|text| Assignment::read(text, document)).collect::<Result<_, _>>()?;
    apply_read(document, &assignments.iter().collect::<Vec<_>>())
}

/// As [`apply`], of assignments that have been read.
pub(crate) fn apply_read(document: &Document, assignments: &[&Assignment]) -> Result<Document, ScenarioError> {
    let mut changed = document.clone();
    for assignment in assignments.iter().filter(|assignment| assignment.names_a_scheme()) {
        let before = changed.root.find("scheme.name").map(|n| n.content.words());
        if before.is_some_and(|before| before != assignment.value.words()) {
            changed.root.forget("scheme", &["preset", "cp", "rp"]);
        }
    }
    for assignment in assignments {
        let node = DocumentNode { content: assignment.value.clone(), position: assignment.position.clone() };
        set(&mut changed.root, "", &assignment.path, node)
            .map_err(|fault| document.error(fault, &assignment.position))?;
    }
    Ok(changed)
}

/// A key and the value that it is to have.
pub(crate) struct Assignment {
    path: Vec<String>,
    value: Content,
    position: Position,
}

impl Assignment {
    /// Reads `dotted.key=value`; a message is about `document`.
    pub(crate) fn read(text: &str, document: &Document) -> Result<Assignment, ScenarioError> {
        let position = Position::Override(Arc::from(text));
        let Some((key, value)) = text.split_once('=').filter(|(key, _)| !key.trim().is_empty()) else {
            return Err(document.error(Fault::NoAssignment, &position));
        };
        if key.split('.').count() > MOST_LEVELS {
            return Err(document.error(Fault::TooDeep { limit: MOST_LEVELS }, &position));
        }
        let path = key.split('.').map(|step| step.trim().to_owned()).collect();
        Ok(Assignment { path, value: scalar(value), position })
    }

    /// Returns the first step of the key, which names its table or is a key of the file itself.
    pub(crate) fn section(&self) -> &str {
        &self.path[0]
    }

    /// Whether it names a scheme, which drops what the text says of another one.
    pub(crate) fn names_a_scheme(&self) -> bool {
        self.path == ["scheme", "name"]
    }

    /// Whether both are about one table, so that their order may matter.
    pub(crate) fn meets(&self, other: &Assignment) -> bool {
        self.section() == other.section()
    }
}

/// Puts `value` where `path` leads, which starts below `at`.
fn set(node: &mut DocumentNode, at: &str, path: &[String], value: DocumentNode) -> Result<(), Fault> {
    let Some((step, rest)) = path.split_first() else {
        *node = value;
        return Ok(());
    };
    let below = super::layout::dotted(at, step);
    match &mut node.content {
        Content::Table(entries) => {
            let index = entries.iter().position(|e| e.key == *step).unwrap_or_else(|| {
                let position = value.position.clone();
                let content = Content::Table(Vec::new());
                entries.push(DocumentEntry {
                    key: step.clone(),
                    position: position.clone(),
                    node: Arc::new(DocumentNode { content, position }),
                });
                entries.len() - 1
            });
            set(Arc::make_mut(&mut entries[index].node), &below, rest, value)
        }
        Content::List(nodes) => {
            let count = nodes.len();
            match (step.parse::<usize>(), count) {
                (Ok(index), _) if index < count => set(&mut nodes[index], &below, rest, value),
                (Err(_), 1) => set(&mut nodes[0], at, path, value),
                _ => Err(Fault::NoEntry { list: at.to_owned(), entry: step.clone(), count }),
            }
        }
        Content::Scalar(_) | Content::Foreign(_) => Err(Fault::NotATable { key: at.to_owned(), below: step.clone() }),
    }
}

impl DocumentNode {
    /// Removes `keys` from the table under `table`.
    fn forget(&mut self, table: &str, keys: &[&str]) {
        if let Content::Table(entries) = &mut self.content
            && let Some(entry) = entries.iter_mut().find(|e| e.key == table)
            && let Content::Table(entries) = &mut Arc::make_mut(&mut entry.node).content
        {
            entries.retain(|e| !keys.contains(&&*e.key));
        }
    }
}
