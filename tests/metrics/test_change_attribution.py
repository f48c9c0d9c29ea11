"""Attributions on request: computed by a task or the sweep, stored, and recomputed after changes."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from celery import current_app
from django.utils import timezone

from core.jobs import dispatch
from metrics import change_attribution, tasks
from metrics.jobs.question_updates import update_question
from metrics.models import Attribution, Result
from projects.models import Item
from tests import cast
from tests.cast import Cast
from tests.faults.brokers import run_private_broker

FIRST_WEEK, SECOND_WEEK = datetime.date(2026, 5, 4), datetime.date(2026, 5, 11)


def create_ratings(setup: Cast) -> None:
    """Create and count ratings of three raters on 16 items a week, for two weeks.

    In the second week, c answers one step higher than the others.
    """
    labels = ["none", "minor", "major"]
    for week in (0, 1):
        for number in range(16):
            for rater in "abc":
                step = int(rater == "c" and week == 1)
                label = ["none", "minor", "major", "critical"][
                    labels.index(labels[number % 3]) + step
                ]
                moment = datetime.datetime(2026, 5, 5 + 7 * week, 12, tzinfo=datetime.UTC)
                cast.rate(setup.question, f"w{week}-{number}", rater, label, rated_at=moment)
    for item in Item.objects.all():
        item.attributes = {
            "language": "en" if item.key.endswith(("1", "2", "3")) else "de",
            "id": item.key,
            "x": None,
        }
        item.save()
    update_question(setup.question.pk)


@pytest.fixture(scope="module")
def module_cast(cast_factory: Any) -> Cast:
    return cast_factory(create_ratings)


@pytest.fixture
def changed_question(question: Any) -> Any:
    return question


def request_attribution(question: Any, **changes: Any) -> Attribution:
    fields = {
        "period_unit": "week",
        "earlier_start": FIRST_WEEK,
        "later_start": SECOND_WEEK,
        "weights": "none",
    } | changes
    return change_attribution.get_or_request_attribution(question, **fields)


def test_result_names_rater_who_explains_the_change(changed_question: Any) -> None:
    tasks.compute_attribution(request_attribution(changed_question).pk)
    attribution = Attribution.objects.get()
    assert not attribution.pending
    result = attribution.result
    assert result
    for name, start in (("before", FIRST_WEEK), ("after", SECOND_WEEK)):
        estimate = Result.objects.get(
            question=changed_question, period_unit="week", start=start
        ).coefficients["fleiss_kappa"]
        assert result[name]["value"] == pytest.approx(estimate["value"], abs=1e-12)
        assert result[name]["n_ratings"] == estimate["n_ratings"] == 48
    assert result["before"]["value"] == 1
    assert result["change"] < -0.3
    top_rater = result["raters"][0]
    assert top_rater["name"] == changed_question.project.raters.get(key="c").pk
    assert top_rater["contribution"] == pytest.approx(result["change"])
    assert top_rater["n_ratings"] == [16, 16]
    assert [entry["name"] for entry in result["categories"]] == [
        "none",
        "minor",
        "major",
        "critical",
    ]
    assert [attribute["name"] for attribute in result["attributes"]] == ["language"]
    assert {value["name"] for value in result["attributes"][0]["values"]} == {"en", "de"}


def test_other_weights_are_another_row(changed_question: Any) -> None:
    tasks.compute_attribution(request_attribution(changed_question).pk)
    tasks.compute_attribution(request_attribution(changed_question, weights="quadratic").pk)
    unweighted, quadratic = (row.result for row in Attribution.objects.order_by("id"))
    assert unweighted and quadratic
    assert unweighted["after"]["value"] < quadratic["after"]["value"]


def test_sweep_computes_attribution_without_message(changed_question: Any) -> None:
    assert request_attribution(changed_question).pending
    tasks.sweep_all()
    assert not Attribution.objects.get().pending


def test_one_message_is_sent_for_each_computation(changed_question: Any, settings: Any) -> None:
    with run_private_broker(settings) as broker:
        for _attempt in range(3):
            row = request_attribution(changed_question)
        assert broker.count_messages() == 1
        tasks.compute_attribution(row.pk)
        request_attribution(changed_question)
        assert broker.count_messages() == 1


def test_sweep_computes_attribution_when_broker_is_down(
    changed_question: Any,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr(dispatch, "_paused_until", 0.0)

    def raise_error(*_arguments: Any, **_options: Any) -> None:
        raise ConnectionError("no broker")

    monkeypatch.setattr(current_app, "send_task", raise_error)
    assert request_attribution(changed_question).pending
    assert "the sweep will find it" in caplog.text
    change_attribution.ATTRIBUTION_JOB.sweep()
    assert not Attribution.objects.get().pending


def test_failed_attribution_stays_pending_and_others_are_computed(
    changed_question: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken, fine = (
        request_attribution(changed_question),
        request_attribution(changed_question, weights="linear"),
    )
    original = change_attribution.compute_attribution

    def fail_for_broken(row: Attribution, scale: Any, clusters: Any) -> Any:
        if row.pk == broken.pk:
            raise RuntimeError("no")
        return original(row, scale, clusters)

    monkeypatch.setattr(change_attribution, "compute_attribution", fail_for_broken)
    tasks.sweep_all()
    assert set(Attribution.objects.filter(pending=True)) == {broken}
    assert Attribution.objects.get(pk=fine.pk).result
    monkeypatch.undo()
    tasks.sweep_all()
    assert not Attribution.objects.filter(pending=True).exists()


def test_computing_twice_or_without_row_does_nothing(changed_question: Any) -> None:
    row = request_attribution(changed_question)
    tasks.compute_attribution(row.pk)
    attribution = Attribution.objects.get()
    tasks.compute_attribution(row.pk)
    tasks.compute_attribution(row.pk + 100)
    assert Attribution.objects.get().computed_at == attribution.computed_at


def test_recomputed_after_changes_and_cooldown_only(
    changed_question: Any, rate: Any, utc: Any
) -> None:
    tasks.compute_attribution(request_attribution(changed_question).pk)
    assert not request_attribution(changed_question).pending
    rate(changed_question, "w1-0", "a", "critical", rated_at=utc(2026, 5, 12, 12))
    update_question(changed_question.pk)
    assert not request_attribution(changed_question).pending  # requested again at once
    Attribution.objects.update(paused_until=timezone.now())
    row = request_attribution(changed_question)
    assert row.pending
    assert row.result  # the old result stays meanwhile
    before = row.result["after"]["value"]
    tasks.compute_attribution(row.pk)
    row = request_attribution(changed_question)
    assert not row.pending
    assert row.result
    assert row.result["after"]["value"] != before
    Attribution.objects.update(paused_until=timezone.now())
    assert not request_attribution(changed_question).pending  # nothing has changed since


def test_uncounted_ratings_are_not_included(changed_question: Any, rate: Any, utc: Any) -> None:
    rate(changed_question, "w1-0", "a", "critical", rated_at=utc(2026, 5, 12, 12))
    rate(changed_question, "w1-99", "a", "critical", rated_at=utc(2026, 5, 12, 12))
    tasks.compute_attribution(request_attribution(changed_question).pk)
    estimate = Result.objects.get(
        question=changed_question, period_unit="week", start=SECOND_WEEK
    ).coefficients["fleiss_kappa"]
    result = Attribution.objects.get().result
    assert result
    assert result["after"]["value"] == pytest.approx(estimate["value"], abs=1e-12)


def test_item_belongs_to_week_of_its_latest_rating(
    changed_question: Any, rate: Any, utc: Any
) -> None:
    rate(changed_question, "w0-0", "d", "critical", rated_at=utc(2026, 5, 12, 12))
    rate(changed_question, "w1-1", "d", "none", rated_at=utc(2026, 5, 19, 12))
    update_question(changed_question.pk)
    tasks.compute_attribution(request_attribution(changed_question).pk)
    result = Attribution.objects.get().result
    assert result
    for name, start in (("before", FIRST_WEEK), ("after", SECOND_WEEK)):
        estimate = Result.objects.get(
            question=changed_question, period_unit="week", start=start
        ).coefficients["fleiss_kappa"]
        assert result[name]["value"] == pytest.approx(estimate["value"], abs=1e-12)
        assert result[name]["n_items"] == estimate["n_items"]


@pytest.mark.fresh
def test_undefined_value_is_none_with_reason(question: Any, rate: Any, utc: Any) -> None:
    for week, label in ((0, "minor"), (1, "minor"), (1, "major")):
        for rater in "ab":
            rate(question, f"{week}-{label}", rater, label, rated_at=utc(2026, 5, 5 + 7 * week, 12))
    update_question(question.pk)
    tasks.compute_attribution(request_attribution(question).pk)
    result = Attribution.objects.get().result
    assert result
    assert result["before"]["value"] is None
    assert result["before"]["reason"] == "single_category"
    assert result["change"] is None
    assert {entry["contribution"] for entry in result["raters"]} == {None}
    assert result["raters"][0]["reason"] == "no_pairable_items"


def test_oldest_attributions_are_deleted(
    changed_question: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_attribution, "MAX_STORED", 2)
    for weights in ("none", "linear", "quadratic"):
        request_attribution(changed_question, weights=weights)
    assert set(Attribution.objects.values_list("weights", flat=True)) == {"linear", "quadratic"}


def test_attribution_of_missing_weights_is_deleted(changed_question: Any) -> None:
    request_attribution(changed_question, weights="custom")
    tasks.sweep_all()
    assert not Attribution.objects.exists()
