"""Named questions about many ratings."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Abs

# Also the condition of the partial index that serves it on SQLite: the two must be one.
UNCOUNTED = ~Q(code=F("counted")) | ~Q(day=F("counted_day"))


class RatingQuerySet(models.QuerySet):
    def uncounted(self) -> RatingQuerySet:
        """Ratings that the stored counts do not hold as they are now. Looks at all ratings;
        ``ratings.services.uncounted`` finds them quickly."""
        return self.filter(UNCOUNTED)

    def newest(self, question: Any) -> RatingQuerySet:
        """Those of a question, the one changed last first."""
        return self.newest_of(question.pk)

    def newest_of(self, question_id: Any) -> RatingQuerySet:
        """The same of a question's id, or of that of an outer query. Served by an index of its own,
        which nothing else can take: SQLite keeps no statistics, and took an index that began with
        the question for whatever asked for ratings of one."""
        rows = self.alias(asked=Abs("question")).filter(asked=question_id)
        return rows.order_by("-changed_at", "-id")

    def standing(self) -> RatingQuerySet:
        """Ratings that say something (not withdrawn)."""
        return self.filter(code__gte=0)


class ApartQuerySet(models.QuerySet):
    def standing(self) -> ApartQuerySet:
        """What is said now (not withdrawn)."""
        return self.filter(stands=True, code__gte=0)


class AssignmentQuerySet(models.QuerySet):
    def apart(self) -> AssignmentQuerySet:
        """Hidden gold and repeats: to the rater's own eyes, what they said of these items is what
        stands apart, and no rating. Served by the partial index."""
        return self.exclude(why="")

    def for_doubt(self, project: Any) -> AssignmentQuerySet:
        """What raters of the project were asked for what others had said of it. Served by the
        partial index."""
        return self.filter(rater__project=project, planned=True)

    def set_aside(self) -> AssignmentQuerySet:
        """What raters skipped or flagged, of all projects. Served by the partial index."""
        return self.filter(Q(state="skipped") | Q(flagged=True))

    def set_aside_in(self, project: Any) -> AssignmentQuerySet:
        """The same of one project."""
        # A sum, so that SQLite begins with the partial index: else with all items of the project.
        return self.set_aside().alias(of=F("item__project") + 0).filter(of=project.pk)
