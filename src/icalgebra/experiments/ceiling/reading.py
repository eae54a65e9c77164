"""What the section on the ceiling says: the best possible accuracy, and how sound each mechanism is."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.experiments.shared.readings import Number, Values, widest
from icalgebra.language.vocabulary import MECHANISMS

PANELS = {
    "p7.holdout": "hold-out, p_mix .7, no D2",
    "p5_d2.holdout": "hold-out, p_mix .5, with D2",
    "p7.train": "training, p_mix .7, no D2",
}
LINES = {
    "ceiling": "ceiling (exact posterior)",
    "entailed": "entailed: one answer is certain",
    "solvers": "the five mechanisms together",
}
KINDS = {"holdout": "hold-out", "train": "training"}


@dataclass(frozen=True)
class Soundness:
    """A row of the table: one mechanism alone on one kind of sequence."""

    mechanism: str
    kind: str
    answers: Number
    right: Number
    certain: Number
    share: Number


@dataclass(frozen=True)
class Reading:
    ceiling: Number  # this and what follows: hold-out sequences, p_mix .7 without D2
    published_model_share: Number
    published_model_share_fitting: Number  # of the ceiling in the setting that the published curves fit
    mechanisms_share: Number
    after_twenty: Number
    after_fifty: Number
    entailed_unsolved: Number
    unaware: Number  # the ceiling for a predictor that takes the query for one of a training sequence
    soundness: tuple[Soundness, ...]
    calibration_holdout: Number  # achieved minus expected accuracy: zero if the oracle's probabilities are right
    calibration_train: Number
    widest: Number  # of the intervals in the figure, to one side


def read(values: Values) -> Reading:
    return Reading(
        ceiling=values.number("p7.holdout.ceiling"),
        published_model_share=values.number("p7.holdout.published_model_share"),
        published_model_share_fitting=values.number("p5_d2.holdout.published_model_share"),
        mechanisms_share=values.number("p7.holdout.solvers_share"),
        after_twenty=values.number("p7.holdout.at.20"),
        after_fifty=values.number("p7.holdout.at.50"),
        entailed_unsolved=values.number("p7.holdout.entailed_unsolved"),
        unaware=values.number("p7.holdout.unaware"),
        soundness=_soundness(values),
        calibration_holdout=values.number("p7.holdout.calibration", "points"),
        calibration_train=values.number("p7.train.calibration", "points"),
        widest=widest(e for panel in PANELS for name in LINES for e in values.curve(f"{panel}.{name}").estimates),
    )


def _soundness(values: Values) -> tuple[Soundness, ...]:
    """Hold-out sequences have no row for copy and commute: neither the query nor its reverse occurs in them."""
    return tuple(
        Soundness(
            name, title, **values.numbers(f"soundness.{kind}.{name}.{{}}", ("answers", "right", "certain", "share"))
        )
        for kind, title in KINDS.items()
        for name in MECHANISMS
        if f"soundness.{kind}.{name}.share" in values
    )
