"""The rows of a training step, and a torch dataset over any distribution for users with their own trainers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import torch
from torch.utils.data import IterableDataset, get_worker_info

from icalgebra.data.distributions import check_request, sample
from icalgebra.errors import InputError
from icalgebra.language.world import World
from icalgebra.records import argument


def step_rows(
    name: str,
    step: int,
    batch_size: int,
    n_facts: int,
    seed: int,
    world: World,
    *,
    stream: str | None = None,
    rank: int = 0,
    n_ranks: int = 1,
) -> torch.Tensor:
    """This rank's share of rows t·B … t·B+B−1 of a stream, for step t and batches of B rows: uint8 [B / ranks, 5k]."""
    share = batch_size // n_ranks
    start = step * batch_size + rank * share
    return torch.from_numpy(sample(name, share, n_facts, seed, world, stream=stream, start=start).tokens)


class SequenceDataset(IterableDataset[torch.Tensor]):
    """Endless batches of token ids (int64 [batch_size, 5k]), or n_batches of them.

    Give it to DataLoader(dataset, batch_size=None, num_workers=…). Batch t holds rows t·B … t·B+B−1 of the stream
    whatever the number of workers. With several ranks every rank gets its own share of each batch's rows.
    """

    def __init__(
        self,
        name: str = "train",
        batch_size: int = 128,
        n_facts: int = 200,
        seed: int = 0,
        world: World | None = None,
        *,
        stream: str | None = None,
        n_batches: int | None = None,
        first_batch: int = 0,
        rank: int = 0,
        n_ranks: int = 1,
    ) -> None:
        self.world = World() if world is None else world
        check_request(name, n_facts, self.world)
        numbers = {"batch_size": batch_size, "seed": seed, "first_batch": first_batch, "rank": rank, "n_ranks": n_ranks}
        for argument_name, value in (numbers | {"n_batches": 0 if n_batches is None else n_batches}).items():
            argument(int, value, argument_name)
        argument(str | None, stream, "stream")
        if min(batch_size, n_ranks) < 1 or batch_size % n_ranks:
            raise InputError(f"a batch of {batch_size} rows cannot be shared evenly by {n_ranks} ranks")
        if not 0 <= rank < n_ranks:  # its rows would be those of another batch
            raise InputError(f"of {n_ranks} ranks the last is {n_ranks - 1}, not {rank}: they are counted from 0")
        if first_batch < 0:
            raise InputError(f"batches are counted from 0; first_batch cannot be {first_batch}")
        self.name, self.batch_size, self.n_facts, self.seed, self.stream = name, batch_size, n_facts, seed, stream
        self.n_batches, self.first_batch, self.rank, self.n_ranks = n_batches, first_batch, rank, n_ranks

    def batch(self, step: int) -> torch.Tensor:
        """This rank's rows of batch `step`."""
        return step_rows(
            self.name, step, self.batch_size, self.n_facts, self.seed, self.world,
            stream=self.stream, rank=self.rank, n_ranks=self.n_ranks,
        ).long()  # fmt: skip

    def __iter__(self) -> Iterator[torch.Tensor]:
        worker = get_worker_info()
        offset, stride = (worker.id, worker.num_workers) if worker else (0, 1)
        for i in count(offset, stride):
            if self.n_batches is not None and i >= self.n_batches:
                return
            yield self.batch(self.first_batch + i)
