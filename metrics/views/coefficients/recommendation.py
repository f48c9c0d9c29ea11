"""Which coefficient? Answered from a question's own facts, out of the one table
(metrics.agreement.headline)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from metrics.agreement import headline as table
from metrics.agreement.headline import Facts
from metrics.agreement.registry import MEAN_BY_ITEMS
from metrics.agreement.weights import weighted
from metrics.models import Reading
from metrics.views.common import display_names
from metrics.views.common.selection import Selection
from projects.models import Scale

PAIR = "pair"  # it stands on the pages of two raters
RATERS = "raters"  # in the table of raters


@dataclass(frozen=True)
class Purpose:
    """What somebody wants to know beside the first number, the coefficient that tells it, and where
    it stands: on the page of all, of two raters, or in the table of raters."""

    words: str | Promise
    name: str
    where: str = ""


def context(chosen: Selection, reading: Reading | None) -> dict[str, Any]:
    first = reading.headline if reading and reading.headline else {}
    n_raters = first.get("n_people", 0) or first.get("n_models", 0)
    scale = chosen.scale
    facts = Facts(scale.kind, n_raters, scale.weights, first.get("complete", False))
    by_table = table.headline(facts)
    return {
        "first": chosen.first,
        "why": display_names.why(by_table.why, by_table.name),
        "by_table": by_table,
        "facts": facts,
        "missing": reading.details if reading else {},
        "n_models": first.get("n_models", 0),
        "rows": [_row(told, by_table.why, scale.kind) for told in table.TABLE],
        "purposes": purposes(facts, n_models=first.get("n_models", 0)),
    }


def _row(told: table.Told, why: str, kind: str) -> dict[str, Any]:
    return {
        "scales": [Scale(name).label for name in told.scales],
        "raters": gettext(told.raters),
        "complete": gettext(told.complete),
        "coefficient": gettext(told.coefficient),
        "mine": told.why == why and kind in told.scales,
    }


def purposes(facts: Facts, *, n_models: int) -> list[Purpose]:
    """What else one may want to know of such a question."""
    kappa = weighted(table.COHEN, facts.weighting)
    found = [
        Purpose(_("Nearly all answers are the same, and kappa looks too low"), "gwet_ac1"),
        Purpose(_("Many ratings are missing"), facts.alpha),
        Purpose(_("Which category is unclear"), "fleiss_kappa_category"),
    ]
    if facts.n_raters > 2:
        these = weighted(MEAN_BY_ITEMS, facts.weighting)
        found.append(Purpose(_("These very raters, not any raters"), these))
        found.append(Purpose(_("Two of them with each other"), kappa, PAIR))
    found.append(Purpose(_("One rater with all others"), "vs_peers", RATERS))
    if facts.type.numeric:
        found += [
            Purpose(_("The mean of all raters will be used, not one rating"), "icc2k"),
            Purpose(_("The level does not matter, only the distances"), "icc3"),
        ]
    if facts.type.ordered:
        found.append(Purpose(_("The same order is enough"), "kendall_w"))
    found.append(Purpose(_("Do two raters use the categories alike?"), "stuart_maxwell", PAIR))
    if n_models:
        found.append(Purpose(_("Can a model stand in for people?"), "groups", RATERS))
    return found
