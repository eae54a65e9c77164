"""Names and colours of the skills in figures, in the order in which models learn them."""

from __future__ import annotations

from icalgebra.plotting import COLOURS

# Of the skills in this order, for those who do not see the colours.
STYLES = ("-", "--", "-", ":", "-.", "--", "-", "-")
SKILLS = {
    "structural": ("structural tokens", "#999999"),
    "closure_top_k": ("closure (top K)", "#d27f48"),
    "copy": ("copy", COLOURS["copy"]),
    "commute": ("commute", COLOURS["commute"]),
    "identity": ("identity", COLOURS["identity"]),
    "cancel": ("cancel", COLOURS["cancel"]),
    "associate": ("associate", COLOURS["associate"]),
    "holdout": ("hold-out", "#0b3d2e"),  # not a model's colour: drawn for several models
}
