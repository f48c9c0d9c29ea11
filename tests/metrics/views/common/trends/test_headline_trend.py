"""The first coefficient over time: of two raters it takes who rated what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import time_machine

from metrics.agreement import report
from metrics.jobs.question_updates import update_question
from metrics.models import Reading
from projects.services.scales import change_headline

pytestmark = pytest.mark.django_db
LABELS = ("none", "minor", "major", "critical")


@pytest.fixture
def two(question: Any, rate: Any, utc: Any) -> Any:
    """Two raters over two weeks; they part in the second."""
    for week in (0, 1):
        for item in range(15):
            step = int(week and item % 3 == 0)
            moment = utc(2026, 3, 3 + 7 * week, 9)
            rate(question, f"w{week}-{item}", "a", LABELS[item % 3], rated_at=moment)
            rate(question, f"w{week}-{item}", "b", LABELS[item % 3 + step], rated_at=moment)
    update_question(question.pk)
    return question


def kappa_of_week(week: int) -> float:
    own = [item % 3 for item in range(15)]
    other = [code + int(week and code == 0) for code in own]
    codes = np.array([own, other]).T
    value: float = report(codes, categories=4)["weighted_kappa_quadratic"]
    return value


def test_of_two_raters_the_trend_is_cohen_s(
    project: Any, two: Any, lead: Any, client_for: Any, api_for: Any
) -> None:
    page = client_for(lead).get(f"/projects/{project.pk}/?period=week")
    assert page.context["chosen"].coefficient == "cohen_kappa_quadratic"
    assert "Each period: the days on which the first of the two rated." in page.content.decode()
    values = [point.reading["value"] for point in page.context["points"]]
    assert values == pytest.approx([kappa_of_week(0), kappa_of_week(1)])
    chart = client_for(lead).get(f"/projects/{project.pk}/charts/trend.json?period=day").json()
    assert [row["value"] for row in chart["rows"]] == pytest.approx(values)
    with time_machine.travel(f"{page.context['points'][-1].end}T12:00:00Z", tick=False):
        (row,) = client_for(lead).get("/").context["rows"]  # the small line of the list
        assert row.course.line == pytest.approx(values)
    address = f"/api/v1/projects/{project.pk}/agreement/trend/"
    rows = api_for(lead).get(address).json()["results"]
    assert [row["value"] for row in rows] == pytest.approx(values)
    assert {row["coefficient"] for row in rows} == {"cohen_kappa_quadratic"}
    asked = api_for(lead).get(f"{address}?coefficient=fleiss_kappa").json()["results"]
    assert {row["coefficient"] for row in asked} == {"fleiss_kappa"}


@pytest.fixture
def scores(project: Any) -> Any:
    """The question with grades of 0 to 3."""
    question = project.questions.get()
    question.scale = "interval"
    question.save()
    for value, category in enumerate(question.categories.all()):
        category.value = value
        category.save()
    return question


def icc_of_week(week: int, name: str = "icc2") -> dict[str, Any]:
    own = [item % 3 for item in range(15)]
    other = [code + int(week and code == 0) for code in own]
    found = report(np.array([own, other]).T, categories=4, values=[0, 1, 2, 3])
    return {part: found[f"{name}{end}"] for part, end in
            (("value", ""), ("low", ".ci_low"), ("high", ".ci_high"))}  # fmt: skip


@pytest.mark.parametrize("name", ["icc2", "icc3"])
def test_of_two_raters_the_icc_over_time_is_exact(
    project: Any, scores: Any, two: Any, lead: Any, client_for: Any, api_for: Any, name: str
) -> None:
    if name != "icc2":  # the lead's choice, not the table's
        change_headline(question=scores, headline=name, note="No levels.", pooled=False, by=lead)
        update_question(scores.pk)
    page = client_for(lead).get(f"/projects/{project.pk}/?period=week")
    assert page.context["headline_name"] == page.context["chosen"].coefficient == name
    assert "Each period: the days on which the first of the two rated." in page.content.decode()
    expected = [icc_of_week(0, name), icc_of_week(1, name)]
    found = [point.reading for point in page.context["points"]]
    for part in ("value", "low", "high"):
        assert [one[part] for one in found] == pytest.approx([one[part] for one in expected])
    assert [(one["n_items"], one["n_ratings"]) for one in found] == [(15, 30), (15, 30)]
    values = [one["value"] for one in expected]
    assert values[1] < values[0]
    for period in ("day", "month"):
        chart = client_for(lead).get(f"/projects/{project.pk}/charts/trend.json?period={period}")
        whole = Reading.objects.get(question=two, span="all").headline["value"]["value"]
        wanted = values if period == "day" else [whole]
        assert [row["value"] for row in chart.json()["rows"]] == pytest.approx(wanted)
    with time_machine.travel(f"{page.context['points'][-1].end}T12:00:00Z", tick=False):
        (row,) = client_for(lead).get("/").context["rows"]
        assert row.course.line == pytest.approx(values)


def test_the_api_pages_through_the_icc_of_two(
    project: Any, scores: Any, two: Any, lead: Any, api_for: Any
) -> None:
    address = f"/api/v1/projects/{project.pk}/agreement/trend/?page_size=1"
    first = api_for(lead).get(address).json()
    second = api_for(lead).get(first["next"]).json()
    rows = [*first["results"], *second["results"]]
    assert [row["start"] for row in rows] == ["2026-03-02", "2026-03-09"]
    assert [row["value"] for row in rows] == pytest.approx(
        [icc_of_week(0)["value"], icc_of_week(1)["value"]]
    )
    assert {row["coefficient"] for row in rows} == {"icc2"}
    assert second["next"] is None


def test_two_raters_who_share_not_all_are_read_by_alpha(
    project: Any, scores: Any, two: Any, rate: Any, lead: Any, api_for: Any
) -> None:
    rate(two, "alone", "a", LABELS[0])
    change_headline(question=two, headline="icc2", note="Asked for.", pooled=False, by=lead)
    update_question(two.pk)
    rows = api_for(lead).get(f"/api/v1/projects/{project.pk}/agreement/trend/").json()["results"]
    assert {row["coefficient"] for row in rows} == {"krippendorff_alpha_interval"}


def test_what_stands_for_an_icc_of_three_over_time_is_said(
    project: Any, scores: Any, lead: Any, client_for: Any, api_for: Any, rate: Any, utc: Any
) -> None:
    question = scores
    for item in range(12):
        for rater in "abc":
            moment = utc(2026, 3 + item % 2, 3, 9)
            rate(question, f"i{item}", rater, LABELS[item % 4], rated_at=moment)
    update_question(question.pk)
    text = client_for(lead).get(f"/projects/{project.pk}/").content.decode()
    assert "ICC(A,1), absolute agreement of a period needs who rated what in it" in text
    rows = api_for(lead).get(f"/api/v1/projects/{project.pk}/agreement/trend/").json()["results"]
    assert {row["coefficient"] for row in rows} == {"krippendorff_alpha_interval"}
