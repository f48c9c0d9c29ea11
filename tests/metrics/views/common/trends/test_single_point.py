"""A trend of one point: which period it is, and why there is no line."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.utils import timezone

from metrics import tasks
from ratings.models import ImportRun

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(question: Any, rate: Any, utc: Any, lead: Any, client_for: Any) -> Any:
    """Twelve items of one day, rated by two."""
    for number in range(12):
        for rater in "ab":
            label = "none" if number % 3 else "minor"
            rate(question, f"i{number}", rater, label, rated_at=utc(2026, 3, 11, 12))
    tasks.sweep_all()
    client = client_for(lead)

    def read(path: str) -> str:
        text = client.get(f"/projects/{question.project_id}/{path}").content.decode()
        return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split())

    return read


@pytest.mark.parametrize(
    ("period", "said", "line"),
    [
        ("day", "One point so far, 2026-03-11:", "ratings of another day"),
        ("week", "One point so far, the week of 2026-03-09:", "ratings of another week"),
        ("month", "One point so far, 2026-03:", "ratings of another month"),
    ],
)
@pytest.mark.parametrize("path", ["", "raters/a/"])
def test_one_point_names_its_period(
    page: Any, path: str, period: str, said: str, line: str
) -> None:
    text = page(f"{path}?period={period}")
    assert said in text
    assert f"A line begins with {line}." in text
    assert "A file came without times" not in text


def test_a_file_without_times_is_told_as_the_cause(page: Any, project: Any) -> None:
    told = "A file came without times, so its ratings count as made when it was imported."
    run = ImportRun.objects.create(
        project=project, file_name="x.csv", path="x", state="checked", summary={"untimed": 24}
    )
    assert told not in page("")  # it is not imported
    ImportRun.objects.filter(pk=run.pk).update(state="done", heartbeat_at=timezone.now())
    assert page("").count(told) == 1
    assert page("raters/a/").count(told) == 1
    ImportRun.objects.filter(pk=run.pk).update(summary={"untimed": 0})
    assert told not in page("")


def test_a_small_line_has_no_week_of_few_items(
    question: Any, rate: Any, utc: Any, lead: Any, client_for: Any
) -> None:
    """Their first items would make every rater rise or fall."""
    for week, n_items in enumerate((4, 12, 12)):
        for number in range(n_items):
            for rater in "ab":
                same = week and number % 4 == 0
                label = "none" if same or rater == "a" else "minor"
                moment = utc(2026, 3, 2 + 7 * week, 12)
                rate(question, f"{week}-{number}", rater, label, rated_at=moment)
    tasks.sweep_all()
    page = client_for(lead).get(f"/projects/{question.project_id}/").text
    raters = page.split('id="raters"', 1)[1].split("</section>", 1)[0]
    labels = re.findall(r'<svg class="spark"[^>]* aria-label="([^"]*)"', raters)
    assert len(labels) == 2
    for label in labels:
        assert label.endswith(", 2 weeks"), "who hears it is told what it rests on"
