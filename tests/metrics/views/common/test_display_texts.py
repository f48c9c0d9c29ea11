"""Texts for numbers: undefined values, signs and bands."""

from __future__ import annotations

import html
import re

import pytest
from django.template import RequestContext, Template
from django.test import Client, RequestFactory
from django.utils import translation

from core.web import tables
from metrics.agreement import COEFFICIENTS, glossary, registry
from metrics.agreement.estimate import REASONS
from metrics.agreement.explain.bands import SCHEMES, Band
from metrics.agreement.registry import (
    MEAN_BY_ITEMS,
    MEAN_PAIRWISE,
    PAIR_TREND_FORMULAS,
    PAIR_TREND_ORDERED_FORMULAS,
    get_pattern_forms,
    list_mean_kappa_names,
    list_peer_names,
)
from metrics.agreement.scales import SCALES
from metrics.agreement.weights import WEIGHTINGS, get_weighted_name
from metrics.templatetags import inline_charts, results
from metrics.views import charts
from metrics.views.common import coefficient_advice, display_names, insights, number_formats
from projects.models import Project, Rater, Scale, Weights


@pytest.mark.parametrize("reason", [name for name in REASONS if name])
def test_every_reason_has_a_text(reason: str) -> None:
    assert str(display_names.get_undefined_reason(reason)) != reason


# Every name that a page can request or that is part of a result.
DISPLAYED_NAMES = [
    *get_pattern_forms(scale="ratio", values=[0, 1], custom=True),
    *list_peer_names(WEIGHTINGS),
    *list_mean_kappa_names(WEIGHTINGS),
    *PAIR_TREND_FORMULAS["cohen_kappa"].get_forms("cohen_kappa", WEIGHTINGS),
    *PAIR_TREND_ORDERED_FORMULAS,
]


MEAN_NAMES = [
    get_weighted_name(base, name) for base in (MEAN_PAIRWISE, MEAN_BY_ITEMS) for name in WEIGHTINGS
]


@pytest.mark.parametrize("name", DISPLAYED_NAMES)
def test_every_displayed_coefficient_has_a_name(name: str) -> None:
    assert str(display_names.get_coefficient_name(name)) != name


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_every_weighting_has_a_name(weighting: str) -> None:
    assert weighting in display_names.WEIGHTING_NAMES
    assert weighting in Weights.values


@pytest.mark.parametrize("scale", Scale)
def test_scale_matches_library(scale: Scale) -> None:
    assert SCALES[scale].numeric is scale.numeric
    assert SCALES[scale].ordered is scale.ordered
    assert (SCALES[scale].metric == "ratio") is scale.is_non_negative


@pytest.mark.parametrize("band", SCHEMES["landis_koch"])
def test_every_band_has_a_name(band: Band) -> None:
    assert str(display_names.get_band_name(band))


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_undefined_number_is_a_dash(value: float | None) -> None:
    assert number_formats.format_number(value) == "–"


@pytest.mark.parametrize(
    ("value", "text"),
    [(6.9e-18, "0.0"), (-6.9e-18, "0.0"), (1e-9, "1e-09"), (0.1 + 0.2, "0.3")],
)
def test_number_in_a_file_is_exact_but_for_rounding_errors(value: float, text: str) -> None:
    with tables.collect_table("t"):
        assert number_formats.format_number(value) == text


def test_small_probability_in_a_file_stays_as_it_is() -> None:
    with tables.collect_table("t"):
        assert results.p_value(6.9e-18) == "6.9e-18"


def test_chart_file_has_no_rounding_errors() -> None:
    response = charts._build_csv_response(
        [{"start": "=1", "value": 6.9e-18, "low": -0.25}], "trend"
    )
    assert response.content.decode().splitlines()[1] == "'=1,0.0,-0.25"


@pytest.mark.parametrize(
    ("value", "text"), [(0.425, "0.42"), (-0.001, "0.00"), (1, "1.00"), (-0.126, "-0.13")]
)
def test_number_has_two_decimals(value: float, text: str) -> None:
    assert number_formats.format_number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0"),
        (0.3, "< 1"),
        (0.5, "< 1"),
        (0.6, "1"),
        (1.4, "1"),
        (87.0, "87"),
        (1460.2, "1,460"),
    ],
)
def test_expected_count_is_a_whole_number(value: float | None, text: str) -> None:
    assert number_formats.format_expected_count(value) == text


def test_undefined_estimate_shows_reason() -> None:
    assert "no item has comparable ratings" in results.render_estimate(
        {"value": None, "reason": "no_pairable_items"}
    )


def test_estimate_without_interval_has_no_brackets() -> None:
    assert "[" not in results.render_estimate({"value": 0.4, "low": None, "high": None})


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.35, 0.49, "moderate"),
        (None, None, "moderate"),
        (0.1, 0.7, "not enough data yet"),  # from slight to substantial
        (-0.51, 0.52, "not enough data yet"),
    ],
)
def test_band_respects_the_interval(low: float | None, high: float | None, expected: str) -> None:
    estimate = {"value": 0.42, "low": low, "high": high}
    assert expected in results.band_badge(estimate, "landis_koch")


def test_lowest_band_is_not_reported() -> None:
    assert results.benchmark_band({"value": 0.01, "low": -0.5, "se": 0.26}, "landis_koch") == ""
    assert results.benchmark_band({"value": 0.7, "low": 0.68, "se": 0.01}, "landis_koch") == (
        "substantial"
    )


def test_sure_band_uses_wider_interval_for_few_items() -> None:
    many_items = {"value": 0.5, "low": 0.5 - 1.96 * 0.17, "se": 0.17}
    five_items = {"value": 0.5, "low": 0.5 - 2.776 * 0.17, "se": 0.17}  # t(4)
    assert results.benchmark_band(many_items, "landis_koch") == "fair"
    assert results.benchmark_band(five_items, "landis_koch") == "slight"


def test_sparkline_has_gap_for_undefined_value() -> None:
    assert inline_charts.sparkline([0.1, 0.2, None, 0.4, 0.5]).count("M") == 2


def test_sparkline_of_one_point_is_empty() -> None:
    assert inline_charts.sparkline([0.1, None]) == ""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fleiss_kappa", "Fleiss’ kappa"),
        ("fleiss_kappa_quadratic", "Fleiss’ kappa, quadratic weights"),
        ("something_new", "something_new"),
    ],
)
def test_coefficient_has_a_name(name: str, text: str) -> None:
    assert str(display_names.get_coefficient_name(name)) == text


def test_shares_and_p_values_are_rounded() -> None:
    assert [number_formats.format_percent(share) for share in (0.4155, 0.2667, 0.3178)] == [
        "42%",
        "27%",
        "32%",
    ]
    assert results.p_value(0.04996) == "0.050"
    # 0% and 100% mean none and all.
    shares = (0, 0.0001, 0.004, 0.996, 0.99999, 1)
    texts = [number_formats.format_percent(share) for share in shares]
    assert texts == ["0%", "0.1%", "0.4%", "99.6%", "99.9%", "100%"]


@pytest.mark.parametrize("name", [*DISPLAYED_NAMES, *COEFFICIENTS, *MEAN_NAMES, *glossary.TERMS])
def test_every_displayed_name_is_explained(name: str) -> None:
    title, text = display_names.get_explanation(name)
    assert str(title) != name or name == "p"
    assert text.endswith(".")


def test_help_is_rendered_once_and_opened_by_each_button() -> None:
    request = RequestFactory().get("/")
    template = Template(
        "{% load results %}{% explain 'fleiss_kappa' %}{% explain 'fleiss_kappa_linear' %}"
    )
    text = template.render(RequestContext(request))
    assert text.count('popovertarget="help-fleiss_kappa"') == 2
    assert text.count('id="help-fleiss_kappa"') == 1
    assert "/glossary/#fleiss_kappa" in text


def test_glossary_page_needs_no_account(client: Client) -> None:
    text = client.get("/glossary/").content.decode()
    for name in (*registry.COEFFICIENT_TEXTS, *glossary.TERMS):
        assert f'id="{name}"' in text
    with translation.override(None):  # the language of a request stays active in its thread
        chinese = client.get("/glossary/", headers={"Accept-Language": "zh-hans"}).content.decode()
    assert "扣除偶然一致后的一致性" in chinese


# --- the panel beside a number


def render_panel(name: str, value: dict[str, object] | None, project: Project | None) -> str:
    request = RequestFactory().get("/")
    template = Template("{% load results %}{% explain name value %}")
    context = {"name": name, "value": value, "project": project}
    return html.unescape(" ".join(template.render(RequestContext(request, context)).split()))


ESTIMATE = {
    "value": 0.6, "low": 0.5, "high": 0.7, "se": 0.05, "observed": 0.8, "expected": 0.5,
    "n_items": 100, "reason": "",
}  # fmt: skip


def test_panel_shows_position_and_calculation_of_number() -> None:
    text = render_panel("fleiss_kappa", ESTIMATE, Project())
    assert "Here: <span" in text
    assert '<svg class="band-scale"' in text
    assert 'cx="239.2"' in text  # 0.6 of 392, from 4
    assert "(0.800 − 0.500) / (1 − 0.500) = 0.60" in text
    assert "Limits:" in text
    assert 'href="/glossary/statistics/#fleiss_kappa"' in text
    assert "Quadratic weights" not in text


@pytest.mark.parametrize(
    ("value", "project", "expected"),
    [
        (
            ESTIMATE | {"observed": 0.9},
            Project(),
            ["band-scale"],
        ),  # the formula gives another value
        (ESTIMATE | {"observed": None}, Project(), ["band-scale"]),
        (ESTIMATE | {"value": None, "reason": "single_category"}, Project(), []),
        (ESTIMATE, None, []),
        (None, Project(), []),
    ],
)
def test_panel_omits_unknown_parts(
    value: dict[str, object] | None, project: Project | None, expected: list[str]
) -> None:
    text = render_panel("fleiss_kappa", value, project)
    assert [name for name in ("band-scale", "by chance") if name in text] == expected
    assert "Limits:" in text


def test_panel_of_weighted_kappa_explains_weights() -> None:
    text = render_panel("cohen_kappa_quadratic", ESTIMATE, Project())
    assert "<strong>Cohen’s kappa, quadratic weights</strong>" in text
    assert "one step apart counts 0.89" in text
    assert "/glossary/#weighted_kappa" in text
    assert "one step apart counts 0.67" in render_panel("fleiss_kappa_linear", ESTIMATE, Project())


def test_each_number_has_its_own_panel() -> None:
    request = RequestFactory().get("/")
    template = Template(
        "{% load results %}{% for value in values %}{% explain 'cohen_kappa' value %}{% endfor %}"
    )
    values = [ESTIMATE, ESTIMATE | {"value": 0.2, "low": 0.1, "high": 0.3}, ESTIMATE]
    context = {"values": values, "project": Project()}
    text = template.render(RequestContext(request, context))
    ids = re.findall(r' id="([^"]+)"', text)
    targets = re.findall(r'popovertarget="([^"]+)"', text)
    assert len(ids) == 2
    assert targets == [ids[0], ids[1], ids[0]]


@pytest.mark.parametrize(
    "name", [name for name in DISPLAYED_NAMES if coefficient_advice.find_advice(name)]
)
def test_advice_exists_only_for_coefficients_with_maximum_1(name: str) -> None:
    assert display_names.strip_weights(name) in registry.COEFFICIENT_TEXTS
    assert not name.endswith("bias")


def test_glossary_page_shows_advice_and_bands(client: Client) -> None:
    text = html.unescape(client.get("/glossary/").content.decode())
    for entry in coefficient_advice.ADVICE.values():
        assert str(entry.distrust) in text
    for sentence in coefficient_advice.WEIGHTING_ADVICE.values():
        assert str(sentence) in text
    assert 'id="bands"' in text
    assert "below: unreliable · from 0.667: tentative · from 0.8: reliable" in text
    assert 'class="band-scale"' not in text


def test_statistics_document_has_heading_for_each_coefficient(client: Client) -> None:
    text = client.get("/glossary/statistics/").content.decode()
    for name in (*COEFFICIENTS, *coefficient_advice.ADVICE):
        if not name.startswith(("vs_peers", "mean_")):
            assert f'<h3 id="{display_names.strip_weights(name)}">' in text, name
    assert "Fleiss 1971, Psychological Bulletin 76, 378-382" in text
    ids = re.findall(r'<h[23] id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    with translation.override(None):
        chinese = client.get("/glossary/statistics/", headers={"Accept-Language": "zh-hans"})
    assert '<h3 id="percent_agreement">一致率</h3>' in chinese.content.decode()
    assert "<h1>统计" in chinese.content.decode()


def test_lists_have_the_separator_of_the_language() -> None:
    raters = [Rater(pk=number, key=f"r{number}") for number in range(2)]
    for language, separator in (("en", ", "), ("zh-hans", "、")):
        with translation.override(language):
            (sentence,) = insights.build_outlier_sentences(raters, 1, "question=q")
        assert f"r0</a>{separator}<a " in sentence
