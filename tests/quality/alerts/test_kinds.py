"""Test every kind of alert: created once, with its own sentences and answers."""

from __future__ import annotations

import datetime
import html
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.utils import timezone, translation

from events.models import Event
from metrics.jobs import question_updates as counting
from projects.models import Category, GoldAnswer, GuidelineVersion, Item, Question, Rater
from quality import tasks
from quality.alerts import scan, services, storage, sweep
from quality.alerts.candidates import AlertCandidate, AlertPeriod
from quality.alerts.kinds import KINDS, get_brief_text
from quality.models import Alert, AlertKind, GoldItem
from quality.rater_status.reasons import REASON_OF_ALERT
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

pytestmark = pytest.mark.django_db

AUGUST = datetime.date(2026, 8, 17)

# Kind -> fields of its alerts beside those of every alert.
FIELDS_BY_KIND: dict[str, dict[str, Any]] = {
    AlertKind.RATER_DRIFT: {},
    AlertKind.RATER_SAME_ANSWER: {
        "measure": "other_answers", "size": 0.0, "n": 60, "code": 0,
        "facts": {"category": "none", "share": 0.99, "others": 0.6, "level": 5000.0},
    },
    AlertKind.RATER_TOO_FAST: {
        "measure": "pace", "size": 0.05,
        "facts": {"seconds": 2.0, "usual": 20.0, "times": 4.0, "level": 5000.0},
    },
    AlertKind.RATER_DISAGREES: {
        "measure": "agreement", "size": 0.05,
        "facts": {"middle": 0.6, "bound": 0.4, "level": 250.0},
    },
    AlertKind.NEWCOMER_BELOW: {
        "measure": "agreement", "size": 0.2, "n": 60,
        "facts": {"middle": 0.6, "bound": 0.5, "chance": 20.0, "level": 5000.0},
    },
    AlertKind.RATER_COPIES: {
        "measure": "agreement", "size": 0.3, "n": 80,
        "facts": {"together": 0.96, "expected": 0.66, "chance": 100.0, "level": 5000.0},
    },
    AlertKind.QUESTION_FELL: {
        "rater": None, "measure": "agreement", "facts": {"was": 0.0, "is": -0.2, "level": 1000.0}
    },
    AlertKind.PAIR_DIVERGED: {"measure": "agreement", "facts": {"was": 0.0, "is": -0.2}},
    AlertKind.CATEGORY_COLLAPSED: {
        "rater": None, "measure": "category_share", "code": 1,
        "facts": {"category": "minor", "was": 0.2, "is": 0.0},
    },
    AlertKind.RATINGS_MISSING: {
        "rater": None, "measure": "items", "size": 40, "n": 40, "chart": {},
        "facts": {"wanted": 3, "share": 0.25},
    },
    AlertKind.GOLD_SUSPECTED: {
        "rater": None, "measure": "items", "size": 2, "n": 2, "chart": {}, "facts": {"people": 9},
    },
}  # fmt: skip
SENTENCES = {
    AlertKind.RATER_DRIFT: "ann has rated lower since",
    AlertKind.RATER_SAME_ANSWER: "ann almost always answers “none”",
    AlertKind.RATER_TOO_FAST: "ann takes 2.0 seconds where others take",
    AlertKind.RATER_DISAGREES: "ann agrees far less than the others",
    AlertKind.NEWCOMER_BELOW: "ann is new and agrees less than the team",
    AlertKind.RATER_COPIES: "ann agrees more with ben than expected: kappa",
    AlertKind.QUESTION_FELL: "Agreement has been about",
    AlertKind.PAIR_DIVERGED: "ann has agreed about 0.36 less with ben since",
    AlertKind.CATEGORY_COLLAPSED: "“minor” is hardly used: 0% of answers",
    AlertKind.RATINGS_MISSING: "40 items started over two weeks ago",
    AlertKind.GOLD_SUSPECTED: "2 gold answers may be wrong.",
}


@pytest.fixture
def make_alert_of_kind(question: Question, make_alert: Any) -> Callable[..., Alert]:
    def make(kind: str, **fields: Any) -> Alert:
        row = FIELDS_BY_KIND[kind] | {"kind": kind} | fields
        rater = row.pop(
            "rater", Rater.objects.get_or_create(project=question.project, key="ann")[0]
        )
        if kind in {AlertKind.PAIR_DIVERGED, AlertKind.RATER_COPIES}:
            row["other_rater"] = Rater.objects.get_or_create(project=question.project, key="ben")[0]
        alert: Alert = make_alert(question, rater, **row)
        return alert

    return make


def test_each_kind_about_a_rater_is_a_reason_for_a_status() -> None:
    about_raters = {kind for kind, definition in KINDS.items() if definition.brief is not None}
    assert about_raters == set(REASON_OF_ALERT), (
        "add each kind of alert with a `brief` text to REASON_OF_ALERT in"
        " quality/rater_status/reasons.py, and no other"
    )


def test_page_of_each_kind_shows_sentence_and_link(
    make_alert_of_kind: Callable[..., Alert], client_for: Any, lead: Any, question: Question
) -> None:
    assert set(KINDS) == set(AlertKind.values)
    client = client_for(lead)
    base = f"/projects/{question.project_id}/"
    for kind in AlertKind.values:
        alert = make_alert_of_kind(kind)
        text = " ".join(html.unescape(client.get(f"{base}alerts/{alert.pk}/").text).split())
        sentence = (
            SENTENCES[AlertKind(kind)]
            .replace("ann", str(alert.rater))
            .replace("ben", str(alert.other_rater))
        )
        assert sentence in text, (kind, KINDS[kind].sentence(alert))
        kind_texts = KINDS[kind]
        assert (
            f'href="{html.escape(kind_texts.link(alert)[0])}"'
            in client.get(f"{base}alerts/{alert.pk}/").text
        )
        assert client.get(kind_texts.link(alert)[0]).status_code == 200, kind
        for answer, label in kind_texts.causes.items():
            assert f'value="resolved:{answer}"' in text
            assert str(label) in text
        chart = client.get(f"{base}alerts/{alert.pk}/chart.json")
        assert chart.status_code == 200
        with translation.override("zh-hans"):
            sentences = [
                kind_texts.sentence(alert),
                kind_texts.error_rate(alert),
                str(kind_texts.hint),
            ]
            sentences += [*kind_texts.basis(alert), *kind_texts.explanations(alert)]
        assert not [
            sentence
            for sentence in sentences
            if not any("\u4e00" <= character <= "\u9fff" for character in sentence)
        ]
    list_page = client.get(f"{base}alerts/").text
    alerts = Alert.objects.select_related("rater", "other_rater", "question")
    assert all(html.escape(KINDS[alert.kind].sentence(alert)) in list_page for alert in alerts)


def test_rater_table_shows_short_sentences(
    make_alert_of_kind: Callable[..., Alert], client_for: Any, lead: Any, question: Question
) -> None:
    first_alert = make_alert_of_kind(AlertKind.RATER_DRIFT)
    later_days = [first_alert.detected_on + datetime.timedelta(days) for days in (1, 2, 3)]
    make_alert_of_kind(AlertKind.RATER_DRIFT, size=0.5, detected_on=later_days[0])
    make_alert_of_kind(AlertKind.RATER_DRIFT, measure="agreement", detected_on=later_days[1])
    make_alert_of_kind(AlertKind.RATER_SAME_ANSWER)
    make_alert_of_kind(AlertKind.RATER_TOO_FAST)
    make_alert_of_kind(AlertKind.RATER_DISAGREES)
    make_alert_of_kind(AlertKind.NEWCOMER_BELOW)
    make_alert_of_kind(AlertKind.RATER_COPIES)
    pair_alert = make_alert_of_kind(AlertKind.PAIR_DIVERGED)
    make_alert_of_kind(
        AlertKind.RATER_DRIFT, other_rater=pair_alert.other_rater, detected_on=later_days[2]
    )
    page = client_for(lead).get(f"/projects/{question.project_id}/raters/")
    sentences_by_rater = {
        row.listed.key: [sentence for _alert, sentence in row.alerts]
        for row in page.context["rows"]
    }
    beginnings = [" ".join(sentence.split()[:4]) for sentence in sentences_by_rater["ann"]]
    assert beginnings == [
        "has rated lower since",
        "has rated higher since",
        "has agreed about 0.36",
        "almost always answers “none”",
        "takes 2.0 seconds where",
        "agrees far less than",
        "is new and agrees",
        "agrees more with ben",
        "has agreed about 0.36",
        "has diverged from ben",
    ]
    assert sentences_by_rater["ben"][0].startswith("agrees more with Ann than expected: kappa 0.96")
    assert sentences_by_rater["ben"][1].startswith("has agreed about 0.36 less with Ann since")
    assert sentences_by_rater["ben"][2].startswith("has diverged from Ann by")
    assert all(html.escape(sentence) in page.text for sentence in sentences_by_rater["ann"])


OF_AGREEMENT = {"measure": "agreement"}
ALERT_TEXTS: dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]] = {
    # text: kind and fields of an alert where it is true, and where it is false but tempting
    "The data don’t show which of them caused it.": (
        "rater_drift", {"with_other": True}, "rater_drift", {},
    ),
    "has diverged from": (
        "rater_drift", {"with_other": True}, "rater_drift", {},
    ),
    "Ann has rated lower since 2026-08-17, by about 0.36 categories": (
        "rater_drift", {}, "rater_drift", {"size": 0.36},
    ),
    "Ann has rated higher since 2026-08-17, by about 0.36 categories": (
        "rater_drift", {"size": 0.36}, "rater_drift", {"size": 0.36} | OF_AGREEMENT,
    ),
    "has agreed about 0.36 less since": (
        "rater_drift", OF_AGREEMENT, "rater_drift", {},
    ),
    "It began between 2026-08-10 and 2026-08-24": (
        "rater_drift", {}, "rater_drift", {"since_earliest": AUGUST, "since_latest": AUGUST},
    ),
    "The others’ ratings then don’t explain it.": (
        "rater_drift", OF_AGREEMENT, "rater_drift", {},
    ),
    "“minor” is hardly used": (
        "category_collapsed", {}, "category_collapsed", OF_AGREEMENT,
    ),
    "“minor” is used inconsistently": (
        "category_collapsed", OF_AGREEMENT, "category_collapsed", {},
    ),
    "1 gold answer may be wrong.": (
        "gold_suspected", {"size": 1, "n": 1}, "gold_suspected", {},
    ),
    "No alert about a single rater then.": (
        "question_fell", {}, "pair_diverged", {},
    ),
    "Other changes cause one in at most 5% of years (simulated).": (
        "rater_drift", {}, "question_fell", {},
    ),
    "Chance alone causes at most one false alert per question in 4 years": (
        "question_fell", {}, "question_fell", {"facts": {"level": 5000.0}},
    ),
    "A count: no chance involved.": (
        "ratings_missing", {}, "rater_fast", {},
    ),
    "At most 1 in 100 unaffected questions ever gets such an alert.": (
        "rater_copies", {}, "newcomer_below", {},
    ),
    "At most 1 in 20 unaffected raters ever gets such an alert.": (
        "newcomer_below", {}, "rater_same_answer", {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", ALERT_TEXTS)
def test_each_text_of_an_alert_has_its_reason(
    text: str, make_alert_of_kind: Callable[..., Alert], question: Question
) -> None:
    kind, fields, tempting_kind, tempting_fields = ALERT_TEXTS[text]
    for alert_kind, alert_fields, is_true in (
        (kind, fields, True),
        (tempting_kind, tempting_fields, False),
    ):
        other = {}
        if "with_other" in alert_fields:
            rater = Rater.objects.get_or_create(project=question.project, key="ben")[0]
            other = {"other_rater": rater}
        own_fields = {name: alert_fields[name] for name in alert_fields if name != "with_other"}
        alert = make_alert_of_kind(alert_kind, **own_fields, **other)
        texts = KINDS[alert_kind]
        sentences = [texts.sentence(alert), texts.error_rate(alert), *texts.basis(alert)]
        if alert.rater_id is not None:
            sentences.append(get_brief_text(alert, alert.rater_id))
        assert (text in " ".join(sentences)) == is_true, sentences
        alert.delete()


def test_guidelines_changed_only_between_onset_and_alert(
    make_alert_of_kind: Callable[..., Alert], question: Question
) -> None:
    """A version of the day before the onset explains nothing."""
    alert = make_alert_of_kind(AlertKind.RATER_DRIFT)
    for number, day in ((2, alert.since_earliest - datetime.timedelta(1)), (3, alert.detected_on)):
        GuidelineVersion.objects.create(
            project=question.project,
            number=number,
            created_at=datetime.datetime(day.year, day.month, day.day, 12, tzinfo=datetime.UTC),
        )
    explanations = KINDS[AlertKind.RATER_DRIFT].explanations(alert)
    assert "Guidelines version 3 began on 2026-08-31." in explanations
    assert not [text for text in explanations if "version 2" in text or "didn’t change" in text]


def test_answer_must_belong_to_the_kind(
    make_alert_of_kind: Callable[..., Alert], lead: Any
) -> None:
    alert = make_alert_of_kind(AlertKind.QUESTION_FELL)
    with pytest.raises(services.InvalidAlertStep, match="one of real, explained"):
        services.change_alert_state(
            alert=alert, state="resolved", reason="x", cause="not_rater", by=lead
        )
    services.change_alert_state(
        alert=alert, state="resolved", reason="x", cause="explained", by=lead
    )
    alert.refresh_from_db()
    assert (alert.state, alert.cause) == ("resolved", "explained")


@pytest.mark.django_db(transaction=True)
def test_constant_rater_gets_one_alert(question: Question) -> None:
    rng = np.random.default_rng(2)
    raters = [
        Rater.objects.get_or_create(project=question.project, key=key)[0].pk
        for key in ("ann", "ben", "cleo", "dan")
    ]
    items = Item.objects.bulk_create(
        Item(project=question.project, key=f"i{number}", body={"text": "x"})
        for number in range(150)
    )
    judgements = []
    for item in items:
        truth = int(rng.integers(4))
        for rater in raters[:3]:
            code = truth if rng.random() < 0.9 else int(rng.integers(4))
            judgements.append(Judgement(item.pk, rater, code, seconds=20.0))
        judgements.append(Judgement(item.pk, raters[3], 1, seconds=20.0))
    record_ratings({question: judgements}, by=None, source="api")
    counting.update_question(question.pk)
    assert tasks.sweep_alerts() == 1
    alert = Alert.objects.get()
    assert (alert.kind, alert.rater and alert.rater.key, alert.code) == (
        "rater_same_answer",
        "dan",
        1,
    )
    assert alert.facts["category"] == Category.objects.get(question=question, code=1).label
    assert alert.facts["level"] == 5000
    assert Event.objects.get().data["kind"] == "rater_same_answer"
    record_ratings({question: [Judgement(items[0].pk, raters[0], 2)]}, by=None, source="api")
    counting.update_question(question.pk)
    tasks.sweep_alerts()
    assert Alert.objects.get() == alert


@pytest.mark.django_db(transaction=True)
def test_copies_and_newcomer_get_alerts_with_their_error_rates(question: Question) -> None:
    """Dan copies ann on their common items; eve is new after 30 days and mostly guesses."""
    rng = np.random.default_rng(7)
    keys = ("ann", "ben", "cleo", "dan", "fay", "eve")
    raters = [Rater.objects.get_or_create(project=question.project, key=key)[0].pk for key in keys]
    items = Item.objects.bulk_create(
        Item(project=question.project, key=f"i{number}", body={"text": "x"})
        for number in range(1_500)
    )
    first = timezone.now() - datetime.timedelta(days=70)
    judgements = []
    for number, item in enumerate(items):
        day, truth = number // 25, int(rng.integers(4))
        team = rng.choice(6 if day >= 30 else 5, size=3, replace=False).tolist()
        codes: dict[int, int] = {}
        for rater in sorted(team):
            lapse = 0.8 if rater == 5 else 0.3
            codes[rater] = truth if rng.random() >= lapse else int(rng.integers(4))
            if rater == 3 and 0 in codes:
                codes[rater] = codes[0]
        judgements += [
            Judgement(item.pk, raters[rater], code, rated_at=first + datetime.timedelta(days=day))
            for rater, code in codes.items()
        ]
    record_ratings({question: judgements}, by=None, source="import")
    counting.update_question(question.pk)
    assert tasks.sweep_alerts() == 1
    alerts = {alert.kind: alert for alert in Alert.objects.all()}
    assert set(alerts) == {"rater_copies", "newcomer_below"}
    copies, newcomer = alerts["rater_copies"], alerts["newcomer_below"]
    assert copies.rater and copies.other_rater
    assert {copies.rater.key, copies.other_rater.key} == {"ann", "dan"}
    assert copies.facts["together"] == pytest.approx(1)
    assert copies.facts["expected"] < 0.8
    assert newcomer.rater and newcomer.rater.key == "eve"
    assert 30 <= newcomer.n <= 330
    assert newcomer.size < newcomer.facts["bound"] < newcomer.facts["middle"]
    error_rate = KINDS["rater_copies"].error_rate(copies)
    assert "At most 1 in 100 unaffected questions" in error_rate
    error_rate = KINDS["newcomer_below"].error_rate(newcomer)
    assert "At most 1 in 20 unaffected raters" in error_rate
    # The same ratings give no second alert.
    record_ratings({question: [Judgement(items[0].pk, raters[1], 2)]}, by=None, source="api")
    counting.update_question(question.pk)
    tasks.sweep_alerts()
    assert Alert.objects.count() == 2


def test_fall_of_the_question_and_of_a_rater_mention_each_other(
    make_alert_of_kind: Callable[..., Alert],
) -> None:
    fall = make_alert_of_kind(AlertKind.QUESTION_FELL)
    basis = KINDS[fall.kind].basis
    assert "No alert about a single rater then." in basis(fall)
    alert = make_alert_of_kind(AlertKind.RATER_DRIFT, measure="agreement", size=-0.3)
    sentence = f"It fell further for {alert.rater}."
    assert sentence in basis(fall)
    sentence = "The others’ agreement fell too"
    assert any(text.startswith(sentence) for text in KINDS[alert.kind].basis(alert))
    fall.delete()
    sentence = "The others’ ratings then don’t explain it."
    assert sentence in KINDS[alert.kind].basis(alert)


def test_attributes_of_items_become_columns(question: Question) -> None:
    items = [
        Item.objects.create(project=question.project, key=f"i{number}", attributes=attributes)
        for number, attributes in enumerate(
            [
                {"kind": "poem", "length": 3, "tags": ["a"]},
                {"kind": "letter", "length": 3},
                {"length": 3},
                {},
            ]
        )
    ]
    ids = np.array([items[index].pk for index in (3, 0, 0, 1, 2)])
    columns = scan.list_attribute_columns(question, ids)
    assert [column.tolist() for column in columns] == [[0, 1, 1, 1, 1], [0, 2, 2, 1, 0]]
    many = [
        Item(project=question.project, key=f"m{number}", attributes={"id": f"x{number}"})
        for number in range(scan.MAX_ATTRIBUTE_VALUES + 1)
    ]
    Item.objects.bulk_create(many)
    again = scan.list_attribute_columns(question, ids)
    assert [column.tolist() for column in again] == [column.tolist() for column in columns]


# --- one alert for each cause


def build_candidate(kind: str, raters: tuple[int, ...], **fields: Any) -> AlertCandidate:
    day = datetime.date(2026, 8, 20)
    number = scan.to_day_number(day)
    values = {
        "measure": "agreement", "since": day, "since_earliest": day, "since_latest": day,
        "detected_on": day, "size": 0.0, "low": 0.0, "high": 0.0, "n": 50, "n_before": 0,
        "evidence": 6000.0,
    }  # fmt: skip
    return AlertCandidate(kind, AlertPeriod(raters, number, number), values | fields)


def create_alerts(question: Question, *candidates: AlertCandidate) -> list[str]:
    alerts = storage.create_alerts(question, candidates, storage.SCANNED_KINDS)
    return [alert.kind for alert in alerts]


def test_unresolved_alert_of_a_rater_blocks_other_kinds(
    make_alert_of_kind: Callable[..., Alert], question: Question, lead: Any
) -> None:
    alert = make_alert_of_kind(AlertKind.RATER_SAME_ANSWER)
    assert alert.rater_id is not None
    other_kind = build_candidate(
        AlertKind.RATER_DISAGREES, (alert.rater_id,), rater_id=alert.rater_id
    )
    same_kind = build_candidate(
        AlertKind.RATER_SAME_ANSWER, (alert.rater_id,), rater_id=alert.rater_id, since=alert.since
    )
    ben = Rater.objects.create(project=question.project, key="ben")
    assert create_alerts(question, same_kind, other_kind) == []
    assert create_alerts(
        question,
        same_kind,
        other_kind,
        build_candidate(AlertKind.RATER_DISAGREES, (ben.pk,), rater_id=ben.pk),
    ) == ["rater_apart"]
    services.change_alert_state(alert=alert, state="resolved", reason="x", cause="real", by=lead)
    assert create_alerts(question, same_kind, other_kind) == ["rater_apart"]


def test_question_alerts_with_common_days_are_one_cause(
    make_alert_of_kind: Callable[..., Alert], question: Question
) -> None:
    alert = make_alert_of_kind(AlertKind.QUESTION_FELL)
    fall = build_candidate(AlertKind.QUESTION_FELL, (0,))
    category = build_candidate(AlertKind.CATEGORY_COLLAPSED, (2,), code=2)
    assert create_alerts(question, fall, category) == []
    # The current ratings no longer give this alert, so it explains nothing.
    assert create_alerts(question, category) == ["category_collapsed"]
    alert.refresh_from_db()
    assert not alert.supported
    other = build_candidate(AlertKind.CATEGORY_COLLAPSED, (3,), code=3)
    assert create_alerts(question, category, other) == ["category_collapsed"]


# --- counts


def test_items_behind_their_overlap_give_an_alert(question: Question) -> None:
    project = question.project
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={"text": "x"}, slots_taken=1)
        for number in range(40)
    )
    today = datetime.date(2026, 8, 31)
    ratings_array = np.zeros(40, scan.RATING_DTYPE)
    ratings_array["item"] = [item.pk for item in items]
    ratings_array["day"] = scan.to_day_number(today) - 20
    (candidate,) = scan.list_missing_rating_candidates(question, ratings_array, today)
    assert (candidate.kind, candidate.fields["n"]) == ("ratings_missing", 40)
    assert candidate.fields["facts"] == {"wanted": project.overlap, "share": 1.0}
    assert (
        scan.list_missing_rating_candidates(
            question, ratings_array, today - datetime.timedelta(days=7)
        )
        == []
    )
    assert (
        scan.list_missing_rating_candidates(
            question, ratings_array, today + datetime.timedelta(days=90)
        )
        == []
    )
    assert (
        scan.list_missing_rating_candidates(
            question, ratings_array[: scan.MIN_OVERDUE_ITEMS - 1], today
        )
        == []
    )
    # Withdrawn items need no more ratings.
    Item.objects.filter(project=project).update(withdrawn_at=timezone.now())
    assert scan.list_missing_rating_candidates(question, ratings_array, today) == []


def test_suspected_gold_gives_one_alert_until_more_is_suspected(
    question: Question, lead: Any
) -> None:
    def suspect_gold(number: int) -> GoldItem:
        item = Item.objects.create(project=question.project, key=f"g{number}")
        gold = GoldAnswer.objects.create(
            question=question, item=item, version=1, answer=[0], created_at=timezone.now(), by=lead
        )
        return GoldItem.objects.create(
            gold=gold,
            question=question,
            item=item,
            exposures=5,
            right=0,
            n_people=5,
            suspected=True,
        )

    assert sweep.update_gold_alerts() == 0
    first = suspect_gold(1)
    assert sweep.update_gold_alerts() == 1
    assert sweep.update_gold_alerts() == 0
    second = suspect_gold(2)
    assert sweep.update_gold_alerts() == 0, "it is open"
    alert = Alert.objects.get()
    assert (alert.n, alert.facts) == (1, {"people": 5})
    services.change_alert_state(alert=alert, state="resolved", reason="x", cause="real", by=lead)
    assert sweep.update_gold_alerts() == 1
    newest_alert = Alert.objects.order_by("-pk")[0]
    assert newest_alert.n == 2
    GoldItem.objects.filter(pk__in=[first.pk, second.pk]).update(suspected=False)
    assert sweep.update_gold_alerts() == 0
    newest_alert.refresh_from_db()
    assert not newest_alert.supported


def test_score_outside_coefficient_range_is_not_called_kappa(
    make_alert_of_kind: Callable[..., Alert],
) -> None:
    alert = make_alert_of_kind(AlertKind.RATER_DISAGREES, size=-1.63, low=-2.01, high=-1.26)
    kind_texts = KINDS[alert.kind]
    assert "kappa" not in " ".join([kind_texts.sentence(alert), *kind_texts.basis(alert)])
    assert "-1.63" in kind_texts.basis(alert)[1]


def test_alerts_are_sorted_by_day_then_by_number_of_items(
    make_alert_of_kind: Callable[..., Alert], question: Question
) -> None:
    day = datetime.date(2026, 3, 1)
    few, many, older = (
        make_alert_of_kind(
            AlertKind.RATER_SAME_ANSWER,
            n=n,
            detected_on=detected_on,
            rater=Rater.objects.create(project=question.project, key=key),
        )
        for key, n, detected_on in (
            ("few", 38, day),
            ("many", 900, day),
            ("older", 2_000, day - datetime.timedelta(days=1)),
        )
    )
    assert list(Alert.objects.order_by_newest()) == [many, few, older]
