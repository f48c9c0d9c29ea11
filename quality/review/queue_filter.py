"""Which of the items worth a decision an adjudicator wants to see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Exists, F, Max, Min, OuterRef, QuerySet, Subquery

from metrics.filters import Filter
from quality.models import Appeal, Decision, Escalation, ItemLabel
from quality.models.consensus import DOUBT
from ratings.models import Assignment, Rating

LESS_SURE = {"": 1 - DOUBT, "0.8": 0.8, "0.6": 0.6}  # what may be asked for -> labels less sure
YES = "1"
FLAGS = ("flagged", "split", "escalated", "contested")


@dataclass(frozen=True)
class Narrowing:
    """All of them where nothing is chosen. ``items``: by their attributes alone."""

    items: Filter = field(default_factory=Filter)
    less_sure: str = ""
    flagged: bool = False  # by a rater
    split: bool = False  # raters said different things
    escalated: bool = False  # asked for again in vain
    contested: bool = False  # decided already, and a rater says why it is wrong

    @classmethod
    def of(cls, given: Mapping[str, str], items: Filter) -> Narrowing:
        """Of the parameters of an address; what is not known is passed over."""
        less_sure = given.get("less_sure", "")
        chosen = {name: given.get(name) == YES for name in FLAGS}
        return cls(items, less_sure if less_sure in LESS_SURE else "", **chosen)

    @property
    def parameters(self) -> dict[str, str]:
        """What an address says for it."""
        found = {
            name: value for name, value in self.items.parameters.items() if name.startswith("item.")
        }
        if self.less_sure:
            found["less_sure"] = self.less_sure
        chosen = [name for name in FLAGS if getattr(self, name)]
        return found | dict.fromkeys(chosen, YES)

    @property
    def doubt(self) -> float:
        return 1 - LESS_SURE[self.less_sure]

    def of_labels(self, rows: QuerySet[ItemLabel]) -> QuerySet[ItemLabel]:
        """Those of the labels of one question that are wanted, whatever their doubt."""
        rows = self.items.items(rows, "item__attributes")
        if self.flagged:
            flags = Assignment.objects.filter(item=OuterRef("item"), flagged=True)
            rows = rows.filter(Exists(flags))
        if self.split:
            said: Any = Rating.objects.standing().filter(
                question=OuterRef("question"), item=OuterRef("item")
            )
            lowest, highest = (
                Subquery(said.order_by().values("item").annotate(of=one("code")).values("of"))
                for one in (Min, Max)
            )
            rows = rows.alias(lowest=lowest, highest=highest).filter(highest__gt=F("lowest"))
        if self.escalated:
            again = Escalation.objects.filter(
                question=OuterRef("question"),
                item=OuterRef("item"),
                state=Escalation.State.DECIDE,
            )
            rows = rows.filter(Exists(again))
        if self.contested:
            rows = rows.filter(Exists(contested(question=OuterRef("question"))))
        return rows


def contested(*, question: Any) -> QuerySet[Appeal]:
    """The open appeals against the decision on the item of a row, as it stands: what was decided
    again since then waits for an answer only."""
    later = Decision.objects.filter(
        question=OuterRef("question"), item=OuterRef("item"), made_at__gt=OuterRef("made_at")
    )
    appeals = Appeal.objects.filter(
        question=question,
        item=OuterRef("item"),
        about=Appeal.About.DECISION,
        state=Appeal.State.OPEN,
    )
    return appeals.filter(~Exists(later))


EVERYTHING = Narrowing()
