"""What there is to say of a question's disagreement: the diagnoses that apply, and the most
disputed items.

Stored as names and figures (models.Diagnosis), so that pages read them and put them into the
reader's language.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from django.utils import timezone

from metrics.agreement.counts.tally import PairTables
from metrics.agreement.explain import diagnosis, headline_differences
from metrics.agreement.explain.diagnosis import Finding
from metrics.agreement.headline import COHEN, FLEISS
from metrics.agreement.registry import MEAN_BY_ITEMS
from metrics.agreement.weights import weighted
from metrics.models import Diagnosis, Reading, Span
from metrics.results.all_time import Ever
from metrics.results.headline import variants
from metrics.results.pairs import pair_results
from metrics.scale import QuestionScale

from . import disputed_items

Findings = list[dict[str, Any]]
Confusions = list[tuple[int, int, float]]  # two categories, their share of the disagreement

CONFUSED = 5  # pairs of categories that are shown


# The most important first: a page says the first three at once.
ORDER = (
    "few_items",
    "single_ratings",
    "prevalence_paradox",
    "consistent_apart",
    "consistency_only",
    "fleiss_and_pairs",
    "weightings",
    "unequal_numbers",
    "little_overlap",
    "confused_categories",
    "rater_bias",
)


def diagnosis_of(ever: Ever, means: dict[str, Any]) -> Diagnosis:
    """What is to be stored of a question, from its counts, its readings and what is counted of its
    ratings; ``means``: the mean pairwise kappas by items (readings.means)."""
    return Diagnosis(
        question_id=ever.question_id,
        findings=of_question(ever, means),
        confusions=confusions(ever.told, ever.n_items),
        disputes=disputed_items.newest_disputed(ever.question_id, ever.scale),
        computed_at=timezone.now(),
    )


def of_question(ever: Ever, means: dict[str, Any]) -> Findings:
    """Those of all ratings, of the people's where models rate too; what is said of raters rests on
    the pairs of the heat map."""
    if not len(ever.n_items):
        return []
    raters = list(pair_results.busiest(ever.question_id).values_list("rater_id", flat=True))
    if ever.people_alone:
        raters = [rater for rater in raters if rater not in ever.model_raters]
    tables = pair_results.tables_among(ever.question_id, raters, ever.scale)
    found = of(ever.told, ever.n_items, tables, ever.scale)
    reading = Reading.objects.filter(question_id=ever.question_id, span=Span.ALL).first()
    return found if reading is None else in_order([*found, *of_reading(reading, means)])


def confusions(counts: np.ndarray, n_items: np.ndarray) -> Confusions:
    """Patterns (P, k), items (P,) -> which categories are confused most."""
    return diagnosis.confusions(counts, n_items)[:CONFUSED] if len(n_items) else []


def of(
    counts: np.ndarray, n_items: np.ndarray, tables: PairTables, scale: QuestionScale
) -> Findings:
    """Patterns (P, k), items (P,) and the tables of pairs of raters -> what applies."""
    found = diagnosis.diagnose(
        counts,
        n_items,
        pairs=tables if len(tables) else None,
        ordered=scale.type.ordered,
        values=scale.values,
    )
    return [{"name": one.name, "figures": one.figures} for one in found]


def of_reading(reading: Reading, means: dict[str, Any]) -> Findings:
    """Why what is read first stands beside numbers that say something else."""
    first, told = variants.of_all(reading.headline), reading.of_all
    if not first:
        return []
    found: list[Finding | None] = []
    if first["name"].startswith(FLEISS):
        found.append(headline_differences.weightings(told))
    elif first["name"].startswith(COHEN):  # of one pair of raters, of which the mean is its kappa
        found.append(headline_differences.weightings(means, base=MEAN_BY_ITEMS, called=COHEN))
    if first["why"] != "two_raters":  # of whom Cohen's kappa is the only one
        fleiss = told.get(weighted("fleiss_kappa", first["weights"]), {})
        mean = means.get(weighted(MEAN_BY_ITEMS, first["weights"]), {})
        if fleiss.get("se") is not None:  # of a single item nothing follows
            found.append(headline_differences.pairs_and_all(fleiss.get("value"), mean.get("value")))
    if first["values"]:
        agreement, consistent = (first["values"][name]["value"] for name in ("icc2", "icc3"))
        found.append(headline_differences.consistency(agreement, consistent, first["apart"]))
    return [{"name": one.name, "figures": one.figures} for one in found if one is not None]


def in_order(found: Findings) -> Findings:
    """The most important first; what ICC tells better is not told twice."""
    names = {one["name"] for one in found}
    if "consistent_apart" in names:
        found = [one for one in found if one["name"] != "consistency_only"]
    return sorted(found, key=lambda one: ORDER.index(one["name"]))
