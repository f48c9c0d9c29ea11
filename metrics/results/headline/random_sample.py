"""What is read first, where some ratings were asked for because of what others had said.

A planned order for sure labels, and places beyond the overlap, choose items in doubt; such items
lower every coefficient. So what is read first then rests on the other ratings alone
(`Assignment.planned` is false, or nobody was asked), and the same of all ratings stands beside it
as ``pooled``. Who was asked what is in no count: it is read off the ratings, a moment after the
readings (readings.later), and where that takes long, not each time.
"""

from __future__ import annotations

import datetime
import time
from dataclasses import replace
from typing import Any

import numpy as np
from django.utils import timezone

from metrics.agreement.counts import tally
from metrics.agreement.headline import CHOSEN, ICCS
from metrics.models import CountState
from metrics.results import bootstrap
from metrics.results.values import undefined
from metrics.scale import QuestionScale
from ratings.models import NOTHING, Assignment, Rating

from .headline_computation import ALL, MODELS, PEOPLE, of_ratings
from .variants import PARTS, merged

QUICK = 0.5  # seconds: what takes no longer does not rest
REST_FACTOR = 10  # else so many times as long as it took
ROW = np.dtype([("item", "i8"), ("rater", "i8"), ("code", "i8")])


def for_doubt(project_id: int, ratings: np.ndarray) -> np.ndarray:
    """Which of the ratings (M,), with item and rater, were asked for because of what others had
    said (M,)."""
    asked = Assignment.objects.for_doubt(project_id).order_by().values_list("item_id", "rater_id")
    pairs = np.array(list(asked), np.int64).reshape(-1, 2)
    if not len(pairs) or not len(ratings):
        return np.zeros(len(ratings), bool)
    raters = np.unique(np.concatenate([pairs[:, 1], ratings["rater"]]))
    keys = pairs[:, 0] * raters.size + np.searchsorted(raters, pairs[:, 1])
    mine = ratings["item"] * raters.size + np.searchsorted(raters, ratings["rater"])
    found: np.ndarray = np.isin(mine, keys)
    return found


def instead(
    first: dict[str, Any],
    ratings: np.ndarray,
    *,
    of_models: np.ndarray,
    left_out: np.ndarray,
    scale: QuestionScale,
) -> dict[str, Any]:
    """The headline ``first`` of all ratings (``code`` a place in declared order), resting on those
    alone that are not ``left_out``; itself, where none is."""
    return merged(
        first, of_rest(first, ratings, of_models=of_models, left_out=left_out, scale=scale)
    )


def of_rest(
    first: dict[str, Any],
    ratings: np.ndarray,
    *,
    of_models: np.ndarray,
    left_out: np.ndarray,
    scale: QuestionScale,
) -> dict[str, Any]:
    """PARTS of the headline of the ratings that are not left out; `drawn`: how many there are, how
    many were left out, and all coefficients of the told ones. Empty where none is left out."""
    if not left_out.any():
        return {}
    kept, models = ratings[~left_out], of_models[~left_out]
    named = {name: first[name] for name in ("name", "why", "beside")}
    drawn = {"n_ratings": len(kept), "left_out": int(left_out.sum()), "coefficients": {}}
    apart = "between" in first  # of all ratings
    told = kept[~models] if apart and first["of"] == PEOPLE else kept
    if not len(told):
        nothing = undefined("no_pairable_items")
        groups = dict.fromkeys((ALL, PEOPLE, "between"), nothing) if apart else {}
        return named | groups | {
            "value": nothing, "values": {}, "drawn": drawn, "instead_of": first["name"],
        }  # fmt: skip
    # The same coefficient, but an intraclass correlation only where these are complete, too.
    by_table = first["name"] in ICCS and first["why"] != CHOSEN
    mine = scale if by_table else replace(scale, chosen=first["name"])
    found, row = of_ratings(kept, models, mine)
    whole = found.whole(row)
    counted = tally.patterns(told["item"], told["code"], scale.k)
    resampled = bootstrap.bootstrap(counted.counts, counted.n_items, scale)
    coefficients = whole.get("coefficients", row.pooled) if told is not kept else row.pooled
    drawn["coefficients"] = bootstrap.filled(coefficients, resampled)
    if whole["value"].get("low") is None:
        whole["value"] = bootstrap.filled({whole["name"]: whole["value"]}, resampled)[whole["name"]]
    parts = {name: whole[name] for name in PARTS if name in whole}
    if not by_table:
        parts |= named
    if apart and PEOPLE not in parts:  # nobody's ratings but the people's are left
        nothing = undefined("no_pairable_items")
        parts |= {ALL: parts["value"], PEOPLE: parts["value"], MODELS: nothing, "between": nothing}
    return parts | {"drawn": drawn, "instead_of": first["name"]}


# --- kept beside the readings


def renewed(state: CountState, first: dict[str, Any], scale: QuestionScale) -> dict[str, Any]:
    """The columns of ``state`` that `of_rest` is kept in, of now; where it rests, that it is
    behind. ``first``: the headline of all ratings."""
    question = state.question
    if not Assignment.objects.for_doubt(question.project_id).exists():
        return {"drawn": {}, "drawn_behind": False}
    now = timezone.now()
    if state.drawn_rests_until is not None and now < state.drawn_rests_until:
        return {"drawn_behind": True}
    started = time.monotonic()
    ratings = _read(question.pk, scale)
    models = np.isin(ratings["rater"], state.model_raters)
    left_out = for_doubt(question.project_id, ratings)
    found = of_rest(first, ratings, of_models=models, left_out=left_out, scale=scale)
    took = time.monotonic() - started
    rest = datetime.timedelta(seconds=REST_FACTOR * took if took > QUICK else 0)
    return {"drawn": found, "drawn_behind": False, "drawn_rests_until": now + rest}


def _read(question_id: int, scale: QuestionScale) -> np.ndarray:
    """The ratings as the counts hold them, ``code`` the place in declared order."""
    rows = Rating.objects.filter(question=question_id, counted__gt=NOTHING).order_by()
    columns = rows.values_list("item_id", "rater_id", "counted")
    read = np.fromiter(columns.iterator(chunk_size=20_000), dtype=ROW)
    read["code"] = scale.places(read["code"])
    return read[read["code"] >= 0]
