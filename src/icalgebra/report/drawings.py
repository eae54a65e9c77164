"""An experiment's figures as SVG."""

from __future__ import annotations

from markupsafe import Markup

from icalgebra.experiments import Experiment
from icalgebra.results import Result


def drawings(experiment: Experiment, result: Result) -> dict[str, Markup]:
    """By the name of the drawing function, whose docstring becomes the text for screen readers."""
    from icalgebra.plotting import svg  # here, so that matplotlib is loaded only to draw

    return {
        draw.__name__: Markup(svg(draw(result), f"{experiment.title} {draw.__doc__} Model: {result.model}."))
        for draw in experiment.figures
    }
