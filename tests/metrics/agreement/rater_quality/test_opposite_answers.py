"""Raters who answer opposite to the others: who is named, and who only seems to be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from metrics.agreement.coefficients import cohen
from metrics.agreement.counts.tally import count_pair_tables
from metrics.agreement.rater_quality.between_raters import (
    find_negative_kappas,
    select_reversed_raters,
)
from metrics.agreement.weights import quadratic_weights

N_ITEMS, K = 200, 5
Answers = list[np.ndarray]


def simulate_raters(n_raters: int, seed: int = 3) -> Answers:
    """Return the answers (N_ITEMS,) of raters who agree well on a scale of K categories."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, K, N_ITEMS)
    noise = rng.choice((-1, 0, 1), p=(0.15, 0.7, 0.15), size=(n_raters, N_ITEMS))
    return list(np.clip(truth + noise, 0, K - 1))


def select(answers: Sequence[np.ndarray], **options: object) -> set[int]:
    """Return the indices of the reversed raters, with each rater a candidate."""
    n = len(answers)
    items = np.tile(np.arange(N_ITEMS), n)
    tables = count_pair_tables(items, np.repeat(np.arange(n), N_ITEMS), np.concatenate(answers), K)
    return select_reversed_raters(tables, range(n), **options)  # type: ignore[arg-type]


def test_reversed_rater_is_selected_in_any_place() -> None:
    for place in range(4):
        answers = simulate_raters(4)
        answers[place] = K - 1 - answers[place]
        assert select(answers) == {place}
        assert select(answers, values=[0, 1, 2, 4, 8]) == {place}


def test_rater_with_a_strong_bias_is_not_selected() -> None:
    """The own answers are two categories higher; those of another are always the same."""
    answers = simulate_raters(5)
    answers[1] = np.minimum(answers[1] + 2, K - 1)
    answers[3] = np.full(N_ITEMS, K - 1)
    assert select(answers) == set()


def test_guesser_is_not_selected() -> None:
    for seed in range(20):
        answers = simulate_raters(4, seed)
        answers[0] = np.random.default_rng(seed).integers(0, K, N_ITEMS)
        assert select(answers) == set()


def test_nobody_is_selected_of_two_raters_or_two_camps() -> None:
    answers = simulate_raters(4)
    answers[2:] = [K - 1 - own for own in answers[2:]]
    assert select(answers) == set()
    assert select(answers[1:3]) == set()


def test_nobody_is_selected_where_the_others_do_not_agree() -> None:
    """The rater is opposite to one of two guessers; and these agree with nobody."""
    rng = np.random.default_rng(5)
    guesses = [rng.integers(0, K, N_ITEMS) for _rater in range(3)]
    assert select([K - 1 - guesses[0], *guesses]) == set()


@pytest.mark.parametrize(
    ("kappa", "se", "n_items", "expected"),
    [
        (-0.7, 0.05, 200, True),
        (-0.7, 0.05, 29, False),
        (-0.1, 0.05, 200, False),
        (0.7, 0.05, 200, False),
        (np.nan, np.nan, 200, False),
    ],
)
def test_negative_kappa_must_be_beyond_chance(
    kappa: float, se: float, n_items: int, expected: bool
) -> None:
    """-0.1 is two standard errors below 0, which is too little for one of four raters."""
    mask = find_negative_kappas(
        np.array([kappa, 0.5, 0.5, 0.5]), np.array([se] * 4), np.array([n_items, 99, 99, 99])
    )
    assert mask.tolist() == [expected, False, False, False]


def test_seldom_a_guesser_has_a_negative_kappa_beyond_chance() -> None:
    """In 400 questions with eight guessers, one of them in at most 5%."""
    rng = np.random.default_rng(8)
    n_named = 0
    for _question in range(400):
        answers = rng.integers(0, K, (8, 2, N_ITEMS))
        cells = answers[:, 0] * K + answers[:, 1]
        tables = [np.bincount(row, minlength=K * K).reshape(K, K) for row in cells]
        estimates = [cohen.kappa(table, quadratic_weights(K)) for table in tables]
        kappas, ses = (
            np.array([getattr(estimate, field) for estimate in estimates], float)
            for field in ("value", "se")
        )
        n_named += bool(find_negative_kappas(kappas, ses, np.full(8, N_ITEMS)).any())
    assert n_named / 400 <= 0.05
