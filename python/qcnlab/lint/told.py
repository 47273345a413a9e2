"""What `qcnlab lint` tells: objects as JSON has them."""

from __future__ import annotations

from typing import TypedDict


class Location(TypedDict):
    """Where a value is said; lines count from 1."""

    file: str
    line: int
    value: str


class ToldFinding(TypedDict):
    """What is wrong, at one device, and every place that says it."""

    rule: str
    severity: str
    device: str
    at: list[Location]
    ports: list[str]
    message: str
    why: str
    formula: str | None


class ToldMargin(TypedDict):
    """From how many congested ports on PFC pauses before ECN marks, and the devices so set."""

    devices: list[str]
    shared_bytes: float
    alpha: float
    classes: int
    k_min_bytes: int
    k_max_bytes: int
    pause_bytes: float
    ports_until_k_min: float
    ports_until_k_max: float


class NotJudged(TypedDict):
    """What no rule could judge, and why."""

    what: str
    why: str


class Verdict(TypedDict):
    """What all rules say of a fabric's configurations; `links` are ends at switches."""

    findings: list[ToldFinding]
    margins: list[ToldMargin]
    not_judged: list[NotJudged]
    switches: int
    adapters: int
    links: int
    rules: int
