"""A bias explains low agreement of a harsh rater, and not that of a guesser."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.agreement.counts.tally import PairTables, count_pair_tables
from metrics.agreement.rater_quality.between_raters import select_scattered_raters

SUBJECT = 5  # the last of six raters


def build_tables(codes: np.ndarray, k: int) -> PairTables:
    """Return the pair tables of complete ratings (n_items, n_raters)."""
    item, rater = np.indices(codes.shape).reshape(2, -1)
    return count_pair_tables(item, rater, codes.ravel(), k)


def simulate(rng: np.random.Generator, n_items: int, *, kind: str) -> np.ndarray:
    """Return grades 0 to 3 of six raters; most items have the lowest one, so guessers rate high.

    A rater gives a neighboring grade on two of five items. The last one is ``kind``: "guesser",
    "harsh" (one grade too high), or "like the others".
    """
    truth = rng.choice(4, n_items, p=(0.55, 0.2, 0.15, 0.1))
    codes = truth[:, None] + rng.choice((-1, 0, 1), (n_items, 6), p=(0.2, 0.6, 0.2))
    if kind == "guesser":
        codes[:, SUBJECT] = rng.integers(0, 4, n_items)
    if kind == "harsh":
        codes[:, SUBJECT] += 1
    return np.clip(codes, 0, 3)


def compute_share(kind: str, *, n_items: int, n_studies: int) -> float:
    """Return the share of studies in which the last rater's answers are scattered."""
    rng = np.random.default_rng(7)
    return float(
        np.mean(
            [
                bool(
                    select_scattered_raters(
                        build_tables(simulate(rng, n_items, kind=kind), 4), [SUBJECT]
                    )
                )
                for _study in range(n_studies)
            ]
        )
    )


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [("guesser", 0.95, 1.0), ("harsh", 0.0, 0.03), ("like the others", 0.0, 0.01)],
)
def test_low_agreement_of_a_guesser_is_not_the_bias(kind: str, least: float, most: float) -> None:
    """The statistics page has the figures of 2,000 studies."""
    assert least <= compute_share(kind, n_items=30, n_studies=200) <= most


@given(seed=st.integers(0, 2**32 - 1), shift=st.integers(0, 3))
def test_a_shift_of_all_answers_changes_nothing(seed: int, shift: int) -> None:
    """On a scale without an end, a bias alone never makes the answers scattered, or regular."""
    codes = simulate(np.random.default_rng(seed), 40, kind="guesser" if seed % 2 else "harsh")
    before = select_scattered_raters(build_tables(codes, 7), [SUBJECT])
    codes[:, SUBJECT] += shift
    assert select_scattered_raters(build_tables(codes, 7), [SUBJECT]) == before


def test_nobody_is_scattered_among_raters_who_guess_or_with_few_items() -> None:
    rng = np.random.default_rng(3)
    few = simulate(rng, 5, kind="guesser")
    assert select_scattered_raters(build_tables(few[:, 3:], 4), [SUBJECT - 3]) == set()
    opposed = np.tile([0, 3], (40, 1))
    assert select_scattered_raters(build_tables(opposed, 4), [0, 1]) == set()
