"""Another prompt version of a model is another rater with its own line in the chart."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.jobs.question_updates import update_question
from projects.models import Rater

pytestmark = pytest.mark.django_db


@pytest.fixture
def judged_question(question: Any, rate: Any, utc: Any) -> Any:
    """Return a question rated by two people over three weeks, and by two versions of a model.

    The first version rated in the first week, the second one later.
    """
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


def test_each_version_is_a_line(judged_question: Any, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    address = f"/projects/{judged_question.project_id}"
    page = client.get(f"{address}/raters/gpt@v2/").content.decode()
    assert "Versions of gpt" in page
    assert f"{address}/raters/gpt%40v1/" in page or f"{address}/raters/gpt@v1/" in page
    chart = client.get(f"{address}/charts/model-versions.json?rater=gpt@v2").json()
    starts = [(row["version"], row["start"]) for row in chart["rows"]]
    assert starts == [("v1", "2026-03-02"), ("v2", "2026-03-09"), ("v2", "2026-03-16")]
    assert {row["value"] for row in chart["rows"]} == {1.0}
    person_page = client.get(f"{address}/raters/a/").content.decode()
    assert "Versions of" not in person_page


def test_rating_has_model_and_prompt_version(
    judged_question: Any, lead: Any, api_for: Any, client_for: Any
) -> None:
    response = (
        api_for(lead)
        .get(f"/api/v1/projects/{judged_question.project_id}/ratings/?item=w0-0")
        .json()
    )
    versions_by_rater = {
        row["rater"]: (row["model"], row["prompt_version"]) for row in response["results"]
    }
    assert versions_by_rater == {"a": ("", ""), "b": ("", ""), "gpt@v1": ("gpt", "v1")}
    page = (
        client_for(lead).get(f"/projects/{judged_question.project_id}/items/w0-0/").content.decode()
    )
    assert "gpt · v1" in page
