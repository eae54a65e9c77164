"""Values that a result may lack: a small run's page says so instead of failing, and no such name is mistyped."""

from dataclasses import replace
from pathlib import Path

import pytest

from icalgebra.experiments import EXPERIMENTS, read_checked
from icalgebra.experiments.shared.readings import NotMeasuredError, Values, names_held
from icalgebra.report.page import build_report
from icalgebra.results import write_result

RESULTS = Path(__file__).parents[2] / "results"


def test_a_run_that_lacks_an_optional_value_gets_its_page(tmp_path: Path, undrawn: None) -> None:
    whole = read_checked(RESULTS / "full" / "small" / "subspace_generalisation.json")
    values = {key: value for key, value in whole.values.items() if not key.startswith("closure.natural")}
    write_result(tmp_path / "results", replace(whole, values=values))
    html = build_report(tmp_path, tmp_path / "results", None).read_text()
    assert "natural sequences" in html


SWEEPS = ("architecture", "mixing")  # whose keys are names of runs: a run that never got there has no such value


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name not in SWEEPS])
def test_optional_values_are_in_some_committed_result(name: str) -> None:
    results = [read_checked(path) for path in RESULTS.rglob(f"{name}.json")]
    assert results or not EXPERIMENTS[name].can_run, "another command writes it, perhaps not yet"
    if not results:
        return
    held = set().union(*(names_held(result) for result in results))
    for result in results:
        values = Values(result)
        try:
            EXPERIMENTS[name].part("reading").read(values)
        except NotMeasuredError:
            continue  # a result without what the text needs is shown as a list of its values
        assert set(values.absent) <= held, f"{name}: mistyped, or measured for no model"
