"""Reports in the browser: a lead makes one, a worker computes it, a viewer reads it and takes it
along."""

from __future__ import annotations

import json
from typing import Any

import pytest

from metrics import tasks
from metrics.models import Report
from projects.models import Member

pytestmark = pytest.mark.django_db
LABELS = ("none", "minor", "major", "critical")


@pytest.fixture
def rated(question: Any, rate: Any) -> Any:
    for item in range(12):
        for place, rater in enumerate("abc"):
            rate(question, f"i{item}", rater, LABELS[(item + (item % 5 == place)) % 4])
    return question


def made(client: Any, question: Any, **sent: str) -> str:
    address = f"/projects/{question.project_id}/reports/?question={question.key}"
    answer = client.post(address, sent)
    assert answer.status_code == 302
    return str(answer["Location"])


def test_a_report_waits_for_a_worker_and_is_shared(
    rated: Any, lead: Any, viewer: Any, client_for: Any
) -> None:
    address = made(client_for(lead), rated)
    client = client_for(viewer)
    waiting = client.get(address)
    assert "appears here by itself" in waiting.content.decode()
    assert client.get(address, headers={"X-Shown": "waiting"}).status_code == 204
    assert client.get(f"{address[:-1]}.json").status_code == 404
    tasks.sweep_all()
    assert client.get(address, headers={"X-Shown": "waiting"})["HX-Refresh"] == "true"
    text = client.get(address).content.decode()
    for told in ("What must not be claimed from it", "For a methods section", "Fleiss 1971"):
        assert told in text
    assert "it rests on 12 items" in text
    facts = Report.objects.get().facts
    assert facts
    assert facts["hash"] in text
    assert client.post("/".join(address.split("/")[:4]) + "/").status_code == 403


def test_a_report_is_taken_along(rated: Any, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    address = made(client, rated)
    tasks.sweep_all()
    facts = json.loads(client.get(f"{address[:-1]}.json").content)
    stored = Report.objects.get().facts
    assert stored and facts["headline"]["value"] == stored["headline"]["value"]
    answer = client.get(f"{address[:-1]}.md")
    assert answer["Content-Type"] == "text/markdown; charset=utf-8"
    text = answer.content.decode()
    assert text.startswith("# Agreement on “Which severity?”")
    assert facts["methods"]["en"].split(" (")[0] in text
    assert client.get(f"{address[:-1]}.pdf").status_code == 404


def test_a_past_moment_is_one_of_the_project_s_clock(
    rated: Any, lead: Any, client_for: Any
) -> None:
    rated.project.time_zone = "Asia/Shanghai"
    rated.project.save()
    client = client_for(lead)
    made(client, rated, as_of="2020-01-02T08:00:00")
    assert Report.objects.get().as_of.isoformat() == "2020-01-02T00:00:00+00:00"
    ahead = client.post(f"/projects/{rated.project_id}/reports/", {"as_of": "2999-01-01T00:00"})
    assert ahead.status_code == 400
    assert "yet to come" in ahead.content.decode()
    assert (
        'datetime="2020-01-02T08:00:00+08:00"'
        in client.get(ahead.request["PATH_INFO"]).content.decode()
    )


def test_a_report_of_another_project_is_not_there(
    rated: Any, lead: Any, make_project: Any, client_for: Any
) -> None:
    client = client_for(lead)
    number = made(client, rated).rstrip("/").rpartition("/")[2]
    other = make_project("Other", created_by=lead)
    Member.objects.create(project=other, user=lead, role=Member.Role.LEAD)
    assert client.get(f"/projects/{other.pk}/reports/{number}/").status_code == 404
    assert client.get(f"/projects/{rated.project_id}/reports/{2**70}/").status_code == 404
