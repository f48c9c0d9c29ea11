"""Every case of known truth through report(): published tables, edge cases, values checked against
many libraries."""

import json
from pathlib import Path

import numpy as np
import pytest

from metrics.agreement import report

CASES = sorted((Path(__file__).parent / "truth").glob("*.json"))
# a case's note on a list, not a reason's name
SENTENCE = "null where the category is used by nobody"


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def codes_of(case):
    """(items x raters) codes, -1 for missing, of a case's ratings or of its table of two raters."""
    if "table" in case:
        table = np.array(case["table"])
        return np.repeat(np.argwhere(np.ones_like(table)), table.ravel(), axis=0)
    place = {category: code for code, category in enumerate(case["categories"])} | {None: -1}
    return np.array([[place[rating] for rating in row] for row in case["ratings"]])


def reported(case):
    return report(codes_of(case), len(case["categories"]), case["values"], case["weights"])


def assert_same(found, expected, place, tolerance):
    if isinstance(expected, dict):
        for name, value in expected.items():
            assert_same(found[name], value, f"{place} {name}", tolerance)
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for index, value in enumerate(expected):
            assert_same(found[index], value, f"{place}[{index}]", tolerance)
    elif expected is None:
        assert found is None, place
    else:
        assert found == pytest.approx(expected, rel=0, abs=tolerance), place


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_report_gives_the_expected_values(path):
    case = load(path)
    found = reported(case)
    missing = case["expected"].keys() - found.keys()
    assert not missing
    for name, expected in case["expected"].items():
        assert_same(found[name], expected, name, case["tolerance"])


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_report_names_why_a_value_is_undefined(path):
    case = load(path)
    found = reported(case)
    for name, reason in case["undefined"].items():
        if not reason.startswith(SENTENCE):
            assert found[f"{name}.reason"] == reason, name


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_report_gives_the_published_values(path):
    case = load(path)
    found = reported(case)
    for name, published in case["published"].items():
        if name in found:
            assert found[name] == pytest.approx(
                published["value"], abs=0.51 * 10 ** -published["decimals"]
            ), name


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_report_is_plain_data_without_nan(path):
    assert json.loads(json.dumps(reported(load(path)), allow_nan=False))
