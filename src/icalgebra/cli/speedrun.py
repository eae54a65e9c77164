"""`icalgebra speedrun`: how long a preset trains to reach 99 % hold-out accuracy, over several seeds."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import tyro
from rich.table import Table

from icalgebra.cli.common import MaybeInt, MaybePath, MaybeText, console
from icalgebra.cli.estimates import check_time_without_gpu
from icalgebra.errors import InputError
from icalgebra.experiments.shared import released
from icalgebra.results import Result, provenance, read_result, result_path, write_result
from icalgebra.statistics import mean
from icalgebra.train import TrainConfig, preset
from icalgebra.train.distributed import choose_device, device_name
from icalgebra.train.presets import PRESETS
from icalgebra.train.speedrun import BLOCK, WarmUp, speedrun, time_steps, warm_up

# What is shown below the times, with its words.
QUALITY = {"associate": "associate, %", "share_of_ceiling": "share of the ceiling's hold-out AUC, %"}


@dataclass(frozen=True)
class SpeedrunCommand:
    """Train a preset until its hold-out accuracy on fresh sequences passes the target; several seeds."""

    preset: Annotated[
        tyro.conf.Positional[str], tyro.conf.arg(metavar="[PRESET]", help=f"One of {', '.join(PRESETS)}.")
    ] = "small"
    seeds: int = 3
    """Number of seeds, counted from --seed; 0: only time the steps."""
    target: float = 0.99
    """The hold-out accuracy to pass."""
    n: int = 5000
    """Fresh sequences per evaluation."""
    steps: MaybeInt = None
    """Length of the schedule; by default the preset's."""
    timed_steps: int = 60
    """Steps timed before the runs, ten at a time; at least 20."""
    device: MaybeText = None
    """cpu, cuda, …; CUDA by default where there is one."""
    seed: int = 0
    """The first seed."""
    keep: MaybePath = None
    """Train to the end of the schedule and keep the run folders here: <preset>-seed0, <preset>-seed1 …; an unfinished
    run starts over."""
    out: MaybePath = None
    """A folder for the result file, written after every seed; a later call adds the seeds that are not in it."""
    json: bool = False
    """The result as one JSON object."""

    def run(self) -> None:
        self._check()
        config = self._config()
        result = self._earlier_result()
        done = [run["seed"] for run in result.details["runs"]] if result else []
        left = [seed for seed in range(self.seed, self.seed + self.seeds) if seed not in done]
        check_time_without_gpu([config] * len(left), self.device, f"a speedrun of {self.preset}")
        warm = warm_up(config, self.device) if left or not result else None
        if warm and not result:
            result = self._result(warm, time_steps(config, self.timed_steps, self.device))
            self._write(result)
        assert result is not None
        for seed in left:
            keep = self.keep / f"{self.preset}-seed{seed}" if self.keep else None
            run = speedrun(config.with_changes(seed=seed), self.target, self.n, self.device, keep, progress=True)
            result.details["runs"].append(run.to_dict())
            self._write(result)
        if self.json:
            print(json.dumps(result.to_dict()))
        else:
            self._show(result)

    def _check(self) -> None:
        least = {"--n": (self.n, 1), "--seeds": (self.seeds, 0), "--timed-steps": (self.timed_steps, 2 * BLOCK)}
        for name, (given, lowest) in least.items():
            if given < lowest:
                raise InputError(f"{name} must be at least {lowest}, not {given}")
        if not 0 <= self.target <= 1:
            raise InputError(f"--target is an accuracy between 0 and 1, not {self.target}")

    def _config(self) -> TrainConfig:
        """The speedrun measures hold-out accuracy itself; only a run that is kept has the usual evaluations as well."""
        quiet = {"eval_n": 256, "eval_facts": ()} if self.keep else {"eval_every": 0}
        return self._recipe().with_changes(checkpoint_every=0, **quiet)

    def _recipe(self) -> TrainConfig:
        return preset(self.preset).with_changes(**({} if self.steps is None else {"steps": self.steps}))

    def _settings(self) -> dict:
        sizes = {"target": self.target, "n": self.n, "timed_steps": self.timed_steps}
        return {**sizes, "training": self._recipe().to_dict()}

    def _earlier_result(self) -> Result | None:
        """The result of an earlier call with the same settings, whose seeds are not run again."""
        path = result_path(self.out, "full", self.preset, "speedrun") if self.out else None
        found = read_result(path) if path and path.exists() else None
        return replace(found, command=self._command()) if found and self._has_these_settings(found.config) else None

    def _has_these_settings(self, config: dict) -> bool:
        """Whether an earlier result was made with these settings; fields added since then have their defaults."""
        sizes = {key: value for key, value in self._settings().items() if key != "training"}
        found = {key: value for key, value in config.items() if key != "training"}
        return found == sizes and self._recipe().matches(config.get("training"))

    def _command(self) -> str:
        length = f" --steps {self.steps}" if self.steps else ""
        return f"icalgebra speedrun {self.preset} --seeds {self.seeds} --seed {self.seed}{length}"

    def _result(self, warm: WarmUp, milliseconds: np.ndarray) -> Result:
        device = device_name(choose_device(self.device))
        details = {
            "device": device, "warm_up_seconds": warm.seconds, "seconds_to_first_step": warm.to_first_step, "runs": [],
        }  # fmt: skip
        values = {
            "milliseconds_a_step": mean(milliseconds),
            "times_released": mean(1000 * released.STEP_SECONDS / milliseconds),
        }
        return Result(
            "speedrun", "full", self.preset, self.seed, self._settings(), self._command(), values, {}, details
        )

    def _write(self, result: Result) -> None:
        if self.out:
            seconds = result.details["warm_up_seconds"] + sum(run["seconds_in_all"] for run in result.details["runs"])
            write_result(self.out, replace(result, provenance=provenance(seconds, result.details["device"])))

    def _show(self, result: Result) -> None:
        step_ms = result.values["milliseconds_a_step"].value
        title = f"{self.preset} to {self.target:.0%} hold-out accuracy; {step_ms:.1f} ms per step"
        table = Table(title=title, caption="\n".join(_beside(result)), caption_justify="left")
        # Headings in two lines, so that the table fits into 80 columns.
        times_and_rate = ("training\ns", "in all\ns", "TFLOP/s\n(of chip)")
        for heading in ("seed", "passed", "hold-out, %", "steps", *times_and_rate):
            table.add_column(heading, justify="right", no_wrap=True)
        for run in result.details["runs"]:
            accuracy = "{:.2f} [{:.2f}, {:.2f}]".format(*(100 * run["accuracy"][k] for k in ("value", "low", "high")))
            times = [f"{run[name]:.1f}" for name in ("training_seconds", "seconds_in_all")]
            share = "" if run["share_of_chip"] is None else f" ({run['share_of_chip']:.0%})"
            rate = f"{run['flops_a_second'] / 1e12:.3g}{share}"
            table.add_row(str(run["seed"]), "yes" if run["passed"] else "no", accuracy, str(run["steps"]), *times, rate)
        console().print(table)


def _beside(result: Result) -> list[str]:
    """Lines below the table. Results from before something was measured have no line for it."""
    first = result.details.get("seconds_to_first_step")
    lines = [f"first step {first:.1f} s after the command, compilation included"] if first else []
    for name, words in QUALITY.items():
        found = [run["quality"][name]["value"] for run in result.details["runs"] if name in run.get("quality", {})]
        lines += [f"{words}, by seed: {', '.join(f'{100 * value:.1f}' for value in found)}"] if found else []
    return lines
