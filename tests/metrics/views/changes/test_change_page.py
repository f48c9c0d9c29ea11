"""The page about a change between two periods, through HTTP."""

from __future__ import annotations

import dataclasses
import datetime
import html
import json
import random
import re
from typing import Any

import pytest
import time_machine
from django.test import Client

from metrics import tasks
from metrics.jobs.question_updates import update_question
from metrics.models import Attribution
from metrics.views.changes import views
from metrics.views.changes.contributions import ChangeExplanation, Contribution
from metrics.views.common.trends import period_comparison
from metrics.views.common.trends.period_comparison import (
    LAST_TWO,
    PeriodComparison,
    TrendPeriod,
    compute_clear_change,
)
from projects.models import Item, Rater
from tests.cast import rate_many
from tests.metrics.test_change_attribution import changed_question, module_cast  # noqa: F401 - fixtures

WEEKS = "period=week&from=2026-05-04&to=2026-05-11"
POLL_HEADERS = {"X-Shown-Version": "pending"}  # polling of an open page


@pytest.fixture
def address(project: Any, changed_question: Any) -> str:  # noqa: F811 - the fixture above
    return f"/projects/{project.pk}/change/"


def get_text(response: Any) -> str:
    return " ".join(html.unescape(response.content.decode()).split())


def test_page_waits_and_then_explains_the_change(address: str, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    pending_page = get_text(client.get(address))
    assert "Being computed" in pending_page
    assert "Refresh" in pending_page  # without JavaScript
    assert client.get(f"{address}?{WEEKS}", headers=POLL_HEADERS).status_code == 204
    tasks.sweep_all()
    assert client.get(f"{address}?{WEEKS}", headers=POLL_HEADERS)["HX-Refresh"] == "true"
    text = get_text(client.get(address))
    assert "Being computed" not in text
    assert re.search(
        r"Agreement went from 1.00 \[0.\d\d, 1.00\] \(the week of 2026-05-04\) "
        r"to 0.\d\d \[-?0.\d\d, 0.\d\d\] \(the week of 2026-05-11\).",
        text,
    )
    assert "Without c: 1.00 to 1.00." in text
    assert "By language" in text
    assert Attribution.objects.count() == 1


def rate_two_weeks(question: Any, errors: dict[str, tuple[float, float]], hard: float) -> None:
    """Record 90 items a week by raters with these shares of errors in the two weeks.

    ``hard``: the share of errors of all raters on the items of the hard kind in the second week.
    """
    rng, labels = random.Random(5), ("none", "minor", "major", "critical")
    for week, day in enumerate((5, 12)):
        ratings = []
        for number in range(90):
            truth, is_hard = rng.randrange(4), number % 3 == 0
            for rater, shares in errors.items():
                error = max(shares[week], hard if is_hard and week else 0.0)
                code = rng.randrange(4) if rng.random() < error else truth
                ratings.append((f"w{week}-{number}", rater, labels[code]))
        rate_many(question, ratings, rated_at=datetime.datetime(2026, 5, day, tzinfo=datetime.UTC))
    for item in Item.objects.filter(project=question.project):
        item.attributes = {"kind": "hard" if int(item.key.split("-")[1]) % 3 == 0 else "easy"}
        item.save()
    update_question(question.pk)


ALL_ALIKE = dict.fromkeys("abcde", (0.02, 0.3))
WITHOUT_E = "Without e:"
OTHER_RATER = "Without [a-d]:"
HARD_ITEMS = "Without items with kind “hard”:"


@pytest.mark.parametrize(
    ("errors", "hard", "sentences", "absent"),
    [
        (ALL_ALIKE | {"e": (0.5, 0.02)}, 0.0, [WITHOUT_E], [OTHER_RATER]),
        (dict.fromkeys("abcd", (0.02, 0.02)) | {"e": (0.02, 0.8)}, 0.0, [WITHOUT_E], [OTHER_RATER]),
        # Tempting: everybody gets worse alike, or only on the items of one kind.
        (ALL_ALIKE, 0.0, [], [OTHER_RATER, "Without e", "Without items"]),
        (dict.fromkeys("abcde", (0.02, 0.02)), 0.9, [HARD_ITEMS], [OTHER_RATER, "Without e"]),
    ],
)
def test_raters_and_items_are_named_where_they_explain_the_change(
    errors: dict[str, tuple[float, float]],
    hard: float,
    sentences: list[str],
    absent: list[str],
    question: Any,
    lead: Any,
    client_for: Any,
) -> None:
    rate_two_weeks(question, errors, hard)
    client, address = client_for(lead), f"/projects/{question.project_id}/change/?{WEEKS}"
    client.get(address)
    tasks.sweep_all()
    text = get_text(client.get(address))
    assert "Agreement went from" in text
    for sentence in sentences:
        assert sentence in text
    for pattern in absent:
        assert not re.search(pattern, text)


def test_missing_bias_says_whether_the_rater_rated_in_the_week() -> None:
    """Regression: "not counted yet" was said of raters without ratings in one of the weeks."""
    contribution = Contribution("rater", "c", {"bias": [None, None], "n_ratings": [3, 0]})
    assert [bias["reason"] for bias in contribution.biases] == ["no_peers", "no_ratings"]


def test_drift_of_one_rater_shows_in_biases(address: str, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    client.get(address)
    tasks.sweep_all()
    attribution = client.get(address).context["found"]
    bias = {
        rater.name: [estimate["value"] for estimate in rater.values["bias"]]
        for rater in attribution.raters
    }
    assert bias["c"] == [0, 1]
    assert bias["a"] == [0, -0.5]


def test_chart_shows_same_values_as_tables(address: str, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    chart = address.replace("change/", "charts/change")
    assert client.get(f"{chart}.json?{WEEKS}").json()["rows"] == []
    assert not Attribution.objects.exists()  # a chart requests no computation
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


def test_possible_chance_is_shown_pale(address: str, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    client.get(address)
    tasks.sweep_all()
    for is_clear in (None, True, False):
        pale = not is_clear
        row = Attribution.objects.get()
        row.result = {**row.result, "is_clear": is_clear}  # type: ignore[dict-item]
        row.save()
        page = client.get(address).content.decode()
        assert ('class="pic pale"' in page, "Pale: may be chance" in page) == (pale, pale)
        sentence = r"Agreement went from 1.00 \[0.\d\d, 1.00\] \(the week of .*?\)\."
        assert re.search(sentence, page)
        assert ("This may be chance." in page) is pale
        chart = client.get(f"{address.replace('change/', 'charts/change')}.json?{WEEKS}").json()
        assert f'"opacity": {0.35 if pale else 1}' in json.dumps(chart["spec"])


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("from=yesterday&to=2026-05-11", "“from” must be a date like 2026-03-02, not “y"),
        ("from=2026-05-04", "“to” must be a date like"),
        ("from=2026-05-04&to=2026-05-12", "“to”: no rated week starts on 2026-05-12"),
        ("period=month&from=2026-05-01&to=2026-06-01", "“to”: no rated month starts on 2026-06-01"),
        ("from=2026-05-11&to=2026-05-04", "The first period must be before the second."),
        ("from=2026-05-04&to=2026-05-04", "The first period must be before the second."),
        ("from=%00&to=%00", "“from” must be a date like"),
    ],
)  # fmt: skip
def test_invalid_period_is_reported_and_nothing_is_computed(
    query: str, message: str, address: str, lead: Any, client_for: Any
) -> None:
    response = client_for(lead).get(f"{address}?{query}")
    assert response.status_code == 400
    assert message in get_text(response)
    assert not Attribution.objects.exists()


@pytest.mark.parametrize("query", ["period=day", "weights=cubic", "question=none"])
def test_unknown_choices_are_404(query: str, address: str, lead: Any, client_for: Any) -> None:
    assert client_for(lead).get(f"{address}?{query}").status_code == 404


@pytest.mark.parametrize("headers", [{}, POLL_HEADERS])
def test_only_viewers_may_open_the_page(
    headers: Any, address: str, viewer: Any, annotator: Any, stranger: Any, client_for: Any
) -> None:
    assert client_for(viewer).get(address, headers=headers).status_code in (200, 204)
    assert client_for(annotator).get(address, headers=headers).status_code == 403
    assert client_for(stranger).get(address, headers=headers).status_code == 404
    assert Client().get(address, headers=headers).status_code == 302
    assert client_for(viewer).post(address, headers=headers).status_code == 405


def test_one_month_is_not_enough(address: str, lead: Any, client_for: Any) -> None:
    assert "Two periods need ratings" in get_text(client_for(lead).get(f"{address}?period=month"))


@pytest.mark.fresh
def test_without_any_rating(project: Any, question: Any, lead: Any, client_for: Any) -> None:
    response = client_for(lead).get(f"/projects/{project.pk}/change/")
    assert response.status_code == 200
    assert "Two periods need ratings" in get_text(response)


def test_with_quadratic_weights(address: str, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    client.get(f"{address}?weights=quadratic")
    tasks.sweep_all()
    assert "Agreement went from 1.00" in get_text(client.get(f"{address}?weights=quadratic"))


def test_number_of_queries(
    address: str, lead: Any, client_for: Any, django_assert_max_num_queries: Any
) -> None:
    client = client_for(lead)
    client.get(address)
    tasks.sweep_all()
    with django_assert_max_num_queries(15):
        assert client.get(address).status_code == 200


def test_page_opens_with_latest_clear_change(
    address: str,
    changed_question: Any,  # noqa: F811
    rate: Any,
    lead: Any,
    client_for: Any,
    utc: Any,
) -> None:
    """The weeks after it have no clear change, and 12 items a week would show none."""
    client = client_for(lead)
    assert client.get(address).context["change"].after.start.isoformat() == "2026-05-11"
    for week in (4, 11, 18, 25):
        for n in range(60):
            for rater in "ab":
                is_swapped = rater == "b" and week > 4 and n % 3 == 0
                label = ("none", "minor")[(n + is_swapped) % 2]
                with time_machine.travel(utc(2026, 5, week, 12), tick=False):
                    rate(changed_question, f"later-{week}-{n}", rater, label)
    update_question(changed_question.pk)
    comparison = client.get(address).context["change"]
    assert [period.start.isoformat() for period in comparison.periods][:2] == [
        "2026-05-25",
        "2026-05-18",
    ]
    assert compute_clear_change(comparison.before.estimate, comparison.after.estimate) is not None
    assert comparison.after.start.isoformat() == "2026-05-11"


def make_estimate(value: float, se: float = 0.05, n_items: int = 50) -> Any:
    return {
        "value": value,
        "se": se,
        "low": value - 2 * se,
        "high": value + 2 * se,
        "n_items": n_items,
    }


def make_weeks(*values: float) -> list[TrendPeriod]:
    """Return one weekly period for each value, newest first."""
    start = datetime.date(2026, 5, 4)
    return [
        TrendPeriod("week", start - datetime.timedelta(weeks=index), make_estimate(value))
        for index, value in enumerate(values)
    ]


def test_latest_change_beyond_chance() -> None:
    periods = make_weeks(0.5, 0.52, 0.5, 0.9, 0.3, 0.5)
    assert period_comparison.find_latest_change(periods) == (periods[2], periods[3])
    assert period_comparison.find_latest_change(periods[:3]) is None
    assert period_comparison.find_latest_change(periods[:1]) is None
    assert period_comparison.find_latest_change([]) is None


def test_change_expected_among_many_is_not_reported() -> None:
    """A change of 2.3 standard errors is clear when it is the only one, but not as one of fifty."""
    values = [0.5, 0.66]
    assert period_comparison.find_latest_change(make_weeks(*values)) is not None
    assert period_comparison.find_latest_change(make_weeks(*values, *[0.6] * 50)) is None


def test_page_without_clear_change_compares_last_two_periods(
    address: str, lead: Any, client_for: Any, monkeypatch: Any
) -> None:
    client = client_for(lead)
    hint = "The latest change beyond chance."
    assert hint in get_text(client.get(address))
    assert hint not in get_text(client.get(f"{address}?{WEEKS}"))
    tasks.sweep_all()
    monkeypatch.setattr(period_comparison, "find_latest_change", lambda newest: None)
    # As the overview says of these two weeks, whatever is searched for beside them.
    assert "This may be chance." not in get_text(client.get(address))
    make_unclear(Attribution.objects.get())
    page = client.get(address)
    assert hint not in get_text(page)
    assert "This may be chance." in get_text(page)
    assert 'class="pic pale"' in page.content.decode()
    assert "Without c, agreement would" not in get_text(page)
    (query,) = re.findall(r'data-chart="[^"?]*\?([^"]*pale=1[^"]*)"', page.content.decode())
    chart = client.get(f"{address.replace('change/', 'charts/change')}.json?{html.unescape(query)}")
    assert '"opacity": 0.35' in json.dumps(chart.json()["spec"])


def make_unclear(attribution: Attribution) -> None:
    """Store that the change may be chance."""
    assert attribution.result is not None
    attribution.result["is_clear"] = False
    attribution.save(update_fields=["result"])


def test_page_says_that_none_of_many_changes_is_clear(
    address: str, lead: Any, client_for: Any, monkeypatch: Any
) -> None:
    client = client_for(lead)
    client.get(address)
    tasks.sweep_all()
    monkeypatch.setattr(period_comparison, "find_latest_change", lambda newest: None)
    make_unclear(Attribution.objects.get())
    context = client.get(address).context
    many_changes = dataclasses.replace(context["change"], n_changes=52)
    sentences = views.build_sentences(many_changes, context["found"])
    assert sentences[1].startswith("None of the last 52 changes is beyond chance.")
    few_changes = dataclasses.replace(context["change"], n_changes=0)
    sentences = views.build_sentences(few_changes, context["found"])
    assert sentences[1] == "This may be chance."


@pytest.mark.parametrize(
    ("contributions", "shown_keys", "folded_text"),
    [
        ([-0.4, 0.004, -0.001, 0.0], ["r0"], "Under 0.005 each: 3"),
        ([0.004, -0.001, 0.0], [], "Under 0.005 each: 3"),
        ([-0.4, 0.004, None, 0.0], ["r0", "r1", "r2", "r3"], ""),
    ],
)
def test_raters_with_tiny_contributions_are_folded(
    address: str, lead: Any, client_for: Any, project: Any,
    contributions: list[float | None], shown_keys: list[str], folded_text: str,
) -> None:  # fmt: skip
    client = client_for(lead)
    client.get(address)
    tasks.sweep_all()
    row = Attribution.objects.get()
    result: Any = row.result
    template = {"reason": "no_items", **result["raters"][0]}
    raters = [
        {
            **template,
            "name": Rater.objects.create(project=project, key=f"r{n}").pk,
            "contribution": contribution,
        }
        for n, contribution in enumerate(contributions)
    ]
    Attribution.objects.update(result={**result, "raters": raters})
    page = client.get(address).content.decode()
    table = page.split('aria-labelledby="raters-title"')[-1].split("</table>")[0]
    assert (re.findall(r">(r\d)</a>", table) if shown_keys else []) == shown_keys
    assert ("Under 0.005 each" in page) == bool(folded_text)
    assert folded_text in page
    assert ("No rater contributes" in page) == (not shown_keys)
    lines = client.get(f"{address}?csv=raters-title").content.decode().splitlines()
    assert len(lines) == len(contributions) + 1


def describe_change(
    before: float | None,
    after: float | None,
    *,
    is_clear: bool = True,
    n_changes: int | None = None,
    **fields: Any,
) -> str:
    """Return the sentences on a change; ``n_changes``: the page chose the last two periods."""
    change = None if before is None or after is None else after - before
    sides = [
        {"value": value, "low": value, "high": value, "reason": value is None and "single_category"}
        for value in (before, after)
    ]
    result = {"before": sides[0], "after": sides[1], "change": change, "is_clear": is_clear}
    parts = {"raters": [], "categories": [], "attributes": [], "shifts": []} | fields
    comparison = PeriodComparison(
        "week", [], default_kind="" if n_changes is None else LAST_TWO, n_changes=n_changes or 0
    )
    return " ".join(views.build_sentences(comparison, ChangeExplanation(result, **parts)))


def build_part(contribution: float, kind: str = "rater", **fields: Any) -> Contribution:
    is_distinct = fields.pop("is_distinct", True)
    values = {
        "contribution": contribution, "before": 0.8, "after": 0.7, "is_distinct": is_distinct,
    }  # fmt: skip
    rater = Rater(key="ann") if kind == "rater" else None
    return Contribution(kind, "ann", values, rater=rater, **fields)


SHIFT = {"a": "ann", "b": "ben", "bias": [0.1, 0.6]}
FALL = (0.8, 0.5)
CHANGE_SENTENCES: dict[str, tuple[str, str]] = {
    # text: sentences where it is true, and where it is false but tempting
    "Agreement went from 0.50": (
        describe_change(0.5, 0.8), describe_change(None, 0.8),
    ),
    "is undefined: ": (
        describe_change(None, 0.5), describe_change(0.0, 0.5),
    ),
    "This may be chance.": (
        describe_change(*FALL, is_clear=False, n_changes=1),
        describe_change(*FALL, is_clear=False, n_changes=2),
    ),
    "None of the last 2 changes is beyond chance": (
        describe_change(*FALL, is_clear=False, n_changes=2), describe_change(*FALL, n_changes=2),
    ),
    "The mean difference of ann and ben changed from +0.10": (
        describe_change(*FALL, shifts=[SHIFT]), describe_change(*FALL),
    ),
    "Without ann: 0.80": (
        describe_change(*FALL, raters=[build_part(-0.2)]),
        describe_change(*FALL, raters=[build_part(-0.2, is_distinct=False)]),
    ),
    "Without the ratings “ann”": (
        describe_change(*FALL, categories=[build_part(-0.2, "category")]),
        describe_change(*FALL, categories=[build_part(0.2, "category")]),
    ),
    "Without items with language “ann”": (
        describe_change(
            *FALL, attributes=[("language", [build_part(-0.2, "language", of_items=True)])]
        ),
        describe_change(
            *FALL,
            is_clear=False,
            attributes=[("language", [build_part(-0.2, "language", of_items=True)])],
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", CHANGE_SENTENCES)
def test_each_sentence_on_a_change_has_its_reason(text: str) -> None:
    sentences, tempting = CHANGE_SENTENCES[text]
    assert text in sentences
    assert text not in tempting
