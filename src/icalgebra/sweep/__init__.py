"""Sweeps: a description becomes a manifest of frozen configs; workers train them, and a table collects the results.

>>> from icalgebra.sweep import LocalWorkers, load_sweep, run_sweep
>>> entries = load_sweep(Path("sweeps/mixing.toml"))
>>> run_sweep(entries, Path("runs/mixing"), LocalWorkers(2))
"""

from icalgebra.sweep.description import load_sweep
from icalgebra.sweep.local import LocalWorkers
from icalgebra.sweep.manifest import Entry, write_manifest
from icalgebra.sweep.schedule import Status, Workers, run_sweep
from icalgebra.sweep.table import sweep_table

__all__ = ["Entry", "LocalWorkers", "Status", "Workers", "load_sweep", "run_sweep", "sweep_table", "write_manifest"]
