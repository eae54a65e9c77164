"""Training: presets, the loop, run folders, evaluations.

>>> from icalgebra.train import PRESETS, train
>>> result = train(PRESETS["tiny"], out="runs/tiny")
"""

from icalgebra.train.config import TrainConfig
from icalgebra.train.loop import TrainResult, train
from icalgebra.train.presets import PRESETS, preset

__all__ = ["PRESETS", "TrainConfig", "TrainResult", "preset", "train"]
