"""Figures: legends that fit, groups in order, and colours that belong to one model."""

from __future__ import annotations

from matplotlib.backends.backend_agg import FigureCanvasAgg

from icalgebra.experiments.architecture.figures import OURS
from icalgebra.experiments.unseen_structures.figures import by_size
from icalgebra.plotting import (
    MODEL_COLOURS,
    OTHER_MODELS,
    TITLE_SIZE,
    axes,
    by_order,
    fit_titles,
    in_style,
    legend_below,
)
from icalgebra.plotting.skills import SKILLS


def drawn_with(labels: list[str]):
    figure, panels = axes(1, 1, (5.0, 3.0))
    for label in labels:
        panels[0][0].plot([0, 1], [0, 1], label=label)
    legend_below(figure, panels, 5)
    return figure, panels[0][0]


def test_a_legend_of_long_labels_stays_inside_the_figure() -> None:
    figure, _ = drawn_with([f"a long name of a curve, number {i}" for i in range(6)])
    figure.draw(FigureCanvasAgg(figure).get_renderer())
    box = figure.legends[0].get_window_extent()
    assert len(figure.legends) == 1
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width


def test_a_legend_of_short_labels_is_one_row() -> None:
    figure, _ = drawn_with(list("abcde"))
    assert figure.legends[0]._ncols == 5


def test_titles_have_one_size_and_weight() -> None:
    figure, panel = drawn_with(["a"])
    panel.set_title("set outside the common style")
    in_style(figure)
    assert panel.title.get_fontsize() == TITLE_SIZE
    assert panel.title.get_fontweight() == "bold"


def test_groups_are_in_natural_order() -> None:
    assert by_order(["C10", "D3", "C3"]) == ["C3", "C10", "D3"]
    assert by_size(["C10", "magma", "C8", "C2", "D4", "C16"]) == ["C2", "C8", "D4", "C10", "C16", "magma"]


def test_no_skill_is_drawn_in_a_models_colour() -> None:
    models = [*MODEL_COLOURS.values(), *OTHER_MODELS]
    assert len(set(models)) == len(models)
    assert not {OURS, *(colour for _, colour in SKILLS.values())} & set(models)


def test_a_title_that_is_wider_than_its_panel_takes_two_lines() -> None:
    figure, panels = axes(1, 4, (7.2, 2.0))
    for panel, title in zip(panels[0], ("published: identity demotion", "fast: copy", "a title of another kind", "")):
        panel.set_title(title)
    fit_titles(figure)
    assert [panel.get_title() for panel in panels[0]][:3] == [
        "published:\nidentity demotion", "fast: copy", "a title of another kind",
    ]  # fmt: skip
