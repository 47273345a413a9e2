//! The shape of a scenario file, as data over the tables declared in `types`.

use super::arrivals::{Arrivals, carried_by};
use super::devices::{Adapters, Pause, Route, Routing, Switches, Watchdog, Wred};
use super::domain::{Defence, Domain};
use super::incidents::{Failure, PauseStorm};
use super::shapes::{Links, Topology};
use super::shared_buffer::{SharedBuffer, SharedBufferKind};
use super::transport::Transport;
use super::types::{Feedback, Hotspot, Record, Scenario, Traffic};
use qcnlab_schemes::params::{Choice, Field, Kind, Scalar, Variants};
use qcnlab_units::{Quantity, Span};

/// One table of a file, apart from the scheme's, whose fields the registry knows.
pub(crate) struct Section {
    /// Its key; empty for the file itself.
    pub(crate) name: &'static str,
    /// What it says.
    pub(crate) about: &'static str,
    /// Whether there can be several, written `[[name]]`.
    pub(crate) list: bool,
    /// Whether one table may stand for a list of one.
    pub(crate) single: bool,
    /// Whether a file must have it.
    pub(crate) required: bool,
    /// The keys that tell its kinds apart: none, one, or several whose kinds go together as `fits` says.
    pub(crate) kinds: &'static [KindKey],
    /// Returns the words of the last of these keys that go with a word of the first, in a section that has several.
    pub(crate) fits: fn(&str) -> &'static [&'static str],
    /// The fields of every kind.
    pub(crate) fields: &'static [Field],
}

/// A key that tells kinds of a section apart: `kind`, or one of several.
pub(crate) struct KindKey {
    /// The key.
    pub(crate) key: &'static str,
    /// What it chooses.
    pub(crate) about: &'static str,
    /// The kinds.
    pub(crate) choices: &'static [Choice],
    /// The fields of each kind, in the same order.
    pub(crate) fields: &'static [&'static [Field]],
    /// The kind of a table that names none.
    pub(crate) fallback: Option<&'static str>,
}

impl KindKey {
    const fn of<T: Variants>(key: &'static str, about: &'static str, fallback: Option<&'static str>) -> KindKey {
        KindKey { key, about, choices: T::CHOICES, fields: T::FIELDS, fallback }
    }
}

/// Of a section whose kinds one key tells apart, or none.
const fn alone(_: &str) -> &'static [&'static str] {
    &[]
}

/// The keys of the file itself.
pub(crate) const TOP: Section = Section {
    name: "",
    about: "An experiment.",
    list: false,
    single: true,
    required: true,
    kinds: &[],
    fits: alone,
    fields: Scenario::FIELDS,
};
/// `[topology]`.
pub(crate) const TOPOLOGY: Section = Section {
    name: "topology",
    about: "Hosts, switches and links.",
    list: false,
    single: true,
    required: true,
    kinds: &[KindKey::of::<Topology>("kind", "Shape of the network.", None)],
    fits: alone,
    fields: &[],
};
/// `[[link]]`.
pub(crate) const LINK: Section = Section {
    name: "link",
    about: "The links of a topology of kind graph; one entry or more.",
    list: true,
    single: false,
    required: false,
    kinds: &[],
    fits: alone,
    fields: Links::FIELDS,
};
/// `[[switch]]`.
pub(crate) const SWITCH: Section = Section {
    name: "switch",
    about: "How switches are built; none or more.",
    list: true,
    single: true,
    required: false,
    kinds: &[],
    fits: alone,
    fields: Switches::FIELDS,
};
/// `[[shared_buffer]]`.
pub(crate) const SHARED_BUFFER: Section = Section {
    name: "shared_buffer",
    about: "Switches with one buffer for all their ports; none or more.",
    list: true,
    single: true,
    required: false,
    kinds: &[KindKey::of::<SharedBufferKind>("kind", "Where the other numbers come from.", Some("dynamic"))],
    fits: alone,
    fields: SharedBuffer::FIELDS,
};
/// `[[wred]]`.
pub(crate) const WRED: Section = Section {
    name: "wred",
    about: "Thresholds of output queues, for marks and early drops; none or more.",
    list: true,
    single: true,
    required: false,
    kinds: &[],
    fits: alone,
    fields: Wred::FIELDS,
};
/// `[[adapter]]`.
pub(crate) const ADAPTER: Section = Section {
    name: "adapter",
    about: "How hosts send and receive; none or more.",
    list: true,
    single: true,
    required: false,
    kinds: &[],
    fits: alone,
    fields: Adapters::FIELDS,
};
/// `[[pause]]`.
pub(crate) const PAUSE: Section = Section {
    name: "pause",
    about: "When switches and hosts stop the links into them; none or more.",
    list: true,
    single: true,
    required: false,
    kinds: &[],
    fits: alone,
    fields: Pause::FIELDS,
};
/// `[[watchdog]]`.
pub(crate) const WATCHDOG: Section = Section {
    name: "watchdog",
    about: "The PFC watchdog of switches; none or more.",
    list: true,
    single: true,
    required: false,
    kinds: &[],
    fits: alone,
    fields: Watchdog::FIELDS,
};
/// `[routing]`.
pub(crate) const ROUTING: Section = Section {
    name: "routing",
    about: "How frames find their way.",
    list: false,
    single: true,
    required: false,
    kinds: &[],
    fits: alone,
    fields: Routing::FIELDS,
};
/// `[[route]]`.
pub(crate) const ROUTE: Section = Section {
    name: "route",
    about: "Ways written out, instead of shortest ones; none or more.",
    list: true,
    single: false,
    required: false,
    kinds: &[],
    fits: alone,
    fields: Route::FIELDS,
};
/// `[domain]`.
pub(crate) const DOMAIN: Section = Section {
    name: "domain",
    about: "Which priorities are under congestion control, and who takes part.",
    list: false,
    single: true,
    required: false,
    kinds: &[],
    fits: alone,
    fields: Domain::FIELDS,
};
/// `[[defence]]`.
pub(crate) const DEFENCE: Section = Section {
    name: "defence",
    about: "How ports defend the domain; none or more.",
    list: true,
    single: true,
    required: false,
    kinds: &[],
    fits: alone,
    fields: Defence::FIELDS,
};
/// `[[traffic]]`.
pub(crate) const TRAFFIC: Section = Section {
    name: "traffic",
    about: "What hosts send; one entry or more.",
    list: true,
    single: false,
    required: true,
    kinds: &[
        KindKey::of::<Arrivals>("arrivals", "When what is offered.", None),
        KindKey::of::<Transport>("transport", "What carries it.", Some("none")),
    ],
    fits: carried_by,
    fields: Traffic::FIELDS,
};
/// `[[hotspot]]`.
pub(crate) const HOTSPOT: Section = Section {
    name: "hotspot",
    about: "A time during which a port serves at another rate; none or more.",
    list: true,
    single: false,
    required: false,
    kinds: &[],
    fits: alone,
    fields: Hotspot::FIELDS,
};
/// `[[failure]]`.
pub(crate) const FAILURE: Section = Section {
    name: "failure",
    about: "A time during which a link is down; none or more.",
    list: true,
    single: false,
    required: false,
    kinds: &[],
    fits: alone,
    fields: Failure::FIELDS,
};
/// `[[pause_storm]]`.
pub(crate) const PAUSE_STORM: Section = Section {
    name: "pause_storm",
    about: "A time during which a host pauses its link, whatever it holds; none or more.",
    list: true,
    single: false,
    required: false,
    kinds: &[],
    fits: alone,
    fields: PauseStorm::FIELDS,
};
/// `[feedback]`.
pub(crate) const FEEDBACK: Section = Section {
    name: "feedback",
    about: "How signals travel back to the sources.",
    list: false,
    single: true,
    required: false,
    kinds: &[KindKey::of::<Feedback>("kind", "How signals travel.", Some("ideal"))],
    fits: alone,
    fields: &[],
};
/// `[record]`.
pub(crate) const RECORD: Section = Section {
    name: "record",
    about: "What a run writes down, and how finely.",
    list: false,
    single: true,
    required: false,
    kinds: &[],
    fits: alone,
    fields: Record::FIELDS,
};

/// All tables with declared fields, in the order they are printed; the scheme's stands before `[record]`.
pub(crate) const SECTIONS: [&Section; 18] = [
    &TOPOLOGY,
    &LINK,
    &SWITCH,
    &SHARED_BUFFER,
    &WRED,
    &ADAPTER,
    &PAUSE,
    &WATCHDOG,
    &ROUTING,
    &ROUTE,
    &DOMAIN,
    &DEFENCE,
    &TRAFFIC,
    &HOTSPOT,
    &FAILURE,
    &PAUSE_STORM,
    &FEEDBACK,
    &RECORD,
];

/// The keys of `[scheme]`, with what they mean.
pub(crate) const SCHEME_KEYS: [(&str, &str); 4] = [
    ("name", "Which scheme controls congestion."),
    ("preset", "The set of parameters to start from; left out, the scheme's first."),
    ("cp", "Parameters of the congestion point that differ from the preset."),
    ("rp", "Parameters of the reaction point that differ from the preset."),
];
/// What `[scheme]` says.
pub(crate) const SCHEME_ABOUT: &str = "The congestion management scheme.";

impl Section {
    /// The section as messages name it.
    pub(crate) fn title(&self) -> String {
        match (self.name, self.list) {
            ("", _) => "the scenario".to_owned(),
            (name, false) => format!("[{name}]"),
            (name, true) => format!("[[{name}]]"),
        }
    }

    /// The fields of a table whose kinds have these positions, in the order of [`Self::kinds`]; those of the kinds first.
    pub(crate) fn fields_of(&self, kinds: &[usize]) -> impl Iterator<Item = &'static Field> {
        let own = self.kinds.iter().zip(kinds).flat_map(|(key, kind)| key.fields[*kind]);
        own.collect::<Vec<_>>().into_iter().chain(self.fields)
    }

    /// The kinds that a table can have, as positions in the order of [`Self::kinds`].
    pub(crate) fn combinations(&self) -> Vec<Vec<usize>> {
        match self.kinds {
            [] => vec![Vec::new()],
            [only] => (0..only.choices.len()).map(|kind| vec![kind]).collect(),
            [first, .., last] => {
                let fit = |(kind, choice): (usize, &Choice)| {
                    let words = (self.fits)(choice.name);
                    let with = (0..last.choices.len()).filter(|with| words.contains(&last.choices[*with].name));
                    with.map(|with| vec![kind, with]).collect::<Vec<_>>()
                };
                first.choices.iter().enumerate().flat_map(fit).collect()
            }
        }
    }

    /// The dotted keys of all kinds, with the field where a table declares one.
    pub(crate) fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = self.kinds.iter().map(|kind| dotted(self.name, kind.key)).collect();
        keys.extend(self.all_fields().map(|field| dotted(self.name, field.name)));
        keys
    }

    /// The fields of all its kinds, one after another.
    pub(crate) fn all_fields(&self) -> impl Iterator<Item = &'static Field> {
        self.kinds.iter().flat_map(|key| key.fields.iter().copied().flatten()).chain(self.fields)
    }
}

/// `table.key`, or `key` alone in the file itself.
pub(crate) fn dotted(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}

/// A line that would set `field`, for messages.
pub(crate) fn example(field: &Field) -> String {
    let value = match field.kind {
        Kind::Size => "1500 B",
        Kind::Rate => Quantity::Rate.example(),
        Kind::Time => Quantity::Time.example(),
        Kind::Number | Kind::Integer => return format!("{} = 1", field.name),
        Kind::Flag => return format!("{} = true", field.name),
        Kind::Choice(choices) => choices.first().map_or("", |c| c.name),
        Kind::Text => "...",
    };
    format!("{} = \"{value}\"", field.name)
}

/// A line that would set `field` as `written` probably meant to, for messages.
pub(crate) fn example_like(field: &Field, written: Option<&Scalar>) -> String {
    match (field.kind, written) {
        (Kind::Text, Some(written)) => format!("{} = \"{written}\"", field.name),
        (Kind::Integer, Some(Scalar::Real(x))) if *x >= 1.0 && *x <= 1e9 => format!("{} = {x:.0}", field.name),
        (Kind::Choice(words), _) => {
            let words: Vec<String> = words.iter().map(|word| format!("\"{}\"", word.name)).collect();
            format!("{} = {}", field.name, words.join(" or "))
        }
        (Kind::Flag, Some(Scalar::Text(written))) if field.name == "drain" && written.parse::<Span>().is_ok() => {
            format!("drain = true, and set duration {written} or more after stop_arrivals")
        }
        (Kind::Flag, _) => format!("{name} = true or {name} = false, without quotes", name = field.name),
        _ => example(field),
    }
}

/// Documentation as plain text: one line a paragraph.
pub(crate) fn plain(about: &str) -> String {
    let lines: Vec<&str> = about.lines().map(str::trim).collect();
    let paragraphs: Vec<String> = lines.split(|line| line.is_empty()).map(|lines| lines.join(" ")).collect();
    paragraphs.join("\n").trim().to_owned()
}
