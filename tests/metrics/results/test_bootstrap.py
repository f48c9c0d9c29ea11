"""The bootstrap's interval where there is no standard error: stored, shown on the page and by the
API."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from metrics.agreement import report
from metrics.jobs import question_updates
from metrics.models import CountState

LABELS = ["none", "minor", "major", "critical"]
NAME = "krippendorff_alpha_ordinal"


@pytest.fixture
def codes(question: Any, rate: Any) -> np.ndarray:
    """30 items, two or three raters who are often one step apart."""
    chance = random.Random(1)
    table = np.full((30, 3), -1)
    for item in range(30):
        truth = chance.choice([0, 0, 1, 2, 3])
        for rater in range(chance.choice([2, 3])):
            table[item, rater] = min(max(truth + chance.choice([-1, 0, 0, 0, 1]), 0), 3)
            rate(question, f"i{item}", f"r{rater}", LABELS[table[item, rater]])
    question_updates.sweep_questions()
    return table


@pytest.fixture
def read(question: Any, lead: Any, api_for: Any) -> Any:
    return lambda: (
        api_for(lead)
        .get(f"/api/v1/projects/{question.project_id}/agreement/")
        .json()["coefficients"][NAME]
    )


def by_items(codes: np.ndarray, replicates: int) -> tuple[float, float]:
    """The obvious way: items drawn with replacement, alpha of each table."""
    rng = np.random.default_rng(3)
    drawn = (codes[rng.integers(0, len(codes), len(codes))] for _ in range(replicates))
    values = [report(table, categories=4)[NAME] for table in drawn]
    low, high = np.quantile([value for value in values if value is not None], [0.025, 0.975])
    return float(low), float(high)


def test_ordinal_alpha_has_the_interval_of_resampled_items(codes: np.ndarray, read: Any) -> None:
    found = read()
    assert found["value"] == pytest.approx(report(codes, categories=4)[NAME])
    assert (found["low"], found["high"]) == pytest.approx(by_items(codes, 400), abs=0.06)
    assert (found["bootstrap"], found["se"]) == (2000, None)


def test_the_page_tells_where_the_interval_comes_from(
    codes: np.ndarray, question: Any, client: Any, lead: Any
) -> None:
    client.force_login(lead)
    page = client.get(f"/projects/{question.project_id}/").content.decode()
    assert "interval by 2,000 bootstrap replicates" in page


def test_the_same_counts_give_the_same_interval(
    codes: np.ndarray, question: Any, rate: Any
) -> None:
    def stored() -> Any:
        state = CountState.objects.get(question=question)
        assert state.bootstrapped == state.version
        return state.bootstrap

    before = stored()
    rate(question, "i0", "r2", "critical")
    question_updates.sweep_questions()
    assert stored() != before
    rate(question, "i0", "r2", None if codes[0, 2] < 0 else LABELS[codes[0, 2]])
    question_updates.sweep_questions()
    assert stored() == before


def test_one_item_has_no_interval(question: Any, rate: Any, read: Any) -> None:
    rate(question, "i1", "ann", "minor")
    rate(question, "i1", "ben", "major")
    question_updates.sweep_questions()
    found = read()
    assert (found["value"], found["low"], found["high"]) == (0.0, None, None)
    assert "bootstrap" not in found
