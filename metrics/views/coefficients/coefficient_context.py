"""Template context of the page of all coefficients of a question.

Each with its band, and under each policy for missing ratings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.utils.functional import Promise

from metrics.agreement.coefficients.intraclass.icc import ICC_NAMES as ICCS
from metrics.agreement.explain import bands
from metrics.filters import ITEM_PREFIX, build_invalid_value_error, is_filterable_attribute
from metrics.results import pair_results
from metrics.results.pair_details import PairDetails, load_pair_table
from metrics.results.scored_agreement import CATEGORY_VALUES
from metrics.results.values import Value, Values
from metrics.views.common import display_names
from metrics.views.common.cluster_texts import build_cluster_note
from metrics.views.common.live_updates import LiveSettings
from metrics.views.common.selection import Selection
from metrics.views.common.sources.filtered import CoefficientSource
from projects.models import Rater

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
    is not enough data to name a band.
    """

    name: str
    estimate: Value
    band: str | Promise
    has_band_mismatch: bool
    is_uncertain: bool

    @property
    def expected(self) -> float | None:
        """Agreement by chance; None where the coefficient is not corrected for it."""
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


def build_context(selection: Selection, source: CoefficientSource) -> dict[str, object]:
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
    """Source of the scores of categories: "values", or "item.NAME"; empty for none."""

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
    """Return each form with the estimates of a single rater and of the mean of all raters."""
    return [
        (name, estimates[name], estimates[f"{name}k"]) for name in ICCS[:3] if name in estimates
    ]


def get_rater_pair(raters: list[int]) -> tuple[Rater, Rater]:
    rater_by_id = Rater.objects.in_bulk(raters)
    a, b = sorted(rater_by_id.values(), key=lambda rater: pair_results.build_natural_key(rater.key))
    return a, b


def list_rater_keys(selection: Selection) -> list[str]:
    """Return keys to choose a pair from: those of the raters with the most ratings."""
    rows: Any = pair_results.filter_most_active_results(selection.question.pk)
    keys = rows.values_list("rater__key", flat=True)
    return sorted(keys, key=pair_results.build_natural_key)
