"""The methods paragraph of a report cites what was computed, and says what was not measured."""

from __future__ import annotations

import random
from typing import Any

import pytest
from django.utils import timezone

from metrics import reports
from metrics.jobs.question_updates import update_question
from metrics.views.reports import cautions_and_methods
from metrics.views.reports.document import (
    _build_coverage_section,
    _describe_bands,
    _describe_target,
)
from projects.models import Question

pytestmark = pytest.mark.django_db

FLEISS = "Fleiss 1971"


def build_paragraph(question: Question) -> tuple[str, list[str]]:
    update_question(question.pk)
    facts = reports.compute_report_facts(question, timezone.now())
    return dict(cautions_and_methods.build_methods(facts))[
        "en"
    ], cautions_and_methods.list_references(facts)


def rate_items(question: Question, rate: Any, sizes: list[int]) -> None:
    rng = random.Random(1)
    for number, size in enumerate(sizes):
        truth = rng.choice(("none", "minor"))
        for rater in "abc"[:size]:
            label = truth if rng.random() < 0.8 else "major"
            rate(question, f"i{number}", rater, label)


def test_complete_unweighted_ratings_cite_fleiss_alone(make_project: Any, rate: Any) -> None:
    question = make_project("complete", scale="nominal").questions.get()
    rate_items(question, rate, [3] * 40)
    paragraph, references = build_paragraph(question)
    assert FLEISS in paragraph
    assert "Cuzick" not in paragraph
    assert "Gwet 2021" not in paragraph
    assert "with one rating" not in paragraph
    assert "Raters were fixed" in paragraph
    assert not any("Cuzick" in reference for reference in references)


def test_unequal_numbers_and_single_ratings_are_stated(make_project: Any, rate: Any) -> None:
    question = make_project("unequal", scale="nominal").questions.get()
    rate_items(question, rate, [3] * 30 + [2] * 10 + [1] * 7)
    paragraph, references = build_paragraph(question)
    assert cautions_and_methods.FLEISS_CUZICK in paragraph
    assert "7 items with one rating are used only to estimate chance agreement." in paragraph
    assert cautions_and_methods.FLEISS_CUZICK in references


def test_weights_are_cited(question: Question, rate: Any) -> None:
    rate_items(question, rate, [3] * 40)
    paragraph, _references = build_paragraph(question)
    assert cautions_and_methods.GWET in paragraph
    assert "Cuzick" not in paragraph


def test_the_interval_is_named_by_its_method(make_project: Any, rate: Any) -> None:
    """Intervals of kappas are score intervals, those of intraclass correlations are not."""
    paragraphs = []
    for scale in ("nominal", "interval"):
        question = make_project(scale, labels=("none", "minor", "major"), scale=scale)
        rate_items(question.questions.get(), rate, [3] * 40)
        paragraphs.append(build_paragraph(question.questions.get())[0])
    assert "by the score method (Donner & Eliasziw 1992" in paragraphs[0]
    assert "score method" not in paragraphs[1]
    assert "by the F distribution" in paragraphs[1]


def list_claims(question: Question) -> list[str]:
    update_question(question.pk)
    return cautions_and_methods.list_cautions(
        reports.compute_report_facts(question, timezone.now())
    )


def test_cautions_are_those_of_the_ratings(make_project: Any, rate: Any) -> None:
    """Each caution stands where its reason does, and not on ratings that lack it."""
    few, many = (make_project(name, scale="nominal").questions.get() for name in ("few", "many"))
    rate_items(few, rate, [2] * 20 + [1] * 5)
    rate_items(many, rate, [3] * 200)
    claims = {name: " ".join(list_claims(each)) for name, each in (("few", few), ("many", many))}
    for text, is_of_many in (
        ("not 20.", False),
        ("Raters other than these two.", False),
        ("The 5 items with fewer than two ratings", False),
        ("A single band: the interval reaches from", None),
        ("Better or worse raters", True),
        ("Right answers", True),
    ):
        assert text in claims["few"], text
        if is_of_many is not None:
            assert (text in claims["many"]) == is_of_many, text
    assert "only models rated" not in claims["few"]


def make_facts(**changes: Any) -> Any:
    """Return the facts of a report on 100 complete items that two people or more rated."""
    value = {"value": 0.7, "low": 0.62, "high": 0.78, "n_items": 100, "reason": None}
    headline = {
        "name": "fleiss_kappa",
        "population": "people",
        "n_models": 0,
        "why": "nominal",
        "value": value | changes.pop("value", {}),
    }
    declared = {"scale": "nominal", "weights": "none", "categories": [{"label": "a"}]}
    facts = {
        "headline": headline | changes.pop("headline", {}),
        "declared": declared | changes.pop("declared", {}),
        "question": {"text": "Why?"},
        "as_of": "2026-03-02T10:00:00+00:00",
        "hash": "0" * 64,
        "n_people": 3,
        "n_models": 0,
        "n_ratings": 300,
        "n_rated": 100,
        "n_items": 100,
        "details": {"by_ratings": {"3": 100}},
        "band_scheme": "landis_koch",
        "bar": None,
        "cluster": None,
        "findings": [],
    }
    return facts | changes


CLUSTER = {"n_clusters": 4, "reliable": False}
CAUTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # text: changes of the facts where it is true, and where it is false but tempting
    "Any degree of agreement: ": (
        {"value": {"value": None, "reason": "single_category"}}, {"value": {"value": 0.0}},
    ),
    "Its uncertainty: there is no interval.": (
        {"value": {"low": None, "high": None}}, {"value": {"low": -1.0, "high": 1.0}},
    ),
    "not 29.": (
        {"value": {"n_items": 29}}, {"value": {"n_items": 30}},
    ),
    "An exact interval: only 4 clusters.": (
        {"cluster": CLUSTER}, {"cluster": CLUSTER | {"reliable": True}},
    ),
    "Agreement beyond chance.": (
        {"headline": {"name": "percent_agreement"}}, {"headline": {"name": "gwet_ac1"}},
    ),
    "the interval reaches from substantial to almost perfect": (
        {"value": {"high": 0.82}}, {"value": {"high": 0.8}},
    ),
    "they are for another coefficient": (
        {"headline": {"name": "krippendorff_alpha_nominal"}}, {},
    ),
    "Reaching the target of 0.65": (
        {"bar": 0.65}, {"bar": 0.6},
    ),
    "People’s agreement: only models rated.": (
        {"headline": {"population": "models", "n_models": 2}},
        {"headline": {"population": "people", "n_models": 2}},
    ),
    "models are included": (
        {"headline": {"population": "all", "n_models": 1}},
        {"headline": {"population": "all", "n_models": 0}},
    ),
    "Raters other than these two.": (
        {"headline": {"name": "cohen_kappa"}}, {"headline": {"name": "fleiss_kappa"}},
    ),
    "The 7 items with fewer than two ratings": (
        {"details": {"by_ratings": {"3": 93, "1": 5}}}, {"details": {"by_ratings": {"3": 93, "2": 7}}},
    ),
    "it is higher if items differ more": (
        {"headline": {"name": "icc2"}}, {},
    ),
    "the value depends on category frequencies": (
        {}, {"headline": {"name": "percent_agreement"}},
    ),
    "That the coefficient was chosen beforehand": (
        {"headline": {"why": "chosen"}}, {"headline": {"why": "nominal"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", CAUTIONS)
def test_each_caution_has_its_reason(text: str) -> None:
    """Without the database: what must not be claimed follows from the facts alone."""
    true_facts, tempting_facts = (make_facts(**changes) for changes in CAUTIONS[text])
    assert text in " ".join(cautions_and_methods.list_cautions(true_facts))
    assert text not in " ".join(cautions_and_methods.list_cautions(tempting_facts))


SINGLES = {"details": {"by_ratings": {"3": 95, "1": 5}}}
METHODS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # text: changes of the facts where it is true, and where it is false but tempting
    "3 human and 1 model raters gave": (
        {"n_models": 1}, {"n_models": 0, "headline": {"n_models": 1}},
    ),
    "3 human raters gave": (
        {}, {"n_models": 1},
    ),
    "with 1 categories (a); weights: none.": (
        {}, {"declared": {"scale": "ordinal", "weights": "quadratic"}},
    ),
    "; weights: quadratic": (  # weights of categories without an order are not in force
        {"declared": {"scale": "ordinal", "weights": "quadratic"}},
        {"declared": {"weights": "quadratic"}},
    ),
    "is undefined: ": (
        {"value": {"value": None, "reason": "single_category"}}, {"value": {"value": 0.0}},
    ),
    "95% confidence interval": (
        {}, {"value": {"low": None, "high": None}},
    ),
    "Agreement among people was Fleiss’ kappa = 0.700": (
        {"value": {"low": None, "high": None}}, {"headline": {"population": "all"}},
    ),
    "percentile bootstrap over items (2,000 replicates)": (
        {"value": {"bootstrap": 2000}}, {},
    ),
    "5 items with fewer than two ratings were not compared.": (
        SINGLES, {"details": {"by_ratings": {"3": 95, "2": 5}}},
    ),
    "5 items with one rating are used only to estimate chance agreement.": (
        SINGLES, SINGLES | {"headline": {"name": "krippendorff_alpha_nominal"}},
    ),
    "Raters were fixed, items a random sample.": (
        {}, {"headline": {"name": "icc2"}},
    ),
    "Raters and items were random samples.": (
        {"headline": {"name": "icc2"}}, {"headline": {"name": "icc3"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", METHODS)
def test_each_sentence_of_the_methods_has_its_reason(text: str) -> None:
    true_facts, tempting_facts = (make_facts(**changes) for changes in METHODS[text])
    assert text in dict(cautions_and_methods.build_methods(true_facts))["en"]
    assert text not in dict(cautions_and_methods.build_methods(tempting_facts))["en"]


WIDE = {"value": {"low": 0.55, "high": 0.85}}
RESULTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # text: changes of the facts where it is true, and where it is false but tempting
    "Not enough data yet for a label.": (
        {"value": {"n_items": 8, "low": 0.1, "high": 1.0}}, {},
    ),
    "Landis & Koch 1977: substantial.": (
        {}, {"value": {"n_items": 8, "low": 0.1, "high": 1.0}},
    ),
    "Target: 0.80.": (
        {"bar": 0.8}, {},
    ),
    "Each item has two or more ratings.": (
        {}, SINGLES,
    ),
    "No ratings yet.": (
        {"n_items": 0, "details": {"by_ratings": {}}}, {},
    ),
    "5 items with fewer than two ratings were not compared.": (
        SINGLES, {},
    ),
    "5 items with one rating are used only to estimate chance agreement.": (
        SINGLES | {"headline": {"name": "gwet_ac1"}},
        SINGLES | {"headline": {"name": "krippendorff_alpha_nominal"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", RESULTS)
def test_each_sentence_on_the_result_has_its_reason(text: str) -> None:
    for changes, is_true in zip(RESULTS[text], (True, False), strict=True):
        facts = make_facts(**changes)
        paragraphs = [
            paragraph for _language, paragraph in _build_coverage_section(facts).paragraphs
        ]
        sentences = [_describe_bands(facts), _describe_target(facts), *paragraphs]
        assert (text in sentences) == is_true, sentences
