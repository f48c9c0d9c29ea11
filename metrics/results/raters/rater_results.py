"""Peer counts -> each rater's agreement with peers, of all days together. What a rater's days,
weeks and months say is read off the counts when somebody asks (rater_periods)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import median
from typing import Any

from django.db import connection
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from core.db import bulk
from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.agreement.weights import CUSTOM, WEIGHTINGS, weighted
from metrics.counting import store
from metrics.counting.store import Whose
from metrics.models import EVER, PeerTally, RaterReading
from metrics.results.values import mean_of_pairs, resting_on
from metrics.scale import QuestionScale
from projects.models import Rater
from ratings.models import NOTHING, Rating

from .peer_sums import COLUMNS, PeerSums

SOME = 500  # raters whose readings are made in one transaction under the question's lock
# newest ratings of a rater of which the median seconds are taken: so many say how long it takes now
TIMED = 500
RATERS_AT_ONCE = 5  # where workers share the raters of a question


def refresh_some(question_id: int, scale: QuestionScale) -> bool | None:
    """Make the readings of raters whose peer counts moved, SOME at once. None: there are none;
    else whether there are more.

    Under the question's lock, in its transaction.
    """
    stale = _stale(question_id)
    raters = list(stale.order_by("rater_id").values_list("rater_id", flat=True)[:SOME])
    if not raters:
        return None
    make(Whose.one(question_id), raters, scale)
    if len(raters) < SOME:  # all of them: nobody else marks any while the lock is held
        stale.update(stale=False)
        return False
    stale.filter(rater__in=raters).update(stale=False)
    return stale.exists()


def refresh_whole(question_id: int, scale: QuestionScale) -> bool:
    """Make the stale readings of a few raters whom no other worker has in hand; False when there
    are none.

    To be called by several workers at once, each in a transaction that keeps the counts from
    moving. A rater's row of all days together is the lock.
    """
    stale = _stale(question_id)
    free = stale.select_for_update(skip_locked=True, of=("self",)).order_by("rater_id")
    raters = list(free.values_list("rater_id", flat=True)[:RATERS_AT_ONCE])
    if not raters:
        return False
    make(Whose.one(question_id), raters, scale)
    stale.filter(rater__in=raters).update(stale=False)
    return True


def _stale(question_id: int) -> QuerySet[PeerTally]:
    # The row of all days together says it of the rater: nothing is stored of single days.
    return PeerTally.objects.filter(question_id=question_id, day=EVER, stale=True)


def make(whose: Whose, raters: Collection[int], scale: QuestionScale) -> None:
    """Make the readings of these raters anew."""
    if not raters:
        return
    ids = list(raters)
    tallies = PeerTally.objects.filter(day=EVER, question__in=whose.questions, rater__in=ids)
    sums = PeerSums.of(tallies.values_list(*COLUMNS), scale)
    pairwise = mean_pairwise_by_rater(whose.questions, ids)
    _save(whose, sums, scale=scale, pairwise=pairwise)
    _save_seconds(whose, ids)


def _save_seconds(whose: Whose, raters: list[int]) -> None:
    """The median seconds of those whose newest rating was timed; two queries more for each of these
    alone."""
    own = Rating.objects.filter(question__in=whose.questions, code__gt=NOTHING)
    own = own.order_by("-changed_at", "-id")
    newest = Subquery(own.filter(rater=OuterRef("pk")).values("seconds")[:1])
    timed = Rater.objects.filter(pk__in=raters).annotate(newest=newest).filter(newest__isnull=False)
    for rater in timed.values_list("pk", flat=True):
        seconds = [
            one
            for one in own.filter(rater=rater).values_list("seconds", flat=True)[:TIMED]
            if one is not None
        ]
        row = RaterReading.objects.filter(question=whose.question(rater), rater=rater)
        row.update(seconds=median(seconds))


def _save(
    whose: Whose, sums: PeerSums, *, scale: QuestionScale, pairwise: dict[int, dict[str, Any]]
) -> None:
    estimates = sums.estimates(scale)
    moment = connection.ops.adapt_datetimefield_value(timezone.now())
    rows, gone = [], []
    each = zip(*(estimate.readings() for estimate in estimates.values()), strict=True)
    for index, (rater, found) in enumerate(zip(sums.keys[:, 0].tolist(), each, strict=True)):
        n_ratings = int(sums.n_ratings[index])
        if not n_ratings:
            gone.append(rater)
            continue
        readings = dict(zip(estimates, found, strict=True))
        readings |= means_beside(readings, pairwise[rater])
        details = {"table": scale.ordered(sums.tables[index], axes=2).tolist()}
        texts = store.json_text(readings), store.json_text(details)
        rows.append((whose.question(rater), rater, n_ratings, *texts, moment))
    key = ("question_id", "rater_id")
    columns = (*key, "n_ratings", "coefficients", "details", "computed_at")
    bulk.upsert("metrics_raterreading", columns, rows, key=key)
    for rater in gone:
        RaterReading.objects.filter(question=whose.question(rater), rater_id=rater).delete()


def means_beside(readings: dict[str, Any], means: dict[str, Any]) -> dict[str, Any]:
    """A rater's means over pairs, which rest on what the readings against the peers rest on."""
    return resting_on(means, readings["vs_peers"])


def mean_pairwise_by_rater(
    questions: Sequence[int], raters: list[int]
) -> dict[int, dict[str, Any]]:
    """Rater -> {"mean_pairwise_kappa": READING, ...}: the mean of the rater's defined kappas with
    each other rater."""
    if not raters:
        return {}
    kappas = [f"kappa_{name}" for name in WEIGHTINGS]
    columns, sums = (
        ", ".join(kappas),
        ", ".join(f"SUM({kappa}), COUNT({kappa})" for kappa in kappas),
    )
    # By hand, for it is asked after every change: the ORM needs two queries, and longer to build
    # them than they take.
    sides, values = [], []
    of_questions, ids = bulk.among("question_id", questions)
    for side in ("rater_a_id", "rater_b_id"):
        condition, wanted = bulk.among(side, raters)
        sides.append(
            f"SELECT {side} AS rater, {columns} FROM metrics_pairtally WHERE {of_questions} AND "
            f"{condition}"
        )
        values += [*ids, *wanted]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT rater, {sums} FROM ({' UNION ALL '.join(sides)}) AS met GROUP BY rater", values
        )
        found = {
            rater: list(zip(row[::2], row[1::2], strict=True)) for rater, *row in cursor.fetchall()
        }
    alone = [(None, 0)] * len(kappas)
    return {rater: _mean_readings(found.get(rater, alone)) for rater in raters}


def _mean_readings(sums: list[tuple[float | None, int]]) -> dict[str, Any]:
    """Of the sum and the number of the defined kappas, for each of WEIGHTINGS."""
    readings: dict[str, Any] = {}
    for name, (total, pairs) in zip(WEIGHTINGS, sums, strict=True):
        if name == CUSTOM and not pairs:
            continue
        mean = (total or 0.0) / pairs if pairs else None
        readings[weighted(MEAN_PAIRWISE, name)] = mean_of_pairs(mean, pairs)
    return readings
