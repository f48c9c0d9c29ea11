"""The page that compares agreement under the versions of the guidelines, through HTTP."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.utils import timezone

from metrics.filtered import filtered_jobs
from metrics.jobs.question_updates import update_question
from metrics.views.changes.views import VersionAgreement, list_effects
from projects.models import GuidelineVersion, Project, Question
from tests.cast import rate_many

pytestmark = pytest.mark.django_db

POLL_HEADERS = {"X-Shown-Version": "pending"}  # polling of an open page


def get_time(days_ago: float) -> datetime.datetime:
    return timezone.now() - datetime.timedelta(days=days_ago)


def create_version(project: Project, number: int, days_ago: float) -> None:
    GuidelineVersion.objects.create(
        project=project, number=number, text=f"text {number}", created_at=get_time(days_ago)
    )


def rate_days(question: Question, days: range, *, error_rate: float, seed: int) -> None:
    """Record 20 items a day by three raters who choose another label with the error rate."""
    labels = list(question.categories.values_list("label", flat=True).order_by("position"))
    rng = np.random.default_rng(seed)
    for day in days:
        ratings = []
        for item in range(20):
            truth = int(rng.integers(len(labels)))
            for rater in ("ann", "ben", "cleo"):
                is_wrong = rng.random() < error_rate
                code = int(rng.integers(len(labels))) if is_wrong else truth
                ratings.append((f"d{day}-i{item}", rater, labels[code]))
        rate_many(question, ratings, rated_at=get_time(day))


def show_page(client: Client, project: Project) -> str:
    """Open the page, let the worker compute, and return the text of the page."""
    address = f"/projects/{project.pk}/guidelines/effect/"
    assert "Computing …" in client.get(address).text
    assert client.get(address, headers=POLL_HEADERS).status_code == 204
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    assert client.get(address, headers=POLL_HEADERS)["HX-Refresh"] == "true"
    return " ".join(client.get(address).text.split())


@pytest.mark.parametrize(
    ("later_error_rate", "expected"),
    [(0.1, "Agreement changed by +"), (0.5, "No clear change"), (0.95, "Agreement changed by -")],
)
def test_change_is_named_only_where_it_is_clear(
    question: Question, lead: Any, client_for: Any, later_error_rate: float, expected: str
) -> None:
    project = question.project
    create_version(project, 1, 20)
    create_version(project, 2, 10)
    rate_days(question, range(11, 20), error_rate=0.5, seed=1)
    rate_days(question, range(1, 10), error_rate=later_error_rate, seed=2)
    update_question(question.pk)
    client = client_for(lead)
    page = show_page(client, project)
    assert expected in page
    sentences = ("Agreement changed by +", "No clear change", "Agreement changed by -")
    assert sum(sentence in page for sentence in sentences) == 1
    (effect,) = client.get(f"/projects/{project.pk}/guidelines/effect/").context["effects"]
    assert effect.low < effect.change < effect.high


def test_a_change_that_one_of_many_shows_by_chance_is_not_clear() -> None:
    """A change of 2.2 standard errors is clear alone, and not as one of five."""

    def list_clear_changes(values: list[float]) -> list[bool]:
        agreements = [
            VersionAgreement(
                GuidelineVersion(number=number),
                datetime.date(2026, 1, 1),
                None,
                "fleiss_kappa",
                {"value": value, "low": value - 0.1, "high": value + 0.1},
                is_pending=False,
            )
            for number, value in enumerate(values, start=1)
        ]
        return [effect.is_clear for effect in list_effects(agreements)]

    assert list_clear_changes([0.5, 0.66]) == [True]
    assert list_clear_changes([0.5, 0.66, 0.6, 0.6, 0.6, 0.6]) == [False] * 5
    assert list_clear_changes([0.5, 0.5, 0.5, 0.75, 0.75, 0.5]) == [
        False, False, True, False, True
    ]  # fmt: skip


def test_day_of_the_change_is_left_out(question: Question, lead: Any, client_for: Any) -> None:
    """Ratings of that day belong to neither version."""
    project = question.project
    create_version(project, 1, 20)
    create_version(project, 2, 10)
    rate_days(question, range(8, 13), error_rate=0.3, seed=3)
    update_question(question.pk)
    client = client_for(lead)
    show_page(client, project)
    response = client.get(f"/projects/{project.pk}/guidelines/effect/")
    n_items = [agreement.estimate["n_items"] for agreement in response.context["agreements"]]
    assert n_items == [40, 40]  # of five days with 20 items each


def test_versions_of_one_day_have_no_days(question: Question, lead: Any, client_for: Any) -> None:
    create_version(question.project, 1, 0.0001)
    create_version(question.project, 2, 0)
    page = client_for(lead).get(
        f"/projects/{question.project_id}/guidelines/effect/?csv=agreements-title"
    )
    rows = [row.split(",") for row in page.content.decode("utf-8-sig").splitlines()]
    versions = [row[1:3] for row in rows if row[0].startswith("Version ")]
    assert versions == [["no whole day", ""]] * 2


def test_ratings_before_the_first_version_have_their_own_row(
    question: Question, lead: Any, client_for: Any
) -> None:
    """Ratings older than the guidelines are not those under version 1."""
    project = question.project
    create_version(project, 1, 10)
    rate_days(question, range(8, 13), error_rate=0.3, seed=5)
    update_question(question.pk)
    client = client_for(lead)
    assert "before version 1" in show_page(client, project)
    response = client.get(f"/projects/{project.pk}/guidelines/effect/")
    rows = [(row.version, row.estimate["n_items"]) for row in response.context["agreements"]]
    assert rows == [(project.guideline_versions.get(), 40), (None, 40)]
    assert response.context["effects"] == []


def test_version_without_ratings_is_not_compared(
    question: Question, lead: Any, client_for: Any
) -> None:
    project = question.project
    create_version(project, 1, 20)
    create_version(project, 2, 1)
    rate_days(question, range(3, 6), error_rate=0.3, seed=4)
    update_question(question.pk)
    assert "A comparison needs two versions with items" in show_page(client_for(lead), project)


def test_project_without_guidelines_says_so(question: Question, lead: Any, client_for: Any) -> None:
    page = client_for(lead).get(f"/projects/{question.project_id}/guidelines/effect/")
    assert page.status_code == 200 and "There are no guidelines yet" in page.text


def test_annotators_may_not_open_it(question: Question, annotator: Any, client_for: Any) -> None:
    response = client_for(annotator).get(f"/projects/{question.project_id}/guidelines/effect/")
    assert response.status_code == 403
