"""Test report() on every case of known truth.

The cases are published tables, edge cases, and values checked against many libraries.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from metrics.agreement import report

CASES = sorted((Path(__file__).parent / "truth").glob("*.json"))
# a case's note on a list, not a reason's name
SENTENCE = "null where the category is used by nobody"


def load_case(path):
    return json.loads(path.read_text(encoding="utf-8"))


def build_codes(case):
    """Return an (items, raters) array of the codes of a case, -1 for missing ones.

    The case has ratings, or the table of two raters.
    """
    if "table" in case:
        table = np.array(case["table"])
        return np.repeat(np.argwhere(np.ones_like(table)), table.ravel(), axis=0)
    code_by_category = {category: code for code, category in enumerate(case["categories"])} | {
        None: -1
    }
    return np.array([[code_by_category[rating] for rating in row] for row in case["ratings"]])


def build_case_report(case):
    return report(build_codes(case), len(case["categories"]), case["values"], case["weights"])


def assert_same(actual, expected, path, tolerance):
    if isinstance(expected, dict):
        for name, value in expected.items():
            assert_same(actual[name], value, f"{path} {name}", tolerance)
    elif isinstance(expected, list):
        assert len(actual) == len(expected), path
        for index, value in enumerate(expected):
            assert_same(actual[index], value, f"{path}[{index}]", tolerance)
    elif expected is None:
        assert actual is None, path
    else:
        assert actual == pytest.approx(expected, rel=0, abs=tolerance), path


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_report_gives_the_expected_values(path):
    case = load_case(path)
    values_by_name = build_case_report(case)
    missing = case["expected"].keys() - values_by_name.keys()
    assert not missing
    for name, expected in case["expected"].items():
        assert_same(values_by_name[name], expected, name, case["tolerance"])


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_report_gives_reasons_of_undefined_values(path):
    case = load_case(path)
    values_by_name = build_case_report(case)
    for name, reason in case["undefined"].items():
        if not reason.startswith(SENTENCE):
            assert values_by_name[f"{name}.reason"] == reason, name


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_report_gives_the_published_values(path):
    case = load_case(path)
    values_by_name = build_case_report(case)
    for name, published in case["published"].items():
        if name in values_by_name:
            assert values_by_name[name] == pytest.approx(
                published["value"], abs=0.51 * 10 ** -published["decimals"]
            ), name


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_report_is_plain_data_without_nan(path):
    assert json.loads(json.dumps(build_case_report(load_case(path)), allow_nan=False))
