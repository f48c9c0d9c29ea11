"""Agreement of filtered ratings and of item versions, and its details, through the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from metrics import change_attribution
from metrics.agreement import report
from metrics.filtered import filtered_jobs
from metrics.jobs.question_updates import update_question
from metrics.models import FilteredResult
from projects.models import Item, Project, Question, Rater
from projects.services.item_upsert import upsert_items
from ratings.models import Rating
from tests.ratings.imports.wizard_client import get_page_text

Address = Callable[..., str]


@pytest.fixture
def rated_question(question: Question, rate: Any, utc: Any) -> Question:
    """Return a counted question: ann and ben on four items in two weeks; i3 and i4 are German.

    Afterwards i1 gets another text, and ben rates it again.
    """
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
    replace_item_text(question.project, "i1")
    rate(question, "i1", "b/en", "major")
    update_question(question.pk)
    return question


def replace_item_text(project: Project, key: str) -> None:
    upsert_items(project=project, rows=[{"key": key, "body": {"text": "Another text"}}], by=None)


@pytest.fixture
def get(api: APIClient, address: Address) -> Callable[..., Any]:
    """Return a function that gets an answer; when a worker has to compute it, the computed one."""

    def get_answer(tail: str) -> Any:
        response = api.get(address(f"agreement/{tail}"))
        if response.status_code == 202:
            assert response.json() == {"computed_at": None}
            assert response["Retry-After"] == "1"
            filtered_jobs.FILTERED_RESULT_JOB.sweep()
            change_attribution.ATTRIBUTION_JOB.sweep()
            response = api.get(address(f"agreement/{tail}"))
        assert response.status_code == 200, response.content
        return response.json()

    return get_answer


def test_agreement_of_filtered_items(get: Any, rated_question: Question) -> None:
    unfiltered, german = get(""), get("?item.language=de")
    assert german.keys() == unfiltered.keys()
    assert (german["ratings"], german["items"]["with_two_or_more"]) == (4, 2)
    expected = report([[2, 1], [0, 0]], categories=4, values=[0, 1, 2, 3])
    assert german["coefficients"]["fleiss_kappa"]["value"] == pytest.approx(
        expected["fleiss_kappa"]
    )
    assert german["headline"]["name"] == unfiltered["headline"]["name"]
    assert german["headline"]["n_items"] == 2


def test_pairs_raters_and_trends_of_filtered_items(get: Any, rated_question: Question) -> None:
    (pair,) = get("pairs/?item.language=de&weights=none")["results"]
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
    unfiltered = get("raters/")["results"]
    assert rows[0].keys() == unfiltered[0].keys()
    (week,) = get("trend/?item.language=de")["results"]
    assert (week["start"], week["n_items"]) == ("2026-03-09", 2)
    assert week.keys() == get("trend/")["results"][0].keys()
    assert week["cumulative"]["value"] == week["value"]
    (rater_week,) = get("raters/ann/trend/?item.language=de")["results"]
    assert (rater_week["start"], rater_week["n_items"]) == ("2026-03-09", 2)
    assert [row["rater"] for row in get("raters/?exclude=b/en")["results"]] == ["ann"]
    page = get("raters/?item.language=de&page_size=1")
    assert [row["rater"] for row in page["results"]] == ["ann"]
    assert "item.language=de" in page["next"]


def test_agreement_by_item_version(get: Any, rated_question: Question) -> None:
    # of i1 ann rated the first text, ben the second one
    first, second = get("?content_version=1"), get("?content_version=2")
    assert (first["ratings"], second["ratings"]) == (7, 1)
    assert get("?content_version=current")["ratings"] == 7
    assert first["items"]["with_two_or_more"] == 3


def test_pages_filter_by_item_version(
    client_for: Any, lead: Any, project: Project, rated_question: Question
) -> None:
    client, address = client_for(lead), f"/projects/{project.pk}/"
    client.get(f"{address}?content_version=current")
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    page = get_page_text(client.get(f"{address}?content_version=current"))
    assert "of the current content" in page
    assert "of item version 2" in page
    assert client.get(f"{address}?content_version=3").status_code == 400
    assert client.get(f"{address}?content_version=none").status_code == 400


def test_categories_and_disputed_items(get: Any, rated_question: Question) -> None:
    unfiltered = get("categories/")["categories"]
    assert [row["label"] for row in unfiltered] == ["none", "minor", "major", "critical"]
    german = get("categories/?item.language=de")["categories"]
    assert [row["ratings"] for row in german] == [2, 1, 1, 0]
    disputed = get("disputed/?weights=none")
    assert disputed["complete"]
    assert [row["item"] for row in disputed["items"]] == ["i3", "i1"]
    assert disputed["items"][0]["counts"] == {"minor": 1, "major": 1}
    assert disputed["items"][0]["disagreement"] == 1.0
    weighted = get("disputed/?item.language=de&weights=quadratic")
    assert [row["item"] for row in weighted["items"]] == ["i3"]
    assert 0 < weighted["items"][0]["disagreement"] < 1


def test_attribution_of_a_change(get: Any, rated_question: Question) -> None:
    answer = get("change/?from=2026-03-02&to=2026-03-09")
    assert (answer["from"], answer["to"]) == ("2026-03-02", "2026-03-09")
    assert get("change/?period=month")["change"] is None  # there is only one month
    assert get("change/") == answer  # the last two
    assert {row["name"] for row in answer["raters"]} == {"ann", "b/en"}
    assert [row["name"] for row in answer["categories"]] == ["none", "minor", "major", "critical"]
    assert answer["change"] == pytest.approx(answer["after"]["value"] - answer["before"]["value"])


def test_stale_result_of_a_filter_is_not_final(
    get: Any, rate: Callable[..., Any], rated_question: Question
) -> None:
    """Counted ratings that the filter's result does not contain yet are uncounted for it."""
    assert get("?item.language=de")["uncounted"] == 0
    rate(rated_question, "i3", "third", "minor")
    update_question(rated_question.pk)
    assert get("")["uncounted"] == 0
    stale = get("?item.language=de")
    assert (stale["ratings"], stale["uncounted"]) == (4, 1)
    FilteredResult.objects.update(paused_until=None)
    assert get("?item.language=de") == stale  # which requests it again
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    current = get("?item.language=de")
    assert (current["ratings"], current["uncounted"]) == (5, 0)


def test_attribution_of_a_population(
    get: Any, rate: Callable[..., Any], rated_question: Question
) -> None:
    """The explanation is of people where a model rates, too, unless another is requested."""
    before = get("change/")
    project = rated_question.project
    Rater.objects.create(project=project, key="gpt", kind="model")
    for rating in Rating.objects.filter(rater__key="ann").select_related("item"):
        rate(rated_question, rating.item.key, "gpt", "minor", rated_at=rating.rated_at)
    update_question(rated_question.pk)
    assert get("change/") == get("change/?population=people") == before
    everybody = get("change/?population=all")
    assert {row["name"] for row in everybody["raters"]} == {"ann", "b/en", "gpt"}
    assert everybody["after"]["n_ratings"] > before["after"]["n_ratings"]
    models = get("change/?population=models")
    assert (models["raters"], models["after"]["value"]) == ([], None)


@pytest.mark.parametrize(
    ("tail", "field", "message"),
    [
        ("?kind=robot", "filter", "“kind” must be one of human, model, not “robot”"),
        ("?content_version=latest", "filter", "“content_version” must be one of"),
        ("?from=2026", "filter", "must be a date"),
        ("pairs/?nonsense=1", "nonsense", "unknown parameter"),
        ("trend/?coefficient=none", "coefficient", "one of"),
        ("change/?to=2026-03-09", "from", "the first day of a week with ratings is needed; 2026-"),
        ("change/?from=2026-03-09&to=2026-03-02", "to", "must be later than 'from'"),
        ("change/?population=robots", "population", "one of people, models, all"),
        ("change/?period=day&from=2026-03-02&to=2026-03-09", "period", "one of week, month"),
    ],
)
def test_bad_queries_are_refused(
    api: APIClient, address: Address, rated_question: Question, tail: str, field: str, message: str
) -> None:
    response = api.get(address(f"agreement/{tail}"))
    assert response.status_code == 400
    assert message in response.json()["error"]["fields"][field]


def test_unknown_attribute_value_is_refused_with_valid_ones(
    get: Any, api: APIClient, address: Address, rated_question: Any
) -> None:
    get("?item.language=de")
    response = api.get(address("agreement/?item.language=fr"))
    assert response.status_code == 400
    assert "must be one of de" in response.json()["error"]["fields"]["filter"]
