"""Figures 20 to 22: accuracy of every probe on every variable, cosines with the unembedding and between probes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from icalgebra.plotting import WIDE, axes, named
from icalgebra.plotting.panels import titled
from icalgebra.results import Result

KINDS = ("closure", "cancellation")
EVERY = 5  # variables from one that is named on an axis to the next


def accuracy(*results: Result) -> Figure:
    """Accuracy of every probe on every variable."""
    return _matrices(results, "accuracy", "variable", (50.0, 100.0), "viridis", factor=100)


def unembedding(*results: Result) -> Figure:
    """Cosines of probes with the unembedding."""
    return _matrices(results, "unembedding", "unembedding of", (-0.6, 0.6), "RdBu_r")


def among_probes(*results: Result) -> Figure:
    """Cosines between probes."""
    return _matrices(results, "probes", "probe", (-1.0, 1.0), "RdBu_r")


def _matrices(
    results: Sequence[Result], key: str, rows: str, span: tuple[float, float], colours: str, factor: float = 1.0
) -> Figure:
    """One matrix per subspace (row) and model (column), variables in order on both axes; one colour scale for all."""
    width = WIDE if len(results) > 1 else 0.5 * WIDE
    figure, panels = axes(len(KINDS), len(results), (width, 6.4))
    for column, result in zip(panels.T, results):
        letters = list(result.details["variables"])
        for panel, kind in zip(column, KINDS):
            table = [[factor * value for value in line] for line in result.details[kind][key]]
            drawn = panel.imshow(table, cmap=colours, vmin=span[0], vmax=span[1])
            _plain(panel, letters)
            if key != "probes":  # a probe's cosine with itself is always one
                _numbered(panel, table, factor, span[1])
            titled(panel, named(results, result, f"{kind} subspace"))
    for panel in panels[-1]:
        panel.set_xlabel("probe")
    for panel in panels[:, 0]:
        panel.set_ylabel(rows)
    figure.colorbar(drawn, ax=panels, shrink=0.8, label="accuracy (%)" if factor > 1 else "cosine")
    return figure


def _plain(panel: Any, letters: list[str]) -> None:
    panel.grid(False)
    panel.tick_params(length=0)
    for spine in panel.spines.values():
        spine.set_visible(False)
    shown = range(0, len(letters), EVERY)  # they are in order
    panel.set_xticks(shown, letters[::EVERY])
    panel.set_yticks(shown, letters[::EVERY])


def _numbered(panel: Any, table: list[list[float]], factor: float, top: float) -> None:
    """Write the numbers of the diagonal: each probe on its own variable."""
    for i, row in enumerate(table):
        text = f"{row[i]:.0f}" if factor > 1 else f"{row[i]:.1f}".replace("0.", ".").replace("-", "−")
        dark = factor == 1 and abs(row[i]) > 0.6 * top
        panel.text(i, i, text, ha="center", va="center", fontsize=6.5, color="white" if dark else "#111111")


FIGURES = (accuracy, unembedding, among_probes)
