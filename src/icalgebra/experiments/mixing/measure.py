"""Mixing (S2): five values of p_mix, from a sweep's table; each model evaluated in its own world and at p_mix .7.

p0.3.own.holdout, p0.3.p7.copy …   accuracy of the model trained at p_mix .3
p0.3.loss, .floor, .regret         final training loss, the lowest that world allows, their difference; nats per token
loss_rises_with_mixing             every p_mix has a higher final loss than the one below it
plateaus_shorten                   no p_mix passes 50 % hold-out accuracy later than the one below it, and 1 before 0
zero_is_slowest                    p_mix 0 takes more steps to 90 % hold-out accuracy (in its own world) than any other
more_is_better                     at p_mix .7, no hold-out accuracy is significantly below that of the p_mix before it
one_beats_zero                     at p_mix .7, hold-out accuracy of 1 significantly above that of 0
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.experiments.shared import sweep_tables as sweeps
from icalgebra.experiments.shared.estimates import boolean_estimate
from icalgebra.experiments.shared.loaded_model import Runs
from icalgebra.language.vocabulary import FACT_LENGTH
from icalgebra.oracle.loss_floor import slot_floors
from icalgebra.results import Result, reproduce_command
from icalgebra.statistics import Estimate, difference, mean
from icalgebra.train.config import TrainConfig

PUBLISHED = (0.0, 0.3, 0.5, 0.7, 1.0)  # the values of Figure 9


def run(tier: str, seed: int, runs: Runs, n: int) -> Result:
    """n: sequences for the exact loss floor of each world."""
    rows = sweeps.finished_rows(runs)
    by_mix = {p: [row for row in rows if row["config"]["p_mix"] == p] for p in PUBLISHED}
    by_mix = {p: found for p, found in by_mix.items() if found}
    if not by_mix:
        raise InputError(f"{runs.sources[0]} has no run at p_mix {', '.join(f'{p:g}' for p in PUBLISHED)}")
    values: dict[str, Estimate] = {}
    for p, found in by_mix.items():
        values |= {f"p{p:g}.{key}": value for key, value in _values(found, n, seed).items()}
    values |= _comparisons(by_mix, values)
    details = {
        "measured": [f"{p:g}" for p in by_mix],
        "missing": [f"{p:g}" for p in PUBLISHED if p not in by_mix],
        "never_90": [f"{p:g}" for p, found in by_mix.items() if sweeps.steps_to(found) == float("inf")],
        "runs": [sweeps.run_summary(row) for found in by_mix.values() for row in found],
        "one_recipe": sweeps.one_recipe(rows),
        "devices": sweeps.devices(rows),
        "in_bf16": [f"{p:g}" for p, found in by_mix.items() if sweeps.read_in_bf16(found)],
    }
    recipes = [{"p_mix": row["config"]["p_mix"], **sweeps.run_summary(row)["recipe"]} for row in rows]
    config = {"n": n, "recipes": recipes, "world": sweeps.world_of(rows, "p_mix")}
    command = reproduce_command("mixing", tier, seed, runs.given)
    return Result("mixing", tier, runs.name, seed, config, command, values, {}, details)


def _values(rows: list[sweeps.Row], n: int, seed: int) -> dict[str, Estimate]:
    values = {
        f"{where}.{key}": value for where in ("own", "p7") for key, value in sweeps.skills_of(rows, where).items()
    }
    values |= sweeps.reached(rows)
    loss, floor = sweeps.final_loss(rows), least_loss(TrainConfig.from_dict(rows[0]["config"]), n, seed)
    # Two independent means, so their half-widths add in squares.
    apart = float(np.hypot(loss.high - loss.value, floor.high - floor.value))
    regret = loss.value - floor.value
    return values | {"loss": loss, "floor": floor, "regret": Estimate(regret, regret - apart, regret + apart, loss.n)}


def least_loss(config: TrainConfig, n: int, seed: int) -> Estimate:
    """The exact floor of the loss in a run's world, in nats per token. Commas and equals signs are certain: no loss."""
    sequences = sample("train", n, config.n_facts, seed, config.world, stream="mixing/floor")
    floors = slot_floors(sequences.tokens, config.world).sum(axis=(1, 2))
    return mean(floors / (config.n_facts * FACT_LENGTH - 1))


def _comparisons(by_mix: dict[float, list[sweeps.Row]], values: dict[str, Estimate]) -> dict[str, Estimate]:
    n = sum(map(len, by_mix.values()))
    found: dict[str, Estimate] = {}
    # Losses and steps of runs with different schedules are not comparable.
    if len(by_mix) == len(PUBLISHED) and sweeps.one_recipe([row for rows in by_mix.values() for row in rows]):
        losses = [values[f"p{p:g}.loss"].value for p in sorted(by_mix)]
        found["loss_rises_with_mixing"] = boolean_estimate(all(a < b for a, b in pairwise(losses)), n)
        ends = [sweeps.plateau_end(by_mix[p]) or 0.0 for p in sorted(by_mix)]
        found["plateaus_shorten"] = boolean_estimate(all(a >= b for a, b in pairwise(ends)) and ends[0] > ends[-1], n)
        slower = [sweeps.later(sweeps.steps_to(by_mix[0.0]), sweeps.steps_to(by_mix[p])) for p in by_mix if p > 0]
        if None not in slower:
            found["zero_is_slowest"] = boolean_estimate(all(slower), n)
    accuracies = [values[key] for p in sorted(by_mix) if (key := f"p{p:g}.p7.holdout") in values]
    if len(accuracies) == len(PUBLISHED):
        found["more_is_better"] = boolean_estimate(all(b.high >= a.low for a, b in pairwise(accuracies)), n)
    if {"p0.p7.holdout", "p1.p7.holdout"} <= set(values):
        gain = difference(values["p1.p7.holdout"], values["p0.p7.holdout"])
        found |= {"one_beats_zero": boolean_estimate(gain.low > 0, gain.n), "one_over_zero": gain}
    return found
