"""The headline coefficient over time; for two raters it needs their paired ratings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import time_machine

from metrics.agreement import report
from metrics.jobs.question_updates import update_question
from metrics.models import Result
from projects.services.questions import change_headline

pytestmark = pytest.mark.django_db
LABELS = ("none", "minor", "major", "critical")


@pytest.fixture
def two_raters_question(question: Any, rate: Any, utc: Any) -> Any:
    """Return a question rated by two raters over two weeks, who differ in the second."""
    for week in (0, 1):
        for item in range(15):
            step = int(week and item % 3 == 0)
            moment = utc(2026, 3, 3 + 7 * week, 9)
            rate(question, f"w{week}-{item}", "a", LABELS[item % 3], rated_at=moment)
            rate(question, f"w{week}-{item}", "b", LABELS[item % 3 + step], rated_at=moment)
    update_question(question.pk)
    return question


def compute_week_kappa(week: int) -> float:
    codes_a = [item % 3 for item in range(15)]
    codes_b = [code + int(week and code == 0) for code in codes_a]
    codes = np.array([codes_a, codes_b]).T
    value: float = report(codes, categories=4)["weighted_kappa_quadratic"]
    return value


def test_trend_of_two_raters_is_cohens_kappa(
    project: Any, two_raters_question: Any, lead: Any, client_for: Any, api_for: Any
) -> None:
    page = client_for(lead).get(f"/projects/{project.pk}/?period=week")
    assert page.context["selection"].coefficient == "cohen_kappa_quadratic"
    assert "Dashed: all items so far." not in page.text
    assert "not counted yet" not in page.text
    values = [point.estimate["value"] for point in page.context["points"]]
    assert values == pytest.approx([compute_week_kappa(0), compute_week_kappa(1)])
    chart = client_for(lead).get(f"/projects/{project.pk}/charts/trend.json?period=day").json()
    assert [row["value"] for row in chart["rows"]] == pytest.approx(values)
    with time_machine.travel(f"{page.context['points'][-1].end}T12:00:00Z", tick=False):
        (row,) = client_for(lead).get("/").context["rows"]  # the sparkline of the list
        assert row.weekly_trend.values == pytest.approx(values)
    address = f"/api/v1/projects/{project.pk}/agreement/trend/"
    rows = api_for(lead).get(address).json()["results"]
    assert [row["value"] for row in rows] == pytest.approx(values)
    assert {row["coefficient"] for row in rows} == {"cohen_kappa_quadratic"}
    fleiss_rows = api_for(lead).get(f"{address}?coefficient=fleiss_kappa").json()["results"]
    assert {row["coefficient"] for row in fleiss_rows} == {"fleiss_kappa"}


@pytest.fixture
def interval_question(project: Any) -> Any:
    """Return the question with grades 0 to 3 on an interval scale."""
    question = project.questions.get()
    question.scale = "interval"
    question.save()
    for value, category in enumerate(question.categories.all()):
        category.value = value
        category.save()
    return question


def compute_week_icc(week: int, name: str = "icc2") -> dict[str, Any]:
    codes_a = [item % 3 for item in range(15)]
    codes_b = [code + int(week and code == 0) for code in codes_a]
    statistics = report(np.array([codes_a, codes_b]).T, categories=4, values=[0, 1, 2, 3])
    return {field: statistics[f"{name}{suffix}"] for field, suffix in
            (("value", ""), ("low", ".ci_low"), ("high", ".ci_high"))}  # fmt: skip


@pytest.mark.parametrize("name", ["icc2", "icc3"])
def test_icc_trend_of_two_raters_is_exact(
    project: Any,
    interval_question: Any,
    two_raters_question: Any,
    lead: Any,
    client_for: Any,
    api_for: Any,
    name: str,
) -> None:
    if name != "icc2":  # selected by the lead instead of the default
        change_headline(
            question=interval_question, headline=name, note="No levels.", pooled=False, by=lead
        )
        update_question(interval_question.pk)
    page = client_for(lead).get(f"/projects/{project.pk}/?period=week")
    assert page.context["headline_name"] == page.context["selection"].coefficient == name
    expected = [compute_week_icc(0, name), compute_week_icc(1, name)]
    estimates = [point.estimate for point in page.context["points"]]
    for field in ("value", "low", "high"):
        assert [estimate[field] for estimate in estimates] == pytest.approx(
            [estimate[field] for estimate in expected]
        )
    assert [(estimate["n_items"], estimate["n_ratings"]) for estimate in estimates] == [
        (15, 30),
        (15, 30),
    ]
    values = [estimate["value"] for estimate in expected]
    assert values[1] < values[0]
    for period in ("day", "month"):
        chart = client_for(lead).get(f"/projects/{project.pk}/charts/trend.json?period={period}")
        overall = Result.objects.get(question=two_raters_question, period_unit="all").headline[
            "value"
        ]["value"]
        expected_values = values if period == "day" else [overall]
        assert [row["value"] for row in chart.json()["rows"]] == pytest.approx(expected_values)
    with time_machine.travel(f"{page.context['points'][-1].end}T12:00:00Z", tick=False):
        (row,) = client_for(lead).get("/").context["rows"]
        assert row.weekly_trend.values == pytest.approx(values)


def test_api_pages_icc_trend_of_two_raters(
    project: Any, interval_question: Any, two_raters_question: Any, lead: Any, api_for: Any
) -> None:
    address = f"/api/v1/projects/{project.pk}/agreement/trend/?page_size=1"
    first = api_for(lead).get(address).json()
    second = api_for(lead).get(first["next"]).json()
    rows = [*first["results"], *second["results"]]
    assert [row["start"] for row in rows] == ["2026-03-02", "2026-03-09"]
    assert [row["value"] for row in rows] == pytest.approx(
        [compute_week_icc(0)["value"], compute_week_icc(1)["value"]]
    )
    assert {row["coefficient"] for row in rows} == {"icc2"}
    assert second["next"] is None


def test_trend_of_partly_shared_items_uses_alpha(
    project: Any,
    interval_question: Any,
    two_raters_question: Any,
    rate: Any,
    lead: Any,
    api_for: Any,
) -> None:
    rate(two_raters_question, "alone", "a", LABELS[0])
    change_headline(
        question=two_raters_question, headline="icc2", note="Asked for.", pooled=False, by=lead
    )
    update_question(two_raters_question.pk)
    rows = api_for(lead).get(f"/api/v1/projects/{project.pk}/agreement/trend/").json()["results"]
    assert {row["coefficient"] for row in rows} == {"krippendorff_alpha_interval"}


def test_trend_of_three_raters_explains_replacement_of_icc(
    project: Any,
    interval_question: Any,
    lead: Any,
    client_for: Any,
    api_for: Any,
    rate: Any,
    utc: Any,
) -> None:
    three_raters_question = interval_question
    for item in range(12):
        for rater in "abc":
            moment = utc(2026, 3 + item % 2, 3, 9)
            rate(three_raters_question, f"i{item}", rater, LABELS[item % 4], rated_at=moment)
    update_question(three_raters_question.pk)
    text = client_for(lead).get(f"/projects/{project.pk}/").content.decode()
    assert "Krippendorff’s alpha, interval, not ICC(A,1), absolute agreement." in text
    rows = api_for(lead).get(f"/api/v1/projects/{project.pk}/agreement/trend/").json()["results"]
    assert {row["coefficient"] for row in rows} == {"krippendorff_alpha_interval"}
