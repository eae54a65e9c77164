"""Checkpoints: written atomically, hashed, without pickle.

    step_000200/
      model.safetensors     weights; the header's metadata holds the configs of model and run
      trainer.safetensors   the optimisers' state
      manifest.json         step, run, score, the SHA-256 of each file and of the manifest itself

A checkpoint is written into a temporary folder, flushed to disk and renamed. Reading it verifies every hash, that its
step is the one in the folder's name, and that its run is that of the folder it lies in.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypedDict

import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as tensors_to_bytes
from torch import Tensor

from icalgebra.atomic_files import parse_json, read_json, sync_folder
from icalgebra.errors import InputError, RunError, shortened, warn
from icalgebra.model.transformer import ModelConfig, Transformer
from icalgebra.records import Count, FileName, read

MODEL, TRAINER, MANIFEST = "model.safetensors", "trainer.safetensors", "manifest.json"
FORMAT, HEADER = "icalgebra 1", "icalgebra"
WEIGHTS = Path(__file__).parent / "weights"  # the shipped models, one checkpoint folder each
PICKLES = (".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle")
STEP = re.compile(r"step_([0-9]{6}|[1-9][0-9]{6,17})")  # [0-9]: \d also matches digits of other scripts


@dataclass(frozen=True)
class Manifest:
    """manifest.json. Those of earlier versions lack run and records."""

    format: str
    step: Count
    score: float | None
    files: dict[FileName, str]  # the SHA-256 of each
    run: str | None = None  # the id of the config, as config_id makes it
    records: Count | None = None  # lines of metrics.jsonl up to this step


class Header(TypedDict):
    """What model.safetensors says about itself."""

    model: ModelConfig
    config: dict[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint, its tensors in memory. `config` is the run's config as plain values."""

    path: Path
    weights: dict[str, Tensor]
    model_config: ModelConfig
    config: dict[str, Any]
    trainer: dict[str, Tensor]
    step: int
    score: float | None = None
    records: int | None = None  # lines of metrics.jsonl up to this step; None in a checkpoint of an earlier version

    def model(self, device: str | torch.device = "cpu") -> Transformer:
        try:
            model = Transformer.with_weights(self.model_config, self.weights)
        except RuntimeError as error:
            raise InputError(f"{self.path} holds weights whose shapes do not match its config") from error
        model.run_config = self.config
        return model.to(device).eval()


def write_checkpoint(
    folder: Path,
    model: Transformer,
    *,
    config: dict[str, Any],
    trainer: dict[str, Tensor] | None,
    step: int,
    score: float | None = None,
    records: int | None = None,
    dtype: torch.dtype = torch.float32,
) -> None:
    """Write a checkpoint at `folder`, atomically: on failure RunError is raised and nothing has changed.

    A model to ship rather than to resume is written without trainer state and in 16 bits.
    """
    weights = {name: tensor.detach().cpu().to(dtype).contiguous() for name, tensor in model.state_dict().items()}
    if not all(bool(tensor.isfinite().all()) for tensor in weights.values()):
        raise RunError(f"the weights at step {step} are not finite, so no checkpoint is written")
    # A single entry: safetensors writes several in random order, and equal models must give equal files.
    header = {HEADER: json.dumps({"format": FORMAT, "model": model.config.to_dict(), "config": config})}
    files = {MODEL: tensors_to_bytes(weights, header)}
    if trainer is not None:
        files[TRAINER] = tensors_to_bytes(trainer)
    hashes = {name: _sha256(content) for name, content in files.items()}
    manifest = asdict(Manifest(FORMAT, step, score, hashes, config_id(config), records))
    files[MANIFEST] = json.dumps({**manifest, "sha256": _hash_of(manifest)}, indent=1).encode()
    temporary = folder.with_name(f".{folder.name}.part")
    try:
        _write_folder(temporary, files)
        _put_in_place(temporary, folder)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise RunError(f"cannot write {folder}: {error.strerror}; earlier checkpoints are intact") from error


def read_checkpoint(folder: Path, *, to_train: bool = True) -> Checkpoint:
    """Read a checkpoint folder and verify every hash; InputError says what is wrong with it.

    to_train: False skips the optimisers' state.
    """
    manifest = read_manifest(folder)
    named = STEP.fullmatch(folder.name)
    if named and int(named[1]) != manifest.step:
        raise InputError(f"{folder} holds step {manifest.step}: it was renamed or exchanged; give it back its name")
    wanted = {name: digest for name, digest in manifest.files.items() if to_train or name != TRAINER}
    content = {name: _verified(folder / name, digest) for name, digest in wanted.items()}
    if MODEL not in content:
        raise InputError(f"{folder} is not a checkpoint: its manifest does not list {MODEL}")
    trainer = _tensors(folder / TRAINER, content[TRAINER]) if TRAINER in content else {}
    found = _checkpoint(folder, content[MODEL], trainer, manifest)
    if manifest.run not in (None, config_id(found.config)):
        raise InputError(f"{folder} is damaged: its manifest is about another run than its weights")
    return found


def config_id(config: dict[str, Any]) -> str:
    """The id of a run: its config, which determines the run."""
    return _hash_of(config)[:16]


def sound_models(folders: Iterable[Path]) -> Iterator[Checkpoint]:
    """Verified checkpoints without trainer state, one in memory at a time; a damaged one is reported and skipped."""
    for folder in folders:
        try:
            found = read_checkpoint(folder, to_train=False)
        except InputError as error:
            warn(f"{error}; skipped")
            continue
        yield found


def read_model_file(path: Path) -> Checkpoint:
    """A model from a single .safetensors file."""
    if path.suffix.lower() in PICKLES:
        raise InputError(f"{path} is a pickle, which can run any code when opened; only .safetensors files are read")
    return _checkpoint(path, _content(path), {}, Manifest(FORMAT, step=0, score=None, files={}))


def is_shipped(name: str) -> bool:
    return bool(name) and name != ".." and Path(name).name == name and (WEIGHTS / name).is_dir()


def find_checkpoint(source: str | Path) -> Checkpoint:
    """Source: a shipped model's name, a run folder (its newest intact checkpoint), a checkpoint folder, or a file."""
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"a model is named by a text or a path, not {shortened(source)}")
    path = Path(source)
    if is_shipped(str(source)):
        return read_checkpoint(WEIGHTS / path.name)
    if (path / "checkpoints").is_dir():
        found, complaints = newest_checkpoint(path / "checkpoints", _is_of_run(path / "config.json"))
        if found is None:
            raise InputError("; ".join(complaints) or f"{path} holds no checkpoint yet")
        for complaint in complaints:
            warn(f"{complaint}; using {found.path.name}")
        return found
    if path.is_dir():
        return read_checkpoint(path)
    if path.is_file():
        return read_model_file(path)
    shipped = ", ".join(sorted(folder.name for folder in WEIGHTS.glob("*/"))) or "none is shipped yet"
    raise InputError(f"no model {str(source)!r}: it is not a file, a run folder or a shipped model ({shipped})")


def by_step(checkpoints: Path) -> dict[int, Path]:
    """The folders step_NNNNNN, oldest first; other names, such as step_12 or step_notes, are not checkpoints.

    Sorted by number: by name, step_1000000 comes before step_999999, so the newest was neither found nor kept.
    """
    named = [(STEP.fullmatch(folder.name), folder) for folder in checkpoints.glob("step_*")]
    return dict(sorted((int(step[1]), folder) for step, folder in named if step))


def newest_checkpoint(
    checkpoints: Path, is_ours: Callable[[dict[str, Any]], bool] = lambda config: True
) -> tuple[Checkpoint | None, list[str]]:
    """The newest intact checkpoint whose run config `is_ours` accepts, and what is wrong with the newer ones."""
    complaints: list[str] = []
    for folder in reversed(by_step(checkpoints).values()):
        try:
            found = read_checkpoint(folder)
        except InputError as error:
            complaints.append(str(error))
            continue
        if is_ours(found.config):
            return found, complaints
        complaints.append(f"{folder} belongs to another run: its config is not this run's")
    return None, complaints


def load_model(source: str | Path = "small", device: str | torch.device = "cpu") -> Transformer:
    """A model in evaluation mode. Source: "small", a run folder, a checkpoint folder or a .safetensors file."""
    found = find_checkpoint(source)
    try:
        return found.model(device)
    except (RuntimeError, AssertionError, TypeError, ValueError) as error:  # not in this build, or no such device here
        raise InputError(f"torch cannot use the device {shortened(device)} here; 'cpu' always works") from error


def as_model(model: Transformer | str | Path) -> Transformer:
    """A model, or what load_model takes."""
    return load_model(model) if isinstance(model, str | Path) else model


def _is_of_run(path: Path) -> Callable[[dict[str, Any]], bool]:
    """Whether a checkpoint's config is that of the run's config.json. Where there is none, any is; a field that only
    one of them has was added between two versions."""
    if not path.is_file():
        return lambda config: True
    own = read(dict[str, Any], read_json(path), path)
    return lambda config: all(own[name] == config[name] for name in own.keys() & config.keys())


def _checkpoint(path: Path, content: bytes, trainer: dict[str, Tensor], manifest: Manifest) -> Checkpoint:
    weights = _tensors(path, content)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])  # safetensors has read it
    stated = header.get("__metadata__", {}).get(HEADER)
    if stated is None:
        raise InputError(f"{path} is not a model of this package: its header holds no config")
    found = read(Header, parse_json(stated, f"the header of {path}"), f"the header of {path}")
    return Checkpoint(
        path, weights, found["model"], found["config"], trainer, manifest.step, manifest.score, manifest.records
    )


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a checkpoint, its hash verified."""
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(f"{folder} is not a checkpoint: it has no {MANIFEST}")
    try:
        plain = json.loads(_content(path))
        digest = plain.pop("sha256")
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise InputError(f"{path} is damaged: it is not a manifest") from error
    if digest != _hash_of(plain):
        raise InputError(f"{path} is damaged: its SHA-256 differs from the one recorded in it")
    return read(Manifest, plain, path)


def _verified(path: Path, digest: str) -> bytes:
    content = _content(path)
    if _sha256(content) != digest:
        raise InputError(f"{path} is damaged: its SHA-256 differs from the manifest's ({len(content):,} bytes)")
    return content


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _tensors(path: Path, content: bytes) -> dict[str, Tensor]:
    try:
        return tensors_from_bytes(content)
    except SafetensorError as error:
        kind = "a pickle or an archive" if content[:2] in (b"PK", b"\x80\x02", b"\x80\x04") else "damaged or foreign"
        raise InputError(f"{path} is {kind}, not a safetensors file; only .safetensors files are read") from error


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _hash_of(plain: dict[str, Any]) -> str:
    return _sha256(json.dumps(plain, sort_keys=True).encode())


def _write_folder(folder: Path, files: dict[str, bytes]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in files.items():
        with open(folder / name, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    sync_folder(folder)


def _put_in_place(temporary: Path, folder: Path) -> None:
    if folder.exists():  # damaged: training resumed from an earlier one and has reached this step again
        remove_checkpoint(folder)
    os.rename(temporary, folder)
    sync_folder(folder.parent)


def remove_checkpoint(folder: Path) -> None:
    """Rename before deleting, so that a kill in between never leaves half a checkpoint under its own name."""
    doomed = folder.with_name(f".{folder.name}.gone")
    shutil.rmtree(doomed, ignore_errors=True)
    os.rename(folder, doomed)
    shutil.rmtree(doomed, ignore_errors=True)
