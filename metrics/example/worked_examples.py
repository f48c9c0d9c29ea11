"""Worked examples as texts on kappa print them, each a small project that opens with the right
number; docs/statistics.md says where a printed value is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

NURSE = (100, 112, 118, 121, 127, 133, 140, 149, 158, 180)
LEVEL = 5  # so much more the other nurse always reads
GRADES = ("none", "mild", "moderate", "severe")
GRADED = ((12, 5, 1, 0), (3, 14, 6, 1), (0, 4, 11, 5), (1, 0, 3, 14))
SCORED = (5, 6, 10, 25)  # the mean gold score of what is put in each of the grades
NEXT_HALF = ((1, 0.5, 0, 0), (0.5, 1, 0.5, 0), (0, 0.5, 1, 0.5), (0, 0, 0.5, 1))


@dataclass(frozen=True)
class Worked:
    """``codes``: a row an item, a column a rater, places among the labels; ``says``: what it shows,
    and what a text prints of it; ``values``: of the categories; ``gold``: scores of the items."""

    name: str
    says: str | Promise
    question: str | Promise
    labels: Sequence[str]
    codes: Sequence[Sequence[int]]
    scale: str = "nominal"
    weights: str = "none"
    matrix: Sequence[Sequence[float]] | None = None
    values: Sequence[float] | None = None
    gold: Sequence[float] = ()


def _two(first: str, second: str) -> list[tuple[int, int]]:
    """The answers of two raters, a figure an item, as places from 0."""
    least = min(map(int, first + second))
    return [(int(a) - least, int(b) - least) for a, b in zip(first, second, strict=True)]


def _of_table(table: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    return [
        (row, column)
        for row, cells in enumerate(table)
        for column, number in enumerate(cells)
        for _item in range(number)
    ]


def _nurses() -> tuple[list[str], list[tuple[int, int]]]:
    """Only the numbers that one of the two reads are categories."""
    known = sorted({*NURSE, *(reading + LEVEL for reading in NURSE)})
    place = {number: code for code, number in enumerate(known)}
    return list(map(str, known)), [(place[low], place[low + LEVEL]) for low in NURSE]


def _gold_scores(codes: Sequence[tuple[int, int]]) -> list[float]:
    """A gold score for each item, such that the mean over what is put in a grade is SCORED: halfway
    where the two raters differ, and what then is left where they agree."""
    ratings, sums, agreed = [0] * len(SCORED), [0.0] * len(SCORED), [0] * len(SCORED)
    for a, b in codes:
        for grade in (a, b):
            ratings[grade] += 1
            sums[grade] += 0 if a == b else (SCORED[a] + SCORED[b]) / 2
        agreed[a] += 2 * (a == b)
    same = [
        (score * number - told) / both
        for score, number, told, both in zip(SCORED, ratings, sums, agreed, strict=True)
    ]
    return [same[a] if a == b else (SCORED[a] + SCORED[b]) / 2 for a, b in codes]


_READINGS, _READ = _nurses()
_PAIRED = _of_table(GRADED)
WORKED = (
    Worked(
        "Worked: two raters, five items",
        _(
            "Two raters put five items in two categories. Cohen’s kappa is 0.615, as printed; "
            "with five items its interval says how little that is worth."
        ),
        _("Which category?"),
        ("1", "2"),
        _two("12212", "12112"),
    ),
    Worked(
        "Worked: weighted kappa, five items",
        _(
            "Two raters, three grades, quadratic weights: 9/14 = 0.643. The table that is printed "
            "with it has six entries for five items; with it one would get 0.647."
        ),
        _("Which grade?"),
        ("1", "2", "3"),
        _two("12312", "11322"),
        scale="ordinal",
        weights="quadratic",
    ),
    Worked(
        "Worked: ten labels, from code",
        _("Two annotators label ten items with 0 or 1. The program prints kappa 0.400."),
        _("Which label?"),
        ("0", "1"),
        _two("0000111111", "0100101110"),
    ),
    Worked(
        "Worked: ten labels, a case study",
        _(
            "Kappa is 0.4. Printed is 0.2, from a table that was counted wrongly: of these answers "
            "seven of ten agree, not six."
        ),
        _("Which label?"),
        ("1", "0"),
        [(1 - a, 1 - b) for a, b in _two("0001111001", "0101101011")],
    ),
    Worked(
        "Worked: four grades, own weights",
        _(
            "80 cases in four grades; a grade more or less counts half. Under these weights kappa "
            "is 0.64, without weights 0.51 and with quadratic ones 0.77: say which you use."
        ),
        _("How severe is it?"),
        GRADES,
        _PAIRED,
        scale="ordinal",
        weights="custom",
        matrix=NEXT_HALF,
    ),
    Worked(
        "Worked: four grades, scored by gold",
        _(
            "The same 80 cases; each grade stands for the mean gold score (severity) of what is "
            "put in it. On these scores kappa with quadratic weights is Lin’s concordance, 0.721, "
            "and not ICC(A,1), as is printed: that is 0.724, nearly the same."
        ),
        _("How severe is it?"),
        GRADES,
        _PAIRED,
        scale="interval",
        values=SCORED,
        gold=_gold_scores(_PAIRED),
    ),
    Worked(
        "Worked: ten critics, one painting",
        _(
            "Seven of ten critics say Impressionist: 24 of 45 pairs agree. One painting cannot "
            "tell agreement from chance: Fleiss’ kappa is -0.11, and there is no interval."
        ),
        _("Which style?"),
        ("Baroque", "Impressionist", "Modern"),
        [(1,) * 7 + (2,) * 3],
    ),
    Worked(
        "Worked: two nurses, 5 mmHg apart",
        _(
            "One nurse always reads 5 more. They never agree exactly, yet ICC(A,1) is 0.98: 5 is "
            "little beside the differences of patients. Consistency, ICC(C,1), is 1. That every "
            "index of agreement must be low here is not true."
        ),
        _("Which blood pressure?"),
        _READINGS,
        _READ,
        scale="interval",
        values=[float(reading) for reading in _READINGS],
    ),
)
