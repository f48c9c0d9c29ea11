"""Whether a rater has anything left to do, by their own doing alone: it tells nothing of what
others rated."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Exists, F, OuterRef, QuerySet

from projects.models import ASKED, Item, Project, Rater
from ratings.models import Assignment, Rating

State = Assignment.State


def has_left(rater: Rater) -> bool:
    """Whether the project asks for an item that the rater neither rated nor skipped."""
    return _with_something_left(Rater.objects.filter(pk=rater.pk)).exists()


def done_by(user: Any, projects: Iterable[Project]) -> set[int]:
    """Of these projects, those in which the user rates and has rated or skipped every item; one
    query."""
    mine = Rater.objects.filter(user=user, project__in=list(projects))
    left = _with_something_left(mine).values("pk")
    asked = Item.objects.filter(ASKED, project=OuterRef("project"))
    done = mine.exclude(pk__in=left).filter(Exists(asked))
    return set(done.values_list("project_id", flat=True))


def _with_something_left(raters: QuerySet[Rater]) -> QuerySet[Rater]:
    mine = Assignment.objects.filter(rater=OuterRef(OuterRef("pk")), item=OuterRef("pk"))
    said = Rating.objects.filter(rater=OuterRef(OuterRef("pk")), item=OuterRef("pk"))
    asked = Item.objects.filter(ASKED, project=OuterRef("project"))
    new = asked.exclude(Exists(mine.exclude(state=State.EXPIRED))).exclude(Exists(said))
    held = Assignment.objects.filter(rater=OuterRef("pk"), state=State.OPEN)
    held = held.exclude(why=Assignment.Why.EXAM).filter(
        item__in=Item.objects.filter(ASKED).values("pk")
    )
    # Behind the item they were given last something is found at once, where there is anything.
    ahead = new.filter(pk__gt=OuterRef("position"))
    raters = raters.annotate(position=F("desk__position"))
    return raters.filter(Exists(held) | Exists(ahead) | Exists(new))
