"""Recommendation of a coefficient from the facts of a question.

Uses the table of metrics.agreement.headline.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from metrics.agreement import headline as headline_rules
from metrics.agreement.headline import HeadlineFacts
from metrics.agreement.registry import MEAN_BY_ITEMS
from metrics.agreement.weights import get_weighted_name
from metrics.results.question_agreement import QuestionAgreement
from metrics.views.common import display_names
from metrics.views.common.selection import Selection
from projects.models import Scale

PAIR = "pair"  # shown on the page of two raters
RATERS = "raters"  # shown in the table of raters


@dataclass(frozen=True)
class CoefficientPurpose:
    """A question that a user may have, and the coefficient that answers it.

    ``where``: the page that shows it: empty (all coefficients), PAIR or RATERS.
    """

    label: str | Promise
    name: str
    where: str = ""


def build_context(selection: Selection, agreement: QuestionAgreement | None) -> dict[str, object]:
    """Return the template context: the headline and why, the table, and other purposes."""
    headline = agreement.headline if agreement and agreement.headline else {}
    n_raters = headline.get("n_people", 0) or headline.get("n_models", 0)
    scale = selection.scale
    facts = HeadlineFacts(scale.kind, n_raters, scale.weights, headline.get("complete", False))
    recommended = headline_rules.choose_headline(facts)
    return {
        "first": selection.headline,
        "why": display_names.get_headline_reason(recommended.reason, recommended.name),
        "by_table": recommended,
        "facts": facts,
        "missing": agreement.details if agreement else {},
        "n_models": headline.get("n_models", 0),
        "rows": [
            _build_table_row(table_row, recommended.reason, scale.kind)
            for table_row in headline_rules.TABLE
        ],
        "purposes": list_purposes(facts, n_models=headline.get("n_models", 0)),
    }


def _build_table_row(
    table_row: headline_rules.HeadlineTableRow, why: str, kind: str
) -> dict[str, object]:
    return {
        "scales": [Scale(name).label for name in table_row.scales],
        "raters": gettext(table_row.raters),
        "complete": gettext(table_row.complete),
        "coefficient": gettext(table_row.coefficient),
        "mine": table_row.reason == why and kind in table_row.scales,
    }


def list_purposes(facts: HeadlineFacts, *, n_models: int) -> list[CoefficientPurpose]:
    """Return other purposes that suit such a question, each with its coefficient."""
    kappa = get_weighted_name(headline_rules.COHEN, facts.weighting)
    suggestions = [
        CoefficientPurpose(_("One answer prevails"), "gwet_ac1"),
        CoefficientPurpose(_("Many ratings are missing"), facts.alpha_name),
        CoefficientPurpose(_("Unclear categories"), "fleiss_kappa_category"),
    ]
    if facts.n_raters > 2:
        mean_kappa = get_weighted_name(MEAN_BY_ITEMS, facts.weighting)
        suggestions.append(CoefficientPurpose(_("These raters only"), mean_kappa))
        suggestions.append(CoefficientPurpose(_("Two raters"), kappa, PAIR))
    suggestions.append(CoefficientPurpose(_("One rater against the others"), "vs_peers", RATERS))
    if facts.scale_type.numeric:
        suggestions += [
            CoefficientPurpose(_("The raters’ mean is used"), "icc2k"),
            CoefficientPurpose(_("Only distances matter"), "icc3"),
        ]
    if facts.scale_type.ordered:
        suggestions.append(CoefficientPurpose(_("Only the order matters"), "kendall_w"))
    suggestions.append(CoefficientPurpose(_("Two raters’ category use"), "stuart_maxwell", PAIR))
    if n_models:
        suggestions.append(CoefficientPurpose(_("Can models replace people?"), "groups", RATERS))
    return suggestions
