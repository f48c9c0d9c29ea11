"""A finding of any kind, in the words of its row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metrics.agreement import drift, outliers
from metrics.scale import QuestionScale
from quality.models import Kind, Measure
from ratings.services.days import date_of

from .matching import Stretch, pair_of

DIGITS = 4  # of a chart's figures


@dataclass(frozen=True)
class Raisable:
    """kind; stretch: what it is about, and when; fields: of its row."""

    kind: str
    stretch: Stretch
    fields: dict[str, Any]


def drifted(found: drift.Alarm, level: float) -> Raisable:
    """An alarm of drift that rang at this level of evidence."""
    measure = drift.SCORE[found.channel]
    others = [rater for rater in found.raters if rater != found.rater]
    return Raisable(
        kind=Kind.RATER_DRIFT,
        stretch=Stretch(found.raters, found.onset, found.day),
        fields={
            "rater_id": found.rater,
            "other_id": others[0] if others else None,
            "measure": Measure(measure),
            **_when_and_how_much(found),
            "n": found.n_since,
            "reason": found.reason or "",
            "facts": {"level": level},
            "chart": chart_of(
                found.chart.day, found.chart.n, found.chart.means(measure), found.chart.evidence
            ),
        },
    )


def _when_and_how_much(found: drift.Alarm | outliers.Found) -> dict[str, Any]:
    return {
        "since": date_of(found.onset),
        "since_earliest": date_of(found.earliest),
        "since_latest": date_of(found.latest),
        "noticed": date_of(found.day),
        "size": found.size,
        "low": found.low,
        "high": found.high,
        "n_before": found.n_before,
        "evidence": found.evidence,
    }


def raisable(found: outliers.Found, scale: QuestionScale, level: float) -> Raisable:
    """A finding of metrics.agreement.outliers."""
    about, code = found.raters or (0,), None
    facts: dict[str, Any] = {**found.facts, "level": level}
    if len(found.raters) == 2:
        about = pair_of(found.raters)
    if found.code is not None:
        code = int(scale.codes[found.code])
        facts["category"] = scale.labels[found.code]
        about = about if found.raters else (code,)
    series = found.series
    return Raisable(
        kind=found.kind,
        stretch=Stretch(about, found.onset, found.day),
        fields={
            "rater_id": found.raters[0] if found.raters else None,
            "other_id": found.raters[1] if len(found.raters) == 2 else None,
            "code": code,
            "measure": found.measure,
            **_when_and_how_much(found),
            "n": found.n,
            "facts": facts,
            "chart": chart_of(series.day, series.n, series.mean, series.evidence),
        },
    )


def chart_of(
    day: npt.NDArray[np.int64],
    n: npt.NDArray[np.int64],
    means: npt.NDArray[np.float64],
    evidence: npt.NDArray[np.float64],
) -> dict[str, list[Any]]:
    return {
        "days": day.tolist(),
        "n": n.tolist(),
        "means": np.round(means, DIGITS).tolist(),
        "evidence": [float(f"{value:.6g}") for value in evidence.tolist()],
    }


def counted(kind: Kind, n: int, *, since: int, now: int, facts: dict[str, Any]) -> Raisable:
    """A finding that is a number of items, on the day ``now``."""
    return Raisable(
        kind=kind,
        stretch=Stretch((0,), now, now),
        fields={
            "measure": Measure.ITEMS,
            "since": date_of(since),
            "since_earliest": date_of(since),
            "since_latest": date_of(since),
            "noticed": date_of(now),
            "size": n,
            "low": n,
            "high": n,
            "n": n,
            "n_before": 0,
            "evidence": 0.0,
            "facts": facts,
        },
    )
