"""Agreement of some ratings, of versions of items, and what lies behind it, through the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from metrics.agreement import report
from metrics.attribution import attribution_jobs
from metrics.filtered import filtered_jobs
from metrics.jobs.question_updates import update_question
from projects.models import Item, Project, Question, Rater
from projects.services.items.upsert import upsert_items
from tests.ratings.imports.wizard_client import words

Address = Callable[..., str]


@pytest.fixture
def rated(question: Question, rate: Any, utc: Any) -> Question:
    """ann and ben on four items in two weeks; i3 and i4 are German. Then i1 is another text, and
    ben rates it again."""
    for item, ann, ben, day in (
        ("i1", "minor", "minor", 2),
        ("i2", "major", "major", 2),
        ("i3", "major", "minor", 10),
        ("i4", "none", "none", 10),
    ):
        for rater, label in (("ann", ann), ("b/en", ben)):
            rate(question, item, rater, label, rated_at=utc(2026, 3, day, 9))
    Item.objects.filter(key__in=("i3", "i4")).update(attributes={"language": "de"})
    Rater.objects.filter(key="b/en").update(group="vendor")
    change_item(question.project, "i1")
    rate(question, "i1", "b/en", "major")
    update_question(question.pk)
    return question


def change_item(project: Project, key: str) -> None:
    upsert_items(project=project, rows=[{"key": key, "body": {"text": "Another text"}}], by=None)


@pytest.fixture
def get(api: APIClient, address: Address) -> Callable[..., Any]:
    """The answer; of what a worker has to make, the one after it was made."""

    def do(tail: str) -> Any:
        answer = api.get(address(f"agreement/{tail}"))
        if answer.status_code == 202:
            assert answer.json() == {"computed_at": None}
            assert answer["Retry-After"] == "1"
            filtered_jobs.FILTERED_RESULT_JOB.sweep()
            attribution_jobs.ATTRIBUTION_JOB.sweep()
            answer = api.get(address(f"agreement/{tail}"))
        assert answer.status_code == 200, answer.content
        return answer.json()

    return do


def test_numbers_of_some_items(get: Any, rated: Question) -> None:
    whole, german = get(""), get("?item.language=de")
    assert german.keys() == whole.keys()
    assert (german["ratings"], german["items"]["with_two_or_more"]) == (4, 2)
    truth = report([[2, 1], [0, 0]], categories=4, values=[0, 1, 2, 3])
    assert german["coefficients"]["fleiss_kappa"]["value"] == pytest.approx(truth["fleiss_kappa"])
    assert german["headline"]["name"] == whole["headline"]["name"]
    assert german["headline"]["n_items"] == 2


def test_pairs_raters_and_trends_of_some_items(get: Any, rated: Question) -> None:
    (pair,) = get("pairs/?item.language=de")["results"]
    assert (pair["rater_a"], pair["rater_b"], pair["n_items"]) == ("ann", "b/en", 2)
    assert pair["table"][2] == [0, 1, 0, 0]
    assert pair["observed"] == 0.5
    weighted = get("pairs/?item.language=de&weights=linear")["results"][0]
    assert weighted["observed"] > 0.5
    rows = get("raters/?item.language=de")["results"]
    assert [(row["rater"], row["group"], row["ratings"]) for row in rows] == [
        ("ann", "", 2),
        ("b/en", "vendor", 2),
    ]
    whole = get("raters/")["results"]
    assert rows[0].keys() == whole[0].keys()
    (week,) = get("trend/?item.language=de")["results"]
    assert (week["start"], week["n_items"]) == ("2026-03-09", 2)
    assert week.keys() == get("trend/")["results"][0].keys()
    assert week["cumulative"]["value"] == week["value"]
    (own,) = get("raters/ann/trend/?item.language=de")["results"]
    assert (own["start"], own["n_items"]) == ("2026-03-09", 2)
    assert [row["rater"] for row in get("raters/?without=b/en")["results"]] == ["ann"]
    page = get("raters/?item.language=de&page_size=1")
    assert [row["rater"] for row in page["results"]] == ["ann"]
    assert "item.language=de" in page["next"]


def test_versions_of_an_items_content(get: Any, rated: Question) -> None:
    # of i1 ann rated the first text, ben the second one
    first, second = get("?content=1"), get("?content=2")
    assert (first["ratings"], second["ratings"]) == (7, 1)
    assert get("?content=current")["ratings"] == 7
    assert first["items"]["with_two_or_more"] == 3


def test_the_pages_know_versions_too(
    client_for: Any, lead: Any, project: Project, rated: Question
) -> None:
    client, address = client_for(lead), f"/projects/{project.pk}/"
    client.get(f"{address}?content=current")
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    page = words(client.get(f"{address}?content=current"))
    assert "of today's content of items" in page
    assert "of version 2 of items" in page
    assert client.get(f"{address}?content=3").status_code == 400
    assert client.get(f"{address}?content=none").status_code == 400


def test_categories_and_disputed_items(get: Any, rated: Question) -> None:
    whole = get("categories/")["categories"]
    assert [one["label"] for one in whole] == ["none", "minor", "major", "critical"]
    german = get("categories/?item.language=de")["categories"]
    assert [one["ratings"] for one in german] == [2, 1, 1, 0]
    found = get("disputed/")
    assert found["whole"]
    assert [one["item"] for one in found["items"]] == ["i3", "i1"]
    assert found["items"][0]["counts"] == {"minor": 1, "major": 1}
    assert found["items"][0]["disagreement"] == 1.0
    some = get("disputed/?item.language=de&weights=quadratic")
    assert [one["item"] for one in some["items"]] == ["i3"]
    assert 0 < some["items"][0]["disagreement"] < 1


def test_what_explains_a_change(get: Any, rated: Question) -> None:
    found = get("change/?from=2026-03-02&to=2026-03-09")
    assert (found["from"], found["to"]) == ("2026-03-02", "2026-03-09")
    assert get("change/?span=month")["move"] is None  # there is one month alone
    assert get("change/") == found  # the last two
    assert {one["name"] for one in found["raters"]} == {"ann", "b/en"}
    assert [one["name"] for one in found["categories"]] == ["none", "minor", "major", "critical"]
    assert found["move"] == pytest.approx(found["after"]["value"] - found["before"]["value"])


@pytest.mark.parametrize(
    ("tail", "field", "said"),
    [
        ("?kind=robot", "filter", "“kind” cannot be “robot”"),
        ("?content=latest", "filter", "“content” cannot be “latest”"),
        ("?from=2026", "filter", "must be a day"),
        ("pairs/?nonsense=1", "nonsense", "unknown parameter"),
        ("trend/?coefficient=none", "coefficient", "one of"),
        ("change/?to=2026-03-09", "from", "the first day of a week with ratings is needed; 2026-"),
        ("change/?from=2026-03-09&to=2026-03-02", "to", "must be later than 'from'"),
        ("change/?span=day&from=2026-03-02&to=2026-03-09", "span", "one of week, month"),
    ],
)
def test_bad_queries_are_refused(
    api: APIClient, address: Address, rated: Question, tail: str, field: str, said: str
) -> None:
    answer = api.get(address(f"agreement/{tail}"))
    assert answer.status_code == 400
    assert said in answer.json()["error"]["fields"][field]


def test_what_there_is_not_is_named(get: Any, api: APIClient, address: Address, rated: Any) -> None:
    get("?item.language=de")
    answer = api.get(address("agreement/?item.language=fr"))
    assert answer.status_code == 400
    assert "there is: de" in answer.json()["error"]["fields"]["filter"]
