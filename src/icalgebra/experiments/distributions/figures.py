"""Figure 3c, Table 2: accuracy on the five distributions; cancel and associate both pure and embedded."""

from __future__ import annotations

from itertools import cycle

from matplotlib.figure import Figure

from icalgebra.claims import published
from icalgebra.plotting import COLOURS, MARKERS, WIDE, axes, legend_below, line, log_axis, model_colours
from icalgebra.results import Result

TITLES = {
    "copy": "copy",
    "commute": "commute",
    "identity": "identity",
    "cancel": "cancel (pure)",
    "cancel_embedded": "cancel (embedded)",
    "associate": "associate (pure)",
    "associate_embedded": "associate (embedded)",
}


def by_distribution(*results: Result) -> Figure:
    """One panel per distribution: models, ceiling, and the published table."""
    table = published()["table_2"]
    figure, panels = axes(2, 4, (WIDE, 4.6), sharex=True, sharey=True)
    for panel, (name, title) in zip(panels.flat, TITLES.items()):
        line(panel, results[0].curves[f"ceiling.{name}"], COLOURS["ceiling"], "ceiling", linewidth=5, alpha=0.35)
        for result, colour, marker in zip(results, model_colours(results).values(), cycle(MARKERS)):
            line(
                panel,
                result.curves[f"model.{name}"],
                colour,
                result.model,
                marker=marker,
                markersize=3.5,
                linewidth=1.2,
            )
        if name in table:
            panel.plot(
                table["facts"], table[name], "--", color=COLOURS["published"], linewidth=1, label="the paper's model"
            )
        panel.set(title=title, ylim=(0, 106))
        panel.title.set_fontsize(8.5)
        log_axis(panel, (5, 10, 25, 50, 200))
    panels.flat[-1].axis("off")
    for panel in (*panels[-1], panels[0][-1]):
        panel.set_xlabel("facts, the query included")
    for panel in panels[0]:
        panel.tick_params(labelbottom=True)
    for panel in panels[:, 0]:
        panel.set_ylabel("accuracy (%)")
    legend_below(figure, panels)
    return figure


FIGURES = (by_distribution,)
