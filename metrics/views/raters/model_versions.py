"""Prompt versions of a model, each of which is a rater, for their comparison."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from metrics import periods
from metrics.models import PeriodUnit, RaterResult
from metrics.question_scale import QuestionScale
from metrics.results import rater_periods
from metrics.views.common.charts import vega_lite
from metrics.views.common.trends.trend_points import MAX_POINTS
from projects.models import Question, Rater

MAX_VERSIONS = 12  # the newest


@dataclass(frozen=True)
class ModelVersion:
    """A prompt version of a model: its rater and all-time result."""

    rater: Rater
    result: RaterResult | None  # of all time

    @property
    def label(self) -> str:
        return self.rater.prompt_version or _("no version")


def list_prompt_versions(question: Question, rater: Rater) -> list[ModelVersion]:
    """Return the newest versions of the rater's model, oldest first; empty with fewer than two."""
    if not rater.model:
        return []
    version_raters = Rater.objects.filter(project=rater.project_id, model=rater.model).order_by(
        "-pk"
    )
    raters = list(version_raters[:MAX_VERSIONS])[::-1]
    if len(raters) < 2:
        return []
    rows = RaterResult.objects.filter(question=question, rater__in=raters)
    results = {row.rater_id: row for row in rows}
    return [ModelVersion(version_rater, results.get(version_rater.pk)) for version_rater in raters]


def choose_period(requested: str | None) -> str:
    """Return the period of the trends: weeks unless months are requested; days would be noise."""
    return requested if requested in (PeriodUnit.WEEK, PeriodUnit.MONTH) else PeriodUnit.WEEK.value


def build_chart_rows(
    question: Question, model_versions: list[ModelVersion], span: str, name: str
) -> list[vega_lite.Row]:
    """Return the points of the trends of all versions."""
    labels = {version.rater.pk: version.label for version in model_versions}
    scale = QuestionScale.for_question(question)
    rows = rater_periods.list_newest_periods_of_raters(
        question, list(labels), span, name, scale=scale, number=MAX_POINTS
    )
    chart_points = []
    for rater, start, estimate in rows:
        if estimate["value"] is None:
            continue
        estimate_values = {key: estimate[key] for key in ("value", "low", "high", "n_items")}
        chart_points.append(
            {
                "version": labels[rater],
                "start": start.isoformat(),
                "end": periods.get_end_date(start, span).isoformat(),
                **estimate_values,
                "enough_items": (estimate["n_items"] or 0) >= periods.MIN_ITEMS,
            }
        )
    return chart_points
