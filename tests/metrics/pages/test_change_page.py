"""The page of a change between two periods, through HTTP."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
import time_machine
from django.test import Client

from metrics import tasks
from metrics.models import Attribution
from metrics.pages.change_page import clear_change
from metrics.work.sweep import bring_up_to_date
from tests.metrics.on_request.test_attributing import made_once, moved  # noqa: F401 - fixtures

WEEKS = "span=week&from=2026-05-04&to=2026-05-11"
OPEN = {"X-Shown": "waiting"}  # the page that stands open asks


@pytest.fixture
def address(project: Any, moved: Any) -> str:  # noqa: F811 - the fixture above
    return f"/projects/{project.pk}/change/"


def text_of(response: Any) -> str:
    return " ".join(html.unescape(response.content.decode()).split())


def test_first_it_waits_and_then_it_tells(address: str, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    waiting = text_of(client.get(address))
    assert "being computed" in waiting
    assert "Look again" in waiting  # without JavaScript
    assert client.get(f"{address}?{WEEKS}", headers=OPEN).status_code == 204
    tasks.sweep_all()
    assert client.get(f"{address}?{WEEKS}", headers=OPEN)["HX-Refresh"] == "true"
    told = text_of(client.get(address))
    assert "being computed" not in told
    assert re.search(
        r"Agreement fell from 1.00 \[1.00, 1.00\] to 0.\d\d \[0.\d\d, 0.\d\d\] between the week of "
        r"2026-05-04 and "
        "the week of 2026-05-11.",
        told,
    )
    assert "Without c it would have gone from 1.00 to 1.00." in told
    assert "By language of the item" in told
    assert Attribution.objects.count() == 1


def test_the_drift_of_one_rater_shows_in_bias_and_against_the_others(
    address: str, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    client.get(address)
    tasks.sweep_all()
    found = client.get(address).context["found"]
    bias = {
        part.name: [reading["value"] for reading in part.found["bias"]] for part in found.raters
    }
    assert bias["c"] == [0, 1]
    assert bias["a"] == [0, -0.5]


def test_the_chart_tells_what_the_tables_tell(address: str, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    chart = address.replace("change/", "charts/change")
    assert client.get(f"{chart}.json?{WEEKS}").json()["rows"] == []
    assert not Attribution.objects.exists()  # a chart asks for nothing
    client.get(address)
    tasks.sweep_all()
    rows = client.get(f"{chart}.json?{WEEKS}").json()["rows"]
    assert rows[0]["label"] == "c"
    assert {"a", "category: minor"} < {row["label"] for row in rows}
    assert [abs(row["contribution"]) for row in rows] == sorted(
        (abs(r["contribution"]) for r in rows), reverse=True
    )
    lines = client.get(f"{chart}.csv?{WEEKS}").content.decode().splitlines()
    assert len(lines) == len(rows) + 1


def test_what_may_be_chance_is_pale(address: str, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    client.get(address)
    tasks.sweep_all()
    for se, pale in ((None, True), (0.01, False), (1.0, True)):
        row = Attribution.objects.get()
        row.result = {**row.result, "se": se}  # type: ignore[dict-item]
        row.save()
        page = client.get(address).content.decode()
        assert ('class="pic pale"' in page, "They are pale here" in page) == (pale, pale)
        chart = client.get(f"{address.replace('change/', 'charts/change')}.json?{WEEKS}").json()
        assert f'"opacity": {0.35 if pale else 1}' in json.dumps(chart["spec"])


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("from=yesterday&to=2026-05-11", "“from” must be the first day of a period, written like 2026-03-02; not “y"),
        ("from=2026-05-04", "“to” must be the first day of a period"),
        ("from=2026-05-04&to=2026-05-12", "“to”: no week with ratings begins on 2026-05-12"),
        ("span=month&from=2026-05-01&to=2026-06-01", "“to”: no month with ratings begins on 2026-06-01"),
        ("from=2026-05-11&to=2026-05-04", "The first period must be earlier than the second one."),
        ("from=2026-05-04&to=2026-05-04", "The first period must be earlier than the second one."),
        ("from=%00&to=%00", "“from” must be the first day"),
    ],
)  # fmt: skip
def test_a_bad_period_is_named_and_nothing_is_computed(
    query: str, said: str, address: str, lead: Any, client_for: Any
) -> None:
    response = client_for(lead).get(f"{address}?{query}")
    assert response.status_code == 400
    assert said in text_of(response)
    assert not Attribution.objects.exists()


@pytest.mark.parametrize("query", ["span=day", "weights=cubic", "question=none"])
def test_unknown_choices_are_not_found(
    query: str, address: str, lead: Any, client_for: Any
) -> None:
    assert client_for(lead).get(f"{address}?{query}").status_code == 404


@pytest.mark.parametrize("headers", [{}, OPEN])
def test_who_may_look(
    headers: Any, address: str, viewer: Any, annotator: Any, stranger: Any, client_for: Any
) -> None:
    assert client_for(viewer).get(address, headers=headers).status_code in (200, 204)
    assert client_for(annotator).get(address, headers=headers).status_code == 403
    assert client_for(stranger).get(address, headers=headers).status_code == 404
    assert Client().get(address, headers=headers).status_code == 302
    assert client_for(viewer).post(address, headers=headers).status_code == 405


def test_one_month_is_not_enough(address: str, lead: Any, client_for: Any) -> None:
    assert "needs ratings in two months" in text_of(client_for(lead).get(f"{address}?span=month"))


@pytest.mark.fresh
def test_without_any_rating(project: Any, question: Any, lead: Any, client_for: Any) -> None:
    response = client_for(lead).get(f"/projects/{project.pk}/change/")
    assert response.status_code == 200
    assert "needs ratings in two weeks" in text_of(response)


def test_with_quadratic_weights(address: str, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    client.get(f"{address}?weights=quadratic")
    tasks.sweep_all()
    assert "Agreement fell from 1.00" in text_of(client.get(f"{address}?weights=quadratic"))


def test_queries_do_not_grow(
    address: str, lead: Any, client_for: Any, django_assert_max_num_queries: Any
) -> None:
    client = client_for(lead)
    client.get(address)
    tasks.sweep_all()
    with django_assert_max_num_queries(15):
        assert client.get(address).status_code == 200


def test_it_opens_with_the_last_clear_move(
    address: str,
    moved: Any,  # noqa: F811
    rate: Any,
    lead: Any,
    client_for: Any,
    utc: Any,
) -> None:
    """Weeks in which nothing moved came after it."""
    client = client_for(lead)
    assert client.get(address).context["change"].after.start.isoformat() == "2026-05-11"
    for week in (18, 25):
        for n in range(12):
            for rater in "ab":
                with time_machine.travel(utc(2026, 5, week, 12), tick=False):
                    rate(moved, f"later-{week}-{n}", rater, ("none", "minor")[n % 2])
    bring_up_to_date(moved.pk)
    found = client.get(address).context["change"]
    assert [one.start.isoformat() for one in found.periods][:2] == ["2026-05-25", "2026-05-18"]
    assert clear_change(found.before.reading, found.after.reading) is not None
    assert found.after.start.isoformat() in ("2026-05-18", "2026-05-11")
