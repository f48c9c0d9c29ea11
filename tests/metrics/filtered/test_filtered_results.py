"""Filtered pages: the numbers are those of the chosen ratings alone, computed by a worker, and kept
while asked for."""

from __future__ import annotations

import datetime
import itertools
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from django.db import OperationalError
from django.utils import timezone
from django.utils.html import escape

from core.jobs import dispatch
from metrics import tasks
from metrics.agreement import report
from metrics.agreement.counts import tally as agreement_tally
from metrics.filtered import filtered_jobs, pair_bodies
from metrics.jobs import question_updates
from metrics.jobs.question_updates import update_question
from metrics.models import Slice
from projects.models import Item, Project, Rater
from ratings.models import Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.cast import Cast
from tests.faults.brokers import private_broker

LABELS = ("none", "minor", "major", "critical")
LANGUAGES = ("de", "en", "zh")


def fill(made: Cast) -> None:
    """36 items in three languages, rated within six weeks by up to four of five raters, one a
    model; counted."""
    dice = np.random.default_rng(11)
    first = datetime.datetime(2026, 3, 2, 12, tzinfo=datetime.UTC)
    project = made.project
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
    facts = [{"language": LANGUAGES[n % 3], "id": f"i{n}", "long": n < 9} for n in range(36)]
    items = [
        Item.objects.create(project=project, key=f"i{n}", attributes=facts[n]) for n in range(36)
    ]
    ratings = []
    for number, item in enumerate(items):
        for rater in dice.choice(5, size=number % 5, replace=False):
            code = int(np.clip(number % 4 + dice.integers(-1, 2), 0, 3))
            moment = first + datetime.timedelta(days=int(dice.integers(0, 40)))
            ratings.append(Judgement(item.pk, raters[rater].pk, code, rated_at=moment))
    record_ratings({made.question: ratings}, by=None, source="import")
    update_question(made.question.pk)


@pytest.fixture(scope="module")
def made_once(stage: Any) -> Cast:
    return stage(fill)


@pytest.fixture
def rated(question: Any) -> Any:
    return question


@pytest.mark.fresh
@pytest.mark.parametrize("given", [{}, {"from": "2020-01-01"}], ids=["all ratings", "a filter"])
def test_the_page_says_who_is_apart_and_what_is_confused(
    given: dict[str, str], question: Any, open_page: Any, utc: Any
) -> None:
    """c says "major" where the others, who agree, say "minor", and the other way round."""
    type(question).objects.update(scale="nominal")
    project = question.project
    raters = [Rater.objects.create(project=project, key=key) for key in "cabde"]
    items = [Item.objects.create(project=project, key=f"i{n}") for n in range(60)]
    said = [
        (item.pk, ((0, 2, 1, 3)[place % 4], *[place % 4] * 4)) for place, item in enumerate(items)
    ]
    ratings = [
        Judgement(item, rater.pk, code, rated_at=utc(2026, 3, 2, 12))
        for item, codes in said
        for rater, code in zip(raters, codes, strict=True)
    ]
    record_ratings({question: ratings}, by=None, source="import")
    update_question(question.pk)
    findings = open_page(given).context["findings"]
    query = urlencode({"question": question.key, **given})
    link = f'<a href="/projects/{project.pk}/raters/c/?{escape(query)}">c</a>'
    assert findings[0] == f"{link} agrees less with the others than the project does."
    assert any(
        text.startswith("100 % of all disagreement is between “minor” and “major”:")
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
    {"without": "b,c"},
    {"without": "c", "kind": "human"},
    {"from": "2027-01-01"},
]


def chosen_codes(question: Any, given: dict[str, str]) -> np.ndarray:
    """The ratings of the filter as the (items x raters) table of metrics.agreement, told from plain
    rows."""
    codes: dict[tuple[int, int], int] = {}
    for rating in Rating.objects.filter(question=question, code__gte=0).select_related(
        "item", "rater"
    ):
        day = rating.rated_at.date().isoformat()
        attributes = {
            f"item.{name}": str(value).lower() for name, value in rating.item.attributes.items()
        }
        facts = {"kind": rating.rater.kind, "group": rating.rater.group, **attributes}
        within = given.get("from", "") <= day <= given.get("to", "9999")
        within = within and rating.rater.key not in given.get("without", "").split(",")
        wanted = {
            name: value.lower()
            for name, value in given.items()
            if name not in ("from", "to", "without")
        }
        if within and all(facts[name].lower() == value for name, value in wanted.items()):
            codes[rating.item_id, rating.rater_id] = rating.code
    items, raters = (sorted({key[side] for key in codes}) for side in (0, 1))
    table = np.full((len(items), max(len(raters), 1)), -1)
    for (item, rater), code in codes.items():
        table[items.index(item), raters.index(rater)] = code
    return table


@pytest.fixture
def open_page(lead: Any, client_for: Any, project: Any) -> Any:
    """Asks for a page until its numbers are there: ``open_page(filter, path)``."""
    client = client_for(lead)

    def get(given: dict[str, str], path: str = "") -> Any:
        address = f"/projects/{project.pk}/{path}{'&' if '?' in path else '?'}{urlencode(given)}"
        response = client.get(address)
        if response.status_code == 200:
            filtered_jobs.FILTERED_RESULT_JOB.sweep()
            response = client.get(address)
        return response

    return get


@pytest.mark.parametrize("given", FILTERS, ids=urlencode)
def test_numbers_are_those_of_the_chosen_ratings(
    given: dict[str, str], rated: Any, open_page: Any
) -> None:
    codes = chosen_codes(rated, given)
    page = open_page(given).context
    body = page["fresh"].row.body
    assert body["n_ratings"] == (codes >= 0).sum()
    if not codes.size:
        assert body["coefficients"]["fleiss_kappa"]["value"] is None
        assert page["nothing"].startswith("No ratings since 2027-01-01. The newest of all")
        return
    found = page["reading"].coefficients
    expected = report(codes, len(LABELS), values=[0, 1, 2, 3])
    for name in (
        "fleiss_kappa",
        "fleiss_kappa_quadratic",
        "krippendorff_alpha_ordinal",
        "gwet_ac1",
    ):
        assert found[name]["value"] == pytest.approx(expected[name], abs=1e-12), name
        if "bootstrap" not in found[name]:
            assert found[name]["low"] == pytest.approx(expected[f"{name}.ci_low"], abs=1e-12), name
    ordinal = found["krippendorff_alpha_ordinal"]
    if expected["n_pairable_items"]:
        assert ordinal["bootstrap"] == 2000
        assert ordinal["low"] < ordinal["value"] < ordinal["high"]
    assert found["mean_pairwise_kappa"]["value"] == pytest.approx(
        expected["light_kappa"], abs=1e-12
    )
    assert found["mean_pairwise_kappa_linear"]["value"] == pytest.approx(
        expected["light_kappa_linear"], abs=1e-12
    )
    assert found["percent_agreement"]["n_items"] == expected["n_pairable_items"]
    kappas = {row["n"]: row["none"][0] for row in page["fresh"].row.body["pairs"]}
    for entry in expected["pairwise"].values():
        if list(kappas).count(entry["n_pairs"]) == 1 and len(expected["pairwise"]) == len(kappas):
            assert kappas[entry["n_pairs"]] == pytest.approx(entry["cohen_kappa"], abs=1e-12)


def test_what_chooses_everything_equals_the_stored_readings(
    rated: Any, open_page: Any, lead: Any, client_for: Any
) -> None:
    """A filter that leaves nothing out shows what the page without a filter shows: every part of
    it."""
    every = open_page({"from": "2020-01-01"}).context
    plain = client_for(lead).get(f"/projects/{rated.project_id}/").context
    assert plain["chosen"].filter.parameters == {}
    for name in ("findings", "missing", "period", "places", "n_raters"):
        assert every[name] == plain[name], name
    assert every["headline"]["low"] == pytest.approx(plain["headline"]["low"])
    told = [
        [reading["value"] for _weights, reading in page["sensitivity"]] for page in (every, plain)
    ]
    assert told[0] == pytest.approx(told[1])
    assert [row[1]["value"] for row in every["beside"]] == pytest.approx(
        [row[1]["value"] for row in plain["beside"]]
    )
    told = [
        [(p.start, p.end, p.reading["value"], p.cumulative["value"]) for p in page["points"]]
        for page in (every, plain)
    ]
    assert [row[:2] for row in told[0]] == [row[:2] for row in told[1]]
    one, other = (np.array([row[2:] for row in page], float) for page in told)
    assert np.allclose(one, other, equal_nan=True)
    rows = [page["rater_page"].rows for page in (every, plain)]
    for one, other in zip(*rows, strict=True):
        assert (one.reading.rater, one.reading.n_ratings) == (
            other.reading.rater,
            other.reading.n_ratings,
        )
        assert one.spark == pytest.approx(other.spark)
        assert one.reading.coefficients.keys() >= other.reading.coefficients.keys()
        for name, reading in other.reading.coefficients.items():
            assert one.reading.coefficients[name]["value"] == pytest.approx(reading["value"]), name
            assert one.reading.coefficients[name]["low"] == pytest.approx(reading["low"]), name
    kappas = [
        [pair.reading["value"] for _rater, row in page["matrix"] for pair in row if pair]
        for page in (every, plain)
    ]
    assert kappas[0] == pytest.approx(kappas[1])
    assert [d.item for d in every["disputes"].top] == [d.item for d in plain["disputes"].top]


def test_raters_are_sorted_as_without_a_filter(
    rated: Any, open_page: Any, lead: Any, client_for: Any
) -> None:
    Rating.objects.filter(rater__key="a").update(seconds=12.0)
    Rating.objects.filter(rater__key="b").update(seconds=30.0)
    question_updates.reset_counts(rated)
    update_question(rated.pk)
    for sort in ("rater", "-ratings", "vs_peers", "-pairwise", "bias", "-seconds"):
        filtered = open_page({"from": "2020-01-01", "sort": sort}).context["rater_page"]
        plain = (
            client_for(lead).get(f"/projects/{rated.project_id}/?sort={sort}").context["rater_page"]
        )
        told = [
            [(row.reading.rater.key, row.reading.seconds) for row in page.rows]
            for page in (filtered, plain)
        ]
        assert told[0] == told[1], sort
    assert dict(told[1]) == {"a": 12.0, "b": 30.0, "c": None, "d": None, "m": None}


def test_pairs_come_once_whatever_the_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(3)
    places = [place for place in itertools.product(range(40), range(10, 27)) if dice.random() < 0.4]
    rows = [(item, rater, dice.integers(3)) for item, rater in places]
    ratings = np.array(rows, dtype=[("item", "i8"), ("rater", "i8"), ("code", "i4")])
    whole = agreement_tally.count_pair_tables(ratings["item"], ratings["rater"], ratings["code"], 3)
    for cells in (20, 200, 2_000, 1_000_000):
        monkeypatch.setattr(pair_bodies, "MAX_CELLS", cells)
        parts = list(pair_bodies.iter_pair_blocks(ratings, np.unique(ratings["rater"]), 3))
        found = {
            (int(a), int(b)): table.tolist()
            for part in parts
            for a, b, table in zip(part.rater_a, part.rater_b, part.tables, strict=True)
        }
        assert sum(len(part) for part in parts) == len(found) == len(whole)
        assert found == {
            (int(a), int(b)): table.tolist()
            for a, b, table in zip(whole.rater_a, whole.rater_b, whole.tables, strict=True)
        }


# --- what the address may say


REFUSED: list[tuple[dict[str, str], str]] = [
    ({"kind": "robot"}, "human, model"),
    ({"from": "March"}, "2026-03-02"),
    ({"from": "2026-03-02", "to": "2026-03-01"}, "later"),
    ({"group": "Vendor C"}, "Vendor A, Vendor B"),
    ({"item.language": "fr"}, "de, en, zh"),
    ({"item.colour": "red"}, "language, long"),
    ({"item.id": "i1"}, "language, long"),
    ({"item.1": "x"}, "1=x"),
    ({"item.language": "x" * 201}, "language"),
    ({"without": "a,nobody"}, "“nobody”; there is: a,"),
    ({"without": ", ,"}, "by their keys"),
    ({"without": '"a'}, "by their keys"),
    ({"without": ",".join(f"r{n}" for n in range(101))}, "At most 100 raters"),
    ({"group": "\0"}, "group"),
    ({"item.a": "1", "item.b": "1", "item.c": "1", "item.d": "1"}, "At most 3"),
]


def test_what_cannot_be_chosen_is_refused_with_what_can(
    rated: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    client.get(f"/projects/{rated.project_id}/")
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    before = Slice.objects.count()
    for given, words in REFUSED:
        response = client.get(f"/projects/{rated.project_id}/?{urlencode(given)}")
        assert response.status_code == 400, given
        assert words in response.content.decode(), given
    assert Slice.objects.count() == before


def test_the_bar_offers_what_there_is(rated: Any, open_page: Any) -> None:
    page = open_page({"item.language": "de"})
    offered = {
        choice.name: [value for value, _words in choice.options]
        for choice in page.context["filter_bar"].choices
    }
    assert offered == {
        "kind": ["human", "model"],
        "group": ["Vendor A", "Vendor B"],
        "item.language": ["de", "en", "zh"],
        "item.long": ["false", "true"],
    }


def test_chips_take_one_part_away(rated: Any, open_page: Any, project: Any) -> None:
    page = open_page({"item.language": "de", "kind": "human", "weights": "linear"})
    chips = page.context["filter_bar"].chips
    assert [chip.words for chip in chips] == ["only people", "language: de"]
    assert chips[0].without == f"/projects/{project.pk}/?item.language=de&weights=linear"
    assert page.context["filter_bar"].cleared == f"/projects/{project.pk}/?weights=linear"


def test_raters_who_are_left_out_come_back_one_by_one(
    rated: Any, open_page: Any, project: Any
) -> None:
    Rater.objects.filter(key="b").update(key="b, the second")
    page = open_page({"without": 'c,"b, the second"', "kind": "human"})
    bar = page.context["filter_bar"]
    assert [chip.words for chip in bar.chips] == [
        "only people",
        "without b, the second",
        "without c",
    ]
    assert bar.chips[1].without == f"/projects/{project.pk}/?kind=human&without=c"
    assert ("without", '"b, the second",c') in bar.kept, "the form keeps who is left out"
    rows = page.context["rater_page"].rows
    assert {row.reading.rater.key for row in rows} == {"a", "d"}
    many = open_page({"without": "a,c,d,m", "kind": "human"}).context["filter_bar"].chips
    assert len(many) == 5
    Rater.objects.bulk_create(Rater(project=project, key=f"x{n}") for n in range(2))
    many = open_page({"without": "a,c,d,m,x0,x1"}).context["filter_bar"].chips
    assert [(chip.words, chip.without) for chip in many] == [
        ("without 6 raters", f"/projects/{project.pk}/?")
    ]


def test_links_and_charts_keep_the_filter(rated: Any, open_page: Any) -> None:
    given = {"item.language": "de", "kind": "human"}
    text = open_page(given).content.decode()
    for part in (
        "raters/a/?item.language=de&amp;kind=human",
        "charts/pairs.json?item.language=de&amp;kind=human",
    ):
        assert part in text
    matrix = open_page(given, "charts/pairs.json").json()["rows"]
    assert matrix
    assert all("item.language=de" in row["url"] for row in matrix)
    trend = open_page(given | {"period": "month"}, "charts/trend.json").json()["rows"]
    assert [row["n_ratings"] for row in trend] == [
        point.reading["n_ratings"] for point in open_page(given | {"period": "month"}).context["points"]
        if point.reading["value"] is not None
    ]  # fmt: skip


# --- computed by a worker, kept while asked for


def test_a_page_says_that_its_numbers_are_being_computed(
    rated: Any, lead: Any, client_for: Any, project: Any
) -> None:
    client = client_for(lead)
    address = f"/projects/{project.pk}/?kind=human"
    waiting = client.get(address)
    assert "being computed" in waiting.content.decode()
    shown = {"X-Shown": waiting.context["fresh"].version, "X-Places": "waiting"}
    assert client.get(address, headers=shown).status_code == 204
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    assert client.get(address, headers=shown).headers["HX-Refresh"] == "true"
    assert client.get(address).context["headline"]["value"] is not None


def test_live_brings_new_numbers_of_the_chosen_ratings(
    rated: Any, rate: Any, open_page: Any, lead: Any, client_for: Any, project: Any
) -> None:
    given = {"item.language": "de"}
    page = open_page(given)
    rate(rated, "i3", "a", "critical")
    update_question(rated.pk)
    address = f"/projects/{project.pk}/?item.language=de"
    shown = {"X-Shown": page.context["fresh"].version, "X-Places": page.context["places"]}
    client = client_for(lead)
    behind = client.get(address, headers=shown)
    assert "newer ratings are being added" in behind.content.decode()
    assert 'id="headline"' not in behind.content.decode()
    Slice.objects.update(rests_until=None)
    client.get(address, headers=shown)
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    assert 'id="headline"' in client.get(address, headers=shown).content.decode()


def test_a_slice_rests_before_it_is_computed_again(rated: Any, rate: Any, open_page: Any) -> None:
    open_page({"kind": "human"})
    first = Slice.objects.get(kind="dashboard").computed_at
    rate(rated, "i3", "a", "critical")
    update_question(rated.pk)
    open_page({"kind": "human"})
    assert Slice.objects.get(kind="dashboard").computed_at == first
    Slice.objects.update(rests_until=timezone.now())
    open_page({"kind": "human"})
    again = Slice.objects.get(kind="dashboard").computed_at
    assert first and again and again > first


def test_other_groups_and_attributes_make_a_slice_old(
    rated: Any, open_page: Any, api_for: Any, lead: Any
) -> None:
    def number() -> int:
        Slice.objects.update(rests_until=None)
        return int(open_page({"group": "Vendor A"}).context["fresh"].row.body["n_ratings"])

    before = number()
    api = api_for(lead)
    api.post(
        f"/api/v1/projects/{rated.project_id}/raters/", [{"key": "b", "group": ""}], format="json"
    )
    assert number() < before
    german = open_page({"item.language": "de"}).context["fresh"].row.body["n_items"]
    api.post(
        f"/api/v1/projects/{rated.project_id}/items/",
        [{"key": "i1", "body": {}, "attributes": {"language": "de"}}], format="json",
    )  # fmt: skip
    Slice.objects.update(rests_until=None)
    assert open_page({"item.language": "de"}).context["fresh"].row.body["n_items"] == german + 1


def test_a_question_keeps_so_many_slices(
    rated: Any, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filtered_jobs, "MAX_STORED", 3)
    for day in range(1, 7):
        client_for(lead).get(f"/projects/{rated.project_id}/?from=2026-03-0{day}")
    kept = Slice.objects.filter(kind="dashboard").order_by("id")
    assert [row.spec["from"] for row in kept] == ["2026-03-04", "2026-03-05", "2026-03-06"]
    assert Slice.objects.filter(kind="choices").count() == 1


def test_what_nobody_asks_for_any_more_is_not_computed(
    rated: Any, open_page: Any, lead: Any, client_for: Any
) -> None:
    open_page({"kind": "human"})
    client_for(lead).get(f"/projects/{rated.project_id}/?kind=model")
    Slice.objects.update(waiting=True, asked_at=timezone.now() - datetime.timedelta(hours=2))
    before = {row.pk: row.computed_at for row in Slice.objects.exclude(body__isnull=True)}
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    assert {row.pk: row.computed_at for row in Slice.objects.all()} == before
    assert not Slice.objects.filter(waiting=True).exists()


def test_one_message_for_each_time_it_is_to_be_computed(
    rated: Any, lead: Any, client_for: Any, settings: Any
) -> None:
    with private_broker(settings) as broker:
        for _asked in range(3):
            client_for(lead).get(f"/projects/{rated.project_id}/?kind=human")
        assert broker.messages() == 2  # what there is to choose, and the slice


def test_a_dead_broker_leaves_it_to_the_sweep(
    rated: Any, settings: Any, monkeypatch: pytest.MonkeyPatch, lead: Any, client_for: Any
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr(dispatch, "_paused_until", 0.0)

    def fails(*_arguments: Any, **_options: Any) -> None:
        raise ConnectionError("no broker")

    monkeypatch.setattr(dispatch.current_app, "send_task", fails)
    client_for(lead).get(f"/projects/{rated.project_id}/?kind=human")
    tasks.sweep_all()
    assert not Slice.objects.filter(waiting=True).exists()


def test_a_page_stands_though_the_database_takes_no_question(
    rated: Any, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: Any, **_options: Any) -> None:
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(Slice.objects, "get_or_create", full)
    for path in ("", "?kind=human", "raters/a/?kind=human", "pairs/?a=a&b=c"):
        assert client_for(lead).get(f"/projects/{rated.project_id}/{path}").status_code == 200
    assert not Slice.objects.exists()


def test_a_failure_leaves_it_waiting_and_the_others_computed(
    rated: Any, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("human", "model"):
        client_for(lead).get(f"/projects/{rated.project_id}/?kind={kind}")
    whole = filtered_jobs.bodies.compute_body

    def fails(row: Slice) -> Any:
        if row.spec.get("kind") == "human":
            raise RuntimeError("no")
        return whole(row)

    monkeypatch.setattr(filtered_jobs.bodies, "compute_body", fails)
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    assert [row.spec for row in Slice.objects.filter(waiting=True)] == [{"kind": "human"}]
    monkeypatch.undo()
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    assert not Slice.objects.filter(waiting=True).exists()


def test_number_of_queries(
    rated: Any, lead: Any, client_for: Any, django_assert_num_queries: Any, open_page: Any
) -> None:
    open_page({"kind": "human"})
    client = client_for(lead)
    with django_assert_num_queries(19):
        client.get(f"/projects/{rated.project_id}/?kind=human")


def test_requests_read_no_ratings(rated: Any, open_page: Any, lead: Any, client_for: Any) -> None:
    """The numbers of the page stand when the ratings are gone: they come from the row alone."""
    before = open_page({"kind": "human"}).context["headline"]
    Rating.objects.update(counted=-1, code=-1)
    assert (
        client_for(lead).get(f"/projects/{rated.project_id}/?kind=human").context["headline"]
        == before
    )
    assert Project.objects.exists()


def test_the_list_of_pairs_is_that_of_the_chosen_ratings(rated: Any, open_page: Any) -> None:
    for sort in ("items", "-items", "kappa", "-kappa"):
        page = open_page({"item.language": "de", "sort": sort}, "pairs/").context
        told = [
            pair.n_items if sort.endswith("items") else pair.reading["value"]
            for pair in page["pairs"]
        ]
        known = [value for value in told if value is not None]
        assert known == sorted(known, reverse=sort.startswith("-"))
        assert told[len(known) :] == [None] * (len(told) - len(known))
        assert known


# --- one rater, two raters


def test_a_pair_over_time_is_that_of_its_ratings(rated: Any, open_page: Any) -> None:
    """Each month's kappa and mean difference, told from plain rows; and the other way round with
    the other sign."""
    page = open_page({"period": "month", "weights": "none"}, "pairs/?a=a&b=c").context
    assert len(page["points"]) == 2
    both: dict[int, dict[str, Any]] = {}
    for rating in Rating.objects.filter(rater__key__in="ac").select_related("rater"):
        both.setdefault(rating.item_id, {})[rating.rater.key] = rating
    shared = [two for two in both.values() if len(two) == 2]
    assert (
        sum(point.reading["n_items"] for point in page["points"])
        == len(shared)
        == page["details"].n_items
    )
    for kappa, difference in zip(page["points"], page["difference_points"], strict=True):
        mine = [
            two
            for two in shared
            if max(r.rated_at.date().replace(day=1) for r in two.values()) == kappa.start
        ]
        codes = np.array([[two["a"].code, two["c"].code] for two in mine])
        expected = report(codes, len(LABELS))
        assert kappa.reading["value"] == pytest.approx(expected["cohen_kappa"])
        apart = codes[:, 0] - codes[:, 1]
        assert difference.reading["value"] == pytest.approx(apart.mean())
        assert difference.reading["se"] == pytest.approx(apart.std(ddof=1) / len(apart) ** 0.5)
    turned = open_page({"period": "month"}, "pairs/?a=c&b=a").context
    assert [point.reading["value"] for point in turned["difference_points"]] == pytest.approx(
        [-point.reading["value"] for point in page["difference_points"]]
    )


@pytest.mark.fresh
def test_a_drift_of_two_raters_is_told(question: Any, utc: Any, open_page: Any) -> None:
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
    said = "From 2026-03-09 on, sinking answers 0.75 lower against steady than before, on average."
    assert said in page.content.decode()


@pytest.mark.parametrize(
    "given", [{"item.language": "de"}, {"kind": "human", "from": "2026-03-10"}], ids=urlencode
)
def test_a_rater_of_the_chosen_ratings_is_as_on_the_dashboard(
    given: dict[str, str], rated: Any, open_page: Any
) -> None:
    rows = open_page(given).context["rater_page"].rows
    for row in rows:
        page = open_page(given, f"raters/{row.reading.rater.key}/").context
        assert page["whole"].n_ratings == row.reading.n_ratings
        for name, reading in row.reading.coefficients.items():
            assert page["whole"].coefficients[name]["value"] == pytest.approx(reading["value"]), (
                name
            )
        assert sum(point.reading["n_items"] for point in page["points"]) == page["peers"]["n_items"]


@pytest.mark.parametrize("path", ["raters/a/", "pairs/?a=a&b=c", "pairs/"])
@pytest.mark.parametrize("given", [{}, {"item.language": "de"}], ids=["all", "some"])
def test_a_page_asks_whether_it_is_still_right(
    given: dict[str, str],
    path: str,
    rated: Any,
    rate: Any,
    open_page: Any,
    lead: Any,
    client_for: Any,
) -> None:
    page = open_page(given, path)
    client = client_for(lead)
    address = f"/projects/{rated.project_id}/{path}{'&' if '?' in path else '?'}{urlencode(given)}"

    def ask() -> Any:
        headers = {"X-Shown": page.context["fresh"].version, "X-Places": page.context["places"]}
        return client.get(address, headers=headers)

    assert ask().status_code == 204
    rate(rated, "i3", "a", "none")
    rate(rated, "i3", "c", "critical")
    behind = ask().content.decode()
    assert "2 ratings not counted yet" in behind
    assert 'id="differing"' not in behind
    update_question(rated.pk)
    Slice.objects.update(rests_until=None)
    ask()
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    fresh = ask()
    assert fresh.headers["HX-Trigger"] == "charts-changed"
    assert any(
        f'id="{part}"' in fresh.content.decode() for part in ("differing", "stats", "pair-list")
    )
    gone = client.get(address, headers={"X-Shown": "0.0", "X-Places": "other"})
    assert gone.headers["HX-Refresh"] == "true"
