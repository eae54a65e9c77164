"""Settings every test shares. Annotations, shapes among them, are checked at run time, but for compiled kernels."""

import builtins
import os
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers that share two cores only get in each other's way

import jaxtyping
import pytest
from hypothesis import HealthCheck, settings

CHECKED = (
    "errors atomic_files statistics algebra.axioms algebra.structures algebra.table_files language.vocabulary "
    "language.sequences data.distributions data.dataset data.counterfactuals model.accuracy model.closure "
    "model.predict oracle.posteriors oracle.loss_floor interp"
)
# The package imports the names of shapes for the type checker alone; to be checked at run time they must be found.
vars(builtins).update(
    {
        name: getattr(jaxtyping, name)
        for name in ("Bool", "Float", "Float64", "Int", "Int8", "Integer", "Shaped", "UInt8")
    }
)
jaxtyping.install_import_hook([f"icalgebra.{name}" for name in CHECKED.split()], "beartype.beartype")

settings.register_profile("suite", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty drawings, for tests about words: half a minute of drawing says nothing about them."""
    from markupsafe import Markup

    def empty(experiment: Any, *results: Any) -> dict[str, Markup]:
        return {draw.__name__: Markup("<svg></svg>\n") for draw in experiment.figures}

    monkeypatch.setattr("icalgebra.report.page.drawings", empty)
