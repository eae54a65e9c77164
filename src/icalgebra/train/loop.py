"""The training loop. train(config, out=…) reads like the recipe: batch, loss, gradient, step; log, evaluate, save."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from icalgebra.errors import InputError, RunError, warn
from icalgebra.model.transformer import Transformer
from icalgebra.train.config import TrainConfig
from icalgebra.train.data import training_batches
from icalgebra.train.distributed import Ranks, joined_ranks
from icalgebra.train.evaluation import Evaluations
from icalgebra.train.float8 import use_float8
from icalgebra.train.metrics import Record
from icalgebra.train.optimisers import Optimisers, lr_scale
from icalgebra.train.progress import live_progress
from icalgebra.train.run import RunFolder
from icalgebra.train.step import TrainStep, autocast
from icalgebra.train.trackers import check_installed, tracker

Callback = Callable[[Record, Transformer], bool | None]


@dataclass(frozen=True)
class TrainResult:
    """A finished run: the final model, the time it took, and its last evaluation."""

    model: Transformer
    config: TrainConfig
    step: int
    seconds: float
    training_seconds: float  # without evaluation and saving
    final: Record
    run: Path | None


def train(
    config: TrainConfig | None = None,
    out: str | Path | None = None,
    *,
    resume: str | Path | None = None,
    device: str | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> TrainResult:
    """Train by `config` (into the run folder `out`, if given), or resume the run folder `resume`.

    The callback gets every record of metrics.jsonl and the model, on the leading rank; returning True stops the run.
    """
    with joined_ranks(device) as (ranks, chosen):
        run = _run_folder(config, out, resume, ranks)
        config = run.config if run else config
        assert config is not None
        tracked = run.path if run and ranks.leads else None
        lock = run.locked() if run and ranks.leads else nullcontext()
        with lock, live_progress(config, progress and ranks.leads) as show, tracker(config, tracked) as track:
            trainer = Trainer(config, chosen, ranks, run)
            trainer.listeners = [show, track]
            return trainer.train(callback or (lambda record, model: False))


def _run_folder(
    config: TrainConfig | None, out: str | Path | None, resume: str | Path | None, ranks: Ranks
) -> RunFolder | None:
    if (config is None) == (resume is None):
        raise InputError("give a config to start a run, or a run folder to resume: one of them")
    if resume is not None:
        return RunFolder.open(Path(resume))
    assert config is not None
    if out is None:
        return None
    check_installed(config)
    run = RunFolder.create(Path(out), config) if ranks.leads else RunFolder(Path(out), config)
    ranks.wait()
    return run


class Trainer:
    """One run in memory: model, optimisers and clock, restored from the newest checkpoint if there is one."""

    def __init__(self, config: TrainConfig, device: torch.device, ranks: Ranks, run: RunFolder | None) -> None:
        for rows in {config.batch_size, *(config.rows_of(facts) for facts, _ in config.lengths)}:
            if rows % (ranks.size * config.micro_batches):
                raise InputError(
                    f"a batch of {rows} sequences cannot be split evenly over {ranks.size} ranks "
                    f"with {config.micro_batches} micro-batches each"
                )
        self.config, self.device, self.ranks, self.run = config, device, ranks, run
        self.listeners: list[Callable[[Record], None]] = []
        torch.set_float32_matmul_precision(config.matmul)
        self.model = Transformer(config.model, seed=config.seed).to(device)
        self.model.residual_dtype = torch.bfloat16 if config.residual == "bf16" else torch.float32
        if config.float8:
            use_float8(self.model)
        self.optimisers = Optimisers(self.model, config)
        self.evaluations = Evaluations(config.world, config.n_facts, config.eval_n, config.eval_facts, config.seed)
        self.step, self.seconds_before, self.last_evaluation = 0, 0.0, Record()
        self.training_seconds = 0.0  # without evaluation and saving
        if run is not None:
            self._resume(run)
        self.train_step = TrainStep(self.model, self.optimisers, config, device, ranks)

    def train(self, callback: Callback) -> TrainResult:
        self.started = self.resumed_at = time.perf_counter()
        self.logged_step, self.logged_training_seconds = self.step, self.training_seconds
        for batch in training_batches(self.config, self.step, self.ranks, self.device):
            loss = self.train_step(batch, lr_scale(self.step, self.config))
            self.step += 1
            if self._report(loss, callback):
                break
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        run = self.run.path if self.run else None
        return TrainResult(
            self.model, self.config, self.step, self._seconds(), self.training_seconds, self.last_evaluation, run
        )

    def _report(self, loss: Tensor, callback: Callback) -> bool:
        """Log, evaluate and save, where due after this step; returns whether to stop.

        The loss is read only if something is due: reading it waits for the device.
        """
        last = self.step == self.config.steps
        logs = last or _due(self.step, self.config.log_every)
        evaluates = last or _due(self.step, self.config.eval_every) or self.step in self.config.evaluation_steps
        saves = last or _due(self.step, self.config.checkpoint_every) or self.step in self.config.log_checkpoint_steps
        if not (logs or evaluates or saves):
            return False
        value = self._read(loss)
        self.training_seconds += time.perf_counter() - self.resumed_at  # reading the loss has waited for the device
        stops = [self._publish(self._loss_record(value), callback)] if logs else []
        if evaluates and self.ranks.leads:
            stops.append(self._publish(self._evaluate(), callback))
        stop = self.ranks.broadcast(any(stops), self.device)
        if self.run and self.ranks.leads and (saves or stop):
            score = self.last_evaluation.get("holdout") if evaluates else None
            self.run.save(self.step, self.model, self.optimisers, score)
        self.resumed_at = time.perf_counter()
        return stop

    def _read(self, loss: Tensor) -> float:
        value = float(self.ranks.mean(loss))
        if not math.isfinite(value):
            kept = " the checkpoints before it are intact" if self.run else ""
            raise RunError(f"the loss is {value} at step {self.step}; a lower learning rate may help;{kept}")
        return value

    def _loss_record(self, value: float) -> Record:
        tokens = self.config.tokens_before(self.step) - self.config.tokens_before(self.logged_step)
        speed = tokens / max(1e-9, self.training_seconds - self.logged_training_seconds)
        self.logged_step, self.logged_training_seconds = self.step, self.training_seconds
        lr = self.config.lr * lr_scale(self.step - 1, self.config)
        return self._record("train", {"loss": value, "lr": lr}, tokens_per_second=round(speed))

    def _evaluate(self) -> Record:
        begun = time.perf_counter()
        with autocast(self.config, self.device):
            measured = self.evaluations(self.model)
        spent = time.perf_counter() - begun
        values = {name: estimate.value for name, estimate in measured.items()}
        self.last_evaluation = self._record("evaluation", values, evaluation_seconds=round(spent, 3))
        return self.last_evaluation

    def _record(self, kind: str, values: dict[str, float], **clock: float) -> Record:
        """Everything outside `clock` is the same for the same config and seed."""
        tokens = self.config.tokens_before(self.step)
        seconds = {"seconds": round(self._seconds(), 3), "training_seconds": round(self.training_seconds, 3)}
        return {"kind": kind, "step": self.step, "tokens": tokens, **values, "clock": {**seconds, **clock}}

    def _publish(self, record: Record, callback: Callback) -> bool:
        if not self.ranks.leads:
            return False
        if self.run:
            self.run.append(record)
        for listener in self.listeners:
            listener(record)
        return bool(callback(record, self.model))

    def _resume(self, run: RunFolder) -> None:
        """Restore weights, optimisers, step and metrics from the newest intact checkpoint."""
        found, complaints = run.newest()
        for complaint in complaints if self.ranks.leads else ():
            warn(f"{complaint}; resuming from {found.path.name if found else 'the start'}")
        if found is not None:
            self.model.load_state_dict(found.weights)
            self.optimisers.restore(found.trainer)
            self.step = found.step
        if self.ranks.leads:
            self._remember(run.truncate_after(self.step, found.records if found else None))

    def _remember(self, records: list[Record]) -> None:
        """Restore the time spent so far and the last evaluation."""
        for record in records:
            self.seconds_before, self.training_seconds = (
                record["clock"][name] for name in ("seconds", "training_seconds")
            )
            if record["kind"] == "evaluation":
                self.last_evaluation = record

    def _seconds(self) -> float:
        return self.seconds_before + time.perf_counter() - self.started


def _due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0
