"""Filter presets: frequent date ranges with one click."""

from __future__ import annotations

from typing import Any

import pytest
import time_machine

from metrics import tasks
from metrics.jobs.question_updates import update_question
from projects.services.projects import change_project

pytestmark = pytest.mark.django_db


def test_presets_use_time_zone_of_project(
    project: Any, question: Any, client_for: Any, lead: Any
) -> None:
    project.time_zone = "Pacific/Auckland"  # it is already the 3rd there
    project.save()
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False):
        change_project(project=project, by=lead, guidelines="Look.")
        change_project(project=project, by=lead, guidelines="Look twice.")
        page = client_for(lead).get(f"/projects/{project.pk}/")
        # That day has ratings under both versions.
        assert [preset.label for preset in page.context["filter_bar"].presets] == [
            "7 days",
            "30 days",
        ]
    with time_machine.travel("2026-03-02T12:00:00Z", tick=False):
        page = client_for(lead).get(
            f"/projects/{project.pk}/", {"from": "2026-02-25", "to": "2026-03-01", "page": "1"}
        )
        presets = page.context["filter_bar"].presets
    assert [(preset.label, preset.url.partition("?")[2]) for preset in presets] == [
        ("7 days", "from=2026-02-25"),
        ("30 days", "from=2026-02-02"),
        ("since guidelines 2", "from=2026-03-03"),
    ]
    assert [preset.selected for preset in presets] == [False, False, False]  # `to` is set too
    with time_machine.travel("2026-03-02T12:00:00Z", tick=False):
        page = client_for(lead).get(presets[0].url)
    assert [preset.selected for preset in page.context["filter_bar"].presets] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("query", ["from=2026-02-24", "from=2026-02-20&kind=model"])
def test_empty_filter_shows_date_of_newest_rating(
    query: str, question: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    with time_machine.travel("2016-05-04T12:00:00Z", tick=False):
        rate(question, "i1", "a", "none")
        rate(question, "i1", "b", "none")
        update_question(question.pk)
    client = client_for(lead)
    with time_machine.travel("2026-03-02T12:00:00Z", tick=False):
        address = f"/projects/{question.project_id}/?{query}"
        client.get(address)
        tasks.sweep_all()
        text = client.get(address).content.decode()
    assert "No ratings match. Newest: 2016-05-04." in text
    assert 'id="headline"' not in text


def test_filter_with_ratings_shows_their_results(
    question: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    rate(question, "i1", "a", "none")
    update_question(question.pk)
    client = client_for(lead)
    address = f"/projects/{question.project_id}/?from=2016-01-01"
    client.get(address)
    tasks.sweep_all()
    text = client.get(address).content.decode()
    assert 'id="headline"' in text
    assert "No ratings" not in text


def test_recent_weeks_end_today(question: Any, rate: Any, client_for: Any, lead: Any) -> None:
    """An old project has no sparkline; both overviews show the date of its newest rating."""
    with time_machine.travel("2016-05-03T12:00:00Z", tick=False):
        for rater, label in zip("ab", ("none", "major"), strict=True):
            rate(question, "i1", rater, label)
        update_question(question.pk)
    question.project.questions.create(key="tone", text="Which tone?", position=1)
    client = client_for(lead)
    pages = "/", f"/projects/{question.project_id}/"
    for address in pages:
        text = client.get(address).content.decode()
        assert "newest: 2016-05-03" in text, address
    for rater, label in zip("ab", ("none", "none"), strict=True):
        rate(question, "i2", rater, label)
    update_question(question.pk)
    for address in pages:
        assert "newest:" not in client.get(address).content.decode(), address
