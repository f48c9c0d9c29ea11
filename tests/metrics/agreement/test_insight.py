"""Tests of answer() on every reference case.

The cases are of gold, repeats, consensus, planning, comparisons and alerts.
"""

import json
from pathlib import Path

import pytest

from tests.metrics.agreement.insight_answers import answer

CASES = sorted((Path(__file__).parent / "truth_insight").glob("*.json"))


def load_case(path):
    return json.loads(path.read_text(encoding="utf-8"))


def assert_close(actual, expected, tolerance, path):
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys(), path
        for key, value in expected.items():
            assert_close(actual[key], value, tolerance, f"{path} {key}")
    elif isinstance(expected, list):
        assert len(actual) == len(expected), path
        for index, value in enumerate(expected):
            assert_close(actual[index], value, tolerance, f"{path}[{index}]")
    elif expected is None or isinstance(expected, (str, bool)):
        assert actual == expected, path
    else:
        assert actual == pytest.approx(expected, rel=tolerance, abs=tolerance), path


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_library_gives_the_expected_values(path, request):
    case = load_case(path)
    folder = request.getfixturevalue("shared_data") if "file" in case else path.parent
    answers = answer(case, folder)
    assert answers.keys() == case["expected"].keys()
    for name, expected in case["expected"].items():
        assert_close(answers[name], expected, case["tolerances"][name], name)
    assert json.loads(json.dumps(answers, allow_nan=False)) == answers


NOBODY_TWICE = [["i1", "r1", "a"], ["i2", "r2", "b"]]
SAME = [[f"i{number}", rater, "a"] for number in range(4) for rater in ("m", "h1", "h2")]
UNDEFINED: dict[str, tuple[dict, dict]] = {
    "consensus": (
        {"categories": ["a", "b"], "rows": NOBODY_TWICE},
        {
            "majority": {"i1": "a", "i2": "b"},
            "dawid_skene.posterior": None,
            "dawid_skene.reason": "no_pairable_items",
            "dawid_skene_ml.posterior_after_3.reason": "no_pairable_items",
            "information_nats": None,
            "posterior_median.reason": "no_pairable_items",
        },
    ),
    "gold": (
        {"gold_tables": {"x": [[0, 0], [0, 0]], "y": [[3, 0], [0, 0]]}},
        {"x.accuracy": None, "x.reason": "no_gold_ratings", "y.kappa": None, "y.reason": "single_category"},
    ),
    "repeats": (
        {"repeat_tables": {"x": [[0, 0], [0, 0]], "y": [[0, 1], [0, 0]]}},
        {"x.reason": "no_repeats", "y.kappa": None, "y.reason": "too_few_items", "kappa.reason": "too_few_items", "n": 1},
    ),
    "alt_test": (
        {"model_rater": "m", "rows": SAME},
        {"winning_rate": None, "passed": None, "h1.wins": [0, 4, 0], "h1.p": None, "h1.reason": "too_few_items", "reason": "too_few_items"},
    ),
    "model_against_humans": (
        {"categories": ["a", "b"], "cells": [[0, [1, 0], 5], [1, [0, 1], 4]]},
        {"human_human": None, "human_human.reason": "no_pairable_items", "model_human": 1.0, "difference": None, "reason": "no_pairable_items"},
    ),
    "before_after": (
        {"categories": ["a", "b"], "before": {"patterns": [], "n_items": []}, "after": {"patterns": [[2, 0]], "n_items": [3]}},
        {"before": None, "before.reason": "no_pairable_items", "after.reason": "single_category", "difference": None, "p.reason": "no_pairable_items"},
    ),
    "reliability": (
        {"rows": [["i0", "r0", 9], ["i1", "r0", 2]], "options": {"target": 0.8}},
        {"variance.item": None, "one_absolute.reason": "needs_crossed_ratings", "mean_of_7_relative": None, "raters_for_target_absolute": None, "reason": "needs_crossed_ratings"},
    ),
    "planning": (
        {"questions": {"q": {"kind": "after", "se": None, "n": 1, "half_width": 0.1}}},
        {"q.items": None, "q.more": None, "q.reason": "too_few_items"},
    ),
    "label_sets": (
        {"labels": ["a", "b"], "rows": [["i0", "r0", ["a"]], ["i0", "r1", ["a"]]]},
        {"alpha_jaccard": None, "alpha_jaccard.reason": "single_category", "alpha.b.reason": "single_category"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("topic", UNDEFINED)
def test_undefined_values_are_null_with_a_reason(topic, tmp_path):
    case, expected = UNDEFINED[topic]
    full_case = {**case, "topic": topic, "expected": expected}
    assert answer(full_case, tmp_path) == expected


NAMES = ["agree", "differ", "reject"]
ROWS_OF_THREE = [[0, 1, 0], [1, 1, 2], [2, 2, 2], [0, None, 0], [1, 1, 1], [2, 0, -1]] * 8
MODEL_CODES = [0, 1, 2, 0, 2, -1] * 8


def list_names(rows):
    return [[None if code in (None, -1) else NAMES[code] for code in row] for row in rows]


def build_contest(**fields):
    case = {
        "topic": "alt_test",
        "options": {"epsilon": 0.15, "least": 20},
        "expected": {
            "winning_rate": 0,
            "a.wins": [],
            "b.wins": [],
            "c.wins": [],
            "c.p": 0,
            "c.n": 0,
        },
    }
    return case | fields


COLUMNS_OF_THREE = [list(column) for column in zip(*ROWS_OF_THREE, strict=True)]
SAME_CONTEST = {
    "codes_by_item": {"humans": ROWS_OF_THREE, "model": MODEL_CODES},
    "codes_of_declared": {"humans": ROWS_OF_THREE, "model": MODEL_CODES, "categories": NAMES},
    "codes_by_rater": {"humans": COLUMNS_OF_THREE, "model": MODEL_CODES, "k": 3},
    "names": {
        "humans": list_names(ROWS_OF_THREE),
        "model": list_names([MODEL_CODES])[0],
        "categories": NAMES,
    },
    "keyed_by_rater": {
        "humans": dict(zip("abc", COLUMNS_OF_THREE, strict=True)),
        "model": MODEL_CODES,
    },
    "keyed_by_item": {
        "humans": {
            name: {f"i{n}": code for n, code in enumerate(column)}
            for name, column in zip("abc", COLUMNS_OF_THREE, strict=True)
        },
        "model": {f"i{n}": code for n, code in enumerate(MODEL_CODES)},
    },
    "names_of_raters": {
        "humans": ["a", "b", "c"],
        "model": "m",
        "rows": [
            [f"i{n:02}", rater, code]
            for rater, column in zip("abcm", [*COLUMNS_OF_THREE, MODEL_CODES], strict=True)
            for n, code in enumerate(column)
            if code not in (None, -1)
        ],
    },
}


@pytest.mark.parametrize("form", SAME_CONTEST)
def test_contest_of_humans_and_model_has_the_same_answer_in_each_form(form):
    """Compare with a count by hand.

    Of each six items the model beats b on the first and c on the second, loses to everybody on the
    fifth, gives no answer on the last, and ties elsewhere.
    """
    answers = answer(build_contest(**SAME_CONTEST[form]), Path("."))
    assert answers["a.wins"] == [0, 32, 8]
    assert answers["b.wins"] == [8, 16, 8]
    assert answers["c.wins"] == [8, 24, 8]
    assert answers["c.n"] == 40
    assert 0 <= answers["c.p"] <= 1
