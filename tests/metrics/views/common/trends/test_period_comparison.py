"""Insights of the dashboard about recent changes."""

from __future__ import annotations

import datetime
import html
import re
from types import SimpleNamespace
from typing import Any

import pytest

from metrics import tasks
from metrics.jobs.question_updates import update_question
from metrics.models import Diagnosis
from metrics.views.common.trends import period_comparison
from metrics.views.common.trends.period_comparison import TrendPeriod, compute_clear_change
from tests.metrics.test_change_attribution import changed_question, module_cast  # noqa: F401 - fixtures


def get_findings(response: Any) -> str:
    text = html.unescape(response.content.decode())
    return " ".join(text.split('id="findings"')[1].split("</section>")[0].split())


def test_dashboard_shows_change_with_link_to_explanation(
    project: Any,
    changed_question: Any,  # noqa: F811 - the fixture above
    lead: Any,
    client_for: Any,
) -> None:
    client = client_for(lead)
    findings_text = get_findings(client.get(f"/projects/{project.pk}/statistics/"))
    assert re.search(
        r"Fleiss’ kappa, quadratic weights went from 1.00 \(\d+ items\) "
        r"to 0.\d\d \(\d+ items\) in the week of 2026-05-11",
        findings_text,
    )
    # c answered a step higher in 16 ratings: too few to name a rater. Alerts do (quality.alerts).
    assert "c now answers" not in findings_text
    link = re.search(r'href="(/projects/\d+/change/[^"]*)"', findings_text)
    assert link
    url = link[1]
    assert "Being computed" in client.get(url).content.decode()
    tasks.sweep_all()
    assert "Agreement went from 1.00" in client.get(url).content.decode()


@pytest.mark.parametrize(
    ("coefficient", "weights"),
    [
        ("fleiss_kappa", "none"),
        ("fleiss_kappa_linear", "linear"),
        ("gwet_ac1", "quadratic"),  # not a kappa: the headline's weights apply
    ],
)
def test_change_uses_weights_of_selected_kappa(
    coefficient: str,
    weights: str,
    project: Any,
    changed_question: Any,  # noqa: F811 - the fixture above
    lead: Any,
    client_for: Any,
) -> None:
    changes = (
        client_for(lead)
        .get(f"/projects/{project.pk}/?coefficient={coefficient}")
        .context["changes"]
    )
    assert f"weights={weights}&" in changes[0].url


def test_a_change_that_may_be_chance_is_no_fall(
    project: Any, question: Any, rate: Any, lead: Any, client_for: Any, utc: Any
) -> None:
    for week in (0, 1):
        for item in range(12):
            for rater in "ab":
                label = ["none", "minor", "major"][(item + (rater == "b" and item % 4 == 0)) % 3]
                rate(
                    question,
                    f"{week}-{item}",
                    rater,
                    label,
                    rated_at=utc(2026, 5, 5 + 7 * week, 12),
                )
    update_question(question.pk)
    (change,) = client_for(lead).get(f"/projects/{project.pk}/").context["changes"]
    assert re.fullmatch(
        r"Fleiss’ kappa, quadratic weights went from 0.84 \(28 items\) to 0.65 \(28 items\) "
        r"in the week of 2026-05-11. This may be chance.",
        change.text,
    )
    # The same items again differ by nothing.
    (finding,) = [
        finding
        for finding in Diagnosis.objects.get(question=question).findings
        if finding["name"] == "recent_change"
    ]
    for values in finding["figures"]["changes"].values():
        values[1] = values[0]
    selection = SimpleNamespace(coefficient="fleiss_kappa")
    assert period_comparison.find_last_change(selection, [finding]) is None  # type: ignore[arg-type]


def make_estimate(value: float | None, se: float = 0.05, n_items: int = 100) -> Any:
    ends = {} if value is None else {"low": value - 2 * se, "high": value + 2 * se}
    return {"value": value, "se": se, "low": None, "high": None, "n_items": n_items} | ends


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (make_estimate(0.7), make_estimate(0.58), None),  # 1.7 standard errors
        (make_estimate(0.7), make_estimate(0.55), -0.15),  # 2.1, though the intervals overlap
        (make_estimate(0.5), make_estimate(0.9), 0.4),
        (make_estimate(0.7, se=0.0), make_estimate(0.7, se=0.0), None),
        (  # full agreement of few items: its standard error is 0, its interval is wide
            {"value": 1.0, "se": 0.0, "low": 0.51, "high": 1.0},
            {"value": 0.8, "se": 0.05, "low": 0.6, "high": 0.9},
            None,
        ),
        (make_estimate(None), make_estimate(0.5), None),
        ({}, make_estimate(0.5), None),
    ],
)
def test_clear_change_is_computed(
    before: dict[str, Any], after: dict[str, Any], change: float | None
) -> None:
    assert compute_clear_change(before, after) == (
        None if change is None else pytest.approx(change)
    )


def make_weeks(*biases: float | None, se: float = 0.05, n_items: int = 50) -> list[TrendPeriod]:
    first_week = datetime.date(2026, 5, 4)
    return [
        TrendPeriod(
            "week", first_week + datetime.timedelta(weeks=number), make_estimate(bias, se, n_items)
        )
        for number, bias in enumerate(biases)
    ]


def test_shift_is_found_in_its_week() -> None:
    shift = period_comparison.find_level_shift(make_weeks(0.0, 0.05, -0.02, -0.5, -0.55))
    assert shift is not None
    assert shift.start == datetime.date(2026, 5, 25)
    assert shift.change == pytest.approx(-0.535)
    assert shift.z == pytest.approx(-0.535 / (0.05 * (1 / 3 + 1 / 2) ** 0.5))


def test_small_or_uncertain_shift_is_ignored() -> None:
    assert period_comparison.find_level_shift([]) is None
    assert period_comparison.find_level_shift(make_weeks(0.5)) is None
    assert (
        period_comparison.find_level_shift(make_weeks(0.0, 0.2)) is None
    )  # within three standard errors
    assert (
        period_comparison.find_level_shift(make_weeks(0.0, 0.05, se=0.001)) is None
    )  # sure, and small
    assert (
        period_comparison.find_level_shift(make_weeks(0.0, 0.5, n_items=9)) is None
    )  # too few items
    assert period_comparison.find_level_shift(make_weeks(None, 0.5)) is None
    assert period_comparison.find_level_shift(make_weeks(0.0, 1.0, se=0.0)) is not None
