"""What the section on probes says of one model, and by which thresholds."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.experiments.shared.readings import Number, Stated, Values, stated, with_minus

NO_INFORMATION = Stated(50, "%")  # balanced accuracy of a probe that knows nothing


@dataclass(frozen=True)
class SetProbes:
    """Probes for one set (closure or cancellation) in that set's subspace."""

    accuracy: Number
    majority: Number  # accuracy of always giving the more common answer of each variable
    other_variables: Number
    random: Number
    whole_space: Number
    other_subspace: Number
    holdout: Number
    holdout_majority: Number
    holdout_random: Number
    holdout_balanced: Number
    cosine: Number  # with the unembedding of the probe's own variable
    cosine_other: Number
    off_diagonal: Number
    published_accuracy: Stated  # the middle of the published range
    published_cosine: str


@dataclass(frozen=True)
class Reserved:
    """The variable that is never an identity in training, and its cancellation probe."""

    name: str
    accuracy: Number
    others: Number
    cosine: Number
    cosine_all: Number


@dataclass(frozen=True)
class Reading:
    size: int
    n_pairs: int
    n_train: int
    n_test: int
    n_facts: int
    closure: SetProbes
    cancellation: SetProbes
    closure_subspace_as_good: bool  # for cancellation sets
    no_information: Stated
    signs_as_published: bool
    reserved: Reserved | None


def read(values: Values) -> Reading:
    config = values.config
    closure, cancellation = _probes(values, "closure"), _probes(values, "cancellation")
    return Reading(
        size=config["size"],
        n_pairs=config["n"],
        n_train=config["n_train"],
        n_test=config["n_test"],
        n_facts=config["n_facts"],
        closure=closure,
        cancellation=cancellation,
        closure_subspace_as_good=cancellation.other_subspace.value >= cancellation.accuracy.low,
        no_information=NO_INFORMATION,
        signs_as_published=closure.cosine.low > 0 > cancellation.cosine.high,
        reserved=_reserved(values),
    )


def _probes(values: Values, name: str) -> SetProbes:
    return SetProbes(
        accuracy=values.number(f"{name}.accuracy"),
        majority=values.number(f"{name}.commoner_answer"),
        other_variables=values.number(f"{name}.other_variables"),
        random=values.number(f"{name}.random"),
        whole_space=values.number(f"{name}.whole_space"),
        other_subspace=values.number(f"{name}.other_subspace"),
        holdout=values.number(f"holdout.{name}.accuracy"),
        holdout_majority=values.number(f"holdout.{name}.commoner_answer"),
        holdout_random=values.number(f"holdout.{name}.random"),
        holdout_balanced=values.number(f"holdout.{name}.balanced"),
        cosine=values.number(f"{name}.cosine_unembedding", ""),
        cosine_other=values.number(f"{name}.cosine_other_unembedding", ""),
        off_diagonal=values.number(f"{name}.off_diagonal", ""),
        published_accuracy=stated(f"L4.{name}"),
        published_cosine=_signed(stated(f"L4.cos_{name}").value),
    )


def _signed(value: float) -> str:
    """'+0.38' and '−0.17': here the sign is the point."""
    return with_minus(f"{value:+.2f}")


def _reserved(values: Values) -> Reserved | None:
    """None for a world in which every variable may be an identity."""
    name = values.detail("reserved")
    if not name:
        return None
    return Reserved(
        name=name,
        accuracy=values.number("cancellation.reserved"),
        others=values.number("cancellation.not_reserved"),
        cosine=values.number("cancellation.reserved_cosines", ""),
        cosine_all=values.number("cancellation.off_diagonal_signed", ""),
    )
