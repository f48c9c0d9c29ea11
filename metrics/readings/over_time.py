"""What is read first, over time: the coefficient itself, where what is stored holds it period by
period.

Patterns hold the coefficients of all raters together. Cohen's kappa of two raters is the kappa of
either of them against the others, of whom there is one; so the readings of the first of the two are
its course, by the days on which that one rated. An intraclass correlation needs who rated what in
each period, which no count holds by day: another coefficient stands for it, and pages say so.
"""

from __future__ import annotations

from collections.abc import Mapping
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
        of_two = first["name"].startswith(COHEN)
        of_two = of_two and found["headline__value__reason"] != "needs_two_raters"
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
    pairs = PairTally.objects.filter(question=question).select_related("rater_a", "rater_b")
    people = pairs.filter(rater_a__kind=Rater.Kind.HUMAN, rater_b__kind=Rater.Kind.HUMAN)
    pair = people.order_by("rater_a", "rater_b").first()
    pair = pair or pairs.order_by("rater_a", "rater_b").first()
    if pair is None:
        return None
    beside_a_person = pair.rater_a.kind == Rater.Kind.HUMAN != pair.rater_b.kind
    return pair.rater_b if beside_a_person else pair.rater_a
