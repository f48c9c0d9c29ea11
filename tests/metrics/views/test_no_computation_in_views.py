"""Workers compute, pages read: no page of results calls a formula while it is asked for, but for
days, weeks and months of raters, which are read off the counts."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import pytest

from metrics import tasks
from metrics.agreement.coefficients import cohen
from metrics.integrity.audit import audit_question
from metrics.jobs.question_updates import update_question
from metrics.models import CountState, Diagnosis, PairTally, Slice
from metrics.results.all_time import AllTimePatterns
from metrics.results.disagreement import findings
from metrics.results.pairs import pair_results
from metrics.results.raters import rater_periods
from metrics.scale import QuestionScale

FORMULAS = (
    "metrics.agreement.batch",
    "metrics.agreement.coefficients",
    "metrics.agreement.explain.attribution",
    "metrics.agreement.explain.diagnosis",
    "metrics.agreement.explain.headline_differences",
    "metrics.agreement.explain.missing_ratings",
    "metrics.agreement.explain.sensitivity",
    "metrics.agreement.bootstrap",
)
ADDRESSES = (
    "",
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
def rated(question: Any, rate: Any, utc: Any) -> Any:
    """Four raters on twelve items; one of them is always stricter."""
    labels = ("none", "minor", "major", "critical")
    for number in range(12):
        for place, rater in enumerate("abcd"):
            level = (number + (place == 3) + (number % 5 == 0) * place) % 4
            moment = utc(2026, 3, 2 + number, 12)
            rate(question, f"i{number}", rater, labels[level], rated_at=moment)
    update_question(question.pk)
    return question


@pytest.fixture
def formulas_fail(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Called, it makes every formula raise wherever it was imported."""

    def computed(*_arguments: Any, **_names: Any) -> Any:
        raise AssertionError("a page computes")

    def forbid() -> int:
        found = 0
        for module in list(sys.modules.values()):
            if not getattr(module, "__name__", "").startswith("metrics."):
                continue
            for name, value in list(vars(module).items()):
                if inspect.isfunction(value) and value.__module__.startswith(FORMULAS):
                    monkeypatch.setattr(module, name, computed)
                    found += 1
        return found

    return forbid


@pytest.mark.parametrize("given", ["", "kind=human"])
def test_pages_call_no_formula(
    given: str,
    rated: Any,
    lead: Any,
    client_for: Any,
    project: Any,
    formulas_fail: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = client_for(lead)
    pages = []
    for address in ADDRESSES:
        mark = "&" if "?" in address else "?"
        pages.append(f"/projects/{project.pk}/{address}{mark}{given}")
    for page in pages:
        client.get(page)
    tasks.sweep_all()
    Slice.objects.update(rests_until=None)
    # What a rater's periods say is made when asked for: test_rater_periods.
    monkeypatch.setattr(rater_periods, "_list_rater_period_values", lambda *_asked, **_names: [])
    assert formulas_fail() > 40
    for page in pages:
        assert client.get(page).status_code == 200, page
    headers = {"X-Shown": "", "X-Places": client.get(pages[0]).context["places"]}
    live = client.get(pages[0], headers=headers)
    assert 'id="headline"' in live.content.decode()


def test_stored_pairs_are_those_of_the_formula(rated: Any) -> None:
    scale = QuestionScale.for_question(rated)
    raters = pair_results.list_most_active_raters(rated.pk)
    tables = pair_results.load_tables_among(rated.pk, [rater.pk for rater in raters], scale)
    for weights, matrix in scale.build_weight_matrices().items():
        made = cohen.kappa(tables.tables, matrix).to_values()
        shown = pair_results.list_pairs_among(rated, raters, weights)
        assert len(shown) == len(made) == 6
        for pair, reading in zip(shown, made, strict=True):
            known = {name: value for name, value in reading.items() if name in pair.kappa}
            assert pair.kappa == pytest.approx(known, nan_ok=False)


def test_what_is_said_follows_the_ratings(rated: Any, rate: Any) -> None:
    before = Diagnosis.objects.get(question=rated)
    means = CountState.objects.get(pk=rated.pk).pairwise
    ever = AllTimePatterns.load(rated.pk, QuestionScale.for_question(rated))
    assert before.findings == findings.find_question_findings(ever, means)
    first = before.disputes["linear"][0]
    rate(rated, "i1", "a", "none")
    rate(rated, "i1", "b", "critical")
    update_question(rated.pk)
    after = Diagnosis.objects.get(question=rated)
    assert after.disputes["linear"][0] != first
    assert not audit_question(rated.pk).differences


def test_items_that_change_places_are_followed(rated: Any, rate: Any) -> None:
    """Two ratings that change places between items leave every count as it is."""
    rate(rated, "x", "a", "none")
    rate(rated, "y", "a", "critical")
    for item in "xy":
        rate(rated, item, "b", "none")
    update_question(rated.pk)
    rate(rated, "x", "a", "critical")
    rate(rated, "y", "a", "none")
    update_question(rated.pk)
    items = {item.pk: item.key for item in rated.project.items.all()}
    stored = Diagnosis.objects.get(question=rated).disputes["none"]
    assert "x" in [items[item] for item, _counts, distance in stored if distance == 1]
    assert "y" not in [items[item] for item, _counts, _distance in stored]
    assert not audit_question(rated.pk).differences


def test_the_audit_sees_what_is_wrong(rated: Any) -> None:
    PairTally.objects.update(low_linear=-5)
    Diagnosis.objects.update(disputes={}, findings=[{"name": "rater_bias", "figures": {}}])
    told = "\n".join(audit_question(rated.pk).differences)
    assert "kappas of the pair" in told
    assert "finding rater_bias" in told
    assert "most disputed items" in told
