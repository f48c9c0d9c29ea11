"""Small inline charts: sparklines, bars, and an interval on a scale."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from core.web.tables import format_cell, is_exporting
from metrics.agreement.explain import bands
from metrics.views.common import number_formats
from metrics.views.common.trends.recent_weeks import RecentWeeks

register = template.Library()

Estimate = Mapping[str, Any]


@register.simple_tag
def sparkline(
    values: Sequence[float | None] | None,
    least: float = 0.4,
    *,
    scale: tuple[float, float] | None = None,
    span: str = "week",
    n_items: int | None = None,
) -> SafeString:
    """Render a sparkline of the values, one a ``span``, with gaps for None; "" with fewer than two.

    Its height covers ``least`` or more, or exactly ``scale``, so that lines of one table are
    comparable. Its label for screen readers has the first and the last value, and the number of
    periods and items. In a file, the values replace it.
    """
    defined = [value for value in values or [] if value is not None]
    if len(defined) < 2 or values is None:
        return mark_safe("")
    if is_exporting():
        return SafeString(format_cell(values))
    padding = max(least - (max(defined) - min(defined)), 0.0) / 2
    bottom, top = scale or (min(defined) - padding, max(defined) + padding)
    step = 94 / (len(values) - 1)
    points = [
        None
        if value is None
        else (3 + index * step, 21 - 18 * (min(max(value, bottom), top) - bottom) / (top - bottom))
        for index, value in enumerate(values)
    ]
    path = " ".join(_build_path(points))
    x, y = [point for point in points if point][-1]
    title = _describe_line(defined, span, n_items)
    baseline = '<path class="spark__ground" d="M3 21H97"/>' if scale else ""
    return _mark_svg_safe(
        f'<svg class="spark" viewBox="0 0 100 24" role="img" aria-label="{escape(title)}">'
        f'{baseline}<path d="{path}"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/></svg>'
    )


@register.simple_tag
def agreement_sparkline(trend: RecentWeeks | None) -> SafeString:
    """Render a sparkline of a question's headline over the newest weeks; "" without a trend.

    It has the scale from 0 to 1, so that a flat line and a varying one look different in a list.
    """
    if trend is None:
        return mark_safe("")
    return sparkline(trend.values, scale=(0.0, 1.0), n_items=trend.n_items)


def _describe_line(defined: Sequence[float], span: str, n_items: int | None) -> str:
    """Return the label of a line: first and last value, and numbers of periods and items."""
    n, language = len(defined), get_language()
    period_counts = {
        "day": ngettext("%(n)s day", "%(n)s days", n),
        "week": ngettext("%(n)s week", "%(n)s weeks", n),
        "month": ngettext("%(n)s month", "%(n)s months", n),
    }
    params = {
        "first": number_formats.format_number_in(defined[0], 2, language),
        "last": number_formats.format_number_in(defined[-1], 2, language),
        "periods": period_counts[span] % {"n": number_formats.format_count(n)},
    }
    if n_items is None:
        return _("from %(first)s to %(last)s, %(periods)s") % params
    items = ngettext("%(n)s item", "%(n)s items", n_items) % {
        "n": number_formats.format_count(n_items)
    }
    return _("from %(first)s to %(last)s, %(periods)s, %(items)s") % (params | {"items": items})


def _build_path(points: Sequence[tuple[float, float] | None]) -> list[str]:
    """Return the SVG path commands through the points, interrupted where a point is None."""
    commands, is_pen_down = [], False
    for point in points:
        if point:
            commands.append(f"{'L' if is_pen_down else 'M'}{point[0]:.1f} {point[1]:.1f}")
        is_pen_down = point is not None
    return commands


def _format_position(value: float, low: float = -0.2, high: float = 1.0) -> str:
    return f"{4 + 72 * (min(max(value, low), high) - low) / (high - low):.1f}"


@register.simple_tag
def interval_chart_scale() -> SafeString:
    """Render the ends of the scale that the interval charts of a column share."""
    ends = "".join(f'<text x="{_format_position(end)}" y="12">{end:g}</text>' for end in (0.0, 1.0))
    return _mark_svg_safe(
        f'<svg class="whisker" viewBox="0 0 80 16" aria-hidden="true">{ends}</svg>'
    )


@register.simple_tag
def interval_chart(value: Estimate | None, low: float = -0.2, high: float = 1.0) -> SafeString:
    """Render an estimate on a scale: interval as a line, value as a dot, zero as a tick.

    Where the scale begins at zero, its end has a tick too. Empty without a value.
    """
    if not value or value.get("value") is None:
        return mark_safe("")

    def format_x(number: float) -> str:
        return _format_position(number, low, high)

    line, language = "", get_language()
    title = number_formats.format_number_in(value["value"], 2, language)
    if value.get("low") is not None and value.get("high") is not None:
        start, end = format_x(value["low"]), format_x(value["high"])
        line = f'<path class="whisker__line" d="M{start} 8H{end}"/>'
        title = _("%(value)s, from %(low)s to %(high)s") % {
            "value": title,
            "low": number_formats.format_number_in(value["low"], 2, language),
            "high": number_formats.format_number_in(value["high"], 2, language),
        }
    axis = f"M{format_x(0.0)} 3V13M{format_x(0.0)} 8H" + (
        f"76M{format_x(high)} 3V13" if low >= 0 else "78"
    )
    return _mark_svg_safe(
        f'<svg class="whisker" viewBox="0 0 80 16" role="img" aria-label="{escape(title)}">'
        f'<path class="whisker__axis" d="{axis}"/>'
        f'{line}<circle cx="{format_x(value["value"])}" cy="8" r="3.5"/></svg>'
    )


@register.simple_tag
def share_bar(part: int, of: int) -> SafeString:
    """Render a bar whose filled part is the share ``part`` / ``of``."""
    width = 100 * part / of if of else 0
    return format_html(
        '<svg class="share-bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="share-bar__ground" width="100" height="8"/><rect width="{}" '
        'height="8"/></svg>',
        f"{width:.2f}",
    )


@register.simple_tag
def paired_bars(own_share: float, others_share: float) -> SafeString:
    """Render two shares as bars, one below the other; a share of 1 has the full width."""
    return format_html(
        '<svg class="paired-bars" viewBox="0 0 120 16" aria-hidden="true">'
        '<rect class="paired-bars__own" y="2" width="{}" height="5"/>'
        '<rect class="paired-bars__others" y="9" width="{}" height="5"/></svg>',
        f"{120 * own_share:.1f}", f"{120 * others_share:.1f}",
    )  # fmt: skip


@register.simple_tag
def change_bar(part: float | None, move: float | None) -> SafeString:
    """Render the contribution ``part`` to the change ``move`` as a bar from zero; "" without one.

    A positive part points to the right. Half the width is the whole change.
    """
    if part is None or not move:
        return mark_safe("")
    width = min(abs(part / move), 1.0) * 58
    side, start = ("less", 60.0) if part > 0 else ("more", 60 - width)
    return format_html(
        '<svg class="bias-bar" viewBox="0 0 120 16" aria-hidden="true">'
        '<rect class="bias-bar__{}" x="{}" y="3" width="{}" height="10"/>'
        '<path class="whisker__axis" d="M60 1V15"/></svg>',
        side, f"{start:.1f}", f"{width:.1f}",
    )  # fmt: skip


MARK_RADIUS = 6.5  # of each circle, in a box of 24


@register.inclusion_tag("_mark.html")
def agreement_mark(value: float) -> dict[str, str]:
    """Return the coordinates of the mark: two circles that touch at value 0 and coincide at 1."""
    distance = MARK_RADIUS * (1 - min(max(value, 0.0), 1.0))  # of a center from the middle
    half_height = math.sqrt(MARK_RADIUS**2 - distance**2)
    numbers = {
        "left": 12 - distance,
        "right": 12 + distance,
        "top": 12 - half_height,
        "bottom": 12 + half_height,
    }
    return {name: f"{number:.2f}" for name, number in numbers.items()}


@register.simple_tag
def band_scale(value: Estimate, scheme: str, target: float | None = None) -> SafeString:
    """Render the bands of a scheme from 0 to 1, an interval with its value, and the target."""

    def format_x(number: float) -> str:
        return f"{4 + 392 * min(max(number, 0.0), 1.0):.1f}"

    edges = [0.0, *(band.low for band in bands.get_bands(scheme) if band.low > 0), 1.0]
    rows = []
    for low, high in itertools.pairwise(edges):
        rows.append((format_x(low), f"{392 * (high - low) - 2.4:.1f}"))
    step = '<rect class="band-scale__step" x="{}" y="6" width="{}" height="6" rx="1"/>'
    steps = format_html_join("", step, rows)
    if target is not None:
        steps += format_html('<path class="band-scale__bar" d="M{} 1V17"/>', format_x(target))
    line = mark_safe("")
    if value.get("low") is not None and value.get("high") is not None:
        line = format_html(
            '<path class="band-scale__line" d="M{} 9H{}"/>',
            format_x(value["low"]),
            format_x(value["high"]),
        )
    return format_html(
        '<svg class="band-scale" viewBox="0 0 400 18" aria-hidden="true">{}{}<circle cx="{}" '
        'cy="9" r="5"/></svg>',
        steps, line, format_x(value["value"]),
    )  # fmt: skip


def _mark_svg_safe(html: str) -> SafeString:
    """Mark HTML as safe that this module built from formatted numbers only.

    Escaping it would be slow: a page has hundreds of these.
    """
    return mark_safe(html)  # noqa: S308
