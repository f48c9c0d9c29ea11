"""Every rater of a question beside all others: made by a sweep from the stored readings, read by
pages of thousands of raters. Of people only.

When and by whom it is done: quality.recompute. Formulas: metrics.agreement.rater_quality.funnel.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from django.utils import timezone

from core.jobs.lease import Lost, held
from metrics.agreement.rater_quality import funnel
from metrics.models import CountState, RaterReading
from metrics.results.headline.stored_weights import weights_of
from metrics.results.values import not_counted
from metrics.scale import QuestionScale, weighted
from projects.models import Question, Rater
from quality import recompute
from quality.models import Triage

FORMAT = 4  # of the body: nobody reads one that an older release wrote
LEAST_ITEMS = 30  # compared items below which nothing is said of a rater


class Standing(NamedTuple):
    """One rater as stored. ``n_items``: compared ones; value, low, high, se: kappa with the others;
    ``category``: the place of the most frequent answer, with its share of the own answers and of
    the others' on the same items."""

    rater: int
    n_ratings: int
    n_items: int
    value: float | None
    low: float | None
    high: float | None
    se: float | None
    bias: float | None
    seconds: float | None
    category: int
    share: float
    peers: float

    @property
    def enough(self) -> bool:
        """Whether something can be said of the rater."""
        return self.value is not None and self.n_items >= LEAST_ITEMS


class Standings(NamedTuple):
    """``middle``: the median kappa of the raters with enough items, None for fewer than three;
    ``spread``: the standard deviation of one item in the funnel; ``weights``: of all kappas here,
    those that go with what is read first."""

    made_at: datetime.datetime | None
    weights: str
    middle: float | None
    spread: float | None
    raters: dict[int, Standing]

    @property
    def funnel(self) -> funnel.Funnel | None:
        if self.middle is None or self.spread is None:
            return None
        return funnel.Funnel(self.middle, self.spread)

    def harm(self, rater: int) -> float:
        """Ratings x gap: how many ratings lie how far below the middle."""
        found = self.raters.get(rater)
        if found is None or found.value is None or self.middle is None:
            return 0.0
        return found.n_ratings * max(0.0, self.middle - found.value)


def of(question: Question) -> Standings:
    """What was made last; empty before."""
    row = Triage.objects.filter(question=question).first()
    if row is None or row.body.get("format") != FORMAT:
        return Standings(None, question.weights, None, None, {})
    raters = {line[0]: Standing(*line) for line in row.body["raters"]}
    body = row.body
    return Standings(row.made_at, body["weights"], body["middle"], body["spread"], raters)


def stamps(only: int | None = None) -> recompute.Stamps:
    """question id -> what its triage should rest on: readings, scale, and kinds of raters."""
    columns = ("version", "question__scale_version", "question__project__catalogue_version")
    rows = CountState.objects.filter(**recompute.of(only)).values_list("question_id", *columns)
    return {
        pk: {"version": version, "scale": scale, "catalogue": catalogue, "format": FORMAT}
        for pk, version, scale, catalogue in rows
    }


def waiting() -> list[int]:
    return recompute.behind(Triage, stamps())


def _make(row: Triage) -> None:
    started = time.monotonic()
    question = Question.objects.prefetch_related("categories").get(pk=row.question_id)
    # The stamp first: what changes from here on makes it old again.
    rests_on = stamps(question.pk).get(question.pk, {})
    body = _body(question, QuestionScale.of(question))
    done = {"rests_on": rests_on, "seconds": time.monotonic() - started}
    if not held(row).update(body=body, **done, made_at=timezone.now()):
        raise Lost


def _body(question: Question, scale: QuestionScale) -> dict[str, Any]:
    weights = weights_of(question, scale)
    name = f"coefficients__{weighted('vs_peers', weights)}"
    bias = "coefficients__vs_peers_bias"
    readings = RaterReading.objects.filter(question=question, rater__kind=Rater.Kind.HUMAN)
    columns = ("rater_id", "n_ratings", "seconds", name, bias, "details__table")
    rows, margins = [], []
    for *row, table in readings.order_by("rater").values_list(*columns).iterator(500):
        rows.append(row)
        margins.append(_margins(table, scale.k))
    own, others = np.array(margins, np.int64).reshape(-1, 2, scale.k).transpose(1, 0, 2)
    peers = [row[3] or not_counted() for row in rows]
    n_items = np.array([one["n_items"] or 0 for one in peers], np.int64)
    values, ses = (_numbers(one[part] for one in peers) for part in ("value", "se"))
    category = own.argmax(axis=1)
    share, of_others = (_shares(side, category) for side in (own, others))
    shape = funnel.of(values, ses, n_items)
    found = []
    for place, (rater, n_ratings, median, _peers, moved) in enumerate(rows):
        mine = peers[place]
        found.append(
            Standing(
                rater=rater,
                n_ratings=n_ratings,
                n_items=int(n_items[place]),
                value=mine["value"],
                low=mine["low"],
                high=mine["high"],
                se=mine["se"],
                bias=moved["value"] if moved and scale.type.ordered else None,
                seconds=median,
                category=int(category[place]),
                share=float(share[place]),
                peers=float(of_others[place]),
            )
        )
    return {
        "format": FORMAT,
        "weights": weights,
        "middle": shape.middle if shape else None,
        "spread": shape.spread if shape else None,
        "raters": found,
    }


def _margins(table: list[list[int]] | None, k: int) -> np.ndarray:
    """(2, k): own answers and the others'; nothing of a table of another scale."""
    if not table or len(table) != k:
        return np.zeros((2, k), np.int64)
    counts = np.array(table, np.int64)
    return np.stack([counts.sum(axis=1), counts.sum(axis=0)])


def _shares(answers: np.ndarray, category: np.ndarray) -> np.ndarray:
    """(R,): of each rater's row of ``answers`` (R, k) the share of one category; 0 of nothing."""
    return answers[np.arange(len(answers)), category] / np.maximum(answers.sum(axis=1), 1)


def _numbers(values: Any) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], float)


def enough(peers: Mapping[str, Any]) -> bool:
    """Whether something can be said of a rater with this kappa with the others."""
    return peers["value"] is not None and (peers["n_items"] or 0) >= LEAST_ITEMS


WORK = recompute.Renewing(
    "every rater beside the others",
    Triage,
    _make,
    waiting,
    rest=5,
    longest_rest=datetime.timedelta(minutes=1),
    lease=datetime.timedelta(minutes=10),
)
sweep = WORK.sweep
renew = WORK.renew
