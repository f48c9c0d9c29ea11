"""Ratings through the API."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from projects.models import Category, Item, Member, Project, Question, Rater
from ratings.api import write_batching
from ratings.models import Assignment, Rating, Revision
from tests.query_counts import journeys

Address = Callable[..., str]
Refused = Callable[..., dict[str, Any]]
World = Callable[[], dict[str, Any]]

pytestmark = pytest.mark.usefixtures("stocked")


def counts(**numbers: int) -> dict[str, int]:
    return {"created": 0, "changed": 0, "unchanged": 0, "withdrawn": 0} | numbers


@pytest.fixture
def put(api: APIClient, address: Address) -> Callable[..., dict[str, Any]]:
    def do(rows: Any, client: APIClient = api) -> dict[str, Any]:
        answer = client.post(address("ratings/"), rows, format="json")
        assert answer.status_code == 200, answer.content
        return answer.json()

    return do


@pytest.fixture
def listed(api: APIClient, address: Address) -> Callable[..., list[Any]]:
    def do(query: str = "", client: APIClient = api) -> list[Any]:
        answer = client.get(address(f"ratings/{query}"))
        assert answer.status_code == 200, answer.content
        assert answer.json()["next"] is None
        return answer.json()["results"]

    return do


def row(
    item: Any = "i1", rater: Any = "ann", label: Any = "minor", **fields: Any
) -> dict[str, Any]:
    return {"item": item, "rater": rater, "label": label, **fields}


def labels(rows: list[Any]) -> list[tuple[str, str, str]]:
    return [(found["item"], found["rater"], found["label"]) for found in rows]


def test_given_changed_withdrawn_and_given_again(
    put: Callable[..., Any], listed: Callable[..., Any]
) -> None:
    assert put(row()) == counts(created=1)
    assert put(row()) == counts(unchanged=1)
    assert put([row(label="major")]) == counts(changed=1)
    assert labels(listed()) == [("i1", "ann", "major")]
    assert put(row(label=None)) == counts(withdrawn=1)
    assert listed() == []
    assert put(row(label=None)) == counts(unchanged=1)
    assert put(row(item="i2", label=None)) == counts(unchanged=1)
    assert put(row(label="none")) == counts(created=1)
    assert list(Revision.objects.order_by("pk").values_list("code", "source")) == [
        (1, "api"),
        (2, "api"),
        (-1, "api"),
        (0, "api"),
    ]


def test_many_in_one_request(
    put: Callable[..., Any], listed: Callable[..., Any], lead: User
) -> None:
    put([row(), row(rater="ben")])
    mixed = [
        row(),
        row(rater="ben", label="major"),
        row("i2"),
        row("i3", "cleo"),
        row("i4", label=None),
    ]
    assert put(mixed) == counts(created=2, changed=1, unchanged=2)
    assert labels(listed()) == [
        ("i1", "ann", "minor"),
        ("i1", "ben", "major"),
        ("i2", "ann", "minor"),
        ("i3", "cleo", "minor"),
    ]
    assert set(Revision.objects.values_list("by", flat=True)) == {lead.pk}


def test_shown_with_times_and_comment(put: Callable[..., Any], listed: Callable[..., Any]) -> None:
    put(row(rated_at="2026-03-01T10:30:00+02:00", comment="Not\nsure"))
    shown = listed()[0]
    assert set(shown) == {
        "item",
        "rater",
        "question",
        "label",
        "rated_at",
        "changed_at",
        "comment",
        "guidelines",
        "item_version",
        "model",
        "prompt_version",
    }
    assert shown["question"] == "severity"
    assert shown["rated_at"] == "2026-03-01T08:30:00Z"
    assert shown["changed_at"].endswith("Z")
    assert shown["comment"] == "Not\nsure"


def test_the_same_time_and_comment_again_change_nothing(
    put: Callable[..., Any], world: World
) -> None:
    given = [row(rated_at="2026-03-01T10:30:00.123456+02:00", comment="x"), row("i2")]
    put(given)
    before = world()
    assert put(given) == counts(unchanged=2)
    assert put([row(), row("i2", comment=None, rated_at=None)]) == counts(unchanged=2)
    assert world() == before


BAD_ROWS: list[tuple[Any, str]] = [
    (row(label="mjor"), "unknown label 'mjor'; one of none, minor, major, critical"),
    (row(label=" minor"), "unknown label ' minor'"),
    (row(label=""), "unknown label ''"),
    (row(label=1), "'label' must be a text or null, not a number"),
    (row(label=1.5), "'label' must be a text or null, not a number"),
    (row(label=True), "'label' must be a text or null, not true"),
    (row(label=["minor"]), "'label' must be a text or null, not a list"),
    ({"item": "i1", "rater": "ann"}, "'label' is missing; null withdraws a rating"),
    (row(item="i9"), "unknown item 'i9'"),
    (row(item="theirs"), "unknown item 'theirs'"),
    (row(item=7), "'item' must be a text, not a number"),
    (row(item=""), "'item' must have 1 to 255 characters"),
    ({"rater": "ann", "label": "minor"}, "'item' is missing"),
    (row(rater="zoe"), "unknown rater 'zoe'"),
    (row(rater=None), "'rater' must be a text, not null"),
    ({"item": "i1", "label": "minor"}, "'rater' is missing"),
    (row(question="colour"), "unknown question 'colour'; one of severity"),
    (row(question=1), "'question' must be a text, not a number"),
    (row(rated_at="yesterday"), "rated_at: 'yesterday' is not an ISO-8601 time"),
    (row(rated_at="2026-03-01T10:00:00"), "has no time zone"),
    (row(rated_at="2999-01-01T00:00:00Z"), "lies in the future"),
    (row(rated_at="1066-01-01T00:00:00Z"), "lies before"),
    (row(rated_at=1_700_000_000), "'rated_at' must be a text or null, not a number"),
    (row(comment=5), "'comment' must be a text or null, not a number"),
    (row(comment="x" * 10_001), "it has 10001"),
    (
        row(weight=3),
        "unknown field 'weight'; one of item, rater, question, label, rated_at, comment",
    ),
    (row(id=1), "unknown field 'id'"),
    ("i1,ann,minor", "an object is needed, not a text"),
    (row("i0", "ben"), "the same item and rater stand in row 0 already"),
    (
        row(item="i9", rater="zoe", label="mjor"),
        "unknown label 'mjor'; one of none, minor, major, critical; unknown item",
    ),
]


@pytest.mark.parametrize(("bad", "words"), BAD_ROWS)
def test_bad_row_is_named_and_nothing_stored(
    api: APIClient,
    address: Address,
    refused: Refused,
    make_project: Callable[..., Project],
    bad: Any,
    words: str,
) -> None:
    Item.objects.create(project=make_project("Other"), key="theirs")
    error = refused(api.post, address("ratings/"), [row("i0", "ben"), bad, row("i3", "ben")])
    assert list(error["fields"]["rows"]) == ["1"]
    assert words in error["fields"]["rows"]["1"]


def test_every_bad_row_is_named_at_once(api: APIClient, address: Address, refused: Refused) -> None:
    rows = [row(f"i{number % 5}", ("ann", "ben", "cleo")[number // 5]) for number in range(15)]
    rows[3]["label"] = 3
    rows[7]["label"] = "mjor"
    rows[12]["item"] = "i99"
    error = refused(api.post, address("ratings/"), rows)
    assert list(error["fields"]["rows"]) == ["3", "7", "12"]
    assert error["message"] == "3 ratings are not acceptable; nothing was stored."


def test_one_bad_rating_without_a_list_is_row_0(
    api: APIClient, address: Address, refused: Refused
) -> None:
    assert list(refused(api.post, address("ratings/"), row(label="mjor"))["fields"]["rows"]) == [
        "0"
    ]


def test_a_retired_category_is_unknown(api: APIClient, address: Address, refused: Refused) -> None:
    Category.objects.filter(label="critical").update(retired=True)
    error = refused(api.post, address("ratings/"), row(label="critical"))
    assert error["fields"]["rows"]["0"] == "unknown label 'critical'; one of none, minor, major"


@pytest.fixture
def second(project: Project) -> Question:
    made = Question.objects.create(project=project, key="spam", text="Spam?", position=1)
    Category.objects.bulk_create(
        Category(question=made, code=code, position=code, label=label)
        for code, label in enumerate(("yes", "no"))
    )
    return made


def test_several_questions_in_one_request(
    put: Callable[..., Any], listed: Callable[..., Any], second: Question
) -> None:
    rows = [
        row(question="severity"),
        row(question="spam", label="yes"),
        row("i2", question="spam", label="no"),
    ]
    assert put(rows) == counts(created=3)
    assert [(found["question"], found["item"]) for found in listed()] == [
        ("severity", "i1"),
        ("spam", "i1"),
        ("spam", "i2"),
    ]
    assert labels(listed("?question=spam")) == [("i1", "ann", "yes"), ("i2", "ann", "no")]


def test_the_question_must_be_named_where_there_are_two(
    api: APIClient, address: Address, refused: Refused, second: Question
) -> None:
    error = refused(
        api.post, address("ratings/"), [row(question="severity"), row(question="spam"), row()]
    )
    assert error["fields"]["rows"] == {
        "1": "unknown label 'minor'; one of yes, no",
        "2": "'question' is missing; one of severity, spam",
    }


def test_an_annotator_rates_as_their_own_rater_alone(
    put: Callable[..., Any],
    api_for: Callable[..., APIClient],
    annotator: User,
    address: Address,
    refused: Refused,
    give: Callable[..., None],
    project: Project,
) -> None:
    give(project, "ann", "i1", "i2", "i3")
    mine = api_for(annotator)
    assert put({"item": "i1", "label": "minor"}, mine) == counts(created=1)
    assert put(row("i2"), mine) == counts(created=1)
    assert set(Rating.objects.values_list("rater__key", flat=True)) == {"ann"}
    for other in ("ben", "nobody"):
        refused(mine.post, address("ratings/"), [row("i3"), row("i3", other)], status=403)


# --- what an annotator may say is what their desk lets them say


@pytest.fixture
def mine(
    api_for: Callable[..., APIClient],
    annotator: User,
    give: Callable[..., None],
    project: Project,
) -> APIClient:
    """The annotator, to whom i1 and i2 were given."""
    give(project, "ann", "i1", "i2")
    return api_for(annotator)


def test_a_paused_rater_rates_nothing(
    mine: APIClient, put: Callable[..., Any], api: APIClient, address: Address, refused: Refused
) -> None:
    Rater.objects.filter(key="ann").update(paused=True)
    error = refused(mine.post, address("ratings/"), row(), status=403)
    assert "paused" in error["message"]
    assert put(row(), api) == counts(created=1)  # the lead's word is not bound


def test_what_was_never_given_is_not_rated(
    mine: APIClient, put: Callable[..., Any], api: APIClient, address: Address, refused: Refused
) -> None:
    rows = [row(), row("i3"), row("nowhere")]
    error = refused(mine.post, address("ratings/"), rows)
    said = "unknown item '{}', or it was never given to you"
    assert error["fields"]["rows"] == {"1": said.format("i3"), "2": said.format("nowhere")}
    put(row("i3"), api)  # rated for them: theirs to correct
    assert put(row("i3", label="major"), mine) == counts(changed=1)


@pytest.mark.parametrize("state", ["skipped", "expired"])
def test_what_was_given_up_is_not_rated(
    mine: APIClient, address: Address, refused: Refused, state: str
) -> None:
    Assignment.objects.filter(item__key="i1").update(state=state, closed_at=timezone.now())
    refused(mine.post, address("ratings/"), row())


def test_closed_corrections_are_closed_here_too(
    mine: APIClient,
    put: Callable[..., Any],
    address: Address,
    refused: Refused,
    project: Project,
    api: APIClient,
) -> None:
    Project.objects.filter(pk=project.pk).update(corrections=False)
    assert put([row(), row("i2")], mine) == counts(created=2)
    assert put(row(), mine) == counts(unchanged=1)
    for changed in (row(label="major"), row(label=None), row(comment="now with words")):
        error = refused(mine.post, address("ratings/"), changed, status=403)
        assert "cannot be changed" in error["message"]
    Assignment.objects.update(state="done", closed_at=timezone.now())
    put(row(label=None), api)
    refused(mine.post, address("ratings/"), row(), status=403)
    assert put([row(), row("i2", label="major")], api) == counts(created=1, changed=1)


def test_an_annotator_says_not_when(
    mine: APIClient, put: Callable[..., Any], address: Address, refused: Refused
) -> None:
    error = refused(mine.post, address("ratings/"), row(rated_at="1970-01-02T00:00:00Z"))
    assert error["fields"]["rows"]["0"].startswith("'rated_at' is for leads")
    assert put(row(rated_at=None), mine) == counts(created=1)


def test_who_was_removed_meanwhile_rates_nothing(
    mine: APIClient, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the request waits for its turn, behind the door."""
    store = write_batching.store_request

    def removed_first(sent: Any) -> Any:
        Member.objects.filter(user=sent.user).delete()
        return store(sent)

    monkeypatch.setattr(write_batching, "store_request", removed_first)
    assert mine.post(address("ratings/"), row(), format="json").status_code == 403
    assert not Rating.objects.exists()


def test_an_annotator_without_a_rater_cannot_rate(
    api_for: Callable[..., APIClient], annotator: User, address: Address, refused: Refused
) -> None:
    Rater.objects.filter(key="ann").update(user=None)
    refused(
        api_for(annotator).post, address("ratings/"), {"item": "i1", "label": "minor"}, status=403
    )


def test_an_annotator_sees_their_own_alone(
    put: Callable[..., Any],
    listed: Callable[..., Any],
    api_for: Callable[..., APIClient],
    annotator: User,
) -> None:
    put([row(), row("i2"), row(rater="ben"), row("i3", "ben")])
    mine = api_for(annotator)
    assert labels(listed(client=mine)) == [("i1", "ann", "minor"), ("i2", "ann", "minor")]
    assert (
        listed("?rater=ben", mine)
        == listed("?item=i3", mine)
        == listed("?rater=nobody", mine)
        == []
    )


def test_filters(put: Callable[..., Any], listed: Callable[..., Any]) -> None:
    put([row(), row("i2", comment="a"), row(rater="ben")])
    changed_at = listed("?item=i2")[0]["changed_at"]
    put([row(label="major"), row("i2", label=None)])
    assert labels(listed("?item=i1")) == [("i1", "ann", "major"), ("i1", "ben", "minor")]
    assert labels(listed("?item=i1&rater=ben")) == [("i1", "ben", "minor")]
    assert listed("?item=nothing") == []
    assert len(listed(f"?since={changed_at}")) == 2
    later = listed("?item=i1&rater=ann")[0]["changed_at"]
    assert labels(listed(f"?since={later}")) == [("i1", "ann", "major")]
    assert labels(listed(f"?since={later}&withdrawn=true")) == [
        ("i1", "ann", "major"),
        ("i2", "ann", None),
    ]
    assert labels(listed("?since=2026-01-01T00:00:00+02:00")) == labels(listed())


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("?label=minor", "label"),
        ("?rater__user__password=x", "rater__user__password"),
        ("?item=i1&item=i2", "item"),
        ("?question=colour", "question"),
        ("?since=yesterday", "since"),
        ("?since=2026-01-01T00:00:00", "since"),
        ("?withdrawn=1", "withdrawn"),
        ("?item=%00", "item"),
        ("?page_size=0", "page_size"),
        ("?page_size=-1", "page_size"),
        ("?page_size=ten", "page_size"),
        ("?cursor=x", "cursor"),
        ("?cursor=WzFd", "cursor"),
        ("?cursor=WzEsMSx0cnVlXQ", "cursor"),
        ("?cursor=bnVsbA", "cursor"),
    ],
)
def test_bad_query_is_refused(
    api: APIClient, address: Address, refused: Refused, query: str, place: str
) -> None:
    assert list(refused(api.get, address(f"ratings/{query}"))["fields"]) == [place]


def test_pages_hold_each_rating_once(
    api: APIClient, put: Callable[..., Any], address: Address, second: Question
) -> None:
    rows = [
        row(f"i{item}", rater, label, question=question)
        for question, label in (("severity", "minor"), ("spam", "no"))
        for item in range(5)
        for rater in ("ann", "ben", "cleo")
    ]
    put(rows)
    seen: list[Any] = []
    path = address("ratings/?page_size=7")
    while path:
        answer = api.get(path).json()
        assert len(answer["results"]) <= 7
        seen += answer["results"]
        path = answer["next"]
    assert [(found["question"], found["item"], found["rater"]) for found in seen] == [
        (given["question"], given["item"], given["rater"]) for given in rows
    ]


def test_a_page_has_a_largest_size(api: APIClient, address: Address) -> None:
    for size in ("1001", "999999999999999999999"):
        assert api.get(address(f"ratings/?page_size={size}")).status_code == 200


def test_query_parameters_of_a_post_are_refused(
    api: APIClient, address: Address, refused: Refused
) -> None:
    assert "project_id" in refused(api.post, address("ratings/?project_id=1"), row())["fields"]


def test_an_admin_may_rate_for_anybody(
    put: Callable[..., Any], api_for: Callable[..., APIClient], admin: User
) -> None:
    assert put(row(rater="cleo"), api_for(admin)) == counts(created=1)
    assert not Member.objects.filter(user=admin).exists()


@pytest.mark.parametrize("many", [1, 20, 50, 300])
def test_a_batch_of_any_size_leaves_a_whole_history(
    put: Callable[..., Any], project: Project, lead: User, many: int
) -> None:
    """One, few, some and many ratings are written by different statements."""
    words = "'%s' \\ \"{1}\",\n\t$1 \\u0000 好"
    Item.objects.bulk_create(Item(project=project, key=f"k{number}") for number in range(many))
    times = [f"2026-03-{1 + number % 9:02}T10:00:00Z" for number in range(many)]
    given = [
        row(f"k{number}", label="major", rated_at=times[number], comment=f"{words} {number}")
        for number in range(many)
    ]
    assert put(given) == counts(created=many)
    assert put([{**one, "label": "minor", "comment": "changed"} for one in given]) == counts(
        changed=many
    )
    both = Revision.objects.filter(rating__item__project=project).order_by("rating__item_id", "id")
    labels = dict(Category.objects.filter(question__project=project).values_list("code", "label"))
    said = [
        (
            line.rating.item.key,
            labels[line.code],
            line.comment,
            line.rated_at,
            line.by_id,
            line.source,
        )
        for line in both.select_related("rating__item")
    ]
    when = [datetime.datetime.fromisoformat(time) for time in times]
    assert said == [
        (f"k{number}", label, comment, when[number], lead.pk, "api")
        for number in range(many)
        for label, comment in (("major", f"{words} {number}"), ("minor", "changed"))
    ]
    assert not both.filter(superseded=True).exists()


ODD = [
    "\\",
    "\\\\",
    r"\N",
    r"\.",
    "a\tb",
    "two\nlines",
    "two\r\nlines",
    r"\t\n",
    "",
    " ",
    "NULL",
    '"',
    "\x1f",
    "很好 🙂",
]


def test_many_comments_are_stored_as_they_were_sent(
    put: Callable[..., Any], project: Project
) -> None:
    """PostgreSQL takes them as text whose rows and columns are parted by characters that a comment
    may have."""
    Item.objects.bulk_create(
        Item(project=project, key=f"k{number}") for number in range(20 * len(ODD))
    )
    given = [row(f"k{number}", comment=comment) for number, comment in enumerate(ODD * 20)]
    assert put(given) == counts(created=len(given))
    by_item = Rating.objects.order_by("item_id")
    assert list(by_item.values_list("comment", flat=True)) == ODD * 20
    assert list(by_item.values_list("revisions__comment", flat=True)) == ODD * 20


def asked(client: APIClient, path: str, rows: Any = None) -> int:
    with journeys() as taken:
        answer = client.get(path) if rows is None else client.post(path, rows, format="json")
        assert answer.status_code == 200, answer.content
    return taken()


def test_number_of_journeys(
    api: APIClient,
    address: Address,
    project: Project,
    api_for: Callable[..., APIClient],
    annotator: User,
    give: Callable[..., None],
) -> None:
    mine = api_for(annotator)
    give(project, "ann", "i2")
    for client in (api, mine):
        client.get(address())  # the token's first use writes
    Item.objects.bulk_create(Item(project=project, key=f"k{number}") for number in range(1_000))
    postgresql = connection.vendor == "postgresql"
    # On PostgreSQL: token and project, what is named, SAVEPOINT, what stands, what is new, RELEASE.
    single = 6 if postgresql else 13
    places = rater = 0 if postgresql else 1  # there they go with the rest
    assert asked(api, address("ratings/"), row()) == single
    assert asked(api, address("ratings/"), row(label="major")) == single - places
    assert asked(mine, address("ratings/"), row("i2")) == single + rater
    many = [row(f"k{number}", rater) for number in range(1_000) for rater in ("ben", "cleo")]
    assert asked(api, address("ratings/"), many) == single + (4 if postgresql else 0)
    assert asked(api, address("ratings/?page_size=1000")) == (4 if postgresql else 5)
