"""What changed between two periods, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from metrics.models import Span
from metrics.views.common import display_names
from metrics.views.common.number_formats import figure, interval, signed, whole
from metrics.views.common.trends.period_comparison import LAST, Change

from .contributions import Part, Told

TELLING = 0.2  # what explains a smaller share of the move is not put into a sentence


def sentences(change: Change, found: Told) -> list[str]:
    """What happened, whether it is more than chance, and what explains most of it."""
    before, after, move = found.result["before"], found.result["after"], found.result["move"]
    names = {
        "from": change.before.named if change.before else "",
        "to": change.after.named if change.after else "",
    }
    if move is None:
        undefined = "from" if before["value"] is None else "to"
        side = before if undefined == "from" else after
        name = names[undefined]
        why = display_names.reason(side["reason"])
        return [
            _("There is no move to explain: agreement in %(period)s is undefined, %(why)s.")
            % {"period": name, "why": why}
        ]
    numbers = {
        name: f"{figure(r['value'])} {interval(r)}".strip()
        for name, r in (("before", before), ("after", after))
    }
    if abs(move) < 0.005:
        said = _("Agreement stayed at %(before)s between %(from)s and %(to)s, then %(after)s.")
    elif not found.clear:
        said = _("Agreement was %(before)s in %(from)s and %(after)s in %(to)s.")
    elif move < 0:
        said = _("Agreement fell from %(before)s to %(after)s between %(from)s and %(to)s.")
    else:
        said = _("Agreement rose from %(before)s to %(after)s between %(from)s and %(to)s.")
    lines = [said % (numbers | names)]
    if change.opened == LAST:
        lines.append(_chance(change))
    elif not found.clear:
        lines.append(
            _(
                "That is within two standard errors: it may be chance, and so may what seems to "
                "explain it."
            )
        )
    else:
        lines += [_without(part) for part in _telling(found, move)]
        lines += [_against(part) for part in _opposing(found, move)]
    return lines + [_shifted(shift) for shift in found.shifts[:1]]


def _chance(change: Change) -> str:
    """That these are the last two periods, and no move."""
    if change.n_moves == 0:
        return _(
            "One of the two has few items: what moved between them may be chance, and so may what "
            "seems to explain it."
        )
    if change.n_moves == 1:
        return _(
            "That is the only move between neighbouring periods with enough items, and it may be "
            "chance; so may what seems to explain it."
        )
    if change.span == Span.MONTH:
        said = _(
            "None of the last %(n)s moves from month to month is beyond chance. These are the last "
            "two months, and what seems to explain their difference may be chance."
        )
    else:
        said = _(
            "None of the last %(n)s moves from week to week is beyond chance. These are the last "
            "two weeks, and what seems to explain their difference may be chance."
        )
    return said % {"n": whole(change.n_moves)}


def _shifted(shift: Mapping[str, Any]) -> str:
    told = {
        "a": shift["a"].key,
        "b": shift["b"].key,
        "before": signed(shift["bias"][0]),
        "after": signed(shift["bias"][1]),
    }
    return (
        _(
            "%(a)s moved against %(b)s: a mean difference of %(before)s became %(after)s on the "
            "items that both rated."
        )
        % told
    )


def _telling(found: Told, move: float) -> list[Part]:
    """The strongest part of each kind, when it explains enough of the move."""
    strongest = []
    for parts in (found.raters, found.categories, *(parts for _name, parts in found.attributes)):
        shares = [
            (part.found["contribution"] / move, part)
            for part in parts
            if part.found["contribution"] is not None
        ]
        share, part = max(shares, key=lambda pair: pair[0], default=(0.0, None))
        if part is not None and share >= TELLING:
            strongest.append(part)
    return strongest


def _opposing(found: Told, move: float) -> list[Part]:
    """The rater who pulled most the other way, when it was by enough of the move."""
    shares = [
        (part.found["contribution"] / move, part)
        for part in found.raters
        if part.found["contribution"]
    ]
    return [
        part for share, part in sorted(shares, key=lambda pair: pair[0])[:1] if share <= -TELLING
    ]


def _against(part: Part) -> str:
    values = {
        "name": part.name,
        "before": figure(part.found["before"]),
        "after": figure(part.found["after"]),
    }
    return (
        _(
            "%(name)s pulled the other way: without, it would have gone from %(before)s to "
            "%(after)s."
        )
        % values
    )


def _without(part: Part) -> str:
    values = {
        "name": part.name,
        "before": figure(part.found["before"]),
        "after": figure(part.found["after"]),
    }
    if part.rater:
        return _("Without %(name)s it would have gone from %(before)s to %(after)s.") % values
    if not part.of_items:
        return (
            _("Without the ratings “%(name)s” it would have gone from %(before)s to %(after)s.")
            % values
        )
    values["kind"] = part.kind
    return (
        _(
            "Without the items with %(kind)s “%(name)s” it would have gone from %(before)s to "
            "%(after)s."
        )
        % values
    )
