"""Task or recipe: every word of the rule at its edges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact as reference

from icalgebra.report.universality import Tally, word
from icalgebra.statistics import fisher_exact

NO_SEEDS: tuple[Tally, ...] = ()


@pytest.mark.parametrize(
    "adamw, muon, seeds, expected",
    [
        ((1, 1), (5, 5), [], "belongs to the task"),
        ((5, 5), (1, 1), [], "belongs to the task"),
        ((1, 1), (4, 4), [], "open"),  # five models
        ((0, 0), (6, 6), [], "open"),  # one recipe alone
        ((6, 6), (0, 0), [], "open"),
        ((9, 10), (9, 10), [(9, 10)], "belongs to the task"),  # nine tenths are enough
        ((8, 9), (9, 10), [(8, 9)], "differs from seed to seed"),  # and less is not
        ((9, 10), (8, 9), [(8, 9)], "differs from seed to seed"),
        ((9, 10), (8, 9), [], "open"),  # no set of seeds differs
        ((4, 4), (0, 4), [], "belongs to the recipe"),  # p = .029
        ((0, 4), (4, 4), [], "belongs to the recipe"),
        ((3, 3), (0, 12), [], "open"),  # p = .002, but three models
        ((12, 12), (0, 3), [], "open"),
        ((4, 4), (1, 4), [], "open"),  # p = .143
        ((4, 4), (5, 12), [], "open"),  # p = .088
        ((4, 4), (3, 12), [(3, 12)], "belongs to the recipe"),  # p = .019: asked before the seeds
        ((10, 10), (15, 20), [], "open"),  # p = .14
        ((20, 20), (15, 20), [], "belongs to the recipe"),  # p = .047
        ((0, 0), (0, 4), [(0, 4)], "not seen"),
        ((0, 2), (0, 2), [], "not seen"),
        ((0, 1), (0, 2), [], "open"),
        ((0, 4), (0, 4), [], "not seen"),
        ((0, 0), (1, 2), [(1, 2)], "differs from seed to seed"),
        ((0, 0), (1, 2), [(1, 1), (0, 1)], "open"),  # between sets of runs, not within one
        ((0, 0), (1, 4), [(1, 1), (0, 3)], "open"),
        ((0, 0), (0, 0), [(0, 0)], "open"),
    ],
)
def test_the_word(adamw: tuple, muon: tuple, seeds: list, expected: str) -> None:
    assert word(Tally(*adamw), Tally(*muon), [Tally(*found) for found in seeds]) == expected


@given(st.integers(0, 14), st.integers(0, 14), st.data())
def test_fishers_test_is_scipys(n: int, other_n: int, data: st.DataObject) -> None:
    hits, other = data.draw(st.integers(0, n)), data.draw(st.integers(0, other_n))
    expected = reference([[hits, n - hits], [other, other_n - other]]).pvalue if n and other_n else 1.0
    assert fisher_exact(hits, n, other, other_n) == pytest.approx(expected)
