"""The workers audit a question now and then, and what they find is seen."""

from __future__ import annotations

import datetime
import io
import logging
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from agreement_site.system_status.report import collect_status
from metrics import tasks
from metrics.integrity import schedule
from metrics.jobs import question_updates
from metrics.models import ALL_DAYS, AuditResult, CountState, PairTally, PeerTally, RaterReading
from ratings.models import NO_CODE, Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

pytestmark = pytest.mark.django_db


@pytest.fixture
def counted(question: Any, rate: Any) -> Any:
    for number in range(12):
        rate(
            question, f"item {number % 4}", f"rater {number % 3}", ("none", "minor")[number % 5 % 2]
        )
    tasks.sweep_all()
    return question


def be_due() -> None:
    AuditResult.objects.update(audited_at=timezone.now() - 2 * schedule.REAUDIT_INTERVAL)


def test_the_sweep_audits_what_it_counted(counted: Any, client_for: Any, lead: Any) -> None:
    result = AuditResult.objects.get()
    assert (result.question_id, result.ratings, result.differences, result.shown) == (
        counted.pk,
        12,
        0,
        [],
    )
    said = client_for(lead).get("/healthz").json()["audit"]
    assert said["questions"] == 1
    assert said["questions_that_differ"] == 0
    assert 0 <= said["seconds_ago"] < 60
    assert collect_status()["problems"] == []


def test_a_difference_is_an_error_that_is_seen(
    counted: Any, client_for: Any, admin: Any, caplog: pytest.LogCaptureFixture
) -> None:
    PairTally.objects.filter(question=counted)[:1].get().delete()
    be_due()
    with caplog.at_level(logging.ERROR, logger="metrics.integrity.schedule"):
        tasks.sweep_all()
    assert f"question {counted.pk} differs" in caplog.text
    result = AuditResult.objects.get()
    assert result.differences > 0
    assert "pair of raters" in result.shown[0]
    client = client_for(admin)
    assert client.get("/healthz").json()["audit"]["questions_that_differ"] == 1
    assert (
        "pair of raters"
        in client.get(f"/admin/metrics/auditresult/{counted.pk}/change/").content.decode()
    )
    assert client.get("/admin/metrics/auditresult/").status_code == 200
    with pytest.raises(CommandError, match="1 question differs from a recount"):
        call_command("status", stdout=io.StringIO())


@pytest.fixture
def large(counted: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A question too large to be audited whole, with one rater whose ratings are few enough."""
    monkeypatch.setattr(schedule, "MAX_RATINGS", 10)
    monkeypatch.setattr(schedule, "MAX_RATINGS_OF_RATER", 3)
    PeerTally.objects.filter(question=counted, day=ALL_DAYS).exclude(rater__key="rater 1").update(
        n_ratings=4
    )
    first = Rating.objects.filter(question=counted, rater__key="rater 1").order_by("item")[0]
    record_ratings(
        {counted: [Judgement(first.item_id, first.rater_id, NO_CODE)]}, by=None, source="api"
    )
    question_updates.sweep_questions()
    be_due()
    return counted


def test_of_a_large_question_one_rater_is_audited(large: Any) -> None:
    assert schedule.run_due_audits() == [large.pk]
    result = AuditResult.objects.get()
    assert (result.ratings, result.shown) == (9, [])  # of three items, three ratings each


@pytest.mark.parametrize("model", [PairTally, PeerTally, RaterReading])
def test_what_is_stored_of_the_audited_rater_is_compared(large: Any, model: Any) -> None:
    name = "rater_a" if model is PairTally else "rater"
    rater = large.project.raters.get(key="rater 1")
    others = model.objects.filter(question=large).exclude(**{name: rater})
    others = others.exclude(rater_b=rater) if model is PairTally else others
    others.delete()
    schedule.run_due_audits()
    assert AuditResult.objects.get().shown == []
    rows = model.objects.filter(question=large, **{name: rater})
    # The rater is chosen by the row of all days.
    (rows.exclude(day=ALL_DAYS) if model is PeerTally else rows)[:1].get().delete()
    be_due()
    schedule.run_due_audits()
    difference, *more = AuditResult.objects.get().shown
    assert str(rater.pk) in difference
    assert len(more) == (model is PairTally)  # the rater's mean rests on the pair


def test_without_an_audit_there_is_nothing_to_say(client_for: Any, lead: Any) -> None:
    assert client_for(lead).get("/healthz").json()["audit"] is None


def test_as_many_as_fit_and_the_oldest_first(
    counted: Any, make_project: Any, rate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [make_project().questions.get() for _number in range(3)]
    for other in others:
        rate(other, "item", "rater", "minor")
    monkeypatch.setattr(schedule, "QUESTION_COST", 10)
    monkeypatch.setattr(schedule, "MAX_RATINGS", 23)  # two of one rating each
    tasks.sweep_all()
    assert AuditResult.objects.count() == 1  # the last one is not long ago
    AuditResult.objects.update(audited_at=timezone.now() - schedule.AUDIT_INTERVAL)
    CountState.objects.update(counted_at=timezone.now() - schedule.REAUDIT_INTERVAL)
    rounds = []
    for _time in range(3):
        rounds.append(schedule.run_due_audits())
        AuditResult.objects.filter(audited_at__gt=timezone.now() - schedule.AUDIT_INTERVAL).update(
            audited_at=timezone.now() - schedule.AUDIT_INTERVAL
        )
    assert rounds == [
        [others[0].pk, others[1].pk],
        [others[2].pk],
        [],  # an hour has not passed, and nothing was counted since
    ]


def test_two_thousand_small_questions_are_audited_within_a_day() -> None:
    """Of 15 ratings each, counted all the time; a round takes about two seconds."""
    a_round = schedule.MAX_RATINGS // (schedule.QUESTION_COST + 15)
    rounds = datetime.timedelta(days=1) // schedule.AUDIT_INTERVAL
    assert a_round * rounds >= 2_000
    assert a_round <= schedule.MAX_RATINGS // schedule.QUESTION_COST  # as many as are looked up


def test_what_was_counted_since_its_audit_is_audited_before_the_hour_is_over(
    counted: Any, rate: Any
) -> None:
    AuditResult.objects.update(
        audited_at=timezone.now() - schedule.AUDIT_INTERVAL - datetime.timedelta(seconds=1)
    )
    rate(counted, "item 1", "rater 1", "major")
    tasks.sweep_all()
    assert AuditResult.objects.get().audited_at > timezone.now() - schedule.AUDIT_INTERVAL


def test_a_failing_audit_does_not_end_the_sweep(
    counted: Any, rate: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    be_due()
    monkeypatch.setattr(schedule, "audit_question", lambda *args, **kwargs: 1 / 0)
    rate(counted, "item 1", "rater 1", "major")
    assert tasks.sweep_all() == 1
    assert "audit" in caplog.text


def test_an_audit_of_an_empty_site_passes() -> None:
    out = io.StringIO()
    call_command("audit", stdout=out)
    assert "0 questions" in out.getvalue()
