"""A filter that keeps every rating gives exactly the results that are stored for all ratings.

Hypothesis generates the ratings; every field of the three kinds of filtered results is compared.
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from metrics import periods
from metrics.counting.store import encode_json
from metrics.filtered import filtered_jobs
from metrics.filtered.compact_values import POINT_FIELDS, SHORT_FIELDS
from metrics.filtered.dashboard_results import DashboardResults
from metrics.filtered.rater_results import RaterResults
from metrics.filters import RatingFilter
from metrics.jobs.question_updates import update_question
from metrics.models import FilteredResult, PairTally, RaterResult, Result
from metrics.question_scale import QuestionScale, list_headline_coefficients
from metrics.results import rater_periods
from metrics.results.findings import RECENT_CHANGE, load_diagnosis
from metrics.results.question_agreement import load_question_agreement
from metrics.views.common.trends import trend_points
from projects.models import Item, Question, Rater
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.cast import make_project
from tests.metrics.agreement.test_truth import CASES, build_codes, load_case
from tests.tools.full_run import choose_number

ITEMS, RATERS = 12, 5
MAX_CASE_ITEMS = 250  # some published tables are of thousands
KEEPS_ALL = RatingFilter(from_date=datetime.date(2020, 1, 1))
START = datetime.datetime(2026, 2, 20, 5, tzinfo=datetime.UTC)  # a week and a month end soon

# (item, rater) -> (category, hours after START)
ratings = st.dictionaries(
    st.tuples(st.integers(0, ITEMS - 1), st.integers(0, RATERS - 1)),
    st.tuples(st.integers(0, 2), st.integers(0, 1_500)),
    min_size=1,
    max_size=50,
)


def create_question(
    rows: dict[tuple[int, int], tuple[int, int]],
    *,
    labels: tuple[str, ...] = ("low", "middle", "high"),
    n_models: int = 0,
    **fields: Any,
) -> Question:
    """Create a question with these ratings and its results; the last raters are models."""
    project = make_project(labels=labels)
    Question.objects.filter(project=project).update(**fields)
    question = Question.objects.select_related("project").get(project=project)
    n_items, n_raters = (max(key[side] for key in rows) + 1 for side in (0, 1))
    items = [Item(project=project, key=str(number)) for number in range(n_items)]
    raters = [
        Rater(
            project=project,
            key=str(number),
            kind="human" if number < n_raters - n_models else "model",
        )
        for number in range(n_raters)
    ]
    Item.objects.bulk_create(items)
    Rater.objects.bulk_create(raters)
    judgements = [
        Judgement(
            items[item].pk, raters[rater].pk, code, rated_at=START + datetime.timedelta(hours=hour)
        )
        for (item, rater), (code, hour) in rows.items()
    ]
    record_ratings({question: judgements}, by=None, source="import")
    update_question(question.pk)
    return question


def compute_body(question: Question, kind: FilteredResult.Kind, *raters: Rater) -> Any:
    """Return the body of a filter that keeps all ratings, as it is read from its row."""
    request = filtered_jobs.FilteredRequest(kind, KEEPS_ALL, tuple(rater.pk for rater in raters))
    row = FilteredResult(question=question, kind=kind, spec=request.spec)
    return json.loads(encode_json(filtered_jobs.compute_body(row)))


def assert_same(actual: Any, expected: Any, path: str = "") -> None:
    """Assert that two results are equal, floats to their last digits.

    A formula computes many periods, raters or pairs in one call, and sums in another order when
    there are more of them.
    """
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys(), path
        for name, value in expected.items():
            assert_same(actual[name], value, f"{path} {name}")
    elif isinstance(expected, list):
        assert len(actual) == len(expected), path
        for index, value in enumerate(expected):
            assert_same(actual[index], value, f"{path}[{index}]")
    elif isinstance(expected, float) and actual is not None:
        assert actual == pytest.approx(expected, rel=1e-10, abs=1e-10), path
    else:
        assert actual == expected, path


def check_dashboard(question: Question, scale: QuestionScale) -> None:
    dashboard = DashboardResults.from_json(compute_body(question, FilteredResult.Kind.DASHBOARD))
    stored = load_question_agreement(question)
    assert stored is not None
    assert_same(vars(dashboard.agreement), vars(stored) | {"counted_at": None})
    diagnosis = load_diagnosis(question)
    # The change between the last periods is found among all ratings only.
    stored_findings = [part for part in diagnosis.findings if part["name"] != RECENT_CHANGE]
    disputes = dict(diagnosis.disputes)
    assert disputes.pop("is_complete")
    stored_diagnosis = vars(diagnosis) | {"findings": stored_findings, "disputes": disputes}
    assert_same(vars(dashboard.diagnosis), stored_diagnosis)
    check_trend(question, scale, dashboard)
    check_pairs(question, dashboard)
    rows = {row.rater_id: row for row in RaterResult.objects.filter(question=question)}
    assert rows.keys() == {row["id"] for row in dashboard.raters}
    for row in dashboard.raters:
        assert row["n"] == rows[row["id"]].n_ratings
        assert row["seconds"] == rows[row["id"]].seconds
        assert_same(row["coefficients"], rows[row["id"]].coefficients)
    for weights in scale.list_weightings():
        name = f"vs_peers_{weights}".removesuffix("_none")
        weekly_values = trend_points.get_sparklines(question, list(rows), name, scale=scale)
        assert weekly_values == {
            row["id"]: row["weekly_values"][name]
            for row in dashboard.raters
            if row["weekly_values"]
        }


def check_trend(question: Question, scale: QuestionScale, dashboard: DashboardResults) -> None:
    """Compare the trend of the displayed raters: people, unless the question pools models."""
    for span in periods.SPANS:
        rows = list(Result.objects.filter(question=question, period_unit=span).order_by("start"))
        for name in list_headline_coefficients(scale):
            expected = []
            for row in rows:
                value, cumulative = row.coefficients[name], row.cumulative[name]
                if row.headline.get("people") and not scale.pooled:
                    value = row.headline["people"][name]
                    cumulative = row.people_cumulative[name]
                if value["n_items"]:
                    point = [value[field] for field in POINT_FIELDS]
                    expected.append([row.start, [point, [cumulative[key] for key in SHORT_FIELDS]]])
            lines = dashboard.trend.get(span, {"starts": [], name: []})
            starts = map(datetime.date.fromisoformat, lines["starts"])
            actual = [list(point) for point in zip(starts, lines[name], strict=True)]
            assert_same(actual, expected, f"{span} {name}")


def check_pairs(question: Question, dashboard: DashboardResults) -> None:
    """Compare the pairs of the heat map."""
    rows = {
        (row.rater_a_id, row.rater_b_id): row for row in PairTally.objects.filter(question=question)
    }
    assert rows.keys() == {(pair["a"], pair["b"]) for pair in dashboard.pairs}
    for pair in dashboard.pairs:
        row = rows[pair["a"], pair["b"]]
        assert pair["n"] == row.n_items
        for weights, (*kappa, reason) in pair["kappas"].items():
            stored = [getattr(row, f"{part}_{weights}") for part in ("kappa", "low", "high")]
            assert_same(kappa, stored, weights)
            assert (reason is None) == (stored[0] is not None)


def check_raters(question: Question, scale: QuestionScale) -> None:
    names = scale.list_peer_coefficients()
    for row in RaterResult.objects.filter(question=question).select_related("rater"):
        body = compute_body(question, FilteredResult.Kind.RATER, row.rater)
        agreement = RaterResults.from_json(body).get_agreement(row.rater)
        assert agreement is not None
        assert (agreement.n_ratings, agreement.table) == (row.n_ratings, row.details["table"])
        assert_same(agreement.coefficients, row.coefficients)
        for span in periods.SPANS:
            stored = rater_periods.list_newest_periods(
                question, row.rater, span, names, scale=scale, number=100,
                days=rater_periods.COMPARED_DAYS,
            )  # fmt: skip
            lines = body["trend"][span]
            assert lines["starts"] == [start.isoformat() for start, *_values in stored]
            for index, name in enumerate(names, start=1):
                expected = [[[period[index][field] for field in POINT_FIELDS]] for period in stored]
                assert_same(lines[name], expected, f"{span} {name}")


def check_filtered_results(question: Question) -> None:
    scale = QuestionScale.for_question(question)
    check_dashboard(question, scale)
    check_raters(question, scale)


@pytest.mark.django_db
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_filtered_results_of_truth_cases_are_the_stored_ones(path: Path) -> None:
    case = load_case(path)
    codes = build_codes(case)[:MAX_CASE_ITEMS]
    rows = {(int(i), int(j)): (int(codes[i, j]), 0) for i, j in np.argwhere(codes >= 0)}
    fields = {"scale": case["scale"]}
    if case["weights"] is not None:
        fields |= {"weights": "custom", "weight_matrix": case["weights"]}
    labels = tuple(f"c{number}" for number in range(len(case["categories"])))
    check_filtered_results(create_question(rows, labels=labels, **fields))


@pytest.mark.timeout(600)  # of a full run
class StoredAndFilteredTests(TestCase):
    @settings(
        max_examples=choose_number(8, full=60),
        deadline=None,
        phases=[Phase.explicit, Phase.generate],  # to make an example smaller would take minutes
        suppress_health_check=list(HealthCheck),
    )
    @given(
        rows=ratings,
        n_models=st.integers(0, 2),
        scale=st.sampled_from(["nominal", "ordinal", "interval"]),
        headline_pooled=st.booleans(),
    )
    def test_filter_that_keeps_all_ratings_gives_the_stored_results(
        self, rows: dict[tuple[int, int], tuple[int, int]], n_models: int, **fields: Any
    ) -> None:
        question = create_question(rows, n_models=n_models, **fields)
        check_filtered_results(question)
