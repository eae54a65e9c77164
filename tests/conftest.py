"""Settings every test shares. Annotations of the plain modules are checked at run time; compiled kernels are not."""

import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers that share two cores only get in each other's way
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parents[1] / ".numba_cache"))

from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

PLAIN = ("errors", "files", "statistics", "axioms", "vocabulary", "structures", "table_files", "sequences")
install_import_hook([f"icalgebra.{name}" for name in (*PLAIN, "distributions", "dataset")], "beartype.beartype")

settings.register_profile("suite", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
