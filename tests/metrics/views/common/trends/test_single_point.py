"""A trend of a single point: its period, and the reason for the missing line."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.utils import timezone

from metrics import tasks
from ratings.models import ImportRun, Revision

pytestmark = pytest.mark.django_db


@pytest.fixture
def get_page_text(question: Any, rate: Any, utc: Any, lead: Any, client_for: Any) -> Any:
    """Create twelve items of one day, rated by two; return a function that gets a page's text."""
    for number in range(12):
        for rater in "ab":
            label = "none" if number % 3 else "minor"
            rate(question, f"i{number}", rater, label, rated_at=utc(2026, 3, 11, 12))
    tasks.sweep_all()
    client = client_for(lead)

    def get_text(path: str) -> str:
        text = client.get(f"/projects/{question.project_id}/{path}").content.decode()
        return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split())

    return get_text


@pytest.mark.parametrize(
    ("period", "period_text"),
    [
        ("day", "One point so far, 2026-03-11:"),
        ("week", "One point so far, the week of 2026-03-09:"),
        ("month", "One point so far, 2026-03:"),
    ],
)
@pytest.mark.parametrize("path", ["", "raters/a/"])
def test_single_point_shows_its_period(
    get_page_text: Any, path: str, period: str, period_text: str
) -> None:
    text = get_page_text(f"{path}?period={period}")
    assert period_text in text
    assert "A trend needs at least two points." in text
    assert "Ratings without a time" not in text


@pytest.mark.parametrize("path", ["", "raters/a/"])
def test_single_point_has_no_choice_of_period(get_page_text: Any, path: str) -> None:
    assert "Day Week Month" not in get_page_text(path)
    assert "Day Week Month" in get_page_text(f"{path}?period=month")  # the way back


def test_two_days_of_one_week_are_a_trend(
    get_page_text: Any, question: Any, rate: Any, utc: Any
) -> None:
    """Regression: the page showed the week, one point, and offered the days."""
    for number in range(12, 24):
        for rater in "ab":
            rate(question, f"i{number}", rater, "none", rated_at=utc(2026, 3, 12, 12))
    tasks.sweep_all()
    text = get_page_text("")
    assert "One point so far" not in text
    assert "Day Week Month" in text


def test_file_without_times_is_shown_as_reason(get_page_text: Any, project: Any) -> None:
    message = "Ratings without a time are dated to their import."
    run = ImportRun.objects.create(
        project=project,
        file_name="x.csv",
        path="x",
        state="checked",
        summary={"n_without_time": 24},
    )
    assert message not in get_page_text("")  # the file has not been imported
    ImportRun.objects.filter(pk=run.pk).update(state="done", heartbeat_at=timezone.now())
    assert get_page_text("").count(message) == 1
    assert message not in get_page_text("raters/a/")  # the ratings of a came without a file
    Revision.objects.filter(rating__rater__key="a").update(source=Revision.Source.IMPORT)
    assert get_page_text("raters/a/").count(message) == 1
    assert message not in get_page_text("raters/b/")
    ImportRun.objects.filter(pk=run.pk).update(summary={"n_without_time": 0})
    assert message not in get_page_text("")


def test_sparkline_omits_weeks_of_few_items(
    question: Any, rate: Any, utc: Any, lead: Any, client_for: Any
) -> None:
    """A rater's first few items would make every sparkline rise or fall."""
    for week, n_items in enumerate((4, 12, 12)):
        for number in range(n_items):
            for rater in "ab":
                is_equal = week and number % 4 == 0
                label = "none" if is_equal or rater == "a" else "minor"
                moment = utc(2026, 3, 2 + 7 * week, 12)
                rate(question, f"{week}-{number}", rater, label, rated_at=moment)
    tasks.sweep_all()
    html = client_for(lead).get(f"/projects/{question.project_id}/statistics/").text
    raters = html.split('id="raters"', 1)[1].split("</section>", 1)[0]
    labels = re.findall(r'<svg class="spark"[^>]* aria-label="([^"]*)"', raters)
    assert len(labels) == 2
    for label in labels:
        assert label.endswith(", 2 weeks"), "the accessible label names the number of weeks"
