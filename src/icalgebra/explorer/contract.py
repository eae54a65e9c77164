"""The JSON that page and server exchange. The static export holds the same answers, so the page reads both alike.

    GET  /api/start     Start;  GET /api/examples    a list of Example
    POST /api/<part>    request -> answer
    sample      SampleRequest    -> Sampled
    sequence    SequenceRequest  -> SequenceAnswer   (panels sequence, tables and answers)
    inside      SequenceRequest  -> Inside
    ablation    AblationRequest  -> Ablation
    reliance    SequenceRequest  -> Reliance, one JSON line per step of progress
    pair        PairRequest      -> PairAnswer
    patch       PatchRequest     -> Patched
    training    TrainingRequest  -> Training

Facts are counted from 0, the query is the last. A distribution over variables is a list of probabilities, a first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from icalgebra.explorer.limits import MAX_FACTS, MAX_NAMES, MAX_SITES, MAX_TEXT

Text = Annotated[str, Field(max_length=MAX_TEXT)]
Name = Annotated[str, Field(max_length=100)]
Site = Annotated[str, Field(max_length=40)]
Shares = list[float]  # one probability per variable


class Request(BaseModel):
    """A request; an unknown field or another type is an error."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Drawn(Request):
    """How a sequence was sampled. With it the server knows the hidden structures."""

    distribution: Name = "holdout"
    n_facts: int = Field(50, ge=1, le=MAX_FACTS)
    seed: int = Field(0, ge=0, lt=2**32)
    structures: Annotated[str, Field(max_length=MAX_NAMES)] = ""  # empty: the model's world


class SampleRequest(Drawn):
    model: Name = "small"


class SequenceRequest(Request):
    """query: how the query was drawn, which the oracle needs; auto: train where it or its reverse occurs."""

    model: Name = "small"
    text: Text
    query: Literal["auto", "holdout", "train"] = "auto"
    drawn: Drawn | None = None


class AblationRequest(SequenceRequest):
    ablated: list[Site] = Field(default_factory=list, max_length=MAX_SITES)


class PairRequest(Request):
    model: Name = "small"
    clean: Text
    corrupt: Text


class PatchRequest(PairRequest):
    sites: list[Site] = Field(default_factory=list, max_length=MAX_SITES)


class TrainingRequest(Request):
    run: Name
    text: Text


# part -> its request; parts.py answers them
REQUESTS: dict[str, type[Request]] = {
    "sample": SampleRequest, "sequence": SequenceRequest, "inside": SequenceRequest, "ablation": AblationRequest,
    "pair": PairRequest, "patch": PatchRequest, "training": TrainingRequest,
}  # fmt: skip


@dataclass(frozen=True)
class ModelInfo:
    name: str
    variables: str
    n_layers: int
    n_heads: int
    n_facts: int  # of its training sequences
    structures: tuple[str, ...]


@dataclass(frozen=True)
class Example:
    """A prepared sequence and what it shows. state: the fields of the page's state (static/state.js) that it sets."""

    title: str
    story: str
    state: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Start:
    """What the page needs first. distributions: name -> what it is."""

    version: str
    models: list[ModelInfo]
    runs: list[str]
    distributions: dict[str, str]
    max_facts: int


@dataclass(frozen=True)
class Sampled:
    """A prompt, its true answer, and how it was drawn."""

    text: str
    answer: str
    structures: tuple[str, ...]
    drawn: dict[str, Any]


@dataclass(frozen=True)
class FactPart:
    """A fact. predicted: what the model expected before its answer, with probability sure. true: None if not known."""

    text: str
    component: int
    predicted: str
    sure: float
    true: bool | None


@dataclass(frozen=True)
class Cell:
    """A cell of a Cayley table: the facts that show it and their answers; or the candidates that are left."""

    pair: str
    answers: str
    facts: tuple[int, ...]
    candidates: str


@dataclass(frozen=True)
class Table:
    """One component: variables that facts link. structure, truth: what was drawn, where that is known."""

    letters: str
    cells: list[list[Cell]]
    structure: str = ""
    identity: str = ""
    truth: list[str] = field(default_factory=list)  # one row of answers per letter


@dataclass(frozen=True)
class Mechanism:
    """One of the paper's five: each answer with the facts that prove it."""

    name: str
    answers: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class ProofStep:
    sentence: str
    facts: tuple[int, ...]  # all that it rests on, through earlier steps too


@dataclass(frozen=True)
class Rung:
    """A rung of the ladder: its answer ('' where it does not decide), and a proof on the lowest that decides."""

    name: str
    answer: str
    depth: int | None = None
    proof: list[ProofStep] = field(default_factory=list)


@dataclass(frozen=True)
class OracleAnswer:
    """kind: entailed, guess, impossible, or unknown where the oracle does not apply; why: in words."""

    query: str
    kind: str
    posterior: Shares
    why: str = ""
    facts: tuple[int, ...] = ()  # that force the answer, or the fact that cannot be
    mixtures: list[tuple[str, float]] = field(default_factory=list)


@dataclass(frozen=True)
class SequenceAnswer:
    """next_tokens, next_sure: after every token, the model's best guess at the next one."""

    text: str
    variables: str
    facts: list[FactPart]
    next_tokens: str
    next_sure: Shares
    tables: list[Table]
    model: Shares
    mechanisms: list[Mechanism]
    rungs: list[Rung]
    oracle: OracleAnswer
    true_answer: str = ""


@dataclass(frozen=True)
class PartInside:
    """A head ("2.1") or MLP ("mlp 2"): its direct logits over the variables; a head's attention over the facts."""

    name: str
    direct: Shares  # relative to their mean
    attention: Shares = field(default_factory=list)
    slots: str = ""  # per fact the slot with most of it: l r = a ,


@dataclass(frozen=True)
class Inside:
    answer: str  # the model's
    parts: list[PartInside]
    lens: list[Shares]  # after 0, 1, … layers


@dataclass(frozen=True)
class Ablation:
    """together: without the ablated set. toggled: by part, with that part ablated or restored as well."""

    ablated: list[str]
    together: Shares
    toggled: dict[str, Shares]


@dataclass(frozen=True)
class Reliance:
    """By fact of the context, how far the answer's logit falls without it; None: not measured yet."""

    answer: str
    falls: list[float | None]
    done: int
    total: int


@dataclass(frozen=True)
class PairAnswer:
    """effects: by site, the change of P(clean answer) if its value in the corrupt run comes from the clean run."""

    clean: Shares
    corrupt: Shares
    clean_answer: str
    corrupt_answer: str
    differing: list[int]
    effects: dict[str, float]


@dataclass(frozen=True)
class Patched:
    sites: list[str]
    probabilities: Shares


@dataclass(frozen=True)
class Skill:
    """An accuracy that the run measured while it trained."""

    name: str
    label: str
    steps: list[int]
    values: Shares


@dataclass(frozen=True)
class Training:
    """The answers of each checkpoint, and the oracle's.

    closure: the variables that the query's facts link. learned: by checkpoint, the skills that it has.
    """

    run: str
    text: str
    variables: str
    steps: list[int]
    probabilities: list[Shares]
    posterior: Shares
    kind: str
    closure: str
    skills: list[Skill]
    learned: list[list[str]]
