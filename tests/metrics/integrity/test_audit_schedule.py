"""The workers audit questions regularly, and their findings are visible."""

from __future__ import annotations

import datetime
import io
import logging
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from agreement_site import housekeeping
from agreement_site.housekeeping import run_due_housekeeping
from agreement_site.system_status import collect_status
from metrics import tasks
from metrics.integrity import schedule
from metrics.jobs import question_updates
from metrics.models import ALL_DAYS, AuditResult, CountState, PairTally, PeerTally, RaterResult
from ratings.models import NO_CODE, Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

pytestmark = pytest.mark.django_db


@pytest.fixture
def counted_question(question: Any, rate: Any) -> Any:
    for number in range(12):
        rate(
            question, f"item {number % 4}", f"rater {number % 3}", ("none", "minor")[number % 5 % 2]
        )
    tasks.sweep_all()
    run_due_housekeeping()
    return question


def make_audits_due() -> None:
    AuditResult.objects.update(audited_at=timezone.now() - 2 * schedule.REAUDIT_INTERVAL)


def test_sweep_audits_counted_question(counted_question: Any, client_for: Any, lead: Any) -> None:
    result = AuditResult.objects.get()
    assert (
        result.question_id,
        result.n_ratings,
        result.n_differences,
        result.first_differences,
    ) == (
        counted_question.pk,
        12,
        0,
        [],
    )
    audit_status = client_for(lead).get("/healthz").json()["audit"]
    assert audit_status["questions"] == 1
    assert audit_status["questions_that_differ"] == 0
    assert 0 <= audit_status["seconds_ago"] < 60
    assert collect_status().problems == []


def test_difference_is_logged_and_shown(
    counted_question: Any, client_for: Any, admin: Any, caplog: pytest.LogCaptureFixture
) -> None:
    PairTally.objects.filter(question=counted_question)[:1].get().delete()
    make_audits_due()
    with caplog.at_level(logging.ERROR, logger="metrics.integrity.schedule"):
        run_due_housekeeping()
    assert f"question {counted_question.pk} differs" in caplog.text
    result = AuditResult.objects.get()
    assert result.n_differences > 0
    assert "pair of raters" in result.first_differences[0]
    client = client_for(admin)
    assert client.get("/healthz").json()["audit"]["questions_that_differ"] == 1
    assert (
        "pair of raters"
        in client.get(f"/admin/metrics/auditresult/{counted_question.pk}/change/").content.decode()
    )
    assert client.get("/admin/metrics/auditresult/").status_code == 200
    with pytest.raises(CommandError, match="1 question differs from a recount"):
        call_command("status", stdout=io.StringIO())


@pytest.fixture
def large_question(counted_question: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a question too large for a full audit; one rater has few enough ratings."""
    monkeypatch.setattr(schedule, "MAX_RATINGS", 10)
    monkeypatch.setattr(schedule, "MAX_RATINGS_OF_RATER", 3)
    PeerTally.objects.filter(question=counted_question, day=ALL_DAYS).exclude(
        rater__key="rater 1"
    ).update(n_ratings=4)
    rating = Rating.objects.filter(question=counted_question, rater__key="rater 1").order_by(
        "item"
    )[0]
    record_ratings(
        {counted_question: [Judgement(rating.item_id, rating.rater_id, NO_CODE)]},
        by=None,
        source="api",
    )
    question_updates.sweep_questions()
    make_audits_due()
    return counted_question


def test_one_rater_of_large_question_is_audited(large_question: Any) -> None:
    assert schedule.run_due_audits() == [large_question.pk]
    result = AuditResult.objects.get()
    assert (result.n_ratings, result.first_differences) == (
        9,
        [],
    )  # of three items, three ratings each


@pytest.mark.parametrize("model", [PairTally, PeerTally, RaterResult])
def test_stored_rows_of_audited_rater_are_compared(large_question: Any, model: Any) -> None:
    name = "rater_a" if model is PairTally else "rater"
    rater = large_question.project.raters.get(key="rater 1")
    others = model.objects.filter(question=large_question).exclude(**{name: rater})
    others = others.exclude(rater_b=rater) if model is PairTally else others
    others.delete()
    schedule.run_due_audits()
    assert AuditResult.objects.get().first_differences == []
    rows = model.objects.filter(question=large_question, **{name: rater})
    # The row of all days must stay: by it the rater is selected.
    (rows.exclude(day=ALL_DAYS) if model is PeerTally else rows)[:1].get().delete()
    make_audits_due()
    schedule.run_due_audits()
    difference, *other_differences = AuditResult.objects.get().first_differences
    assert str(rater.pk) in difference
    assert len(other_differences) == (model is PairTally)  # the rater's mean depends on the pair


def test_health_check_without_audit(client_for: Any, lead: Any) -> None:
    assert client_for(lead).get("/healthz").json()["audit"] is None


def test_audits_fit_the_budget_and_oldest_come_first(
    counted_question: Any, make_project: Any, rate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [make_project().questions.get() for _number in range(3)]
    for other in others:
        rate(other, "item", "rater", "minor")
    monkeypatch.setattr(schedule, "QUESTION_COST", 10)
    monkeypatch.setattr(schedule, "MAX_RATINGS", 23)  # two of one rating each
    tasks.sweep_all()
    run_due_housekeeping()
    assert AuditResult.objects.count() == 1  # the last audit is too recent
    AuditResult.objects.update(audited_at=timezone.now() - schedule.AUDIT_INTERVAL)
    CountState.objects.update(counted_at=timezone.now() - schedule.REAUDIT_INTERVAL)
    rounds = []
    for _round in range(3):
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
    """Questions of 15 ratings each, counted all the time; a round takes about two seconds."""
    questions_per_round = schedule.MAX_RATINGS // (schedule.QUESTION_COST + 15)
    rounds = datetime.timedelta(days=1) // schedule.AUDIT_INTERVAL
    assert questions_per_round * rounds >= 2_000
    assert (
        questions_per_round <= schedule.MAX_RATINGS // schedule.QUESTION_COST
    )  # as many questions as are selected


def test_question_counted_since_its_audit_is_audited_early(
    counted_question: Any, rate: Any
) -> None:
    AuditResult.objects.update(
        audited_at=timezone.now() - schedule.AUDIT_INTERVAL - datetime.timedelta(seconds=1)
    )
    rate(counted_question, "item 1", "rater 1", "major")
    tasks.sweep_all()
    run_due_housekeeping()
    assert AuditResult.objects.get().audited_at > timezone.now() - schedule.AUDIT_INTERVAL


def test_failing_audit_does_not_stop_housekeeping(
    counted_question: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    make_audits_due()
    monkeypatch.setattr(schedule, "audit_question", lambda *args, **kwargs: 1 / 0)
    cleaned = []
    monkeypatch.setattr(housekeeping, "_cleaned_at", 0.0)
    monkeypatch.setattr(housekeeping, "apply_retention_rules", lambda: cleaned.append(True))
    run_due_housekeeping()
    assert f"the audit of question {counted_question.pk} failed" in caplog.text
    assert cleaned == [True]


def test_audit_of_empty_site_passes() -> None:
    out = io.StringIO()
    call_command("audit", stdout=out)
    assert "0 questions" in out.getvalue()
