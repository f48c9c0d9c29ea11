"""Every coefficient of a question that says something on its scale, from the ratings themselves:
what the stored counts do not know, as who rated what, stands beside what they know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from metrics.agreement import batch, registry
from metrics.agreement.coefficients import fleiss
from metrics.agreement.coefficients.conger import RatedItems
from metrics.agreement.coefficients.icc import icc
from metrics.agreement.counts import tally
from metrics.agreement.explaining.missing import policies
from metrics.agreement.headline import Facts
from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.readings import bootstrap
from metrics.readings.first import ALL, MODELS, PEOPLE
from metrics.readings.value import resting_on, undefined, value_of_icc
from metrics.scale import QuestionScale

from . import slice_pairs
from .slice_numbers import CELLS, Body

TESTED = ("F", "df1", "df2", "p")  # of an intraclass correlation, beside its READING


def of_ratings(ratings: np.ndarray, scale: QuestionScale, *, models: Sequence[int]) -> Body:
    """Name -> READING of each coefficient (`coefficients`), what rules about missing ratings make
    of them (`policies`), each category against the rest, and whose ratings these are: the
    people's where models rate too, unless the lead wants them pooled."""
    of_models = np.isin(ratings["rater"], models)
    apart = bool(of_models.any() and not of_models.all()) and not scale.pooled
    told = ratings[~of_models] if apart else ratings
    counted = tally.patterns(told["item"], told["code"], scale.k)
    counts, n_items = counted.counts, counted.n_items
    raters = np.unique(told["rater"])
    found = {name: one.reading() for name, one in scale.patterns(counts, n_items).items()}
    resampled = bootstrap.bootstrap(counts, n_items, scale)
    found = bootstrap.filled(found, resampled)
    pairwise, _by_rater = slice_pairs.mean_pairwise(told, raters, scale)
    found |= resting_on(pairwise, found["percent_agreement"])
    found |= slice_pairs.by_items(told, counted, scale)
    found |= _of_raters(told, scale)
    sizes = counts.sum(axis=1)
    weighting = Facts(scale.kind, len(raters), scale.weights).weighting
    rules = policies(
        counts,
        n_items,
        n_raters=len(raters),
        scale=scale.kind,
        weighting=weighting,
        values=scale.values,
        weight_matrix=scale.matrix,
    )
    everybody = MODELS if len(told) and of_models.all() else ALL if of_models.any() else PEOPLE
    return {
        "of": PEOPLE if apart else everybody,
        "apart": apart,
        "raters": raters[:2].tolist() if len(raters) == 2 else [],
        "n_raters": len(raters),
        "n_items": int(n_items.sum()),
        "n_ratings": len(told),
        "with_two_or_more": int(n_items[sizes >= 2].sum()),
        "complete": int(n_items[(sizes == len(raters)) & (sizes > 0)].sum()),
        "coefficients": _listed(found, scale),
        "policies": [_rule(asdict(rule), resampled) for rule in rules],
        "categories": _categories(counts, n_items, scale),
    }


def _of_raters(told: np.ndarray, scale: QuestionScale) -> Body:
    """What needs to know who rated what: Conger's kappa, Kendall's W, intraclass correlations."""
    custom = scale.matrix is not None
    known = registry.listed(scale=scale.kind, custom=custom)
    names = [name for name, entry in known if entry.of_ratings or entry.told == "icc"]
    if len(np.unique(told["item"])) * scale.k > CELLS:
        return {name: undefined("too_many_items") for name in names}
    rated = RatedItems.of(told["item"], told["rater"], told["code"], scale.k)
    estimates = batch.rating_coefficients(
        rated, scale=scale.kind, values=scale.values, weight_matrix=scale.matrix
    )
    found: Body = {name: estimate.reading() for name, estimate in estimates.items()}
    if scale.type.numeric and scale.values is not None:
        codes = rated.complete()
        for name, one in icc(scale.values[codes]).items():
            reading = value_of_icc(one, n_items=len(codes), n_ratings=codes.size)
            found[name] = {**reading, **{part: getattr(one, part) for part in TESTED}}
    return found


def _listed(found: Body, scale: QuestionScale) -> Body:
    """What was found, in the order of the registry; the means over pairs stand where Light's
    kappa does."""
    names = [name for name, _entry in registry.listed(scale=scale.kind, custom=True)]
    of_pairs = [name for name in found if name.startswith(MEAN_PAIRWISE)]
    plain = scale.type.ordered
    names += [name for name in of_pairs if plain or not name.endswith(("linear", "quadratic"))]
    return {name: found[name] for name in names if name in found}


def _rule(rule: dict[str, Any], resampled: bootstrap.Intervals) -> dict[str, Any]:
    """A rule about missing ratings; what only the bootstrap gives an interval has it here, too."""
    named = {rule["coefficient"]: rule["reading"]}
    if rule["name"] == "paired":
        rule["reading"] = bootstrap.filled(named, resampled)[rule["coefficient"]]
    return rule


def _categories(counts: np.ndarray, n_items: np.ndarray, scale: QuestionScale) -> list[Body]:
    per_category = fleiss.category_kappas(counts, n_items)
    ratings = (n_items @ counts).tolist() if len(counts) else [0] * scale.k
    found = []
    for place, label in enumerate(scale.labels):
        reading = per_category.reading((place,))
        found.append({"label": label, "ratings": int(ratings[place]), "agreement": reading})
    return found
