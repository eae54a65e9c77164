"""An experiment's figures as SVG."""

from __future__ import annotations

from markupsafe import Markup

from icalgebra.experiments import Experiment
from icalgebra.results import Result


def drawings(experiment: Experiment, result: Result) -> dict[str, Markup]:
    """By the name of the function that draws it; its docstring is the text for those who cannot see it."""
    from icalgebra.plotting import svg  # matplotlib is loaded when there is something to draw

    return {
        draw.__name__: Markup(svg(draw(result), f"{experiment.title} {draw.__doc__} Model: {result.model}."))
        for draw in experiment.figures
    }
