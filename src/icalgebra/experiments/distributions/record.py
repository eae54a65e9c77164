"""What a result of accuracy on the distributions holds."""

from __future__ import annotations

from icalgebra.experiments.shared.record_types import AboutModel

Config = AboutModel
