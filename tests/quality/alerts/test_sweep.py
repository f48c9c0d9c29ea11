"""Test that alerts are created once from people's current ratings and keep their numbers."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from events.models import Event
from metrics.jobs import question_updates as counting
from projects.models import GuidelineVersion, Item, Project, Question, Rater
from quality import tasks
from quality.alerts import scan, services, storage, sweep
from quality.models import Alert, AlertScan, AlertStep, DriftState
from ratings.models import ImportRun, Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.ratings.imports.wizard_client import WizardClient

pytestmark = pytest.mark.django_db(transaction=True)


def recompute(question: Question) -> None:
    """Count the changed ratings and scan the question once more."""
    counting.update_question(question.pk)
    assert sweep.recompute_question(question.pk, at_once=True)


def list_alert_values() -> Sequence[Mapping[str, Any]]:
    return list(Alert.objects.order_by("pk").values())


def test_drifting_rater_gets_an_alert_with_its_numbers(
    make_stream: Callable[..., Question], day_after: Callable[[int], datetime.date]
) -> None:
    question = make_stream(moves={"dan": 30})
    assert tasks.sweep_alerts() == 1
    alert = Alert.objects.get()
    assert alert.rater
    assert (alert.rater.key, alert.kind, alert.measure) == ("dan", "rater_drift", "bias")
    assert (alert.state, alert.supported, alert.reason, alert.other_rater) == (
        "open",
        True,
        "",
        None,
    )
    assert abs((alert.since - day_after(30)).days) <= 4
    assert alert.since_earliest <= alert.since <= alert.since_latest <= alert.detected_on
    assert alert.since < alert.detected_on < day_after(60)
    assert timezone.now() - alert.created_at < datetime.timedelta(minutes=1)
    assert -1.1 < alert.low < alert.size < alert.high < -0.1
    assert alert.n >= 10
    assert alert.n_before >= 30
    assert alert.evidence >= 5000
    assert {len(column) for column in alert.chart.values()} == {len(alert.chart["days"])}
    assert AlertStep.objects.values_list("alert", "state", "by").get() == (alert.pk, "open", None)
    events = list(Event.objects.all())
    assert [event.kind for event in events] == ["alert.opened", "rater.drifted"]
    event = events[1]
    assert (event.subject, event.by) == (f"alert/{alert.pk}", None)
    names = ("size", "low", "high", "n", "n_before", "evidence")
    assert {name: event.data[name] for name in names} == {
        name: getattr(alert, name) for name in names
    }
    assert event.data["rater"] == "dan"
    assert event.data["promise"] == (
        "Chance alone causes at most one false alert per rater in 20 years. "
        "Other changes cause one in at most 5% of years (simulated)."
    )
    assert event.project_id == question.project_id
    drift_evidence = DriftState.objects.get(rater__key="ann")
    assert (drift_evidence.reason, drift_evidence.watched) == ("", False)
    assert (
        drift_evidence.low is not None
        and drift_evidence.size is not None
        and drift_evidence.high is not None
    )
    assert drift_evidence.low <= drift_evidence.size <= drift_evidence.high


def test_alert_is_created_once_and_keeps_its_numbers(make_stream: Callable[..., Question]) -> None:
    question = make_stream(moves={"dan": 30}, days=50)
    tasks.sweep_alerts()
    before = list_alert_values()
    assert len(before) == 1
    assert tasks.sweep_alerts() == 0, "nothing changed"
    make_stream(moves={"dan": 30}, days=20, first=50)
    AlertScan.objects.update(computed_at=None)
    assert storage.list_outdated_questions() == [question.pk]
    assert tasks.sweep_alerts() == 1
    assert list_alert_values() == before
    assert Event.objects.count() == 2


def test_alert_no_longer_detected_stays_in_history(
    make_stream: Callable[..., Question],
) -> None:
    question = make_stream(moves={"dan": 30})
    tasks.sweep_alerts()
    before = list_alert_values()
    Rating.objects.filter(rater__key="dan").update(code=-1)
    recompute(question)
    assert list_alert_values() == [{**before[0], "supported": False}]
    assert not DriftState.objects.filter(rater__key="dan").exists()


def test_no_alert_without_drift(make_stream: Callable[..., Question]) -> None:
    make_stream()
    assert tasks.sweep_alerts() == 1
    assert not Alert.objects.exists()
    assert not Event.objects.exists()
    assert DriftState.objects.count() == 4
    assert set(DriftState.objects.values_list("watched", flat=True)) == {False}


def test_clusters_of_items_count_on_one_day(make_stream: Callable[..., Question]) -> None:
    """Of two documents that last for months nothing tells a change from another document."""
    question = make_stream(moves={"dan": 30})
    assert tasks.sweep_alerts() == 1
    alert = Alert.objects.get()
    assert alert.supported
    for item in question.project.items.all():
        item.attributes = {"document": "first" if int(item.key.split("-")[0]) < 30 else "second"}
        item.save(update_fields=["attributes"])
    assert storage.list_outdated_questions() == []
    type(question.project).objects.update(cluster_attribute="document")
    assert storage.list_outdated_questions() == [question.pk]  # without a new rating
    sweep.recompute_question(question.pk, at_once=True)
    alert.refresh_from_db()
    assert not alert.supported
    assert sum(DriftState.objects.values_list("n", flat=True)) > 0


def test_models_get_no_alert_and_are_no_peers(make_stream: Callable[..., Question]) -> None:
    question = make_stream(moves={"dan": 30})
    Rater.objects.filter(key="dan").update(kind=Rater.Kind.MODEL)
    tasks.sweep_alerts()
    assert not Alert.objects.exists()
    assert AlertScan.objects.get().n_ratings == Rating.objects.exclude(rater__key="dan").count()
    assert question.ratings.filter(rater__key="dan").exists()


def test_new_guidelines_restart_detection_for_all_raters(
    make_stream: Callable[..., Question],
) -> None:
    question = make_stream(moves={"dan": 30})
    first = Rating.objects.order_by("rated_at").first()
    assert first is not None
    for number, days in ((1, 0), (2, 30)):
        created_at = first.rated_at + datetime.timedelta(days=days)
        GuidelineVersion.objects.create(
            project=question.project, number=number, created_at=created_at
        )
    question.project.guidelines_version = 2
    question.project.save()
    tasks.sweep_alerts()
    assert not Alert.objects.exists()


def test_an_excused_rater_is_a_peer_again(
    make_stream: Callable[..., Question], lead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = make_stream(moves={"dan": 30})
    tasks.sweep_alerts()
    before = DriftState.objects.get(rater__key="ann").evidence
    alert = Alert.objects.get()
    services.change_alert_state(
        alert=alert, state="resolved", reason="New kind of texts", cause="not_rater", by=lead
    )
    assert storage.list_outdated_questions() == [question.pk]
    recompute(question)
    assert Alert.objects.count() == 1, "it does not ring again"
    with_dan = DriftState.objects.get(rater__key="ann").evidence
    assert with_dan != pytest.approx(before)
    services.change_alert_state(alert=alert, state="open", by=lead)
    recompute(question)
    assert DriftState.objects.get(rater__key="ann").evidence == pytest.approx(before)


def test_alert_of_only_two_raters_names_both(question: Question, make_stream: Any) -> None:
    make_stream(moves={"dan": 30}, days=80)
    Rating.objects.filter(rater__key__in=["ann", "ben"]).update(code=-1)
    recompute(question)
    for alert in Alert.objects.all():
        assert alert.reason == "cannot_tell_who"
        assert alert.rater and alert.other_rater
        assert {alert.rater.key, alert.other_rater.key} == {"cleo", "dan"}
    assert Alert.objects.count() == 1


def test_no_scan_while_an_import_is_writing(make_stream: Callable[..., Question]) -> None:
    question = make_stream(moves={"dan": 30})
    run = ImportRun.objects.create(
        project=question.project, question=question, state="writing", path="x", file_name="x.csv"
    )
    assert tasks.sweep_alerts() == 0
    run.state = "done"
    run.save()
    assert tasks.sweep_alerts() == 1


def test_scan_waits_for_rest_time_and_lease(make_stream: Callable[..., Question]) -> None:
    question = make_stream()
    until = timezone.now() + datetime.timedelta(minutes=1)
    AlertScan.objects.create(question=question, lease="other", leased_until=until)
    assert tasks.sweep_alerts() == 0
    AlertScan.objects.update(leased_until=None)
    assert tasks.sweep_alerts() == 1
    AlertScan.objects.update(duration_seconds=1000, input_version={})
    assert tasks.sweep_alerts() == 0
    AlertScan.objects.update(computed_at=timezone.now() - sweep.MAX_PAUSE)
    assert tasks.sweep_alerts() == 1


def test_worker_without_lease_writes_nothing(
    make_stream: Callable[..., Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    question = make_stream(moves={"dan": 30})
    original_scan = sweep.scan_question

    def lose_lease(*arguments: Any, **options: Any) -> Any:
        result = original_scan(*arguments, **options)
        AlertScan.objects.update(lease="other")
        return result

    monkeypatch.setattr(sweep, "scan_question", lose_lease)
    assert not sweep.recompute_question(question.pk)
    assert not Alert.objects.exists()
    assert AlertScan.objects.get().computed_at is None


def test_too_many_comparisons_give_a_reason(
    make_stream: Callable[..., Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_stream()
    monkeypatch.setattr(scan, "MAX_RATING_PAIRS", 100)
    tasks.sweep_alerts()
    assert AlertScan.objects.get().reason == "too_many_comparisons"
    assert not DriftState.objects.exists()


def test_question_with_few_or_no_ratings_is_scanned(question: Question, rate: Any) -> None:
    rate(question, "i1", "ann", "none")
    rate(question, "i1", "ann", None)
    recompute(question)
    assert not DriftState.objects.exists()
    item = Item.objects.get()
    ben = Rater.objects.create(project=question.project, key="ben")
    record_ratings({question: [Judgement(item.pk, ben.pk, 0)]}, by=None, source="api")
    recompute(question)
    assert DriftState.objects.get().reason == "no_peers"


def test_missing_ratings_give_an_alert_though_nobody_rates_any_more(
    question: Question, rate: Any
) -> None:
    def rate_items(first: int, rater: str) -> None:
        for number in range(first, first + 20):
            rate(question, f"i{number}", rater, "none")

    def sweep_after(days: int) -> int:
        with time_machine.travel(started + datetime.timedelta(days=days), tick=False):
            return tasks.sweep_alerts()

    Project.objects.update(overlap=2)
    started = timezone.now()
    rate_items(0, "ann")
    rate_items(0, "ben")
    with time_machine.travel(started + datetime.timedelta(days=2), tick=False):
        rate_items(20, "ann")
        recompute(question)
    assert sweep_after(15) == 0, "no item lacks ratings for two weeks yet"
    assert not Alert.objects.exists()
    assert sweep_after(16) == 1
    alert = Alert.objects.get()
    assert (alert.kind, alert.n) == ("ratings_missing", 20)
    assert alert.since == (started + datetime.timedelta(days=2)).date()
    assert sweep_after(60) == 0, "no further item can lack ratings"


def test_alert_on_missing_ratings_follows_the_wanted_number(question: Question, rate: Any) -> None:
    Project.objects.update(overlap=2)
    for rater in ("ann", "ben"):
        for number in range(20):
            rate(question, f"i{number}", rater, "none")
    recompute(question)
    with time_machine.travel(timezone.now() + datetime.timedelta(days=20), tick=False):
        assert tasks.sweep_alerts() == 0
        assert AlertScan.objects.get().next_scan_on is None
        Project.objects.update(overlap=3)
        assert tasks.sweep_alerts() == 1
    assert Alert.objects.get().kind == "ratings_missing"


# --- published data, through the wizard


@pytest.fixture
def import_file(shared_data: Any, lead: Any, client_for: Any) -> Callable[[str], None]:
    """Import a file of real data through the wizard, count it and scan it."""

    def import_and_scan(name: str) -> None:
        WizardClient(client_for(lead)).import_file((shared_data / name).read_bytes())
        for run in ImportRun.objects.all():
            assert run.question_id
            counting.update_question(run.question_id)
        assert tasks.sweep_alerts() == 1

    return import_and_scan


@pytest.mark.timeout(600)
def test_imported_history_gives_the_alert_of_its_time(import_file: Any) -> None:
    import_file("sxs_mqm_zhen.csv")
    alert = Alert.objects.get()
    assert alert.rater
    assert (alert.rater.key, alert.measure, alert.state) == ("rater5", "bias", "open")
    assert alert.size < 0
    assert datetime.date(2024, 8, 16) <= alert.since <= datetime.date(2024, 8, 24)
    assert abs((alert.detected_on - datetime.date(2024, 8, 31)).days) <= 1
    assert alert.created_at.date() == timezone.now().date()


@pytest.mark.timeout(600)
def test_imported_history_without_drift_gives_no_alert(import_file: Any) -> None:
    import_file("sxs_mqm_ende.csv")
    assert not Alert.objects.exists()
    assert DriftState.objects.exists()
