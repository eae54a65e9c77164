"""Everything that is rendered as HTML or SVG, made from data that tries to become active.

A new page or repr is one more entry of RENDERED: a function from a folder and a text to markup.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helpers import ROOT
from icalgebra.errors import InputError
from icalgebra.experiments import read_checked
from icalgebra.plotting import svg
from icalgebra.plotting.sweep_curves import through_training
from icalgebra.report.page import build_report
from icalgebra.results import Curve
from icalgebra.sweep.table import RunCurves

MARK = "document.documentElement.setAttribute('data-owned', 1)"
PAYLOADS = {
    "script": f"<script>{MARK}</script>",
    "attribute": f'"><img src=x onerror="{MARK}">',
    "svg": f'<svg onload="{MARK}"><a xlink:href="javascript:{MARK}">x</a></svg>',
    "style": "</style><style>body{display:none}</style><b style=\"background:url('javascript:0')\">",
    "jinja": "{{ 7 * 191 }}{% for x in y %}",
}
PAGES = ("copying", "model_coverage", "unseen_structures")  # with free text and figures


def report_page(folder: Path, payload: str) -> str:
    """The page from results whose every text is the payload, where the check of results lets it through. A model's name
    is the name of a folder: short, and without a slash."""
    results, name = folder / "results", PAYLOADS["attribute"]
    for experiment in PAGES:
        plain = json.loads((ROOT / "results" / "full" / "fast" / f"{experiment}.json").read_text())
        path = results / "full" / name / f"{experiment}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        plain |= {"model": name, "command": payload}
        plain["provenance"] |= {"machine": payload, "commit": payload, "version": payload}
        plain["values"][payload] = {"value": 1, "low": 0, "high": 1, "n": 1}
        _replace_texts(plain, path, payload)
        path.write_text(json.dumps(plain))
    return build_report(folder / "page", results, None).read_text(encoding="utf-8")


def _replace_texts(plain: dict[str, Any], path: Path, payload: str) -> None:
    """Replace each text of config and details that may be any text."""
    for part in ("config", "details"):
        for at, key in list(_texts(plain[part])):
            kept, at[key] = at[key], payload
            path.write_text(json.dumps(plain))
            try:
                read_checked(path)
            except InputError:
                at[key] = kept


def _texts(value: Any) -> Any:
    """The places of up to three texts of every dictionary and list."""
    items = value.items() if isinstance(value, dict) else list(enumerate(value))[:2]
    for key, item in items:
        if isinstance(item, str) and key not in ("structures",):
            yield value, key
        elif isinstance(item, dict | list) and key not in ("structures", "by_table", "world"):
            yield from _texts(item)


def sweep_figure(folder: Path, payload: str) -> str:
    """curves.svg: the names of runs in its legend."""
    curve = Curve([1, 2], [0.1, 0.2], [0.0, 0.1], [0.2, 0.3], [5, 5])
    return svg(through_training([RunCurves(payload, curve, [[1, 2.0], [2, 1.0]])]), payload)


RENDERED: dict[str, Callable[[Path, str], str]] = {"report": report_page, "sweep figure": sweep_figure}
