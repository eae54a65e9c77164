"""Architecture (S1): layers, heads and width with our recipe beside the paper's Table 1, from a sweep's table.

l2, l4 … / h2 … / d128 …    a setting: layers, heads or width, the other two as in the middle setting (4, 8, 1024)
<setting>.holdout, .copy …  accuracy of the finished models; several seeds give their mean and range
<setting>.steps_to_90       steps to 90 % hold-out accuracy; left out where a seed never reaches it
<setting>.steps_to_50       the end of the plateau: steps to 50 %
fewer_layers_later, fewer_heads_later   models with two of them leave the plateau later than the middle setting
associate_weakest           among the settings that learn, associativity is the lowest of Table 1's columns in each
others_learned              and each of its other columns but hold-out accuracy is at least 96 %
Settings that are not in the table have no values, and their claims are not measured.
"""

from __future__ import annotations

from typing import Any

from icalgebra.claims import published
from icalgebra.errors import InputError
from icalgebra.experiments.architecture.reading import MIDDLE, Setting
from icalgebra.experiments.shared import sweep_tables as sweeps
from icalgebra.experiments.shared.estimates import boolean_estimate
from icalgebra.experiments.shared.loaded_model import Runs
from icalgebra.results import Result, reproduce_command
from icalgebra.statistics import Estimate

AXES = ("l", "h", "d")  # what values of a setting begin with
OTHER_COLUMNS = ("copy", "commute", "identity", "closure")  # of Table 1, besides hold-out accuracy and associativity
LEARNS = 0.9  # hold-out accuracy
ALL_LEARN = 0.96  # the lowest entry of these columns in Table 1, among settings that learn, is 96.9 %


def run(tier: str, seed: int, runs: Runs) -> Result:
    rows = sweeps.finished_rows(runs)
    table = published_table()
    by_setting = {setting: [row for row in rows if setting_of(row) == setting] for setting in table}
    if not any(by_setting.values()):
        raise InputError(f"{runs.sources[0]} has no run of a setting of Table 1")
    values: dict[str, Estimate] = {}
    for setting, found in by_setting.items():
        for label in labels(setting) if found else ():
            measured = {**sweeps.skills_of(found, "final"), "loss": sweeps.final_loss(found), **sweeps.reached(found)}
            values |= {f"{label}.{key}": value for key, value in measured.items()}
    values |= _comparisons(by_setting) | _columns(by_setting, values)
    used = [row for found in by_setting.values() for row in found]
    details = {
        "settings": [_setting_row(setting, found, table[setting]) for setting, found in by_setting.items()],
        "runs": [sweeps.run_summary(row) for row in used],
        "one_recipe": sweeps.one_recipe(used),
        "devices": sweeps.devices(used),
    }
    recipes = [{"setting": setting_of(row), **sweeps.run_summary(row)["recipe"]} for row in rows]
    config = {"recipes": recipes, "world": sweeps.world_of(rows)}
    command = reproduce_command("architecture", tier, seed, runs.given)
    return Result("architecture", tier, runs.name, seed, config, command, values, {}, details)


def published_table() -> dict[Setting, dict[str, float]]:
    """Table 1: metrics in per cent by setting."""
    table = published()["table_1"]
    names = ["holdout", *table["columns"][4:]]  # the paper's "eval"
    return {Setting(*row[:3]): dict(zip(names, row[3:])) for row in table["rows"]}


def setting_of(row: sweeps.Row) -> Setting:
    config = row["config"]
    return Setting(config["n_layers"], config["n_heads"], config["d_model"])


def labels(setting: Setting) -> list[str]:
    """The sweeps a setting belongs to: the middle one is part of all three."""
    others = [[j for j in range(3) if j != i] for i in range(3)]
    return [f"{AXES[i]}{setting[i]}" for i in range(3) if all(setting[j] == MIDDLE[j] for j in others[i])]


def _comparisons(by_setting: dict[Setting, list[sweeps.Row]]) -> dict[str, Estimate]:
    middle = by_setting.get(MIDDLE, [])
    values = {}
    for name, setting in (
        ("fewer_layers_later", MIDDLE._replace(n_layers=2)),
        ("fewer_heads_later", MIDDLE._replace(n_heads=2)),
    ):
        few = by_setting.get(setting, [])
        found = sweeps.later(sweeps.plateau_end(few), sweeps.plateau_end(middle))
        if found is not None and sweeps.one_recipe([*few, *middle]):  # steps of different schedules do not compare
            values[name] = boolean_estimate(found, len(few) + len(middle))
    return values


def _columns(by_setting: dict[Setting, list[sweeps.Row]], values: dict[str, Estimate]) -> dict[str, Estimate]:
    """What Table 1's other columns have in common, over the settings whose hold-out accuracy shows that they learn."""
    names = [labels(setting)[0] for setting, found in by_setting.items() if found]
    learned = [name for name in names if values[f"{name}.holdout"].value >= LEARNS]
    columns = {name: [values[f"{name}.{skill}"].value for skill in OTHER_COLUMNS] for name in learned}
    if not learned:
        return {}
    weakest = all(values[f"{name}.associate"].value < min(columns[name]) for name in learned)
    return {
        "associate_weakest": boolean_estimate(weakest, len(learned)),
        "others_learned": boolean_estimate(min(map(min, columns.values())) >= ALL_LEARN, len(learned)),
    }


def _setting_row(setting: Setting, rows: list[sweeps.Row], published: dict[str, float]) -> dict[str, Any]:
    return {
        "layers": setting[0],
        "heads": setting[1],
        "d_model": setting[2],
        "label": labels(setting)[0],
        "published": published,
        "seeds": [row["config"]["seed"] for row in rows],
        "steps": sorted({row["config"]["steps"] for row in rows}),
        "schedule": sorted({row["config"]["schedule"] for row in rows}),
        "in_bf16": sweeps.read_in_bf16(rows),
        "never_90": sum(row["steps_to"]["0.9"] is None for row in rows),
        "seconds": sum(row["clock"]["training_seconds"] for row in rows),
    }
