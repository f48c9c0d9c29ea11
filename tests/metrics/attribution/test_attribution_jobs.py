"""An attribution that somebody asks for: computed by a task or the sweep, kept, and anew when
numbers moved."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.utils import timezone

from core.jobs import dispatch
from metrics import tasks
from metrics.attribution import attribution_jobs
from metrics.jobs.question_updates import update_question
from metrics.models import Attribution, Reading
from projects.models import Item
from tests import cast
from tests.cast import Cast
from tests.faults.brokers import private_broker

MAY, NEXT = datetime.date(2026, 5, 4), datetime.date(2026, 5, 11)


def fill(made: Cast) -> None:
    """Three raters on 16 items a week, for two weeks; in the second, c answers one step higher than
    the others."""
    labels = ["none", "minor", "major"]
    for week in (0, 1):
        for number in range(16):
            for rater in "abc":
                step = int(rater == "c" and week == 1)
                label = ["none", "minor", "major", "critical"][
                    labels.index(labels[number % 3]) + step
                ]
                moment = datetime.datetime(2026, 5, 5 + 7 * week, 12, tzinfo=datetime.UTC)
                cast.rate(made.question, f"w{week}-{number}", rater, label, rated_at=moment)
    for item in Item.objects.all():
        item.attributes = {
            "language": "en" if item.key.endswith(("1", "2", "3")) else "de",
            "id": item.key,
            "x": None,
        }
        item.save()
    update_question(made.question.pk)


@pytest.fixture(scope="module")
def made_once(stage: Any) -> Cast:
    return stage(fill)


@pytest.fixture
def moved(question: Any) -> Any:
    return question


def ask(question: Any, **other: Any) -> Attribution:
    which = {"span": "week", "start_from": MAY, "start_to": NEXT, "weights": "none"} | other
    return attribution_jobs.get_or_request_attribution(question, **which)


def test_the_result_says_who_explains_the_move(moved: Any) -> None:
    tasks.attribute_move(ask(moved).pk)
    found = Attribution.objects.get()
    assert not found.waiting
    result = found.result
    assert result
    for name, start in (("before", MAY), ("after", NEXT)):
        stored = Reading.objects.get(question=moved, span="week", start=start).coefficients[
            "fleiss_kappa"
        ]
        assert result[name]["value"] == pytest.approx(stored["value"], abs=1e-12)
        assert result[name]["n_ratings"] == stored["n_ratings"] == 48
    assert result["before"]["value"] == 1
    assert result["move"] < -0.3
    first = result["raters"][0]
    assert first["name"] == moved.project.raters.get(key="c").pk
    assert first["contribution"] == pytest.approx(result["move"])
    assert first["n_ratings"] == [16, 16]
    assert [entry["name"] for entry in result["categories"]] == [
        "none",
        "minor",
        "major",
        "critical",
    ]
    assert [attribute["name"] for attribute in result["attributes"]] == ["language"]
    assert {value["name"] for value in result["attributes"][0]["values"]} == {"en", "de"}


def test_rated_with_other_weights_is_another_row(moved: Any) -> None:
    tasks.attribute_move(ask(moved).pk)
    tasks.attribute_move(ask(moved, weights="quadratic").pk)
    plain, quadratic = (row.result for row in Attribution.objects.order_by("id"))
    assert plain and quadratic
    assert plain["after"]["value"] < quadratic["after"]["value"]


def test_the_sweep_computes_what_no_hint_reached(moved: Any) -> None:
    assert ask(moved).waiting
    tasks.sweep_all()
    assert not Attribution.objects.get().waiting


def test_one_message_for_each_time_it_is_to_be_computed(moved: Any, settings: Any) -> None:
    with private_broker(settings) as broker:
        for _asked in range(3):
            row = ask(moved)
        assert broker.messages() == 1
        tasks.attribute_move(row.pk)
        ask(moved)
        assert broker.messages() == 1


def test_a_dead_broker_leaves_it_to_the_sweep(
    moved: Any, settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr(dispatch, "_paused_until", 0.0)

    def fails(*_arguments: Any, **_options: Any) -> None:
        raise ConnectionError("no broker")

    monkeypatch.setattr(dispatch.current_app, "send_task", fails)
    assert ask(moved).waiting
    assert "the sweep will find it" in caplog.text
    attribution_jobs.ATTRIBUTION_JOB.sweep()
    assert not Attribution.objects.get().waiting


def test_a_failure_leaves_the_row_waiting_and_the_others_computed(
    moved: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken, fine = ask(moved), ask(moved, weights="linear")
    whole = attribution_jobs.compute_attribution

    def fails(row: Attribution, scale: Any) -> Any:
        if row.pk == broken.pk:
            raise RuntimeError("no")
        return whole(row, scale)

    monkeypatch.setattr(attribution_jobs, "compute_attribution", fails)
    tasks.sweep_all()
    assert set(Attribution.objects.filter(waiting=True)) == {broken}
    assert Attribution.objects.get(pk=fine.pk).result
    monkeypatch.undo()
    tasks.sweep_all()
    assert not Attribution.objects.filter(waiting=True).exists()


def test_computing_twice_or_for_nobody_does_nothing(moved: Any) -> None:
    row = ask(moved)
    tasks.attribute_move(row.pk)
    first = Attribution.objects.get()
    tasks.attribute_move(row.pk)
    tasks.attribute_move(row.pk + 100)
    assert Attribution.objects.get().computed_at == first.computed_at


def test_computed_anew_only_when_numbers_moved_and_not_more_often_than_allowed(
    moved: Any, rate: Any, utc: Any
) -> None:
    tasks.attribute_move(ask(moved).pk)
    assert not ask(moved).waiting
    rate(moved, "w1-0", "a", "critical", rated_at=utc(2026, 5, 12, 12))
    update_question(moved.pk)
    assert not ask(moved).waiting  # asked again at once
    Attribution.objects.update(rests_until=timezone.now())
    row = ask(moved)
    assert row.waiting
    assert row.result  # the old one stands meanwhile
    before = row.result["after"]["value"]
    tasks.attribute_move(row.pk)
    row = ask(moved)
    assert not row.waiting
    assert row.result
    assert row.result["after"]["value"] != before
    Attribution.objects.update(rests_until=timezone.now())
    assert not ask(moved).waiting  # nothing moved since


def test_uncounted_ratings_are_not_in_it_as_they_are_not_in_the_readings(
    moved: Any, rate: Any, utc: Any
) -> None:
    rate(moved, "w1-0", "a", "critical", rated_at=utc(2026, 5, 12, 12))
    rate(moved, "w1-99", "a", "critical", rated_at=utc(2026, 5, 12, 12))
    tasks.attribute_move(ask(moved).pk)
    stored = Reading.objects.get(question=moved, span="week", start=NEXT).coefficients[
        "fleiss_kappa"
    ]
    result = Attribution.objects.get().result
    assert result
    assert result["after"]["value"] == pytest.approx(stored["value"], abs=1e-12)


def test_an_item_belongs_to_the_week_of_its_latest_rating(moved: Any, rate: Any, utc: Any) -> None:
    rate(moved, "w0-0", "d", "critical", rated_at=utc(2026, 5, 12, 12))
    rate(moved, "w1-1", "d", "none", rated_at=utc(2026, 5, 19, 12))
    update_question(moved.pk)
    tasks.attribute_move(ask(moved).pk)
    result = Attribution.objects.get().result
    assert result
    for name, start in (("before", MAY), ("after", NEXT)):
        stored = Reading.objects.get(question=moved, span="week", start=start).coefficients[
            "fleiss_kappa"
        ]
        assert result[name]["value"] == pytest.approx(stored["value"], abs=1e-12)
        assert result[name]["n_items"] == stored["n_items"]


@pytest.mark.fresh
def test_undefined_is_none_with_its_reason(question: Any, rate: Any, utc: Any) -> None:
    for week, label in ((0, "minor"), (1, "minor"), (1, "major")):
        for rater in "ab":
            rate(question, f"{week}-{label}", rater, label, rated_at=utc(2026, 5, 5 + 7 * week, 12))
    update_question(question.pk)
    tasks.attribute_move(ask(question).pk)
    result = Attribution.objects.get().result
    assert result
    assert result["before"]["value"] is None
    assert result["before"]["reason"] == "single_category"
    assert result["move"] is None
    assert {entry["contribution"] for entry in result["raters"]} == {None}
    assert result["raters"][0]["reason"] == "no_pairable_items"


def test_old_attributions_make_room(moved: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribution_jobs, "MAX_STORED", 2)
    for weights in ("none", "linear", "quadratic"):
        ask(moved, weights=weights)
    assert set(Attribution.objects.values_list("weights", flat=True)) == {"linear", "quadratic"}


def test_weights_that_were_taken_away_leave_no_row(moved: Any) -> None:
    ask(moved, weights="custom")
    tasks.sweep_all()
    assert not Attribution.objects.exists()
