"""Test who almost always gives the same answer where the others do not."""

import numpy as np
import pytest

from metrics.agreement.rater_quality.between_raters import find_repeating_raters


@pytest.mark.parametrize(
    ("share", "share_of_others", "n_items", "is_named"),
    [
        (61 / 64, 0.35, 64, True),
        (1.0, 0.45, 40, True),
        (61 / 64, 0.35, 29, False),  # too few items
        (0.85, 0.35, 400, False),  # not almost always
        (0.97, 0.88, 2_000, False),  # most others give this answer, too
        (0.9, 0.65, 400, False),  # left less often, but not seldom
        (0.95, 0.75, 30, False),  # chance explains it among a hundred raters
    ],
)
def test_rater_is_named_only_where_others_give_other_answers(
    share: float, share_of_others: float, n_items: int, is_named: bool
) -> None:
    shares, others = np.full(100, 0.5), np.full(100, 0.5)
    shares[7], others[7] = share, share_of_others
    named = find_repeating_raters(shares, others, np.full(100, n_items))
    assert np.flatnonzero(named).tolist() == ([7] if is_named else [])


def test_raters_like_the_others_are_seldom_named() -> None:
    """At most in one of twenty studies anybody, if all leave the answer equally often."""
    rng = np.random.default_rng(5)
    n_items, others = np.full(50, 30), np.full(50, 0.75)
    named = [
        find_repeating_raters(rng.binomial(30, 0.75, 50) / 30, others, n_items).any()
        for _study in range(400)
    ]
    assert np.mean(named) <= 0.05
