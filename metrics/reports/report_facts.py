"""What a report tells: names and figures as plain JSON, put into words when somebody reads them.

Everything rests on the ratings as they stood at a moment, on the scale declared then, and on which
raters were models, so the same moment gives the same facts for ever. What is of now is named with
it: in whose words values are told, the bar.
"""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from metrics.agreement import registry
from metrics.agreement.counts import tally
from metrics.agreement.weights import weighted
from metrics.models import Reading
from metrics.results import bootstrap
from metrics.results.disagreement import findings
from metrics.results.grouped_patterns import Patterns
from metrics.results.headline import random_sample
from metrics.results.headline.headline_computation import of_ratings
from metrics.results.question_results import whole_details
from metrics.scale import QuestionScale
from projects.models import Item, Question, ScaleVersion

from .rating_history import Standing, standing_at

FORMAT = 2  # 1 knew nothing of `drawn` and `pooled`
Facts = dict[str, Any]


def facts_at(question: Question, moment: datetime.datetime) -> Facts:
    """All that a report on a question tells of a moment that is past."""
    standing = standing_at(question, moment)
    version, declared = ScaleVersion.at(question, moment)
    scale = QuestionScale.of_declared(declared)
    project = question.project
    return {
        "format": FORMAT,
        "project": {"id": project.pk, "name": project.name},
        "question": {"key": question.key, "text": question.text},
        "as_of": moment.isoformat(),
        "hash": standing.digest(),
        "scale_version": version,
        "declared": declared,
        "guidelines": _guidelines(question, moment),
        "band_scheme": project.band_scheme,
        "bar": project.bar,
        **_basis(question, moment, standing),
        **_numbers(standing, scale, project.pk),
    }


def _guidelines(question: Question, moment: datetime.datetime) -> int:
    """The version in force; 0 where none was written."""
    versions = question.project.guideline_versions.filter(made_at__lte=moment)
    found: int = versions.order_by("-number").values_list("number", flat=True).first() or 0
    return found


def _basis(question: Question, moment: datetime.datetime, standing: Standing) -> Facts:
    """Who rated how much, and when."""
    known = Item.objects.filter(project=question.project_id, created_at__lte=moment).count()
    raters = sorted(standing.raters.values(), key=lambda rater: rater.key)
    models = [rater.key for rater in raters if rater.pk in standing.models]
    rated = standing.rows["rated"]
    ends = [rated.min(), rated.max()] if rated.size else []
    return {
        "n_ratings": len(standing.rows),
        "n_items": max(known, len(standing.items)),
        "n_rated": len(standing.items),
        "n_people": len(raters) - len(models),
        "n_models": len(models),
        "models": models,
        "rated_from_to": [
            datetime.datetime.fromtimestamp(at, tz=datetime.UTC).isoformat() for at in ends
        ],
    }


def _numbers(standing: Standing, scale: QuestionScale, project_id: int) -> Facts:
    """What is read first, all coefficients of those whom it is of, and what is missing."""
    rows = _coded(standing.rows, scale)
    of_models = np.isin(rows["rater"], list(standing.models))
    first, row = of_ratings(rows, of_models, scale)
    headline = first.whole(row)
    headline.pop("coefficients", None)
    if row.people is None or scale.pooled:
        told, coefficients = rows, row.pooled
    else:
        told, coefficients = rows[~of_models], row.people
    counted = tally.patterns(told["item"], told["code"], scale.k)
    resampled = bootstrap.bootstrap(counted.counts, counted.n_items, scale)
    coefficients = bootstrap.filled(coefficients, resampled) | headline["values"]
    name, value = headline["name"], headline["value"]
    if value.get("low") is None:
        headline["value"] = bootstrap.filled({name: value}, resampled)[name]
    reading = Reading(coefficients=coefficients, headline=headline)
    found = findings.of(counted.counts, counted.n_items, _no_pairs(scale), scale)
    left_out = random_sample.for_doubt(project_id, rows)
    headline = random_sample.instead(
        headline, rows, of_models=of_models, left_out=left_out, scale=scale
    )
    if "drawn" in headline:
        coefficients = headline["drawn"].pop("coefficients") | headline["values"]
    return {
        "headline": headline,
        "coefficients": coefficients,
        "beside": _beside(headline, coefficients, scale),
        "details": whole_details(Patterns(counted.counts, scale.k), counted.n_items, scale),
        "findings": findings.in_order([*found, *findings.of_reading(reading, {})]),
    }


def _coded(rows: np.ndarray, scale: QuestionScale) -> np.ndarray:
    """The ratings whose category is declared, their codes as places in declared order."""
    coded = rows.copy()
    coded["code"] = scale.places(rows["code"])
    return coded[coded["code"] >= 0]


def _no_pairs(scale: QuestionScale) -> tally.PairTables:
    nothing = np.zeros(0, np.int64)
    return tally.PairTables(nothing, nothing, np.zeros((0, scale.k, scale.k), np.int64))


def _beside(headline: Facts, coefficients: Facts, scale: QuestionScale) -> list[str]:
    """Names of what is told next to the headline."""
    names = [
        weighted("fleiss_kappa", headline["weights"]),
        *headline["beside"],
        *registry.beside(scale.kind),
    ]
    wanted = [name for name in dict.fromkeys(names) if name != headline["name"]]
    return [name for name in wanted if name in coefficients]
