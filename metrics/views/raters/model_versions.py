"""The versions of a model's prompt side by side: each is a rater with a line of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from metrics import periods
from metrics.models import RaterReading, Span
from metrics.results.raters import rater_periods
from metrics.scale import QuestionScale
from metrics.views.common.trends.trend_points import POINTS
from projects.models import Question, Rater

VERSIONS = 12  # the newest


@dataclass(frozen=True)
class Version:
    rater: Rater
    reading: RaterReading | None  # of the whole time

    @property
    def words(self) -> str:
        return self.rater.prompt_version or _("no version")


def versions(question: Question, rater: Rater) -> list[Version]:
    """The newest versions of the rater's model, oldest first; empty where there is one alone."""
    if not rater.model:
        return []
    alike = Rater.objects.filter(project=rater.project_id, model=rater.model).order_by("-pk")
    raters = list(alike[:VERSIONS])[::-1]
    if len(raters) < 2:
        return []
    rows = RaterReading.objects.filter(question=question, rater__in=raters)
    readings = {row.rater_id: row for row in rows}
    return [Version(one, readings.get(one.pk)) for one in raters]


def period(asked: str | None) -> str:
    """Weeks, where nothing is asked for, or single days: a line each of them would be noise."""
    return asked if asked in (Span.WEEK, Span.MONTH) else Span.WEEK.value


def chart_rows(
    question: Question, found: list[Version], span: str, name: str
) -> list[dict[str, Any]]:
    """Points of their trends, a line each."""
    words = {version.rater.pk: version.words for version in found}
    scale = QuestionScale.of(question)
    rows = rater_periods.newest_of_each(
        question, list(words), span, name, scale=scale, number=POINTS
    )
    told = []
    for rater, start, reading in rows:
        if reading["value"] is None:
            continue
        values = {key: reading[key] for key in ("value", "low", "high", "n_items")}
        told.append(
            {
                "version": words[rater],
                "start": start.isoformat(),
                "end": periods.end_date(start, span).isoformat(),
                **values,
                "firm": (reading["n_items"] or 0) >= periods.FIRM,
            }
        )
    return told
