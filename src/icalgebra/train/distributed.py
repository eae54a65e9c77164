"""Several processes under torchrun: this process's rank and device, and the few collectives that training needs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist

from icalgebra.errors import InputError


@dataclass(frozen=True)
class Ranks:
    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Rank 0 evaluates, writes files and shows progress."""
        return self.rank == 0

    def wait(self) -> None:
        """Wait for all ranks."""
        if self.size > 1:
            dist.barrier()

    def mean(self, value: torch.Tensor) -> torch.Tensor:
        if self.size > 1:
            value = value.clone()
            dist.all_reduce(value)
            value /= self.size
        return value

    def broadcast(self, decision: bool, device: torch.device) -> bool:
        """The leading rank's decision, on every rank."""
        if self.size == 1:
            return decision
        shared = torch.tensor([decision], dtype=torch.int32, device=device)
        dist.broadcast(shared, src=0)
        return bool(shared.item())


@contextmanager
def joined_ranks(device: str | None) -> Iterator[tuple[Ranks, torch.device]]:
    """This process's rank and device: as torchrun set them, or a single rank without torchrun."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield Ranks(), choose_device(device)
        return
    chosen = choose_device(device, int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    try:
        yield Ranks(dist.get_rank(), size), chosen
    finally:
        dist.destroy_process_group()


def device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def choose_device(name: str | None, local_rank: int = 0) -> torch.device:
    """The named device; by default CUDA if available, else the CPU."""
    if name is None:
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"unknown device {name!r}; known: cpu, cuda, cuda:0, mps, …") from error
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", local_rank)
    try:
        torch.empty(1, device=device).item()
    except (RuntimeError, AssertionError, ImportError) as error:  # not in this build of torch, or no such device here
        raise InputError(f"torch cannot use the device {name!r} on this machine; try --device cpu") from error
    if device.type == "cuda":
        torch.cuda.set_device(device)
    return device
