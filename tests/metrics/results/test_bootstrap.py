"""Bootstrap intervals where there is no standard error: stored, on the page and through the API."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from metrics.agreement import report
from metrics.agreement.coefficients.krippendorff import krippendorff_alpha
from metrics.jobs import question_updates
from metrics.models import CountState
from tests.cast import rate_many

LABELS = ["none", "minor", "major", "critical"]
NAME = "krippendorff_alpha_ordinal"


@pytest.fixture
def code_table(question: Any) -> np.ndarray:
    """Create 30 items with ratings of two or three raters, who are often one step apart."""
    rng = random.Random(1)
    table = np.full((30, 3), -1)
    ratings = []
    for item in range(30):
        truth = rng.choice([0, 0, 1, 2, 3])
        for rater in range(rng.choice([2, 3])):
            table[item, rater] = min(max(truth + rng.choice([-1, 0, 0, 0, 1]), 0), 3)
            ratings.append((f"i{item}", f"r{rater}", LABELS[table[item, rater]]))
    rate_many(question, ratings)
    question_updates.sweep_questions()
    return table


@pytest.fixture
def get_estimate(question: Any, lead: Any, api_for: Any) -> Any:
    return lambda: (
        api_for(lead)
        .get(f"/api/v1/projects/{question.project_id}/agreement/")
        .json()["coefficients"][NAME]
    )


def compute_alpha(code_table: np.ndarray) -> float | None:
    """Return ordinal alpha alone: the report of a table has all coefficients with intervals."""
    counts = [np.bincount(codes[codes >= 0], minlength=4) for codes in code_table]
    estimate = krippendorff_alpha(counts, np.ones(len(counts)), metric="ordinal", interval=False)
    value: float | None = estimate.to_value()["value"]
    return value


def compute_bootstrap_interval(code_table: np.ndarray, replicates: int) -> tuple[float, float]:
    """Return the naive bootstrap interval: items drawn with replacement, alpha of each table."""
    rng = np.random.default_rng(3)
    samples = (
        code_table[rng.integers(0, len(code_table), len(code_table))] for _ in range(replicates)
    )
    values = [compute_alpha(table) for table in samples]
    low, high = np.quantile([value for value in values if value is not None], [0.025, 0.975])
    return float(low), float(high)


def test_ordinal_alpha_has_bootstrap_interval(code_table: np.ndarray, get_estimate: Any) -> None:
    estimate = get_estimate()
    assert estimate["value"] == pytest.approx(report(code_table, categories=4)[NAME])
    assert (estimate["low"], estimate["high"]) == pytest.approx(
        compute_bootstrap_interval(code_table, 400), abs=0.06
    )
    assert (estimate["bootstrap"], estimate["se"]) == (2000, None)


def test_page_names_the_bootstrap(
    code_table: np.ndarray, question: Any, client: Any, lead: Any
) -> None:
    client.force_login(lead)
    page = client.get(f"/projects/{question.project_id}/statistics/").content.decode()
    assert "interval by bootstrap, replicates: 2,000" in page


def test_same_counts_give_the_same_interval(
    code_table: np.ndarray, question: Any, rate: Any
) -> None:
    def get_stored_bootstrap() -> Any:
        state = CountState.objects.get(question=question)
        assert state.deferred_version == state.version
        return state.bootstrap

    before = get_stored_bootstrap()
    rate(question, "i0", "r2", "critical")
    question_updates.sweep_questions()
    assert get_stored_bootstrap() != before
    rate(question, "i0", "r2", None if code_table[0, 2] < 0 else LABELS[code_table[0, 2]])
    question_updates.sweep_questions()
    assert get_stored_bootstrap() == before


def test_single_item_has_no_interval(question: Any, rate: Any, get_estimate: Any) -> None:
    rate(question, "i1", "ann", "minor")
    rate(question, "i1", "ben", "major")
    question_updates.sweep_questions()
    estimate = get_estimate()
    assert (estimate["value"], estimate["low"], estimate["high"]) == (0.0, None, None)
    assert "bootstrap" not in estimate
