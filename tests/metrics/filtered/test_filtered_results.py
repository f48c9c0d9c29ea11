"""Filtered pages: results of the selected ratings only.

A worker computes them, and they are stored while they are requested.
"""

from __future__ import annotations

import datetime
import itertools
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from celery import current_app
from django.db import OperationalError
from django.utils import timezone
from django.utils.html import escape

from core.jobs import dispatch
from metrics import tasks
from metrics.agreement import report
from metrics.agreement.counts import tally as agreement_tally
from metrics.filtered import filtered_jobs
from metrics.jobs import question_updates
from metrics.jobs.question_updates import update_question
from metrics.models import FilteredResult
from metrics.results import pair_means
from projects.models import Item, Project, Rater
from ratings.models import Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.cast import Cast
from tests.faults.brokers import run_private_broker

LABELS = ("none", "minor", "major", "critical")
LANGUAGES = ("de", "en", "zh")


def create_ratings(setup: Cast) -> None:
    """Create and count ratings of 36 items in three languages.

    Up to four of five raters, one of them a model, rate each item within six weeks.
    """
    rng = np.random.default_rng(11)
    start = datetime.datetime(2026, 3, 2, 12, tzinfo=datetime.UTC)
    project = setup.project
    groups = {"a": "Vendor A", "b": "Vendor A", "m": "Vendor B"}
    raters = [
        Rater.objects.create(
            project=project,
            key=key,
            group=groups.get(key, ""),
            kind="model" if key == "m" else "human",
        )
        for key in "abcdm"
    ]
    attributes = [{"language": LANGUAGES[n % 3], "id": f"i{n}", "long": n < 9} for n in range(36)]
    items = [
        Item.objects.create(project=project, key=f"i{n}", attributes=attributes[n])
        for n in range(36)
    ]
    ratings = []
    for number, item in enumerate(items):
        for rater in rng.choice(5, size=number % 5, replace=False):
            code = int(np.clip(number % 4 + rng.integers(-1, 2), 0, 3))
            moment = start + datetime.timedelta(days=int(rng.integers(0, 40)))
            ratings.append(Judgement(item.pk, raters[rater].pk, code, rated_at=moment))
    record_ratings({setup.question: ratings}, by=None, source="import")
    update_question(setup.question.pk)


@pytest.fixture(scope="module")
def module_cast(cast_factory: Any) -> Cast:
    return cast_factory(create_ratings)


@pytest.fixture
def rated_question(question: Any) -> Any:
    return question


@pytest.mark.fresh
@pytest.mark.parametrize("params", [{}, {"from": "2020-01-01"}], ids=["all ratings", "a filter"])
def test_page_reports_outlier_and_confused_categories(
    params: dict[str, str], question: Any, open_page: Any, utc: Any
) -> None:
    """Rater c says "major" where the others, who agree, say "minor", and the reverse."""
    type(question).objects.update(scale="nominal")
    project = question.project
    raters = [Rater.objects.create(project=project, key=key) for key in "cabde"]
    items = [Item.objects.create(project=project, key=f"i{n}") for n in range(60)]
    codes_by_item = [
        (item.pk, ((0, 2, 1, 3)[index % 4], *[index % 4] * 4)) for index, item in enumerate(items)
    ]
    ratings = [
        Judgement(item, rater.pk, code, rated_at=utc(2026, 3, 2, 12))
        for item, codes in codes_by_item
        for rater, code in zip(raters, codes, strict=True)
    ]
    record_ratings({question: ratings}, by=None, source="import")
    update_question(question.pk)
    findings = [insight.text for insight in open_page(params).context["insights"]]
    query = urlencode({"question": question.key, **params})
    link = f'<a href="/projects/{project.pk}/raters/c/?{escape(query)}">c</a>'
    assert findings[0] == (f"{link} agrees less than the others.")
    assert any(
        text.startswith("100% of disagreement (120 comparisons) is between “minor” and “major”;")
        for text in findings
    )


FILTERS: list[dict[str, str]] = [
    {"from": "2026-03-10"},
    {"to": "2026-03-24"},
    {"from": "2026-03-10", "to": "2026-04-02"},
    {"kind": "human"},
    {"kind": "model"},
    {"group": "Vendor A"},
    {"item.language": "de"},
    {"item.long": "true"},
    {"item.language": "en", "kind": "human", "from": "2026-03-05"},
    {"exclude": "b,c"},
    {"exclude": "c", "kind": "human"},
    {"from": "2027-01-01"},
]


def build_code_table(question: Any, params: dict[str, str]) -> np.ndarray:
    """Return the ratings that match the filter as the (items x raters) table of metrics.agreement.

    The filter is applied row by row in Python, as a reference.
    """
    codes: dict[tuple[int, int], int] = {}
    for rating in Rating.objects.filter(question=question, code__gte=0).select_related(
        "item", "rater"
    ):
        day = rating.rated_at.date().isoformat()
        attributes = {
            f"item.{name}": str(value).lower() for name, value in rating.item.attributes.items()
        }
        properties = {"kind": rating.rater.kind, "group": rating.rater.group, **attributes}
        is_selected = params.get("from", "") <= day <= params.get("to", "9999")
        is_selected = is_selected and rating.rater.key not in params.get("exclude", "").split(",")
        conditions = {
            name: value.lower()
            for name, value in params.items()
            if name not in ("from", "to", "exclude")
        }
        if is_selected and all(
            properties[name].lower() == value for name, value in conditions.items()
        ):
            codes[rating.item_id, rating.rater_id] = rating.code
    items, raters = (sorted({key[side] for key in codes}) for side in (0, 1))
    table = np.full((len(items), max(len(raters), 1)), -1)
    for (item, rater), code in codes.items():
        table[items.index(item), raters.index(rater)] = code
    return table


@pytest.fixture
def open_page(lead: Any, client_for: Any, project: Any) -> Any:
    """Return a function that requests a page until its results are there.

    Call it as ``open_page(params, path)``.
    """
    client = client_for(lead)

    def get(params: dict[str, str], path: str = "statistics/") -> Any:
        address = f"/projects/{project.pk}/{path}{'&' if '?' in path else '?'}{urlencode(params)}"
        response = client.get(address)
        if response.status_code == 200:
            filtered_jobs.FILTERED_RESULT_JOB.sweep()
            response = client.get(address)
        return response

    return get


@pytest.mark.parametrize("params", FILTERS, ids=urlencode)
def test_filtered_results_match_library_report(
    params: dict[str, str], rated_question: Any, open_page: Any
) -> None:
    codes = build_code_table(rated_question, params)
    page = open_page(params).context
    body = page["fresh"].row.body
    assert body["n_ratings"] == (codes >= 0).sum()
    if not codes.size:
        assert body["parts"]["coefficients"]["fleiss_kappa"]["value"] is None
        assert page["nothing"].startswith("No ratings match. Newest:")
        return
    estimates = page["agreement"].coefficients
    expected = report(codes, len(LABELS), values=[0, 1, 2, 3])
    for name in (
        "fleiss_kappa",
        "fleiss_kappa_quadratic",
        "krippendorff_alpha_ordinal",
        "gwet_ac1",
    ):
        assert estimates[name]["value"] == pytest.approx(expected[name], abs=1e-12), name
        if "bootstrap" not in estimates[name]:
            assert estimates[name]["low"] == pytest.approx(expected[f"{name}.low"], abs=1e-12), name
    ordinal = estimates["krippendorff_alpha_ordinal"]
    if expected["n_pairable_items"]:
        assert ordinal["bootstrap"] == 2000
        assert ordinal["low"] < ordinal["value"] < ordinal["high"]
    assert estimates["mean_pairwise_kappa"]["value"] == pytest.approx(
        expected["light_kappa"], abs=1e-12
    )
    assert estimates["mean_pairwise_kappa_linear"]["value"] == pytest.approx(
        expected["light_kappa_linear"], abs=1e-12
    )
    assert estimates["percent_agreement"]["n_items"] == expected["n_pairable_items"]
    kappas = {row["n"]: row["kappas"]["none"][0] for row in page["fresh"].row.body["pairs"]}
    for entry in expected["pairwise"].values():
        if list(kappas).count(entry["n_pairs"]) == 1 and len(expected["pairwise"]) == len(kappas):
            assert kappas[entry["n_pairs"]] == pytest.approx(entry["cohen_kappa"], abs=1e-12)


def test_filter_matching_everything_equals_unfiltered_page(
    rated_question: Any, open_page: Any, lead: Any, client_for: Any
) -> None:
    """A filter that excludes nothing shows the unfiltered page, in every part."""
    filtered = open_page({"from": "2020-01-01"}).context
    address = f"/projects/{rated_question.project_id}/"
    unfiltered = client_for(lead).get(f"{address}statistics/").context
    assert unfiltered["selection"].filter.parameters == {}
    for name in ("missing", "period", "fragment_key", "n_raters"):
        assert filtered[name] == unfiltered[name], name
    assert filtered["headline"]["low"] == pytest.approx(unfiltered["headline"]["low"])
    values = [
        [estimate["value"] for _weights, estimate in page["sensitivity"]]
        for page in (filtered, unfiltered)
    ]
    assert values[0] == pytest.approx(values[1])
    assert [row[1]["value"] for row in filtered["beside"]] == pytest.approx(
        [row[1]["value"] for row in unfiltered["beside"]]
    )
    texts = [[insight.text for insight in page["insights"]] for page in (filtered, unfiltered)]
    assert texts[0] == texts[1]
    overviews = open_page({"from": "2020-01-01"}, "").context, client_for(lead).get(address).context
    values = [
        [(p.start, p.end, p.estimate["value"], p.cumulative["value"]) for p in page["points"]]
        for page in overviews
    ]
    assert [row[:2] for row in values[0]] == [row[:2] for row in values[1]]
    actual, expected = (np.array([row[2:] for row in page], float) for page in values)
    assert np.allclose(actual, expected, equal_nan=True)
    rows = [page["rater_page"].raters for page in (filtered, unfiltered)]
    for actual, expected in zip(*rows, strict=True):
        assert (actual.rater, actual.n_ratings) == (
            expected.rater,
            expected.n_ratings,
        )
        assert actual.coefficients.keys() >= expected.coefficients.keys()
        for name, estimate in expected.coefficients.items():
            assert actual.coefficients[name]["value"] == pytest.approx(estimate["value"]), name
            assert actual.coefficients[name]["low"] == pytest.approx(estimate["low"]), name
    sparklines = [
        [cell.value for line in page["rater_page"].lines for cell in line.cells[4:5]]
        for page in (filtered, unfiltered)
    ]
    assert any(sparklines[0])
    for actual, expected in zip(*sparklines, strict=True):
        assert actual == pytest.approx(expected)
    kappas = [
        [pair.kappa["value"] for _rater, row in page["matrix"] for pair in row if pair]
        for page in (filtered, unfiltered)
    ]
    assert kappas[0] == pytest.approx(kappas[1])
    assert [d.item for d in filtered["disputes"].items] == [
        d.item for d in unfiltered["disputes"].items
    ]


def test_raters_are_sorted_as_without_a_filter(
    rated_question: Any, open_page: Any, lead: Any, client_for: Any
) -> None:
    Rating.objects.filter(rater__key="a").update(seconds=12.0)
    Rating.objects.filter(rater__key="b").update(seconds=30.0)
    question_updates.delete_counts_and_results(rated_question)
    update_question(rated_question.pk)
    for sort in ("rater", "-ratings", "vs_peers", "-pairwise", "bias", "-seconds"):
        filtered = open_page({"from": "2020-01-01", "sort": sort}).context["rater_page"]
        unfiltered = (
            client_for(lead)
            .get(f"/projects/{rated_question.project_id}/statistics/?sort={sort}")
            .context["rater_page"]
        )
        raters = [
            [(row.rater.key, row.seconds) for row in page.raters] for page in (filtered, unfiltered)
        ]
        assert raters[0] == raters[1], sort
    assert dict(raters[1]) == {"a": 12.0, "b": 30.0, "c": None, "d": None, "m": None}


def test_each_pair_comes_once_for_any_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    rated_pairs = [
        rated_pair
        for rated_pair in itertools.product(range(40), range(10, 27))
        if rng.random() < 0.4
    ]
    rows = [(item, rater, rng.integers(3)) for item, rater in rated_pairs]
    ratings = np.array(rows, dtype=[("item", "i8"), ("rater", "i8"), ("code", "i4")])
    expected = agreement_tally.count_pair_tables(
        ratings["item"], ratings["rater"], ratings["code"], 3
    )
    for cells in (20, 200, 2_000, 1_000_000):
        monkeypatch.setattr(pair_means, "MAX_CELLS", cells)
        blocks = list(pair_means.iter_pair_blocks(ratings, 3))
        tables_by_pair = {
            (int(a), int(b)): table.tolist()
            for block in blocks
            for a, b, table in zip(block.rater_a, block.rater_b, block.tables, strict=True)
        }
        assert sum(len(block) for block in blocks) == len(tables_by_pair) == len(expected)
        assert tables_by_pair == {
            (int(a), int(b)): table.tolist()
            for a, b, table in zip(expected.rater_a, expected.rater_b, expected.tables, strict=True)
        }


# --- valid and invalid filters in the address


INVALID_FILTERS: list[tuple[dict[str, str], str]] = [
    ({"kind": "robot"}, "human, model"),
    ({"from": "March"}, "2026-03-02"),
    ({"from": "2026-03-02", "to": "2026-03-01"}, "later"),
    ({"group": "Vendor C"}, "Vendor A, Vendor B"),
    ({"item.language": "fr"}, "de, en, zh"),
    ({"item.colour": "red"}, "language, long"),
    ({"item.id": "i1"}, "language, long"),
    ({"item.1": "x"}, "1=x"),
    ({"item.language": "x" * 201}, "language"),
    ({"exclude": "a,nobody"}, "“exclude” must be one of a,"),
    ({"exclude": ", ,"}, "takes rater IDs"),
    ({"exclude": '"a'}, "takes rater IDs"),
    ({"exclude": ",".join(f"r{n}" for n in range(101))}, "Exclude at most 100 raters"),
    ({"group": "\0"}, "group"),
    ({"item.a": "1", "item.b": "1", "item.c": "1", "item.d": "1"}, "At most 3 item attributes"),
]


def test_invalid_filter_is_refused_with_valid_choices(
    rated_question: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    client.get(f"/projects/{rated_question.project_id}/")
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    n_before = FilteredResult.objects.count()
    for params, message in INVALID_FILTERS:
        response = client.get(f"/projects/{rated_question.project_id}/?{urlencode(params)}")
        assert response.status_code == 400, params
        assert message in response.content.decode(), params
    assert FilteredResult.objects.count() == n_before


def test_filter_bar_offers_existing_values(rated_question: Any, open_page: Any) -> None:
    page = open_page({"item.language": "de"})
    values_by_name = {
        choice.name: [value for value, _words in choice.options]
        for choice in page.context["filter_bar"].choices
    }
    assert values_by_name == {
        "group": ["Vendor A", "Vendor B"],
        "item.language": ["de", "en", "zh"],
        "item.long": ["false", "true"],
    }


def test_each_chip_removes_one_condition(rated_question: Any, open_page: Any, project: Any) -> None:
    page = open_page({"item.language": "de", "kind": "human", "weights": "linear"})
    chips = page.context["filter_bar"].chips
    assert [chip.label for chip in chips] == ["only people", "language: de"]
    assert (
        chips[0].removal_url
        == f"/projects/{project.pk}/statistics/?item.language=de&weights=linear"
    )
    assert (
        page.context["filter_bar"].cleared_url
        == f"/projects/{project.pk}/statistics/?weights=linear"
    )


def test_excluded_raters_can_be_included_one_by_one(
    rated_question: Any, open_page: Any, project: Any
) -> None:
    Rater.objects.filter(key="b").update(key="b, the second")
    page = open_page({"exclude": 'c,"b, the second"', "kind": "human"})
    bar = page.context["filter_bar"]
    assert [chip.label for chip in bar.chips] == [
        "only people",
        "without b, the second",
        "without c",
    ]
    assert bar.chips[1].removal_url == f"/projects/{project.pk}/statistics/?kind=human&exclude=c"
    assert ("exclude", '"b, the second",c') in bar.other_parameters, (
        "the form keeps the excluded raters"
    )
    raters = page.context["rater_page"].raters
    assert {row.rater.key for row in raters} == {"a", "d"}
    chips = open_page({"exclude": "a,c,d,m", "kind": "human"}).context["filter_bar"].chips
    assert len(chips) == 5
    Rater.objects.bulk_create(Rater(project=project, key=f"x{n}") for n in range(2))
    chips = open_page({"exclude": "a,c,d,m,x0,x1"}).context["filter_bar"].chips
    assert [(chip.label, chip.removal_url) for chip in chips] == [
        ("without 6 raters", f"/projects/{project.pk}/statistics/?")
    ]


def test_links_and_charts_keep_the_filter(rated_question: Any, open_page: Any) -> None:
    params = {"item.language": "de", "kind": "human"}
    text = open_page(params).content.decode()
    for address in (
        "raters/a/?item.language=de&amp;kind=human",
        "charts/pairs.json?item.language=de&amp;kind=human",
    ):
        assert address in text
    matrix = open_page(params, "charts/pairs.json").json()["rows"]
    assert matrix
    assert all("item.language=de" in row["url"] for row in matrix)
    trend = open_page(params | {"period": "month"}, "charts/trend.json").json()["rows"]
    assert [row["n_ratings"] for row in trend] == [
        point.estimate["n_ratings"] for point in open_page(params | {"period": "month"}, "").context["points"]
        if point.estimate["value"] is not None
    ]  # fmt: skip


# --- computed by a worker, stored while requested


def test_page_says_that_results_are_being_computed(
    rated_question: Any, lead: Any, client_for: Any, project: Any
) -> None:
    client = client_for(lead)
    address = f"/projects/{project.pk}/?kind=human"
    pending_page = client.get(address)
    assert "Computing …" in pending_page.content.decode()
    headers = {"X-Shown-Version": pending_page.context["fresh"].version, "X-Fragments": "pending"}
    assert client.get(address, headers=headers).status_code == 204
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    assert client.get(address, headers=headers).headers["HX-Refresh"] == "true"
    assert client.get(address).context["headline"]["value"] is not None


def test_live_update_brings_new_filtered_results(
    rated_question: Any, rate: Any, open_page: Any, lead: Any, client_for: Any, project: Any
) -> None:
    params = {"item.language": "de"}
    page = open_page(params)
    rate(rated_question, "i3", "a", "critical")
    update_question(rated_question.pk)
    address = f"/projects/{project.pk}/?item.language=de"
    headers = {
        "X-Shown-Version": page.context["fresh"].version,
        "X-Fragments": page.context["fragment_key"],
    }
    client = client_for(lead)
    outdated_page = client.get(address, headers=headers)
    assert "Updating …" in outdated_page.content.decode()
    assert 'id="headline"' not in outdated_page.content.decode()
    FilteredResult.objects.update(paused_until=None)
    client.get(address, headers=headers)
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    # The rating of a second day makes the trend a chart, for which the page is reloaded.
    assert client.get(address, headers=headers)["HX-Refresh"] == "true"
    headers["X-Fragments"] = client.get(address).context["fragment_key"]
    assert 'id="headline"' in client.get(address, headers=headers).content.decode()


def test_filtered_result_cools_down_before_recomputation(
    rated_question: Any, rate: Any, open_page: Any
) -> None:
    open_page({"kind": "human"})
    first_computed_at = FilteredResult.objects.get(kind="dashboard").computed_at
    rate(rated_question, "i3", "a", "critical")
    update_question(rated_question.pk)
    open_page({"kind": "human"})
    assert FilteredResult.objects.get(kind="dashboard").computed_at == first_computed_at
    FilteredResult.objects.update(paused_until=timezone.now())
    open_page({"kind": "human"})
    second_computed_at = FilteredResult.objects.get(kind="dashboard").computed_at
    assert first_computed_at and second_computed_at and second_computed_at > first_computed_at


def test_changed_groups_and_attributes_update_filtered_result(
    rated_question: Any, open_page: Any, api_for: Any, lead: Any
) -> None:
    def count_ratings() -> int:
        FilteredResult.objects.update(paused_until=None)
        return int(open_page({"group": "Vendor A"}).context["fresh"].row.body["n_ratings"])

    n_before = count_ratings()
    api = api_for(lead)
    api.post(
        f"/api/v1/projects/{rated_question.project_id}/raters/",
        [{"key": "b", "group": ""}],
        format="json",
    )
    assert count_ratings() < n_before
    n_german_items = open_page({"item.language": "de"}).context["fresh"].row.body["n_items"]
    api.post(
        f"/api/v1/projects/{rated_question.project_id}/items/",
        [{"key": "i1", "body": {}, "attributes": {"language": "de"}}], format="json",
    )  # fmt: skip
    FilteredResult.objects.update(paused_until=None)
    assert (
        open_page({"item.language": "de"}).context["fresh"].row.body["n_items"]
        == n_german_items + 1
    )


def test_question_stores_limited_number_of_filtered_results(
    rated_question: Any, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filtered_jobs, "MAX_STORED", 3)
    for day in range(1, 7):
        client_for(lead).get(f"/projects/{rated_question.project_id}/?from=2026-03-0{day}")
    stored = FilteredResult.objects.filter(kind="dashboard").order_by("id")
    assert [row.spec["from"] for row in stored] == ["2026-03-04", "2026-03-05", "2026-03-06"]
    assert FilteredResult.objects.filter(kind="choices").count() == 1


def test_filtered_result_not_requested_lately_is_not_computed(
    rated_question: Any, open_page: Any, lead: Any, client_for: Any
) -> None:
    open_page({"kind": "human"})
    client_for(lead).get(f"/projects/{rated_question.project_id}/?kind=model")
    FilteredResult.objects.update(
        pending=True, requested_at=timezone.now() - datetime.timedelta(hours=2)
    )
    computed_before = {
        row.pk: row.computed_at for row in FilteredResult.objects.exclude(body__isnull=True)
    }
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    assert {row.pk: row.computed_at for row in FilteredResult.objects.all()} == computed_before
    assert not FilteredResult.objects.filter(pending=True).exists()


def test_one_message_is_sent_for_each_computation(
    rated_question: Any, lead: Any, client_for: Any, settings: Any
) -> None:
    with run_private_broker(settings) as broker:
        for _attempt in range(3):
            client_for(lead).get(f"/projects/{rated_question.project_id}/?kind=human")
        assert broker.count_messages() == 2  # the filter choices and the filtered result


def test_sweep_computes_results_when_broker_is_down(
    rated_question: Any, settings: Any, monkeypatch: pytest.MonkeyPatch, lead: Any, client_for: Any
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr(dispatch, "_paused_until", 0.0)

    def raise_error(*_arguments: Any, **_options: Any) -> None:
        raise ConnectionError("no broker")

    monkeypatch.setattr(current_app, "send_task", raise_error)
    client_for(lead).get(f"/projects/{rated_question.project_id}/?kind=human")
    tasks.sweep_all()
    assert not FilteredResult.objects.filter(pending=True).exists()


def test_page_opens_when_database_refuses_writes(
    rated_question: Any, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_disk_full(*_arguments: Any, **_options: Any) -> None:
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(FilteredResult.objects, "get_or_create", raise_disk_full)
    for path in ("", "?kind=human", "raters/a/?kind=human", "pairs/?a=a&b=c"):
        assert (
            client_for(lead).get(f"/projects/{rated_question.project_id}/{path}").status_code == 200
        )
    assert not FilteredResult.objects.exists()


def test_failed_result_stays_pending_and_others_are_computed(
    rated_question: Any, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("human", "model"):
        client_for(lead).get(f"/projects/{rated_question.project_id}/?kind={kind}")
    original = filtered_jobs.compute_body

    def fail_for_people(row: FilteredResult) -> Any:
        if row.spec.get("kind") == "human":
            raise RuntimeError("no")
        return original(row)

    monkeypatch.setattr(filtered_jobs, "compute_body", fail_for_people)
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    assert [row.spec for row in FilteredResult.objects.filter(pending=True)] == [{"kind": "human"}]
    monkeypatch.undo()
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    assert not FilteredResult.objects.filter(pending=True).exists()


def test_number_of_queries(
    rated_question: Any, lead: Any, client_for: Any, django_assert_num_queries: Any, open_page: Any
) -> None:
    open_page({"kind": "human"})
    client = client_for(lead)
    # Eleven of them are about the statuses of raters, and what to do, which are those of all ratings.
    with django_assert_num_queries(28):
        client.get(f"/projects/{rated_question.project_id}/?kind=human")


def test_requests_read_no_ratings(
    rated_question: Any, open_page: Any, lead: Any, client_for: Any
) -> None:
    """The page still shows its numbers when the ratings are gone: only the stored row has them."""
    before = open_page({"kind": "human"}).context["headline"]
    Rating.objects.update(counted=-1, code=-1)
    assert (
        client_for(lead)
        .get(f"/projects/{rated_question.project_id}/?kind=human")
        .context["headline"]
        == before
    )
    assert Project.objects.exists()


def test_filtered_pair_list_is_sorted(rated_question: Any, open_page: Any) -> None:
    for sort in ("items", "-items", "kappa", "-kappa"):
        page = open_page({"item.language": "de", "sort": sort}, "pairs/").context
        values = [
            pair.n_items if sort.endswith("items") else pair.kappa["value"]
            for pair in page["pairs"]
        ]
        defined_values = [value for value in values if value is not None]
        assert defined_values == sorted(defined_values, reverse=sort.startswith("-"))
        assert values[len(defined_values) :] == [None] * (len(values) - len(defined_values))
        assert defined_values


# --- one rater, two raters


def test_pair_trend_matches_its_ratings(rated_question: Any, open_page: Any) -> None:
    """Check each month's kappa and mean difference against values computed from plain rows.

    With the raters swapped, the mean difference has the opposite sign.
    """
    page = open_page({"period": "month", "weights": "none"}, "pairs/?a=a&b=c").context
    assert len(page["points"]) == 2
    ratings_by_item: dict[int, dict[str, Any]] = {}
    for rating in Rating.objects.filter(rater__key__in="ac").select_related("rater"):
        ratings_by_item.setdefault(rating.item_id, {})[rating.rater.key] = rating
    shared = [pair for pair in ratings_by_item.values() if len(pair) == 2]
    assert (
        sum(point.estimate["n_items"] for point in page["points"])
        == len(shared)
        == page["details"].n_items
    )
    for kappa, difference in zip(page["points"], page["difference_points"], strict=True):
        month_pairs = [
            pair
            for pair in shared
            if max(r.rated_at.date().replace(day=1) for r in pair.values()) == kappa.start
        ]
        codes = np.array([[pair["a"].code, pair["c"].code] for pair in month_pairs])
        expected = report(codes, len(LABELS))
        assert kappa.estimate["value"] == pytest.approx(expected["cohen_kappa"])
        differences = codes[:, 0] - codes[:, 1]
        assert difference.estimate["value"] == pytest.approx(differences.mean())
        assert difference.estimate["se"] == pytest.approx(
            differences.std(ddof=1) / len(differences) ** 0.5
        )
    swapped = open_page({"period": "month"}, "pairs/?a=c&b=a").context
    assert [point.estimate["value"] for point in swapped["difference_points"]] == pytest.approx(
        [-point.estimate["value"] for point in page["difference_points"]]
    )


@pytest.mark.fresh
def test_drift_between_two_raters_is_reported(question: Any, utc: Any, open_page: Any) -> None:
    project = question.project
    a, b = (Rater.objects.create(project=project, key=key) for key in ("steady", "sinking"))
    items = [Item.objects.create(project=project, key=f"i{n}") for n in range(80)]
    ratings = []
    for n, item in enumerate(items):
        moment = utc(2026, 3, 2 + 7 * (n // 40), 12)
        ratings.append(Judgement(item.pk, a.pk, 1 + n % 2, rated_at=moment))
        ratings.append(
            Judgement(item.pk, b.pk, 1 + n % 2 - int(n >= 40 and n % 4 > 0), rated_at=moment)
        )
    record_ratings({question: ratings}, by=None, source="import")
    update_question(question.pk)
    page = open_page({"period": "week"}, "pairs/?a=sinking&b=steady")
    sentence = "Since 2026-03-09, steady has answered 0.75 higher relative to sinking than before."
    assert sentence in page.content.decode()


@pytest.mark.parametrize(
    "params", [{"item.language": "de"}, {"kind": "human", "from": "2026-03-10"}], ids=urlencode
)
def test_filtered_rater_page_matches_dashboard(
    params: dict[str, str], rated_question: Any, open_page: Any
) -> None:
    rows = open_page(params).context["rater_page"].raters
    for row in rows:
        page = open_page(params, f"raters/{row.rater.key}/").context
        assert page["whole"].n_ratings == row.n_ratings
        for name, estimate in row.coefficients.items():
            assert page["whole"].coefficients[name]["value"] == pytest.approx(estimate["value"]), (
                name
            )
        assert (
            sum(point.estimate["n_items"] for point in page["points"]) == page["peers"]["n_items"]
        )


@pytest.mark.parametrize("path", ["raters/a/", "pairs/?a=a&b=c", "pairs/"])
@pytest.mark.parametrize("params", [{}, {"item.language": "de"}], ids=["all", "some"])
def test_open_page_polls_for_updates(
    params: dict[str, str],
    path: str,
    rated_question: Any,
    rate: Any,
    open_page: Any,
    lead: Any,
    client_for: Any,
) -> None:
    page = open_page(params, path)
    client = client_for(lead)
    address = f"/projects/{rated_question.project_id}/{path}{'&' if '?' in path else '?'}{urlencode(params)}"

    def poll() -> Any:
        headers = {
            "X-Shown-Version": page.context["fresh"].version,
            "X-Fragments": page.context["fragment_key"],
        }
        return client.get(address, headers=headers)

    assert poll().status_code == 204
    rate(rated_question, "i3", "a", "none")
    rate(rated_question, "i3", "c", "critical")
    outdated_page = poll().content.decode()
    assert "2 ratings pending" in outdated_page
    assert 'id="differing"' not in outdated_page
    update_question(rated_question.pk)
    FilteredResult.objects.update(paused_until=None)
    poll()
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    updated_page = poll()
    assert updated_page.headers["HX-Trigger"] == "charts-changed"
    assert any(
        f'id="{section_id}"' in updated_page.content.decode()
        for section_id in ("differing", "stats", "pair-list")
    )
    reloaded = client.get(address, headers={"X-Shown-Version": "0.0", "X-Fragments": "other"})
    assert reloaded.headers["HX-Refresh"] == "true"
