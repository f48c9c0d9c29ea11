"""Template tags and filters that render estimates, names and reasons."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from core.text import get_list_separator
from core.web import tables
from core.web.links import has_links
from core.web.table_tags import span
from core.web.tables import Interval, export_as
from metrics.agreement.estimate import NORMAL_QUANTILE
from metrics.agreement.explain import bands
from metrics.views.common import (
    coefficient_advice,
    display_names,
    getting_started,
    number_formats,
)
from metrics.views.common.getting_started import SetupStep
from metrics.views.reports.document import EstimateCell
from projects.models import Item, Project, Rater
from ratings.items import content
from ratings.models import ImportRun, Revision

register = template.Library()

Estimate = Mapping[str, Any]
BAND_STEPS = 5  # between the six colours of bands (tokens.css): no scheme has more bands
FORMULA_TOLERANCE = 0.005  # of rounding to two decimals

register.filter("number", number_formats.format_number)
register.filter("signed", number_formats.format_signed)
register.filter("count", number_formats.format_count)
register.filter("expected_count", number_formats.format_expected_count)
register.filter("expected_count_text", number_formats.describe_expected_count)
register.filter("percent", number_formats.format_percent)
register.filter("interval", number_formats.format_interval)


@register.filter(expects_localtime=True)
def exact_time(moment: datetime.datetime) -> str:
    """Format a time with its time zone, which Django's filter omits.

    Without the zone, times in the hour that occurs twice when daylight saving time ends would be
    ambiguous.
    """
    return f"{moment:%Y-%m-%d %H:%M:%S %Z}"


@register.filter
def undefined_reason(estimate: Estimate | None) -> str | Promise:
    """Return in plain words why an estimate has no value."""
    return display_names.get_undefined_reason(estimate.get("reason") if estimate else None)


@register.filter("estimate")
@register.simple_tag(name="estimate")
@export_as(number_formats.build_estimate_interval)
def render_estimate(value: Estimate | None, signed: bool = False) -> SafeString:
    """Render an estimate: value and interval, or a dash with the reason as its title.

    ``signed``: with its sign, as for differences.
    """
    if not value or value.get("value") is None:
        return format_html(
            '<span class="reading reading--none" title="{0}">–<span class="visually-hidden"> '
            "{0}</span></span>",
            undefined_reason(value),
        )
    is_positive = signed and value["value"] > 0 and not tables.is_exporting()
    language, sign = get_language(), "+" if is_positive else ""
    text = f"{sign}{number_formats.format_number_in(value['value'], 2, language)}"
    interval = number_formats.format_interval_in(value, language)
    # Only numbers vary, so nothing needs escaping, which would be slow for hundreds of them.
    return mark_safe(  # noqa: S308
        f'<span class="reading">{text} <span class="reading__interval">{interval}</span></span>'
    )


@register.filter
@export_as(number_formats.build_estimate_interval)
def estimate_or_reason(value: Estimate) -> SafeString:
    """Render an estimate, or why it has no value."""
    if value.get("value") is None:
        return format_html('<span class="muted wrap-text">{}</span>', undefined_reason(value))
    return render_estimate(value)


@register.filter
@export_as(number_formats.build_optional_estimate_interval)
def estimate_or_dash(value: Estimate | None, signed: bool = False) -> SafeString:
    """Render an estimate, or a dash without a value. ``signed``: with its sign."""
    return render_estimate(value, signed) if value else SafeString("–")


@register.filter
@export_as(number_formats.build_bounds_interval)
def bounds(value: Any) -> str:
    """Format an interval that has both ends, like [0.38, 0.48]."""
    interval = number_formats.build_bounds_interval(value)
    return number_formats.format_interval({"low": interval.low, "high": interval.high})


def build_report_interval(cell: str | EstimateCell) -> str | Interval:
    """Return a text cell of a report's table unchanged, and an estimate as an Interval."""
    return (
        number_formats.build_estimate_interval(cell.estimate)
        if isinstance(cell, EstimateCell)
        else cell
    )


@register.filter
@export_as(build_report_interval)
def report_cell(cell: str | EstimateCell) -> str:
    """Return a cell of a report's table as text."""
    return str(cell)


@register.filter
def only_keys(mapping: Mapping[str, Any], keys: Sequence[str]) -> list[tuple[str, Any]]:
    """Return the items of a mapping whose keys are among ``keys``."""
    return [(key, value) for key, value in mapping.items() if key in keys]


@register.simple_tag
def n_done(steps: Sequence[SetupStep]) -> int:
    """Count the steps of the "Getting started" card that are done."""
    return getting_started.count_done_steps(steps)


@register.simple_tag
def band_badge(
    estimate: Estimate | None, scheme: str, is_band_withheld: bool = False
) -> SafeString:
    """Render the band of a coefficient with a dot, whose colour is its position in the scheme.

    The text is "not enough data yet" if the interval is too wide, or the items too few, for a band,
    and "no label" if the findings forbid one.
    """
    band = bands.find_band(estimate["value"], scheme) if estimate else None
    if estimate is None or band is None:
        return SafeString("")
    if bands.is_inconclusive(
        estimate.get("n_items"), estimate.get("low"), estimate.get("high"), scheme
    ):
        return span(_("not enough data yet"), "muted small")
    if is_band_withheld:
        return span(_("no label"), "muted small")
    all_bands = bands.get_bands(scheme)
    step = round(all_bands.index(band) / (len(all_bands) - 1) * BAND_STEPS)
    return span(display_names.get_band_name(band), f"band band--{step}")


@register.filter
def total(counts: Iterable[int]) -> int:
    """Return the sum of the counts."""
    return sum(counts)


@register.filter
def benchmark_band(estimate: Estimate | None, scheme: str) -> str:
    """Return the band that the true value reaches or exceeds with 95 % probability.

    Empty without a standard error or an interval, with too little data, and for the lowest band,
    which every value reaches. The standard error is taken from the lower half of the interval.
    """
    if not estimate or estimate["se"] is None or estimate["low"] is None:
        return ""
    value, low = estimate["value"], estimate["low"]
    if bands.is_inconclusive(estimate.get("n_items"), low, estimate.get("high"), scheme):
        return ""  # the page says that there is not enough data
    band = bands.find_benchmark_band(value, (value - low) / NORMAL_QUANTILE, scheme)
    return "" if band == bands.get_bands(scheme)[0] else str(display_names.get_band_name(band))


@register.filter
def fits_scheme(name: str, scheme: str) -> bool:
    """Return whether the band scheme was designed for this coefficient."""
    return bands.is_designed_for(name, scheme)


@register.filter
def compare_with_target(estimate: Estimate, target: float) -> str:
    """Return "above", "below" or "unsure": whether an estimate reaches the project's target.

    The interval decides, and is unsure where it contains the target; without one, the value.
    """
    low, high = estimate.get("low"), estimate.get("high")
    if low is not None and low >= target:
        return "above"
    if high is not None and high < target:
        return "below"
    return "unsure" if low is not None else ("above" if estimate["value"] >= target else "below")


@register.filter
def test_name(name: str) -> str | Promise:
    """Return the name of a statistical test in the reader's language."""
    return display_names.get_coefficient_name(name)


@register.filter
def coefficient_name(name: str) -> str | Promise:
    """Return a coefficient's name in the reader's language; ``name`` itself if it is unknown."""
    return display_names.get_coefficient_name(name)


@register.simple_tag(takes_context=True)
def explain(context: template.Context, name: str, own: Estimate | None = None) -> SafeString:
    """Render a button that explains a coefficient, a column or a term.

    The text opens beside the button without JavaScript; the glossary has all texts. With the
    estimate ``own``, the text also shows where the value lies on the scale. A page contains each
    text once, however many buttons it has.
    """
    title, text = display_names.get_explanation(name)
    entry, project = coefficient_advice.find_advice(name), context.get("project")
    if entry is None or project is None or not own or own.get("value") is None:
        own = None
    key = display_names.strip_weights(name)
    if own is not None:
        title = display_names.get_coefficient_name(name)
        value_key = "-".join(f"{own.get(end) or 0:.2f}" for end in ("value", "low", "high"))
        key = f"{name}-{value_key.replace('.', '')}"
    button = format_html(
        '<button type="button" class="help" popovertarget="help-{}" aria-label="{}">?</button>',
        key,
        _("About: %(what)s") % {"what": title},
    )
    if (request := context.get("request")) is not None:
        explained_keys = request.__dict__.setdefault("_explained", set())
        if key in explained_keys:
            return button
        explained_keys.add(key)
    panel = {
        "key": key,
        "plain": display_names.strip_weights(name),
        "title": title,
        "text": text,
        "own": own,
        "sums_up": own is not None and _matches_formula(own),
        "scheme": project.band_scheme if project else "",
        "advice": entry,
        "weighted": coefficient_advice.find_weighting_advice(name) if entry else None,
        "has_formula": entry is not None,
        "has_links": has_links(),
    }
    return button + render_to_string("metrics/common/_explanation.html", panel)


def _matches_formula(own: Estimate) -> bool:
    """Return whether the value equals (observed - expected) / (1 - expected), as printed."""
    observed, expected = own.get("observed"), own.get("expected")
    if observed is None or expected is None or expected >= 1:
        return False
    return bool(abs((observed - expected) / (1 - expected) - own["value"]) < FORMULA_TOLERANCE)


@register.simple_tag
def has_untimed_imports(project: Project, rater: Rater | None = None) -> bool:
    """Return whether a file with ratings without times was imported in the project.

    Such ratings have the time of the import. With ``rater``, only if ratings of that rater were
    imported, too.
    """
    if not ImportRun.has_untimed_ratings(project.pk):
        return False
    if not rater:
        return True
    imported = Revision.objects.filter(source=Revision.Source.IMPORT, rating__rater=rater)
    return imported.exists()


@register.filter
def coefficient_or_term_name(name: str) -> str | Promise:
    """Return the display name of a coefficient, with its weights, or of a term."""
    title = display_names.get_coefficient_name(name)
    return display_names.get_explanation(name)[0] if title == name else title


@register.filter
def policy_name(name: str) -> str | Promise:
    """Return the name of a policy for missing ratings, in the reader's language."""
    return display_names.MISSING_POLICY_NAMES.get(name, name)


@register.filter
@register.simple_tag
def sample_size(value: Estimate) -> str:
    """Return the number of items that an estimate is based on, or of rater pairs."""
    n_pairs = value.get("n_pairs")
    if n_pairs is not None:
        return ngettext("%(n)s pair", "%(n)s pairs", n_pairs) % {
            "n": number_formats.format_count(n_pairs)
        }
    n_items = value["n_items"] or 0
    return ngettext("%(n)s item", "%(n)s items", n_items) % {
        "n": number_formats.format_count(n_items)
    }


@register.filter
def scored_coefficient_name(name: str) -> str | Promise:
    """Return the display name of a coefficient whose weights come from scores."""
    base = name.removesuffix("_custom")
    return (
        display_names.get_coefficient_name(name)
        if base == name
        else display_names.get_score_weighted_name(base)
    )


@register.filter
def weights_name(name: str) -> str | Promise:
    """Return a weighting's name in the reader's language; ``name`` itself if it is unknown."""
    return display_names.WEIGHTING_NAMES.get(name, name)


@register.filter
def period_name(name: str) -> str | Promise:
    """Return the name of a day, week or month as a period, in the reader's language."""
    return display_names.PERIOD_NAMES.get(name, name)


@register.filter
def get_item(mapping: Mapping[str, Any] | None, key: str) -> Any:
    """Return the entry of a mapping under a key that is a variable; None if it has none."""
    return (mapping or {}).get(key)


@register.filter
@register.simple_tag
@export_as(number_formats.format_category_counts)
def category_counts(counts: Sequence[tuple[str, int]]) -> SafeString:
    """Render counts by category: "minor ×3, major ×1"."""
    return format_html_join(
        get_list_separator(),
        "{} <strong>×{}</strong>",
        ((label, number_formats.format_count(n)) for label, n in counts),
    )


@register.filter
def percentage_points(value: float) -> str:
    """Format a difference of shares in signed percentage points; in a CSV file as a share.

    It has one decimal, like the shares beside it, so that 57.4 and 57.9 do not look equal.
    """
    if tables.is_exporting():
        return number_formats.format_number(value)
    rounded = round(100 * value, 1)
    return f"{'+' if rounded > 0 else ''}{number_format(rounded + 0.0, 1)}"


@register.filter
def p_value(value: float | None) -> str:
    """Format a p value with three decimals, or as less than 0.001."""
    if value is None:
        return "–"
    if tables.is_exporting():
        return repr(tables.limit_digits(float(value)))
    return (
        "< " + number_format(0.001, 3) if value < 0.001 else number_formats.format_number(value, 3)
    )


@register.filter
def undefined_reason_of_test(test: Any) -> str | Promise:
    """Return why a test is undefined, in plain words."""
    return display_names.get_undefined_reason(test.reason)


@register.filter
def item_preview(item: Item) -> SafeString | str:
    """Render the item's image or first words for a list; in a CSV file its key."""
    return item.key if tables.is_exporting() else content.render_inline(item.body)


@register.filter
def item_name(item: Item) -> SafeString | str:
    """Render the item by its image or first words, or by its key without any.

    In a CSV file always by its key.
    """
    if tables.is_exporting():
        return item.key
    return content.render_inline(item.body, item.key) or item.key
