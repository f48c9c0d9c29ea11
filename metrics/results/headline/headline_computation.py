"""What is read first of a question: which coefficient, of whom, and the same of people, of models
and between them. Made with the readings, of the counts alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from django.db.models import OuterRef, Q, QuerySet, Subquery

from metrics.agreement import headline as table
from metrics.agreement.coefficients import cohen
from metrics.agreement.coefficients.intraclass.icc import Icc, icc_of_counts
from metrics.agreement.counts import tally
from metrics.agreement.estimate import Value
from metrics.agreement.headline import Facts, Headline
from metrics.counting import store
from metrics.models import CountState, PairTally
from metrics.results.grouped_patterns import Patterns, Row
from metrics.results.values import undefined, value_of_icc
from metrics.scale import QuestionScale, headlines

from .variants import ALL, MODELS, PEOPLE, merged


@dataclass(frozen=True)
class Group:
    """Raters of one kind, or all of them: how many rated, their patterns (P, k) and numbers of
    items (P,), and the readings of these by name.

    `tables` gives the tables (n, k, k) of the first of them with each other one: of two raters
    theirs, and where all items are complete everybody's margins.
    """

    n_raters: int
    counts: np.ndarray
    n_items: np.ndarray
    readings: dict[str, Any]
    tables: Callable[[], np.ndarray]

    @property
    def complete(self) -> bool:
        """Whether each item that somebody rated was rated by all of them, two or more."""
        sizes = self.counts[self.n_items > 0].sum(axis=1)
        rated = sizes[sizes > 0]
        return self.n_raters >= 2 and rated.size > 0 and bool((rated == self.n_raters).all())

    def value(self, name: str, scale: QuestionScale) -> Any:
        """A READING of that coefficient of these raters."""
        if name in self.readings:
            return self.readings[name]
        if name.startswith(table.COHEN):
            return self._cohen(name, scale)
        return self._icc(name, scale)

    def _cohen(self, name: str, scale: QuestionScale) -> Value:
        if self.n_raters != 2:
            return undefined("needs_two_raters")
        tables = self.tables()
        if not len(tables):
            return undefined("no_pairable_items")
        weights = scale.weightings()[table.weighting_of(name)]
        return cohen.kappa(tables[0], weights).reading()

    def own_counts(self) -> np.ndarray:
        """How often each rater uses each category (R, k), where all items are complete."""
        tables = self.tables()
        return np.stack([tables[0].sum(axis=1), *(pair.sum(axis=0) for pair in tables)])

    def _icc(self, name: str, scale: QuestionScale) -> Value:
        if not self.complete or scale.values is None:
            return undefined("needs_complete_items")
        own = self.own_counts()
        rated = self.counts.sum(axis=1) > 0
        counts, n_items = self.counts[rated], self.n_items[rated]
        found: Icc = icc_of_counts(counts, n_items, own, scale.values)[name]
        n = int(n_items.sum())
        return value_of_icc(found, n_items=n, n_ratings=n * self.n_raters)


Groups = dict[str, Group]


@dataclass(frozen=True)
class Counted:
    """How many people and models rated, whether only models did, the tables of each group, and what
    is read first in place of the headline of all (CountState.drawn)."""

    n_people: int
    n_models: int
    only_models: bool
    tables: Callable[[str], np.ndarray]  # PEOPLE, MODELS or ALL -> Group.tables
    drawn: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, state: CountState, scale: QuestionScale) -> Counted:
        """As a question's counts are stored."""
        pairs = PairTally.objects.filter(question=state.question_id)
        models = state.model_raters
        if state.apart:
            a_model = Q(rater_a__in=models) | Q(rater_b__in=models)
            of_models = pairs.filter(rater_a__in=models, rater_b__in=models)
            rows = {ALL: pairs, PEOPLE: pairs.exclude(a_model), MODELS: of_models}
        else:
            rows = {ALL: pairs, PEOPLE: pairs}
        only_models = bool(models) and not state.apart

        @cache
        def tables(of: str) -> np.ndarray:
            return _stored_tables(rows[of], scale)

        return cls(state.n_people, state.n_models, only_models, tables, state.drawn)

    @classmethod
    def of_many(cls, states: Collection[CountState], scale: QuestionScale) -> dict[int, Counted]:
        """By question, where no models are; their tables are read together when the first is asked
        for."""
        ids = [state.pk for state in states]
        none = np.zeros((0, scale.k, scale.k), np.int64)

        @cache
        def all_tables() -> dict[int, np.ndarray]:
            return _tables_of_many(ids, scale)

        def tables(question_id: int, _of: str) -> np.ndarray:
            return all_tables().get(question_id, none)

        return {
            state.pk: cls(
                state.n_people, state.n_models, False, partial(tables, state.pk), state.drawn
            )
            for state in states
        }

    def groups(self, patterns: Patterns, n_items: np.ndarray, row: Row) -> Groups:
        """People, models and all. Where nothing is apart, the people are all there are."""
        everybody = self.n_people + self.n_models
        tables = {of: partial(self.tables, of) for of in (ALL, PEOPLE, MODELS)}
        found = {ALL: Group(everybody, patterns.pooled, n_items, row.pooled, tables[ALL])}
        if not patterns.apart:
            return found | {PEOPLE: found[ALL]}
        for of, n_raters, counts, readings in (
            (PEOPLE, self.n_people, patterns.people, row.people),
            (MODELS, self.n_models, patterns.models, row.models),
        ):
            found[of] = Group(n_raters, counts, n_items, readings or {}, tables[of])
        return found


def _stored_tables(pairs: QuerySet[PairTally], scale: QuestionScale) -> np.ndarray:
    first = pairs.order_by("rater_a_id", "rater_b_id").only("rater_a").first()
    if first is None:
        return np.zeros((0, scale.k, scale.k), np.int64)
    rows = pairs.filter(rater_a=first.rater_a_id).order_by("rater_b_id")
    widths, blobs = zip(*rows.values_list("width", "table"), strict=True)
    return scale.ordered(store.stacked(blobs, widths, scale.width, axes=2), axes=2)


def _tables_of_many(questions: Sequence[int], scale: QuestionScale) -> dict[int, np.ndarray]:
    """The same of each question that has any."""
    own = PairTally.objects.filter(question=OuterRef("question")).order_by("rater_a_id")
    rows = PairTally.objects.filter(
        question__in=questions, rater_a=Subquery(own.values("rater_a")[:1])
    ).order_by("question_id", "rater_b_id")
    found: dict[int, list[Any]] = {}
    for question_id, width, blob in rows.values_list("question_id", "width", "table"):
        found.setdefault(question_id, []).append((width, blob))
    tables = {}
    for question_id, stored in found.items():
        widths, blobs = zip(*stored, strict=True)
        stacked = store.stacked(blobs, widths, scale.width, axes=2)
        tables[question_id] = scale.ordered(stacked, axes=2)
    return tables


@dataclass(frozen=True)
class First:
    """The choice for the counts of the whole time, and what is stored of it and of periods."""

    counted: Counted
    patterns: Patterns
    n_items: np.ndarray
    scale: QuestionScale

    @property
    def of(self) -> str:
        """Whose ratings are read first: the people's, unless the lead says otherwise."""
        return ALL if self.scale.pooled else PEOPLE

    @cached_property
    def chosen(self) -> Headline:
        """The coefficient that the table gives for these counts, or the one that the lead chose."""
        scale = self.scale
        group = self.counted.groups(self.patterns, self.n_items, Row({}))[self.of]
        facts = Facts(scale.kind, group.n_raters, scale.weights, group.complete)
        return table.headline(facts, chosen=scale.chosen)

    @property
    def over_time(self) -> str:
        return self.chosen.over_time

    @property
    def weights(self) -> str:
        """Those of pairs and raters beside the headline: its own, or what the question gives."""
        if self.chosen.name.startswith((table.COHEN, table.FLEISS)):
            return table.weighting_of(self.chosen.name)
        return Facts(self.scale.kind, 0, self.scale.weights).weighting

    def whole(self, row: Row) -> dict[str, Any]:
        """Of the whole time (Reading.headline): the choice, its READING (`value`) and whose it is,
        what stands beside (`values`), and where models are apart the same coefficient of each group
        and all coefficients of the people."""
        groups = self.counted.groups(self.patterns, self.n_items, row)
        first, name = groups[self.of], self.chosen.name
        apart = self.patterns.apart
        whose = MODELS if self.counted.only_models else PEOPLE
        found = {
            "name": name,
            "why": self.chosen.why,
            "over_time": self.over_time,
            "beside": list(self.chosen.beside),
            "of": self.of if apart else whose,
            "n_people": self.counted.n_people,
            "n_models": self.counted.n_models,
            "complete": first.complete,
            "weights": self.weights,
            "value": first.value(name, self.scale),
            "values": self._values(first),
        }
        if found["values"]:
            own = first.own_counts()
            levels = own @ self.scale.values / own.sum(axis=1)
            found["apart"] = float(np.ptp(levels))  # of the raters' means
        if apart:
            for of in (ALL, PEOPLE, MODELS):
                found[of] = groups[of].value(name, self.scale)
            across = self.patterns.between(self.n_items[None], self.scale, name)
            found["between"] = across.readings()[0]
            found["coefficients"] = row.people
        return merged(found, self.counted.drawn)

    def _values(self, group: Group) -> dict[str, Any]:
        """What is no coefficient of patterns: the intraclass correlations, of complete items."""
        if not self.scale.type.numeric or not group.complete:
            return {}
        return {name: group.value(name, self.scale) for name in table.ICCS}

    def period(self, row: Row) -> dict[str, Any]:
        """Of one period: the value of what is read first, and where models are apart what is shown
        over time of the people, and one coefficient of the others."""
        if row.people is None or row.models is None:
            return {"value": row.pooled.get(self.over_time, {}).get("value")}
        first = row.pooled if self.scale.pooled else row.people
        return {
            "value": first.get(self.over_time, {}).get("value"),
            "people": self.shown(row),
            "models": row.models.get(self.over_time),
            "between": row.between,
        }

    def shown(self, row: Row) -> dict[str, Any]:
        """The people's coefficients that a trend can show; empty where nothing is apart."""
        people = row.people or {}
        return {name: people[name] for name in headlines(self.scale) if name in people}


def of_ratings(
    ratings: np.ndarray, of_models: np.ndarray, scale: QuestionScale
) -> tuple[First, Row]:
    """The same of ratings in hand: an array with item, rater and code (place in declared order),
    and which of them are models' (M,)."""
    k = scale.k
    apart = bool(of_models.any() and not of_models.all())
    code = ratings["code"] + k * of_models if apart else ratings["code"]
    counted = tally.patterns(ratings["item"], code, k * (1 + apart))
    patterns = Patterns(counted.counts, k)
    of_kind = {PEOPLE: ~of_models, MODELS: of_models} if apart else {}

    def tables(of: str) -> np.ndarray:
        mine = ratings[of_kind[of]] if of in of_kind else ratings
        with_first = mine["item"][mine["rater"] == mine["rater"].min()]
        mine = mine[np.isin(mine["item"], with_first)]
        found = tally.pair_tables(mine["item"], mine["rater"], mine["code"], k)
        return found.tables[found.rater_a == found.rater_a[0]] if len(found) else found.tables

    n_models = len(np.unique(ratings["rater"][of_models])) if apart else 0
    n_people = len(np.unique(ratings["rater"])) - n_models
    only_models = bool(of_models.size and of_models.all())
    who = Counted(n_people, n_models, only_models, tables)
    first = First(who, patterns, counted.n_items, scale)
    (row,) = patterns.readings(counted.n_items[None], scale, first.over_time)
    return first, row
