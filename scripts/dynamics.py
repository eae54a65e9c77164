"""Train a preset under several seeds and record when skills appear: python scripts/dynamics.py PRESET OUT [options].

OUT/full/<preset>/dynamics.json is written after every seed, with everything that the report needs. If the script is
interrupted, the finished seeds are kept, and the same command continues with the others. Several commands at once, each
with its own seeds, may share OUT. Evaluations are log-spaced; the roles of heads are scored at some of them while the
model is in memory, so that no checkpoint has to be kept.
To try it on a CPU: tiny OUT --steps 40 --points 12 --n 32 --roles 3 --role-n 4 (18 s per seed on a busy core).
"""

from __future__ import annotations

import argparse
import fcntl
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from icalgebra.experiments.dynamics.measure import summarised
from icalgebra.experiments.shared.training_history import Scores, TrainingHistory, measured_roles, training_history
from icalgebra.results import Result, provenance, read_result, result_path, write_result
from icalgebra.train import TrainConfig, preset, train
from icalgebra.train.distributed import choose_device, device_name
from icalgebra.train.run import RunFolder


def trained(config: TrainConfig, n_roles: int, role_n: int, device: str | None, keep: Path | None) -> TrainingHistory:
    """The history of one run from start to end; `keep` is its run folder."""
    at = watched(config, n_roles)
    records: list[dict] = []
    scores: dict[int, Scores] = {}

    def watch(record: dict, model) -> None:
        records.append(record)
        if record["kind"] == "evaluation":
            if record["step"] in at:
                scores[record["step"]] = measured_roles(model, config, role_n, config.n_facts, seed=0)
            skills = {name: round(record[name], 2) for name in ("holdout", "copy", "identity", "cancel", "associate")}
            print(f"seed {config.seed} step {record['step']} {skills} {record['clock']['seconds']:.0f} s", flush=True)

    if keep is not None:
        RunFolder.clear_unfinished(keep, config)
    train(config, keep, device=device, callback=watch)
    return training_history(config, records, scores)


def watched(config: TrainConfig, n_roles: int) -> set[int]:
    """The evaluations at which roles are scored: evenly chosen, the last among them."""
    steps = sorted(config.evaluation_steps)
    if not n_roles:
        return set()
    return {steps[round((i + 1) * len(steps) / n_roles) - 1] for i in range(min(n_roles, len(steps)))}


def kept(path: Path, config: TrainConfig) -> list[TrainingHistory]:
    """The finished runs with these settings, whatever their seeds; runs with other settings are dropped."""
    if not path.exists():
        return []
    histories = [TrainingHistory.from_dict(run) for run in read_result(path).details["runs"]]
    return [history for history in histories if history.config == config.with_changes(seed=history.config.seed)]


@contextmanager
def alone() -> Iterator[None]:
    """While this lock is held, no other such command reads and rewrites the file."""
    with (Path(tempfile.gettempdir()) / "icalgebra-dynamics.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset")
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--points", type=int, default=72, help="log-spaced evaluations")
    parser.add_argument("--n", type=int, default=256, help="sequences per evaluation")
    parser.add_argument("--roles", type=int, default=18, help="evaluations at which the roles of heads are scored")
    parser.add_argument("--role-n", type=int, default=24, help="sequences per role")
    parser.add_argument("--keep", type=Path, help="a folder for the finished runs: <preset>-seed0, <preset>-seed1 …")
    parser.add_argument("--device")
    given = parser.parse_args()
    changes = {"steps": given.steps, "eval_points": given.points, "eval_n": given.n, "eval_every": 0, "eval_facts": ()}
    changes |= {"checkpoint_every": 0}
    base = preset(given.preset).with_changes(**changes)
    path = result_path(given.out, "full", given.preset, "dynamics")
    begun = time.perf_counter()
    done = {history.config.seed for history in kept(path, base)}
    for config in [base.with_changes(seed=seed) for seed in given.seeds if seed not in done]:
        keep = given.keep / f"{given.preset}-seed{config.seed}" if given.keep else None
        history = trained(config, given.roles, given.role_n, given.device, keep)
        with alone():
            histories = sorted([*kept(path, base), history], key=lambda one: one.config.seed)
            write_result(given.out, result(histories, given, time.perf_counter() - begun))
    print(f"{path}: {len(kept(path, base))} runs, {time.perf_counter() - begun:.0f} s")


def result(histories: list[TrainingHistory], given: argparse.Namespace, seconds: float) -> Result:
    sizes = {"n": given.role_n, "n_facts": histories[0].config.n_facts}
    seeds = " ".join(str(history.config.seed) for history in histories)
    command = (
        f"python scripts/dynamics.py {given.preset} build/again --seeds {seeds} --steps {given.steps} "
        f"--points {given.points} --n {given.n} --roles {given.roles} --role-n {given.role_n}"
    )
    found = summarised(histories, given.preset, "full", 0, sizes, command)
    return Result(**{**vars(found), "provenance": provenance(seconds, device_name(choose_device(given.device)))})


if __name__ == "__main__":
    main()
