"""Every coefficient of a question that says something on its scale, from the ratings themselves:
what the stored counts do not know, as who rated what, stands beside what they know."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from metrics.agreement import batch, registry
from metrics.agreement.coefficients import fleiss
from metrics.agreement.coefficients.conger import RatedItems
from metrics.agreement.coefficients.intraclass.icc import icc
from metrics.agreement.counts import tally
from metrics.agreement.explain.missing_ratings import policies
from metrics.agreement.headline import Facts
from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.filters import ITEM
from metrics.results import bootstrap, scores
from metrics.results.headline.headline_computation import ALL, MODELS, PEOPLE
from metrics.results.values import resting_on, undefined, value_of_icc
from metrics.scale import QuestionScale
from projects.models import Item, Project

from . import pair_bodies
from .compact_values import CELLS, Body

TESTED = ("F", "df1", "df2", "p")  # of an intraclass correlation, beside its READING


def of_ratings(ratings: np.ndarray, scale: QuestionScale, *, models: Sequence[int]) -> Body:
    """Name -> READING of each coefficient (`coefficients`), what rules about missing ratings make
    of them (`policies`), each category against the rest, and whose ratings these are: the
    people's where models rate too, unless the lead wants them pooled."""
    of_models = np.isin(ratings["rater"], models)
    mine = told(ratings, scale, models=models)
    apart = len(mine) < len(ratings)
    counted = tally.patterns(mine["item"], mine["code"], scale.k)
    counts, n_items = counted.counts, counted.n_items
    raters = np.unique(mine["rater"])
    found = {name: one.reading() for name, one in scale.patterns(counts, n_items).items()}
    resampled = bootstrap.bootstrap(counts, n_items, scale)
    found = bootstrap.filled(found, resampled)
    pairwise, _by_rater = pair_bodies.mean_pairwise(mine, raters, scale)
    found |= resting_on(pairwise, found["percent_agreement"])
    found |= pair_bodies.by_items(mine, counted, scale)
    found |= _of_raters(mine, scale)
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
    everybody = MODELS if len(mine) and of_models.all() else ALL if of_models.any() else PEOPLE
    return {
        "of": PEOPLE if apart else everybody,
        "apart": apart,
        "raters": raters[:2].tolist() if len(raters) == 2 else [],
        "n_raters": len(raters),
        "n_items": int(n_items.sum()),
        "n_ratings": len(mine),
        "with_two_or_more": int(n_items[sizes >= 2].sum()),
        "complete": int(n_items[(sizes == len(raters)) & (sizes > 0)].sum()),
        "coefficients": _listed(found, scale),
        "policies": [_rule(asdict(rule), resampled) for rule in rules],
        "categories": _categories(counts, n_items, scale),
    }


def told(ratings: np.ndarray, scale: QuestionScale, *, models: Sequence[int]) -> np.ndarray:
    """The people's, where models rate too and the lead does not want them pooled; else all."""
    of_models = np.isin(ratings["rater"], models)
    apart = bool(of_models.any() and not of_models.all()) and not scale.pooled
    return ratings[~of_models] if apart else ratings


def scored(mine: np.ndarray, scale: QuestionScale, project: Project, wanted: str) -> Body:
    """Agreement on scores: the categories' own values, or the means of an attribute of items."""
    if len(np.unique(mine["item"])) * scale.k > CELLS:
        return scores.unknown("too_many_items")
    numbers, reason = scale.values, "no_scores" if scale.values is None else None
    if wanted != scores.VALUES:
        of_items = _attribute(mine["item"], project, wanted.removeprefix(ITEM))
        numbers, reason = scores.of_items(mine["code"], of_items, scale.k)
    if numbers is None:
        return scores.unknown(reason or "no_scores")
    return scores.of_ratings(mine["item"], mine["rater"], mine["code"], numbers)


def _attribute(items: np.ndarray, project: Project, name: str) -> np.ndarray:
    """The number that stands in an attribute of each item (M,), not-a-number where none does."""
    known: dict[int, float] = {}
    rows = Item.objects.filter(project=project, attributes__has_key=name)
    for pk, attributes in rows.values_list("pk", "attributes").iterator(5_000):
        with contextlib.suppress(ValueError, TypeError):
            known[pk] = float(attributes[name])
    unique, place = np.unique(items, return_inverse=True)
    found = np.array([known.get(pk, np.nan) for pk in unique.tolist()], float)
    return np.where(np.isfinite(found), found, np.nan)[place]


def _of_raters(mine: np.ndarray, scale: QuestionScale) -> Body:
    """What needs to know who rated what: Conger's kappa, Kendall's W, intraclass correlations."""
    custom = scale.matrix is not None
    known = registry.listed(scale=scale.kind, custom=custom)
    names = [name for name, entry in known if entry.of_ratings or entry.told == "icc"]
    if len(np.unique(mine["item"])) * scale.k > CELLS:
        return {name: undefined("too_many_items") for name in names}
    rated = RatedItems.of(mine["item"], mine["rater"], mine["code"], scale.k)
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
