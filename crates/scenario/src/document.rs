//! A file as a tree of keys and values, each with its position, before keys and values are checked.

use super::error::ScenarioError;
use super::fault::Fault;
use super::position::Position;
use qcnlab_schemes::params::Scalar;
use std::ops::Range;
use std::sync::Arc;
use toml_parser::lexer::TokenKind;

/// Levels that a key may have. Tables in tables are walked by functions that call themselves, so there must be an end;
/// the deepest keys of a scenario have three levels.
pub(crate) const MOST_LEVELS: usize = 8;

/// Where a dotted key of TOML text goes deeper than [`MOST_LEVELS`], if one does.
fn too_deep(text: &str) -> Option<Range<usize>> {
    let mut dots = 0;
    toml_parser::Source::new(text).lex().find_map(|token| {
        match token.kind() {
            TokenKind::Dot => dots += 1,
            TokenKind::Atom | TokenKind::BasicString | TokenKind::LiteralString | TokenKind::Whitespace => {}
            _ => dots = 0,
        }
        (dots >= MOST_LEVELS).then(|| token.span().start()..token.span().end())
    })
}

/// A text and the tree read from it, with overrides applied.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// The name used in messages.
    pub(crate) name: String,
    /// The text; empty when positions are not known.
    pub(crate) text: Arc<str>,
    /// The tree.
    pub(crate) root: DocumentNode,
}

/// A value and its position.
#[derive(Clone, Debug)]
pub(crate) struct DocumentNode {
    pub(crate) content: Content,
    pub(crate) position: Position,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Scalar(Scalar),
    Table(Vec<DocumentEntry>),
    List(Vec<DocumentNode>),
    /// Something that no scenario contains, in words.
    Foreign(&'static str),
}

/// A key of a table and its value, which documents share until one of them changes it.
#[derive(Clone, Debug)]
pub(crate) struct DocumentEntry {
    pub(crate) key: String,
    pub(crate) position: Position,
    pub(crate) node: Arc<DocumentNode>,
}

/// What a whole number is called that TOML has no room for.
const ABOVE_ALL: &str = "a whole number above 9223372036854775807";
const BELOW_ALL: &str = "a whole number below -9223372036854775808";

impl Content {
    /// What to call it in a message.
    pub(crate) fn words(&self) -> String {
        match self {
            Content::Scalar(scalar) => scalar.to_string(),
            Content::Table(_) => "a table".to_owned(),
            Content::List(_) => "a list".to_owned(),
            Content::Foreign(words) => (*words).to_owned(),
        }
    }
}

impl DocumentNode {
    /// The value under `key`, if this is a table that has it.
    pub(crate) fn entry(&self, key: &str) -> Option<&DocumentEntry> {
        match &self.content {
            Content::Table(entries) => entries.iter().find(|e| e.key == key),
            _ => None,
        }
    }

    /// Follows a dotted path; the entries of a list are counted from 0, and a table is a list of one.
    pub(crate) fn find(&self, path: &str) -> Option<&DocumentNode> {
        path.split('.').try_fold(self, |node, step| match &node.content {
            Content::List(nodes) => nodes.get(step.parse::<usize>().ok()?),
            _ if step == "0" => Some(node),
            _ => node.entry(step).map(|e| &*e.node),
        })
    }
}

impl Document {
    /// Reads TOML text; a byte order mark before it is ignored.
    pub(crate) fn from_toml(text: &str, name: &str) -> Result<Document, ScenarioError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let empty = DocumentNode { content: Content::Table(Vec::new()), position: Position::Span(0..0) };
        let mut document = Document { name: name.to_owned(), text: text.into(), root: empty };
        if let Some(span) = too_deep(text) {
            return Err(document.error(Fault::TooDeep { limit: MOST_LEVELS }, &Position::Span(span)));
        }
        match toml::de::DeTable::parse(text) {
            Ok(table) => {
                document.root =
                    DocumentNode { position: Position::Span(table.span()), content: toml_table(table.into_inner()) };
                Ok(document)
            }
            Err(error) => {
                let span = error.span().unwrap_or(text.len()..text.len());
                let cut_off = text[span.start.min(text.len())..].trim().is_empty() || span.end >= text.trim_end().len();
                let fault = Fault::Syntax { what: error.message().replace('\n', "; "), cut_off };
                Err(document.error(fault, &Position::Span(span)))
            }
        }
    }

    /// Reads JSON text of the same shape.
    pub(crate) fn from_json(text: &str, name: &str) -> Result<Document, ScenarioError> {
        let empty = DocumentNode { content: Content::Table(Vec::new()), position: Position::Key(String::new()) };
        let mut document = Document { name: name.to_owned(), text: "".into(), root: empty };
        match serde_json::from_str(text) {
            Ok(value) => {
                document.root = json_node(&value, "");
                Ok(document)
            }
            Err(error) => {
                let line_start: usize =
                    text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
                let at = line_start + error.column().saturating_sub(1);
                document.text = text.into();
                let what = error.to_string();
                let what = what.split(" at line ").next().unwrap_or(&what).to_owned();
                Err(document.error(Fault::Syntax { what, cut_off: error.is_eof() }, &Position::Span(at..at)))
            }
        }
    }

    /// The tree as JSON, from which [`Document::from_json`] makes the same tree. What no scenario contains is null.
    pub(crate) fn to_json(&self) -> String {
        json_of(&self.root).to_string()
    }

    /// `fault` found at `position` of this document.
    pub(crate) fn error(&self, fault: Fault, position: &Position) -> ScenarioError {
        ScenarioError::new(fault, &self.name, &self.text, position)
    }
}

fn toml_table(table: toml::de::DeTable<'_>) -> Content {
    let mut entries: Vec<DocumentEntry> = table
        .into_iter()
        .map(|(key, value)| DocumentEntry {
            position: Position::Span(key.span()),
            key: key.into_inner().into_owned(),
            node: Arc::new(toml_node(value)),
        })
        .collect();
    entries.sort_by_key(|e| match &e.position {
        Position::Span(span) => span.start,
        _ => 0,
    });
    Content::Table(entries)
}

fn toml_node(value: toml::Spanned<toml::de::DeValue<'_>>) -> DocumentNode {
    let position = Position::Span(value.span());
    let content = match value.into_inner() {
        toml::de::DeValue::Table(table) => toml_table(table),
        toml::de::DeValue::Array(items) => Content::List(items.into_iter().map(toml_node).collect()),
        scalar => toml_scalar(&scalar),
    };
    DocumentNode { content, position }
}

/// A TOML value that is neither a table nor a list.
pub(crate) fn toml_scalar(value: &toml::de::DeValue<'_>) -> Content {
    use toml::de::DeValue;
    match value {
        DeValue::String(text) => Content::Scalar(Scalar::Text(text.clone().into_owned())),
        DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Content::Scalar(Scalar::Integer(n)),
            Err(_) => Content::Foreign(if n.as_str().starts_with('-') { BELOW_ALL } else { ABOVE_ALL }),
        },
        DeValue::Float(x) => match x.as_str().parse() {
            Ok(x) => Content::Scalar(Scalar::Real(x)),
            Err(_) => Content::Foreign("no number"),
        },
        DeValue::Boolean(b) => Content::Scalar(Scalar::Flag(*b)),
        DeValue::Datetime(_) => Content::Foreign("a date"),
        DeValue::Array(_) => Content::Foreign("a list"),
        DeValue::Table(_) => Content::Foreign("a table"),
    }
}

fn json_of(node: &DocumentNode) -> serde_json::Value {
    use serde_json::Value;
    match &node.content {
        Content::Scalar(Scalar::Text(text)) => Value::from(text.as_str()),
        Content::Scalar(Scalar::Integer(n)) => Value::from(*n),
        Content::Scalar(Scalar::Real(x)) => Value::from(*x),
        Content::Scalar(Scalar::Flag(flag)) => Value::from(*flag),
        Content::Table(entries) => {
            Value::Object(entries.iter().map(|entry| (entry.key.clone(), json_of(&entry.node))).collect())
        }
        Content::List(nodes) => nodes.iter().map(json_of).collect(),
        Content::Foreign(_) => Value::Null,
    }
}

fn json_node(value: &serde_json::Value, path: &str) -> DocumentNode {
    use serde_json::Value;
    let below = |step: &str| if path.is_empty() { step.to_owned() } else { format!("{path}.{step}") };
    let content = match value {
        Value::Null => Content::Foreign("null"),
        Value::Bool(b) => Content::Scalar(Scalar::Flag(*b)),
        Value::Number(n) => match (n.as_i64(), n.as_f64()) {
            (Some(n), _) => Content::Scalar(Scalar::Integer(n)),
            (None, _) if n.is_u64() => Content::Foreign(ABOVE_ALL),
            (None, Some(x)) => Content::Scalar(Scalar::Real(x)),
            (None, None) => Content::Foreign("no number"),
        },
        Value::String(text) => Content::Scalar(Scalar::Text(text.clone())),
        Value::Array(items) => {
            Content::List(items.iter().enumerate().map(|(i, item)| json_node(item, &below(&i.to_string()))).collect())
        }
        Value::Object(map) => Content::Table(
            map.iter()
                .map(|(key, value)| {
                    let path = below(key);
                    DocumentEntry {
                        key: key.clone(),
                        node: Arc::new(json_node(value, &path)),
                        position: Position::Key(path),
                    }
                })
                .collect(),
        ),
    };
    DocumentNode { content, position: Position::Key(path.to_owned()) }
}

/// Read a value as TOML does or, where it is no TOML, as text: so that quotes are optional.
pub(crate) fn scalar(text: &str) -> Content {
    let few_dots = text.matches('.').count() < MOST_LEVELS;
    if !few_dots && too_deep(text).is_some() {
        return Content::Scalar(Scalar::Text(text.trim().to_owned()));
    }
    match toml::de::DeValue::parse(text.trim()).map(|value| toml_scalar(value.get_ref())) {
        Ok(Content::Scalar(scalar)) => Content::Scalar(scalar),
        Ok(Content::Foreign(words)) if [ABOVE_ALL, BELOW_ALL].contains(&words) => Content::Foreign(words),
        _ => Content::Scalar(Scalar::Text(text.trim().to_owned())),
    }
}
