"""Every reference case of gold, repeats, consensus, planning, comparisons and alarms by answer()."""

import json
from pathlib import Path

import pytest

from tests.metrics.agreement.insight_answers import answer

CASES = sorted((Path(__file__).parent / "truth_insight").glob("*.json"))


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def assert_close(found, expected, tolerance, place):
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), place
        for key, value in expected.items():
            assert_close(found[key], value, tolerance, f"{place} {key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for index, value in enumerate(expected):
            assert_close(found[index], value, tolerance, f"{place}[{index}]")
    elif expected is None or isinstance(expected, (str, bool)):
        assert found == expected, place
    else:
        assert found == pytest.approx(expected, rel=tolerance, abs=tolerance), place


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_library_gives_the_expected_values(path, request):
    case = load(path)
    folder = request.getfixturevalue("shared_data") if "file" in case else path.parent
    found = answer(case, folder)
    assert found.keys() == case["expected"].keys()
    for name, expected in case["expected"].items():
        assert_close(found[name], expected, case["tolerances"][name], name)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


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
def test_what_is_undefined_is_null_with_its_reason(topic, tmp_path):
    case, expected = UNDEFINED[topic]
    asked = {**case, "topic": topic, "expected": expected}
    assert answer(asked, tmp_path) == expected
