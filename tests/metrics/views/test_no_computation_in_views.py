"""Workers compute and pages read: no results page calls a formula during a request.

The exception are days, weeks and months of raters, which are computed from the counts.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

import pytest

from metrics import tasks
from metrics.agreement.coefficients import cohen
from metrics.integrity.audit import audit_question
from metrics.jobs.question_updates import update_question
from metrics.models import CountState, Diagnosis, FilteredResult, PairTally
from metrics.question_scale import QuestionScale
from metrics.results import findings, pair_results, rater_periods
from metrics.results.patterns import AllTimePatterns

FORMULAS = (
    "metrics.agreement.scale_coefficients",
    "metrics.agreement.coefficients",
    "metrics.agreement.explain.attribution",
    "metrics.agreement.explain.diagnosis",
    "metrics.agreement.explain.headline_differences",
    "metrics.agreement.explain.headline_differences",
    "metrics.agreement.explain.sensitivity",
    "metrics.agreement.bootstrap",
)
ADDRESSES = (
    "",
    "statistics/",
    "?sort=vs_peers",
    "?period=day&coefficient=krippendorff_alpha_ordinal",
    "pairs/",
    "pairs/?sort=kappa",
    "raters/a/?period=week",
    "charts/trend.json",
    "charts/pairs.json",
    "charts/pairs.csv",
    "charts/rater-trend.json?rater=a&period=week",
    "charts/rater-confusion.json?rater=a",
    "charts/pair-table.json?a=a&b=b",
)


@pytest.fixture
def rated_question(question: Any, rate: Any, utc: Any) -> Any:
    """Return a question with ratings of four raters on twelve items; one rater is always stricter."""
    labels = ("none", "minor", "major", "critical")
    for number in range(12):
        for index, rater in enumerate("abcd"):
            level = (number + (index == 3) + (number % 5 == 0) * index) % 4
            moment = utc(2026, 3, 2 + number, 12)
            rate(question, f"i{number}", rater, labels[level], rated_at=moment)
    update_question(question.pk)
    return question


@pytest.fixture
def forbid_formulas(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes every formula raise, wherever it was imported, and counts them."""

    def raise_error(*_arguments: Any, **_names: Any) -> Any:
        raise AssertionError("a page computes")

    def patch_formulas() -> int:
        n_patched = 0
        for module in list(sys.modules.values()):
            if not getattr(module, "__name__", "").startswith("metrics."):
                continue
            for name, value in list(vars(module).items()):
                if inspect.isfunction(value) and value.__module__.startswith(FORMULAS):
                    monkeypatch.setattr(module, name, raise_error)
                    n_patched += 1
        return n_patched

    return patch_formulas


@pytest.mark.parametrize("query", ["", "kind=human"])
def test_pages_call_no_formula(
    query: str,
    rated_question: Any,
    lead: Any,
    client_for: Any,
    project: Any,
    forbid_formulas: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = client_for(lead)
    pages = []
    for address in ADDRESSES:
        separator = "&" if "?" in address else "?"
        pages.append(f"/projects/{project.pk}/{address}{separator}{query}")
    for page in pages:
        client.get(page)
    tasks.sweep_all()
    FilteredResult.objects.update(paused_until=None)
    # Periods of a rater are computed on request: see test_rater_periods.
    monkeypatch.setattr(rater_periods, "list_period_values", lambda *_arguments, **_names: [])
    assert forbid_formulas() > 40
    for page in pages:
        assert client.get(page).status_code == 200, page
    headers = {"X-Shown-Version": "", "X-Fragments": client.get(pages[0]).context["fragment_key"]}
    live = client.get(pages[0], headers=headers)
    assert 'id="headline"' in live.content.decode()


def test_stored_pairs_match_formula(rated_question: Any) -> None:
    scale = QuestionScale.for_question(rated_question)
    raters = pair_results.list_most_active_raters(rated_question.pk)
    tables = pair_results.load_tables_among(
        rated_question.pk, [rater.pk for rater in raters], scale
    )
    for weights, matrix in scale.build_weight_matrices().items():
        estimates = cohen.kappa(tables.tables, matrix).to_values()
        stored_pairs = pair_results.list_pairs_among(rated_question, raters, weights)
        assert len(stored_pairs) == len(estimates) == 6
        for pair, estimate in zip(stored_pairs, estimates, strict=True):
            expected = {**estimate, **dict.fromkeys(("se", "observed", "expected"))}  # not stored
            assert pair.kappa == pytest.approx(expected, nan_ok=False)


def test_findings_follow_ratings(rated_question: Any, rate: Any) -> None:
    before = Diagnosis.objects.get(question=rated_question)
    means = CountState.objects.get(pk=rated_question.pk).mean_pairwise_kappas
    patterns = AllTimePatterns.load(rated_question.pk, QuestionScale.for_question(rated_question))
    assert before.findings == findings.find_question_findings(patterns, means)
    top_dispute = before.disputes["linear"][0]
    rate(rated_question, "i1", "a", "none")
    rate(rated_question, "i1", "b", "critical")
    update_question(rated_question.pk)
    after = Diagnosis.objects.get(question=rated_question)
    assert after.disputes["linear"][0] != top_dispute
    assert not audit_question(rated_question.pk).differences


def test_swapped_ratings_update_disputed_items(rated_question: Any, rate: Any) -> None:
    """Swapping two ratings between items leaves every count unchanged."""
    rate(rated_question, "x", "a", "none")
    rate(rated_question, "y", "a", "critical")
    for item in "xy":
        rate(rated_question, item, "b", "none")
    update_question(rated_question.pk)
    rate(rated_question, "x", "a", "critical")
    rate(rated_question, "y", "a", "none")
    update_question(rated_question.pk)
    items = {item.pk: item.key for item in rated_question.project.items.all()}
    disputes = Diagnosis.objects.get(question=rated_question).disputes["none"]
    assert "x" in [items[item] for item, _counts, distance in disputes if distance == 1]
    assert "y" not in [items[item] for item, _counts, _distance in disputes]
    assert not audit_question(rated_question.pk).differences


def test_audit_finds_wrong_stored_values(rated_question: Any) -> None:
    PairTally.objects.update(low_linear=-5)
    Diagnosis.objects.update(disputes={}, findings=[{"name": "rater_bias", "figures": {}}])
    differences = "\n".join(audit_question(rated_question.pk).differences)
    assert "kappas of the pair" in differences
    assert "finding rater_bias" in differences
    assert "most disputed items" in differences
