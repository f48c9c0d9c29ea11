"""Reports on pages: a lead requests one, a worker computes it, a viewer reads and downloads it."""

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
def rated_question(question: Any, rate: Any) -> Any:
    for item in range(12):
        for index, rater in enumerate("abc"):
            rate(question, f"i{item}", rater, LABELS[(item + (item % 5 == index)) % 4])
    return question


def request_report(client: Any, question: Any, **fields: str) -> str:
    """Request a report and return its address."""
    address = f"/projects/{question.project_id}/reports/?question={question.key}"
    response = client.post(address, fields)
    assert response.status_code == 302
    return str(response["Location"])


def test_report_is_computed_by_worker_and_shared(
    rated_question: Any, lead: Any, viewer: Any, client_for: Any
) -> None:
    address = request_report(client_for(lead), rated_question)
    client = client_for(viewer)
    pending_page = client.get(address)
    assert "Computing …" in pending_page.content.decode()
    assert client.get(address, headers={"X-Shown-Version": "pending"}).status_code == 204
    assert client.get(f"{address[:-1]}.json").status_code == 404
    tasks.sweep_all()
    assert client.get(address, headers={"X-Shown-Version": "pending"})["HX-Refresh"] == "true"
    text = client.get(address).content.decode()
    for heading in ("What this does not show", "For a methods section", "Fleiss 1971"):
        assert heading in text
    assert "items, not 12." in text
    facts = Report.objects.get().facts
    assert facts
    assert facts["hash"] in text
    assert client.post("/".join(address.split("/")[:4]) + "/").status_code == 403


def test_report_can_be_downloaded(rated_question: Any, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    address = request_report(client, rated_question)
    tasks.sweep_all()
    facts = json.loads(client.get(f"{address[:-1]}.json").content)
    stored_facts = Report.objects.get().facts
    assert stored_facts and facts["headline"]["value"] == stored_facts["headline"]["value"]
    response = client.get(f"{address[:-1]}.md")
    assert response["Content-Type"] == "text/markdown; charset=utf-8"
    text = response.content.decode()
    assert text.startswith("# Agreement on “Which severity?”")
    assert facts["methods"]["en"].split(" (")[0] in text
    assert client.get(f"{address[:-1]}.pdf").status_code == 404


def test_past_moment_is_in_time_zone_of_project(
    rated_question: Any, lead: Any, client_for: Any
) -> None:
    rated_question.project.time_zone = "Asia/Shanghai"
    rated_question.project.save()
    client = client_for(lead)
    request_report(client, rated_question, as_of="2020-01-02T08:00:00")
    assert Report.objects.get().as_of.isoformat() == "2020-01-02T00:00:00+00:00"
    refused_response = client.post(
        f"/projects/{rated_question.project_id}/reports/", {"as_of": "2999-01-01T00:00"}
    )
    assert refused_response.status_code == 400
    assert "in the future" in refused_response.content.decode()
    assert (
        'datetime="2020-01-02T08:00:00+08:00"'
        in client.get(refused_response.request["PATH_INFO"]).content.decode()
    )


def test_report_before_the_first_item_claims_no_coverage(
    rated_question: Any, lead: Any, client_for: Any
) -> None:
    rated_question.project.items.update(created_at="2026-02-01T00:00Z")
    client = client_for(lead)
    address = request_report(client, rated_question, as_of="2020-01-02T08:00")
    tasks.sweep_all()
    text = client.get(address).content.decode()
    assert "No ratings yet." in text
    assert "Each item has two or more ratings" not in text
    assert "Ratings recorded by then" in client.get("/".join(address.split("/")[:4]) + "/").text


def test_report_of_another_project_is_404(
    rated_question: Any, lead: Any, make_project: Any, client_for: Any
) -> None:
    client = client_for(lead)
    number = request_report(client, rated_question).rstrip("/").rpartition("/")[2]
    other = make_project("Other", created_by=lead)
    Member.objects.create(project=other, user=lead, role=Member.Role.LEAD)
    assert client.get(f"/projects/{other.pk}/reports/{number}/").status_code == 404
    assert client.get(f"/projects/{rated_question.project_id}/reports/{2**70}/").status_code == 404
