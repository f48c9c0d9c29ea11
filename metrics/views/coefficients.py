"""Pages of the coefficients of a question, and of the recommended one.

Each coefficient is shown with its band, and under each policy for missing ratings. The
recommendation follows from the facts of the question and the table of metrics.agreement.headline.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from metrics.agreement import headline as headline_rules
from metrics.agreement.coefficients.intraclass.icc import ICC_NAMES as ICCS
from metrics.agreement.explain import bands
from metrics.agreement.headline import HeadlineFacts
from metrics.agreement.registry import MEAN_BY_ITEMS
from metrics.agreement.weights import get_weighted_name
from metrics.filters import ITEM_PREFIX, build_invalid_value_error, is_filterable_attribute
from metrics.results import pair_results
from metrics.results.other_weights import CATEGORY_VALUES
from metrics.results.pair_results import PairDetails, load_pair_table
from metrics.results.question_agreement import QuestionAgreement
from metrics.results.stored_values import Value, Values
from metrics.views.common import display_names, live_updates
from metrics.views.common.filter_bar import FilterBar
from metrics.views.common.headline_texts import build_cluster_note
from metrics.views.common.live_updates import LiveSettings
from metrics.views.common.selection import Selection, get_permitted_selection
from metrics.views.common.sources import get_sources
from metrics.views.common.sources.filtered import CoefficientSource
from projects.models import Rater, Scale

# Forms of the correlations of incomplete designs, as ten Hove et al. 2024 name them.
INCOMPLETE_ICCS = {
    "icc2_incomplete": "ICC(A,1)",
    "icc3_incomplete": "ICC(C,1)",
    "icc2k_incomplete": "ICC(A,k)",
    "iccqk_incomplete": "ICC(Q,k)",
}
LIVE = LiveSettings(
    seconds=2,
    fragments=(
        "coefficients",
        "iccs",
        "incomplete",
        "policies",
        "categories",
        "kappas",
        "tests",
        "others",
        "scored",
    ),
)


@dataclass(frozen=True)
class CoefficientRow:
    """A coefficient with its estimate and the name of its band.

    ``has_band_mismatch``: the band scheme was made for another coefficient; ``is_uncertain``: there
    are too few data to name a band.
    """

    name: str
    estimate: Value
    band: str | Promise
    has_band_mismatch: bool
    is_uncertain: bool

    @property
    def expected(self) -> float | None:
        """Return the agreement by chance; None where the coefficient is not corrected for it."""
        is_corrected = display_names.is_chance_corrected(self.name)
        return self.estimate.get("expected") if is_corrected else None

    @classmethod
    def from_estimate(cls, name: str, estimate: Value, scheme: str) -> CoefficientRow:
        band_name, has_band_mismatch = display_names.get_band_and_mismatch(
            name, estimate["value"], scheme
        )
        is_uncertain = bool(band_name) and bands.is_inconclusive(
            estimate.get("n_items"), estimate.get("low"), estimate.get("high"), scheme
        )
        return cls(name, estimate, band_name, has_band_mismatch, is_uncertain)


def _build_coefficients_context(
    selection: Selection, source: CoefficientSource
) -> dict[str, object]:
    """Return the template context; empty until a worker has computed the coefficients."""
    body = source.body
    if body is None:
        return {}
    estimates, clusters = body.coefficients, body.clusters
    scheme = selection.project.band_scheme
    coefficient_rows = [
        CoefficientRow.from_estimate(name, estimates[name], scheme)
        for name in estimates
        if name not in ICCS
    ]
    details = pair = None
    if len(body.raters) == 2 and not selection.filter:
        pair = get_rater_pair(body.raters)
        table = load_pair_table(selection.question, *pair, selection.scale)
        details = PairDetails.from_table(table, selection.scale, clusters)
    return {
        "body": body,
        "listed": coefficient_rows,
        "cluster_note": build_cluster_note(selection.project, clusters, selection.headline["name"])
        if clusters
        else "",
        "loose": any(coefficient_row.has_band_mismatch for coefficient_row in coefficient_rows),
        "iccs": _list_iccs(estimates),
        "incomplete": [(INCOMPLETE_ICCS[name], body.incomplete[name]) for name in body.incomplete],
        "policies": body.policies,
        "scored": body.scored,
        "scored_labels": list(zip(selection.scale.labels, body.scored["scores"], strict=False))
        if body.scored
        else [],
        "pair": pair,
        "details": details,
        "some_raters": list_rater_keys(selection),
        "fragment_key": f"{bool(details)}-{selection.scale.kind}",
    }


@dataclass(frozen=True)
class ScoreSource:
    """The source of the categories' scores: their values, an attribute of items, or none.

    ``name``: "values", "item.NAME" or "".
    """

    name: str = ""

    @classmethod
    def from_query(cls, parameters: QueryDict) -> ScoreSource:
        """Return the source that the URL names. Raises BadRequest for an invalid attribute name."""
        name = parameters.get("scores") or ""
        attribute = (parameters.get("attribute") or "").strip()
        if name == "item" and attribute:
            name = f"{ITEM_PREFIX}{attribute}"
        attribute_name = name.removeprefix(ITEM_PREFIX)
        if name in ("", "item"):
            return cls()
        if name != CATEGORY_VALUES and not (
            name.startswith(ITEM_PREFIX) and is_filterable_attribute(attribute_name)
        ):
            raise build_invalid_value_error(
                "scores", name.replace("\0", ""), [CATEGORY_VALUES, f"{ITEM_PREFIX}…"]
            )
        return cls(name)

    @property
    def attribute(self) -> str:
        return self.name.removeprefix(ITEM_PREFIX) if self.name.startswith(ITEM_PREFIX) else ""


def _list_iccs(estimates: Values) -> list[tuple[str, Value, Value]]:
    """Return the name of each ICC form, its estimate of one rater, and that of the raters' mean."""
    return [
        (name, estimates[name], estimates[f"{name}k"]) for name in ICCS[:3] if name in estimates
    ]


def get_rater_pair(raters: list[int]) -> tuple[Rater, Rater]:
    rater_by_id = Rater.objects.in_bulk(raters)
    a, b = sorted(rater_by_id.values(), key=lambda rater: pair_results.build_natural_key(rater.key))
    return a, b


def list_rater_keys(selection: Selection) -> list[str]:
    """Return the keys of the raters with the most ratings, from which a pair can be chosen."""
    rows: Any = pair_results.filter_most_active_results(selection.question.pk)
    keys = rows.values_list("rater__key", flat=True)
    return sorted(keys, key=pair_results.build_natural_key)


PAIR = "pair"  # shown on the page of two raters
RATERS = "raters"  # shown in the table of raters


@dataclass(frozen=True)
class CoefficientPurpose:
    """A purpose of a user, and the coefficient that serves it.

    ``where``: the page that shows the coefficient: empty (all coefficients), PAIR or RATERS.
    """

    label: str | Promise
    name: str
    where: str = ""


def _build_recommendation_context(
    selection: Selection, agreement: QuestionAgreement | None
) -> dict[str, object]:
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
    """Return the purposes, besides that of the headline, that suit a question with these facts.

    ``n_models``: number of raters that are models.
    """
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


@login_required
@require_safe
def show_coefficients(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show every coefficient of a question, also under each policy for missing ratings."""
    selection = get_permitted_selection(request, project_id, filtered=True)
    scores = ScoreSource.from_query(request.GET)
    source = CoefficientSource(selection, scores=scores.name)
    unchanged = live_updates.get_unchanged_response(
        request, selection.project, source.freshness, LIVE
    )
    if unchanged is not None:
        return unchanged
    context: dict[str, object] = {"fragment_key": "pending"}
    if not source.pending:
        context = _build_coefficients_context(selection, source)
    context |= {
        "project": selection.project,
        "selection": selection,
        "fresh": source.freshness,
        "live": LIVE,
        "scores": scores,
        "pending": source.pending,
        "filter_bar": FilterBar.from_request(request, selection),
    }
    return live_updates.render_live_page(request, "metrics/coefficients/coefficients.html", context)


@login_required
@require_safe
def show_recommendation(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show which coefficient suits the question: by scale, raters, missing ratings and purpose."""
    selection = get_permitted_selection(request, project_id)
    result = get_sources(selection).for_project().agreement
    context = _build_recommendation_context(selection, result)
    context |= {"project": selection.project, "selection": selection}
    return render(request, "metrics/coefficients/recommendation.html", context)
