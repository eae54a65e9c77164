"""The page's plan: which questions it takes in which order, and the claims and drawings that belong to each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from markupsafe import Markup
from matplotlib.figure import Figure

from icalgebra.experiments import EXPERIMENTS
from icalgebra.plotting import svg
from icalgebra.results import Result


@dataclass(frozen=True)
class Section:
    """One question: its words in templates/<experiment>.html.jinja, its drawings in figures/<experiment>.py."""

    experiment: str
    rows: tuple[str, ...] = ()  # of claims.toml
    figures: tuple[str, ...] = ()
    own_title: str = ""  # where it is not the experiment's
    together: str = ""  # a template over all models at once

    @property
    def title(self) -> str:
        return self.own_title or EXPERIMENTS[self.experiment].title

    def drawn(self, result: Result) -> dict[str, Markup]:
        if not self.figures:
            return {}
        module = import_module(f"icalgebra.plotting.{self.experiment}")
        return {name: self._drawing(getattr(module, name), result) for name in self.figures}

    def _drawing(self, draw: Callable[[Result], Figure], result: Result) -> Markup:
        return Markup(svg(draw(result), f"{self.title} {draw.__doc__} Model: {result.model}."))


SECTIONS = (
    Section("training", ("B3",), ("holdout", "skills")),
    Section("speedrun", own_title="How fast does it learn?"),
    Section("coverage", ("C1", "C2", "B2", "L3d"), ("stacked", "beside_published")),
    Section("ceiling", ("O1",), ("beside_solvers", "by_structure")),
    Section("accuracy_by_facts", ("B1",), ("by_structure", "causes")),
    Section("unseen_structures", ("B4", "B5"), ("order_8", "all_structures", "cancellation")),
    Section("model_coverage", ("C1m", "C2m"), ("over_mechanisms",)),
    Section("distributions", ("C3",), ("by_distribution",)),
    Section("copying", ("K1", "K2", "K3"), ("effects", "strips", "decoded")),
    Section("identity", ("I1", "I2", "I3"), ("scatter", "heads", "steered", "dose_response")),
    Section("heads", (), ("roles", "worth"), together="heads_together.html.jinja"),
    Section("closure", ("L1",), ("two_queries", "measured")),
    Section("cancellation", ("L5",), ("strips", "attention", "attend_and_demote")),
    Section("subspaces", ("L2", "L3"), ("curves", "controls", "closure_sweep", "elimination_sweep", "heads")),
    Section("probes", ("L4",), ("accuracy", "unembedding", "among_probes")),
    Section("dynamics", ("P1", "P2"), ("phases", "seeds", "roles")),
    Section("architecture", ("S1",), ("courses", "beside_published")),
    Section("mixing", ("S2",), ("courses", "skills")),
)

# By the letter their rows begin with.
FAMILIES = {
    "B": "behaviour",
    "C": "coverage and distributions",
    "K": "copying",
    "I": "the identity",
    "L": "closure, cancellation, subspaces, probes",
    "P": "phases of training",
    "S": "architecture and mixing",
    "O": "the ceiling",
}
