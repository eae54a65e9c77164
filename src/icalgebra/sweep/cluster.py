"""Ray workers: on the cluster at RAY_ADDRESS, or on a local one that lives as long as the sweep.

The nodes of a cluster must share the sweep's folder and have icalgebra installed.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from icalgebra.errors import InputError
from icalgebra.sweep.manifest import Entry
from icalgebra.sweep.task import run_entry

# Only configs and paths pass through Ray, so its object store has the smallest size it allows.
OBJECT_STORE_BYTES = 80 * 1024**2


class RayWorkers:
    """Runs as Ray tasks, on the cluster at RAY_ADDRESS or on one started here."""

    def __init__(self, slots: int = 1, device: str | None = None) -> None:
        """slots: concurrent runs on this machine; on a cluster, concurrent runs per GPU (without GPUs: one per CPU)."""
        self.ray, self.device, self.running = _ray(), device, dict[Any, Entry]()
        _connect(self.ray, slots)
        on_gpu = device != "cpu" and self.ray.cluster_resources().get("GPU", 0) > 0
        self.need = {"num_cpus": 1.0, "num_gpus": 1 / slots if on_gpu else 0.0}
        # The sweep retries by itself, and only runs without done.json.
        self.task = self.ray.remote(**self.need, max_retries=0)(run_entry)

    @property
    def slots(self) -> int:
        """How many runs the cluster has room for at present: nodes come and go."""
        there = self.ray.cluster_resources()
        room = {"num_cpus": there.get("CPU", 0), "num_gpus": there.get("GPU", 0)}
        return max(1, int(min(room[kind] / need + 1e-6 for kind, need in self.need.items() if need)))

    def start(self, entry: Entry, folder: Path) -> None:
        self.running[self.task.remote(entry, folder.absolute(), self.device)] = entry

    def ended(self, timeout: float) -> Iterator[tuple[Entry, str]]:
        ready, _ = self.ray.wait(list(self.running), timeout=timeout)
        for reference in ready:
            yield self.running.pop(reference), self._complaint(reference)

    def _complaint(self, reference: Any) -> str:
        try:
            self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            return str(getattr(error, "cause", None) or error).strip().splitlines()[0]
        return "its worker ended without finishing the run"

    def stop(self) -> None:
        self.ray.shutdown()


def _ray() -> Any:
    # Both are read when Ray is imported: no usage statistics, no token file in the user's home.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    try:
        return import_module("ray")
    except ImportError as error:
        raise InputError('--ray needs Ray; pip install "icalgebra[ray]"') from error


def _connect(ray: Any, slots: int) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    address = os.environ.get("RAY_ADDRESS")
    if address:
        _join(ray, address, quiet)
        return
    ray.init(
        "local",
        num_cpus=slots,
        include_dashboard=False,
        object_store_memory=OBJECT_STORE_BYTES,
        _node_ip_address="127.0.0.1",
        **quiet,
    )


def _join(ray: Any, address: str, quiet: dict[str, Any]) -> None:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        if port.isdigit():  # tried first: Ray itself keeps trying for minutes
            socket.create_connection((host, int(port)), timeout=5).close()
        ray.init(address, **quiet)
    except OSError as error:
        raise InputError(f"no Ray cluster answers at RAY_ADDRESS={address}") from error
