"""Alarms are cases: raised once, with numbers that stay, of people's standing ratings."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from django.utils import timezone

from events.models import Event
from metrics.jobs import question_updates as counting
from projects.models import GuidelineVersion, Item, Question, Rater
from quality import tasks
from quality.alerts import services, sweep
from quality.alerts.detection import input_version, scan
from quality.models import Alarm, AlarmStep, DriftRun, DriftStanding
from ratings.models import ImportRun, Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.ratings.imports.wizard_client import Wizard

pytestmark = pytest.mark.django_db(transaction=True)


def again(question: Question) -> None:
    """Count what changed, and look through the question once more."""
    counting.update_question(question.pk)
    assert sweep.recompute_question(question.pk, at_once=True)


def numbers() -> Sequence[Mapping[str, Any]]:
    return list(Alarm.objects.order_by("pk").values())


def test_who_moved_is_a_case_with_its_numbers(
    stream: Callable[..., Question], day_after: Callable[[int], datetime.date]
) -> None:
    question = stream(moves={"dan": 30})
    assert tasks.sweep_alarms() == 1
    case = Alarm.objects.get()
    assert case.rater
    assert (case.rater.key, case.kind, case.measure) == ("dan", "rater_drift", "bias")
    assert (case.state, case.stands, case.reason, case.other) == ("open", True, "", None)
    assert abs((case.since - day_after(30)).days) <= 4
    assert case.since_earliest <= case.since <= case.since_latest <= case.noticed
    assert case.since < case.noticed < day_after(60)
    assert timezone.now() - case.raised_at < datetime.timedelta(minutes=1)
    assert -1.1 < case.low < case.size < case.high < -0.1
    assert case.n >= 10
    assert case.n_before >= 30
    assert case.evidence >= 5000
    assert {len(column) for column in case.chart.values()} == {len(case.chart["days"])}
    assert AlarmStep.objects.values_list("alarm", "state", "by").get() == (case.pk, "open", None)
    event = Event.objects.get()
    assert (event.kind, event.subject, event.by) == ("alarm_raised", f"alarm/{case.pk}", None)
    assert event.data["rater"] == "dan"
    assert event.project_id == question.project_id
    standing = DriftStanding.objects.get(rater__key="ann")
    assert (standing.reason, standing.watched) == ("", False)
    assert standing.low is not None and standing.size is not None and standing.high is not None
    assert standing.low <= standing.size <= standing.high


def test_nothing_rings_twice_and_the_numbers_stay(stream: Callable[..., Question]) -> None:
    question = stream(moves={"dan": 30}, days=50)
    tasks.sweep_alarms()
    before = numbers()
    assert len(before) == 1
    assert tasks.sweep_alarms() == 0, "nothing changed"
    stream(moves={"dan": 30}, days=20, first=50)
    DriftRun.objects.update(made_at=None)
    assert input_version.list_outdated_questions() == [question.pk]
    assert tasks.sweep_alarms() == 1
    assert numbers() == before
    assert Event.objects.count() == 1


def test_what_todays_ratings_would_not_raise_stays_in_the_history(
    stream: Callable[..., Question],
) -> None:
    question = stream(moves={"dan": 30})
    tasks.sweep_alarms()
    before = numbers()
    Rating.objects.filter(rater__key="dan").update(code=-1)
    again(question)
    assert numbers() == [{**before[0], "stands": False}]
    assert not DriftStanding.objects.filter(rater__key="dan").exists()


def test_without_drift_nobody_is_named(stream: Callable[..., Question]) -> None:
    stream()
    assert tasks.sweep_alarms() == 1
    assert not Alarm.objects.exists()
    assert not Event.objects.exists()
    assert DriftStanding.objects.count() == 4
    assert set(DriftStanding.objects.values_list("watched", flat=True)) == {False}


def test_models_neither_drift_nor_are_peers(stream: Callable[..., Question]) -> None:
    question = stream(moves={"dan": 30})
    Rater.objects.filter(key="dan").update(kind=Rater.Kind.MODEL)
    tasks.sweep_alarms()
    assert not Alarm.objects.exists()
    assert DriftRun.objects.get().n_ratings == Rating.objects.exclude(rater__key="dan").count()
    assert question.ratings.filter(rater__key="dan").exists()


def test_other_guidelines_begin_anew_for_everybody(stream: Callable[..., Question]) -> None:
    question = stream(moves={"dan": 30})
    first = Rating.objects.order_by("rated_at").first()
    assert first is not None
    for number, days in ((1, 0), (2, 30)):
        made_at = first.rated_at + datetime.timedelta(days=days)
        GuidelineVersion.objects.create(project=question.project, number=number, made_at=made_at)
    question.project.guidelines_version = 2
    question.project.save()
    tasks.sweep_alarms()
    assert not Alarm.objects.exists()


def test_an_excused_rater_is_a_peer_again(
    stream: Callable[..., Question], lead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = stream(moves={"dan": 30})
    tasks.sweep_alarms()
    before = DriftStanding.objects.get(rater__key="ann").evidence
    case = Alarm.objects.get()
    services.change_alert_state(
        alert=case, state="resolved", reason="New kind of texts", answer="not_his_fault", by=lead
    )
    assert input_version.list_outdated_questions() == [question.pk]
    again(question)
    assert Alarm.objects.count() == 1, "it does not ring again"
    with_dan = DriftStanding.objects.get(rater__key="ann").evidence
    assert with_dan != pytest.approx(before)
    services.change_alert_state(alert=case, state="open", by=lead)
    again(question)
    assert DriftStanding.objects.get(rater__key="ann").evidence == pytest.approx(before)


def test_two_raters_alone_are_both_named(question: Question, stream: Any) -> None:
    stream(moves={"dan": 30}, days=80)
    Rating.objects.filter(rater__key__in=["ann", "ben"]).update(code=-1)
    again(question)
    for case in Alarm.objects.all():
        assert case.reason == "cannot_tell_who"
        assert case.rater and case.other
        assert {case.rater.key, case.other.key} == {"cleo", "dan"}
    assert Alarm.objects.count() == 1


def test_while_an_import_writes_nothing_is_looked_at(stream: Callable[..., Question]) -> None:
    question = stream(moves={"dan": 30})
    run = ImportRun.objects.create(
        project=question.project, question=question, state="writing", path="x", file_name="x.csv"
    )
    assert tasks.sweep_alarms() == 0
    run.state = "done"
    run.save()
    assert tasks.sweep_alarms() == 1


def test_a_question_rests_and_a_lease_is_kept(stream: Callable[..., Question]) -> None:
    question = stream()
    until = timezone.now() + datetime.timedelta(minutes=1)
    DriftRun.objects.create(question=question, lease="other", leased_until=until)
    assert tasks.sweep_alarms() == 0
    DriftRun.objects.update(leased_until=None)
    assert tasks.sweep_alarms() == 1
    DriftRun.objects.update(seconds=1000, rests_on={})
    assert tasks.sweep_alarms() == 0
    DriftRun.objects.update(made_at=timezone.now() - sweep.MAX_PAUSE)
    assert tasks.sweep_alarms() == 1


def test_who_lost_the_lease_writes_nothing(
    stream: Callable[..., Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    question = stream(moves={"dan": 30})
    look = sweep.scan_question

    def taken_over(*arguments: Any, **named: Any) -> Any:
        found = look(*arguments, **named)
        DriftRun.objects.update(lease="other")
        return found

    monkeypatch.setattr(sweep, "scan_question", taken_over)
    assert not sweep.recompute_question(question.pk)
    assert not Alarm.objects.exists()
    assert DriftRun.objects.get().made_at is None


def test_too_much_to_compare_is_said(
    stream: Callable[..., Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream()
    monkeypatch.setattr(scan, "MAX_RATING_PAIRS", 100)
    tasks.sweep_alarms()
    assert DriftRun.objects.get().reason == "too_many_comparisons"
    assert not DriftStanding.objects.exists()


def test_items_rated_at_once_and_nothing_at_all(question: Question, rate: Any) -> None:
    rate(question, "i1", "ann", "none")
    rate(question, "i1", "ann", None)
    again(question)
    assert not DriftStanding.objects.exists()
    item = Item.objects.get()
    ben = Rater.objects.create(project=question.project, key="ben")
    record_ratings({question: [Judgement(item.pk, ben.pk, 0)]}, by=None, source="api")
    again(question)
    assert DriftStanding.objects.get().reason == "no_peers"


# --- published data, through the wizard


@pytest.fixture
def imported(shared_data: Any, lead: Any, client_for: Any) -> Callable[[str], None]:
    def do(name: str) -> None:
        Wizard(client_for(lead)).all((shared_data / name).read_bytes())
        for run in ImportRun.objects.all():
            assert run.question_id
            counting.update_question(run.question_id)
        assert tasks.sweep_alarms() == 1

    return do


@pytest.mark.timeout(600)
def test_an_imported_history_raises_what_it_would_have_raised(imported: Any) -> None:
    imported("sxs_mqm_zhen.csv")
    case = Alarm.objects.get()
    assert case.rater
    assert (case.rater.key, case.measure, case.state) == ("rater5", "bias", "open")
    assert case.size < 0
    assert datetime.date(2024, 8, 16) <= case.since <= datetime.date(2024, 8, 24)
    assert abs((case.noticed - datetime.date(2024, 8, 31)).days) <= 1
    assert case.raised_at.date() == timezone.now().date()


@pytest.mark.timeout(600)
def test_a_history_without_drift_raises_nothing(imported: Any) -> None:
    imported("sxs_mqm_ende.csv")
    assert not Alarm.objects.exists()
    assert DriftStanding.objects.exists()
