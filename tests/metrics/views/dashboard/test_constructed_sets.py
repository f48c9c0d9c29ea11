"""Pages of data whose truth is known by construction: what they must say, and what they must not."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pytest
from django.utils.html import strip_tags

from tests import cast
from tests.metrics.views.dashboard.conftest import FIRST
from tests.metrics.views.dashboard.test_earned_sentences import get_page

pytestmark = pytest.mark.django_db

Rows = list[tuple[str, str, str]]  # item, rater, label
GRADES = ("1", "2", "3", "4", "5")
YES_NO = ("no", "yes")


def rate(rng: random.Random, truth: str, labels: tuple[str, ...], accuracy: float) -> str:
    if rng.random() < accuracy:
        return truth
    return rng.choice([label for label in labels if label != truth])


def rate_alike(rng: random.Random, n_items: int, raters: str = "ABC") -> Rows:
    rows = []
    for item in range(n_items):
        truth = rng.choice("xyz")
        rows += [(f"i{item}", rater, rate(rng, truth, tuple("xyz"), 0.85)) for rater in raters]
    return rows


def use_a_category_alone(rng: random.Random) -> Rows:
    """C alone says "z", on eight items of which the others say "x"; all else is alike."""
    rows = []
    for item in range(150):
        truth = "xy"[item % 2]
        for rater in "ABC":
            label = rate(rng, truth, ("x", "y"), 0.93)
            rows.append((f"i{item}", rater, "z" if rater == "C" and item % 20 == 0 else label))
    return rows


def differ_on_one_item(_rng: random.Random) -> Rows:
    return [
        (f"i{item}", rater, "yes" if (item, rater) == (7, "A") else "no")
        for item in range(60)
        for rater in "ABC"
    ]


def reverse_the_scale(rng: random.Random) -> Rows:
    rows = []
    for item in range(100):
        truth = rng.randint(1, 5)
        for rater in "ABCD":
            grade = min(5, max(1, truth + rng.choice((0, 0, 0, 1, -1))))
            rows.append((f"i{item}", rater, str(6 - grade if rater == "D" else grade)))
    return rows


def answer_the_same_on_both_sides(rng: random.Random) -> Rows:
    rows = []
    for item in range(100):
        truth = rng.choice(YES_NO)
        rows += [(f"i{item}", "A", "yes"), (f"i{item}", "B", "no")]
        rows += [(f"i{item}", rater, rate(rng, truth, YES_NO, 0.95)) for rater in "CD"]
    return rows


def rate_by_design_in_pairs(rng: random.Random) -> Rows:
    """Each pair of six raters has ten items."""
    pairs = list(combinations("ABCDEF", 2))
    return [row for row in rate_alike(rng, 150, "ABCDEF") if row[1] in pairs[int(row[0][1:]) % 15]]


def rate_without_common_items(rng: random.Random) -> Rows:
    return [(f"i{item}", "A" if item < 30 else "B", rng.choice("xyz")) for item in range(60)]


def say_yes_by_chance(rng: random.Random) -> Rows:
    return [
        (f"i{item}", rater, "yes" if rng.random() < 0.03 else "no")
        for item in range(200)
        for rater in "ABC"
    ]


@dataclass(frozen=True)
class ConstructedSet:
    """Data of known truth. must, never: texts of overview and statistics."""

    build: Callable[[random.Random], Rows]
    labels: tuple[str, ...]
    must: tuple[str, ...]
    never: tuple[str, ...]
    scale: str = "nominal"


ACCUSATIONS = ("agrees less", "agrees more with", "almost always answers", "agrees far less")
VERDICTS = ("almost perfect", "The statistics agree")
SETS = (
    ConstructedSet(use_a_category_alone, tuple("xyz"), (), (*ACCUSATIONS, "almost perfect")),
    ConstructedSet(
        differ_on_one_item, YES_NO, ("Only 1 of 60 items",), (*ACCUSATIONS, *VERDICTS, "“poor”")
    ),
    ConstructedSet(
        reverse_the_scale, GRADES, ("D agrees less than the others",),
        ("agrees more with", "A agrees less", "D chooses", "Clearest: D"), "ordinal",
    ),
    ConstructedSet(
        answer_the_same_on_both_sides, YES_NO,
        ("A almost always answers “yes”", "B almost always answers “no”"),
        ("agrees more with", "C agrees less", "D agrees less"),
    ),
    ConstructedSet(rate_by_design_in_pairs, tuple("xyz"), (), ACCUSATIONS),
    ConstructedSet(
        rate_without_common_items, tuple("xyz"), ("no item has comparable ratings",),
        (*ACCUSATIONS, *VERDICTS),
    ),
    ConstructedSet(
        say_yes_by_chance, YES_NO, ("of ratings are “", "low agreement beyond chance"),
        (*ACCUSATIONS, *VERDICTS),
    ),
)  # fmt: skip


@pytest.mark.parametrize("case", SETS, ids=lambda case: case.build.__name__)
def test_page_says_what_is_true_by_construction(
    case: ConstructedSet, make_project: Any, client: Any
) -> None:
    question = make_project("Cases", labels=case.labels, scale=case.scale).questions.get()
    cast.rate_many(question, case.build(random.Random(99)), rated_at=FIRST)
    page = " ".join(strip_tags(get_page(client, question)).split())
    assert [text for text in case.must if text not in page] == []
    assert [text for text in case.never if text in page] == []


def test_a_break_of_years_is_no_change(make_project: Any, client: Any) -> None:
    question = make_project("Cases", labels=tuple("xyz")).questions.get()
    rows = rate_alike(random.Random(99), 120)
    days = [datetime.timedelta(days=int(item[1:]) % 20) for item, _rater, _label in rows]
    starts = [FIRST.replace(year=2019 if int(item[1:]) < 60 else 2026) for item, *_rest in rows]
    cast.rate_many(
        question,
        ((*row, start + day) for row, start, day in zip(rows, starts, days, strict=True)),
    )
    html = get_page(client, question)
    assert [text for text in ACCUSATIONS if text in html] == []
    # A change that is named is said to be within chance.
    assert html.count(" went from ") == html.lower().count("may be chance.")
