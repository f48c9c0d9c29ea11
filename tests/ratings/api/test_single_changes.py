"""Change single items and raters by PATCH."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from agreement_site.models import AuditLogEntry
from projects.models import GoldAnswer, Item, ItemVersion, Project, Rater

Address = Callable[..., str]


def test_patch_of_an_item_changes_the_given_fields_only(
    api: APIClient, address: Address, stocked: Project
) -> None:
    path = address("items/i1/")
    changed = api.patch(path, {"attributes": {"lang": "en"}, "withdrawn": True}, format="json")
    assert changed.status_code == 200, changed.content
    assert changed.json() == api.get(path).json()
    assert (changed.json()["attributes"], changed.json()["withdrawn"]) == ({"lang": "en"}, True)
    assert (changed.json()["body"], changed.json()["version"]) == ({"text": "x"}, 1)

    changed = api.patch(path, {"body": {"text": "y"}, "gold": {"severity": "major"}}, format="json")
    assert changed.json()["gold"] == {"severity": "major"}
    assert (changed.json()["attributes"], changed.json()["version"]) == ({"lang": "en"}, 2)
    assert ItemVersion.objects.get().body == {"text": "x"}
    unchanged = api.patch(path, {}, format="json")
    assert unchanged.json() == changed.json()
    assert Item.objects.filter(project=stocked).count() == 5
    assert GoldAnswer.objects.count() == 1
    assert AuditLogEntry.objects.filter(action="items_upserted").count() == 2


def test_patch_of_a_rater_changes_the_given_fields_only(
    api: APIClient, address: Address, stocked: Project, lead: Any
) -> None:
    path = address("raters/ben/")
    changed = api.patch(path, {"group": "A", "username": lead.username}, format="json")
    assert changed.status_code == 200, changed.content
    assert changed.json() == api.get(path).json()
    assert (changed.json()["group"], changed.json()["username"]) == ("A", lead.username)
    changed = api.patch(path, {"paused": True, "name": "Ben"}, format="json")
    assert (changed.json()["paused"], changed.json()["group"]) == (True, "A")
    assert api.patch(path, {"paused": False}, format="json").json()["paused"] is False
    actions = list(AuditLogEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions[-2:] == ["rater_paused", "rater_resumed"]
    assert stocked.raters.count() == 3


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("items/i1/", {"key": "other"}, "key"),
        ("items/i1/", {"body": "text"}, "body"),
        ("items/i1/", {"body": None}, "body"),
        ("items/i1/", {"gold": {"severity": "nosuch"}}, "gold"),
        ("items/i1/", {"colour": "red"}, "colour"),
        ("items/i1/", {"withdrawn": "yes", "attributes": {}}, "withdrawn"),
        ("items/i1/", [{"withdrawn": True}], "body"),
        ("items/i1/", "text", "body"),
        ("raters/ben/", {"key": "other"}, "key"),
        ("raters/ben/", {"kind": "robot"}, "kind"),
        ("raters/ben/", {"model": "gpt"}, "model"),
        ("raters/ben/", {"username": "nobody"}, "username"),
        ("raters/ben/", {"paused": 1, "group": "A"}, "paused"),
        ("raters/ben/", {"paused": True, "group": " A"}, "group"),
        ("raters/ben/", [], "body"),
    ],
)
def test_invalid_patch_names_the_field_and_changes_nothing(
    path: str,
    body: Any,
    field: str,
    api: APIClient,
    address: Address,
    stocked: Project,
    refused: Callable[..., dict[str, Any]],
) -> None:
    error = refused(api.patch, address(path), body)
    assert field in error["fields"]
    problem = api.patch(address(path), body, format="json").json()
    assert {row["row"] for row in problem["errors"]} == {None}


def test_patch_creates_nothing(
    api: APIClient, address: Address, stocked: Project, refused: Callable[..., dict[str, Any]]
) -> None:
    for path in ("items/absent/", "raters/absent/"):
        refused(api.patch, address(path), {}, status=404)
    assert Rater.objects.filter(key="absent").count() == 0
