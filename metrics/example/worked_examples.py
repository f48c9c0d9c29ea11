"""Worked examples from texts on kappa, each a small project with the correct value.

docs/statistics.md explains where a printed value is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

NURSE_READINGS = (100, 112, 118, 121, 127, 133, 140, 149, 158, 180)
NURSE_OFFSET = 5  # the second nurse always reads so much more
GRADES = ("none", "mild", "moderate", "severe")
GRADE_TABLE = ((12, 5, 1, 0), (3, 14, 6, 1), (0, 4, 11, 5), (1, 0, 3, 14))
MEAN_GRADE_SCORES = (5, 6, 10, 25)  # the mean gold score of the items that are put in each grade
HALF_WEIGHTS = ((1, 0.5, 0, 0), (0.5, 1, 0.5, 0), (0, 0.5, 1, 0.5), (0, 0, 0.5, 1))


@dataclass(frozen=True)
class WorkedExample:
    """Example from a publication: its ratings, and the printed value of a coefficient.

    ``codes``: a row for each item, a column for each rater, indices of labels; ``description``:
    what it shows, and what the text prints; ``values``: of the categories; ``gold``: scores of the
    items.
    """

    name: str
    description: str | Promise
    question: str | Promise
    labels: Sequence[str]
    codes: Sequence[Sequence[int]]
    scale: str = "nominal"
    weights: str = "none"
    matrix: Sequence[Sequence[float]] | None = None
    values: Sequence[float] | None = None
    gold_scores: Sequence[float] = ()


def _parse_answers(first: str, second: str) -> list[tuple[int, int]]:
    """Return the answers of two raters, a digit for each item, as indices from 0."""
    least = min(map(int, first + second))
    return [
        (int(digit_a) - least, int(digit_b) - least)
        for digit_a, digit_b in zip(first, second, strict=True)
    ]


def _expand_table(table: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    return [
        (row, column)
        for row, cells in enumerate(table)
        for column, number in enumerate(cells)
        for _item in range(number)
    ]


def _build_nurse_ratings() -> tuple[list[str], list[tuple[int, int]]]:
    """Return labels and codes; only the numbers that one of the two nurses reads are categories."""
    numbers = sorted({*NURSE_READINGS, *(reading + NURSE_OFFSET for reading in NURSE_READINGS)})
    codes = {number: code for code, number in enumerate(numbers)}
    return list(map(str, numbers)), [
        (codes[low], codes[low + NURSE_OFFSET]) for low in NURSE_READINGS
    ]


def _build_gold_scores(codes: Sequence[tuple[int, int]]) -> list[float]:
    """Return a gold score for each item, so that the mean over each grade is MEAN_GRADE_SCORES.

    Halfway between where the two raters differ, and the remaining sum where they agree.
    """
    ratings, sums, agreed = (
        [0] * len(MEAN_GRADE_SCORES),
        [0.0] * len(MEAN_GRADE_SCORES),
        [0] * len(MEAN_GRADE_SCORES),
    )
    for grade_a, grade_b in codes:
        for grade in (grade_a, grade_b):
            ratings[grade] += 1
            sums[grade] += (
                0
                if grade_a == grade_b
                else (MEAN_GRADE_SCORES[grade_a] + MEAN_GRADE_SCORES[grade_b]) / 2
            )
        agreed[grade_a] += 2 * (grade_a == grade_b)
    agreed_scores = [
        (score * number - assigned_sum) / n_agreed
        for score, number, assigned_sum, n_agreed in zip(
            MEAN_GRADE_SCORES, ratings, sums, agreed, strict=True
        )
    ]
    return [
        agreed_scores[grade_a]
        if grade_a == grade_b
        else (MEAN_GRADE_SCORES[grade_a] + MEAN_GRADE_SCORES[grade_b]) / 2
        for grade_a, grade_b in codes
    ]


_NURSE_LABELS, _NURSE_CODES = _build_nurse_ratings()
_GRADE_CODES = _expand_table(GRADE_TABLE)
WORKED_EXAMPLES = (
    WorkedExample(
        "Worked: two raters, five items",
        _(
            "Two raters put five items in two categories. Cohen’s kappa is 0.615, as "
            "published, but its interval on five items is wide."
        ),
        _("Which category?"),
        ("1", "2"),
        _parse_answers("12212", "12112"),
    ),
    WorkedExample(
        "Worked: weighted kappa, five items",
        _(
            "Two raters, three grades, quadratic weights: 9/14 = 0.643. The published table "
            "has six entries for five items and would give 0.647."
        ),
        _("Which grade?"),
        ("1", "2", "3"),
        _parse_answers("12312", "11322"),
        scale="ordinal",
        weights="quadratic",
    ),
    WorkedExample(
        "Worked: ten labels, from code",
        _("Two annotators label ten items with 0 or 1. Kappa is 0.400."),
        _("Which label?"),
        ("0", "1"),
        _parse_answers("0000111111", "0100101110"),
    ),
    WorkedExample(
        "Worked: ten labels, a case study",
        _(
            "Kappa is 0.4. The published 0.2 comes from a miscounted table: seven of ten "
            "answers agree, not six."
        ),
        _("Which label?"),
        ("1", "0"),
        [(1 - a, 1 - b) for a, b in _parse_answers("0001111001", "0101101011")],
    ),
    WorkedExample(
        "Worked: four grades, own weights",
        _(
            "80 cases in four grades. Kappa is 0.64 with weights that count one grade apart as "
            "half, 0.51 without weights and 0.77 with quadratic ones: always report the "
            "weights."
        ),
        _("How severe is it?"),
        GRADES,
        _GRADE_CODES,
        scale="ordinal",
        weights="custom",
        matrix=HALF_WEIGHTS,
    ),
    WorkedExample(
        "Worked: four grades, scored by gold",
        _(
            "The same 80 cases, scored by the mean gold severity of each grade. With quadratic "
            "weights on these scores, kappa is Lin’s concordance, 0.721, not ICC(A,1) as "
            "published: that is 0.724."
        ),
        _("How severe is it?"),
        GRADES,
        _GRADE_CODES,
        scale="interval",
        values=MEAN_GRADE_SCORES,
        gold_scores=_build_gold_scores(_GRADE_CODES),
    ),
    WorkedExample(
        "Worked: ten critics, one painting",
        _(
            "Seven of ten critics choose Impressionist: 24 of 45 pairs agree. One painting "
            "cannot tell agreement from chance: Fleiss’ kappa is -0.11, without an interval."
        ),
        _("Which style?"),
        ("Baroque", "Impressionist", "Modern"),
        [(1,) * 7 + (2,) * 3],
    ),
    WorkedExample(
        "Worked: two nurses, 5 mmHg apart",
        _(
            "One nurse always reads 5 more. They never agree exactly, yet ICC(A,1) is 0.98, "
            "because 5 is small compared with the differences between patients. ICC(C,1) is 1. "
            "So agreement indices need not be low here."
        ),
        _("Which blood pressure?"),
        _NURSE_LABELS,
        _NURSE_CODES,
        scale="interval",
        values=[float(reading) for reading in _NURSE_LABELS],
    ),
)
