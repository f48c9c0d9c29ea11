"""What a slice holds, computed in a worker: only the ratings of the filter are read, as integers.

Memory: about 40 bytes a rating, and tables of bounded size (CELLS), whatever the numbers of raters
and days.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from django.db.models import Max

from metrics.filters import Filter, can_be_chosen
from metrics.models import Slice
from metrics.results.headline import random_sample
from metrics.scale import QuestionScale
from projects.models import Item, Project
from ratings.models import NOTHING, Rating

from . import coefficient_body, dashboard_body, pair_bodies, rater_bodies

VALUES = 100  # an attribute with more distinct values tells items apart, not kinds of items
SINGLES = 10  # so many values may have one item each
ATTRIBUTES = 20  # attributes to choose by,
LOOKED_AT = 200  # of so many that are looked at

ROW = np.dtype([("item", "i8"), ("rater", "i8"), ("code", "i4"), ("day", "i4"), ("seconds", "f4")])


def made(row: Slice) -> dict[str, Any]:
    """The body of a slice."""
    if row.kind == Slice.Kind.CHOICES:
        return choices(row.question.project)
    question, chosen = row.question, Filter.from_spec(row.spec)
    scale = QuestionScale.of(question)
    rows = chosen.ratings(Rating.objects.filter(question=question, counted__gt=NOTHING))
    if row.kind == Slice.Kind.PAIR:
        a, b = row.spec["raters"]
        return pair_bodies.pair(_read(rows.filter(rater__in=[a, b]), scale), a, b, scale)
    of_models = question.project.raters.filter(kind="model")
    models = list(of_models.values_list("pk", flat=True))
    if row.kind == Slice.Kind.RATER:
        (rater,) = row.spec["raters"]
        own = Rating.objects.filter(question=question, rater=rater, counted__gt=NOTHING).values(
            "item_id"
        )
        read = _read(rows.filter(item_id__in=own), scale)
        return rater_bodies.rater(read, rater, scale, models=models)
    if row.kind == Slice.Kind.EVERY:
        read = _read(rows, scale)
        body = coefficient_body.of_ratings(read, scale, models=models)
        if wanted := row.spec.get("scores"):
            told = coefficient_body.told(read, scale, models=models)
            body["scored"] = coefficient_body.scored(told, scale, question.project, wanted)
        return body
    read = _read(rows, scale)
    if row.kind == Slice.Kind.ORDER:
        return dashboard_body.order(read, scale)
    left_out = random_sample.for_doubt(question.project_id, read) & (not chosen.drawn)
    body = dashboard_body.dashboard(read, scale, models=models, left_out=left_out)
    if chosen.attributes:  # else the project's items, which the page counts
        body["n_items"] = chosen.items(Item.objects.filter(project=question.project)).count()
    return body


def _read(rows: Any, scale: QuestionScale) -> np.ndarray:
    """The ratings (M,) as ROW, ``code`` the place in declared order; those of retired categories
    left out.

    One statement, so that all is of one moment.
    """
    columns = rows.order_by().values_list(
        "item_id", "rater_id", "counted", "counted_day", "seconds"
    )
    plain = (
        (*ints, np.nan if seconds is None else seconds)
        for *ints, seconds in columns.iterator(chunk_size=20_000)
    )
    read = np.fromiter(plain, dtype=ROW)
    read["code"] = scale.places(read["code"])
    return read[read["code"] >= 0]


def choices(project: Project) -> dict[str, Any]:
    """What there is to filter by: attributes -> value -> number of items, and groups -> number of
    raters."""
    found: dict[str, Counter[str] | None] = {}
    for attributes in (
        Item.objects.filter(project=project).values_list("attributes", flat=True).iterator(5_000)
    ):
        if isinstance(attributes, dict):
            _count_values(found, attributes)
    groups = Counter(project.raters.exclude(group="").values_list("group", flat=True))
    known = {name: counts for name, counts in sorted(found.items()) if counts and _groups(counts)}
    return {
        "attributes": dict(list(known.items())[:ATTRIBUTES]),
        "groups": groups,
        "models": project.raters.filter(kind="model").exists(),
        "versions": Item.objects.filter(project=project).aggregate(n=Max("version"))["n"] or 1,
    }


def _count_values(found: dict[str, Counter[str] | None], attributes: dict[str, Any]) -> None:
    """Count the values of one item. An attribute with too many becomes None, and stays so."""
    for name, value in attributes.items():
        text = value_text(value)
        if text is None or not can_be_chosen(name):
            continue
        if name not in found and len(found) >= LOOKED_AT:
            continue
        counts = found.setdefault(name, Counter())
        if counts is None:
            continue
        counts[text] += 1
        if len(counts) > VALUES:
            found[name] = None


def _groups(counts: Counter[str]) -> bool:
    """Whether an attribute tells kinds of items, not items."""
    return len(counts) <= SINGLES or len(counts) < counts.total()


def value_text(value: Any) -> str | None:
    """A single value as the databases write it; None for what cannot be chosen by."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value) if isinstance(value, str | int | float) else ""
    # exponents are written differently
    if isinstance(value, float) and ("e" in text or "n" in text):
        return None
    return text if 0 < len(text) <= 200 and "\0" not in text else None
