"""An experiment's figures as SVG."""

from __future__ import annotations

from markupsafe import Markup

from icalgebra.experiments import Experiment
from icalgebra.experiments.shared.readings import ABSENT
from icalgebra.results import NotMeasuredError, Result


def drawings(experiment: Experiment, *results: Result) -> dict[str, Markup]:
    """All models in one figure, by the name of the drawing function, whose docstring is the text for screen readers.

    'not measured' where the results lack what a figure shows.
    """
    from icalgebra.plotting import svg  # here, so that matplotlib is loaded only to draw

    found = {}
    for draw in experiment.figures:
        try:
            words = f"{experiment.title} {draw.__doc__} Model: {', '.join(result.model for result in results)}."
            found[draw.__name__] = Markup(svg(draw(*results), words))
        except NotMeasuredError:
            found[draw.__name__] = ABSENT
    return found
