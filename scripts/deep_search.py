"""The search for a model near the ceiling: python scripts/deep_search.py OUT STAGE … [options]; --plan prints the plan.

search   every variant of deep_variants.py for the same number of training seconds
depths   4, 8 and 12 layers on the same tokens; the experiment `reasoning` then runs on each
winner   one variant for longer, as a run folder that scripts/full_tier.py can ask all questions of

A job is one run, in its own process. One job trains at a time, and its seconds count no compilation and no evaluation;
the next ones compile meanwhile. After every evaluation OUT/jobs/<stage>-<name>.json and the result of the experiment
`price` in OUT/results are written. If the script is interrupted, the same command continues: finished and failed jobs
are skipped, the winner goes on from its newest checkpoint, other unfinished jobs start over.
--rehearse: every path with tiny models, on a CPU, in seconds.
"""

from __future__ import annotations

import argparse
import fcntl
import gc
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from deep_variants import DEPTHS, VARIANTS, Variant, parameters, plan

from icalgebra.atomic_files import read_json, write_json
from icalgebra.data.distributions import sample
from icalgebra.errors import InputError
from icalgebra.experiments.running import run_experiment
from icalgebra.experiments.shared.loaded_model import LoadedModel
from icalgebra.language.vocabulary import MECHANISMS
from icalgebra.model.accuracy import accuracy_estimate, hits
from icalgebra.model.checkpoints import write_checkpoint
from icalgebra.model.predict import as_predictor
from icalgebra.model.prefix_accuracy import hits_by_facts
from icalgebra.model.transformer import Transformer
from icalgebra.oracle import ceiling_hits
from icalgebra.results import Result, provenance, result_path, write_result
from icalgebra.statistics import Estimate, auc_ratio, mean
from icalgebra.train import TrainConfig, train
from icalgebra.train.distributed import choose_device, device_name
from icalgebra.train.loop import Record
from icalgebra.train.speedrun import flops_before

FACTS = (10, 20, 30, 50, 100, 200)  # at which hold-out accuracy is shown, the query included
ASSOCIATE_AT = (50, 100)  # besides the longest
POINTS = {"search": 6, "depths": 3, "winner": 14}  # evaluations, log-spaced in seconds from a tenth of the time on
TIMED_STEPS = 20
LATE = 1.15  # a run that takes so much longer than planned is stopped
TRAINS = 0.85  # of a winner's time; the rest is evaluation and saving
TIE = 0.005  # variants whose shares differ by less are as good; the one with the fewest parameters is chosen
# Seven kinds of sequences for the mechanisms cost more than the hold-out ones: fewer of each, n divided by this.
SKILLS_PART = {False: 2, True: 4}  # on the way, and in the last evaluation of a short run
REHEARSAL = {"structures": ("C3", "C4"), "n_variables": 6, "n_heads": 2, "d_model": 16, "batch_size": 4, "warmup": 4}
REHEARSED_FACTS = 16


class Evaluation:
    """Hold-out AUC as a share of the ceiling's on the same sequences, and accuracy by facts and mechanism.

    Always the same sequences, the first n of n_last; models run in fp32 (on a GPU with TF32 products), logits in fp32.
    """

    def __init__(self, config: TrainConfig, n_last: int) -> None:
        self.n_facts, world, seed = config.n_facts, config.world, config.seed
        self.holdout = sample("holdout", n_last, self.n_facts, seed, world, stream="price/holdout")
        self.ceiling = ceiling_hits(self.holdout, "holdout").expected
        self.skills = {}
        for name, facts in [*((name, self.n_facts) for name in MECHANISMS), *(("associate", k) for k in ASSOCIATE_AT)]:
            if facts <= self.n_facts:
                with suppress(InputError):  # a small world may have no such sequence
                    stream = f"price/{name}"
                    self.skills[f"{name}/{facts}"] = sample(name, n_last, facts, seed, world, stream=stream)

    def __call__(self, model: Transformer, n: int, n_skills: int) -> dict[str, Any]:
        was_training = model.training
        model.eval()
        hit = hits_by_facts(model, self.holdout[:n], range(2, self.n_facts + 1))
        predictor = as_predictor(model)
        skills = {name: accuracy_estimate(hits(predictor, found[:n_skills])) for name, found in self.skills.items()}
        model.train(was_training)
        by_facts = {str(k): accuracy_estimate(hit[:, k - 2]) for k in self.facts}
        share = auc_ratio(hit, self.ceiling[:n])
        return {"share": share.to_dict(), "accuracy": plain(by_facts), "mechanisms": plain(skills)}

    @property
    def facts(self) -> list[int]:
        return [k for k in FACTS if k <= self.n_facts]

    @property
    def best_by_facts(self) -> dict[str, Any]:
        return plain({str(k): mean(self.ceiling[:, k - 2]) for k in self.facts})


def plain(estimates: dict[str, Estimate]) -> dict[str, Any]:
    return {name: estimate.to_dict() for name, estimate in estimates.items()}


class Watch:
    """The callback of a run: evaluates at given training seconds and at the end, and saves the job after each."""

    def __init__(self, job: Job, config: TrainConfig, evaluation: Evaluation, seconds: float | None) -> None:
        self.job, self.config, self.evaluation, self.seconds = job, config, evaluation, seconds
        expected = seconds or config.steps * job.record["milliseconds_per_step"] / 1000
        self.due = list(np.geomspace(expected / 10, expected, POINTS[job.stage])[:-1])
        self.first = True

    def __call__(self, record: Record, model: Transformer) -> bool:
        if record["kind"] != "train":
            return False
        at = self._seconds(record)
        late = self.seconds is not None and at > LATE * self.seconds
        last = record["step"] == self.config.steps or late
        if not last and not (self.due and at >= self.due[0]):
            return False
        self.due = [seconds for seconds in self.due if seconds > at]
        self._evaluate(model, record["step"], at, last)
        return late and record["step"] < self.config.steps

    def _seconds(self, record: Record) -> float:
        """Training seconds without the start, in which the captured graphs come to be."""
        own, found, at = self.job.record, record["clock"]["training_seconds"], record["step"]
        if self.first:
            self.first = False
            own.setdefault("start_seconds", max(0.0, found - at * own["milliseconds_per_step"] / 1000))
            own["points"] = [point for point in own["points"] if point["step"] < at]  # of a run that is resumed
            begun = own["points"][-1]["seconds"] if own["points"] else 0.0
            self.due = [seconds for seconds in self.due if seconds > begun]
        return found - own["start_seconds"]

    def _evaluate(self, model: Transformer, step: int, at: float, last: bool) -> None:
        sizes = self.job.given
        n = sizes.n_last if last else sizes.n
        whole = last and self.job.stage == "winner"
        found = self.evaluation(model, n, n if whole else max(2, n // SKILLS_PART[last]))
        rate = flops_before(self.config, step) / max(at, 1e-9) / 1e12
        own = self.job.record
        own["points"].append({"seconds": round(at, 3), "step": step, **found})
        own |= {"tokens": self.config.tokens_before(step), "tflops_per_second": round(rate, 1), "done": last}
        own["milliseconds_per_step"] = 1000 * at / step
        self.job.save()
        accuracy = {k: round(one["value"], 3) for k, one in {**found["accuracy"], **found["mechanisms"]}.items()}
        print(
            f"{self.job.key} step {step}, {at:.1f} s: {found['share']['value']:.4f} of the ceiling {accuracy}",
            flush=True,
        )


class Job:
    """One run of a stage, and its file."""

    def __init__(self, key: str, given: argparse.Namespace) -> None:
        self.key, self.given = key, given
        self.stage, _, self.name = key.partition("/")
        self.path = given.out / "jobs" / f"{self.stage}-{self.name}.json"
        self.record: dict[str, Any] = read_json(self.path) if self.path.exists() else {}

    @property
    def variant(self) -> Variant:
        return (DEPTHS if self.stage == "depths" else VARIANTS)[self.name]

    @property
    def config(self) -> TrainConfig:
        config = self.variant.config.with_changes(seed=self.given.seed)
        return rehearsed(config) if self.given.rehearse else config

    @property
    def finished(self) -> bool:
        if self.record.get("failed"):
            return self.stage != "winner"
        return bool(self.record.get("done")) and (self.stage != "depths" or self.asked.exists())

    @property
    def asked(self) -> Path:
        """The result that a job of `depths` leaves."""
        return result_path(self.given.out / "results", tier(self.given), self.name, "reasoning")

    def save(self) -> None:
        write_json(self.path, self.record)
        if self.stage != "depths" and "points" in self.record:
            write_result(self.given.out / "results", price(self.given))

    def run(self) -> None:
        """Compile while others train, then train alone."""
        begun, config = time.perf_counter(), self.config
        seconds = {"search": self.given.seconds, "winner": self.given.winner_seconds}.get(self.stage)
        evaluation = Evaluation(config, self.given.n_last)
        for facts in lengths_of(config):
            step_milliseconds(config, facts, 0, self.given.device)
        with self._turn():
            self.record = read_json(self.path) if self.path.exists() else {}
            if self.finished:  # by a process of an earlier call that was still at work
                return
            if self.stage == "search" and time.time() > self.given.until:
                print(f"{self.key}: no time left", flush=True)
                return
            taken = {
                facts: step_milliseconds(config, facts, TIMED_STEPS, self.given.device) for facts in lengths_of(config)
            }
            each = sum(share * taken[facts] for facts, share in lengths_of(config).items())
            seconds = self._shortened(seconds)
            steps = self.given.depth_steps if seconds is None else max(2, round(1000 * seconds / each))
            config = config.with_changes(steps=steps, warmup=min(config.warmup, steps // 4))
            self._begin(config, evaluation, each, {str(facts): round(ms, 3) for facts, ms in taken.items()})
            model = self._train(config, evaluation, seconds)
            self.record["seconds_in_all"] = round(time.perf_counter() - begun, 1)
            self.save()
        if self.stage == "depths":
            self._ask_reasoning(config, model)

    def _shortened(self, seconds: float | None) -> float | None:
        """The winner ends in time even if all before it took longer than planned."""
        if seconds is None or self.stage != "winner":
            return seconds
        return max(1.0, min(seconds, TRAINS * (self.given.until - time.time())))

    def _begin(self, config: TrainConfig, evaluation: Evaluation, each: float, by_length: dict[str, float]) -> None:
        kept = self.record if self.stage == "winner" and (self.given.run / "config.json").exists() else {}
        self.record = {
            "name": self.name, "stage": self.stage, "why": self.variant.why, "n_layers": config.n_layers,
            "n_loops": config.n_loops, "d_model": config.d_model, "parameters": parameters(config),
            "training": config.to_dict(), "milliseconds_by_length": by_length, "milliseconds_per_step": each,
            "steps": config.steps, "points": [], "ceiling": evaluation.best_by_facts,
            "device": device_name(choose_device(self.given.device)), **kept, "done": False, "failed": "",
        }  # fmt: skip
        self.save()

    def _train(self, config: TrainConfig, evaluation: Evaluation, seconds: float | None) -> Transformer:
        """Returns the trained model."""
        device = self.given.device
        if self.stage != "winner":
            return train(config, device=device, callback=Watch(self, config, evaluation, seconds)).model
        if (self.given.run / "config.json").exists():
            config = self._resumed(config)
            result = train(resume=self.given.run, device=device, callback=Watch(self, config, evaluation, seconds))
        else:
            config = watched(config, 4 if self.given.rehearse else 128)
            result = train(config, self.given.run, device=device, callback=Watch(self, config, evaluation, seconds))
        written = {"config": config.to_dict(), "trainer": None, "step": result.step}
        write_checkpoint(self.given.out / "weights", result.model, dtype=torch.float16, **written)
        return result.model

    def _resumed(self, config: TrainConfig) -> TrainConfig:
        """The config of the run folder, whose length was fixed when it began."""
        own = TrainConfig.load(self.given.run / "config.json")
        if (own.model, own.lengths, own.once_share) != (config.model, config.lengths, config.once_share):
            raise InputError(f"{self.given.run} holds a run of another variant; choose another folder with --run")
        return own

    def _ask_reasoning(self, config: TrainConfig, model: Transformer) -> None:
        """While the next job trains."""
        loaded = LoadedModel(self.name, model.eval(), config, source=f"runs/{self.name}")
        write_result(self.given.out / "results", run_experiment("reasoning", tier(self.given), self.given.seed, loaded))

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One job at a time trains and evaluates. The system releases the lock if the process dies."""
        with (self.given.out / ".turn").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def rehearsed(config: TrainConfig) -> TrainConfig:
    """The same paths with a tiny model in a tiny world."""
    lengths = tuple((max(2, facts * REHEARSED_FACTS // config.n_facts), share) for facts, share in config.lengths)
    blocks = max(1, config.n_layers // config.n_loops // 4)
    shape = {"n_layers": blocks * config.n_loops, "n_facts": REHEARSED_FACTS, "lengths": lengths}
    return config.with_changes(**REHEARSAL, **shape)


def watched(config: TrainConfig, n: int) -> TrainConfig:
    """With the evaluations and checkpoints that experiments about training read."""
    steps = config.steps
    often = {"eval_every": max(1, steps // 15), "eval_points": 12, "eval_n": n, "eval_facts": (10, 20, 50)}
    return config.with_changes(**often, checkpoint_every=max(1, steps // 8), log_checkpoints=10)


def lengths_of(config: TrainConfig) -> dict[int, float]:
    return dict(config.lengths) or {config.n_facts: 1.0}


def step_milliseconds(config: TrainConfig, facts: int, n_steps: int, device: str | None) -> float:
    """The median over blocks of steps at one length, data included. n_steps 0: only what compiles."""
    marks: list[tuple[int, float]] = []
    changes = {"steps": 10 + n_steps if n_steps else 3, "log_every": max(1, n_steps // 4)}
    only = config.with_changes(**changes, lengths=((facts, 1.0),), warmup=1)

    def mark(record: Record, model: Transformer) -> None:
        if record["kind"] == "train" and record["step"] >= min(10, n_steps):
            marks.append((record["step"], record["clock"]["training_seconds"]))

    train(only, device=device, callback=mark)
    if torch.cuda.is_available():
        gc.collect()  # graphs of a run that has ended keep their memory until then
        torch.cuda.empty_cache()
    blocks = [1000 * (t1 - t0) / (s1 - s0) for (s0, t0), (s1, t1) in pairwise(marks)]
    return float(np.median(blocks))


def tier(given: argparse.Namespace) -> str:
    return "quick" if given.rehearse else "full"


def records(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Of the jobs that `price` shows, in the order of the table."""
    keys = [*(f"search/{name}" for name in VARIANTS), *(f"winner/{name}" for name in VARIANTS)]
    return [found for key in keys if "points" in (found := Job(key, given).record)]


def price(given: argparse.Namespace) -> Result:
    """The result of the experiment `price` from all jobs so far."""
    jobs = records(given)
    shown = ("name", "stage", "why", "n_layers", "n_loops", "d_model", "parameters", "milliseconds_per_step", "steps",
             "tokens", "tflops_per_second", "done", "failed", "points")  # fmt: skip
    variants = [{key: job[key] for key in shown if key in job} | {"recipe": recipe(job["training"])} for job in jobs]
    first = next(iter(jobs))
    training = TrainConfig.from_dict(first["training"])
    values = {
        f"{job['stage']}.{job['name']}.share": Estimate(**job["points"][-1]["share"]) for job in jobs if job["points"]
    }
    config = {
        "n": given.n, "n_last": given.n_last, "n_facts": training.n_facts, "seconds": given.seconds,
        "winner_seconds": given.winner_seconds, "world": training.world.to_dict(),
    }  # fmt: skip
    details = {"device": first["device"], "ceiling": first["ceiling"], "variants": variants}
    command = (
        f"python scripts/deep_search.py build/deep search winner --seconds {given.seconds:g} "
        f"--winner-seconds {given.winner_seconds:g} --seed {given.seed}"
    )
    result = Result("price", tier(given), "deep", given.seed, config, command, values, {}, details)
    return replace(result, provenance=provenance(sum(job.get("seconds_in_all", 0) for job in jobs), first["device"]))


def recipe(training: dict[str, Any]) -> dict[str, Any]:
    """The fields of a config that differ from the defaults."""
    usual = TrainConfig().to_dict()
    return {name: value for name, value in training.items() if value != usual[name]}


def choose(given: argparse.Namespace) -> str:
    """The variant with the highest share at equal seconds; among ties the one with the fewest parameters."""
    done = [job for job in records(given) if job["stage"] == "search" and job["done"]]
    if not done:
        return next(iter(VARIANTS))
    shares = {job["name"]: job["points"][-1]["share"]["value"] for job in done}
    tied = [job for job in done if shares[job["name"]] > max(shares.values()) - TIE]
    winner = min(tied, key=lambda job: (job["parameters"], -shares[job["name"]]))["name"]
    ranked = sorted(shares.items(), key=lambda item: -item[1])
    print("shares at equal seconds:", ", ".join(f"{name} {share:.4f}" for name, share in ranked), flush=True)
    print(f"as good as the best: {', '.join(job['name'] for job in tied)}; chosen: {winner}", flush=True)
    return winner


def supervise(given: argparse.Namespace) -> bool:
    """Start the jobs in their order, a few at a time; whether all stages have what they need."""
    begun = first_call(given.out)
    wanted = {"search": given.only or list(VARIANTS), "depths": list(DEPTHS), "winner": [given.winner]}
    pending = [f"{stage}/{name}" for stage in given.stages for name in wanted[stage]]
    started: list[str] = []
    alive: dict[str, subprocess.Popen[bytes]] = {}
    while pending or alive:
        for key in [key for key, process in alive.items() if process.poll() is not None]:
            note_end(Job(key, given), alive.pop(key).returncode)
        while pending and len(alive) <= given.ahead:
            key = pending[0]
            training = [other for other in alive if not Job(other, given).record.get("done")]
            if key.startswith("winner/") and (len(training) > 1 or any(one.startswith("search/") for one in training)):
                break  # it compiles while the last job before it trains
            if key == "winner/auto":
                key = f"winner/{choose(given)}"
            pending.pop(0)
            job = Job(key, given)
            if not job.finished and (job.stage != "search" or time.time() < begun + given.limit):
                print(f"{key} begins at {time.time() - begun:.0f} s", flush=True)
                given.until = begun + (given.end if job.stage == "winner" else given.limit)
                alive[key] = spawn(key, given)
                started.append(key)
        time.sleep(0.1)
    unfinished = [key for key in started if not Job(key, given).finished and not key.startswith("search/")]
    print(f"{time.time() - begun:.0f} s in all" + (f"; unfinished: {', '.join(unfinished)}" if unfinished else ""))
    return not unfinished


def first_call(out: Path) -> float:
    """When the first call with this folder began: limits hold for a call and those that continue it."""
    path = out / "begun.json"
    if not path.exists():
        write_json(path, {"seconds": time.time()})
    return read_json(path)["seconds"]


def spawn(key: str, given: argparse.Namespace) -> subprocess.Popen[bytes]:
    options = ["out", "seconds", "winner_seconds", "depth_steps", "n", "n_last", "seed", "run", "until"]
    command = [sys.executable, __file__, str(given.out), "--job", key]
    for name in options[1:]:
        command += [f"--{name.replace('_', '-')}", str(getattr(given, name))]
    command += (["--device", given.device] if given.device else []) + (["--rehearse"] if given.rehearse else [])
    return subprocess.Popen(command)


def note_end(job: Job, code: int) -> None:
    """A job that was killed has said nothing."""
    if code and not job.finished:
        job.record = {**job.record, "failed": job.record.get("failed") or f"ended with code {code}"}
        print(f"{job.key}: {job.record['failed']}", flush=True)
        job.save()


def run_job(key: str, given: argparse.Namespace) -> None:
    """A job that fails is a finding; its file says why, and the others still run."""
    job = Job(key, given)
    try:
        job.run()
    except Exception as error:
        job.record["failed"] = f"{type(error).__name__}: {error}"[:300]
        job.save()
        raise


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("stages", nargs="*", help="of search, depths, winner, in this order")
    parser.add_argument("--seconds", type=float, default=55, help="of training for each variant of the search")
    parser.add_argument(
        "--limit",
        type=float,
        default=float("inf"),
        help="no variant begins to train so many seconds after the first call",
    )
    parser.add_argument("--only", nargs="*", help="variants of the search; by default all, in the table's order")
    parser.add_argument("--depth-steps", type=int, default=2000)
    parser.add_argument("--winner", default="auto", help="a variant; auto: the best of the search")
    parser.add_argument("--winner-seconds", type=float, default=560)
    parser.add_argument(
        "--end", type=float, default=float("inf"), help="the winner is trained so many seconds after the first call"
    )
    parser.add_argument("--run", type=Path, default=Path("runs/deep"), help="the winner's run folder")
    parser.add_argument("--n", type=int, default=200, help="sequences per evaluation on the way")
    parser.add_argument("--n-last", type=int, default=2000, help="sequences of the last evaluation")
    parser.add_argument("--ahead", type=int, default=2, help="jobs that compile while one trains")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device")
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--plan", action="store_true", help="print what the search will do")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=float("inf"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    unknown = [stage for stage in given.stages if stage not in POINTS] + [
        name for name in [*(given.only or []), given.winner] if name not in (*VARIANTS, "auto")
    ]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; stages are {', '.join(POINTS)}, variants {', '.join(VARIANTS)}")
    given.out.mkdir(parents=True, exist_ok=True)
    if given.plan:
        print(plan(given.seconds))
        return 0
    if given.job:
        run_job(given.job, given)
        return 0
    return 0 if supervise(given) else 1


if __name__ == "__main__":
    sys.exit(main())
