"""What heads do with facts that share a variable with the query xy=: attention on them, and change of their answers.

    left       x? = v    rules v out       right    ?y = v    rules v out
    neither    other facts of the context  self     the query's own tokens

Attention is that of the last '=': on the answer slots, on the ',' behind the facts, and on all their slots. A head's
change is the mean direct logit (frozen form, lens.py) that it gives the answers ruled out minus that of other
variables; negative is a demotion. Against all other variables it also shows whether a head promotes the whole group;
against the members of the group that no fact rules out (open members) it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from icalgebra.interp.attention import ANSWER_SLOT, COMMA_SLOT, attention_mass, relations
from icalgebra.interp.heads import answers_of, contrast
from icalgebra.interp.last_token_cache import cache_last_token_batched
from icalgebra.interp.lens import direct_logits
from icalgebra.interp.query_batch import QueryBatch
from icalgebra.model.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Bool

SIDES = ("left", "right")
COUNTED_SLOTS: dict[str, int | None] = {"answer": ANSWER_SLOT, "comma_behind": COMMA_SLOT, "fact": None}


@dataclass(frozen=True)
class HeadStats:
    """What every head does on the sequences of one law, [n, n_layers, n_heads] each, by side or relation and slot."""

    mass: dict[tuple[str, str], np.ndarray]
    chance: dict[tuple[str, str], np.ndarray]  # [n]: the mass there if all tokens got the same
    change: dict[str, np.ndarray]  # against all other variables
    change_in_group: dict[str, np.ndarray]  # against the members that no fact of either side rules out


def head_stats(model: Transformer, cases: QueryBatch, apart: bool) -> HeadStats:
    """All heads on some cases; apart: for each side only the answers that the other does not rule out."""
    run = cache_last_token_batched(model, cases.prompts, pattern=True)
    assert run.pattern is not None
    direct, ruled = direct_logits(model, run), ruled_out(cases, apart)
    open_ = cases.members & ~np.logical_or(*ruled_out(cases, apart=False).values())
    even = torch.full(cases.prompts.shape, 1 / cases.prompts.shape[1], dtype=torch.float64)
    mass, chance, change, in_group = {}, {}, {}, {}
    for name, chosen in groups_of_facts(cases).items():
        for slot, place in COUNTED_SLOTS.items():
            mass[name, slot] = attention_mass(run.pattern, chosen, place).cpu().numpy()
            chance[name, slot] = attention_mass(even, chosen, place).numpy()
    for side in SIDES:
        change[side] = contrast(direct, ruled[side]).cpu().numpy()
        in_group[side] = contrast(direct, ruled[side], open_).cpu().numpy()
    return HeadStats(mass, chance, change, in_group)


def ruled_out(cases: QueryBatch, apart: bool) -> dict[str, Bool[np.ndarray, "n N"]]:
    """The variables that each side's facts rule out, bool [n, N]; apart: only what the other side does not."""
    facts = groups_of_facts(cases)
    left, right = (answers_of(cases, facts[side]) for side in SIDES)
    return {"left": left & ~right, "right": right & ~left} if apart else {"left": left, "right": right}


def groups_of_facts(cases: QueryBatch) -> dict[str, Bool[np.ndarray, "n k"]]:
    """Facts that share the query's left variable, its right one, neither of them in its place; and the query itself."""
    found = relations(cases)
    neither = ~(found["same left"] | found["same right"] | found["same pair"] | found["self"])
    return {"left": found["same left"], "right": found["same right"], "neither": neither, "self": found["self"]}
