"""Every kind of alarm: raised once, told in its own words, with its own answers."""

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
from projects.models import Category, GoldAnswer, Item, Question, Rater
from quality import tasks
from quality.alerts import services
from quality.alerts.detection import gold_alerts, overlap, scan, storage
from quality.alerts.detection.candidates import AlertCandidate
from quality.alerts.detection.matching import AlertPeriod
from quality.alerts.kinds import KINDS
from quality.models import Alarm, GoldItem, Kind
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

pytestmark = pytest.mark.django_db

# Kind -> what a row of it holds beside what every alarm has.
ROWS: dict[str, dict[str, Any]] = {
    Kind.RATER_DRIFT: {},
    Kind.RATER_SAME: {
        "measure": "answers", "size": 0.0, "n": 60, "code": 0,
        "facts": {"category": "none", "share": 0.99, "others": 0.6, "level": 5000.0},
    },
    Kind.RATER_FAST: {
        "measure": "pace", "size": 0.05,
        "facts": {"seconds": 2.0, "usual": 20.0, "times": 4.0, "level": 5000.0},
    },
    Kind.RATER_APART: {
        "measure": "agreement", "size": 0.05,
        "facts": {"middle": 0.6, "bound": 0.4, "level": 250.0},
    },
    Kind.QUESTION_FELL: {
        "rater": None, "measure": "agreement", "facts": {"was": 0.0, "is": -0.2, "level": 1000.0}
    },
    Kind.PAIR_DIVERGED: {"measure": "agreement", "facts": {"was": 0.0, "is": -0.2}},
    Kind.CATEGORY_COLLAPSED: {
        "rater": None, "measure": "use", "code": 1,
        "facts": {"category": "minor", "was": 0.2, "is": 0.0},
    },
    Kind.OVERLAP_BEHIND: {
        "rater": None, "measure": "items", "size": 40, "n": 40, "chart": {},
        "facts": {"wanted": 3, "share": 0.25},
    },
    Kind.GOLD_SUSPECTED: {
        "rater": None, "measure": "items", "size": 2, "n": 2, "chart": {}, "facts": {"people": 9},
    },
}  # fmt: skip
SAID = {
    Kind.RATER_DRIFT: "ann rates lower than before",
    Kind.RATER_SAME: "ann answers “none” nearly always",
    Kind.RATER_FAST: "ann is far faster than the others on the same items: 2.0 seconds",
    Kind.RATER_APART: "ann agrees far less with everybody than the others do, from the start.",
    Kind.QUESTION_FELL: "All agree less with each other than before",
    Kind.PAIR_DIVERGED: "ann and ben agree less with each other than before",
    Kind.CATEGORY_COLLAPSED: "“minor” is hardly used any more: 0 % of the answers",
    Kind.OVERLAP_BEHIND: "40 items were begun more than two weeks ago",
    Kind.GOLD_SUSPECTED: "Raters put 2 gold answers in doubt.",
}


@pytest.fixture
def of_kind(question: Question, make_alarm: Any) -> Callable[..., Alarm]:
    def make(kind: str, **more: Any) -> Alarm:
        row = ROWS[kind] | {"kind": kind} | more
        rater = row.pop(
            "rater", Rater.objects.get_or_create(project=question.project, key="ann")[0]
        )
        if kind == Kind.PAIR_DIVERGED:
            row["other"] = Rater.objects.get_or_create(project=question.project, key="ben")[0]
        made: Alarm = make_alarm(question, rater, **row)
        return made

    return make


def test_each_kind_says_what_it_is_and_where_to_act(
    of_kind: Callable[..., Alarm], client_for: Any, lead: Any, question: Question
) -> None:
    assert set(KINDS) == set(Kind.values)
    client = client_for(lead)
    base = f"/projects/{question.project_id}/"
    for kind in Kind.values:
        case = of_kind(kind)
        text = " ".join(html.unescape(client.get(f"{base}alarms/{case.pk}/").text).split())
        said = SAID[Kind(kind)].replace("ann", str(case.rater)).replace("ben", str(case.other))
        assert said in text, (kind, KINDS[kind].sentence(case))
        declared = KINDS[kind]
        assert (
            f'href="{html.escape(declared.link(case)[0])}"'
            in client.get(f"{base}alarms/{case.pk}/").text
        )
        assert client.get(declared.link(case)[0]).status_code == 200, kind
        for answer, label in declared.answers.items():
            assert f'value="resolved:{answer}"' in text
            assert str(label) in text
        chart = client.get(f"{base}alarms/{case.pk}/chart.json")
        assert chart.status_code == 200
        with translation.override("zh-hans"):
            told = [declared.sentence(case), declared.error_rate(case), str(declared.hint)]
            told += [*declared.basis(case), *declared.explanations(case)]
        assert not [said for said in told if not any("\u4e00" <= sign <= "\u9fff" for sign in said)]
    listed = client.get(f"{base}alarms/").text
    cases = Alarm.objects.select_related("rater", "other", "question")
    assert all(html.escape(KINDS[case.kind].sentence(case)) in listed for case in cases)


def test_the_table_of_raters_says_it_in_few_words(
    of_kind: Callable[..., Alarm], client_for: Any, lead: Any, question: Question
) -> None:
    first = of_kind(Kind.RATER_DRIFT)
    later = [first.noticed + datetime.timedelta(days) for days in (1, 2, 3)]
    of_kind(Kind.RATER_DRIFT, size=0.5, noticed=later[0])
    of_kind(Kind.RATER_DRIFT, measure="agreement", noticed=later[1])
    of_kind(Kind.RATER_SAME)
    of_kind(Kind.RATER_FAST)
    of_kind(Kind.RATER_APART)
    pair = of_kind(Kind.PAIR_DIVERGED)
    of_kind(Kind.RATER_DRIFT, other=pair.other, noticed=later[2])
    page = client_for(lead).get(f"/projects/{question.project_id}/raters/")
    said = {
        row.line.key: [sentence for _case, sentence in row.cases] for row in page.context["rows"]
    }
    told = [" ".join(sentence.split()[:4]) for sentence in said["ann"]]
    assert told == [
        "rates lower than before,",
        "rates higher than before,",
        "agrees less than before,",
        "answers “none” nearly always",
        "takes 2.0 seconds where",
        "agrees far less than",
        "agrees less with ben",
        "apart from ben by",
    ]
    assert said["ben"][0].startswith("agrees less with Ann than before")
    assert said["ben"][1].startswith("apart from Ann by")
    assert all(html.escape(sentence) in page.text for sentence in said["ann"])


def test_an_answer_is_one_of_its_kind(of_kind: Callable[..., Alarm], lead: Any) -> None:
    case = of_kind(Kind.QUESTION_FELL)
    with pytest.raises(services.InvalidAlertStep, match="one of real, explained"):
        services.change_alert_state(
            alert=case, state="resolved", reason="x", answer="not_his_fault", by=lead
        )
    services.change_alert_state(
        alert=case, state="resolved", reason="x", answer="explained", by=lead
    )
    case.refresh_from_db()
    assert (case.state, case.answer) == ("resolved", "explained")


@pytest.mark.django_db(transaction=True)
def test_who_answers_always_the_same_is_one_case(question: Question) -> None:
    rng = np.random.default_rng(2)
    raters = [
        Rater.objects.get_or_create(project=question.project, key=key)[0].pk
        for key in ("ann", "ben", "cleo", "dan")
    ]
    items = Item.objects.bulk_create(
        Item(project=question.project, key=f"i{number}", body={"text": "x"})
        for number in range(150)
    )
    said = []
    for item in items:
        truth = int(rng.integers(4))
        for rater in raters[:3]:
            code = truth if rng.random() < 0.9 else int(rng.integers(4))
            said.append(Judgement(item.pk, rater, code, seconds=20.0))
        said.append(Judgement(item.pk, raters[3], 1, seconds=20.0))
    record_ratings({question: said}, by=None, source="api")
    counting.update_question(question.pk)
    assert tasks.sweep_alarms() == 1
    case = Alarm.objects.get()
    assert (case.kind, case.rater and case.rater.key, case.code) == ("rater_same", "dan", 1)
    assert case.facts["category"] == Category.objects.get(question=question, code=1).label
    assert case.facts["level"] == 5000
    assert Event.objects.get().data["kind"] == "rater_same"
    record_ratings({question: [Judgement(items[0].pk, raters[0], 2)]}, by=None, source="api")
    counting.update_question(question.pk)
    tasks.sweep_alarms()
    assert Alarm.objects.get() == case


# --- nothing rings twice


def found(kind: str, about: tuple[int, ...], **fields: Any) -> AlertCandidate:
    day = datetime.date(2026, 8, 20)
    number = scan.to_day_number(day)
    row = {
        "measure": "agreement", "since": day, "since_earliest": day, "since_latest": day,
        "noticed": day, "size": 0.0, "low": 0.0, "high": 0.0, "n": 50, "n_before": 0,
        "evidence": 6000.0,
    }  # fmt: skip
    return AlertCandidate(kind, AlertPeriod(about, number, number), row | fields)


def raised(question: Question, *those: AlertCandidate) -> list[str]:
    cases = storage.create_alerts(question, those, storage.SCANNED_KINDS)
    return [case.kind for case in cases]


def test_while_a_case_of_a_rater_is_not_resolved_no_other_kind_rings(
    of_kind: Callable[..., Alarm], question: Question, lead: Any
) -> None:
    case = of_kind(Kind.RATER_SAME)
    assert case.rater_id is not None
    again = found(Kind.RATER_APART, (case.rater_id,), rater_id=case.rater_id)
    same = found(Kind.RATER_SAME, (case.rater_id,), rater_id=case.rater_id, since=case.since)
    ben = Rater.objects.create(project=question.project, key="ben")
    assert raised(question, same, again) == []
    assert raised(question, same, again, found(Kind.RATER_APART, (ben.pk,), rater_id=ben.pk)) == [
        "rater_apart"
    ]
    services.change_alert_state(alert=case, state="resolved", reason="x", answer="real", by=lead)
    assert raised(question, same, again) == ["rater_apart"]


def test_of_a_question_what_shares_its_days_is_one_cause(
    of_kind: Callable[..., Alarm], question: Question
) -> None:
    case = of_kind(Kind.QUESTION_FELL)
    fell = found(Kind.QUESTION_FELL, (0,))
    category = found(Kind.CATEGORY_COLLAPSED, (2,), code=2)
    assert raised(question, fell, category) == []
    # Today's ratings would not raise it any more: it explains nothing now.
    assert raised(question, category) == ["category_collapsed"]
    case.refresh_from_db()
    assert not case.stands
    other = found(Kind.CATEGORY_COLLAPSED, (3,), code=3)
    assert raised(question, category, other) == ["category_collapsed"]


# --- counts


def test_items_that_are_not_rated_as_often_as_they_should_be(question: Question) -> None:
    project = question.project
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={"text": "x"}, places_taken=1)
        for number in range(40)
    )
    today = datetime.date(2026, 8, 31)
    said = np.zeros(40, scan.RATING_DTYPE)
    said["item"] = [item.pk for item in items]
    said["day"] = scan.to_day_number(today) - 20
    (one,) = overlap.find_missing_ratings(question, said, today)
    assert (one.kind, one.fields["n"]) == ("overlap_behind", 40)
    assert one.fields["facts"] == {"wanted": project.overlap, "share": 1.0}
    assert overlap.find_missing_ratings(question, said, today - datetime.timedelta(days=7)) == []
    assert overlap.find_missing_ratings(question, said, today + datetime.timedelta(days=90)) == []
    assert overlap.find_missing_ratings(question, said[: overlap.MIN_ITEMS - 1], today) == []
    # Withdrawn ones are asked for no more.
    Item.objects.filter(project=project).update(withdrawn_at=timezone.now())
    assert overlap.find_missing_ratings(question, said, today) == []


def test_gold_in_doubt_is_one_case_until_there_is_more(question: Question, lead: Any) -> None:
    def doubt(number: int) -> GoldItem:
        item = Item.objects.create(project=question.project, key=f"g{number}")
        gold = GoldAnswer.objects.create(
            question=question, item=item, version=1, answer=[0], made_at=timezone.now(), by=lead
        )
        return GoldItem.objects.create(
            gold=gold, question=question, item=item, exposures=5, right=0, people=5, suspected=True
        )

    assert gold_alerts.update_gold_alerts() == 0
    first = doubt(1)
    assert gold_alerts.update_gold_alerts() == 1
    assert gold_alerts.update_gold_alerts() == 0
    second = doubt(2)
    assert gold_alerts.update_gold_alerts() == 0, "it is open"
    case = Alarm.objects.get()
    assert (case.n, case.facts) == (1, {"people": 5})
    services.change_alert_state(alert=case, state="resolved", reason="x", answer="real", by=lead)
    assert gold_alerts.update_gold_alerts() == 1
    newest = Alarm.objects.order_by("-pk")[0]
    assert newest.n == 2
    GoldItem.objects.filter(pk__in=[first.pk, second.pk]).update(suspected=False)
    assert gold_alerts.update_gold_alerts() == 0
    newest.refresh_from_db()
    assert not newest.stands


def test_a_score_that_no_coefficient_reaches_is_called_none(of_kind: Callable[..., Alarm]) -> None:
    case = of_kind(Kind.RATER_APART, size=-1.63, low=-2.01, high=-1.26)
    declared = KINDS[case.kind]
    assert "kappa" not in " ".join([declared.sentence(case), *declared.basis(case)])
    assert "-1.63" in declared.basis(case)[1]


def test_the_newest_come_first_and_of_a_day_those_that_rest_on_most(
    of_kind: Callable[..., Alarm], question: Question
) -> None:
    day = datetime.date(2026, 3, 1)
    few, many, older = (
        of_kind(
            Kind.RATER_SAME,
            n=n,
            noticed=noticed,
            rater=Rater.objects.create(project=question.project, key=key),
        )
        for key, n, noticed in (
            ("few", 38, day),
            ("many", 900, day),
            ("older", 2_000, day - datetime.timedelta(days=1)),
        )
    )
    assert list(Alarm.objects.order_by_newest()) == [many, few, older]
