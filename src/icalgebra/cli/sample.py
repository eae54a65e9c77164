"""`icalgebra sample`: sequences to standard output or to a file."""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from icalgebra.cli.common import MaybePath, WorldOptions, output, progress
from icalgebra.data.distributions import batches, check_request, sample
from icalgebra.errors import InputError
from icalgebra.language.sequences import Sequences

BATCH = 8192  # sequences per batch
BATCH_FACTS = 8_000_000  # facts per batch: bounds memory however long the sequences are
ARRAYS = ("tokens", "structures", "assignment")


@dataclass(frozen=True)
class Sample(WorldOptions):
    """Sample sequences from a distribution. The same seed gives the same lines whatever --n."""

    distribution: str = "train"
    """train, holdout, copy, commute, identity, cancel, associate, … (an unknown name gets the list or a suggestion)."""
    n: int = 10
    """How many sequences."""
    facts: int = 200
    """Facts per sequence, the query included."""
    seed: int = 0
    format: Literal["text", "jsonl", "npz"] = "text"
    """text: one line per sequence; jsonl: with structures and assignment; npz: arrays (needs --out)."""
    out: MaybePath = None
    """Write to this file instead of standard output."""
    json: bool = False
    """The same as --format jsonl."""

    def run(self) -> None:
        world, kind = self.world(), "jsonl" if self.json else self.format
        check_request(self.distribution, self.facts, world)
        if kind == "npz" and self.out is None:
            raise InputError("--format npz needs --out FILE")
        if kind == "npz" and self.out is not None and self.out.exists() and not self.out.is_file():
            raise InputError(f"--format npz writes to a file, not to a pipe or a device: {self.out}")
        if self.n < 0:
            raise InputError(f"--n is a count of sequences, not {self.n}")
        size = max(1, min(BATCH, BATCH_FACTS // self.facts))
        made = batches(self.distribution, size, self.facts, self.seed, world, n=self.n)
        parts = progress(made, self.n, "sampling", len) if self.out else made
        if kind == "npz":
            self._write_arrays(parts, sample(self.distribution, 0, self.facts, self.seed, world))
            return
        with output(self.out) as stream:
            for part in parts:
                lines = part.texts() if kind == "text" else map(json.dumps, part.records())
                stream.write("".join(f"{line}\n" for line in lines))

    def _write_arrays(self, parts: Iterator[Sequences], empty: Sequences) -> None:
        """tokens, structures and assignment, streamed through temporary files: memory does not grow with --n."""
        assert self.out is not None
        with output(self.out, "wb") as stream, tempfile.TemporaryDirectory(dir=self.out.parent) as folder:
            layout = {name: (getattr(empty, name).shape[1], getattr(empty, name).dtype) for name in ARRAYS}
            with ExitStack() as stack:
                raw = {name: stack.enter_context(open(Path(folder, name), "wb")) for name in ARRAYS}
                for part in parts:
                    for name in ARRAYS:
                        raw[name].write(getattr(part, name).tobytes())
            with zipfile.ZipFile(stream, "w") as archive:
                for name, (width, dtype) in layout.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        header = {"descr": dtype.str, "fortran_order": False, "shape": (self.n, width)}
                        np.lib.format.write_array_header_2_0(member, header)
                        with open(Path(folder, name), "rb") as source:
                            shutil.copyfileobj(source, member, 1 << 22)
