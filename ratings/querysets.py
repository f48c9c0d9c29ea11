"""Named questions about many ratings."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import F, Q

# Also the condition of the partial index that serves it on SQLite: the two must be one.
UNCOUNTED = ~Q(code=F("counted")) | ~Q(day=F("counted_day"))


class RatingQuerySet(models.QuerySet):
    def uncounted(self) -> RatingQuerySet:
        """Ratings that the stored counts do not hold as they are now. Looks at all ratings;
        ``ratings.recording.waiting`` finds them quickly."""
        return self.filter(UNCOUNTED)

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
        return self.set_aside().filter(item__project=project)
