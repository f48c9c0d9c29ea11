"""Labels are what the formulas say of the standing ratings, and follow them."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from metrics.agreement import consensus as formulas
from metrics.jobs import question_updates
from projects.models import Item, Question, Rater
from projects.services.items.gold import retire_gold_answer, set_gold_answer
from quality import tasks
from quality.consensus import input_version, recompute, settings
from quality.models import Consensus, ItemLabel, Method, RaterConfusion
from quality.review.decisions import create_decision
from ratings.models import Rating

pytestmark = pytest.mark.django_db(transaction=True)


def label_of(question: Question, key: str) -> ItemLabel:
    return ItemLabel.objects.get(question=question, item__key=key)


def expected(question: Question) -> formulas.DawidSkene:
    """The model of all standing ratings of people."""
    rows = Rating.objects.filter(question=question, code__gte=0, rater__kind="human")
    item, rater, code = np.array(list(rows.values_list("item_id", "rater_id", "code"))).T
    return formulas.fit_dawid_skene(item, rater, code, 4)


def check(question: Question) -> None:
    """Every stored label is that of the model; nothing beside them is stored."""
    found = expected(question)
    rows = {row.item_id: row for row in ItemLabel.objects.filter(question=question)}
    assert sorted(rows) == found.items.tolist()
    medians = formulas.posterior_medians(found.posterior)
    for place, item in enumerate(found.items.tolist()):
        assert rows[item].shares == pytest.approx(found.posterior[place], abs=2e-6)
        assert rows[item].code == medians[place]
        assert rows[item].confidence == pytest.approx(
            found.posterior[place, medians[place]], abs=2e-6
        )
        confidence = rows[item].confidence
        assert confidence is not None
        assert rows[item].doubt == pytest.approx(1 - confidence)


def test_labels_are_those_of_the_model_and_follow_the_ratings(
    answered: Question, rate: Callable[..., Any]
) -> None:
    assert tasks.sweep_all() == 1
    check(answered)
    assert tasks.sweep_all() == 0, "nothing changed"
    state = Consensus.objects.get()
    assert (state.n_items, state.method, state.reason) == (
        ItemLabel.objects.count(),
        Method.DAWID_SKENE,
        "",
    )
    sure = [row.confidence for row in ItemLabel.objects.all() if row.confidence is not None]
    assert len(sure) == state.n_items
    assert state.expected_errors == pytest.approx(len(sure) - sum(sure))
    rate(answered, "i00", "ann", None)
    rate(answered, "new", "ann", "major")
    question_updates.update_question(answered.pk)
    Consensus.objects.update(made_at=timezone.now() - datetime.timedelta(hours=1))
    assert tasks.sweep_all() == 1
    check(answered)


def test_an_item_whose_ratings_were_withdrawn_has_no_label(
    answered: Question, rate: Callable[..., Any]
) -> None:
    recompute.recompute_question(answered.pk)
    for rater in Rater.objects.filter(ratings__item__key="i01"):
        rate(answered, "i01", rater.key, None)
    question_updates.update_question(answered.pk)
    recompute.recompute_question(answered.pk, at_once=True)
    assert not ItemLabel.objects.filter(item__key="i01").exists()
    check(answered)


def test_a_question_rests_after_its_labels_were_made(
    answered: Question, rate: Callable[..., Any]
) -> None:
    tasks.sweep_all()
    Consensus.objects.update(seconds=1000)
    rate(answered, "i00", "ann", None)
    question_updates.update_question(answered.pk)
    assert input_version.list_outdated_questions() == [answered.pk]
    assert tasks.sweep_all() == 0
    Consensus.objects.update(made_at=timezone.now() - recompute.MAX_PAUSE)
    assert tasks.sweep_all() == 1


def test_while_another_worker_makes_them_this_one_does_not(answered: Question) -> None:
    until = timezone.now() + datetime.timedelta(minutes=1)
    Consensus.objects.create(question=answered, lease="other", leased_until=until)
    assert tasks.sweep_all() == 0
    assert not ItemLabel.objects.exists()


def test_models_are_left_out_unless_the_lead_counts_them(answered: Question) -> None:
    Rater.objects.filter(key="dan").update(kind=Rater.Kind.MODEL)
    recompute.recompute_question(answered.pk, at_once=True)
    check(answered)
    assert set(RaterConfusion.objects.values_list("rater__key", flat=True)) == {
        "ann",
        "ben",
        "cleo",
    }
    Consensus.objects.update(with_models=True)
    assert input_version.list_outdated_questions() == [answered.pk]
    recompute.recompute_question(answered.pk, at_once=True)
    assert RaterConfusion.objects.filter(rater__key="dan").exists()


def test_habits_follow_the_ratings(answered: Question, rate: Callable[..., Any]) -> None:
    recompute.recompute_question(answered.pk)
    before = RaterConfusion.objects.get(rater__key="dan")
    for rating in Rating.objects.filter(rater__key="ann").select_related("item"):
        rate(answered, rating.item.key, "ann", None)
    question_updates.update_question(answered.pk)
    recompute.recompute_question(answered.pk, at_once=True)
    found = expected(answered)
    rows = {row.rater_id: row for row in RaterConfusion.objects.all()}
    assert sorted(rows) == found.raters.tolist(), "ann has no habits any more"
    for place, rater in enumerate(found.raters.tolist()):
        assert rows[rater].accuracy == pytest.approx(found.accuracy[place])
        assert np.array(rows[rater].confusion) == pytest.approx(found.confusion[place])
    assert RaterConfusion.objects.get(pk=before.pk).accuracy != before.accuracy


@pytest.mark.parametrize("method", [Method.MAJORITY, Method.WEIGHTED])
def test_a_majority_knows_no_certainty_and_names_ties(
    question: Question, rate: Callable[..., Any], method: str
) -> None:
    for rater, label in {"a": "none", "b": "none", "c": "major"}.items():
        rate(question, "clear", rater, label)
    for rater, label in {"a": "none", "b": "major"}.items():
        rate(question, "tied", rater, label)
    rate(question, "single", "a", "minor")
    question_updates.update_question(question.pk)
    Consensus.objects.create(question=question, method=method)
    recompute.recompute_question(question.pk, at_once=True)
    clear = label_of(question, "clear")
    assert (clear.code, clear.confidence, clear.shares) == (0, None, [2 / 3, 0.0, 1 / 3, 0.0])
    assert clear.doubt == pytest.approx(1 / 3)
    assert label_of(question, "single").code == 1
    if method == Method.MAJORITY:
        tied = label_of(question, "tied")
        assert (tied.code, tied.reason, tied.doubt) == (None, "tied", 1.0)
    assert Consensus.objects.get().expected_errors is None


def test_one_rater_alone_gives_no_certainty(question: Question, rate: Callable[..., Any]) -> None:
    rate(question, "i1", "a", "none")
    rate(question, "i2", "a", "major")
    question_updates.update_question(question.pk)
    recompute.recompute_question(question.pk)
    assert Consensus.objects.get().reason == "no_pairable_items"
    assert [row.code for row in ItemLabel.objects.order_by("item")] == [0, 2]
    assert set(ItemLabel.objects.values_list("confidence", flat=True)) == {None}


def test_nothing_rated_has_no_labels(question: Question, rate: Callable[..., Any]) -> None:
    rate(question, "i1", "a", "none")
    rate(question, "i1", "a", None)
    question_updates.update_question(question.pk)
    recompute.recompute_question(question.pk)
    assert not ItemLabel.objects.exists()
    assert Consensus.objects.get().n_items == 0


def test_a_gold_answer_stands_above_the_ratings_and_below_a_decision(
    answered: Question, lead: Any
) -> None:
    items = {item.key: item for item in Item.objects.all()}
    unrated = Item.objects.create(project=answered.project, key="unrated", body={"text": "x"})
    set_gold_answer(item=items["i01"], question=answered, answer=[3], by=lead)
    set_gold_answer(item=items["i02"], question=answered, answer=[0, 1], by=lead)
    set_gold_answer(item=unrated, question=answered, answer=[2], by=lead)
    recompute.recompute_question(answered.pk)
    one = label_of(answered, "i01")
    assert (one.code, one.source, one.confidence) == (3, "gold", 1.0)
    assert label_of(answered, "i02").source == "consensus", "two categories are allowed"
    assert (label_of(answered, "unrated").code, label_of(answered, "unrated").n_ratings) == (2, 0)
    create_decision(question=answered, item=items["i01"], code=1, by=lead)
    recompute.recompute_question(answered.pk, at_once=True)
    assert (label_of(answered, "i01").code, label_of(answered, "i01").source) == (1, "decision")
    retire_gold_answer(item=unrated, question=answered, by=lead)
    assert input_version.list_outdated_questions() == [answered.pk]
    recompute.recompute_question(answered.pk, at_once=True)
    assert not ItemLabel.objects.filter(item=unrated).exists()


def test_what_the_lead_chooses_while_labels_are_computed_stands(
    answered: Question, monkeypatch: pytest.MonkeyPatch, lead: Any
) -> None:
    fit = recompute.fit_labels

    def choose_meanwhile(*arguments: Any, **options: Any) -> Any:
        settings.set_method(question=answered, method=Method.MAJORITY, with_models=True, by=lead)
        return fit(*arguments, **options)

    monkeypatch.setattr(recompute, "fit_labels", choose_meanwhile)
    recompute.recompute_question(answered.pk)
    state = Consensus.objects.get()
    assert (state.method, state.with_models) == (Method.MAJORITY, True)
    assert input_version.list_outdated_questions() == [answered.pk]


def test_a_worker_that_lost_the_question_writes_nothing(
    answered: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = recompute.fit_labels

    def lose_it(*arguments: Any, **options: Any) -> Any:
        Consensus.objects.update(lease="another worker")
        return fit(*arguments, **options)

    monkeypatch.setattr(recompute, "fit_labels", lose_it)
    assert not recompute.recompute_question(answered.pk)
    assert not ItemLabel.objects.exists()
    assert Consensus.objects.get().made_at is None


def test_a_decision_made_while_labels_are_computed_stands(
    answered: Question, lead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = Item.objects.get(key="i05")
    fit = recompute.fit_labels

    def decide_meanwhile(*arguments: Any, **options: Any) -> Any:
        labels = fit(*arguments, **options)
        create_decision(question=answered, item=item, code=3, by=lead)
        return labels

    monkeypatch.setattr(recompute, "fit_labels", decide_meanwhile)
    recompute.recompute_question(answered.pk)
    label = label_of(answered, "i05")
    assert (label.code, label.source, label.confidence) == (3, "decision", 1.0)
    assert input_version.list_outdated_questions() == [answered.pk], (
        "the others do not know of it yet"
    )
