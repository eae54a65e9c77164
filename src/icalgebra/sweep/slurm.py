"""A sweep as a Slurm array: one task per line of the manifest. The script is written, not submitted."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

from icalgebra.errors import InputError

SAFE_PATH = re.compile(r"[\w./+@:=,~-]+")  # #SBATCH lines know no quoting, and % stands for numbers of the job
SCRIPT = """\
#!/bin/bash
#SBATCH --job-name={job}
#SBATCH --array=0-{last}{at_once}
#SBATCH --output={logs}/%a.log
#SBATCH --open-mode=append
#SBATCH --requeue{gpu}
# Submit it as often as needed: finished runs end at once, the others resume from their checkpoints.
# To collect the table of finished runs: {collect}
set -euo pipefail
exec {command} --task "$SLURM_ARRAY_TASK_ID"
"""


def slurm_script(manifest: Path, n: int, device: str | None, retries: int, at_once: int | None) -> str:
    """The text of the script. The manifest lies in the sweep's folder, which must have a folder slurm for the logs."""
    manifest = manifest.absolute()
    out = manifest.parent
    if not SAFE_PATH.fullmatch(str(out)):
        raise InputError(f"Slurm has no quotes for the path of a log: choose a folder without spaces, not {out}")
    arguments = [sys.executable, "-m", "icalgebra", "sweep", str(manifest), "--out", str(out)]
    run = [*arguments, "--retries", str(retries), *(["--device", device] if device else [])]
    return SCRIPT.format(
        job=f"icalgebra-{out.name}",
        last=n - 1,
        at_once=f"%{at_once}" if at_once else "",
        logs=out / "slurm",
        gpu="" if device == "cpu" else "\n#SBATCH --gpus-per-task=1\n#SBATCH --ntasks=1",
        collect=shlex.join([*arguments, "--collect"]),
        command=shlex.join(run),
    )
