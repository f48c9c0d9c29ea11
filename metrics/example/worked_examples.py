"""Worked examples from texts on kappa, each a small project with the correct value.

docs/statistics.md explains where a printed value is wrong.

The psychiatric diagnoses of Fleiss (1971): 30 patients, 6 diagnoses each, kappa 0.430.
The table is a published fact: J. L. Fleiss, "Measuring nominal scale agreement among many raters",
Psychological Bulletin 76 (1971), table 1. It gives how many of six psychiatrists chose each
diagnosis, not which ones: the psychiatrists were not the same for all patients. So that every page
has data, the loader assigns each patient's diagnoses to six raters at random (with a fixed seed).
Fleiss' kappa does not depend on it. The results of single raters and pairs do, and are meaningless
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

LABELS = ("depression", "personality disorder", "schizophrenia", "neurosis", "other")

# One row a patient: how many of the six diagnoses are each of LABELS.
COUNTS = (
    (0, 0, 0, 6, 0),
    (0, 3, 0, 0, 3),
    (0, 1, 4, 0, 1),
    (0, 0, 0, 0, 6),
    (0, 3, 0, 3, 0),
    (2, 0, 4, 0, 0),
    (0, 0, 4, 0, 2),
    (2, 0, 3, 1, 0),
    (2, 0, 0, 4, 0),
    (0, 0, 0, 0, 6),
    (1, 0, 0, 5, 0),
    (1, 1, 0, 4, 0),
    (0, 3, 3, 0, 0),
    (1, 0, 0, 5, 0),
    (0, 2, 0, 3, 1),
    (0, 0, 5, 0, 1),
    (3, 0, 0, 1, 2),
    (5, 1, 0, 0, 0),
    (0, 2, 0, 4, 0),
    (1, 0, 2, 0, 3),
    (0, 0, 0, 0, 6),
    (0, 1, 0, 5, 0),
    (0, 2, 0, 1, 3),
    (2, 0, 0, 4, 0),
    (1, 0, 0, 4, 1),
    (0, 5, 0, 1, 0),
    (4, 0, 0, 0, 2),
    (0, 2, 0, 4, 0),
    (1, 0, 5, 0, 0),
    (0, 0, 0, 0, 6),
)

NURSE_READINGS = (100, 112, 118, 121, 127, 133, 140, 149, 158, 180)
NURSE_OFFSET = 5  # the second nurse always reads so much more
GRADES = ("none", "mild", "moderate", "severe")
GRADE_TABLE = ((12, 5, 1, 0), (3, 14, 6, 1), (0, 4, 11, 5), (1, 0, 3, 14))
MEAN_GRADE_SCORES = (5, 6, 10, 25)  # the mean gold score of the items that are put in each grade
XRAY_TABLE = ((80, 5), (10, 5))  # normal, pneumonia
EXTREME_TABLE = ((20, 0, 10), (0, 20, 0), (10, 0, 20))  # who differs, differs by two grades
# Acceptances by a strict, a usual and a lenient examiner; 25 essays each.
EXAMINER_ANSWERS = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1))
# Numbers of critics for three styles, and of paintings: 40, 35 and 25 of 100 answers.
PAINTING_COUNTS = {
    (5, 0, 0): 6,
    (0, 5, 0): 5,
    (0, 0, 5): 3,
    (2, 2, 1): 2,
    (2, 1, 2): 2,
    (1, 2, 2): 2,
}
HALF_WEIGHTS = ((1, 0.5, 0, 0), (0.5, 1, 0.5, 0), (0, 0.5, 1, 0.5), (0, 0, 0.5, 1))


@dataclass(frozen=True)
class WorkedExample:
    """Example from a publication: ratings for which it prints the value of a coefficient.

    ``codes``: a row for each item, a column for each rater: index of a label, None without a
    rating; ``description``: what the example shows, and the printed value; ``values``: numbers of
    the categories; ``gold_scores``: one for each item, or empty.
    """

    name: str
    description: str | Promise
    question: str | Promise
    labels: Sequence[str]
    codes: Sequence[Sequence[int | None]]
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
    """Return labels and codes (a, b) of two nurses, the second reading NURSE_OFFSET more.

    Only numbers that either nurse reads are categories.
    """
    numbers = sorted({*NURSE_READINGS, *(reading + NURSE_OFFSET for reading in NURSE_READINGS)})
    codes = {number: code for code, number in enumerate(numbers)}
    return list(map(str, numbers)), [
        (codes[low], codes[low + NURSE_OFFSET]) for low in NURSE_READINGS
    ]


def _build_gold_scores(codes: Sequence[tuple[int, int]]) -> list[float]:
    """Return a gold score for each item, so that the mean score of each grade is MEAN_GRADE_SCORES.

    An item gets the mean of both grades' scores where the two raters differ; items on which they
    agree get what their grade then needs to reach its mean.
    """
    ratings = [0] * len(MEAN_GRADE_SCORES)
    sums = [0.0] * len(MEAN_GRADE_SCORES)
    agreed = [0] * len(MEAN_GRADE_SCORES)
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


def _draw_tweet_labels() -> list[list[int]]:
    """Return labels of 200 tweets by three annotators, each drawn at random from three."""
    labels: list[list[int]] = np.random.default_rng(200).integers(3, size=(200, 3)).tolist()
    return labels


def _expand_counts() -> list[list[int]]:
    """Return the answers of five critics to each painting of PAINTING_COUNTS."""
    return [
        [style for style, number in enumerate(counts) for _critic in range(number)]
        for counts, n_paintings in PAINTING_COUNTS.items()
        for _painting in range(n_paintings)
    ]


def _build_incomplete_ratings() -> list[list[int | None]]:
    """Return codes of 20 paintings (rows) by ten critics (columns); seven see each painting.

    The code is None where a critic does not see the painting. On every fourth painting, two of the
    seven name the other of the two styles.
    """
    rows: list[list[int | None]] = []
    for painting in range(20):
        row: list[int | None] = [None] * 10
        for place in range(7):
            is_other = painting % 4 == 0 and place < 2
            row[(painting + place) % 10] = (painting + is_other) % 2
        rows.append(row)
    return rows


_NURSE_LABELS, _NURSE_CODES = _build_nurse_ratings()
_GRADE_CODES = _expand_table(GRADE_TABLE)
WORKED_EXAMPLES = (
    WorkedExample(
        "Worked: two raters, five items",
        _("Cohen’s kappa is 0.615; five items give a wide interval."),
        _("Which category?"),
        ("1", "2"),
        _parse_answers("12212", "12112"),
    ),
    WorkedExample(
        "Worked: weighted kappa, five items",
        _(
            "Quadratic kappa is 9/14 = 0.643; the published 0.647 counts six answers for five "
            "items."
        ),
        _("Which grade?"),
        ("1", "2", "3"),
        _parse_answers("12312", "11322"),
        scale="ordinal",
        weights="quadratic",
    ),
    WorkedExample(
        "Worked: ten labels, from code",
        _("Kappa of ten items is 0.400."),
        _("Which label?"),
        ("0", "1"),
        _parse_answers("0000111111", "0100101110"),
    ),
    WorkedExample(
        "Worked: ten labels, a case study",
        _("Kappa is 0.4: seven of ten agree, not six as in the published 0.2."),
        _("Which label?"),
        ("1", "0"),
        [(1 - a, 1 - b) for a, b in _parse_answers("0001111001", "0101101011")],
    ),
    WorkedExample(
        "Worked: four grades, own weights",
        _("Kappa is 0.51 unweighted, 0.64 if one grade apart counts half, 0.77 quadratic."),
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
            "With mean gold severities, Lin’s concordance is 0.721; the published ICC(A,1) is "
            "0.724."
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
        _("One painting cannot tell agreement from chance: Fleiss’ kappa is -0.11."),
        _("Which style?"),
        ("Baroque", "Impressionist", "Modern"),
        [(1,) * 7 + (2,) * 3],
    ),
    WorkedExample(
        "Worked: two nurses, 5 mmHg apart",
        _("One nurse always reads 5 more, yet ICC(A,1) is 0.98: patients differ far more."),
        _("Which blood pressure?"),
        _NURSE_LABELS,
        _NURSE_CODES,
        scale="interval",
        values=[float(reading) for reading in _NURSE_LABELS],
    ),
    WorkedExample(
        "Worked: 200 tweets, labelled at random",
        _("Three annotators choose at random: Fleiss’ kappa’s interval includes 0."),
        _("Which sentiment?"),
        ("negative", "neutral", "positive"),
        _draw_tweet_labels(),
    ),
    WorkedExample(
        "Worked: 100 X-rays, mostly normal",
        _(
            "85% agree, yet kappa is 0.32: nearly all X-rays are normal, so chance alone gives "
            "78%. AC1 is 0.81."
        ),
        _("What does the X-ray show?"),
        ("normal", "pneumonia"),
        _expand_table(XRAY_TABLE),
    ),
    WorkedExample(
        "Worked: strict and lenient examiners",
        _(
            "Examiners accept the best 75, 50 and 25 of 100 essays. Pairwise kappas "
            "average 0.40; Fleiss’ kappa pools chance: 0.33."
        ),
        _("Accept the essay?"),
        ("reject", "accept"),
        [answers for answers in EXAMINER_ANSWERS for _essay in range(25)],
    ),
    WorkedExample(
        "Worked: 3 of 10 ratings missing",
        _(
            "Seven of ten critics rate each painting: Fleiss’ kappa is 0.76, with "
            "nothing filled in."
        ),
        _("Which style?"),
        ("Baroque", "Modern"),
        _build_incomplete_ratings(),
    ),
    WorkedExample(
        "Worked: shares of 40, 35 and 25%",
        _("76% of pairs agree, 34.5% by chance alone: Fleiss’ kappa is 0.63."),
        _("Which style?"),
        ("Impressionist", "Modern", "Baroque"),
        _expand_counts(),
    ),
    WorkedExample(
        "Worked: partial credit lowers kappa",
        _(
            "Disagreements are two grades apart, so partial credit rewards chance alone: "
            "kappa is 0.62 unweighted, 0.33 quadratic."
        ),
        _("Which grade?"),
        ("mild", "moderate", "severe"),
        _expand_table(EXTREME_TABLE),
        scale="ordinal",
        weights="linear",
    ),
)
