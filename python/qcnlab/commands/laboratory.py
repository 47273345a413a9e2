"""`qcnlab lab`: the laboratory in a browser, one page that needs no network."""

from __future__ import annotations

import base64
import sys
import threading
import time
import webbrowser
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from qcnlab.cli import shell_words
from qcnlab.cli.options import Changes

PAGE = Path(__file__).parents[1] / "lab.html"
"""The page; `make lab` builds it."""


def fragment(
    scenario: str | None, changes: list[str], schemes: list[str], lesson: int | None
) -> str:
    """Return the part of the address behind `#` that sets the laboratory up.

    Parameters
    ----------
    scenario : str, optional
        A shipped scenario's name, or a file.
    changes : list of str
        Assignments such as `topology.rtt=200us`, for all schemes.
    schemes : list of str
        Schemes side by side; without any the scenario's own.
    lesson : int, optional
        The lesson beside it, from 1.

    Examples
    --------
    >>> fragment("one-source-into-9g-rtt10us", ["topology.rtt=20us"], ["qcn", "ecm"], None)
    'scenario=one-source-into-9g-rtt10us&set=topology.rtt=20us&run=qcn&run=ecm'
    """
    words = [] if lesson is None else [("lesson", str(lesson))]
    if scenario is not None and (scenario.endswith(".toml") or "/" in scenario):
        octets = base64.urlsafe_b64encode(Path(scenario).read_bytes())
        words.append(("text", octets.decode().rstrip("=")))
    elif scenario is not None:
        words.append(("scenario", scenario))
    words += [("set", change) for change in changes] + [("run", scheme) for scheme in schemes]
    return "&".join(f"{key}={quote(value, safe='=|,.')}" for key, value in words)


def lab(
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|FILE]",
            help="A scenario to begin with.",
            autocompletion=shell_words.scenarios_or_files,
        ),
    ] = None,
    changes: Changes = None,
    schemes: Annotated[
        str,
        typer.Option(
            "--schemes",
            metavar="A,B",
            help="Schemes to run side by side.",
            autocompletion=shell_words.schemes,
        ),
    ] = "",
    lesson: Annotated[
        int | None, typer.Option("--lesson", min=1, max=8, help="Open with a lesson, 1 to 8.")
    ] = None,
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Serve the page to this machine alone, until Ctrl-C."),
    ] = False,
    opens: Annotated[
        bool, typer.Option("--open/--no-open", help="Open a browser, or only print the address.")
    ] = True,
) -> None:
    """Open the laboratory in a browser.

    It has sliders, schemes side by side and nine lessons. It is one file that runs the engine in
    the page; nothing leaves it. Where a browser refuses files, --serve hands it out on 127.0.0.1.
    """
    from qcnlab.api import load

    if scenario is not None:
        # A mistake is told here, before a browser opens.
        load(scenario).with_(*(changes or []))
    side_by_side = [scheme for scheme in schemes.split(",") if scheme]
    for scheme in side_by_side:
        _check_scheme(scheme.partition("|")[0].strip(), schemes)
    begin = fragment(scenario, changes or [], side_by_side, lesson)
    if serve:
        return _serve(begin, opens)
    _open(PAGE.as_uri() + (f"#{begin}" if begin else ""), opens)


def _check_scheme(name: str, schemes: str) -> None:
    """Raise `ScenarioError` with the nearest name if no scheme is called so."""
    from difflib import get_close_matches

    from qcnlab import catalogue
    from qcnlab.errors import scenario_error

    names = [entry.name for entry in catalogue.schemes()]
    if name in names:
        return
    near = get_close_matches(name, names, n=1, cutoff=0.0 if name else 1.0)
    meant = f'did you mean "{near[0]}"? ' if near else ""
    raise scenario_error(
        f"unknown scheme '{name}'",
        argument=f'in --schemes "{schemes}"',
        hint=f"{meant}`qcnlab list schemes` shows all",
    )


def _open(address: str, opens: bool) -> None:
    print(address, flush=True)
    if opens and not webbrowser.open(address):
        print("no browser was found: open the address above in one", file=sys.stderr)


def _serve(begin: str, opens: bool) -> None:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    page = PAGE.read_bytes()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path == "/"
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page) if known else 0))
            self.end_headers()
            if known:
                self.wfile.write(page)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        # Signals become exceptions in the main thread. While a request is served there, what starts
        # its thread can turn them into another one, which the server prints before it goes on.
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        try:
            _open(f"http://127.0.0.1:{server.server_port}/" + (f"#{begin}" if begin else ""), opens)
            while True:
                time.sleep(3600)
        finally:
            server.shutdown()
