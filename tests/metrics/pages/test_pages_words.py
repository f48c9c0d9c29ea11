"""Numbers in words: undefined values, signs, bands."""

from __future__ import annotations

import pytest
from django.template import RequestContext, Template
from django.test import Client, RequestFactory
from django.utils import translation

from metrics.agreement import COEFFICIENTS, glossary, registry
from metrics.agreement.bands import SCHEMES, Band
from metrics.agreement.estimate import REASONS
from metrics.agreement.registry import (
    MEAN_BY_ITEMS,
    MEAN_PAIRWISE,
    PAIR_TREND,
    PAIR_TREND_ORDERED,
    mean_names,
    pattern_forms,
    peer_names,
)
from metrics.agreement.scales import SCALES
from metrics.agreement.weights import WEIGHTINGS, weighted
from metrics.pages import figures, words
from metrics.templatetags import drawings, readings
from projects.models import Scale, Weights


@pytest.mark.parametrize("reason", [name for name in REASONS if name])
def test_words_every_reason_has_words(reason: str) -> None:
    assert str(words.reason(reason)) != reason


# Everything that a page can be asked for or that stands in a reading.
SHOWN = [
    *pattern_forms(scale="ratio", values=[0, 1], custom=True),
    *peer_names(WEIGHTINGS),
    *mean_names(WEIGHTINGS),
    *PAIR_TREND["cohen_kappa"].forms("cohen_kappa", WEIGHTINGS),
    *PAIR_TREND_ORDERED,
]


MEANS = [weighted(base, name) for base in (MEAN_PAIRWISE, MEAN_BY_ITEMS) for name in WEIGHTINGS]


@pytest.mark.parametrize("name", SHOWN)
def test_words_every_coefficient_that_is_shown_has_words(name: str) -> None:
    assert str(words.coefficient(name)) != name


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_words_every_weighting_has_words(weighting: str) -> None:
    assert weighting in words.WEIGHTS
    assert weighting in Weights.values


@pytest.mark.parametrize("scale", Scale)
def test_scale_is_known_to_the_formulas(scale: Scale) -> None:
    assert SCALES[scale].numeric is scale.numeric
    assert SCALES[scale].ordered is scale.ordered
    assert (SCALES[scale].metric == "ratio") is scale.from_zero


@pytest.mark.parametrize("band", SCHEMES["landis_koch"])
def test_words_every_band_has_words(band: Band) -> None:
    assert str(words.band(band))


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_figure_undefined_is_a_dash(value: float | None) -> None:
    assert figures.figure(value) == "–"


@pytest.mark.parametrize(
    ("value", "text"), [(0.425, "0.42"), (-0.001, "0.00"), (1, "1.00"), (-0.126, "-0.13")]
)
def test_figure_two_decimals(value: float, text: str) -> None:
    assert figures.figure(value) == text


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
def test_an_expected_count_is_a_whole_number(value: float | None, text: str) -> None:
    assert figures.about(value) == text


def test_reading_undefined_tells_why() -> None:
    assert "no item has two ratings" in readings.reading(
        {"value": None, "reason": "no_pairable_items"}
    )


def test_reading_without_interval_has_no_brackets() -> None:
    assert "[" not in readings.reading({"value": 0.4, "low": None, "high": None})


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.35, 0.49, "moderate"),
        (None, None, "moderate"),
        (0.1, 0.7, "too early to say"),  # from slight to substantial
        (-0.51, 0.52, "too early to say"),
    ],
)
def test_no_word_is_bigger_than_its_interval(
    low: float | None, high: float | None, said: str
) -> None:
    reading = {"value": 0.42, "low": low, "high": high}
    assert said in readings.band_sign(reading, "landis_koch")


def test_to_reach_the_lowest_band_is_not_worth_a_sentence() -> None:
    assert readings.sure_band({"value": 0.01, "low": -0.5, "se": 0.26}, "landis_koch") == ""
    assert readings.sure_band({"value": 0.7, "low": 0.68, "se": 0.01}, "landis_koch") == (
        "substantial"
    )


def test_the_word_that_is_sure_follows_the_interval_of_few_items() -> None:
    of_many = {"value": 0.5, "low": 0.5 - 1.96 * 0.17, "se": 0.17}
    of_five = {"value": 0.5, "low": 0.5 - 2.776 * 0.17, "se": 0.17}  # t(4)
    assert readings.sure_band(of_many, "landis_koch") == "fair"
    assert readings.sure_band(of_five, "landis_koch") == "slight"


def test_spark_leaves_a_gap_where_undefined() -> None:
    assert drawings.spark([0.1, 0.2, None, 0.4, 0.5]).count("M") == 2


def test_spark_of_one_point_is_nothing() -> None:
    assert drawings.spark([0.1, None]) == ""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fleiss_kappa", "Fleiss’ kappa"),
        ("fleiss_kappa_quadratic", "Fleiss’ kappa, quadratic weights"),
        ("something_new", "something_new"),
    ],
)
def test_coefficient_has_a_name(name: str, text: str) -> None:
    assert str(words.coefficient(name)) == text


def test_shares_and_p_values_are_rounded_not_cut() -> None:
    assert [figures.percent(share) for share in (0.4155, 0.2667, 0.3178)] == [
        "42 %",
        "27 %",
        "32 %",
    ]
    assert readings.p_value(0.04996) == "0.050"


@pytest.mark.parametrize("name", [*SHOWN, *COEFFICIENTS, *MEANS, *glossary.TERMS])
def test_words_whatever_is_shown_is_explained(name: str) -> None:
    title, text = words.explained(name)
    assert str(title) != name or name == "p"
    assert text.endswith(".")


def test_help_stands_once_a_page_and_opens_from_each_button() -> None:
    request = RequestFactory().get("/")
    template = Template(
        "{% load readings %}{% explain 'fleiss_kappa' %}{% explain 'fleiss_kappa_linear' %}"
    )
    text = template.render(RequestContext(request))
    assert text.count('popovertarget="help-fleiss_kappa"') == 2
    assert text.count('id="help-fleiss_kappa"') == 1
    assert "/words/#fleiss_kappa" in text


def test_the_page_of_words_needs_no_account(client: Client) -> None:
    text = client.get("/words/").content.decode()
    for name in (*registry.SAID, *glossary.TERMS):
        assert f'id="{name}"' in text
    with translation.override(None):  # the language of a request stays with its thread
        chinese = client.get("/words/", headers={"Accept-Language": "zh-hans"}).content.decode()
    assert "超出偶然的一致性" in chinese
