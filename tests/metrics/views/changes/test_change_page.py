"""The page of a change between two periods, through HTTP."""

from __future__ import annotations

import dataclasses
import datetime
import html
import json
import re
from typing import Any

import pytest
import time_machine
from django.test import Client

from metrics import tasks
from metrics.jobs.question_updates import update_question
from metrics.models import Attribution
from metrics.views.changes import texts
from metrics.views.common.trends import period_comparison
from metrics.views.common.trends.period_comparison import TrendPeriod, compute_clear_change
from projects.models import Rater
from tests.metrics.attribution.test_attribution_jobs import made_once, moved  # noqa: F401 - fixtures

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
        assert ("Agreement fell from" in page) is not pale
        assert ("Agreement was 1.00 [1.00, 1.00] in the week of" in page) is pale
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
    update_question(moved.pk)
    found = client.get(address).context["change"]
    assert [one.start.isoformat() for one in found.periods][:2] == ["2026-05-25", "2026-05-18"]
    assert compute_clear_change(found.before.reading, found.after.reading) is not None
    assert found.after.start.isoformat() in ("2026-05-18", "2026-05-11")


def reading(value: float, se: float = 0.05, n_items: int = 50) -> dict[str, Any]:
    return {
        "value": value,
        "se": se,
        "low": value - 2 * se,
        "high": value + 2 * se,
        "n_items": n_items,
    }


def weeks(*values: float) -> list[TrendPeriod]:
    """The newest first."""
    start = datetime.date(2026, 5, 4)
    return [
        TrendPeriod("week", start - datetime.timedelta(weeks=place), reading(value))
        for place, value in enumerate(values)
    ]


def test_the_latest_move_beyond_chance() -> None:
    known = weeks(0.5, 0.52, 0.5, 0.9, 0.3, 0.5)
    assert period_comparison.find_latest_change(known) == (known[2], known[3])
    assert period_comparison.find_latest_change(known[:3]) is None
    assert period_comparison.find_latest_change(known[:1]) is None
    assert period_comparison.find_latest_change([]) is None


def test_a_move_that_one_of_many_makes_by_chance_is_none() -> None:
    """2.3 standard errors: enough for the one move that there is, not for one of fifty."""
    values = [0.5, 0.66]
    assert period_comparison.find_latest_change(weeks(*values)) is not None
    assert period_comparison.find_latest_change(weeks(*values, *[0.6] * 50)) is None


def test_without_a_move_the_last_two_periods_are_told_as_such(
    address: str, lead: Any, client_for: Any, monkeypatch: Any
) -> None:
    client = client_for(lead)
    latest = "The latest move between neighbouring periods that is beyond chance."
    assert latest in text_of(client.get(address))
    assert latest not in text_of(client.get(f"{address}?{WEEKS}"))
    tasks.sweep_all()
    monkeypatch.setattr(period_comparison, "find_latest_change", lambda newest: None)
    page = client.get(address)
    assert latest not in text_of(page)
    assert "That is the only move between neighbouring periods" in text_of(page)
    assert 'class="pic pale"' in page.content.decode()
    assert "Without c it would" not in text_of(page)
    (query,) = re.findall(r'data-chart="[^"?]*\?([^"]*pale=1[^"]*)"', page.content.decode())
    chart = client.get(f"{address.replace('change/', 'charts/change')}.json?{html.unescape(query)}")
    assert '"opacity": 0.35' in json.dumps(chart.json()["spec"])
    asked = client.get(f"{address}?{WEEKS}")
    assert 'class="pic pale"' not in asked.content.decode()


def test_of_many_moves_none_is_told_as_real(
    address: str, lead: Any, client_for: Any, monkeypatch: Any
) -> None:
    client = client_for(lead)
    client.get(address)
    tasks.sweep_all()
    monkeypatch.setattr(period_comparison, "find_latest_change", lambda newest: None)
    for span, said in (("week", "from week to week"), ("month", "from month to month")):
        found = client.get(address).context
        many = dataclasses.replace(found["change"], n_moves=52, span=span)
        told = texts.build_sentences(many, found["found"])
        assert told[1].startswith(f"None of the last 52 moves {said} is beyond chance.")
    few = dataclasses.replace(found["change"], n_moves=0)
    assert "One of the two has few items" in texts.build_sentences(few, found["found"])[1]


@pytest.mark.parametrize(
    ("contributions", "shown", "folded"),
    [
        ([-0.4, 0.004, -0.001, 0.0], ["r0"], "3 more, each under 0.005"),
        ([0.004, -0.001, 0.0], [], "3 raters, each under 0.005"),
        ([-0.4, 0.004, None, 0.0], ["r0", "r1", "r2", "r3"], ""),
    ],
)
def test_raters_who_explain_next_to_nothing_are_folded_away(
    address: str, lead: Any, client_for: Any, project: Any,
    contributions: list[float | None], shown: list[str], folded: str,
) -> None:  # fmt: skip
    client = client_for(lead)
    client.get(address)
    tasks.sweep_all()
    row = Attribution.objects.get()
    result: Any = row.result
    one = {"reason": "no_items", **result["raters"][0]}
    raters = [
        {**one, "name": Rater.objects.create(project=project, key=f"r{n}").pk, "contribution": part}
        for n, part in enumerate(contributions)
    ]
    Attribution.objects.update(result={**result, "raters": raters})
    page = client.get(address).content.decode()
    table = page.split('aria-labelledby="raters-title"')[-1].split("</table>")[0]
    assert (re.findall(r">(r\d)</a>", table) if shown else []) == shown
    assert ("each under 0.005" in page) == bool(folded)
    assert folded in page
    assert ("No single rater explains" in page) == (not shown)
    lines = client.get(f"{address}?csv=raters-title").content.decode().splitlines()
    assert len(lines) == len(contributions) + 1
