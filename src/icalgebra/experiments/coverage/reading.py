"""What the section on coverage says: the mechanisms' shares in both candidate settings, beside the published ones."""

from __future__ import annotations

from dataclasses import dataclass

from icalgebra.experiments.shared.readings import Number, Stated, Values, stated


@dataclass(frozen=True)
class Compared:
    """A share in the two settings that the paper may have used, and as published."""

    main: Number  # p_mix .7 without D2: the main model's setting
    fitting: Number  # p_mix .5 with D2: fits the published AUCs
    published: Stated


@dataclass(frozen=True)
class Reading:
    largest_context: int  # the AUC is the mean over 1 … this many facts of context
    copy: Compared
    cancel_holdout: Compared
    copyable: Compared  # at k = 50
    not_identity: Compared
    # At p_mix .5 with D2: commutative copies whatever their answer; the rest with only right ones counted.
    commute_any: Number
    commute_right: Number
    cancel_right: Number
    associate_right: Number
    total_right: Number


def read(values: Values) -> Reading:
    return Reading(
        largest_context=values.config["n_facts"] - 1,
        copy=_compared(values, "train_any.copy", "C1.copy_p7"),
        cancel_holdout=_compared(values, "holdout.cancel", "C2.cancel_p7"),
        copyable=_compared(values, "copyable.k50", "B2.k50_p7"),
        not_identity=_compared(values, "holdout.not_identity", "L3d.p7"),
        commute_any=values.number("p5_d2.train_any.commute"),
        commute_right=values.number("p5_d2.train.commute"),
        cancel_right=values.number("p5_d2.train.cancel"),
        associate_right=values.number("p5_d2.train.associate"),
        total_right=values.number("p5_d2.train.total"),
    )


def _compared(values: Values, key: str, claim_id: str) -> Compared:
    return Compared(values.number(f"p7.{key}"), values.number(f"p5_d2.{key}"), stated(claim_id))
