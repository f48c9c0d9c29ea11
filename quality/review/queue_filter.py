"""Filter of the review queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Exists, F, Max, Min, OuterRef, QuerySet, Subquery

from metrics.filters import RatingFilter
from quality.models import Appeal, Decision, Escalation, ItemLabel
from ratings.models import Assignment, Rating

CONFIDENCE_LIMITS = {"0.8": 0.8, "0.6": 0.6}  # query value -> upper limit of the confidence
TRUE_VALUE = "1"
FLAGS = ("flagged", "split", "escalated", "contested")


@dataclass(frozen=True)
class ReviewFilter:
    """Filter of the items to review; the default selects all.

    ``items``: filter by the items' attributes; ``max_confidence``: a key of CONFIDENCE_LIMITS or
    "".
    """

    items: RatingFilter = field(default_factory=RatingFilter)
    max_confidence: str = ""
    flagged: bool = False  # by a rater
    split: bool = False  # raters disagree
    escalated: bool = False  # further ratings did not settle it
    contested: bool = False  # decided, and a rater has appealed

    @classmethod
    def from_query(cls, params: Mapping[str, str], items: RatingFilter) -> ReviewFilter:
        """Return the filter of a query; unknown values are ignored."""
        max_confidence = params.get("max_confidence", "")
        flags = {name: params.get(name) == TRUE_VALUE for name in FLAGS}
        return cls(items, max_confidence if max_confidence in CONFIDENCE_LIMITS else "", **flags)

    @property
    def parameters(self) -> dict[str, str]:
        """Return the query parameters that select this filter."""
        params = {
            name: value for name, value in self.items.parameters.items() if name.startswith("item.")
        }
        if self.max_confidence:
            params["max_confidence"] = self.max_confidence
        active_flags = [name for name in FLAGS if getattr(self, name)]
        return params | dict.fromkeys(active_flags, TRUE_VALUE)

    @property
    def confidence_limit(self) -> float | None:
        """Return the confidence below which labels are listed; None: the question's threshold."""
        return CONFIDENCE_LIMITS.get(self.max_confidence)

    def filter_labels(self, rows: QuerySet[ItemLabel]) -> QuerySet[ItemLabel]:
        """Return the labels that match the filter, whatever their confidence.

        ``rows``: the labels of one question.
        """
        rows = self.items.filter_items(rows, "item__attributes")
        if self.flagged:
            flags = Assignment.objects.filter(item=OuterRef("item"), flagged=True)
            rows = rows.filter(Exists(flags))
        if self.split:
            ratings: Any = Rating.objects.current().filter(
                question=OuterRef("question"), item=OuterRef("item")
            )
            lowest, highest = (
                Subquery(
                    ratings.order_by().values("item").annotate(of=aggregate("code")).values("of")
                )
                for aggregate in (Min, Max)
            )
            rows = rows.alias(lowest=lowest, highest=highest).filter(highest__gt=F("lowest"))
        if self.escalated:
            failed_escalations = Escalation.objects.filter(
                question=OuterRef("question"),
                item=OuterRef("item"),
                state=Escalation.State.REVIEW,
            )
            rows = rows.filter(Exists(failed_escalations))
        if self.contested:
            rows = rows.filter(
                Exists(get_appeals_against_current_decision(question=OuterRef("question")))
            )
        return rows


def get_appeals_against_current_decision(*, question: Any) -> QuerySet[Appeal]:
    """Return a subquery of the unsettled appeals against the current decision on a row's item.

    ``question``: expression for the question. Left out are appeals made before the item's last
    decision: these only need an answer.
    """
    later_decisions = Decision.objects.filter(
        question=OuterRef("question"), item=OuterRef("item"), created_at__gt=OuterRef("created_at")
    )
    appeals = Appeal.objects.unsettled().filter(
        question=question, item=OuterRef("item"), about=Appeal.About.DECISION
    )
    return appeals.filter(~Exists(later_decisions))


NO_FILTER = ReviewFilter()
