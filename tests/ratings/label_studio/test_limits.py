"""Tests that what Label Studio sends is limited before it is parsed or searched."""

from __future__ import annotations

import json
from typing import Any

import pytest

from events.webhooks.http_client import Response
from ratings.label_studio import client as label_studio_client
from ratings.label_studio import remote_tasks
from ratings.label_studio.client import LabelStudioError

STARS = {"type": "Rating"}


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"[" + b"[]," * 1_999_999 + b"[]]", "too_large"), (b"[" * 101 + b"]" * 101, "no_json")],
    ids=["many", "deep"],
)
def test_response_of_many_values_is_never_parsed(
    content: bytes, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ratings.label_studio.client.json", None)
    with pytest.raises(LabelStudioError) as error_info:
        label_studio_client._parse_body(Response(200, {}, content, ""))
    assert error_info.value.kind == kind


def test_long_form_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    form = "x" * (label_studio_client.MAX_FORM_LENGTH + 1)
    response = Response(200, {}, json.dumps({"label_config": form}).encode(), "")
    client = label_studio_client.Client("https://example.org", "token")
    monkeypatch.setattr(client, "_resolve_address", lambda: (remote_target(), "192.0.2.1"))
    monkeypatch.setattr("events.webhooks.http_client.send", lambda *_, **__: response)
    with pytest.raises(LabelStudioError) as error_info:
        client.get_project(1)
    assert error_info.value.kind == "too_large"


def remote_target() -> Any:
    return label_studio_client.http_client.parse_url("https://example.org", allows_private=False)


def test_form_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched_lengths: list[int] = []
    original_search = remote_tasks.re.search

    def search(pattern: str, text: str) -> Any:
        searched_lengths.append(len(text))
        return original_search(pattern, text)

    monkeypatch.setattr("ratings.label_studio.remote_tasks.re.search", search)
    form = "<Rating " * 10_000 + '<Rating name="a" maxRating="3"/>' * 2
    controls = dict.fromkeys(("a", *map(str, range(1000))), STARS)
    declared = remote_tasks.get_declared_labels(form, controls)
    assert sum(searched_lengths) < len(form)
    assert declared["a"] == ["1", "2", "3"] and declared["7"] == ["1", "2", "3", "4", "5"]


def test_ratings_of_a_form_are_found_by_name() -> None:
    form = (
        '<View><Rating toName="t" name="a&amp;b" maxRating="4"/><Rating maxRating="7" name="c">'
        '</Rating><Rating name="d"/><RatingBox name="e" maxRating="9"/></View>'
    )
    declared = remote_tasks.get_declared_labels(form, dict.fromkeys(("a&b", "c", "d", "e"), STARS))
    assert [len(labels) for labels in declared.values()] == [4, 7, 5, 5]
