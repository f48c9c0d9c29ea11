"""Another version of a model's prompt is another rater, with a line of its own beside the others."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.jobs.question_updates import update_question
from projects.models import Rater

pytestmark = pytest.mark.django_db


@pytest.fixture
def judged(question: Any, rate: Any, utc: Any) -> Any:
    """Two people over three weeks; the judge's first version in the first, its second after."""
    for version in ("v1", "v2"):
        Rater.objects.create(
            project=question.project,
            key=f"gpt@{version}",
            kind="model",
            model="gpt",
            prompt_version=version,
        )
    for week in range(3):
        for number in range(12):
            label = ("none", "minor", "major")[number % 3]
            moment = utc(2026, 3, 3 + 7 * week, 9)
            for rater in ("a", "b", "gpt@v2" if week else "gpt@v1"):
                rate(question, f"w{week}-{number}", rater, label, rated_at=moment)
    update_question(question.pk)
    return question


def test_each_version_is_a_line(judged: Any, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    address = f"/projects/{judged.project_id}"
    page = client.get(f"{address}/raters/gpt@v2/").content.decode()
    assert "Versions of gpt" in page
    assert f"{address}/raters/gpt%40v1/" in page or f"{address}/raters/gpt@v1/" in page
    made = client.get(f"{address}/charts/model-versions.json?rater=gpt@v2").json()
    starts = [(row["version"], row["start"]) for row in made["rows"]]
    assert starts == [("v1", "2026-03-02"), ("v2", "2026-03-09"), ("v2", "2026-03-16")]
    assert {row["value"] for row in made["rows"]} == {1.0}
    person = client.get(f"{address}/raters/a/").content.decode()
    assert "Versions of" not in person


def test_a_rating_carries_its_model(judged: Any, lead: Any, api_for: Any, client_for: Any) -> None:
    answer = api_for(lead).get(f"/api/v1/projects/{judged.project_id}/ratings/?item=w0-0").json()
    told = {row["rater"]: (row["model"], row["prompt_version"]) for row in answer["results"]}
    assert told == {"a": ("", ""), "b": ("", ""), "gpt@v1": ("gpt", "v1")}
    page = client_for(lead).get(f"/projects/{judged.project_id}/items/w0-0/").content.decode()
    assert "gpt · v1" in page
