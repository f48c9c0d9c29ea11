"""Items and raters through the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from rest_framework.test import APIClient

from projects.models import GoldAnswer, Item, ItemVersion, Member, Project, Rater
from tests.query_counts import journeys

Address = Callable[..., str]
Refused = Callable[..., dict[str, Any]]
World = Callable[[], dict[str, Any]]


def counts(created: int = 0, changed: int = 0, unchanged: int = 0) -> dict[str, int]:
    return {"created": created, "changed": changed, "unchanged": unchanged}


@pytest.fixture
def put(api: APIClient, address: Address) -> Callable[..., dict[str, Any]]:
    def do(tail: str, rows: Any) -> dict[str, Any]:
        answer = api.post(address(tail), rows, format="json")
        assert answer.status_code == 200, answer.content
        return answer.json()

    return do


def test_items_are_created_changed_and_left_by_key(put: Callable[..., Any], world: World) -> None:
    rows = [
        {
            "key": "a/b 1",
            "body": {"text": "One"},
            "attributes": {"source": "x", "deep": [{"n": 1.5}]},
        },
        {"key": "二", "body": {"text": "Two 🙂", "left": "", "right": None}},
    ]
    assert put("items/", rows) == counts(created=2)
    before = world()
    assert put("items/", rows) == counts(unchanged=2)
    assert put("items/", rows[::-1]) == counts(unchanged=2)
    assert world() == before

    rows[1] = {"key": "二", "body": {"text": "Zwei"}}
    assert put("items/", [*rows, {"key": "c", "body": {}}]) == counts(
        created=1, changed=1, unchanged=1
    )
    assert list(Item.objects.order_by("pk").values_list("key", "body", "attributes")) == [
        ("a/b 1", rows[0]["body"], rows[0]["attributes"]),
        ("二", {"text": "Zwei"}, {}),
        ("c", {}, {}),
    ]


def test_one_item_needs_no_list(put: Callable[..., Any]) -> None:
    assert put("items/", {"key": "a", "body": {"text": "One"}}) == counts(created=1)


def test_attributes_left_out_stay(put: Callable[..., Any]) -> None:
    put("items/", {"key": "a", "body": {"text": "1"}, "attributes": {"source": "x"}})
    assert put("items/", {"key": "a", "body": {"text": "1"}}) == counts(unchanged=1)
    assert put("items/", {"key": "a", "body": {"text": "1"}, "attributes": {}}) == counts(changed=1)
    assert Item.objects.get().attributes == {}


def test_true_is_not_one(put: Callable[..., Any]) -> None:
    put("items/", {"key": "a", "body": {"flag": [1]}})
    assert put("items/", {"key": "a", "body": {"flag": [True]}}) == counts(changed=1)
    assert put("items/", {"key": "a", "body": {"flag": [True]}}) == counts(unchanged=1)


def test_the_same_key_in_another_project_is_another_item(
    put: Callable[..., Any], make_project: Callable[..., Project]
) -> None:
    Item.objects.create(project=make_project("Other"), key="a", body={"text": "theirs"})
    assert put("items/", {"key": "a", "body": {"text": "mine"}}) == counts(created=1)
    assert Item.objects.filter(key="a").count() == 2


def deep(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"x": value}
    return value


BAD_ITEMS: list[tuple[Any, str]] = [
    ("text", "an object is needed, not a text"),
    (None, "an object is needed, not null"),
    ([], "an object is needed, not a list"),
    ({"body": {}}, "'key' is missing"),
    ({"key": 7, "body": {}}, "'key' must be a text, not a number"),
    ({"key": True, "body": {}}, "'key' must be a text, not true"),
    ({"key": "", "body": {}}, "1 to 255 characters; it has 0"),
    ({"key": "k" * 256, "body": {}}, "1 to 255 characters; it has 256"),
    ({"key": " a", "body": {}}, "blank"),
    ({"key": "a\nb", "body": {}}, "line ends"),
    ({"key": "a"}, "'body' is missing"),
    ({"key": "a", "body": "text"}, "'body' must be an object, not a text"),
    ({"key": "a", "body": {"text": 3}}, "'text' of 'body' must be a text, not a number"),
    ({"key": "a", "body": {}, "attributes": []}, "'attributes' must be an object, not a list"),
    ({"key": "a", "body": {}, "attributes": None}, "'attributes' must be an object, not null"),
    (
        {"key": "a", "body": {}, "project": 1},
        "unknown field 'project'; one of key, body, attributes, gold, withdrawn",
    ),
    ({"key": "a", "body": deep(60)}, "nested deeper"),
    ({"key": "a", "body": {"text": "x" * 1_000_001}}, "larger than"),
    ({"key": "good", "body": {}}, "stands in row 0 already"),
]


@pytest.mark.parametrize(("row", "words"), BAD_ITEMS)
def test_bad_item_is_named_by_its_row(
    api: APIClient, address: Address, refused: Refused, row: Any, words: str
) -> None:
    error = refused(api.post, address("items/"), [{"key": "good", "body": {}}, row])
    assert list(error["fields"]["rows"]) == ["1"]
    assert words in error["fields"]["rows"]["1"]
    assert "nothing was stored" in error["message"]


@pytest.mark.parametrize(
    ("rows", "words"), [([], "1 to 10000"), ([{}] * 10_001, "10001 rows; 10000 at most")]
)
@pytest.mark.parametrize("tail", ["items/", "raters/", "ratings/"])
def test_lists_have_limits(
    api: APIClient, address: Address, refused: Refused, tail: str, rows: Any, words: str
) -> None:
    assert words in refused(api.post, address(tail), rows)["fields"]["body"]


def test_raters_are_created_changed_and_left_by_key(put: Callable[..., Any], world: World) -> None:
    rows = [
        {"key": "ann", "name": "Ann"},
        {"key": "gpt", "kind": "model", "name": "GPT"},
        {"key": "ben"},
    ]
    assert put("raters/", rows) == counts(created=2, unchanged=1)
    before = world()
    assert put("raters/", rows) == counts(unchanged=3)
    assert world() == before
    assert put("raters/", {"key": "ben", "name": "Ben"}) == counts(changed=1)
    assert put("raters/", {"key": "ben", "kind": "model"}) == counts(changed=1)
    assert list(
        Rater.objects.order_by("key").values_list("key", "name", "kind", "user__username")
    ) == [
        ("ann", "Ann", "human", "annotator"),
        ("ben", "Ben", "model", None),
        ("gpt", "GPT", "model", None),
    ]


def test_models_have_a_name_and_a_version(put: Callable[..., Any], project: Project) -> None:
    judge = {"key": "gpt@v1", "kind": "model", "model": "gpt", "prompt_version": "v1"}
    assert put("raters/", judge) == counts(created=1)
    assert put("raters/", judge) == counts(unchanged=1)
    assert put("raters/", {"key": "gpt@v1", "name": "GPT"}) == counts(changed=1)
    found = Rater.objects.get(key="gpt@v1")
    assert (found.name, found.model, found.prompt_version) == ("GPT", "gpt", "v1")


def test_raters_have_groups(put: Callable[..., Any], project: Project) -> None:
    before = Project.objects.get(pk=project.pk).catalogue_version
    assert (
        put("raters/", [{"key": "ann", "group": "Vendor A"}, {"key": "ben", "group": "in house"}])[
            "changed"
        ]
        == 1
    )
    assert put("raters/", {"key": "ann", "name": "Ann B."}) == counts(changed=1)  # the group stays
    assert dict(Rater.objects.values_list("key", "group")) == {"ann": "Vendor A", "ben": "in house"}
    assert Project.objects.get(pk=project.pk).catalogue_version == before + 2
    assert put("raters/", {"key": "ann", "name": "Ann B."}) == counts(unchanged=1)
    assert Project.objects.get(pk=project.pk).catalogue_version == before + 2


def test_username_ties_an_account_and_makes_it_an_annotator(
    put: Callable[..., Any], colleague: User, lead: User, project: Project
) -> None:
    assert put(
        "raters/", [{"key": "s", "username": "stranger"}, {"key": "l", "username": "lead"}]
    ) == counts(created=2)
    assert Rater.objects.get(key="s").user == colleague
    roles = dict(Member.objects.filter(project=project).values_list("user__username", "role"))
    assert roles == {
        "lead": "lead",
        "annotator": "annotator",
        "viewer": "viewer",
        "stranger": "annotator",
    }
    assert put("raters/", {"key": "s", "username": None}) == counts(changed=1)
    assert Rater.objects.get(key="s").user is None


def test_accounts_can_be_swapped(put: Callable[..., Any], colleague: User) -> None:
    put("raters/", [{"key": "s", "username": "stranger"}])
    assert put(
        "raters/", [{"key": "s", "username": "annotator"}, {"key": "ann", "username": "stranger"}]
    ) == counts(changed=2)
    assert dict(Rater.objects.values_list("key", "user__username")) == {
        "s": "annotator",
        "ann": "stranger",
    }


BAD_RATERS: list[tuple[Any, str]] = [
    ({"key": "k" * 151}, "1 to 150"),
    ({"key": "a", "kind": "robot"}, 'unknown kind "robot"; one of human, model'),
    ({"key": "a", "kind": 3}, "unknown kind 3"),
    ({"key": "a", "name": 3}, "'name'"),
    ({"key": "a", "model": "gpt"}, "are of raters whose 'kind' is model"),
    ({"key": "a", "kind": "model", "prompt_version": "v" * 101}, "100 characters at most"),
    ({"key": "a", "name": "n" * 201}, "200"),
    ({"key": "a", "group": "g" * 65}, "'group' must be a text of 64 characters at most"),
    ({"key": "a", "group": " vendor"}, "without blanks at its ends"),
    ({"key": "a", "group": None}, "'group' must be a text"),
    ({"key": "a", "username": 7}, "'username'"),
    ({"key": "a", "username": "nobody"}, "there is no account 'nobody'"),
    ({"key": "a", "username": "gone"}, "there is no account 'gone'"),
    ({"key": "a", "username": "viewer"}, "tied to the rater of row 0 already"),
    (
        {"key": "a", "username": "annotator"},
        "the account 'annotator' is tied to rater 'ann' already",
    ),
    (
        {"key": "a", "paused": True},
        "unknown field 'paused'; one of key, name, kind, model, prompt_version, group, username",
    ),
    ({"key": "good"}, "stands in row 0 already"),
]


@pytest.mark.parametrize(("row", "words"), BAD_RATERS)
def test_bad_rater_is_named_by_its_row(
    api: APIClient,
    address: Address,
    refused: Refused,
    make_user: Callable[..., User],
    row: Any,
    words: str,
) -> None:
    make_user("gone", is_active=False)
    error = refused(api.post, address("raters/"), [{"key": "good", "username": "viewer"}, row])
    assert list(error["fields"]["rows"]) == ["1"]
    assert words in error["fields"]["rows"]["1"]


def test_many_odd_keys_are_found_again(put: Callable[..., Any]) -> None:
    # More than are named in a statement one by one; each could end or split a list of them.
    keys = [
        'a"b',
        "it's",
        "{x}",
        "a,b",
        "NULL",
        "null",
        "\\",
        "\\n",
        "[1]",
        "%s",
        "%%",
        "$1",
        "é😀",
        "a b",
        "1",
    ]
    items = [{"key": key, "body": {"text": key}} for key in keys]
    assert put("items/", items) == counts(created=len(keys))
    assert put("items/", items) == counts(unchanged=len(keys))


def test_number_of_journeys_does_not_grow_with_rows(api: APIClient, address: Address) -> None:
    def taken(tail: str, rows: Any) -> int:
        with journeys() as begun:
            assert api.post(address(tail), rows, format="json").status_code == 200
        return begun()

    api.get(address())  # the token's first use writes
    items = [{"key": f"k{number}", "body": {"text": "x"}} for number in range(1_000)]
    raters = [{"key": f"k{number}", "name": "x"} for number in range(1_000)]
    # On PostgreSQL: token and project on one journey; many rows through a temporary table.
    caller, copy = (1, 4) if connection.vendor == "postgresql" else (2, 1)
    assert taken("items/", items[:2]) == caller + 5
    assert taken("items/", items) == caller + 4 + copy
    trail = 2  # who did it, and the line
    assert taken("raters/", raters[:2]) == caller + 7 + trail
    assert taken("raters/", raters) == caller + 6 + copy + trail


# --- gold, withdrawn, versions


def gold_of(key: str) -> dict[str, Any]:
    rows = GoldAnswer.objects.in_force().filter(item__key=key)
    return {row.question.key: row.answer for row in rows}


def test_items_bring_their_gold_answers(put: Callable[..., Any], lead: User) -> None:
    rows = [
        {"key": "a", "body": {"text": "1"}, "gold": {"severity": "major"}},
        {"key": "b", "body": {"text": "2"}, "gold": {"severity": ["major", "critical"]}},
        {"key": "c", "body": {"text": "3"}, "gold": {"severity": {"none": 0.5, "minor": 0.5}}},
        {"key": "d", "body": {"text": "4"}, "gold": {}},
    ]
    assert put("items/", rows) == counts(created=4)
    assert put("items/", rows) == counts(unchanged=4)
    assert [gold_of(key) for key in "abcd"] == [
        {"severity": [2]},
        {"severity": [2, 3]},
        {"severity": {"0": 0.5, "1": 0.5}},
        {},
    ]
    assert {row.by for row in GoldAnswer.objects.all()} == {lead}
    # left out it stays, null takes it away
    assert put("items/", {"key": "a", "body": {"text": "1"}}) == counts(unchanged=1)
    rows[0]["gold"] = {"severity": None}
    assert put("items/", rows) == counts(changed=1, unchanged=3)
    assert put("items/", rows) == counts(unchanged=4)
    assert gold_of("a") == {}
    rows[1]["gold"] = {"severity": "critical"}
    assert put("items/", rows[1]) == counts(changed=1)
    assert list(GoldAnswer.objects.filter(item__key="b").values_list("version", "answer")) == [
        (1, [2, 3]),
        (2, [3]),
    ]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("major", "'gold' must be an object of answers by question"),
        ({"severity": 3}, "'gold' must be an object of answers by question"),
        ({"depth": "major"}, "'gold' of 'depth': unknown question; one of severity"),
        ({"severity": "mjor"}, "'gold' of 'severity': unknown label 'mjor'; one of none, minor"),
        ({"severity": {"major": 0.4}}, "'gold' of 'severity': the shares must add up to 1"),
    ],
)
def test_bad_gold_stores_nothing(
    api: APIClient, address: Address, refused: Refused, said: Any, words: str
) -> None:
    rows = [{"key": "good", "body": {}}, {"key": "a", "body": {}, "gold": said}]
    error = refused(api.post, address("items/"), rows)
    assert list(error["fields"]["rows"]) == ["1"]
    assert words in error["fields"]["rows"]["1"]
    assert not Item.objects.exists()


def test_items_are_withdrawn_and_restored(put: Callable[..., Any], refused: Any) -> None:
    row = {"key": "a", "body": {"text": "1"}, "withdrawn": True}
    assert put("items/", row) == counts(created=1)
    since = Item.objects.get().withdrawn_at
    assert since is not None
    assert put("items/", row) == counts(unchanged=1)
    assert put("items/", {"key": "a", "body": {"text": "2"}}) == counts(changed=1)
    assert Item.objects.get().withdrawn_at == since
    assert put("items/", {**row, "body": {"text": "2"}, "withdrawn": False}) == counts(changed=1)
    assert Item.objects.get().withdrawn_at is None


def test_withdrawn_is_yes_or_no(api: APIClient, address: Address, refused: Refused) -> None:
    error = refused(api.post, address("items/"), [{"key": "a", "body": {}, "withdrawn": 1}])
    assert "'withdrawn' must be true or false, not a number" in error["fields"]["rows"]["0"]


def test_another_content_is_the_next_version(put: Callable[..., Any], lead: User) -> None:
    for text in ("", "One", "One", "Two", "Three"):
        put("items/", {"key": "a", "body": {"text": text}})
    item = Item.objects.get()
    # what showed nothing was no version
    assert (item.version, item.body) == (3, {"text": "Three"})
    versions = list(item.versions.values_list("number", "body", "by"))
    assert versions == [(1, {"text": "One"}, lead.pk), (2, {"text": "Two"}, lead.pk)]
    assert item.version_since == item.versions.latest("number").until
    put("items/", {"key": "a", "body": {"text": "Three"}, "attributes": {"x": 1}})
    assert Item.objects.get().version == 3


@pytest.mark.parametrize("number", [3, 400])
def test_versions_of_many(put: Callable[..., Any], number: int) -> None:
    keys = [f"k{n:03}" for n in range(number)]
    put("items/", [{"key": key, "body": {"text": key}} for key in keys])
    put("items/", [{"key": key, "body": {"text": key.upper()}} for key in keys])
    found = ItemVersion.objects.order_by("item").values_list("item__key", "body", "number")
    assert list(found) == [(key, {"text": key}, 1) for key in keys]
    assert set(Item.objects.values_list("version", "has_content")) == {(2, True)}
