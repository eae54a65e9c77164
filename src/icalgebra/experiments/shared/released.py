"""Facts about the paper's own model and released code that are not part of a claim."""

from __future__ import annotations

SIZE = (4, 8, 1024)  # layers, heads, width of the main model
BATCH_SIZE, N_FACTS = 128, 200  # sequences per training step, facts per sequence
STEP_SECONDS = 1.157  # per training step on an H200, measured with the released code at its own architecture and batch
STEPS_TO_99 = (30_000, 75_000)  # the paper's text: steps to 99 % hold-out accuracy (claim B3.steps_to_99 quotes it)
STEERING_LENGTH = 5  # the paper steers by 5·v1, a length of its own model's activations
