"""The main findings. The words are in templates/findings.html.jinja, numbers and thresholds in

findings_behaviour.py     what models and mechanisms answer
findings_mechanisms.py    what is inside the models
findings_circuits.py      what circuits on minimal pairs add to that
findings_training.py      how models learn
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from icalgebra.experiments.shared.readings import NotMeasuredError
from icalgebra.report import findings_behaviour as behaviour
from icalgebra.report import findings_circuits as circuits
from icalgebra.report import findings_mechanisms as mechanisms
from icalgebra.report import findings_training as training
from icalgebra.report.evidence import Evidence

T = TypeVar("T")


@dataclass(frozen=True)
class Findings:
    """In the order of the page; None where nothing was measured."""

    ceiling: behaviour.Ceiling | None
    beyond_mechanisms: behaviour.BeyondMechanisms | None
    published_coverage: behaviour.PublishedCoverage | None
    semigroups: behaviour.Semigroups | None
    evaluation_law: behaviour.EvaluationLaw | None
    copying: mechanisms.Copying | None
    identity: mechanisms.Identity | None
    sets: mechanisms.Sets | None
    probes: mechanisms.Probes | None
    token_read: mechanisms.TokenRead | None
    demotion: circuits.SharedDemotion | None
    skill_order: training.SkillOrder | None
    narrow_models: training.NarrowModels | None
    mixing: training.Mixing | None
    speed: training.Speed | None


def read_findings(evidence: Evidence) -> Findings:
    return Findings(
        ceiling=_if_measured(behaviour.read_ceiling, evidence),
        beyond_mechanisms=_if_measured(behaviour.read_beyond_mechanisms, evidence),
        published_coverage=_if_measured(behaviour.read_published_coverage, evidence),
        semigroups=_if_measured(behaviour.read_semigroups, evidence),
        evaluation_law=_if_measured(behaviour.read_evaluation_law, evidence),
        copying=_if_measured(mechanisms.read_copying, evidence),
        identity=_if_measured(mechanisms.read_identity, evidence),
        sets=_if_measured(mechanisms.read_sets, evidence),
        probes=_if_measured(mechanisms.read_probes, evidence),
        token_read=_if_measured(mechanisms.read_token_read, evidence),
        demotion=_if_measured(circuits.read_demotion, evidence),
        skill_order=_if_measured(training.read_skill_order, evidence),
        narrow_models=_if_measured(training.read_narrow_models, evidence),
        mixing=_if_measured(training.read_mixing, evidence),
        speed=_if_measured(training.read_speed, evidence),
    )


def _if_measured(read: Callable[[Evidence], T | None], evidence: Evidence) -> T | None:
    """A result for another world or length may lack the values of a finding, which is then left out."""
    try:
        return read(evidence)
    except NotMeasuredError:
        return None
