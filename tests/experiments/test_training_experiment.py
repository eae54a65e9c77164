"""The rise of hold-out accuracy, read from a run's own metrics; and how results about a model are named."""

import shutil
from dataclasses import replace

import pytest

from icalgebra.errors import InputError
from icalgebra.experiments import load_claims
from icalgebra.experiments.shared.loaded_model import Runs, load_with_config, name_of, result_about
from icalgebra.experiments.training.figures import holdout, skills
from icalgebra.experiments.training.measure import _rise, run
from icalgebra.model.checkpoints import write_checkpoint
from icalgebra.model.transformer import Transformer
from icalgebra.plotting import svg
from training_helpers import MICRO


@pytest.fixture(scope="module")
def loaded():
    return load_with_config("small")


@pytest.fixture(scope="module")
def result(loaded):
    return run(tier="quick", seed=0, loaded=loaded, n=4)


def test_claims_find_their_values(result) -> None:
    for claim in load_claims():
        if claim.experiment == "training":
            assert claim.measure(result) is not None, claim.id


def test_curves_are_the_shipped_metrics(loaded, result) -> None:
    records = [record for record in loaded.metrics if record["kind"] == "evaluation"]
    assert result.curves["holdout"].y == [record["holdout"] for record in records]
    assert result.curves["copy"].n == [loaded.config.eval_n] * len(records)
    assert result.details["seconds"] == sorted(result.details["seconds"])


def test_the_rise_is_measured_from_the_last_low_to_the_first_high() -> None:
    course = [(100, 0.05), (200, 0.15), (300, 0.08), (400, 0.6), (500, 0.96), (600, 0.9)]
    records = [{"step": step, "holdout": accuracy} for step, accuracy in course]
    assert _rise(records, 0.10) == pytest.approx(200 / 500)
    assert _rise(records, 0.20) == pytest.approx(200 / 500)
    assert _rise(records[:4], 0.10) is None


def test_a_model_without_metrics_says_so(loaded) -> None:
    with pytest.raises(InputError, match="run folder"):
        run(tier="quick", seed=0, loaded=replace(loaded, metrics=[]), n=2)


def test_figures_draw(result) -> None:
    assert svg(holdout(result)).startswith("<svg")
    assert svg(skills(result)).startswith("<svg")


# --- what a result is called, and the command in it -----------------------------------------------------------------


@pytest.fixture
def runs_folder(tmp_path, monkeypatch):
    """runs/p0.3 and runs/p0.5, and a single file, in the working directory."""
    model = Transformer(MICRO.model, seed=0)
    for name in ("p0.3", "p0.5"):
        checkpoint = tmp_path / "runs" / name / "checkpoints" / "step_000006"
        checkpoint.parent.mkdir(parents=True)
        write_checkpoint(checkpoint, model, config=MICRO.to_dict(), trainer=None, step=6)
    shutil.copy(checkpoint / "model.safetensors", tmp_path / "runs" / "p0.7.safetensors")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "source, name, argument",
    [
        ("runs/p0.3", "p0.3", "runs/p0.3"),
        ("./runs/p0.5/", "p0.5", "runs/p0.5"),
        ("runs/p0.7.safetensors", "p0.7", "runs/p0.7.safetensors"),
        ("runs/p0.3/checkpoints/step_000006", "step_000006", "runs/p0.3/checkpoints/step_000006"),
        ("{here}/runs/p0.3", "p0.3", "runs/p0.3"),  # no machine's folders in a result
        ("small", "small", "small"),
    ],
)
def test_a_result_has_its_models_name_and_the_command_for_it(runs_folder, source, name, argument) -> None:
    found = load_with_config(source.format(here=runs_folder))
    assert found.name == name_of(source.format(here=runs_folder)) == name
    assert result_about(found, "heads", "quick", 0, {}, {}).command.endswith(
        f"--only heads --seed 0 --model {argument}"
    )


def test_the_working_directory_has_its_own_name(runs_folder, monkeypatch) -> None:
    monkeypatch.chdir(runs_folder / "runs" / "p0.5")
    found = load_with_config(".")
    assert (found.name, found.given) == ("p0.5", ".")
    assert Runs((".",)).name == "p0.5"
    assert Runs(("../p0.3",)).name == "p0.3"
    assert Runs(("../p0.3/table.json",)).name == "p0.3"


def test_a_run_named_as_a_shipped_model_is_told_from_it(runs_folder) -> None:
    (runs_folder / "runs" / "p0.3").rename(runs_folder / "runs" / "small")
    found = load_with_config("runs/small")
    assert (found.name, found.given) == ("small", "runs/small")
