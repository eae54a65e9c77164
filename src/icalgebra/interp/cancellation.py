"""What heads do with facts that share a variable with the query xy=: attention on them, change of their answers.

    left       x? = v    rules v out       right    ?y = v    rules v out
    neither    other facts of the context  self     the query's own tokens

Attention is from the last '=': to the answer slots, to the ',' after the facts, and to all their slots. A head's change
is its mean direct logit (frozen form, lens.py) of the ruled-out answers minus that of other variables. A negative
change is a demotion. Relative to all other variables, the change also contains what a head does to the whole group;
relative to the members of the group that no fact rules out (open members), it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from icalgebra.interp.attention_mass import ANSWER_SLOT, COMMA_SLOT, attention_mass, relations
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
    """Every head on the sequences of one distribution, [n, n_layers, n_heads] each, by group of facts and slot."""

    mass: dict[tuple[str, str], np.ndarray]
    chance: dict[tuple[str, str], np.ndarray]  # [n]: the mass under uniform attention
    change: dict[str, np.ndarray]  # against all other variables
    change_in_group: dict[str, np.ndarray]  # against the members that no fact of either side rules out

    def rows(self, rows: slice) -> HeadStats:
        """The same of some sequences."""
        return HeadStats(
            {key: observed[rows] for key, observed in self.mass.items()},
            {key: observed[rows] for key, observed in self.chance.items()},
            {key: observed[rows] for key, observed in self.change.items()},
            {key: observed[rows] for key, observed in self.change_in_group.items()},
        )


def head_stats(model: Transformer, queries: QueryBatch, apart: bool) -> HeadStats:
    """apart: count for each side only the answers that the other side does not rule out."""
    run = cache_last_token_batched(model, queries.prompts, pattern=True)
    assert run.pattern is not None
    direct, ruled = direct_logits(model, run), ruled_out(queries, apart)
    open_ = queries.members & ~np.logical_or(*ruled_out(queries, apart=False).values())
    uniform = torch.full(queries.prompts.shape, 1 / queries.prompts.shape[1], dtype=torch.float64)
    mass, chance, change, in_group = {}, {}, {}, {}
    for name, chosen in groups_of_facts(queries).items():
        for slot, place in COUNTED_SLOTS.items():
            mass[name, slot] = attention_mass(run.pattern, chosen, place).cpu().numpy()
            chance[name, slot] = attention_mass(uniform, chosen, place).numpy()
    for side in SIDES:
        change[side] = contrast(direct, ruled[side]).cpu().numpy()
        in_group[side] = contrast(direct, ruled[side], open_).cpu().numpy()
    return HeadStats(mass, chance, change, in_group)


def ruled_out(queries: QueryBatch, apart: bool) -> dict[str, Bool[np.ndarray, "n N"]]:
    """The variables that each side's facts rule out; apart: only those that the other side does not rule out."""
    facts = groups_of_facts(queries)
    left, right = (answers_of(queries, facts[side]) for side in SIDES)
    return {"left": left & ~right, "right": right & ~left} if apart else {"left": left, "right": right}


def groups_of_facts(queries: QueryBatch) -> dict[str, Bool[np.ndarray, "n k"]]:
    """Facts with the query's left variable on the left, its right one on the right, neither; and the query itself."""
    found = relations(queries)
    neither = ~(found["same left"] | found["same right"] | found["same pair"] | found["self"])
    return {"left": found["same left"], "right": found["same right"], "neither": neither, "self": found["self"]}
