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
from tests.query_counts import measure_round_trips

Address = Callable[..., str]
Refused = Callable[..., dict[str, Any]]
World = Callable[[], dict[str, Any]]

pytestmark = pytest.mark.usefixtures("stocked")


def build_counts(**numbers: int) -> dict[str, int]:
    return {"created": 0, "changed": 0, "unchanged": 0, "withdrawn": 0} | numbers


@pytest.fixture
def post_rows(api: APIClient, address: Address) -> Callable[..., dict[str, Any]]:
    """Return a function that posts rating rows, as the lead by default, and returns the counts."""

    def post(rows: Any, client: APIClient = api) -> dict[str, Any]:
        response = client.post(address("ratings/"), rows, format="json")
        assert response.status_code == 200, response.content
        return response.json()

    return post


@pytest.fixture
def list_ratings(api: APIClient, address: Address) -> Callable[..., list[Any]]:
    """Return a function that lists ratings, as the lead by default."""

    def get_results(query: str = "", client: APIClient = api) -> list[Any]:
        response = client.get(address(f"ratings/{query}"))
        assert response.status_code == 200, response.content
        assert response.json()["next"] is None
        return response.json()["results"]

    return get_results


def build_row(
    item: Any = "i1", rater: Any = "ann", label: Any = "minor", **fields: Any
) -> dict[str, Any]:
    return {"item": item, "rater": rater, "label": label, **fields}


def get_labels(rows: list[Any]) -> list[tuple[str, str, str]]:
    """Return (item, rater, label) of each row."""
    return [(row_data["item"], row_data["rater"], row_data["label"]) for row_data in rows]


def test_rating_is_created_changed_withdrawn_and_created_again(
    post_rows: Callable[..., Any], list_ratings: Callable[..., Any]
) -> None:
    assert post_rows(build_row()) == build_counts(created=1)
    assert post_rows(build_row()) == build_counts(unchanged=1)
    assert post_rows([build_row(label="major")]) == build_counts(changed=1)
    assert get_labels(list_ratings()) == [("i1", "ann", "major")]
    assert post_rows(build_row(label=None)) == build_counts(withdrawn=1)
    assert list_ratings() == []
    assert post_rows(build_row(label=None)) == build_counts(unchanged=1)
    assert post_rows(build_row(item="i2", label=None)) == build_counts(unchanged=1)
    assert post_rows(build_row(label="none")) == build_counts(created=1)
    assert list(Revision.objects.order_by("pk").values_list("code", "source")) == [
        (1, "api"),
        (2, "api"),
        (-1, "api"),
        (0, "api"),
    ]


def test_many_in_one_request(
    post_rows: Callable[..., Any], list_ratings: Callable[..., Any], lead: User
) -> None:
    post_rows([build_row(), build_row(rater="ben")])
    mixed = [
        build_row(),
        build_row(rater="ben", label="major"),
        build_row("i2"),
        build_row("i3", "cleo"),
        build_row("i4", label=None),
    ]
    assert post_rows(mixed) == build_counts(created=2, changed=1, unchanged=2)
    assert get_labels(list_ratings()) == [
        ("i1", "ann", "minor"),
        ("i1", "ben", "major"),
        ("i2", "ann", "minor"),
        ("i3", "cleo", "minor"),
    ]
    assert set(Revision.objects.values_list("by", flat=True)) == {lead.pk}


def test_rating_has_times_and_comment(
    post_rows: Callable[..., Any], list_ratings: Callable[..., Any]
) -> None:
    post_rows(build_row(rated_at="2026-03-01T10:30:00+02:00", comment="Not\nsure"))
    rating_data = list_ratings()[0]
    assert set(rating_data) == {
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
    assert rating_data["question"] == "severity"
    assert rating_data["rated_at"] == "2026-03-01T08:30:00Z"
    assert rating_data["changed_at"].endswith("Z")
    assert rating_data["comment"] == "Not\nsure"


def test_same_time_and_comment_again_change_nothing(
    post_rows: Callable[..., Any], world: World
) -> None:
    rows = [build_row(rated_at="2026-03-01T10:30:00.123456+02:00", comment="x"), build_row("i2")]
    post_rows(rows)
    before = world()
    assert post_rows(rows) == build_counts(unchanged=2)
    assert post_rows([build_row(), build_row("i2", comment=None, rated_at=None)]) == build_counts(
        unchanged=2
    )
    assert world() == before


def test_equal_spellings_are_one_label(
    post_rows: Callable[..., Any], list_ratings: Callable[..., Any], question: Any
) -> None:
    labels = ["1", "caf\u00e9", "TRUE"]
    for category, label in zip(question.categories.order_by("position"), labels, strict=False):
        category.label = label
        category.save()
    rows = [
        build_row(label="1.0"),
        build_row("i2", label="cafe\u0301"),
        build_row("i2", "ben", label="true"),
    ]
    assert post_rows(rows) == build_counts(created=3)
    assert {label for _item, _rater, label in get_labels(list_ratings())} == set(labels)


INVALID_ROWS: list[tuple[Any, str]] = [
    (build_row(label="mjor"), "unknown label 'mjor'; one of none, minor, major, critical"),
    (build_row(label=" minor"), "unknown label ' minor'"),
    (build_row(label=""), "unknown label ''"),
    (build_row(label=1), "'label' must be a text or null, not a number"),
    (build_row(label=1.5), "'label' must be a text or null, not a number"),
    (build_row(label=True), "'label' must be a text or null, not true"),
    (build_row(label=["minor"]), "'label' must be a text or null, not a list"),
    ({"item": "i1", "rater": "ann"}, "'label' is missing; null withdraws a rating"),
    (build_row(item="i9"), "unknown item 'i9'"),
    (build_row(item="theirs"), "unknown item 'theirs'"),
    (build_row(item=7), "'item' must be a text, not a number"),
    (build_row(item=""), "'item' must have 1 to 255 characters"),
    ({"rater": "ann", "label": "minor"}, "'item' is missing"),
    (build_row(rater="zoe"), "unknown rater 'zoe'"),
    (build_row(rater=None), "'rater' must be a text, not null"),
    ({"item": "i1", "label": "minor"}, "'rater' is missing"),
    (build_row(question="colour"), "unknown question 'colour'; one of severity"),
    (build_row(question=1), "'question' must be a text, not a number"),
    (build_row(rated_at="yesterday"), "rated_at: 'yesterday' isn't ISO 8601"),
    (build_row(rated_at="2026-03-01T10:00:00"), "has no time zone"),
    (build_row(rated_at="2999-01-01T00:00:00Z"), "is in the future"),
    (build_row(rated_at="1066-01-01T00:00:00Z"), "is before 1970-01-02"),
    (build_row(rated_at=1_700_000_000), "'rated_at' must be a text or null, not a number"),
    (build_row(comment=5), "'comment' must be a text or null, not a number"),
    (build_row(comment="x" * 10_001), "it has 10001"),
    (
        build_row(weight=3),
        "unknown field 'weight'; one of item, rater, question, label, rated_at, comment",
    ),
    (build_row(id=1), "unknown field 'id'"),
    ("i1,ann,minor", "an object is needed, not a text"),
    (build_row("i0", "ben"), "the same item and rater stand in row 0 already"),
    (
        build_row(item="i9", rater="zoe", label="mjor"),
        "unknown label 'mjor'; one of none, minor, major, critical; unknown item",
    ),
]


@pytest.mark.parametrize(("invalid_row", "message"), INVALID_ROWS)
def test_invalid_row_is_reported_and_nothing_is_stored(
    api: APIClient,
    address: Address,
    refused: Refused,
    make_project: Callable[..., Project],
    invalid_row: Any,
    message: str,
) -> None:
    Item.objects.create(project=make_project("Other"), key="theirs")
    error = refused(
        api.post, address("ratings/"), [build_row("i0", "ben"), invalid_row, build_row("i3", "ben")]
    )
    assert list(error["fields"]["rows"]) == ["1"]
    assert message in error["fields"]["rows"]["1"]


def test_all_invalid_rows_are_reported_together(
    api: APIClient, address: Address, refused: Refused
) -> None:
    rows = [
        build_row(f"i{number % 5}", ("ann", "ben", "cleo")[number // 5]) for number in range(15)
    ]
    rows[3]["label"] = 3
    rows[7]["label"] = "mjor"
    rows[12]["item"] = "i99"
    error = refused(api.post, address("ratings/"), rows)
    assert list(error["fields"]["rows"]) == ["3", "7", "12"]
    assert error["message"] == "3 ratings are not acceptable; nothing was stored."


def test_single_invalid_rating_is_reported_as_row_0(
    api: APIClient, address: Address, refused: Refused
) -> None:
    assert list(
        refused(api.post, address("ratings/"), build_row(label="mjor"))["fields"]["rows"]
    ) == ["0"]


def test_a_retired_category_is_unknown(api: APIClient, address: Address, refused: Refused) -> None:
    Category.objects.filter(label="critical").update(retired=True)
    error = refused(api.post, address("ratings/"), build_row(label="critical"))
    assert error["fields"]["rows"]["0"] == "unknown label 'critical'; one of none, minor, major"


@pytest.fixture
def second_question(project: Project) -> Question:
    new_question = Question.objects.create(project=project, key="spam", text="Spam?", position=1)
    Category.objects.bulk_create(
        Category(question=new_question, code=code, position=code, label=label)
        for code, label in enumerate(("yes", "no"))
    )
    return new_question


def test_several_questions_in_one_request(
    post_rows: Callable[..., Any], list_ratings: Callable[..., Any], second_question: Question
) -> None:
    rows = [
        build_row(question="severity"),
        build_row(question="spam", label="yes"),
        build_row("i2", question="spam", label="no"),
    ]
    assert post_rows(rows) == build_counts(created=3)
    assert [(row_data["question"], row_data["item"]) for row_data in list_ratings()] == [
        ("severity", "i1"),
        ("spam", "i1"),
        ("spam", "i2"),
    ]
    assert get_labels(list_ratings("?question=spam")) == [("i1", "ann", "yes"), ("i2", "ann", "no")]


def test_question_is_required_if_there_are_two(
    api: APIClient, address: Address, refused: Refused, second_question: Question
) -> None:
    error = refused(
        api.post,
        address("ratings/"),
        [build_row(question="severity"), build_row(question="spam"), build_row()],
    )
    assert error["fields"]["rows"] == {
        "1": "unknown label 'minor'; one of yes, no",
        "2": "'question' is missing; one of severity, spam",
    }


def test_annotator_rates_only_as_their_own_rater(
    post_rows: Callable[..., Any],
    api_for: Callable[..., APIClient],
    annotator: User,
    address: Address,
    refused: Refused,
    assign_items: Callable[..., None],
    project: Project,
) -> None:
    assign_items(project, "ann", "i1", "i2", "i3")
    annotator_api = api_for(annotator)
    assert post_rows({"item": "i1", "label": "minor"}, annotator_api) == build_counts(created=1)
    assert post_rows(build_row("i2"), annotator_api) == build_counts(created=1)
    assert set(Rating.objects.values_list("rater__key", flat=True)) == {"ann"}
    for other_rater in ("ben", "nobody"):
        refused(
            annotator_api.post,
            address("ratings/"),
            [build_row("i3"), build_row("i3", other_rater)],
            status=403,
        )


# --- annotators have the same limits here as on the rating page


@pytest.fixture
def annotator_api(
    api_for: Callable[..., APIClient],
    annotator: User,
    assign_items: Callable[..., None],
    project: Project,
) -> APIClient:
    """Return the client of the annotator, to whom i1 and i2 are assigned."""
    assign_items(project, "ann", "i1", "i2")
    return api_for(annotator)


def test_paused_rater_cannot_rate(
    annotator_api: APIClient,
    post_rows: Callable[..., Any],
    api: APIClient,
    address: Address,
    refused: Refused,
) -> None:
    Rater.objects.filter(key="ann").update(paused=True)
    error = refused(annotator_api.post, address("ratings/"), build_row(), status=403)
    assert "paused" in error["message"]
    assert post_rows(build_row(), api) == build_counts(
        created=1
    )  # leads are not limited by the pause


def test_unassigned_item_cannot_be_rated(
    annotator_api: APIClient,
    post_rows: Callable[..., Any],
    api: APIClient,
    address: Address,
    refused: Refused,
) -> None:
    rows = [build_row(), build_row("i3"), build_row("nowhere")]
    error = refused(annotator_api.post, address("ratings/"), rows)
    message = "unknown item '{}', or it was never given to you"
    assert error["fields"]["rows"] == {"1": message.format("i3"), "2": message.format("nowhere")}
    post_rows(build_row("i3"), api)  # a rating that the lead sent for them may be corrected
    assert post_rows(build_row("i3", label="major"), annotator_api) == build_counts(changed=1)


@pytest.mark.parametrize("state", ["skipped", "expired"])
def test_skipped_or_expired_item_cannot_be_rated(
    annotator_api: APIClient, address: Address, refused: Refused, state: str
) -> None:
    Assignment.objects.filter(item__key="i1").update(state=state, closed_at=timezone.now())
    refused(annotator_api.post, address("ratings/"), build_row())


def test_closed_corrections_apply_to_the_api(
    annotator_api: APIClient,
    post_rows: Callable[..., Any],
    address: Address,
    refused: Refused,
    project: Project,
    api: APIClient,
) -> None:
    Project.objects.filter(pk=project.pk).update(allows_corrections=False)
    assert post_rows([build_row(), build_row("i2")], annotator_api) == build_counts(created=2)
    assert post_rows(build_row(), annotator_api) == build_counts(unchanged=1)
    for changed_row in (
        build_row(label="major"),
        build_row(label=None),
        build_row(comment="now with words"),
    ):
        error = refused(annotator_api.post, address("ratings/"), changed_row, status=403)
        assert "are final" in error["message"]
    Assignment.objects.update(state="done", closed_at=timezone.now())
    post_rows(build_row(label=None), api)
    refused(annotator_api.post, address("ratings/"), build_row(), status=403)
    assert post_rows([build_row(), build_row("i2", label="major")], api) == build_counts(
        created=1, changed=1
    )


def test_annotator_cannot_set_the_time(
    annotator_api: APIClient, post_rows: Callable[..., Any], address: Address, refused: Refused
) -> None:
    error = refused(
        annotator_api.post, address("ratings/"), build_row(rated_at="1970-01-02T00:00:00Z")
    )
    assert error["fields"]["rows"]["0"].startswith("'rated_at' is for leads")
    assert post_rows(build_row(rated_at=None), annotator_api) == build_counts(created=1)


def test_member_removed_during_the_request_cannot_rate(
    annotator_api: APIClient, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The member is removed while the request waits to be written, after the permission check."""
    store = write_batching.store_request

    def remove_member_and_store(batch: Any) -> Any:
        Member.objects.filter(user=batch.user).delete()
        return store(batch)

    monkeypatch.setattr(write_batching, "store_request", remove_member_and_store)
    assert annotator_api.post(address("ratings/"), build_row(), format="json").status_code == 403
    assert not Rating.objects.exists()


def test_an_annotator_without_a_rater_cannot_rate(
    api_for: Callable[..., APIClient], annotator: User, address: Address, refused: Refused
) -> None:
    Rater.objects.filter(key="ann").update(user=None)
    refused(
        api_for(annotator).post, address("ratings/"), {"item": "i1", "label": "minor"}, status=403
    )


def test_annotator_sees_only_their_own_ratings(
    post_rows: Callable[..., Any],
    list_ratings: Callable[..., Any],
    api_for: Callable[..., APIClient],
    annotator: User,
) -> None:
    post_rows([build_row(), build_row("i2"), build_row(rater="ben"), build_row("i3", "ben")])
    annotator_api = api_for(annotator)
    assert get_labels(list_ratings(client=annotator_api)) == [
        ("i1", "ann", "minor"),
        ("i2", "ann", "minor"),
    ]
    assert (
        list_ratings("?rater=ben", annotator_api)
        == list_ratings("?item=i3", annotator_api)
        == list_ratings("?rater=nobody", annotator_api)
        == []
    )


def test_filters(post_rows: Callable[..., Any], list_ratings: Callable[..., Any]) -> None:
    post_rows([build_row(), build_row("i2", comment="a"), build_row(rater="ben")])
    changed_at = list_ratings("?item=i2")[0]["changed_at"]
    post_rows([build_row(label="major"), build_row("i2", label=None)])
    assert get_labels(list_ratings("?item=i1")) == [("i1", "ann", "major"), ("i1", "ben", "minor")]
    assert get_labels(list_ratings("?item=i1&rater=ben")) == [("i1", "ben", "minor")]
    assert list_ratings("?item=nothing") == []
    assert len(list_ratings(f"?since={changed_at}")) == 2
    last_changed_at = list_ratings("?item=i1&rater=ann")[0]["changed_at"]
    assert get_labels(list_ratings(f"?since={last_changed_at}")) == [("i1", "ann", "major")]
    assert get_labels(list_ratings(f"?since={last_changed_at}&withdrawn=true")) == [
        ("i1", "ann", "major"),
        ("i2", "ann", None),
    ]
    assert get_labels(list_ratings("?since=2026-01-01T00:00:00+02:00")) == get_labels(
        list_ratings()
    )


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("?label=colour", "label"),
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
def test_invalid_query_is_refused(
    api: APIClient, address: Address, refused: Refused, query: str, field: str
) -> None:
    assert list(refused(api.get, address(f"ratings/{query}"))["fields"]) == [field]


def test_pages_contain_each_rating_once(
    api: APIClient, post_rows: Callable[..., Any], address: Address, second_question: Question
) -> None:
    rows = [
        build_row(f"i{item}", rater, label, question=question)
        for question, label in (("severity", "minor"), ("spam", "no"))
        for item in range(5)
        for rater in ("ann", "ben", "cleo")
    ]
    post_rows(rows)
    results: list[Any] = []
    path = address("ratings/?page_size=7")
    while path:
        page = api.get(path).json()
        assert len(page["results"]) <= 7
        results += page["results"]
        path = page["next"]
    assert [
        (row_data["question"], row_data["item"], row_data["rater"]) for row_data in results
    ] == [(sent_row["question"], sent_row["item"], sent_row["rater"]) for sent_row in rows]


def test_query_parameters_of_a_post_are_refused(
    api: APIClient, address: Address, refused: Refused
) -> None:
    assert (
        "project_id" in refused(api.post, address("ratings/?project_id=1"), build_row())["fields"]
    )


def test_admin_may_rate_for_any_rater(
    post_rows: Callable[..., Any], api_for: Callable[..., APIClient], admin: User
) -> None:
    assert post_rows(build_row(rater="cleo"), api_for(admin)) == build_counts(created=1)
    assert not Member.objects.filter(user=admin).exists()


@pytest.mark.parametrize("n_rows", [1, 20, 50, 300])
def test_batch_of_any_size_leaves_a_complete_history(
    post_rows: Callable[..., Any], project: Project, lead: User, n_rows: int
) -> None:
    """Different statements write one, few, some and many ratings."""
    comment_start = "'%s' \\ \"{1}\",\n\t$1 \\u0000 好"
    Item.objects.bulk_create(Item(project=project, key=f"k{number}") for number in range(n_rows))
    times = [f"2026-03-{1 + number % 9:02}T10:00:00Z" for number in range(n_rows)]
    rows = [
        build_row(
            f"k{number}", label="major", rated_at=times[number], comment=f"{comment_start} {number}"
        )
        for number in range(n_rows)
    ]
    assert post_rows(rows) == build_counts(created=n_rows)
    assert post_rows(
        [{**row_data, "label": "minor", "comment": "changed"} for row_data in rows]
    ) == build_counts(changed=n_rows)
    revisions = Revision.objects.filter(rating__item__project=project).order_by(
        "rating__item_id", "id"
    )
    label_by_code = dict(
        Category.objects.filter(question__project=project).values_list("code", "label")
    )
    stored = [
        (
            revision.rating.item.key,
            label_by_code[revision.code],
            revision.comment,
            revision.rated_at,
            revision.by_id,
            revision.source,
        )
        for revision in revisions.select_related("rating__item")
    ]
    rated_times = [datetime.datetime.fromisoformat(time) for time in times]
    assert stored == [
        (f"k{number}", label, comment, rated_times[number], lead.pk, "api")
        for number in range(n_rows)
        for label, comment in (("major", f"{comment_start} {number}"), ("minor", "changed"))
    ]
    assert not revisions.filter(superseded=True).exists()


UNUSUAL_COMMENTS = [
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
    post_rows: Callable[..., Any], project: Project
) -> None:
    """Special characters in comments survive the bulk write.

    PostgreSQL receives them as text in which special characters separate rows and columns.
    """
    Item.objects.bulk_create(
        Item(project=project, key=f"k{number}") for number in range(20 * len(UNUSUAL_COMMENTS))
    )
    rows = [
        build_row(f"k{number}", comment=comment)
        for number, comment in enumerate(UNUSUAL_COMMENTS * 20)
    ]
    assert post_rows(rows) == build_counts(created=len(rows))
    ratings = Rating.objects.order_by("item_id")
    assert list(ratings.values_list("comment", flat=True)) == UNUSUAL_COMMENTS * 20
    assert list(ratings.values_list("revisions__comment", flat=True)) == UNUSUAL_COMMENTS * 20


def count_request_queries(client: APIClient, path: str, rows: Any = None) -> int:
    """Return the number of round trips to the database of one request."""
    with measure_round_trips() as get_query_count:
        response = client.get(path) if rows is None else client.post(path, rows, format="json")
        assert response.status_code == 200, response.content
    return get_query_count()


def test_number_of_queries(
    api: APIClient,
    address: Address,
    project: Project,
    api_for: Callable[..., APIClient],
    annotator: User,
    assign_items: Callable[..., None],
) -> None:
    annotator_api = api_for(annotator)
    assign_items(project, "ann", "i2")
    for client in (api, annotator_api):
        client.get(address())  # the token's first use writes
    Item.objects.bulk_create(Item(project=project, key=f"k{number}") for number in range(1_000))
    postgresql = connection.vendor == "postgresql"
    # On PostgreSQL: token and project, items and raters, SAVEPOINT, current ratings, new ratings,
    # RELEASE.
    n_queries_of_one = 6 if postgresql else 13
    n_slot_queries = rater = 0 if postgresql else 1  # PostgreSQL sends them with the rest
    assert count_request_queries(api, address("ratings/"), build_row()) == n_queries_of_one
    assert (
        count_request_queries(api, address("ratings/"), build_row(label="major"))
        == n_queries_of_one - n_slot_queries
    )
    assert (
        count_request_queries(annotator_api, address("ratings/"), build_row("i2"))
        == n_queries_of_one + rater
    )
    rows = [build_row(f"k{number}", rater) for number in range(1_000) for rater in ("ben", "cleo")]
    assert count_request_queries(api, address("ratings/"), rows) == n_queries_of_one + (
        4 if postgresql else 0
    )
    assert count_request_queries(api, address("ratings/?page_size=1000")) == (
        4 if postgresql else 5
    )
