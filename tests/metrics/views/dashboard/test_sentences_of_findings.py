"""Each sentence on a finding is on the page where it is true, and not where it only seems so."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.utils.html import strip_tags

from metrics.change_attribution import _list_bias_shifts
from metrics.question_scale import QuestionScale
from metrics.views.common.insights import build_outlier_sentences, build_sentences
from projects.models import Rater
from tests.metrics.views.dashboard.test_earned_sentences import get_page

pytestmark = pytest.mark.django_db

Rows = list[list[str | None]]
YES_NO = ("no", "yes")
GRADES = ("1", "2", "3", "4", "5", "6", "7")


def draw(rng: random.Random, share: float) -> str:
    return "yes" if rng.random() < share else "no"


def rate_rarely_yes(rng: random.Random) -> Rows:
    return [[draw(rng, 0.06) for _rater in range(3)] for _item in range(200)]


def rate_hard_items_often(rng: random.Random) -> Rows:
    """Of the items 9 in 10 comparisons agree, because easy ones have few; of all only 6 in 10."""
    rows: Rows = [["no", "no"] for _item in range(160)]
    return rows + [[draw(rng, 0.3) for _rater in range(8)] for _item in range(40)]


def rate_single_yes(rng: random.Random) -> Rows:
    rows = rate_alike(rng, 60)
    return [*rows, *([["yes", None, None]] * 100)]


def rate_single_alike(rng: random.Random) -> Rows:
    """As many single ratings, of both categories as often as the others."""
    rows = rate_alike(rng, 60)
    return [*rows, *([["yes", None, None], ["no", None, None]] * 50)]


def rate_alike(rng: random.Random, n_items: int, error: float = 0.1, raters: int = 3) -> Rows:
    rows: Rows = []
    for _item in range(n_items):
        truth = draw(rng, 0.5)
        other = "yes" if truth == "no" else "no"
        rows.append([other if rng.random() < error else truth for _rater in range(raters)])
    return rows


def rate_rare_items_often(rng: random.Random) -> Rows:
    rows: Rows = [[draw(rng, 0.3) for _rater in range(6)] for _item in range(30)]
    return rows + [[draw(rng, 0.05), draw(rng, 0.05)] for _item in range(90)]


def rate_few_items_often(_rng: random.Random) -> Rows:
    """The definitions of kappa differ by more than 0.01, and by less than they do from alpha."""
    rows: Rows = [["no", "no"]] * 30
    rows += [["yes", "yes"], ["no", "yes"]] * 5
    rows += [["no", "yes", "yes"]] * 2
    return rows


def rate_any_items_often(rng: random.Random) -> Rows:
    return [row if rng.random() < 0.3 else row[:2] for row in rate_alike(rng, 400, raters=6)]


def rate_with_a_yes_sayer(rng: random.Random) -> Rows:
    return [
        [*row[:2], "yes" if rng.random() < 0.4 else row[2]] for row in rate_alike(rng, 150, 0.05)
    ]


def rate_with_a_careless_rater(rng: random.Random) -> Rows:
    """The third rater errs often, but to both sides."""
    return [
        [*row[:2], draw(rng, 0.5) if rng.random() < 0.5 else row[2]]
        for row in rate_alike(rng, 150, 0.05)
    ]


def rate_one_grade_higher(rng: random.Random) -> Rows:
    truths = [rng.choice((1, 2, 3, 4, 5)) for _item in range(60)]
    return [[str(truth), str(truth + 2)] for truth in truths]


def rate_with_noise(rng: random.Random) -> Rows:
    """The same mean difference is not there: the two only disagree."""
    truths = [rng.choice((1, 2, 3, 4, 5, 6, 7)) for _item in range(60)]
    return [[str(truth), str(rng.choice((truth, rng.randint(1, 7))))] for truth in truths]


def rate_apart(rng: random.Random) -> Rows:
    rows: Rows = []
    for _item in range(40):
        truth = rng.choice((2, 3, 4, 5))
        rows.append([str(truth + rng.choice((0, 0, 1)) + shift) for shift in (0, 0, 1)])
    return rows


def rate_few_items_apart_by_chance(rng: random.Random) -> Rows:
    """ICC(C,1) is 0.07 above ICC(A,1), and p of the F test of raters 0.026."""
    rows = ("111", "654", "534", "645", "322", "444")
    return [list(row) for row in rows]


def rate_by_habit(rng: random.Random) -> Rows:
    """Return rows of a rater who often says yes and one who rarely does, beyond their agreement."""
    rows: Rows = []
    for row in rate_alike(rng, 200, 0.05, raters=2):
        rows.append([row[0], "yes" if rng.random() < 0.6 else row[1], row[0]])
    return rows


def rate_three_alike(rng: random.Random) -> Rows:
    return rate_alike(rng, 200)


def rate_by_chance(rng: random.Random) -> Rows:
    """Kappa is 0, and AC1 is high because one category is frequent."""
    return [[draw(rng, 0.13) for _rater in range(3)] for _item in range(300)]


def rate_with_guessers(rng: random.Random, n_guessers: int) -> Rows:
    """Return rows of eight raters of whom the last ones guess half of their answers."""
    return [
        [
            draw(rng, 0.5) if number >= 8 - n_guessers and rng.random() < 0.5 else label
            for number, label in enumerate(row)
        ]
        for row in rate_alike(rng, 200, 0.03, raters=8)
    ]


def rate_near_misses(rng: random.Random) -> Rows:
    rows: Rows = []
    for _item in range(150):
        truth = rng.choice((2, 3, 4, 5, 6))
        rows.append([str(truth + rng.choice((-1, 0, 1))) for _rater in range(3)])
    return rows


def rate_nearly_the_same(rng: random.Random) -> Rows:
    rows: Rows = []
    for _item in range(150):
        truth = rng.choice((1, 4, 7))
        rows.append([str(truth if rng.random() < 0.98 else 4) for _rater in range(3)])
    return rows


def rate_items_alike_by_number(rng: random.Random) -> Rows:
    """Numbers of ratings differ, but not with the categories."""
    return [row if number % 2 else row[:2] for number, row in enumerate(rate_alike(rng, 120))]


CASES: dict[str, tuple[str, tuple[str, ...], str, Callable[..., Rows], Callable[..., Rows]]] = {
    # name: text, labels, scale, ratings where it is true, ratings where it is false but tempting
    "prevalence paradox": (
        "of ratings are “", YES_NO, "nominal",
        rate_rarely_yes, rate_hard_items_often,
    ),
    "single ratings": (
        "chance agreement. Fleiss’ kappa is", YES_NO, "nominal", rate_single_yes, rate_single_alike,
    ),
    "unequal numbers": (
        "ratings: Fleiss’ kappa is", YES_NO, "nominal",
        rate_few_items_often, rate_any_items_often,
    ),
    "few items": (
        "items have two or more ratings.", YES_NO, "nominal",
        lambda rng: rate_alike(rng, 29), lambda rng: rate_alike(rng, 30),
    ),
    "little overlap": (
        "rated items have two or more ratings.", YES_NO, "nominal",
        lambda rng: [*rate_alike(rng, 40), *([["yes", None, None], ["no", None, None]] * 21)],
        lambda rng: [*rate_alike(rng, 40), *([["yes", None, None], ["no", None, None]] * 20)],
    ),
    "rater bias": (
        "rater pairs use categories at different rates", YES_NO, "nominal",
        rate_with_a_yes_sayer, rate_with_a_careless_rater,
    ),
    "consistent without agreeing": (
        "but differ in level or spread", GRADES, "ordinal",
        rate_one_grade_higher, rate_with_noise,
    ),
    "consistent but apart": (
        "Raters are consistent but on different levels", GRADES, "interval",
        rate_apart, rate_few_items_apart_by_chance,
    ),
    "pairs and all raters": (
        "the mean over pairs (weighted by shared items)", YES_NO, "nominal",
        rate_by_habit, rate_three_alike,
    ),
    "depends on the weights": (
        "Weights matter", GRADES, "ordinal",
        rate_near_misses, rate_nearly_the_same,
    ),
    "does not depend on the weights": (
        "Weights hardly matter", GRADES, "ordinal",
        rate_nearly_the_same, rate_near_misses,
    ),
    "definitions": (
        "kappa depends on how chance is counted: ", YES_NO, "nominal",
        rate_rare_items_often, rate_items_alike_by_number,
    ),
    "statistics agree": (
        "The statistics agree.", YES_NO, "nominal",
        rate_three_alike, rate_rarely_yes,
    ),
    "statistics differ": (
        "The statistics differ.", YES_NO, "nominal",
        rate_by_chance, rate_three_alike,
    ),
    "three raters below the others": (
        "agree less than the others.", YES_NO, "nominal",
        lambda rng: rate_with_guessers(rng, 3), lambda rng: rate_with_guessers(rng, 8),
    ),
}  # fmt: skip


@pytest.mark.parametrize("is_true", [True, False], ids=["true", "tempting"])
@pytest.mark.parametrize("name", CASES)
def test_sentence_is_on_the_page_where_it_is_true(
    name: str,
    is_true: bool,
    make_question: Any,
    rate_items: Any,
    client: Any,
) -> None:
    text, labels, scale, true_ratings, tempting_ratings = CASES[name]
    question = make_question(labels, scale)
    rate_items(question, (true_ratings if is_true else tempting_ratings)(random.Random(11)))
    html = " ".join(get_page(client, question).split())
    assert (text in html) == is_true


@pytest.mark.parametrize(
    ("n_raters", "beginning"),
    [(1, "r0 agrees less"), (3, "r0, r1, r2 agree less"), (5, "r0, r1, r2 and 2 more agree less")],
)
def test_outliers_are_counted_where_not_all_are_named(n_raters: int, beginning: str) -> None:
    raters = [Rater(key=f"r{number}") for number in range(n_raters)]
    (sentence,) = build_outlier_sentences(raters, 1, "question=q")
    text = strip_tags(sentence)
    assert text.startswith(beginning)
    assert ("show=low_agreement" in sentence) == (n_raters > 3)


@pytest.mark.parametrize("n_raters", [39, 40])
def test_only_the_most_active_raters_are_tested_for_bias(n_raters: int, make_question: Any) -> None:
    """The heat map, whose pairs are tested, has at most 40 raters."""
    figures = {
        "differing_pairs": 2, "tested_pairs": 30, "rater_a": 0, "rater_b": 1, "category": 0,
        "difference": 0.2, "shared_items": 50,
    }  # fmt: skip
    (sentence,) = build_sentences(
        [{"name": "rater_bias", "figures": figures}],
        [Rater(pk=number, key=f"r{number}") for number in range(n_raters)],
        QuestionScale.for_question(make_question(YES_NO)),
        scheme="landis_koch",
        can_name_bands=True,
    )
    assert "2 of 30 rater pairs use categories at different rates." in sentence
    assert ("Only the 40 most active raters." in sentence) == (n_raters == 40)


def test_percentage_is_that_of_all_comparisons(
    make_question: Any,
    rate_items: Any,
    client: Any,
) -> None:
    """Of 560 comparisons 520 agree, 93%; of the average item's comparisons 98%."""
    question = make_question(YES_NO)
    rows = [["no", "no"]] * 180 + [["no"] * 4 + ["yes"]] * 10 + [["no"] * 8] * 10
    rate_items(question, rows)
    html = " ".join(get_page(client, question).split())
    assert "93% of 560 comparisons agree" in html


def list_shifts(
    rng: np.random.Generator, scale: QuestionScale, *, moves: int
) -> list[dict[str, Any]]:
    """Return the shifts reported for ten raters of 40 items before and after; the first moves."""
    item, rater = np.indices((80, 10)).reshape(2, -1)
    code = rng.integers(1, 5, 80)[item] + rng.integers(-1, 2, item.size)
    code += np.where((rater == 0) & (item >= 40), moves, 0)
    ratings = np.zeros(item.size, [("item", "i8"), ("rater", "i8"), ("code", "i8")])
    ratings["item"], ratings["rater"], ratings["code"] = item, rater, code
    return _list_bias_shifts(ratings, (item >= 40).astype(int), scale)


def test_raters_moved_against_each_other_beyond_chance(make_project: Any) -> None:
    """One of ten moves by a grade: named in pairs. None moves: named in 3 of 100 studies at most.

    Of 45 pairs one differed by three standard errors in 12 of 100 studies before.
    """
    question = make_project("shifts", labels=GRADES, scale="ordinal").questions.get()
    scale, rng = QuestionScale.for_question(question), np.random.default_rng(12)
    shifts = list_shifts(rng, scale, moves=1)
    assert len(shifts) >= 2
    assert all(shift["a"] == 0 for shift in shifts)
    n_false = sum(bool(list_shifts(rng, scale, moves=0)) for _study in range(100))
    assert n_false <= 3
