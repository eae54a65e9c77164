"""Several experiments at once, each in one of a few worker processes that share the cores among them.

The shipped model is small: two threads on one of its passes wait for each other more than they gain, and much of an
experiment is not a pass at all. Two processes with one thread each keep two cores busy. A result does not depend on the
process: an experiment is a function of its tier, seed and model.

Kernels that no run has compiled yet are compiled first, a group per task, so that two workers never compile the same
ones: from nothing that is a quarter of the quick tier's processor time. What one worker has compiled, the other loads.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch

from icalgebra import compilation
from icalgebra.data.counterfactuals import counterfactual_pairs
from icalgebra.data.distributions import sample
from icalgebra.errors import one_line, reason
from icalgebra.experiments import EXPERIMENTS
from icalgebra.experiments.running import run_experiment
from icalgebra.experiments.shared.loaded_model import LoadedModel, load_with_config
from icalgebra.language.world import World
from icalgebra.oracle import classify_by_facts, classify_queries
from icalgebra.processes import PROCESSES, be_a_worker, memory_size, start_server
from icalgebra.results import Result
from icalgebra.solvers import Queries, answer_sets, candidate_sets
from icalgebra.solvers.ladder import decide_by_facts, decide_queries

MOST_WORKERS = 4  # more would wait for the longest experiment
WORKER_MEMORY = 3 << 30  # bytes; a worker of the quick tier has held up to 1.9 GB
THREAD_COUNTS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def n_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def suitable_workers(device: torch.device) -> int:
    """One per core, up to four and as many as memory holds. On a GPU one: there all would wait for the same device."""
    if device.type != "cpu":
        return 1
    return max(1, min(MOST_WORKERS, n_cores(), memory_size() // WORKER_MEMORY))


@dataclass(frozen=True)
class Job:
    """What the experiments of one run have in common. Plain values: every worker loads the model by itself."""

    tier: str
    seed: int
    model: str
    device: str
    threads: int

    @cached_property
    def loaded(self) -> LoadedModel:
        return load_with_config(self.model, self.device)

    def run(self, name: str) -> Result:
        loaded = self.loaded if EXPERIMENTS[name].about == "model" else None
        return run_experiment(name, self.tier, self.seed, loaded)


@dataclass(frozen=True)
class LeftOut:
    """Why there is no result."""

    reason: str


Outcomes = Generator[tuple[str, Result | LeftOut], None, None]


def run_side_by_side(
    names: Sequence[str], job: Job, workers: int, running: Callable[[list[str]], None] = lambda names: None
) -> Outcomes:
    """Results by name, as they come. Whatever happens to an experiment or to its process, the others go on.

    running: is told what is under way whenever that changes. Closing the iterator ends the workers.
    """
    # The longest first, so that those at the end are short and no core is idle for long.
    tasks = [*KERNELS, *sorted(names, key=lambda name: -EXPERIMENTS[name].seconds)]
    with _thread_counts(job.threads):
        start_server([__name__, *_modules(names)])
    busy: list[_Worker] = []
    try:
        while tasks or busy:
            while tasks and len(busy) < min(workers, len(names)):
                busy.append(_Worker(job, tasks.pop(0)))
            running([worker.task for worker in busy])
            ready = wait([worker.connection for worker in busy])
            for worker in [worker for worker in busy if worker.connection in ready]:
                task, found = worker.task, worker.outcome()
                if worker.alive and tasks:
                    worker.give(tasks.pop(0))
                else:
                    busy.remove(worker)
                    worker.stop()
                if task not in KERNELS:
                    yield task, found
    finally:
        for worker in busy:
            worker.stop()


class _Worker:
    """A process that does one task after the other, from the parent's side."""

    def __init__(self, job: Job, task: str) -> None:
        self.connection, theirs = PROCESSES.Pipe()
        self.process: ForkServerProcess = PROCESSES.Process(target=_work, args=(theirs, job))
        self.process.start()
        theirs.close()  # so that the end of the process is the end of the connection
        self.alive = True
        self.give(task)

    def give(self, task: str) -> None:
        self.task = task
        # A process that has just died shows by the end of its connection, where `outcome` finds it.
        with suppress(OSError):
            self.connection.send(task)

    def outcome(self) -> Any:
        """The result of an experiment, or why there is none; None for kernels."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            self.alive = False
            self.process.join()
            return LeftOut(f"its process ended with exit code {self.process.exitcode}")

    def stop(self) -> None:
        self.process.kill()  # it writes no files
        self.process.join()
        self.connection.close()


# --- in a worker ------------------------------------------------------------------------------------------------------


def _work(connection: Connection, job: Job) -> None:
    be_a_worker()
    compilation.be_silent()  # the command's own progress says it
    torch.set_num_threads(job.threads)
    while True:
        connection.send(_outcome(job, connection.recv()))


def _outcome(job: Job, task: str) -> Result | LeftOut | None:
    try:
        return KERNELS[task]() if task in KERNELS else job.run(task)
    except Exception as error:
        known = reason(error)
        if known is None:  # a bug: the traceback for us, one line for the list
            traceback.print_exc()
        return LeftOut(known[0] if known else one_line(f"{type(error).__name__}: {error}"))


# --- kernels ----------------------------------------------------------------------------------------------------------


def _oracle_kernels() -> None:
    prompts = np.array([WORLD.vocabulary.encode(PROMPT)])
    classify_by_facts(prompts, WORLD, "holdout")
    classify_by_facts(prompts, WORLD, "train")
    classify_queries(prompts, WORLD)


def _data_kernels() -> None:
    tokens = sample("holdout", 1, 5, world=WORLD).tokens
    counterfactual_pairs("closure", 1, world=WORLD)
    for ask in get_args(Queries):
        answer_sets(tokens, ask, WORLD.n_variables)
        candidate_sets(tokens, ask, WORLD.n_variables)


def _ladder_kernels() -> None:
    tokens = np.array([WORLD.vocabulary.encode(PROMPT + "b")])
    for ask in get_args(Queries):
        decide_by_facts(tokens, ask, WORLD)
    decide_queries(tokens[:, :-1], WORLD, "split", "split")


WORLD, PROMPT = World(), ",kn=e,kk=b,eb=e,ke="
# In the order of their time from nothing, about 35, 20 and 45 s: the last begins where the second ends.
KERNELS: dict[str, Callable[[], None]] = {
    "kernels of the oracle": _oracle_kernels,
    "kernels of the data": _data_kernels,
    "kernels of the ladder": _ladder_kernels,
}


def _modules(names: Sequence[str]) -> list[str]:
    """What the workers are forked with: the measurements of this package, not those of a user's folder."""
    return [
        f"{__package__}.{name}.measure" for name in names if EXPERIMENTS[name].folder.parent == Path(__file__).parent
    ]


@contextmanager
def _thread_counts(n: int) -> Iterator[None]:
    """For the processes started inside the block: libraries read these variables when they are loaded."""
    before = {name: os.environ.get(name) for name in THREAD_COUNTS}
    os.environ.update(dict.fromkeys(THREAD_COUNTS, str(n)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
