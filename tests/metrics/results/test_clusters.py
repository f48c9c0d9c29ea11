"""Clusters of items: intervals on every surface, kept up to date by the sweep."""

from __future__ import annotations

import csv
import datetime
import io
import json
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from metrics import tasks
from metrics.agreement.coefficients import fleiss
from metrics.agreement.counts.tally import count_patterns
from metrics.agreement.counts.wider_intervals import widen_interval
from metrics.integrity import audit
from metrics.jobs.question_updates import update_question
from metrics.models import CountState, Diagnosis, FilteredResult, Report
from metrics.results import refresh
from metrics.results.headline import random_sample, trends
from metrics.results.intervals import QuestionClusters
from metrics.views.common.headline_texts import format_cluster_note
from projects.models import Item, Project, Rater
from projects.services import item_upsert
from ratings.models import Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.cast import Cast

N_DOCUMENTS, SIZE = 12, 10


def create_ratings(setup: Cast) -> None:
    """Create and count ratings of 12 documents of 10 items; in each third one raters disagree."""
    type(setup.question).objects.filter(pk=setup.question.pk).update(scale="nominal")
    rng = np.random.default_rng(5)
    start = datetime.datetime(2026, 3, 2, 12, tzinfo=datetime.UTC)
    raters = [Rater.objects.create(project=setup.project, key=key) for key in "abc"]
    ratings = []
    for number in range(N_DOCUMENTS * SIZE):
        document = number // SIZE
        attributes = {"document": f"d{document}", "half": "ab"[document % 2]}
        item = Item.objects.create(project=setup.project, key=f"i{number}", attributes=attributes)
        codes = rng.integers(0, 4, 3) if document % 3 == 0 else [number % 4] * 3
        for rater, code in zip(raters, codes, strict=True):
            moment = start + datetime.timedelta(weeks=number % 3)
            ratings.append(Judgement(item.pk, rater.pk, int(code), rated_at=moment))
    record_ratings({setup.question: ratings}, by=None, source="import")
    update_question(setup.question.pk)


@pytest.fixture(scope="module")
def module_cast(cast_factory: Any) -> Cast:
    return cast_factory(create_ratings)


@pytest.fixture
def get(api: Any, address: Any) -> Any:
    def get_answer(tail: str = "", **params: str) -> Any:
        path = f"{address(f'agreement/{tail}')}?{urlencode(params)}"
        response = api.get(path)
        if params or tail == "coefficients/":  # computed on request, or again
            tasks.sweep_all()
            response = api.get(path)
        assert response.status_code == 200, response.content
        return response.json()

    return get_answer


@pytest.fixture
def declare(api: Any, address: Any) -> Any:
    def declare_clusters(attribute: str = "document", *, sweep: bool = True) -> Any:
        response = api.patch(address(), {"cluster_attribute": attribute}, format="json")
        if sweep:
            refresh.refresh_deferred_results()
        return response

    return declare_clusters


def compute_expected_value(question: Any, half: str = "") -> tuple[Any, float]:
    """Return Fleiss' kappa of the ratings as Value, and its effect by a slow jackknife."""
    ratings = Rating.objects.filter(question=question).select_related("item")
    rows = [row for row in ratings if half in ("", row.item.attributes.get("half"))]
    items = np.array([row.item_id for row in rows])
    codes = np.array([row.code for row in rows])
    documents = np.array([row.item.attributes["document"] for row in rows])

    def estimate(selected: np.ndarray) -> Any:
        patterns = count_patterns(items[selected], codes[selected], 4)
        return fleiss.fleiss_kappa(patterns.counts, patterns.n_items)

    variances = []
    for groups in (documents, items):
        replicates = [float(estimate(groups != group).value) for group in np.unique(groups)]
        variances.append((len(replicates) - 1) * np.var(replicates))
    effect = float(variances[0] / variances[1])
    value = estimate(np.ones(len(rows), bool)).to_value()
    return widen_interval(value, effect, len(np.unique(documents))), effect


def test_intervals_are_those_of_clusters(get: Any, declare: Any, question: Any) -> None:
    before = get()
    assert before["cluster"] is None
    pending = declare(sweep=False)
    assert pending.json()["cluster_attribute"] == "document"
    assert get()["cluster"] == {
        "attribute": "document",
        "n_clusters": None,
        "n_items": None,
        "design_effect": None,
        "reliable": None,
    }
    refresh.refresh_deferred_results()
    after = get()
    expected, effect = compute_expected_value(question)
    assert effect > 3
    assert after["cluster"] == {
        "attribute": "document",
        "n_clusters": 12,
        "n_items": 120,
        "design_effect": pytest.approx(effect),
        "reliable": True,
    }
    for value in (after["headline"], after["coefficients"]["fleiss_kappa"], after["people"]):
        assert {key: value[key] for key in expected} == pytest.approx(expected)
    assert after["headline"]["value"] == before["headline"]["value"]
    assert after["headline"]["low"] < before["headline"]["low"] - 0.05
    for name, value in after["coefficients"].items():
        assert value["low"] is None or value["low"] < before["coefficients"][name]["low"], name


def test_filtered_results_have_the_clusters_of_the_filter(
    get: Any, declare: Any, question: Any
) -> None:
    declare()
    answer = get(**{"item.half": "a"})
    expected, effect = compute_expected_value(question, "a")
    assert answer["cluster"]["n_clusters"] == 6
    assert answer["cluster"]["design_effect"] == pytest.approx(effect)
    assert answer["headline"]["low"] == pytest.approx(expected["low"])
    narrow = get(**{"item.document": "d0"})
    assert (narrow["cluster"]["n_clusters"], narrow["cluster"]["reliable"]) == (1, False)
    assert (narrow["headline"]["low"], narrow["headline"]["se"]) == (None, None)


@pytest.mark.parametrize(
    ("tail", "params"),
    [
        ("pairs/", {}),
        ("raters/", {}),
        ("trend/", {}),
        ("trend/", {"coefficient": "gwet_ac1"}),
        ("raters/a/trend/", {}),
        ("categories/", {}),
        ("coefficients/", {}),
        ("pair/", {"rater_a": "a", "rater_b": "b"}),
        ("pairs/", {"item.half": "a"}),
        ("raters/", {"item.half": "a"}),
        ("trend/", {"item.half": "a"}),
        ("raters/a/trend/", {"item.half": "a"}),
        ("categories/", {"item.half": "a"}),
    ],
)
def test_every_answer_has_wider_intervals(
    tail: str, params: dict[str, str], get: Any, declare: Any
) -> None:
    before = list(iter_intervals(get(tail, **params)))
    declare()
    FilteredResult.objects.all().delete()  # computed again at once, not after the cool-down
    after = list(iter_intervals(get(tail, **params)))
    assert before and len(before) == len(after)
    assert all(
        new[1] <= old[1] + 1e-12 and old[2] <= new[2] + 1e-12
        for old, new in zip(before, after, strict=True)
    )
    assert sum(new[1] < old[1] for old, new in zip(before, after, strict=True)) > len(before) / 2
    assert [value for value, *_ends in before] == [value for value, *_ends in after]


def iter_intervals(answer: Any) -> Any:
    """Yield (value, low, high) of every Value with an interval in an answer."""
    if isinstance(answer, dict):
        if answer.get("low") is not None:
            yield answer["value"], answer["low"], answer["high"]
        for part in answer.values():
            yield from iter_intervals(part)
    elif isinstance(answer, list):
        for part in answer:
            yield from iter_intervals(part)


def test_pages_say_what_intervals_take_into_account(
    declare: Any, lead: Any, client_for: Any, project: Project
) -> None:
    client = client_for(lead)
    page = f"/projects/{project.pk}/"
    statistics = f"{page}statistics/"
    assert "design effect" not in client.get(statistics).content.decode()
    declare(sweep=False)
    assert "Computing intervals clustered by " in client.get(statistics).content.decode()
    refresh.refresh_deferred_results()
    response = client.get(statistics)
    assert (
        "Intervals by clusters of “document”: 120 items in 12 clusters (design effect "
    ) in response.content.decode()
    low = response.context["headline"]["low"]
    rows = list(
        csv.DictReader(io.StringIO(client.get(f"{page}charts/statistics.csv").content.decode()))
    )
    assert float(rows[0]["low"]) == pytest.approx(low)
    assert (rows[0]["cluster"], rows[0]["clusters"]) == ("document", "12")
    assert float(rows[0]["design_effect"]) > 3


CLUSTER = {
    "attribute": "document", "n_clusters": 25, "n_items": 90, "design_effect": 2.5, "reliable": True,
}  # fmt: skip
NOTES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # text: changes of the clusters where it is true, and where it is false but tempting
    "Computing intervals": ({"n_clusters": None}, {"n_clusters": 0}),
    "No interval: all compared items have the same “document”": (
        {"n_clusters": 1}, {"n_clusters": 2, "reliable": False},
    ),
    "90 items in 25 clusters (design effect 2.5)": ({}, {"n_clusters": 1}),
    "Fewer than": ({"n_clusters": 9, "reliable": False}, {}),
}  # fmt: skip


@pytest.mark.parametrize("text", NOTES)
def test_each_note_on_clusters_has_its_reason(text: str) -> None:
    true_changes, tempting_changes = NOTES[text]
    assert text in format_cluster_note(CLUSTER | true_changes)
    assert text not in format_cluster_note(CLUSTER | tempting_changes)


def test_changes_of_weeks_are_compared_by_cluster(declare: Any, question: Any) -> None:
    before = compare_weeks(question)
    declare()
    after = compare_weeks(question)
    assert [part[:2] for part in after.values()] == [part[:2] for part in before.values()]
    clusters = QuestionClusters.load(question.pk, question.project)
    assert clusters is None  # the project in memory is not changed by the request
    patterns = np.array([[2, 0], [1, 1]]), np.array([20, 20]), np.array([34, 6])
    narrow, wide = (
        trends.compare_periods(patterns[::2], patterns[:2], None, effect=effect)
        for effect in (1.0, 9.0)
    )
    assert (narrow[:2], narrow[2], wide[2]) == (wide[:2], True, False)


def test_who_misreads_two_documents_is_not_below_the_others(
    get: Any, declare: Any, project: Project, question: Any
) -> None:
    """By item the rater is: on 20 items everybody else agrees. By document it may be chance."""
    rater = Rater.objects.create(project=project, key="misreader")
    rng, ratings = np.random.default_rng(1), []
    for item in project.items.all():
        codes = set(Rating.objects.filter(item=item).values_list("code", flat=True))
        code = codes.pop() if len(codes) == 1 else int(rng.integers(4))
        misread = item.attributes["document"] in ("d2", "d4")
        ratings.append(Judgement(item.pk, rater.pk, (code + misread) % 4))
    record_ratings({question: ratings}, by=None, source="import")
    update_question(question.pk)
    assert list_outlying(question) == list_outlying(question, half="a", get=get) == [rater.pk]
    declare()
    FilteredResult.objects.all().delete()
    assert list_outlying(question) == list_outlying(question, half="a", get=get) == []
    assert audit.audit_question(question.pk).differences == []


def list_outlying(question: Any, *, half: str = "", get: Any = None) -> list[int]:
    """Return the raters below the others as stored, or of the items of one half."""
    refresh.refresh_deferred_results()
    findings = Diagnosis.objects.get(question=question).findings
    if half:
        get(**{"item.half": half})
        stored = FilteredResult.objects.get(kind=FilteredResult.Kind.DASHBOARD)
        assert stored.body is not None
        findings = stored.body["diagnosis"]["findings"]
    names = {finding["name"]: finding["figures"] for finding in findings}
    return [row[0] for row in names.get("outlying_raters", {"raters": []})["raters"]]


def compare_weeks(question: Any) -> Any:
    """Return the stored comparison of the last two weeks by coefficient."""
    refresh.refresh_deferred_results()
    findings = Diagnosis.objects.get(question=question).findings
    return next(row["figures"]["changes"] for row in findings if row["name"] == "recent_change")


def test_report_describes_clusters(declare: Any, lead: Any, client_for: Any, question: Any) -> None:
    declare()
    client = client_for(lead)
    response = client.post(f"/projects/{question.project_id}/reports/?question={question.key}", {})
    tasks.sweep_all()
    facts = Report.objects.get().facts
    expected, effect = compute_expected_value(question)
    assert facts is not None
    assert facts["headline"]["value"]["low"] == pytest.approx(expected["low"])
    assert facts["cluster"]["design_effect"] == pytest.approx(effect)
    body = json.loads(client.get(f"{response['Location'][:-1]}.json").content)
    assert "120 items in 12 clusters" in body["methods"]["en"]


def test_changes_reach_the_intervals(
    get: Any, declare: Any, question: Any, project: Project, rate: Any
) -> None:
    declare()
    first = get()
    for number in range(10):
        rate(question, f"i{number}", "a", "none")
    tasks.sweep_all()
    expected, effect = compute_expected_value(question)
    assert get()["headline"]["low"] == pytest.approx(expected["low"])
    assert get()["cluster"]["design_effect"] == pytest.approx(effect)
    # An item moves to a document of its own.
    row = {"key": "i0", "body": {"text": "i0"}, "attributes": {"document": "alone", "half": "a"}}
    item_upsert.upsert_items(project=project, rows=[row])
    tasks.sweep_all()
    assert get()["cluster"]["n_clusters"] == 13
    assert get()["headline"]["low"] == pytest.approx(compute_expected_value(question)[0]["low"])
    declare("half")
    answer = get()
    assert (answer["cluster"]["n_clusters"], answer["cluster"]["reliable"]) == (2, False)
    declare("")
    assert get()["cluster"] is None
    assert get()["headline"]["low"] > first["headline"]["low"]


def test_each_item_is_a_cluster_of_its_own(get: Any, declare: Any, project: Project) -> None:
    before = get()
    for item in Item.objects.filter(project=project):
        item.attributes["own"] = item.key if item.pk % 2 else ""
        item.save()
    declare("own")
    after = get()
    assert after["cluster"]["n_clusters"] == 120
    for name, value in after["coefficients"].items():
        old = before["coefficients"][name]
        assert {**value, "design_effect": 1} == {**old, "design_effect": 1}, name


def test_unknown_attribute_is_refused(
    declare: Any, project: Project, lead: Any, client_for: Any
) -> None:
    response = declare("documnet", sweep=False)
    assert response.status_code == 400
    (message,) = [response.json()["error"]["fields"]["cluster_attribute"]]
    assert "document, half" in str(message)
    assert declare("a\nb", sweep=False).status_code == 400
    assert declare("a" * 101, sweep=False).status_code == 400
    project.refresh_from_db()
    assert project.cluster_attribute == ""
    client = client_for(lead)
    path = f"/projects/{project.pk}/settings/"
    form = client.get(path).context["form"]
    assert '<option value="document">' in client.get(path).content.decode()
    data = {name: value for name, value in form.initial.items() if value not in (None, False)}
    assert client.post(path, data | {"cluster_attribute": "nothing"}).status_code == 400
    assert client.post(path, data | {"cluster_attribute": "document"}).status_code == 302
    project.refresh_from_db()
    assert project.cluster_attribute == "document"


def test_no_cost_without_clusters(question: Any, project: Project) -> None:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert QuestionClusters.load(question.pk, project) is None
    assert not queries
    assert CountState.objects.get(pk=question.pk).cluster_effects == {}


def test_ratings_are_not_read_again_during_the_pause(
    declare: Any, question: Any, rate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_sample, "QUICK_SECONDS", -1)
    monkeypatch.setattr(random_sample, "PAUSE_FACTOR", 100_000)
    declare()
    first = CountState.objects.get(pk=question.pk)
    rate(question, "i0", "a", "critical")
    tasks.sweep_all()
    state = CountState.objects.get(pk=question.pk)
    assert state.sample_is_stale
    assert state.cluster_effects == first.cluster_effects
