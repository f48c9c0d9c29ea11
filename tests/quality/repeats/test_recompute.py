"""How far raters agree with themselves follows the repeats at the desk, and is what the formulas
say of them."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from metrics.agreement.coefficients.intraclass.icc import icc
from metrics.agreement.rater_quality import repeats
from metrics.jobs import question_updates
from projects.models import Item, Project, Question, Rater
from quality import tasks
from quality.models import RepeatScore, RepeatState
from quality.repeats import recompute
from ratings.models import Assignment, Rating
from ratings.services.check_answers import record_check_answers
from ratings.services.judgement import Judgement
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made_once(answered_once: Cast) -> Cast:
    return answered_once


def again(question: Question, rater: str, moves: tuple[int, ...]) -> list[tuple[int, int]]:
    """The rater's first items are asked again; each answer moves so many categories."""
    pairs = []
    rows = Rating.objects.filter(question=question, rater__key=rater).order_by("item")
    for row, move in zip(rows, moves, strict=False):
        second = min(max(row.code + move, 0), 3)
        until = timezone.now() + datetime.timedelta(minutes=30)
        Assignment.objects.create(
            item_id=row.item_id, rater_id=row.rater_id, why="repeat", leased_until=until
        )
        said = {question: Judgement(row.item_id, row.rater_id, second)}
        record_check_answers(said, why="repeat", by=None, source="form")
        pairs.append((row.code, second))
    return pairs


def table(pairs: list[tuple[int, int]]) -> np.ndarray:
    found = np.zeros((4, 4), int)
    for first, second in pairs:
        found[first, second] += 1
    return found


def test_repeats_are_what_the_formulas_say_and_follow_the_desk(
    answered: Question, client_for: Any, lead: Any, annotator: Any, api_for: Any, rate: Any
) -> None:
    project = answered.project
    assert tasks.sweep_gold() == 0, "nobody is asked again"
    Project.objects.update(repeat_percent=3)
    said = {
        "ann": again(answered, "ann", (0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0)),
        "dan": again(answered, "dan", (0, 1, 1, 0, 0, 1)),
    }
    assert tasks.sweep_gold() == 1
    assert tasks.sweep_gold() == 0, "nothing changed"
    expected = repeats.compute_intra_rater_agreement([table(pairs) for pairs in said.values()])
    for one, rater in zip(expected.raters, said, strict=True):
        row = RepeatScore.objects.get(rater__key=rater)
        assert row.n == one.n == len(said[rater])
        assert (row.same / row.n, row.low, row.high) == (one.same, one.same_low, one.same_high)
        assert row.kappa == pytest.approx(one.kappa)
        assert row.shift == pytest.approx(one.shift)
        assert sum(month["n"] for month in row.months) == row.n
    state = RepeatState.objects.get()
    assert state.n == 18
    assert state.kappa == pytest.approx(expected.project.kappa)
    # On pages and by API, beside the others.
    row = RepeatScore.objects.get(rater__key="ann")
    page = " ".join(client_for(lead).get(f"/projects/{project.pk}/raters/ann/").text.split())
    own = f"{row.kappa['value']:.2f}"
    assert f"Agrees with himself {own}, with the others" in page
    assert "Asked 12 items again: " in page
    page = " ".join(client_for(lead).get(f"/projects/{project.pk}/raters/").text.split())
    assert "Raters were asked 18 items again without knowing" in page
    api = api_for(lead).get(f"/api/v1/projects/{project.pk}/quality/raters/").json()["results"]
    by_rater = {one["rater"]: one["repeats"] for one in api}
    assert by_rater["ann"]["value"] == pytest.approx(row.kappa["value"])
    assert by_rater["ben"]["reason"] == "no_repeats"
    # What is corrected counts once; a change of the first answer, later, changes nothing.
    item = Item.objects.get(pk=Assignment.objects.checks().earliest("pk").item_id)
    ann = Rater.objects.get(key="ann")
    first = Rating.objects.get(item=item, rater=ann).code
    other = {answered: Judgement(item.pk, ann.pk, (first + 1) % 4)}
    record_check_answers(other, why="repeat", by=None, source="form")
    rate(answered, item.key, "ann", ("none", "minor", "major", "critical")[(first + 2) % 4])
    question_updates.update_question(answered.pk)
    assert answered.pk in recompute.list_outdated_questions()
    recompute.recompute_question(answered.pk, at_once=True)
    moved = RepeatScore.objects.get(rater__key="ann")
    assert (moved.n, moved.same) == (row.n, row.same - 1)
    assert moved.table[first][(first + 1) % 4] == row.table[first][(first + 1) % 4] + 1


def test_the_raters_page_tells_month_by_month(
    answered: Question, client_for: Any, lead: Any
) -> None:
    Project.objects.update(repeat_percent=3)
    again(answered, "ann", (0, 0, 1, 0))
    tasks.sweep_gold()
    months = [
        {"start": 20454 + 31 * place, "n": 6, "same": 3 + place, "low": 0.2, "high": 0.9}
        for place in (0, 1)
    ]
    RepeatScore.objects.update(months=months)
    page = client_for(lead).get(f"/projects/{answered.project_id}/raters/ann/").text
    assert "Month by month" in page and ">2026-01<" in page and ">4 of 6<" in page


def test_models_that_ran_twice_stand_apart_from_people(answered: Question, rate: Any) -> None:
    Project.objects.update(repeat_percent=3)
    for key in ("ann", "dan"):
        again(answered, key, (0, 0, 1, 0))
    Rater.objects.filter(key="dan").update(kind=Rater.Kind.MODEL)
    recompute.recompute_question(answered.pk, at_once=True)
    assert RepeatState.objects.get().n == 4
    assert dict(RepeatScore.objects.values_list("rater__key", "n")) == {"ann": 4, "dan": 4}


def test_on_numeric_scales_the_intraclass_correlation_stands_beside_kappa(
    answered: Question, client_for: Any, lead: Any
) -> None:
    Project.objects.update(repeat_percent=3)
    pairs = again(answered, "ann", (0, 0, 1, 0, -1, 0, 1, 0))
    recompute.recompute_question(answered.pk, at_once=True)
    assert RepeatScore.objects.get().icc is None
    Question.objects.update(scale="interval", scale_version=9)
    recompute.recompute_question(answered.pk, at_once=True)
    expected = icc(np.array(pairs, float))["icc2"]
    stored: Any = RepeatScore.objects.get().icc
    told = (expected.value, expected.ci_low, expected.ci_high)
    assert (stored["value"], stored["low"], stored["high"]) == pytest.approx(told)
    whole: Any = RepeatState.objects.get().icc
    assert whole["value"] == pytest.approx(expected.value, abs=0.1)
    page = client_for(lead).get(f"/projects/{answered.project_id}/raters/ann/").text
    assert "Intraclass correlation of both answers:" in page
