"""Checks proofs step by step, knowing only the facts, the group axioms and what the world says about its structures.

It shares no code with the prover. A step is accepted if its rule, applied to exactly what the step cites, gives exactly
what it states; and every citation has to be needed for that where the rule can tell.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations, product

from icalgebra.language.world import World
from icalgebra.solvers.ladder.proofs import UNCOUNTED, Proof, Statement, Step

RULES_FROM = {  # the lowest rung on which a rule may be used; others: chain
    "row": "latin", "column": "latin", "identity_left": "associative", "one_identity": "associative",
    "reserved": "associative", "assume": "split", "refute": "split",
}  # fmt: skip
RUNGS = ("chain", "latin", "associative", "split")


class Refused(Exception):
    """A step that does not follow."""


def check_proof(proof: Proof, prompt: str, world: World) -> str | None:
    """What is wrong with a proof of the answer to a prompt (',ab=c,…,xy='); None if it is right."""
    *facts, query = [fact.replace("=", "").rstrip("?") for fact in prompt.strip().lstrip(",").split(",")]
    try:
        _check(proof, [Statement("product", fact) for fact in facts], query, world)
    except Refused as refused:
        return str(refused)
    return None


def _check(proof: Proof, facts: list[Statement], query: str, world: World) -> None:
    _require(proof.query == query, "it is about another query")
    _require(proof.rung in RUNGS and bool(proof.steps), "no such rung, or no steps")
    rung = RUNGS.index(proof.rung)
    assumed: list[frozenset[int]] = []  # the assumptions that each step rests on
    depths: list[int] = []
    for i, step in enumerate(proof.steps):
        _require(all(0 <= j < len(facts) for j in step.facts), f"step {i + 1} cites a fact that is not there")
        _require(all(0 <= j < i for j in step.steps), f"step {i + 1} cites a step that does not come before it")
        cited = [facts[j] for j in step.facts] + [proof.steps[j].conclusion for j in step.steps]
        _require(RUNGS.index(RULES_FROM.get(step.rule, "chain")) <= rung, f"step {i + 1} uses a rule of a higher rung")
        _require(
            step.conclusion.kind != "not_product" or rung >= 2,
            f"step {i + 1} excludes products, which is a higher rung",
        )
        _require(_follows(step, cited, query, world, rung), f"step {i + 1} ({step.conclusion}) does not follow")
        rests_on = frozenset().union(*(assumed[j] for j in step.steps)) | ({i} if step.rule == "assume" else set())
        if step.rule == "refute":
            opposite = {j for j in rests_on if proof.steps[j].conclusion.variables == step.conclusion.variables}
            _require(len(opposite) == 1, f"step {i + 1} refutes nothing that was assumed")
            rests_on -= opposite
        assumed.append(rests_on)
        depths.append(max((depths[j] for j in step.steps), default=0) + (step.rule not in UNCOUNTED))
    last = proof.steps[-1].conclusion
    _require(last == Statement("product", query + proof.answer), "the last step does not state the answer")
    _require(not assumed[-1], "it rests on an assumption")
    used = {j for step in proof.steps for j in step.steps}
    _require(used == set(range(len(proof.steps) - 1)), "a step is not used")
    _require(proof.premises == tuple(sorted({j for step in proof.steps for j in step.facts})), "wrong premises")
    _require(proof.depth == depths[-1], "wrong depth")


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Refused(otherwise)


def _follows(step: Step, cited: list[Statement], query: str, world: World, rung: int) -> bool:
    conclusion, rule = step.conclusion, step.rule
    kinds = sorted(statement.kind for statement in cited)
    by_identity = rung >= 2  # from `associative` on, xy=y is excluded where x is not the identity
    if rule == "copy":
        return len(step.facts) == 1 and not step.steps and cited[0] == conclusion
    if rule == "assume":
        return not cited and conclusion.kind == "product"
    if rule == "reserved":
        return not cited and conclusion == Statement("not_identity", world.reserved or "")
    if rule == "refute":
        return conclusion.kind == "not_product" and kinds == ["contradiction"]
    if rule == "clash":
        return conclusion.kind == "contradiction" and len(cited) == 2 and any(
            one.kind == "product" and _excludes(other, one.variables, by_identity) for one, other in permutations(cited)
        )  # fmt: skip
    if rule == "members":
        return set(kinds) <= {"product"} and _membership_follows(conclusion, cited, query, world)
    if rule in ("cancel", "row", "column", "identity_left"):
        return _elimination_follows(step, cited, by_identity)
    if rule == "associate":
        return _association_follows(conclusion, cited, by_identity)
    return _identity_follows(step, cited, by_identity)


def _identity_follows(step: Step, cited: list[Statement], by_identity: bool) -> bool:
    """identity_shown, identity, one_identity, inverse."""
    rule, said = step.rule, step.conclusion
    kinds = sorted(statement.kind for statement in cited)
    if rule == "identity_shown":
        if kinds != ["product"] or said.kind != "identity":
            return False
        x, y, z = list(cited[0].variables)
        return (said.variables == x and z == y) or (said.variables == y and z == x)
    identities = [statement.variables for statement in cited if statement.kind == "identity"]
    links = [set(statement.variables) for statement in cited if statement.kind == "members"]
    if len(identities) != 1:
        return False
    (e,) = identities
    if rule == "identity" and said.kind == "product":
        x, y, z = list(said.variables)
        linked = kinds == ["identity"] if x == y else kinds == ["identity", "members"] and links[0] == {x, y}
        return linked and ((x == e and z == y) or (y == e and z == x))
    if rule == "one_identity" and said.kind == "not_identity":
        return kinds == ["identity", "members"] and said.variables != e and links[0] == {e, said.variables}
    if rule == "inverse" and said.kind in ("product", "not_product"):
        b, a, z = list(said.variables)
        (other,) = [statement for statement in cited if statement.kind != "identity"] or [said]
        if z != e or len(cited) != 2:
            return False
        if said.kind == "product":
            return other == Statement("product", a + b + e)
        return _excludes(other, a + b + e, by_identity)
    return False


def _excludes(reason: Statement, xyz: str, by_identity: bool) -> bool:
    """Whether a statement alone excludes xy=z."""
    x, y, z = list(xyz)
    if reason.kind == "product":
        same = [ours == theirs for ours, theirs in zip(xyz, reason.variables, strict=True)]
        if sum(same) == 2:  # the same pair with another answer, or the answer elsewhere in the row or column
            return True
    if reason.kind == "not_product" and reason.variables == xyz:
        return True
    if not by_identity:
        return False
    if reason.kind == "identity":
        return (reason.variables == x and z != y) or (reason.variables == y and z != x)
    return (z == y and _not_identity(reason, x)) or (z == x and _not_identity(reason, y))


def _not_identity(reason: Statement, x: str) -> bool:
    """Whether a statement alone shows that x is not the identity."""
    if reason.kind == "not_identity":
        return reason.variables == x
    if reason.kind not in ("product", "not_product"):
        return False
    left, right, answer = list(reason.variables)
    unchanged = [answer == right] * (left == x) + [answer == left] * (right == x)
    return not all(unchanged) if reason.kind == "product" else any(unchanged)


def _elimination_follows(step: Step, cited: list[Statement], by_identity: bool) -> bool:
    """All but one of the possible members are excluded (all of them: a contradiction), and each reason is needed."""
    said, rule = step.conclusion, step.rule
    links = [statement for statement in cited if statement.kind == "members" and statement.within]
    reasons = [statement for statement in cited if statement not in links]
    if len(links) != 1:
        return False
    within, anchors, v = links[0].within, set(links[0].variables), said.variables
    if rule == "identity_left":
        chosen, tests = v, {x: lambda r, x=x: _not_identity(r, x) for x in within}
        right_kind = (said.kind == "identity" and len(v) == 1) or (said.kind == "contradiction" and not v)
    else:
        right_kind = (said.kind == "product" and len(v) == 3) or (said.kind == "contradiction" and len(v) == 2)
        if not right_kind:
            return False
        if rule == "cancel":
            fixed, chosen = {v[0], v[1]}, v[2:]
            tests = {z: lambda r, z=z: _excludes(r, v[:2] + z, by_identity) for z in within}
        elif rule == "row":
            fixed, chosen = {v[0], v[-1]}, v[1:2] if said.kind == "product" else ""
            tests = {y: lambda r, y=y: _excludes(r, v[0] + y + v[-1], by_identity) for y in within}
        else:
            at = v[1] if said.kind == "product" else v[0]
            fixed, chosen = {at, v[-1]}, v[0] if said.kind == "product" else ""
            tests = {x: lambda r, x=x: _excludes(r, x + at + v[-1], by_identity) for x in within}
        if anchors != fixed:
            return False
    if not right_kind or (chosen and chosen not in within):
        return False
    others = [test for candidate, test in tests.items() if candidate != chosen]

    def all_excluded(given: list[Statement]) -> bool:
        return all(any(test(reason) for reason in given) for test in others)

    return all_excluded(reasons) and not any(all_excluded(reasons[:i] + reasons[i + 1 :]) for i in range(len(reasons)))


def _association_follows(said: Statement, cited: list[Statement], by_identity: bool) -> bool:
    """ab=f, bc=g, fc=h, ag=h: any three give the fourth; and without one of the outer two, one of the others fails."""
    if said.kind == "product":
        return len(cited) <= 3 and any(
            set(three) == set(cited) and any(_associative(*order) for order in permutations((*three, said)))
            for three in product(cited, repeat=3)
        )
    if said.kind != "not_product" or len(cited) > 3:
        return False
    # If `said` were a product, then with two cited products a fourth would follow that the third citation excludes.
    supposed = Statement("product", said.variables)
    return any(
        {one, other, reason} == set(cited) and _excludes_fourth(supposed, one, other, reason, by_identity)
        for one, other, reason in product(cited, repeat=3)
    )


def _associative(ab: Statement, bc: Statement, fc: Statement, ag: Statement) -> bool:
    if any(statement.kind != "product" for statement in (ab, bc, fc, ag)):
        return False
    (a, b, f), (b2, c, g) = list(ab.variables), list(bc.variables)
    return b == b2 and fc.variables[:2] == f + c and ag.variables[:2] == a + g and fc.variables[2] == ag.variables[2]


def _excludes_fourth(
    supposed: Statement, one: Statement, other: Statement, reason: Statement, by_identity: bool
) -> bool:
    if one.kind != "product" or other.kind != "product":
        return False
    for ab, bc, outer in permutations((supposed, one, other)):
        (a, b, f), (b2, c, g), (x, y, h) = (list(statement.variables) for statement in (ab, bc, outer))
        if b == b2 and x + y == f + c and _excludes(reason, a + g + h, by_identity):
            return True
        if b == b2 and x + y == a + g and _excludes(reason, f + c + h, by_identity):
            return True
    return False


# --- who belongs to the query's structure ---------------------------------------------------------------------------


def _membership_follows(said: Statement, products: list[Statement], query: str, world: World) -> bool:
    """Link variables by the cited products and the query, and try every way to put the parts into structures."""
    parts: list[set[str]] = [set(query)]
    for statement in products:
        linked = [part for part in parts if part & set(statement.variables)]
        parts = [part for part in parts if part not in linked] + [set(statement.variables).union(*linked)]
    own = next(part for part in parts if query[0] in part)
    rest = [part for part in parts if part is not own]
    unseen = set(world.vocabulary.variables).difference(*parts)
    sizes = tuple(sorted(len(part) for part in rest))
    ways = _ways(world, len(own), sizes)
    if said.kind == "contradiction":
        return not ways
    if said.kind != "members" or not ways:
        return False
    surely, possibly = set(own), set(own)
    for part in rest:
        number = sizes.count(len(part))
        taken = {dict(inside).get(len(part), 0) for inside, _ in ways}  # how many parts of this size are inside
        possibly |= part if max(taken) > 0 else set()
        surely |= part if min(taken) == number else set()
    free = {room for _, room in ways}  # places left in the structure for variables not seen
    possibly |= unseen if max(free) > 0 else set()
    surely |= unseen if min(free) >= len(unseen) else set()
    return set(said.variables) <= surely and (not said.within or possibly <= set(said.within))


@lru_cache(maxsize=4096)
def _ways(world: World, own: int, sizes: tuple[int, ...]) -> frozenset[tuple[tuple[tuple[int, int], ...], int]]:
    """All ways to complete a part of `own` members to a structure: how many other parts of each size it holds, and the
    places left in it; only those where the remaining parts fit into the other structures."""
    found = set()
    counts = {size: sizes.count(size) for size in set(sizes)}
    orders_of = {tuple(sorted(world.pool[i].order for i in drawn)) for drawn in world.mixtures()}
    for orders in orders_of:
        for i in range(len(orders)):
            others = orders[:i] + orders[i + 1 :]
            for numbers in product(*(range(n + 1) for n in counts.values())):
                inside = dict(zip(counts, numbers, strict=True))
                room = orders[i] - own - sum(size * n for size, n in inside.items())
                outside = tuple(sorted(size for size, n in counts.items() for _ in range(n - inside[size])))
                if room >= 0 and _can_hold(others, outside):
                    found.add((tuple(inside.items()), room))
    return frozenset(found)


@lru_cache(maxsize=100_000)
def _can_hold(orders: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    """Whether structures of these orders can hold all parts, each in one structure: the first structure holds some."""
    if sum(sizes) > sum(orders) or (sizes and not orders):
        return False
    if not sizes:
        return True
    first, *others = orders
    choices = {
        tuple(size for size, chosen in zip(sizes, chosen_ones, strict=True) if not chosen)
        for chosen_ones in product((False, True), repeat=len(sizes))
        if sum(size for size, chosen in zip(sizes, chosen_ones, strict=True) if chosen) <= first
    }
    return any(_can_hold(tuple(others), left) for left in choices)
