"""Test the API for programs that poll: ETags, times of changes, filters, and the index."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from metrics.filtered import filtered_jobs
from metrics.jobs.question_updates import update_question
from projects.models import Item, Project, Question, Rater
from quality.consensus import recomputation
from quality.models import Alert, AlertStep, ItemLabel

Address = Callable[..., str]
DAY = datetime.timedelta(days=1)


@pytest.mark.parametrize("path", ["", "agreement/", "ratings/", "items/", "raters/", "labels/"])
def test_unchanged_response_is_not_sent_again(
    path: str, api: Any, address: Address, question: Question, rate: Any
) -> None:
    rate(question, "i1", "ann", "major")
    rate(question, "i1", "ben", "minor")
    update_question(question.pk)
    recomputation.recompute_question(question.pk)
    etag = api.get(address(path))["ETag"]
    again = api.get(address(path), headers={"If-None-Match": etag})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", etag)
    api.patch(address(), {"name": "Renamed"}, format="json")
    api.post(address("items/"), {"key": "i9", "body": {"text": "x"}}, format="json")
    api.post(address("raters/"), {"key": "new"}, format="json")
    rate(question, "i2", "ann", "none")
    update_question(question.pk)
    recomputation.recompute_question(question.pk)
    changed = api.get(address(path), headers={"If-None-Match": etag})
    assert changed.status_code == 200
    assert changed["ETag"] != etag


def test_errors_and_writes_have_no_etag(api: Any, address: Address, project: Project) -> None:
    assert "ETag" not in api.get(address("absent/"))
    assert "ETag" not in api.patch(address(), {"overlap": 2}, format="json")


def test_alerts_since_a_time(
    api: Any, address: Address, question: Question, make_alert: Any
) -> None:
    """An alert is listed if it was raised, or its state changed, since then."""
    now = timezone.now()
    raters = [
        Rater.objects.get_or_create(project=question.project, key=key)[0]
        for key in ("ann", "ben", "cleo")
    ]
    alerts = [make_alert(question, rater) for rater in raters]
    for alert, age in zip(alerts, (9, 5, 1), strict=True):
        Alert.objects.filter(pk=alert.pk).update(created_at=now - age * DAY)
    AlertStep.objects.create(alert=alerts[0], state="acknowledged", at=now - 2 * DAY)

    def list_ids(days: int) -> list[int]:
        since = (now - days * DAY).isoformat().replace("+00:00", "Z")
        rows = api.get(address(f"alerts/?since={since}")).json()["results"]
        return [row["id"] for row in rows]

    first, second, third = (alert.pk for alert in alerts)
    assert (list_ids(10), list_ids(3), list_ids(0)) == ([first, second, third], [first, third], [])
    assert api.get(address("alerts/?since=yesterday")).status_code == 400


def test_labels_since_a_time(api: Any, address: Address, question: Question, rate: Any) -> None:
    for item in ("i1", "i2"):
        rate(question, item, "ann", "major")
    recomputation.recompute_question(question.pk)
    now = timezone.now()
    ItemLabel.objects.filter(item__key="i1").update(computed_at=now - 5 * DAY)
    since = (now - DAY).isoformat().replace("+00:00", "Z")
    rows = api.get(address(f"labels/?since={since}")).json()["results"]
    assert [row["item"] for row in rows] == ["i2"]
    file = api.get(address(f"labels/?since={since}&format=jsonl"))
    assert len(b"".join(file.streaming_content).splitlines()) == 1


def test_lists_are_filtered(
    api: Any, address: Address, project: Project, question: Question, rate: Any
) -> None:
    rate(question, "i1", "ann", "major")
    rate(question, "i2", "ann", "none")
    Rater.objects.create(project=project, key="gpt", kind="model", group="vendor")

    def list_values(path: str, field: str) -> list[Any]:
        response = api.get(path)
        assert response.status_code == 200, response.content
        return [row[field] for row in response.json()["results"]]

    assert list_values(address("raters/?kind=model"), "key") == ["gpt"]
    assert list_values(address("raters/?group=vendor"), "key") == ["gpt"]
    assert list_values(address("ratings/?label=major"), "item") == ["i1"]
    assert list_values(f"/api/v1/projects/?name={project.name}", "id") == [project.pk]
    assert list_values("/api/v1/projects/?name=absent", "id") == []
    assert list_values("/api/v1/projects/?archived=true", "id") == []


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("raters/?kind=robot", "kind"),
        ("ratings/?label=absent", "label"),
        ("ratings/?page_size=1001", "page_size"),
        ("ratings/?page_size=99999999999", "page_size"),
        ("agreement/pair/?rater_a=ann&rater_b=ann", "rater_b"),
        ("items/?attributes[7]=x", "attribute.7"),
    ],
)
def test_invalid_filter_is_named(
    path: str, field: str, api: Any, address: Address, question: Question, rate: Any
) -> None:
    rate(question, "i1", "ann", "major")
    response = api.get(address(path))
    assert response.status_code == 400
    assert field in response.json()["error"]["fields"]


def test_attributes_are_filtered_as_an_object(
    api: Any, address: Address, question: Question, rate: Any
) -> None:
    """``attributes[lang]=en``, which generated clients can write, is as ``item.lang=en``."""
    for item, lang in (("i1", "en"), ("i2", "de"), ("i3", "en")):
        rate(question, item, "ann", "major")
        rate(question, item, "ben", "minor")
        Item.objects.filter(key=item).update(attributes={"lang": lang})
    items = api.get(address("items/?attributes[lang]=en")).json()["results"]
    assert [item["key"] for item in items] == ["i1", "i3"]
    update_question(question.pk)
    bodies = []
    for name in ("attributes[lang]", "item.lang"):
        path = address(f"agreement/?{name}=en")
        assert api.get(path).status_code in (200, 202)
        filtered_jobs.FILTERED_RESULT_JOB.sweep()
        bodies.append(api.get(path).json())
    assert bodies[0]["items"]["rated"] == 2
    assert api.get(address("agreement/?attributes[absent]=x")).status_code == 400
    assert bodies[0] == bodies[1]


def test_index_leads_to_everything(api: Any, project: Project) -> None:
    response = Client().get("/api/v1/")
    assert response.status_code == 200
    addresses = response.json()
    assert set(addresses) == {"projects", "events", "webhooks", "schema", "reference"}
    assert api.get(addresses["projects"]).json()["results"][0]["id"] == project.pk
    assert api.get(addresses["schema"]).status_code == 200


def test_schema_has_an_area_for_each_operation(client: Client) -> None:
    """Generated clients have one module for each tag, and required bodies."""
    schema = client.get("/api/v1/schema/").json()
    operations = [
        operation for operations in schema["paths"].values() for operation in operations.values()
    ]
    tags = {tag for operation in operations for tag in operation["tags"]}
    assert {"projects", "items", "ratings", "agreement", "labels", "alerts", "gold"} <= tags
    for operation in operations:
        assert operation.get("requestBody", {"required": True})["required"]
        assert all(response["description"] for response in operation["responses"].values())
    assert schema["servers"]
    assert schema["info"]["license"]["name"] == "MIT"
