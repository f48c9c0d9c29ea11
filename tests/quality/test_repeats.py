"""Test that intra-rater agreement follows the repeated items and matches the formulas."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from metrics.agreement.coefficients.intraclass.icc import icc
from metrics.agreement.rater_quality import repeats as repeat_formulas
from metrics.agreement.weights import build_weightings
from metrics.jobs import question_updates
from projects.models import Item, Project, Question, Rater
from quality import repeats, tasks
from quality.models import RepeatScore, RepeatState
from ratings.models import Assignment, Rating
from ratings.services.judgement import Judgement
from ratings.services.own_answers import record_check_answers
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def module_cast(rated_cast: Cast) -> Cast:
    return rated_cast


def rate_again(question: Question, rater: str, shifts: tuple[int, ...]) -> list[tuple[int, int]]:
    """Show the rater's first items again; each answer shifts by so many categories."""
    pairs = []
    rows = Rating.objects.filter(question=question, rater__key=rater).order_by("item")
    for row, shift in zip(rows, shifts, strict=False):
        second_code = min(max(row.code + shift, 0), 3)
        until = timezone.now() + datetime.timedelta(minutes=30)
        Assignment.objects.create(
            item_id=row.item_id, rater_id=row.rater_id, kind="repeat", leased_until=until
        )
        judgements = {question: [Judgement(row.item_id, row.rater_id, second_code)]}
        record_check_answers(judgements, kind="repeat", by=None, source="form")
        pairs.append((row.code, second_code))
    return pairs


def build_table(pairs: list[tuple[int, int]]) -> np.ndarray:
    counts = np.zeros((4, 4), int)
    for first, second in pairs:
        counts[first, second] += 1
    return counts


def test_repeats_match_the_formulas_and_follow_new_answers(
    rated_question: Question, client_for: Any, lead: Any, annotator: Any, api_for: Any, rate: Any
) -> None:
    project = rated_question.project
    assert tasks.sweep_gold_and_repeats() == 0, "nobody is asked again"
    Project.objects.update(repeat_percent=3)
    pairs_by_rater = {
        "ann": rate_again(rated_question, "ann", (0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0)),
        "dan": rate_again(rated_question, "dan", (0, 1, 1, 0, 0, 1)),
    }
    assert tasks.sweep_gold_and_repeats() == 1
    assert tasks.sweep_gold_and_repeats() == 0, "nothing changed"
    # The question is ordinal and no weights were chosen: quadratic ones apply, as everywhere.
    expected = repeat_formulas.compute_intra_rater_agreement(
        [build_table(pairs) for pairs in pairs_by_rater.values()], build_weightings(4)["quadratic"]
    )
    for expected_repeats, rater in zip(expected.raters, pairs_by_rater, strict=True):
        row = RepeatScore.objects.get(rater__key=rater)
        assert row.n == expected_repeats.n == len(pairs_by_rater[rater])
        assert (row.same / row.n, row.low, row.high) == (
            expected_repeats.same,
            expected_repeats.same_low,
            expected_repeats.same_high,
        )
        assert row.kappa == pytest.approx(expected_repeats.kappa)
        assert row.shift == pytest.approx(expected_repeats.shift)
        assert sum(month["n"] for month in row.months) == row.n
    state = RepeatState.objects.get()
    assert state.n == 18
    assert state.kappa == pytest.approx(expected.project.kappa)
    # On pages and by API, beside the agreement with others.
    row = RepeatScore.objects.get(rater__key="ann")
    page = " ".join(client_for(lead).get(f"/projects/{project.pk}/raters/ann/").text.split())
    formatted_kappa = f"{row.kappa['value']:.2f}"
    assert f"Agreement with own answers {formatted_kappa}, with others’" in page
    assert "Repeated: 12 items, same answer " in page
    page = " ".join(client_for(lead).get(f"/projects/{project.pk}/raters/").text.split())
    assert "Repeated: 18 items, same answer" in page
    api_rows = api_for(lead).get(f"/api/v1/projects/{project.pk}/raters/status/").json()["results"]
    repeats_by_rater = {
        expected_repeats["rater"]: expected_repeats["repeats"] for expected_repeats in api_rows
    }
    assert repeats_by_rater["ann"]["value"] == pytest.approx(row.kappa["value"])
    assert repeats_by_rater["ben"]["reason"] == "no_repeats"
    # A correction counts once; a later change of the first answer changes nothing.
    item = Item.objects.get(pk=Assignment.objects.checks().earliest("pk").item_id)
    ann = Rater.objects.get(key="ann")
    first_code = Rating.objects.get(item=item, rater=ann).code
    correction = {rated_question: [Judgement(item.pk, ann.pk, (first_code + 1) % 4)]}
    record_check_answers(correction, kind="repeat", by=None, source="form")
    rate(
        rated_question,
        item.key,
        "ann",
        ("none", "minor", "major", "critical")[(first_code + 2) % 4],
    )
    question_updates.update_question(rated_question.pk)
    assert rated_question.pk in repeats.list_outdated_questions()
    repeats.recompute_question(rated_question.pk, at_once=True)
    updated = RepeatScore.objects.get(rater__key="ann")
    assert (updated.n, updated.same) == (row.n, row.same - 1)
    assert (
        updated.table[first_code][(first_code + 1) % 4]
        == row.table[first_code][(first_code + 1) % 4] + 1
    )


def test_rater_page_shows_repeats_by_month(
    rated_question: Question, client_for: Any, lead: Any
) -> None:
    Project.objects.update(repeat_percent=3)
    rate_again(rated_question, "ann", (0, 0, 1, 0))
    tasks.sweep_gold_and_repeats()
    months = [
        {"start": 20454 + 31 * index, "n": 6, "same": 3 + index, "low": 0.2, "high": 0.9}
        for index in (0, 1)
    ]
    RepeatScore.objects.update(months=months)
    page = client_for(lead).get(f"/projects/{rated_question.project_id}/raters/ann/").text
    assert "By month" in page and ">2026-01<" in page and ">4 of 6<" in page


def test_repeats_of_models_are_not_counted_among_people(
    rated_question: Question, rate: Any
) -> None:
    Project.objects.update(repeat_percent=3)
    for key in ("ann", "dan"):
        rate_again(rated_question, key, (0, 0, 1, 0))
    Rater.objects.filter(key="dan").update(kind=Rater.Kind.MODEL)
    repeats.recompute_question(rated_question.pk, at_once=True)
    assert RepeatState.objects.get().n == 4
    assert dict(RepeatScore.objects.values_list("rater__key", "n")) == {"ann": 4, "dan": 4}


def test_numeric_scales_have_icc_beside_kappa(
    rated_question: Question, client_for: Any, lead: Any
) -> None:
    Project.objects.update(repeat_percent=3)
    pairs = rate_again(rated_question, "ann", (0, 0, 1, 0, -1, 0, 1, 0))
    repeats.recompute_question(rated_question.pk, at_once=True)
    assert RepeatScore.objects.get().icc is None
    Question.objects.update(scale="interval", scale_version=9)
    repeats.recompute_question(rated_question.pk, at_once=True)
    expected = icc(np.array(pairs, float))["icc2"]
    stored: Any = RepeatScore.objects.get().icc
    expected_values = (expected.value, expected.ci_low, expected.ci_high)
    assert (stored["value"], stored["low"], stored["high"]) == pytest.approx(expected_values)
    project_icc: Any = RepeatState.objects.get().icc
    assert project_icc["value"] == pytest.approx(expected.value, abs=0.1)
    page = client_for(lead).get(f"/projects/{rated_question.project_id}/raters/ann/").text
    assert "Intraclass correlation:" in page
