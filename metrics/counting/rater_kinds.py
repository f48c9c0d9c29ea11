"""People and models apart: whose ratings the counts keep as models'.

Where both people and models rate a question, its patterns hold the people's counts of categories
and, behind them, the models'; and whoever rates is compared with the people alone. Where all raters
are of one kind nothing of this is kept, and it costs nothing.

A rating does not know as whose it was counted. So what the counts hold is written down in the
question's CountState (`model_raters`, `apart`) and followed as long as they stand: a rater who
turns from one kind into the other, or people who come where models alone had been counted, ask for
a recount.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from django.db.models import Exists, F, OuterRef, Q

from metrics.agreement.counts import tally
from metrics.models import EVER, CountState, PeerTally
from projects.models import Question, Rater
from ratings.models import NOTHING, Rating

Ratings = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # item, rater, code, day (M,)


@dataclass(frozen=True)
class Kinds:
    """How ratings are to be tallied: whether models are kept apart, and which of the raters in hand
    are models. `known` and `recount` are what the question's CountState is to say from now on."""

    apart: bool = False
    models: frozenset[int] = frozenset()
    known: tuple[int, ...] = field(default=(), compare=False)
    recount: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, state: CountState, rows: np.ndarray) -> Kinds:
        """For the ratings in `rows` (rating_rows.ROW), as the counts of `state` stand. Under the
        question's lock, or to be compared with what is found under it."""
        said = (rows["code"] > NOTHING) | (rows["counted"] > NOTHING)
        raters = set(np.unique(rows["rater"][said]).tolist())
        known = set(state.model_raters)
        new = _models_among(raters) - known
        turned = _counted_among(state.question_id, new) if new else set()
        new -= turned
        people = raters - known - new
        recount = state.recount or bool(turned)
        apart = state.apart
        if not apart and (known or new) and (people or (not known and state.ratings)):
            # Models that were counted together with whoever else rated cannot be told apart now.
            recount = recount or bool(known)
            apart = not known
        known |= new
        models = frozenset(known & raters) if apart else frozenset()
        return cls(apart, models, tuple(sorted(known)), recount)

    @classmethod
    def stored(cls, state: CountState) -> Kinds:
        """As the counts of `state` stand, for all raters."""
        models = frozenset(state.model_raters) if state.apart else frozenset()
        return cls(state.apart, models, tuple(state.model_raters), state.recount)

    def write(self, state: CountState) -> None:
        """Into the state, which the caller saves."""
        state.apart = self.apart
        state.model_raters = list(self.known)
        state.recount = self.recount

    def of_models(self, rater: np.ndarray) -> np.ndarray:
        """Which of the ratings are models'."""
        return np.isin(rater, list(self.models))

    # --- tallies

    def width(self, width: int) -> int:
        """The number of columns of patterns on a scale of that width."""
        return 2 * width if self.apart else width

    def patterns(self, ratings: Ratings, width: int) -> tally.Patterns:
        """tally.patterns, the models' counts behind the people's where they are kept apart."""
        item, rater, code, day = ratings
        if self.apart:
            code = code + width * self.of_models(rater)
        return tally.patterns(item, code, self.width(width), day=day)

    def peers(self, ratings: Ratings, width: int) -> tally.PeerTables:
        """tally.peer_tables, against the people alone where models are kept apart."""
        item, rater, code, day = ratings
        others = ~self.of_models(rater) if self.apart else None
        return tally.peer_tables(item, rater, code, width, day=day, others=others)


def _models_among(raters: set[int]) -> set[int]:
    found = Rater.objects.filter(pk__in=raters, kind=Rater.Kind.MODEL).order_by()
    return set(found.values_list("pk", flat=True))


def _counted_among(question_id: int, raters: set[int]) -> set[int]:
    """Those of whom a rating is counted."""
    rows = PeerTally.objects.filter(
        question_id=question_id, rater__in=raters, day=EVER, n_ratings__gt=0
    )
    return set(rows.values_list("rater_id", flat=True))


# --- when the counts no longer fit the kinds


def behind() -> Q:
    """Of CountState: the catalogue moved since its kinds were looked at, or a recount is due."""
    return ~Q(catalogue=F("question__project__catalogue_version")) | Q(recount=True)


def needs_recount(question_id: int) -> bool:
    """Whether raters whose ratings are counted are of another kind by now; looked at again only
    when the catalogue has moved."""
    state = CountState.objects.filter(behind(), pk=question_id).first()
    if state is None:
        return False
    if state.recount:
        return True
    question = Question.objects.select_related("project").get(pk=question_id)
    models = Rater.objects.filter(project=question.project_id, kind=Rater.Kind.MODEL)
    live = _counted_among(question_id, set(models.values_list("pk", flat=True)))
    counted = _counted_among(question_id, set(state.model_raters))
    # Models alone that turn into people are counted alike; then nothing is kept apart.
    if live != counted and (state.apart or live):
        return True
    CountState.objects.filter(pk=question_id).update(catalogue=question.project.catalogue_version)
    return False


def begin(state: CountState, question: Question) -> None:
    """What the counts are to hold from nothing on, by the kinds of those who rated. The caller
    saves the state."""
    said = Rating.objects.filter(question=question, rater=OuterRef("pk"), code__gt=NOTHING)
    raters = Rater.objects.filter(Exists(said), project=question.project_id)
    models = raters.filter(kind=Rater.Kind.MODEL).order_by("pk").values_list("pk", flat=True)
    state.model_raters = list(models)
    state.apart = bool(state.model_raters) and raters.filter(kind=Rater.Kind.HUMAN).exists()
    state.recount = False
    state.n_people = state.n_models = 0
    project = type(question.project).objects.filter(pk=question.project_id)
    state.catalogue = project.values_list("catalogue_version", flat=True).get()
