"""QuerySets of ratings, check answers, assignments and exams."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Abs

# Also the condition of the partial index that serves it on SQLite: keep both identical.
UNCOUNTED = ~Q(code=F("counted")) | ~Q(day=F("counted_day"))


class RatingQuerySet(models.QuerySet):
    def uncounted(self) -> RatingQuerySet:
        """Return the ratings whose code or day differs from the one in the stored counts.

        Scans all ratings; ``ratings.services.uncounted`` finds the same rows quickly.
        """
        return self.filter(UNCOUNTED)

    def newest_for_question(self, question: Any) -> RatingQuerySet:
        """Return the ratings of a question, the most recently changed first."""
        return self.newest_for_question_id(question.pk)

    def newest_for_question_id(self, question_id: Any) -> RatingQuerySet:
        """Return a question's ratings, newest first, given its id or an outer query's column.

        The alias makes the query match an index of its own that no other query can use: SQLite
        keeps no statistics and otherwise used an index that begins with the question for any rating
        query.
        """
        rows = self.alias(indexed_question=Abs("question")).filter(indexed_question=question_id)
        return rows.order_by("-changed_at", "-id")

    def current(self) -> RatingQuerySet:
        """Return the ratings that are not withdrawn."""
        return self.filter(code__gte=0)


class CheckAnswerQuerySet(models.QuerySet):
    def current(self) -> CheckAnswerQuerySet:
        """Return the current check answers, without superseded and withdrawn ones."""
        return self.filter(is_current=True, code__gte=0)


class AssignmentQuerySet(models.QuerySet):
    def checks(self) -> AssignmentQuerySet:
        """Return the assignments that check a rater: hidden gold, blind repeats and exam items.

        For the rater, the answer to such an item is the check answer, not a rating. Served by the
        partial index.
        """
        return self.exclude(kind="")

    def planned_in(self, project: Any) -> AssignmentQuerySet:
        """Return the project's assignments that were selected because of other raters' answers.

        Served by the partial index.
        """
        return self.filter(rater__project=project, planned=True)

    def skipped_or_flagged(self) -> AssignmentQuerySet:
        """Return the assignments that raters skipped or flagged, in all projects.

        Served by the partial index.
        """
        return self.filter(Q(state="skipped") | Q(flagged=True))

    def skipped_or_flagged_in(self, project: Any) -> AssignmentQuerySet:
        """Return the assignments that raters skipped or flagged in one project."""
        # "+ 0" makes SQLite start from the partial index instead of all items of the project.
        return self.skipped_or_flagged().alias(of=F("item__project") + 0).filter(of=project.pk)


class ExamQuerySet(models.QuerySet):
    def latest_failed(self) -> ExamQuerySet:
        """Return each rater's latest attempt at a question's exam, where it failed.

        An attempt that a lead grants, or a waiver, is later.
        """
        later_attempts = self.model._default_manager.filter(
            question=OuterRef("question"), rater=OuterRef("rater"), number__gt=OuterRef("number")
        )
        return self.filter(~Exists(later_attempts), state="failed")
