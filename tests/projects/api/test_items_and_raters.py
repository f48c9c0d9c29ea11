"""Items and raters through the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from rest_framework.test import APIClient

from projects.models import GoldAnswer, Item, ItemVersion, Member, Project, Rater
from tests.query_counts import measure_round_trips

AddressFunction = Callable[..., str]
ErrorFunction = Callable[..., dict[str, Any]]
SnapshotFunction = Callable[[], dict[str, Any]]


def build_counts(created: int = 0, changed: int = 0, unchanged: int = 0) -> dict[str, int]:
    return {"created": created, "changed": changed, "unchanged": unchanged}


@pytest.fixture
def post_rows(api: APIClient, address: AddressFunction) -> Callable[..., dict[str, Any]]:
    """Return a function that posts rows to an address of the project and returns the response."""

    def post(tail: str, rows: Any) -> dict[str, Any]:
        response = api.post(address(tail), rows, format="json")
        assert response.status_code == 200, response.content
        return response.json()

    return post


def test_items_are_created_changed_or_unchanged_by_key(
    post_rows: Callable[..., Any], world: SnapshotFunction
) -> None:
    rows = [
        {
            "key": "a/b 1",
            "body": {"text": "One"},
            "attributes": {"source": "x", "deep": [{"n": 1.5}]},
        },
        {"key": "二", "body": {"text": "Two 🙂", "left": "", "right": None}},
    ]
    assert post_rows("items/", rows) == build_counts(created=2)
    before = world()
    assert post_rows("items/", rows) == build_counts(unchanged=2)
    assert post_rows("items/", rows[::-1]) == build_counts(unchanged=2)
    assert world() == before

    rows[1] = {"key": "二", "body": {"text": "Zwei"}}
    assert post_rows("items/", [*rows, {"key": "c", "body": {}}]) == build_counts(
        created=1, changed=1, unchanged=1
    )
    assert list(Item.objects.order_by("pk").values_list("key", "body", "attributes")) == [
        ("a/b 1", rows[0]["body"], rows[0]["attributes"]),
        ("二", {"text": "Zwei"}, {}),
        ("c", {}, {}),
    ]


def test_one_item_needs_no_list(post_rows: Callable[..., Any]) -> None:
    assert post_rows("items/", {"key": "a", "body": {"text": "One"}}) == build_counts(created=1)


def test_omitted_attributes_are_kept(post_rows: Callable[..., Any]) -> None:
    post_rows("items/", {"key": "a", "body": {"text": "1"}, "attributes": {"source": "x"}})
    assert post_rows("items/", {"key": "a", "body": {"text": "1"}}) == build_counts(unchanged=1)
    assert post_rows(
        "items/", {"key": "a", "body": {"text": "1"}, "attributes": {}}
    ) == build_counts(changed=1)
    assert Item.objects.get().attributes == {}


def test_true_is_not_one(post_rows: Callable[..., Any]) -> None:
    post_rows("items/", {"key": "a", "body": {"flag": [1]}})
    assert post_rows("items/", {"key": "a", "body": {"flag": [True]}}) == build_counts(changed=1)
    assert post_rows("items/", {"key": "a", "body": {"flag": [True]}}) == build_counts(unchanged=1)


def test_the_same_key_in_another_project_is_another_item(
    post_rows: Callable[..., Any], make_project: Callable[..., Project]
) -> None:
    Item.objects.create(project=make_project("Other"), key="a", body={"text": "theirs"})
    assert post_rows("items/", {"key": "a", "body": {"text": "mine"}}) == build_counts(created=1)
    assert Item.objects.filter(key="a").count() == 2


def build_nested_object(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"x": value}
    return value


INVALID_ITEMS: list[tuple[Any, str]] = [
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
    ({"key": "a", "body": build_nested_object(60)}, "nested deeper"),
    ({"key": "a", "body": {"text": "x" * 1_000_001}}, "larger than"),
    ({"key": "good", "body": {}}, "stands in row 0 already"),
]


@pytest.mark.parametrize(("row", "words"), INVALID_ITEMS)
def test_invalid_item_error_names_its_row(
    api: APIClient, address: AddressFunction, refused: ErrorFunction, row: Any, words: str
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
    api: APIClient,
    address: AddressFunction,
    refused: ErrorFunction,
    tail: str,
    rows: Any,
    words: str,
) -> None:
    assert words in refused(api.post, address(tail), rows)["fields"]["body"]


def test_raters_are_created_changed_or_unchanged_by_key(
    post_rows: Callable[..., Any], world: SnapshotFunction
) -> None:
    rows = [
        {"key": "ann", "name": "Ann"},
        {"key": "gpt", "kind": "model", "name": "GPT"},
        {"key": "ben"},
    ]
    assert post_rows("raters/", rows) == build_counts(created=2, unchanged=1)
    before = world()
    assert post_rows("raters/", rows) == build_counts(unchanged=3)
    assert world() == before
    assert post_rows("raters/", {"key": "ben", "name": "Ben"}) == build_counts(changed=1)
    assert post_rows("raters/", {"key": "ben", "kind": "model"}) == build_counts(changed=1)
    assert list(
        Rater.objects.order_by("key").values_list("key", "name", "kind", "user__username")
    ) == [
        ("ann", "Ann", "human", "annotator"),
        ("ben", "Ben", "model", None),
        ("gpt", "GPT", "model", None),
    ]


def test_models_have_a_name_and_a_version(post_rows: Callable[..., Any], project: Project) -> None:
    judge = {"key": "gpt@v1", "kind": "model", "model": "gpt", "prompt_version": "v1"}
    assert post_rows("raters/", judge) == build_counts(created=1)
    assert post_rows("raters/", judge) == build_counts(unchanged=1)
    assert post_rows("raters/", {"key": "gpt@v1", "name": "GPT"}) == build_counts(changed=1)
    rater = Rater.objects.get(key="gpt@v1")
    assert (rater.name, rater.model, rater.prompt_version) == ("GPT", "gpt", "v1")


def test_raters_have_groups(post_rows: Callable[..., Any], project: Project) -> None:
    before = Project.objects.get(pk=project.pk).items_and_raters_version
    assert (
        post_rows(
            "raters/", [{"key": "ann", "group": "Vendor A"}, {"key": "ben", "group": "in house"}]
        )["changed"]
        == 1
    )
    assert post_rows("raters/", {"key": "ann", "name": "Ann B."}) == build_counts(
        changed=1
    )  # the group stays
    assert dict(Rater.objects.values_list("key", "group")) == {"ann": "Vendor A", "ben": "in house"}
    assert Project.objects.get(pk=project.pk).items_and_raters_version == before + 2
    assert post_rows("raters/", {"key": "ann", "name": "Ann B."}) == build_counts(unchanged=1)
    assert Project.objects.get(pk=project.pk).items_and_raters_version == before + 2


def test_username_links_an_account_as_annotator(
    post_rows: Callable[..., Any], colleague: User, lead: User, project: Project
) -> None:
    assert post_rows(
        "raters/", [{"key": "s", "username": "stranger"}, {"key": "l", "username": "lead"}]
    ) == build_counts(created=2)
    assert Rater.objects.get(key="s").user == colleague
    roles = dict(Member.objects.filter(project=project).values_list("user__username", "role"))
    assert roles == {
        "lead": "lead",
        "annotator": "annotator",
        "viewer": "viewer",
        "stranger": "annotator",
    }
    assert post_rows("raters/", {"key": "s", "username": None}) == build_counts(changed=1)
    assert Rater.objects.get(key="s").user is None


def test_accounts_can_be_swapped(post_rows: Callable[..., Any], colleague: User) -> None:
    post_rows("raters/", [{"key": "s", "username": "stranger"}])
    assert post_rows(
        "raters/", [{"key": "s", "username": "annotator"}, {"key": "ann", "username": "stranger"}]
    ) == build_counts(changed=2)
    assert dict(Rater.objects.values_list("key", "user__username")) == {
        "s": "annotator",
        "ann": "stranger",
    }


INVALID_RATERS: list[tuple[Any, str]] = [
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


@pytest.mark.parametrize(("row", "words"), INVALID_RATERS)
def test_invalid_rater_error_names_its_row(
    api: APIClient,
    address: AddressFunction,
    refused: ErrorFunction,
    make_user: Callable[..., User],
    row: Any,
    words: str,
) -> None:
    make_user("gone", is_active=False)
    error = refused(api.post, address("raters/"), [{"key": "good", "username": "viewer"}, row])
    assert list(error["fields"]["rows"]) == ["1"]
    assert words in error["fields"]["rows"]["1"]


def test_keys_with_special_characters_are_matched(post_rows: Callable[..., Any]) -> None:
    # Enough keys for the bulk statement; each of them could end or split a list of keys.
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
    assert post_rows("items/", items) == build_counts(created=len(keys))
    assert post_rows("items/", items) == build_counts(unchanged=len(keys))


def test_round_trips_do_not_grow_with_rows(api: APIClient, address: AddressFunction) -> None:
    def count_round_trips(tail: str, rows: Any) -> int:
        with measure_round_trips() as get_count:
            assert api.post(address(tail), rows, format="json").status_code == 200
        return get_count()

    api.get(address())  # the token's first use writes
    items = [{"key": f"k{number}", "body": {"text": "x"}} for number in range(1_000)]
    raters = [{"key": f"k{number}", "name": "x"} for number in range(1_000)]
    # PostgreSQL: token and project in one round trip; many rows through a temporary table.
    authentication, bulk_copy = (1, 4) if connection.vendor == "postgresql" else (2, 1)
    audit_log = 2  # the actor and the audit log entry
    assert count_round_trips("items/", items[:2]) == authentication + 5 + audit_log
    assert count_round_trips("items/", items) == authentication + 4 + bulk_copy + audit_log
    assert count_round_trips("raters/", raters[:2]) == authentication + 7 + audit_log
    assert count_round_trips("raters/", raters) == authentication + 6 + bulk_copy + audit_log


# --- gold, withdrawn, versions


def get_gold_answers(key: str) -> dict[str, Any]:
    rows = GoldAnswer.objects.in_force().filter(item__key=key)
    return {row.question.key: row.answer for row in rows}


def test_items_are_sent_with_their_gold_answers(post_rows: Callable[..., Any], lead: User) -> None:
    rows = [
        {"key": "a", "body": {"text": "1"}, "gold": {"severity": "major"}},
        {"key": "b", "body": {"text": "2"}, "gold": {"severity": ["major", "critical"]}},
        {"key": "c", "body": {"text": "3"}, "gold": {"severity": {"none": 0.5, "minor": 0.5}}},
        {"key": "d", "body": {"text": "4"}, "gold": {}},
    ]
    assert post_rows("items/", rows) == build_counts(created=4)
    assert post_rows("items/", rows) == build_counts(unchanged=4)
    assert [get_gold_answers(key) for key in "abcd"] == [
        {"severity": [2]},
        {"severity": [2, 3]},
        {"severity": {"0": 0.5, "1": 0.5}},
        {},
    ]
    assert {row.by for row in GoldAnswer.objects.all()} == {lead}
    # an omitted gold answer is kept; null removes it
    assert post_rows("items/", {"key": "a", "body": {"text": "1"}}) == build_counts(unchanged=1)
    rows[0]["gold"] = {"severity": None}
    assert post_rows("items/", rows) == build_counts(changed=1, unchanged=3)
    assert post_rows("items/", rows) == build_counts(unchanged=4)
    assert get_gold_answers("a") == {}
    rows[1]["gold"] = {"severity": "critical"}
    assert post_rows("items/", rows[1]) == build_counts(changed=1)
    assert list(GoldAnswer.objects.filter(item__key="b").values_list("version", "answer")) == [
        (1, [2, 3]),
        (2, [3]),
    ]


@pytest.mark.parametrize(
    ("gold", "words"),
    [
        ("major", "'gold' must be an object of answers by question"),
        ({"severity": 3}, "'gold' must be an object of answers by question"),
        ({"depth": "major"}, "'gold' of 'depth': unknown question; one of severity"),
        ({"severity": "mjor"}, "'gold' of 'severity': unknown label 'mjor'; one of none, minor"),
        ({"severity": {"major": 0.4}}, "'gold' of 'severity': the shares must add up to 1"),
    ],
)
def test_invalid_gold_answer_stores_nothing(
    api: APIClient, address: AddressFunction, refused: ErrorFunction, gold: Any, words: str
) -> None:
    rows = [{"key": "good", "body": {}}, {"key": "a", "body": {}, "gold": gold}]
    error = refused(api.post, address("items/"), rows)
    assert list(error["fields"]["rows"]) == ["1"]
    assert words in error["fields"]["rows"]["1"]
    assert not Item.objects.exists()


def test_items_are_withdrawn_and_restored(post_rows: Callable[..., Any], refused: Any) -> None:
    row = {"key": "a", "body": {"text": "1"}, "withdrawn": True}
    assert post_rows("items/", row) == build_counts(created=1)
    withdrawn_at = Item.objects.get().withdrawn_at
    assert withdrawn_at is not None
    assert post_rows("items/", row) == build_counts(unchanged=1)
    assert post_rows("items/", {"key": "a", "body": {"text": "2"}}) == build_counts(changed=1)
    assert Item.objects.get().withdrawn_at == withdrawn_at
    assert post_rows("items/", {**row, "body": {"text": "2"}, "withdrawn": False}) == build_counts(
        changed=1
    )
    assert Item.objects.get().withdrawn_at is None


def test_withdrawn_must_be_a_boolean(
    api: APIClient, address: AddressFunction, refused: ErrorFunction
) -> None:
    error = refused(api.post, address("items/"), [{"key": "a", "body": {}, "withdrawn": 1}])
    assert "'withdrawn' must be true or false, not a number" in error["fields"]["rows"]["0"]


def test_changed_content_creates_a_version(post_rows: Callable[..., Any], lead: User) -> None:
    for text in ("", "One", "One", "Two", "Three"):
        post_rows("items/", {"key": "a", "body": {"text": text}})
    item = Item.objects.get()
    # an empty text creates no version
    assert (item.version, item.body) == (3, {"text": "Three"})
    versions = list(item.versions.values_list("number", "body", "by"))
    assert versions == [(1, {"text": "One"}, lead.pk), (2, {"text": "Two"}, lead.pk)]
    assert item.version_since == item.versions.latest("number").until
    post_rows("items/", {"key": "a", "body": {"text": "Three"}, "attributes": {"x": 1}})
    assert Item.objects.get().version == 3


@pytest.mark.parametrize("number", [3, 400])
def test_versions_of_many_items(post_rows: Callable[..., Any], number: int) -> None:
    keys = [f"k{n:03}" for n in range(number)]
    post_rows("items/", [{"key": key, "body": {"text": key}} for key in keys])
    post_rows("items/", [{"key": key, "body": {"text": key.upper()}} for key in keys])
    versions = ItemVersion.objects.order_by("item").values_list("item__key", "body", "number")
    assert list(versions) == [(key, {"text": key}, 1) for key in keys]
    assert set(Item.objects.values_list("version", "has_content")) == {(2, True)}
