"""Regret: what is measured, what the section decides, what the figure draws."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from icalgebra.data.distributions import sample
from icalgebra.experiments.regret.figures import FIGURES
from icalgebra.experiments.regret.measure import (
    answer_log_probabilities,
    by_kind_of_query,
    cross_entropy,
    realised_regret,
    run,
    safe_log,
)
from icalgebra.experiments.regret.reading import IN_WORDS, Reading, read
from icalgebra.experiments.shared.loaded_model import LoadedModel
from icalgebra.experiments.shared.readings import Values
from icalgebra.language.world import World
from icalgebra.model.transformer import Transformer
from icalgebra.oracle import classify_by_facts
from icalgebra.report.page import build_report
from icalgebra.results import Result, write_result
from icalgebra.statistics import Estimate
from icalgebra.train import TrainConfig

CONFIG = TrainConfig(n_layers=2, n_heads=2, d_model=16, n_facts=12)
LOADED = LoadedModel("untrained", Transformer(CONFIG.model, seed=3).eval(), CONFIG)
RESULT = run("quick", 0, LOADED, n=60)


def test_loss_is_floor_plus_regret() -> None:
    loss, floor, regret = (RESULT.values[name].value for name in ("loss", "floor", "regret"))
    assert loss == pytest.approx(floor + regret)
    by_facts = [np.array(RESULT.curves[name].y) for name in ("loss", "floor", "regret")]
    assert np.allclose(by_facts[0], by_facts[1] + by_facts[2])
    assert (np.array(RESULT.curves["regret"].low) >= 0).all()
    assert RESULT.curves["regret"].x == list(range(1, 12))
    assert regret == pytest.approx(np.mean(RESULT.curves["regret"].y))


def test_the_exact_posterior_has_no_regret_and_any_other_has_some() -> None:
    sequences = sample("train", 30, 12, seed=1, world=World())
    exact = classify_by_facts(sequences.prompts, World(), "train").probabilities[:, 1:]
    floors = cross_entropy(exact, safe_log(exact))
    blurred = cross_entropy(exact, np.log(0.9 * exact + 0.1 / 16))
    assert (floors >= -1e-9).all()
    assert (blurred > floors).all()
    own = safe_log(exact) - 50 * (exact == 0)
    assert np.allclose(realised_regret(sequences, own), 0, atol=1e-6), "the floors of two parts of the oracle"


def test_the_loss_is_the_models_cross_entropy() -> None:
    sequences = sample("train", 20, 12, seed=2)
    answers = sequences.facts[:, 1:, 2].astype(np.int64)
    ours = -np.take_along_axis(answer_log_probabilities(LOADED.model, sequences), answers[..., None], axis=-1)
    tokens = torch.from_numpy(sequences.tokens).long()
    with torch.no_grad():
        losses = F.cross_entropy(LOADED.model(tokens[:, :-1]).mT, tokens[:, 1:], reduction="none")
    assert np.allclose(ours[..., 0], losses[:, 8::5].numpy(), atol=1e-5)


def test_kinds_of_queries_make_up_all_regret() -> None:
    regret = np.array([[4.0, 1.0, 3.0, 0.0]])
    entailed, solved = np.array([[True, True, False, False]]), np.array([[True, False, True, False]])
    found = by_kind_of_query(regret, entailed, solved)
    assert [found[f"{name}.of_regret"].value for name in IN_WORDS] == [4 / 8, 1 / 8, 3 / 8]
    assert [found[f"{name}.share"].value for name in IN_WORDS] == [1 / 4, 1 / 4, 2 / 4]
    assert [found[f"{name}.per_query"].value for name in IN_WORDS] == [4, 1, 1.5]


def with_values(config: dict[str, Any] | None = None, **values: tuple[float, float]) -> Reading:
    """Intervals of some values."""
    changed = {
        key.replace("__", "."): Estimate((low + high) / 2, low, high, 100) for key, (low, high) in values.items()
    }
    result = replace(RESULT, values={**RESULT.values, **changed})
    return read(Values(replace(result, config={**RESULT.config, **(config or {})})))


def test_most_is_clearly_more_than_half() -> None:
    parts = {"solved__of_regret": (0.1, 0.2), "beyond__of_regret": (0.51, 0.6), "guess__of_regret": (0.2, 0.3)}
    assert with_values(**parts).mostly == IN_WORDS["beyond"]
    assert with_values(**{**parts, "beyond__of_regret": (0.49, 0.6)}).mostly == ""
    assert with_values(calibration=(-0.1, 0.1)).calibrated
    assert not with_values(calibration=(0.01, 0.1)).calibrated
    assert with_values({"once_share": 0.3}).other_rows
    assert not with_values().other_rows


def test_what_is_quoted_is_what_was_measured() -> None:
    found = with_values()
    curve = RESULT.curves["regret"]
    assert found.greatest.value == max(curve.y)
    assert curve.y[found.greatest_at - 1] == max(curve.y)
    assert (found.n, found.few) == (60, 20)
    assert found.few_share.value == 1  # no context is longer
    assert not found.at["50"]


def named(name: str, factor: float) -> Result:
    curve = RESULT.curves["regret"]
    scaled = replace(curve, y=[factor * y for y in curve.y], low=[0.0] * len(curve.y))
    return replace(RESULT, model=name, curves={**RESULT.curves, "regret": scaled})


@pytest.mark.parametrize("results", [[RESULT], [named("small", 0.0), named("fast", 0.5), named("deep", 20.0)]])
def test_the_figure_has_a_curve_per_model(results: list[Result]) -> None:
    (panel,) = FIGURES[0](*results).axes
    assert len(panel.lines) == len(results)
    assert panel.has_data()


def test_the_section_renders_for_one_model_and_for_several(tmp_path: Any, undrawn: None) -> None:
    write_result(tmp_path / "results", RESULT)
    write_result(tmp_path / "results", replace(RESULT, model="other", config={**RESULT.config, "once_share": 0.5}))
    html = build_report(tmp_path, tmp_path / "results", None).read_text(encoding="utf-8")
    section = html[html.index('<h2 id="regret">') :]
    assert "<code>other</code> was also trained on sequences of another" in section
    assert "zero is expected" in section or "regret differs by" in section
