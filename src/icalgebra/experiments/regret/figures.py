"""Regret by number of facts, one curve per model."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from icalgebra.plotting import axes, legend_below, log_axis, model_colours
from icalgebra.results import Result

LOWEST = 1e-4  # nats: what is drawn of an interval that reaches zero on a logarithmic axis
HIGHEST = 10.0


def by_facts(*results: Result) -> Figure:
    """The models' loss on answers above the exact floor, by facts of context, on logarithmic axes."""
    figure, panels = axes(1, 1, (5.4, 3.4))
    panel = panels[0][0]
    for result, colour in zip(results, model_colours(results).values()):
        curve = result.curves["regret"]
        low, high, y = ([max(LOWEST, value) for value in bound] for bound in (curve.low, curve.high, curve.y))
        panel.plot(curve.x, y, color=colour, linewidth=1.6, label=result.model)
        panel.fill_between(curve.x, low, high, color=colour, alpha=0.15, linewidth=0)
    panel.set(xlabel="facts of context", ylabel="regret (nats per answer)", yscale="log")
    log_axis(panel, (1, 3, 10, 30, 100))
    lowest, highest = panel.get_ylim()
    panel.set_ylim(max(LOWEST, lowest), min(HIGHEST, highest))
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.yaxis.set_minor_formatter(NullFormatter())
    if len(results) > 1:
        legend_below(figure, panels)
    else:
        panel.set_title(results[0].model)
    return figure


FIGURES = (by_facts,)
