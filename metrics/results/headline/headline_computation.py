"""Choose the headline coefficient of a question, and compute its values.

The same coefficient is computed for people, for models and between them. All values come from the
counts, together with the other results.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from django.db.models import OuterRef, Q, QuerySet, Subquery

from metrics.agreement import headline as headline_rules
from metrics.agreement.coefficients import cohen
from metrics.agreement.coefficients.intraclass.icc import Icc, icc_from_counts
from metrics.agreement.counts import tally
from metrics.agreement.estimate import Value
from metrics.agreement.headline import Headline, HeadlineFacts
from metrics.counting import store
from metrics.models import CountState, PairTally
from metrics.question_scale import QuestionScale, list_headline_coefficients
from metrics.results.patterns import GroupedPatterns, GroupValues
from metrics.results.stored_values import (
    ALL,
    MODELS,
    PEOPLE,
    HeadlineResult,
    Values,
    build_icc_value,
    build_undefined_value,
    get_number,
    merge_sample_headline,
)


@dataclass(frozen=True)
class RaterGroup:
    """Raters of one kind, or all raters: their number, patterns and values.

    ``counts`` (P, k) and ``n_items`` (P,): patterns; ``values``: those of the patterns, by name.
    `tables` returns the tables (n, k, k) of the first rater with each other rater. With two raters
    it is their table; where all items are complete, the margins of the tables are every rater's.
    """

    n_raters: int
    counts: np.ndarray
    n_items: np.ndarray
    values: Values
    tables: Callable[[], np.ndarray]

    @property
    def is_complete(self) -> bool:
        """True if each rated item was rated by all raters of the group, two or more."""
        sizes = self.counts[self.n_items > 0].sum(axis=1)
        rated = sizes[sizes > 0]
        return self.n_raters >= 2 and rated.size > 0 and bool((rated == self.n_raters).all())

    def get_value(self, name: str, scale: QuestionScale) -> Value:
        """Return the Value of the coefficient ``name`` for these raters, perhaps undefined."""
        if name in self.values:
            return self.values[name]
        if name.startswith(headline_rules.COHEN):
            return self._compute_cohen_kappa(name, scale)
        return self._compute_icc(name, scale)

    def _compute_cohen_kappa(self, name: str, scale: QuestionScale) -> Value:
        if self.n_raters != 2:
            return build_undefined_value("needs_two_raters")
        tables = self.tables()
        if not len(tables):
            return build_undefined_value("no_pairable_items")
        weights = scale.build_weight_matrices()[headline_rules.get_weighting(name)]
        return cohen.kappa(tables[0], weights).to_value()

    def count_own_categories(self) -> np.ndarray:
        """Return how often each rater uses each category (R, k); for complete items only."""
        tables = self.tables()
        return np.stack([tables[0].sum(axis=1), *(pair.sum(axis=0) for pair in tables)])

    def _compute_icc(self, name: str, scale: QuestionScale) -> Value:
        if not self.is_complete or scale.values is None:
            return build_undefined_value("needs_complete_items")
        own_counts = self.count_own_categories()
        rated = self.counts.sum(axis=1) > 0
        counts, n_items = self.counts[rated], self.n_items[rated]
        icc: Icc = icc_from_counts(counts, n_items, own_counts, scale.values)[name]
        n = int(n_items.sum())
        return build_icc_value(icc, n_items=n, n_ratings=n * self.n_raters)


RaterGroups = dict[str, RaterGroup]


@dataclass(frozen=True)
class CountedRaters:
    """The numbers of people and models with counted ratings, and the pair tables of each group.

    ``only_models``: whether all raters are models. ``sample_headline``: the stored parts of the
    random sample's headline (CountState.sample_headline), which replace those of all ratings.
    """

    n_people: int
    n_models: int
    only_models: bool
    tables: Callable[[str], np.ndarray]  # PEOPLE, MODELS or ALL -> RaterGroup.tables
    sample_headline: HeadlineResult = field(default_factory=HeadlineResult)

    @classmethod
    def from_state(cls, state: CountState, scale: QuestionScale) -> CountedRaters:
        """Return the raters of a question, as its stored counts have them."""
        pairs = PairTally.objects.filter(question=state.question_id)
        models = state.model_raters
        if state.separates_models:
            with_model = Q(rater_a__in=models) | Q(rater_b__in=models)
            model_pairs = pairs.filter(rater_a__in=models, rater_b__in=models)
            rows = {ALL: pairs, PEOPLE: pairs.exclude(with_model), MODELS: model_pairs}
        else:
            rows = {ALL: pairs, PEOPLE: pairs}
        only_models = bool(models) and not state.separates_models

        @cache
        def get_tables(group_name: str) -> np.ndarray:
            return _load_first_rater_tables(rows[group_name], scale)

        return cls(state.n_people, state.n_models, only_models, get_tables, state.sample_headline)

    @classmethod
    def from_states(
        cls, states: Collection[CountState], scale: QuestionScale
    ) -> dict[int, CountedRaters]:
        """Return {question id: its raters} of questions without models.

        The tables of all questions are loaded together, when the first one is needed.
        """
        ids = [state.pk for state in states]
        no_tables = np.zeros((0, scale.k, scale.k), np.int64)

        @cache
        def load_all_tables() -> dict[int, np.ndarray]:
            return _load_first_rater_tables_by_question(ids, scale)

        def get_tables(question_id: int, _group_name: str) -> np.ndarray:
            return load_all_tables().get(question_id, no_tables)

        return {
            state.pk: cls(
                state.n_people,
                state.n_models,
                False,
                partial(get_tables, state.pk),
                state.sample_headline,
            )
            for state in states
        }

    def build_groups(
        self, patterns: GroupedPatterns, n_items: np.ndarray, row: GroupValues
    ) -> RaterGroups:
        """Return the groups of people, models and all raters, by name.

        Where models are not separate, the group of people has all raters. ``row``: the values of
        the patterns.
        """
        n_raters = self.n_people + self.n_models
        tables = {
            group_name: partial(self.tables, group_name) for group_name in (ALL, PEOPLE, MODELS)
        }
        groups = {
            ALL: RaterGroup(
                n_raters,
                patterns.pooled,
                patterns.select_items(n_items, ALL),
                row.pooled,
                tables[ALL],
            )
        }
        if not patterns.separates_models:
            return groups | {PEOPLE: groups[ALL]}
        for group_name, group_size, counts, values in (
            (PEOPLE, self.n_people, patterns.people, row.people),
            (MODELS, self.n_models, patterns.models, row.models),
        ):
            groups[group_name] = RaterGroup(
                group_size,
                counts,
                patterns.select_items(n_items, group_name),
                values or {},
                tables[group_name],
            )
        return groups


def _load_first_rater_tables(pairs: QuerySet[PairTally], scale: QuestionScale) -> np.ndarray:
    """Return the tables (n, k, k) of the first rater of these pairs with each other rater."""
    first_pair = pairs.order_by("rater_a_id", "rater_b_id").only("rater_a").first()
    if first_pair is None:
        return np.zeros((0, scale.k, scale.k), np.int64)
    rows = pairs.filter(rater_a=first_pair.rater_a_id).order_by("rater_b_id")
    widths, blobs = zip(*rows.values_list("width", "table"), strict=True)
    return scale.reorder_to_declared(
        store.decode_arrays(blobs, widths, scale.width, axes=2), axes=2
    )


def _load_first_rater_tables_by_question(
    questions: Sequence[int], scale: QuestionScale
) -> dict[int, np.ndarray]:
    """Return the tables of each question that has any, as `_load_first_rater_tables` does."""
    question_pairs = PairTally.objects.filter(question=OuterRef("question")).order_by("rater_a_id")
    rows = PairTally.objects.filter(
        question__in=questions, rater_a=Subquery(question_pairs.values("rater_a")[:1])
    ).order_by("question_id", "rater_b_id")
    blobs_by_question: dict[int, list[Any]] = {}
    for question_id, width, blob in rows.values_list("question_id", "width", "table"):
        blobs_by_question.setdefault(question_id, []).append((width, blob))
    tables = {}
    for question_id, stored in blobs_by_question.items():
        widths, blobs = zip(*stored, strict=True)
        stack = store.decode_arrays(blobs, widths, scale.width, axes=2)
        tables[question_id] = scale.reorder_to_declared(stack, axes=2)
    return tables


@dataclass(frozen=True)
class HeadlineBuilder:
    """Builder of a question's headline: chooses the coefficient, and collects its values."""

    raters: CountedRaters
    patterns: GroupedPatterns
    n_items: np.ndarray
    scale: QuestionScale

    @property
    def group_name(self) -> str:
        """The group that the headline is of: people, unless the lead pooled models with them."""
        return ALL if self.scale.pooled else PEOPLE

    @cached_property
    def choice(self) -> Headline:
        """The coefficient that the lead chose, or else that the rules give for these counts."""
        scale = self.scale
        group = self.raters.build_groups(self.patterns, self.n_items, GroupValues({}))[
            self.group_name
        ]
        facts = HeadlineFacts(scale.kind, group.n_raters, scale.weights, group.is_complete)
        return headline_rules.choose_headline(facts, choice=scale.chosen_headline)

    @property
    def trend_coefficient(self) -> str:
        """The coefficient that is shown over time for this headline."""
        return self.choice.trend_name

    @property
    def weighting(self) -> str:
        """The weighting for pairs and raters: that of the headline, or else of the question."""
        if self.choice.name.startswith((headline_rules.COHEN, headline_rules.FLEISS)):
            return headline_rules.get_weighting(self.choice.name)
        return HeadlineFacts(self.scale.kind, 0, self.scale.weights).weighting

    def build_headline(self, row: GroupValues) -> HeadlineResult:
        """Build the headline over all days (Result.headline).

        It holds the choice, its Value (`value`), its group (`population`) and intraclass
        correlations (`values`). Where models are separate, it also holds the same coefficient of
        each group, and all coefficients of people.
        """
        groups = self.raters.build_groups(self.patterns, self.n_items, row)
        group, name = groups[self.group_name], self.choice.name
        separate = self.patterns.separates_models
        only_group = MODELS if self.raters.only_models else PEOPLE
        headline: HeadlineResult = {
            "name": name,
            "why": self.choice.reason,
            "trend_coefficient": self.trend_coefficient,
            "companions": list(self.choice.companions),
            "population": self.group_name if separate else only_group,
            "n_people": self.raters.n_people,
            "n_models": self.raters.n_models,
            "complete": group.is_complete,
            "weights": self.weighting,
            "value": group.get_value(name, self.scale),
            "values": self._compute_icc_values(group),
        }
        unweighted_name = headline_rules.get_unweighted_name(name)
        if unweighted_name != name and self.scale.k > 2:  # of two categories they are the same
            headline["unweighted"] = group.get_value(unweighted_name, self.scale)
        if headline["values"]:
            own_counts = group.count_own_categories()
            levels = own_counts @ self.scale.values / own_counts.sum(axis=1)
            headline["spread_of_means"] = float(np.ptp(levels))  # of the raters' means
        if separate:
            for kind in (ALL, PEOPLE, MODELS):
                headline[kind] = groups[kind].get_value(name, self.scale)
            n_items = self.n_items[None]
            between = self.patterns.estimate_people_with_models(n_items, self.scale, name)
            headline["between"] = between.to_values()[0]
            headline["coefficients"] = row.people or {}
        return merge_sample_headline(headline, self.raters.sample_headline)

    def _compute_icc_values(self, group: RaterGroup) -> Values:
        """Return the intraclass correlations; {} unless items are complete on a numeric scale."""
        if not self.scale.type.numeric or not group.is_complete:
            return {}
        return {name: group.get_value(name, self.scale) for name in headline_rules.ICCS}

    def build_period_headline(self, row: GroupValues) -> dict[str, object]:
        """Return the number (`value`) of the trend coefficient in one period.

        Where models are separate, also the people's values of the coefficients with a trend
        (`people`), and the trend coefficient of `models` and `between` people and models.
        """
        if row.people is None or row.models is None:
            return {"value": get_number(row.pooled, self.trend_coefficient)}
        group_values = row.pooled if self.scale.pooled else row.people
        return {
            "value": get_number(group_values, self.trend_coefficient),
            "people": self.select_trend_values(row),
            "models": row.models.get(self.trend_coefficient),
            "between": row.between,
        }

    def select_trend_values(self, row: GroupValues) -> Values:
        """Return the people's values of the coefficients with a trend.

        Empty where models are not separate.
        """
        if not (people := row.people):
            return {}
        return {
            name: people[name] for name in list_headline_coefficients(self.scale) if name in people
        }


def build_headline_from_ratings(
    ratings: np.ndarray, is_model: np.ndarray, scale: QuestionScale
) -> tuple[HeadlineBuilder, GroupValues]:
    """Return the headline builder and values of ratings in memory.

    ``ratings``: an array with item, rater and code (index in declared order); ``is_model``: a mask
    of the models' ratings (M,).
    """
    k = scale.k
    separate = bool(is_model.any() and not is_model.all())
    code = ratings["code"] + k * is_model if separate else ratings["code"]
    counted = tally.count_patterns(ratings["item"], code, k * (1 + separate))
    patterns = GroupedPatterns(counted.counts, k)
    masks = {PEOPLE: ~is_model, MODELS: is_model} if separate else {}

    def tally_first_rater_tables(group_name: str) -> np.ndarray:
        group_ratings = ratings[masks[group_name]] if group_name in masks else ratings
        first_items = group_ratings["item"][group_ratings["rater"] == group_ratings["rater"].min()]
        group_ratings = group_ratings[np.isin(group_ratings["item"], first_items)]
        pair_tables = tally.count_pair_tables(
            group_ratings["item"], group_ratings["rater"], group_ratings["code"], k
        )
        return (
            pair_tables.tables[pair_tables.rater_a == pair_tables.rater_a[0]]
            if len(pair_tables)
            else pair_tables.tables
        )

    n_models = len(np.unique(ratings["rater"][is_model])) if separate else 0
    n_people = len(np.unique(ratings["rater"])) - n_models
    only_models = bool(is_model.size and is_model.all())
    raters = CountedRaters(n_people, n_models, only_models, tally_first_rater_tables)
    builder = HeadlineBuilder(raters, patterns, counted.n_items, scale)
    (row,) = patterns.iter_values(counted.n_items[None], scale, builder.trend_coefficient)
    return builder, row
