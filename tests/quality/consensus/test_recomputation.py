"""Test that labels match the formulas for the current ratings and follow them."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from metrics.agreement import consensus as formulas
from metrics.jobs import question_updates
from projects.models import Item, Question, Rater
from projects.services.gold import retire_gold_answer, set_gold_answer
from quality import tasks
from quality.consensus import recomputation, storage
from quality.models import Consensus, ConsensusMethod, ItemLabel, RaterConfusion
from quality.review.decisions import create_decision
from ratings.models import Rating

pytestmark = pytest.mark.django_db(transaction=True)


def get_label(question: Question, key: str) -> ItemLabel:
    return ItemLabel.objects.get(question=question, item__key=key)


def fit_expected(question: Question) -> formulas.DawidSkene:
    """Fit the model to all current ratings of people."""
    rows = Rating.objects.filter(question=question, code__gte=0, rater__kind="human")
    item, rater, code = np.array(list(rows.values_list("item_id", "rater_id", "code"))).T
    return formulas.fit_dawid_skene(item, rater, code, 4)


def assert_labels_match_model(question: Question) -> None:
    """Assert that exactly the labels of the model are stored."""
    fit = fit_expected(question)
    rows = {row.item_id: row for row in ItemLabel.objects.filter(question=question)}
    assert sorted(rows) == fit.items.tolist()
    medians = formulas.posterior_medians(fit.posterior)
    for index, item in enumerate(fit.items.tolist()):
        assert rows[item].distribution == pytest.approx(fit.posterior[index], abs=2e-6)
        assert rows[item].code == medians[index]
        assert rows[item].confidence == pytest.approx(
            fit.posterior[index, medians[index]], abs=2e-6
        )
        confidence = rows[item].confidence
        assert confidence is not None
        assert rows[item].doubt == pytest.approx(1 - confidence)


def test_labels_match_the_model_and_follow_the_ratings(
    rated_question: Question, rate: Callable[..., Any]
) -> None:
    assert tasks.sweep_labels_and_queues() == 1
    assert_labels_match_model(rated_question)
    assert tasks.sweep_labels_and_queues() == 0, "nothing changed"
    state = Consensus.objects.get()
    assert (state.n_items, state.method, state.reason) == (
        ItemLabel.objects.count(),
        ConsensusMethod.DAWID_SKENE,
        "",
    )
    confidences = [row.confidence for row in ItemLabel.objects.all() if row.confidence is not None]
    assert len(confidences) == state.n_items
    assert state.expected_errors == pytest.approx(len(confidences) - sum(confidences))
    rate(rated_question, "i00", "ann", None)
    rate(rated_question, "new", "ann", "major")
    question_updates.update_question(rated_question.pk)
    Consensus.objects.update(computed_at=timezone.now() - datetime.timedelta(hours=1))
    assert tasks.sweep_labels_and_queues() == 1
    assert_labels_match_model(rated_question)


def test_item_with_withdrawn_ratings_has_no_label(
    rated_question: Question, rate: Callable[..., Any]
) -> None:
    recomputation.recompute_question(rated_question.pk)
    for rater in Rater.objects.filter(ratings__item__key="i01"):
        rate(rated_question, "i01", rater.key, None)
    question_updates.update_question(rated_question.pk)
    recomputation.recompute_question(rated_question.pk, at_once=True)
    assert not ItemLabel.objects.filter(item__key="i01").exists()
    assert_labels_match_model(rated_question)


def test_recomputation_waits_for_the_rest_time(
    rated_question: Question, rate: Callable[..., Any]
) -> None:
    tasks.sweep_labels_and_queues()
    Consensus.objects.update(duration_seconds=1000)
    rate(rated_question, "i00", "ann", None)
    question_updates.update_question(rated_question.pk)
    assert recomputation.list_outdated_questions() == [rated_question.pk]
    assert tasks.sweep_labels_and_queues() == 0
    Consensus.objects.update(computed_at=timezone.now() - recomputation.MAX_PAUSE)
    assert tasks.sweep_labels_and_queues() == 1


def test_labels_leased_by_another_worker_are_skipped(rated_question: Question) -> None:
    until = timezone.now() + datetime.timedelta(minutes=1)
    Consensus.objects.create(question=rated_question, lease="other", leased_until=until)
    assert tasks.sweep_labels_and_queues() == 0
    assert not ItemLabel.objects.exists()


def test_models_are_excluded_unless_the_lead_includes_them(rated_question: Question) -> None:
    Rater.objects.filter(key="dan").update(kind=Rater.Kind.MODEL)
    recomputation.recompute_question(rated_question.pk, at_once=True)
    assert_labels_match_model(rated_question)
    assert set(RaterConfusion.objects.values_list("rater__key", flat=True)) == {
        "ann",
        "ben",
        "cleo",
    }
    Consensus.objects.update(with_models=True)
    assert recomputation.list_outdated_questions() == [rated_question.pk]
    recomputation.recompute_question(rated_question.pk, at_once=True)
    assert RaterConfusion.objects.filter(rater__key="dan").exists()


def test_rater_confusions_follow_the_ratings(
    rated_question: Question, rate: Callable[..., Any]
) -> None:
    recomputation.recompute_question(rated_question.pk)
    before = RaterConfusion.objects.get(rater__key="dan")
    for rating in Rating.objects.filter(rater__key="ann").select_related("item"):
        rate(rated_question, rating.item.key, "ann", None)
    question_updates.update_question(rated_question.pk)
    recomputation.recompute_question(rated_question.pk, at_once=True)
    fit = fit_expected(rated_question)
    rows = {row.rater_id: row for row in RaterConfusion.objects.all()}
    assert sorted(rows) == fit.raters.tolist(), "ann has no confusion matrix any more"
    for index, rater in enumerate(fit.raters.tolist()):
        assert np.array(rows[rater].confusion) == pytest.approx(fit.confusion[index])
    assert RaterConfusion.objects.get(pk=before.pk).accuracy != before.accuracy


@pytest.mark.parametrize("method", ConsensusMethod.values)
@pytest.mark.parametrize(("scale", "power"), [("nominal", 0), ("ordinal", 2)])
def test_impact_of_a_rater_follows_from_the_labels(
    rated_question: Question, lead: User, method: str, scale: str, power: int
) -> None:
    """The sum of P x disagreement, with P of the stored label, also of decisions and gold.

    On a nominal scale it is 1 - P(own answer); ordinal labels have quadratic weights.
    """
    Question.objects.update(scale=scale)
    rated_question.refresh_from_db()
    decided, gold = Item.objects.filter(project=rated_question.project).order_by("key")[:2]
    create_decision(question=rated_question, item=decided, code=3, reason="x", by=lead)
    set_gold_answer(question=rated_question, item=gold, answer=[3], by=lead)
    Consensus.objects.update_or_create(question=rated_question, defaults={"method": method})
    recomputation.recompute_question(rated_question.pk, at_once=True)
    labels = {row.item_id: row for row in ItemLabel.objects.all()}
    assert {labels[decided.pk].distribution[3], labels[gold.pk].distribution[3]} == {1.0}
    errors, impacts, n_ratings = Counter[int](), Counter[int](), Counter[int]()
    for rating in Rating.objects.filter(question=rated_question, code__gte=0):
        n_ratings[rating.rater_id] += 1
        shares = labels[rating.item_id].distribution
        errors[rating.rater_id] += 1 - shares[rating.code]
        impacts[rating.rater_id] += sum(
            share * (abs(code - rating.code) / 3) ** power
            for code, share in enumerate(shares)
            if code != rating.code
        )
    rows = RaterConfusion.objects.all()
    assert {row.rater_id: row.impact for row in rows} == pytest.approx(impacts, abs=1e-4)
    for row in rows:
        assert 0 < row.impact < n_ratings[row.rater_id]
        assert row.accuracy == pytest.approx(1 - errors[row.rater_id] / n_ratings[row.rater_id])
        assert bool(row.confusion) == (method == ConsensusMethod.DAWID_SKENE)


@pytest.mark.parametrize("tolerance", [0.0, 1.0])
def test_rater_one_step_off_has_less_impact_than_a_random_one(
    question: Question, lead: User, rate: Callable[..., Any], tolerance: float
) -> None:
    """On an ordered scale, and none at all where gold answers tolerate one step."""
    labels = ["none", "minor", "major", "critical"]
    Question.objects.update(gold_tolerance=tolerance)
    for number in range(40):
        truth = number % 4
        answers = dict.fromkeys(("ann", "bea", "cleo"), truth)
        answers |= {"step": truth + 1 if truth < 3 else 2, "random": (number * 7 // 4) % 4}
        for rater, code in answers.items():
            rate(question, f"i{number:02}", rater, labels[code])
    for item, label in ((Item.objects.get(key=f"i{n:02}"), n % 4) for n in range(40)):
        set_gold_answer(item=item, question=question, answer=[label], by=lead)
    question_updates.update_question(question.pk)
    recomputation.recompute_question(question.pk, at_once=True)
    rows = {row.rater.key: row for row in RaterConfusion.objects.select_related("rater")}
    assert rows["step"].impact == pytest.approx(0.0 if tolerance else 40 / 9)
    assert rows["random"].impact > 5
    assert rows["step"].accuracy < rows["random"].accuracy
    assert rows["ann"].impact == 0


@pytest.mark.parametrize("method", [ConsensusMethod.MAJORITY, ConsensusMethod.WEIGHTED])
def test_majority_has_no_confidence_and_reports_ties(
    question: Question, rate: Callable[..., Any], method: str
) -> None:
    for rater, label in {"a": "none", "b": "none", "c": "major"}.items():
        rate(question, "clear", rater, label)
    for rater, label in {"a": "none", "b": "major"}.items():
        rate(question, "tied", rater, label)
    rate(question, "single", "a", "minor")
    question_updates.update_question(question.pk)
    Consensus.objects.create(question=question, method=method)
    recomputation.recompute_question(question.pk, at_once=True)
    clear_label = get_label(question, "clear")
    assert (clear_label.code, clear_label.confidence, clear_label.distribution) == (
        0,
        None,
        [2 / 3, 0.0, 1 / 3, 0.0],
    )
    assert clear_label.doubt == pytest.approx(1 / 3)
    assert get_label(question, "single").code == 1
    if method == ConsensusMethod.MAJORITY:
        tied_label = get_label(question, "tied")
        assert (tied_label.code, tied_label.reason, tied_label.doubt) == (None, "tied", 1.0)
    assert Consensus.objects.get().expected_errors is None


def test_single_rater_gives_no_confidence(question: Question, rate: Callable[..., Any]) -> None:
    rate(question, "i1", "a", "none")
    rate(question, "i2", "a", "major")
    question_updates.update_question(question.pk)
    recomputation.recompute_question(question.pk)
    assert Consensus.objects.get().reason == "no_pairable_items"
    assert [row.code for row in ItemLabel.objects.order_by("item")] == [0, 2]
    assert set(ItemLabel.objects.values_list("confidence", flat=True)) == {None}


def test_question_without_ratings_has_no_labels(
    question: Question, rate: Callable[..., Any]
) -> None:
    rate(question, "i1", "a", "none")
    rate(question, "i1", "a", None)
    question_updates.update_question(question.pk)
    recomputation.recompute_question(question.pk)
    assert not ItemLabel.objects.exists()
    assert Consensus.objects.get().n_items == 0


def test_gold_overrides_ratings_and_decision_overrides_gold(
    rated_question: Question, lead: Any
) -> None:
    items = {item.key: item for item in Item.objects.all()}
    unrated = Item.objects.create(project=rated_question.project, key="unrated", body={"text": "x"})
    set_gold_answer(item=items["i01"], question=rated_question, answer=[3], by=lead)
    set_gold_answer(item=items["i02"], question=rated_question, answer=[0, 1], by=lead)
    set_gold_answer(item=unrated, question=rated_question, answer=[2], by=lead)
    recomputation.recompute_question(rated_question.pk)
    label = get_label(rated_question, "i01")
    assert (label.code, label.source, label.confidence) == (3, "gold", 1.0)
    assert get_label(rated_question, "i02").source == "consensus", "two categories are allowed"
    assert (
        get_label(rated_question, "unrated").code,
        get_label(rated_question, "unrated").n_ratings,
    ) == (2, 0)
    create_decision(question=rated_question, item=items["i01"], code=1, by=lead)
    recomputation.recompute_question(rated_question.pk, at_once=True)
    assert (get_label(rated_question, "i01").code, get_label(rated_question, "i01").source) == (
        1,
        "decision",
    )
    retire_gold_answer(item=unrated, question=rated_question, by=lead)
    assert recomputation.list_outdated_questions() == [rated_question.pk]
    recomputation.recompute_question(rated_question.pk, at_once=True)
    assert not ItemLabel.objects.filter(item=unrated).exists()


def test_settings_changed_during_computation_are_kept(
    rated_question: Question, monkeypatch: pytest.MonkeyPatch, lead: Any
) -> None:
    original_fit = recomputation.fit_labels

    def choose_meanwhile(*arguments: Any, **options: Any) -> Any:
        storage.set_method(
            question=rated_question, method=ConsensusMethod.MAJORITY, with_models=True, by=lead
        )
        return original_fit(*arguments, **options)

    monkeypatch.setattr(recomputation, "fit_labels", choose_meanwhile)
    recomputation.recompute_question(rated_question.pk)
    state = Consensus.objects.get()
    assert (state.method, state.with_models) == (ConsensusMethod.MAJORITY, True)
    assert recomputation.list_outdated_questions() == [rated_question.pk]


def test_worker_without_lease_writes_nothing(
    rated_question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    original_fit = recomputation.fit_labels

    def lose_lease(*arguments: Any, **options: Any) -> Any:
        Consensus.objects.update(lease="another worker")
        return original_fit(*arguments, **options)

    monkeypatch.setattr(recomputation, "fit_labels", lose_lease)
    assert not recomputation.recompute_question(rated_question.pk)
    assert not ItemLabel.objects.exists()
    assert Consensus.objects.get().computed_at is None


def test_decision_made_during_computation_is_kept(
    rated_question: Question, lead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = Item.objects.get(key="i05")
    original_fit = recomputation.fit_labels

    def decide_meanwhile(*arguments: Any, **options: Any) -> Any:
        labels = original_fit(*arguments, **options)
        create_decision(question=rated_question, item=item, code=3, by=lead)
        return labels

    monkeypatch.setattr(recomputation, "fit_labels", decide_meanwhile)
    recomputation.recompute_question(rated_question.pk)
    label = get_label(rated_question, "i05")
    assert (label.code, label.source, label.confidence) == (3, "decision", 1.0)
    assert recomputation.list_outdated_questions() == [rated_question.pk], (
        "the others do not know of it yet"
    )


def test_labels_are_calibrated_on_gold_answers(
    question: Question, rate: Callable[..., Any], lead: Any, client_for: Any
) -> None:
    """On every third gold item everybody gives the same wrong answer; confidences follow.

    The page says what they are based on.
    """
    labels = ["none", "minor", "major", "critical"]
    for number in range(60):
        truth = number % 4
        wrong = (truth + 1) % 4
        for rater in ("ann", "bea", "cleo"):
            rate(question, f"i{number:02}", rater, labels[wrong if number % 3 == 0 else truth])
    question_updates.update_question(question.pk)
    recomputation.recompute_question(question.pk)
    before = Consensus.objects.get()
    page = f"/projects/{question.project_id}/labels/"
    assert before.expected_errors is not None
    assert (before.model["gold_items"], before.expected_errors < 6) == (0, True)
    html = client_for(lead).get(page).text
    assert "Without gold answers for 30 items" in html
    assert "This assumes independent errors." in html
    assert ("fewer than 1 of" in html) == (before.expected_errors <= 0.5)
    categories = list(question.categories.order_by("position"))
    for number in range(30):
        item = Item.objects.get(key=f"i{number:02}")
        code = categories[number % 4].code
        set_gold_answer(item=item, question=question, answer=[code], by=lead)
    recomputation.recompute_question(question.pk, at_once=True)
    after = Consensus.objects.get()
    assert after.model["gold_items"] == 30
    assert after.model["tempering"] < 1
    assert after.expected_errors is not None
    assert after.expected_errors > before.expected_errors
    confidence = get_label(question, "i45").confidence
    assert confidence is not None
    assert confidence < 0.95
    for label in ItemLabel.objects.filter(source="consensus"):
        assert label.confidence == pytest.approx(max(label.distribution))
        assert sum(label.distribution) == pytest.approx(1)
    html = client_for(lead).get(page).text
    assert "gold answers of 30 items, for" in html
    assert f"Expected errors: about {round(after.expected_errors)} of" in " ".join(html.split())
    assert "This assumes independent errors." not in html
