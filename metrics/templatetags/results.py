"""Numbers as people read them: two decimals with their interval, words for what is undefined."""

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

from core.web import tables
from metrics.agreement.explain import bands
from metrics.views.common import coefficient_advice, display_names, getting_started, number_formats
from metrics.views.common.getting_started import Step
from projects.models import Item, Project
from ratings.items import content
from ratings.models import ImportRun

register = template.Library()

Reading = Mapping[str, Any]
BAND_STEPS = 5  # between the six colours of bands (tokens.css): no scheme has more words
SUMS = 0.005

register.filter("figure", number_formats.figure)
register.filter("signed", number_formats.signed)
register.filter("whole", number_formats.whole)
register.filter("about", number_formats.about)
register.filter("percent", number_formats.percent)
register.filter("interval", number_formats.interval)


@register.filter(expects_localtime=True)
def clock(moment: datetime.datetime) -> str:
    """A moment with its zone, also in the hour that clocks show twice: Django's filter leaves the
    zone out there."""
    return f"{moment:%Y-%m-%d %H:%M:%S %Z}"


@register.filter
def why(reading: Reading | None) -> str | Promise:
    """Why a reading has no value, in plain words."""
    return display_names.reason(reading.get("reason") if reading else None)


@register.simple_tag
def reading(value: Reading | None, signed: bool = False) -> SafeString:
    """A reading in a line or a cell: value and interval, or a dash that tells its reason."""
    if not value or value.get("value") is None:
        return format_html(
            '<span class="reading reading--none" title="{0}">–<span class="visually-hidden"> '
            "{0}</span></span>",
            why(value),
        )
    is_more = signed and value["value"] > 0 and not tables.is_made()
    language, sign = get_language(), "+" if is_more else ""
    text = f"{sign}{number_formats.in_language(value['value'], 2, language)}"
    interval = (
        f'<span class="reading__interval">{number_formats.interval_in(value, language)}</span>'
    )
    # Only numbers vary, as they are written here: nothing to escape, and a page has hundreds.
    return mark_safe(f'<span class="reading">{text} {interval}</span>')  # noqa: S308


@register.simple_tag
def n_done(steps: Sequence[Step]) -> int:
    """How many steps of the card for new projects are done."""
    return getting_started.n_done(steps)


@register.simple_tag
def band_sign(reading: Reading | None, scheme: str) -> SafeString:
    """The band of a coefficient with its dot, whose colour says where it stands among the scheme's
    bands; none where the interval passes too many of them."""
    found = bands.band_of(reading["value"], scheme) if reading else None
    if reading is None or found is None:
        return SafeString("")
    if bands.too_early(reading.get("n_items"), reading.get("low"), reading.get("high"), scheme):
        return format_html('<span class="muted small">{}</span>', _("too early to say"))
    all_bands = bands.bands(scheme)
    step = round(all_bands.index(found) / (len(all_bands) - 1) * BAND_STEPS)
    return format_html('<span class="band band--{}">{}</span>', step, display_names.band(found))


@register.filter
def total(counts: Iterable[int]) -> int:
    return sum(counts)


@register.filter
def sure_band(reading: Reading | None, scheme: str) -> str:
    """The band that the true value reaches or passes with 95 % probability; empty without a
    standard error, where that is 0, as of few ratings that all agree, and of the lowest band,
    which everything reaches."""
    if not reading or not reading["se"]:
        return ""
    value, se = reading["value"], reading["se"]
    df = bands.freedom(value, reading["low"], se)
    found = bands.safe_band(value, se, scheme, df=df)
    return "" if found == bands.bands(scheme)[0] else str(display_names.band(found))


@register.filter
def fits(name: str, scheme: str) -> bool:
    """Whether the scheme's words were made for this coefficient."""
    return bands.fits(name, scheme)


@register.filter
def reaches(reading: Reading, bar: float) -> str:
    """Where a reading stands against the project's bar: above or below it, or on both sides with
    its interval."""
    low, high = reading.get("low"), reading.get("high")
    if low is not None and low >= bar:
        return "above"
    if high is not None and high < bar:
        return "below"
    return "unsure" if low is not None else ("above" if reading["value"] >= bar else "below")


@register.filter
def test_name(name: str) -> str | Promise:
    return display_names.coefficient(name)


@register.filter
def coefficient_name(name: str) -> str | Promise:
    return display_names.coefficient(name)


@register.simple_tag(takes_context=True)
def explain(context: template.Context, name: str, own: Reading | None = None) -> SafeString:
    """A button that says what a coefficient, a column or a sign is, and where the reading ``own``
    lies on its scale: the text opens beside it without a script, and stands on a page of its own
    with all others. A page says each text once, however many buttons there are."""
    title, text = display_names.explained(name)
    found, project = coefficient_advice.of(name), context.get("project")
    if found is None or project is None or not own or own.get("value") is None:
        own = None
    key = display_names.plain(name)
    if own is not None:
        title = display_names.coefficient(name)
        figure_said = "-".join(f"{own.get(end) or 0:.2f}" for end in ("value", "low", "high"))
        key = f"{name}-{figure_said.replace('.', '')}"
    button = format_html(
        '<button type="button" class="help" popovertarget="help-{}" aria-label="{}">?</button>',
        key,
        _("About: %(what)s") % {"what": title},
    )
    request = context.get("request")
    said = request.__dict__.setdefault("_explained", set()) if request is not None else set()
    if key in said:
        return button
    said.add(key)
    panel = {
        "key": key,
        "plain": display_names.plain(name),
        "title": title,
        "text": text,
        "own": own,
        "sums_up": own is not None and _sums_up(own),
        "scheme": project.band_scheme if project else "",
        "advice": found,
        "weighted": coefficient_advice.weighted(name) if found else None,
        "has_formula": found is not None,
    }
    return button + render_to_string("metrics/common/_explanation.html", panel)


def _sums_up(own: Reading) -> bool:
    """Whether the value is what chance leaves of the observed agreement, as printed."""
    observed, expected = own.get("observed"), own.get("expected")
    if observed is None or expected is None or expected >= 1:
        return False
    return bool(abs((observed - expected) / (1 - expected) - own["value"]) < SUMS)


@register.simple_tag
def came_without_times(project: Project) -> bool:
    """Whether a file brought ratings without a time: they have that of its import."""
    runs = ImportRun.objects.filter(project=project, state=ImportRun.State.DONE)
    return runs.filter(summary__untimed__gt=0).exists()


@register.filter
def explained_name(name: str) -> str | Promise:
    """What a coefficient or a sign is called; under weights with them."""
    found = display_names.coefficient(name)
    return display_names.explained(name)[0] if found == name else found


@register.filter
def policy_name(name: str) -> str | Promise:
    return display_names.POLICIES.get(name, name)


@register.simple_tag
def rests_on(value: Reading) -> str:
    """The items that a reading rests on, or the pairs of raters."""
    n_pairs = value.get("n_pairs")
    if n_pairs is not None:
        return ngettext("%(n)s pair", "%(n)s pairs", n_pairs) % {"n": number_formats.whole(n_pairs)}
    n_items = value["n_items"] or 0
    return ngettext("%(n)s item", "%(n)s items", n_items) % {"n": number_formats.whole(n_items)}


@register.filter
def scored_name(name: str) -> str | Promise:
    """A coefficient under weights that scores give."""
    base = name.removesuffix("_custom")
    return display_names.coefficient(name) if base == name else display_names.on_scores(base)


@register.filter
def weights_name(name: str) -> str | Promise:
    return display_names.WEIGHTS.get(name, name)


@register.filter
def period_name(name: str) -> str | Promise:
    return display_names.PERIODS.get(name, name)


@register.filter
def get(mapping: Mapping[str, Any] | None, key: str) -> Any:
    """The entry of a mapping under a key that only the page knows; None when it is not there."""
    return (mapping or {}).get(key)


@register.simple_tag
def shares(counts: Sequence[tuple[str, int]]) -> SafeString:
    """Counts by category in words: "minor 3, major 1"."""
    return format_html_join(
        ", ", "{} <strong>{}</strong>", ((label, number_formats.whole(n)) for label, n in counts)
    )


@register.filter
def points(value: float) -> str:
    """A difference of shares in percentage points with its sign; in a table's file as shares. One
    decimal, and so the shares beside it: of 57.4 and 57.9 nobody reads that they are the same."""
    if tables.is_made():
        return number_formats.figure(value)
    rounded = round(100 * value, 1)
    return f"{'+' if rounded > 0 else ''}{number_format(rounded + 0.0, 1)}"


@register.filter
def p_value(value: float | None) -> str:
    """A p value: three decimals, or that it is smaller."""
    if value is None:
        return "–"
    if tables.is_made():
        return number_formats.figure(value)
    return "< " + number_format(0.001, 3) if value < 0.001 else number_formats.figure(value, 3)


@register.filter
def why_test(test: Any) -> str | Promise:
    return display_names.reason(test.reason)


@register.filter
def in_a_line(item: Item) -> SafeString | str:
    """The item's picture or first words, for a line of a list; in a table's file its key."""
    return item.key if tables.is_made() else content.in_a_line(item.body)


@register.filter
def called(item: Item) -> SafeString | str:
    """The item by its picture or first words, or by its key where it has none; in a table's file by
    its key."""
    if tables.is_made():
        return item.key
    return content.in_a_line(item.body, item.key) or item.key
