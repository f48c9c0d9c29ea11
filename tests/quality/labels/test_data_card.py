"""Test the data card that accompanies the labels."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.jobs.question_updates import update_question
from metrics.models import Result
from projects.models import Item, Project, Question, Rater
from projects.services.gold import set_gold_answer
from quality.consensus import recomputation
from quality.labels import data_card
from quality.models import Consensus
from ratings.models import Rating

pytestmark = pytest.mark.django_db


def test_card_shows_the_headline_of_the_pages(question: Question, rate: Any) -> None:
    """With models separate, the card gives the people's agreement, headline first."""
    labels = ["none", "minor", "major", "critical"]
    Rater.objects.create(project=question.project, key="bot", kind=Rater.Kind.MODEL)
    for number in range(40):
        rate(question, f"i{number}", "ann", labels[number % 4])
        rate(question, f"i{number}", "bea", labels[(number + (number % 5 == 0)) % 4])
        rate(question, f"i{number}", "cleo", labels[number % 4])
        rate(question, f"i{number}", "bot", "none")
    update_question(question.pk)
    reading = Result.objects.get(question=question, period_unit="all")
    name, headline = reading.headline["name"], reading.headline["value"]
    assert headline["value"] != reading.coefficients[name]["value"]
    lines = data_card.build_data_card(question).splitlines()
    index = lines.index("* Agreement: people only")
    assert lines[index + 1] == (
        f"* Fleiss’ kappa, quadratic weights: {headline['value']:.3f} [{headline['low']:.3f}, {headline['high']:.3f}]"
    )


def test_card_names_the_headline_of_two_raters_with_its_weights(
    question: Question, rate: Any
) -> None:
    rate_items(question, rate, ("ann", "bea"))
    value = Result.objects.get(question=question, period_unit="all").headline["value"]["value"]
    card = data_card.build_data_card(question)
    assert f"* Cohen’s kappa, quadratic weights: {value:.3f} [" in card
    assert "fleiss_kappa" not in card and "* Fleiss’ kappa: " in card


def test_card_says_that_ordered_labels_are_medians(question: Question, rate: Any) -> None:
    rate_items(question, rate, ("ann", "bea", "cleo"))
    assert "are medians of the probabilities" in data_card.build_data_card(question)
    Consensus.objects.update(method="majority")
    recomputation.recompute_question(question.pk, at_once=True)
    assert "are medians of the probabilities" not in data_card.build_data_card(question)


def rate_items(question: Question, rate: Any, raters: tuple[str, ...]) -> None:
    labels = ["none", "minor", "major", "critical"]
    for number in range(40):
        for position, rater in enumerate(raters):
            is_wrong = number % 10 == position
            rate(question, f"i{number}", rater, labels[(number + is_wrong) % 4])
    update_question(question.pk)
    recomputation.recompute_question(question.pk, at_once=True)


def test_card_says_what_confidence_rests_on(question: Question, rate: Any, lead: Any) -> None:
    """Only a model without gold assumes independent errors; votes have no confidence at all."""
    rate_items(question, rate, ("ann", "bea", "cleo"))
    independent, calibrated, votes = (
        "assume that raters err independently",
        "calibrated on the gold answers of 30 items",
        "have no confidence",
    )
    texts = (independent, calibrated, votes)
    card = data_card.build_data_card(question)
    assert [text in card for text in texts] == [True, False, False]
    for number in range(30):
        item = Rating.objects.filter(item__key=f"i{number}")[0].item
        set_gold_answer(item=item, question=question, answer=[number % 4], by=lead)
    recomputation.recompute_question(question.pk, at_once=True)
    card = data_card.build_data_card(question)
    assert [text in card for text in texts] == [False, True, False]
    Consensus.objects.update(method="majority")
    recomputation.recompute_question(question.pk, at_once=True)
    card = data_card.build_data_card(question)
    assert [text in card for text in texts] == [False, False, True]
    assert "Expected wrong labels" not in card


@pytest.mark.parametrize("raters", [("ann", "bea"), ("ann",)])
def test_card_names_the_method_that_gave_the_labels(
    question: Question, rate: Any, raters: tuple[str, ...]
) -> None:
    """One rater gives no model: the labels are those of a majority."""
    rate_items(question, rate, raters)
    card = data_card.build_data_card(question)
    is_estimated = len(raters) == 2
    assert ("maximum a posteriori" in card) == is_estimated
    assert ("could not be estimated (no_pairable_items)" in card) == (not is_estimated)


def test_card_counts_ratings_by_the_guidelines_under_which_they_were_given(
    question: Question, rate: Any
) -> None:
    """Not those that are in force now: ratings may be older, or imported."""
    rate_items(question, rate, ("ann", "bea"))
    question.project.guidelines_version = 3
    question.project.save()
    assert "* Guidelines (number of ratings): 3" not in data_card.build_data_card(question)
    Rating.objects.filter(rater__key="ann").update(guidelines=1)
    Rating.objects.filter(rater__key="bea").update(guidelines=None)
    card = data_card.build_data_card(question)
    assert "1 (40)" in card and "unknown (40)" in card


@pytest.mark.parametrize("has_clusters", [True, False])
def test_card_names_the_clusters_of_its_intervals(
    question: Question, rate: Any, has_clusters: bool
) -> None:
    """An attribute of the items that is no declared cluster does not count."""
    labels = ["none", "minor", "major", "critical"]
    for number in range(40):
        for rater in ("ann", "bea"):
            rate(question, f"i{number}", rater, labels[(number + (rater == "bea")) % 4])
    for item in Item.objects.filter(project=question.project):
        item.attributes = {"document": f"d{item.pk % 8}"}
        item.save()
    if has_clusters:
        Project.objects.update(cluster_attribute="document")
    question.refresh_from_db()
    update_question(question.pk)
    card = data_card.build_data_card(Question.objects.get(pk=question.pk))
    line = "items with the same document are alike; 40 items in 8 clusters"
    assert (line in card) == has_clusters
