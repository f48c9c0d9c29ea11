"""Test answer() on every reference case of gold, repeats, consensus, planning, comparisons and
alerts."""

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
