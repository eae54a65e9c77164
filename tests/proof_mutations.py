"""Proofs with one thing changed: a citation removed or exchanged, a conclusion or a rule changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from icalgebra.solvers.ladder.proofs import REASONS, Proof, Step

KINDS = ("citation removed", "fact exchanged", "step exchanged", "variable changed", "rule changed")


def mutate(proof: Proof, facts: list[str], letters: str, random: np.random.Generator) -> tuple[str, Proof] | None:
    """A kind of mutation and the mutated proof; None if that kind does not apply to the step that was drawn.

    facts: the context, 'ab=c'. The list of premises is adapted, so that it gives nothing away.
    """
    kind, i = str(random.choice(KINDS)), int(random.integers(len(proof.steps)))
    changed = _changed(kind, i, proof.steps[i], facts, letters, random)
    if changed is None or changed == proof.steps[i]:
        return None
    steps = (*proof.steps[:i], changed, *proof.steps[i + 1 :])
    premises = tuple(sorted({j for step in steps for j in step.facts}))
    return kind, replace(proof, steps=steps, premises=premises)


def _changed(kind: str, i: int, step: Step, facts: list[str], letters: str, random: np.random.Generator) -> Step | None:
    if kind == "citation removed":
        cited = [("facts", j) for j in step.facts] + [("steps", j) for j in step.steps]
        if not cited:
            return None
        field, gone = cited[int(random.integers(len(cited)))]
        return replace(step, **{field: tuple(j for j in getattr(step, field) if j != gone)})
    if kind == "fact exchanged":
        others = [j for j in range(len(facts)) if j not in step.facts]
        if not step.facts or not others:
            return None
        gone, new = int(random.choice(step.facts)), int(random.choice(others))
        if facts[gone] == facts[new]:
            return None
        return replace(step, facts=tuple(sorted({*step.facts, new} - {gone})))
    if kind == "step exchanged":
        others = [j for j in range(i) if j not in step.steps]
        if not step.steps or not others:
            return None
        gone, new = int(random.choice(step.steps)), int(random.choice(others))
        return replace(step, steps=tuple(sorted({*step.steps, new} - {gone})))
    if kind == "rule changed":
        return replace(step, rule=str(random.choice(list(REASONS))))
    variables = list(step.conclusion.variables)
    if not variables:
        return None
    variables[int(random.integers(len(variables)))] = str(random.choice(list(letters)))
    return replace(step, conclusion=replace(step.conclusion, variables="".join(variables)))
