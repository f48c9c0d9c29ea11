"""Test the rules that give each rater one status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from metrics.agreement.estimate import wilson_interval
from metrics.jobs.question_updates import update_question
from metrics.models import RaterResult
from projects.models import Question, Rater
from quality.alerts.kinds import KINDS
from quality.models import Alert, DriftState, GoldScore, RepeatScore
from quality.rater_status import recomputation as rater_recomputation
from quality.rater_status.rater_list import FLAGS, RaterFilter, RaterList
from quality.rater_status.reasons import ReasonCode
from quality.rater_status.status import (
    RaterSummary,
    build_undefined_value,
    is_outlier,
    list_rater_summaries,
)
from quality.rater_status.status_texts import (
    BIAS_REASONS,
    REASON_TEXTS,
    get_reason_text,
    list_other_reason_texts,
    list_reason_texts,
)
from ratings.models import Exam
from tests.cast import rate_many

pytestmark = pytest.mark.django_db


@pytest.fixture
def make_rater_result(question: Question) -> Callable[..., Rater]:
    """Return the result of a rater with this kappa with the others.

    For example ``make_rater_result("ben", 0.7, se=0.05, n_items=80)``.
    """

    def make(key: str, value: float | None, *, se: float = 0.02, n_items: int = 200) -> Rater:
        rater = Rater.objects.get_or_create(project=question.project, key=key)[0]
        peers = {
            "value": value,
            "se": None if value is None else se,
            "low": None,
            "high": None,
            "observed": None,
            "expected": None,
            "n_items": n_items,
            "n_ratings": 3 * n_items,
            "reason": "no_pairable_items" if value is None else None,
        }
        RaterResult.objects.create(
            question=question,
            rater=rater,
            n_ratings=n_items,
            coefficients={"vs_peers": peers, "vs_peers_bias": {**peers, "value": 0.0}},
            seconds=4.5,
            computed_at=timezone.now(),
        )
        return rater

    return make


def get_statuses_by_key(question: Question) -> dict[str, RaterSummary]:
    rater_recomputation.recompute_question(question.pk, at_once=True)
    return {card.rater.key: card for card in list_rater_summaries(question, scale_is_ordered=True)}


def list_codes(summary: RaterSummary) -> list[str]:
    return [reason.code.value for reason in summary.reasons]


def test_outlier_status_follows_the_alerts(
    question: Question, make_rater_result: Any, make_alert: Any
) -> None:
    """A rater far below the middle without an alert is not marked: there is only one rule."""
    for key, value in {"ann": 0.7, "ben": 0.72, "cleo": 0.68, "dan": 0.45, "eve": 0.45}.items():
        make_rater_result(key, value)
    dan = Rater.objects.get(key="dan")
    make_alert(question, dan, kind="rater_apart", measure="agreement", size=0.45)
    results = {}
    for fields in (
        {"state": "open"},
        {"state": "muted"},
        {"state": "muted", "supported": False},
        {"state": "resolved", "supported": True},
    ):
        Alert.objects.update(**fields)
        status_by_key = get_statuses_by_key(question)
        assert not status_by_key["eve"].reasons
        status_of_dan = status_by_key["dan"]
        assert is_outlier(question, dan) == any(
            reason.alert is not None and reason.alert.supported for reason in status_of_dan.reasons
        ), fields
        results[tuple(fields.values())] = (
            status_of_dan.status,
            list_codes(status_of_dan),
        )
    assert results == {
        ("open",): ("act", ["low_agreement"]),
        ("muted",): ("check", ["low_agreement"]),
        ("muted", False): ("check", ["low_agreement"]),
        ("resolved", True): ("ok", []),
    }
    assert (status_by_key["ann"].n_ratings, status_by_key["ann"].seconds) == (200, 4.5)


def test_few_items_give_unknown_status(question: Question, make_rater_result: Any) -> None:
    make_rater_result("ann", 0.7, n_items=29)
    make_rater_result("ben", None)
    assert {card.status for card in get_statuses_by_key(question).values()} == {"unknown"}


def test_open_alert_gives_act_status_until_resolved(
    question: Question, make_rater_result: Any, make_alert: Any
) -> None:
    rater = make_rater_result("ann", 0.7)
    other = make_rater_result("ben", 0.7)
    alert = make_alert(question, rater, other_rater=other, reason="cannot_tell_who")
    status_by_state = {}
    for state in ("open", "acknowledged", "muted", "resolved"):
        Alert.objects.update(state=state)
        status_by_key = get_statuses_by_key(question)
        assert status_by_key["ann"].status == status_by_key["ben"].status, "both are named"
        status_by_state[state] = status_by_key["ann"].status
    assert status_by_state == {
        "open": "act",
        "acknowledged": "act",
        "muted": "check",
        "resolved": "ok",
    }
    assert alert.pk


def test_open_alert_is_the_first_reason_before_an_older_muted_one(
    question: Question, make_rater_result: Any, make_alert: Any
) -> None:
    rater = make_rater_result("ann", 0.7)
    make_alert(question, rater, kind="rater_apart", measure="agreement", state="muted")
    newer = make_alert(question, rater, kind="rater_fast", measure="pace")
    summary = get_statuses_by_key(question)["ann"]
    assert summary.status == "act"
    assert [reason.alert == newer for reason in summary.reasons] == [True, False]


def test_missed_gold_gives_act_status(
    question: Question, make_rater_result: Any, client_for: Any, lead: Any
) -> None:
    undefined_value = build_undefined_value("too_few_items")
    for key, evidence in (("ann", 99.0), ("ben", 101.0)):
        GoldScore.objects.create(
            question=question,
            rater=make_rater_result(key, 0.7),
            n=10,
            right=2,
            accuracy=0.2,
            low=0.1,
            high=0.4,
            table=[],
            kappa={**undefined_value, "value": 0.1, "reason": None},
            evidence=evidence,
            max_evidence=evidence,
        )
    status_by_key = get_statuses_by_key(question)
    assert (status_by_key["ann"].status, status_by_key["ben"].status) == ("ok", "act")
    (reason,) = status_by_key["ben"].reasons
    assert (reason.code, reason.value, reason.low, reason.n) == ("gold", 0.2, 0.1, 10)
    assert status_by_key["ben"].gold_kappa["value"] == 0.1
    rater_url = f"/projects/{question.project_id}/raters/"
    links = {key: client_for(lead).get(f"{rater_url}{key}/").text for key in ("ann", "ben")}
    assert ["2 of 10</a>" in links[key] for key in ("ann", "ben")] == [False, True]


def test_number_of_queries_does_not_grow_with_raters(
    question: Question, django_assert_num_queries: Any, make_rater_result: Any
) -> None:
    for number in range(40):
        make_rater_result(f"r{number}", 0.7)
    with django_assert_num_queries(9):
        list_rater_summaries(question, scale_is_ordered=True)


def rate_with_a_harsh_rater(question: Question, *, shift: int) -> None:
    """Record 120 items by four raters; with a ``shift``, "hana" adds it to half of her answers.

    All raters are wrong by a category on a fifth of the items, in either direction alike.
    """
    labels = list(question.categories.values_list("label", flat=True).order_by("position"))
    rng = np.random.default_rng(5)
    ratings = []
    for item in range(120):
        truth = int(rng.integers(1, len(labels) - 1))
        for rater in ("ann", "ben", "cleo", "hana"):
            code = truth + int(rng.choice((-1, 0, 1), p=(0.1, 0.8, 0.1)))
            if rater == "hana" and item % 2:
                code = min(code + shift, len(labels) - 1)
            ratings.append((f"i{item}", rater, labels[code]))
    rate_many(question, ratings)
    update_question(question.pk)


def test_rater_on_another_level_is_checked(question: Question) -> None:
    """The harsh rater is named with the size; those who seem lenient beside her are not."""
    rate_with_a_harsh_rater(question, shift=1)
    statuses = get_statuses_by_key(question)
    (reason,) = statuses["hana"].reasons
    assert (reason.code, reason.status, reason.n) == ("harsh", "check", 120)
    bias = statuses["hana"].bias
    assert bias is not None
    assert (reason.value, reason.low, reason.high) == (bias["value"], bias["low"], bias["high"])
    assert 0.3 < bias["value"] < 0.6
    for key in ("ann", "ben", "cleo"):
        assert not statuses[key].reasons
        seeming_bias = statuses[key].bias
        assert seeming_bias is not None and seeming_bias["high"] < 0


def test_raters_who_repeat_one_answer_do_not_make_others_look_harsh(question: Question) -> None:
    """Eve rates as ann, ben and cleo do, but mostly beside two who always give the lowest answer."""
    labels = list(question.categories.values_list("label", flat=True).order_by("position"))
    rng = np.random.default_rng(7)
    ratings = []
    for item in range(360):
        is_beside_eve = item % 3 == 0
        truth = int(rng.integers(1, len(labels))) if is_beside_eve else int(rng.random() < 0.35)
        careful = ("eve", "ann") if is_beside_eve and item % 4 == 0 else ("eve",)
        for rater in careful if is_beside_eve else ("ann", "ben", "cleo"):
            ratings.append((f"i{item}", rater, labels[truth]))
        ratings += [(f"i{item}", rater, labels[0]) for rater in ("lea", "lin")]
    rate_many(question, ratings)
    update_question(question.pk)
    statuses = get_statuses_by_key(question)
    assert statuses["eve"].bias is not None and statuses["eve"].bias["low"] > 0.5
    assert not {"harsh", "lenient"}.intersection(
        reason.code for summary in statuses.values() for reason in summary.reasons
    )
    assert "same_answer" in list_codes(statuses["lea"])


@pytest.mark.parametrize(
    ("labels", "code"),
    [
        (["none", "minor", "major", "critical"], "harsh"),
        (["not toxic", "unclear", "toxic", "very toxic"], "harsh"),
        (["无", "轻微", "严重", "致命"], "harsh"),
        (["excellent", "good", "fair", "poor"], "harsh"),
        (["poor", "fair", "good", "excellent"], "lenient"),
        (["fatal", "severe", "mild", "clean"], "lenient"),
        (["not relevant", "no idea", "relevant", "very relevant"], "lenient"),
        (["1", "2", "3", "4"], "higher"),
        (["G", "P", "R", "X"], "higher"),
        (["mild", "spicy", "hot", "mild again"], "higher"),
    ],
)
def test_labels_tell_whether_higher_answers_are_harsh(
    question: Question, labels: list[str], code: str
) -> None:
    for category, label in zip(question.categories.order_by("position"), labels, strict=True):
        category.label = label
        category.save()
    rate_with_a_harsh_rater(question, shift=1)
    assert list_codes(get_statuses_by_key(question)["hana"]) == [code]


def rate_with_a_last_rater(question: Question, answer: Callable[[int], int]) -> None:
    """Record 150 items by five raters; "otto" gives ``answer`` of the true category (0 to 3)."""
    labels = list(question.categories.values_list("label", flat=True).order_by("position"))
    rng = np.random.default_rng(7)
    ratings = []
    for item in range(150):
        truth = int(rng.integers(len(labels)))
        for rater in ("ann", "ben", "cleo", "dan", "otto"):
            code = truth + int(rng.choice((-1, 0, 1), p=(0.1, 0.8, 0.1)))
            code = answer(code) if rater == "otto" else code
            ratings.append((f"i{item}", rater, labels[min(max(code, 0), len(labels) - 1)]))
    rate_many(question, ratings)
    update_question(question.pk)


def test_rater_with_opposite_answers_has_a_reason_of_its_own(
    question: Question, make_alert: Any
) -> None:
    """It comes first, as severe as the alert about the low agreement, and nobody else has it."""
    rate_with_a_last_rater(question, lambda code: 3 - code)
    summaries = get_statuses_by_key(question)
    otto = summaries["otto"]
    assert (otto.status, list_codes(otto)) == ("check", ["reversed"])
    assert otto.reasons[0].high is not None and otto.reasons[0].high < -0.5
    assert {key for key, summary in summaries.items() if "reversed" in list_codes(summary)} == {
        "otto"
    }
    make_alert(question, otto.rater, kind="rater_apart", measure="agreement", size=-0.7)
    otto = get_statuses_by_key(question)["otto"]
    assert (otto.status, list_codes(otto)) == ("act", ["reversed", "low_agreement"])
    assert [rater.key for rater in RaterList(question).select(RaterFilter(flag="reversed"))] == [
        "otto"
    ]


def test_pages_of_a_reversed_rater_lead_with_the_reversal(
    question: Question, make_alert: Any, client_for: Any, lead: User
) -> None:
    """Neither the title of the alert nor a bias, which the reversal explains, is shown."""
    rate_with_a_last_rater(question, lambda code: 3 - code)
    otto = get_statuses_by_key(question)["otto"].rater
    alert = make_alert(question, otto, kind="rater_apart", measure="agreement", size=-0.7)
    client, project_url = client_for(lead), f"/projects/{question.project_id}/"
    for path in ("raters/otto/", "raters/", f"alerts/{alert.pk}/"):
        html = client.get(project_url + path).content.decode()
        assert "answers the scale upside down" in html, path
        assert "agrees far less" not in html, path
    html = client.get(project_url + "raters/otto/").content.decode()
    assert "Bias over time" not in html and "Agrees far less" not in html
    assert "Bias over time" in client.get(project_url + "raters/ann/").content.decode()


@pytest.mark.parametrize(
    "answer",
    [lambda code: code + 2, lambda code: 3, lambda code: (7 * code + 5) % 4, lambda code: code],
    ids=["strong bias", "one answer", "permuted labels", "agrees"],
)
def test_other_raters_do_not_answer_opposite(
    question: Question, answer: Callable[[int], int]
) -> None:
    rate_with_a_last_rater(question, answer)
    for summary in get_statuses_by_key(question).values():
        assert "reversed" not in list_codes(summary), summary.rater.key


@pytest.mark.parametrize("kind", ["rater_apart", "newcomer_below"])
def test_alert_about_opposite_answers_says_so(
    question: Question, make_alert: Any, kind: str
) -> None:
    rate_with_a_last_rater(question, lambda code: 3 - code)
    otto = get_statuses_by_key(question)["otto"].rater
    alert = make_alert(question, otto, kind=kind, measure="agreement", size=-0.7)
    assert KINDS[kind].explanations(alert)[0].startswith("Opposite answers")


def test_alert_about_low_agreement_suggests_no_reversal(
    question: Question, make_alert: Any
) -> None:
    rate_with_a_last_rater(question, lambda code: (7 * code + 5) % 4)
    otto = get_statuses_by_key(question)["otto"].rater
    alert = make_alert(question, otto, kind="rater_apart", measure="agreement", size=0.0)
    assert not any("opposite" in text for text in KINDS["rater_apart"].explanations(alert))


@pytest.mark.parametrize(("n_labels", "expected"), [(2, True), (4, False)])
def test_labels_without_an_order_have_an_opposite_only_if_there_are_two(
    question: Question, n_labels: int, expected: bool
) -> None:
    question.categories.filter(position__gte=n_labels).delete()
    Question.objects.filter(pk=question.pk).update(scale="nominal", weights="none")
    question.refresh_from_db()
    rate_with_a_last_rater(question, lambda code: n_labels - 1 - min(max(code, 0), n_labels - 1))
    assert ("reversed" in list_codes(get_statuses_by_key(question)["otto"])) == expected


def test_failed_exam_is_a_reason_until_another_attempt(
    question: Question, make_rater_result: Any
) -> None:
    """The latest attempt counts, and answers to gold that was retired do not."""
    rater = make_rater_result("ann", 0.7)
    answers = [[1, 0, True, 5], [2, 1, False, 6], [3, 1, False, 7], [4, 0, None, 8]]
    now = timezone.now()
    attempt: dict[str, Any] = {
        "question": question,
        "rater": rater,
        "started_at": now,
        "ended_at": now,
    }
    Exam.objects.create(number=1, state="failed", answers=answers, **attempt)
    summary = get_statuses_by_key(question)["ann"]
    (reason,) = summary.reasons
    assert (summary.status, reason.code, reason.n) == ("check", "exam", 3)
    assert reason.value == pytest.approx(1 / 3)
    assert get_reason_text(reason, rater.pk) == "Exam not passed"
    Exam.objects.create(number=2, state="waived", **attempt)
    assert get_statuses_by_key(question)["ann"].status == "ok"


def test_newcomer_below_the_team_has_a_reason_of_its_own(
    question: Question, make_rater_result: Any, make_alert: Any
) -> None:
    rater = make_rater_result("ann", 0.3)
    make_alert(question, rater, kind="newcomer_below", measure="agreement", size=0.3)
    assert list_codes(get_statuses_by_key(question)["ann"]) == ["newcomer"]


def test_raters_on_one_level_are_ok(question: Question) -> None:
    rate_with_a_harsh_rater(question, shift=0)
    assert {summary.status for summary in get_statuses_by_key(question).values()} == {"ok"}


def test_list_and_summaries_name_the_same_raters(question: Question) -> None:
    """The list shows the statuses of the API, in the same order, and filters by the reason."""
    rate_with_a_harsh_rater(question, shift=1)
    summaries = get_statuses_by_key(question)
    listed = RaterList(question).select(RaterFilter())
    ranked = sorted(summaries.values(), key=lambda summary: summary.rank)
    assert [(rater.key, rater.status) for rater in listed][:1] == [("hana", "check")]
    assert [(rater.key, rater.status) for rater in listed] == [
        (summary.rater.key, summary.status) for summary in ranked
    ]
    assert [rater.key for rater in RaterList(question).select(RaterFilter(flag="harsh"))] == [
        "hana"
    ]


def test_inconsistent_rater_is_checked(question: Question, make_rater_result: Any) -> None:
    """Of raters who answered repeated items, the one who often answers differently is named."""
    for key, same in {"ann": 37, "ben": 36, "cleo": 38, "dan": 18}.items():
        low, high = wilson_interval(same, 40)
        RepeatScore.objects.create(
            question=question,
            rater=make_rater_result(key, 0.7),
            n=40,
            same=same,
            low=low,
            high=high,
            table=[[same // 2, 40 - same], [0, same - same // 2]],
            kappa=build_undefined_value("too_few_items"),
        )
    statuses = get_statuses_by_key(question)
    (reason,) = statuses["dan"].reasons
    assert (reason.code, reason.status, reason.value, reason.n) == ("self", "check", 0.45, 40)
    assert not any(statuses[key].reasons for key in ("ann", "ben", "cleo"))
    assert [rater.key for rater in RaterList(question).select(RaterFilter(flag="self"))] == ["dan"]


@pytest.mark.parametrize("is_watched", [True, False])
def test_possible_drift_is_a_reason_where_the_rater_is_watched(
    is_watched: bool, question: Question, make_rater_result: Any
) -> None:
    rater = make_rater_result("ann", 0.7)
    DriftState.objects.create(
        question=question, rater=rater, evidence=240.0, max_evidence=260.0, watched=is_watched, n=90
    )
    texts = list_other_reason_texts(get_statuses_by_key(question)["ann"])
    assert ("may be drifting (too little evidence for an alert)" in texts) == is_watched


@pytest.mark.parametrize("state", ["open", "muted", "resolved"])
def test_reason_without_details_says_whether_an_alert_is_open(
    state: str, question: Question, make_rater_result: Any, make_alert: Any
) -> None:
    rater = make_rater_result("ann", 0.3)
    make_alert(question, rater, kind="rater_apart", measure="agreement", size=0.3, state=state)
    texts = list_reason_texts(get_statuses_by_key(question)["ann"])
    assert ("has an open alert" in texts) == (state == "open")
    assert ("has a muted alert" in texts) == (state == "muted")


def test_each_reason_has_a_text_and_a_filter() -> None:
    of_alerts_alone = {ReasonCode.NEWCOMER, ReasonCode.TOO_FAST, ReasonCode.COPIES}
    assert set(ReasonCode) - of_alerts_alone == {*REASON_TEXTS, *BIAS_REASONS}, (
        "add the text of a new reason to REASON_TEXTS in quality/rater_status/status_texts.py"
    )
    assert {code.value for code in ReasonCode} <= set(FLAGS), (
        "add the filter chip of a new reason to FLAGS in quality/rater_status/rater_list.py"
    )
