"""What a question's ratings say now: who drifted, and what else somebody should look at."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

import numpy as np
from django.db.models.functions import Coalesce

from metrics.agreement import drift, outliers
from metrics.results.headline.random_sample import for_doubt
from metrics.scale import QuestionScale
from projects.models import GuidelineVersion, Question, Rater
from quality.alerts import sensitivity
from quality.models import Alarm, Answer, Kind
from ratings.models import Rating
from ratings.services.days import EPOCH, day_of

from . import overlap
from .candidates import Raisable, drifted, raisable

ROWS_AT_ONCE = 20_000
# Ordered pairs of ratings of one item, all items together: some 100 bytes each while it is
# computed.
MOST_COMPARISONS = 5_000_000
TOO_MANY = "too_many_comparisons"
SINGLE = "single_category"

UNTIMED = -1.0
SAID = np.dtype([("item", "i8"), ("rater", "i8"), ("code", "i8"), ("day", "i8"), ("seconds", "f8")])


@dataclass(frozen=True)
class Looked:
    """What was found at ``level`` of evidence; ``drift`` None where nothing could be looked for,
    and ``reason`` why. ``volume``: what an expectation of alarms rests on."""

    drift: drift.Drift | None
    reason: str
    n_ratings: int
    level: float = sensitivity.USUAL
    ringing: list[Raisable] = field(default_factory=list)
    volume: dict[str, float] = field(default_factory=dict)


def look(question: Question, *, today: datetime.date) -> Looked:
    """From the standing ratings of people, each on the day on which its rater gave it, at the
    sensitivity that the project chose. What raters were asked because others had left it in doubt
    is left out: they agree less on it, whoever they are (metrics.results.headline.random_sample)."""
    scale = QuestionScale.of(question)
    said = _said(question, scale)
    reason = ""
    if scale.k < 2:
        reason = SINGLE
    elif _comparisons(said["item"]) > MOST_COMPARISONS:
        reason = TOO_MANY
    if reason:
        return Looked(None, reason, said.size)
    level, known = sensitivity.level_of(question.project_id), known_of(question)
    settings = drift.Settings(alarm=level, watch=min(level, drift.Settings().watch))
    columns = said["item"], said["rater"], said["code"], said["day"]
    found = drift.alarms(*columns, scale.k, scale.type.ordered, known=known, settings=settings)
    seconds = said["seconds"] if (said["seconds"] > UNTIMED).any() else None
    watched = outliers.watch(found, scale.k, begins=known.begins, seconds=seconds)
    ringing = [alarm for place, alarm in enumerate(found.alarms) if place not in watched.explained]
    return Looked(
        found,
        "",
        said.size,
        level,
        [drifted(alarm, level) for alarm in ringing]
        + [raisable(one, scale, level) for one in watched.found]
        + overlap.behind(question, said, today),
        sensitivity.volume(found),
    )


def known_of(question: Question) -> drift.Known:
    """The days on which the guidelines changed, and the alarms that were nobody's fault."""
    zone = ZoneInfo(question.project.time_zone)
    later = GuidelineVersion.objects.filter(project_id=question.project_id, number__gt=1)
    begins = [day_of(moment, zone) for moment in later.values_list("made_at", flat=True)]
    excused = []
    answered = Alarm.objects.filter(question=question, answer=Answer.NOT_HIS_FAULT)
    answered = answered.filter(kind=Kind.RATER_DRIFT)
    for alarm in answered.order_by("pk"):
        if alarm.rater_id is not None:
            since, noticed = number(alarm.since), number(alarm.noticed)
            excused.append(drift.Excused(alarm.rater_id, since, noticed))
    return drift.Known(begins, excused)


def number(date: datetime.date) -> int:
    """A date as days since 1970-01-01."""
    return (date - EPOCH).days


def _said(question: Question, scale: QuestionScale) -> np.ndarray:
    """Array of SAID, its codes as places of the declared categories; retired ones are left out."""
    standing = Rating.objects.standing().filter(question=question, rater__kind=Rater.Kind.HUMAN)
    seconds = Coalesce("seconds", UNTIMED)
    columns = standing.order_by().values_list("item_id", "rater_id", "code", "day", seconds)
    said = np.fromiter(columns.iterator(chunk_size=ROWS_AT_ONCE), dtype=SAID)
    said["code"] = scale.places(said["code"])
    said = said[said["code"] >= 0]
    return said[~for_doubt(question.project_id, said)]


def _comparisons(item: np.ndarray) -> int:
    """Ordered pairs of ratings of the same item."""
    _items, count = np.unique(item, return_counts=True)
    return int((count * (count - 1)).sum())
