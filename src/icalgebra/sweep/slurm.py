"""A sweep as a Slurm array: one task a line of the manifest. It is written, not submitted."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from icalgebra.errors import InputError

SCRIPT = """\
#!/bin/bash
#SBATCH --job-name={job}
#SBATCH --array=0-{last}{at_once}
#SBATCH --output={logs}/%a.log
#SBATCH --open-mode=append
#SBATCH --requeue{gpu}
# Submit it again as often as needed: finished runs end at once, the others go on from their checkpoints.
# The table of what is done: {collect}
set -euo pipefail
exec {command} --task "$SLURM_ARRAY_TASK_ID"
"""


def slurm_script(manifest: Path, n: int, device: str | None, retries: int, at_once: int | None) -> str:
    """The text of the script. The folder of the manifest is the sweep's, and has a folder for the tasks' logs."""
    manifest = manifest.absolute()
    out = manifest.parent
    if any(c.isspace() for c in str(out)):
        raise InputError(f"Slurm takes no path with spaces for a log: {out}")
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
