"""Current ratings, their history, and notes of uncounted items."""

from __future__ import annotations

from typing import Any, NoReturn

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Abs
from django.utils.translation import gettext_lazy as _

from core.text import lower_first
from projects.models import Item, Question, Rater

# Also the condition of the partial index that serves it on SQLite: keep both identical.
UNCOUNTED = ~Q(code=F("counted")) | ~Q(day=F("counted_day"))


class RatingQuerySet(models.QuerySet):
    def uncounted(self) -> RatingQuerySet:
        """Return the ratings whose code or day differs from the one in the stored counts.

        Scans all ratings; ``ratings.services.uncounted_ratings`` finds the same rows quickly.
        """
        return self.filter(UNCOUNTED)

    def newest_for_question(self, question: Any) -> RatingQuerySet:
        """Return the ratings of a question, the most recently changed first."""
        return self.newest_for_question_id(question.pk)

    def newest_for_question_id(self, question_id: Any) -> RatingQuerySet:
        """Return a question's ratings, newest first, given its id or an outer query's column.

        The alias makes the query use an index that no other query can use. With an ordinary index
        that begins with the question, SQLite, which has no statistics, would use it for other
        queries of ratings, too.
        """
        rows = self.alias(indexed_question=Abs("question")).filter(indexed_question=question_id)
        return rows.order_by("-changed_at", "-id")

    def current(self) -> RatingQuerySet:
        """Return the ratings that are not withdrawn."""
        return self.filter(code__gte=0)


class JudgementBase(models.Model):
    """Columns of an answer that ratings, history entries and check answers share.

    ``code`` is the category's code, or -1 for a withdrawn answer. The texts are those of
    ``STORED_TEXTS`` in ratings.services.judgement.
    """

    code = models.SmallIntegerField()
    comment = models.TextField(blank=True)
    # Version number of the guidelines the answer was given under; empty if unknown
    # (ratings.services.current_ratings).
    guidelines = models.PositiveSmallIntegerField(null=True, blank=True)
    # Version of the item's content that was rated; empty if unknown.
    item_version = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        abstract = True


NO_CODE = -1  # code of a withdrawn rating, or of one that was never counted


class Rating(JudgementBase):
    """A rater's current rating of an item for one question.

    ``code`` is the category's code (-1: withdrawn); ``counted`` is the code that the stored counts
    contain (-1: none). ``day`` is the day of ``rated_at`` in the project's time zone, in days since
    1970-01-01; ``counted_day`` is the day under which the counts contain it. The rating is
    uncounted while either pair differs (docs/architecture.md, principle 2).
    """

    question = models.ForeignKey(Question, models.PROTECT, related_name="ratings", db_index=False)
    item = models.ForeignKey(Item, models.PROTECT, related_name="ratings", db_index=False)
    rater = models.ForeignKey(Rater, models.PROTECT, related_name="ratings", db_index=False)
    counted = models.SmallIntegerField(default=NO_CODE)
    rated_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    day = models.IntegerField()
    counted_day = models.IntegerField(default=0)
    seconds = models.FloatField(null=True, blank=True)

    objects = RatingQuerySet.as_manager()

    class Meta:
        constraints = [
            # Also serves queries for all ratings of an item or a range of items, of one question.
            models.UniqueConstraint(fields=["question", "item", "rater"], name="rating_unique"),
            models.CheckConstraint(condition=Q(code__gte=NO_CODE), name="rating_code_valid"),
            models.CheckConstraint(condition=Q(counted__gte=NO_CODE), name="rating_counted_valid"),
            models.CheckConstraint(
                condition=Q(seconds__isnull=True) | Q(seconds__gte=0), name="rating_seconds_valid"
            ),
        ]
        indexes = [
            # Uncounted ratings. Contains uncounted rows only, so it is small and cheap. Used on
            # SQLite; PostgreSQL has notes instead (ratings.services.uncounted_ratings).
            models.Index(fields=["question", "item"], condition=UNCOUNTED, name="rating_uncounted"),
            # A rater's own ratings, newest first (My ratings, rater page).
            models.Index(fields=["rater", "-changed_at"], name="rating_by_rater"),
            # Latest ratings of a question (the list of items by time).
            models.Index(Abs("question"), F("changed_at").desc(), name="rating_latest"),
            # An item's ratings over all questions (item page, deletes).
            models.Index(fields=["item"], name="rating_by_item"),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} on {self.item_id}: {self.code}"


class UncountedItem(models.Model):
    """Note that an item has uncounted ratings; only on PostgreSQL.

    Triggers write it (ratings.services.uncounted_ratings).
    """

    # No foreign keys: notes of deleted rows are discarded when they are read.
    question_id = models.BigIntegerField()
    item_id = models.BigIntegerField()
    n_ratings = models.IntegerField()  # number of uncounted ratings

    class Meta:
        indexes = [models.Index(fields=["question_id", "item_id"], name="uncounted_item")]

    def __str__(self) -> str:
        return f"{self.item_id} of {self.question_id}"


class Revision(JudgementBase):
    """An entry of a rating's history, which is written once and never changed.

    Only the texts that a person wrote are cleared when their data are deleted, and entries go with
    a rating that is deleted for good.
    """

    class Source(models.TextChoices):
        FORM = "form", _("form")
        API = "api", _("API")
        IMPORT = "import", lower_first(_("Import"))
        EXAMPLE = "example", _("example")

    rating = models.ForeignKey(Rating, models.PROTECT, related_name="revisions")
    rated_at = models.DateTimeField()
    recorded_at = models.DateTimeField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    source = models.CharField(max_length=10, choices=Source.choices)
    # An earlier row of a file for the same item and rater: recorded, but never current.
    superseded = models.BooleanField(default=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(code__gte=NO_CODE), name="revision_code_valid"),
            models.CheckConstraint(
                condition=Q(source__in=["form", "api", "import", "example"]),
                name="revision_source_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rating_id}: {self.code} at {self.recorded_at:%Y-%m-%d %H:%M}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A revision is written once and never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("A revision is never deleted.")
