"""Figures 20 to 22: accuracy of every probe on every variable, cosines with the unembedding and between probes."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from icalgebra.plotting import axes
from icalgebra.plotting.panels import titled
from icalgebra.results import Result

KINDS = ("closure", "cancellation")


def accuracy(result: Result) -> Figure:
    """Accuracy of every probe on every variable."""
    return _matrices(result, "accuracy", "variable", (50.0, 100.0), "viridis", factor=100)


def unembedding(result: Result) -> Figure:
    """Cosines of probes with the unembedding."""
    return _matrices(result, "unembedding", "unembedding of", (-0.6, 0.6), "RdBu_r")


def among_probes(result: Result) -> Figure:
    """Cosines between probes."""
    return _matrices(result, "probes", "probe", (-1.0, 1.0), "RdBu_r")


def _matrices(
    result: Result, key: str, rows: str, span: tuple[float, float], colours: str, factor: float = 1.0
) -> Figure:
    """One matrix per subspace, with the variables in order on both axes."""
    figure, panels = axes(1, 2, (9.0, 4.4))
    letters = list(result.details["variables"])
    for panel, kind in zip(panels[0], KINDS):
        table = [[factor * value for value in row] for row in result.details[kind][key]]
        drawn = panel.imshow(table, cmap=colours, vmin=span[0], vmax=span[1])
        _plain(panel, letters)
        if key != "probes":  # a probe's cosine with itself is always one
            _numbered(panel, table, factor, span[1])
        titled(panel, f"{kind} subspace")
        panel.set_xlabel("probe")
    panels[0][0].set_ylabel(rows)
    figure.colorbar(drawn, ax=panels, shrink=0.8, label="accuracy (%)" if factor > 1 else "cosine")
    return figure


def _plain(panel: Any, letters: list[str]) -> None:
    panel.grid(False)
    panel.tick_params(length=0)
    for spine in panel.spines.values():
        spine.set_visible(False)
    panel.set_xticks(range(len(letters)), letters)
    panel.set_yticks(range(len(letters)), letters)


def _numbered(panel: Any, table: list[list[float]], factor: float, top: float) -> None:
    """Write the numbers of the diagonal: each probe on its own variable."""
    for i, row in enumerate(table):
        text = f"{row[i]:.0f}" if factor > 1 else f"{row[i]:.1f}".replace("0.", ".").replace("-", "−")
        dark = factor == 1 and abs(row[i]) > 0.6 * top
        panel.text(i, i, text, ha="center", va="center", fontsize=5, color="white" if dark else "#111111")


FIGURES = (accuracy, unembedding, among_probes)
