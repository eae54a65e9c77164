"""Proofs: plain values that can be printed, written as JSON and checked. See ladder.py for who makes them.

A proof is a list of steps. Each step states something and cites what it follows from: facts of the context, by their
index, and earlier steps. The last step states the answer.

    0. d is the identity, since dc=c.                                         [fact 1]
    1. dp=p, since d is the identity.                                         [step 0]

A case distinction is written flat: a step assumes something, later steps cite it, and the step that refutes the
assumption ends its scope.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Kind = Literal["product", "not_product", "identity", "not_identity", "members", "contradiction"]

# Steps that only read off what facts already say; the depth of a proof does not count them.
UNCOUNTED = ("copy", "identity_shown", "one_identity", "reserved", "members", "assume", "clash")


@dataclass(frozen=True)
class Statement:
    """What a step states. variables: 'abc' is ab=c (or ab≠c), 'e' is the identity, and 'ab' belong to one structure.

    within: only for members: all variables that can belong to that structure.
    """

    kind: Kind
    variables: str
    within: str = ""

    def __str__(self) -> str:
        v = self.variables
        if self.kind in ("product", "not_product"):
            return f"{v[:2]}{'=' if self.kind == 'product' else '≠'}{v[2]}"
        if self.kind == "members":
            together = f"{' and '.join(v)} belong to one structure" if len(v) > 1 else f"{v} belongs to a structure"
            return f"{together} within {{{','.join(self.within)}}}" if self.within else together
        if self.kind == "contradiction":
            return "a contradiction"
        return f"{v} is {'not ' if self.kind == 'not_identity' else ''}the identity"


@dataclass(frozen=True)
class Step:
    """One deduction: the rule, what it concludes, and the facts and earlier steps that it cites, by index."""

    rule: str
    conclusion: Statement
    facts: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()


@dataclass(frozen=True)
class Proof:
    """Why the answer to a query follows from the context. premises: indices of the facts that it rests on.

    depth: the longest chain of deductions, each from the result of the one before; 0 for copying, 1 for one rule.
    """

    query: str
    answer: str
    rung: str
    depth: int
    premises: tuple[int, ...]
    steps: tuple[Step, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> Proof:
        """The inverse of to_dict, also after a round through JSON."""
        steps = tuple(
            Step(s["rule"], Statement(**s["conclusion"]), tuple(s["facts"]), tuple(s["steps"])) for s in values["steps"]
        )
        return Proof(**{**values, "premises": tuple(values["premises"]), "steps": steps})

    def words(self, facts: list[str]) -> list[str]:
        """One sentence per step; facts: the texts of the context, 'ab=c'."""
        return [f"{i + 1}. {_sentence(step, self.steps, facts)}" for i, step in enumerate(self.steps)]


def depth_of(steps: tuple[Step, ...]) -> int:
    """The longest chain of counted steps that ends in the last one."""
    depths: list[int] = []
    for step in steps:
        before = max((depths[i] for i in step.steps), default=0)
        depths.append(before + (step.rule not in UNCOUNTED))
    return depths[-1]


REASONS = {
    "copy": "it is a fact: {cites}",
    "assume": "assumed, to see what follows",
    "identity_shown": "it leaves another unchanged: {cites}",
    "one_identity": "a structure has only one: {cites}",
    "reserved": "the reserved variable never is",
    "identity": "the identity changes nothing: {cites}",
    "identity_left": "a structure has one, and no other member can be it: {cites}",
    "inverse": "an inverse is one on both sides: {cites}",
    "associate": "products associate: {cites}",
    "cancel": "no other member is left for it: {cites}",
    "row": "{last} has to stand in the row of {first}, and no other place is left: {cites}",
    "column": "{last} has to stand in the column of {second}, and no other place is left: {cites}",
    "members": "linked by {cites}",
    "clash": "these exclude each other: {cites}",
    "refute": "the opposite leads to a contradiction: {cites}",
}


CONTRADICTIONS = {
    "cancel": "no answer is left for {first}{second}: {cites}",
    "row": "no place is left for {last} in the row of {first}: {cites}",
    "column": "no place is left for {last} in the column of {first}: {cites}",
    "identity_left": "no identity is left: {cites}",
    "members": "the world has no structures of such sizes: {cites}",
}


def _sentence(step: Step, steps: tuple[Step, ...], facts: list[str]) -> str:
    cites = [facts[i] for i in step.facts] + [f"({i + 1}) {steps[i].conclusion}" for i in step.steps]
    listed = "; ".join(cites)
    reasons = CONTRADICTIONS if step.conclusion.kind == "contradiction" else {}
    reason = reasons.get(step.rule, REASONS[step.rule]).format(
        cites=listed or "the query", first=step.conclusion.variables[:1], second=step.conclusion.variables[1:2],
        last=step.conclusion.variables[-1:],
    )  # fmt: skip
    if step.rule == "members" and not cites:
        reason = "the query asks for their product" if len(step.conclusion.variables) > 1 else "by its orders"
    return f"{step.conclusion}: {reason}"
