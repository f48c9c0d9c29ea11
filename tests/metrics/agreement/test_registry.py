"""Test the registry against the report and its published examples."""

from pathlib import Path

import pytest

from metrics.agreement import COEFFICIENTS, REASONS, report
from metrics.agreement.handbook import render_handbook
from metrics.agreement.registry import list_report_names
from tests.metrics.agreement.test_truth import build_case_report, load_case

TRUTH = Path(__file__).parent / "truth"


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_published_example_is_reproduced(name):
    example = COEFFICIENTS[name].example
    computed = build_case_report(load_case(TRUTH / f"{example.case}.json"))[example.name]
    for value, printed in zip(
        computed if isinstance(computed, list) else [computed], example.value.split(), strict=True
    ):
        decimals = len(printed.partition(".")[2])
        assert value == pytest.approx(float(printed), abs=0.501 * 10**-decimals)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_every_entry_is_reported(name):
    values_by_name = report([[0, 1], [1, 1], [0, 0]], 2)
    assert values_by_name.keys() >= set(list_report_names(name))


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_every_reason_of_the_registry_exists(name):
    assert set(COEFFICIENTS[name].undefined) <= set(REASONS)


def test_statistics_page_is_rendered_from_the_registry():
    page = Path(__file__).parents[3] / "docs" / "statistics.md"
    assert page.read_text(encoding="utf-8") == render_handbook()


def test_statistics_page_explains_every_reason():
    assert all(f"| `{reason}` |" in render_handbook() for reason in REASONS if reason)
