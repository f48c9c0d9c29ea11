"""What a report says of ratings on which what is read first does not rest."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from metrics.views.common import display_names
from metrics.views.common.number_formats import figure, interval, whole


def reading(value: dict[str, Any]) -> str:
    """0.43 [0.38, 0.48], or why there is no value."""
    if value["value"] is None:
        return _("undefined: %(why)s") % {"why": display_names.reason(value["reason"])}
    return f"{figure(value['value'])} {interval(value)}".strip()


def sentence(first: dict[str, Any]) -> str:
    """How many ratings were left out and why, and what it would be with them (readings.drawn);
    empty where it rests on all."""
    if "drawn" not in first:
        return ""
    left_out, of_all = first["drawn"]["left_out"], first["pooled"]
    said = ngettext(
        "It rests on ratings drawn at random: %(n)s rating that was asked for because others had "
        "left its item in doubt is left out. %(coefficient)s of all ratings is %(value)s.",
        "It rests on ratings drawn at random: %(n)s ratings that were asked for because others had "
        "left their items in doubt are left out. %(coefficient)s of all ratings is %(value)s.",
        left_out,
    )
    return said % {
        "n": whole(left_out),
        "coefficient": display_names.coefficient(of_all["name"]),
        "value": reading(of_all["value"]),
    }
