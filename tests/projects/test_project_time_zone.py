"""Tests of the project's time zone on pages, around midnight and where the clocks change."""

from __future__ import annotations

import re

import pytest
import time_machine

from metrics.jobs.question_updates import update_question
from metrics.models import CountState
from projects.models import Item, Project
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

pytestmark = pytest.mark.django_db

# UTC time -> local time in Berlin. On 29 March 2026 at 01:00 UTC clocks go from 2 to 3, on 25
# October at 01:00 UTC from 3 to 2.
LOCAL_TIMES = {
    (2026, 3, 28, 22, 59): "2026-03-28 23:59 CET",
    (2026, 3, 28, 23, 1): "2026-03-29 00:01 CET",
    (2026, 3, 29, 0, 59): "2026-03-29 01:59 CET",
    (2026, 3, 29, 1, 0): "2026-03-29 03:00 CEST",
    (2026, 3, 29, 21, 59): "2026-03-29 23:59 CEST",
    (2026, 3, 29, 22, 1): "2026-03-30 00:01 CEST",
    (2026, 10, 24, 21, 59): "2026-10-24 23:59 CEST",
    (2026, 10, 25, 0, 30): "2026-10-25 02:30 CEST",
    (2026, 10, 25, 1, 30): "2026-10-25 02:30 CET",
    (2026, 10, 25, 22, 59): "2026-10-25 23:59 CET",
    (2026, 10, 25, 23, 1): "2026-10-26 00:01 CET",
}


@pytest.fixture
def timed_project(project, question, utc):
    """Return a project with an item for each time, rated by two raters."""
    Project.objects.filter(pk=project.pk).update(time_zone="Europe/Berlin")
    question = Project.objects.get(pk=project.pk).questions.get()
    raters = [project.raters.get(), project.raters.create(key="bea")]
    ratings = []
    for number, moment in enumerate(LOCAL_TIMES):
        item = Item.objects.create(project=project, key=f"i{number}")
        ratings += [
            Judgement(item.pk, rater.pk, number % 2, rated_at=utc(*moment)) for rater in raters
        ]
    with time_machine.travel(utc(2026, 11, 2), tick=False):
        record_ratings({question: ratings}, by=None, source="api")
        update_question(question.pk)
    return project


def test_item_page_shows_times_in_the_project_time_zone(timed_project, lead, client_for):
    client = client_for(lead)
    for number, local_time in enumerate(LOCAL_TIMES.values()):
        text = client.get(f"/projects/{timed_project.pk}/items/i{number}/").content.decode()
        assert f'title="{local_time}"' in text


def test_ratings_count_on_days_of_the_project_time_zone(timed_project, lead, client_for):
    rows = (
        client_for(lead)
        .get(f"/projects/{timed_project.pk}/charts/trend.json?period=day")
        .json()["rows"]
    )
    days = [local_time[:10] for local_time in LOCAL_TIMES.values()]
    assert {row["start"]: row["n_items"] for row in rows} == {
        day: days.count(day) for day in days if days.count(day) > 1
    }
    table = client_for(lead).get(f"/projects/{timed_project.pk}/?period=day").content.decode()
    assert re.findall(r'<th scope="row">(2026-\d\d-\d\d)</th>', table) == sorted(
        set(days), reverse=True
    )


@pytest.mark.parametrize(
    ("counted", "local_time"),
    [
        ((2026, 7, 1, 22, 30, 5), "2026-07-02 00:30 CEST"),
        ((2026, 10, 25, 0, 59, 59), "2026-10-25 02:59 CEST"),
        ((2026, 10, 25, 1, 0, 0), "2026-10-25 02:00 CET"),
    ],
)
def test_updated_time_names_the_time_zone(
    counted, local_time, timed_project, question, lead, client_for, utc
):
    CountState.objects.filter(question=question).update(counted_at=utc(*counted))
    client = client_for(lead)
    page = client.get(f"/projects/{timed_project.pk}/")
    assert f'title="{local_time}"' in page.content.decode()
    fragment_headers = {"X-Shown-Version": "", "X-Fragments": page.context["fragment_key"]}
    fragment = client.get(f"/projects/{timed_project.pk}/", headers=fragment_headers)
    assert f'title="{local_time}"' in fragment.content.decode()


@pytest.mark.parametrize(
    ("zone", "rated", "now", "today"),
    [
        # Before and after local midnight.
        ("Europe/Berlin", (2026, 3, 28, 22, 59), (2026, 3, 28, 23, 1), 0),
        ("Europe/Berlin", (2026, 3, 28, 23, 1), (2026, 3, 29, 21, 59), 1),  # a day of 23 hours
        ("Europe/Berlin", (2026, 10, 24, 22, 1), (2026, 10, 25, 22, 59), 1),  # a day of 25 hours
        ("Asia/Shanghai", (2026, 5, 3, 15, 59), (2026, 5, 3, 16, 1), 0),
        ("Asia/Shanghai", (2026, 5, 3, 16, 1), (2026, 5, 4, 15, 59), 1),
        ("America/St_Johns", (2026, 5, 4, 2, 29), (2026, 5, 4, 2, 31), 0),  # UTC-02:30
    ],
)
def test_today_is_a_day_of_the_project_time_zone(
    zone, rated, now, today, project, question, annotator, client_for, utc
):
    Project.objects.filter(pk=project.pk).update(time_zone=zone)
    item = Item.objects.create(project=project, key="i1")
    with time_machine.travel(utc(*rated), tick=False):
        record_ratings(
            {question: [Judgement(item.pk, project.raters.get().pk, 1)]},
            by=annotator,
            source="form",
        )
    with time_machine.travel(utc(*now), tick=False):
        text = client_for(annotator).get(f"/projects/{project.pk}/my-ratings/").content.decode()
    assert f"1 rated in total, {today} today." in text
