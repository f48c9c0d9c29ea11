"""Intervals of stored values: by bootstrap, and widened where items belong together in clusters.

Coefficients without a standard error have a bootstrap interval over items. It takes longer than
counting, so it is computed later (results.refresh).

The lead names an attribute of the items that belong together (Project.cluster_attribute). A worker
reads the ratings with it, stores the design effects (CountState.cluster_effects), and values are
widened when they are read, so that neither counts nor results depend on it. Items without the
attribute are clusters of their own. Coefficients without an effect of their own, and values of
raters, pairs and periods, have that of Fleiss' kappa with the same weights: as if their items
shared clusters as all items do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypedDict

import numpy as np
from django.db.models.fields.json import KeyTextTransform

from metrics.agreement import bootstrap as agreement_bootstrap
from metrics.agreement import registry
from metrics.agreement.coefficients import fleiss
from metrics.agreement.counts import tally
from metrics.agreement.counts.additive_counts import PatternCounts
from metrics.agreement.counts.wider_intervals import (
    MIN_CLUSTERS,
    compute_cluster_effects,
    widen_interval,
)
from metrics.agreement.headline import FLEISS, ICCS, get_unweighted_name
from metrics.agreement.weights import WEIGHTINGS, get_weighted_name
from metrics.models import CountState
from metrics.question_scale import QuestionScale
from projects.models import Item, Project

from .stored_values import CategoryAgreement, HeadlineResult, ResultDetails, Value, Values

CATEGORIES = "categories"  # the name of the effects of the categories' kappas
MEAN_DIFFERENCES = ("vs_peers_bias", "mean_difference")
HEADLINE_VALUES: tuple[Literal["value", "all", "people", "models", "between"], ...] = (
    "value", "all", "people", "models", "between",
)  # fmt: skip
HEADLINE_COEFFICIENTS: tuple[Literal["values", "coefficients"], ...] = ("values", "coefficients")


class ClusterDescription(TypedDict):
    """The clusters of items as in the API; a number is None until a worker has computed it."""

    attribute: str
    n_clusters: int | None
    n_items: int | None  # that can be compared
    design_effect: float | None  # of the coefficient that is shown
    reliable: bool | None


@dataclass(frozen=True)
class QuestionClusters:
    """The clusters of a question's items: attribute, numbers, and design effects.

    `n_clusters` and `n_items` count only items that can be compared. ``effects``: {name of a
    coefficient: [effect]}, and CATEGORIES: an effect for each category in declared order.
    """

    attribute: str
    n_clusters: int
    n_items: int
    effects: dict[str, list[float]]

    @classmethod
    def from_state(cls, state: CountState | None, project: Project) -> QuestionClusters | None:
        """Return the stored effects, or None where the project has no clusters.

        Also None until a worker has computed the effects for the current attribute; and for a
        ``state`` of None, before anything is counted.
        """
        stored = state.cluster_effects if state is not None else {}
        if not project.cluster_attribute or stored.get("attribute") != project.cluster_attribute:
            return None
        return cls(**stored)

    @classmethod
    def load(cls, question_id: int, project: Project) -> QuestionClusters | None:
        """Return the stored effects of a question, or None as `from_state` does.

        There is no query where the project has no clusters.
        """
        if not project.cluster_attribute:
            return None
        state = CountState.objects.only("cluster_effects").filter(pk=question_id).first()
        return cls.from_state(state, project)

    @classmethod
    def compute(
        cls, ratings: np.ndarray, clusters: np.ndarray, scale: QuestionScale, attribute: str
    ) -> QuestionClusters:
        """Compute the effects of ratings, an array (M,) with item and code in declared order.

        ``clusters`` (M,): the number of the cluster of each rating's item.
        """
        patterns = tally.count_patterns(ratings["item"], ratings["code"], scale.k, day=clusters)

        def estimate(counts: np.ndarray, n_items: np.ndarray) -> dict[str, np.ndarray]:
            estimates = scale.estimate_patterns(counts, n_items, interval=False)
            values = {name: np.asarray(estimates[name].value) for name in estimates}
            categories = fleiss.category_kappas(counts, n_items, interval=False)
            return values | {CATEGORIES: np.asarray(categories.value)}

        return cls(attribute, **asdict(compute_cluster_effects(patterns, estimate)))

    def describe(self, name: str) -> ClusterDescription:
        """Return the clusters as in the API, with the design effect of the coefficient ``name``."""
        return {
            "attribute": self.attribute,
            "n_clusters": self.n_clusters,
            "n_items": self.n_items,
            "design_effect": self.get_effect(name),
            "reliable": self.is_reliable,
        }

    @property
    def is_reliable(self) -> bool:
        """True if there are enough clusters for intervals to be relied on."""
        return self.n_clusters >= MIN_CLUSTERS

    def get_effect(self, name: str) -> float:
        """Return the design effect of a coefficient.

        If none is stored for it, return that of Fleiss' kappa with the same weights, else without
        weights, else 1.
        """
        weighting = next((part for part in WEIGHTINGS if name.endswith(f"_{part}")), "none")
        if name in ICCS:
            weighting = "quadratic"
        names = name, get_weighted_name(FLEISS, weighting), FLEISS
        effects = next((self.effects[key] for key in names if key in self.effects), [1.0])
        return effects[0]

    def widen_interval(self, name: str, value: Any) -> Any:
        """Return a Value with its interval widened for clusters; unchanged if it already is."""
        if not value or "design_effect" in value:
            return value
        return self._widen_by_effect(
            value, self.get_effect(name), is_difference=name in MEAN_DIFFERENCES
        )

    def _widen_by_effect(self, value: Any, effect: float, *, is_difference: bool = False) -> Any:
        complete = {"se": None, "expected": None, "n_items": None, **value}
        widened = widen_interval(
            complete,  # type: ignore[arg-type]  # stored values may lack fields
            effect,
            self.n_clusters,
            is_difference=is_difference,
        )
        names = (*value, "design_effect")
        return {key: number for key, number in widened.items() if key in names}

    def widen_all(self, values: Mapping[str, Value]) -> Values:
        """Return name -> Value with intervals widened for clusters."""
        return {name: self.widen_interval(name, value) for name, value in values.items()}

    def widen_headline(self, headline: HeadlineResult) -> HeadlineResult:
        """Return a headline (Result.headline) with intervals widened for clusters."""
        if "name" not in headline:
            return headline
        widened = headline.copy()
        for key in HEADLINE_VALUES:
            if key in headline:
                widened[key] = self.widen_interval(headline["name"], headline[key])
        if "unweighted" in headline:
            unweighted_name = get_unweighted_name(headline["name"])
            widened["unweighted"] = self.widen_interval(unweighted_name, headline["unweighted"])
        for part in HEADLINE_COEFFICIENTS:
            if headline.get(part):
                widened[part] = self.widen_all(headline[part])
        if "sample" in headline:
            sample = headline["sample"].copy()
            sample["coefficients"] = self.widen_all(sample.get("coefficients", {}))
            widened["sample"] = sample
            widened["pooled"] = self.widen_headline(headline["pooled"])
        return widened

    def widen_details(self, details: ResultDetails) -> ResultDetails:
        """Return details (Result.details) with the categories' intervals widened for clusters."""
        if not details.get("categories"):
            return details
        widened = details.copy()
        widened["categories"] = self.widen_categories(details["categories"])
        return widened

    def widen_categories(self, categories: list[CategoryAgreement]) -> list[CategoryAgreement]:
        """Return the categories with intervals widened for clusters."""
        effects = self.effects.get(CATEGORIES) or [1.0] * len(categories)
        if len(effects) != len(categories) or "design_effect" in categories[0]["agreement"]:
            return categories  # of another scale, or already widened
        return [
            {**category, "agreement": self._widen_by_effect(category["agreement"], effect)}
            for category, effect in zip(categories, effects, strict=True)
        ]


def describe_clusters(
    project: Project, clusters: QuestionClusters | None, name: str
) -> ClusterDescription | None:
    """Return the API's description of the project's clusters, with their effect on a coefficient.

    None where the project has no clusters; the numbers are None until a worker has computed them.
    """
    if clusters is not None:
        return clusters.describe(name)
    if not project.cluster_attribute:
        return None
    return ClusterDescription(
        attribute=project.cluster_attribute,
        n_clusters=None, n_items=None, design_effect=None, reliable=None,
    )  # fmt: skip


def find_cluster_numbers(items: np.ndarray, project: Project) -> np.ndarray | None:
    """Return the numbers of get_cluster_numbers (M,); None where the project has no clusters."""
    return get_cluster_numbers(items, project) if project.cluster_attribute else None


def get_cluster_numbers(items: np.ndarray, project: Project) -> np.ndarray:
    """Return an integer (M,) that identifies the cluster of each rating's item (M,).

    Items whose attribute is missing or empty have a number of their own.
    """
    name = project.cluster_attribute
    if not items.size:
        return np.zeros(0, np.int64)
    rows = Item.objects.filter(
        project=project,
        pk__range=(int(items.min()), int(items.max())),
        attributes__has_key=name,
    ).order_by()
    labels = rows.annotate(label=KeyTextTransform(name, "attributes")).values_list("pk", "label")
    number_by_label: dict[str, int] = {}
    number_by_item: dict[int, int] = {}
    for pk, label in labels.iterator(chunk_size=20_000):
        if label not in (None, ""):
            number_by_item[pk] = number_by_label.setdefault(str(label), -1 - len(number_by_label))
    distinct, index = np.unique(items, return_inverse=True)
    numbers = [number_by_item.get(pk, pk) for pk in distinct.tolist()]
    clusters: np.ndarray = np.array(numbers, np.int64)[index.reshape(-1)]
    return clusters


def compute_headline_clusters(
    ratings: np.ndarray,
    clusters: np.ndarray,
    is_model: np.ndarray,
    scale: QuestionScale,
    *,
    attribute: str,
) -> QuestionClusters:
    """Compute the design effects of clusters among the ratings on which the headline is based.

    ``ratings``: an array (M,) with item and code in declared order; ``clusters`` (M,): numbers of
    get_cluster_numbers; ``is_model`` (M,): mask of the models' ratings, which are left out where
    people rate, too, unless the lead pooled them.
    """
    if bool(is_model.any() and not is_model.all()) and not scale.pooled:
        ratings, clusters = ratings[~is_model], clusters[~is_model]
    return QuestionClusters.compute(ratings, clusters, scale, attribute)


REPLICATES = 2000
# Over all replicates: a question with very many patterns gets fewer replicates.
MAX_PATTERN_DRAWS = 2_000_000


class Interval(TypedDict):
    """A bootstrap interval, and the number of its replicates."""

    low: float | None
    high: float | None
    bootstrap: int


Intervals = dict[str, Interval]  # by the name of the coefficient


def compute_intervals(counts: np.ndarray, n_items: np.ndarray, scale: QuestionScale) -> Intervals:
    """Return name -> {"low", "high", "bootstrap": number of replicates} for patterns (P, k).

    ``n_items`` (P,): numbers of items. Percentile intervals with a fixed seed: the same counts give
    the same interval. Coefficients without a defined replicate are left out; {} with fewer than two
    items that can be compared.
    """
    names = registry.list_bootstrap_names(scale.kind)
    if not names or n_items[counts.sum(axis=1) >= 2].sum() < 2:
        return {}

    def build_statistic(name: str) -> agreement_bootstrap.Statistic:
        return lambda sample: scale.estimate_patterns(counts, sample, names=[name], interval=False)[
            name
        ]

    replicates = int(np.clip(MAX_PATTERN_DRAWS // len(counts), 200, REPLICATES))
    results = agreement_bootstrap.bootstrap_patterns(
        n_items, {name: build_statistic(name) for name in names}, replicates=replicates
    )
    return {
        name: {"low": result.low, "high": result.high, "bootstrap": result.replicates}
        for name, result in results.items()
        if result.low is not None
    }


def add_intervals(coefficients: Values, bootstrap_intervals: Intervals) -> Values:
    """Return the values by name, with these bootstrap intervals added to defined ones."""
    with_intervals = dict(coefficients)
    for name, interval in bootstrap_intervals.items():
        if name in coefficients and coefficients[name]["value"] is not None:
            with_intervals[name] = {**coefficients[name], **interval}
    return with_intervals


def add_missing_interval(name: str, value: Value, bootstrap_intervals: Intervals) -> Value:
    """Return a value, with its bootstrap interval if it is defined and has none."""
    if value.get("low") is not None:
        return value
    return add_intervals({name: value}, bootstrap_intervals)[name]


def add_headline_intervals(
    headline: HeadlineResult, coefficients: Values, patterns: PatternCounts, scale: QuestionScale
) -> Values:
    """Return the coefficients with bootstrap intervals added where these exist.

    The headline's value gets one too, in place, if it has none.
    """
    intervals = compute_intervals(patterns.counts, patterns.n_items, scale)
    headline["value"] = add_missing_interval(headline["name"], headline["value"], intervals)
    return add_intervals(coefficients, intervals)
