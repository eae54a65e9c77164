"""`small` on a CPU in fp32, bf16 and int8: how fast, and are the answers the same? python scripts/precision.py [N].

N fresh hold-out sequences of 200 facts, eight at a time, in each precision in turn; only the answer is computed. int8:
the matrices of attention's output and of the MLPs, quantised as they are used (torch.ao's dynamic quantisation); the
product of q, k and v stays in fp32. Times are of the processor.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import torch

from icalgebra.data.distributions import sample
from icalgebra.model.checkpoints import load_model
from icalgebra.model.predict import chunks, variable_logits

ROWS = 8
QUANTISED = ("attn.o", "mlp.up", "mlp.down")


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    sequences, model = sample("holdout", n, 200, seed=77), load_model("small")
    warnings.filterwarnings("ignore")  # torch.ao announces its successor
    names = {name for name, _ in model.named_modules() if name.endswith(QUANTISED)}
    int8 = torch.ao.quantization.quantize_dynamic(model, names, dtype=torch.qint8)
    ways = {"fp32": (model, "fp32"), "bf16": (model, "bf16"), "int8": (int8, "fp32")}
    seconds, logits = dict.fromkeys(ways, 0.0), {way: [] for way in ways}
    for rows in chunks(n, ROWS):
        for way, (network, precision) in ways.items():
            begun = time.process_time()
            logits[way].append(variable_logits(network, sequences.prompts[rows], precision=precision)[:, 0])
            seconds[way] += time.process_time() - begun
    found = {way: np.concatenate(parts) for way, parts in logits.items()}
    for way, of_way in found.items():
        same = of_way.argmax(-1) == found["fp32"].argmax(-1)
        print(
            f"{way}: {n / seconds[way]:.1f} sequences per second of the processor, "
            f"{seconds['fp32'] / seconds[way]:.2f} times as fast as fp32; "
            f"accuracy {(of_way.argmax(-1) == sequences.answers).mean():.4f}; fp32's answer in {same.sum()} of {n}; "
            f"logits differ by up to {np.abs(of_way - found['fp32']).max():.2f}"
        )


if __name__ == "__main__":
    main()
