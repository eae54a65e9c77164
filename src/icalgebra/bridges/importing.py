"""Models of others as checkpoint folders, which every command and experiment takes as its model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from icalgebra.bridges.huggingface import from_huggingface
from icalgebra.bridges.released import read_released
from icalgebra.errors import InputError
from icalgebra.model.checkpoints import write_checkpoint
from icalgebra.train.config import TrainConfig


def import_model(source: str | Path, folder: str | Path, step: int | None = None) -> dict[str, Any]:
    """Write the checkpoint folder of a Hugging Face folder, or of a released run folder or .pt file.

    step: of a released run; by default its best. Returns what was found and measured.
    """
    source, folder = Path(source), Path(folder)
    if folder.exists():
        raise InputError(f"{folder} already exists; choose a new folder")
    if source.suffix == ".pt" or (source / "metadata.json").is_file():
        released = read_released(source, step)
        model, config, step = released.model, released.config, released.step
        found: dict[str, Any] = {"kind": "released"}
        found |= {"accuracy": released.accuracy.to_dict(), "dropped_mass": released.dropped_mass}
    elif (source / "config.json").is_file():
        if step is not None:
            raise InputError("a Hugging Face folder holds one model; leave out the step")
        model = from_huggingface(source)
        config, found = _run_config(model.config.to_dict(), model.run_config), {"kind": "huggingface"}
    else:
        raise InputError(
            f"{source} is neither a Hugging Face folder (config.json) nor a released run (metadata.json, models/*.pt)"
        )
    write_checkpoint(folder, model, config=config.to_dict(), trainer=None, step=step or 0)
    return {**found, "model": str(folder), "parameters": sum(p.numel() for p in model.parameters())}


def _run_config(shape: dict[str, Any], run: dict[str, Any]) -> TrainConfig:
    """The run that the folder states, or else the paper's world; in both cases with the shape of the weights."""
    try:
        return TrainConfig.from_dict({**run, **shape})
    except InputError as error:
        raise InputError(f"the folder does not say which world the model was trained in: {error}") from error
