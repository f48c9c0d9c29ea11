"""Kinds of raters (people, models) by which ratings are counted separately.

Where both people and models rate a question, its patterns hold the people's counts of categories
and, after them, those of the models; and every rater is compared with the people only. Where all
raters are of one kind, nothing is separated, and it costs nothing.

A rating does not store as which kind it was counted. So the question's CountState records which
raters were counted as models (`model_raters`, `separates_models`), and this is followed as long as
the counts exist. When a rater changes kind, or people join where only models had been counted, a
recount is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from django.db.models import Exists, F, OuterRef, Q

from metrics.agreement.counts import tally
from metrics.agreement.counts.grouping import NEVER, find_first_days, index_distinct
from metrics.models import ALL_DAYS, CountState, PeerTally, Population
from projects.models import Question, Rater
from ratings.models import NO_CODE, Rating

PatternsByPopulation = dict[str, tally.PatternCounts]


class RatingColumns(NamedTuple):
    """Ratings as columns, each (M,)."""

    item: np.ndarray
    rater: np.ndarray
    code: np.ndarray
    day: np.ndarray


@dataclass(frozen=True)
class RaterKinds:
    """The raters that are models, and whether their ratings are counted separately from people's.

    `separates_models`: whether they are; `models`: ids of models among the raters of the rows.
    `model_raters`, `needs_recount`: ids of all models and the flag for the question's CountState.
    """

    separates_models: bool = False
    models: frozenset[int] = frozenset()
    model_raters: tuple[int, ...] = field(default=(), compare=False)
    needs_recount: bool = field(default=False, compare=False)

    @classmethod
    def from_rows(cls, state: CountState, rows: np.ndarray) -> RaterKinds:
        """Return the kinds of the raters in these rows, given how the counts of `state` treat them.

        `rows`: array of rating_rows.ROW. Call it under the question's lock, or compare the result
        with one computed under it.
        """
        has_rating = (rows["code"] > NO_CODE) | (rows["counted"] > NO_CODE)
        raters = set(np.unique(rows["rater"][has_rating]).tolist())
        model_raters = set(state.model_raters)
        models = Rater.objects.filter(pk__in=raters, kind=Rater.Kind.MODEL).order_by()
        new_models = set(models.values_list("pk", flat=True)) - model_raters
        changed_kind = _find_counted_raters(state.question_id, new_models) if new_models else set()
        new_models -= changed_kind
        people = raters - model_raters - new_models
        needs_recount = state.needs_recount or bool(changed_kind)
        separate = state.separates_models
        if (
            not separate
            and (model_raters or new_models)
            and (people or (not model_raters and state.ratings))
        ):
            # Models that were counted together with people cannot be separated now.
            needs_recount = needs_recount or bool(model_raters)
            separate = not model_raters
        model_raters |= new_models
        own_models = frozenset(model_raters & raters) if separate else frozenset()
        return cls(separate, own_models, tuple(sorted(model_raters)), needs_recount)

    @classmethod
    def from_state(cls, state: CountState) -> RaterKinds:
        """Return the kinds of all raters by which the counts of `state` were tallied."""
        models = frozenset(state.model_raters) if state.separates_models else frozenset()
        return cls(state.separates_models, models, tuple(state.model_raters), state.needs_recount)

    def copy_to_state(self, state: CountState) -> None:
        """Set the kinds on the state, which the caller saves."""
        state.separates_models = self.separates_models
        state.model_raters = list(self.model_raters)
        state.needs_recount = self.needs_recount

    def build_model_mask(self, rater: np.ndarray) -> np.ndarray:
        """Return a mask (M,) of the ratings that models gave; ``rater`` (M,): their raters."""
        return np.isin(rater, list(self.models))

    # --- tallies

    def tally_patterns(self, ratings: RatingColumns, width: int) -> PatternsByPopulation:
        """Tally the patterns of each population; the populations' days differ (PatternTally).

        Where models are separate, a pattern has the counts of people, then those of models.
        """
        item, rater, code, day = ratings
        if not self.separates_models:
            return {Population.ALL: tally.count_patterns(item, code, width, day=day)}
        is_model = self.build_model_mask(rater)
        code = code + width * is_model
        day_between = _compute_days_between(item, day, is_model)
        selections = {
            Population.ALL: (slice(None), day),
            Population.PEOPLE: (~is_model, day),
            Population.MODELS: (is_model, day),
            Population.BETWEEN: (day_between != NEVER, day_between),
        }
        return {
            population: tally.count_patterns(
                item[selected], code[selected], 2 * width, day=days[selected]
            )
            for population, (selected, days) in selections.items()
        }

    def tally_peers(self, ratings: RatingColumns, width: int) -> tally.PeerTables:
        """Tally peer tables, against the people only where models are separate."""
        item, rater, code, day = ratings
        is_peer = ~self.build_model_mask(rater) if self.separates_models else None
        day = tally.compute_comparison_days(item, day, others=is_peer)
        return tally.count_peer_tables(item, rater, code, width, day=day, others=is_peer)


def _compute_days_between(item: np.ndarray, day: np.ndarray, is_model: np.ndarray) -> np.ndarray:
    """Return the day (M,) from which on people and models can be compared on the rating's item.

    NEVER where only people or only models rated it.
    """
    if not item.size:
        return day
    _, index = index_distinct(item)
    n_items = int(index.max()) + 1
    first_days = [
        find_first_days(index[mask], day[mask], n_items)[0] for mask in (~is_model, is_model)
    ]
    return np.maximum(*first_days)[index]


def _find_counted_raters(question_id: int, raters: set[int]) -> set[int]:
    """Return the ids of those of the raters who have a counted rating."""
    rows = PeerTally.objects.filter(
        question_id=question_id, rater__in=raters, day=ALL_DAYS, n_ratings__gt=0
    )
    return set(rows.values_list("rater_id", flat=True))


# --- recounts after raters changed kind


def build_kinds_stale_filter() -> Q:
    """Return a filter of CountState rows whose kinds are stale.

    The project's items or raters changed since the kinds were checked, or a recount is due.
    """
    return ~Q(items_and_raters_version=F("question__project__items_and_raters_version")) | Q(
        needs_recount=True
    )


def check_and_store_rater_kinds(question_id: int) -> bool:
    """Return True if the question needs a recount because raters changed their kind.

    Also True if a recount is due for another reason. If False, the version of the project's items
    and raters is stored, so that kinds are not checked again before it changes.
    """
    state = CountState.objects.filter(build_kinds_stale_filter(), pk=question_id).first()
    if state is None:
        return False
    if state.needs_recount:
        return True
    question = Question.objects.select_related("project").get(pk=question_id)
    models = Rater.objects.filter(project=question.project_id, kind=Rater.Kind.MODEL)
    current_models = _find_counted_raters(question_id, set(models.values_list("pk", flat=True)))
    counted_models = _find_counted_raters(question_id, set(state.model_raters))
    # If only models rated and all became people, the counts stay the same and are not separated.
    if current_models != counted_models and (state.separates_models or current_models):
        return True
    CountState.objects.filter(pk=question_id).update(
        items_and_raters_version=question.project.items_and_raters_version
    )
    return False


def reset_kinds(state: CountState, question: Question) -> None:
    """Set the kinds on the state before a recount, from all raters with ratings.

    The caller saves the state.
    """
    ratings = Rating.objects.filter(question=question, rater=OuterRef("pk"), code__gt=NO_CODE)
    raters = Rater.objects.filter(Exists(ratings), project=question.project_id)
    models = raters.filter(kind=Rater.Kind.MODEL).order_by("pk").values_list("pk", flat=True)
    state.model_raters = list(models)
    state.separates_models = (
        bool(state.model_raters) and raters.filter(kind=Rater.Kind.HUMAN).exists()
    )
    state.needs_recount = False
    state.n_people = state.n_models = 0
    project = type(question.project).objects.filter(pk=question.project_id)
    state.items_and_raters_version = project.values_list(
        "items_and_raters_version", flat=True
    ).get()
