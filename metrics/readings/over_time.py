"""What is read first, over time: the coefficient itself, where what is stored holds it period by
period.

Patterns hold the coefficients of all raters together. Cohen's kappa of two raters is the kappa of
either of them against the others, of whom there is one; so the readings of the first of the two are
its course, by the days on which that one rated. An intraclass correlation needs who rated what in
each period, which no count holds by day: another coefficient stands for it, and pages say so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from metrics.agreement.headline import COHEN, Facts, headline, weighting_of
from metrics.agreement.weights import weighted
from metrics.models import PairTally, Reading, Span
from metrics.scale import QuestionScale
from projects.models import Question, Rater

COLUMNS = "name", "why", "over_time", "weights", "of", "n_models"


def first_of(question: Question, scale: QuestionScale) -> Mapping[str, Any]:
    """What is read first: as stored with the readings, or before there are any what the table gives
    for no raters. `shown`: the coefficient of its trend; `n_models`: of those kept apart."""
    rows = Reading.objects.filter(question=question, span=Span.ALL)
    columns = [f"headline__{name}" for name in (*COLUMNS, "value__reason")]
    found = rows.values(*columns).first()
    if found is not None and found["headline__name"]:
        first = {name: found[f"headline__{name}"] for name in COLUMNS}
        of_two = reads_two(first["name"], found["headline__value__reason"])
        return first | {"shown": first["name"] if of_two else first["over_time"]}
    nobody = Facts(scale.kind, 0, scale.weights)
    chosen = headline(nobody, chosen=scale.chosen)
    return {
        "name": chosen.name,
        "why": chosen.why,
        "over_time": chosen.over_time,
        "weights": nobody.weighting,
        "of": "people",
        "n_models": 0,
        "shown": chosen.over_time,
    }


def reads_two(name: str, reason: str | None) -> bool:
    """Whether a headline of this name is the kappa of two raters; `reason`: why it has no value."""
    return is_of_two(name) and reason != "needs_two_raters"


def is_of_two(name: str) -> bool:
    """Whether the trend of this coefficient is read off one of two raters."""
    return name.startswith(COHEN)


def against_peers(name: str) -> str:
    """What Cohen's kappa is called among the readings of one of the two."""
    return weighted("vs_peers", weighting_of(name))


def first_of_two(question: Question) -> Rater | None:
    """The rater whose readings are the course of Cohen's kappa: of two people the first, and beside
    a person the model, for whoever rates is compared with people. None before they share an
    item."""
    return first_of_each_two([question.pk]).get(question.pk)


def first_of_each_two(questions: Collection[int]) -> dict[int, Rater]:
    """The same of several questions by their ids; one query."""
    pairs = PairTally.objects.filter(question__in=questions).order_by("rater_a", "rater_b")
    pairs = pairs.select_related("rater_a", "rater_b").defer("table")
    found: dict[int, PairTally] = {}
    for pair in pairs:
        stood = found.setdefault(pair.question_id, pair)
        if _n_people(pair) == 2 > _n_people(stood):
            found[pair.question_id] = pair
    return {
        question: pair.rater_b
        if pair.rater_a.kind == Rater.Kind.HUMAN != pair.rater_b.kind
        else pair.rater_a
        for question, pair in found.items()
    }


def _n_people(pair: PairTally) -> int:
    return [pair.rater_a.kind, pair.rater_b.kind].count(Rater.Kind.HUMAN)
