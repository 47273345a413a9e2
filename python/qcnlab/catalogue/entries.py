"""What the catalogues hold: one class for each kind of entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from qcnlab.metrics import Metric

Value = str | float | bool
"""A parameter's value: a quantity as text, a word, a number, or whether something is so."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a parameter can be.

    Attributes
    ----------
    key : str
        The parameter.
    name : str
        The word in a scenario.
    about : str
        What it means.
    """

    kind: ClassVar[str] = "choice"
    key: str
    name: str
    about: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A key that a scenario file may have.

    Attributes
    ----------
    key : str
        With its tables: ``scheme.cp.w``.
    scheme : str, optional
        The scheme whose it is; `None` for keys of all.
    type : str
        ``size``, ``rate``, ``time``, ``number``, ``choice``, ...
    default_base : float, optional
        The default in its base unit.
    default : str, optional
        The default as a file has it, or the rule that it follows.
    required : bool
        Whether a file must have it.
    range : str, optional
        The limits in words.
    choices : tuple of Choice, optional
        What it can be.
    aliases : str
        Names elsewhere, separated by commas.
    about : str
        What it is.
    """

    kind: ClassVar[str] = "parameter"
    key: str
    scheme: str | None
    type: str
    default_base: float | None
    default: str | None
    required: bool
    range: str | None
    choices: tuple[Choice, ...] | None
    aliases: str
    about: str

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    @property
    def default_in_words(self) -> str:
        """The default, or that a file must have it."""
        return "required" if self.required else str(self.default or "")

    @classmethod
    def of(cls, tree: dict[str, Any]) -> Parameter:
        """Return the parameter of an object of the core."""
        choices = tree["choices"] and tuple(Choice(tree["key"], **each) for each in tree["choices"])
        return cls(**{**tree, "choices": choices})


@dataclass(frozen=True, slots=True)
class Preset:
    """Parameters of a scheme that a source printed together.

    Attributes
    ----------
    scheme : str
        Whose it is.
    name : str
        As ``scheme.preset`` has it.
    about : str
        The source.
    cp, rp : dict
        Parameters of congestion and reaction points as a file has them, by their names.
    cp_base, rp_base : dict
        The same in base units.
    """

    kind: ClassVar[str] = "preset"
    scheme: str
    name: str
    about: str
    cp: dict[str, Value]
    rp: dict[str, Value]
    cp_base: dict[str, Value]
    rp_base: dict[str, Value]


@dataclass(frozen=True, slots=True)
class Scheme:
    """A way to control congestion.

    Attributes
    ----------
    name, title, about : str
        Its name, a line about it, and its rules in words with a diagram.
    source, status : str
        Where it is from, and how much the source defines.
    generation : str
        Which time it is of, such as ``"Ultra Ethernet, 2025"``.
    hears, speaks : tuple of str
        What its reaction points are told by, and what its congestion points send.
    presets : tuple of Preset
        The first is the default.
    parameters : tuple of Parameter
        Its own.
    """

    kind: ClassVar[str] = "scheme"
    name: str
    title: str
    source: str
    generation: str
    status: str
    hears: tuple[str, ...]
    speaks: tuple[str, ...]
    about: str
    presets: tuple[Preset, ...]
    parameters: tuple[Parameter, ...]

    @classmethod
    def of(cls, tree: dict[str, Any]) -> Scheme:
        """Return the scheme of an object of the core."""
        parts = {
            "hears": tuple(tree["hears"]),
            "speaks": tuple(tree["speaks"]),
            "presets": tuple(Preset(tree["name"], **each) for each in tree["presets"]),
            "parameters": tuple(map(Parameter.of, tree["parameters"])),
        }
        return cls(**{**tree, **parts})


@dataclass(frozen=True, slots=True)
class Shipped:
    """A shipped scenario.

    Attributes
    ----------
    name, folder, title, about : str
        Its name, its folder below ``scenarios``, and what it says of itself.
    source : str, optional
        Where it is from.
    text : str
        The file.
    """

    kind: ClassVar[str] = "scenario"
    name: str
    folder: str
    title: str
    about: str
    source: str | None
    text: str


@dataclass(frozen=True, slots=True)
class NamedSizes:
    """A named distribution of flow sizes.

    Attributes
    ----------
    name, about : str
        Its name, and where it is from.
    mean_bytes : float
        Its mean in octets.
    """

    kind: ClassVar[str] = "sizes"
    name: str
    about: str
    mean_bytes: float


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the field.

    Attributes
    ----------
    name, about : str
        The word, and what it means.
    also : tuple of str
        Other names.
    covers : tuple of str
        What else it explains, which is not the same.
    unit : str, optional
        What it is counted in.
    here : tuple of str
        By what name a scenario states it or a run tells it.
    see : tuple of str
        What else `explain` knows of it.
    modelled : bool
        Whether qcnlab models it.
    """

    kind: ClassVar[str] = "word"
    name: str
    about: str
    also: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    unit: str | None = None
    here: tuple[str, ...] = ()
    see: tuple[str, ...] = ()
    modelled: bool = True


Entry = Metric | Scheme | Preset | Shipped | NamedSizes | Word | Parameter | Choice
"""An entry of any kind; its class has a word for the kind."""
